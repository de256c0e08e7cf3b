"""
What placement wants to know of one object, as plain values.

An object becomes pods (its gang), needs other objects, is pointed at by others, selects pods by label, and may be such
that a second copy of it would do harm. Facts are read from the manifest alone: they do not depend on
the file's path, on a policy or on a cluster, so they can be kept as long as the blob is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitplacer.documents import Cursor, Path
from gitplacer.model.labels import Requirement
from gitplacer.model.workload import Gang

LabelSelector = tuple[Requirement, ...]
"""All requirements must hold. An empty one selects everything and is therefore never recorded."""


@dataclass(frozen=True, order=True)
class Reference:
    """
    One object that another names. `api_group` is '' for core kinds. `namespace` '' means that of the object that
    refers; it is written only where the manifest names a namespace but not its own, and then counts
    only if the two turn out to be the same. `path` is where it is said, and no part of what is said.
    """

    api_group: str
    kind: str
    name: str
    optional: bool = False
    path: Path = field(default=(), compare=False)
    namespace: str = ""


@dataclass(frozen=True)
class PodLabels:
    """Labels the pods of one role will carry, sorted: the template's and those a controller adds and we can know."""

    role: str
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ObjectFacts:
    """
    `gang` holds the pods that run at once, roles without pods left out; `pods` has every role, also one at zero.

    `needs` is what it cannot run without, `points_at` what it serves (a route its Service, an autoscaler its target),
    `selects` the pods it picks by label. `singleton` says why two copies, or a restart elsewhere, would do harm;
    '' means that it may be moved freely. `finishes`: it runs to completion. `releases_when_finished`: whatever the
    outcome, it then gives all its resources back.
    """

    gang: Gang = ()
    sized: bool = False
    pods: tuple[PodLabels, ...] = ()
    needs: tuple[Reference, ...] = ()
    points_at: tuple[Reference, ...] = ()
    selects: tuple[LabelSelector, ...] = ()
    singleton: str = ""
    finishes: bool = False
    releases_when_finished: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """
    One row of the table of sized kinds.

    `versions` are those we can read; `pod_templates` gives the paths of the pod templates written in an object
    (what holds `metadata` and `spec` of the pods; for a Pod the object itself, `()`).
    """

    api_group: str
    kind: str
    versions: tuple[str, ...]
    read: Callable[[Cursor], ObjectFacts]
    pod_templates: Callable[[Mapping[str, Any]], tuple[Path, ...]]


def distinct(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Sorted, each object once: required if any mention is, at the first place that says so."""
    found: dict[tuple[str, str, str, str], Reference] = {}
    for reference in references:
        key = (reference.api_group, reference.kind, reference.name, reference.namespace)
        known = found.get(key)
        if known is None or (known.optional and not reference.optional):
            found[key] = reference
    return tuple(sorted(found.values()))


def existing(value: Any, *paths: Path) -> tuple[Path, ...]:
    """Those of the paths at which `value` has a mapping."""
    return tuple(path for path in paths if isinstance(at(value, path), Mapping))


def at(value: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, Mapping) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value
