"""Clusters that a change adds, takes away, or gives another state: what a reviewer must know even if nothing moves yet."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from gitplacer.explain import PlanView

TAKES = "Active"
"""The state of a cluster that takes new groups."""


class ClusterChange(Struct, frozen=True, kw_only=True):
    """One cluster: its state without the change and with it, None where there is no such cluster; and how many groups it has, None for whoever may not know."""

    cluster: str
    before: str | None
    after: str | None
    groups: int | None

    @property
    def takes_less(self) -> bool:
        """Whether it took new groups, and does not any more."""
        return self.before == TAKES and self.after != TAKES


def cluster_changes(old: Mapping[str, str], with_it: PlanView) -> tuple[ClusterChange, ...]:
    """The clusters that are not what they were, by name; `old` are the states that they had."""
    new = {name: cluster.spec.state for name, cluster in with_it.clusters.items()}
    found = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before != after:
            groups = sum(name in decision.before for decision in with_it.plan.decisions)
            found.append(ClusterChange(cluster=name, before=before, after=after, groups=groups))
    return tuple(found)
