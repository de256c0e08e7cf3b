"""A sample of what `python -m tests.faultinjection` does in full: a publish that is killed, or whose disk fails, at a system call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faultinjection import OURS, Point, Publish, cannot_trace, publish

WHY = cannot_trace()

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.skipif(bool(WHY), reason=WHY)]


def sample(points: list[Point], count: int) -> list[Point]:
    """So many of them, evenly, and always the same."""
    return points[:: max(1, len(points) // count)][:count]


def of_push(points: list[Point]) -> list[Point]:
    return [point for point in points if point.program == "push" and point.call in {"rename", "unlink", "link"}]


def tried(publish: Publish, points: list[Point]) -> dict[str, str]:
    return {str(point): publish.tried(point) for point in points}


def test_who_is_killed_in_a_publish_leaves_the_commit_before_or_the_commit_after(tmp_path: Path) -> None:
    with publish(tmp_path, "file") as made:
        points = made.points("KILL")
        assert len(points) > 300 and {"push", "fast-import", "init", OURS} <= {point.program for point in points}
        came = tried(made, sample(of_push(points), 4))
    assert any(outcome.startswith("landed") for outcome in came.values()), came
    assert any(outcome.startswith("nothing") for outcome in came.values()), came


def test_who_is_killed_in_a_fetch_does_not_spoil_the_cache_for_the_next(tmp_path: Path) -> None:
    with publish(tmp_path, "http") as made:
        points = [point for point in made.points("KILL") if point.program == "fetch" and point.call != "write"]
        assert tried(made, sample(points, 2))


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_in_a_publish_is_told_and_nothing_has_landed(tmp_path: Path, error: str) -> None:
    with publish(tmp_path, "file") as made:
        points = [point for point in made.points(error) if point.program == "fast-import"]
        came = tried(made, sample(points, 1))
    assert set(came.values()) == {"nothing, told"}, came
