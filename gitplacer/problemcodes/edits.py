"""Problems of edits: what a change of a deployed object costs, or why it comes to nothing."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "UpgradeMakesNewCluster": Code(
        "An edit makes KubeRay start a second Ray cluster",
        "KubeRay never changes the pods behind a RayService. Anything in `rayClusterConfig` but numbers of replicas, "
        "tolerations and worker groups that are new at the end makes it start a second Ray cluster and move over to it, "
        "and until then both hold their resources.",
        "See that the cluster has room for both Ray clusters, and make several edits in one commit: each commit may "
        "cost an upgrade. `upgradeStrategy.type: NewClusterWithIncrementalUpgrade` with a low `maxSurgePercent` needs "
        "less room.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "EditIgnored": Code(
        "An edit comes to nothing where the app runs",
        "KubeRay reads many fields only when it makes a pod, a Service or a job, and compares others not at all. The "
        "sync succeeds, the object holds the new value, and what runs stays as it was: a RayService whose "
        "`replicas` were changed, a RayCluster with a new image, a RayJob with another entrypoint.",
        "Do what the hint says, or take the edit back. A new name always works: a new object is read in full.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "StillNeeded": Code(
        "An edit takes away what a running Ray cluster still names",
        "KubeRay makes the Ray cluster of a RayJob or RayService of the spec as it is then. A name that is changed in the spec, as that of a ConfigMap with a "
        "hash of its content, is not changed in a Ray cluster that runs; and what has the old name is of no group any more, so it is removed from the "
        "cluster with this edit. Pods that run are not touched. But one that is made anew, by the autoscaler or after a node was lost, waits for it for ever.",
        "Leave a RayJob as it is until it is done, and run the next one under a new name, with objects of its own. Keep what the old Ray cluster of a RayService names, and "
        "remove it with a later commit: a policy's `groupBy` joins what nothing refers to. Or let the name be the same, where no pod has to see the new "
        "content at once.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "WorkerGroupsAppended": Code(
        "A new worker group sets autoscaled numbers of workers back",
        "Worker groups that are added at the end of a RayService are added to its running Ray cluster. KubeRay does so by "
        "writing the whole spec over it, `replicas` included, so that groups which the autoscaler has scaled up fall "
        "back to the numbers in Git.",
        "Write the numbers that are needed now into `replicas`, or make the edit when there is little to do.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "WorkerGroupRemoved": Code(
        "A worker group is taken out of a RayCluster",
        "KubeRay looks after the groups that the spec names. The pods of one that is gone keep running and keep their "
        "GPUs, nothing deletes them, and the Ray autoscaler may crash over them. A group that is renamed is removed too.",
        "First set the group's `replicas`, `minReplicas` and `maxReplicas` to 0, and remove it when its pods are gone. Or "
        "set `upgradeStrategy.type: Recreate`, with which KubeRay (1.6 and later) deletes all pods of the Ray cluster and "
        "makes them anew.",
        allowable=True,
    ),
    "WorkerGroupsReordered": Code(
        "Worker groups of an autoscaled RayCluster change places",
        "KubeRay knows a worker group by its name. The Ray autoscaler, which patches `workerGroupSpecs/0/replicas`, and the "
        "rules by which Argo CD and Flux leave that field alone know it by its place, so that one group may get the "
        "number of workers of another.",
        "Keep the order, and add new groups at the end.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "RecreatesPods": Code(
        "An edit deletes all pods of a RayCluster",
        "With `upgradeStrategy.type: Recreate` KubeRay answers any edit but one of replicas and tolerations by deleting "
        "the head and all workers, and makes new ones when they are gone. What runs on the Ray cluster is lost.",
        "Make the edit when the Ray cluster is idle, or give the RayCluster a new name and move over.",
        severity=Severity.WARNING,
        allowable=True,
    ),
    "EditOfFinishedJob": Code(
        "A job that is finished is edited",
        "A RayJob or Job runs once per name. After it has succeeded or failed nothing starts it again, whatever is changed "
        "in it; only how its remains are deleted (`ttlSecondsAfterFinished`, `shutdownAfterJobFinishes`, "
        "`deletionStrategy`) is still read.",
        "Give it a new name to run it again, or take the edit back.",
        allowable=True,
    ),
    "ImmutableField": Code(
        "A field is edited that cannot be changed",
        "The API server refuses to change some fields of an object that is there: the selector of a Deployment, the pod "
        "template of a Job, the role of a RoleBinding, `managedBy` of a Ray object. The sync would fail, and the rest of it "
        "with it.",
        "Take the edit back, or give the object a new name. Where the engine is told to delete and make the object anew "
        "(Argo CD: `Force=true,Replace=true`, Flux: `kustomize.toolkit.fluxcd.io/force: enabled`), allow it.",
        allowable=True,
    ),
    "KindNotServed": Code(
        "An object is added to an app where its API is not served",
        "The cluster on which the app runs serves no such kind, by its snapshot. Flux applies nothing of a unit in which one object is "
        "refused, and Argo CD fails the sync, so that nothing else would reach the cluster either.",
        "Install what serves the kind there, and wait for a snapshot that shows it; or take the object out. An app that is not placed yet goes to "
        "a cluster that serves all its kinds.",
        allowable=True,
    ),
}
