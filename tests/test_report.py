"""What a report tells is what the planner knows, the same inputs give the same bytes, and nothing in them can get out of the page."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.accounts import Accounts
from gitplacer.branch.chronicle import history
from gitplacer.explain import PlanView, sentence
from gitplacer.git.address import Address
from gitplacer.git.publishing import Deployment
from gitplacer.model.decision import Reason
from gitplacer.packaged import REPORT, packaged
from gitplacer.plaintext import UNSEEN
from gitplacer.report import EventKind, FleetFacts, History, document, gathered, page, redacted
from gitplacer.report.facts import Presence
from gitplacer.report.page import SCRIPTS, embedded
from tests import fleetfacts, planviews
from tests.commands import NOW, commit, git, make_bare, make_repo, run, starter, write
from tests.stories import Story, cluster, policy, rayjob, rayservice, snapshot

PLANS = {"everything": planviews.view, "crowded": planviews.crowded, "example": planviews.example}
MOST = 5_000_000
"""Bytes of the page of 10,000 groups on 200 clusters."""


class _Parts(HTMLParser):
    """The scripts, styles, policy and attributes of a page, as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str]] = []
        self.tags: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.attributes += given.items()
        self.tags.append(tag)
        self._inside = f"{tag} {given['type']}" if "type" in given and tag == "script" else tag
        self.texts.setdefault(self._inside, []).append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[self._inside][-1] += data


def made(facts: FleetFacts) -> str:
    return page(document(facts), packaged(REPORT))


def data_in(text: str) -> dict[str, Any]:
    (block,) = _Parts(text).texts["script application/json"]
    return whole(json.loads(block))


def whole(data: dict[str, Any]) -> dict[str, Any]:
    """A document in which every column has all its rows."""
    for name in ("clusters", "nodes", "groups", "events", "problems"):
        table = data[name]
        data[name] = {
            key: [column["all"]] * table["rows"] if isinstance(column, dict) else column
            for key, column in table.items()
        }
    return data


# what is told


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_node_has_the_room_that_the_planner_saw(plan: Any) -> None:
    view: PlanView = plan()
    accounts = Accounts(view)
    for told in gathered(view, History()).clusters:
        if told.name not in accounts.after:
            assert told.nodes == ()
            continue
        ledger = accounts.after[told.name]
        free = {machine.name: row for machine, row in zip(ledger.nodes.machines, ledger.free_on_nodes(), strict=True)}
        real = [node for node in told.nodes if not node.type]
        assert sum(node.count for node in real) == len(free)
        for node in real:
            names = [node.name] if node.count == 1 else [f"{node.name}[{i}]" for i in range(node.count)]
            row = ledger.columns.resources(free[names[0]])
            for resource, offered in node.allocatable.items():
                held = sum(seat.requests.get(resource, 0) * seat.count for seat in node.seats)
                taken = node.used.get(resource, 0) + held + node.kept.get(resource, 0)
                assert resource == "pods" or offered - taken == row.get(resource, 0)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_group_has_all_its_pods_somewhere(plan: Any) -> None:
    """Those that are placed whole have as many seats as pods; those that wait have none."""
    view: PlanView = plan()
    facts = gathered(view, History())
    seated: Counter[tuple[str, Presence]] = Counter()
    for each in facts.clusters:
        for node in each.nodes:
            for seat in node.seats:
                seated[seat.group, seat.presence] += seat.count
    for group, decision in zip(facts.groups, view.plan.decisions, strict=True):
        assert group.sentence == sentence(decision, view)
        here = sum(
            count for (name, kind), count in seated.items() if name == group.name and kind is not Presence.LEAVING
        )
        pending = sum(
            pod.node is None
            for s in view.snapshot.capacity.values()
            for g in s.groups
            if g.name == group.name
            for pod in g.pods
        )
        pods = sum(pods.count for pods in group.pods)
        known = [name for name in group.after if name in view.snapshot.capacity]
        whole = all(finding.code is not Reason.PODS_MAY_WAIT for finding in decision.reasons.values())
        if known and whole and not pending:
            assert here == pods * len(known), group.name
        if not group.after:
            assert here == 0


