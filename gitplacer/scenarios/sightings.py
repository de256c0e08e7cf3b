"""
New snapshots, as a step says in short what a cluster shows.

The text of the snapshot before is edited, not written anew, so that comments and order stay and a page can show the difference.
What a cluster has applied, and what runs there, is read off the deployment repo: as a live cluster would have it some time after
its last commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from gitplacer.documents import Document, Edit, Path, parse
from gitplacer.explain import rfc3339
from gitplacer.kinds.record import SHARED
from gitplacer.kinds.scenario import Observed
from gitplacer.problems import nearest
from gitplacer.scenarios.scene import Files, replaced
from gitplacer.scenarios.script import Script
from gitplacer.source.files import READ_ENDINGS
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import Tree

_PHASES: Mapping[str, tuple[str, bool]] = {
    "Pending": ("Pending", False),
    "Running": ("Running", False),
    "Ready": ("Running", True),
    "Succeeded": ("Succeeded", False),
    "Failed": ("Failed", False),
}


def observed_files(
    script: Script, files: Files, seen: Observed, path: Path, *, folder: str, root: str, deployment: Tree, now: datetime
) -> dict[str, bytes]:
    """
    The files after snapshots came in, as a step says at a path. `folder` is where snapshots are, `root` that of the clusters in the
    deployment repo. Raises Rejected.
    """
    found = dict(files)
    for index, cluster in enumerate(seen.clusters):
        names = [f"{folder}/{cluster}{ending}" for ending in READ_ENDINGS]
        name = next((name for name in names if name in found), None)
        if name is None:
            known = {p.rpartition("/")[2].rpartition(".")[0] for p in found if p.startswith(f"{folder}/")}
            message = f"there is no snapshot of {cluster} to begin with"
            raise script.fault((*path, "clusters", index), message, nearest(cluster, known))
        data = replaced(script, found[name], seen.edit, (*path, "edit"))
        parsed = parse(data)
        if parsed.faults or len(parsed.documents) != 1:
            raise script.fault((*path, "edit"), f"{name} is not one document then")
        document = Document(name, parsed.documents[0], 0, lambda data=data: data)  # type: ignore[misc]
        unit = f"{root}/{cluster}"
        edits = list(_edits(document.value, seen, unit, deployment, now - timedelta(seconds=seen.age)))
        found[name] = document.edited(edits)
    return found


def _edits(before: Mapping[str, Any], seen: Observed, unit: str, deployment: Tree, at: datetime) -> Iterator[Edit]:
    time = rfc3339(at)
    yield Edit(("observedAt",), "add", time)
    if seen.applied == "Deployed":
        epochs = {name: _epoch(deployment, f"{unit}/{name}/{SENTINEL}") for name in (PLATFORM, WORKLOADS)}
        yield Edit(("applied",), "add", epochs)
    elif seen.applied == "Unknown" and "applied" in before:
        yield Edit(("applied",), "remove")
    groups = {group["name"]: group for group in before.get("groups", ())}
    if seen.settled:
        groups = {name: {"name": name, "phase": "Running", "ready": True} for name in _deployed(deployment, unit)}
    for name, word in seen.groups.items():
        groups.pop(name, None)
        if word != "Gone":
            phase, ready = _PHASES[word]
            groups[name] = {"name": name, "phase": phase, **({"ready": True} if ready else {})}
    for name, roles in seen.pending.items():
        since = _pending_since(before, name) or time
        pods = [{"role": role, "pendingSince": since} for role, count in roles.items() for _ in range(count)]
        groups[name] = {**groups.get(name, {"name": name, "phase": "Pending"}), "ready": False, "pods": pods}
    if groups:
        yield Edit(("groups",), "add", [groups[name] for name in sorted(groups)])
    elif "groups" in before:
        yield Edit(("groups",), "remove")


def _pending_since(before: Mapping[str, Any], name: str) -> str | None:
    """Since when a group was seen waiting before."""
    pods = [pod for group in before.get("groups", ()) if group["name"] == name for pod in group.get("pods", ())]
    return min((str(pod["pendingSince"]) for pod in pods if "pendingSince" in pod), default=None)


def _epoch(deployment: Tree, path: str) -> int:
    if path not in deployment:
        return 0
    return int(parse(deployment.read(path)).documents[0].value["data"]["epoch"])


def _deployed(deployment: Tree, unit: str) -> list[str]:
    """The groups whose files a cluster has."""
    below = deployment.under(f"{unit}/{WORKLOADS}")
    groups = {"/".join(path.split("/")[:2]) for path in below if path.count("/") > 1}
    return sorted(group for group in groups if not group.endswith(f"/{SHARED}"))
