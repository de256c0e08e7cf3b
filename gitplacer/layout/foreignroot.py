"""
Whether the place that a fleet writes to is somebody else's, which is asked before anything is planned.

Flux bootstrapped into the root, another hydrator on the branch, a directory of ours without the sentinel that marks it, or another fleet:
to write there would be to write over it, so no pass begins.
"""

from __future__ import annotations

from gitplacer.kinds.record import RECORDS
from gitplacer.plaintext import few
from gitplacer.problems import Problem, Rejected
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import PLATFORM, SENTINEL, WORKLOADS
from gitplacer.tree import Tree
from gitplacer.units import METADATA, Units

_OF_ITS_OWN = "give gitplacer a branch of its own (spec.deployment of the Fleet)"


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
        if _is_only_recorded(deployment):
            # Where all wait, such as for a first cluster, nothing is said to be placed.
            if any(record.clusters for record in snapshot.records.values()):
                gone = f"nothing of what {RECORDS}/ says is placed stands below {root} of the deployment repo: somebody has removed it"
                restore = "bring it back from the history of the branch, with git revert"
                raise Rejected({*snapshot.problems, Problem(place, "NotOurs", gone, restore)})
        elif roots := _other_roots(deployment):
            told = f"the deployment branch has what passes wrote below {few(roots)}, and nothing of ours below {root}, the root of this fleet"
            hint = f"if spec.deployment.root of the Fleet was changed, write {few(roots)} again; if another fleet writes there, {_OF_ITS_OWN}"
            raise Rejected({*snapshot.problems, Problem(place, "NotOurs", told, hint)})
        else:
            messages.add(
                f"the deployment branch has a {METADATA} and nothing of ours below {root}: another fleet or hydrator writes it"
            )
    if others := _of_another_fleet(snapshot, units):
        told = f"{root} of the deployment repo has {few(others)}, and neither these nor what is placed there are of this fleet: another one writes it"
        hint = "a deployment repo is one fleet's: look at --deployment and GITPLACER_DEPLOYMENT, and at spec.deployment of the Fleet; if it is this one's, replace first its clusters, or its apps, and the rest in a later commit"
        raise Rejected({*snapshot.problems, Problem(place, "NotOurs", told, hint)})
    own = "a branch" if METADATA in deployment and not units.sentinels else "a root or a branch"
    hint = _OF_ITS_OWN.replace("a branch", own)
    if messages:
        raise Rejected({*snapshot.problems, *(Problem(place, "NotOurs", message, hint) for message in messages)})


def _other_roots(deployment: Tree) -> list[str]:
    """The folders below which a fleet has written, each with a slash."""
    ours = (path.rsplit("/", 3) for path in deployment if path.endswith(f"/{SENTINEL}"))
    return sorted({f"{parts[0]}/" for parts in ours if len(parts) == 4 and parts[2] in (PLATFORM, WORKLOADS)})


def _of_another_fleet(snapshot: Snapshot, units: Units) -> list[str]:
    """
    The clusters that have directories, where none of them is of the fleet and nothing that is placed is; [] where anything is. A fleet
    whose clusters all got other names still has its apps, and one whose source was lost has its clusters.
    """
    there = {cluster for cluster, _ in units.sentinels}
    placed = {record.id for record in snapshot.records.values() if not record.is_platform}
    known = there & snapshot.source.own.clusters.keys() or placed & snapshot.groups.keys()
    return sorted(there) if placed and snapshot.source.own.clusters and not known else []


def _is_only_recorded(deployment: Tree) -> bool:
    """Whether a fleet's records are there, and below no root what they speak of: what another fleet wrote stands below its own."""
    return any(path.startswith(f"{RECORDS}/") for path in deployment) and not any(
        path.endswith(f"/{SENTINEL}") for path in deployment
    )
