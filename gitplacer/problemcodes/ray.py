"""
Problems of Ray cluster specs: what KubeRay would refuse after the sync was reported successful, or do in silence.

KubeRay checks a spec in its operator. What it refuses there stays in the API server as it was written: a RayCluster gets an
event and no pods, a RayJob the status ValidationFailed, a RayService the condition Ready=False, and a RayCronJob
starts nothing. An error that KubeRay makes of it whatever its version cannot be allowed.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "NameTooLong": Code(
        "A name is too long for what KubeRay makes of it",
        "KubeRay adds suffixes to the name for the objects it creates, and refuses a RayCluster beyond 53 characters, a "
        "RayJob or RayService beyond 47 and a RayCronJob beyond 36. The sync succeeds and nothing starts.",
        "Choose a shorter name.",
    ),
    "InvalidRayName": Code(
        "A name is not one that KubeRay takes",
        "Kubernetes lets the name of a Ray object begin with a digit and hold dots; the Services that KubeRay makes of it "
        "may not. The sync succeeds and no pods appear. For a RayCronJob it is each of its RayJobs that is refused.",
        "Use lower-case letters, digits and dashes, beginning with a letter and ending with a letter or a digit.",
    ),
    "FieldsOfV1": Code(
        "An object of ray.io/v1alpha1 has fields of ray.io/v1",
        "The API server keeps the fields of the version in which an object is applied, and drops the others without a word: "
        "`numOfHosts`, `gcsFaultToleranceOptions` or `deletionStrategy` stand in Git, and are not there. They do not count when "
        "room is reserved either.",
        "Write `apiVersion: ray.io/v1`, or remove the fields.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "UnknownRayField": Code(
        "A Ray kind has no such field",
        "The API server keeps what the kind's schema knows and drops the rest without a word: with `replica: 4` or "
        "`enableInTreeAutoscalling: true` the object is applied and does not do what its author thinks, nor with `nodeSelector` in a container, "
        "`tolerations` beside `template` or `label` in the metadata. Sizes are those of what is kept.",
        "Correct the name or the place; the hint gives the nearest one. The fields are those of KubeRay 1.7: if a newer one runs on your "
        "clusters and knows the field, put its CRDs under the platform paths, which say what the fields are, or allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "NoHosts": Code(
        "A worker group has no hosts",
        "`numOfHosts` multiplies the group's pods; with 0 or less KubeRay accepts the object and makes no workers.",
        "Leave `numOfHosts` out, or give the number of hosts of one slice. For no workers, say `replicas: 0`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ReplicasOutOfRange": Code(
        "A number of replicas is outside of its bounds",
        "KubeRay moves `replicas` to the nearer of `minReplicas` and `maxReplicas` and does not say so: fewer or more "
        "workers start than are written, and room is reserved for those that start.",
        "Write the number that is meant, or move the bound.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "InvalidWorkerGroupName": Code(
        "A worker group cannot have its name",
        "KubeRay names the group's pods after it, in lower case, and labels them with it; a name with an underscore, for "
        "one, makes pods that Kubernetes refuses, so that the group stays empty. With `networkPolicy` the name of "
        "a policy is made of it as it is written, so it must be in lower case and without dots, or KubeRay refuses the "
        "whole Ray cluster and no pods appear.",
        "Use up to 63 lower-case letters, digits and dashes, beginning and ending with a letter or a digit.",
        allowable=True,
    ),
    "InvalidLabel": Code(
        "A label, or the key of an annotation, is not one of Kubernetes",
        "The API server refuses the object, or every pod that is made of a template with it. The labels of a Ray head and of a worker group "
        "become labels of their pods; KubeRay refuses the whole Ray cluster for one that Kubernetes would not take: the sync succeeds and no pods appear. "
        "Pods that look for such a label, of nodes or of other pods, are refused as well, or taken and left pending for good, also where the rule is a preference.",
        "A key is up to 63 letters, digits, `-`, `_` and `.`, after an optional DNS name and a slash; a value is the same "
        "without the DNS name, or empty. Both begin and end with a letter or a digit.",
    ),
    "LabelsInStartParams": Code(
        "Labels of Ray nodes are written as a start parameter",
        "KubeRay refuses `rayStartParams.labels`, because labels of a group have a field of their own. The sync "
        "succeeds and no pods appear.",
        "Write them in `labels` of the head or of the worker group, beside `rayStartParams`.",
    ),
    "ConflictingResources": Code(
        "What Ray may use is said twice",
        "KubeRay refuses a head or worker group that has `resources` and also `num-cpus`, `num-gpus`, `memory` or "
        "`resources` in `rayStartParams`. The sync succeeds and no pods appear. Neither of the two changes what the "
        "pod asks Kubernetes for.",
        "Keep one of them. The resources of the container are what Ray goes by where both are missing.",
    ),
    "NoRequests": Code(
        "A Ray container does not say what it needs",
        "Without requests and limits for CPU and memory, Kubernetes puts the pod anywhere, and Ray takes the whole node for "
        "its own: two of them on one node start twice the work that it can do. A placement cannot count what is not "
        "said either.",
        "Set requests or limits for CPU and memory on the first container of the template, which is Ray's.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "UnknownVolume": Code(
        "A container mounts a volume that its pod does not have",
        "The schema of a Ray object knows nothing of it, so the sync succeeds. The API server refuses each pod that KubeRay makes of the "
        "template, and no pods appear.",
        "Correct the name of the mount, or add the volume to `volumes` of the pod template. Where something in the cluster adds the volume "
        "to pods, allow it.",
        allowable=True,
    ),
    "RefusedPod": Code(
        "The API server refuses the pods of a template",
        "Two containers, volumes, ports or mounts that may not be alike, a name, word or port that is none, a volume that does not say of what "
        "it is, or a path that leads out of one. The schema of a Ray object knows nothing of it, so the sync succeeds. The API server refuses each "
        "pod that KubeRay makes of the template, or the Service of the head, and no pods appear.",
        "Correct what is told. Where something in the cluster mends it before the API server looks, allow it.",
        allowable=True,
    ),
    "TPUTopologyMismatch": Code(
        "The hosts of a replica are not the hosts of one TPU slice",
        "The node selector asks for a slice with so many chips, and the hosts of one replica ask for more or fewer. With "
        "fewer, the workers hold a slice and wait for hosts that never come; with more, they are spread over slices "
        "that cannot talk to each other.",
        "Let `google.com/tpu` of one host × `numOfHosts` be the chips of the topology: `4x4` has 16, so 4 hosts of 4.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ContradictoryAutoscaler": Code(
        "The version of the autoscaler is said twice, or without an autoscaler",
        "`autoscalerOptions.version` and the variable `RAY_enable_autoscaler_v2` of the head say the same thing, and KubeRay "
        "refuses both together; it also refuses the variable where `enableInTreeAutoscaling` is not true. "
        "The sync succeeds and no pods appear.",
        "Remove the variable. Say `enableInTreeAutoscaling: true` and `autoscalerOptions.version: v2`.",
    ),
    "NeedsAutoscalerV2": Code(
        "A worker group needs version 2 of the autoscaler",
        "`idleTimeoutSeconds` and `priority` of a worker group are for version 2 of the autoscaler. KubeRay does not look at the "
        "Ray version to see which one runs, and refuses them where version 2 is not asked for. The sync succeeds and "
        "no pods appear.",
        "Set `autoscalerOptions.version: v2`, or remove the field.",
    ),
    "NeedsRayVersion": Code(
        "A feature needs a Ray version that is not written",
        "KubeRay goes by `rayVersion`, not by the image, and refuses `authOptions` and the priority of a worker group where "
        "`rayVersion` is missing, is no version or is too old. The sync succeeds and no pods appear.",
        "Write the `rayVersion` of the image, and use an image that is new enough.",
    ),
    "InvalidRestartPolicy": Code(
        "Pods may not be restarted in this way",
        "Version 2 of the autoscaler replaces a pod that failed, so KubeRay refuses a `restartPolicy` other than Never. "
        "The sync succeeds and no pods appear. The submitter of a RayJob is the pod of a batch Job, which is restarted on failure or "
        "never; KubeRay takes `submitterPodTemplate` as it stands, and there Always is the default. The whole Ray cluster starts, the API "
        "server refuses the Job, and the room is held without a job.",
        "Leave `restartPolicy` out of the templates of the head and the worker groups. In `submitterPodTemplate` write "
        "`restartPolicy: Never`.",
    ),
    "InvalidIdleTimeout": Code(
        "An idle timeout is negative",
        "KubeRay refuses a negative `idleTimeoutSeconds`. The sync succeeds and no pods appear.",
        "Give the seconds after which an idle worker goes, 0 or more.",
    ),
    "SuspendedGroup": Code(
        "A worker group is suspended under the autoscaler",
        "`suspend` of a worker group is what KubeRay itself sets when a finished RayJob gives its workers back. It refuses "
        "it together with `enableInTreeAutoscaling`. The sync succeeds and no pods appear.",
        "Remove `suspend`. A group with `maxReplicas: 0` stays empty.",
    ),
    "UnboundedGroup": Code(
        "The autoscaler may start any number of workers",
        "Without `maxReplicas` the limit is 2147483647: one loop that submits tasks can fill every node of the cluster.",
        "Set `maxReplicas`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "AutoscalerOwnsReplicas": Code(
        "Git and the autoscaler both set the replicas of a worker group",
        "Ray's autoscaler writes `replicas` into the RayCluster, and the GitOps engine sees a difference and writes back what "
        "stands in Git: workers are started and stopped in turn. RayJobs and RayServices do not have this problem, since "
        "their Ray clusters are not in Git.",
        'With Flux, annotate the RayCluster with `gitplacer.dev/autoscaled: "true"`: the Kustomization that `gitplacer bootstrap` '
        "makes has an ignore rule for such RayClusters. For Argo CD, `bootstrap` makes one for all that autoscale, so nothing is "
        "reported there. Leaving `replicas` out does not help: an apply on the server side then sets it to its default, 0.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "NothingToScale": Code(
        "An autoscaler is to scale a Ray object",
        "HorizontalPodAutoscaler and KEDA's ScaledObject change a number through the `scale` subresource of what they scale. Ray's kinds have none: the first fails to get it "
        "for ever (`FailedGetScale`), and KEDA's webhook refuses the second, so that the sync fails.",
        "Remove the object. With `enableInTreeAutoscaling: true` Ray's autoscaler starts and stops workers by what tasks and actors ask for, within `minReplicas` and "
        "`maxReplicas`; how many replicas a Serve deployment has is for its `autoscaling_config`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "BudgetNotCounted": Code(
        "A disruption budget lets no Ray pod go",
        "Kubernetes holds `maxUnavailable`, or a part of the whole in percent, against the number that the `scale` subresource of the pods' owner gives. Ray's kinds have none, so the budget "
        "fails to sync (`rayclusters.ray.io does not implement the scale subresource`) and allows no eviction: whoever drains a node, or brings it up to date, waits for ever.",
        "Write `minAvailable` with a number, which is held against the pods that there are. A budget that is to let no pod go says `maxUnavailable: 0`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "ContradictoryFaultTolerance": Code(
        "GCS fault tolerance is set up in two ways",
        "`gcsFaultToleranceOptions` has replaced the annotations, start parameters and environment variables that set up "
        "fault tolerance before. KubeRay refuses a Ray cluster that has both, one with a Redis address "
        "and no fault tolerance, and one with a Redis user outside of the options. The sync succeeds and no pods appear.",
        "Say all of it in `gcsFaultToleranceOptions`, and remove the rest.",
    ),
    "InvalidGCSStorage": Code(
        "The options of GCS fault tolerance do not go together",
        "The backend redis takes an address and credentials, the backend rocksdb takes `storage`; and a claim that exists "
        "has its size and class already. KubeRay refuses a mixture. The sync succeeds and no pods appear.",
        "Keep the options of the backend that is meant.",
    ),
    "ManagedByKubeRay": Code(
        "Something is set that KubeRay sets itself",
        "For TLS, for GCS state in RocksDB, for the autoscaler's command and for the history collector KubeRay adds environment "
        "variables, mounts, volumes and containers of its own. A second one of that name would win over its own, so "
        "it refuses the Ray cluster. The sync succeeds and no pods appear.",
        "Remove it, or choose another name.",
    ),
    "InvalidAuthOptions": Code(
        "The options for authentication do not go together",
        "Authentication by tokens of Kubernetes (`enableK8sTokenAuth`) is for a RayCluster that no RayJob or RayService "
        "makes, with `mode: token` and without a secret. KubeRay refuses anything else. The sync succeeds and no pods "
        "appear.",
        "Set `mode: token`, and either `enableK8sTokenAuth` in a RayCluster or `secretName`.",
    ),
    "InvalidNetworkPolicy": Code(
        "A network policy has rules that mean nothing",
        "Rules open what the mode closes, for a worker group that exists. KubeRay refuses rules for a direction that the mode "
        "leaves open, and for a group that it does not find. The sync succeeds and no pods appear.",
        "Remove the rules, change the mode, or name a group of `workerGroupSpecs`.",
    ),
    "DNSClosed": Code(
        "A network policy keeps Ray pods from DNS",
        "With `networkPolicy` in a mode that closes egress, KubeRay opens the way between the pods of the Ray cluster and nothing "
        "else. Workers look for their head by the name of its Service, which they then cannot resolve: the sync succeeds, "
        "the pods start, and the Ray cluster never comes together.",
        "Add an egress rule with port 53 over UDP under `head` and `worker`, and in each entry of `workerGroups`, which "
        "replaces what `worker` says. Where the nodes' own DNS is reached in another way, allow it.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "InvalidHistoryServerOptions": Code(
        "The history collector does not know where to keep what it collects",
        "KubeRay wants to see the storage of the collector before it starts anything: `STORAGE_BACKEND` with a literal value, "
        "and the variables that this backend needs. The sync succeeds and no pods appear.",
        "Add the variables to `collectorOptions.env`: `GCS_BUCKET` for GCS, `S3_REGION` for S3, a connection string or an "
        "account URL for AZUREBLOB, and bucket, endpoint and region for ALIYUNOSS.",
    ),
    "MissingCollectorImage": Code(
        "The history collector has no image",
        "KubeRay 1.7 refuses `collectorOptions` without an image. The sync succeeds and no pods appear.",
        "Set `collectorOptions.image`. Later operators can have an image for all collectors; where yours does, allow it.",
        allowable=True,
    ),
}
