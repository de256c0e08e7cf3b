"""Commits of the source that count because a listed key has signed them, through real git, ssh-keygen and gpg."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of_examples
from hypothesis import strategies as st

from gitplacer.passes.counting import NoSignedCommit, Step, steps
from gitplacer.passes.reconcile import Landing, Outcome, reconcile
from gitplacer.problems import Rejected
from gitplacer.settings import settings
from tests.capacitybranches import ssh_key
from tests.commands import git, make_bare, make_repo, run, write
from tests.stories import ANYWHERE, FLEET, cluster, rayservice, snapshot

ROOM = {f"capacity/{path}": text for path, text in snapshot("a", "n1 64 256Gi 8").items()}
Capture = pytest.CaptureFixture[str]


def fleet_with(*keys: str) -> str:
    if not keys:
        return FLEET
    listed = "".join(f"    - {json.dumps(key)}\n" for key in keys)
    return FLEET.replace("spec: {}\n", f"spec:\n  source:\n    signers:\n{listed}")


@dataclass
class Keys:
    """A folder with the private keys of people, and their public ones by name."""

    folder: Path
    public: dict[str, str]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    return Keys(folder, {name: ssh_key(folder, name)[1] for name in ("ann", "bob", "mallory")})


@dataclass
class World:
    """A fleet repo whose commits somebody signs or nobody does, and its deployment repo."""

    keys: Keys
    source: Path
    deployment: Path

    def commit(self, by: str = "", **files: str) -> str:
        """A commit that somebody signs ('' for nobody) and that writes a service for each name, or the Fleet; its id."""
        for name, text in files.items():
            for path, written in ({"fleet.yaml": text} if name == "fleet" else rayservice("prod", name)).items():
                (self.source / path).parent.mkdir(parents=True, exist_ok=True)
                (self.source / path).write_text(written)
        git(self.source, "add", "--all")
        return self.git("commit", "-q", "--allow-empty", "-m", "edit", by=by)

    def git(self, command: str, *args: str, by: str = "") -> str:
        """What git does, signing as somebody; the commit that is checked out then."""
        key = ["-c", "gpg.format=ssh", "-c", f"user.signingKey={self.keys.folder / by}"] if by else []
        git(self.source, *key, command, *([f"-S{self.keys.folder / by}"] if by else []), *args)
        return git(self.source, "rev-parse", "HEAD").strip()

    def reconcile(self, minute: int = 5) -> Outcome:
        now = f"2026-01-02T03:{minute:02}:00Z"
        return reconcile(settings(str(self.source), deployment=str(self.deployment), now=now), progress=lambda _: None)

    def placed(self) -> list[str]:
        """The services that are deployed."""
        paths = git(self.deployment, "ls-tree", "-r", "--name-only", "main").splitlines()
        return sorted({path.split("/")[4] for path in paths if path.startswith("clusters/a/workloads/prod/")})


def told(outcome: Outcome) -> list[str]:
    return [problem.message for problem in outcome.hydration.problems if problem.code == "SourceNotSigned"]


@pytest.fixture
def world(tmp_path: Path, keys: Keys) -> World:
    """Ann's key is listed, and one pass was made of a commit of hers."""
    files = {"fleet.yaml": fleet_with(keys.public["ann"]), **cluster("a"), **ANYWHERE, **ROOM}
    made = World(keys, make_repo(tmp_path / "source", files), make_bare(tmp_path / "deployment.git"))
    made.commit("ann", first="")
    assert told(made.reconcile()) == []
    return made


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("", "is signed by nobody"),
        ("mallory", "is signed by no key that the Fleet lists"),
        ("ann, and somebody changed it", "has a signature that is not of it"),
    ],
)
def test_a_pass_is_made_from_the_newest_commit_that_counts(world: World, by: str, says: str) -> None:
    good = world.commit("ann", good="")
    signer, _, changed = by.partition(", ")
    bad = world.commit(signer, bad="")
    if changed:
        text = git(world.source, "cat-file", "commit", bad).replace("\n\nedit", "\n\nEdit")
        (world.source.parent / "changed").write_text(text)
        bad = git(world.source, "hash-object", "-t", "commit", "-w", str(world.source.parent / "changed")).strip()
        git(world.source, "reset", "-q", "--hard", bad)
    world.commit("ann", later="")
    done = world.reconcile()
    assert world.placed() == ["first", "good"]
    author = "A User <user@example.com>"
    assert told(done) == [f"commit {bad[:12]} by {author} {says}: {good[:12]} is the newest commit that counts"]
    assert git(world.deployment, "log", "-1", "--format=%(trailers:key=Gitplacer-Source,valueonly)").strip() == good
    assert done.tips["source"] == git(world.source, "rev-parse", "HEAD").strip()  # so nobody takes it for a news


