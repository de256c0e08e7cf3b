"""The plan as a whole: how many of what, which clusters wake, what it was computed from."""

from __future__ import annotations

from collections.abc import Iterable

from gitplacer.explain.view import PlanView
from gitplacer.explain.words import rfc3339
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.decision import (
    Action,
    Decision,
    Reason,
)
from gitplacer.placement.plan import Plan
from gitplacer.placement.wakes import ClusterOutcome
from gitplacer.plaintext import few, printable
from gitplacer.relocation.evidence import is_stale

_COUNTED = (
    (Action.PLACE, "placed"),
    (Action.RELOCATE, "relocated"),
    (Action.EXTEND, "extended"),
    (Action.UPDATE, "updated"),
    (Action.REMOVE, "removed"),
    (Action.PREEMPT, "preempted"),
    (Action.HOLD, "held"),
    (Action.WAIT, "waiting"),
    (Action.KEEP, "kept"),
)

_RARE = (Action.EXTEND, Action.PREEMPT)


def standing(plan: Plan) -> str:
    """
    The groups that a pass leaves held and waiting, whole or in part: `2 held (a/x and a/y) and 1 waiting (b/z)`; '' for none.
    """
    left = [(word, plan.groups(action)) for action, word in _COUNTED if action in (Action.HOLD, Action.WAIT)]
    left.append(("waiting in part", [d.group for d in plan.decisions if d.waits_in_part]))
    return " and ".join(f"{len(names)} {word} ({few([*map(printable, names)])})" for word, names in left if names)


def summary(plan: Plan, *, zeros: bool = True) -> str:
    """`2 placed, 1 relocated, 0 updated, 0 removed, 0 held, 1 waiting, 5 kept`, and how many of these wait in part, if any do."""
    counts = plan.counts()
    said = [f"{counts[a]} {word}" for a, word in _COUNTED if counts[a] or (zeros and a not in _RARE)]
    partly = sum(decision.waits_in_part for decision in plan.decisions)
    more = f"; {partly} of them {'waits' if partly == 1 else 'wait'} in part" if partly else ""
    return (", ".join(said) or "no groups") + more


def is_worth_telling(decision: Decision) -> bool:
    """Whether something becomes of a group, or goes on with it, that a plan should show."""
    return decision.action is not Action.KEEP or decision.finding.code is Reason.MOVING or decision.waits_in_part


def changes_nothing(view: PlanView) -> bool:
    """Whether all groups stay as they are, no cluster wakes or goes to sleep, and no file changes."""
    if any(cluster_change(outcome) for outcome in view.sleepers):
        return False
    return all(d.action is Action.KEEP for d in view.plan.decisions) and not any(view.changed_files.values())


def cluster_change(outcome: ClusterOutcome) -> str:
    """What happens to a cluster that may sleep, to be read after its name; '' where it stays as it is."""
    state = outcome.after
    if outcome.wakes:
        groups = few([printable(group) for group in outcome.groups])
        made = f"is made after {state.clone_of}" if outcome.before is None and state.clone_of else "wakes"
        return f"{made} for {groups}" if groups else f"{made}: nobody has seen it yet"
    if outcome.sleeps:
        idle = outcome.before.idle_since if outcome.before is not None else None
        if state.retry_at is not None:
            return f"did not come, and is left alone until {rfc3339(state.retry_at)}"
        return f"goes to sleep: idle since {rfc3339(idle)}" if idle is not None else "goes to sleep: it is idle"
    return "counts as awake" if outcome.came else ""


def file_count(view: PlanView) -> str:
    """`7 files change (dynamic-cluster 5, static-cluster 2)`, or '' where none does."""
    counts = {cluster: len(paths) for cluster, paths in sorted(view.changed_files.items()) if paths}
    total = sum(counts.values())
    said = few([f"{printable(cluster)} {count}" for cluster, count in counts.items()], most=10)
    return f"{total} file{'s change' if total != 1 else ' changes'} ({said})" if counts else ""


def computed_from(view: PlanView) -> list[str]:
    """What a plan was computed from, on one line and, where there are clusters, another about their snapshots."""
    source = f"source {view.source_commit[:10]}" if view.source_commit else "the work tree as it lies"
    deployment = f"deployment {view.deployment_commit[:10]}" if view.deployment_commit else "nothing placed yet"
    lines = [f"Computed from {source}; {deployment}; at {rfc3339(view.snapshot.now)} by gitplacer {view.version}"]
    said = _said(view)
    return [*lines, said] if said else lines


def snapshots_amiss(view: PlanView) -> str:
    """The same line where a snapshot is missing, stale or unusable, and '' where all are current: a plan that knows little of its clusters says so."""
    said = _said(view)
    return said if any(f"{word}: " in said for word in _AMISS) else ""


_AMISS = ("stale", "missing", "unusable")


def _said(view: PlanView) -> str:
    return said_of_snapshots(view) if view.snapshots is None else view.snapshots


def said_of_snapshots(view: PlanView) -> str:
    """When the snapshots of all clusters were taken, and which are missing; '' where there are no clusters."""
    clusters = [c for c in view.clusters.values() if c.spec.role == "Workload"]
    return f"Capacity snapshots: {'; '.join(_ages(view, clusters))}" if clusters else ""


def _ages(view: PlanView, clusters: Iterable[Cluster]) -> list[str]:
    fresh, stale, missing, broken, asleep = [], [], [], [], []
    for cluster in clusters:
        snapshot = view.snapshot.capacity.get(cluster.name)
        if not view.snapshot.is_awake(cluster.name):
            asleep.append(cluster.name)
        elif cluster.name in view.snapshot.broken_capacity:
            broken.append(cluster.name)
        elif snapshot is None:
            missing.append(cluster.name)
        elif is_stale(cluster, snapshot, view.snapshot.now):
            stale.append(f"{cluster.name} ({rfc3339(snapshot.observed_at)})")
        else:
            fresh.append(snapshot.observed_at)
    said = []
    if fresh:
        times = sorted({rfc3339(min(fresh)), rfc3339(max(fresh))})
        said.append(f"{len(fresh)} current, taken {' to '.join(times)}")
    said += [
        f"{word}: {few(names, most=10)}"
        for word, names in zip((*_AMISS, "asleep or waking"), (stale, missing, broken, asleep), strict=True)
        if names
    ]
    return said
