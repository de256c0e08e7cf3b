"""
The source repo, read whole: own kinds, objects, and everything wrong with them.

Directories are free and `kind` says what an object is, so all YAML and JSON files are read; files that are
neither workloads, platform nor ours are none of our business. A broken file holds what it governs.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gitplacer.charts import chart_problems
from gitplacer.documents import Document
from gitplacer.kinds import OWN_API_GROUP
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Fleet, FleetSpec
from gitplacer.kinds.parse import parse_own
from gitplacer.model.workload import Identity
from gitplacer.problems import Location, Problem, Rejected, Severity
from gitplacer.rules import ONLY_FLUX
from gitplacer.source.accounts import brought_accounts, with_foreign_accounts
from gitplacer.source.claims import Templates, claim_templates, with_devices
from gitplacer.source.customs import held_against_definitions
from gitplacer.source.files import (
    MAX_FILE,
    MAX_SNAPSHOT,
    READ_ENDINGS,
    Memo,
    Reading,
    SourceDocument,
    is_read,
    read_documents,
)
from gitplacer.source.manifests import PLATFORM, WORKLOADS, SourceObject, read_manifest, unit_of
from gitplacer.source.oddpaths import odd_paths
from gitplacer.source.ownkinds import OwnKinds, looks_own, read_own_kinds, torn_kinds
from gitplacer.source.scopes import Scopes, defined_scopes
from gitplacer.source.shares import Share, beyond, share_problems
from gitplacer.source.standby import SleepingClusters, read_standby, set_aside
from gitplacer.source.tenancy import Tenancy, read_tenancy, tenancy_problems
from gitplacer.source.trusted import with_trusted
from gitplacer.source.workloadkinds import Declarations, read_declarations
from gitplacer.tree import Tree

_UNRENDERED = ("kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml")


@dataclass(frozen=True)
class Source:
    """
    All of the source repo that decisions look at. `broken_files` could not be read, or not wholly;
    `document_counts` says how many documents each file holds; `torn` are broken files that may have held own kinds;
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
        return {**(found.labels if found else {}), "kubernetes.io/metadata.name": name}

    @cached_property
    def identities(self) -> frozenset[Identity]:
        """All objects that could be read."""
        return frozenset(item.identity for item in self.objects)

    @cached_property
    def accounts(self) -> frozenset[Identity]:
        """All ServiceAccounts that could be read."""
        return brought_accounts(self.objects)

    @cached_property
    def sized_identities(self) -> frozenset[Identity]:
        """Those of them that become pods."""
        return frozenset(item.identity for item in self.objects if item.facts.sized)

    def unread_mentions(self, names: Sequence[str], namespace: str) -> list[str]:
        """
        Files that could not be read and in which one of the names of objects stands, sorted; but for those of a tenant who has nothing
        to say in their namespace.
        """
        if not names:
            return []
        words = re.compile(rb"(?<![\w.-])(" + b"|".join(re.escape(name.encode()) for name in names) + rb")(?![\w.-])")
        return [path for path, data in self._unread.items() if self._speaks_of(path, namespace) if words.search(data)]

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
        """Files that may have described a cluster: unreadable ones, and those that bear its name and hold nothing of ours."""
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


