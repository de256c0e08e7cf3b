"""
A scenario as it was read: what it says, where it says it, the files beside it, and the source that it lies in.

Whoever has a source finds all of them with `scripts_in`: where passes look for policies, and not among workloads or snapshots. A file
that holds a Scenario which cannot be read is told about, like any other, and the rest is run.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.documents import Document, Path
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, misplaced, parse_own
from gitplacer.kinds.scenario import Scenario, ScenarioSpec
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.source.files import MAX_FILE, Memo, NoMemo, is_read, read_documents
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.source.manifests import WORKLOADS, unit_of
from gitplacer.source.oddpaths import ending_in_capitals
from gitplacer.source.ownkinds import torn_kinds
from gitplacer.tree import Tree


class Script(Struct, frozen=True, eq=False):
    """
    A scenario. `beside` are the files of the folder that its own file is in; `source` is what it lies in, with the snapshots, and
    `known` are problems of that source which are no news.
    """

    scenario: Scenario
    document: Document
    beside: Tree = field(default_factory=Tree)
    source: Tree = field(default_factory=Tree)
    known: frozenset[Problem] = frozenset()

    @property
    def spec(self) -> ScenarioSpec:
        return self.scenario.spec

    @property
    def is_about_its_source(self) -> bool:
        """Whether it brings no files of its own."""
        return not self.spec.given.brings_a_source

    def dated(self, now: datetime) -> Script:
        """The same, at a time if it says none."""
        given = self.spec.given
        if given.now is not None or not self.is_about_its_source:
            return self
        spec = self.spec.model_copy(update={"given": given.model_copy(update={"now": now})})
        return replace(self, scenario=self.scenario.model_copy(update={"spec": spec}))

    def fault(self, path: Path, message: str, hint: str = "") -> Rejected:
        """What is wrong with a step, at its place."""
        return Rejected([self.document.problem("ScenarioStep", message, hint, path=path, key=True)])


def read_script(file: str, data: bytes, beside: Tree | None = None) -> Script:
    """The one scenario in a file. Raises Rejected with everything that is wrong with it."""
    reading = read_documents(Tree.of({file: data}), [file], NoMemo())
    documents = [item.document for items in reading.documents.values() for item in items]
    if reading.problems or len(documents) != 1:
        many = Problem(Location(file), "NotOneDocument", "must hold exactly one document")
        raise Rejected(reading.problems or [many])
    (document,) = documents
    parsed = parse_own(document) if is_own(document) else None
    if isinstance(parsed, list):
        raise Rejected(parsed)
    if not isinstance(parsed, Scenario):
        raise Rejected([misplaced(document, "Scenario", "`gitplacer schema Scenario` prints what it holds")])
    assert isinstance(parsed, Model)
    return Script(parsed, document, beside or Tree())


def scripts_in(source: Tree, memo: Memo, known: Iterable[Problem] = ()) -> tuple[list[Script], list[Problem]]:
    """The scenarios of a source, by file and place in it, and what is wrong with those that cannot be read."""
    spec = fleet_spec(source, memo)
    odd = {path: said for path in source if (said := ending_in_capitals(path)) is not None}
    inside = [path for path in source if is_read(path) or path in odd]
    inside = [path for path in inside if unit_of(spec, path) != WORKLOADS and source.entries[path].size <= MAX_FILE]
    inside = [path for path in inside if not path.startswith(f"{spec.capacity.path}/")]
    reading = read_documents(source, [path for path in inside if path not in odd], memo)
    scripts: list[Script] = []
    problems: list[Problem] = []
    names: dict[str, Document] = {}
    told = frozenset(known)
    for path, items in sorted(reading.documents.items()):
        for document in (item.document for item in items if item.document.value.get("kind") == "Scenario"):
            parsed = parse_own(document) if is_own(document) else None
            if isinstance(parsed, list):
                problems += parsed
            elif isinstance(parsed, Scenario) and parsed.name in names:
                place = names[parsed.name].locate()
                message = f"Scenario {parsed.name} is at {place} too"
                problems.append(document.problem("DuplicateName", message, "rename one of them"))
            elif isinstance(parsed, Scenario):
                names[parsed.name] = document
                scripts.append(Script(parsed, document, source.under(path.rpartition("/")[0]), source, told))
    passed_over = [Problem(Location(path), "OddPath", *odd[path]) for path in inside if path in odd]
    holding = [p for p in (*passed_over, *reading.problems) if _mentions_a_scenario(source, p.location.file)]
    return scripts, [*problems, *holding]


def _mentions_a_scenario(source: Tree, path: str) -> bool:
    """Whether a file that cannot be parsed, or is passed over, seems to hold a scenario."""
    entry = source.entries.get(path)
    return entry is not None and entry.is_text and "Scenario" in torn_kinds(source.read(path))
