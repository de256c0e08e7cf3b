"""
A plan beside all groups that stay: of apps that are new or changed, or of clusters that are given another state, such as one that is lost.

Planned are the groups in the same namespaces, those on these clusters, and those that wait. All others are bystanders. Where a cluster is lost no room
becomes free, so groups that wait for room go on waiting, and are only asked again if the plan is shown, as their reason may be another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from msgspec import structs

from gitplacer.comparison import Baseline
from gitplacer.grouping import Group, namespace_of
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart.edits import Concern, concern_of
from gitplacer.inpart.footing import Footing
from gitplacer.inpart.part import Part, part_beside
from gitplacer.inpart.planning import is_written_by, outgrown_beside
from gitplacer.inputs import Inputs
from gitplacer.model.decision import Action, Decision, Reason
from gitplacer.model.verdicts import Verdicts
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.plan import Plan
from gitplacer.problems import Problem, Rejected
from gitplacer.snapshot import Snapshot
from gitplacer.source.edited import Change
from gitplacer.source.files import Memo
from gitplacer.tree import changes_between, differing_paths


def planned_beside(
    inputs: Inputs,
    change: Change,
    base: Baseline,
    footing: Footing,
    *,
    memo: Memo,
    ledgers: LedgerCache,
    with_candidates: Verdicts | bool = False,
) -> Hydration | None:
    """
    The plan of a source with a `change` that it did not have when `base` was planned from otherwise equal inputs and found nothing to do. Of
    groups that stay its snapshot knows no more than what they hold. None where the whole has to be planned. `with_candidates` is as for `hydrate`.
    """
    concern = concern_of(change, inputs.source, base.fleet, footing.unread, memo) if inputs.uncounted is None else None
    part = part_beside(inputs, base, footing, concern) if concern is not None else None
    if concern is None or part is None:
        return None
    resting = {} if with_candidates else _waiting_on(part, concern)
    planned = partial(
        hydrate, part.inputs, memo=memo, ledgers=ledgers, with_candidates=with_candidates, bystanders=part.bystanders
    )
    try:
        with ledgers.seated(part.standing):
            made = planned(resting=resting)
            if resting and not _claims_stand(made, part):  # so room may be kept for one of those who rest
                made = planned()
    except Rejected:
        return None  # which is to be told of the whole
    if not _tells(made, part, concern) or (with_candidates and outgrown_beside(made)):
        return None
    return _whole(inputs, made, part, concern, base)


_FOR_WANT_OF_ROOM = frozenset({Reason.NO_CLUSTER_FITS, Reason.TIGHT_FIT, Reason.ROOM})


def _waiting_on(part: Part, concern: Concern) -> dict[str, Decision]:
    """
    The groups that go on waiting for room, with what was decided on them, where none becomes free. Now that more pods are to come, fewer orders may be tried
    for such a group, and none of these may leave a pod out; then the next pass, which is whole, places it. A group that has room kept for it is
    asked whether that still is so. None where some other group takes its turn among those that wait: where that one goes may depend on what was refused to
    groups before it, which a whole plan finds out, such as a pull request shows.
    """
    known = part.known.values()
    if concern.opens or concern.namespaces or any(_is_asked_in_turn(decision, concern) for decision in known):
        return {}
    return {d.group: d for d in known if d.action is Action.WAIT and d.claim is None}


def _is_asked_in_turn(decision: Decision, concern: Concern) -> bool:
    """
    Whether a group may get something when those are asked who wait: another copy, room that is kept for it elsewhere than before, or what it is to have once its
    quota leaves that.
    """
    if decision.action is not Action.WAIT:
        return len(decision.before) > 1 or decision.waiting_since is not None
    if decision.claim is not None:
        return bool(decision.claim.displaced) or decision.claim.cluster in concern.clusters
    return decision.finding.code not in _FOR_WANT_OF_ROOM


def _claims_stand(made: Hydration, part: Part) -> bool:
    """Whether all for whom room was kept wait for the same room."""
    known = {decision.group: decision.claim for decision in part.known.values() if decision.claim is not None}
    found = {d.group: d.claim for d in made.view.plan.decisions if d.group in known and d.action is Action.WAIT}
    return known == found


def _tells(made: Hydration, part: Part, concern: Concern) -> bool:
    """Whether no other group is concerned: none is decided on, no file of one is written, and no changed group has pods with rules about other pods."""
    groups = made.snapshot.groups
    decided = frozenset(decision.group for decision in made.view.plan.decisions)
    if not decided <= groups.keys():
        return False
    changed = [group for group in groups.values() if not concern.files.isdisjoint(_files(group))]
    if any(_looks_at_pods(group, made.snapshot) for group in changed):
        return False
    root, planned = made.snapshot.source.own.fleet.spec.deployment.root, structs.replace(part, groups=decided)
    spaces, paths = {*map(namespace_of, decided)}, differing_paths(part.inputs.deployment, made.tree)
    return all(is_written_by(path, root, planned, namespaces=spaces) for path in paths)


def _files(group: Group) -> set[str]:
    return {member.path for member in (*group.members, *group.shared)}


def _looks_at_pods(group: Group, snapshot: Snapshot) -> bool:
    """Whether some pod of a group asks which others are where. Of pods at which nobody looks it is not known who they are."""
    variants, clusters = snapshot.variants, snapshot.source.own.clusters.values()
    gangs = [group.gang, *(variants.gang(group, cluster) for cluster in clusters if variants.any_on(cluster))]
    return any(pods.shape.looks_at_pods for gang in gangs for pods in gang)


def _whole(inputs: Inputs, made: Hydration, part: Part, concern: Concern, base: Baseline) -> Hydration:
    """The plan of the fleet, in which all other groups stay as they were known."""
    problems = _problems(made, part, concern, base)
    # At once: there may be a thousand steps.
    tree = inputs.deployment.apply(changes_between(part.inputs.deployment, made.tree))
    snapshot = replace(made.view.snapshot, problems=problems, deployment=inputs.deployment)
    decisions = {decision.group: decision for decision in (*base.decisions, *made.view.plan.decisions)}
    plan = Plan(tuple(decisions[group] for group in sorted(decisions)), made.view.plan.sought)
    return structs.replace(
        made, view=structs.replace(made.view, snapshot=snapshot, plan=plan, tree=tree), problems=problems, tree=tree
    )


def _problems(made: Hydration, part: Part, concern: Concern, base: Baseline) -> tuple[Problem, ...]:
    """What is wrong: with what was planned what is told of it now."""
    objects = (item for item in made.snapshot.source.objects if item.identity.namespace in concern.namespaces)
    mine = {*concern.files, *part.files, *(item.path for item in objects)}
    old = (problem for problem in base.problems if problem.location.file not in mine)
    return tuple(sorted({*old, *(problem for problem in made.problems if problem.location.file in mine)}))
