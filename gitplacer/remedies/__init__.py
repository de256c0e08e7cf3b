"""
The smallest change that would place a group which waits, found by trying.

Every change that is offered was made in the inputs and the whole fleet planned again: it places the group. What the ledgers tell
of it beforehand only says what to try first. The number of plans is bounded; where it does not reach to the end, the answer says
that something smaller may have been missed.
"""

from __future__ import annotations

from gitplacer.remedies.case import waits
from gitplacer.remedies.few import few_remedies
from gitplacer.remedies.search import remedy, usual_trials

__all__ = ["few_remedies", "remedy", "usual_trials", "waits"]
