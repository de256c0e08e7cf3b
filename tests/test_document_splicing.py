"""
Many edits of a document at once are the edits one after another, byte for byte; and they read it as often as some build on others, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.documents import Edit, EditError, parse, splice, splicing
from gitplacer.documents import edit as single
from gitplacer.documents.patch import applied
from gitplacer.documents.sections import splice_sections
from tests.test_document_edits import KEYS, SCALARS, VALUES, edits_of, written_objects

Draw = Callable[[st.SearchStrategy[Any]], Any]

POD = """\
  - name: g{0}   # kind {0}
    replicas: 1
    template:
      metadata: {{}}
      spec:
        containers:
        - name: main
          image: ray   # pinned
          resources: {{limits: {{cpu: 1}}}}
"""


def pods(number: int) -> bytes:
    return ("# many\nkind: Ray\nspec:\n  groups:\n" + "".join(map(POD.format, range(number)))).encode()


def edits_of_each(number: int) -> list[Edit]:
    found = []
    for at in range(number):
        pod = ("spec", "groups", at)
        container = (*pod, "template", "spec", "containers", "0")
        found += [
            Edit((*pod, "replicas"), "replace", at),
            Edit((*pod, "template", "metadata", "labels", "team"), "add", "a"),
            Edit((*pod, "template", "metadata", "labels", "zone"), "add", "b"),
            Edit((*container, "image"), "replace", f"registry.example/ray:{at}"),
            Edit((*container, "resources", "limits", "cpu"), "replace", "2"),
        ]
    return found


def one_after_another(text: bytes, edits: list[Edit]) -> bytes:
    return reduce(lambda text, edit: splice(text, [edit]), edits, text)


def in_sections(text: bytes, edits: list[Edit]) -> bytes:
    (document,) = parse(text).documents
    return splice_sections(text, edits, document)


@pytest.mark.parametrize("made", [splice, in_sections])
def test_every_pod_of_a_document_is_edited_as_if_it_were_the_only_one(made: Any) -> None:
    text, edits = pods(7), edits_of_each(7)
    assert made(text, edits) == made(text, edits[::-1][::-1]) == one_after_another(text, edits)


def result(make: Any, *given: Any) -> object:
    try:
        return make(*given)
    except EditError as error:
        return error.path


def ready() -> tuple[Any, str]:
    """Pods as people write them."""
    return parse(pods(3)).documents[0].value, pods(3).decode()


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], bool]]:
    """Where a value has one that is no collection, and, with True, the mappings that it has."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        yield path, True
    elif not isinstance(value, list):
        yield path, False
    for step, below in entries:
        yield from places(below, (*path, step))


@st.composite
def sets_and_adds(draw: Draw, value: Any) -> Edit:
    """An edit that sets a value which is no collection, or adds a key."""
    path, has_keys = draw(st.sampled_from(list(places(value))))
    if not has_keys:
        return Edit(path, draw(st.sampled_from(["add", "replace"])), draw(SCALARS | VALUES))
    return Edit((*path, *draw(st.lists(KEYS, min_size=1, max_size=2))), "add", draw(SCALARS | VALUES))


@given(st.data())
def test_edits_at_once_are_the_edits_one_after_another(data: st.DataObject) -> None:
    value, text = data.draw(st.sampled_from([None, ready(), ready()])) or data.draw(written_objects())[:2]
    kind = data.draw(st.sampled_from([edits_of, sets_and_adds, sets_and_adds]))
    edits: list[Edit] = []
    for _ in range(data.draw(st.integers(2, 6))):
        if not isinstance(value, dict) or not value:
            break
        edits.append(data.draw(kind(value)))
        try:
            value = applied(value, edits[-1])
        except EditError:
            break
    if len(parse(text.encode()).documents) == 1:
        assert result(splice, text.encode(), edits) == result(one_after_another, text.encode(), edits)
        assert result(in_sections, text.encode(), edits) == result(one_after_another, text.encode(), edits)


