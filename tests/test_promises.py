"""
Ways in which a promise could be broken: a thing that is unreadable taken for gone, a job run twice, room sold twice.

Each is a short story with the outcome that keeps the promise.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from gitplacer.formats.group import explain_group
from gitplacer.problems import Rejected
from gitplacer.tree import SYMLINK, Changes, Entry, Tree
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

BOTH = (cluster("a"), cluster("b"))


def deployment(name: str, cpu: str, labels: str = "{}") -> dict[str, str]:
    pod = f'containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{cpu}", memory: 1Mi}}}}}}]'
    text = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, labels: {labels}}}\nspec: {{selector: {{matchLabels: "
        f"{{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{pod}}}}}}}\n"
    )
    return {f"workloads/ns/{name}.yaml": text}


def job(name: str) -> dict[str, str]:
    """A RayJob that gives its room back when it is done."""
    return {
        k: v.replace("  entrypoint", "  shutdownAfterJobFinishes: true\n  entrypoint")
        for k, v in rayjob("ns", name).items()
    }


def on_b() -> Story:
    """A service on cluster b."""
    room = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
    story = Story.of(*BOTH, policy("p", "select: {}\nclusters: {names: [b]}"), rayservice("ns", "svc"), capacity=room)
    assert outcome(story.run()) == {"ns/svc": "Place b Fits"}
    del story.source["policies/p.yaml"]
    story.source |= ANYWHERE
    return story


@pytest.mark.parametrize("spoil", ["grows huge", "is in UTF-16", "has a case twin", "is misspelt"])
def test_a_cluster_that_cannot_be_read_stops_the_run_and_is_never_taken_for_gone(spoil: str) -> None:
    story = on_b()
    text = story.source["clusters/b.yaml"]
    if spoil == "grows huge":
        story.source["clusters/b.yaml"] = text + "#" * (5 << 20)
    elif spoil == "is in UTF-16":
        story.source["clusters/b.yaml"] = text.encode("utf-16").decode("latin-1")
    elif spoil == "has a case twin":
        story.source["clusters/B.yaml"] = "a: 1\n"
    else:
        story.source["clusters/b.yaml"] = text.replace("gitplacer.dev", "gitplcer.dev")
    with pytest.raises(Rejected):
        story.run()


def test_our_kinds_beside_a_kustomization_are_read_all_the_same() -> None:
    story = on_b()
    story.source["clusters/kustomization.yaml"] = "resources: []\n"
    assert outcome(story.run()) == {"ns/svc": "Keep b Kept"}


def test_a_group_whose_file_grew_too_large_stays() -> None:
    story = on_b()
    story.source["workloads/ns/svc.yaml"] += "#" * (5 << 20)
    assert outcome(story.run()) == {"ns/svc": "Hold b UnreadableSource"}


def test_a_group_whose_folder_became_a_link_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    story = on_b()
    del story.source["workloads/ns/svc.yaml"]
    whole = Tree.of

    def with_link(files: dict[str, bytes]) -> Tree:
        tree = whole(files)
        if "fleet.yaml" not in files:
            return tree
        return Tree({**tree.entries, "workloads/ns": Entry(SYMLINK, "0" * 40)}, tree.blobs)

    monkeypatch.setattr(Tree, "of", staticmethod(with_link))
    assert outcome(story.run()) == {"ns/svc": "Hold b UnreadableSource"}


MONITOR = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: heads}
spec: {selector: {matchLabels: {ray.io/node-type: head}}, podMetricsEndpoints: [{port: metrics}]}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {ray.io/node-type: head}, ports: [{port: 80}]}
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: front}
spec: {defaultBackend: {service: {name: svc-head-svc, port: {number: 80}}}}
"""


