"""
A file's bytes into documents: what is read is plain data within all bounds, at its place, and the same when it is read again from its own
bytes or from what is written of it; and an edit in a section of one is the edit in the whole.
"""

from __future__ import annotations

import json
from unittest import mock

from fuzzing.target import FILE, Target, depth, expect, expect_well_said
from gitplacer.documents import Document, Edit, EditError, ParsedDocument, dump, parse, splice
from gitplacer.documents.compose import MAX_DEPTH, MAX_FLAWS
from gitplacer.documents.parse import LONE_SURROGATE
from gitplacer.documents.sections import splice_sections


def check(data: bytes) -> None:
    parsed = parse(data)
    expect_well_said(data, parsed.faults)
    expect(len(parsed.faults) <= MAX_FLAWS + 1, "more faults are listed than said")
    expect(parsed.faults == tuple(sorted(parsed.faults)), "the faults are not in order")
    for index, item in enumerate(parsed.documents):
        expect(depth(item.value) <= MAX_DEPTH, f"the value is {depth(item.value)} deep")
        expect(
            not LONE_SURROGATE.search(json.dumps(item.value, allow_nan=False, ensure_ascii=False)),
            "it holds half of a pair",
        )
        expect(0 <= item.start <= item.end <= len(data), "the document is not in the file")
        document = Document(FILE, item, index, lambda: data)
        for written in (document.source(), dump(item.value) if item.value else b"{}"):
            again = parse(written)
            expect(
                not again.faults and [one.value for one in again.documents] == [item.value], "it reads otherwise again"
            )
        if item.sections:
            expect_one_edit(document.source(), item)


def expect_one_edit(text: bytes, parsed: ParsedDocument) -> None:
    edits = [Edit((next(reversed(parsed.value)), "name"), "add", "fuzzed")]
    made: list[object] = []
    for make in (lambda: splice(text, edits), lambda: splice_sections(text, edits, parsed)):
        try:
            made.append(make())
        except EditError as error:
            made.append((error.message, error.path))
    expect(made[0] == made[1], "an edit of a section is not the edit of the whole")


TARGET = Target(
    check=check,
    bug="where a document stands is counted in characters, as if each were a byte",
    planted=lambda: mock.patch("gitplacer.documents.parse._width", lambda text, start, end: end - start),
    seconds=5.0,  # what is read is written too, value by value: a long list of numbers takes one
)
