"""When the controller's next turn is due: tables for the rules, laws for the backoff, a story clock for the hints."""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.controller.faults import KINDS, found
from gitplacer.controller.schedule import NEVER, Due, Pace, after_look, after_pass
from gitplacer.controller.turns import RULES, Backoff, Fault, Outcome, backed_off
from gitplacer.controller.wakes import SystemClock, Wakes
from gitplacer.git.program import GitError
from gitplacer.git.storing import NotStored
from gitplacer.problemcodes import FAILURES
from gitplacer.problems import Location, Problem, Rejected, Severity
from gitplacer.settings import UsageError
from tests.clocks import StoryClock

FAULTS = st.sampled_from(list(Fault))
DRAWS = st.floats(0, 1)


# backoff


def waits(faults: Sequence[Fault | None], draw: float = 0.0) -> list[float]:
    state, found = Backoff(), []
    for fault in faults:
        state, delay = backed_off(state, fault, draw)
        found.append(delay)
    return found


def test_every_fault_has_a_rule() -> None:
    assert set(RULES) == set(Fault)
    assert {rule.outcome for rule in RULES.values()} == {Outcome.RETRY, Outcome.HELD, Outcome.STALLED}


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault.LOST_RACE, [1, 2, 4, 8, 16, 30, 30]),
        (Fault.UNREACHABLE, [5, 10, 20, 40, 80, 160, 300]),
        (Fault.RATE_LIMITED, [60, 120, 240, 480, 900, 900, 900]),
        (Fault.PUSH_REFUSED, [30, 60, 120, 240, 480, 900, 900]),
    ],
)
def test_waits_double_up_to_a_bound_and_differ_by_fault(fault: Fault, expected: list[float]) -> None:
    assert waits([fault] * 7) == expected


@given(st.lists(st.tuples(st.none() | FAULTS, DRAWS), max_size=60))
def test_a_wait_is_within_bounds_whatever_happened_before(history: list[tuple[Fault | None, float]]) -> None:
    state = Backoff()
    for fault, draw in history:
        state, delay = backed_off(state, fault, draw)
        if fault is None:
            assert (state, delay) == (Backoff(), 0)
        else:
            assert RULES[fault].first / 2 <= delay <= RULES[fault].most
            assert state.fault is fault


@given(st.lists(st.none() | FAULTS, max_size=20), FAULTS)
def test_a_turn_that_went_well_and_another_fault_begin_anew(history: list[Fault | None], fault: Fault) -> None:
    first = RULES[fault].first
    assert waits([*history, None, fault])[-1] == first
    other = next(each for each in Fault if each is not fault)
    assert waits([*history, other, fault])[-1] == first


@given(FAULTS, st.integers(1, 2000), DRAWS)
def test_an_outage_of_any_length_is_waited_for_at_most_as_long_as_the_bound(
    fault: Fault, times: int, draw: float
) -> None:
    state, delay = backed_off(Backoff(fault, times), fault, draw)
    assert state.times == times + 1
    assert 0 < delay <= RULES[fault].most


def test_two_who_lost_the_same_race_do_not_come_back_together() -> None:
    assert backed_off(Backoff(), Fault.LOST_RACE, 0.0)[1] != backed_off(Backoff(), Fault.LOST_RACE, 0.9)[1]


# what went wrong


def test_every_way_in_which_git_fails_has_a_fault() -> None:
    assert set(KINDS) == set(FAILURES)


def test_every_fault_can_happen() -> None:
    raised = [*KINDS.values(), *(found(error).fault for error in (OSError(errno.ENOSPC, "full"), ValueError("odd")))]
    assert set(raised) == set(Fault)


PLACE = Problem(Location("fleet.yaml", 3, 1), "InvalidValue", "is not so", "write it so")
ASIDE = Problem(Location("capacity/a.yaml", 4, 9), "UnknownCluster", "is nobody's", "add it", Severity.WARNING)


