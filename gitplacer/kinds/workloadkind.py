"""
The kind WorkloadKind: how objects of a kind that gitplacer has no code for are sized.

It says where such an object has its pod templates, or what its pods are put together from, and the numbers that make up
how many there are. Places are JSON Pointers into the object, as in an OverridePolicy, so that keys with dots and slashes
can be named. Nothing is guessed and nothing is taken for zero: a number that is not there and has no default is a problem,
and so is an object that comes to no pods; such an object is not placed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from gitplacer.kinds.fields import Amounts, Boolean, DnsLabel, Integer, LabelKey, Matching, Model, OwnKind
from gitplacer.kinds.selectors import Metadata

Pointer = Annotated[
    str,
    Matching(
        r"^(?!(.*/)?\*(/|$))(/([^/~\n]|~[01])+)+$",
        "must be a JSON Pointer such as /spec/suspend; a step * is for the places of pods only",
    ),
]
ItemPointer = Annotated[
    str,
    Matching(
        r"^(?!/\*(/|$))(?!.*/\*/(.*/)?\*(/|$))(/([^/~\n]|~[01])+)+$",
        "must be a JSON Pointer such as /spec/groups/*/replicas, with at most one step *, which is not the first",
    ),
]
KindName = Annotated[
    str, Matching(r"^[A-Z][A-Za-z0-9]{0,62}$", "must be the name of a kind: letters and digits, the first a capital")
]
ApiGroup = Annotated[
    str,
    Matching(
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
        "must be an API group such as jobset.x-k8s.io, without a version",
        253,
    ),
]
Version = Annotated[
    str,
    Matching(r"^v[0-9]{1,3}((alpha|beta)[0-9]{1,3})?$", "must be a version such as v1 or v1alpha2, without its group"),
]
Number0 = Annotated[Integer, Field(ge=0, le=100_000)]
Because = Annotated[str, Field(min_length=1, max_length=300)]


def _scalar(value: object) -> object:
    if isinstance(value, str | bool) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return value
    raise ValueError("must be a text, a whole number, or true or false")


def _share(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 100_000:
        return value
    if (
        isinstance(value, str)
        and len(value) < 6
        and value[-1:] == "%"
        and value[:-1].isascii()
        and value[:-1].isdecimal()
    ):
        return value
    raise ValueError('must be a number from 0 on, or a share such as "25%"')


Scalar = Annotated[
    Any,
    BeforeValidator(_scalar),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "boolean"},
                {"type": "integer", "minimum": -(2**63), "exclusiveMaximum": 2**63},
            ]
        }
    ),
]
Share = Annotated[
    Any,
    BeforeValidator(_share),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 100_000},
                {"type": "string", "pattern": "^[0-9]{1,4}%$"},
            ]
        }
    ),
]


class Condition(Model):
    """One condition on a value of the object."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"operator": {"enum": ["Exists", "DoesNotExist"]}}},
            "then": {"properties": {"values": {"maxItems": 0}}},
            "else": {"required": ["values"], "properties": {"values": {"minItems": 1}}},
        }
    )

    paths: Annotated[tuple[Pointer, ...], Field(min_length=1)]
    """Where the value is: the first of these places that has one. Null is none."""
    operator: Literal["In", "NotIn", "Matches", "NotMatches", "Exists", "DoesNotExist"]
    """How it is compared. NotIn, NotMatches and DoesNotExist hold where there is no value."""
    values: tuple[Scalar, ...] = ()
    """The values of In and NotIn, the patterns of Matches and NotMatches (`*`, `?`, `[...]`); empty for the other two."""

    @model_validator(mode="after")
    def _values_fit_the_operator(self) -> Self:
        if (self.operator in ("Exists", "DoesNotExist")) == bool(self.values):
            wanted = "takes no values" if self.values else "needs values"
            raise ValueError(f"operator {self.operator} {wanted}")
        return self


class ItemCondition(Condition):
    """A condition that may be about the item that `*` stands for."""

    paths: Annotated[tuple[ItemPointer, ...], Field(min_length=1)]
    """Where the value is: the first of these places that has one. Null is none."""


class Rule(Model):
    """Something that is so under conditions."""

    when: Annotated[tuple[Condition, ...], Field(min_length=1)]
    """All of these must hold."""
    because: Because
    """Why, as the end of a sentence that is printed."""


