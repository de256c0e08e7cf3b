"""
The fleet repo that says what the folders said.

What is on the same clusters and in the same namespace is side by side; a file whose objects all stay together is the same file, byte for
byte. What is on a cluster is said by one policy for each set of clusters, and by nothing that would ever choose another one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from gitplacer.adoption.copies import Copy, Thing
from gitplacer.adoption.differences import edits
from gitplacer.adoption.owners import FLUX_SYSTEM
from gitplacer.documents import Document, Edit, pointer
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.workload import Identity
from gitplacer.plaintext import printable
from gitplacer.render import joined
from gitplacer.source.files import NoMemo, read_documents
from gitplacer.source.manifests import PLATFORM, WORKLOADS
from gitplacer.tree import Tree
from gitplacer.yamltext import to_block_yaml

NO_NAMESPACE = "cluster-scoped"
"""The folder of what has no namespace, which no namespace can be called below `platform/<clusters>/`."""
_NAMESPACES = "namespaces"
_LONGEST = 60
_LONGEST_COMMENT = 400
_LONGEST_NAME = 200
"""Characters of a file's name, which may be followed by what makes it another: file systems take 255 bytes."""
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_RESERVED = ("kustomization", "Kustomization", "Chart", "cloudbuild", "gitplacer")
"""Names of files that mean something to engines or to us."""

Clusters = tuple[str, ...]


class Manifest(Struct, frozen=True):
    """One file of the fleet repo: its objects in order, and the path of the file that it is, byte for byte, if it is one."""

    things: tuple[Thing, ...]
    data: bytes
    origin: str | None


class Override(Struct, frozen=True):
    """What differs on some clusters: the OverridePolicy of a name, the file it stands in, and its edits."""

    name: str
    file: str
    thing: Thing
    clusters: Clusters
    edits: tuple[Edit, ...]


@dataclass(frozen=True, eq=False)
class FleetFiles:
    """`manifests` by path, and all files of the repo as `tree`."""

    manifests: Mapping[str, Manifest]
    overrides: tuple[Override, ...]
    tree: Tree
    _documents: dict[str, Sequence[Document]] = field(default_factory=dict, repr=False)

    def documents(self, path: str) -> Sequence[Document]:
        """What stands in one of its files, which whoever asks about one problem may ask again about the next."""
        if path not in self._documents:
            found = read_documents(self.tree, [path], NoMemo()).documents[path]
            self._documents[path] = [item.document for item in found]
        return self._documents[path]

    @cached_property
    def things(self) -> Mapping[Identity, Thing]:
        """All objects."""
        return {thing.identity: thing for manifest in self.manifests.values() for thing in manifest.things}

    @cached_property
    def platform(self) -> frozenset[Identity]:
        """The objects that are the platform's."""
        return frozenset(
            thing.identity
            for path, manifest in self.manifests.items()
            if path.startswith(f"{PLATFORM}/")
            for thing in manifest.things
        )


def fleet_files(
    things: Iterable[Thing], platform: Collection[Identity], clusters: Sequence[str], others: Mapping[str, bytes]
) -> FleetFiles:
    """The repo with these objects, those of `platform` as trusted ones, and with `others`, which are whole files."""
    names = SetNames(clusters)
    parts: dict[tuple[str, str, Clusters, str], list[Thing]] = defaultdict(list)
    for thing in things:
        unit = PLATFORM if thing.identity in platform else WORKLOADS
        parts[unit, _folder(thing, unit), thing.clusters, thing.model.place.below].append(thing)
    main = _main_sets(parts)
    manifests: dict[str, Manifest] = {}
    taken: set[str] = set()
    for (unit, space, on, below), members in sorted(parts.items(), key=lambda item: item[0]):
        members.sort(key=lambda thing: (thing.model.cluster, thing.model.document.file, thing.model.document.index))
        if unit == PLATFORM:
            folder = f"{PLATFORM}/{names[on]}/{space}"
        else:
            folder = f"{WORKLOADS}/{space}" if main[space] == on else f"{WORKLOADS}/{space}/{names[on]}"
        manifest = _manifest(members, unit)
        path = _free(folder, below, taken, as_it_is=manifest.origin is not None)
        manifests[path] = manifest
    overrides = tuple(_overrides(manifests, names))
    files = {path: manifest.data for path, manifest in manifests.items()}
    files |= _cluster_files(clusters) | _policies(parts, main, names) | _override_files(overrides, manifests)
    return FleetFiles(dict(sorted(manifests.items())), overrides, Tree.of({**files, **others}))


