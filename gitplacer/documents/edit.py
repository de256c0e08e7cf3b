"""
Edits as splices: the manifest that runs is the manifest that was reviewed.

An edit touches the bytes of its own value and no others, so comments, quotes and line ends around it
survive. Every way to write an edit is a guess until it is read back: the new text must read as the old
value with the edit applied (RFC 6902), or the next way is tried, and when none is left the edit is refused. A whole
collection is written anew only where no comment is lost by it.

What is written once and read in two places (anchors, merge keys) cannot be edited in one of them: refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.documents import write
from gitplacer.documents.compose import Node, Pair
from gitplacer.documents.parse import BOM, Path, as_json, load
from gitplacer.documents.patch import APPEND, Edit, EditError, applied, pointer, value_at

_NOTHING = object()
_REST = re.compile(r"(,?)([ \t]*(?:#.*)?)")  # what may follow an entry in brackets on its line


class Elsewhere(Exception):
    """How an edit of a section is written, other sections decide."""


class Sheet(Struct, frozen=True):
    """
    A text with its marks, and how it is written: JSON or YAML, line ends, indents. `marks` are missing where nobody edits it any
    more. `section`: it is one of several that make a document.
    """

    bom: str
    text: str
    marks: Node | None
    value: Any
    json: bool
    line_break: str
    section: bool = False

    @property
    def root(self) -> Node:
        assert self.marks is not None
        return self.marks

    @property
    def whole(self) -> str:
        return self.bom + self.text

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def column(self, at: int) -> int:
        return at - self.line_start(at)

    def line_end(self, at: int) -> int:
        """The end of the line, before its break."""
        end = self.text.find("\n", at)
        if end < 0:
            return len(self.text)
        return end - (end > 0 and self.text[end - 1] == "\r")

    def next_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def leads_line(self, at: int) -> bool:
        """Whether only spaces stand before it on its line."""
        return not self.text[self.line_start(at) : at].strip(" ")

    def indents(self) -> tuple[int, int]:
        """How far a mapping stands from its key, and a list's dash from its key: as the first ones show, or 2 and 0. Raises Elsewhere."""
        if self.section:
            raise Elsewhere()
        indent = offset = -1
        nodes = [self.root]
        for node in nodes:  # grows while it is walked, breadth first
            if indent >= 0 and offset >= 0:
                break
            for pair in _written(node):
                far = self.column(pair.value.start) - self.column(pair.key.start)
                own_line = not node.flow and not pair.value.flow and self.leads_line(pair.value.start)
                if own_line and pair.value.pairs and far > 0 and indent < 0:
                    indent = far
                if own_line and pair.value.items and far >= 0 and offset < 0:
                    offset = far
                nodes.append(pair.value)
            nodes.extend(item for item in node.items or () if not node.alias)
        return (indent if indent > 0 else 2), max(offset, 0)


def read(whole: str, *, marks: bool = True) -> Sheet | None:
    """The sheet of a text that holds one mapping and no flaw."""
    bom = BOM if whole.startswith(BOM) else ""
    text = whole[len(bom) :]
    json = as_json(text) is not None
    marks = marks or json  # what is JSON has to be YAML too
    documents, flaws = load(text, marks=marks)
    if (
        flaws
        or len(documents) != 1
        or not isinstance(documents[0].value, dict)
        or (marks and documents[0].root is None)
    ):
        return None
    return Sheet(bom, text, documents[0].root, documents[0].value, json, line_break(text))


