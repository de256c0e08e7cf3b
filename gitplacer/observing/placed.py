"""
Which objects of a cluster gitplacer put there: by the records of the deployment repo.

Nothing in a cluster says it. Manifests are deployed byte for byte as they were reviewed, so no label is added that would name a
group, and what a group is called may come from a label, a directory or a namespace. The records know each object of each group, on
whatever cluster, so an object is of a group if a record says so. One that is not in any record is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.workload import Identity
from gitplacer.scheduler.reading import cursor_of
from gitplacer.workloads import kind_of
from gitplacer.workloads.remoteworkers import workers_name

GROUP = "ray.io/group"
_DEPLOYMENT = ("apps", "Deployment")


class Placed(Struct, frozen=True):
    """
    Objects that become pods, by identity, each with the id of its group. `members` are all objects of all groups, `kinds_here`
    (API group, kind) of those that become pods and may be on the cluster. `remotes` are Ray apps, by namespace and name, whose
    workers may run as Deployments where their head is not; a record tells the app, and each worker group has a Deployment. `epochs` are
    those of the cluster's sync units in the same commit as the records, None where nobody looked.
    """

    groups: Mapping[Identity, str] = field(default_factory=dict)
    members: frozenset[Identity] = frozenset()
    kinds_here: frozenset[tuple[str, str]] = frozenset()
    remotes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    epochs: Mapping[str, int] | None = None

    @staticmethod
    def on(cluster: str, records: Iterable[PlacementRecord]) -> Placed:
        """
        What records say. An object of two groups, as when a group got another name, is of the one that the cluster has.
        """
        found: dict[Identity, tuple[bool, str]] = {}
        members: set[Identity] = set()
        kinds: set[tuple[str, str]] = set()
        remotes: dict[tuple[str, str], str] = {}
        for record in records:
            members.update(member.identity for member in record.members)
            away = all(name != cluster for name, _ in record.having)  # Kueue may start it where it is nominated
            for member in record.members:
                if member.only == "Remote":
                    remotes[member.namespace, member.name] = record.id
                    if not away:
                        kinds.add(_DEPLOYMENT)
                    continue
                if _makes_pods(member.identity, declared=bool(member.declared)):
                    rank = (away, record.id)
                    found[member.identity] = min(found.get(member.identity, rank), rank)
                    if not away:
                        kinds.add(member.identity[:2])
        return Placed(
            {identity: group for identity, (_, group) in found.items()}, frozenset(members), frozenset(kinds), remotes
        )

    def kinds(self) -> tuple[tuple[str, str], ...]:
        """(API group, kind) of all these objects, sorted."""
        kinds = {(identity.api_group, identity.kind) for identity in self.groups}
        return tuple(sorted(kinds | ({_DEPLOYMENT} if self.remotes else set())))

    def of_remote_workers(self, identity: Identity, value: Mapping[str, Any]) -> str | None:
        """The group whose workers a Deployment has, if it is one that gitplacer made for a Ray app whose head is elsewhere."""
        if not self.remotes or identity[:2] != _DEPLOYMENT:
            return None
        labels = cursor_of(value).mapping("spec").mapping("template").mapping("metadata").labels("labels")
        for (namespace, app), group in self.remotes.items():
            if namespace == identity.namespace and workers_name(app, labels.get(GROUP, "")) == identity.name:
                return group
        return None


def _makes_pods(identity: Identity, *, declared: bool) -> bool:
    return declared or kind_of((identity.api_group, identity.kind)) is not None
