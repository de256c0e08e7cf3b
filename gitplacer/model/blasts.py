"""What an edit of policies and clusters touches, as data."""

from __future__ import annotations

from msgspec import Struct

from gitplacer.model.fates import Fate
from gitplacer.problems import Problem


class Touched(Struct, frozen=True, kw_only=True):
    """
    One group that an edit touches. `policy` governs it with the edit and `governed` did without; `gains` and `loses` are clusters
    that it may be on since, and not any more; `rules`: its policy says something else otherwise. `fate` is what a pass would do
    with it, None where it stays as it is, and may only be treated otherwise later; `why` says it in words.
    `held`: True where it comes to be held, False where it is held no longer.
    """

    group: str
    policy: str
    governed: str
    gains: tuple[str, ...] = ()
    loses: tuple[str, ...] = ()
    rules: bool = False
    fate: Fate | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    why: str = ""
    held: bool | None = None


class Blast(Struct, frozen=True, kw_only=True):
    """
    The groups that an edit touches, by id, of `total`; `places` says where each policy stands, `file:line:column`, and `edited` which
    files of the edit were looked at, `problems` the errors that there are not without it.
    """

    touched: tuple[Touched, ...]
    total: int
    places: dict[str, str]
    edited: tuple[str, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def moves(self) -> int:
        """How many groups a pass would treat otherwise."""
        return sum(item.fate is not None or item.held is not None for item in self.touched)
