"""
What other projects bring beside an app: routes and rules of meshes and gateways, monitors, and what makes or guards secrets.

Like the kinds of `pointers` they become no pods and travel with the app that they are for. Unlike those they may be declared by a user,
who may know better; then this is not asked. What a kind only names, and what may as well be there for all, such as an Issuer, a SecretStore or a
Gateway, goes along where the source has it and is not missed where it has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import structs

from gitplacer.documents import Cursor
from gitplacer.workloads import devices, provisioning, traefik, vaults
from gitplacer.workloads.addresses import own_service
from gitplacer.workloads.facts import LabelSelector, ObjectFacts, Reference, distinct
from gitplacer.workloads.podtemplate import env_needs, named
from gitplacer.workloads.pointing import attachment, label_selector, local, plain_selector, selecting, selects
from gitplacer.workloads.vaults import optional

_CERT_MANAGER = "cert-manager.io"
_GATEWAY = "gateway.networking.k8s.io"
_ISTIO = "networking.istio.io"
_GKE = "cloud.google.com"
_INFERENCE = "inference.networking.k8s.io"
_INFERENCE_X = "inference.networking.x-k8s.io"
_VICTORIA_METRICS = "operator.victoriametrics.com"

# Meshes and gateways


def _virtual_service(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    rules = [rule for protocol in ("http", "tls", "tcp") for rule in spec.items(protocol)]
    destinations = [route.mapping("destination") for rule in rules for route in rule.items("route")]
    for rule in rules:
        destinations += [rule.mapping("mirror"), *(each.mapping("destination") for each in rule.items("mirrors"))]
    return ObjectFacts(
        points_at=distinct(found for each in destinations for found in own_service(root, each, "host")),
        needs=distinct(_gateways_of_istio(root, spec)),
    )


def _gateways_of_istio(root: Cursor, spec: Cursor) -> Iterator[Reference]:
    """`mesh` stands for all of the mesh; `namespace/name` may be elsewhere."""
    own = root.mapping("metadata").text("namespace")
    for index, written in enumerate(spec.texts("gateways")):
        namespace, _, name = written.rpartition("/")
        if name and name != "mesh" and (not own or namespace in ("", own)):
            elsewhere = "" if namespace == own else namespace
            path = (*spec.path, "gateways", index)
            yield Reference(_ISTIO, "Gateway", name, optional=True, namespace=elsewhere, path=path)


def _destination_rule(root: Cursor) -> ObjectFacts:
    return ObjectFacts(points_at=distinct(own_service(root, root.mapping("spec"), "host")))


def _rule_of_a_mesh(root: Cursor) -> ObjectFacts:
    """With neither selector nor target it is for the whole namespace."""
    spec = root.mapping("spec")
    return ObjectFacts(
        selects=selects(label_selector(spec.mapping("selector"))), points_at=attachment(root), watches=True
    )


def _proxies(root: Cursor) -> ObjectFacts:
    """With neither selector nor target it is for the proxies of the whole namespace."""
    spec = root.mapping("spec")
    chosen = plain_selector(spec.mapping("workloadSelector"), "labels")
    return ObjectFacts(selects=selects(chosen), points_at=attachment(root), watches=True)


def _attached(root: Cursor, named: Iterable[Cursor] = (), kind: str = "Secret") -> ObjectFacts:
    """A policy of the Gateway API; what it needs is `named` by references, of a kind where these tell none."""
    needs = distinct(found for each in named for found in local(root, each, kind))
    return ObjectFacts(points_at=attachment(root), needs=needs, watches=True)


def _tls_of_backend(root: Cursor) -> ObjectFacts:
    """Whom a Gateway believes to be the backend stands in ConfigMaps, or Secrets; it sends nothing there while one is not to be had."""
    return _attached(root, root.mapping("spec").mapping("validation").items("caCertificateRefs"), "ConfigMap")


def _security_policy(root: Cursor) -> ObjectFacts:
    """The Secrets with who may come in; without them Envoy Gateway lets nobody in."""
    spec = root.mapping("spec")
    single = (spec.mapping("basicAuth").mapping("users"), spec.mapping("oidc").mapping("clientSecret"))
    return _attached(root, (*spec.mapping("apiKeyAuth").items("credentialRefs"), *single))


def _client_policy(root: Cursor) -> ObjectFacts:
    """By whom the certificates of clients have to be signed."""
    return _attached(root, root.mapping("spec").mapping("tls").mapping("clientValidation").items("caCertificateRefs"))


def _http_proxy(root: Cursor) -> ObjectFacts:
    """A Secret of another namespace is `namespace/name`."""
    spec = root.mapping("spec")
    owners = [*spec.items("routes"), spec.mapping("tcpproxy")]
    certificate = spec.mapping("virtualhost").mapping("tls")
    return ObjectFacts(
        points_at=distinct(
            found for owner in owners for service in owner.items("services") for found in named(service, "Service")
        ),
        needs=() if "/" in certificate.text("secretName") else distinct(named(certificate, "Secret", "secretName")),
    )


def _inference_pool(root: Cursor) -> ObjectFacts:
    """
    A selector has `matchLabels`; before v1 it was labels and nothing else. Gateways ask a Service which of the pods it picks shall have a request.
    """
    spec = root.mapping("spec")
    selector = spec.mapping("selector")
    plain = not any(isinstance(value, dict | list) for value in selector.value.values())
    pickers = (spec.mapping("endpointPickerRef"), spec.mapping("extensionRef"))  # the second before v1
    return ObjectFacts(
        selects=selects(plain_selector(spec, "selector") if plain else label_selector(selector)),
        needs=distinct(found for each in pickers for found in local(root, each, "Service")),
    )


def _of_a_pool(default_group: str) -> Callable[[Cursor], ObjectFacts]:
    """What says how requests to an InferencePool count among each other."""

    def read(root: Cursor) -> ObjectFacts:
        pool = root.mapping("spec").mapping("poolRef")
        return ObjectFacts(points_at=distinct(local(root, pool, "InferencePool", default_group)))

    return read


def _cilium_policy(root: Cursor) -> ObjectFacts:
    """Labels may say their source before a colon; it is Kubernetes' where it says none."""
    selectors = [spec.mapping("endpointSelector") for spec in (root.mapping("spec"), *root.items("specs"))]
    return ObjectFacts(selects=selects(*map(_endpoints, selectors)), watches=True)