class Number(Model):
    """A number in the object."""

    paths: Annotated[tuple[ItemPointer, ...], Field(min_length=1)]
    """Where it is: the first of these places that has one."""
    default: Number0 | None = None
    """What it is where it is not written; absent means that the object cannot be sized without it."""
    ignore: tuple[Integer, ...] = ()
    """Numbers that are taken as not written, such as -1."""
    plus: Annotated[Integer, Field(ge=-100_000, le=100_000)] = 0
    """What is added to it; the sum is never below 0."""
    at_least: Number0 = 0
    """It is never less than this."""
    at_most: tuple[ItemPointer, ...] = ()
    """It is never more than the number at the first of these places that has one."""


class Bound(Number):
    """A number that bounds how many pods an autoscaler may leave."""

    when: tuple[ItemCondition, ...] = ()
    """It is one if all of these hold."""


class UpperBound(Bound):
    """A number that bounds how many pods an autoscaler may make."""

    unlimited: Boolean = False
    """Whether there is no bound where it is not written."""


class Surge(Model):
    """How many pods more run while an update does."""

    when: tuple[ItemCondition, ...] = ()
    """It is so if all of these hold."""
    paths: tuple[ItemPointer, ...] = ()
    """Where it is written, as a number or as a share of the first number of `count`, rounded up."""
    default: Share
    """What it is where it is not written."""


class AddedContainer(Model):
    """A container that the kind's controller adds to its pods."""

    name: DnsLabel
    """Its name."""
    role: Literal["Container", "Init", "Sidecar"] = "Container"
    """A Container runs beside the others; an Init before them, after the other init containers; a Sidecar is a restartable init container."""
    requests: Amounts
    """What it asks for."""
    when: tuple[ItemCondition, ...] = ()
    """It is added if all of these hold."""


class MountedClaim(Model):
    """A PersistentVolumeClaim of its namespace that the kind's controller mounts into the pods. The object does not run without it."""

    path: ItemPointer
    """Where its name is."""
    after: Annotated[str, Field(max_length=100)] = ""
    """Where the name is a part of a longer text: what this begins with, such as `pvc://`. The name ends before the next `/`; a text that begins otherwise names no claim."""


_PARTS = ("podSpec", "container", "containers", "resources")
_NOT_FOR_TEMPLATES = ("podFields", "fieldsAt", "orEmpty")


class Pods(Model):
    """
    Pods of one sort. They have a pod template, or are put together: from a pod spec, fields of one, containers, or nothing
    but a `resources` block.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["template"], "not": {"anyOf": [{"required": [part]} for part in _NOT_FOR_TEMPLATES]}},
                {"anyOf": [{"required": [part]} for part in _PARTS]},
            ]
        }
    )

    template: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """Where their pod template is: `metadata` and `spec`."""
    pod_spec: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """Mappings that have the fields of a pod spec. A field is that of the first one that has it."""
    pod_fields: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """Mappings that have fields of a pod spec beside others: where pods may run, what they mount, their init containers; not containers and resources. A field is that of the first one that has it."""
    fields_at: dict[
        Annotated[str, Matching(r"^[a-z][A-Za-z]*$", "must be a field of a pod spec such as resourceClaims")],
        Annotated[tuple[ItemPointer, ...], Field(min_length=1)],
    ] = {}
    """Fields of the pod spec that stand elsewhere, perhaps under another name."""
    container: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """Mappings that have the fields of a container, perhaps beside others. A field is that of the first one that has it; of `env` and `envFrom` all count."""
    containers: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """Lists of further containers; all count."""
    resources: Annotated[tuple[ItemPointer, ...], Field(min_length=1)] = ()
    """The `resources` block of a container of which nothing else is known."""
    or_empty: Boolean = False
    """Whether there are such pods, with a container that asks for nothing, where none of these places is there."""
    adds: tuple[AddedContainer, ...] = ()
    """Containers that the kind's controller adds."""
    mounts: tuple[MountedClaim, ...] = ()
    """Claims that the kind's controller mounts into them."""
    must_request: tuple[Annotated[str, Field(min_length=1, max_length=317)], ...] = ()
    """Resources that the controller fills in by itself where the first container does not request them; such an object cannot be sized."""
    names: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = ()
    """The keys that `*` stands for. With `orEmpty` also where they are not written. Empty means every item."""
    when: tuple[ItemCondition, ...] = ()
    """There are such pods if all of these hold."""
    count: tuple[Number, ...] = ()
    """How many: the product of these numbers; empty means one."""
    minimum: tuple[Bound, ...] = ()
    """How few an autoscaler may leave, in place of the first number of `count`: the first of these that is one."""
    maximum: tuple[UpperBound, ...] = ()
    """How many an autoscaler may make, in place of the first number of `count`: the first of these that is one."""
    surge: tuple[Surge, ...] = ()
    """How many more run while an update does: the first of these that is so."""
    labels: dict[LabelKey, ItemPointer] = {}
    """Labels that the controller puts on the pods, and where their values are."""
    labels_from: tuple[ItemPointer, ...] = ()
    """Mappings of labels that the pods carry."""

    @model_validator(mode="after")
    def _one_way_to_have_pods(self) -> Self:
        if bool(self.template) == bool(self.pod_spec or self.container or self.containers or self.resources):
            raise ValueError("give either template, or what the pods are put together from")
        if self.template and self.model_fields_set & {"pod_fields", "fields_at", "or_empty"}:
            raise ValueError("podFields, fieldsAt and orEmpty are not for pods that have a template")
        return self

    @model_validator(mode="after")
    def _one_list_of_items(self) -> Self:
        before = {before for path in _paths(self) if (before := _before_star(path)) is not None}
        if len(before) > 1:
            raise ValueError(f"a step * stands for the items of one list, not of {' and '.join(sorted(before))}")
        if self.names and not before:
            raise ValueError("names are the keys that a step * stands for, and there is no such step")
        return self


