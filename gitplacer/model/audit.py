"""What is said of a deployment commit after it was computed again: an answer, and for a commit that is not proved, why."""

from __future__ import annotations

import enum

from msgspec import Struct


class Answer(enum.StrEnum):
    """Mild to severe."""

    VERIFIED = "Verified"  # computed again from its trailers, byte for byte
    FOREIGN = "Foreign"  # no pass says that it made it
    OTHER_VERSION = "OtherVersion"  # another version made it, and this one computes something else
    INPUT_MISSING = "InputMissing"  # it cannot be computed here, because a repo lacks something
    DIFFERS = "Differs"  # a pass is said to have made it, and did not make this


class Mismatch(enum.StrEnum):
    """In what a commit is not what its trailers say."""

    TRAILER = "Trailer"  # no pass writes such a trailer
    PARENT = "Parent"  # it is not the step that it says, on top of the base that it says
    DATE = "Date"  # made at another time than it says
    FUTURE = "Future"  # made in the future
    BY_HAND = "ByHand"  # what others did before it is told otherwise than the history has it
    REFUSED = "Refused"  # the source that it names is refused, so no pass was made of it
    STEPS = "Steps"  # the pass has another number of steps
    MESSAGE = "Message"
    FILE = "File"
    NOT_PROPOSED = "NotProposed"  # the pass proposes no such move
    SOURCE_GONE = "SourceGone"
    CAPACITY_GONE = "CapacityGone"
    BASE_GONE = "BaseGone"
    OBJECT_GONE = "ObjectGone"


MISSING = frozenset((Mismatch.SOURCE_GONE, Mismatch.CAPACITY_GONE, Mismatch.BASE_GONE, Mismatch.OBJECT_GONE))
"""What cannot be judged for lack of an object."""
COMPUTED = frozenset(
    (
        Mismatch.BY_HAND, Mismatch.REFUSED, Mismatch.STEPS, Mismatch.MESSAGE, Mismatch.FILE, Mismatch.NOT_PROPOSED,
    )
)  # fmt: skip
"""What another version may have computed otherwise."""


class Discrepancy(Struct, frozen=True, kw_only=True):
    """
    One thing in which a commit is not what it says. `where` is a path, the key of a trailer or the id of what is missing; `expected`
    and `found` are short values; `excerpt` are lines of a diff from what is right to what is there; `hint` is what git command brings
    what is missing.
    """

    mismatch: Mismatch
    where: str = ""
    expected: str = ""
    found: str = ""
    excerpt: tuple[str, ...] = ()
    hint: str = ""


class Checked(Struct, frozen=True, kw_only=True):
    """
    A commit and what was found of it. `version` and `step` are what it says of itself, and `source`, `capacity` and `base` the ids of
    what it says it was made from. `consent` is the group of the proposal that it
    lets in, `reverts` the commit of ours that a foreign one says it reverts, and `landed` who brought a pass to the branch later than
    it was made, by a merge or a rebase. `squashed`: nothing says that a pass made it, and it looks like one, or a proposal, whose
    commits somebody made into one.
    """

    commit: str
    subject: str
    author: str
    date: str
    answer: Answer
    version: str = ""
    step: str = ""
    source: str = ""
    capacity: str = ""
    base: str = ""
    consent: str = ""
    reverts: str = ""
    landed: str = ""
    squashed: bool = False
    discrepancy: Discrepancy | None = None
