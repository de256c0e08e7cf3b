"""
The manifests of a folder that somebody else's scheduler reads, as documents with positions.

Nothing is applied and nothing is followed: files come as bytes, variables are filled, and each object knows the file and line it came
from. A file that cannot be read is a problem, and the others are read all the same. A key that is set twice is none, because `kubectl apply`
takes it: the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from msgspec import Struct

from gitplacer.documents import Document, ParsedFile, Path, last_ones, parse
from gitplacer.importers.report import Notes, Outcome
from gitplacer.importers.variables import Variables, filled
from gitplacer.model.workload import api_group
from gitplacer.problems import Location, Problem, Rejected


class ForeignFile(Struct, frozen=True):
    """
    A file with its variables filled, and the objects in it. One file may be here several times, with other values; then an object that
    they do not change is in the first, and the others are not `whole`; neither is a file of which some document cannot be read.
    """

    path: str
    data: bytes
    documents: tuple[Document, ...]
    whole: bool = True


class Foreign(Struct, frozen=True):
    """What a folder holds, in order of path, and what could not be read."""

    files: tuple[ForeignFile, ...]
    problems: tuple[Problem, ...]

    @property
    def documents(self) -> Iterable[Document]:
        return (document for file in self.files for document in file.documents)


def read_foreign(files: Mapping[str, bytes], variables: Variables, notes: Notes) -> Foreign:
    """The objects of files by path, and a line for each thing in them that was mended. Raises Rejected with every variable that has no value."""
    unset: list[Problem] = []
    problems: list[Problem] = []
    found: list[ForeignFile] = []
    for path, data in sorted(files.items()):
        copies, wrong = filled(path, data, variables)
        unset += wrong
        seen: set[tuple[Path, bytes]] = set()
        for each in copies:
            copy, parsed = _mended(path, each, notes)
            problems += [Problem(Location(path, f.line, f.column), f.code, f.message, f.hint) for f in parsed.faults]
            texts = [(item.prefix, copy[item.start : item.end]) for item in parsed.documents]
            documents = tuple(
                Document(path, item, index, partial(bytes, copy))
                for index, (item, text) in enumerate(zip(parsed.documents, texts, strict=True))
                if text not in seen
            )
            seen.update(texts if len(copies) > 1 else ())
            whole = len(documents) == len(texts) and not parsed.faults
            found.append(ForeignFile(path, copy, documents, whole))
    if unset:
        raise Rejected(unset)
    return Foreign(tuple(found), tuple(dict.fromkeys(problems)))


def _mended(path: str, data: bytes, notes: Notes) -> tuple[bytes, ParsedFile]:
    """A file, in which each key that is set twice has its last value alone, and what is in it."""
    parsed = parse(data)
    if all(fault.code != "DuplicateKey" for fault in parsed.faults):
        return data, parsed
    mended, overwritten = last_ones(data)
    for fault in overwritten:
        place = Location(path, fault.line, fault.column)
        notes.add_at(Outcome.CHANGED, place, f"{fault.message}, as for kubectl; this one was taken out")
    return mended, parse(mended)


def group_and_kind(document: Document) -> tuple[str, str]:
    """The API group and kind of an object; '' for what is not said."""
    version, kind = document.parsed.says
    return (api_group(version) if isinstance(version, str) else ""), (kind if isinstance(kind, str) else "")