def line_break(text: str) -> str:
    """What ends the lines of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def edited(sheet: Sheet, edit: Edit, read_back: Callable[[str], Sheet | None]) -> Sheet:
    """The sheet after one edit, read back. Raises EditError, and Elsewhere of a section."""
    wanted = applied(sheet.value, edit)
    law = canonical(wanted)
    if law == canonical(sheet.value):
        return sheet
    _refuse_shared(sheet, edit)
    for text in _ways(sheet, edit, wanted):
        after = read_back(text)
        if after is not None and after.json >= sheet.json and canonical(after.value) == law:
            return after
    nodes = deepest(sheet.root, edit.path)
    anchored = _has_anchor(nodes[-1]) or any(node.anchor for node in nodes)
    why = "it is written once and used twice (an anchor)" if anchored else "the way it is written is not understood"
    raise EditError(f"{pointer(edit.path)} cannot be edited in place: {why}", edit.path)


def canonical(value: Any) -> str:
    """The same for values that are the same, whatever the order of their keys."""
    return json.dumps(value, sort_keys=True)


def first_way(sheet: Sheet, edits: Sequence[Edit], wanted: Any) -> str | None:
    """
    The text with the smallest change that may be an edit which sets or adds a value, or the text after several, each of which adds a key of its own
    to the same mapping; `wanted` is the value that comes of them. None if there is no way, or none that is sure. Raises EditError, and Elsewhere of a
    section.
    """
    edit = edits[0]
    now = value_at(sheet.value, edit.path, _NOTHING)
    if now is not _NOTHING and canonical(now) == canonical(edit.value):
        return sheet.text
    for each in edits:
        _refuse_shared(sheet, each)
    return next(_ways(sheet, edit, wanted), None) if len(edits) == 1 else _all_added(sheet, edits, wanted)


def _refuse_shared(sheet: Sheet, edit: Edit) -> None:
    """An alias may be replaced as a whole; what is below it, and what a merge key brought, stands elsewhere."""
    node = sheet.root
    for depth, step in enumerate(edit.path):
        pair = node.pairs.get(str(step)) if node.pairs is not None else None
        if node.alias or (pair is not None and pair.merged):
            through = "an alias" if node.alias else "a merge key"
            message = f"{pointer(edit.path)} is written once and used twice, through {through}; write it out first"
            raise EditError(message, edit.path[: depth + 1])
        below = _child(node, step)
        if below is None:
            return
        node = below


def _child(node: Node, step: str | int) -> Node | None:
    if node.pairs is not None:
        return node.pairs[str(step)].value if str(step) in node.pairs else None
    if node.items is not None and str(step).isdigit() and int(step) < len(node.items):
        return node.items[int(step)]
    return None


def deepest(root: Node, path: Path) -> list[Node]:
    """The nodes along the path, as far as they exist."""
    nodes = [root]
    for step in path:
        below = _child(nodes[-1], step)
        if below is None:
            break
        nodes.append(below)
    return nodes


def _has_anchor(node: Node) -> bool:
    if node.anchor or node.alias:
        return True
    below = [pair.value for pair in (node.pairs or {}).values()] + (node.items or [])
    return any(_has_anchor(one) for one in below)


def _written(node: Node) -> list[Pair]:
    """The entries that stand in this mapping itself."""
    return [] if node.alias else [pair for pair in (node.pairs or {}).values() if not pair.merged]


def _ways(sheet: Sheet, edit: Edit, wanted: Any) -> Iterator[str]:
    """Texts that may be the edited one, the smallest change first."""
    nodes = deepest(sheet.root, edit.path)
    depth = len(nodes) - 1
    if edit.op == "remove":
        yield from _removals(sheet, nodes, edit.path)
    elif depth == len(edit.path) and not (edit.op == "add" and depth and nodes[-2].items is not None):
        yield from _replacements(sheet, nodes, edit.path, _at(wanted, edit.path))
    else:
        container = nodes[min(depth, len(edit.path) - 1)]
        depth = nodes.index(container)
        place = _place(container, edit.path[depth])
        new = _at(wanted, (*edit.path[:depth], place))
        if container.items is not None:
            yield from _insertions(sheet, nodes[: depth + 1], edit.path[:depth], int(place), new)
        elif container.pairs and not container.alias:
            yield from _additions(sheet, container, str(edit.path[depth]), new)
        else:
            yield from _replacements(sheet, nodes[: depth + 1], edit.path[:depth], _at(wanted, edit.path[:depth]))
    for up in range(min(len(nodes), len(edit.path)) - 1, 0, -1):
        node = nodes[up]
        if _has_anchor(node) or "#" in sheet.text[node.start : node.end]:
            return
        yield from _replacements(sheet, nodes[: up + 1], edit.path[:up], _at(wanted, edit.path[:up]))


def _place(container: Node, step: str | int) -> str | int:
    if container.items is None:
        return str(step)
    return len(container.items) if step == APPEND else int(step)


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[str(step)] if isinstance(value, dict) else value[int(step)]
    return value


# Replacing a value where it stands


def _replacements(sheet: Sheet, nodes: list[Node], path: Path, value: Any) -> Iterator[str]:
    node, parent = nodes[-1], nodes[-2] if len(nodes) > 1 else None
    if sheet.json or (parent is not None and parent.flow):
        yield _in_line(sheet, node, _flow(sheet, node, value))
    elif parent is None:
        if not node.flow and value:
            yield _over(sheet, node.start, node.end, write.block(value, *sheet.indents()), sheet.column(node.start))
        yield _in_line(sheet, node, write.flow(value))
    else:
        keeps_brackets = node.flow and bool(node.pairs or node.items) and not node.alias
        if not (keeps_brackets and isinstance(value, (dict, list))):
            if parent.pairs is not None:
                pair = parent.pairs[str(path[-1])]
                yield from (_under_key(sheet, pair, lines) for lines in _entry(sheet, "k", value))
            else:
                yield from (_after_dash(sheet, node, lines) for lines in _item(sheet, value))
        yield _in_line(sheet, node, write.flow(value))


def _entry(sheet: Sheet, key: str, value: Any) -> Iterator[list[str]]:
    """The lines of a block mapping's entry: with the value in block style, then with the value on one line."""
    yield write.block({key: value}, *_indents(sheet, value))
    yield [write.flow({key: value})[1:-1]]


