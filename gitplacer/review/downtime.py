"""
What users of a group notice while a plan is carried out: nothing, a gap, two copies at work, or its end.

The answer follows from what is decided and from what the group is, never from how long a cluster takes. Argo CD and Flux sync
each cluster by itself, so between the removal here and the first ready pod there is always a gap where a single commit moves a
service. A lost cluster cannot be told to stop: whatever still runs there runs beside the new copy.

`RULES` is the table, and the first rule that holds decides. It speaks of a Situation, so that it can be tested row by row.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.explain import PlanView
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Decision, Phase, Reason, Strategy
from gitplacer.model.workload import Identity
from gitplacer.placement.updating import Edited


class Downtime(enum.StrEnum):
    """What users notice. Mild to severe."""

    NONE = "None"
    DOUBLE_RUN = "DoubleRun"  # an old copy may work beside the new one, and nobody can stop it
    GAP = "Gap"  # for a while nothing of it works
    ENDS = "Ends"  # it stops, and nothing brings it back


class Situation(Struct, frozen=True, kw_only=True):
    """
    What a rule may look at. `strategy` is that of a relocation that takes several passes and goes on after this one. `runs`: it
    has pods and is on some cluster now; `stays_somewhere`: one of its copies is not touched; `unstarted`: all of it are jobs of
    which none has started, or it is a copy that nobody has seen; `finished`: its jobs have run to their end; `lost`: it leaves a
    cluster that is lost; `replaced`: an edit replaces all pods of something at once; `stopped`: it leaves something without pods
    wherever that is; `inherited`: other groups have its objects now, which counts as a copy that stays if they are all where it was.
    """

    action: Action
    phase: Phase | None = None
    strategy: Strategy | None = None
    runs: bool = True
    stays_somewhere: bool = False
    unstarted: bool = False
    finished: bool = False
    lost: bool = False
    replaced: bool = False
    stopped: bool = False
    inherited: bool = False


Rule = tuple[str, Callable[[Situation], bool], Downtime]

_LEAVING = (Action.RELOCATE, Action.PLACE)
"""A group whose copies are all elsewhere afterwards is a relocation, whatever else the plan calls it."""

RULES: tuple[Rule, ...] = (
    ("it runs nowhere yet, or has no pods", lambda s: not s.runs, Downtime.NONE),
    ("its jobs have run to their end", lambda s: s.finished, Downtime.NONE),
    ("its objects belong to another group now, which is elsewhere",
     lambda s: s.action is Action.REMOVE and s.inherited and not s.stays_somewhere, Downtime.GAP),
    ("it is removed, and no copy stays", lambda s: s.action is Action.REMOVE and not s.stays_somewhere, Downtime.ENDS),
    ("one of its copies goes, others stay", lambda s: s.action is Action.REMOVE, Downtime.NONE),
    ("it makes room for another group", lambda s: s.action is Action.PREEMPT and not s.stays_somewhere, Downtime.GAP),
    ("it moves by RemoveFirst", lambda s: s.phase in (Phase.LEAVE, Phase.ARRIVE) or s.strategy is Strategy.REMOVE_FIRST,
     Downtime.GAP),
    ("it moves by Surge: the new copy is ready before the old one goes", lambda s: s.phase is not None or s.strategy is not None,
     Downtime.NONE),
    ("it leaves a lost cluster, where it may run on unseen", lambda s: s.lost and s.action in _LEAVING, Downtime.DOUBLE_RUN),
    ("a copy of it stays where it is", lambda s: s.stays_somewhere and s.action in _LEAVING, Downtime.NONE),
    ("it is a job that is known not to have started", lambda s: s.unstarted and s.action in _LEAVING, Downtime.NONE),
    ("it moves in one commit (Recreate)", lambda s: s.action in _LEAVING, Downtime.GAP),
    ("an edit stops it, or an object of it: suspended, or scaled to nothing", lambda s: s.stopped, Downtime.ENDS),
    ("an edit replaces all its pods at once", lambda s: s.replaced, Downtime.GAP),
    ("anything else: new copies, rolling edits, a RayService that is upgraded by a second Ray cluster", lambda s: True,
     Downtime.NONE),
)  # fmt: skip
"""What is said of a case, when it holds, and what users notice. The first that holds counts."""


def downtime(decision: Decision, view: PlanView) -> Downtime:
    """What users of a group notice of a decision."""
    return judged(situation(decision, view))


def judged(found: Situation) -> Downtime:
    """What users notice in a situation."""
    return next(answer for _, holds, answer in RULES if holds(found))


def situation(decision: Decision, view: PlanView) -> Situation:
    """What the rules may know of a decision."""
    group, record = view.group(decision), view.record(decision)
    waking = {entry.name for entry in record.clusters if entry.state == "Waking"} if record is not None else set()
    runs_on = set(decision.before) - waking
    move = decision.move or decision.moving
    leaves = runs_on - set(decision.after) or set(move.sources if move is not None else ())
    # A job that may have started moves by RemoveFirst; whatever moves otherwise and may not run twice has not started.
    unstarted = group is not None and bool(group.sized) and len(group.singletons) >= len(group.sized)
    reasons = {decision.finding.code} | ({move.reason} if move is not None else set())
    heirs = _heirs(decision, view)
    has_pods = bool(group.sized) if group is not None else bool(view.gang(decision))
    return Situation(
        action=decision.action,
        phase=decision.phase,
        strategy=decision.move.strategy if decision.move is not None else None,
        runs=has_pods and bool(runs_on),
        stays_somewhere=bool((runs_on & set(decision.after)) - leaves) or _stays_in_others(heirs, runs_on),
        unstarted=unstarted,
        finished=decision.finished is not None or (record is not None and record.finished is not None),
        lost=bool(leaves) and Reason.CLUSTER_LOST in reasons,
        replaced=_is_replaced(decision, view),
        stopped=_is_stopped(decision, view),
        inherited=bool(heirs),
    )


def _heirs(decision: Decision, view: PlanView) -> list[Decision]:
    """Those of the groups that have the objects of one that is removed."""
    found = decision.finding.subject if decision.finding.code is Reason.SOURCE_REMOVED else ""
    return [view.decision(group_id) for group_id in found.split(", ") if found]


def _stays_in_others(heirs: Sequence[Decision], runs_on: Collection[str]) -> bool:
    return bool(heirs) and all(not set(each.after).isdisjoint(runs_on) for each in heirs)


def _is_edited(decision: Decision) -> bool:
    """Whether files of a group change where it is and stays."""
    return decision.action in (Action.UPDATE, Action.EXTEND) or decision.writes


def _is_replaced(decision: Decision, view: PlanView) -> bool:
    group = view.group(decision)
    if group is None or not _is_edited(decision):
        return False
    there = set(decision.before) & set(decision.after)
    return any(replaces_all_at_once(edited) for name in sorted(there) for edited in view.edits(group, name))


def _is_stopped(decision: Decision, view: PlanView) -> bool:
    """Whether an object of a group has pods wherever it is deployed, and an edit leaves none of them."""
    group, record = view.group(decision), view.record(decision)
    if group is None or record is None or not _is_edited(decision):
        return False
    there = sorted(set(decision.before) & set(decision.after))
    stopped = [set(_stopped(decision, group, record, view.clusters[name], view)) for name in there]
    return bool(stopped) and bool(set.intersection(*stopped))


def _stopped(
    decision: Decision, group: Group, record: PlacementRecord, cluster: Cluster, view: PlanView
) -> Iterator[Identity]:
    """The objects of a group that have pods on a cluster as they are deployed, and could have none any more as they would be."""
    members = [edited.member for edited in view.edits(group, cluster.name) if edited.member.facts.sized]
    deployed = view.snapshot.deployed.objects(record, cluster.name) if members else {}
    for member in members:
        before = deployed.get(member.identity)
        if before is None or not before.gang:
            continue
        after = view.snapshot.variants.facts_there(member, cluster, decision.counts_on(cluster.name))
        if not after.gang_for("Maximum", with_peak=False):
            yield member.identity


def replaces_all_at_once(edited: Edited) -> bool:
    """
    Whether the controller of an object answers an edit by stopping all its pods before the new ones are there. KubeRay does so
    for a RayCluster only if its upgrade strategy says Recreate; a Deployment does if its strategy says so; a StatefulSet stops one
    at a time, which is all of it if there is but one.
    """
    identity, spec, old = edited.member.identity, _mapping(edited.after, "spec"), _mapping(edited.before, "spec")
    if (identity.api_group, identity.kind) == ("ray.io", "RayCluster"):
        changed = any(spec.get(key) != old.get(key) for key in ("headGroupSpec", "workerGroupSpecs"))
        return changed and _mapping(spec, "upgradeStrategy").get("type") == "Recreate"
    if spec.get("template") == old.get("template") or identity.api_group != "apps":
        return False
    if identity.kind == "Deployment":
        return _mapping(spec, "strategy").get("type") == "Recreate"
    return identity.kind == "StatefulSet" and spec.get("replicas", 1) == 1


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
