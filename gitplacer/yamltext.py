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
from functools import lru_cache
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_./][-A-Za-z0-9_./]*")
_NOT_STRINGS = re.compile(r"(?i:true|false|yes|no|on|off|y|n|null|~|\.nan|[-+]?\.inf)|\.[0-9].*|[-.]+")


def to_yaml(value: Mapping[str, Any]) -> bytes:
    """One document, ending in a newline."""
    return ("\n".join(_lines(value, "")) + "\n").encode()


def to_block_yaml(value: Mapping[str, Any]) -> bytes:
    """One document with lists of mappings in block style too, for manifests that people will read."""
    return ("\n".join(_block(value)) + "\n").encode()


def _block(value: Any) -> list[str]:
    """The lines of a collection that is not empty, without indent."""
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = _block(item) if _is_filled(item) else []
            indent = "" if isinstance(item, Sequence) else "  "
            lines.append(f"{_scalar(key)}:" if inner else f"{_scalar(key)}: {_flow(item)}")
            lines += [indent + line for line in inner]
    else:
        for item in value:
            first, *rest = _block(item) if _is_filled(item) else [_flow(item)]
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def _is_filled(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


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
    return _text(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    """A string; what most records say is written thousands of times."""
    return (
        value
        if _PLAIN.fullmatch(value) and not _NOT_STRINGS.fullmatch(value)
        else json.dumps(value, ensure_ascii=False)
    )