def _item(sheet: Sheet, value: Any) -> Iterator[list[str]]:
    """The lines of a block list's item, likewise."""
    indent, offset = _indents(sheet, value)
    yield write.block([value], indent, 0 if isinstance(value, list) else offset)
    yield ["- " + write.flow(value)]


def _indents(sheet: Sheet, value: Any) -> tuple[int, int]:
    """How far its lines are indented; nobody has to look where it has but one."""
    lines = isinstance(value, (dict, list)) or (isinstance(value, str) and "\n" in value)
    return sheet.indents() if lines else (2, 0)


def _in_line(sheet: Sheet, node: Node, piece: str) -> str:
    before = sheet.text[: node.start]
    gap = "" if before.endswith((" ", "\n", "\t", "[", "{", ",")) or not before else " "
    return before + gap + piece + sheet.text[node.end :]


def _under_key(sheet: Sheet, pair: Pair, entry: list[str]) -> str:
    """A value of a block mapping: a scalar behind the colon, a collection on the lines below; comments stay."""
    text, node = sheet.text, pair.value
    column = sheet.column(pair.key.start)
    header = text.find(":", pair.key.end) + 1
    if not header:  # `? key`, and no value
        if sheet.section:
            raise Elsewhere()
        return text
    first, lines = entry[0].removeprefix("k:"), entry[1:]
    same_line = "\n" not in text[header : node.start]
    old_block = not node.flow and not node.alias and bool(node.pairs or node.items)
    if first and not lines and (same_line or not old_block):
        return _in_line(sheet, node, first.lstrip())
    after = sheet.line_end(node.end)
    below = _indented(sheet, lines, column)
    if same_line:
        return text[:header] + first + text[node.end : after] + below + text[after:]
    if not first and old_block:
        margin = len(lines[0]) - len(lines[0].lstrip(" "))
        old = sheet.column(node.start)
        if old > column or (old == column and lines[0].lstrip().startswith("- ")):
            return _over(sheet, node.start, node.end, [line[margin:] for line in lines], old)
    rest = text[header : sheet.line_end(sheet.line_start(node.start) - 1)]  # comments down to the old value stay
    return text[:header] + first + rest + below + text[after:]


def _after_dash(sheet: Sheet, node: Node, item: list[str]) -> str:
    """An item of a block list: whatever it is, it starts behind the dash."""
    dash = _dash(sheet, node)
    column = sheet.column(node.start) if node.start > dash + 1 else sheet.column(dash) + 2
    gap = " " if node.start == dash + 1 else ""
    piece = _hanging(sheet, [line[2:] for line in item], column)
    return sheet.text[: node.start] + gap + piece + sheet.text[node.end :]


