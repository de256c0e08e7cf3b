"""The ids of trees are those that git gives, also where they are worked out from what each of many steps changes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from gitplacer import treeids
from gitplacer.tree import EXECUTABLE, Changes, Tree
from gitplacer.treeids import StepIds, tree_id
from tests.gitservers import git

NAMES = st.sampled_from(["a", "a-b", "a.b", "a0", "b", "é"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=1), max_size=6)
STEPS = st.builds(Changes, FILES, st.frozensets(PATHS, max_size=4))


def holds_together(files: Mapping[str, bytes]) -> bool:
    """Whether no path is a file and a folder."""
    return not any(other.startswith(f"{path}/") for path in files for other in files)


@example(first={"a/a/a": b""}, steps=[Changes({}, frozenset({"a/a/a"}))])
@example(first={"a/a": b""}, steps=[Changes({}, frozenset({"a"}))])
@example(first={"a/a": b""}, steps=[Changes({"a": b""}, frozenset({"a/a"}))])
@given(first=FILES.filter(holds_together), steps=st.lists(STEPS, max_size=5))
def test_step_by_step_the_ids_are_those_of_whole_trees(first: dict[str, bytes], steps: list[Changes]) -> None:
    taken, trees = [], [Tree.of(first)]
    for changes in steps:
        after = trees[-1].apply(changes)
        if holds_together(dict.fromkeys(after, b"")):
            taken.append(changes)
            trees.append(after)
    ids = StepIds(trees[0], taken)
    event(f"folders that go: {any(len(one) > len(other) for one, other in pairwise(trees))}")
    expected = [tree_id(tree) for tree in trees[1:]]
    if expected:
        assert ids.after(len(expected)) == expected[-1]
    assert [ids.after(step + 1) for step in range(len(expected))] == expected
    with pytest.raises(IndexError):
        ids.after(len(expected) + 1)


def test_they_are_those_that_git_gives(tmp_path: Path) -> None:
    git("init", "-q", cwd=tmp_path)
    files = {"a/x": b"1", "a-b": b"2", "a.b/c/d": b"3", "é": b"4", "run.sh": b"5"}
    tree = Tree.of(files)
    tree = Tree({**tree.entries, "run.sh": tree.entries["run.sh"]._replace(mode=EXECUTABLE)}, tree.blobs)
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / "run.sh").chmod(0o755)
    git("add", "--all", cwd=tmp_path)
    assert tree_id(tree) == git("write-tree", cwd=tmp_path)
    git("rm", "-q", "-r", "--cached", ".", cwd=tmp_path)
    assert tree_id(Tree()) == git("write-tree", cwd=tmp_path)


def test_a_step_costs_the_folders_that_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    whole = treeids._id
    monkeypatch.setattr(treeids, "_id", lambda rows: (hashed.append(len(rows)), whole(rows))[1])
    base = Tree.of({f"clusters/c{number}/app.yaml": b"" for number in range(50)})
    ids = StepIds(base, (Changes({f"clusters/c{number}/app.yaml": b"new"}) for number in range(9)))
    ids.after(1)
    hashed.clear()
    ids.after(9)
    assert hashed == [1, 50, 1] * 8
