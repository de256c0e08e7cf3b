"""Who is on the shortlist of an object: all whose selection selects it, in order, and few others."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.kinds.selectors import LabelSelector, ObjectSelector
from gitplacer.model.labels import NAME_KEY
from gitplacer.policies.selection import selects
from gitplacer.policies.shortlist import Shortlist
from tests.test_idle_policies import LABELS, OBJECTS, SELECTIONS, of_namespaces

MANY = 9
"""More than are asked one by one."""


NAMED = st.builds(
    lambda select, names: select.model_copy(update={"names": names}),
    SELECTIONS, st.none() | st.lists(st.sampled_from(["n", "?", "n*", "*n*", "[n]", "o*", "*o"]), max_size=2).map(tuple),
)  # fmt: skip


@given(selections=st.lists(NAMED, min_size=MANY, max_size=2 * MANY), labels=LABELS)
@settings(deadline=None, max_examples=60)
def test_nobody_is_missed_and_all_are_in_order(selections: list[ObjectSelector], labels: dict[str, str]) -> None:
    known = of_namespaces(labels)
    shortlist = Shortlist(((select, place) for place, select in enumerate(selections)), known)
    for item in OBJECTS:
        found = shortlist.of(item)
        assert list(found) == sorted(set(found))
        assert [place for place in found if selects(selections[place], item, known)] == [
            place for place, select in enumerate(selections) if selects(select, item, known)
        ]


@pytest.mark.parametrize(
    "selections",
    [
        [ObjectSelector(namespaces=(f"ns-{n}",), kinds=("a",)) for n in range(MANY)],
        [ObjectSelector(names=(f"name-{n}",)) for n in range(MANY)],
        [ObjectSelector(names=("*-name", f"*-{n}-*"), paths=("**",)) for n in range(MANY)],
        [ObjectSelector(paths=(f"a/team-{n}/**",)) for n in range(MANY)],
        [ObjectSelector(paths=(f"**/team-{n}/**", f"*.x{n}")) for n in range(MANY)],
        [ObjectSelector(label_selector=LabelSelector(match_labels={"k": "x", "app": f"app-{n}"})) for n in range(MANY)],
        [ObjectSelector(namespace_selector=LabelSelector(match_labels={NAME_KEY: f"ns-{n}"})) for n in range(MANY)],
    ],
    ids=["namespaces", "names", "patterns of names", "folders", "patterns of paths", "labels", "labels of namespaces"],
)
def test_who_asks_for_something_else_is_not_on_it(selections: list[ObjectSelector]) -> None:
    shortlist = Shortlist(((select, place) for place, select in enumerate(selections)), of_namespaces({}))
    assert [list(shortlist.of(item)) for item in OBJECTS] == [[]] * len(OBJECTS)
