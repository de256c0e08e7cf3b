"""
What groups take of the ResourceQuotas of their namespaces, held against what these have left, over a round as far as it has come.

A pod beyond a quota is not made, on whatever node there is room, and its controller tries again for ever. Pods that a snapshot shows, on a
node or waiting for one, are among what it says is used. Of a quota that nobody has counted yet, since it only comes, all pods of the
groups that are there count; whatever else is in the namespace is not known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

from gitplacer.grouping import AS_DESIRED, Group
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NO_NAMES, PodSet
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.unseen import Unseen, objects_on
from gitplacer.workloads.facts import Role
from gitplacer.workloads.quotas import Quota, Usage, exceeds, wants

_Of = tuple[str, str]
"""The namespace and the name of a quota."""


class SpaceQuotas:
    """The ResourceQuotas on all clusters. Where none are known there is nothing to count."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        profiles = shared.snapshot.profiles
        self._there = {name: quotas for name in shared.snapshot.capacity if (quotas := profiles[name].quotas)}
        self._takers = _Takers(shared, self._there)
        self._unseen = Unseen(shared, occupancy, self._there, self._takers.taken)

    def refused(self, group: Group, name: str) -> Finding | None:
        """Why the quotas of a cluster's namespaces do not let in what a group has to come there; None if they do."""
        return self.refused_together((group.id,), name)

    def refused_together(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """The same of several groups, where some others are promised what they ask for."""
        if name not in self._there:
            return None
        for (namespace, quota_name), amounts in self._unseen.asked_together(ids, name).items():
            quota = next(each for each in self._there[name][namespace] if each.name == quota_name)
            promised = self._unseen.of_others(ids, name, (namespace, quota_name), beside)
            for each, wanted in amounts.items():
                if wanted + promised.get(each, 0) > quota.left(each):
                    return _refusal(exceeds(quota, namespace, each, wanted, promised.get(each, 0)))
        unsaid = self._takers.unsaid
        said = next((unsaid[group_id, name] for group_id in ids if (group_id, name) in unsaid), None)
        return None if said is None else _refusal(said)

    def counts(self, group_id: str, name: str) -> bool:
        """Whether something of a group counts on a cluster that its snapshot does not show."""
        return name in self._there and bool(self._unseen.asked(group_id, name))


class _Takers:
    """What groups take of quotas, for whoever adds it up."""

    def __init__(self, shared: Pass, there: Mapping[str, Mapping[str, tuple[Quota, ...]]]) -> None:
        self._pass, self._there = shared, there
        self.unsaid: dict[tuple[str, str], str] = {}
        """In words what a quota wants of containers of a group on a cluster that do not say it."""
        self._waiting: dict[str, dict[str, Counter[str]]] = {}
        self._spaces: dict[str, tuple[str, ...]] = {}
        self._bounds: dict[tuple[str, str], int] = {}
        self._numbers: dict[object, int] = {}
        self._whole: dict[tuple[object, ...], tuple[Mapping[_Of, Resources], str]] = {}
        """What groups take where none of their pods is seen. Clusters are many, and the quotas of a namespace mostly alike but for what is left."""

    def taken(self, group_id: str, name: str) -> Mapping[_Of, Resources]:
        """What a group takes of each quota of a cluster for pods that are not counted there yet, by names of quotas and of what they bound."""
        key = self._alike(group_id, name)
        found = self._whole.get(key) if key else None
        if found is None:
            found = self._found(group_id, name)
            if key:
                self._whole[key] = found
        amounts, unsaid = found
        self.unsaid.pop((group_id, name), None)
        if unsaid:
            self.unsaid[group_id, name] = unsaid
        return amounts

    def _alike(self, group_id: str, name: str) -> tuple[object, ...]:
        """What clusters have in common on which a group takes the same; () where some of it is seen, is held, or is on every node."""
        group, cluster = self._pass.groups.get(group_id), self._pass.clusters[name]
        if group is None or group_id in self._pass.held or self._pass.gangs[group_id].per_node:
            return ()
        if self._pass.books[name].shows(group_id) or group_id in self._waiting_on(name):
            return ()
        counts = self._pass.counts.get((group_id, name))
        bounds = tuple(self._bound(name, space) for space in self._spaces_of(group))
        role = self._pass.roles.get((group_id, name))
        return group_id, self._pass.snapshot.variants.sort(group, cluster), counts, role == "Remote", bounds

    def _spaces_of(self, group: Group) -> tuple[str, ...]:
        if group.id not in self._spaces:
            self._spaces[group.id] = group.namespaces
        return self._spaces[group.id]

    def _bound(self, name: str, namespace: str) -> int:
        """A number that the quotas of a namespace have in common on clusters on which they bound the same of the same pods."""
        key = name, namespace
        if key not in self._bounds:
            usual = self._pass.snapshot.profiles[name].priority_class(NO_NAMES)
            quotas = self._there[name].get(namespace, ())
            told = tuple((q.name, tuple(sorted(q.hard)), q.scopes, q.used is None) for q in quotas)
            self._bounds[key] = self._numbers.setdefault((usual, told), len(self._numbers)) if told else -1
        return self._bounds[key]

    def _found(self, group_id: str, name: str) -> tuple[Mapping[_Of, Resources], str]:
        """What a group takes of each quota, and in words what one wants that some container does not say."""
        found: dict[_Of, Resources] = defaultdict(lambda: NOTHING)
        unsaid = ""
        for namespace, role, used, quota, all_, unseen in self._counted(group_id, name):
            for each in quota.unsaid(used) if unseen else ():
                unsaid = unsaid or wants(quota, namespace, each, role)
            if count := all_ if quota.used is None else unseen:
                amounts = Resources({each: used.amounts.get(each, 0) for each in sorted(quota.hard)})
                found[namespace, quota.name] += amounts * count
        return {of: amounts for of, amounts in sorted(found.items()) if amounts}, unsaid

    def _counted(self, group_id: str, name: str) -> Iterator[tuple[str, str, Usage, Quota, int, int]]:
        """
        Each set of pods of a group with a quota that counts them: their namespace and role, what each takes, how many there are, and how many are
        not seen.
        """
        group, quotas = self._pass.groups.get(group_id), self._there[name]
        if group is not None and quotas.keys().isdisjoint(self._spaces_of(group)):
            return
        profile = self._pass.snapshot.profiles[name]
        objects = list(objects_on(self._pass, group_id, name, self._pass.snapshot.variants.counted))
        books = self._pass.books[name]
        reserve, with_peak = AS_DESIRED if group is None else group.reserves
        sets: list[PodSet] = []
        roles: list[tuple[str, Role]] = []
        for namespace, facts in objects:
            gang, of = facts.gang_for(reserve, with_peak=with_peak), facts.roles_for(reserve, with_peak=with_peak)
            for pods, role in zip(gang, of, strict=True):
                each = books.on_each_node((pods,))
                sets += each
                roles += [(namespace, role)] * len(each)
        waiting = Counter(self._waiting_on(name).get(group_id, {}))
        for (namespace, role), pods, left in zip(roles, sets, books.not_seen(group_id, tuple(sets)), strict=True):
            made = min(waiting[role.name], left.count)
            waiting[role.name] -= made
            for quota in quotas.get(namespace, ()):
                priority = profile.priority_class(role.named)
                if role.usage is not None and quota.counts(role.named, role.shape, role.usage, priority):
                    yield namespace, role.name, role.usage, quota, pods.count, left.count - made

    def _waiting_on(self, name: str) -> Mapping[str, Counter[str]]:
        """By group how many pods of each role a cluster's snapshot shows that wait for a node."""
        if name not in self._waiting:
            snapshot = self._pass.snapshot.capacity.get(name)
            self._waiting[name] = {
                group.name: Counter(pod.role for pod in group.pods if pod.node is None)
                for group in (snapshot.groups if snapshot is not None else ())
            }
        return self._waiting[name]


def _refusal(said: str) -> Finding:
    return Finding(code=Reason.QUOTA_EXCEEDED, subject=said)
