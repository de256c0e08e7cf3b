"""`gitplacer snapshot`: a live cluster, told as a CapacitySnapshot, and what keeps it from being told wrong."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from gitplacer.capacity import resources
from gitplacer.capacity.access import Access, ClusterError
from gitplacer.capacity.kubeconfig import access_to, kubeconfig
from gitplacer.capacity.live import observe
from gitplacer.documents import Document, parse
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.parse import parse_own
from gitplacer.model.workload import Identity
from gitplacer.observing.placed import Placed
from gitplacer.observing.writing import snapshot_file
from tests import bigcluster, livecluster
from tests.apistandin import KINDS, ApiServer, Json, Served, Trouble, checked, serving
from tests.commands import commit, git, make_bare, make_repo, run, write
from tests.livecluster import OLD_SECRET_WORDS, pod, ray, ray_pod, thing
from tests.planviews import assert_golden

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests/golden/snapshot"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ENTRY = {"name": "static-cluster", "state": "Placed", "since": "2026-01-01T00:00:00Z", "epoch": 3}


def placed(members: Sequence[tuple[str, str, str, str, str]] = livecluster.MEMBERS) -> Placed:
    groups = {Identity(*member[:4]): member[4] for member in members}
    return Placed(groups, frozenset(groups), frozenset((i.api_group, i.kind) for i in groups))


def records() -> dict[str, str]:
    """The records of `livecluster.small`, as a deployment repo has them."""
    found = {}
    for group, kind, namespace, name, group_id in livecluster.MEMBERS:
        version = f"{group}/v1"
        member = {
            "apiVersion": version,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "source": "x.yaml",
            "file": f"{group_id}/x.yaml",
        }
        space, short = group_id.split("/")
        record = {
            "apiVersion": "gitplacer.dev/v1alpha1", "kind": "Placement", "metadata": {"name": short, "namespace": space},
            "policy": "default", "members": [member], "clusters": [ENTRY], "reason": "Fits",
        }  # fmt: skip
        found[f"placements/{group_id}.yaml"] = yaml.safe_dump(record)
    for unit, epoch in (("platform", 12), ("workloads", 40)):
        found[f"clusters/static-cluster/{unit}/gitplacer.yaml"] = yaml.safe_dump(
            livecluster.sentinel(unit, "static-cluster", epoch)
        )
    return found


@pytest.fixture
def server() -> ApiServer:
    return ApiServer(livecluster.small())


@pytest.fixture
def served(server: ApiServer) -> Iterator[Served]:
    with serving(server) as found:
        yield found


@pytest.fixture
def config(served: Served, tmp_path: Path) -> Path:
    place = tmp_path / "kubeconfig"
    place.write_text(served.kubeconfig())
    place.chmod(0o600)
    return place


@pytest.fixture
def access(config: Path) -> Access:
    return replace(access_to(kubeconfig(str(config), {}), "static-cluster"), sleep=lambda seconds: None)


def look(access: Access, known: Placed | None, said: list[str] | None = None, **more: Any) -> CapacitySnapshot:
    given: dict[str, Any] = {"cluster": "static-cluster", "system_namespace": "gitplacer", "now": AT, **more}
    return observe(access, say=(said if said is not None else []).append, placed=known, **given)


def read_back(data: bytes) -> CapacitySnapshot:
    [document] = parse(data).documents
    found = parse_own(Document("x.yaml", document, 0, lambda: data))
    assert isinstance(found, CapacitySnapshot), found
    return found


# -- the whole of it ----------------------------------------------------------------------------------------------


def test_a_cluster_becomes_a_snapshot(access: Access, server: ApiServer) -> None:
    said: list[str] = []
    found = look(access, placed(), said)
    data = snapshot_file(found)
    assert_golden("small.yaml", data.decode(), GOLDEN)
    assert not said
    assert read_back(data) == found
    assert OLD_SECRET_WORDS not in data.decode()


def test_the_same_cluster_in_another_order_is_the_same_snapshot(access: Access, server: ApiServer) -> None:
    first = snapshot_file(look(access, placed()))
    server.page = 3
    for items in server.objects.values():
        assert isinstance(items, list)
        random.Random(1).shuffle(items)
    assert snapshot_file(look(access, placed())) == first


def test_what_becomes_evidence_is_read_in_the_order_that_makes_it_true(access: Access, server: ApiServer) -> None:
    """Epochs before objects, owners before pods."""
    look(access, placed())
    paths = [asked.path for asked in server.asked]
    sentinels = [index for index, path in enumerate(paths) if "/configmaps/gitplacer-" in path]
    owners = [
        index for index, path in enumerate(paths) if path.startswith(("/apis/ray.io/", "/apis/batch/", "/apis/apps/"))
    ]
    assert max(sentinels) < min(owners) <= max(owners) < paths.index("/api/v1/pods")


def test_only_names_are_read_of_what_only_owns(access: Access, server: ApiServer) -> None:
    look(access, placed())
    short = {asked.path for asked in server.asked if "PartialObjectMetadataList" in asked.accept}
    assert short == {
        "/apis/apps/v1/replicasets", "/apis/apps/v1/statefulsets", "/apis/batch/v1/jobs",
        "/apis/ray.io/v1/rayclusters", "/apis/ray.io/v1/raycronjobs",
    }  # fmt: skip


def test_pods_that_expire_in_mid_list_are_counted_once(access: Access, server: ApiServer) -> None:
    first = snapshot_file(look(access, placed()))
    server.page, server.expires = 2, 3
    assert snapshot_file(look(access, placed())) == first
    gone = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "metadata": {}}
    server.expires = None
    server.troubles = [
        Trouble(path, 410, body=gone, after=_served(server, path) + 1) for path in ("/api/v1/pods", "/api/v1/nodes")
    ]
    assert snapshot_file(look(access, placed())) == first


def _served(server: ApiServer, path: str) -> int:
    return sum(asked.path == path for asked in server.asked)


# -- what it is told by -------------------------------------------------------------------------------------------


def test_where_gitplacer_has_put_nothing_all_is_somebody_elses(access: Access, server: ApiServer) -> None:
    server.objects["", "configmaps"] = []
    said: list[str] = []
    found = look(access, None, said)
    assert found.groups == ()
    assert said == ["2 Ray clusters there count as somebody else's; if gitplacer has put any there, give --deployment"]
    used = {node.name: node.used for node in found.nodes}
    assert dict(used["cpu-1"]) == {"cpu": 2100, "memory": 2 * 256 << 20, "pods": 2}


def test_where_gitplacer_has_put_groups_somebody_must_say_which(access: Access) -> None:
    with pytest.raises(ClusterError, match="nobody said which pods are theirs") as raised:
        look(access, None)
    assert "--deployment" in raised.value.hint


def test_a_context_that_leads_to_another_cluster_is_noticed(access: Access) -> None:
    with pytest.raises(ClusterError, match="this is cluster static-cluster and not edge") as raised:
        look(access, placed(), cluster="edge")
    assert raised.value.hint.startswith("give --cluster static-cluster")


@pytest.mark.parametrize("epochs", [{}, {"platform": 12, "workloads": 39}])
def test_records_that_are_older_than_the_cluster_are_not_believed(epochs: dict[str, int], access: Access) -> None:
    """A branch that is not there, another fleet's repo: what runs would look like somebody else's, and what was placed like gone."""
    with pytest.raises(
        ClusterError, match=r"has applied epoch \d+ of its (platform|workloads), and the deployment repo is at"
    ) as raised:
        look(access, replace(placed(), epochs=epochs))
    assert "--branch" in raised.value.hint
    look(access, replace(placed(), epochs={"platform": 12, "workloads": 41}))


def test_a_cluster_without_sentinels_is_told(access: Access, server: ApiServer) -> None:
    server.objects["", "configmaps"] = []
    said: list[str] = []
    assert look(access, placed(), said).applied is None
    assert said == ["there is no ConfigMap gitplacer/gitplacer-workloads, so nothing shows what the cluster has synced"]


@pytest.mark.parametrize("resource", [item for item in resources.TABLE if not item.lost], ids=lambda item: item.kind)
def test_without_what_is_needed_there_is_no_snapshot(
    resource: resources.Resource, access: Access, server: ApiServer
) -> None:
    server.forbidden = {(resource.group, resource.name_in_url)}
    with pytest.raises(ClusterError, match=f"may not list {resource.name_in_url}") as raised:
        look(access, placed())
    assert f"resources: [{resource.name_in_url}], verbs: [list]}}; deploy/snapshot/rbac.yaml" in raised.value.hint


def test_without_the_kinds_that_are_placed_there_is_no_snapshot(access: Access, server: ApiServer) -> None:
    """A RayJob that cannot be seen would look like one that is gone, and be started elsewhere."""
    server.forbidden = {("ray.io", "rayjobs")}
    with pytest.raises(ClusterError, match="may not list rayjobs"):
        look(access, placed())


@pytest.mark.parametrize(
    ("kind", "plural", "versions", "only"),
    [
        ("RayJob", "rayjobs", ("v1", "v1alpha1"), "v1alpha1"),  # in the table
        ("JobSet", "jobsets", ("v1", "v1alpha2"), "v1alpha2"),
        ("Machine", "machines", ("v1", "v2beta1"), "v2beta1"),  # declared by a user
    ],
)
def test_a_kind_is_found_in_whatever_version_has_it(
    kind: str, plural: str, versions: tuple[str, ...], only: str, access: Access, server: ApiServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A group prefers one version, and need not have all its kinds there; what was not found looked gone, and was started elsewhere."""
    group = {"RayJob": "ray.io", "JobSet": "jobset.x-k8s.io", "Machine": "example.org"}[kind]
    monkeypatch.setitem(KINDS, (group, plural), kind)
    server.groups[group] = versions
    server.only[group, plural] = only
    server.objects[group, plural] = [thing(f"{group}/{only}", kind, "x", "ray", status={})]
    found = look(access, placed([(group, kind, "ray", "x", "ray/x")]))
    assert [each.name for each in found.groups] == ["ray/x"]
    assert f"/apis/{group}/{only}/{plural}" in {asked.path for asked in server.asked}
    server.forbidden = {(group, plural)}
    with pytest.raises(ClusterError, match=f"may not list {plural}"):
        look(access, placed([(group, kind, "ray", "x", "ray/x")]))


