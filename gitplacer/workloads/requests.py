"""
What a pod asks of a node: the effective request, as kube-scheduler adds it up.

Containers run together, so they add up. Plain init containers run one after the other before them, so the
largest counts; a sidecar (an init container with `restartPolicy: Always`) stays, so it adds to whatever starts later.
Amounts are summed exactly and rounded up once per pod, in the grain of `quantity.amount`. The rule is
`PodRequests` in k8s.io/component-helpers/resource, with the API server's defaults applied first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model import quantity
from gitplacer.model.labels import is_label_key
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.problems import Severity, near

Amounts = Mapping[str, int | Fraction]
"""Exact amounts by resource, cpu in milli-cores, not rounded yet. A zero that was written is kept."""

HUGE_PAGES = "hugepages-"
"""Begins the names of resources that are pages of one size."""

_NOTHING: Amounts = NOTHING
STAND_INS = Resources({"cpu": 100, "memory": 200 << 20})
"""What scores count for a container that asks for none (pkg/scheduler/util, DefaultMilliCPURequest and its sibling)."""


def amounts(**texts: str) -> Amounts:
    """Amounts from quantity strings: `amounts(cpu="200m", memory="256Mi")`."""
    return {name: _exact(name, text) for name, text in texts.items()}


@lru_cache(maxsize=4096)
def _usual(resource: str, text: str) -> int | Fraction | None:
    """The amount behind a text, or None for one that is no quantity, about which there is more to say."""
    try:
        quantity.amount(resource, text)
    except quantity.InvalidQuantity:
        return None
    return _exact(resource, text)


@lru_cache(maxsize=4096)
def _exact(resource: str, text: str) -> int | Fraction:
    value = quantity.parse(text) * (1000 if resource == "cpu" else 1)
    return value.numerator if value.denominator == 1 else value


class Part(Struct, frozen=True):
    """
    One container and what it asks for. A `sidecar` is a restartable init container, which keeps running beside the
    containers. `origin` says who added it, '' for the manifest; `by_limit` and `by_default` are the resources for
    which its limit, or a LimitRange, stands in for a request; `limits` are those that are written, None where nobody
    says which it has.
    """

    name: str
    amounts: Amounts
    role: Literal["container", "init", "sidecar"] = "container"
    origin: str = ""
    by_limit: tuple[str, ...] = ()
    by_default: tuple[str, ...] = ()
    limits: Amounts | None = _NOTHING


class PodAsk(Struct, frozen=True):
    """
    All that a pod asks for, and where it comes from. `parts` has init containers in their order.

    `pod_level` is `spec.resources.requests`: it replaces the containers' sum. A pod-level limit without request
    stands in only where no container asks for that resource, or where it is of huge pages. `overhead` is that of its RuntimeClass; `devices` what
    its resource claims come to.
    """

    parts: tuple[Part, ...]
    pod_level: Amounts = _NOTHING
    pod_level_limits: Amounts = _NOTHING
    overhead: Amounts = _NOTHING
    devices: Amounts = _NOTHING

    def effective(self) -> Resources:
        """The request that a node must have room for, without the pod's own slot."""
        total = self.containers()
        if self.pod_level_limits:
            total.update(self.standing_in())
        total.update(self.pod_level)
        _add(total, self.overhead)
        _add(total, self.devices)
        return Resources({name: math.ceil(value) for name, value in total.items()})

    def as_written(self) -> Resources:
        """The request of the template alone: without what controllers add to it, and without the devices of its claims."""
        own = tuple(part for part in self.parts if not part.origin)
        return replace(self, parts=own, devices=_NOTHING).effective()

    def scored(self) -> Resources:
        """
        The request that scores count: with stand-ins for containers that ask for no cpu or memory. Where the pod as a whole
        asks, that counts.
        """
        missing = Resources({name: value for name, value in STAND_INS.items() if name not in self.pod_level})
        if all(name in part.amounts for part in self.parts for name in missing):
            return self.effective()
        return replace(self, parts=tuple(with_defaults(part, missing) for part in self.parts)).effective()

    def sizes(self) -> dict[str, Any]:
        """The fields of a PodShape that tell its size."""
        requests, scored = self.effective(), self.scored()
        return {
            "requests": requests,
            "scored_cpu": scored.get("cpu", 0),
            "scored_memory": scored.get("memory", 0),
        }

    def standing_in(self) -> Amounts:
        """
        The pod-level limits that are requests, as the API server says before a LimitRange has its say. Of huge pages, which nodes
        do not overcommit, a limit is always the request, whatever containers ask for.
        """
        asked = {name for part in self.parts for name in part.amounts if name not in part.by_default}
        return {
            name: value
            for name, value in self.pod_level_limits.items()
            if name not in asked or name.startswith(HUGE_PAGES)
        }

    def containers(self) -> dict[str, int | Fraction]:
        """What all containers ask for, at the time when they ask for most."""
        total = dict(self.running())
        for name, value in self.starting().items():
            total[name] = max(total.get(name, 0), value)
        return total

    def running(self) -> Amounts:
        """What containers and sidecars ask for together."""
        total: dict[str, int | Fraction] = {}
        for part in self.parts:
            if part.role != "init":
                _add(total, part.amounts)
        return total

    def starting(self) -> Amounts:
        """The most that is asked for while init containers run: each with the sidecars before it."""
        peak: dict[str, int | Fraction] = {}
        beside: dict[str, int | Fraction] = {}
        for part in self.parts:
            if part.role == "container":
                continue
            if part.role == "sidecar":
                _add(beside, part.amounts)
                now = beside
            else:
                now = dict(beside)
                _add(now, part.amounts)
            for name, value in now.items():
                peak[name] = max(peak.get(name, 0), value)
        return peak


