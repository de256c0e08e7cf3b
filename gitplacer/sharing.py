"""
How often the groups of one namespace may list objects that several of them need.

Each group lists what it shares with others: in its record, and wherever it is looked at. Some shared objects are nothing; but a thousand objects
that a thousand groups share each are a million entries, and everybody would wait while they are written. So a namespace has a bound, which grows
with its groups. Objects that few groups share count first: what selects everything keeps no ConfigMap of two apps from being shared.
"""

from __future__ import annotations

from collections.abc import Mapping

EACH = 100
"""So many shared objects a group may list, on average of a namespace."""
TOGETHER = 100_000
"""So many entries the groups of a namespace may have together, however few they are."""


def entry_limit(groups: int) -> int:
    """How many entries as many groups of one namespace may have together."""
    return max(TOGETHER, EACH * groups)


def over_limit(sharers: Mapping[int, int], limit: int) -> frozenset[int]:
    """The objects with which there are more entries than a limit; `sharers` are how many groups share each object."""
    entries, over = 0, set[int]()
    for number, index in sorted((number, index) for index, number in sharers.items()):
        entries += number
        if entries > limit:
            over.add(index)
    return frozenset(over)