def _over(sheet: Sheet, start: int, end: int, lines: list[str], column: int) -> str:
    return sheet.text[:start] + _hanging(sheet, lines, column) + sheet.text[end:]


def _hanging(sheet: Sheet, lines: list[str], column: int) -> str:
    """The first line goes where the text stands; the others get their own lines from the column on."""
    return lines[0] + _indented(sheet, lines[1:], column)


def _indented(sheet: Sheet, lines: list[str], column: int) -> str:
    return "".join(sheet.line_break + (" " * column + line if line else "") for line in lines)


def _flow(sheet: Sheet, near: Node, value: Any) -> str:
    """A value inside brackets: in JSON laid out like the text around it, in YAML on one line."""
    if not sheet.json:
        return write.flow(value)
    start = sheet.line_start(near.start)
    margin = len(sheet.text[start : near.start]) - len(sheet.text[start : near.start].lstrip(" "))
    lines = write.as_json(value, _json_indent(sheet)).split("\n")
    return _hanging(sheet, lines, margin)


def _json_indent(sheet: Sheet) -> int | None:
    for pair in _written(sheet.root):
        if sheet.leads_line(pair.key.start):
            return sheet.column(pair.key.start) or None
    return None


# Adding an entry or an item


def _additions(sheet: Sheet, node: Node, key: str, value: Any) -> Iterator[str]:
    """A new key: behind the last one, or before the first where the text's end does not allow it."""
    if node.flow:
        yield _in_brackets(sheet, node, [_piece(sheet, node, key, value)])
        return
    first = _first_key(node)
    column = sheet.column(first)
    after = sheet.line_end(node.end)
    for lines in _entry(sheet, key, value):
        yield sheet.text[:after] + _indented(sheet, lines, column) + sheet.text[after:]
        yield sheet.text[:first] + _hanging(sheet, [*lines, ""], column) + " " * column + sheet.text[first:]


def _all_added(sheet: Sheet, edits: Sequence[Edit], wanted: Any) -> str | None:
    """
    New keys of one mapping, each behind the one before. None where one might be written otherwise after those before it: where it is
    not sure that the end of what was added is the end of its last line, or that the text's end allows it.
    """
    nodes = deepest(sheet.root, edits[0].path)
    depth, node = len(nodes) - 1, nodes[-1]
    keys = [str(edit.path[depth]) for edit in edits]
    added = [(key, _at(wanted, (*edits[0].path[:depth], key))) for key in keys]
    if node.flow:
        pieces = [_piece(sheet, node, key, value) for key, value in added]
        return (
            None
            if any("\n" in piece or piece.startswith("?") for piece in pieces)
            else _in_brackets(sheet, node, pieces)
        )
    entries = [next(_entry(sheet, key, value)) for key, value in added]
    after, column = sheet.line_end(node.end), sheet.column(_first_key(node))
    if any(lines[0].startswith("?") or not lines[-1].strip() for lines in entries):
        return None
    if after == len(sheet.text) and any(len(lines) > 1 for lines in entries):
        return None
    return sheet.text[:after] + "".join(_indented(sheet, lines, column) for lines in entries) + sheet.text[after:]


def _first_key(node: Node) -> int:
    return min((pair.key.start for pair in _written(node)), default=node.start)


def _piece(sheet: Sheet, node: Node, key: str, value: Any) -> str:
    """A new key with its value, as it stands inside brackets."""
    if not sheet.json:
        return write.flow({key: value})[1:-1]
    pairs = _written(node)
    return f"{write.as_json(key)}: {_flow(sheet, pairs[-1].key if pairs else node, value)}"


def _in_brackets(sheet: Sheet, node: Node, pieces: Sequence[str]) -> str:
    """Further entries of a mapping in brackets, behind its last one."""
    pairs = _written(node)
    last = max((pair.value.end for pair in pairs), default=max(node.start + 1, node.end - 1))
    return _between(sheet, last, pairs[-1].key if pairs else node, pieces)


