"""What belongs together: what an object needs, what it points at, which pods it selects."""

from __future__ import annotations

import json
from functools import reduce
from operator import or_
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.grouping.masks import Behind
from gitplacer.links import mask_of
from gitplacer.model.labels import Requirement
from gitplacer.source.apigroups import is_known_namespaced
from gitplacer.workloads import companions, podgroups
from gitplacer.workloads.facts import Reference, at


def facts(value: dict[str, Any]) -> workloads.ObjectFacts:
    data = json.dumps(value).encode()
    [document] = parse(data).documents
    found, problems = workloads.read(Document("x.yaml", document, 0, lambda: data))
    assert [p for p in problems if p.code != "NotCounted"] == []
    return found


def names(references: tuple[Reference, ...]) -> list[str]:
    return [f"{r.kind}/{r.name}{'?' if r.optional else ''}" for r in references]


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "c"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "c", **fields}])


def inline(driver: str, **attributes: str) -> dict[str, Any]:
    return {"name": "v", "csi": {"driver": driver, "volumeAttributes": attributes}}


def key_ref(kind: str, **fields: Any) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {kind: {"name": "n", "key": "k", **fields}}}


@pytest.mark.parametrize(
    ("value", "needs"),
    [
        (container(env=[key_ref("secretKeyRef")]), ["Secret/n"]),
        (container(env=[key_ref("configMapKeyRef")]), ["ConfigMap/n"]),
        (container(env=[key_ref("secretKeyRef", optional=True)]), ["Secret/n?"]),
        (container(env=[key_ref("fieldRef"), {"name": "V", "value": "x"}]), []),
        (
            container(envFrom=[{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "c", "optional": True}}]),
            ["ConfigMap/c?", "Secret/s"],
        ),
        (pod(initContainers=[{"name": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]), ["Secret/s"]),
        (pod(volumes=[{"name": "v", "configMap": {"name": "c"}}]), ["ConfigMap/c"]),
        (pod(volumes=[{"name": "v", "secret": {"secretName": "s", "optional": True}}]), ["Secret/s?"]),
        (pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]), ["PersistentVolumeClaim/data"]),
        (
            pod(
                volumes=[
                    {"name": "v", "projected": {"sources": [{"configMap": {"name": "c"}}, {"secret": {"name": "s"}}]}}
                ]
            ),
            ["ConfigMap/c", "Secret/s"],
        ),
        (pod(volumes=[{"name": "v", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "s"}}}]), ["Secret/s"]),
        (
            pod(volumes=[{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"secretProviderClass": "vault"}}}]),
            ["SecretProviderClass/vault"],
        ),
        (pod(volumes=[{"name": "v", "csi": {"driver": "d", "volumeAttributes": {"bucketName": "b"}}}]), []),
        (pod(volumes=[{"name": "v", "azureFile": {"secretName": "s", "shareName": "f"}}]), ["Secret/s"]),
        (pod(volumes=[{"name": "v", "cephfs": {"monitors": ["m"], "secretRef": {"name": "s"}}}]), ["Secret/s"]),
        (pod(volumes=[{"name": "v", "flexVolume": {"driver": "d", "secretRef": {"name": "s"}}}]), ["Secret/s"]),
        (pod(volumes=[{"name": "v", "nfs": {"server": "n", "path": "/"}}]), []),
        (pod(volumes=[inline("file.csi.azure.com", secretName="s", shareName="f")]), ["Secret/s"]),
        (pod(volumes=[inline("smb.csi.k8s.io", secretName="s")]), ["Secret/s"]),
        (pod(volumes=[inline("d", secretName="s")]), []),  # what this means only the driver knows
        (pod(volumes=[{"name": "v", "emptyDir": {}}]), []),
        (pod(imagePullSecrets=[{"name": "pull"}]), ["Secret/pull"]),
        (pod(serviceAccountName="robot"), ["ServiceAccount/robot"]),
        (pod(serviceAccountName="default"), []),
        (
            pod(
                resourceClaims=[
                    {"name": "a", "resourceClaimName": "one"},
                    {"name": "b", "resourceClaimTemplateName": "t"},
                ]
            ),
            ["ResourceClaim/one", "ResourceClaimTemplate/t"],
        ),
        # named twice, it is one need, and required if any mention is
        (container(env=[key_ref("secretKeyRef", optional=True), key_ref("secretKeyRef")]), ["Secret/n"]),
    ],
)
def test_a_pod_needs_what_its_template_names(value: dict[str, Any], needs: list[str]) -> None:
    assert names(facts(value).needs) == needs


def test_the_secret_of_an_inline_volume_may_be_in_another_namespace() -> None:
    [found] = facts(pod(volumes=[inline("file.csi.azure.com", secretName="s", secretNamespace="team")])).needs
    assert (found.kind, found.name, found.namespace) == ("Secret", "s", "team")


