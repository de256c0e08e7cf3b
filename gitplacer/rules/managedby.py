"""
Who manages a Ray object: KubeRay, unless `managedBy` says MultiKueue.

The API server takes no other name (rules of the CRDs, `managedBy` of raycluster_types.go, rayjob_types.go and
rayservice_types.go). KubeRay copies the spec inside a RayJob, RayService or RayCronJob to the object that it makes from it,
and then leaves that object alone if somebody else is named there: nothing starts, and the outer object looks well.
"""

from __future__ import annotations

from gitplacer.documents import Cursor, dotted
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.workloads.rayspec import OPERATOR

MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def own(manifest: RayManifest) -> None:
    """`spec.managedBy` is one of two names. The CRD of RayCronJob has no such field."""
    spec = manifest.spec
    if not manifest.v1 or manifest.kind == "RayCronJob" or not spec.has("managedBy"):
        return
    name = spec.text("managedBy", OPERATOR)
    if name not in (OPERATOR, MULTIKUEUE):
        message = f'managedBy is "{name}", which the API server refuses'
        tell(spec, "InvalidManagedBy", message, f"remove it, or write {OPERATOR} or {MULTIKUEUE}", key="managedBy")


def nested(manifest: RayManifest) -> None:
    """A spec that KubeRay makes an object from names KubeRay, or nobody."""
    if not manifest.v1 or manifest.kind == "RayCluster":
        return
    _leaves_alone(manifest.cluster, "Ray cluster")
    if manifest.kind == "RayCronJob" and manifest.job is not None:
        _leaves_alone(manifest.job, "RayJob")


def _leaves_alone(inner: Cursor, made: str) -> None:
    if inner.has("managedBy") and (name := inner.text("managedBy", OPERATOR)) != OPERATOR:
        message = f'{dotted(inner.path)}.managedBy is "{name}", so KubeRay would never start the {made} it makes'
        tell(inner, "NestedField", message, "remove it; only the outer spec may have one", key="managedBy")


RULES: tuple[Rule, ...] = (own, nested)
