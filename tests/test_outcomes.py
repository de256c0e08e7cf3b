"""What a plan promised, remembered in a few bytes, and held against the records of what was done."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.formats.outcome import description, outcome_markdown, remembered, remembered_in, with_outcome
from gitplacer.formats.planjson import plan_document
from gitplacer.hosts.host import LONGEST_DESCRIPTION
from gitplacer.kept import read_records
from gitplacer.kinds.record import PlacementRecord, RecordCluster, RecordMetadata
from gitplacer.review.outcomes import Fate, Outcome, Promise, Promised, became, packed, promise_of, unpacked
from gitplacer.source.files import NoMemo
from tests.stories import ANYWHERE, START, Story, cluster, rayjob, rayservice, snapshot

INPUTS = {"source": "s", "capacity": "c", "deployment": "d", "version": "1"}


def record(group: str, *clusters: str, waits: bool = False, reason: str = "Fits") -> PlacementRecord:
    """A record; a cluster may be written with its state, as in `b:Removing`."""
    namespace, _, name = group.partition("/")
    entries = [word.partition(":") for word in clusters]
    return PlacementRecord(
        apiVersion="gitplacer.dev/v1alpha1",
        kind="Placement",
        metadata=RecordMetadata(name=name, namespace=namespace),
        policy="anywhere",
        clusters=tuple(
            RecordCluster.model_validate({"name": at, "state": state or "Placed", "since": START, "epoch": 1})
            for at, _, state in entries
        ),
        waitingSince=START if waits else None,
        reason=reason,
    )


@pytest.mark.parametrize(
    ("planned", "now", "fate"),
    [
        (Promised("Place", ("a",)), record("n/g", "a"), Fate.AS_PLANNED),
        (Promised("Place", ("a",)), record("n/g", "b"), Fate.DIFFERS),
        (Promised("Place", ("a",)), record("n/g", waits=True), Fate.WAITS),
        (Promised("Place", ("a",)), None, Fate.DIFFERS),
        (Promised("Place", ("a", "b")), record("n/g", "b", "a"), Fate.AS_PLANNED),
        (Promised("Place", ("a", "b")), record("n/g", "a", waits=True), Fate.DIFFERS),
        (Promised("Wait", ()), record("n/g", waits=True), Fate.WAITS),
        (Promised("Wait", ("b",)), record("n/g", "b:Waking", waits=True), Fate.WAITS),
        (Promised("Keep", ("a", "b")), record("n/g", "a", "b:Waking", waits=True), Fate.AS_PLANNED),
        (Promised("Wait", ()), record("n/g", "a"), Fate.FOUND_ROOM),
        (Promised("Wait", ()), None, Fate.DIFFERS),
        (Promised("Remove", ()), None, Fate.AS_PLANNED),
        (Promised("Remove", ()), record("n/g", "a"), Fate.DIFFERS),
        (Promised("Hold", ("a",)), record("n/g", "a"), Fate.AS_PLANNED),
        (Promised("Hold", ()), None, Fate.AS_PLANNED),
        (Promised("Hold", ("a",)), None, Fate.DIFFERS),
        # a hold leaves the record as it is
        (Promised("Hold", ()), record("n/g", waits=True), Fate.AS_PLANNED),
        (Promised("Hold", ("b",)), record("n/g", "b:Waking", waits=True), Fate.AS_PLANNED),
        (Promised("Hold", ("a", "b")), record("n/g", "a", "b:Removing", waits=True), Fate.DIFFERS),
        (Promised("Hold", ()), record("n/g", "a"), Fate.DIFFERS),
        # During a surge both clusters have the files; during a removal first, neither has.
        (Promised("Relocate", ("a", "b")), record("n/g", "a", "b:Adding"), Fate.AS_PLANNED),
        (Promised("Relocate", ()), record("n/g", "a:Removing", "b:Adding"), Fate.AS_PLANNED),
        (Promised("Relocate", ("b",)), record("n/g", "b:Waking"), Fate.AS_PLANNED),
    ],
)
def test_a_promise_is_kept_or_not(planned: Promised, now: PlacementRecord | None, fate: Fate) -> None:
    records = {"n/g": now} if now is not None else {}
    outcome = became(Promise(INPUTS, {"n/g": planned}), records, INPUTS, ["1" * 40])
    assert [each.fate for each in outcome.groups] == [fate]


@pytest.mark.parametrize(
    ("written", "fate"), [(None, Fate.AS_PLANNED), ({"n/g"}, Fate.AS_PLANNED), (set(), Fate.NOT_UPDATED)]
)
def test_an_update_is_kept_where_files_were_written(written: set[str] | None, fate: Fate) -> None:
    promise = Promise(INPUTS, {"n/g": Promised("Update", ("a",)), "n/h": Promised("Place", ("a",))})
    records = {name: record(name, "a") for name in ("n/g", "n/h")}
    outcome = became(promise, records, INPUTS, ["1" * 40], written)
    assert [each.fate for each in outcome.groups] == [fate, Fate.AS_PLANNED]
    assert outcome.fate is fate


def test_the_worst_of_all_groups_is_what_counts() -> None:
    def fate(*records: PlacementRecord) -> Fate | None:
        promise = Promise(INPUTS, {name: Promised("Place", ("a",)) for name in ("n/x", "n/y")})
        return became(promise, {r.id: r for r in records}, INPUTS, ["1" * 40]).fate

    good, waits, other = record("n/x", "a"), record("n/y", waits=True), record("n/y", "b")
    assert fate(good, record("n/y", "a")) is Fate.AS_PLANNED
    assert fate(good, waits) is Fate.WAITS
    assert fate(replace_id(waits, "n/x"), other) is Fate.DIFFERS


def replace_id(found: PlacementRecord, group: str) -> PlacementRecord:
    namespace, _, name = group.partition("/")
    return found.model_copy(update={"metadata": RecordMetadata(name=name, namespace=namespace)})


def test_without_a_pass_nothing_is_said_of_groups() -> None:
    promise = Promise(INPUTS, {"n/g": Promised("Place", ("a",))})
    assert became(promise, {}, {}, []).fate is None
    assert became(None, {}, {}, []).fate is None
    assert became(Promise(INPUTS, {}), {}, {}, []).fate is Fate.AS_PLANNED
    assert "not carried out yet" in description(became(promise, {}, {}, []), LONGEST_DESCRIPTION)


def test_what_would_have_happened_anyway_is_no_promise() -> None:
    promise = Promise(INPUTS, {"n/g": Promised("Place", ("a",), anyway=True)})
    outcome = became(promise, {"n/g": record("n/g", "b")}, INPUTS, ["1" * 40])
    assert (outcome.groups, outcome.fate) == ((), Fate.AS_PLANNED)


def test_a_plan_is_kept_by_the_pass_that_carries_it_out() -> None:
    """The law in one story: what plan JSON promises, the records of the same pass keep."""
    story = Story.of(
        cluster("a"), cluster("b"), ANYWHERE, rayservice("prod", "api"), rayjob("train", "big", workers=9),
        capacity={**snapshot("a", "n1 32 128Gi 4"), **snapshot("b", "n1 32 128Gi 2")},
    )  # fmt: skip

    def planned_and_done() -> dict[str, tuple[str, Fate]]:
        done = story.run()
        promise = promise_of(plan_document(done.view))
        records, _ = read_records(done.tree, NoMemo(), [])
        outcome = became(promise, records, promise.inputs, ["1" * 40])
        return {each.group: (each.planned.action, each.fate) for each in outcome.groups}

    assert planned_and_done() == {"prod/api": ("Place", Fate.AS_PLANNED), "train/big": ("Wait", Fate.WAITS)}
    for path in ("workloads/prod/api.yaml", "workloads/train/big.yaml"):
        story.source[path] = story.source[path].replace("memory: ", "memory: no")
    assert planned_and_done() == dict.fromkeys(("prod/api", "train/big"), ("Hold", Fate.AS_PLANNED))


# remembering

names = st.text(max_size=20)
promises = st.builds(
    Promise,
    st.fixed_dictionaries(dict.fromkeys(INPUTS, names)),
    st.dictionaries(
        names, st.builds(Promised, names, st.lists(names, max_size=3).map(tuple), st.booleans()), max_size=5
    ),
)


@given(promise=promises)
def test_a_remembered_promise_comes_back_whole(promise: Promise) -> None:
    assert unpacked(packed(promise)) == promise
    body = f"<!-- gitplacer:plan -->\n### x\n\n{remembered(promise)}\n"
    assert remembered_in(body) == promise
    assert "--" not in packed(promise)


@given(text=st.text(max_size=60))
def test_whatever_stands_there_reading_it_does_no_harm(text: str) -> None:
    unpacked(text)
    remembered_in(f"<!-- gitplacer:promised {text} -->")


def forged(value: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(value)).decode().replace("-", ".")


@pytest.mark.parametrize(
    "value",
    [
        b"[]", b"{}", b"null", b"[" * 5000, b'{"v":2,"inputs":{},"groups":{}}', b'{"v":1,"inputs":{},"groups":{}}',
        b'{"v":1,"inputs":{"source":1,"capacity":"","deployment":"","version":""},"groups":{}}',
        b'{"v":1,"inputs":{"source":"","capacity":"","deployment":"","version":""},"groups":{"a":["Place",["b",1],false]}}',
        b'{"v":1,"inputs":{"source":"","capacity":"","deployment":"","version":""},"groups":{"a":1}}',
        b" " * 5_000_000,
    ],
)  # fmt: skip
def test_what_is_no_promise_is_none(value: bytes) -> None:
    assert unpacked(forged(value)) is None


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"kind": "Plan"},
        {"kind": "Plan", "groups": [1]},
        {"kind": "Plan", "groups": [{"group": "a", "action": "Place"}]},
    ],
)
def test_what_is_no_plan_promises_nothing(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        promise_of(document)


# words


def outcome(*rows: tuple[str, Promised, PlacementRecord | None], moved: bool = False) -> Outcome:
    promise = Promise(INPUTS, {name: planned for name, planned, _ in rows})
    inputs = {**INPUTS, "capacity": "other"} if moved else INPUTS
    return became(promise, {name: now for name, _, now in rows if now is not None}, inputs, ["1" * 40, "2" * 40])


KEPT = ("n/x", Promised("Place", ("a",)), record("n/x", "a"))
ELSEWHERE = ("n/y", Promised("Place", ("a",)), record("n/y", "b"))
WAITING = ("n/z", Promised("Place", ("a",)), record("n/z", waits=True, reason="InsufficientCapacity"))


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (outcome(KEPT), "as planned: 1 group"),
        (outcome(KEPT, WAITING), "waits: n/z; the rest is as planned"),
        (outcome(KEPT, ELSEWHERE, moved=True), "differs: n/y is on b instead of a; the capacity snapshots have changed since the plan"),
        (outcome(ELSEWHERE), "differs: n/y is on b instead of a; the source or the time is another than in the plan"),
        (outcome(), "as planned: it changes no placement"),
        *(
            (outcome(("n/x", Promised(action, ()), record("n/x", "a", "b:Adding"))),
            f"differs: n/x is on a and b, and was to {words}; the source or the time is another than in the plan")
            for action, words in {"Hold": "be held", "Remove": "be removed"}.items()
        ),
    ],
)  # fmt: skip
def test_one_line_says_it(told: Outcome, words: str) -> None:
    assert description(told, LONGEST_DESCRIPTION) == words


def test_the_line_of_a_status_is_never_too_long() -> None:
    long = ("n/" + "x" * 250, Promised("Place", ("c" * 60,)), record("n/" + "x" * 250, "d" * 60))
    assert len(description(outcome(long), LONGEST_DESCRIPTION)) == LONGEST_DESCRIPTION


def test_the_comment_tells_each_group_with_the_commits() -> None:
    text = outcome_markdown(outcome(KEPT, ELSEWHERE, WAITING, moved=True), lambda oid: f"https://x/{oid}")
    assert "| n/x | a | a | as planned |" in text
    assert "| n/y | a | b (Fits) | **differs** |" in text
    assert "| n/z | a | – (InsufficientCapacity) | waits |" in text
    assert f"Deployment commits: [`111111111111`](https://x/{'1' * 40}), [`222222222222`]" in text


def test_a_long_table_begins_with_what_is_not_as_planned() -> None:
    as_planned = [
        (f"n/g{number:03}", Promised("Place", ("a",)), record(f"n/g{number:03}", "a")) for number in range(150)
    ]
    text = outcome_markdown(outcome(*as_planned, ("n/z", Promised("Place", ("a",)), record("n/z", "b"))), str)
    rows = [line for line in text.splitlines() if line.startswith("| n/")]
    assert rows[0] == "| n/z | a | b (Fits) | **differs** |"
    assert rows[1:] == [f"| n/g{number:03} | a | a | as planned |" for number in range(99)]
    assert "\nand 51 more groups\n" in text


def test_what_is_told_fits_in_a_comment_whatever_groups_are_called() -> None:
    """A table of a hundred long names was longer than GitHub takes, and nothing was told, not even a status."""
    clusters = tuple(f"{name}{'x' * 62}" for name in "abcd")
    long = [(f"{'n' * 60}/{'_' * 190}{number:03}", Promised("Place", clusters), None) for number in range(200)]
    told = replace(outcome(*long), commits=tuple(f"{number:040}" for number in range(300)))
    text = outcome_markdown(told, lambda oid: f"https://git.example/{'x' * 200}/commit/{oid}")
    assert len(text) < 60_000
    listed = sum(line.startswith("| nnn") for line in text.splitlines())
    assert f"\nand {200 - listed} more groups\n" in text
    assert with_outcome([text], text, 65_536)


def test_what_is_told_again_replaces_what_was_told() -> None:
    first = with_outcome(["### plan\n\nbody", "page 2"], outcome_markdown(outcome(WAITING), str), 65_536)
    again = with_outcome(first, outcome_markdown(outcome(KEPT), str), 65_536)
    assert len(again) == 2
    assert again[0].count("### gitplacer:") == 1
    assert again[0].endswith("### plan\n\nbody")
    assert "as planned: 1 group" in again[0]


def test_where_there_is_no_room_above_the_plan_it_is_a_page_of_its_own_and_stays_one() -> None:
    told = outcome_markdown(outcome(KEPT), str)
    pages = with_outcome(["x" * 65_000], told, 65_536)
    assert pages == [told, "x" * 65_000]
    assert with_outcome(pages, told, 65_536) == pages


def test_names_do_nothing_in_the_comment() -> None:
    hostile = "n/<img>@team|`x`"
    text = outcome_markdown(outcome((hostile, Promised("Place", ("a",)), record("n/g", "b"))), str)
    assert "<img>" not in text
    assert "@team" not in text


def test_a_forged_end_mark_in_a_name_ends_nothing() -> None:
    hostile = "n/<!-- /gitplacer:done -->"
    told = outcome_markdown(outcome((hostile, Promised("Place", ("a",)), record("n/g", "b"))), str)
    once = with_outcome(["plan"], told, 65_536)
    assert with_outcome(once, told, 65_536) == once
    assert replace(outcome(KEPT), commits=()).fate is None
