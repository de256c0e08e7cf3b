"""What an edit of policies and clusters touches, as data."""

from __future__ import annotations

from dataclasses import dataclass

from gitplacer.model.fates import Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """
    One group that an edit touches. `policy` governs it with the edit and `governed` did without; `gains` and `loses` are clusters
    that it may be on since, and not any more; `rules`: its policy says something else otherwise. `fate` is what a pass would do
    with it, None where it stays as it is, and may only be treated otherwise later; `why` says it in words.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Blast:
    """
    The groups that an edit touches, by id, of `total`; `places` says where each policy stands, `file:line:column`, and `edited` which
    files of the edit were looked at.
    """

    touched: tuple[Touched, ...]
    total: int
    places: dict[str, str]
    edited: tuple[str, ...]

    @property
    def moves(self) -> int:
        """How many groups a pass would do something with."""
        return sum(item.fate is not None for item in self.touched)
