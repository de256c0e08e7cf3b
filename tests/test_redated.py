"""Commits that were made before are held against the steps of a pass one by one, and that comes to what a look at all of both trees says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gitplacer.git.reading import Repository
from gitplacer.kinds.clusterstate import CLUSTER_STATES
from gitplacer.kinds.record import RECORDS
from gitplacer.passes.proposing import Standing
from gitplacer.passes.redated import Redated, same_but_dates
from gitplacer.source.edited import Change
from gitplacer.tree import EXECUTABLE, Changes, Entry, MemoryBlobs, Tree
from gitplacer.units import METADATA
from tests.fleetrepos import made
from tests.stories import cluster, rayservice
from tests.test_pull_requests import BRANCH, proposed

DATED = (RECORDS, CLUSTER_STATES)
RECORD = f"{RECORDS}/prod/api.yaml"
PATHS = st.sampled_from([RECORD, f"{CLUSTER_STATES}/a.yaml", METADATA, "clusters/a/api.yaml", "clusters/b/api.yaml"])
TEXTS = st.sampled_from(
    [b'since: "2026-01-02T03:05:00Z"', b'since: "2026-01-02T03:06:00Z"', b"since: never", b"spec: {}"]
)
FILES = st.dictionaries(PATHS, TEXTS, max_size=4)
STEPS = st.builds(Changes, FILES, st.frozensets(PATHS, max_size=2))


class History:
    """Commits by their number, the first of which has this tree. It holds two trees against each other as git does."""

    def __init__(self, first: Tree) -> None:
        self.trees = [first]
        self.objects = MemoryBlobs()

    def commit(self, changes: Changes) -> str:
        self.trees.append(self.trees[-1].apply(changes))
        self.objects.update({entry.oid: self.trees[-1].read(path) for path, entry in self.trees[-1].entries.items()})
        return str(len(self.trees) - 1)

    def changes(self, old: str, new: str) -> Mapping[str, tuple[Entry | None, Entry | None]]:
        return Change.between(self.trees[int(old)], self.trees[int(new)]).entries


@given(first=FILES, steps=st.lists(st.tuples(STEPS, st.sampled_from(["as made", "later"]) | STEPS), max_size=4))
def test_step_by_step_it_comes_to_what_whole_trees_say(
    first: dict[str, bytes], steps: list[tuple[Changes, str | Changes]]
) -> None:
    """Of each step the commit has what the step has, or that with later dates, or something else."""
    ours = Tree.of(first)
    history = History(ours)
    history.commit(Changes())
    both = Redated(history, "1", ours)
    for step, other in steps:
        later = {
            path: data.replace(b"03:05", b"03:06") if path.startswith(DATED) else data
            for path, data in step.written.items()
        }
        found = other if isinstance(other, Changes) else step if other == "as made" else Changes(later, step.removed)
        commit = history.commit(found)
        ours = ours.apply(step)
        expected = same_but_dates(ours, history.trees[-1])
        assert both.follows(step, commit) is expected
        event(f"the same: {expected}, to the byte: {ours == history.trees[-1]}")
        if not expected:
            return


LATER = b'since: "2026-01-02T03:06:00Z"'
BASE = {
    RECORD: b'since: "2026-01-02T03:05:00Z"',
    "clusters/a/api.yaml": b'at: "2026-01-02T03:05:00Z"',
    METADATA: b"one",
}


@pytest.mark.parametrize(
    ("what", "path", "data", "same"),
    [
        ("a date in a record", RECORD, LATER, True),
        ("the last source", METADATA, b"other", True),
        ("more of a record than dates", RECORD, b"since: never", False),
        ("a record that one lacks", f"{RECORDS}/prod/new.yaml", LATER, False),
        ("a date in a manifest", "clusters/a/api.yaml", b'at: "2026-01-02T03:06:00Z"', False),
    ],
)
def test_what_may_differ_are_dates_in_records_and_the_last_source(
    what: str, path: str, data: bytes, same: bool
) -> None:
    assert same_but_dates(Tree.of(BASE), Tree.of({**BASE, path: data})) is same, what
    assert same_but_dates(Tree.of({**BASE, path: data}), Tree.of(BASE)) is same, what


def test_nor_may_its_mode_differ() -> None:
    tree = Tree.of(BASE)
    executable = Tree({**tree.entries, RECORD: tree.entries[RECORD]._replace(mode=EXECUTABLE)}, tree.blobs)
    assert not same_but_dates(tree, executable)


def test_to_look_whether_a_proposal_stands_lists_no_more_trees_for_more_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    tree = Repository.tree
    monkeypatch.setattr(Repository, "tree", lambda *asked: (listed.append(asked[1]), tree(*asked))[1])
    commits, numbers = [], []
    for apps in (1, 5):
        folder = tmp_path / str(apps)
        folder.mkdir()
        fleet = made(folder)
        for number in range(1, apps):
            fleet.commit(rayservice("prod", f"api-{number}"), f"add {number}")
        fleet.reconcile(5)
        fleet.commit(cluster("a", state="Draining"), "drain a")
        assert proposed(fleet).standing is Standing.MADE
        commits.append(int(fleet.git("rev-list", "--count", f"main..{BRANCH}")))
        listed.clear()
        assert proposed(fleet, 20).standing is Standing.STANDS
        numbers.append(len(listed))
    assert commits[0] < commits[1]
    assert numbers[0] == numbers[1]
