"""
Groups that exchange members, and so can only be changed together.

Objects change groups when a label, a policy's `groupBy` or a reference is edited. What one group gains another loses:
if one of the two is held and the other is not, an object would be removed on one side without appearing on the other,
or be there twice. So groups and records that share an object are tied, and one that is held holds those it is tied to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from gitplacer.grouping import Group
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.relocation.evidence import seen_unstarted
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import SourceObject

Ties = Mapping[str, frozenset[str]]
"""Id of a group or record to the ids of all that it is tied to, itself included; those tied to nothing are left out."""


def ties(snapshot: Snapshot) -> Ties:
    """Which groups and records have an object in common, directly or through others."""
    near: dict[str, set[str]] = defaultdict(set)

    @cache  # what many groups share would be looked up by each of them in the records of all
    def owners(identity: Identity) -> frozenset[str]:
        standing = snapshot.standing.get(identity, ())
        return frozenset(record.id for record, place in standing if not place.is_shared)

    for group in snapshot.groups.values():
        predecessor = snapshot.predecessor(group)
        others = {predecessor.id} if predecessor is not None and predecessor.clusters else set()
        for member in (*group.members, *group.shared):
            others |= owners(member.identity)
        for other in others - {group.id}:
            near[group.id].add(other)
            near[other].add(group.id)
    found: dict[str, frozenset[str]] = {}
    for start in sorted(near):
        if start not in found:
            reached, frontier = {start}, [start]
            while frontier:
                fresh = near[frontier.pop()] - reached
                reached |= fresh
                frontier.extend(fresh)
            found |= dict.fromkeys(reached, frozenset(reached))
    return found


def homes(groups: Iterable[Group]) -> dict[Identity, str]:
    """In which group each object is; of one that several need, in the first of them."""
    found: dict[Identity, str] = {}
    for group in groups:
        for item in (*group.members, *group.shared):
            found.setdefault(item.identity, group.id)
    return found


def heirs(record: PlacementRecord, homes_: Mapping[Identity, str]) -> tuple[str, ...]:
    """The groups, sorted, that have the objects of a record now; none if one of these is gone."""
    found = [homes_.get(member.identity, "") for member in record.members if not member.is_shared]
    return tuple(sorted(set(found))) if all(found) else ()


def torn_singletons(snapshot: Snapshot) -> dict[str, Finding]:
    """
    Groups that would take a job from a cluster where it may have started, because the job is a member of theirs now
    and they are elsewhere, or that would start one again which has ended in another group; and those that have ended and got a
    member since then, which would never run. Each with why it is held.
    """
    found = {}
    for group in snapshot.groups.values():
        predecessor = snapshot.predecessor(group)
        here = {entry.name for entry in predecessor.clusters} if predecessor is not None else set()
        torn = [
            member
            for member in group.members
            for record, place in snapshot.standing.get(member.identity, ())
            for entry in record.clusters
            if member.facts.singleton
            and not place.is_shared
            and entry.name not in here
            and seen_unstarted(snapshot, entry, record.id, group.unit) is None
        ]
        known = predecessor.members if predecessor is not None and predecessor.finished is not None else ()
        over = {member.identity for member in known}
        torn += [
            member
            for member in group.members
            for record, _ in snapshot.standing.get(member.identity, ())
            if member.facts.finishes and record.finished is not None and member.identity not in over
        ]
        ended = predecessor is not None and predecessor.finished is not None
        joined = [member for member in group.sized if ended and member.identity not in over]
        if torn:
            found[group.id] = Finding(code=Reason.MAY_HAVE_STARTED, subject=_named(torn))
        elif joined:
            found[group.id] = Finding(code=Reason.JOINS_FINISHED, subject=_named(joined))
    return found


def _named(members: Iterable[SourceObject]) -> str:
    return ", ".join(sorted({str(member.identity) for member in members}))


def held_with(ties_: Ties, held: Iterable[str]) -> dict[str, Finding]:
    """What else is held because of what is held already, and with what."""
    stops = set(held)
    found = {}
    for member, tied in sorted(ties_.items()):
        if member not in stops and (others := tied & stops):
            found[member] = Finding(code=Reason.HELD_TOGETHER, subject=", ".join(sorted(others)))
    return found
