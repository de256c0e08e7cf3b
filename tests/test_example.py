"""The example fleet does what its README and its comments say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitplacer.kinds.record import PlacementRecord
from gitplacer.model import quantity
from gitplacer.model.decision import Action, Candidate, Decision, Finding, Reason, Verdict
from gitplacer.model.resources import Resources
from gitplacer.model.workload import total_requests
from gitplacer.placement.plan import plan
from gitplacer.render import record_file
from gitplacer.snapshot import Snapshot, read_snapshot
from gitplacer.source.files import NoMemo
from gitplacer.tree import Tree

EXAMPLE = Path(__file__).parent.parent / "fleet-repo-example"
FILES = {p.relative_to(EXAMPLE).as_posix(): p.read_bytes() for p in sorted(EXAMPLE.rglob("*")) if p.is_file()}
README = FILES["README.md"].decode()
NOW = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
EVERY_CLUSTER = tuple(sorted(Path(p).stem for p in FILES if p.startswith("clusters/")))

PLACEMENTS = [
    ("_cluster/kuberay", EVERY_CLUSTER, Reason.PLATFORM),
    ("rayjob1/rayjob-train", ("static-cluster",), Reason.FITS),
    ("rayjob2/rayjob-train", ("static-cluster",), Reason.FITS),
    ("rayjob3/rayjob-train", ("dynamic-cluster",), Reason.FITS_BY_SCALE_UP),
    ("experiment1/rayjob-train", ("static-cluster",), Reason.FITS),
    ("experiment2/rayjob-train", ("static-cluster",), Reason.FITS),
    ("experiment3/rayjob-train", ("static-cluster",), Reason.PODS_MAY_WAIT),
    ("production/text-summarizer", ("static-cluster",), Reason.FITS),
    ("development/text-summarizer", ("dynamic-cluster",), Reason.FITS_BY_SCALE_UP),
    ("vllm1/llm-model-serve", ("gke-workload-cluster",), Reason.FITS),
    ("vllm2/llm-model-serve", ("eks-workload-cluster",), Reason.FITS),
    ("serving/rag-llm", ("workload-cluster-1",), Reason.FITS_BY_SCALE_UP),
    ("serving/rag-ingestion", ("ingestion-cluster",), Reason.FITS),
]


def snapshot(files: Mapping[str, bytes] = FILES, deployment: Tree | None = None, now: datetime = NOW) -> Snapshot:
    source = Tree.of(files)
    return read_snapshot(
        source=source, capacity=source.under("capacity"), deployment=deployment or Tree(), foreign_paths=frozenset(),
        now=now, memo=NoMemo(),
    )  # fmt: skip


def decisions(read: Snapshot) -> dict[str, Decision]:
    return {decision.group: decision for decision in plan(read).decisions}


FIRST = snapshot()
PLAN = decisions(FIRST)


def deployed() -> Tree:
    """The records of the example's first plan, as a deployment repo holds them."""
    files = {}
    for decision in PLAN.values():
        group = FIRST.groups[decision.group]
        record = {
            "apiVersion": "gitplacer.dev/v1alpha1",
            "kind": "Placement",
            "metadata": {"namespace": group.namespace, "name": group.name},
            "policy": decision.policy,
            "reason": decision.finding.code.value,
            "clusters": [{"name": c, "since": NOW.isoformat(), "epoch": 1} for c in decision.after],
            "members": [
                {"apiVersion": m.api_version, "kind": m.identity.kind, "namespace": m.identity.namespace,
                 "name": m.identity.name, "source": m.path, "file": f"{group.id}/{Path(m.path).name}"}
                for m in group.members
            ],
        }  # fmt: skip
        files[f"placements/{group.id}.yaml"] = record_file(PlacementRecord.model_validate(record))
    return Tree.of(files)


def edited(path: str, old: str, new: str) -> dict[str, bytes]:
    text = FILES[path].decode()
    assert old in text
    return {**FILES, path: text.replace(old, new).encode()}


def candidate(decision: Decision, cluster: str) -> Candidate:
    return next(c for c in decision.candidates if c.cluster == cluster)


def added(finding: Finding) -> dict[str, int]:
    return {node.type: node.count for node in finding.new_nodes}


def test_nothing_is_wrong_with_it() -> None:
    assert FIRST.problems == ()
    assert all(group.problems == () for group in FIRST.groups.values())


@pytest.mark.parametrize(("group", "clusters", "reason"), PLACEMENTS)
def test_each_scenario_ends_where_the_talk_says(group: str, clusters: tuple[str, ...], reason: Reason) -> None:
    decision = PLAN[group]
    assert (decision.action, decision.after, decision.finding.code) == (Action.PLACE, clusters, reason)


