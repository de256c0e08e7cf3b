"""
Clusters that sleep while nobody needs them, and clusters that are made when somebody does: the fields of both.

Gitplacer calls no cloud. Whoever owns clusters (Cluster API, Crossplane, a scaling group) acts on manifests that the user wrote:
one set for a cluster that is awake and one for a cluster that sleeps. Which of them is rendered is all that is decided here.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.capacity import Node
from gitplacer.kinds.fields import Count, DnsLabel, Folder, Glob, Model, Period, Seconds, refuse_twice


class ManifestFolders(Model):
    """Two directories below the Fleet's platform paths, each with the manifests of one state of a cluster."""

    active: Folder
    """The directory of the source with the manifests of a cluster that is awake."""
    standby: Folder
    """The directory of the source with the manifests of a cluster that sleeps. It must not be empty: an empty one would delete
    whatever stands for the cluster, without anybody having written so."""

    @model_validator(mode="after")
    def _two_directories(self) -> Self:
        one, other = f"{self.active}/", f"{self.standby}/"
        if one.startswith(other) or other.startswith(one):
            raise ValueError("active and standby must be two directories, neither of them inside the other")
        return self


class StandbyManifests(ManifestFolders):
    """The manifests that keep a cluster awake or let it sleep, and the cluster that they are applied to."""

    render_into: DnsLabel
    """The cluster that they are rendered into: one of the fleet that never sleeps itself, usually a Management cluster."""


class Standby(Model):
    """When a cluster goes to sleep, and what it has when it is awake."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"mode": {"const": "Delete"}}, "required": ["mode"]},
            "then": {"properties": {"nodes": {"minItems": 1}}, "required": ["nodes"]},
        }
    )

    mode: Literal["Suspend", "Delete"] = "Suspend"
    """What sleep is. Suspend: its nodes go and its API server stays, so workloads are written at once when it wakes. Delete: all of
    it goes, so workloads are written when its snapshot says that it is back."""
    idle_after: Seconds = Field(default="1h", validate_default=True)
    """How long it may hold nothing that consumes before it goes to sleep."""
    ignore_namespaces: tuple[Glob, ...] = ()
    """Namespaces whose groups keep no cluster awake, such as that of an operator; globs allowed."""
    nodes: tuple[Node, ...] = ()
    """Its nodes when it is awake, as in a snapshot: what is counted on while it sleeps or wakes. Needed for Delete; absent, the
    nodes of its last snapshot count."""
    wake_timeout: Period = Field(default="30m", validate_default=True)
    """How long it may take to wake. Then what waits for it looks elsewhere, and it is left alone for as long again."""
    manifests: StandbyManifests | None = None
    """What is rendered for whoever owns clusters. Absent, `fleet/<cluster>.yaml` in the deployment repo alone says what it should
    be."""

    @model_validator(mode="after")
    def _what_is_deleted_has_no_nodes_to_look_at(self) -> Self:
        if self.mode == "Delete" and not self.nodes:
            raise ValueError(
                "mode Delete needs nodes: a cluster that is gone has no snapshot to tell what it would have"
            )
        refuse_twice("node", [node.name for node in self.nodes], "nodes")
        return self


class Clone(Model):
    """Clusters that are made after the model of one, when a group names one that is missing, or fits nowhere."""

    source: Annotated[DnsLabel, Field(alias="from")]
    """The Cluster that clones are like, but for their name. It needs a `standby` with `nodes`."""
    manifests: ManifestFolders
    """Templates of the manifests of a clone. `${name}` stands for its name, and each object has it in its name; nothing else is
    replaced. They are rendered into the cluster that `from` is rendered into."""
    max: Count = 10
    """How many clones there may be, those that sleep included."""
