"""
`gitplacer move`, `return`, `suspend` and `resume`, with real repos: what they write, what they refuse, and what they leave alone.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.intents.patch import patch
from gitplacer.tree import Changes, Tree
from tests.commands import Ran, run
from tests.fleetrepos import START, Fleet, begun, made
from tests.gitservers import git
from tests.stories import cluster, policy, rayjob, rayservice, snapshot

NOW = "2026-01-02T03:10:00Z"
APPROVAL = "approvals/move-prod-api-to-b-20260102-031000.yaml"


@pytest.fixture(autouse=True)
def _somebody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ada@example.com")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def fleet(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return begun(placed, tmp_path_factory, tmp_path)


def placed(folder: Path) -> Fleet:
    """A service on a, of two clusters."""
    fleet = made(folder)
    fleet.reconcile(5)
    return fleet


class Shell:
    """Commands about one fleet."""

    def __init__(self, capfd: pytest.CaptureFixture[str], fleet: Fleet) -> None:
        self._capfd, self._fleet = capfd, fleet

    def __call__(self, *args: str, now: str = NOW, source: str | Path | None = None) -> Ran:
        where = ("--deployment", self._fleet.deployment, "--now", now)
        return run(self._capfd, *args, source or self._fleet.source, *where)


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str], fleet: Fleet) -> Shell:
    return Shell(capfd, fleet)


def head(fleet: Fleet, what: str = "HEAD") -> str:
    return git("rev-parse", what, cwd=fleet.source).strip()


def status(fleet: Fleet) -> str:
    return git("status", "--porcelain", cwd=fleet.source)


# move


def test_move_commits_an_approval_and_the_next_pass_moves_the_group(fleet: Fleet, shell: Shell) -> None:
    before = head(fleet)
    done = shell("move", "prod/api", "--to", "b", "--reason", "failover drill")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "prod/api moves from a to b: Approval move-prod-api-to-b-20260102-031000 sends it; b: fits",
        f"Committed  {head(fleet)} on branch main: Approve the move of prod/api to b",
        f"  {APPROVAL}",
    ]
    assert done.err.splitlines()[-1] == "Next: git push origin main; gitplacer reconcile carries it out"
    assert head(fleet, "HEAD~1") == before
    assert status(fleet) == ""  # the file lies in the work tree as well
    assert git("log", "-1", "--format=%an <%ae> %ct%n%B", cwd=fleet.source).splitlines()[:4] == [
        f"Ada <ada@example.com> {int(datetime.fromisoformat(NOW).timestamp())}",
        "Approve the move of prod/api to b",
        "",
        "failover drill",
    ]
    assert (fleet.source / APPROVAL).read_text() == (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata:\n  name: move-prod-api-to-b-20260102-031000\nspec:\n"
        '  groups:\n  - prod/api\n  action: Move\n  to: b\n  expires: "2026-01-03T03:10:00Z"\n  reason: "failover drill"\n'
    )
    fleet.reconcile(11)
    assert "clusters/b/workloads/prod/api/api.yaml" in fleet.files()
    assert "Relocate prod/api from a to b" in fleet.git("log", "--format=%s", "main")


def test_an_approval_moves_once(fleet: Fleet, shell: Shell) -> None:
    shell("move", "prod/api", "--to", "b")
    fleet.reconcile(11)
    shell("return", "prod/api", now="2026-01-02T03:12:00Z")
    fleet.reconcile(13)
    assert fleet.reconcile(14).tip is None
    assert "clusters/a/workloads/prod/api/api.yaml" in fleet.files()


@pytest.mark.parametrize("more", [(), ("--diff",), ("--branch", "main")], ids=lambda more: " ".join(more) or "commit")
def test_what_is_approved_already_is_not_approved_again(more: tuple[str, ...], fleet: Fleet, shell: Shell) -> None:
    assert shell("move", "prod/api", "--to", "b").code == 0
    before = head(fleet)
    done = shell("move", "prod/api", "--to", "b", *more, now="2026-01-02T03:11:00Z")
    assert (done.code, done.out, head(fleet)) == (0, "", before)
    assert done.err.splitlines()[-2:] == [
        "prod/api moves from a to b: Approval move-prod-api-to-b-20260102-031000 sends it; b: fits",
        "It is approved already, until 2026-01-03T03:10:00Z: gitplacer reconcile carries it out once it is pushed; "
        f"{APPROVAL} may get a later `expires`",
    ]
    assert shell("move", "prod/api", "--to", "b", now="2026-01-03T03:10:00Z").code == 0  # that one has ended
    assert head(fleet, "HEAD~1") == before


def test_a_return_that_is_approved_already_is_not_approved_again(fleet: Fleet, shell: Shell) -> None:
    assert shell("move", "prod/api", "--to", "b").code == 0
    fleet.reconcile(11)
    assert shell("return", "prod/api", now="2026-01-02T04:00:00Z").code == 0
    before = head(fleet)
    done = shell("return", "prod/api", now="2026-01-02T04:01:00Z")
    assert (done.code, done.out, head(fleet)) == (0, "", before)
    assert "It is approved already, until 2026-01-03T04:00:00Z: " in done.err


def test_return_goes_back_to_where_the_record_says_it_came_from(fleet: Fleet, shell: Shell) -> None:
    shell("move", "prod/api", "--to", "b")
    fleet.reconcile(11)
    done = shell("return", "prod/api", now="2026-01-02T03:12:00Z")
    assert done.code == 0, done.err
    assert done.out.startswith("prod/api moves from b to a")
    assert "Approve the return of prod/api" in done.out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("move", "prod/nope", "--to", "b"), 'there is no group "prod/nope"'),
        (("move", "prod/api", "--to", "c"), "there is no cluster c"),
        (("move", "prod/api", "--to", "a"), "prod/api is on a already"),
        (("move", "prod/api", "--to", "b", "--expires-in", "0h"), "allows nothing"),
        (("move", "prod/api", "--to", "b", "--expires-in", "30d1m"), "more than 30 days does not count"),
        (("move", "prod/api", "--to", "b", "--expires-in", "soon"), '"soon" is not a time'),
        (("move", "prod/api", "--to", "b", "--diff", "--branch", "x"), "--diff prints a patch"),
        (("move", "prod/api", "--to", "b", "--rev", "main"), "--rev is for --diff"),
        (("move", "prod/api", "--to", "b", "--branch", "a..b"), "cannot be the name of a branch"),
        (("return", "prod/api"), "prod/api has nowhere to return to"),
    ],
)
def test_what_cannot_be_approved_is_refused_with_the_reason(
    fleet: Fleet, shell: Shell, args: tuple[str, ...], said: str
) -> None:
    before = head(fleet)
    done = shell(*args)
    assert done.code == 1
    assert said in done.err
    assert (head(fleet), status(fleet), done.out) == (before, "", "")


def test_a_group_that_never_moved_cannot_return_though_it_is_about_to_leave(fleet: Fleet, shell: Shell) -> None:
    fleet.commit(cluster("a", state="Draining"))
    before = head(fleet)
    done = shell("return", "prod/api")
    assert (done.code, head(fleet)) == (1, before)
    assert "prod/api has nowhere to return to: its record knows of no relocation" in done.err


def test_a_return_is_refused_where_the_group_goes_elsewhere(fleet: Fleet, shell: Shell) -> None:
    shell("move", "prod/api", "--to", "b")
    fleet.reconcile(11)
    third = {f"capacity/{path}": text for path, text in snapshot("c", "n1 64 256Gi").items()}
    fleet.commit(cluster("a", state="Cordoned") | cluster("b", state="Draining") | cluster("c") | third)
    done = shell("return", "prod/api", now="2026-01-02T03:12:00Z")
    assert done.code == 1
    assert "error: prod/api cannot go to a: is cordoned" in done.err
    fleet.commit({}, remove=("clusters/a.yaml",))
    done = shell("return", "prod/api", now="2026-01-02T03:12:00Z")
    assert done.code == 1
    assert "error: prod/api has no one cluster to return to: a is no cluster of this fleet any more" in done.err


def test_a_move_to_where_it_does_not_fit_is_refused_by_that_clusters_reason(fleet: Fleet, shell: Shell) -> None:
    small = {f"capacity/{path}": text for path, text in snapshot("b", "n1 1 2Gi").items()}
    fleet.commit(small)
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 1
    assert done.err.splitlines()[0].startswith("error: prod/api cannot go to b: ")
    assert "short" in done.err


def test_a_move_to_where_it_may_not_be_is_refused(fleet: Fleet, shell: Shell) -> None:
    fleet.commit(policy("anywhere", "select: {}\nclusters: {names: [a]}"))
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 1
    assert "error: prod/api cannot go to b: the policy asks for name=a" in done.err


def test_a_job_that_may_have_started_is_not_moved_by_consent(fleet: Fleet, shell: Shell) -> None:
    fleet.commit(rayjob("jobs", "train"))
    fleet.reconcile(6)
    done = shell("move", "jobs/train", "--to", "b")
    assert done.code == 1
    assert "may have started there" in done.err


def test_an_approval_that_would_lie_among_workloads_is_refused(fleet: Fleet, shell: Shell) -> None:
    text = (
        (fleet.source / "fleet.yaml")
        .read_text()
        .replace("spec: {}", 'spec: {source: {include: ["workloads/**", "approvals/**"]}}')
    )
    assert "include" in text
    fleet.commit({"fleet.yaml": text})
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 1
    assert "the Approval would be refused: " in done.err
    assert status(fleet) == ""


def test_an_approval_with_a_reason_that_is_too_long_is_refused_by_that(fleet: Fleet, shell: Shell) -> None:
    done = shell("move", "prod/api", "--to", "b", "--reason", "because " * 100)
    assert done.code == 1
    assert "the Approval would be refused: spec.reason" in done.err
    assert status(fleet) == ""


# where a commit goes


def test_another_branch_is_written_and_the_work_tree_is_not(fleet: Fleet, shell: Shell) -> None:
    before = head(fleet)
    (fleet.source / "fleet.yaml").write_text("half done {{")
    done = shell("move", "prod/api", "--to", "b", "--branch", "drill")
    assert done.code == 0, done.err
    assert "Next: git push origin drill" in done.err
    assert (head(fleet), head(fleet, "drill~1")) == (before, before)
    assert status(fleet) == " M fleet.yaml"
    again = shell("suspend", "prod/api", "--branch", "drill", now="2026-01-02T03:11:00Z")
    assert again.code == 0, again.err
    assert head(fleet, "drill~2") == before


def test_other_changes_in_the_work_tree_stay_and_are_not_committed(fleet: Fleet, shell: Shell) -> None:
    (fleet.source / "notes.txt").write_text("mine\n")
    (fleet.source / "workloads/prod/api.yaml").write_text("half done {{")
    (fleet.source / "staged.txt").write_text("staged\n")
    git("add", "staged.txt", cwd=fleet.source)
    before = status(fleet)
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 0, done.err
    assert status(fleet) == before
    assert git("show", "--format=", "--name-only", "HEAD", cwd=fleet.source).split() == [APPROVAL]


@pytest.mark.parametrize("staged", [False, True])
def test_a_file_with_changes_of_its_own_is_not_written_over(fleet: Fleet, shell: Shell, staged: bool) -> None:
    path = fleet.source / "workloads/prod/api.yaml"
    before, text = head(fleet), path.read_text() + "# mine\n"
    path.write_text(text)
    if staged:
        git("add", ".", cwd=fleet.source)
    done = shell("suspend", "prod/api")
    assert done.code == 1
    assert "workloads/prod/api.yaml has changes that are not committed" in done.err
    assert (head(fleet), path.read_text()) == (before, text)


@pytest.mark.parametrize("command", ["suspend prod/api", "move prod/api --to b"])
@pytest.mark.parametrize("locked", ["index.lock", "refs/heads/main.lock"])
def test_what_cannot_be_written_to_the_end_is_taken_back(command: str, locked: str, fleet: Fleet, shell: Shell) -> None:
    """A branch that were ahead of the work tree would have the next commit of somebody undo it unseen. Somebody's git is at work here."""
    before, files = head(fleet), {path: path.read_bytes() for path in fleet.source.glob("*/**/*.yaml")}
    lock = fleet.source / ".git" / locked
    lock.touch()
    done = shell(*command.split())
    lock.unlink()
    assert (done.code, head(fleet), status(fleet)) == (1, before, "")
    assert {path: path.read_bytes() for path in fleet.source.glob("*/**/*.yaml")} == files
    assert shell(*command.split()).code == 0
    assert (head(fleet, "HEAD~1"), status(fleet)) == (before, "")