@pytest.mark.parametrize(
    ("status", "version"), [(403, "v1"), (404, "v1alpha1")], ids=["may not be known", "is gone already"]
)
def test_what_a_version_has_need_not_be_known(status: int, version: str, access: Access, server: ApiServer) -> None:
    server.troubles = [Trouble("/apis/ray.io/v1", status, times=9)]
    assert [group.name for group in look(access, placed()).groups] == ["ray/chat", "ray/training", "ray/web"]
    assert f"/apis/ray.io/{version}/rayjobs" in {asked.path for asked in server.asked}


def test_what_is_no_list_of_api_groups_says_nothing_of_what_is_served(access: Access, server: ApiServer) -> None:
    """All that is placed there would look gone."""
    server.troubles = [Trouble("/apis", 200, body={"error": "log in"}, times=9)]
    with pytest.raises(ClusterError, match="/apis does not list the API groups"):
        look(access, placed())


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({("", "nodes"): [livecluster.node("")]}, r"Node\.name: "),
        ({("", "namespaces"): [livecluster.namespace("No_Name")]}, r"NamespaceLabels\.name: "),
    ],
)
def test_what_no_api_server_says_ends_it_in_a_sentence(
    what: Mapping[tuple[str, str], list[Json]], said: str, access: Access, server: ApiServer
) -> None:
    _with(server, what)
    with pytest.raises(ClusterError, match=f"tells what no snapshot has words for: .*{said}"):
        look(access, placed([]))


