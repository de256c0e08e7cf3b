"""
Why an expression is false, in the values of its parts.

What a reader wants to see first is for which group or cluster it fails, then what was compared there. So a claim about all
elements names the first that break it, goes into one of them, and at the bottom shows both sides of the comparison.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from celpy import celtypes
from msgspec import Struct

from gitplacer.plaintext import few, printable
from gitplacer.scenarios.cel.checking import Expression, bound
from gitplacer.scenarios.cel.evaluating import Facts, Steps, Value, described, value_of
from gitplacer.scenarios.cel.syntax import Mistake, Node, is_tree, words

_NAMED = 5
"""How many counter-examples are named."""
_DEEP = 8
"""How many levels of comprehensions are gone into."""


def why_false(expression: Expression, facts: Facts) -> tuple[str, ...]:
    """Lines, indented by two for each level."""
    teller = _Teller(expression.text, facts, Steps())
    return tuple(teller.about(expression.tree, {}, False, 0))


class _Teller(Struct, frozen=True):
    text: str
    facts: Facts
    steps: Steps

    def about(self, node: Node, names: Mapping[str, Value], found: bool, level: int) -> Iterator[str]:
        """Why a node is true or false, as it was `found` to be."""
        indent = "  " * level
        child = node.children[0] if node.children else None
        if node.data in ("primary", "paren_expr") and is_tree(child) and _is_wrapping(node, child):
            yield from self.about(child, names, found, level)
        elif node.data in ("conditionaland", "conditionalor"):
            yield from self._deciding(node, names, found, level)
        elif node.data == "unary" and is_tree(node.children[1]):
            yield from self.about(node.children[1], names, not found, level)
        elif node.data == "expr" and len(node.children) == 3:
            condition, one, other = (part for part in node.children if is_tree(part))
            holds = self._value(condition, names)
            yield f"{indent}{self._words(condition)} is {described(holds)}"
            yield from self.about(one if holds else other, names, found, level)
        elif node.data == "relation":
            yield from self._sides(node, names, indent)
        elif node.data == "member_dot_arg" and str(node.children[1]) in ("all", "exists", "exists_one"):
            yield from self._elements(node, names, found, level)
        else:
            yield f"{indent}{self._words(node)} is {'true' if found else 'false'}"

    def _deciding(self, node: Node, names: Mapping[str, Value], found: bool, level: int) -> Iterator[str]:
        """The parts that made it so: the first that decided, or all where all had to agree."""
        decides = node.data == "conditionalor"
        for part in node.children:
            assert is_tree(part)
            value = self._value(part, names)
            if isinstance(value, celtypes.BoolType) and bool(value) == found:
                yield from self.about(part, names, found, level)
                if found == decides:
                    return

    def _sides(self, node: Node, names: Mapping[str, Value], indent: str) -> Iterator[str]:
        operator, right = node.children
        assert is_tree(operator)
        told = False
        for side in (operator.children[0], right):
            if is_tree(side) and not self._is_literal(side):
                told = True
                yield f"{indent}{self._words(side)} is {self._shown(side, names)}"
        if not told:
            yield f"{indent}{self._words(node)}"

    def _elements(self, node: Node, names: Mapping[str, Value], found: bool, level: int) -> Iterator[str]:
        owner, quantifier = node.children[:2]
        assert is_tree(owner)
        indent = "  " * level
        variable, body = bound(node)
        items = list(self._value(owner, names) or ())
        what = self._words(owner)
        telling = str(quantifier) == "all"
        hits = [item for item in items if self._is(body, {**names, variable: item}, found if telling else not found)]
        if telling and not found:
            yield f"{indent}false for {len(hits)} of {len(items)} in {what}: {few([described(i) for i in hits], _NAMED)}"
        elif not items:
            yield f"{indent}{what} is empty"
        elif str(quantifier) == "exists_one":
            true = [item for item in items if self._is(body, {**names, variable: item}, True)]
            some = f": {few([described(item) for item in true], _NAMED)}" if true else ""
            yield f"{indent}true for {len(true)} of {len(items)} in {what}{some}"
            return
        elif not telling and not found:
            yield f"{indent}false for each of {len(items)} in {what}: {few([described(i) for i in items], _NAMED)}"
            hits = items
        else:
            hits = [item for item in items if self._is(body, {**names, variable: item}, True)]
            yield f"{indent}true for {len(hits)} of {len(items)} in {what}: {few([described(i) for i in hits], _NAMED)}"
        if hits and level < _DEEP:
            yield f"{indent}with {variable} = {described(hits[0])}{_planned(hits[0])}"
            yield from self.about(body, {**names, variable: hits[0]}, found, level + 1)

    def _is(self, node: Node, names: Mapping[str, Value], wanted: bool) -> bool:
        value = self._value(node, names)
        return isinstance(value, celtypes.BoolType) and bool(value) == wanted

    def _value(self, node: Node, names: Mapping[str, Value]) -> Value:
        try:
            return value_of(node, self.facts, names, self.steps)
        except Mistake:
            return None

    def _shown(self, node: Node, names: Mapping[str, Value]) -> str:
        try:
            return described(value_of(node, self.facts, names, self.steps))
        except Mistake as error:
            return f"an error: {error.message}"

    def _is_literal(self, node: Node) -> bool:
        child = node.children[0] if node.data == "primary" else None
        return is_tree(child) and child.data in ("literal", "list_lit")

    def _words(self, node: Node) -> str:
        return printable(words(node, self.text), 120)


def _planned(value: Value) -> str:
    """What the plan says of a group."""
    if not isinstance(value, celtypes.MapType) or "action" not in value or "reason" not in value:
        return ""
    return f", {value['action']}: {printable(str(value['reason']['message']), 300)}"


def _is_wrapping(node: Node, child: Node) -> bool:
    """Whether a node is nothing but brackets around another."""
    return node.data == "paren_expr" or child.data == "paren_expr"