@pytest.mark.parametrize(
    ("text", "whole", "spoilt"),
    [
        (MONITOR, "{matchLabels: {ray.io/node-type: head}}", "head"),
        (MONITOR, "ray.io/node-type: head", "ray.io/node-type: true"),
        (SERVICE, "{ray.io/node-type: head}", "head"),
        (SERVICE, "node-type: head", "node-type: 1"),
        (INGRESS, "svc-head-svc", "true"),
        (INGRESS, "{service: {name: svc-head-svc, port: {number: 80}}}", "svc-head-svc"),
    ],
)
@pytest.mark.parametrize("left", [True, False])
def test_what_no_longer_says_whom_it_is_for_stays_where_it_is(text: str, whole: str, spoilt: str, left: bool) -> None:
    """It cannot be read, which is no wish to take it away; also where the app was removed in the same commit."""
    story = on_b()
    story.source["workloads/ns/front.yaml"] = text
    assert outcome(story.run()) == {"ns/svc": "Update b Updated"}
    files = story.files()
    assert "clusters/b/workloads/ns/svc/front.yaml" in files
    story.source["workloads/ns/front.yaml"] = text.replace(whole, spoilt)
    if not left:
        app = story.source.pop("workloads/ns/svc.yaml")
    done = story.run()
    assert outcome(done) == {"ns/svc": "Hold b UnreadableSource"}
    assert decisions(done)["ns/svc"].finding.subject == "workloads/ns/front.yaml"
    assert story.files() == files
    assert {problem.location.file for problem in done.problems if problem.severity == "error"} == {
        "workloads/ns/front.yaml"
    }
    if not left:
        story.source["workloads/ns/svc.yaml"] = app
    story.source["workloads/ns/front.yaml"] = text.replace("metadata: {", "metadata: {labels: {a: b}, ")
    assert outcome(story.run()) == {"ns/svc": "Update b Updated"}
    del story.source["workloads/ns/front.yaml"]
    story.run()
    assert "clusters/b/workloads/ns/svc/front.yaml" not in story.files()


def test_what_is_new_and_does_not_say_whom_it_is_for_holds_nobody() -> None:
    story = on_b()
    story.source["workloads/ns/front.yaml"] = SERVICE.replace("node-type: head", "node-type: 1")
    assert outcome(story.run()) == {"ns/svc": "Keep b Kept"}


RUNNING = "groups: [{name: ns/job, phase: Running}]\n"
PENDING = "groups: [{name: ns/job, phase: Pending}]\n"
SUBMITTED = "groups: [{name: ns/job, phase: Pending, pods: [{role: submitter, node: n1}]}]\n"


@pytest.mark.parametrize(
    ("minutes", "reported", "max_age", "moves"),
    [
        (10, PENDING, None, True),
        (10, RUNNING, None, False),
        (10, SUBMITTED, None, False),
        (10, "", None, False),  # not shown at all: not applied yet, or done and gone
        (2, PENDING, None, False),  # within the grace of the sync
        (2, "applied: EVERYTHING\n" + PENDING, None, True),
        (10, "applied: {workloads: 0}\n" + PENDING, None, False),
        (10, PENDING, "15m", False),  # too old by now
        (2000, PENDING, None, False),  # from the future
    ],
)
def test_only_proof_lets_a_job_move(minutes: int, reported: str, max_age: str | None, moves: bool) -> None:
    story = Story.of(
        *BOTH, ANYWHERE, job("job"), capacity={**snapshot("a", "n1 64 256Gi 2"), **snapshot("b", "n1 64 256Gi 2")}
    )
    assert outcome(story.run()) == {"ns/job": "Place a Fits"}
    placed = story.now - timedelta(minutes=1)
    story.capacity |= snapshot("a", "n1 64 256Gi 2", at=placed + timedelta(minutes=minutes), more=reported)
    story.now = placed + timedelta(minutes=40 if max_age else 12)
    story.source |= cluster("a", state="Draining", **({"maxAge": max_age} if max_age else {}))
    assert outcome(story.run()) == {"ns/job": "Hold a MayHaveStarted"}
    assert outcome(story.run()) == {"ns/job": "Hold a MayHaveStarted"}, "one snapshot is not two"
    story.capacity |= snapshot("a", "n1 64 256Gi 2", at=placed + timedelta(minutes=minutes, seconds=1), more=reported)
    assert outcome(story.run()) == {"ns/job": "Relocate  ClusterDraining" if moves else "Hold a MayHaveStarted"}


def test_a_finished_job_holds_nothing_and_its_end_says_nothing_about_the_next_of_its_name() -> None:
    story = Story.of(cluster("a"), ANYWHERE, job("job"), capacity=snapshot("a", "n1 64 256Gi 2"))
    story.run()
    story.now += timedelta(minutes=10)
    done = "applied: {workloads: 2}\ngroups: [{name: ns/job, phase: Succeeded}]\n"
    story.capacity |= snapshot("a", "n1 64 256Gi 2", at=story.now, more=done)
    again = story.source.pop("workloads/ns/job.yaml")
    story.run()
    story.source["workloads/ns/job.yaml"] = again
    story.run()
    story.source |= job("other")
    assert outcome(story.run())["ns/other"] == "Wait  NoClusterFits"


