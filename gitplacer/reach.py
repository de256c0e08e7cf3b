"""
An object on a cluster where its volumes bind it to some nodes.

A volume in one zone is reached from the nodes of that zone only, and a class of storage may make volumes in some zones only. Pods
with such volumes go there or nowhere; so their shape on that cluster has what the volumes ask, and the fit need not know of
volumes at all. What a cluster does not say binds nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from msgspec import structs

from gitplacer.model.workload import ClaimSpec, PodVolumeClaim
from gitplacer.profiles import ClusterProfile, Reach
from gitplacer.workloads.facts import ObjectFacts, Role

Specs = Callable[[str], ClaimSpec | None]
"""What a claim of `<namespace>/<name>` asks for, as its manifest says."""


def bound(facts: ObjectFacts, namespace: str, profile: ClusterProfile, specs: Specs) -> ObjectFacts:
    """The facts of an object of a namespace with what its volumes ask of nodes."""
    if not profile.binds_volumes or not any(role.named.claims for role in facts.roles):
        return facts
    return facts.but(roles=tuple(found for role in facts.roles for found in _bound(role, namespace, profile, specs)))


def _bound(role: Role, namespace: str, profile: ClusterProfile, specs: Specs) -> Iterator[Role]:
    """
    The role itself, or, where its pods have volumes of their own in several places, a role for each place, in the order of its
    pods.
    """
    own = any(claim.of == "set" for claim in role.named.claims)
    if not own or not role.count:
        yield _at(role, _reach(role, 0, namespace, profile, specs))
        return
    counts: dict[Reach, int] = {}
    for number in range(role.count):
        reach = _reach(role, number, namespace, profile, specs)
        counts[reach] = counts.get(reach, 0) + 1
    if len(counts) == 1:
        yield _at(role, next(iter(counts)))
        return
    for reach, count in counts.items():
        yield _at(replace(role, count=count, minimum=count, maximum=count, surge=0), reach)


def _at(role: Role, reach: Reach) -> Role:
    return replace(role, shape=structs.replace(role.shape, volume_nodes=reach)) if reach else role


def _reach(role: Role, number: int, namespace: str, profile: ClusterProfile, specs: Specs) -> Reach:
    """What all volumes of a role's pod of a number ask."""
    found = (terms for claim in role.named.claims for terms in _of_claim(claim, number, namespace, profile, specs))
    return tuple(dict.fromkeys(found))


def _of_claim(claim: PodVolumeClaim, number: int, namespace: str, profile: ClusterProfile, specs: Specs) -> Reach:
    match claim.of:
        case "pod":
            return profile.reach_of("", claim.spec)
        case "set":
            return profile.reach_of(f"{namespace}/{claim.name}-{claim.first + number}", claim.spec)
    name = f"{namespace}/{claim.name}"
    return profile.reach_of(name, specs(name))
