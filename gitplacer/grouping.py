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

from gitplacer import pathglob
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.tenant import Tenant
from gitplacer.links import RAY_KINDS, Links
from gitplacer.model.workload import Gang, Identity
from gitplacer.policies.selection import Governed, governing
from gitplacer.problems import Problem, Severity
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

_TOLD_OF_EACH = 10
"""Objects that belong with others too, of which a group is told."""
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
        left = [item for item in left if item not in mentioned]
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
        is_sized = set(sized)
        keys = {index: _key(item, self._governed) for index, item in enumerate(self._objects)}
        self._join_by_key(sized, keys)
        self._join_by_need(sized)
        home: dict[int, set[int]] = {index: {self._find(index)} for index in sized}
        self._attach_pointing(home)
        self._attach_by_key(sized, keys, home)
        needed_by = self._needed_by(home)
        own: dict[int, list[int]] = defaultdict(list)
        shared: dict[int, list[int]] = defaultdict(list)
        for index in range(len(self._objects)):
            at = home.get(index, set())
            users = at | needed_by.get(index, set())
            two = len(at) > 1 and not self._objects[index].facts.watches
            if two:
                self._in_two_groups(index, at)
            if len(users) == 1 or two or index in is_sized:
                own[min(at or users)].append(index)
            elif users:
                for leader in users:
                    shared[leader].append(index)
        for leader in sorted({self._find(index) for index in sized}):
            yield self._group(leader, own[leader], shared[leader], keys)

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
        for index in sized:
            for target in self._links.targets(index, self._objects[index].facts.needs):
                if self._objects[target].facts.sized:
                    self._join(index, target)
                for behind in self._links.selected(target):
                    self._join(index, behind)

    def _attach_pointing(self, home: dict[int, set[int]]) -> None:
        """Services and budgets by the pods they select, then routes and autoscalers by what they point at."""
        for index, item in enumerate(self._objects):
            selected = {self._find(target) for target in self._links.selected(index)}
            if selected and not item.facts.sized:
                home[index] = selected
        for _ in range(2):  # a route may point at a route, as HTTPRoutes do at Gateways; nothing points deeper
            for index, item in enumerate(self._objects):
                targets = self._links.targets(index, item.facts.points_at) if index not in home else []
                reached = {leader for target in targets for leader in home.get(target, set())}
                if reached:
                    home[index] = reached

    def _attach_by_key(
        self, sized: Sequence[int], keys: Mapping[int, tuple[str, str, str] | None], home: dict[int, set[int]]
    ) -> None:
        leaders = {key: self._find(index) for index in sized if (key := keys[index]) is not None}
        for index, key in keys.items():
            if index not in home and key in leaders:
                home[index] = {leaders[key]}

    def _needed_by(self, home: Mapping[int, set[int]]) -> dict[int, set[int]]:
        """For each object, the groups that need it, directly or through what they need."""
        needed: dict[int, set[int]] = defaultdict(set)
        needing = {index: leaders for index, leaders in home.items() if self._objects[index].facts.needs}
        waiting = [(index, leader) for index, leaders in sorted(needing.items()) for leader in sorted(leaders)]
        while waiting:
            index, leader = waiting.pop()
            for target in self._links.targets(index, self._objects[index].facts.needs):
                if leader not in needed[target] and leader not in home.get(target, set()):
                    needed[target].add(leader)
                    waiting.append((target, leader))
        return needed

    def _in_two_groups(self, index: int, leaders: set[int]) -> None:
        item, in_order = self._objects[index], sorted(leaders)
        names = [self._objects[leader].identity for leader in in_order[:2]]
        problem = item.document.problem(
            "InTwoGroups",
            f"{item.identity} belongs with {names[0]} and with {names[1]}, which are two groups",
            "join them with groupBy in their policy, or split the object",
            path=("metadata", "name"),
        )
        for leader in in_order:
            # Thousands of Services may be in thousands of groups: each is told once, and each group is held for some.
            if leader == in_order[0] or len(self._problems[leader]) < _TOLD_OF_EACH:
                self._problems[leader].append(problem)

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