def _endpoints(selector: Cursor) -> LabelSelector:
    return tuple(
        structs.replace(each, key=each.key.removeprefix("k8s:").removeprefix("any:"))
        for each in label_selector(selector)
    )


def _backend_config(root: Cursor) -> ObjectFacts:
    iap = root.mapping("spec").mapping("iap").mapping("oauthclientCredentials")
    return ObjectFacts(needs=distinct(named(iap, "Secret", "secretName")))


# Secrets


def issuer_of(spec: Cursor) -> Iterator[Reference]:
    """The Issuer of a Certificate; a ClusterIssuer is none of a namespace."""
    issuer = spec.mapping("issuerRef")
    if issuer.text("kind", "Issuer") == "Issuer" and issuer.text("group", _CERT_MANAGER) == _CERT_MANAGER:
        yield from optional(named(issuer, "Issuer", api_group=_CERT_MANAGER))


def _issuer(root: Cursor) -> ObjectFacts:
    """One that signs with a certificate of its own needs that."""
    return ObjectFacts(needs=distinct(named(root.mapping("spec").mapping("ca"), "Secret", "secretName")))


def _push_secret(root: Cursor) -> ObjectFacts:
    pushed = root.mapping("spec").mapping("selector").mapping("secret")
    return ObjectFacts(points_at=distinct(named(pushed, "Secret")), watches=True)


def _secret_provider(root: Cursor) -> ObjectFacts:
    """It makes a Secret too, where somebody asks for one; otherwise pods have what it brings as files."""
    objects = root.mapping("spec").items("secretObjects")
    return ObjectFacts(provides=distinct(found for each in objects for found in named(each, "Secret", "secretName")))


def _nim_cache(root: Cursor) -> ObjectFacts:
    """NVIDIA's NIM Operator loads a model into a claim, from one of three sources, before the NIMServices that name it have pods."""
    spec = root.mapping("spec")
    sources = [spec.mapping("source").mapping(key) for key in ("ngc", "dataStore", "hf")]
    secrets = [
        found for each in sources for key in ("authSecret", "pullSecret") for found in named(each, "Secret", key)
    ]
    claim = optional(
        named(spec.mapping("storage").mapping("pvc"), "PersistentVolumeClaim")
    )  # or the operator makes one
    return ObjectFacts(needs=distinct([*secrets, *claim, *env_needs(spec)]))


# Monitors


def pod_monitor(root: Cursor) -> ObjectFacts:
    """With a namespaceSelector it may look at other namespaces, or at all."""
    spaces = root.mapping("spec").mapping("namespaceSelector")
    if spaces.boolean("any"):
        return ObjectFacts()
    found = selecting("selector", watches=True)(root)
    keys = distinct(_keys_of_scraping(root.mapping("spec").items("podMetricsEndpoints")))
    return found.but(looks_at=spaces.texts("matchNames"), needs=keys)


