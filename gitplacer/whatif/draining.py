"""
A drain, before anybody begins it: the moves in their order, who cannot leave, and the way back.

It is one line in a Cluster, and what follows takes as many passes as guards, strategies and evidence make of it. So the passes are
made here one after another on what each of them leaves, and told as one story.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from gitplacer.explain import PlanView, rfc3339, why
from gitplacer.explain.decisions import sentence
from gitplacer.explain.words import LONGEST_SENTENCE
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.kinds.fields import duration_text
from gitplacer.model.decision import Action, Decision, Reason, Strategy
from gitplacer.model.drains import Drain, DrainPass, DrainStep, Return, Stuck
from gitplacer.model.verdicts import Verdicts
from gitplacer.plaintext import few, printable
from gitplacer.source.manifests import PLATFORM
from gitplacer.whatif.following import MOST, follow
from gitplacer.whatif.ground import Ground, refused_by
from gitplacer.whatif.suppositions import DrainCluster


def drain(ground: Ground, cluster: str) -> Drain:
    """What draining a cluster comes to. Raises Unsupposable, and Rejected where the fleet could not be planned then."""
    inputs = DrainCluster(cluster).applied(ground.inputs, ground.snapshot)
    passes: list[DrainPass] = []
    ever = {g for g, d in ground.decisions.items() if cluster in d.after and not _is_platform(ground.due.view, d)}
    before: tuple[Inputs, Hydration] | None = None
    count = 0
    for made_of, made in follow(inputs, ground.memo):
        count += 1
        steps = tuple(_steps(made.view, ever))
        if steps:
            needs = tuple(_needs(before[1], made_of.now)) if before is not None else ()
            passes.append(DrainPass(needs=needs, steps=steps, left=len(_there(made.view, cluster))))
        before = (made_of, made)
    assert before is not None
    view = before[1].view
    there = _there(view, cluster)
    if any(view.decision(group).finding.code is Reason.NOWHERE_TO_GO for group in there):
        asked = Verdicts(groups=frozenset(there))
        view = hydrate(before[0], memo=ground.memo, with_candidates=asked).view  # the same plan
    return Drain(
        cluster=cluster,
        passes=tuple(passes),
        stuck=tuple(_stuck(view.decision(group), view) for group in there),
        platform=tuple(sorted(d.group for d in view.plan.decisions if cluster in d.after and _is_platform(view, d))),
        back=tuple(_back(view, sorted(ever - set(there)))),
        is_cut=count >= MOST and bool(before[1].steps),
        nominated=tuple(sorted(d.group for d in view.plan.decisions if d.dispatch and cluster in d.dispatch.nominated)),
    )


def _is_platform(view: PlanView, decision: Decision) -> bool:
    group, record = view.group(decision), view.record(decision)
    return group.unit == PLATFORM if group is not None else record is not None and record.is_platform


def _there(view: PlanView, cluster: str) -> list[str]:
    """The groups of workloads that a cluster has after a pass, by the files that are there or its room that they hold."""
    return sorted(
        d.group
        for d in view.plan.decisions
        if (cluster in d.after or cluster in d.files_after) and not _is_platform(view, d)
    )


def _steps(view: PlanView, ever: Iterable[str]) -> Iterator[DrainStep]:
    """What a pass does with groups that were on the cluster, and with others for their sake."""
    known = set(ever)
    for decision in sorted(view.plan.decisions, key=lambda d: d.group):
        moves = decision.action in (Action.RELOCATE, Action.PREEMPT) or decision.phase is not None
        ours = decision.group in known and decision.files_before != decision.files_after
        if moves or ours:
            yield DrainStep(
                group=decision.group, before=decision.files_before, after=decision.files_after,
                what=sentence(decision, view),
            )  # fmt: skip


def _needs(made: Hydration, now: datetime) -> Iterator[str]:
    """What has to be seen, or to pass, between a pass and the next, which is made at a time."""
    ready: dict[tuple[str, ...], list[str]] = {}
    gone: dict[tuple[str, ...], list[str]] = {}
    for decision in sorted(made.view.plan.decisions, key=lambda d: d.group):
        if decision.move is None:
            continue
        if decision.move.strategy is Strategy.SURGE:
            ready.setdefault(decision.move.targets, []).append(decision.group)
        elif decision.move.strategy is Strategy.REMOVE_FIRST:
            gone.setdefault(decision.move.sources, []).append(decision.group)
    for names, groups in sorted(ready.items()):
        yield f"snapshots of {few(names)} show {few(groups)} ready"
    for names, groups in sorted(gone.items()):
        yield f"snapshots of {few(names)} show {few(groups)} gone"
    codes = {d.finding.code for d in made.view.plan.decisions}
    guards = made.snapshot.source.own.fleet.spec.guards
    if Reason.GUARD_REACHED in codes:
        yield f"the guard lets {guards.evacuations.max} more go, after {duration_text(guards.evacuations.per)}"
    if Reason.FROZEN in codes:
        yield f"the freeze has ended, at {rfc3339(now)}"


def _stuck(decision: Decision, view: PlanView) -> Stuck:
    nowhere = decision.finding.code is Reason.NOWHERE_TO_GO
    return Stuck(
        group=decision.group,
        code=str(decision.finding.code),
        why=printable(why(decision, view), LONGEST_SENTENCE),
        refused=tuple(refused_by(decision, view)) if nowhere else (),
    )


def _back(view: PlanView, groups: Iterable[str]) -> Iterator[tuple[str, Return]]:
    """What becomes of those who have left when the cluster takes groups again."""
    for group in groups:
        decision = next((d for d in view.plan.decisions if d.group == group), None)
        policy = view.policy(decision) if decision is not None else None
        mode = policy.spec.relocation.when.preferred_available if policy is not None else "Never"
        ways = {"Automatic": Return.BY_ITSELF, "Manual": Return.PROPOSED}
        yield group, ways.get(mode, Return.BY_HAND)
