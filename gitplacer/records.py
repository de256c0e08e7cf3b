"""
What the record of a group says after a decision.

A record is what a later pass remembers: where the group is and since when, how far a relocation has come, where it moved within
the last day, what was consented to, whether its jobs have ended. Evidence counts from the epoch of the commit that is being made,
so whoever writes the files tells it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gitplacer.grouping import Group
from gitplacer.kinds.record import (
    PlacementRecord,
    RecordClaim,
    RecordCluster,
    RecordDispatch,
    RecordFinished,
    RecordMember,
    RecordMetadata,
    RecordMoved,
    recorded_counts,
)
from gitplacer.model.decision import Action, Decision, Phase, Reason
from gitplacer.placement.overlaps import Overlaps
from gitplacer.relocation.memory import remembered
from gitplacer.relocation.moves import recorded
from gitplacer.relocation.silence import silent_clusters
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS

Epoch = Callable[[str, str], int]
"""A cluster and the name of a unit to an epoch of that unit."""


def written_on(decision: Decision) -> tuple[str, ...]:
    """The clusters on which a group's files are made what the source says."""
    return tuple(name for name in decision.files_after if name not in decision.frozen)


def _is_between(decision: Decision) -> bool:
    """Whether a group is on no cluster, before the pass and after it: what its record tells is what was there, whatever the source has made of it."""
    return all(move is not None and move.without_files for move in (decision.moving, decision.move))


class Records:
    """`epoch` is what the commit that is being made gives to a unit, `last_epoch` what the unit has without it."""

    def __init__(self, snapshot: Snapshot, overlaps: Overlaps, epoch: Epoch, last_epoch: Epoch) -> None:
        self._snapshot = snapshot
        self._overlaps = overlaps
        self._epoch = epoch
        self._last_epoch = last_epoch

    def after(
        self,
        group: Group,
        decision: Decision,
        record: PlacementRecord | None,
        members: Sequence[RecordMember],
    ) -> PlacementRecord:
        """The record of a group with a decision. `record` is the one it has, maybe under another id, and `members` its objects."""
        before = {entry.name: entry for entry in record.clusters} if record else {}
        if record is not None and not _is_between(decision) and not self._snapshot.tells_of(record, group):
            before = {}
        now = self._snapshot.now
        decided = record is None or decision.before != decision.after or decision.phase is not None
        goes_on = decision.moving is not None and (
            decision.move is None or decision.move.since == decision.moving.since
        )
        begins = decision.action is Action.RELOCATE and not goes_on
        ends = decision.phase in (Phase.REMOVE, Phase.ARRIVE)
        known = self._snapshot.records.get(decision.group) or record
        return PlacementRecord(
            api_version="gitplacer.dev/v1alpha1",
            kind="Placement",
            metadata=RecordMetadata(name=group.name, namespace=group.namespace),
            policy=decision.policy,
            members=tuple(members),
            clusters=tuple(self._entry(name, before.get(name), group, decision) for name in decision.after),
            waiting_since=decision.waiting_since,
            claim=self._claimed_room(decision, record),
            moved_at=now if begins or ends else known.moved_at if known else None,
            move=recorded(decision.move),
            moves=self._moves(decision, known, begins),
            hold_until=decision.hold_until or (known.hold_until if known else None),
            approvals=self._approvals(decision, known),
            dispatch=_dispatch(decision, record),
            finished=_finished(decision, known),
            reason=decision.finding.code if decided or record is None else record.reason,
        )

    def _with_updates(self, entry: RecordCluster, group: Group) -> RecordCluster:
        """An entry with the updates that are merged with this pass, without those that are done."""
        if entry.name not in self._snapshot.source.own.clusters:
            return entry
        epoch = self._epoch(entry.name, group.unit)
        updates = self._overlaps.merged(group, entry.name, entry, epoch)
        return entry if updates == entry.updates else entry.model_copy(update={"updates": updates})

    def _entry(self, name: str, before: RecordCluster | None, group: Group, decision: Decision) -> RecordCluster:
        """What the record says of a cluster after a decision. It begins anew with the commit that writes the first files there."""
        waits = self._snapshot.defers(group, name)
        state = "Waking" if waits else decision.state(name)
        between = decision.moving.without_files if decision.moving is not None else frozenset()
        arrives = (name in between and state == "Placed") or (
            before is not None and before.state == "Waking" and not waits
        )
        if before is not None and not arrives and (state == before.state or state == "Placed"):
            known = _with_evidence(
                before, decision, counted=name in self._snapshot.source.own.clusters and name not in decision.frozen
            )
            kept = known.model_copy(update={"state": state})
            return self._with_updates(kept, group) if name in written_on(decision) and not waits else kept
        epoch = self._last_epoch(name, group.unit) if waits else self._epoch(name, group.unit)
        return RecordCluster(
            name=name, state=state, since=self._snapshot.now, epoch=epoch,
            reason=_taken_by(name, decision) or (before.reason if before is not None else None),
            role=decision.role_on(name), counts=recorded_counts(decision.counts_on(name)),
        )  # fmt: skip

    def _moves(
        self, decision: Decision, record: PlacementRecord | None, begins: bool
    ) -> tuple[RecordMoved, ...] | None:
        """The relocations that are worth remembering, with one that begins, or that is taken back, and with what clusters have that are lost meanwhile."""
        known = record.moves or () if record is not None else ()
        kept = remembered(record, self._snapshot)
        if decision.hold_until is not None and known:  # it was taken back, whatever else became of the group
            aborted = known[-1].model_copy(update={"aborted": True})
            known, kept = (*known[:-1], aborted), (*kept[:-1], aborted)
        left = {name: self._epoch(name, WORKLOADS) for name in self._lost_meanwhile(decision)}
        if not begins:
            if left and known:
                last = known[-1]
                last = last.model_copy(
                    update={"epochs": {**(last.epochs or {}), **left}, "lost_at": self._snapshot.now}
                )
                known = (*known[:-1], last)
            return known or None
        move = decision.move
        gone = move.sources if move is not None else tuple(sorted(set(decision.before) - set(decision.after)))
        lost = decision.finding.code is Reason.CLUSTER_LOST
        began = RecordMoved(
            at=self._snapshot.now, source=gone, reason=decision.finding.code,
            to=move.targets if move is not None else tuple(sorted(set(decision.after) - set(decision.before))),
            epochs=({name: self._epoch(name, WORKLOADS) for name in gone} if lost else {}) | left or None,
        )  # fmt: skip
        return (*kept, began)

    def _lost_meanwhile(self, decision: Decision) -> tuple[str, ...]:
        """The clusters that a group leaves in the middle of a relocation without being seen to be gone, because they are lost; sorted."""
        moving = decision.moving
        if moving is None:
            return ()
        left = {*decision.files_before, *moving.sources} - set(decision.after)
        clusters = self._snapshot.source.own.clusters
        silent = silent_clusters(self._snapshot) if left else {}
        return tuple(
            name
            for name in sorted(left)
            if name not in clusters or clusters[name].spec.state == "Lost" or name in silent
        )

    def _approvals(self, decision: Decision, record: PlacementRecord | None) -> tuple[str, ...] | None:
        """The Approvals that were carried out, as long as the source has them."""
        known = record.approvals or () if record is not None else ()
        if not decision.consent:
            return known or None
        there = self._snapshot.source.own.approvals.identities
        return (*(item for item in known if item in there), decision.consent)

    def _claimed_room(self, decision: Decision, record: PlacementRecord | None) -> RecordClaim | None:
        """The claim as it stands, or a new one, which dates from the commit that removes those who leave."""
        claim, known = decision.claim, record.claim if record else None
        if claim is None:
            return None
        if known is not None and (known.cluster, known.displaced) == (claim.cluster, claim.displaced):
            return known
        epoch = self._epoch(claim.cluster, WORKLOADS)
        return RecordClaim(cluster=claim.cluster, displaced=claim.displaced, since=self._snapshot.now, epoch=epoch)


