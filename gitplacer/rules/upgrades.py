"""
Upgrades: what an edit of a RayCluster or RayService does, and what KubeRay wants to be told for it.

A RayCluster that KubeRay makes for a RayJob or RayService must not have an `upgradeStrategy` of its own; KubeRay finds out
after it made it, and the outer object looks well while nothing starts. Source: ValidateRayClusterUpgradeOptions,
ValidateRayServiceSpec and ValidateClusterUpgradeOptions in ray-operator/controllers/ray/utils/validation.go, and the CRDs.
`ray.io/v1alpha1` has no `upgradeStrategy`.
"""

from __future__ import annotations

from gitplacer.documents import Cursor, dotted
from gitplacer.rules.manifest import RayManifest, Rule, tell

INCREMENTAL = "NewClusterWithIncrementalUpgrade"
TYPES = {"RayCluster": ("Recreate", "None"), "RayService": ("NewCluster", INCREMENTAL, "None")}
"""What `upgradeStrategy.type` may be, by kind."""

_REQUIRED = ("stepSizePercent", "intervalSeconds", "gatewayClassName")


def strategy_type(manifest: RayManifest) -> None:
    """`upgradeStrategy.type` is one that the kind has; `None` on a RayService means that edits are never applied."""
    types = TYPES.get(manifest.kind)
    if types is None or not manifest.v1 or not manifest.spec.has("upgradeStrategy"):
        return
    strategy = manifest.spec.mapping("upgradeStrategy")
    if not strategy.has("type"):
        return
    chosen = strategy.text("type", types[0])
    if chosen not in types:
        message = f'a {manifest.kind} has no upgradeStrategy.type "{chosen}"'
        tell(strategy, "InvalidUpgradeStrategy", message, f"one of {', '.join(types)}", key="type")
    elif chosen == "None" and manifest.kind == "RayService":
        message = "with upgradeStrategy.type None an edit of rayClusterConfig is never applied"
        hint = "NewCluster makes a second Ray cluster for a while and moves the traffic to it"
        tell(strategy, "NeverUpgraded", message, hint, key="type")


def nested_strategy(manifest: RayManifest) -> None:
    """No `upgradeStrategy.type` in the Ray cluster spec of a RayJob, RayService or RayCronJob."""
    cluster = manifest.cluster
    if manifest.kind == "RayCluster" or not manifest.v1 or not cluster.has("upgradeStrategy"):
        return
    strategy = cluster.mapping("upgradeStrategy")
    if strategy.has("type"):
        path = dotted(strategy.path)
        message = f"{path}.type is set, and KubeRay never starts a Ray cluster that it makes with one"
        hint = "remove it: each run makes a new Ray cluster anyway"
        if manifest.kind == "RayService":
            hint = f"move it to spec.upgradeStrategy, where it is one of {', '.join(TYPES['RayService'])}"
        tell(strategy, "NestedField", message, hint, key="type")


def incremental(manifest: RayManifest) -> None:
    """An incremental upgrade moves traffic step by step: it needs the autoscaler, the steps, and a GatewayClass."""
    if manifest.kind != "RayService" or not manifest.v1 or not manifest.spec.has("upgradeStrategy"):
        return
    strategy = manifest.spec.mapping("upgradeStrategy")
    used = strategy.text("type") == INCREMENTAL
    if used and not manifest.autoscaling:
        message = "an incremental upgrade needs the Ray autoscaler, and enableInTreeAutoscaling is not true"
        tell(strategy, "IncompleteUpgrade", message, "set rayClusterConfig.enableInTreeAutoscaling: true", key="type")
    if not strategy.has("clusterUpgradeOptions"):
        if used:
            message = "an incremental upgrade needs clusterUpgradeOptions"
            tell(strategy, "IncompleteUpgrade", message, f"add it, with {', '.join(_REQUIRED)}", key="type")
        return
    options = strategy.mapping("clusterUpgradeOptions")
    for key in _REQUIRED:
        if not options.has(key):
            tell(options, "IncompleteUpgrade", f"clusterUpgradeOptions has no {key}", f"add {key}")
    if used:
        _steps(options)


def _steps(options: Cursor) -> None:
    for key in ("maxSurgePercent", "stepSizePercent"):
        percent = options.integer(key)
        if percent is not None and not 0 <= percent <= 100:
            tell(options, "NumberOutOfRange", f"{key} is {percent}", "use a number from 0 to 100", key=key)
    seconds = options.integer("intervalSeconds")
    if seconds is not None and seconds <= 0:
        tell(options, "NumberOutOfRange", f"intervalSeconds is {seconds}", "use 1 or more", key="intervalSeconds")
    surge, step = options.integer("maxSurgePercent", 100), options.integer("stepSizePercent", 0)
    if surge is not None and step is not None and step > surge and surge >= 0:
        message = f"stepSizePercent {step} is more than maxSurgePercent {surge}"
        hint = "a step cannot move more traffic than the surge has room for"
        tell(options, "NumberOutOfRange", message, hint, key="stepSizePercent")
    if options.has("gatewayClassName") and not options.text("gatewayClassName", "wrong type"):
        hint = "write the name of a GatewayClass of the cluster"
        tell(options, "IncompleteUpgrade", "gatewayClassName is empty", hint, key="gatewayClassName")


RULES: tuple[Rule, ...] = (strategy_type, nested_strategy, incremental)
