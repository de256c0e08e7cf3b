"""
RayService: what an edit of its Ray cluster costs, or that it comes to nothing.

KubeRay never edits the pods behind a service. It makes a second Ray cluster and moves over to it, or, for worker groups that
are new at the end, writes the whole spec over the running one, or does nothing at all; a hash decides which. What the
Serve applications are is another matter: `serveConfigV2` is sent to the running cluster.

Sources: ray-operator's rayservice_controller.go (shouldPrepareNewCluster, shouldUpdateCluster, isClusterSpecHashEqual,
isZeroDowntimeUpgradeEnabled). An operator that was started with ENABLE_ZERO_DOWNTIME=false upgrades only services that
name a strategy; manifests do not tell, so whoever knows says how it was started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from gitplacer.documents import Path
from gitplacer.plaintext import counted
from gitplacer.workloads.edits import clusterspec
from gitplacer.workloads.edits.clusterspec import LATEST, Version
from gitplacer.workloads.edits.effect import Change, Effect, effect, refused, standing
from gitplacer.workloads.edits.typed import RAY, RAY_HASH, differences, mapping, settled

Kind = Literal["None", "InPlace", "NewCluster", "Ignored"]

NEW_CLUSTER = "NewCluster"
INCREMENTAL = "NewClusterWithIncrementalUpgrade"
_INCREMENTAL_SINCE: Version = (1, 5)
_INCREMENTAL_ON_SINCE: Version = (1, 7)
_SUSPEND_SINCE: Version = (1, 7)
_CONFIG = ("spec", "rayClusterConfig")
_FIXED = ((("spec", "managedBy"), (1, 6)), *clusterspec.rules(_CONFIG))


class Operator(Struct, frozen=True):
    """
    How KubeRay was started. `zero_downtime`: whether it upgrades a service that names no strategy. `incremental`: whether its
    feature gate RayServiceIncrementalUpgrade is on; None is as the version has it by itself.
    """

    zero_downtime: bool = True
    incremental: bool | None = None


AS_USUAL = Operator()


class _Edit(Struct, frozen=True):
    """The Ray cluster specs before and after, as KubeRay reads them, and what it does."""

    kind: Kind
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    strategy: str


def upgrade_kind(
    before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version | None = None, operator: Operator = AS_USUAL
) -> Kind:
    """
    What KubeRay does with the running Ray cluster of a service that is edited from `before` to `after`: "None" when there
    is nothing to do, "InPlace" when its spec is written over, "NewCluster" when a second one is made (with either
    strategy), "Ignored" when the edit is not applied. A version that is not known is taken for 1.7.
    """
    return _edit(before, after, kuberay or LATEST, operator).kind


def is_incremental(root: Mapping[str, Any]) -> bool:
    """Whether a service asks to be upgraded in steps."""
    return _strategy(root) == INCREMENTAL


def upgrade_path(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version | None = None) -> Path:
    """The first place in `after` that makes KubeRay upgrade: where it stands, or where what was taken out stood."""
    version = kuberay or LATEST
    old, new = (clusterspec.hashed(_config(root, version), version) for root in (before, after))
    changes = clusterspec.changes(old, new, _CONFIG)
    return standing(after, changes[0].path if changes else _CONFIG)


def effects(
    before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version, operator: Operator = AS_USUAL
) -> Iterator[Effect]:
    """The effects of an edit under one version of KubeRay."""
    yield from refused(after, clusterspec.fixed(before, after, _FIXED, kuberay))
    if not _both_run(before, after, kuberay):
        return
    edit = _edit(before, after, kuberay, operator)
    if edit.kind == "NewCluster":
        yield _new_cluster(after, edit, kuberay)
    elif edit.kind == "InPlace":
        yield from _in_place(after, edit)
    elif edit.kind == "Ignored":
        yield _ignored(after, edit, kuberay)
    if edit.kind != "NewCluster":
        yield from _service(before, after)


def _edit(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version, operator: Operator) -> _Edit:
    old, new = _config(before, kuberay), _config(after, kuberay)
    strategy = _strategy(after) or ("" if not operator.zero_downtime else NEW_CLUSTER)
    kind: Kind = _kind(old, new, strategy, kuberay, operator) if _both_run(before, after, kuberay) else "None"
    return _Edit(kind, old, new, strategy)


def _kind(old: Mapping[str, Any], new: Mapping[str, Any], strategy: str, kuberay: Version, operator: Operator) -> Kind:
    had, has = clusterspec.hashed(old, kuberay), clusterspec.hashed(new, kuberay)
    if had == has:
        return "None" if old == new else "Ignored"
    running = len(had["workerGroupSpecs"])
    if had == has | {"workerGroupSpecs": has["workerGroupSpecs"][:running]}:
        return "InPlace"
    return "NewCluster" if _upgrades(strategy, kuberay, operator) else "Ignored"


def _upgrades(strategy: str, kuberay: Version, operator: Operator) -> bool:
    """Whether the operator makes a second cluster."""
    by_itself = kuberay >= _INCREMENTAL_ON_SINCE
    in_steps = kuberay >= _INCREMENTAL_SINCE and (by_itself if operator.incremental is None else operator.incremental)
    return strategy == NEW_CLUSTER or (strategy == INCREMENTAL and in_steps)


def _strategy(root: Mapping[str, Any]) -> str:
    """What the service names, '' for nothing."""
    return clusterspec.strategy(mapping(root, "spec")) if clusterspec.is_v1(root) else ""


def _config(root: Mapping[str, Any], kuberay: Version) -> dict[str, Any]:
    """Before 1.7 `suspend` was no part of the comparison: it was carried over to the running Ray cluster at once."""
    v1 = clusterspec.is_v1(root)
    form = clusterspec.read(mapping(root, *_CONFIG), v1=v1, kuberay=kuberay, reading=RAY_HASH)
    return form if kuberay >= _SUSPEND_SINCE else clusterspec.without(form, {"suspend"})


def _both_run(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> bool:
    """Whether there is a Ray cluster to upgrade: none while the service is suspended, or is another's to manage."""
    for root in (before, after):
        spec = mapping(root, "spec")
        if not clusterspec.is_ours(root, spec):
            return False
        if clusterspec.is_v1(root) and kuberay >= _SUSPEND_SINCE and spec.get("suspend") is True:
            return False
    return True


