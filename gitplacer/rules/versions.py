"""
What an object loses because of the version that it is written in.

An object of `ray.io/v1alpha1` keeps the fields of that version; the API server drops the others and says nothing, so
`gcsFaultToleranceOptions` or `numOfHosts` stands in Git and is not there. They do not count when the object is sized either.
Source: the types in KubeRay's apis/ray/v1alpha1; no conversion webhook is configured.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from gitplacer.documents import Cursor, dotted
from gitplacer.plaintext import few
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.workloads.rayfields import AUTOSCALER, CLUSTER, GROUP, HEAD, JOB_OF_V1, SERVICE_OF_V1, of_v1

_OWN: dict[str, Set[str]] = {"RayJob": JOB_OF_V1, "RayService": SERVICE_OF_V1}
_CLUSTER, _HEAD, _GROUP, _AUTOSCALER = (of_v1(fields) for fields in (CLUSTER, HEAD, GROUP, AUTOSCALER))


def fields_of_v1(manifest: RayManifest) -> None:
    """Fields that only v1 has, in an object of v1alpha1."""
    if manifest.v1 or manifest.root.text("apiVersion") != "ray.io/v1alpha1":
        return
    found = list(_dropped(manifest))
    if found:
        message = (
            f"ray.io/v1alpha1 does not have {few(found)}: the API server drops {'it' if len(found) == 1 else 'them'}"
        )
        tell(manifest.root, "FieldsOfV1", message, "write apiVersion: ray.io/v1", key="apiVersion")


def _dropped(manifest: RayManifest) -> Iterator[str]:
    yield from _written(manifest.spec, _OWN.get(manifest.kind, frozenset()))
    yield from _written(manifest.cluster, _CLUSTER)
    if manifest.cluster.has("autoscalerOptions"):
        yield from _written(manifest.cluster.mapping("autoscalerOptions"), _AUTOSCALER)
    yield from _written(manifest.head, _HEAD)
    for group in manifest.groups:
        yield from _written(group, _GROUP)


def _written(owner: Cursor, fields: Set[str]) -> Iterator[str]:
    return (dotted((*owner.path, key)) for key in owner.value if key in fields and owner.has(key))


RULES: tuple[Rule, ...] = (fields_of_v1,)
