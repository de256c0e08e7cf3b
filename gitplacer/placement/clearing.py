"""
Room for a group that finds none: others of lower priority leave, or what gets free is kept for it.

`preemption` chooses which groups leave, and `reservations` keeps the room. Here is asked on which clusters that may be done, and which groups there may be sent
away; the answer is a claim, which stands in the group's record until the group is placed.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import partial

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Claim, Move
from gitplacer.model.resources import Resources
from gitplacer.placement.choice import Choice
from gitplacer.placement.evaluation import can_scale
from gitplacer.placement.occupancy import Claims, Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.preemption import SITES, Displaceable, Site, least_harm
from gitplacer.placement.reservations import AGED, AGED_SITES, NOBODY
from gitplacer.placement.sightings import Sightings
from gitplacer.source.manifests import PLATFORM


class Clearing:
    """
    `claims` are those with which the round began. A group is not sent away if it was `decided` on before in this round, or is on its way between
    clusters (`moves`).
    """

    def __init__(
        self,
        shared: Pass,
        claims: Claims,
        moves: Mapping[str, Move],
        occupancy: Occupancy,
        choice: Choice,
        sightings: Sightings,
        decided: Set[str],
    ) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot
        self._moves = moves
        self._occupancy = occupancy
        self._choice = choice
        self._sightings = sightings
        self._decided = decided
        self._holding: dict[tuple[str, str], Resources] = {}
        self.displaced: dict[str, dict[str, str]] = defaultdict(dict)
        """Groups that make room in this round: where, and for whom."""
        self._kept = {group_id: claim.cluster for group_id, claim in claims.items() if not claim.displaced}
        """Where room was kept for groups that have waited long."""

    def preempt(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> Claim | None:
        """Make groups of lower priority leave the cluster where that does least harm, if any are enough."""
        if policy.spec.preempts == "Never" or policy.spec.placement.admission == "Immediate":
            return None
        if not self._pass.least_preemptible < group.priority:
            return None

        def enough(name: str, free: Resources | None, leaving: frozenset[str]) -> bool:
            if free is not None and not self._covers(free, leaving, group.id, name):
                return False
            then = self._occupancy.reservations.without(leaving, name, but=group.id)
            packing = self._occupancy.take(then.copy(), group.id, name)
            return packing is not None and self._choice.quotas.is_payable(group, policy, name, then, packing)

        ranked = self._choice.offers.ranked(group, policy, self._entering(group, policy, closed))
        ranked = [name for name in ranked if self._choice.spreading.would_do(group, name)]
        if any(self._somebody_is_leaving(name) and enough(name, None, NOBODY) for name in ranked):
            return None  # it fits as soon as those are gone who have left already
        sites = (
            Site(
                cluster=name,
                preference=self._pass.preference(policy, name),
                candidates=candidates,
                enough=partial(enough, name, self._free_in_all(policy, group.id, name)),
            )
            for name in ranked
            if (candidates := self._displaceable(name, group.priority))
        )
        found = least_harm(itertools.islice(sites, SITES))
        if found is None:
            return None
        cluster, leaving = found
        for group_id in leaving:
            self.displaced[group_id][cluster] = group.id
            self._occupancy.here.go(group_id, cluster)
        claim = Claim(cluster=cluster, displaced=leaving)
        self._occupancy.reservations.claim(group.id, claim)
        self._occupancy.books.replace(cluster, self._occupancy.reservations.for_others(cluster))
        return claim

    def keep(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> Claim | None:
        """
        Keep room for a group that has waited long: where it was kept before, or on the first cluster that will have it, and that its
        budgets will pay for. Where they alone are in its way nothing is kept: room that gets free does not help it.
        """
        if self._occupancy.reservations.count_aged() >= AGED:
            return None
        before = self._kept.get(group.id, "")
        quotas, closed = self._choice.quotas, closed | self._choice.quotas.unpaid[group.id]
        stands = before in self._occupancy.books and before not in closed and quotas.within_quota(group, before)
        kept_there = [before] if stands else []
        others = self._sites(group, policy, closed | {before})
        for name in itertools.chain(kept_there, itertools.islice(others, AGED_SITES)):
            record = self._pass.records[group.id]
            known = record.claim if record is not None and name == before else None
            since = known.since if known is not None and known.cluster == name else self._snapshot.now
            payable = partial(quotas.is_payable, group, policy, name, ending=since)
            if self._occupancy.reservations.keep(group.id, name, since, payable):
                self._occupancy.books.replace(name, self._occupancy.reservations.for_others(name))
                return Claim(cluster=name, displaced=())
        return None

    def _sites(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> Iterator[str]:
        """Clusters that would hold a group if they ran nothing, best first. All are put in order once the first is asked for."""
        ranked = self._choice.offers.ranked(group, policy, self._entering(group, policy, closed))
        ranked.sort(key=lambda name: not self._choice.spreading.would_do(group, name))
        yield from (name for name in ranked if self._holds(group, policy, name))

    def _entering(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> list[str]:
        free = (name for name in self._pass.entrance.may_enter(group, policy) if name not in closed)
        return [name for name in free if self._choice.quotas.within_quota(group, name)]

    def _free_in_all(self, policy: PlacementPolicy, group_id: str, name: str) -> Resources | None:
        """
        What a group will find free on a cluster in sum if no group is sent away: one that leaves adds what it holds and no more,
        so most sets are ruled out by a sum. None where sums do not tell, because there is too little room even for those
        who stay, because room is kept by what others leave, or because machines can be added.
        """
        ledger = self._occupancy.reservations.without(NOBODY, name, but=group_id)
        here = self._occupancy.here.on(name)
        _, left_over = self._occupancy.replayed(self._pass.settled(name, here), name, here)
        if (
            left_over
            or ledger.is_overcommitted
            or self._occupancy.reservations.on(name)
            or can_scale(self._occupancy.books, policy, name)
        ):
            return None
        return ledger.columns.resources(ledger.totals())

    def _covers(self, free: Resources, leaving: Iterable[str], group_id: str, name: str) -> bool:
        """Whether what is free and what some groups hold is together at least what one asks for."""
        for other in leaving:
            free += self._held_by(other, name)
        return all(free.get(resource, 0) >= amount for resource, amount in self._pass.requests(group_id, name).items())

    def _held_by(self, group_id: str, name: str) -> Resources:
        """What a group that was placed before this pass holds on a cluster."""
        if (group_id, name) not in self._holding:
            gang = self._pass.gang_on(group_id, name)
            self._holding[group_id, name] = self._pass.books[name].shown.held_by(group_id, gang)
        return self._holding[group_id, name]

    def _somebody_is_leaving(self, name: str) -> bool:
        """Whether a cluster still shows a group that is not to be there any more."""
        return any(group.name not in self._occupancy.here.on(name) for group in self._snapshot.capacity[name].groups)

    def _displaceable(self, name: str, priority: int) -> tuple[Displaceable, ...]:
        """The groups on a cluster that one of a priority may send away."""
        found = []
        for group_id in sorted(self._occupancy.here.on(name) - self._decided):
            group, entry = self._pass.groups.get(group_id), self._pass.entry(group_id, name)
            if group is None or entry is None or group_id in self._pass.held or not self._may_send_away(group, name):
                continue
            assert group.policy is not None
            if group.priority >= priority or self._occupancy.has_finished(self._pass.books[name], group_id, name):
                continue
            holds = self._held_by(group_id, name)
            found.append(
                Displaceable(
                    group=group_id,
                    priority=group.priority,
                    devices=sum(amount for resource, amount in holds.items() if "/" in resource),
                    cpu=holds.get("cpu", 0),
                    since=entry.since,
                )
            )
        return tuple(found)

    def _may_send_away(self, group: Group, name: str) -> bool:
        """Whether a group's policy lets it be sent away, and nothing of it forbids that."""
        policy, record = group.policy, self._pass.records[group.id]
        if policy is None or not policy.spec.preemptible or policy.spec.placement.admission == "Immediate":
            return False
        if group.id in self._moves or group.unit == PLATFORM or group.never_relocates or group.id in self._pass.ties:
            return False
        if record is None or record.id != group.id:
            return False
        return not self._sightings.may_have_started(group, name)

    def _holds(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """Whether a cluster would hold a group if it ran nothing."""
        gang = self._pass.gang_on(group.id, name)
        return not self._pass.exceeds(
            gang, self._occupancy.books[name], name, can_scale(self._occupancy.books, policy, name)
        )
