"""
What the scanner could not read, said plainly.

libyaml describes its own state ("did not find expected key"). A reader wants to know what is wrong with the text, so
the well-known causes are looked for first (a conflict left by a merge, a template, a tab), then libyaml's words are
rewritten. Lines count line feeds, as editors do.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

MAX_DEPTH = 64
"""Mappings and lists inside each other, those that aliases stand for too. Kubernetes objects stay below 30."""
_CONFLICT = re.compile(r"^<{7}(?: .*)?\r?$", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{|\{%")
_ODD_SPACE = re.compile(r"^ *(?:- +)*(?:[\w./-]+:)?([\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000])", re.MULTILINE)
"""Spaces as web pages and chats have them, before a key or behind its colon: to YAML they are letters."""
_LINE_END = re.compile("\n")
_LINE_OF_DASHES = re.compile("\n---")
_ODD_MARKER = re.compile(r"---(?![ \t]*\r?(?:\n|\Z)|[ \t]+#)")
"""
What begins a line and parts documents to Kubernetes, whose readers look at lines before they look at YAML, and not, or not there, to YAML: `---#a: {b: c}` is a
key. Argo CD, Flux and kubectl take it for a comment behind a marker, and what is below for an object of its own.
"""
_MOST_OF_A_KEY = 1024
"""Characters of a key that YAML tells from its colon. Of a longer one libyaml says only that the colon is in the wrong place."""
_BEFORE_A_KEY = re.compile(r" *(?:- +)*")

_PLAIN: tuple[tuple[str, str, str], ...] = (
    (
        "mapping values are not allowed",
        "a colon where no key can be",
        "check the indentation, and put text that contains `: ` in quotes",
    ),
    ("sequence entries are not allowed", "a list item where none can be", "put the first `-` on a line of its own"),
    ("did not find expected '-' indicator", "this line fits no list item above it", "check the indentation"),
    ("expected <block end>, but found", "this line does not fit the indentation above it", "check the indentation"),
    (
        "did not find expected key",
        "this line does not fit the indentation above it",
        "check the indentation, and quotes and brackets before it",
    ),
    ("expected ',' or ']'", "a list in [ ] that is not closed, or lacks a comma", "close it with ]"),
    ("expected ',' or '}'", "a mapping in { } that is not closed, or lacks a comma", "close it with }"),
    ("could not find expected ':'", "this is no `key: value`", "check for a missing colon or a missing quote"),
    ("unknown escape", "an unknown escape in double quotes", "write a backslash as \\\\, or use single quotes"),
    ("escape code", "an escape that stands for no character", "write the character itself"),
    ("quoted scalar", "a quoted text that is not closed", "close the quote"),
    ("document indicator", "a quote or bracket is still open where the document ends", "close it"),
    ("expected <document start>", "text after the end of the document", "put `---` between documents"),
    (
        "unknown directive name",
        "a line that begins with % and is no directive of YAML",
        "remove it, or put it in quotes",
    ),
    ("incompatible YAML document", "a version of YAML that is not read", "remove the line"),
    ("duplicate %YAML directive", "the version of YAML twice", "remove one of the two lines"),
    ("undefined tag handle", "an unknown tag", "write the value itself, without the tag"),
    ("expected the node content", "a value is missing here, or starts with a reserved character", "put it in quotes"),
    ("did not find expected node content", "a value is missing here", "write the value, or close the bracket"),
)
_UNCLOSED = ("unexpected end of stream", "expected ',' or", "document indicator", "could not find expected ':'")
"""Problems that are noticed far from where they are: point at what was opened."""


class Flaw(NamedTuple):
    """Something wrong in a text, at a character index."""

    at: int
    code: str
    message: str
    hint: str = ""


def position(text: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of a character index."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def line_starts(text: str) -> list[int]:
    """The index of the first character of each line."""
    return [0, *(match.end() for match in _LINE_END.finditer(text))]


def conflicts(text: str, limit: int) -> list[Flaw]:
    """Each conflict a merge left behind, up to the limit."""
    if "<<<<<<<" not in text:
        return []
    return [
        Flaw(
            match.start(),
            "ConflictMarkers",
            "a merge conflict that was not resolved",
            "keep one side and delete the lines <<<<<<<, ======= and >>>>>>>",
        )
        for match in islice(_CONFLICT.finditer(text), limit)
    ]


def odd_markers(text: str, limit: int) -> list[Flaw]:
    """Each line, up to the limit, that begins with `---` and has more than a comment behind it: Kubernetes' readers refuse it, or part documents there."""
    starts = [0] if text.startswith("---") else []
    starts += (found.start() + 1 for found in _LINE_OF_DASHES.finditer(text))
    odd = (at for at in starts if _ODD_MARKER.match(text, at))
    return [
        Flaw(
            at,
            "InvalidYAML",
            "Kubernetes takes a line that begins with --- for one that parts documents, and this is none",
            "write nothing but a comment behind ---, on the next line what follows; indent a text that begins with ---",
        )
        for at in islice(odd, limit)
    ]


