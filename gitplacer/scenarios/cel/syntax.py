"""
The text of an expression as a tree, with bounds on both.

The parser's tree has a level for each rank of operators, most of them with nothing to say; they are left out, which makes
evaluation faster and explanations possible. A text is looked at before the parser sees it, because a string without an end can
keep its lexer busy for ever.
"""

from __future__ import annotations

from typing import TypeGuard

from celpy.celparser import CELParseError, CELParser
from lark import Token, Tree

MAX_LEVELS = 60
"""How deep an expression may nest: far deeper than anybody reads, and shallow enough for Python's stack."""

Node = Tree[Token]

_RANKS = frozenset(
    {"expr", "conditionalor", "conditionaland", "relation", "addition", "multiplication", "unary", "member"}
)


class Mistake(Exception):
    """What is wrong with an expression, at a line and column of its text, both from 1."""

    def __init__(self, message: str, hint: str = "", line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message, self.hint, self.line, self.column = message, hint, line, column


def mistake(node: Node | Token, message: str, hint: str = "") -> Mistake:
    """A mistake where a node begins."""
    line, column = position(node)
    return Mistake(message, hint, line, column)


def position(node: Node | Token) -> tuple[int, int]:
    where = node if isinstance(node, Token) else node.meta
    return getattr(where, "line", None) or 1, getattr(where, "column", None) or 1


def is_tree(node: object) -> TypeGuard[Node]:
    return isinstance(node, Tree)


def parsed(text: str) -> Node:
    """The tree of an expression. Raises Mistake."""
    _check_strings(text)
    try:
        tree = CELParser().parse(text)
    except CELParseError as error:
        raise _unexpected(text, error) from None
    return _squeezed(tree, 0)


def words(node: Node, text: str) -> str:
    """What stands in the text where a node does, on one line."""
    return " ".join(text[node.meta.start_pos : node.meta.end_pos].split())


def _squeezed(node: Node, level: int) -> Node:
    if level > MAX_LEVELS:
        raise mistake(node, f"nests more than {MAX_LEVELS} levels deep", "make several expressions of it")
    while node.data in _RANKS and len(node.children) == 1 and is_tree(node.children[0]):
        node = node.children[0]
    children = [_squeezed(child, level + 1) if is_tree(child) else child for child in node.children]
    return Tree(node.data, children, node.meta)


def _unexpected(text: str, error: CELParseError) -> Mistake:
    line, column = error.line or 0, error.column or 0
    lines = text.split("\n")
    token = getattr(error.__context__, "token", None)
    ended = isinstance(token, Token) and token.type == "$END"
    if not ended and 0 < line <= len(lines) and 0 < column <= len(lines[line - 1]):
        return Mistake(f'is not CEL: "{lines[line - 1][column - 1]}" is not expected here', "", line, column)
    return Mistake("is not CEL: it ends too early", "", len(lines), len(lines[-1]) + 1)


def _check_strings(text: str) -> None:
    """Refuse a string without an end."""
    at = 0
    while at < len(text):
        if text.startswith("//", at):
            at = _line_end(text, at)
        elif text[at] in "\"'":
            at = _string_end(text, at)
        else:
            at += 1


def _string_end(text: str, start: int) -> int:
    quote = text[start] * 3 if text.startswith(text[start] * 3, start) else text[start]
    raw = start > 0 and text[start - 1] in "rR"
    at = start + len(quote)
    while at < len(text) and not text.startswith(quote, at):
        if len(quote) == 1 and text[at] == "\n":
            break
        at += 2 if text[at] == "\\" and not raw else 1
    if not text.startswith(quote, at):
        before = text[:start]
        line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
        raise Mistake("is not CEL: the string that begins here does not end", "", line, column)
    return at + len(quote)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
