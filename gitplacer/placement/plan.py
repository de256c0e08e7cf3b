"""
The plan: for every group, where it goes and why.

What is placed is kept first; then what has to leave looks for another cluster, then what waits, by priority, by how
long it has waited, by name. Policies say which clusters they like; the first whose every pod fits is taken and its
room reserved. The whole is repeated on its own outcome until nothing changes, so that planning again from what was
just published changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from gitplacer.model.decision import Action, Decision, Finding
from gitplacer.placement.rounds import Pass, Round, action_of
from gitplacer.snapshot import Snapshot

_ROUNDS = 8
"""Bound on repeating the plan on its own outcome. Two is usual: one that places and one that finds nothing to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One decision for each group of the source or of the records, sorted by id."""

    decisions: tuple[Decision, ...]

    def counts(self) -> dict[Action, int]:
        """How many groups each action concerns; the counts add up to the number of groups."""
        return {action: sum(d.action is action for d in self.decisions) for action in Action}


def plan(
    snapshot: Snapshot, *, with_candidates: bool = True, also_held: Mapping[str, Finding] = MappingProxyType({})
) -> Plan:
    """
    Decide. Without candidates only the verdicts that decisions rest on are computed, which is all that rendering
    needs. `also_held` are groups that must stay as they are for reasons that planning cannot know, with those reasons.
    """
    shared = Pass(snapshot, also_held)
    before: dict[str, tuple[str, ...]] = dict(shared.recorded)
    made: dict[str, Decision] = {}
    for _ in range(_ROUNDS):
        decisions = Round(shared, before, with_candidates).decide()
        after = {d.group: d.after for d in decisions}
        for decision in decisions:
            earlier = made.get(decision.group)
            if earlier is None or decision.before != decision.after or earlier.before == earlier.after:
                made[decision.group] = decision
            elif earlier.waiting_since != decision.waiting_since:
                made[decision.group] = replace(earlier, waiting_since=decision.waiting_since)
        if all(after[group_id] == clusters for group_id, clusters in before.items() if group_id in after):
            break
        before = after
    return Plan(tuple(_since_the_start(shared, made[group_id]) for group_id in sorted(made)))


def _since_the_start(shared: Pass, decision: Decision) -> Decision:
    """A decision of some round as one about the whole pass."""
    before = shared.recorded.get(decision.group, ())
    if before == decision.before:
        return decision
    return replace(decision, before=before, action=action_of(before, decision.after))
