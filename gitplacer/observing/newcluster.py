"""
The Cluster that a fleet begins with, from a cluster that is there: what its nodes say of where it is and what adds nodes.

Only what all nodes agree on is written; the rest is for people to say.
"""

from __future__ import annotations

import re
from typing import Any

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.profile import ZONE
from gitplacer.machines.types import NODE_POOL, REGION
from gitplacer.yamltext import to_block_yaml

_PROVIDERS = (
    ("eks.amazonaws.com/", "aws"),
    ("k8s.io/cloud-provider-aws", "aws"),
    ("cloud.google.com/", "gce"),
    ("kubernetes.azure.com/", "azure"),
)
"""Beginnings of labels that the nodes of a provider have."""
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def name_for(context: str) -> str:
    """A name for the cluster of a context: `gke_project_us-west1_c` is `gke-project-us-west1-c`. '' where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", context.lower()).strip("-")[-63:].strip("-")


def cluster_file(snapshot: CapacitySnapshot, version: str, labels: dict[str, str]) -> bytes:
    """The file of a Cluster. `version` is what the API server calls its own, such as v1.31.2-eks-1a2b."""
    number = re.match(r"v?([0-9]+\.[0-9]+)", version)
    spec: dict[str, Any] = {
        "provider": _provider(snapshot),
        "region": _said_by_all(snapshot, REGION),
        "zone": _said_by_all(snapshot, ZONE),
        "kubernetesVersion": number[1] if number else None,
        "autoscaler": _autoscaler(snapshot),
    }
    return to_block_yaml(
        {
            "apiVersion": snapshot.api_version,
            "kind": "Cluster",
            "metadata": {"name": snapshot.name, "labels": labels},
            "spec": {key: value for key, value in spec.items() if value is not None},
        }
    )


def _said_by_all(snapshot: CapacitySnapshot, label: str) -> str | None:
    values = {node.labels.get(label) for node in snapshot.nodes}
    value = next(iter(values)) if len(values) == 1 else None
    return value if value and _WORD.fullmatch(value) else None


def _provider(snapshot: CapacitySnapshot) -> str | None:
    keys = {key for node in snapshot.nodes for key in node.labels}
    found = {provider for begin, provider in _PROVIDERS if any(key.startswith(begin) for key in keys)}
    return found.pop() if len(found) == 1 else None


def _autoscaler(snapshot: CapacitySnapshot) -> dict[str, str] | None:
    if not snapshot.node_groups:
        return None
    pools = any(NODE_POOL in node.labels for node in snapshot.nodes)
    return {"type": "Karpenter" if pools else "ClusterAutoscaler"}
