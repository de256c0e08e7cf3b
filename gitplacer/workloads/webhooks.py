"""
Containers that no manifest shows and no controller adds: those that a webhook of the cluster puts into a pod which asks for it.

How much they ask for is said by the webhook's configuration, which differs from cluster to cluster, so they are named and not counted. A pod that
has the container already, with what it asks for, is counted like any other. What a label of the namespace asks for is not seen here.
Sources: the documentation of GKE's Cloud Storage FUSE CSI driver, of Vault's agent injector, of Istio, Linkerd and Dapr.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from gitplacer.documents import Cursor


class Webhook(Struct, frozen=True):
    """What asks for it, `annotations` or `labels` with a `key` of one of some `values`, and the `container` that it adds."""

    where: str
    key: str
    values: tuple[str, ...]
    container: str


WEBHOOKS = (
    Webhook("annotations", "gke-gcsfuse/volumes", ("true",), "gke-gcsfuse-sidecar"),
    Webhook("annotations", "vault.hashicorp.com/agent-inject", ("true",), "vault-agent"),
    Webhook("annotations", "sidecar.istio.io/inject", ("true",), "istio-proxy"),
    Webhook("labels", "sidecar.istio.io/inject", ("true",), "istio-proxy"),
    Webhook("annotations", "linkerd.io/inject", ("enabled", "ingress"), "linkerd-proxy"),
    Webhook("annotations", "dapr.io/enabled", ("true",), "daprd"),
)


def asked_for(metadata: Cursor, spec: Cursor) -> Iterator[Webhook]:
    """Those whose containers a template with such metadata and such a spec gets, and of which it does not say what they ask for."""
    for each in WEBHOOKS:
        written = metadata.value.get(each.where)
        if isinstance(written, Mapping) and written.get(each.key) in each.values and not _says(spec, each.container):
            yield each


def _says(spec: Cursor, name: str) -> bool:
    written = [spec.value.get(key) for key in ("containers", "initContainers")]
    found = (each for some in written if isinstance(some, list) for each in some)
    return any(isinstance(each, Mapping) and each.get("name") == name and each.get("resources") for each in found)
