"""
Volume claims: whose data lives in one place, what class of storage they ask for, and which of them pods have.

A pod has a volume by a claim that exists by itself, or by one that is made for it from a template. Where the volume can be
reached is the cluster's to say; here is only what is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.model.workload import ClaimSpec, PodVolumeClaim
from gitplacer.workloads.constraints import selector_of
from gitplacer.workloads.facts import Reference

_SINGLE_NODE = ("ReadWriteOnce", "ReadWriteOncePod")


DISKS = (
    "awsElasticBlockStore", "azureDisk", "cinder", "gcePersistentDisk", "iscsi", "portworxVolume", "rbd", "vsphereVolume",
)  # fmt: skip
"""Disks that a pod may name itself. kube-scheduler keeps some apart that name the same one, and counts others for what a driver attaches to a node."""


def single_node_claim(spec: Cursor) -> str:
    """
    Why a claim's pods must not be started elsewhere, or ''. A claim without `accessModes`, which the API server
    refuses unless something fills them in, is taken for ReadWriteOnce: what may hold data is not moved on a guess.
    """
    modes = spec.texts("accessModes") or ("ReadWriteOnce",)
    return next((f"{mode} volume claim" for mode in _SINGLE_NODE if mode in modes), "")


def storage_class(spec: Cursor) -> Iterator[Reference]:
    """The StorageClass that a claim names. '' asks for a volume without one, and absent for the cluster's default."""
    if name := spec.text("storageClassName"):
        path = (*spec.path, "storageClassName")
        yield Reference("storage.k8s.io", "StorageClass", name, path=path, cluster_scoped=True)


def chosen_volume(spec: Cursor) -> Iterator[Reference]:
    """The PersistentVolume that a claim names. Somebody made it by hand, and a cluster without it makes none: the claim waits there for ever."""
    if name := spec.text("volumeName"):
        yield Reference("", "PersistentVolume", name, path=(*spec.path, "volumeName"), cluster_scoped=True)


CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""Where claims and volumes named their class before they had a field for it; it still wins."""


def claim_spec(claim: Cursor) -> ClaimSpec:
    """What a claim, or a template of claims, asks for: anything with `metadata` and `spec`."""
    spec = claim.mapping("spec")
    annotated = claim.mapping("metadata").mapping("annotations").value.get(CLASS_ANNOTATION)
    named = spec.text("storageClassName") if spec.has("storageClassName") else None
    return ClaimSpec(
        storage_class=annotated if isinstance(annotated, str) else named,
        size=spec.mapping("resources").mapping("requests").quantity("storage", "storage") or 0,
        modes=spec.texts("accessModes") if spec.has("accessModes") else (),
        block=spec.text("volumeMode") == "Block",
        selector=selector_of(spec, "selector").requirements or (),
        volume=spec.text("volumeName"),
    )


def own_disks(spec: Cursor) -> Iterator[str]:
    """The sorts of disks that the pods of a spec name themselves, without a claim."""
    volumes = spec.items("volumes") if spec.has("volumes") else []
    yield from (sort for sort in DISKS if any(volume.has(sort) for volume in volumes))


def pod_claims(spec: Cursor) -> Iterator[PodVolumeClaim]:
    """The claims by which the pods of a spec have volumes, those that are made with each pod included."""
    if not spec.has("volumes"):
        return
    for volume in spec.items("volumes"):
        if volume.has("persistentVolumeClaim"):
            if name := volume.mapping("persistentVolumeClaim").text("claimName"):
                yield PodVolumeClaim(name)
        elif volume.has("ephemeral"):
            template = volume.mapping("ephemeral").mapping("volumeClaimTemplate")
            yield PodVolumeClaim(volume.text("name"), "pod", claim_spec(template))
