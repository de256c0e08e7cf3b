"""
The ledgers of all clusters, and the questions that are asked of them together.

Beside them stands a survey of all their nodes, so that most clusters can be ruled out or ranked without a look at one
of them. A ledger is copied when it is first written to: what a pass places costs the clusters it touches.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import ModuleType

import numpy as np
from msgspec import Struct

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang, PodSet, Roster
from gitplacer.placement.additions import Additions
from gitplacer.placement.doubts import Doubts
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.marks import NO_BITS
from gitplacer.placement.nodes import Columns, Counts, Floats, Indexes, Mask
from gitplacer.placement.ownrules import own_rules
from gitplacer.placement.pack import Packing, Shortfall, pack_what_fits
from gitplacer.placement.stage import Missing, Tight
from gitplacer.placement.survey import SOME, Survey, in_bits, rows_in_order
from gitplacer.scheduler.gangs import slice_key

FEW = 10
"""Pods to come; up to so many, every order is soon tried."""
MANY = 20
"""Pods to come; up to so many, no cluster counts as crowded."""


class Prospects(Struct, frozen=True):
    """
    What there is to expect of some clusters for a gang. `open`: a mask, where it may have room. Of these, by index:
    `best`, those on which a proof may be found, best first, each with the blocks that the gang breaks there; and those
    where a proof is `hopeless`.
    """

    open: Mask
    best: Iterator[tuple[int, int]]
    hopeless: Indexes


def _is_hopeless(gang: Roster) -> bool | None:
    """
    Whether no proof is to be hoped for anywhere; None where that depends on the cluster. For pods that have rules about others there is none, and where
    they have such about themselves, or others have some about them, it has to be asked for.
    """
    if gang.may_mind and any(pods.shape.minds_others or slice_key(pods, "") for pods in gang):
        return own_rules(gang) is None
    return False if gang.is_looked_at or gang.may_mind else None


class Books:
    """One ledger for each cluster that has a snapshot."""

    def __init__(self, ledgers: Mapping[str, Ledger], columns: Columns) -> None:
        self._ledgers = dict(sorted(ledgers.items()))
        self._names = tuple(self._ledgers)
        self._numbers = {name: number for number, name in enumerate(self._names)}
        self._columns = columns
        self._survey = Survey(tuple(self._ledgers.values()), columns)
        self._additions: Additions | None = None
        self._grown: set[int] = set()
        """The clusters that were written to since anybody asked what may be added."""
        self._shared: set[str] = set()
        self._crowding: Mask = np.zeros((len(columns), len(self._names)), dtype=np.bool_)
        """By column and number: of which resources much of what was free is promised already, on clusters to which many pods are to come."""
        self._busy: set[int] = set()
        """Those of which that has to be found out anew."""
        self._promised: dict[str, frozenset[str]] = {}
        """By group, the clusters on which it is promised room."""
        self._sliceless: dict[tuple[str, bool], Mask] = {}
        self.written: list[str] = []
        """The clusters whose ledger was written to, one after another, for whoever keeps sums over them."""
        self.doubts = Doubts(self._numbers)
        self.pods_coming: Counts = np.array([ledger.coming.pods for ledger in self._ledgers.values()], dtype=np.int64)
        """By number, how many pods were promised room on a cluster and are not seen there yet."""

    def copy(self) -> Books:
        """Books that can be written to without touching these."""
        twin = copy.copy(self)
        twin._ledgers = dict(self._ledgers)
        twin._survey, twin._grown = self._survey.copy(), set(self._grown)
        twin._additions = self._additions.copy() if self._additions is not None else None
        twin._promised, twin.written = dict(self._promised), list[str]()
        twin.doubts, twin.pods_coming = self.doubts.copy(), self.pods_coming.copy()
        twin._crowding, twin._busy = self._crowding.copy(), set(self._busy)
        self._shared, twin._shared = set(self._ledgers), set(self._ledgers)
        return twin

    def __contains__(self, name: object) -> bool:
        return name in self._ledgers

    def __getitem__(self, name: str) -> Ledger:
        """A cluster's ledger, for reading; to write, use the methods of these books."""
        return self._ledgers[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters that have a ledger, sorted."""
        return self._names

    def numbers(self, names: Iterable[str]) -> Indexes:
        """Those of some clusters that have a ledger, each as its index in `names`."""
        return np.array([self._numbers[name] for name in names if name in self._numbers], dtype=np.intp)

    def number(self, name: str) -> int | None:
        """A cluster as its index in `names`; None where it has no ledger."""
        return self._numbers.get(name)

    def promised_to(self, group_id: str) -> frozenset[str]:
        """The clusters on which a group is promised room, whatever snapshots show of it."""
        return self._promised.get(group_id, frozenset())

    def fit(self, gang: Gang, name: str, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits a cluster as its ledger stands. The same question is answered once."""
        return self._ledgers[name].fit(gang, scale_up=scale_up)

    def is_roomless(self, gang: Gang, name: str) -> bool:
        """
        Whether it is known that a search finds no room, on machines that are there, for a gang that rules about other
        pods hold for.
        """
        return self.doubts.is_roomless(gang, name) and self._ledgers[name].minds(gang)

    def fits_now(self, gang: Gang, name: str) -> Packing | Shortfall | Missing:
        """Whether a gang fits the machines that a cluster has. A search that found nothing is not made again."""
        found = self._ledgers[name].fits_now(gang)
        if not isinstance(found, Packing) and self._ledgers[name].minds(gang):
            self.doubts.add_roomless(gang, name)
        return found

    def fitting(self, name: str, packing: Packing) -> Finding:
        """The finding by which a cluster is taken with a packing."""
        if packing.is_there:
            return Finding(code=Reason.FITS)
        return Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=packing.new_nodes(self._ledgers[name].nodes))

    def tight(self, gang: Gang, name: str, *, lucky: bool = False, opened: Sequence[str] = ()) -> Tight | None:
        """
        An order in which a gang that fits a cluster, or one that was promised room there, is not placed whole; None if
        none is found. For a `lucky` gang only others count, and of these only gangs that are not lucky themselves.
        """
        return self._ledgers[name].tight(gang, lucky=lucky, opened=opened)

    def proves(self, gang: Gang, name: str, *, lucky: bool = False, opened: Sequence[str] = ()) -> bool:
        """
        Whether it is known without a trial that there is no such order. A gang without a proof is not asked about again
        until something is taken away: more pods make no proof.
        """
        if lucky or opened:
            return self._ledgers[name].proves(gang, lucky=lucky, opened=opened)
        return not self.is_unproved(gang, name) and self.finds_proof(gang, name)

    def finds_proof(self, gang: Gang, name: str) -> bool:
        """`proves`, for a gang of which it is not known that it has no proof."""
        lack = self._ledgers[name].lacks_proof(gang, self.doubts.doubtful)
        if lack is None:
            return True
        if lack.alone is not None:
            self.doubts.add_alone(*lack.alone, name)
        else:
            self.doubts.add_unproved(gang, name)
        return False

    def is_unproved(self, gang: Gang, name: str) -> bool:
        """Whether it is known that a gang has no proof on a cluster."""
        known = self.doubts.is_unproved(gang, name) or self.doubts.is_hopeless(gang, name)
        return known and not self._ledgers[name].minds(gang)

    def hopeless(self, gang: Gang, asked: Indexes) -> Mask:
        """A mask over `asked`: where it is known that a gang, or some of its pods, has no proof."""
        roster = Roster.of(gang)
        everywhere = _is_hopeless(roster)
        return np.full(len(asked), everywhere) if everywhere is not None else self.doubts.hopeless(roster, asked)

    def reserve(
        self, group_id: str, name: str, packing: Packing, gang: Gang = (), *, sure: bool = False, lucky: bool = False
    ) -> None:
        """Take the room of a packing that `fit` found for a gang; `sure`: in every order; `lucky`: less would have done."""
        self._writable(name).reserve(group_id, packing, gang, sure=sure, lucky=lucky)
        self._promised[group_id] = self.promised_to(group_id) | {name}
        self._written(name, {use.machine for use in packing.uses})

    def replace(self, name: str, ledger: Ledger) -> None:
        """Put another ledger, of the same nodes, in the place of a cluster's; nobody else may write to it."""
        before, after = self._ledgers[name].promised_to, ledger.promised_to
        for group_id in before - after:
            self._promised[group_id] = self.promised_to(group_id) - {name}
        for group_id in after - before:
            self._promised[group_id] = self.promised_to(group_id) | {name}
        self._ledgers[name] = ledger
        self._shared.discard(name)
        self._written(name)
        self.doubts.forget(name)

    def admit(self, group_id: str, name: str, gang: Gang) -> None:
        """Place a group whatever the room: it takes what there is."""
        if name in self._ledgers:
            self.reserve(group_id, name, pack_what_fits(self._ledgers[name].room(), gang), gang, sure=False)

    def release(self, group_id: str, name: str) -> None:
        """Give back what a group was promised on a cluster."""
        if name in self._ledgers:
            ledger = self._writable(name)
            given_back = ledger.machines_of(group_id)
            ledger.release(group_id)
            self._promised[group_id] = self.promised_to(group_id) - {name}
            self._written(name, given_back)
            self.doubts.forget(name)

    def may_have_room(self, gang: Gang, asked: Indexes) -> Mask:
        """Which of some clusters, by number, may have room for a gang on machines that are there; the others surely have none."""
        return self._may_host(gang, asked) & self._survey.may_have_room(gang, asked)

    def may_grow(self, gang: Gang, asked: Indexes) -> Mask:
        """Which of some clusters, by number, may have room for a gang with machines that are added; the others surely have none."""
        open_ = self._grows[asked] & self._may_host(gang, asked, added=True)
        if open_.any():
            open_[open_] = self._additions_now().may_have_room(gang, asked[open_], self._survey)
        return open_

    def _additions_now(self) -> Additions:
        """What may be added as the ledgers stand. In most passes of most fleets nobody asks."""
        if self._additions is None:
            self._additions = Additions(tuple(self._ledgers.values()), self._columns)
        else:
            for number in self._grown:
                self._additions.update(number, self._ledgers[self._names[number]])
        self._grown.clear()
        return self._additions

    @cached_property
    def _grows(self) -> Mask:
        """By number, which clusters may be given machines."""
        return np.array([bool(ledger.nodes.types) for ledger in self._ledgers.values()], dtype=np.bool_)

    def _may_host(self, gang: Gang, asked: Indexes, *, added: bool = False) -> Mask:
        """Which of some clusters, by number, have machines for the slices of a gang, if it has any; with `added` ones, if it is said so."""
        found: Mask = np.ones(len(asked), dtype=np.bool_)
        roster = Roster.of(gang)
        if roster.may_mind:
            for pods in roster:
                if pods.count and pods.slice_size > 1:
                    found &= ~self._have_no_slices(pods, added)[asked]
        return found

    def _have_no_slices(self, pods: PodSet, added: bool) -> Mask:
        """By number, the clusters without a machine that can be part of a slice of some pods."""
        key = slice_key(pods, ""), added  # all that a cluster with a label of its own for slices asks of them beside
        if key not in self._sliceless:
            found = [ledger.has_no_slices((pods,), added=added) for ledger in self._ledgers.values()]
            self._sliceless[key] = np.array(found, dtype=np.bool_)
        return self._sliceless[key]

    def are_busy(self, asked: Indexes) -> Mask:
        """A mask over `asked`: to which clusters so many pods are to come that trying all their orders takes long."""
        busy: Mask = self.pods_coming[asked] > FEW
        return busy

    def is_busy(self, number: int) -> bool:
        """Whether so many pods are to come to a cluster, by index, that trying all their orders takes long."""
        return bool(self.pods_coming[number] > FEW)

    def how_unlikely(self, gang: Gang, asked: Indexes) -> Floats:
        """
        How unlikely some clusters are, by number, to prove room for a gang: 0 where nothing speaks against it, or it is soon told; 1 where many pods
        are to come, and there is not a place left beside the gang for each of them; and as much as it asks for more than others did in vain.
        """
        coming, counts = self.pods_coming[asked], Roster.of(gang).counts
        full: Mask = coming > MANY
        full[full] = self._survey.spare(gang, asked[full]) < coming[full]
        found, busy = full.astype(np.float64), np.flatnonzero(self.are_busy(asked))
        found[busy] = np.maximum(found[busy], self.doubts.how_much_more(counts, asked[busy]))
        return found

    def prospects(
        self,
        gang: Gang,
        asked: Indexes,
        liked: Counts,
        against: Counts,
        lucky: Mask,
        *,
        open_: Mask | None = None,
    ) -> Prospects:
        """
        Of some clusters, by number, those on which a gang may be proved room; those first that are `liked` more, as less says, then those that have
        less `against` them, and then those that are not unlikely, where no luck is taken. Where the gang is not the same on all of them somebody else
        has to know which are `open_`, and none is hopeless.
        """
        compiled, alike = self._survey.compiled, open_ is None
        if compiled is not None:
            may: Mask = self._may_host(gang, asked) if open_ is None else open_
            return self._prospects_at_once(compiled, Roster.of(gang), asked, liked, against, lucky, may, alike=alike)
        may = self.may_have_room(gang, asked) if open_ is None else open_
        left, liked, against = asked[may], liked[may], against[may]
        hopeless: Mask = np.zeros(len(left), dtype=np.bool_)
        if alike:
            hopeless = self.hopeless(gang, left) & self.are_busy(left) & ~lucky[left]
        hoped = left[~hopeless]
        unlikely = self.how_unlikely(gang, hoped) * ~lucky[hoped]
        keys = liked[~hopeless], against[~hopeless], in_bits(unlikely)
        return Prospects(may, self._best_with_breaks(gang, hoped, keys), left[hopeless])

    def _prospects_at_once(
        self,
        compiled: ModuleType,
        gang: Roster,
        asked: Indexes,
        liked: Counts,
        against: Counts,
        lucky: Mask,
        may: Mask,
        *,
        alike: bool,
    ) -> Prospects:
        """The same in machine code. Who is not `alike` is not asked again whether it may have room."""
        weighed = self._survey.weighed(compiled, gang, asked, may, self.doubts.against, anyway=not alike)
        everywhere = _is_hopeless(gang) if alike else False
        if everywhere is not None:
            weighed.hopeless[:] = everywhere
        unproved = self.doubts.unproved(gang) if everywhere is None else NO_BITS
        wants = self._survey.wants(gang.counts)
        keys, first, hopeless = compiled.rank(
            asked, weighed.open, liked, against, lucky, self.pods_coming, FEW, MANY, weighed.spare, weighed.broken, weighed.hopeless, unproved,
            weighed.more, self._crowding_now(), wants.resources, self._survey.totals, wants.devices, SOME[0],
        )  # fmt: skip
        best = rows_in_order(compiled, keys, first)
        return Prospects(weighed.open, ((int(keys[at, 6]), int(keys[at, 4])) for at in best), hopeless)

    def best_first(self, gang: Gang, asked: Indexes, liked: Counts, against: Counts) -> Iterator[int]:
        """
        Some clusters, by number, those first that are `liked` more, as less says, then those that have less `against` them, then those last that are crowded for a gang, then by how few
        large blocks of devices it breaks there, then by devices that are free and by name; as all of them are now, however late one is asked for.
        """
        compiled = self._survey.compiled
        if compiled is None or len(asked) < 2:
            return (number for number, _ in self._best_with_breaks(gang, asked, (liked, against)))
        anywhere, all_ = np.ones(len(self._names), dtype=np.bool_), np.ones(len(asked), dtype=np.bool_)
        found = self._prospects_at_once(compiled, Roster.of(gang), asked, liked, against, anywhere, all_, alike=False)
        return (number for number, _ in found.best)

    def _best_with_breaks(
        self, gang: Gang, asked: Indexes, before: Sequence[Counts | Mask] = ()
    ) -> Iterator[tuple[int, int]]:
        """The same, each with the blocks that it breaks there, of which large ones count as much as small ones together."""
        if len(asked) < 2:
            return ((number, 0) for number in asked.tolist())
        broken, free = self._survey.tightness(gang, asked)
        crowded = np.any(self._crowding_now()[self._asked(gang)], axis=0)[asked]
        order = self._survey.in_order(asked, (*before, crowded, broken, in_bits(free)))
        return ((int(asked[at]), int(broken[at])) for at in order)

    def _crowding_now(self) -> Mask:
        """
        By column and number, the resources of which much is promised already on a cluster, to many pods that are still to come. They come in any
        order, so that what is left may lie where a gang cannot use it, and to find out takes long.
        """
        for number in self._busy:
            self._crowding[:, number] = self._ledgers[self._names[number]].crowded(self._survey.totals[number])
        self._busy.clear()
        return self._crowding

    def _asked(self, gang: Gang) -> Mask:
        """The resources that a gang asks for."""
        asked: Mask = np.zeros(len(self._columns), dtype=np.bool_)
        for pods in gang:
            asked |= self._columns.asked(pods.shape) > 0
        return asked

    def _written(self, name: str, machines: Collection[int] | None = None) -> None:
        """A ledger was written to; if only some machines may have changed, it is these."""
        ledger, number = self._ledgers[name], self._numbers[name]
        self._survey.update(number, ledger, machines)
        self._grown.add(number)
        self.written.append(name)
        self.pods_coming[number] = ledger.coming.pods
        if ledger.coming.pods > MANY:
            self._busy.add(number)
        else:
            self._busy.discard(number)
            self._crowding[:, number] = False

    def _writable(self, name: str) -> Ledger:
        if name in self._shared:
            self._ledgers[name] = self._ledgers[name].copy()
            self._shared.discard(name)
        return self._ledgers[name]
