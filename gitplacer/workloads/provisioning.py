"""
The ProvisioningRequest that pods consume: an order to Cluster Autoscaler for all of their machines at once, as of GKE's Dynamic Workload Scheduler.

Pods name it in an annotation, and it names the PodTemplates of what it orders. It goes along where the source has it, and is not missed where it has not: Kueue
makes one by itself. Without its PodTemplates it is refused.
Source: the ProvisioningRequest API of Cluster Autoscaler (autoscaling.x-k8s.io), v1 and v1beta1; the older annotation is read there too.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import ObjectFacts, Reference, distinct

API_GROUP, KIND = "autoscaling.x-k8s.io", "ProvisioningRequest"
_CONSUMES = (
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
"""Annotations of a pod."""


def consumed(metadata: Cursor) -> Iterator[Reference]:
    """What a pod with such metadata consumes."""
    annotations = metadata.value.get("annotations")
    if not isinstance(annotations, dict):
        return
    for key in _CONSUMES:
        if isinstance(name := annotations.get(key), str) and name:
            yield Reference(API_GROUP, KIND, name, optional=True, path=(*metadata.path, "annotations", key))


def read(root: Cursor) -> ObjectFacts:
    """The PodTemplates of a ProvisioningRequest."""
    ordered = (pods.mapping("podTemplateRef") for pods in root.mapping("spec").items("podSets"))
    return ObjectFacts(
        needs=distinct(
            Reference("", "PodTemplate", each.text("name"), path=(*each.path, "name"))
            for each in ordered
            if each.text("name")
        )
    )
