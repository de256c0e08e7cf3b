"""
Running the git program so that nothing but our arguments decides what it does.

Repositories we read may be hostile, and the environment we are started from may be a hook or a CI job that
exports GIT_DIR or GIT_CONFIG_*. So each run gets an environment built from an allow-list, no system and no user
configuration, no hooks, no prompts, and may speak only the one protocol its address needs; a repository's own
configuration is left nothing that could start a program. We run git with `subprocess` and argument lists, not
with GitPython, because that always passes the caller's environment on and cannot drop a variable from it.

What git says when it fails becomes one line without control characters and without credentials.

A command that talks to a server ends in a limited time, whatever the server does. Over https git gives up by itself where hardly anything
arrives for a minute, and ssh where the machine is gone; but a server that holds the connection and says nothing, or a hook that never
ends, is waited for only as long as `patience` says. It fills neither our memory nor our disk: what a command prints is read up to
MAX_OUTPUT, and a file that a transfer writes ends at `most_brought`.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import functools
import os
import re
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from gitplacer.git.login import SSH, Login
from gitplacer.plaintext import UNSEEN
from gitplacer.redactor import redact, shortened

NO_REPOSITORY = Path(os.devnull)
"""The git directory for a command that needs no repository, so that it does not find one by accident."""

_PASSED_ON = (
    "PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS",
    "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
)  # fmt: skip

_SET = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    # Of glibc, in bytes: who makes a thousand commits takes and gives back a little memory ten thousand times, and asks the system for it each time.
    "MALLOC_TOP_PAD_": str(16 * 1024 * 1024),
}

# Settings on the command line win over those of the repository.
_SETTINGS = (
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.untrackedCache=false",
    f"core.excludesFile={os.devnull}", f"core.attributesFile={os.devnull}",
    "core.commitGraph=false",  # of a commit's parents, what the commit says counts, and not what somebody has noted of it
    "credential.helper=", "submodule.recurse=false", "gc.auto=0", "maintenance.auto=false",
    "log.showSignature=false", "push.gpgSign=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=60",
    "http.followRedirects=false",  # an address that moved is to be corrected: what waits elsewhere is not what was meant
)  # fmt: skip

# What arrives is looked through by git, and refused if no git makes it. Not for what old programs made in good faith, and not for names:
# a history cannot be mended, and odd names in it are refused where they are read, those of one file alone.
_BEARABLE = (
    "badDate", "badDateOverflow", "badEmail", "badFilemode", "badName", "badTagName", "badTimezone", "missingEmail",
    "missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry", "multipleAuthors",
    "nulInCommit", "zeroPaddedDate", "zeroPaddedFilemode",
    "emptyName", "fullPathname", "hasDot", "hasDotdot", "hasDotgit", "nullSha1",
    "gitmodulesBlob", "gitmodulesLarge", "gitmodulesMissing", "gitmodulesName", "gitmodulesParse", "gitmodulesPath",
    "gitmodulesSymlink", "gitmodulesUpdate", "gitmodulesUrl",
)  # fmt: skip
_ON_ARRIVAL = ("fetch.fsckObjects=true", *(f"fetch.fsck.{name}=ignore" for name in _BEARABLE))

MAX_OUTPUT = 512 * 1024 * 1024
"""Bytes that a command may print. A listing of a million files has some 150 million."""
_PORTION = 1 << 18
"""Bytes of its input that a command is given at a time, at least: what a pipe takes at once, several times."""


class GitError(Exception):
    """Git could not do what we asked. `message` is one line, fit for a user; `kind` is one of `problemcodes.FAILURES`."""

    kind = "GitFailed"

    def __init__(self, message: str, kind: str = "", hint: str = "") -> None:
        self.message = one_line(redact(message))
        self.kind = kind or type(self).kind
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


_HINTS = (
    (
        re.compile(r"unknown repository extensions? found|[Ee]xpected git repo version|unknown ref storage format"),
        "a newer git made it: install that one here",
    ),
    (
        re.compile(r"unexpected line in .*packed-refs|fatal: not a git repository: '"),
        "it is damaged: look at its HEAD, its config and packed-refs, which git made and nobody should edit; or clone it anew",
    ),
    (
        re.compile(r"bad object [0-9a-f]{40}|cannot simplify commit|unable to read tree|Failed to traverse parents"),
        "an object is missing or damaged: git fsck says which; a partial clone lacks objects: clone it in full",
    ),
    (
        re.compile(rf"^(?!remote:).*(?:died of signal {int(signal.SIGXFSZ)}\b|File too large)", re.MULTILINE),
        "ulimit -f says how large a file may be here",
    ),
    (
        re.compile(rf"^(?!remote:).*died of signal {int(signal.SIGKILL)}\b", re.MULTILINE),
        "somebody ended it, or this machine did for want of memory: let it have more, and try again",
    ),
    (re.compile(r"No space left on device|Disk quota exceeded|Out of diskspace"), "make room on that disk"),
)
"""What to do about what git says of a repository that is there, and that it cannot work with."""


class CommandFailed(GitError):
    """One git command ended with an error; what it printed is kept for whoever knows what was tried."""

    def __init__(self, command: str, stdout: bytes, stderr: bytes) -> None:
        self.stdout = stdout.decode("utf-8", "replace")
        self.stderr = stderr.decode("utf-8", "replace")
        hint = next((hint for said, hint in _HINTS if said.search(self.stderr)), "")
        super().__init__(f"git {command} failed: {cause(self.stderr)}", hint=hint)


class TooMuch(GitError):
    """A repository brings or tells more than we take; nothing of it is used."""

    kind = "TooMuch"


class TimedOut(CommandFailed):
    """A command that talks to a server was ended because it took too long."""

    def __init__(self, command: str, seconds: float) -> None:
        super().__init__(command, b"", f"fatal: git {command} has not ended within {seconds:g} seconds".encode())


class Vanished(CommandFailed):
    """The directory of the repository is not there: unmounted, moved, deleted. It was there when its address was read."""

    kind = "Unreachable"

    def __init__(self, command: str, git_dir: Path) -> None:
        super().__init__(command, b"", f"fatal: there is no directory {git_dir} any more".encode())
        self.hint = "mount it or put it back"


class Talk(enum.Enum):
    """What a command asks of a server: where its refs are, or to bring or to take objects."""

    QUESTION = enum.auto()
    TRANSFER = enum.auto()


_QUESTION, _TRANSFER = 120, 900
_GRACE = 5
"""Seconds that git has to put its files away once it is told to end."""


def patience(talk: Talk) -> float:
    """
    Seconds that a command may take: GITPLACER_GIT_TIMEOUT, else fifteen minutes, and for a question never more than two. Raises GitError
    where that variable is no time.
    """
    said = os.environ.get("GITPLACER_GIT_TIMEOUT", "")
    limit = _TRANSFER
    if said:
        from gitplacer.kinds.fields import duration_seconds  # late: only whoever sets it waits for this import

        try:
            limit = duration_seconds(said)
        except ValueError:
            limit = 0
        if limit <= 0:
            raise GitError(f"GITPLACER_GIT_TIMEOUT is no time: {said!r}", "BadTimeout", "give one such as 30m")
    return min(limit, _QUESTION) if talk is Talk.QUESTION else limit


_BROUGHT = 8 << 30


def most_brought() -> int:
    """
    Bytes of one file that a transfer may write: GITPLACER_GIT_LIMIT, else 8 GiB. A fetch writes what it brings into one. Raises GitError
    where that variable is no amount.
    """
    said = os.environ.get("GITPLACER_GIT_LIMIT", "")
    if not said:
        return _BROUGHT
    from gitplacer.model import quantity  # late: only whoever sets it waits for this import

    try:
        limit = quantity.amount("", said)
    except quantity.InvalidQuantity:
        limit = 0
    if limit <= 0:
        raise GitError(f"GITPLACER_GIT_LIMIT is no amount: {said!r}", "BadLimit", "give one such as 20Gi")
    return limit


def most_written() -> int:
    """
    The same, or the limit of this process on files where that is less: a command may not write more than we may, for nobody but root raises
    a limit, and whoever set ours meant it. Raises GitError as `most_brought`.
    """
    ours = (limit for limit in resource.getrlimit(resource.RLIMIT_FSIZE) if limit != resource.RLIM_INFINITY)
    return min((most_brought(), *ours))


class Git:
    """
    How to run git on one repository.

    `git_dir` is its .git directory, or the repository itself when it is bare. `protocol` is the one protocol that
    this run may speak (`file`, `https`, `ssh`, `http`); '' forbids every connection, also those that git makes on
    its own for objects a partial clone lacks. `work_tree` matters only to commands that look at files. With a `login`, nothing else
    lets git in.
    """

    def __init__(
        self, git_dir: Path, *, protocol: str = "", work_tree: Path | None = None, login: Login | None = None
    ) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._protocol = protocol
        self._login = login

    def command(self, *args: str) -> list[str]:
        """The argument list of a git command. Revisions and paths in it must be guarded by the caller."""
        where = [f"--git-dir={self.git_dir}"] + ([f"--work-tree={self.work_tree}"] if self.work_tree else [])
        return ["git", *where, *(part for setting in _SETTINGS for part in ("-c", setting)), *args]

    @functools.cached_property
    def environment(self) -> Mapping[str, str]:
        """The environment of every command. GIT_ALLOW_PROTOCOL overrides any `protocol.*` a repository sets."""
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        let_in = self._login.environment if self._login is not None else {}
        ways_in = {name: value for name, value in {"GIT_SSH_COMMAND": SSH, **kept, **let_in}.items() if value}
        return {**ways_in, **_SET, "GIT_ALLOW_PROTOCOL": self._protocol}

    def run(
        self,
        *args: str,
        input: bytes | Sequence[bytes] = b"",
        check: bool = True,
        cwd: Path | bytes = b"/",
        talk: Talk | None = None,
        keep: Iterable[int] = (),
        warned: list[str] | None = None,
    ) -> bytes:
        """
        What a command prints. Raises CommandFailed when it fails and `check` is set. `talk` is for commands that talk to a server: they are
        ended when it is over (TimedOut), with all that they have started, and a Ctrl-C in our terminal does not reach them; whether they
        are ended is ours to decide. `keep` are open files that the command keeps open as long as anything of it runs. Raises TooMuch, once
        it has been ended, where it prints more than MAX_OUTPUT bytes. An `input` in pieces is never one in memory. `warned` gets the lines of
        stderr.
        """
        given = (input,) if isinstance(input, bytes) else input
        seconds = None if talk is None else patience(talk)
        most = most_written() if talk is Talk.TRANSFER else None
        handed = self._login.handed() if self._login is not None else contextlib.nullcontext(([], ()))
        with handed as (settings, descriptors):
            more = (*settings, *(_ON_ARRIVAL if talk is Talk.TRANSFER else ()))
            try:
                process = subprocess.Popen(
                    self.command(*(part for setting in more for part in ("-c", setting)), *args),
                    env=self.environment,
                    cwd=cwd,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    process_group=None if talk is None else 0,
                    pass_fds=(*descriptors, *keep),
                )
            except OSError as error:
                raise not_started(error) from None
            with process:
                try:
                    if most is not None:
                        _limit(process, most)
                    stdout, stderr = _exchanged(process, _named(args), given, seconds)
                except BaseException as error:  # too late, or a signal that ends us
                    _end(process, whole_group=talk is not None)
                    if seconds is not None and isinstance(error, subprocess.TimeoutExpired):
                        raise TimedOut(_named(args), seconds) from None
                    raise
        if check and process.returncode != 0:
            if self.git_dir != NO_REPOSITORY and not self.git_dir.exists():
                raise Vanished(_named(args), self.git_dir)
            raise CommandFailed(_named(args), stdout, stderr + _ended_by(process.returncode))
        if warned is not None:
            warned += os.fsdecode(stderr).splitlines()
        return stdout

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """A command that goes on running, with pipes to and from it."""
        try:
            return subprocess.Popen(
                self.command(*args),
                env=self.environment,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise not_started(error) from None


def _named(args: Sequence[str]) -> str:
    """The command among arguments that may begin with settings."""
    return next(arg for before, arg in zip(("", *args), args, strict=False) if arg != "-c" and before != "-c")


def _ended_by(code: int) -> bytes:
    """What nobody says of a git that a signal has ended, in git's own words for what it has started itself."""
    return f"\nfatal: git died of signal {-code}\n".encode() if code < 0 else b""


