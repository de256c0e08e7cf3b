"""
Surge: the new copy comes, is seen ready, and then the old one goes.

The old copy goes when two snapshots of every new one, one after the other, have shown it ready and, if the policy asks for that, it has
stayed so for a while or somebody consented. One snapshot may be wrong, and a copy that went does not come back by itself. A new copy that is not ready in time is taken back, and so is one whose cluster stops taking it or that is not needed any
more before it is ready. Copies that were there before are waited for and never taken back. If the old copy's cluster is lost there
is nothing to protect, and its files go at once.

Nor is a new copy taken back that is ready while no old one has been seen ready since it was asked for: it may be the only one that
serves. Then the relocation goes on, and what is wrong with the new cluster is a reason to leave it once the old copy is gone.
"""

from __future__ import annotations

from msgspec.structs import replace

from gitplacer.model.decision import Move, Phase
from gitplacer.relocation.strategies.progress import Look, Progress


def proceed(move: Move, look: Look) -> Progress:
    """Remove, Abort, or wait."""
    if all(map(look.is_lost, move.sources)):
        return Progress(None, Phase.REMOVE)
    alone = _serves_alone(move, look)
    if not alone and not all(map(look.takes, move.targets)):
        return Progress(None, Phase.ABORT)
    seen = [look.ready(target) for target in move.targets]
    if any(one is not None and not one.yes for one in seen):
        move = replace(move, ready_at=None)
    times = [one.at for one in seen if one is not None and one.yes]
    if len(times) == len(seen):
        move = replace(move, ready_at=move.ready_at or max(times))
        assert move.ready_at is not None
        if min(times) > move.ready_at and min(times) - move.ready_at >= look.soak and look.consented:
            return Progress(None, Phase.REMOVE)
    if (
        move.ready_at is None
        and look.came
        and not alone
        and (look.is_called_off or look.now - move.since >= look.timeout)
    ):
        return Progress(None, Phase.ABORT)
    return Progress(move)


def _serves_alone(move: Move, look: Look) -> bool:
    """Whether a copy that came is ready, and no old one is known to be. What was seen before it was asked for may be over."""
    seen = [look.ready(name) for name in sorted(look.came) if not look.is_lost(name)]
    if not any(one is not None and one.yes for one in seen):
        return False
    old = [look.ready(name) for name in move.sources if not look.is_lost(name)]
    return not any(one is not None and one.yes and one.at > move.since for one in old)
