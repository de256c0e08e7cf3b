"""
How much each group takes of the ResourceQuotas of its namespaces: for pods that these do not count yet, and for what an edit of running pods adds.

An edit adds the pods that come beside those that run, or the amount by which new pods exceed those that they replace. While old and new pods are there
at once, both count until a snapshot shows otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gitplacer.grouping import AS_DESIRED, Group
from gitplacer.model.counts import AS_WRITTEN
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NO_NAMES, Gang, Identity, PodSet, PodShape
from gitplacer.placement.growths import Growth, overlap_of
from gitplacer.placement.onepass import Pass
from gitplacer.placement.onsite import objects_on
from gitplacer.placement.underway import running_group
from gitplacer.placement.updating import How, MemberUpdate, as_it_runs
from gitplacer.relocation.evidence import speaks_of
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads import brought
from gitplacer.workloads.facts import ObjectFacts, Reserve, Role
from gitplacer.workloads.quotas import Quota, Usage, exceeds, wants

Of = tuple[str, str]
"""The namespace and the name of a quota."""

_Amounts = Mapping[Of, Resources]


class _Lot(NamedTuple):
    """
    Pods of a role in a namespace, or objects that are a role's by their usage alone: their number, and how many of them no quota has counted yet, less
    than none where some are counted that go.
    """

    namespace: str
    role: Role
    number: int
    unseen: int


class NamespaceDemand:
    """What the groups of a pass take of ResourceQuotas; `there` has these by cluster and namespace."""

    def __init__(self, shared: Pass) -> None:
        profiles = shared.snapshot.profiles
        self.there = {name: quotas for name in shared.snapshot.capacity if (quotas := profiles[name].quotas)}
        self._pass = shared
        self.unsaid: dict[tuple[str, str], str] = {}
        """In words what a quota wants of containers of a group on a cluster that do not say it."""
        self._waiting: dict[str, dict[str, Counter[str]]] = {}
        self._spaces: dict[str, tuple[str, ...]] = {}
        self._bounds: dict[tuple[str, str], int] = {}
        self._numbers: dict[object, int] = {}
        self._whole: dict[tuple[object, ...], tuple[_Amounts, str]] = {}
        """What groups take where none of their pods is seen. Clusters are many, and the quotas of a namespace mostly alike but for what is left."""
        self._growths: dict[tuple[str, str], Growth[Of, str]] = {}

    def taken(self, group_id: str, name: str, *, edited: bool = True) -> _Amounts:
        """
        What a group takes of each quota of a cluster for pods that are not counted there yet, by names of quotas and of what they bound; one that is
        not `edited` yet, as it is deployed.
        """
        overlap = overlap_of(self._pass, self, group_id, name)
        if overlap is not None and overlap.updates:
            growth = self.growth(group_id, name, overlap.updates)
            return growth.after if edited else growth.before
        key = self._alike(group_id, name) if overlap is None else ()
        found = self._whole.get(key) if key else None
        if found is None:
            lots = self._lots(group_id, name) if overlap is None else self._lots_of_both(group_id, name)
            found = self._amounts(lots, name)
            if overlap is not None and overlap.last is not None:
                then, _ = self._amounts(self._lots_of_the_end(group_id, name, overlap.last), name)
                found = _most(found[0], then), found[1]
            if key:
                self._whole[key] = found
        amounts, unsaid = found
        self.unsaid.pop((group_id, name), None)
        if unsaid:
            self.unsaid[group_id, name] = unsaid
        return amounts

    def concerns(self, group: Group, name: str) -> bool:
        """Whether a group has pods in a namespace of a cluster that has quotas."""
        return not self.there[name].keys().isdisjoint(self._spaces_of(group))

    def parts(self, group: Group, name: str) -> Sequence[SourceObject]:
        """The objects of a group that quotas of a cluster may count."""
        return (
            group.members if any(self._counts_objects(name, each) for each in self._spaces_of(group)) else group.sized
        )

    # edits

    def exceeded(self, name: str, growth: Growth[Of, str], promised: _Amounts) -> str | None:
        """What a quota of a cluster has too little left of, in words."""
        for (namespace, quota_name), each, wanted in growth.more:
            of = namespace, quota_name
            quota = next(quota for quota in self.there[name][namespace] if quota.name == quota_name)
            others = promised.get(of, NOTHING).get(each, 0) - growth.before.get(of, NOTHING).get(each, 0)
            if wanted + others > quota.left(each):
                return exceeds(quota, namespace, each, wanted, others, more=quota.used is not None)
        return None

    def growth(self, group_id: str, name: str, updates: Sequence[MemberUpdate]) -> Growth[Of, str]:
        """What a group takes there as it is deployed, and as it is edited."""
        key = group_id, name
        if key not in self._growths:
            before, at_once, afterwards = self._edited(self._pass.groups[group_id], name, updates)
            was, unsaid_before = self._amounts(before, name)
            now, unsaid_now = self._amounts(at_once, name)
            then, unsaid_then = self._amounts(afterwards, name)
            after = _most(now, then)
            unsaid = "" if unsaid_before else unsaid_now or unsaid_then
            self._growths[key] = Growth(was, after, unsaid or None)
        return self._growths[key]

    def _edited(
        self, group: Group, name: str, edits: Sequence[MemberUpdate]
    ) -> tuple[list[_Lot], list[_Lot], list[_Lot]]:
        """The pods of a group before its edit, when there are most, and when all is done, or is when the last old one goes."""
        shared, (reserve, _) = self._pass, group.reserves
        record = shared.record(group.id)
        deployed = shared.snapshot.deployed.objects(record, name) if record is not None else {}
        updates = {update.identity: update for update in edits}
        running = self._running(group, name, deployed, updates, reserve)
        had, has, more = self._besides_edited(group, name, deployed, updates, reserve)
        at_once, afterwards = [*has, *more], [*has]
        for at, member in enumerate(group.members):
            update, was = updates.get(member.identity), running[at]
            if member.identity in deployed and (update is None or update.how is How.NOTHING):
                then, done = was, was
            else:
                then, done = self._replaced(group, name, member, was, update, reserve)
            at_once += then
            afterwards += done
        return [*had, *(lot for lots in running.values() for lot in lots)], at_once, afterwards

    def _running(
        self, group: Group, name: str, deployed: Mapping[Identity, ObjectFacts], updates: Mapping[Identity, MemberUpdate], reserve: Reserve
    ) -> dict[int, list[_Lot]]:  # fmt: skip
        """The pods of each member of a group as they run, by the member's place in it."""
        running = running_group(self._pass.snapshot.capacity.get(name), group.id)
        old: list[tuple[int, str, Role, PodSet]] = []
        for at, member in enumerate(group.members):
            facts = deployed.get(member.identity)
            if facts is None:
                continue
            gang = facts.gang_for(reserve, with_peak=False)
            gang = as_it_runs(gang, running) if member.identity in updates else gang
            for pods, role in zip(gang, facts.roles_for(reserve, with_peak=False), strict=True):
                each = self._pass.books[name].nodes.on_each((pods,))
                old += [(at, member.identity.namespace, role, one) for one in each]
        left = self._left(group.id, name, [(role, pods) for _, _, role, pods in old])
        found: dict[int, list[_Lot]] = defaultdict(list)
        for (at, namespace, role, pods), unseen in zip(old, left, strict=True):
            found[at].append(_Lot(namespace, role, pods.count, unseen))
        return found

    def _replaced(
        self, group: Group, name: str, member: SourceObject, was: Sequence[_Lot], update: MemberUpdate | None, reserve: Reserve
    ) -> tuple[list[_Lot], list[_Lot]]:  # fmt: skip
        """The pods of a member that is edited or added, in place of those that it has: when there are most, and when all is done."""
        shared, space = self._pass, member.identity.namespace
        counts = shared.counts.get((group.id, name), AS_WRITTEN)
        new = shared.snapshot.variants.counted(member, shared.clusters[name], counts)
        gang, roles = new.gang_for(reserve, with_peak=False), new.roles_for(reserve, with_peak=False)
        come = [
            _Lot(space, role, one.count, one.count)
            for pods, role in zip(gang, roles, strict=True)
            for one in shared.books[name].nodes.on_each((pods,))
        ]
        done = [*_instead(was, come)] if update is not None and _is_anew(update) else [*_grown(was, come)]
        if update is None or update.how is How.IN_PLACE or not update.waits:
            at_once = done
        elif update.how is How.ROLLING:
            surges = [_Lot(space, role, role.surge, role.surge) for role in new.roles if role.surge]
            at_once = [*_grown(was, come), *surges]
        else:
            at_once = [*was, *_beside(update, new, space)]
        last = _last(new, was) if update is not None and update.how is How.ROLLING else ()
        return at_once, [*done, *last]

    def _besides_edited(
        self, group: Group, name: str, deployed: Mapping[Identity, ObjectFacts], updates: Mapping[Identity, MemberUpdate], reserve: Reserve
    ) -> tuple[list[_Lot], list[_Lot], list[_Lot]]:  # fmt: skip
        """What comes besides the pods of a group before its edit, afterwards, and only while it is carried out."""
        shared, cluster, seen = self._pass, self._pass.clusters[name], self._are_there(group.id, name)
        counts = shared.counts.get((group.id, name), AS_WRITTEN)
        before, after, more = list[_Lot](), list[_Lot](), list[_Lot]()
        for member in group.members:
            identity, update = member.identity, updates.get(member.identity)
            if not self._counts_objects(name, identity.namespace):
                continue
            old, new = deployed.get(identity), shared.snapshot.variants.counted(member, cluster, counts)
            was = [] if old is None else [*self._besides(name, identity, old, reserve, seen=seen)]
            before += was
            stays = old is not None and (update is None or update.how is How.NOTHING)
            after += was if stays else _kept(was, self._besides(name, identity, new, reserve, seen=False))
            if update is not None and update.how in (How.NEW_CLUSTER, How.IN_STEPS):
                more += self._again(name, identity, new)
        return before, after, more

    # pods

    def _alike(self, group_id: str, name: str) -> tuple[object, ...]:
        """What clusters have in common on which a group takes the same; () where some of it is seen, is held, or is on every node."""
        group, cluster = self._pass.groups.get(group_id), self._pass.clusters[name]
        if group is None or group_id in self._pass.held or self._pass.gangs[group_id].per_node:
            return ()
        if self._pass.books[name].shown.shows(group_id) or group_id in self._waiting_on(name):
            return ()
        counts = self._pass.counts.get((group_id, name))
        bounds = tuple(self._bound(name, space) for space in self._spaces_of(group))
        role = self._pass.roles.get((group_id, name))
        sort = self._pass.snapshot.variants.sort(group, cluster)
        return group_id, sort, counts, role == "Remote", bounds, self._are_there(group_id, name)

    def _spaces_of(self, group: Group) -> tuple[str, ...]:
        if group.id not in self._spaces:
            self._spaces[group.id] = group.namespaces
        return self._spaces[group.id]

    def _bound(self, name: str, namespace: str) -> int:
        """A number that the quotas of a namespace have in common on clusters on which they bound the same of the same pods."""
        key = name, namespace
        if key not in self._bounds:
            usual = self._pass.snapshot.profiles[name].priority_class(NO_NAMES)
            quotas = self.there[name].get(namespace, ())
            told = tuple((q.name, tuple(sorted(q.hard)), q.scopes, q.used is None) for q in quotas)
            known = usual, self._pass.snapshot.profiles[name].usual_class, told
            self._bounds[key] = self._numbers.setdefault(known, len(self._numbers)) if told else -1
        return self._bounds[key]

    def _amounts(self, lots: Iterable[_Lot], name: str) -> tuple[_Amounts, str]:
        """What pods take of each quota, and in words what one wants that some container does not say."""
        found: dict[Of, Resources] = defaultdict(lambda: NOTHING)
        unsaid = ""
        for lot, used, quota in self._counted(lots, name):
            for each in quota.unsaid(used) if lot.unseen > 0 else ():
                unsaid = unsaid or wants(quota, lot.namespace, each, lot.role.name)
            if count := lot.number if quota.used is None else lot.unseen:
                amounts = Resources({each: used.amounts.get(each, 0) for each in sorted(quota.hard)})
                found[lot.namespace, quota.name] += amounts * count
        return {of: amounts for of, amounts in sorted(found.items()) if amounts}, unsaid

    def _counted(self, lots: Iterable[_Lot], name: str) -> Iterator[tuple[_Lot, Usage, Quota]]:
        """Pods with what each takes and a quota that counts them."""
        quotas, profile = self.there[name], self._pass.snapshot.profiles[name]
        for lot in lots:
            role = lot.role
            for quota in quotas.get(lot.namespace, ()):
                priority = profile.priority_class(role.named)
                if role.usage is not None and quota.counts(role.named, role.shape, role.usage, priority):
                    yield lot, role.usage, quota

    def _lots(self, group_id: str, name: str) -> list[_Lot]:
        """The pods of a group."""
        group = self._pass.groups.get(group_id)
        if group is not None and self.there[name].keys().isdisjoint(self._spaces_of(group)):
            return []
        reserve, with_peak = AS_DESIRED if group is None else group.reserves
        found: list[tuple[str, Role, PodSet]] = []
        beside, seen = list[_Lot](), self._are_there(group_id, name)
        for identity, facts in objects_on(self._pass, group_id, name, self._pass.snapshot.variants.counted):
            gang, of = facts.gang_for(reserve, with_peak=with_peak), facts.roles_for(reserve, with_peak=with_peak)
            beside += self._besides(name, identity, facts, reserve, seen=seen)
            for pods, role in zip(gang, of, strict=True):
                found += [(identity.namespace, role, one) for one in self._pass.books[name].nodes.on_each((pods,))]
        left = self._left(group_id, name, [(role, pods) for _, role, pods in found])
        lots = [_Lot(space, role, pods.count, n) for (space, role, pods), n in zip(found, left, strict=True)]
        return [*lots, *beside]

    def _lots_of_both(self, group_id: str, name: str) -> list[_Lot]:
        """The pods of a group of which an update runs, the old ones and the new: what is not seen yet is a new one."""
        objects = list(objects_on(self._pass, group_id, name, self._pass.snapshot.variants.counted))
        roles = [(identity.namespace, role) for identity, facts in objects for role in facts.roles]
        by_name = {role.name: (namespace, role) for namespace, role in reversed(roles)}
        by_shape = {(role.name, role.shape): (namespace, role) for namespace, role in reversed(roles)}
        found: list[tuple[str, Role, PodSet]] = []
        for pods in (*self._pass.held_on(group_id, name), *self._pass.beside(group_id, name)):
            known = by_shape.get((pods.role, pods.shape)) or by_name.get(pods.role)
            if known is not None:
                found.append((*known, pods))
        left = self._left(group_id, name, [(role, pods) for _, role, pods in found])
        lots = [_Lot(space, role, pods.count, n) for (space, role, pods), n in zip(found, left, strict=True)]
        seen, overlap = self._are_there(group_id, name), self._pass.overlap(group_id, name)
        reserve, _ = self._pass.groups[group_id].reserves
        for identity, facts in objects:
            lots += self._besides(name, identity, facts, reserve, seen=seen)
            if overlap is not None and overlap.beside and not overlap.shown:
                lots += self._again(name, identity, facts)
        return lots

    def _lots_of_the_end(self, group_id: str, name: str, last: Gang) -> list[_Lot]:
        """
        The pods of a group when an update of it ends: new ones in the place of all that run, beside the `last` of these. Of old ones the record knows what
        they ask for; their limits are taken for those of the new ones.
        """
        objects = list(objects_on(self._pass, group_id, name, self._pass.snapshot.variants.counted))
        reserve, _ = self._pass.groups[group_id].reserves
        by_name, come, besides = dict[str, tuple[str, Role]](), list[_Lot](), list[_Lot]()
        seen = self._are_there(group_id, name)
        for identity, facts in objects:
            gang, roles = facts.gang_for(reserve, with_peak=False), facts.roles_for(reserve, with_peak=False)
            besides += self._besides(name, identity, facts, reserve, seen=seen)
            for pods, role in zip(gang, roles, strict=True):
                by_name.setdefault(role.name, (identity.namespace, role))
                there = self._pass.books[name].nodes.on_each((pods,))
                come += [_Lot(identity.namespace, role, one.count, one.count) for one in there]

        def old(pods: PodSet) -> tuple[str, Role]:
            space, role = by_name[pods.role]
            return space, role if role.usage is None else replace(role, usage=role.usage.asking(pods.shape.requests))

        ran = [(*old(pods), pods) for pods in self._pass.held_on(group_id, name) if pods.role in by_name]
        left = self._left(group_id, name, [(role, pods) for _, role, pods in ran])
        was = [_Lot(space, role, pods.count, n) for (space, role, pods), n in zip(ran, left, strict=True)]
        stay = [_Lot(*old(pods), pods.count, pods.count) for pods in last if pods.role in by_name]
        return [*_instead(was, come), *stay, *besides]

    # what comes besides pods

    def _besides(
        self, name: str, identity: Identity, facts: ObjectFacts, reserve: Reserve, *, seen: bool
    ) -> Iterator[_Lot]:
        """An object with what its controller makes of it, and the claims that are made for its pods, where a quota counts such."""
        if not self._counts_objects(name, identity.namespace):
            return
        usual = self._pass.snapshot.profiles[name].usual_class
        amounts = brought.itself(identity.api_group, identity.kind, facts, usual)
        yield _lot_of(identity, "", amounts, 1, 0 if seen else 1)
        for role in facts.roles:
            each, number = brought.of_pods(role, usual), role.reserved(reserve, with_peak=False)
            if each and number:
                yield _lot_of(identity, role.name, each, number, 0 if seen else number)

    def _again(self, name: str, identity: Identity, facts: ObjectFacts) -> Iterator[_Lot]:
        """What of an object is there a second time while an update runs."""
        if facts.again and self._counts_objects(name, identity.namespace):
            yield _lot_of(identity, "again", facts.again, 1, 1)

    def _counts_objects(self, name: str, namespace: str) -> bool:
        """Whether a quota of a namespace counts more than pods."""
        quotas = self.there[name].get(namespace, ())
        return any(brought.is_of_objects(each) for quota in quotas if not quota.scopes for each in quota.hard)

    def _are_there(self, group_id: str, name: str) -> bool:
        """Whether the objects of a group are on a cluster, as its snapshot tells."""
        entry = self._pass.entry(group_id, name)
        if entry is None:
            return False
        return self._pass.books[name].shown.shows(group_id) or speaks_of(
            self._pass.snapshot.capacity[name], entry, WORKLOADS
        )

    def _left(self, group_id: str, name: str, pods: Sequence[tuple[Role, PodSet]]) -> list[int]:
        """Of each of some sets of pods how many the snapshot shows neither on a node nor waiting for one."""
        waiting = Counter(self._waiting_on(name).get(group_id, {}))
        sets = self._pass.books[name].shown.not_seen(group_id, tuple(each for _, each in pods), back=True)
        found: list[int] = []
        for (role, _), left in zip(pods, sets, strict=True):
            made = min(waiting[role.name], left.count)
            waiting[role.name] -= made
            found.append(left.count - made)
        return found

    def _waiting_on(self, name: str) -> Mapping[str, Counter[str]]:
        """By group how many pods of each role a cluster's snapshot shows that wait for a node."""
        if name not in self._waiting:
            snapshot = self._pass.snapshot.capacity.get(name)
            self._waiting[name] = {
                group.name: Counter(pod.role for pod in group.pods if pod.node is None)
                for group in (snapshot.groups if snapshot is not None else ())
            }
        return self._waiting[name]


