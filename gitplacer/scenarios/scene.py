"""
What a step changes: files of the source, files of the deployment repo, and snapshots.

Words are replaced only where they stand exactly once, so that a scenario which has been overtaken by its files says so instead of
telling another story.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from gitplacer.documents import Path
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.scenario import FileChanges, Replacement
from gitplacer.problems import nearest
from gitplacer.scenarios.script import Script
from gitplacer.source.files import MAX_SNAPSHOT, READ_ENDINGS, NoMemo, read_documents
from gitplacer.source.fleetspec import fleet_spec
from gitplacer.tree import Changes, Tree

Files = Mapping[str, bytes]


def first_files(script: Script) -> dict[str, bytes]:
    """The source at the beginning. Raises Rejected."""
    given, path = script.spec.given, ("spec", "given")
    files: dict[str, bytes] = {}
    if script.is_about_its_source:
        texts = [name for name, entry in script.source.entries.items() if entry.is_text and entry.size <= MAX_SNAPSHOT]
        files.update(script.source.read_all(texts))
    if given.directory is not None:
        below = script.beside.under(given.directory)
        if not len(below):
            raise script.fault((*path, "directory"), f"there is no directory {given.directory} beside this file")
        files.update(below.read_all(below))
    files.update({name: text.encode() for name, text in given.write.items()})
    files.update(_copies(script, given.copies, (*path, "copy")))
    return _with_snapshots(script, files) if given.capacity else files


def _with_snapshots(script: Script, files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the snapshots that are given in the place of those of their clusters."""
    folder = fleet_spec(Tree.of(files), NoMemo()).capacity.path
    for index, given in enumerate(script.spec.given.capacity):
        path = ("spec", "given", "capacity", index)
        below = script.beside.under(given)
        found = {given: given} if given in script.beside else {name: f"{given}/{name}" for name in below}
        found = {name: origin for name, origin in found.items() if name.endswith(READ_ENDINGS)}
        if not found:
            hint = nearest(given, [*script.beside, *_folders(script.beside)])
            raise script.fault(path, f"there is no snapshot {given} beside this file", hint)
        for name, origin in found.items():
            cluster = name.rpartition("/")[2].rpartition(".")[0]
            for ending in READ_ENDINGS:
                files.pop(f"{folder}/{cluster}{ending}", None)
            files[f"{folder}/{cluster}.yaml"] = script.beside.read(origin)
    return files


def first_deployment(script: Script) -> Tree:
    """What is in the deployment repo at the beginning. Raises Rejected."""
    given = script.spec.given.deployment
    if given is None:
        return Tree()
    below = script.beside.under(given)
    if not len(below):
        message = f"there is no directory {given} beside this file"
        raise script.fault(("spec", "given", "deployment"), message, nearest(given, _folders(script.beside)))
    return below


def first_time(script: Script, files: Files) -> datetime:
    """The time of the first step. Raises Rejected where nothing says it."""
    if script.spec.given.now is not None:
        return script.spec.given.now
    source = Tree.of(files)
    newest = newest_snapshot(source.under(fleet_spec(source, NoMemo()).capacity.path))
    if newest is None:
        raise script.fault(("spec", "given"), "says no time, and there is no snapshot to take it from", "give it `now`")
    return newest


def newest_snapshot(capacity: Tree) -> datetime | None:
    """When the last snapshot was taken of those that can be read."""
    paths = [path for path in capacity if path.endswith(READ_ENDINGS)]
    read = read_documents(capacity, paths, NoMemo(), max_bytes=MAX_SNAPSHOT)
    parsed = [parse_own(item.document) for items in read.documents.values() for item in items if is_own(item.document)]
    return max((one.observed_at for one in parsed if isinstance(one, CapacitySnapshot)), default=None)


def _folders(tree: Tree) -> list[str]:
    return sorted({path.rpartition("/")[0] for path in tree if "/" in path})


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
