"""
What a Service, an Ingress or a Gateway names in its annotations, where a controller looks for what the object has no field for.

A Secret with who may come in is missed where nobody brings it: the controller then lets nobody in. All else goes along where the source has it, and is not
missed where it has not, since it may as well be there for all.
Sources: GKE (Ingress configuration), ingress-nginx (annotations), those of F5, of HAProxy Technologies and of haproxy-ingress, Traefik (`router.middlewares`, each
`<namespace>-<name>@kubernetescrd`), Kong (`konghq.com/plugins`), and cert-manager (its annotated Ingress, and its annotated Gateway).
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.documents.parse import load
from gitplacer.workloads.facts import Reference
from gitplacer.workloads.podtemplate import named
from gitplacer.workloads.vaults import optional

_GKE = "cloud.google.com"
BACKEND_CONFIG = "cloud.google.com/backend-config"
"""The annotation of a Service that names the BackendConfigs of its ports, as JSON."""
FRONTEND_CONFIG = "networking.gke.io/v1beta1.FrontendConfig"
MANAGED_CERTIFICATES = "networking.gke.io/managed-certificates"
"""Annotations of an Ingress by which GKE finds what is beside it."""
SECRETS = (
    "haproxy-ingress.github.io/auth-secret",
    "haproxy.org/auth-secret",
    "ingress.kubernetes.io/auth-secret",
    "nginx.ingress.kubernetes.io/auth-secret",
    "nginx.ingress.kubernetes.io/auth-tls-secret",
    "nginx.ingress.kubernetes.io/proxy-ssl-secret",
    "nginx.org/basic-auth-secret",
)
"""Annotations of an Ingress that name a Secret, `name` or `namespace/name`."""
MIDDLEWARES = "traefik.ingress.kubernetes.io/router.middlewares"
_OF_KUBERNETES = "@kubernetescrd"
_TRAEFIK = ("traefik.io", "traefik.containo.us")
PLUGINS = "konghq.com/plugins"
_ISSUER = "cert-manager.io/issuer"
_ISSUED = ("cert-manager.io/cluster-issuer", _ISSUER, "kubernetes.io/tls-acme")
"""Annotations of an Ingress or a Gateway by which cert-manager makes the Secrets that it names."""


def is_issued(annotations: Cursor) -> bool:
    """Whether cert-manager makes the certificates of an Ingress or a Gateway."""
    return any(annotations.has(key) for key in _ISSUED)


def beside_service(annotations: Cursor) -> Iterator[Reference]:
    """The BackendConfigs that a Service of GKE names, and the plugins of Kong."""
    yield from _plugins(annotations)
    text = annotations.text(BACKEND_CONFIG)
    documents, _ = load(text) if text else ([], [])
    written = documents[0].value if documents and documents[0].sound else None
    if not isinstance(written, dict):
        return
    ports = written.get("ports")
    for name in (written.get("default"), *(ports.values() if isinstance(ports, dict) else ())):
        if isinstance(name, str) and name:
            path = (*annotations.path, BACKEND_CONFIG)
            yield Reference(_GKE, "BackendConfig", name, optional=True, path=path)


def beside_ingress(root: Cursor, annotations: Cursor) -> Iterator[Reference]:
    """What guards an Ingress, changes what goes through it, and certifies it."""
    yield from optional(named(annotations, "FrontendConfig", FRONTEND_CONFIG, api_group="networking.gke.io"))
    for name in annotations.text(MANAGED_CERTIFICATES).split(","):
        if name.strip():
            path = (*annotations.path, MANAGED_CERTIFICATES)
            yield Reference("networking.gke.io", "ManagedCertificate", name.strip(), optional=True, path=path)
    yield from _secrets(root, annotations)
    yield from _middlewares(annotations)
    yield from _plugins(annotations)
    yield from beside_gateway(annotations)


def beside_gateway(annotations: Cursor) -> Iterator[Reference]:
    """The Issuer that certifies an Ingress or a Gateway; a ClusterIssuer is none of a namespace."""
    yield from optional(named(annotations, "Issuer", _ISSUER, api_group="cert-manager.io"))


def _secrets(root: Cursor, annotations: Cursor) -> Iterator[Reference]:
    own = root.mapping("metadata").text("namespace")
    for key in SECRETS:
        namespace, _, name = annotations.text(key).rpartition("/")
        if name:
            elsewhere = "" if namespace == own else namespace
            yield Reference("", "Secret", name, namespace=elsewhere, path=(*annotations.path, key))


def _middlewares(annotations: Cursor) -> Iterator[Reference]:
    """A namespace and a name may both have hyphens: each way to part them is one that may be meant."""
    for written in annotations.text(MIDDLEWARES).split(","):
        words = written.strip().removesuffix(_OF_KUBERNETES).split("-")
        for place in range(1, len(words)) if written.strip().endswith(_OF_KUBERNETES) else ():
            namespace, name = "-".join(words[:place]), "-".join(words[place:])
            for group in _TRAEFIK:
                path = (*annotations.path, MIDDLEWARES)
                yield Reference(group, "Middleware", name, optional=True, namespace=namespace, path=path)


def _plugins(annotations: Cursor) -> Iterator[Reference]:
    for name in annotations.text(PLUGINS).split(","):
        if name.strip():
            path = (*annotations.path, PLUGINS)
            yield Reference("configuration.konghq.com", "KongPlugin", name.strip(), optional=True, path=path)
