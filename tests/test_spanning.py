"""Stories of Ray apps over several clusters of a mesh: files in, commits out."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration
from tests.stories import Story, cluster, decisions, outcome, policy, snapshot

EIGHTS = ("n1 8 32Gi", "n2 8 32Gi")
"""Two nodes of 8 cpu and 32Gi: room for a head and one worker, or for two workers."""
ON_PREM_FIRST = """
select: {}
clusters: {}
placement:
  type: Ordered
  order: [{names: [on-prem]}, {names: [cloud]}, {names: [far]}]
  span: IfNeeded
"""
MESHED = (cluster("on-prem", mesh="us"), cluster("cloud", mesh="us"))
TWO = {**snapshot("on-prem", *EIGHTS), **snapshot("cloud", *EIGHTS)}
APP = "clusters/{}/workloads/ml/llm/llm.yaml"
WORKERS = "clusters/{}/workloads/ml/llm/remote-workers.yaml"


def app(
    workers: int = 3, *, kind: str = "RayCluster", more: str = "", head: str = "serviceType: NodePort"
) -> dict[str, str]:
    """A Ray app as in SuperSkyRay's examples: a head with the autoscaler beside it, and workers of 6 cpu and 24Gi."""
    spec = textwrap.dedent(f"""\
        enableInTreeAutoscaling: true
        headServiceAnnotations: {{service.cilium.io/global: "true"}}
        headGroupSpec:
          {head}
          rayStartParams: {{num-cpus: "0"}}
          template:
            metadata: {{labels: {{app: llm}}}}
            spec:
              containers:
              - {{name: head, image: ray, resources: {{requests: {{cpu: "2", memory: 8Gi}}}}}}
        workerGroupSpecs:
        - groupName: big  # as many as the model needs
          replicas: {workers}
          minReplicas: 0
          maxReplicas: 5
          rayStartParams: {{}}
          template:
            spec:
              containers:
              - name: worker
                image: ray
                envFrom: [{{configMapRef: {{name: settings}}}}]
                resources: {{requests: {{cpu: "6", memory: 24Gi}}}}
        """)
    key = {
        "RayCluster": "",
        "RayService": "  rayClusterConfig:\n",
        "RayJob": "  entrypoint: python x.py\n  rayClusterSpec:\n",
    }[kind]
    body = textwrap.indent(spec, "    " if key else "  ")
    return {
        "workloads/ml/llm.yaml": f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: llm}}\nspec:\n{key}{body}",
        "workloads/ml/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {MODEL: big}\n",
        **({"workloads/ml/more.yaml": more} if more else {}),
    }


HEAD_SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: llm-gcs
  annotations: {service.cilium.io/global: "true"}
spec:
  selector: {app: llm, ray.io/node-type: head}
  ports: [{name: gcs, port: 6379}]
