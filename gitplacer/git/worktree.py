"""
A local work tree as it lies: tracked or not, but not what git ignores.

The commands that answer while somebody is still editing read this. Git is asked only for the list of paths; the bytes
are the file's own, with no filter and no line-ending change. Nothing is followed: a symlink is an entry of its own,
and what lies behind a linked directory is not part of this tree. Nothing but files is opened: a named pipe could wait for ever. A folder that cannot
be looked into is an error, as a file is: what lies there must not be taken for what is gone.
"""

# Paths are bytes here, as the system has them; pathlib knows none.
# ruff: noqa: PTH100, PTH110, PTH114, PTH115, PTH118, PTH120, PTH123

from __future__ import annotations

import bisect
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from gitplacer.git.address import Address
from gitplacer.git.indexfile import refuse_damaged
from gitplacer.git.objects import MAX_BLOB, BlobTooLarge
from gitplacer.git.program import CommandFailed, Git, GitError
from gitplacer.git.reading import FORGED, MAX_FILES, forged, too_many_files
from gitplacer.git.stamps import Stamps
from gitplacer.tree import EXECUTABLE, FILE, SPECIAL, SUBMODULE, SYMLINK, Entry, Tree, blob_id

_UNKNOWN = "0" * 40
_NOT_OPENED = re.compile(
    r"(?!.*': No such file)warning: could not open directory '(?P<folder>.*?)(?:': (?P<why>[^']*))?"
)
"""What git says and goes on. It names the folder from the top of the work tree, and where that is long, nothing else."""

_GONE = (FileNotFoundError, NotADirectoryError)
"""There is no such file, or a file where it had a folder: git still lists what it tracks there."""


def read_work_tree(folder: Path, cache_dir: Path | None = None) -> Tree:
    """
    The files below a folder, by paths relative to it; in no repository, or in a folder of which git lists nothing, all
    files. A file of more than MAX_BLOB bytes is listed with its size and cannot be read. Bytes are read again when
    they are asked for, and a file that has changed by then is an error, not a mixture. With a cache, a file that lies as it did when it was
    read before is not read to know its id. Raises GitError.
    """
    address = Address.parse(os.path.abspath(folder), base_dir=Path("/"))
    assert address.path
    root = os.fsencode(address.path)
    entries: dict[str, Entry] = {}
    places: dict[str, bytes] = {}
    links = _Links(root)
    stamps = Stamps(cache_dir, address.path) if cache_dir is not None else None
    listed = sorted(set(_listed(address) or _walked(root)))
    for raw in listed:
        path = raw.decode("utf-8", "backslashreplace")
        if FORGED.search(b"/" + raw + b"/"):
            if address.git_dir and address.work_tree:
                refuse_damaged(Git(address.git_dir), address.work_tree)
            raise forged(address.redacted, path, "rename it, or take it out of the work tree")
        if links.lead_to(raw):
            continue
        entry = _entry(root, raw, stamps)
        if entry and entry.mode == SUBMODULE and _is_folder(raw, listed):
            continue  # where git tracks a file
        if entry:
            if len(entries) == MAX_FILES:
                raise too_many_files(address.redacted)
            entries[path] = entry
            places[entry.oid] = os.path.join(root, raw)
    if stamps is not None:
        stamps.save()
    return Tree(dict(sorted(entries.items())), _Files(places))


def lies_as_committed(folder: Path) -> bool:
    """
    Whether git knows of a folder, without a look into any file, that it holds what its commit has. Git's index tells by how the system describes each
    file, and looks into those that were written in the very moment when it was; so it is not asked where a filter may be run for that, which may
    be any program. False where it does not know, also where nothing differs. Raises GitError.
    """
    address = Address.parse(os.path.abspath(folder), base_dir=Path("/"))
    if not address.git_dir or not address.work_tree or not address.path:
        return False
    git = Git(address.git_dir, work_tree=address.work_tree)
    if git.run("config", "--name-only", "--get-regexp", r"^filter\.", cwd=address.path, check=False):
        return False
    shortly = "--name-only", "--ignore-submodules=all"
    try:
        return not (
            git.run("ls-files", "--others", "--exclude-standard", cwd=address.path)
            or git.run("diff-index", *shortly, "--cached", "HEAD", "--", ".", cwd=address.path)
            or git.run("diff-files", *shortly, "--", ".", cwd=address.path)
        )
    except CommandFailed:  # such as where nothing was committed yet
        return False


def left_out(folder: Path) -> int:
    """How many of the tracked files below a folder git sparse-checkout leaves out: they count as files that are gone. Raises GitError."""
    address = Address.parse(os.path.abspath(folder), base_dir=Path("/"))
    if not address.git_dir or not address.path or not (address.git_dir / "info" / "sparse-checkout").exists():
        return 0
    git = Git(address.git_dir, work_tree=address.work_tree)
    listing = git.run("ls-files", "-t", "-z", "--cached", cwd=address.path)
    return sum(entry.startswith(b"S ") for entry in listing.split(b"\0"))


