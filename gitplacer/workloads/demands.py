"""
What a Ray object asks of a cluster besides room: the KubeRay that has its fields, the feature gates that let it, the APIs.

A field that the cluster's CRDs do not have is dropped without a word when the object is applied; one whose feature
gate is off makes the whole object invalid, after the sync has been reported as successful. Each such field is told here
as a Demand, which a cluster's profile answers. Nothing is demanded for a value that is what an older KubeRay does
anyway (`suspend: false`, `upgradeStrategy.type: None`), nor for an object of `ray.io/v1alpha1`, which has none of these.

Sources: versions and gates are those of KubeRay's `ray-operator/pkg/features/features.go` (names, and which release made
them alpha or beta), its release notes (v1.1.0, v1.3.0, v1.5.0, v1.5.1, v1.6.0, v1.7.0), its API types at these tags, and
`controllers/ray/utils/validation.go`, which says what a gate that is off makes invalid. What a gang scheduler refuses:
`controllers/ray/batchscheduler`.

What has a wrong type is not looked at: whoever sizes the object reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.model.podrules import LabelPairs
from gitplacer.workloads.facts import Demand, at
from gitplacer.workloads.fields import INT32_MAX

GATEWAY_API = "gateway.networking.k8s.io"
CERT_MANAGER = "cert-manager.io"
OPERATOR = "ray.io/kuberay-operator"

CLUSTER_SPECS: Mapping[str, Path] = {
    "RayCluster": ("spec",),
    "RayJob": ("spec", "rayClusterSpec"),
    "RayService": ("spec", "rayClusterConfig"),
    "RayCronJob": ("spec", "jobTemplate", "rayClusterSpec"),
}
"""Where the Ray cluster spec of each kind is."""

_JOB_SPECS: Mapping[str, Path] = {"RayJob": ("spec",), "RayCronJob": ("spec", "jobTemplate")}

V1 = Demand("ray.io/v1", (1, 0))
CRON_JOB = Demand("RayCronJob", (1, 6), "RayCronJob")
SIDECAR_MODE = Demand("SidecarMode", (1, 5))
SUBMITTER_RESTART = Demand("submitterConfig in SidecarMode", (1, 7), "SidecarSubmitterRestart")
MODES = {"HTTPMode": Demand("HTTPMode", (1, 1)), "InteractiveMode": Demand("InteractiveMode", (1, 3))}
DELETION_STRATEGY = Demand("deletionStrategy", (1, 4), "RayJobDeletionPolicy", (1, 6))
DELETION_RULES = Demand("deletionRules", (1, 5), "RayJobDeletionPolicy", (1, 6))
PRE_RUNNING_DEADLINE = Demand("preRunningDeadlineSeconds", (1, 6))
ANY_JOB = Demand("RayJob", schedulers=("scheduler-plugins",))
JOB_WITH_SUBMITTER = Demand("RayJob in K8sJobMode", schedulers=("kai",))
TIME_ZONE = Demand("timeZone of RayCronJob", (1, 7))
MANAGED_BY = Demand("managedBy", (1, 3))
SERVICE_MANAGED_BY = Demand("managedBy of RayService", (1, 6))
SERVICE_SUSPEND = Demand("suspend of RayService", (1, 7))
SERVICE_UPGRADE = Demand("upgradeStrategy of RayService", (1, 3))
INCREMENTAL_UPGRADE = Demand(
    "NewClusterWithIncrementalUpgrade", (1, 5), "RayServiceIncrementalUpgrade", (1, 7), GATEWAY_API
)
CLUSTER_UPGRADE = Demand("upgradeStrategy of RayCluster", (1, 6))
AUTH = Demand("authOptions", (1, 5, 1))
AUTH_SECRET = Demand("authOptions.secretName", (1, 6))
AUTH_KUBERNETES = Demand("authOptions.enableK8sTokenAuth", (1, 6))
NETWORK_POLICY = Demand("networkPolicy", (1, 7), "RayClusterNetworkPolicy")
TLS = Demand("tlsOptions", (1, 7), "RayClusterMTLS")
TLS_ENABLED = replace(TLS, api=CERT_MANAGER)
HISTORY_SERVER = Demand("historyServerOptions", (1, 7), "RayClusterHistoryServer")
GCS_OPTIONS = Demand("gcsFaultToleranceOptions", (1, 3))
GCS_ROCKSDB = Demand("GCS backend rocksdb", (1, 7), "GCSFaultToleranceEmbeddedStorage")
AUTOSCALER_VERSION = Demand("autoscalerOptions.version", (1, 4))
AUTOSCALER_COMMAND = Demand("autoscalerOptions.command", (1, 7))
AUTOSCALER_ARGS = Demand("autoscalerOptions.args", (1, 7))
INGRESS_OPTIONS = Demand("ingressOptions", (1, 7))
NO_START_PARAMS = Demand("optional rayStartParams", (1, 4))
GROUP_LABELS = Demand("labels of a group", (1, 5))
GROUP_RESOURCES = Demand("resources of a group", (1, 5))
GROUP_PRIORITY = Demand("priority of a worker group", (1, 7))
GROUP_IDLE_TIMEOUT = Demand("idleTimeoutSeconds of a worker group", (1, 3))
REMAINS = Demand("a RayJob that stays when it is done", stays=True)
GROUP_SUSPEND = Demand("suspend of a worker group", (1, 3), "RayJobDeletionPolicy", (1, 6))

_Asked = Iterator[tuple[Demand, Path]]
_Mapping = Mapping[str, Any]
_EMPTY: _Mapping = {}


def of(root: Cursor) -> tuple[Demand, ...]:
    """
    Everything a Ray object asks of its cluster, each once, at the first place that asks for it, sorted. Nothing for
    other kinds. Never raises and never reports.
    """
    value = root.value
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or kind not in CLUSTER_SPECS or version not in ("ray.io/v1", "ray.io/v1alpha1"):
        return ()
    return _distinct(_in_v1(value, kind) if version == "ray.io/v1" else _in_v1alpha1(value, kind))


def of_pod_templates(root: Cursor, templates: Iterable[Path]) -> tuple[Demand, ...]:
    """What the pod templates at the given paths of an object of any kind ask of its cluster."""
    return _distinct(asked for path in templates for asked in _pod(_mapping_at(root.value, path), path))


def _distinct(asked: Iterable[tuple[Demand, Path]]) -> tuple[Demand, ...]:
    found: dict[Demand, Demand] = {}
    for demand, path in asked:
        if demand not in found:
            found[demand] = Demand(**{**demand.__dict__, "path": path})  # a third of what replace() takes
    return tuple(sorted(found.values()))


def _in_v1(value: _Mapping, kind: str) -> _Asked:
    asked = [*_object(value, kind), *_cluster(_mapping_at(value, CLUSTER_SPECS[kind]), CLUSTER_SPECS[kind])]
    managed_elsewhere = _mapping(value, "spec").get("managedBy") not in (None, "", OPERATOR)
    for demand, path in asked:
        # The fields have to be there, but nobody acts on them on this cluster.
        yield (Demand(demand.feature, demand.since) if managed_elsewhere else demand), path


def _in_v1alpha1(value: _Mapping, kind: str) -> _Asked:
    if kind == "RayCronJob":
        return
    if kind == "RayJob":
        yield from _submitted(_mapping(value, "spec"), ("spec",), "K8sJobMode")
    cluster, path = _mapping_at(value, CLUSTER_SPECS[kind]), CLUSTER_SPECS[kind]
    for group, place in _groups(cluster, path):
        yield from _pod(_mapping(group, "template"), (*place, "template"))


def _object(value: _Mapping, kind: str) -> _Asked:
    spec, path = _mapping(value, "spec"), ("spec",)
    yield V1, ("apiVersion",)
    if spec.get("managedBy") not in (None, "", OPERATOR):
        yield (SERVICE_MANAGED_BY if kind == "RayService" else MANAGED_BY), (*path, "managedBy")
    if kind in _JOB_SPECS:
        yield from _job(_mapping_at(value, _JOB_SPECS[kind]), _JOB_SPECS[kind])
    strategy = _mapping(spec, "upgradeStrategy").get("type")
    if kind == "RayJob" and spec.get("shutdownAfterJobFinishes") is True:
        # With this the operator may be told to delete the RayJob itself, and Git would bring it back to run once more.
        yield REMAINS, (*path, "shutdownAfterJobFinishes")
    if kind == "RayCronJob":
        yield CRON_JOB, ("kind",)
        if spec.get("timeZone"):
            yield TIME_ZONE, (*path, "timeZone")
    elif kind == "RayService":
        if spec.get("suspend") is True:
            yield SERVICE_SUSPEND, (*path, "suspend")
        if strategy == "NewClusterWithIncrementalUpgrade":
            yield INCREMENTAL_UPGRADE, (*path, "upgradeStrategy", "type")
        elif strategy == "None":
            yield SERVICE_UPGRADE, (*path, "upgradeStrategy", "type")
    elif kind == "RayCluster" and strategy == "Recreate":
        yield CLUSTER_UPGRADE, (*path, "upgradeStrategy", "type")


def _job(spec: _Mapping, path: Path) -> _Asked:
    mode = spec.get("submissionMode") or "K8sJobMode"
    if mode == "SidecarMode":
        yield SIDECAR_MODE, (*path, "submissionMode")
        if spec.get("submitterConfig") is not None:
            yield SUBMITTER_RESTART, (*path, "submitterConfig")
    elif isinstance(mode, str) and mode in MODES:
        yield MODES[mode], (*path, "submissionMode")
    if strategy := _mapping(spec, "deletionStrategy"):
        rules = strategy.get("deletionRules")
        yield (DELETION_RULES if rules else DELETION_STRATEGY), (*path, "deletionStrategy")
    if spec.get("preRunningDeadlineSeconds") is not None:
        yield PRE_RUNNING_DEADLINE, (*path, "preRunningDeadlineSeconds")
    yield from _submitted(spec, path, mode)


def _submitted(spec: _Mapping, path: Path, mode: object) -> _Asked:
    yield ANY_JOB, path
    if mode == "K8sJobMode":
        yield JOB_WITH_SUBMITTER, (*path, "submissionMode") if "submissionMode" in spec else path
        yield from _pod(_mapping(spec, "submitterPodTemplate"), (*path, "submitterPodTemplate"))


def _cluster(spec: _Mapping, path: Path) -> _Asked:
    if not spec:
        return
    if (auth := spec.get("authOptions")) is not None:
        yield from _auth(auth, (*path, "authOptions"))
    if spec.get("networkPolicy") is not None:
        yield NETWORK_POLICY, (*path, "networkPolicy")
    if spec.get("tlsOptions") is not None:
        enabled = _mapping(spec, "tlsOptions").get("enabled") is True
        yield (TLS_ENABLED if enabled else TLS), (*path, "tlsOptions")
    if spec.get("historyServerOptions") is not None:
        yield HISTORY_SERVER, (*path, "historyServerOptions")
    if options := _mapping(spec, "gcsFaultToleranceOptions"):
        rocksdb = options.get("backend") == "rocksdb"
        yield (GCS_ROCKSDB if rocksdb else GCS_OPTIONS), (*path, "gcsFaultToleranceOptions")
    if options := _mapping(spec, "autoscalerOptions"):
        for key, demand in _AUTOSCALER:
            if options.get(key):
                yield demand, (*path, "autoscalerOptions", key)
    for group, place in _groups(spec, path):
        yield from _group(group, place)


_AUTOSCALER = (("version", AUTOSCALER_VERSION), ("command", AUTOSCALER_COMMAND), ("args", AUTOSCALER_ARGS))


def _auth(auth: Any, path: Path) -> _Asked:
    options = auth if isinstance(auth, dict) else _EMPTY
    if options.get("mode") == "disabled":
        return
    yield AUTH, path
    if options.get("secretName"):
        yield AUTH_SECRET, (*path, "secretName")
    if options.get("enableK8sTokenAuth") is True:
        yield AUTH_KUBERNETES, (*path, "enableK8sTokenAuth")


def _groups(spec: _Mapping, path: Path) -> Iterator[tuple[_Mapping, Path]]:
    """The head group and the worker groups, each with its path."""
    if head := _mapping(spec, "headGroupSpec"):
        yield head, (*path, "headGroupSpec")
    workers = spec.get("workerGroupSpecs")
    if isinstance(workers, list):
        for index, group in enumerate(workers):
            if isinstance(group, dict):
                yield group, (*path, "workerGroupSpecs", index)


def _group(group: _Mapping, path: Path) -> _Asked:
    if group.get("rayStartParams") is None:
        yield NO_START_PARAMS, path
    if group.get("labels"):
        yield GROUP_LABELS, (*path, "labels")
    if group.get("resources"):
        yield GROUP_RESOURCES, (*path, "resources")
    if path[-1] == "headGroupSpec":
        if group.get("ingressOptions") is not None:
            yield INGRESS_OPTIONS, (*path, "ingressOptions")
    else:
        if group.get("priority"):
            yield GROUP_PRIORITY, (*path, "priority")
        if group.get("idleTimeoutSeconds") is not None:
            yield GROUP_IDLE_TIMEOUT, (*path, "idleTimeoutSeconds")
        if group.get("suspend") is True:
            yield GROUP_SUSPEND, (*path, "suspend")
    yield from _pod(_mapping(group, "template"), (*path, "template"))


def _pod(template: _Mapping, path: Path) -> _Asked:
    spec = _mapping(template, "spec")
    name = spec.get("runtimeClassName")
    if isinstance(name, str) and name:
        demand = Demand(
            f"runtimeClassName {name}",
            runtime_class=name,
            node_selector=_pairs(spec, "nodeSelector"),
            overhead=_pairs(spec, "overhead"),
        )
        yield demand, (*path, "spec", "runtimeClassName")
    yield from _priority(spec, (*path, "spec"))


def _priority(spec: _Mapping, path: Path) -> _Asked:
    said = {
        key: spec[key] for key in ("priorityClassName", "priority", "preemptionPolicy") if spec.get(key) is not None
    }
    name, priority, preemption = (said.get(key, "") for key in ("priorityClassName", "priority", "preemptionPolicy"))
    if not (said and isinstance(name, str) and isinstance(preemption, str)):
        return
    if type(priority) is int and abs(priority) <= INT32_MAX:
        priority = str(priority)
    elif priority != "":
        return
    key = next(iter(said))
    yield (
        Demand(f"{key} {said[key]}", priority_class=name, priority=priority, preemption=preemption),
        (*path, key),
    )


def _pairs(value: _Mapping, key: str) -> LabelPairs:
    return tuple(
        sorted((name, str(text)) for name, text in _mapping(value, key).items() if isinstance(text, str | int))
    )


def _mapping(value: _Mapping, key: str) -> _Mapping:
    found = value.get(key)
    return found if isinstance(found, dict) else _EMPTY


def _mapping_at(value: _Mapping, path: Path) -> _Mapping:
    found = at(value, path)
    return found if isinstance(found, dict) else _EMPTY
