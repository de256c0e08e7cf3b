"""
What suppositions are compared with: the fleet after the pass that is due, with nothing else going on.

A fleet is seldom at rest: something was just pushed, and waits for the next pass. Whoever asks "what if we lose this cluster" asks
it of the fleet as it will be then. So the pass is made first, and a supposition is planned on its outcome; what the two have in
common is nobody's fate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from msgspec import Struct, structs

from gitplacer.accounts import Accounts
from gitplacer.explain import NEAREST_CANDIDATES, PlanView, shortlist, verdict_text, why
from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.grouping import Group
from gitplacer.hydrate import Hydration, Inputs, decided, hydrate
from gitplacer.kinds.fleet import EvacuationGuard, Guards, MoveGuard
from gitplacer.kinds.record import PlacementRecord
from gitplacer.layout.layout import Layout
from gitplacer.model.decision import Action, Decision, Reason, Verdict
from gitplacer.model.fates import Fate, GroupFate, Left, Supposed
from gitplacer.model.resources import NOTHING
from gitplacer.model.verdicts import Verdicts, verdicts_of
from gitplacer.placement.updating import no_edits
from gitplacer.plaintext import printable
from gitplacer.problems import Problem, Severity
from gitplacer.snapshot import Snapshot, snapshot_of
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM
from gitplacer.tree import Tree
from gitplacer.whatif.suppositions import Supposition

OUT_OF_SERVICE = ("Lost", "Draining")
"""States of clusters that their groups leave."""
_HELD_BACK = frozenset({Reason.GUARD_REACHED, Reason.FROZEN})
"""Why a group does not leave yet, though it will."""
_LOSERS = frozenset({Fate.STRANDED, Fate.LESS, Fate.WAITS})
"""Of whom is told which clusters do not take them."""
_AS_CHANGED = {
    Reason.OUTGROWN: Fate.LESS,
    Reason.UPGRADE_DOES_NOT_FIT: Fate.LESS,
    Reason.UPDATE_HELD: Fate.HELD,
}
"""What becomes of a group that stays, where not all its pods find room."""
_ENDED = frozenset({Reason.FINISHED, Reason.JOINS_FINISHED})


class Ground(Struct, frozen=True, dict=True):
    """
    What was asked about (`asked`), the pass that is due (`due`), the inputs after it, and what is read of these. `memo` only
    saves work.
    """

    asked: Inputs
    due: Hydration
    inputs: Inputs
    snapshot: Snapshot
    memo: Memo

    @staticmethod
    def of(inputs: Inputs, memo: Memo) -> Ground:
        """Make the pass that is due. Raises Rejected as `hydrate` does."""
        due = hydrate(inputs, memo=memo, with_candidates=False)
        after = structs.replace(inputs, deployment=due.tree) if due.steps else inputs
        return Ground(inputs, due, after, due.snapshot if not due.steps else snapshot_of(after, memo), memo)

    def to_send(self) -> Ground:
        """The same for other processes, which need not plan the pass that is due again; `asked` and `memo` must be in memory."""
        view = structs.replace(self.due.view, edits=no_edits, tree=Tree())
        due = structs.replace(self.due, view=view, steps=(), proposals=(), tree=Tree())
        return Ground(self.asked, due, self.inputs, self.snapshot, self.memo)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong without a supposition: what the pass that is due tells of, and what it brings about."""
        return (*self.due.problems, *self.snapshot.problems)

    @cached_property
    def decisions(self) -> Mapping[str, Decision]:
        """What the pass that is due does with each group."""
        return {decision.group: decision for decision in self.due.view.plan.decisions}

    @cached_property
    def _waiting(self) -> frozenset[str]:
        return frozenset(group for group, d in self.decisions.items() if d.action is Action.WAIT)

    def wait_anyway(self, view: PlanView, told: Collection[GroupFate], *, left_out: Collection[str] = ()) -> int:
        """How many groups wait without a supposition and in its plan, and are not told of; those that were left out of it wait on."""
        wait = {decision.group for decision in view.plan.decisions if decision.action is Action.WAIT}
        return len((self._waiting & wait.union(left_out)) - {fate.group for fate in told})


