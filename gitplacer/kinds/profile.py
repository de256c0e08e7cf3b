"""
What a cluster is equipped with besides nodes: its KubeRay operator, its scheduler, what its namespaces add to pods.

The same fields stand in a Cluster, where people write them, and in its CapacitySnapshot, where a machine does. What is
absent is what nobody looked at: it keeps nothing off a cluster.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gitplacer.kinds.fields import (
    Amounts,
    Boolean,
    Bounds,
    DnsLabel,
    DnsSubdomain,
    Integer,
    LabelKey,
    LabelMap,
    Matching,
    Model,
    Quantities,
    Word,
)
from gitplacer.kinds.selectors import LabelSelector, TolerationField
from gitplacer.model.labels import DNS_LABEL, Requirement
from gitplacer.model.resources import NOTHING
from gitplacer.model.workload import NodeTerm

ZONE = "topology.kubernetes.io/zone"

GangScheduler = Literal["none", "volcano", "yunikorn", "scheduler-plugins", "kai", "kubernetes"]


class Sidecar(Model):
    """A container that the operator's configuration adds to Ray pods."""

    name: DnsLabel
    """The container's name."""
    requests: Amounts = NOTHING
    """What it asks for."""


class KubeRay(Model):
    """The KubeRay operator of a cluster, as far as somebody looked."""

    version: (
        Annotated[
            str,
            Matching(
                r"^v?[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?([-+][A-Za-z0-9.+-]*)?$",
                'must be a version such as "1.7.0"',
            ),
        ]
        | None
    ) = None
    """Its version, and that of its CRDs. What only later versions have is not placed there."""
    feature_gates: (
        dict[Annotated[str, Matching(r"^[A-Za-z][A-Za-z0-9]*$", "must be the name of a feature gate")], Boolean] | None
    ) = None
    """Feature gates that were set. Others are taken to be as the version has them by itself."""
    init_container_injection: Boolean | None = None
    """Whether workers get the init container that waits for the head (`ENABLE_INIT_CONTAINER_INJECTION`); they do by default."""
    zero_downtime: Boolean | None = None
    """Whether a RayService that does not say how is upgraded by a second Ray cluster (`ENABLE_ZERO_DOWNTIME`); it is by default."""
    head_cluster_ip_service: Annotated[Boolean | None, Field(alias="headClusterIPService")] = None
    """Whether the Service of a head has an address of its own (`ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE`); by default it has none, and a
    Cluster Mesh does not lead to it."""
    head_sidecars: tuple[Sidecar, ...] | None = None
    """Containers that the operator adds to head pods (`headSidecarContainers`)."""
    worker_sidecars: tuple[Sidecar, ...] | None = None
    """Containers that the operator adds to worker pods (`workerSidecarContainers`)."""
    watch_namespaces: tuple[DnsLabel, ...] | None = None
    """The namespaces that it watches; none at all means every namespace."""
    deletes_finished_jobs: Boolean | None = None
    """Whether it deletes RayJobs themselves when they are done (`DELETE_RAYJOB_CR_AFTER_JOB_FINISHES`); GitOps would run them again."""


class LimitRange(Model):
    """What an item of a LimitRange gives to containers that ask for nothing, and wants of all, or of all pods."""

    namespace: DnsLabel
    """Its namespace."""
    name: DnsSubdomain | None = None
    """Its name; one of this name in the source takes its place."""
    type: Literal["Container", "Pod"] = "Container"
    """Of what the least, the most and the ratio are: of each container, or of each pod as a whole, to which nothing is given."""
    default_request: Bounds = {}
    """Requests of containers that have none."""
    default: Bounds = {}
    """Limits of containers that have none; a resource that `defaultRequest` lacks is requested like this."""
    min: Bounds = {}
    """The least that a container or pod may ask for; what a container asks for that asks for none, where nothing else says it."""
    max: Bounds = {}
    """The most that a container or pod may ask for, or have as its limit; the limit of a container that has none, where `default` says no
    other."""
    max_limit_request_ratio: Quantities = {}
    """How many times its request a limit may be."""


class RuntimeClass(Model):
    """A RuntimeClass: what its pods cost besides their containers, and where they may run."""

    name: DnsSubdomain
    """Its name, which pods give as `runtimeClassName`."""
    overhead: Amounts = NOTHING
    """What each of its pods asks for besides its containers (`overhead.podFixed`)."""
    node_selector: LabelMap = {}
    """Labels of the nodes that its pods may run on (`scheduling.nodeSelector`)."""
    tolerations: tuple[TolerationField, ...] = ()
    """Tolerations that its pods get (`scheduling.tolerations`)."""


