"""
Why a group stays exactly as it is, whatever its policy says.

A bad input holds its own group and nothing else: what could not be read, what a person changed in the deployment repo,
what only an Approval may remove. Nothing is ever removed because something could not be read.
"""

from __future__ import annotations

from collections.abc import Set

from gitplacer.grouping import Group
from gitplacer.kinds.record import RECORDS, PlacementRecord
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.model.decision import Finding, Reason
from gitplacer.policies.selection import selects
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import Consent, consent_to
from gitplacer.source.manifests import PLATFORM, WORKLOADS


def held(snapshot: Snapshot, group: Group, record: PlacementRecord | None) -> Finding | None:
    """Why a group must stay exactly as it is whatever its policy says, or None."""
    lost_sight = {broken.partition("/")[0] for broken in snapshot.broken_records}
    if group.id in snapshot.broken_records or (record is None and group.namespace in lost_sight):
        # What cannot be read may be the record of this very group, under the id that it had.
        return Finding(code=Reason.BROKEN_RECORD)
    foreign = foreign_changes(snapshot, group.id, record)
    if foreign:
        return Finding(code=Reason.FOREIGN_CHANGE, subject=", ".join(foreign))
    revert = snapshot.reverted.get(group.id)
    if revert is not None and group.singletons and revert.left and not _may_restart(group):
        return Finding(code=Reason.REVERT_REFUSED, subject=", ".join(revert.left))
    files = {member.path for member in (*group.members, *group.shared)}
    unread = sorted({*unreadable_sources(snapshot, record), *(files & snapshot.source.broken_files)})
    if unread:
        return Finding(code=Reason.UNREADABLE_SOURCE, subject=", ".join(unread))
    undeclared = undeclared_members(snapshot, record)
    if undeclared:
        return Finding(code=Reason.UNDECLARED_KIND, subject=", ".join(undeclared))
    overrides = [b for b in snapshot.source.own.broken_policies if b.kind == "OverridePolicy"]
    if any(b.select is None or _selects_some(b.select, group, snapshot) for b in overrides):
        return Finding(code=Reason.BROKEN_POLICY, subject=", ".join(b.name for b in overrides if b.name))
    torn = [b for b in snapshot.source.own.broken_policies if b.kind == "PlacementPolicy"]
    nameless = any(b.name is None for b in torn) or bool(snapshot.source.torn)
    by_record = record is not None and (
        any(b.name == record.policy for b in torn)
        or (nameless and all(policy.name != record.policy for policy in snapshot.source.own.policies))
    )
    unknown = not (record and record.clusters) and any(b.select is None for b in torn)
    if group.under_broken_policy or by_record or unknown:
        return Finding(code=Reason.BROKEN_POLICY, subject=record.policy if record else "")
    if group.problems:
        codes = {problem.code for problem in group.problems}
        if codes == {"NoPolicy"}:
            return Finding(code=Reason.NO_POLICY)
        return Finding(code=Reason.HAS_PROBLEMS, subject=", ".join(sorted(codes)))
    return None


def _may_restart(group: Group) -> bool:
    """Whether the policy lets what may have started start again elsewhere."""
    return group.policy is not None and group.policy.spec.relocation.running_jobs == "Restart"


def _selects_some(select: ObjectSelector, group: Group, snapshot: Snapshot) -> bool:
    return any(selects(select, m, snapshot.source.namespace_labels) for m in (*group.members, *group.shared))


Refused = Set[tuple[str, str, str]]
"""A file, and API group and kind of an object in it, of groups that are new and held."""


def refused(snapshot: Snapshot) -> Refused:
    """What stands in the source, was never deployed, and is not let in."""
    new = (g for g in snapshot.groups.values() if g.problems and snapshot.predecessor(g) is None)
    return {(m.path, m.identity.api_group, m.identity.kind) for group in new for m in group.members}


