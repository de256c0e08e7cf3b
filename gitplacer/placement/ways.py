"""
The ways out for a group that is to leave clusters: where it can go, by which strategy, and the decision that says so.

Room is reserved as soon as a cluster is chosen, so whoever finds then that the group stays after all gives it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Action, Decision, Finding, Move, Phase, Reason, Strategy
from gitplacer.placement.causes import Triggers
from gitplacer.placement.choice import Choice
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.spanning import Spanning
from gitplacer.relocation.memory import left_before
from gitplacer.relocation.triggers import DECLARED, mode_of


class Leaving(Struct, frozen=True):
    """
    A group that is to leave some of the clusters where it was `before`, and why each. `moving` is the relocation that goes on, if
    one does.
    """

    group: Group
    policy: PlacementPolicy
    before: tuple[str, ...]
    why: Triggers
    moving: Move | None = None

    @property
    def is_everywhere(self) -> bool:
        """Whether it is to have a copy on each cluster that takes it."""
        return self.policy.spec.placement.copies == "All"

    @property
    def kept(self) -> list[str]:
        """The clusters where it stays whatever becomes of the others."""
        return [name for name in self.before if name not in self.why]

    def needs_consent(self, clusters: Iterable[str]) -> bool:
        """Whether its policy lets it leave some clusters only with consent."""
        return any(mode_of(self.policy, self.why[name].code) == "Manual" for name in clusters)


class Ways:
    """Of all groups that leave, in one round."""

    def __init__(self, shared: Pass, occupancy: Occupancy, choice: Choice, spanning: Spanning) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._choice = choice
        self._spanning = spanning

    def choose(self, leaving: Leaving, free: Sequence[str], wanted: int, to: str = "") -> dict[str, Finding]:
        """
        Clusters to go to from those that it is free to leave, room reserved. One that the group left lately, or where it did not become
        ready, is taken only if it has to go and there is no other, or if somebody says so.
        """
        group, policy = leaving.group, leaving.policy
        self._choice.quotas.leaving[group.id] = tuple(free)
        # What was there when the pass began and is not any more went in this pass: it does not come back in the same one.
        was = self._pass.recorded.get(group.id, ())
        exclude = {*leaving.before, *was, *self._occupancy.reservations.closed_to(group.id)}
        if to:
            return self._choice.choose(
                group, policy, exclude=exclude | (set(self._pass.clusters) - {to}), wanted=wanted
            )
        avoided = left_before(self._pass.records[group.id], self._pass.snapshot)
        chosen = self._choice.choose(group, policy, exclude=exclude | avoided, wanted=wanted)
        if avoided and len(chosen) < wanted and any(leaving.why[name].code in DECLARED for name in free):
            further = exclude | chosen.keys()
            chosen |= self._choice.choose(
                group, policy, exclude=further, wanted=wanted - len(chosen), beside=tuple(chosen)
            )
        if not chosen and wanted > 0 and self.strategy(leaving, free) is Strategy.RECREATE:
            return self._spanning.place(group, policy, exclude | avoided, scale_up=True)
        return chosen

    def give_back(self, group: Group, chosen: Iterable[str]) -> None:
        """Take back what was reserved for a group on clusters that were chosen."""
        for name in chosen:
            self._occupancy.books.release(group.id, name)
        self._spanning.forget(group, chosen)

    def leave(self, group: Group, clusters: Iterable[str]) -> None:
        """Give others the room of a group on clusters that it leaves with this pass."""
        for name in clusters:
            self._occupancy.books.release(group.id, name)

    def strategy(self, leaving: Leaving, sources: Sequence[str]) -> Strategy:
        """How a group leaves. For what is lost nothing is waited for; but what must not run twice believes no silence."""
        group = leaving.group
        if all(self._was_never_there(group, name) or self._pass.is_gone(name) for name in sources):
            return Strategy.RECREATE
        if group.singletons:
            return Strategy.REMOVE_FIRST
        if all(leaving.why[name].code is Reason.CLUSTER_LOST for name in sources):
            return Strategy.RECREATE
        if group.id in self._pass.nominations.left:
            return Strategy.RECREATE  # a manager never shows a copy that is ready
        if leaving.is_everywhere:
            return Strategy.SURGE  # a copy goes only when another serves
        return Strategy(leaving.policy.spec.relocation.strategy)

    def _was_never_there(self, group: Group, name: str) -> bool:
        """Whether a group only waits for a cluster to wake, so that nothing of it is there to be waited for."""
        entry = self._pass.entry(group.id, name)
        return entry is not None and entry.state == "Waking"

    def refused(self, leaving: Leaving, to: str) -> dict[str, Finding]:
        """Why the cluster that a group is sent to does not take it."""
        return {to: self._choice.evaluation.verdict(leaving.group, leaving.policy, to)} if to else {}

    def decision(
        self, leaving: Leaving, *, action: Action, after: tuple[str, ...], finding: Finding,
        reasons: Mapping[str, Finding] | None = None, move: Move | None = None, phase: Phase | None = None,
        frozen: frozenset[str] = frozenset(),
    ) -> Decision:  # fmt: skip
        """A decision about a group that is to leave, with what there is to say of every cluster."""
        group, policy = leaving.group, leaving.policy
        waits = action is Action.WAIT or finding.code is Reason.NOWHERE_TO_GO
        return Decision(
            group=group.id, policy=policy.name, action=action, before=leaving.before, after=after, finding=finding,
            reasons=reasons or {}, candidates=self._choice.evaluation.candidates(group, policy, after, reasons or {}, waits=waits),
            moving=leaving.moving, move=move, phase=phase, frozen=frozen,
        )  # fmt: skip
