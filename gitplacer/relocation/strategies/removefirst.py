"""
RemoveFirst: the old copy goes, is seen to be gone, and then the new one comes.

It is how anything moves that must not run twice. Two snapshots of each old cluster have to show that nothing of the group is left,
because a second start cannot be taken back. There is no timeout: as long as nobody knows, the group is nowhere. If its new cluster
stops taking it, it looks for another.
"""

from __future__ import annotations

from msgspec.structs import replace

from gitplacer.model.decision import Move, Phase
from gitplacer.relocation.strategies.progress import Look, Progress


def proceed(move: Move, look: Look) -> Progress:
    """Arrive, or wait."""
    if not all(map(look.takes, move.targets)):
        move = replace(move, targets=())
    asked = [source for source in move.sources if not look.is_lost(source)]
    seen = [look.gone(source) for source in asked]
    if any(one is not None and not one.yes for one in seen):
        return Progress(replace(move, gone_at=None))
    times = [one.at for one in seen if one is not None]
    if len(times) < len(asked):
        return Progress(move)
    if asked and (move.gone_at is None or min(times) <= move.gone_at):
        return Progress(replace(move, gone_at=move.gone_at or max(times)))
    return Progress(None if move.targets else move, Phase.ARRIVE)
