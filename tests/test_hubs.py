"""What a hub knows of its clusters: as snapshots that are as coarse as it is, and never promise a gang its room."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.model.resources import Resources
from gitplacer.observing.hubs import HUBS, Unheard, read_hub
from gitplacer.observing.writing import snapshot_file
from gitplacer.reported import single_snapshot
from gitplacer.source.files import NoMemo
from gitplacer.tree import Tree
from tests.commands import make_bare, run
from tests.stories import ANYWHERE, START, Story, cluster, decisions, outcome, policy, rayservice, snapshot

GIB = 1 << 30


def karmada(name: str, counts: dict[int, int], ready: str = "True", **status: Any) -> dict[str, Any]:
    """A Cluster of Karmada with three grades: nothing, 8 cores with 32 GiB, 64 cores with 256 GiB."""
    sizes = {0: ("0", "0"), 1: ("8", "32Gi"), 2: ("64", "256Gi")}
    models = [
        {
            "grade": grade,
            "ranges": [{"name": "cpu", "min": cpu, "max": "999"}, {"name": "memory", "min": memory, "max": "9Ti"}],
        }
        for grade, (cpu, memory) in sizes.items()
    ]
    modelled = [{"grade": grade, "count": count} for grade, count in counts.items()]
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", "resourceModels": models},
        "status": {
            "conditions": [{"type": "Ready", "status": ready}],
            "resourceSummary": {"allocatable": {"cpu": "100"}, "allocatableModelings": modelled},
            **status,
        },
    }


def managed(name: str, available: str = "True") -> dict[str, Any]:
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": "100", "memory": "400Gi", "nvidia.com/gpu": "16"},
            "capacity": {"cpu": "104", "memory": "420Gi", "nvidia.com/gpu": "16"},
            "conditions": [{"type": "ManagedClusterConditionAvailable", "status": available}],
        },
    }


def profile(name: str, healthy: str = "True", namespace: str = "fleet") -> dict[str, Any]:
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"displayName": name, "clusterManager": {"name": "some"}},
        "status": {
            "version": {"kubernetes": "1.31"},
            "conditions": [{"type": "ControlPlaneHealthy", "status": healthy}],
        },
    }


def test_a_grade_of_karmada_is_so_many_nodes_of_its_smallest_size() -> None:
    apis = [
        {"groupVersion": v, "resources": []}
        for v in ("v1", "apps/v1", "ray.io/v1", "batch/v1", "kueue.x-k8s.io/v1beta1")
    ]
    (found,), unheard = read_hub(HUBS["karmada"], [karmada("a", {0: 7, 1: 3, 2: 0}, apiEnablements=apis)], START)
    assert unheard == []
    assert [(node.name, node.count, node.allocatable) for node in found.nodes] == [
        ("grade-1", 3, Resources({"cpu": 8000, "memory": 32 * GIB}))
    ]
    assert (found.name, found.coarse, found.observed_at) == ("a", True, START)
    assert found.serves == ("kueue.x-k8s.io/v1beta1", "ray.io/v1")


def test_of_a_resource_that_karmada_does_not_count_nothing_is_free() -> None:
    asked = karmada("a", {1: 3})
    asked["spec"]["resourceModels"][1]["ranges"].append({"name": "nvidia.com/gpu", "min": "4", "max": "8"})
    (found,), _ = read_hub(HUBS["karmada"], [asked], START)
    assert "nvidia.com/gpu" not in found.nodes[0].allocatable


@pytest.mark.parametrize("hub", ["ocm", "clusterprofile"])
def test_totals_are_no_nodes(hub: str) -> None:
    make: Callable[[str], dict[str, Any]] = {"ocm": managed, "clusterprofile": profile}[hub]
    found, unheard = read_hub(HUBS[hub], [make("b"), make("a"), {"kind": "List"}, karmada("c", {1: 3})], START)
    assert [(one.name, one.coarse, one.nodes) for one in found] == [("a", True, ()), ("b", True, ())]
    assert unheard == []


@pytest.mark.parametrize(
    ("hub", "objects", "unheard"),
    [
        ("karmada", [karmada("a", {1: 1}, ready="False")], [Unheard("a", "its hub says Ready=False of it")]),
        (
            "ocm",
            [managed("a", "Unknown")],
            [Unheard("a", "its hub says ManagedClusterConditionAvailable=Unknown of it")],
        ),
        (
            "clusterprofile",
            [{**profile("a"), "status": {}}],
            [Unheard("a", "its hub has not said ControlPlaneHealthy of it yet")],
        ),
        ("ocm", [managed("Not_A_Name")], [Unheard("Not_A_Name", "it is called so that no Cluster can be")]),
        (
            "clusterprofile",
            [profile("a"), profile("a", namespace="other")],
            [Unheard("a", "there are two of this name, in different namespaces")],
        ),
        (
            "clusterprofile",
            [profile("a", namespace=namespace) for namespace in ("x", "y", "z")],
            [Unheard("a", "there are 3 of this name, in different namespaces")],
        ),
        (
            "clusterprofile",
            [{**profile("a"), "status": {}}, profile("a", namespace="other")],
            [Unheard("a", "there are two of this name, in different namespaces")],
        ),
    ],
)
def test_a_cluster_that_its_hub_does_not_hear_of_gets_no_snapshot(
    hub: str, objects: list[dict[str, Any]], unheard: list[Unheard]
) -> None:
    assert read_hub(HUBS[hub], objects, START) == ([], unheard)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "8", "-1", "1e99", "cpu", "True", "Ready"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["name", "min", "grade", "count", "ranges", "conditions", "type", "status"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(spec=JSON, summary=JSON, apis=JSON, count=JSON)
def test_a_hub_may_say_anything(spec: Any, summary: Any, apis: Any, count: Any) -> None:
    odd = karmada("a", {1: 3}, apiEnablements=apis)
    odd["spec"]["resourceModels"].append(spec)
    odd["status"]["resourceSummary"]["allocatableModelings"] += [summary, {"grade": 1, "count": count}]
    (found,), _ = read_hub(HUBS["karmada"], [odd], START)
    data = snapshot_file(found)
    assert single_snapshot(Tree.of({"a.yaml": data}), "a.yaml", NoMemo())[0] == found


def capacity(counts: dict[int, int]) -> dict[str, str]:
    (found,), _ = read_hub(HUBS["karmada"], [karmada("a", counts)], START)
    return {"a.yaml": snapshot_file(found).decode()}


@pytest.mark.parametrize(
    ("placement", "counts", "result"),
    [
        ("{}", {2: 9}, "Wait  TightFit"),
        ("{accept: TightFit}", {2: 9}, "Place a TightFit"),
        ("{accept: TightFit}", {}, "Wait  NoEligibleCluster"),
        ("{admission: Immediate}", {}, "Place a PodsMayWait"),
        ("{admission: Immediate}", {2: 9}, "Place a TightFit"),
    ],
)
def test_a_hub_promises_nobody_more_than_a_tight_fit(placement: str, counts: dict[int, int], result: str) -> None:
    anywhere = policy("anywhere", f"select: {{}}\nplacement: {placement}")
    story = Story.of(cluster("a"), anywhere, rayservice("x", "s", gpus=0), capacity=capacity(counts))
    assert outcome(story.run()) == {"x/s": result}
    assert outcome(story.run())["x/s"].split(" ")[0] in ("Keep", "Wait"), "what is placed stays"


def test_why_it_is_only_tight_is_said(tmp_path: Path) -> None:
    from gitplacer.explain.findings import finding_text

    done = Story.of(cluster("a"), ANYWHERE, rayservice("x", "s", gpus=0), capacity=capacity({2: 9})).run()
    (candidate,) = decisions(done)["x/s"].candidates
    assert candidate.finding.code == "TightFit"
    assert "knows no taints, labels and pods" in finding_text(candidate.finding)


def test_what_a_hub_does_not_show_is_not_gone() -> None:
    """A hub shows no groups, and a move that waits until the old one is gone waits for a better witness."""
    moving = policy("anywhere", "select: {}\nplacement: {accept: TightFit}\nrelocation: {strategy: RemoveFirst}")
    full = snapshot("a", "n1 64 256Gi") | snapshot("b", "n1 64 256Gi")
    for coarse in (False, True):
        story = Story.of(cluster("a"), cluster("b"), moving, rayservice("x", "s", gpus=0), capacity=full)
        (home,) = decisions(story.run())["x/s"].after
        story.source |= cluster(home, state="Draining")
        moved = False
        for minutes in range(10, 60, 10):
            story.now = START + timedelta(minutes=minutes)
            for name in "ab":
                files = snapshot(name, "n1 64 256Gi", at=story.now)
                story.capacity |= {path: text + ("coarse: true\n" if coarse else "") for path, text in files.items()}
            done = story.run()
            moved |= decisions(done)["x/s"].files_after not in ((home,), ())
        assert moved is not coarse


def test_of_totals_nobody_says_that_a_gang_is_too_large() -> None:
    done = Story.of(cluster("a"), ANYWHERE, rayservice("x", "s", gpus=0), capacity=capacity({})).run()
    (candidate,) = decisions(done)["x/s"].candidates
    assert candidate.finding.code == "NodesNotKnown"


def test_the_command_writes_one_file_for_each_cluster(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    dump = tmp_path / "clusters.json"
    dump.write_text(json.dumps({"kind": "List", "items": [karmada("a", {1: 3}), karmada("b", {}, ready="False")]}))
    done = run(capfd, "snapshot", "--hub", "karmada", "--from-dump", dump, "-o", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["a.yaml"]
    assert "no snapshot of b: its hub says Ready=False of it" in done.err
    wrong = run(capfd, "snapshot", "--hub", "ocm", "--from-dump", dump)
    assert (wrong.code, wrong.out) == (1, "")
    assert f"error: {dump} has no ManagedCluster of cluster.open-cluster-management.io" in wrong.err


def test_the_command_sends_what_other_branches_take_where_one_refuses(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = make_bare(tmp_path / "fleet.git")
    hook = repo / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ncase $1 in */a) echo not you >&2; exit 1;; esac\n")
    hook.chmod(0o755)
    dump = tmp_path / "clusters.json"
    dump.write_text(json.dumps({"kind": "List", "items": [karmada(name, {1: 3}) for name in "ab"]}))
    done = run(capfd, "snapshot", "--hub", "karmada", "--from-dump", dump, "--push", repo)
    assert done.code == 1
    assert done.out.startswith("Changed    ") and "branch capacity/b of" in done.out
    assert "not you" in done.err
