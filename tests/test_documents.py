"""
Reading: values as Kubernetes reads them, every fault at once and where it is, and nothing that can hurt the reader.
"""

from __future__ import annotations

import copy
import importlib
import json
import pickle
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gitplacer.documents import Document, Edit, ParsedFile, Path, compose, parse
from gitplacer.problems import Location, Problem

parsing = importlib.import_module("gitplacer.documents.parse")  # the package has a function of that name


def value_of(text: str) -> Any:
    parsed = parse(text.encode())
    assert not parsed.faults, parsed.faults
    (document,) = parsed.documents
    return document.value


def documents_of(data: bytes | str, file: str = "f.yaml") -> list[Document]:
    raw = data.encode() if isinstance(data, str) else data
    parsed = parse(raw)
    assert not parsed.faults, parsed.faults
    return [Document(file, one, i, lambda: raw) for i, one in enumerate(parsed.documents)]


def document_of(data: bytes | str) -> Document:
    (document,) = documents_of(data)
    return document


def codes(parsed: ParsedFile) -> list[str]:
    return [f"{fault.line}:{fault.column} {fault.code}" for fault in parsed.faults]


# Values


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # sigs.k8s.io/yaml: booleans and numbers as YAML 1.1 and Go write them
        ("true", True),
        ("True", True),
        ("tRUE", "tRUE"),
        ("yes", True),
        ("no", False),
        ("on", True),
        ("Off", False),
        ("y", True),
        ("N", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("nULL", "nULL"),
        ("0", 0),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("0777", 511),
        ("0o17", 15),
        ("0b11", 3),
        ("0x1F", 31),
        ("-0x1f", -31),
        ("1_000", 1000),
        ("08", 8),
        ("00", 0),
        ("0xg", "0xg"),
        ("1__0", 10),
        ("1.5", 1.5),
        ("1.0", 1),
        ("1.", 1),
        (".5", 0.5),
        ("1e3", 1000),
        ("1E-7", 1e-7),
        ("1_0.5", 10.5),
        (".5_0", ".5_0"),
        ("-.5", -0.5),
        ("1:30", "1:30"),
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("1.2.3", "1.2.3"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("<<", "<<"),
        ("=", "="),
        ("'yes'", "yes"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("!!int '7'", 7),
        ("!!float 3", 3),
        ("!!bool 'no'", False),
        ("!!null ''", None),
        ("|\n  x\n", "x\n"),
        (">-\n  x\n  y\n", "x y"),
        ("\n  plain\n  text", "plain text"),
        ('"\\u00e9\\n"', "é\n"),
        ("!!seq [1]", [1]),
        ("!!map {}", {}),
        ("[yes, 'no', 1.0]", [True, "no", 1]),
        ("{a: b, c: }", {"a": "b", "c": None}),
    ],
)
def test_a_scalar_means_what_kubernetes_takes_it_for(written: str, value: Any) -> None:
    found = value_of(f"a: {written}\n")["a"]
    assert found == value
    assert type(found) is type(value)


WORDS = st.text(alphabet="+-.0123456789_eExXob", min_size=1, max_size=12)


@given(WORDS)
def test_a_number_is_the_one_pyyaml_reads_where_both_agree_on_the_form(text: str) -> None:
    parsed = parse(f"a: {text}\n".encode())
    if parsed.faults:
        return
    found = parsed.documents[0].value["a"]
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        other = yaml.safe_load(f"a: {text}\n")["a"]
        if isinstance(other, (int, float)):
            assert float(found) == float(other)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), v, max_size=3)
    ),
    max_leaves=9,
)
OBJECTS = st.dictionaries(st.sampled_from(["kind", "spec", "é", "n"]), PLAIN, min_size=1, max_size=3)


@given(OBJECTS)
def test_json_and_the_same_object_in_yaml_are_one_value(value: dict[str, Any]) -> None:
    as_json = parse(json.dumps(value).encode())
    as_yaml = parse(yaml.safe_dump(value, default_style='"', allow_unicode=False, sort_keys=False).encode())
    assert not as_json.faults
    if "!!" not in yaml.safe_dump(value, default_style='"'):
        assert [one.value for one in as_json.documents] == [one.value for one in as_yaml.documents]


def test_integral_decimals_are_integers_in_json_too() -> None:
    assert value_of('{"a": 2.0, "b": 1e3, "c": 1.5}') == {"a": 2, "b": 1000, "c": 1.5}
    assert isinstance(value_of('{"a": 2.0}')["a"], int)


def test_aliases_and_merge_keys_are_written_out() -> None:
    text = "base: &b {x: 1, z: {k: 2}}\nuse: *b\nown:\n  <<: *b\n  x: 3\nmany:\n  <<: [*b, {x: 9, w: 4}]\n"
    shared = {"x": 1, "z": {"k": 2}}
    assert value_of(text) == {"base": shared, "use": shared, "own": {**shared, "x": 3}, "many": {**shared, "w": 4}}


