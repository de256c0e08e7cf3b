"""
Files that hold secrets: read only where nobody else can read them.

The rule is that of ssh. A file of our own may be open to nobody else. One that belongs to somebody else, such as a mounted Secret,
which Kubernetes lets root own and a pod's group read, may be read by our group, and never by everybody.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gitplacer.git.program import GitError
from gitplacer.plaintext import pasted, printable
from gitplacer.redactor import SHORTEST_SECRET, hide

_LARGEST = 64 * 1024


class ExposedSecret(GitError):
    """A file with a secret that others could read."""

    kind = "ExposedSecret"


class UnusableSecret(GitError):
    """A file with a secret that is not there, cannot be read, or does not hold one."""

    kind = "UnusableSecret"


def private_file(path: Path, what: str) -> Path:
    """The path, if it is a file that nobody else can read. `what` names it in messages. Raises GitError."""
    try:
        found = path.stat()
    except OSError as error:
        raise _unusable(path, what, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise UnusableSecret(f"{what} {_shown(path)} is no file", hint="name the file itself")
    is_ours = found.st_uid == os.getuid()
    if found.st_mode & (0o077 if is_ours else 0o007):
        whose = "other users can read or write" if found.st_mode & 0o007 else "its group can read or write"
        hint = f"chmod 600 {pasted(path)}" if is_ours else "let its owner run chmod o= on it"
        raise ExposedSecret(f"{whose} {what} {_shown(path)}", hint=hint)
    return path


def read_secret(path: Path, what: str) -> str:
    """The one line of a file that nobody else can read; it appears in no message from now on. Raises GitError."""
    text = read_private(path, what).strip()
    if len(text) < SHORTEST_SECRET or not text.isprintable():
        raise UnusableSecret(
            f"{what} {_shown(path)} does not hold one line of {SHORTEST_SECRET} or more characters",
            hint="put the secret into it and nothing else",
        )
    hide(text, str(path))
    return text


def read_private(path: Path, what: str) -> str:
    """The text of a file that nobody else can read. Raises GitError."""
    try:
        data = private_file(path, what).read_bytes()[: _LARGEST + 1]
        if len(data) <= _LARGEST:
            return data.decode()
    except OSError as error:
        raise _unusable(path, what, error) from None
    except UnicodeDecodeError:
        pass
    raise UnusableSecret(f"{what} {_shown(path)} does not hold text of up to {_LARGEST} bytes")


def _unusable(path: Path, what: str, error: OSError) -> UnusableSecret:
    return UnusableSecret(f"cannot read {what} {_shown(path)}: {error.strerror}", hint="check the path and its owner")


def _shown(path: Path) -> str:
    return printable(str(path), 200)
