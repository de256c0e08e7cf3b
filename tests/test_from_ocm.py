"""What users of Open Cluster Management have becomes a fleet that places each group where OCM's rules would, and every field is told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.importers.ocm import imported
from gitplacer.importers.report import Imported, Outcome
from gitplacer.importers.variables import Variables
from gitplacer.kinds.fleet import Cluster
from tests.commands import run, write
from tests.foreignlaws import NAMES, VALUES, broken, makes_no_difference, mappings, survived, told_when_added, value
from tests.novafleets import clusters, story

DATA = Path(__file__).parent / "data" / "ocm"
NOW = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
CLUSTERS = (DATA / "clusters.yaml").read_text()


def of(*texts: str) -> Imported:
    return imported({f"f{number}.yaml": text.encode() for number, text in enumerate(texts)}, Variables(), NOW)


def corpus() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(DATA.glob("*.yaml"))}


SENT: Mapping[str, str] = {
    "ops/agent": "berlin",  # all of the set with env=prod; oslo's taint is not tolerated, lab is in no bound set
    "ml/green": "oslo",  # the best by carbon of those it tolerates
    "ml/train": "berlin",  # the only a100
    "chat/chat": "berlin,tokyo",  # one in each area; oslo is tainted
    "ml/both": "berlin,tokyo",  # either predicate
    "ml/stuck": "",  # its namespace is not bound to the set
    "ops/pinned": "tokyo",  # a ManifestWork in the cluster's namespace
}
"""Where OCM's documented rules send each group, by hand."""


def test_each_group_goes_where_ocm_sends_it() -> None:
    found = imported(corpus(), Variables(), NOW)
    assert found.problems == () and found.of(Outcome.NOT_UNDERSTOOD) == []
    placed = clusters(story(found).run())
    assert {group: where for group, where in placed.items() if not group.startswith("_cluster/")} == SENT


def test_the_same_files_make_the_same_bytes_in_any_order() -> None:
    files = corpus()
    once, again = (imported(each, Variables(), NOW) for each in (files, dict(reversed(files.items()))))
    assert (once.files, once.lines) == (again.files, again.lines)


def test_manifests_inside_a_work_keep_their_text_and_are_told_at_their_place() -> None:
    found = imported(corpus(), Variables(), NOW)
    text = found.files["workloads/ml/green.yaml"].decode()
    assert text.startswith("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: green, namespace: ml}\n")
    line = next(line for line in found.lines if "workloads/ml/green.yaml" in line.what)
    assert corpus()["works.yaml"].decode().split("\n")[line.location.line - 1].strip() == "- apiVersion: apps/v1"


# fields of a Placement, one row each

