"""
Where the numbers of a role come from, as sentences: its count with its bounds, and each resource of one pod.

Every line is made from the parts that were added up, so it cannot say another sum than the one that was counted. What
stands between the first colon and the first semicolon adds up to the number before it, rounded up.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from gitplacer.model import quantity
from gitplacer.workloads.facts import Role
from gitplacer.workloads.requests import Part, PodAsk


def why(role: Role) -> tuple[str, ...]:
    """
    A line for the count, one for its bounds where they are others, one for what an update adds, and one for each
    resource, sorted by name. For a role whose `ask` is known.
    """
    number = "one on each node" if role.per_node else str(role.count)
    lines = [f"{number}: {role.counted}" if role.counted else number]
    if not role.minimum == role.count == role.maximum and not role.per_node:
        most = "or more" if role.maximum is None else f"to {role.maximum}"
        lines.append(f"{role.minimum} {most}: {role.bounded}" if role.bounded else f"{role.minimum} {most}")
    if role.surge:
        lines.append(f"{role.surge} more while an update runs")
    if role.ask is None:
        return tuple(lines)
    lines += [
        f"{name} {quantity.render(name, total)}: {_sum(role.ask, name)}" for name, total in role.shape.requests.items()
    ]
    if not role.shape.requests:
        lines.append("nothing: no container has requests or limits")
    return tuple(lines)


class _Share(NamedTuple):
    """What the containers of a pod ask for of one resource, in terms that add up to the amount."""

    amount: int | Fraction
    terms: list[str]
    remark: str = ""


def _sum(ask: PodAsk, name: str) -> str:
    """What one resource of a pod is made of."""
    share = _containers(ask, name)
    overhead, devices = ask.overhead.get(name, 0), ask.devices.get(name, 0)
    terms = list(share.terms)
    if overhead:
        terms.append(f"overhead of the runtime class {_amount(name, overhead)}")
    if devices:
        terms.append(f"resource claims {_amount(name, devices)}")
    whole = (share.amount + overhead + devices) % 1 == 0
    return "; ".join(part for part in (" + ".join(terms), share.remark, "" if whole else "rounded up") if part)


def _containers(ask: PodAsk, name: str) -> _Share:
    if name in ask.pod_level:
        amount = ask.pod_level[name]
        return _Share(amount, [f"resources of the pod as a whole {_amount(name, amount)}"])
    if name in (limits := ask.standing_in()):
        amount = limits[name]
        return _Share(amount, [f"limit of the pod as a whole {_amount(name, amount)}"])
    running, starting = ask.running().get(name, 0), ask.starting().get(name, 0)
    if running >= starting:
        counted = (part for part in ask.parts if part.role != "init" and part.amounts.get(name))
        return _Share(running, [_term(part, name) for part in counted])
    than = f"more than the {_amount(name, running)} of the containers" if running else "the containers ask for none"
    return _Share(starting, [_term(part, name) for part in _largest_start(ask, name)], than)


def _largest_start(ask: PodAsk, name: str) -> list[Part]:
    """The init container with which a pod asks for most while it starts, after the sidecars that run beside it."""
    beside: list[Part] = []
    best: list[Part] = []
    for part in ask.parts:
        now = [*beside, part] if part.role != "container" and part.amounts.get(name) else beside
        if sum(p.amounts[name] for p in now) > sum(p.amounts[name] for p in best):
            best = now
        if part.role == "sidecar" and part.amounts.get(name):
            beside = now
    return best


def _term(part: Part, name: str) -> str:
    """A container with its amount, and what a reader may not expect of it."""
    said = {"init": "init container", "sidecar": "sidecar"}.get(part.role, "")
    source = "its limit" if name in part.by_limit else "by LimitRange" if name in part.by_default else ""
    notes = ", ".join(note for note in (said, source, part.origin) if note)
    return f"{part.name or 'container'} {_amount(name, part.amounts[name])}{f' ({notes})' if notes else ''}"


def _amount(name: str, value: int | Fraction) -> str:
    """Exactly: what was written may be finer than the grain in which pods are counted."""
    if isinstance(value, int) or value.denominator == 1:
        return quantity.render(name, int(value))
    rest, digits = (value / 1000 if name == "cpu" else value), 0
    while rest.denominator != 1:  # it ends: every quantity is a decimal number times powers of 10 or 1024
        rest, digits = rest * 10, digits + 1
    text = f"{rest.numerator:0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:]}"
