"""
What kube-scheduler would do with a gang of pods on one cluster, worked out without a cluster.

`reading` turns core/v1 objects into values (`objects`); `filters` and `neighbours` are the scheduler's rules; a `board` is one
cluster and one gang, on which pods are bound one by one; `simulation` plays the scheduler; `packing` looks for any placement at
all; `orders` has what a gang is tried against; `answer` puts it together and `shortage` says what is missing. What comes
before a scheduler looks at a pod, and what it is told by other objects, is in `admission`, `storage` and `volumes`; `dump` asks it
all of a cluster at once.

The rules are those of kube-scheduler 1.34 with its default plugins. Not looked at: resource claims, scheduling gates,
preemption (a pod of lower priority holds what it holds), and constraints that a cluster's own scheduler configuration adds.
"""

from __future__ import annotations

from gitplacer.scheduler.answer import Answer, Fit, Why, judge
from gitplacer.scheduler.objects import Node, Pod
from gitplacer.scheduler.reading import ClusterObjects, read_cluster, read_pod
from gitplacer.scheduler.shortage import Shortage

__all__ = [
    "Answer",
    "ClusterObjects",
    "Fit",
    "Node",
    "Pod",
    "Shortage",
    "Why",
    "judge",
    "read_cluster",
    "read_pod",
]
