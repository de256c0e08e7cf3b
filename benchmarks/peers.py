"""
Where gangs would go by rules that other schedulers of fleets publish. Each rule is given the queue at once, and counts what it has promised.

The rules are those of documentation and sources, put in their best light: nothing arrives that they do not know of, and each subtracts its own promises
as well as its view allows. They are not the programs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.packing_quality import Amounts, Fleet, Gang, first_fit

Queue = Sequence[Gang]
Promises = dict[int, str]
"""Number of a gang in the queue to the cluster that is promised to have room for it."""
Rule = Callable[[Fleet, Queue], Promises]


def total(pods: Sequence[Amounts]) -> Amounts:
    return Amounts(*(sum(amounts) for amounts in zip(*pods, strict=True))) if pods else Amounts(0, 0, 0)


def counts_decisions(fleet: Fleet, queue: Queue) -> Promises:
    """
    As Open Cluster Management with Balance and ResourceAllocatable scores: the cluster with the fewest decisions, then with the most
    allocatable in total. A Placement does not know how large its workload is, so nobody is refused.
    """
    decisions = dict.fromkeys(sorted(fleet), 0)
    promised: Promises = {}
    for number in range(len(queue)):
        name = min(decisions, key=lambda name: (decisions[name], [-amount for amount in total(fleet[name])], name))
        decisions[name] += 1
        promised[number] = name
    return promised


def totals(fleet: Fleet, queue: Queue) -> Promises:
    """As Karmada's general estimator: what is free in a cluster, all its nodes together, against what the gang asks for in total."""
    free = {name: total(nodes) for name, nodes in sorted(fleet.items())}
    promised: Promises = {}
    for number, gang in enumerate(queue):
        able = [name for name in free if free[name].holds(total(gang.pods))]
        if able:
            name = max(able, key=lambda name: free[name])
            free[name] = free[name].minus(total(gang.pods))
            promised[number] = name
    return promised


def each_by_itself(fleet: Fleet, queue: Queue) -> Promises:
    """
    As Karmada's accurate estimator, asked for replicas: how many pods of each component the nodes take, by dividing what is free on each;
    the components of a gang are not held against each other. Promised pods are laid onto nodes first-fit, as far as they find one.
    """
    nodes = {name: list(found) for name, found in sorted(fleet.items())}
    promised: Promises = {}
    for number, gang in enumerate(queue):
        wanted = {gang.head: 1}
        wanted[gang.worker] = wanted.get(gang.worker, 0) + gang.workers
        for name, free in nodes.items():
            if all(sum(_replicas(node, pod) for node in free) >= count for pod, count in wanted.items()):
                promised[number] = name
                for pod in gang.pods:
                    _laid(free, pod)
                break
    return promised


def _replicas(node: Amounts, pod: Amounts) -> int:
    return max(0, min(has // asks for has, asks in zip(node, pod, strict=True) if asks))


def _laid(nodes: list[Amounts], pod: Amounts) -> None:
    for index, node in enumerate(nodes):
        if node.holds(pod):
            nodes[index] = node.minus(pod)
            return


def pod_by_pod(fleet: Fleet, queue: Queue) -> Promises:
    """First-fit: the first cluster where every pod, one after another, finds a node, and the first node that has room for it."""
    promised: Promises = {}
    for number, gang in enumerate(queue):
        found = first_fit(fleet, gang)
        if found is not None:
            promised[number], fleet = found
    return promised


@dataclass(frozen=True, slots=True)
class OnCluster:
    """What a rule has promised of one cluster: its nodes, and the gangs in the order of the queue."""

    nodes: list[Amounts]
    gangs: Mapping[int, Gang]


def by_cluster(fleet: Fleet, queue: Queue, promised: Promises) -> Iterator[OnCluster]:
    for name, nodes in sorted(fleet.items()):
        gangs = {number: queue[number] for number, where in sorted(promised.items()) if where == name}
        if gangs:
            yield OnCluster(nodes, gangs)