def test_a_merge_key_may_have_the_tag_of_one_as_yq_writes_it() -> None:
    text = "base: &b {x: 1, z: 2}\nown:\n  !!merge <<: *b\n  x: 3\nflow: {!!merge <<: [*b, {x: 9, w: 4}]}\nvalue: !!merge <<\n"
    base = {"x": 1, "z": 2}
    assert value_of(text) == {"base": base, "own": {**base, "x": 3}, "flow": {**base, "w": 4}, "value": "<<"}


def test_an_anchor_may_be_set_again() -> None:
    assert value_of("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


# Documents


def test_documents_keep_their_own_text() -> None:
    data = (
        b"# one\nkind: A\n---\n# two\nkind: B  # \xc3\xa9\n...\n# three\n---   \nkind: C\n---\n---\n# nothing\n"
        b"---\n{kind: D}\n--- # five\nkind: E\n"
    )
    found = documents_of(data)
    assert [one.value["kind"] for one in found] == list("ABCDE")
    assert [one.source() for one in found] == [
        b"# one\nkind: A\n",
        b"# two\nkind: B  # \xc3\xa9\n",
        b"kind: C\n",
        b"{kind: D}\n",
        b"# five\nkind: E\n",
    ]
    assert [one.locate(("kind",)).line for one in found] == [2, 5, 9, 14, 16]
    assert found[3].locate(("kind",)) == Location("f.yaml", 14, 8)


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_offsets_are_bytes_whatever_the_line_ends(line_break: str, bom: str) -> None:
    text = bom + line_break.join(["# ü", "a: é", "--- ", "b: ö", "--- # c", "c: 😀", ""])
    data = text.encode()
    first, second, third = documents_of(data)
    assert first.source() == (bom + f"# ü{line_break}a: é{line_break}").encode()
    assert second.source() == f"b: ö{line_break}".encode()
    assert third.source() == f"# c{line_break}c: 😀{line_break}".encode()
    assert third.locate(("c",)) == Location("f.yaml", 6, 4)
    assert third.locate(()) == Location("f.yaml", 6, 1)
    for one in (first, second, third):
        assert parse(one.source()).documents[0].value == one.value


LIST = """\
apiVersion: v1
kind: List
items:
# about a
- apiVersion: v1
  kind: ConfigMap   # a
  metadata: {name: a, labels: &l {x: "1"}}
  data:
    text: |
      line

      more
- kind: ConfigMap
  metadata: {name: b, labels: *l}
-
  # c
  kind: ConfigMap
  metadata:
    name: c
- {kind: Pod,
   metadata: {name: d}}
- apiVersion: v1
  kind: List
  items: [{kind: Deep}]
"""


def test_a_list_is_its_items() -> None:
    a, b, c, d, deep = documents_of(LIST)
    assert [one.value["kind"] for one in (a, b, c, d, deep)] == ["ConfigMap", "ConfigMap", "ConfigMap", "Pod", "Deep"]
    assert (
        a.source().decode()
        == """\
apiVersion: v1
kind: ConfigMap   # a
metadata: {name: a, labels: &l {x: "1"}}
data:
  text: |
    line

    more
"""
    )
    assert b.source().decode() == 'kind: ConfigMap\nmetadata:\n  name: b\n  labels:\n    x: "1"\n'  # *l is elsewhere
    assert c.source().decode() == "kind: ConfigMap\nmetadata:\n  name: c\n"
    assert d.source().decode() == "{kind: Pod,\n   metadata: {name: d}}\n"
    assert deep.parsed.prefix == ("items", 4, "items", 0)
    assert c.locate(("metadata", "name")) == Location("f.yaml", 19, 11)
    assert deep.locate(("kind",)) == Location("f.yaml", 24, 18)
    assert c.edited([Edit(("metadata", "name"), "replace", "z")]) == b"kind: ConfigMap\nmetadata:\n  name: z\n"
    for one in (a, b, c, d, deep):
        assert parse(one.source()).documents[0].value == one.value


def test_an_item_of_a_list_that_is_no_object_is_a_fault_and_the_others_are_read() -> None:
    parsed = parse(b"apiVersion: v1\nkind: List\nitems:\n- kind: A\n- 5\n")
    assert codes(parsed) == ["5:3 NotAMapping"]
    assert [one.value for one in parsed.documents] == [{"kind": "A"}]


def test_a_parsed_file_can_be_kept() -> None:
    parsed = parse(LIST.encode())
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    faulty = parse(b"a: 1\na: 2\n")
    assert pickle.loads(pickle.dumps(faulty)) == faulty


# Faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", "3:1 DuplicateKey"),
        ("a: {b: 1, b: 2}\n", "1:11 DuplicateKey"),
        ('{"a": 1, "a": 2}', "1:10 DuplicateKey"),
        ("a: {x: 1}\n<<: {a: 2}\n", "1:1 DuplicateKey"),
        ("<<: {a: 1}\n<<: {b: 2}\n", "2:1 DuplicateKey"),
        ("1: a\n", "1:1 NonStringKey"),
        ("on: push\n", "1:1 NonStringKey"),
        ("a:\n  ? [x]\n  : 1\n", "2:5 NonStringKey"),
        ("a: {b: !foo 1}\n", "1:8 CustomTag"),
        ("a: !!python/object:os.system {}\n", "1:4 CustomTag"),
        ("a: !!binary aGk=\n", "1:4 CustomTag"),
        ("a: !!timestamp 2026-01-02\n", "1:4 CustomTag"),
        ("a: !!int x\n", "1:4 CustomTag"),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", "1:1 CustomTag"),
        ("a: .inf\n", "1:4 NotJSON"),
        ("a: -.INF\n", "1:4 NotJSON"),
        ("a: .nan\n", "1:4 NotJSON"),
        ("a: 9223372036854775808\n", "1:4 NotJSON"),
        ("a: 0x" + "f" * 5000 + "\n", "1:4 NotJSON"),
        ("a: 1e999\n", "1:4 NotJSON"),
        ('{"a": 1e999}', "1:7 NotJSON"),
        ('{"a": NaN, "b": 18446744073709551616}', "1:17 NotJSON"),
        ("a: *x\n", "1:4 UndefinedAlias"),
        ("a: &x [*x]\n", "1:8 RecursiveAlias"),
        ("a: 1\n--- \nb: &x 1\n---\nc: *x\n", "5:4 UndefinedAlias"),
        ("a: !!merge x\n", "1:4 CustomTag"),
        ("b: &b {x: 1}\na:\n  !!merge x: *b\n", "3:3 CustomTag"),
        ("a:\n  <<: 5\n", "2:7 InvalidMerge"),
        ("a:\n  <<: [{x: 1}, y z]\n", "2:7 InvalidMerge"),
        ("a:\n\tb: 1\n", "2:1 TabIndentation"),
        ("a:\n  b: 1\n \tc: 2\n", "3:2 TabIndentation"),
        ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", "2:1 ConflictMarkers"),
        ("a: [\n<<<<<<< HEAD\nb,\n=======\nc\n>>>>>>> other\n]\n", "2:1 ConflictMarkers"),
        ("a: {{ .Values.x }}\n", "1:4 UnrenderedTemplate"),
        ("{{- if .Values.on }}\na: 1\n{{- end }}\n", "1:1 UnrenderedTemplate"),
        ("a: 1\nb: x{{ .y }}: {{ z }}\n", "2:5 UnrenderedTemplate"),
        ("- a\n- b\n", "1:1 NotAMapping"),
        ("# c\njust text\n", "2:1 NotAMapping"),
        ("[1]", "1:1 NotAMapping"),
        ("apiVersion: v1\nkind: List\nitems:\n", "3:7 NotAMapping"),
        ("apiVersion: v1\nkind: List\n", "1:1 NotAMapping"),
        ("apiVersion: v1\nkind: List\nitems: {}\n", "3:8 NotAMapping"),
        ("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: off}]\n", "3:45 NotAMapping"),
        ("a: b: c\n", "1:5 InvalidYAML"),
        ("a:\n   b: 1\n  c: 2\n", "3:3 InvalidYAML"),
        ("a: [1, 2\nb: 3\n", "1:4 InvalidYAML"),
        ("a: 'x\nb: 3\n", "1:4 InvalidYAML"),
        ("a: @x\n", "1:4 InvalidYAML"),
        ("a: 1\ntext\n", "2:1 InvalidYAML"),
        ('a: "\\q"\n', "1:5 InvalidYAML"),
        ("a: x\x00y\n", "1:5 InvalidCharacter"),
        ("a: x\ufeffy\n", "1:5 InvalidCharacter"),
        ("a: \x1b[31m\n", "1:4 InvalidCharacter"),
        ('{"a": "\\ud800"}', "1:10 InvalidYAML"),
    ],
)
def test_a_fault_is_named_and_located(text: str, fault: str) -> None:
    parsed = parse(text.encode())
    assert fault in codes(parsed)
    assert all(one.message for one in parsed.faults)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("kind: A\n\u00a0\u00a0spec:\n  a: 1\n b: 2\n", 2),  # it is a key of the root, and what follows does not fit
        ("a: 1\nkind:\u00a0B\nb: 2\n", 2),
        ("a:\n  b: 1\n \u2003c: 2\n", 3),
        ("a: c\u00a0d\nb: 'x\n", None),  # in a text it is what it is
        ("b: 'x\na: 1\n\u00a0c: 1\n", None),  # behind the place where reading ended
    ],
)
def test_a_space_that_is_none_to_yaml_is_told_with_its_line(text: str, line: int | None) -> None:
    [fault] = parse(text.encode()).faults
    assert fault.code == "InvalidYAML"
    assert (f"line {line} has U+" in fault.hint) == (line is not None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%FOO bar\n---\na: b\n", "a line that begins with % and is no directive of YAML"),
        ("%YAML 2.0\n---\na: b\n", "a version of YAML that is not read"),
        ("%YAML 1.1\n---\na: b\n", "a %YAML directive, for which Kubernetes refuses the file"),
        ("%YAML 1.1\n%YAML 1.1\n---\na: b\n", "the version of YAML twice"),
    ],
)
def test_a_directive_is_told_by_what_is_wrong_with_it(text: str, said: str) -> None:
    (fault,) = parse(text.encode()).faults
    assert (fault.code, fault.message) == ("InvalidYAML", said) and "indentation" not in fault.hint