PLACEMENT = """\
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: p, namespace: apps}
spec:
"""
PROD = {"cluster.open-cluster-management.io/clusterset": "prod"}
SCORED = (
    "  numberOfClusters: 1\n  prioritizerPolicy: {mode: Additive, configurations: [{scoreCoordinate: %s, weight: -2}]}"
)
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing said": ("  {}", {"clusters": {"matchLabels": PROD}, "placement": {"copies": "All", "admission": "Immediate"}}),
    "one": ("  numberOfClusters: 1", {"placement": {"admission": "Immediate"}}),
    "three": ("  numberOfClusters: 3", {"placement": {"copies": 3, "admission": "Immediate"}}),
    "none": ("  numberOfClusters: 0", {"clusters": {"names": []}}),
    "by label": (
        "  predicates: [{requiredClusterSelector: {labelSelector: {matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}}}]",
        {"clusters": {"matchLabels": PROD, "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}]}},
    ),
    "by cel, which takes no cluster": (
        "  predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['true']}}}]",
        {"clusters": {"names": []}},
    ),
    "a toleration": (
        "  tolerations: [{key: gpu, operator: Exists, effect: NoSelectIfNew}]",
        {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]},
    ),
    "by what is allocatable": (
        SCORED % "{type: BuiltIn, builtIn: ResourceAllocatableMemory}",
        {"placement": {"type": "Scored", "scores": [{"allocatable": "memory", "weight": -2}], "admission": "Immediate"}},
    ),
    "by an outside score": (
        SCORED % "{type: AddOn, addOn: {resourceName: Energy, scoreName: carbon_g}}",
        {"placement": {"type": "Scored", "scores": [{"name": "energy-carbon-g", "weight": -2}], "admission": "Immediate"}},
    ),
    "balanced, which nothing is here": (SCORED % "{type: BuiltIn, builtIn: Balance}", {"placement": {"admission": "Immediate"}}),
    "spread": (
        "  numberOfClusters: 2\n  spreadPolicy: {spreadConstraints: [{topologyKey: area, topologyKeyType: Label, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]}",
        {"placement": {"copies": 2, "admission": "Immediate", "topologySpread": [{"topologyKey": "area", "maxSkew": 2}]}},
    ),
    "spread, if it can be": (
        "  numberOfClusters: 2\n  spreadPolicy: {spreadConstraints: [{topologyKey: area, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]}",
        {"placement": {"copies": 2, "admission": "Immediate"}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_each_field_becomes_what_means_the_same(row: str) -> None:
    text, wanted = ROWS[row]
    found = of(CLUSTERS, f"{PLACEMENT}{text}\n")
    assert found.problems == () and found.of(Outcome.NOT_UNDERSTOOD) == []
    spec = value(found, "policies/p.yaml")["spec"]
    assert {key: spec.get(key) for key in wanted} == wanted
    assert spec["select"]["labelSelector"] == {"matchLabels": {"cluster.open-cluster-management.io/placement": "p"}}


TOLD: dict[str, tuple[str, Outcome, str]] = {
    "decisionStrategy": ("  decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 1}}", Outcome.NO_EQUAL, "groups of decisions"),
    "sortBy": ("  sortBy: {x: y}", Outcome.NO_EQUAL, "sorted by name"),
    "tolerationSeconds": ("  tolerations: [{key: k, operator: Exists, tolerationSeconds: 60}]", Outcome.NO_EQUAL, "has no end"),
    "cel": ("  predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['true']}}}]", Outcome.NO_EQUAL, "takes no cluster"),
    "a wish to spread": (
        "  numberOfClusters: 2\n  spreadPolicy: {spreadConstraints: [{topologyKey: a, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}]}",
        Outcome.NO_EQUAL,
        "only wished for",
    ),
    "all, scored": (
        "  prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: ResourceAllocatableCPU}, weight: 1}]}",
        Outcome.LEFT_OUT,
        "no score decides",
    ),
    "additive": (SCORED % "{builtIn: Steady}", Outcome.CHANGED, "evens clusters out"),
    "a set that is not bound": ("  clusterSets: [dev]", Outcome.CHOSEN, "binds namespace apps to the set dev"),
    "nobody names it": ("  {}", Outcome.CHOSEN, "nobody says what goes by it"),
}  # fmt: skip


@pytest.mark.parametrize("row", TOLD)
def test_what_cannot_be_said_is_told(row: str) -> None:
    text, outcome, words = TOLD[row]
    found = of(CLUSTERS, f"{PLACEMENT}{text}\n")
    assert found.problems == ()
    assert any(words in line.what and line.location.file == "f1.yaml" for line in found.of(outcome)), found.of(outcome)


def test_a_cluster_with_its_claims_taints_and_state() -> None:
    asked = (
        PLACEMENT
        + "  predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: gpu.example/model, operator: Exists}]}}}]\n"
    )
    text = CLUSTERS.replace(
        'ManagedClusterConditionAvailable, status: "True", reason',
        'ManagedClusterConditionAvailable, status: "Unknown", reason',
    )
    found = of(text, asked)
    berlin, oslo = value(found, "clusters/berlin.yaml"), value(found, "clusters/oslo.yaml")
    assert berlin["spec"] == {
        "region": "eu-central-1",
        "provider": "aws",
        "kubernetesVersion": "1.31",
        "state": "Cordoned",
    }
    assert berlin["metadata"]["labels"]["gpu.example/model"] == "a100"
    assert oslo["spec"]["taints"] == [{"key": "gpu", "value": "reserved", "effect": "NoExecute"}]
    assert "capacity/berlin.yaml" not in found.files and value(found, "capacity/oslo.yaml")["coarse"]


def test_labels_of_region_and_zone_are_fields_and_what_becomes_of_no_field_is_told() -> None:
    cluster = yaml.safe_load(CLUSTERS.split("---\n")[0])
    cluster["metadata"]["labels"] |= {
        "topology.kubernetes.io/region": "eu-1",
        "topology.kubernetes.io/zone": "eu-1a",
        "kubernetes.io/metadata.name": "old",
    }
    found = of(yaml.safe_dump(cluster))
    made = Cluster.model_validate(value(found, f"clusters/{cluster['metadata']['name']}.yaml"))
    assert (made.spec.region, made.spec.zone) == ("eu-1", "eu-1a")
    assert made.labels().items() >= {**cluster["metadata"]["labels"], "kubernetes.io/metadata.name": made.name}.items()
    (claim,) = (line.what for line in found.of(Outcome.CHOSEN))
    assert claim.startswith("the label topology.kubernetes.io/region=eu-1 is not the claim's region eu-central-1")
    assert any("kubernetes.io/metadata.name" in line.what for line in found.of(Outcome.CHANGED))


def test_scores_are_one_file_each_with_the_first_end() -> None:
    text = (DATA / "scores.yaml").read_text().replace("2026-02-01", "2026-01-20", 1)
    found = of(text)
    assert value(found, "scores/energy-carbon.yaml")["spec"] == {
        "scores": {"berlin": -30, "oslo": 90},
        "validUntil": "2026-01-20T00:00:00Z",
    }
    assert any("different times" in line.what for line in found.of(Outcome.CHOSEN))


def test_scores_that_would_be_called_alike_are_told_apart() -> None:
    """A name here is short, and has no capitals: what a Placement asks for is what it gets."""
    long = "node-" * 14
    score = (
        "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {name: use, namespace: berlin}\n"
        f"status: {{scores: [{{name: CPU, value: 1}}, {{name: cpu, value: 2}}, {{name: {long}a, value: 3}}, {{name: {long}b, value: 4}}]}}\n"
    )
    asked = SCORED % "{type: AddOn, addOn: {resourceName: use, scoreName: cpu}}"
    found = of(CLUSTERS, f"{PLACEMENT}{asked}\n", score)
    numbers = {
        path.removeprefix("scores/").removesuffix(".yaml"): value(found, path)["spec"]["scores"]["berlin"]
        for path in found.files
        if path.startswith("scores/")
    }
    assert sorted(numbers.values()) == [1, 2, 3, 4]
    (term,) = value(found, "policies/p.yaml")["spec"]["placement"]["scores"]
    assert numbers[term["name"]] == 2


def test_a_score_that_nobody_measured_yet_is_told() -> None:
    score = (
        "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: %s\nmetadata: {name: use, namespace: berlin}\n"
    )
    found = of(score % "AddOnPlacementScore", score % "AddonPlacementScore")
    assert [line.what for line in found.of(Outcome.LEFT_OUT)] == [
        "nothing was measured of berlin when it was exported, so there is no score of it"
    ]
    assert [line.todo for line in found.of(Outcome.NO_EQUAL)] == ['did you mean "AddOnPlacementScore"?']


WORK = """\
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {name: w, namespace: apps}
spec:
  placementRefs: [{name: p, rolloutStrategy: {type: Progressive}}]
  manifestWorkTemplate:
    deleteOption: {propagationPolicy: Orphan}
    workload:
      manifests:
      - {apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
"""


def test_a_work_with_a_job_runs_once_and_its_rollout_is_told() -> None:
    found = of(CLUSTERS, f"{PLACEMENT}  {{}}\n", WORK)
    assert value(found, "policies/w.yaml")["spec"]["placement"] == {"admission": "Immediate"}
    told = [line.what for line in found.of(Outcome.NO_EQUAL)]
    assert any(what.startswith("Progressive") for what in told) and any(
        "removed from the source" in what for what in told
    )


def test_a_work_without_its_placement_is_kept_and_runs_nowhere() -> None:
    found = of(CLUSTERS, WORK)
    assert "unplaced/w.yaml" in found.files and "policies/w.yaml" not in found.files
    assert any("no Placement apps/p" in line.what for line in found.of(Outcome.NO_EQUAL))


def test_a_work_that_makes_no_pods_goes_whole_to_the_platform() -> None:
    role = (
        WORK[: WORK.index("      - {")]
        + "      - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}, rules: []}\n"
    )
    found = of(CLUSTERS, f"{PLACEMENT}  {{}}\n", role)
    assert "platform/w/w.yaml" in found.files and "policies/w.yaml" not in found.files
    assert value(found, "policies/w-platform.yaml")["spec"]["placement"] == {"copies": "All", "admission": "Immediate"}


def test_a_work_goes_whole() -> None:
    """Also what no app of it refers to, which belongs to no group by itself; and by one decision."""
    others = (
        "      - {apiVersion: v1, kind: ConfigMap, metadata: {name: alone, namespace: a}, data: {x: z}}\n"
        "      - {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: a}, spec: {containers: [{name: c, image: i}]}}\n"
    )
    found = of(CLUSTERS, f"{PLACEMENT}  numberOfClusters: 1\n", WORK + others)
    assert "workloads/a/w/w.yaml" in found.files
    spec = value(found, "policies/w.yaml")["spec"]
    assert (spec["select"], spec["groupBy"]) == ({"paths": ["workloads/*/w/**"]}, {"directory": True})
    run = story(found).run()
    assert run.problems == () and list(clusters(run)) == ["a/w"]
    assert not any("may go to another cluster" in line.what for line in found.of(Outcome.CHANGED))
    several = of(CLUSTERS, f"{PLACEMENT}  numberOfClusters: 1\n", WORK + others.replace("namespace: a", "namespace: b"))
    assert any("for a and b, each of which is a group" in line.what for line in several.of(Outcome.CHANGED))


PINNED = """\
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: web, namespace: %s}
spec:
  workload:
    manifests:
    - {apiVersion: v1, kind: Namespace, metadata: {name: a}}
    - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: a}, spec: {selector: {app: web}}}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: a}
      spec: {replicas: %s, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
"""


def test_works_of_several_clusters_with_the_same_manifests_are_one() -> None:
    """Whoever has no replica sets writes one for each cluster. They are not applied one after the other."""
    found = of(CLUSTERS, PINNED % ("tokyo", 2), PINNED % ("berlin", 2))
    spec = value(found, "policies/web.yaml")["spec"]
    assert spec["clusters"] == {"names": ["tokyo", "berlin"]}
    assert spec["placement"] == {"copies": "All", "admission": "Immediate"}
    assert not any(path.startswith(("policies/web-2", "unplaced/")) for path in found.files)
    assert any(line.what.startswith("the same objects as in ManifestWork tokyo/web at f1") for line in found.lines)
    placed = clusters(story(found).run())
    assert placed["a/web"] == "berlin,tokyo"


def test_what_differs_between_works_of_several_clusters_is_an_override() -> None:
    found = of(CLUSTERS, PINNED % ("tokyo", 2), PINNED % ("berlin", 3))
    assert found.of(Outcome.NO_EQUAL) == [
        line for line in found.of(Outcome.NO_EQUAL) if line.location.file == "f0.yaml"
    ]
    assert value(found, "overrides/web-web-berlin.yaml")["spec"] == {
        "select": {"namespaces": ["a"], "kinds": ["Deployment"], "names": ["web"]},
        "clusters": {"names": ["berlin"]},
        "overrides": [{"path": "/spec/replicas", "op": "replace", "value": 3}],
    }
    done = story(found).run()
    assert done.problems == () and clusters(done)["a/web"] == "berlin,tokyo"


def test_a_work_of_a_cluster_looks_at_no_taint() -> None:
    tainted = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {name: far}\nspec: {taints: [{key: gpu, effect: NoSelect}]}\n"
    found = of(CLUSTERS, tainted, PINNED % ("far", 1))
    assert value(found, "policies/web.yaml")["spec"]["tolerations"] == [{"operator": "Exists"}]


def test_works_of_several_clusters_with_other_objects_too_are_told() -> None:
    service = (
        "    - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: a}, spec: {selector: {app: web}}}\n"
    )
    found = of(
        CLUSTERS,
        PINNED % ("tokyo", 2),
        (PINNED % ("berlin", 3)).replace(service, service + service.replace("web,", "more,")),
    )
    told = [line.what for line in found.of(Outcome.NO_EQUAL) if line.location.file == "f1.yaml"]
    assert [what.partition(" is at ")[0] for what in told] == ["Service a/web", "Deployment a/web"]
    assert all("for other clusters, and an object is one here" in what for what in told)
    assert not any(
        "the last that is applied counts" in line.what for line in found.lines if "Namespace" not in line.what
    )


def test_the_policy_of_a_work_takes_no_file_of_another() -> None:
    """Both are called `w.yaml`, one by the work's name, one as it lay there, in another namespace."""
    app = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: b, labels: {cluster.open-cluster-management.io/placement: q}}\n"
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n"
    )
    other = PLACEMENT.replace("{name: p, namespace: apps}", "{name: q, namespace: b}")
    hub = "---\n".join([CLUSTERS, f"{PLACEMENT}  numberOfClusters: 1\n", f"{other}  {{}}\n", WORK])
    found = imported({"hub.yaml": hub.encode(), "w.yaml": app.encode()}, Variables(), NOW)
    assert {"workloads/b/w.yaml", "workloads/a/w-2.yaml"} <= found.files.keys()
    assert value(found, "policies/w-2.yaml")["spec"]["select"] == {"paths": ["workloads/*/w-2.yaml"]}
    assert story(found).run().problems == ()


def test_what_a_replica_set_made_and_what_ocm_decided_is_left_out() -> None:
    made = "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\nmetadata: {name: m, namespace: c, labels: {work.open-cluster-management.io/manifestworkreplicaset: apps.w}}\nspec: {workload: {manifests: []}}\n"
    decided = "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: PlacementDecision\nmetadata: {name: d, namespace: apps}\nstatus: {decisions: [{clusterName: berlin, reason: ''}]}\n"
    found = of(
        made,
        decided,
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: a, namespace: c}\n",
    )
    assert ["replica set apps.w" in line.what or "took berlin" in line.what for line in found.of(Outcome.LEFT_OUT)] == [
        True,
        True,
    ]
    assert [line.place for line in found.of(Outcome.NO_EQUAL)] == ["f2.yaml:2:1"]


