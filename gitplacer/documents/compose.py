"""
YAML text into plain values, and into marks where somebody asks for them.

libyaml hands us events; we compose them ourselves, with a stack of our own instead of recursion, and check every
budget on the way: a hostile file costs what its bytes cost, never more. (PyYAML's own composer recurses, so
deep nesting crashes the process, and it expands aliases without a limit.)

A flaw inside a document does not stop the composer: the document is dropped, its other flaws are found too, and the
documents after it are read. What the scanner cannot read, and what breaks a budget, ends the file.
Indexes count characters of the text.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import yaml
from msgspec import Struct, field
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from gitplacer.documents import syntax
from gitplacer.documents.scalars import LEADS, NotJSON, is_time, is_word, resolve, shared
from gitplacer.documents.syntax import MAX_DEPTH, Flaw, position

try:
    from yaml._yaml import CParser
except ImportError:  # PyYAML without libyaml
    CParser = None  # type: ignore[assignment,misc]

MAX_ALIASES = 1000
"""Aliases in one document."""
MAX_ALIASED_NODES = 200_000
"""Values that the aliases of one document stand for, counted as if written out: a bomb of 271 bytes writes 10^9."""
_FEW_VALUES, _OWN_PART = 1000, 50
"""
Values from which on one in so many, aliases themselves included, has to stand in the document itself and not be there by an alias. Kubernetes' reader refuses what has
less than one in a hundred, where an alias in what another one stands for counts as well (go.yaml.in/yaml/v2 decode.go, allowedAliasRatio), and with it Argo CD the whole directory.
"""
MAX_DOCUMENTS = 1000
"""Documents in one file; of a `kind: List`, each item is one."""
MAX_FLAWS = 100
"""Flaws of one file that are told; beyond, its reading ends."""
MAX_SCALAR = 1 << 20
"""Characters in one scalar. An object in etcd holds 1.5 MiB at most."""

_CORE = "tag:yaml.org,2002:"
_MERGE_TAG = _CORE + "merge"
_NOT_A_KEY, _REFUSED, _MERGE = object(), object(), object()


class Node(Struct):
    """
    Where a value stands: `start` (its anchor and tag included) to `end`, which for a block collection is the end
    of its last value. `pairs` are a mapping's, `items` a list's; both are None for a scalar.
    `alias`: written as `*name`, so what is below stands elsewhere.
    """

    start: int
    end: int
    value: Any
    flow: bool = False
    pairs: dict[str, Pair] | None = None
    items: list[Node] | None = None
    alias: bool = False
    anchor: str = ""


class Pair(Struct):
    """An entry of a mapping; `merged`: it came by `<<` and stands elsewhere."""

    key: Node
    value: Node
    merged: bool = False


class Composed(Struct):
    """
    One document: its value, where its own text starts and ends, and its marks when they were asked for. `keys`: where each key of a
    root mapping in block style stands; empty where there is none, or where one part may refer to another, by anchors or a merge key.
    `nulls`: whether there may be a null in it. `twofold`: whether there may be a scalar in it that readers take for different things.
    """

    value: Any
    start: int
    end: int
    root_at: int
    root: Node | None
    sound: bool
    keys: tuple[int, ...] = ()
    nulls: bool = True
    twofold: bool = True


class Overwritten(Struct, frozen=True):
    """An entry from its key to where the next one starts, and where its key is set again."""

    key: str
    start: int
    end: int
    again: int


class _Anchored(Struct):
    """
    What an alias refers to; `size` counts its values as if written out, -1 while it is still open; `depth` its collections
    inside each other.
    """

    size: int = -1
    depth: int = 0
    value: Any = None
    node: Node | None = None


class _Frame(Struct):
    """
    A collection that is being read. `seen` (None for a list): where each key was first written. `depth` counts the collections
    inside each other that it has come to, itself included.
    """

    value: Any
    start: int
    flow: bool
    seen: dict[object, int] | None
    anchored: _Anchored | None
    before: int
    node: Node | None
    depth: int = 1
    key: object = _NOT_A_KEY
    key_node: Node | None = None
    merges: list[tuple[int, Any, Node | None]] = field(default_factory=list)


class _Stop(Exception):
    """The file cannot be read on."""


class _PureParser(Reader, Scanner, Parser):
    """PyYAML's own scanner and parser, where libyaml is missing."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


def compose(text: str, *, marks: bool = False, most: int = sys.maxsize) -> tuple[list[Composed], list[Flaw]]:
    """
    Every document that is not empty, and every flaw in the order found; `most` values are read, those that aliases stand for
    counted too. Never raises.
    """
    composer = _Composer(text, marks, most)
    try:
        composer.run()
    except _Stop:
        pass
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # the last two from PyYAML's own scanner
        composer.flaws.append(syntax.explained(error, text))
    return composer.documents, composer.flaws


