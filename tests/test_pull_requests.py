"""A pass as a pull request on the deployment repo, with real git and a stand-in of the host, in all the ways there are to merge it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from gitplacer.audit.moves import history_of
from gitplacer.audit.promises import promises_of
from gitplacer.audit.verifying import verify_history
from gitplacer.branch.chronicle import history
from gitplacer.formats.options import Options
from gitplacer.formats.verification import as_text
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.hosts import HOSTS
from gitplacer.model.decision import Action
from gitplacer.model.happening import Happening
from gitplacer.model.promises import Why
from gitplacer.passes.proposing import CONTEXT, ProposedPass, Standing, propose
from gitplacer.report import EventKind
from gitplacer.settings import UsageError, settings
from tests import provenance
from tests.commands import Ran, run
from tests.fleetrepos import Fleet, clone_of, copied, edit_by_hand, made, merge_by_hand, silently
from tests.gitservers import git
from tests.hoststandin import TOKEN, StandIn, api_of, serving
from tests.stories import cluster, decisions, rayjob, rayservice, snapshot

BRANCH = "gitplacer/next/main"
API = "clusters/a/workloads/prod/api/api.yaml"


def proposed(fleet: Fleet, minute: int = 10, *, check: bool = False) -> ProposedPass:
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now=f"2026-01-02T03:{minute:02}:00Z")
    return propose(chosen, progress=silently, check=check)


def tip(fleet: Fleet, branch: str = BRANCH) -> str:
    return fleet.git("rev-parse", branch)


def branches(fleet: Fleet) -> list[str]:
    return fleet.git("for-each-ref", "--format=%(refname:short)", "refs/heads/").split()


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """A fleet with a service on a, and two changes that a pass would make: a is drained, and a job is new."""
    fleet = made(tmp_path_factory.mktemp("changed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITPLACER_CACHE", str(tmp_path_factory.mktemp("cache")))
        provenance.watch(patch)
        fleet.reconcile(5)
    fleet.commit(cluster("a", state="Draining") | rayservice("prod", "new"), "drain a, add new")
    return fleet


@pytest.fixture
def fleet(changed: Fleet, tmp_path: Path) -> Fleet:
    """A copy of that fleet."""
    return copied(changed, tmp_path)


@pytest.fixture
def clone(fleet: Fleet, tmp_path: Path) -> Path:
    return clone_of(fleet, tmp_path)


# the branch


def test_a_pass_is_a_branch_on_the_tip_and_the_tip_stays(fleet: Fleet) -> None:
    main = tip(fleet, "main")
    done = proposed(fleet)
    assert (done.standing, done.branch, done.tip) == (Standing.MADE, BRANCH, tip(fleet))
    assert tip(fleet, "main") == main
    assert fleet.git("log", "--format=%s", f"main..{BRANCH}").splitlines() == [
        "Place prod/new",
        "Relocate prod/api from a to b",
    ]
    assert tip(fleet, f"{BRANCH}~2") == main
    trailer = fleet.git("log", "-1", "--format=%(trailers:key=Gitplacer-Capacity,valueonly)", BRANCH).strip()
    assert fleet.git("rev-parse", "gitplacer-inputs^{tree}") == trailer


def test_what_is_pushed_and_what_is_proposed_are_the_same_commits(fleet: Fleet) -> None:
    done = proposed(fleet, 10)
    assert fleet.reconcile(10).tip == done.tip


def test_what_stands_is_left_alone_whatever_the_time_and_a_snapshot_that_says_the_same(fleet: Fleet) -> None:
    first = proposed(fleet, 10)
    assert proposed(fleet, 20).standing is Standing.STANDS
    later = {
        f"capacity/{path}": text.replace("03:05:00", "03:06:00")
        for path, text in snapshot("b", "n1 32 128Gi 4").items()
    }
    for path, text in later.items():
        (fleet.source / path).write_text(text)  # a work tree's capacity is read at the tip only
    git("stash", "-q", cwd=fleet.source)
    assert proposed(fleet, 30).tip == first.tip == tip(fleet)


def test_capacity_beside_the_source_counts_by_what_it_leads_to(fleet: Fleet, tmp_path: Path) -> None:
    def look(minute: int, *nodes: str) -> ProposedPass:
        folder = tmp_path / "capacity"
        folder.mkdir(exist_ok=True)
        for name, node in zip("ab", nodes, strict=True):
            for path, text in snapshot(name, node).items():
                (folder / path).write_text(text)
        at = f"2026-01-02T03:{minute}:00Z"
        chosen = settings(str(fleet.source), deployment=fleet.deployment, capacity=str(folder), now=at)
        return propose(chosen, progress=silently)

    first = look(10, "n1 32 128Gi 4", "n1 32 128Gi 4")
    assert look(11, "n1 32 128Gi 4", "n1 33 128Gi 4").tip == first.tip
    other = look(12, "n1 32 128Gi 4", "n1 1 1Gi 0")
    assert (other.standing, str(other.moved)) == (Standing.MADE, "Capacity")
    assert other.tip != first.tip


@pytest.mark.parametrize("mover", ["source", "deployment"])
def test_what_has_moved_turns_the_check_red_and_a_run_renews_it(fleet: Fleet, clone: Path, mover: str) -> None:
    first = proposed(fleet)
    assert proposed(fleet, 11, check=True).standing is Standing.STANDS
    if mover == "source":
        fleet.commit(rayservice("prod", "newer"))
    else:
        (clone / "README.md").write_text("hello\n")
        git("add", ".", cwd=clone)
        git("commit", "-q", "-m", "hello", cwd=clone)
        git("push", "-q", "origin", "HEAD:main", cwd=clone)
    red = proposed(fleet, 12, check=True)
    assert (red.standing, str(red.moved).lower(), red.tip) == (Standing.OUTDATED, mover, first.tip)
    assert tip(fleet) == first.tip
    renewed = proposed(fleet, 13)
    assert (renewed.standing, renewed.tip) == (Standing.MADE, tip(fleet))
    assert fleet.git("merge-base", "main", BRANCH) == tip(fleet, "main")
    assert proposed(fleet, 14, check=True).standing is Standing.STANDS


def test_what_is_no_longer_to_be_done_is_withdrawn(fleet: Fleet) -> None:
    proposed(fleet)
    fleet.commit(cluster("a"), "a is well again", remove=("workloads/prod/new.yaml",))
    assert str(proposed(fleet, 11, check=True).moved) == "Done"
    assert proposed(fleet, 12).standing is Standing.WITHDRAWN
    assert branches(fleet) == ["gitplacer-inputs", "main"]
    assert proposed(fleet, 13).standing is Standing.NOTHING


def test_somebody_elses_commit_on_the_branch_is_never_replaced(fleet: Fleet, clone: Path) -> None:
    proposed(fleet)
    git("fetch", "-q", cwd=clone)
    git("checkout", "-q", BRANCH, cwd=clone)
    (clone / API.replace("/a/", "/b/")).write_text("# mine\n")
    git("commit", "-q", "-a", "-m", "mine \x1b[31m", cwd=clone)
    git("push", "-q", "origin", BRANCH, cwd=clone)
    theirs = tip(fleet)
    for again in (lambda: proposed(fleet, 11), lambda: withdrawn(fleet)):
        with pytest.raises(GitError, match=r"has a commit that is not ours: [0-9a-f]{12} mine$") as caught:
            again()
        assert caught.value.kind == "ForeignCommit"
        assert tip(fleet) == theirs


def withdrawn(fleet: Fleet) -> ProposedPass:
    fleet.commit(cluster("a"), "well", remove=("workloads/prod/new.yaml",))
    return proposed(fleet, 12)


def test_the_hosts_button_that_merges_the_base_into_the_branch_stops_nothing(fleet: Fleet, clone: Path) -> None:
    proposed(fleet)
    (clone / "README.md").write_text("hello\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "hello", cwd=clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    git("fetch", "-q", cwd=clone)
    git("checkout", "-q", BRANCH, cwd=clone)
    git("merge", "-q", "--no-ff", "-m", "Merge branch 'main'", "origin/main", cwd=clone)
    git("push", "-q", "origin", BRANCH, cwd=clone)
    done = proposed(fleet, 11)
    assert done.standing is Standing.MADE
    assert fleet.git("rev-list", "--merges", f"main..{BRANCH}") == ""


def test_two_that_propose_at_once_do_not_lose_each_others_work(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Deployment.propose_pass
    tries: list[str] = []

    def meanwhile(self: Deployment, *args: object, **more: object) -> str:
        tries.append(self.proposed_pass or "")
        if len(tries) == 1:
            monkeypatch.setattr(Deployment, "propose_pass", real)
            fleet.commit(rayservice("prod", "newest"))
            proposed(fleet, 11)
            monkeypatch.setattr(Deployment, "propose_pass", meanwhile)
        return real(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Deployment, "propose_pass", meanwhile)
    done = proposed(fleet, 10)
    assert done.attempts == 2
    assert "clusters/b/workloads/prod/newest/newest.yaml" in fleet.git("ls-tree", "-r", "--name-only", BRANCH)


def test_a_pull_request_needs_a_branch_to_go_to(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no branch main") as caught:
        proposed(made(tmp_path))
    assert "README" in caught.value.hint


# merging


def by_merge_commit(fleet: Fleet, clone: Path) -> None:
    merge_by_hand(clone, BRANCH, at="2026-01-02T03:30:00Z")


def by_rebase(fleet: Fleet, clone: Path) -> None:
    git("cherry-pick", f"origin/main..origin/{BRANCH}", cwd=clone, at="2026-01-02T03:30:00Z")


def by_fast_forward(fleet: Fleet, clone: Path) -> None:
    git("merge", "-q", "--ff-only", f"origin/{BRANCH}", cwd=clone)


def squashed(fleet: Fleet, clone: Path, message: str) -> None:
    git("merge", "-q", "--squash", f"origin/{BRANCH}", cwd=clone)
    git("commit", "-q", "-m", message, cwd=clone, at="2026-01-02T03:30:00Z")


def by_squash_with_the_messages(fleet: Fleet, clone: Path) -> None:
    """As GitHub does by default, with its own trailers below, and the branch gone."""
    messages = fleet.git("log", "--reverse", "--format=* %B", f"main..{BRANCH}")
    squashed(fleet, clone, f"Place and relocate (#1)\n\n{messages}\n\n---------\n\nCo-authored-by: x <x@example.com>")
    git("push", "-q", "origin", f":{BRANCH}", cwd=clone)


def by_squash_with_a_title_only(fleet: Fleet, clone: Path) -> None:
    """As GitLab does by default; the branch is still there."""
    squashed(fleet, clone, "Place and relocate")


WAYS = [by_merge_commit, by_rebase, by_fast_forward, by_squash_with_the_messages, by_squash_with_a_title_only]


def readme(clone: Path, text: str = "hello\n") -> None:
    (clone / "README.md").write_text(text)
    git("add", ".", cwd=clone)
    git("commit", "-q", "-m", "hello", cwd=clone, at="2026-01-02T03:29:00Z")


@pytest.mark.parametrize("way", WAYS)
def test_a_merged_pass_is_ours_however_it_is_merged(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None]
) -> None:
    proposed(fleet, 10)
    if way is not by_fast_forward:
        readme(clone)  # what others do in between changes nothing
    git("fetch", "-q", cwd=clone)
    way(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = proposed(fleet, 40)
    assert done.hydration.snapshot.foreign_paths == frozenset()
    assert {d.group: (d.action, d.after) for d in done.hydration.view.plan.decisions} == {
        "prod/api": (Action.KEEP, ("b",)),
        "prod/new": (Action.KEEP, ("b",)),
    }
    assert done.standing in (Standing.WITHDRAWN, Standing.NOTHING)
    assert BRANCH not in branches(fleet)
    # The clusters have seen it since the merge, not since it was proposed.
    since = "03:10:00" if way is by_fast_forward else "03:30:00"
    record = done.hydration.snapshot.records["prod/api"]
    assert f"{record.clusters[0].since:%H:%M:%S}" == since
    # And it stays ours, under the next proposal and after it.
    fleet.commit(rayservice("prod", "newer", gpus=0))
    assert proposed(fleet, 41).hydration.snapshot.foreign_paths == frozenset()
    assert proposed(fleet, 42, check=True).hydration.snapshot.foreign_paths == frozenset()
    git("fetch", "-q", cwd=clone)
    by_merge_commit(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    assert proposed(fleet, 50).hydration.snapshot.foreign_paths == frozenset()
    assert branches(fleet) == ["gitplacer-inputs", "main"], "nothing of it is left"


@pytest.mark.parametrize("way", [by_merge_commit, by_rebase, by_squash_with_a_title_only])
def test_what_others_change_beside_a_merged_pass_is_foreign(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None]
) -> None:
    """Before the merge or after it: what a merge brings is ours, and nothing else is."""
    fleet.commit(rayjob("train", "job"))
    fleet.reconcile(8)
    fleet.commit(rayservice("prod", "newer", gpus=0))
    git("pull", "-q", cwd=clone)
    path = "clusters/b/workloads/train/job/job.yaml"
    assert (clone / path).exists()
    proposed(fleet, 10)
    git("fetch", "-q", cwd=clone)
    edit_by_hand(clone, path, "# by hand, before", at="2026-01-02T03:29:00Z")
    way(fleet, clone)
    new = "clusters/b/workloads/prod/newer/newer.yaml"
    edit_by_hand(clone, new, "# by hand, after", at="2026-01-02T03:31:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = decisions(proposed(fleet, 40).hydration)
    assert done["prod/newer"].blocked_by == (new,)
    assert done["train/job"].blocked_by == (path,)
    assert done["prod/api"].action is Action.KEEP


def test_a_squash_that_nothing_tells_from_an_edit_is_taken_for_one(fleet: Fleet, clone: Path) -> None:
    proposed(fleet, 10)
    git("fetch", "-q", cwd=clone)
    by_squash_with_a_title_only(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", f":{BRANCH}", cwd=clone)
    done = decisions(proposed(fleet, 40).hydration)
    assert done["prod/api"].finding.code == "ForeignChange"


def test_the_very_first_pass_may_be_a_pull_request(tmp_path: Path) -> None:
    fleet = made(tmp_path)
    git("clone", "-q", str(fleet.bare), str(tmp_path / "clone"), cwd=tmp_path)
    clone = tmp_path / "clone"
    readme(clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    proposed(fleet, 10)
    git("fetch", "-q", cwd=clone)
    by_merge_commit(fleet, clone)
    edit_by_hand(clone, API, at="2026-01-02T03:31:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = decisions(proposed(fleet, 40).hydration)
    assert done["prod/api"].blocked_by == (API,)


def test_passes_go_on_over_merge_after_merge(fleet: Fleet, clone: Path) -> None:
    for number in range(2):
        minute = 10 + 10 * number
        done = proposed(fleet, minute)
        assert done.standing is Standing.MADE
        git("fetch", "-q", cwd=clone)
        git(
            "merge",
            "-q",
            "--no-ff",
            "-m",
            f"Merge #{number}",
            f"origin/{BRANCH}",
            cwd=clone,
            at=f"2026-01-02T03:{minute + 5}:00Z",
        )
        git("push", "-q", "origin", "HEAD:main", cwd=clone)
        assert proposed(fleet, minute + 6).hydration.snapshot.foreign_paths == frozenset()
        fleet.commit(rayservice("prod", f"next{number}"))
    assert fleet.git("log", "--first-parent", "--format=%s", "main").splitlines()[:2] == [
        "Merge #1",
        "Merge #0",
    ]


def test_a_relocation_behind_a_merge_can_be_reverted_as_ever(fleet: Fleet, clone: Path) -> None:
    fleet.commit({}, "later", remove=("workloads/prod/new.yaml",))
    moved = proposed(fleet, 10).tip or ""
    git("fetch", "-q", cwd=clone)
    by_merge_commit(fleet, clone)
    fleet.commit(cluster("a"), "a is well again")
    git("revert", "--no-edit", moved, cwd=clone, at="2026-01-02T03:35:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    done = proposed(fleet, 40).hydration
    assert done.snapshot.foreign_paths == frozenset()
    assert list(done.snapshot.reverted) == ["prod/api"]
    assert decisions(done)["prod/api"].after == ("a",)


# the pull request


@dataclass
class Bot:
    """The command, with a host."""

    name: str
    state: StandIn
    fleet: Fleet
    capfd: pytest.CaptureFixture[str]

    def run(self, minute: int, *args: str) -> Ran:
        now = f"2026-01-02T03:{minute:02}:00Z"
        where = ("--host", self.name, "--repo", "acme/deploy", "--deployment", self.fleet.deployment, "--now", now)
        return run(self.capfd, "reconcile", "--pull-request", *where, *args, self.fleet.source)

    @property
    def check(self) -> tuple[str, str]:
        context, state, _ = self.state.last_status(tip(self.fleet))
        assert context == CONTEXT
        return context, state


@pytest.fixture
def bot(
    request: pytest.FixtureRequest, fleet: Fleet, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Bot]:
    host = getattr(request, "param", "github")
    state = StandIn(repo="acme/deploy", bare=fleet.bare, projects={7: "acme/deploy", 8: "mallory/deploy"})
    with serving(host, state):
        monkeypatch.setenv("GITPLACER_HOST_TOKEN", TOKEN)
        monkeypatch.setenv("GITPLACER_HOST_URL", api_of(host, state))
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        yield Bot(host, state, fleet, capfd)


server = pytest.mark.server


@server
@pytest.mark.parametrize("bot", sorted(HOSTS), indirect=True)
def test_one_pull_request_lives_through_it_all(bot: Bot, clone: Path) -> None:
    first = bot.run(10)
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0].startswith(f"Proposed   {tip(bot.fleet)} to ")
    assert first.out.splitlines()[-1].startswith("Requested  #1  https://")
    pull = bot.state.pulls[1]
    assert pull.title == "Relocate prod/api from a to b and Place prod/new"
    assert " gitplacer: " in pull.body
    assert "prod/new" in pull.body
    assert "Gitplacer-Version: " in pull.body.rstrip().rpartition("\n\n")[2]
    success = "success"
    assert bot.check[1] == success

    writes = len(bot.state.writes())
    assert bot.run(11).out.startswith("Unchanged  ")
    assert len(bot.state.writes()) == writes, "what stands is not written again"

    bot.fleet.commit(rayservice("prod", "newer"))
    red = bot.run(12, "--check")
    assert red.code == 2
    assert "Outdated" in red.out
    assert "the source has moved on" in red.out
    assert bot.check[1] in ("failure", "failed")
    assert bot.run(13).code == 0
    assert (bot.check[1], len(bot.state.pulls)) == (success, 1)
    assert pull.title == "Relocate prod/api from a to b and Place 2 groups"

    git("fetch", "-q", cwd=clone)
    by_merge_commit(bot.fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    pull.state, pull.merged_as = "closed", git("rev-parse", "HEAD", cwd=clone)
    done = bot.run(40)
    assert done.out.startswith("Withdrawn  ")
    assert BRANCH not in branches(bot.fleet)
    assert bot.run(41).out.startswith("Unchanged  nothing to propose")

    bot.fleet.commit(rayservice("prod", "newest"))
    assert "Requested  #2" in bot.run(42).out
    bot.fleet.commit({}, "gone again", remove=("workloads/prod/newest.yaml",))
    closed = bot.run(43)
    assert "Closed     #2" in closed.out
    assert bot.state.pulls[2].state == "closed"
    assert BRANCH not in branches(bot.fleet)


@server
def test_who_closes_it_is_left_alone_until_something_else_is_to_be_done(bot: Bot) -> None:
    bot.run(10)
    bot.state.pulls[1].state = "closed"
    ran = bot.run(11)
    assert "Declined   #1" in ran.out
    assert "somebody has closed #1" in ran.err
    assert len(bot.state.pulls) == 1
    bot.fleet.commit(rayservice("prod", "newer"))
    assert "Requested  #2" in bot.run(12).out


@server
def test_a_pull_request_from_a_fork_with_the_same_branch_is_not_ours(bot: Bot) -> None:
    theirs = bot.state.opened(BRANCH, title="Mine", body="$(id)", head_repo="mallory/deploy")
    bot.run(10)
    assert (theirs.title, theirs.body, theirs.state) == ("Mine", "$(id)", "open")
    assert bot.state.pulls[2].head_repo == "acme/deploy"


@server
def test_a_run_that_pushed_and_could_not_tell_is_made_good_by_the_next(bot: Bot) -> None:
    bot.run(10)
    bot.state.pulls[1].body = "edited away"
    bot.state.statuses.clear()
    assert bot.run(11).out.startswith("Unchanged  ")
    assert "Gitplacer-Version: " in bot.state.pulls[1].body
    assert bot.check[1] == "success"
    writes = len(bot.state.writes())
    bot.run(12)
    assert len(bot.state.writes()) == writes


@server
def test_a_source_that_cannot_be_read_turns_the_check_red(bot: Bot) -> None:
    bot.run(10)
    before = tip(bot.fleet)
    bot.fleet.commit(cluster("b", bogus="1"), "broken")
    ran = bot.run(11)
    assert ran.code == 1
    assert "clusters/b.yaml:" in ran.err
    assert tip(bot.fleet) == before
    assert bot.check[1] in ("failure", "failed")


@server
def test_names_in_manifests_do_nothing_in_the_pull_request(bot: Bot) -> None:
    label = "x.y_z-" + "a" * 50
    bot.fleet.commit(rayservice("prod", "mentions", labels=f'{{team: "{label}"}}'))
    hostile = rayservice("prod", "bad")["workloads/prod/bad.yaml"].replace(
        "name: bad", 'name: "@team/`<img src=x>`|[a](b)"'
    )
    bot.fleet.commit({"workloads/prod/bad.yaml": hostile})
    assert bot.run(10).code == 0
    body = bot.state.pulls[1].body
    assert "@team" not in body
    assert "<img" not in body


def test_without_a_host_the_next_step_is_told(fleet: Fleet, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "reconcile", "--pull-request", "--deployment", fleet.deployment, fleet.source)
    assert ran.code == 0
    assert f"Next: open a pull request from {BRANCH} to main" in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--check"], "--check, --host and --repo are for --pull-request"),
        (["--repo", "a/b"], "--check, --host and --repo are for --pull-request"),
        (["--pull-request", "--repo", "a/b"], "nobody said which host it is"),
        (["--pull-request", "--host", "github"], "nobody said which repository it is"),
        (["--pull-request", "--host", "github", "--repo", "a/b"], "there is no token"),
    ],
)
def test_flags_that_lack_something_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], args: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "GITHUB_ACTIONS", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    ran = run(capfd, "reconcile", *args, tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err


# what the past says of it


def landed(fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None], between: bool = True) -> None:
    proposed(fleet, 10)
    if between:
        readme(clone)
    git("fetch", "-q", cwd=clone)
    way(fleet, clone)
    git("push", "-q", "origin", "HEAD:main", cwd=clone)


def verified(fleet: Fleet) -> list[str]:
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-03T00:00:00Z")
    return [str(checked.answer) for checked in verify_history(chosen, None, 1, silently)]


@pytest.mark.parametrize(
    ("way", "between", "answers"),
    [
        (by_merge_commit, False, ["Verified"] * 2),
        (by_merge_commit, True, ["Verified", "Foreign", "Verified"]),
        (by_rebase, False, ["Verified"] * 3),
        (by_rebase, True, ["Verified", "Foreign", "Verified", "Verified"]),
        (by_fast_forward, False, ["Verified"] * 3),
        (by_squash_with_a_title_only, False, ["Verified", "Foreign"]),
    ],
)
def test_a_merged_pass_is_verified_as_one_that_was_pushed(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None], between: bool, answers: list[str]
) -> None:
    landed(fleet, clone, way, between)
    assert verified(fleet) == answers
    fleet.commit(rayservice("prod", "newer", gpus=0))
    fleet.reconcile(45)
    assert verified(fleet)[len(answers) :] == ["Verified"]


@pytest.mark.parametrize("way", [by_squash_with_a_title_only, by_squash_with_the_messages])
def test_a_squashed_pass_is_told_from_a_commit_by_hand(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None]
) -> None:
    landed(fleet, clone, way)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-03T00:00:00Z")
    found = verify_history(chosen, None, 1, silently)
    assert [(checked.answer, checked.squashed) for checked in found[1:]] == [("Foreign", False), ("Foreign", True)]
    by_hand, squash = (as_text([checked], Options()) for checked in found[1:])
    assert "looks like" not in by_hand and "looks like a pass or a proposal that was squashed" in squash


@pytest.mark.parametrize("way", [by_merge_commit, by_rebase])
def test_a_merged_pass_with_something_else_is_not_verified(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None]
) -> None:
    landed(fleet, clone, way, between=False)
    (clone / "quietly").write_text("more\n")
    git("add", ".", cwd=clone)
    git("commit", "-q", "--amend", "--no-edit", cwd=clone, at="2026-01-02T03:31:00Z")
    git("push", "-q", "--force", "origin", "HEAD:main", cwd=clone)
    assert verified(fleet)[-1] == ("Foreign" if way is by_merge_commit else "Differs")


@pytest.mark.parametrize("way", ["merge", "cherry-pick"])
def test_an_old_pass_that_is_brought_again_is_not_verified(fleet: Fleet, clone: Path, way: str) -> None:
    proposed(fleet, 10)
    git("fetch", "-q", cwd=clone)
    old = tip(fleet)
    fleet.commit(rayservice("prod", "newer", gpus=0))
    fleet.reconcile(20)
    fleet.git("branch", "old", old)
    git("fetch", "-q", cwd=clone)
    git("reset", "-q", "--hard", "origin/main", cwd=clone)
    if way == "merge":
        git("merge", "-q", "-s", "ours", "--no-commit", old, cwd=clone)
        git("checkout", "-q", old, "--", "clusters", "placements", cwd=clone)
        git("commit", "-q", "-m", "Merge pull request #1", cwd=clone, at="2026-01-02T03:30:00Z")
    else:
        git("cherry-pick", "--allow-empty", "-X", "theirs", f"{old}~1", cwd=clone, at="2026-01-02T03:30:00Z")
    git("push", "-q", "origin", "HEAD:main", cwd=clone)
    assert verified(fleet)[-1] == ("Foreign" if way == "merge" else "Differs")


def test_history_tells_what_a_merged_pass_did_and_who_merged_it(fleet: Fleet, clone: Path) -> None:
    landed(fleet, clone, by_merge_commit)
    chosen = settings(str(fleet.source), deployment=fleet.deployment)
    event = history_of(chosen, "prod/api", silently)[-1]
    assert (event.what, event.before, event.after) == (Happening.RELOCATED, ("a",), ("b",))
    assert (event.at, event.said[:19], event.source_subject) == (
        "2026-01-02T03:30:00Z",
        "Moves from a to b: ",
        "drain a, add new",
    )
    assert [kind for kind, _ in event.by] == ["policy", "person"]
    assert history_of(chosen, "prod/new", silently)[-1].what is Happening.PLACED


def test_the_timeline_has_each_move_of_a_merged_pass_when_it_was_merged(fleet: Fleet, clone: Path) -> None:
    landed(fleet, clone, by_merge_commit)
    deployment = settings(str(fleet.source), deployment=fleet.deployment).deployment
    assert deployment is not None
    with Deployment.open(deployment, "main", fleet.source.parent / "mirrors") as opened:
        told = history(opened).events
    assert [(f"{e.at:%H:%M}", e.kind, e.group, e.gone, e.come) for e in told[:3]] == [
        ("03:30", EventKind.PASS, "", (), ()),
        ("03:30", EventKind.RELOCATION, "prod/api", ("a",), ("b",)),
        ("03:29", EventKind.BY_HAND, "", (), ()),
    ]


@pytest.mark.parametrize("way", [by_merge_commit, by_rebase])
def test_a_promise_begins_when_the_pass_was_merged(
    fleet: Fleet, clone: Path, way: Callable[[Fleet, Path], None]
) -> None:
    landed(fleet, clone, way)
    chosen = settings(str(fleet.source), deployment=fleet.deployment, now="2026-01-02T03:40:00Z")
    given = {p.group: p for p in promises_of(chosen, timedelta(minutes=15), None, silently) if p.cluster == "b"}
    assert {f"{p.at:%H:%M}" for p in given.values()} == {"03:30"}
    assert {p.why for p in given.values()} == {Why.NOT_YET}
