"""
Objects to groups: what is placed together, moves together and is removed together.

Sized objects come first: each has a governing policy, whose `groupBy` joins those it governs; a Ray object that
names another by name or by its Service joins it too, because neither works from another cluster. Then come the
objects that point at them (Services, routes, autoscalers) and what all of these need (ConfigMaps, claims …).
What several groups need is shared. Whatever is left over belongs nowhere and is reported.
"""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from gitplacer import pathglob
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.tenant import Tenant
from gitplacer.links import RAY_KINDS, Links, bits_of, mask_of
from gitplacer.model.workload import Gang, Identity
from gitplacer.policies.selection import Governed, governing
from gitplacer.problems import Problem, Severity
from gitplacer.sharing import beyond, most
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.source.manifests import PLATFORM, WORKLOADS, SourceObject
from gitplacer.source.reading import Source
from gitplacer.workloads.facts import ObjectFacts, Reserve, reserved

AS_DESIRED: tuple[Reserve, bool] = ("Desired", False)
"""What nobody's policy asks for: room for the pods that are wanted, and not for those of an update."""
CLUSTER_ANNOTATION = "gitplacer.dev/cluster"
RELOCATION_ANNOTATION = "gitplacer.dev/relocation"
NO_NAMESPACE = "_cluster"
"""Stands for the namespace in the id of a platform group whose objects have none, or several."""

_TOLD = 10
"""Of so many objects a group is told that they belong with it and with another group, to which they go."""
_GROUP_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,248}[A-Za-z0-9])?")
"""At most 250 characters: its record is the file `<name>.yaml`, and who cannot check out one file has none (NAME_MAX of Linux is 255)."""


def holder(group_id: str, tenant: str = "") -> str:
    """To whom the room is counted that a group takes: its tenant, by name, or its namespace where it has none."""
    return f"Tenant/{tenant}" if tenant else namespace_of(group_id)


def namespace_of(group_id: str) -> str:
    """The namespace of a group's objects, which its id begins with."""
    return group_id.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Group:
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


@dataclass(frozen=True, slots=True)
class Grouping:
    """All groups by id, and what was wrong or left over."""

    groups: Mapping[str, Group]
    problems: tuple[Problem, ...]


def group_objects(source: Source, deployed: Collection[Identity] = ()) -> Grouping:
    """
    The groups of a source, sorted by id. An object is in at most one group, or shared. `deployed` are objects that are deployed
    somewhere as workloads: those of which nothing is cannot stop platform objects by taking their id, and are no group then.
    """
    governed = _Governing(source)
    found = [
        *_platform_groups(source, governed, source.doubled.intersection(deployed)),
        *_Workloads(source, governed).groups(),
    ]
    problems = [p for group in found for p in group.problems]
    by_id: dict[str, list[Group]] = defaultdict(list)
    for group in found:
        by_id[group.id].append(group)
    groups = {}
    for group_id, same in sorted(by_id.items()):
        trusted = [group for group in same if group.unit == PLATFORM or _is_any(group, deployed)]
        if len(same) > 1:
            clash = tuple(_clash(group_id, first, second) for first, second in itertools.pairwise(same))
            problems.extend(clash)
            same = trusted if len(trusted) == 1 and trusted[0].unit == PLATFORM else [_joined(group_id, same, clash)]
        groups[group_id] = same[0]
    twins = _case_twins(groups, deployed)
    problems.extend(problem for told in twins.values() for problem in told)
    groups |= {each: replace(groups[each], problems=(*groups[each].problems, *told)) for each, told in twins.items()}
    placed = {id(m) for group in found for m in (*group.members, *group.shared)}
    left = [m for m in source.objects if id(m) not in placed and not m.held and not governed(m).broken]
    problems.extend(_left_over(m) for m in _unmentioned(left, governed, source.unread_words))
    return Grouping(groups, tuple(sorted(set(problems))))


