"""
What a cluster's directory holds before any group comes: both units with their sentinels, so that an engine finds its path, and the
namespaces that are needed. None of it is removed with a workload.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.dispatching import managers
from gitplacer.kinds.fleet import synced
from gitplacer.layout.draft import Draft
from gitplacer.render import namespace_file, namespace_manifest
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM
from gitplacer.units import UNITS


def begin_units(snapshot: Snapshot, draft: Draft) -> Iterator[str]:
    """Make the units that every cluster has. Yields the clusters whose directories begin with that."""
    own = snapshot.source.own
    for name in synced(own.fleet.spec, own.clusters.values(), managers(own.policies)):
        if draft.tells_of_clash(draft.units.sentinel_path(name, unit) for unit in UNITS):
            continue
        ensure_namespace(snapshot, draft, name, own.fleet.spec.system_namespace)
        draft.begin_units(name)
        if not any((name, unit) in draft.units.sentinels for unit in UNITS):
            yield name


def ensure_namespace(snapshot: Snapshot, draft: Draft, cluster: str, namespace: str) -> None:
    """A namespace is made once for each cluster: as a manifest of the source describes it, or by its name alone."""
    path = draft.units.path(cluster, PLATFORM, namespace_file(namespace))
    described = snapshot.source.namespaces.get(namespace)
    if path in snapshot.foreign_paths and path in draft.oids:
        return  # somebody changed it by hand; it is there, which is all that is needed
    if draft.tells_of_clash([path]):
        return
    if described is not None and not described.held:
        draft.write(path, described.document.source())
    elif path not in draft.oids:
        draft.write(path, namespace_manifest(namespace))