# the law: every field is used or reported

FULL = yaml.safe_load(f"""{PLACEMENT}
  numberOfClusters: 2
  predicates:
  - requiredClusterSelector:
      labelSelector: {{matchExpressions: [{{key: env, operator: Exists}}]}}
      claimSelector: {{matchExpressions: [{{key: c, operator: Exists}}]}}
  tolerations: [{{key: k, operator: Exists}}]
  prioritizerPolicy: {{configurations: [{{scoreCoordinate: {{type: AddOn, addOn: {{resourceName: a, scoreName: b}}}}, weight: 1}}]}}
  spreadPolicy: {{spreadConstraints: [{{topologyKey: area, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}}]}}
""")
OTHERS = [
    *list(yaml.safe_load_all(CLUSTERS))[1:],
    next(yaml.safe_load_all((DATA / "scores.yaml").read_text())),
    yaml.safe_load(WORK),
]
WHOLE = ("labels", "annotations", "rolloutStrategy", "deleteOption", "manifests", "conditions", "status")
SOME = (FULL, *OTHERS)
for full in SOME:
    full["metadata"]["labels"] = {"team": "x"} | full["metadata"].get("labels", {})
    full["metadata"]["annotations"] = {"why": "so"}
PLACES = [(full, place) for full in SOME for place in mappings(full, WHOLE)]