def read_source(tree: Tree, memo: Memo, trusted: FleetSpec | None = None) -> Source:
    """
    Read the whole source tree. `trusted` is what counts instead of what its own Fleet says.

    Raises Rejected, with every problem found, when there is not exactly one readable Fleet or a Cluster cannot
    be read.
    """
    paths = [path for path in tree if is_read(path)]
    folders = _unrendered_folders(tree)
    odd = odd_paths(tree, is_read)
    large = {path for path in paths if tree.entries[path].size > MAX_FILE}
    unfit = {*odd, *large}
    reading = read_documents(tree, [path for path in paths if path not in unfit], memo)
    everything = [item.document for items in reading.documents.values() for item in items]
    ours = [document for document in everything if looks_own(document)]
    spec = trusted or _first_spec(ours, _may_hold_a_fleet(tree, [*reading.broken, *unfit])) or FleetSpec()
    capacity = spec.capacity.path + "/"

    def trusted_bytes(names: Iterable[str]) -> dict[str, bytes]:
        return {
            path: tree.read(path)
            for path in sorted(names)
            if tree.entries[path].is_text and tree.entries[path].size <= MAX_SNAPSHOT
            if unit_of(spec, path) != WORKLOADS and not path.startswith(capacity)
        }

    torn = trusted_bytes({*reading.broken, *unfit})
    outside = [d for d in ours if unit_of(spec, d.file) != WORKLOADS and not d.file.startswith(capacity)]
    tenancy = read_tenancy(outside, {kind for data in torn.values() for kind in torn_kinds(data)}, spec)
    twins = _case_twins(paths, spec, tenancy)
    torn |= trusted_bytes(twins)
    over = beyond(_shares(reading, tree, spec, tenancy))
    unused = {*twins, *(path for paths in over.values() for path in paths)}
    reading = replace(reading, documents={p: items for p, items in reading.documents.items() if p not in unused})
    # Kustomize and Helm keep us from reading workloads; our own kinds beside their files are read all the same.
    unrendered = {path for path in paths if path.startswith(folders) and unit_of(spec, path)}
    found = [*_about_paths(tree, spec, folders, twins, capacity), *_about_large_files(tree, paths, capacity, memo)]
    found += share_problems(over)
    found += _worth_telling([*reading.problems, *_about_odd(odd)], spec, torn, capacity)
    links = {path for path, entry in tree.entries.items() if not entry.is_text}
    outside = sorted((d for d in outside if d.file not in twins), key=lambda d: (d.file, d.index))
    beside = {document.file.rpartition("/")[0] for document in outside}
    for path in sorted(links):
        if path.endswith(READ_ENDINGS) and not unit_of(spec, path) and path.rpartition("/")[0] in beside:
            torn[path] = OWN_API_GROUP.encode()  # a link among clusters and policies may have been one of them
            hint = "commit the file itself"
            found.append(Problem(Location(path), "NotAFile", "is a symbolic link, which is not followed", hint))
    rendered = {path: items for path, items in reading.documents.items() if path not in unrendered}
    declarations = read_declarations(outside, torn, rendered, found)
    irrelevant = _irrelevant(spec, reading)
    elsewhere = (capacity, *set_aside(outside))
    platform = (d for p, items in rendered.items() if unit_of(spec, p) == PLATFORM for d in (i.document for i in items))
    scopes = Scopes(defined_scopes(platform), declarations.declare)
    objects, broken, doubled = _objects(
        declarations.applied(rendered), spec, set(map(id, outside)), elsewhere, irrelevant, tenancy, scopes, found
    )
    objects = tuple(with_foreign_accounts(objects, tenancy))
    templates = claim_templates(objects)
    objects = held_against_definitions(tuple(with_devices(objects, templates, declarations.kinds)), tree, memo)
    found += [problem for item in objects for problem in item.problems]
    own = read_own_kinds(outside, torn, found)
    found += tenancy_problems(tenancy, outside)
    if trusted is not None:
        own = with_trusted(own, outside, trusted, found)
    place = own.places[f"Fleet/{own.fleet.metadata.name}"]
    found += chart_problems(own.fleet.spec, own.clusters.values(), place)
    found += _about_place(place)
    unread = frozenset({*reading.broken, *broken, *unfit, *unused, *links, *(p for p in tree if p.startswith(folders))})
    counts = {path: len(items) for path, items in reading.documents.items()}
    sleeping = read_standby(own, outside, rendered, unread, tree, found)
    told = tuple(sorted(set(found)))
    return Source(
        own, objects, unread, counts, told, tree, frozenset(torn), doubled, templates, declarations, sleeping, tenancy
    )