ODD_MARKER = "Kubernetes takes a line that begins with --- for one that parts documents, and this is none"
UNSEEN_MARKER = "Kubernetes does not see this ---, and reads nothing from here on"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: b\n---#c:\n  kind: Role\n", "2:1", ODD_MARKER),  # to Kubernetes two objects
        ("---#c: {a: b}\n", "1:1", ODD_MARKER),
        ("a: b\n---c: d\n", "2:1", ODD_MARKER),
        ("a: 'b\n---c\n d'\n", "2:1", ODD_MARKER),
        ("---\u00a0\na: b\n", "1:1", ODD_MARKER),
        ("a: b\n--- {c: d}\n", "2:1", ODD_MARKER),
        ("---\ra: b\r", "1:1", ODD_MARKER),
        ("a: b\r---\rc: d\r", "1:6", UNSEEN_MARKER),
        ("a: b\u2028--- # c\nc: d\n", "1:6", UNSEEN_MARKER),
    ],
)
def test_what_parts_documents_to_kubernetes_and_to_yaml_is_one_thing(text: str, place: str, said: str) -> None:
    (fault,) = parse(text.encode()).faults
    assert (f"{fault.line}:{fault.column}", fault.code, fault.message) == (place, "InvalidYAML", said)
    assert fault.hint


