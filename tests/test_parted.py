"""Apps that share a claim and are on different clusters, where each has a volume of its own."""

from __future__ import annotations

import pytest

from tests.stories import Story, cluster, outcome, policy, snapshot

CODE = "VolumesApart"
ROOM = ("n1 64 256Gi 8",)
TWO = {**snapshot("east", *ROOM), **snapshot("west", *ROOM)}
BOTH = "[east, west]"


def app(name: str, claim: str = "models") -> dict[str, str]:
    text = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      volumes: [{{name: m, persistentVolumeClaim: {{claimName: {claim}}}}}]
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1", memory: 1Gi}}}}}}]
"""
    return {f"workloads/ml/{name}.yaml": text}


def story(
    train: str = "[west]", serve: str = "[east]", spec: str = "", annotations: str = "{}", more: str = ""
) -> Story:
    claim = (
        f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: models, annotations: {annotations}}}\n"
        f"spec: {{accessModes: [ReadWriteMany], resources: {{requests: {{storage: 9Gi}}}}{spec}}}\n"
    )
    policies = (
        policy(
            name, f"select: {{names: [{name}]}}\nclusters: {{names: {where}}}\nplacement: {{type: Capacity{more}}}\n"
        )
        for name, where in (("train", train), ("serve", serve))
    )
    clusters = (cluster("east"), cluster("west"))
    return Story.of(*clusters, *policies, app("train"), app("serve"), {"workloads/ml/claim.yaml": claim}, capacity=TWO)


def told(found: Story) -> list[str]:
    return [problem.message for problem in found.run().problems if problem.code == CODE]


def test_a_claim_of_two_apps_on_two_clusters_is_told_at_the_claim() -> None:
    """What one wrote the other never saw, and no word said so."""
    found = story()
    assert told(found) == [
        "PersistentVolumeClaim ml/models is shared by ml/serve on east and ml/train on west, each cluster makes a volume of its own, "
        "and neither sees what the other writes"
    ]
    assert outcome(found.run()) == {"ml/serve": "Keep east Kept", "ml/train": "Keep west Kept"}  # it moves nothing
    assert [p.location.file for p in found.run().problems if p.code == CODE] == ["workloads/ml/claim.yaml"]


@pytest.mark.parametrize(
    "quiet",
    [
        story(train="[east]"),
        story(train=BOTH, more=", copies: All"),  # a copy of each beside a volume
        story(spec=", volumeName: one-for-all"),
        story(spec=", selector: {matchLabels: {fs: shared}}"),
        story(annotations=f"{{allow.gitplacer.dev/{CODE}: a cache}}"),
        story(serve="[]"),  # which is nowhere
    ],
)
def test_nothing_is_told_of_a_claim_that_is_in_one_place_or_may_be_one_everywhere(quiet: Story) -> None:
    assert told(quiet) == []


def test_one_app_with_copies_has_a_volume_beside_each() -> None:
    found = story(train=BOTH, serve=BOTH, more=", copies: All")
    assert told(found) == []
    found.source |= app("serve", "other")
    assert told(found) == []
