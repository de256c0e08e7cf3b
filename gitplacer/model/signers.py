"""Commits of the source that do not count, because no key that the Fleet lists has signed them or what came with them."""

from __future__ import annotations

import enum

from msgspec import Struct


class Flaw(enum.StrEnum):
    """What is wrong with the signature of a commit that nobody who is listed has signed."""

    UNSIGNED = "Unsigned"
    OTHER_KEY = "OtherKey"  # a key that is not listed, or that has expired or was revoked
    DAMAGED = "Damaged"  # a signature of something else, several, or none that can be read


class Uncounted(Struct, frozen=True, kw_only=True):
    """
    The first commit of the source that does not count, by its id; none after it does. `author` is what it says of who made it, and
    `brought_by` the merge that it came with, '' for none. `counts` is the newest commit that does count, '' where there is none.
    """

    commit: str
    author: str
    flaw: Flaw
    brought_by: str = ""
    counts: str = ""
