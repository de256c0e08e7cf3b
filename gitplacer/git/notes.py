"""
Notes on commits of the deployment repo: what promoters read about a hydrated commit.

A note is on a ref of its own, which others write as well, so it is pushed after the commit and tried again when somebody was
first. It adds to what is deployed and decides nothing: whatever goes wrong is told, and the pass has landed all the same.
"""

from __future__ import annotations

import datetime

from msgspec import Struct

from gitplacer.git.address import Address
from gitplacer.git.login import Right
from gitplacer.git.mirror import refs_of
from gitplacer.git.program import CommandFailed, Git, GitError, Talk, cause
from gitplacer.git.reading import Repository
from gitplacer.git.resigning import sign_all
from gitplacer.git.signing import SigningKey

HYDRATOR_NOTES = "refs/notes/hydrator.metadata"
"""Where Argo CD's hydrator keeps them, and promoters look."""

_ATTEMPTS = 8


class Note(Struct, frozen=True, kw_only=True):
    """What is noted, and who did so when."""

    text: str
    author: str
    when: datetime.datetime


def push_note(scratch: Git, address: Address, commit: str, note: Note, key: SigningKey | None = None) -> str:
    """
    Put a note on a commit that `scratch` has, in place of one that is there, by a commit that is signed if there is a `key`. Returns
    why it could not be, '' if it could; nothing is pushed that is there already. Never raises GitError.
    """
    try:
        why = ""
        for _ in range(_ATTEMPTS):
            known = refs_of(address, HYDRATOR_NOTES).get(HYDRATOR_NOTES)
            if known is not None:
                reader = address.git(scratch.git_dir)
                fetched = f"+{HYDRATOR_NOTES}:{HYDRATOR_NOTES}"
                reader.run("fetch", "--quiet", "--no-tags", "--", address.url, fetched, talk=Talk.TRANSFER)
            if _noted(scratch, commit) == note.text:
                return ""
            scratch.run("fast-import", "--quiet", "--done", input=_stream(commit, note, known))
            made = _signed(scratch, address, known, key) if key is not None else HYDRATOR_NOTES
            arguments = ["--porcelain", "--no-verify", f"--force-with-lease={HYDRATOR_NOTES}:{known or ''}"]
            try:
                writer = address.git(scratch.git_dir, Right.WRITE)
                pushed = f"{made}:{HYDRATOR_NOTES}"
                writer.run("push", *arguments, "--", address.url, pushed, talk=Talk.TRANSFER)
                return ""
            except CommandFailed as failure:
                why = cause(failure.stderr)
        return f"somebody else was first {_ATTEMPTS} times: {why}"
    except CommandFailed as failure:
        return cause(failure.stderr)
    except GitError as error:
        return str(error)


def _signed(scratch: Git, address: Address, known: str | None, key: SigningKey) -> str:
    tips = {"notes": scratch.run("rev-parse", HYDRATOR_NOTES).decode().strip()}
    with Repository(address, scratch, {}) as plain:
        return sign_all(scratch, plain.objects, tips, [known] if known is not None else [], key)["notes"]


def _noted(scratch: Git, commit: str) -> str | None:
    try:
        return (
            scratch.run("notes", f"--ref={HYDRATOR_NOTES}", "show", "--end-of-options", commit)
            .decode("utf-8", "replace")
            .rstrip("\n")
        )
    except CommandFailed:
        return None


def _stream(commit: str, note: Note, known: str | None) -> bytes:
    who = f"{note.author} {int(note.when.timestamp())} +0000"
    data, message = f"{note.text}\n".encode(), b"Notes added by gitplacer\n"
    lines = [
        f"commit {HYDRATOR_NOTES}\ncommitter {who}\n".encode(),
        b"data %d\n" % len(message),
        message,
        f"from {known}\n".encode() if known else b"",
        b"N inline %s\ndata %d\n" % (commit.encode(), len(data)),
        data,
        b"\ndone\n",
    ]
    return b"".join(lines)
