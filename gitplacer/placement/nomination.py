"""
Groups that are left to Kueue: who manages them, and on which clusters Kueue may start them.

A policy that leaves its groups to MultiKueue has them placed on one cluster, the manager, whatever the room: they take none there. What is
decided here is which clusters are nominated. A group is nominated what its policy's list has (`dispatching.listed`), but for clusters that
cannot run it: an API or a feature is missing, or the queue, or it is more than the empty cluster holds. What was nominated
once stays so until the group has ended or the cluster is lost or gone, because it may run there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property

from gitplacer.dispatching import Listed, is_started_by_kuberay, listed, not_nominated
from gitplacer.grouping import Group
from gitplacer.kinds.dispatch import MultiKueue
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action, Decision, Dispatched, Finding, Reason
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS

Bars = Callable[[Group, PlacementPolicy, str], Finding | None]
"""Why a group could not run on a cluster that its policy nominates, or None."""


class Nominations:
    """`records` are those of the groups, by the ids that these have now."""

    def __init__(self, snapshot: Snapshot, records: Mapping[str, PlacementRecord | None], bars: Bars) -> None:
        self._snapshot = snapshot
        self._clusters = snapshot.source.own.clusters
        self._records = records
        self._bars = bars
        self._found: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _lists(self) -> Listed:
        own = self._snapshot.source.own
        return listed(own.policies, own.clusters, self._snapshot.records.values())

    def settings(self, group: Group) -> MultiKueue | None:
        """To whose Kueue the policy of a group leaves it now, if to any."""
        return group.policy.spec.placement.multi_kueue if group.policy is not None and group.unit == WORKLOADS else None

    @cached_property
    def left(self) -> frozenset[str]:
        """The ids of the groups that are left to Kueue now, or were and are still there."""
        now = {id_ for id_, group in self._snapshot.groups.items() if self.settings(group) is not None}
        return frozenset(now | {id_ for id_, record in self._records.items() if record is not None and record.dispatch})

    def is_managed_on(self, group: Group, cluster: str) -> bool:
        """Whether a cluster has a group as the manager that it is left to."""
        recorded = self._recorded(group.id)
        return recorded is not None and recorded.manager == cluster

    def is_started_on(self, group: Group, cluster: str) -> bool:
        """Whether KubeRay has started a group on a cluster before that was to be its manager."""
        record = self._records.get(group.id)
        return record is not None and is_started_by_kuberay(record, cluster)

    def nominated(self, group: Group) -> tuple[str, ...]:
        """The clusters on which Kueue may start a group, in order of preference."""
        if group.id not in self._found:
            self._found[group.id] = self._nominated(group)
        return self._found[group.id]

    def admitted(self, group: Group) -> Finding:
        """Why the manager has a group that is left to Kueue there."""
        return Finding(code=Reason.KUEUE_ADMITS, subject=", ".join(self.nominated(group)))

    def _nominated(self, group: Group) -> tuple[str, ...]:
        recorded, settings, policy = self._recorded(group.id), self.settings(group), group.policy
        kept = [name for name in recorded.nominated if self._stays(name)] if recorded is not None else []
        if settings is None or policy is None or (recorded is not None and recorded.manager != settings.manager):
            return tuple(kept)
        names = self._lists.get((settings.manager, recorded.policy if recorded is not None else policy.name), ())
        fresh = [name for name in names if name in kept or self._bars(group, policy, name) is None]
        return (*fresh, *(name for name in kept if name not in fresh))

    def _stays(self, name: str) -> bool:
        """Whether something may run on a cluster, as far as anybody has said."""
        cluster = self._clusters.get(name)
        return cluster is not None and cluster.spec.state != "Lost"

    def _recorded(self, group_id: str) -> Dispatched | None:
        record = self._records.get(group_id)
        if record is None or record.dispatch is None:
            return None
        left = record.dispatch
        return Dispatched(policy=left.policy, manager=left.manager, queue=left.queue, nominated=left.nominated)

    def verdict(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """What there is to say of a cluster that is not the manager."""
        if name in self.nominated(group):
            return Finding(code=Reason.NOMINATED)
        return (
            not_nominated(policy, self._clusters[name])
            or self._bars(group, policy, name)
            or Finding(code=Reason.NOT_NOMINATED, subject="Kueue takes no more clusters")
        )

    def of(self, decision: Decision, has_files: Collection[str]) -> Dispatched | None:
        """Which manager and nominated clusters a group has after a decision; None for one that is not left to Kueue."""
        group = self._snapshot.groups.get(decision.group)
        recorded = self._recorded(decision.group)
        if decision.action is Action.HOLD and not decision.updated_in_place:
            return recorded  # its files stay as they are
        if recorded is not None and recorded.manager in has_files:
            left = recorded
        else:
            settings = self.settings(group) if group is not None else None
            if settings is None or group is None or group.policy is None or settings.manager not in has_files:
                return None
            if self.is_started_on(group, settings.manager):
                return None
            left = Dispatched(policy=group.policy.name, manager=settings.manager, queue=settings.queue, nominated=())
        ended = decision.finished is not None
        names = () if ended or group is None else self.nominated(group)
        return Dispatched(policy=left.policy, manager=left.manager, queue=left.queue, nominated=names)
