"""Scenarios kept beside policies: what they are held against, what may be supposed, and what is told of them."""

from __future__ import annotations

import importlib.abc
import json
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from junitparser import JUnitXml

from gitplacer.formats import TEST_FORMATS
from gitplacer.formats.options import Options
from gitplacer.hydrate import hydrate
from gitplacer.model.trial import Failure, Report, Trial, TrialResult, TriedStep
from gitplacer.problems import Location, Problem, Severity
from gitplacer.scenarios import scripts_in
from gitplacer.scenarios.trials import mistaken, tried
from gitplacer.source.files import NoMemo
from gitplacer.tree import SYMLINK, Entry, Tree
from tests.commands import git, make_repo, run, write
from tests.stories import FLEET, Story, cluster, policy, rayjob, rayservice, snapshot

ROOT = Path(__file__).parent.parent
EAST, WEST = "{topology: east}", "{topology: west}"
SOURCE = {
    "fleet.yaml": FLEET,
    **cluster("a", region="us-west-2", labels="{class: prod}"),
    **cluster("b", region="us-east-2", labels="{class: prod}"),
    **cluster("c", region="us-west-2", labels="{class: dev}"),
    **policy("production", "select: {namespaces: [prod]}\nclusters: {matchLabels: {class: prod}}\nplacement: {type: Ordered, order: [{names: [b]}, {}]}"),
    **policy("development", "select: {namespaces: [dev]}\nclusters: {matchLabels: {class: dev}}"),
    **rayservice("prod", "shop"),
    **rayjob("dev", "train"),
    **{f"capacity/{path}": text for name in "abc" for path, text in snapshot(name, "n1 16 64Gi 4").items()},
}  # fmt: skip
APART = 'groups.all(p, p.policy != "production" || groups.all(d, d.policy != "development" || p.to.all(x, d.to.all(y, region(x) != region(y)))))'
SERVED = "groups.filter(g, g.members.exists(m, m.kind == 'RayService')).all(g, g.to.exists(c, !(c in lost)))"


def scenario(steps: str, given: str = "", name: str = "story") -> str:
    head = f"apiVersion: gitplacer.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  title: A story\n"
    given = f"  given: {given}\n" if given else ""
    return f"{head}{given}  steps:\n{textwrap.indent(textwrap.dedent(steps), '  ')}"


def trials(steps: str, given: str = "", more: dict[str, str] | None = None, file: str = "tests/story.yaml") -> Trial:
    """The outcome of a scenario that lies in the small fleet, or in what becomes of it."""
    files = {**SOURCE, **(more or {}), file: scenario(steps, given)}
    scripts, problems = scripts_in(tree(files), NoMemo())
    assert problems == []
    (script,) = [script for script in scripts if script.scenario.name == "story"]
    return mistaken(script) or tried(script, "test", NoMemo())


def tree(files: dict[str, str]) -> Tree:
    return Tree.of({path: text.encode() for path, text in files.items() if text})


def told(trial: Trial) -> list[str]:
    """What was not as expected, without file and line, and each with its first detail."""
    found = [failure for step in trial.steps for failure in step.failures]
    return [" | ".join([f.problem.message, *f.details[:1]]) for f in found] + [p.message for p in trial.broken]


def claim(text: str) -> str:
    return f"- title: One\n  expect: {{that: [{{cel: {json.dumps(text)}}}]}}\n"


# the three that a platform team begins with


def test_production_never_shares_a_region_with_development() -> None:
    assert trials(claim(APART)).verdict is TrialResult.PASSED
    moved = SOURCE["policies/production.yaml"].replace("[b]", "[a]")
    (failure,) = told(trials(claim(APART), more={"policies/production.yaml": moved}))
    assert failure == f"step 1: it is not true that {APART} | false for 1 of 2 in groups: prod/shop"


def test_losing_any_one_cluster_strands_no_serving_group() -> None:
    steps = f"""\
        - title: Placed
        - title: Any is lost
          suppose: {{loseEach: {{}}}}
          expect: {{that: [{{cel: {json.dumps(SERVED)}}}]}}
        """
    passed = trials(steps)
    assert (told(passed), passed.verdict, [step.passes for step in passed.steps]) == ([], TrialResult.PASSED, [1, 3])
    full = snapshot("a", "n1 1 1Gi 0")["a.yaml"]
    failed = trials(steps, more={"capacity/a.yaml": full})
    filtered = SERVED.partition(".all")[0]
    assert told(failed) == [
        f"step 2, without b: it is not true that {SERVED} | false for 1 of 1 in {filtered}: prod/shop"
    ]


