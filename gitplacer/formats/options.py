"""What a reader asked for: how much to show, and whether in colour."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

Style = Callable[[str, str], str]
"""Text and a colour (green, yellow, cyan, magenta, blue, red) to text. Colour never carries meaning."""


def plain(text: str, colour: str) -> str:
    """No colour."""
    return text


class Options(Struct, frozen=True, kw_only=True):
    """
    `verbose` shows also what is folded: groups that are kept, all clusters, paths that change. `diffs` shows in text what changes
    in the files. `link_base` is an address below which the files of the source can be read, `comment_id` tells the comments of
    several fleets on one pull request apart, and `paged`: what does not fit one comment is on pages that follow.
    """

    verbose: bool = False
    style: Style = plain
    diffs: bool = False
    link_base: str = ""
    comment_id: str = ""
    paged: bool = False