def _taken_by(cluster: str, decision: Decision) -> str | None:
    """Why a cluster was taken, where that is worth remembering."""
    finding = decision.reasons.get(cluster)
    return None if finding is None or finding.code in (Reason.FITS, Reason.PLATFORM) else finding.code.value


def _with_evidence(entry: RecordCluster, decision: Decision, *, counted: bool) -> RecordCluster:
    """
    An entry with the first snapshot that showed that its job, which should leave, has not started, none if it may stay; with the
    first that showed that it has ended; and with the first that showed that its pods have waited too long, none if they do not. If it is `counted`, its files are those that the decision says; on a cluster that is gone
    they stay what they were.
    """
    if counted:
        now = {"counts": recorded_counts(decision.counts_on(entry.name)), "role": decision.role_on(entry.name)}
        entry = entry.model_copy(update=now)
        if entry.name in decision.reasons:  # it takes more of the group, on the strength of that
            entry = entry.model_copy(update={"reason": _taken_by(entry.name, decision)})
    seen = decision.unstarted.get(entry.name)
    first = entry.unstarted_at or seen if seen is not None else None
    ended = decision.ended.get(entry.name)
    late = decision.pending.get(entry.name)
    pending = entry.pending_at or late if late is not None else None
    if (first, ended, pending) == (entry.unstarted_at, entry.ended_at, entry.pending_at):
        return entry
    return entry.model_copy(update={"unstarted_at": first, "ended_at": ended, "pending_at": pending})


def _dispatch(decision: Decision, record: PlacementRecord | None) -> RecordDispatch | None:
    """To whom it is left where a group starts; while it leaves the manager, where it may have been started before."""
    left, known = decision.dispatch, record.dispatch if record is not None else None
    if left is None:
        return known if known is not None and known.manager in decision.after else None
    return RecordDispatch(policy=left.policy, manager=left.manager, queue=left.queue, nominated=left.nominated)


def _finished(decision: Decision, record: PlacementRecord | None) -> RecordFinished | None:
    if decision.finished is None:
        return record.finished if record is not None else None
    return RecordFinished(
        phase="Failed" if decision.finished.phase == "Failed" else "Succeeded", at=decision.finished.at
    )
