"""Why a gang fits, fits tightly or does not fit, and why a node refuses a pod: codes for programs."""

from __future__ import annotations

import enum


class Cause(enum.StrEnum):
    """Mild to severe. Where a code is also one of `model.decision.Reason`, it means the same."""

    FITS = "Fits"
    TIGHT_FIT = "TightFit"  # an order was found that leaves a pod out
    NODE_NOT_READY = "NodeNotReady"  # fits only with a node that does not say that it is ready
    # nothing fits, for all we know
    SEARCH_BOUND = "SearchBound"  # the search for a placement ran out of steps: there may be one
    INSUFFICIENT_CAPACITY = "InsufficientCapacity"  # there is enough on the empty nodes
    EXCEEDS_CLUSTER = "ExceedsCluster"  # there is not even then
    HOST_PORT_TAKEN = "HostPortTaken"
    TOPOLOGY_SPREAD = "TopologySpread"
    POD_AFFINITY = "PodAffinity"  # or anti-affinity, the pod's own or that of another
    # a node by itself refuses the pod
    NODE_UNREADABLE = "NodeUnreadable"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    NODE_NAME_MISMATCH = "NodeNameMismatch"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    NODE_AFFINITY_MISMATCH = "NodeAffinityMismatch"  # node selector or required node affinity
    MISSING_TOPOLOGY_KEY = "MissingTopologyKey"
    # the question makes no sense
    INVALID_POD = "InvalidPod"
