"""
Reading a repository: revisions, commits and trees, as objects.

A local repository is read in place, from its object store; a remote one is fetched into a mirror first. Nothing is
ever checked out, so no hook, filter, attribute, submodule or symlink of the repository has any effect: a tree is
a list of paths, modes and blob ids, and bytes are what was committed.

A name means one thing: `main` is the branch `main` even where a tag of that name exists.
"""

from __future__ import annotations

import codecs
import datetime
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from msgspec import Struct

from gitplacer.git.address import Address, led_nowhere
from gitplacer.git.listings import Listings, alike, with_changes
from gitplacer.git.mirror import BrokenRef, Mirror, broken_refs, refs_of, unsupported_format
from gitplacer.git.objects import MissingObject, Object, Objects
from gitplacer.git.program import CommandFailed, Git, GitError, TooMuch, Vanished
from gitplacer.problems import meant
from gitplacer.tree import SUBMODULE, Entry, LateTree, Tree

_NAME = re.compile(r"(?![-/.])[^\x00-\x20\x7f~^:?*\[\\]{1,250}(?<![/.])")
_NOT_IN_NAME = re.compile(r"\.\.|@\{|//|/\.|\.lock(?:/|$)")
_REVISION = re.compile(r"(?P<name>[^~]+)(?P<back>~[0-9]{1,6})?")
_HEX = re.compile(r"[0-9a-f]{7,40}")
_TRAILER = re.compile(r"(?P<key>[A-Za-z0-9][A-Za-z0-9-]*): ?(?P<value>.*)")
_IDENTITY = re.compile(r"(?P<name>.*?) ?<(?P<email>[^<>]*)>(?: (?P<time>-?\d{1,11}) (?P<zone>[+-]\d{4}))?")
# What git's own index refuses to hold, wherever it runs; only a forged tree has it.
FORGED = re.compile(rb"/\.{0,2}/|[/\\](?:\.git|git~1)[. ]*[/\\:]", re.IGNORECASE)
_IN_FORGED = (b"//", b"/./", b"/../", b".git", b"git~1")
"""What is in every such path, a slash before and behind it, in small letters: one of these."""
_OF_PYTHON = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Codecs that git does not know, so no commit is written in them; punycode takes the square of a text's length."""
MAX_FILES = 1_000_000
"""Files that one commit may have."""
_FEW = 200
"""Paths in which a tree differs from the one before, so that the rest of it need not be listed."""
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)
_LISTINGS = Listings()

T = TypeVar("T")


class NoSuchRevision(GitError):
    """A branch, tag or commit that the repository does not have, or a spelling that is not allowed."""

    kind = "NoSuchRevision"


class NoSuchFolder(GitError):
    """A folder that a commit does not have."""

    kind = "NoSuchFolder"


class Commit(Struct, frozen=True):
    """
    One commit. `date` is the committer's, in ISO 8601 with its time zone. `body` is the message after the subject,
    trailers included. `trailers` are the `Key: value` lines of its last paragraph, in order. `is_signed` if there is a signature in it,
    whatever that is worth.
    """

    id: str
    tree: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    date: str
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    committer_name: str = ""
    is_signed: bool = False

    def trailer(self, key: str) -> str | None:
        """The value of a trailer; the last one if it is repeated. Keys have no case, as in git."""
        values = [value for name, value in self.trailers if name.lower() == key.lower()]
        return values[-1] if values else None