class _Governing:
    """The governing policy of each object, asked for once."""

    def __init__(self, source: Source) -> None:
        self._own, self._labels, self._tenancy = source.own, source.namespace_labels, source.tenancy
        self._known: dict[int, Governed] = {}

    def __call__(self, item: SourceObject) -> Governed:
        if id(item) not in self._known:
            found = governing(item, self._own.policies, self._own.broken_policies, self._labels, self._tenancy)
            self._known[id(item)] = found
        return self._known[id(item)]


def _unmentioned(
    left: Sequence[SourceObject], governed: _Governing, unread: Callable[[str], Collection[str]]
) -> Sequence[SourceObject]:
    """
    Those of the objects left over that would be so if every file could be read: no word of an unread one that may be about their namespace
    may stand for them, nor for what needs them.
    """
    words: dict[str, set[str]] = {}
    for space in {item.identity.namespace for item in left}:
        words[space] = set(unread(space))
    while mentioned := [m for m in left if not words[m.identity.namespace].isdisjoint(_joined_by(m, governed))]:
        gone = {id(item) for item in mentioned}
        left = [item for item in left if id(item) not in gone]
        for item in mentioned:
            words[item.identity.namespace] |= {reference.name for reference in item.facts.needs}
    return left


def _joined_by(item: SourceObject, governed: _Governing) -> Iterator[str]:
    """Words of which one stands in whatever joins an object to a group: names, labels that it selects, what it is grouped by."""
    yield item.identity.name
    yield from (reference.name for reference in (*item.facts.provides, *item.facts.points_at))
    yield from (value for selector in item.facts.selects for each in selector for value in each.values)
    key = _key(item, governed)
    if key is not None:
        yield key[2]


def _key(item: SourceObject, governed: _Governing) -> tuple[str, str, str] | None:
    """(policy, namespace, name) that the policy's groupBy gives an object; None where it gives none."""
    policy = governed(item).policy
    if policy is None or policy.spec.group_by is None:
        return None
    by, namespace = policy.spec.group_by, item.identity.namespace
    if by.label is not None:
        name = item.labels.get(by.label, "")
    elif by.directory:
        name = item.path.rpartition("/")[0].rpartition("/")[2]
    else:
        name = namespace
    return (policy.name, namespace, name) if name else None


def _left_over(item: SourceObject) -> Problem:
    hint = "nothing that is placed refers to it, and no policy's groupBy joins it with something that is"
    if item.identity.api_group not in BUILT_IN_GROUPS:
        hint += "; if it becomes pods, a WorkloadKind says how"
    return item.document.problem(
        "NotInAGroup",
        f"{item.identity} belongs to no group and is not placed",
        hint,
        path=("metadata", "name"),
        severity=Severity.WARNING,
    )


def _clash(group_id: str, first: Group, second: Group) -> Problem:
    one, other = _primary(first.members), _primary(second.members)
    return other.document.problem(
        "GroupIdTaken",
        f"{other.identity} and {one.identity} ({one.document.locate()}) would both be group {group_id}",
        "rename one, or join them with groupBy in their policy",
        path=("metadata", "name"),
    )


def _case_twins(groups: Mapping[str, Group], deployed: Collection[Identity]) -> Mapping[str, Sequence[Problem]]:
    """
    The groups whose folders some file systems cannot tell from one another's, each with what is told of that. No folder is made for a name
    that no group can have; and those of the platform are stopped by none of which nothing is deployed, as by those of their own id.
    """
    alike: dict[str, list[Group]] = defaultdict(list)
    for group_id, group in groups.items():
        if _GROUP_NAME.fullmatch(group_id.partition("/")[2]):
            alike[group_id.casefold()].append(group)
    found: dict[str, list[Problem]] = defaultdict(list)
    for same in alike.values():
        counting = [group for group in same if group.unit == PLATFORM or _is_any(group, deployed)]
        for first, second in itertools.pairwise(same):
            problem = _twins(first, second)
            for group in (first, second):
                if group.unit != PLATFORM or len(counting) > 1:
                    found[group.id].append(problem)
    return found


