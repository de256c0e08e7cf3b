"""
What went wrong in a turn, from what was raised: one name, one line, one hint.

A name decides how long the controller waits and whom it asks for help (`turns.RULES`). What nobody foresaw is a fault as well: a pass that
fails on something odd has changed nothing, and the next one may meet something else.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.capacity.access import ClusterError
from gitplacer.controller.turns import Fault
from gitplacer.git.program import GitError
from gitplacer.plaintext import printable
from gitplacer.problems import Problem, Rejected
from gitplacer.redactor import redact
from gitplacer.settings import UsageError

_LONGEST = 2000
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FULL_WORDS = ("No space left on device", "Disk quota exceeded", "Out of diskspace")
_STARTED_WRONG = (
    "BadAddress", "NoSuchDirectory", "NotARepository", "UnsupportedObjectFormat", "GitMissing", "UntrustedCache",
    "PathClash", "ForeignCommit", "NotWritten", "NotStored", "Unreadable", "NotSigned", "BadTimeout", "BadLimit",
)  # fmt: skip
KINDS: Mapping[str, Fault] = {
    "LostRace": Fault.LOST_RACE,
    "Unreachable": Fault.UNREACHABLE,
    "RateLimited": Fault.RATE_LIMITED,
    "DamagedRepository": Fault.DAMAGED_CACHE,
    "PushRefused": Fault.PUSH_REFUSED,
    "ClockBehind": Fault.CLOCK_BEHIND,
    "SourceRewound": Fault.SOURCE_REWOUND,
    "DeploymentRewound": Fault.DEPLOYMENT_REWOUND,
    "DeploymentLost": Fault.DEPLOYMENT_LOST,
    "ChangedWhileReading": Fault.UNEXPECTED,
    "GitFailed": Fault.UNEXPECTED,
    **dict.fromkeys(
        (
            "NoSuchRevision",
            "NoSuchFolder",
            "MalformedTree",
            "MalformedObject",
            "BlobTooLarge",
            "TooMuch",
            "NoSignedCommit",
        ),
        Fault.REJECTED_SOURCE,
    ),
    **dict.fromkeys(
        ("AccessDenied", "NoCredential", "NoToken", "ExposedSecret", "UnusableSecret"), Fault.ACCESS_DENIED
    ),
    **dict.fromkeys(_STARTED_WRONG, Fault.MISCONFIGURED),
}
"""What each kind of `GitError` comes to."""
CLUSTERS: Mapping[int, Fault] = {
    401: Fault.ACCESS_DENIED,
    403: Fault.ACCESS_DENIED,
    429: Fault.RATE_LIMITED,
}
"""What an answer of a cluster's API server comes to, by its status; whatever else it is, it may pass."""


class Found(Struct, frozen=True):
    """A fault as it is told. `problems` are those of a source that was rejected."""

    fault: Fault
    message: str
    hint: str = ""
    problems: tuple[Problem, ...] = ()


def found(error: Exception) -> Found:
    """The fault behind an error. What is told of it has no secret."""
    told = _found(error)
    return replace(told, message=printable(redact(told.message), _LONGEST), hint=printable(redact(told.hint), _LONGEST))


def _found(error: Exception) -> Found:
    match error:
        case Rejected():
            first, *others = error.errors
            more = f" (and {len(others)} more)" if others else ""
            return Found(
                Fault.REJECTED_SOURCE,
                f"{first.location}: {first.message}{more}",
                first.hint,
                tuple(error.problems),
            )
        case GitError() if any(word in error.message for word in _FULL_WORDS):
            # What git could not write on this machine has no hint of its own; what a server could not says that it was there.
            here = "make room; GITPLACER_CACHE is where repos are kept"
            return Found(Fault.DISK_FULL, error.message, error.hint or here)
        case GitError():
            return Found(KINDS.get(error.kind, Fault.UNEXPECTED), error.message, error.hint)
        case ClusterError():
            fault = CLUSTERS.get(error.status, Fault.UNREACHABLE)
            return Found(fault, str(error), error.hint)
        case UsageError():
            return Found(Fault.MISCONFIGURED, str(error), error.hint)
        case OSError() if error.errno in _FULL:
            return Found(Fault.DISK_FULL, str(error), "make room on this disk")
        case OSError():
            where = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return Found(
                Fault.UNEXPECTED, f"{where}{error.strerror or error}", "look at this machine if it comes again"
            )
        case sqlite3.Error():
            return Found(Fault.DAMAGED_CACHE, f"the cache cannot be used: {error}")
    text = f"{type(error).__name__}: {error}"
    return Found(Fault.UNEXPECTED, text, "if it comes again, this is a bug in gitplacer: please report it")
