"""
A plan as a reviewer wants it: all that is told of it, as values.

Given is the plan of the revision under review and, if there is a base, the plan of that: made from the same capacity, the same
deployment repo and the same time, so that what differs is the work of the change alone. Nothing here is prose, and nothing is
computed before somebody asks: a plan that changes nothing costs nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.comparison import Baseline, Because, Comparison, Difference, compare
from gitplacer.explain import PlanView, changes_nothing, cluster_change
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.model.remedy import Remedy
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.problems import Location, Problem
from gitplacer.review.check import Check, Concern, concerns, state
from gitplacer.review.clusters import ClusterChange, cluster_changes
from gitplacer.review.connections import Reconnection, reconnections
from gitplacer.review.diffs import FileDiff, file_diffs
from gitplacer.review.downtime import downtime
from gitplacer.review.prospects import Outlook, Prospect, outlooks
from gitplacer.review.redaction import redacted_decision, redacted_view
from gitplacer.review.room import Level, Rooms, levels
from gitplacer.review.rows import Row, is_told, manifest_of
from gitplacer.review.spending import BudgetUse, Costs, budget_uses
from gitplacer.tree import differing_paths

_PUBLIC_OUTLOOKS = (Prospect.BEHIND, Prospect.SNAPSHOT_EXPIRES, Prospect.SNAPSHOT_OLD)
"""What may be told to those who may not read the fleet: clusters and times."""


class Base(Struct, frozen=True, kw_only=True):
    """
    What a change is held against. `name` is how it was called and `commit` what that is; `plan` is its plan, None where there can
    be none: then everything is the work of the change. `lacks` counts its commits that the change does not have, None if nobody
    knows: what they did looks as if the change took it back.
    """

    name: str
    commit: str
    plan: Baseline | None
    lacks: int | None = None


class Displacement(Struct, frozen=True, kw_only=True):
    """A group that makes room, and for whom."""

    group: str
    by: tuple[str, ...]


class Review:
    """
    A plan, told to a reviewer. `redact`: only what a stranger may read: no node, amount, price or group of others. It needs a base,
    which alone tells whose groups are whose. `seek` is asked what would place groups that wait: of those that it is given, the
    first ones. `ledgers` are those that the plan was made with, and save opening them again.
    """

    def __init__(
        self, view: PlanView, base: Base | None = None, *, redact: bool = False,
        seek: Callable[[Sequence[str]], Mapping[str, Remedy]] | None = None, ledgers: LedgerCache | None = None,
    ) -> None:  # fmt: skip
        if redact and base is None:
            raise ValueError("without a base nobody knows which groups are those of the change")
        self._whole = view
        self.base = base
        self.is_redacted = redact
        self._seek = seek
        self._ledgers = ledgers
        self._made: dict[str, Row] = {}

    # what happens

    @cached_property
    def view(self) -> PlanView:
        """The plan; redacted, that of the change's own groups."""
        if not self.is_redacted:
            return self._whole
        kept = [d for d in self._whole.plan.decisions if self.because(d.group) is Because.CHANGE]
        shown = {decision.group for decision in kept}
        return redacted_view(self._whole, (redacted_decision(d, shown) for d in kept), self.problems)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The plan held against that of the base; None without one."""
        if self.base is None:
            return None
        if self.base.plan is None:
            return Comparison({d.group: Difference(d.group, None, d) for d in self._whole.plan.decisions})
        return compare(self.base.plan, self._whole)

    def because(self, group: str) -> Because | None:
        """Why something happens to a group; None where there is no telling."""
        return self.comparison.because(group) if self.comparison is not None else None

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The groups of which something is told, by id."""
        told = [d for d in self._whole.plan.decisions if is_told(d, self.because(d.group))]
        rows = tuple(self._row(decision) for decision in told)
        if not self.is_redacted:
            return rows
        ours = [row for row in rows if row.is_ours]
        shown = {decision.group for decision in self.view.plan.decisions}
        return tuple(
            replace(
                row, decision=redacted_decision(row.decision, shown), headroom=None, cost=None,
                without=redacted_decision(row.without, shown) if row.without is not None else None,
            )
            for row in ours
        )  # fmt: skip

    def row(self, decision: Decision) -> Row:
        """What is told of any group, also of one that stays as it is."""
        if self.is_redacted and decision.group in self._by_group:
            return self._by_group[decision.group]
        if is_told(decision, self.because(decision.group)) and not self.is_redacted:
            return self._row(decision)
        return Row(
            decision=decision, because=self.because(decision.group), downtime=downtime(decision, self._whole),
            cost=None if self.is_redacted else 0.0, manifest=manifest_of(decision, self._whole), policy=self._policy(decision),
        )  # fmt: skip

    def _policy(self, decision: Decision) -> Location | None:
        return self._whole.snapshot.source.own.places.get(f"PlacementPolicy/{decision.policy}")

    @cached_property
    def _by_group(self) -> dict[str, Row]:
        return {row.group: row for row in self.rows}

    def _row(self, decision: Decision) -> Row:
        if decision.group not in self._made:
            self._made[decision.group] = self._row_of(decision)
        return self._made[decision.group]

    def _row_of(self, decision: Decision) -> Row:
        view, difference = self._whole, self.comparison.differences.get(decision.group) if self.comparison else None
        without = difference.without if difference is not None else None
        differs = without is not None and without.after not in (decision.after, decision.before)
        return Row(
            decision=decision,
            because=self.because(decision.group),
            downtime=downtime(decision, view),
            headroom=self._rooms.headroom(decision, view),
            cost=self._costs.difference(decision),
            manifest=manifest_of(decision, view),
            policy=self._policy(decision),
            without=without if differs else None,
        )

    @cached_property
    def ours(self) -> tuple[Row, ...]:
        """What a reviewer answers for: all, where there is no base."""
        return tuple(row for row in self.rows if row.is_ours)

    @cached_property
    def anyway(self) -> tuple[Row, ...]:
        """What would happen without the change as well."""
        return tuple(row for row in self.rows if not row.is_ours)

    @cached_property
    def withdrawn(self) -> tuple[Decision, ...]:
        """What the base would have done with groups that are not there with the change."""
        found = self.comparison.differences.values() if self.comparison is not None else ()
        return tuple(d.without for d in found if d.with_it is None and d.without is not None)

    @cached_property
    def displacements(self) -> tuple[Displacement, ...]:
        """The groups that make room for others."""
        reason = Reason.PREEMPTED_BY
        return tuple(
            Displacement(group=row.group, by=tuple(row.decision.finding.subject.split(", ")))
            for row in self.rows
            if row.decision.finding.code is reason and row.decision.finding.subject
        )

    @cached_property
    def remedies(self) -> Mapping[str, Remedy]:
        """What was found to place groups that wait, by group: nodes, limits and policies, so it is not for strangers."""
        return self._sought([row.group for row in (*self.ours, *self.anyway)])

    @cached_property
    def own_remedies(self) -> Mapping[str, Remedy]:
        """The same for the groups that a reviewer answers for. They come first, so that nobody else is looked for in their stead."""
        return self._sought([row.group for row in self.ours])

    def _sought(self, groups: Sequence[str]) -> Mapping[str, Remedy]:
        return {} if self._seek is None or self.is_redacted else self._seek(groups)

    @cached_property
    def outcomes(self) -> tuple[ClusterOutcome, ...]:
        """The clusters that wake, go to sleep or have come; with a base, those that do so because of the change."""
        told = [outcome for outcome in self.view.sleepers if cluster_change(outcome)]
        if self.base is None or self.base.plan is None:
            return tuple(told)
        known = {outcome.cluster: outcome for outcome in self.base.plan.sleepers}
        return tuple(outcome for outcome in told if not _same(outcome, known.get(outcome.cluster)))

    @cached_property
    def cluster_changes(self) -> tuple[ClusterChange, ...]:
        """The clusters that the change adds, takes away or gives another state."""
        if self.base is None or self.base.plan is None:
            return ()
        found = cluster_changes(self.base.plan.states, self._whole)
        return tuple(replace(change, groups=None) for change in found) if self.is_redacted else found

    # whether it may be merged

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the inputs because of the change, or at all where there is no base."""
        found = self._whole.snapshot.problems
        if self.base is None or self.base.plan is None:
            return found
        old = Counter(_gist(problem) for problem in self.base.plan.problems)
        new = []
        for problem in found:
            if old[_gist(problem)]:
                old[_gist(problem)] -= 1
            else:
                new.append(problem)
        return tuple(new)

    @cached_property
    def told_problems(self) -> tuple[Problem, ...]:
        """The same as a reader may see them."""
        return self.view.snapshot.problems if self.is_redacted else self.problems

    @cached_property
    def older_problems(self) -> int:
        """How many more there are, which were there before. Of those a stranger learns nothing."""
        return 0 if self.is_redacted else len(self._whole.snapshot.problems) - len(self.problems)

    @cached_property
    def concerns(self) -> tuple[Concern, ...]:
        """What of the change needs a look."""
        return concerns(self.rows, self.problems, self.cluster_changes, self.reconnections)

    @cached_property
    def reconnections(self) -> tuple[Reconnection, ...]:
        """Where the change lets passes connect to; what the Fleet of a revision that is not trusted says is told as a problem."""
        if self.base is None or self.base.plan is None:
            return ()
        return tuple(reconnections(self.base.plan.fleet, self._whole.snapshot.source.own.fleet.spec))

    @cached_property
    def check(self) -> Check:
        """Whether the change may be merged without a look."""
        return state(self.concerns)

    @cached_property
    def changes_nothing(self) -> bool:
        """Whether nothing at all becomes of anything."""
        told = self.rows or self.withdrawn or self.cluster_changes or self.reconnections
        return changes_nothing(self._whole) and not told

    @cached_property
    def brings_nothing(self) -> bool:
        """Whether whatever happens would happen without the change as well."""
        if self.base is None or self.base.plan is None:
            return self.changes_nothing
        differs = differing_paths(self.base.plan.tree, self._whole.tree)
        return not (
            self.ours or self.withdrawn or self.outcomes or self.cluster_changes or self.reconnections or differs
        )

    # what is left, what it costs, what may still change

    @cached_property
    def accounts(self) -> Accounts | None:
        """What every cluster has; None for whoever may not know."""
        return None if self.is_redacted else self._accounts

    @cached_property
    def _accounts(self) -> Accounts:
        return Accounts(self._whole, self._ledgers)

    @cached_property
    def _nearby(self) -> Accounts:
        """The accounts of the clusters that groups have, come to or leave of which something is told."""
        told = [d for d in self._whole.plan.decisions if is_told(d, self.because(d.group))]
        names = {name for d in told for name in (*d.before, *d.after)}
        if len(names) > len(self._whole.clusters) // 2:
            return self._accounts  # which somebody may ask for besides
        return Accounts(self._whole, self._ledgers, names)

    @cached_property
    def _rooms(self) -> Rooms:
        return Rooms(self._nearby)

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self._nearby)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """How full the clusters are that something comes to or goes from."""
        if self.is_redacted:
            return ()
        names = {name for row in self.ours for name in _touched(row.decision)}
        return levels(self._nearby, names) if names else ()

    @cached_property
    def budgets(self) -> tuple[BudgetUse, ...]:
        """The budgets of the policies that govern what is told."""
        if self.is_redacted:
            return ()
        governing = {row.decision.policy for row in self.rows}
        budgets = {p.name for p in self._whole.snapshot.source.own.policies if p.spec.budget_per_hour is not None}
        if not governing & budgets:
            return ()
        return tuple(use for use in budget_uses(self._whole, self._accounts) if use.policy in governing)

    @cached_property
    def outlooks(self) -> tuple[Outlook, ...]:
        """What could change the plan before the merge."""
        rooms = [
            row.headroom for row in self.ours if row.headroom is not None and row.decision.after != row.decision.before
        ]
        found = outlooks(self._whole, [row.decision for row in self.ours], rooms)
        if self.is_redacted:
            found = tuple(each for each in found if each.prospect in _PUBLIC_OUTLOOKS)
        behind = self.base is not None and self.base.lacks
        first = [Outlook(prospect=Prospect.BEHIND, names=(self.base.name,))] if self.base and behind else []
        for each in () if self.is_redacted else self.reconnections:
            names = (each.field, each.before, each.after)
            first.append(Outlook(prospect=Prospect.CONNECTS_ELSEWHERE, names=names))
        return (*first, *found)

    @cached_property
    def diffs(self) -> tuple[FileDiff, ...]:
        """What changes in the files of each cluster because of the change. A deployed file is not a stranger's to read."""
        if self.is_redacted:
            return ()
        before = self.base.plan if self.base is not None else None
        return file_diffs(self._whole, before.tree if before is not None else None)


def _touched(decision: Decision) -> Iterable[str]:
    """The clusters on which more or less of something is taken after the pass."""
    grows = decision.action in (Action.UPDATE, Action.EXTEND)
    return set(decision.before) ^ set(decision.after) or (decision.after if grows else ())


def _gist(problem: Problem) -> tuple[str, str, str, str]:
    """A problem apart from its line: that of one further down moves with every edit."""
    return problem.location.file, problem.code, problem.message, problem.severity


def _same(outcome: ClusterOutcome, other: ClusterOutcome | None) -> bool:
    return other is not None and (outcome.before, outcome.after, outcome.groups) == (
        other.before,
        other.after,
        other.groups,
    )
