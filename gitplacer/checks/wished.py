"""Clusters that annotations ask for."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import CLUSTER_ANNOTATION, Group
from gitplacer.known import Known, Told, tell
from gitplacer.problems import nearest


def check(known: Known, group: Group) -> Iterator[Told]:
    """An annotation that asks for a cluster which there is not: the group waits for one of that name."""
    for member in group.members:
        wished = member.annotations.get(CLUSTER_ANNOTATION)
        if wished is not None and wished not in known.source.own.clusters:
            message = f"an annotation asks for cluster {wished}, and there is none of that name"
            path = ("metadata", "annotations", CLUSTER_ANNOTATION)
            yield tell(member, "WishedClusterMissing", message, nearest(wished, known.source.own.clusters), path)
