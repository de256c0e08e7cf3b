"""Problems for machines: GitHub's annotations, SARIF and GitLab's code quality report, whatever stands in a message."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attr
import pytest
import sarif_om
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.formats import PROBLEM_FORMATS
from gitplacer.formats.options import Options
from gitplacer.formats.sarif import MOST, SHOWN, as_uri, sarif_log
from gitplacer.problemcodes import CODES
from gitplacer.problems import Location, Problem, Severity
from tests.commands import make_repo, run, starter

PLAIN = Options()
BROKEN = {
    "policies/b.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: b}\nspec:\n  selec: {}\n"
}


def problem(
    message: str = "is wrong", file: str = "a.yaml", line: int = 3, code: str = "UnknownField", **more: Any
) -> Problem:
    return Problem(Location(file, line, 5), code, message, **more)


def warnings(count: int) -> list[Problem]:
    return [problem(f"odd {i}", severity=Severity.WARNING) for i in range(count)]


# annotations


def commands(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Workflow commands as GitHub's runner reads them: type, properties, message."""
    for line in text.split("\n")[:-1]:
        found = re.fullmatch(r"::(\w+) ([^\r]*?)::([^\r\n]*)", line)
        assert found, line
        fields = dict(part.split("=", 1) for part in found[2].split(","))
        yield found[1], {key: unescaped(value) for key, value in fields.items()}, unescaped(found[3])


def unescaped(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, char)
    return text


@given(st.text(max_size=60), st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_whatever_a_problem_says_it_is_one_annotation(message: str, hint: str, file: str) -> None:
    (found,) = commands(PROBLEM_FORMATS["github"]([problem(message, file, hint=hint)], PLAIN))
    assert found[0] == "error" and found[1].keys() == {"file", "line", "col", "title"}
    assert (found[1]["line"], found[1]["title"]) == ("3", "UnknownField")


@pytest.mark.parametrize(
    "text",
    ["100%", "%0A::error::x", "a\r\n::set-output name=x::y", "::add-mask::a", "a,line=9", "a:b::c", "##[error]x"],
)
def test_no_text_can_give_a_command_or_a_property_of_its_own(text: str) -> None:
    out = PROBLEM_FORMATS["github"]([problem(text, text, hint=text)], PLAIN)
    ((kind, fields, said),) = commands(out)
    assert (kind, fields["line"], fields["col"]) == ("error", "3", "5")
    assert said.count("\n") == 1 and said.partition("\n")[2].startswith("hint: ")


def test_errors_come_first_and_what_github_leaves_out_is_said() -> None:
    few = PROBLEM_FORMATS["github"]([*warnings(10), problem()], PLAIN)
    assert few.startswith("::error ") and "::notice" not in few
    many = list(commands(PROBLEM_FORMATS["github"]([*warnings(11), problem()], PLAIN)))
    assert len(many) == 13
    assert many[-1][0] == "notice"
    assert many[-1][2].startswith("1 error and 11 warnings; GitHub shows 10 errors and 10 warnings")


# SARIF

_NESTED = {
    "runs": sarif_om.Run, "tool": sarif_om.Tool, "driver": sarif_om.ToolComponent, "rules": sarif_om.ReportingDescriptor,
    "invocations": sarif_om.Invocation, "toolExecutionNotifications": sarif_om.Notification, "results": sarif_om.Result,
    "message": sarif_om.Message, "shortDescription": sarif_om.MultiformatMessageString,
    "fullDescription": sarif_om.MultiformatMessageString, "help": sarif_om.MultiformatMessageString,
    "defaultConfiguration": sarif_om.ReportingConfiguration, "locations": sarif_om.Location,
    "physicalLocation": sarif_om.PhysicalLocation, "artifactLocation": sarif_om.ArtifactLocation, "region": sarif_om.Region,
}  # fmt: skip


def assert_sarif(value: dict[str, Any], kind: Any = sarif_om.SarifLog) -> None:
    """Every object has the properties that the object model of the standard has, and all that it requires."""
    known = {field.metadata["schema_property_name"]: field for field in attr.fields(kind)}
    assert value.keys() <= known.keys(), kind
    assert {name for name, field in known.items() if field.default is attr.NOTHING} <= value.keys(), kind
    for key, inner in value.items():
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, dict) and key != "partialFingerprints":
                assert_sarif(item, _NESTED[key])


