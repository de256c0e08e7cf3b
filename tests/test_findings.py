"""
However much is wrong with a document, it is read once, counted whole and told in a hundred lines; hints stay short.

A manifest of a few megabytes can be wrong in a hundred thousand places. What is promised here is how much is told and how
often its text is looked at, which is what the time depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import rules, workloads
from gitplacer.documents import LISTED, Document, Findings, document, parse
from gitplacer.problems import Problem, Severity, nearest
from gitplacer.source import files
from gitplacer.source.alike import unlike

CLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: a}}
spec:
  {}
  headGroupSpec: {{template: {{spec: {{containers: [{{name: h, resources: {{requests: {{cpu: 1, memory: 1Gi{}}}}}}}]}}}}}}
  workerGroupSpecs:
"""
GROUP = "  - {{groupName: {}, maxReplicas: 1, template: {{spec: {{containers: [{{name: w, resources: {{requests: {{cpu: 1, memory: 1Gi}}}}}}]}}}}}}\n"


def document_of(text: str) -> Document:
    data = text.encode()
    [item] = parse(data).documents
    return Document("f.yaml", item, 0, lambda: data)


def sized(found: Document) -> list[Problem]:
    return workloads.read(found)[1]


def cluster(groups: list[str], fields: str = "suspend: false", requests: str = "") -> str:
    return CLUSTER.format(fields, requests) + "".join(GROUP.format(name) for name in groups)


def job(rules: int) -> str:
    rule = "{{policy: DeleteCluster, condition: {{jobStatus: {}}}}}"
    listed = ", ".join([rule.format("SUCCEEDED"), *[rule.format("FAILED")] * rules])
    strategy = f"deletionStrategy: {{deletionRules: [{listed}]}}"
    spec = f"spec: {{entrypoint: a, {strategy}, rayClusterSpec: {{}}}}"
    return f"apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {{name: a}}\n{spec}\n"


def settings(key: str, number: int) -> str:
    body = "".join(f"  k{n}: '{key}'\n" for n in range(number))
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{body}"


MANY = 500

WRONG = [
    ("DuplicateGroupName", sized, cluster(["a"] * (MANY + 1))),
    ("InvalidQuantity", sized, cluster([], requests="".join(f", x/r{n}: 1Q" for n in range(MANY)))),
    ("InvalidDeletion", rules.check, job(MANY + 1)),
    ("InvalidWorkerGroupName", rules.check, cluster([f"a_{n}" for n in range(MANY)])),
    ("EnginesDisagree", unlike, f"apiVersion: v1\nkind: X\nspec: [{', '.join(['null'] * MANY)}]\n"),
]


@pytest.mark.parametrize(("code", "read", "text"), WRONG)
def test_a_hundred_problems_are_told_and_the_others_counted(
    code: str, read: Callable[[Document], list[Problem]], text: str
) -> None:
    found = [problem for problem in read(document_of(text)) if problem.severity is Severity.ERROR]
    [more] = [problem for problem in found if problem.code == "TooManyFaults"]
    listed = [problem for problem in found if problem.code == code]
    beyond = code == "DuplicateGroupName"  # so many worker groups are a problem by themselves
    assert len(listed) + int(more.message.split()[0]) == MANY + beyond
    assert len(listed) == LISTED
    assert len(found) == LISTED + 1


def test_flux_variables_are_told_by_their_own_code() -> None:
    """So that whoever drops them, for another engine or because they are allowed, drops all of them."""
    found = rules.check(document_of(settings("${A}", MANY)))
    assert {(problem.code, problem.severity) for problem in found} == {("FluxVariable", Severity.WARNING)}
    assert len(found) == LISTED + 1
    assert [p.message for p in found if "data.k" not in p.message] == ["400 more places hold ${…}"]