@pytest.mark.parametrize(
    ("annotation", "needs"),
    [
        ("rdma", ["rdma?"]),
        ("rdma-a, rdma-b@net1,,", ["rdma-a?", "rdma-b?"]),
        ("team/own@eth1,far/away", ["away?", "own?"]),  # what is of another namespace is nobody of ours
        (
            '[{"name": "rdma", "interface": "net1"}, {"name": "b", "namespace": "team"}, {"namespace": 1}, 3]',
            ["b?", "rdma?"],
        ),
        ('{"name": "one", "namespace": 1}', ["one?"]),
        ("[{", []),
        ("", []),
    ],
)
def test_a_pod_takes_along_the_networks_that_it_is_attached_to(annotation: str, needs: list[str]) -> None:
    template = {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": annotation}}, **TEMPLATE}
    value = cluster("team", headGroupSpec={"template": template})
    found = facts(value).needs
    assert sorted(names(found)) == [f"NetworkAttachmentDefinition/{need}" for need in needs]
    assert {each.namespace for each in found} <= {"", "team", "far"}


@pytest.mark.parametrize("group", ["autoscaling.x-k8s.io", "cluster-autoscaler.kubernetes.io"])
def test_a_pod_takes_along_the_order_for_its_machine_and_that_its_templates(group: str) -> None:
    template = {"metadata": {"annotations": {f"{group}/consume-provisioning-request": "queued"}}, **TEMPLATE}
    found = facts(obj("apps/v1", "Deployment", {"template": template})).needs
    assert names(found) == ["ProvisioningRequest/queued?"]
    ordered = [{"count": 2, "podTemplateRef": {"name": "t"}}, {"count": 1}]
    order = facts(obj("autoscaling.x-k8s.io/v1", "ProvisioningRequest", {"podSets": ordered}))
    assert (names(order.needs), order.sized) == (["PodTemplate/t"], False)


@pytest.mark.parametrize(
    ("metadata", "needs"),
    [
        ({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, ["scheduling.x-k8s.io"]),
        ({"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}, ["scheduling.sigs.k8s.io"]),
        ({"annotations": {"scheduling.k8s.io/group-name": "g"}}, ["scheduling.volcano.sh"]),
        ({"annotations": {"scheduling.volcano.sh/group-name": "g", "scheduling.k8s.io/group-name": "g"}}, ["scheduling.volcano.sh"]),
        ({"annotations": {"scheduling.x-k8s.io/pod-group": "g"}, "labels": {"pod-group": "g"}}, []),
        ({"labels": {"scheduling.x-k8s.io/pod-group": ""}}, []),
    ],
)  # fmt: skip
def test_a_pod_takes_along_the_group_that_it_says_it_is_of(metadata: dict[str, Any], needs: list[str]) -> None:
    found = facts(cluster("team", headGroupSpec={"template": {"metadata": metadata, **TEMPLATE}})).needs
    assert [(each.api_group, each.kind, each.name, each.optional) for each in found] == [
        (group, "PodGroup", "g", False) for group in needs
    ]


@pytest.mark.parametrize(
    ("metadata", "spec", "gang"),
    [
        ({"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}, {}, ("kueue.x-k8s.io", "Workload", True)),
        ({"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}, {}, ("scheduling.sigs.k8s.io", "PodGroup", True)),
        ({}, {"schedulingGroup": {"podGroupName": "g"}}, ("scheduling.k8s.io", "PodGroup", False)),
        ({}, {"workloadRef": {"name": "g", "podGroup": "workers"}}, ("scheduling.k8s.io", "Workload", False)),
    ],
)  # fmt: skip
def test_a_pod_is_of_a_gang_however_it_says_so(
    metadata: dict[str, Any], spec: dict[str, Any], gang: tuple[str, str, bool]
) -> None:
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}
    [found] = facts(obj("apps/v1", "Deployment", {"template": template})).needs
    assert ((found.api_group, found.kind, found.optional), found.name) == (gang, "g")
    assert gang[:2] in podgroups.GANGS


TEMPLATE = {"spec": {"containers": [{"name": "ray"}]}}


def cluster(namespace: str = "", annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x", "annotations": annotations or {}}
    if namespace:
        metadata["namespace"] = namespace
    spec = {"headGroupSpec": {"template": TEMPLATE}, **fields}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


SECRET = {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}


@pytest.mark.parametrize(
    ("fields", "needs"),
    [
        ({"gcsFaultToleranceOptions": {"redisAddress": "10.0.0.1:6379", "redisPassword": SECRET}}, ["Secret/s"]),
        ({"gcsFaultToleranceOptions": {"redisUsername": SECRET}}, ["Secret/s"]),
        ({"gcsFaultToleranceOptions": {"storage": {"claimName": "gcs"}}}, ["PersistentVolumeClaim/gcs"]),
        ({"authOptions": {"mode": "token", "secretName": "auth"}}, ["Secret/auth"]),
        (
            {"autoscalerOptions": {"env": [{"name": "V", **SECRET}], "envFrom": [{"configMapRef": {"name": "c"}}]}},
            ["ConfigMap/c", "Secret/s"],
        ),
        ({"historyServerOptions": {"collectorOptions": {"env": [{"name": "V", **SECRET}]}}}, ["Secret/s"]),
        ({"headGroupSpec": {"template": TEMPLATE, "ingressOptions": {"tls": [{"secretName": "tls"}]}}}, ["Secret/tls"]),
    ],
)
def test_a_ray_cluster_needs_what_it_names_outside_its_templates(fields: dict[str, Any], needs: list[str]) -> None:
    assert names(facts(cluster(**fields)).needs) == needs


@pytest.mark.parametrize(
    ("address", "namespace", "service"),
    [
        ("redis:6379", "team", "redis"),
        ("redis", "team", "redis"),
        ("redis://redis:6379/0", "team", "redis"),
        ("rediss://user:pass@redis:6379", "team", "redis"),
        ("redis.team.svc.cluster.local:6379", "team", "redis"),
        ("redis.team.svc:6379", "team", "redis"),
        ("redis.team:6379", "team", "redis"),
        ("redis-0.redis.team.svc.cluster.local:6379", "team", "redis"),
        ("redis.other.svc:6379", "team", None),
        ("redis.example.com:6379", "team", None),
        ("redis.io", "", None),
        ("10.0.0.7:6379", "team", None),
        ("$(REDIS_HOST):6379", "team", None),
        ("", "team", None),
    ],
)
def test_a_redis_address_names_a_service_of_the_own_namespace(
    address: str, namespace: str, service: str | None
) -> None:
    head = {
        "template": {
            "spec": {"containers": [{"name": "ray", "env": [{"name": "RAY_REDIS_ADDRESS", "value": address}]}]}
        }
    }
    expected = [f"Service/{service}"] if service else []
    assert names(facts(cluster(namespace, gcsFaultToleranceOptions={"redisAddress": address})).needs) == expected
    assert names(facts(cluster(namespace, headGroupSpec=head)).needs) == expected


def test_a_named_namespace_counts_only_if_it_turns_out_to_be_the_own_one() -> None:
    [found] = facts(cluster(gcsFaultToleranceOptions={"redisAddress": "redis.team.svc:6379"})).needs
    assert (found.name, found.namespace) == ("redis", "team")


def test_a_reference_remembers_where_it_is_said_but_is_the_same_anywhere() -> None:
    value = container(env=[key_ref("secretKeyRef")])
    [found] = facts(value).needs
    assert at(value, found.path) == "n"
    assert found == Reference("", "Secret", "n")


@pytest.mark.parametrize(
    ("value", "singleton"),
    [
        (cluster(), ""),
        (cluster(gcsFaultToleranceOptions={"externalStorageNamespace": "state"}), "fixed GCS storage namespace"),
        (cluster(annotations={"ray.io/external-storage-namespace": "state"}), "fixed GCS storage namespace"),
        (
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"accessModes": ["ReadWriteOnce"]}},
            "ReadWriteOnce volume claim",
        ),
        ({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"accessModes": ["ReadWriteMany"]}}, ""),
        ({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {}}, "ReadWriteOnce volume claim"),
    ],
)
def test_state_that_lives_in_one_place_makes_a_singleton(value: dict[str, Any], singleton: str) -> None:
    assert facts(value).singleton == singleton


def obj(api_version: str, kind: str, spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "namespace": "team"}, **fields}
    return value if spec is None else {**value, "spec": spec}


def backend(name: str) -> dict[str, Any]:
    return {"service": {"name": name, "port": {"number": 80}}}


GATEWAY = "gateway.networking.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.mark.parametrize(
    ("value", "points_at", "needs"),
    [
        (
            obj(
                "networking.k8s.io/v1",
                "Ingress",
                {
                    "defaultBackend": backend("a"),
                    "tls": [{"secretName": "t"}],
                    "rules": [{"http": {"paths": [{"path": "/", "backend": backend("b")}]}}],
                },
            ),
            ["Service/a", "Service/b"],
            ["Secret/t"],
        ),
        (
            obj(
                GATEWAY,
                "HTTPRoute",
                {
                    "parentRefs": [{"name": "gw"}, {"name": "far", "namespace": "infra"}],
                    "rules": [
                        {
                            "backendRefs": [
                                {"name": "a", "port": 80},
                                {"name": "b", "namespace": "team"},
                                {"name": "c", "namespace": "other"},
                            ],
                            "filters": [{"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "m"}}}],
                        }
                    ],
                },
            ),
            ["Service/a", "Service/b", "Service/m"],
            ["Gateway/gw?"],
        ),
        (
            obj(
                "route.openshift.io/v1",
                "Route",
                {"to": {"kind": "Service", "name": "a"}, "alternateBackends": [{"kind": "Service", "name": "b"}]},
            ),
            ["Service/a", "Service/b"],
            [],
        ),
        (
            obj("route.openshift.io/v1", "Route", {"to": {"name": "a"}, "tls": {"externalCertificate": {"name": "t"}}}),
            ["Service/a"],
            ["Secret/t"],
        ),
        (
            obj(
                "traefik.io/v1alpha1",
                "IngressRoute",
                {
                    "routes": [
                        {
                            "services": [
                                {"name": "a", "port": 80},
                                {"name": "b", "kind": "TraefikService"},
                                {"name": "api@internal", "kind": "TraefikService"},
                                {"name": "c", "namespace": "other"},
                            ]
                        }
                    ]
                },
            ),
            ["Service/a", "TraefikService/b"],
            [],
        ),
        (
            obj(
                "networking.gke.io/v1",
                "HealthCheckPolicy",
                {"targetRef": {"group": "", "kind": "Service", "name": "a"}},
            ),
            ["Service/a"],
            [],
        ),
        (
            obj(
                "networking.gke.io/v1",
                "GCPTrafficDistributionPolicy",
                {"targetRefs": [{"group": "", "kind": "Service", "name": "a"}, {"name": "b", "namespace": "other"}]},
            ),
            ["Service/a"],
            [],
        ),
        (
            obj("elbv2.k8s.aws/v1beta1", "TargetGroupBinding", {"serviceRef": {"name": "a", "port": 80}}),
            ["Service/a"],
            [],
        ),
        (obj(GATEWAY, "GRPCRoute", {"rules": [{"backendRefs": [{"name": "a"}]}]}), ["Service/a"], []),
        (
            obj(GATEWAY, "Gateway", {"listeners": [{"name": "l", "tls": {"certificateRefs": [{"name": "t"}]}}]}),
            [],
            ["Secret/t"],
        ),
        (
            obj(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
            ),
            ["Deployment/web"],
            [],
        ),
        (obj("keda.sh/v1alpha1", "ScaledObject", {"scaleTargetRef": {"name": "web"}}), ["Deployment/web"], []),
        (
            obj("v1", "ServiceAccount", secrets=[{"name": "a"}], imagePullSecrets=[{"name": "b"}]),
            [],
            ["Secret/a", "Secret/b"],
        ),
        (
            obj(
                RBAC,
                "RoleBinding",
                roleRef={"kind": "Role", "name": "r"},
                subjects=[
                    {"kind": "ServiceAccount", "name": "robot", "namespace": "team"},
                    {"kind": "User", "name": "u"},
                ],
            ),
            ["ServiceAccount/robot"],
            ["Role/r"],
        ),
        (
            obj(
                "v1",
                "PersistentVolumeClaim",
                {"dataSource": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "snap"}},
            ),
            [],
            ["VolumeSnapshot/snap"],
        ),
        (
            obj(
                "v1",
                "PersistentVolumeClaim",
                {
                    "storageClassName": "",
                    "volumeName": "models",
                    "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "old", "namespace": "team"},
                },
            ),
            [],
            ["PersistentVolume/models", "PersistentVolumeClaim/old"],
        ),
        (
            obj(
                "v1",
                "PersistentVolumeClaim",
                {"dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "old", "namespace": "far"}},
            ),
            [],
            [],
        ),
        (obj("v1", "ConfigMap"), [], []),
        (obj("example.com/v1", "Thing", {"anything": [1, None]}), [], []),
    ],
)
def test_objects_without_pods_point_at_what_they_serve(
    value: dict[str, Any], points_at: list[str], needs: list[str]
) -> None:
    found = facts(value)
    assert not found.sized and not found.gang
    assert (names(found.points_at), names(found.needs)) == (points_at, needs)


ISTIO = "networking.istio.io/v1"
VAULT = "secrets.hashicorp.com/v1beta1"
DOPPLER = "secrets.doppler.com/v1alpha1"
SOPS = "isindir.github.com/v1alpha3"
MADE = {"destination": {"name": "s", "create": True}}
BACKEND = json.dumps({"default": "d", "ports": {"8265": "b"}})
TRAEFIK = "traefik.io/v1alpha1"
STRIP = {"group": "traefik.io", "kind": "Middleware", "name": "strip"}
STRIPS = ["Middleware/strip?", "Middleware/strip?"]  # of either group of Traefik
BOTH = ["Secret/off", "Secret/who"]  # the one is of another namespace, and nobody here is meant by it
POOLS = "inference.networking.x-k8s.io/v1alpha2"
HEAD_TO = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"}


def host(name: str) -> dict[str, Any]:
    return {"destination": {"host": name, "port": {"number": 80}}}


@pytest.mark.parametrize(
    ("value", "points_at", "needs"),
    [
        (
            obj(
                ISTIO,
                "VirtualService",
                {
                    "gateways": ["mesh", "gw", "team/own", "infra/far"],
                    "http": [
                        {
                            "route": [host("a"), host("b.team.svc.cluster.local"), host("c.other.svc.cluster.local")],
                            "mirror": {"host": "m"},
                            "mirrors": [{"destination": {"host": "n"}}],
                        }
                    ],
                    "tcp": [{"route": [host("t")]}],
                    "tls": [{"route": [host("www.example.com")]}],
                },
            ),
            ["Service/a", "Service/b", "Service/m", "Service/n", "Service/t"],
            ["Gateway/gw?", "Gateway/own?"],
        ),
        (obj(ISTIO, "DestinationRule", {"host": "a.team"}), ["Service/a"], []),
        (obj(ISTIO, "DestinationRule", {"host": "*.example.com"}), [], []),
        (obj("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", {"targetRefs": [HEAD_TO]}), ["Gateway/gw"], []),
        (
            obj(
                "gateway.envoyproxy.io/v1alpha1",
                "SecurityPolicy",
                {
                    "targetRefs": [HEAD_TO],
                    "apiKeyAuth": {"credentialRefs": [{"name": "k"}, {"name": "f", "namespace": "far"}]},
                    "basicAuth": {"users": {"name": "u"}},
                    "oidc": {"clientSecret": {"kind": "Secret", "name": "o"}},
                },
            ),
            ["Gateway/gw"],
            ["Secret/k", "Secret/o", "Secret/u"],
        ),
        (
            obj(
                "gateway.envoyproxy.io/v1alpha1",
                "ClientTrafficPolicy",
                {
                    "targetRefs": [HEAD_TO],
                    "tls": {
                        "clientValidation": {"caCertificateRefs": [{"name": "s"}, {"kind": "ConfigMap", "name": "c"}]}
                    },
                },
            ),
            ["Gateway/gw"],
            ["ConfigMap/c", "Secret/s"],
        ),
        (obj("gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy", {"targetRef": HEAD_TO}), ["Gateway/gw"], []),
        (
            obj(
                "gateway.networking.k8s.io/v1",
                "BackendTLSPolicy",
                {
                    "targetRefs": [{"kind": "Service", "name": "a"}],
                    "validation": {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "ca"}]},
                },
            ),
            ["Service/a"],
            ["ConfigMap/ca"],
        ),
        (
            obj(
                "apps.nvidia.com/v1alpha1",
                "NIMCache",
                {
                    "source": {"ngc": {"modelPuller": "nvcr.io/nim/x:1", "pullSecret": "p", "authSecret": "a"}},
                    "storage": {"pvc": {"create": False, "name": "models"}},
                    "env": [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "t", "key": "k"}}}],
                },
            ),
            [],
            ["PersistentVolumeClaim/models?", "Secret/a", "Secret/p", "Secret/t"],
        ),
        (obj(POOLS, "InferenceObjective", {"poolRef": {"name": "p"}}), ["InferencePool/p"], []),
        (obj(POOLS, "InferenceModel", {"poolRef": {"name": "p"}}), ["InferencePool/p"], []),
        (obj("security.istio.io/v1", "AuthorizationPolicy", {"targetRefs": [HEAD_TO]}), ["Gateway/gw"], []),
        (
            obj(
                "projectcontour.io/v1",
                "HTTPProxy",
                {
                    "virtualhost": {"fqdn": "a.b", "tls": {"secretName": "t"}},
                    "routes": [{"services": [{"name": "a", "port": 80}]}],
                    "tcpproxy": {"services": [{"name": "b", "port": 81}]},
                },
            ),
            ["Service/a", "Service/b"],
            ["Secret/t"],
        ),
        (obj("projectcontour.io/v1", "HTTPProxy", {"virtualhost": {"tls": {"secretName": "far/t"}}}), [], []),
        (
            obj(
                "traefik.io/v1alpha1",
                "IngressRoute",
                {
                    "tls": {"secretName": "t", "options": {"name": "modern"}},
                    "routes": [{"middlewares": [{"name": "m"}, {"name": "far", "namespace": "other"}]}],
                },
            ),
            [],
            ["Secret/t", "Middleware/m?", "TLSOption/modern?"],
        ),
        (
            obj("v1", "Service", {}, metadata={"annotations": {"cloud.google.com/backend-config": BACKEND}}),
            [],
            ["BackendConfig/b?", "BackendConfig/d?"],
        ),
        *(
            (obj("v1", "Service", {}, metadata={"annotations": {"cloud.google.com/backend-config": text}}), [], [])
            for text in ("{", "[" * 99999, "[b]", '{"default": 1, "ports": [b]}')
        ),
        (
            obj(
                "networking.k8s.io/v1",
                "Ingress",
                {},
                metadata={
                    "annotations": {
                        "networking.gke.io/managed-certificates": "c, d",
                        "networking.gke.io/v1beta1.FrontendConfig": "f",
                    }
                },
            ),
            [],
            ["FrontendConfig/f?", "ManagedCertificate/c?", "ManagedCertificate/d?"],
        ),
        *(
            (obj("networking.k8s.io/v1", "Ingress", {}, metadata={"annotations": annotations}), [], needs)
            for annotations, needs in (
                ({"nginx.ingress.kubernetes.io/auth-secret": "who"}, ["Secret/who"]),
                ({"nginx.ingress.kubernetes.io/auth-tls-secret": "team/ca"}, ["Secret/ca"]),
                ({"haproxy.org/auth-secret": "team/who", "nginx.org/basic-auth-secret": "far/off"}, BOTH),
                ({"traefik.ingress.kubernetes.io/router.middlewares": "team-strip@kubernetescrd, a@file"}, STRIPS),
                ({"konghq.com/plugins": "limit, log"}, ["KongPlugin/limit?", "KongPlugin/log?"]),
                ({"cert-manager.io/issuer": "ours", "cert-manager.io/cluster-issuer": ""}, ["Issuer/ours?"]),
                ({"cert-manager.io/cluster-issuer": "theirs"}, []),
            )
        ),
        (
            obj(
                "gateway.networking.k8s.io/v1",
                "HTTPRoute",
                {
                    "rules": [
                        {
                            "filters": [{"type": "ExtensionRef", "extensionRef": STRIP}],
                            "backendRefs": [{"name": "a", "filters": [{"extensionRef": {**STRIP, "name": "more"}}]}],
                        }
                    ]
                },
            ),
            ["Service/a"],
            ["Middleware/more?", "Middleware/strip?"],
        ),
        (obj(TRAEFIK, "Middleware", {"basicAuth": {"secret": "who"}}), [], ["Secret/who"]),
        *(
            (
                obj(
                    group,
                    f"IngressRoute{protocol}",
                    {"routes": [{"services": [{"name": "a", "serversTransport": "t"}]}]},
                ),
                ["Service/a"],
                [f"ServersTransport{protocol}/t?"],
            )
            for group in (TRAEFIK, "traefik.containo.us/v1alpha1")
            for protocol in ("", "TCP", "UDP")
        ),
        (obj(TRAEFIK, "IngressRouteTCP", {"routes": [{"middlewares": [{"name": "m"}]}]}), [], ["MiddlewareTCP/m?"]),
        (
            obj(
                TRAEFIK,
                "TraefikService",
                {
                    "weighted": {
                        "services": [{"name": "a", "serversTransport": "t"}, {"name": "b", "kind": "TraefikService"}]
                    }
                },
            ),
            ["Service/a", "TraefikService/b"],
            ["ServersTransport/t?"],
        ),
        (
            obj(
                TRAEFIK,
                "TraefikService",
                {"mirroring": {"name": "a", "mirrors": [{"name": "b"}, {"name": "far", "namespace": "other"}]}},
            ),
            ["Service/a", "Service/b"],
            [],
        ),
        (
            obj(
                TRAEFIK,
                "ServersTransport",
                {"rootCAs": [{"secret": "s"}, {"configMap": "c"}], "certificatesSecrets": ["own"]},
            ),
            [],
            ["ConfigMap/c", "Secret/own", "Secret/s"],
        ),
        (obj(TRAEFIK, "ServersTransportTCP", {"tls": {"rootCAsSecrets": ["s"]}}), [], ["Secret/s"]),
        (
            obj(
                TRAEFIK,
                "Middleware",
                {
                    "chain": {"middlewares": [{"name": "m"}, {"name": "far", "namespace": "other"}]},
                    "forwardAuth": {"address": "https://sso", "tls": {"caSecret": "ca", "certSecret": "own"}},
                },
            ),
            [],
            ["Middleware/m?", "Secret/ca", "Secret/own"],
        ),
        (
            obj("cloud.google.com/v1", "BackendConfig", {"iap": {"oauthclientCredentials": {"secretName": "o"}}}),
            [],
            ["Secret/o"],
        ),
        (obj("cert-manager.io/v1", "Certificate", {"secretName": "t", "issuerRef": {"name": "i"}}), [], ["Issuer/i?"]),
        (
            obj("cert-manager.io/v1", "Certificate", {"issuerRef": {"name": "i", "kind": "ClusterIssuer"}}),
            [],
            [],
        ),
        (obj("cert-manager.io/v1", "Issuer", {"ca": {"secretName": "root"}}), [], ["Secret/root"]),
        (obj("cert-manager.io/v1", "Issuer", {"selfSigned": {}}), [], []),
        (
            obj(
                "external-secrets.io/v1",
                "ExternalSecret",
                {
                    "secretStoreRef": {"name": "s"},
                    "data": [{"sourceRef": {"storeRef": {"name": "other", "kind": "SecretStore"}}}],
                    "dataFrom": [{"sourceRef": {"storeRef": {"name": "all", "kind": "ClusterSecretStore"}}}],
                },
            ),
            [],
            ["SecretStore/other?", "SecretStore/s?"],
        ),
        (
            obj(
                "external-secrets.io/v1",
                "SecretStore",
                {
                    "provider": {
                        "aws": {"auth": {"jwt": {"serviceAccountRef": {"name": "robot"}}}},
                        "vault": {"auth": {"tokenSecretRef": {"name": "token", "key": "t"}}},
                        "other": {"auth": {"secretRef": {"accessKeyIDSecretRef": {"name": "keys", "key": "a"}}}},
                    }
                },
            ),
            [],
            ["Secret/keys?", "Secret/token?", "ServiceAccount/robot?"],
        ),
        (obj("external-secrets.io/v1", "PushSecret", {"selector": {"secret": {"name": "s"}}}), ["Secret/s"], []),
        (
            obj(
                "external-secrets.io/v1",
                "ExternalSecret",
                {
                    "dataFrom": [
                        {"sourceRef": {"generatorRef": {"kind": "ECRAuthorizationToken", "name": "registry"}}},
                        {"sourceRef": {"generatorRef": {"kind": "ClusterGenerator", "name": "all"}}},
                    ],
                },
            ),
            [],
            ["ECRAuthorizationToken/registry?"],
        ),
        (
            obj(
                "generators.external-secrets.io/v1alpha1",
                "ECRAuthorizationToken",
                {"auth": {"jwt": {"serviceAccountRef": {"name": "robot"}}}},
            ),
            [],
            ["ServiceAccount/robot?"],
        ),
        (obj(VAULT, "VaultStaticSecret", {**MADE, "vaultAuthRef": "a"}), [], ["VaultAuth/a?"]),
        (obj(VAULT, "VaultPKISecret", {**MADE, "vaultAuthRef": "team/a"}), [], ["VaultAuth/a?"]),
        (obj(VAULT, "VaultDynamicSecret", {**MADE, "vaultAuthRef": "far/a"}), [], []),
        (obj(VAULT, "VaultStaticSecret", {"destination": {"name": "s"}}), ["Secret/s"], []),  # somebody else makes it
        (
            obj(
                VAULT,
                "VaultAuth",
                {
                    "vaultConnectionRef": "c",
                    "method": "kubernetes",
                    "kubernetes": {"role": "r", "serviceAccount": "robot"},
                    "appRole": {"secretRef": "id"},
                    "aws": {"irsaServiceAccount": "irsa", "secretRef": "keys"},
                    "gcp": {"workloadIdentityServiceAccount": "wif"},
                    "allowedNamespaces": ["far"],
                },
            ),
            [],
            [
                *("Secret/id?", "Secret/keys?", "ServiceAccount/irsa?", "ServiceAccount/robot?", "ServiceAccount/wif?"),
                "VaultConnection/c?",
            ],
        ),
        (obj(VAULT, "VaultConnection", {"address": "x", "caCertSecretRef": "ca"}), [], ["Secret/ca?"]),
        (obj(ISTIO, "EnvoyFilter", {"targetRefs": [HEAD_TO]}), ["Gateway/gw"], []),
        (
            obj(
                "keda.sh/v1alpha1",
                "ScaledObject",
                {
                    "scaleTargetRef": {"name": "web"},
                    "triggers": [{"authenticationRef": {"name": "t"}}, {"type": "cpu"}],
                },
            ),
            ["Deployment/web"],
            ["TriggerAuthentication/t?"],
        ),
        (
            obj("keda.sh/v1alpha1", "TriggerAuthentication", {"secretTargetRef": [{"name": "s", "key": "k"}]}),
            [],
            ["Secret/s"],
        ),
    ],
)
def test_what_other_projects_bring_says_whom_it_is_for(
    value: dict[str, Any], points_at: list[str], needs: list[str]
) -> None:
    found = facts(value)
    assert not found.sized and not found.gang
    assert sorted(names(found.points_at)) == points_at
    assert sorted(names(found.needs)) == sorted(needs)


