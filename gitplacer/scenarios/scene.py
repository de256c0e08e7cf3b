"""
What a step changes: files of the source, files of the deployment repo, and snapshots.

Words are replaced only where they stand exactly once, so that a scenario which has been overtaken by its files says so instead of
telling another story.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gitplacer.documents import Path
from gitplacer.kinds.scenario import FileChanges, Replacement
from gitplacer.problems import nearest
from gitplacer.scenarios.script import Script
from gitplacer.tree import Changes, Tree

Files = Mapping[str, bytes]


def first_files(script: Script) -> dict[str, bytes]:
    """The source at the beginning. Raises Rejected."""
    given, path = script.spec.given, ("spec", "given")
    files: dict[str, bytes] = {}
    if given.directory is not None:
        below = script.beside.under(given.directory)
        if not len(below):
            raise script.fault((*path, "directory"), f"there is no directory {given.directory} beside this file")
        files.update(below.read_all(below))
    files.update({name: text.encode() for name, text in given.write.items()})
    files.update(_copies(script, given.copies, (*path, "copy")))
    return files


def changed_files(script: Script, files: Files, change: FileChanges, path: Path) -> dict[str, bytes]:
    """The files after a change that stands at a path of the scenario. Raises Rejected."""
    now = dict(files)
    now.update({name: text.encode() for name, text in change.write.items()})
    now.update(_copies(script, change.copies, (*path, "copy")))
    for name, replacements in change.edit.items():
        if name not in now:
            raise script.fault((*path, "edit", name), f"there is no file {name} to edit", nearest(name, now))
        now[name] = replaced(script, now[name], replacements, (*path, "edit", name))
    for index, name in enumerate(change.remove):
        if name not in now:
            raise script.fault((*path, "remove", index), f"there is no file {name} to remove", nearest(name, now))
        del now[name]
    return now


def replaced(script: Script, data: bytes, replacements: Sequence[Replacement], path: Path) -> bytes:
    """A text with words replaced. Raises Rejected where they do not stand there exactly once."""
    for index, item in enumerate(replacements):
        found = data.count(item.replace.encode())
        if found != 1:
            message = "the words to replace do not stand there" if not found else f"the words stand there {found} times"
            raise script.fault((*path, index, "replace"), message, "give a piece that stands there exactly once")
        data = data.replace(item.replace.encode(), item.by.encode())
    return data


def _copies(script: Script, copies: Mapping[str, str], path: Path) -> dict[str, bytes]:
    found = {}
    for name, origin in copies.items():
        if origin not in script.beside:
            hint = nearest(origin, script.beside)
            raise script.fault((*path, name), f"there is no file {origin} beside this one", hint)
        found[name] = script.beside.read(origin)
    return found


def changes_of(before: Tree, changes: Changes) -> list[str]:
    """
    The changes that a commit makes, sorted: `A path`, `M path`, `D path`, and `R old => new` where a file with the same bytes is
    there under another name.
    """
    after = before.apply(changes).entries
    gone = {path for path in changes.removed if path in before and path not in after}
    come = {path for path in changes.written if path not in before}
    kept = {path for path in changes.written if path in before and before.entries[path].oid != after[path].oid}
    lines = [f"M {path}" for path in kept]
    for new in sorted(come):
        same = [old for old in gone if before.entries[old].oid == after[new].oid]
        old = min(same, key=lambda old: (_tail(old, new), old), default=None)
        if old is None:
            lines.append(f"A {new}")
        else:
            gone.discard(old)
            lines.append(f"R {old} => {new}")
    return sorted([*lines, *(f"D {path}" for path in gone)])


def _tail(one: str, other: str) -> int:
    """How little two paths have in common at their ends: less is more."""
    pairs: Iterable[tuple[str, str]] = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return -sum(a == b for a, b in pairs)
