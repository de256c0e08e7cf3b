"""Plans and problems as text, Markdown, JSON and annotations: exact, bounded, and deaf to what manifests say."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import structs

from gitplacer.commits import rest_message
from gitplacer.explain import PlanView, sentence, summary
from gitplacer.formats import FORMATS, PROBLEM_FORMATS
from gitplacer.formats.group import explain_group
from gitplacer.formats.markdown import escaped, marker
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import json_lines, plan_document
from gitplacer.formats.planschema import plan_schema
from gitplacer.formats.status import status_json, status_text
from gitplacer.model.decision import Action, Candidate, Finding, NewNodes, Reason, Verdict
from gitplacer.plaintext import aligned, few, one, printable
from gitplacer.problems import Location, Problem, Severity
from tests.planviews import assert_golden, crowded, decision, example, refused, unchanged, view, with_decisions

PLAIN = Options()
HOSTILE = [
    "| a | b |", "<script>alert(1)</script>", "</details>", "`code` ``` fence", "@admin please merge", "#1 GH-2 !3 %4 ~5",
    "![x](http://evil/x.png)", "[x](javascript:alert)", "http://evil.example www.evil.example", "a@evil.example", "$x$ **b** _i_ ~~s~~",
    "\x1b[31mred", "a\r\nb", "\u202egnp.exe", "&lt;b&gt;", "<!-- gitplacer:plan -->", "::error::x", "\\|",
]  # fmt: skip


def as_json(plan: PlanView) -> dict[str, Any]:
    document = json.loads(FORMATS["json"](plan, PLAIN))
    assert isinstance(document, dict)
    return document


# goldens


@pytest.mark.parametrize(("name", "format_"), [("txt", "text"), ("md", "markdown"), ("json", "json")])
@pytest.mark.parametrize("story", ["everything", "example", "unchanged", "crowded"])
def test_a_plan_is_shown(story: str, name: str, format_: str) -> None:
    plan = {"everything": view, "example": example, "unchanged": unchanged, "crowded": crowded}[story]()
    assert_golden(f"{story}.{name}", FORMATS[format_](plan, PLAIN))


def test_a_plan_is_shown_whole_when_asked() -> None:
    assert_golden("everything-verbose.txt", FORMATS["text"](view(), Options(verbose=True)))


@pytest.mark.parametrize("group", ["prod/answers", "lab-b/vision", "jobs/pretrain", "jobs/late"])
def test_who_waits_for_whom_is_told_from_both_sides(group: str) -> None:
    assert_golden(f"explain-{group.replace('/', '-')}.txt", explain_group(crowded(), group))


def test_a_commit_tells_who_had_to_leave_and_for_whom() -> None:
    plan = crowded()
    subject, body, _ = rest_message(plan.plan.decisions, plan, [], {})
    assert subject == "Preempt lab-b/vision, let wait 3 groups"
    assert "- lab-b/vision: leaves main and waits: it makes room for prod/answers, of higher priority" in body


def test_the_fleet_is_shown_as_it_is() -> None:
    assert_golden("status.txt", status_text(view()))
    assert_golden("status.json", json.dumps(status_json(view()), indent=2, ensure_ascii=False) + "\n")


# text


def test_a_plan_that_changes_nothing_is_one_line() -> None:
    assert FORMATS["text"](unchanged(), PLAIN) == "No change: 1 kept\n"


def test_a_plan_that_changes_nothing_still_tells_its_problems() -> None:
    problem = Problem(Location("a.yaml", 3, 7), "Odd", "is odd", "make it even")
    plan = structs.replace(unchanged(), snapshot=replace(unchanged().snapshot, problems=(problem,)))
    assert FORMATS["text"](plan, PLAIN) == "a.yaml:3:7: is odd\n  hint: make it even\nNo change: 1 kept\n"


def test_a_plan_that_only_changes_files_is_no_empty_plan() -> None:
    plan = structs.replace(unchanged(), changed_files={"a": ("clusters/a/platform/gitplacer.yaml",)})
    text = FORMATS["text"](plan, PLAIN)
    assert "1 file changes (a 1)" in text and "No change" not in text


def test_the_last_line_counts_every_group() -> None:
    last = FORMATS["text"](view(), PLAIN).splitlines()[-1]
    assert last == summary(view().plan)
    assert sum(int(n) for n in re.findall(r"\d+", last)) == len(view().plan.decisions)


def test_colour_carries_no_meaning() -> None:
    painted = FORMATS["text"](view(), Options(style=lambda text, colour: f"\x1b[{colour}]{text}\x1b[0]"))
    assert re.sub(r"\x1b\[\w+\]", "", painted) == FORMATS["text"](view(), PLAIN)
    assert painted.count("\x1b") > 10


def test_kept_groups_and_far_clusters_are_folded_until_asked_for() -> None:
    waiting = decision(candidates=tuple(refused(f"c{i:02}", wanted=i + 1) for i in range(20)))
    plan = with_decisions(
        waiting, decision(Action.KEEP, Finding(code=Reason.KEPT), group="ns/kept", before=("a",), after=("a",))
    )
    short, whole = FORMATS["text"](plan, PLAIN), FORMATS["text"](plan, Options(verbose=True))
    assert "and 10 more: 10 InsufficientCapacity" in short and "ns/kept" not in short
    assert "= ns/kept  a" in whole and "c19" in whole


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_deaf_to_what_manifests_say(text: str) -> None:
    for shown in (hostile(text, "text"), explain_group(hostile_view(text), text)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
        assert not re.search(r"(?m)^\s*::", shown)


def hostile_view(text: str) -> PlanView:
    """A plan with somebody's text wherever text of manifests can get to."""
    finding = Finding(code=Reason.NODE_SELECTOR_MISMATCH, subject=text)
    made = decision(
        group=text, policy=text, finding=Finding(code=Reason.OTHER_CLUSTER_WISHED, subject=text), before=(text,),
        blocked_by=(text,), candidates=(Candidate("edge", Verdict.REJECTED, finding),),
    )  # fmt: skip
    plan = with_decisions(made)
    problem = Problem(Location(text, 1, 1), "Odd", text, text)
    return structs.replace(plan, snapshot=replace(plan.snapshot, problems=(problem,)), changed_files={"a": (text,)})


