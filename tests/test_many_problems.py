"""Ten thousand broken files: each costs its group only, and what is printed of them has a bound and names every cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.explain.manyproblems import EXAMPLES, FEW, heaps, told
from gitplacer.model.decision import Action
from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.mentions import Mentions, mentioned
from gitplacer.source.reading import MOST_MENTIONS
from tests.commands import NOW, make_repo, run
from tests.stories import ANYWHERE, Story, cluster, rayservice, snapshot

FILES = st.lists(st.sampled_from(["a", "b", "c c", "d\n"]), min_size=1, max_size=4).map("/".join)
PROBLEMS = st.lists(
    st.builds(
        Problem, st.builds(Location, FILES), st.sampled_from(["NotYaml", "NoPolicy", "X"]), st.just("wrong"),
        severity=st.sampled_from(Severity),
    ),
    max_size=300,
)  # fmt: skip


def broken(count: int, folders: int) -> list[Problem]:
    return [
        Problem(Location(f"workloads/team-{i % folders}/app-{i:05}.yaml", 3, 4), "NotYaml", "a value is missing", "x")
        for i in range(count)
    ]


@given(problems=PROBLEMS)
def test_every_problem_is_in_one_heap_of_its_code_and_folder(problems: list[Problem]) -> None:
    found = heaps(problems)
    assert len({(heap.severity, heap.code, heap.folder) for heap in found}) == len(found)
    for heap in found:
        alike = [other.folder for other in found if (other.severity, other.code) == (heap.severity, heap.code)]
        inside = [
            p
            for p in problems
            if (p.severity, p.code) == (heap.severity, heap.code)
            and heap.folder == max((f for f in alike if not f or p.location.file.startswith(f"{f}/")), key=len)
        ]
        assert (list(heap.first), heap.count) == (inside[:EXAMPLES], len(inside))
    assert sum(heap.count for heap in found) == len(problems)


@given(problems=PROBLEMS)
def test_what_is_told_counts_up_to_all(problems: list[Problem]) -> None:
    lines = list(told(problems))
    if len(problems) <= FEW:
        assert [problem for problem, _ in lines] == problems
        return
    shown = Counter(problem.code for problem, _ in lines if problem is not None)
    for problem, (first, *_) in lines[:-1]:
        if problem is None:
            for number, code in re.findall(r"([\d,]+) (?:more \w+ )?(NotYaml|NoPolicy|X)", first):
                shown[code] += int(number.replace(",", ""))
    assert shown == Counter(problem.code for problem in problems)
    assert lines[-1][1][0].startswith(f"{len(problems)} problems; ")


@pytest.mark.parametrize("folders", [1, 4, 10_000])
def test_ten_thousand_problems_are_few_lines(folders: int) -> None:
    problems = [*broken(10_000, folders), Problem(Location("policies/a.yaml", 9, 1), "UnknownField", "no such field")]
    lines = [line for _, those in told(problems) for line in those]
    assert len(lines) < 40
    assert any(line.startswith("policies/a.yaml:9:1: ") for line in lines)
    assert lines[-1].startswith("10,001 problems; ")
    if folders == 4:
        assert "… and 2,497 more errors NotYaml in workloads/team-3/" in lines
    if folders == 10_000:
        assert "… and 9,997 more errors NotYaml in workloads/" in lines


def test_causes_that_are_many_are_bounded_too() -> None:
    problems = [Problem(Location(f"{'abcd'[i % 4]}/x.yaml"), f"Code{i // 8}", "wrong") for i in range(1000)]
    lines = [line for _, those in told(problems) for line in those]
    assert len(lines) < 150
    assert sum(line.startswith("… and elsewhere ") for line in lines) == 1


WORDS = st.text("ab.-_:é \n", max_size=12)


@given(texts=st.dictionaries(st.text("ab/", max_size=3), WORDS.map(str.encode), max_size=6), names=st.lists(WORDS.filter(bool), max_size=3))  # fmt: skip
def test_the_index_of_words_finds_what_a_search_finds(texts: dict[str, bytes], names: list[str]) -> None:
    plainly = sorted({key for name in names for key in mentioned(texts, name)})
    assert list(Mentions(texts).of(*names)) == plainly


def fleet(groups: int) -> Story:
    apps = [rayservice(f"team-{i % 4}", f"app-{i}", workers=1) for i in range(groups)]
    return Story.of(cluster("a"), ANYWHERE, *apps, capacity=snapshot("a", f"n1 {groups * 9} {groups * 9}Gi {groups}"))


def test_a_broken_file_costs_its_own_group_and_many_theirs() -> None:
    story = fleet(30)
    story.run()
    whole = dict(story.source)
    files = sorted(path for path in whole if path.startswith("workloads/"))
    for count in (1, 29):
        story.source = {**whole, **{path: whole[path] + "\n bad: [1,\n" for path in files[:count]}}
        actions = Counter(decision.action for decision in story.run().view.plan.decisions)
        assert actions == {Action.HOLD: count, Action.KEEP: 30 - count}


def test_who_is_lost_among_very_many_broken_files_names_some_of_them() -> None:
    story = fleet(2)
    story.run()
    lost = next(path for path in story.source if path.endswith("app-0.yaml"))
    text = story.source.pop(lost)
    story.source |= {f"workloads/team-0/copy-{i:03}.yaml": f"{text}\n bad: [1,\n" for i in range(50)}
    [held] = [d for d in story.run().view.plan.decisions if d.action is Action.HOLD]
    assert held.finding.subject.count("copy-") == MOST_MENTIONS


def test_validate_and_reconcile_print_a_bounded_report_and_json_has_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITPLACER_CACHE", str(tmp_path / "cache"))
    source = dict(fleet(1).source)
    source |= {f"workloads/t{i % 20}/b{i}.yaml": "kind: [1,\n" for i in range(400)}
    repo = make_repo(tmp_path / "fleet", source)
    ran = run(capfd, "validate", "--now", NOW, repo)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert len(lines) < 20
    assert "… and 397 more errors" in ran.out
    assert lines[-1] == "400 problems; `gitplacer validate --format json` has every one of the source"
    assert ran.err.splitlines()[-1] == "400 errors, 0 warnings"
    everything = json.loads(run(capfd, "validate", "--format", "json", "--now", NOW, repo).out)
    assert len(everything["problems"]) == 400
    planned = run(capfd, "plan", "--now", NOW, repo).out
    assert "… and 397 more errors" in planned
    assert len(planned.splitlines()) < 60
