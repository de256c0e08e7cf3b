"""Which clusters a policy allows, whoever it is that asks, in two parts: what it selects, and what it likes among that."""

from __future__ import annotations

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.labels import untolerated
from gitplacer.policies import DIVIDING, TYPES


def preference(policy: PlacementPolicy, cluster: Cluster) -> int | None:
    """How early the policy takes a cluster, or None if it never does."""
    return TYPES[policy.spec.placement.type](policy.spec.placement, cluster)


def not_selected(policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why a cluster is none that runs workloads, or that the policy selects, or None."""
    if cluster.spec.role == "Management":
        return Finding(code=Reason.MANAGEMENT_CLUSTER)
    unmet = policy.spec.clusters.unmet(cluster.labels())
    return None if unmet is None else Finding(code=Reason.CLUSTER_NOT_SELECTED, subject=str(unmet))


def not_liked(policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why a policy that selects a cluster does not take it, or None."""
    if preference(policy, cluster) is None:
        return Finding(code=Reason.NO_SHARE if policy.spec.placement.type in DIVIDING else Reason.NOT_IN_ORDER)
    taint = untolerated(cluster.taints(), policy.tolerations())
    return None if taint is None else Finding(code=Reason.UNTOLERATED_CLUSTER_TAINT, subject=str(taint))


def closed(cluster: Cluster) -> Finding | None:
    """Why a cluster takes nothing new by what it declares, or None."""
    match cluster.spec.state:
        case "Cordoned":
            return Finding(code=Reason.CLUSTER_CORDONED)
        case "Draining":
            return Finding(code=Reason.CLUSTER_DRAINING)
        case "Lost":
            return Finding(code=Reason.CLUSTER_LOST)
    return None
