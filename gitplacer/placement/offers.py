"""
Which clusters offer a group room, best first. They are looked at lazily: there may be thousands, and the first is
mostly taken.

A policy's favourites come first. Clusters that it likes equally are ordered by whether they could run all that the
group may grow to, then by whether little is promised on them already, then by how many large blocks of devices stay
whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books, Prospects
from gitplacer.placement.effort import effort_spent
from gitplacer.placement.nodes import Counts, Indexes, Mask
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.stage import Missing
from gitplacer.placement.tries import Tries
from gitplacer.policies import BY_COST


class Ranking(Struct, frozen=True, dict=True):
    """
    Some clusters, each by its index in the names of the books, and what ranks them before any is looked at: how early
    the policy takes it (`liked`, smaller first), and, among those liked equally, what is `against` it: that it would
    have to be woken, and that some pods which the group may have later could never run there.
    """

    numbers: Indexes
    liked: Counts
    against: Counts

    def only(self, which: Mask) -> Ranking:
        """The clusters that a mask, as long as the ranking, selects."""
        return Ranking(self.numbers[which], self.liked[which], self.against[which])

    def by_liking(self) -> tuple[Ranking, Ranking]:
        """The clusters that are liked best and have least against them, and the rest. The ranking must not be empty."""
        return self._split or (self, self.none())

    @cached_property
    def _split(self) -> tuple[Ranking, Ranking] | None:
        """The same; None where all are in the first part, since a cached ranking must not hold itself."""
        liked: Mask = self.liked == self.liked.min()
        best: Mask = liked & (self.against == self.against[liked].min())
        return None if best.all() else (self.only(best), self.only(~best))

    def none(self) -> Ranking:
        """The empty ranking."""
        return Ranking(self.numbers[:0], self.liked[:0], self.against[:0])

    def without(self, numbers: Indexes) -> Ranking:
        """The ranking without some clusters, by index."""
        return self.only(~np.isin(self.numbers, numbers)) if len(numbers) else self


class Offers:
    """`tries` says what came of looking for room in this round; what comes of it here is noted there."""

    def __init__(self, shared: Pass, occupancy: Occupancy, tries: Tries) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._tries = tries
        self._rankings: dict[tuple[str, tuple[str, ...]], Ranking] = {}
        self._luck: dict[str, Mask] = {}

    @property
    def _books(self) -> Books:
        return self._occupancy.books

    def ranking(self, group: Group, policy: PlacementPolicy, names: tuple[str, ...]) -> Ranking:
        """Those of some clusters that have a ledger, ranked for a group."""
        found, outlook = self._liked(policy, names), self._pass.outlook
        later = outlook.later(group)
        if later is None:
            return found
        strands = outlook.strands(group, later, self._books, found.numbers)
        return Ranking(found.numbers, found.liked, found.against * 2 + strands)

    def ranked(self, group: Group, policy: PlacementPolicy, names: Iterable[str]) -> list[str]:
        """
        The names of some clusters, best first for a group: by its policy, then those awake, then those that could run
        all that it may have later, then those where little is promised, then those where it breaks the fewest large
        blocks of devices, then by name.
        """
        return list(self.in_order(group, self.ranking(group, policy, tuple(names))))

    def in_order(self, group: Group, ranking: Ranking) -> Iterator[str]:
        """The names of a ranking's clusters, best first for a group."""
        names, gang = self._books.names, self._pass.rosters.typical(group.id)
        best = self._books.best_first(gang, ranking.numbers, ranking.liked, ranking.against)
        return (names[number] for number in best)

    def of(
        self, group: Group, policy: PlacementPolicy, ranking: Ranking, scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        """The clusters of a ranking that a group fits, best first, each with a packing. They are looked at lazily."""
        found = self._fitting(group, policy, ranking, scale_up)
        if scale_up and policy.spec.placement.type in BY_COST:
            yield from sorted(found, key=lambda offer: _cost(self._books.fitting(*offer)))
        else:
            yield from found

    def _fitting(
        self, group: Group, policy: PlacementPolicy, ranking: Ranking, scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        """
        Among clusters that the policy likes equally, first those where it is soon known that the group fits; then those
        where it has to be tried in very many orders, which takes long and mostly fails.
        """
        if scale_up:
            yield from self._growing(group, ranking.only(self._open(group.id, ranking.numbers, self._books.may_grow)))
            return
        for tier in self._tiers(group, ranking):
            offered: set[str] = set()
            prospects = self._prospects(group, policy, tier)
            for offer in self._soon_told(group, policy, prospects):
                offered.add(offer[0])
                yield offer
            yield from self._doubtful(group, tier, prospects.open, offered)

    def _tiers(self, group: Group, ranking: Ranking) -> Iterator[Ranking]:
        """
        The ranking in parts that the policy likes equally, best first; once a group is not tried any more, all that is
        left as one.
        """
        while len(ranking.numbers):
            tier, rest = (ranking, ranking.none()) if self._tries.is_tried_enough(group.id) else ranking.by_liking()
            yield tier
            ranking = rest

    def _is_done_with(self, group: Group, seen: AbstractSet[str]) -> bool:
        """
        Whether no cluster is left to ask about but those `seen`: the group has been tried enough, and where it was
        refused before has been asked again.
        """
        return self._tries.is_tried_enough(group.id) and self._tries.refused[group.id] <= seen

    def _growing(self, group: Group, ranking: Ranking) -> Iterator[tuple[str, Packing]]:
        """Clusters that have room for a group with machines that are added."""
        for name in self.in_order(group, ranking):
            gang = self._pass.gang_on(group.id, name)
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fit(gang, name, scale_up=True))

    def _prospects(self, group: Group, policy: PlacementPolicy, ranking: Ranking) -> Prospects:
        """
        The clusters of a ranking that are not ruled out for a group, in the order in which they are asked for a proof.
        """
        same, fortunate = self._pass.rosters.anywhere(group.id), self._lucky(policy)
        open_ = None if same is not None else self._open(group.id, ranking.numbers, self._books.may_have_room)
        gang = self._pass.rosters.typical(group.id)
        return self._books.prospects(gang, ranking.numbers, ranking.liked, ranking.against, fortunate, open_=open_)

    def _soon_told(self, group: Group, policy: PlacementPolicy, prospects: Prospects) -> Iterator[tuple[str, Packing]]:
        """
        The clusters that take a group without a long trial: every order is proved to work, or the policy takes a tight
        fit, or so few pods are to come that all orders are soon tried.

        Most trials find an order that leaves a pod out, so among clusters where the group breaks equally many blocks
        those that need no trial come first. A proof is looked for on all of them, because a cluster without one now has
        none later in this pass and is never asked again; where a proof is unlikely, it is looked for last.
        """
        same, fortunate = self._pass.rosters.anywhere(group.id), self._lucky(policy)
        soon: list[int] = []
        breaks = 0
        for number, broken in prospects.best:
            if broken != breaks:
                yield from self._soon_tried(group, soon)
                soon, breaks = [], broken
            name = self._books.names[number]
            gang = same or self._pass.gang_on(group.id, name)
            lucky = bool(fortunate[number])
            if lucky and self._books.is_roomless(gang, name):
                continue
            unproved = not lucky and self._books.is_unproved(gang, name)
            if not unproved and not self._may_ask(group, name, gang):
                return
            if lucky or (not unproved and self._books.finds_proof(gang, name)):
                yield from self._offer(group, name, self._books.fits_now(gang, name))
            elif self._is_soon_tried(group, gang, number):
                soon.append(number)
            else:
                self._tries.pass_over(group.id, number)
        yield from self._soon_tried(group, soon)
        self._tries.pass_all_over(group.id, prospects.hopeless)

    def _soon_tried(self, group: Group, numbers: Iterable[int]) -> Iterator[tuple[str, Packing]]:
        """Those of some clusters, by index, that a group fits, until it has been tried enough."""
        for number in numbers:
            name = self._books.names[number]
            gang = self._pass.gang_on(group.id, name)
            if not self._is_soon_tried(group, gang, number):
                self._tries.pass_over(group.id, number)
                continue
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fits_now(gang, name))

    def _offer(self, group: Group, name: str, found: Packing | Shortfall | Missing) -> Iterator[tuple[str, Packing]]:
        """A cluster with the packing found there, if one was. The steps of the search are counted."""
        self._pass.effort.count(group, name, found.steps)
        if isinstance(found, Packing):
            yield name, found

    def _is_soon_tried(self, group: Group, gang: Gang, number: int) -> bool:
        """
        Whether a group may still be tried, on a cluster where a trial is short. What is known of proofs does not count.
        """
        if self._tries.is_tried_enough(group.id) or self._books.is_busy(number):
            return False
        return not self._books.is_roomless(gang, self._books.names[number])

    def _doubtful(
        self, group: Group, ranking: Ranking, open_: Mask, offered: Collection[str]
    ) -> Iterator[tuple[str, Packing]]:
        """
        The clusters of a ranking that are open and have room for a group, without those `offered`, until it has been tried
        enough.
        """
        refused, same, seen = self._tries.refused[group.id], self._pass.rosters.anywhere(group.id), set(offered)
        if self._is_done_with(group, seen):
            return
        for name in self.in_order(group, ranking.only(open_)):
            if self._is_done_with(group, seen):
                return
            if name in seen or (self._tries.is_tried_enough(group.id) and name not in refused):
                continue
            seen.add(name)
            gang = same or self._pass.gang_on(group.id, name)
            if self._books.is_roomless(gang, name):
                continue
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fits_now(gang, name))

    def _lucky(self, policy: PlacementPolicy) -> Mask:
        """The clusters, as a mask over the books' names, on which a policy takes a tight fit."""
        if policy.name not in self._luck:
            lucky = [self._pass.accepts_tight(policy, name) for name in self._books.names]
            self._luck[policy.name] = np.array(lucky, dtype=np.bool_)
        return self._luck[policy.name]

    def _may_ask(self, group: Group, name: str, gang: Gang) -> bool:
        """
        Whether a gang may be packed and proved on a cluster within its Tenant's effort; where not, nothing more is
        asked for the group.
        """
        if self._pass.effort.allows(group, name, self._books[name].steps_for(gang)):
            return True
        self._tries.tight[group.id].setdefault(name, effort_spent(group))
        return False

    def _open(self, group_id: str, numbers: Indexes, may: Callable[[Gang, Indexes], Mask]) -> Mask:
        """
        A mask over `numbers`: which clusters are not ruled out for a group. `may` answers for pods that are the same on
        all clusters it is given.
        """
        same = self._pass.rosters.anywhere(group_id)
        if same is not None:
            return may(same, numbers)
        names = [self._books.names[number] for number in numbers.tolist()]
        open_: set[int] = set()
        for gang, where in self._pass.gangs_on(group_id, names):
            asked = self._books.numbers(where)
            open_.update(asked[may(gang, asked)].tolist())
        return np.array([number in open_ for number in numbers.tolist()], dtype=np.bool_)

    def _liked(self, policy: PlacementPolicy, names: tuple[str, ...]) -> Ranking:
        """Those of some clusters that have a ledger, ranked by a policy alone; kept for all groups that it governs."""
        key = policy.name, names
        if key not in self._rankings:
            numbers = self._books.numbers(names)
            found = [self._books.names[number] for number in numbers.tolist()]
            liked = np.array([self._pass.preference(policy, name) for name in found], dtype=np.int64)
            asleep = np.array([not self._pass.snapshot.is_awake(name) for name in found], dtype=np.int64)
            self._rankings[key] = Ranking(numbers, liked, asleep)
        return self._rankings[key]


def _cost(finding: Finding) -> tuple[bool, float]:
    """What the machines that must be added cost in an hour; one without a price comes after all that have one."""
    prices = [nodes.price_per_hour for nodes in finding.new_nodes]
    known = sum(nodes.count * (nodes.price_per_hour or 0.0) for nodes in finding.new_nodes)
    return None in prices, known