def test_what_is_placed_is_never_repacked_into_less_than_it_needs() -> None:
    lucky = policy("p", "select: {}\nplacement: {accept: TightFit}")
    story = Story.of(cluster("a"), lucky, deployment("z", "4"), capacity=snapshot("a", "n1 4 32Gi", "n2 3 32Gi"))
    story.run()
    story.source |= deployment("b", "3")
    assert outcome(story.run())["ns/b"] == "Place a TightFit"
    story.source |= deployment("c", "3")
    assert outcome(story.run())["ns/c"] == "Wait  NoClusterFits"


def test_a_pod_that_is_seen_stands_for_itself_and_not_for_a_larger_one_of_its_role() -> None:
    grouped = policy("p", "select: {}\ngroupBy: {label: app}")
    two = deployment("db", "6", "{app: x}") | deployment("web", "1", "{app: x}")
    story = Story.of(cluster("a"), grouped, two, capacity=snapshot("a", "n1 8 32Gi"))
    story.run()
    seen = 'groups: [{name: ns/x, phase: Pending, pods: [{role: pod, node: n1, requests: {cpu: "1", memory: 1Mi}}]}]\n'
    story.capacity |= snapshot("a", "n1 8 32Gi", at=story.now, more=seen)
    story.source |= deployment("new", "5", "{app: w}")
    assert outcome(story.run())["ns/w"] == "Wait  NoClusterFits"


def test_a_move_that_cannot_be_rendered_keeps_its_room() -> None:
    room = {**snapshot("a", "n1 8 32Gi"), **snapshot("b", "n1 8 32Gi")}
    story = Story.of(
        *BOTH, policy("q", "select: {}\nclusters: {names: [a]}"), deployment("x", "6", "{k: x}"), capacity=room
    )
    story.run()
    story.source |= policy("p", "select: {labelSelector: {matchLabels: {k: x}}}\nprecedence: 1\nclusters: {names: [b]}")
    story.source |= deployment("w", "6")
    story.source["o.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n"
        "  select: {labelSelector: {matchLabels: {k: x}}}\n  clusters: {names: [b]}\n  overrides: [{path: /spec/nope/deep, value: 1}]\n"
    )
    assert outcome(story.run()) == {"ns/w": "Wait  NoClusterFits", "ns/x": "Hold a HasProblems"}


def test_a_group_that_cannot_leave_is_updated_where_it_is() -> None:
    story = Story.of(cluster("a"), ANYWHERE, deployment("x", "7"), capacity=snapshot("a", "n1 8 32Gi"))
    story.run()
    story.source |= cluster("a", state="Draining") | deployment("x", "1")
    assert outcome(story.run()) == {"ns/x": "Hold a NowhereToGo"}
    assert 'cpu: "1"' in story.deployment.read("clusters/a/workloads/ns/x/x.yaml").decode()
    assert story.run().steps == ()


def test_a_drain_drops_the_copy_that_is_one_too_many() -> None:
    two = policy("p", "select: {}\nplacement: {copies: 2}")
    room = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
    story = Story.of(*BOTH, two, rayservice("ns", "svc"), capacity=room)
    story.run()
    story.source |= policy("p", "select: {}\nplacement: {copies: 1}") | cluster("a", state="Draining")
    assert outcome(story.run()) == {"ns/svc": "Remove b ClusterDraining"}


@pytest.mark.parametrize("damage", [b"<<<<<<< ours\n", b"", b"---\nkind: Placement\n"])
def test_a_group_whose_record_is_broken_keeps_its_room_under_any_name(damage: bytes) -> None:
    labelled = policy("p", "select: {}\ngroupBy: {label: app}")
    story = Story.of(cluster("a"), labelled, capacity=snapshot("a", "n1 64 256Gi 2"))
    story.source |= {k: v.replace("name: job", "name: job\n  labels: {app: one}") for k, v in job("job").items()}
    assert outcome(story.run()) == {"ns/one": "Place a Fits"}
    files = {path: story.deployment.read(path) for path in story.deployment}
    record = files["placements/ns/one.yaml"]
    broken = record + damage if damage.startswith(b"---") else damage
    story.deployment = Tree.of(files | {"placements/ns/one.yaml": broken})
    done = story.plan()
    assert outcome(done) == {"ns/one": "Hold a BrokenRecord"}
    assert [(p.location.file, p.hint) for p in done.problems] == [
        ("placements/ns/one.yaml", "it is in the deployment repo: restore it from the history there")
    ]
    assert "restore what cannot be read below placements/ in the deployment repo" in explain_group(done.view, "ns/one")
    story.source["workloads/ns/job.yaml"] = story.source["workloads/ns/job.yaml"].replace("app: one", "app: two")
    assert outcome(story.plan()) == {"ns/two": "Hold  BrokenRecord"}


