"""
StatefulSet: of its spec only a few fields may be changed, and its volumes are not among them.

Source: k8s.io/kubernetes/pkg/apis/apps/validation, ValidateStatefulSetUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.workloads.edits.clusterspec import Version, without
from gitplacer.workloads.edits.effect import Effect, refused
from gitplacer.workloads.edits.immutable import between
from gitplacer.workloads.edits.typed import BUILT_IN, mapping, settled

_FIXED = ("podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates")


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit."""
    old, new = (_spec(root) for root in (before, after))
    yield from refused(
        after, (change for key in _FIXED for change in between({"spec": old}, {"spec": new}, ("spec", key)))
    )


def _spec(root: Mapping[str, Any]) -> dict[str, Any]:
    """A claim template is a whole object; what kind it is, and its status, say nothing."""
    spec = settled(mapping(root, "spec"), BUILT_IN)
    claims = spec.get("volumeClaimTemplates")
    if isinstance(claims, list):
        dropped = {"apiVersion", "kind", "status"}
        spec["volumeClaimTemplates"] = [
            without(claim, dropped) if isinstance(claim, dict) else claim for claim in claims
        ]
    return spec
