"""What a reader asked for: how much to show, and whether in colour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Style = Callable[[str, str], str]
"""Text and a colour (green, yellow, cyan, magenta, blue, red) to text. Colour never carries meaning."""


def plain(text: str, colour: str) -> str:
    """No colour."""
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`verbose` shows also what is folded: groups that are kept, all clusters, paths that change."""

    verbose: bool = False
    style: Style = plain