def _lot_of(identity: Identity, role: str, amounts: Resources, number: int, unseen: int) -> _Lot:
    of = f"{identity.kind} {identity.name} {role}".rstrip()
    usage = Usage(amounts, of_pods=False)
    return _Lot(identity.namespace, Role(of, _NO_POD, 1, 1, 1, usage=usage), number, unseen)


_NO_POD = PodShape()


def _is_anew(update: MemberUpdate) -> bool:
    return update.anew or update.how in (How.NEW_CLUSTER, How.IN_STEPS)


def _beside(update: MemberUpdate, new: ObjectFacts, namespace: str) -> Iterator[_Lot]:
    """The pods that come beside those that run."""
    roles = {role.name: role for role in new.roles}
    return (_Lot(namespace, roles[pods.role], pods.count, pods.count) for pods in update.beside)


def _last(new: ObjectFacts, was: Iterable[_Lot]) -> Iterator[_Lot]:
    """The old pods that run yet when the last of those comes that replace them one after another."""
    waits = {role.name for role in new.roles if role.waits}
    return (lot._replace(number=1, unseen=1) for lot in was if lot.number and lot.role.name in waits)


def _instead(was: Iterable[_Lot], come: Iterable[_Lot]) -> Iterator[_Lot]:
    """Pods in the place of all others of an object."""
    yield from (lot._replace(number=0, unseen=lot.unseen - lot.number) for lot in was)
    yield from come


