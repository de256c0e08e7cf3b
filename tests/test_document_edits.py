"""
Edits: the edited text reads as RFC 6902 says, and everything around the edit is the same bytes.

The laws run over texts that are written here, by an emitter that shares nothing with the code it tests, in formattings
drawn at random: indents, brackets, quotes, comments, blank lines, line ends, lists at their key's column.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.documents import Edit, EditError, Path, dump, parse, pointer, splice

Draw = Callable[[st.SearchStrategy[Any]], Any]


def read(text: bytes) -> Any:
    parsed = parse(text)
    assert not parsed.faults, parsed.faults
    (document,) = parsed.documents
    return document.value


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        # replace
        ("a: 1 # one\nb: 2\n", ("replace", "/a", 5), "a: 5 # one\nb: 2\n"),
        ("a: 1", ("replace", "/a", "yes"), 'a: "yes"'),
        ("a: 1", ("replace", "/a", "0777"), 'a: "0777"'),
        ("a:   1   # c\n", ("replace", "/a", "x y"), "a:   x y   # c\n"),
        ("a:\nb: 2\n", ("replace", "/a", 1), "a: 1\nb: 2\n"),
        ("a: # none\nb: 2\n", ("replace", "/a", 1), "a: 1 # none\nb: 2\n"),
        ("a: {}\nb: 2\n", ("replace", "/a", {"x": 1}), "a:\n  x: 1\nb: 2\n"),
        ("a: 1 # c\nb: 2\n", ("replace", "/a", {"x": [1]}), "a: # c\n  x:\n  - 1\nb: 2\n"),
        ("a: # c\n  x: 1\n  # inner\n# b\nb: 2\n", ("replace", "/a", 5), "a: 5 # c\n  # inner\n# b\nb: 2\n"),
        ("a: # c\n    x: 1\nb: 2\n", ("replace", "/a", {"w": 1, "z": 2}), "a: # c\n    w: 1\n    z: 2\nb: 2\n"),
        ("a: {x: 1, w: 2}\n", ("replace", "/a", {"z": 1}), "a: {z: 1}\n"),
        ("a: {x: 1, w: 2}\n", ("replace", "/a/x", "a, b"), "a: {x: 'a, b', w: 2}\n"),
        ("a: |\n  x\n  y\n\n\n# c\nb: 1\n", ("replace", "/a", "z"), "a: z\n\n\n# c\nb: 1\n"),
        ("a: z # c\nb: 1\n", ("replace", "/a", "x\ny\n"), "a: | # c\n  x\n  y\nb: 1\n"),
        ("a:\n- 0", ("replace", "/a", "x\nw\n"), 'a: "x\\nw\\n"'),
        ("- : 1\n", ("replace", "/x", 1), EditError),
        ("? x\n", ("replace", "/x", 1), EditError),
        ("a:\n- x # c\n- y\n", ("replace", "/a/0", "z"), "a:\n- z # c\n- y\n"),
        ("a:\n- x\n-\n", ("replace", "/a/1", {"k": 1, "l": 2}), "a:\n- x\n- k: 1\n  l: 2\n"),
        ("a:\n- k: 1\n  l: 2\n- y\n", ("replace", "/a/0", "z"), "a:\n- z\n- y\n"),
        ("a: 1\r\nb:\r\n  c: 2\r\n", ("replace", "/b", {"d": {"e": 1}}), "a: 1\r\nb:\r\n  d:\r\n    e: 1\r\n"),
        ("\ufeffé: ü # é\nb: 1\n", ("replace", "/é", "ö"), "\ufeffé: ö # é\nb: 1\n"),
        ('{"a": 1, "b": [1, 2]}\n', ("replace", "/b/1", "x"), '{"a": 1, "b": [1, "x"]}\n'),
        ("a: *x\n", ("replace", "/a", 1), EditError),
        # add
        ("a:\n  b: 1\nc: 2\n", ("add", "/a/x", 1), "a:\n  b: 1\n  x: 1\nc: 2\n"),
        ("a:\n  b: 1 # one\n  # two\nc: 2\n", ("add", "/a/x", 1), "a:\n  b: 1 # one\n  x: 1\n  # two\nc: 2\n"),
        ("a: 1", ("add", "/b", 2), "a: 1\nb: 2"),
        ("a: |\n  x", ("add", "/b", 2), "b: 2\na: |\n  x"),
        ("a:\n- 0", ("add", "/a/-", "x\n"), 'a:\n- 0\n- "x\\n"'),
        ("a: |+\n  x\n\n", ("add", "/b", 2), "a: |+\n  x\n\nb: 2\n"),
        ("a: {b: 1}\n", ("add", "/a/x", 1), "a: {b: 1, x: 1}\n"),
        ("a: {}\n", ("add", "/a/x", 1), "a:\n  x: 1\n"),
        ("a:\nb: 1\n", ("add", "/a/x/w", 1), "a:\n  x:\n    w: 1\nb: 1\n"),
        ("a: 1\n", ("add", "/x/w/z", 1), "a: 1\nx:\n  w:\n    z: 1\n"),
        ("a: 1\n", ("add", "/a", 2), "a: 2\n"),
        ("a:\n- 1\nb: 2\n", ("add", "/a/-", 3), "a:\n- 1\n- 3\nb: 2\n"),
        ("a:\n  - 1 # c\n  - 2\n", ("add", "/a/1", {"x": 1, "w": 2}), "a:\n  - 1 # c\n  - x: 1\n    w: 2\n  - 2\n"),
        ("a:\n  # first\n  - 1\n", ("add", "/a/0", 0), "a:\n  # first\n  - 0\n  - 1\n"),
        ("a:\n- - 1\n  - 2\n", ("add", "/a/0/0", 0), "a:\n- - 0\n  - 1\n  - 2\n"),
        ("a: [1, 2]\n", ("add", "/a/-", 3), "a: [1, 2, 3]\n"),
        ("a: [1, 2]\n", ("add", "/a/0", 0), "a: [0, 1, 2]\n"),
        ("a: []\n", ("add", "/a/-", 3), "a:\n- 3\n"),
        ("a: [1]\n", ("add", "/a/5", 3), EditError),
        ("a: 1\n", ("add", "/a/b", 3), EditError),
        (
            '{\n  "a": {\n    "b": 1\n  }\n}\n',
            ("add", "/a/c", {"d": []}),
            '{\n  "a": {\n    "b": 1,\n    "c": {\n      "d": []\n    }\n  }\n}\n',
        ),
        # remove
        ("a: 1\nb: 2 # two\nc: 3\n", ("remove", "/b", None), "a: 1\nc: 3\n"),
        (
            "# a\na: 1\n\n# b\nb:\n  c: |\n    x\n\n# d\nd: 3\n",
            ("remove", "/b", None),
            "# a\na: 1\n\n# b\n\n# d\nd: 3\n",
        ),
        ("a:\n  b: 1\nc: 2\n", ("remove", "/a/b", None), "a: {}\nc: 2\n"),
        ("a:\n- b: 1\n  # c\n  c: 2\n", ("remove", "/a/0/b", None), "a:\n- # c\n  c: 2\n"),
        ("a:\n- 1\n- 2\n", ("remove", "/a/0", None), "a:\n- 2\n"),
        ("a:\n- 1\nb: 1\n", ("remove", "/a/0", None), "a: []\nb: 1\n"),
        ("a: [1, 2, 3]\n", ("remove", "/a/2", None), "a: [1, 2]\n"),
        ("a: {x: 1, w: 2}\n", ("remove", "/a/x", None), "a: {w: 2}\n"),
        ("a: {x: 1,}\n", ("remove", "/a/x", None), "a: {}\n"),
        ("a: 1\nb: 2", ("remove", "/b", None), "a: 1\n"),
        ("a: 1\n", ("remove", "/b", None), EditError),
        ("a: 1\n", ("remove", "", None), EditError),
    ],
)
def test_an_edit_changes_its_own_bytes(before: str, edit: tuple[Any, str, Any], after: Any) -> None:
    op, path, value = edit
    one = Edit(steps(path), op, value)
    if after is EditError:
        with pytest.raises(EditError):
            splice(before.encode(), [one])
    else:
        assert splice(before.encode(), [one]).decode() == after


def steps(path: str) -> Path:
    return tuple(int(step) if step.isdigit() else step for step in path.split("/")[1:])


SHARED = "base: &b {x: 1, w: {z: 1}}\nuse: *b\nown:\n  <<: *b\n  k: 1\n"


@pytest.mark.parametrize(
    ("op", "path", "says"),
    [
        ("replace", "/base/x", "anchor"),
        ("remove", "/base", "anchor"),
        ("replace", "/use/x", "alias"),
        ("add", "/use/w/m", "alias"),
        ("replace", "/own/x", "merge key"),
        ("remove", "/own/w/z", "merge key"),
    ],
)
def test_what_is_written_once_and_used_twice_is_not_edited(op: Any, path: str, says: str) -> None:
    with pytest.raises(EditError, match="written once and used twice") as error:
        splice(SHARED.encode(), [Edit(steps(path), op, 9)])
    assert says in error.value.message


def test_an_alias_can_be_replaced_as_a_whole_and_keys_go_beside_a_merge() -> None:
    edits = [Edit(("use",), "replace", 3), Edit(("own", "m"), "add", "x")]
    assert (
        splice(SHARED.encode(), edits).decode()
        == "base: &b {x: 1, w: {z: 1}}\nuse: 3\nown:\n  <<: *b\n  k: 1\n  m: x\n"
    )


def test_several_edits_are_made_in_order() -> None:
    edits = [
        Edit(("a",), "add", [1]),
        Edit(("a", "-"), "add", 2),
        Edit(("b",), "remove"),
        Edit(("a", 0), "replace", "x"),
    ]
    assert splice(b"b: 1\nc: 2 # c\n", edits) == b"c: 2 # c\na:\n- x\n- 2\n"


def test_an_edit_that_changes_nothing_changes_no_byte() -> None:
    assert (
        splice(b"a:    'x'   # c\n", [Edit(("a",), "replace", "x"), Edit(("a",), "add", "x")]) == b"a:    'x'   # c\n"
    )


@pytest.mark.parametrize("text", [b"a: [\n", b"a: \xff\n", b"a: 1\n---\nb: 1\n", b"", b"- a\n"])
def test_what_is_not_one_object_cannot_be_edited(text: bytes) -> None:
    with pytest.raises(EditError, match="cannot be read"):
        splice(text, [Edit(("a",), "add", 1)])


# The emitter

TEXTS = [
    "x",
    "plain text",
    "yes",
    "0777",
    "1_000",
    "a: b",
    "# no",
    "",
    " lead",
    "é😀",
    "it's",
    'say "x"',
    "a\nb\n",
    "a\n\nb",
    "{{ x }}",
    "-",
    "null",
    "*a",
    "1:30",
    "2026-01-02",
    "a, b",
    "[",
    "tab\there",
    "\u2028",
    "x" * 90,
]
SCALARS = st.one_of(
    st.sampled_from(TEXTS), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.none(), st.sampled_from([0.5, 1e-7])
)
KEYS = st.sampled_from(["a", "b", "name", "nvidia.com/gpu", "y", "n", "é", "a b", "k: k", "0", "<<", "#", "long" * 20])
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3), max_leaves=8)
OBJECTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


class Emitter:
    """Writes a value in a formatting of its own; `regions` says where each path's key or dash starts and its value ends."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.out = ""
        self.regions: dict[Path, tuple[int, int]] = {}
        self.flowing: set[Path] = set()
        self.comments = itertools.count()
        self.line_break = draw(st.sampled_from(["\n", "\r\n"]))
        self.indent = draw(st.sampled_from([1, 2, 4]))
        self.offset = draw(st.sampled_from([0, 1, 2]))

    def chance(self, one_in: int = 3) -> bool:
        return bool(self.draw(st.integers(0, one_in - 1)) == one_in - 1)

    def write(self, text: str) -> None:
        self.out += text

    def comment(self) -> str:
        return f"# comment {next(self.comments)} {{x: '"

    def end_line(self, *, after_block_scalar: bool = False) -> None:
        if not after_block_scalar:
            if self.chance(4):
                self.write("  ")
            if self.chance(4):
                self.write(" " + self.comment())
        self.write(self.line_break)

    def own_lines(self, column: int) -> None:
        if self.chance(5):
            self.write(self.line_break)
        if self.chance(5):
            self.write(" " * column + self.comment() + self.line_break)

    def text(self, value: str, *, plain: bool) -> str:
        if plain and re.fullmatch(r"[a-z][a-z ./]*[a-z]|x+", value) and value not in ("yes", "null") and self.chance(2):
            return value
        if re.fullmatch(r"[ -~éß😀]*", value) and self.chance(2):
            return "'" + value.replace("'", "''") + "'"
        return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028")

    def scalar(self, value: Any, *, key: bool = False) -> str:
        if isinstance(value, str):
            return self.text(value, plain=True)
        if value is None:
            return str(self.draw(st.sampled_from(["null", "~"])))
        return json.dumps(value)

    def flow(self, value: Any, path: Path) -> None:
        self.flowing.add(path)
        gap = self.draw(st.sampled_from(["", " "]))
        if isinstance(value, dict):
            self.write("{" + gap)
            for i, (key, item) in enumerate(value.items()):
                self.write(", " if i else "")
                start = len(self.out)
                self.write(self.text(key, plain=True) + ": ")
                self.flow(item, (*path, key))
                self.regions[(*path, key)] = (start, len(self.out))
            self.write(gap + "}")
        elif isinstance(value, list):
            self.write("[" + gap)
            for i, item in enumerate(value):
                self.write(", " if i else "")
                start = len(self.out)
                self.flow(item, (*path, i))
                self.regions[(*path, i)] = (start, len(self.out))
            self.write(gap + "]")
        else:
            self.write(self.scalar(value))

    def mapping(self, value: dict[str, Any], column: int, path: Path, *, inline: bool) -> None:
        for i, (key, item) in enumerate(value.items()):
            if i or not inline:
                self.own_lines(column)
                self.write(" " * column)
            start = len(self.out)
            self.write(self.text(key, plain=True) + ":")
            self.regions[(*path, key)] = (start, self.under_key(item, column, (*path, key)))

    def under_key(self, value: Any, column: int, path: Path) -> int:
        """Returns where the value ends."""
        if isinstance(value, (dict, list)) and value and not self.chance(4):
            self.end_line()
            if isinstance(value, dict):
                self.mapping(value, column + self.indent, path, inline=False)
            else:
                self.sequence(value, column + self.offset, path, inline=False)
            return len(self.out)
        if isinstance(value, str) and re.fullmatch(r"a\n\n?b\n?", value) and self.chance(2):
            self.write(" |" + ("" if value.endswith("\n") else "-") + self.line_break)
            lines = [
                " " * (column + self.indent) + line if line else "" for line in value.removesuffix("\n").split("\n")
            ]
            self.write(self.line_break.join(lines))
            end = len(self.out)
            self.end_line(after_block_scalar=True)
            return end
        if value is None and self.chance(2):
            end = len(self.out)
        else:
            self.write(" ")
            self.flow(value, path)
            if not isinstance(value, (dict, list)):
                self.flowing.discard(path)
            end = len(self.out)
        self.end_line()
        return end

    def sequence(self, value: list[Any], column: int, path: Path, *, inline: bool) -> None:
        for i, item in enumerate(value):
            if i or not inline:
                self.own_lines(column)
                self.write(" " * column)
            start = len(self.out)
            self.write("-")
            below = (*path, i)
            if isinstance(item, dict) and item and not self.chance(4):
                self.write(" ")
                self.mapping(item, column + 2, below, inline=True)
                end = len(self.out)
            elif isinstance(item, list) and item and not self.chance(3):
                self.write(" ")
                self.sequence(item, column + 2, below, inline=True)
                end = len(self.out)
            else:
                self.write(" ")
                self.flow(item, below)
                if not isinstance(item, (dict, list)):
                    self.flowing.discard(below)
                end = len(self.out)
                self.end_line()
            self.regions[below] = (start, end)

    def document(self, value: dict[str, Any]) -> str:
        self.regions[()] = (0, 0)
        if self.chance(6):
            self.flow(value, ())
            self.write(self.line_break)
        else:
            self.own_lines(0)
            self.mapping(value, 0, (), inline=False)
        if self.chance(4) and not self.out.rstrip().endswith(("a", "b")):  # a `|` text would lose its line break
            self.out = self.out.removesuffix(self.line_break)
        self.regions[()] = (0, len(self.out))
        return self.out


