"""
Text that others wrote, made safe to show; and columns that line up.

Names, paths and messages come from manifests. On a terminal or in a log they must be one line, must not move the
cursor, turn the writing direction or speak to a CI runner, and must not be endless.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

from gitplacer.redactor import shortened

LONGEST_NAME = 253
"""Characters: the longest name that Kubernetes takes."""
LONGEST_LABEL = 63
"""Characters: the longest label that Kubernetes takes."""
LONGEST_PATH = 4200
"""Characters: the longest path that Linux takes, and a line and column."""

# Controls, soft hyphen, direction and width marks, line separators, fillers, surrogates, what XML cannot hold, tags, selectors that hide a
# text in a letter. Written out, because what Python calls printable differs between its versions.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WORKFLOW_COMMAND = re.compile(r"^\s*::|##\[")


def printable(text: str, longest: int = LONGEST_NAME) -> str:
    r"""
    The text as one harmless line of at most `longest` characters.

    What cannot be seen is written as an escape (`\x1b`), also the colons with which a line would be a command to
    GitHub's runner; a longer text is cut and ends in `…`.
    """
    seen = UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), shortened(text, longest))
    said = _WORKFLOW_COMMAND.sub(lambda match: match[0].replace(":", "\\x3a").replace("#", "\\x23"), seen)
    return said if len(said) <= longest else shortened(said, longest)  # escapes have made it longer


def pasted(path: object) -> str:
    """
    A path as one word of a command that a reader pastes: with a space in it, a shell would take it for two.

    One with characters that cannot be seen is shown with escapes, as `printable` does, and cannot be pasted.
    """
    return printable(shlex.quote(str(path)), LONGEST_PATH)


def rfc3339(time: datetime) -> str:
    """A time in UTC, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def one(name: str) -> str:
    """A name with its article: `a Pod`, `an Ingress`."""
    return f"{'an' if name.startswith(('A', 'E', 'I', 'O')) else 'a'} {name}"


def counted(number: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def few(names: Sequence[str], most: int = 3) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c and 4 more`; nobody is left out alone."""
    shown = list(names) if len(names) <= most + 1 else [*names[:most], f"{len(names) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ", widest: int = 60) -> list[str]:
    """Rows as lines whose columns begin at the same place, except after a cell longer than `widest`."""
    columns = range(len(rows[0]) - 1) if rows else range(0)
    widths = [max((len(row[column]) for row in rows if len(row[column]) <= widest), default=0) for column in columns]
    return [
        (indent + "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])).rstrip()
        for row in rows
    ]


def digest(text: str) -> str:
    """Eight characters that tell a text from others."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def dns_label(name: str, whose: str) -> str:
    """
    A name as one label of the name of an object of Kubernetes, up to 63 lower-case letters, digits and dashes; one that cannot be that gets
    the digest of `whose` it is.
    """
    plain = re.sub(r"[^a-z0-9-]", "-", name.lower()).strip("-")
    return plain if plain == name and len(name) <= LONGEST_LABEL else f"{plain[:40]}-{digest(whose)}"