def _add(total: dict[str, int | Fraction], more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def container_part(
    container: Cursor,
    role: Literal["container", "init", "sidecar"],
    defaults: Resources,
    *,
    name: str = "",
    origin: str = "",
) -> Part:
    """
    One container with what it asks for: its requests, its limits where it has no request, and what LimitRanges fill in
    where it has neither. Reports what the API server would refuse: see `check`.
    """
    requests, limits = checked(container.mapping("resources"), defaults)
    by_limit = tuple(key for key in limits if key not in requests) if limits else ()
    part = Part(name or container.text("name"), {**limits, **requests} if limits else requests, role, origin, by_limit)
    part = replace(part, limits=limits) if limits else part
    return with_defaults(part, defaults) if defaults else part


def with_defaults(part: Part, defaults: Resources) -> Part:
    """A container as the LimitRanger admits it: with a request for each resource that has a default."""
    missing = tuple(name for name in defaults if name not in part.amounts)
    if not missing:
        return part
    return replace(part, amounts={**part.amounts, **{name: defaults[name] for name in missing}}, by_default=missing)


def checked(resources: Cursor, defaults: Resources) -> tuple[Amounts, Amounts]:
    """The requests and the limits of a `resources` block of a container, to which LimitRanges give `defaults`."""
    if not resources.value:
        return _NOTHING, _NOTHING
    requests, limits = written(resources, "requests"), written(resources, "limits")
    _check_names(resources)
    check(resources, requests, limits)
    check_pages(resources, requests, limits, defaults)
    return requests, limits


def _check_names(resources: Cursor) -> None:
    """
    A container asks for what Kubernetes knows, or for something with a domain before its name: not for `gpu`, nor for `CPU`.
    Source: validateContainerResourceName in pkg/apis/core/validation of Kubernetes 1.34.
    """
    for part in ("requests", "limits"):
        if not resources.has(part):
            continue
        amounts = resources.mapping(part)
        for name in amounts.value:
            if not is_resource(name):
                message = f'no container can ask for "{name[:100]}"'
                amounts.report("InvalidResources", message, like_resource(name), key=name)


def like_resource(name: str) -> str:
    """What may be meant by a name that no container can ask for."""
    like = near(name, (*_OWN, "gpu"))
    others = f"one of {', '.join(_OWN)}, or a device with its domain: nvidia.com/gpu"
    return f'did you mean "{like}"?' if like in _OWN else others


def is_resource(name: str) -> bool:
    """Whether Kubernetes takes it for the name of something that a container asks for."""
    if "/" in name:
        return is_label_key(name) and not name.startswith(_OF_QUOTAS)
    return name in _OWN or name.startswith(HUGE_PAGES)


def written(cursor: Cursor, key: str) -> Amounts:
    """The exact amounts of a mapping of quantities. A bad one is reported and left out."""
    if cursor.value.get(key) is None:
        return _NOTHING
    block = cursor.mapping(key)
    found: dict[str, int | Fraction] = {}
    for name, value in block.value.items():
        amount = _usual(name, value) if isinstance(value, str) else None
        if amount is not None:
            found[name] = amount
        elif block.quantity(name, name) is not None:
            found[name] = _exact(name, str(value))
    return found


def check(resources: Cursor, requests: Amounts, limits: Amounts) -> None:
    """
    A request is at most its limit. What nodes do not overcommit (devices, huge pages) has a limit, a request equal to
    it, and devices and pages come whole.
    Source: ValidateResourceRequirements in pkg/apis/core/validation of Kubernetes 1.34.
    """
    for name in sorted(requests.keys() | limits.keys()):
        asked, limit = requests.get(name), limits.get(name)
        where = resources.mapping("requests" if asked is not None else "limits")
        amount = limit if asked is None else asked
        if name in _IN_BYTES and isinstance(amount, Fraction):
            where.report(
                "FractionalBytes",
                f"{name} is {where.value[name]}, which is a part of a byte",
                "m is a thousandth; Mi is 1048576 bytes, and M a million",
                key=name,
                severity=Severity.WARNING,
            )
        if _is_device(name) and isinstance(amount, Fraction):
            where.report(
                "InvalidResources",
                f"{name} is {where.value[name]}, but devices are counted whole",
                "ask for 1 or more; sharing one device between pods is set up in its device plugin",
                key=name,
            )
        elif name.startswith(HUGE_PAGES) and not _is_whole_pages(name, amount or 0):
            size = name.removeprefix(HUGE_PAGES)
            where.report(
                "InvalidResources",
                f"{name} is {where.value[name]}, which is no whole number of pages",
                f"ask for a multiple of {size[:20]}, as hugepages-2Mi comes in 2Mi, 4Mi and so on",
                key=name,
            )
        elif asked is not None and limit is not None and asked > limit:
            where.report(
                "InvalidResources",
                f"{name}: the request {where.value[name]} is more than the limit {resources.value['limits'][name]}",
                "raise the limit or lower the request",
                key=name,
            )
        elif asked is not None and asked != limit and (_is_device(name) or name.startswith(HUGE_PAGES)):
            said = "there is no limit" if limit is None else f"the limit is {resources.value['limits'][name]}"
            where.report(
                "InvalidResources",
                f"{name}: the request is {where.value[name]} and {said}; nodes do not overcommit it",
                f"set limits.{name} to the same amount (the request may then be left out)",
                key=name,
            )


def check_pages(resources: Cursor, requests: Amounts, limits: Amounts, besides: Amounts) -> None:
    """Who asks for huge pages has to ask for cpu or memory too. `besides` is what is filled in before the API server looks."""
    if {"cpu", "memory"} & {*requests, *limits, *besides}:
        return
    for key, amounts in (("limits", limits), ("requests", requests)):
        for name in sorted(name for name in amounts if name.startswith(HUGE_PAGES)):
            hint = f"add memory, or cpu, to {key}"
            resources.mapping(key).report("InvalidResources", f"{name} without cpu or memory", hint, key=name)
            return


def _is_whole_pages(name: str, amount: int | Fraction) -> bool:
    """Whether an amount of huge pages is a number of pages of the size that is in their name."""
    try:
        size = quantity.parse(name.removeprefix(HUGE_PAGES))
    except quantity.InvalidQuantity:
        return False
    return size > 0 and size.denominator == 1 and math.ceil(amount) % size == 0


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole may ask for a resource: IsSupportedPodLevelResource in k8s.io/component-helpers/resource."""
    return name in ("cpu", "memory") or name.startswith(HUGE_PAGES)


_OWN = ("cpu", "memory", "ephemeral-storage")
"""What a container may ask for without a domain, huge pages aside."""
_OF_QUOTAS = "requests."
"""Begins the names by which a ResourceQuota limits requests."""
_IN_BYTES = ("memory", "ephemeral-storage")


def _is_device(name: str) -> bool:
    """Extended resources: a domain prefix other than Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name
