"""
An expression held against the vocabulary, before anything is evaluated.

CEL decides at run time what a name means, and passes over what it does not come to. A test that misspells a field would then pass
for years. So every name, field, function and word that is compared with a closed list is looked at here, wherever the type is
known; where it is not, the evaluation will say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from celpy.evaluation import celstr
from lark import Token
from msgspec import Struct

from gitplacer.plaintext import printable
from gitplacer.problems import nearest
from gitplacer.scenarios.cel.syntax import Mistake, Node, is_tree, mistake, parsed
from gitplacer.scenarios.cel.vocabulary import (
    BOOLEAN,
    INTEGER,
    MACROS,
    METHODS,
    STRING,
    UNKNOWN,
    Function,
    Schema,
    functions,
    resolved,
    type_of,
    variables,
)

__all__ = ["Expression", "Mistake", "bound", "compiled"]

_SHOWN = {
    "array": "a list",
    "object": "a mapping",
    "string": "a string",
    "integer": "a number",
    "boolean": "true or false",
}


class Expression(Struct, frozen=True, eq=False):
    """An expression that can be evaluated."""

    text: str
    tree: Node


def compiled(text: str) -> Expression:
    """An expression. Raises Mistake."""
    tree = parsed(text)
    found = _Check(variables()).schema(tree)
    kind = type_of(found)
    if kind not in (None, "boolean"):
        raise mistake(tree, f"must be true or false, and is {_SHOWN.get(str(kind), 'something else')}", "compare it")
    return Expression(text, tree)


def bound(call: Node) -> tuple[str, Node]:
    """The variable that a macro binds, and the body in which it is bound. Raises Mistake."""
    name = call.children[1]
    arguments = _arguments(call)
    if len(arguments) == 2:
        variable, body = arguments
        ident = variable.children[0] if variable.data == "primary" else None
        if is_tree(ident) and ident.data == "ident":
            return str(ident.children[0]), body
    hint = "write filter(…).map(…)" if str(name) == "map" and len(arguments) == 3 else f"such as {name}(x, x …)"
    raise mistake(call, f"{name} takes a name and an expression", hint)


def _arguments(call: Node) -> list[Node]:
    last = call.children[-1]
    return [child for child in last.children if is_tree(child)] if is_tree(last) and last.data == "exprlist" else []


class _Check(Struct, frozen=True):
    """Finds the schema of each part, and raises Mistake for one that cannot be."""

    names: Mapping[str, Schema]

    def schema(self, node: Node) -> Schema:
        return resolved(_RULES.get(str(node.data), _Check._parts)(self, node))

    def _parts(self, node: Node) -> Schema:
        for child in node.children:
            if is_tree(child):
                self.schema(child)
        return UNKNOWN

    def _truth(self, node: Node) -> Schema:
        for child in node.children:
            if is_tree(child):
                found = self.schema(child)
                if type_of(found) not in (None, "boolean"):
                    raise mistake(child, f"must be true or false, and is {_SHOWN.get(str(type_of(found)), 'not')}")
        return BOOLEAN

    def _choice(self, node: Node) -> Schema:
        if len(node.children) < 3:
            return self._parts(node)
        _, one, other = [self.schema(child) for child in node.children if is_tree(child)]
        return one if type_of(one) == type_of(other) else UNKNOWN

    def _unary(self, node: Node) -> Schema:
        operator = node.children[0]
        inner = [self.schema(child) for child in node.children[1:] if is_tree(child)]
        return BOOLEAN if is_tree(operator) and operator.data == "unary_not" else inner[0] if inner else UNKNOWN

    def _relation(self, node: Node) -> Schema:
        operator, right = node.children
        assert is_tree(operator) and is_tree(right)
        (left,) = operator.children
        assert is_tree(left)
        one, other = self.schema(left), self.schema(right)
        if operator.data in ("relation_eq", "relation_ne"):
            _check_word(one, right)
            _check_word(other, left)
        elif operator.data == "relation_in" and (items := _listed(right)) is not None:
            for item in items:
                _check_word(one, item)
        return BOOLEAN

    def _field(self, node: Node) -> Schema:
        owner, name = node.children
        assert is_tree(owner) and isinstance(name, Token)
        return _field_of(self.schema(owner), str(name), name)

    def _index(self, node: Node) -> Schema:
        owner, index = node.children
        assert is_tree(owner) and is_tree(index)
        found = self.schema(owner)
        self.schema(index)
        if type_of(found) == "array":
            return resolved(found["items"])
        word = _literal(index)
        return _field_of(found, word, index) if word is not None and type_of(found) == "object" else UNKNOWN

    def _call_on(self, node: Node) -> Schema:
        owner, name = node.children[:2]
        assert is_tree(owner) and isinstance(name, Token)
        found = self.schema(owner)
        if str(name) in MACROS:
            return self._macro(node, found)
        method = METHODS.get(str(name))
        if method is None:
            raise mistake(name, f'there is no "{name}" to call', nearest(str(name), {*METHODS, *MACROS}))
        self._arguments(node, str(name), method)
        return method.gives

    def _macro(self, node: Node, owner: Schema) -> Schema:
        if type_of(owner) not in (None, "array", "object"):
            raise mistake(node, f"{_SHOWN[str(type_of(owner))]} has no elements for {node.children[1]}")
        variable, body = bound(node)
        items = resolved(owner.get("items", UNKNOWN)) if type_of(owner) != "object" else STRING
        found = _Check({**self.names, variable: items}).schema(body)
        name = str(node.children[1])
        if name == "map":
            return {"type": "array", "items": found}
        if type_of(found) not in (None, "boolean"):
            raise mistake(body, f"must be true or false for each element, and is {_SHOWN.get(str(type_of(found)))}")
        return {"type": "array", "items": items} if name == "filter" else BOOLEAN

    def _call(self, node: Node) -> Schema:
        name = node.children[0]
        if str(name) == "has":
            arguments = _arguments(node)
            if len(arguments) != 1 or arguments[0].data != "member_dot":
                raise mistake(node, "has takes a field", "such as has(inputs.source)")
            self.schema(arguments[0])
            return BOOLEAN
        function = functions().get(str(name))
        if function is None:
            raise mistake(node, f'there is no function "{name}"', nearest(str(name), {*functions(), "has"}))
        self._arguments(node, str(name), function)
        return function.gives

    def _arguments(self, node: Node, name: str, function: Function) -> None:
        arguments = _arguments(node)
        if not function.least <= len(arguments) <= function.most:
            wanted = str(function.least) if function.least == function.most else f"{function.least} or {function.most}"
            raise mistake(node, f"{name} takes {wanted} argument{'s' if wanted != '1' else ''}, not {len(arguments)}")
        for argument in arguments:
            self.schema(argument)

    def _name(self, node: Node) -> Schema:
        name = str(node.children[0])
        if name not in self.names:
            raise mistake(node, f'there is no "{name}" here', nearest(name, self.names))
        return self.names[name]

    def _literal(self, node: Node) -> Schema:
        token = node.children[0]
        kinds = {"STRING_LIT": STRING, "MLSTRING_LIT": STRING, "INT_LIT": INTEGER, "BOOL_LIT": BOOLEAN}
        return kinds.get(token.type, UNKNOWN) if isinstance(token, Token) else UNKNOWN

    def _list(self, node: Node) -> Schema:
        items = [self.schema(item) for child in node.children if is_tree(child) for item in _trees(child)]
        same = items and all(type_of(item) == type_of(items[0]) for item in items)
        return {"type": "array", "items": items[0] if same else UNKNOWN}

    def _inner(self, node: Node) -> Schema:
        inside = _trees(node)
        return self.schema(inside[0]) if inside else UNKNOWN

    def _refused(self, node: Node) -> Schema:
        raise mistake(node, "is CEL for messages and packages, which a plan does not have", "use fields and functions")


_RULES: Mapping[str, Callable[[_Check, Node], Schema]] = {
    "expr": _Check._choice,
    "conditionalor": _Check._truth,
    "conditionaland": _Check._truth,
    "relation": _Check._relation,
    "unary": _Check._unary,
    "member_dot": _Check._field,
    "member_dot_arg": _Check._call_on,
    "member_index": _Check._index,
    "member_object": _Check._refused,
    "dot_ident": _Check._refused,
    "dot_ident_arg": _Check._refused,
    "primary": _Check._inner,
    "paren_expr": _Check._inner,
    "ident": _Check._name,
    "ident_arg": _Check._call,
    "literal": _Check._literal,
    "list_lit": _Check._list,
}


def _field_of(owner: Schema, name: str, where: Node | Token) -> Schema:
    kind = type_of(owner)
    if kind not in (None, "object"):
        raise mistake(where, f'{_SHOWN.get(str(kind), "this")} has no field "{printable(name)}"')
    known = owner.get("properties")
    if known is None:
        return resolved(owner.get("additionalProperties", UNKNOWN))
    if name not in known:
        raise mistake(where, f'there is no field "{printable(name)}"', nearest(name, known))
    return resolved(known[name])


def _check_word(schema: Schema, node: Node) -> None:
    """Refuse a word that a value of a closed list never is."""
    word = _literal(node)
    if word is not None and "enum" in schema and word not in schema["enum"]:
        choices = [one for one in schema["enum"] if isinstance(one, str)]
        raise mistake(node, f'it is never "{printable(word)}"', nearest(word, choices))


def _listed(node: Node) -> Sequence[Node] | None:
    """The items of a list that is written out."""
    child = node.children[0] if node.data == "primary" else None
    if not is_tree(child) or child.data != "list_lit":
        return None
    return [item for part in child.children if is_tree(part) for item in _trees(part)]


def _literal(node: Node) -> str | None:
    """The text of a string that is written out."""
    child = node.children[0] if node.data == "primary" else None
    if not is_tree(child) or child.data != "literal":
        return None
    token = child.children[0]
    if not isinstance(token, Token) or token.type not in ("STRING_LIT", "MLSTRING_LIT"):
        return None
    return str(celstr(token))


def _trees(node: Node) -> list[Node]:
    return [child for child in node.children if is_tree(child)]
