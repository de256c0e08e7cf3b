"""Kubernetes quantities: what is accepted is what the schema accepts, is exact, and is the same after it was written."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from fractions import Fraction
from unittest import mock

from fuzzing.target import Target, expect
from gitplacer.model import quantity

_ACCEPTED = re.compile(quantity.PATTERN.replace("$", r"\Z"))
_POWERS: dict[str, Fraction] = {
    suffix: Fraction(base) ** power
    for base, suffixes in (
        (1000, ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")),
        (1024, ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")),
    )
    for power, suffix in enumerate(suffixes, -3 if base == 1000 else 1)
}


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    accepted = len(text) <= 64 and _ACCEPTED.search(text) is not None
    try:
        value = quantity.parse(text)
    except quantity.InvalidQuantity:
        expect(not accepted, "the schema accepts what the parser refuses")
        return
    expect(accepted or text.startswith("-"), "the parser accepts what the schema refuses")
    expect(value == _by_decimals(text), "it stands for another number")
    for resource, grain in (("cpu", 1000), ("memory", 1), ("nvidia.com/gpu", 1)):
        try:
            amount = quantity.amount(resource, text)
        except quantity.InvalidQuantity:
            expect(value < 0 or value * grain > quantity.MAX, "a number in range is refused")
            continue
        expect(0 <= amount - value * grain < 1, "it is not rounded up to the next whole one")
        written = quantity.render(resource, amount)
        expect(quantity.amount(resource, written) == amount, f"{amount} is written {written}")


def _by_decimals(text: str) -> Fraction:
    """The number as decimal arithmetic has it."""
    number = text.rstrip("inumkKMGTPE")
    suffix = text[len(number) :]
    with localcontext() as context:
        context.prec = 200
        return Fraction(Decimal(number)) * _POWERS[suffix]


TARGET = Target(
    check=check,
    bug="an amount that 1024 divides is written with the suffix of 1000",
    planted=lambda: mock.patch.object(quantity, "_DECIMAL", [(1024**2, "M")]),
    longest=80,
)
