"""
Room for the pods that run beside those a group has, in a ledger that has everybody else in it already.

A group that is placed keeps what it was promised; an update that is judged in this pass comes after all of them. One that was merged
before holds its room, and where there is none its pods wait in the cluster and take what gets free, so that nothing new may
be promised there. One that finds no room now takes none until somebody decides to let it go on.

Where pods are replaced one after another by larger ones there is least room at the end, when an old one is left at most. That is another cluster, with
all groups on it as they are now: what the end takes is kept from the merge on, until the update is seen to be done.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.overlaps import Overlap
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.updating import Places
from gitplacer.relocation.evidence import is_stale


class Fit(enum.Enum):
    """Whether there is room for an edit where its group runs."""

    FITS = "fits"
    SCALE_UP = "scale-up"
    LUCKY = "lucky"  # it takes luck, and nobody else loses by it
    SHORT = "short"
    UNKNOWN = "unknown"  # no current snapshot tells


class Judged(Struct, frozen=True):
    """Whether an edit finds room, with the numbers behind it. `alone`: the new pods have too little even without the old ones."""

    fit: Fit
    finding: Finding
    alone: bool = False


class _Update(Struct, frozen=True):
    """An update of a group on a cluster, with what `reserve_beside` is given."""

    shared: Pass
    ledger: Ledger
    group_id: str
    cluster: str
    overlap: Overlap
    alone: Callable[[], Ledger]
    not_let_in: Callable[[], Finding | None]

    @property
    def policy(self) -> PlacementPolicy:
        found = self.shared.groups[self.group_id].policy
        assert found is not None
        return found

    @property
    def scale_up(self) -> bool:
        return may_scale_up(self.policy)


class _Step(Struct, frozen=True):
    """
    A cluster at a step of an update: `there` has everybody else in it, `gang` are the pods that have to find room, and `found` is where they do. At the end
    of an update of larger pods these are all of the group, the old one that is left included; unless it `waits` that goes before they have room.
    """

    there: Ledger
    gang: Gang
    found: Packing | Shortfall
    waits: bool = True


def reserve_beside(
    shared: Pass,
    ledger: Ledger,
    group_id: str,
    cluster: str,
    overlap: Overlap,
    alone: Callable[[], Ledger],
    not_let_in: Callable[[], Finding | None],
) -> tuple[Judged | None, Gang]:
    """
    Take the room of pods that come beside those a group has, and say whether there is enough; for an edit of this pass that
    finds too little take none, unless it goes on nevertheless. None for what was merged before and has its room. With it, what the group has when
    the update ends, if the room of that was taken too; () if not. `alone` gives the cluster without anything of the group, and `not_let_in` why
    quotas there do not let the edit in, None if they do.
    """
    update = _Update(shared, ledger, group_id, cluster, overlap, alone, not_let_in)
    gang = _to_come(update)
    fit = ledger.fit if overlap.updates else ledger.fit_promised
    end = _end(update)
    begin = _Step(ledger, gang, fit(gang, scale_up=update.scale_up) if gang else Packing(()))
    left = end.gang if end is not None else ()
    if not overlap.updates:
        _reserve(update, begin, end)
        short = next((step.found for step in (begin, end) if step and isinstance(step.found, Shortfall)), None)
        return None if short is None else Judged(Fit.SHORT, _short(short)), left
    judged = _judged(update, begin, end)
    goes_on = (group_id, cluster) in shared.proceeding or not (overlap.waits or judged.alone)
    if judged.fit is Fit.SHORT and not goes_on:
        return judged, ()
    _reserve(update, begin, end)
    return judged, left


def _end(update: _Update) -> _Step | None:
    """How an update of larger pods ends that replaces them one after another; None for any other."""
    left = update.shared.last(update.group_id, update.cluster)
    if left is None:
        return None
    there = update.alone()
    old = (pods for pods in left if _is_in_the_way(update.ledger, update.group_id, pods))
    gang = (*update.shared.gang_on(update.group_id, update.cluster), *old)
    fit = there.fit if update.overlap.updates else there.fit_promised
    return _Step(there, gang, fit(gang, scale_up=update.scale_up), bool(left))


def _is_in_the_way(ledger: Ledger, group_id: str, pods: PodSet) -> bool:
    """Whether old pods may run where new ones may come, too: on a node that takes no such pods any more they are in nobody's way."""
    nodes = ledger.nodes_of(group_id, pods)
    numbers = [ledger.nodes.index[node] for node in nodes]
    return not nodes or bool(ledger.nodes.admits(pods.shape)[numbers].any())


