"""
A group: what is placed as one, moves as one and is removed as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.tenant import Tenant
from gitplacer.links import RAY_KINDS
from gitplacer.model.workload import Gang, Identity
from gitplacer.problems import Problem
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads.facts import ObjectFacts, Reserve, reserved

AS_DESIRED: tuple[Reserve, bool] = ("Desired", False)
"""What nobody's policy asks for: room for the pods that are wanted, and not for those of an update."""
CLUSTER_ANNOTATION = "gitplacer.dev/cluster"
RELOCATION_ANNOTATION = "gitplacer.dev/relocation"
NO_NAMESPACE = "_cluster"
"""Stands for the namespace in the id of a platform group whose objects have none, or several."""


def holder(group_id: str, tenant: str = "") -> str:
    """To whom the room is counted that a group takes: its tenant, by name, or its namespace where it has none."""
    return f"Tenant/{tenant}" if tenant else namespace_of(group_id)


def namespace_of(group_id: str) -> str:
    """The namespace of a group's objects, which its id begins with."""
    return group_id.partition("/")[0]


class Group(Struct, frozen=True):
    """
    What is placed as one. `members` are its own objects and `shared` those that other groups need as well, in
    order of path; `problems` hold it where it is.
    """

    id: str
    unit: str
    policy: PlacementPolicy | None
    members: tuple[SourceObject, ...]
    shared: tuple[SourceObject, ...] = ()
    problems: tuple[Problem, ...] = ()
    under_broken_policy: bool = False
    tenant: Tenant | None = None

    @property
    def priority(self) -> int:
        """That of its policy, as far as its tenant may have it."""
        said = self.policy.spec.priority if self.policy is not None else 0
        most = self.tenant.spec.priority.max if self.tenant is not None else None
        return said if most is None else min(said, most)

    @property
    def holder(self) -> str:
        """To whom the room is counted that it takes: its tenant, or its namespace where there are none."""
        return holder(self.id, self.tenant.name if self.tenant is not None else "")

    @property
    def namespace(self) -> str:
        return namespace_of(self.id)

    @property
    def name(self) -> str:
        return self.id.split("/")[1]

    @property
    def gang(self) -> Gang:
        """The pods that its policy wants room for."""
        return self.gang_of(member.facts for member in self.members)

    def gang_of(self, facts: Iterable[ObjectFacts]) -> Gang:
        """The pods of objects, as many as the group's policy wants room for."""
        reserve, with_peak = self.reserves
        return reserved(facts, reserve, with_peak=with_peak)

    @property
    def reserves(self) -> tuple[Reserve, bool]:
        """For how many pods the group's policy wants room, and whether also for those of an update."""
        if self.policy is None:
            return AS_DESIRED
        return self.policy.spec.placement.reserve, self.policy.spec.update.reserve_peak

    @property
    def sized(self) -> tuple[SourceObject, ...]:
        return tuple(member for member in self.members if member.facts.sized)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Namespaces its objects live in, sorted."""
        return tuple(sorted({m.identity.namespace for m in (*self.members, *self.shared) if m.identity.namespace}))

    @property
    def wished_cluster(self) -> str | None:
        """The cluster an annotation asks for, within policy."""
        return next(
            (m.annotations[CLUSTER_ANNOTATION] for m in self.members if CLUSTER_ANNOTATION in m.annotations), None
        )

    @property
    def never_relocates(self) -> bool:
        return any(m.annotations.get(RELOCATION_ANNOTATION) == "Never" for m in self.members)

    @property
    def singletons(self) -> tuple[SourceObject, ...]:
        """Members of which two at once, or a second start elsewhere, would do harm."""
        return tuple(m for m in (*self.members, *self.shared) if m.facts.singleton)


def primary(members: Sequence[SourceObject]) -> SourceObject:
    """The object a group is named after: a Ray object before others, what others refer to before those."""

    def rank(item: SourceObject) -> tuple[int, int, Identity]:
        kind = item.identity.kind
        ray = item.identity.api_group == "ray.io" and kind in RAY_KINDS
        return (0 if item.facts.sized else 1, RAY_KINDS.index(kind) if ray else len(RAY_KINDS), item.identity)

    return min(members, key=rank)