def _grown(was: Iterable[_Lot], come: Iterable[_Lot]) -> Iterator[_Lot]:
    """Pods of an object as many as are to come, of which those go on that run, as they are."""
    come = list(come)
    left = Counter({lot.role.name: lot.number for lot in come})
    for lot in was:
        seen = lot.number - lot.unseen
        stays = min(seen, left[lot.role.name])
        left[lot.role.name] -= stays
        yield lot._replace(number=stays, unseen=stays - seen)
    yield from (lot._replace(number=left[lot.role.name], unseen=left[lot.role.name]) for lot in come)


def _kept(was: Iterable[_Lot], come: Iterable[_Lot]) -> Iterator[_Lot]:
    """What comes besides pods, in the place of what is there by the same name. Claims of pods that go are kept."""
    there = {lot.role.name: lot for lot in was}
    for lot in come:
        old = there.pop(lot.role.name, None)
        if old is None:
            yield lot
        elif old.role.usage == lot.role.usage:
            more = max(0, lot.number - old.number)
            yield old._replace(number=old.number + more, unseen=old.unseen + more)
        else:
            number = max(old.number, lot.number)
            yield from (
                old._replace(number=0, unseen=old.unseen - old.number),
                lot._replace(number=number, unseen=number),
            )
    yield from there.values()


def _most(now: _Amounts, then: _Amounts) -> dict[Of, Resources]:
    """What is taken of each quota at most, of two moments."""
    return {of: _taken(now.get(of, NOTHING).largest(then.get(of, NOTHING))) for of in sorted({*now, *then})}


def _taken(amounts: Resources) -> Resources:
    """Amounts without those that are given back, which are there when a snapshot says so."""
    return Resources({name: amount for name, amount in amounts.items() if amount > 0})