class Repository:
    """A repository to read from. Close it, or use it in a `with` statement."""

    def __init__(
        self,
        address: Address,
        git: Git,
        refs: Mapping[str, str],
        mirror: Mirror | None = None,
        offered: Collection[str] = (),
    ) -> None:
        self.address = address
        self.git = git
        self.objects = Objects(git)
        self.refs = refs
        self._offered = offered or refs
        self._mirror = mirror
        self._is_mirrored = mirror is not None

    @classmethod
    def open(
        cls, address: Address, cache_dir: Path, *, fetch: str | Iterable[str] | None = None, everything: bool = False
    ) -> Repository:
        """
        The repository at an address. From a remote, its default branch and the revisions of `fetch` are brought up to date; all branches and
        tags where one of them may be the id of a commit, or for `everything`. Raises GitError (NotARepository, Unreachable, …).
        """
        if address.git_dir:
            return cls(address, Git(address.git_dir), {})
        if address.is_local:
            raise not_a_repository(address)
        offered = refs_of(address)
        wanted = {"HEAD"}
        for rev in (fetch,) if isinstance(fetch, str) else fetch or ():
            name = _split(rev)[0]
            named = {full for full in full_names(name) if full in offered}
            everything |= not named and _HEX.fullmatch(name) is not None
            wanted |= named
        wanted |= {full for full in offered if everything and full.startswith(("refs/heads/", "refs/tags/"))}
        refs = {full: oid for full, oid in offered.items() if full in wanted}
        return cls.mirrored(address, Mirror(address, cache_dir), refs, offered)

    @classmethod
    def mirrored(
        cls, address: Address, mirror: Mirror, wanted: Mapping[str, str], offered: Collection[str] = ()
    ) -> Repository:
        """
        A remote repository, once these of its refs are in its mirror. The repository has no other refs; what is `offered` are names that
        somebody may have meant.
        """
        return cls(address, mirror.git, mirror.fetch(wanted), mirror, offered)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_shallow(self) -> bool:
        """Whether a part of the history was left out when it was cloned."""
        return (self.git.git_dir / "shallow").exists()

    def close(self) -> None:
        """End the git process that reads objects."""
        self.objects.close()

    def resolve(self, rev: str | None = None) -> str:
        """
        The id of the commit that `rev` names: a branch, a tag, a full ref, a commit id of 7 or more digits, `HEAD`, or
        one of these with `~n`; None is the default branch, which is what HEAD points to. Raises NoSuchRevision.
        """
        return self._commit(rev).oid

    def default_branch_tip(self) -> str:
        """The id of the commit that HEAD points to. Raises NoSuchRevision when there is none yet."""
        return self.resolve(None)

    def commit(self, rev: str | None = None) -> Commit:
        """The commit that `rev` names, as in `resolve`."""
        return parse_commit(self._commit(rev))

    def first_parent_log(self, tip: str, limit: int) -> Iterator[Commit]:
        """Up to `limit` commits from `tip` back along first parents, newest first."""
        yield from self._log(tip, f"--max-count={limit}", "--first-parent")

    def log(self, tip: str, limit: int) -> Iterator[Commit]:
        """Up to `limit` commits from `tip` back along all parents, each before its parents."""
        yield from self._log(tip, f"--max-count={limit}", "--topo-order")

    def _log(self, tip: str, *how: str) -> Iterator[Commit]:
        try:
            listing = self.git.run("rev-list", *how, "--end-of-options", self.resolve(tip), "--").decode()
        except Vanished:
            raise
        except CommandFailed as error:
            raise MissingObject(f"{self.address.redacted}: {error}") from None
        for found in self.objects.look_up_all(listing.split()):
            if found is None:
                raise MissingObject(f"{self.git.git_dir} lacks a commit that its history names")
            yield parse_commit(found)

    def count_lacking(self, base: str, head: str) -> int | None:
        """How many commits `base` has behind it that `head` has not; None where the history is not there to be counted."""
        try:
            return int(self.git.run("rev-list", "--count", "--end-of-options", base, f"^{head}", "--").decode())
        except GitError:
            return None

    def is_behind(self, old: str, new: str) -> bool:
        """Whether the commit `new` has `old` in its history, by their ids; False where this repository has not both."""
        if None in self.objects.look_up_all((f"{old}^{{commit}}", f"{new}^{{commit}}")):
            return False
        try:
            self.git.run("merge-base", "--is-ancestor", "--end-of-options", old, new)
        except CommandFailed:
            return False
        return True

    def tree_id(self, commit: str, folder: str = "") -> str:
        """The id of the tree of a folder at a commit. Raises GitError (NoSuchFolder)."""
        found = self._renewing(lambda: self._tree_object(commit, folder))
        if found is None or found.kind != "tree":
            raise NoSuchFolder(f"there is no folder {folder} in {self.address.redacted} at {commit[:12]}")
        return found.oid

    def tree(self, commit: str, folder: str = "") -> Tree:
        """
        The files below a folder at a commit, by paths relative to it. Path bytes that are not UTF-8 appear as `\\xNN`.
        The tree's bytes can be read until the repository is closed. Raises GitError (NoSuchFolder, MalformedTree).
        """
        oid = self.tree_id(commit, folder)
        return self._renewing(lambda: self._listed(oid))

    def changes(self, old: str, new: str) -> dict[str, tuple[Entry | None, Entry | None]]:
        """
        The paths at which two trees differ, by their ids or those of their commits, each with what it was and what it is, None for nothing.
        Their sizes are not known. Raises MissingObject where one of them is not there.
        """
        try:
            told = self.git.run(
                "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--end-of-options", old, new
            )
        except CommandFailed as error:
            raise MissingObject(f"{self.address.redacted}: {error}") from None
        fields, found = told.split(b"\0"), {}
        for about, raw in zip(fields[:-1:2], fields[1::2], strict=True):
            was, now, before, after, _ = about.decode().removeprefix(":").split(" ")
            found[raw.decode("utf-8", "backslashreplace")] = _entry(was, before), _entry(now, after)
        return found

    def changed_by(self, commits: Iterable[str], parent: str) -> dict[str, set[str]]:
        """For each of some commits, by their ids, the paths at which it differs from one, in one question. Raises MissingObject where one is not there."""
        asked = list(dict.fromkeys(commits))
        how = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
        try:
            told = (
                self.git.run(*how, input="".join(f"{commit} {parent}\n" for commit in asked).encode()) if asked else b""
            )
        except CommandFailed as error:
            raise MissingObject(f"{self.address.redacted}: {error}") from None
        found: dict[str, set[str]] = {commit: set() for commit in asked}
        fields, commit = iter(told.split(b"\0")[:-1]), ""
        for field in fields:
            if field.startswith(b":"):
                found[commit].add(next(fields).decode("utf-8", "backslashreplace"))
            else:
                commit = field.decode()  # one that changes nothing is not named
        return found

    def commits_of(self, oids: Iterable[str]) -> dict[str, Commit]:
        """Commits by their ids; without those that are not there."""
        asked = list(dict.fromkeys(oids))
        found = self.objects.look_up_all(f"{oid}^{{commit}}" for oid in asked)
        return {oid: parse_commit(each) for oid, each in zip(asked, found, strict=True) if each is not None}

    def tree_when_asked(self, commit: str) -> Tree:
        """The files of a commit, listed when somebody looks at one: it is that which raises what `tree` raises."""
        return LateTree(lambda: self.tree(commit).entries, self.objects)

    def tree_of(self, oid: str) -> Tree | None:
        """The files of a tree by its own id; None if the repository does not have it."""
        found = self.objects.look_up(f"{oid}^{{tree}}") if _HEX.fullmatch(oid) else None
        return self._listed(found.oid) if found is not None and found.oid == oid else None

    def message(self, commit: str) -> bytes:
        """The bytes of a commit's message."""
        return self.raw(commit).partition(b"\n\n")[2]

    def raw(self, commit: str) -> bytes:
        """The bytes of a commit object, by its id."""
        found = self.objects.look_up(f"{commit}^{{commit}}") if _HEX.fullmatch(commit) else None
        if found is None:
            raise MissingObject(f"{self.git.git_dir} lacks the commit {commit}")
        return found.data

    def _commit(self, rev: str | None) -> Object:
        name, back = _split("HEAD" if rev is None else rev)
        found = self._renewing(lambda: self._named(name, back))
        if found is None:
            raise self._no_such(rev, name)
        if len(found.oid) != 40:
            raise unsupported_format(self.address)
        return found

    def _named(self, name: str, back: str) -> Object | None:
        names = full_names(name)
        for place, full in enumerate(names):
            if self._is_mirrored and full not in self.refs:
                continue
            meant = self.refs[full] if self._is_mirrored else full
            found = self.objects.look_up(f"{meant}{back}^{{commit}}")
            if found is None and self.objects.look_up(meant) is not None:
                return None  # it is this one that the name means, and not another of the same name that reaches further
            if found is None and self._is_mirrored:
                raise MissingObject(f"the mirror of {self.address.redacted} is damaged")
            if found is not None:
                if place and not self._is_mirrored:
                    self._refuse_lost(name, names[:place])
                return found
        found = self.objects.look_up(f"{name}{back}^{{commit}}") if _HEX.fullmatch(name) else None
        if found is None and self._mirror and None in self.objects.look_up_all(self.refs.values()):
            raise MissingObject(f"the mirror of {self.address.redacted} is damaged")
        if found is None and not self._is_mirrored:
            self._refuse_lost(name, names)
        return found

    def _refuse_lost(self, name: str, fulls: Sequence[str]) -> None:
        """
        Raise MissingObject where one of these refs has a commit, or any has a name as its commit, and that is not there; BrokenRef where one of these
        has none.
        """
        warned: list[str] = []
        listing = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", warned=warned).decode(
            "utf-8", "surrogateescape"
        )
        named = {ref: oid for oid, _, ref in (line.partition(" ") for line in listing.splitlines())}
        head = (
            self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD", check=False).decode().strip()
        )
        broken = broken_refs(warned)
        for full in (*fulls, *(ref for ref, oid in named.items() if oid == name)):
            oid = head if full == "HEAD" else named.get(full, "")
            if oid and self.objects.look_up(oid) is None:
                raise MissingObject(f"{self.address.redacted} lacks the commit {oid}, which {full} names")
            ref = self._at_head() if full == "HEAD" and broken else full
            if ref in broken:
                raise BrokenRef(self.address, ref)

    def _at_head(self) -> str:
        """The ref that HEAD names, as its file has it: git does not tell where that ref is damaged."""
        try:
            text = (self.git.git_dir / "HEAD").read_text(errors="surrogateescape")
        except OSError:
            return ""
        return text.removeprefix("ref:").strip()

    def _no_such(self, rev: str | None, name: str) -> NoSuchRevision:
        where = self.address.redacted
        if name == "HEAD" and (rev is None or rev == "HEAD"):
            hint = "commit something, or let its HEAD name a branch that has commits"
            return NoSuchRevision(f"{where} has no commit on its default branch", hint=hint)
        hint = meant(name, self._names()) or "give a branch, a tag or a commit id"
        if self.is_shallow:
            hint += "; this clone is shallow: git fetch --unshallow brings its whole history"
        return NoSuchRevision(f"{where} has no revision {rev}", hint=hint)

    def _names(self) -> list[str]:
        """The branches and tags, by the names that people use."""
        found: Iterable[str] = self._offered
        if not self._is_mirrored:
            try:
                found = self.git.run("for-each-ref", "--format=%(refname)").decode("utf-8", "replace").split()
            except GitError:
                return []
        return [re.sub(r"^refs/(heads|tags|remotes)/", "", name) for name in found if name.startswith("refs/")]

    def _tree_object(self, commit: str, folder: str) -> Object | None:
        top = self.objects.look_up(f"{commit}^{{tree}}") if _HEX.fullmatch(commit) else None
        if top is None:
            raise MissingObject(f"{self.git.git_dir} lacks the commit {commit}, or its tree")
        return self.objects.look_up(f"{top.oid}:{folder.strip('/')}") if folder.strip("/") else top

    def _listed(self, tree: str) -> Tree:
        place = self.git.git_dir
        known = _LISTINGS.get(place, tree)
        entries = known or self._compared(tree) or self._listed_whole(tree)
        if self._is_mirrored or place == self.address.git_dir:  # and is no scratch repository, which goes in a moment
            _LISTINGS.keep(place, tree, entries)
        self.objects.note_sizes(entries.values())
        return Tree(entries, self.objects)

    def _compared(self, tree: str) -> Mapping[str, Entry] | None:
        """
        What a tree holds, by how it differs from the one that was listed before; None where there was none, where much has changed, and for
        whatever the listing has a word for.
        """
        found = self.objects.look_up(tree)
        for name, entries in _LISTINGS.of(self.git.git_dir).items():
            kept = self.objects.look_up(name)
            if found is not None and kept is not None and alike(found.data, kept.data):
                return self._changed(name, entries, tree)
        return None

    def _changed(self, before: str, entries: Mapping[str, Entry], tree: str) -> Mapping[str, Entry] | None:
        """The same, held against one tree that was listed."""
        try:
            changes = self.changes(before, tree)
        except MissingObject:
            return None
        texts = {path: now for path, (_, now) in changes.items() if now is not None}
        if len(changes) > _FEW or len(entries) + len(texts) > MAX_FILES:
            return None
        if any("\\" in path or FORGED.search(f"/{path}/".encode()) for path in changes):
            return None
        sizes = self._sizes([entry.oid for entry in texts.values() if entry.mode != SUBMODULE])
        if sizes is None:
            return None
        sized = {
            path: (was, None if now is None else now._replace(size=sizes.get(now.oid, -1)))
            for path, (was, now) in changes.items()
        }
        return with_changes(entries, sized)

    def _sizes(self, oids: Sequence[str]) -> dict[str, int] | None:
        """The sizes of blobs, by id; None where one is not there."""
        asked = "".join(f"{oid}\n" for oid in oids).encode()
        told = self.git.run("cat-file", "--batch-check=%(objecttype) %(objectsize)", input=asked) if oids else b""
        rows = [line.split() for line in told.decode().splitlines()]
        if len(rows) != len(oids) or any(row[0] != "blob" for row in rows):
            return None
        return {oid: int(size) for oid, (_, size) in zip(oids, rows, strict=True)}

    def _listed_whole(self, tree: str) -> Mapping[str, Entry]:
        try:
            listing = self.git.run("ls-tree", "-r", "-z", "-l", "--full-tree", "--end-of-options", tree)
        except CommandFailed as error:
            raise MissingObject(f"{self.address.redacted}: {error}") from None
        if listing.count(b"\0") > MAX_FILES:
            raise too_many_files(self.address.redacted)
        refuse_forged(listing, self.address.redacted)
        entries: dict[str, Entry] = {}
        for line in listing.decode("utf-8", "backslashreplace").split("\0")[:-1]:
            about, _, path = line.partition("\t")
            mode, _, oid, size = about.split()
            if size == "BAD":
                raise MissingObject(f"{self.address.redacted} lacks the object {oid}")
            if path in entries and "\\" not in path:  # two that are not UTF-8 may look alike, and neither is read
                raise forged(self.address.redacted, path)
            entries[path] = Entry(mode, oid, -1 if size == "-" else int(size))
        return dict(sorted(entries.items()))

    def _renewing(self, read: Callable[[], T]) -> T:
        """What `read` returns; a damaged mirror is fetched anew, once."""
        try:
            return read()
        except MissingObject:
            if not self._mirror or not self.refs:
                raise
            self.objects.close()
            mirror, self._mirror = self._mirror, None
            self.refs = mirror.renew(self.refs)
            try:
                return read()
            finally:
                self._mirror = mirror


