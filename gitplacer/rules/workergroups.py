"""The head and the worker groups of a Ray cluster spec."""

from __future__ import annotations

from gitplacer.rules.manifest import RayManifest, Rule, tell


def hosts(manifest: RayManifest) -> None:
    """`numOfHosts` multiplies: with 0 the group has no pods, and KubeRay does not say so."""
    for group in manifest.groups if manifest.v1 else ():
        number = group.integer("numOfHosts", 1)
        if number is not None and number <= 0:
            message = f"numOfHosts is {number}, so the group has no pods"
            tell(group, "NoHosts", message, "leave it out, or say replicas: 0 for no workers", key="numOfHosts")


RULES: tuple[Rule, ...] = (hosts,)