class PriorityClass(Model):
    """A PriorityClass: what pods say themselves of their priority must be what it gives them."""

    name: DnsSubdomain
    """Its name, which pods give as `priorityClassName`."""
    value: Annotated[Integer, Field(ge=-(2**31), lt=2**31)]
    """The priority of its pods."""
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    """Whether its pods may preempt others."""
    global_default: Boolean = False
    """Whether it is the class of pods that name none."""


class VolumeNodes(Model):
    """Nodes from which volumes are reached: in one of the zones, and as one of the terms has it. Neither means all nodes."""

    zones: tuple[Word, ...] = ()
    """Zones, by the label topology.kubernetes.io/zone of nodes; none at all means every node."""
    node_affinity: tuple[LabelSelector, ...] = ()
    """Terms about labels of nodes, one of which must hold; none at all means every node."""

    def reach(self) -> tuple[tuple[NodeTerm, ...], ...]:
        """The terms of which a node must meet one each."""
        found: list[tuple[NodeTerm, ...]] = []
        if self.zones:
            found.append((NodeTerm((Requirement(ZONE, "In", self.zones),)),))
        terms = tuple(term.requirements() for term in self.node_affinity)
        if terms and all(terms):  # a term without conditions is every node
            found.append(tuple(NodeTerm(term) for term in terms))
        return tuple(found)


class StorageClass(VolumeNodes):
    """A StorageClass, and where its volumes can be made (`allowedTopologies`)."""

    name: DnsSubdomain
    """Its name, which claims give as `storageClassName`."""
    default: Boolean = False
    """Whether it is the class of claims that name none."""


class PresentObject(Model):
    """An object that is in the cluster without being in the source."""

    api_group: Annotated[str, Matching(r"^[a-z0-9.-]*$", "must be an API group such as ray.io", 253)] = ""
    """Its API group without a version; empty for core kinds."""
    kind: Annotated[str, Matching(r"^[A-Z][A-Za-z0-9]*$", "must be a kind such as Secret", 63)]
    """Its kind."""
    namespace: Annotated[str, Matching(rf"^({DNS_LABEL})?$", "must be a namespace, or empty for none")] = ""
    """Its namespace; empty for what has none."""
    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Its name."""


class Equipment(Model):
    """What a cluster has besides nodes, as a person or a machine saw it. What is absent nobody looked at."""

    kuberay: KubeRay | None = None
    """Its KubeRay operator; absent means not known, so not checked."""
    limit_ranges: tuple[LimitRange, ...] | None = None
    """Its LimitRanges."""
    runtime_classes: tuple[RuntimeClass, ...] | None = None
    """Its RuntimeClasses; absent means not known, so not checked."""
    priority_classes: tuple[PriorityClass, ...] | None = None
    """Its PriorityClasses, but for the two that Kubernetes makes; absent means not known, so not checked."""
    storage_classes: tuple[StorageClass, ...] | None = None
    """Its StorageClasses; pods go only where volumes of theirs can be made. A class that is not there is not checked."""
    gang_scheduler: GangScheduler | None = None
    """The batch scheduler that its KubeRay was told to use; absent means not known."""
    slice_topology: LabelKey | None = None
    """The label of nodes whose values are the domains of slices: all hosts of a multi-host replica go to one. Absent means
    `cloud.google.com/gke-nodepool` for TPUs, and that the hosts of other replicas may be anywhere."""
    extended_resource_toleration: Boolean | None = None
    """Whether its API server lets pods onto nodes with a taint (NoSchedule) that is called like an extended resource they ask for, such
    as `nvidia.com/gpu` or `google.com/tpu`: it runs the admission plug-in ExtendedResourceToleration, as GKE and EKS do, and adds
    the toleration. Absent means that it does not."""
    present: tuple[PresentObject, ...] | None = None
    """Objects that are there without being in the source, such as a Secret made by hand."""


class Profile(Equipment):
    """
    What a cluster can do, as far as it is known. Each field wins over what the cluster's snapshot says, those of `kuberay`
    and each feature gate one by one; only what is `present` adds up.
    """

    gateway_api: Annotated[Boolean | None, Field(alias="gatewayAPI")] = None
    """Whether it serves the Gateway API; absent means what `serves` in its snapshot says."""
    cert_manager: Boolean | None = None
    """Whether cert-manager is there; absent means what `serves` in its snapshot says."""
    sealing_key: Word | None = None
    """A name for the key that its sealed-secrets controller opens secrets with; clusters with one key give one name."""
