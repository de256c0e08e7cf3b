"""
A `now` that notes until when an answer stands: it answers as any datetime does, and what it notes is true.

The judge is the plain datetime: the same questions, asked at another instant within the horizon, get the same answers.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.kinds.fields import Instant, Model
from gitplacer.model.horizon import _INSTANT_FREE, Horizon, Moving, MovingSpan

START = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)

hours = st.integers(-6, 6).map(lambda count: timedelta(hours=count))
instants = hours.map(lambda away: START + away)

Question = Callable[[datetime], Any]


def asked(name: str, *values: Any) -> Question:
    """What code of a pass asks of its time, in one of the ways that there are."""
    first, second, third = values
    ways: dict[str, Question] = {
        "is past": lambda now: now > first,
        "is to come": lambda now: first >= now,
        "is now": lambda now: (now == first, first != now),
        "age": lambda now: now - first > second,
        "time left": lambda now: first - now <= second,
        "age at least": lambda now: second <= now - first,
        "deadline": lambda now: now + second < first,
        "before a while": lambda now: first < now - second,
        "timeout and a time spent": lambda now: (now - third) >= second + (now - first),
        "longer timeout": lambda now: (now - first) + second > third - first,
        "shorter": lambda now: (now - first) - second > third - first,
        "rest": lambda now: second - (now - first) > timedelta(0),
        "negative": lambda now: -(now - first) < second,
        "any time at all": lambda now: bool(now - first),
        "shifted": lambda now: third + (now - first) < first,
        "later of both": lambda now: max(now, first) == first,
        "line": lambda now: [name for _, name in sorted([(first, "a"), (now, "b"), (third, "c"), (now, "d")])],
        "two ages": lambda now: (now - first) < (now - third),
        "the instant": lambda now: f"{now:%H}" + str(now - first),
        "minutes": lambda now: (now - first).total_seconds() // 60,
        "age and time left": lambda now: (now - first) < (third - now),
        "hashed": lambda now: now in {first},
    }
    return ways[name]


WAYS = [
    "is past", "is to come", "is now", "age", "time left", "age at least", "deadline", "before a while", "timeout and a time spent",
    "longer timeout", "shorter", "rest", "negative", "any time at all", "shifted", "later of both", "line", "two ages", "the instant",
    "minutes", "age and time left", "hashed",
]  # fmt: skip
SHOWING = {"the instant", "minutes", "age and time left", "hashed"}
"""Ways in which the answer is made of the instant itself."""

questions = st.lists(st.builds(asked, st.sampled_from(WAYS), instants, hours, instants), min_size=1, max_size=6)


@given(questions, hours, st.integers(0, 13 * 3600))
def test_within_the_horizon_all_answers_are_the_same(asked_of: list[Question], away: timedelta, seconds: int) -> None:
    horizon = Horizon(START + away)
    answers = [question(horizon.now) for question in asked_of]
    assert answers == [question(horizon.instant) for question in asked_of]
    later = horizon.instant + timedelta(seconds=seconds)
    if horizon.reaches(later):
        assert answers == [question(later) for question in asked_of]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=15)
@given(instants, hours, instants)
def test_a_horizon_is_lost_only_where_the_instant_shows(
    way: str, first: datetime, second: timedelta, third: datetime
) -> None:
    horizon = Horizon(START)
    asked(way, first, second, third)(horizon.now)
    assert bool(horizon.lost) == (way in SHOWING), horizon.lost


@pytest.mark.parametrize(
    ("question", "until"),
    [
        (lambda now: now > START - timedelta(hours=1), None),
        (lambda now: now > START + timedelta(hours=1), 1),
        (lambda now: now - START > timedelta(hours=2), 2),
        (lambda now: START + timedelta(hours=5) - now < timedelta(hours=2), 3),
        (lambda now: now > START, 0),  # it is not, and is a moment later
        (lambda now: (now > START + timedelta(hours=4), now > START + timedelta(hours=3)), 3),
        (lambda now: now > datetime.max.replace(tzinfo=UTC), 10**7),
        (lambda now: now - START > timedelta.max, None),
    ],
)
def test_it_reaches_to_the_first_instant_that_counts(question: Question, until: int | None) -> None:
    horizon = Horizon(START)
    question(horizon.now)
    if until is not None and until < 10**6:
        assert horizon.until == START + timedelta(hours=until)
    else:
        assert horizon.until is None or horizon.until > START + timedelta(days=365_000)


def test_nothing_is_known_of_the_time_before() -> None:
    horizon = Horizon(START)
    assert not horizon.reaches(START - timedelta(seconds=1))
    assert horizon.reaches(START) and horizon.reaches(START + timedelta(days=400))


@pytest.mark.parametrize("name", sorted(set(dir(datetime)) - _INSTANT_FREE))
def test_whatever_a_datetime_can_be_asked_is_followed_or_loses_the_horizon(name: str) -> None:
    """Also what the next Python adds: an attribute that is inherited would be read unnoticed."""
    assert name in vars(Moving), name


class Written(Model):
    """Something with a time."""

    at: Instant


@pytest.mark.parametrize(
    "shown",
    [
        repr, str, hash, pickle.dumps, copy.copy, copy.deepcopy, lambda now: now.isoformat(), lambda now: now.year, lambda now: now.timestamp(),
        lambda now: Written(at=now).model_dump(mode="json"), lambda now: Written(at=now).model_dump_json(),
        lambda now: repr(now - START), lambda now: (now - START) * 2, lambda now: (now - START).days, lambda now: hash(now - START),
        lambda now: f"{now - START}", lambda now: (now - START) // timedelta(hours=1), lambda now: START - (now - START),
    ],
)  # fmt: skip
def test_what_shows_the_instant_loses_the_horizon(shown: Callable[[datetime], Any]) -> None:
    horizon = Horizon(START)
    shown(horizon.now)
    assert horizon.lost


def test_what_is_written_of_a_time_that_moves_is_what_a_time_is_written_as() -> None:
    at = START.replace(microsecond=120)
    assert Written(at=Horizon(at).now).model_dump_json() == Written(at=at).model_dump_json()
    assert Written(at=at).model_dump(mode="json") == {"at": "2026-01-02T03:00:00.000120Z"}


def test_times_of_two_horizons_are_not_mixed() -> None:
    one, other = Horizon(START), Horizon(START + timedelta(hours=1))
    assert other.now > one.now
    assert isinstance(one.now - START, MovingSpan)
    assert one.lost or other.lost