def test_a_link_in_the_way_is_not_followed(fleet: Fleet, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (fleet.source / "approvals").symlink_to(tmp_path / "outside")
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 1
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_branch_that_is_checked_out_elsewhere_is_refused(fleet: Fleet, shell: Shell, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"), cwd=fleet.source)
    done = shell("move", "prod/api", "--to", "b", "--branch", "other")
    assert done.code == 1
    assert "is checked out in" in done.err


def test_a_bare_source_takes_the_commit(fleet: Fleet, shell: Shell, tmp_path: Path) -> None:
    git("clone", "-q", "--bare", str(fleet.source), str(tmp_path / "bare.git"), cwd=tmp_path)
    done = shell("move", "prod/api", "--to", "b", source=tmp_path / "bare.git")
    assert done.code == 0, done.err
    assert git("show", "--format=", "--name-only", "main", cwd=tmp_path / "bare.git").split() == [APPROVAL]


def test_a_fleet_in_a_folder_is_written_in_its_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fleet = made(tmp_path)
    fleet.commit({f"teams/one/{path}": text for path, text in START.items()}, remove=tuple(START))
    top, fleet.source = fleet.source, fleet.source / "teams/one"
    fleet.reconcile(5)
    done = Shell(capfd, fleet)("move", "prod/api", "--to", "b")
    assert done.code == 0, done.err
    assert git("show", "--format=", "--name-only", "HEAD", cwd=top).split() == [f"teams/one/{APPROVAL}"]
    assert git("status", "--porcelain", cwd=top) == ""
    git("reset", "-q", "--hard", "HEAD~1", cwd=top)
    patched = Shell(capfd, fleet)("move", "prod/api", "--to", "b", "--diff", now="2026-01-02T03:11:00Z")
    git("apply", "-", cwd=top, input=patched.out.encode())
    assert (fleet.source / "approvals/move-prod-api-to-b-20260102-031100.yaml").exists()


def test_nobody_is_made_the_author_by_accident(fleet: Fleet, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nonexistent")
    done = shell("move", "prod/api", "--to", "b")
    assert done.code == 1
    assert "git does not know in whose name to commit" in done.err
    assert status(fleet) == ""


def test_a_patch_is_what_git_applies(fleet: Fleet, shell: Shell) -> None:
    before = head(fleet)
    done = shell("move", "prod/api", "--to", "b", "--diff")
    assert done.code == 0, done.err
    assert (head(fleet), status(fleet)) == (before, "")
    assert done.out.startswith(f"diff --git a/{APPROVAL} b/{APPROVAL}\nnew file mode 100644\n--- /dev/null\n")
    git("apply", "-", cwd=fleet.source, input=done.out.encode())
    assert status(fleet) == "?? approvals/"


_LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"\r", b"x\r", b"\xc3\xa9"]), max_size=12).map(b"\n".join)


