"""
What Kueue on the manager is told of a policy that leaves it to MultiKueue where its groups start: the clusters that are nominated.

For each such policy the manager's platform directory has one file with a MultiKueueConfig, which lists the clusters in order of preference, and
the AdmissionCheck that leads to it. Everything else of a MultiKueue setup (ClusterQueues, the MultiKueueClusters and the secrets that let Kueue
in) is the platform team's. A MultiKueueCluster is called like its Cluster.

Source: apis/kueue/v1beta2/multikueue_types.go and admissioncheck_types.go of kubernetes-sigs/kueue.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.plaintext import dns_label
from gitplacer.rules.managedby import MULTIKUEUE
from gitplacer.yamltext import to_yaml

FOLDER = "multikueue"
"""Below the platform unit of a manager."""
MARK = b"# Made by gitplacer, as placement.dispatch of a PlacementPolicy asks.\n"
"""The first line of each file of ours: one that begins otherwise is somebody else's."""
MOST = 20
"""Clusters in one MultiKueueConfig, as the kind allows."""
_GROUP = "kueue.x-k8s.io"
_API = f"{_GROUP}/v1beta2"


def config_file(policy: str) -> str:
    """Where a manager is told of a policy, below its platform unit."""
    return f"{FOLDER}/{policy}.yaml"


def policy_of(file: str) -> str:
    """The policy of which such a file tells."""
    return file.rpartition("/")[2].removesuffix(".yaml")


def check_name(policy: str) -> str:
    """
    What the AdmissionCheck of a policy is called, and the MultiKueueConfig that it leads to. Such a reference is a label, and takes no dots.
    """
    return dns_label(f"gitplacer-{policy}", policy)


def config(policy: str, clusters: Sequence[str]) -> bytes:
    """What a manager is told of a policy: the clusters, best first; there has to be one."""
    name = check_name(policy)
    listed = {
        "apiVersion": _API,
        "kind": "MultiKueueConfig",
        "metadata": {"name": name},
        "spec": {"clusters": [*clusters]},
    }
    check = {
        "apiVersion": _API,
        "kind": "AdmissionCheck",
        "metadata": {"name": name},
        "spec": {
            "controllerName": MULTIKUEUE,
            "parameters": {"apiGroup": _GROUP, "kind": "MultiKueueConfig", "name": name},
        },
    }
    return MARK + to_yaml(listed) + b"---\n" + to_yaml(check)
