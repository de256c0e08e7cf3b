"""
Groups that leave a cluster: whether they may, where to, and how far they have come.

A trigger says that a group should leave. Its policy may say that it stays or waits for consent, its history that it has moved too
recently, a guard that too many have; each is a reason to stay where it is, and is told. If another cluster takes it, it moves in one
commit or, by a strategy that needs evidence between two steps, over several passes; then its room is held on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.machines import LimitKind
from gitplacer.model.decision import Action, Decision, Ending, Finding, Move, Phase, Reason, Strategy
from gitplacer.model.workload import Gang
from gitplacer.placement.choice import Choice
from gitplacer.placement.occupancy import Occupancy, Placements
from gitplacer.placement.onepass import Pass
from gitplacer.placement.pack import Packing
from gitplacer.placement.spanning import Spanning
from gitplacer.relocation.evidence import (
    Seen,
    all_gone,
    may_have_started,
    running,
    seen_ended,
    seen_gone,
    seen_nothing,
    seen_ready,
    seen_unstarted,
    testimony,
)
from gitplacer.relocation.memory import left_before, recent
from gitplacer.relocation.strategies import Look, proceed
from gitplacer.relocation.triggers import DECLARED, Standing, mode_of, trigger
from gitplacer.relocation.triggers.pendingpods import waiting_too_long
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import Consent, consent_to

Question = Callable[[Snapshot, RecordCluster, str, str], Seen | None]
"""What is asked of the snapshot of a record's entry, about a group and its unit."""
Triggers = Mapping[str, Finding]
"""For each cluster that a group should leave, why."""

_LONGEST_BACKOFF = timedelta(days=1)


