"""
Our own kinds, each declared once.

The declaration is a pydantic model; the parser, the JSON Schema, the reference page and the samples in the tests
come from it or are checked against it. `TABLE` is the list of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gitplacer.kinds.approval import Approval
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fields import API_VERSION, Model
from gitplacer.kinds.fleet import Cluster, Fleet
from gitplacer.kinds.policy import OverridePolicy, PlacementPolicy
from gitplacer.kinds.record import PlacementRecord
from gitplacer.kinds.removals import Removals
from gitplacer.kinds.scenario import Scenario
from gitplacer.kinds.scores import ClusterScores
from gitplacer.kinds.tenant import Tenant
from gitplacer.kinds.whatif import WhatIf
from gitplacer.kinds.workloadkind import WorkloadKind

TABLE: Mapping[str, type[Model]] = MappingProxyType(
    {
        "Fleet": Fleet,
        "Cluster": Cluster,
        "PlacementPolicy": PlacementPolicy,
        "OverridePolicy": OverridePolicy,
        "ClusterScores": ClusterScores,
        "Tenant": Tenant,
        "Approval": Approval,
        "WorkloadKind": WorkloadKind,
        "Scenario": Scenario,
        "WhatIf": WhatIf,
        "CapacitySnapshot": CapacitySnapshot,
        "Placement": PlacementRecord,
        "ClusterState": ClusterState,
        "Removals": Removals,
    }
)
"""Kind to declaration."""

OWN_API_GROUP = API_VERSION.split("/")[0]
