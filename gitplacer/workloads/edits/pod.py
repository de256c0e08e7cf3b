"""
Pod: little of one that was made can be changed.

Source: k8s.io/kubernetes/pkg/apis/core/validation, ValidatePodUpdate: images, `activeDeadlineSeconds`,
`terminationGracePeriodSeconds` (from a negative one only), tolerations (more of them), and where a pod may go as long as a
scheduling gate holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.workloads.edits.clusterspec import Version, without
from gitplacer.workloads.edits.effect import Effect, changed, refused
from gitplacer.workloads.edits.typed import BUILT_IN, differences, mapping, settled

_GATED = frozenset({"affinity", "nodeSelector", "schedulingGates"})


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit."""
    old, new = (settled(mapping(root, "spec"), BUILT_IN) for root in (before, after))
    free = {"activeDeadlineSeconds", "tolerations"} | (_GATED if old.get("schedulingGates") else frozenset())
    found = list(differences(_fixed(old, free), _fixed(new, free), ("spec",)))
    if any(toleration not in _items(new) for toleration in _items(old)):
        found.append(changed(("spec", "tolerations")))
    yield from refused(after, found)


def _fixed(spec: Mapping[str, Any], free: set[str]) -> dict[str, Any]:
    found = without(spec, free)
    for key in ("containers", "initContainers"):
        if isinstance(listed := found.get(key), list):
            found[key] = [without(item, {"image"}) if isinstance(item, dict) else item for item in listed]
    return found


def _items(spec: Mapping[str, Any]) -> list[Any]:
    tolerations = spec.get("tolerations")
    return tolerations if isinstance(tolerations, list) else []
