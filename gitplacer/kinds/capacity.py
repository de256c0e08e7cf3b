"""The kind CapacitySnapshot: what one cluster has, and what of ours runs there. Written by a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import (
    Amounts,
    Boolean,
    Count,
    Instant,
    Integer,
    Model,
    NamespacedName,
    OwnKind,
    refuse_twice,
)
from gitplacer.kinds.listedpods import ListedPod, NamespaceLabels
from gitplacer.kinds.machines import NodeGroup
from gitplacer.kinds.nodecolumns import NodeColumns, NodeTable
from gitplacer.kinds.profile import Equipment, VolumeNodes
from gitplacer.kinds.queues import ClusterQueue, Cohort
from gitplacer.kinds.quotas import ResourceQuota
from gitplacer.kinds.selectors import ClusterMetadata, TaintField
from gitplacer.model.labels import Taint
from gitplacer.model.resources import NOTHING

Phase = Literal["Pending", "Running", "Succeeded", "Failed", "Suspended", "Unknown"]


class Applied(Model):
    """The epochs found in the sentinel ConfigMaps of the cluster."""

    platform: Annotated[Integer, Field(ge=0)] = 0
    """Epoch of the platform unit."""
    workloads: Annotated[Integer, Field(ge=0)] = 0
    """Epoch of the workloads unit."""


class Node(Model):
    """One node, or `count` nodes that are the same."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"pods": {"minItems": 1}}, "required": ["pods"]},
            "then": {"properties": {"count": {"const": 1}}},
        }
    )

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """The node's name; with `count`, of the first."""
    count: Count = 1
    """How many nodes are like this one."""
    labels: dict[str, str] = {}
    """The node's labels."""
    taints: tuple[TaintField, ...] = ()
    """The node's taints."""
    unschedulable: Boolean = False
    """Whether it is cordoned."""
    ready: Boolean = True
    """Whether the node is ready."""
    allocatable: Amounts
    """What each node offers to pods."""
    used: Amounts = NOTHING
    """What pods that are not of `groups` use, on each node."""
    pods: tuple[ListedPod, ...] = ()
    """Pods among those that others have to mind: with anti-affinity or host ports, or such as rules of others ask for. A node
    that has any is not folded with others."""

    def taint_values(self) -> tuple[Taint, ...]:
        return tuple(field.taint() for field in self.taints)

    @model_validator(mode="after")
    def _pods_are_of_one_node(self) -> Self:
        if self.pods and self.count > 1:
            raise ValueError("a node with pods is one node: give it an entry of its own, without count")
        return self


class RunningPod(Model):
    """A pod of a group."""

    role: Annotated[str, Field(min_length=1)]
    """`head`, `worker/<groupName>`, `submitter` or `pod`."""
    node: str | None = None
    """The node it is bound to; absent while it is pending."""
    requests: Amounts = NOTHING
    """Its effective request; absent means as its manifest says."""
    pending_since: Instant | None = None
    """Since when it is pending."""
    reason: str | None = None
    """Why it is pending."""
    terminating: Boolean = False
    """Whether it is being deleted. Until it is gone it keeps its room and keeps others away, and topology spread does not count it. The pod that
    follows on it is still to come, and holds room too."""


class RunningGroup(Model):
    """A group that gitplacer placed, as it was found."""

    name: NamespacedName
    """`<namespace>/<group>`."""
    phase: Phase = "Unknown"
    """What its Ray object says."""
    ready: Boolean = False
    """Whether it serves, or runs with all its pods."""
    observed_generation: Integer | None = None
    """The generation of the object that the operator has seen."""
    pods: tuple[RunningPod, ...] = ()
    """Its pods."""


class BoundVolume(VolumeNodes):
    """The volume of a claim that is bound, and where it can be reached (the volume's `nodeAffinity`, or its zone labels)."""

    claim: NamespacedName
    """`<namespace>/<claim>`."""


