"""
Fields of Ray specs whose value is of a type that the API server refuses: `serveConfigV2` as a mapping, `rayVersion: 2.10`.

The schema of the kind says the type, so the whole object is refused, and the sync with it. What is a text, a number, or true or
false is in one table for each spec; null is not there, as it is to the API server. What else an object holds is read by those
whom it concerns, and they tell: pod templates, Services, rules of a network, of deletion. These tables go first among the rules,
for they know best how to mend it; what several tell in the same words is told once.
Source: the types in KubeRay's ray-operator/apis/ray/v1, of which the schemas are made; those that v1alpha1 has are the same there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

from gitplacer.documents import Cursor
from gitplacer.rules.manifest import RayManifest, Rule
from gitplacer.workloads.rayfields import AUTOSCALER, CLUSTER, GROUP, HEAD, JOB_OF_V1, SERVICE_OF_V1, of_v1

Reader = Callable[[Cursor, str], Any]
"""Reads what is at a key, and tells where it is of another type."""
Types = Mapping[str, "Reader | Types"]
"""Fields with what reads them, or with the fields below them."""

_TEXT: Reader = Cursor.text
_WHOLE: Reader = Cursor.integer
_NUMBER: Reader = Cursor.number
_FLAG: Reader = Cursor.boolean
_TEXTS: Reader = Cursor.labels
_LIST: Reader = Cursor.texts


def _block(cursor: Cursor, key: str) -> None:
    """A text with YAML in it, which is easily written as that YAML itself."""
    cursor.text(key, hint=f"write it as a block of text: {key}: | and below it, indented, what is there now")


def _json(cursor: Cursor, key: str) -> None:
    """A text with JSON in it."""
    cursor.text(key, hint=f"""write it as text in quotes: {key}: '{{"name": 1}}'""")


_CREDENTIAL: Types = {"value": _TEXT}
OF_CLUSTER: Types = {
    "authOptions": {"enableK8sTokenAuth": _FLAG, "mode": _TEXT, "secretName": _TEXT},
    "autoscalerOptions": {
        "args": _LIST,
        "command": _LIST,
        "idleTimeoutSeconds": _WHOLE,
        "image": _TEXT,
        "imagePullPolicy": _TEXT,
        "upscalingMode": _TEXT,
        "version": _TEXT,
    },
    "enableInTreeAutoscaling": _FLAG,
    "gcsFaultToleranceOptions": {
        "backend": _TEXT,
        "externalStorageNamespace": _TEXT,
        "redisAddress": _TEXT,
        "redisPassword": _CREDENTIAL,
        "redisUsername": _CREDENTIAL,
        "storage": {
            "accessModes": _LIST,
            "claimName": _TEXT,
            "deletionPolicy": _TEXT,
            "storageClassName": _TEXT,
            "subPath": _TEXT,
        },
    },
    "headServiceAnnotations": _TEXTS,
    "historyServerOptions": {"collectorOptions": {"image": _TEXT, "imagePullPolicy": _TEXT}},
    "managedBy": _TEXT,
    "networkPolicy": {"mode": _TEXT},
    "rayVersion": _TEXT,
    "suspend": _FLAG,
    "tlsOptions": {"enabled": _FLAG},
    "upgradeStrategy": {"type": _TEXT},
}
OF_HEAD: Types = {
    "enableIngress": _FLAG,
    "ingressOptions": {"host": _TEXT, "path": _TEXT, "pathType": _TEXT},
    "labels": _TEXTS,
    "rayStartParams": _TEXTS,
    "resources": _TEXTS,
    "serviceType": _TEXT,
}
OF_GROUP: Types = {
    "groupName": _TEXT,
    "idleTimeoutSeconds": _WHOLE,
    "labels": _TEXTS,
    "maxReplicas": _WHOLE,
    "minReplicas": _WHOLE,
    "numOfHosts": _WHOLE,
    "priority": _WHOLE,
    "rayStartParams": _TEXTS,
    "replicas": _WHOLE,
    "resources": _TEXTS,
    "scaleStrategy": {"workersToDelete": _LIST},
    "suspend": _FLAG,
}
OF_JOB: Types = {
    "activeDeadlineSeconds": _WHOLE,
    "backoffLimit": _WHOLE,
    "clusterSelector": _TEXTS,
    "entrypoint": _TEXT,
    "entrypointNumCpus": _NUMBER,
    "entrypointNumGpus": _NUMBER,
    "entrypointResources": _json,
    "jobId": _TEXT,
    "managedBy": _TEXT,
    "metadata": _TEXTS,
    "preRunningDeadlineSeconds": _WHOLE,
    "runtimeEnvYAML": _block,
    "shutdownAfterJobFinishes": _FLAG,
    "submissionMode": _TEXT,
    "submitterConfig": {"backoffLimit": _WHOLE},
    "suspend": _FLAG,
    "ttlSecondsAfterFinished": _WHOLE,
}
OF_SERVICE: Types = {
    "deploymentUnhealthySecondThreshold": _WHOLE,
    "excludeHeadPodFromServeSvc": _FLAG,
    "managedBy": _TEXT,
    "rayClusterDeletionDelaySeconds": _WHOLE,
    "serveConfigV2": _block,
    "serviceUnhealthySecondThreshold": _WHOLE,
    "suspend": _FLAG,
    "upgradeStrategy": {
        "clusterUpgradeOptions": {
            "gatewayClassName": _TEXT,
            "intervalSeconds": _WHOLE,
            "maxSurgePercent": _WHOLE,
            "stepSizePercent": _WHOLE,
        },
        "type": _TEXT,
    },
}
OF_CRON_JOB: Types = {"schedule": _TEXT, "suspend": _FLAG, "timeZone": _TEXT}

_NONE: Set[str] = frozenset()
_OPTIONS_OF_V1 = {"autoscalerOptions": of_v1(AUTOSCALER)}


def field_types(manifest: RayManifest) -> None:
    """Each field of a Ray spec is of the type that its schema says. What v1alpha1 drops may be anything."""
    old = not manifest.v1
    if manifest.kind == "RayService":
        _read(manifest.spec, OF_SERVICE, SERVICE_OF_V1 if old else _NONE)
    elif manifest.kind == "RayCronJob":
        _read(manifest.spec, OF_CRON_JOB)
    if manifest.job is not None:
        _read(manifest.job, OF_JOB, JOB_OF_V1 if old else _NONE)
    _read(manifest.cluster, OF_CLUSTER, of_v1(CLUSTER) if old else _NONE, _OPTIONS_OF_V1 if old else {})
    _read(manifest.head, OF_HEAD, of_v1(HEAD) if old else _NONE)
    for group in manifest.groups:
        _read(group, OF_GROUP, of_v1(GROUP) if old else _NONE)


def _read(owner: Cursor, types: Types, dropped: Set[str] = _NONE, below: Mapping[str, Set[str]] | None = None) -> None:
    """What is written of the fields; `dropped` are those that the API server does not keep, here and `below`."""
    for key, value in owner.value.items():
        wanted = types.get(key)
        if wanted is None or value is None or key in dropped:
            continue
        if isinstance(wanted, Mapping):
            _read(owner.mapping(key), wanted, (below or {}).get(key, _NONE))
        else:
            wanted(owner, key)


RULES: tuple[Rule, ...] = (field_types,)
