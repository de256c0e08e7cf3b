"""
What people do in the deployment repo with relocations of ours, with real git: reverts, in all the ways there are to make them, and
what only looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.audit.moves import history_of
from gitplacer.commits import PassTrailers
from gitplacer.hydrate import Hydration
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.model.decision import Action
from gitplacer.passes.reconcile import Outcome
from gitplacer.trailers import heard_in
from tests.fleetrepos import Fleet, begun, clone_of, made, silently
from tests.gitservers import git
from tests.stories import START, cluster, decisions, policy, rayjob, rayservice, snapshot

_INSTANTS = st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)).map(lambda t: t.replace(microsecond=0, tzinfo=UTC))
API = "workloads/prod/api/api.yaml"
RECORD = "placements/prod/api.yaml"


@pytest.fixture
def fleet(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return begun(moved, tmp_path_factory, tmp_path)


def moved(folder: Path) -> Fleet:
    """A fleet whose service has just been moved from a, which is draining, to b."""
    fleet = made(folder)
    fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining"), "drain a")
    fleet.reconcile(10)
    assert where(fleet) == ["clusters/b/workloads/prod/api/api.yaml"]
    return fleet


@pytest.fixture
def clone(fleet: Fleet, tmp_path: Path) -> Path:
    return clone_of(fleet, tmp_path)


def where(fleet: Fleet, name: str = "prod/api/") -> list[str]:
    return [path for path in fleet.files() if f"/workloads/{name}" in path]


def revert(clone: Path, *what: str) -> None:
    for commit in what or ("HEAD",):
        by_ada("revert", "--no-edit", commit, cwd=clone)


def by_ada(*args: str, cwd: Path) -> None:
    """What somebody does a minute after the relocation."""
    git(*args, cwd=cwd, at="2026-01-02T03:11:00Z")


def push(clone: Path) -> None:
    git("push", "-q", "origin", "HEAD:main", cwd=clone)


def is_foreign(done: Hydration, group: str = "prod/api") -> bool:
    return decisions(done)[group].finding.code == "ForeignChange"


def record(fleet: Fleet) -> str:
    return fleet.git("show", f"main:{RECORD}")


def epochs(fleet: Fleet) -> dict[str, int]:
    found = {}
    for path in fleet.files():
        if path.endswith("/gitplacer.yaml") and "/namespaces/" not in path:
            found[path.removeprefix("clusters/").removesuffix("/gitplacer.yaml")] = int(
                fleet.git("show", f"main:{path}").rpartition('epoch: "')[2].rstrip('"\n')
            )
    return found


def test_a_reverted_relocation_is_heard_and_nothing_of_it_is_foreign(fleet: Fleet, clone: Path) -> None:
    before = epochs(fleet)
    revert(clone)
    push(clone)
    done = fleet.reconcile(11)
    assert not done.hydration.snapshot.foreign_paths
    assert where(fleet) == ["clusters/a/workloads/prod/api/api.yaml"]
    assert 'holdUntil: "2026-01-02T03:41:00Z"' in record(fleet)  # the revert's own time, and half an hour
    # What the units hold has changed, so their epochs go on from those that the clusters have seen.
    assert all(epochs(fleet)[unit] > before[unit] for unit in ("a/workloads", "b/workloads"))
    message = fleet.git("log", "-1", "--format=%B", "main")
    revert_id = fleet.git("rev-parse", "main~1").strip()
    assert f"Gitplacer-Reverted: prod/api commit={revert_id} at=2026-01-02T03:11:00Z left=b epochs=" in message


def test_a_revert_is_heard_once(fleet: Fleet, clone: Path) -> None:
    revert(clone)
    push(clone)
    fleet.reconcile(11)
    fleet.commit(rayservice("prod", "other"))
    again = fleet.reconcile(12)
    assert again.hydration.snapshot.reverted == {}
    assert "Gitplacer-Reverted" not in fleet.git("log", "-1", "--format=%B", "main")


@given(
    move=st.one_of(
        st.builds(
            RevertedMove,
            commit=st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
            at=_INSTANTS,
            left=st.lists(st.sampled_from(["a", "b-1", "c"]), unique=True).map(tuple),
            epochs=st.lists(
                st.tuples(
                    st.sampled_from(["a", "b-1"]), st.sampled_from(["platform", "workloads"]), st.integers(0, 999)
                )
            ).map(tuple),
            approvals=st.lists(st.sampled_from(["go.0f3a5c7e", "go-2.b.12345678"]), unique=True).map(tuple),
        ),
        st.builds(
            MergedMove, commit=st.from_regex(r"[0-9a-f]{40}", fullmatch=True), at=_INSTANTS, proposed_at=_INSTANTS
        ),
    )
)
def test_what_was_heard_is_read_back_from_the_trailers_as_it_was(move: RevertedMove | MergedMove) -> None:
    reverted = {"prod/api": move} if isinstance(move, RevertedMove) else {}
    merged = {"prod/api": move} if isinstance(move, MergedMove) else {}
    trailers = PassTrailers(
        source="s", capacity="c", base="b", now=START, version="v", foreign={}, reverted=reverted, merged=merged
    )
    lines = [line.partition(": ") for line in trailers.lines(1, 1)]
    assert [heard_in(key, value) for key, _, value in lines if heard_in(key, value)[1]] == [("prod/api", move)]


def merged_later(clone: Path) -> None:
    """The revert as a pull request, merged with a merge commit of another author's making."""
    by_ada("checkout", "-q", "-b", "undo", cwd=clone)
    revert(clone)
    by_ada("checkout", "-q", "main", cwd=clone)
    by_ada("merge", "-q", "--no-ff", "-m", "Merge pull request #1", "undo", cwd=clone)


