"""
A remote repository's objects, kept on disk between runs.

What a remote has is asked anew each time; only objects are remembered, so a mirror may be deleted at any moment and
can never make an old answer look new. Refs in it (`refs/mirror/<hash of the name>`) say only what has arrived
completely. Processes take turns by a file lock. A mirror that git finds damaged is thrown away and made again; so is one that has become
much larger than it was when it was new, by objects of branches that are gone.

The lock is held by whoever writes: by us, and by each git that we have started, for as long as it runs. So when one of us is killed, and
its git goes on, the next one waits for that; and what lies about once the lock is ours was left by somebody who was killed. It
is taken away: a lock file would stop git for ever, and a half-made pack would stay for weeks.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import re
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gitplacer.git.address import Address
from gitplacer.git.asking import Sort, request
from gitplacer.git.cache import VARIABLE, UntrustedFolder, private_folder
from gitplacer.git.program import (
    NO_REPOSITORY,
    CommandFailed,
    Git,
    GitError,
    Talk,
    TimedOut,
    TooMuch,
    cause,
    most_brought,
    most_written,
)
from gitplacer.git.storing import stored_in

_GROWTH = 4
_SPARE = 64 << 20
"""Bytes. A mirror may become so many times as large as it was when it was new, and so much larger, before it is made again."""


class Unreachable(GitError):
    """The remote repository did not answer, or not to us."""

    kind = "Unreachable"


class BrokenRef(GitError):
    """A ref of a local repository is there, and names nothing: git passes by it with a warning, as if it were not."""

    kind = "DamagedRepository"

    def __init__(self, address: Address, name: str) -> None:
        hint = f"its reflog, or git fsck, names the commit that it had: delete its file, and set it again by git update-ref {name} COMMIT"
        super().__init__(f"{address.redacted}: its ref {name} is damaged, and names no commit", hint=hint)


_BROKEN = re.compile(r"warning: ignoring broken ref (.+)")


def broken_refs(warned: Iterable[str]) -> frozenset[str]:
    """The refs that git has passed by, of what it has said while it listed them."""
    return frozenset(found[1] for found in map(_BROKEN.fullmatch, warned) if found)


class NotBrought(Unreachable):
    """The remote repository answered, and does not bring what its refs name: it lacks an object, or has a damaged one."""


def refs_of(address: Address, *names: str, below: str = "", broken: set[str] | None = None) -> dict[str, str]:
    """
    The refs that the repository has now, as full names (`refs/heads/…`, `refs/tags/…`; of a remote also `HEAD`) to
    object ids: all of them, or those that are named or begin with `below`, which ends with a slash. A ref that does not exist is
    absent. Raises Unreachable, and BrokenRef where one that is named is damaged in a local repository. `broken` gets those that are damaged there and
    begin with `below`: a server does not tell of its own.
    """
    asked = [*names, *([f"{below}*"] if below and not address.git_dir else [below.rstrip("/")] if below else [])]
    if address.git_dir:
        # Read in place: no connection, and not even the program that would serve one.
        warned: list[str] = []
        listing = Git(address.git_dir).run(
            "for-each-ref", "--format=%(objectname)%09%(refname)", "--end-of-options", *asked, warned=warned
        )
        damaged = broken_refs(warned)
        for name in sorted(damaged.intersection(names)):
            raise BrokenRef(address, name)
        if broken is not None:
            broken.update(name for name in damaged if below and name.startswith(below))
    else:
        try:
            with request(Sort.LIST):
                listing = address.git(NO_REPOSITORY).run(
                    "ls-remote", "--quiet", "--end-of-options", address.url, *asked, talk=Talk.QUESTION
                )
        except CommandFailed as failure:
            raise unreachable(address, failure) from None
    found = {}
    for line in listing.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        oid, _, name = line.partition("\t")
        if not name.endswith("^{}") and (not asked or name in names or (below and name.startswith(below))):
            found[name] = oid
    if any(len(oid) != 40 for oid in found.values()):
        raise unsupported_format(address)
    return found


class Mirror:
    """
    The mirror of one remote repository in a cache directory. Raises GitError when that directory is unsafe, and NotStored where it takes
    nothing more.
    """

    def __init__(self, address: Address, cache_dir: Path) -> None:
        self.address = address
        key = hashlib.sha256(address.normalised.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        try:
            self.path = private_folder(cache_dir, "repos") / f"{key}.git"
        except UntrustedFolder as error:
            raise GitError(f"{error}", "UntrustedCache", f"set {VARIABLE} to a directory of your own") from None
        self.git = Git(self.path)

    def fetch(self, refs: Mapping[str, str]) -> dict[str, str]:
        """
        Bring these refs here, with everything they reach, and return them as they are now: a remote may have moved on
        since it was asked. Talks to the remote only when something is missing. Raises Unreachable.
        """
        with self._locked() as lock:
            if not self._has(refs):
                self._sweep()
                self._fetch(refs, lock)
            kept = self._kept()
            if any(_kept_as(name) not in kept for name in refs):  # git passes by what has no beginning, and ends well
                hint = "bring the rest there (git fetch --unshallow), or name the repository that it was cloned from"
                message = f"{self.address.redacted} does not bring what it names: it is a shallow clone"
                raise NotBrought(message, hint=hint)
            return {name: kept[_kept_as(name)] for name in refs}

    def renew(self, refs: Mapping[str, str]) -> dict[str, str]:
        """Throw away what is here and fetch again."""
        self.discard()
        return self.fetch(refs)

    def discard(self) -> None:
        """Throw away what is here."""
        with self._locked():
            self._remove()

    def _has(self, refs: Mapping[str, str]) -> bool:
        if not (self.path / "HEAD").exists():
            return False
        kept = self._known()
        return all(kept.get(_kept_as(name)) == oid for name, oid in refs.items())

    def _known(self) -> dict[str, str]:
        """What has arrived, as far as git can tell."""
        try:
            return self._kept()
        except CommandFailed:
            return {}

    def _kept(self) -> dict[str, str]:
        listing = self.git.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/mirror/").decode()
        return dict(line.split(" ") for line in listing.splitlines())

    def _fetch(self, refs: Mapping[str, str], lock: int) -> None:
        is_new = not self.path.exists()
        try:
            self._fetch_once(refs, lock)
        except CommandFailed as failure:
            if is_new or isinstance(failure, TimedOut) or self._is_sound():
                raise unreachable(self.address, failure) from None
            self._remove()
            try:
                self._fetch_once(refs, lock)
            except CommandFailed as again:
                raise unreachable(self.address, again) from None
        if self._is_bloated():
            self._remove()
            try:
                self._fetch_once(refs, lock)
            except CommandFailed as failure:
                raise unreachable(self.address, failure) from None
            self._is_bloated()

    def _is_bloated(self) -> bool:
        """Whether it has become much larger than it was when it was new, which is noted the first time."""
        size = sum(path.lstat().st_size for path in self.path.rglob("*") if path.is_file())
        noted = self.path / "size-when-new"
        try:
            return size > _GROWTH * int(noted.read_text()) + _SPARE
        except (OSError, ValueError):
            with suppress(OSError):  # what was brought is there all the same
                noted.write_text(f"{size}\n")
            return False

    def _fetch_once(self, refs: Mapping[str, str], lock: int) -> None:
        with stored_in(self.path.parent, VARIABLE):
            self._bring(refs, lock)

    def _bring(self, refs: Mapping[str, str], lock: int) -> None:
        if not (self.path / "HEAD").exists():
            Git(NO_REPOSITORY).run(
                "init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--", str(self.path)
            )
        if not refs:
            return
        # Only those that have changed: git holds each that it is told against each that there is, which takes half a minute for 6,000 branches.
        kept = self._known()
        changed = [name for name in sorted(refs) if kept.get(_kept_as(name)) != refs[name]]
        specs = "".join(f"+{name}:{_kept_as(name)}\n" for name in changed)
        with request(Sort.FETCH):
            self.address.git(self.path).run(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--stdin",
                "--end-of-options", self.address.url, input=specs.encode("utf-8", "surrogateescape"), talk=Talk.TRANSFER, keep=[lock],
            )  # fmt: skip
        # Each fetch adds a pack; gather them now and then, here, where the lock is held.
        gather = (
            "-c", "gc.auto=6700", "-c", "gc.autoPackLimit=200", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet"
        )  # fmt: skip
        self.git.run(*gather, check=False, keep=[lock])

    def _is_sound(self) -> bool:
        try:
            self.git.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
        except CommandFailed:
            return False
        return True

    def _sweep(self) -> None:
        """Take away what was left by whoever was killed here. The lock is ours, so nobody is at work on any of it."""
        shutil.rmtree(self._gone, ignore_errors=True)
        for left in itertools.chain.from_iterable(map(self.path.glob, _LEFT)):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)

    @property
    def _gone(self) -> Path:
        """Where a mirror goes that is thrown away."""
        return self.path.with_suffix(".broken")

    def _remove(self) -> None:
        """Move it away first, so that nobody finds it half deleted."""
        if self.path.exists():
            shutil.rmtree(self._gone, ignore_errors=True)
            self.path.rename(self._gone)
            shutil.rmtree(self._gone, ignore_errors=True)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        with stored_in(self.path.parent, VARIABLE), self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # given back by the system even when we are killed
            yield lock.fileno()


_LEFT = (
    "*.lock", "gc.pid", "refs/mirror/*.lock", "objects/tmp_objdir-*", "objects/??/tmp_obj_*", "objects/info/*.lock",
    "objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/pack/*.keep",
)  # fmt: skip
"""Files of a git at work, in a repository that one process writes at a time."""


def _kept_as(name: str) -> str:
    """A flat name: `a` and `a/b` cannot both be refs of one repository, but can be so one after the other."""
    return f"refs/mirror/{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"


_TOO_OFTEN = re.compile(r"error: 429|rate limit|too many requests", re.I)
_DENIED = re.compile(
    r"could not read (?:Username|Password)|Authentication failed|error: 40[13]|Permission denied|Host key verification"
    r"|[Rr]epository '?[^\n]*'? not found|does not appear to be a git repository|access denied"
)
_UNKNOWN = re.compile(r"could not read (?:Username|Password)|Authentication failed|Permission denied|error: 40[13]")
_LACKS = re.compile(
    r"repository corruption on the remote side|remote error: upload-pack: not our ref|bad pack header|expected 'packfile'"
    r"|couldn't find remote ref|did not send all necessary objects"
)
"""What git says where a server ends in the midst of a fetch, or brings another thing than it has offered."""
_OF_SERVER = re.compile(r"^remote: (?:fatal|error): (.+)$", re.MULTILINE)
_TOO_LARGE = re.compile(rf"died of signal {int(signal.SIGXFSZ)}\b|File too large")
_FSCK = re.compile(r"^error: (object [0-9a-f]{40}: \w+)", re.MULTILINE)
_NO_KEY = re.compile(r"^Warning: Identity file (.+) not accessible: No such file or directory", re.MULTILINE)
_MOVED = re.compile(r"error: 30[1-8]")
_OTHER_FORMAT = re.compile(r"mismatched algorithms|repository's hash algorithm")
"""As a fetch says it, and a push."""


def unreachable(address: Address, failure: CommandFailed) -> GitError:
    """What to tell a user whose remote could not be listed, fetched or pushed to."""
    reason = cause(failure.stderr)
    if _TOO_LARGE.search(failure.stderr):
        most = most_written()
        message = f"a fetch from {address.redacted} brings more than {most:,} bytes"
        way = "GITPLACER_GIT_LIMIT=20Gi" if most == most_brought() else "ulimit -f says how large a file may be here"
        return TooMuch(message, hint=f"if that is right, take more: {way}")
    if "fsck error" in failure.stderr:
        named = _FSCK.search(failure.stderr)
        message = f"{address.redacted} has an object that no git makes: {named[1] if named else reason}"
        return GitError(message, "MalformedObject", "find out who made this commit, and take it out of the history")
    hint = "check the address and the network"
    if _TOO_OFTEN.search(failure.stderr):
        hint = "its server limits how often it may be asked; ask less often, or later"
        return Unreachable(f"{address.redacted} will not be asked so often: {reason}", "RateLimited", hint)
    if address.logins is not None and _UNKNOWN.search(failure.stderr):
        hint = "the credentials file lets nobody in there: is there an entry for its url and this access, and is its secret good?"
    elif _MOVED.search(failure.stderr):
        hint = "it redirects, and that is not followed: give the address that it redirects to"
    elif "could not read Username" in reason or "could not read Password" in reason or "Authentication" in reason:
        hint = "it wants credentials: set GIT_ASKPASS to a program that prints them, or put them into ~/.netrc"
    elif "Permission denied" in reason and (named := _NO_KEY.search(failure.stderr)):
        hint = f"there is no key file {named[1]}: check GIT_SSH_COMMAND, and what is mounted"
    elif "Permission denied" in reason:
        hint = "its server knows no key of ours: check ssh-agent, or GIT_SSH_COMMAND"
    elif "Host key verification" in failure.stderr:
        where = "~/.ssh/known_hosts" if address.logins is None else "the knownHostsFile of its entry"
        hint = f"its key is another than in {where}, or not there: if it is the right one, add it"
    elif isinstance(failure, TimedOut):
        hint = "if it is only slow, give it longer: GITPLACER_GIT_TIMEOUT=30m"
    elif _OTHER_FORMAT.search(reason):
        return unsupported_format(address)
    if _DENIED.search(failure.stderr):
        return Unreachable(f"cannot reach {address.redacted}: {reason}", "AccessDenied", hint)
    if _LACKS.search(failure.stderr):
        said = _OF_SERVER.search(failure.stderr)
        hint = "try again; if that does not help, git fsck on its server says what is damaged"
        return NotBrought(f"{address.redacted} does not bring what it names: {said[1] if said else reason}", hint=hint)
    return Unreachable(f"cannot reach {address.redacted}: {reason}", hint=hint)


def unsupported_format(address: Address) -> GitError:
    return GitError(
        f"{address.redacted} uses SHA-256 object names, which are not supported yet",
        "UnsupportedObjectFormat",
        "use a repository with SHA-1 object names",
    )
