"""
PersistentVolumeClaim: it may ask for more room, and for nothing else.

A field that was left out before may have been filled in by the cluster (the default StorageClass, the volume), so writing
it down is taken for writing down what is there.

Source: k8s.io/kubernetes/pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.edits.clusterspec import Version
from gitplacer.workloads.edits.effect import Effect, changed, refused
from gitplacer.workloads.edits.immutable import between
from gitplacer.workloads.edits.typed import BUILT_IN, mapping, settled

_FIXED = ("accessModes", "dataSource", "dataSourceRef", "selector", "volumeMode")
_FILLED_IN = ("storageClassName", "volumeName")
_SIZE: Path = ("spec", "resources", "requests", "storage")


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effects of an edit."""
    old, new = ({"spec": settled(mapping(root, "spec"), BUILT_IN)} for root in (before, after))
    fixed = _FIXED + tuple(key for key in _FILLED_IN if key in old["spec"])
    yield from refused(after, (change for key in fixed for change in between(old, new, ("spec", key))))
    had, has = (mapping(root, "spec", "resources", "requests").get("storage") for root in (old, new))
    if isinstance(had, Fraction) and isinstance(has, Fraction) and has < had:
        yield from refused(after, [changed(_SIZE)], "the API server refuses to make a claim smaller")
