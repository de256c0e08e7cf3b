"""
Folders of clusters to a fleet repo and a deployment tree in which all is where it was.

Everything begins as a workload. What cannot be one, such as roles, or what no workload brings along, becomes a platform object, which stays
on its clusters whatever moves. What cannot be that either is left where it is, and told. Each round puts right what the one before was
wrong about, and the last one proves that nothing is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from gitplacer.adoption.copies import Copies, Thing, read_copies, surely_platform
from gitplacer.adoption.fleetfiles import FleetFiles, commented, fleet_files
from gitplacer.adoption.folders import Folders, by_pattern, guessed
from gitplacer.adoption.owners import (
    Owner,
    alterations,
    elsewhere,
    engine_of,
    guessed_engine,
    is_of_flux,
    may_steer,
    owners,
)
from gitplacer.adoption.proving import Fault, Proof, proved
from gitplacer.adoption.remarks import CannotAdopt, Remark
from gitplacer.kinds.fields import API_VERSION
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.record import RECORDS
from gitplacer.model.workload import Identity
from gitplacer.pathglob import matches
from gitplacer.plaintext import few, printable
from gitplacer.problems import Location
from gitplacer.source.files import InMemory, Memo, Reading, instead_of_a_file, is_read, read_documents
from gitplacer.source.oddpaths import ending_in_capitals
from gitplacer.source.territory import Territory
from gitplacer.tree import Tree

_RENDER = "render it in CI into a folder of its own, and adopt that; until then it is left where it is"


class Asked(Struct, frozen=True, kw_only=True):
    """`clusters` is a pattern, None for a guess; `engine` None for a guess; `namespace` is that of objects that say none."""

    clusters: str | None
    namespace: str
    engine: str | None
    now: datetime
    version: str


class Adoption(Struct, frozen=True, kw_only=True):
    """
    `fleet` are the files of the fleet repo, `deployment` the tree that goes with them. `left` is what stays in the old folders alone, and `noted` what
    is taken over with a difference that nobody's cluster sees. `altered` is where the old sync applies something else than the folders. `fell_back` says why objects are platform's that could be workloads'.
    """

    folders: Folders
    fleet: FleetFiles
    deployment: Tree
    engine: str
    owners: tuple[Owner, ...]
    altered: tuple[Remark, ...]
    left: tuple[Remark, ...]
    noted: tuple[Remark, ...]
    fell_back: tuple[Remark, ...]
    workloads: int
    platform: int
    groups: int


def adopt(tree: Tree, asked: Asked, memo: Memo | None = None) -> Adoption:
    """
    Adopt what lies in the folders of a tree. Raises CannotAdopt where no folders are found, or where nothing in them can be adopted.
    """
    memo = memo or InMemory()
    if any(path.startswith(f"{RECORDS}/") for path in tree) and any(
        path.endswith("/workloads/gitplacer.yaml") for path in tree
    ):
        raise CannotAdopt("gitplacer wrote this repo: it has placements/ and sentinels", "plan with it: --deployment")
    paths = [path for path in tree if is_read(path) and not is_of_flux(path)]
    territory = Territory(tree, FleetSpec())
    plain = [path for path in paths if territory.unrendered(path) is None]
    reading = read_documents(tree, plain, memo)
    of_flux = read_documents(tree, [path for path in tree if is_read(path) and is_of_flux(path)], memo)
    steering = [
        item.document
        for read in (reading, of_flux)
        for items in read.documents.values()
        for item in items
        if engine_of(item.document) is not None
    ]
    found = owners(steering)
    try:
        folders = by_pattern(asked.clusters, paths) if asked.clusters else guessed(_manifests(reading), paths)
    except CannotAdopt as error:
        raise CannotAdopt(str(error), _or_render(error.hint, paths, territory)) from None
    copies = read_copies(tree, folders, reading, asked.namespace)
    steers = {document.file for document in steering}
    others = [path for path in paths if path not in steers and path not in folders.places]
    unread = {
        *_not_rendered(folders, territory),
        *_links(folders, tree),
        *_in_capitals(folders, tree),
        *elsewhere(steering, folders.places, others),
        *_unread_owners(tree, reading, folders),
    }
    if not copies.things:
        raise CannotAdopt(f"nothing in {folders.pattern} can be adopted", _said(sorted({*copies.left, *unread})))
    engine = asked.engine or guessed_engine(found) or "argocd"
    fleet_yaml = {"fleet.yaml": _fleet_yaml(engine, asked.engine, found)}
    state = _settled(copies, folders, fleet_yaml, asked, memo)
    return Adoption(
        folders=folders,
        fleet=state.fleet,
        deployment=state.proof.tree,
        engine=engine,
        owners=found,
        altered=tuple(sorted(alterations(steering, folders.places))),
        left=tuple(sorted({*copies.left, *unread, *state.left})),
        noted=tuple(sorted({*copies.noted, *state.proof.noted})),
        fell_back=tuple(sorted(state.fell_back)),
        workloads=len(state.fleet.things) - len(state.fleet.platform),
        platform=len(state.fleet.platform),
        groups=state.proof.groups,
    )


def _said(left: Iterable[Remark]) -> str:
    """The first of the reasons why nothing is adopted, as a hint."""
    first = next(iter(left), None)
    if first is None:
        return "say which folders are meant: --clusters"
    return f"{first.location}: {first.message}{'; ' if first.hint else ''}{first.hint}"


def _or_render(hint: str, paths: Iterable[str], territory: Territory) -> str:
    """A hint that also says what is usually behind it where much of a repo is input of Kustomize or Helm."""
    folders = sorted({folder.rstrip("/") for path in paths if (folder := territory.unrendered(path)) is not None})
    if not folders:
        return hint
    return f"{few(folders)} {'are' if len(folders) > 1 else 'is'} for Kustomize or Helm: render that in CI into a folder for each cluster, and adopt these; or {hint}"


def _manifests(reading: Reading) -> list[str]:
    """The files that have Kubernetes objects in them, other than those that steer an engine."""
    return [
        path
        for path, items in reading.documents.items()
        if any("kind" in i.document.value and engine_of(i.document) is None for i in items)
    ]


def _not_rendered(folders: Folders, territory: Territory) -> set[Remark]:
    """Folders of clusters that are input of Kustomize or Helm."""
    inside = {folder for path in folders.places if not is_of_flux(path) and (folder := territory.unrendered(path))}
    message = "this directory is for Kustomize or Helm, which gitplacer does not run"
    return {Remark(Location(folder.rstrip("/")), message, _RENDER) for folder in inside}


def _unread_owners(tree: Tree, reading: Reading, folders: Folders) -> set[Remark]:
    """Files beside the folders of clusters that cannot be read and may hold what syncs these. Others there are nobody's business."""
    return {
        Remark.of(problem)
        for problem in reading.problems
        if (path := problem.location.file) not in folders.places
        and tree.entries[path].is_blob
        and may_steer(tree.read(path))
    }


