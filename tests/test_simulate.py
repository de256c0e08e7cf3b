"""`gitplacer simulate`: what it prints, what it refuses, and that nobody who runs it changes the answer."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitplacer.cli import simulate
from gitplacer.formats.options import Options
from gitplacer.formats.simulation import many_text, one_text, simulation_json
from gitplacer.model.fates import Fate, GroupFate, Supposed
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.runners import Told
from gitplacer.runners.processes import in_processes
from gitplacer.settings import UsageError
from gitplacer.source.files import InMemory
from gitplacer.whatif import LoseCluster
from gitplacer.whatif.ground import Ground, suppose
from gitplacer.whatif.losses import Losses
from tests.commands import NOW, make_repo, run
from tests.planviews import assert_golden
from tests.stories import ANYWHERE, Story, cluster, rayjob, rayservice, snapshot

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "fleet-repo-example"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))


def three() -> Story:
    return Story.of(
        cluster("a", labels="{tier: x}"), cluster("b", labels="{tier: x}"), cluster("c"), ANYWHERE,
        rayservice("web", "shop", workers=2), rayservice("web", "blog", workers=1), rayjob("jobs", "train", workers=1),
        capacity={k: v for n, g in (("a", 2), ("b", 2), ("c", 1)) for k, v in snapshot(n, f"n1 32 128Gi {g}").items()},
    )  # fmt: skip


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    story = three()
    return make_repo(tmp_path / "fleet", {**story.source, **{f"capacity/{k}": v for k, v in story.capacity.items()}})


def test_the_loss_of_a_cluster_tells_services_apart_from_jobs() -> None:
    story = three()
    story.run()
    ground = Ground.of(story.inputs(), InMemory())
    text = one_text(suppose(ground, LoseCluster("b"), with_candidates=True)[0], Options())
    assert_golden("simulate-lose.txt", text)


def test_losing_every_cluster_is_a_table_with_the_worst_on_top() -> None:
    story = three()
    story.run()
    losses = Losses(Ground.of(story.inputs(), InMemory()))
    assert_golden("simulate-every-cluster.txt", many_text([losses((name,)) for name in "abc"], Options()))


def test_the_table_of_very_many_losses_has_an_end() -> None:
    gone = GroupFate(
        group="jobs/train", fate=Fate.MOVES, serves=False, policy="p", before=("a",), after=("b",), code="Fits", why=""
    )
    found = [Supposed(title=f"losing cluster {number}", fates=(gone,) * (number + 1)) for number in range(1200)]
    lines = many_text(found, Options()).splitlines()
    assert lines[1].split()[:4] == ["losing", "cluster", "1199", "1200"]
    assert lines[101:103] == ["and 1,100 more that cost no more than these; --all shows them", ""]
    assert len(many_text(found, Options(verbose=True)).splitlines()) == len(lines) + 1100 - 1


def test_who_asks_for_very_many_losses_hears_it_before(
    repo: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate, "_MANY", 2)
    said = "6 losses are to be planned, each in a part of a second to some seconds; --among with labels asks for fewer"
    assert said in run(capfd, "simulate", "--every-cluster", "--pairs", "--runner", "local", "--now", NOW, repo).err
    assert said not in run(capfd, "simulate", "--lose", "a", "--now", NOW, repo).err


def test_the_command_says_the_same_for_people_and_for_programs(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "simulate", "--lose", "a", "--now", NOW, repo)
    assert ran.code == 0
    assert "no --deployment given, so the fleet is taken as the first pass would place it" in ran.err
    last = ran.out.splitlines()[-1]
    told = json.loads(run(capfd, "simulate", "--lose", "a", "--format", "json", "--now", NOW, repo).out)
    assert told["kind"] == "Simulation"
    [result] = told["results"]
    assert result["title"] == "losing cluster a"
    assert last.startswith("losing cluster a: ")
    assert sum(result["summary"].values()) == len(result["groups"])
    assert {group["from"][0] for group in result["groups"]} == {"a"}


def test_what_options_suppose_holds_together_and_before_clusters_are_lost(
    repo: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    [made], [seen] = cluster("d").values(), snapshot("d", "n1 64 256Gi 8").values()
    (tmp_path / "d.yaml").write_text(f"{made}---\n{seen}")
    asked = ("simulate", "--every-cluster", "--format", "json", "--now", NOW)
    without = json.loads(run(capfd, *asked, repo).out)["results"]
    with_it = json.loads(run(capfd, *asked, "--add", tmp_path / "d.yaml", repo).out)["results"]
    assert [item["clusters"] for item in without] == [["a"], ["b"], ["c"]]
    assert [item["clusters"] for item in with_it] == [["a"], ["b"], ["c"], ["d"]]
    assert sum(item["summary"]["Stranded"] for item in without) > 0
    assert sum(item["summary"]["Stranded"] for item in with_it) == 0


def test_pairs_are_lost_among_the_clusters_that_a_selector_takes(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ("simulate", "--pairs", "--format", "json", "--now", NOW)
    every = json.loads(run(capfd, *asked, repo).out)["results"]
    some = json.loads(run(capfd, *asked, "--among", "tier=x", repo).out)["results"]
    assert [item["clusters"] for item in every] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert some == every[:1]


def test_workloads_are_added_where_their_namespace_says(
    repo: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    [text] = rayservice("x", "huge", workers=40).values()
    (tmp_path / "huge.yaml").write_text(text)
    ran = run(capfd, "simulate", "--add", tmp_path / "huge.yaml", "--now", NOW, repo)
    assert ran.code == 1
    assert "huge.yaml: RayService huge has no namespace" in ran.err
    assert "hint: say where the file would be in the source: --add workloads/<namespace>/huge.yaml=" in ran.err
    ran = run(capfd, "simulate", "--add", f"workloads/new/huge.yaml={tmp_path / 'huge.yaml'}", "--fail-on", "waiting", "--now", NOW, repo)  # fmt: skip
    assert (ran.code, ran.err.splitlines()[-1]) == (3, "failed on: waiting")
    assert "new/huge  Waits" in ran.out
    (tmp_path / "huge.yaml").write_text(text.replace("name: huge,", "name: huge, namespace: new,"))
    again = run(capfd, "simulate", "--add", tmp_path / "huge.yaml", "--now", NOW, repo)
    assert again.out == ran.out


WHATIF = """\
apiVersion: gitplacer.dev/v1alpha1
kind: WhatIf
metadata: {name: one}
spec:
  title: More shops, and no b
  suppose:
  - replicas: {group: web/blog, times: 2}
  - lose: b