@pytest.mark.parametrize(("text", "looks"), [(settings("${A}", MANY), 1), (cluster(["a_b"] * MANY), 1)])
def test_a_text_is_looked_at_once_for_all_positions(text: str, looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    read = files.read_file(text.encode(), 4 << 20)
    assert len(read.problems[0]) > LISTED
    assert len(seen) == looks


def test_items_of_a_list_share_the_text_that_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counted(monkeypatch)
    item = "- {apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: 3}}\n"
    read = files.read_file(("apiVersion: v1\nkind: List\nitems:\n" + item * 200).encode(), 4 << 20)
    assert [problems[0].location.line for problems in read.problems] == list(range(4, 204))
    assert len(seen) == 1


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are composed with marks from now on."""
    document._sheet.cache_clear()
    seen: list[str] = []
    marked = document.marked

    def counting(text: str) -> Any:
        seen.append(text)
        return marked(text)

    monkeypatch.setattr(document, "marked", counting)
    return seen


# Findings

REPORTS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 40), st.sampled_from(Severity)), max_size=400)


@given(reports=REPORTS)
def test_nothing_is_lost_and_an_error_stays_one(reports: list[tuple[str, int, Severity]]) -> None:
    text = document_of("".join(f"k{n}: v\n" for n in range(41)))
    findings = Findings(text)
    for said, key, severity in reports:
        findings.report("InvalidValue", said, path=(f"k{key}",), severity=severity)
    told = findings.told()
    different = {(said, key) for said, key, _ in reports}
    assert len(told) == min(len(different), LISTED + 1)
    assert findings.more == max(len(different) - LISTED, 0)
    first = dict[tuple[str, int], Severity]()
    for said, key, severity in reports:
        first.setdefault((said, key), severity)
    assert (Severity.ERROR in {p.severity for p in told}) == (Severity.ERROR in first.values())
    assert findings.errors == sum(severity is Severity.ERROR for *_, severity in reports)


def test_warnings_that_are_not_listed_hold_nothing() -> None:
    findings = Findings(document_of("a: b\n"))
    for number in range(LISTED + 2):
        findings.report("NoHosts", str(number), severity=Severity.WARNING)
    assert {problem.severity for problem in findings.told()} == {Severity.WARNING}
    findings.report("NoHosts", "at last")
    [error] = [problem for problem in findings.told() if problem.severity is Severity.ERROR]
    assert (error.code, error.message) == ("TooManyFaults", "3 more problems of this object, not listed")


# positions


@given(lines=st.lists(st.sampled_from(["a", "é: 'é'", "# ü", ""]), max_size=6), bom=st.booleans())
def test_a_position_is_where_an_editor_shows_it(lines: list[str], bom: bool) -> None:
    """Of the second document, behind text of any sort."""
    first = "".join(f"{line}\n" for line in lines if line != "a")
    text = ("\ufeff" if bom else "") + f"x: y\n{first}---\n# é\nkey: {{in: 1, é: {{b: 2}}}}\n"
    data = text.encode()
    items = parse(data).documents
    place = Document("f.yaml", items[-1], 1, lambda: data).locate(("key", "é", "b"))
    shown = text.removeprefix("\ufeff").split("\n")
    assert shown[place.line - 1][place.column - 1 :] == "2}}"


# hints


def test_a_hint_names_ten_choices_at_most() -> None:
    assert nearest("zz", ["a", "b"]) == "known here: a, b"
    assert nearest("zz", "abcdefghij") == "known here: a, b, c, d, e, f, g, h, i, j"
    assert nearest("zz", "abcdefghijkl") == "known here: a, b, c, d, e, f, g, h, i, j … and 2 more"
    assert nearest("zz", []) == ""


@pytest.mark.parametrize(("number", "near"), [(200, True), (201, False)])
def test_letters_are_compared_with_few_choices_only(number: int, near: bool) -> None:
    choices = [f"worker-group-{n}" for n in range(number)]
    assert nearest("worker-gruop-1", choices).startswith("did you mean") is near
    assert nearest("Worker-Group-1", choices) == 'did you mean "worker-group-1"?'
    assert nearest("worker-group-1" * 100, choices).startswith("known here")


def test_groups_that_a_network_policy_misspells_are_told_ten_times() -> None:
    strangers = ", ".join(f"{{groupName: b{n}}}" for n in range(30))
    policy = f"networkPolicy: {{mode: DenyAllIngress, workerGroups: [{strangers}]}}"
    found = rules.check(document_of(cluster([f"a{n}" for n in range(30)], policy)))
    told = [problem.message for problem in found if problem.code == "InvalidNetworkPolicy"]
    assert len(told) == 11
    assert "20 more name worker groups that there are not" in told


def test_every_text_here_is_yaml_that_has_no_other_fault() -> None:
    for _, _, text in WRONG:
        assert yaml.safe_load(text)
