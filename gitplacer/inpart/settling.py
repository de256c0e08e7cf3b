"""
A plan in part that is carried out, and what is known of the fleet then.

What is published has to be what a whole pass would publish, its words included, and the fleet has to be at rest behind it: that is
found out by planning the part once more on what was published. Then the next edit can be planned in part as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.comparison import Baseline
from gitplacer.hydrate import Step, hydrate
from gitplacer.inpart.footing import Footing, standing_in
from gitplacer.inpart.planning import InPart, decisions_with, outgrown_beside, problems_with
from gitplacer.model.decision import Action, Finding, Reason
from gitplacer.model.verdicts import OUTGROWN, Verdicts
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.problems import Severity
from gitplacer.source.files import Memo
from gitplacer.tree import Tree

_STANDING = (Action.KEEP, Action.HOLD)
"""What becomes of groups of which a commit says nothing. Of those who wait it tells, in words that are known."""


def step_of(found: InPart, base: Baseline) -> Step | None:
    """
    The one commit that carries a plan out; None where edited groups are held, where something in their files is wrong, or where the commit of the
    whole may say more.
    """
    steps, part = found.hydration.steps, found.part
    here = {d.group: d.action for d in found.hydration.view.plan.decisions if d.group in part.groups}
    elsewhere = (d for d in base.decisions if d.group not in part.known and d.group not in part.waiting)
    if len(steps) != 1 or Action.HOLD in here.values() or any(d.action not in _STANDING for d in elsewhere):
        return None
    wrong = any(p.severity is Severity.ERROR and p.location.file in part.edited for p in found.hydration.problems)
    return steps[0] if not wrong else None


class Settled(Struct, frozen=True):
    """A fleet at rest after a plan in part was carried out: what the next change is held against, without its tree, and planned by."""

    base: Baseline
    footing: Footing


def settled(
    found: InPart,
    tip: str,
    base: Baseline,
    footing: Footing,
    *,
    now: datetime,
    memo: Memo,
    ledgers: LedgerCache,
    with_candidates: Verdicts | bool = OUTGROWN,
) -> Settled | None:
    """
    What is known once the step of a plan in part is the deployment commit `tip`; None where a pass would have more to do. `with_candidates` is what
    the base was asked.
    """
    part = found.part
    deployment = part.inputs.deployment
    for step in found.hydration.steps:
        deployment = deployment.apply(step.changes)
    inputs = replace(part.inputs, deployment=deployment, deployment_commit=tip, now=now)
    made = hydrate(
        inputs, memo=memo, ledgers=ledgers, with_candidates=with_candidates, resting=part.resting,
        bystanders=part.bystanders,
    )  # fmt: skip
    if made.steps or made.proposals or made.view.sleepers or made.view.plan.sought:
        return None
    beside = outgrown_beside(made)
    outgrown = {d.group: d for d in base.decisions if d.group in beside}
    told = {
        group: replace(d, finding=Finding(code=Reason.OUTGROWN)) for group, d in outgrown.items() if with_candidates
    }
    decisions = tuple(told.get(d.group, d) for d in decisions_with(made, base))
    known = replace(base, decisions=decisions, problems=problems_with(made, part, base), tree=Tree())
    standing = footing.standing.without({name: outgrown for d in outgrown.values() for name in d.after})
    standing = standing.changed(standing_in(made.view, ledgers), part.clusters)
    return Settled(known, replace(footing, left=_less(footing.left, found.asked), standing=standing))


def _less(left: Mapping[str, Mapping[str, int]], asked: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """What quotas leave when more is asked for."""
    return {
        name: {resource: amount - asked.get(name, {}).get(resource, 0) for resource, amount in of.items()}
        for name, of in left.items()
    }
