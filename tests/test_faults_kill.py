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


def tried(publish: Publish, points: list[Point]) -> dict[str, str]:
    return {str(point): publish.tried(point) for point in points}


def test_who_is_killed_in_a_publish_leaves_the_commit_before_or_the_commit_after(tmp_path: Path) -> None:
    with publish(tmp_path, "file") as made:
        points = made.points("KILL")
        programs = {point.program for point in points}
        assert len(points) > 300 and {"push", "fast-import", "init", OURS} <= programs
        push = next(point.number for point in points if point.program == "push")
        renames = [Point("push", push, "rename", nth, "KILL", whom) for nth, whom in ((1, "all"), (2, "alone"))]
        came = tried(made, [*renames, *sample(points, 2), next(point for point in points if point.call == "unlinkat")])
    assert list(came.values())[:2] == [
        "nothing, then a lock was named",
        "the capacity alone, told, then a lock was named",
    ]
    assert list(came.values())[-1] == "landed", came


@pytest.mark.unproved("a proof would fetch what the publish is to fetch")
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
