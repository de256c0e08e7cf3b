"""
The scenarios of the docs, told from files in to commits out, and how scenarios are told and judged.

Each is told twice: on trees, where one more pass must change nothing, and in real repositories, whose `git log --stat` its page shows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from docs import generate, scenario_pages
from docs.scenario_repos import InRepos
from gitplacer import __version__
from gitplacer.problems import Problem, Rejected
from gitplacer.scenarios import OnTrees, Stage, Told, changes_of, read_script, tell
from gitplacer.tree import Changes, Tree

ROOT = Path(__file__).parent.parent
IN_REPOS = [
    name
    for name in scenario_pages.NAMES
    if any(step.deployment and step.deployment.revert for step in scenario_pages.script(name).spec.steps)
]
"""Scenarios that only real repositories can tell."""
ON_TREES = [name for name in scenario_pages.NAMES if name not in IN_REPOS]


@pytest.mark.parametrize("name", ON_TREES)
def test_a_scenario_comes_out_as_it_says_and_is_at_rest_after_each_step(name: str) -> None:
    told = list(tell(scenario_pages.script(name), OnTrees(__version__)))
    assert [str(p.location) + " " + p.message for step in told for p in step.differences] == []


@pytest.mark.parametrize("name", scenario_pages.NAMES)
def test_the_page_of_a_scenario_shows_what_git_shows(name: str) -> None:
    path = f"docs/scenarios/{name}.md"
    assert generate.same(generate.scenario_page(name), (ROOT / path).read_text("utf-8")), "run: python docs/generate.py"


def test_every_scenario_is_in_the_list_and_has_its_page() -> None:
    folder = ROOT / "docs/scenarios"
    assert sorted(path.stem for path in folder.glob("*.yaml")) == sorted(scenario_pages.NAMES)
    assert sorted(path.stem for path in folder.glob("*.md")) == sorted(["README", *scenario_pages.NAMES])
    assert generate.scenario_page("") == (folder / "README.md").read_text("utf-8")
    for name in scenario_pages.NAMES:
        assert scenario_pages.script(name).scenario.name == name


def test_every_file_beside_the_scenarios_is_used() -> None:
    told = "".join(path.read_text("utf-8") for path in (ROOT / "docs/scenarios").glob("*.yaml"))
    assert [path.name for path in (ROOT / "docs/scenarios/files").iterdir() if f"files/{path.name}" not in told] == []


# how a scenario is told

HEAD = """\
apiVersion: gitplacer.dev/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  title: A story
  given:
    now: "2026-01-02T03:05:00Z"
    write:
      fleet.yaml: |
        {apiVersion: gitplacer.dev/v1alpha1, kind: Fleet, metadata: {name: fleet}, spec: {}}
      clusters/a.yaml: |
        {apiVersion: gitplacer.dev/v1alpha1, kind: Cluster, metadata: {name: a}, spec: {}}
      capacity/a.yaml: |
        apiVersion: gitplacer.dev/v1alpha1
        kind: CapacitySnapshot
        metadata: {name: a}
        observedAt: "2026-01-02T03:00:00Z"
        # What it has.
        nodes: [{name: node, allocatable: {cpu: "4", memory: 8Gi}}]
      policies/p.yaml: |
        {apiVersion: gitplacer.dev/v1alpha1, kind: PlacementPolicy, metadata: {name: p}, spec: {select: {}}}
      workloads/ns/web.yaml: |
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 1
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: main, image: web, resources: {requests: {cpu: "1"}}}]}
  steps:
