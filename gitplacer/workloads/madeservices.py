"""
The Services that KubeRay makes of Ray objects: what they are called, and the labels by which monitors find them.

Each Ray cluster has one for its head, called after the cluster unless `headService` has a name. The Ray cluster of a RayJob or
RayService is called at random; but either has a Service for the head besides that is called after it, and a RayService one for Serve, unless
`serveService` has a name. A RayCluster has one for Serve where an annotation asks for it. Labels that a manifest gives a Service
are kept, but for those that KubeRay gives it.
Source: KubeRay's ray-operator/controllers/ray/common/service.go (BuildServiceForHeadPod, BuildHeadServiceForRayService, BuildServeService), utils/util.go (GenerateHeadServiceName, GenerateServeServiceName, CheckName).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gitplacer.documents import Cursor
from gitplacer.model.labels import Labels
from gitplacer.model.podrules import LabelPairs
from gitplacer.workloads.facts import ObjectFacts, Reference, distinct

SERVES = "ray.io/enable-serve-service"
"""The annotation by which a RayCluster gets a Service for Serve."""
_LONGEST_NAME = 50
"""Bytes that KubeRay leaves of a name from which it makes others."""
_OWNER_KIND, _OWNER = "ray.io/originated-from-crd", "ray.io/originated-from-cr-name"
_OF_POD = ("ray.io/cluster", "ray.io/node-type", "ray.io/identifier", "app.kubernetes.io/name")
"""Labels that the Service of a head has from its pod."""


class Made(NamedTuple):
    """A Service. `name` is '' where KubeRay makes it up, and `labels` () where nobody knows them."""

    name: str
    labels: LabelPairs = ()


def shortened(name: str) -> str:
    """A name as KubeRay shortens it: its end, with a letter where it would begin with a digit or a sign."""
    short = name[-_LONGEST_NAME:] if len(name) > _LONGEST_NAME else name
    return "r" + short[1:] if short[:1].isdigit() or not short[:1].isalnum() else short


def of_cluster(spec: Cursor, name: str, head: Labels) -> Made:
    """That of the head of a Ray cluster, whose pod has these labels; `name` is '' where KubeRay makes it up."""
    labels = {key: head[key] for key in _OF_POD if key in head}
    labels["app.kubernetes.io/created-by"] = "kuberay-operator"
    usual = shortened(f"{name}-head-svc") if name else ""
    return _given(spec.mapping("headGroupSpec"), "headService", usual, labels)


def of_job(name: str) -> Made:
    """That which a RayJob has for the head of its Ray cluster besides."""
    return Made(shortened(f"{name}-head-svc"))


def of_service(name: str) -> Made:
    """That which a RayService has for the head of the Ray cluster that serves."""
    labels = {"ray.io/node-type": "head", "ray.io/identifier": f"{name}-head"}
    return Made(shortened(f"{name}-head-svc"), _pairs({**labels, **_from("RayService", name)}))


def of_serve(kind: str, name: str, spec: Cursor) -> Made:
    """That for Serve of a RayCluster or a RayService."""
    labels = {"ray.io/serve": f"{name}-serve", **_from(kind, name)}
    return _given(spec, "serveService", shortened(f"{name}-serve-svc"), labels)


def told(facts: ObjectFacts, made: Iterable[Made]) -> ObjectFacts:
    """The facts of an object of which such Services are made too."""
    services = tuple(made)
    named = [Reference("", "Service", each.name) for each in services if each.name]
    return facts.but(
        provides=distinct([*facts.provides, *named]),
        services=(*facts.services, *(each.labels for each in services if each.labels)),
    )


def _given(owner: Cursor, key: str, name: str, labels: Labels) -> Made:
    """One that its `owner` may describe under a key."""
    metadata = owner.mapping(key).mapping("metadata") if owner.has(key) else None
    if metadata is None:
        return Made(name, _pairs(labels))
    return Made(metadata.text("name") or name, _pairs({**metadata.labels("labels"), **labels}))


def _from(kind: str, name: str) -> dict[str, str]:
    return {_OWNER_KIND: kind, _OWNER: name}


def _pairs(labels: Labels) -> LabelPairs:
    return tuple(sorted(labels.items()))
