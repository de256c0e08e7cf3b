"""
The objects of a group where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gitplacer.kinds.fleet import Cluster
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.workload import Identity
from gitplacer.placement.onepass import Pass
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import ObjectFacts


def objects_on(
    shared: Pass, group_id: str, name: str, there: Callable[[SourceObject, Cluster, Counts], ObjectFacts]
) -> Iterator[tuple[Identity, ObjectFacts]]:
    """
    The objects of a group on a cluster, each with its identity: what they are `there`, or as they are deployed where it is held or
    gone.
    """
    group, cluster = shared.groups.get(group_id), shared.clusters.get(name)
    record = shared.record(group_id)
    if cluster is None or shared.roles.get((group_id, name)) == "Remote":
        return
    if group is not None and group_id not in shared.held:
        counts = shared.counts.get((group_id, name), AS_WRITTEN)
        yield from ((m.identity, there(m, cluster, counts)) for m in group.members)
    elif record is not None:
        yield from shared.snapshot.deployed.objects(record, name).items()