def _twins(first: Group, second: Group) -> Problem:
    one, other = _primary(first.members), _primary(second.members)
    return other.document.problem(
        "GroupIdTaken",
        f"{other.identity} would be group {second.id}, and {one.identity} ({one.document.locate()}) {first.id}: "
        "they differ only in upper and lower case, and some file systems cannot hold the folders of both",
        "rename one, or join them with groupBy in their policy",
        path=("metadata", "name"),
    )


def _is_any(group: Group, deployed: Collection[Identity]) -> bool:
    return any(member.identity in deployed for member in group.members)


def _joined(group_id: str, same: Sequence[Group], problems: tuple[Problem, ...]) -> Group:
    """Groups of one id as one that is held, so that none of their objects is lost sight of."""
    members = tuple(m for group in same for m in group.members)
    shared = tuple(m for group in same for m in group.shared)
    return Group(group_id, same[0].unit, same[0].policy, members, shared, problems)


def _primary(members: Sequence[SourceObject]) -> SourceObject:
    """The object a group is named after: a Ray object before others, what others refer to before those."""

    def rank(item: SourceObject) -> tuple[int, int, Identity]:
        kind = item.identity.kind
        ray = item.identity.api_group == "ray.io" and kind in RAY_KINDS
        return (0 if item.facts.sized else 1, RAY_KINDS.index(kind) if ray else len(RAY_KINDS), item.identity)

    return min(members, key=rank)


def _policy_of(
    members: Sequence[SourceObject], governed: _Governing
) -> tuple[PlacementPolicy | None, list[Problem], bool]:
    """The one policy of a group's deciding members; what keeps it from having one; whether a broken one may govern."""
    problems = [problem for m in members if (problem := governed(m).problem) is not None]
    broken = any(governed(m).broken for m in members)
    ruled = [(m, policy) for m in members if (policy := governed(m).policy) is not None]
    names = {policy.name for _, policy in ruled}
    if len(names) > 1:
        (one, first), (other, second) = ruled[0], next(r for r in ruled if r[1].name != ruled[0][1].name)
        problems.append(
            other.document.problem(
                "MixedPolicies",
                f"{other.identity} is governed by policy {second.name}, but belongs with {one.identity} under {first.name}",
                "let one policy select both",
                path=("metadata", "name"),
            )
        )
    if not ruled and not problems and not broken:
        first_member = _primary(members)
        problems.append(
            first_member.document.problem(
                "NoPolicy",
                f"no policy governs {first_member.identity}",
                "write a PlacementPolicy whose select matches it",
                path=("metadata", "name"),
            )
        )
    policy = ruled[0][1] if len(names) == 1 else None
    return policy, problems, broken


def _platform_groups(source: Source, governed: _Governing, taken: Collection[Identity]) -> Iterator[Group]:
    """One group for each directory below the platform paths. `taken` are objects that are deployed as workloads, and stay that."""
    spec = source.own.fleet.spec
    folders: dict[str, list[SourceObject]] = defaultdict(list)
    for item in source.objects:
        if item.unit == PLATFORM:
            folders[_platform_folder(spec, item.path)].append(item)
    for folder, members in sorted(folders.items()):
        deciding = [m for m in members if governed(m).policy or governed(m).problem or governed(m).broken] or members
        policy, problems, broken = _policy_of(deciding, governed)
        spaces = {m.identity.namespace for m in members}
        namespace = next(iter(spaces)) if len(spaces) == 1 and "" not in spaces else NO_NAMESPACE
        group_id = f"{namespace}/{folder}"
        problems += _name_problems(folder, members[0])
        problems += [p for m in members for p in m.problems if p.severity is Severity.ERROR]
        problems += [_is_workload(m) for m in members if m.identity in taken]
        yield Group(group_id, PLATFORM, policy, tuple(members), (), tuple(problems), broken)


def _is_workload(item: SourceObject) -> Problem:
    hint = "a workload file has it, and it is deployed from there; keep one of them"
    return item.document.problem("DuplicateObject", f"{item.identity} is a workload's already", hint)


