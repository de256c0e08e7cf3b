"""
How much storage drivers say that they have left, and where: CSIStorageCapacity.

kube-scheduler asks it before a volume is to be made for a pod on a node, of those drivers that want it to (`storageCapacity` of the CSIDriver):
some capacity of the claim's class, for that node, has to be large enough for the claim. It asks for each claim by itself and takes
nothing off; what is left is told anew by the driver, once a volume is made.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins/volumebinding/binder.go (hasEnoughCapacity, capacitySufficient, nodeHasAccess).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gitplacer.documents import Cursor
from gitplacer.model.podrules import Selector
from gitplacer.model.workload import NodeTerm
from gitplacer.workloads.constraints import selector_of

DRIVER, CAPACITY = "CSIDriver", "CSIStorageCapacity"


class Capacity(Struct, frozen=True):
    """What is left for volumes of a class on the nodes that are selected: in all, and for one volume."""

    storage_class: str
    nodes: Selector
    left: int
    largest: int


class Capacities(Struct, frozen=True):
    """All that drivers tell. `asked` are the drivers of which kube-scheduler wants to know, None where no driver was listed."""

    known: tuple[Capacity, ...] = ()
    asked: frozenset[str] | None = None

    def are_asked(self, driver: str) -> bool:
        return self.asked is not None and driver in self.asked

    def may_be_asked(self, storage_class: str) -> bool:
        """Whether there are some of a class, and nobody knows whether kube-scheduler asks for them."""
        return self.asked is None and any(each.storage_class == storage_class for each in self.known)

    def large_enough(self, storage_class: str, size: int) -> tuple[Capacity, ...]:
        """Those in which a volume of a class could be made."""
        return tuple(each for each in self.known if each.storage_class == storage_class and each.largest >= size)


def reached(capacities: Iterable[Capacity]) -> tuple[tuple[NodeTerm, ...], ...]:
    """On which nodes one of some capacities is: alternatives, or nothing where it is on all of them."""
    selected = [each.nodes.requirements for each in capacities if each.nodes.requirements is not None]
    if () in selected:
        return ()
    return (tuple(dict.fromkeys(NodeTerm(requirements) for requirements in selected)),)


def read_capacities(by_kind: Mapping[str, Sequence[Cursor]]) -> Capacities:
    """What CSIDrivers and CSIStorageCapacities say."""
    drivers = by_kind.get(DRIVER, ())
    asked = {
        root.mapping("metadata").text("name") for root in drivers if root.mapping("spec").boolean("storageCapacity")
    }
    return Capacities(tuple(map(_capacity, by_kind.get(CAPACITY, ()))), frozenset(asked) if drivers else None)


def _capacity(root: Cursor) -> Capacity:
    """Without any amount there is room for nothing; with `maximumVolumeSize` that counts for one volume, whatever there is in all."""
    left = root.quantity("storage", "capacity")
    largest = root.quantity("storage", "maximumVolumeSize") if root.has("maximumVolumeSize") else left
    return Capacity(
        root.text("storageClassName"),
        selector_of(root, "nodeTopology"),
        -1 if left is None else left,
        -1 if largest is None else largest,
    )
