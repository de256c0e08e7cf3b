"""
Which patterns of paths, or of names, have a text in common.

Two Tenants may not write the same path, nor use the same namespace, whatever patterns these are given by. Mostly a folder's name tells two patterns
apart; where none does both are followed at once. And of very many patterns few have to be asked for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from msgspec import Struct

from gitplacer import pathglob

_PLACES = 4
"""So many folders from either end are looked at."""
_EACH = 4
"""So many others to ask for each pattern are few."""


def overlap(one: str, other: str) -> bool:
    """
    Whether there is a path that both patterns match, upper and lower case taken for the same. Mostly a folder's name that both have tells
    that there is none.
    """
    one, other = one.casefold(), other.casefold()
    return not _are_apart(_folders(one), _folders(other)) and _share_a_path(one, other)


def likely_overlaps(patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """
    By their places, the lesser first, any two patterns that may overlap, and few others: what both are known to begin with, or to have for some
    folder's name, tells nearly all apart, where that is another for each. It is asked of what tells the most.
    """
    folded = [pattern.casefold() for pattern in patterns]
    best = _Alike(map(pathglob.beginning, folded))
    for side, place, way in itertools.product((0, 1), range(_PLACES), (_Name.forwards, _Name.backwards)):
        if best.pairs <= _EACH * len(folded):
            break
        names = (_folders(pattern)[side][place : place + 1] for pattern in folded)
        best = min(best, _Alike("".join(map(way, name)) for name in names), key=lambda alike: alike.pairs)
    for at, text in enumerate(best.texts):
        for other in best.beginning_like(text):
            if other != at:
                yield min(at, other), max(at, other)


class _Alike:
    """Texts of which some may be the beginnings of others."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)
        self._places: dict[str, list[int]] = {}
        for place, text in enumerate(self.texts):
            self._places.setdefault(text, []).append(place)
        self._lengths = sorted({*map(len, self._places)})
        beginnings = (self._places.get(text[:length]) for text in self.texts for length in self._up_to(text))
        self.pairs = sum(map(len, filter(None, beginnings)))

    def beginning_like(self, text: str) -> Iterator[int]:
        """The places of those that a text begins with."""
        for length in self._up_to(text):
            yield from self._places.get(text[:length], ())

    def _up_to(self, text: str) -> Iterable[int]:
        return takewhile(len(text).__ge__, self._lengths)


class _Name(Struct, frozen=True):
    """A folder's name in a pattern, or a file's: what it begins and ends with, and whether that is all of it."""

    start: str
    end: str
    is_plain: bool

    @staticmethod
    def of(text: str) -> _Name:
        first, *rest = re.split(r"[*?{}]", text)
        return _Name(first, rest[-1] if rest else first, not rest)

    def differs(self, other: _Name) -> bool:
        """Whether no name is like both."""
        if self.is_plain and other.is_plain:
            return self.start != other.start
        starts = self.start.startswith(other.start) or other.start.startswith(self.start)
        return not (starts and (self.end.endswith(other.end) or other.end.endswith(self.end)))

    def forwards(self) -> str:
        """Two names differ if neither of these begins as the other does."""
        return self.start + "/" * self.is_plain

    def backwards(self) -> str:
        """The same, of what they end with."""
        return self.end[::-1] + "/" * self.is_plain


@lru_cache(maxsize=pathglob.KEPT)
def _folders(pattern: str) -> tuple[tuple[_Name, ...], tuple[_Name, ...]]:
    """
    The names that whatever a pattern matches has from its first folder on, and from its last name back: as far as no `**` crosses folders, and no
    brackets may hold a slash.
    """
    names = pattern.split("/")
    first, last = (list(takewhile(_is_within_a_folder, some)) for some in (names, names[::-1]))
    before = names[: len(names) - len(last)]
    while before and before[-1] == "**":
        before.pop()
    if before and not _is_within_a_folder(before[-1]):
        last = last[:-1]  # `a**/b` matches `ab` too
    return tuple(map(_Name.of, first)), tuple(map(_Name.of, last))


def _is_within_a_folder(name: str) -> bool:
    return "**" not in name and "[" not in name


def _are_apart(some: tuple[tuple[_Name, ...], ...], others: tuple[tuple[_Name, ...], ...]) -> bool:
    """Whether a name that both patterns have in the same place tells that no path matches both."""
    return any(
        one.differs(other)
        for mine, theirs in zip(some, others, strict=True)
        for one, other in zip(mine, theirs, strict=False)
    )


@lru_cache(maxsize=4096)
def _share_a_path(one: str, other: str) -> bool:
    """
    The same, decided and not guessed: both are followed at once, character by character, over all states that the two can be in together.
    """
    first, second = _machine(one), _machine(other)
    letters = {*one, *other, "/", _ELSE}
    waiting = [(0, 0)]
    seen = set(waiting)
    while waiting:
        here, there = waiting.pop()
        if here == len(first) and there == len(second):
            return True
        steps = [(left, there) for left in _skipped(first, here)] + [(here, right) for right in _skipped(second, there)]
        steps += [
            (left, right)
            for letter in letters
            for left in _taken(first, here, letter)
            for right in _taken(second, there, letter)
        ]
        for step in steps:
            if step not in seen:
                seen.add(step)
                waiting.append(step)
    return False


_ELSE = "\ufffe"
"""Stands for all letters that no pattern names."""
_FOLDER = "[^/]"

_Machine = tuple[tuple[str, str], ...]
"""Atoms, one after another: what a letter has to match, and whether the atom is taken once, any number of times, or (`folders`) as
whole folders with their slash."""


@lru_cache(maxsize=1024)
def _machine(pattern: str) -> _Machine:
    atoms: list[tuple[str, str]] = []
    for part in pathglob.PARTS.split(pattern):
        if part == "**/":
            atoms += [(_FOLDER, "folders"), (_FOLDER, "within")]
        elif part == "**":
            atoms.append((".", "many"))
        elif part == "*":
            atoms.append((_FOLDER, "many"))
        elif part == "?":
            atoms.append((_FOLDER, "once"))
        elif wanted := pathglob.one_of(part):
            atoms.append((wanted, "once"))
        elif pathglob.NAME.fullmatch(part):
            atoms += [(_FOLDER, "once"), (_FOLDER, "many")]
        else:
            atoms += [(re.escape(letter), "once") for letter in part]
    return tuple(atoms)


def _skipped(machine: _Machine, at: int) -> Iterable[int]:
    """The states that are reached without a letter."""
    how = machine[at][1] if at < len(machine) else ""
    return {"many": (at + 1,), "folders": (at + 2,)}.get(how, ())


def _taken(machine: _Machine, at: int, letter: str) -> Iterable[int]:
    """The states that are reached by a letter."""
    if at == len(machine):
        return ()
    wanted, how = machine[at]
    if how == "within" and letter == "/":
        return (at - 1,)
    if re.fullmatch(wanted, letter, re.DOTALL) is None:
        return ()
    return (at + 1,) if how in ("once", "folders") else (at,)
