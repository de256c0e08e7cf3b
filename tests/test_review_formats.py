"""A review as text, Markdown pages, pictures and JSON: golden, bounded, deaf to what manifests say, and silent where it must be."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gitplacer.comparison import Baseline
from gitplacer.documents import parse
from gitplacer.formats import FORMATS
from gitplacer.formats.markdown import LIMIT, MOST_PAGES, fenced, marker, plan_pages
from gitplacer.formats.mermaid import MOST, label, picture
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import json_lines, plan_document
from gitplacer.formats.planschema import plan_schema
from gitplacer.formats.reviewwords import bar, short_why
from gitplacer.model.decision import Action, Finding, Reason
from gitplacer.review import Base, Change, Downtime, FileDiff, Level, Review, Row
from gitplacer.review.concealed import HIDDEN, concealed
from gitplacer.review.diffs import MOST_WHOLE
from tests.planviews import ROOT, assert_golden, decision, refused, unchanged, view, with_decisions
from tests.stories import ANYWHERE, Story, cluster, policy, rayjob, rayservice, snapshot

GOLDEN = ROOT / "tests" / "golden" / "review"
PLAIN = Options()
ROOM = snapshot("a", "n1 16 64Gi 2")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table"])


@cache
def change() -> Review:
    """
    A branch of which something of everything comes: a job for which another waits, an edit, a removal, a cordoned cluster, a
    budget that is used; and an app that would have been placed anyway.
    """
    adds = """
    type: Luna
    nodeTypes:
    - {name: gpu.large, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 2, pricePerHour: 0.75}"""
    story = Story.of(
        cluster("on-prem"), cluster("cloud", autoscaler=adds, maxAge="2h"), cluster("spare"),
        policy("services", "select: {namespaces: [web]}\npriority: 5\nclusters: {names: [on-prem, spare]}"),
        policy("quiet", "select: {namespaces: [quiet]}\nclusters: {names: [on-prem]}"),
        policy("jobs", "select: {namespaces: [jobs]}\nclusters: {names: [cloud]}\nbudgetPerHour: 2"),
        rayservice("web", "shop"), rayservice("web", "old"), rayservice("web", "blog"),
        capacity=snapshot("on-prem", "n1 32 128Gi 3") | snapshot("cloud", "c1 4 16Gi") | snapshot("spare", "s1 16 64Gi 2"),
    )  # fmt: skip
    story.run()
    story.source |= rayservice("quiet", "anyway", gpus=0)
    base = story.plan()
    story.source |= rayjob("jobs", "train") | rayjob("jobs", "huge", workers=9) | cluster("spare", state="Draining")
    story.source |= rayservice("web", "shop", workers=2)
    story.source.pop("workloads/web/old.yaml")
    return Review(story.plan().view, Base(name="main", commit="b" * 40, plan=Baseline.of(base.view), lacks=1))


@cache
def hostile() -> Review:
    """Names of files and values by somebody who wants to write our comment."""
    story = Story.of(cluster("a"), ANYWHERE, capacity=snapshot("a", "n1 32 128Gi 3"))
    base = story.plan()
    made = rayservice("web", "shop")["workloads/web/shop.yaml"]
    evil = 'metadata: {name: shop, annotations: {note: "</details> @admin <!-- gitplacer:plan --> ````` [x](javascript:y)"}, '
    story.source["workloads/web/<img src=x onerror=alert(1)> @all #1.yaml"] = made.replace(
        "metadata: {name: shop, ", evil
    )
    story.source["workloads/web/a`b|c.yaml"] = (
        rayservice("web", "other")["workloads/web/other.yaml"] + "# ``` ::error::\n"
    )
    return Review(story.plan().view, Base(name="main\n@all <b>", commit="b" * 40, plan=Baseline.of(base.view), lacks=3))


STORIES = {"change": change, "hostile": hostile}


@pytest.mark.parametrize(("ending", "format_"), [("txt", "text"), ("md", "markdown"), ("json", "json")])
@pytest.mark.parametrize("story", STORIES)
def test_a_review_is_shown(story: str, ending: str, format_: str) -> None:
    review = STORIES[story]()
    options = Options(link_base="https://git.example/o/r/blob/abc", comment_id="fleet-1")
    assert_golden(f"{story}.{ending}", FORMATS[format_](review.view, options, review), GOLDEN)


def test_a_redacted_review_is_shown() -> None:
    review = Review(change()._whole, change().base, redact=True)
    for ending, format_ in (("txt", "text"), ("md", "markdown"), ("json", "json")):
        assert_golden(f"redacted.{ending}", FORMATS[format_](review.view, PLAIN, review), GOLDEN)


def test_the_document_of_a_review_meets_its_schema() -> None:
    validator = jsonschema.Draft202012Validator(plan_schema())
    for review in (change(), hostile(), Review(change()._whole, change().base, redact=True)):
        validator.validate(plan_document(review.view, review))
    head, *groups = [json.loads(line) for line in json_lines(change().view, change())]
    assert head["review"]["base"] == {"name": "main", "commit": "b" * 40}
    assert {g["because"] for g in groups} == {"Change", "Anyway"}


# no change is one line


def test_no_change_is_one_line_in_every_format() -> None:
    against = Review(unchanged(), Base(name="main", commit="b" * 40, plan=Baseline.of(unchanged())))
    for review in (Review(unchanged()), against):
        assert FORMATS["text"](review.view, PLAIN, review) == "No change: 1 kept\n"
        assert FORMATS["markdown"](review.view, PLAIN, review) == f"{marker()}\n### gitplacer: no change: 1 kept\n"
        assert plan_document(review.view, review)["review"]["verdict"] == "No change: 1 kept"


@pytest.mark.parametrize(
    ("capacity", "hours", "told"),
    [
        ({}, 0, "Capacity snapshots: missing: a"),
        ({"a.yaml": "kind: [\n"}, 0, "Capacity snapshots: unusable: a"),
        (ROOM, 9, "Capacity snapshots: stale: a (2026-01-02T03:05:00Z)"),
        (ROOM, 0, ""),
    ],
)
def test_no_change_says_where_it_knows_little_of_a_cluster(capacity: dict[str, str], hours: int, told: str) -> None:
    """Nothing can be placed there, and a plan that has nothing to place would not show it."""
    story = Story.of(cluster("a", maxAge="2h"), ANYWHERE, rayservice("prod", "api"), capacity=ROOM)
    story.run()
    story.capacity, story.now = capacity, story.now + timedelta(hours=hours)
    review = Review(story.plan().view)
    said = FORMATS["text"](review.view, PLAIN, review).splitlines()
    assert said[-1:] == ["No change: 1 kept"]
    assert [line for line in said if line.startswith("Capacity")] == ([told] if told else [])
    lines = FORMATS["markdown"](review.view, PLAIN, review).splitlines()
    assert [line for line in lines if line.startswith("Capacity")] == ([told] if told else [])


def test_a_group_waits_in_other_words_where_there_is_no_cluster_at_all() -> None:
    """That none may take it now sounds as if one could later."""
    told = "no cluster may take it now; the source has no Workload cluster"
    hub = cluster("hub", role="Management")
    for clusters in ({}, hub):
        view = Story.of(clusters, ANYWHERE, rayservice("prod", "api")).plan().view
        assert told in FORMATS["text"](view, PLAIN, Review(view))


# secrets and diffs

MANIFEST = """\
# kept as it is
apiVersion: v1
kind: Secret
metadata: {name: db, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data": "c2VjcmV0MQ=="}'}}
data:
  password: c2VjcmV0MQ==
stringData:
  config: |
    user=admin
    pass=secret1
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train}
spec:
  entrypoint: python train.py --api-key=secret1 --epochs 3
  rayClusterSpec:
    headGroupSpec:
      template:
        spec:
          automountServiceAccountToken: true
          containers:
          - name: head
            image: registry.example/ray:2
            env:
            - {name: DB_PASSWORD, value: secret1}
            - name: HF_TOKEN
              value: "secret1"
            - name: REDIS_URL
              value: redis://user:secret1@redis:6379
            - {name: LOG_LEVEL, value: debug}
            - {name: TOKEN_FROM, valueFrom: {secretKeyRef: {name: hf, key: token-key}}}
            volumeMounts: [{name: code, mountPath: /token-path}]
          volumes: [{name: code, secret: {secretName: code}}]
