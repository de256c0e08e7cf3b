"""What is known of Kubernetes' API groups without asking a cluster: which it brings, and what has no namespace."""

from __future__ import annotations

from gitplacer.workloads import shipped

BUILT_IN_GROUPS = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
"""Groups that every cluster serves; `serves` of a snapshot lists only others."""

_CLUSTER_SCOPED = {
    "": {"Namespace", "Node", "PersistentVolume", "ComponentStatus"},
    "admissionregistration.k8s.io": {
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    },
    "apiextensions.k8s.io": {"CustomResourceDefinition"},
    "apiregistration.k8s.io": {"APIService"},
    "certificates.k8s.io": {"CertificateSigningRequest", "ClusterTrustBundle"},
    "flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
    "networking.k8s.io": {"IngressClass", "IPAddress", "ServiceCIDR"},
    "node.k8s.io": {"RuntimeClass"},
    "rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding"},
    "resource.k8s.io": {"DeviceClass", "ResourceSlice"},
    "scheduling.k8s.io": {"PriorityClass"},
    "storage.k8s.io": {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"},
    "storagemigration.k8s.io": {"StorageVersionMigration"},
    "cert-manager.io": {"ClusterIssuer"},
    "gateway.networking.k8s.io": {"GatewayClass"},
    "karpenter.sh": {"NodePool", "NodeClaim"},
    "kueue.x-k8s.io": {"ClusterQueue", "ResourceFlavor", "AdmissionCheck", "WorkloadPriorityClass", "Topology"},
    "scheduling.run.ai": {"Queue"},
    "scheduling.volcano.sh": {"Queue"},
    "cilium.io": {"CiliumClusterwideNetworkPolicy", "CiliumNode", "CiliumIdentity"},
}

RBAC_GROUP = "rbac.authorization.k8s.io"

GITOPS_GROUPS = frozenset(
    {
        "argoproj.io",
        "kustomize.toolkit.fluxcd.io",
        "source.toolkit.fluxcd.io",
        "helm.toolkit.fluxcd.io",
        "notification.toolkit.fluxcd.io",
        "image.toolkit.fluxcd.io",
        "fluxcd.controlplane.io",
        "configsync.gke.io",
        "fleet.cattle.io",
        "promoter.argoproj.io",
    }
)
"""Groups whose objects steer Argo CD, Flux and their like."""

_GITOPS_BUT_WORKLOADS = {("argoproj.io", kind) for kind in ("Rollout", "Workflow", "WorkflowTemplate", "CronWorkflow")}


def api_group(api_version: str) -> str:
    """The group of an apiVersion: 'apps/v1' → 'apps', 'v1' → ''."""
    return api_version.rpartition("/")[0]


def is_cluster_scoped(group: str, kind: str) -> bool:
    """Whether objects of a kind have no namespace, as far as that is known without the cluster."""
    return kind in _CLUSTER_SCOPED.get(group, ())


def is_surely_namespaced(group: str, kind: str) -> bool:
    """Whether objects of a kind have a namespace, as far as that is known without the cluster."""
    known = group in BUILT_IN_GROUPS or group == "ray.io" or (group, kind) in shipped.FILES
    return known and not is_cluster_scoped(group, kind)


def steers_gitops(group: str, kind: str) -> bool:
    """Whether an object would change what Argo CD or Flux do, rather than run somewhere."""
    return group in GITOPS_GROUPS and (group, kind) not in _GITOPS_BUT_WORKLOADS