@pytest.mark.parametrize("end", ["", " ", "\t", "\r", " \r", " # c", "\t#c\r"])
def test_a_marker_may_have_a_comment_behind_it(end: str) -> None:
    parsed = parse(f"a: b\n---{end}\nc: ' ---d'\ne: |\n  ---f\n---{end}".encode())
    assert not parsed.faults
    assert [one.value for one in parsed.documents] == [{"a": "b"}, {"c": " ---d", "e": "---f\n"}]


LONG_KEY = "k" * 1025


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{LONG_KEY}: b\n", "1:1"),
        (f"a:\n  {LONG_KEY}: b\n", "2:3"),
        (f'a:\n  "{LONG_KEY[2:]}": b\n', "2:3"),
        (f"a:\n  b: c\n  '{LONG_KEY}':\n    d: e\n", "3:3"),
        (f"a:\n  - b: c\n  - - {LONG_KEY} : d\n", "3:7"),
        (f"a: {{b: [c], {LONG_KEY}: d}}\n", "1:13"),
        (f'a: {{"{LONG_KEY[:500]}, {LONG_KEY[:600]}" : b}}\n', "1:5"),
        (f'{{"a": [1],\n "{LONG_KEY}": 2, "a": 1}}', "2:2"),
    ],
    ids=lambda text: text.replace(LONG_KEY, "k*")[:30],
)
def test_a_key_that_is_too_long_is_told_as_one(text: str, place: str) -> None:
    (fault,) = parse(text.encode()).faults
    assert f"{fault.line}:{fault.column}" == place and fault.message.startswith("a key of 1,")
    written = "a:\n  ? " + LONG_KEY + "\n  : b\n"
    assert parse(written.encode()).faults == () and "`? key`" in fault.hint


@pytest.mark.parametrize(
    "text", [f"a: {LONG_KEY}: b\n", f'a: "{LONG_KEY}": b\n', f"{LONG_KEY[1:]}: b: c\n", f"a: {{b: {LONG_KEY}: c}}\n"]
)
def test_a_colon_behind_a_long_value_is_no_end_of_a_key(text: str) -> None:
    (fault,) = parse(text.encode()).faults
    assert "a key of" not in fault.message


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"a: 1\nb: caf\xe9\n", "2:7 NotUTF8"),
        (b"a: \xc3\xbc\xff\n", "1:5 NotUTF8"),
        ("a: 1\n".encode("utf-16"), "1:1 NotUTF8"),
        (b"\xed\xa0\x80", "1:1 NotUTF8"),
    ],
)
def test_bytes_that_are_no_text_are_located(data: bytes, fault: str) -> None:
    assert codes(parse(data)) == [fault]