"""


def test_what_looks_like_a_secret_is_hidden_and_the_rest_is_as_it_was() -> None:
    text = concealed(MANIFEST.encode())
    assert text is not None
    assert "secret1" not in text and "c2VjcmV0MQ" not in text
    for kept in ("# kept as it is", "LOG_LEVEL, value: debug", "secretKeyRef: {name: hf, key: token-key}", "secretName: code",
                 "image: registry.example/ray:2", "mountPath: /token-path", "automountServiceAccountToken: true"):  # fmt: skip
        assert kept in text, kept
    assert text.count(HIDDEN) == 7
    assert [d.value["kind"] for d in parse(text.encode()).documents] == ["Secret", "RayJob"]


@pytest.mark.parametrize("data", [b"a: [", b"\xff\xfe", b"", b"a: &x 1\na: 2\n"])
def test_nothing_is_shown_of_what_cannot_be_read(data: bytes) -> None:
    assert concealed(data) is None


@settings(max_examples=40)
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=9, max_size=30).filter(
        lambda t: t.strip() == t
    )
)
def test_no_spelling_of_a_value_gets_past_its_name(value: str) -> None:
    written = json.dumps(value)
    text = concealed(f"apiVersion: v1\nkind: Pod\nspec: {{env: [{{name: API_TOKEN, value: {written}}}]}}\n".encode())
    assert text is None or written not in text


def diffs_of(review: Review) -> dict[str, FileDiff]:
    return {diff.path: diff for diff in review.diffs}


def test_a_move_is_a_rename_and_our_own_files_are_not_shown() -> None:
    story = Story.of(cluster("a"), cluster("b"), ANYWHERE, rayservice("web", "shop"),
                     capacity=snapshot("a", "n1 16 64Gi 2") | snapshot("b", "n1 16 64Gi 2"))  # fmt: skip
    story.run()
    story.source |= cluster("a", state="Draining")
    found = diffs_of(Review(story.plan().view))
    assert set(found) == {"clusters/b/platform/namespaces/web.yaml", "clusters/b/workloads/web/shop/shop.yaml"}
    moved = found["clusters/b/workloads/web/shop/shop.yaml"]
    assert (moved.change, moved.old, moved.lines) == (Change.RENAMED, "clusters/a/workloads/web/shop/shop.yaml", ())


def test_an_edit_is_a_unified_diff_that_git_would_take() -> None:
    found = diffs_of(change())["clusters/on-prem/workloads/web/shop/shop.yaml"]
    assert found.lines[:2] == tuple(f"{sign} {side}/{found.path}" for sign, side in (("---", "a"), ("+++", "b")))
    assert [line.strip() for line in found.lines if re.match(r"[+-] ", line)] == [
        "-      replicas: 1",
        "+      replicas: 2",
    ]


def test_a_long_file_that_comes_whole_is_cut_and_an_edit_of_secrets_alone_is_only_named() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("web", "shop"), capacity=snapshot("a", "n1 16 64Gi 2"))
    story.source["workloads/web/shop.yaml"] += "".join(f"# {n}\n" for n in range(500))
    added = diffs_of(Review(story.plan().view))["clusters/a/workloads/web/shop/shop.yaml"]
    assert len(added.lines) == MOST_WHOLE and added.left_out > 400
    story.source |= {
        "workloads/web/shop.yaml": rayservice("web", "shop", labels='{db-password: "one-two"}')[
            "workloads/web/shop.yaml"
        ]
    }
    story.run()
    story.source["workloads/web/shop.yaml"] = story.source["workloads/web/shop.yaml"].replace("one-two", "two-one")
    edited = diffs_of(Review(story.plan().view))["clusters/a/workloads/web/shop/shop.yaml"]
    assert edited.hidden and not edited.lines


def test_only_what_the_change_does_is_shown_of_the_files() -> None:
    assert not any("anyway" in path for path in diffs_of(change()))
    assert any("anyway" in path for path in diffs_of(Review(change().view)))


# the picture


@given(st.text(max_size=80))
def test_a_label_is_text_whatever_it_says(text: str) -> None:
    assert re.fullmatch(r"(?:[A-Za-z0-9 ./_-]|#\d+;)*", label(text))


def test_a_picture_has_no_more_than_it_can_hold() -> None:
    some = [
        Row(decision=decision(action, group=f"ns/g{n}", before=("a",), after=("b",)), because=None, downtime=Downtime.NONE)
        for n in range(50) for action in [Action.RELOCATE if n < 40 else Action.PLACE]
    ]  # fmt: skip
    drawn = picture(some)
    assert len(re.findall("-->", drawn)) == MOST and len(re.findall(r'g\d+x0\["', drawn)) == MOST
    assert picture([]) == ""
    few = picture(some[:2], [("ns/steady", "a"), ("ns/elsewhere", "z")])
    assert "ns/steady" in few and "elsewhere" not in few


# pages


def test_markers_tell_fleets_and_pages_apart() -> None:
    made = {marker(name, page) for name in ("", "a", "b") for page in (1, 2, 3)}
    assert len(made) == 9 and marker() == "<!-- gitplacer:plan -->"
    assert not any(one != other and one in other for one in made for other in made)


def test_every_row_is_on_one_page() -> None:
    groups = [decision(Action.PLACE, Finding(code=Reason.FITS), group=f"ns/g{i:04}", after=("a",)) for i in range(1500)]
    waiting = [decision(group=f"ns/w{i:04}", candidates=(refused("on-prem"),)) for i in range(300)]
    review = Review(with_decisions(*groups, *waiting))
    pages = plan_pages(review, Options(paged=True, comment_id="x"))
    assert 2 < len(pages) <= MOST_PAGES
    assert all(len(page.encode()) <= LIMIT + 400 < 65_536 for page in pages)
    assert [page.splitlines()[0] for page in pages] == [marker("x", n) for n in range(1, len(pages) + 1)]
    found = re.findall(r"(?m)^\| [+…] (ns/[gw]\d{4}) \|", "".join(pages))
    assert sorted(found) == sorted(d.group for d in (*groups, *waiting))
    folded = re.findall(r"<summary>(ns/w\d{4}): ", "".join(pages))
    assert sorted(folded) == [d.group for d in waiting]
    assert "the pages that follow have them" in pages[0]
    assert "gitplacer plan --pages DIR" in plan_pages(review, PLAIN)[0]
    for page in pages:
        assert page.count("<details>") == page.count("</details>")


def test_beyond_the_last_page_is_counted() -> None:
    groups = [decision(Action.PLACE, Finding(code=Reason.FITS), group=f"ns/g{i:05}", after=("a",)) for i in range(9000)]
    pages = plan_pages(Review(with_decisions(*groups)), Options(paged=True))
    assert len(pages) == MOST_PAGES
    left = re.search(r"\*\*(\d+) more are too large for comments\.\*\*", pages[-1])
    shown = sum(len(re.findall(r"(?m)^\| \+ ns/g", page)) for page in pages)
    assert left is not None and int(left[1]) == 9000 - shown and "format json" in pages[-1]


@given(st.lists(st.text(alphabet="`~ab<!-\n", max_size=20), max_size=6))
def test_nothing_in_a_fence_ends_it(lines: list[str]) -> None:
    tokens = MARKDOWN.parse(fenced(lines, "diff"))
    assert [token.type for token in tokens] == ["fence"]
    assert "<!--" not in tokens[0].content


def test_a_hostile_change_writes_no_markup_of_its_own() -> None:
    for comment in plan_pages(hostile(), Options(link_base="https://git.example/o/r/blob/abc")):
        shown = MARKDOWN.render(comment)
        assert comment.count("<!--") == 1 and "<img" not in shown and "<b>" not in shown
        assert all(
            address.startswith("https://git.example/o/r/blob/abc/") for address in re.findall(r'href="([^"]*)"', shown)
        )
        outside = re.sub(r"(?s)<pre>.*?</pre>", "", shown)
        assert not re.search(r"@\w|#\d", re.sub(r'href="[^"]*"|&#?\w+;', "", outside))
        assert set(re.findall(r"</?(\w+)", outside)) <= {
            "h3", "p", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "a", "br", "details", "summary",
        }  # fmt: skip


# redaction


def test_a_stranger_reads_no_node_number_secret_or_group_of_others() -> None:
    """Planted: names of nodes and types, odd amounts, prices, labels and taints of nodes, groups of others, values of secrets."""
    adds = """
    type: Luna
    nodeTypes:
    - {name: planted-type, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 3, pricePerHour: 7.13}"""
    nodes = 'planted-node-1 77 777Gi 5 | , labels: {rack: planted-rack}, taints: [{key: planted-taint, value: "x"}]'
    story = Story.of(
        cluster("on-prem"), cluster("cloud", autoscaler=adds), cluster("spare"),
        policy("services", "select: {namespaces: [web]}"), policy("prod", "select: {namespaces: [others]}\npriority: 9\nclusters: {names: [on-prem]}"),
        policy("paid", "select: {namespaces: [paid]}\nclusters: {names: [cloud]}\nbudgetPerHour: 55.5"),
        rayservice("others", "planted-tenant"), rayservice("web", "shop"),
        capacity=snapshot("on-prem", nodes) | snapshot("cloud", "planted-node-2 4 16Gi") | snapshot("spare", "planted-node-3 79 779Gi 2"),
    )  # fmt: skip
    story.run()
    story.capacity |= {"planted-broken.yaml": "kind: planted-kind\n"}
    story.source |= rayservice("others", "planted-waiting", workers=99)
    base = story.plan()
    story.source |= rayjob("web", "huge", workers=50) | rayservice("paid", "new") | cluster("spare", state="Draining")
    story.source["workloads/web/shop.yaml"] = story.source["workloads/web/shop.yaml"].replace(
        "name: head", "name: head, env: [{name: PASSWORD, value: planted-secret}]"
    )
    whole, against = story.plan().view, Base(name="main", commit="b" * 40, plan=Baseline.of(base.view))
    planted = re.compile(r"planted|\b7\.13\b|\b55\.5|\b77\b|\b79\b|777|779|of 5\b|rack")
    open_review, closed = Review(whole, against), Review(whole, against, redact=True)
    options = Options(verbose=True, diffs=True, paged=True)
    for format_ in ("text", "json"):
        assert planted.search(FORMATS[format_](open_review.view, options, open_review)), "the test plants nothing"
        shown = FORMATS[format_](closed.view, options, closed)
        assert not planted.search(shown), planted.findall(shown)
        assert "web/huge" in shown and "paid/new" in shown
    for shown in (*plan_pages(closed, options), *json_lines(closed.view, closed)):
        assert not planted.search(shown), planted.findall(shown)
    assert planted.search("".join(plan_pages(open_review, options)))
    assert "not shown here" in plan_pages(closed, options)[0]


def test_every_reason_can_be_told_to_a_stranger() -> None:
    from gitplacer.explain import finding_text
    from gitplacer.model.decision import NewNodes, Spending, Tally
    from gitplacer.model.resources import Resources
    from gitplacer.review.redaction import redacted_finding

    for code in Reason:
        finding = Finding(
            code=code, subject="ClusterDraining", role="worker/planted", placed=3, wanted=4441, nodes=4442,
            short=Resources({"planted": 4443}), tally=(Tally(Reason.UNTOLERATED_TAINT, "planted", 4444),),
            new_nodes=(NewNodes("planted", 4445, 44.46),), spending=Spending(budget=4447, spent=1, more=2),
        )  # fmt: skip
        text = finding_text(redacted_finding(finding))
        assert text and not re.search(r"planted|44", text), code


# words


@pytest.mark.parametrize(("before", "after", "offered", "drawn"), [
    (0, 0, 8, "░░░░░░░░░░"), (0, 1, 100, "█░░░░░░░░░"), (0, 99, 100, "█████████░"), (0, 8, 8, "██████████"), (0, 9, 8, "██████████"),
])  # fmt: skip
def test_a_bar_is_full_only_when_nothing_is_left(before: int, after: int, offered: int, drawn: str) -> None:
    assert bar(Level(cluster="a", resource="x/y", offered=offered, foreign=0, before=before, after=after)) == drawn


def test_a_long_reason_ends_at_a_clause() -> None:
    long = decision(finding=Finding(code=Reason.HAS_PROBLEMS, subject=", ".join(f"Code{n}" for n in range(60))))
    assert short_why(long, view()).count(" ") <= 25
    waits = decision(
        finding=Finding(
            code=Reason.FEATURE_NOT_SERVED, subject="one two three four five six seven eight; " + "word " * 40
        )
    )
    assert short_why(waits, view()) == "one two three four five six seven eight …"
