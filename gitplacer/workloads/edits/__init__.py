"""
What an edit of a deployed object does, beyond what it says.

Git shows a changed line; the cluster may answer with a second Ray cluster, with nothing at all, or with a refusal after
the merge. We are given an object as it is deployed and as it would be, and tell which: by rule of the API server or of
KubeRay, each written down in the module of its kind. What cannot be known from the two manifests (whether a job is done, how
far the autoscaler has gone, how the operator was started) is left to the caller or said in the message.

One module per kind, and one table. A module's function yields effects and never raises, whatever the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from gitplacer.problems import Severity
from gitplacer.workloads.edits import (
    claim,
    configdata,
    immutable,
    job,
    pod,
    raycluster,
    raycronjob,
    rayjob,
    rayservice,
    service,
    statefulset,
)
from gitplacer.workloads.edits.clusterspec import LATEST, Version
from gitplacer.workloads.edits.effect import Effect
from gitplacer.workloads.edits.rayservice import AS_USUAL, Operator, is_incremental, upgrade_kind, upgrade_path

__all__ = [
    "FINISHING",
    "KINDS",
    "Effect",
    "Operator",
    "effects",
    "finished_edit",
    "is_incremental",
    "upgrade_kind",
    "upgrade_path",
]

Judge = Callable[[Mapping[str, Any], Mapping[str, Any], Version], Iterable[Effect]]

KINDS: Mapping[tuple[str, str], Judge] = {
    **dict.fromkeys(immutable.FIELDS, immutable.effects),
    ("", "ConfigMap"): configdata.effects,
    ("", "PersistentVolumeClaim"): claim.effects,
    ("", "Pod"): pod.effects,
    ("", "Secret"): configdata.effects,
    ("", "Service"): service.effects,
    ("apps", "StatefulSet"): statefulset.effects,
    ("batch", "Job"): job.effects,
    ("ray.io", "RayCluster"): raycluster.effects,
    ("ray.io", "RayCronJob"): raycronjob.effects,
    ("ray.io", "RayJob"): rayjob.effects,
    ("ray.io", "RayService"): rayservice.effects,
}
"""(API group, kind) to what judges an edit of it. Any other kind may be edited freely, as far as we know."""

FINISHING: Mapping[tuple[str, str], Callable[[Mapping[str, Any], Mapping[str, Any], Version], Effect | None]] = {
    ("batch", "Job"): job.finished,
    ("ray.io", "RayJob"): rayjob.finished,
}
"""(API group, kind) to what judges an edit of an object that has run to its end."""

_OLDER: tuple[Version, ...] = ((1, 6, 0), (1, 5, 1))
"""One version for each set of rules before the latest."""


def effects(
    before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version | None = None, operator: Operator = AS_USUAL
) -> tuple[Effect, ...]:
    """
    What the edit from `before` to `after` does, sorted; () when it does what it says.

    Both are values of one object, as deployed and as it would be deployed. `kuberay` is the version of the operator where
    it runs; one that is not known is taken for 1.7, and a message says so where an older one would act otherwise. `operator` is
    how it was started.
    """
    judge = KINDS.get(_kind(after))
    if judge is rayservice.effects:
        judge = partial(rayservice.effects, operator=operator)
    if judge is None or before == after:
        return ()
    found = sorted(judge(before, after, kuberay or LATEST))
    if not kuberay and found and _kind(after)[0] == "ray.io":
        told = [{effect.code for effect in judge(before, after, version)} for version in _OLDER]
        found = [_by_rule(effect) if any(effect.code not in codes for codes in told) else effect for effect in found]
    return tuple(found)


def finished_edit(before: Mapping[str, Any], after: Mapping[str, Any], *, runs_once: bool = False) -> Effect | None:
    """
    What an edit does of an object that is known to be finished: nothing, which is an error, unless it only changes what
    becomes of its remains. `runs_once`: it is of a kind that runs to its end, whether or not we know more of it. None for
    an edit that is none, and for other kinds.
    """
    if before == after:
        return None
    judge = FINISHING.get(_kind(after))
    if judge is not None:
        return judge(before, after, LATEST)
    if not runs_once or before.get("spec") == after.get("spec"):
        return None
    said = "it has run to its end, and an edit does not start it again"
    return Effect(("spec",), "EditOfFinishedJob", said, "give it a new name to run it again", Severity.ERROR)


def _by_rule(effect: Effect) -> Effect:
    return replace(effect, message=f"{effect.message} (by KubeRay {LATEST[0]}.{LATEST[1]}'s rule)")


def _kind(root: Mapping[str, Any]) -> tuple[str, str]:
    version, kind = root.get("apiVersion"), root.get("kind")
    return (version.rpartition("/")[0] if isinstance(version, str) else "", kind if isinstance(kind, str) else "")