def test_a_merge_hides_nothing(world: World) -> None:
    """What is merged counts with the merge or not at all, also where the merge itself is signed."""
    start = git(world.source, "rev-parse", "HEAD").strip()
    git(world.source, "switch", "-qc", "topic")
    hidden = world.commit(hidden="")
    world.commit("ann", after="")
    git(world.source, "switch", "-q", "main")
    good = world.commit("ann", good="")
    merge = world.git("merge", "-q", "--no-ff", "-m", "merge", "topic", by="ann")
    (message,) = told(world.reconcile())
    assert message.startswith(
        f"commit {hidden[:12]} by A User <user@example.com>, which came with merge {merge[:12]}, is"
    )
    assert world.placed() == ["first", "good"]
    git(world.source, "reset", "-q", "--hard", good)
    git(world.source, "switch", "-qC", "topic", start)
    world.commit("ann", open="")
    git(world.source, "switch", "-q", "main")
    world.git("merge", "-q", "--no-ff", "-m", "merge", "topic", by="ann")
    assert told(world.reconcile(6)) == []
    assert world.placed() == ["first", "good", "open"]


WHO = st.sampled_from(["ann", "ann", "ann", "", "mallory"])


@settings_of_examples(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.tuples(WHO, st.lists(WHO, max_size=2)), min_size=1, max_size=3))
def test_nothing_that_somebody_else_has_signed_is_placed_nor_what_is_on_top(
    world: World, moves: list[tuple[str, list[str]]]
) -> None:
    """The branch moves by commits, or by merges of topics, each signed by somebody: it counts as far as ann has signed all of it."""
    start, placed = git(world.source, "rev-parse", "HEAD").strip(), git(world.deployment, "rev-parse", "main").strip()
    expected, good = ["first"], True
    for number, (by, topic) in enumerate(moves):
        names = [f"s{number}-{n}" for n in range(len(topic))] or [f"s{number}"]
        if topic:
            git(world.source, "switch", "-qc", f"topic{number}")
            for name, author in zip(names, topic, strict=True):
                world.commit(author, **{name: ""})
            git(world.source, "switch", "-q", "main")
            world.git("merge", "-q", "--no-ff", "-m", "merge", f"topic{number}", by=by)
            git(world.source, "branch", "-qD", f"topic{number}")
        else:
            world.commit(by, **{names[0]: ""})
        good = good and {by, *topic} == {"ann"}
        expected += names if good else []
    assert len(told(world.reconcile(6))) == (not good)
    assert world.placed() == sorted(expected)
    git(world.source, "reset", "-q", "--hard", start)
    git(world.deployment, "update-ref", "refs/heads/main", placed)


def test_a_key_cannot_let_itself_in(world: World) -> None:
    """Who adds a key is judged by those before it; who removes one too; and a Fleet that cannot be read rids nobody of them."""
    ann, bob, mallory = (world.keys.public[name] for name in ("ann", "bob", "mallory"))
    start = git(world.source, "rev-parse", "HEAD").strip()
    for by, fleet in (
        ("mallory", fleet_with(ann, mallory)),
        ("mallory", FLEET),
        ("", FLEET),
        ("mallory", FLEET.replace("spec: {}", "spec: []")),
    ):
        world.commit(by, fleet=fleet, evil="")
        world.commit(by)
        assert len(told(world.reconcile())) == 1, (by, fleet)
        assert world.placed() == ["first"]
        git(world.source, "reset", "-q", "--hard", start)
    world.commit("ann", fleet=fleet_with(ann, bob))
    world.commit("bob", fleet=fleet_with(bob), second="")
    assert told(world.reconcile()) == []
    last = world.commit("bob", third="")
    world.commit("ann", fourth="")
    (message,) = told(world.reconcile(6))
    assert message.endswith(f"is signed by no key that the Fleet lists: {last[:12]} is the newest commit that counts")
    assert world.placed() == ["first", "second", "third"]
    git(world.source, "reset", "-q", "--hard", last)
    world.commit("bob", fleet=FLEET)
    world.commit(anybody="")
    assert told(world.reconcile(7)) == []
    assert "anybody" in world.placed()


def test_a_fleet_that_breaks_while_it_is_signed_keeps_its_keys(world: World) -> None:
    world.commit("ann", fleet=FLEET.replace("spec: {}", "spec: []"))
    bad = world.commit(fleet=FLEET, evil="")
    with pytest.raises(Rejected):
        world.reconcile()  # as ever where the Fleet is broken
    world.git("revert", "--no-edit", bad, by="ann")
    assert world.placed() == ["first"]


def test_what_goes_wrong_is_named_and_what_was_written_anew_counts(world: World, capfd: Capture) -> None:
    """The hint is followed as it stands."""
    good = world.commit("ann", good="")
    world.commit(bad="")
    args = ("--deployment", world.deployment, "--now", "2026-01-02T03:06:00Z", world.source)
    ran = run(capfd, "reconcile", *args)
    assert f"git rebase --gpg-sign {good[:12]}, and push that" in ran.err
    world.git("rebase", "-q", "--force-rebase", good, by="ann")
    assert "NotSigned" not in run(capfd, "reconcile", *args).err
    assert world.placed() == ["bad", "first", "good"]
    proved = run(capfd, "verify", "--all", "--deployment", world.deployment, world.source)
    assert proved.code == 0, proved.out + proved.err


