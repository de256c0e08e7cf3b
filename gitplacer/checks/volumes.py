"""
Volumes that one pod at a time may have, or one node.

Of the first kube-scheduler keeps every other pod that names the claim off all nodes, so a gang with two such pods never runs as a whole, wherever
it goes (pkg/scheduler/framework/plugins/volumerestrictions). Of the second it does not mind: it places the pods on several nodes, and those on
other nodes than the one to which the volume was attached wait for it for ever (pkg/controller/volume/attachdetach, "Multi-Attach error"). Drivers
that attach nothing, such as those of network file systems, let them start all the same, so that is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from gitplacer.documents import Path
from gitplacer.grouping import Group
from gitplacer.known import Claims, Known, Told, tell
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import ObjectFacts, Role

_Counted = Callable[[Role], bool]


def check(known: Known, group: Group) -> Iterator[Told]:
    """Claims for one pod, or for one node, that several pods of a gang name, on whatever cluster it is."""
    if group.unit != WORKLOADS:
        return
    gang = group.policy is not None and group.policy.spec.placement.admission == "Gang"
    if gang:  # else its pods may wait in the cluster
        for member, name, users in _shared(known, group, known.claims_for_one_pod, lambda role: True):
            yield tell(
                member,
                "ClaimForOnePod",
                f"PersistentVolumeClaim {name} is ReadWriteOncePod, and {users} pods of the group have it",
                "use ReadWriteMany, or give each pod a claim of its own, by an ephemeral volume or a StatefulSet",
                _place(member, name),
            )
    for member, name, users in _shared(known, group, known.claims_for_one_node, _goes_anywhere):
        yield tell(
            member,
            "ClaimForOneNode",
            f"PersistentVolumeClaim {name} is ReadWriteOnce, and {users} pods of the group have it: they may be placed on several nodes, "
            "and all but those on one of them wait for the volume for ever if its driver attaches it",
            "use ReadWriteMany, give each pod a claim of its own, or keep the pods on one node by podAffinity with topologyKey: kubernetes.io/hostname",
            _place(member, name),
        )


def _shared(known: Known, group: Group, claims: Claims, counted: _Counted) -> Iterator[tuple[SourceObject, str, int]]:
    """Those of some claims that several of the pods of a group name that count, with one who does, and how many pods."""
    if not claims:
        return
    named = {claim: member for member in reversed(group.members) for claim in _users(member, member.facts, counted)}
    for claim in sorted(named.keys() & claims):
        everywhere = [[m.facts for m in group.members]]
        everywhere += [[known.facts(m, name) for m in group.members] for name in known.eligible(group)]
        users = min(_pods(group.members, facts, counted)[claim] for facts in everywhere)
        if users > 1:
            yield named[claim], claim[1], users


def _place(member: SourceObject, name: str) -> Path:
    found = (r.path for r in member.facts.needs if (r.kind, r.name) == ("PersistentVolumeClaim", name))
    return next(found, ())


def _goes_anywhere(role: Role) -> bool:
    """Whether pods of a role may come to other nodes than those beside them, as far as they say."""
    shape = role.shape
    beside = any(term.topology_key == HOSTNAME for term in shape.pod_affinity)
    return not (beside or shape.node_name or any(key == HOSTNAME for key, _ in shape.node_selector))


def _pods(members: Sequence[SourceObject], facts: Sequence[ObjectFacts], counted: _Counted) -> Counter[tuple[str, str]]:
    """How many pods name each claim, by its namespace and name."""
    each = (_users(member, known, counted) for member, known in zip(members, facts, strict=True))
    return sum(each, Counter[tuple[str, str]]())


def _users(member: SourceObject, facts: ObjectFacts, counted: _Counted) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for role in filter(counted, facts.roles):
        for name in {claim.name for claim in role.named.claims if claim.of == "namespace"}:
            found[member.identity.namespace, name] += role.count
    return found
