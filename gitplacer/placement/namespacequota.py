"""
Whether the ResourceQuotas of a cluster's namespaces have enough left for a group, beside all that was promised to others so far in this round.

A pod beyond a quota is not made, on whatever node there is room, and its controller tries again for ever. Pods that a snapshot shows, on a
node or waiting for one, are among what it says is used. Of a quota that nobody has counted yet, since it only comes, all pods of the
groups that are there count; whatever else is in the namespace is not known. What edits take counts as far as they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.resources import Resources
from gitplacer.placement.namespacedemand import Of
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.unseen import Unseen
from gitplacer.placement.weakly import weakly
from gitplacer.workloads.quotas import exceeds


class NamespaceQuotas:
    """The ResourceQuotas on all clusters. Where none are known there is nothing to count."""

    def __init__(self, shared: Pass, occupancy: Occupancy) -> None:
        self._occupancy = occupancy
        self._demand = occupancy.namespace_demand
        self._there = self._demand.there
        self._unseen = Unseen(shared, occupancy, self._there, weakly(self._taken))

    def refused(self, ids: Collection[str], name: str, beside: Collection[str] = ()) -> Finding | None:
        """
        Why the quotas of a cluster's namespaces do not let in what some groups have to come there together, where some others `beside` them are
        promised what they ask for; None if they do.
        """
        if name not in self._there:
            return None
        for (namespace, quota_name), amounts in self._unseen.asked_together(ids, name).items():
            quota = next(each for each in self._there[name][namespace] if each.name == quota_name)
            promised = self._unseen.of_others(ids, name, (namespace, quota_name), beside)
            for each, wanted in amounts.items():
                if wanted + promised.get(each, 0) > quota.left(each):
                    return _refusal(exceeds(quota, namespace, each, wanted, promised.get(each, 0)))
        unsaid = self._demand.unsaid
        said = next((unsaid[group_id, name] for group_id in ids if (group_id, name) in unsaid), None)
        return None if said is None else _refusal(said)

    def counts(self, group_id: str, name: str) -> bool:
        """Whether something of a group counts on a cluster that its snapshot does not show."""
        return name in self._there and bool(self._unseen.asked(group_id, name))

    def _taken(self, group_id: str, name: str) -> Mapping[Of, Resources]:
        return self._demand.taken(group_id, name, edited=not self._occupancy.is_held_back(group_id, name))


def _refusal(said: str) -> Finding:
    return Finding(code=Reason.QUOTA_EXCEEDED, subject=said)
