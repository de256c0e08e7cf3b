"""
By which code runs of the scheduler are played: the plain simulation, or machine code that says the same, once much is played.

To load what is compiled takes as long as some twenty thousand pods bound the plain way, and the first time on a machine, when it has
to be compiled, as long as some hundred thousand. Few passes play so much.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from gitplacer.scheduler.board import Board
from gitplacer.scheduler.patience import Patience
from gitplacer.scheduler.simulation import Profile, Run, simulate

PATIENCE = 20_000
"""Pods bound by the plain simulation in one process, after which it looks for the other."""


class Play(Protocol):
    """Plays one run on a board that it knows. See `simulation.simulate`, which takes the board besides."""

    def __call__(
        self, order: Sequence[int], profile: Profile, *, whole: bool = True, may_wait: frozenset[int] = frozenset()
    ) -> Run: ...


class Players:
    """Gives a player for each board; `patience` as PATIENCE. What is played is counted over all of them."""

    def __init__(self, patience: int = PATIENCE) -> None:
        self._patience = Patience("gitplacer.scheduler.compiled", patience)

    def expect(self, pods: int) -> None:
        """So many pods will be bound."""
        self._patience.expect(pods)

    def on(self, board: Board) -> Play:
        """The code that plays on a board."""
        compiled = self._patience.compiled
        if compiled is not None and compiled.Machine.made_for(board):
            play: Play = compiled.Machine(board).run
            return play
        return self._counted(partial(simulate, board))

    def _counted(self, play: Play) -> Play:
        """The same, whose pods count."""

        def counted(*asked: Any, **options: Any) -> Run:
            run = play(*asked, **options)
            self._patience.spend(len(run.bound))
            return run

        return counted


PLAYERS = Players()
"""Those of this process."""
