"""
What is asked of a host of repositories, whichever it is.

GitHub calls them pull requests and GitLab merge requests; here they are pulls. A pull, a comment and a status are values: what
the host said when it was asked. Everything that people write on a host (titles, branches, bodies) is in them as it came, and
is only ever compared or shown, never run.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from gitplacer.git.program import GitError

LONGEST_DESCRIPTION = 140
"""Characters of a status: GitHub takes so many, GitLab more."""


class State(enum.StrEnum):
    """How a check stands."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class Pull(Struct, frozen=True, kw_only=True):
    """
    A pull or merge request. `head_repo` is the repository that its branch is in, None where that is gone; `commit` is the commit on the
    base branch that merged it, where the host tells one.
    """

    number: int
    url: str
    title: str
    body: str
    is_open: bool
    is_merged: bool
    head_sha: str
    head_branch: str
    head_repo: str | None
    base_branch: str
    commit: str | None = None


class Comment(Struct, frozen=True, kw_only=True):
    """A comment on a pull; `is_ours` if the user whose token we have wrote it. Raises TypeError for what is none."""

    id: int
    body: str
    is_ours: bool
    url: str

    def __post_init__(self) -> None:
        if not (isinstance(self.id, int) and isinstance(self.body, str)):
            raise TypeError("no comment")


class Status(Struct, frozen=True, kw_only=True):
    """What is said of a commit in one context. The last one said is what counts."""

    context: str
    state: State
    description: str
    url: str = ""


class HostError(GitError):
    """
    The host did not do what we asked. `status` is its HTTP status, 0 where it did not answer; `may_have_happened` where a request
    that writes may have been carried out although no answer came.
    """

    kind = "HostFailed"

    def __init__(self, message: str, hint: str = "", *, status: int = 0, may_have_happened: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.may_have_happened = may_have_happened


@contextlib.contextmanager
def but_for(*statuses: int) -> Iterator[None]:
    """Take an answer of these for none: what is gone need not be taken away."""
    try:
        yield
    except HostError as error:
        if error.status not in statuses:
            raise


class Host(Protocol):
    """
    One repository on a host. Each function raises HostError. Lists are in the order of making, pulls newest first, and read page by page.
    """

    @property
    def name(self) -> str:
        """A key of HOSTS."""
        ...

    @property
    def repo(self) -> str:
        """The repository as the host calls it: `owner/name`, `group/subgroup/name`."""
        ...

    @property
    def longest_body(self) -> int:
        """Characters that a comment or a description may have."""
        ...

    def close(self) -> None:
        """End the connections."""
        ...

    def pull(self, number: int) -> Pull: ...

    def open_pulls(self) -> Iterator[Pull]: ...

    def pulls_from(self, branch: str, base: str) -> Iterator[Pull]:
        """Pulls of a branch of this very repository, whatever became of them."""
        ...

    def pulls_with(self, commit: str) -> Sequence[Pull]:
        """Pulls that brought a commit, or would bring it."""
        ...

    def open_pull(self, branch: str, base: str, title: str, body: str) -> Pull: ...

    def edit_pull(self, number: int, title: str, body: str) -> Pull: ...

    def close_pull(self, number: int) -> None: ...

    def comments(self, number: int) -> Sequence[Comment]: ...

    def add_comment(self, number: int, body: str) -> Comment: ...

    def edit_comment(self, number: int, comment: int, body: str) -> None: ...

    def delete_comment(self, number: int, comment: int) -> None:
        """It is no error if it is gone already."""
        ...

    def status(self, commit: str, context: str) -> Status | None: ...

    def set_status(self, commit: str, status: Status) -> None: ...
