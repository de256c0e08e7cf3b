"""Volume claims: whose data lives in one place, and what class of storage they ask for."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import Reference

_SINGLE_NODE = ("ReadWriteOnce", "ReadWriteOncePod")


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