def test_a_pod_is_told_by_what_it_is_to_its_node() -> None:
    story = Story.of(
        cluster("a"), cluster("b", autoscaler="{type: Luna, nodeTypes: [{name: big, max: 9, allocatable: {cpu: '8', memory: 64Gi, nvidia.com/gpu: '4'}}]}"),
        policy("services", "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}"), rayservice("web", "old"), rayservice("web", "seen"),
        capacity={**snapshot("a", "n1 16 64Gi 8"), **snapshot("b", "m1 1 1Gi")},
    )  # fmt: skip
    story.run()
    story.now += timedelta(minutes=10)
    shown = "{role: %s, node: n1, requests: {cpu: '2', memory: 2Gi}}"
    story.capacity["a.yaml"] = story.capacity["a.yaml"].replace("T03:05:00Z", "T03:15:00Z") + (
        "groups:\n- {name: web/seen, phase: Running, ready: true, pods: [" + shown % "head" + "]}\n"
        "- {name: web/gone, phase: Running, pods: [" + shown % "head" + "]}\n"
    )
    story.source |= rayservice("web", "next", workers=1) | rayservice("web", "vast", workers=9, gpus=1, cpu="1")
    facts = gathered(story.plan().view, History())
    found = {
        (seat.group, seat.role, str(seat.presence), node.name, node.type)
        for each in facts.clusters
        for node in each.nodes
        for seat in node.seats
    }
    assert ("web/seen", "head", "Running", "n1", "") in found
    assert ("web/seen", "worker/gpu", "Expected", "n1", "") in found
    assert ("web/old", "head", "Expected", "n1", "") in found
    assert ("web/next", "head", "Coming", "n1", "") in found
    assert ("web/gone", "head", "Leaving", "n1", "") in found
    added = [entry for entry in found if entry[4] == "big"]
    assert added
    assert {entry[:1] + entry[2:3] for entry in added} == {("web/vast", "Coming")}


def test_room_that_is_kept_for_a_group_that_waits_is_on_the_map() -> None:
    clusters = {each.name: each for each in gathered(planviews.crowded(), History()).clusters}
    assert clusters["main"].claimants == ("prod/answers",)
    assert any(node.kept for node in clusters["main"].nodes)
    assert not any(node.kept for node in clusters["spare"].nodes)


def test_nodes_that_are_alike_and_empty_are_told_once() -> None:
    story = Story.of(
        cluster("a"), policy("any", "select: {}"), rayservice("web", "app"),
        capacity=snapshot("a", "n1 16 64Gi 2 | , count: 500"),
    )  # fmt: skip
    (told,) = gathered(story.plan().view, History()).clusters
    assert sum(node.count for node in told.nodes) == 500
    assert len(told.nodes) <= 3


# bytes


def test_the_same_inputs_give_the_same_bytes() -> None:
    def once() -> str:
        story = Story.of(
            cluster("a"), cluster("b"), policy("any", "select: {}"), rayservice("web", "app"), rayjob("jobs", "train"),
            capacity={**snapshot("a", "n1 32 64Gi 4", "n2 32 64Gi 4"), **snapshot("b", "m1 8 16Gi")},
        )  # fmt: skip
        story.run()
        return made(gathered(story.plan().view, History()))

    assert once() == once()


def test_ten_thousand_groups_on_two_hundred_clusters_are_a_small_file() -> None:
    text = made(fleetfacts.fleet(clusters=200, groups=10_000, nodes=100))
    assert len(text.encode()) < MOST
    assert len(data_in(text)["groups"]["name"]) == 10_000


def test_amounts_come_back_as_they_were() -> None:
    facts = gathered(planviews.view(), History())
    told = whole(document(facts))
    names, units = ([each[key] for each in told["resources"]] for key in ("name", "unit"))

    def amounts(place: int) -> Mapping[str, int]:
        row = told["amounts"][place]
        return {names[n]: value * units[n] for n, value in zip(row[::2], row[1::2], strict=True)}

    for number, each in enumerate(facts.clusters):
        assert amounts(told["clusters"]["offered"][number]) == dict(each.offered)
        assert amounts(told["clusters"]["free"][number]) == dict(each.free)
    nodes = [node for each in facts.clusters for node in each.nodes]
    for number, node in enumerate(nodes):
        assert amounts(told["nodes"]["allocatable"][number]) == dict(node.allocatable)
        seats = told["nodes"]["seats"][number]
        assert [amounts(place) for place in seats[3::5]] == [dict(seat.requests) for seat in node.seats]


# what cannot get out


@given(st.dictionaries(st.text(), st.lists(st.text(), max_size=3), max_size=3))
def test_what_is_embedded_comes_back_and_ends_no_script(value: Any) -> None:
    text = embedded({"value": value})
    assert json.loads(text) == {"value": value}
    assert not set("<>&\u2028\u2029\u202e") & set(text)
    text.encode()