def _platform_folder(spec: FleetSpec, path: str) -> str:
    """The directory of a platform file as the name of its group: `platform/kuberay/crds/x.yaml` → `kuberay-crds`."""
    pattern = next(p for p in spec.platform.paths if pathglob.matches(p, path))
    base = pathglob.fixed_folder(pattern)
    below = path[len(base) :].rpartition("/")[0]
    return below.replace("/", "-") or base.rstrip("/").rpartition("/")[2] or "platform"


def _name_problems(name: str, item: SourceObject) -> list[Problem]:
    if _GROUP_NAME.fullmatch(name):
        return []
    message = f'"{name}" cannot be the name of a group'
    hint = "use at most 250 letters, digits, dashes, dots and underscores, and begin and end with a letter or digit"
    return [item.document.problem("InvalidGroupName", message, hint, path=("metadata",))]


class _Joined:
    """
    The groups of the objects that have pods, when all were joined. In a mask of groups each has the bit of its leader, which is the first of its objects:
    the bits of one group lie side by side.
    """

    def __init__(self, links: Links, leader: Callable[[int], int]) -> None:
        links.order(lambda index: (leader(index), index))
        self._sized_in = links.sized_in
        self._leaders = {space: list(map(leader, indexes)) for space, indexes in links.sized_in.items()}
        self._bit = {index: bit for indexes in links.sized_in.values() for bit, index in enumerate(indexes)}
        self._leader = leader
        self._firsts = {
            space: mask_of([bit for bit, index in enumerate(indexes) if self._leaders[space][bit] == index])
            for space, indexes in links.sized_in.items()
        }
        self._beside = {space: _beside(leaders) for space, leaders in self._leaders.items()}

    def mask(self, index: int) -> int:
        """The group of an object."""
        return 1 << self._bit[self._leader(index)]

    def number(self, namespace: str) -> int:
        """How many groups a namespace has."""
        return self._firsts[namespace].bit_count()

    def groups_of(self, namespace: str, selected: int) -> int:
        """The groups of some objects."""
        for distance, same in self._beside[namespace]:
            selected |= selected >> distance & same
        return selected & self._firsts[namespace]

    def leaders(self, namespace: str, groups: int) -> Iterator[int]:
        """The leaders of some groups, in order."""
        return (self._sized_in[namespace][bit] for bit in bits_of(groups))

    def first(self, namespace: str, groups: int) -> int:
        """The first of them."""
        return next(self.leaders(namespace, groups))


def _beside(leaders: Sequence[int]) -> list[tuple[int, int]]:
    """Distances of a power of two, and which objects are of the same group as the one so far behind them."""
    found, distance = [], 1
    while same := mask_of([bit for bit in range(len(leaders) - distance) if leaders[bit] == leaders[bit + distance]]):
        found.append((distance, same))
        distance *= 2
    return found


def _is_several(groups: int) -> bool:
    return groups & (groups - 1) != 0


