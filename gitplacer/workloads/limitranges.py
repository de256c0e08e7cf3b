"""
Containers held against the LimitRanges of their namespace, as the API server does when a pod is made.

It fills in requests and limits where there are none, and then refuses a pod of which a container asks for more than its limit, has
less than the least, or more than the most. It sees the pod with all that controllers add to its template. Whoever makes the pod tries
again for ever, so none of it may be promised room.

All LimitRanges of a namespace have to be kept. Which of them fills in first is not determined, so what each of them might give is held
against all. A plan asks about what snapshots tell, and `gitplacer fit` about the objects themselves; both get the same words.
Sources: plugin/pkg/admission/limitranger and pkg/apis/core/v1/defaults.go of Kubernetes 1.34.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from gitplacer.model import quantity
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.workloads.requests import Amounts, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLimits:
    """
    What one LimitRange has for containers: the `default` limits and the requests of those that have none, the least and the most of
    all. A zero is an amount here, not an absent one: the most of a device may be none.
    """

    default: Amounts = NOTHING
    default_request: Amounts = NOTHING
    least: Amounts = NOTHING
    most: Amounts = NOTHING

    def __hash__(self) -> int:
        fields = (self.default, self.default_request, self.least, self.most)
        return hash(tuple(tuple(sorted(each.items())) for each in fields))

    @property
    def refuses(self) -> bool:
        """Whether there is a container that it keeps out. Requests alone are given, and not asked for."""
        return bool(self.default or self.least or self.most)


_Item = TypeVar("_Item", bound=ContainerLimits)
_Pick = Callable[[int | Fraction, int | Fraction], int | Fraction]


def filled_in(item: _Item) -> _Item:
    """It as the API server keeps it: with a limit from the most, and a request from the limit or the least, where it says no other."""
    default = {**item.most, **item.default}
    return replace(item, default=default, default_request={**item.least, **default, **item.default_request})


def container_defaults(given: Iterable[ContainerLimits]) -> Resources:
    """
    What a container of a namespace asks for where its manifest does not say, by all LimitRanges of the namespace, filled in.

    Which of several LimitRanges is applied first is not determined in Kubernetes
    (kubernetes.io/docs/concepts/policy/limit-range), so the largest counts: a promise of room has to hold whichever it is.
    """
    largest = _of_all(max, (each.default_request for each in given))
    return Resources({name: math.ceil(amount) for name, amount in largest.items()})


def breaches(item: ContainerLimits, part: Part, given: Sequence[ContainerLimits]) -> Iterator[str]:
    """
    What a LimitRange has against a container, in words; `given` are all of the namespace, filled in. Of a container of which nobody
    says which limits it has, only the requests are looked at.
    """
    what = f"container {part.name}"
    asked = {name: amount for name, amount in part.amounts.items() if name not in part.by_default}
    asked = {**_of_all(min, (each.default_request for each in given)), **asked}
    if part.limits is None:
        yield from below(item, what, asked, None)
        yield from above(item, what, part.amounts, None)
        return
    limits = [each.default for each in given]
    smallest = _of_all(min, limits)
    yield from below(item, what, asked, {**smallest, **part.limits})
    yield from above(item, what, part.amounts, {**_of_all(max, limits), **part.limits})
    yield from _outgrown(item, part, smallest, given)


def below(item: ContainerLimits, what: str, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """Where requests or limits are less than the least, which wants a request to be there at all. Limits that nobody knows are None."""
    for name, least in sorted(item.least.items()):
        if name not in requests:
            yield f"{what} asks for no {name}, and the least is {_said(name, least)}"
        elif (has := min(requests[name], (limits or requests).get(name, requests[name]))) < least:
            yield f"{what} has {_said(name, has)} {name}, and the least is {_said(name, least)}"


def above(item: ContainerLimits, what: str, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """Where requests or limits are more than the most, which wants a limit to be there at all. Limits that nobody knows are None."""
    for name, most in sorted(item.most.items()):
        if limits is not None and name not in limits:
            yield f"{what} has no limit of {name}, and the most is {_said(name, most)}"
        elif (has := max(requests.get(name, 0), (limits or NOTHING).get(name, 0))) > most:
            yield f"{what} has {_said(name, has)} {name}, and the most is {_said(name, most)}"


def _outgrown(item: ContainerLimits, part: Part, limits: Amounts, given: Sequence[ContainerLimits]) -> Iterator[str]:
    """
    Where a container asks for more than the limit that a LimitRange gives it. One that gives a request and a limit gives both at
    once, so a request that is given is only beyond the limit of another if it came without one.
    """
    for name, limit in sorted(limits.items()):
        if item.default.get(name) != limit or name in (part.limits or NOTHING):
            continue
        asked = part.amounts.get(name, 0)
        if name in part.by_default:
            alone = (each.default_request.get(name, 0) for each in given if name not in each.default)
            asked = max(alone, default=0)
        if asked > limit:
            yield f"container {part.name} gets a limit of {_said(name, limit)} {name}, and asks for more"


def _of_all(pick: _Pick, some: Iterable[Amounts]) -> dict[str, int | Fraction]:
    """Of each resource the amount that is picked of all that there are."""
    found: dict[str, int | Fraction] = {}
    for amounts in some:
        for name, amount in amounts.items():
            found[name] = pick(amount, found.get(name, amount))
    return found


def _said(name: str, amount: int | Fraction) -> str:
    return quantity.render(name, math.ceil(amount))
