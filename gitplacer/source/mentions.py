"""
Which texts speak of a name.

A file that cannot be read may hold any object whose name stands in it. Where ten thousand files are broken and ten thousand groups ask,
nobody can look through every file for every group; so each text is taken apart into words once. `mentioned` says the same plainly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from heapq import merge

_WORD = re.compile(rb"[\w.-]+")


def mentioned(texts: Mapping[str, bytes], name: str) -> list[str]:
    """The texts, by their keys, in which a name stands by itself and not as a part of a longer word."""
    found = re.compile(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w.-])")
    return [key for key, text in texts.items() if found.search(text)]


class Mentions:
    """Texts by their words. A name of which some letter belongs to no word is looked for in every text."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = dict(sorted(texts.items()))
        self._by_word: dict[bytes, list[str]] = {}
        for key, text in self._texts.items():
            for word in set(_WORD.findall(text)):
                self._by_word.setdefault(word, []).append(key)

    def of(self, *names: str) -> Iterator[str]:
        """The keys of texts in which one of some names stands, sorted, each once."""
        last = None
        for key in merge(*(self._of(name) for name in names)):
            if key != last:
                yield key
            last = key

    def _of(self, name: str) -> list[str]:
        word = name.encode()
        return self._by_word.get(word, []) if _WORD.fullmatch(word) else mentioned(self._texts, name)
