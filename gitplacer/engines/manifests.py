"""
Files for an administrator to read, keep and apply.

An object is a value, so that it can be held against the rules of its kind; what is to be known about it stands above it as a
comment. The same values give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from gitplacer.yamltext import to_block_yaml


class Manifest(Struct, frozen=True):
    """
    One object, and what a reader should know about it: lines without their `#`. `texts` are long strings below the object's `data`,
    written line by line.
    """

    comment: str
    value: Mapping[str, Any]
    texts: Mapping[str, str] | None = None

    def text(self) -> str:
        lines = [f"# {line}".rstrip() for line in self.comment.strip().splitlines()]
        body = to_block_yaml(self.value).decode()
        if self.texts:
            body += "data:\n" + "".join(_literal(key, text) for key, text in self.texts.items())
        return "\n".join([*lines, body])


def _literal(key: str, text: str) -> str:
    """A string of several lines, as YAML has it line by line."""
    return f"  {key}: |\n" + "".join(f"    {line}".rstrip() + "\n" for line in text.strip().splitlines())


def file_of(manifests: Iterable[Manifest]) -> bytes:
    """Objects as one file."""
    return "---\n".join(manifest.text() for manifest in manifests).encode()