def _new_cluster(after: Mapping[str, Any], edit: _Edit, kuberay: Version) -> Effect:
    changes = clusterspec.changes(
        clusterspec.hashed(edit.before, kuberay), clusterspec.hashed(edit.after, kuberay), _CONFIG
    )
    if edit.strategy == INCREMENTAL:
        surge = mapping(after, "spec", "upgradeStrategy", "clusterUpgradeOptions").get("maxSurgePercent")
        sentence = (
            "KubeRay brings up a second Ray cluster beside the running one and moves the traffic over in steps, with "
            f"Serve at up to 100 + {100 if surge is None else surge} percent of its capacity until then"
        )
    else:
        delay = mapping(after, "spec").get("rayClusterDeletionDelaySeconds")
        sentence = (
            f"KubeRay makes a full second Ray cluster ({counted(clusterspec.pods(edit.after), 'pod')}), and keeps the old one until "
            f"the new one has served for {60 if delay is None else delay} seconds"
        )
    hint = "see that the cluster has room for both; several edits made at once cost one upgrade"
    return effect(after, "UpgradeMakesNewCluster", changes, sentence, hint)


def _in_place(after: Mapping[str, Any], edit: _Edit) -> Iterator[Effect]:
    """Without the autoscaler nobody but this object sets the numbers, so writing them is what was asked for."""
    running = len(edit.before["workerGroupSpecs"])
    if not running or not clusterspec.autoscales(edit.after):
        return
    groups = edit.after["workerGroupSpecs"]
    path = (*_CONFIG, "workerGroupSpecs")
    added = [
        Change((*path, i), f'worker group "{clusterspec.group_name(group)}" (added)')
        for i, group in enumerate(groups)
        if i >= running
    ]
    key = "minReplicas" if edit.strategy == INCREMENTAL else "replicas"
    counts = ", ".join(f"{clusterspec.group_name(g)} {clusterspec.number(g, key)}" for g in groups[:running])
    yield effect(
        after,
        "WorkerGroupsAppended",
        added,
        "KubeRay writes the whole spec over the running Ray cluster, which sets the groups that the autoscaler has scaled "
        f"back to {key} ({counts})",
        "expect fewer workers until the autoscaler has scaled up again, or write the numbers that are needed into replicas",
    )


def _ignored(after: Mapping[str, Any], edit: _Edit, kuberay: Version) -> Effect:
    changes = clusterspec.changes(edit.before, edit.after, _CONFIG)
    if clusterspec.hashed(edit.before, kuberay) == clusterspec.hashed(edit.after, kuberay):
        sentence = "KubeRay leaves this out when it compares a RayService with its Ray cluster, which goes on as it is"
        hint = "it comes with the next change that makes a new Ray cluster"
    elif edit.strategy == INCREMENTAL:
        sentence = (
            f"KubeRay {version(kuberay)} applies no change of rayClusterConfig with upgradeStrategy.type {INCREMENTAL}, "
            "unless its feature gate RayServiceIncrementalUpgrade is on"
        )
        hint = f"set upgradeStrategy.type: {NEW_CLUSTER}, or turn the feature gate on"
    elif not edit.strategy:
        sentence = (
            "KubeRay was started with ENABLE_ZERO_DOWNTIME=false there, and applies no change of rayClusterConfig to a "
            "service that names no upgradeStrategy"
        )
        hint = f"set upgradeStrategy.type: {NEW_CLUSTER}, or delete the RayService and let it be made again"
    else:
        sentence = f"with upgradeStrategy.type {edit.strategy} KubeRay applies no change of rayClusterConfig"
        hint = f"set upgradeStrategy.type: {NEW_CLUSTER}, or delete the RayService and let it be made again"
    return effect(after, "EditIgnored", changes, sentence, hint)


def _service(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Effect]:
    old, new = (settled(mapping(root, "spec"), RAY).get("serveService") for root in (before, after))
    found = list(differences(old, new, ("spec", "serveService")))
    if found:
        yield effect(
            after,
            "EditIgnored",
            found,
            "KubeRay writes the Service of a RayService only when it moves to another Ray cluster",
            "delete the Service, which KubeRay then makes again, or edit it together with rayClusterConfig",
        )


def version(kuberay: Version) -> str:
    """1.6 for (1, 6, 2)."""
    return ".".join(map(str, kuberay[:2]))
