"""
Whether the place that a fleet writes to is somebody else's, which is asked before anything is planned.

Flux bootstrapped into the root, another hydrator on the branch, or a directory of ours without the sentinel that marks it: to write there
would be to write over it, so no pass begins.
"""

from __future__ import annotations

from gitplacer.problems import Problem, Rejected
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import SENTINEL
from gitplacer.tree import Tree
from gitplacer.units import METADATA, Units


def refuse_foreign_root(snapshot: Snapshot, deployment: Tree) -> None:
    """Raise Rejected if what would be written over belongs to somebody else: to Flux, a hydrator, or a person."""
    fleet = snapshot.source.own.fleet
    root = fleet.spec.deployment.root + "/"
    place = snapshot.source.own.places[f"Fleet/{fleet.metadata.name}"]
    messages = set()
    units = Units(deployment, fleet.spec.deployment.root)
    for path in deployment:
        if path.startswith(root) and "/flux-system/" in path:
            messages.add(f"{root} of the deployment repo holds {path}: Flux was bootstrapped into it")
        unit = units.of(path)
        if unit is not None and unit[0] in snapshot.source.own.clusters and unit not in units.sentinels:
            messages.add(f"{root}{unit[0]}/{unit[1]}/ of the deployment repo holds files and no {SENTINEL} of ours")
    if METADATA in deployment and not units.sentinels:
        messages.add(
            f"the deployment branch has a {METADATA} and nothing of ours below {root}: another fleet or hydrator writes it"
        )
    own = "a branch" if METADATA in deployment and not units.sentinels else "a root or a branch"
    hint = f"give gitplacer {own} of its own (spec.deployment of the Fleet)"
    if messages:
        raise Rejected({*snapshot.problems, *(Problem(place, "NotOurs", message, hint) for message in messages)})
