"""
How kube-scheduler spreads pods that say nothing of spreading: those of a Service, a ReplicaSet or a StatefulSet.

It has two constraints of its own for them, which only score: at most 3 more pods on one node than on another, and 5 in one
zone. Clusters may be set up without; so a gang to which they apply is tried with and without them.
Source: kubernetes 1.34 pkg/scheduler/framework/plugins/podtopologyspread/plugin.go (systemDefaultConstraints), common.go
(buildDefaultConstraints), helper/spread.go (DefaultSelector).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import NOTHING_SELECTED, Selector, SpreadConstraint
from gitplacer.scheduler.objects import HOSTNAME, Node, Pod

ZONE = "topology.kubernetes.io/zone"
SKEWS = ((HOSTNAME, 3), (ZONE, 5))

Services = Mapping[str, tuple[Selector, ...]]
"""The selectors of Services by namespace."""


def spread_by_default(
    gang: Sequence[Pod], sets: Sequence[Selector], services: Services, nodes: Iterable[Node]
) -> tuple[Pod, ...]:
    """
    The gang with those constraints; () if they change nothing. `sets` has for each pod the selector of the set that makes
    it. A constraint over a label that some nodes lack is left out: there every node would score alike, or nearly.
    """
    labels = [dict(node.labels) for node in nodes]
    skews = [(key, skew) for key, skew in SKEWS if labels and all(key in each for each in labels)]
    found = []
    for pod, own in zip(gang, sets, strict=True):
        selector = NOTHING_SELECTED if pod.spread else _selector(pod, own, services.get(pod.namespace, ()))
        added = tuple(
            SpreadConstraint(topology_key=key, max_skew=skew, selector=selector, hard=False) for key, skew in skews
        )
        found.append(replace(pod, spread=added) if selector.requirements else pod)
    alone = sum(bool(new.spread) and not old.spread for old, new in zip(gang, found, strict=True)) < 2
    return () if alone else tuple(found)


def _selector(pod: Pod, own: Selector, services: Iterable[Selector]) -> Selector:
    """All of the selectors of what selects the pod, as one."""
    labels = dict(pod.labels)
    requirements: list[Requirement] = []
    for selector in (*services, own):
        if selector.requirements and selector.matches(labels):
            requirements += [each for each in selector.requirements if each not in requirements]
    return Selector(tuple(requirements)) if requirements else NOTHING_SELECTED
