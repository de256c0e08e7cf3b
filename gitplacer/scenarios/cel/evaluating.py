"""
Expressions evaluated, in counted steps.

The evaluator is cel-python's, with its own few differences from the language put right: equality between types is false and no
error, `has` fails for what it cannot look into, `&&`, `||`, `all` and `exists` stop as soon as they know. Every node that is
visited costs a step and every character or element that is made or compared another, so whatever an expression says it comes to
an end, at the same place on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from celpy import celtypes
from celpy.adapter import json_to_cel
from celpy.evaluation import Activation, CELEvalError, Evaluator
from lark import Token

from gitplacer.model import quantity
from gitplacer.plaintext import printable
from gitplacer.problems import nearest
from gitplacer.scenarios.cel.checking import Expression
from gitplacer.scenarios.cel.syntax import Mistake, Node, is_tree, mistake, position
from gitplacer.scenarios.cel.vocabulary import VARIABLES

STEPS = 1_000_000
"""How many steps one expression may take: some dozens for each of ten thousand groups, and a few seconds."""

REGION = "topology.kubernetes.io/region"

Value = Any


class Steps:
    """Counts them, and ends the evaluation after too many."""

    def __init__(self, limit: int = STEPS) -> None:
        self.left = self.limit = limit

    def take(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise _TooLong(self.limit)


class _TooLong(Exception):
    pass


class Facts:
    """A plan as values of CEL, converted as far as somebody asks. `lost` and `drained` are supposed to be."""

    def __init__(self, plan: Mapping[str, Any], lost: Iterable[str] = (), drained: Iterable[str] = ()) -> None:
        self._plan = {**{name: plan[name] for name in VARIABLES}, "plan": plan}
        self._plan |= {"lost": list(lost), "drained": list(drained)}
        self._values: dict[str, Value] = {}
        self._by_name: dict[str, dict[str, Value]] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            self._values[name] = _value(self._plan[name])
        return self._values[name]

    def named(self, kind: str, name: Value) -> Value:
        """The group or cluster of a name. Raises CELEvalError with the near matches."""
        if kind not in self._by_name:
            self._by_name[kind] = {str(one[kind]): one for one in self["groups" if kind == "group" else "fleet"]}
        found = self._by_name[kind].get(str(name))
        if found is None:
            known = nearest(str(name), self._by_name[kind])
            raise CELEvalError(f'there is no {kind} "{printable(str(name))}"' + (f"; {known}" if known else ""))
        return found


class _Mapping(celtypes.MapType):
    """A JSON object of which each value becomes one of CEL when somebody asks for it: most of a large plan nobody does."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        super().__init__()
        dict.update(self, plain)

    def __getitem__(self, key: Any) -> Value:
        found = dict.__getitem__(self, key)
        if type(found) in _PLAIN:
            found = _value(found)
            dict.__setitem__(self, key, found)
        return found

    def __iter__(self) -> Iterator[Any]:
        for key in dict.__iter__(self):
            yield celtypes.StringType(str(key))

    def get(self, key: Any, default: Any = None) -> Value:
        try:
            return self[key]
        except KeyError:
            return default

    def items(self) -> Any:
        return [(key, self[key]) for key in self]


_PLAIN = (dict, list, str, int, bool, float)


def _value(plain: Any) -> Value:
    """JSON as a value of CEL."""
    if isinstance(plain, dict):
        return _Mapping(plain)
    return celtypes.ListType(map(_value, plain)) if isinstance(plain, list) else json_to_cel(plain)


def holds(expression: Expression, facts: Facts) -> bool:
    """Whether an expression is true of a plan. Raises Mistake where that cannot be said."""
    value = value_of(expression.tree, facts, {}, Steps())
    if not isinstance(value, celtypes.BoolType):
        raise mistake(expression.tree, f"must be true or false, and is {described(value)}", "compare it")
    return bool(value)


def value_of(node: Node, facts: Facts, names: Mapping[str, Value], steps: Steps) -> Value:
    """What a part of an expression is. Raises Mistake."""
    try:
        evaluator = _Bounded(node, _Words(facts, steps), facts, names, steps)
        return evaluator.evaluate()
    except _TooLong as error:
        hint = "it compares too much with too much: filter first, or make several expressions of it"
        raise mistake(node, f"takes more than {error} steps", hint) from None
    except CELEvalError as error:
        line, column = (error.line, error.column) if error.line else position(node)
        raise Mistake(_said(error), "", line or 1, column or 1) from None
    except Exception as error:  # the library lets errors of the libraries below it through
        raise mistake(node, f"cannot be evaluated: {type(error).__name__}: {printable(str(error), 200)}") from None


