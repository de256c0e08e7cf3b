"""
RayCluster: which edits reach the pods that run.

KubeRay looks at names and numbers: it makes and deletes pods until each worker group has as many as it should. What a pod
looks like it does not compare, unless `upgradeStrategy.type` is Recreate; then any edit deletes all pods at once. A group
that is no longer named is not looked at at all, so its pods go on without an owner that would ever delete them.

Sources: ray-operator's raycluster_controller.go (reconcilePods, shouldRecreatePodsForUpgrade) and kuberay#1739.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.problems import Severity
from gitplacer.workloads.edits import clusterspec
from gitplacer.workloads.edits.clusterspec import Version, only, without
from gitplacer.workloads.edits.effect import Change, Effect, changed, effect, refused
from gitplacer.workloads.edits.typed import RAY, RAY_HASH, Reading, differences, mapping

_SPEC: Path = ("spec",)
_GROUPS: Path = ("spec", "workerGroupSpecs")
_RECREATE = "Recreate"

_LIVE = frozenset({"managedBy", "networkPolicy", "suspend", "upgradeStrategy"})
_LIVE_IN_HEAD = frozenset({"enableIngress", "ingressOptions"})
_LIVE_IN_GROUP = frozenset({
    "groupName", "idleTimeoutSeconds", "maxReplicas", "minReplicas", "numOfHosts", "priority", "replicas",
    "scaleStrategy", "suspend",
})  # fmt: skip
_LIVE_IN_AUTOSCALER = frozenset({"idleTimeoutSeconds", "upscalingMode"})
"""Fields that KubeRay or the Ray autoscaler reads again and again; all others are read when a pod is made."""

_SERVICE = frozenset({"headServiceAnnotations"})
_SERVICE_IN_HEAD = frozenset({"headService", "serviceType"})
"""Fields that are read when the head's Service is made."""


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effects of an edit under one version of KubeRay."""
    yield from refused(after, clusterspec.fixed(before, after, clusterspec.rules(_SPEC), kuberay))
    if not (clusterspec.is_acted_on(before) and clusterspec.is_acted_on(after)):
        return  # suspending deletes every pod of the Ray cluster, of whatever group, and they come back from the new spec
    old, new = _spec(before, kuberay), _spec(after, kuberay)
    compared = _compared(before, after, kuberay) if clusterspec.strategy(new) == _RECREATE else ()
    if compared:
        yield effect(
            after,
            "RecreatesPods",
            compared,
            "with upgradeStrategy.type Recreate KubeRay deletes all pods of the Ray cluster before it makes new ones",
            "edit it when nothing runs on it that must not be lost",
        )
    else:
        yield from _removed_groups(after, old, new)
        yield from _moved_groups(after, old, new)
        yield from _old_pods(after, old, new)
        yield from _fewer_replicas(after, old, new)
    yield from _head_service(after, old, new)


def _spec(root: Mapping[str, Any], kuberay: Version, reading: Reading = RAY) -> dict[str, Any]:
    return clusterspec.read(mapping(root, "spec"), v1=clusterspec.is_v1(root), kuberay=kuberay, reading=reading)


def _compared(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> tuple[Change, ...]:
    """What makes KubeRay's hash another one."""
    had, has = (clusterspec.hashed(_spec(root, kuberay, RAY_HASH), kuberay) for root in (before, after))
    return clusterspec.changes(had, has, _SPEC)


