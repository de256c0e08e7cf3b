"""
The Services that KubeRay makes of Ray objects, as far as their names are known.

Each Ray cluster has one for its head, called after the cluster unless `headService` has a name. The Ray cluster of a RayJob or
RayService is called at random; but either has a Service for the head besides that is called after it, and a RayService one for Serve, unless
`serveService` has a name. A RayCluster has one for Serve where an annotation asks for it.
Source: KubeRay's ray-operator/controllers/ray/common/service.go, utils/util.go (GenerateHeadServiceName, GenerateServeServiceName,
CheckName).
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import Reference

SERVES = "ray.io/enable-serve-service"
"""The annotation by which a RayCluster gets a Service for Serve."""
_LONGEST_NAME = 50
"""Bytes that KubeRay leaves of a name from which it makes others."""


def shortened(name: str) -> str:
    """A name as KubeRay shortens it: its end, with a letter where it would begin with a digit or a sign."""
    short = name[-_LONGEST_NAME:] if len(name) > _LONGEST_NAME else name
    return "r" + short[1:] if short[:1].isdigit() or not short[:1].isalnum() else short


def of_cluster(spec: Cursor, name: str) -> Iterator[Reference]:
    """That of the head of a Ray cluster; `name` is '' where KubeRay makes it up."""
    chosen = _chosen(spec.mapping("headGroupSpec"), "headService")
    if chosen or name:
        yield _service(chosen or shortened(f"{name}-head-svc"))


def of_head(name: str) -> Iterator[Reference]:
    """That which a RayJob or a RayService has for its head besides."""
    yield _service(shortened(f"{name}-head-svc"))


def of_serve(name: str, owner: Cursor | None = None) -> Iterator[Reference]:
    """That for Serve, whose name the `owner` of a `serveService` may choose."""
    chosen = "" if owner is None else _chosen(owner, "serveService")
    yield _service(chosen or shortened(f"{name}-serve-svc"))


def _chosen(owner: Cursor, key: str) -> str:
    return owner.mapping(key).mapping("metadata").text("name") if owner.has(key) else ""


def _service(name: str) -> Reference:
    return Reference("", "Service", name)
