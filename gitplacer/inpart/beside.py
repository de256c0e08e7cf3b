"""
A plan beside all who stay: where clusters are given another state, such as that one is lost, and nothing else is changed.

Who is on these clusters may leave them, and who waits may find room. Everybody else stays where he is, and holds his room there: that is all
that the others have to know of him.
"""

from __future__ import annotations

from dataclasses import replace

from gitplacer.comparison import Baseline
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart.edits import restated_by
from gitplacer.inpart.footing import Footing
from gitplacer.inpart.part import Part, part_beside
from gitplacer.inpart.planning import OF_OTHERS, decisions_with, is_written_by, told_of_others
from gitplacer.inputs import Inputs
from gitplacer.kinds.record import RECORDS
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.plan import Plan
from gitplacer.problems import Problem, Rejected
from gitplacer.source.edited import Change
from gitplacer.source.files import Memo
from gitplacer.tree import Changes, Tree, differing_paths


def planned_beside(
    inputs: Inputs, change: Change, base: Baseline, footing: Footing, *, memo: Memo, ledgers: LedgerCache
) -> Hydration | None:
    """
    What a pass comes to on a source with a `change` that it did not have when `base` was planned from otherwise equal inputs and found nothing to do. Of
    who stays its snapshot knows no more than what he holds. None where the whole has to be planned, as where nothing happens: then the fleet is at rest, and
    it has to be known of everybody.
    """
    restated = restated_by(change, inputs.source, footing.unread, memo) if inputs.uncounted is None else {}
    part = part_beside(inputs, base, footing, restated) if restated else None
    if part is None:
        return None
    try:
        made = hydrate(part.inputs, memo=memo, ledgers=ledgers, with_candidates=False, bystanders=part.bystanders)
    except Rejected:
        return None  # which is to be told of the whole
    return _whole(inputs, made, part, base) if _tells(made, part, base) else None


def _tells(made: Hydration, part: Part, base: Baseline) -> bool:
    """Whether something happens, and to nobody else: no other is decided on, no file of one is written, and nothing is told for what others are."""
    plan = made.view.plan
    if not made.steps or made.view.sleepers or {d.group for d in plan.decisions} != part.known.keys():
        return False
    if told_of_others(made.problems, part.files) != told_of_others(base.problems, part.files):
        return False
    root = made.snapshot.source.own.fleet.spec.deployment.root
    paths = differing_paths(part.inputs.deployment, made.tree)
    return all(is_written_by(path, root, part, comes=True) for path in paths)


def _whole(inputs: Inputs, made: Hydration, part: Part, base: Baseline) -> Hydration:
    """The plan of the fleet, in which everybody else stays as he was known."""
    problems = _problems(made, part, base)
    tree = inputs.deployment.apply(
        _changes(part.inputs.deployment, made.tree)
    )  # at once: there may be a thousand steps
    snapshot = replace(made.view.snapshot, problems=problems, deployment=inputs.deployment)
    plan = Plan(decisions_with(made, base), made.view.plan.sought)
    return replace(made, view=replace(made.view, snapshot=snapshot, plan=plan, tree=tree), problems=problems, tree=tree)


def _changes(before: Tree, after: Tree) -> Changes:
    """What is other in a tree than in the one before."""
    paths = differing_paths(before, after)
    there = [path for path in paths if path in after]
    return Changes(after.read_all(there), frozenset(paths) - set(there))


def _problems(made: Hydration, part: Part, base: Baseline) -> tuple[Problem, ...]:
    """What is wrong: with clusters and groups that were planned what is told of them now, but for what others are."""
    mine = {*part.edited, *part.files, *(f"{RECORDS}/{group}.yaml" for group in part.groups)}

    def is_new(problem: Problem) -> bool:
        return problem.location.file in mine and problem.code not in OF_OTHERS

    return tuple(sorted({*(p for p in base.problems if not is_new(p)), *filter(is_new, made.problems)}))
