"""
A relocation that takes several passes, from its second step on: what is known of the last step, and the next.

Between two steps stands evidence: the new copy is ready, the old one is gone. Here it is gathered; what follows from it, the strategy says;
and that is carried out. A relocation whose target will not do any more looks for another. One that comes to nothing is taken back, and
the group backs off, for twice as long each time within a day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import RecordCluster
from gitplacer.model.decision import Action, Decision, Finding, Move, Phase, Reason, Strategy
from gitplacer.placement.causes import Causes
from gitplacer.placement.consents import Consents
from gitplacer.placement.onepass import Pass
from gitplacer.placement.ways import Leaving, Ways
from gitplacer.relocation.evidence import Seen, all_gone, seen_gone, seen_nothing, seen_ready
from gitplacer.relocation.memory import recent
from gitplacer.relocation.strategies import Look, proceed
from gitplacer.relocation.triggers import DECLARED
from gitplacer.snapshot import Snapshot

Question = Callable[[Snapshot, RecordCluster, str, str], Seen | None]
"""What is asked of the snapshot of a record's entry, about a group and its unit."""

_LONGEST_BACKOFF = timedelta(days=1)


class Crossing:
    """Of all groups that are on their way, in one round."""

    def __init__(self, shared: Pass, causes: Causes, consents: Consents, ways: Ways) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot
        self._causes = causes
        self._consents = consents
        self._ways = ways

    # what is done

    def proceed(self, leaving: Leaving, move: Move) -> Decision:
        """The next step of a relocation that is going on."""
        look = self._look(leaving.group, leaving.policy, move)
        progress = proceed(move, look)
        match progress.phase:
            case Phase.REMOVE | Phase.ARRIVE if progress.move is None:
                return self._done(leaving, move, progress.phase)
            case Phase.ABORT:
                return self._taken_back(leaving, move, look)
            case Phase.ARRIVE:
                return self._arrive_elsewhere(leaving, move)
        assert progress.move is not None
        if not progress.move.targets:
            return self._go_elsewhere(leaving, progress.move)
        frozen = frozenset(move.sources) if move.strategy is Strategy.SURGE and look.came else frozenset[str]()
        finding = Finding(code=Reason.MOVING, subject=_doing(progress.move))
        return self._ways.decision(
            leaving, action=Action.KEEP, after=leaving.before, finding=finding, move=progress.move, frozen=frozen
        )

    def _done(self, leaving: Leaving, move: Move, phase: Phase) -> Decision:
        """It is over: nothing is left of the group where it came from."""
        left = tuple(name for name in leaving.before if name not in move.sources)
        over = self._over(leaving, move, left, phase)
        # What was agreed to is done: the same consent is not to the end of the next surge, nor to that of the app.
        agreed = self._consents.to(leaving.group, "Remove") if _asks(leaving.policy, move) else None
        return replace(over, consent=agreed.identity if agreed is not None else "")

    def _taken_back(self, leaving: Leaving, move: Move, look: Look) -> Decision:
        until = self._backs_off_until(leaving.group, leaving.policy, look)
        self._pass.backing_off[leaving.group.id] = until
        after = tuple(name for name in leaving.before if name not in look.came)
        decision = self._over(leaving, move, after, Phase.ABORT)
        # What was edited meanwhile is judged where the group is by the next pass, as any edit.
        return replace(decision, hold_until=until, frozen=frozenset(move.sources) & frozenset(after))

    def _over(self, leaving: Leaving, move: Move, after: tuple[str, ...], phase: Phase) -> Decision:
        if leaving.before == after:  # nothing came for it, so there is nothing to take back
            kept = Finding(code=Reason.KEPT)
            return self._ways.decision(leaving, action=Action.KEEP, after=after, finding=kept)
        self._ways.leave(leaving.group, set(leaving.before) - set(after))
        reason = _arrival(move) if phase is Phase.ARRIVE else move.reason
        finding = Finding(code=reason, subject=", ".join(move.sources))
        return self._ways.decision(leaving, action=Action.RELOCATE, after=after, finding=finding, phase=phase)

    def _arrive_elsewhere(self, leaving: Leaving, move: Move) -> Decision:
        """The old copy is gone and its new cluster will not do: to another in this pass, or it waits as one without a place."""
        kept, chosen = self._look_again(leaving, move)
        after = tuple(sorted({*(set(kept) - set(move.sources)), *chosen}))
        if chosen:
            return self._ways.decision(
                leaving, action=Action.RELOCATE, after=after,
                finding=Finding(code=_arrival(move), subject=", ".join(move.sources)), reasons=chosen, phase=Phase.ARRIVE,
            )  # fmt: skip
        nowhere = Finding(code=Reason.NO_CLUSTER_FITS)
        decision = self._ways.decision(leaving, action=Action.WAIT, after=after, finding=nowhere)
        return replace(decision, waiting_since=self._snapshot.now)

    def _go_elsewhere(self, leaving: Leaving, move: Move) -> Decision:
        """The old copy may still be there and the new cluster will not do: room is held on another, if one has any."""
        kept, chosen = self._look_again(leaving, move)
        after = tuple(sorted({*kept, *chosen}))
        finding = Finding(code=Reason.MOVING, subject=_doing(move))
        onward = replace(move, targets=tuple(sorted(chosen)))
        return self._ways.decision(
            leaving, action=Action.KEEP, after=after, finding=finding, reasons=chosen, move=onward
        )

    def _look_again(self, leaving: Leaving, move: Move) -> tuple[tuple[str, ...], dict[str, Finding]]:
        """The clusters that a group between two keeps when the one that it was to go to will not do, and others that it could go to."""
        assert leaving.moving is not None
        between = leaving.moving.without_files
        kept = tuple(name for name in leaving.before if name in move.sources or name not in between)
        self._ways.leave(leaving.group, set(leaving.before) - set(kept))
        return kept, self._ways.choose(leaving, move.sources, len(move.sources))

    # what is known

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

        return Look(
            now=self._snapshot.now,
            ready=partial(asked, seen_ready),
            gone=gone,
            is_lost=lost,
            takes=partial(self._takes, group, policy),
            came=frozenset(move.targets if move.adds else ()),
            timeout=timedelta(seconds=relocation.surge.timeout) + self._spent_waking(group, move),
            soak=timedelta(seconds=relocation.surge.soak),
            consented=not _asks(policy, move) or self._consents.to(group, "Remove") is not None,
            is_called_off=move.reason in DECLARED and not self._causes.still_stands(group, policy, move.sources),
        )

    def _takes(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """Whether a group may still go to a cluster."""
        cluster = self._pass.clusters.get(name)
        if cluster is None or cluster.spec.state in ("Lost", "Draining") or name in self._pass.silent:
            return False
        return (
            self._pass.entrance.may_not_stay(group, policy, cluster) is None
            and self._snapshot.cannot_wake(name) is None
        )

    def _spent_waking(self, group: Group, move: Move) -> timedelta:
        """How long a relocation has waited for its clusters to wake: that is no time in which a copy could become ready."""
        if not all(map(self._snapshot.is_there, move.targets)):
            return self._snapshot.now - move.since
        came = [entry.since for name in move.targets if (entry := self._pass.entry(group.id, name)) is not None]
        return max([timedelta(0), *(at - move.since for at in came)])

    def _backs_off_until(self, group: Group, policy: PlacementPolicy, look: Look) -> datetime:
        """After each relocation that is taken back within a day the pause is twice as long."""
        times = sum(moved.aborted is True for moved in recent(self._pass.records[group.id], self._snapshot))
        pause = max(look.timeout, timedelta(seconds=policy.spec.relocation.cooldown), timedelta(minutes=1)) * 2**times
        return look.now + (timedelta(0) if look.is_called_off else min(pause, _LONGEST_BACKOFF))


def _doing(move: Move) -> str:
    """What a relocation waits for: `<strategy> <from> <to>`, names with commas between."""
    return f"{move.strategy}; {','.join(move.sources)}; {','.join(move.targets)}"


def _arrival(move: Move) -> Reason:
    """Why a group comes now: what made it leave, or that nobody can be asked any more whether it is gone."""
    return Reason.CLUSTER_LOST if move.gone_at is None else move.reason


def _asks(policy: PlacementPolicy, move: Move) -> bool:
    """Whether the old copy of a surge goes only with consent."""
    return move.strategy is Strategy.SURGE and policy.spec.relocation.surge.approval == "Required"
