"""
What Argo CD or Flux does with what a pass has published: for each sync unit the files that it applies and those that it prunes.

Both engines do the same with a directory: what is there is applied, what they have applied before and is there no more is pruned.
Whether a file is a new one, or comes from another cluster's directory, they do not know.
"""

from __future__ import annotations

from collections import defaultdict

from gitplacer.tree import Tree
from gitplacer.units import Units

_MOST = 3
"""Files that are named; of more the number is told."""


def synced(before: Tree, after: Tree, root: str) -> str:
    """A table with a row for each unit whose files are others, sentinels left out; empty where no unit has others."""
    units = Units(after, root) if after else Units(before, root)
    applied, pruned = defaultdict[tuple[str, str], list[str]](list), defaultdict[tuple[str, str], list[str]](list)
    for path in sorted({*before, *after}):
        unit = units.of(path)
        if unit is None or path == units.sentinel_path(*unit):
            continue
        here = units.path(*unit, "")
        if path not in after:
            pruned[unit].append(path.removeprefix(here))
        elif path not in before or before.entries[path].oid != after.entries[path].oid:
            applied[unit].append(path.removeprefix(here))
    rows = [
        f"| `{cluster}` | {unit} | {_named(applied[cluster, unit])} | {_named(pruned[cluster, unit])} |"
        for cluster, unit in sorted({*applied, *pruned})
    ]
    return "\n".join(["| cluster | sync of | applies | prunes |", "|---|---|---|---|", *rows]) if rows else ""


def _named(paths: list[str]) -> str:
    if len(paths) > _MOST:
        return f"{len(paths)} files"
    return ", ".join(f"`{path}`" for path in paths)
