"""
Names: KubeRay makes objects whose names begin with that of the Ray object, and has rules for it of its own.

Kubernetes takes any DNS subdomain for the name of a Ray object. KubeRay makes Services of it, which are narrower, and
refuses in its operator what would not fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitplacer.rules.manifest import RayManifest, Rule, tell

LONGEST: Mapping[str, int] = {"RayCluster": 53, "RayJob": 47, "RayService": 47, "RayCronJob": 36}
"""Characters of a name. Source: ray-operator/controllers/ray/utils/validation.go."""

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def name_length(manifest: RayManifest) -> None:
    """
    A name must leave room for the suffixes of the objects that KubeRay makes.
    Source: ValidateRayClusterMetadata, ValidateRayJobMetadata, ValidateRayServiceMetadata and ValidateRayCronJobSpec.
    """
    metadata = manifest.root.mapping("metadata")
    name, longest = metadata.text("name"), LONGEST[manifest.kind]
    if len(name) > longest:
        message = f"the name has {len(name)} characters; KubeRay takes {longest} for a {manifest.kind}"
        tell(metadata, "NameTooLong", message, "choose a shorter name", key="name")


def name_form(manifest: RayManifest) -> None:
    """
    A name must be a DNS-1035 label. For a RayCronJob KubeRay does not look, and refuses each RayJob that it names after it.
    Source: ValidateRayClusterMetadata, ValidateRayJobMetadata and ValidateRayServiceMetadata.
    """
    metadata = manifest.root.mapping("metadata")
    name = metadata.text("name")
    if name and not _DNS_1035.fullmatch(name):
        hint = "use lower-case letters, digits and dashes; begin with a letter, end with a letter or digit"
        tell(metadata, "InvalidRayName", f'KubeRay refuses the name "{name}"', hint, key="name")


RULES: tuple[Rule, ...] = (name_length, name_form)
