"""
The verdict on each cluster that a group might go to, as a plan shows it and `gitplacer explain` tells it.

Nothing is decided here. What `choice` found while it looked for room is said first. Clusters that it had no need to
look at are looked at now, and the answer is kept for equal gangs as long as the cluster's ledger stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.machines import LimitKind
from gitplacer.model.decision import Candidate, Finding, Reason, Verdict
from gitplacer.model.verdicts import Verdicts
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.quotas import Quotas
from gitplacer.placement.spreading import Spreading
from gitplacer.placement.stage import COARSE, NOT_TRIED, Tight
from gitplacer.placement.tries import Tries
from gitplacer.relocation.memory import left_before
from gitplacer.source.manifests import PLATFORM

_TRIED = 2000
"""Where groups times clusters are more, a cluster that was not taken is not tried in every order just to tell."""
_TAKES = frozenset({
    Reason.FITS, Reason.FITS_BY_SCALE_UP, Reason.KUEUE_ADMITS, Reason.NOMINATED, Reason.PLATFORM, Reason.PODS_MAY_WAIT, Reason.ROOM,
})  # fmt: skip
"""Findings about a cluster that would take a group."""
_DOUBTS = frozenset({Reason.ROOM, Reason.TIGHT_FIT})
"""Findings about a cluster that has room for a group, which is not known to find it in every order."""


class _Said(Struct, frozen=True):
    """
    The answers about gangs on a cluster for one state of its ledger: by gang, admission, whether machines may come, and
    whether the cluster was passed over.
    """

    ledger: Ledger
    version: int
    findings: dict[tuple[Gang, str, bool, bool], Finding] = field(default_factory=dict)

    def is_of(self, ledger: Ledger) -> bool:
        """Whether a ledger is still in the state that these answers are about."""
        return self.ledger is ledger and self.version == ledger.version


class Evaluation:
    """Verdicts in one round, as far as it has come. `kept` says of which groups anybody wants to know them."""

    def __init__(
        self, shared: Pass, occupancy: Occupancy, kept: Verdicts, tries: Tries, quotas: Quotas, spreading: Spreading
    ) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._kept = kept
        self._tries = tries
        self._quotas = quotas
        self._spreading = spreading
        self._said: dict[str, _Said] = {}

    @property
    def _books(self) -> Books:
        return self._occupancy.books

    def verdict(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The finding about a cluster that a group is not on."""
        nominations, cluster = self._pass.nominations, self._pass.clusters[name]
        if (left := nominations.settings(group)) is not None:
            if name != left.manager:
                return nominations.verdict(group, policy, name)
            return self._pass.entrance.may_not_enter(group, policy, cluster) or nominations.admitted(group)
        return (
            self._pass.entrance.may_not_enter(group, policy, cluster)
            or self._left_lately(group, name)
            or self._spoken_for(group, name)
            or self._room_unless_spread(group, policy, name)
        )

    def candidates(
        self, group: Group, policy: PlacementPolicy, after: Sequence[str], chosen: Mapping[str, Finding], *, waits: bool
    ) -> tuple[Candidate, ...]:
        """
        Every cluster's verdict on a group, which waits for room or not, sorted by name; empty if nobody asked for them, and where more
        were asked for than anybody waits for, of the clusters alone that have it.
        """
        record = self._pass.records[group.id]
        waited = record is not None and record.waiting_since is not None
        unspread = waits and self._spreading.waits(group) is not None
        if not self._kept.are_kept(group.id, waits=waits, waited=waited, unspread=unspread):
            return ()
        found, everywhere = [], self._pass.clusters.keys()
        for name in sorted(everywhere if self._is_asked_about(group.id) else everywhere & set(after)):
            if name in after:
                kept = chosen.get(name, Finding(code=Reason.KEPT))
                found.append(Candidate(name, Verdict.CHOSEN, self._pass.scoring.told(policy, name, kept)))
                continue
            finding = self.verdict(group, policy, name)
            if policy.spec.placement.divides_by_room and not waits and after and self._may_enter(group, policy, name):
                finding = Finding(code=Reason.NO_SHARE, subject=", ".join(after))
            takes = _fits(finding) or (finding.code is Reason.TIGHT_FIT and self._pass.accepts_tight(policy, name))
            fits = takes and name not in self._tries.tight[group.id] and not self._is_passed_over(group, name)
            finding = self._pass.scoring.told(policy, name, finding)
            found.append(Candidate(name, Verdict.FEASIBLE if fits else Verdict.REJECTED, finding))
        return tuple(found)

    def _is_asked_about(self, group_id: str) -> bool:
        """
        Whether every cluster's verdict is told of a group: the first one always, further ones up to a bound, and in
        later rounds all of which it was told before.
        """
        asked = self._pass.asked_about
        if group_id in asked or group_id in self._kept.groups:
            return True
        if asked and (len(asked) + 1) * len(self._pass.clusters) > self._kept.most:
            return False
        asked.add(group_id)
        return True

    def kept_candidates(self, group: Group, here: Sequence[str], *, rests: bool = False) -> tuple[Candidate, ...]:
        """Those of a group that stays where it is, and `rests` there if there is nothing to be said of it."""
        if group.policy is None or (rests and not self._kept.resting and all(map(self._is_in_service, here))):
            return ()
        return self.candidates(group, group.policy, here, {}, waits=False)

    def _is_in_service(self, name: str) -> bool:
        cluster = self._pass.clusters.get(name)
        return cluster is not None and cluster.spec.state in ("Active", "Cordoned")

    def lacks(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """
        What keeps a cluster from having all that a group asks for there now, where it is already with less; None if nothing is known to.
        """
        found = self._pass.entrance.may_not_enter(group, policy, self._pass.clusters[name]) or self._spoken_for(
            group, name
        )
        found = found or self._quotas.exceeded(group, name, ()) or self._tries.tight[group.id].get(name)
        if found is not None:
            return found
        found = self._beside_its_own(group, policy, name, self._books[name])
        others = ", ".join(other for other in self._occupancy.reservations.on(name) if other != group.id)
        if others and not _fits(found):
            whole = self._beside_its_own(group, policy, name, self._occupancy.unreserved(name))
            found = Finding(code=Reason.RESERVED_FOR, subject=others) if _fits(whole) else found
        return None if _fits(found) else found

    def _beside_its_own(self, group: Group, policy: PlacementPolicy, name: str, there: Ledger) -> Finding:
        """What there is to say of room on a cluster for what a group asks for and is not seen to have."""
        known = self._books[name].copy()
        self._books.replace(name, there.copy())
        self._books.release(group.id, name)
        missing = self._books[name].shown.not_seen(group.id, self._pass.gang_on(group.id, name))
        found = self._room_of(group, policy, name, missing)
        self._books.replace(name, known)
        return found

    def _room_unless_spread(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The verdict on a cluster's room, or that it was passed over, with room, so that copies are spread."""
        found, passed_over = self._room_for_others(group, policy, name), self._spreading.passed_over(group, name)
        return passed_over if passed_over is not None and _fits(found) else found

    def _room_for_others(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The verdict on a cluster's room; what is kept for somebody else is told as that, and never as a shortage."""
        finding = self._room_for(group, policy, name)
        kept_for = self._occupancy.reservations.on(name)
        if not kept_for or group.unit == PLATFORM:
            return finding
        if finding.code in _DOUBTS and (name in self._tries.tight[group.id] or self._is_passed_over(group, name)):
            return self._unless_kept(group, name, finding)
        if _fits(finding):
            return finding
        ledger = self._books[name]
        self._books.replace(name, self._occupancy.unreserved(name))
        whole = self._room_for(group, policy, name)
        self._books.replace(name, ledger)
        others = ", ".join(other for other in kept_for if other != group.id)
        return Finding(code=Reason.RESERVED_FOR, subject=others) if others and _fits(whole) else whole

    def doubt(self, group: Group) -> Finding | None:
        """Why the first cluster that has room for a group did not take it, for want of a proof; None if there is none."""
        first = next(iter(self._tries.tight[group.id].items()), None)
        return None if first is None else self._unless_kept(group, *first)

    def _unless_kept(self, group: Group, name: str, doubt: Finding) -> Finding:
        """That there is a doubt about a cluster, or for whom room is kept on it, if there were none without that."""
        others = ", ".join(other for other in self._occupancy.reservations.on(name) if other != group.id)
        kept = bool(others) and doubt.code in _DOUBTS and self._is_sure_of_all(group, name)
        return Finding(code=Reason.RESERVED_FOR, subject=others) if kept else doubt

    def _is_sure_of_all(self, group: Group, name: str) -> bool:
        """Whether a group would find room in every order on a cluster on which none were kept: beside what is kept only a proof lets it in."""
        gang, whole = self._pass.gang_on(group.id, name), self._occupancy.unreserved(name)
        if not isinstance(whole.fit(gang, scale_up=False), Packing):
            return False
        return whole.proves(gang) or (not self._is_too_much_to_try and whole.tight(gang) is None)

    def _room_for(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        if group.unit == PLATFORM:
            return Finding(code=Reason.PLATFORM)
        gang = self._pass.gang_on(group.id, name)
        over = self._quotas.exceeded(group, name, self._occupancy.placements.get(group.id, ()))
        if over is not None:
            return over
        if name in self._tries.tight[group.id]:
            return self._tries.tight[group.id][name]
        if self._quotas.payers(group, policy):
            return self._room_of(group, policy, name, gang)
        # Nothing below is about this group but its gang and its policy, and most gangs have others that are their like.
        ledger, said = self._books[name], self._said.get(name)
        if said is None or not said.is_of(ledger):
            said = self._said[name] = _Said(ledger, ledger.version)
        passed_over = self._is_passed_over(group, name)
        key = gang, policy.spec.placement.admission, can_scale(self._books, policy, name), passed_over
        if key not in said.findings:
            said.findings[key] = self._room_of(group, policy, name, gang)
        return said.findings[key]

    def _room_of(self, group: Group, policy: PlacementPolicy, name: str, gang: Gang) -> Finding:
        """What there is to say of a cluster's room for a gang as its ledger stands, and of who pays for machines."""
        ledger, scales, here = (
            self._books[name],
            can_scale(self._books, policy, name),
            self._occupancy.placements.get(group.id, ()),
        )
        now = self._books.fit(gang, name, scale_up=False)
        later = self._books.fit(gang, name, scale_up=True) if scales and isinstance(now, Shortfall) else now
        if isinstance(later, Packing):
            paid = self._quotas.affordable(group, policy, name, later, here, isinstance(now, Shortfall))
            if isinstance(paid, Finding):
                return paid
            finding = self._books.fitting(name, paid)
            if finding.code is Reason.FITS and self._is_passed_over(group, name):
                return Finding(code=Reason.ROOM)
            return self._fits_now(gang, name) if finding.code is Reason.FITS else finding
        if policy.spec.placement.admission == "Immediate":
            return replace(falls_short(later), code=Reason.PODS_MAY_WAIT)
        short = falls_short(later)
        if len(short.tally) == 1 and short.tally[0].reason is not Reason.INSUFFICIENT_CAPACITY and not scales:
            return replace(short, code=short.tally[0].reason, subject=short.tally[0].subject)
        if any(limit.kind == LimitKind.EXHAUSTED for limit in short.limits) and ledger.fits_unless_exhausted(gang):
            return replace(short, code=Reason.NODE_GROUP_EXHAUSTED)
        if short.code is not Reason.INSUFFICIENT_CAPACITY:
            return short
        exceeds = self._pass.exceeds(gang, ledger, name, scales)
        return replace(short, code=Reason.EXCEEDS_CLUSTER) if exceeds else short

    @property
    def _is_too_much_to_try(self) -> bool:
        return len(self._pass.groups) * len(self._pass.clusters) > _TRIED

    def _is_passed_over(self, group: Group, name: str) -> bool:
        return self._tries.is_passed_over(group.id, self._books.number(name))

    def _fits_now(self, gang: Gang, name: str) -> Finding:
        """What there is to say of a cluster that has room for a gang now."""
        if self._is_too_much_to_try:
            return Finding(code=Reason.ROOM)
        tight = self._books.tight(gang, name)
        return Finding(code=Reason.FITS) if tight is None else left_out(tight)

    def _left_lately(self, group: Group, name: str) -> Finding | None:
        """Why a group does not go to a cluster by itself for a while. One that is nowhere goes back to any that takes it."""
        record = self._pass.records.get(group.id) if self._occupancy.placements.get(group.id) else None
        left = record is not None and record.moves and name in left_before(record, self._pass.snapshot)
        return Finding(code=Reason.LEFT_BEFORE) if left else None

    def _spoken_for(self, group: Group, name: str) -> Finding | None:
        """Why a group may not look for room on a cluster: it left it for another, or waits for those who leave."""
        preemptor = self._occupancy.reservations.closed_to(group.id).get(name)
        if preemptor is not None:
            return Finding(code=Reason.PREEMPTED_BY, subject=preemptor)
        claim = self._occupancy.reservations.claim_of(group.id)
        if claim is not None and claim.cluster == name:
            return Finding(code=Reason.WAITS_FOR_PREEMPTED, subject=", ".join(claim.displaced))
        return None

    def _may_enter(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        return self._pass.entrance.may_not_enter(group, policy, self._pass.clusters[name]) is None


def can_scale(books: Books, policy: PlacementPolicy, name: str) -> bool:
    """Whether a policy may count on nodes that a cluster can add."""
    return may_scale_up(policy) and bool(books[name].nodes.types)


def left_out(tight: Tight) -> Finding:
    """The finding that a gang has room on a cluster, but not in every order, or not as far as was tried."""
    if tight is NOT_TRIED:
        return Finding(code=Reason.ROOM)
    if tight is COARSE:
        return Finding(code=Reason.TIGHT_FIT, subject="coarse")
    return Finding(code=Reason.TIGHT_FIT, subject=f"{tight.order}; {tight.scoring}", role=tight.pod)


def falls_short(shortfall: Shortfall | Packing) -> Finding:
    """What a cluster lacks for a gang that does not fit there."""
    assert isinstance(shortfall, Shortfall)
    return Finding(
        code=shortfall.code,
        role=shortfall.role,
        placed=shortfall.placed,
        wanted=shortfall.wanted,
        short=shortfall.short,
        nodes=shortfall.nodes,
        tally=shortfall.tally,
        limits=shortfall.limits,
    )


def _fits(finding: Finding) -> bool:
    """Whether a verdict is that the cluster can take the group."""
    return finding.code in _TAKES
