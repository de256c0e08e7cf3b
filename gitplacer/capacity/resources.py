"""
What is read of a cluster, resource by resource: where it is, whether a snapshot can do without it, and what is lost then.

Everything that is asked of an API server is asked through a row of this table, so it is also the list of rights that are needed.
`deploy/snapshot/rbac.yaml` grants exactly these; a test holds it against the table.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

AUTOSCALER_NAMESPACE = "kube-system"


class Resource(Struct, frozen=True, kw_only=True):
    """
    A resource of an API group. `lost` is what a snapshot lacks without it, '' where it cannot be taken without. `name` and
    `namespace` are those of the one object that is read, '' for a list of all.
    """

    name_in_url: str
    kind: str
    group: str = ""
    version: str = "v1"
    lost: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def verb(self) -> Literal["get", "list"]:
        return "get" if self.name else "list"

    @property
    def path(self) -> str:
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{base}{inside}/{self.name_in_url}" + (f"/{self.name}" if self.name else "")

    @property
    def rule(self) -> str:
        """The RBAC rule that lets it be read, on one line."""
        names = f", resourceNames: [{self.name}]" if self.name else ""
        return f'{{apiGroups: ["{self.group}"], resources: [{self.name_in_url}], verbs: [{self.verb}]{names}}}'


NODES = Resource(name_in_url="nodes", kind="Node")
PODS = Resource(name_in_url="pods", kind="Pod")
NAMESPACES = Resource(name_in_url="namespaces", kind="Namespace")

REPLICA_SETS = Resource(
    group="apps", name_in_url="replicasets", kind="ReplicaSet", lost="pods are followed to Deployments by name"
)
DEPLOYMENTS = Resource(
    group="apps",
    name_in_url="deployments",
    kind="Deployment",
    lost="KubeRay is not known, nor are groups with Deployments",
)
STATEFUL_SETS = Resource(
    group="apps", name_in_url="statefulsets", kind="StatefulSet", lost="groups with StatefulSets are not known"
)
DAEMON_SETS = Resource(
    group="apps", name_in_url="daemonsets", kind="DaemonSet", lost="groups with DaemonSets are not known"
)
JOBS = Resource(group="batch", name_in_url="jobs", kind="Job", lost="submitters are followed to RayJobs by name")
CRON_JOBS = Resource(group="batch", name_in_url="cronjobs", kind="CronJob", lost="groups with CronJobs are not known")

LIMIT_RANGES = Resource(
    name_in_url="limitranges", kind="LimitRange", lost="what they add to containers is not known, so not counted"
)
RUNTIME_CLASSES = Resource(
    group="node.k8s.io", name_in_url="runtimeclasses", kind="RuntimeClass", lost="they are not known, so not checked"
)
STORAGE_CLASSES = Resource(
    group="storage.k8s.io",
    name_in_url="storageclasses",
    kind="StorageClass",
    lost="where volumes can be made is not checked",
)
VOLUMES = Resource(
    name_in_url="persistentvolumes", kind="PersistentVolume", lost="where volumes are is not known, so not checked"
)
PRIORITY_CLASSES = Resource(
    group="scheduling.k8s.io",
    name_in_url="priorityclasses",
    kind="PriorityClass",
    lost="they are not known, so not checked",
)
NODE_POOLS = Resource(
    group="karpenter.sh", name_in_url="nodepools", kind="NodePool", lost="what Karpenter can add is as the Cluster says"
)
CLUSTER_QUEUES = Resource(
    group="kueue.x-k8s.io",
    name_in_url="clusterqueues",
    kind="ClusterQueue",
    lost="Kueue's quota is not known, so not checked",
)
LOCAL_QUEUES = Resource(
    group="kueue.x-k8s.io",
    name_in_url="localqueues",
    kind="LocalQueue",
    lost="Kueue's quota is not known, so not checked",
)
COHORTS = Resource(
    group="kueue.x-k8s.io", name_in_url="cohorts", kind="Cohort", lost="what Kueue's queues may borrow is not counted"
)
RESOURCE_QUOTAS = Resource(
    name_in_url="resourcequotas", kind="ResourceQuota", lost="what namespaces may take is not known, so not checked"
)
AUTOSCALER_STATUS = Resource(
    name_in_url="configmaps",
    kind="ConfigMap",
    namespace=AUTOSCALER_NAMESPACE,
    name="cluster-autoscaler-status",
    lost="what Cluster Autoscaler can add is as the Cluster says",
)

RAY = tuple(
    Resource(group="ray.io", name_in_url=f"{kind.lower()}s", kind=kind, lost=f"groups with {kind}s are not known")
    for kind in ("RayCluster", "RayJob", "RayService", "RayCronJob")
)
OTHERS = tuple(
    Resource(group=group, name_in_url=plural, kind=kind, lost=f"groups with {kind}s are not known")
    for group, plural, kind in (
        ("apps.nvidia.com", "nimservices", "NIMService"),
        ("argoproj.io", "rollouts", "Rollout"),
        ("jobset.x-k8s.io", "jobsets", "JobSet"),
        ("kubeflow.org", "pytorchjobs", "PyTorchJob"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets", "LeaderWorkerSet"),
        ("milvus.io", "milvuses", "Milvus"),
        ("serving.kserve.io", "inferenceservices", "InferenceService"),
    )
)
"""The kinds that come declared with gitplacer (`workloads.shipped`). Their versions are asked for."""

BETWEEN = (REPLICA_SETS, DEPLOYMENTS, STATEFUL_SETS, JOBS)
"""Kinds that own pods or each other, and that are owned themselves."""

TABLE: tuple[Resource, ...] = (
    NODES, PODS, NAMESPACES,
    *BETWEEN, DAEMON_SETS, CRON_JOBS, *RAY, *OTHERS,
    LIMIT_RANGES, RUNTIME_CLASSES, STORAGE_CLASSES, VOLUMES, PRIORITY_CLASSES, NODE_POOLS, AUTOSCALER_STATUS,
    CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, RESOURCE_QUOTAS,
)  # fmt: skip
"""Everything but sentinels, whose namespace is the fleet's to say, and the operator's configuration, whose name is the operator's."""


def sentinel(unit: str, namespace: str) -> Resource:
    """The ConfigMap that tells how far a unit has synced."""
    lost = "how far the cluster has synced is told by the time of the snapshot alone"
    return Resource(
        name_in_url="configmaps", kind="ConfigMap", namespace=namespace, name=f"gitplacer-{unit}", lost=lost
    )


def operator_config(namespace: str, name: str) -> Resource:
    """The configuration file of a KubeRay operator."""
    lost = "feature gates, sidecars and the batch scheduler of KubeRay are not known"
    return Resource(name_in_url="configmaps", kind="ConfigMap", namespace=namespace, name=name, lost=lost)