def not_a_repository(address: Address) -> GitError:
    """What to tell of a local folder that is in no repository, or in one that is not here."""
    lost = led_nowhere(address.path) if address.path is not None else None
    if lost is None:
        return GitError(f"{address.redacted} is not in a git repository", "NotARepository", "run git init there")
    message = f"{address.redacted} belongs to a git repository that is not here: there is none at {lost}"
    hint = "put it back, or name another clone; of a work tree that was moved, git worktree repair mends it"
    return GitError(message, "NotARepository", hint)


def refuse_forged(listing: bytes, where: str) -> None:
    """Raise where a path in a listing of `git ls-tree -z` is one that git would take for its own."""
    # To look through all paths at once takes hardly any time. It may find too much, such as .gitignore, but never too little.
    text = listing.replace(b"\t", b"/").replace(b"\0", b"/\0").lower()
    if any(part in text for part in _IN_FORGED):
        for line in listing.split(b"\0")[:-1]:
            raw = line.partition(b"\t")[2]
            if FORGED.search(b"/" + raw + b"/"):
                raise forged(where, raw.decode("utf-8", "backslashreplace"))


def _entry(mode: str, oid: str) -> Entry | None:
    """What git tells of one side of a difference; its mode is 0 where there is nothing."""
    return Entry(mode, oid) if int(mode) else None


