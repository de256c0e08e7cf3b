"""
How much will be asked in a pass, told beforehand to those who begin the plain way and look for machine code when much was asked.

Where hundreds of groups have no place yet, or are about to lose it, they would all come to that, each after it has done for a while what takes ten times as long.
"""

from __future__ import annotations

from gitplacer.placement.pack import PACKS
from gitplacer.placement.survey import SURVEYS
from gitplacer.scheduler.crowding import CROWDS
from gitplacer.scheduler.player import PLAYERS

_EACH = ((SURVEYS, 3), (PACKS, 10), (CROWDS, 5), (PLAYERS, 50))
"""Steps for each group that looks for a place, about two thirds of those that were counted in a fleet of 3,000."""


def expect(groups: int) -> None:
    """So many groups look for a place."""
    for patience, steps in _EACH:
        patience.expect(groups * steps)
