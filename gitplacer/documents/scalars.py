"""
What a plain scalar means: as Kubernetes reads it.

Kubernetes reads YAML through sigs.k8s.io/yaml, which resolves scalars by YAML 1.1 with Go's number syntax and then
goes through JSON. So `yes` is true, `0777` is 511, `1_000` is 1000, `1:30` and dates are text, and `1.0` is
the integer 1. We resolve the same way, because a size read differently from the cluster's reading is a wrong size.
Rules: sigs.k8s.io/yaml goyaml.v2/resolve.go and Go's strconv.ParseInt (base 0).
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

Scalar = None | bool | int | float | str

LEADS = frozenset("+-.0123456789yYnNtTfFoO~")
"""The first characters of plain scalars that may be something other than text. An empty one is null."""

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INFINITE = frozenset(sign + word for word in (".inf", ".Inf", ".INF") for sign in ("", "+", "-")) | {
    ".nan",
    ".NaN",
    ".NAN",
}
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


_SHORT = 64


@lru_cache(maxsize=1 << 14)
def _the_one(text: str) -> str:
    return text


def shared(text: str) -> str:
    """
    The same text; where it is short, the very one that was seen before. Manifests say the same words thousands of times, which would
    be thousands of texts in memory, and in what is remembered of a file.
    """
    return _the_one(text) if len(text) <= _SHORT else text


_ALIKE = ("true", "True", "TRUE", "false", "False", "FALSE")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:[Tt](?:[0-9]{1,2}:){2}[0-9]{1,2}(?:\.[0-9]*)?(?:Z|[-+][0-9]{2}:[0-9]{2})| (?:[0-9]{1,2}:){2}[0-9]{1,2}(?:\.[0-9]*)?)?"
)


def is_word(text: str) -> bool:
    """Whether a plain scalar is true or false to some readers and a text to others: `yes`, `off`."""
    return isinstance(_WORDS.get(text), bool) and text not in _ALIKE


def is_time(text: str) -> bool:
    """
    Whether a plain scalar is a time to readers that have times. Kubernetes' has none; Kustomize's is gopkg.in/yaml.v3 (resolve.go, parseTimestamp), which writes
    the date `2026-01-02` as `2026-01-02T00:00:00Z`.
    """
    return _TIME.fullmatch(text) is not None


class NotJSON(ValueError):
    """A number that JSON, as Kubernetes reads it, cannot hold."""


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Raises NotJSON."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in LEADS:
        return text
    if text in _INFINITE:
        raise NotJSON(f"{text} is no number in JSON")
    plain = text if text[0] == "." else text.replace("_", "")
    whole = _INTEGER.fullmatch(plain)
    if whole is not None:
        base = whole.lastgroup or "dec"
        return integer(whole["sign"] + whole[base], _BASES[base])
    if _FLOAT.fullmatch(plain):
        return real(plain)
    return text


def integer(digits: str, base: int = 10) -> int:
    """An integer in int64. Raises NotJSON beyond it."""
    if len(digits) <= 80 and INT64_MIN <= (value := int(digits, base)) <= INT64_MAX:
        return value
    raise NotJSON("this integer is beyond 64 bits")  # not quoted: it may be a password without its quotes


def real(digits: str) -> int | float:
    """A decimal number; an integral one is an integer, as on Go's way through JSON. Raises NotJSON when infinite."""
    return normal(float(digits), digits)


def normal(value: float, shown: str) -> int | float:
    """The number as Go's JSON writes it: 2.0 is 2. Raises NotJSON when it is not finite."""
    if not math.isfinite(value):
        raise NotJSON(f"{shown[:24]} is no number in JSON")
    return int(value) if value.is_integer() and INT64_MIN <= value <= INT64_MAX else value
