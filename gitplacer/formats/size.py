"""Sizes as `size` prints them: a table for people, with a line of why for every number, and JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gitplacer.explain import amount_text
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import to_json
from gitplacer.model.resources import Resources
from gitplacer.plaintext import LONGEST_PATH, aligned, printable
from gitplacer.sizing import Sized
from gitplacer.workloads.facts import Role
from gitplacer.workloads.why import why

_FIRST = ("cpu", "memory")


def as_text(objects: Sequence[Sized], options: Options) -> str:
    """A table for each object, and below it where each number comes from; '' for none."""
    return "\n".join("".join(f"{line}\n" for line in _lines(found, options)) for found in objects)


def as_json(objects: Sequence[Sized], options: Options) -> str:
    """
    One document. `minCount` and `maxCount` are what the manifest's bounds allow, null for no bound; `total` is for the
    counts as written, `minTotal` and `maxTotal` for the bounds, and `upgradePeak` as written while an update runs.
    """
    return to_json({"objects": [_value(found) for found in objects]})


def _value(found: Sized) -> dict[str, Any]:
    return {
        "apiVersion": found.api_version,
        "kind": found.kind,
        "namespace": found.namespace,
        "name": found.name,
        "file": found.document.file,
        "pods": [_role(role) for role in found.facts.roles],
        "total": found.total.rendered(),
        "minTotal": _rendered(found.total_of("Minimum")),
        "maxTotal": _rendered(found.total_of("Maximum")),
        "upgradePeak": found.upgrade_peak.rendered(),
    }


def _rendered(amounts: Resources | None) -> dict[str, str] | None:
    return None if amounts is None else amounts.rendered()


def _role(role: Role) -> dict[str, Any]:
    slices = {"sliceSize": role.slice_size} if role.slice_size > 1 else {}
    nodes = {"perNode": True} if role.per_node else {}
    return {
        "role": role.name,
        "count": role.count,
        "minCount": role.minimum,
        "maxCount": role.maximum,
        **slices,
        **nodes,
        "requests": role.shape.requests.rendered(),
        "why": list(why(role)),
    }


def _lines(found: Sized, options: Options) -> Iterator[str]:
    name = f"{found.namespace}/{found.name}" if found.namespace else found.name
    title = f"{printable(found.kind)} {printable(name)}"
    yield f"{options.style(title, 'cyan')}  {printable(str(found.document.locate()), LONGEST_PATH)}"
    peak, total = found.upgrade_peak, found.total
    least, most = found.total_of("Minimum"), found.total_of("Maximum")
    names = _columns([*(role.shape.requests for role in found.facts.roles), peak])
    rows = [("pods", "count", "min", "max", *map(printable, names))]
    rows += [(printable(r.name), *_counts(r), *_amounts(r.shape.requests, names)) for r in found.facts.roles]
    pods = sum(role.count for role in found.facts.roles)
    rows.append(("in all", str(pods), "", "", *_amounts(total, names)))
    if least is not None and least != total:
        rows.append(("at the minimum", "", _sum(r.minimum for r in found.facts.roles), "", *_amounts(least, names)))
    if most is not None and most != total:
        rows.append(("at the maximum", "", "", _sum(r.maximum or 0 for r in found.facts.roles), *_amounts(most, names)))
    if peak != total:
        pods += sum(role.surge for role in found.facts.roles)
        rows.append(("while updating", str(pods), "", "", *_amounts(peak, names)))
    yield from aligned(rows)
    for role in found.facts.roles:
        yield f"  {printable(role.name)}"
        yield from (f"    {printable(line, 2000)}" for line in why(role))


def _sum(counts: Iterable[int]) -> str:
    return str(sum(counts))


def _columns(amounts: Sequence[Resources]) -> list[str]:
    """Resources that any pod asks for: cpu and memory, then the others by name."""
    found = {name for resources in amounts for name in resources}
    return [*(name for name in _FIRST if name in found), *sorted(found - {*_FIRST})]


def _counts(role: Role) -> tuple[str, str, str]:
    if role.per_node:
        return "per node", "", ""
    slices = f" (slices of {role.slice_size})" if role.slice_size > 1 else ""
    return f"{role.count}{slices}", str(role.minimum), "any" if role.maximum is None else str(role.maximum)


def _amounts(resources: Resources, names: Sequence[str]) -> list[str]:
    return [amount_text(name, resources[name]) if name in resources else "-" for name in names]