---
apiVersion: gitplacer.dev/v1alpha1
kind: WhatIf
metadata: {name: two}
spec: {title: Nothing new on c, suppose: [{cordon: c}]}
"""


def test_a_file_of_what_ifs_is_asked_one_by_one(repo: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(WHATIF)
    ran = run(capfd, "simulate", "--scenario", tmp_path / "w.yaml", "--format", "json", "--now", NOW, repo)
    assert [item["title"] for item in json.loads(ran.out)["results"]] == ["More shops, and no b", "Nothing new on c"]
    (tmp_path / "w.yaml").write_text(
        WHATIF.replace("lose: b", "loose: b").replace("[{cordon: c}]", "[{cordon: c, lose: b}]")
    )
    ran = run(capfd, "simulate", "--scenario", tmp_path / "w.yaml", "--now", NOW, repo)
    assert ran.code == 1
    assert "w.yaml:8:5:" in ran.err
    assert 'did you mean "lose"?' in ran.err
    assert "needs exactly one of lose, drain, cordon, add, remove, replicas, price" in ran.err
    (tmp_path / "w.yaml").write_text("nodeTypes: 3\n---\nkind: Pod\n")
    ran = run(capfd, "simulate", "--scenario", tmp_path / "w.yaml", "--now", NOW, repo)
    assert ran.code == 1
    assert "w.yaml:1:1: this has no kind, so it is no WhatIf" in ran.err
    assert "w.yaml:3:7: a Pod is no WhatIf" in ran.err


@pytest.mark.parametrize(
    ("args", "said", "hint"),
    [
        ([], "nothing is supposed", "give --lose"),
        (["--lose", "aa"], 'there is no cluster "aa"', 'did you mean "a"?'),
        (["--replicas", "web/shop"], "--replicas web/shop is no replica count", "research/train=8"),
        (["--replicas", "web/shop=1.5"], "--replicas web/shop=1.5 is no replica count", "research/train=1.5x"),
        (["--replicas", "web/shp=2"], 'there is no group "web/shp"', 'did you mean "web/shop"?'),
        (["--price", "a=1"], "--price a=1 is no price", "dynamic-cluster/g4dn.2xlarge=0.5"),
        (["--processes", "2", "--lose", "a"], "--processes is for --every-cluster, --pairs and --scenario", "add one"),
        (["--among", "tier=x", "--lose", "a"], "--among is for --every-cluster and --pairs", "add one of them"),
        (["--pairs", "--runner", "local", "--processes", "2"], "--processes is for --runner processes", "leave it out"),
        (["--pairs", "--ray-address", "h:1", "--processes", "2"], "for a Ray cluster that is started here", "leave it"),
        (["--pairs", "--ray-address", "h:1", "--runner", "local"], "--ray-address is not for --runner local", "leave"),
        (["--pairs", "--runner", "rya"], "'rya' is not one of", "--help"),
        (["--every-cluster", "--among", "tier=y"], "no cluster is selected", "--among takes labels"),
        (["--every-cluster", "--scenario", "x"], "--scenario is asked by itself", "leave out"),
        (["--add", "nothing.yaml"], "nothing.yaml: No such file or directory", "give a file with manifests"),
        (["--fail-on", "strandet", "--lose", "a"], '"strandet" is none of', "--help"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint(
    repo: Path, capfd: pytest.CaptureFixture[str], args: list[str], said: str, hint: str
) -> None:
    ran = run(capfd, "simulate", *args, "--now", NOW, repo)
    assert ran.code == 1
    assert ran.out == ""
    assert said in ran.err
    assert hint in ran.err


def test_a_title_and_a_reason_that_others_wrote_are_one_harmless_line() -> None:
    bad = GroupFate(
        group="a/b\x1b[2J", fate=Fate.STRANDED, serves=True, policy="p", before=("x",), after=(), code="c", why="w"
    )
    text = one_text(Supposed(title="t", fates=(bad,)), Options()) + simulation_json(
        [Supposed(title="t", fates=(bad,))], {}
    )
    assert "\x1b" not in text


@contextlib.contextmanager
def silence() -> Iterator[Told]:
    yield lambda done: None


def test_the_number_of_processes_changes_nothing() -> None:
    story = three()
    memo = InMemory()
    losses = Losses(Ground.of(story.inputs(), memo))
    asked = [*((name,) for name in "abc"), ("a", "b"), ("a", "c"), ("b", "c")]
    alone = in_processes(losses, asked, 1, silence)
    assert in_processes(losses, asked, 2, silence) == alone == [losses(loss) for loss in asked]


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_is_told_up_to_the_end(processes: int) -> None:
    told: list[int] = []

    @contextlib.contextmanager
    def telling() -> Iterator[Told]:
        yield told.append

    assert in_processes(abs, range(-10, 0), processes, telling) == list(range(10, 0, -1))
    assert len(told) > 1 and told == sorted(set(told)) and told[-1] == 10


def test_what_goes_wrong_in_a_process_is_raised_here() -> None:
    def ask(number: int) -> int:
        if number == 7:
            raise ValueError("seven")
        return number

    for processes in (1, 2):
        with pytest.raises(ValueError, match="seven"):
            in_processes(ask, range(20), processes, silence)


def test_problems_and_hints_come_whole_from_a_process() -> None:
    problem = Problem(Location("clusters/a.yaml", 3, 4), "InvalidValue", "is wrong", "mend it")

    def ask(number: int) -> int:
        raise Rejected([problem]) if number < 9 else UsageError("no", "do this")

    with pytest.raises(Rejected) as refused:
        in_processes(ask, range(8), 2, silence)
    assert refused.value.problems == (problem,)
    with pytest.raises(UsageError) as misused:
        in_processes(ask, range(10, 18), 2, silence)
    assert misused.value.hint == "do this"


def test_without_ray_the_extra_is_named(
    repo: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ran = run(capfd, "simulate", "--every-cluster", "--runner", "ray", "--now", NOW, repo)
    assert (ran.code, ran.out) == (1, "")
    assert "error: --runner ray needs Ray, which is not installed" in ran.err
    assert "hint: pip install 'gitplacer[ray]'" in ran.err


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "127.0.0.1:x"])
def test_where_no_ray_cluster_listens_it_is_said_at_once(
    repo: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    ran = run(capfd, "simulate", "--every-cluster", "--ray-address", address, "--now", NOW, repo)
    assert (ran.code, ran.out) == (1, "")
    assert address in ran.err
    assert "hint: --ray-address takes what RAY_ADDRESS takes: host:port" in ran.err


@pytest.mark.slow
def test_the_benchmark_of_losses_prints_its_rows() -> None:
    size = ["--gangs", "8", "--clusters", "3", "--nodes", "12", "--runs", "1"]
    command = [sys.executable, "-m", "benchmarks.sweep", *size]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == [
        "work",
        "one pass that changes nothing",
        "as many passes as clusters, on these processes",
        "the loss of every cluster",
        "the same, in seconds of a processor",
    ]


def test_an_addition_that_is_wrong_is_not_told_as_fine(
    repo: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    twin = next(path for path in sorted(repo.rglob("*.yaml")) if "kind: RayJob" in path.read_text())
    asked = ("simulate", "--add", f"workloads/jobs/twin.yaml={twin}", "--now", NOW)
    lines = run(capfd, *asked, repo).out.splitlines()
    assert "Errors" in lines
    assert any("twin.yaml" in line for line in lines)
    [result] = json.loads(run(capfd, *asked, "--format", "json", repo).out)["results"]
    assert {problem["severity"] for problem in result["problems"]} == {"error"}
    assert lines[-1].endswith(f"; it brings {len(result['problems'])} errors")
    swept = (*asked, "--every-cluster", "--processes", "1")
    on_top = run(capfd, *swept, repo).out.splitlines()
    assert on_top[0] == f"On top of: {result['title']}, which brings errors:"
    assert lines[lines.index("Errors") + 1 : lines.index("Errors") + 3] == on_top[1:3]
    told = json.loads(run(capfd, *swept, "--format", "json", repo).out)
    assert told["givenProblems"] == result["problems"] != []


def test_a_sweep_says_what_else_is_supposed(repo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ("simulate", "--every-cluster", "--now", NOW)
    assert run(capfd, *asked, "--lose", "a", repo).out.startswith("On top of: losing cluster a\n\nwhat if ")
    assert run(capfd, *asked, repo).out.startswith("what if ")
    told = json.loads(run(capfd, *asked, "--lose", "a", "--format", "json", repo).out)
    assert (told["given"], told["givenProblems"]) == ("losing cluster a", [])


def test_nothing_to_lose_is_said_as_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    none = make_repo(tmp_path / "none", Story.of(ANYWHERE).source)
    ran = run(capfd, "simulate", "--every-cluster", "--now", NOW, none)
    assert ran.code == 1 and "error: there is no cluster to lose" in ran.err and "--among" not in ran.err
    for asked in (("simulate", "--lose", "a"), ("drain", "a", "--diff")):
        ran = run(capfd, *asked, "--now", NOW, none)
        assert ran.code == 1
        assert ran.err.endswith(
            'there is no cluster "a"\n  hint: the fleet has no clusters yet; each is a file of kind Cluster\n'
        )
    one = make_repo(tmp_path / "one", Story.of(cluster("a"), ANYWHERE).source)
    ran = run(capfd, "simulate", "--pairs", "--now", NOW, one)
    assert ran.code == 1 and "error: there is no pair to lose: only a is there" in ran.err
