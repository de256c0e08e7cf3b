"""A tree of files is a value: what changes make of it has its paths in order, and leaves it as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitplacer.tree import Changes, Tree

PATHS = st.sampled_from(["a", "a-b/x", "a.b", "a/x", "a/y", "a0", "b/é", "b/z"])
FILES = st.dictionaries(PATHS, st.binary(max_size=2))


@given(before=FILES, written=FILES, removed=st.sets(PATHS))
def test_changes_make_the_tree_of_the_files_that_they_leave(
    before: dict[str, bytes], written: dict[str, bytes], removed: set[str]
) -> None:
    tree = Tree.of(before)
    after = tree.apply(Changes(written, frozenset(removed)))
    left = {path: data for path, data in before.items() if path not in removed} | written
    assert after.read_all(after) == left
    assert list(after) == sorted(left)
    assert tree == Tree.of(before)
