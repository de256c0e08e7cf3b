"""
The source repo, read whole: own kinds, objects, and everything wrong with them.

Directories are free and `kind` says what an object is, so all YAML and JSON files are read; files that are
neither workloads, platform nor ours are none of our business. A broken file holds what it governs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from gitplacer import pathglob
from gitplacer.announcements import decisions_problems
from gitplacer.charts import chart_problems
from gitplacer.documents import Document
from gitplacer.kinds import OWN_API_GROUP
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.labels import NAME_KEY
from gitplacer.model.workload import Identity
from gitplacer.problems import Location, Problem
from gitplacer.source.accounts import Brought, brought_accounts, with_foreign_accounts
from gitplacer.source.blindspots import about_blind_spots, blind_spots
from gitplacer.source.claims import Templates, claim_templates, with_devices
from gitplacer.source.customs import held_against_definitions
from gitplacer.source.files import (
    MAX_FILE,
    READ_ENDINGS,
    Memo,
    Reading,
    instead_of_a_file,
    is_read,
    is_read_but_for_case,
    read_documents,
)  # fmt: skip
from gitplacer.source.fleetspec import about_place, first_spec, may_hold_a_fleet, named_for_the_fleet
from gitplacer.source.manifests import PLATFORM, WORKLOADS, SourceObject, unit_of
from gitplacer.source.mentions import Mentions
from gitplacer.source.objects import irrelevant_codes, read_objects
from gitplacer.source.oddpaths import odd_paths
from gitplacer.source.ownkinds import OwnKinds, looks_own, read_own_kinds, torn_kinds
from gitplacer.source.pathfaults import about_odd, about_paths, case_twins
from gitplacer.source.scopes import Scopes, defined_scopes
from gitplacer.source.shares import Share, over_share, share_problems
from gitplacer.source.standby import SleepingClusters, read_standby, set_aside
from gitplacer.source.tenancy import Tenancy, read_tenancy, tenancy_problems
from gitplacer.source.territory import Territory
from gitplacer.source.trusted import with_trusted
from gitplacer.source.workloadkinds import Declarations, read_declarations
from gitplacer.tree import Tree

MOST_MENTIONS = 20
"""Unreadable files that are named as those that may hold a lost object; one would do to hold its group."""


class Source(Struct, frozen=True, dict=True):
    """
    All of the source repo that decisions look at. `broken_files` could not be read, or not wholly;
    `document_counts` says how many documents each file holds; `torn` are broken files that may have held own kinds, and `blind_spots`;
    `doubled` are objects of the platform that workload files hold as well, which does not count there.
    `claim_templates` are by namespace; `declarations` are the kinds that users declare; `sleeping` are the manifests of clusters.
    """

    own: OwnKinds
    objects: tuple[SourceObject, ...]
    broken_files: frozenset[str]
    document_counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    tree: Tree
    torn: frozenset[str]
    doubled: frozenset[Identity]
    claim_templates: Templates
    declarations: Declarations
    sleeping: SleepingClusters
    tenancy: Tenancy

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace: those of its manifest, if there is one, and its name."""
        found = self.namespaces.get(name)
        return {**(found.labels if found else {}), NAME_KEY: name}

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """All objects that could be read."""
        return frozenset(item.identity for item in self.objects)

    @cached_property
    def accounts(self) -> Brought:
        """All ServiceAccounts that could be read."""
        return brought_accounts(self.objects)

    @cached_property
    def sized_identities(self) -> frozenset[Identity]:
        """Those of them that become pods."""
        return frozenset(item.identity for item in self.objects if item.facts.sized)

    def unread_mentions(self, names: Sequence[str], namespace: str) -> list[str]:
        """
        Files that could not be read and in which one of the names of objects stands, sorted; but for those of a tenant who has nothing
        to say in their namespace. The first `MOST_MENTIONS` of them.
        """
        found = (path for path in self._mentions.of(*names) if self._speaks_of(path, namespace))
        return list(islice(found, MOST_MENTIONS))

    @cached_property
    def _mentions(self) -> Mentions:
        return Mentions(self._unread)

    def unread_words(self, namespace: str) -> frozenset[str]:
        """
        All words of the files that could not be read, and of their paths: whatever they refer to is among them. But for those of a tenant
        who has nothing to say in a namespace.
        """
        if namespace not in self._words_about:
            words = (said for path, said in self._words.items() if self._speaks_of(path, namespace))
            self._words_about[namespace] = frozenset[str]().union(*words)
        return self._words_about[namespace]

    def _speaks_of(self, path: str, namespace: str) -> bool:
        """Whether a file that could not be read may be about what is in a namespace."""
        return unit_of(self.own.fleet.spec, path) != WORKLOADS or self.tenancy.may_speak_of(path, namespace)

    @cached_property
    def _words(self) -> Mapping[str, frozenset[str]]:
        return {
            path: frozenset(
                word.decode("utf-8", "replace")
                for text in (path.replace("/", " ").encode(), data)
                for word in re.findall(rb"[\w.-]+", text)
            )
            for path, data in self._unread.items()
        }

    @cached_property
    def _words_about(self) -> dict[str, frozenset[str]]:
        return {}

    @cached_property
    def _unread(self) -> Mapping[str, bytes]:
        """What stands in the files that could not be read, as far as it is text, by path."""
        paths = [p for p in sorted(self.broken_files) if self.tree.entries[p].is_text]
        contents = self.tree.read_all(p for p in paths if self.tree.entries[p].size <= MAX_FILE)
        return {path: data.replace(b"\x00", b"") for path, data in contents.items()}

    def may_have_held(self, cluster: str) -> list[str]:
        """What may have described a cluster: what cannot be read, and files that bear its name and hold nothing of ours."""
        ours = {place.file for place in self.own.places.values()}
        spec = self.own.fleet.spec
        bearing = {
            path
            for path in self.tree
            if path.endswith(READ_ENDINGS) and path.rpartition("/")[2].rpartition(".")[0] == cluster
            if path not in ours and not unit_of(spec, path) and not path.startswith(spec.capacity.path + "/")
        }
        return sorted(self.torn | bearing)

    @cached_property
    def namespaces(self) -> Mapping[str, SourceObject]:
        """Manifests of namespaces, by name."""
        return {item.identity.name: item for item in self.objects if item.is_namespace}