MAPPINGS = {
    "block": "m:\n  a: 1   # first\n  b: 2   # last\n  # below\nz: 1\n",
    "block, the last": "z: 1\nm:\n  a: 1\n",
    "block without an end of line": "z: 1\nm:\n  a: 1",
    "block that ends in lines": "m:\n  a: |\n    x\n    y\n\nz: 1\n",
    "block that ends in lines, the last": "z: 1\nm:\n  a: |\n    x",
    "block that ends in lines and keeps them": "m:\n  a: |+\n    x\n\n\nz: 1\n",
    "block in a list": "l:\n- m:\n    a: 1\n  k: 1\n- 2\nm: {a: 1}\n",
    "block with wide indents": "m:\n      a:\n            b:\n                - 1\n",
    "brackets": "m: {a: 1, b: [1]}   # why\nz: 1\n",
    "brackets over lines": "m: {\n  a: 1,   # first\n  b: 2   # last\n}\nz: 1\n",
    "brackets over lines, with a last comma": "m: {\n  a: 1,\n  b: 2,   # last\n  }\n",
    "brackets that close behind the last": "m: {\n  a: 1,\n  b: 2}\n",
    "brackets that break in the middle": "m: {a: 1,\n  b: 2, c: 3}\n",
    "empty brackets": "m: {}   # none\nz: 1\n",
    "nothing": "m:\nz: 1\n",
    "missing": "z: 1\n",
    "JSON": '{"m": {"a": 1}, "z": 1}\n',
    "JSON over lines": '{\n  "m": {\n    "a": 1,\n    "b": 2\n  },\n  "z": 1\n}\n',
    "an anchor": "m: &m\n  a: 1\nz: 1\n",
    "an anchor that is used": "m: &m\n  a: 1\nz: *m\n",
    "an alias": "z: &z {a: 1}\nm: *z\n",
    "a merge key": "z: &z {q: 1}\nm:\n  <<: *z\n  a: 1\n",
    "only a merge key": "z: &z {q: 1}\nm: {<<: *z}\n",
    "a key with a question mark": "m:\n  ? a\n  : 1\n",
}
NEW = ["1", "x y", "a\nb\n", "a\n\n", "", 7, None, [], {}, ["x"], {"p": {"q": [1]}}, "@", "'"]
NEW_KEYS = ["k1", "k2", "example.com/k", "a", "b", "1", "<<", "k: k", "é", "long" * 40, ""]


@st.composite
def adds_to_one(draw: Draw) -> list[Edit]:
    """Edits that add keys to the mapping `m`, most of them new, and now and then something else on the way."""
    values = draw(st.sampled_from([["x"], ["x", 1, "y z"], NEW]))
    keys = st.lists(st.sampled_from(NEW_KEYS), min_size=2, max_size=5, unique=draw(st.booleans()))
    edits = [Edit(("m", key), "add", draw(st.sampled_from(values))) for key in draw(keys)]
    more = [
        Edit(("z",), "add", "other"),
        Edit(("m", "k1", "deep"), "add", 1),
        Edit(("m", "a"), "replace", 2),
        Edit(("n", "k"), "add", 1),
    ]
    for other in draw(st.lists(st.sampled_from(more), max_size=2)):
        edits.insert(draw(st.integers(0, len(edits))), other)
    return edits


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("style", MAPPINGS)
@settings(max_examples=settings().max_examples // 3)  # of each of forty
@given(adds_to_one())
def test_keys_added_to_one_mapping_are_added_one_after_another(style: str, line_break: str, edits: list[Edit]) -> None:
    text = MAPPINGS[style].replace("\n", line_break).encode()
    expected = result(one_after_another, text, edits)
    assert result(splice, text, edits) == expected
    assert result(in_sections, text, edits) == expected


ONE_BY_ONE = {
    "an alias",
    "an anchor that is used",
    "only a merge key",
    "missing",
    "a key with a question mark",
    "block that ends in lines, the last",
}


@pytest.mark.parametrize("style", sorted(MAPPINGS.keys() - ONE_BY_ONE))
@pytest.mark.parametrize("made", [splice, in_sections])
def test_as_many_keys_as_are_added_to_one_mapping_read_a_document_as_often_as_a_few(made: Any, style: str) -> None:
    read = []
    for number in (4, 40):
        edits = [Edit(("m", f"k{at}"), "add", f"v{at}") for at in range(number)]
        with mock.patch.object(single, "load", side_effect=single.load) as load:
            made(MAPPINGS[style].encode(), edits)
        read.append(load.call_count)
    assert read[0] == read[1] <= 5


def test_as_many_edits_as_pods_read_a_document_as_often_as_one() -> None:
    """Its second label is added to what the first one made, so that takes a reading more."""
    read = []
    for number in (5, 20):
        with mock.patch.object(single, "load", side_effect=single.load) as load:
            in_sections(pods(number), edits_of_each(number))
        read.append(load.call_count)
    assert read[0] == read[1] <= 5


def test_a_long_document_takes_an_edit_of_every_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    text, edits = pods(20), edits_of_each(20)
    monkeypatch.setattr(splicing, "_MOST_READ", 4 * len(text))
    assert in_sections(text, edits) == splice(text, edits)
    with pytest.raises(EditError, match="too long for 6 edits"):
        splice(text, [Edit(("spec", "groups", 0, "replicas"), "replace", at) for at in range(2, 8)])