def test_a_job_goes_where_a_snapshot_of_another_day_lets_it() -> None:
    more = {
        "policies/development.yaml": policy("development", "select: {namespaces: [dev]}")["policies/development.yaml"],
        "tests/friday/c.yaml": snapshot("c", "n1 1 1Gi 0")["c.yaml"],
        "tests/friday/a.yaml": snapshot("a", "n1 1 1Gi 0")["a.yaml"],
    }
    goes = "- title: One\n  expect: {decisions: {dev/train: {to: [b]}}}\n"
    assert told(trials(goes, "{capacity: [friday]}", more)) == []
    one = {path: text for path, text in more.items() if path != "tests/friday/a.yaml"}
    assert told(trials(goes, "{capacity: [friday/c.yaml]}", one)) == ["step 1: dev/train is then on a, not on b"]
    assert told(trials(goes, "{capacity: [fridya]}", more)) == ["there is no snapshot fridya beside this file"]


# what it is held against


def test_it_begins_when_the_newest_snapshot_was_taken() -> None:
    assert told(trials(claim('inputs.now == "2026-01-02T03:05:00Z"'))) == []
    late = claim('inputs.now == "2026-01-03T00:00:00Z"')
    assert told(trials(late, '{now: "2026-01-03T00:00:00Z"}')) == []
    nothing = trials(claim("true"), more={f"capacity/{name}.yaml": "" for name in "abc"})
    assert told(nothing) == ["says no time, and there is no snapshot to take it from"]


def test_it_may_begin_with_what_is_deployed() -> None:
    story = Story(source={path: text for path, text in SOURCE.items() if not path.startswith("capacity/")})
    story.capacity = {
        path.removeprefix("capacity/"): text for path, text in SOURCE.items() if path.startswith("capacity/")
    }
    deployed = story.run().tree
    beside = {f"tests/live/{path}": data.decode() for path, data in deployed.read_all(deployed).items()}
    assert told(trials(claim("groups.all(g, g.action == 'Keep')"), "{deployment: live}", beside)) == []
    assert told(trials(claim("groups.all(g, g.action == 'Place')"))) == []
    assert told(trials(claim("true"), "{deployment: life}", beside)) == ["there is no directory life beside this file"]


def test_snapshots_and_records_that_are_given_to_a_scenario_are_not_misplaced() -> None:
    record = "apiVersion: gitplacer.dev/v1alpha1\nkind: Placement\nmetadata: {name: x}\n"
    given = {"tests/story.yaml": scenario(claim("true"), "{capacity: [c.yaml], deployment: live}")}
    files = {
        **SOURCE,
        "tests/c.yaml": snapshot("c")["c.yaml"],
        "tests/live/x.yaml": record,
        "other/c.yaml": snapshot("c")["c.yaml"],
    }
    for extra, misplaced in (({}, ["other/c.yaml", "tests/c.yaml"]), (given, ["other/c.yaml"])):
        source = tree({**files, **extra})
        inputs = Story(source={}).inputs()
        problems = hydrate(_with(inputs, source)).problems
        assert [p.location.file for p in problems if p.code == "MisplacedKind"] == misplaced


def _with(inputs, source):  # type: ignore[no-untyped-def]
    from msgspec.structs import replace

    return replace(inputs, source=source, capacity=source.under("capacity"))


def test_errors_that_the_source_has_already_are_no_news() -> None:
    files = {**SOURCE, "workloads/dev/torn.yaml": "kind: [", "tests/story.yaml": scenario("- title: One\n")}
    known = hydrate(_with(Story(source={}).inputs(), tree(files))).problems
    for tolerated, count in ((known, 0), ((), 1)):
        (script,), _ = scripts_in(tree(files), NoMemo(), tolerated)
        assert len(told(tried(script, "test", NoMemo()))) == count
    pushing = scenario("- title: One\n- title: Two\n  push: {write: {workloads/dev/more.yaml: 'kind: ['}}\n")
    (script,), _ = scripts_in(tree({**files, "tests/story.yaml": pushing}), NoMemo(), known)
    (news,) = told(tried(script, "test", NoMemo()))
    assert news.startswith("step 2: a problem is reported, InvalidYAML at workloads/dev/more.yaml:1:")


