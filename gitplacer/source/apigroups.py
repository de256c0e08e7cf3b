"""What is known of Kubernetes' API groups without asking a cluster: which it brings, and what has no namespace."""

from __future__ import annotations

from collections.abc import Collection

from gitplacer.workloads import shipped, vaults

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

_OF_TRAEFIK = (
    "IngressRoute", "IngressRouteTCP", "IngressRouteUDP", "Middleware", "MiddlewareTCP", "ServersTransport", "ServersTransportTCP",
    "TLSOption", "TLSStore", "TraefikService",
)  # fmt: skip

_NAMESPACED = {
    "": {
        "Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate",
        "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
    },
    "apps": {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
    "autoscaling": {"HorizontalPodAutoscaler"},
    "batch": {"CronJob", "Job"},
    "coordination.k8s.io": {"Lease", "LeaseCandidate"},
    "discovery.k8s.io": {"EndpointSlice"},
    "events.k8s.io": {"Event"},
    "extensions": {"Ingress"},
    "networking.k8s.io": {"Ingress", "NetworkPolicy"},
    "policy": {"PodDisruptionBudget"},
    "rbac.authorization.k8s.io": {"Role", "RoleBinding"},
    "resource.k8s.io": {"ResourceClaim", "ResourceClaimTemplate"},
    "scheduling.k8s.io": {"PodGroup", "Workload"},
    "storage.k8s.io": {"CSIStorageCapacity"},
    "apps.nvidia.com": {"NIMCache"},
    "argoproj.io": {"AnalysisTemplate", "CronWorkflow", "Workflow", "WorkflowTemplate"},
    "autoscaling.gke.io": {"AutoscalingMetric"},
    "autoscaling.k8s.io": {"VerticalPodAutoscaler"},
    "autoscaling.x-k8s.io": {"ProvisioningRequest"},
    "bitnami.com": {"SealedSecret"},
    "cert-manager.io": {"Certificate", "CertificateRequest", "Issuer"},
    "cilium.io": {"CiliumEnvoyConfig", "CiliumNetworkPolicy"},
    "cloud.google.com": {"BackendConfig"},
    "elbv2.k8s.aws": {"TargetGroupBinding"},
    "external-secrets.io": {"ExternalSecret", "PushSecret", "SecretStore"},
    "configuration.konghq.com": {"KongConsumer", "KongIngress", "KongPlugin"},
    "gateway.envoyproxy.io": {
        "Backend", "BackendTrafficPolicy", "ClientTrafficPolicy", "EnvoyExtensionPolicy", "HTTPRouteFilter", "SecurityPolicy",
    },
    "gateway.networking.k8s.io": {
        "BackendTLSPolicy", "GRPCRoute", "Gateway", "HTTPRoute", "ReferenceGrant", "TCPRoute", "TLSRoute", "UDPRoute",
    },
    "generators.external-secrets.io": set(vaults.GENERATORS),
    "grafana.integreatly.org": {"GrafanaAlertRuleGroup", "GrafanaContactPoint", "GrafanaDashboard", "GrafanaDatasource", "GrafanaFolder"},
    "image.openshift.io": {"ImageStream"},
    "inference.networking.k8s.io": {"InferencePool"},
    "inference.networking.x-k8s.io": {"InferenceModel", "InferenceObjective", "InferencePool"},
    "isindir.github.com": {"SopsSecret"},
    "k8s.bitwarden.com": {"BitwardenSecret"},
    "kafka.strimzi.io": {
        "Kafka", "KafkaBridge", "KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2", "KafkaNodePool", "KafkaRebalance", "KafkaTopic", "KafkaUser",
    },
    "keda.sh": {"ScaledJob", "ScaledObject", "TriggerAuthentication"},
    "kubeflow.org": {"MPIJob", "MXJob", "PaddleJob", "TFJob", "XGBoostJob"},
    "kueue.x-k8s.io": {"LocalQueue", "ProvisioningRequestConfig", "Workload"},
    "monitoring.coreos.com": {"AlertmanagerConfig", "PodMonitor", "Probe", "PrometheusRule", "ScrapeConfig", "ServiceMonitor"},
    "monitoring.googleapis.com": {"PodMonitoring", "Rules"},
    "multicluster.x-k8s.io": {"ServiceExport", "ServiceImport"},
    "networking.gke.io": {
        "FrontendConfig", "GCPBackendPolicy", "GCPGatewayPolicy", "GCPSessionAffinityFilter", "GCPSessionAffinityPolicy",
        "GCPTrafficDistributionPolicy", "HealthCheckPolicy", "ManagedCertificate",
    },
    "networking.istio.io": {
        "DestinationRule", "EnvoyFilter", "Gateway", "ServiceEntry", "Sidecar", "VirtualService", "WorkloadEntry", "WorkloadGroup",
    },
    "objectbucket.io": {"ObjectBucketClaim"},
    "onepassword.com": {"OnePasswordItem"},
    "operator.victoriametrics.com": {
        "VMAlertmanagerConfig", "VMPodScrape", "VMProbe", "VMRule", "VMScrapeConfig", "VMServiceScrape", "VMStaticScrape",
    },
    "projectcontour.io": {"HTTPProxy"},
    "resource.nvidia.com": {"ComputeDomain"},
    "route.openshift.io": {"Route"},
    "scheduling.sigs.k8s.io": {"PodGroup"},
    "scheduling.volcano.sh": {"PodGroup"},
    "scheduling.x-k8s.io": {"PodGroup"},
    "security.istio.io": {"AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"},
    "secrets-store.csi.x-k8s.io": {"SecretProviderClass"},
    "secrets.doppler.com": {"DopplerSecret"},
    "secrets.hashicorp.com": {"VaultAuth", "VaultConnection", "VaultDynamicSecret", "VaultPKISecret", "VaultStaticSecret"},
    "secrets.infisical.com": {"InfisicalSecret"},
    "serving.knative.dev": {"Configuration", "Route", "Service"},
    "serving.kserve.io": {"ServingRuntime"},
    "snapshot.storage.k8s.io": {"VolumeSnapshot"},
    "sparkoperator.k8s.io": {"ScheduledSparkApplication", "SparkApplication"},
    "spv.no": {"AzureKeyVaultSecret"},
    "telemetry.istio.io": {"Telemetry"},
    "traefik.containo.us": set(_OF_TRAEFIK),
    "traefik.io": set(_OF_TRAEFIK),
    "trainer.kubeflow.org": {"TrainJob", "TrainingRuntime"},
    "vpcresources.k8s.aws": {"SecurityGroupPolicy"},
}  # fmt: skip
"""Kinds that are known to have a namespace: Kubernetes' own, and those of projects that are often beside them."""

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
    "resource.k8s.io": {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
    "scheduling.k8s.io": {"PriorityClass"},
    "storage.k8s.io": {"StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "VolumeAttributesClass"},
    "storagemigration.k8s.io": {"StorageVersionMigration"},
    "cert-manager.io": {"ClusterIssuer"},
    "gateway.networking.k8s.io": {"GatewayClass"},
    "cloud.google.com": {"ComputeClass"},
    "configuration.konghq.com": {"KongClusterPlugin", "KongVault"},
    "karpenter.k8s.aws": {"EC2NodeClass"},
    "karpenter.sh": {"NodePool", "NodeClaim"},
    "kueue.x-k8s.io": {
        "ClusterQueue",
        "ResourceFlavor",
        "AdmissionCheck",
        "WorkloadPriorityClass",
        "Topology",
        "Cohort",
    },
    "scheduling.run.ai": {"Queue"},
    "trainer.kubeflow.org": {"ClusterTrainingRuntime"},
    "external-secrets.io": {"ClusterExternalSecret", "ClusterPushSecret", "ClusterSecretStore"},
    "generators.external-secrets.io": {"ClusterGenerator"},
    "serving.kserve.io": {"ClusterServingRuntime", "ClusterStorageContainer"},
    "snapshot.storage.k8s.io": {"VolumeSnapshotClass", "VolumeSnapshotContent"},
    "keda.sh": {"ClusterTriggerAuthentication"},
    "monitoring.googleapis.com": {"ClusterPodMonitoring", "ClusterRules", "GlobalRules"},
    "scheduling.volcano.sh": {"Queue"},
    "cilium.io": {"CiliumClusterwideNetworkPolicy", "CiliumNode", "CiliumIdentity", "CiliumLoadBalancerIPPool"},
}

RBAC_GROUP = "rbac.authorization.k8s.io"

_GITOPS_GROUPS = (
    "addons.cluster.x-k8s.io",
    "app.terraform.io",
    "argoproj.io",
    "cluster.x-k8s.io",
    "config.projectsveltos.io",
    "configmanagement.gke.io",
    "configsync.gke.io",
    "core.kubefed.io",
    "core.oam.dev",
    "crossplane.io",
    "fluxcd.controlplane.io",
    "fluxcd.io",
    "cattle.io",
    "helm.k0sproject.io",
    "kappctrl.k14s.io",
    "kargo.akuity.io",
    "karmada.io",
    "kluctl.io",
    "olm.operatorframework.io",
    "open-cluster-management.io",
    "operators.coreos.com",
    "packaging.carvel.dev",
    "pulumi.com",
    "tf.galleybytes.com",
    "types.kubefed.io",
)
"""Groups, with those below them, whose objects bring other objects to clusters: Argo CD, Flux and their like."""

_GITOPS_BUT_WORKLOADS = {
    ("argoproj.io", kind) for kind in ("AnalysisTemplate", "CronWorkflow", "Rollout", "Workflow", "WorkflowTemplate")
}


def is_cluster_scoped(group: str, kind: str) -> bool:
    """Whether objects of a kind have no namespace, as far as that is known without the cluster."""
    return kind in _CLUSTER_SCOPED.get(group, ())


def is_surely_namespaced(group: str, kind: str) -> bool:
    """Whether objects of a kind have a namespace, as far as that is known without the cluster."""
    known = group in BUILT_IN_GROUPS or group == "ray.io" or (group, kind) in shipped.FILES
    return known and not is_cluster_scoped(group, kind)


def is_known_namespaced(group: str, kind: str) -> bool:
    """Whether a kind is one of those known by name to have a namespace. Others of Kubernetes' groups may be misspelt."""
    return kind in _NAMESPACED.get(group, ()) or (group, kind) in shipped.FILES


def like(group: str) -> Collection[str]:
    """The kinds of a group that are known by name to have a namespace."""
    return _NAMESPACED.get(group, ())


def groups_of(kind: str) -> list[str]:
    """The groups of which a kind is known by name to have a namespace, sorted; the core group is ''."""
    return sorted(group for group, kinds in _NAMESPACED.items() if kind in kinds)


def steers_gitops(group: str, kind: str) -> bool:
    """Whether an object would change what Argo CD or Flux do, rather than run somewhere."""
    below = any(group == one or group.endswith(f".{one}") for one in _GITOPS_GROUPS)
    return below and (group, kind) not in _GITOPS_BUT_WORKLOADS