def kept(snapshot: Snapshot, record: PlacementRecord, refused_: Refused) -> Finding | None:
    """
    Why what is deployed of a group stays, though the source has no such group; None if it is to be removed. Where one of its kind that is `refused` has
    come to its file it may be the same by another name: nothing runs under that, so nothing is taken away for it.
    """
    instead = {m.source for m in record.members if (m.source, m.identity.api_group, m.identity.kind) in refused_}
    unread = sorted({*unreadable_sources(snapshot, record), *instead})
    if unread:
        return Finding(code=Reason.UNREADABLE_SOURCE, subject=", ".join(unread))
    undeclared = undeclared_members(snapshot, record)
    if undeclared:
        return Finding(code=Reason.UNDECLARED_KIND, subject=", ".join(undeclared))
    foreign = foreign_changes(snapshot, record.id, record)
    if foreign:
        return Finding(code=Reason.FOREIGN_CHANGE, subject=", ".join(foreign))
    if (
        record.is_platform
        and record.clusters
        and _is_there(snapshot, record)
        and not consent_to_removal(snapshot, record)
    ):
        return Finding(code=Reason.REMOVAL_NEEDS_APPROVAL, subject=", ".join(sorted(c.name for c in record.clusters)))
    return None


def consent_to_removal(snapshot: Snapshot, record: PlacementRecord | None) -> Consent | None:
    """The Approval by which platform objects of a group may be removed, if there is one."""
    if record is None:
        return None
    used = record.approvals or ()
    return consent_to(snapshot.source.own.approvals, record.id, "Remove", snapshot.now, carried_out=used)


def _is_there(snapshot: Snapshot, record: PlacementRecord) -> bool:
    root = snapshot.source.own.fleet.spec.deployment.root
    paths = (f"{root}/{c.name}/{PLATFORM}/{m.file}" for c in record.clusters for m in record.members)
    return any(path in snapshot.deployment for path in paths)


def unreadable_sources(snapshot: Snapshot, record: PlacementRecord | None) -> list[str]:
    """
    Files that cannot be read now and that a recorded group came from, or that speak of a member which is nowhere
    else: a file may have been renamed and broken in one commit. Those of members that are in no group any more and of which something cannot
    be read, as whom they are for. And one that may declare what a member is.
    """
    source = snapshot.source
    if record is None:
        return []
    declarations = source.declarations
    unread = {declarations.unknown for m in record.members if declarations.may_be_about(m.identity[0], m.identity[1])}
    if snapshot.adrift:
        unread |= {snapshot.adrift[m.identity] for m in record.members if m.identity in snapshot.adrift}
    if source.broken_files:
        gone = [m.name for m in record.members if m.identity not in source.identities]
        unread |= {m.source for m in record.members if _is_unread(m.source, source.broken_files)}
        unread |= set(source.unread_mentions(gone, record.metadata.namespace))
    return sorted(unread)


def undeclared_members(snapshot: Snapshot, record: PlacementRecord | None) -> list[str]:
    """
    Members that became pods by a WorkloadKind, and are in the source still while no WorkloadKind says so any more. It may
    be misspelt, moved or removed by mistake; nobody removed the app.
    """
    if record is None or not record.clusters:
        return []
    sized, there = snapshot.source.sized_identities, snapshot.source.identities
    found = [m.identity for m in record.members if m.declared]
    return sorted(str(identity) for identity in found if identity in there and identity not in sized)


def _is_unread(path: str, broken: frozenset[str]) -> bool:
    """Whether a file, or a folder that it was in, cannot be read: a link may stand where the folder was."""
    parts = path.split("/")
    return any("/".join(parts[:depth]) in broken for depth in range(1, len(parts) + 1))


def foreign_changes(snapshot: Snapshot, group_id: str, record: PlacementRecord | None) -> list[str]:
    """
    Paths of a group in the deployment repo that somebody else changed. A platform file that the source no longer has
    may be removed by hand: that is how its removal is consented to.
    """
    if not snapshot.foreign_paths:
        return []
    root = snapshot.source.own.fleet.spec.deployment.root
    own = {f"{RECORDS}/{group_id}.yaml"}
    if record is not None:
        own |= {f"{RECORDS}/{record.id}.yaml"}
        places = [
            (name, unit, m) for name, _ in record.having for unit in (WORKLOADS, PLATFORM) for m in record.members
        ]
        for cluster, unit, member in places:
            path = f"{root}/{cluster}/{unit}/{member.file}"
            gone = unit == PLATFORM and path not in snapshot.deployment
            if not gone or member.identity in snapshot.source.identities:
                own.add(path)
    return sorted(own & snapshot.foreign_paths)
