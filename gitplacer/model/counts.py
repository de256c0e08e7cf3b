"""
How many of its pods an object has on one cluster, where that is not what its manifest says.

A group that is divided over clusters has on each of them the same objects with other numbers: five of ten replicas here, three
of five workers there. Such a number belongs to a role of an object: `pod` of a Deployment, `worker/<groupName>` of anything with
a Ray cluster. Which field of a manifest says it is the business of the object's kind (`workloads.scaling`); what is edited for it,
and what the pods are then, follows from the manifest and these numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from gitplacer.model.workload import Identity


class Count(NamedTuple):
    """
    The number of replicas of one role, and the bounds between which something in the cluster may change it. None: as the
    manifest says. A replica of a worker group with several hosts is a slice: all of its hosts.
    """

    replicas: int | None = None
    minimum: int | None = None
    maximum: int | None = None


class Part(NamedTuple):
    """A role of an object."""

    object: Identity
    role: str


class Counts(Struct, frozen=True):
    """The counts of a group on one cluster; what is not among them is as the manifest says. Equal ones are alike in order too."""

    items: tuple[tuple[Part, Count], ...] = ()

    @staticmethod
    def of(counts: Mapping[Part, Count]) -> Counts:
        """Counts of parts, in whatever order; such as say nothing are left out."""
        return Counts(tuple(sorted((part, count) for part, count in counts.items() if count != Count())))

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[tuple[Part, Count]]:
        return iter(self.items)

    def get(self, part: Part) -> Count:
        """The count of a part; `Count()` where it is as the manifest says."""
        return dict(self.items).get(part, Count())

    def of_object(self, identity: Identity) -> dict[str, Count]:
        """The counts of one object, by role."""
        return {part.role: count for part, count in self.items if part.object == identity}

    def of_member(self, identity: Identity) -> Counts:
        """Those counts that are of one object."""
        return Counts(tuple(item for item in self.items if item[0].object == identity))


AS_WRITTEN = Counts()
"""Every object as its manifest says."""