def _removed_groups(after: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    """A group that can have no pods any more is removed without a trace."""
    kept = {clusterspec.group_name(group) for group in new["workerGroupSpecs"]}
    gone = [
        group
        for group in old["workerGroupSpecs"]
        if clusterspec.group_name(group) not in kept and _may_have_pods(old, group)
    ]
    if gone:
        yield effect(
            after,
            "WorkerGroupRemoved",
            [Change(_GROUPS, f'worker group "{clusterspec.group_name(group)}" (removed)') for group in gone],
            "KubeRay neither deletes the pods of a group that is gone nor counts them, and the Ray autoscaler may crash "
            "over them",
            "keep the group with replicas, minReplicas and maxReplicas at 0, and remove it when its pods are gone; a "
            "renamed group is a new one",
            Severity.ERROR,
        )


def _may_have_pods(spec: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    if clusterspec.autoscales(spec):
        return clusterspec.number(group, "maxReplicas") * clusterspec.hosts(group) > 0
    return clusterspec.desired(group) * clusterspec.hosts(group) > 0


def _moved_groups(after: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    """KubeRay itself goes by the names. Who writes `replicas` from outside goes by the place in the list."""
    if not clusterspec.autoscales(new):
        return
    stayed = list(clusterspec.in_both(old, new))
    moved = [
        Change((*_GROUPS, to), f'worker group "{clusterspec.group_name(group)}" (from place {start + 1} to {to + 1})')
        for (start, _), (to, group) in stayed
        if start != to
    ]
    if moved and len(stayed) == len(old["workerGroupSpecs"]):
        yield effect(
            after,
            "WorkerGroupsReordered",
            moved,
            "the Ray autoscaler, and the rules by which Argo CD and Flux leave replicas alone, find a group by its place, "
            "so that one group may get the workers of another",
            "keep the order, and add new groups at the end",
        )


def _old_pods(after: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    found = list(_changes_of_pods(old, new))
    if found:
        hint = "set upgradeStrategy.type: Recreate (KubeRay 1.6 and later), or give the RayCluster a new name"
        if clusterspec.strategy(new) == _RECREATE:
            hint = (
                "Recreate looks neither at tolerations nor at scheduling gates; delete the pods that should have them"
            )
        yield effect(
            after,
            "EditIgnored",
            found,
            "pods that run keep what they were made with; only those that are made later get it, so that the Ray cluster "
            "may become a mixed one",
            hint,
        )


def _changes_of_pods(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    """Where the pods of the head, and of groups that were there before, would be made differently."""
    elsewhere = _LIVE | _SERVICE | {"autoscalerOptions", "headGroupSpec", "workerGroupSpecs"}
    if clusterspec.autoscales(old) == clusterspec.autoscales(new):
        elsewhere |= {"enableInTreeAutoscaling"}
    yield from differences(without(old, elsewhere), without(new, elsewhere), _SPEC)
    if clusterspec.autoscales(old) and clusterspec.autoscales(new):
        had, has = (without(mapping(spec, "autoscalerOptions"), _LIVE_IN_AUTOSCALER) for spec in (old, new))
        yield from differences(had, has, (*_SPEC, "autoscalerOptions"))
    had, has = (without(spec["headGroupSpec"], _LIVE_IN_HEAD | _SERVICE_IN_HEAD) for spec in (old, new))
    yield from differences(had, has, (*_SPEC, "headGroupSpec"))
    for (_, was), (index, group) in clusterspec.in_both(old, new):
        if _may_have_pods(old, was):
            yield from differences(without(was, _LIVE_IN_GROUP), without(group, _LIVE_IN_GROUP), (*_GROUPS, index))


def _fewer_replicas(after: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    """A `maxReplicas` below what runs is kept to by the autoscaler; a lower `replicas` alone is not."""
    if not clusterspec.autoscales(new):
        return
    found = [
        changed((*_GROUPS, index, "replicas"))
        for (_, was), (index, group) in clusterspec.in_both(old, new)
        if clusterspec.desired(group) < clusterspec.desired(was) <= clusterspec.number(group, "maxReplicas")
    ]
    if found:
        yield effect(
            after,
            "EditIgnored",
            found,
            "while the Ray autoscaler is on only it deletes workers, so a lower number deletes none",
            "let it remove idle workers, or lower maxReplicas",
        )


def _head_service(after: Any, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Effect]:
    found = list(differences(only(old, _SERVICE), only(new, _SERVICE), _SPEC))
    had, has = (only(spec["headGroupSpec"], _SERVICE_IN_HEAD) for spec in (old, new))
    found.extend(differences(had, has, (*_SPEC, "headGroupSpec")))
    if found:
        yield effect(
            after,
            "EditIgnored",
            found,
            "KubeRay makes the Service of the head once and never writes it again",
            "delete the Service, which KubeRay then makes again",
        )
