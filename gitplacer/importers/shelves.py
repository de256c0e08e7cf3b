"""
A place in our source for each manifest of somebody else's.

What makes pods goes to `workloads/<namespace>/`, and so does what it may need. What no workload file may hold (namespaces, definitions,
rights, whatever is cluster-scoped, or of a kind that may be) goes to `platform/`, with a folder for each policy that governs some of it, because a folder there is
one group. An operator comes with such things, and what a policy copies everywhere without a pod would be nobody's dependency here; both
go with them, whole; so does all that a policy takes of which nothing makes a pod. What the other system would place nowhere goes to
`unplaced/`, which nobody reads: it is kept, and runs nowhere.

Bytes stay as they are, comments included. A file goes whole where all its objects go to one place; else each object goes with its own
text. An object that says no namespace is one in each namespace to which its file is applied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from gitplacer import workloads
from gitplacer.documents import Document, Edit, EditError, Path, dotted
from gitplacer.importers.belonging import Apps
from gitplacer.importers.foreign import ForeignFile, group_and_kind
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.writing import Names, file_name
from gitplacer.model.labels import is_dns_label
from gitplacer.plaintext import few
from gitplacer.problems import Problem
from gitplacer.rules.serverfields import written_by_servers
from gitplacer.source.apigroups import RBAC_GROUP, steers_gitops
from gitplacer.source.scopes import Scopes, defined_scopes
from gitplacer.workloads.facts import ObjectFacts

PLATFORM = "platform"
UNPLACED = "unplaced"
NAMESPACES = "namespaces"
"""The folder of namespaces that no policy copies everywhere."""
DEFAULT = "default"
"""The namespace of what says none, where nobody says another one."""
_RAY = "ray.io"
_LONGEST_FOLDER = 54
"""As much of the name of a rule is in that of a folder that cannot be called as it: with what follows it is a DNS label."""


class Thing(Struct, frozen=True):
    """
    One foreign manifest, who it is, and whether it makes pods. `namespace` is '' for what has none, and `assumed` where the manifest
    does not say it, and `guessed` where nobody knows whether it has one. It is `undefined` if it has one, and no definition says that its kind does.
    """

    document: Document
    group: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    facts: ObjectFacts
    for_platform: bool
    assumed: bool
    guessed: bool = False
    undefined: bool = False

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.group, self.kind, self.namespace, self.name

    @property
    def sized(self) -> bool:
        return self.facts.sized

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def is_namespace(self) -> bool:
        return (self.group, self.kind) == ("", "Namespace")


class Rule(Struct, frozen=True):
    """
    What a shelf depends on of a policy: its name, and whether it sends what makes no pods besides its apps (`everywhere`: to each of its
    clusters), and not as a part of some app. What it governs goes to a `folder` of its own, where it is to be one group.
    """

    name: str
    everywhere: bool
    folder: str = ""


class Shelved(Struct, frozen=True):
    """The files by path, and what lies in each folder of the platform, by folder, with the policy that governs it (None: nobody)."""

    files: Mapping[str, bytes]
    folders: Mapping[str, tuple[Rule | None, tuple[Thing, ...]]]


def things_in(
    documents: Sequence[Document],
    namespaces: Sequence[str],
    notes: Notes,
    problems: list[Problem],
    namespaced: Collection[tuple[str, str]] = (),
) -> list[Thing]:
    """
    The manifests among documents. What is no Kubernetes object is told, and so is one that says no namespace, which is one in each of those
    given, or in `default`. One whose namespace is none is a problem. `namespaced` are kinds, by API group, of which the other system knows that they
    have one.
    """
    scopes = Scopes(defined_scopes(documents))
    return [
        thing for document in documents for thing in _things(document, scopes, namespaced, namespaces, notes, problems)
    ]


def _things(
    document: Document,
    scopes: Scopes,
    namespaced: Collection[tuple[str, str]],
    namespaces: Sequence[str],
    notes: Notes,
    problems: list[Problem],
) -> list[Thing]:
    group, kind = group_and_kind(document)
    metadata = document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if (
        not kind
        or not isinstance(document.parsed.says[0], str)
        or not isinstance(metadata, dict)
        or not isinstance(name, str)
    ):
        what = "this is no Kubernetes object: it lacks apiVersion, kind or metadata.name"
        todo = "leave it out, or render it first, if a tool makes manifests of it"
        notes.add(Outcome.NOT_UNDERSTOOD, document, (), what, todo)
        return []
    clustered = scopes.is_cluster_scoped(group, kind)
    written = None if metadata.get("namespace") == "" else metadata.get("namespace")
    if written is not None and not clustered and not (isinstance(written, str) and is_dns_label(written)):
        hint = "write up to 63 lower-case letters, digits and '-', with no '-' at its ends"
        path = ("metadata", "namespace")
        problems.append(document.problem("InvalidObject", "metadata.namespace must be a DNS label", hint, path=path))
        return []
    defined = clustered or scopes.is_namespaced(group, kind) or group == _RAY
    known = defined or (group, kind) in namespaced
    if not defined:
        whether = "" if known else "whether it has a namespace, and "
        what = f"of {kind} of {group or 'the core group'} it is not known {whether}what pods it makes"
        todo = "put its CustomResourceDefinition beside it; if it makes pods, write a WorkloadKind"
        notes.add(Outcome.NO_EQUAL, document, ("kind",), what, todo)
    assumed = not clustered and written is None and known
    if assumed:
        _tell_namespaces(document, f"{kind} {name}", namespaces, notes)
    spaces = [""] if clustered else [written] if written is not None else namespaces or [DEFAULT]
    facts, _ = workloads.read(document)
    return [
        Thing(
            document,
            group,
            kind,
            space,
            name,
            _strings(metadata.get("labels")),
            _strings(metadata.get("annotations")),
            facts,
            clustered or group == RBAC_GROUP or steers_gitops(group, kind) or not defined,
            assumed,
            not known and written is None,
            not defined and (known or written is not None),
        )
        for space in (spaces if known else spaces[:1])
    ]


def _tell_namespaces(document: Document, what: str, namespaces: Sequence[str], notes: Notes) -> None:
    where = ("metadata",)
    if namespaces:
        told = f"{what} says no namespace, so it goes to {few(namespaces)}, as --namespace says"
        notes.add(Outcome.CONVERTED, document, where, told)
    else:
        told = f"{what} says no namespace, so it goes to {DEFAULT}"
        notes.add(Outcome.CHOSEN, document, where, told, "--namespace NAME says another one, as kubectl -n does")


def _strings(value: object) -> dict[str, str]:
    return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def shelve(
    files: Sequence[ForeignFile],
    things: Sequence[Thing],
    governs: Callable[[Thing], Rule | None],
    notes: Notes,
    apart: Mapping[int, object] = MappingProxyType({}),
    *,
    marks: str = "",
) -> Shelved:
    """
    A place for each thing; what else is in its file, such as policies, goes nowhere. `apart` says of documents, by id, to whom they are sent, where two
    that are sent to others are not one applied after the other. `marks` is the API group under which the other system marks what it has taken.
    """
    last = {thing.identity: thing for thing in things}  # of two the last, as when one is applied after the other
    rules = {id(thing): governs(thing) for thing in things}
    shelf_of = _Shelves(things, rules)
    placed: list[tuple[Thing, str]] = []
    shelves: dict[int, list[_Place]] = defaultdict(list)
    folders: dict[str, list[Thing]] = defaultdict(list)
    for thing in things:
        counts = last[thing.identity] is thing
        shelf = shelf_of(thing) if counts else UNPLACED
        text = _text(thing, shelf, marks, notes)
        if all(one.shelf != shelf or one.text != text for one in shelves[id(thing.document)]):
            shelves[id(thing.document)].append(_Place(shelf, text))
        if not counts:
            _tell_twice(thing, last[thing.identity], apart, notes)
        elif shelf == UNPLACED and thing.guessed and thing.namespace:
            what = f"no policy selects {thing}, so it is kept in {UNPLACED}/; if it has no namespace, some policy may select it"
            todo = "put its CustomResourceDefinition beside it, and import again"
            notes.add(Outcome.CHOSEN, thing.document, (), what, todo)
        elif shelf == UNPLACED:
            what = f"no policy selects {thing}, so it is placed nowhere; it is kept in {UNPLACED}/"
            todo = "if it is to run, let a policy select it, and move it"
            notes.add(Outcome.CONVERTED, thing.document, (), what, todo)
        else:
            placed.append((thing, shelf))
            if shelf.startswith(f"{PLATFORM}/"):
                folders[shelf].append(thing)
    made, places = _written(files, shelves)
    for thing, shelf in placed:
        notes.add(Outcome.CONVERTED, thing.document, (), f"{thing}: {places[id(thing.document), shelf]}")
    return Shelved(
        made, {folder: (_rule_of(folder, found, rules), tuple(found)) for folder, found in sorted(folders.items())}
    )


def _tell_twice(thing: Thing, last: Thing, apart: Mapping[int, object], notes: Notes) -> None:
    here, there = (apart.get(id(one.document)) for one in (thing, last))
    where = last.document.locate()
    if here == there or thing.is_namespace:
        what = f"{thing} is at {where} too, and the last that is applied counts"
        notes.add(Outcome.CHOSEN, thing.document, (), what, "keep one")
        return
    what = f"{thing} is at {where} too, for other clusters, and an object is one here: that one is placed, and this is kept in {UNPLACED}/"
    todo = "let that one's policy take the clusters of both, and write what differs as an OverridePolicy"
    notes.add(Outcome.NO_EQUAL, thing.document, (), what, todo)


class _Place(Struct, frozen=True):
    """Where a document goes, and its text there, None for its own."""

    shelf: str
    text: bytes | None


def _text(thing: Thing, shelf: str, marks: str, notes: Notes) -> bytes | None:
    """
    A manifest with its namespace, where it says none and no path gives it one, and without what only a server or the other system writes, as in an
    export; None for one that stays as it is.
    """
    if shelf == UNPLACED:
        return None
    where = ("metadata",)
    done = [Edit(path, "remove") for path in _not_the_authors(thing, marks)]
    told = []
    if done:
        told.append(
            f"{thing} was exported: taken out is what its author did not write: {few([dotted(one.path) for one in done], 20)}"
        )
    if thing.assumed and shelf.startswith(f"{PLATFORM}/"):
        done.append(Edit(("metadata", "namespace"), "add", thing.namespace))
        told.append(
            f"{thing} lies under {PLATFORM}/, where no path gives a namespace, so it is written into its metadata"
        )
    if not done:
        return None
    try:
        text = thing.document.edited(done)
    except EditError:
        todo = "; ".join(f"{'take out' if one.op == 'remove' else 'write'} {dotted(one.path)}" for one in done)
        notes.add(Outcome.NO_EQUAL, thing.document, where, f"{thing} cannot be edited where it lies", todo)
        return None
    for what in told:
        notes.add(Outcome.CHANGED, thing.document, where, what)
    return text


def _not_the_authors(thing: Thing, marks: str) -> list[Path]:
    """Where a manifest has what a server wrote, or what the other system noted on it."""
    found = [path for path, _ in written_by_servers(thing.document.value)]
    for field, known in (("labels", thing.labels), ("annotations", thing.annotations)):
        for key in known if marks else ():
            prefix = key.partition("/")[0]
            if "/" in key and (prefix == marks or prefix.endswith(f".{marks}")):
                found.append(("metadata", field, key))
    return found


def _rule_of(folder: str, found: Sequence[Thing], rules: Mapping[int, Rule | None]) -> Rule | None:
    return None if folder == f"{PLATFORM}/{NAMESPACES}" else rules[id(found[0])]


class _Shelves:
    """Which shelf a thing goes to."""

    def __init__(self, things: Sequence[Thing], rules: Mapping[int, Rule | None]) -> None:
        self._rules = rules
        governed: dict[Rule, list[Thing]] = defaultdict(list)
        for thing in things:
            rule = rules[id(thing)]
            if rule is not None:
                governed[rule].append(thing)
        sized = [thing for thing in things if thing.sized]
        self._folders = _folders_of_platform(governed, sized, rules)
        self._with_apps = {thing.namespace for thing in sized if rules[id(thing)] is not None}
        self._placed = Apps(thing for thing in sized if rules[id(thing)] is not None)
        self._unplaced = Apps(thing for thing in sized if rules[id(thing)] is None)
        self._without_pods = {rule for rule, found in governed.items() if not any(thing.sized for thing in found)}
        self._operators = {
            rule
            for rule, found in governed.items()
            if rule.everywhere
            and any(thing.for_platform and not (thing.is_namespace or thing.undefined) for thing in found)
        }

    def __call__(self, thing: Thing) -> str:
        rule = self._rules[id(thing)]
        if thing.is_namespace and (rule is None or not rule.everywhere):
            return f"{PLATFORM}/{NAMESPACES}"
        if rule is None:
            return f"workloads/{thing.namespace}" if self._is_of_use(thing) else UNPLACED
        if thing.for_platform or rule in self._without_pods or (rule in self._operators and thing.group != _RAY):
            return f"{PLATFORM}/{self._folders[rule.name]}"
        return f"workloads/{thing.namespace}{'/' if rule.folder else ''}{rule.folder}"

    def _is_of_use(self, thing: Thing) -> bool:
        """Whether an app that is placed may need what no policy takes; what only others have is none of its."""
        if thing.for_platform or thing.sized or thing.namespace not in self._with_apps:
            return False
        return self._placed.have(thing) or not self._unplaced.have(thing)


def _folders_of_platform(
    governed: Mapping[Rule, Collection[Thing]], sized: Iterable[Thing], rules: Mapping[int, Rule | None]
) -> dict[str, str]:
    """
    The folder of each rule: its name, if no app of a namespace of what it governs is called so. A folder is a group, and an app and what lies beside it
    often have one name.
    """
    apps = {(thing.namespace, thing.name) for thing in sized}
    apps |= {
        (thing.namespace, rule.folder) for thing in sized if (rule := rules[id(thing)]) is not None and rule.folder
    }
    spaces: dict[str, set[str]] = defaultdict(set)
    for rule, things in governed.items():
        spaces[rule.name].update(thing.namespace for thing in things)
    names, found = Names(), {}
    clashing = {name for name, those in spaces.items() if any((space, name) in apps for space in those)}
    for name in sorted(spaces, key=lambda name: (name in clashing, name)):
        wanted = f"{name[:_LONGEST_FOLDER]}-platform" if name in clashing else name
        made = names.unique(wanted)
        while name in clashing and any((space, made) in apps for space in spaces[name]):
            made = names.unique(wanted)
        found[name] = made
    return found


def _written(
    files: Iterable[ForeignFile], shelves: Mapping[int, Sequence[_Place]]
) -> tuple[dict[str, bytes], dict[tuple[int, str], str]]:
    """Each file whole, or in parts; and the path of each document on each of its shelves."""
    made: dict[str, bytes] = {}
    places: dict[tuple[int, str], str] = {}
    names: dict[str, Names] = defaultdict(Names)
    for file in files:
        parts: dict[str, list[tuple[Document, bytes | None]]] = defaultdict(list)
        for document in file.documents:
            for one in shelves.get(id(document), ()):
                parts[one.shelf].append((document, one.text))
        for shelf, found in sorted(parts.items()):
            whole = file.whole and len(found) == len(file.documents) and all(text is None for _, text in found)
            stem, ending = file_name(file.path)
            path = f"{shelf}/{names[shelf].unique(stem, ending)}"
            texts = (document.source() if text is None else text for document, text in found)
            made[path] = file.data if whole else b"---\n".join(map(_ended, texts))
            places.update(((id(document), shelf), path) for document, _ in found)
    return made, places


def _ended(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"
