"""
Passes that plan a part of the fleet, because a change concerns no more (`inpart`).

In a fleet at rest of which a pass has kept the plan, an edit that takes nothing away is planned on the clusters of its groups alone: another
image, arguments, more pods of the shapes that are there. What is published is what a whole pass would publish. Behind it the part is planned once more: if
nothing is left to do, the fleet is at rest again, and its plan is kept for the next edit.

New apps, other edits, and what becomes of clusters that are given another state, such as that one is lost, are planned beside all who stay. That is carried
out as a whole pass is, and the next one is whole.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from gitplacer.explain import standing
from gitplacer.hydrate import Hydration
from gitplacer.inpart import Footing, InPart, planned_beside, planned_in_part, settled, step_of
from gitplacer.model.horizon import Horizon
from gitplacer.model.verdicts import OUTGROWN
from gitplacer.passes.basekeys import base_key, place_of
from gitplacer.passes.baselines import Kept, keep, recalled
from gitplacer.passes.opening import Work
from gitplacer.passes.quiet import Quiet, earlier
from gitplacer.passes.seats import ledgers_beside
from gitplacer.passes.touching import AtRest, Touch, changed_since, keep_rest
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.source.files import Memo


def planned_partly(
    memo: Memo, work: Work, folder: str, rest: AtRest, *, ledgers: LedgerCache | None = None
) -> Touch | Hydration | None:
    """
    What a pass comes to, where a part of the fleet tells: the commit of an edit, or what is planned beside all who stay. None where the whole has to be
    planned.
    """
    inputs, repository = work.inputs, work.source.repository
    assert inputs.commit is not None and repository is not None
    change = changed_since(rest, work, folder)
    if change.that_counts(inputs.source, ()).texts_before(inputs.source) is None:
        return None
    place = place_of(work.deployment, folder)
    key = base_key(inputs, repository.tree_id(rest.source, folder))
    kept = recalled(memo, key, inputs.now, place) if key is not None else None
    if kept is None or kept.footing is None:
        return None
    base, known = replace(kept.plan, tree=inputs.deployment), ledgers or ledgers_beside(memo, place)
    found = planned_in_part(
        inputs, change, base, kept.footing, memo=memo, ledgers=known, with_candidates=False, shown=False
    )  # as a pass asks
    step = step_of(found, base) if found is not None else None
    if found is None:
        made = planned_beside(inputs, change, base, kept.footing, memo=memo, ledgers=known)
        # Where nothing happens the fleet is at rest, and the pass that finds it so has to know of everybody.
        return made if made is not None and made.steps else None
    if step is None:
        return None
    said = Quiet(inputs.now, None, found.hydration.problems, standing(found.hydration.view.plan))
    landed = partial(_landed, memo, work, folder, rest, kept, kept.footing, found, known)
    return Touch(step.changes, step.message, said, inputs.commit.id, landed)


def _landed(
    memo: Memo, work: Work, folder: str, rest: AtRest, kept: Kept, footing: Footing, found: InPart, ledgers: LedgerCache, tip: str,
) -> None:  # fmt: skip
    """Know the fleet to be at rest on what was published, if it is."""
    horizon, commit, repository = Horizon(work.inputs.now), work.inputs.commit, work.source.repository
    assert commit is not None and repository is not None
    asked = OUTGROWN if kept.knows_outgrown else False
    then = settled(found, tip, kept.plan, footing, now=horizon.now, memo=memo, ledgers=ledgers, with_candidates=asked)
    if then is None or horizon.lost:
        return
    since = horizon.instant
    until = earlier(horizon.until, earlier(kept.until, rest.quiet.until))
    said = Quiet(since, until, then.base.problems, standing(found.hydration.view.plan))
    files = {path for group in found.part.groups for path in footing.files[group]}
    keep_rest(memo, work, folder, tip, AtRest(said, commit.id, rest.files, rest.edited | files))
    inputs = replace(work.inputs, deployment_commit=tip)
    known = replace(kept, since=since, until=until, plan=then.base, footing=then.footing)
    keep(memo, inputs, repository.tree_id(commit.id, folder), place_of(work.deployment, folder), known)
