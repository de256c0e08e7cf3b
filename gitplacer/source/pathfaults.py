"""
What is wrong with the paths of a source, whatever lies there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitplacer.problems import Location, Problem, Severity
from gitplacer.source.files import READ_ENDINGS, instead_of_a_file
from gitplacer.source.manifests import WORKLOADS
from gitplacer.source.tenancy import Tenancy
from gitplacer.source.territory import Territory, folders_of, tool_of
from gitplacer.tree import Tree, folded

_RENDER = "render it in CI and commit the result, or point --path at the rendered copy"


def about_paths(tree: Tree, land: Territory, twins: Mapping[str, str]) -> Iterator[Problem]:
    """What is wrong with paths themselves, whatever lies there; `twins` as `case_twins` finds them."""
    for folder in sorted({folder for path in tree if land.unit(path) and (folder := land.unrendered(path))}):
        yield Problem(
            Location(folder.rstrip("/")),
            "NotRendered",
            "this directory is for Kustomize or Helm, which gitplacer does not run",
            _RENDER,
        )
    yield from _for_tools(tree, land)
    for path, twin in twins.items():
        hint = "rename one: some file systems cannot hold both"
        where = "is in a folder that differs" if twin.endswith("/") else "differs"
        yield Problem(Location(path), "CaseTwin", f"{where} from {twin} only in {_apart(path, twin)}", hint)
    for path, entry in tree.entries.items():
        if not entry.is_text and not path.endswith(READ_ENDINGS) and land.unit(path):
            yield Problem(Location(path), "NotAFile", *instead_of_a_file(entry))


def _for_tools(tree: Tree, land: Territory) -> Iterator[Problem]:
    """One warning for all files of a folder of which a tool makes manifests: what it makes may lie somewhere else, or nowhere."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in sorted(path for path in tree if tool_of(path) and land.unit(path) and not land.unrendered(path)):
        found.setdefault((path.rpartition("/")[0], tool_of(path)), []).append(path)
    for (_, tool), paths in found.items():
        others = f"; so {'is one more' if len(paths) == 2 else f'are {len(paths) - 1} more'} here" if paths[1:] else ""
        said = f"this file is for {tool}, which gitplacer does not run{others}"
        yield Problem(Location(paths[0]), "NotRendered", said, _RENDER, Severity.WARNING)


def about_odd(odd: Mapping[str, tuple[str, str]]) -> Iterator[Problem]:
    for path, (what, hint) in odd.items():
        yield Problem(Location(path), "OddPath", what, hint)


_Whose = tuple[str | None, str, str]
"""A unit, a tenant, and a path of theirs."""


def case_twins(paths: Iterable[str], land: Territory, tenancy: Tenancy) -> dict[str, str]:
    """
    Paths that some file systems cannot tell from an earlier one, with that earlier one; of units also those in a folder that they cannot
    tell from another one, with that. Only among files of one unit and one tenant: whoever writes elsewhere must not thereby make a file
    unreadable, and the paths of tenants do not differ in case alone. Of folders the one in lower case counts, as namespaces are.
    """
    first: dict[_Whose, str] = {}
    folders: dict[_Whose, str] = {}
    parents: dict[_Whose, list[tuple[str, _Whose]]] = {}
    owned = []
    for path in sorted(paths):
        unit = land.unit(path)
        owner = tenancy.owner(path) if unit == WORKLOADS else None
        whose = unit, owner.name if owner else ""
        within = (*whose, path.rpartition("/")[0])
        owned.append((path, whose, within))
        if unit is not None and within not in parents:
            parents[within] = [(folder, (*whose, folded(folder))) for folder in folders_of(path)]
            for folder, key in parents[within]:
                if folders.setdefault(key, folder) != folder and folder == key[2]:
                    folders[key] = folder
    twins = {}
    for path, whose, within in owned:
        other = next((folders[key] for folder, key in parents.get(within, ()) if folders[key] != folder), None)
        key = (*whose, folded(path))
        if other is not None:
            twins[path] = other
        elif key in first:
            twins[path] = first[key]
        else:
            first[key] = path
    return twins


def _apart(path: str, twin: str) -> str:
    """In what a path, or the folder of it that a twin is, differs from it: names that look the same are not to be told apart by case."""
    same = "/".join(path.split("/")[: twin.rstrip("/").count("/") + 1])
    if same.casefold() == twin.rstrip("/").casefold():
        return "upper and lower case"
    return "how Unicode composes its letters, which cannot be seen"
