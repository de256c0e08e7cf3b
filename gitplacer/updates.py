"""
What an update does where the app runs: deployed files against those that would replace them.

A changed line may cost a second Ray cluster, orphan pods, do nothing at all, or be refused by the API server; which it is,
follows from the object as it is deployed and as it would be. Only files that change are read, so that a pass costs what
changed. An error keeps the deployed files as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitplacer.documents import parse
from gitplacer.grouping import Group
from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.workload import Identity
from gitplacer.placement.eligibility import api_not_served, is_custom, serves
from gitplacer.placement.updating import Edited
from gitplacer.problems import Problem, Severity
from gitplacer.relocation.evidence import is_stale
from gitplacer.snapshot import Snapshot
from gitplacer.source.allowances import not_allowed
from gitplacer.source.kindnames import RAY_GROUP
from gitplacer.source.manifests import PLATFORM, SourceObject, identity_of
from gitplacer.workloads.edits import Effect, effects, finished_edit
from gitplacer.workloads.edits.effect import standing

_FINISHED = ("Succeeded", "Failed")
_STILL_NAMED = {
    "RayJob": "let the job be as it is until it is done, and give the RayJob a new name for the next",
    "RayService": "keep the old one in the group, by its policy's groupBy, until a Ray cluster of the new spec has taken over",
}
"""The kinds whose Ray cluster KubeRay never gives another spec, and what to do about what it names."""


class Updates:
    """The deployed side is read when somebody asks, and the answers are problems of the manifest in the source."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def problems(
        self, group: Group, cluster: str, members: Iterable[SourceObject], path: str, written: bytes
    ) -> list[Problem]:
        """What writing a file of a group over that at `path` of the deployment repo would do; [] if what it says."""
        found: list[Problem] = []
        for edited in self.edited(members, path, written):
            member, old, new = edited.member, edited.before, edited.after
            told = [_problem(member, effect, cluster) for effect in self._effects(group, cluster, member, old, new)]
            told += self._taken_away(group, cluster, edited)
            found += not_allowed(told, member.annotations)
        return found

    def unserved(self, group: Group, cluster: str) -> Iterator[Problem]:
        """
        The objects that come to a group on a cluster where it is, of APIs that the cluster is known not to serve. What is deployed
        already is not asked about: if that cannot be applied, it is so without the edit.
        """
        capacity, record = self._snapshot.capacity.get(cluster), self._snapshot.predecessor(group)
        there = self._snapshot.source.own.clusters[cluster]
        if group.unit == PLATFORM or capacity is None or is_stale(there, capacity, self._snapshot.now):
            return
        if api_not_served(group, capacity) is None:
            return
        known = {member.identity for member in record.members} if record is not None else set[Identity]()
        for member in (*group.members, *group.shared):
            api = member.api_version
            if member.identity not in known and is_custom(member) and not serves(capacity, api):
                message = f"{member.identity} is of {api}, which {cluster} does not serve, and its group runs there"
                hint = f"let {cluster} serve it first, or take the object out: the whole edit waits for that"
                told = member.document.problem("KindNotServed", message, hint, path=("apiVersion",))
                yield from not_allowed([told], member.annotations)

    def edited(self, members: Iterable[SourceObject], path: str, written: bytes) -> list[Edited]:
        """The objects that writing a file over that at `path` of the deployment repo would change."""
        before, after = _objects(self._snapshot.deployment.read(path)), _objects(written)
        return [
            Edited(member, old, new)
            for member in members
            if (old := before.get(member.identity)) is not None
            and (new := after.get(member.identity)) is not None
            and old != new
        ]

    def _effects(
        self, group: Group, cluster: str, member: SourceObject, old: Mapping[str, object], new: Mapping[str, object]
    ) -> Iterator[Effect]:
        finished = (
            finished_edit(old, new, runs_once=member.facts.finishes)
            if self._has_finished(group, cluster, member)
            else None
        )
        if finished is not None:
            yield finished
        else:
            profile = self._snapshot.profiles[cluster]
            yield from effects(old, new, profile.version or None, profile.operator)

    def _taken_away(self, group: Group, cluster: str, edited: Edited) -> Iterator[Problem]:
        """
        What a group has no more and the Ray cluster of a RayJob or RayService goes on to name: KubeRay made that of the spec as it was, and
        writes no other one into it.
        """
        member, record = edited.member, self._snapshot.predecessor(group)
        hint = _STILL_NAMED.get(member.identity.kind) if member.identity.api_group == RAY_GROUP else None
        if hint is None or record is None or self._has_finished(group, cluster, member):
            return
        old = self._snapshot.deployed.objects(record, cluster).get(member.identity)
        recorded = {each.identity for each in record.members}
        for reference in old.needs if old is not None and old.gang else ():
            target = Identity(reference.api_group, reference.kind, member.identity.namespace, reference.name)
            if target in recorded and not _has(group, target) and not self._stays(target, record, cluster):
                message = f"{target} goes, and the Ray cluster of {member.identity} on {cluster} still names it: a pod that it makes anew does not start"
                path = standing(edited.after, reference.path)
                yield member.document.problem("StillNeeded", message, hint, path=path, severity=Severity.WARNING)

    def _stays(self, target: Identity, record: PlacementRecord, cluster: str) -> bool:
        """Whether another group keeps an object on a cluster."""
        others = (other for other, _ in self._snapshot.standing.get(target, ()) if other.id != record.id)
        return any(
            (group := self._snapshot.groups.get(other.id)) is not None
            and _has(group, target)
            and any(entry.name == cluster for entry in other.clusters)
            for other in others
        )

    def _has_finished(self, group: Group, cluster: str, member: SourceObject) -> bool:
        """Whether the cluster's snapshot says that a job is done. It speaks of a group that has no more than that job."""
        capacity = self._snapshot.capacity.get(cluster)
        if capacity is None or [m.identity for m in group.sized] != [member.identity]:
            return False
        there = capacity.running(group.id)
        return there is not None and there.phase in _FINISHED


def _has(group: Group, identity: Identity) -> bool:
    return any(member.identity == identity for member in (*group.members, *group.shared))


def _problem(member: SourceObject, effect: Effect, cluster: str) -> Problem:
    """An effect as a problem at the place in the source where it was edited."""
    message = f"{effect.message} (deployed on {cluster})"
    return member.document.problem(effect.code, message, effect.hint, path=effect.path, severity=effect.severity)


def _objects(data: bytes) -> dict[Identity, Mapping[str, object]]:
    """The objects of a file as it is deployed."""
    values = [document.value for document in parse(data).documents]
    return {identity: value for value in values if (identity := identity_of(value)) is not None}
