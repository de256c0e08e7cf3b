"""
What groups may have later that they ask no room for now, and which clusters could ever run it.

What a group is may not be the same on all clusters. Most are alike, and are asked about together.
"""

from __future__ import annotations

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.model.decision import Finding
from gitplacer.placement.books import Books
from gitplacer.placement.idle import Idle, NodeSorts, idle_in, in_vain
from gitplacer.placement.nodes import Columns, Indexes, Mask, Nodes
from gitplacer.placement.rosters import Rosters
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM


class Later(Struct, frozen=True):
    """
    Pods that a group may have later. `of` is the group where they may not be the same on all clusters, as where one of them, or of its other pods,
    `has_volumes`; '' elsewhere.
    """

    idle: tuple[Idle, ...]
    of: str = ""
    has_volumes: bool = False


class Outlook:
    """
    That of all groups of a pass. Answers are remembered. Its books are given where they are needed, whichever of the pass: what a cluster could
    ever run does not depend on what is promised there.
    """

    def __init__(self, snapshot: Snapshot, rosters: Rosters) -> None:
        self._snapshot, self._rosters = snapshot, rosters
        self._clusters = snapshot.source.own.clusters
        self._later: dict[str, Later | None] = {}
        self._could_run: dict[str, Mask] = {}
        self._alike: dict[int, Indexes] = {}
        """By likeness, the clusters that have it, by number."""
        self._in_vain: dict[tuple[str, Idle], Finding | None] = {}
        self._offered: NodeSorts | None = None
        self._nodes: dict[str, Nodes] = {}
        """Those of clusters whose ledgers nobody has opened."""

    def later(self, group: Group) -> Later | None:
        """Pods that a group may have later and asks no room for, as it is written; None where there are none, as with most."""
        if group.id not in self._later:
            facts = [] if group.unit == PLATFORM else [member.facts for member in group.members]
            idle, variants = idle_in(facts, group.reserves[0]), self._snapshot.variants
            bound = any(role.named.claims for found in facts if idle for role in found.roles)
            own = idle and (bound or variants.concerned(group) or variants.alone(group))
            self._later[group.id] = Later(idle, group.id if own else "", has_volumes=bound) if idle else None
        return self._later[group.id]

    def strands(self, group: Group, later: Later, books: Books, numbers: Indexes) -> Mask:
        """On which of some clusters, by their number in the books, some pods that a group may have later could never run."""
        if not later.of:
            return ~self._offers(books).could_run_all(later.idle)[numbers]
        if group.id not in self._could_run:
            self._could_run[group.id] = self._could_run_of(group, later, books)
        return ~self._could_run[group.id][numbers]

    def in_vain(self, name: str, idle: Idle, books: Books | None) -> Finding | None:
        """Why some pods could never run on a cluster; None where they could, or nobody knows its nodes one by one. Without books its nodes are read."""
        nodes = self._nodes_of(name, books)
        if nodes is None or self._snapshot.capacity[name].coarse:
            return None
        key = name, idle
        if key not in self._in_vain:
            self._in_vain[key] = in_vain(nodes, idle, self._snapshot.profiles[name].slice_topology)
        return self._in_vain[key]

    def _could_run_of(self, group: Group, later: Later, books: Books) -> Mask:
        """By number, the clusters that could run all that a group may have later there. What it is on clusters that are alike is looked at once."""
        names, variants, offers = books.names, self._snapshot.variants, self._offers(books)
        found = offers.could_run_all(later.idle).copy()
        for likeness in variants.concerned(group).intersection(self._rosters.alike):
            if likeness not in self._alike:
                self._alike[likeness] = books.numbers(self._rosters.alike[likeness])
            alike = self._alike[likeness]
            if len(alike):
                found[alike] = offers.could_run_all(self._idle_on(group, names[alike[0]]))[alike]
        binding = (n for n in names if self._snapshot.profiles[n].binds_volumes) if later.has_volumes else ()
        for number in books.numbers({*variants.alone(group), *binding}).tolist():
            found[number] = offers.could_run_all(self._idle_on(group, names[number]))[number]
        return found

    def _offers(self, books: Books) -> NodeSorts:
        if self._offered is None:
            snapshot, nodes = self._snapshot, [books[name].nodes for name in books.names]
            known = [not snapshot.capacity[name].coarse for name in books.names]
            self._offered = NodeSorts(nodes, [snapshot.profiles[name].slice_topology for name in books.names], known)
        return self._offered

    def _idle_on(self, group: Group, name: str) -> tuple[Idle, ...]:
        facts = (self._snapshot.variants.facts_there(member, self._clusters[name]) for member in group.members)
        return idle_in(facts, group.reserves[0])

    def _nodes_of(self, name: str, books: Books | None) -> Nodes | None:
        if books is not None:
            return books[name].nodes if name in books else None
        cluster, capacity = self._clusters.get(name), self._snapshot.capacity.get(name)
        if name not in self._nodes and cluster is not None and capacity is not None:
            columns = Columns.of((capacity,), (cluster,), ())
            self._nodes[name] = Nodes(cluster, capacity, columns, self._snapshot.now)
        return self._nodes.get(name)
