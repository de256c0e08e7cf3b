"""
What an autoscaler can add, as people write it in a Cluster and as a machine reports it in a CapacitySnapshot.

The same fields stand in both, so that either side may know what the other does not: people know prices, the machine
knows what a fresh node really offers. Nothing here says which side wins; `gitplacer.machines` does.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer.kinds.fields import (
    Amounts,
    Boolean,
    Bounds,
    DnsLabel,
    Instant,
    Integer,
    LabelKey,
    LabelMap,
    LabelValue,
    Matching,
    Model,
    Price,
    Word,
    refuse_twice,
)
from gitplacer.kinds.selectors import TaintField
from gitplacer.model.labels import Requirement
from gitplacer.model.resources import NOTHING

Machines = Annotated[Integer, Field(ge=0, le=100_000)]


class MachineFields(Model):
    """What one fresh machine is, whoever says it."""

    allocatable: Amounts | None = None
    """What one such node offers to pods, before DaemonSets take their part."""
    overhead: Amounts = NOTHING
    """What DaemonSets take on each fresh node; their slots are `pods`. New pods find room beside it."""
    capacity: Amounts | None = None
    """What one such node counts against the limits of a node pool; absent means as much as it offers."""
    labels: LabelMap = {}
    """Labels of a new node."""
    taints: tuple[TaintField, ...] = ()
    """Taints of a new node."""
    max: Machines | None = None
    """
    How many of them there may be, those that exist included. Where nobody says it, Karpenter is bounded by its node pools
    alone, and of other autoscalers none is counted on.
    """
    price_per_hour: Price | None = None
    """What one costs in an hour, in the fleet's currency."""
    spot: Boolean = False
    """Whether the provider may take it back; said in the plan."""


class NodeType(MachineFields):
    """
    A kind of machine that the cluster's autoscaler can add. What is written here wins, field by field, over what the
    snapshot reports of the node group of this name, or of the node groups of this instance type.
    """

    name: Word
    """The instance type, or the name of a node group. What no other entry is called."""
    instance_type: Word | None = None
    """The instance type; absent means `name`. Nodes carry it as the label `node.kubernetes.io/instance-type`."""


class NodeRequirement(Model):
    """One condition of a node pool on a label of its nodes, as in Karpenter."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {
                    "if": {"properties": {"operator": {"enum": ["In", "NotIn"]}}},
                    "then": {"required": ["values"], "properties": {"values": {"minItems": 1}}},
                },
                {
                    "if": {"properties": {"operator": {"enum": ["Exists", "DoesNotExist"]}}},
                    "then": {"properties": {"values": {"maxItems": 0}}},
                },
                {
                    "if": {"properties": {"operator": {"enum": ["Gt", "Lt"]}}},
                    "then": {
                        "required": ["values"],
                        "properties": {"values": {"minItems": 1, "maxItems": 1, "items": {"pattern": "^[0-9]{1,18}$"}}},
                    },
                },
            ]
        }
    )

    key: LabelKey
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label's value is compared."""
    values: tuple[LabelValue, ...] = ()
    """The values of In and NotIn, the one whole number of Gt and Lt; empty for Exists and DoesNotExist."""

    @model_validator(mode="after")
    def _values_fit_the_operator(self) -> Self:
        match self.operator:
            case "In" | "NotIn" if not self.values:
                raise ValueError(f"operator {self.operator} needs values")
            case "Exists" | "DoesNotExist" if self.values:
                raise ValueError(f"operator {self.operator} takes no values")
            case "Gt" | "Lt" if len(self.values) != 1 or not _is_number(self.values[0]):
                raise ValueError(f"operator {self.operator} needs one whole number")
        return self

    def requirement(self) -> Requirement:
        return Requirement(self.key, self.operator, self.values)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


class NodePool(Model):
    """A NodePool of Karpenter: which node types it may launch, and how much of everything together."""

    name: DnsLabel
    """Its name. Its nodes carry it as the label `karpenter.sh/nodepool`."""
    requirements: tuple[NodeRequirement, ...] = ()
    """What the labels of its nodes must meet. A node type that does not is not launched through it."""
    limits: Bounds = {}
    """The most that all its nodes may have together: cpu, memory, devices, or `nodes`, their number."""
    labels: LabelMap = {}
    """Labels that its nodes get."""
    taints: tuple[TaintField, ...] = ()
    """Taints that its nodes get."""
    weight: Annotated[Integer, Field(ge=0, le=100)] = 0
    """Karpenter takes the heaviest pool that can serve a pod, whatever the price."""


class Autoscaler(Model):
    """What adds nodes to the cluster when pods wait."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"type": {"const": "Karpenter"}}},
            "else": {"properties": {"nodePools": {"maxItems": 0}}},
        }
    )

    type: Literal["Luna", "ClusterAutoscaler", "Karpenter"]
    """Which autoscaler."""
    pod_labels: LabelMap = {}
    """Labels put on the pod templates rendered for this cluster (Luna: `elotl-luna: "true"`)."""
    node_types: tuple[NodeType, ...] = ()
    """What it can add, besides what the snapshot reports as `nodeGroups`."""
    node_pools: tuple[NodePool, ...] = ()
    """Karpenter: its node pools. With any, a node type is only added through a pool whose requirements it meets."""
    max_nodes: Machines | None = None
    """How many nodes the cluster may have in all, whoever added them (Cluster Autoscaler: `--max-nodes-total`)."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        refuse_twice("node type", [t.name for t in self.node_types], "nodeTypes")
        refuse_twice("node pool", [p.name for p in self.node_pools], "nodePools")
        return self

    @model_validator(mode="after")
    def _node_pools_belong_to_karpenter(self) -> Self:
        if self.node_pools and self.type != "Karpenter":
            raise ValueError("nodePools are for type Karpenter")
        return self


class Exhaustion(Model):
    """Why a node group gets no machine now, as its autoscaler or its provider said in events."""

    code: Annotated[
        str, Matching(r"^[A-Za-z][A-Za-z0-9._-]{0,62}$", "must be a code such as InsufficientInstanceCapacity")
    ]
    """The code, such as QuotaExceeded or InsufficientInstanceCapacity."""
    since: Instant | None = None
    """Since when; told, not used."""
    until: Instant | None = None
    """Until when nothing is counted of it; absent means as long as the snapshot says so."""


class NodeGroup(MachineFields):
    """A node group as the cluster's autoscaler reported it: what one fresh machine of it is, and how many there may be."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Its name."""
    node_type: Word | None = None
    """The instance type of its machines; absent means `name`."""
    min: Machines = 0
    """How many machines it always has. They stand there whatever is placed, so no budget is charged for them."""
    count: Machines | None = None
    """How many machines it has or has asked for. Those that are no nodes yet are on their way; absent means none are."""
    exhausted: Exhaustion | None = None
    """While this holds, no new machine of it is counted on."""

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        return self
