"""
Objects that become no pods: what they point at, what they select, what they need.

They travel with the group they belong to, and this is how they are found to belong to it. A kind that is not in the
table points at nothing; it can still be named by others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitplacer.documents import Cursor
from gitplacer.model.podrules import LabelPairs
from gitplacer.workloads import annotated, companions, devices, limitranges, priorityclasses, quotas, traefik, vaults
from gitplacer.workloads.claims import chosen_volume, claim_spec, single_node_claim, storage_class
from gitplacer.workloads.facts import Demand, ObjectFacts, Reference, Scale, at, distinct
from gitplacer.workloads.podtemplate import named
from gitplacer.workloads.pointing import attachment, local, plain_selector, selecting, selects, targeting
from gitplacer.workloads.scaling import whole

GATEWAY = "gateway.networking.k8s.io"
SEALING_KEY = "gitplacer.dev/sealing-key"
"""The annotation of a SealedSecret that says for which clusters it was sealed: their `profile.sealingKey`."""

_SERVING_CERTIFICATES = (
    "service.beta.openshift.io/serving-cert-secret-name",
    "service.alpha.openshift.io/serving-cert-secret-name",
)
"""Annotations of a Service by which OpenShift makes the Secret that they name."""


def _service(root: Cursor) -> ObjectFacts:
    annotations = root.mapping("metadata").mapping("annotations")
    return ObjectFacts(
        selects=selects(plain_selector(root.mapping("spec"), "selector")),
        services=(_written_labels(root),),
        provides=distinct(found for key in _SERVING_CERTIFICATES for found in named(annotations, "Secret", key)),
        needs=distinct(annotated.beside_service(annotations)),
    )


def _written_labels(root: Cursor) -> LabelPairs:
    """What is wrong with labels is told of all objects alike, wherever they are read."""
    labels = at(root.value, ("metadata", "labels"))
    written = labels.items() if isinstance(labels, Mapping) else ()
    return tuple(sorted((key, value) for key, value in written if isinstance(key, str) and isinstance(value, str)))


def _limit_range(root: Cursor) -> ObjectFacts:
    return ObjectFacts(limits=tuple(limitranges.read(root)))


def _resource_quota(root: Cursor) -> ObjectFacts:
    found = quotas.read(root, written=True)
    return ObjectFacts(quota=found if found.hard else None)


def _priority_class(root: Cursor) -> ObjectFacts:
    return ObjectFacts(priority_class=priorityclasses.read(root))


def _ingress(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    paths = [path for rule in spec.items("rules") for path in rule.mapping("http").items("paths")]
    backends = [spec.mapping("defaultBackend"), *(path.mapping("backend") for path in paths)]
    certificates = tuple(found for tls in spec.items("tls") for found in named(tls, "Secret", "secretName"))
    annotations = root.mapping("metadata").mapping("annotations")
    issued = annotated.is_issued(annotations)
    return ObjectFacts(
        provides=distinct(certificates) if issued else (),
        points_at=distinct(reference for backend in backends for reference in _ingress_backend(backend)),
        needs=distinct([*(() if issued else certificates), *annotated.beside_ingress(root, annotations)]),
    )


def _ingress_backend(backend: Cursor) -> Iterator[Reference]:
    yield from named(backend.mapping("service"), "Service")
    resource = backend.mapping("resource")
    if kind := resource.text("kind"):
        yield from named(resource, kind, api_group=resource.text("apiGroup"))


def _route(root: Cursor) -> ObjectFacts:
    """
    A route serves its backends. The Gateway it hangs on goes along where it is ours, and need not be; so does what a project has in the place of
    a filter.
    """
    spec = root.mapping("spec")
    rules = spec.items("rules")
    backends = [backend for rule in rules for backend in rule.items("backendRefs")]
    filters = [each for owner in (*rules, *backends) for each in owner.items("filters")]
    gateways = [gateway for parent in spec.items("parentRefs") for gateway in local(root, parent, "Gateway", GATEWAY)]
    extensions = [found for each in filters for found in local(root, each.mapping("extensionRef"), "")]
    return ObjectFacts(
        points_at=distinct(
            found for each in (*backends, *map(_mirrored, filters)) for found in local(root, each, "Service")
        ),
        needs=distinct(vaults.optional(iter([*gateways, *extensions]))),
    )


def _openshift_route(root: Cursor) -> ObjectFacts:
    """Its certificate may stand in a Secret; OpenShift rejects a Route that names one which is not there."""
    spec = root.mapping("spec")
    backends = [spec.mapping("to"), *spec.items("alternateBackends")]
    return ObjectFacts(
        points_at=distinct(
            found for backend in backends for found in named(backend, backend.text("kind") or "Service")
        ),
        needs=distinct(named(spec.mapping("tls").mapping("externalCertificate"), "Secret")),
    )


def _target_group(root: Cursor) -> ObjectFacts:
    return ObjectFacts(points_at=distinct(named(root.mapping("spec").mapping("serviceRef"), "Service")))


def _mirrored(rule_filter: Cursor) -> Cursor:
    return rule_filter.mapping("requestMirror").mapping("backendRef")


def _of_a_backend(root: Cursor) -> ObjectFacts:
    """How GKE's Gateways treat a backend, which is a Service, or an InferencePool."""
    return ObjectFacts(points_at=attachment(root, "Service"))


def _gateway(root: Cursor) -> ObjectFacts:
    listeners = root.mapping("spec").items("listeners")
    written = [item for listener in listeners for item in listener.mapping("tls").items("certificateRefs")]
    certificates = distinct(found for item in written for found in local(root, item, "Secret"))
    annotations = root.mapping("metadata").mapping("annotations")
    if not annotated.is_issued(annotations):
        return ObjectFacts(needs=certificates)
    return ObjectFacts(
        provides=tuple(found for found in certificates if not found.namespace),
        needs=distinct(annotated.beside_gateway(annotations)),
    )


