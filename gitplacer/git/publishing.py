"""
Writing the deployment repository: commits made from objects, and one push that either lands whole or not at all.

A pass is computed from a tip and may only land on that tip. The push names the tip it expects, and the server
compares and swaps; whoever comes second gets LostRace, reads again and recomputes. Nothing is rebased and nothing is
forced. No work tree is involved: `git fast-import` writes the commits into an empty scratch repository that borrows
the other objects, so a crash leaves nothing behind but a temporary folder. Same steps on the same tip, same ids.
"""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from gitplacer.git.address import Address
from gitplacer.git.mirror import Mirror, Unreachable, refs_of, unreachable
from gitplacer.git.program import NO_REPOSITORY, CommandFailed, Git, GitError, cause, one_line
from gitplacer.git.reading import Repository, check_branch
from gitplacer.tree import Changes, Tree, differing_paths

INPUTS = "gitplacer-inputs"
"""The branch that keeps the capacity trees passes were computed from."""

__all__ = ["INPUTS", "Deployment", "Identity", "LostRace", "NewCommit", "PushRefused", "Unreachable"]


class LostRace(GitError):
    """The branch is no longer what the pass was computed from. Open it again and recompute."""

    kind = "LostRace"


class PushRefused(GitError):
    """A hook, a protected branch or a missing permission is against it; trying again will not help."""

    kind = "PushRefused"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who makes a commit."""

    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    """A commit to make: what it changes, and what it says. `when` must know its time zone; git gets it in UTC."""

    changes: Changes
    message: str
    author: Identity
    when: datetime.datetime


class Deployment:
    """
    A branch of the deployment repository as it is now. `tip` is its commit, None when there is no such branch yet;
    `tree` its files. Read more of it through `repository`.
    """

    def __init__(self, repository: Repository, branch: str, tip: str | None, inputs_tip: str | None) -> None:
        self.repository = repository
        self.address = repository.address
        self.branch = branch
        self.tip = tip
        self.inputs_tip = inputs_tip
        self.tree = repository.tree(tip) if tip else Tree()

    @classmethod
    def open(cls, address: Address, branch: str, cache_dir: Path) -> Deployment:
        """The branch as it is now. Raises GitError (Unreachable, NotARepository, NoSuchRevision for an odd name)."""
        if check_branch(branch) == INPUTS:
            raise GitError(f"{INPUTS} is kept for capacity trees", "BadAddress", "choose another deployment branch")
        names = {f"refs/heads/{branch}", f"refs/heads/{INPUTS}"}
        if address.is_local:
            repository = Repository.open(address, cache_dir)
            refs = refs_of(address, *sorted(names))
        else:
            mirror = Mirror(address, cache_dir)
            repository = Repository.mirrored(address, mirror, refs_of(address, *sorted(names)))
            refs = dict(repository.refs)
        return cls(repository, branch, refs.get(f"refs/heads/{branch}"), refs.get(f"refs/heads/{INPUTS}"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.repository.close()

    def publish(self, steps: Sequence[NewCommit], *, inputs: NewCommit | None = None) -> str:
        """
        Make the steps one commit each, on top of the tip, push them together, and return the new tip. `inputs` becomes
        a commit of the branch `gitplacer-inputs`, in the same push, whose whole tree is what it writes; nothing is
        added there when that tree is on top already.

        Raises LostRace, PushRefused, Unreachable, or GitError (PathClash) when writing a path would displace a file
        that the changes do not name. In each case nothing has landed.
        """
        if not steps:
            raise ValueError("nothing to publish: a pass without changes makes no commit")
        with tempfile.TemporaryDirectory(prefix="gitplacer-") as folder:
            scratch = self._scratch(Path(folder))
            new, new_inputs = self._import(scratch, steps, inputs)
            with Repository(self.address, scratch, {}) as made:
                self._check_tree(made.tree(new), steps)
                if self.inputs_tip and new_inputs:
                    is_same = made.tree_id(new_inputs) == made.tree_id(self.inputs_tip)
                    new_inputs = None if is_same else new_inputs
            self._push(scratch, new, new_inputs)
        return new

    def _scratch(self, folder: Path) -> Git:
        Git(NO_REPOSITORY).run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--", str(folder))
        objects = self.repository.git.run("rev-parse", "--path-format=absolute", "--git-path", "objects")
        (folder / "objects" / "info").mkdir(exist_ok=True)
        (folder / "objects" / "info" / "alternates").write_bytes(objects)
        return Git(folder, protocol=self.address.protocol)

    def _import(self, scratch: Git, steps: Sequence[NewCommit], inputs: NewCommit | None) -> tuple[str, str | None]:
        stream: list[bytes] = []
        paths = set(self.tree.entries)
        for number, step in enumerate(steps):
            parent = self.tip if number == 0 else None
            # Deleting a path deletes a whole folder where it names one, so only files that are there are deleted.
            gone = step.changes.removed & paths
            stream += _commit("refs/heads/new", step, parent, gone)
            paths -= gone
            paths |= step.changes.written.keys()
        if inputs:
            stream += _commit("refs/heads/inputs", inputs, self.inputs_tip, None)
        stream.append(b"done\n")
        # unpackLimit=0: leave the pack as it is; it goes to the server in a moment, and then away.
        scratch.run("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--done", input=b"".join(stream))
        listing = scratch.run("for-each-ref", "--format=%(refname) %(objectname)").decode()
        made = dict(line.split(" ") for line in listing.splitlines())
        return made["refs/heads/new"], made.get("refs/heads/inputs")

    def _check_tree(self, made: Tree, steps: Sequence[NewCommit]) -> None:
        """What goes out is exactly what was planned; a foreign file that is in the way of a folder stops it."""
        written: dict[str, bytes] = {}
        for step in steps:
            written = {path: data for path, data in written.items() if path not in step.changes.removed}
            written.update(step.changes.written)
        removed = frozenset().union(*(step.changes.removed for step in steps))
        planned = self.tree.apply(Changes(written, removed))
        if planned != made:
            path = differing_paths(planned, made)[0]
            raise GitError(
                f"{self.address.redacted} has {path} in the way: a file and a folder cannot have one name",
                "PathClash",
                "move it away in the deployment repository",
            )

    def _push(self, scratch: Git, new: str, new_inputs: str | None) -> None:
        # The lease is used as a compare-and-swap only: each commit is a child of the tip that the lease names, so a
        # push that succeeds is always a fast-forward, and one that would not be fails. An empty lease says "not there".
        updates = {f"refs/heads/{self.branch}": (self.tip, new)}
        if new_inputs:
            updates[f"refs/heads/{INPUTS}"] = (self.inputs_tip, new_inputs)
        arguments = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
        arguments += ["--atomic"] if len(updates) > 1 else []
        arguments += [f"--force-with-lease={ref}:{old or ''}" for ref, (old, _) in updates.items()]
        specs = [f"{oid}:{ref}" for ref, (_, oid) in updates.items()]
        try:
            scratch.run("push", *arguments, "--", self.address.url, *specs)
        except CommandFailed as failure:
            self._explain(failure, {ref: old for ref, (old, _) in updates.items()}, new)

    def _explain(self, failure: CommandFailed, expected: dict[str, str | None], new: str) -> None:
        """Raise what a failed push means; return if it has landed after all and only its answer was lost."""
        now = refs_of(self.address, *expected)
        if now.get(f"refs/heads/{self.branch}") == new:
            return
        where = f"branch {self.branch} of {self.address.redacted}"
        said = f"{failure.stdout}\n{failure.stderr}"
        moved = any(now.get(ref) != old for ref, old in expected.items())
        # The winner may hold the lock without being visible yet: such an answer is a lost race, too.
        if moved or (_RACE.search(said) and not _NO_RACE.search(said)):
            hint = "somebody else pushed: read it again and recompute"
            raise LostRace(f"{where} has moved in the meantime", hint=hint) from None
        reason = _reason(failure)
        if "does not support --atomic" in said:
            raise PushRefused(f"the server of {self.address.redacted} cannot push two branches atomically") from None
        if "branch is currently checked out" in said:
            hint = "push to a bare repository, or check out another branch there"
            raise PushRefused(f"{where} is checked out in its work tree", hint=hint) from None
        if re.search(r"^!\t", failure.stdout, re.MULTILINE):
            hint = "its hooks or branch protection decide this: let this user push there, or choose another branch"
            raise PushRefused(f"{where} refused the push: {reason}", hint=hint) from None
        if _FORBIDDEN.search(said):
            hint = "let this user push there, or push as its owner"
            raise PushRefused(f"{where}: no permission to push: {reason}", hint=hint) from None
        raise unreachable(self.address, failure) from None


_RACE = re.compile(
    r"cannot lock ref|failed to update ref|incorrect old value|stale info|fetch first|non-fast-forward"
    r"|atomic transaction failed"
)
_NO_RACE = re.compile(r"exists; cannot create|Permission denied|Read-only file system|No space left")
_FORBIDDEN = re.compile(
    r"error: 40[13]|denied|not allowed|forbidden|read-only|unable to create|not permitted|dubious ownership", re.I
)


def _reason(failure: CommandFailed) -> str:
    """Why a server said no, with what its hooks printed."""
    given = re.findall(r"^!\t[^\t]*\t\[[^]]*\] \((.*)\)$", failure.stdout, re.MULTILINE)
    causes = [text for text in dict.fromkeys(given) if text != "atomic push failed"]
    remote = re.findall(r"^remote: (.*)$", failure.stderr, re.MULTILINE)
    lines = [one_line(text) for text in (*causes, *remote)]
    return "; ".join(text for text in lines if text) or cause(failure.stderr)


def _commit(ref: str, commit: NewCommit, parent: str | None, gone: Iterable[str] | None) -> list[bytes]:
    """The lines that make fast-import add a commit to a ref. `gone` None replaces the whole tree."""
    if commit.when.tzinfo is None:
        raise ValueError("a commit's time must know its time zone")
    who = f"{_plain(commit.author.name)} <{_plain(commit.author.email)}> {int(commit.when.timestamp())} +0000\n"
    message = commit.message.rstrip("\n").replace("\0", "").encode("utf-8", "replace") + b"\n"
    lines = [f"commit {ref}\nauthor {who}committer {who}".encode(), b"data %d\n" % len(message), message]
    lines.append(f"from {parent}\n".encode() if parent else b"")
    lines += [b"deleteall\n"] if gone is None else [b"D %s\n" % _quoted(path) for path in sorted(gone)]
    for path in sorted(commit.changes.written):
        data = commit.changes.written[path]
        lines += [b"M 100644 inline %s\ndata %d\n" % (_quoted(path), len(data)), data, b"\n"]
    return lines


def _plain(text: str) -> str:
    """A name without what would end it in a commit."""
    return one_line(re.sub(r"[<>]", "", text)) or "unknown"


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode()
