"""
What a pod asks of a node: the effective request, as kube-scheduler adds it up.

Containers run together, so they add up. Plain init containers run one after the other before them, so the
largest counts; a sidecar (an init container with `restartPolicy: Always`) stays, so it adds to whatever starts later.
Amounts are summed exactly and rounded up once per pod, in the grain of `quantity.amount`. The rule is
`PodRequests` in k8s.io/component-helpers/resource, with the API server's defaults applied first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from gitplacer.documents import Cursor
from gitplacer.model import quantity
from gitplacer.model.resources import Resources

Amounts = Mapping[str, int | Fraction]
"""Exact amounts by resource, cpu in milli-cores, not rounded yet. A zero that was written is kept."""

_NOTHING: Amounts = {}


@dataclass(frozen=True, slots=True)
class InitContainer:
    """`sidecar`: it is restartable, and keeps running beside the containers."""

    requests: Amounts
    sidecar: bool = False


def amounts(**texts: str) -> Amounts:
    """Amounts from quantity strings: `amounts(cpu="200m", memory="256Mi")`."""
    return {name: _exact(name, text) for name, text in texts.items()}


@lru_cache(maxsize=4096)
def _exact(resource: str, text: str) -> int | Fraction:
    value = quantity.parse(text) * (1000 if resource == "cpu" else 1)
    return value.numerator if value.denominator == 1 else value


def effective(
    containers: Iterable[Amounts],
    init_containers: Sequence[InitContainer] = (),
    *,
    pod_level: Amounts = _NOTHING,
    pod_level_limits: Amounts = _NOTHING,
    overhead: Amounts = _NOTHING,
) -> Resources:
    """
    The request that a node must have room for, without the pod's own slot.

    `pod_level` is `spec.resources.requests`: it replaces the containers' sum. A pod-level limit without request
    stands in only where no container asks for that resource.
    """
    running: dict[str, int | Fraction] = {}
    peak: dict[str, int | Fraction] = {}
    beside: dict[str, int | Fraction] = {}
    for container in containers:
        _add(running, container)
    for init in init_containers:
        if init.sidecar:
            _add(beside, init.requests)
        starting = dict(beside)
        if not init.sidecar:
            _add(starting, init.requests)
        for name, value in starting.items():
            peak[name] = max(peak.get(name, 0), value)
    _add(running, beside)
    total = {name: max(running.get(name, 0), peak.get(name, 0)) for name in running.keys() | peak.keys()}
    for name, value in pod_level_limits.items():
        total.setdefault(name, value)
    total.update(pod_level)
    _add(total, overhead)
    return Resources({name: math.ceil(value) for name, value in total.items()})


def _add(total: dict[str, int | Fraction], more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def container_requests(container: Cursor) -> Amounts:
    """
    What one container asks for: its requests, and its limits where it has no request.
    Reports what the API server would refuse: see `_check`.
    """
    requests, limits = checked(container.mapping("resources"))
    return {**limits, **requests}


def checked(resources: Cursor) -> tuple[Amounts, Amounts]:
    """The requests and the limits of a `resources` block."""
    if not resources.value:
        return _NOTHING, _NOTHING
    requests, limits = written(resources, "requests"), written(resources, "limits")
    _check(resources, requests, limits)
    return requests, limits


def written(cursor: Cursor, key: str) -> Amounts:
    """The exact amounts of a mapping of quantities. A bad one is reported and left out."""
    block = cursor.mapping(key)
    return {
        name: _exact(name, str(block.value[name])) for name in block.value if block.quantity(name, name) is not None
    }


def _check(resources: Cursor, requests: Amounts, limits: Amounts) -> None:
    """
    A request is at most its limit. What nodes do not overcommit (devices, huge pages) has a limit, a request equal to
    it, and devices come whole.
    """
    for name in sorted(requests.keys() | limits.keys()):
        asked, limit = requests.get(name), limits.get(name)
        where = resources.mapping("requests" if asked is not None else "limits")
        amount = limit if asked is None else asked
        if _is_device(name) and isinstance(amount, Fraction):
            where.report(
                "InvalidResources",
                f"{name} is {where.value[name]}, but devices are counted whole",
                "ask for 1 or more; sharing one device between pods is set up in its device plugin",
                key=name,
            )
        elif asked is not None and limit is not None and asked > limit:
            where.report(
                "InvalidResources",
                f"{name}: the request {where.value[name]} is more than the limit {resources.value['limits'][name]}",
                "raise the limit or lower the request",
                key=name,
            )
        elif asked is not None and asked != limit and (_is_device(name) or name.startswith("hugepages-")):
            said = "there is no limit" if limit is None else f"the limit is {resources.value['limits'][name]}"
            where.report(
                "InvalidResources",
                f"{name}: the request is {where.value[name]} and {said}; nodes do not overcommit it",
                f"set limits.{name} to the same amount (the request may then be left out)",
                key=name,
            )


def _is_device(name: str) -> bool:
    """Extended resources: a domain prefix other than Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name