def suppose(
    ground: Ground, supposition: Supposition, *, with_candidates: Verdicts | bool = False, with_left: bool = True
) -> tuple[Supposed, Hydration]:
    """
    What a supposition comes to, by the whole of `hydrate`, and the plan itself; with candidates also which clusters do not take
    those who lose their place, and why; `with_left` also what is free then. Raises Unsupposable, and Rejected where the fleet
    could not be planned then.
    """
    # A group that waited, and has no place to lose, is told of only if it finds one.
    nowhere = frozenset(g for g, d in ground.decisions.items() if d.action is Action.WAIT and not d.after)
    asked = structs.replace(verdicts_of(with_candidates), but=nowhere)
    made = hydrate(supposition.applied(ground.inputs, ground.snapshot), memo=ground.memo, with_candidates=asked)
    gone = out_of_service(ground.snapshot, made.snapshot)
    view, later = unguarded(ground, made.view, gone, with_candidates=asked)
    found = tuple(fates(ground, view, gone, later))
    supposed = Supposed(
        title=supposition.title,
        clusters=gone,
        fates=found,
        waiting=ground.wait_anyway(view, found),
        left=left(view, gone) if with_left else None,
        problems=tuple(brought(ground.problems, made.problems)),
    )
    return supposed, made


def brought(before: Iterable[Problem], after: Iterable[Problem]) -> Iterator[Problem]:
    """The errors that are not there without a supposition: what cannot be read concerns no group, and is not fine for that."""
    wrong = [problem for problem in after if problem.severity is Severity.ERROR]
    known = {(p.location.file, p.code, p.message) for p in before} if wrong else set()
    return (p for p in wrong if (p.location.file, p.code, p.message) not in known)


def unguarded(
    ground: Ground, view: PlanView, gone: Iterable[str], *, with_candidates: Verdicts | bool = False
) -> tuple[PlanView, frozenset[str]]:
    """
    A plan as it would be if guards and freezes let everything go at once, and the groups that they hold back since then. Whether a
    group has room elsewhere is no question of when it may leave.
    """
    lost = frozenset(gone)
    later = frozenset(
        d.group for d in view.plan.decisions if d.finding.code in _HELD_BACK and not _held_anyway(ground, d.group, lost)
    )
    if not later:
        return view, later
    snapshot = with_guards_lifted(view.snapshot)
    layout = Layout(snapshot, snapshot.source.tree, ground.memo)
    made = decided(snapshot, layout, with_candidates=with_candidates)
    return structs.replace(view, snapshot=snapshot, plan=made), later


def _held_anyway(ground: Ground, group: str, lost: frozenset[str]) -> bool:
    """Whether guards or a freeze hold a group back whatever is supposed."""
    before = ground.decisions.get(group)
    return before is not None and before.finding.code in _HELD_BACK and not lost & set(before.after)


def with_guards_lifted(snapshot: Snapshot) -> Snapshot:
    """The same fleet without limits on how much moves."""
    fleet = snapshot.source.own.fleet
    free = Guards(
        relocations=MoveGuard(exceed="Allow"),
        evacuations=EvacuationGuard(exceed="Allow"),
        removals=fleet.spec.guards.removals,
    )
    spec = fleet.spec.model_copy(update={"guards": free})
    own = structs.replace(snapshot.source.own, fleet=fleet.model_copy(update={"spec": spec}))
    return replace(snapshot, source=structs.replace(snapshot.source, own=own))


def out_of_service(before: Snapshot, after: Snapshot) -> tuple[str, ...]:
    """The clusters that a supposition makes groups leave, sorted."""
    was, now = before.source.own.clusters, after.source.own.clusters
    gone = (n for n, c in now.items() if c.spec.state in OUT_OF_SERVICE and (n not in was or was[n].spec != c.spec))
    return tuple(sorted({*gone, *(was.keys() - now.keys())}))


def fates(ground: Ground, view: PlanView, gone: Iterable[str], later: frozenset[str]) -> Iterator[GroupFate]:
    """The groups of workloads that a plan treats otherwise than the pass that is due leaves them, by id."""
    lost = frozenset(gone)
    for decision in sorted(view.plan.decisions, key=lambda d: d.group):
        before = ground.decisions.get(decision.group)
        group = view.group(decision) or ground.snapshot.groups.get(decision.group)
        record = view.record(decision)
        if group.unit == PLATFORM if group is not None else record is not None and record.is_platform:
            continue
        fate = None if _held_anyway(ground, decision.group, lost) else _fate(before, decision, lost)
        if fate is None and decision.action is Action.HOLD and _asks_otherwise(group, ground.snapshot):
            fate = Fate.CHANGED if decision.updated_in_place else Fate.HELD
        if fate is None:
            continue
        yield GroupFate(
            group=decision.group, fate=fate, serves=_serves(group, record), policy=decision.policy,
            before=before.after if before is not None else (), after=_elsewhere(decision, lost),
            code=str(decision.finding.code), why=printable(why(decision, view), LONGEST_SENTENCE),
            later=decision.group in later,
            refused=tuple(refused_by(decision, view)) if fate in _LOSERS else (),
        )  # fmt: skip