def test_every_group_is_in_the_table() -> None:
    assert sorted(PLAN) == sorted(group for group, _, _ in PLACEMENTS)


def test_the_readme_has_the_same_table() -> None:
    rows = re.findall(r"\| `([^`]+/[^`]+)` \| (?:`([^`]+)`|every cluster) \| (\w+) \|$", README, re.MULTILINE)
    said = [(group, (cluster,) if cluster else EVERY_CLUSTER, reason) for group, cluster, reason in rows]
    assert said == PLACEMENTS


def test_the_readme_names_only_files_that_are_there() -> None:
    named = set(re.findall(r"`((?:clusters|capacity|policies|platform|workloads)/[^`<]+)`", README))
    made = {"workloads/rayjob4/"}
    assert [path for path in named - made if not any(file.startswith(path) for file in FILES)] == []


GPU = "nvidia.com/gpu"
SUBMITTER = {"cpu": "500m", "memory": "200Mi"}


@pytest.mark.parametrize(
    ("group", "parts"),
    [
        ("rayjob1/rayjob-train", [{"cpu": "12", "memory": "36G", GPU: "2"}, SUBMITTER]),
        ("experiment1/rayjob-train", [{"cpu": "12", "memory": "36G", GPU: "2"}, SUBMITTER]),
        ("production/text-summarizer", [{"cpu": "5", "memory": "20G", GPU: "1"}]),
        ("development/text-summarizer", [{"cpu": "5", "memory": "20G", GPU: "1"}]),
        ("vllm1/llm-model-serve", [{"cpu": "10", "memory": "28Gi", GPU: "1"}]),
        # head, Ray's autoscaler beside it, and the retrieval; workers come with the load
        (
            "serving/rag-llm",
            [{"cpu": "2", "memory": "8Gi"}, {"cpu": "1", "memory": "1000Mi"}, {"cpu": "1500m", "memory": "1G"}],
        ),
        ("serving/rag-ingestion", [{"cpu": "1500m", "memory": "1G"}]),
    ],
)
def test_sizes_are_those_of_the_talk(group: str, parts: list[dict[str, str]]) -> None:
    total = Resources()
    for part in parts:
        total += {name: quantity.amount(name, text) for name, text in part.items()}
    assert total_requests(FIRST.groups[group].gang) == total


def test_the_third_training_job_is_refused_for_one_gpu_and_told_what_it_costs_elsewhere() -> None:
    decision = PLAN["rayjob3/rayjob-train"]
    static = candidate(decision, "static-cluster")
    finding = static.finding
    assert (static.verdict, finding.code) == (Verdict.REJECTED, Reason.INSUFFICIENT_CAPACITY)
    assert (finding.role, finding.placed, finding.wanted) == ("worker/small-group", 1, 2)
    assert finding.short.rendered() == {"nvidia.com/gpu": "1"}
    assert sum(tally.nodes for tally in finding.tally) == finding.nodes == 10
    assert added(decision.finding) == {"t3a.2xlarge": 1, "g4dn.2xlarge": 2}
    assert decision.cost_per_hour == pytest.approx(0.3008 + 2 * 0.752)


def test_the_third_experiment_is_placed_and_what_it_waits_for_is_said() -> None:
    finding = PLAN["experiment3/rayjob-train"].finding
    assert (finding.role, finding.placed, finding.wanted) == ("worker/small-group", 0, 2)
    assert finding.short.rendered() == {"nvidia.com/gpu": "2"}


@pytest.mark.parametrize(
    ("group", "nodes"),
    [
        ("development/text-summarizer", {"t3a.xlarge": 1, "g4dn.xlarge": 1}),
        ("serving/rag-llm", {"t3a.xlarge": 1}),
    ],
)
def test_luna_adds_what_the_talk_says(group: str, nodes: dict[str, int]) -> None:
    assert added(PLAN[group].finding) == nodes


@pytest.mark.parametrize(
    ("file", "folders"),
    [
        ("rayjob-train.yaml", ("rayjob1", "rayjob2", "rayjob3")),
        ("rayjob-train.yaml", ("experiment1", "experiment2", "experiment3")),
        ("text-summarizer.yaml", ("production", "development")),
        ("llm-model-serve.yaml", ("vllm1", "vllm2")),
    ],
)
def test_one_file_serves_several_namespaces(file: str, folders: tuple[str, ...]) -> None:
    assert len({FILES[f"workloads/{folder}/{file}"] for folder in folders}) == 1


def test_the_compound_app_is_one_group_and_shares_its_settings() -> None:
    rag, ingestion = FIRST.groups["serving/rag-llm"], FIRST.groups["serving/rag-ingestion"]
    assert {m.identity.kind for m in rag.members} == {"RayService", "Deployment", "Service", "ConfigMap"}
    assert [m.identity.name for m in rag.shared] == [m.identity.name for m in ingestion.shared] == ["passage-store"]