@pytest.mark.parametrize(
    ("error", "fault", "message", "hint"),
    [
        (Rejected([PLACE]), Fault.REJECTED_SOURCE, "fleet.yaml:3:1: is not so", "write it so"),
        (Rejected([PLACE, PLACE]), Fault.REJECTED_SOURCE, "fleet.yaml:3:1: is not so (and 1 more)", "write it so"),
        # a warning comes first, and is not what stopped it
        (Rejected([ASIDE, PLACE, ASIDE]), Fault.REJECTED_SOURCE, "fleet.yaml:3:1: is not so", "write it so"),
        (
            Rejected([ASIDE, PLACE, PLACE]),
            Fault.REJECTED_SOURCE,
            "fleet.yaml:3:1: is not so (and 1 more)",
            "write it so",
        ),
        (UsageError("no repo", "give one"), Fault.MISCONFIGURED, "no repo", "give one"),
        (GitError("https://u:secret@h/x is away", "Unreachable"), Fault.UNREACHABLE, "https://***@h/x is away", ""),
        (
            GitError("write error: No space left on device"),
            Fault.DISK_FULL,
            "write error: No space left on device",
            "room",
        ),
        (
            GitError("stored there: No space left on device", "PushRefused", "see there"),
            Fault.DISK_FULL,
            "",
            "see there",
        ),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), Fault.DISK_FULL, "Disk quota exceeded", "room"),
        (
            NotStored("cannot write to /c: No space left on device", hint="make it"),
            Fault.DISK_FULL,
            "/c: No space",
            "make it",
        ),
        (NotStored("cannot write to /c: Read-only file system"), Fault.MISCONFIGURED, "/c: Read-only", ""),
        (
            OSError(errno.EIO, "Input/output error", "/c/x"),
            Fault.UNEXPECTED,
            "/c/x: Input/output error",
            "this machine",
        ),
        (sqlite3.DatabaseError("malformed"), Fault.DAMAGED_CACHE, "malformed", ""),
        (MemoryError(), Fault.UNEXPECTED, "MemoryError", "bug"),
        (ValueError("a\x1b[31mb\nc"), Fault.UNEXPECTED, "ValueError: a", "bug"),
    ],
)
def test_what_was_raised_is_told_by_its_fault_in_one_line(
    error: Exception, fault: Fault, message: str, hint: str
) -> None:
    told = found(error)
    assert (told.fault, message in told.message, hint in told.hint) == (fault, True, True)
    assert "\n" not in told.message and "\x1b" not in told.message


# what is due

PACE = Pace(interval=60, full=300, batch=2)


@pytest.mark.parametrize(
    ("due", "hinted_at", "expected", "why"),
    [
        (Due(look_at=60, pass_at=300, began=0), None, 60, "the next look"),
        (Due(look_at=330, pass_at=300, began=0), None, 300, "the next pass"),
        (Due(look_at=60, pass_at=300, began=0), 10, 10, "a hint after a quiet time is followed at once"),
        (Due(look_at=60, pass_at=300, began=9), 10, 11, "a hint soon after a turn waits for others"),
        (Due(look_at=60, pass_at=300, began=0), 70, 60, "what is due by itself is not put off by a hint"),
        (Due(look_at=90, pass_at=90, began=0, not_before=90), 10, 90, "whoever is not to be asked is not asked"),
        (Due(look_at=60, pass_at=300, settle_at=1, began=0), None, 1, "what was published is settled at once"),
        (
            Due(look_at=60, pass_at=300, settle_at=1, began=0),
            0.5,
            2,
            "a hint that waits comes first, with those that come beside it",
        ),
        (Due(look_at=60, pass_at=300, settle_at=12, began=0), 11, 11, "also one that has waited for long"),
        (NEVER, None, float("inf"), "whoever does not work settles nothing"),
    ],
)
def test_a_turn_is_due_when_something_wants_it(due: Due, hinted_at: float | None, expected: float, why: str) -> None:
    assert due.next_turn(hinted_at, PACE) == expected, why


def test_a_pass_comes_by_itself_however_often_nothing_moves() -> None:
    due, now, passes = Due(), 0.0, []
    while now < 1000:
        now = due.next_turn(None, PACE)
        if due.makes_pass(now, hinted=False):
            passes.append(now)
            due = after_pass(PACE, began=now, now=now + 1, delay=0, hurries=True, stretch=1)
        else:
            due = after_look(due, PACE, began=now, now=now, stretch=1)
    assert passes == [0, 301, 602, 903]


def test_a_person_who_mends_what_stalls_is_noticed_before_the_wait_is_over() -> None:
    stalled = after_pass(PACE, began=0, now=1, delay=600, hurries=True, stretch=1)
    assert (stalled.next_turn(None, PACE), stalled.makes_pass(61, hinted=False)) == (61, False)
    assert stalled.next_turn(5, PACE) == 5
    limited = after_pass(PACE, began=0, now=1, delay=600, hurries=False, stretch=1)
    assert limited.next_turn(None, PACE) == limited.next_turn(5, PACE) == 601


