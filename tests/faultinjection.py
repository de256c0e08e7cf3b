"""
A publish that is killed, or whose disk fails, at each system call in turn.

    python -m tests.faultinjection                        # every kill, over a local path
    python -m tests.faultinjection --transport http --with ENOSPC
    python -m tests.faultinjection --every 20             # a sample: the first of each twenty
    python -m tests.faultinjection --only "push 12 write 3 KILL all"        # one of them again, as it was printed

`gitplacer reconcile` moves an app and places another: two commits and the capacity, in one push. It is run once under strace to learn which
system calls change something: of the process itself, and of each git that it starts with all that git starts. What the disk and the
server look like changes at these calls alone, so whoever is killed at any instant is killed between two of them, and all instants are tried. Then
it is run again for each call, from the same start, and there the signal or the error comes. `alone` ends the process that makes
the call; `all` ends ours with the git that makes it, as a machine does that goes down.

After each: the deployment branch is as before or as after, and git finds nothing wrong with the repo (the capacity may be there before the
pass, since a git that keeps refs as files takes them one by one); whoever lived on said what was wrong in
words; and the next pass, with the same cache, ends where an undisturbed one ends, and leaves nothing behind that would pile up.

Needs strace, and the right to trace (in a container: CAP_SYS_PTRACE, or a kernel that allows it anyway).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.pushing import PushRefused
from gitplacer.git.scratch import scratch_folder
from tests.faultyhost import faulty_host
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.stories import cluster, rayservice, snapshot

NOW = "2026-01-02T03:07:00Z"
OURS = "gitplacer"
CHANGING = (
    "write", "pwrite64", "writev", "sendto", "sendmsg", "connect", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat",
    "mkdir", "mkdirat", "rmdir", "ftruncate", "fsync", "fdatasync", "chmod", "fchmod", "fchmodat", "execve",
)  # fmt: skip
"""System calls that change something that others can see."""
_FAILING = frozenset(CHANGING) - {"execve", "connect", "sendto", "sendmsg", "chmod", "fchmod", "fchmodat"}
"""Those that fail where a disk is full or broken."""
_CALL = re.compile(r"^(?:(\d+) +)?(\w+)\((\d+<(?:pipe|socket|UNIX|TCP)[^>]*>)?", re.MULTILINE)
_LEFT = re.compile(r"(^|/)(gitplacer-scratch-|tmp_|\.tmp-)|\.git/.*\.lock$|\.broken|\.new$")
"""What nobody may find in the cache or among temporary files once somebody has made a pass after a crash."""


@dataclass(frozen=True, slots=True)
class Point:
    """
    The `nth` time that one process makes a call. `program` is `gitplacer`, or the git command and which one it is that we start; `what` is KILL or
    an error; `whom` is `alone` or `all`.
    """

    program: str
    number: int
    call: str
    nth: int
    what: str
    whom: str

    def __str__(self) -> str:
        return f"{self.program} {self.number} {self.call} {self.nth} {self.what} {self.whom}"

    @staticmethod
    def parse(text: str) -> Point:
        program, number, call, nth, what, whom = text.split()
        return Point(program, int(number), call, int(nth), what, whom)


def cannot_trace() -> str:
    """Why nothing can be traced here; '' if it can."""
    strace = shutil.which("strace")
    if strace is None:
        return "strace is not installed (Debian: strace)"
    tried = subprocess.run([strace, "-f", "-qq", "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return f"strace cannot trace here: {tried.stderr.strip()[:200]}" if tried.returncode else ""


class Publish:
    """One publish that can be made again and again from the same start, in a folder of its own."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.start, self.work, self.shims = folder / "start", folder / "fleet", folder / "shims"
        self._url = url
        self._git = shutil.which("git") or "git"
        for path in (self.start, self.shims):
            path.mkdir()
        self._reset()
        fleet = made(self.work)
        with self._environment():
            self._fleet().reconcile(5)
        told = snapshot("b", "n1 32 128Gi 5")
        fleet.commit(cluster("a", state="Draining") | rayservice("prod", "new") | {"capacity/b.yaml": told["b.yaml"]})
        for path in ("cache", "tmp"):
            (self.work / path).mkdir(exist_ok=True)
        shutil.rmtree(self.start)
        shutil.copytree(self.work, self.start, symlinks=True)
        self.before = self._tips()
        with self._environment():
            self._fleet().reconcile(7)
        self.after = self._tips()
        self.left = self._files()

    def points(self, what: str) -> list[Point]:
        """Every call at which something can happen."""
        self._reset()
        done = self._run(
            self._shim(None), ["strace", "-y", "-qq", "-e", f"trace={_traced()}", "-o", str(self.shims / "ours")]
        )
        assert done.returncode == 0, done.stderr
        is_kill = what == "KILL"
        found = [(OURS, 0, call, nth) for call, nth in _made(self.shims / "ours", is_kill)]
        for trace in sorted(self.shims.glob("git-*"), key=lambda path: int(path.name.split("-")[1])):
            _, number, command = trace.name.split("-", 2)
            found += [(command, int(number), call, nth) for call, nth in _made(trace, is_kill)]
        return [
            Point(program, number, call, nth, what, whom)
            for program, number, call, nth in found
            for whom in (("alone", "all") if program != OURS and is_kill else ("alone",))
            if is_kill or call in _FAILING
        ]

    def tried(self, point: Point) -> str:
        """Let it happen; what came of it, in a word. Raises AssertionError where something is wrong after it."""
        self._reset()
        inject = f"inject={point.call}:{_consequence(point.what)}:when={point.nth}"
        around = ["strace", "-qq", "-e", f"trace={point.call}", "-e", inject, "-o", os.devnull]
        done = self._run(self._shim(point, inject), around if point.program == OURS else [])
        said = done.stderr + done.stdout
        assert "Traceback" not in said, said
        if done.returncode == 1:
            assert re.search(r"^error(\[\w+\])?: \S", done.stderr, re.MULTILINE), said
        else:
            assert done.returncode in (0, -9, 137), (done.returncode, said)
        now = self._tips()
        halfway = (self.after[0], self.before[1])
        assert now in (self.before, halfway, self.after), f"{now} is neither {self.before} nor {self.after}"
        git("fsck", "--connectivity-only", "--no-dangling", cwd=self.work / "served" / "deployment.git")
        came = {self.after: "landed", halfway: "the capacity alone"}.get(now, "nothing") + (
            ", told" if done.returncode == 1 else ""
        )
        came += self._next_pass()
        with self._environment(), scratch_folder():
            pass  # as the next publish does it
        left = [path for path in self._files() - self.left if _LEFT.search(path)]
        assert left == [], f"left behind: {left}"
        return came

    def _next_pass(self) -> str:
        """With the same cache. In a local repo a lock may be left, which nobody but its owner may take away: it is named, and they do."""
        came = ""
        with self._environment():
            locks = sorted((self.work / "served").rglob("*.lock"))
            for lock in locks:
                os.utime(lock, (time.time() - 3600,) * 2)
            try:
                self._fleet().reconcile(7)
            except PushRefused as refused:
                assert locks, refused
                came = ", then a lock was named"
                for lock in locks:
                    assert any(str(each) in refused.hint for each in locks), refused.hint
                    lock.unlink()
                self._fleet().reconcile(7)
        assert self._tips() == self.after, "the next pass ends elsewhere"
        return came

    def _fleet(self) -> Fleet:
        bare = self.work / "served" / "deployment.git"
        return Fleet(self.work / "source", f"{self._url}/fleet/served/deployment.git" if self._url else str(bare), bare)

    def _tips(self) -> tuple[str, ...]:
        refs = ("refs/heads/main", f"refs/heads/{INPUTS}")
        listing = git("for-each-ref", "--format=%(objectname)", *refs, cwd=self.work / "served" / "deployment.git")
        return tuple(listing.split())

    def _files(self) -> set[str]:
        return {
            path.relative_to(self.work).as_posix()
            for name in ("cache", "tmp")
            for path in (self.work / name).rglob("*")
        }

    def _reset(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.start, self.work, symlinks=True)

    @contextlib.contextmanager
    def _environment(self) -> Iterator[None]:
        """Our own process with the cache and the folder for temporary files of the publish."""
        before, folder = os.environ.get("GITPLACER_CACHE"), tempfile.tempdir
        os.environ["GITPLACER_CACHE"] = str(self.work / "cache")
        (self.work / "tmp").mkdir(exist_ok=True)
        tempfile.tempdir = str(self.work / "tmp")
        try:
            yield
        finally:
            tempfile.tempdir = folder
            if before is None:
                del os.environ["GITPLACER_CACHE"]
            else:
                os.environ["GITPLACER_CACHE"] = before

    def _run(self, shim: Path, around: list[str]) -> subprocess.CompletedProcess[str]:
        fleet = self._fleet()
        command = [*around, sys.executable, "-m", "gitplacer", "reconcile", "--now", NOW]
        return subprocess.run(
            [*command, "--deployment", fleet.deployment, str(fleet.source)],
            env={
                "PATH": f"{shim}:{os.environ['PATH']}",
                "HOME": str(self.work),
                "PYTHONPATH": str(Path(__file__).parent.parent),
                "PYTHONDONTWRITEBYTECODE": "1",
                "GITPLACER_CACHE": str(self.work / "cache"),
                "TMPDIR": str(self.work / "tmp"),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def _shim(self, point: Point | None, inject: str = "") -> Path:
        """A folder with a program `git`, which counts how often it is run and traces each run, or the one that is wanted."""
        shutil.rmtree(self.shims)
        (self.shims / "bin").mkdir(parents=True)
        count = self.shims / "count"
        lines = ["#!/bin/sh", f"echo >> {count}", f"n=$(($(wc -l < {count})))"]
        if point is None:
            lines += [
                'for word; do case "$word" in -c|*=*) ;; *) break;; esac; done',
                f'exec strace -y -f -qq -e trace={_traced()} -o "{self.shims}/git-$n-$word" {self._git} "$@"',
            ]
        elif point.program != OURS:
            traced = f'strace -f -qq -e trace={point.call} -e {inject} -o /dev/null {self._git} "$@"'
            ends = "; came=$?; [ $came -lt 128 ] || kill -9 $PPID; exit $came" if point.whom == "all" else ""
            run = f"{traced}{ends}" if ends else f"exec {traced}"
            lines += [f"if [ $n = {point.number} ]; then {run}; fi"]
        lines += [f'exec {self._git} "$@"']
        shim = self.shims / "bin" / "git"
        shim.write_text("\n".join(lines) + "\n")
        shim.chmod(0o755)
        return shim.parent


def _traced() -> str:
    return ",".join(f"?{call}" for call in CHANGING)


def _consequence(what: str) -> str:
    return "signal=SIGKILL" if what == "KILL" else f"error={what}"


def _made(trace: Path, is_kill: bool) -> list[tuple[str, int]]:
    """
    The calls that some process makes, and for the how-many-eth time. Pipes and sockets neither fill up nor break as disks do, so there only
    a kill is tried.
    """
    counts: Counter[tuple[str, str]] = Counter()
    found: set[tuple[str, int]] = set()
    for process, call, pipe in _CALL.findall(trace.read_text("utf-8", "replace")):
        counts[process, call] += 1
        if is_kill or not pipe:
            found.add((call, counts[process, call]))
    return sorted(found)


@contextlib.contextmanager
def publish(folder: Path, transport: str) -> Iterator[Publish]:
    """The publish over a local path (`file`) or a server on this machine (`http`)."""
    if transport == "file":
        yield Publish(folder, None)
    else:
        with faulty_host(folder) as host:
            yield Publish(folder, host.url)


def main() -> int:
    parser = argparse.ArgumentParser(description="Disturb a publish at each system call in turn.")
    parser.add_argument("--transport", choices=["file", "http"], default="file")
    parser.add_argument("--with", dest="what", choices=["KILL", "ENOSPC", "EIO"], default="KILL")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth call")
    parser.add_argument("--only", metavar="POINT", help="one of them, as it was printed")
    chosen = parser.parse_args()
    why = cannot_trace()
    if why:
        print(why, file=sys.stderr)
        return 1
    came: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, publish(Path(folder), chosen.transport) as made_again:
        every = made_again.points(chosen.what) if not chosen.only else [Point.parse(chosen.only)]
        tried = every[:: chosen.every]
        print(f"{len(every)} calls, {len(tried)} of them are tried", flush=True)
        for point in tried:
            try:
                outcome = made_again.tried(point)
            except Exception as error:
                wrong += 1
                print(f"WRONG  {point}: {type(error).__name__}: {error}", flush=True)
            else:
                came[outcome] += 1
    for outcome, count in came.most_common():
        print(f"{count:6}  {outcome}")
    print(f"{wrong:6}  wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_GLOBAL", os.devnull)
    sys.exit(main())