def _judged(update: _Update, begin: _Step, end: _Step | None) -> Judged:
    shared, cluster, overlap = update.shared, update.cluster, update.overlap
    if is_stale(shared.clusters[cluster], shared.snapshot.capacity[cluster], shared.snapshot.now):
        return Judged(Fit.UNKNOWN, Finding(code=Reason.STALE_SNAPSHOT))
    if overlap.refused:
        finding = Finding(code=Reason.LIMIT_RANGE, subject=overlap.refused)
        return Judged(Fit.SHORT, finding, alone=not overlap.waits)
    if overlap.replaces:
        there = update.alone() if end is None else end.there
        anew = there.fit(shared.gang_on(update.group_id, cluster), scale_up=update.scale_up)
        if isinstance(anew, Shortfall):
            return Judged(Fit.SHORT, _short(anew), alone=True)
    steps = [begin, end] if end is not None and end.waits else [begin]
    for step in steps:
        if isinstance(step.found, Shortfall):
            return Judged(Fit.SHORT, _short(step.found))
    if (against := update.not_let_in()) is not None:
        return Judged(Fit.SHORT, against, alone=not overlap.waits)
    for step in reversed(steps):  # at the end there are no fewer
        if isinstance(step.found, Packing) and not step.found.is_there:
            new_nodes = step.found.new_nodes(update.ledger.nodes)
            return Judged(Fit.SCALE_UP, Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=new_nodes))
    if all(_is_certain(step.there, step.gang) for step in steps):
        return Judged(Fit.FITS, Finding(code=Reason.FITS))
    if all(_is_certain(step.there, step.gang, lucky=True) for step in steps):
        return Judged(Fit.LUCKY, Finding(code=Reason.TIGHT_FIT))
    return Judged(Fit.SHORT, Finding(code=Reason.TIGHT_FIT))


def _to_come(update: _Update) -> Gang:
    shared, ledger, group_id, overlap = update.shared, update.ledger, update.group_id, update.overlap
    beside = shared.beside(group_id, update.cluster)
    left = ledger.beside(group_id, shared.held_on(group_id, update.cluster), beside, shown=overlap.shown)
    if overlap.places:
        left = tuple(_without_places(ledger, group_id, left, overlap.places))
    return tuple(pods for pods in left if pods.count)


def _without_places(ledger: Ledger, group_id: str, gang: Gang, places: Places) -> Iterator[PodSet]:
    """Pods less those that get the place of one that goes first, whichever it is."""
    left = Counter[PodShape]()
    for shape, count in places:
        left[shape] += count
    for pods in gang:
        has = min(pods.count, left[pods.shape]) if ledger.may_be_where(group_id, pods) else 0
        left[pods.shape] -= has
        yield replace(pods, count=pods.count - has)


def _reserve(update: _Update, begin: _Step, end: _Step | None) -> None:
    """Take the room of an update, as it begins and as it ends."""
    gangs = update.policy.spec.placement.admission == "Gang"
    lucky = update.shared.accepts_tight(update.policy, update.cluster)
    for step in (end, begin):
        if step is None or not step.gang:
            continue
        packing = step.found if isinstance(step.found, Packing) else step.there.what_fits(step.gang)
        there = isinstance(step.found, Packing) and step.found.is_there
        sure = gangs and there and _is_certain(step.there, step.gang)
        step.there.reserve_beside(update.group_id, step.gang, packing, sure=sure, lucky=lucky)
    if end is not None:
        update.ledger.leave_to(end.there)


def _is_certain(ledger: Ledger, gang: Gang, *, lucky: bool = False) -> bool:
    """Whether no order is known in which a pod is left out, of the gang or, beside a `lucky` one, of others."""
    return not gang or ledger.proves(gang, lucky=lucky) or ledger.tight(gang, lucky=lucky) is None


def _short(found: Packing | Shortfall) -> Finding:
    assert isinstance(found, Shortfall)
    return Finding(
        code=found.code, role=found.role, placed=found.placed, wanted=found.wanted, short=found.short,
        nodes=found.nodes, tally=found.tally, limits=found.limits,
    )  # fmt: skip