@given(old=st.none() | _LINES, new=_LINES, name=st.sampled_from(["a.yaml", "d e/f.yaml", 'q"u.yaml', "é/x.yaml"]))
def test_any_patch_makes_git_write_those_bytes(
    old: bytes | None, new: bytes, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if old is None and not new:
        return
    folder = tmp_path_factory.mktemp("patch")
    git("init", "-q", ".", cwd=folder)
    (folder / name).parent.mkdir(exist_ok=True)
    if old is not None:
        (folder / name).write_bytes(old)
    made_of = patch(Tree.of({} if old is None else {name: old}), Changes({name: new}))
    if made_of:
        git("apply", "--whitespace=nowarn", "-", cwd=folder, input=made_of)
    assert (folder / name).read_bytes() == new


# suspend and resume


def member(name: str, text: str) -> dict[str, str]:
    return {f"workloads/apps/{name}.yaml": text}


def may_be_suspended(files: dict[str, str]) -> dict[str, str]:
    """A RayJob that KubeRay may delete the Ray cluster of."""
    return {
        path: text.replace("\nspec:\n", "\nspec:\n  shutdownAfterJobFinishes: true\n", 1)
        for path, text in files.items()
    }


POD = "template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}"
JOB = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: %s}}\nspec:\n  # as fast as it can\n  {POD.replace('spec: {', 'spec: {restartPolicy: Never, ')}\n"
DEPLOYMENT = f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: %s}}\nspec:\n  selector: {{matchLabels: {{app: x}}}}\n  {POD.replace('template: {', 'template: {metadata: {labels: {app: x}}, ')}\n"


