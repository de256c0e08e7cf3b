"""
ConfigMap and Secret: those that are marked `immutable` stay as they are for good, and a Secret keeps its type.

Source: k8s.io/kubernetes/pkg/apis/core/validation, ValidateConfigMapUpdate and ValidateSecretUpdate.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.workloads.edits.clusterspec import Version
from gitplacer.workloads.edits.effect import Change, Effect, changed, refused
from gitplacer.workloads.edits.typed import differences, mapping

_OPAQUE = "Opaque"


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit. What SOPS has encrypted differs at every encryption, and is not compared."""
    yield from refused(after, _changes(before, after))


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    if after.get("kind") == "Secret" and (before.get("type") or _OPAQUE) != (after.get("type") or _OPAQUE):
        yield changed(("type",))
    if before.get("immutable") is not True or "sops" in before or "sops" in after:
        return
    if after.get("immutable") is not True:
        yield changed(("immutable",), removed="immutable" not in after)
    yield from differences(_data(before), _data(after))


def _data(root: Mapping[str, Any]) -> dict[str, Any]:
    """All entries. The API server moves those of a Secret's `stringData` into `data`."""
    found: dict[str, Any] = {"data": dict(mapping(root, "data")), "binaryData": dict(mapping(root, "binaryData"))}
    for key, text in mapping(root, "stringData").items():
        if isinstance(text, str):
            found["data"][key] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return found