@st.composite
def written_objects(draw: Draw) -> tuple[dict[str, Any], str, Emitter]:
    value = draw(OBJECTS)
    emitter = Emitter(draw)
    return value, emitter.document(value), emitter


@st.composite
def edits_of(draw: Draw, value: Any) -> Edit:
    """An edit that RFC 6902 allows, or allows with the mappings on the way made."""
    path: Path = ()
    while isinstance(value, (dict, list)) and value and (not path or draw(st.booleans())):
        step = draw(st.sampled_from(sorted(value))) if isinstance(value, dict) else draw(st.integers(0, len(value) - 1))
        path, value = (*path, step), value[step]
    new = draw(VALUES)
    kinds: list[Any] = ["replace", "remove"]
    if isinstance(value, (dict, list)) or value is None:
        kinds += ["add", "add"]
    op = draw(st.sampled_from(kinds))
    if op != "add":
        return Edit(path, op, new)
    if isinstance(value, list):
        return Edit((*path, draw(st.one_of(st.integers(0, len(value)), st.just("-")))), "add", new)
    return Edit(
        (*path, *draw(st.lists(KEYS.filter(lambda key: key not in (value or {})), min_size=1, max_size=2))), "add", new
    )


def patched(value: Any, edit: Edit) -> Any:
    """RFC 6902, by the letter, on a copy."""
    root = {"": copy.deepcopy(value)}
    at: Any = root
    path: list[str | int] = ["", *edit.path]
    for step in path[:-1]:
        if (at.get(str(step)) if isinstance(at, dict) else at[int(step)]) is None:
            at[step] = {}
        at = at[step]
    last = path[-1]
    if isinstance(at, list) and edit.op == "add":
        at.insert(len(at) if last == "-" else int(last), edit.value)
    elif edit.op == "remove":
        del at[last]
    else:
        at[last] = edit.value
    return root[""]


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.data())
def test_a_text_reads_as_the_value_it_was_written_from(data: st.DataObject) -> None:
    value, text, _ = data.draw(written_objects())
    assert same(read(text.encode()), value)


