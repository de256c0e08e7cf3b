"""
One push that lands whole or not at all, and what it means when it does not land.

Each ref is told what it has to be, and the server compares and swaps. Whether a push was a lost race, was refused or never reached the
server is found by looking at the refs again; what the server said is only asked for the rest.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from gitplacer.git.address import Address
from gitplacer.git.asking import Sort, request
from gitplacer.git.login import Right
from gitplacer.git.mirror import refs_of, unreachable
from gitplacer.git.ourbranches import INPUTS, PROPOSALS
from gitplacer.git.program import CommandFailed, Git, GitError, Talk, cause, one_line

Change = tuple[str | None, str | None]
"""What a ref is and what it becomes; None where it is not there."""
Updates = Mapping[str, Change]
"""By ref."""

_RACE = re.compile(
    r"cannot lock ref|failed to update ref|incorrect old value|stale info|fetch first|non-fast-forward"
    r"|atomic transaction failed"
)
_DECLINED = re.compile(r"^!\t.*hook declined\)$", re.MULTILINE)
_NOT_STORED = re.compile(r"^!\t.*\(unpacker error\)$", re.MULTILINE)
"""What was sent did not come to rest there: no permission, no room, or more than its git takes. No hook was asked."""
_NO_RACE = re.compile(r"exists; cannot create|Permission denied|Read-only file system|No space left")
_IN_THE_WAY = re.compile(r"'refs/heads/([^'\n]+)' exists; cannot create 'refs/heads/([^'\n]+)'")
_FORBIDDEN = re.compile(
    r"error: 40[13]|denied|not allowed|forbidden|read-only|unable to create|not permitted|dubious ownership", re.I
)
_LOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
_PROPOSALS = f"refs/heads/{PROPOSALS}"
_MANY = 50
"""Proposals from which on it is quicker to make refs of them first."""
_LEFT_AFTER = 60
"""Seconds. Git holds a lock on a ref for moments."""


class LostRace(GitError):
    """The branch is no longer what the pass was computed from. Open it again and recompute."""

    kind = "LostRace"


class PushRefused(GitError):
    """A hook, a protected branch or a missing permission is against it; trying again will not help."""

    kind = "PushRefused"


def push(address: Address, scratch: Git, updates: Updates) -> None:
    """`updates` begins with the branch that the push is about. Raises LostRace, PushRefused or Unreachable."""
    try:
        send(address, scratch, updates, atomic=len(updates) > 1)
    except CommandFailed as failure:
        _explain(address, scratch, failure, updates)


def send(address: Address, scratch: Git, updates: Updates, *, atomic: bool) -> None:
    """
    Push. The lease is used as a compare-and-swap only: on the branch each commit is a child of the tip that the lease names,
    so a push that succeeds is always a fast-forward, and one that would not be fails. An empty lease says "not there".
    Only a proposal, which is a branch of ours, is replaced or deleted.
    """
    arguments = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
    arguments += ["--atomic"] if atomic else []
    arguments += [f"--force-with-lease={ref}:{old or ''}" for ref, (old, _) in updates.items()]
    # A server that keeps refs as files takes them one by one, also in an atomic push; if it goes down in between, what a pass was
    # computed from should be there rather than the pass. New refs are taken in our order, others in that of their names.
    order = sorted(updates, key=lambda ref: ref != f"refs/heads/{INPUTS}")
    staged, pattern = _staged(scratch, updates)
    specs = [f"{updates[ref][1] or ''}:{ref}" for ref in order if ref not in staged] + pattern
    git = address.git(scratch.git_dir, Right.WRITE)
    with request(Sort.PUSH):
        git.run("push", *arguments, "--", address.url, *specs, talk=Talk.TRANSFER)


def _staged(scratch: Git, updates: Updates) -> tuple[Collection[str], list[str]]:
    """
    The proposals of a push, where they are many, and one pattern that stands for all of them: as refs of the scratch repository, which has no
    others there. Git holds each ref that it is told by name against each that the server has, which for a thousand takes seconds; by a pattern
    it finds them at once. Leases are told by name all the same, so the server compares and swaps each, and answers for each.
    """
    made = {ref: new for ref, (_, new) in updates.items() if new is not None and ref.startswith(_PROPOSALS)}
    if len(made) < _MANY:
        return (), []
    told = "".join(f"{ref} {oid}\n" for ref, oid in sorted(made.items()))
    apart = f"refs/staged/{hashlib.sha256(told.encode()).hexdigest()[:16]}/"  # from what other pushes have staged
    rows = (f"update {apart}{ref.removeprefix(_PROPOSALS)} {oid}\n" for ref, oid in made.items())
    try:
        scratch.run("update-ref", "--stdin", input="".join(rows).encode())
    except CommandFailed:  # `a` and `a/b` cannot both be refs of one repository: the server is to say so, of each
        return (), []
    return made.keys(), [f"{apart}*:{_PROPOSALS}*"]


def _explain(address: Address, scratch: Git, failure: CommandFailed, updates: Updates) -> None:
    """Raise what a failed push means; return if it has landed after all and only its answer was lost."""
    now = refs_of(address, *updates)
    first, (_, new) = next(iter(updates.items()))
    if now.get(first) == new:
        return
    where = f"branch {first.removeprefix('refs/heads/')} of {address.redacted}"
    # What a hook prints when it declines is for people: it may speak of races and anything else.
    said = failure.stdout if _DECLINED.search(failure.stdout) else f"{failure.stdout}\n{failure.stderr}"
    moved = any(now.get(ref) != old for ref, (old, _) in updates.items())
    left = _left_lock(said) if address.is_local and not moved else None
    if left is not None:
        hint = f"if no git is at work there, delete {left}"
        raise PushRefused(f"{where} is locked by a git that was ended: {left} is there", hint=hint) from None
    hidden = "stale info" in said and not moved and _hidden(address, scratch, updates)
    if hidden:
        hint = f"take {hidden} out of receive.hideRefs and transfer.hideRefs there, or choose another branch"
        raise PushRefused(f"{address.redacted} hides {hidden} from whoever pushes", hint=hint) from None
    # The winner may hold the lock without being visible yet: such an answer is a lost race, too.
    if moved or (_RACE.search(said) and not _NO_RACE.search(said)):
        hint = "somebody else pushed: read it again and recompute"
        raise LostRace(f"{where} has moved in the meantime", hint=hint) from None
    raise _refused(address, failure, where, said) or unreachable(address, failure) from None


def _hidden(address: Address, scratch: Git, updates: Updates) -> str:
    """
    The first ref that is there, as who fetches is told, and that a push would make anew; '' for none. A server that is only late in telling
    of a race tells it of such a push as well.
    """
    asked = {ref: new for ref, (old, new) in updates.items() if old is not None and new is not None}
    leases = [f"--force-with-lease={ref}:" for ref in asked]
    how = ["--dry-run", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"]
    specs = [f"{new}:{ref}" for ref, new in asked.items()]
    git = address.git(scratch.git_dir, Right.WRITE)
    with request(Sort.PUSH):
        told = git.run("push", *how, *leases, "--", address.url, *specs, talk=Talk.QUESTION, check=False).decode(
            "utf-8", "replace"
        )
    return next((ref for ref in asked if re.search(rf"^\*\t[^\t]*:{re.escape(ref)}\t", told, re.MULTILINE)), "")


def _refused(address: Address, failure: CommandFailed, where: str, said: str) -> PushRefused | None:
    """Why a push was refused, if it was. `where` is the branch, `said` what the server said."""
    if "does not support --atomic" in said:
        return PushRefused(f"the server of {address.redacted} cannot push two branches atomically")
    if "branch is currently checked out" in said:
        hint = "push to a bare repository, or check out another branch there"
        return PushRefused(f"{where} is checked out in its work tree", hint=hint)
    if _NOT_STORED.search(failure.stdout):
        hint = "see who may write there, how much room is left, and what its git takes (receive.*)"
        return PushRefused(f"{where}: what was pushed could not be stored there: {reason_of(failure)}", hint=hint)
    in_the_way = _IN_THE_WAY.search(said)
    if in_the_way is not None:
        hint = f"git cannot keep both of them: rename or delete the branch {in_the_way[1]}"
        return PushRefused(f"{where}: {in_the_way[1]} is in the way of {in_the_way[2]}", hint=hint)
    if re.search(r"^!\t", failure.stdout, re.MULTILINE):
        hint = "its hooks or branch protection decide this: let this user push there, or choose another branch"
        return PushRefused(f"{where} refused the push: {reason_of(failure)}", hint=hint)
    if _FORBIDDEN.search(said):
        hint = "let this user push there, or push as its owner"
        return PushRefused(f"{where}: no permission to push: {reason_of(failure)}", hint=hint)
    return None


def reason_of(failure: CommandFailed) -> str:
    """Why a server said no, with what its hooks printed, in one line."""
    given = re.findall(r"^!\t[^\t]*\t\[[^]]*\] \((.*)\)$", failure.stdout, re.MULTILINE)
    causes = [text for text in dict.fromkeys(given) if text not in ("atomic push failed", "unpacker error")]
    remote = re.findall(r"^(?:remote|error: remote unpack failed): (.*)$", failure.stderr, re.MULTILINE)
    lines = [one_line(text) for text in (*causes, *remote)]
    return one_line("; ".join(text for text in dict.fromkeys(lines) if text) or cause(failure.stderr))


def _left_lock(said: str) -> Path | None:
    """The lock in a local repository that was in the way of a push, if it was left there and nobody is about to take it away."""
    named = _LOCKED.search(said)
    path = Path(named[1]) if named else None
    try:
        return path if path is not None and time.time() - path.stat().st_mtime > _LEFT_AFTER else None
    except OSError:
        return None