def test_suspend_writes_one_line_and_the_app_keeps_its_place_without_room(fleet: Fleet, shell: Shell) -> None:
    before = (fleet.source / "workloads/prod/api.yaml").read_text()
    done = shell("suspend", "prod/api", "--reason", "budget")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "prod/api: RayService prod/api is suspended"
    after = (fleet.source / "workloads/prod/api.yaml").read_text()
    assert [line for line in after.splitlines() if line not in before.splitlines()] == ["  suspend: true"]
    assert after.replace("  suspend: true\n", "") == before
    hydration = fleet.reconcile(11).hydration
    assert "suspend: true" in fleet.git("show", "main:clusters/a/workloads/prod/api/api.yaml")
    assert hydration.snapshot.groups["prod/api"].gang == ()
    resumed = shell("resume", "prod/api", now="2026-01-02T03:12:00Z")
    assert resumed.code == 0, resumed.err
    assert "  suspend: false\n" in (fleet.source / "workloads/prod/api.yaml").read_text()
    assert fleet.reconcile(13).hydration.snapshot.groups["prod/api"].gang != ()


def test_files_with_several_objects_are_edited_in_each(fleet: Fleet, shell: Shell) -> None:
    two = (JOB % "one") + "---\n" + (JOB % "two").replace("\n", "\r\n") + "---\n" + (DEPLOYMENT % "three")
    fleet.commit(member("all", two))
    done = shell("suspend", "apps/*")
    assert done.code == 0, done.err
    assert done.out.splitlines()[:3] == [
        "apps/one: Job apps/one is suspended",
        "apps/three: Deployment apps/three cannot be suspended: its kind has no field for that",
        "apps/two: Job apps/two is suspended",
    ]
    text = (fleet.source / "workloads/apps/all.yaml").read_bytes().decode()
    assert text.count("suspend: true") == 2
    assert text.replace("  suspend: true\r\n", "").replace("  suspend: true\n", "") == two


