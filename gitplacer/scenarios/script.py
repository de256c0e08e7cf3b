"""A scenario as it was read: what it says, where it says it, and the files beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitplacer.documents import Document, Path
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.scenario import Scenario, ScenarioSpec
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.source.files import NoMemo, read_documents
from gitplacer.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Script:
    """A scenario. `beside` are the files of the folder that its own file is in."""

    scenario: Scenario
    document: Document
    beside: Tree = field(default_factory=Tree)

    @property
    def spec(self) -> ScenarioSpec:
        return self.scenario.spec

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
        message = f"a {document.value.get('kind')} is no Scenario"
        raise Rejected([document.problem("MisplacedKind", message, "move it", path=("kind",))])
    assert isinstance(parsed, Model)
    return Script(parsed, document, beside or Tree())
