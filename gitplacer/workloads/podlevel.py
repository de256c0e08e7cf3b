"""
Resources of a pod as a whole, held against those of its containers.

`spec.resources` bounds what the containers have together, and the API server refuses a pod whose containers ask for more, or one
of which has a higher limit. It sees the pod as it is made, with what a controller adds to the template: a Ray head that asks for
just what its container asks for is refused once KubeRay puts the autoscaler beside it, and no pod appears. A limit without a
request is taken for the request where no container asks, and else the request is what the containers ask for, so it bounds them too.

Source: validatePodResources and validatePodResourceConsistency in pkg/apis/core/validation of Kubernetes 1.34; the aggregate is
AggregateContainerRequests of k8s.io/component-helpers/resource, which is `PodAsk.containers` here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model import quantity
from gitplacer.workloads.requests import Amounts, PodAsk, check, check_pages, is_pod_level, written


def read(resources: Cursor) -> tuple[Amounts, Amounts]:
    """The requests and the limits of the pod as a whole. What only containers can ask for is reported and does not count."""
    if not resources.value:
        return {}, {}
    requests, limits = (_of_the_pod(resources, key) for key in ("requests", "limits"))
    check(resources, requests, limits)
    return requests, limits


def _of_the_pod(resources: Cursor, key: str) -> Amounts:
    amounts = written(resources, key)
    for name in amounts:
        if not is_pod_level(name):
            resources.mapping(key).report(
                "InvalidResources",
                f"{name} is asked for by the pod as a whole, which can ask for cpu, memory and huge pages only",
                f"move it to resources.{key} of the container that needs it",
                key=name,
            )
    return {name: amount for name, amount in amounts.items() if is_pod_level(name)}


def check_containers(spec: Cursor, containers: Sequence[Cursor], ask: PodAsk) -> None:
    """Reports where the containers of a pod spec ask for more, or have a higher limit, than the pod as a whole."""
    resources = spec.mapping("resources")
    check_pages(resources, ask.pod_level, ask.pod_level_limits, ask.containers())
    for name in sorted(ask.pod_level.keys() | ask.pod_level_limits.keys()):
        _check_sum(resources, ask, name)
    for container in containers if ask.pod_level_limits else ():
        _check_limits(container.mapping("resources"), resources, ask.pod_level_limits)


def _check_sum(resources: Cursor, ask: PodAsk, name: str) -> None:
    key, most = ("requests", ask.pod_level) if name in ask.pod_level else ("limits", ask.pod_level_limits)
    together = ask.containers().get(name, 0)
    if together <= most[name]:
        return
    needed, said = _said(name, together), resources.value[key][name]
    by = _said(name, together - most[name])
    added = "".join(_added(ask, name, most[name]))
    resources.mapping(key).report(
        "InvalidResources",
        f"{name}: the containers ask for {needed} together, {by} more than the {key[:-1]} {said} of the pod as a whole{added}",
        f"raise it to {needed} or more, or let the containers ask for less",
        key=name,
    )


def _added(ask: PodAsk, name: str, most: int | Fraction) -> Iterator[str]:
    """What was added to the template, where the pod would do without it."""
    own = replace(ask, parts=tuple(part for part in ask.parts if not part.origin))
    if own.containers().get(name, 0) > most:
        return
    running = ask.running().get(name, 0) >= ask.starting().get(name, 0)
    for part in ask.parts:
        if part.origin and part.amounts.get(name) and part.role != ("init" if running else "container"):
            yield f"; {part.name} asks for {_said(name, part.amounts[name])} of it: {part.origin}"


def _check_limits(resources: Cursor, of_pod: Cursor, most: Amounts) -> None:
    if not resources.has("limits"):
        return
    limits = resources.mapping("limits")  # what is no quantity is reported already, and is told once
    for name, limit in sorted(written(resources, "limits").items()):
        if name in most and limit > most[name]:
            limits.report(
                "InvalidResources",
                f"{name}: the limit {limits.value[name]} is more than the limit {of_pod.value['limits'][name]} of the pod as a whole",
                f"lower it, or raise limits.{name} of the pod",
                key=name,
            )


def _said(name: str, amount: int | Fraction) -> str:
    return quantity.render(name, math.ceil(amount))