def overwritten(text: str) -> list[Overwritten]:
    """Every entry of a mapping whose key is set again below it, in the order in which that is found. Never raises."""
    composer = _Composer(text, False, sys.maxsize)
    found: list[Overwritten] = []
    composer.overwritten = found
    with contextlib.suppress(_Stop, yaml.YAMLError, ValueError, OverflowError):
        composer.run()
    return found


def _events(text: str) -> Iterator[Any]:
    parser = _PureParser(text) if CParser is None else CParser(text)
    while True:
        event = parser.get_event()
        if type(event) is StreamEndEvent:
            return
        yield event


class _Composer:
    def __init__(self, text: str, marks: bool, most: int) -> None:
        self.text = text
        self.marks = marks
        self.most = self.left = most
        self.documents: list[Composed] = []
        self.flaws: list[Flaw] = []
        self.overwritten: list[Overwritten] | None = None
        self.separated = 0
        self.start = 0
        self.clean = 0
        self.reset()

    def reset(self) -> None:
        self.stack: list[_Frame] = []
        self.frame: _Frame | None = None
        self.anchors: dict[str, _Anchored] = {}
        self.count = self.aliases = self.aliased = 0
        self.root: Any = None
        self.root_node: Node | None = None
        self.root_at = 0
        self.root_keys: dict[object, int] = {}
        self.nulls = False
        self.twofold = False

    def flaw(self, at: int, code: str, message: str, hint: str = "") -> None:
        self.flaws.append(Flaw(at, code, message, hint))
        if len(self.flaws) > MAX_FLAWS:
            raise _Stop()

    def stop(self, at: int, code: str, message: str, hint: str = "") -> _Stop:
        self.flaw(at, code, message, hint)
        return _Stop()

    def run(self) -> None:
        marks = self.marks
        for event in _events(self.text):
            kind = type(event)
            if kind is ScalarEvent:
                start = event.start_mark.index
                value, merge = self.scalar(event, start)
                node = None
                if marks:
                    node = Node(start, self.scalar_end(event), value, anchor=event.anchor or "")
                self.count += 1
                if event.anchor is not None:
                    self.anchors[event.anchor] = _Anchored(1, 0, value, node)
                self.attach(value, node, start, merge)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self.open(event, kind is MappingStartEvent)
            elif kind is AliasEvent:
                self.alias(event)
            elif kind is DocumentStartEvent:
                self.open_document(event)
            elif kind is DocumentEndEvent:
                self.close_document(event)
            elif kind is not StreamStartEvent:
                self.close(event)
            if self.count > self.left:
                at, message = event.start_mark.index, f"more than {self.most:,} values in one file"
                raise self.stop(at, "TooLarge", message, "split the file")

    # Documents

    def open_document(self, event: Any) -> None:
        self.reset()
        self.clean = len(self.flaws)
        self.separated += 1
        if self.separated > MAX_DOCUMENTS:
            raise self.stop(
                event.start_mark.index,
                "TooManyDocuments",
                f"more than {MAX_DOCUMENTS} documents in one file",
                "split the file",
            )
        at = event.start_mark.index
        if event.tags:
            message = "a %TAG directive gives tags a meaning of its own"
            self.flaw(at, "CustomTag", message, "remove the directive and the tags")
        elif event.version is not None:
            # They part documents at `---`, so it is a document by itself, and none that can be read.
            self.flaw(at, "InvalidYAML", "a %YAML directive, for which Kubernetes refuses the file", "remove the line")
        elif event.explicit and self.text[at - 1 : at] not in ("", "\n"):
            message = "Kubernetes does not see this ---, and reads nothing from here on"
            self.flaw(at, "InvalidYAML", message, "end the line before it with a line feed")
        if event.explicit:
            self.start = self.after_marker(event.end_mark.index)

    def close_document(self, event: Any) -> None:
        end = event.start_mark.index
        self.left -= self.count
        self.count = 0
        if self.root is not None or len(self.flaws) > self.clean:
            sound = len(self.flaws) == self.clean
            keys = () if self.anchors or self.aliases or _MERGE in self.root_keys else tuple(self.root_keys.values())
            self.documents.append(
                Composed(
                    self.root, self.start, end, self.root_at, self.root_node, sound, keys, self.nulls, self.twofold
                )
            )
        self.start = self.after_marker(event.end_mark.index) if event.explicit else end

    def after_marker(self, at: int) -> int:
        """Where the text after `---` or `...` begins: on the next line when nothing else is on this one."""
        text = self.text
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        if text.startswith("\r\n", at):
            return at + 2
        return at + 1 if text[at : at + 1] in ("\n", "\r") else at

    # Scalars and aliases

    def scalar(self, event: Any, start: int) -> tuple[Any, bool]:
        """The value, and whether it merges: a plain `<<`, or one with the tag of that, as yq writes it."""
        text: str = event.value
        if len(text) > MAX_SCALAR:
            raise self.stop(
                start,
                "TooLarge",
                f"a value of {len(text)} characters; at most {MAX_SCALAR} are read",
                "keep large data outside the manifest",
            )
        tag: str | None = event.tag
        if tag is None:
            if not event.implicit[0]:
                return shared(text), False
            if not text or text[0] in LEADS:
                try:
                    value = resolve(text)
                    self.nulls = self.nulls or value is None
                    if type(value) is bool or text[4:5] == "-":
                        self.twofold = self.twofold or is_word(text) or is_time(text)
                    return shared(text) if value is text else value, False
                except NotJSON as error:
                    self.flaw(start, "NotJSON", str(error), "put it in quotes if it is meant as text")
                    return None, False
            return shared(text), text == "<<"
        if tag == _MERGE_TAG and text == "<<":
            return shared(text), True
        return self.tagged(tag, text, start), False

    def tagged(self, tag: str, text: str, start: int) -> Any:
        name = tag.removeprefix(_CORE)
        if name == "str":
            return text
        self.nulls = self.twofold = True
        if name not in _KINDS_OF_TAG:
            self.custom_tag(tag, start)
            return None
        try:
            value = resolve(text)
        except NotJSON as error:
            self.flaw(start, "NotJSON", str(error), "put it in quotes if it is meant as text")
            return None
        if type(value) not in _KINDS_OF_TAG[name]:
            self.flaw(start, "CustomTag", f"the text is not what its tag !!{name} says", "remove the tag")
        return value

    def custom_tag(self, tag: str, start: int) -> None:
        # Not quoted unless YAML itself knows it: it may be a password that begins with `!`.
        shown = f"the tag !!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else "this tag"
        hint = "write the value itself, without the tag; text that begins with ! needs quotes"
        self.flaw(start, "CustomTag", f"{shown} means nothing to Kubernetes", hint)

    def scalar_end(self, event: Any) -> int:
        """The end of a scalar's text. Of a block scalar: of its last line, without the line break."""
        start, end = event.start_mark.index, event.end_mark.index
        if event.style not in ("|", ">"):
            return int(end)
        text = self.text
        header = text[start:end].partition("\n")[0].partition("#")[0]
        if "+" in header:  # blank lines at its end are its own
            end -= text[start:end].endswith("\n")
            return int(end) - text[start:end].endswith("\r")
        last = start + len(text[start:end].rstrip())
        line_end = text.find("\n", last, end)
        line_end = end if line_end < 0 else line_end
        return int(line_end) - text[start:line_end].endswith("\r")

    def alias(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        anchored = self.anchors.get(event.anchor)
        if anchored is None or anchored.size < 0:
            code = "UndefinedAlias" if anchored is None else "RecursiveAlias"
            # What refers to nothing is not quoted: it may be a password that begins with `*`.
            nothing, inside = (
                "this alias refers to nothing before it",
                f"the alias *{event.anchor} is inside what it refers to",
            )
            hint = "write the value out here; text that begins with * needs quotes"
            self.flaw(start, code, nothing if anchored is None else inside, hint)
            anchored = _Anchored(1)
        self.aliases += 1
        self.count += anchored.size
        self.aliased += anchored.size
        if self.aliases > MAX_ALIASES or self.aliased > MAX_ALIASED_NODES:
            raise self.stop(
                start,
                "TooManyAliases",
                "the aliases of this document stand for too many values",
                f"at most {MAX_ALIASES} aliases for {MAX_ALIASED_NODES} values; write the values out",
            )
        own = self.count - self.aliased + self.aliases
        if self.count > _FEW_VALUES and own * _OWN_PART < self.count + self.aliases:
            what = f"of {self.count:,} values up to here {self.aliased:,} are there by aliases; Kubernetes refuses that"
            raise self.stop(start, "TooManyAliases", what, "write the values out")
        self.bound_depth(start, anchored.depth)
        if self.frame is not None:
            self.frame.depth = max(self.frame.depth, 1 + anchored.depth)
        node = None
        if self.marks:
            target = anchored.node or Node(start, end, None)
            node = Node(start, end, anchored.value, target.flow, target.pairs, target.items, alias=True)
        self.attach(anchored.value, node, start, False)

    # Collections

    def open(self, event: Any, mapping: bool) -> None:
        start = event.start_mark.index
        self.bound_depth(start, 1)
        if event.tag not in (None, "!", _CORE + ("map" if mapping else "seq")):
            self.custom_tag(event.tag, start)
        anchored = None
        if event.anchor is not None:
            anchored = self.anchors[event.anchor] = _Anchored()
        value: Any = {} if mapping else []
        node = None
        if self.marks:
            node = Node(start, start, value, bool(event.flow_style), anchor=event.anchor or "")
            if mapping:
                node.pairs = {}
            else:
                node.items = []
        self.frame = _Frame(value, start, bool(event.flow_style), {} if mapping else None, anchored, self.count, node)
        self.stack.append(self.frame)
        self.count += 1

    def bound_depth(self, at: int, more: int) -> None:
        """Whether so many collections inside each other may follow here. What is merged is counted where its alias stands."""
        if len(self.stack) + more > MAX_DEPTH:
            raise self.stop(*syntax.too_deep(at))

    def close(self, event: Any) -> None:
        frame = self.stack.pop()
        self.frame = self.stack[-1] if self.stack else None
        for at, source, node in frame.merges:
            self.merge(frame, at, source, node)
        if frame.node is not None and frame.flow:
            frame.node.end = event.end_mark.index
        if self.frame is not None:
            self.frame.depth = max(self.frame.depth, 1 + frame.depth)
        elif frame.seen and not frame.flow:
            self.root_keys = frame.seen
        if frame.anchored is not None:
            frame.anchored.value, frame.anchored.node = frame.value, frame.node
            frame.anchored.size, frame.anchored.depth = self.count - frame.before, frame.depth
        self.attach(frame.value, frame.node, frame.start, False)

    def attach(self, value: Any, node: Node | None, start: int, merge: bool) -> None:
        """Put a finished value where it belongs: the document, a list, a mapping's next key or the value of its key."""
        frame = self.frame
        if frame is None:
            self.root, self.root_node, self.root_at = value, node, start
            return
        if node is not None and frame.node is not None and not frame.flow:
            frame.node.end = node.end
        if frame.seen is None:
            frame.value.append(value)
            if node is not None and frame.node is not None and frame.node.items is not None:
                frame.node.items.append(node)
            return
        key = frame.key
        if key is _NOT_A_KEY:
            frame.key = self.key(frame, value, start, merge)
            frame.key_node = node
            return
        frame.key = _NOT_A_KEY
        if type(key) is str:
            frame.value[key] = value
            if node is not None and frame.node is not None and frame.node.pairs is not None and frame.key_node:
                frame.node.pairs[key] = Pair(frame.key_node, node)
        elif key is _MERGE:
            frame.merges.append((start, value, node))

    def key(self, frame: _Frame, value: Any, start: int, merge: bool) -> object:
        """What to file the next value under: the key, or a mark when it is `<<` or refused."""
        seen = frame.seen
        assert seen is not None
        if type(value) is not str:
            self.non_string_key(value, start)
            return _REFUSED
        key = _MERGE if merge else value
        if key in seen:
            line = position(self.text, seen[key])[0]
            self.flaw(
                start, "DuplicateKey", f'the key "{value[:100]}" is already set on line {line}', "remove one of the two"
            )
            if self.overwritten is None or merge:
                return _REFUSED
            first = seen.pop(key)
            end = min((at for at in seen.values() if at > first), default=start)
            self.overwritten.append(Overwritten(value, first, end, start))
        seen[key] = start
        return key

    def non_string_key(self, value: Any, start: int) -> None:
        if isinstance(value, dict) and self.text[start - 1 : start + 1] == "{{":
            self.flaw(*syntax.template(start - 1))
        elif isinstance(value, (dict, list)):
            self.flaw(start, "NonStringKey", "a mapping or a list as a key", "is a quote or a colon missing?")
        else:
            shown = json.dumps(value)
            self.flaw(start, "NonStringKey", f"this key is not text, it reads as {shown}", "put the key in quotes")

    def merge(self, frame: _Frame, at: int, source: Any, node: Node | None) -> None:
        """Take over the entries of `<<: source`. The mapping's own keys win; of several sources, the first."""
        sources = source if isinstance(source, list) else [source]
        nodes = (node.items if node.items is not None else [node]) if node is not None else [None] * len(sources)
        for entries, entries_node in zip(sources, nodes, strict=True):
            if not isinstance(entries, dict):
                self.flaw(at, "InvalidMerge", "<< takes a mapping, or a list of mappings", "write `<<: *name`")
                return
            for key, value in entries.items():
                first = frame.seen.get(key) if frame.seen is not None else None
                if first is not None and first < at and frame.value[key] != value:
                    # YAML says the own key wins, Kubernetes' reader lets the later one win
                    self.flaw(
                        first,
                        "DuplicateKey",
                        f'the key "{key}" stands before the << that sets it too',
                        "move << to the top of the mapping; readers disagree on which wins",
                    )
                if key in frame.value:
                    continue
                frame.value[key] = value
                if entries_node is not None and entries_node.pairs is not None and frame.node is not None:
                    pair = entries_node.pairs[key]
                    assert frame.node.pairs is not None
                    frame.node.pairs[key] = Pair(pair.key, pair.value, merged=True)


_KINDS_OF_TAG: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}
