"""
Ledgers that stay open from one pass to the next.

Most passes find most clusters as the pass before did: the same snapshot, the same groups on it. Its ledger is then the same, and so is
what was taken from it in the same order. A ledger is told by all that it is opened from, by the snapshot and the Cluster as the very
objects that they were, so that nothing has to be compared node by node. What is remembered never changes an answer.

It is bounded: there is one ledger for each cluster of the last pass, each with the few outcomes that were asked for last. The oldest are
opened anew, a few in each pass, so that what was worked out for pods that are long gone does not pile up, and no pass has to open all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.machines import Catalogue
from gitplacer.model.bystander import Bystander
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns, Nodes
from gitplacer.placement.seating import NoSeats, Seats
from gitplacer.scheduler.objects import NO_NAMESPACES, Namespaces

PASSES = 32
"""After about so many a ledger is opened anew, whatever has happened."""
REPLAYS = 4
"""Outcomes of taking room that are kept with a ledger: a pass asks for one or two."""


class Opening(Struct, frozen=True, kw_only=True):
    """
    All that the ledger of a cluster depends on, with nothing reserved. `gangs` has the pods of each group that the snapshot shows, as
    its manifests say, and `namespaces` the labels that the source gives to namespaces.
    """

    cluster: Cluster
    snapshot: CapacitySnapshot
    columns: Columns
    gangs: Mapping[str, Gang]
    slice_topology: str
    now: datetime
    namespaces: Namespaces = NO_NAMESPACES

    def open(self, nodes: Nodes | None = None) -> Ledger:
        """`nodes` are those of the snapshot, where somebody has read them already."""
        return Ledger(
            self.cluster,
            self.snapshot,
            self.columns,
            self.gangs.__getitem__,
            self.slice_topology,
            self.now,
            nodes,
            self.namespaces,
        )

    def gives(self, ledger: Ledger, before: Opening) -> bool:
        """Whether this would open the ledger that another has opened."""
        return (
            self.cluster is before.cluster
            and self.snapshot is before.snapshot
            and self.columns.names == before.columns.names
            and self.slice_topology == before.slice_topology
            and self.namespaces == before.namespaces
            and self.gangs == before.gangs
            and ledger.nodes.catalogue == Catalogue.of(self.cluster, self.snapshot, self.now)
        )


class LedgerCache:
    """
    Ledgers by cluster, for whoever makes one pass after another. One that is empty is good for a single pass. `seats` remember for other processes
    where groups sit.
    """

    def __init__(self, seats: Seats | None = None) -> None:
        self.seats = seats or NoSeats()
        self.sat: Mapping[str, Mapping[str, Bystander]] = {}
        """Where groups sat when nothing happened, by cluster and id, for whoever plans with some of them on clusters that are as they were."""
        self._open: dict[str, tuple[Opening, Ledger]] = {}
        """Those that were opened first come first."""
        self._asked: set[str] = set()
        self._worn = 0
        """Passes that the ledgers have served together, less those of which one was opened anew."""

    @contextmanager
    def seated(self, sat: Mapping[str, Mapping[str, Bystander]]) -> Iterator[None]:
        """With such seats, for one plan: the next may find the same room on nodes that take other pods."""
        self.sat = sat
        try:
            yield
        finally:
            self.sat = {}

    def opened(self, asked: Opening) -> Ledger:
        """The ledger that an opening gives, with nothing reserved. Whoever writes to it writes to a copy."""
        name = asked.cluster.name
        self._asked.add(name)
        known = self._open.get(name)
        if known is None or not asked.gives(known[1], known[0]):
            self._open.pop(name, None)
            self._open[name] = known = asked, asked.open()
        return known[1].anew(replays=REPLAYS)

    def forget_unused(self) -> None:
        """
        Forget the clusters that nobody has asked for since this was called last, and the oldest ledgers. To be called between
        one pass and the next.
        """
        if self._asked:
            kept = [name for name in self._open if name in self._asked]
            oldest, self._worn = divmod(self._worn + len(kept), PASSES)
            self._open = {name: self._open[name] for name in kept[oldest:]}
            self._asked = set()