def test_a_pass_that_is_refused_has_no_plan_of_which_anything_is_true() -> None:
    first, second = told(trials(claim("true"), more={"clusters/a.yaml": "kind: [\n" + FLEET}))
    assert first.startswith("step 1: a problem is reported, InvalidYAML at clusters/a.yaml:")
    assert second == "step 1: there is no plan of which this could be true, because the pass was refused"


# what may be supposed


@pytest.mark.parametrize(
    ("suppose", "passes", "said"),
    [
        ("{lose: [a]}", 1, "lost == ['a'] && drained == [] && cluster('a').state == 'Lost'"),
        ("{lose: [a, b]}", 1, "lost == ['a', 'b'] && fleet.filter(c, c.state == 'Lost').size() == 2"),
        ("{drain: [b]}", 1, "drained == ['b'] && cluster('b').state == 'Draining' && cluster('a').state == 'Active'"),
        ("{loseEach: {}}", 3, "fleet.filter(c, c.state == 'Lost').map(c, c.cluster) == lost && lost.size() == 1"),
        ("{loseEach: {matchLabels: {class: prod}}}", 2, "label(lost[0], 'class') == 'prod'"),
        ("{lose: [c], loseEach: {names: [a, c]}}", 1, "lost == ['c', 'a']"),
        ("{drain: [a], loseEach: {names: [b]}}", 1, "drained == ['a'] && lost == ['b']"),
    ],
)
def test_a_supposition_is_planned_beside_the_story(suppose: str, passes: int, said: str) -> None:
    steps = f"""\
        - title: Placed
        - title: What if
          suppose: {suppose}
          expect: {{that: [{{cel: {json.dumps(said)}}}]}}
        - title: As if nothing had been
          expect: {{that: [{{cel: "fleet.all(c, c.state == 'Active') && groups.all(g, g.action == 'Keep')"}}]}}
        """
    trial = trials(steps)
    assert (told(trial), [step.passes for step in trial.steps]) == ([], [1, passes, 1])


@pytest.mark.parametrize(
    ("suppose", "said"),
    [
        ("{lose: [aa]}", "there is no cluster aa"),
        ("{drain: [x]}", "there is no cluster x"),
        ("{loseEach: {matchLabels: {class: production}}}", "selects no cluster that could be lost"),
        ("{lose: [a], loseEach: {names: [a]}}", "selects no cluster that could be lost"),
    ],
)
def test_to_suppose_something_of_no_cluster_is_an_error(suppose: str, said: str) -> None:
    trial = trials(f"- title: What if\n  suppose: {suppose}\n")
    assert (trial.verdict, told(trial)) == (TrialResult.ERROR, [said])
    assert trial.broken[0].location.line == 8


def test_what_is_expected_of_decisions_is_held_against_each_pass() -> None:
    steps = "- title: Placed\n- title: Lost\n  suppose: {loseEach: {matchLabels: {class: prod}}}\n  expect: {decisions: {prod/shop: {to: [b]}}}\n"
    assert told(trials(steps)) == ["step 2, without b: prod/shop is then on a and b, not on b".replace("a and b", "a")]


# what is found


def test_scenarios_are_found_where_policies_are() -> None:
    text = scenario("- title: One\n")
    named = {name: text.replace("story", name) for name in ("top", "beside", "inside", "hidden", "snapshot")}
    files = {
        **SOURCE,
        "top.yaml": named["top"],
        "policies/x.yaml": SOURCE["policies/production.yaml"] + "---\n" + named["beside"],
        "workloads/prod/x.yaml": named["inside"],
        ".github/x.yaml": named["hidden"],
        "capacity/x.yaml": named["snapshot"],
    }
    scripts, problems = scripts_in(tree(files), NoMemo())
    assert [(s.scenario.name, str(s.document.locate())) for s in scripts] == [
        ("beside", "policies/x.yaml:9:1"), ("top", "top.yaml:1:1"),
    ]  # fmt: skip
    assert problems == []