def _before_star(path: str) -> str | None:
    """The place of the list or mapping whose items a step `*` stands for."""
    steps = path.split("/")
    return "/".join(steps[: steps.index("*")]) if "*" in steps else None


def _paths(value: object) -> list[str]:
    """Every place that is said in an entry of `pods`."""
    if isinstance(value, Model):
        value = [
            getattr(value, name)
            for name in type(value).model_fields
            if name not in ("names", "values", "name", "after")
        ]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [path for item in value for path in _paths(item)]
    return [value] if isinstance(value, str) and value.startswith("/") else []


class Need(Model):
    """An object that the object names and cannot run without."""

    api_group: Annotated[
        str, Matching(r"^([a-z0-9][-a-z0-9.]*)?$", "must be an API group, empty for core kinds", 253)
    ] = ""
    """Its API group; empty for Secrets, ConfigMaps and other core kinds."""
    kind: KindName
    """Its kind."""
    path: ItemPointer
    """Where its name is, or a list of names."""
    name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """Its name, if the controller knows it and it is not written: then the object is needed where there is anything at `path`."""
    optional: Boolean = False
    """Whether it need not be there."""


class WorkloadKindSpec(Model):
    """
    Which kind it is, and how its objects are sized. Places are JSON Pointers into the object: `/spec/replicas`. Of several,
    the first that is there counts. A step `*` stands for each item of a list, or each value of a mapping, and throughout
    one entry of `pods` for the same one. What is not there and has no default keeps the object from being sized, and so
    from being placed; it never counts as zero.
    """

    api_group: ApiGroup
    """The kind's API group."""
    kind: KindName
    """The kind."""
    versions: Annotated[tuple[Version, ...], Field(min_length=1)]
    """Versions of the API group in which the places below are right. Objects of others cannot be sized."""
    pods: Annotated[tuple[Pods, ...], Field(min_length=1)]
    """The pods of an object, in the order in which they are created."""
    stopped: tuple[Rule, ...] = ()
    """When there are no pods for now: suspended, or left to somebody else."""
    not_sized: tuple[Rule, ...] = ()
    """When an object cannot be sized; it is not placed then."""
    not_counted: tuple[Rule, ...] = ()
    """What is not counted, with a warning: `because` says what, such as `its database`."""
    finishes: Boolean = False
    """Whether an object runs to completion. A second start elsewhere would do its work twice, so it is not moved freely."""
    releases_when: tuple[Condition, ...] = ()
    """A finished object gives its room back if all of these hold."""
    singleton: tuple[Rule, ...] = ()
    """When a second copy, or a start elsewhere, would do harm: `because` says what would be lost or clash."""
    needs: tuple[Need, ...] = ()
    """What an object names besides what stands in its pods."""
    volume_claims: tuple[ItemPointer, ...] = ()
    """Lists of claim templates. One that a single node may mount keeps the object where it is."""


class WorkloadKind(OwnKind):
    """How objects of a kind that gitplacer has no code for are sized."""

    kind: Literal["WorkloadKind"]
    metadata: Metadata
    spec: WorkloadKindSpec

    @property
    def name(self) -> str:
        return self.metadata.name