def _between(sheet: Sheet, at: int, near: Node, pieces: Sequence[str]) -> str:
    """Further entries inside brackets, on lines of their own where their neighbour has one."""
    text, end = sheet.text, sheet.line_end(at)
    if not sheet.leads_line(near.start) or "\n" not in text:
        return text[:at] + "".join(", " + piece for piece in pieces) + text[at:]
    rest = _REST.fullmatch(text, at, end)
    comma, comment, at = (rest[1], rest[2], end) if rest else ("", "", at)
    gap = sheet.line_break + " " * sheet.column(near.start)
    lines = ",".join(gap + piece for piece in pieces)
    return text[: rest.start() if rest else at] + "," + comment + lines + comma + text[at:]


def _insertions(sheet: Sheet, nodes: list[Node], path: Path, index: int, value: Any) -> Iterator[str]:
    """A new item before the one that has this index now."""
    node = nodes[-1]
    items = node.items or []
    text = sheet.text
    if not items or node.alias:
        yield from _replacements(sheet, nodes, path, [value])
    elif node.flow:
        near = items[min(index, len(items) - 1)]
        piece = _flow(sheet, near, value)
        if index == len(items):
            yield _between(sheet, near.end, near, [piece])
        else:
            gap = sheet.line_break + " " * sheet.column(near.start) if sheet.leads_line(near.start) else " "
            yield text[: near.start] + piece + "," + gap + text[near.start :]
    else:
        for lines in _item(sheet, value):
            if index:
                dash = _dash(sheet, items[index - 1])
                after = sheet.line_end(items[index - 1].end)
                yield text[:after] + _indented(sheet, lines, sheet.column(dash)) + text[after:]
            if index < len(items):
                dash = _dash(sheet, items[index])
                column = sheet.column(dash)
                yield text[:dash] + _hanging(sheet, [*lines, ""], column) + " " * column + text[dash:]


def _dash(sheet: Sheet, item: Node) -> int:
    """Where the dash of a block list's item stands: before it, or on a line above, with comments between."""
    start, end = sheet.line_start(item.start), item.start
    while True:
        line = sheet.text[start:end].partition(" #")[0].rstrip()
        if line.endswith("-"):
            return start + len(line) - 1
        if start == 0:
            if sheet.section:
                raise Elsewhere()
            return item.start
        start, end = sheet.line_start(start - 1), start - 1


# Removing


def _removals(sheet: Sheet, nodes: list[Node], path: Path) -> Iterator[str]:
    parent, node = nodes[-2], nodes[-1]
    if parent.pairs is not None:
        pairs = sorted(_written(parent), key=lambda pair: pair.key.start)
        spans = [(pair.key.start, max(pair.value.end, pair.key.end)) for pair in pairs]
        own = next(i for i, pair in enumerate(pairs) if pair.value is node)
        alone = len(parent.pairs) == 1
    else:
        items = parent.items or []
        spans = [(item.start if parent.flow else _dash(sheet, item), item.end) for item in items]
        own = next(i for i, item in enumerate(items) if item is node)
        alone = len(items) == 1
    empty: Any = {} if parent.pairs is not None else []
    if alone:
        if parent.flow:
            yield sheet.text[: spans[0][0]] + sheet.text[spans[0][1] :]
        yield from _replacements(sheet, nodes[:-1], path[:-1], empty)
    elif parent.flow:
        start, end = spans[own]
        if sheet.leads_line(start) and _REST.fullmatch(sheet.text, end, sheet.line_end(end)):
            yield _without_lines(sheet, start, end)
        yield _without_entry(sheet, spans, own)
    else:
        yield _without_lines(sheet, *spans[own])


def _without_entry(sheet: Sheet, spans: list[tuple[int, int]], own: int) -> str:
    """Without an entry in brackets, and one comma."""
    start, end = spans[own]
    if own + 1 < len(spans):
        return sheet.text[:start] + sheet.text[spans[own + 1][0] :]
    if own:
        start = spans[own - 1][1]
    return sheet.text[:start] + sheet.text[end:]


def _without_lines(sheet: Sheet, start: int, end: int) -> str:
    """Without the lines of an entry. What follows moves up behind the dash or bracket that the entry stood behind."""
    text = sheet.text
    after = sheet.next_line(end)
    if sheet.leads_line(start):
        return text[: sheet.line_start(start)] + text[after:]
    while text[after : after + 1] in (" ", "\r", "\n"):
        after += 1
    return text[:start] + text[after:]
