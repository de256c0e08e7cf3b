"""
The nodes of the whole fleet as one table: which clusters may have room for a gang, without a closer look at any.

The places of a cluster for pods of one shape are the sum over its nodes of how many of them each takes, if there are no
other pods. A gang with more pods of a shape than places does not fit, however it is packed, so most clusters of a busy
fleet are ruled out by one comparison. A cluster that is not ruled out has to be looked at: pods of different shapes
compete for the same nodes, which nothing here knows of.

The same table ranks clusters. Free devices of a node are a block, and a large pod needs a large one: a pod that takes one
of eight leaves none for a pod that wants eight. So of two clusters that is better which has small blocks for the gang.

Places are kept for each shape. Of what a ledger has changed since then only the nodes in question are counted again, which a
journal tells. A reservation costs the rows of its own cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from gitplacer.model.workload import Gang, PodShape, Roster
from gitplacer.placement.journal import Changes, Journal, most_of
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodeclasses import Classes, NodeClasses
from gitplacer.placement.nodes import Amounts, Columns, Counts, Floats, Indexes, Mask
from gitplacer.scheduler.filters import asks_for_a_name
from gitplacer.scheduler.objects import Node as NodeShape
from gitplacer.scheduler.patience import Patience

Sizes = np.ndarray[Any, np.dtype[np.int8]]

_FAR = 2**30
"""Places of a block on one cluster that changes are added to and taken from: fewer than 32 bits hold, whatever comes."""
MOST = 2**31 - 1
"""As many pods as a node is counted for. Sums over all nodes stay far below 2⁶³ whatever the quantities say."""
_LARGE = 2**52
"""Of amounts below, the whole part of a quotient of floats is the quotient of whole numbers."""
_FAR_MORE = 2**62
"""More pods than any cluster has a doubt about."""
SOME = (16, 200)
"""Clusters; so many of those that are put in order are found first, and then so many, since mostly few are asked about."""
BLOCKS = np.array([0, 1, 2, 4, 8, 16, 32, 64], dtype=np.int64)
"""Sizes of blocks: the largest power of two that is free; the last means that or more."""


class Wants(Struct, frozen=True):
    """
    What pods of some shapes look for. By shape, in order: `rows` (shapes × columns), how much one pod asks for;
    `breaking`, whether it breaks blocks; `named`, whether it asks for a node by name. For all of them: the columns of
    the `devices` that count as theirs, and of all `resources` that they ask for.
    """

    rows: Floats
    breaking: tuple[bool, ...]
    named: tuple[bool, ...]
    devices: Indexes
    resources: Indexes


class Weighed:
    """
    What there is to say of some clusters for a gang, in arrays as long as these. `open`: those that may have room, of
    those that were open before. Of these, the `spare` places, the blocks that are `broken`, whether a proof is
    `hopeless`, and how much `more` is asked for than other gangs asked for in vain.
    """

    def __init__(self, open_: Mask) -> None:
        self.open, clusters = open_.copy(), len(open_)
        self.spare: Counts = np.full(clusters, MOST, dtype=np.int64)
        self.broken: Counts = np.zeros(clusters, dtype=np.int64)
        self.hopeless: Mask = np.zeros(clusters, dtype=np.bool_)
        self.more: Floats = np.zeros(clusters)


class Doubted(NamedTuple):
    """
    What is known against so many pods of a shape, in arrays over all clusters that are empty where nothing is known:
    the `least` number of such pods that has no proof even by itself; the least amount of the resource that they ask for
    most which was asked for `in_vain`; and the `amount` of it that they ask for.
    """

    least: Counts
    in_vain: Floats
    amount: float


class _Looks(NamedTuple):
    """
    What a pod of a shape looks at: `admits`, a mask over classes of nodes; its `request` by column; `blocking`, a mask
    over columns, the devices that make up its blocks. `exact`: amounts are so large that only whole numbers will do.
    """

    admits: Mask
    request: Counts
    blocking: Mask
    exact: bool


class _Kept:
    """
    The places for a shape, clusters × blocks, as of the change to the fleet's nodes that was `seen` last; only those of
    clusters that are `known` hold.
    """

    def __init__(self, looks: _Looks, clusters: int) -> None:
        self.looks = looks
        self.seen = 0
        self.known: Mask = np.zeros(clusters, dtype=np.bool_)
        self.counts = np.zeros((clusters, len(BLOCKS)), dtype=np.int32)
        self.totals: Counts = np.zeros(clusters, dtype=np.int64)
        """The same, whatever the block."""

    def copy(self) -> _Kept:
        twin = copy.copy(self)
        twin.known, twin.counts, twin.totals = self.known.copy(), self.counts.copy(), self.totals.copy()
        return twin

    def learn(self, clusters: Indexes, counts: Counts) -> None:
        """
        Take over what was counted on some clusters. Counts too large to be kept up to date are counted anew each time.
        """
        self.counts[clusters] = np.minimum(counts, MOST)
        self.totals[clusters] = self.counts[clusters].sum(axis=1, dtype=np.int64)
        self.known[clusters] = (counts < _FAR).all(axis=1)


_NO_PLACES = np.zeros(0, dtype=np.int64), np.zeros((0, len(BLOCKS)), dtype=np.int32)
"""Of pods that nobody counts places for."""
SURVEYS = Patience("gitplacer.placement.compiledsurvey", 1_000)
"""Of this process; a step is a shape that is counted on some clusters, several where they have many thousands of nodes."""


class Survey:
    """
    The free amounts of every node of the fleet, a row for each resource, the nodes of a cluster side by side. Clusters
    are numbered in the order of their ledgers. Whoever writes to a ledger calls `update`.
    """

    def __init__(self, ledgers: Sequence[Ledger], columns: Columns, patience: Patience = SURVEYS) -> None:
        self._columns = columns
        self._patience = patience
        self._sizes: Counts = np.array([len(ledger.nodes.machines) for ledger in ledgers], dtype=np.int64)
        self._starts: Counts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        numbers: dict[NodeShape, int] = {}
        of_each = []
        self._class_of: Classes = np.zeros(self._starts[-1], dtype=np.int32)
        self._free: Amounts = np.zeros((len(columns), self._starts[-1]), dtype=np.int64)
        for index, ledger in enumerate(ledgers):
            nodes, rows = ledger.nodes, self._rows_of(index)
            of_each.append([numbers.setdefault(shape, len(numbers)) for shape in nodes.shapes])
            here = np.array(of_each[-1], dtype=np.int32)
            self._class_of[rows] = here[nodes.shape_of] if len(nodes.shape_of) else 0
            self._free[:, rows] = ledger.free_on_nodes().T
        self._classes = NodeClasses(list(numbers))
        for ledger, known in zip(ledgers, of_each, strict=True):
            ledger.nodes.judged_by(self._classes.admits_unnamed, known)
        totals = np.array([_total(each.free_on_nodes()) for each in ledgers])
        self._totals = totals.reshape(len(ledgers), len(columns))
        self._journal = Journal(len(columns), most_of(int(self._starts[-1])))
        self._beside: dict[PodShape, _Kept] = {}
        self._wants: dict[tuple[PodShape, ...], Wants] = {}
        self._sized: dict[bytes, tuple[int, Sizes]] = {}
        self._is_large = any(bool((ledger.nodes.allocatable >= _LARGE).any()) for ledger in ledgers)

    @property
    def compiled(self) -> ModuleType | None:
        """What does the same in machine code, once enough was done without."""
        return self._patience.compiled

    def copy(self) -> Survey:
        """A survey that can be updated without touching this one."""
        twin = copy.copy(self)
        twin._free = self._free.copy()
        twin._totals = self._totals.copy()
        twin._journal = self._journal.copy()
        twin._sized = {}
        twin._beside = {shape: kept.copy() for shape, kept in self._beside.items()}
        return twin

    def update(self, index: int, ledger: Ledger, machines: Collection[int] | None = None) -> None:
        """
        Take over what is free on a cluster now. `machines`, by number, are those that may have changed, None for any;
        numbers of machines that are not there yet are passed over.
        """
        free, rows, compiled = ledger.free_on_nodes(), self._rows_of(index), self._patience.compiled
        if machines is None:
            changed: Indexes = np.flatnonzero((free != self._free[:, rows].T).any(axis=1))
        else:
            changed = np.array(sorted(machine for machine in machines if machine < len(free)), dtype=np.intp)
        if compiled is not None:
            before, after = compiled.take_over(free, changed, rows.start, self._free, self._totals[index])
        else:
            before, after = self._free[:, rows.start + changed].T, free[changed]
            self._free[:, rows.start + changed] = after.T
            self._totals[index] += _total(after) - _total(before)
        self._journal.note(index, rows.start + changed, before, after)
        if machines is None:
            self._totals[index] = _total(free)

    def may_have_room(self, gang: Gang, asked: Indexes) -> Mask:
        """
        A mask over `asked`: which clusters may have room for a gang, that is, in all as much of everything as it asks
        for, and for each shape as many places as it has pods. The others surely have none.
        """
        counts, compiled = Roster.of(gang).counts, self._patience.compiled
        need, named = self.need(counts), self.wants(counts).named
        open_: Mask = np.ones(len(asked), dtype=np.bool_)
        if compiled is not None:
            compiled.enough(self._totals, asked, need, open_)
        else:
            open_ = np.all((self._totals[asked] >= need) | (need == 0), axis=1)
        for (shape, count), by_name in zip(counts.items(), named, strict=True):
            # Pods that ask for a node by name are of as many shapes as there are nodes; each is looked at where it goes.
            if by_name or not count:
                continue
            if compiled is not None:
                compiled.rule_out(asked, self._kept(shape, asked, open_).totals, min(count, MOST), open_)
            else:
                left = np.flatnonzero(open_)
                open_[left] = self.places(shape, asked[left]) >= min(count, MOST)
        return open_

    def need(self, counts: Mapping[PodShape, int]) -> Floats:
        """
        How much so many pods ask for in all, by column. In floats, because counts and sums may be anything; it errs, if
        at all, towards a closer look.
        """
        need: Floats = np.array([float(count) for count in counts.values()]) @ self.wants(counts).rows
        need *= 1 - 1e-9
        return need

    def tightness(self, gang: Gang, asked: Indexes) -> tuple[Counts, Floats]:
        """
        How tightly a gang would sit on each of some clusters; less is better. First, what it breaks: each of its pods
        counts as much as the block that it takes from, smallest blocks first. Second, how many devices are free.

        If a gang asks for devices, only these and the pods that ask for them count; otherwise all devices and all pods,
        since a node that is full of other pods lends its devices to nobody.
        """
        counts = Roster.of(gang).counts
        wants = self.wants(counts)
        broken = np.zeros(len(asked), dtype=np.int64)
        for (shape, count), breaking in zip(counts.items(), wants.breaking, strict=True):
            if breaking:  # smallest blocks first
                up_to = np.cumsum(self.beside_blocks(shape, asked), axis=1)
                broken += np.diff(np.minimum(up_to, min(count, MOST)), axis=1, prepend=0) @ BLOCKS
        free = np.zeros(len(asked))
        for column in wants.devices.tolist():
            free += self._totals[asked, column]
        return broken, free

    def wants(self, shapes: Iterable[PodShape]) -> Wants:
        """What pods of some shapes look for; computed once for all gangs of these shapes."""
        key = tuple(shapes)
        if key not in self._wants:
            devices, named = self._columns.devices, [asks_for_a_name(shape) for shape in key]
            rows = np.array([self._columns.asked(shape) for shape in key]).reshape(len(key), len(self._columns))
            wanting: Mask = np.any(rows[:, devices] > 0, axis=1)
            theirs: Mask = devices & np.any(rows > 0, axis=0) if wanting.any() else devices
            self._wants[key] = Wants(
                rows=rows.astype(np.float64),
                breaking=tuple(bool(wants) and not by_name for wants, by_name in zip(wanting, named, strict=True))
                if wanting.any() else tuple(not by_name for by_name in named),
                named=tuple(named),
                devices=np.flatnonzero(theirs),
                resources=np.flatnonzero(np.any(rows > 0, axis=0)),
            )  # fmt: skip
        return self._wants[key]

    def weighed(
        self,
        compiled: ModuleType,
        gang: Gang,
        asked: Indexes,
        open_: Mask,
        against: Callable[[PodShape, int], Doubted],
        *,
        anyway: bool = False,
    ) -> Weighed:
        """
        `may_have_room`, `tightness` and `spare` of some clusters that are open, with what is known `against` the pods
        of a gang, in one go by machine code. `anyway`: also of those that have no room.
        """
        counts, found = Roster.of(gang).counts, Weighed(open_)
        if not anyway:
            compiled.enough(self._totals, asked, self.need(counts), found.open)
        wants = self.wants(counts)
        for (shape, count), breaking, named in zip(counts.items(), wants.breaking, wants.named, strict=True):
            totals, blocked = _NO_PLACES
            if not named:
                kept = self._kept(shape, asked, found.open)
                totals, blocked = kept.totals, kept.counts
            compiled.weigh(
                asked, totals, blocked, min(count, MOST), bool(count) and not named, anyway, breaking, BLOCKS, *against(shape, count),
                min(count, _FAR_MORE), found.open, found.spare, found.broken, found.hopeless, found.more,
            )  # fmt: skip
        return found

    @property
    def totals(self) -> Floats:
        """What is free in all, clusters × columns. Do not write to it."""
        return self._totals

    def in_order(self, asked: Indexes, keys: Sequence[Counts | Mask]) -> Iterator[int]:
        """
        Positions in `asked`, one by one, in the order of some keys, the first of which counts most, then of cluster
        numbers. Mostly only the first few are asked for, so machine code finds these before all are sorted.
        """
        compiled = self._patience.compiled
        if compiled is not None and len(asked) > SOME[0]:
            columns: Counts = np.column_stack([*(key for key in keys if (key != key[0]).any()), asked])
            yield from rows_in_order(compiled, columns, compiled.first(columns, SOME[0]))
        else:
            yield from np.lexsort((asked, *keys[::-1])).tolist()

    def spare(self, gang: Gang, asked: Indexes) -> Counts:
        """
        For each of some clusters, how many places are left beside a gang for the shape of its pods that has the fewest
        left.
        """
        left: Counts = np.full(len(asked), MOST, dtype=np.int64)
        for shape, count in Roster.of(gang).counts.items():
            if count and not asks_for_a_name(shape):
                np.minimum(left, self.places(shape, asked) - min(count, MOST), out=left)
        return left

    def places(self, shape: PodShape, asked: Indexes) -> Counts:
        """For each of some clusters, how many pods of a shape it takes, if there are no others."""
        return self._kept(shape, asked).totals[asked]

    def beside_blocks(self, shape: PodShape, asked: Indexes) -> Counts:
        """The places for a shape, clusters × blocks: by the size of the block of free devices on their node."""
        return self._kept(shape, asked).counts[asked].astype(np.int64)

    def _kept(self, shape: PodShape, asked: Indexes, open_: Mask | None = None) -> _Kept:
        """What is kept for a shape, which is how it is now on some clusters, or on those of them that are open."""
        kept = self._beside.get(shape)
        if kept is None:
            kept = self._beside[shape] = _Kept(self._looks(shape), len(self._sizes))
        changes, kept.seen = self._journal.since(kept.seen), self._journal.end
        if changes is None:
            kept.known[:] = False
            changes = self._journal.none
        compiled = self._patience.compiled
        if open_ is None:
            open_ = np.ones(len(asked), dtype=np.bool_)
        if compiled is not None:
            new = compiled.renew(
                *changes, self._class_of, *kept.looks, MOST, _FAR, kept.known, kept.counts, kept.totals, asked, open_
            )  # fmt: skip
        else:
            if len(changes.rows):
                self._recount(kept, changes)
            new = asked[open_ & ~kept.known[asked]]
        if len(new):
            kept.learn(new, self.counted(shape, new))
        return kept

    def _recount(self, kept: _Kept, changes: Changes) -> None:
        """Count what was changed, on clusters that are known."""
        admits, request, blocking, _ = kept.looks
        self._patience.spend(1)
        some = np.flatnonzero(kept.known[changes.clusters] & admits[self._class_of[changes.rows]])
        if len(some):
            clusters, at = np.unique(changes.clusters[some], return_inverse=True)
            counts = kept.counts[clusters].astype(np.int64)
            free = np.concatenate([changes.before[some], changes.after[some]]).T
            fits = _fits(free, request)
            fits[: len(some)] *= -1
            np.add.at(counts, (np.tile(at, 2), _blocks(free, blocking)), fits)
            kept.learn(clusters, counts)

    def counted(self, shape: PodShape, clusters: Indexes) -> Counts:
        """The places for a shape by block, counted now."""
        (admits, request, blocking, exact), compiled = self._looks(shape), self._patience.compiled
        if compiled is not None:
            found = np.zeros((len(clusters), len(BLOCKS)), dtype=np.int64)
            compiled.counted(
                clusters, self._starts, self._free, self._class_of, admits, request, self._block_of(blocking), MOST, exact, found
            )  # fmt: skip
            return found
        rows, cluster_of = self._rows(clusters)
        self._patience.spend(1 + len(rows) // 5_000)
        free = self._free[:, rows]
        fits = _fits(free, request) * admits[self._class_of[rows]]
        at = cluster_of * len(BLOCKS) + _blocks(free, blocking)
        counts = np.bincount(at, fits, len(clusters) * len(BLOCKS))
        return counts.astype(np.int64).reshape(len(clusters), len(BLOCKS))

    def _looks(self, shape: PodShape) -> _Looks:
        """What makes up a block are the devices that a pod asks for, or all of them where it asks for none."""
        request, devices = self._columns.asked(shape), self._columns.devices
        asked: Mask = devices & (request > 0)
        exact = self._is_large or bool(request.max() >= _LARGE)
        return _Looks(self._classes.admits(shape), request, asked if asked.any() else devices, exact)

    def _block_of(self, blocking: Mask) -> Sizes:
        """For each node the size of its block, as an index, if some columns make up one. Few such sets of columns are asked about."""
        key = blocking.tobytes()
        seen, sizes = self._sized.get(key, (-1, None))
        changes = self._journal.since(seen) if sizes is not None else None
        if sizes is None or changes is None:
            sizes = _blocks(self._free, blocking).astype(np.int8)
        else:
            sizes[changes.rows] = _blocks(self._free[:, changes.rows], blocking)
        self._sized[key] = self._journal.end, sizes
        return sizes

    def _rows_of(self, index: int) -> slice:
        return slice(int(self._starts[index]), int(self._starts[index + 1]))

    def _rows(self, clusters: Indexes) -> tuple[Indexes, Indexes]:
        """The rows of some clusters, and for each row which of these it belongs to."""
        sizes = self._sizes[clusters]
        cluster_of = np.repeat(np.arange(len(clusters)), sizes)
        before = np.cumsum(sizes) - sizes
        return np.arange(len(cluster_of)) + (self._starts[clusters] - before)[cluster_of], cluster_of


def rows_in_order(compiled: ModuleType, columns: Counts, best: Indexes) -> Iterator[int]:
    """The rows of some columns, by number, in the order of the first, then of the next. The `best` are known, and a few more are found first."""
    yield from best.tolist()
    begun = len(best)
    if begun < len(columns):
        more = compiled.first(columns, SOME[1])[begun:]
        yield from more.tolist()
        begun += len(more)
    if begun < len(columns):
        yield from np.lexsort(columns.T[::-1])[begun:].tolist()


def in_bits(amounts: Floats) -> Counts:
    """Amounts of nothing or more as whole numbers that are in the same order."""
    return amounts.view(np.int64)


def _total(free: Amounts) -> Floats:
    """What nodes have free in all, by resource."""
    total: Floats = np.maximum(free, 0).sum(axis=0, dtype=np.float64)
    return total


def _fits(free: Amounts, request: Counts) -> Counts:
    """How many pods that ask so much each node has room for, of which so much is free, by resource: 0 where it is overcommitted."""
    asked = np.flatnonzero(request)
    fits: Counts = (free[asked] // request[asked, None]).min(axis=0)
    return np.clip(fits, 0, MOST, out=fits)


def _blocks(free: Amounts, blocking: Mask) -> Indexes:
    """For each node, of which so much is free, the size of its block, as an index."""
    devices = np.maximum(free[blocking], 0).sum(axis=0, dtype=np.float64)
    size: Indexes = np.minimum(np.frexp(devices)[1], len(BLOCKS) - 1)
    return size
