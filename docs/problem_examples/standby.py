"""Examples of clusters that should sleep, or be made, and cannot."""

from __future__ import annotations

from collections.abc import Mapping

from docs.problem_examples.example import Example
from docs.problem_examples.pieces import CLUSTER

_STANDBY = """\
  standby:
    mode: Delete
    nodes: [{{name: n1, allocatable: {{cpu: "8", memory: 32Gi}}}}]
    manifests: {{active: {}, standby: {}, renderInto: {}}}
"""
_FLEET = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Fleet
metadata: {{name: fleet}}
spec:
  clone:
    from: {}
    manifests: {{active: platform/clones/active, standby: platform/clones/standby}}
"""
_STATE = """\
apiVersion: gitplacer.dev/v1alpha1
kind: ClusterState
metadata: {{name: {}}}
state: Standby
since: "2026-01-01T00:00:00Z"
manifests: {{into: hub, epoch: 1, files: [standby/gpu/pool.yaml]}}
"""


def sleeper(active: str = "platform/gpu/active", standby: str = "platform/gpu/standby", into: str = "hub") -> str:
    return CLUSTER.format("gpu", _STANDBY.format(active, standby, into))


def pool(name: str, namespace: str = "clusters") -> str:
    return (
        f"apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachinePool\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        "spec: {replicas: 0}\n"
    )


_HUB = {"clusters/hub.yaml": CLUSTER.format("hub", "  role: Management\n")}
_BOTH = {"platform/gpu/active/pool.yaml": pool("gpu"), "platform/gpu/standby/pool.yaml": pool("gpu")}
_MODEL = {**_HUB, **_BOTH, "clusters/gpu.yaml": sleeper()}

_OTHER = {
    "clusters/cpu.yaml": sleeper().replace("gpu", "cpu"),
    "platform/cpu/active/pool.yaml": pool("cpu"),
    "platform/cpu/standby/pool.yaml": pool("cpu"),
}

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "StandbyManifests": (
        Example(
            (("clusters/gpu.yaml", sleeper(standby="platform/gpu/asleep")),),
            "The directory is called `platform/gpu/standby`:",
            beside={**_HUB, **_BOTH},
        ),
        Example(
            (("clusters/gpu.yaml", sleeper(standby="gpu/standby")), ("gpu/standby/pool.yaml", pool("gpu"))),
            "A directory where nobody said that trusted objects are:",
            beside={**_HUB, **_BOTH},
        ),
        Example(
            (("clusters/gpu.yaml", sleeper()), ("platform/gpu/standby/pool.yaml", "# nothing yet\n")),
            "A directory without a single object:",
            beside={**_HUB, "platform/gpu/active/pool.yaml": pool("gpu")},
        ),
    ),
    "StandbyTarget": (
        Example(
            (("clusters/gpu.yaml", sleeper(into="hubb")),), "The cluster is called `hub`:", beside={**_HUB, **_BOTH}
        ),
        Example((("clusters/gpu.yaml", sleeper(into="gpu")),), beside=_BOTH),
    ),
    "StandbyChanged": (
        Example(
            (("clusters/gpu.yaml", sleeper()),),
            "Somebody wrote `clusters/hub/platform/standby/gpu/pool.yaml` into the deployment repo:",
            beside={**_HUB, **_BOTH, **_OTHER},
            first={**_HUB, **_OTHER},
            deployment={"clusters/hub/platform/standby/gpu/pool.yaml": pool("mine")},
        ),
    ),
    "StandbyLeftOver": (
        Example(
            (("clusters/hub.yaml", _HUB["clusters/hub.yaml"]),),
            "The Cluster `gpu` was removed from the source:",
            first=_MODEL,
        ),
    ),
    "StateName": (
        Example(
            (("clusters/gpu.yaml", sleeper()),),
            "`fleet/gpu.yaml` in the deployment repo was copied from that of another cluster:",
            beside={**_HUB, **_BOTH},
            deployment={"fleet/gpu.yaml": _STATE.format("cpu")},
        ),
    ),
    "CloneModel": (
        Example(
            (("fleet.yaml", _FLEET.format("my-cluster")),),
            "`my-cluster` never sleeps:",
            beside={
                "platform/clones/active/pool.yaml": pool('"${name}"'),
                "platform/clones/standby/pool.yaml": pool('"${name}"'),
            },
        ),
    ),
    "CloneTemplate": (
        Example(
            (("fleet.yaml", _FLEET.format("gpu")), ("platform/clones/active/pool.yaml", pool("clone"))),
            beside={**_MODEL, "platform/clones/standby/pool.yaml": pool('"${name}"')},
        ),
    ),
}