def test_why_a_group_waits_is_told_in_the_plan_and_does_not_rewrite_its_record() -> None:
    story = Story.of(
        cluster("a", maxAge="10m"), ANYWHERE, rayservice("ns", "svc", workers=99), capacity=snapshot("a", "n1 8 32Gi 1")
    )
    assert outcome(story.run()) == {"ns/svc": "Wait  NoClusterFits"}
    story.now += timedelta(hours=1)
    done = story.run()
    assert outcome(done) == {"ns/svc": "Wait  NoEligibleCluster"}
    assert decisions(done)["ns/svc"].candidates[0].finding.code == "StaleSnapshot"
    assert done.steps == ()


@pytest.mark.parametrize("text", ["", "a: [\n", "# emptied\n", "apiversion: gitplacer.dev/v1alpha1\nkind: Cluster\n"])
def test_a_cluster_file_that_says_nothing_any_more_stops_the_run(text: str) -> None:
    story = on_b()
    story.source["clusters/b.yaml"] = text
    with pytest.raises(Rejected) as rejected:
        story.run()
    assert "clusters/b.yaml" in {p.location.file for p in rejected.value.problems}
    del story.source["clusters/b.yaml"]
    assert outcome(story.run()) == {"ns/svc": "Relocate a ClusterLost"}


@pytest.mark.parametrize("tail", ["}\n", "a: [\n", "a:\n\tb: 1\n"])
def test_nothing_of_a_file_that_is_broken_is_placed(tail: str) -> None:
    story = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 8 32Gi"))
    story.source["workloads/ns/x.yaml"] = deployment("x", "1")["workloads/ns/x.yaml"] + "---\n" + tail
    assert outcome(story.run()) == {"ns/x": "Hold  UnreadableSource"}
    assert story.files("clusters/a/workloads") == []


@pytest.mark.parametrize("spoil", [" x: [\n", "\tx: 1\n"])
def test_a_torn_policy_holds_what_it_governed_and_no_other_takes_over(spoil: str) -> None:
    room = {**snapshot("a", "n1 8 32Gi"), **snapshot("b", "n1 8 32Gi")}
    low = policy("low", "select: {}\nprecedence: -5\nclusters: {names: [b]}")
    story = Story.of(*BOTH, ANYWHERE, low, deployment("x", "1"), capacity=room)
    assert outcome(story.run()) == {"ns/x": "Place a Fits"}
    story.source["policies/anywhere.yaml"] += spoil
    assert outcome(story.run()) == {"ns/x": "Hold a BrokenPolicy"}


def test_a_route_to_a_service_that_kuberay_makes_travels_with_the_app() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ns", "svc"), capacity=snapshot("a", "n1 8 32Gi 2"))
    story.source["workloads/ns/web.yaml"] = (
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {rules: [{http: {paths: [{path: /, "
        "pathType: Prefix, backend: {service: {name: svc-serve-svc, port: {number: 8000}}}}]}}]}\n"
    )
    done = story.run()
    assert done.problems == ()
    assert "clusters/a/workloads/ns/svc/web.yaml" in story.deployment


def test_a_sentinels_name_is_not_for_others() -> None:
    story = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 8 32Gi"))
    story.source["workloads/gitplacer/x.yaml"] = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gitplacer-workloads}\n"
    )
    story.source["tenants/t.yaml"] = (  # who may use gitplacer's own namespace at all
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: t}\n"
        'spec: {paths: ["workloads/**"], namespaces: [gitplacer]}\n'
    )
    assert [p.code for p in story.run().problems] == ["NotAllowed"]


def test_an_edit_that_outgrows_its_cluster_says_so() -> None:
    story = Story.of(cluster("a"), ANYWHERE, deployment("x", "1"), capacity=snapshot("a", "n1 8 32Gi"))
    story.run()
    story.source |= deployment("x", "9")
    assert outcome(story.run()) == {"ns/x": "Update a Outgrown"}


def test_an_epoch_never_goes_back() -> None:
    story = Story.of(cluster("a"), ANYWHERE, deployment("x", "1"), capacity=snapshot("a", "n1 8 32Gi"))
    story.run()
    record = story.deployment.read("placements/ns/x.yaml").replace(b"epoch: 1", b"epoch: 7")
    story.deployment = story.deployment.apply(Changes({"placements/ns/x.yaml": record}))
    story.source |= deployment("y-two", "1")
    story.run()
    assert 'epoch: "8"' in story.deployment.read("clusters/a/workloads/gitplacer.yaml").decode()
