"""
Kubernetes quantities, exactly.

"12G", "500m", "1e3" and "0.5Gi" are numbers; we keep them as integers so that sums are exact: cpu in milli-cores,
everything else in units (bytes, devices, pods). kube-scheduler rounds a pod's sum up to the same grain.
Grammar: k8s.io/apimachinery/pkg/api/resource/quantity.go.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from gitplacer.redactor import without_credentials

MAX = 2**63 - 1
"""Kubernetes stores quantities in int64; a larger one is refused."""

PATTERN = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?$"
"""A quantity that is not negative, as JSON Schema says it."""

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?", re.ASCII)
_SUFFIXES: dict[str, Fraction] = {
    "": Fraction(1),
    **{letter: Fraction(1000) ** (i - 3) for i, letter in enumerate("num")},
    **{letter: Fraction(1000) ** (i + 1) for i, letter in enumerate("kMGTPE")},
    **{letter + "i": Fraction(1024) ** (i + 1) for i, letter in enumerate("KMGTPE")},
}
_BINARY = [(1024**i, suffix) for i, suffix in ((6, "Ei"), (5, "Pi"), (4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki"))]
_DECIMAL = [(1000**i, suffix) for i, suffix in ((6, "E"), (5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k"))]


REMEDY = 'quantities look like "500m", "4" or "16Gi"'
"""What to tell whoever wrote another thing."""


class InvalidQuantity(ValueError):
    """The text is no Kubernetes quantity, or is out of range."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Fraction:
    """The exact number behind a quantity string. Raises InvalidQuantity."""
    if len(text) > 64:
        raise InvalidQuantity(f"{without_credentials(text)[:20]!r}… is too long for a quantity")
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidQuantity(f'"{text}" is not a Kubernetes quantity')
    sign, digits, suffix = match[1], match[2], match[3] or ""
    scale = _SUFFIXES[suffix] if suffix in _SUFFIXES else Fraction(10) ** int(suffix[1:])
    value = Fraction(digits) * scale
    return -value if sign == "-" else value


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """
    A quantity as the integer we count in: milli-cores for cpu, units otherwise, rounded up.
    Raises InvalidQuantity when it is negative or beyond int64.
    """
    value = parse(text)
    if value < 0:
        raise InvalidQuantity(f'"{text}" is negative')
    scaled = math.ceil(value * 1000) if resource == "cpu" else math.ceil(value)
    if scaled > MAX:
        raise InvalidQuantity(f'"{text}" is beyond 2^63{" thousandths" if resource == "cpu" else ""}')
    return scaled


def render(resource: str, value: int) -> str:
    """The shortest Kubernetes quantity for an amount: 4000 cpu → "4", 12884901888 memory → "12Gi"."""
    if resource == "cpu":
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if value < 1000 or "/" in resource or resource == "pods":
        return str(value)
    spellings = [str(value)]
    for table in (_BINARY, _DECIMAL):
        spellings.extend(f"{value // unit}{suffix}" for unit, suffix in table if value % unit == 0)
    return min(spellings, key=len)
