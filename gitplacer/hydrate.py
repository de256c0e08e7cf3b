"""
The whole product as one function: inputs in, plan and commits out.

The same inputs give the same bytes: no clock, network, environment or randomness in here. What comes out is the
plan, the deployment tree after it, and the steps that lead there: each relocation is a commit of its own, which
renames a group's files from one cluster's directory to another's; everything else of a pass is one more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from msgspec import Struct, structs

from gitplacer.commits import PROPOSED, relocation_message, rest_message, whole_message
from gitplacer.explain import PlanView, called_from_afar, never_to_run, not_looked_at, parted_claims, refused_approvals
from gitplacer.inputs import Inputs as Inputs
from gitplacer.inputs import SourceCommit as SourceCommit
from gitplacer.layout.foreignroot import refuse_foreign_root
from gitplacer.layout.layout import Layout
from gitplacer.madefrom import hydrator_metadata, people_of, trailers_of
from gitplacer.model.bystander import Bystander
from gitplacer.model.decision import Action, Decision, Phase, Reason
from gitplacer.model.verdicts import Verdicts
from gitplacer.placement.agreement import agreed
from gitplacer.placement.books import Books
from gitplacer.placement.cloning import wish
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.onepass import NOBODY_RESTS
from gitplacer.placement.plan import Plan, plan
from gitplacer.placement.wakes import ClusterOutcome, cleared, outcomes, woken_for
from gitplacer.problems import Problem
from gitplacer.snapshot import NOBODY_STANDS_BY, Snapshot, snapshot_of
from gitplacer.source.files import Memo, NoMemo
from gitplacer.source.signers import uncounted_problem
from gitplacer.tree import Changes, Tree, differing_paths

NOBODY_WAITS: Mapping[str, str] = MappingProxyType({})


class Step(Struct, frozen=True):
    """One commit to be made: what it changes, its message, and the relocation it carries out, if it is one."""

    changes: Changes
    message: str
    relocation: Decision | None = None

    @property
    def subject(self) -> str:
        """The first line of its message."""
        return self.message.partition("\n")[0]


class Hydration(Struct, frozen=True):
    """
    What a pass comes to. No steps means that nothing changes. `proposals` are commits that somebody may consent to, each on top of
    the last step.
    """

    snapshot: Snapshot
    view: PlanView
    problems: tuple[Problem, ...]
    steps: tuple[Step, ...]
    tree: Tree
    proposals: tuple[Step, ...] = ()


def hydrate(
    inputs: Inputs,
    *,
    memo: Memo | None = None,
    ledgers: LedgerCache | None = None,
    with_candidates: Verdicts | bool = True,
    resting: Mapping[str, Decision] = NOBODY_RESTS,
    waiting: Mapping[str, str] = NOBODY_WAITS,
    bystanders: Mapping[str, Mapping[str, Bystander]] = NOBODY_STANDS_BY,
    once_read: Callable[[Snapshot], object] | None = None,
) -> Hydration:
    """
    Plan and render one pass.

    `memo` and `ledgers` only save work. `with_candidates` says of which groups every cluster's verdict is kept: True of every one, False of
    none; no decision depends on it. `resting` are groups that stay as they are, by decisions that were made before. `waiting` are groups
    that wait and of which these inputs know nothing, by id, with what commits say of them, and `bystanders`, by cluster and id, those that stay
    there, with what they hold. `once_read` is called with what was read before anything is planned, and may raise what makes a plan pointless.

    Raises Rejected, with every problem found, if the source has no readable Fleet or a Cluster cannot be read, or
    if the deployment repo's root holds somebody else's files.
    """
    known = _Known(memo or NoMemo(), ledgers or LedgerCache(), resting, bystanders, once_read)
    layout, planned, decisions, sleepers = _settled(inputs, known, with_candidates)
    snapshot = layout.snapshot
    metadata = hydrator_metadata(inputs.commit) if inputs.commit else None
    moves, rest = _carried_out(layout, decisions, sleepers, resting, metadata)
    final = tuple(told_apart(decision, layout.updated) for decision in decisions)
    problems = _problems(inputs, layout, planned, final)
    tree = layout.tree()
    view = PlanView(
        snapshot=replace(snapshot, problems=problems),
        plan=replace(planned, decisions=final),
        source_commit=inputs.commit.id if inputs.commit else None,
        capacity_tree=inputs.capacity_id,
        deployment_commit=inputs.deployment_commit,
        version=inputs.version,
        changed_files=_changed_files(snapshot, inputs.deployment, tree),
        tree=tree,
        edits=layout.edits,
        sleepers=tuple(sleepers.values()),
    )
    steps = _steps(inputs, view, moves, rest, layout.started, waiting)
    return Hydration(snapshot, view, problems, steps, tree, _proposals(inputs, view, layout, metadata, known))


def _carried_out(
    layout: Layout,
    decisions: Sequence[Decision],
    sleepers: Mapping[str, ClusterOutcome],
    resting: Mapping[str, Decision],
    metadata: bytes | None,
) -> tuple[list[tuple[Decision, Changes]], Changes]:
    """Write what was decided: each relocation with the changes that it makes, and those of everything else together."""
    moves = []
    for decision in decisions:
        if decision.action is Action.RELOCATE:
            layout.apply(decision)
            layout.announce(decision.group)
            for name in woken_for(sleepers, decision):
                layout.keep_cluster(sleepers[name])  # called and inhabited in one commit
            moves.append((decision, layout.take_changes(metadata)))
    for decision in sorted(decisions, key=layout.rank):
        if decision.action is not Action.RELOCATE and decision.group not in resting:
            layout.apply(decision)
    layout.ensure_units()
    layout.ensure_charts()
    for outcome in sleepers.values():
        layout.keep_cluster(outcome)
    layout.leave_clusters()
    layout.announce_all()
    layout.tell_managers()
    layout.remember_removals(decisions)
    return moves, layout.take_changes(metadata)


def _problems(inputs: Inputs, layout: Layout, planned: Plan, final: Sequence[Decision]) -> tuple[Problem, ...]:
    """All that there is to tell somebody of: what was read, what was planned, and what was written."""
    snapshot = layout.snapshot
    found = {
        *snapshot.problems,
        *layout.problems,
        *refused_approvals(final, snapshot),
        *never_to_run(planned.stranded, snapshot),
        *not_looked_at(planned.uncounted),
        *called_from_afar(planned.apart),
        *parted_claims(planned.parted),
        *_uncounted(inputs, snapshot),
    }
    return tuple(sorted(found))


def decisions_on(inputs: Inputs, *, memo: Memo | None = None, ledgers: LedgerCache | None = None) -> Sequence[Decision]:
    """
    What becomes of every group by `hydrate`, for whoever asks nothing else: nothing is rendered, so a group of which only the files tell that it is updated
    is told to be kept. Raises Rejected as that does.
    """
    return _settled(inputs, _Known(memo or NoMemo(), ledgers or LedgerCache()), False)[2]


def _settled(
    inputs: Inputs, known: _Known, with_candidates: Verdicts | bool
) -> tuple[Layout, Plan, Sequence[Decision], Mapping[str, ClusterOutcome]]:
    """A layout to which nothing was applied yet, the plan, what is carried out of it, and what becomes of clusters that may sleep, by name."""
    layout, planned, clones = _planned(inputs, known, with_candidates)
    snapshot = layout.snapshot
    wanted = _wanted_awake(inputs, known, clones, snapshot, planned.decisions)
    sleepers = {outcome.cluster: outcome for outcome in outcomes(snapshot, planned.decisions, wanted)}
    return layout, planned, tuple(cleared(snapshot, planned.decisions, sleepers.values())), sleepers


def _uncounted(inputs: Inputs, snapshot: Snapshot) -> list[Problem]:
    own = snapshot.source.own
    place = own.places[f"Fleet/{own.fleet.metadata.name}"]
    return [uncounted_problem(inputs.uncounted, place)] if inputs.uncounted is not None else []


class _Known(Struct, frozen=True):
    """What saves work, of this pass and of those before: files that were read, ledgers that were opened, and groups that nobody has to decide on, or to read."""

    memo: Memo
    ledgers: LedgerCache
    resting: Mapping[str, Decision] = NOBODY_RESTS
    bystanders: Mapping[str, Mapping[str, Bystander]] = NOBODY_STANDS_BY
    once_read: Callable[[Snapshot], object] | None = None


def _planned(inputs: Inputs, known: _Known, with_candidates: Verdicts | bool) -> tuple[Layout, Plan, Mapping[str, str]]:
    """The plan, with the clusters that are made for groups which find no other. Each is kept only if its group goes there."""
    clones: dict[str, str] = {}
    layout, planned = _planned_with(inputs, known, with_candidates, clones)
    tried: set[str] = set()
    while (wanted := wish(layout.snapshot, planned.decisions, tried)) is not None:
        more = {**clones, wanted.name: wanted.model}
        other_layout, other = _planned_with(inputs, known, with_candidates, more)
        if any(d.group == wanted.group and wanted.name in d.after for d in other.decisions):
            layout, planned, clones = other_layout, other, more
        else:
            tried.add(wanted.group)
    return layout, planned, clones


def _wanted_awake(
    inputs: Inputs, known: _Known, clones: Mapping[str, str], snapshot: Snapshot, decisions: Sequence[Decision]
) -> frozenset[str]:
    """
    The clusters that would be put to sleep now and called again by the next pass. One that is awake counts with the nodes it shows, and
    one that sleeps with those it is to have: who waits for a node that has not come would let it sleep and call it for ever.
    """
    tired = {found.cluster for found in outcomes(snapshot, decisions) if found.sleeps}
    if not tired or all(decision.action is not Action.WAIT for decision in decisions):
        return frozenset()
    layout, later = _planned_with(inputs, known, False, clones, asleep=tired)
    called = {found.cluster for found in outcomes(layout.snapshot, later.decisions) if found.after.state == "Waking"}
    return frozenset(called & tired)


def _planned_with(
    inputs: Inputs,
    known: _Known,
    with_candidates: Verdicts | bool,
    clones: Mapping[str, str],
    *,
    asleep: Collection[str] = (),
) -> tuple[Layout, Plan]:
    """The plan of a fleet in which some clusters are new, and some have just been put to sleep."""
    snapshot = snapshot_of(inputs, known.memo, new_clones=clones, asleep=asleep, bystanders=known.bystanders)
    refuse_foreign_root(snapshot, inputs.deployment)
    if known.once_read is not None:
        known.once_read(snapshot)
    layout = Layout(snapshot, inputs.source, known.memo)
    made = partial(decided, with_candidates=with_candidates, ledgers=known.ledgers, resting=known.resting)
    planned = made(snapshot, layout)
    consented = agreed(snapshot, planned.decisions)
    if consented is None:
        return layout, planned
    layout = Layout(consented, inputs.source, known.memo)
    return layout, made(consented, layout)


def decided(
    snapshot: Snapshot,
    layout: Layout,
    *,
    with_candidates: Verdicts | bool = False,
    opened: Books | None = None,
    ledgers: LedgerCache | None = None,
    resting: Mapping[str, Decision] = NOBODY_RESTS,
) -> Plan:
    """
    The plan, made again for as long as rendering stops something in it: a group that cannot go where it was to go
    keeps its room, and others must not have been given it. `opened`, `ledgers` and `resting` are as for `plan`.
    """
    stopped: dict[str, Decision] = {}
    layout.foresee()
    while True:
        also_held = {group_id: decision.finding for group_id, decision in stopped.items()}
        planned = plan(
            snapshot,
            with_candidates=with_candidates,
            also_held=also_held,
            edits=layout.edits,
            opened=opened,
            ledgers=ledgers,
            resting=resting,
        )
        tested = layout.feasible(planned.decisions)
        more = {new.group: new for new, old in zip(tested, planned.decisions, strict=True) if new is not old}
        if not more.keys() - stopped.keys():
            told = (
                structs.replace(d, blocked_by=stopped[d.group].blocked_by) if d.group in stopped else d for d in tested
            )
            return replace(planned, decisions=tuple(told))
        stopped |= more


_ASKED = "Its policy lets it move only with consent. Merging this is consent. It goes away when the move is not proposed any more."


def _proposals(
    inputs: Inputs, view: PlanView, layout: Layout, metadata: bytes | None, known: _Known
) -> tuple[Step, ...]:
    """What would be done with consent, for each group by itself."""
    agreed = frozenset(decision.group for decision in view.plan.decisions if decision.proposed)
    if not agreed:
        return ()
    planned = plan(
        view.snapshot, with_candidates=False, edits=layout.edits, agreed=agreed, ledgers=known.ledgers
    ).decisions
    found = []
    for decision in layout.feasible([d for d in planned if d.group in agreed and d.action is Action.RELOCATE]):
        if decision.action is Action.RELOCATE:
            trial = layout.fork()
            trial.apply(decision)
            changes = trial.take_changes(metadata)
            subject, body, own = relocation_message(decision, view)
            lines = [*trailers_of(inputs).lines(1, 1), *own, f"{PROPOSED}: {decision.group}"]
            found.append(Step(changes, whole_message(subject, f"{body}\n\n{_ASKED}", lines), decision))
    return tuple(found)


def told_apart(decision: Decision, updated: set[str]) -> Decision:
    """Keep or Update, and of a hold whether something is written all the same: only the files tell."""
    if decision.group not in updated:
        return decision
    if decision.action is Action.HOLD:
        return structs.replace(decision, writes=True)
    if decision.action is not Action.KEEP:
        return decision
    finding = decision.finding
    if finding.code is Reason.KEPT:
        finding = structs.replace(finding, code=Reason.UPDATED)
    return structs.replace(decision, action=Action.UPDATE, finding=finding)


def _changed_files(snapshot: Snapshot, before: Tree, after: Tree) -> dict[str, tuple[str, ...]]:
    prefix = snapshot.source.own.fleet.spec.deployment.root + "/"
    found: dict[str, list[str]] = {}
    for path in differing_paths(before, after):
        if path.startswith(prefix):
            found.setdefault(path[len(prefix) :].partition("/")[0], []).append(path)
    return {cluster: tuple(paths) for cluster, paths in sorted(found.items())}


def _steps(
    inputs: Inputs,
    view: PlanView,
    moves: list[tuple[Decision, Changes]],
    rest: Changes,
    started: set[str],
    waiting: Mapping[str, str],
) -> tuple[Step, ...]:
    total = len(moves) + bool(rest)
    trailers, people = trailers_of(inputs), people_of(inputs)
    steps = []
    for number, (decision, changes) in enumerate(moves, 1):
        subject, body, own = relocation_message(decision, view)
        whose = people if _is_of_the_source(decision) else []
        message = whole_message(subject, body, [*trailers.lines(number, total), *own, *whose])
        steps.append(Step(changes, message, decision))
    if rest:
        subject, body, own = rest_message(view.plan.decisions, view, started, waiting)
        steps.append(Step(rest, whole_message(subject, body, [*trailers.lines(total, total), *own, *people])))
    return tuple(steps)


def _is_of_the_source(decision: Decision) -> bool:
    """Whether somebody's commit can be what moves a group: not where only evidence or a better place does."""
    begins = decision.phase in (None, Phase.ADD, Phase.LEAVE)
    return begins and decision.finding.code not in (Reason.PENDING_PODS, Reason.PREFERRED_AVAILABLE)
