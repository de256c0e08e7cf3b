"""
Patterns of a schema, as far as they can be checked without risk.

Kubernetes' patterns are RE2, which never backtracks. We match with an engine that does not either, so no pattern can be
a bomb; but it reads the ECMAScript dialect, and what that dialect lacks (`(?i)`, `[[:alpha:]]`, `\\z`) or what would
compile into too much memory is left out and told, never guessed at.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jsonschema_rs

SIZE = 1 << 20
"""Bytes that one pattern may compile into."""
MAX_LENGTH = 4096
"""Characters of one pattern."""


def options() -> jsonschema_rs.RegexOptions:
    """The engine that takes time linear in the text, within bounds of memory."""
    import jsonschema_rs  # half of what it takes to start; most sources hold no CRD

    return jsonschema_rs.RegexOptions(size_limit=SIZE, dfa_size_limit=SIZE)


@lru_cache(maxsize=1024)
def is_checked(pattern: str) -> bool:
    """Whether the pattern means to our engine what it means to Kubernetes, and is of bounded size."""
    import jsonschema_rs

    if len(pattern) > MAX_LENGTH:
        return False
    try:
        jsonschema_rs.Draft4Validator({"pattern": pattern}, pattern_options=options(), offline=True)
    except ValueError:
        return False
    return True
