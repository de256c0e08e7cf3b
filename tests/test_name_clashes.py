"""Something in the deployment repo that has a name which is needed for something else: it stays, and so does who needs the name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration
from gitplacer.problems import Rejected
from gitplacer.tree import EXECUTABLE, FILE, SUBMODULE, SYMLINK, Entry, MemoryBlobs, Tree, blob_id
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

ROOM = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
ON = "select: {names: [%s]}\nprecedence: 1\nclusters: {names: [%s]}"
POLICIES = {**policy("to-a", ON % ("one", "a")), **policy("to-b", ON % ("two", "b"))}
SOURCE = {**cluster("a"), **cluster("b"), **ANYWHERE, **POLICIES, **rayservice("ns", "one"), **rayservice("ns", "two")}
SENTINEL = "clusters/a/workloads/gitplacer.yaml"


def beside(deployment: Tree, theirs: Mapping[str, str], *, without: str = "") -> Tree:
    """A deployment tree with entries of somebody else, by path and mode, in place of what was below a folder."""
    blob = b"../../../../etc/passwd"
    kept = {p: e for p, e in deployment.entries.items() if not (without and f"{p}/".startswith(f"{without}/"))}
    blobs = MemoryBlobs({e.oid: deployment.read(p) for p, e in kept.items()} | {blob_id(blob): blob})
    added = {
        path: Entry(mode, blob_id(blob) if mode != SUBMODULE else "1" * 40, len(blob)) for path, mode in theirs.items()
    }
    return Tree(dict(sorted({**kept, **added}.items())), blobs)


def ran(theirs: Mapping[str, str], *, placed: bool = False, without: str = "") -> tuple[Hydration, Tree]:
    """
    A pass beside what somebody else put there, once the directories are begun, of groups that are placed already or not; and what was
    there before it.
    """
    story = Story.of(SOURCE, capacity=ROOM)
    if not placed:
        del story.source["workloads/ns/one.yaml"], story.source["workloads/ns/two.yaml"]
    story.run()
    story.source.update(SOURCE)
    story.deployment = before = beside(story.deployment, theirs, without=without)
    return story.run(), before


def stays(done: Hydration, before: Tree, theirs: Mapping[str, str]) -> None:
    """What was there is as it was, and nothing is both a file and a folder."""
    assert {path: done.tree.entries[path] for path in theirs} == {path: before.entries[path] for path in theirs}
    folders = {"/".join(path.split("/")[:depth]) for path in done.tree for depth in range(1, path.count("/") + 1)}
    assert not folders & set(done.tree)


@pytest.mark.parametrize("mode", [FILE, EXECUTABLE, SYMLINK, SUBMODULE])
@pytest.mark.parametrize(
    "path",
    [
        "clusters/a", "clusters/a/workloads", "clusters/a/platform", "clusters/a/platform/namespaces", "clusters/a/workloads/ns",
        "clusters/a/workloads/ns/one", "placements/ns/one.yaml/x", "clusters/a/platform/namespaces/ns.yaml/x",
    ],
)  # fmt: skip
def test_what_needs_a_name_that_is_taken_is_held_and_all_else_goes_on(path: str, mode: str) -> None:
    done, before = ran({path: mode}, without=path.removesuffix("/x"))
    assert outcome(done) == {"ns/one": "Hold  ForeignChange", "ns/two": "Place b Fits"}
    held = next(d for d in done.view.plan.decisions if d.group == "ns/one")
    assert held.blocked_by == (path.removesuffix("x") if path.endswith("/x") else path,)
    stays(done, before, {path: mode})


def test_a_directory_whose_sentinel_became_a_folder_is_somebody_elses() -> None:
    with pytest.raises(Rejected) as rejected:
        ran({f"{SENTINEL}/x": FILE}, without=SENTINEL)
    assert "NotOurs" in {problem.code for problem in rejected.value.problems}


def test_a_root_that_somebody_removed_is_told_from_one_of_another_fleet() -> None:
    with pytest.raises(Rejected) as rejected:
        ran({}, placed=True, without="clusters")
    (problem,) = rejected.value.problems
    assert problem.code == "NotOurs" and problem.message == (
        "nothing of what placements/ says is placed stands below clusters/ of the deployment repo: somebody has removed it"
    )
    assert "git revert" in problem.hint


def test_a_fleet_whose_apps_came_before_its_first_cluster_places_them_once_it_is_there() -> None:
    """What is recorded of groups that wait speaks of no place, so nobody has removed anything."""
    later = {**cluster("a"), **cluster("b")}
    story = Story.of({path: text for path, text in SOURCE.items() if path not in later})
    for _ in range(2):
        assert outcome(story.run()) == {"ns/one": "Wait  NoEligibleCluster", "ns/two": "Wait  NoEligibleCluster"}
    assert [path for path in story.deployment if path.startswith("clusters/")] == []
    story.source.update(later)
    story.capacity.update(ROOM)
    assert outcome(story.run()) == {"ns/one": "Place a Fits", "ns/two": "Place b Fits"}


@pytest.mark.parametrize("mode", [SYMLINK, SUBMODULE])
@pytest.mark.parametrize("place", [SENTINEL, "clusters/a/platform/gitplacer.yaml"])
def test_groups_below_a_sentinel_that_is_no_file_stay_as_they_are(place: str, mode: str) -> None:
    done, before = ran({place: mode}, placed=True)
    assert outcome(done) == {"ns/one": "Hold a ForeignChange", "ns/two": "Keep b Kept"}
    stays(done, before, {place: mode})


@pytest.mark.parametrize("mode", [SYMLINK, SUBMODULE, FILE])
@pytest.mark.parametrize("folder", ["clusters/a/workloads/ns", "clusters/a/workloads/ns/one", "placements/ns/one.yaml"])
def test_a_group_whose_folder_was_replaced_stays(folder: str, mode: str) -> None:
    path = f"{folder}/x" if folder.endswith(".yaml") else folder
    done, before = ran({path: mode}, placed=True, without=folder)
    assert outcome(done)["ns/one"].startswith("Hold") and outcome(done)["ns/two"] == "Keep b Kept"
    stays(done, before, {path: mode})


def test_a_cluster_whose_directory_is_a_file_is_told_and_left_out() -> None:
    done, _ = ran({"clusters/a": FILE}, without="clusters/a")
    (problem,) = done.problems
    assert (problem.code, str(problem.location)) == ("NameTaken", "clusters/a:1:1") and problem.hint
    assert not [path for path in done.tree if path.startswith("clusters/a/")]
    assert "clusters/b/workloads/gitplacer.yaml" in done.tree


def test_a_folder_of_the_name_of_the_metadata_keeps_only_these_out() -> None:
    done, before = ran({"hydrator.metadata/x": FILE}, without="hydrator.metadata")
    assert {p.code for p in done.problems} == {"NameTaken"} and set(outcome(done).values()) == {
        "Place a Fits",
        "Place b Fits",
    }
    stays(done, before, {"hydrator.metadata/x": FILE})


WANTED = sorted(path for path in ran({}, placed=True)[0].tree if not path.endswith("/gitplacer.yaml"))


NAMES = sorted({"/".join(p.split("/")[:n]) for p in WANTED for n in range(1, p.count("/") + 1)} - {"clusters"})
"""The folders that a pass writes into. Where the root itself is gone, nothing there is ours any more: NotOurs."""


@settings(max_examples=30)
@given(
    st.sampled_from([*NAMES, *(f"{path}/x" for path in WANTED)]),
    st.sampled_from([FILE, SYMLINK, SUBMODULE]),
    st.booleans(),
)
def test_no_pass_displaces_anything(path: str, mode: str, placed: bool) -> None:
    done, before = ran({path: mode}, placed=placed, without=path.removesuffix("/x"))
    stays(done, before, {path: mode})
