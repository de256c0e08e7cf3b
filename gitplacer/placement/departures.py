"""
Groups that leave a cluster: whether they may, where to, and how far they have come.

A trigger says that a group should leave (`causes`). Its policy may say that it stays or waits for consent, its history that it has moved
too recently, a guard that too many have (`stops`); each is a reason to stay where it is, and is told. If another cluster takes it
(`ways`), it moves in one commit or, by a strategy that needs evidence between two steps, over several passes (`crossing`); then its room
is held on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Action, Decision, Ending, Finding, Move, Phase, Reason, Strategy, action_of
from gitplacer.placement.causes import Causes, Triggers
from gitplacer.placement.choice import Choice
from gitplacer.placement.consents import Consents
from gitplacer.placement.crossing import Crossing
from gitplacer.placement.occupancy import Occupancy, Placements
from gitplacer.placement.onepass import Pass
from gitplacer.placement.sightings import Sightings
from gitplacer.placement.spanning import Spanned, Spanning
from gitplacer.placement.stops import Stops
from gitplacer.placement.ways import Leaving, Ways
from gitplacer.relocation.memory import left_before
from gitplacer.source.consent import Consent


class Departures:
    """
    What leaves, in one round. `moves` are the relocations that go on; `causes` says why something should leave, `stops` why it must not,
    `consents` what somebody has agreed to, and `sightings` what has been seen of it.
    """

    def __init__(
        self, shared: Pass, placements: Placements, moves: Mapping[str, Move], occupancy: Occupancy, choice: Choice,
        spanning: Spanning,
    ) -> None:  # fmt: skip
        self._pass = shared
        self._placements = placements
        self._moves = moves
        self._occupancy = occupancy
        self._choice = choice
        self._spanning = spanning
        self.consents = Consents(shared)
        self.sightings = Sightings(shared)
        self.causes = Causes(shared, placements, occupancy, self.consents)
        self.stops = Stops(shared, self.consents, self.sightings)
        self._ways = Ways(shared, occupancy, choice, spanning)
        self._crossing = Crossing(shared, self.causes, self.consents, self._ways)

    # leaving

    def leave(self, group: Group, policy: PlacementPolicy, triggers: Triggers) -> Decision:
        """A group that is somewhere it should not be: move it, or say why it stays."""
        leaving = self._leaving(group, policy, triggers)
        stops = self._stopped(leaving)
        free = [name for name in triggers if name not in stops]
        agreed, to = self._agreed(leaving, free)
        wanted, kept = self._wanted(leaving, stops), leaving.kept
        chosen = self._ways.choose(leaving, free, wanted - len(kept), to)
        dropped = _dropped(leaving, free, len(kept) + len(chosen), wanted)
        if dropped and agreed is None and self.stops.is_guarded(group, triggers[dropped[0]].code):
            self._ways.give_back(group, chosen)
            stops |= {name: Finding(code=Reason.GUARD_REACHED, subject=triggers[name].code) for name in dropped}
            free, chosen, dropped = [name for name in free if name not in dropped], {}, ()
        if not dropped:
            return self._stay(leaving, stops, free, chosen)
        if chosen:
            self._pass.tally.begin(group.id, triggers[dropped[0]].code)
        decision = self._moved(leaving, dropped, chosen)
        return replace(
            decision,
            besides=_besides(leaving, stops, dropped, decision.finding),
            unstarted=self.sightings.unstarted(group, triggers),
            consent=agreed.identity if agreed is not None else "",
        )

    def leave_some(self, group: Group, policy: PlacementPolicy, triggers: Triggers) -> Decision:
        """
        A group that spans clusters and should leave some of them: its workers on these go to others; where its head is among
        them, all of it goes, in one commit. Workers elsewhere are not what must not start twice.
        """
        leaving = self._leaving(group, policy, triggers)
        home = self._pass.rosters.home(group.id)
        moves_home = home is None or home.name in triggers
        stops = self._stopped(leaving)
        if not moves_home:
            stops = {name: stop for name, stop in stops.items() if stop.code is not Reason.MAY_HAVE_STARTED}
        free = [name for name in triggers if name not in stops]
        if (moves_home and stops) or not free:
            return self._stay(leaving, stops, [], {})
        why = triggers[free[0]]
        agreed, to = self._agreed(leaving, free)
        if agreed is None and self.stops.is_guarded(group, why.code):
            stopped = {name: Finding(code=Reason.GUARD_REACHED, subject=why.code) for name in free}
            return self._stay(leaving, {**stops, **stopped}, [], {})
        spanned = self._spanned_anew(leaving, free, to, moves_home=moves_home)
        if spanned is None:
            nowhere = Finding(code=Reason.NOWHERE_TO_GO, subject=why.code)
            held = self._ways.decision(leaving, action=Action.HOLD, after=leaving.before, finding=nowhere)
            return replace(held, updated_in_place=True, refused=self._ways.refused(leaving, to))
        action = action_of(leaving.before, spanned.after)
        if action is Action.RELOCATE:
            self._pass.tally.begin(group.id, why.code)
        else:
            action = Action.UPDATE
        decision = self._ways.decision(
            leaving, action=action, after=spanned.after, finding=why, reasons=spanned.reasons
        )
        return replace(decision, consent=agreed.identity if agreed is not None else "")

    def prefer(self, group: Group, policy: PlacementPolicy) -> Decision | None:
        """A group that a cluster has room for which its policy likes better than the one it is on; None if it stays."""
        if policy.spec.relocation.when.preferred_available == "Never" or len(self._placements[group.id]) != 1:
            return None
        if self.consents.to(group, "Return") is not None:
            return None  # it would be sent back at once
        here = self._placements[group.id][0]
        why = Finding(code=Reason.PREFERRED_AVAILABLE, subject=here)
        stop = self.stops.stop(group, policy, here, why)
        if here not in self._pass.clusters or (stop is not None and stop.code is not Reason.AWAITS_APPROVAL):
            return None
        chosen = self._better(group, policy, here)
        if not chosen:
            return None
        leaving = self._leaving(group, policy, {here: why})
        if stop is not None:
            self._ways.give_back(group, chosen)
            held = self._ways.decision(leaving, action=Action.HOLD, after=(here,), finding=stop)
            return replace(held, updated_in_place=True, proposed=tuple(chosen))
        if self.stops.is_guarded(group, why.code):
            self._ways.give_back(group, chosen)
            return None
        self._pass.tally.begin(group.id, why.code)
        manual = self.consents.to(group, "Move") if leaving.needs_consent((here,)) else None
        return replace(self._moved(leaving, (here,), chosen), consent=manual.identity if manual is not None else "")

    def proceed(self, group: Group, policy: PlacementPolicy, move: Move) -> Decision:
        """The next step of a relocation that is going on."""
        why = {name: Finding(code=move.reason) for name in move.sources}
        return self._crossing.proceed(self._leaving(group, policy, why), move)

    def rest(self, group: Group, policy: PlacementPolicy, ending: Ending) -> Decision:
        """A group that has run to its end stays where it is or, where nobody wants it any more, leaves its files' cluster."""
        leaving = self._leaving(group, policy, {})
        before, leaves = leaving.before, policy.spec.relocation.finished_jobs == "Remove"
        roles = self._pass.roles_of(group.id, before)
        remote = {name for name in before if roles.get(name) == "Remote"}
        gone = {
            name for name in before if leaves or name in remote or self.causes.trigger(group, policy, name) is not None
        }
        after = tuple(name for name in before if name not in gone)
        action = Action.UPDATE if after and gone & remote else action_of(before, after)
        finding = Finding(code=Reason.FINISHED, subject=ending.phase)
        return replace(self._ways.decision(leaving, action=action, after=after, finding=finding), finished=ending)

    # what it takes

    def _leaving(self, group: Group, policy: PlacementPolicy, why: Triggers) -> Leaving:
        return Leaving(group, policy, self._placements.get(group.id, ()), why, self._moves.get(group.id))

    def _stopped(self, leaving: Leaving) -> dict[str, Finding]:
        """The clusters that a group must stay on, and why."""
        group, policy = leaving.group, leaving.policy
        found = ((name, self.stops.stop(group, policy, name, why)) for name, why in leaving.why.items())
        return {name: stop for name, stop in found if stop is not None}

    def _agreed(self, leaving: Leaving, free: Sequence[str]) -> tuple[Consent | None, str]:
        """The Approval by which a group leaves the clusters that it is free to, if there is one, and where it sends it, if it does."""
        if not free:
            return None, ""
        consent, to = self.consents.sending_on(leaving.group, leaving.before)
        if consent is None and leaving.needs_consent(free):
            consent = self.consents.to(leaving.group, "Move")
        return consent, to

    def _wanted(self, leaving: Leaving, stops: Collection[str]) -> int:
        """How many copies there are to be, beside those that must stay where they are."""
        copies = leaving.policy.spec.placement.copies
        return len(self._pass.clusters) if copies == "All" else max(1, copies) - len(stops)

    def _spanned_anew(self, leaving: Leaving, free: Sequence[str], to: str, *, moves_home: bool) -> Spanned | None:
        """Where a group that spans clusters would be without those that it is free to leave."""
        group, policy, before = leaving.group, leaving.policy, leaving.before
        elsewhere = set(self._pass.clusters) - {to, *before} if to else set[str]()
        if moves_home:
            closed = self._occupancy.reservations.closed_to(group.id)
            return self._spanning.leave_all(group, policy, before, free, {*elsewhere, *closed})
        return self._spanning.without(group, policy, before, free, elsewhere)

    def _better(self, group: Group, policy: PlacementPolicy, here: str) -> dict[str, Finding]:
        """A cluster that a policy likes better than the one that a group is on, with room as it is, which is reserved."""
        known, liked = self._pass.clusters, self._pass.preference(policy, here)
        worse = {name for name in known if self._pass.preference(policy, name) >= liked}
        avoided = {
            *worse,
            *self._occupancy.reservations.closed_to(group.id),
            *left_before(self._pass.records[group.id], self._pass.snapshot),
        }
        chosen = self._choice.choose(group, policy, exclude=avoided, wanted=1)
        if all(finding.code in (Reason.FITS, Reason.TIGHT_FIT) for finding in chosen.values()):
            return chosen
        self._ways.give_back(group, chosen)
        return {}

    # what becomes of it

    def _moved(self, leaving: Leaving, dropped: tuple[str, ...], chosen: Mapping[str, Finding]) -> Decision:
        """A group that gives up clusters, in one commit or in several."""
        finding = leaving.why[dropped[0]]
        strategy = self._ways.strategy(leaving, dropped)
        both = tuple(sorted({*leaving.before, *chosen}))
        targets = tuple(sorted(chosen))
        if not targets and leaving.is_everywhere and strategy is not Strategy.RECREATE:
            targets = tuple(leaving.kept)
        if strategy is Strategy.RECREATE or not targets:
            self._ways.leave(leaving.group, dropped)
            after = tuple(name for name in both if name not in dropped)
            action = action_of(leaving.before, after)
            return self._ways.decision(leaving, action=action, after=after, finding=finding, reasons=chosen)
        move = Move(
            strategy=strategy, sources=tuple(sorted(dropped)), targets=targets, reason=finding.code,
            since=self._pass.snapshot.now, adds=bool(chosen),
        )  # fmt: skip
        surge = strategy is Strategy.SURGE
        if surge and not chosen:  # the copies that stay are ready, or will be; nothing comes for it
            waits = Finding(code=Reason.NOT_READY_ELSEWHERE, subject=finding.code)
            held = self._ways.decision(leaving, action=Action.HOLD, after=leaving.before, finding=waits, move=move)
            return replace(held, updated_in_place=True)
        return self._ways.decision(
            leaving, action=Action.RELOCATE, after=both, finding=finding, reasons=chosen, move=move,
            phase=Phase.ADD if surge else Phase.LEAVE, frozen=frozenset(dropped) if surge else frozenset(),
        )  # fmt: skip

    def _stay(
        self, leaving: Leaving, stops: Mapping[str, Finding], free: Sequence[str], chosen: Mapping[str, Finding]
    ) -> Decision:
        """A group that should leave and does not, though copies may come: why not."""
        group, before = leaving.group, leaving.before
        after = tuple(sorted({*before, *chosen}))
        finding = next(iter(stops.values()), None) or leaving.why[free[0]]
        if chosen:
            finding = chosen[min(chosen)]
        refused: dict[str, Finding] = {}
        if free and not chosen:
            finding = Finding(code=Reason.NOWHERE_TO_GO, subject=leaving.why[free[0]].code)
            refused = self._ways.refused(leaving, self.consents.sending_on(group, before)[1])
        proposed = () if chosen else self._proposed(leaving, stops)
        action = action_of(before, after)
        blocked = tuple(str(m.identity) for m in group.singletons) if finding.code is Reason.MAY_HAVE_STARTED else ()
        held = action is Action.KEEP
        decision = self._ways.decision(
            leaving, action=Action.HOLD if held else action, after=after, finding=finding, reasons=chosen
        )
        return replace(
            decision, blocked_by=blocked, updated_in_place=held, unstarted=self.sightings.unstarted(group, leaving.why),
            proposed=proposed, refused=refused,
        )  # fmt: skip

    def _proposed(self, leaving: Leaving, stops: Mapping[str, Finding]) -> tuple[str, ...]:
        """Where a group would go with consent. No room is kept there."""
        awaiting = [name for name, stop in stops.items() if stop.code is Reason.AWAITS_APPROVAL]
        found = self._ways.choose(leaving, awaiting, len(awaiting)) if awaiting else {}
        self._ways.give_back(leaving.group, found)
        return tuple(sorted(found))


def _dropped(leaving: Leaving, free: Sequence[str], others: int, wanted: int) -> tuple[str, ...]:
    """
    The clusters that a group gives up: as many as leave it the copies that are wanted, with those that it has elsewhere or will have. One
    that is to be everywhere gives up all, as long as it is somewhere.
    """
    if leaving.is_everywhere:
        return tuple(free) if others else ()
    return tuple(free[: max(0, others + len(free) - wanted)])


def _besides(
    leaving: Leaving, stops: Mapping[str, Finding], dropped: Collection[str], told: Finding
) -> dict[str, Finding]:
    """
    Of each cluster that a group should leave why it does, or why it stays there, where that is not what is `told` of it all. Of those that
    it leaves nothing is said as long as it is told why it does not yet.
    """
    found = {}
    for name, why in sorted(leaving.why.items()):
        if name not in dropped:
            found[name] = stops.get(name, Finding(code=Reason.NOWHERE_TO_GO, subject=why.code))
        elif told in leaving.why.values():
            found[name] = why
    return {name: finding for name, finding in found.items() if finding != told}