class SetNames:
    """What a set of clusters is called in names of files and policies."""

    def __init__(self, clusters: Sequence[str]) -> None:
        self._all = tuple(clusters)
        self._everywhere = "all" if "all" not in clusters and len(clusters) > 1 else None

    def __getitem__(self, on: Clusters) -> str:
        if on == self._all and self._everywhere:
            return self._everywhere
        name = ".".join(on)  # no cluster has a dot in its name
        if len(name) <= _LONGEST:
            return name
        return f"{len(on)}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _folder(thing: Thing, unit: str) -> str:
    identity = thing.identity
    if unit == PLATFORM and identity.kind == "Namespace" and not identity.api_group:
        return _NAMESPACES
    if identity.namespace == FLUX_SYSTEM:  # a folder called so is Flux's own, wherever it lies
        return f"namespace-{FLUX_SYSTEM}"
    return _plain(identity.namespace) or NO_NAMESPACE


def _main_sets(parts: Mapping[tuple[str, str, Clusters, str], Sequence[Thing]]) -> Mapping[str, Clusters]:
    """Of each namespace the clusters that most of its workloads are on: these need no folder of their own."""
    counts: dict[str, Counter[Clusters]] = defaultdict(Counter)
    for (unit, space, on, _), members in parts.items():
        if unit == WORKLOADS:
            counts[space][on] += len(members)
    return {space: min(found, key=lambda on: (-found[on], -len(on), on)) for space, found in counts.items()}


def _plain(name: str) -> str:
    return _NOT_PLAIN.sub("-", name).strip("-.")


def _free(folder: str, below: str, taken: set[str], *, as_it_is: bool) -> str:
    """A path for a file that was somewhere below the folder of a cluster: its name, or one that tells where it was."""
    stem, dot, ending = below.rpartition(".")
    ending = ending if as_it_is and dot else "yaml"
    parts = [plain for part in stem.split("/") if (plain := _plain(part))] or ["objects"]
    unlike = f"{parts[-1][:_LONGEST_NAME]}.{hashlib.sha256(below.encode()).hexdigest()[:8]}"
    for name in (parts[-1][:_LONGEST_NAME], "-".join(parts)[:_LONGEST_NAME], unlike, f"{unlike}.{len(taken)}"):
        path = f"{folder}/{name}.{ending}"
        if name not in _RESERVED and path.casefold() not in taken:
            taken.add(path.casefold())
            return path
    raise AssertionError(f"no name for {below}")


def _manifest(members: Sequence[Thing], unit: str) -> Manifest:
    models = [thing.model for thing in members]
    origin = models[0].document.file
    data = models[0].document.read()
    at_home = unit == WORKLOADS or not any(model.is_filled for model in models)
    one_file = all(model.document.file == origin for model in models)
    if at_home and one_file and models[0].siblings == len(models):
        return Manifest(tuple(members), data, origin)
    return Manifest(tuple(members), joined([_text(model, unit) for model in models]), None)


def _text(model: Copy, unit: str) -> bytes:
    """An object's own bytes. Below `workloads/` its path says its namespace; elsewhere it has to say it itself."""
    if model.is_filled and unit == PLATFORM:
        return model.document.edited([Edit(("metadata", "namespace"), "add", model.value["metadata"]["namespace"])])
    return model.document.source()


def _cluster_files(clusters: Iterable[str]) -> dict[str, bytes]:
    comment = "What it is like is not in the folders: write its region, its labels and its autoscaler here."
    return {
        f"clusters/{name}.yaml": commented(
            comment, {"apiVersion": API_VERSION, "kind": "Cluster", "metadata": {"name": name}, "spec": {}}
        )
        for name in clusters
    }


