"""
How much work one tenant's groups may cause in a pass while room is sought for them.

Whether a gang finds room in every order takes longer the more sorts of pods there are to come, and much longer where
pods mind each other; a tenant may write thousands of both. So the work for each tenant has a bound in a pass: in steps,
because a result must not depend on how fast a machine is. A group beyond it waits for the next pass, when those before
it are placed. A fleet without Tenants has no such bound: nobody could be kept waiting by somebody else.
"""

from __future__ import annotations

from collections import Counter

from gitplacer.grouping import Group
from gitplacer.model.decision import Finding, Reason

MOST = 20_000_000
"""Steps, each of which holds one pod against one sort of pods. In a second of a processor there are about two million, in one run after another more."""
MORE = 20_000
"""Steps that there are besides for each cluster of the fleet, where more groups find room."""


class Effort:
    """
    The steps spent in a pass for the groups of each tenant. The same question counts once, in whatever round it is
    asked.
    """

    def __init__(self, clusters: int) -> None:
        self._most = MOST + MORE * clusters
        self._spent: Counter[str] = Counter()
        self._asked: set[tuple[str, str, int]] = set()

    def allows(self, group: Group, name: str, steps: int) -> bool:
        """Whether a question about a group on a cluster may still be asked; if so, its steps are counted."""
        if group.tenant is None or (group.id, name, steps) in self._asked:
            return True
        if self._spent[group.tenant.name] + steps > self._most:
            return False
        self._spent[group.tenant.name] += steps
        self._asked.add((group.id, name, steps))
        return True

    def count(self, group: Group, name: str, steps: int) -> None:
        """Count the steps of an answer, which are known only afterwards."""
        if steps and group.tenant is not None and (group.id, name, -steps) not in self._asked:
            self._spent[group.tenant.name] += steps
            self._asked.add((group.id, name, -steps))


def effort_spent(group: Group) -> Finding:
    """The finding about a cluster of which nothing more is asked for a group."""
    whose = group.tenant.name if group.tenant is not None else ""
    return Finding(code=Reason.SEARCH_BOUND, subject=f"those that tenant {whose} has in one pass")
