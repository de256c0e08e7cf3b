"""
The manifests of clusters that may sleep: which files they are, and what is wrong with them.

They lie below the platform paths, because whoever may write them may make and delete clusters; but they are no platform group,
which would go to every cluster. So the directories that a Cluster or the Fleet names are set aside, and only their bytes are used
later. A mistake in them holds the one cluster in the state it is in, and nothing else.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Document, Path, parse
from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.kinds.standby import Clone, ManifestFolders, Standby, StandbyManifests
from gitplacer.problems import Problem, Severity, nearest
from gitplacer.source.files import SourceDocument, is_read, read_document
from gitplacer.source.manifests import PLATFORM, read_manifest, unit_of
from gitplacer.source.ownkinds import OwnKinds
from gitplacer.source.tenancy import Tenancy
from gitplacer.tree import Tree, folded

NAME = "${name}"
"""What stands for a clone's name in its templates."""
STANDBY_FOLDER = "standby"
"""The directory, in a platform unit, of the manifests of clusters."""


class ManifestFile(Struct, frozen=True):
    """A file of the source, and what it is called below the directory of its cluster."""

    path: str
    name: str


class ManifestSet(Struct, frozen=True):
    """The files of a cluster that is awake and of one that sleeps, and the cluster that they are rendered into."""

    into: str
    active: tuple[ManifestFile, ...]
    standby: tuple[ManifestFile, ...]


class SleepingClusters(Struct, frozen=True):
    """
    The manifests of clusters by name, where they have any. `faulty` are clusters of which something is wrong; `templates` are
    those of clones, None where there are none to be made.
    """

    manifests: Mapping[str, ManifestSet] = field(default_factory=dict)
    faulty: frozenset[str] = frozenset()
    templates: ManifestSet | None = None


def set_aside(documents: Iterable[Document]) -> tuple[str, ...]:
    """The directories, with a slash, that hold manifests of clusters, read before anybody has judged who names them."""
    found = set()
    for document in documents:
        below = {"Cluster": "standby", "Fleet": "clone"}.get(str(document.parsed.says[1]))
        manifests = _at(document.value, ("spec", below, "manifests")) if below else None
        folders = (_at(manifests, (key,)) for key in ("active", "standby"))
        found |= {f"{folder.rstrip('/')}/" for folder in folders if isinstance(folder, str) and folder.strip("/")}
    return tuple(sorted(found))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def read_standby(
    own: OwnKinds,
    documents: Iterable[Document],
    files: Mapping[str, tuple[SourceDocument, ...]],
    unread: Collection[str],
    tree: Tree,
    problems: list[Problem],
) -> SleepingClusters:
    """
    The manifests of all clusters that may sleep. `documents` are those of our kinds, `files` what could be read of the source
    and `unread` what could not; problems found are added.
    """
    at = {f"{d.parsed.says[1]}/{_at(d.parsed.metadata, ('name',))}": d for d in documents}
    reading = _Folders(own.fleet.spec, files, unread, tree)
    found: dict[str, ManifestSet] = {}
    faulty = set()
    for name, cluster in own.clusters.items():
        standby = cluster.spec.standby
        if standby is None or standby.manifests is None:
            continue
        document = at[f"Cluster/{name}"]
        wrong = list(_about_target(name, standby.manifests, own.clusters, document))
        path = ("spec", "standby", "manifests")
        sets, more = reading.read(standby.manifests, document, path, name)
        wrong += more
        problems += wrong
        if wrong:
            faulty.add(name)
        else:
            found[name] = ManifestSet(standby.manifests.render_into, *sets)
    for name, problem in _shared_folders(own.clusters, at):
        problems.append(problem)
        faulty.add(name)
        found.pop(name, None)
    templates = _templates(own, at[f"Fleet/{own.fleet.metadata.name}"], reading, problems)
    return SleepingClusters(found, frozenset(faulty), templates)


def _about_target(
    name: str, manifests: StandbyManifests, clusters: Mapping[str, Cluster], document: Document
) -> Iterator[Problem]:
    """What keeps a cluster from being the one that another's manifests are rendered into."""
    into = manifests.render_into
    target = clusters.get(into)
    if into == name:
        said, hint = "is this cluster itself, which could not wake itself", "name a cluster that stays awake"
    elif target is None:
        said, hint = f"there is no Cluster {into}", nearest(into, clusters)
    elif target.spec.standby is not None:
        said, hint = f"{into} goes to sleep itself, and nobody could wake both", "name a cluster without standby"
    else:
        return
    path = ("spec", "standby", "manifests", "renderInto")
    yield document.problem("StandbyTarget", f"renderInto: {said}", hint, path=path)


def _shared_folders(clusters: Mapping[str, Cluster], at: Mapping[str, Document]) -> Iterator[tuple[str, Problem]]:
    """Clusters whose manifests are those of another too: one would put the other to sleep."""
    by_folder: dict[str, list[str]] = defaultdict(list)
    for name, cluster in sorted(clusters.items()):
        if cluster.spec.standby is not None and cluster.spec.standby.manifests is not None:
            manifests = cluster.spec.standby.manifests
            for key, folder in (("active", manifests.active), ("standby", manifests.standby)):
                others = [other for other in by_folder[folder] if other != name]
                if others:
                    message = f"{folder} holds the manifests of {others[0]} already"
                    path = ("spec", "standby", "manifests", key)
                    hint = "give each cluster directories of its own"
                    yield name, at[f"Cluster/{name}"].problem("StandbyManifests", message, hint, path=path)
                by_folder[folder].append(name)


