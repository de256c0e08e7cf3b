"""
A manifest as it may be shown: without the values that look like secrets.

A diff in a comment is read by more people than the deployment repo. What a Secret holds, what stands under a name like PASSWORD
or apiToken, and credentials inside of an address or a command line are replaced by a word; names and references stay. This hides
what somebody should not have written there; it does not make it safe to write it. Nothing is shown of a file that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import parse
from gitplacer.documents.compose import Node
from gitplacer.documents.parse import BOM, marked
from gitplacer.rules.embedded import env_vars
from gitplacer.rules.secretwords import looks_secret

HIDDEN = "<hidden>"
"""Stands for a value that looks like a secret."""

_SECRET_FIELDS = ("data", "stringData")


def concealed(data: bytes) -> str | None:
    """The text of a file without what looks like a secret; None if it cannot be read as YAML."""
    parsed = parse(data)
    if parsed.faults or not parsed.documents:
        return None
    shown, at = [], 0
    for start, end in sorted({(document.start, document.end) for document in parsed.documents}):
        text = data[start:end].decode()
        bom = BOM if text.startswith(BOM) else ""
        hidden = _document(text.removeprefix(BOM))
        if hidden is None:
            return None
        shown += [data[at:start].decode(), bom, hidden]
        at = end
    return "".join([*shown, data[at:].decode()])


def _document(text: str) -> str | None:
    root = marked(text)
    if root is None:
        return None
    parts, at = [], 0
    for node in sorted(_secrets(root), key=lambda node: node.start):
        if node.start < at:
            continue
        end = len(text[: node.end].rstrip())  # a block ends after its last line break, which stays
        parts += [text[at : node.start], HIDDEN]
        at = max(end, node.start)
    return "".join([*parts, text[at:]])


def _secrets(root: Node) -> Iterator[Node]:
    """The scalars that are not to be shown, wherever they stand in a document."""
    waiting = [(root, "", _is_secret(root))]
    while waiting:
        node, key, inside = waiting.pop()
        if node.pairs is not None:
            secret = _is_secret(node)
            name = node.pairs.get("name")
            named = str(name.value.value) if name is not None and "value" in node.pairs else ""
            for field, pair in node.pairs.items():
                hides = inside if not secret else field in _SECRET_FIELDS
                waiting.append((pair.value, named if field == "value" and named else field, hides))
        elif node.items is not None:
            waiting += [(item, key, inside) for item in node.items]
        elif isinstance(node.value, str) and (inside or _looks_secret(key, node.value)):
            yield node


def _looks_secret(key: str, value: str) -> bool:
    return looks_secret(key, value) or any(looks_secret(name, given) for _, name, given in env_vars({key: value}))


def _is_secret(node: Node) -> bool:
    kind = node.pairs.get("kind") if node.pairs is not None else None
    return kind is not None and kind.value.value == "Secret" and "apiVersion" in (node.pairs or {})
