"""
A machine that can be added, and the limits on adding it, as values.

A limit may be shared by many types (a node pool's GPUs, the nodes of the cluster), so each type says how much of which
limits one machine of it draws, and nobody else needs to know what a limit is about.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import Struct

from gitplacer.model.labels import Taint
from gitplacer.model.resources import NOTHING, Resources

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
NODE_POOL = "karpenter.sh/nodepool"
NODES = "nodes"
"""The resource that counts machines, in limits."""


class LimitKind(enum.StrEnum):
    """Whose limit it is."""

    EXHAUSTED = "Exhausted"  # the provider has none, or its quota is used up
    MAX = "Max"  # of a node type, written in the Cluster
    GROUP_MAX = "GroupMax"  # of a node group, reported by the autoscaler
    NODE_POOL = "NodePool"
    MAX_NODES = "MaxNodes"


class Limit(Struct, frozen=True, kw_only=True):
    """
    So much, and no more, may be there together. `used` is by the nodes that are there; `coming` by machines that the
    autoscaler has asked for already. `subject` names the type, group or pool; for one that is exhausted, `until` is
    the end of it as text, if it is known.
    """

    key: str
    kind: LimitKind
    subject: str
    resource: str = NODES
    most: int
    used: int = 0
    coming: int = 0
    code: str = ""
    until: str = ""


class MachineType(Struct, frozen=True, kw_only=True):
    """
    A sort of machine that can be added. `name` is what people call it; several with one name differ in the node pool
    they come through or in a label that the pool leaves open, and have each a `key`. `demotion` is 0 for what the
    autoscaler would take first whatever it costs, more for what it takes only then.
    """

    key: str
    name: str
    labels: tuple[tuple[str, str], ...]
    taints: tuple[Taint, ...] = ()
    allocatable: Resources
    overhead: Resources = NOTHING
    price_per_hour: float | None = None
    spot: bool = False
    demotion: int = 0
    draws: tuple[tuple[str, int], ...] = ()

    def how_many(self, left: Mapping[str, int], most: int) -> int:
        """How many machines of it may come, if none of another do and so much is left of each limit; no more than `most`."""
        return min([most, *(left[limit] // amount for limit, amount in self.draws)])
