"""
Times that come again and again, by a cron schedule in a time zone.

The rules of time zones come from the `tzdata` package and not from the host, so that two hosts do not disagree about when a
weekend begins.
"""

from __future__ import annotations

import importlib.resources
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_MOST = 10_000
"""Beginnings looked at in one window; a schedule that comes more often within its own duration never ends."""


def window(schedule: str, seconds: int, time_zone: str, at: datetime) -> datetime | None:
    """
    When the time ends that a moment lies in; None for a moment between two. Raises ValueError for a schedule that cannot be read and
    for a time zone that is not known.
    """
    from cronsim import CronSim, CronSimError  # few fleets have such times, and imports take time

    duration = timedelta(seconds=seconds)
    local = at.astimezone(_zone(time_zone))
    ends = None
    try:
        beginnings = CronSim(schedule, local - duration)
        for _ in range(_MOST):
            begins = next(beginnings, None)
            if begins is None or begins > local:
                break
            ends = begins.astimezone(UTC) + duration
    except CronSimError as error:
        raise ValueError(f"the schedule cannot be read: {str(error).lower()}") from None
    return ends if ends is not None and at < ends else None


def next_beginning(schedule: str, time_zone: str, after: datetime) -> datetime | None:
    """The first time after a moment that a schedule comes; None if it never does again."""
    from cronsim import CronSim

    begins = next(CronSim(schedule, after.astimezone(_zone(time_zone))), None)
    return begins.astimezone(UTC) if begins is not None else None


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    file = importlib.resources.files("tzdata") / "zoneinfo"
    for part in name.split("/"):
        file = file / part
    if not file.is_file() or name.endswith((".py", ".tab", ".zi")):
        raise ValueError(f"there is no time zone {name}")
    with file.open("rb") as data:
        try:
            return ZoneInfo.from_file(data, key=name)
        except ValueError:
            raise ValueError(f"there is no time zone {name}") from None
