"""
The kind WhatIf: something that is supposed of a fleet, kept in a file.

What is asked again and again ("lose a region", "next quarter's jobs") stands beside the policies, and one command answers it.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import DnsLabel, Integer, Model, NamespacedName, OwnKind, Price
from gitplacer.kinds.scenario import FilePath, Line
from gitplacer.kinds.selectors import Metadata


class SupposedReplicas(Model):
    """Another replica count."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["to"]}, {"required": ["times"]}]})

    group: NamespacedName
    """The group."""
    worker: Annotated[str, Field(min_length=1)] | None = None
    """The worker group of its Ray cluster. Absent: the only count that it has, or with `times` all of them."""
    to: Annotated[Integer, Field(ge=0, lt=2**31)] | None = None
    """So many replicas."""
    times: Annotated[float, Field(strict=True, gt=0, le=1000)] | None = None
    """So many times its replicas, rounded up."""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.to is None) is (self.times is None):
            raise ValueError("needs either to or times")
        return self


class SupposedPrice(Model):
    """Another price of a node type."""

    cluster: DnsLabel
    """The cluster."""
    node_type: Annotated[str, Field(min_length=1)]
    """The node type, by its name in the Cluster or in the snapshot's `nodeGroups`."""
    per_hour: Price
    """What one costs in an hour."""


class SupposedFile(Model):
    """A file of the source, or a snapshot."""

    path: FilePath
    """Where it is in the source; a CapacitySnapshot is `<directory of the snapshots>/<cluster>.yaml`."""
    content: str
    """What it holds."""


_WORDS = ("lose", "drain", "cordon", "add", "remove", "replicas", "price")


class Suppose(Model):
    """One thing that is otherwise. Exactly one field."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    lose: DnsLabel | None = None
    """A cluster that is lost."""
    drain: DnsLabel | None = None
    """A cluster that is drained."""
    cordon: DnsLabel | None = None
    """A cluster that takes nothing new."""
    add: SupposedFile | None = None
    """A file more, or another instead of the one that is there."""
    remove: FilePath | None = None
    """A file of the source that goes."""
    replicas: SupposedReplicas | None = None
    """Another replica count."""
    price: SupposedPrice | None = None
    """Another price."""

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        said = [word for word in _WORDS if getattr(self, word) is not None]
        if len(said) != 1:
            raise ValueError(f"needs exactly one of {', '.join(_WORDS)}")
        return self


class WhatIfSpec(Model):
    """What is supposed."""

    title: Line
    """What it is about, in a few words."""
    suppose: Annotated[tuple[Suppose, ...], Field(min_length=1)]
    """What is otherwise, all of it at once."""


class WhatIf(OwnKind):
    """Something that is supposed of the fleet. `gitplacer simulate --scenario FILE` tells what comes of it."""

    kind: Literal["WhatIf"]
    metadata: Metadata
    spec: WhatIfSpec

    @property
    def name(self) -> str:
        return self.metadata.name
