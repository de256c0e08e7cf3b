"""
What came of running scenarios: for people as pytest would say it, for programs, and as JUnit XML, which every CI shows.

First one line for each scenario, then what was not as expected, then what is idle among the policies. The last line counts, and is
the one to grep for. There are no durations in it: the same source gives the same report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as Xml

from gitplacer.explain import LONGEST_SENTENCE, problem_lines
from gitplacer.formats.options import Options, Style
from gitplacer.formats.planjson import problem_value, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.trial import Failure, Report, Trial, TrialResult
from gitplacer.plaintext import LONGEST_PATH, printable
from gitplacer.problems import Problem

FORMAT_VERSION = "1.0"
_ALIKE = 3
"""How many failures of one expectation are shown whole: without each of fifty clusters it may fail alike."""
_WORDS = {
    TrialResult.PASSED: ("passed", "green"),
    TrialResult.FAILED: ("FAILED", "red"),
    TrialResult.ERROR: ("ERROR", "red"),
}


def as_text(report: Report, options: Options) -> str:
    """The whole report, each line ending in a newline."""
    return "".join(trial_line(trial, options) for trial in report.trials) + conclusion(report, options)


def trial_line(trial: Trial, options: Options) -> str:
    """What came of one scenario, in a line."""
    word, colour = _WORDS[trial.verdict]
    steps = len(trial.steps)
    more = f" ({trial.passes} passes)" if trial.passes > max(steps, 1) else ""
    return f"{options.style(word.ljust(6), colour)}  {printable(trial.name)}: {printable(trial.title)}{more}\n"


def conclusion(report: Report, options: Options) -> str:
    """All after the lines of the scenarios."""
    blocks = [list(_failed(trial, options.style)) for trial in report.trials if trial.verdict is not TrialResult.PASSED]
    if report.unreadable:
        blocks.append([line for problem in report.unreadable for line in problem_lines(problem)])
    if report.idle:
        blocks.append([line for problem in report.idle for line in problem_lines(problem)])
    blocks.append([summary(report)])
    lines = [line for block in blocks for line in (*([""] if report.trials or block is not blocks[0] else []), *block)]
    return "\n".join(lines) + "\n"


def summary(report: Report) -> str:
    """`1 failed, 1 error, 2 passed, 1 warning`; what there is none of is left out."""
    failed, errors, passed = (report.count(v) for v in (TrialResult.FAILED, TrialResult.ERROR, TrialResult.PASSED))
    warnings = len(report.idle)
    parts = [
        f"{failed} failed" if failed else "",
        f"{errors} error{'s' if errors != 1 else ''}" if errors else "",
        f"{passed} passed" if passed else "",
        f"{warnings} warning{'s' if warnings != 1 else ''}" if warnings else "",
    ]
    return ", ".join(part for part in parts if part) or "no scenarios"


def _failed(trial: Trial, style: Style) -> Iterator[str]:
    word, colour = _WORDS[trial.verdict]
    yield style(f"{word} {printable(trial.name)}: {printable(trial.title)}", colour)
    for problem in trial.broken:
        yield from problem_lines(problem)
    for step in trial.steps:
        alike: dict[str, int] = {}
        for failure in step.failures:
            place = str(failure.problem.location)
            alike[place] = alike.get(place, 0) + 1
            if alike[place] <= _ALIKE:
                yield from _failure(failure)
        for place, count in alike.items():
            if count > _ALIKE:
                yield f"{printable(place, LONGEST_PATH)}: and {count - _ALIKE} more like this"


def _failure(failure: Failure) -> Iterator[str]:
    problem = failure.problem
    yield f"{printable(str(problem.location), LONGEST_PATH)}: {printable(problem.message, LONGEST_SENTENCE)}"
    if problem.hint:
        because = problem.code == "ScenarioDiffers" and failure.details
        yield f"  {'because' if because else 'hint'}: {printable(problem.hint, LONGEST_SENTENCE)}"
    yield from (f"  {printable(line, LONGEST_SENTENCE)}" for line in failure.details)


def as_json(report: Report, options: Options) -> str:
    """A document with all of it; problems as in the plan."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "TestReport",
        "formatVersion": FORMAT_VERSION,
        "summary": {
            "passed": report.count(TrialResult.PASSED),
            "failed": report.count(TrialResult.FAILED),
            "errors": report.count(TrialResult.ERROR),
            "warnings": len(report.idle),
        },
        "scenarios": [
            {
                "name": trial.name,
                "title": trial.title,
                "file": trial.location.file,
                "line": trial.location.line,
                "verdict": str(trial.verdict),
                "steps": [
                    {
                        "title": step.title,
                        "passes": step.passes,
                        "failures": [
                            {**problem_value(failure.problem), "details": list(failure.details)}
                            for failure in step.failures
                        ],
                    }
                    for step in trial.steps
                ],
                "problems": [problem_value(problem) for problem in trial.broken],
            }
            for trial in report.trials
        ],
        "problems": [problem_value(problem) for problem in report.unreadable],
        "policies": [problem_value(problem) for problem in report.idle],
    }
    return to_json(document, indent=2)


def as_junit(report: Report, options: Options) -> str:
    """A suite for each scenario and a case for each of its steps; a scenario that is broken has one case more, with the error."""
    root = Xml.Element("testsuites", name="gitplacer test")
    for trial in report.trials:
        _suite(root, trial)
    if report.unreadable:
        suite = _counted(root, "files", [(1, 0, 1)] * len(report.unreadable))
        for problem in report.unreadable:
            case = _case(suite, "files", printable(problem.location.file, LONGEST_PATH), problem.location.file, 1)
            _tell(case, "error", [Failure(problem)])
    if report.idle:
        suite = _counted(root, "policies", [])
        said = Xml.SubElement(suite, "system-out")
        said.text = "\n".join(line for problem in report.idle for line in problem_lines(problem))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _suite(root: Xml.Element, trial: Trial) -> None:
    counts = [(1, bool(step.failures), 0) for step in trial.steps] + ([(1, 0, 1)] if trial.broken else [])
    suite = _counted(root, printable(trial.name), counts)
    file, line = trial.location.file, trial.location.line
    for number, step in enumerate(trial.steps, 1):
        place = step.failures[0].problem.location.line if step.failures else line
        case = _case(suite, trial.name, f"{number}. {step.title}", file, place)
        if step.failures:
            _tell(case, "failure", step.failures)
    if trial.broken:
        place = trial.broken[0].location.line
        _tell(_case(suite, trial.name, trial.title, file, place), "error", [Failure(p) for p in trial.broken])


def _counted(root: Xml.Element, name: str, counts: Sequence[tuple[int, int, int]]) -> Xml.Element:
    tests, failures, errors = [sum(column) for column in zip(*counts, strict=True)] if counts else [0, 0, 0]
    return Xml.SubElement(
        root, "testsuite", name=name, tests=str(tests), failures=str(failures), errors=str(errors), skipped="0", time="0"
    )  # fmt: skip


def _case(suite: Xml.Element, scenario: str, name: str, file: str, line: int) -> Xml.Element:
    where = {"file": printable(file, LONGEST_PATH), "line": str(line), "time": "0"}
    return Xml.SubElement(suite, "testcase", classname=printable(scenario), name=printable(name), attrib=where)


def _tell(case: Xml.Element, what: str, failures: Sequence[Failure]) -> None:
    first: Problem = failures[0].problem
    found = Xml.SubElement(case, what, message=printable(first.message, LONGEST_SENTENCE), type=first.code)
    found.text = "\n".join(line for failure in failures for line in _failure(failure))