def _service_monitor(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    spaces = spec.mapping("namespaceSelector")
    if spaces.boolean("any"):
        return ObjectFacts()
    picks, keys = selects(label_selector(spec.mapping("selector"))), _keys_of_scraping(spec.items("endpoints"))
    return ObjectFacts(picks=picks, watches=True, looks_at=spaces.texts("matchNames"), needs=distinct(keys))


def _keys_of_scraping(endpoints: list[Cursor]) -> Iterator[Reference]:
    """The Secrets and ConfigMaps by which metrics are asked for; an operator passes over a monitor that lacks one."""
    for endpoint in endpoints:
        basic, oauth, tls = (endpoint.mapping(key) for key in ("basicAuth", "oauth2", "tlsConfig"))
        token = endpoint.mapping("authorization").mapping("credentials")
        secrets = (basic.mapping("username"), basic.mapping("password"), token, endpoint.mapping("bearerTokenSecret"))
        for secret in (*secrets, oauth.mapping("clientSecret"), tls.mapping("keySecret")):
            yield from named(secret, "Secret")
        for either in (oauth.mapping("clientId"), tls.mapping("ca"), tls.mapping("cert")):
            yield from named(either.mapping("secret"), "Secret")
            yield from named(either.mapping("configMap"), "ConfigMap")


# Autoscalers


def _autoscaling_metric(root: Cursor) -> ObjectFacts:
    """A number that GKE asks pods for, by which others are scaled, and requests are spread."""
    pods = [metric.mapping("pod") for metric in root.mapping("spec").items("metrics")]
    return ObjectFacts(selects=selects(*(label_selector(pod.mapping("selector")) for pod in pods)), watches=True)


def _trigger_authentication(root: Cursor) -> ObjectFacts:
    spec = root.mapping("spec")
    return ObjectFacts(
        needs=distinct(
            found
            for key, kind in (("secretTargetRef", "Secret"), ("configMapTargetRef", "ConfigMap"))
            for each in spec.items(key)
            for found in named(each, kind)
        )
    )


def authentication_of(spec: Cursor) -> Iterator[Reference]:
    """The TriggerAuthentications of a ScaledObject."""
    for trigger in spec.items("triggers"):
        found = trigger.mapping("authenticationRef")
        if found.text("kind", "TriggerAuthentication") == "TriggerAuthentication":
            yield from optional(named(found, "TriggerAuthentication", api_group="keda.sh"))


_ENVOY = "gateway.envoyproxy.io"
READERS: Mapping[tuple[str, str], Callable[[Cursor], ObjectFacts]] = {
    (provisioning.API_GROUP, provisioning.KIND): provisioning.read,
    ("apps.nvidia.com", "NIMCache"): _nim_cache,
    ("autoscaling.gke.io", "AutoscalingMetric"): _autoscaling_metric,
    (_CERT_MANAGER, "Issuer"): _issuer,
    ("cilium.io", "CiliumNetworkPolicy"): _cilium_policy,
    (_GKE, "BackendConfig"): _backend_config,
    ("external-secrets.io", "PushSecret"): _push_secret,
    (_ENVOY, "BackendTrafficPolicy"): _attached,
    (_ENVOY, "ClientTrafficPolicy"): _client_policy,
    (_ENVOY, "EnvoyExtensionPolicy"): _attached,
    (_ENVOY, "SecurityPolicy"): _security_policy,
    (_GATEWAY, "BackendTLSPolicy"): _tls_of_backend,
    (_INFERENCE, "InferencePool"): _inference_pool,
    (_INFERENCE_X, "InferenceModel"): _of_a_pool(_INFERENCE_X),
    (_INFERENCE_X, "InferenceObjective"): _of_a_pool(_INFERENCE),
    (_INFERENCE_X, "InferencePool"): _inference_pool,
    ("keda.sh", "TriggerAuthentication"): _trigger_authentication,
    ("monitoring.coreos.com", "ServiceMonitor"): _service_monitor,
    ("networking.gke.io", "GCPGatewayPolicy"): _attached,
    (_ISTIO, "DestinationRule"): _destination_rule,
    (_ISTIO, "EnvoyFilter"): _proxies,
    (_ISTIO, "Sidecar"): _proxies,
    (_ISTIO, "VirtualService"): _virtual_service,
    (_VICTORIA_METRICS, "VMPodScrape"): pod_monitor,
    (_VICTORIA_METRICS, "VMServiceScrape"): _service_monitor,
    ("projectcontour.io", "HTTPProxy"): _http_proxy,
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"): _secret_provider,
    ("security.istio.io", "AuthorizationPolicy"): _rule_of_a_mesh,
    ("security.istio.io", "PeerAuthentication"): _rule_of_a_mesh,
    ("security.istio.io", "RequestAuthentication"): _rule_of_a_mesh,
    ("telemetry.istio.io", "Telemetry"): _rule_of_a_mesh,
    ("vpcresources.k8s.aws", "SecurityGroupPolicy"): selecting("podSelector", watches=True),
    devices.DOMAIN: devices.read_domain,
    **traefik.READERS,
    **vaults.READERS,
}
"""(API group, kind) to its reader."""