def test_scenarios_that_cannot_be_read_are_told_and_the_others_are_run() -> None:
    files = {
        **SOURCE,
        "tests/a.yaml": scenario("- title: One\n  wiat: 5m\n", name="a"),
        "tests/b.yaml": scenario("- title: One\n", name="b"),
        "tests/c.yaml": scenario("- title: One\n", name="b"),
        "tests/d.yaml": scenario("- title: [\n", name="d"),
        "other.yaml": "kind: [\n",
        "tests/e.YAML": scenario("- title: One\n", name="e"),
        "tests/f.Yml": scenario("- title: One\n", name="f"),
        "tests/data.JSON": "{}\n",
        "workloads/prod/g.YAML": scenario("- title: One\n", name="g"),
    }
    scripts, problems = scripts_in(tree(files), NoMemo())
    assert [s.scenario.name for s in scripts] == ["b"]
    assert sorted((p.location.file, p.code) for p in problems) == [
        ("tests/a.yaml", "UnknownField"), ("tests/c.yaml", "DuplicateName"), ("tests/d.yaml", "InvalidYAML"),
        ("tests/e.YAML", "OddPath"), ("tests/f.Yml", "OddPath"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ("    - cel: groups.all(g, g.polcy == '')", (11, 30)),
        ("    - cel: \"groups.all(g, g.polcy == '')\"", (11, 31)),
        ("    - cel: |\n        true &&\n          groups.all(g, g.polcy == '')", (13, 29)),
        (
            "    - cel: >-\n        true &&\n        groups.all(g, g.polcy == '')",
            (11, 14),
        ),  # folded: its lines are no more
        ("    - {because: it is, cel: \"groups.all(g, g.polcy == '')\"}", (11, 48)),
    ],
)
def test_a_mistake_is_told_where_it_stands_in_the_file(lines: str, place: tuple[int, int]) -> None:
    trial = trials(f"- title: One\n  wait: 5m\n  expect:\n    that:\n{lines}\n")
    (problem,) = trial.broken
    assert (problem.code, problem.message) == ("ScenarioExpression", 'there is no field "polcy"')
    assert (problem.location.line, problem.location.column) == place


def test_all_mistakes_are_told_at_once_and_before_anything_is_run() -> None:
    steps = claim("nope == 1") + claim("true") + claim("groups ==")
    trial = trials(steps, more={"fleet.yaml": ""})
    assert [p.message for p in trial.broken] == ['there is no "nope" here', "is not CEL: it ends too early"]
    assert trial.steps == ()


# the command


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write(tmp_path, SOURCE)
    return tmp_path


def test_the_example_fleet_keeps_its_promises(capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "test", ROOT / "fleet-repo-example", "--strict")
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("passed  production: ") and ran.out.splitlines()[-1] == "3 passed"


def test_the_promises_of_the_example_fleet_do_not_lean_on_what_is_drained_today(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    shutil.copytree(ROOT / "fleet-repo-example", fleet)
    drained = fleet / "clusters" / "static-cluster.yaml"
    drained.write_text(drained.read_text().replace("  state: Active", "  state: Draining"))
    ran = run(capfd, "test", fleet)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "3 passed")