def test_all_faults_of_a_file_arrive_together_and_sound_documents_are_read() -> None:
    parsed = parse(b"kind: A\n---\na: 1\na: !x 2\n1: 3\n---\nkind: B\n---\n- no\n---\nkind: C\n")
    assert codes(parsed) == ["4:1 DuplicateKey", "4:4 CustomTag", "5:1 NonStringKey", "9:1 NotAMapping"]
    assert [one.value for one in parsed.documents] == [{"kind": "A"}, {"kind": "B"}, {"kind": "C"}]


def test_what_the_scanner_cannot_read_ends_the_file_and_what_was_read_stays() -> None:
    parsed = parse(b"kind: A\n---\na: [\n---\nkind: B\n")
    assert len(parsed.faults) == 1
    assert [one.value for one in parsed.documents] == [{"kind": "A"}]


@pytest.mark.parametrize(
    ("key", "read"), [("1", "1"), ("0", "0"), ("yes", "true"), ("off", "false"), ("~", "null"), ("1.5", "1.5")]
)
def test_a_key_that_is_no_text_is_shown_as_it_is_read(key: str, read: str) -> None:
    (fault,) = parse(f"{key}: a\n".encode()).faults
    assert fault.message == f"this key is not text, it reads as {read}"


def test_a_duplicate_key_names_the_line_of_the_first() -> None:
    (fault,) = parse(b"a:\n  x: 1\n  y1: 2\n  x: 3\n").faults
    assert fault.message == 'the key "x" is already set on line 2'


# Budgets


def bomb(levels: int, width: int) -> str:
    lines = ["a0: &a0 [x]"]
    for i in range(levels):
        lines.append(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * width)}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 10_000, "TooDeep"),
        ("a: " + "{b: " * 10_000, "TooDeep"),
        ('{"a":' * 100_000, "TooDeep"),
        ('{"a":' * 65 + "1" + "}" * 65, "TooDeep"),
        ("\n".join(" " * i + f"k{i}:" for i in range(200)), "TooDeep"),
        ("- " * 10_000, "TooDeep"),
        ("".join(f"k{i}: &a{i} {'[' * 62}{f'*a{i - 1} ' if i else ''}{']' * 62}\n" for i in range(40)), "TooDeep"),
        ('{"a": [' + "1," * 600_000 + "1]}", "TooLarge"),
        ("a: [" + "1," * 600_000 + "1]", "TooLarge"),
        ("a: [" + "1," * 300_000 + "1]\n---\na: [" + "1," * 300_000 + "1]\n", "TooLarge"),
        ("kind: List\napiVersion: v1\nitems:\n" + "- {a: b}\n" * 1001, "TooManyDocuments"),
        ("a: b\n---\nkind: List\napiVersion: v1\nitems:\n" + "- {a: b}\n" * 1000, "TooManyDocuments"),
        ('{"kind": "List", "apiVersion": "v1", "items": [' + "{}," * 1000 + "{}]}", "TooManyDocuments"),
        (bomb(9, 9), "TooManyAliases"),
        (bomb(1, 1001), "TooManyAliases"),
        (bomb(3, 40), "TooManyAliases"),  # Kubernetes refuses it, though it stands for fewer values than may be
        ("a: &a {x: 1}\nb:\n" + "- <<: *a\n" * 1001, "TooManyAliases"),
        ("---\na: 1\n" * 1001, "TooManyDocuments"),
        ("a: " + "x" * ((1 << 20) + 1), "TooLarge"),
        ('{"a": "' + "x" * ((1 << 20) + 1) + '"}', "TooLarge"),
        ("a: 1\n" + "#" * (4 << 20), "TooLarge"),
    ],
    ids=lambda text: text[:12] if isinstance(text, str) else None,
)
def test_a_hostile_file_is_refused_for_what_it_costs(text: str, code: str) -> None:
    assert [fault.code for fault in parse(text.encode()).faults] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n" * 50_000,
        "- a\n---\n" * 900,
        "kind: List\napiVersion: v1\nitems:\n" + "- 1\n" * 1000,
        "<<<<<<< a\n" * 50_000,
        "1: a\n" * 50_000,
    ],
    ids=lambda text: text[:8],
)
def test_faults_without_end_are_cut_off(text: str) -> None:
    faults = parse(text.encode()).faults
    assert len(faults) == 101
    assert [fault.code for fault in faults].count("TooManyFaults") == 1


def test_the_bound_on_bytes_can_be_raised() -> None:
    text = b'{"a": 1}' + b" " * (4 << 20)
    assert parse(text).faults
    assert parse(text, max_bytes=32 << 20).documents[0].value == {"a": 1}