def test_the_first_pass_needs_a_tip_that_is_signed(tmp_path: Path, keys: Keys) -> None:
    files = {"fleet.yaml": fleet_with(keys.public["ann"]), **cluster("a"), **ANYWHERE, **ROOM}
    world = World(keys, make_repo(tmp_path / "source", files), make_bare(tmp_path / "deployment.git"))
    with pytest.raises(NoSignedCommit, match="is signed by nobody: there is none that counts"):
        world.reconcile()
    world.commit("ann", first="")
    assert world.reconcile().landing is Landing.PUBLISHED
    assert world.placed() == ["first"]


@pytest.mark.parametrize(
    ("fleet", "says"),
    [
        ("mallory", "so nobody knows whose commits count since then"),
        ("", "of which the last pass was made, is not behind it"),
    ],
)
def test_whoever_writes_the_whole_history_anew_lists_no_key_in_it(
    world: World, capfd: Capture, fleet: str, says: str
) -> None:
    """Also where the commit that counted last is not to be had any more."""
    git(world.source, "switch", "-q", "--orphan", "other")
    files = {
        "fleet.yaml": fleet_with(*filter(None, [world.keys.public.get(fleet)])),
        **cluster("a"),
        **ANYWHERE,
        **ROOM,
    }
    write(world.source, files)
    world.commit("mallory", evil="")
    git(world.source, "branch", "-qM", "other", "main")
    assert len(told(world.reconcile())) == 1
    git(world.source, "reflog", "expire", "--expire=now", "--all")
    git(world.source, "gc", "-q", "--prune=now")
    ran = run(capfd, "reconcile", "--deployment", world.deployment, "--now", "2026-01-02T03:06:00Z", world.source)
    assert ran.code != 0 and says in ran.err
    assert world.placed() == ["first"]


def plan(capfd: Capture, world: World, *args: str) -> list[str]:
    """The problems that a plan tells of signatures."""
    where = ("--deployment", world.deployment, "--now", "2026-01-02T03:06:00Z", "--format", "json")
    ran = run(capfd, "plan", *where, *args, world.source)
    return [each["message"] for each in json.loads(ran.out)["problems"] if each["code"] == "SourceNotSigned"]


def test_a_plan_of_a_pull_request_tells_whether_it_would_count(world: World, capfd: Capture) -> None:
    """By the keys of the base, whatever the head lists; and what is planned is the head."""
    base = git(world.source, "rev-parse", "HEAD").strip()
    git(world.source, "switch", "-qc", "head")
    signed = world.commit("ann", open="")
    assert plan(capfd, world, "--rev", signed, "--trust-base", "main") == []
    bad = world.commit("mallory", fleet=fleet_with(world.keys.public["mallory"]), evil="")
    for more in (["--trust-base", "main"], []):
        (message,) = plan(capfd, world, "--rev", "head", *more)
        assert message.startswith(f"commit {bad[:12]} by") and message.endswith(
            f"{signed[:12]} is the newest commit that counts"
        )
    git(world.source, "update-ref", "refs/heads/main", bad)
    git(world.source, "switch", "-q", "--detach", base)
    (message,) = plan(capfd, world, "--rev", "main", "--trust-base", "main")
    assert message.startswith(f"commit {bad[:12]} by")


def test_a_plan_of_a_work_tree_tells_whether_what_it_is_on_would_count(world: World, capfd: Capture) -> None:
    write(world.source, rayservice("prod", "more"))
    assert plan(capfd, world) == []
    bad = world.commit(more="")
    (message,) = plan(capfd, world)
    assert message.startswith(f"commit {bad[:12]} by A User")
    git(world.deployment, "update-ref", "-d", "refs/heads/main")
    (message,) = plan(capfd, world)
    assert message.endswith("is signed by nobody: there is none that counts")


PARENTS = {"t": ["m", "x"], "x": ["w"], "m": ["n", "s"], "s": ["r"], "n": ["r"], "w": ["before"]}
"""The branch was at r, then n, then m that merged s, then t that merged x, begun before r."""


@pytest.mark.parametrize(
    ("parents", "tip", "start", "expected"),
    [
        (PARENTS, "t", "r", [("n", "n"), ("m", "sm"), ("t", "wxt")]),
        ({}, "r", "r", []),
        ({"t": ["x", "r"], "x": ["w"], "w": []}, "t", "r", [("t", "wxt")]),  # merged the other way round
        ({"t": ["x"], "x": ["before"]}, "t", "r", [("x", "x"), ("t", "t")]),  # r was lost
    ],
    ids=["merges", "no news", "the branch itself was merged", "rewound"],
)
def test_a_branch_moves_step_by_step_with_all_that_each_brings(
    parents: dict[str, list[str]], tip: str, start: str, expected: list[tuple[str, str]]
) -> None:
    assert steps(parents, tip, start) == [Step(commit, tuple(brought)) for commit, brought in expected]