@pytest.mark.parametrize("key", companions.READERS, ids="/".join)
def test_what_is_read_of_other_projects_is_known_to_have_a_namespace_and_may_be_declared(key: tuple[str, str]) -> None:
    assert is_known_namespaced(*key)
    assert not workloads.is_read_by_code(key)


@pytest.mark.parametrize(
    ("value", "provides"),
    [
        (
            obj("secrets-store.csi.x-k8s.io/v1", "SecretProviderClass", {"secretObjects": [{"secretName": "s"}]}),
            ["Secret/s"],
        ),
        (obj(VAULT, "VaultStaticSecret", MADE), ["Secret/s"]),
        (obj(VAULT, "VaultDynamicSecret", MADE), ["Secret/s"]),
        (obj(VAULT, "VaultPKISecret", MADE), ["Secret/s"]),
        (obj(VAULT, "VaultStaticSecret", {"destination": {"name": "s", "create": False}}), []),
        (obj("onepassword.com/v1", "OnePasswordItem", {"itemPath": "vaults/a/items/b"}), ["Secret/x"]),
        (
            obj(
                "secrets.infisical.com/v1alpha1",
                "InfisicalSecret",
                {
                    "managedSecretReference": {"secretName": "old", "secretNamespace": "team"},
                    "managedKubeSecretReferences": [
                        {"secretName": "s", "secretNamespace": "team"},
                        {"secretName": "t", "secretNamespace": "far"},
                    ],
                },
            ),
            ["Secret/old", "Secret/s"],
        ),
        (obj(DOPPLER, "DopplerSecret", {"managedSecret": {"name": "s"}}), ["Secret/s"]),
        (obj(DOPPLER, "DopplerSecret", {"managedSecret": {"name": "s", "namespace": "team"}}), ["Secret/s"]),
        (obj(DOPPLER, "DopplerSecret", {"managedSecret": {"name": "s", "namespace": "far"}}), []),
        (obj("k8s.bitwarden.com/v1", "BitwardenSecret", {"secretName": "s"}), ["Secret/s"]),
        (obj("spv.no/v2beta1", "AzureKeyVaultSecret", {"output": {"secret": {"name": "s"}}}), ["Secret/s"]),
        (obj("spv.no/v2beta1", "AzureKeyVaultSecret", {"output": {"configMap": {"name": "s"}}}), ["ConfigMap/s"]),
        (obj(SOPS, "SopsSecret", {"secretTemplates": [{"name": "s"}, {"name": "t"}]}), ["Secret/s", "Secret/t"]),
        (obj(SOPS, "SopsSecret", {"secretTemplates": [{"name": "ENC[AES256_GCM,data:x]"}]}), []),
        (obj("kafka.strimzi.io/v1beta2", "KafkaUser", {"authentication": {"type": "tls"}}), ["Secret/x"]),
        (obj("objectbucket.io/v1alpha1", "ObjectBucketClaim", {}), ["ConfigMap/x", "Secret/x"]),
    ],
)
def test_what_brings_secrets_of_a_vault_makes_those_that_it_is_asked_for(
    value: dict[str, Any], provides: list[str]
) -> None:
    assert names(facts(value).provides) == provides


