"""A key that is set twice has its last value, as for kubectl, and nothing else of the file changes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.documents import last_ones, parse

TWICE: dict[str, tuple[str, str]] = {
    "a mapping, then an empty one": ("a:\n  n: '1'\na: {}\nb: 2\n", "\n\na: {}\nb: 2\n"),
    "at the dash of a list": ("l:\n- a: 1\n  a: 2\n", "l:\n-\n  a: 2\n"),
    "in braces": ("x: {a: 1, b: 3, a: 2}\n", "x: {      b: 3, a: 2}\n"),
    "a text of several lines": ("a: |\n  one\n\n  two\nb: 1\na: 3\n", "\n\n\n\nb: 1\na: 3\n"),
    "three times": ("a: 1\na: 2\na: 3\n", "\n\na: 3\n"),
    "in an entry that is blanked itself": ("a:\n  b: 1\n  b: 2\na: 3\n", "\n\n\na: 3\n"),
    "in JSON": ('{"a": 1, "a": 2}', '{        "a": 2}'),
    "with the line ends of Windows": ("a: 1\r\na: 2\r\n", "\r\na: 2\r\n"),
    "after a byte order mark": ("\ufeffa: 1\na: 2\n", "\ufeff\na: 2\n"),
}


@pytest.mark.parametrize("name", TWICE)
def test_the_earlier_entry_is_blanked_and_lines_stay_where_they_are(name: str) -> None:
    text, wanted = TWICE[name]
    after, told = last_ones(text.encode())
    assert after.decode() == wanted
    assert told != ()
    assert parse(after).faults == ()


def test_what_is_taken_out_is_told_with_both_of_its_places() -> None:
    _, (told,) = last_ones(b"a: 1\nb:\n  key: x\n  key: y\n")
    assert (told.line, told.column, told.message) == (
        3,
        3,
        'the key "key" is set again on line 4, and the last one counts',
    )


@pytest.mark.parametrize("data", [b"a: [1\n", b"\xff", b"a: &x 1\na: 2\nb: *x\n", b"a: 1\n<<: {b: 1}\n<<: {b: 2}\n"])
def test_what_cannot_be_read_without_a_doubt_stays_a_fault(data: bytes) -> None:
    assert parse(last_ones(data)[0]).faults != ()


def test_more_than_are_told_are_not_mended() -> None:
    data = b"a: 1\n" * 5000
    assert parse(last_ones(data)[0]).faults != ()


KEYS = st.sampled_from("abc")
SCALARS = st.integers(0, 9) | st.text("uvw", min_size=1, max_size=3)


def _entries(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just("map"), st.lists(st.tuples(KEYS, below), min_size=1, max_size=4)) | st.tuples(
        st.just("list"), st.lists(below, min_size=1, max_size=3)
    )


TREES = st.recursive(SCALARS, _entries, max_leaves=12).filter(lambda tree: isinstance(tree, tuple) and tree[0] == "map")


def _block(tree: Any, indent: str) -> str:
    """A tree as YAML in block style, keys as often as they come."""
    if not isinstance(tree, tuple):
        return f" {tree}\n"
    kind, entries = tree
    if kind == "list":
        return "\n" + "".join(f"{indent}-{_block(item, indent + '  ')}" for item in entries)
    return "\n" + "".join(f"{indent}{key}:{_block(item, indent + '  ')}" for key, item in entries)


def _flow(tree: Any) -> str:
    if not isinstance(tree, tuple):
        return str(tree)
    kind, entries = tree
    if kind == "list":
        return "[" + ", ".join(map(_flow, entries)) + "]"
    return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in entries) + "}"


@given(tree=TREES, flow=st.booleans())
def test_it_reads_as_another_reader_that_takes_the_last_one_has_it(tree: Any, flow: bool) -> None:
    text = _flow(tree) if flow else _block(tree, "").lstrip("\n")
    after, told = last_ones(text.encode())
    read = parse(after)
    assert read.faults == ()
    assert read.documents[0].value == yaml.safe_load(text)
    assert bool(told) == any(fault.code == "DuplicateKey" for fault in parse(text.encode()).faults)
