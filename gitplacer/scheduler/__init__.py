"""
What kube-scheduler would do with a gang of pods on one cluster, worked out without a cluster.

`answer` is where to begin: it puts all the rest together.

**Objects.** `reading` turns core/v1 objects into values, which are in `objects`; `manifests`: the pods of a sized object; `gangs`: sets of identical pods.

**Rules.** `filters`: of one pod and one node. `neighbours`: of other nodes, such as topology spread. `defaultspread`: for pods that say nothing of it. `arriving`:
pods that wait for the only node that they may go to.

**Before the scheduler.** `admission`: what the API server fills in and refuses. `storage`, `volumes`, `pools`: on which nodes the volumes of a pod can be had.
`capacities`: how much drivers have left for volumes that are yet to be made.

**Trials.** `site`: one cluster, as each gang finds it. `board`: one cluster and one gang, on which pods are bound one by one. `orders`: what a gang is tried
against. `simulation`, `player`: the scheduler, played. `packing`: any placement at all. `shortage`: what is missing where there is none.

**Proofs.** `crowding`: nobody can be left out. `ceilings`: how many pods will find a place at most.

**A whole cluster.** `dump`: what `kubectl get -A -o json` prints, asked all of that.

**For speed alone.** `compiled`, `compiledneighbours`, `compiledscores`, `compiledcrowd`: the same in machine code, by `machinecode`; `patience`: when that pays.

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
