"""
Where the numbers of a role come from, as sentences: its count, and each resource of one pod.

Every line is made from the parts that were added up, so it cannot say another sum than the one that was counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gitplacer.model import quantity
from gitplacer.workloads.facts import Role
from gitplacer.workloads.requests import Part, PodAsk


def why(role: Role) -> tuple[str, ...]:
    """A line for the count, then one for each resource, sorted by name. For a role whose `ask` is known."""
    number = "one on each node" if role.per_node else str(role.count)
    lines = [f"{number}: {role.counted}" if role.counted else number]
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


def _sum(ask: PodAsk, name: str) -> str:
    """What one resource of a pod is made of."""
    terms = list(_containers(ask, name))
    if ask.overhead.get(name):
        terms.append(f"overhead of the runtime class {_amount(name, ask.overhead[name])}")
    if ask.devices.get(name):
        terms.append(f"resource claims {_amount(name, ask.devices[name])}")
    return " + ".join(terms)


def _containers(ask: PodAsk, name: str) -> Iterator[str]:
    if name in ask.pod_level:
        yield f"resources of the pod as a whole {_amount(name, ask.pod_level[name])}"
        return
    running, starting = ask.running().get(name, 0), ask.starting().get(name, 0)
    if not running and not starting:
        if ask.pod_level_limits.get(name):
            yield f"limit of the pod as a whole {_amount(name, ask.pod_level_limits[name])}"
    elif running >= starting:
        yield from (_term(part, name) for part in ask.parts if part.role != "init" and part.amounts.get(name))
    else:
        largest = " + ".join(_term(part, name) for part in _largest_start(ask, name))
        than = f"more than the {_amount(name, running)} of the containers" if running else "the containers ask for none"
        yield f"{largest}; {than}"


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
    if isinstance(value, int):
        return quantity.render(name, value)
    return f"{float(value / 1000 if name == 'cpu' else value):g}"