def squashed(clone: Path) -> None:
    """The revert among other commits of a pull request, squashed into one that quotes their messages."""
    by_ada("revert", "--no-commit", "HEAD", cwd=clone)
    (clone / "README.md").write_text("hello\n")
    by_ada("add", ".", cwd=clone)
    message = f"Undo the move (#2)\n\n* Revert it\n\nThis reverts commit {git('rev-parse', 'HEAD', cwd=clone).strip()}.\n\n* Say hello"
    by_ada("commit", "-q", "-m", message, cwd=clone)


def beside_others(clone: Path) -> None:
    """Somebody else's commits come before and after."""
    (clone / "README.md").write_text("hello\n")
    by_ada("add", ".", cwd=clone)
    by_ada("commit", "-q", "-m", "hello", cwd=clone)
    revert(clone, "HEAD~1")
    (clone / "README.md").write_text("bye\n")
    by_ada("commit", "-q", "-am", "bye", cwd=clone)


@pytest.mark.parametrize("way", [revert, merged_later, squashed, beside_others])
def test_a_revert_is_heard_however_it_came(fleet: Fleet, clone: Path, way: Callable[[Path], None]) -> None:
    way(clone)
    push(clone)
    done = fleet.reconcile(11)
    assert not is_foreign(done.hydration)
    assert list(done.hydration.snapshot.reverted) == ["prod/api"]
    assert where(fleet) == ["clusters/a/workloads/prod/api/api.yaml"]


def only_said(clone: Path) -> None:
    """The words of a revert, and nothing is as it was."""
    path = clone / f"clusters/b/{API}"
    path.write_text(path.read_text() + "# by hand\n")
    by_ada("commit", "-q", "-am", f"This reverts commit {git('rev-parse', 'HEAD', cwd=clone).strip()}.", cwd=clone)


def in_part(clone: Path) -> None:
    """The files are back, and the record is not."""
    by_ada("revert", "--no-commit", "HEAD", cwd=clone)
    by_ada("checkout", "HEAD", "--", RECORD, cwd=clone)
    by_ada("commit", "-q", "-m", f"This reverts commit {git('rev-parse', 'HEAD', cwd=clone).strip()}.", cwd=clone)


