"""
Job: it is made once, and its pods with it.

The pod template cannot be changed, except where the pods of a suspended job may go. Of an Indexed job the number of
completions may be changed together with its parallelism.

Source: k8s.io/kubernetes/pkg/apis/batch/validation, validateJobSpecUpdate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.edits.clusterspec import Version, without
from gitplacer.workloads.edits.effect import Effect, of_finished, refused
from gitplacer.workloads.edits.immutable import between
from gitplacer.workloads.edits.typed import BUILT_IN, differences, mapping, settled

_SPEC: Path = ("spec",)
_FIXED = (
    "backoffLimitPerIndex", "completionMode", "managedBy", "podFailurePolicy", "selector", "successPolicy", "template",
)  # fmt: skip
_CLEANING_UP = frozenset({"ttlSecondsAfterFinished"})
_WHERE_PODS_GO = frozenset({"affinity", "nodeSelector", "schedulingGates", "tolerations"})


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit of a job that may be running."""
    old, new = _specs(before, after)
    fixed: tuple[str, ...] = _FIXED
    indexed = new.get("completionMode") == "Indexed" and {"completions"} <= old.keys() & new.keys()
    if not (indexed and new.get("completions") == new["parallelism"]):
        fixed = (*_FIXED, "completions")
    if mapping(before, "spec").get("suspend") is True:
        old, new = _template_stays(old), _template_stays(new)
    yield from refused(after, (c for key in fixed for c in between({"spec": old}, {"spec": new}, (*_SPEC, key))))


def finished(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Effect | None:
    """The effect of an edit of a job that is done, None if it changes nothing or only when the job is deleted."""
    old, new = _specs(before, after)
    found = list(differences(without(old, _CLEANING_UP), without(new, _CLEANING_UP), _SPEC))
    return of_finished(after, found, "Job") if found else None


def _specs(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    Both specs with their defaults. One completion is the default where no parallelism is written either; what the API server
    wrote in is nobody's, and stays when parallelism is written later.
    """
    old, new = (settled(mapping(root, "spec"), BUILT_IN) for root in (before, after))
    if "completions" in old or "completions" in new:
        for spec in (old, new):
            if "parallelism" not in spec:
                spec.setdefault("completions", 1)
    defaults = {"backoffLimit": 6, "parallelism": 1}
    return defaults | old, defaults | new


def _template_stays(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec less what may be changed while the job is suspended and has not begun."""
    template = mapping(spec, "template")
    metadata = without(mapping(template, "metadata"), {"annotations", "labels"})
    pod = without(mapping(template, "spec"), _WHERE_PODS_GO)
    return spec | {"template": dict(template) | {"metadata": metadata, "spec": pod}}
