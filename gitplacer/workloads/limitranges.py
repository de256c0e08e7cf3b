"""
Pods held against the LimitRanges of their namespace, as the API server does when a pod is made.

It fills in requests and limits where there are none, and then refuses a pod of which a container asks for more than its limit, has
less than the least, more than the most, or a limit too many times its request; and one that has so as a whole, for items of type Pod.
It sees the pod with all that controllers add to its template. Whoever makes the pod tries again for ever, so none of it may be promised
room.

All LimitRanges of a namespace have to be kept. Which of them fills in first is not determined, so a pod is refused if it is in any
order. A plan asks about what snapshots tell, and `gitplacer fit` about the objects themselves; both get the same words.
Sources: plugin/pkg/admission/limitranger and pkg/apis/core/v1/defaults.go of Kubernetes 1.34.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model import quantity
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.workloads.requests import Amounts, Part, PodAsk, written

_Amount = int | Fraction


class LimitItem(Struct, frozen=True, kw_only=True):
    """
    One item of a LimitRange: what it wants of each container, or of each pod as a whole; of other types it wants nothing of pods. It has
    the `default` limits and the requests of containers that have none, the least and the most of all, and how many times its request
    a limit may be. A zero is an amount here, not an absent one: the most of a device may be none.
    """

    of: str = "Container"
    default: Amounts = NOTHING
    default_request: Amounts = NOTHING
    least: Amounts = NOTHING
    most: Amounts = NOTHING
    ratio: Amounts = NOTHING

    def __hash__(self) -> int:
        fields = (self.default, self.default_request, self.least, self.most, self.ratio)
        return hash((self.of, *(tuple(sorted(each.items())) for each in fields)))

    @property
    def refuses(self) -> bool:
        """Whether there is a pod that it keeps out. Requests alone are given, and not asked for."""
        return self.of in ("Container", "Pod") and bool(self.default or self.least or self.most or self.ratio)


def read(root: Cursor) -> Iterator[LimitItem]:
    """The items of a LimitRange, filled in."""
    for item in root.mapping("spec").items("limits"):
        ratios = written(item, "maxLimitRequestRatio").items()
        yield filled_in(
            LimitItem(
                of=item.text("type"),
                default=written(item, "default"),
                default_request=written(item, "defaultRequest"),
                least=written(item, "min"),
                most=written(item, "max"),
                ratio={name: Fraction(times, 1000 if name == "cpu" else 1) for name, times in ratios},
            )
        )


def filled_in(item: LimitItem) -> LimitItem:
    """It as the API server keeps it: with a limit from the most, and a request from the limit or the least, where it says no other."""
    if item.of != "Container":
        return item
    default = {**item.most, **item.default}
    return replace(item, default=default, default_request={**item.least, **default, **item.default_request})


def container_defaults(given: Iterable[LimitItem]) -> Resources:
    """
    What a container of a namespace asks for where its manifest does not say, by all LimitRanges of the namespace, filled in.

    Which of several LimitRanges is applied first is not determined in Kubernetes
    (kubernetes.io/docs/concepts/policy/limit-range), so the largest counts: a promise of room has to hold whichever it is.
    """
    largest: dict[str, _Amount] = {}
    for item in given:
        if item.of == "Container":
            for name, amount in item.default_request.items():
                largest[name] = max(amount, largest.get(name, amount))
    return Resources({name: math.ceil(amount) for name, amount in largest.items()})


class _Has(NamedTuple):
    """The request and the limit of something for one resource, None where it has none. `told`: whether anybody knows its limit."""

    request: _Amount | None
    limit: _Amount | None
    told: bool = True


def breaches(item: LimitItem, ask: PodAsk, given: Sequence[LimitItem]) -> Iterator[str]:
    """
    What an item has against a pod, in words; `given` are all of the namespace, filled in. Of a container of which nobody says which
    limits it has, and of its pod as a whole, only the requests are looked at.
    """
    if item.of == "Container":
        for part in ask.parts:
            has = {name: [_of_part(part, name, each) for each in _fillings(name, given)] for name in _named(item)}
            yield from _against(item, f"container {part.name}", has)
    elif item.of == "Pod":
        has = {name: [_of_pod(ask, name, each) for each in _fillings(name, given)] for name in _named(item)}
        yield from _against(item, "the pod", has)


def claim_breaches(item: LimitItem, size: int) -> Iterator[str]:
    """What an item has against a volume claim of a size, in words. Claims get nothing by default, and their limits are not looked at."""
    if item.of != "PersistentVolumeClaim":
        return
    asked = f"it asks for {_said('storage', size)} of storage"
    if size < (least := item.least.get("storage", size)):
        yield f"{asked}, and the least is {_said('storage', least)}"
    if size > (most := item.most.get("storage", size)):
        yield f"{asked}, and the most is {_said('storage', most)}"


def _named(item: LimitItem) -> set[str]:
    return {*item.default, *item.least, *item.most, *item.ratio}


def _fillings(name: str, given: Sequence[LimitItem]) -> Sequence[_Has]:
    """What containers get of a resource that have none of it, in each order of the LimitRanges: one that gives a limit gives a request too."""
    limits = {item.default[name] for item in given if name in item.default}
    found = {_Has(item.default_request[name], item.default[name]) for item in given if name in item.default}
    for item in given:
        if name in item.default_request and name not in item.default:
            found.update(_Has(item.default_request[name], limit) for limit in limits or (None,))
    return sorted(found, key=lambda has: (has.request or 0, has.limit or 0)) or [_Has(None, None)]


def _of_part(part: Part, name: str, filling: _Has) -> _Has:
    own = part.amounts.get(name) if name not in part.by_default else None
    request = filling.request if own is None else own
    if part.limits is None:
        return _Has(request, None, told=False)
    return _Has(request, part.limits.get(name, filling.limit))


def _of_pod(ask: PodAsk, name: str, filling: _Has) -> _Has:
    """What a pod has as a whole: containers, or what it says of itself. Neither overhead nor devices of claims are looked at."""
    parts = [(part, _of_part(part, name, filling)) for part in ask.parts]
    request = {**ask.standing_in(), **ask.pod_level}.get(name, _sum(name, ((part, has.request) for part, has in parts)))
    if not all(has.told for _, has in parts):
        return _Has(request, None, told=False)
    limit = ask.pod_level_limits.get(name, _sum(name, ((part, has.limit) for part, has in parts)))
    return _Has(request, limit)


def _sum(name: str, amounts: Iterable[tuple[Part, _Amount | None]]) -> _Amount | None:
    """What containers have together, at the time when they have most; None where none has any."""
    parts = tuple(replace(part, amounts={} if amount is None else {name: amount}) for part, amount in amounts)
    return PodAsk(parts).containers().get(name)


def _against(item: LimitItem, what: str, has: Mapping[str, Sequence[_Has]]) -> Iterator[str]:
    """The first thing to be said of each resource by each rule, where one of the ways of filling in breaks it."""
    rules = ((item.least, _below), (item.most, _above), (item.default, _outgrown), (item.ratio, _beyond_ratio))
    for bounds, rule in rules:
        for name, bound in sorted(bounds.items()):
            ways = reversed(has[name]) if rule is _above else has[name]
            said = next((words for each in ways if (words := rule(name, bound, each)) is not None), None)
            if said is not None:
                yield f"{what} {said}"


def _below(name: str, least: _Amount, has: _Has) -> str | None:
    if has.request is None:
        return f"asks for no {name}, and the least is {_said(name, least)}"
    amount = has.request if has.limit is None else min(has.request, has.limit)
    return f"has {_said(name, amount)} {name}, and the least is {_said(name, least)}" if amount < least else None


def _above(name: str, most: _Amount, has: _Has) -> str | None:
    if has.limit is None and has.told:
        return f"has no limit of {name}, and the most is {_said(name, most)}"
    amount = max(has.request or 0, has.limit or 0)
    return f"has {_said(name, amount)} {name}, and the most is {_said(name, most)}" if amount > most else None


def _outgrown(name: str, given: _Amount, has: _Has) -> str | None:
    """A limit that is not that of the item was given by another, which says so, or written, which is told elsewhere."""
    if has.limit != given or (has.request or 0) <= given:
        return None
    return f"gets a limit of {_said(name, given)} {name}, and asks for more"


def _beyond_ratio(name: str, ratio: _Amount, has: _Has) -> str | None:
    if not has.told:
        return None
    if not has.request or not has.limit:
        return f"needs a request and a limit of {name}"
    if Fraction(has.limit) / Fraction(has.request) <= ratio:
        return None
    return f"has a limit of {name} more than {float(ratio):g} times its request"


def _said(name: str, amount: _Amount) -> str:
    return quantity.render(name, math.ceil(amount))