"""


def documents(story: Story, path: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(story.deployment.read(path).decode()))


def roles(story: Story) -> dict[str, tuple[str, Any]]:
    """Cluster to its role in the record, and its counts of the workers."""
    record = yaml.safe_load(story.deployment.read("placements/ml/llm.yaml").decode())
    return {
        entry["name"]: (entry["role"], entry["counts"][0]["roles"][0]["replicas"] if "counts" in entry else None)
        for entry in record["clusters"]
    }


def subjects(done: Hydration) -> list[str]:
    return [step.message.splitlines()[0] for step in done.steps]


def test_an_app_that_no_cluster_takes_alone_spans_two_of_a_mesh() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Place cloud,on-prem Spans"}
    assert story.files() == [
        "clusters/cloud/workloads/ml/llm/remote-workers.yaml",
        "clusters/cloud/workloads/ml/llm/settings.yaml",
        "clusters/on-prem/workloads/ml/llm/llm.yaml",
        "clusters/on-prem/workloads/ml/llm/settings.yaml",
    ]
    assert roles(story) == {"cloud": ("Remote", 2), "on-prem": ("Home", 1)}
    home = story.deployment.read(APP.format("on-prem")).decode()
    written = story.source["workloads/ml/llm.yaml"].replace("replicas: 3", "replicas: 1")
    assert home.replace(", namespace: ml", "") == written
    service, workers = documents(story, WORKERS.format("cloud"))
    assert (service["kind"], service["metadata"]["name"]) == ("Service", "llm-head-svc")
    assert (workers["kind"], workers["spec"]["replicas"]) == ("Deployment", 2)
    assert (
        "--address=llm-head-svc.ml.svc.cluster.local:6379"
        in workers["spec"]["template"]["spec"]["containers"][0]["args"][0]
    )
    assert "clusters/cloud/platform/namespaces/ml.yaml" in story.deployment
    assert story.run().steps == ()


def test_without_span_it_waits_and_nothing_is_written() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST.replace("IfNeeded", "Never")), app(), capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Wait  NoClusterFits"}
    assert story.files() == []


def test_one_cluster_is_better_than_two() -> None:
    whole = {**TWO, **snapshot("far", *EIGHTS, "n3 8 32Gi", "n4 8 32Gi")}
    story = Story.of(*MESHED, cluster("far", mesh="us"), policy("p", ON_PREM_FIRST), app(), capacity=whole)
    assert outcome(story.run()) == {"ml/llm": "Place far Fits"}
    assert roles(story) == {"far": ("Copy", None)}


def test_extending_a_running_app_adds_files_and_edits_counts() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(1), capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Place on-prem Fits"}
    before = story.deployment
    story.source |= app(3)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Extend cloud,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 2), "on-prem": ("Home", 1)}
    (step,) = done.steps
    assert not step.changes.removed
    changed = {path for path in step.changes.written if path in before and not path.endswith("gitplacer.yaml")}
    assert changed == {"placements/ml/llm.yaml", "hydrator.metadata"}
    was, now = (tree.read(APP.format("on-prem")).decode() for tree in (before, story.deployment))
    assert now == was
    assert subjects(done) == ["Extend ml/llm"]
    assert story.run().steps == ()


def test_extending_a_service_leaves_its_object_as_it_is() -> None:
    """KubeRay adds no workers to a RayService that runs, so all that come are elsewhere."""
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(1, kind="RayService", more=HEAD_SERVICE), capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Place on-prem Fits"}
    before = story.deployment
    story.source |= app(2, kind="RayService", more=HEAD_SERVICE)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Extend cloud,on-prem Spans"}
    was, now = (tree.read(APP.format("on-prem")).decode() for tree in (before, story.deployment))
    assert now == was
    assert roles(story) == {"cloud": ("Remote", 1), "on-prem": ("Home", 1)}
    assert not [
        p for p in done.problems if p.code in ("UpgradeMakesNewCluster", "EditIgnored") and p.severity == "error"
    ]


def test_the_service_of_the_group_goes_along_in_place_of_a_mirrored_one() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(kind="RayService", more=HEAD_SERVICE), capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,on-prem Spans"}
    (workers,) = documents(story, WORKERS.format("cloud"))
    assert (
        "--address=llm-gcs.ml.svc.cluster.local:6379" in workers["spec"]["template"]["spec"]["containers"][0]["args"][0]
    )
    there, home = (
        story.deployment.read(f"clusters/{name}/workloads/ml/llm/more.yaml") for name in ("cloud", "on-prem")
    )
    assert there == home


@pytest.mark.parametrize(
    ("bringing", "store"),
    [
        (
            "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: token}\n"
            "spec: {secretStoreRef: {name: vault}}\n",
            "apiVersion: external-secrets.io/v1\nkind: SecretStore\nmetadata: {name: vault}\nspec: {provider: {fake: {}}}\n",
        ),
        (
            "apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultStaticSecret\nmetadata: {name: token}\n"
            "spec: {vaultAuthRef: vault, destination: {name: token, create: true}}\n",
            "apiVersion: secrets.hashicorp.com/v1beta1\nkind: VaultAuth\nmetadata: {name: vault}\nspec: {method: jwt}\n",
        ),
    ],
)
def test_what_brings_a_secret_to_remote_workers_goes_along_with_what_it_needs(bringing: str, store: str) -> None:
    group = bringing.split()[1].split("/")[0]
    source = app(more=f"{bringing}---\n{store}")
    source["workloads/ml/llm.yaml"] = source["workloads/ml/llm.yaml"].replace(
        "envFrom: [", "envFrom: [{secretRef: {name: token}}, "
    )
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), source, capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,on-prem Spans"}
    there = documents(story, "clusters/cloud/workloads/ml/llm/more.yaml")
    assert [(each["apiVersion"].split("/")[0], each["metadata"]["name"]) for each in there] == [
        (group, "token"),
        (group, "vault"),
    ]


def test_a_job_spans_clusters_by_a_service_of_its_own() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(kind="RayJob", more=HEAD_SERVICE), capacity=TWO)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 2), "on-prem": ("Home", 1)}


def test_a_gang_that_a_mesh_does_not_hold_is_not_begun() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(4), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Wait  NoMeshFits"}
    assert story.files() == []
    finding = decisions(done)["ml/llm"].finding
    assert (finding.role, finding.placed, finding.wanted) == ("worker/big", 3, 4)


def test_clusters_of_another_mesh_or_none_do_not_help() -> None:
    clusters = (cluster("on-prem", mesh="us"), cluster("cloud", mesh="eu"), cluster("far"))
    rooms = {**TWO, **snapshot("far", *EIGHTS)}
    story = Story.of(*clusters, cluster("other", mesh="us"), policy("p", ON_PREM_FIRST), app(), capacity=rooms)
    assert outcome(story.run())["ml/llm"].startswith("Wait  No")
    assert story.files() == []


def test_the_rest_goes_to_as_many_clusters_as_it_takes() -> None:
    rooms = {**snapshot("on-prem", *EIGHTS), **snapshot("cloud", "n1 8 32Gi"), **snapshot("far", "n1 8 32Gi")}
    story = Story.of(*MESHED, cluster("far", mesh="us"), policy("p", ON_PREM_FIRST), app(), capacity=rooms)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,far,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 1), "far": ("Remote", 1), "on-prem": ("Home", 1)}


def test_fewer_workers_leave_the_remote_clusters_first() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    story.run()
    story.source |= app(2)
    assert outcome(story.run()) == {"ml/llm": "Update cloud,on-prem Updated"}
    assert roles(story) == {"cloud": ("Remote", 1), "on-prem": ("Home", 1)}
    story.source |= app(1)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Update on-prem Updated"}
    assert roles(story) == {"on-prem": ("Copy", None)}
    assert story.files() == [
        "clusters/on-prem/workloads/ml/llm/llm.yaml",
        "clusters/on-prem/workloads/ml/llm/settings.yaml",
    ]
    assert (
        story.deployment.read(APP.format("on-prem")).decode().replace(", namespace: ml", "")
        == story.source["workloads/ml/llm.yaml"]
    )
    assert story.run().steps == ()


def test_room_of_remote_workers_is_not_sold_twice() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    story.run()
    small = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {0}}}\nspec: {{replicas: 1, selector: {{matchLabels: {{a: {0}}}}}, template: {{metadata: {{labels: {{a: {0}}}}}, spec: {{containers: [{{name: c, image: c, resources: {{requests: {{cpu: {1}, memory: 1Gi}}}}}}]}}}}}}\n"
    story.source["workloads/ml/two.yaml"] = small.format("two", '"2"')
    story.source["workloads/ml/three.yaml"] = small.format("three", '"6"')
    done = outcome(story.run())
    assert done["ml/two"].startswith("Place")
    assert done["ml/three"] == "Wait  NoClusterFits"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"head": "serviceType: ClusterIP"}, "HeadHeadless"),
        ({"kind": "RayService"}, "HeadNotGlobal"),
        (
            {
                "kind": "RayService",
                "head": 'headService: {metadata: {annotations: {service.cilium.io/global: "true"}}}',
            },
            "HeadComesLate",
        ),
        ({"kind": "RayJob"}, "HeadNameUnknown"),
    ],
)
def test_what_is_missing_is_said_where_no_cluster_fits(change: dict[str, str], code: str) -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(**change), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"ml/llm": "Wait  CannotSpan"}
    assert decisions(done)["ml/llm"].finding.subject == code
    assert story.files() == []


def test_a_draining_remote_cluster_hands_its_workers_on() -> None:
    rooms = {**TWO, **snapshot("far", *EIGHTS)}
    story = Story.of(*MESHED, cluster("far", mesh="us"), policy("p", ON_PREM_FIRST), app(), capacity=rooms)
    story.run()
    home = story.deployment.read(APP.format("on-prem"))
    story.source |= cluster("cloud", mesh="us", state="Draining")
    done = story.run()
    assert outcome(done) == {"ml/llm": "Relocate far,on-prem ClusterDraining"}
    assert roles(story) == {"far": ("Remote", 2), "on-prem": ("Home", 1)}
    assert story.deployment.read(APP.format("on-prem")) == home
    assert subjects(done) == ["Relocate ml/llm from cloud to far"]
    assert not [path for path in story.files() if path.startswith("clusters/cloud/workloads")]
    assert story.run().steps == ()


def test_a_draining_home_moves_all_of_it() -> None:
    rooms = {**TWO, **snapshot("far", *EIGHTS, "n3 8 32Gi", "n4 8 32Gi")}
    clusters = (*MESHED, cluster("far", mesh="us", state="Cordoned"))
    story = Story.of(*clusters, policy("p", ON_PREM_FIRST), app(), capacity=rooms)
    story.run()
    story.source |= cluster("on-prem", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Hold cloud,on-prem NowhereToGo"}
    story.source |= cluster("far", mesh="us")
    assert outcome(story.run()) == {"ml/llm": "Relocate far ClusterDraining"}
    assert roles(story) == {"far": ("Copy", None)}
    assert {path.split("/")[1] for path in story.files()} == {"far"}
    assert story.run().steps == ()


def test_a_home_that_drains_may_leave_to_several_again() -> None:
    rooms = {**TWO, **snapshot("far", *EIGHTS)}
    clusters = (*MESHED, cluster("far", mesh="us"))
    story = Story.of(*clusters, policy("p", ON_PREM_FIRST), app(), capacity=rooms)
    story.run()
    story.source |= cluster("on-prem", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Relocate cloud,far ClusterDraining"}
    assert roles(story) == {"cloud": ("Home", 1), "far": ("Remote", 2)}
    assert {path.split("/")[1] for path in story.files()} == {"cloud", "far"}
    assert WORKERS.format("cloud") not in story.deployment
    assert story.run().steps == ()


def test_a_single_cluster_comes_before_spanning_where_pending_pods_may_move_it() -> None:
    rooms = {**TWO, **snapshot("far", *EIGHTS, "n3 8 32Gi", "n4 8 32Gi")}
    clusters = (*MESHED, cluster("far", mesh="us"))
    story = Story.of(*clusters, policy("p", ON_PREM_FIRST), app(1), capacity=rooms)
    story.run()
    story.source |= app(3)
    assert outcome(story.run())["ml/llm"] == "Relocate far Outgrown"
    never = ON_PREM_FIRST + "relocation: {when: {PendingPods: Never}}\n"
    other = Story.of(*clusters, policy("p", never), app(1), capacity=rooms)
    other.run()
    other.source |= app(3)
    assert outcome(other.run())["ml/llm"] == "Extend cloud,on-prem Spans"


def test_what_finds_no_room_anywhere_does_not_grow_by_half() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(1), capacity=TWO)
    story.run()
    home = story.deployment.read(APP.format("on-prem"))
    story.source |= app(5)
    assert outcome(story.run()) == {"ml/llm": "Keep on-prem Outgrown"}
    assert story.deployment.read(APP.format("on-prem")) == home
    assert story.run().steps == ()
    story.capacity |= snapshot("cloud", *EIGHTS, "n3 8 32Gi", "n4 8 32Gi", at=story.now)
    assert outcome(story.run()) == {"ml/llm": "Extend cloud,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 4), "on-prem": ("Home", 1)}


def test_an_extension_brings_workers_home_too_where_there_is_room() -> None:
    rooms = {**snapshot("on-prem", *EIGHTS, "n3 8 32Gi"), **snapshot("cloud", *EIGHTS)}
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(1), capacity=rooms)
    story.run()
    story.source |= app(4)
    assert outcome(story.run()) == {"ml/llm": "Extend cloud,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 2), "on-prem": ("Home", 2)}


def test_a_policy_that_spans_no_more_keeps_what_spans() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    story.run()
    story.source |= policy("p", ON_PREM_FIRST.replace("IfNeeded", "Never"))
    assert outcome(story.run()) == {"ml/llm": "Keep cloud,on-prem Kept"}


def test_what_prefer_says_first_is_tried_first() -> None:
    scaling = "{type: Luna, nodeTypes: [{name: big, allocatable: {cpu: '8', memory: 32Gi}, max: 9}]}"
    clusters = (cluster("on-prem", mesh="us"), cluster("cloud", mesh="us", autoscaler=scaling))
    story = Story.of(*clusters, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    assert outcome(story.plan()) == {"ml/llm": "Place cloud FitsByScaleUp"}
    story.source |= policy("p", ON_PREM_FIRST + "  prefer: [Free, Span, ScaleUp]\n")
    assert outcome(story.plan()) == {"ml/llm": "Place cloud,on-prem Spans"}


def test_removing_the_app_removes_it_everywhere() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(), capacity=TWO)
    story.run()
    for path in list(app()):
        del story.source[path]
    assert outcome(story.run()) == {"ml/llm": "Remove  SourceRemoved"}
    assert story.files() == []
    assert "placements/ml/llm.yaml" not in story.deployment


@st.composite
def fleets(draw: st.DrawFn) -> tuple[dict[str, str], dict[str, str], list[int]]:
    """Clusters with rooms and meshes, and how many workers an app has over some passes."""
    rooms, clusters = {}, {}
    for name in ("on-prem", "cloud", "far"):
        mesh = draw(st.sampled_from(["us", "us", "us", "eu"]))
        clusters |= cluster(name, mesh=mesh)
        rooms |= snapshot(name, *(f"n{i} 8 32Gi" for i in range(draw(st.integers(0, 3)))))
    return clusters, rooms, draw(st.lists(st.integers(0, 5), min_size=1, max_size=4))


@settings(max_examples=15, deadline=None)
@given(fleet=fleets())
def test_no_worker_is_lost_or_doubled_over_home_and_remotes(
    fleet: tuple[dict[str, str], dict[str, str], list[int]],
) -> None:
    """Counted in the files: what runs is all that is asked for or, where there is no room, what ran before or nothing."""
    clusters, rooms, history = fleet
    anywhere = ON_PREM_FIRST + "relocation: {when: {PendingPods: Never}}\n"
    story, before, ran = Story.of(clusters, policy("p", anywhere), capacity=rooms), 0, False
    for wanted in history:
        story.source |= app(wanted)
        done = story.run()
        decision = decisions(done)["ml/llm"]
        shares = {name: share for name in clusters_of(story) if (share := running(story, name)) is not None}
        assert set(shares) == set(decision.after)
        heads = [name for name in shares if APP.format(name) in story.deployment]
        assert len(heads) == (1 if shares else 0)
        total = sum(shares.values())
        if not shares:
            assert not ran
        elif decision.finding.code == "Outgrown" and total != wanted:
            assert total == before
        else:
            assert total == wanted
        for name, share in shares.items():
            nodes = rooms[f"{name}.yaml"].count("allocatable")
            fits = nodes - 1 if name in heads else nodes
            assert share <= max(fits, 0) or (decision.finding.code == "Outgrown" and total == wanted)
        before, ran = total, ran or bool(shares)
        assert story.run().steps == ()


def clusters_of(story: Story) -> list[str]:
    return sorted({path.split("/")[1] for path in story.files()})


def running(story: Story, name: str) -> int | None:
    """The workers that a cluster's files ask for; None where it has none of the app."""
    if APP.format(name) in story.deployment:
        (value,) = documents(story, APP.format(name))
        return int(value["spec"]["workerGroupSpecs"][0]["replicas"])
    if WORKERS.format(name) in story.deployment:
        return int(documents(story, WORKERS.format(name))[1]["spec"]["replicas"])
    return None