def with_an_edit(clone: Path) -> None:
    """A revert, and the file that came back is changed in the same commit."""
    revert(clone)
    path = clone / f"clusters/a/{API}"
    path.write_text(path.read_text() + "# by hand\n")
    by_ada("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone)


def with_another_record(clone: Path) -> None:
    """A revert that says more in the record than we ever wrote there."""
    revert(clone)
    path = clone / RECORD
    path.write_text(path.read_text() + 'holdUntil: "2099-01-01T00:00:00Z"\n')
    by_ada("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone)


def without_a_word(clone: Path) -> None:
    """The same tree as before the relocation, and a message that says nothing of it."""
    by_ada("read-tree", "HEAD~1", cwd=clone)
    by_ada("commit", "-q", "-m", "back", cwd=clone)


@pytest.mark.parametrize("way", [only_said, in_part, with_an_edit, with_another_record, without_a_word])
def test_what_only_looks_like_a_revert_is_foreign(fleet: Fleet, clone: Path, way: Callable[[Path], None]) -> None:
    way(clone)
    push(clone)
    done = fleet.reconcile(11)
    assert is_foreign(done.hydration)
    assert done.hydration.snapshot.reverted == {}


def test_a_revert_of_a_revert_before_anybody_looked_is_nothing(fleet: Fleet, clone: Path) -> None:
    revert(clone)
    revert(clone)
    push(clone)
    done = fleet.reconcile(11)
    assert done.tip is None
    assert done.hydration.snapshot.foreign_paths == frozenset()


def moved_again(fleet: Fleet) -> Outcome:
    """A second relocation of the same group: on to c."""
    room = {path: text.replace("metadata: {name: b}", "metadata: {name: c}") for path, text in _capacity("b").items()}
    fleet.commit(cluster("c") | room, "add c")
    fleet.reconcile(11)
    fleet.commit(cluster("b", state="Draining"), "drain b")
    done = fleet.reconcile(12)
    assert where(fleet) == ["clusters/c/workloads/prod/api/api.yaml"]
    return done


def _capacity(name: str) -> dict[str, str]:
    return {f"capacity/{path.replace(name, 'c')}": text for path, text in snapshot(name, "n1 32 128Gi 4").items()}


def test_several_relocations_are_reverted_together(fleet: Fleet, tmp_path: Path) -> None:
    moved_again(fleet)
    git("clone", "-q", str(fleet.bare), str(tmp_path / "clone"), cwd=tmp_path)
    relocations = fleet.git("log", "--grep=^Relocate", "--format=%H", "main").split()
    for commit in relocations:
        by_ada("revert", "--no-commit", "-X", "ours", commit, cwd=tmp_path / "clone")
        by_ada("commit", "-q", "-m", f"This reverts commit {commit}.", cwd=tmp_path / "clone")
    push(tmp_path / "clone")
    done = fleet.reconcile(13)
    assert len(relocations) == 2
    assert done.hydration.snapshot.foreign_paths == frozenset()
    assert where(fleet) == ["clusters/a/workloads/prod/api/api.yaml"]
    assert done.hydration.snapshot.reverted["prod/api"].left == ("c",)


def test_the_older_of_two_relocations_cannot_be_reverted_alone(fleet: Fleet, tmp_path: Path) -> None:
    moved_again(fleet)
    clone = tmp_path / "clone"
    git("clone", "-q", str(fleet.bare), str(clone), cwd=tmp_path)
    older = fleet.git("log", "--grep=^Relocate", "--format=%H", "main").split()[1]
    by_ada("checkout", "-q", f"{older}~1", "--", RECORD, f"clusters/a/{API}", cwd=clone)
    by_ada("commit", "-q", "-m", f"This reverts commit {older}.", cwd=clone)
    push(clone)
    assert is_foreign(fleet.reconcile(13).hydration)


def test_what_was_updated_since_comes_back_updated(fleet: Fleet, clone: Path) -> None:
    text = (fleet.source / "workloads/prod/api.yaml").read_text()
    fleet.commit({"workloads/prod/api.yaml": text + "# newer\n"}, "update")
    fleet.reconcile(12)
    git("pull", "-q", cwd=clone)
    relocation = fleet.git("log", "--grep=^Relocate", "--format=%H", "main").strip()
    revert_with_ours = ("revert", "--no-edit", "-X", "ours", relocation)
    by_ada(*revert_with_ours, cwd=clone)
    push(clone)
    done = fleet.reconcile(13)
    assert not is_foreign(done.hydration)
    assert list(done.hydration.snapshot.reverted) == ["prod/api"]
    assert "# newer" in fleet.git("show", f"main:clusters/a/{API}")


def test_others_go_on_beside_a_revert(fleet: Fleet, clone: Path) -> None:
    revert(clone)
    push(clone)
    fleet.commit(rayservice("prod", "other"))
    done = fleet.reconcile(11)
    assert decisions(done.hydration)["prod/other"].action is Action.PLACE


@pytest.fixture
def job(tmp_path: Path) -> Fleet:
    """A job that was seen not to have started twice, and so was moved off a draining cluster."""
    fleet = made(tmp_path)
    fleet.commit(rayjob("jobs", "train"))
    fleet.reconcile(5)
    return fleet


def test_the_revert_of_a_jobs_move_holds_the_job_until_it_is_reverted(job: Fleet, tmp_path: Path) -> None:
    old, new = "clusters/a/workloads/jobs/train/train.yaml", "clusters/b/workloads/jobs/train/train.yaml"
    assert where(job, "jobs/train/") == [old]
    seen = "groups: [{name: jobs/train, phase: Pending, pods: [{role: head}]}]\n"
    for minute, shown in ((20, seen), (25, seen), (32, ""), (38, "")):
        told = {p: _observed(t, minute) + shown for p, t in _capacity_of(job, "a").items()}
        job.commit(cluster("a", state="Draining") | told, f"seen at {minute}")
        job.reconcile(minute + 1)
    assert where(job, "jobs/train/") == [new]
    clone = tmp_path / "clone"
    git("clone", "-q", str(job.bare), str(clone), cwd=tmp_path)
    steps = job.git("log", "--grep=^Relocate jobs/train", "--format=%H", "main").split()
    assert len(steps) == 2
    for step in steps:
        by_ada("revert", "--no-edit", "-X", "ours", step, cwd=clone)
    # What the record learnt between the two is in the way of git; the record from before them is what is meant.
    by_ada("checkout", f"{steps[-1]}~1", "--", "placements/jobs/train.yaml", cwd=clone)
    by_ada("commit", "-q", "-a", "--amend", "--no-edit", cwd=clone)
    push(clone)
    for minute in (40, 41, 42):
        job.commit(rayservice("prod", f"s{minute}"))  # our own commits go on top
        held = decisions(job.reconcile(minute).hydration)["jobs/train"]
        assert (held.action, held.finding.code, held.finding.subject) == (Action.HOLD, "RevertRefused", "b")
        assert where(job, "jobs/train/") == [old]
    git("pull", "-q", cwd=clone)
    for revert_id in job.git("log", "--grep=^This reverts", "--format=%H", "main").split():
        by_ada("revert", "--no-edit", "-X", "ours", revert_id, cwd=clone)
    push(clone)
    done = job.reconcile(45)
    assert where(job, "jobs/train/") == [new]
    assert decisions(done.hydration)["jobs/train"].finding.code not in ("RevertRefused", "ForeignChange")
    assert done.hydration.snapshot.reverted == {}


def _capacity_of(fleet: Fleet, name: str) -> dict[str, str]:
    path = f"capacity/{name}.yaml"
    return {path: "".join(git("show", f"HEAD:{path}", cwd=fleet.source).partition("groups:")[:1])}


def _observed(text: str, minute: int) -> str:
    return re.sub(r'observedAt: "?[^"\n]*"?', f'observedAt: "2026-01-02T03:{minute}:00Z"', text).rstrip("\n") + "\n"


@pytest.mark.parametrize(
    ("more", "ends_on"),
    [
        ({}, "a"),  # draining: the revert has the last word for a while
        (policy("anywhere", "select: {}\nclusters: {names: [b]}"), "b"),  # it may not be there
        (cluster("a", state="Lost"), "b"),
    ],
)
def test_a_revert_holds_only_where_the_group_may_be(
    fleet: Fleet, clone: Path, more: dict[str, str], ends_on: str
) -> None:
    revert(clone)
    push(clone)
    if more:
        fleet.commit(more)
    fleet.reconcile(11)
    assert where(fleet) == [f"clusters/{ends_on}/{API}"]


def test_when_the_cooldown_is_over_the_group_moves_again(fleet: Fleet, clone: Path) -> None:
    revert(clone)
    push(clone)
    fleet.reconcile(11)
    fleet.reconcile(40)
    assert where(fleet) == [f"clusters/a/{API}"]
    fleet.reconcile(41)
    assert where(fleet) == [f"clusters/b/{API}"]


def approval(name: str, action: str, to: str = "") -> dict[str, str]:
    text = (
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {{name: {name}}}\nspec: {{groups: [prod/api], "
        f'action: {action}, {f"to: {to}, " if to else ""}expires: "2026-01-03T00:00:00Z"}}\n'
    )
    return {f"approvals/{name}.yaml": text}


def approved(tmp_path: Path, *steps: dict[str, str]) -> tuple[Fleet, Path]:
    """A fleet after some edits of its source, the last of which has moved the service, and a clone of what is deployed."""
    fleet = made(tmp_path)
    fleet.reconcile(5)
    for minute, files in enumerate(steps, 6):
        fleet.commit(files)
        fleet.reconcile(minute)
    assert fleet.git("log", "-1", "--format=%s", "main").startswith("Relocate prod/api")
    git("clone", "-q", str(fleet.bare), str(tmp_path / "clone"), cwd=tmp_path)
    return fleet, tmp_path / "clone"


ASKED = policy("anywhere", "select: {}\nrelocation: {when: {ClusterDraining: Manual}}")
TWO_COPIES = policy("anywhere", "select: {}\nplacement: {copies: 2}")
GO_TO_B, GO_TO_C = approval("go", "Move", "b"), approval("go", "Move", "c")
C = cluster("c") | {f"capacity/{path}": text for path, text in snapshot("c", "n1 32 128Gi 4").items()}


@pytest.mark.parametrize(
    ("steps", "back_on", "again"),
    [
        ([GO_TO_B], "a", approval("again", "Move", "b")),
        ([cluster("a", state="Draining"), cluster("a"), approval("go", "Return")], "b", approval("again", "Return")),
        ([ASKED, cluster("a", state="Draining"), approval("go", "Move")], "a", approval("again", "Move", "b")),
        ([TWO_COPIES, C, GO_TO_C], "ab", approval("again", "Move", "c")),
    ],
    ids=["to a cluster", "back", "as proposed", "one of two copies"],
)
def test_an_approval_does_not_count_again_when_its_move_is_reverted(
    tmp_path: Path, steps: list[dict[str, str]], back_on: str, again: dict[str, str]
) -> None:
    fleet, clone = approved(tmp_path, *steps)
    gone_to = where(fleet)
    revert(clone)
    push(clone)
    back = [f"clusters/{name}/{API}" for name in back_on]
    for minute in (13, 14, 50):  # while the revert is honoured, and when that is over
        done = fleet.reconcile(minute)
        assert where(fleet) == back, minute
    assert not [p for p in done.hydration.problems if p.code.startswith("Approval")]
    fleet.commit(again)
    fleet.reconcile(51)
    assert where(fleet) == gone_to


def test_new_consent_counts_while_a_revert_is_honoured_and_even_in_the_pass_that_hears_it(tmp_path: Path) -> None:
    fleet, clone = approved(tmp_path, GO_TO_B)
    revert(clone)
    push(clone)
    fleet.commit(C | approval("again", "Move", "c"))
    done = fleet.reconcile(13)
    assert where(fleet) == [f"clusters/c/{API}"]
    # The one that was used does not send it elsewhere than the new one does.
    assert not [p for p in done.hydration.problems if p.code == "ApprovalsDisagree"]
    (moved,) = (e for e in history_of(fleet.settings(14), "prod/api", silently) if e.after == ("c",))
    assert [by for by in moved.by if by[0] == "approval"] == [("approval", "again")]
    fleet.reconcile(50)
    assert where(fleet) == [f"clusters/c/{API}"]


def test_consent_to_what_is_proposed_counts_when_the_revert_has_been_honoured(tmp_path: Path) -> None:
    fleet, clone = approved(tmp_path, ASKED, cluster("a", state="Draining"), approval("go", "Move"))
    revert(clone)
    push(clone)
    fleet.commit(approval("again", "Move"))
    fleet.reconcile(13)
    assert where(fleet) == [f"clusters/a/{API}"]
    fleet.reconcile(50)
    assert where(fleet) == [f"clusters/b/{API}"]


def test_consent_that_was_used_is_not_forgotten_while_a_revert_waits_to_be_heard(tmp_path: Path) -> None:
    """Its manifest cannot be read, so the group is held as it is, and its record is written in a later pass."""
    fleet, clone = approved(tmp_path, GO_TO_B)
    revert(clone)
    push(clone)
    fleet.commit({"workloads/prod/api.yaml": "kind: ["})
    fleet.commit(rayservice("prod", "other"))
    fleet.reconcile(13)
    assert "approvals=go." in fleet.git("log", "-1", "--format=%B", "main")
    assert "approvals:" not in record(fleet)
    fleet.commit(rayservice("prod", "api"))
    fleet.reconcile(14)
    assert where(fleet) == [f"clusters/a/{API}"]
    assert "approvals:" in record(fleet)


def test_consent_to_two_moves_is_used_when_the_second_is_reverted_and_later_the_first(tmp_path: Path) -> None:
    """Nothing is written to the record in between, because the manifest cannot be read."""
    fleet, clone = approved(tmp_path, C, GO_TO_B, approval("onward", "Move", "c"))
    second, first = fleet.git("log", "--grep=^Relocate", "--format=%H", "main").split()
    revert(clone, second)
    push(clone)
    fleet.commit({"workloads/prod/api.yaml": "kind: ["} | rayservice("prod", "other"))
    fleet.reconcile(13)
    git("pull", "-q", cwd=clone)
    revert_with_ours = ("revert", "--no-edit", "-X", "ours", first)
    by_ada(*revert_with_ours, cwd=clone)
    push(clone)
    fleet.commit(rayservice("prod", "api"))
    fleet.reconcile(14)
    assert where(fleet) == [f"clusters/a/{API}"]
    assert re.findall(r"(\w+)\.[0-9a-f]{8}", record(fleet)) == ["onward", "go"]