def fleet_spec(tree: Tree, memo: Memo) -> FleetSpec:
    """The spec of a source's Fleet, as `readable_fleet` finds it; the defaults if there is none to read."""
    return readable_fleet(tree, memo) or FleetSpec()


def readable_fleet(tree: Tree, memo: Memo) -> FleetSpec | None:
    """The spec of a source's Fleet, looked for in files called fleet first; None if there is none to read."""
    every = [path for path in tree if is_read(path)]
    paths = [path for path in every if tree.entries[path].size <= MAX_FILE]
    likely = [path for path in paths if path.rpartition("/")[2].partition(".")[0] == "fleet"]
    for some in (likely, paths):
        reading = read_documents(tree, some, memo)
        ours = [item.document for items in reading.documents.values() for item in items if looks_own(item.document)]
        if some is paths or any(_is_fleet(document) and _is_on_top(document) for document in ours):
            try:
                return _first_spec(ours, _may_hold_a_fleet(tree, [*reading.broken, *(set(every) - set(paths))]))
            except Rejected:
                return None
    return None


def _first_spec(ours: Iterable[Document], torn: Collection[str]) -> FleetSpec | None:
    """
    The spec of the Fleet that says what the workload paths are; None if it cannot be read. Other Fleets are looked at later, if at all:
    one inside the workload paths does not count, so that nobody who may only write workloads can stop the fleet by adding one.

    What lies at the top goes first, also where it cannot be read: it may be among `torn`. Of Fleets in folders one goes that lies in the
    workload paths of another, but not if it says the same of that one. Then each calls the other a workload, nobody knows which is
    right, and the run stops: raises Rejected.
    """
    fleets = sorted(filter(_is_fleet, ours), key=lambda d: (d.file.count("/"), d.file, d.index))
    if not fleets:
        return None
    if _is_on_top(fleets[0]) or torn:
        return _spec_of(fleets[0]) if _is_on_top(fleets[0]) else None
    specs = [_spec_of(fleet) or FleetSpec() for fleet in fleets]
    held = {
        (one, other)
        for one, fleet in enumerate(fleets)
        for other, spec in enumerate(specs)
        if one != other and unit_of(spec, fleet.file) == WORKLOADS
    }
    for one, other in sorted(held):
        if (other, one) in held:
            message = f"{fleets[one].file} and {fleets[other].file} hold a Fleet, and each is in the workload paths of the other"
            raise Rejected(
                [fleets[one].problem("NotOneFleet", message, "put the Fleet that counts at the top of the source")]
            )
    first = next((n for n in range(len(fleets)) if not any(one == n for one, _ in held)), None)
    return _spec_of(fleets[first]) if first is not None else None


def _is_fleet(document: Document) -> bool:
    return document.value.get("kind") == "Fleet"


def _is_on_top(document: Document) -> bool:
    return "/" not in document.file


def _spec_of(document: Document) -> FleetSpec | None:
    parsed: Model | list[Problem] = parse_own(document)
    return parsed.spec if isinstance(parsed, Fleet) else None


def _may_hold_a_fleet(tree: Tree, unread: Iterable[str]) -> set[str]:
    """Files at the top that could not be read, and that seem to hold a Fleet or do not say what they hold."""
    texts = [p for p in unread if "/" not in p and tree.entries[p].is_text and tree.entries[p].size <= MAX_SNAPSHOT]
    return {path for path in texts if torn_kinds(tree.read(path)) & {"Fleet", ""}}


def _about_place(place: Location) -> Iterator[Problem]:
    if "/" in place.file:
        message = f"the Fleet is in a folder, {place.file}: another one among the workloads could be taken for it"
        yield Problem(place, "FleetNotOnTop", message, "put it at the top of the source", severity=Severity.WARNING)