_STAYS = """
What was on {} before gitplacer came, and stays there. The names keep it where it is: a group can only go where its policy
lets it, and here that is where it runs. Immediate: nothing asks whether there is room for what runs already, nor waits for it.
To let gitplacer place some of it, give these files a policy that allows more clusters: see precedence.
"""


def _policies(
    parts: Mapping[tuple[str, str, Clusters, str], object], main: Mapping[str, Clusters], names: SetNames
) -> dict[str, bytes]:
    """A policy for each set of clusters. Paths do not overlap: `*` stays within a folder."""
    paths: dict[Clusters, set[str]] = defaultdict(set)
    for unit, space, on, _ in parts:
        if unit == PLATFORM:
            paths[on].add(f"{PLATFORM}/{names[on]}/**")
        elif main[space] == on:
            paths[on].add(f"{WORKLOADS}/{space}/*")
        else:
            paths[on].add(f"{WORKLOADS}/{space}/{names[on]}/*")
    found = {}
    for on, some in sorted(paths.items()):
        placement = {"admission": "Immediate", **({"copies": "All"} if len(on) > 1 else {})}
        value = {
            "apiVersion": API_VERSION,
            "kind": "PlacementPolicy",
            "metadata": {"name": f"stays-on-{names[on]}"},
            "spec": {"select": {"paths": sorted(some)}, "clusters": {"names": list(on)}, "placement": placement},
        }
        where = on[0] if len(on) == 1 else f"these {len(on)} clusters"
        found[f"policies/stays-on-{names[on]}.yaml"] = commented(_STAYS.strip().format(where), value)
    return found


def _overrides(manifests: Mapping[str, Manifest], names: SetNames) -> Iterator[Override]:
    taken: set[str] = set()
    for manifest in manifests.values():
        for thing in manifest.things:
            variants: dict[str, list[Copy]] = defaultdict(list)
            for copy in thing.copies.values():
                if copy.text != thing.model.text:
                    variants[copy.text].append(copy)
            for copies in variants.values():
                on = tuple(sorted(copy.cluster for copy in copies))
                done = tuple(edits(thing.model.value, copies[0].value))
                identity = thing.identity
                words = (names[on], identity.kind.lower(), identity.namespace, _plain(identity.name).lower())
                name = ".".join(filter(None, words))[:200].strip("-.")
                if name in taken:
                    name += f".{hashlib.sha256(str(identity).encode()).hexdigest()[:8]}"
                taken.add(name)
                yield Override(name, f"policies/differs-on-{names[on]}.yaml", thing, on, done)


def _override_files(overrides: Iterable[Override], manifests: Mapping[str, Manifest]) -> dict[str, bytes]:
    path_of = {id(thing): path for path, manifest in manifests.items() for thing in manifest.things}
    files: dict[str, list[bytes]] = defaultdict(list)
    for override in overrides:
        thing = override.thing
        told = printable(", ".join(str(thing.copies[name].location) for name in override.clusters), _LONGEST_COMMENT)
        value = {
            "apiVersion": API_VERSION,
            "kind": "OverridePolicy",
            "metadata": {"name": override.name},
            "spec": {
                "select": {
                    **({"namespaces": [thing.identity.namespace]} if thing.identity.namespace else {}),
                    "kinds": [thing.identity.kind],
                    "names": [thing.identity.name],
                    "paths": [path_of[id(thing)]],
                },
                "clusters": {"names": list(override.clusters)},
                "overrides": [_as_written(edit) for edit in override.edits],
            },
        }
        files[override.file].append(commented(f"As it was in {told}.", value))
    return {path: joined(documents) for path, documents in files.items()}


def _as_written(edit: Edit) -> dict[str, object]:
    return {"path": pointer(edit.path), "op": edit.op, **({} if edit.op == "remove" else {"value": edit.value})}


def commented(comment: str, value: Mapping[str, object]) -> bytes:
    """A file of one object, with what there is to say of it above it."""
    lines = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
    return lines.encode() + to_block_yaml(value)
