"""
A plan as a Mermaid picture: clusters as boxes, groups in them, arrows for those that move.

Whoever names a group must not be able to draw: identifiers are numbers of ours, and a label is made of letters, digits and a few
marks; every other character is written as its number, which Mermaid shows as the character and never reads as its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitplacer.model.decision import Action
from gitplacer.plaintext import printable
from gitplacer.review import Row

MOST = 30
"""Groups in one picture. With more of them only those are drawn that go from one cluster to another."""
_LONGEST = 60

_UNSAFE = re.compile(r"[^A-Za-z0-9 ./_-]")


def picture(rows: Sequence[Row], steady: Sequence[tuple[str, str]] = ()) -> str:
    """
    The source of a picture of rows, '' if there is nothing to draw. `steady` are (group, cluster) of those that stay, drawn
    while there is room for them.
    """
    drawn = [row for row in rows if row.decision.before or row.decision.after or row.waits]
    if all(row.decision.files_before == row.decision.files_after for row in drawn):
        return ""  # nothing comes, goes or moves
    if len(drawn) > MOST:
        drawn = [row for row in drawn if row.decision.action is Action.RELOCATE][:MOST]
    if not drawn:
        return ""
    inside: dict[str, list[tuple[str, str, str]]] = {}
    arrows, outside = [], []
    told = {row.group for row in drawn}
    for number, row in enumerate(drawn):
        before, after = row.decision.files_before, row.decision.files_after
        gone = [name for name in before if name not in after]
        for place, name in enumerate((*after, *gone)):
            style = ":::gone" if name in gone else ":::new" if name not in before else ""
            inside.setdefault(name, []).append((f"g{number}x{place}", row.group, style))
        arrows += [
            f"g{number}x{len(after) + i} --> g{number}x{j}"
            for i in range(len(gone))
            for j, name in enumerate(after)
            if name not in before
        ]
        if row.waits and not after:
            outside.append((f"g{number}w", row.group))
    room = max(0, MOST - len(drawn))
    for number, (group, name) in enumerate(
        [each for each in steady if each[0] not in told and each[1] in inside][:room]
    ):
        inside[name].append((f"s{number}", group, ""))
    lines = ["flowchart LR"]
    for number, (name, groups) in enumerate(sorted(inside.items())):
        lines += [
            f'  subgraph c{number}["{label(name)}"]',
            *(f'    {i}["{label(g)}"]{s}' for i, g, s in groups),
            "  end",
        ]
    if outside:
        lines += ['  subgraph waiting["waits"]', *(f'    {i}["{label(group)}"]' for i, group in outside), "  end"]
    lines += [f"  {arrow}" for arrow in arrows]
    styles = ["  classDef gone stroke-dasharray: 4 4", "  classDef new stroke-width: 3px"]
    return "\n".join([*lines, *styles]) + "\n"


def label(text: str) -> str:
    """Text as the label of a node and nothing else."""
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", printable(text, _LONGEST))
