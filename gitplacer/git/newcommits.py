"""
Commits that are to be made, and the stream that makes `git fast-import` make them from objects.

There is no work tree, and what comes from outside (names, messages, paths) is written so that it ends no line and no commit. The same
commits on the same parents have the same ids.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.git.program import Git, GitError, one_line
from gitplacer.git.reading import FORGED, Commit
from gitplacer.tree import FILE, Changes, blob_id

_PERSON = re.compile(r"(?P<name>[^<>]*[^<>\s]) <(?P<email>[^<>\s@]+@[^<>\s@]+)>")


class Person(Struct, frozen=True):
    """Who makes a commit: its author and committer."""

    name: str
    email: str

    @staticmethod
    def parse(text: str) -> Person:
        """The person that `Name <mail>` names. Raises ValueError."""
        found = _PERSON.fullmatch(text.strip())
        if found is None or found["name"] != _plain(found["name"]):
            raise ValueError(f"{one_line(text, 100)!r} is not written like Name <name@example.com>")
        return Person(found["name"], found["email"])

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


class NewCommit(Struct, frozen=True, kw_only=True):
    """
    A commit to make: what it changes, and what it says. `when` must know its time zone; git gets it in UTC. `same` are files that it writes
    as well, by the ids of blobs that the repository has. `modes` are git's modes of written files that are not plain ones.
    """

    changes: Changes
    message: str
    author: Person
    when: datetime.datetime
    same: Mapping[str, str] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)

    def by_ids(self) -> NewCommit:
        """The same where the repository has all that is written already."""
        ids = {path: blob_id(data) for path, data in self.changes.written.items()}
        return replace(self, changes=replace(self.changes, written={}), same={**self.same, **ids})


def together(steps: Sequence[NewCommit]) -> Changes:
    """What steps change, one after another."""
    written: dict[str, bytes] = {}
    for step in steps:
        for path in step.changes.removed:
            written.pop(path, None)
        written.update(step.changes.written)
    return Changes(written, frozenset().union(*(step.changes.removed for step in steps)))


def imported(scratch: Git, *streams: Sequence[bytes], alike: bool = True) -> dict[str, str]:
    """
    The branches that streams for fast-import make, none of which names a branch of another; they are made at the same time. `alike`: what they
    make may be like what is there, so that saying only in what they differ is worth looking for it. In a first commit, which may be of a whole
    fleet, that takes half of the time.
    """
    # unpackLimit=0: leave the pack as it is; it goes to the server in a moment, and then away.
    command = ["-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done"]
    if not alike:
        command += ["--depth=0"]
    with ThreadPoolExecutor(max(1, len(streams))) as threads:
        for _ in threads.map(lambda stream: scratch.run(*command, input=(*stream, b"done\n")), streams):
            pass  # and what one raises is raised here
    listing = scratch.run("for-each-ref", "--format=%(refname) %(objectname)").decode()
    made = dict(line.split(" ") for line in listing.splitlines())
    return {name.removeprefix("refs/heads/"): oid for name, oid in made.items()}


def blobs(texts: Iterable[bytes]) -> list[bytes]:
    """The lines that make fast-import keep some texts, which commits of other streams then name by their ids."""
    return [part for text in texts for part in (b"blob\ndata %d\n" % len(text), text, b"\n")]


def added(ref: str, commit: NewCommit, parent: str | None, gone: Iterable[str] | None) -> list[bytes]:
    """
    The lines that make fast-import add a commit to a ref. `gone` None replaces the whole tree. Raises GitError (MalformedTree) for a path that
    git itself refuses: fast-import takes some of them, and nobody could check the commit out, nor could we read it.
    """
    if commit.when.tzinfo is None:
        raise ValueError("a commit's time must know its time zone")
    paths = sorted(commit.changes.written.keys() | commit.same.keys())
    for path in paths:
        if FORGED.search(f"/{path}/".encode()):
            raise GitError(f"a file cannot be written to a path that git itself refuses: {path!r}", "MalformedTree")
    who = f"{_plain(commit.author.name)} <{_plain(commit.author.email)}> {int(commit.when.timestamp())} +0000\n"
    message = commit.message.rstrip("\n").replace("\0", "").encode("utf-8", "replace") + b"\n"
    lines = [f"commit {ref}\nauthor {who}committer {who}".encode(), b"data %d\n" % len(message), message]
    lines.append(f"from {parent}\n".encode() if parent else b"")
    lines += [b"deleteall\n"] if gone is None else [b"D %s\n" % _quoted(path) for path in sorted(gone)]
    for path in paths:
        mode = commit.modes.get(path, FILE).encode()
        if path in commit.same:
            lines.append(b"M %s %s %s\n" % (mode, commit.same[path].encode(), _quoted(path)))
            continue
        data = commit.changes.written[path]
        lines += [b"M %s inline %s\ndata %d\n" % (mode, _quoted(path), len(data)), data, b"\n"]
    return lines


def repeated(ref: str, commit: Commit, message: bytes) -> list[bytes]:
    """The lines that make fast-import repeat a commit on a ref: the same files and words, by the same person at the same time."""
    when = int(datetime.datetime.fromisoformat(commit.date).timestamp())
    who = f"{_plain(commit.author_name)} <{_plain(commit.author_email)}> {when} +0000\n"
    lines = [f"commit {ref}\nauthor {who}committer {who}".encode(), b"data %d\n" % len(message), message, b"\n"]
    return [*lines, f'M 040000 {commit.tree} ""\n'.encode()]


def _plain(text: str) -> str:
    """A name without what would end it in a commit."""
    return one_line(re.sub(r"[<>]", "", text)) or "unknown"


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()
