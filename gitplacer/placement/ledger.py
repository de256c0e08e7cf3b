"""
The ledger of one cluster: what is free, and who holds what.

Free is allocatable, less what foreign pods use, less every group that the deployment repo says is here, less every
group that the snapshot still reports here. A group that is placed but does not show yet holds the room it was
promised, so nothing is sold twice between two snapshots.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence, Set
from datetime import datetime
from functools import partial
from itertools import compress
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot, RunningGroup
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.model.decision import Reason, Seat
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.arrivals import Arrivals, Coming
from gitplacer.placement.asseen import as_seen, like, to_come
from gitplacer.placement.autoscalers.cost import costs
from gitplacer.placement.nodes import Amounts, Columns, Floats, Mask, Nodes
from gitplacer.placement.ownrules import kind_of, one_of
from gitplacer.placement.pack import Packing, Room, Shortfall, Use, pack, pack_what_fits
from gitplacer.placement.shown import Shown
from gitplacer.placement.stage import COARSE, NOT_TRIED, Lack, Missing, Stage, Tight
from gitplacer.scheduler.neighbours import Placed
from gitplacer.scheduler.objects import NO_NAMESPACES, Namespaces
from gitplacer.scheduler.site import Site

Answer = TypeVar("Answer")
Found = TypeVar("Found", Packing, Packing | Shortfall)

_FINISHED = ("Succeeded", "Failed")
CROWDED = 0.4
"""The share of what is free from which on it counts as much that it is promised."""
WITH_MACHINES = "with the machines that are to be added"
BEFORE_MACHINES = "before the machines that are to be added have come"
_BESIDE = " (update)"
"""Ends the name under which a group holds the room of pods that come beside those it has. No id of a group has a space."""
_REMEMBERED = 64
"""Answers that are kept for one state of a ledger."""
_MOST_NEW = 64
"""Machines of one type that a search may open for a gang that minds other pods."""


class Hold(Struct, frozen=True):
    """
    What a group was promised: pods that are not seen yet, where they are assumed, and whether every order finds them room;
    `lucky`: its policy would take it with luck too.
    """

    packing: Packing
    gang: Gang
    sure: bool
    lucky: bool = False


def _unknown(group_id: str) -> Gang:
    return ()


class Ledger:
    """
    What is free on one cluster, and who holds it. Asking changes nothing; `reserve`, `release`, `close` and `leave_to`
    change it, and count `version` up. `gang_of` gives the pods, as its manifests say, of a group that the snapshot
    reports.
    """

    def __init__(
        self,
        cluster: Cluster,
        snapshot: CapacitySnapshot,
        columns: Columns,
        gang_of: Callable[[str], Gang] = _unknown,
        slice_topology: str = "",
        now: datetime | None = None,
        nodes: Nodes | None = None,
        namespaces: Namespaces = NO_NAMESPACES,
    ) -> None:
        """
        `nodes` are those of the snapshot, if they were read already; `namespaces` the labels that groups give to their
        namespaces.
        """
        self.nodes = nodes or Nodes(cluster, snapshot, columns, now)
        self.version = 0
        self.closed = False
        self._coarse = snapshot.coarse
        self._room: Room | None = None
        self._occupied: Site | None = None
        """The cluster with all who were promised room, for pods that mind others; shared, as answers are, by all copies that are in this state."""
        self._running: dict[str, RunningGroup] = {group.name: group for group in snapshot.groups}
        self._free = self.nodes.allocatable - self.nodes.used
        self._promised: list[str] = []
        self._holds: dict[str, Hold] = {}
        self._later: tuple[Ledger, ...] = ()
        """The cluster at times to come, where those for whom room is kept are promised theirs too."""
        self._fits: dict[tuple[Gang, bool], Packing | Shortfall] = {}
        """What was found out about this state, shared by all copies that are in it still: a sweep asks again and again."""
        self._proved: set[Gang] = set()
        """The gangs that have a proof in this state."""
        self._replays: dict[tuple[Hashable, ...], tuple[Ledger, tuple[Any, ...], frozenset[Any]]] = {}
        self.shown = Shown(snapshot.groups, self.nodes)
        """The pods of groups that the snapshot shows on nodes."""
        for group_id in self.shown.groups:
            self._subtract(group_id, gang_of)
        self._stage = Stage(
            Room(self.nodes, self._free.copy(), (), {}),
            partial(as_seen, self.nodes, snapshot, gang_of, namespaces),
            _repels(snapshot, gang_of),
            slice_topology,
        )
        self.coming = Arrivals(self._stage.ruled)
        """The pods that were promised room here and are not seen yet."""

    def copy(self) -> Ledger:
        """A ledger that can be written to without touching this one; the nodes are shared."""
        twin = copy.copy(self)
        twin._free = self._free.copy()
        twin._promised = list(self._promised)
        twin._holds = dict(self._holds)
        twin._room = None
        twin.coming = self.coming.copy()
        twin._later = tuple(later.copy() for later in self._later)
        twin._replays = {}
        return twin

    def anew(self, *, replays: int) -> Ledger:
        """
        The same ledger for another pass, which shares what was computed on it, and the `replays` used last. Nothing may
        be reserved in it.
        """
        for moves in list(self._replays)[: max(0, len(self._replays) - replays)]:
            del self._replays[moves]
        twin = self.copy()
        twin._replays = self._replays
        twin._stage = self._stage.anew()
        return twin

    def replay(
        self, moves: tuple[Hashable, ...], take: Callable[[Ledger, int], Sequence[Answer]], *, in_parts: bool = True
    ) -> tuple[Ledger, tuple[Answer, ...]]:
        """
        A copy of this ledger with room taken by `moves`, one after another, and what each of them answered. A move is a
        key of all that its answer depends on; `take(ledger, n)` carries out the moves from the n-th on and returns
        their answers.

        A caller that opens a ledger once and plans on it many times takes the same room again and again; it is computed
        once. `in_parts`: a known beginning of `moves` is used too.
        """
        if self.version:
            twin = self.copy()
            return twin, tuple(take(twin, 0))
        known = self._replays.pop(moves, None)
        if known is None:
            begun = self._begun(moves) if in_parts else ()
            ledger, answers, before = self._replays[begun] if begun else (self, (), frozenset[Any]())
            made = ledger.copy()
            made._stage = self._stage
            more, heard = self._stage.overheard(lambda: take(made, len(begun)))
            known = made, (*answers, *more), before | heard
        self._replays[moves] = known
        ledger, answers, heard = known
        twin = ledger.copy()
        twin._stage = self._stage
        self._stage.tell(heard)
        return twin, answers

    def _begun(self, moves: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        """The longest beginning of `moves` that was replayed before; () if none was."""
        begun = (known for known in self._replays if known == moves[: len(known)])
        return max(begun, key=len, default=())

    def totals(self) -> Amounts:
        """What is free on all real nodes together: an upper bound for any gang."""
        total: Amounts = np.clip(self.free_on_nodes(), 0, None).sum(axis=0)
        return total

    def crowded(self, totals: Floats) -> Mask:
        """Of which resources much of what the snapshot shows as free is promised already, where so much is left, as `totals` says."""
        return totals < self._stage.free * (1 - CROWDED)

    def free_on_nodes(self) -> Amounts:
        """What is free on each real node, negative where it is overcommitted. Do not write to it."""
        return self._free[: len(self.nodes.machines)]

    @property
    def is_overcommitted(self) -> bool:
        """Whether more is taken on some machine than there is."""
        return bool((self._free < 0).any())

    @property
    def columns(self) -> Columns:
        return self.nodes.columns

    def running(self, group_id: str) -> RunningGroup | None:
        """What the snapshot reports of a group."""
        return self._running.get(group_id)

    def room(self) -> Room:
        """What is free now. It is good until the ledger's version changes."""
        if self._room is not None:
            return self._room
        self._room = Room(self.nodes, self._free, tuple(self._promised), self.left_to_add())
        return self._room

    def _room_for_placed(self) -> Room:
        """What is free for a group that was promised its room before: also machines that are on their way already."""
        return Room(self.nodes, self._free, tuple(self._promised), self._left(to_placed=True))

    def _left(self, *, to_placed: bool) -> dict[str, int]:
        return self.nodes.catalogue.left(Counter(self._promised), to_placed=to_placed)

    def left_to_add(self) -> dict[str, int]:
        """How much is left of each limit on machines that may be added."""
        return self._left(to_placed=False)

    def free_of_promised(self) -> dict[str, Amounts]:
        """Of each type that may be added, what is free on machines of it that are promised, in all."""
        found = {key: np.zeros(len(self.columns), dtype=np.int64) for key in self.nodes.types}
        for key, row in zip(self._promised, self._free[len(self.nodes.machines) :], strict=True):
            if key:
                found[key] += np.maximum(row, 0)
        return found

    def empty_room(self) -> Room:
        """The room there would be without any pod, for telling "not now" from "never"."""
        return Room(self.nodes, self.nodes.allocatable, (), self.nodes.catalogue.left({}, to_placed=True))

    def fit(self, gang: Gang, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits, in what is free now or, with `scale_up`, with machines that can be added."""
        scale_up = scale_up and not self.closed
        known = self._fits.get((gang, scale_up))
        return known if known is not None else self._remembered(gang, scale_up, self._fit(gang, scale_up))

    def _remembered(self, gang: Gang, scale_up: bool, found: Found) -> Found:
        if len(self._fits) >= _REMEMBERED:
            self._fits.clear()
        self._fits[gang, scale_up] = found
        return found

    def _fit(self, gang: Gang, scale_up: bool) -> Packing | Shortfall:
        if not self._stage.minds(gang, self.coming):
            return pack(self.room(), gang, scale_up=scale_up)
        return _told(self._beside_others(gang, scale_up))

    def fits_now(self, gang: Gang) -> Packing | Shortfall | Missing:
        """
        Whether a gang fits on machines that are there. Where rules about other pods make it long to find what is
        missing, that is not looked for: Missing instead of Shortfall.
        """
        if (gang, False) in self._fits or not self._stage.minds(gang, self.coming):
            return self.fit(gang, scale_up=False)
        found = self._beside_others(gang, False)
        return self._remembered(gang, False, found) if isinstance(found, Packing) else found

    def steps_for(self, gang: Gang) -> int:
        """
        How many steps it takes to pack a gang and to prove its place: each sort of pods is held against each other. Where rules about
        other pods hold that is told with what is found.
        """
        if self._stage.minds(gang, self.coming):
            return 1
        sorts = len(gang) + len(self.coming.counts)
        return sorts * sorts

    def minds(self, gang: Gang) -> bool:
        """Whether where a gang may be here depends on more than nodes and room."""
        return self._stage.minds(gang, self.coming)

    def has_no_slices(self, gang: Gang, *, added: bool = False) -> bool:
        """Whether no machine that is there can be part of a slice that a gang asks for, nor one that is `added`, if that is asked."""
        return self._stage.has_no_slices(gang, added=added)

    def proves(self, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()) -> bool:
        """Whether it is known without a trial that a gang finds room in every order; a `lucky` one leaves others theirs."""
        if self._coarse and gang and not lucky:
            return False
        now = all(
            self._stage.proves(gang, self.coming, lucky=lucky, added=added, late=bool(added and (lucky or opened)))
            for added in self._machines(gang, lucky, opened)
        )
        return now and all(later.proves(gang, lucky=lucky, opened=opened) for later in self._later)

    def lacks_proof(self, gang: Gang, first: Callable[[PodShape], int]) -> Lack | None:
        """
        None where `proves` says yes; else what there is no proof for. Pods of a shape are asked about by themselves first, those of which
        `first` says the most before others.
        """
        if gang in self._proved:
            return None
        if self._coarse and gang:
            return Lack()
        lack = self._stage.lacks_proof(gang, self.coming, first)
        if lack is None and not (
            self._proves_beside_machines(gang) and all(later.proves(gang) for later in self._later)
        ):
            return Lack()
        if lack is None and not self.minds(gang):
            self._proved.add(gang)
        return lack

    def is_certain(self, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()) -> bool:
        """
        Whether a gang finds room in every order, by proof; one that minds other pods has none and is tried. If it is `lucky`:
        whether others do, beside it.
        """
        if self.proves(gang, lucky=lucky, opened=opened):
            return True
        return self._stage.minds(gang, self.coming) and self.tight(gang, lucky=lucky, opened=opened) is None

    def tight(self, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()) -> Tight | None:
        """
        An order of the pods to come, with a gang that fits, that leaves a pod out; None if none is found. Beside a
        `lucky` gang others may also take the machines that are to be added, also those that are `opened` for it.
        """
        if self._coarse and gang and not lucky:
            return COARSE
        for added, late in self._trials(gang, lucky, opened):
            now = self._stage.tight(gang, self.coming, lucky=lucky, added=added, late=late)
            if now is not None:
                when = BEFORE_MACHINES if late else WITH_MACHINES if added and not (lucky or opened) else ""
                return replace(now, order=f"{now.order}, {when}") if when and now is not NOT_TRIED else now
        # Room was kept on the strength of a proof, so it takes a proof to let others in beside it, or a trial of those for whom there is none.
        safe = all(later.is_certain(gang, lucky=lucky, opened=opened) for later in self._later)
        return None if safe else NOT_TRIED

    def steps_of_trial(self, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()) -> int:
        """How many steps `tight` takes for the same question: pods bound, times their sorts."""
        return sum(
            self._stage.steps_of_trial(gang, self.coming, lucky=lucky, added=added, late=late)
            for added, late in self._trials(gang, lucky, opened)
        )

    def _machines(self, gang: Gang, lucky: bool, opened: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """
        With which machines that are to be added every order has to work. What is promised without any does not count on them; whoever is left out beside may
        get one. To pods that mind nothing but room more machines are more room, but a zone that comes with one may be where pods that are spread have to
        go next, or where the first goes of those that stay together: so where rules hold, it has to work without them and with them.
        """
        added = tuple(sorted((*filter(None, self._promised), *opened)))
        if lucky or opened:
            yield added
            return
        yield ()
        if added and (self._stage.minds(gang, self.coming) or self.coming.ruled(False)):
            yield added

    def _trials(self, gang: Gang, lucky: bool, opened: Sequence[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
        """
        The machines of `_machines`, each with whether the gang comes `late`, after pods for which machines have to
        come. Those pods take what they find; a proof holds wherever they go, and a trial has them go where scores say,
        which is to empty machines if there are some. So others have to find their room in either case.
        """
        for added in self._machines(gang, lucky, opened):
            yield added, False
            if added and (lucky or opened):
                yield added, True

    def _proves_beside_machines(self, gang: Gang) -> bool:
        """
        Whether a gang that is proved without the machines that are to be added for others is proved with them too.
        """
        _, *more = self._machines(gang, False, ())
        return all(self._stage.proves(gang, self.coming, added=added) for added in more)

    def with_machines_for(self, gang: Gang, packing: Packing) -> Packing | None:
        """
        A packing with new machines for some pods that may be left out besides; None if there are none to be had. Those pods have
        two places then, since nobody knows which of them they will take.
        """
        if self.closed or self._stage.minds(gang):
            return None
        room = Room(self.nodes, np.zeros_like(self._free), ("",) * len(self._promised), self.room().left)
        found = pack(room, gang, scale_up=True)
        return Packing(packing.uses + found.uses, found.opened, True) if isinstance(found, Packing) else None

    def _beside_others(self, gang: Gang, scale_up: bool, *, to_placed: bool = False) -> Packing | Shortfall | Missing:
        """A packing of a gang that minds which other pods are where, first on machines that are there."""
        room, real = self.room(), len(self.nodes.machines)
        if self._occupied is None:
            self._occupied = self._stage.beside(self._bound(), self._taken_besides())
        found = self._stage.seek(gang, self._occupied)
        if not scale_up or isinstance(found, Packing):
            return found
        there = [(name, real + i) for i, name in enumerate(room.promised)]
        wanted, left = min(_MOST_NEW, sum(pods.count for pods in gang)), self._left(to_placed=to_placed)
        bound, taken = self._bound(), self._taken_besides()
        each = costs(self.nodes.types, self.nodes.type_row)
        cheapest = sorted(self.nodes.useful_types(gang), key=lambda key: (each[key], key))
        for number in range(1, len(cheapest) + 1):  # the fewer types, the cheaper
            types = [name for name, _ in there] + self.nodes.addable(cheapest[:number], wanted, left)
            extra = [to_come(self.nodes, key, real + i) for i, key in enumerate(types)]
            found = self._stage.seek(gang, self._stage.beside(bound, taken, extra))
            if isinstance(found, Packing):
                break
        if not isinstance(found, Packing):
            short = found.told()
            bounded = short.code is Reason.EXCEEDS_CLUSTER  # of what was tried: there may be more machines to be had
            return replace(short, code=Reason.SEARCH_BOUND) if bounded else short
        kept: dict[int, int] = {}
        opened: list[str] = []
        for machine in sorted({use.machine for use in found.uses}):
            if machine >= real + len(there):
                kept[machine] = real + len(there) + len(opened)
                opened.append(types[machine - real])
        uses = tuple(use._replace(machine=kept.get(use.machine, use.machine)) for use in found.uses)
        promised = any(real <= use.machine < real + len(there) for use in uses)
        return Packing(uses, tuple(opened), promised or bool(opened), found.steps)

    def _bound(self) -> list[Placed]:
        """The pods that were promised room, as if they ran where they are assumed."""
        return [
            (use.machine, one_of(*kind_of(use.pods)))
            for hold in self._holds.values()
            for use in hold.packing.uses
            for _ in range(use.number)
        ]

    def _taken_besides(self) -> dict[int, Resources]:
        """
        What is not free on machines though no pod has it, by machine: they take nothing more, or room on them is kept.
        """
        nothing = np.zeros(len(self.columns), dtype=np.int64)
        added = [self.nodes.type_row[name] if name else nothing for name in self._promised]
        left = np.concatenate([self._stage.shown, np.array(added).reshape(-1, len(self.columns))])
        for hold in self._holds.values():
            for use in hold.packing.uses:
                left[use.machine] -= use.row * use.number
        taken = np.clip(left - self._free, 0, None)
        return {int(machine): self.columns.resources(taken[machine]) for machine in np.flatnonzero(taken.any(axis=1))}

    def fit_without(self, gang: Gang, machines: Collection[int], *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits if some `machines`, by number, take nothing more."""
        if self._stage.minds(gang, self.coming):
            return self.fit(gang, scale_up=scale_up)
        free = self._free.copy()
        free[list(machines)] = 0
        return pack(Room(self.nodes, free, tuple(self._promised), self.left_to_add()), gang, scale_up=scale_up)

    def fits_unless_exhausted(self, gang: Gang) -> bool:
        """Whether a gang would fit if every node group had machines to give."""
        left = self.nodes.catalogue.left(Counter(self._promised), to_placed=False, exhausted_too=True)
        room = Room(self.nodes, self._free, tuple(self._promised), left)
        return isinstance(pack(room, gang, scale_up=True), Packing)

    # machines that were added, for whoever counts what they cost

    @property
    def size(self) -> int:
        """How many machines there are, those that are promised included."""
        return len(self._free)

    def group_ids(self) -> set[str]:
        """The groups that the snapshot shows here, and those that were promised room."""
        return {*self.shown.groups, *(key.removesuffix(_BESIDE) for key in self._holds)}

    @property
    def promised_to(self) -> Set[str]:
        """The groups that were promised room here, whatever the snapshot shows of them, and under names of their own what comes beside them."""
        return self._holds.keys()

    def machines_of(self, group_id: str) -> frozenset[int]:
        """The machines that a group has pods on or was promised room on."""
        held = [hold for key in (group_id, group_id + _BESIDE) if (hold := self._holds.get(key)) is not None]
        seen = (self.nodes.index[node] for _, _, node in self.shown.of(group_id))
        return frozenset((*seen, *(use.machine for hold in held for use in hold.packing.uses)))

    def added(self, machine: int) -> tuple[str, float | None] | None:
        """The type and price of a machine that an autoscaler added or has to add, None for any other."""
        real = len(self.nodes.machines)
        if machine >= real:
            return self.sort(self._promised[machine - real]) if self._promised[machine - real] else None
        return self.nodes.sort_of(machine)

    def sort(self, key: str) -> tuple[str, float | None]:
        """The name and price of a type."""
        return self.nodes.types[key].name, self.nodes.types[key].price_per_hour

    def how_many(self, opened: Iterable[str] = ()) -> Counter[str]:
        """How many machines of each type there are, with those that are promised, and with some more."""
        found = Counter(self.nodes.types[key].name for key in (*self._promised, *opened) if key)
        return found + self.nodes.seen

    def reserve(
        self, group_id: str, packing: Packing, gang: Gang = (), *, sure: bool = False, lucky: bool = False
    ) -> None:
        """
        Take the room of a packing that was found in the ledger as it is now. `gang` are its pods, `sure` tells whether they were
        promised it in every order, and `lucky` whether less would have done.
        """
        if packing.opened:
            rows = [self.nodes.type_row[name] for name in packing.opened]
            self._free = np.concatenate([self._free, np.array(rows)])
            self._promised.extend(packing.opened)
        for use in packing.uses:
            self._free[use.machine] -= use.row * use.number
        self._holds[group_id] = Hold(packing, gang, sure, lucky)
        if gang:
            self.coming.add(Coming(group_id, gang, sure, lucky))
        else:
            self.coming.remove(group_id)
        for later in self._later:  # where it is there does not matter, but that it comes
            later.reserve(group_id, Packing(()), gang, sure=sure, lucky=lucky)
        self._changed()

    def reserve_placed(
        self,
        group_id: str,
        gang: Gang,
        *,
        finished: bool,
        scale_up: bool,
        sure: bool = False,
        lucky: bool = False,
        by_machines: bool = False,
        known: Packing | None = None,
    ) -> bool:
        """
        Take the room of a group that the deployment repo says is here: what the snapshot shows of it is taken
        already, the rest is assumed. False if not all of it finds room. A finished group needs nothing more. `sure`: it was
        promised room in every order, which holds for as long as it finds room without machines that are to be added. Pods that follow on such
        as are being deleted have room beside these, or where there is none their places. `by_machines`:
        it was placed on the strength of such machines, which it keeps for as long as it takes luck to do without.
        `known` is what `fit` is known to find for what is missing, on machines that are there.
        """
        missing = () if finished else self.shown.not_seen(group_id, gang)
        packing: Packing | Shortfall | None = known
        if packing is None:
            packing = self.fit(missing, scale_up=False) if missing else Packing(())
        if isinstance(packing, Shortfall) and self.shown.has_going(group_id):
            missing = self.shown.not_seen(group_id, gang, back=True)
            packing = self.fit(missing, scale_up=False)
        sure = sure and isinstance(packing, Packing)
        if isinstance(packing, Shortfall) and scale_up:
            packing = self._placed_with_more(missing)
        whole = isinstance(packing, Packing)
        found = packing if isinstance(packing, Packing) else pack_what_fits(self.room(), missing)
        if by_machines and sure and not self.is_certain(missing):
            tight, sure = self.tight(missing), False
            found = (self.with_machines_for(tight.left, found) if tight else None) or found
        self.reserve(group_id, found, missing, sure=sure, lucky=lucky)
        return whole

    def beside(self, group_id: str, base: Gang, more: Gang, *, shown: bool) -> Gang:
        """
        The pods that are to run beside those that a placed group has, its `base`, as far as they are not seen. `shown`: they may be
        among those that the snapshot shows. Of which some are being deleted as the update goes on, and nobody follows on them.
        """
        return self.shown.not_seen(group_id, (*base, *more), back=True)[len(base) :] if shown else more

    def reserve_beside(self, group_id: str, gang: Gang, packing: Packing, *, sure: bool, lucky: bool) -> None:
        """Take the room of pods that come beside those that a group has: until it is released, or for as long as it takes."""
        self.reserve(group_id + _BESIDE, packing, gang, sure=sure, lucky=lucky)

    def fit_promised(self, gang: Gang, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits that was promised its room before: machines may be on their way for it."""
        found = self.fit(gang, scale_up=False)
        return self._placed_with_more(gang) if isinstance(found, Shortfall) and scale_up else found

    def what_fits(self, gang: Gang) -> Packing:
        """As much of a gang as finds room now."""
        return pack_what_fits(self.room(), gang)

    def _placed_with_more(self, gang: Gang) -> Packing | Shortfall:
        """A packing of pods that are placed already, with machines that are promised, on their way, or can be added."""
        if self._stage.minds(gang, self.coming):
            return _told(self._beside_others(gang, True, to_placed=True))
        return pack(self._room_for_placed(), gang, scale_up=True)

    def close(self) -> None:
        """Let the machines take nothing more: there are pods without room, and they will take what gets free."""
        self.closed = True
        self._changed()

    def seats(self) -> dict[str, tuple[Seat, ...]]:
        """Who was promised room here, and where. Pods that the snapshot shows are not among them."""
        return {group_id: self.seated(hold.packing.uses) for group_id, hold in self._holds.items()}

    def packing_of(self, group_id: str) -> Packing:
        """Where a group sits that was promised room here, by the numbers of machines."""
        return self._holds[group_id].packing

    def digest(self) -> bytes:
        """A digest of what is free on which machine: groups that are seated one after another sit where they did when it was the same."""
        offered = np.any(self._free, axis=0)  # what no machine here has, others of a fleet may have or not
        told = hashlib.blake2b(repr([*compress(self.columns.names, offered.tolist())]).encode(), digest_size=16)
        told.update(self._free[:, offered].tobytes())
        return told.digest()

    def promised(self) -> dict[str, tuple[tuple[str, Seat], ...]]:
        """
        The seats of each group that was promised room here, each with the role of its pods; those of pods that come
        beside others in an update are among them.
        """
        found: dict[str, tuple[tuple[str, Seat], ...]] = {}
        for key, hold in self._holds.items():
            roles = (use.pods.role for use in hold.packing.uses)
            seats = tuple(zip(roles, self.seated(hold.packing.uses), strict=True))
            group_id = key.removesuffix(_BESIDE)
            found[group_id] = (*found.get(group_id, ()), *seats)
        return found

    def seated(self, uses: Iterable[Use], opened: Sequence[str] = ()) -> tuple[Seat, ...]:
        """Uses of the machines that there are now, and of those that would be opened, as data without machine numbers."""
        real, types = len(self.nodes.machines), (*self._promised, *opened)
        return tuple(
            Seat(use.pod, use.number, self.nodes.machines[use.machine].name)
            if use.machine < real
            else Seat(use.pod, use.number, str(use.machine - real), types[use.machine - real])
            for use in uses
        )

    def leave_to(self, later: Ledger) -> None:
        """
        Take everything that is not free in `later`, a ledger of this cluster at a time to come, too. Machines that are
        not there yet take nothing more either, because the two may have promised them for different pods.
        """
        real = len(self.nodes.machines)
        more = sorted((Counter(later._promised) - Counter(self._promised)).elements())
        self._promised.extend(more)
        self._free[:real] = np.minimum(self._free[:real], later._free[:real])
        self._later = (*self._later, later.copy())
        closed = np.zeros((len(self._promised), len(self.columns)), dtype=np.int64)
        self._free = np.concatenate([self._free[:real], closed])
        self._changed()

    def release(self, group_id: str) -> None:
        """Give back what a group was promised here. Pods that the snapshot shows keep their room: they run."""
        if not group_id.endswith(_BESIDE):
            self.release(group_id + _BESIDE)
        hold = self._holds.pop(group_id, None)
        if hold is None:
            return
        self.coming.remove(group_id)
        for later in self._later:
            later.release(group_id)
        for use in hold.packing.uses:
            self._free[use.machine] += use.row * use.number
        real = len(self.nodes.machines)
        for index, name in enumerate(self._promised):
            if name and (self._free[real + index] == self.nodes.type_row[name]).all():
                self._free[real + index] = 0
                self._promised[index] = ""
        self._changed()

    def _changed(self) -> None:
        if self.closed:
            self._free = np.minimum(self._free, 0)
        self.version += 1
        self._fits = {}
        self._proved = set()
        self._room = self._occupied = None

    def _subtract(self, group_id: str, gang_of: Callable[[str], Gang]) -> None:
        """
        Take the room of the pods that the snapshot shows of a group. Where it leaves their requests out, the manifest's
        count; where there is no manifest any more nobody knows what they use, and their node takes nothing new.
        """
        for role, requests, node in self.shown.of(group_id):
            machine = self.nodes.index[node]
            known = None if requests else like(gang_of(group_id), role, requests)
            if requests or known:
                shape = known.shape if known else PodShape(requests)
                self._free[machine] -= self.columns.asked(shape)
            else:
                self._free[machine] = np.minimum(self._free[machine], 0)

    def may_be_where(self, group_id: str, pods: PodSet) -> bool:
        """
        Whether pods may be, apart from room, on each node on which the snapshot shows a pod of their role and group.
        """
        nodes = [self.nodes.index[node] for role, _, node in self.shown.of(group_id) if role == pods.role]
        return bool(self.nodes.admits(pods.shape)[nodes].all())

    def nodes_of(self, group_id: str, pods: PodSet) -> tuple[str, ...]:
        """The nodes, sorted, on which the snapshot shows pods of a group with the same role and the same requests."""
        asked, shown = pods.shape.requests, self.shown.of(group_id)
        return tuple(sorted({node for role, each, node in shown if role == pods.role and (not each or each == asked)}))


def _told(found: Packing | Shortfall | Missing) -> Packing | Shortfall:
    """A search's result, with what is missing worked out."""
    return found.told() if isinstance(found, Missing) else found


def _repels(snapshot: CapacitySnapshot, gang_of: Callable[[str], Gang]) -> bool:
    """Whether something that runs keeps pods away by anti-affinity."""
    if any(pod.anti_affinity for pods in NodeColumns.of(snapshot.nodes).pods.values() for pod in pods):
        return True
    return any(pods.shape.pod_anti_affinity for group in snapshot.groups for pods in gang_of(group.name))


def has_finished(running: RunningGroup | None) -> bool:
    """Whether the snapshot says that a group's job has ended."""
    return running is not None and running.phase in _FINISHED