def test_a_hostile_fleet_is_one_data_block_of_visible_text() -> None:
    text = made(fleetfacts.hostile())
    parts = _Parts(text)
    assert {name: len(found) for name, found in parts.texts.items() if name.startswith(("script", "style"))} == {
        "script": 1, "script application/json": 1, "style": 1,
    }  # fmt: skip
    assert parts.tags == _Parts(made(FleetFacts(fleet="x", now=fleetfacts.NOW, version="test"))).tags
    for each in data_in(text)["texts"]:
        assert not UNSEEN.search(each)
        assert len(each) <= 4200


def test_the_policy_allows_the_one_script_and_the_one_style_and_nothing_else() -> None:
    parts = _Parts(made(FleetFacts(fleet="x", now=fleetfacts.NOW, version="test")))
    policy_text = next(value for name, value in parts.attributes if name == "content" and "default-src" in value)
    allowed = dict(entry.split(" ", 1) for entry in policy_text.split("; "))
    for what in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(parts.texts[what][0].encode()).digest()).decode()
        assert allowed[f"{what}-src"] == f"'sha256-{digest}'"
    assert allowed["default-src"] == allowed["base-uri"] == allowed["form-action"] == "'none'"
    assert "unsafe" not in policy_text
    assert not [name for name, _ in parts.attributes if name == "style" or name.startswith("on")]
    assert not [
        value for name, value in parts.attributes if name in ("src", "href") and not value.startswith(("data:", "#"))
    ]