def hostile(text: str, format_: str) -> str:
    return FORMATS[format_](hostile_view(text), PLAIN)


# Markdown

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HARMLESS = {"text", "softbreak", "hardbreak", "strong_open", "strong_close"}


class _Html(HTMLParser):
    """Collects tags of the HTML that is in a comment."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def html_tags(markdown: str) -> list[str]:
    parser = _Html()
    parser.feed(MARKDOWN.render(markdown))
    return parser.tags


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_is_deaf_to_what_manifests_say(text: str) -> None:
    comment = hostile(text, "markdown")
    assert html_tags(comment) == html_tags(hostile("harmless", "markdown"))
    assert comment.count("<!--") == 1 and comment.startswith(marker())


@given(st.text(st.characters(codec="utf-8"), max_size=80) | st.sampled_from(HOSTILE).map(lambda text: text * 3))
def test_escaped_text_is_the_text_and_nothing_else(text: str) -> None:
    shown = "x" + escaped(text) + "x"
    (inline,) = [token for token in MARKDOWN.parse(shown) if token.type == "inline"]
    assert {child.type for child in inline.children or ()} <= {"text"}
    assert inline.children is not None
    assert "".join(c.content for c in inline.children).replace("\u200b", "") == f"x{printable(text, 1000)}x"
    as_html = _Html()
    as_html.feed(f"<summary>{shown}</summary>")
    assert as_html.tags == ["summary"]


@given(st.text(alphabet="@#!%:/w.gGhH-1ab ", max_size=30))
def test_no_mention_reference_or_link_survives(text: str) -> None:
    assert not re.search(r"(?i)[@#!%]\w|://|www\.|gh-", re.sub(r"&#\d+;", "", escaped(text)))


@pytest.mark.parametrize(("text", "drawn"), [
    ("a/x.yaml:100:9", True), ("a/x.yaml:1234:9", True), ("a/x.yaml:41:9", False), ("x:skull:y", True), (":+1:", True),
    (":1st_place_medal:", True), ("clusters: a, b", False), ("at 2026-01-02T03:04:05Z: late", False),
])  # fmt: skip
def test_what_stands_between_colons_is_not_drawn_as_a_picture(text: str, drawn: bool) -> None:
    shown = html.unescape(escaped(text))
    assert (shown != text) == drawn and shown.replace("\u200b", "") == text
    assert not re.search(r":(100|1234|[a-z0-9_+-]*[a-z_+-][a-z0-9_+-]*):", shown)


def test_every_row_of_a_table_has_its_columns() -> None:
    for text in HOSTILE:
        comment = hostile(text, "markdown")
        assert [line.count("|") for line in comment.splitlines() if line.startswith("|")] == [8, 8, 8, 4, 4, 4]


@pytest.mark.parametrize("problems", [0, 2000])
def test_a_comment_is_cut_by_whole_rows_and_says_how_many_are_left_out(problems: int) -> None:
    groups = [decision(Action.PLACE, Finding(code=Reason.FITS), group=f"ns/g{i:04}", after=("a",)) for i in range(3000)]
    waiting = [decision(group=f"ns/w{i:04}", candidates=(refused("on-prem"),)) for i in range(500)]
    plan = with_decisions(*groups, *waiting)
    found = tuple(Problem(Location(f"f{i}.yaml"), "Odd", "is odd") for i in range(problems))
    plan = structs.replace(plan, snapshot=replace(plan.snapshot, problems=found))
    comment = FORMATS["markdown"](plan, PLAIN)
    assert 55_000 < len(comment) < 65_536 and len(comment.encode()) < 65_536
    left_out = [int(n) for n in re.findall(r"\*\*(\d+) more left out here\*\*", comment)]
    table = len(re.findall(r"(?m)^\| [+…] ns/[gw]\d{4} \|.*\|$", comment))
    folded, told = comment.count("<details>"), comment.count("- error: ")
    assert folded == comment.count("</details>") > 10
    assert sum(left_out) == 3500 + 500 + problems - table - folded - told
    assert comment.splitlines()[-1].startswith("Capacity snapshots")


def test_a_row_that_is_larger_than_a_comment_is_left_out() -> None:
    names = tuple(f"{'x' * 60}{i}" for i in range(50))
    wide = decision(candidates=tuple(refused(name) for name in names), policy="p" * 300)
    plan = with_decisions(*(structs.replace(wide, group=f"ns/{'y' * 200}{i}") for i in range(40)))
    assert len(FORMATS["markdown"](plan, PLAIN)) < 65_536


# JSON

GROUP_KEYS = [
    "group", "policy", "action", "from", "to", "assignments", "nominated", "members", "pods", "requests", "reason", "because",
    "downtime", "headroom", "costPerHour", "costDifferencePerHour", "links", "waitingSince", "blockedBy", "candidates", "verdicts",
]  # fmt: skip
ACTIONS = ["Place", "Keep", "Update", "Relocate", "Extend", "Remove", "Preempt", "Wait", "Hold"]


def test_the_document_has_the_documented_keys_in_order() -> None:
    document = as_json(view())
    assert list(document) == [
        "apiVersion",
        "kind",
        "formatVersion",
        "inputs",
        "summary",
        "review",
        "groups",
        "fleet",
        "clusters",
        "problems",
    ]
    assert list(document["inputs"]) == ["source", "capacity", "deployment", "now", "version"]
    assert list(document["summary"]) == ACTIONS
    assert all(list(group) == GROUP_KEYS for group in document["groups"])
    assert list(document["problems"][0]) == ["severity", "code", "file", "line", "column", "message", "hint"]


@pytest.mark.parametrize("plan", [view, example, unchanged])
def test_the_document_keeps_its_promises(plan: Any) -> None:
    document = as_json(plan())
    groups = document["groups"]
    assert sum(document["summary"].values()) == len(groups)
    assert [g["group"] for g in groups] == sorted(g["group"] for g in groups)
    for group in groups:
        assert group["action"] != "Keep" or group["from"] == group["to"]
        assert [a["cluster"] for a in group["assignments"]] == group["to"]
        assert sum(group["verdicts"].values()) == len(group["candidates"])
        clusters = [c["cluster"] for c in group["candidates"]]
        assert clusters == sorted(clusters)
        for assignment in group["assignments"]:
            assert sum(p["count"] for p in assignment["pods"]) == sum(p["count"] for p in group["pods"])


@pytest.mark.parametrize("plan", [view, example, unchanged])
def test_the_document_meets_its_schema(plan: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(plan_schema())
    jsonschema.Draft202012Validator(plan_schema()).validate(as_json(plan()))


@pytest.mark.parametrize(("path", "value"), [
    (("kind",), "Status"),
    (("formatVersion",), "2.0"),
    (("summary", "Place"), -1),
    (("inputs", "now"), "yesterday"),
    (("groups", 0, "action"), "Move"),
    (("groups", 0, "costPerHour"), 1.8),
    (("groups", 0, "requests"), {"cpu": 4}),
    (("groups", 0, "reason", "code"), "Because"),
    (("groups", 0, "waitingSince"), ""),
    (("problems", 0, "line"), 0),
])  # fmt: skip
def test_the_schema_refuses_what_is_no_plan(path: tuple[str | int, ...], value: object) -> None:
    document: Any = as_json(view())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert not jsonschema.Draft202012Validator(plan_schema()).is_valid(document)


def test_the_schema_knows_every_key_of_the_document() -> None:
    schema = plan_schema()
    group = schema["properties"]["groups"]["items"]
    assert list(schema["properties"]) == list(as_json(view()))
    assert group["required"] == list(group["properties"]) == GROUP_KEYS


def test_a_group_that_is_gone_from_the_source_is_described_by_its_record() -> None:
    (gone,) = [g for g in as_json(view())["groups"] if g["group"] == "jobs/done"]
    assert gone["action"] == "Remove" and gone["to"] == [] and gone["assignments"] == []
    assert gone["members"] == [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "namespace": "jobs",
            "name": "done",
            "path": "workloads/jobs/done.yaml",
        }
    ]
    assert gone["requests"] == {"cpu": "4500m", "memory": "4296Mi", "nvidia.com/gpu": "1"}


@pytest.mark.parametrize(("nodes", "cost"), [
    ((NewNodes("a", 1, 0.3008), NewNodes("b", 2, 0.752)), "1.80"),
    ((NewNodes("a", 1, 0.5), NewNodes("b", 1)), None),
    ((NewNodes("a", 3, 0.0),), "0.00"),
    ((), None),
])  # fmt: skip
def test_a_cost_is_told_only_where_all_prices_are_known(nodes: tuple[NewNodes, ...], cost: str | None) -> None:
    finding = Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=nodes)
    made = decision(Action.PLACE, finding, after=("cloud",), reasons={"cloud": finding})
    assert plan_document(with_decisions(made))["groups"][0]["costPerHour"] == cost


def test_beyond_fifty_clusters_the_nearest_are_listed_and_all_are_counted() -> None:
    everyone = tuple(refused(f"c{i:03}", placed=i % 10, wanted=10) for i in range(80))
    plan = with_decisions(decision(candidates=everyone))
    group = plan_document(plan)["groups"][0]
    assert len(group["candidates"]) == 10 and group["verdicts"] == {"Rejected/InsufficientCapacity": 80}
    head, *lines = [json.loads(line) for line in json_lines(plan)]
    assert list(head) == [
        "apiVersion",
        "kind",
        "formatVersion",
        "inputs",
        "summary",
        "review",
        "fleet",
        "clusters",
        "problems",
    ]
    assert [len(line["candidates"]) for line in lines] == [80]


def test_json_is_safe_to_print_and_to_encode() -> None:
    text = hostile("\x9b31m\u202e\udc80\U000e0041", "json")
    assert text.encode() and not re.search("[\x7f-\x9f\u202e\ud800-\udfff\U000e0000-\U000e007f]", text)
    assert json.loads(text)["groups"][0]["group"] == "\x9b31m\u202e\udc80\U000e0041"


# problems

PROBLEMS = (
    Problem(
        Location("policies/training.yaml", 14, 9),
        "UnknownType",
        'unknown policy type "priorty"',
        'did you mean "priority"?',
    ),
    Problem(Location("a,b:c.yaml"), "Odd", "100% odd\n::error::x", "", Severity.WARNING),
)


def test_problems_for_people() -> None:
    assert PROBLEM_FORMATS["text"](PROBLEMS, PLAIN) == (
        'policies/training.yaml:14:9: unknown policy type "priorty"\n'
        '  hint: did you mean "priority"?\n'
        "a,b:c.yaml:1:1: warning: 100% odd\\n::error::x\n"
    )
    assert PROBLEM_FORMATS["text"]((), PLAIN) == ""


def test_problems_as_annotations() -> None:
    assert PROBLEM_FORMATS["github"](PROBLEMS, PLAIN) == (
        "::error file=policies/training.yaml,line=14,col=9,title=UnknownType::"
        'unknown policy type "priorty"%0Ahint: did you mean "priority"?\n'
        "::warning file=a%2Cb%3Ac.yaml,line=1,col=1,title=Odd::100%25 odd\\n::error::x\n"
    )


def test_problems_for_programs_are_those_of_the_plan() -> None:
    document = json.loads(PROBLEM_FORMATS["json"](view().snapshot.problems, PLAIN))
    assert document["kind"] == "Problems" and document["problems"] == as_json(view())["problems"]


# status


def test_pending_pods_are_told_with_their_reason() -> None:
    assert "pending: 1 × worker/gpu since 2026-01-02T03:20:00Z: Insufficient nvidia.com/gpu" in status_text(view())
    (running,) = [g for g in status_json(view())["groups"] if g["group"] == "jobs/running"]
    assert running["clusters"][0]["pending"] == [
        {"role": "worker/gpu", "count": 1, "since": "2026-01-02T03:20:00Z", "reason": "Insufficient nvidia.com/gpu"}
    ]


def test_free_is_what_no_group_holds() -> None:
    clusters = {c["cluster"]: c for c in status_json(view())["clusters"]}
    assert clusters["silent"]["snapshot"] == "Stale" and clusters["new"]["snapshot"] == "Missing"
    on_prem = clusters["on-prem"]
    assert on_prem["groups"] == 3 and on_prem["allocatable"]["nvidia.com/gpu"] == "5"
    assert on_prem["free"]["nvidia.com/gpu"] == "2"


# plain text


@given(st.text(), st.integers(1, 300))
def test_printable_text_is_one_harmless_line(text: str, longest: int) -> None:
    shown = printable(text, longest)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e\u3164\ud800-\udfff\ufffe\uffff\U000e0000-\U000e01ef]", shown)
    assert not shown.lstrip().startswith("::") and "##[" not in shown
    assert printable(shown, len(shown)) == shown


@pytest.mark.parametrize(("text", "shown"), [
    ("a b", "a b"), ("größe ×…", "größe ×…"), ("a\nb", "a\\nb"), ("\x1b[0m", "\\x1b[0m"), ("\u202e", "\\u202e"),
    ("a\uffff", "a\\uffff"), ("\u3164", "\\u3164"), ("a\U000e0150", "a\\U000e0150"), ("\u26a0\ufe0f", "\u26a0\ufe0f"),
    ("::error::x", "\\x3a\\x3aerror::x"), ("a ##[group]", "a \\x23\\x23[group]"), ("x" * 300, "x" * 252 + "…"),
])  # fmt: skip
def test_what_is_shown_for_a_text(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(("names", "text"), [
    ("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcd", "a, b, c and d"), ("abcde", "a, b, c and 2 more"),
])  # fmt: skip
def test_a_few_names_stand_for_many(names: str, text: str) -> None:
    assert few(list(names)) == text


@pytest.mark.parametrize(
    ("name", "text"), [("Pod", "a Pod"), ("Ingress", "an Ingress"), ("Application", "an Application"), ("", "a ")]
)
def test_a_kind_has_the_article_that_goes_with_it(name: str, text: str) -> None:
    assert one(name) == text


def test_columns_line_up_and_one_long_cell_does_not_push_them() -> None:
    assert aligned([("a", "b", "c"), ("aaa", "", "c"), ("x" * 70, "b", "c")], "") == [
        "a    b  c", "aaa     c", f"{'x' * 70}  b  c"
    ]  # fmt: skip
    assert aligned([]) == []


def test_sentences_of_the_example_are_what_a_commit_says() -> None:
    said = {d.group: sentence(d, example()) for d in example().plan.decisions}
    assert said["rayjob1/rayjob-train"] == "goes to static-cluster: fits"
    assert said["rayjob3/rayjob-train"].startswith("goes to dynamic-cluster: fits with ")