def test_what_may_not_be_read_is_left_out_and_told(access: Access, server: ApiServer) -> None:
    optional = (
        "limitranges",
        "resourcequotas",
        "runtimeclasses",
        "storageclasses",
        "persistentvolumes",
        "priorityclasses",
        "replicasets",
    )
    groups = {item.name_in_url: item.group for item in resources.TABLE}
    server.forbidden = {(groups[name], name) for name in optional} | {
        "kube-system/configmaps/cluster-autoscaler-status"
    }  # type: ignore[operator]
    said: list[str] = []
    found = look(access, placed(), said)
    assert (found.limit_ranges, found.runtime_classes, found.storage_classes) == (None, None, None)
    assert (found.priority_classes, found.resource_quotas) == (None, None)
    assert [line.split(",")[0].removeprefix("may not ") for line in sorted(said)] == [
        "get kube-system/cluster-autoscaler-status", "list limitranges", "list persistentvolumes", "list priorityclasses",
        "list replicasets", "list resourcequotas", "list runtimeclasses", "list storageclasses",
    ]  # fmt: skip
    assert [group.name for group in found.groups if group.pods] == ["ray/chat", "ray/training", "ray/web"]


def test_rights_are_granted_for_what_is_read_and_nothing_else() -> None:
    granted = set()
    text = (ROOT / "deploy/snapshot/rbac.yaml").read_text()
    for item in yaml.safe_load_all(io.StringIO(text)):
        for rule in item.get("rules", ()):
            for name in rule["resources"]:
                for only in rule.get("resourceNames", [""]):
                    namespace = item["metadata"].get("namespace", "") if only else ""
                    granted |= {
                        (group, name, verb, only, namespace) for group in rule["apiGroups"] for verb in rule["verbs"]
                    }
    sentinels = [resources.sentinel(unit, "gitplacer") for unit in ("platform", "workloads")]
    read = {(r.group, r.name_in_url, r.verb, r.name, r.namespace) for r in (*resources.TABLE, *sentinels)}
    assert granted == read


def test_objects_are_ones_that_kubernetes_has() -> None:
    """Those that the stand-in serves, and the manifests of rights."""
    objects = list(yaml.safe_load_all((ROOT / "deploy/snapshot/rbac.yaml").read_text()))
    checked({**livecluster.small(), ("rbac.authorization.k8s.io", "roles"): objects})


# -- the command --------------------------------------------------------------------------------------------------


