"""
Karpenter's node pools: through which of them a type can come, and what its nodes are then.

A pool's requirements are held against the labels of the type. What a label of the instance type has to say (its family,
its generation, its GPU) must be written on the type: if it is not, the requirement is not met, because a machine that
was counted on and never comes is worse than one that was overlooked. Other labels Karpenter itself gives to the node,
from what the pool allows; where it allows several zones, capacity types or values of a team's own label, a new machine
may be any of them, and is one type for each. A pod that asks for one gets a machine with it; a pod that does not
ask gets any.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gitplacer.kinds.machines import NodePool
from gitplacer.machines.merging import Merged
from gitplacer.machines.types import CAPACITY_TYPE, NODE_POOL, ZONE
from gitplacer.model.labels import Labels, Requirement, Taint

MOST_VARIANTS = 64
"""Of one type in one pool. Labels that would make more are left off; pods that select them are promised no machine."""

_OF_THE_INSTANCE = ("node.kubernetes.io/", "karpenter.k8s.", "karpenter.azure.com/")
"""Prefixes of labels that only the instance type can have, and nobody can choose."""
_OF_THE_IMAGE = ("kubernetes.io/arch", "kubernetes.io/os")
"""Seldom written on a type; believed where a pool allows one value, and left off where it allows several."""


class Variant(Struct, frozen=True):
    """A type as it comes through a pool, with one value for each label that the pool leaves open."""

    pool: NodePool
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...]
    spot: bool
    chosen: tuple[tuple[str, str], ...]


def unmet(type_: Merged, pool: NodePool, labels: Labels) -> Requirement | None:
    """The first requirement of a pool that a type does not meet, or None."""
    known = _known(type_, pool, labels)
    for requirement in _requirements(pool):
        if requirement.key in known:
            if not requirement.matches(known):
                return requirement
        elif (
            requirement.operator in ("Gt", "Lt")
            or _is_fixed(requirement.key, requirement.operator)
            or (requirement.operator == "In" and not _choices(pool, requirement.key))
        ):
            return requirement
    return None


def variants(type_: Merged, pool: NodePool, labels: Labels) -> Iterator[Variant]:
    """What can come of a type that meets a pool's requirements; `labels` are those it has without the pool."""
    known = _known(type_, pool, labels)
    open_ = {r.key: _choices(pool, r.key) for r in _requirements(pool) if r.operator == "In" and r.key not in known}
    chosen: list[dict[str, str]] = [{}]
    for key in sorted(open_, key=lambda key: (key != ZONE, key != CAPACITY_TYPE, key)):
        values = open_[key]
        if (key in _OF_THE_IMAGE and len(values) > 1) or len(chosen) * len(values) > MOST_VARIANTS:
            continue
        chosen = [{**before, key: value} for before in chosen for value in values]
    taints = (*type_.taints, *(field.taint() for field in pool.taints))
    for choice in chosen:
        all_labels = {**known, **choice}
        spot = bool(type_.spot) or all_labels.get(CAPACITY_TYPE) == "spot"
        yield Variant(pool, tuple(sorted(all_labels.items())), taints, spot, tuple(sorted(choice.items())))


def _known(type_: Merged, pool: NodePool, labels: Labels) -> dict[str, str]:
    """The labels that are settled before anybody chooses."""
    derived = {} if type_.spot is None else {CAPACITY_TYPE: "spot" if type_.spot else "on-demand"}
    return {**derived, **labels, **pool.labels, NODE_POOL: pool.name}


def _requirements(pool: NodePool) -> tuple[Requirement, ...]:
    return tuple(field.requirement() for field in pool.requirements)


def _is_fixed(key: str, operator: str) -> bool:
    return key.startswith(_OF_THE_INSTANCE) and operator in ("In", "Exists")


def _choices(pool: NodePool, key: str) -> tuple[str, ...]:
    """The values that all requirements of a pool on a label allow, those of In, sorted."""
    about = [r for r in _requirements(pool) if r.key == key]
    values = {value for r in about if r.operator == "In" for value in r.values}
    return tuple(sorted(value for value in values if all(r.matches({key: value}) for r in about)))
