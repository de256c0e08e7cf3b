"""
What a text surely has that a pattern matches: how it begins, how it ends, what stands in between.

A fleet may have a pattern for each team or each app, and nearly all of them are about other texts than a given one. So each is looked up by the one
of its parts that the fewest others have, and only those are tried of which the text has that part. Who has none, such as `[ab]*`, is always tried.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Generic, Literal, NamedTuple, TypeVar

_Value = TypeVar("_Value")
_IN_NAMES = re.compile(r"[*?]")
_IN_PATHS = re.compile(r"\*\*/?|\*|\?|\{[a-z]+\}")


class Part(NamedTuple):
    """Letters, and where a text has them; `is`: they are all of it."""

    where: Literal["is", "begins", "holds", "ends"]
    letters: str


def of_name(pattern: str) -> list[Part]:
    """What every name has that `pathglob.name_matches_any` finds to match a pattern, the longest first."""
    return _parts(pattern, _IN_NAMES)


def of_path(pattern: str) -> list[Part]:
    """What every path has that `pathglob.matches` finds to match a pattern, the longest first."""
    return _parts(pattern, _IN_PATHS)


def _parts(pattern: str, wildcards: re.Pattern[str]) -> list[Part]:
    # Brackets may hold anything, also what looks like a wildcard, and may be none: between the first and the last nothing is said.
    first = re.search(r"\[", pattern)
    if first is None:
        begins, *between = wildcards.split(pattern)
        if not between:
            return [Part("is", begins)]
    else:
        begins, *between = wildcards.split(pattern[: first.start()])
        between += wildcards.split(re.split(r"[\[\]]", pattern)[-1])
    *within, ends = between
    found = [Part("begins", begins), *(Part("holds", letters) for letters in within), Part("ends", ends)]
    return sorted((part for part in found if part.letters), key=lambda part: -len(part.letters))


class KnownParts:
    """Some parts, to find those that a text has."""

    def __init__(self, parts: Iterable[Part]) -> None:
        by_place: dict[str, set[str]] = {"is": set(), "begins": set(), "holds": set(), "ends": set()}
        for where, letters in parts:
            by_place[where].add(letters)
        self._wholes, *others = by_place.values()
        self._beginnings, self._within, self._ends = ((some, sorted({*map(len, some)})) for some in others)

    def of(self, text: str) -> Iterator[Part]:
        """Those that a text has, each once."""
        size = len(text)
        if text in self._wholes:
            yield Part("is", text)
        some, lengths = self._beginnings
        for length in lengths:
            if length <= size and (letters := text[:length]) in some:
                yield Part("begins", letters)
        some, lengths = self._ends
        for length in lengths:
            if length <= size and (letters := text[size - length :]) in some:
                yield Part("ends", letters)
        some, lengths = self._within
        for length in lengths:
            yield from (Part("holds", each) for each in some.intersection(_stretches(text, length)))


def _stretches(text: str, length: int) -> Iterator[str]:
    """All that stands together in a text and is so long."""
    return (text[at : at + length] for at in range(len(text) - length + 1))


class Likely(Generic[_Value]):
    """Values by the parts of patterns, to find those whose pattern may match a text without trying every pattern."""

    def __init__(self, patterns: Iterable[tuple[list[Part], _Value]]) -> None:
        all_of_them = list(patterns)
        shared = Counter(part for parts, _ in all_of_them for part in parts)
        self._by_part: dict[Part, list[_Value]] = defaultdict(list)
        self._always: list[_Value] = []
        for parts, value in all_of_them:
            part = min(parts, key=shared.__getitem__, default=None)
            (self._always if part is None else self._by_part[part]).append(value)
        self._known = KnownParts(self._by_part)

    def of(self, text: str) -> Iterator[_Value]:
        """The values of patterns that may match a text; others do not."""
        yield from self._always
        for part in self._known.of(text):
            yield from self._by_part[part]
