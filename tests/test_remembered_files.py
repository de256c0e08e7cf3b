"""What is read of a file comes back from the cache as it was, and what many files have in common is one object then."""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from gitplacer.parsecache import ParseCache
from gitplacer.source import files
from gitplacer.source.files import MAX_FILE, ReadFile, read_file

SPEC = "{runtimeClassName: kata, containers: [{name: c, image: c, resources: {requests: {cpu: %s}}}]}"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: web}\nspec: " + SPEC
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: web}\nspec: {template: {spec: " + SPEC + "}}"


def kept(name: str, *, cpu: int = 1, text: str = POD) -> tuple[ReadFile, ReadFile]:
    """A file as it was read, and as it comes back."""
    read = read_file((text % (name, cpu)).encode(), MAX_FILE)
    again: ReadFile = pickle.loads(pickle.dumps(read, protocol=5))
    return read, again


def every_field(value: Any) -> Any:
    """A value with the fields that do not count where two are compared."""
    if isinstance(value, tuple):
        return tuple(map(every_field, value))
    if isinstance(value, Struct):
        return {name: every_field(getattr(value, name)) for name in value.__struct_fields__}
    if not is_dataclass(value):
        return value
    return {each.name: every_field(getattr(value, each.name)) for each in fields(value)}


@pytest.mark.parametrize("texts", [(POD, JOB), (JOB, POD)])
def test_what_equals_something_in_another_place_is_told_of_its_own(texts: tuple[str, str]) -> None:
    found = [kept("a", text=text) for text in texts]
    assert found[0][0].facts[0].demands == found[1][0].facts[0].demands
    for read, again in found:
        assert every_field(again.facts) == every_field(read.facts)


def test_equal_parts_of_different_files_are_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_known", "_same"):
        monkeypatch.setattr(files, table, {})
    [one], [other], [larger] = (kept(name, cpu=cpu)[1].facts for name, cpu in (("a", 1), ("b", 1), ("c", 2)))
    assert one is other, "all that is told of both is the same"
    assert larger.roles[0].shape is not one.roles[0].shape
    assert larger.roles[0].named is one.roles[0].named
    assert larger.pods is one.pods
    assert larger.demands is one.demands


def test_no_more_is_remembered_than_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in ("_known", "_same"):
        monkeypatch.setattr(files, table, {})
    monkeypatch.setattr(files, "_MOST_KNOWN", 3)
    for cpu in range(1, 9):
        read, again = kept("a", cpu=cpu)
        assert every_field(again.facts) == every_field(read.facts)
        assert len(files._known) <= 3


def test_between_passes_nothing_is_kept_for_files_that_may_never_come(tmp_path: Path) -> None:
    before = kept("a")[1]
    ParseCache(tmp_path).forget_unused()
    assert not files._known and not files._same
    assert every_field(kept("a")[1].facts) == every_field(before.facts)