def forged(where: str, path: str, hint: str = "find out who made this commit") -> GitError:
    return GitError(f"{where} has a path that git itself refuses: {path!r}", "MalformedTree", hint)


def too_many_files(where: str) -> GitError:
    return TooMuch(f"{where} has more than {MAX_FILES:,} files", hint="point --path at the folder that is to be read")


def check_branch(name: str) -> str:
    """The name, if it can be a branch's. Raises NoSuchRevision."""
    if not _NAME.fullmatch(name) or _NOT_IN_NAME.search(name):
        raise NoSuchRevision(f"{name!r} cannot be the name of a branch")
    return name


def _split(rev: str) -> tuple[str, str]:
    """A revision's name and its `~n`."""
    found = _REVISION.fullmatch(rev)
    if not found:
        hint = "give a branch, a tag, a commit id, or one of these with ~n"
        raise NoSuchRevision(f"{rev!r} is no revision", hint=hint)
    return check_branch(found["name"]), found["back"] or ""


def full_names(name: str) -> tuple[str, ...]:
    """The refs that a short name can mean, the first that exists counts."""
    if name == "HEAD" or name.startswith("refs/"):
        return (name,)
    return (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/remotes/{name}", f"refs/remotes/origin/{name}")


def parse_commit(commit: Object) -> Commit:
    """A commit from the bytes of its object. Text that is not in its encoding is replaced, never refused."""
    head, _, message = commit.data.partition(b"\n\n")
    fields: dict[str, list[bytes]] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key.decode("utf-8", "replace"), []).append(value)
    encoding = fields.get("encoding", [b"utf-8"])[0].decode("ascii", "replace")
    author, committer = (_text(fields.get(role, [b""])[0], encoding) for role in ("author", "committer"))
    who, when = _IDENTITY.match(author), _IDENTITY.match(committer)
    first, _, rest = _text(message, encoding).lstrip("\n").partition("\n\n")
    return Commit(
        id=commit.oid,
        tree=fields.get("tree", [b""])[0].decode("ascii", "replace"),
        parents=tuple(parent.decode("ascii", "replace") for parent in fields.get("parent", [])),
        author_name=who["name"] if who else author,
        author_email=who["email"] if who else "",
        date=(moment(when["time"], when["zone"]) if when and when["time"] else _EPOCH).isoformat(),
        subject=" ".join(first.split("\n")).strip(),
        body=rest.strip("\n"),
        trailers=_trailers(rest),
        committer_name=when["name"] if when else committer,
        is_signed="gpgsig" in fields,
    )


def _text(data: bytes, encoding: str) -> str:
    try:
        if codecs.lookup(encoding).name not in _OF_PYTHON:
            return data.decode(encoding, "replace")
    except (LookupError, ValueError):  # a name that is none, or a codec that replaces nothing
        pass
    return data.decode("utf-8", "replace")


def moment(seconds: str, zone: str = "+0000") -> datetime.datetime:
    """When a commit says that it was made, in its zone (`+hhmm`). One that says nothing that could be is as old as can be: of 1970, in UTC."""
    minutes = int(zone[1:3]) * 60 + int(zone[3:])
    offset = datetime.timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    try:
        return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone(offset))
    except (ValueError, OverflowError, OSError):
        return _EPOCH


def _trailers(body: str) -> tuple[tuple[str, str], ...]:
    """The last paragraph, when each of its lines is a trailer or continues one; else none."""
    found: list[tuple[str, str]] = []
    for line in body.rstrip("\n").rpartition("\n\n")[2].split("\n"):
        trailer = _TRAILER.fullmatch(line)
        if trailer:
            found.append((trailer["key"], trailer["value"].strip()))
        elif found and line.startswith((" ", "\t")):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        else:
            return ()
    return tuple(found)
