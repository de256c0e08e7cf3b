"""`plan --base` with real repos: what a branch brings, for a terminal, for comments, for CI."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from gitplacer.cli.plan import FAILED_ON, WOULD_CHANGE
from gitplacer.explain import PlanView
from gitplacer.formats.markdown import marker
from gitplacer.model import verdicts
from gitplacer.passes import baselines, looking
from gitplacer.remedies.few import few_trials
from gitplacer.runners import meanwhile
from tests.commands import NOW, commit, git, make_bare, make_repo, run, starter, write
from tests.planviews import ROOT, assert_golden

GOLDEN = ROOT / "tests" / "golden" / "review"
BROKEN = "kind: RayJob\nmetadata: {name: x}\n"


def another(name: str, *, cpu: str = "1") -> dict[str, str]:
    """A RayCluster beside that of the starter."""
    text = starter()["workloads/hello/raycluster.yaml"].decode()
    made = re.sub(r"(?m)^  name: hello$", f"  name: {name}", text)
    return {f"workloads/hello/{name}.yaml": made.replace('cpu: "1", memory: 4Gi', f'cpu: "{cpu}", memory: 1Gi')}


@pytest.fixture
def fleet(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Path:
    """A small fleet on its branch main, placed; and a branch `change`, where nothing has changed yet."""
    repo = make_repo(tmp_path / "fleet", starter())
    bare = make_bare(tmp_path / "deployment.git")
    assert run(capfd, "reconcile", repo, "--deployment", bare, "--now", NOW).code == 0
    git(repo, "checkout", "-q", "-b", "change")
    return repo


def options(repo: Path) -> list[str]:
    return [str(repo), "--deployment", str(repo.parent / "deployment.git"), "--now", NOW, "--base", "main"]


def test_a_branch_that_adds_a_job_and_cordons_a_cluster_can_be_approved_from_its_comment(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = tmp_path / "fleet"
    shutil.copytree(ROOT / "fleet-repo-example", repo)
    git(repo, "init", "-q")
    git(repo, "add", "--all")
    git(repo, "commit", "-q", "-m", "Start")
    bare = make_bare(tmp_path / "deployment.git")
    assert run(capfd, "reconcile", repo, "--deployment", bare, "--now", NOW).code == 0
    git(repo, "checkout", "-q", "-b", "more-training")
    job = (repo / "workloads/rayjob1/rayjob-train.yaml").read_text()
    write(repo, {"workloads/rayjob4/rayjob-train.yaml": job})
    place = repo / "clusters/static-cluster.yaml"
    place.write_text(place.read_text().replace("state: Active", "state: Cordoned"))
    commit(repo, "Train more, and cordon static-cluster")
    where = [
        "--rev",
        "more-training",
        *options(repo),
        "--link-base",
        "https://git.example/acme/fleet/blob/more-training",
    ]
    comment = run(capfd, "plan", "--format", "markdown", *where)
    assert comment.code == 0
    named = re.sub(r"(source|deployment) [0-9a-f]{10}", r"\1 0000000000", comment.out)  # the example may change
    assert_golden("example.md", named, GOLDEN)
    document = json.loads(run(capfd, "plan", "--format", "json", *where).out)
    assert document["review"]["check"] == "NeedsALook"
    changed = {g["group"]: (g["action"], g["to"]) for g in document["groups"] if g["because"] == "Change"}
    assert changed == {"rayjob4/rayjob-train": ("Place", ["dynamic-cluster"])}


def test_a_branch_without_a_change_is_one_line(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "plan", *options(fleet)).out == "No change: 1 kept\n"
    assert run(capfd, "plan", "--exit-code", *options(fleet)).code == 0


def test_the_work_tree_is_held_against_a_branch(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(fleet, another("more"))  # not committed
    done = run(capfd, "plan", "--exit-code", *options(fleet))
    assert done.code == WOULD_CHANGE and "BECAUSE OF THIS CHANGE\nPlace\n  + hello/more" in done.out
    assert run(capfd, "plan", "--exit-code", "--rev", "change", *options(fleet)).code == 0


@pytest.mark.parametrize("with_base", [True, False])
def test_of_every_group_that_waits_all_is_told_where_all_is_asked(
    fleet: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, with_base: bool
) -> None:
    for module in (verdicts, looking):
        monkeypatch.setattr(module, "OF_WAITING", replace(verdicts.OF_ALL_WAITING, most=0))
    monkeypatch.setattr(verdicts, "OF_MANY", replace(verdicts.EVERY, most=0))
    write(fleet, {**another("huge", cpu="900"), **another("vast", cpu="901")})
    where = options(fleet) if with_base else options(fleet)[:-2]
    for output in ("text", "markdown"):
        few, all_ = (run(capfd, "plan", "--format", output, *more, *where).out for more in ((), ("--all",)))
        assert "f 1 more that wait" in few and "more that wait" not in all_
    told = json.loads(run(capfd, "plan", "--format", "json", *where).out)["groups"]
    each = [json.loads(line) for line in run(capfd, "plan", "--format", "json", "--all", *where).out.splitlines()[1:]]
    assert [bool(g["verdicts"]) for g in told if g["action"] == "Wait"] == [True, False]
    assert [bool(g["verdicts"]) for g in each if g["action"] == "Wait"] == [True, True]


def test_the_words_of_fail_on_concern_only_what_the_change_brings(
    fleet: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    git(fleet, "checkout", "-q", "main")
    write(fleet, {**another("huge", cpu="900"), "workloads/hello/broken.yaml": BROKEN})
    commit(fleet, "What waits and what is broken")
    git(fleet, "checkout", "-q", "-B", "change")
    write(fleet, another("more"))
    commit(fleet, "One more")
    words = ["--fail-on", "waiting,problems,relocated,removed,stale"]
    plain = run(capfd, "plan", *words, *options(fleet)[:-2])
    assert plain.code == FAILED_ON and "failed on: waiting, problems" in plain.err
    done = run(capfd, "plan", *words, *options(fleet))
    assert done.code == 0 and done.out.startswith("1 problem was there before; gitplacer validate shows it\n")
    write(fleet, {"workloads/hello/worse.yaml": BROKEN, **another("bigger", cpu="901")})
    (fleet / "workloads/hello/raycluster.yaml").unlink()
    (fleet / "workloads/hello/more.yaml").unlink()
    done = run(capfd, "plan", *words, *options(fleet))
    assert done.code == FAILED_ON
    assert done.err.endswith("failed on: waiting, problems, removed because of the change\n")


def test_a_base_that_went_on_is_named(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    git(fleet, "checkout", "-q", "main")
    write(fleet, another("newer"))
    commit(fleet, "Newer")
    git(fleet, "checkout", "-q", "change")
    out = run(capfd, "plan", *options(fleet)).out
    assert "main has commits that this branch lacks" in out and "Not any more\n    hello/newer  goes to" in out


def test_a_base_without_a_fleet_makes_everything_part_of_the_change(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    repo = make_repo(tmp_path / "fleet", {"README.md": "soon\n"})
    git(repo, "checkout", "-q", "-b", "change")
    write(repo, starter())
    commit(repo, "A fleet")
    for more in ([], ["--path", "."]):
        done = run(capfd, "plan", repo, "--base", "main", "--now", NOW, *more)
        assert done.code == 0 and "BECAUSE OF THIS CHANGE\nPlace\n  + hello/hello" in done.out
        assert "there is no plan of main, because it has no readable fleet" in done.err


def test_a_comment_is_written_as_pages_and_old_ones_go(
    fleet: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(fleet, another("more"))
    pages = tmp_path / "out" / "pages"
    write(pages, {"plan-7.md": "of an earlier run", "plan-b.md": "somebody's"})
    done = run(capfd, "plan", "--format", "markdown", "--pages", pages, "--comment-id", "eu", *options(fleet))
    assert done.out == f"{pages}/plan-1.md\n"
    assert sorted(path.name for path in pages.iterdir()) == ["plan-1.md", "plan-b.md"]
    assert (pages / "plan-1.md").read_text().startswith(marker("eu") + "\n")


def test_diffs_are_shown_in_text_when_asked(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = fleet / "workloads/hello/raycluster.yaml"
    path.write_text(path.read_text() + "# a word more\n")
    assert "+# a word more" not in run(capfd, "plan", *options(fleet)).out
    assert "+# a word more" in run(capfd, "plan", "--diff", *options(fleet)).out


@pytest.mark.parametrize(("given", "said", "hint"), [
    (["--base", "mian"], "has no revision mian", 'did you mean "main"?'),
    (["--base", "--upload-pack=x"], "cannot be the name of a branch", ""),
    (["--redact"], "--redact needs --base", "add --base"),
    (["--pages", "x"], "--pages is for --format markdown", "add --format markdown"),
    (["--link-base", "javascript:alert(1)"], "is no address to link to", "https://github.com/acme/fleet/blob/main"),
    (["--link-base", "https://x.example/a)b"], "is no address to link to", ""),
])  # fmt: skip
def test_what_cannot_be_used_is_said_with_what_can(
    fleet: Path, capfd: pytest.CaptureFixture[str], given: list[str], said: str, hint: str
) -> None:
    done = run(capfd, "plan", fleet, "--now", NOW, *given)
    assert done.code == 1 and said in done.err and hint in done.err and not done.out


def test_a_redacted_plan_shows_no_group_of_others(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(fleet, another("more"))
    for format_ in ("text", "markdown", "json"):
        out = run(capfd, "plan", "--all", "--redact", "--format", format_, *options(fleet)).out
        assert "hello/more" in out and "hello/hello" not in out


def test_the_link_base_may_come_from_the_environment(
    fleet: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITPLACER_LINK_BASE", "https://git.example/r/blob/abc/")
    write(fleet, another("more"))
    out = run(capfd, "plan", "--format", "json", *options(fleet)).out
    assert '"manifest": "https://git.example/r/blob/abc/workloads/hello/more.yaml#L' in out


def test_what_is_saved_is_whole_and_says_whether_it_may_be_merged(
    fleet: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(fleet, another("huge", cpu="900"))
    saved = tmp_path / "plan.json"
    assert run(capfd, "plan", "--redact", "--out", saved, *options(fleet)).code == 0
    document = json.loads(saved.read_text())
    assert document["review"]["check"] == "NeedsALook" and document["review"]["redacted"] is False
    assert {g["group"] for g in document["groups"]} == {"hello/hello", "hello/huge"} and document["fleet"]


def test_what_would_place_a_group_that_waits_is_shown_in_every_format_and_to_no_stranger(
    fleet: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(fleet, another("more"))
    cluster = fleet / "clusters/my-cluster.yaml"
    cluster.write_text(cluster.read_text().replace("state: Active", "state: Cordoned"))
    said = "what would place it: cluster my-cluster takes new groups again (clusters/my-cluster.yaml:"
    assert said in run(capfd, "plan", *options(fleet)).out
    comment = run(capfd, "plan", "--format", "markdown", *options(fleet)).out
    assert said.capitalize() in comment.replace("\u200b", "")
    document = json.loads(run(capfd, "plan", "--format", "json", *options(fleet)).out)
    [remedy] = document["review"]["remedies"]
    assert remedy["group"] == "hello/more" and remedy["ways"][0]["changes"][0]["kind"] == "Uncordon"
    for more in (
        ["--trials", "0"],
        ["--redact"],
        ["--redact", "--format", "markdown"],
        ["--redact", "--format", "json"],
    ):
        out = run(capfd, "plan", *more, *options(fleet)).out
        assert "hello/more" in out and "takes new groups again" not in out


def test_a_large_fleet_is_not_planned_again_for_what_waits() -> None:
    def fleet_of(groups: int, clusters: int) -> Any:
        view: Any = SimpleNamespace(plan=SimpleNamespace(decisions=range(groups)), clusters=range(clusters))
        view.size = cast(Any, PlanView).size.fget(view)
        return SimpleNamespace(view=view)

    assert [few_trials(fleet_of(*size)) for size in ((0, 0), (14, 7), (100, 20), (10_000, 200))] == [10, 10, 3, 0]


def test_links_begin_at_the_root_of_the_repository(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (fleet / "teams").mkdir()
    for each in ("fleet.yaml", "capacity", "clusters", "policies", "workloads"):
        git(fleet, "mv", each, "teams/")
    git(fleet, "commit", "-q", "-m", "Into a directory")
    address = "https://git.example/r/blob/abc"
    given = ("--rev", "change", "--base", "change~1", "--now", NOW, "--format", "json", "--link-base", address)
    out = run(capfd, "plan", *given, "--path", "teams", fleet).out
    assert f'"manifest": "{address}/teams/workloads/hello/raycluster.yaml#L' in out
    assert (
        f'"manifest": "{address}/teams/workloads/hello/raycluster.yaml#L'
        in run(capfd, "plan", *given, fleet / "teams").out
    )


def test_what_stops_a_redacted_plan_is_told_without_its_words(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cluster = fleet / "clusters/my-cluster.yaml"
    cluster.write_text(cluster.read_text().replace("spec:\n", "spec:\n  secret: 1\n", 1))
    whole = run(capfd, "plan", *options(fleet))
    assert whole.code == 1 and 'unknown field "secret"' in whole.err
    done = run(capfd, "plan", "--redact", *options(fleet))
    assert done.code == 1 and "clusters/my-cluster.yaml:" in done.err and "secret" not in done.err + done.out


def test_a_place_that_cannot_hold_the_plan_is_refused_before_there_is_one(
    fleet: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done = run(capfd, "plan", "--out", tmp_path / "none" / "plan.json", *options(fleet))
    assert done.code == 1 and not done.out
    assert done.err == (
        f"error: --out {tmp_path}/none/plan.json: there is no directory {tmp_path}/none\n"
        "  hint: make it first, or name another\n"
    )


def test_a_base_that_is_published_is_planned_once_for_all_branches(
    fleet: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str | None] = []
    whole = baselines.hydrate

    def counted(*args: Any, **kwargs: Any) -> Any:
        planned.append(None)
        return whole(*args, **kwargs)

    monkeypatch.setattr(baselines, "hydrate", counted)
    shown = []
    for name in ("one", "two", "one"):
        write(fleet, another(name))
        commit(fleet, f"Add {name}")
        shown.append(run(capfd, "plan", *options(fleet), "--format", "markdown").out)
        git(fleet, "reset", "-q", "--hard", "main")
    assert len(planned) == 1
    assert "hello/two" in shown[1]
    assert "hello/one" in shown[0] == shown[2]


def test_a_base_that_is_planned_meanwhile_says_the_same(
    fleet: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(fleet, another("one"))
    commit(fleet, "Add one")
    shown: list[str] = []
    started: list[object] = []
    whole = meanwhile.Meanwhile

    def begun(ask: Callable[[], bytes]) -> object:
        started.append(ask)
        return whole(ask, cores=2)

    monkeypatch.setattr(baselines, "Meanwhile", begun)
    monkeypatch.setattr(baselines, "recalled", lambda *asked: None)
    for fewest in (0, 10_000):
        monkeypatch.setattr(baselines, "FEWEST", fewest)
        shown.append(run(capfd, "plan", *options(fleet), "--format", "markdown").out)
    assert len(started) == 1
    assert shown[0] == shown[1] and "hello/one" in shown[0]