def seen(*pods: str) -> str:
    """What a snapshot shows of the app: its pods as `role node`, or `role` alone for one that waits."""
    lines = []
    for pod in pods:
        role, *node = pod.split()
        lines.append(
            f"{{role: {role}, node: {node[0]}}}" if node else f'{{role: {role}, pendingSince: "2026-01-02T03:05:00Z"}}'
        )
    return f"applied: EVERYTHING\ngroups:\n- {{name: ml/llm, phase: Running, pods: [{', '.join(lines)}]}}\n"


def test_pods_that_a_snapshot_shows_are_not_asked_room_for_again() -> None:
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), app(1), capacity=TWO)
    story.run()
    story.capacity |= snapshot("on-prem", *EIGHTS, at=story.now, more=seen("head n1", "worker/big n2"))
    story.source |= app(2)
    assert outcome(story.run()) == {"ml/llm": "Extend cloud,on-prem Spans"}
    story.capacity |= snapshot("cloud", *EIGHTS, at=story.now, more=seen("worker/big n1"))
    assert story.run().steps == ()
    story.source |= app(3)
    assert outcome(story.run()) == {"ml/llm": "Extend cloud,on-prem Spans"}
    assert roles(story) == {"cloud": ("Remote", 2), "on-prem": ("Home", 1)}