@given(st.data())
def test_an_edited_text_reads_as_the_edited_value_and_keeps_every_other_byte(data: st.DataObject) -> None:
    value, text, emitter = data.draw(written_objects())
    edit = data.draw(edits_of(value))
    after = splice(text.encode(), [edit]).decode()
    assert same(read(after.encode()), patched(value, edit))
    assert after.count("\r") == (after.count("\n") if "\r\n" in text else 0), "line ends are the text's own"

    if edit.op == "add" and (edit.path not in emitter.regions or isinstance(edit.path[-1], int)):
        path = edit.path
        while path not in emitter.regions or path == edit.path:
            path = path[:-1]
        container: Any = value
        for step in path:
            container = container[step]
        assert container in ({}, [], None) or is_pure_insertion(text, after), (
            "an addition inserts, and does nothing else"
        )
    else:
        path = edit.path
        if edit.op == "remove":
            siblings = [other for other in emitter.regions if other and other[:-1] == path[:-1]]
            if len(siblings) > 1:
                assert is_pure_insertion(after, text), "a removal deletes one span, and does nothing else"
            else:
                path = path[:-1]
    start, end = emitter.regions[path]
    if path and not (edit.op == "remove" and path == edit.path and path[:-1] in emitter.flowing):
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        assert after.startswith(text[:line_start]), "what is written above stays"
        below = text[line_end + 1 :]
        if edit.op == "remove":
            below = below.lstrip()  # what followed may have moved up behind a dash
        assert line_end < 0 or after.endswith(below), "what is written below stays"


