"""Selectors as our kinds write them: of labels, of clusters, and of source objects."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import (
    DnsLabel,
    DnsSubdomain,
    FieldPointer,
    Glob,
    LabelKey,
    LabelMap,
    LabelValue,
    Model,
    PathGlob,
)
from gitplacer.model.labels import NAME_KEY, Labels, Requirement, Taint, Toleration


class LabelRequirement(Model):
    """One condition on a label, as in Kubernetes."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
            "then": {"required": ["values"], "properties": {"values": {"minItems": 1}}},
            "else": {"properties": {"values": {"maxItems": 0}}},
        }
    )

    key: LabelKey
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label's value is compared."""
    values: tuple[LabelValue, ...] = ()
    """The values of In and NotIn; empty for Exists and DoesNotExist."""

    @model_validator(mode="after")
    def _values_fit_the_operator(self) -> Self:
        if (self.operator in ("In", "NotIn")) != bool(self.values):
            wanted = "needs values" if self.operator in ("In", "NotIn") else "takes no values"
            raise ValueError(f"operator {self.operator} {wanted}")
        return self


class LabelSelector(Model):
    """Labels that must match: all of them. An empty selector matches everything."""

    match_labels: LabelMap = {}
    """Labels and the values they must have."""
    match_expressions: tuple[LabelRequirement, ...] = ()
    """Further conditions; all must hold."""

    def requirements(self) -> tuple[Requirement, ...]:
        """The conditions, in a stable order."""
        return (
            *(Requirement(key, "In", (value,)) for key, value in sorted(self.match_labels.items())),
            *(Requirement(e.key, e.operator, e.values) for e in self.match_expressions),
        )

    def unmet(self, labels: Labels) -> Requirement | None:
        """The first condition that these labels do not meet, or None."""
        return next((r for r in self.requirements() if not r.matches(labels)), None)


class ClusterSelector(LabelSelector):
    """Clusters by label, own or derived, and by name."""

    names: tuple[DnsLabel, ...] | None = None
    """Names of clusters; absent means any name."""

    def requirements(self) -> tuple[Requirement, ...]:
        names = () if self.names is None else (Requirement(NAME_KEY, "In", self.names),)
        return (*names, *super().requirements())


class TaintField(Model):
    """A taint, as on a Kubernetes node."""

    key: LabelKey
    """The taint's key."""
    value: LabelValue = ""
    """The taint's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"
    """What the taint does to what does not tolerate it."""

    def taint(self) -> Taint:
        return Taint(self.key, self.value, self.effect)


class TolerationField(Model):
    """A toleration, as in a pod."""

    key: Annotated[str, Field(max_length=317)] = ""
    """The key of the taints it tolerates; empty, with operator Exists, means all."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """Equal compares the value, Exists does not."""
    value: LabelValue = ""
    """The value it tolerates."""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    """The effect it tolerates; empty means every effect."""

    def toleration(self) -> Toleration:
        return Toleration(self.key, self.operator, self.value, self.effect)


class ObjectSelector(Model):
    """Which objects of the source are meant. Every condition given must hold; lists are alternatives."""

    namespaces: tuple[Glob, ...] | None = None
    """Names of namespaces; globs allowed."""
    namespace_selector: LabelSelector = LabelSelector()
    """Labels of the object's namespace. `kubernetes.io/metadata.name` is always there."""
    label_selector: LabelSelector = LabelSelector()
    """Labels of the object itself."""
    kinds: tuple[Glob, ...] | None = None
    """Kinds; globs allowed."""
    names: tuple[Glob, ...] | None = None
    """Names of objects; globs allowed."""
    paths: tuple[PathGlob, ...] | None = None
    """Paths of the files in the source; `**` crosses folders."""


class Override(Model):
    """One change to one field, after RFC 6902."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"op": {"const": "remove"}}, "required": ["op"]},
            "then": {"not": {"required": ["value"]}},
            "else": {"required": ["value"]},
        }
    )

    path: FieldPointer
    """Which field, as a JSON Pointer (`~1` for a slash in a key, `-` for the end of a list)."""
    op: Literal["add", "replace", "remove"] = "replace"
    """What happens to it."""
    value: object = None
    """The new value; not used by remove."""

    @model_validator(mode="after")
    def _remove_has_no_value(self) -> Self:
        if (self.op == "remove") == ("value" in self.model_fields_set):
            raise ValueError("remove takes no value" if self.op == "remove" else f"{self.op} needs a value")
        return self


class Metadata(Model):
    """Name, labels and annotations."""

    name: DnsSubdomain
    """The object's name."""
    labels: LabelMap = {}
    """Labels."""
    annotations: dict[LabelKey, str] = {}
    """Annotations; not interpreted."""


class ClusterMetadata(Metadata):
    """A cluster's name is also a directory and a label value, so it is a DNS label."""

    name: DnsLabel
    """The cluster's name; its directory in the deployment repo."""