def test_a_job_at_its_end_lets_its_remote_workers_go() -> None:
    files = app(kind="RayJob", more=HEAD_SERVICE)
    story = Story.of(*MESHED, policy("p", ON_PREM_FIRST), files, capacity=TWO)
    story.run()
    ended = "applied: EVERYTHING\ngroups:\n- {name: ml/llm, phase: Succeeded}\n"
    story.capacity |= snapshot("on-prem", *EIGHTS, at=story.now, more=ended)
    story.run()
    assert WORKERS.format("cloud") in story.deployment  # one snapshot is no proof
    story.capacity |= snapshot("on-prem", *EIGHTS, at=story.now, more=ended)
    story.run()
    assert WORKERS.format("cloud") not in story.deployment
    assert APP.format("on-prem") in story.deployment
    assert story.run().steps == ()


def test_a_job_that_may_have_started_hands_on_workers_but_does_not_move() -> None:
    rooms = {**TWO, **snapshot("far", *EIGHTS)}
    clusters = (*MESHED, cluster("far", mesh="us"))
    story = Story.of(*clusters, policy("p", ON_PREM_FIRST), app(kind="RayJob", more=HEAD_SERVICE), capacity=rooms)
    story.run()
    story.source |= cluster("cloud", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Relocate far,on-prem ClusterDraining"}
    story.source |= cluster("on-prem", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Hold far,on-prem MayHaveStarted"}


def approved(name: str, to: str = "") -> dict[str, str]:
    spec = f'{{groups: [ml/llm], action: Move, {f"to: {to}, " if to else ""}expires: "2026-02-01T00:00:00Z"}}'
    text = f"apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    return {f"approvals/{name}.yaml": text}


def over_two_of_four(relocation: str = "{}") -> Story:
    order = ON_PREM_FIRST.replace("{names: [far]}", "{names: [far]}, {names: [alt]}")
    rule = policy("p", f"{order}relocation: {relocation}\n")
    more = (cluster("far", mesh="us"), cluster("alt", mesh="us"))
    rooms = {**TWO, **snapshot("far", *EIGHTS), **snapshot("alt", *EIGHTS)}
    story = Story.of(*MESHED, *more, rule, app(), capacity=rooms)
    assert outcome(story.run()) == {"ml/llm": "Place cloud,on-prem Spans"}
    return story


def test_the_workers_of_an_app_that_spans_clusters_go_where_an_approval_sends_them_and_once() -> None:
    story = over_two_of_four()
    story.source |= approved("ok", "alt")
    assert outcome(story.run()) == {"ml/llm": "Relocate alt,on-prem MoveApproved"}
    assert story.run().steps == ()


def test_an_app_that_spans_clusters_stays_where_the_cluster_that_it_is_sent_to_does_not_take_it() -> None:
    story = over_two_of_four()
    story.source |= approved("ok", "alt") | cluster("alt", mesh="other")
    done = story.run()
    assert (outcome(done), done.steps) == ({"ml/llm": "Hold cloud,on-prem NowhereToGo"}, ())


def test_consent_counts_once_for_an_app_that_spans_clusters() -> None:
    story = over_two_of_four("{when: {ClusterDraining: Manual}}")
    story.source |= cluster("cloud", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Hold cloud,on-prem AwaitsApproval"}
    story.source |= approved("ok")
    assert outcome(story.run()) == {"ml/llm": "Relocate far,on-prem ClusterDraining"}
    story.source |= cluster("far", mesh="us", state="Draining")
    assert outcome(story.run()) == {"ml/llm": "Hold far,on-prem AwaitsApproval"}