def test_a_failure_is_told_with_its_place_and_values_and_the_last_line_counts(
    fleet: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    steps = '- title: One\n  expect: {that: [{cel: "summary.Place == 7", because: seven is enough}]}\n'
    write(
        fleet, {"tests/bad.yaml": scenario(steps, name="bad"), "tests/good.yaml": scenario(claim("true"), name="good")}
    )
    ran = run(capfd, "test", fleet)
    assert ran.code == 1
    assert ran.out == textwrap.dedent("""\
        FAILED  bad: A story
        passed  good: A story

        FAILED bad: A story
        tests/bad.yaml:8:28: step 1: it is not true that summary.Place == 7
          because: seven is enough
          summary.Place is 2

        1 failed, 1 passed
        """)


def test_words_choose_and_x_stops(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    texts = {
        f"tests/{name}.yaml": scenario(claim("1 == 2"), name=name) for name in ("one-region", "two-regions", "three")
    }
    write(fleet, texts)
    assert run(capfd, "test", fleet).out.splitlines()[-1] == "3 failed"
    assert run(capfd, "test", fleet, "-k", "REGION story").out.splitlines()[-1] == "2 failed"
    stopped = run(capfd, "test", fleet, "-x")
    assert stopped.out.splitlines()[-1] == "1 failed" and "2 not run" in stopped.err
    none = run(capfd, "test", fleet, "-k", "thre region")
    assert (none.code, none.out) == (1, "") and 'no Scenario has "thre region" in its name or title' in none.err


@pytest.mark.slow
def test_several_processes_report_what_one_does(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        fleet,
        {
            f"tests/{name}.yaml": scenario(claim(text), name=name)
            for name, text in (("a", APART), ("b", "1 == 2"), ("c", "1 =="))
        },
    )
    alone, apart = (run(capfd, "test", fleet, "--format", "json", "-j", jobs) for jobs in ("1", "2"))
    assert (alone.out, alone.code) == (apart.out, apart.code)
    assert json.loads(apart.out)["summary"] == {"passed": 1, "failed": 1, "errors": 1, "warnings": 0}


def test_a_source_without_scenarios_is_told_how_to_get_one(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    ran = run(capfd, "test", fleet)
    assert (ran.code, ran.out) == (1, "")
    assert "error: there is no Scenario in this source\n  hint: write one beside your policies" in ran.err


def test_what_is_broken_is_an_error_in_the_report(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(
        fleet,
        {"tests/a.yaml": scenario("- title: One\n  wiat: 5m\n", name="a"), "tests/b.yaml": scenario(claim("1 =="))},
    )
    ran = run(capfd, "test", fleet)
    assert ran.code == 1
    assert "ERROR   story: A story\n" in ran.out
    assert "tests/b.yaml:8:32: is not CEL: it ends too early\n" in ran.out
    assert "tests/a.yaml:8:5: unknown field" in ran.out
    assert ran.out.splitlines()[-1] == "2 errors"


def test_strict_counts_idle_policies(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(fleet, {"tests/a.yaml": scenario(claim("true")), **policy("later", "select: {namespaces: [later]}")})
    for options, code in (((), 0), (("--strict",), 1)):
        ran = run(capfd, "test", fleet, *options)
        assert (ran.code, ran.out.splitlines()[-1]) == (code, "1 passed, 1 warning")
        assert "policies/later.yaml:5:3: warning: policy later selects nothing that is in the source\n" in ran.out


def test_capacity_and_deployment_may_be_elsewhere(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "source", {path: text for path, text in SOURCE.items() if not path.startswith("capacity/")})
    write(elsewhere / "source", {"tests/a.yaml": scenario(claim("groups.all(g, g.action == 'Keep')"))})
    git(elsewhere / "source", "init", "--quiet")
    git(elsewhere / "source", "add", "--all")
    git(elsewhere / "source", "commit", "--quiet", "-m", "Begin")
    git(elsewhere, "init", "--quiet", "--bare", "deployment.git")
    where = ("--capacity", fleet / "capacity", "--now", "2026-01-02T03:05:00Z")
    deployment = ("--deployment", elsewhere / "deployment.git")
    assert run(capfd, "test", elsewhere / "source", *where).out.splitlines()[-1] == "1 failed"
    assert run(capfd, "reconcile", elsewhere / "source", *where, *deployment).code == 0
    ran = run(capfd, "test", elsewhere / "source", *where, *deployment)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 passed")


def test_errors_of_the_source_are_mentioned_once(fleet: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(fleet, {"tests/a.yaml": scenario(claim("true")), "workloads/dev/torn.yaml": "kind: ["})
    ran = run(capfd, "test", fleet)
    assert ran.code == 0
    assert "the source itself has 1 error, which tests of it pass over; `gitplacer validate` shows them" in ran.err


def test_without_the_library_it_is_said_what_to_install(
    fleet: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoCel(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name.partition(".")[0] == "celpy":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.startswith(("celpy", "gitplacer.scenarios.cel"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoCel(), *sys.meta_path])
    write(fleet, {"tests/a.yaml": scenario(claim("true"))})
    ran = run(capfd, "test", fleet)
    assert (ran.code, ran.out) == (1, "")
    assert "needs cel-python" in ran.err.replace("need ", "needs ") and "hint: pip install 'gitplacer[cel]'" in ran.err
    write(fleet, {"tests/a.yaml": scenario("- title: One\n")})
    assert run(capfd, "test", fleet).code == 0


# formats


_BAD = "\x1b[31m</testcase>]]>\ufffe\uffff\n::error::"
REPORT = Report(
    (
        Trial("good", "Good", Location("t.yaml", 1), (TriedStep("One", 1), TriedStep("Two", 5))),
        Trial(
            "bad",
            _BAD,
            Location("t.yaml", 9),
            (
                TriedStep("One", 1),
                TriedStep(
                    _BAD,
                    5,
                    tuple(Failure(Problem(Location("t.yaml", 12, 3), "ScenarioDiffers", f"{n} {_BAD}", _BAD), (_BAD, "  two")) for n in range(5)),
                ),
            ),
        ),
        Trial("torn", "Torn", Location("u.yaml", 1), (TriedStep("One", 1),), (Problem(Location("u.yaml", 4), "ScenarioStep", "no"),)),
    ),
    (Problem(Location("v.yaml", 2), "UnknownField", "what"),),
    (Problem(Location("p.yaml", 2), "PolicyShadowed", "idle", "", Severity.WARNING),),
)  # fmt: skip


def test_the_text_counts_and_shows_what_is_alike_a_few_times() -> None:
    text = TEST_FORMATS["text"](REPORT, Options())
    assert text.splitlines()[0] == "passed  good: Good (6 passes)"
    assert text.splitlines()[-1] == "1 failed, 2 errors, 1 passed, 1 warning"
    assert "t.yaml:12:3: and 2 more like this" in text
    assert "\x1b" not in text and not [line for line in text.splitlines() if line.startswith("::")]


def test_json_has_all_of_it() -> None:
    found = json.loads(TEST_FORMATS["json"](REPORT, Options()))
    assert found["summary"] == {"passed": 1, "failed": 1, "errors": 2, "warnings": 1}
    assert [(s["name"], s["verdict"]) for s in found["scenarios"]] == [
        ("good", "passed"),
        ("bad", "failed"),
        ("torn", "error"),
    ]
    assert len(found["scenarios"][1]["steps"][1]["failures"]) == 5
    assert found["scenarios"][1]["steps"][1]["failures"][0]["details"] == [_BAD, "  two"]
    assert [p["code"] for p in (*found["problems"], *found["policies"])] == ["UnknownField", "PolicyShadowed"]


def test_junit_is_read_by_those_who_read_junit() -> None:
    read = JUnitXml.fromstring(TEST_FORMATS["junit"](REPORT, Options()).encode())
    assert (read.tests, read.failures, read.errors) == (7, 1, 2)
    suites = {suite.name: suite for suite in read}
    assert list(suites) == ["good", "bad", "torn", "files", "policies"]
    cases = {suite.name: [(case.name, [type(r).__name__ for r in case.result]) for case in suite] for suite in read}
    assert cases["good"] == [("1. One", []), ("2. Two", [])]
    assert [results for _, results in cases["bad"]] == [[], ["Failure"]]
    assert cases["torn"] == [("1. One", []), ("Torn", ["Error"])]
    (failure,) = list(suites["bad"])[1].result
    assert "\\ufffe\\uffff" in failure.text  # which XML cannot hold
    assert failure.type == "ScenarioDiffers" and "</testcase>" in failure.text and "\x1b" not in failure.text
    read.update_statistics()
    assert (read.tests, read.failures, read.errors) == (7, 1, 2)  # as somebody else counts them


def test_junit_names_files_from_the_root_of_the_repository(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Who reads it, such as GitLab, makes a link of a file and knows nothing of the folder of a fleet."""
    broken = {"tests/b.yaml": scenario("- expects: {}\n", name="b")}
    fails = {"tests/a.yaml": scenario("- title: One\n  expect: {decisions: {dev/train: {to: [b]}}}\n", name="a")}
    files = {f"teams/a/{path}": text.encode() for path, text in {**SOURCE, **fails, **broken}.items()}
    repo = make_repo(tmp_path / "mono", files)
    told = {form: run(capfd, "test", repo, "--path", "teams/a", "--format", form).out for form in ("junit", "json")}
    cases = [case for suite in JUnitXml.fromstring(told["junit"].encode()) for case in suite]
    assert {case._elem.get("file") for case in cases} == {"teams/a/tests/a.yaml", "teams/a/tests/b.yaml"}
    assert all(case.result[0].text.startswith(case._elem.get("file")) for case in cases)
    assert [scenario["file"] for scenario in json.loads(told["json"])["scenarios"]] == ["tests/a.yaml"]


def test_a_link_in_the_source_is_what_it_is_in_a_pass() -> None:
    files = tree({**SOURCE, "tests/story.yaml": scenario("- title: One\n")})
    link = {"workloads/dev/link.yaml": Entry(SYMLINK, "0" * 40, 1)}
    (script,), _ = scripts_in(Tree({**files.entries, **link}, files.blobs), NoMemo())
    assert told(tried(script, "test", NoMemo())) == [
        "step 1: a problem is reported, NotAFile at workloads/dev/link.yaml:1:1"
    ]
    (without,), _ = scripts_in(files, NoMemo())
    assert told(tried(without, "test", NoMemo())) == []
