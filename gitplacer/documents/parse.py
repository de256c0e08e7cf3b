"""
A file's bytes into documents: the one way in.

`parse` is pure and never raises: what is wrong with a file is part of its answer, all of it at once, and nothing
in the answer names the file, so it can be kept by blob id. A document with a fault is not in the answer; the others
are. A `kind: List` is its items. Positions are not kept: they are needed when something is wrong, and
then the text is read again.

JSON is YAML, but Kubernetes reads it as JSON, and so do we, at ten times the speed. Whatever json does not like is
read as YAML, which knows where it is.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gitplacer.documents import scalars, syntax
from gitplacer.documents.compose import MAX_DOCUMENTS, MAX_FLAWS, MAX_SCALAR, Composed, Node, compose
from gitplacer.documents.scalars import shared
from gitplacer.documents.syntax import MAX_DEPTH, Flaw, position

Path = tuple[str | int, ...]
"""Keys and list indexes, from a document's root to a value."""

Value = Any
"""Plain JSON-like data: None, bool, int, float, str, list, dict."""

MAX_BYTES = 4 << 20
"""The bytes of a file that is read. Capacity snapshots may be larger; their reader passes its own bound."""
_BYTES_PER_VALUE = 8
"""
How many bytes a value takes at least, in a file of the largest size: in manifests it takes 17, in snapshots 9. What a file costs
goes by its values, so one that is all `[1,1,1` is refused before it is read to its end.
"""

BOM = "\ufeff"
_LFS = "version https://git-lfs.github.com/spec/"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LATE, _MADE = "late", "made_late"
_LONG = 8192
"""Bytes of a pickled value from which on it is packed."""
_PICKLE = b"\x80\x05"
"""How pickles begin; nothing that zlib packs does."""
_PLAIN = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_DISPUTED = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}|\\(?:x|u00|U000000)(?:7[fF]|[89][0-9a-fA-F])|\\(?:u|U0000)[fF]{3}[eEfF]|\\N"
)
"""Escapes of what not every reader takes or can write again: halves of a character, and controls."""
_BRACE = re.compile(r"[ \t\r\n]*\{")
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Fault(Struct, frozen=True, order=True):
    """One thing wrong with a file, always an error. `line` and `column` count from 1, in characters."""

    line: int
    column: int
    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class ParsedDocument:
    """
    A document's value, and the byte offsets of its text in the file: comments before it included, the markers
    `---` and `...` not. `prefix` leads to it inside that text when it is an item of a `kind: List`. `sections`: where the
    entries of the root start, in characters of its text without a byte order mark, if each can be read by itself
    (`documents.sections`). `nulls`: whether there may be a null in the value, at any depth. `twofold`: whether there may be a scalar in
    it that other readers take for something else, or refuse.
    The value is not to be changed.

    A pickle brings back what it says it is, and the value and what was made of it only when somebody asks for that: the values of a thousand
    snapshots are a hundred MiB that nobody looks at again, a plan in part needs the nodes of few of them, and of most manifests a pass needs no more than
    their facts.
    """

    value: dict[str, Any]
    start: int
    end: int
    prefix: Path = ()
    sections: tuple[int, ...] = ()
    nulls: bool = True
    twofold: bool = True

    @cached_property
    def made(self) -> dict[object, Any]:
        """
        What was made of the value, by whoever makes the same of it again. It is known as long as the document is, and goes wherever that
        goes: into the cache what was made of it by whoever parsed it.
        """
        late = self.__dict__.pop(_MADE, None)
        found: dict[object, Any] = pickle.loads(late) if late is not None else {}
        return found

    @cached_property
    def says(self) -> tuple[Any, Any]:
        """The `apiVersion` and `kind` of the value, whatever they are."""
        return self.value.get("apiVersion"), self.value.get("kind")

    @cached_property
    def metadata(self) -> Any:
        """The `metadata` of the value, whatever it is."""
        return self.value.get("metadata")

    @cached_property
    def sops(self) -> Any:
        """The `sops` of the value, whatever it is; None for what SOPS has not encrypted."""
        return self.value.get("sops")

    def __getstate__(self) -> dict[str, Any]:
        state = {name: kept for name, kept in self.__dict__.items() if name not in ("value", "made")}
        if made := self.__dict__.get("made"):
            state[_MADE] = pickle.dumps(made, protocol=5)
        if _LATE not in state:
            late = _packed(pickle.dumps(self.value, protocol=5))
            state |= {"says": self.says, "metadata": self.metadata, "sops": self.sops, _LATE: late}
        return state

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            late = self.__dict__.pop(_LATE, None) if name == "value" else None
            if late is None:
                raise AttributeError(name)
            value = self.__dict__["value"] = pickle.loads(_unpacked(late))
            return value