@pytest.mark.parametrize(
    ("value", "needs"),
    [
        (obj(DOPPLER, "DopplerSecret", {"tokenSecret": {"name": "t"}}), ["Secret/t?"]),
        (obj(DOPPLER, "DopplerSecret", {"tokenSecret": {"name": "t", "namespace": "far"}}), []),
        (obj("k8s.bitwarden.com/v1", "BitwardenSecret", {"authToken": {"secretName": "t"}}), ["Secret/t?"]),
        (obj("objectbucket.io/v1alpha1", "ObjectBucketClaim", {"storageClassName": "ceph"}), ["StorageClass/ceph"]),
    ],
)
def test_what_makes_a_secret_takes_along_how_it_gets_in(value: dict[str, Any], needs: list[str]) -> None:
    assert names(facts(value).needs) == needs


@pytest.mark.parametrize(
    ("annotations", "makes"),
    [
        ({"cert-manager.io/issuer": "ours"}, True),
        ({"cert-manager.io/cluster-issuer": "theirs"}, True),
        ({}, False),
    ],
)
def test_certificates_of_a_gateway_are_made_where_cert_manager_is_asked_to(
    annotations: dict[str, str], makes: bool
) -> None:
    listeners = [{"tls": {"certificateRefs": [{"name": "t"}, {"name": "far", "namespace": "other"}]}}]
    gateway = obj("gateway.networking.k8s.io/v1", "Gateway", {"listeners": listeners})
    gateway["metadata"] |= {"namespace": "team", "annotations": annotations}
    found = facts(gateway)
    assert names(found.provides) == ["Secret/t"] * makes
    assert names(found.needs) == (["Issuer/ours?"] * ("ours" in annotations.values()) if makes else ["Secret/t"])


