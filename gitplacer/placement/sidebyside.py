"""
Room for the pods that run beside those a group has, in a ledger that has everybody else in it already.

Who is placed keeps what he was promised; an update that is judged in this pass comes after all of them. One that was merged
before holds its room, and where there is none its pods wait in the cluster and take what gets free, so that nothing new may
be promised there. One that finds no room now takes none until somebody decides to let it go on.
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


def reserve_beside(
    shared: Pass,
    ledger: Ledger,
    group_id: str,
    cluster: str,
    overlap: Overlap,
    alone: Callable[[], Ledger],
    not_let_in: Callable[[], Finding | None],
) -> Judged | None:
    """
    Take the room of pods that come beside those a group has, and say whether there is enough; for an edit of this pass that
    finds too little take none, unless it goes on nevertheless. None for what was merged before and has its room. `alone` gives
    the cluster without anything of the group, and `not_let_in` why quotas there do not let the edit in, None if they do.
    """
    gang = _to_come(shared, ledger, group_id, cluster, overlap)
    group = shared.groups[group_id]
    assert group.policy is not None
    scale_up = may_scale_up(group.policy)
    if not overlap.updates:
        found = ledger.fit_promised(gang, scale_up=scale_up) if gang else Packing(())
        _reserve(shared, ledger, group_id, cluster, gang, found)
        return Judged(Fit.SHORT, _short(found)) if isinstance(found, Shortfall) else None
    judged, found = _judged(shared, ledger, group_id, cluster, gang, overlap, alone, not_let_in, scale_up)
    goes_on = (group_id, cluster) in shared.proceeding or not (overlap.waits or judged.alone)
    if judged.fit is not Fit.SHORT or goes_on:
        _reserve(shared, ledger, group_id, cluster, gang, found)
    return judged


def _judged(
    shared: Pass,
    ledger: Ledger,
    group_id: str,
    cluster: str,
    gang: Gang,
    overlap: Overlap,
    alone: Callable[[], Ledger],
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
        anew = alone().fit(shared.gang_on(group_id, cluster), scale_up=scale_up)
        if isinstance(anew, Shortfall):
            return Judged(Fit.SHORT, _short(anew), alone=True), found
    if isinstance(found, Shortfall):
        return Judged(Fit.SHORT, _short(found)), found
    if (against := not_let_in()) is not None:
        return Judged(Fit.SHORT, against, alone=not overlap.waits), found
    if not found.is_there:
        finding = Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=found.new_nodes(ledger.nodes))
        return Judged(Fit.SCALE_UP, finding), found
    if _is_certain(ledger, gang):
        return Judged(Fit.FITS, Finding(code=Reason.FITS)), found
    if _is_certain(ledger, gang, lucky=True):
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


def _reserve(shared: Pass, ledger: Ledger, group_id: str, cluster: str, gang: Gang, found: Packing | Shortfall) -> None:
    if not gang:
        return
    packing = found if isinstance(found, Packing) else ledger.what_fits(gang)
    policy = shared.groups[group_id].policy
    gangs = policy is not None and policy.spec.placement.admission == "Gang"
    sure = gangs and isinstance(found, Packing) and found.is_there and _is_certain(ledger, gang)
    lucky = policy is not None and shared.accepts_tight(policy, cluster)
    ledger.reserve_beside(group_id, gang, packing, sure=sure, lucky=lucky)


def _is_certain(ledger: Ledger, gang: Gang, *, lucky: bool = False) -> bool:
    """Whether no order is known in which a pod is left out, of the gang or, beside a `lucky` one, of others."""
    return not gang or ledger.proves(gang, lucky=lucky) or ledger.tight(gang, lucky=lucky) is None


def _short(found: Packing | Shortfall) -> Finding:
    assert isinstance(found, Shortfall)
    return Finding(
        code=found.code, role=found.role, placed=found.placed, wanted=found.wanted, short=found.short,
        nodes=found.nodes, tally=found.tally, limits=found.limits,
    )  # fmt: skip