def _objects(
    documents: Mapping[str, tuple[SourceDocument, ...]],
    spec: FleetSpec,
    own: set[int],
    elsewhere: tuple[str, ...],
    irrelevant: Collection[str],
    tenancy: Tenancy,
    scopes: Scopes,
    found: list[Problem],
) -> tuple[tuple[SourceObject, ...], set[str], frozenset[Identity]]:
    """
    The objects of both units in order of path and place, the files with documents that are none, and the objects of the platform that
    workloads would have as well: there they are none, so that nobody who may only write workloads stops what the platform brings.
    """
    objects: list[SourceObject] = []
    broken: set[str] = set()
    for path, items in sorted(documents.items()):
        unit = None if path.startswith(elsewhere) else unit_of(spec, path)
        for item in items if unit else ():
            if unit is None or id(item.document) in own:
                continue
            read = read_manifest(spec, unit, item, tenancy, irrelevant, scopes)
            if isinstance(read, SourceObject):
                objects.append(read)
            else:
                found.extend(read)
                broken.add(path)
    platform = {item.identity: item.document for item in objects if item.unit == PLATFORM}
    doubles = [item for item in objects if item.unit != PLATFORM and item.identity in platform]
    for double in doubles:
        message = f"{double.identity} is at {platform[double.identity].locate()} too"
        hint = "it is for the platform to bring; remove it here"
        found.append(double.document.problem("DuplicateObject", message, hint))
        broken.add(double.path)
    ours = [item for item in objects if item.unit == PLATFORM or item.identity not in platform]
    return tuple(_with_duplicates_marked(ours)), broken, frozenset(double.identity for double in doubles)


def _irrelevant(spec: FleetSpec, reading: Reading) -> Collection[str]:
    """
    Codes of what goes wrong only with Flux, where it is not the engine; and what its substitution would do, where the
    Kustomizations that lie in the repo have none.
    """
    if spec.engine != "flux":
        return ONLY_FLUX
    values = [item.document.value for items in reading.documents.values() for item in items]
    specs = [v.get("spec") for v in values if v.get("kind") == "Kustomization" and _is_flux(v.get("apiVersion"))]
    return ("FluxVariable",) if specs and not any(isinstance(s, dict) and s.get("postBuild") for s in specs) else ()


def _is_flux(api_version: object) -> bool:
    return isinstance(api_version, str) and api_version.startswith("kustomize.toolkit.fluxcd.io/")


def _with_duplicates_marked(objects: list[SourceObject]) -> Iterator[SourceObject]:
    by_identity: dict[Identity, list[SourceObject]] = defaultdict(list)
    for item in objects:
        by_identity[item.identity].append(item)
    for item in objects:
        others = [other for other in by_identity[item.identity] if other is not item]
        if not others:
            yield item
            continue
        hint = "keep one of them; two groups that need one object can share it"
        place = others[0].document.locate()
        problem = item.document.problem("DuplicateObject", f"{item.identity} is at {place} too", hint)
        yield replace(item, problems=(*item.problems, problem))


def _shares(reading: Reading, tree: Tree, spec: FleetSpec, tenancy: Tenancy) -> Iterator[tuple[str, str, Share]]:
    """The workload files with their owners, by path, and what each takes."""
    for path, items in sorted(reading.documents.items()):
        if unit_of(spec, path) == WORKLOADS:
            owner = tenancy.owner(path)
            yield path, owner.name if owner else "", Share(1, len(items), tree.entries[path].size)


def _about_odd(odd: Mapping[str, tuple[str, str]]) -> Iterator[Problem]:
    for path, (what, hint) in odd.items():
        yield Problem(Location(path), "OddPath", what, hint)


def _worth_telling(
    problems: Iterable[Problem], spec: FleetSpec, torn: Mapping[str, bytes], capacity: str
) -> Iterator[Problem]:
    """Problems of files that are ours: other YAML in the repo may be as it likes."""
    for problem in problems:
        path = problem.location.file
        if path.startswith(capacity):
            continue
        if unit_of(spec, path) or (path in torn and torn_kinds(torn[path])):
            yield problem