def is_pure_insertion(short: str, long: str) -> bool:
    """Whether `long` is `short` with one span put in."""
    head = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), min(len(short), len(long)))
    return len(long) >= len(short) and long.endswith(short[head:])


@given(st.data())
def test_edits_of_one_splice_are_the_same_as_one_after_another(data: st.DataObject) -> None:
    value, text, _ = data.draw(written_objects())
    first = data.draw(edits_of(value))
    second = data.draw(edits_of(patched(value, first))) if patched(value, first) else first
    together = splice(text.encode(), [first, second] if second is not first else [first])
    apart = splice(splice(text.encode(), [first]), [second] if second is not first else [])
    assert together == apart


@given(OBJECTS)
def test_json_is_edited_as_json(value: dict[str, Any]) -> None:
    for indent in (None, 2):
        text = json.dumps(value, indent=indent, ensure_ascii=False).replace("\u2028", "\\u2028")
        after = splice(text.encode(), [Edit(("new",), "add", value), Edit((next(iter(value)),), "remove")])
        expected = {**value, "new": value}
        del expected[next(iter(value))]
        assert same(json.loads(after), expected)


@given(OBJECTS)
def test_a_dumped_value_reads_the_same(value: dict[str, Any]) -> None:
    assert same(read(dump(value)), value)


def test_what_kustomize_takes_for_a_time_is_written_in_quotes() -> None:
    text = b"kind: A\nday: x\nflow: {day: x}\n"
    edits = [Edit(("day",), "replace", "2026-01-02"), Edit(("flow", "day"), "replace", "2026-01-02")]
    assert splice(text, edits) == b'kind: A\nday: "2026-01-02"\nflow: {day: "2026-01-02"}\n'


def test_pointer_escapes_as_rfc_6901() -> None:
    assert pointer(("a/b", 0, "c~d")) == "/a~1b/0/c~0d"