@pytest.mark.parametrize(
    ("args", "groups"),
    [
        (("*/*",), ["apps/one", "jobs/train", "prod/api", "prod/web"]),
        (("prod/*",), ["prod/api", "prod/web"]),
        (("prod/api,apps/*",), ["apps/one", "prod/api"]),
        (("*/*", "--namespace", "prod"), ["prod/api", "prod/web"]),
        (("*/*", "--namespace", "apps", "--namespace", "j*"), ["apps/one", "jobs/train"]),
        (("*/*", "--selector", "tier=gold"), ["prod/web"]),
        (("*/*", "--selector", "tier"), ["prod/web"]),
        (("prod/*", "--selector", "!tier"), ["prod/api"]),
        (("prod/*", "--selector", "tier!=gold"), ["prod/api"]),
        (("*/*", "--selector", "tier in (gold, silver),team=web"), ["prod/web"]),
        (("prod/*", "--selector", "tier notin (gold)"), ["prod/api"]),
        (("*/*", "--policy", "jobs"), ["jobs/train"]),
        (("*/*", "--policy", "jo*", "--namespace", "prod"), []),
    ],
)
def test_groups_are_selected_by_every_condition(
    fleet: Fleet, shell: Shell, args: tuple[str, ...], groups: list[str]
) -> None:
    fleet.commit(
        member("one", JOB % "one")
        | may_be_suspended(rayjob("jobs", "train"))
        | rayservice("prod", "web", labels="{tier: gold, team: web}")
        | policy("jobs", "select: {kinds: [RayJob]}\nprecedence: 1")
    )
    done = shell("suspend", *args)
    if groups:
        assert sorted({line.partition(":")[0] for line in done.out.splitlines() if " is suspended" in line}) == groups
    else:
        assert (done.code, "no group is selected" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("suspend", "prod/ap"), 'did you mean "prod/api"?'),
        (("suspend", "*/*", "--selector", "a=b=c"), "is no condition on a label"),
        (("suspend", "*/*", "--selector", "!a=b"), "is no condition on a label"),
        (("suspend", "apps/web"), "nothing of it can be suspended"),
    ],
)
def test_a_selection_that_leads_nowhere_is_refused(
    fleet: Fleet, shell: Shell, args: tuple[str, ...], said: str
) -> None:
    fleet.commit(member("web", DEPLOYMENT % "web"))
    before = head(fleet)
    done = shell(*args)
    assert done.code == 1
    assert said in done.err
    assert head(fleet) == before