def _packed(pickled: bytes) -> bytes:
    """A pickle that hardly anybody will ask for: what is long, and says the same of every node, in a tenth of its bytes."""
    return zlib.compress(pickled, 1) if len(pickled) > _LONG else pickled


def _unpacked(packed: bytes) -> bytes:
    return packed if packed.startswith(_PICKLE) else zlib.decompress(packed)


class ParsedFile(Struct, frozen=True):
    """What a file holds, in the file's order, and what is wrong with it, sorted."""

    documents: tuple[ParsedDocument, ...]
    faults: tuple[Fault, ...]


def parse(data: bytes, *, max_bytes: int = MAX_BYTES) -> ParsedFile:
    """The documents in a file's bytes, and every fault. Pure; never raises."""
    if len(data) > max_bytes:
        return _refused("TooLarge", f"the file has {len(data)} bytes; at most {max_bytes} are read", "split the file")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _undecodable(data, error.start)
    bom = text.startswith(BOM)
    if bom:
        text = text[1:]
    composed, flaws = load(text, most=max_bytes // _BYTES_PER_VALUE)
    documents: list[ParsedDocument] = []
    left = MAX_DOCUMENTS
    disputed = "\\" in text and _DISPUTED.search(text) is not None
    offsets = _byte_offsets(text, composed, 3 if bom else 0)
    for one, (start, end) in zip(composed, offsets, strict=True):
        if not one.sound:
            continue
        found = list(islice(_objects(one.value, ()), left + 1))
        if len(found) > left:
            message = f"more than {MAX_DOCUMENTS} objects in one file"
            flaws.append(Flaw(one.root_at, "TooManyDocuments", message, "split the file"))
            break
        left -= len(found)
        sections = _sections(text, one)
        documents.extend(
            ParsedDocument(v, start, end, prefix, () if prefix else sections, one.nulls, one.twofold or disputed)
            for v, prefix in found
            if isinstance(v, dict)
        )
        flaws.extend(_no_objects(text, one, [prefix for v, prefix in found if not isinstance(v, dict)]))
    if len(flaws) > MAX_FLAWS:
        message = f"more than {MAX_FLAWS} faults; the rest is not listed"
        flaws = [*flaws[:MAX_FLAWS], Flaw(flaws[MAX_FLAWS].at, "TooManyFaults", message, "mend these first")]
    faults = {Fault(*position(text, flaw.at), flaw.code, flaw.message, flaw.hint) for flaw in flaws}
    return ParsedFile(tuple(documents), tuple(sorted(faults)))


def _sections(text: str, document: Composed) -> tuple[int, ...]:
    """Where its sections start, in its own text: at the root's keys, if each begins a line."""
    start = document.start
    if text.startswith(_LFS, start) or any(at and text[at - 1] != "\n" for at in document.keys):
        return ()
    return tuple(at - start for at in document.keys)


def _no_objects(text: str, document: Composed, prefixes: list[Path]) -> list[Flaw]:
    """What stands at these places, the document's root or items of a List, and is no mapping."""
    if not prefixes:
        return []
    root = marked(text[document.start : document.end])
    flaws = []
    for prefix in prefixes[: MAX_FLAWS + 1]:
        what = "this item of the List is not an object" if prefix else "the document is not an object"
        hint = "an object starts with `apiVersion:` and `kind:`"
        if prefix and prefix[-1] == "items":
            what, hint = (
                "the items of this List are not a list",
                "begin each with `- `, or write `items: []` if it has none",
            )
        node, key, found = follow(root, prefix) if root is not None else (None, None, False)
        place = key if key is not None and not found else node
        at = document.start + place.start if place is not None else document.root_at
        flaws.append(Flaw(at, "NotAMapping", what, hint))
    return flaws


def load(text: str, *, marks: bool = False, most: int = sys.maxsize) -> tuple[list[Composed], list[Flaw]]:
    """The documents of a text without a byte order mark, Lists as they are, and every flaw. `most` values are read."""
    forbidden = None if _is_plain(text) else _FORBIDDEN.search(text)
    if forbidden is not None:
        found = forbidden[0]
        what = "a byte order mark inside the file" if found == BOM else f"the control character U+{ord(found):04X}"
        hint = "delete it, or write it as an escape in double quotes"
        return [], [Flaw(forbidden.start(), "InvalidCharacter", what, hint)]
    if text.startswith(_LFS):
        hint = "commit the content itself, or take the path out of .gitattributes"
        return [], [Flaw(0, "LFSPointer", "the file is a pointer of Git LFS; its content is not in the repo", hint)]
    flaws = syntax.conflicts(text, MAX_FLAWS + 1) or syntax.odd_markers(text, MAX_FLAWS + 1)
    if flaws:
        return [], flaws
    value = as_json(text, most)
    if value is None:
        return compose(text, marks=marks, most=most)
    # YAML has no escapes for surrogate pairs; for the marks any two characters written as long will do
    root = _root(compose(_PAIR.sub(r"\\u0020\\u0020", text), marks=True)) if marks else None
    return [Composed(value, 0, len(text), text.index("{"), root, True, nulls="null" in text, twofold=False)], []


def _is_plain(text: str) -> bool:
    """Whether nothing but printable ASCII and breaks of lines is in a text: a quick look, for what is long."""
    return text.isascii() and not text.encode("ascii").translate(None, _PLAIN)


def as_json(text: str, most: int = sys.maxsize) -> dict[str, Any] | None:
    """The value of a JSON object, or None when the text is not JSON, or not JSON that is within all bounds."""
    if not _BRACE.match(text):
        return None
    try:
        value = _JSON.decode(text)
    except (ValueError, RecursionError):
        return None
    long = len(text) > MAX_SCALAR
    return value if isinstance(value, dict) and _within_bounds(value, most, texts=long or "\\u" in text) else None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = {key: shared(item) if type(item) is str else item for key, item in pairs}
    if len(value) != len(pairs):
        raise ValueError("a key is set twice")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(name)


_JSON = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=scalars.integer, parse_float=scalars.real
)