def _templates(own: OwnKinds, document: Document, reading: _Folders, problems: list[Problem]) -> ManifestSet | None:
    clone = own.fleet.spec.clone
    if clone is None:
        return None
    model = own.clusters.get(clone.source)
    wrong = [] if (why := _no_model(clone, model, own.clusters)) is None else [why]
    found = [document.problem("CloneModel", text, hint, path=("spec", "clone", "from")) for text, hint in wrong]
    sets, more = reading.read(clone.manifests, document, ("spec", "clone", "manifests"), clone.source, NAME)
    found += more
    problems += found
    standby = model.spec.standby if model is not None else None
    if found or standby is None or standby.manifests is None:
        return None
    return ManifestSet(standby.manifests.render_into, *sets)


def _no_model(clone: Clone, model: Cluster | None, clusters: Mapping[str, Cluster]) -> tuple[str, str] | None:
    """Why clones cannot be made after a cluster, and what to do; None if they can."""
    if model is None:
        return f"there is no Cluster {clone.source}", nearest(clone.source, clusters)
    standby: Standby | None = model.spec.standby
    if standby is None or not standby.nodes or standby.manifests is None:
        lacks = "no standby" if standby is None else "no nodes" if not standby.nodes else "no manifests"
        hint = "write spec.standby with nodes and manifests: a clone has what they say"
        return f"cluster {clone.source} has {lacks}, so nobody knows what a clone of it is", hint
    return None


class _Folders:
    """Reads directories of manifests."""

    def __init__(
        self,
        spec: FleetSpec,
        files: Mapping[str, tuple[SourceDocument, ...]],
        unread: Collection[str],
        tree: Tree,
    ) -> None:
        self._spec = spec
        self._files = files
        self._unread = unread
        self._tree = tree

    def read(
        self, folders: ManifestFolders, document: Document, path: Path, cluster: str, mark: str = ""
    ) -> tuple[tuple[tuple[ManifestFile, ...], tuple[ManifestFile, ...]], list[Problem]]:
        """The files of both directories, and what is wrong; `mark` is what every object must have in its name."""
        problems: list[Problem] = []
        sets = []
        for key, folder in (("active", folders.active), ("standby", folders.standby)):
            paths = [p for p in self._tree if p.startswith(f"{folder}/") and is_read(p)]
            why = self._unusable(folder, paths)
            if why is not None:
                problems.append(document.problem("StandbyManifests", *why, path=(*path, key)))
            else:
                problems += [problem for p in paths for problem in self._about_objects(p, cluster, mark)]
            sets.append(tuple(_named(folder, paths)))
        return (sets[0], sets[1]), problems

    def _unusable(self, folder: str, paths: Sequence[str]) -> tuple[str, str] | None:
        """What is wrong with a directory, and what to do."""
        outside = next((p for p in paths if unit_of(self._spec, p) != PLATFORM), None)
        broken = next((p for p in paths if p in self._unread), None)
        if not paths:
            return f"there are no manifests in {folder}", "write them there; names are from the top of the source"
        if outside is not None:
            hint = f"put it below one of {', '.join(self._spec.platform.paths)}, or add it to the Fleet's spec.platform.paths"
            return f"{folder} is outside of the platform paths", hint
        if broken is not None:
            return f"{broken} cannot be read", "mend the file; until then the cluster stays as it is"
        if not any(self._files.get(p) for p in paths):
            return f"{folder} holds no manifests", "write at least one: what stands for the cluster in this state"
        return None

    def _about_objects(self, path: str, cluster: str, mark: str) -> Iterator[Problem]:
        for item in self._files.get(path, ()):
            name = _at(item.document.parsed.metadata, ("name",))
            if mark and isinstance(name, str) and mark not in name:
                hint = f"write {mark} into it, so that each clone has objects of its own"
                message = f"the name of each object of a clone has {mark} in it"
                yield item.document.problem("CloneTemplate", message, hint, path=("metadata", "name"))
                continue
            made = self._as_clone(item, cluster) if mark else item
            read = read_manifest(self._spec, PLATFORM, made, Tenancy())
            found = read if isinstance(read, list) else read.problems
            yield from (problem for problem in found if problem.severity is Severity.ERROR)

    @staticmethod
    def _as_clone(item: SourceDocument, cluster: str) -> SourceDocument:
        """A template as the object that it becomes."""
        old = item.document
        data = filled(old.read(), cluster)
        parsed = parse(data).documents
        document = Document(old.file, parsed[old.index], old.index, partial(bytes, data))
        return SourceDocument(document, *read_document(document))


def filled(template: bytes, name: str) -> bytes:
    """A template with a clone's name in place of the mark. A name is a DNS label, so it cannot change what surrounds it."""
    return template.replace(NAME.encode(), name.encode())


def _named(folder: str, paths: Iterable[str]) -> Iterator[ManifestFile]:
    """Each file with a name that both engines read and that no two of them share; one dot marks it as written by us."""
    taken: dict[str, str] = {}
    for path in paths:
        stem = path[len(folder) + 1 :].rpartition(".")[0].replace(".", "-")
        name = f"{stem}.yaml"
        if taken.setdefault(folded(name), path) != path:
            name = f"{stem}-{hashlib.sha256(path.encode()).hexdigest()[:8]}.yaml"
        yield ManifestFile(path, name)
