"""
What the Ray container asks for.

KubeRay starts Ray with the CPUs and the memory of its container; where the container does not say, Ray counts the whole
node as its own. Kubernetes puts a pod that asks for nothing anywhere, so two such pods on one node each believe that
all of it is theirs. KubeRay fills in nothing: what it has defaults for are the containers that it adds.
"""

from __future__ import annotations

from typing import Any

from gitplacer.rules.containers import pod_spec, ray_container
from gitplacer.rules.manifest import RayManifest, Rule, tell

_EXPECTED = ("cpu", "memory")


def requests(manifest: RayManifest) -> None:
    """
    The Ray container, or its whole pod, says in requests or limits how much CPU and memory it needs.
    Source: generateRayStartCommand in ray-operator/controllers/ray/common/pod.go, and Ray's own detection of resources.
    """
    for group in (manifest.head, *manifest.groups):
        container = ray_container(group)
        if not container.value:
            continue
        asked = _asked(container.value.get("resources"))
        if len(asked) < len(_EXPECTED):
            asked |= _asked(pod_spec(group).value.get("resources"))
        missing = [name for name in _EXPECTED if name not in asked]
        if missing:
            hint = f"set requests or limits for {' and '.join(missing)}"
            key = "resources" if container.has("resources") else None
            message = f"the Ray container asks for no {' and no '.join(missing)}"
            tell(container, "NoRequests", message, hint, key=key)


def _asked(resources: Any) -> set[str]:
    """Which of CPU and memory are in the requests or the limits of a container or pod."""
    if not isinstance(resources, dict):
        return set()
    amounts = [resources.get("requests"), resources.get("limits")]
    return {name for name in _EXPECTED for found in amounts if isinstance(found, dict) and found.get(name) is not None}


RULES: tuple[Rule, ...] = (requests,)