def test_depth_within_the_bound_is_read() -> None:
    assert not parse(('{"a":' * 64 + "1" + "}" * 64).encode()).faults
    assert not parse(("a: " + "[" * 63 + "]" * 63).encode()).faults


# Never raises

PIECES = st.sampled_from(
    [
        "a",
        "b: ",
        "- ",
        "? ",
        ": ",
        "\n",
        "\r\n",
        "  ",
        "\t",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&x ",
        "*x",
        "!t ",
        "!!int ",
        "<<: ",
        "'",
        '"',
        "|",
        ">+",
        "#",
        " # c\n",
        "---\n",
        "...\n",
        "%TAG",
        "\\",
        "\\ud800",
        "{{",
        "}}",
        "1",
        "0x",
        ".inf",
        "yes",
        "é",
        "\ufeff",
        "\x00",
        "\u2028",
        "kind: List\n",
        "apiVersion: v1\n",
        "items:\n",
        "@",
        "`",
        "<<<<<<< a\n",
    ]
)


@given(st.binary(max_size=60) | st.lists(PIECES, max_size=25).map(lambda pieces: "".join(pieces).encode()))
@example(b"\xff\xfe")
@example(b"{")
@example(b"? ")
@example(b'"\\UFFFFFFFF": 1')
def test_parse_never_raises_and_keeps_its_promises(data: bytes) -> None:
    parsed = parse(data)
    pickle.loads(pickle.dumps(parsed))
    for fault in parsed.faults:
        assert fault.line >= 1 and fault.column >= 1 and fault.code and fault.message
    if parsed.faults:
        return
    for i, one in enumerate(parsed.documents):
        document = Document("f", one, i, lambda: data)
        json.dumps(one.value, allow_nan=False).encode()
        again = parse(document.source())
        assert [other.value for other in again.documents] == [one.value] or one.value.get("kind") == "List"
        assert document.locate().line >= 1


MANIFEST = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: é, labels: &l {a: "1"}}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
        - name: head  # the head
          args: ["a", 'b']
          env: *l
          command: |
            run
"""


@given(st.integers(0, len(MANIFEST)), st.integers(0, 3), PIECES)
def test_a_manifest_with_one_slip_is_read_or_refused_with_a_place(at: int, cut: int, piece: str) -> None:
    parsed = parse((MANIFEST[:at] + piece + MANIFEST[at + cut :]).encode())
    assert parsed.faults or len(parsed.documents) >= 1
    for fault in parsed.faults:
        assert 1 <= fault.line <= MANIFEST.count("\n") + 3


def test_without_libyaml_the_answers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        MANIFEST,
        LIST,
        "a: 1\na: !x 2\n1: 3\n---\nkind: B\n",
        "a: b: c\n",
        "a:\n\tb: 1\n",
        "[" * 500,
        "x: {{ y }}\n",
        "a: @\n",
        "a: '\n",
    ]
    expected = [parse(text.encode()) for text in texts]
    monkeypatch.setattr(compose, "CParser", None)
    assert [parse(text.encode()) for text in texts] == expected


# Positions


@pytest.mark.parametrize(
    ("path", "key", "place"),
    [
        ((), False, (1, 1)),
        (("metadata", "name"), False, (3, 18)),
        (("metadata", "name"), True, (3, 12)),
        (("metadata", "labels", "a"), False, (3, 36)),
        (("spec", "headGroupSpec", "template", "spec", "containers", 0, "args", 1), False, (11, 23)),
        (("spec", "headGroupSpec"), False, (6, 5)),
        (("spec", "headGroupSpec"), True, (5, 3)),
        (("spec", "headGroupSpec", "missing", "x"), False, (5, 3)),
        (("spec", "headGroupSpec", "template", "spec", "containers", 7), False, (9, 9)),
        (("spec", "headGroupSpec", "template", "spec", "containers", 0, "env", "a"), False, (3, 36)),
        (("missing",), True, (1, 1)),
    ],
)
def test_a_path_is_found_where_it_stands(path: Path, key: bool, place: tuple[int, int]) -> None:
    assert document_of(MANIFEST).locate(path, key=key) == Location("f.yaml", *place)


def test_a_path_is_found_in_json() -> None:
    text = '{\n\t"a": [1,\n  {"😀\\ud83d\\ude00": 2, "c": 3}]}'
    assert document_of(text).locate(("a", 1, "c")) == Location("f.yaml", 3, 29)


def test_a_problem_carries_its_place() -> None:
    problem = document_of(MANIFEST).problem("X", "no", "fix", path=("kind",))
    assert problem == Problem(Location("f.yaml", 2, 7), "X", "no", "fix")


# Cursor

TYPED = """\
name: x
replicas: "3"
count: 3
flag: yes
on_: maybe
spec:
  sub: [1, {k: v}, null]
  args: [a, 1, b]
  labels: {a: x, b: 1, c: true}
