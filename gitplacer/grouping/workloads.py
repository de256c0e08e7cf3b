"""
The groups of the workload objects, in the order that `gitplacer.grouping.grouping` tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from gitplacer.grouping.governed import key_of, policy_of
from gitplacer.grouping.group import CLUSTER_ANNOTATION, RELOCATION_ANNOTATION, Group, primary
from gitplacer.grouping.masks import Behind, Joined, is_several
from gitplacer.grouping.names import name_problems
from gitplacer.links import Links, bits_of
from gitplacer.model.workload import Identity
from gitplacer.policies.governing import Governing
from gitplacer.problems import Problem, Severity
from gitplacer.sharing import entry_limit, over_limit
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.source.reading import Source
from gitplacer.workloads import podgroups

_TOLD = 10
"""Of so many objects a group is told that they belong with it and with another group, to which they go."""


class Workloads:
    """The groups of one source's workload objects."""

    def __init__(self, source: Source, governed: Governing) -> None:
        self._governed, self._tenancy = governed, source.tenancy
        self._objects = [item for item in source.objects if item.unit == WORKLOADS]
        self._leader = list(range(len(self._objects)))
        self._links = Links(self._objects)
        self._problems: dict[int, list[Problem]] = defaultdict(list)

    def groups(self) -> Iterator[Group]:
        """All of them, in the order of the first of their objects."""
        sized = [index for indexes in self._links.sized_in.values() for index in indexes]
        keys = {index: key_of(item, self._governed) for index, item in enumerate(self._objects)}
        self._join_by_key(sized, keys)
        self._join_by_need(sized)
        self._join_by_gang(sized)
        self._join_around_pools()
        joined = Joined(self._links, self._find)
        home = {index: joined.mask(index) for index in sized}
        self._attach_pointing(home, joined)
        self._attach_by_key(sized, keys, home)
        own: dict[int, list[int]] = defaultdict(list)
        torn: dict[str, dict[int, int]] = defaultdict(dict)
        shared: dict[str, dict[int, int]] = defaultdict(dict)
        for index, users in sorted(self._guarded(self._used_by(home | self._default_accounts(home, joined))).items()):
            item, at = self._objects[index], home.get(index, 0)
            namespace = item.identity.namespace
            two = is_several(at) and not item.facts.watches
            if two:
                torn[namespace][index] = at
            if two or item.facts.sized or not is_several(users):
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

    def _join_by_gang(self, sized: Sequence[int]) -> None:
        """Pods of one gang wait for each other where they are, whether its PodGroup is in the source or made there."""
        first: dict[Identity, int] = {}
        for index in sized:
            item = self._objects[index]
            namespace = item.identity.namespace
            for each in item.facts.needs:
                if (each.api_group, each.kind) in podgroups.GANGS and each.namespace in ("", namespace):
                    gang = Identity(each.api_group, each.kind, namespace, each.name)
                    self._join(first.setdefault(gang, index), index)

    def _join_around_pools(self) -> None:
        """What selects pods and needs a Service, as an InferencePool does that says who picks among them, is of use where both are."""
        for index, item in enumerate(self._objects):
            if item.facts.sized or not (item.facts.selects and item.facts.needs):
                continue
            behind = [self._joined_behind(target) for target in self._links.targets(index, item.facts.needs)]
            for other in behind:
                if other is not None and (first := self._joined_behind(index)) is not None:
                    self._join(first, other)

    def _joined_behind(self, selecting: int) -> int | None:
        """The first of the objects that a Service, or a pool, selects, which are joined with it; None where it selects none."""
        places = self._links.sized_in[self._objects[selecting].identity.namespace]
        found = [places[bit] for bit in bits_of(self._links.selected(selecting))]
        for index in found:
            self._join(index, found[0])
        return found[0] if found else None

    def _attach_pointing(self, home: dict[int, int], joined: Joined) -> None:
        """Services and budgets by the pods they select, monitors by the Services they pick, then routes and autoscalers by what they point at."""
        for index, item in enumerate(self._objects):
            selected = self._links.selected(index)
            if selected and not item.facts.sized:
                home[index] = joined.groups_of(item.identity.namespace, selected)
        self._attach_picking(home)
        pointing: dict[int, list[int]] = defaultdict(list)
        for index, item in enumerate(self._objects):
            for target in self._links.targets(index, item.facts.points_at) if index not in home else ():
                pointing[target].append(index)
        reached = [target for target in pointing if target in home]
        while reached:  # a route may point at a route, as a policy does at an HTTPRoute, or one of Traefik's at another
            target = reached.pop()
            for index in pointing[target]:
                known = home.get(index, 0)
                if home[target] & ~known:
                    home[index] = known | home[target]
                    if index in pointing:
                        reached.append(index)

    def _attach_picking(self, home: dict[int, int]) -> None:
        """What picks Services belongs where these do."""
        behind: dict[str, Behind] = {}
        picking = [index for index, item in enumerate(self._objects) if item.facts.picks and index not in home]
        for index in picking:
            namespace = self._objects[index].identity.namespace
            if namespace not in behind:
                behind[namespace] = Behind([home.get(place, 0) for place in self._links.serving_in[namespace]])
            if groups := behind[namespace].of(self._links.picked(index)):
                home[index] = groups

    def _attach_by_key(
        self, sized: Sequence[int], keys: Mapping[int, tuple[str, str, str] | None], home: dict[int, int]
    ) -> None:
        groups = {key: home[index] for index in sized if (key := keys[index]) is not None}
        for index, key in keys.items():
            if index not in home and key in groups:
                home[index] = groups[key]

    def _default_accounts(self, home: Mapping[int, int], joined: Joined) -> dict[int, int]:
        """Every namespace has a ServiceAccount `default`, by which pods run that name none. What it is stands in the source of some: how images are pulled."""
        accounts = {
            i: m.identity.namespace for i, m in enumerate(self._objects) if _is_default_account(m) and i not in home
        }
        everybody = {space: joined.everybody(space) for space in accounts.values()}
        return {index: groups for index, space in accounts.items() if (groups := everybody[space])}

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

    def _guarded(self, users: dict[int, int]) -> dict[int, int]:
        """The same with what watches or guards something that groups need, as a policy does a Gateway, and with what that needs."""
        late: dict[int, int] = {}
        for index, item in enumerate(self._objects):
            if item.facts.watches and index not in users:
                for target in self._links.targets(index, item.facts.points_at):
                    late[index] = late.get(index, 0) | users.get(target, 0)
        late = {index: groups for index, groups in late.items() if groups}
        return self._used_by({**users, **late}) if late else users

    def _in_two_groups(self, namespace: str, objects: Mapping[int, int], joined: Joined) -> None:
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

    def _listed(self, shared: Mapping[str, Mapping[int, int]], joined: Joined) -> dict[int, list[int]]:
        """
        What each group lists of the objects that several need, by namespace with their groups. Those of which there are too many are listed by one
        group each, so that none is lost sight of, and all who share them are held.
        """
        listed: dict[int, list[int]] = defaultdict(list)
        for namespace, objects in shared.items():
            sharers = {index: groups.bit_count() for index, groups in objects.items()}
            limit = entry_limit(joined.number(namespace))
            over = over_limit(sharers, limit)
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
        policy, problems, broken = policy_of([self._objects[index] for index in sized], self._governed)
        names = {keys[index] for index in sized}
        named_after = primary(members)
        name = key[2] if len(names) == 1 and (key := next(iter(names))) else named_after.identity.name
        problems += name_problems(name, named_after)
        problems += self._problems[leader]
        everything = (*members, *(self._objects[index] for index in shared))
        problems += [p for m in everything for p in m.problems if p.severity is Severity.ERROR]
        problems += _annotation_problems(members)
        return Group(
            f"{named_after.identity.namespace}/{name}",
            WORKLOADS,
            policy,
            members,
            tuple(self._objects[index] for index in shared),
            tuple(sorted(set(problems))),
            broken,
            self._tenancy.owner(named_after.path),
        )


def _is_default_account(item: SourceObject) -> bool:
    named = item.identity
    return (named.api_group, named.kind, named.name) == ("", "ServiceAccount", "default")


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