def test_it_never_goes_stale() -> None:
    later = decisions(snapshot(now=NOW + timedelta(days=3650)))
    assert {group: d.after for group, d in later.items()} == {group: d.after for group, d in PLAN.items()}


def test_once_placed_everything_stays() -> None:
    again = decisions(snapshot(deployment=deployed(), now=NOW + timedelta(days=1)))
    assert {d.action for d in again.values()} == {Action.KEEP}


@pytest.mark.parametrize(("state", "reason"), [("Draining", Reason.CLUSTER_DRAINING), ("Lost", Reason.CLUSTER_LOST)])
def test_a_drain_moves_the_service_and_holds_the_jobs_by_name(state: str, reason: Reason) -> None:
    files = edited("clusters/static-cluster.yaml", "  state: Active", f"  state: {state}")
    found = {group: d for group, d in decisions(snapshot(files, deployed())).items() if d.action is not Action.KEEP}
    service = found.pop("production/text-summarizer")
    assert (service.action, service.after, service.finding.code) == (Action.RELOCATE, ("standby-cluster",), reason)
    jobs = {group for group, clusters, _ in PLACEMENTS if clusters == ("static-cluster",)} - {service.group}
    assert found.keys() == jobs
    for group, decision in found.items():
        namespace = group.split("/")[0]
        assert (decision.action, decision.finding.code) == (Action.HOLD, Reason.MAY_HAVE_STARTED)
        assert decision.blocked_by == (f"RayJob {namespace}/rayjob-train",)


def test_the_service_follows_its_label() -> None:
    files = edited("clusters/static-cluster.yaml", "    cluster.class: production\n", "")
    moved = [d for d in decisions(snapshot(files, deployed())).values() if d.action is not Action.KEEP]
    assert [(d.group, d.after, d.finding.code) for d in moved] == [
        ("production/text-summarizer", ("standby-cluster",), Reason.NOT_ELIGIBLE)
    ]


def test_a_removed_job_is_removed_and_makes_room() -> None:
    files = {path: data for path, data in FILES.items() if "rayjob1/" not in path}
    files["workloads/rayjob4/rayjob-train.yaml"] = FILES["workloads/rayjob1/rayjob-train.yaml"]
    found = decisions(snapshot(files, deployed()))
    assert (found["rayjob1/rayjob-train"].action, found["rayjob1/rayjob-train"].after) == (Action.REMOVE, ())
    assert found["rayjob4/rayjob-train"].after == ("static-cluster",)


@pytest.mark.parametrize(
    ("cpu", "clusters", "reason"),
    [
        ("4", ("dynamic-cluster",), Reason.FITS_BY_SCALE_UP),
        ("16", (), Reason.NO_CLUSTER_FITS),
    ],
)
def test_a_fourth_job_spills_or_waits(cpu: str, clusters: tuple[str, ...], reason: Reason) -> None:
    job = FILES["workloads/rayjob1/rayjob-train.yaml"].replace(b'cpu: "4"', f'cpu: "{cpu}"'.encode())
    found = decisions(snapshot({**FILES, "workloads/rayjob4/rayjob-train.yaml": job}, deployed()))
    assert (found["rayjob4/rayjob-train"].after, found["rayjob4/rayjob-train"].finding.code) == (clusters, reason)


def test_a_mistake_holds_its_own_group() -> None:
    files = edited("workloads/vllm1/llm-model-serve.yaml", 'cpu: "8"', "cpu: eight")
    read = snapshot(files, deployed())
    found = decisions(read)
    assert {problem.location.file for problem in read.problems} == {"workloads/vllm1/llm-model-serve.yaml"}
    assert found.pop("vllm1/llm-model-serve").action is Action.HOLD
    assert {d.action for d in found.values()} == {Action.KEEP}


def test_the_readmes_override_is_a_policy() -> None:
    [block] = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    text = "".join(line.removeprefix("  ") for line in block.splitlines(keepends=True))
    read = snapshot({**FILES, "policies/override.yaml": text.encode()})
    assert read.problems == ()
    assert [policy.name for policy in read.source.own.overrides] == ["gke-annotation"]


def test_crds_in_their_folder_are_a_group_on_every_cluster() -> None:
    crd = (
        b"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: rayclusters.ray.io}\n"
        b"spec:\n  group: ray.io\n  names: {kind: RayCluster, plural: rayclusters}\n  scope: Namespaced\n  versions:\n"
        b"  - name: v1\n    served: true\n    storage: true\n    schema:\n"
        b"      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}\n"
    )
    found = decisions(snapshot({**FILES, "platform/kuberay-crds/rayclusters.yaml": crd}, deployed()))
    assert found["_cluster/kuberay-crds"].after == EVERY_CLUSTER
