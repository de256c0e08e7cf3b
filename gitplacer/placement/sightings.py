"""
What the capacity snapshots show of a group where its record put it: started, waiting for nodes, run to its end.

What must not start twice may have started for as long as no two snapshots say that it has not; and what has ended has ended for good
when two say so. The first of the two is remembered in the record, so each pass tells what it has seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gitplacer.grouping import Group
from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.model.decision import Ending
from gitplacer.placement.onepass import Pass
from gitplacer.relocation.evidence import may_have_started, seen_ended, seen_unstarted, testimony
from gitplacer.relocation.triggers.pendingpods import waiting_too_long


class Sightings:
    """The same for all rounds of a pass."""

    def __init__(self, shared: Pass) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot

    # the beginning

    def may_have_started(self, group: Group, cluster: str) -> bool:
        """Whether something of a group may have started on a cluster that must not start twice; where it is left to Kueue, elsewhere."""
        if group.singletons and self._pass.nominations.is_managed_on(group, cluster):
            return True
        there = self._singletons_on(group, cluster)
        return any(may_have_started(self._snapshot, entry, record, group.unit) for record, entry in there)

    def unstarted(self, group: Group, clusters: Iterable[str]) -> dict[str, datetime]:
        """The clusters on which nothing of a group has started, by the snapshots there are, with their times."""
        found = {}
        for name in clusters:
            there = self._singletons_on(group, name)
            seen = [seen_unstarted(self._snapshot, entry, record, group.unit) for record, entry in there]
            times = [at for at in seen if at is not None]
            if times and len(times) == len(seen):
                found[name] = min(times)
        return found

    def _singletons_on(self, group: Group, cluster: str) -> list[tuple[str, RecordCluster]]:
        """What must not start twice of a group, as it was put on a cluster: with the record that says so."""
        return [
            (record.id, entry)
            for member in group.singletons
            for record, _ in self._snapshot.standing.get(member.identity, ())
            for entry in record.clusters
            if entry.name == cluster
        ]

    # on the way

    def pending(self, group: Group) -> dict[str, datetime]:
        """The clusters on which pods of a group have waited for too long, by the snapshots there are, with their times."""
        record = self._pass.records[group.id]
        if record is None or group.policy is None:
            return {}
        found = {}
        for entry in record.clusters:
            if (record.id, entry.name) in self._pass.stirring:
                seen = waiting_too_long(self._snapshot, group.policy, entry, record.id, group.unit)
                if seen is not None:
                    found[entry.name] = seen.at
        return found

    # the end

    def ended(self, group: Group) -> dict[str, datetime]:
        """
        The clusters on which a group has run to its end, with the time of the first snapshot that showed it. One that no longer shows
        the group at all does not contradict it; one that shows it running does.
        """
        record = self._pass.records[group.id]
        if record is None or not _finishes(group):
            return {}
        found = {}
        for entry in _with_the_job(record):
            stirs = (record.id, entry.name) in self._pass.stirring
            seen = seen_ended(self._snapshot, entry, record.id, group.unit) if stirs else None
            capacity = self._snapshot.capacity.get(entry.name)
            shown = capacity is not None and capacity.running(record.id) is not None
            if seen is not None:
                found[entry.name] = entry.ended_at or seen[0]
            elif entry.ended_at is not None and not shown:
                found[entry.name] = entry.ended_at
        return found

    def finished(self, group: Group) -> Ending | None:
        """
        How a group has ended for good: as the record says, or as two snapshots of each of its clusters show; one, of a cluster that
        is gone.
        """
        record = self._pass.records[group.id]
        if record is None or not _finishes(group):
            return None
        if record.finished is not None:
            return Ending(record.finished.phase, record.finished.at)
        entries = _with_the_job(record)
        if not entries or record.move is not None:
            return None
        phase, ended = "", self.ended(group)
        for entry in entries:
            if entry.name in ended and self._pass.is_gone(entry.name):  # no second snapshot will ever come
                capacity = self._snapshot.capacity.get(entry.name)
            else:
                capacity = testimony(self._snapshot, entry, group.unit)
                if capacity is None or entry.ended_at is None or capacity.observed_at <= entry.ended_at:
                    return None
            there = capacity.running(record.id) if capacity is not None else None
            if there is not None and there.phase not in ("Succeeded", "Failed"):
                return None
            phase = there.phase if there is not None else phase
        return Ending(phase or "Succeeded", min(ended[entry.name] for entry in entries))


def _finishes(group: Group) -> bool:
    """Whether a group runs to its end: all that has pods does."""
    return bool(group.sized) and all(member.facts.finishes for member in group.sized)


def _with_the_job(record: PlacementRecord) -> list[RecordCluster]:
    """The clusters that have the job itself, and not only workers of it."""
    return [entry for entry in record.clusters if entry.role != "Remote"]
