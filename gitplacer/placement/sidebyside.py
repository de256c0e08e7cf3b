"""
Room for the pods that run beside those a group has, in a ledger that has everybody else in it already.

Who is placed keeps what he was promised; an update that is judged in this pass comes after all of them. One that was merged
before holds its room, and where there is none its pods wait in the cluster and take what gets free, so that nothing new may
be promised there. One that finds no room now takes none until somebody decides to let it go on.

Where pods are replaced one after another by larger ones there is least room at the end, when an old one is left at most. That is another cluster, with
everybody on it as he is now: what the end takes is kept from the merge on, until the update is seen to be done.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class Judged:
    """Whether an edit finds room, with the numbers behind it. `alone`: the new pods have too little even without the old ones."""

    fit: Fit
    finding: Finding
    alone: bool = False


@dataclass(frozen=True, slots=True)
class _End:
    """
    A cluster when an update of larger pods ends: `there` has everybody else in it, `gang` are the pods of the group then, the old one that is left
    included, and `found` is where they find room. `waits`: the old one goes only when they have it.
    """

    there: Ledger
    gang: Gang
    found: Packing | Shortfall
    waits: bool


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
    gang = _to_come(shared, ledger, group_id, cluster, overlap)
    group = shared.groups[group_id]
    assert group.policy is not None
    scale_up = may_scale_up(group.policy)
    end = _end(shared, ledger, group_id, cluster, overlap, alone, scale_up)
    if not overlap.updates:
        found = ledger.fit_promised(gang, scale_up=scale_up) if gang else Packing(())
        _reserve(shared, ledger, group_id, cluster, gang, found, end)
        short = next((each for each in (found, end.found if end else None) if isinstance(each, Shortfall)), None)
        return None if short is None else Judged(Fit.SHORT, _short(short)), end.gang if end else ()
    judged, found = _judged(shared, ledger, group_id, cluster, gang, overlap, alone, end, not_let_in, scale_up)
    goes_on = (group_id, cluster) in shared.proceeding or not (overlap.waits or judged.alone)
    if judged.fit is Fit.SHORT and not goes_on:
        return judged, ()
    _reserve(shared, ledger, group_id, cluster, gang, found, end)
    return judged, end.gang if end else ()


def _end(
    shared: Pass,
    ledger: Ledger,
    group_id: str,
    cluster: str,
    overlap: Overlap,
    alone: Callable[[], Ledger],
    scale_up: bool,
) -> _End | None:
    """How an update of larger pods ends that replaces them one after another; None for any other."""
    left = shared.last(group_id, cluster)
    if left is None:
        return None
    there = alone()
    old = (pods for pods in left if _is_in_the_way(ledger, group_id, pods))
    gang = (*shared.gang_on(group_id, cluster), *old)
    fit = there.fit if overlap.updates else there.fit_promised
    return _End(there, gang, fit(gang, scale_up=scale_up), bool(left))


def _is_in_the_way(ledger: Ledger, group_id: str, pods: PodSet) -> bool:
    """Whether old pods may run where new ones may come, too: on a node that takes no such pods any more they are in nobody's way."""
    nodes = ledger.nodes_of(group_id, pods)
    return not nodes or any(ledger.admits(pods, node) for node in nodes)


def _judged(
    shared: Pass,
    ledger: Ledger,
    group_id: str,
    cluster: str,
    gang: Gang,
    overlap: Overlap,
    alone: Callable[[], Ledger],
    end: _End | None,
    not_let_in: Callable[[], Finding | None],
    scale_up: bool,
) -> tuple[Judged, Packing | Shortfall]:
    found = ledger.fit(gang, scale_up=scale_up) if gang else Packing(())
    if is_stale(shared.clusters[cluster], shared.snapshot.capacity[cluster], shared.snapshot.now):
        return Judged(Fit.UNKNOWN, Finding(code=Reason.STALE_SNAPSHOT)), found
    if overlap.refused:
        finding = Finding(code=Reason.LIMIT_RANGE, subject=overlap.refused)
        return Judged(Fit.SHORT, finding, alone=not overlap.waits), found
    if overlap.replaces:
        there = alone() if end is None else end.there
        anew = there.fit(shared.gang_on(group_id, cluster), scale_up=scale_up)
        if isinstance(anew, Shortfall):
            return Judged(Fit.SHORT, _short(anew), alone=True), found
    asked = [(ledger, gang, found)]
    if end is not None and end.waits:
        asked.append((end.there, end.gang, end.found))
    for _, _, each in asked:
        if isinstance(each, Shortfall):
            return Judged(Fit.SHORT, _short(each)), found
    if (against := not_let_in()) is not None:
        return Judged(Fit.SHORT, against, alone=not overlap.waits), found
    for _, _, each in reversed(asked):  # at the end there are no fewer
        if isinstance(each, Packing) and not each.is_there:
            finding = Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=each.new_nodes(ledger.nodes))
            return Judged(Fit.SCALE_UP, finding), found
    if all(_is_certain(there, pods) for there, pods, _ in asked):
        return Judged(Fit.FITS, Finding(code=Reason.FITS)), found
    if all(_is_certain(there, pods, lucky=True) for there, pods, _ in asked):
        return Judged(Fit.LUCKY, Finding(code=Reason.TIGHT_FIT)), found
    return Judged(Fit.SHORT, Finding(code=Reason.TIGHT_FIT)), found


def _to_come(shared: Pass, ledger: Ledger, group_id: str, cluster: str, overlap: Overlap) -> Gang:
    beside = shared.beside(group_id, cluster)
    left = ledger.beside(group_id, shared.held_on(group_id, cluster), beside, shown=overlap.shown)
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


def _reserve(
    shared: Pass, ledger: Ledger, group_id: str, cluster: str, gang: Gang, found: Packing | Shortfall, end: _End | None
) -> None:
    """Take the room of an update, as it begins and as it ends."""
    takes = [] if end is None else [(end.there, end.gang, end.found)]
    for there, pods, packed in [*takes, (ledger, gang, found)]:
        if not pods:
            continue
        packing = packed if isinstance(packed, Packing) else there.what_fits(pods)
        policy = shared.groups[group_id].policy
        gangs = policy is not None and policy.spec.placement.admission == "Gang"
        sure = gangs and isinstance(packed, Packing) and packed.is_there and _is_certain(there, pods)
        lucky = policy is not None and shared.accepts_tight(policy, cluster)
        there.reserve_beside(group_id, pods, packing, sure=sure, lucky=lucky)
    if end is not None:
        ledger.leave_to(end.there)


def _is_certain(ledger: Ledger, gang: Gang, *, lucky: bool = False) -> bool:
    """Whether no order is known in which a pod is left out, of the gang or, beside a `lucky` one, of others."""
    return not gang or ledger.proves(gang, lucky=lucky) or ledger.tight(gang, lucky=lucky) is None


def _short(found: Packing | Shortfall) -> Finding:
    assert isinstance(found, Shortfall)
    return Finding(
        code=found.code, role=found.role, placed=found.placed, wanted=found.wanted, short=found.short,
        nodes=found.nodes, tally=found.tally, limits=found.limits,
    )  # fmt: skip