class Observation(OwnKind):
    """The nodes of one cluster, and what of ours runs on them."""

    metadata: ClusterMetadata
    observed_at: Instant
    """When it was taken."""
    applied: Applied | None = None
    """The epochs of what the cluster has applied."""
    coarse: Boolean = False
    """Whether the nodes are no nodes that somebody saw, but at least what is free, as a hub has it: without labels, taints and pods.
    No more than a tight fit is promised on them."""
    nodes: tuple[Node, ...] = ()
    """The nodes."""
    node_groups: tuple[NodeGroup, ...] = ()
    """What the cluster's autoscaler can add, as it reported it. Counted only where the Cluster has an `autoscaler`."""
    groups: tuple[RunningGroup, ...] = ()
    """What runs of the groups placed by gitplacer."""
    serves: tuple[str, ...] | None = None
    """API groups that Kubernetes does not bring, such as ray.io/v1; absent means not known, so not checked."""
    namespaces: tuple[NamespaceLabels, ...] = ()
    """Its namespaces, as far as rules about pods go by their labels."""
    volumes: tuple[BoundVolume, ...] = ()
    """Volumes that are not reached from every node; pods that name their claims go where these are."""
    queues: tuple[ClusterQueue, ...] | None = None
    """The ClusterQueues of Kueue; absent means not known, so not checked."""
    cohorts: tuple[Cohort, ...] = ()
    """The Cohorts that they are in."""
    resource_quotas: tuple[ResourceQuota, ...] | None = None
    """The ResourceQuotas of its namespaces; absent means not known, so not checked."""


_BY_NAME = "groups by name"
"""Where a snapshot keeps its groups by name once one is asked for: beside its fields, of which it is none."""


class CapacitySnapshot(Equipment, Observation):
    """What one cluster has. A cluster testifies only about itself; the file is named after it."""

    kind: Literal["CapacitySnapshot"]

    @property
    def name(self) -> str:
        return self.metadata.name

    def running(self, group_id: str) -> RunningGroup | None:
        """What the cluster shows of a group."""
        known: tuple[Sequence[RunningGroup], Mapping[str, RunningGroup]] | None = self.__dict__.get(_BY_NAME)
        if known is None or known[0] is not self.groups:  # as in a copy that shows others
            known = self.__dict__[_BY_NAME] = self.groups, {group.name: group for group in self.groups}
        return known[1].get(group_id)

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        fields = {name: value for name, value in state["__dict__"].items() if name != _BY_NAME}
        return {**state, "__dict__": {**fields, "nodes": NodeColumns.of(self.nodes)}}

    def __setstate__(self, state: dict[Any, Any]) -> None:
        fields = state["__dict__"]
        super().__setstate__({**state, "__dict__": {**fields, "nodes": NodeTable(fields["nodes"], Node)}})

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for field, what, names in (
            ("nodes", "node", [n.name for n in self.nodes]),
            ("nodeGroups", "node group", [g.name for g in self.node_groups]),
            ("groups", "group", [g.name for g in self.groups]),
            ("volumes", "volume of claim", [v.claim for v in self.volumes]),
            ("queues", "ClusterQueue", [q.name for q in self.queues or ()]),
            ("cohorts", "Cohort", [c.name for c in self.cohorts]),
            ("resourceQuotas", "ResourceQuota", [f"{q.namespace}/{q.name}" for q in self.resource_quotas or ()]),
        ):
            refuse_twice(what, names, field)
        leading = {
            ("queues", number, "localQueues", index): local.name
            for number, queue in enumerate(self.queues or ())
            for index, local in enumerate(queue.local_queues)
        }
        refuse_twice("LocalQueue", [*leading.values()], "queues", [*leading])
        return self

    @model_validator(mode="after")
    def _nodes_are_columns(self) -> Self:
        self.__dict__["nodes"] = NodeTable(NodeColumns.of(self.nodes), Node)  # a snapshot is frozen for everybody else
        return self
