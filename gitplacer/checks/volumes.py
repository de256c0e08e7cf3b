"""
Volumes that one pod at a time may have: kube-scheduler keeps every other pod that names the claim off all nodes, so a gang with two
such pods never runs as a whole, wherever it goes (pkg/scheduler/framework/plugins/volumerestrictions).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import ObjectFacts

_Claim = tuple[str, str]
"""Namespace and name."""


def check(known: Known, group: Group) -> Iterator[Told]:
    """A ReadWriteOncePod claim that several pods of a gang name, on whatever cluster it is."""
    if group.unit != WORKLOADS or not known.claims_for_one_pod:
        return
    if group.policy is None or group.policy.spec.placement.admission != "Gang":
        return  # its pods may wait in the cluster
    named = {claim: member for member in reversed(group.members) for claim in _users(member, member.facts)}
    for claim in sorted(named.keys() & known.claims_for_one_pod):
        everywhere = [[m.facts for m in group.members]]
        everywhere += [[known.facts(m, name) for m in group.members] for name in known.eligible(group)]
        users = min(_pods(group.members, facts)[claim] for facts in everywhere)
        if users > 1:
            member, (_, name) = named[claim], claim
            at = next((r.path for r in member.facts.needs if (r.kind, r.name) == ("PersistentVolumeClaim", name)), ())
            yield tell(
                member,
                "ClaimForOnePod",
                f"PersistentVolumeClaim {name} is ReadWriteOncePod, and {users} pods of the group have it",
                "use ReadWriteMany, or give each pod a claim of its own, by an ephemeral volume or a StatefulSet",
                at,
            )


def _pods(members: Sequence[SourceObject], facts: Sequence[ObjectFacts]) -> Counter[_Claim]:
    """How many pods name each claim."""
    return sum((_users(member, known) for member, known in zip(members, facts, strict=True)), Counter[_Claim]())


def _users(member: SourceObject, facts: ObjectFacts) -> Counter[_Claim]:
    found: Counter[_Claim] = Counter()
    for role in facts.roles:
        for name in {claim.name for claim in role.named.claims if claim.of == "namespace"}:
            found[member.identity.namespace, name] += role.count
    return found
