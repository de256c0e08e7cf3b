"""
What a hub knows of its clusters, as snapshots: Karmada's Clusters, OCM's ManagedClusters, ClusterProfiles of SIG-Multicluster.

A hub knows totals. Sixteen free GPUs in a total may be one on each of sixteen nodes, so no gang is promised anything by it; what is
placed whatever the room may go there. Only Karmada's resource models say more: how many nodes have at least so much free. They become
nodes of that size, without the labels, taints and pods that nobody saw, and a fit on them is tight at best (`coarse`).
What is free in a hub's eyes has everything taken off that runs there, what gitplacer has placed included; the planner takes that off
once more, which errs on the safe side.

A cluster that its hub does not hear of gets no snapshot: its last one grows old, as it should.
Sources: karmada pkg/apis/cluster/v1alpha1/types.go, pkg/controllers/status/cluster_status_controller.go (getAllocatableModelings counts
nodes by what is available on them) and pkg/modeling/modeling.go (a node is in the highest grade of which it has every minimum);
open-cluster-management.io/api cluster/v1; sigs.k8s.io/cluster-inventory-api apis/v1alpha1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from gitplacer.documents import Cursor
from gitplacer.kinds.capacity import CapacitySnapshot, Node
from gitplacer.kinds.selectors import ClusterMetadata
from gitplacer.model.resources import Resources
from gitplacer.scheduler.reading import cursor_of
from gitplacer.source.apigroups import BUILT_IN_GROUPS

_MODELLED = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that Karmada counts node by node. Of any other that a model names it counts none, so nothing is free of it."""


class Hub(Struct, frozen=True):
    """One sort of hub: what it calls its clusters, where its API has them, by which condition it says that it hears of one."""

    api_group: str
    kind: str
    path: str
    heard: str
    fields: Callable[[Cursor], Mapping[str, Any]]


class Unheard(Struct, frozen=True):
    """A cluster that gets no snapshot, and why."""

    name: str
    why: str


def read_hub(
    hub: Hub, objects: Iterable[Mapping[str, Any]], now: datetime
) -> tuple[list[CapacitySnapshot], list[Unheard]]:
    """The snapshots of the clusters among some objects, by name, and those that get none. Objects of other kinds are passed over."""
    found: list[CapacitySnapshot] = []
    unheard: set[Unheard] = set()
    roots = [
        root
        for root in map(cursor_of, objects)
        if root.text("kind") == hub.kind and root.text("apiVersion").partition("/")[0] == hub.api_group
    ]
    times = Counter(root.mapping("metadata").text("name") for root in roots)
    for root in roots:
        name = root.mapping("metadata").text("name")
        why = _unheard(root, hub.heard)
        try:
            metadata = ClusterMetadata(name=name)
        except ValueError:
            why = "it is called so that no Cluster can be"
        if times[name] > 1:  # one that is not heard of may be the one that is meant
            count = {2: "two"}.get(times[name], str(times[name]))
            why = f"there are {count} of this name, in different namespaces"
        if why:
            unheard.add(Unheard(name, why))
            continue
        snapshot = CapacitySnapshot(
            api_version="gitplacer.dev/v1alpha1", kind="CapacitySnapshot", metadata=metadata, observed_at=now, coarse=True,
            **hub.fields(root),
        )  # fmt: skip
        found.append(snapshot)
    return sorted(found, key=lambda one: one.name), sorted(unheard, key=lambda one: (one.name, one.why))


def _unheard(root: Cursor, condition: str) -> str:
    said = {item.text("type"): item for item in root.mapping("status").items("conditions")}
    if condition not in said:
        return f"its hub has not said {condition} of it yet"
    status = said[condition].text("status")
    return "" if status == "True" else f"its hub says {condition}={status} of it"


def _karmada(root: Cursor) -> Mapping[str, Any]:
    status = root.mapping("status")
    smallest = {
        item.integer("grade"): {
            limit.text("name"): limit.quantity(limit.text("name"), "min") or 0 for limit in item.items("ranges")
        }
        for item in root.mapping("spec").items("resourceModels")
    }
    nodes = []
    for item in status.mapping("resourceSummary").items("allocatableModelings"):
        grade, count = item.integer("grade"), item.integer("count") or 0
        offers = {name: amount for name, amount in smallest.get(grade, {}).items() if name in _MODELLED and amount > 0}
        if count > 0 and offers:
            nodes.append(
                Node(
                    name=f"grade-{grade}",
                    count=min(count, 100_000),
                    allocatable=Resources(offers).rendered(),  # type: ignore[arg-type]
                )
            )
    served = {item.text("groupVersion") for item in status.items("apiEnablements")}
    # Only the group of a version that is not Kubernetes' own: `v1` has none.
    serves = sorted(each for each in served if "/" in each and each.partition("/")[0] not in BUILT_IN_GROUPS)
    names = [node.name for node in nodes]
    return {
        "nodes": tuple(node for node in nodes if names.count(node.name) == 1),
        "serves": tuple(serves) if status.has("apiEnablements") else None,
    }


def _nothing(root: Cursor) -> Mapping[str, Any]:
    """Totals, or not even these."""
    return {}


HUBS: Mapping[str, Hub] = MappingProxyType(
    {
        "karmada": Hub(
            "cluster.karmada.io", "Cluster", "/apis/cluster.karmada.io/v1alpha1/clusters", "Ready", _karmada
        ),
        "ocm": Hub(
            "cluster.open-cluster-management.io",
            "ManagedCluster",
            "/apis/cluster.open-cluster-management.io/v1/managedclusters",
            "ManagedClusterConditionAvailable",
            _nothing,
        ),
        "clusterprofile": Hub(
            "multicluster.x-k8s.io",
            "ClusterProfile",
            "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles",
            "ControlPlaneHealthy",
            _nothing,
        ),
    }
)
"""The hubs that can be read, by the name they are given on the command line."""
