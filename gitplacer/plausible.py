"""
Numbers in a capacity snapshot that cannot be: more in use than there is, more than can be counted, or more than people say there is.

Pods may really ask for more than a node offers after its allocatable shrank, so that is told and counted as nothing free.
A sum over the nodes beyond 63 bits is a mistake in a unit; nobody can say which, so the cluster takes nothing new. Nor does one of more nodes
or resources than any cluster has: each of them takes memory and time of the pass of all. Nor is one believed that says more than its Cluster allows: whoever is wrong about one number may be wrong about all, and cutting it down to what is allowed
would be to choose which nodes are true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gitplacer.documents import Document, Path
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import ClusterLimits
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.problems import Problem, Severity

NODES = "nodes"
"""What a limit is of, where it is of no resource."""
_MOST_NODES = 100_000
"""Kubernetes itself is made for 5,000, and clouds offer some ten times as many."""
_MOST_GROUPS = 1000
"""Groups of machines that an autoscaler adds."""
_MOST_RESOURCES = 200
"""Different ones, of nodes and of machines that an autoscaler adds. A node with every profile of a GPU that is cut in parts has some thirty."""


def implausible(snapshot: CapacitySnapshot, document: Document) -> Iterator[Problem]:
    """What is wrong with the numbers; with an error among it, the snapshot cannot be used."""
    yield from _overused(snapshot, document)
    sums: Counter[str] = Counter()
    columns = NodeColumns.of(snapshot.nodes)
    alike = columns.alike  # most nodes offer the same, and are told together
    for which, nodes in Counter(alike.rows).items():
        each = alike.values[which]
        for name, amount in each.allocatable.items():
            sums[name] += amount * each.count * nodes
    for name, total in sorted(sums.items()):
        if total > quantity.MAX:
            message = f"the nodes offer {total:.3g} {name} together, more than can be counted"
            yield document.problem("CapacityTooLarge", message, "correct the unit", path=("nodes",), key=True)
    count = sum(each.count for each in columns.alike)
    if count > _MOST_NODES:
        message = f"there are {count:,} nodes, more than {_MOST_NODES:,}"
        yield document.problem("CapacityTooLarge", message, "correct the counts", path=("nodes",), key=True)
    groups = len(snapshot.node_groups)
    if groups > _MOST_GROUPS:
        message = f"there are {groups:,} groups of machines, more than {_MOST_GROUPS:,}"
        yield document.problem(
            "CapacityTooLarge", message, "list those that pods go to", path=("nodeGroups",), key=True
        )
    machines = {name for group in snapshot.node_groups for name in group.allocatable or ()}
    kinds = len(machines.union(*(each.allocatable for each in columns.alike.values)))
    if kinds > _MOST_RESOURCES:
        message = f"nodes and machines offer {kinds:,} different resources, more than {_MOST_RESOURCES}"
        hint = "list those that pods ask for"
        yield document.problem("CapacityTooLarge", message, hint, path=("nodes",), key=True)


def beyond_limits(snapshot: CapacitySnapshot, limits: ClusterLimits) -> tuple[Path, str] | None:
    """Where a snapshot first says more than its Cluster allows, and how much that is; None where it does not."""
    columns = NodeColumns.of(snapshot.nodes)
    alike = columns.alike  # most nodes offer the same, and are looked at together
    beyond = {number for number, each in enumerate(alike.values) if _first_beyond(each.allocatable, limits)}
    machines: list[tuple[Path, str, Resources]] = [
        (("nodes", index), columns.names[index], alike.values[number].allocatable)
        for index, number in enumerate(alike.rows)
        if number in beyond
    ]
    machines += [
        (("nodeGroups", index), f"a machine of {group.name}", group.allocatable)
        for index, group in enumerate(snapshot.node_groups)
        if group.allocatable is not None
    ]
    for path, who, offered in machines:
        name = _first_beyond(offered, limits)
        if name:
            return (*path, "allocatable", name), f"{who} offers {_more(name, offered[name], limits.per_node[name])}"
    for name, most in sorted(limits.total.items()):
        total = sum(each.count * (1 if name == NODES else each.allocatable.get(name, 0)) for each in alike)
        if total > most:
            said = f"it has {total} nodes" if name == NODES else f"all nodes offer {_more(name, total, most)}"
            return ("nodes",), said if name != NODES else f"{said}, and may have {most}"
    return None


def _first_beyond(offered: Resources, limits: ClusterLimits) -> str:
    """The first resource of which one machine offers more than it may; "" if there is none."""
    return next((name for name, most in sorted(limits.per_node.items()) if offered.get(name, 0) > most), "")


def _more(name: str, amount: int, most: int) -> str:
    return f"{quantity.render(name, amount)} {name}, and may offer {quantity.render(name, most)}"


def _beyond(used: Resources, offered: Resources) -> list[str]:
    """Of what is offered that of which more is used."""
    return [name for name, amount in used.items() if amount > offered.get(name, amount)]


def _overused(snapshot: CapacitySnapshot, document: Document) -> Iterator[Problem]:
    """One warning for all nodes on which more is used than there is, naming the first."""
    columns = NodeColumns.of(snapshot.nodes)
    alike, used = columns.alike, columns.used
    over = {
        pair: names
        for pair in set(zip(alike.rows, used.rows, strict=True))
        if (names := _beyond(used.values[pair[1]], alike.values[pair[0]].allocatable))
    }
    if not over:
        return
    pairs = enumerate(zip(alike.rows, used.rows, strict=True))
    found = [(index, name) for index, pair in pairs for name in over.get(pair, ())]
    index, name = found[0]
    node = snapshot.nodes[index]
    more = len({place for place, _ in found}) - 1
    others = f" (and {more} more node{'s' if more > 1 else ''})" if more else ""
    said, offered = quantity.render(name, node.used[name]), quantity.render(name, node.allocatable[name])
    yield document.problem(
        "UsedBeyondAllocatable",
        f"{node.name} uses {said} of {offered} {name}{others}; nothing of it counts as free",
        "take the snapshot again; if it stays so, the node is overcommitted",
        path=("nodes", index, "used", name),
        severity=Severity.WARNING,
    )
