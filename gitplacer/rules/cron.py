"""
Schedules as cron writes them: five fields, or a name such as `@hourly`.

KubeRay reads them with robfig/cron v3 (ParseStandard), which takes less than others do: no seconds, no `7` for Sunday,
no `L`, `W` or `#`. Every field is a list of ranges with steps: `*/15`, `1-5`, `MON,WED`, `10-50/20`.
Source: parser.go and spec.go of github.com/robfig/cron/v3, read through the copies that others keep of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice, pairwise

from msgspec import Struct, field

from gitplacer.rules.duration import nanoseconds

_EVERY = "@every "
_WRITTEN_OUT = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_TICKS = 500
"""So many of a schedule are looked at: hours and days come around much sooner, leap years do not matter."""
_NUMBER = re.compile(r"\+?[0-9]{1,18}")


class _Field(Struct, frozen=True):
    """What one field may hold."""

    name: str
    least: int
    most: int
    words: Mapping[str, int] = field(default_factory=dict)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, {month: number for number, month in enumerate(_MONTHS, 1)}),
    _Field("day of the week", 0, 6, {day: number for number, day in enumerate(_DAYS)}),
)


def flaw(schedule: str) -> str:
    """What is wrong with a schedule, in words; '' for one that is understood."""
    if schedule.startswith("@"):
        if schedule in _WRITTEN_OUT:
            return ""
        if schedule.startswith(_EVERY):
            period = schedule.removeprefix(_EVERY)
            return "" if nanoseconds(period) is not None else f'"{period}" is no duration'
        return f'there is no "{schedule}"'
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"there are {len(parts)} fields, not 5"
    flaws = (_flaw(one, part) for part, one in zip(parts, _FIELDS, strict=True))
    return next((found for found in flaws if found), "")


@lru_cache(maxsize=256)
def shortest_gap(schedule: str) -> timedelta | None:
    """
    The least time between two ticks of a schedule without a flaw, on days of 24 hours; None where that is not known: it ticks less than twice, or
    is written as only robfig/cron reads it.
    """
    if schedule.startswith(_EVERY):
        # robfig/cron counts whole seconds, and one at least.
        return timedelta(seconds=max((nanoseconds(schedule.removeprefix(_EVERY)) or 0) // 1_000_000_000, 1))
    from cronsim import CronSim, CronSimError  # few fleets have such times, and imports take time

    try:
        ticks = islice(CronSim(_WRITTEN_OUT.get(schedule, schedule), datetime(2024, 1, 1)), _TICKS)
        return min((later - earlier for earlier, later in pairwise(ticks)), default=None)
    except CronSimError:
        return None


def _flaw(one: _Field, part: str) -> str:
    """The first thing wrong with a field. Empty items of a list are passed over, as robfig/cron does."""
    for item in part.split(","):
        if item and (why := _range_flaw(one, item)):
            return f'"{item}" is no {one.name}: {why}'
    return ""


def _range_flaw(one: _Field, item: str) -> str:
    span, *steps = item.split("/")
    low, *rest = span.split("-")
    if len(steps) > 1:
        return "it has more than one slash"
    if low in ("*", "?"):
        first, last = one.least, one.most
    elif len(rest) > 1:
        return "it has more than one hyphen"
    else:
        start, end = _number(one, low), _number(one, rest[0] if rest else low)
        if start is None or end is None:
            return f'"{low if start is None else rest[0]}" is no number' + (" or name" if one.words else "")
        first, last = start, one.most if steps and not rest else end
    if first < one.least or last > one.most:
        return f"it goes from {one.least} to {one.most}"
    if first > last:
        return "it ends before it begins"
    step = _number(_FIELDS[0], steps[0]) if steps else 1
    return "" if step else f'"{steps[0]}" is no step'


def _number(one: _Field, text: str) -> int | None:
    if (word := one.words.get(text.lower())) is not None:
        return word
    return int(text) if _NUMBER.fullmatch(text) else None