nothing: null
limits: {cpu: 1500m, memory: 1Gi, gpu: 2, half: 0.5, bad: 1Q, worse: -1, empty: null, list: []}
cpu: 0.25
"""


def test_a_cursor_gives_what_is_there_and_defaults_for_what_is_not() -> None:
    cursor = document_of(TYPED).cursor()
    spec = cursor.mapping("spec")
    assert (cursor.text("name"), cursor.text("absent", "d"), cursor.text("nothing")) == ("x", "d", "")
    assert (cursor.integer("count"), cursor.integer("absent", 1), cursor.integer("nothing")) == (3, 1, None)
    assert (cursor.boolean("flag"), cursor.boolean("absent", True)) == (True, True)
    assert (cursor.has("name"), cursor.has("nothing"), cursor.has("absent")) == (True, False, False)
    assert spec.keys() == ["sub", "args", "labels"]
    assert cursor.mapping("nothing").keys() == cursor.mapping("absent").mapping("below").keys() == []
    assert cursor.items("absent") == [] and cursor.texts("nothing") == () and cursor.labels("absent") == {}
    assert cursor.quantity("cpu", "cpu") == 250 and cursor.quantity("cpu", "absent") is None
    assert cursor.problems == []


def test_a_cursor_collects_what_is_wrong_and_goes_on() -> None:
    cursor = document_of(TYPED).cursor()
    assert cursor.integer("replicas", 1) == 1
    assert cursor.text("count") == ""
    assert cursor.boolean("on_") is False
    assert cursor.integer("flag") is None
    assert cursor.mapping("name").keys() == []
    spec = cursor.mapping("spec")
    assert [item.path for item in spec.items("sub")] == [("spec", "sub", 1)]
    assert spec.items("labels") == []
    assert spec.texts("args") == ("a", "b")
    assert spec.labels("labels") == {"a": "x"}
    assert cursor.quantities("limits").rendered() == {"cpu": "1500m", "gpu": "2", "half": "1", "memory": "1Gi"}
    assert [(str(p.location).removeprefix("f.yaml:"), p.code, p.message, p.hint) for p in cursor.problems] == [
        ("2:11", "WrongType", "replicas is text, not a whole number", "remove the quotes"),
        ("3:8", "WrongType", "count is the number 3, not text", "put it in quotes"),
        ("5:6", "WrongType", "on_ is text, not true or false", ""),
        ("4:7", "WrongType", "flag is true, not a whole number", ""),
        ("1:7", "WrongType", "name is text, not a mapping", ""),
        ("7:9", "WrongType", "spec.sub[0] is the number 1, not a mapping", ""),
        ("7:20", "WrongType", "spec.sub[2] is null, not a mapping", ""),
        ("9:3", "WrongType", "spec.labels is a mapping, not a list", ""),
        ("8:13", "WrongType", "spec.args[1] is the number 1, not text", "put it in quotes"),
        ("9:21", "WrongType", "spec.labels.b is the number 1, not text", "put it in quotes"),
        ("9:27", "WrongType", "spec.labels.c is true, not text", "put it in quotes"),
        (
            "11:59",
            "InvalidQuantity",
            'limits.bad: "1Q" is not a Kubernetes quantity',
            'quantities look like "500m", "4" or "16Gi"',
        ),
        ("11:70", "InvalidQuantity", 'limits.worse: "-1" is negative', 'quantities look like "500m", "4" or "16Gi"'),
        ("11:87", "WrongType", "limits.list is a list, not a quantity", ""),
    ]


@pytest.mark.parametrize(
    ("wanted", "value", "hint"),
    [
        ("text", "1.10", "put it in quotes"),
        ("text", "{}", "write it so"),
        ("integer", '"900"', "remove the quotes"),
        ("integer", '"-1"', "remove the quotes"),
        ("integer", '"1.5"', ""),
        ("integer", '"many"', ""),
        ("number", '"1.5"', "remove the quotes"),
        ("number", '"half"', ""),
        ("number", "true", ""),
        ("boolean", '"true"', "remove the quotes"),
        ("boolean", '"yes"', ""),
        ("boolean", "1", ""),
    ],
)
def test_a_wrong_type_says_what_quotes_would_mend(wanted: str, value: str, hint: str) -> None:
    cursor = document_of(f"a: {value}\n").cursor()
    cursor.text("a", hint="write it so") if wanted == "text" else getattr(cursor, wanted)("a")
    [problem] = cursor.problems
    assert (problem.code, problem.hint) == ("WrongType", hint)


def test_a_number_need_not_be_whole() -> None:
    cursor = document_of("a: 1\nb: 0.5\nc: null\n").cursor()
    assert [cursor.number(key) for key in "abcd"] == [1, 0.5, None, None]
    assert cursor.problems == []


def test_a_report_points_at_a_scalar_or_at_the_key_of_a_collection() -> None:
    cursor = document_of(TYPED).cursor()
    cursor.report("A", "whole")
    cursor.report("B", "scalar", key="name")
    cursor.report("C", "collection", key="spec")
    cursor.mapping("spec").report("D", "absent", key="missing")
    assert [str(problem.location) for problem in cursor.problems] == [
        "f.yaml:1:1",
        "f.yaml:1:7",
        "f.yaml:6:1",
        "f.yaml:6:1",
    ]


def test_reading_changes_no_value() -> None:
    document = document_of(MANIFEST)
    before = copy.deepcopy(document.value)
    document.edited([Edit(("metadata", "name"), "replace", "z"), Edit(("spec",), "remove")])
    document.cursor().mapping("spec").mapping("x").texts("y")
    assert document.value == before


@pytest.mark.parametrize("text", ["a: some words\nb: some words\n", '{"a": "some words", "b": "some words"}'])
def test_words_that_many_files_say_are_one_text_in_memory(text: str) -> None:
    one, other = (parse(text.encode()).documents[0].value for _ in range(2))
    assert one["a"] is one["b"] is other["a"]


# What is told of a whole document


@pytest.mark.parametrize(
    ("text", "nulls"),
    [
        ("{a: b, c: [1, 'null', \"~\"]}", False),
        ('{"a": "b"}', False),
        ('{"a": null}', True),
        ('{"a": "null"}', True),  # not looked at closely
        ("{a: }", True),
        ("a: [{b: ~}]", True),
        ("a: !!null ~", True),
        ("a: &x {b: }\nc: *x", True),
    ],
)
def test_a_document_says_whether_there_may_be_a_null_in_it(text: str, nulls: bool) -> None:
    (document,) = parse(text.encode()).documents
    assert document.nulls is nulls


def has_null(value: Any) -> bool:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value is None or any(has_null(item) for item in below)


@given(st.lists(PIECES | st.sampled_from(["null", "~", "{a: ", "!!null ", "&x ", "*x", "<<: ", "k: \n"]), max_size=20))
def test_no_null_is_in_a_document_that_says_so(pieces: list[str]) -> None:
    for document in parse("".join(pieces).encode()).documents:
        assert document.nulls or not has_null(document.value)


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.text(st.sampled_from("a\t\n\r \x00\x1f ~\x7f\x80"), max_size=8)
)
def test_a_text_that_looks_plain_holds_nothing_forbidden(text: str) -> None:
    plain = parsing._is_plain(text)
    assert not (plain and parsing._FORBIDDEN.search(text))
    assert plain or not text.isascii() or parsing._FORBIDDEN.search(text)


@pytest.mark.parametrize("made", [{"k": "made"}, {}])
def test_the_value_of_a_document_that_was_kept_comes_back_when_it_is_asked_for(made: dict[object, str]) -> None:
    parsed = document_of("apiVersion: a/b\nkind: c\nmetadata: {name: m}\nd: [1]\n").parsed
    parsed.made.update(made)
    again = pickle.loads(pickle.dumps(parsed))
    twice = pickle.loads(pickle.dumps(again))
    assert "made" not in twice.__dict__ and "value" not in twice.__dict__
    assert twice.made == made
    again.made["more"] = "later"
    assert pickle.loads(pickle.dumps(again)).made == again.made == {**made, "more": "later"}
    del again.made["more"]
    assert again.made == made and again.says == ("a/b", "c") and again.metadata == {"name": "m"}
    assert "value" not in vars(again)
    twice = pickle.loads(pickle.dumps(again))  # as it came
    assert again.value == parsed.value == twice.value and again == parsed
    assert again.value is again.value
    with pytest.raises(AttributeError, match="valeu"):
        getattr(again, "valeu")  # noqa: B009


@pytest.mark.parametrize("size", [0, parsing._LONG, 10 * parsing._LONG])
def test_a_long_value_takes_less_while_nobody_asks_for_it(size: int) -> None:
    parsed = parse(json.dumps({"a": ["x" * size, *range(1000)]}).encode()).documents[0]
    kept = pickle.dumps(parsed)
    assert pickle.loads(kept).value == parsed.value
    assert len(kept) < max(parsing._LONG, 4000)


@pytest.mark.parametrize(
    ("text", "says", "metadata"),
    [("a: 1", (None, None), None), ("apiVersion: 1\nkind: [a]\nmetadata: m", (1, ["a"]), "m")],
)
def test_what_a_document_says_it_is_is_as_it_is_written(text: str, says: tuple[Any, Any], metadata: Any) -> None:
    parsed = document_of(text).parsed
    for each in (parsed, pickle.loads(pickle.dumps(parsed))):
        assert (each.says, each.metadata) == (says, metadata)
