"""
The fields of Ray specs: since which version of KubeRay there are, and whether `ray.io/v1alpha1` has them.

The API server keeps of an object what the schema of its version knows, and drops the rest without a word. The schema of
v1alpha1 has not grown since v1 was made.

Source: the types in KubeRay's ray-operator/apis/ray/v1 and v1alpha1.
"""

from __future__ import annotations

from collections.abc import Mapping

_Version = tuple[int, ...]
Fields = Mapping[str, tuple[_Version, bool]]
"""Field to the version of KubeRay that brought it (none: it was always there), and whether v1alpha1 has it."""

_ALWAYS: _Version = ()

CLUSTER: Fields = {
    "authOptions": (_ALWAYS, False),
    "autoscalerOptions": (_ALWAYS, True),
    "enableInTreeAutoscaling": (_ALWAYS, True),
    "gcsFaultToleranceOptions": (_ALWAYS, False),
    "headGroupSpec": (_ALWAYS, True),
    "headServiceAnnotations": (_ALWAYS, True),
    "historyServerOptions": ((1, 7), False),
    "managedBy": ((1, 3), False),
    "networkPolicy": ((1, 7), False),
    "rayVersion": (_ALWAYS, True),
    "suspend": (_ALWAYS, True),
    "tlsOptions": ((1, 7), False),
    "upgradeStrategy": ((1, 6), False),
    "workerGroupSpecs": (_ALWAYS, True),
}
"""Those of a Ray cluster spec."""

HEAD: Fields = {
    "enableIngress": (_ALWAYS, True),
    "headService": (_ALWAYS, True),
    "ingressOptions": ((1, 7), False),
    "labels": ((1, 5), False),
    "rayStartParams": (_ALWAYS, True),
    "resources": ((1, 5), False),
    "serviceType": (_ALWAYS, True),
    "template": (_ALWAYS, True),
}
"""Those of its head."""

GROUP: Fields = {
    "groupName": (_ALWAYS, True),
    "idleTimeoutSeconds": (_ALWAYS, False),
    "labels": ((1, 5), False),
    "maxReplicas": (_ALWAYS, True),
    "minReplicas": (_ALWAYS, True),
    "numOfHosts": (_ALWAYS, False),
    "priority": ((1, 7), False),
    "rayStartParams": (_ALWAYS, True),
    "replicas": (_ALWAYS, True),
    "resources": ((1, 5), False),
    "scaleStrategy": (_ALWAYS, True),
    "suspend": (_ALWAYS, False),
    "template": (_ALWAYS, True),
}
"""Those of a worker group."""

AUTOSCALER: Fields = {
    "args": ((1, 7), False),
    "command": ((1, 7), False),
    "env": (_ALWAYS, True),
    "envFrom": (_ALWAYS, True),
    "idleTimeoutSeconds": (_ALWAYS, True),
    "image": (_ALWAYS, True),
    "imagePullPolicy": (_ALWAYS, True),
    "resources": (_ALWAYS, True),
    "securityContext": (_ALWAYS, True),
    "upscalingMode": (_ALWAYS, True),
    "version": ((1, 4), False),
    "volumeMounts": (_ALWAYS, True),
}
"""Those of its `autoscalerOptions`."""

JOB_OF_V1 = frozenset({
    "activeDeadlineSeconds", "backoffLimit", "deletionStrategy", "managedBy", "preRunningDeadlineSeconds",
    "submissionMode", "submitterConfig",
})  # fmt: skip
"""The fields of a Ray job spec that v1alpha1 does not have."""

SERVICE_OF_V1 = frozenset({
    "excludeHeadPodFromServeSvc", "managedBy", "rayClusterDeletionDelaySeconds", "suspend", "upgradeStrategy",
})  # fmt: skip
"""The fields of a RayService's spec that v1alpha1 does not have."""


JOB = frozenset({
    *JOB_OF_V1, "clusterSelector", "entrypoint", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "jobId",
    "metadata", "rayClusterSpec", "runtimeEnvYAML", "shutdownAfterJobFinishes", "submitterPodTemplate", "suspend",
    "ttlSecondsAfterFinished",
})  # fmt: skip
"""Those of a Ray job spec."""

SERVICE = frozenset({
    *SERVICE_OF_V1, "deploymentUnhealthySecondThreshold", "rayClusterConfig", "serveConfigV2", "serveService",
    "serviceUnhealthySecondThreshold",
})  # fmt: skip
"""Those of a RayService's spec."""

CRON_JOB = frozenset({"jobTemplate", "schedule", "suspend", "timeZone"})
"""Those of a RayCronJob's spec."""


def of_v1(fields: Fields) -> frozenset[str]:
    """Those of the fields that v1alpha1 does not have."""
    return frozenset(name for name, (_, both) in fields.items() if not both)
