"""
Unified diffs of texts of any length.

difflib looks through all that lies between two matches for the longest match in there, again and again: of twice the lines it makes
four times the work, and eight times where lines repeat, so that the diff of a large ConfigMap would take hours. Texts of more than some
hundred lines are therefore cut first, at runs of lines that stand once in each of them, in the same order in both. What lies between two
cuts is compared by difflib, as short texts are. A long stretch with no such run in it is told as replaced.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from msgspec import Struct

CLOSELY = 500 * 500
"""Lines times lines that difflib compares: some milliseconds."""
_RUNS = (1, 3, 12)
"""How many lines make a run: more of them where each line is there again."""


class _Stretch(Struct, frozen=True):
    """Lines of the old text, by number, and lines of the new one in their place."""

    old: range
    new: range

    @property
    def is_short(self) -> bool:
        return len(self.old) * len(self.new) <= CLOSELY


def unified(old: Sequence[str], new: Sequence[str], context: int = 3) -> Iterator[str]:
    """The hunks of the unified diff of two texts, line by line; nothing where they are equal. Lines come without what ends them."""
    for hunk in _Matched(old, new).get_grouped_opcodes(context):
        (_, first_old, _, first_new, _), (_, _, last_old, _, last_new) = hunk[0], hunk[-1]
        yield f"@@ -{_span(first_old, last_old)} +{_span(first_new, last_new)} @@"
        for tag, from_old, to_old, from_new, to_new in hunk:
            if tag == "equal":
                yield from (f" {line}" for line in old[from_old:to_old])
            else:
                yield from (f"-{line}" for line in old[from_old:to_old])
                yield from (f"+{line}" for line in new[from_new:to_new])


def _span(start: int, stop: int) -> str:
    """The lines of a hunk, as its head counts them."""
    return f"{start + 1}" if stop - start == 1 else f"{start + (stop > start)},{stop - start}"


class _Matched(difflib.SequenceMatcher[str]):
    """What two texts have in common, found stretch by stretch."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__()
        self.a, self.b = old, new  # not by `set_seqs`, which indexes the whole

    def get_matching_blocks(self) -> list[difflib.Match]:
        found: list[difflib.Match] = []
        for match in _matches(self.a, self.b):
            last = found[-1] if found else difflib.Match(0, 0, 0)
            if (last.a + last.size, last.b + last.size) == (match.a, match.b) and found:
                found[-1] = difflib.Match(last.a, last.b, last.size + match.size)
            else:
                found.append(match)
        return [*found, difflib.Match(len(self.a), len(self.b), 0)]


def _matches(old: Sequence[str], new: Sequence[str]) -> Iterator[difflib.Match]:
    """Equal lines, in order."""
    left = [_Stretch(range(len(old)), range(len(new)))]
    while left:
        stretch = left.pop()
        if stretch.is_short:
            yield from _closely(old, new, stretch)
            continue
        if count := _alike(old, new, stretch, 1):
            yield difflib.Match(stretch.old.start, stretch.new.start, count)
            left.append(_Stretch(stretch.old[count:], stretch.new[count:]))
        elif count := _alike(old, new, stretch, -1):
            left += _parts(stretch, [(stretch.old.stop - count, stretch.new.stop - count)])
        else:
            left += _parts(stretch, _cuts(old, new, stretch))


def _closely(old: Sequence[str], new: Sequence[str], stretch: _Stretch) -> Iterator[difflib.Match]:
    if stretch.old and stretch.new:
        ours, theirs = old[stretch.old.start : stretch.old.stop], new[stretch.new.start : stretch.new.stop]
        for match in difflib.SequenceMatcher(None, ours, theirs).get_matching_blocks()[:-1]:
            yield difflib.Match(stretch.old.start + match.a, stretch.new.start + match.b, match.size)


def _alike(old: Sequence[str], new: Sequence[str], stretch: _Stretch, step: int) -> int:
    """How many lines are alike at the beginning of a stretch, or, with a step of -1, at its end."""
    pairs = enumerate(zip(stretch.old[::step], stretch.new[::step], strict=False))
    shorter = min(len(stretch.old), len(stretch.new))
    return next((count for count, (ours, theirs) in pairs if old[ours] != new[theirs]), shorter)


def _parts(stretch: _Stretch, cuts: Sequence[tuple[int, int]]) -> Iterator[_Stretch]:
    """What a stretch is cut into, the last first: each part but the first begins with a line that is alike. Nothing where there are no cuts."""
    end = stretch.old.stop, stretch.new.stop
    for cut in reversed([(stretch.old.start, stretch.new.start), *cuts] if cuts else []):
        yield _Stretch(range(cut[0], end[0]), range(cut[1], end[1]))
        end = cut


def _cuts(old: Sequence[str], new: Sequence[str], stretch: _Stretch) -> list[tuple[int, int]]:
    """Where runs begin that are there once on both sides, as many as stand in the same order on both."""
    for size in _RUNS:
        ours, theirs = _once(old, stretch.old, size), _once(new, stretch.new, size)
        if found := _rising([(at, theirs[run]) for run, at in ours.items() if run in theirs]):
            return found
    return []


def _once(text: Sequence[str], part: range, size: int) -> dict[tuple[str, ...], int]:
    """The runs of some size that are there once, in order, with where they begin."""
    found: dict[tuple[str, ...], int] = {}
    again = set()
    for at in part[: len(part) - size + 1]:
        run = tuple(text[at : at + size])
        if run in found:
            again.add(run)
        found[run] = at
    return {run: at for run, at in found.items() if run not in again}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """As many of some pairs, which rise by the first number, as rise by the second too."""
    lowest: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, new) in enumerate(pairs):
        rank = bisect_left(lowest, new)
        before.append(ends[rank - 1] if rank else -1)
        lowest[rank : rank + 1], ends[rank : rank + 1] = [new], [number]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
