"""
Fields that no Ray kind has, such as `replica` or `numOfHost`: the API server drops them without a word.

The fields are those of KubeRay 1.7. A newer operator may know more, so this is a warning, and an object may allow it.
Where the source holds KubeRay's CRDs, these say more. Of an object of `ray.io/v1alpha1` this tells what no version has, such as the
`runtimeEnv` of old RayJobs; what only v1 has is another rule's matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitplacer.documents import Cursor
from gitplacer.problems import nearest
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.workloads import rayfields

_ROOT = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA = (
    "annotations", "clusterName", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
    "generation", "labels", "managedFields", "name", "namespace", "ownerReferences", "resourceVersion", "selfLink", "uid",
)  # fmt: skip
_OF_SPECS = {*rayfields.CLUSTER, *rayfields.JOB, *rayfields.SERVICE, *rayfields.CRON_JOB} - {*_METADATA, *_ROOT}
_BELOW_CLUSTER = {
    "authOptions": ("enableK8sTokenAuth", "mode", "secretName"),
    "gcsFaultToleranceOptions": (
        "backend", "externalStorageNamespace", "redisAddress", "redisPassword", "redisUsername", "storage",
    ),
    "upgradeStrategy": ("type",),
}  # fmt: skip
_BELOW_JOB = {
    "deletionStrategy": ("deletionRules", "onFailure", "onSuccess"),
    "submitterConfig": ("backoffLimit",),
}
_BELOW_SERVICE = {"upgradeStrategy": ("clusterUpgradeOptions", "type")}
_RESOURCES = ("claims", "limits", "requests")
_TEMPLATE = ("metadata", "spec")
_POD = frozenset(
    {
        "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy", "enableServiceLinks",
        "ephemeralContainers", "evictionResponders", "hostAliases", "hostIPC", "hostNetwork", "hostPID", "hostUsers", "hostname", "hostnameOverride",
        "imagePullSecrets", "initContainers", "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy", "priority",
        "priorityClassName", "readinessGates", "resourceClaims", "resources", "restartPolicy", "runtimeClassName", "schedulerName",
        "schedulingGates", "schedulingGroup", "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN",
        "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes",
        "workloadRef",
    }
)  # fmt: skip
"""The fields of a pod's spec, from those of Kubernetes 1.20 to those of 1.37."""
_CONTAINER = frozenset(
    {
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name", "ports", "readinessProbe",
        "resizePolicy", "resources", "restartPolicy", "restartPolicyRules", "securityContext", "startupProbe", "stdin", "stdinOnce",
        "terminationMessagePath", "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir",
    }
)  # fmt: skip
"""Those of a container."""
_OLD_HEAD = frozenset({"replicas"})
"""In v1alpha1 a head once had replicas, always 1. They are dropped too, and nothing is lost with them."""

_BESIDE_THE_CLUSTER = (
    "write ttlSecondsAfterFinished beside rayClusterSpec: it is a field of the job, not of its Ray cluster"
)
_OF_A_JOB = (
    "remove it: only a RayJob has such a field (ttlSecondsAfterFinished), and no Ray cluster is deleted by its age"
)


def unknown_fields(manifest: RayManifest) -> None:
    """
    Of the object itself and its metadata, of the specs and their parts that have fields of their own, of pods and containers, and of
    what containers ask for.
    """
    if not manifest.v1 and manifest.root.text("apiVersion") != "ray.io/v1alpha1":
        return
    _tell_unknown(manifest.root, _ROOT)
    _tell_unknown(manifest.root.mapping("metadata"), _METADATA)
    if manifest.kind == "RayService":
        _tell_unknown(manifest.spec, rayfields.SERVICE)
        _tell_below(manifest, manifest.spec, _BELOW_SERVICE)
    elif manifest.kind == "RayCronJob":
        _tell_unknown(manifest.spec, rayfields.CRON_JOB)
    if manifest.job is not None:
        _tell_unknown(manifest.job, rayfields.JOB)
        _tell_below(manifest, manifest.job, _BELOW_JOB)
    of_time = _OF_A_JOB if manifest.job is None else _BESIDE_THE_CLUSTER
    _tell_unknown(manifest.cluster, rayfields.CLUSTER, of_time)
    _tell_below(manifest, manifest.cluster, _BELOW_CLUSTER)
    if manifest.cluster.has("autoscalerOptions"):
        _tell_unknown(manifest.cluster.mapping("autoscalerOptions"), rayfields.AUTOSCALER)
    _tell_unknown(manifest.head, rayfields.HEAD if manifest.v1 else rayfields.HEAD.keys() | _OLD_HEAD)
    for group in manifest.groups:
        _tell_unknown(group, rayfields.GROUP)
    for part in (manifest.head, *manifest.groups):
        _pod_template(part.mapping("template"))
    if manifest.job is not None and manifest.job.has("submitterPodTemplate"):
        _pod_template(manifest.job.mapping("submitterPodTemplate"))


def _tell_below(manifest: RayManifest, owner: Cursor, below: Mapping[str, Collection[str]]) -> None:
    """Of fields with fields of their own, none of which v1alpha1 has."""
    for key, known in below.items() if manifest.v1 else ():
        if owner.has(key):
            _tell_unknown(owner.mapping(key), known)


def _pod_template(template: Cursor) -> None:
    _tell_unknown(template, _TEMPLATE)
    spec = template.mapping("spec")
    _tell_unknown(spec, _POD)
    for container in (*spec.items("initContainers"), *spec.items("containers")):
        _tell_unknown(container, _CONTAINER)
        _tell_unknown(container.mapping("resources"), _RESOURCES)


def _tell_unknown(owner: Cursor, known: Collection[str], of_time: str = "") -> None:
    """`of_time` is the hint for a field that would say after how long something is deleted, where none does."""
    for key in owner.value:
        if key not in known:
            message = f"KubeRay 1.7 knows no field {key} here, and the API server would drop it"
            hint = of_time if str(key).casefold().startswith("ttl") else ""
            hint = hint or _elsewhere(owner, key, known)
            tell(owner, "UnknownRayField", message, hint or nearest(str(key), known), key=key)


def _elsewhere(owner: Cursor, key: str, known: Collection[str]) -> str:
    """What to do about a field that stands one level too high or too low; '' where it does not."""
    below = owner.value[key]
    if known is _ROOT:
        at = "metadata" if key in _METADATA else "spec" if key in _OF_SPECS else ""
        return f"it is a field of {at}: indent it below that" if at else ""
    if key == "spec" and isinstance(below, dict) and any(inner in known for inner in below):
        return "what is in it stands here, without a spec around it"
    if known is _POD:
        return "it is a field of a container" if key in _CONTAINER else ""
    if key not in _POD:
        return ""
    if known is _CONTAINER:
        return "it is a field of the pod: write it beside containers"
    if known is _TEMPLATE:
        return "write it in the spec of the template"
    if "template" in known:
        return "it is a field of the pod: write it in template.spec"
    return (
        "it is a field of pods: write it in template.spec of the head and of each group"
        if "headGroupSpec" in known
        else ""
    )


RULES: tuple[Rule, ...] = (unknown_fields,)