def _about_paths(
    tree: Tree, spec: FleetSpec, folders: tuple[str, ...], twins: Mapping[str, str], capacity: str
) -> Iterator[Problem]:
    for folder in folders:
        if any(unit_of(spec, path) for path in tree if path.startswith(folder)):
            yield Problem(
                Location(folder.rstrip("/")),
                "NotRendered",
                "this directory is for Kustomize or Helm, which gitplacer does not run",
                "render it in CI and commit the result, or point --path at the rendered copy",
            )
    for path, twin in twins.items():
        hint = "rename one: some file systems cannot hold both"
        where = "is in a folder that differs" if twin.endswith("/") else "differs"
        yield Problem(Location(path), "CaseTwin", f"{where} from {twin} only in upper and lower case", hint)
    for path, entry in tree.entries.items():
        if not entry.is_text and not path.endswith(READ_ENDINGS) and unit_of(spec, path):
            hint = "commit the files themselves"
            yield Problem(Location(path), "NotAFile", "is a symbolic link or submodule, which is not read", hint)


def _about_large_files(tree: Tree, paths: Iterable[str], capacity: str, memo: Memo) -> Iterator[Problem]:
    large = [p for p in paths if tree.entries[p].size > MAX_FILE and not p.startswith(capacity)]
    yield from read_documents(tree, large, memo).problems


_Whose = tuple[str | None, str, str]
"""A unit, a tenant, and a path of theirs."""


def _case_twins(paths: Iterable[str], spec: FleetSpec, tenancy: Tenancy) -> dict[str, str]:
    """
    Paths that some file systems cannot tell from an earlier one, with that earlier one; of units also those in a folder that they cannot
    tell from another one, with that. Only among files of one unit and one tenant: whoever writes elsewhere must not thereby make a file
    unreadable, and the paths of tenants do not differ in case alone. Of folders the one in lower case counts, as namespaces are.
    """
    first: dict[_Whose, str] = {}
    folders: dict[_Whose, str] = {}
    parents: dict[_Whose, list[tuple[str, _Whose]]] = {}
    owned = []
    for path in sorted(paths):
        unit = unit_of(spec, path)
        owner = tenancy.owner(path) if unit == WORKLOADS else None
        whose = unit, owner.name if owner else ""
        within = (*whose, path.rpartition("/")[0])
        owned.append((path, whose, within))
        if unit is not None and within not in parents:
            parents[within] = [(folder, (*whose, _folded(folder))) for folder in _folders_of(path)]
            for folder, key in parents[within]:
                if folders.setdefault(key, folder) != folder and folder == key[2]:
                    folders[key] = folder
    twins = {}
    for path, whose, within in owned:
        other = next((folders[key] for folder, key in parents.get(within, ()) if folders[key] != folder), None)
        folded = (*whose, _folded(path))
        if other is not None:
            twins[path] = other
        elif folded in first:
            twins[path] = first[folded]
        else:
            first[folded] = path
    return twins


def _folders_of(path: str) -> Iterator[str]:
    """The folders that a path is in, each with a slash, the outermost first."""
    end = path.find("/")
    while end != -1:
        yield path[: end + 1]
        end = path.find("/", end + 1)


def _folded(path: str) -> str:
    """What a path is to file systems that know no case, and one way to write each letter."""
    return unicodedata.normalize("NFC", path).casefold()


def _unrendered_folders(tree: Tree) -> tuple[str, ...]:
    """Folders, with a slash, that hold input of Kustomize or Helm; the outermost ones only."""
    found = sorted({path.rpartition("/")[0] + "/" for path in tree if path.rpartition("/")[2] in _UNRENDERED})
    outermost: list[str] = []
    for folder in found:
        if folder != "/" and not any(folder.startswith(outer) for outer in outermost):
            outermost.append(folder)
    return tuple(outermost)
