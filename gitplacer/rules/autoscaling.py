"""
Ray's own autoscaler, which KubeRay puts beside the head: its version, its timeouts, and the workers that it counts.

There are two versions. Which one runs is said by `autoscalerOptions.version`, or by an environment variable of the head as it
was before KubeRay 1.4, or by nothing; then the Ray version decides, and KubeRay does not guess: what only version 2
can do is refused unless version 2 is asked for in so many words.
Source, where nothing else is said: ValidateRayClusterSpec in ray-operator/controllers/ray/utils/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Cursor
from gitplacer.rules.containers import pod_spec, ray_container, tell_managed_variables, variable
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayversion import tell_older

V2_VARIABLE = "RAY_enable_autoscaler_v2"
START_COMMAND = "KUBERAY_GEN_AUTOSCALER_START_CMD"
OLDEST_WITH_PRIORITY = (2, 56)

AUTOSCALED = "gitplacer.dev/autoscaled"
"""The annotation of a RayCluster by which the ignore rules made for Flux know it; its value is "true"."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "upscalingMode": ("Default", "Aggressive", "Conservative"),
    "version": ("v1", "v2"),
}
"""Fields of `autoscalerOptions` with all the values they may have."""

_ON = ("1", "true")
_ASK_FOR_V2 = "set autoscalerOptions.version: v2"


def options(manifest: RayManifest) -> None:
    """
    The API server takes the options only with values that it knows, whether there is an autoscaler or not.
    Source: the enums of AutoscalerVersion and UpscalingMode in apis/ray/v1/raycluster_types.go.
    """
    if not manifest.cluster.has("autoscalerOptions"):
        return
    found = _options(manifest)
    for key, known in CHOICES.items():
        if not found.has(key) or (key == "version" and not manifest.v1):
            continue
        choice = found.text(key, known[0])
        if choice not in known:
            tell(found, "InvalidValue", f'unknown {key} "{choice}"', f"one of {', '.join(known)}", key=key)


def version(manifest: RayManifest) -> None:
    """The autoscaler's version is said once, and only where there is an autoscaler."""
    toggle = variable(ray_container(manifest.head), V2_VARIABLE)
    if toggle is None:
        return
    if not manifest.autoscaling:
        if toggle.text("value") in _ON:
            message = f"{V2_VARIABLE} is set, but enableInTreeAutoscaling is not"
            tell(
                toggle, "ContradictoryAutoscaler", message, "set enableInTreeAutoscaling: true, or remove the variable"
            )
    elif _options(manifest).has("version") and manifest.v1:
        message = f"the autoscaler's version is said twice: in autoscalerOptions.version and by {V2_VARIABLE}"
        tell(toggle, "ContradictoryAutoscaler", message, "remove the variable")


def restart_policy(manifest: RayManifest) -> None:
    """Version 2 of the autoscaler replaces pods itself, so that they may not be restarted in place."""
    if not manifest.autoscaling or not manifest.v1 or _options(manifest).text("version") != "v2":
        return
    for group in (manifest.head, *manifest.groups):
        spec = pod_spec(group)
        policy = spec.text("restartPolicy")
        if policy not in ("", "Never"):
            message = f"restartPolicy is {policy}; with version 2 of the autoscaler it must be Never"
            tell(spec, "InvalidRestartPolicy", message, "leave it out: KubeRay sets Never", key="restartPolicy")


def idle_timeouts(manifest: RayManifest) -> None:
    """Timeouts are not negative, and those of a group are for version 2. Source: also validateWorkerGroupIdleTimeout."""
    if manifest.cluster.has("autoscalerOptions"):
        _tell_negative(_options(manifest))
    for group in manifest.groups if manifest.v1 else ():
        if group.has("idleTimeoutSeconds") and not _tell_negative(group) and not _is_v2(manifest):
            message = "idleTimeoutSeconds of a worker group needs version 2 of the autoscaler, asked for explicitly"
            tell(group, "NeedsAutoscalerV2", message, _ASK_FOR_V2, key="idleTimeoutSeconds")


