"""Pod specs that are read once for all that are equal: what comes of them is what comes of each by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitplacer.documents import Cursor, Document, parse
from gitplacer.problems import Problem
from gitplacer.workloads import podtemplate, samespecs
from gitplacer.workloads.podtemplate import Injected, PodTemplate, read_anew, read_spec
from gitplacer.workloads.rayspec import AUTOSCALER, WAIT_GCS_READY
from gitplacer.workloads.samespecs import SameSpecs
from gitplacer.workloads.surroundings import USUAL, RuntimeClass

AROUND = (USUAL, replace(USUAL, runtime_classes=(RuntimeClass("r", node_selector=(("a", "b"),)),)))
INJECTED = (Injected(), Injected((AUTOSCALER,)), Injected(last_init=(WAIT_GCS_READY,)))

odd: st.SearchStrategy[Any] = st.sampled_from([None, True, 1, 1.5, "1", "500m", "4", "x", [], {}])
requests = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), odd, max_size=2)
containers = st.fixed_dictionaries(
    {},
    optional={"name": odd, "resources": st.fixed_dictionaries({}, optional={"limits": requests, "requests": requests})},
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, max_size=2)},
    optional={
        "nodeSelector": st.dictionaries(st.sampled_from("ab"), odd, max_size=2),
        "runtimeClassName": st.sampled_from(["r", "s", 1]),
        "tolerations": st.lists(st.fixed_dictionaries({}, optional={"key": odd, "operator": odd}), max_size=1),
        "schedulingGates": odd,
        "serviceAccountName": odd,
        "volumes": st.just([{"configMap": {"name": "c"}}]),
    },
)


def cursor(spec: dict[str, Any], number: int) -> Cursor:
    """The spec in a file of its own; it stands at one of two places there."""
    value = {"at": {"here": spec}} if number % 2 else {"at": {"there": spec}}
    data = json.dumps({"number": number, **value}).encode()
    document = Document(f"{number}.json", parse(data).documents[0], 0, lambda: data)
    return document.cursor().mapping("at").mapping("here" if number % 2 else "there")


Read = tuple[PodTemplate, list[Problem]]


def by_itself(spec: dict[str, Any], number: int, around: int, injected: int) -> Read:
    found = cursor(spec, number)
    return read_anew(found, (AROUND[around], INJECTED[injected])), found.problems.told()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1), st.integers(0, 2)), max_size=8),
    st.lists(specs, min_size=4, max_size=4),
)
@example([(0, 0, 0, 0), (1, 0, 0, 0)], [{"containers": [{}], "hostPID": value} for value in (True, 1, 1.0, "1")])
def test_a_spec_is_read_as_if_no_other_had_been_read(
    asked: list[tuple[int, int, int, int]], many: list[dict[str, Any]]
) -> None:
    for which, number, around, injected in asked:
        found = cursor(many[which], number)
        template = read_spec(found, AROUND[around], INJECTED[injected], {"l": "1"})
        plain, problems = by_itself(many[which], number, around, injected)
        assert (template, found.problems.told()) == (replace(plain, labels={"l": "1"}), problems)


def test_equal_specs_at_the_same_place_are_read_once_and_no_others() -> None:
    read: list[tuple[str, ...]] = []

    def noted(spec: Cursor, beside: str) -> int:
        read.append((spec.document.file, beside))
        return len(read)

    same = SameSpecs(noted)
    assert same(cursor({"a": 1}, 1), "x") == same(cursor({"a": 1}, 3), "x") == 1
    assert same(cursor({"a": True}, 1), "x") == 2
    assert same(cursor({"a": 1}, 2), "x") == 3
    assert same(cursor({"a": 1}, 1), "y") == 4
    assert read == [("1.json", "x"), ("1.json", "x"), ("2.json", "x"), ("1.json", "y")]


def test_what_is_wrong_with_a_spec_is_told_of_every_document_and_each_time() -> None:
    spec = {"containers": [], "schedulingGates": [{"name": "g"}]}
    for number in (1, 3, 1):
        found = cursor(spec, number)
        for _ in range(2):  # the second time it is known of the document, and no news
            read_spec(found, USUAL)
        assert {(p.code, p.location.file) for p in found.problems.told()} == {
            ("MissingField", f"{number}.json"),
            ("NotCounted", f"{number}.json"),
        }


def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samespecs, "_MOST", 2)
    same: SameSpecs[str, object] = SameSpecs(lambda spec, beside: object())
    first = same(cursor({"a": 0}, 1), "")
    assert same(cursor({"a": 0}, 1), "") is first
    same(cursor({"a": 1}, 1), "")
    same(cursor({"a": 2}, 1), "")
    assert same(cursor({"a": 0}, 1), "") is not first


def test_pods_differ_by_their_labels_though_their_specs_are_the_same() -> None:
    one = podtemplate.read_pod(cursor({"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{}]}}, 1), USUAL)
    other = podtemplate.read_pod(cursor({"spec": {"containers": [{}]}}, 1), USUAL)
    assert (one.labels, other.labels) == ({"a": "1"}, {}) and one.shape == other.shape
