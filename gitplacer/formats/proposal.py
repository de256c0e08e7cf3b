"""
What a pull request with a whole pass says: its title, its description, and the check that tells whether it is still what a pass
would do.

The description ends with the trailers of the pass. A host that squashes takes the description for the message of its commit, and by
these lines the next pass knows it again.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from gitplacer.explain import PlanView
from gitplacer.formats.markdown import plan_markdown
from gitplacer.formats.options import Options
from gitplacer.plaintext import few, printable

_LONGEST_TITLE = 200
_FIRST = (
    "This pull request is kept up to date by gitplacer. Merging it does what it shows; closing it leaves it alone until "
    "something else is to be done. Commits of others on its branch would stop the updates."
)
_TOO_LARGE = "The plan is too large to be shown here: `gitplacer plan` shows it."


class Moved(enum.StrEnum):
    """Why a proposed pass is no longer what a pass would do."""

    SOURCE = "Source"
    DEPLOYMENT = "Deployment"
    CAPACITY = "Capacity"
    TIME = "Time"
    VERSION = "Version"
    SIGNATURE = "Signature"
    DONE = "Done"


_WORDS = {
    Moved.SOURCE: "the source has moved on",
    Moved.DEPLOYMENT: "the deployment branch has moved on",
    Moved.CAPACITY: "the capacity has changed, and with it what would be done",
    Moved.TIME: "time has passed, and something else would be done now",
    Moved.VERSION: "it was made by another version of gitplacer",
    Moved.SIGNATURE: "it is not signed, and commits are signed now",
    Moved.DONE: "there is nothing to do any more",
}


def moved_text(moved: Moved) -> str:
    """The reason as a clause."""
    return _WORDS[moved]


def standing_text(source: str) -> str:
    """For the check of a proposed pass that stands."""
    return f"up to date: what a pass for {source[:12]} would do"


def outdated_text(moved: Moved) -> str:
    """For the check of one that does not."""
    return f"out of date: {moved_text(moved)}; the next pass renews it"


def failed_text(problems: int) -> str:
    """For the check of one that cannot be computed again."""
    return f"cannot be computed again: the source has {problems} {'problem' if problems == 1 else 'problems'}"


def proposal_title(messages: Sequence[str]) -> str:
    """One line about all commits of a pass."""
    subjects = [printable(message.partition("\n")[0]) for message in messages]
    return printable(few(subjects, 2), _LONGEST_TITLE)


def trailers_in(message: str) -> str:
    """The last paragraph of a commit's message."""
    return message.strip().rpartition("\n\n")[2]


def proposal_body(view: PlanView, trailers: str, longest: int) -> str:
    """The description, in at most `longest` characters. `trailers` are those of the last commit."""
    plan = plan_markdown(view, Options())
    for middle in (plan, _TOO_LARGE):
        body = f"{_FIRST}\n\n{middle.strip()}\n\n{trailers}\n"
        if len(body) <= longest:
            return body
    return f"{_FIRST}\n\n{_TOO_LARGE}\n"
