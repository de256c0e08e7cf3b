"""
Many edits of one document: as few readings as their order asks for.

An edit is proved by reading what it made, and a document of a hundred kinds of pods may take two hundred edits. Read once for each it would take
the square of its length. So edits that are apart from each other are written into one text, which is read once: those
whose places do not lie in one another, where the document has them, and those that add keys of their own to one mapping, which stand there one
behind the other. Edits that build on others, such as the second label of a pod that had none, come in the next round.

What `_one_by_one` makes of the same edits is the law, refusals and their words too. So whatever is not as plain as values that are set and keys that are
added is left to it, and so is all that a text of several edits does not prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gitplacer.documents import edit as single
from gitplacer.documents.edit import Sheet, read
from gitplacer.documents.parse import MAX_BYTES
from gitplacer.documents.patch import Edit, EditError, applied

_MOST_READ = MAX_BYTES
"""Characters that are read again for all edits of one document: as many as the largest file has."""

ReadBack = Callable[[str, bool], Sheet | None]
"""A text as it reads; whether it is edited again, and so needs its marks."""
Region = tuple[str, ...]


def splice(text: bytes, edits: Sequence[Edit]) -> bytes:
    """The text of one document with the edits made, one after another. Raises EditError."""
    sheet = read(text.decode(errors="replace"))
    if sheet is None or sheet.whole.encode() != text:
        raise EditError("the document cannot be read", ())
    bom = sheet.bom
    together = at_once(sheet, edits, lambda after, marks: read(bom + after, marks=marks), readings(len(sheet.text)))
    return (together or _one_by_one(sheet, edits)).whole.encode()


def _one_by_one(sheet: Sheet, edits: Sequence[Edit]) -> Sheet:
    length, characters = len(sheet.whole.encode()), 0
    for number, edit in enumerate(edits, 1):
        characters += len(sheet.text)
        if characters > most_read(len(sheet.text)):
            raise EditError(f"a document of {length:,} bytes is too long for {len(edits):,} edits", edit.path)
        bom, last = sheet.bom, number == len(edits)
        sheet = single.edited(sheet, edit, lambda after: read(bom + after, marks=not last))  # noqa: B023 - called before the next
    return sheet


def most_read(length: int) -> int:
    """How many characters may be read for the edits of a document that has so many."""
    return max(_MOST_READ, length)


def readings(length: int) -> int:
    """How often a document of so many characters may be read for its edits."""
    return most_read(length) // max(length, 1)


def at_once(sheet: Sheet, edits: Sequence[Edit], read_back: ReadBack, most: int) -> Sheet | None:
    """
    The sheet after some edits, read back no more than `most` times; None where they have to be made one by one. Raises Elsewhere of a section.
    """
    if len(edits) < 2 or "\r\n" in sheet.text:
        return None
    try:
        wanted = _all_applied(sheet, edits)
        rounds, alone, rest = 0, 0, list(edits)
        while rest:
            now, rest = _apart(sheet, rest)
            rounds += 1
            alone += len(now) == len(now[0]) == 1
            if rounds > most or alone == rounds == 2:  # the first may have made what all others come into
                return None
            after = _round(sheet, now, lambda text: read_back(text, bool(rest)))  # noqa: B023 - called before the next
            if after is None:
                return None
            sheet = after
    except (EditError, _Intricate):
        return None
    return sheet if single.canonical(sheet.value) == single.canonical(wanted) else None


class _Intricate(Exception):
    """More than a value that is set or a key that is added."""


def _all_applied(sheet: Sheet, edits: Sequence[Edit]) -> object:
    value = sheet.value
    for edit in edits:
        value = applied(value, edit)
    return value


def _apart(sheet: Sheet, edits: Sequence[Edit]) -> tuple[list[list[Edit]], list[Edit]]:
    """
    The edits whose places lie in none of those before them, nor around them, with those that add a key beside theirs; and the others. Raises
    _Intricate.
    """
    before, put_off = _Places(), _Places()
    now: dict[Region, dict[str, Edit]] = {}
    later: list[Edit] = []
    for edit in edits:
        place = _place(sheet, edit)
        key = _key_added(sheet, edit)
        beside = now.get(place)
        if before.are_apart_from(place):
            now[place] = {key: edit}
        elif key and beside and all(beside) and key not in beside and put_off.are_apart_from(place):
            beside[key] = edit
        else:
            later.append(edit)
            put_off.add(place)
        before.add(place)
    return [list(those.values()) for those in now.values()], later


class _Places:
    """Some places, and whether another lies in none of them, nor around one."""

    def __init__(self) -> None:
        self._places: set[Region] = set()
        self._above: set[Region] = set()

    def add(self, place: Region) -> None:
        self._places.add(place)
        self._above.update(_over(place))

    def are_apart_from(self, place: Region) -> bool:
        return place not in self._above and not any(each in self._places for each in _over(place))


def _key_added(sheet: Sheet, edit: Edit) -> str:
    """The key that comes into a mapping which has one, if another may be written behind it as if it were alone; otherwise none."""
    nodes = single.deepest(sheet.root, edit.path)
    depth = len(nodes) - 1
    if depth == len(edit.path) or nodes[-1].alias or all(pair.merged for pair in (nodes[-1].pairs or {}).values()):
        return ""
    is_collection = depth + 1 < len(edit.path) or isinstance(edit.value, (dict, list))
    return "" if sheet.json and is_collection else str(edit.path[depth])


def _over(place: Region) -> Iterator[Region]:
    """A place, and those that it lies in."""
    return (place[:depth] for depth in range(len(place) + 1))


def _place(sheet: Sheet, edit: Edit) -> Region:
    """What an edit writes into: the value that is there, or what the new one comes into."""
    nodes = single.deepest(sheet.root, edit.path)
    depth = len(nodes) - 1
    is_there = depth == len(edit.path)
    at = nodes[-1]
    listed = at.items is not None if not is_there else depth > 0 and nodes[-2].items is not None
    if edit.op == "remove" or not depth or (is_there and (at.items is not None or at.pairs is not None)):
        raise _Intricate()
    if listed and edit.op == "add" and (is_there or depth == len(edit.path) - 1):
        raise _Intricate()  # what comes into a list moves what follows
    return tuple(map(str, edit.path[:depth]))


def _round(sheet: Sheet, edits: Sequence[Sequence[Edit]], read_back: Callable[[str], Sheet | None]) -> Sheet | None:
    """The sheet after edits that are apart, those of one place together, read back once; None if what they make in one text does not read as that."""
    wanted = _all_applied(sheet, [edit for those in edits for edit in those])
    changes: list[tuple[int, int, str]] = []
    for those in edits:
        text = single.first_way(sheet, those, wanted)
        if text is None:
            return None
        if text != sheet.text:
            changes.append(_change(sheet.text, text))
    changes.sort()
    pieces, done = [], 0
    for number, (start, end, piece) in enumerate(changes):
        if number and start <= done:
            return None  # they touch each other
        pieces += [sheet.text[done:start], piece]
        done = end
    after = read_back("".join(pieces) + sheet.text[done:])
    if after is None or after.json < sheet.json or single.canonical(after.value) != single.canonical(wanted):
        return None
    return after


def _change(before: str, after: str) -> tuple[int, int, str]:
    """What makes one text of another: from where to where it is replaced, and by what."""
    start = _most(min(len(before), len(after)), lambda n: before.startswith(after[:n]))
    left = min(len(before), len(after)) - start
    same = _most(left, lambda n: before.endswith(after[len(after) - n :]))
    return start, len(before) - same, after[start : len(after) - same]


def _most(bound: int, holds: Callable[[int], bool]) -> int:
    """The largest number up to a bound for which something holds that holds for all smaller ones."""
    low, high = 0, bound
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
