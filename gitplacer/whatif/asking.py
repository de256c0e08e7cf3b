"""
Questions about one fleet, whatever they are: a loss is asked the quick way where that gives the same answer, all else in full.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from gitplacer.model.fates import Supposed
from gitplacer.model.verdicts import OF_MANY_MOVED
from gitplacer.whatif.ground import Ground, suppose
from gitplacer.whatif.losses import Loss, Losses
from gitplacer.whatif.suppositions import Supposition

Question = Loss | Supposition


class Asking(Struct, frozen=True, dict=True):
    """Asked one question after another; remembers what it found out."""

    ground: Ground

    def __call__(self, question: Question) -> Supposed:
        """What a question comes to. Raises Unsupposable, and Rejected where the fleet could not be planned then."""
        if isinstance(question, tuple):
            return self._losses(question)
        return suppose(self.ground, question, with_candidates=OF_MANY_MOVED)[0]

    def to_send(self) -> Asking:
        """The same for other processes."""
        return Asking(self.ground.to_send())

    @cached_property
    def _losses(self) -> Losses:
        return Losses(self.ground)
