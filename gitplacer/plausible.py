"""
Numbers in a capacity snapshot that cannot be: more in use than there is, or more than can be counted.

Pods may really ask for more than a node offers after its allocatable shrank, so that is told and counted as nothing free.
A sum over the nodes beyond 63 bits is a mistake in a unit; nobody can say which, so the cluster takes nothing new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gitplacer.documents import Document
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.problems import Problem, Severity


def implausible(snapshot: CapacitySnapshot, document: Document) -> Iterator[Problem]:
    """What is wrong with the numbers; with an error among it, the snapshot cannot be used."""
    yield from _overused(snapshot, document)
    sums: Counter[str] = Counter()
    offered: Counter[Resources] = Counter()  # most nodes offer the same, and are told together
    for node in snapshot.nodes:
        offered[node.allocatable] += node.count
    for each, count in offered.items():
        for name, amount in each.items():
            sums[name] += amount * count
    for name, total in sorted(sums.items()):
        if total > quantity.MAX:
            message = f"the nodes offer {total:.3g} {name} together, more than can be counted"
            yield document.problem("CapacityTooLarge", message, "correct the unit", path=("nodes",), key=True)


def _overused(snapshot: CapacitySnapshot, document: Document) -> Iterator[Problem]:
    """One warning for all nodes on which more is used than there is, naming the first."""
    found = [
        (index, name)
        for index, node in enumerate(snapshot.nodes)
        for name, used in node.used.items()
        if used > node.allocatable.get(name, 0) and name in node.allocatable
    ]
    if not found:
        return
    index, name = found[0]
    node = snapshot.nodes[index]
    more = len({place for place, _ in found}) - 1
    others = f" (and {more} more node{'s' if more > 1 else ''})" if more else ""
    used, offered = quantity.render(name, node.used[name]), quantity.render(name, node.allocatable[name])
    yield document.problem(
        "UsedBeyondAllocatable",
        f"{node.name} uses {used} of {offered} {name}{others}; nothing of it counts as free",
        "take the snapshot again; if it stays so, the node is overcommitted",
        path=("nodes", index, "used", name),
        severity=Severity.WARNING,
    )