def _asks_otherwise(group: Group | None, before: Snapshot) -> bool:
    """Whether a group has other pods than it had: one that is held anyway is concerned by that too."""
    known = before.groups.get(group.id) if group is not None else None
    return group is not None and known is not None and group.gang != known.gang


def refused_by(decision: Decision, view: PlanView) -> Iterator[tuple[str, str, str]]:
    """The clusters that do not take a group, the nearest to it first, if they were asked for: name, code and why, in words."""
    refused = [candidate for candidate in decision.candidates if candidate.verdict is Verdict.REJECTED]
    for found in shortlist(refused, NEAREST_CANDIDATES):
        yield found.cluster, str(found.finding.code), printable(verdict_text(found, decision, view), LONGEST_SENTENCE)


def _fate(before: Decision | None, now: Decision, lost: frozenset[str]) -> Fate | None:
    """What becomes of a group, None for nothing."""
    had = before.after if before is not None else ()
    if now.finding.code in _ENDED or now.finished is not None:
        return None  # it holds no room, and nothing has to become of it
    if now.action is Action.REMOVE and not now.after:
        return Fate.REMOVED if had else None
    rests = now.action in (Action.KEEP, Action.WAIT, Action.HOLD)
    hit = lost & set(had)
    if rests and not hit and now.after == had and _shape(before) == _shape(now):
        new = before is None or before.action is not now.action
        return Fate.WAITS if now.action is Action.WAIT and new else None
    elsewhere = _elsewhere(now, lost)
    if not had:
        return Fate.PLACED if elsewhere else Fate.WAITS
    if not elsewhere:
        return (
            Fate.HELD if now.action is Action.HOLD and now.finding.code is not Reason.NOWHERE_TO_GO else Fate.STRANDED
        )
    if _is_short(before, now, elsewhere, hit):
        held = now.action is Action.HOLD and now.finding.code is not Reason.NOWHERE_TO_GO and len(had) == len(hit)
        return Fate.HELD if held else Fate.LESS
    if set(elsewhere) - set(had) or hit:
        return Fate.MOVES
    return _AS_CHANGED.get(now.finding.code, Fate.CHANGED)


def _shape(decision: Decision | None) -> object:
    """How a group is divided or spread, where it is."""
    return None if decision is None else (dict(decision.counts), dict(decision.roles), decision.waiting_since is None)


def _is_short(before: Decision | None, now: Decision, elsewhere: Sequence[str], hit: Collection[str]) -> bool:
    """Whether some of what a group had finds no room: copies, shares, or a part of an app that spans clusters."""
    if now.finding.code in (Reason.COPIES_WAIT, Reason.SPREAD_WAITS, Reason.SHARES_WAIT):
        return before is None or before.finding.code is not now.finding.code or bool(hit)
    if now.counts or now.roles:
        return now.action is Action.HOLD and bool(hit)
    return before is not None and len(elsewhere) < len(set(before.after))


def _elsewhere(decision: Decision, lost: frozenset[str]) -> tuple[str, ...]:
    """Where a group has its room, apart from what is out of service."""
    return tuple(name for name in decision.after if name not in lost)


def _serves(group: Group | None, record: PlacementRecord | None) -> bool:
    if group is not None:
        return not any(member.facts.finishes for member in group.sized)
    return record is None or not any(member.kind.endswith("Job") for member in record.members)


def left(view: PlanView, gone: Iterable[str]) -> Left:
    """What is free after a plan on the clusters that take something."""
    closed = frozenset(gone)
    taking = [
        account
        for account in Accounts(view)
        if account.cluster.spec.role == "Workload" and account.cluster.spec.state == "Active"
        if account.cluster.name not in closed
    ]
    free = {account.cluster.name: account.free_after for account in taking}
    names = sorted({name for account in taking for name in account.offered})
    best = {name: max(sorted(free), key=lambda cluster: free[cluster].get(name, 0)) for name in names}
    return Left(
        total=sum(free.values(), NOTHING),
        most={name: (cluster, free[cluster].get(name, 0)) for name, cluster in best.items()},
    )