def priorities(manifest: RayManifest) -> None:
    """A group's priority is for version 2 of the autoscaler of a Ray that knows it. Source: validateWorkerGroupPriority."""
    for group in manifest.groups if manifest.v1 else ():
        if not group.integer("priority"):
            continue
        tell_older(manifest.cluster, OLDEST_WITH_PRIORITY, "the priority of a worker group", group, "priority")
        if not _is_v2(manifest):
            message = "the priority of a worker group needs version 2 of the autoscaler, asked for explicitly"
            tell(group, "NeedsAutoscalerV2", message, _ASK_FOR_V2, key="priority")


def start_command(manifest: RayManifest) -> None:
    """KubeRay gives the autoscaler the command that it would have run; nobody else may set that variable."""
    if manifest.cluster.has("autoscalerOptions"):
        tell_managed_variables(_options(manifest), (START_COMMAND,), "custom args of the autoscaler may refer to it")


def suspended_groups(manifest: RayManifest) -> None:
    """A group cannot be suspended under an autoscaler, which would start its workers again."""
    for group in manifest.groups if manifest.autoscaling and manifest.v1 else ():
        if group.boolean("suspend"):
            message = "a worker group cannot be suspended while enableInTreeAutoscaling is true"
            tell(
                group, "SuspendedGroup", message, "remove suspend; maxReplicas: 0 keeps the group empty", key="suspend"
            )


def unbounded_groups(manifest: RayManifest) -> None:
    """Without maxReplicas the autoscaler may start 2147483647 workers. Source: the default in the CRD schema."""
    for group in manifest.groups if manifest.autoscaling else ():
        if not group.has("maxReplicas"):
            message = "maxReplicas is not set, so the autoscaler may start any number of workers"
            tell(group, "UnboundedGroup", message, "set maxReplicas")


def owned_replicas(manifest: RayManifest) -> None:
    """
    The autoscaler writes `replicas` into the RayCluster, and the engine writes Git's number back, or the default of 0 where
    Git has none: a server-side apply owns the list of worker groups as one. The Ray clusters of a RayJob or RayService are
    not in Git, so there is no such fight. It matters where Flux is the engine: Argo CD can be told by the spec itself.
    Source: Ray's kuberay autoscaler, which patches workerGroupSpecs[].replicas and scaleStrategy.workersToDelete.
    """
    if not manifest.autoscaling or manifest.kind != "RayCluster":
        return
    annotations = manifest.root.mapping("metadata").mapping("annotations")
    if manifest.groups and annotations.value.get(AUTOSCALED) != "true":
        message = "the autoscaler owns the replicas of this RayCluster, and Flux would set them back at each sync"
        hint = f'annotate it with {AUTOSCALED}: "true"; the Kustomization that gitplacer bootstrap makes leaves it alone then'
        tell(manifest.cluster, "AutoscalerOwnsReplicas", message, hint, key="enableInTreeAutoscaling")


def _options(manifest: RayManifest) -> Cursor:
    return manifest.cluster.mapping("autoscalerOptions")


def _is_v2(manifest: RayManifest) -> bool:
    """Whether version 2 is asked for in so many words."""
    if _options(manifest).text("version") == "v2":
        return True
    toggle = variable(ray_container(manifest.head), V2_VARIABLE)
    return toggle is not None and toggle.text("value") in _ON


def _tell_negative(owner: Cursor) -> bool:
    seconds = owner.integer("idleTimeoutSeconds")
    if seconds is None or seconds >= 0:
        return False
    message = f"idleTimeoutSeconds is {seconds}"
    tell(owner, "InvalidIdleTimeout", message, "use 0 or more seconds", key="idleTimeoutSeconds")
    return True


RULES: tuple[Rule, ...] = (
    options, version, restart_policy, idle_timeouts, priorities, start_command, suspended_groups, unbounded_groups, owned_replicas,
)  # fmt: skip
