"""
Kinds of which some fields can never be changed, whatever else is so.

The rule is the same for all: the API server compares the field after defaulting and refuses the update. Kinds with rules of
their own have a module of their own.

Source: k8s.io/kubernetes/pkg/apis/*/validation, the functions Validate…Update.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.edits import deviceclaim
from gitplacer.workloads.edits.clusterspec import Version
from gitplacer.workloads.edits.effect import Change, Effect, changed, refused
from gitplacer.workloads.edits.typed import BUILT_IN, differences, settled

_SELECTOR: tuple[Path, ...] = (("spec", "selector"),)
_ROLE: tuple[Path, ...] = (("roleRef",),)
_REFERS_TO_ROLE: dict[str, Any] = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io"}}

FIELDS: Mapping[tuple[str, str], tuple[Path, ...]] = {
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("networking.k8s.io", "IngressClass"): (("spec", "controller"),),
    ("node.k8s.io", "RuntimeClass"): (("handler",),),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): _ROLE,
    ("resource.k8s.io", "ResourceClaim"): (("spec",),),
    ("resource.k8s.io", "ResourceClaimTemplate"): (("spec",),),
    ("scheduling.k8s.io", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io", "StorageClass"): (("provisioner",), ("parameters",), ("reclaimPolicy",), ("volumeBindingMode",)),
}
"""(API group, kind) to its fields that cannot be changed."""

_DEFAULTS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _REFERS_TO_ROLE,
    ("rbac.authorization.k8s.io", "RoleBinding"): _REFERS_TO_ROLE,
    ("scheduling.k8s.io", "PriorityClass"): {"value": 0, "preemptionPolicy": "PreemptLowerPriority"},
    ("storage.k8s.io", "StorageClass"): {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
"""What the API server writes into them when they are missing."""


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit of a kind in FIELDS."""
    key = (str(after.get("apiVersion")).rpartition("/")[0], str(after.get("kind")))
    written = _DEFAULTS.get(key, {})
    alike = deviceclaim.alike if key[0] == "resource.k8s.io" else dict
    old, new = (_filled(alike(settled(root, BUILT_IN)), written) for root in (before, after))
    yield from refused(after, (change for path in FIELDS[key] for change in between(old, new, path)))


def _filled(value: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The value with the defaults of fields that it lacks."""
    found = defaults | value
    for key, item in defaults.items():
        if isinstance(item, dict) and isinstance(written := found[key], dict):
            found[key] = item | written
    return found


def between(old: Any, new: Any, path: Path) -> Iterator[Change]:
    """Where two settled values differ at a path of keys or below it."""
    for step in path:
        old, new = _under(old, step), _under(new, step)
    if new is None and old is not None:
        yield changed(path, removed=True)
    else:
        yield from differences(old, new, path)


def _under(value: Any, step: str | int) -> Any:
    return value.get(step) if isinstance(value, dict) else None