class Departures:
    """What leaves, in one round. `moves` are the relocations that go on."""

    def __init__(
        self, shared: Pass, placements: Placements, moves: Mapping[str, Move], occupancy: Occupancy, choice: Choice,
        spanning: Spanning,
    ) -> None:  # fmt: skip
        self._pass = shared
        self._snapshot = shared.snapshot
        self._placements = placements
        self._moves = moves
        self._occupancy = occupancy
        self._choice = choice
        self._spanning = spanning

    # why

    def triggers(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """For each cluster that a group is on and should leave, why."""
        found = {}
        for name in self._placements.get(group.id, ()):
            why = trigger(self._standing(group, policy, name))
            if why is not None:
                found[name] = why
        return found or self._sent(group, policy)

    def _standing(self, group: Group, policy: PlacementPolicy, name: str) -> Standing:
        cluster = self._pass.clusters.get(name)
        record = self._pass.records[group.id]
        recorded = record.id if record is not None else group.id
        stirs = (recorded, name) in self._pass.stirring
        return Standing(
            snapshot=self._snapshot,
            group=group,
            policy=policy,
            name=name,
            cluster=cluster,
            entry=self._pass.entry(group.id, name) if stirs else None,
            recorded=recorded,
            unmet=self._pass.may_not_stay(group, policy, cluster) if cluster is not None else None,
            silent_since=self._pass.silent.get(name),
            nodes_come=partial(self._nodes_come, name),
            fits_now=partial(self._fits_now, group, name),
        )

    def _nodes_come(self, name: str) -> bool:
        """Whether machines are on their way to a cluster, by its snapshot, and can be had."""
        limits = self._occupancy.books[name].nodes.catalogue.limits.values()
        exhausted = {limit.subject for limit in limits if limit.kind == LimitKind.EXHAUSTED}
        return any(limit.coming and limit.subject not in exhausted for limit in limits)

    def _fits_now(self, group: Group, name: str, roles: Counter[str]) -> bool:
        """Whether so many pods of each role of a group would find a node, beside its others and all that are promised one."""
        waiting, others = _parted(self._pass.gang_on(group.id, name), roles)
        if self._pass.overlap(group.id, name) is not None:
            others = self._pass.held_on(group.id, name)
        ledger = self._occupancy.books[name].copy()
        ledger.release(group.id)
        ledger.reserve_placed(group.id, others, finished=False, scale_up=False)
        return isinstance(ledger.fit(waiting, scale_up=False), Packing)

    def _sent(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """The cluster that a group should leave because somebody says so, and has said where to."""
        here = self._placements.get(group.id, ())
        consent, to = self._sent_to(group)
        if consent is None or not to or to in here or not here or not self._pass.recorded.get(group.id):
            return {}  # what is placed in this pass has no files yet that could move
        record = self._pass.records[group.id]
        last = record.moves[-1] if record is not None and record.moves else None
        came = [name for name in here if last is not None and name in last.to]
        returns = came if consent.approval.spec.action == "Return" else []
        worst = max(returns or here, key=lambda name: (self._pass.preference(policy, name), name))
        return {worst: Finding(code=Reason.MOVE_APPROVED, subject=consent.approval.name)}

    def sent_to(self, group: Group) -> str:
        """The cluster that an Approval sends a group to; empty where there is none."""
        return self._sent_to(group)[1]

    def _sent_to(self, group: Group) -> tuple[Consent | None, str]:
        """The Approval that sends a group somewhere, and where; None where there is none."""
        move = self._consent(group, "Move")
        if move is not None and move.approval.spec.to in self._pass.clusters:
            return move, str(move.approval.spec.to)
        record = self._pass.records[group.id]
        back = self._consent(group, "Return")
        if back is not None and record is not None and record.moves:
            there = [name for name in record.moves[-1].source if name in self._pass.clusters]
            return (back, there[0]) if len(there) == 1 else (None, "")
        return None, ""

    def _sent_on(self, group: Group, here: Sequence[str]) -> tuple[Consent | None, str]:
        """The same, where that is not done already: who is there may leave for elsewhere."""
        consent, to = self._sent_to(group)
        return (None, "") if to in here else (consent, to)

    def _consent(self, group: Group, action: str) -> Consent | None:
        record = self._pass.records[group.id]
        used = record.approvals or () if record is not None else ()
        approvals = self._snapshot.source.own.approvals
        return consent_to(approvals, group.id, action, self._snapshot.now, carried_out=used) if approvals else None  # type: ignore[arg-type]

    # whether

    def stop(self, group: Group, policy: PlacementPolicy, cluster: str, why: Finding) -> Finding | None:
        """Why a group must stay on a cluster that it should leave, or None. The subject is the reason why it should."""
        record, now, relocation = self._pass.records[group.id], self._snapshot.now, policy.spec.relocation
        mode, sent = mode_of(policy, why.code), why.code is Reason.MOVE_APPROVED
        if group.never_relocates or mode == "Never":
            return Finding(code=Reason.NEVER_RELOCATED, subject=why.code)
        if self._may_not_restart(group, policy, cluster) or cluster in self.ended(group):
            return Finding(code=Reason.MAY_HAVE_STARTED, subject=why.code)
        if sent:
            return None
        until = self._pass.backing_off.get(group.id) or (record.hold_until if record is not None else None)
        # A revert holds where the group may be; where it may not, nobody has agreed to leave it.
        reverted = why.code is Reason.NOT_ELIGIBLE and group.id in self._snapshot.reverted
        if until is not None and now < until and why.code is not Reason.CLUSTER_LOST and not reverted:
            return Finding(code=Reason.BACKING_OFF, subject=f"{why.code} {until:%Y-%m-%dT%H:%M:%SZ}")
        moved = record.moved_at if record is not None else None
        cool = moved + timedelta(seconds=relocation.cooldown) if moved is not None else None
        if why.code not in DECLARED and cool is not None and now < cool:
            return Finding(code=Reason.COOLING_DOWN, subject=f"{why.code} {cool:%Y-%m-%dT%H:%M:%SZ}")
        thaws = self._pass.thaws(why.code)
        if thaws is not None and self._consent(group, "Exceed") is None:
            return Finding(code=Reason.FROZEN, subject=f"{why.code} {thaws:%Y-%m-%dT%H:%M:%SZ}")
        if mode == "Manual" and group.id not in self._pass.agreed and self._consent(group, "Move") is None:
            return Finding(code=Reason.AWAITS_APPROVAL, subject=why.code)
        return None

    def _may_not_restart(self, group: Group, policy: PlacementPolicy, cluster: str) -> bool:
        return policy.spec.relocation.running_jobs == "Never" and self.may_have_started(group, cluster)

    def _singletons_on(self, group: Group, cluster: str) -> list[tuple[str, RecordCluster]]:
        """What must not start twice of a group, as it was put on a cluster: with the record that says so."""
        return [
            (record.id, entry)
            for member in group.singletons
            for record, _ in self._snapshot.standing.get(member.identity, ())
            for entry in record.clusters
            if entry.name == cluster
        ]

    def may_have_started(self, group: Group, cluster: str) -> bool:
        """Whether something of a group may have started on a cluster that must not start twice; where it is left to Kueue, elsewhere."""
        if group.singletons and self._pass.nominations.is_managed_on(group, cluster):
            return True
        there = self._singletons_on(group, cluster)
        return any(may_have_started(self._snapshot, entry, record, group.unit) for record, entry in there)

    def _unstarted(self, group: Group, clusters: Iterable[str]) -> dict[str, datetime]:
        """The clusters on which nothing of a group has started, by the snapshots there are, with their times."""
        found = {}
        for name in clusters:
            there = self._singletons_on(group, name)
            seen = [seen_unstarted(self._snapshot, entry, record, group.unit) for record, entry in there]
            times = [at for at in seen if at is not None]
            if times and len(times) == len(seen):
                found[name] = min(times)
        return found

    def pending(self, group: Group) -> dict[str, datetime]:
        """The clusters on which pods of a group have waited for too long, by the snapshots there are, with their times."""
        record = self._pass.records[group.id]
        if record is None or group.policy is None:
            return {}
        found = {}
        for entry in record.clusters:
            if (record.id, entry.name) in self._pass.stirring:
                seen = waiting_too_long(self._snapshot, group.policy, entry, record.id, group.unit)
                if seen is not None:
                    found[entry.name] = seen.at
        return found

    # beginning to move

    def leave(self, group: Group, policy: PlacementPolicy, triggers: Triggers) -> Decision:
        """A group that is somewhere it should not be: move it, or say why it stays."""
        before = self._placements[group.id]
        stops = {name: f for name in triggers if (f := self.stop(group, policy, name, triggers[name])) is not None}
        free = [name for name in triggers if name not in stops]
        kept = [name for name in before if name not in triggers]
        consent, to = self._sent_on(group, before) if free else (None, "")
        agreed = consent or (self._consent(group, "Move") if free and self._is_manual(policy, triggers, free) else None)
        copies = policy.spec.placement.copies
        wanted = len(self._pass.clusters) if copies == "All" else max(1, copies) - len(stops)
        chosen = self._choose(group, policy, before, free, triggers, wanted - len(kept), to)
        needed = 1 if copies == "All" else max(1, copies) - len(stops)
        droppable = min(len(free), max(0, len(kept) + len(chosen) + len(free) - needed))
        if copies == "All":
            droppable = len(free) if kept or chosen else 0
        dropped = tuple(free[:droppable])
        guard = self._pass.tally.reached(group.id, triggers[dropped[0]].code) if dropped and agreed is None else None
        if guard is not None and self._consent(group, "Exceed") is None:
            self._give_back(group, chosen)
            stops |= {name: Finding(code=Reason.GUARD_REACHED, subject=triggers[name].code) for name in dropped}
            free, chosen, dropped = [name for name in free if name not in dropped], {}, ()
        if not dropped:
            return self._stay(group, policy, triggers, stops, free, chosen)
        if chosen:
            self._pass.tally.begin(group.id, triggers[dropped[0]].code)
        decision = self._moved(group, policy, triggers, dropped, chosen, kept)
        return replace(
            decision,
            unstarted=self._unstarted(group, triggers),
            consent=agreed.identity if agreed is not None else "",
        )

    def leave_some(self, group: Group, policy: PlacementPolicy, triggers: Triggers) -> Decision:
        """
        A group that spans clusters and should leave some of them: its workers on these go to others; where its head is among
        them, all of it goes, in one commit. Workers elsewhere are not what must not start twice.
        """
        before = self._placements[group.id]
        home = self._pass.home(group.id)
        moves_home = home is None or home.name in triggers
        stops = {
            name: stop for name in triggers if (stop := self.stop(group, policy, name, triggers[name])) is not None
        }
        if not moves_home:
            stops = {name: stop for name, stop in stops.items() if stop.code is not Reason.MAY_HAVE_STARTED}
        free = [name for name in triggers if name not in stops]
        if (moves_home and stops) or not free:
            return self._stay(group, policy, triggers, stops, [], {})
        why = triggers[free[0]]
        consent, to = self._sent_on(group, before)
        agreed = consent or (self._consent(group, "Move") if self._is_manual(policy, triggers, free) else None)
        guard = self._pass.tally.reached(group.id, why.code) if agreed is None else None
        if guard is not None and self._consent(group, "Exceed") is None:
            stopped = {name: Finding(code=Reason.GUARD_REACHED, subject=why.code) for name in free}
            return self._stay(group, policy, triggers, {**stops, **stopped}, [], {})
        elsewhere = set(self._pass.clusters) - {to, *before} if to else set[str]()
        spread = (
            self._spanning.leave_all(
                group, policy, before, free, {*elsewhere, *self._occupancy.reservations.closed_to(group.id)}
            )
            if moves_home
            else self._spanning.without(group, policy, before, free, elsewhere)
        )
        if spread is None:
            refused = {to: self._choice.evaluation.verdict(group, policy, to)} if to else {}
            held = self._decision(
                group,
                policy,
                action=Action.HOLD,
                after=before,
                finding=Finding(code=Reason.NOWHERE_TO_GO, subject=why.code),
            )
            return replace(held, updated_in_place=True, refused=refused)
        action = action_of(before, spread.after)
        if action is Action.RELOCATE:
            self._pass.tally.begin(group.id, why.code)
        else:
            action = Action.UPDATE
        decision = self._decision(group, policy, action=action, after=spread.after, finding=why, reasons=spread.reasons)
        return replace(decision, consent=agreed.identity if agreed is not None else "")

    @staticmethod
    def _is_manual(policy: PlacementPolicy, triggers: Triggers, free: Iterable[str]) -> bool:
        return any(mode_of(policy, triggers[name].code) == "Manual" for name in free)

    def _choose(
        self, group: Group, policy: PlacementPolicy, before: Sequence[str], free: Sequence[str], triggers: Triggers,
        wanted: int, to: str = "",
    ) -> dict[str, Finding]:  # fmt: skip
        """
        Clusters to go to, room reserved. One that the group left lately, or where it did not become ready, is taken only if it has
        to go and there is no other, or if somebody says so.
        """
        self._choice.purse.leaving[group.id] = tuple(free)
        # What was there when the pass began and is not any more went in this pass: it does not come back in the same one.
        was = self._pass.recorded.get(group.id, ())
        exclude = {*before, *was, *self._occupancy.reservations.closed_to(group.id)}
        if to:
            return self._choice.choose(
                group, policy, exclude=exclude | (set(self._pass.clusters) - {to}), wanted=wanted
            )
        avoided = left_before(self._pass.records[group.id], self._snapshot)
        chosen = self._choice.choose(group, policy, exclude=exclude | avoided, wanted=wanted)
        if avoided and len(chosen) < wanted and any(triggers[name].code in DECLARED for name in free):
            further = exclude | chosen.keys()
            chosen |= self._choice.choose(
                group, policy, exclude=further, wanted=wanted - len(chosen), beside=tuple(chosen)
            )
        if not chosen and wanted > 0 and self._strategy(group, policy, triggers, free) is Strategy.RECREATE:
            return self._spanning.place(group, policy, exclude | avoided, scale_up=True)
        return chosen

    def _give_back(self, group: Group, chosen: Iterable[str]) -> None:
        for name in chosen:
            self._occupancy.books.release(group.id, name)
        self._spanning.forget(group, chosen)

    def _moved(
        self,
        group: Group,
        policy: PlacementPolicy,
        triggers: Triggers,
        dropped: tuple[str, ...],
        chosen: Mapping[str, Finding],
        kept: Sequence[str],
    ) -> Decision:
        """A group that gives up clusters, in one commit or in several."""
        before = self._placements[group.id]
        strategy = self._strategy(group, policy, triggers, dropped)
        targets = tuple(sorted(chosen))
        if not targets and policy.spec.placement.copies == "All" and strategy is not Strategy.RECREATE:
            targets = tuple(kept)
        if policy.spec.placement.copies == "All" and strategy is Strategy.REMOVE_FIRST and not group.singletons:
            strategy = Strategy.SURGE
        both = tuple(sorted({*before, *chosen}))
        finding = triggers[dropped[0]]
        if strategy is Strategy.RECREATE or not targets:
            for name in dropped:
                self._occupancy.books.release(group.id, name)
            after = tuple(name for name in both if name not in dropped)
            return self._decision(
                group, policy, action=action_of(before, after), after=after, finding=finding, reasons=chosen
            )
        move = Move(
            strategy=strategy, sources=tuple(sorted(dropped)), targets=targets, reason=finding.code,
            since=self._snapshot.now, adds=bool(chosen),
        )  # fmt: skip
        surge = strategy is Strategy.SURGE
        if surge and not chosen:  # the copies that stay are ready, or will be; nothing comes for it
            decision = self._decision(
                group, policy, action=Action.HOLD, after=before,
                finding=Finding(code=Reason.NOT_READY_ELSEWHERE, subject=finding.code), move=move,
            )  # fmt: skip
            return replace(decision, updated_in_place=True)
        return self._decision(
            group, policy, action=Action.RELOCATE, after=both, finding=finding, reasons=chosen, move=move,
            phase=Phase.ADD if surge else Phase.LEAVE, frozen=frozenset(dropped) if surge else frozenset(),
        )  # fmt: skip

    def _strategy(self, group: Group, policy: PlacementPolicy, triggers: Triggers, sources: Iterable[str]) -> Strategy:
        """How a group leaves. For what is lost nothing is waited for; but what must not run twice believes no silence."""
        waits = {name for name in sources if self._was_never_there(group, name)}
        if all(name in waits or self._pass.is_gone(name) for name in sources):
            return Strategy.RECREATE
        if group.singletons:
            return Strategy.REMOVE_FIRST
        if all(triggers[name].code is Reason.CLUSTER_LOST for name in sources):
            return Strategy.RECREATE
        if group.id in self._pass.nominations.left:
            return Strategy.RECREATE  # a manager never shows a copy that is ready
        wanted = Strategy(policy.spec.relocation.strategy)
        if policy.spec.placement.copies == "All" and wanted is Strategy.RECREATE:
            return Strategy.SURGE  # a copy goes only when another serves
        return wanted

    def _was_never_there(self, group: Group, name: str) -> bool:
        """Whether a group only waits for a cluster to wake, so that nothing of it is there to be waited for."""
        entry = self._pass.entry(group.id, name)
        return entry is not None and entry.state == "Waking"

    def _stay(
        self,
        group: Group,
        policy: PlacementPolicy,
        triggers: Triggers,
        stops: Mapping[str, Finding],
        free: Sequence[str],
        chosen: Mapping[str, Finding],
    ) -> Decision:
        """A group that should leave and does not, though copies may come: why not."""
        before = self._placements[group.id]
        after = tuple(sorted({*before, *chosen}))
        finding = next(iter(stops.values()), None) or triggers[free[0]]
        if chosen:
            finding = chosen[min(chosen)]
        proposed: tuple[str, ...] = ()
        refused: dict[str, Finding] = {}
        if free and not chosen:
            finding = Finding(code=Reason.NOWHERE_TO_GO, subject=triggers[free[0]].code)
            _, to = self._sent_on(group, before)
            if to:
                refused = {to: self._choice.evaluation.verdict(group, policy, to)}
        awaiting = [name for name, stop in stops.items() if stop.code is Reason.AWAITS_APPROVAL]
        if awaiting and not chosen:
            found = self._choose(group, policy, before, awaiting, triggers, len(awaiting))
            self._give_back(group, found)
            proposed = tuple(sorted(found))
        action = action_of(before, after)
        blocked = tuple(str(m.identity) for m in group.singletons) if finding.code is Reason.MAY_HAVE_STARTED else ()
        held = action is Action.KEEP
        decision = self._decision(
            group, policy, action=Action.HOLD if held else action, after=after, finding=finding, reasons=chosen
        )
        return replace(
            decision, blocked_by=blocked, updated_in_place=held, unstarted=self._unstarted(group, triggers),
            proposed=proposed, refused=refused,
        )  # fmt: skip

    def _decision(
        self, group: Group, policy: PlacementPolicy, *, action: Action, after: tuple[str, ...], finding: Finding,
        reasons: Mapping[str, Finding] | None = None, move: Move | None = None, phase: Phase | None = None,
        frozen: frozenset[str] = frozenset(),
    ) -> Decision:  # fmt: skip
        waits = action is Action.WAIT or finding.code is Reason.NOWHERE_TO_GO
        return Decision(
            group=group.id, policy=policy.name, action=action, before=self._placements.get(group.id, ()), after=after, finding=finding,
            reasons=reasons or {}, candidates=self._choice.evaluation.candidates(group, policy, after, reasons or {}, waits=waits),
            moving=self._moves.get(group.id), move=move, phase=phase, frozen=frozen,
        )  # fmt: skip

    # going on

    def proceed(self, group: Group, policy: PlacementPolicy, move: Move) -> Decision:
        """The next step of a relocation that is going on."""
        before = self._placements.get(group.id, ())
        look = self._look(group, policy, move)
        progress = proceed(move, look)
        finding = Finding(code=move.reason, subject=", ".join(move.sources))
        match progress.phase:
            case Phase.REMOVE | Phase.ARRIVE if progress.move is None:
                left = tuple(name for name in before if name not in move.sources)
                over = self._over(group, policy, move, left, progress.phase)
                # What was agreed to is done: the same consent is not to the end of the next surge, nor to that of the app.
                agreed = self._consent(group, "Remove") if _asks(policy, move) else None
                return replace(over, consent=agreed.identity if agreed is not None else "")
            case Phase.ABORT:
                self._pass.backing_off[group.id] = self._backs_off_until(group, policy, look)
                after = tuple(name for name in before if name not in look.came)
                decision = self._over(group, policy, move, after, Phase.ABORT)
                # What was edited meanwhile is judged where the group is by the next pass, as any edit.
                back = frozenset(move.sources) & frozenset(after)
                return replace(decision, hold_until=self._pass.backing_off[group.id], frozen=back)
            case Phase.ARRIVE:
                return self._look_again(group, policy, move, before, is_gone=True)
        assert progress.move is not None
        if not progress.move.targets:
            return self._look_again(group, policy, progress.move, before, is_gone=False)
        frozen = frozenset(move.sources) if move.strategy is Strategy.SURGE and look.came else frozenset[str]()
        finding = Finding(code=Reason.MOVING, subject=_doing(progress.move))
        return self._decision(
            group, policy, action=Action.KEEP, after=before, finding=finding, move=progress.move, frozen=frozen
        )

    def _over(
        self, group: Group, policy: PlacementPolicy, move: Move, after: tuple[str, ...], phase: Phase
    ) -> Decision:
        before = self._placements.get(group.id, ())
        for name in set(before) - set(after):
            self._occupancy.books.release(group.id, name)
        finding = Finding(code=move.reason, subject=", ".join(move.sources))
        if before == after:  # nothing came for it, so there is nothing to take back
            return self._decision(group, policy, action=Action.KEEP, after=after, finding=Finding(code=Reason.KEPT))
        return self._decision(group, policy, action=Action.RELOCATE, after=after, finding=finding, phase=phase)

    def _look_again(
        self, group: Group, policy: PlacementPolicy, move: Move, before: tuple[str, ...], *, is_gone: bool
    ) -> Decision:
        """A group between two clusters whose new one will not do: find another, or wait for one."""
        between = self._moves[group.id].without_files
        kept = tuple(name for name in before if name in move.sources or name not in between)
        for name in set(before) - set(kept):
            if name in self._occupancy.books:
                self._occupancy.books.release(group.id, name)
        chosen = self._choose(group, policy, before, move.sources, {n: Finding(code=move.reason) for n in move.sources},
                              len(move.sources))  # fmt: skip
        finding = Finding(code=Reason.MOVING, subject=_doing(move))
        if is_gone:
            after = tuple(sorted({*(set(kept) - set(move.sources)), *chosen}))
            if chosen:
                return self._decision(group, policy, action=Action.RELOCATE, after=after, finding=Finding(code=move.reason),
                                      reasons=chosen, phase=Phase.ARRIVE)  # fmt: skip
            decision = self._decision(
                group, policy, action=Action.WAIT, after=after, finding=Finding(code=Reason.NO_CLUSTER_FITS)
            )
            return replace(decision, waiting_since=self._snapshot.now)
        after = tuple(sorted({*kept, *chosen}))
        onward = replace(move, targets=tuple(sorted(chosen)))
        return self._decision(
            group, policy, action=Action.KEEP, after=after, finding=finding, reasons=chosen, move=onward
        )

    def _look(self, group: Group, policy: PlacementPolicy, move: Move) -> Look:
        record, relocation = self._pass.records[group.id], policy.spec.relocation
        # What comes in this pass was never seen; copies that were there before may have been.
        known = record is not None and (record.move is not None or not move.adds)
        entries = {entry.name: entry for entry in record.clusters} if record is not None and known else {}
        recorded = record.id if record is not None else group.id

        def asked(question: Question, name: str) -> Seen | None:
            return question(self._snapshot, entries[name], recorded, group.unit) if name in entries else None

        def gone(name: str) -> Seen | None:
            seen = asked(seen_gone, name)
            left = record.dispatch if record is not None else None
            if seen is None or not seen.yes or left is None or left.manager != name:
                return seen
            there = [each for each in left.nominated if not self._pass.is_gone(each)]
            return all_gone(seen, (seen_nothing(self._snapshot, each, entries[name], recorded) for each in there))

        def lost(name: str) -> bool:
            quiet = name in self._pass.silent and move.strategy is Strategy.SURGE
            return self._pass.is_gone(name) or quiet

        def takes(name: str) -> bool:
            cluster = self._pass.clusters.get(name)
            if cluster is None or cluster.spec.state in ("Lost", "Draining") or name in self._pass.silent:
                return False
            return self._pass.may_not_stay(group, policy, cluster) is None and self._snapshot.cannot_wake(name) is None

        return Look(
            now=self._snapshot.now,
            ready=partial(asked, seen_ready),
            gone=gone,
            is_lost=lost,
            takes=takes,
            came=frozenset(move.targets if move.adds else ()),
            timeout=timedelta(seconds=relocation.surge.timeout) + self._spent_waking(group, move),
            soak=timedelta(seconds=relocation.surge.soak),
            consented=not _asks(policy, move) or self._consent(group, "Remove") is not None,
            is_called_off=move.reason in DECLARED and not self._still(group, policy, move),
        )

    def _spent_waking(self, group: Group, move: Move) -> timedelta:
        """How long a relocation has waited for its clusters to wake: that is no time in which a copy could become ready."""
        if not all(map(self._snapshot.is_there, move.targets)):
            return self._snapshot.now - move.since
        came = [entry.since for name in move.targets if (entry := self._pass.entry(group.id, name)) is not None]
        return max([timedelta(0), *(at - move.since for at in came)])

    def _still(self, group: Group, policy: PlacementPolicy, move: Move) -> bool:
        """Whether a reason to leave that somebody has written down still stands."""
        return any(trigger(self._standing(group, policy, name)) is not None for name in move.sources)

    def _backs_off_until(self, group: Group, policy: PlacementPolicy, look: Look) -> datetime:
        """After each relocation that is taken back within a day the pause is twice as long."""
        times = sum(moved.aborted is True for moved in recent(self._pass.records[group.id], self._snapshot))
        pause = max(look.timeout, timedelta(seconds=policy.spec.relocation.cooldown), timedelta(minutes=1)) * 2**times
        return look.now + (timedelta(0) if look.is_called_off else min(pause, _LONGEST_BACKOFF))

    # moving for the better

    def prefer(self, group: Group, policy: PlacementPolicy) -> Decision | None:
        """A group that a cluster has room for which its policy likes better than the one it is on; None if it stays."""
        if policy.spec.relocation.when.preferred_available == "Never" or len(self._placements[group.id]) != 1:
            return None
        if self._consent(group, "Return") is not None:
            return None  # it would be sent back at once
        here = self._placements[group.id][0]
        why = Finding(code=Reason.PREFERRED_AVAILABLE, subject=here)
        stop = self.stop(group, policy, here, why)
        if here not in self._pass.clusters or (stop is not None and stop.code is not Reason.AWAITS_APPROVAL):
            return None
        worse = {
            n for n in self._pass.clusters if self._pass.preference(policy, n) >= self._pass.preference(policy, here)
        }
        avoided = {
            *worse,
            *self._occupancy.reservations.closed_to(group.id),
            *left_before(self._pass.records[group.id], self._snapshot),
        }
        chosen = self._choice.choose(group, policy, exclude=avoided, wanted=1)
        there = next(iter(chosen), None)
        if there is None or chosen[there].code not in (Reason.FITS, Reason.TIGHT_FIT):
            self._give_back(group, chosen)
            return None
        guard = self._pass.tally.reached(group.id, why.code)
        if stop is not None or (guard is not None and self._consent(group, "Exceed") is None):
            self._give_back(group, chosen)
            if stop is None:
                return None
            decision = self._decision(group, policy, action=Action.HOLD, after=(here,), finding=stop)
            return replace(decision, updated_in_place=True, proposed=(there,))
        self._pass.tally.begin(group.id, why.code)
        manual = self._consent(group, "Move") if mode_of(policy, why.code) == "Manual" else None
        decision = self._moved(group, policy, {here: why}, (here,), chosen, ())
        return replace(decision, consent=manual.identity if manual is not None else "")

    # the end

    def ended(self, group: Group) -> dict[str, datetime]:
        """
        The clusters on which a group has run to its end, with the time of the first snapshot that showed it. One that no longer shows
        the group at all does not contradict it; one that shows it running does.
        """
        record = self._pass.records[group.id]
        if record is None or not _finishes(group):
            return {}
        found = {}
        for entry in _with_the_job(record):
            stirs = (record.id, entry.name) in self._pass.stirring
            seen = seen_ended(self._snapshot, entry, record.id, group.unit) if stirs else None
            capacity = self._snapshot.capacity.get(entry.name)
            shown = capacity is not None and running(capacity, record.id) is not None
            if seen is not None:
                found[entry.name] = entry.ended_at or seen[0]
            elif entry.ended_at is not None and not shown:
                found[entry.name] = entry.ended_at
        return found

    def finished(self, group: Group) -> Ending | None:
        """
        How a group has ended for good: as the record says, or as two snapshots of each of its clusters show; one, of a cluster that
        is gone.
        """
        record = self._pass.records[group.id]
        if record is None or not _finishes(group):
            return None
        if record.finished is not None:
            return Ending(record.finished.phase, record.finished.at)
        entries = _with_the_job(record)
        if not entries or record.move is not None:
            return None
        phase, ended = "", self.ended(group)
        for entry in entries:
            if entry.name in ended and self._pass.is_gone(entry.name):  # no second snapshot will ever come
                capacity = self._snapshot.capacity.get(entry.name)
            else:
                capacity = testimony(self._snapshot, entry, group.unit)
                if capacity is None or entry.ended_at is None or capacity.observed_at <= entry.ended_at:
                    return None
            there = running(capacity, record.id) if capacity is not None else None
            if there is not None and there.phase not in ("Succeeded", "Failed"):
                return None
            phase = there.phase if there is not None else phase
        return Ending(phase or "Succeeded", min(ended[entry.name] for entry in entries))

    def rest(self, group: Group, policy: PlacementPolicy, ending: Ending) -> Decision:
        """A group that has run to its end stays where it is or, where nobody wants it any more, leaves its files' cluster."""
        before = self._placements.get(group.id, ())
        leaves = policy.spec.relocation.finished_jobs == "Remove"
        roles = self._pass.roles_of(group.id, before)
        remote = [name for name in before if roles.get(name) == "Remote"]
        gone = [
            name
            for name in before
            if leaves or name in remote or trigger(self._standing(group, policy, name)) is not None
        ]
        after = tuple(name for name in before if name not in gone)
        decision = self._decision(
            group,
            policy,
            action=Action.UPDATE if after and set(gone) & set(remote) else action_of(before, after),
            after=after,
            finding=Finding(code=Reason.FINISHED, subject=ending.phase),
        )
        return replace(decision, finished=ending)


def action_of(before: Sequence[str], after: Sequence[str]) -> Action:
    """What going from some clusters to others is."""
    added, dropped = set(after) - set(before), set(before) - set(after)
    if added and dropped:
        return Action.RELOCATE
    if added:
        return Action.PLACE
    return Action.REMOVE if dropped else Action.KEEP


def _finishes(group: Group) -> bool:
    """Whether a group runs to its end: all that has pods does."""
    return bool(group.sized) and all(member.facts.finishes for member in group.sized)


def _with_the_job(record: PlacementRecord) -> list[RecordCluster]:
    """The clusters that have the job itself, and not only workers of it."""
    return [entry for entry in record.clusters if entry.role != "Remote"]


def _doing(move: Move) -> str:
    """What a relocation waits for: `<strategy> <from> <to>`, names with commas between."""
    return f"{move.strategy}; {','.join(move.sources)}; {','.join(move.targets)}"


def _asks(policy: PlacementPolicy, move: Move) -> bool:
    """Whether the old copy of a surge goes only with consent."""
    return move.strategy is Strategy.SURGE and policy.spec.relocation.surge.approval == "Required"


def _parted(gang: Gang, roles: Counter[str]) -> tuple[Gang, Gang]:
    """So many pods of each role of a gang, and the others."""
    left = Counter(roles)
    some, others = [], []
    for pods in gang:
        count = min(pods.count, left[pods.role])
        left[pods.role] -= count
        if count:
            some.append(replace(pods, count=count))
        if pods.count > count:
            others.append(replace(pods, count=pods.count - count))
    return tuple(some), tuple(others)