def template(at: int) -> Flaw:
    """A template where YAML was expected."""
    return Flaw(
        at,
        "UnrenderedTemplate",
        "this is a template, not YAML",
        "render it first (helm template, kustomize build …), or put the value in quotes if it is meant as text",
    )


def too_deep(at: int) -> Flaw:
    """More collections inside each other than may be."""
    return Flaw(at, "TooDeep", f"nested deeper than {MAX_DEPTH} levels", "no Kubernetes object is")


def explained(error: Exception, text: str) -> Flaw:
    """A scanner's or parser's error as a flaw."""
    found = _explained(error, text)
    if found.code == "InvalidYAML" and (odd := _ODD_SPACE.search(text, 0, _line(text, found.at)[1])):
        line = position(text, odd.start(1))[0]
        said = f"line {line} has U+{ord(odd[1]):04X}, a space that is none to YAML; write a plain space"
        return found._replace(hint=said)
    return found


def _explained(error: Exception, text: str) -> Flaw:
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    context = str(getattr(error, "context", None) or "")
    at, opened = _index(error, "problem_mark", text), _index(error, "context_mark", text)
    if at is None:
        at = opened if opened is not None else 0
    lines = {_line(text, at), _line(text, opened if opened is not None else at)}
    for start, end in sorted(lines):
        if found := _TEMPLATE.search(text, start, end):
            return template(found.start())
    start, end = _line(text, at)
    indent = text[start:end][: len(text[start:end]) - len(text[start:end].lstrip())]
    if "\t" in indent or text[at : at + 1] == "\t":
        tab = start + indent.index("\t") if "\t" in indent else at
        return Flaw(tab, "TabIndentation", "a tab where YAML wants spaces", "indent with spaces")
    if "nesting depth" in problem:  # libyaml has a bound of its own, and may scan brackets far ahead of us
        return too_deep(at)
    if (key := _long_key(text, at, in_flow="expected ',' or" in problem)) is not None:
        hint = "shorten it, or write `? key` on one line and `: value` on the next"
        what = f"a key of {at - key:,} characters, more than the {_MOST_OF_A_KEY:,} that YAML allows before a colon"
        return Flaw(key, "InvalidYAML", what, hint)
    if "cannot start any token" in problem:
        return Flaw(at, "InvalidYAML", f"a value cannot start with {text[at : at + 1]}", "put it in quotes")
    for words, message, hint in _PLAIN:
        if words in problem or words in context:
            unclosed = any(cause in problem for cause in _UNCLOSED)
            return Flaw(opened if unclosed and opened is not None else at, "InvalidYAML", message, hint)
    return Flaw(at, "InvalidYAML", f"this is not YAML: {problem}", "check indentation, quotes and brackets near here")


def _long_key(text: str, at: int, *, in_flow: bool) -> int | None:
    """Where the key starts whose colon an error is at, if it is too long for one. `in_flow`: in { } or [ ]."""
    if text[at : at + 1] != ":":
        return None
    start = _line(text, at)[0]
    head = text[start:at].rstrip()
    if head.endswith(("'", '"')):
        first = head.rfind(head[-1], 0, -1)
    elif in_flow:
        first = max(map(head.rfind, "{[,")) + 1
        first += len(head) - first - len(head[first:].lstrip())
    else:
        before = _BEFORE_A_KEY.match(head)
        first = before.end() if before else 0
    is_value = head[:first].rstrip().endswith(":") or ": " in head[first:]
    return start + first if at - start - first > _MOST_OF_A_KEY and not is_value else None


def _index(error: Exception, name: str, text: str) -> int | None:
    mark = getattr(error, name, None)
    return None if mark is None else min(int(mark.index), len(text))


def _line(text: str, at: int) -> tuple[int, int]:
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return start, len(text) if end < 0 else end
