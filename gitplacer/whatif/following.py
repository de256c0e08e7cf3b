"""
Passes one after another, with snapshots as clusters would give them if all went well.

Some moves take several passes: a copy goes when another is ready, a new one comes when the old one is gone. What snapshots would have
to show for that is made up here, in the plainest way: whatever a pass has written runs and is ready soon after, and whatever it
has removed is gone. Jobs that run, run on. It is no forecast; it tells what follows from what.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from gitplacer.documents import parse
from gitplacer.explain import rfc3339
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.kinds.record import SHARED
from gitplacer.model.decision import Reason
from gitplacer.relocation.evidence import SYNC_GRACE
from gitplacer.relocation.guards import frozen_until
from gitplacer.source.files import Memo
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.tree import Changes, Tree
from gitplacer.treeids import tree_id
from gitplacer.units import Units

STEP = SYNC_GRACE + timedelta(minutes=1)
"""How much later each pass is than the one before it."""
MOST = 60
"""Passes."""
_IDLE = 6
"""Passes that do nothing, each later than the one before by twice as much, after which nothing more is expected."""


def follow(inputs: Inputs, memo: Memo) -> Iterator[tuple[Inputs, Hydration]]:
    """
    The passes from these inputs on, each with what it was made of, until nothing more happens; `MOST` at the most. A pass that does nothing
    because of a guard or a freeze is followed by one after that ends.
    """
    idle = 0
    for _ in range(MOST):
        made = hydrate(inputs, memo=memo, with_candidates=False)
        yield inputs, made
        idle = 0 if made.steps else idle + 1
        codes = {decision.finding.code for decision in made.view.plan.decisions}
        moving = any(decision.move is not None for decision in made.view.plan.decisions)
        held_back = codes & {Reason.GUARD_REACHED, Reason.FROZEN}
        if idle and ((not moving and not held_back) or idle > _IDLE):
            return
        later = inputs.now + STEP * 2 ** max(0, idle - 1)
        if idle and held_back:
            later = max(later, _let_go(made, held_back))
        inputs = _seen(replace(inputs, deployment=made.tree, now=later), made)


def _let_go(made: Hydration, held_back: set[Reason]) -> datetime:
    """The time from which what holds groups back lets at least one more go."""
    snapshot = made.snapshot
    guards = snapshot.source.own.fleet.spec.guards
    times = [snapshot.now + timedelta(seconds=max(guards.relocations.per, guards.evacuations.per))]
    if Reason.FROZEN in held_back:
        ends = [frozen_until(snapshot, reason) for reason in (Reason.CLUSTER_DRAINING, Reason.NOT_ELIGIBLE)]
        times += [end for end in ends if end is not None]
    return max(times) + timedelta(seconds=1)


def _seen(inputs: Inputs, made: Hydration) -> Inputs:
    """The inputs with a new snapshot of every cluster that had one and is not lost."""
    root = made.snapshot.source.own.fleet.spec.deployment.root
    units, written = Units(made.tree, root), {}
    for path in inputs.capacity:
        name = path.rpartition("/")[2].rpartition(".")[0]
        cluster = made.snapshot.source.own.clusters.get(name)
        if name in made.snapshot.reported and cluster is not None and cluster.spec.state != "Lost":
            value = parse(inputs.capacity.read(path)).documents[0].value
            written[path] = json.dumps(_observed(value, name, made.tree, units, inputs.now)).encode()
    capacity = inputs.capacity.apply(Changes(written))
    return replace(inputs, capacity=capacity, capacity_id=tree_id(capacity))


def _observed(value: Mapping[str, Any], name: str, tree: Tree, units: Units, now: datetime) -> dict[str, Any]:
    before = {group["name"]: group for group in value.get("groups", ())}
    there = _deployed(tree, units, name)
    groups = [before.get(group, {"name": group, "phase": "Running", "ready": True}) for group in there]
    applied = {unit: units.epochs.get((name, unit), 0) for unit in (PLATFORM, WORKLOADS)}
    return {**value, "observedAt": rfc3339(now), "applied": applied, "groups": groups}


def _deployed(tree: Tree, units: Units, cluster: str) -> list[str]:
    """The groups of workloads whose files a cluster has."""
    prefix = units.path(cluster, WORKLOADS, "")
    found = {"/".join(path[len(prefix) :].split("/")[:2]) for path in tree if path.startswith(prefix)}
    inside = {group for group in found if "/" in group and not group.endswith(f"/{SHARED}")}
    return sorted(group for group in inside if any(path.startswith(f"{prefix}{group}/") for path in tree))
