"""Names: KubeRay makes objects whose names begin with that of the Ray object, and has rules for it of its own."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.rules.manifest import RayManifest, Rule, tell

LONGEST: Mapping[str, int] = {"RayCluster": 53, "RayJob": 47, "RayService": 47, "RayCronJob": 36}
"""Characters of a name. Source: ray-operator/controllers/ray/utils/validation.go."""


def name_length(manifest: RayManifest) -> None:
    """A name must leave room for the suffixes of the objects that KubeRay makes."""
    metadata = manifest.root.mapping("metadata")
    name, longest = metadata.text("name"), LONGEST[manifest.kind]
    if len(name) > longest:
        message = f"the name has {len(name)} characters; KubeRay takes {longest} for a {manifest.kind}"
        tell(metadata, "NameTooLong", message, "choose a shorter name", key="name")


RULES: tuple[Rule, ...] = (name_length,)
