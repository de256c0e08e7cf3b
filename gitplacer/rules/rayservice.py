"""
RayService: its own settings beside the Ray cluster spec.

Source: ValidateRayServiceMetadata and ValidateRayServiceSpec in ray-operator/controllers/ray/utils/validation.go.
Its upgrades are in `upgrades`, and what it is to serve in `serveconfig`.
"""

from __future__ import annotations

import re

from gitplacer.rules.duration import nanoseconds
from gitplacer.rules.manifest import RayManifest, Rule, tell

TIMEOUT = "ray.io/initializing-timeout"

_SECONDS = re.compile(r"\+?0*[1-9][0-9]{0,17}")


def head_service_name(manifest: RayManifest) -> None:
    """KubeRay names the head service of a RayService, because it points at one Ray cluster after the other."""
    if manifest.kind != "RayService" or not manifest.head.has("headService"):
        return
    metadata = manifest.head.mapping("headService").mapping("metadata")
    if name := metadata.text("name"):
        message = f'headService is named "{name}"; in a RayService KubeRay names it'
        hint = f"remove the name; the service will be {manifest.root.mapping('metadata').text('name')}-head-svc"
        tell(metadata, "HeadServiceName", message, hint, key="name")


def deletion_delay(manifest: RayManifest) -> None:
    """`rayClusterDeletionDelaySeconds`: how long the old Ray cluster stays after an upgrade."""
    key = "rayClusterDeletionDelaySeconds"
    if manifest.kind == "RayService" and manifest.v1 and (manifest.spec.integer(key) or 0) < 0:
        tell(manifest.spec, "NumberOutOfRange", f"{key} is {manifest.spec.value[key]}", "use 0 or more", key=key)


def initializing_timeout(manifest: RayManifest) -> None:
    """The annotation is a duration as Go writes it, or a number of seconds; more than nothing in either case."""
    if manifest.kind != "RayService":
        return
    annotations = manifest.root.mapping("metadata").mapping("annotations")
    text = annotations.value.get(TIMEOUT)
    if not isinstance(text, str) or not text or (nanoseconds(text) or 0) > 0 or _SECONDS.fullmatch(text):
        return
    message = f'the annotation {TIMEOUT} is "{text}", which is no time to wait'
    tell(annotations, "InvalidTimeout", message, 'write a duration such as "30m", or seconds: "1800"', key=TIMEOUT)


RULES: tuple[Rule, ...] = (head_service_name, deletion_delay, initializing_timeout)