def _service_account(root: Cursor) -> ObjectFacts:
    secrets = [*root.items("secrets"), *root.items("imagePullSecrets")]
    return ObjectFacts(needs=distinct(found for secret in secrets for found in named(secret, "Secret")))


def _role_binding(root: Cursor) -> ObjectFacts:
    role = root.mapping("roleRef")
    subjects = [item for item in root.items("subjects") if item.text("kind") == "ServiceAccount"]
    return ObjectFacts(
        points_at=distinct(found for item in subjects for found in local(root, item, "ServiceAccount")),
        needs=distinct(named(role, "Role", api_group="rbac.authorization.k8s.io"))
        if role.text("kind") == "Role"
        else (),
    )


def _claim(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    return ObjectFacts(
        needs=distinct([*storage_class(spec), *chosen_volume(spec), *_source_of_data(root, spec)]),
        singleton=single_node_claim(spec),
        volume=claim_spec(root),
    )


def _source_of_data(root: Cursor, spec: Cursor) -> Iterator[Reference]:
    """What a claim is filled from. `dataSourceRef` may be any object, also one of another namespace; the API server copies one to the other."""
    for source in (spec.mapping("dataSource"), spec.mapping("dataSourceRef")):
        if kind := source.text("kind"):
            for found in local(root, source, kind):
                yield replace(found, api_group=source.text("apiGroup"))


def _sealed_secret(root: Cursor) -> ObjectFacts:
    """The controller makes a Secret of the same name of it, with the one key that it was sealed for."""
    metadata = root.mapping("metadata")
    key = metadata.mapping("annotations").text(SEALING_KEY)
    demand = Demand("this SealedSecret", sealing_key=key, path=("metadata", "annotations", SEALING_KEY))
    return ObjectFacts(provides=distinct(named(metadata, "Secret")), demands=(demand,) if key else ())


def _external_secret(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    target = spec.mapping("target")
    return ObjectFacts(
        provides=distinct(named(target if target.text("name") else root.mapping("metadata"), "Secret")),
        needs=distinct(vaults.stores_of(spec)),
    )


def _certificate(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    return ObjectFacts(
        provides=distinct(named(spec, "Secret", "secretName")), needs=distinct(companions.issuer_of(spec))
    )


def _scaled_object(root: Cursor) -> ObjectFacts:
    facts = targeting("scaleTargetRef", "Deployment", "apps")(root)
    return facts.but(needs=distinct(companions.authentication_of(root.mapping("spec"))))


def autoscaler_scales(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    """
    The bounds of an object that scales another. One that may have none at all (KEDA's at rest) says so by its minimum;
    Kubernetes' own needs one pod at least, and has one where it does not say.
    """
    spec = value.get("spec")
    names = _BOUNDS.get(str(value.get("kind")))
    if names is None or not isinstance(spec, Mapping):
        return ()
    low, high, default_low, default_high, least = names
    return (
        Scale(
            "pod",
            minimum=default_low if (found := whole(spec.get(low))) is None else found,
            maximum=default_high if (found := whole(spec.get(high))) is None else found,
            minimum_path=("spec", low),
            maximum_path=("spec", high),
            scales_itself=True,
            least=least,
        ),
    )


_BOUNDS: Mapping[str, tuple[str, str, int, int | None, int]] = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas", 1, None, 1),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount", 0, 100, 0),
}
"""The fields of a kind that scales others: minimum and maximum, what they are by default, and the least there may be."""

READERS: Mapping[tuple[str, str], Callable[[Cursor], ObjectFacts]] = {
    ("", "LimitRange"): _limit_range,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "ResourceQuota"): _resource_quota,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
    ("bitnami.com", "SealedSecret"): _sealed_secret,
    ("cert-manager.io", "Certificate"): _certificate,
    ("elbv2.k8s.aws", "TargetGroupBinding"): _target_group,
    ("external-secrets.io", "ExternalSecret"): _external_secret,
    ("autoscaling", "HorizontalPodAutoscaler"): targeting("scaleTargetRef"),
    ("autoscaling.k8s.io", "VerticalPodAutoscaler"): targeting("targetRef"),
    (GATEWAY, "GRPCRoute"): _route,
    (GATEWAY, "Gateway"): _gateway,
    (GATEWAY, "HTTPRoute"): _route,
    (GATEWAY, "TCPRoute"): _route,
    (GATEWAY, "TLSRoute"): _route,
    (GATEWAY, "UDPRoute"): _route,
    ("keda.sh", "ScaledObject"): _scaled_object,
    ("monitoring.coreos.com", "PodMonitor"): companions.pod_monitor,
    ("monitoring.googleapis.com", "PodMonitoring"): selecting("selector", watches=True),
    ("networking.gke.io", "GCPBackendPolicy"): _of_a_backend,
    ("networking.gke.io", "GCPSessionAffinityPolicy"): _of_a_backend,
    ("networking.gke.io", "GCPTrafficDistributionPolicy"): _of_a_backend,
    ("networking.gke.io", "HealthCheckPolicy"): _of_a_backend,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): selecting("podSelector", watches=True),
    ("policy", "PodDisruptionBudget"): selecting("selector", watches=True),
    ("rbac.authorization.k8s.io", "RoleBinding"): _role_binding,
    ("resource.k8s.io", "ResourceClaimTemplate"): devices.read,
    ("route.openshift.io", "Route"): _openshift_route,
    (priorityclasses.API_GROUP, priorityclasses.KIND): _priority_class,
    **traefik.ROUTES,
}
"""(API group, kind) to its reader. All versions of a group look alike in what is read here."""
