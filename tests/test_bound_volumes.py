"""
Volumes in a plan: pods go where a snapshot says that their volumes are, or where their class makes them; what a snapshot does not
say keeps nothing off.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Verdict
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, snapshot

ZONED = "topology.kubernetes.io/zone"
NODES = (f"a 8 32Gi|, labels: {{{ZONED}: a}}", f"b 8 32Gi|, labels: {{{ZONED}: b}}")
POD = 'containers: [{name: x, image: x, resources: {requests: {cpu: "5", memory: 1Gi}}}]'


def app(replicas: int = 1, volume: str = "persistentVolumeClaim: {claimName: data}") -> dict[str, str]:
    text = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: app}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: app}}}}
  template:
    metadata: {{labels: {{app: app}}}}
    spec: {{{POD}, volumes: [{{name: data, {volume}}}]}}
"""
    return {"workloads/web/app.yaml": text}


def claim(fields: str = "storageClassName: fast") -> dict[str, str]:
    text = f"""\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec: {{accessModes: [ReadWriteMany], resources: {{requests: {{storage: 1Gi}}}}, {fields}}}
"""
    return {"workloads/web/claim.yaml": text}


def stateful(replicas: int) -> dict[str, str]:
    text = f"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: db}}
spec:
  replicas: {replicas}
  serviceName: db
  selector: {{matchLabels: {{app: db}}}}
  template:
    metadata: {{labels: {{app: db}}}}
    spec: {{{POD}}}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec: {{accessModes: [ReadWriteOnce], storageClassName: fast, resources: {{requests: {{storage: 1Gi}}}}}}
"""
    return {"workloads/web/db.yaml": text}


def planned(*files: dict[str, str], more: str = "", nodes: tuple[str, ...] = NODES, **spec: str) -> Hydration:
    return Story.of(*files, ANYWHERE, cluster("one", **spec), capacity=snapshot("one", *nodes, more=more)).plan()


def says(done: Hydration) -> str:
    """The answer for the one group, with the reason of the cluster that does not take it."""
    (found,) = decisions(done).values()
    if found.after:
        return str(found.action)
    rejected = [c.finding.code for c in found.candidates if c.verdict is Verdict.REJECTED]
    return f"Wait {rejected[0]}" if rejected else f"Wait {found.finding.code}"


@pytest.mark.parametrize(
    ("answer", "replicas", "more"),
    [
        ("Place", 2, ""),
        ("Place", 1, "volumes: [{claim: web/data, zones: [a]}]"),
        ("Wait InsufficientCapacity", 2, "volumes: [{claim: web/data, zones: [a]}]"),  # one node of that zone
        ("Place", 2, "volumes: [{claim: web/data, zones: [a, b]}]"),
        ("Place", 2, "volumes: [{claim: elsewhere/data, zones: [a]}]"),
        ("Wait VolumeNodeMismatch", 1, "volumes: [{claim: web/data, zones: [c]}]"),
        ("Wait VolumeNodeMismatch", 1, "volumes: [{claim: web/data, zones: [a], nodeAffinity: [{matchLabels: {disk: d}}]}]"),
        ("Place", 2, "volumes: [{claim: web/data, nodeAffinity: [{}]}]"),  # any node
        ("Wait VolumeNodeMismatch", 1, "storageClasses: [{name: fast, zones: [c]}]"),
        ("Place", 2, "storageClasses: [{name: slow, zones: [c], default: true}]"),
        ("Place", 1, "storageClasses: [{name: fast, zones: [c]}]\nvolumes: [{claim: web/data, zones: [a]}]"),  # it has one
    ],
)  # fmt: skip
def test_pods_go_where_their_volume_is_or_is_made(answer: str, replicas: int, more: str) -> None:
    found = says(planned(app(replicas), claim(), more=more + "\n"))
    assert found.startswith(answer.split()[0])
    if answer != "Place":
        assert found.split()[1] in (answer.split()[1], "ExceedsCluster", "NoClusterFits"), found


@pytest.mark.parametrize(
    ("answer", "fields"),
    [("Wait", "volumeMode: Filesystem"), ("Place", 'storageClassName: ""'), ("Place", "storageClassName: other")],
)
def test_a_claim_without_a_class_is_of_the_default_one(answer: str, fields: str) -> None:
    more = "storageClasses: [{name: slow, zones: [c], default: true}]\n"
    assert says(planned(app(), claim(fields), more=more)).split()[0] == answer


def test_what_a_cluster_writes_of_its_classes_wins_over_its_snapshot() -> None:
    more = "storageClasses: [{name: fast, zones: [c]}]\n"
    assert says(planned(app(), claim(), more=more, profile="{storageClasses: [{name: fast, zones: [a]}]}")) == "Place"


def test_an_ephemeral_volume_is_made_by_its_class() -> None:
    spec = "spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}"
    made = app(volume=f"ephemeral: {{volumeClaimTemplate: {{{spec}}}}}")
    assert says(planned(made, more="storageClasses: [{name: fast, zones: [c]}]\n")).startswith("Wait")
    assert says(planned(made, more="storageClasses: [{name: fast, zones: [b]}]\n")) == "Place"


def test_each_pod_of_a_set_goes_to_the_volume_that_it_had() -> None:
    def more(first: str, second: str) -> str:
        return f"volumes: [{{claim: web/data-db-0, zones: [{first}]}}, {{claim: web/data-db-1, zones: [{second}]}}]\n"

    assert says(planned(stateful(2), more=more("a", "b"))) == "Place"
    assert says(planned(stateful(2), more=more("a", "a"))).startswith("Wait")
    from_another = {
        path: text.replace("spec:", "spec:\n  ordinals: {start: 1}", 1) for path, text in stateful(2).items()
    }
    assert says(planned(from_another, more=more("c", "a, b"))) == "Place"
    assert says(planned(from_another, more=more("a", "c"))).startswith("Wait")


def test_the_cluster_where_the_volume_can_be_reached_is_chosen() -> None:
    capacity = {
        **snapshot("one", *NODES, more="volumes: [{claim: web/data, zones: [z]}]\n"),
        **snapshot("two", *NODES),
    }
    done = Story.of(app(), claim(), ANYWHERE, cluster("one"), cluster("two"), capacity=capacity).plan()
    assert {text.split()[1] for text in outcome(done).values()} == {"two"}


def test_new_machines_are_counted_on_only_in_the_zone_of_the_volume() -> None:
    scaler = "{type: ClusterAutoscaler, nodeTypes: [{name: m, allocatable: {cpu: 8, memory: 32Gi}, labels: {ZONE: b}, max: 3}]}"
    types = scaler.replace("ZONE", ZONED)
    for zone, answer in (("b", "Place"), ("a", "Wait")):
        more = f"volumes: [{{claim: web/data, zones: [{zone}]}}]\n"
        assert says(planned(app(), claim(), more=more, nodes=(), autoscaler=types)).split()[0] == answer


@given(
    zones=st.lists(st.sampled_from("abc"), unique=True, min_size=1),
    extra=st.sampled_from("abc"),
    replicas=st.integers(1, 3),
)
def test_a_volume_reached_from_more_zones_never_keeps_a_group_out(zones: list[str], extra: str, replicas: int) -> None:
    def placed(reach: set[str]) -> bool:
        more = f"volumes: [{{claim: web/data, zones: [{', '.join(sorted(reach))}]}}]\n"
        return says(planned(app(replicas), claim(), more=more)) == "Place"

    assert placed(set(zones)) <= placed({*zones, extra})