class _Files(Struct, frozen=True):
    """Bytes from files, checked against the ids they had."""

    places: Mapping[str, bytes]

    def read(self, oids: Iterable[str]) -> Mapping[str, bytes]:
        found = {}
        for oid in oids:
            place = self.places[oid]
            if oid == _UNKNOWN:
                raise BlobTooLarge(f"{os.fsdecode(place)} is no file, or has more than {MAX_BLOB} bytes")
            data = os.readlink(place) if os.path.islink(place) else _bytes(place)
            if data is None or blob_id(data) != oid:
                raise GitError(f"{os.fsdecode(place)} changed while it was read", "ChangedWhileReading", "try again")
            found[oid] = data
        return found


def _is_folder(path: bytes, listed: Sequence[bytes]) -> bool:
    """Whether something below a path is among those that are listed, sorted: of a submodule nothing is."""
    below = path + b"/"
    place = bisect.bisect_left(listed, below)
    return place < len(listed) and listed[place].startswith(below)


class _Links:
    """Which paths lie behind a symlink. Git lists what it tracked there before the directory became a link."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._known = {b"": False}

    def lead_to(self, path: bytes) -> bool:
        parent = os.path.dirname(path)
        if parent not in self._known:
            self._known[parent] = self.lead_to(parent) or os.path.islink(os.path.join(self._root, parent))
        return self._known[parent]


def _listed(address: Address) -> list[bytes]:
    if not address.git_dir or not address.work_tree or not address.path:
        return []
    git = Git(address.git_dir, work_tree=address.work_tree)
    warned: list[str] = []
    how = ("-z", "--cached", "--others", "--exclude-standard")
    try:
        listing = git.run("ls-files", *how, cwd=address.path, warned=warned)
    except CommandFailed:
        refuse_damaged(git, address.work_tree)
        raise
    for found in filter(None, map(_NOT_OPENED.fullmatch, warned)):
        ignored = "check its permissions; if nothing of the fleet is in it, let git ignore it"
        raise _unreadable(
            os.fsencode(address.work_tree / found["folder"]), found["why"] or "its path is too long", ignored
        )
    return [path.rstrip(b"/") for path in listing.split(b"\0")[:-1]]  # an untracked nested repository ends with a slash


def _walked(root: bytes) -> Iterator[bytes]:
    def not_opened(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise _unreadable(os.fsencode(error.filename), error.strerror)

    for folder, folders, files in os.walk(root, onerror=not_opened):
        nested = [name for name in folders if os.path.exists(os.path.join(folder, name, b".git"))]
        linked = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in nested and name != b".git"]
        for name in (*files, *nested, *linked):
            if name != b".git":
                yield os.path.relpath(os.path.join(folder, name), root)


def _entry(root: bytes, path: bytes, stamps: Stamps | None) -> Entry | None:
    """What lies there; None for nothing."""
    place = os.path.join(root, path)
    try:
        found = os.lstat(place)
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(place)
            return Entry(SYMLINK, blob_id(target), len(target))
    except _GONE:
        return None
    except OSError as error:
        raise _unreadable(place, error.strerror) from None
    if stat.S_ISDIR(found.st_mode):
        return Entry(SUBMODULE, _UNKNOWN)
    if not stat.S_ISREG(found.st_mode):
        return Entry(SPECIAL, _UNKNOWN)
    mode = EXECUTABLE if found.st_mode & stat.S_IXUSR else FILE
    if found.st_size > MAX_BLOB:
        return Entry(mode, _UNKNOWN, found.st_size)
    known = stamps.recall(path, found) if stamps is not None else None
    if known is not None:
        return Entry(mode, known, found.st_size)
    data = _bytes(place, found.st_size)
    if data is None:
        return None
    oid = blob_id(data)
    if stamps is not None and len(data) == found.st_size:
        stamps.note(path, found, oid)
    return Entry(mode, oid, len(data))


def _bytes(place: bytes, expected: int = MAX_BLOB) -> bytes | None:
    """
    A file's bytes, which are probably as many as expected; None when there is no file any more. Never those of a symlink's target, nor of what is
    no file by now.
    """
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(expected + 1)  # as much memory is taken before anything is read
            return data if len(data) <= expected else data + file.read(MAX_BLOB + 1 - len(data))
    except _GONE:
        return None
    except OSError as error:
        raise _unreadable(place, error.strerror) from None


def _unreadable(place: bytes, why: str | None, hint: str = "check its permissions") -> GitError:
    return GitError(f"cannot read {os.fsdecode(place)}: {why}", "Unreadable", hint)
