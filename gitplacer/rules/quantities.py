"""
Amounts that are numbers with a fraction: `cpu: 0.5`.

Where Kubernetes has a quantity, the schemas of the Ray kinds take a text or a whole number and nothing else, so the API server refuses
the whole object. Pods, Deployments and whatever else it knows without a schema may have such numbers, and they mean what they say.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.rules.containers import pod_spec
from gitplacer.rules.manifest import RayManifest, Rule


def quantities(manifest: RayManifest) -> None:
    """
    A quantity is in quotes, or whole.
    Source: x-kubernetes-int-or-string in KubeRay's ray-operator/config/crd/bases, which controller-gen writes for every resource.Quantity.
    """
    for amounts, key in _amounts(manifest):
        amounts.check_int_or_text(key)


def _amounts(manifest: RayManifest) -> Iterator[tuple[Cursor, str]]:
    """Each quantity of a Ray object that is kept: the mapping that holds it, and its key there."""
    for group in (manifest.head, *manifest.groups):
        yield from _of_pod(pod_spec(group))
    if manifest.job is not None and manifest.job.has("submitterPodTemplate"):
        yield from _of_pod(manifest.job.mapping("submitterPodTemplate").mapping("spec"))
    yield from _of_resources(manifest.cluster.mapping("autoscalerOptions"))
    if manifest.v1:
        yield from _of_resources(manifest.cluster.mapping("historyServerOptions").mapping("collectorOptions"))
        yield manifest.cluster.mapping("gcsFaultToleranceOptions").mapping("storage"), "size"


def _of_pod(spec: Cursor) -> Iterator[tuple[Cursor, str]]:
    for owner in (spec, *spec.items("initContainers"), *spec.items("containers")):
        yield from _of_resources(owner)
    yield from _all(spec.mapping("overhead"))
    for volume in spec.items("volumes"):
        yield volume.mapping("emptyDir"), "sizeLimit"
        yield from _of_resources(volume.mapping("ephemeral").mapping("volumeClaimTemplate").mapping("spec"))


def _of_resources(owner: Cursor) -> Iterator[tuple[Cursor, str]]:
    resources = owner.mapping("resources")
    for key in ("requests", "limits"):
        yield from _all(resources.mapping(key))


def _all(amounts: Cursor) -> Iterator[tuple[Cursor, str]]:
    for key in amounts.value:
        yield amounts, key


RULES: tuple[Rule, ...] = (quantities,)
