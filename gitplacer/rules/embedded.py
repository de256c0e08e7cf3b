"""
Texts in a Ray spec that KubeRay reads as a YAML mapping: `runtimeEnvYAML` of a job, `serveConfigV2` of a service.

The manifest around such a text is valid YAML whatever is in it, so the API server takes it, and only KubeRay stumbles. Go's reader takes
the first document and nothing after it, and we are stricter than it: of a key set twice it takes the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitplacer.documents import Cursor
from gitplacer.documents.parse import load
from gitplacer.rules.manifest import tell

_NOT_YAML = frozenset(
    (
        "ConflictMarkers",
        "InvalidCharacter",
        "InvalidMerge",
        "InvalidYAML",
        "RecursiveAlias",
        "TabIndentation",
        "UndefinedAlias",
        "UnrenderedTemplate",
    )
)
"""Flaws that Go's YAML reader stumbles over too."""


def mapping_in_text(cursor: Cursor, key: str, code: str, example: str) -> Mapping[str, Any]:
    """
    The YAML mapping in the text under a key; an empty text is one. Where it is none that is told with a code, and it is empty.
    `example` is what may stand below the key.
    """
    text = cursor.text(key)
    if not text:
        return {}
    hint = f"write it as a block: {key}: | and below it, indented, for example {example}"
    documents, flaws = load(text)
    end = documents[0].end if documents else len(text) + 1
    for flaw in flaws:
        if flaw.code in _NOT_YAML and flaw.at < end:
            line = text.rstrip().count("\n", 0, flaw.at) + 1
            tell(cursor, code, f"{key} is not YAML: line {line}: {flaw.message}", flaw.hint or hint, key=key)
            return {}
    if not documents or not documents[0].sound:
        return {}
    value = documents[0].value
    if not isinstance(value, dict):
        tell(cursor, code, f"{key} is not a mapping", hint, key=key)
        return {}
    return value
