"""Small words: amounts, times, places, problems."""

from __future__ import annotations

from gitplacer.model import quantity
from gitplacer.model.resources import Resources
from gitplacer.plaintext import LONGEST_PATH, few, printable, rfc3339
from gitplacer.problems import Problem, Severity

__all__ = [
    "LONGEST_SENTENCE",
    "amount_text",
    "amounts_text",
    "problem_lines",
    "rfc3339",
    "with_place",
]

LONGEST_SENTENCE = 1000
"""Characters; what is longer is cut."""
_PLACES = 5
"""Further places of a warning that are named."""


def amount_text(resource: str, value: int) -> str:
    """A quantity for people: cores with decimals, long numbers of bytes in Gi with one decimal, rounded down, where it is not whole."""
    if resource == "cpu":
        return f"{value // 1000}.{value % 1000:03d}".rstrip("0").rstrip(".")
    exact = quantity.render(resource, value)
    if len(exact) <= 6 or value < 2**30 or "/" in resource:
        return exact
    if value % 2**30 == 0:
        return f"{value // 2**30}Gi"
    tenths = value * 10 // 2**30
    return f"{tenths // 10}.{tenths % 10}Gi"


def amounts_text(resources: Resources) -> str:
    """`1 nvidia.com/gpu, 4 cpu and 12Gi memory`: devices first."""
    names = sorted(resources, key=lambda name: ("/" not in name, name))
    return few([f"{amount_text(name, resources[name])} {name}" for name in names], most=10)


def with_place(text: str, where: str) -> str:
    return f"{text} ({where})" if where else text


def problem_lines(problem: Problem, *others: Problem) -> list[str]:
    """`file:line:col: message`, and the hint below it; `others` say the same of other places, of which the first few are named."""
    where = printable(str(problem.location), LONGEST_PATH)
    warning = "warning: " if problem.severity is Severity.WARNING else ""
    also = few([printable(str(other.location), LONGEST_PATH) for other in others], most=_PLACES)
    hint = [f"  hint: {printable(problem.hint, LONGEST_SENTENCE)}"] if problem.hint else []
    return [
        f"{where}: {warning}{printable(problem.message, LONGEST_SENTENCE)}",
        *([f"  also at {also}"] if also else []),
        *hint,
    ]