class _Read(Struct, frozen=True):
    """What is read of a tree: `odd` paths and files that are too large are `unfit`; `ours` are own kinds, wherever they lie."""

    paths: list[str]
    odd: Mapping[str, tuple[str, str]]
    unfit: frozenset[str]
    reading: Reading
    ours: list[Document]


def _read(tree: Tree, memo: Memo) -> _Read:
    paths = [path for path in tree if is_read(path)]
    odd = odd_paths(tree)
    unfit = {*odd, *(path for path in paths if tree.entries[path].size > MAX_FILE)}
    reading = read_documents(tree, [path for path in paths if path not in unfit], memo)
    everything = (item.document for items in reading.documents.values() for item in items)
    return _Read(paths, odd, frozenset(unfit), reading, [document for document in everything if looks_own(document)])


def read_source(tree: Tree, memo: Memo, trusted: FleetSpec | None = None) -> Source:
    """
    Read the whole source tree. `trusted` is what counts instead of what its own Fleet says.

    Raises Rejected, with every problem found, when there is not exactly one readable Fleet or a Cluster cannot
    be read.
    """
    read = _read(tree, memo)
    reading = read.reading
    spec = trusted or first_spec(read.ours, may_hold_a_fleet(tree, [*reading.broken, *read.unfit])) or FleetSpec()
    land = Territory(tree, spec)

    # Where own kinds are read, and which files that are not read may have held some.
    torn = _torn(read, land)
    outside = [document for document in read.ours if land.is_trusted(document.file)]
    beside = {document.file.rpartition("/")[0] for document in outside}
    has_fleet = any(document.parsed.says[1] == "Fleet" for document in outside)
    tenancy = read_tenancy(outside, {kind for data in torn.values() for kind in torn_kinds(data)}, spec)
    twins = case_twins(read.paths, land, tenancy)
    torn |= land.trusted_bytes(twins)
    outside = sorted((d for d in outside if d.file not in twins), key=lambda d: (d.file, d.index))

    # What is wrong with files.
    over = over_share(_shares(reading, tree, land, tenancy))
    found = [*about_paths(tree, land, twins), *_about_large_files(tree, read.paths, land, memo), *share_problems(over)]
    named = named_for_the_fleet(tree)
    wanted = () if has_fleet else {named}
    found += _worth_telling([*reading.problems, *about_odd(read.odd)], land, torn, beside, wanted)
    for problem in _links_beside(tree, land, beside):
        torn[problem.location.file] = OWN_API_GROUP.encode()  # it may have been one of them
        found.append(problem)
    above = list(_links_above(tree, spec))
    blind = [path for path in blind_spots(tree, spec) if path not in torn]
    found += [*above, *about_blind_spots(tree, {*blind}.difference(problem.location.file for problem in above))]
    unused = {*twins, *(path for paths in over.values() for path in paths)}
    reading = replace(reading, documents={p: items for p, items in reading.documents.items() if p not in unused})

    # Objects of workloads and of the platform.
    # Kustomize and Helm keep us from reading workloads; our own kinds beside their files are read all the same.
    rendered = {p: items for p, items in reading.documents.items() if not (land.unrendered(p) and land.unit(p))}
    declarations = read_declarations(outside, torn, rendered, found)
    platform = (i.document for p, items in rendered.items() if land.unit(p) == PLATFORM for i in items)
    objects, broken, doubled = read_objects(
        declarations.applied(rendered), land, set(map(id, outside)), (land.capacity, *set_aside(outside)),
        irrelevant_codes(spec, reading), tenancy, Scopes(defined_scopes(platform), declarations.declare), found,
    )  # fmt: skip
    objects = tuple(with_foreign_accounts(objects, tenancy))
    templates = claim_templates(objects)
    objects = held_against_definitions(tuple(with_devices(objects, templates, declarations.kinds)), tree, memo)
    found += [problem for item in objects for problem in item.problems]

    # Own kinds.
    own = read_own_kinds(outside, torn, found, named)
    found += tenancy_problems(tenancy, outside)
    if trusted is not None:
        own = with_trusted(own, outside, trusted, found)
    place = own.places[f"Fleet/{own.fleet.metadata.name}"]
    found += [*chart_problems(own.fleet.spec, own.clusters.values(), place), *about_place(place)]
    found += decisions_problems(own.fleet.spec, own.clusters, place)

    unread = frozenset({*reading.broken, *broken, *read.unfit, *unused, *_never_read(tree, land)})
    sleeping = read_standby(own, outside, rendered, unread, tree, found)
    return Source(
        own=own,
        objects=objects,
        broken_files=unread,
        document_counts={path: len(items) for path, items in reading.documents.items()},
        problems=tuple(sorted(set(found))),
        tree=tree,
        torn=frozenset({*torn, *blind}),
        doubled=doubled,
        claim_templates=templates,
        declarations=declarations,
        sleeping=sleeping,
        tenancy=tenancy,
    )


