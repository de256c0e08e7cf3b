"""Expressions about plans: what they mean, what is refused before anything runs, that they end, and why one is false."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.scenarios.cel import Facts, Mistake, compiled, evaluating, holds, why_false
from gitplacer.scenarios.cel.vocabulary import VARIABLES

PLAN = Path(__file__).parent / "golden/plan/example.json"


@cache
def plan() -> dict[str, Any]:
    """The plan of the example fleet, as it is printed."""
    found: dict[str, Any] = json.loads(PLAN.read_text("utf-8"))
    return found


def about(text: str, **more: Any) -> bool:
    return holds(compiled(text), Facts({**plan(), **more}))


def refused(text: str) -> str:
    """Where a text is wrong, and what is said of it."""
    with pytest.raises(Mistake) as error:
        about(text)
    return f"{error.value.line}:{error.value.column}: {error.value.message}; {error.value.hint}".removesuffix("; ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 == 1.0", True),
        ("1 in [1.0]", True),
        ("'a' == 1", False),  # two types are unequal, not an error
        ("[1, 'a', null] == [1.0, 'a', null]", True),
        ("{'a': [1]} == {'a': [1.0]}", True),
        ("true == 1", False),
        ("'é'.size() == 1", True),  # characters, not bytes
        ("5 / 2 == 2 && -5 % 3 == -2", True),
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 || true", True),
        ("1 / 0 == 1 && false", False),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[0, 1].all(x, 1 / x == 2)", False),
        ("[1, 2, 3].exists_one(x, x > 2)", True),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", True),
        ("'abc'.matches('^a.c$')", True),
        ("{'b': 1, 'a': 2}.map(k, k) == ['b', 'a']", True),  # in the order in which it is written
        ("timestamp('2026-01-02T03:04:05Z') - duration('1h') < timestamp('2026-01-02T03:00:00Z')", True),
        ("'''it's''' == \"it's\" // and a comment with \"", True),
        ("[].all(x, false) && ![].exists(x, true)", True),
    ],
)
def test_the_language_means_what_its_definition_says(text: str, value: bool) -> None:
    assert about(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("groups.size() == 13 && plan.groups == groups", True),
        ("summary.Place + summary.Wait == groups.size()", True),
        ("group('production/text-summarizer').to == ['static-cluster']", True),
        ("cluster('static-cluster').state == 'Active'", True),
        ("region('standby-cluster') == 'us-east-2'", True),
        ("label('standby-cluster', 'cluster.class') == 'production' && label('standby-cluster', 'none') == ''", True),
        ("quantity('1Gi') == 1024 * 1024 * 1024 && quantity('500m') == 0.5", True),
        ("quantity({'cpu': '2'}, 'cpu') == 2 && quantity({'cpu': '2'}, 'memory') == 0", True),
        ("quantity(cluster('static-cluster').allocatable, 'nvidia.com/gpu') > 0", True),
        ("has(inputs.source) && 'cluster.class' in cluster('static-cluster').labels", True),
        ("problems == [] && clusters == [] && lost == [] && drained == []", True),
        ("inputs.now.startsWith('2026-')", True),
        ("group('production/text-summarizer').reason == {'code': 'Fits', 'message': 'fits'}", True),
        (
            "cluster('static-cluster').labels.exists(k, k.startsWith('cluster.') && cluster('static-cluster').labels[k] == 'training')",
            True,
        ),
        ("cluster('static-cluster').free == cluster('static-cluster').free && summary != {}", True),
    ],
)
def test_the_words_of_a_plan_can_be_used(text: str, value: bool) -> None:
    assert about(text) is value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group == 1", '1:1: there is no "group" here; did you mean "groups"?'),
        ("groups.all(g, g.polcy == '')", '1:17: there is no field "polcy"; did you mean "policy"?'),
        ("groups.all(g, has(g.polcy))", '1:21: there is no field "polcy"; did you mean "policy"?'),
        ("groups.all(g,\n  g.reason.cod == '')", '2:12: there is no field "cod"; did you mean "code"?'),
        ("group('a/b').tow == []", '1:14: there is no field "tow"; did you mean "to"?'),
        ("plan['group'] == []", '1:6: there is no field "group"; did you mean "groups"?'),
        ("groups.all(g, g.action != 'Waits')", '1:27: it is never "Waits"; did you mean "Wait"?'),
        ("groups.all(g, g.action in ['Wait', 'Hodl'])", '1:36: it is never "Hodl"; did you mean "Hold"?'),
        ("groups.al(g, true)", '1:8: there is no "al" to call; did you mean "all"?'),
        ("regoin('a') == ''", '1:1: there is no function "regoin"; did you mean "region"?'),
        ("region('a', 'b') == ''", "1:1: region takes 1 argument, not 2"),
        ("groups.all(true)", "1:1: all takes a name and an expression; such as all(x, x …)"),
        ("groups.map(g, true, g) == []", "1:1: map takes a name and an expression; write filter(…).map(…)"),
        ("groups", "1:1: must be true or false, and is a list; compare it"),
        ("groups.size() && true", "1:1: must be true or false, and is a number"),
        ("groups.all(g, g.to)", "1:15: must be true or false for each element, and is a list"),
        ("groups.filter(g, g.to.size()) == []", "1:18: must be true or false for each element, and is a number"),
        ("summary.Place.all(x, true)", "1:1: a number has no elements for all"),
        ("has(groups)", "1:1: has takes a field; such as has(inputs.source)"),
        (".groups == []", "1:1: is CEL for messages and packages, which a plan does not have; use fields and functions"),
        ("1 ==", "1:5: is not CEL: it ends too early"),
        ("1 == )", '1:6: is not CEL: ")" is not expected here'),
        ("'a' == 'b", "1:8: is not CEL: the string that begins here does not end"),
        ("groups ==\n  'a\n'", "2:3: is not CEL: the string that begins here does not end"),
    ],
)  # fmt: skip
def test_what_no_plan_can_answer_is_refused_at_its_place(text: str, said: str) -> None:
    with pytest.raises(Mistake) as error:
        compiled(text)
    found = f"{error.value.line}:{error.value.column}: {error.value.message}; {error.value.hint}"
    assert found.removesuffix("; ").startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group('production/text-sumarizer').to == []", '1:1: there is no group "production/text-sumarizer"; did you mean "production/text-summarizer"?'),
        ("region('static') == ''", '1:1: there is no cluster "static"; did you mean "static-cluster"?'),
        ("groups[99].to == []", "1:1: the list has no such element"),
        ("cluster('static-cluster').labels.none == ''", "1:1: there is no key 'none'"),
        ("cluster('static-cluster').labels['none'] == ''", "1:1: there is no key none"),
        ("1 / 0 == 1", "1:1: divides by zero"),
        ("'a' < 1", "1:1: these values cannot be combined like this"),
        ("quantity('many') > 1", '1:1: "many" is not a Kubernetes quantity'),
        ("groups.all(g, dyn(g.to))", "1:1: must be true or false"),
        ("dyn(1)", "1:1: must be true or false, and is 1; compare it"),
        ("has(dyn(groups).to)", "1:5: has() looks into mappings only"),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_an_evaluation_is_said_in_words(text: str, said: str) -> None:
    assert refused(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "groups.all(a, groups.all(b, groups.all(c, groups.all(d, groups.all(e, true)))))",
        "['aaaaaaaa']" + ".map(x, x + x)" * 50 + " == []",
        "[['a']]" + ".map(x, x + x)" * 50 + " == []",
        "fleet.all(a, groups.all(b, fleet.all(c, groups == groups)))",
    ],
)
def test_an_expression_that_would_not_end_is_ended(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating.Steps.__init__, "__defaults__", (20_000,))
    assert "takes more than 20000 steps" in refused(text)


@pytest.mark.parametrize(
    "text",
    ["(" * 100 + "true" + ")" * 100, " && ".join(["true"] * 200), "[" * 1500, '"' + r"\n" * 1900, "!" * 200 + "true"],
)
def test_a_text_that_is_too_deep_or_torn_is_refused_at_once(text: str) -> None:
    assert "nests more than" in refused(text) or "is not CEL" in refused(text)


@given(st.text(alphabet="groups.all(g, true)'\"\\/=[]{}?:!&|<>+-*%0123456789 \n", max_size=60))
@settings(deadline=None, max_examples=150)
def test_whatever_is_written_it_is_true_or_false_or_a_mistake(text: str) -> None:
    try:
        assert about(text) in (True, False)
    except Mistake as error:
        assert error.message and error.line >= 1 and error.column >= 1


_NUMBERS = st.recursive(
    st.integers(-9, 9).map(lambda n: (f"({n})", n)),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(
        lambda made: (f"({made[0][0]} {made[1]} {made[2][0]})", eval(f"{made[0][1]}{made[1]}({made[2][1]})"))
    ),
    max_leaves=6,
)


@given(st.lists(_NUMBERS, max_size=4), st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), _NUMBERS)
@settings(deadline=None, max_examples=30)
def test_comprehensions_agree_with_python(items: list[tuple[str, int]], operator: str, other: tuple[str, int]) -> None:
    text = f"[{', '.join(written for written, _ in items)}]"
    truths = [eval(f"({value}) {operator} ({other[1]})") for _, value in items]
    body = f"x {operator} {other[0]}"
    assert about(f"{text}.all(x, {body})") is all(truths)
    assert about(f"{text}.exists(x, {body})") is any(truths)
    assert about(f"{text}.exists_one(x, {body})") is (sum(truths) == 1)
    assert about(f"{text}.filter(x, {body}).size() == {sum(truths)}")


WHY = [
    ("summary.Place == 99 && true", ["summary.Place is 13"]),
    ("!(groups.size() == 13)", ["groups.size() is 13"]),
    ("summary.Wait > 5 || lost == ['a']", ["summary.Wait is 0", "lost is []"]),
    ("problems.exists(p, p.line == 1)", ["problems is empty"]),
    ("fleet.size() > 1 ? lost == ['b'] : true", ["fleet.size() > 1 is true", "lost is []"]),
    (
        'groups.all(g, g.policy != "production" || g.to.all(c, region(c) == "eu"))',
        [
            "false for 1 of 13 in groups: production/text-summarizer",
            "with g = production/text-summarizer, Place: fits",
            '  g.policy is "production"',
            '  false for 1 of 1 in g.to: "static-cluster"',
            '  with c = "static-cluster"',
            '    region(c) is "us-west-2"',
        ],
    ),
    (
        '!fleet.exists(c, c.cluster == "static-cluster")',
        [
            "true for 1 of 7 in fleet: static-cluster",
            "with c = static-cluster",
            '  c.cluster is "static-cluster"',
        ],
    ),
    (
        'fleet.exists_one(c, region(c.cluster) == "us-east-2" || c.cluster == "static-cluster")',
        ["true for 2 of 7 in fleet: standby-cluster and static-cluster"],
    ),
    (
        'fleet.exists(c, c.state == "Lost")',
        [
            "false for each of 7 in fleet: dynamic-cluster, eks-workload-cluster, gke-workload-cluster, ingestion-cluster, "
            "standby-cluster and 2 more",
            "with c = dynamic-cluster",
            '  c.state is "Active"',
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), WHY)
def test_what_is_false_is_explained_down_to_what_was_compared(text: str, lines: list[str]) -> None:
    expression, facts = compiled(text), Facts(plan())
    assert not holds(expression, facts)
    assert list(why_false(expression, facts)) == lines


def test_an_explanation_shows_nothing_that_moves_a_terminal() -> None:
    hostile = {**plan(), "problems": [{**_PROBLEM, "message": "\x1b[31mred\n::error::"}]}
    expression = compiled("problems.all(p, p.message == '')")
    said = "".join(why_false(expression, Facts(hostile)))
    assert "\x1b" not in said and "\n" not in said and "\\x1b" in said


_PROBLEM = {"severity": "error", "code": "C", "file": "f", "line": 1, "column": 1, "message": "", "hint": ""}


def test_every_variable_is_a_key_of_the_plan() -> None:
    assert set(VARIABLES) == set(plan()) - {"apiVersion", "kind", "formatVersion"}
