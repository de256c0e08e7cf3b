"""
What a group's record remembers of its relocations.

A group that has left a cluster because its pods found no nodes there, or because somebody sent it away, does not go back by itself
within a day, nor to one on which it did not become ready, or it would go back and forth with every change of the weather. And what a cluster had when it was lost
may run there until it is seen to be gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from gitplacer.kinds.record import PlacementRecord, RecordMoved
from gitplacer.model.decision import Reason
from gitplacer.relocation.evidence import reaches
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS

_REMEMBERED = timedelta(days=1)
"""For so long a relocation is remembered in the record."""


def recent(record: PlacementRecord | None, snapshot: Snapshot) -> Iterator[RecordMoved]:
    """The relocations of a group within the last day."""
    yield from (moved for moved in record.moves or () if snapshot.now - moved.at < _REMEMBERED) if record else ()


def left_over(record: PlacementRecord, snapshot: Snapshot) -> Iterator[str]:
    """The clusters on which something of a group may run that was there when they were lost."""
    placed = {entry.name for entry in record.clusters}
    for moved in record.moves or ():
        for cluster, epoch in (moved.epochs or {}).items():
            capacity = snapshot.capacity.get(cluster)
            if cluster in placed or cluster not in snapshot.source.own.clusters:
                continue
            if (
                capacity is None
                or not reaches(capacity, epoch, moved.lost_at or moved.at, WORKLOADS)
                or capacity.running(record.id) is not None
            ):
                yield cluster


def remembered(record: PlacementRecord | None, snapshot: Snapshot) -> tuple[RecordMoved, ...]:
    """The relocations that a record goes on to remember: the last, those of the last day, and those that may have left something."""
    if record is None or not record.moves:
        return ()
    uncertain = set(left_over(record, snapshot))
    fresh = {id(moved) for moved in (*recent(record, snapshot), record.moves[-1])}
    return tuple(m for m in record.moves if id(m) in fresh or uncertain & (m.epochs or {}).keys())


def left_before(record: PlacementRecord | None, snapshot: Snapshot) -> frozenset[str]:
    """The clusters that a group does not go to by itself for a day."""
    found: set[str] = set()
    for moved in recent(record, snapshot):
        if moved.aborted:
            found.update(moved.to)
        elif moved.reason in (Reason.PENDING_PODS, Reason.MOVE_APPROVED):
            found.update(moved.source)
    return frozenset(found)
