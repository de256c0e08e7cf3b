"""
Policies: which one governs an object, and which clusters a placement type prefers.

One module per placement type; `TYPES` is the table. A type only says which clusters it considers and in which
order it likes them. Whether a group fits there is the planner's question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings
from gitplacer.policies import capacity, cheapest, divide, ordered, scored

Preference = Callable[[PlacementSettings, Cluster], int | None]
"""How early a type takes a cluster (smaller first; equal means no preference), or None if it never does."""

TYPES: Mapping[str, Preference] = {
    "Capacity": capacity.preference,
    "Cheapest": cheapest.preference,
    "Divide": divide.preference,
    "Ordered": ordered.preference,
    "Scored": scored.preference,
}

DIVIDING = frozenset({"Divide"})
"""Types that give objects other counts on each cluster."""

BY_COST = frozenset({"Cheapest"})
"""Types that rank clusters to which machines would have to be added by what these cost."""

BY_SCORE = frozenset({"Scored"})
"""Types that rank clusters by what the planner knows of their scores."""
