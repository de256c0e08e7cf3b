"""
The Ray container of a group, and what is set in it.

KubeRay takes the first container of a template for Ray's own, whatever its name, and looks at no other; its rules about
environment variables and mounts are about that one. What is missing or of a wrong type is told where pods are sized, so
here it is simply not there.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitplacer.documents import Cursor
from gitplacer.rules.manifest import tell


def pod_spec(group: Cursor) -> Cursor:
    """The pod spec of a head or worker group; an empty one when there is none."""
    return group.mapping("template").mapping("spec")


def ray_container(group: Cursor) -> Cursor:
    """The Ray container of a head or worker group: the first; an empty one when there is none."""
    spec = pod_spec(group)
    containers = spec.value.get("containers")
    first = containers[0] if isinstance(containers, list) and containers else None
    path = (*spec.path, "containers", 0)
    return Cursor(spec.document, path, first if isinstance(first, dict) else {}, spec.problems)


def variable(owner: Cursor, name: str) -> Cursor | None:
    """The first environment variable of that name in the `env` of a container, or of options that have one."""
    variables = owner.value.get("env")
    if isinstance(variables, list):
        for index, item in enumerate(variables):
            if isinstance(item, dict) and item.get("name") == name:
                return Cursor(owner.document, (*owner.path, "env", index), item, owner.problems)
    return None


def tell_managed_variables(owner: Cursor, names: Iterable[str], because: str) -> None:
    """Environment variables that KubeRay sets itself, `because` of something: nobody else may."""
    if not owner.value.get("env"):
        return
    for name in names:
        found = variable(owner, name)
        if found is not None:
            tell(
                found, "ManagedByKubeRay", f"{name} is set by KubeRay itself, because {because}", "remove the variable"
            )


def tell_managed_mounts(owner: Cursor, name: str, mount_path: str, because: str) -> None:
    """Mounts of a volume, or at a path, that KubeRay mounts itself."""
    if not owner.value.get("volumeMounts"):
        return
    for mount in owner.items("volumeMounts"):
        if mount.text("name") == name or mount.text("mountPath") == mount_path:
            message = f"KubeRay mounts a volume {name} at {mount_path} itself, because {because}"
            tell(mount, "ManagedByKubeRay", message, "remove the mount, or give it another volume and path")