def test_a_middleware_is_found_however_its_namespace_and_its_name_are_parted() -> None:
    named = {"traefik.ingress.kubernetes.io/router.middlewares": "ml-team-strip-path@kubernetescrd"}
    found = facts(obj("networking.k8s.io/v1", "Ingress", {}, metadata={"annotations": named})).needs
    assert ("ml-team", "strip-path") in {(each.namespace, each.name) for each in found}
    assert all(each.optional and each.namespace for each in found)


@pytest.mark.parametrize(
    ("api_version", "kind", "key"),
    [
        ("monitoring.coreos.com/v1", "PodMonitor", "podMetricsEndpoints"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", "endpoints"),
        ("operator.victoriametrics.com/v1beta1", "VMPodScrape", "podMetricsEndpoints"),
        ("operator.victoriametrics.com/v1beta1", "VMServiceScrape", "endpoints"),
    ],
)
def test_a_monitor_needs_the_secrets_by_which_it_asks(api_version: str, kind: str, key: str) -> None:
    basic = {"username": {"name": "who", "key": "u"}, "password": {"name": "who", "key": "p"}}
    tls = {"ca": {"configMap": {"name": "ca"}}, "cert": {"secret": {"name": "cert"}}, "keySecret": {"name": "key"}}
    oauth = {"clientId": {"secret": {"name": "id"}}, "clientSecret": {"name": "id"}}
    token = {"credentials": {"name": "token", "optional": True}}
    endpoints = [{"port": "metrics", "basicAuth": basic, "tlsConfig": tls}, {"oauth2": oauth, "authorization": token}]
    found = facts(obj(api_version, kind, {"selector": {"matchLabels": {"a": "b"}}, key: endpoints}))
    assert names(found.needs) == [
        "ConfigMap/ca",
        "Secret/cert",
        "Secret/id",
        "Secret/key",
        "Secret/token?",
        "Secret/who",
    ]
    assert found.selects or found.picks


def test_an_autoscaler_points_at_its_target_by_api_group() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    [found] = facts(obj("autoscaling/v2", "HorizontalPodAutoscaler", {"scaleTargetRef": target})).points_at
    assert found == Reference("apps", "Deployment", "web")


VICTORIA = "operator.victoriametrics.com/v1beta1"
WEB = Requirement("app", "In", ("web",))
TIER = {"key": "tier", "operator": "Exists"}


@pytest.mark.parametrize(
    ("value", "selects"),
    [
        (obj("v1", "Service", {"selector": {"app": "web", "tier": "a"}}), [(WEB, Requirement("tier", "In", ("a",)))]),
        (obj("v1", "Service", {"type": "ExternalName"}), []),
        (
            obj(
                "policy/v1",
                "PodDisruptionBudget",
                {"selector": {"matchLabels": {"app": "web"}, "matchExpressions": [TIER]}},
            ),
            [(WEB, Requirement("tier", "Exists"))],
        ),
        (obj("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {"matchLabels": {"app": "web"}}}), [(WEB,)]),
        (obj("networking.k8s.io/v1", "NetworkPolicy", {"podSelector": {}}), []),  # a rule for the whole namespace
        (obj("monitoring.coreos.com/v1", "PodMonitor", {"selector": {"matchLabels": {"app": "web"}}}), [(WEB,)]),
        (
            obj(
                "monitoring.coreos.com/v1",
                "PodMonitor",
                {"selector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {"any": True}},
            ),
            [],
        ),
        (obj("security.istio.io/v1", "PeerAuthentication", {"selector": {"matchLabels": {"app": "web"}}}), [(WEB,)]),
        (obj("security.istio.io/v1", "PeerAuthentication", {"mtls": {"mode": "STRICT"}}), []),  # of the whole namespace
        (
            obj("inference.networking.k8s.io/v1", "InferencePool", {"selector": {"matchLabels": {"app": "web"}}}),
            [(WEB,)],
        ),
        (obj("inference.networking.x-k8s.io/v1alpha2", "InferencePool", {"selector": {"app": "web"}}), [(WEB,)]),
        (
            obj("cilium.io/v2", "CiliumNetworkPolicy", {"endpointSelector": {"matchLabels": {"k8s:app": "web"}}}),
            [(WEB,)],
        ),
        (
            obj("cilium.io/v2", "CiliumNetworkPolicy", specs=[{"endpointSelector": {"matchLabels": {"app": "web"}}}]),
            [(WEB,)],
        ),
        (
            obj(
                "autoscaling.gke.io/v1beta1",
                "AutoscalingMetric",
                {"metrics": [{"pod": {"selector": {"matchLabels": {"app": "web"}}}}, {"promql": {"name": "q"}}]},
            ),
            [(WEB,)],
        ),
        (obj("telemetry.istio.io/v1", "Telemetry", {"selector": {"matchLabels": {"app": "web"}}}), [(WEB,)]),
        (obj(ISTIO, "Sidecar", {"workloadSelector": {"labels": {"app": "web"}}}), [(WEB,)]),
        (obj(ISTIO, "EnvoyFilter", {"workloadSelector": {"labels": {"app": "web"}}}), [(WEB,)]),
        (obj(ISTIO, "EnvoyFilter", {}), []),  # for the proxies of the whole namespace
        (obj(VICTORIA, "VMPodScrape", {"selector": {"matchLabels": {"app": "web"}}}), [(WEB,)]),
        (
            obj(
                "vpcresources.k8s.aws/v1beta1", "SecurityGroupPolicy", {"podSelector": {"matchLabels": {"app": "web"}}}
            ),
            [(WEB,)],
        ),
    ],
)
def test_selectors_pick_pods_by_label(value: dict[str, Any], selects: list[tuple[Requirement, ...]]) -> None:
    assert list(facts(value).selects) == selects


@pytest.mark.parametrize(
    ("spec", "picks", "looks_at"),
    [
        ({"selector": {"matchLabels": {"app": "web"}}}, [(WEB,)], ()),
        ({"selector": {"matchExpressions": [TIER]}}, [(Requirement("tier", "Exists"),)], ()),
        ({"selector": {}}, [], ()),  # all of the namespace
        ({"selector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {"matchNames": ["y"]}}, [(WEB,)], ("y",)),
        ({"selector": {"matchLabels": {"app": "web"}}, "namespaceSelector": {"any": True}}, [], ()),
    ],
)
@pytest.mark.parametrize(
    ("version", "kind"), [("monitoring.coreos.com/v1", "ServiceMonitor"), (VICTORIA, "VMServiceScrape")]
)
def test_a_service_monitor_picks_services_and_no_pods(
    version: str, kind: str, spec: dict[str, Any], picks: list[tuple[Requirement, ...]], looks_at: tuple[str, ...]
) -> None:
    found = facts(obj(version, kind, spec))
    assert (list(found.picks), found.selects, found.looks_at) == (picks, (), looks_at)


@given(
    groups=st.lists(st.integers(0, 2**70), min_size=1, max_size=200),
    picked=st.lists(st.integers(0, 199), max_size=200, unique=True),
)
def test_the_groups_behind_some_objects_are_those_behind_each(groups: list[int], picked: list[int]) -> None:
    there = [place for place in picked if place < len(groups)]
    found = Behind(groups)
    assert found.of(mask_of(sorted(there))) == reduce(or_, (groups[place] for place in there), 0)
    assert found.of((1 << len(groups)) - 1) == reduce(or_, groups)


def test_a_table_has_a_row_for_each_sized_kind() -> None:
    assert sorted(f"{group}/{kind}" for group, kind in workloads.KINDS) == [
        "/Pod",
        "apps/DaemonSet",
        "apps/Deployment",
        "apps/ReplicaSet",
        "apps/StatefulSet",
        "batch/CronJob",
        "batch/Job",
        "ray.io/RayCluster",
        "ray.io/RayCronJob",
        "ray.io/RayJob",
        "ray.io/RayService",
    ]
    assert all(key == (row.api_group, row.kind) for key, row in workloads.KINDS.items())