def test_what_is_suspended_already_is_no_commit(fleet: Fleet, shell: Shell) -> None:
    shell("suspend", "prod/api")
    before = head(fleet)
    done = shell("suspend", "prod/api")
    assert (done.code, head(fleet)) == (0, before)
    assert done.err == "prod/api: RayService prod/api is suspended already\n"


def test_a_rayservice_is_not_suspended_where_kuberay_is_too_old_for_it(fleet: Fleet, shell: Shell) -> None:
    fleet.commit(cluster("a", profile="{kuberay: {version: 1.6.0}}"))
    done = shell("suspend", "prod/api")
    assert done.code == 1
    assert "would run on: on a that needs KubeRay 1.7" in done.err


def test_an_object_that_would_be_refused_is_not_written(fleet: Fleet, shell: Shell) -> None:
    """A RayJob is only suspended if KubeRay may delete its Ray cluster."""
    fleet.commit(rayjob("jobs", "train"))
    before = head(fleet)
    done = shell("suspend", "jobs/train")
    assert done.code == 1
    assert "suspend: true needs shutdownAfterJobFinishes: true" in done.err
    assert (head(fleet), done.out) == (before, "")


def test_a_job_on_a_ray_cluster_that_is_not_its_own_keeps_no_other_from_being_suspended(
    fleet: Fleet, shell: Shell
) -> None:
    job = (
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: features}\n"
        "spec: {entrypoint: python f.py, clusterSelector: {ray.io/cluster: pool}}\n"
    )
    pool = (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: pool}\nspec:\n  headGroupSpec:\n    rayStartParams: {}\n"
        "    template: {spec: {containers: [{name: c, image: ray, resources: {limits: {cpu: 1, memory: 2Gi}}}]}}\n"
    )
    fleet.commit(member("features", job) | member("pool", pool))
    done = shell("suspend", "apps/*")
    assert done.code == 0, done.err
    assert "RayJob apps/features cannot be suspended: it is refused beside clusterSelector" in done.out + done.err
    assert "  suspend: true\n" in (fleet.source / "workloads/apps/pool.yaml").read_text()
    assert "suspend" not in (fleet.source / "workloads/apps/features.yaml").read_text()


def test_a_declared_kind_is_suspended_by_the_field_its_declaration_names(fleet: Fleet, shell: Shell) -> None:
    jobset = (
        "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: set}\nspec:\n  replicatedJobs:\n"
        "  - name: w\n    replicas: 1\n    template: {spec: {template: {spec: {restartPolicy: Never, "
        "containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}\n"
    )
    fleet.commit(member("set", jobset))
    done = shell("suspend", "apps/set")
    assert done.code == 0, done.err
    assert "  suspend: true\n" in (fleet.source / "workloads/apps/set.yaml").read_text()