def described(value: Value) -> str:
    """A value in a few words: a group or cluster by its name, anything else as JSON."""
    if isinstance(value, celtypes.MapType):
        for kind in ("group", "cluster"):
            if kind in value and len(value) > 2:
                return printable(str(value[kind]))
    return printable(_json(value), 100)


def _json(value: Value) -> str:
    match value:
        case None:
            return "null"
        case celtypes.BoolType():
            return "true" if value else "false"
        case str():
            escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case dict():
            return "{" + ", ".join(f"{_json(key)}: {_json(item)}" for key, item in list(value.items())[:20]) + "}"
        case list():
            return "[" + ", ".join(described(item) for item in value[:20]) + "]"
    return str(value)


def _said(error: CELEvalError) -> str:
    """What the library says, in words for whoever wrote the expression."""
    said = str(error.args[0]) if error.args else "cannot be evaluated"
    if said.startswith("no such member in mapping: "):
        return f"there is no key {said.removeprefix('no such member in mapping: ')}"
    if said == "no such key":
        return f"there is no key {printable(str(error.args[2][0]), 100) if len(error.args) > 2 and error.args[2] else ''}".rstrip()
    if said == "invalid_argument":
        return "the list has no such element"
    if said.startswith("modulus or divide by zero"):
        return "divides by zero"
    if said == "return error for overflow":
        return "the number or text cannot be converted, or is too large"
    if said.startswith(("found no matching overload", "no such overload")):
        return "these values cannot be combined like this"
    return printable(said, 300)


class _Words(Activation):
    """What functions and operators there are."""

    def __init__(self, facts: Facts, steps: Steps) -> None:
        super().__init__(functions=_functions(facts, steps))


class _Bounded(Evaluator):
    """The library's evaluator, which counts. Names are in `names`, or keys of the plan."""

    def __init__(self, ast: Node, words: Activation, facts: Facts, names: Mapping[str, Value], steps: Steps) -> None:
        super().__init__(ast, words)
        self._facts, self._outer, self._names, self._steps = facts, names, names, steps

    def sub_evaluator(self, ast: Node) -> _Bounded:
        return _Bounded(ast, self.activation, self._facts, self._names, self._steps)

    def set_activation(self, values: Mapping[str, Value]) -> _Bounded:
        self._names = {**self._outer, **values}
        return self

    def ident_value(self, name: str, root_scope: bool = False) -> Value:
        return self._names[name] if name in self._names else self._facts[name]

    def visit(self, tree: Node) -> Value:
        self._steps.take()
        return super().visit(tree)

    def function_eval(self, name_token: Token, exprlist: Any = None) -> Value:
        try:
            return super().function_eval(name_token, exprlist)
        except CELEvalError as error:
            error.line, error.column = name_token.line, name_token.column
            raise

    def macro_has_eval(self, exprlist: Node) -> Value:
        (selection,) = exprlist.children
        assert is_tree(selection)
        owner, name = selection.children
        assert is_tree(owner)
        found = self.visit(owner)
        if isinstance(found, CELEvalError):
            return found
        if not isinstance(found, celtypes.MapType):
            return CELEvalError("has() looks into mappings only", TypeError, None, tree=selection)
        return celtypes.BoolType(str(name) in found)

    def conditionalor(self, tree: Node) -> Value:
        return self._either(tree, until=True)

    def conditionaland(self, tree: Node) -> Value:
        return self._either(tree, until=False)

    def _either(self, tree: Node, *, until: bool) -> Value:
        """`||` where true decides, `&&` where false does; an error decides only where nothing else does."""
        return self._decided((partial(self._value, child) for child in tree.children), tree, until)

    def _decided(self, parts: Iterable[Callable[[], Value]], tree: Node, until: bool) -> Value:
        error: CELEvalError | None = None
        for part in parts:
            found = part()
            if isinstance(found, celtypes.BoolType):
                if bool(found) == until:
                    return found
            elif isinstance(found, CELEvalError):
                error = error or found
            else:
                error = error or CELEvalError("must be true or false", TypeError, None, tree=tree)
        return error or celtypes.BoolType(not until)

    def _value(self, tree: Any) -> Value:
        """The value of a part, an error as a value too."""
        try:
            return self.visit(tree)
        except CELEvalError as error:
            return error

    def member_dot_arg(self, tree: Node) -> Value:
        name = str(tree.children[1])
        if name not in ("all", "exists", "filter", "exists_one"):
            return super().member_dot_arg(tree)
        owner = tree.children[0]
        assert is_tree(owner)
        items = self.visit(owner)
        if isinstance(items, CELEvalError):
            return items
        if not isinstance(items, celtypes.ListType | celtypes.MapType):
            return CELEvalError("this has no elements", TypeError, None, tree=tree)
        body = self.build_ss_macro_eval(tree)
        if name in ("all", "exists"):
            return self._decided((partial(body, item) for item in items), tree, until=name == "exists")
        kept = celtypes.ListType()
        for item in items:
            found = body(item)
            if isinstance(found, CELEvalError):
                return found
            if not isinstance(found, celtypes.BoolType):
                return CELEvalError("must be true or false for each element", TypeError, None, tree=tree)
            if found:
                kept.append(item)
        return kept if name == "filter" else celtypes.BoolType(len(kept) == 1)


