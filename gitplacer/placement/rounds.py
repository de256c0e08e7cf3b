"""
One round of planning: from where everything is to where everything goes.

What is placed is kept; what has to leave looks for another cluster; what waits is tried in the order of `order`, and where it
finds no room others may leave for it, or room is kept for it (`clearing`). The ledgers are opened only when something is to be
placed or verdicts are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Claim, Decision, Finding, Move, Reason, action_of
from gitplacer.model.verdicts import Verdicts
from gitplacer.placement.causes import Triggers
from gitplacer.placement.choice import Choice
from gitplacer.placement.clearing import Clearing
from gitplacer.placement.departures import Departures
from gitplacer.placement.division import Division, divides
from gitplacer.placement.doubts import Doubts
from gitplacer.placement.holds import consent_to_removal
from gitplacer.placement.occupancy import Claims, Occupancy, Placements
from gitplacer.placement.onepass import Pass
from gitplacer.placement.order import Shares, Waiting, turns
from gitplacer.placement.spanning import Spanned, Spanning
from gitplacer.placement.ties import heirs
from gitplacer.placement.unfit import Unfit
from gitplacer.placement.weakly import weakly
from gitplacer.source.manifests import PLATFORM

_NOT_BLOCKED = (Reason.REMOVAL_NEEDS_APPROVAL, Reason.TOO_MANY_REMOVALS)
"""Why a removal is held where nothing is in its way but that nobody has consented."""


class Round:
    """One round: from where everything is to where everything goes."""

    def __init__(
        self,
        shared: Pass,
        placements: Placements,
        claims: Claims,
        moves: Mapping[str, Move],
        kept: Verdicts,
    ) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot
        self._placements = placements
        self._moves = moves
        self._occupancy = Occupancy(shared, placements, claims)
        self._choice = Choice(shared, self._occupancy, kept)
        self._spanning = Spanning(shared, self._occupancy, self._choice)
        self._departures = Departures(shared, placements, moves, self._occupancy, self._choice, self._spanning)
        self._unfit = Unfit(shared, self._occupancy, self._choice, self._departures)
        self._division = Division(
            shared, placements, self._occupancy, self._choice, self._departures, weakly(self._nowhere)
        )
        self._with_candidates = bool(kept)
        self._decided: set[str] = set()
        self._shares: Shares | None = None
        self._clearing = Clearing(
            shared, claims, moves, self._occupancy, self._choice, self._departures.sightings, self._decided
        )

    def decide(self) -> list[Decision]:
        """A decision for every group and every record without a group, in no particular order."""
        done = [self._settle(self._orphan(record)) for record in self._pass.orphans.values()]
        self._occupancy.gone = {d.group for d in done if d.action is Action.REMOVE}
        moving: list[Group] = []
        leaving: list[tuple[Group, Triggers]] = []
        staying: list[Group] = []
        waiting: list[Group] = []
        for group in self._pass.groups.values():
            known = self._without_search(group)
            if known is not None:
                done.append(self._settle(known))
                continue
            assert group.policy is not None
            if group.id in self._moves:
                moving.append(group)
            elif divides(group):
                (staying if self._division.is_settled(group, group.policy) else waiting).append(group)
            elif why := self._departures.causes.triggers(group, group.policy):
                leaving.append((group, why))
            elif self._is_complete(group, group.policy):
                staying.append(group)
            else:
                waiting.append(group)
        done += map(self._settle, self._proceeding(moving))
        done += map(self._settle, self._leaving(leaving))
        done += map(self._settle, self._unfitting(staying))
        held_back = [decision for group in waiting if (decision := self._unfit.incomplete(group)) is not None]
        done += map(self._settle, held_back)
        staying = [group for group in staying if group.id not in self._decided]
        waiting = [group for group in waiting if group.id not in self._decided]
        for group in self._in_turn(waiting):
            done.append(
                self._settle(
                    self._preempted(group) if group.id in self._clearing.displaced else self._add_copies(group)
                )
            )
        done += [
            self._preempted(group) if group.id in self._clearing.displaced else self._settle(self._keep(group))
            for group in staying
        ]
        return [self._with_sightings(decision) for decision in done]

    def _without_search(self, group: Group) -> Decision | None:
        """The decision about a group that neither looks for room nor is asked to leave: it rests, is held, is the platform's or has ended."""
        if group.id in self._pass.resting:
            return self._pass.resting[group.id]
        stop = self._pass.held.get(group.id)
        if stop is not None or group.policy is None:
            return self._held(group, stop or Finding(code=Reason.NO_POLICY))
        if group.unit == PLATFORM:
            return self._platform(group, group.policy)
        ending = self._departures.sightings.finished(group)
        return self._departures.rest(group, group.policy, ending) if ending is not None else None

    def _proceeding(self, moving: Iterable[Group]) -> Iterator[Decision]:
        """The next step of each relocation that is under way. Each is to be settled before the next is asked for."""
        for group in sorted(moving, key=self._turn):
            assert group.policy is not None
            proceeding = self._departures.proceed(group, group.policy, self._moves[group.id])
            yield self._unfit.along_with(group, proceeding)

    def _leaving(self, leaving: Iterable[tuple[Group, Triggers]]) -> Iterator[Decision]:
        """
        The decision about each group that has a reason to leave a cluster. Each is to be settled before the next is
        asked for.
        """
        for group, triggers in sorted(leaving, key=lambda one: self._turn(one[0])):
            assert group.policy is not None
            if self._spans(group):
                yield self._departures.leave_some(group, group.policy, triggers)
            else:
                yield self._unfit.along_with(group, self._departures.leave(group, group.policy, triggers))

    def _unfitting(self, staying: Iterable[Group]) -> Iterator[Decision]:
        """
        The decision about each group that stays and has an edit without room. Each is to be settled before the next is
        asked for.
        """
        for group in sorted(staying, key=self._turn):
            decision = None if self._spans(group) else self._unfit.decide(group)
            if decision is not None:
                yield decision

    def doubts(self, decisions: Iterable[Decision]) -> Doubts | None:
        """
        What still holds against gangs after these decisions: on clusters that no group leaves and where no room is
        kept.
        """
        if not self._occupancy.is_open:
            return None
        left = {name for d in decisions for name in set(d.before) - set(d.after)}
        return self._occupancy.books.doubts.lasting(but=left | self._occupancy.reservations.kept().keys())

    def outgrown(self) -> frozenset[str] | None:
        """The groups that find no room for all their pods where they are; None where the ledgers were not opened."""
        return frozenset(group for group, _ in self._occupancy.outgrown) if self._occupancy.is_open else None

    def _spans(self, group: Group) -> bool:
        """Whether a group is on several clusters as one app."""
        here = self._placements.get(group.id, ())
        return len(here) > 1 and self._spanning.spans(group.id, here)

    def _with_sightings(self, decision: Decision) -> Decision:
        """
        A decision with what the snapshots show of the group: that its job has ended, or that its pods have waited too
        long.
        """
        group = self._pass.groups.get(decision.group)
        if group is None or decision.action is Action.REMOVE:
            return decision
        moves = group.unit != PLATFORM and not divides(group)
        ended, pending = (
            self._departures.sightings.ended(group),
            self._departures.sightings.pending(group) if moves else {},
        )
        return replace(decision, ended=ended, pending=pending) if ended or pending else decision

    def _settle(self, decision: Decision) -> Decision:
        """Count a decision: where its group is now, and in whose share."""
        self._decided.add(decision.group)
        for cluster in set(decision.before) - set(decision.after):
            self._occupancy.here.go(decision.group, cluster)
        come = set(decision.after) - set(decision.before)
        for cluster in come:
            self._occupancy.here.come(decision.group, cluster)
        if self._shares is not None:
            self._count(self._shares, decision.group, come)
        return decision

    def _in_turn(self, groups: Iterable[Group]) -> Iterator[Group]:
        """Groups that look for room, as their turn comes."""
        by_id = {group.id: group for group in groups}
        for one in turns(map(self._waiting, by_id.values()), self._snapshot.now, self._held_by_each):
            yield by_id[one.group]

    def _waiting(self, group: Group) -> Waiting:
        rank, since, _ = self._turn(group)
        return Waiting(group=group.id, holder=group.holder, priority=-rank, since=since)

    def _held_by_each(self) -> Shares:
        """The share of each holder of what the fleet offers, as far as the round has come, claims included."""
        if self._shares is None:
            self._shares = Shares(self._pass.offered)
            for there in (self._occupancy.here.items(), self._snapshot.bystanders.items()):
                for name, groups in there:
                    for group_id in groups:
                        self._count(self._shares, group_id, [name])
            for group_id, claim in self._occupancy.reservations.claims():
                self._count(self._shares, group_id, [claim.cluster])
        return self._shares

    def _count(self, shares: Shares, group_id: str, clusters: Iterable[str]) -> None:
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        if group.unit == PLATFORM if group is not None else record is not None and record.is_platform:
            return
        for name in clusters:
            if name in self._pass.books and not self._occupancy.has_finished(self._pass.books[name], group_id, name):
                shares.take(self._pass.holder(group_id), self._pass.requests(group_id, name))

    def _turn(self, group: Group) -> tuple[int, datetime, str]:
        """Priority first, then the longest waiting, then the name."""
        return -group.priority, self._pass.waiting_since(group.id), group.id

    # what is placed

    def _wanted(self, group: Group, policy: PlacementPolicy) -> int:
        """How many copies there should be; for All, as many as clusters that take new groups or have it."""
        copies = policy.spec.placement.copies
        if copies != "All":
            return copies
        here = set(self._placements.get(group.id, ()))
        clusters = self._pass.clusters.values()
        return sum(
            self._pass.entrance.may_not_stay(group, policy, c) is None and (c.name in here or c.spec.state == "Active")
            for c in clusters
        )

    def _is_complete(self, group: Group, policy: PlacementPolicy) -> bool:
        """Whether a group has as many copies as it is to have, or spans the clusters that it is on."""
        here = self._placements.get(group.id, ())
        return bool(here) and (len(here) == self._wanted(group, policy) or self._spanning.spans(group.id, here))

    # decisions about one group

    def _orphan(self, record: PlacementRecord) -> Decision:
        """A record whose group is no longer in the source: remove it, unless it may only be unreadable."""
        before = self._placements.get(record.id, ())
        stop = self._pass.kept.get(record.id)
        joined = heirs(record, self._pass.homes) if stop is None and record.id in self._pass.ties else ()
        finding = stop or Finding(code=Reason.SOURCE_REMOVED, subject=", ".join(joined))
        return Decision(
            group=record.id, policy=record.policy, action=Action.HOLD if stop else Action.REMOVE, before=before,
            after=before if stop else (), finding=finding, moving=self._moves.get(record.id),
            move=self._moves.get(record.id) if stop else None,
            blocked_by=_words(stop.subject) if stop is not None and stop.code not in _NOT_BLOCKED else (),
        )  # fmt: skip

    def _held(self, group: Group, finding: Finding) -> Decision:
        record = self._pass.records[group.id]
        before = self._placements.get(group.id, ())
        blocked = tuple(f"{p.code} {p.location}" for p in group.problems)
        policy = group.policy.name if group.policy else record.policy if record else ""
        return Decision(
            group=group.id, policy=policy, action=Action.HOLD, before=before, after=before, finding=finding,
            candidates=self._choice.evaluation.kept_candidates(group, before), blocked_by=blocked or _words(finding.subject),
            waiting_since=record.waiting_since if record else None,
            moving=self._moves.get(group.id), move=self._moves.get(group.id),
        )  # fmt: skip

    def _over_several(self, group: Group, here: tuple[str, ...], spanned: Spanned) -> Decision:
        """A group that spans clusters, or comes to."""
        assert group.policy is not None
        if spanned.action is not Action.KEEP:
            self._pass.reshaped[group.id] = spanned.action, spanned.finding
        return Decision(
            group=group.id, policy=group.policy.name, action=spanned.action, before=here, after=spanned.after,
            finding=spanned.finding, reasons=spanned.reasons,
            candidates=self._choice.evaluation.candidates(group, group.policy, spanned.after, spanned.reasons, waits=False),
        )  # fmt: skip

    def _keep(self, group: Group) -> Decision:
        assert group.policy is not None
        better = self._departures.prefer(group, group.policy)
        if better is not None:
            return better
        here = self._placements[group.id]
        spanned = self._spanning.stay(group, group.policy, here)
        if spanned is not None:
            return self._over_several(group, here, spanned)
        finding = self._unfit.finding(group, here)
        if finding is None:
            outgrown = self._outgrown(group.id, here) if self._with_candidates else None
            finding = outgrown or Finding(code=Reason.KEPT)
        candidates = self._choice.evaluation.kept_candidates(group, here, rests=finding.code is Reason.KEPT)
        return Decision(
            group=group.id, policy=group.policy.name, action=Action.KEEP, before=here, after=here, finding=finding,
            candidates=candidates, proposed=self._pass.proposing.get(group.id, ()),
        )  # fmt: skip

    def _outgrown(self, group_id: str, here: Sequence[str]) -> Finding | None:
        """
        Why a group has outgrown its clusters: no room for all its pods, or a quota that does not let in what was added
        to it; None if it has not.
        """
        self._occupancy.open()  # which is what finds out
        if any((group_id, cluster) in self._occupancy.outgrown for cluster in here):
            return Finding(code=Reason.OUTGROWN)
        refused = (self._occupancy.added_not_let_in(group_id, name) for name in here)
        return next((replace(why, code=Reason.OUTGROWN) for why in refused if why is not None), None)

    def _platform(self, group: Group, policy: PlacementPolicy) -> Decision:
        """
        A platform group goes to every cluster its policy names, whatever the room, and stays where it is: removing it
        needs an Approval, which holds up nothing else.
        """
        here = self._placements.get(group.id, ())
        copies = policy.spec.placement.copies
        entering = [name for name in self._pass.entrance.may_enter(group, policy) if name not in here]
        wanted = len(entering) if copies == "All" else max(0, copies - len(here))
        ranked = sorted(entering, key=lambda name: (self._pass.preference(policy, name), name))
        chosen = self._choice.spreading.first(group, policy, ranked, kept=here, wanted=wanted)
        for name in chosen:
            self._occupancy.books.admit(group.id, name, group.gang)
        after = tuple(sorted({*here, *chosen}))
        unwanted = [
            name
            for name in here
            if name not in self._pass.clusters
            or self._pass.entrance.may_not_stay(group, policy, self._pass.clusters[name])
        ]
        record = self._pass.records[group.id]
        consent = consent_to_removal(self._snapshot, record) if unwanted else None
        if consent is not None:
            after = tuple(name for name in after if name not in unwanted)
        if chosen:
            finding = Finding(code=Reason.PLATFORM)
        elif consent is not None:
            finding = Finding(code=Reason.COPY_NOT_WANTED, subject=", ".join(unwanted))
        elif unwanted:
            finding = Finding(code=Reason.REMOVAL_NEEDS_APPROVAL, subject=", ".join(unwanted))
        else:
            finding = Finding(code=Reason.KEPT if after else Reason.NO_ELIGIBLE_CLUSTER)
        reasons = {name: Finding(code=Reason.PLATFORM) for name in chosen}
        return Decision(
            group=group.id, policy=policy.name, action=action_of(here, after) if after else Action.WAIT, before=here,
            after=after, finding=finding, reasons=reasons, candidates=self._choice.evaluation.candidates(group, policy, after, reasons, waits=not after),
            blocked_by=() if consent is not None else tuple(unwanted),
            waiting_since=None if after else self._pass.waiting_since(group.id),
            consent=consent.identity if consent is not None else "",
        )  # fmt: skip

    def _add_copies(self, group: Group) -> Decision:
        """A group with too few copies, or too many: place what fits, and let the rest wait."""
        policy = group.policy
        assert policy is not None
        if divides(group):
            self._occupancy.open()  # which is what finds out which claims still stand
            return self._division.decide(group, policy)
        before = self._placements.get(group.id, ())
        wanted = self._wanted(group, policy)
        chosen: dict[str, Finding] = {}
        claim: Claim | None = None
        after = before
        if len(before) > wanted:
            after = self._best(group, policy, before, wanted)
            for name in set(before) - set(after):
                self._occupancy.books.release(group.id, name)
        else:
            chosen, claim = self._seek(group, policy, before, wanted - len(before))
            after = tuple(sorted({*before, *chosen}))
        complete = bool(after) and len(after) >= wanted
        candidates = self._choice.evaluation.candidates(group, policy, after, chosen, waits=not complete)
        return Decision(
            group=group.id, policy=policy.name, action=action_of(before, after) if after else Action.WAIT, before=before,
            after=after, finding=self._finding(group, policy, before, after, chosen, complete), reasons=chosen,
            candidates=candidates, waiting_since=None if complete else self._pass.waiting_since(group.id), claim=claim,
            blocked_by=claim.displaced if claim else (),
        )  # fmt: skip

    def _finding(
        self,
        group: Group,
        policy: PlacementPolicy,
        before: Sequence[str],
        after: Sequence[str],
        chosen: Mapping[str, Finding],
        complete: bool,
    ) -> Finding:
        if chosen:
            return Finding(code=Reason.SPANS) if self._spanning.spans(group.id, chosen) else chosen[min(chosen)]
        if set(after) < set(before):
            return Finding(code=Reason.COPY_NOT_WANTED, subject=", ".join(sorted(set(before) - set(after))))
        if after:
            waits = self._choice.spreading.waits(group) or Finding(code=Reason.COPIES_WAIT)
            return Finding(code=Reason.KEPT) if complete else waits
        return self._nowhere(group, policy)

    def _nowhere(self, group: Group, policy: PlacementPolicy) -> Finding:
        """Why no cluster takes a group."""
        over_quota, over_budget = self._choice.quotas.over_quota, self._choice.quotas.over_budget
        claim, kept_on = self._occupancy.reservations.claim_of(group.id), self._occupancy.reservations.aged_on(group.id)
        if claim is not None:
            return Finding(code=Reason.WAITS_FOR_PREEMPTED, subject=", ".join(claim.displaced))
        if kept_on:
            return Finding(code=Reason.ROOM_RESERVED, subject=kept_on)
        if group.id in self._spanning.short:
            return over_quota.get(group.id, self._spanning.short[group.id])
        limited = group.id in over_quota or group.id in over_budget
        if not limited and (unspread := self._choice.spreading.waits(group)) is not None:
            return unspread
        doubt = self._choice.evaluation.doubt(group)
        if doubt is not None:
            return doubt
        if group.id in over_quota:
            return over_quota[group.id]
        if group.id in over_budget:
            return over_budget[group.id]
        enters = bool(self._pass.entrance.may_enter(group, policy))
        return Finding(code=Reason.NO_CLUSTER_FITS if enters else Reason.NO_ELIGIBLE_CLUSTER)

    def _best(self, group: Group, policy: PlacementPolicy, here: Sequence[str], wanted: int) -> tuple[str, ...]:
        """
        The clusters that keep their copy when there are too many: the one that somebody wants it on, the policy's favourites, then
        the oldest. A copy that went now would have to come back for whoever wants it there.
        """
        wished = self._departures.consents.sent_to(group)

        def rank(name: str) -> tuple[bool, int, datetime, str]:
            entry = self._pass.entry(group.id, name)
            since = entry.since if entry else self._snapshot.now
            return name != wished, self._pass.preference(policy, name), since, name

        ranked = sorted(here, key=rank)
        best = self._choice.spreading.first(group, policy, ranked, kept=(), wanted=wanted)
        return tuple(sorted(best if len(best) == wanted else ranked[:wanted]))

    # waiting with something in view

    def _seek(
        self, group: Group, policy: PlacementPolicy, before: Sequence[str], wanted: int
    ) -> tuple[dict[str, Finding], Claim | None]:
        """
        Clusters for the copies that are missing, and if there is none even for the first copy, a claim to room that
        others make for it.
        """
        self._occupancy.open()  # which is what finds out which claims still stand
        closed = {*before, *self._occupancy.reservations.closed_to(group.id)}
        claim = self._occupancy.reservations.claim_of(group.id)
        clear = claim is not None and self._pass.is_clear(group.id, claim)
        if claim is not None and clear:
            self._occupancy.books.replace(
                claim.cluster, self._occupancy.reservations.for_others(claim.cluster, but=group.id)
            )
        unseen = {claim.cluster} if claim is not None and not clear else set()
        to, chosen = "" if before else self._departures.consents.sent_to(group), dict[str, Finding]()
        if to:  # or it would be sent there as soon as it is placed
            others = set(self._pass.clusters) - {to}
            chosen = self._choice.choose(group, policy, exclude=closed | unseen | others, wanted=1)
        if not chosen:
            chosen = self._chosen(group, policy, closed | unseen, wanted)
        if claim is not None:
            if chosen:
                self._occupancy.reservations.drop(group.id)
            if claim.cluster not in chosen:
                self._occupancy.books.replace(claim.cluster, self._occupancy.reservations.for_others(claim.cluster))
        if chosen or before:
            return chosen, None
        claim = claim or self._clearing.preempt(group, policy, closed)
        if claim is None and self._waiting(group).is_aged(self._snapshot.now):
            claim = self._clearing.keep(group, policy, closed)
        return chosen, claim

    def _chosen(self, group: Group, policy: PlacementPolicy, exclude: set[str], wanted: int) -> dict[str, Finding]:
        """Single clusters or, where its policy lets a group span several, the first way that it prefers and that works."""
        if policy.spec.placement.span != "IfNeeded":
            return self._choice.choose(group, policy, exclude=exclude, wanted=wanted)
        chosen: dict[str, Finding] = {}
        scale_up = False
        for way in policy.spec.placement.prefer if wanted > 0 else ():
            scale_up = scale_up or way == "ScaleUp"
            if way == "Span":
                chosen = self._spanning.place(group, policy, exclude, scale_up=scale_up)
            else:
                chosen = self._choice.choose(group, policy, exclude=exclude, wanted=wanted, only=way)
            if chosen:
                break
        return chosen

    def _preempted(self, group: Group) -> Decision:
        """A group that makes room for others: its copy there goes, and it waits."""
        assert group.policy is not None
        before = self._placements[group.id]
        gone = self._clearing.displaced[group.id]
        after = tuple(name for name in before if name not in gone)
        return Decision(
            group=group.id, policy=group.policy.name, action=Action.PREEMPT, before=before, after=after,
            finding=Finding(code=Reason.PREEMPTED_BY, subject=", ".join(sorted(set(gone.values())))),
            candidates=self._choice.evaluation.candidates(group, group.policy, after, {}, waits=True),
            waiting_since=self._pass.waiting_since(group.id),
        )  # fmt: skip


def _words(subject: str) -> tuple[str, ...]:
    return tuple(part for part in subject.split(", ") if part)