@settings(max_examples=40)
@given(where=st.sampled_from(PLACES), name=NAMES, added=VALUES)
def test_whatever_field_is_added_is_reported_at_its_place(
    where: tuple[Any, tuple[Any, ...]], name: str, added: Any
) -> None:
    told_when_added(of, *where, name, added)


AS_IT_IS_ANYWAY = {
    "Placement": {
        "spec.prioritizerPolicy.configurations.0.weight",  # the default, and the next
        "spec.spreadPolicy.spreadConstraints.0.maxSkew",
    },
    "ManagedCluster": {"spec.hubAcceptsClient"},  # true
    "ManagedClusterSet": {"spec.clusterSelector.selectorType"},  # the default
    "ManagedClusterSetBinding": {"spec.clusterSet"},  # its own name
}
ANYWHERE = ("timeAdded", "status", "deleteOption")
"""What a hub writes, and what is told as a whole."""


def test_each_field_that_is_written_makes_a_difference() -> None:
    for document in SOME:
        silent = {leaf for leaf in makes_no_difference(of, document) if not any(key in leaf for key in ANYWHERE)}
        assert silent == AS_IT_IS_ANYWAY.get(document["kind"], set()), document


@given(document=broken(SOME))
def test_no_document_is_too_broken_to_be_told(document: Any) -> None:
    survived(of, document)


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ("{type: All, all: {progressDeadline: 1m}}", "all clusters at once"),
        ("{type: ProgressivePerGroup}", "one commit changes all clusters"),
        ("{rolloutType: Progressive, progressive: {maxConcurrency: 2}}", "rolloutType is not known here"),
        ("{type: RollingUpdate}", 'unknown type of rollout "RollingUpdate"'),
    ],
)
def test_a_rollout_is_never_taken_for_another(strategy: str, told: str) -> None:
    found = of(CLUSTERS, f"{PLACEMENT}  {{}}\n", WORK.replace("{type: Progressive}", strategy))
    assert any(told in what for what in (*(one.what for one in found.lines), *(one.message for one in found.problems)))