def _limit(process: subprocess.Popen[bytes], most: int) -> None:
    """Let a command that has just begun, and all that it starts, write no file of more bytes. Only Linux can do that from outside."""
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, most))


def _exchanged(
    process: subprocess.Popen[bytes], command: str, given: Iterable[bytes], seconds: float | None
) -> tuple[bytes, bytes]:
    """
    What a command prints on stdout and stderr while it is given its input, up to MAX_OUTPUT bytes each: `communicate` with a bound.
    Raises TooMuch and TimeoutExpired, and leaves the process to be ended.
    """
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    ends = None if seconds is None else time.monotonic() + seconds
    printed: dict[IO[bytes], bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    portions = _portions(given)
    left = next(portions)
    os.set_blocking(process.stdin.fileno(), False)  # a write takes what there is room for, and does not wait for more
    with selectors.DefaultSelector() as waiting:
        for pipe in printed:
            waiting.register(pipe, selectors.EVENT_READ)
        waiting.register(process.stdin, selectors.EVENT_WRITE)
        while waiting.get_map():
            ready = waiting.select(None if ends is None else max(0, ends - time.monotonic()))
            if not ready and ends is not None and time.monotonic() >= ends:
                raise subprocess.TimeoutExpired(command, seconds or 0)
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    try:
                        left = left[os.write(key.fd, left) :]
                    except BlockingIOError:
                        continue
                    except BrokenPipeError:
                        portions, left = _portions(()), left[:0]
                    left = left or next(portions, left)
                    if not left:
                        waiting.unregister(process.stdin)
                        process.stdin.close()
                    continue
                said = printed[key.fileobj]  # type: ignore[index]  # only these two are registered besides
                data = os.read(key.fd, 1 << 16)
                said += data
                if not data:
                    waiting.unregister(key.fileobj)
                if len(said) > MAX_OUTPUT:
                    raise TooMuch(
                        f"git {command} prints more than {MAX_OUTPUT:,} bytes",
                        hint="a repository of that size cannot be read",
                    )
    process.wait(None if ends is None else max(0, ends - time.monotonic()))
    return bytes(printed[process.stdout]), bytes(printed[process.stderr])


def _portions(pieces: Iterable[bytes]) -> Iterator[memoryview]:
    """What pieces are together, in portions that are worth a call of the system: the last of them may be empty, and no other is."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _PORTION:
            yield memoryview(b"".join(held))
            held, size = [], 0
    yield memoryview(b"".join(held))


def _end(process: subprocess.Popen[bytes], *, whole_group: bool) -> None:
    """End a command: git with what it has started, such as ssh, which would wait on."""
    if not whole_group:
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(_GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


_NO_GIT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENOEXEC, errno.ELOOP})
_TOO_LITTLE = {
    errno.EMFILE: "let this process have more open files: ulimit -n",
    errno.ENFILE: "this machine has too many files open",
    errno.EAGAIN: "let this user have more processes: ulimit -u, or the pids limit of the container",
    errno.ENOMEM: "let this process have more memory",
}
"""What the system had too little of to start a program, which may pass by itself."""


def not_started(error: OSError) -> GitError:
    """What to tell whoever could not start git: that there is none, or what was too little."""
    message = f"cannot run git: {error.strerror}"
    if error.errno in _NO_GIT:
        return GitError(message, "GitMissing", "install git and put it on PATH")
    return GitError(message, "GitFailed", _TOO_LITTLE.get(error.errno or 0, ""))


_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|.)?")
_NOISE = re.compile(
    r"To |hint:|warning:|Warning:|Everything |error: failed to push|fatal: Could not read from remote repository"
    r"|Please make sure you have the correct access|and the repository exists"
)


def one_line(text: str, limit: int = 500) -> str:
    """The text as one line without anything that cannot be seen."""
    line = " ".join(UNSEEN.sub(" ", _ESCAPE.sub("", text)).split())
    return shortened(line, limit)


def cause(stderr: str) -> str:
    """The line in git's error output that says why, rather than what followed from it."""
    whole = re.sub(
        r":\n((?:\t.*\n?)+)", lambda found: f": {', '.join(found[1].split())}\n", stderr
    )  # a list below its sentence
    lines = [line.strip() for line in whole.splitlines() if line.strip() and not _NOISE.match(line)]
    if "Host key verification failed." in lines:
        return "Host key verification failed"  # after a page of warnings
    for begins, prefix in (("error: RPC failed; ", "error: "), ("fatal: ", "fatal: "), ("error: ", "error: ")):
        found = [line for line in lines if line.startswith(begins)]
        if found:
            return found[0].removeprefix(prefix)
    return lines[0] if lines else "no reason given"
