"""
Which cluster is to be made, and for whom.

Two things call for one: a group asks for a cluster by a name that no cluster has, or nothing that a group may use has room for it
and nothing of that can grow. What can grow is left to grow. Whether a clone helps is not guessed but tried: it is put into the
fleet and all is planned again, and it is kept only if the group goes there.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from gitplacer import standby
from gitplacer.clones import like
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Action, Decision
from gitplacer.placement.eligibility import may_not_stay
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.onepass import may_scale_up
from gitplacer.placement.pack import Packing
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS

TRIES = 10
"""Groups for which a clone is tried in one pass. Those that come after them have the next."""


class Wish(Struct, frozen=True):
    """A cluster that a group would have made, after the model of another."""

    group: str
    name: str
    model: str


def wish(snapshot: Snapshot, decisions: Sequence[Decision], tried: Collection[str]) -> Wish | None:
    """The first cluster that a waiting group would have made, of those for which none was tried in vain; None if there is none."""
    clone = snapshot.source.own.fleet.spec.clone
    if clone is None or snapshot.source.sleeping.templates is None or len(tried) >= TRIES:
        return None
    made = sum(state.clone_of is not None for state in snapshot.states.values())
    if made >= clone.max:
        return None
    model = snapshot.source.own.clusters[clone.source]
    for group in _waiting(snapshot, decisions):
        if group.id not in tried and group.policy is not None:
            for name in _names(snapshot, group, group.policy, model):
                candidate = like(model, name)
                if may_not_stay(group, group.policy, candidate) is None and _fits(snapshot, group, candidate):
                    return Wish(group.id, name, model.name)
    return None


def _waiting(snapshot: Snapshot, decisions: Sequence[Decision]) -> list[Group]:
    """Groups that are nowhere and have nothing in view, as their turn comes."""
    alone = [d for d in decisions if d.action is Action.WAIT and not d.after and d.claim is None]
    since = {d.group: d.waiting_since or snapshot.now for d in alone}
    groups = [snapshot.groups[d.group] for d in alone if d.group in snapshot.groups]

    def turn(group: Group) -> tuple[int, datetime, str]:
        return -group.priority, since[group.id], group.id

    return sorted((group for group in groups if group.unit == WORKLOADS), key=turn)


def _names(snapshot: Snapshot, group: Group, policy: PlacementPolicy, model: Cluster) -> Iterator[str]:
    """What a clone for a group could be called: the names that it asks for, or one of ours where nothing it may use can grow."""
    clusters = snapshot.source.own.clusters
    asked = [group.wished_cluster] if group.wished_cluster is not None else _named(policy)
    missing = [name for name in asked if name not in clusters]
    yield from missing
    if asked or (may_scale_up(policy) and any(_may_grow(policy, group, cluster) for cluster in clusters.values())):
        return
    root = snapshot.source.own.fleet.spec.deployment.root + "/"
    used = {path[len(root) :].partition("/")[0] for path in snapshot.deployment if path.startswith(root)}
    used |= {*clusters, *snapshot.left_states, *snapshot.held_states}
    numbered = (f"{model.name}-{number}" for number in itertools.count(2))
    yield next(name for name in numbered if name not in used)


def _named(policy: PlacementPolicy) -> list[str]:
    """The clusters that a policy names, in its order."""
    selectors = (policy.spec.clusters, *policy.spec.placement.order)
    return [name for selector in selectors for name in selector.names or ()]


def _may_grow(policy: PlacementPolicy, group: Group, cluster: Cluster) -> bool:
    """Whether a cluster that a group may use has something that adds machines."""
    is_open = cluster.spec.state == "Active" and cluster.spec.autoscaler is not None
    return is_open and may_not_stay(group, policy, cluster) is None


def _fits(snapshot: Snapshot, group: Group, clone: Cluster) -> bool:
    """Whether a group would fit a clone that runs nothing: a quick look before all is planned again."""
    empty = standby.as_awake(clone, None, snapshot.now)
    if empty is None or (group.policy is not None and group.policy.spec.placement.admission == "Immediate"):
        return empty is not None
    columns = Columns.of([empty], [clone], [group.gang])
    ledger = Ledger(clone, empty, columns, now=snapshot.now)
    scale_up = group.policy is not None and may_scale_up(group.policy) and bool(ledger.nodes.types)
    return isinstance(ledger.fit(group.gang, scale_up=scale_up), Packing)
