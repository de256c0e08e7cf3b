"""Objects with other counts: what is edited for them, what their pods are then, and that a record keeps them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import workloads
from gitplacer.documents import Document, parse, splice
from gitplacer.kinds.record import RecordCluster, recorded_counts
from gitplacer.model.counts import Count, Counts, Part
from gitplacer.model.workload import Identity

DEPLOYMENT = """\
apiVersion: apps/v1
kind: {kind}
metadata: {{name: web}}  # the shop
spec:
  replicas: 10 # as many as there are tills
  selector: {{matchLabels: {{app: web}}}}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}
"""
GROUPS = """\
    headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
    workerGroupSpecs:
    - groupName: small # the cheap ones
      replicas: 4
      minReplicas: 2
      maxReplicas: 8
      rayStartParams: {}
      template: {spec: {containers: [{name: worker, image: ray}]}}
    - {groupName: slices, numOfHosts: 2, replicas: 3, rayStartParams: {}, template: {spec: {containers: [{name: w, image: ray}]}}}
"""
RAY = {
    "RayCluster": "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: ray}\nspec:\n",
    "RayService": "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: ray}\nspec:\n  rayClusterConfig:\n",
    "RayJob": "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: ray}\nspec:\n  entrypoint: x\n  rayClusterSpec:\n",
}


def document(text: str) -> Document:
    (parsed,) = parse(text.encode()).documents
    return Document("f.yaml", parsed, 0, text.encode)


def edited(text: str, counts: dict[str, Count]) -> str:
    """A manifest with other counts."""
    return splice(text.encode(), workloads.counted(document(text).value, counts)).decode()


def changed(before: str, after: str) -> list[str]:
    """The lines of one text that the other does not have, stripped."""
    old = before.splitlines()
    return [line.strip() for line in after.splitlines() if line not in old]


def sizes(text: str) -> dict[str, tuple[int, int, int | None]]:
    """Role to count, minimum and maximum of its pods."""
    facts, problems = workloads.read(document(text))
    assert not [p for p in problems if p.severity == "error"]
    return {role.name: (role.count, role.minimum, role.maximum) for role in facts.roles}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_a_count_of_pods_is_one_number_in_the_manifest_and_its_comment_stays(kind: str) -> None:
    text = DEPLOYMENT.format(kind=kind)
    after = edited(text, {"pod": Count(3)})
    assert after == text.replace("replicas: 10", "replicas: 3")
    assert sizes(after)["pod"][0] == 3


def test_a_count_that_is_not_written_is_added_and_one_that_is_right_by_default_is_not() -> None:
    text = DEPLOYMENT.format(kind="Deployment").replace("  replicas: 10 # as many as there are tills\n", "")
    assert changed(text, edited(text, {"pod": Count(4)})) == ["replicas: 4"]
    assert edited(text, {"pod": Count(1)}) == text


@pytest.mark.parametrize(
    ("count", "lines", "size"),
    [
        (Count(3), ["replicas: 3"], (3, 2, 8)),
        (Count(4), [], (4, 2, 8)),
        (Count(1), ["replicas: 1", "minReplicas: 1"], (1, 1, 8)),  # KubeRay would make two of it
        (Count(9), ["replicas: 9", "maxReplicas: 9"], (9, 2, 9)),  # KubeRay would make eight of it
        (Count(0, 0, 0), ["replicas: 0", "minReplicas: 0", "maxReplicas: 0"], (0, 0, 0)),
        (Count(2, 1, 5), ["replicas: 2", "minReplicas: 1", "maxReplicas: 5"], (2, 1, 5)),
        (Count(None, None, 6), ["maxReplicas: 6"], (4, 2, 6)),
    ],
)
@pytest.mark.parametrize("kind", sorted(RAY))
def test_a_count_of_workers_takes_its_bounds_along_where_it_must(
    kind: str, count: Count, lines: list[str], size: tuple[int, int, int | None]
) -> None:
    text = RAY[kind] + (GROUPS if kind != "RayCluster" else GROUPS.replace("\n    ", "\n  ")[2:])
    after = edited(text, {"worker/small": count})
    assert changed(text, after) == lines
    assert sizes(after)["worker/small"] == size
    assert sizes(after)["head"] == sizes(text)["head"]


def test_a_replica_of_several_hosts_is_counted_whole() -> None:
    text = RAY["RayService"] + GROUPS
    assert sizes(edited(text, {"worker/slices": Count(2)}))["worker/slices"][0] == 4


def test_a_declared_kind_is_counted_where_its_declaration_says() -> None:
    text = (
        "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: lws}\n"
        "spec: {replicas: 6, leaderWorkerTemplate: {size: 3, workerTemplate: {spec: {containers: [{name: c, image: i}]}}}}\n"
    )
    after = edited(text, {"pod": Count(2)})
    assert after == text.replace("replicas: 6", "replicas: 2")
    facts, _ = workloads.read(document(after))
    assert sum(role.count for role in facts.roles) == 6  # two leaders, and two workers each


def test_a_declared_kind_whose_parts_have_counts_of_their_own_has_none_for_all() -> None:
    text = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: m}\n"
        "spec: {predictor: {minReplicas: 4, maxReplicas: 9, containers: []}}\n"
    )
    (scale,) = workloads.scales(document(text).value)
    assert (scale.path, scale.replicas, scale.maximum, scale.least) == (("spec", "predictor", "minReplicas"), 4, 9, 1)
    assert not workloads.scales(document(text.replace("predictor:", "transformer: {}, predictor:")).value)


@pytest.mark.parametrize(
    ("api_version", "kind", "fields"),
    [
        ("autoscaling/v2", "HorizontalPodAutoscaler", ("minReplicas", "maxReplicas")),
        ("keda.sh/v1alpha1", "ScaledObject", ("minReplicaCount", "maxReplicaCount")),
    ],
)
def test_an_autoscaler_has_bounds_and_no_count(api_version: str, kind: str, fields: tuple[str, str]) -> None:
    low, high = fields
    text = (
        f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: web}}\n"
        f"spec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}, {low}: 2, {high}: 9}}\n"
    )
    after = edited(text, {"pod": Count(None, 1, 4)})
    assert after == text.replace(f"{low}: 2", f"{low}: 1").replace(f"{high}: 9", f"{high}: 4")


numbers = st.none() | st.integers(0, 99)
parts = st.builds(
    Part, st.builds(Identity, st.sampled_from(["apps", "ray.io"]), st.just("K"), st.just("ns"), st.sampled_from("ab")),
    st.sampled_from(["pod", "worker/a", "worker/b"]),
)  # fmt: skip


@given(counts=st.dictionaries(parts, st.builds(Count, numbers, numbers, numbers), max_size=6))
def test_a_record_gives_back_the_counts_it_was_given(counts: dict[Part, Count]) -> None:
    known = Counts.of(counts)
    entry = RecordCluster(name="c", since="2026-01-02T03:04:05Z", epoch=1, counts=recorded_counts(known))
    assert entry.known_counts() == known


@given(replicas=st.integers(0, 50), low=st.integers(0, 20), more=st.integers(0, 20), wanted=st.integers(0, 60))
def test_a_worker_group_has_as_many_workers_as_it_was_given_whatever_its_bounds(
    replicas: int, low: int, more: int, wanted: int
) -> None:
    group = f"replicas: {replicas}\n      minReplicas: {low}\n      maxReplicas: {low + more}"
    text = RAY["RayService"] + GROUPS.replace("replicas: 4\n      minReplicas: 2\n      maxReplicas: 8", group)
    assert sizes(edited(text, {"worker/small": Count(wanted)}))["worker/small"][0] == wanted