def test_a_snapshot_of_a_fleets_cluster_by_its_deployment_repo(
    config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Pods are told apart by records, and the file is one that `validate` takes."""
    deployment = make_repo(tmp_path / "deployment", records())
    fleet = tmp_path / "fleet"
    assert run(capfd, "init", fleet).code == 0
    write(
        fleet,
        {
            "clusters/static-cluster.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\nmetadata: {name: static-cluster}\nspec: {}\n"
        },
    )
    target = fleet / "capacity/static-cluster.yaml"
    ran = run(capfd, "snapshot", "--kubeconfig", config, "--deployment", deployment, "-o", target)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == f"wrote {target}: nodes 7, on 7 lines; groups of gitplacer's 3\n"
    golden = (GOLDEN / "small.yaml").read_text().splitlines()
    written = target.read_text().splitlines()
    assert [line for line in written if "observedAt" not in line] == [
        line for line in golden if "observedAt" not in line
    ]
    git(fleet, "init", "-q")
    commit(fleet, "Start")
    checked_ = run(capfd, "validate", fleet)
    assert checked_.code == 0, checked_.err


def test_a_snapshot_goes_to_stdout_and_its_time_is_when_it_began(
    config: Path, server: ApiServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server.objects["", "configmaps"] = []
    before = datetime.now(UTC).replace(microsecond=0)
    ran = run(capfd, "snapshot", "--kubeconfig", config, "--cluster", "edge")
    assert ran.code == 0, ran.err
    found = read_back(ran.out.encode())
    assert found.name == "edge"
    assert before <= found.observed_at <= before + timedelta(minutes=5)


def test_a_record_that_cannot_be_read_ends_it(config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = records() | {
        "placements/ray/chat.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Placement\nmetadata: {}\n"
    }
    ran = run(capfd, "snapshot", "--kubeconfig", config, "--deployment", make_repo(tmp_path / "d", files))
    assert ran.code == 1
    assert "placements/ray/chat.yaml:" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--in-cluster"], "error: a pod does not know what the fleet calls its cluster: give --cluster"),
        (["--in-cluster", "--context", "a", "--cluster", "a"], "error: --in-cluster needs no --context"),
        (["--in-cluster", "--cluster", "a"], "error: this is not a pod with a service account"),
        (["--kubeconfig", "nowhere"], "error: there is no kubeconfig nowhere"),
        (["--kubeconfig", "CONFIG", "--context", "x"], 'error: there is no context "x"'),
        (["--kubeconfig", "CONFIG", "--cluster", "X_Y"], 'error: "X_Y" cannot be the name of a cluster'),
        (["--kubeconfig", "CONFIG", "--list-pods", "a in b"], 'error: --list-pods a in b: "a in b" is not a condition'),
        (["--kubeconfig", "CONFIG", "-o", "no/such/file"], "error: there is no directory no/such"),
    ],
)
def test_a_mistake_is_told_before_anything_is_read(
    args: list[str], message: str, config: Path, capfd: pytest.CaptureFixture[str], server: ApiServer
) -> None:
    ran = run(capfd, "snapshot", *(str(config) if arg == "CONFIG" else arg for arg in args))
    assert ran.code == 1
    assert ran.err.startswith(message)
    assert "hint:" in ran.err
    assert not server.asked


def test_without_the_client_it_says_what_to_install(
    config: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "kubernetes", None)
    ran = run(capfd, "snapshot", "--kubeconfig", config)
    assert (
        ran.err
        == "error: reading live clusters needs the Kubernetes client\n  hint: pip install 'gitplacer[clusters]'\n"
    )


# -- pods to groups -----------------------------------------------------------------------------------------------

Objects = Mapping[tuple[str, str], Sequence[Json]]


def _with(server: ApiServer, objects: Objects) -> None:
    server.objects = {
        **server.objects,
        **{key: [] for key in livecluster.small() if key[1] not in ("nodes", "namespaces", "configmaps")},
        **objects,
    }


CRON = ray("RayCronJob", "nightly")
TICK = ray("RayJob", "nightly-29461000", owner=CRON, status={"jobDeploymentStatus": "Running"})
TICK_CLUSTER = ray("RayCluster", "nightly-29461000-abcde", owner=TICK)
SETS = thing(
    "jobset.x-k8s.io/v1alpha2",
    "JobSet",
    "gang",
    "ray",
    spec={"replicatedJobs": [{"replicas": 1}]},
    status={"replicatedJobsStatus": [{"ready": 1}]},
)
SET_JOB = thing("batch/v1", "Job", "gang-w-0", "ray", owner=SETS)
LEADER = thing(
    "apps/v1", "StatefulSet", "llm", "ray", owner=thing("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm", "ray")
)
LONELY = ray("RayCluster", "train-x7k2p")

FOLLOWED: list[tuple[str, Objects, tuple[str, str, str, str, str], list[str]]] = [
    (
        "a tick of a RayCronJob",
        {("ray.io", "raycronjobs"): [CRON], ("ray.io", "rayjobs"): [TICK], ("ray.io", "rayclusters"): [TICK_CLUSTER],
         ("", "pods"): [ray_pod(TICK_CLUSTER, "p", "worker", "gpus", on="cpu-1")]},
        ("ray.io", "RayCronJob", "ray", "nightly", "ray/nightly"), ["worker/gpus"],
    ),
    (
        "a JobSet", {("jobset.x-k8s.io", "jobsets"): [SETS], ("batch", "jobs"): [SET_JOB], ("", "pods"): [pod("p", "ray", owner=SET_JOB, on="cpu-1")]},
        ("jobset.x-k8s.io", "JobSet", "ray", "gang", "ray/gang"), ["pod"],
    ),
    (
        "a worker whose leader is a pod",
        {("apps", "statefulsets"): [LEADER], ("", "pods"): [pod("llm-0", "ray", owner=LEADER, on="cpu-1"), pod("llm-0-1", "ray", owner=pod("llm-0", "ray", on="cpu-1"), on="cpu-2")]},
        ("apps", "StatefulSet", "ray", "llm", "ray/llm"), ["pod", "pod"],
    ),
    (
        "a pod of its own", {("", "pods"): [pod("debug", "ray", on="cpu-1")]},
        ("", "Pod", "ray", "debug", "ray/debug"), ["pod"],
    ),
    (
        "pods of a Ray cluster that is gone already", {("ray.io", "rayjobs"): [], ("", "pods"): [ray_pod(LONELY, "p", "head", on="cpu-1")]},
        ("ray.io", "RayJob", "ray", "train", "ray/train"), ["head"],
    ),
    (
        "pods of a ReplicaSet that is gone already",
        {("", "pods"): [pod("p", "ray", on="cpu-1", labels={"pod-template-hash": "5d4f"}, owner=thing("apps/v1", "ReplicaSet", "web-5d4f", "ray"))]},
        ("apps", "Deployment", "ray", "web", "ray/web"), ["pod"],
    ),
    (
        "a submitter whose Job is gone already", {("", "pods"): [pod("p", "ray", on="cpu-1", owner=thing("batch/v1", "Job", "train", "ray"))]},
        ("ray.io", "RayJob", "ray", "train", "ray/train"), ["submitter"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "member", "roles"), [row[1:] for row in FOLLOWED], ids=[row[0] for row in FOLLOWED]
)
def test_a_pod_is_followed_to_what_was_placed(
    objects: Objects, member: tuple[str, str, str, str, str], roles: list[str], access: Access, server: ApiServer
) -> None:
    _with(server, objects)
    server.groups |= {"jobset.x-k8s.io": ("v1alpha2",)}
    found = look(access, placed([member]))
    assert [(group.name, [pod.role for pod in group.pods]) for group in found.groups] == [(member[4], roles)]
    assert not any(node.used for node in found.nodes)


@pytest.mark.parametrize(
    "stranger",
    [
        ray_pod(ray("RayCluster", "trainer-x7k2p"), "p", "head", on="cpu-1"),
        ray_pod(ray("RayCluster", "train-x7k2p", "elsewhere"), "p", "head", on="cpu-1"),
        pod("p", "ray", on="cpu-1", labels={"ray.io/cluster": "train-x7k2p", "ray.io/node-type": "head"}),
        pod("train", "ray", on="cpu-1"),
    ],
    ids=["a longer name", "another namespace", "labels without an owner", "a pod of that name"],
)
def test_a_pod_that_only_looks_like_ours_is_somebody_elses(stranger: Json, access: Access, server: ApiServer) -> None:
    _with(server, {("", "pods"): [stranger]})
    found = look(access, placed([("ray.io", "RayJob", "ray", "train", "ray/train")]))
    assert found.groups == ()
    assert sum(node.used.get("pods", 0) * node.count for node in found.nodes) == 1


def test_an_object_that_is_there_without_pods_is_shown(access: Access, server: ApiServer) -> None:
    """One that is not shown counts as gone."""
    _with(
        server,
        {
            ("ray.io", "rayjobs"): [
                ray("RayJob", "train", status={"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"})
            ]
        },
    )
    [group] = look(access, placed([("ray.io", "RayJob", "ray", "train", "ray/train")])).groups
    assert (group.phase, group.pods) == ("Succeeded", ())


def test_records_tell_groups_and_the_cluster_that_has_one_counts() -> None:
    from gitplacer.kinds.record import PlacementRecord

    def record(name: str, *clusters: str) -> PlacementRecord:
        members = [
            {"apiVersion": v, "kind": k, "namespace": "ray", "name": "train", "source": "s", "file": "f"}
            for v, k in (("ray.io/v1", "RayJob"), ("v1", "ConfigMap"))
        ]
        entries = [{**ENTRY, "name": cluster} for cluster in clusters]
        return PlacementRecord.model_validate(
            {"apiVersion": "gitplacer.dev/v1alpha1", "kind": "Placement", "metadata": {"name": name, "namespace": "ray"}, "policy": "p", "members": members, "clusters": entries, "reason": "Fits"}
        )  # fmt: skip

    job = Identity("ray.io", "RayJob", "ray", "train")
    found = Placed.on("b", [record("a-old-name", "a"), record("new-name", "b")])
    assert found.groups == {job: "ray/new-name"}
    assert len(found.members) == 2
    assert found.kinds_here == {("ray.io", "RayJob")}
    assert Placed.on("c", [record("a-old-name", "a"), record("new-name", "b")]).groups == {job: "ray/a-old-name"}
    assert Placed.on("c", [record("new-name", "b")]).kinds_here == frozenset()
    spans = record("spans", "b")
    remote = spans.members[0].model_copy(update={"api_version": "apps/v1", "kind": "Deployment", "only": "Remote"})
    found = Placed.on("b", [spans.model_copy(update={"members": (remote,)})])
    assert (found.remotes, found.groups, found.kinds()) == (
        {("ray", "train"): "ray/spans"},
        {},
        (("apps", "Deployment"),),
    )


# -- what is listed and what is folded ----------------------------------------------------------------------------

REPELS = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        ]
    }
}
WANTS = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "cache"}},
                "namespaceSelector": {},
            }
        ]
    }
}


def test_pods_that_others_have_to_mind_are_listed_on_nodes_of_their_own(access: Access, server: ApiServer) -> None:
    cache = {"app": "cache"}
    ports = [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    _with(server, {("", "pods"): [
        pod("db", "tools", on="cpu-1", affinity=REPELS, labels={"app": "db"}),
        pod("proxy", "tools", on="cpu-2", containers=ports),
        pod("cache", "tools", on="cpu-3", labels=cache),
    ]})  # fmt: skip
    listed = lambda found: {node.name: node.pods for node in found.nodes if node.pods}  # noqa: E731
    found = look(access, placed([]))
    assert set(listed(found)) == {"cpu-1", "cpu-2"}
    [db], [proxy] = listed(found)["cpu-1"], listed(found)["cpu-2"]
    assert (db.namespace, db.labels, db.terms()[0].topology_key) == ("tools", {"app": "db"}, "kubernetes.io/hostname")
    assert [(port.port, port.ip) for port in proxy.host_ports] == [(8080, "0.0.0.0")]
    assert {(node.name, node.count) for node in found.nodes} >= {("cpu-1", 1), ("cpu-2", 1), ("cpu-4", 2)}

    server.objects["", "pods"] = [*server.objects["", "pods"], pod("x", "ray", on="cpu-5", affinity=WANTS)]
    ours = look(access, placed([("", "Pod", "ray", "x", "ray/x")]))
    assert "cpu-3" in listed(ours), "a rule of a group's pod asks for it"

    from gitplacer.observing.listing import selector_term

    assert "cpu-3" in listed(look(access, placed([]), asked=(selector_term("app=cache,tier!=test,!old"),)))
    assert "cpu-3" not in listed(look(access, placed([]), asked=(selector_term("app!=cache,app"),)))


def test_nodes_that_are_the_same_are_one_entry(access: Access, server: ApiServer) -> None:
    _with(server, {("", "pods"): [pod(f"p{n}", on=f"cpu-{n}") for n in (1, 2)]})
    found = look(access, placed([]))
    assert [(node.name, node.count, node.used.get("pods", 0)) for node in found.nodes] == [
        ("cpu-1", 2, 1),
        ("cpu-3", 3, 0),
        ("gpu-1", 2, 0),
    ]


def test_a_node_that_a_volume_names_stands_alone(access: Access, server: ApiServer) -> None:
    disk = thing(
        "v1", "PersistentVolume", "disk", status={"phase": "Bound"},
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "local": {"path": "/x"}, "claimRef": {"namespace": "ray", "name": "data"},
              "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["cpu-2"]}]}]}}},
    )  # fmt: skip
    zonal = thing(
        "v1", "PersistentVolume", "zonal", status={"phase": "Bound"}, labels={"topology.kubernetes.io/zone": "a__b"},
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "ray", "name": "logs"}, "nfs": {"server": "s", "path": "/"}},
    )  # fmt: skip
    free = thing(
        "v1", "PersistentVolume", "free", status={"phase": "Released"}, labels={"topology.kubernetes.io/zone": "a"},
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"namespace": "ray", "name": "old"}, "nfs": {"server": "s", "path": "/"}},
    )  # fmt: skip
    _with(server, {("", "persistentvolumes"): [disk, zonal, free]})
    found = look(access, placed([]))
    assert [(node.name, node.count) for node in found.nodes] == [("cpu-1", 4), ("cpu-2", 1), ("gpu-1", 2)]
    assert [volume.claim for volume in found.volumes] == ["ray/data", "ray/logs"]
    assert found.volumes[0].node_affinity[0].requirements()[0].values == ("cpu-2",)
    assert found.volumes[1].zones == ("a", "b")


def test_volumes_that_somebody_made_are_there_for_claims_that_name_them(access: Access, server: ApiServer) -> None:
    names = (
        "models",
        "ours",
        "pvc-0d7a9a0e-6a4e-4a53-8d0c-3f2b6f9f2c11",
        "kubernetes-dynamic-pvc-0d7a9a0e-6a4e-4a53-8d0c-3f2b6f9f2c11",
        "local-pv-8ef67ab2",
        "local-pv-of-mine",
    )
    _with(server, {("", "persistentvolumes"): [thing("v1", "PersistentVolume", name, spec={}) for name in names]})
    ours = Placed(members=frozenset({Identity("", "PersistentVolume", "", "ours")}))
    found = look(access, ours).present or ()
    assert [each.name for each in found if each.kind == "PersistentVolume"] == ["local-pv-of-mine", "models"]


def test_nodes_are_told_as_they_are(access: Access, server: ApiServer) -> None:
    sick, other = livecluster.node("sick", ready="Unknown"), livecluster.node("n", **{"kubernetes.io/hostname": "ip-1"})
    cordoned = livecluster.node("shut")
    cordoned["spec"]["unschedulable"] = True
    server.objects["", "nodes"] = [sick, other, cordoned]
    found = {node.name: node for node in look(access, placed([])).nodes}
    assert (found["sick"].ready, found["n"].ready, found["shut"].unschedulable) == (False, True, True)
    assert found["n"].labels["kubernetes.io/hostname"] == "ip-1"
    assert "kubernetes.io/hostname" not in found["sick"].labels


@pytest.mark.parametrize(
    ("provider", "kubelet", "said"),
    [
        ("gce://p/z/n", "v1.31.4-gke.1183000", True),
        ("aws:///z/i-1", "v1.31.4-eks-aeac579", True),
        ("vsphere://42", "v1.31.4-eks-aeac579", None),
        ("aws:///z/i-1", "v1.31.4+k3s1", None),
    ],
)
def test_nodes_show_whether_pods_get_tolerations_for_their_devices(
    access: Access, server: ApiServer, provider: str, kubelet: str, said: bool | None
) -> None:
    node = server.objects["", "nodes"][0]
    node.setdefault("spec", {})["providerID"] = provider
    node["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    assert look(access, placed()).extended_resource_toleration is said


# -- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.server
def test_memory_does_not_grow_with_the_list(tmp_path: Path) -> None:
    """
    What three thousand pods take beside what is there anyway is so little that a hundred thousand take less than a gibibyte.
    `python -m benchmarks.snapshot` measures these.
    """
    few, many = bigcluster.measured(10, 20, tmp_path), bigcluster.measured(100, 3000, tmp_path, hard=True)
    assert (few["code"], many["code"]) == (0, 0), many["err"]
    pods = 100_000 / 3000
    assert few["kib"] + (many["kib"] - few["kib"]) * pods < 1 << 20


# -- a fleet of clusters that are there ---------------------------------------------------------------------------


def two_contexts(served: Served, place: Path, second: str) -> Path:
    value = yaml.safe_load(served.kubeconfig())
    value["contexts"].append({**value["contexts"][0], "name": second})
    place.write_text(yaml.safe_dump(value))
    place.chmod(0o600)
    return place


def test_a_fleet_begins_with_clusters_that_are_there(
    served: Served, server: ApiServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it writes validates, and the example is placed on one of them."""
    server.objects["", "configmaps"] = []
    region = {"topology.kubernetes.io/region": "eu-west-1", "eks.amazonaws.com/nodegroup": "cpu"}
    server.objects["", "nodes"] = [livecluster.node(f"n{number}", **region) for number in range(3)]
    config = two_contexts(served, tmp_path / "kubeconfig", "gke_project_us-west1_C")
    fleet = tmp_path / "fleet"
    ran = run(
        capfd,
        "init",
        fleet,
        "--kubeconfig",
        config,
        "--context",
        "static-cluster",
        "--context",
        "gke_project_us-west1_C",
    )
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in (fleet / "clusters").iterdir()) == [
        "gke-project-us-west1-c.yaml",
        "static-cluster.yaml",
    ]
    assert yaml.safe_load((fleet / "clusters/static-cluster.yaml").read_text()) == {
        "apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "static-cluster", "labels": {"class": "general"}},
        "spec": {"provider": "aws", "region": "eu-west-1", "kubernetesVersion": "1.33"},
    }  # fmt: skip
    assert run(capfd, "validate", fleet).code == 0
    planned = run(capfd, "plan", fleet)
    assert "+ hello/hello  → " in planned.out, planned.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--context", "nowhere"], 'error: there is no context "nowhere"'),
        (
            ["--context", "static-cluster", "--context", "Static_Cluster"],
            "error: two contexts would both be cluster static-cluster",
        ),
        ([], "error: --kubeconfig is for --context"),
    ],
)
def test_a_fleet_of_clusters_that_cannot_be_read_is_not_begun(
    args: list[str], message: str, served: Served, server: ApiServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server.objects["", "configmaps"] = []
    config = two_contexts(served, tmp_path / "kubeconfig", "Static_Cluster")
    ran = run(capfd, "init", tmp_path / "fleet", "--kubeconfig", config, *args)
    assert ran.code == 1
    assert ran.err.startswith(message)
    assert not (tmp_path / "fleet").exists()


def test_what_a_snapshot_has_no_words_for_is_left_out_and_told(access: Access, server: ApiServer) -> None:
    server.objects["apps", "deployments"] = [livecluster.operator(args=["--watch-namespace=not a namespace"])]
    server.objects["node.k8s.io", "runtimeclasses"] = [thing("node.k8s.io/v1", "RuntimeClass", "x" * 300, handler="h")]
    said: list[str] = []
    found = look(access, placed([]), said)
    assert (found.kuberay, found.runtime_classes) == (None, None)
    assert sorted(line.partition(",")[0] for line in said) == [
        "cannot say how KubeRay operators are",
        "cannot say how runtimeclasses are",
    ]


def test_what_reconcile_has_put_there_is_found_again(
    server: ApiServer, config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """From a fleet to its deployment repo, to what a cluster makes of it, to a snapshot: the next plan keeps what runs."""
    fleet, deployment = tmp_path / "fleet", make_bare(tmp_path / "deployment")
    assert run(capfd, "init", fleet).code == 0
    make_repo(fleet, {})
    assert run(capfd, "reconcile", fleet, "--deployment", deployment).code == 0
    app = ray(
        "RayCluster", "hello", "hello", status={"state": "ready", "desiredWorkerReplicas": 1, "readyWorkerReplicas": 1}
    )
    synced = yaml.safe_load(git(deployment, "show", "main:clusters/my-cluster/workloads/gitplacer.yaml"))
    server.objects |= {
        ("ray.io", "rayclusters"): [app],
        ("", "configmaps"): [synced],
        ("", "pods"): [
            ray_pod(app, "head", "head", on="cpu-1", cpu="1"),
            ray_pod(app, "w", "worker", "workers", on="cpu-2", cpu="1"),
        ],
    }
    file = fleet / "capacity/my-cluster.yaml"
    ran = run(
        capfd, "snapshot", "--kubeconfig", config, "--cluster", "my-cluster", "--deployment", deployment, "-o", file
    )
    assert ran.code == 0, ran.err
    found = read_back(file.read_bytes())
    elsewhere = run(
        capfd,
        "snapshot",
        "--kubeconfig",
        config,
        "--cluster",
        "my-cluster",
        "--deployment",
        deployment,
        "--branch",
        "other",
    )
    assert elsewhere.code == 1
    assert "the deployment repo is at 0" in elsewhere.err
    [group] = found.groups
    assert (group.name, group.phase, group.ready) == ("hello/hello", "Running", True)
    assert [(pod.role, pod.node) for pod in group.pods] == [("head", "cpu-1"), ("worker/workers", "cpu-2")]
    assert found.applied is not None
    assert found.applied.workloads == int(synced["data"]["epoch"])
    plan = json.loads(run(capfd, "plan", fleet, "--deployment", deployment, "--format", "json").out)
    assert [(g["group"], g["action"], g["to"]) for g in plan["groups"]] == [("hello/hello", "Keep", ["my-cluster"])]


def test_workers_of_an_app_whose_head_is_elsewhere_are_of_its_group(access: Access, server: ApiServer) -> None:
    """They are Deployments that gitplacer makes, one for each worker group; the record names the app."""

    def deployment(name: str, group: str) -> Json:
        template = {"metadata": {"labels": {"ray.io/group": group, "ray.io/node-type": "worker"}}}
        return thing(
            "apps/v1",
            "Deployment",
            name,
            "ray",
            spec={"replicas": 1, "template": template},
            status={"availableReplicas": 1},
        )

    def worker(owner: Json, group: str, where: str) -> Json:
        labels = {"ray.io/group": group, "ray.io/node-type": "worker", "pod-template-hash": "5d4f"}
        replica_set = thing("apps/v1", "ReplicaSet", f"{owner['metadata']['name']}-5d4f", "ray", owner=owner)
        server.objects["apps", "replicasets"] = [*server.objects["apps", "replicasets"], replica_set]
        return pod(f"{owner['metadata']['name']}-1", "ray", owner=replica_set, on=where, labels=labels)

    _with(server, {})
    ours, other = deployment("llm-gpus-remote", "gpus"), deployment("llm-remote", "cpus")
    server.objects["apps", "deployments"] = [ours, other]
    server.objects["", "pods"] = [worker(ours, "gpus", "cpu-1"), worker(other, "cpus", "cpu-2")]
    known = Placed(remotes={("ray", "llm"): "ray/llm"})
    found = look(access, known)
    [group] = found.groups
    assert (group.name, group.phase, group.ready) == ("ray/llm", "Running", True)
    assert [(seen.role, seen.node) for seen in group.pods] == [("worker/gpus", "cpu-1")]
    assert {node.name: node.used.get("pods", 0) for node in found.nodes if node.used} == {"cpu-2": 1}


def test_the_page_quotes_what_is_printed(access: Access, server: ApiServer) -> None:
    page = (ROOT / "docs/snapshots.md").read_text()
    [example] = re.findall(r"```yaml\n(.*?)```", page, re.S)
    golden = (GOLDEN / "small.yaml").read_text().splitlines()
    assert [line for line in example.splitlines() if line not in golden] == []
    needs, misses = re.findall(r"```text\n(.*?)```", page, re.S)
    with pytest.raises(ClusterError) as raised:
        look(access, None)
    assert needs == f"error: {raised.value}\n  hint: {raised.value.hint}\n"
    server.forbidden = {("", "persistentvolumes")}
    said: list[str] = []
    look(access, placed(), said)
    assert misses == "".join(f"{line}\n" for line in said)