class _Workloads:
    """The groups of one source's workload objects, found in the order the module's story tells."""

    def __init__(self, source: Source, governed: _Governing) -> None:
        self._governed, self._tenancy = governed, source.tenancy
        self._objects = [item for item in source.objects if item.unit == WORKLOADS]
        self._leader = list(range(len(self._objects)))
        self._links = Links(self._objects)
        self._problems: dict[int, list[Problem]] = defaultdict(list)

    def groups(self) -> Iterator[Group]:
        sized = [index for indexes in self._links.sized_in.values() for index in indexes]
        keys = {index: _key(item, self._governed) for index, item in enumerate(self._objects)}
        self._join_by_key(sized, keys)
        self._join_by_need(sized)
        joined = _Joined(self._links, self._find)
        home = {index: joined.mask(index) for index in sized}
        self._attach_pointing(home, joined)
        self._attach_by_key(sized, keys, home)
        own: dict[int, list[int]] = defaultdict(list)
        torn: dict[str, dict[int, int]] = defaultdict(dict)
        shared: dict[str, dict[int, int]] = defaultdict(dict)
        for index, users in sorted(self._used_by(home).items()):
            item, at = self._objects[index], home.get(index, 0)
            namespace = item.identity.namespace
            two = _is_several(at) and not item.facts.watches
            if two:
                torn[namespace][index] = at
            if two or item.facts.sized or not _is_several(users):
                own[joined.first(namespace, at or users)].append(index)
            else:
                shared[namespace][index] = users
        for namespace, objects in torn.items():
            self._in_two_groups(namespace, objects, joined)
        listed = self._listed(shared, joined)
        for leader in sorted({self._find(index) for index in sized}):
            yield self._group(leader, own[leader], listed[leader], keys)

    def _find(self, index: int) -> int:
        while self._leader[index] != index:
            self._leader[index] = self._leader[self._leader[index]]
            index = self._leader[index]
        return index

    def _join(self, one: int, other: int) -> None:
        first, second = sorted((self._find(one), self._find(other)))
        self._leader[second] = first

    def _join_by_key(self, sized: Sequence[int], keys: Mapping[int, tuple[str, str, str] | None]) -> None:
        first: dict[tuple[str, str, str], int] = {}
        for index in sized:
            key = keys[index]
            if key is not None:
                self._join(first.setdefault(key, index), index)

    def _join_by_need(self, sized: Sequence[int]) -> None:
        """A sized object that another names, or reaches through a Service, must be on the same cluster."""
        behind: dict[int, int | None] = {}
        for index in sized:
            for target in self._links.targets(index, self._objects[index].facts.needs):
                if self._objects[target].facts.sized:
                    self._join(index, target)
                if target not in behind:
                    behind[target] = self._joined_behind(target)
                if (first := behind[target]) is not None:
                    self._join(index, first)

    def _joined_behind(self, service: int) -> int | None:
        """The first of the objects that a Service selects, which are joined with it; None where it selects none."""
        places = self._links.sized_in[self._objects[service].identity.namespace]
        found = [places[bit] for bit in bits_of(self._links.selected(service))]
        for index in found:
            self._join(index, found[0])
        return found[0] if found else None

    def _attach_pointing(self, home: dict[int, int], joined: _Joined) -> None:
        """Services and budgets by the pods they select, then routes and autoscalers by what they point at."""
        for index, item in enumerate(self._objects):
            selected = self._links.selected(index)
            if selected and not item.facts.sized:
                home[index] = joined.groups_of(item.identity.namespace, selected)
        for _ in range(2):  # a route may point at a route, as HTTPRoutes do at Gateways; nothing points deeper
            for index, item in enumerate(self._objects):
                reached = 0
                for target in self._links.targets(index, item.facts.points_at) if index not in home else ():
                    reached |= home.get(target, 0)
                if reached:
                    home[index] = reached

    def _attach_by_key(
        self, sized: Sequence[int], keys: Mapping[int, tuple[str, str, str] | None], home: dict[int, int]
    ) -> None:
        groups = {key: home[index] for index in sized if (key := keys[index]) is not None}
        for index, key in keys.items():
            if index not in home and key in groups:
                home[index] = groups[key]

    def _used_by(self, home: Mapping[int, int]) -> dict[int, int]:
        """The groups of each object: where it belongs, and who needs it, directly or through what they need."""
        users = dict(home)
        grown: Collection[int] = users.keys()
        while grown:  # in rounds, so that what many need is looked at when all of them have been
            before, grown = tuple(grown), set()
            for index in before:
                for target in self._links.targets(index, self._objects[index].facts.needs):
                    known = users.get(target, 0)
                    if users[index] & ~known:
                        users[target] = known | users[index]
                        grown.add(target)
        return users

    def _in_two_groups(self, namespace: str, objects: Mapping[int, int], joined: _Joined) -> None:
        """Tell of the objects of a namespace that belong with several groups each. A group to which such an object does not go is told of some."""
        untold = -1
        for index, groups in objects.items():
            item = self._objects[index]
            names = [self._objects[leader].identity for leader in islice(joined.leaders(namespace, groups), 2)]
            problem = item.document.problem(
                "InTwoGroups",
                f"{item.identity} belongs with {names[0]} and with {names[1]}, which are two groups",
                "join them with groupBy in their policy, or split the object",
                path=("metadata", "name"),
            )
            for bit in bits_of(groups & untold | groups & -groups):
                told = self._problems[self._links.sized_in[namespace][bit]]
                told.append(problem)
                if len(told) >= _TOLD:
                    untold &= ~(1 << bit)

    def _listed(self, shared: Mapping[str, Mapping[int, int]], joined: _Joined) -> dict[int, list[int]]:
        """
        What each group lists of the objects that several need, by namespace with their groups. Those of which there are too many are listed by one
        group each, so that none is lost sight of, and all who share them are held.
        """
        listed: dict[int, list[int]] = defaultdict(list)
        for namespace, objects in shared.items():
            sharers = {index: groups.bit_count() for index, groups in objects.items()}
            limit = most(joined.number(namespace))
            over = beyond(sharers, limit)
            held = 0
            for index, groups in objects.items():
                alone = index in over
                held |= groups if alone else 0
                for leader in joined.leaders(namespace, groups & -groups if alone else groups):
                    listed[leader].append(index)
            if over:
                problem = self._shared_too_widely(namespace, over, sharers, limit)
                for leader in joined.leaders(namespace, held):
                    self._problems[leader].append(problem)
        return listed

    def _shared_too_widely(
        self, namespace: str, over: Collection[int], sharers: Mapping[int, int], limit: int
    ) -> Problem:
        first = min(over)
        item, more = self._objects[first], len(over) - 1
        others = f", as {'is 1 other object' if more == 1 else f'are {more:,} other objects'}" if more else ""
        return item.document.problem(
            "SharedTooWidely",
            f"{item.identity} is shared by {sharers[first]:,} groups{others}: all that the groups of namespace {namespace} share would be "
            f"listed {sum(sharers.values()):,} times, and {limit:,} times is the most",
            "let each select the pods of one app, make one of those that select the same, or join the apps with groupBy in their policy",
            path=("metadata", "name"),
        )

    def _group(
        self,
        leader: int,
        own: Sequence[int],
        shared: Sequence[int],
        keys: Mapping[int, tuple[str, str, str] | None],
    ) -> Group:
        members = tuple(self._objects[index] for index in own)
        sized = [index for index in own if self._objects[index].facts.sized]
        policy, problems, broken = _policy_of([self._objects[index] for index in sized], self._governed)
        names = {keys[index] for index in sized}
        primary = _primary(members)
        name = key[2] if len(names) == 1 and (key := next(iter(names))) else primary.identity.name
        problems += _name_problems(name, primary)
        problems += self._problems[leader]
        everything = (*members, *(self._objects[index] for index in shared))
        problems += [p for m in everything for p in m.problems if p.severity is Severity.ERROR]
        problems += _annotation_problems(members)
        return Group(
            f"{primary.identity.namespace}/{name}",
            WORKLOADS,
            policy,
            members,
            tuple(self._objects[index] for index in shared),
            tuple(sorted(set(problems))),
            broken,
            self._tenancy.owner(primary.path),
        )


def _annotation_problems(members: Sequence[SourceObject]) -> Iterator[Problem]:
    asked = [m for m in members if CLUSTER_ANNOTATION in m.annotations]
    for item in asked[1:]:
        if item.annotations[CLUSTER_ANNOTATION] != asked[0].annotations[CLUSTER_ANNOTATION]:
            yield item.document.problem(
                "ContradictoryAnnotation",
                f"asks for cluster {item.annotations[CLUSTER_ANNOTATION]}, "
                f"{asked[0].identity} of the same group for {asked[0].annotations[CLUSTER_ANNOTATION]}",
                "let both ask for one cluster",
                path=("metadata", "annotations", CLUSTER_ANNOTATION),
            )
    for item in members:
        wish = item.annotations.get(RELOCATION_ANNOTATION, "Never")
        if wish != "Never":
            yield item.document.problem(
                "InvalidValue",
                f'annotation {RELOCATION_ANNOTATION} must be "Never", not "{wish}"',
                path=("metadata", "annotations", RELOCATION_ANNOTATION),
            )
