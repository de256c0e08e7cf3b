"""
Objects of declared kinds, sized as their declaration says.

The declaration names places and this module goes there; nothing here knows any kind. A place that is there but holds
something else than it should is a problem where it stands; a number or a pod that is nowhere keeps the object from having a
size. All pods are in the role `pod`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from msgspec import structs

from gitplacer.documents import Cursor, Path, dotted
from gitplacer.model.workload import PodVolumeClaim
from gitplacer.problems import Severity
from gitplacer.workloads import podtemplate
from gitplacer.workloads.claims import single_node_claim, storage_class
from gitplacer.workloads.declaration import (
    EACH,
    Condition,
    Conditions,
    Declaration,
    Mounted,
    Need,
    Number,
    Place,
    Pods,
    Rule,
    Surge,
)
from gitplacer.workloads.facts import Kind, ObjectFacts, PodLabels, Reference, Role, Scale, Switch, at, distinct
from gitplacer.workloads.fields import INT32_MAX, share, share_of
from gitplacer.workloads.gathered import Gathered, homes
from gitplacer.workloads.podtemplate import Injected, PodTemplate
from gitplacer.workloads.scaling import whole
from gitplacer.workloads.surroundings import Surroundings

_POD_FIELDS = (
    "affinity",
    "hostNetwork",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "priorityClassName",
    "resourceClaims",
    "runtimeClassName",
    "schedulingGates",
    "serviceAccountName",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
)
"""Fields of a pod spec that `podFields` may hold."""
_CONTAINER_FIELDS = ("name", "resources", "env", "envFrom", "ports")


def kind(declaration: Declaration) -> Kind:
    """A declared kind as one of the sized kinds."""
    return Kind(
        declaration.api_group,
        declaration.kind,
        declaration.versions,
        partial(_read, declaration),
        partial(_pod_templates, declaration),
        partial(_scales, declaration),
        next(filter(None, map(_switch, declaration.stopped)), None),
    )


def _switch(rule: Rule) -> Switch | None:
    """The field that a rule about stopped objects goes by, if it is one field with one value."""
    if len(rule.when) != 1 or len(rule.when[0].places) != 1:
        return None
    condition = rule.when[0]
    if (
        condition.operator != "In"
        or len(condition.values) != 1
        or isinstance(condition.values[0], int) is not isinstance(condition.values[0], bool)
    ):
        return None
    [value], [place] = condition.values, condition.places
    return Switch(place, on=value, off=False if value is True else None)


def unreadable(api_group: str, name: str, why: str, hint: str) -> Kind:
    """A kind whose declaration cannot be used: its objects, of any version, have no size, and their groups are held."""

    def read(root: Cursor, around: Surroundings) -> ObjectFacts:
        root.report("BrokenWorkloadKind", why, hint, key="kind")
        return ObjectFacts(sized=True)

    return Kind(api_group, name, (), read, lambda value: ())


def _read(declaration: Declaration, root: Cursor, around: Surroundings) -> ObjectFacts:
    view = _View(root)
    if (refused := next(_applying(view, declaration.not_sized), None)) is not None:
        place, said = refused.when[0].places[0], f"this {declaration.kind} cannot be sized: {refused.because}"
        hint = (
            "write it in another way, or declare the kind in a WorkloadKind of your own that says how many pods it has"
        )
        view.report(place, "CannotBeSized", said, hint)
        return ObjectFacts(sized=True)
    for rule in _applying(view, declaration.not_counted):
        root.report(
            "NotCounted",
            f"gitplacer does not count {rule.because}; the fit may be too optimistic",
            "leave room on the clusters it may go to",
            key="spec",
            severity=Severity.WARNING,
        )
    before = root.problems.errors
    made = [found for pods in declaration.pods for found in _pods(view, pods, around)]
    if not made and root.problems.errors == before:
        hint = "its WorkloadKind says where it has pods"
        root.report("MissingField", f"this {declaration.kind} cannot be sized: it has no pods", hint, key="spec")
    needs = [found for template, _, _ in made for found in template.needs]
    needs += [found for need in declaration.needs for found in _needed(view, need)]
    claims = [claim for place in declaration.volume_claims for claim in _claims(view, place)]
    needs += [found for claim in claims for found in storage_class(claim)]
    facts = ObjectFacts(
        roles=tuple(role for _, role, _ in made),
        sized=True,
        pods=tuple(labels for _, _, labels in made),
        needs=distinct(needs),
        claims=tuple(sorted({claim for template, _, _ in made for claim in template.claims})),
        singleton=_singleton(view, declaration, claims),
        finishes=declaration.finishes,
        releases_when_finished=declaration.finishes and view.all_hold(declaration.releases_when),
    )
    stopped = next(_applying(view, declaration.stopped), None)
    return facts if stopped is None else facts.stopped(stopped.because)


def _applying(view: _View, rules: Iterable[Rule]) -> Iterator[Rule]:
    return (rule for rule in rules if view.all_hold(rule.when))


def _singleton(view: _View, declaration: Declaration, claims: Sequence[Cursor]) -> str:
    if declaration.finishes:
        return declaration.kind
    because = next((rule.because for rule in _applying(view, declaration.singleton)), "")
    return because or next(filter(None, map(single_node_claim, claims)), "")


def _pod_templates(declaration: Declaration, value: Mapping[str, Any]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for pods in declaration.pods:
        for item in _steps(value, pods):
            paths = (_resolved(value, place, item) for place in pods.template)
            path = next((p for p in paths if p is not None), None)
            if path is not None and isinstance(at(value, path), Mapping):
                found[path] = None
    return tuple(found)


def _scales(declaration: Declaration, value: Mapping[str, Any]) -> tuple[Scale, ...]:
    """
    The one number that all pods of an object come from, if there is one: it then is a number of like replicas, each with all
    that belongs to it. Where parts have numbers of their own nobody here knows which of them go together.
    """
    entries = [p for p in declaration.pods if all(_holds(c, value, None) for c in p.when if not c.about_item)]
    firsts = {p.count[0] if p.count else None for p in entries}
    if len(firsts) != 1 or (number := next(iter(firsts))) is None:
        return ()
    if number.plus or number.at_most or any(EACH in place for place in number.places):
        return ()
    path = next((p for place in number.places if (p := _resolved(value, place, None)) is not None), None)
    count = number.default if path is None else whole(at(value, path))
    if count is None:
        return ()
    path = path or number.places[0]
    high, high_path = _scale_bound(value, entries[0].maximum)
    low, low_path = _scale_bound(value, entries[0].minimum)
    if low_path == path:
        low, low_path = None, ()
    count = max(count, number.at_least)
    scales_itself = bool(high_path or low_path)
    return (Scale("pod", path, count, low or 0, high, low_path, high_path, scales_itself, least=number.at_least),)


def _scale_bound(value: Mapping[str, Any], bounds: Iterable[Number]) -> tuple[int | None, Path]:
    """A bound where it is written, with its path."""
    bound = next((b for b in bounds if all(_holds(c, value, None) for c in b.when)), None)
    for place in bound.places if bound is not None and not bound.plus else ():
        path = _resolved(value, place, None)
        if path is not None and (found := whole(at(value, path))) is not None:
            return found, path
    return None, ()


# -- places -------------------------------------------------------------------------------------------------------

_Step = str | int | None
"""What `EACH` stands for: a key, an index, or None in an entry without it."""


def _steps(value: Mapping[str, Any], pods: Pods) -> Iterator[_Step]:
    """The items of an entry, as far as they are mappings."""
    if pods.each is None:
        yield None
        return
    path = _resolved(value, pods.each, None)
    inside = None if path is None else at(value, path)
    if isinstance(inside, list) and not pods.names:
        yield from (index for index, item in enumerate(inside) if isinstance(item, dict))
    elif isinstance(inside, dict):
        yield from (key for key in (pods.names or inside) if isinstance(inside.get(key), dict))


def _resolved(value: Any, place: Place, item: _Step) -> Path | None:
    """The path of a place where there is a value."""
    path: list[str | int] = []
    for step in place:
        found = item if step == EACH and item is not None else step
        if isinstance(value, list) and (index := _index(found)) is not None:
            found = index
        path.append(found)
        value = at(value, (found,))
        if value is None:
            return None
    return tuple(path)


def _index(step: str | int) -> int | None:
    """A step as an index of a list, if it is one."""
    if isinstance(step, int):
        return step
    return int(step) if step.isascii() and step.isdecimal() and len(step) < 10 else None


class _View:
    """An object, and the item that `EACH` stands for just now."""

    def __init__(self, root: Cursor, item: _Step = None) -> None:
        self.root = root
        self.item = item

    def path(self, place: Place) -> Path:
        """A place as a path; where it leads through a list, its steps may still be text."""
        return tuple(self.item if step == EACH and self.item is not None else step for step in place)

    def mapping(self, place: Place) -> Cursor | None:
        """The mapping at a place; None if there is nothing. Something else, there or on the way, is reported."""
        cursor, path = self.root, self.path(place)
        index = 0
        while index < len(path):
            step = path[index]
            if not isinstance(step, str) or not cursor.has(step):
                return None
            number = _index(path[index + 1]) if index + 1 < len(path) else None
            below = cursor.value[step]
            if number is not None and isinstance(below, list):
                if number >= len(below) or not isinstance(below[number], dict):
                    return None
                steps = (*cursor.path, step, number)
                cursor, index = Cursor(cursor.document, steps, below[number], cursor.problems), index + 2
            else:
                cursor, index = cursor.mapping(step), index + 1
        return cursor

    def home(self, places: Iterable[Place]) -> tuple[Cursor, str] | None:
        """The first of the places that has a value: the mapping it is in, and its key."""
        for place in places:
            owner, key = self.mapping(place[:-1]), self.path(place)[-1]
            if owner is not None and isinstance(key, str) and owner.has(key):
                return owner, key
        return None

    def mappings(self, places: Iterable[Place]) -> list[Cursor]:
        """The mappings at those places that have one."""
        return [found for place in places if (found := self.mapping(place)) is not None]

    def all_hold(self, conditions: Conditions) -> bool:
        return all(_holds(condition, self.root.value, self.item) for condition in conditions)

    def report(self, place: Place, code: str, message: str, hint: str = "") -> None:
        path = _resolved(self.root.value, place, self.item) or self.path(place)
        self.root.problems.report(code, message, hint, path=path, key=True)

    def missing(self, places: Sequence[Place]) -> None:
        """Reports that nothing stands at any of the places."""
        named = [dotted(self.path(place)) for place in places]
        said = f"{named[0]} is missing" if len(named) == 1 else f"there is neither {' nor '.join(named)}"
        self.report(places[0], "MissingField", f"cannot be sized: {said}", f"write {' or '.join(named)}")


def _holds(condition: Condition, object_: Any, item: _Step) -> bool:
    """Whether a condition holds for an object, and an item of it."""
    paths = (_resolved(object_, place, item) for place in condition.places)
    path = next((p for p in paths if p is not None), None)
    value = None if path is None else at(object_, path)
    match condition.operator:
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "In":
            return _is_among(value, condition.values)
        case "NotIn":
            return not _is_among(value, condition.values)
        case "Matches":
            return _matches(value, condition.values)
    return not _matches(value, condition.values)


def _is_among(value: Any, values: tuple[Any, ...]) -> bool:
    return any(type(value) is type(known) and value == known for known in values)


def _matches(value: Any, patterns: tuple[Any, ...]) -> bool:
    return isinstance(value, str) and any(isinstance(p, str) and fnmatchcase(value, p) for p in patterns)


# -- pods ---------------------------------------------------------------------------------------------------------


def _pods(view: _View, pods: Pods, around: Surroundings) -> Iterator[tuple[PodTemplate, Role, PodLabels]]:
    """The pods of one entry: for each item that meets its conditions."""
    if not view.all_hold(tuple(condition for condition in pods.when if not condition.about_item)):
        return
    for item in _items(view, pods):
        here = _View(view.root, item)
        if not here.all_hold(pods.when):
            continue
        template = _template(here, pods, around)
        if template is not None:
            yield template, _role(here, pods, template), template.pod_labels("pod", _labels(here, pods))


def _items(view: _View, pods: Pods) -> list[_Step]:
    """What `EACH` stands for, one after the other. A list or mapping that is not there is reported, and an empty one."""
    if pods.each is None:
        return [None]
    if pods.names and pods.or_empty:
        return list(pods.names)
    home = view.home([pods.each])
    if home is None:
        if not pods.names:
            view.missing([pods.each])
        return []
    owner, key = home
    found: list[_Step]
    if isinstance(owner.value[key], list) and not pods.names:
        found = [item.path[-1] for item in owner.items(key)]
    else:
        inside = owner.mapping(key)
        found = [name for name in pods.names if inside.has(name)] if pods.names else [*inside.keys()]
    if not owner.value[key] and not pods.names:
        view.report(pods.each, "MissingField", f"cannot be sized: {dotted(view.path(pods.each))} is empty")
    return found


def _template(view: _View, pods: Pods, around: Surroundings) -> PodTemplate | None:
    template = _as_written(view, pods, around)
    if template is None or not (mounted := [found for each in pods.mounts for found in _mounted(view, each)]):
        return template
    claims = dict.fromkeys((*template.named.claims, *(PodVolumeClaim(reference.name) for reference in mounted)))
    return structs.replace(
        template,
        needs=(*template.needs, *mounted),
        named=structs.replace(template.named, claims=tuple(claims)),
    )


def _mounted(view: _View, mounted: Mounted) -> Iterator[Reference]:
    """The claim that the controller mounts, if one is named: `pvc://claim/folder` after `pvc://` names `claim`."""
    home = view.home([mounted.place])
    if home is None:
        return
    owner, key = home
    text = owner.text(key)
    if text.startswith(mounted.after):
        name = text.removeprefix(mounted.after)
        if mounted.after:
            name = name.partition("/")[0]
        if name:
            yield Reference("", "PersistentVolumeClaim", name, path=(*owner.path, key))


def _as_written(view: _View, pods: Pods, around: Surroundings) -> PodTemplate | None:
    parts = [added.part for added in pods.adds if view.all_hold(added.when)]
    injected = Injected(
        containers=tuple(part for part in parts if part.role == "container"),
        last_init=tuple(part for part in parts if part.role != "container"),
    )
    if pods.template:
        pod = next(iter(view.mappings(pods.template)), None)
        if pod is None:
            view.missing(pods.template)
            return None
        _check_requests(pod.mapping("spec").items("containers"), pods.must_request)
        return podtemplate.read_pod(pod, around, injected)
    spec = _spec(view, pods)
    if spec is None:
        places = (*pods.pod_spec, *pods.container, *pods.containers, *pods.resources)
        view.missing(places)
        return None
    _check_requests(spec.items("containers"), pods.must_request)
    template = podtemplate.read_spec(spec, around, injected)
    return structs.replace(template, needs=tuple(_placed(spec, reference) for reference in template.needs))


def _spec(view: _View, pods: Pods) -> Gathered | None:
    """The spec of pods that have no template."""
    fields = {key: [home] for key, places in pods.fields_at if (home := view.home(places)) is not None}
    for key, found in homes(view.mappings(pods.pod_spec), None).items():
        fields.setdefault(key, found)
    for key, found in homes(view.mappings(pods.pod_fields), _POD_FIELDS).items():
        fields.setdefault(key, found)
    containers: list[Cursor] = []
    if owners := view.mappings(pods.container):
        containers.append(Gathered(owners[0], homes(owners, _CONTAINER_FIELDS, together=("env", "envFrom"))))
    if (block := view.home(pods.resources)) is not None:
        containers.append(Gathered(block[0], {"resources": [block]}))
    for place in pods.containers:
        if (home := view.home([place])) is not None:
            containers.extend(home[0].items(home[1]))
    if not containers and "containers" not in fields:
        if not pods.or_empty:
            return None
        containers.append(Gathered(view.root, {}))
    return Gathered(view.root, fields, {"containers": containers})


def _placed(spec: Gathered, reference: Reference) -> Reference:
    """A reference that a field of a gathered spec makes stands where the field does."""
    *above, key = reference.path
    if tuple(above) != spec.path or key not in spec.homes:
        return reference
    owner, name = spec.homes[str(key)][0]
    return replace(reference, path=(*owner.path, name))


def _check_requests(containers: Sequence[Cursor], names: Iterable[str]) -> None:
    """What the controller would fill in by itself has to be written in the first container."""
    for container in containers[:1]:
        requests = container.mapping("resources").mapping("requests")
        for name in names:
            if not requests.has(name):
                container.report(
                    "MissingField",
                    f"cannot be sized: resources.requests.{name} is missing, and the cluster's configuration fills it in",
                    f"write resources.requests.{name}",
                    key="resources",
                )


def _labels(view: _View, pods: Pods) -> dict[str, str]:
    found = {}
    for place in pods.labels_from:
        if (home := view.home([place])) is not None:
            found.update(home[0].labels(home[1]))
    for key, place in pods.labels:
        if (home := view.home([place])) is not None and (text := home[0].text(home[1])):
            found[key] = text
    return found


# -- how many -----------------------------------------------------------------------------------------------------


def _role(view: _View, pods: Pods, template: PodTemplate) -> Role:
    numbers = [_number(view, number) for number in pods.count]
    values = [value for value, _ in numbers]
    first, rest = (values[0], math.prod(values[1:])) if values else (1, 1)
    low, high = first, first
    if (bound := _first(view, pods.minimum)) is not None and (value := _bound(view, bound)) is not None:
        low = min(value, first)
    unlimited = False
    if (bound := _first(view, pods.maximum)) is not None:
        value = _bound(view, bound)
        unlimited = value is None and bound.unlimited
        high = first if value is None else max(value, first)
    number, largest = first * rest, high * rest
    if largest > INT32_MAX:
        view.root.report("InvalidReplicas", f"it comes to {largest} pods", "check its numbers", key="spec")
        return Role("pod", template.shape, 0, 0, 0, named=template.named, ask=template.ask)
    surge = next((s for s in pods.surge if view.all_hold(s.when)), None)
    return Role(
        "pod",
        template.shape,
        number,
        low * rest,
        None if unlimited else largest,
        surge=0 if surge is None or not number else _surge(view, surge, first) * rest,
        shrinks=low * rest < number,
        grows=unlimited or largest > number,
        named=template.named,
        ask=template.ask,
        counted=_of_item(view, pods) + (" × ".join(text for _, text in numbers) or "one"),
        queued_requests=template.queued_requests,
    )


def _of_item(view: _View, pods: Pods) -> str:
    """Which of the items the pods are those of."""
    if isinstance(view.item, int) and pods.each:
        return f"{pods.each[-1]}[{view.item}] "
    return "" if view.item is None else f"{view.item} "


def _first(view: _View, bounds: Iterable[Number]) -> Number | None:
    return next((bound for bound in bounds if view.all_hold(bound.when)), None)


def _bound(view: _View, bound: Number) -> int | None:
    found = _written(view, bound)
    value = found[1] if found is not None else bound.default
    return None if value is None else max(value + bound.plus, bound.at_least, 0)


def _number(view: _View, number: Number) -> tuple[int, str]:
    """A number of `count`, with where it comes from."""
    found = _written(view, number)
    if found is None and number.default is None:
        view.missing(number.places)
        return 0, ""
    name = str(view.path(number.places[0])[-1])
    name, value = found if found is not None else (name, number.default or 0)
    text = f"{name} {value}" if found is not None else f"{name} {value} by default"
    if (limit := view.home(number.at_most)) is not None:
        most = _count(*limit)
        if most is not None and most < value:
            value, text = most, f"{text}, {limit[1]} {most}"
    if number.plus:
        value, text = value + number.plus, f"({text} {'-' if number.plus < 0 else '+'} {abs(number.plus)})"
    if value < number.at_least:
        value, text = number.at_least, f"{text}, at least {number.at_least}"
    return max(value, 0), text


def _written(view: _View, number: Number) -> tuple[str, int] | None:
    """The number at the first of its places that has one, with its name."""
    for place in number.places:
        home = view.home([place])
        if home is None or _is_among(home[0].value[home[1]], number.ignore):
            continue
        value = _count(*home)
        return None if value is None else (home[1], value)
    return None


def _count(owner: Cursor, key: str) -> int | None:
    found = owner.integer(key)
    if found is not None and not 0 <= found <= INT32_MAX:
        owner.report("InvalidReplicas", f"{key} is {found}", f"use a number from 0 to {INT32_MAX}", key=key)
        return 0
    return found


def _surge(view: _View, surge: Surge, number: int) -> int:
    home = view.home(surge.places)
    return (share_of(surge.default, number) or 0) if home is None else share(*home, surge.default, number)


# -- what it names ------------------------------------------------------------------------------------------------


def _needed(view: _View, need: Need) -> Iterator[Reference]:
    for here in _each_view(view, need.place):
        home = here.home([need.place])
        if home is None:
            continue
        owner, key = home
        names: Iterable[str] = (need.name,)
        if not need.name:
            names = owner.texts(key) if isinstance(owner.value[key], list) else (owner.text(key),)
        for name in filter(None, names):
            yield Reference(need.api_group, need.kind, name, need.optional, path=(*owner.path, key))


def _claims(view: _View, place: Place) -> Iterator[Cursor]:
    """The specs of the claim templates in the lists at a place."""
    for here in _each_view(view, place):
        if (home := here.home([place])) is not None:
            yield from (claim.mapping("spec") for claim in home[0].items(home[1]))


def _each_view(view: _View, place: Place) -> Iterator[_View]:
    """The object, once for each item that `EACH` in a place stands for."""
    if EACH not in place:
        yield view
        return
    home = view.home([place[: place.index(EACH)]])
    if home is None:
        return
    owner, key = home
    if isinstance(owner.value[key], list):
        yield from (_View(view.root, item.path[-1]) for item in owner.items(key))
    else:
        yield from (_View(view.root, name) for name in owner.mapping(key).keys())  # noqa: SIM118