def _torn(read: _Read, land: Territory) -> dict[str, bytes]:
    """The files that could not be read and may have held own kinds, with their bytes."""
    torn = land.trusted_bytes({*read.reading.broken, *read.unfit})
    # Of what is passed over for its ending, most is data that is nobody's manifest.
    return {path: data for path, data in torn.items() if not is_read_but_for_case(path) or torn_kinds(data)}


def _never_read(tree: Tree, land: Territory) -> set[str]:
    """The paths of what is no file, and of what Kustomize or Helm would have to render first."""
    return {path for path, entry in tree.entries.items() if not entry.is_text or land.unrendered(path)}


def _links_beside(tree: Tree, land: Territory, beside: Collection[str]) -> Iterator[Problem]:
    """What is no file among clusters and policies: what a link leads to is not read. `beside` are their folders."""
    for path in sorted(path for path, entry in tree.entries.items() if not entry.is_text):
        if path.endswith(READ_ENDINGS) and not land.unit(path) and path.rpartition("/")[0] in beside:
            yield Problem(Location(path), "NotAFile", *instead_of_a_file(tree.entries[path]))


def _links_above(tree: Tree, spec: FleetSpec) -> Iterator[Problem]:
    """What is no folder where the Fleet says that manifests or snapshots lie: nothing below it is read."""
    said = [pathglob.beginning(pattern) for pattern in (*spec.source.include, *spec.platform.paths)]
    if spec.capacity.url is None and spec.capacity.branch is None:
        said.append(f"{spec.capacity.path}/")
    for path in sorted(path for path, entry in tree.entries.items() if not entry.is_text):
        if any(folder.startswith(f"{path}/") for folder in said):
            yield Problem(Location(path), "NotAFile", *instead_of_a_file(tree.entries[path]))


def _shares(reading: Reading, tree: Tree, land: Territory, tenancy: Tenancy) -> Iterator[tuple[str, str, Share]]:
    """The workload files with their owners, by path, and what each takes."""
    for path, items in sorted(reading.documents.items()):
        if land.unit(path) == WORKLOADS:
            owner = tenancy.owner(path)
            yield path, owner.name if owner else "", Share(1, len(items), tree.entries[path].size)


def _worth_telling(
    problems: Iterable[Problem],
    land: Territory,
    torn: Mapping[str, bytes],
    beside: Collection[str],
    wanted: Collection[str | None],
) -> Iterator[Problem]:
    """
    Problems of files that are ours, that are `wanted` to be, or that lie `beside` what is ours in a folder: other YAML in the repo may be as it
    likes, and so may all at the top. So may what is input of Kustomize or Helm, of which its directory is told.
    """
    for problem in problems:
        path = problem.location.file
        if path.startswith(land.capacity):
            continue
        folder = path.rpartition("/")[0]
        among_ours = land.unit(path) or (folder and folder in beside and path in torn)
        is_ours = path in wanted or (path in torn and torn_kinds(torn[path]))
        if is_ours or (among_ours and not land.unrendered(path)):
            yield problem


def _about_large_files(tree: Tree, paths: Iterable[str], land: Territory, memo: Memo) -> Iterator[Problem]:
    large = [p for p in paths if tree.entries[p].size > MAX_FILE and not p.startswith(land.capacity)]
    yield from read_documents(tree, large, memo).problems