# what is wrong

WRONG: dict[str, tuple[str, str, str]] = {
    "a number": ("  numberOfClusters: -1", "f1.yaml:5:21", "no number of clusters"),
    "an effect": ("  tolerations: [{key: k, effect: NoSchedule}]", "f1.yaml:5:34", 'unknown effect "NoSchedule"'),
    "a score": (SCORED % "{type: BuiltIn, builtIn: Balanced}", "f1.yaml:6:99", 'unknown score "Balanced"'),
    "a type": ("  predicates: everywhere", "f1.yaml:5:15", "not a list"),
}  # fmt: skip


@pytest.mark.parametrize("row", WRONG)
def test_what_is_wrong_is_told_at_its_place_and_the_others_are_written(row: str) -> None:
    text, place, words = WRONG[row]
    found = of(CLUSTERS, f"{PLACEMENT}{text}\n", PLACEMENT.replace("name: p,", "name: q,") + "  {}\n")
    assert [str(problem.location) for problem in found.problems] == [place]
    assert words in found.problems[0].message
    assert "policies/q.yaml" in found.files and "policies/p.yaml" not in found.files


@pytest.mark.parametrize("name", ["*", "../../x", "a\nb"])
def test_no_name_leads_out_of_the_repo(name: str) -> None:
    documents = list(yaml.safe_load_all(CLUSTERS + "---\n" + PLACEMENT + "  {}\n---\n" + WORK))
    for document in documents:
        document["metadata"]["name"] = name
    found = of(*map(yaml.safe_dump, documents))
    assert all(".." not in path and "*" not in path and "\n" not in path for path in found.files)


def test_the_command_writes_a_fleet_that_validates(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write(tmp_path, {f"in/{name}": data.decode() for name, data in corpus().items()})
    assert (
        run(
            capfd, "import", "ocm", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--now", "2026-01-02T03:00:00Z"
        ).code
        == 0
    )
    assert run(capfd, "validate", str(tmp_path / "out")).code == 0
    assert run(capfd, "import", "ocm", str(tmp_path / "nothing"), "-o", str(tmp_path / "out2")).code == 1
