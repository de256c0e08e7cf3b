"""
Durations as Go writes them: `90s`, `1h30m`, `1.5h`.

Source: time.ParseDuration, which KubeRay uses for annotations and robfig/cron for `@every`.
"""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = re.compile(r"(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)(?P<unit>ns|us|µs|μs|ms|s|m|h)")
_LIMIT = 2**63
_LONGEST = 200
"""Characters that are looked at. A duration that means something is far shorter."""


def nanoseconds(text: str) -> int | None:
    """The duration, rounded down; None for what is none. Only `0` needs no unit."""
    sign, digits = (-1 if text[:1] == "-" else 1), text[1:] if text[:1] in ("+", "-") else text
    if digits == "0":
        return 0
    at, total = 0, 0
    while at < len(digits) <= _LONGEST:
        part = _PART.match(digits, at)
        if part is None:
            return None
        total += int(Fraction(part["number"]) * _UNITS[part["unit"]])
        at = part.end()
    return sign * total if at and total < _LIMIT else None