def _links(folders: Folders, tree: Tree) -> set[Remark]:
    """
    What is no file among those of clusters that have no name of a manifest, and in the place of a folder of theirs: an engine may look behind them.
    """
    return {
        Remark(Location(path), *instead_of_a_file(entry))
        for path, entry in tree.entries.items()
        if not entry.is_text and not is_read(path) and _holds_some(folders.pattern, path)
    }


def _holds_some(pattern: str, path: str) -> bool:
    """Whether a pattern matches a path, or what could be below it."""
    return any(matches(pattern, f"{path}{'/x' * depth}") for depth in range(pattern.count("/") + 1))


def _in_capitals(folders: Folders, tree: Tree) -> set[Remark]:
    """What looks like a manifest of a cluster, and is none to an engine."""
    said = ((path, ending_in_capitals(path)) for path in tree if matches(folders.pattern, path))
    return {Remark(Location(path), *what) for path, what in said if what}


class _Settled(Struct, frozen=True):
    fleet: FleetFiles
    proof: Proof
    left: frozenset[Remark]
    fell_back: frozenset[Remark]


def _settled(copies: Copies, folders: Folders, others: Mapping[str, bytes], asked: Asked, memo: Memo) -> _Settled:
    """What is a workload, what the platform's, and what is left, so that all that is adopted stays as it is."""
    things = dict(copies.things)
    platform = set(surely_platform(things))
    left: set[Remark] = set()
    reasons: dict[Identity, Remark] = {}
    while things:
        fleet = fleet_files(things.values(), platform, folders.clusters, others)
        proof = proved(fleet, asked.now, asked.version, memo)
        if not proof.faults:
            fell_back = frozenset(remark for identity, remark in reasons.items() if identity in things)
            return _Settled(fleet, proof, frozenset(left), fell_back)
        _put_right(proof.faults, things, platform, left, reasons)
    raise CannotAdopt(f"nothing in {folders.pattern} can be adopted", _said(sorted(left)))


def _put_right(
    faults: Iterable[Fault],
    things: dict[Identity, Thing],
    platform: set[Identity],
    left: set[Remark],
    reasons: dict[Identity, Remark],
) -> None:
    """Take objects for less than they were taken for: platform objects, or, of some clusters or of all, none of ours."""
    for identity, same in itertools.groupby(
        sorted(faults, key=lambda fault: fault.identity), lambda fault: fault.identity
    ):
        told = list(same)
        remarks = sorted(fault.remark for fault in told if fault.remark is not None)
        clusters = sorted({name for fault in told for name in fault.clusters})
        thing = things.pop(identity)
        if clusters:
            kept = thing.but(clusters)
            left.update(remarks)
        elif identity not in platform:
            kept = thing
            platform.add(identity)
            reasons.update((identity, remark) for remark in remarks[:1])
        else:
            kept = None
            left.update(remarks or [Remark(thing.model.location, f"{identity} would not simply stay where it is")])
        if kept is not None:
            things[identity] = kept


_HEADER = """
Where things are. Objects lie in workloads/ and platform/, and policies/ says on which clusters they are.
{}
Write the address of the deployment repo here: spec.deployment.url.
"""


def _fleet_yaml(engine: str, given: str | None, found: Iterable[Owner]) -> bytes:
    """The Fleet, with what its engine was taken from."""
    owner = next((owner for owner in found if owner.engine == engine), None)
    if given is not None:
        why = f"What syncs the clusters is {engine}, as --engine said."
    elif owner is not None:
        why = f"What syncs the clusters is {engine}, as the {owner.kind} {owner.name} says."
    else:
        why = f"Nothing in the old repo says what syncs the clusters, so this says {engine}; the other one is {'flux' if engine == 'argocd' else 'argocd'}."
    value = {"apiVersion": API_VERSION, "kind": "Fleet", "metadata": {"name": "fleet"}, "spec": {"engine": engine}}
    return commented(_HEADER.strip().format(printable(why, 200)), value)
