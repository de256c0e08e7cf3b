"""
Traefik's own routes, and what stands between them and Services.

A route may lead to a TraefikService, which spreads requests over Services, or over others of its sort. Middlewares, and how Traefik speaks with a
backend, are kinds of their own for HTTP and for TCP. A name with an `@`, such as `api@internal`, is no object of any cluster.
Source: the CustomResourceDefinitions of traefik.io, v1alpha1; those of traefik.containo.us are the same under the older name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from gitplacer.documents import Cursor
from gitplacer.model.workload import api_group
from gitplacer.workloads.facts import ObjectFacts, Reference, distinct
from gitplacer.workloads.podtemplate import named
from gitplacer.workloads.pointing import local
from gitplacer.workloads.vaults import optional

GROUPS = ("traefik.io", "traefik.containo.us")


def route(protocol: str = "") -> Callable[[Cursor], ObjectFacts]:
    """Reads a route of HTTP, or of TCP or UDP, which is a part of the names of the kinds beside it."""

    def read(root: Cursor) -> ObjectFacts:
        spec, group = root.mapping("spec"), api_group(root.text("apiVersion"))
        routes = spec.items("routes")
        services = [service for each in routes for service in each.items("services")]
        beside = [found for each in routes for found in each.items("middlewares")]
        options = local(root, spec.mapping("tls").mapping("options"), "TLSOption", group)
        return ObjectFacts(
            points_at=distinct(_served(root, services)),
            needs=distinct(
                [
                    *named(spec.mapping("tls"), "Secret", "secretName"),
                    *optional(f for each in beside for f in local(root, each, f"Middleware{protocol}", group)),
                    *optional(_transports(services, f"ServersTransport{protocol}", group)),
                    *optional(options),
                ]
            ),
        )

    return read


def _served(root: Cursor, services: Iterable[Cursor]) -> Iterator[Reference]:
    group = api_group(root.text("apiVersion"))
    for service in services:
        own = service.text("kind") == "TraefikService"
        if own or service.text("kind") in ("", "Service"):
            found = local(root, service, "Service", group if own else "")
            yield from (each for each in found if "@" not in each.name)


def _transports(services: Iterable[Cursor], kind: str, group: str) -> Iterator[Reference]:
    """One of another namespace has that in its name, and an `@`."""
    found = (each for service in services for each in named(service, kind, "serversTransport", api_group=group))
    return (each for each in found if "@" not in each.name)


def _service(root: Cursor) -> ObjectFacts:
    spec, group = root.mapping("spec"), api_group(root.text("apiVersion"))
    spread = [each for key in ("weighted", "highestRandomWeight") for each in spec.mapping(key).items("services")]
    mirroring = spec.mapping("mirroring")
    services = [*spread, mirroring, *mirroring.items("mirrors")]
    transports = optional(_transports(services, "ServersTransport", group))
    return ObjectFacts(points_at=distinct(_served(root, services)), needs=distinct(transports))


def _middleware(root: Cursor) -> ObjectFacts:
    """Who may come in is a Secret; a chain is of others; a page for errors is some Service's."""
    spec = root.mapping("spec")
    group, chained = api_group(root.text("apiVersion")), spec.mapping("chain").items("middlewares")
    guards = [found for key in ("basicAuth", "digestAuth") for found in named(spec.mapping(key), "Secret", "secret")]
    calls = spec.mapping("forwardAuth").mapping("tls")
    trusted = [found for key in ("caSecret", "certSecret") for found in named(calls, "Secret", key)]
    others = optional(found for each in chained for found in local(root, each, "Middleware", group))
    return ObjectFacts(needs=distinct([*guards, *trusted, *others]))


def _transport(root: Cursor) -> ObjectFacts:
    """Whom Traefik believes to be the backend, and what it shows to it. For TCP it stands below `tls`."""
    spec = root.mapping("spec")
    return ObjectFacts(needs=distinct(found for each in (spec, spec.mapping("tls")) for found in _keys(each)))


def _keys(owner: Cursor) -> Iterator[Reference]:
    for key in ("rootCAsSecrets", "certificatesSecrets"):
        for place, name in enumerate(owner.texts(key)):
            yield Reference("", "Secret", name, path=(*owner.path, key, place))
    for authority in owner.items("rootCAs"):
        yield from named(authority, "Secret", "secret")
        yield from named(authority, "ConfigMap", "configMap")


_ROUTES = {"IngressRoute": route(), "IngressRouteTCP": route("TCP"), "IngressRouteUDP": route("UDP")}
_BESIDE = {
    "Middleware": _middleware,
    "ServersTransport": _transport,
    "ServersTransportTCP": _transport,
    "TraefikService": _service,
}
ROUTES: Mapping[tuple[str, str], Callable[[Cursor], ObjectFacts]] = {
    (group, kind): read for group in GROUPS for kind, read in _ROUTES.items()
}
READERS: Mapping[tuple[str, str], Callable[[Cursor], ObjectFacts]] = {
    (group, kind): read for group in GROUPS for kind, read in _BESIDE.items()
}