"""
FIRST = "- title: It is placed\n"
PLACED = "clusters/a/workloads/ns/web/web.yaml"


def story(steps: str, stage: Stage | None = None) -> list[Told]:
    text = HEAD + textwrap.indent(textwrap.dedent(steps), "  ")
    return list(tell(read_script("story.yaml", text.encode()), stage or OnTrees("test")))


def differences(steps: str) -> list[str]:
    return [
        f"{p.location.line - HEAD.count(chr(10))}:{p.location.column - 2}: {p.message}"
        for told in story(steps)
        for p in told.differences
    ]


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ("commits: [{subject: Place ns/web}]", []),
        (f"commits: [{{subject: Place ns/web, files: [A {PLACED}]}}]", []),
        ("commits: [{subject: Place ns/web, files: [A clusters/*/workloads/**]}]", []),
        ("decisions: {ns/web: {action: Place, to: [a], reason: Fits}}", []),
        ("problems: []", []),
        ("commits: []", ['2:12: step 1: there is one more commit, "Place ns/web"']),
        (
            "commits: [{subject: Update ns/web}, {subject: More}]",
            ['2:23: step 1: commit 1 is "Place ns/web", not "Update ns/web"', '2:46: step 1: there is no commit "More"'],
        ),
        (
            "commits: [{subject: Place ns/web, files: [A b]}]",
            ["2:54: step 1: no change is A b", f"2:46: step 1: there is one more change, A {PLACED}"],
        ),
        (
            "decisions: {ns/web: {action: Wait, to: [], reason: Fitz}}",
            [
                "2:41: step 1: ns/web: the action is Place, not Wait",
                "2:47: step 1: ns/web is then on a, not on nowhere",
                "2:55: step 1: ns/web: the reason is Fits, not Fitz",
            ],
        ),
        ("decisions: {ns/wed: {action: Place}}", ["2:24: step 1: nothing is decided about ns/wed"]),
        ("problems: [{code: InvalidYAML}]", ["2:23: step 1: no problem InvalidYAML is reported"]),
    ],
)  # fmt: skip
def test_what_does_not_come_out_as_expected_is_named_with_its_place(expect: str, said: list[str]) -> None:
    found = differences(f"{FIRST}  expect: {{{expect}}}\n")
    assert [line.partition(": ")[2] for line in found] == [line.partition(": ")[2] for line in said]
    assert all(line.startswith("2:") for line in found)


def test_an_error_that_nobody_expects_is_a_difference() -> None:
    broken = f"{FIRST}  push: {{write: {{workloads/ns/more.yaml: 'kind: ['}}}}\n"
    assert differences(broken)[0].startswith(
        "1:3: step 1: a problem is reported, InvalidYAML at workloads/ns/more.yaml:1:"
    )
    assert differences(f"{broken}  expect: {{problems: [{{code: InvalidYAML}}]}}\n") == []
    assert (
        differences(f'{broken}  expect: {{problems: [{{code: InvalidYAML, at: "workloads/ns/more.yaml:9"}}]}}\n') != []
    )


def test_a_pass_that_is_refused_has_problems_and_no_commits() -> None:
    steps = f"{FIRST}- title: The Fleet goes\n  push: {{remove: [fleet.yaml]}}\n  expect: {{commits: [], problems: [{{code: NotOneFleet}}]}}\n"
    placed, refused = story(steps)
    assert refused.done is None and refused.differences == ()
    assert refused.deployment == placed.deployment


def test_a_snapshot_keeps_its_text_but_for_what_is_seen() -> None:
    placed, seen = story(f"{FIRST}- title: It is seen\n  observe: [{{clusters: [a], settled: true}}]\n")
    before, after = (told.files["capacity/a.yaml"].decode() for told in (placed, seen))
    assert "# What it has.\n" in after
    assert "phase: Running" in after and "ready: true" in after
    assert 'observedAt: "2026-01-02T03:10:00Z"' in after
    assert "applied" in after and "applied" not in before
    assert placed.differences == seen.differences == ()


def test_pods_wait_since_they_were_first_seen_waiting() -> None:
    waits = "  observe: [{clusters: [a], pending: {ns/web: {pod: 1}}}]\n"
    text = story(f"{FIRST}- title: One\n{waits}- title: Two\n{waits}")[2].files["capacity/a.yaml"].decode()
    assert "2026-01-02T03:15:00Z" in text  # seen now
    assert 'pendingSince: "2026-01-02T03:10:00Z"' in text


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("push: {edit: {clusters/b.yaml: []}}", "there is no file clusters/b.yaml to edit"),
        ("push: {edit: {clusters/a.yaml: [{replace: nothing, with: a}]}}", "the words to replace do not stand there"),
        ("push: {edit: {clusters/a.yaml: [{replace: e, with: a}]}}", "the words stand there 7 times"),
        ("push: {remove: [clusters/b.yaml]}", "there is no file clusters/b.yaml to remove"),
        ("push: {copy: {clusters/b.yaml: b.yaml}}", "there is no file b.yaml beside this one"),
        ("observe: [{clusters: [b]}]", "there is no snapshot of b to begin with"),
        ("deployment: {revert: Place ns/web}", "a revert can be told from other changes only in a real repository"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_named_with_its_place(step: str, message: str) -> None:
    with pytest.raises(Rejected) as error:
        story(f"{FIRST}- title: Then\n  {step}\n")
    (problem,) = error.value.problems
    assert (problem.code, problem.message) == ("ScenarioStep", message)
    assert problem.location.line == HEAD.count("\n") + 3


@pytest.mark.parametrize("stage", [lambda folder: OnTrees("test"), InRepos], ids=["trees", "repos"])
def test_a_hand_in_the_deployment_repo_holds_a_group_until_it_is_undone(
    stage: Callable[[Path], Stage], tmp_path: Path
) -> None:
    steps = f"""\
        - title: It is placed
        - title: Somebody changes a file
          deployment: {{edit: {{{PLACED}: [{{replace: "replicas: 1", with: "replicas: 5"}}]}}}}
          push: {{edit: {{workloads/ns/web.yaml: [{{replace: "replicas: 1", with: "replicas: 2"}}]}}}}
          expect: {{commits: [], decisions: {{ns/web: {{action: Hold, reason: ForeignChange}}}}}}
        - title: Somebody takes it back
          deployment: {{edit: {{{PLACED}: [{{replace: "replicas: 5", with: "replicas: 1"}}]}}}}
          expect: {{commits: [{{subject: Update ns/web}}]}}
        """
    assert [p.message for told in story(steps, stage(tmp_path / "story")) for p in told.differences] == []


def test_trees_and_repositories_tell_the_same(tmp_path: Path) -> None:
    script = scenario_pages.script("right-cluster")
    told = [list(tell(script, stage)) for stage in (OnTrees(__version__), InRepos(tmp_path / "story"))]
    on_trees, in_repos = ([[(c.subject, c.changes) for c in step.commits] for step in steps] for steps in told)
    assert on_trees == in_repos


def test_a_commit_that_moves_a_file_renames_it() -> None:
    before = Tree.of({"a/x/one": b"1", "a/x/two": b"1", "b": b"2", "c": b"3"})
    changes = Changes({"z/two": b"1", "z/one": b"1", "b": b"2", "c": b"4", "d": b""}, frozenset({"a/x/one", "a/x/two"}))
    assert changes_of(before, changes) == ["A d", "M c", "R a/x/one => z/one", "R a/x/two => z/two"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [", "InvalidYAML"),
        ("{apiVersion: gitplacer.dev/v1alpha1, kind: Fleet, metadata: {name: f}, spec: {}}", "MisplacedKind"),
        (HEAD, "NullValue"),
        (f"{HEAD}  - title: One\n    wiat: 5m\n", "UnknownField"),
        ("{}\n---\n{}\n", "NotOneDocument"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused_with_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(Rejected) as error:
        read_script("story.yaml", text.encode())
    assert said in {problem.code for problem in error.value.problems}
    assert all(
        isinstance(problem, Problem) and problem.location.file == "story.yaml" for problem in error.value.problems
    )
