"""
What became of each thing that was imported: one line each, with its place and what to do.

Nothing is left without a line. A line says which of six things happened, so that a reader can begin with those that ask for a decision.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.documents import Document, Path, dotted
from gitplacer.formats.markdown import escaped
from gitplacer.formats.planjson import problem_value
from gitplacer.importers.reader import Reader
from gitplacer.plaintext import LONGEST_PATH, aligned, printable
from gitplacer.problems import Location, Problem, meant
from gitplacer.redactor import without_credentials

_LONGEST = 1000
_GUESSED = 100
"""Fields of one object that are not known and are held against those that are."""
MOST_TOLD = 12
"""Lines of one outcome that are told on a terminal."""


class Outcome(enum.StrEnum):
    """What became of a thing, from what needs an eye most to what needs none."""

    NOT_UNDERSTOOD = "NotUnderstood"
    NO_EQUAL = "NoEqual"
    CHOSEN = "Chosen"
    CHANGED = "Changed"
    LEFT_OUT = "LeftOut"
    CONVERTED = "Converted"


MEANS: Mapping[Outcome, str] = {
    Outcome.NOT_UNDERSTOOD: "nobody here knows what it means, and nothing was made of it",
    Outcome.NO_EQUAL: "it is understood, and cannot be said here",
    Outcome.CHOSEN: "the other system does not say what it means, and a meaning was chosen",
    Outcome.CHANGED: "what is written here does not do quite the same",
    Outcome.LEFT_OUT: "it says how things are, not how they should be, and is not needed",
    Outcome.CONVERTED: "what is written here means the same",
}
"""Each outcome for people, in the order in which they read."""


class Line(Struct, frozen=True, order=True):
    """One thing and what became of it. `todo` is what to do, '' where nothing is."""

    location: Location
    outcome: Outcome
    what: str
    todo: str = ""

    @property
    def place(self) -> str:
        """Where it is: `file:line:col`, or the option of the command line."""
        return self.location.file if self.location.file.startswith("--") else str(self.location)


class Notes:
    """Lines as they are found."""

    def __init__(self) -> None:
        self._lines: dict[Line, None] = {}

    def add(self, outcome: Outcome, document: Document, path: Path, what: str, todo: str = "") -> None:
        """A line about the value at a path of a document."""
        where = document.locate(path, key=True) if path or document.parsed.prefix else _beginning(document)
        self.add_at(outcome, where, what, todo)

    def add_at(self, outcome: Outcome, location: Location, what: str, todo: str = "") -> None:
        self._lines[Line(location, outcome, without_credentials(what), todo)] = None

    def about(self, outcome: Outcome, reader: Reader, key: str | None, what: str, todo: str = "") -> None:
        """A line about a field of a reader, or about all of it."""
        self.add(outcome, reader.document, reader.path if key is None else reader.at(key), what, todo)

    def unread(self, reader: Reader) -> None:
        """A line for each field of a document that was never asked for."""
        for number, path in enumerate(reader.unread()):
            what, todo = f"{dotted(path)} is not known here", "look up what it does, and write what you want by hand"
            guess = meant(str(path[-1]), reader.beside(path)) if number < _GUESSED else ""
            self.add(Outcome.NOT_UNDERSTOOD, reader.document, path, what, f"{guess} If not, {todo}" if guess else todo)

    def lines(self) -> tuple[Line, ...]:
        return tuple(sorted(self._lines, key=lambda line: (line.location, line.outcome, line.what)))


def _beginning(document: Document) -> Location:
    """Where a document begins below its comments, without reading it once more: most lines are about whole documents."""
    data = document.read()
    lines = data[document.parsed.start : document.parsed.end].split(b"\n")
    before = next((n for n, line in enumerate(lines) if (said := line.strip()) and not said.startswith(b"#")), 0)
    return Location(document.file, data.count(b"\n", 0, document.parsed.start) + before + 1)


class Imported(Struct, frozen=True):
    """The files of a fleet repo by path, what became of each thing, and what could not be read."""

    files: Mapping[str, bytes]
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...] = ()

    def of(self, outcome: Outcome) -> list[Line]:
        return [line for line in self.lines if line.outcome is outcome]


def counted(imported: Imported) -> Iterator[tuple[str, int]]:
    """How often each thing happened, those that happened."""
    found = Counter(line.outcome for line in imported.lines)
    yield from ((outcome.value, found[outcome]) for outcome in Outcome if found[outcome])
    if imported.problems:
        yield "NotRead", len(imported.problems)


def markdown(imported: Imported, system: str) -> bytes:
    """IMPORT.md: what became of everything, what needs an eye first."""
    parts = [
        f"# What became of your {system} files\n",
        "Read from the top: what stands first needs a decision, what stands last needs none. Delete this file when you are done.\n",
    ]
    if imported.problems:
        rows = [(str(p.location), p.message, p.hint) for p in imported.problems]
        parts += [
            f"## NotRead ({len(rows)})\n",
            "What could not be read at all. Nothing was made of it.\n",
            _table(rows),
        ]
    for outcome, means in MEANS.items():
        lines = imported.of(outcome)
        if lines:
            rows = [(line.place, line.what, line.todo) for line in lines]
            parts += [f"## {outcome} ({len(lines)})\n", f"{means[0].upper()}{means[1:]}.\n", _table(rows)]
    return "\n".join(parts).encode()


def _table(rows: Iterable[tuple[str, str, str]]) -> str:
    told = [
        f"| {escaped(place, LONGEST_PATH)} | {escaped(what, _LONGEST)} | {escaped(todo, _LONGEST)} |"
        for place, what, todo in rows
    ]
    return "\n".join(["| where | what | what to do |", "|---|---|---|", *told, ""])


def text(imported: Imported) -> list[str]:
    """The same for a terminal, as lines: what needs an eye, and how much there is of the rest."""
    lines: list[str] = []
    for outcome in Outcome:
        found = imported.of(outcome)
        if not found or outcome in (Outcome.CONVERTED, Outcome.LEFT_OUT):
            continue
        lines += [f"{outcome}: {MEANS[outcome]}"]
        for line in found[:MOST_TOLD]:
            lines.append(f"  {printable(line.place, LONGEST_PATH)}: {printable(line.what, _LONGEST)}")
            if line.todo:
                lines.append(f"    {printable(line.todo, _LONGEST)}")
        if len(found) > MOST_TOLD:
            lines.append(f"  … and {len(found) - MOST_TOLD} more in IMPORT.md")
        lines.append("")
    return [*lines, *aligned([(str(count), name) for name, count in counted(imported)], indent="")]


def plain(imported: Imported) -> dict[str, Any]:
    """The same as JSON: `{"files": [...], "lines": [{"file", "line", "column", "outcome", "what", "todo"}], "problems": [...]}`."""
    return {
        "files": sorted(imported.files),
        "lines": [
            {
                "file": line.location.file,
                "line": line.location.line,
                "column": line.location.column,
                "outcome": line.outcome.value,
                "what": line.what,
                "todo": line.todo,
            }
            for line in imported.lines
        ],
        "problems": [problem_value(problem) for problem in imported.problems],
    }
