"""
How a relocation goes on that takes several passes: one module per strategy, and one table.

A strategy is given a relocation as far as it has come and what the snapshots say of it, and tells the next step: which phase this
pass carries out, if any, and what is remembered. A step is one commit, and what it depends on stands in the record, so a crash
between any two steps leaves it where it was.

Recreate is not here: it is done in one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitplacer.model.decision import Move, Strategy
from gitplacer.relocation.strategies import removefirst, surge
from gitplacer.relocation.strategies.progress import Look, Progress

__all__ = ["STRATEGIES", "Look", "Progress", "proceed"]

STRATEGIES: Mapping[Strategy, Callable[[Move, Look], Progress]] = {
    Strategy.SURGE: surge.proceed,
    Strategy.REMOVE_FIRST: removefirst.proceed,
}


def proceed(move: Move, look: Look) -> Progress:
    """The next step of a relocation."""
    return STRATEGIES[move.strategy](move, look)