def test_sarif_is_what_the_standard_has() -> None:
    some = [problem(), problem("odd", severity=Severity.WARNING, hint="mend it", code="CaseTwin")]
    log = json.loads(PROBLEM_FORMATS["sarif"](some, PLAIN))
    assert_sarif(log)
    assert log["version"] == "2.1.0"
    (run_,) = log["runs"]
    rules = run_["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["CaseTwin", "UnknownField"]
    assert rules[0]["shortDescription"]["text"] == CODES["CaseTwin"].title
    assert not any("name" in rule for rule in rules)  # SARIF1001: a name is not what the id is, and ours can be read
    first, second = run_["results"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run_["results"])
    assert first["level"] == "error" and second["level"] == "warning"
    assert second["message"]["text"] == "odd\nhint: mend it"
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "a.yaml", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 3, "startColumn": 5}


def test_no_problems_are_a_run_without_results() -> None:
    log = sarif_log([])
    assert_sarif(log)
    assert log["runs"][0]["results"] == []


def test_a_result_keeps_its_fingerprint_when_lines_move_and_no_two_have_the_same() -> None:
    before = [problem(line=3), problem(line=9), problem("else")]
    after = [problem(line=4), problem(line=10), problem("else", line=1)]
    marks = [[r["partialFingerprints"] for r in sarif_log(some)["runs"][0]["results"]] for some in (before, after)]
    assert marks[0] == marks[1]
    assert len({mark["primaryLocationLineHash"] for mark in marks[0]}) == 3


def test_results_beyond_what_scanners_take_are_counted_and_the_mildest_go() -> None:
    log = sarif_log([*warnings(4), problem()], most=3)
    (run_,) = log["runs"]
    assert_sarif(log)
    assert [r["level"] for r in run_["results"]] == ["error", "warning", "warning"]
    (told,) = run_["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "2 of 5 problems are left out: a run holds 3 results at most"
    assert (MOST, SHOWN) == (25_000, 5_000)
    (shown,) = sarif_log(warnings(SHOWN + 1))["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert shown["message"]["text"] == "of 5001 results GitHub shows the 5000 most severe"


def test_a_message_cannot_be_a_link() -> None:
    (result,) = sarif_log([problem("[click](https://evil.example)", hint="[1](0)")])["runs"][0]["results"]
    assert not re.search(r"\[[^]]*\]\(", result["message"]["text"])


@given(st.text(min_size=1, max_size=80))
def test_a_path_is_a_relative_uri_that_gives_the_path_back(path: str) -> None:
    uri = as_uri(path)
    assert re.fullmatch(r"([A-Za-z0-9._~/-]|%[0-9A-F]{2})*", uri)
    assert urllib.parse.urlsplit(uri).scheme == ""
    assert urllib.parse.unquote(uri) == path.encode("utf-8", "backslashreplace").decode()


# GitLab


def test_gitlab_gets_a_report_with_all_that_it_requires() -> None:
    some = [problem(hint="mend it"), problem(line=9), problem("odd", severity=Severity.WARNING)]
    report = json.loads(PROBLEM_FORMATS["gitlab"](some, PLAIN))
    assert [entry["severity"] for entry in report] == ["major", "major", "minor"]
    assert len({entry["fingerprint"] for entry in report}) == 3
    assert report[0] == {
        "description": "is wrong (hint: mend it)",
        "check_name": "UnknownField",
        "fingerprint": report[0]["fingerprint"],
        "severity": "major",
        "location": {"path": "a.yaml", "lines": {"begin": 3}},
    }
    assert json.loads(PROBLEM_FORMATS["gitlab"]([], PLAIN)) == []


# the command


@pytest.mark.parametrize("output", ["github", "gitlab", "sarif"])
def test_places_are_told_from_the_root_of_the_repository(
    output: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    repo = make_repo(tmp_path / "mono", {f"teams/a/{path}": data for path, data in {**starter(), **BROKEN}.items()})
    ran = run(capfd, "validate", repo, "--path", "teams/a", "--format", output)
    assert ran.code == 1
    assert "teams/a/policies/b.yaml" in ran.out
