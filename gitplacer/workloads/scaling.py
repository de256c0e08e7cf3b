"""
Objects with other counts: where a manifest says how many pods a role has, and the edits that make it another number.

A kind tells its scales: for each role whose count may differ from cluster to cluster, what the count is, between which bounds,
and at which paths that is written. All else is said here once. The edits are of those numbers only, and of as few of them as
will do: bounds follow a count only where it would lie outside them, because KubeRay moves it back between them and refuses a
minimum above the maximum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitplacer.documents import Edit, Path
from gitplacer.model.counts import Count
from gitplacer.workloads.facts import Scale, at
from gitplacer.workloads.fields import INT32_MAX


def replicas(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    """The scale of an object whose `spec.replicas` are pods, one if it does not say."""
    path: Path = ("spec", "replicas")
    if not isinstance(value.get("spec"), Mapping):
        return ()
    written = whole(at(value, path))
    number = 1 if written is None else written
    return (Scale("pod", path, number, maximum=None, written=written is not None),)


def edits(value: Mapping[str, Any], scales: Iterable[Scale], counts: Mapping[str, Count]) -> Iterator[Edit]:
    """The edits that give an object other counts, by role."""
    for scale in scales:
        count = counts.get(scale.role, Count())
        if count == Count():
            continue
        low, high = count.minimum, count.maximum
        if count.replicas is not None and scale.path:
            yield from _set(value, scale.path, count.replicas, scale.replicas)
            if low is None and scale.minimum > count.replicas:
                low = count.replicas
            if high is None and scale.maximum is not None and scale.maximum < count.replicas:
                high = count.replicas
        if low is not None and scale.minimum_path:
            yield from _set(value, scale.minimum_path, low, scale.minimum)
        if high is not None and scale.maximum_path:
            yield from _set(value, scale.maximum_path, high, scale.maximum)


def _set(value: Mapping[str, Any], path: Path, number: int, known: int | None) -> Iterator[Edit]:
    """An edit of a number, unless it is that already, written or by default."""
    written = at(value, path)
    if written == number or (written is None and known == number):
        return
    yield Edit(path, "add", number)


def whole(value: object) -> int | None:
    """A whole number that an int32 field may hold; None for anything else."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= INT32_MAX
    return value if good and isinstance(value, int) else None