def test_the_script_makes_no_markup_from_text_and_asks_for_nothing() -> None:
    script = b"".join(packaged(REPORT)[name] for name in SCRIPTS).decode()
    style = packaged(REPORT)["page.css"].decode()
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(|XMLHttp|import\(|https?://(?!www\.w3\.org/2000/svg)"
    assert re.findall(forbidden, script) == []
    assert re.findall(r"url\(|@import|expression\(", style) == []


def test_every_part_of_the_page_is_used() -> None:
    assert set(packaged(REPORT)) == {*SCRIPTS, "page.html", "page.css"}


def test_a_page_for_strangers_has_no_node_and_no_number_of_it() -> None:
    view = planviews.view()
    facts = gathered(view, fleetfacts.fleet(clusters=2, groups=3).history)
    text = made(redacted(facts))
    for each in facts.clusters:
        assert each.name in text
        for node in each.nodes:
            assert f'"{node.name}"' not in text
    told = data_in(text)
    assert told["nodes"]["name"] == []
    assert told["resources"] == []
    words = " ".join(told["texts"])
    for group in facts.groups:
        assert group.name in words
        assert group.sentence not in words
    assert "an hour" not in words
    assert not re.search(r"\d+ of \d+|short \d", words)


# what happened


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """A deployment branch with a pass, a relocation, and something by hand."""
    trailers = "Gitplacer-Source: 1\nGitplacer-Now: 2026-01-02T03:05:00Z\nGitplacer-Version: 1"
    moved = "Gitplacer-Group: web/app\nGitplacer-From: a, c\nGitplacer-To: b\nGitplacer-Reason: ClusterDraining"
    folder = make_repo(tmp_path / "work", {"x": "1"})
    for number, message in enumerate((
        f"Place web/app\n\n- web/app: goes to a\n\n{trailers}",
        f"Relocate web/app from a, c to b\n\nMoves because\nit must\n\n{trailers}\n{moved}",
        "Somebody was here\n\nwith words",
    )):  # fmt: skip
        write(folder, {"x": f"{number + 2}"})
        commit(folder, message)
    return folder


def told(folder: Path, limit: int = 100) -> History:
    with Deployment.open(Address.parse(str(folder), base_dir=folder), "main", folder.parent / "cache") as deployment:
        return history(deployment, limit)


def test_the_branch_tells_what_was_relocated_and_why(past: Path) -> None:
    found = told(past)
    assert found.is_whole
    assert [str(event.kind) for event in found.events] == ["ByHand", "Relocation", "Pass", "ByHand"]
    moved = found.events[1]
    assert (moved.group, moved.gone, moved.come, moved.code) == ("web/app", ("a", "c"), ("b",), "ClusterDraining")
    assert moved.why == "Moves because it must"
    assert found.events[0].why == ""


def test_a_history_that_is_cut_says_so(past: Path) -> None:
    assert [event.kind for event in told(past, 2).events] == [EventKind.BY_HAND, EventKind.RELOCATION]
    assert not told(past, 3).is_whole
    assert told(past, 4).is_whole


def test_a_shallow_clone_is_not_taken_for_the_whole_history(past: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "--depth", "2", past.as_uri(), "shallow.git")
    found = told(tmp_path / "shallow.git")
    assert len(found.events) == 2
    assert not found.is_whole


def test_a_merged_proposal_is_the_relocation_that_it_proposed(past: Path) -> None:
    git(past, "checkout", "-q", "-b", "proposal")
    write(past, {"y": "1"})
    commit(
        past,
        "Relocate web/app from b to a\n\nIt is better there\n\nGitplacer-Version: 1\nGitplacer-Group: web/app\nGitplacer-From: b\nGitplacer-To: a\nGitplacer-Reason: PreferredAvailable\nGitplacer-Proposed: web/app",
    )
    git(past, "checkout", "-q", "main")
    git(past, "merge", "-q", "--no-ff", "-m", "Merge it", "proposal")
    merged = told(past).events[0]
    assert (merged.kind, merged.group, merged.come, merged.code) == (
        EventKind.RELOCATION,
        "web/app",
        ("a",),
        "PreferredAvailable",
    )
    assert merged.commit == git(past, "rev-parse", "HEAD").strip()


def test_without_a_deployment_repo_there_is_no_history() -> None:
    assert history(None) == History()


# the command


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "fleet", starter())


def test_a_report_is_written_and_says_what_to_open(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    deployment = make_bare(tmp_path / "deployment.git")
    assert run(capfd, "reconcile", "--now", NOW, "--deployment", deployment, fleet).code == 0
    target = tmp_path / "out" / "fleet.html"
    target.parent.mkdir()
    target.write_text("old")
    done = run(capfd, "report", "-o", target, "--now", NOW, "--deployment", deployment, fleet)
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines()[-1].startswith(f"wrote {target}; open file://")
    assert target.resolve().as_uri() in done.err.splitlines()[-1]
    data = data_in(target.read_text())
    assert len(data["events"]["at"]) == 1
    assert "hello/hello" in data["texts"]
    assert [path.name for path in target.parent.iterdir()] == ["fleet.html"]
    assert run(capfd, "report", "-o", "-", "--now", NOW, "--deployment", deployment, fleet).out == target.read_text()


def test_a_report_of_what_is_not_placed_yet_says_so(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = run(capfd, "report", "-o", tmp_path / "x.html", "--now", NOW, fleet)
    assert done.code == 0
    assert "no --deployment given, so nothing is placed yet" in done.err


def test_a_report_that_cannot_be_written_leaves_what_was_there(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run(capfd, "report", "-o", tmp_path, "--now", NOW, fleet)
    assert (done.code, "is a directory" in done.err, "hint: name a file in it" in done.err) == (1, True, True)
    done = run(capfd, "report", "-o", tmp_path / "no" / "x.html", "--now", NOW, fleet)
    assert (done.code, f"hint: make it: mkdir -p {tmp_path / 'no'}" in done.err) == (1, True)
    done = run(capfd, "report", "-o", tmp_path / "not yet" / "x.html", "--now", NOW, fleet)
    assert (done.code, f"hint: make it: mkdir -p '{tmp_path / 'not yet'}'" in done.err) == (1, True)
    target = tmp_path / "x.html"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    assert run(capfd, "report", "-o", target, "--now", NOW, fleet).code == 1
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_broken_fleet_is_told_before_anything_is_written(
    fleet: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write(fleet, {"fleet.yaml": "kind: Fleet\n"})
    done = run(capfd, "report", "-o", tmp_path / "x.html", "--now", NOW, fleet)
    assert done.code == 1
    assert "fleet.yaml:1:" in done.err
    assert not (tmp_path / "x.html").exists()


def test_problems_are_told_with_their_place() -> None:
    facts = gathered(planviews.view(), History())
    assert facts.problems
    told_of = whole(document(facts))
    assert [told_of["texts"][n] for n in told_of["problems"]["where"]] == [str(p.location) for p in facts.problems]


def test_a_time_is_told_in_seconds() -> None:
    facts = replace(fleetfacts.fleet(clusters=1, groups=1, nodes=1), now=datetime(2026, 1, 1, tzinfo=UTC))
    assert document(facts)["now"] == 1767225600