def _functions(facts: Facts, steps: Steps) -> dict[str, Any]:
    """The plan's own functions, and operators that count or that the library has otherwise."""

    def cluster(name: Value) -> Value:
        return facts.named("cluster", name)

    def label(name: Value, key: Value) -> Value:
        return cluster(name)["labels"].get(key, celtypes.StringType(""))

    def amount(value: Value, *key: Value) -> Value:
        if key:
            if not isinstance(value, celtypes.MapType):
                raise CELEvalError("quantity takes a text, or a mapping of resources and the name of one")
            value = value.get(key[0], "0")
        try:
            return _number(quantity.parse(str(value)))
        except quantity.InvalidQuantity as error:
            raise CELEvalError(str(error)) from None

    def equal(one: Value, other: Value) -> Value:
        return _failed(one, other) or celtypes.BoolType(_equal(one, other, steps))

    def unequal(one: Value, other: Value) -> Value:
        return _failed(one, other) or celtypes.BoolType(not _equal(one, other, steps))

    def contained(item: Value, items: Value) -> Value:
        if isinstance(items, celtypes.MapType) and isinstance(item, str):
            return celtypes.BoolType(item in items)
        if not isinstance(items, list | dict):
            return _failed(item, items) or CELEvalError("in looks into lists and mappings only")
        return _failed(item, items) or celtypes.BoolType(any(_equal(item, one, steps) for one in items))

    def add(one: Value, other: Value) -> Value:
        for part in (one, other):
            if isinstance(part, str | bytes | list):
                steps.take(len(part))
        made = one + other
        return celtypes.ListType(made) if isinstance(made, list) else made

    return {
        "group": lambda name: facts.named("group", name),
        "cluster": cluster,
        "label": label,
        "region": lambda name: label(name, celtypes.StringType(REGION)),
        "quantity": amount,
        "_==_": equal,
        "_!=_": unequal,
        "_in_": contained,
        "_+_": add,
    }


def _failed(*values: Value) -> CELEvalError | None:
    return next((value for value in values if isinstance(value, CELEvalError)), None)


def _equal(one: Value, other: Value, steps: Steps) -> bool:
    """As the language has it: numbers by value, anything else of two types is unequal."""
    steps.take()
    if isinstance(one, celtypes.BoolType) or isinstance(other, celtypes.BoolType):
        return type(one) is type(other) and bool(one) == bool(other)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return Fraction(one) == Fraction(other)
    if isinstance(one, str) and isinstance(other, str):
        return str(one) == str(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(a, b, steps) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(key in other and _equal(one[key], other[key], steps) for key in one)
    return type(one) is type(other) and bool(one == other)


def _number(value: Fraction) -> Value:
    """A whole number where it is one, so that it compares exactly."""
    whole = value.denominator == 1 and abs(value.numerator) < 2**63
    return celtypes.IntType(value.numerator) if whole else celtypes.DoubleType(float(value))
