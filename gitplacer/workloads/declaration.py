"""
What a WorkloadKind declares, as plain values: where the objects of a kind have their pods and numbers.

It is made from the `spec` of a document that the declaration of our own kind (`kinds.workloadkind`) accepts, which is also
where each field is explained. Places are tuples of steps; `EACH` is the step that stands for every item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from gitplacer.workloads.requests import Part, amounts

Place = tuple[str, ...]
EACH = "*"

_ROLES: Mapping[str, Literal["container", "init", "sidecar"]] = {
    "Container": "container",
    "Init": "init",
    "Sidecar": "sidecar",
}


class Condition(Struct, frozen=True):
    """One condition on the value at the first of the places that has one."""

    places: tuple[Place, ...]
    operator: str
    values: tuple[Any, ...] = ()

    @property
    def about_item(self) -> bool:
        return any(EACH in place for place in self.places)


Conditions = tuple[Condition, ...]


class Rule(Struct, frozen=True):
    """Something that is so under conditions, and why, as the end of a sentence."""

    when: Conditions
    because: str


class Number(Struct, frozen=True):
    """A number at the first of the places that has one. `default` None: it must be there."""

    places: tuple[Place, ...]
    default: int | None = None
    ignore: tuple[int, ...] = ()
    plus: int = 0
    at_least: int = 0
    at_most: tuple[Place, ...] = ()
    when: Conditions = ()
    unlimited: bool = False


class Surge(Struct, frozen=True):
    """A number of pods or a share of them, such as 25%."""

    when: Conditions
    places: tuple[Place, ...]
    default: int | str


class Added(Struct, frozen=True):
    """A container that the controller adds under conditions."""

    when: Conditions
    part: Part


class Mounted(Struct, frozen=True):
    """A claim whose name is at a place, perhaps in a text that begins with `after`."""

    place: Place
    after: str


class Pods(Struct, frozen=True):
    """One entry of `pods`. `each` is the place of the list or mapping whose items `EACH` stands for."""

    each: Place | None
    template: tuple[Place, ...]
    pod_spec: tuple[Place, ...]
    pod_fields: tuple[Place, ...]
    fields_at: tuple[tuple[str, tuple[Place, ...]], ...]
    container: tuple[Place, ...]
    containers: tuple[Place, ...]
    resources: tuple[Place, ...]
    or_empty: bool
    adds: tuple[Added, ...]
    mounts: tuple[Mounted, ...]
    must_request: tuple[str, ...]
    names: tuple[str, ...]
    when: Conditions
    count: tuple[Number, ...]
    minimum: tuple[Number, ...]
    maximum: tuple[Number, ...]
    surge: tuple[Surge, ...]
    labels: tuple[tuple[str, Place], ...]
    labels_from: tuple[Place, ...]


class Need(Struct, frozen=True):
    """Objects whose names are at a place, or the one of a `name` where there is anything at the place."""

    api_group: str
    kind: str
    place: Place
    name: str
    optional: bool


class Declaration(Struct, frozen=True):
    """How objects of a kind are sized."""

    api_group: str
    kind: str
    versions: tuple[str, ...]
    pods: tuple[Pods, ...]
    stopped: tuple[Rule, ...]
    not_sized: tuple[Rule, ...]
    not_counted: tuple[Rule, ...]
    finishes: bool
    releases_when: Conditions
    singleton: tuple[Rule, ...]
    needs: tuple[Need, ...]
    volume_claims: tuple[Place, ...]


_Spec = Mapping[str, Any]


def declaration(spec: _Spec) -> Declaration:
    """The declaration in the `spec` of a valid WorkloadKind."""
    return Declaration(
        api_group=spec["apiGroup"],
        kind=spec["kind"],
        versions=tuple(spec["versions"]),
        pods=tuple(_pods(item, spec["kind"]) for item in spec["pods"]),
        stopped=_rules(spec, "stopped"),
        not_sized=_rules(spec, "notSized"),
        not_counted=_rules(spec, "notCounted"),
        finishes=spec.get("finishes", False),
        releases_when=_conditions(spec, "releasesWhen"),
        singleton=_rules(spec, "singleton"),
        needs=tuple(
            Need(
                item.get("apiGroup", ""),
                item["kind"],
                place(item["path"]),
                item.get("name", ""),
                item.get("optional", False),
            )
            for item in spec.get("needs", ())
        ),
        volume_claims=_places(spec, "volumeClaims"),
    )


def place(pointer: str) -> Place:
    """The steps of a JSON Pointer."""
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def _places(spec: _Spec, key: str) -> tuple[Place, ...]:
    return tuple(place(pointer) for pointer in spec.get(key, ()))


def _conditions(spec: _Spec, key: str = "when") -> Conditions:
    return tuple(
        Condition(_places(item, "paths"), item["operator"], tuple(item.get("values", ()))) for item in spec.get(key, ())
    )


def _rules(spec: _Spec, key: str) -> tuple[Rule, ...]:
    return tuple(Rule(_conditions(item), item["because"]) for item in spec.get(key, ()))


def _numbers(spec: _Spec, key: str) -> tuple[Number, ...]:
    return tuple(
        Number(
            places=_places(item, "paths"),
            default=item.get("default"),
            ignore=tuple(item.get("ignore", ())),
            plus=item.get("plus", 0),
            at_least=item.get("atLeast", 0),
            at_most=_places(item, "atMost"),
            when=_conditions(item),
            unlimited=item.get("unlimited", False),
        )
        for item in spec.get(key, ())
    )


def _added(item: _Spec, kind: str) -> Added:
    asked = amounts(**{name: str(text) for name, text in item["requests"].items()})
    role = _ROLES[item.get("role", "Container")]
    return Added(
        _conditions(item), Part(item["name"], asked, role, origin=f"the controller of {kind} adds it", limits=None)
    )


def _pods(item: _Spec, kind: str) -> Pods:
    return Pods(
        each=_each(_every_place(item)),
        template=_places(item, "template"),
        pod_spec=_places(item, "podSpec"),
        pod_fields=_places(item, "podFields"),
        fields_at=tuple((field, _places(item["fieldsAt"], field)) for field in sorted(item.get("fieldsAt", {}))),
        container=_places(item, "container"),
        containers=_places(item, "containers"),
        resources=_places(item, "resources"),
        or_empty=item.get("orEmpty", False),
        adds=tuple(_added(added, kind) for added in item.get("adds", ())),
        mounts=tuple(Mounted(place(each["path"]), each.get("after", "")) for each in item.get("mounts", ())),
        must_request=tuple(item.get("mustRequest", ())),
        names=tuple(item.get("names", ())),
        when=_conditions(item),
        count=_numbers(item, "count"),
        minimum=_numbers(item, "minimum"),
        maximum=_numbers(item, "maximum"),
        surge=tuple(
            Surge(_conditions(surge), _places(surge, "paths"), surge["default"]) for surge in item.get("surge", ())
        ),
        labels=tuple(sorted((key, place(pointer)) for key, pointer in item.get("labels", {}).items())),
        labels_from=_places(item, "labelsFrom"),
    )


def _each(places: Iterable[Place]) -> Place | None:
    """What stands before `EACH`. All places of an entry that have that step agree."""
    return next((found[: found.index(EACH)] for found in places if EACH in found), None)


_NO_PLACES = ("name", "role", "operator", "values", "default", "requests", "mustRequest", "names", "after")


def _every_place(item: Any) -> Iterable[Place]:
    """Every place in an entry: its pointers, however deep, in the fields that hold some."""
    if isinstance(item, str):
        yield place(item)
    elif isinstance(item, Mapping):
        for key, value in item.items():
            if key not in _NO_PLACES:
                yield from _every_place(value)
    elif isinstance(item, list | tuple):
        for value in item:
            yield from _every_place(value)
