"""
A set of identical pods as single pods, and the rule that keeps the hosts of a slice together.

A replica of several hosts (`numOfHosts`) is one slice of a machine that spans nodes. All its hosts have to be in one topology
domain; for a scheduler that is pod affinity of the hosts to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import PodTerm, Selector, of_one
from gitplacer.model.workload import PodSet, PodShape, PodVolumeClaim
from gitplacer.scheduler.objects import Pod
from gitplacer.scheduler.reading import numbered
from gitplacer.workloads.devices import TPU

NODE_POOL = "cloud.google.com/gke-nodepool"
"""On GKE a node pool of multi-host TPU machines is one slice; its admission webhook keeps the hosts of a replica in one pool
(ai-on-gke, ray-on-gke/tpu/kuberay-tpu-webhook)."""
SLICE_LABEL = "gitplacer.dev/slice"
"""A label that no pod carries in a cluster; here it tells the pods of a slice from those of others."""


def slice_key(pods: PodSet, configured: str) -> str:
    """The label of nodes that all hosts of a slice have in common; '' if there are no slices, or nobody says which."""
    if pods.slice_size <= 1:
        return ""
    return configured or (NODE_POOL if pods.shape.requests.get(TPU) else "")


def expanded(pods: PodSet, name: Callable[[int], str], slice_topology: str) -> Iterator[Pod]:
    """
    The pods of a set one by one, each with its own value of labels that vary; with a topology those of a slice have to share a domain
    of it.
    """
    for i in range(pods.count):
        labels = of_one(pods.labels, i, pods.slice_size)
        if not slice_topology:
            yield Pod.of(pods.shape, name(i), pods.namespace, labels, claims=_claims(pods, name(i), i))
            continue
        number = f"{name(0)}.{i // pods.slice_size}"
        labels = tuple(sorted((*labels, (SLICE_LABEL, number))))
        shape, claims = _in_slice(pods.shape, slice_topology, number), _claims(pods, name(i), i)
        yield Pod.of(shape, name(i), pods.namespace, labels, claims=claims)


def _claims(pods: PodSet, name: str, number: int) -> tuple[PodVolumeClaim, ...]:
    return tuple(numbered(claim, name, number) for claim in pods.claims) if pods.claims else ()


def _in_slice(shape: PodShape, topology: str, number: str) -> PodShape:
    beside = PodTerm(topology, Selector((Requirement(SLICE_LABEL, "In", (number,)),)), own_namespace=True)
    return replace(shape, pod_affinity=(*shape.pod_affinity, beside))
