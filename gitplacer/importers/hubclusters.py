"""
Clusters as hubs know them, Karmada's and OCM's: how a hub reaches one, its version, and the coarse snapshot that its status makes.

How it is reached is of no use here, because an engine in the cluster, or beside it, fetches what is placed there. What a hub knows of room
are totals, or sizes of nodes; `gitplacer snapshot` knows more, and a snapshot that lies in the same folder wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from gitplacer.importers.fleetrepo import FleetRepo
from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.writing import header
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.observing.hubs import HUBS, read_hub
from gitplacer.observing.writing import snapshot_file

SNAPSHOT = "take a snapshot: gitplacer snapshot, docs/snapshots.md"
_VERSION = re.compile(r"v?([0-9]{1,4}\.[0-9]{1,4})(\..*)?")


def leave_out_reach(spec: Reader, keys: Iterable[str], who: str, notes: Notes) -> None:
    """A line for those of the fields that say how somebody reaches the cluster."""
    reached = [key for key in keys if key in spec.fields]
    for key in reached:
        spec.value(key)
    if reached:
        what = f"how {who} reaches the cluster: {', '.join(reached)}"
        todo = "let Argo CD or Flux sync its directory: gitplacer bootstrap"
        notes.about(Outcome.LEFT_OUT, spec, reached[0], what, todo)


def version_field(written: str) -> dict[str, str]:
    """`kubernetesVersion` of a Cluster, from what the cluster says, such as `v1.31.2-eks`; nothing where that is no version."""
    found = _VERSION.fullmatch(written)
    return {"kubernetesVersion": found[1]} if found else {}


def write_snapshot(hub: str, name: str, root: Reader, repo: FleetRepo, now: datetime) -> CapacitySnapshot | None:
    """Writes what a hub knows of the room of a cluster, and returns it; None, with a line, where it knows none or somebody knows more."""
    notes, where = repo.notes, "status" if root.has("status") else None
    if name in repo.snapshots:
        what = f"the CapacitySnapshot of {name} that lies beside it is newer or knows more"
        notes.about(Outcome.LEFT_OUT, root, where, what)
        return None
    found, unheard = read_hub(HUBS[hub], [root.document.value], now)
    for one in unheard:
        notes.about(Outcome.NO_EQUAL, root, where, f"no snapshot of {name}: {one.why}", SNAPSHOT)
    for snapshot in found:
        comment = f"From the status of the {root.text('kind')} at {root.document.locate()}."
        data = header((comment,)) + snapshot_file(snapshot)
        if repo.kept(data, root.document) is not None:
            repo.files[f"capacity/{name}.yaml"] = data
            return snapshot
    return None
