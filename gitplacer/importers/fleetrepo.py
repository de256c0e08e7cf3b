"""
A fleet repo on its way out of an import: its files, what became of each thing, and what could not be read.

What importers do alike is here: documents are sorted into those of the other system and manifests, a file of ours is only kept if our own parser takes it, a snapshot that lies among the foreign files is
taken over, a folder of the platform gets a policy that governs all of it, and IMPORT.md tells everything in the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.documents import Document, Path
from gitplacer.importers.foreign import ForeignFile, group_and_kind, read_foreign
from gitplacer.importers.report import Imported, Line, Notes, Outcome, markdown
from gitplacer.importers.variables import Variables
from gitplacer.importers.writing import Names, own_file, read_back
from gitplacer.kinds import OWN_API_GROUP
from gitplacer.kinds.fields import API_VERSION, Model
from gitplacer.plaintext import printable
from gitplacer.problems import Location, Problem

REPORT = "IMPORT.md"
_LONGEST_NAME = 200
ABOVE_ALL = 1000
"""The precedence of policies of folders, which are about nothing else; more where another has as much."""


class FleetRepo(Struct):
    """
    `system` is the name of what it is imported from. `highest` is the highest precedence of a policy so far. `clusters` is the command that
    exports clusters, `documents` are all objects among the files, and `faults` what could not even become one.
    """

    system: str
    notes: Notes = field(default_factory=Notes)
    files: dict[str, bytes] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    snapshots: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    policies: Names = field(default_factory=Names)
    highest: int = 0
    clusters: str = ""
    documents: Sequence[Document] = ()
    faults: frozenset[Problem] = frozenset()

    def own(
        self,
        folder: str,
        kind: str,
        name: str,
        spec: Mapping[str, Any],
        document: Document,
        *comments: str,
        **metadata: Any,
    ) -> Model | None:
        """Keeps an object of ours that was made of a document. One that its parser refuses is a line, and None."""
        data = own_file(kind, name, spec, comments=comments, **metadata)
        found = self.kept(data, document)
        if found is not None:
            self.files[f"{folder}/{name}.yaml"] = data
            if kind == "PlacementPolicy":
                self.highest = max(self.highest, int(spec.get("precedence", 0)))
        return found

    def kept(self, data: bytes, document: Document, path: Path = ("metadata", "name")) -> Model | None:
        """What a file of ours holds; a line where its parser refuses it, because then it must not be written."""
        found = read_back(data)
        if isinstance(found, Model):
            return found
        for problem in found:
            what = f"it cannot be written as it would have to be: {problem.message}"
            self.notes.add(Outcome.NO_EQUAL, document, path, what, problem.hint or "write it by hand")
        return None

    def take_over(self, document: Document) -> None:
        """One of our own kinds among the foreign files: a snapshot is kept, because the other system knows less."""
        metadata = document.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        found = read_back(document.source()) if document.value.get("kind") == "CapacitySnapshot" else []
        if isinstance(found, Model) and isinstance(name, str) and name not in self.snapshots:
            self.snapshots[name] = document.value
            self.files[f"capacity/{name}.yaml"] = document.source()
            self.notes.add(Outcome.CONVERTED, document, (), f"the snapshot of {name}: capacity/{name}.yaml")
            return
        what = f"only a CapacitySnapshot of {API_VERSION} that is right, one for each cluster, is taken over"
        todo = "copy it into the new repo, and try: gitplacer validate"
        self.notes.add(Outcome.NOT_UNDERSTOOD, document, ("kind",), what, todo)

    def folder(self, folder: str, name: str, spec: Mapping[str, Any], document: Document, why: str) -> None:
        """A policy that governs all of a folder of the platform, whatever else selects what is in it."""
        unique = self.policies.unique(name)
        precedence = max(ABOVE_ALL, self.highest + 10)
        whole = {"select": {"paths": [f"{folder}/**"]}, "precedence": precedence, **spec}
        comment = f"All of {folder}/, which is one group."
        data = own_file("PlacementPolicy", unique, whole, comments=(comment,))
        if self.kept(data, document) is not None:
            self.files[f"policies/{unique}.yaml"] = data
            self.notes.add(Outcome.CHANGED, document, (), f"{why}: policies/{unique}.yaml")

    def done(self, fleet: Mapping[str, Any] | None = None) -> Imported:
        """Everything, with fleet.yaml and the report."""
        comments = (
            f"The fleet, imported from {self.system}. What does not stand here is as it is by default.",
            f"{REPORT} says what became of each file, docs/kinds/Fleet.md what may stand here.",
        )
        self.files["fleet.yaml"] = own_file("Fleet", "fleet", fleet or {}, comments=comments)
        first = next((one for one in self.documents if group_and_kind(one)[0] != OWN_API_GROUP), None)
        if first is not None and not any(path.startswith("clusters/") for path in self.files):
            what, todo = (
                f"no cluster of {self.system}'s was imported, and nothing is placed on any",
                f"export them: {self.clusters}",
            )
            self.notes.add(Outcome.CHANGED, first, (), what, todo)
        problems, lines = self._without_the_unmade()
        result = Imported(self.files, lines, tuple(dict.fromkeys(sorted(problems))))
        return Imported({**self.files, REPORT: markdown(result, self.system)}, result.lines, result.problems)

    def _without_the_unmade(self) -> tuple[list[Problem], tuple[Line, ...]]:
        """Problems that say of what object nothing was made, and no line that says of such an object what was made of it."""
        starts: dict[tuple[str, int, int], list[Document]] = defaultdict(list)
        for document in self.documents if self.problems else ():
            start = document.locate()
            starts[start.file, start.line, start.column if document.parsed.prefix else 1].append(document)
        places = sorted(starts)

        def around(location: Location) -> tuple[str, int, int] | None:
            index = bisect_right(places, (location.file, location.line, location.column)) - 1
            return places[index] if index >= 0 and places[index][0] == location.file else None

        unmade = set()
        problems = []
        for problem in self.problems:
            place = None if problem in self.faults else around(problem.location)
            if place is None:
                problems.append(problem)
                continue
            if len(starts[place]) == 1:  # not one of several that a variable makes of it
                unmade.add(place)
            told = f"{problem.message}; so nothing is made of {_called(starts[place][0])}"
            problems.append(replace(problem, message=told))
        lines = self.notes.lines()
        return problems, tuple(
            line for line in lines if line.outcome not in _MADE or around(line.location) not in unmade
        )


_MADE = (Outcome.CHOSEN, Outcome.CHANGED, Outcome.CONVERTED)
"""Outcomes of what something was made of."""


def _called(document: Document) -> str:
    """An object as people call it, as far as it says who it is."""
    metadata = document.value.get("metadata")
    said = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, dict) else []
    name = "/".join(one for one in said if isinstance(one, str))
    return f"this {group_and_kind(document)[1] or 'object'}{' ' if name else ''}{printable(name, _LONGEST_NAME)}"


class Opened(Struct, frozen=True):
    """A folder that was read: the repo that it is to become, its files, the other system's objects by kind, and all others."""

    repo: FleetRepo
    files: Sequence[ForeignFile]
    theirs: defaultdict[str, list[Document]]
    manifests: Sequence[Document]


def opened(system: str, group: str, clusters: str, files: Mapping[str, bytes], variables: Variables) -> Opened:
    """
    What a folder holds. `group` is the API group of the other system, whose objects are of it or of a group below it, and `clusters` the
    resource of its clusters. Snapshots among the files are taken over. Raises Rejected where a variable has no value.
    """
    notes = Notes()
    foreign = read_foreign(files, variables, notes)
    repo = FleetRepo(
        system,
        notes,
        problems=list(foreign.problems),
        clusters=f"kubectl get {clusters} -o yaml",
        documents=tuple(foreign.documents),
        faults=frozenset(foreign.problems),
    )
    theirs = defaultdict[str, list[Document]](list)
    manifests: list[Document] = []
    for document in foreign.documents:
        found, kind = group_and_kind(document)
        if found == OWN_API_GROUP:
            repo.take_over(document)
        elif found == group or found.endswith(f".{group}"):
            theirs[kind].append(document)
        else:
            manifests.append(document)
    return Opened(repo, foreign.files, theirs, manifests)
