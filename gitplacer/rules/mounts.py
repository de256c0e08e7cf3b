"""
Mounts of volumes that the pod does not have.

A Ray object with one is taken: its schema knows nothing of what pods refer to. KubeRay then makes a pod of the template, the API
server refuses it, and KubeRay tries again for ever. Of other kinds the API server says it at once, or a controller adds volumes that
nobody can see here, so only Ray's are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitplacer.documents import Cursor
from gitplacer.problems import nearest
from gitplacer.rules.containers import pod_spec
from gitplacer.rules.faulttolerance import STORAGE_VOLUME
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.rules.rayjob import submission_mode
from gitplacer.rules.tls import VOLUME as TLS_VOLUME

_ADDED = frozenset({"shared-mem", STORAGE_VOLUME, TLS_VOLUME})
"""Volumes that KubeRay gives Ray pods, where nobody else does; who mounts the last two is told to leave them to it."""
_LOGS = "ray-logs"
"""One that it adds for whoever reads the logs beside Ray: the autoscaler, the history collector."""


def mounts(manifest: RayManifest) -> None:
    """
    Each mount of a container, and of the autoscaler, is one of a volume in its pod.
    Source: ValidateVolumeMounts in pkg/apis/core/validation of Kubernetes 1.34; addEmptyDir in KubeRay's controllers/ray/common/pod.go.
    """
    logs = manifest.autoscaling or manifest.cluster.has("historyServerOptions")
    added = _ADDED | {_LOGS} if logs else _ADDED
    beside = [manifest.cluster.mapping("autoscalerOptions")] if manifest.autoscaling else []
    _check(pod_spec(manifest.head), added, beside)
    for group in manifest.groups:
        _check(pod_spec(group), added)
    job = manifest.job
    if job is not None and job.has("submitterPodTemplate") and submission_mode(manifest) == "K8sJobMode":
        _check(job.mapping("submitterPodTemplate").mapping("spec"), frozenset())


def _check(spec: Cursor, added: frozenset[str], beside: Iterable[Cursor] = ()) -> None:
    owners = (*_containers(spec), *beside)
    if not any(owner.has("volumeMounts") for owner in owners):
        return
    names = [volume.text("name") for volume in spec.items("volumes")]
    for owner in owners:
        for mount in owner.items("volumeMounts") if owner.has("volumeMounts") else ():
            name = mount.text("name")
            if name and name not in added and name not in names:
                hint = nearest(name, names) if names else "add it to the volumes of the pod"
                tell(mount, "UnknownVolume", f"the pod has no volume {name}", hint, key="name")


def _containers(spec: Cursor) -> Iterator[Cursor]:
    for key in ("initContainers", "containers"):
        if spec.has(key):
            yield from spec.items(key)


RULES: tuple[Rule, ...] = (mounts,)
