"""
Nodes of a live cluster, and how those that are the same become one entry with a count.

The label kubernetes.io/hostname is left out where it is the node's name: who reads a snapshot takes it for that, and without it
nodes can be the same. A node is told by its own name where anything speaks of it by name: pods of a group that are on it, listed
pods, volumes that only it reaches.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.kinds.capacity import Node
from gitplacer.kinds.listedpods import ListedPod
from gitplacer.kinds.selectors import TaintField
from gitplacer.machines.types import NODE_POOL
from gitplacer.model.labels import Taint
from gitplacer.model.podrules import LabelPairs
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.scheduler.reading import cursor_of, read_node

PASSING_LABELS = frozenset({"nvidia.com/gfd.timestamp", "alpha.eksctl.io/instance-id"})
"""Labels that tell one machine from another, or one minute from the next, and that no pod goes by."""


class NodeSeen(Struct, frozen=True):
    """A node as it is written in a snapshot, without what is used of it. `capacity` is known of those that Karpenter has made."""

    name: str
    labels: LabelPairs
    taints: tuple[Taint, ...]
    unschedulable: bool
    ready: bool
    allocatable: Resources
    capacity: Resources = NOTHING
    flaw: str = ""


def read_seen(value: Mapping[str, Any]) -> NodeSeen:
    """A v1.Node. It is ready if its condition says so, or none does."""
    node = read_node(value)
    conditions = cursor_of(value).mapping("status").items("conditions")
    ready = [item.text("status") for item in conditions if item.text("type") == "Ready"]
    by_karpenter = any(key == NODE_POOL for key, _ in node.labels)
    return NodeSeen(
        name=node.name,
        labels=tuple(
            (key, text)
            for key, text in node.labels
            if key not in PASSING_LABELS and (key, text) != (HOSTNAME, node.name)
        ),
        taints=tuple(sorted(node.taints, key=lambda taint: (taint.key, taint.value, taint.effect))),
        unschedulable=node.unschedulable,
        ready=not ready or ready[-1] == "True",
        allocatable=node.allocatable,
        capacity=cursor_of(value).mapping("status").quantities("capacity") if by_karpenter else NOTHING,
        flaw=node.flaw,
    )


def folded(
    nodes: Sequence[NodeSeen],
    used: Mapping[str, Resources],
    listed: Mapping[str, tuple[ListedPod, ...]],
    named: Collection[str],
) -> tuple[Node, ...]:
    """
    Entries for all nodes, in the order of the first of each. Nodes in `named`, and those with listed pods, stand alone; one that is there twice is
    one, as it was seen last.
    """
    entries: dict[tuple[object, ...], list[str]] = {}
    alike: dict[tuple[object, ...], NodeSeen] = {}
    for node in sorted({each.name: each for each in nodes}.values(), key=lambda each: each.name):
        alone = node.name if node.name in named or node.name in listed else ""
        key = (
            node.labels, node.taints, node.unschedulable, node.ready, node.allocatable,
            used.get(node.name, NOTHING), alone,
        )  # fmt: skip
        entries.setdefault(key, []).append(node.name)
        alike.setdefault(key, node)
    return tuple(
        Node(
            name=names[0],
            count=len(names),
            labels=dict(alike[key].labels),
            taints=tuple(TaintField(key=t.key, value=t.value, effect=t.effect) for t in alike[key].taints),  # type: ignore[arg-type]
            unschedulable=alike[key].unschedulable,
            ready=alike[key].ready,
            allocatable=alike[key].allocatable.rendered(),  # type: ignore[arg-type]
            used=used.get(names[0], NOTHING).rendered(),  # type: ignore[arg-type]
            pods=listed.get(names[0], ()),
        )
        for key, names in entries.items()
    )