@pytest.mark.parametrize(
    ("delay", "unsettled", "why", "at"),
    [
        (0, True, "settle", 1),
        (0, False, "look", 61),
        (30, True, "time", 31),  # what went wrong is tried again, and that is a pass as well
    ],
)
def test_what_follows_a_pass_by_itself_has_a_word(delay: float, unsettled: bool, why: str, at: float) -> None:
    due = after_pass(PACE, began=0, now=1, delay=delay, hurries=True, stretch=1, unsettled=unsettled)
    clock = StoryClock()
    clock.seconds = 1
    wake = Wakes(clock, PACE).wait(lambda: due)
    assert wake is not None and (wake.why, wake.settles, wake.makes_pass) == ((why,), why == "settle", why != "look")
    assert clock.seconds == at


def test_a_hint_that_came_to_nothing_leaves_what_is_to_be_settled() -> None:
    """Hosts tell of our own push as of any other."""
    due = after_pass(PACE, began=0, now=1, delay=0, hurries=True, stretch=1, unsettled=True)
    looked = after_look(due, PACE, began=2, now=3, stretch=1, hinted=True)
    assert (looked.next_turn(None, PACE), looked.settles(3), looked.makes_pass(3, hinted=False)) == (1, True, True)


def test_a_pass_that_is_due_in_any_case_is_called_by_that() -> None:
    due = Due(look_at=60, pass_at=300, settle_at=1)
    assert [due.settles(now) for now in (0, 1, 299, 300)] == [False, True, True, False]


# hints


def test_many_hints_are_one_turn_that_knows_their_reasons() -> None:
    clock = StoryClock()
    wakes = Wakes(clock, PACE)
    due = Due(look_at=60, pass_at=300, began=0)
    clock.at(10, lambda: [wakes.hint("webhook", f"refs/heads/{n % 2}") for n in range(100)])
    clock.at(10, lambda: wakes.hint("flux"))
    wake = wakes.wait(lambda: due)
    assert wake is not None
    assert (clock.seconds, wake.why, wake.refs) == (10, ("webhook",), {"refs/heads/0", "refs/heads/1"})
    later = wakes.wait(lambda: Due(look_at=70, pass_at=300, began=10))
    assert later is not None
    assert (clock.seconds, later.why, later.makes_pass) == (12, ("flux",), True)
    looks = wakes.wait(lambda: Due(look_at=72, pass_at=300, began=12))
    assert looks is not None
    assert (clock.seconds, looks.why, looks.makes_pass) == (72, ("look",), False)


def test_what_hints_say_is_bounded() -> None:
    wakes = Wakes(StoryClock(), PACE)
    for number in range(10_000):
        wakes.hint(f"webhook {number}", f"refs/heads/{number}")
    wake = wakes.wait(lambda: Due(look_at=60, pass_at=300))
    assert wake is not None and len(wake.why) < 10 and len(wake.refs) < 10


def test_whoever_is_told_to_stop_waits_no_longer() -> None:
    clock = StoryClock()
    wakes = Wakes(clock, PACE)
    clock.at(5, wakes.stop)
    assert wakes.wait(lambda: Due(look_at=60, pass_at=300, began=0)) is None
    assert clock.seconds == 5
    wakes.hint("webhook")
    assert wakes.wait(lambda: Due()) is None


def test_hints_from_many_threads_wake_a_real_wait() -> None:
    wakes = Wakes(SystemClock(), Pace(interval=3600, full=3600, batch=0))
    now = SystemClock().monotonic()
    waiting = Due(look_at=now + 3600, pass_at=now + 3600, began=now)
    found: list[str] = []

    def follow() -> None:
        while (wake := wakes.wait(lambda: waiting)) is not None:
            found.extend(wake.why)
            if "last" in wake.why:
                wakes.stop()

    follower = threading.Thread(target=follow)
    follower.start()
    hinting = [threading.Thread(target=wakes.hint, args=(name,)) for name in "abcdef"]
    for thread in hinting:
        thread.start()
    for thread in hinting:
        thread.join()
    wakes.hint("last")
    follower.join()
    assert sorted(found) == [*"abcdef", "last"]
