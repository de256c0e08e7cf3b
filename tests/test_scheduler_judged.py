"""
`gitplacer fit` before two judges that share nothing with it: an exact solver, and a simulator of kube-scheduler.

Generated gangs, most of them at the last pod or byte that fits, are put to the command; of every answer holds:

- where no placement exists, the answer is No; where one exists, it is Fits or TightFit (a search that ran out may
  say so, rarely);
- a placement is complete and the scheduler's filters accept it, pod by pod in the order given;
- after Fits, no run of the scheduler leaves a pod out, whatever the order, the scoring and the luck with ties.

A short form runs with the suite. For more:

    python -m tests.test_scheduler_judged --seeds 0:5000 [--large]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import exactfit, generatedcases, schedulerjudge
from tests.commands import Ran, run, run_apart
from tests.generatedcases import Judged

SHORT, CHUNK = 320, 40  # seeds in the suite, seeds in a test
RAN_OUT = 0.02  # of the feasible cases, at most, may end in SearchBound
STEADY = 0.90  # of the cases that every run placed, at least, are called Fits


def judged(seeds: range, *, large: bool = False) -> list[Judged]:
    """Generated cases with the exact answer."""
    return list(generatedcases.generate(seeds, lambda case: exactfit.solve(case).feasible, large=large))


def write_cases(path: Path, cases: Sequence[Judged]) -> Path:
    path.write_text("".join(json.dumps(item.case) + "\n" for item in cases))
    return path


def answers(ran: Ran) -> list[dict[str, Any]]:
    """The lines that `fit --cases` printed."""
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


@dataclass
class Tally:
    """What the judges found: wrong answers, and counts that say how good the right ones are."""

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def share(self, part: str, *whole: str) -> float:
        """A count as a share of the sum of others; 0 where there are none."""
        return self.counts[part] / (sum(self.counts[name] for name in whole) or 1)

    @property
    def ran_out(self) -> float:
        return self.share("feasible: ran out", "feasible: ran out", "feasible: found")

    @property
    def steady(self) -> float:
        """Of the cases that every run placed, the share that was called Fits."""
        total = self.counts["Fits"] + self.counts["TightFit, never refuted"]
        return self.counts["Fits"] / total if total else 1.0


def judge(item: Judged, line: dict[str, Any], tally: Tally, *, shuffles: int, seeds: int) -> None:
    """Hold one answer against both judges."""
    name, answer, placement = item.case["id"], line["answer"], line.get("placement") or {}
    code = (line.get("reason") or {}).get("code")

    def wrong(what: str) -> None:
        tally.wrong.append(f"{name}: {what}")

    if answer not in ("Fits", "TightFit", "No"):
        wrong(f"the answer is {answer!r}")
        return
    if item.feasible is False and answer != "No":
        wrong(f"{answer}, but there is no placement")
    if item.feasible is True:
        if answer != "No":
            tally.counts["feasible: found"] += 1
        elif code == "SearchBound":
            tally.counts["feasible: ran out"] += 1
        else:
            wrong(f"No ({code}), but there is a placement: {exactfit.solve(item.case).placement}")
    if answer == "No":
        tally.counts["No"] += 1
        if not code or not line["reason"].get("message"):
            wrong("No without a reason")
        return
    refusal = schedulerjudge.replay(item.case, placement)
    if refusal is not None:
        wrong(f"{answer}, but its placement fails: {refusal}")
    failure = schedulerjudge.first_failure(item.case, shuffles=shuffles, seeds=seeds)
    if answer == "Fits":
        tally.counts["Fits"] += 1
        if failure is not None:
            order, scoring, seed, left_out = failure
            wrong(f"Fits, but the order {order} with {scoring} (seed {seed}) leaves out {', '.join(left_out)}")
    else:
        tally.counts["TightFit, never refuted" if failure is None else "TightFit, refuted"] += 1


def judge_all(cases: Sequence[Judged], lines: Sequence[dict[str, Any]], *, shuffles: int = 2, seeds: int = 1) -> Tally:
    tally = Tally()
    assert [line["id"] for line in lines] == [item.case["id"] for item in cases]
    for item, line in zip(cases, lines, strict=True):
        judge(item, line, tally, shuffles=shuffles, seeds=seeds)
    return tally


@pytest.mark.parametrize("start", range(0, SHORT, CHUNK))
def test_every_answer_stands_before_the_solver_and_the_scheduler(
    start: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = judged(range(start, start + CHUNK))
    path = write_cases(tmp_path / "cases.jsonl", cases)
    tally = judge_all(cases, answers(run(capfd, "fit", "--cases", path, "--format", "json")))
    assert tally.wrong == []
    assert tally.counts["feasible: ran out"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "large"), [(range(1000, 1300), False), (range(50), True)])
def test_hundreds_of_answers_stand_and_few_are_too_careful(
    seeds: range, large: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = judged(seeds, large=large)
    path = write_cases(tmp_path / "cases.jsonl", cases)
    lines = answers(run(capfd, "fit", "--cases", path, "--format", "json"))
    tally = judge_all(cases, lines, shuffles=6, seeds=2)
    assert tally.wrong == []
    assert tally.ran_out <= RAN_OUT
    assert tally.steady >= STEADY


def test_the_same_cases_give_the_same_bytes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_cases(tmp_path / "cases.jsonl", judged(range(12)))
    first = run(capfd, "fit", "--cases", path, "--format", "json")
    assert first.code == 0, first.err
    assert run(capfd, "fit", "--cases", path, "--format", "json").out == first.out


@pytest.mark.parametrize(
    ("cpu", "answer", "placement", "found"),
    [
        ("3", "TightFit", {"rc-w": "b", "rc-h": "a"}, []),
        ("4", "Fits", {"rc-w": "b", "rc-h": "a"}, ["Fits, but the order given"]),  # h goes to the roomier b
        ("3", "Fits", {"rc-h": "b", "rc-w": "b"}, ["its placement fails"]),
        ("3", "Fits", {"rc-w": "b"}, ["its placement fails"]),
        ("3", "No", {}, ["there is a placement"]),
        ("5", "TightFit", {"rc-w": "b", "rc-h": "a"}, ["there is no placement", "its placement fails"]),
        ("3", "Maybe", {}, ["the answer is 'Maybe'"]),
    ],
)
def test_a_wrong_answer_is_found(cpu: str, answer: str, placement: dict[str, str], found: list[str]) -> None:
    def container(amount: str) -> list[dict[str, Any]]:
        return [{"name": "c", "resources": {"requests": {"cpu": amount}}}]

    case = {
        "id": "x",
        "nodes": [
            {"metadata": {"name": name}, "status": {"allocatable": {"cpu": room, "memory": "1Gi", "pods": "9"}}}
            for name, room in (("a", "3"), ("b", "4"))
        ],
        "pods": [
            {"metadata": {"name": name}, "spec": {"containers": container(amount)}}
            for name, amount in (("rc-h", "2"), ("rc-w", cpu))
        ],
    }
    item = Judged(case, exactfit.solve(case).feasible, "as_drawn", ())
    line = {"id": "x", "answer": answer, "placement": placement, "reason": {"code": "Any", "message": "any"}}
    tally = judge_all([item], [line])
    assert len(tally.wrong) == len(found), tally.wrong
    assert all(part in problem for part, problem in zip(found, tally.wrong, strict=True))


def main(args: Sequence[str] | None = None) -> int:
    """Judge any range of seeds from the command line; exit 1 on any wrong answer."""
    parser = argparse.ArgumentParser(description="Judge `gitplacer fit` on generated cases.")
    parser.add_argument("--seeds", default="0:2000", metavar="FROM:TO")
    parser.add_argument("--large", action="store_true", help="6 to 14 nodes and up to 30 pods in a group")
    parser.add_argument("--shuffles", type=int, default=6)
    parser.add_argument("--ties", type=int, default=2, metavar="SEEDS")
    options = parser.parse_args(args)
    start, end = map(int, options.seeds.split(":"))
    cases = judged(range(start, end), large=options.large)
    with tempfile.TemporaryDirectory() as folder:
        path = write_cases(Path(folder, "cases.jsonl"), cases)
        lines = answers(run_apart("fit", "--cases", path, "--format", "json"))
    tally = judge_all(cases, lines, shuffles=options.shuffles, seeds=options.ties)
    for problem in tally.wrong:
        print(problem)
    print(f"{len(cases)} cases, {len(tally.wrong)} wrong; {dict(sorted(tally.counts.items()))}")
    print(f"Fits among what every run placed: {tally.steady:.1%}; search ran out: {tally.ran_out:.1%} of the feasible")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
