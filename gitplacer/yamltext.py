"""
YAML for values we make ourselves: records, sentinels, namespaces.

Block style, two spaces, keys in the order given, strings quoted as JSON wherever plain would be read as something
else. The same value gives the same bytes for ever, whatever library versions are installed; that is why no dumper
is asked. What others wrote is never written again by this: it is spliced (`documents`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_./][-A-Za-z0-9_./]*")
_NOT_STRINGS = re.compile(r"(?i:true|false|yes|no|on|off|y|n|null|~|\.nan|[-+]?\.inf)|\.[0-9].*|[-.]+")


def to_yaml(value: Mapping[str, Any]) -> bytes:
    """One document, ending in a newline."""
    return ("\n".join(_lines(value, "")) + "\n").encode()


def _lines(value: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for key, item in value.items():
        name = _scalar(key)
        if isinstance(item, Mapping) and item:
            lines.append(f"{indent}{name}:")
            lines.extend(_lines(item, indent + "  "))
        elif isinstance(item, Sequence) and not isinstance(item, str) and item:
            lines.append(f"{indent}{name}:")
            lines.extend(f"{indent}- {_flow(element)}" for element in item)
        else:
            lines.append(f"{indent}{name}: {_flow(item)}")
    return lines


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_STRINGS.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)
