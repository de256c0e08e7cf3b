"""
What every import has to keep: each field is used or told, and no document, however broken, is more than a line of the report.

`of` is an importer as the tests call it: from texts, one a file, to what came of them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from gitplacer.importers.report import Imported, Outcome
from gitplacer.importers.writing import read_back
from gitplacer.kinds.fields import Model

Of = Callable[..., Imported]
Place = tuple[Any, ...]

NAMES = st.text("abcXY", min_size=1, max_size=4).map(lambda text: f"z{text}")
VALUES = st.recursive(
    st.booleans() | st.integers(0, 9) | st.text("ab", max_size=3),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(NAMES, below, max_size=2),
    max_leaves=4,
)
JUNK = VALUES | st.sampled_from(
    [None, -1, 10**40, 1e300, "a" * 300, "../..", "*", "${", "\x7f", "é", [[]], {"": {}}]
).map(copy.deepcopy)
"""What stands where something else should."""


def value(found: Imported, path: str) -> Any:
    """What a file of the fleet repo holds."""
    return yaml.safe_load(found.files[path])


def told(found: Imported, outcome: Outcome) -> list[tuple[str, str]]:
    """What the report says had some outcome: where it was, and what it is."""
    return [(line.place, line.what) for line in found.of(outcome)]


def below(at: Any) -> Iterator[tuple[Any, Any]]:
    """The steps from a value to what is in it."""
    yield from at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()


def mappings(at: Any, given_through: Collection[str], path: Place = ()) -> Iterator[Place]:
    """The places of all mappings whose keys are fields, not labels and the like, which lie under one of the keys that are given."""
    if path and path[-1] in given_through:
        return
    if isinstance(at, dict):
        yield path
    for step, item in below(at):
        yield from mappings(item, given_through, (*path, step))


def leaves(at: Any, path: Place = ()) -> Iterator[Place]:
    """The places of all values that have none in them."""
    found = [leaf for step, item in below(at) for leaf in leaves(item, (*path, step))]
    yield from found or [path]


def inner(at: Any, path: Place) -> Any:
    for step in path:
        at = at[step]
    return at


def without(document: Any, place: Place) -> Any:
    found = copy.deepcopy(document)
    del inner(found, place[:-1])[place[-1]]
    return found


def essence(of: Of, document: Any, *beside: str) -> tuple[Any, ...]:
    """All that an import makes of a document, but for places."""
    found = of(*beside, json.dumps(document))
    files = {path: yaml.safe_load(data) for path, data in found.files.items() if path.endswith(".yaml")}
    lines = sorted((line.outcome, line.what, line.todo) for line in found.lines)
    return files, lines, sorted(problem.message for problem in found.problems)


def makes_no_difference(of: Of, document: Any, *beside: str) -> set[str]:
    """The leaves of a document that could as well not be there: dropped in silence, or written as they are by default."""
    whole = essence(of, document, *beside)
    return {
        ".".join(map(str, leaf)) for leaf in leaves(document) if essence(of, without(document, leaf), *beside) == whole
    }


def told_when_added(of: Of, document: Any, place: Place, name: str, added: Any) -> None:
    """Holds an import to it that a field which nobody knows is told, with its line."""
    changed = copy.deepcopy(document)
    inner(changed, place)[name] = added
    text = yaml.safe_dump(changed, default_flow_style=False, width=1000)
    found = of(text)
    line = next(number for number, each in enumerate(text.split("\n"), 1) if f"{name}:" in each)
    assert found.problems == ()
    assert [(one.location.line, name in one.what) for one in found.of(Outcome.NOT_UNDERSTOOD)] == [(line, True)]


def broken(documents: Collection[Any]) -> st.SearchStrategy[Any]:
    """One of the documents with values taken out, or with junk in their place, at any depth."""

    @st.composite
    def made(draw: st.DrawFn) -> Any:
        document = copy.deepcopy(draw(st.sampled_from(list(documents))))
        for _ in range(draw(st.integers(1, 4))):
            places = [place for place in _places(document) if place]
            if not places:
                break
            place = draw(st.sampled_from(places))
            if draw(st.booleans()):
                del inner(document, place[:-1])[place[-1]]
            else:
                inner(document, place[:-1])[place[-1]] = draw(JUNK)
        return document

    return made()


def _places(at: Any, path: Place = ()) -> Iterator[Place]:
    yield path
    for step, item in below(at):
        yield from _places(item, (*path, step))


def survived(of: Of, document: Any, *beside: str) -> None:
    """Holds an import to it that a document which is broken somehow is told at a place that there is, and that what is written can be read."""
    text = yaml.safe_dump(document, allow_unicode=True, default_flow_style=False, width=1000)
    found = of(*beside, text)
    last = f"f{len(beside)}.yaml"
    said = [line.location for line in found.lines] + [problem.location for problem in found.problems]
    height = text.count("\n")
    assert all(1 <= place.line <= height for place in said if place.file == last), (said, text)
    assert any(place.file == last for place in said) or not isinstance(document, Mapping), text
    for path, data in found.files.items():
        if path.split("/")[0] in ("policies", "overrides", "clusters", "capacity", "tenants", "scores", "fleet.yaml"):
            assert isinstance(read_back(data), Model), (path, data.decode())


def asked_at_most(
    monkeypatch: pytest.MonkeyPatch, of: Of, owner: type, method: str, pairs: list[tuple[str, str]]
) -> None:
    """Holds an import to it that a manifest asks few policies, however many there are. `pairs` are a policy and what it alone takes."""
    asked, takes = 0, getattr(owner, method)

    def counted(*arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        return takes(*arguments)

    monkeypatch.setattr(owner, method, counted)
    found = of(*(text for pair in pairs for text in pair))
    assert found.problems == ()
    assert 0 < asked <= 6 * len(pairs)
