"""`comment` and `tell` as CI calls them: real git, a stand-in of the host, hostile pull requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from gitplacer.formats.markdown import marker
from gitplacer.hosts import HOSTS
from tests.commands import Ran, run
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.hoststandin import OTHER, TOKEN, StandIn, Trouble, api_of, serving
from tests.stories import cluster, policy, rayjob, rayservice, snapshot

pytestmark = pytest.mark.server

CONTEXT = "gitplacer/placement"


@dataclass
class Ci:
    """A CI job of a host: its commands, its files, and what the host has."""

    name: str
    state: StandIn
    home: Path
    folder: Path
    capfd: pytest.CaptureFixture[str]

    def run(self, *args: str | Path) -> Ran:
        return run(self.capfd, *args)

    @cached_property
    def fleet(self) -> Fleet:
        return made(self.home)

    def plan(self) -> None:
        """Write the plan of the source as it is, as pages and as JSON."""
        self.folder.mkdir(exist_ok=True)
        for output, name in (("markdown", "plan-1.md"), ("json", "plan.json")):
            ran = self.run("plan", self.fleet.source, "--deployment", self.fleet.deployment, "--format", output)
            (self.folder / name).write_text(ran.out)

    def comment(self, *args: str | Path) -> Ran:
        where = ("--host", self.name, "--repo", "acme/fleet", "--pages", self.folder)
        return self.run("comment", *where, "--plan", self.folder / "plan.json", *args)

    def tell(self, *args: str | Path) -> Ran:
        where = ("--host", self.name, "--repo", "acme/fleet", "--deployment", self.fleet.deployment)
        return self.run("tell", *where, *args, self.fleet.source)

    @property
    def head(self) -> str:
        return git("rev-parse", "HEAD", cwd=self.fleet.source)

    def merge(self, number: int = 1) -> str:
        """The pull request lands as the commit that the source has now."""
        pull = self.state.pulls[number]
        pull.state, pull.merged_as = "closed", self.head
        return self.head


BOTH = pytest.mark.parametrize("ci", sorted(HOSTS), indirect=True)


@pytest.fixture
def ci(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Ci]:
    host = getattr(request, "param", "github")
    with serving(host, StandIn()) as state:
        monkeypatch.setenv("GITPLACER_HOST_TOKEN", TOKEN)
        monkeypatch.setenv("GITPLACER_HOST_URL", api_of(host, state))
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        yield Ci(host, state, tmp_path, tmp_path / "pages", capfd)


@BOTH
def test_from_the_plan_to_what_became_of_it(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ci.fleet.commit(rayservice("prod", "new"), "add new")
    ci.state.opened(sha=ci.head)
    ci.plan()
    ran = ci.comment("--pull", "1")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Commented  #1: 1 made  http")
    commit = ci.merge()

    waiting = ci.tell()
    assert waiting.out.startswith(f"Pending    {CONTEXT} of {commit}: not carried out yet")
    assert ci.state.last_status(commit)[1] == "pending"

    done = ci.fleet.reconcile(6)
    ran = ci.tell()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"Success    {CONTEXT} of {commit}: as planned: 1 group"
    context, state, description = ci.state.last_status(commit)
    assert (context, state, description) == (CONTEXT, "success", "as planned: 1 group")
    (body,) = ci.state.bodies()
    assert body.startswith(f"{marker()}\n<!-- gitplacer:done -->\n### gitplacer: as planned: 1 group")
    assert f"Deployment commit: `{done.tip[:12] if done.tip else ''}`" in body
    assert "| + prod/new |" in body

    writes = len(ci.state.writes())
    assert ci.tell().out == ran.out
    assert len(ci.state.writes()) == writes, "what is told already is not written again"


@BOTH
def test_a_pass_that_did_otherwise_says_what_and_why(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ci.fleet.commit(rayservice("prod", "new"), "add new")
    ci.state.opened(sha=ci.head)
    ci.plan()
    planned = json.loads((ci.folder / "plan.json").read_text())
    (to,) = next(group["to"] for group in planned["groups"] if group["group"] == "prod/new")
    other = "b" if to == "a" else "a"
    ci.comment("--pull", "1")
    gone = {f"capacity/{path}": text for path, text in snapshot(to, "n1 1 1Gi 0").items()}
    ci.fleet.commit(gone, "capacity moved")
    commit = ci.merge()
    ci.fleet.reconcile(6)
    ran = ci.tell()
    words = f"differs: prod/new is on {other} instead of {to}; the capacity snapshots have changed since the plan"
    assert ran.out.splitlines()[0] == f"Failure    {CONTEXT} of {commit}: {words}"
    assert ci.state.last_status(commit)[1] in ("failure", "failed")
    assert f"| prod/new | {to} | {other} (Fits) | **differs** |" in ci.state.bodies()[0]


@BOTH
def test_an_update_that_a_pass_holds_back_is_not_told_as_planned(ci: Ci) -> None:
    """Its record stays as it is, and names the clusters that the plan named."""
    hold = policy("anywhere", "select: {}\nupdate: {ifNotFit: Hold}")
    ci.fleet.commit({**hold, **rayservice("prod", "app")}, "hold updates")
    ci.fleet.reconcile(5)
    newer = {path: text.replace("image: ray,", "image: newer,") for path, text in rayservice("prod", "api").items()}
    other = {path: text.replace("name: app,", "name: app, annotations: {seen: twice},") for path, text in rayservice("prod", "app").items()}  # fmt: skip
    ci.fleet.commit({**newer, **other}, "a newer image")
    ci.state.opened(sha=ci.head)
    ci.plan()
    planned = json.loads((ci.folder / "plan.json").read_text())["groups"]
    assert {each["group"]: each["action"] for each in planned} == {"prod/api": "Update", "prod/app": "Update"}
    (on,) = next(each["to"] for each in planned if each["group"] == "prod/api")
    ci.comment("--pull", "1")
    full = {f"capacity/{path}": text for name in "ab" for path, text in snapshot(name, "n1 4 8Gi 1").items()}
    ci.fleet.commit(full, "capacity moved")
    commit = ci.merge()
    ci.fleet.reconcile(6)
    told = f"prod/api is on {on} as it was, and was to be updated; the capacity snapshots have changed since the plan"
    assert ci.tell().out.splitlines()[:3] == [
        f"Failure    {CONTEXT} of {commit}: differs: {told}",
        f"  prod/api: NotUpdated, planned {on}, now {on}",
        f"  prod/app: AsPlanned, planned {on}, now {on}",
    ]
    assert f"| prod/api | {on} | {on} (Fits) | **not updated** |" in ci.state.bodies()[0]
    assert ci.state.last_status(commit)[1] in ("failure", "failed")


@BOTH
def test_what_waits_is_told_again_when_it_has_found_room(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ci.fleet.commit(rayjob("train", "big", workers=12), "add big")
    ci.state.opened(sha=ci.head)
    ci.plan()
    ci.comment("--pull", "1")
    commit = ci.merge()
    ci.fleet.reconcile(6)
    ran = ci.tell()
    assert ran.out.splitlines()[0] == f"Pending    {CONTEXT} of {commit}: waits: train/big; the rest is as planned"
    assert ci.tell().code == 0
    room = {f"capacity/{path}": text for path, text in snapshot("b", "n1 64 256Gi 16").items()}
    ci.fleet.commit(room, "more room")
    ci.fleet.reconcile(7)
    later = ci.tell("--rev", commit)
    assert "waits" in later.out, "the pass for this commit let it wait; the later commit has a status of its own"
    assert ci.tell().out.startswith(f"Success    {CONTEXT} of {ci.head}: carried out in 1 commit")


def test_a_pass_for_a_later_commit_has_carried_out_the_earlier_ones(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ci.fleet.commit(rayservice("prod", "new"), "add new")
    ci.state.opened(sha=ci.head)
    ci.plan()
    ci.comment("--pull", "1")
    commit = ci.merge()
    ci.fleet.commit(rayservice("prod", "newer"), "add newer")
    ci.fleet.reconcile(6)
    assert ci.tell("--rev", commit).out.startswith(f"Success    {CONTEXT} of {commit}: as planned: 1 group")


def test_a_commit_that_no_pull_request_brought_has_a_status_only(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ran = ci.tell()
    assert ran.code == 0
    assert "no pull request brought" in ran.err
    assert ci.state.last_status(ci.head)[2] == "carried out in 1 commit; no plan to compare with"
    assert ci.state.notes == []


def test_a_plan_can_be_given_where_no_comment_remembers_it(ci: Ci) -> None:
    ci.plan()
    ci.state.opened()
    ci.merge()
    ci.fleet.reconcile(5)
    ran = ci.tell("--plan", ci.folder / "plan.json")
    assert ran.out.splitlines()[0].endswith("as planned: 1 group")
    assert ci.state.bodies()[0].startswith(f"{marker()}\n<!-- gitplacer:done -->")


def test_a_plan_that_somebody_made_up_says_nothing_to_the_runner(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    group = {"group": "a/\n::stop-commands::x", "action": "Place", "to": ["\x1b[2J\n::add-mask::x", "b"]}
    made_up = ci.home / "plan.json"
    made_up.write_text(
        json.dumps({"kind": "Plan", "groups": [group, {**group, "group": "a/b", "to": [], "action": "\n::x"}]})
    )
    ran = ci.tell("--plan", made_up)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert not any(line.lstrip().startswith("::") for line in ran.out.splitlines())


def test_several_fleets_have_a_status_and_a_comment_each(ci: Ci) -> None:
    ci.plan()
    ci.state.opened()
    for fleet in ("east", "west"):
        ci.comment("--pull", "1", "--comment-id", fleet)
    ci.merge()
    ci.fleet.reconcile(5)
    ci.tell("--comment-id", "west")
    assert ci.state.last_status(ci.head)[0] == f"{CONTEXT}/west"
    assert ["gitplacer:done" in body for body in ci.state.bodies()] == [False, True]


# finding the pull request


@BOTH
def test_a_job_from_a_fork_finds_its_pull_request_by_commit_and_repository(ci: Ci) -> None:
    sha = "c" * 40
    hostile = {"title": "$(touch x)`id`", "body": "${{ secrets.X }}"}
    ci.state.opened("main", sha=sha, head_repo="mallory/fleet", **hostile)
    ci.state.opened("; rm -rf /", sha=sha, **hostile)
    ci.state.opened("old", sha=sha, state="closed")
    ci.plan()
    assert ci.comment("--head-sha", sha, "--head-repo", "Mallory/Fleet").out.startswith("Commented  #1:")
    assert ci.comment("--head-sha", sha, "--head-repo", "acme/fleet").out.startswith("Commented  #2:")
    ran = ci.comment("--head-sha", "d" * 40, "--head-repo", "acme/fleet")
    assert ran.code == 1
    assert ran.err == (
        "error[HostFailed]: acme/fleet has no open pull request whose head is dddddddddddd of acme/fleet\n"
        "  hint: it may be closed, or have a newer commit, which has a run of its own\n"
    )


def test_two_pull_requests_of_one_commit_have_to_be_told_apart(ci: Ci) -> None:
    for base in ("main", "release"):
        ci.state.opened(sha="c" * 40, base=base)
    ci.plan()
    ran = ci.comment("--head-sha", "c" * 40, "--head-repo", "acme/fleet")
    assert (ran.code, ran.out) == (1, "")
    assert "several pull requests of acme/fleet: 2 and 1" in ran.err
    assert "--pull" in ran.err


def test_a_late_job_does_not_overwrite_the_plan_of_a_newer_commit(ci: Ci) -> None:
    ci.state.opened(sha="c" * 40)
    ci.plan()
    ran = ci.comment("--pull", "1", "--head-sha", "d" * 40)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "the head of #1 is cccccccccccc by now, so this plan is not shown there\n"
    assert ci.state.notes == []


def test_a_comment_with_our_marker_by_somebody_else_promises_nothing(ci: Ci) -> None:
    ci.plan()
    ci.state.opened()
    ci.comment("--pull", "1")
    stolen = ci.state.bodies()[0]
    ci.state.notes.clear()
    ci.state.commented(1, stolen, OTHER)
    ci.merge()
    ci.fleet.reconcile(5)
    assert "no plan to compare with" in ci.tell().out
    assert ci.state.bodies()[0] == stolen
    assert len(ci.state.bodies()) == 2


# bad input


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "nobody said which pull request it is"),
        (("--head-sha", "c" * 40), "nobody said which pull request it is"),
        (("--head-sha", "--x", "--head-repo", "a/b"), "is not the id of a commit"),
        (("--pull", "7"), "(404)"),
        (("--pull", "0"), "Invalid value for '--pull'"),
    ],
)
def test_each_mistake_is_told_with_a_remedy(ci: Ci, args: tuple[str, ...], message: str) -> None:
    ci.state.opened()
    ci.folder.mkdir()
    (ci.folder / "plan-1.md").write_text("x")
    (ci.folder / "plan.json").write_text('{"kind": "Plan", "groups": []}')
    ran = ci.comment(*args)
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err
    assert "\n  hint: " in ran.err
    assert ci.state.writes() == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("plan-1.txt", b"x", "has no pages"),
        ("plan-1.md", b"\xff", "is not UTF-8"),
        ("plan-1.md", b"x" * 4_000_001, "4000001 bytes"),
        ("plan.json", b"{}", "is no plan"),
        ("plan.json", b"[" * 100_000, "is no plan"),
    ],
)
def test_files_that_are_no_pages_are_refused(ci: Ci, name: str, content: bytes, message: str) -> None:
    ci.state.opened()
    ci.folder.mkdir()
    if name == "plan.json":
        (ci.folder / "plan-1.md").write_text("x")
    (ci.folder / name).write_bytes(content)
    ran = ci.comment("--pull", "1")
    assert ran.code == 1
    assert message in ran.err
    assert ci.state.writes() == []


def test_a_link_among_the_pages_publishes_nothing(ci: Ci, tmp_path: Path) -> None:
    ci.state.opened()
    ci.folder.mkdir()
    (tmp_path / "secret").write_text("secret")
    (ci.folder / "plan-1.md").symlink_to(tmp_path / "secret")
    ran = ci.comment("--pull", "1")
    assert (ran.code, "is no plain file" in ran.err) == (1, True)
    assert ci.state.writes() == []


def test_the_tenth_page_comes_after_the_second(ci: Ci) -> None:
    ci.state.opened()
    ci.plan()
    for number in (10, 2, 1):
        (ci.folder / f"plan-{number}.md").write_text(f"page {number}")
    ci.comment("--pull", "1")
    assert [body.split("\n")[1] for body in ci.state.bodies()] == ["page 1", "page 2", "page 10"]


def test_what_the_host_refuses_is_told_without_the_token(ci: Ci) -> None:
    ci.state.opened()
    ci.plan()
    ci.state.troubles.append(Trouble(401, body={"message": f"Bad credentials {TOKEN}"}))
    ran = ci.comment("--pull", "1")
    assert ran.code == 1
    assert "Bad credentials ***" in ran.err
    assert "hint: the token is wrong" in ran.err
    assert TOKEN not in ran.out + ran.err


@BOTH
def test_in_a_job_of_the_host_its_environment_says_where(ci: Ci, monkeypatch: pytest.MonkeyPatch) -> None:
    ci.state.opened()
    ci.plan()
    assert "nobody said which host" in ci.run("comment", "--pages", ci.folder, "--pull", "1").err
    flag, repo = {"github": ("GITHUB_ACTIONS", "GITHUB_REPOSITORY"), "gitlab": ("GITLAB_CI", "CI_PROJECT_PATH")}[
        ci.name
    ]
    monkeypatch.setenv(flag, "true")
    assert "nobody said which repository" in ci.run("comment", "--pages", ci.folder, "--pull", "1").err
    monkeypatch.setenv(repo, "acme/fleet")
    assert ci.run("comment", "--pages", ci.folder, "--pull", "1").code == 0


def test_a_draining_cluster_is_promised_and_told(ci: Ci) -> None:
    ci.fleet.reconcile(5)
    ci.fleet.commit(cluster("a", state="Draining"), "drain a")
    ci.state.opened(sha=ci.head)
    ci.plan()
    ci.comment("--pull", "1")
    ci.merge()
    ci.fleet.reconcile(6)
    assert "prod/api: AsPlanned, planned b, now b" in ci.tell().out
