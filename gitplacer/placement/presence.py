"""Which groups are on each cluster, so far in a round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import ItemsView, Iterable, Mapping, Set


class Presence:
    """
    Groups by cluster, and clusters by group. `changes` are all (group, cluster) that came or went, in order, so that who keeps sums over them
    need look at nothing else.
    """

    def __init__(self, placements: Mapping[str, Iterable[str]]) -> None:
        self._groups: dict[str, set[str]] = defaultdict(set)
        self._clusters: dict[str, set[str]] = defaultdict(set)
        self.changes: list[tuple[str, str]] = []
        for group_id, clusters in placements.items():
            for cluster in clusters:
                self._groups[cluster].add(group_id)
                self._clusters[group_id].add(cluster)

    def on(self, cluster: str) -> Set[str]:
        """The groups on a cluster. What is given grows and shrinks with who comes and goes."""
        return self._groups[cluster]

    def of(self, group_id: str) -> Set[str]:
        """The clusters that have a group."""
        return self._clusters.get(group_id, set())

    def items(self) -> ItemsView[str, set[str]]:
        """Each cluster with its groups."""
        return self._groups.items()

    def come(self, group_id: str, cluster: str) -> None:
        """A group is on a cluster from now on."""
        self._groups[cluster].add(group_id)
        self._clusters[group_id].add(cluster)
        self.changes.append((group_id, cluster))

    def go(self, group_id: str, cluster: str) -> None:
        """A group is on a cluster no more."""
        self._groups[cluster].discard(group_id)
        self._clusters[group_id].discard(cluster)
        self.changes.append((group_id, cluster))
