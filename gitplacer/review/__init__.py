"""
A plan as a reviewer wants it, computed from a PlanView: what happens because of a change and what would happen anyway, what it
costs and leaves, whether it may be merged, and what could still change it.

These are values; `gitplacer/formats/` makes text, Markdown and JSON of them.
"""

from gitplacer.review.check import Check, Concern, Worry
from gitplacer.review.clusters import ClusterChange
from gitplacer.review.diffs import Change, FileDiff
from gitplacer.review.downtime import Downtime
from gitplacer.review.prospects import Outlook, Prospect
from gitplacer.review.redaction import redacted_problem
from gitplacer.review.room import Headroom, Level
from gitplacer.review.rows import Row
from gitplacer.review.spending import BudgetUse
from gitplacer.review.whole import Base, Displacement, Review

__all__ = [
    "Base",
    "BudgetUse",
    "Change",
    "Check",
    "ClusterChange",
    "Concern",
    "Displacement",
    "Downtime",
    "FileDiff",
    "Headroom",
    "Level",
    "Outlook",
    "Prospect",
    "Review",
    "Row",
    "Worry",
    "redacted_problem",
]