def _is_fit(value: Any) -> bool:
    """Whether a text is not too long, and has no half of a surrogate pair, which cannot be written again."""
    return not isinstance(value, str) or (len(value) <= MAX_SCALAR and LONE_SURROGATE.search(value) is None)


def _within_bounds(root: Any, most: int, *, texts: bool) -> bool:
    """Depth, length and number as in YAML. `texts`: whether any text may be unfit."""
    level: list[Any] = [root]
    nodes = 1
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for container in level:
            nodes += len(container) * (2 if type(container) is dict else 1)
            if texts and not all(map(_is_fit, _contents(container))):
                return False
            values = container.values() if type(container) is dict else container
            below += [value for value in values if type(value) is dict or type(value) is list]
        if nodes > most:
            return False
        if not below:
            return True
        level = below
    return False


def _contents(container: Any) -> Iterator[Any]:
    if isinstance(container, dict):
        yield from container
        yield from container.values()
    else:
        yield from container


def _objects(value: Any, prefix: Path) -> Iterator[tuple[Any, Path]]:
    """The value itself, or the items of a `kind: List`, Lists inside it too."""
    if not isinstance(value, dict) or value.get("kind") != "List" or value.get("apiVersion") != "v1":
        yield value, prefix
        return
    items = value.get("items")
    if not isinstance(items, list):  # nor is it an empty one: what it had would go without a word
        yield None, (*prefix, "items")
        return
    for index, item in enumerate(items):
        yield from _objects(item, (*prefix, "items", index))


def marked(text: str) -> Node | None:
    """The marks of a text that holds one document; None when it holds none, several, or a flaw."""
    return _root(load(text, marks=True))


def _root(loaded: tuple[list[Composed], list[Flaw]]) -> Node | None:
    documents, flaws = loaded
    return documents[0].root if len(documents) == 1 and not flaws else None


def follow(root: Node, path: Path) -> tuple[Node, Node | None, bool]:
    """The node at the path or its nearest ancestor, that node's key if it has one, and whether the path exists."""
    node, key = root, None
    for step in path:
        if node.pairs is not None and str(step) in node.pairs:
            pair = node.pairs[str(step)]
            node, key = pair.value, pair.key
        elif node.items is not None and isinstance(step, int) and 0 <= step < len(node.items):
            node, key = node.items[step], None
        else:
            return node, key, False
    return node, key, True


def _byte_offsets(text: str, composed: list[Composed], bom: int) -> list[tuple[int, int]]:
    """Start and end of each document in bytes of the file; a byte order mark belongs to the first."""
    offsets, at, byte = [], 0, bom
    for one in composed:
        start = byte + _width(text, at, one.start)
        end = start + _width(text, one.start, one.end)
        offsets.append((start if one.start else 0, end))
        at, byte = one.end, end
    return offsets


def _width(text: str, start: int, end: int) -> int:
    return end - start if text.isascii() else len(text[start:end].encode())


def _refused(code: str, message: str, hint: str, line: int = 1, column: int = 1) -> ParsedFile:
    return ParsedFile((), (Fault(line, column, code, message, hint),))


def _undecodable(data: bytes, at: int) -> ParsedFile:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _refused("NotUTF8", "the file is UTF-16", "save it as UTF-8")
    line_start = data.rfind(b"\n", 0, at) + 1
    column = len(data[line_start:at].decode(errors="replace")) + 1
    return _refused(
        "NotUTF8",
        f"the byte 0x{data[at]:02X} is not UTF-8",
        "save the file as UTF-8",
        data.count(b"\n", 0, at) + 1,
        column,
    )
