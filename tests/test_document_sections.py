"""
An edit made in a section of a document is the edit made in the whole, byte for byte, refusals too; and it reads no more than it has to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import running
from gitplacer.documents import Document, Edit, EditError, ParsedDocument, parse, splice, write
from gitplacer.documents import edit as whole
from gitplacer.documents.sections import splice_sections
from tests.test_document_edits import TEXTS, edits_of, patched, written_objects

Draw = Callable[[st.SearchStrategy[Any]], Any]

MANIFEST = """\
# an app
apiVersion: v1
kind: Pod
metadata:   # who it is
  name: a
  labels:
    app: a
spec:
  containers:
  - name: main
    image: "x"
"""


def result(make: Callable[[], bytes]) -> tuple[object, ...]:
    try:
        return (make(),)
    except EditError as error:
        return (error.message, error.path)


def expect_it_begins_there(text: bytes, parsed: ParsedDocument) -> None:
    """A document is found at its first section as it is where the whole is composed for that."""
    here, composed = (Document("f", each, 0, lambda: text).locate() for each in (parsed, replace(parsed, sections=())))
    assert here == composed


def expect_the_same(data: bytes, document: ParsedDocument, edits: list[Edit]) -> None:
    text = data[document.start : document.end]
    assert result(lambda: splice_sections(text, edits, document)) == result(lambda: splice(text, edits))


def edits_anywhere(document: ParsedDocument) -> list[list[Edit]]:
    """Some edits of each section, possible or not, and all of the possible ones one after another."""
    edits = [
        edit
        for key in document.value
        for edit in (
            Edit((key, "gitplacer"), "add", "x"),
            Edit((key, "gitplacer", "deep"), "add", {"a": ["b"]}),
            Edit((key,), "replace", "other"),
            Edit((key, 0), "remove"),
            Edit((key, 0), "add", "0777"),
        )
    ]
    possible = [
        Edit((key, "gitplacer"), "add", "x") for key, value in document.value.items() if isinstance(value, dict)
    ]
    return [[edit] for edit in edits] + [possible, possible * 2]


@given(st.data())
def test_an_edit_in_a_section_is_the_edit_in_the_whole(data: st.DataObject) -> None:
    value, text, _ = data.draw(written_objects())
    edits = [data.draw(edits_of(value))]
    after = patched(value, edits[0])
    if isinstance(after, dict) and after:
        edits.append(data.draw(edits_of(after)))
    read = parse(text.encode()).documents
    if len(read) == 1:
        expect_the_same(text.encode(), read[0], edits)


PIECES = st.sampled_from(
    [
        *("a: 1\n", "b:\n", "b:\r\n", "  c: 2\n", "  - d\n", "- e\n", "k: |\n", "k: >+\n", "    text\n", "\n", "  \n", "\t\n"),
        *("# c\n", "  # c\n", "q: 'x\n", "  y'\n", "y'\n", "f: {a: 1,\n", "g: 2}\n", "}\n", "? x\n", ": y\n", "?\n", "m: &n\n"),
        *("o: *n\n", "<<: {z: 1}\n", "p: !!str 1\n", "---\n", "...\n", "%YAML 1.1\n", '"r s": t\n', "\u2028u: 1\n", "v: \u2028\n"),
        *("w: --- \n", "\ufeff", "version https://git-lfs.github.com/spec/: 1\n", "é: ü\n", "- \t# -\n", "  -\t# c\n    x\n", "i: \n"),
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9), st.data())
def test_whatever_is_put_together_a_section_is_edited_as_the_whole(pieces: list[str], data: st.DataObject) -> None:
    text = "".join(pieces).encode()
    for document in parse(text).documents:
        expect_it_begins_there(text, document)
        if document.value and not document.prefix:
            expect_the_same(text, document, [data.draw(edits_of(document.value))])


def test_what_fuzzing_begins_with_and_has_found_is_edited_in_sections_as_in_the_whole() -> None:
    cut = 0
    for name in ("documents", "sizing", "selectors"):
        for data in {**running.corpus(name), **running.found(name)}.values():
            for document in parse(data).documents[:3]:
                cut += bool(document.sections)
                expect_it_begins_there(data, document)
                for edits in edits_anywhere(document) if len(data) < 20_000 and not document.prefix else []:
                    expect_the_same(data, document, edits)
    assert cut > 10, "no law about nothing"


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        (MANIFEST, [MANIFEST.index(key) for key in ("apiV", "kind", "meta", "spec")]),
        ("\ufeffa: 1\nb: 2\n", [0, 5]),
        ("é: 1\r\nb: 2\r\n", [0, 6]),
        ('"a": 1\n# c\nb:\n- 1\n', [0, 11]),
        ("--- # c\na: 1\n", [4]),
        ("  a: 1\n", []),
        ("{a: 1}\n", []),
        ('{"a": 1}\n', []),
        ("? a\n: 1\n", []),
        ("a: &x 1\nb: *x\n", []),
        ("a: &x 1\n", []),
        ("<<: {a: 1}\nb: 2\n", []),
        ("a: 1\u2028b: 2\n", []),
        ("version https://git-lfs.github.com/spec/: 1\n", []),
    ],
)
def test_a_document_is_cut_where_its_entries_begin_and_none_refers_to_another(text: str, sections: list[int]) -> None:
    if text.startswith("version"):
        text = "a: 1\n---\n" + text
    document = parse(text.encode()).documents[-1]
    assert list(document.sections) == sections
    expect_it_begins_there(text.encode(), document)


@pytest.mark.parametrize(
    ("edits", "read"),
    [
        ([Edit(("metadata", "namespace"), "add", "n")], ["metadata", "metadata"]),
        ([Edit(("metadata", "labels", "b"), "add", "n"), Edit(("metadata", "name"), "replace", "n")], ["metadata"] * 2),
        ([Edit(("spec", "x"), "add", "n"), Edit(("metadata", "y"), "add", "n")], ["spec", "spec", "metadata", "metadata"]),
        ([Edit(("metadata", "namespace"), "add", {"a": {"b": "c"}})], ["metadata", "", ""]),
        ([Edit(("other",), "add", "n")], ["", ""]),
        ([Edit(("kind",), "remove")], ["", ""]),
    ],
)  # fmt: skip
def test_an_edit_reads_its_section_before_and_after_and_the_whole_only_where_it_must(
    edits: list[Edit], read: list[str]
) -> None:
    (document,) = parse(MANIFEST.encode()).documents
    seen: list[str] = []

    def load(text: str, **how: Any) -> Any:
        seen.append("" if text.startswith("#") else text.partition(":")[0])
        return whole_load(text, **how)

    whole_load = whole.load
    with mock.patch.object(whole, "load", load):
        Document("a.yaml", document, 0, MANIFEST.encode).edited(edits)
    assert seen == read


def test_the_edits_of_a_document_in_sections_are_bounded_as_in_the_whole() -> None:
    text = ("a: 1\nb: " + "x" * 400_000 + "\n").encode()
    (document,) = parse(text).documents
    expect_the_same(text, document, [Edit(("a",), "replace", str(number)) for number in range(11)])


NAMES = st.sampled_from([*TEXTS, "true", "No", "e1", "k", "o7", "team-a", "a.b/c", "x/", "inf", "A" * 99, "A" * 200])


@given(NAMES | st.from_regex(r"[A-Za-z][A-Za-z0-9_./-]*", fullmatch=True), NAMES)
def test_an_entry_written_by_us_is_the_one_that_ruamel_writes(key: str, value: str) -> None:
    with mock.patch.object(write, "_bare_entry", lambda value: None):
        expected = write.block({key: value}), write.block({value: key})
    assert (write.block({key: value}), write.block({value: key})) == expected
