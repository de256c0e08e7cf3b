"""
Which clusters a group goes to.

A policy's favourites come first. Of clusters it likes equally those come last that could never run what the group may grow to, then
those where much is promised already, then counts which large blocks of devices stay whole. A cluster is taken if every order works, or if
the policy accepts luck, and if the policy's budget pays for machines that have to be added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.verdicts import Verdicts
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books, Prospects
from gitplacer.placement.effort import beyond
from gitplacer.placement.evaluation import Evaluation, Tries, can_scale, falls_short, left_out
from gitplacer.placement.nodes import Counts, Indexes, Mask
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.purse import Purse
from gitplacer.placement.spreading import Spreading
from gitplacer.placement.stage import Tight
from gitplacer.placement.topology import Rule
from gitplacer.policies import BY_COST, DIVIDING

_MOST_TRIED = 12
"""Clusters on which one group is tried in every order, where that has no proof; on others that are as likely it is not placed."""
_MOST_UNPAID = 10
"""Clusters that one group may lose, when its copies are spread, to what its other copies use up of a budget or a quota."""


@dataclass(frozen=True)
class Line:
    """
    Some clusters, each by its index in the names of the books, with what is known of their order before anybody looks at them: how
    early a policy takes each, and, of those that it likes equally, what is `against` each: that it would have to be called, and then
    that some pods which a group may have later could never run there.
    """

    numbers: Indexes
    liked: Counts
    against: Counts

    def only(self, which: Mask) -> Line:
        """Those for which it says so, cluster by cluster."""
        return Line(self.numbers[which], self.liked[which], self.against[which])

    def by_liking(self) -> tuple[Line, Line]:
        """Those of them that a policy likes best and that have least against them, and the rest. There has to be one."""
        return self._split or (self, self.none())

    @cached_property
    def _split(self) -> tuple[Line, Line] | None:
        """The same; None where all are liked as much, since nothing may hold itself."""
        liked: Mask = self.liked == self.liked.min()
        best: Mask = liked & (self.against == self.against[liked].min())
        return None if best.all() else (self.only(best), self.only(~best))

    def none(self) -> Line:
        """None of them."""
        return Line(self.numbers[:0], self.liked[:0], self.against[:0])

    def without(self, numbers: Indexes) -> Line:
        """The others."""
        return self.only(~np.isin(self.numbers, numbers)) if len(numbers) else self


class Choice:
    """
    `tries` is what came of looking for room, `purse` tells what a group may have, `spreading` what came of it for groups whose copies
    are spread, and `evaluation` what there is to say of each cluster.
    """

    def __init__(self, shared: Pass, occupancy: Occupancy, kept: Verdicts) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self.tries = Tries()
        self.purse = Purse(shared, occupancy)
        self.spreading = Spreading(shared)
        self.evaluation = Evaluation(shared, occupancy, kept, self.tries, self.purse, self.spreading)
        self._lines: dict[tuple[str, tuple[str, ...]], Line] = {}
        self._luck: dict[str, Mask] = {}

    @property
    def books(self) -> Books:
        """The ledgers as far as the round has come."""
        return self._occupancy.books

    @property
    def _books(self) -> Books:
        return self._occupancy.books

    def choose(
        self,
        group: Group,
        policy: PlacementPolicy,
        *,
        exclude: set[str],
        wanted: int,
        only: Literal["Free", "ScaleUp"] | None = None,
        beside: Collection[str] = (),
    ) -> dict[str, Finding]:
        """
        Up to `wanted` clusters for new copies, room reserved, each with why it was taken; `only` on room that is free, or only
        with machines that are added. Copies that are spread are spread together with those that stay where they are and those that come `beside`.
        """
        chosen: dict[str, Finding] = {}
        if wanted <= 0:
            return chosen
        self._pass.sought.add(group.id)
        entering = self._pass.entrance.may_enter(group, policy)
        if self._pass.nominations.settings(group) is not None:
            nominated = [name for name in entering if name not in exclude]
            return {name: self._pass.nominations.admitted(group) for name in nominated[:1]}
        line = self._lined_up(group, policy, entering).without(self._books.numbers(exclude))
        ways = [way for way in (False, True) if not way or may_scale_up(policy)]
        ways = [way for way in ways if only is None or way is (only == "ScaleUp")]
        rules = () if policy.spec.placement.type in DIVIDING else self._pass.spread_rules(group, policy)
        if rules:
            return self._choose_spread(group, policy, rules, line, ways, wanted, beside)
        for scale_up in ways:
            for name, packing in self._offers(group, policy, line.without(self._books.numbers(chosen)), scale_up):
                taken = self._take(group, policy, name, packing, scale_up)
                if taken is not None:
                    chosen[name] = taken
                    if len(chosen) == wanted:
                        return chosen
        if policy.spec.placement.admission == "Immediate":
            for name in self._in_order(self._pass.rosters.typical(group.id), line):
                if len(chosen) < wanted and name not in chosen:
                    taken = self._take(group, policy, name, None, False)
                    if taken is not None:
                        chosen[name] = taken
        return chosen

    def _choose_spread(
        self,
        group: Group,
        policy: PlacementPolicy,
        rules: Sequence[Rule],
        line: Line,
        ways: Sequence[bool],
        wanted: int,
        beside: Collection[str],
    ) -> dict[str, Finding]:
        """
        The same for copies that are spread. They are chosen together: each cluster is asked for an offer first, and one that then cannot
        keep it, because a budget or a quota is used up by the others or for want of a proof, is left out of the next choice.
        """
        offers: dict[str, tuple[Packing | None, bool]] = {}
        for scale_up in ways:
            known = line.without(self._books.numbers(offers))
            offers |= {name: (packing, scale_up) for name, packing in self._offers(group, policy, known, scale_up)}
        if policy.spec.placement.admission == "Immediate":
            others = line.without(self._books.numbers(offers))
            offers |= dict.fromkeys(self._in_order(self._pass.rosters.typical(group.id), others), (None, False))
        offers = {name: offer for name, offer in offers.items() if self.purse.within_quota(group, name)}
        leaving, unpaid = self.purse.leaving.get(group.id, ()), 0
        stay = [name for name in self._occupancy.placements.get(group.id, ()) if name not in leaving]
        chosen: dict[str, Finding] = {}
        while True:
            best = self.spreading.pick(group, rules, list(offers), kept={*stay, *beside}, wanted=wanted)
            for name in [name for name in chosen if name not in best]:
                del chosen[name]
                self._books.release(group.id, name)
            for name in (name for name in best if name not in chosen):
                taken = self._take(group, policy, name, *offers[name])
                if taken is None:
                    del offers[name]
                    unpaid += name not in self.tries.tight[group.id]
                    if unpaid == _MOST_UNPAID:
                        offers = {other: offer for other, offer in offers.items() if other in chosen}
                    break
                chosen[name] = taken
            else:
                return chosen

    def _take(
        self, group: Group, policy: PlacementPolicy, name: str, packing: Packing | None, scale_up: bool
    ) -> Finding | None:
        """
        Reserve what a cluster offers, if quotas, budgets and the promises to others let that be, with why it was taken. Without a packing
        the group is admitted there whatever the room.
        """
        if not self.purse.within_quota(group, name):
            return None
        gang = self._pass.gang_on(group.id, name)
        if packing is None:
            found = self._books.fit(gang, name, scale_up=can_scale(self._books, policy, name))
            if isinstance(found, Packing) and self._paid(group, policy, name, found, True) is None:
                return None
            short = Finding(code=Reason.PODS_MAY_WAIT) if isinstance(found, Packing) else falls_short(found)
            self._books.admit(group.id, name, gang)
            return self._pass.scoring.told(policy, name, replace(short, code=Reason.PODS_MAY_WAIT))
        paid = self._paid(group, policy, name, packing, scale_up)
        if paid is None:
            return None
        promise = self._promised(group, policy, name, paid, scale_up)
        if promise is None:
            return None
        self.reserve(group, policy, name, *promise, gang)
        return self._pass.scoring.told(policy, name, promise[0])

    def _paid(
        self, group: Group, policy: PlacementPolicy, name: str, packing: Packing, scale_up: bool
    ) -> Packing | None:
        """What budgets pay for of what a cluster offers. That they do not is remembered."""
        paid = self.purse.affordable(group, policy, name, packing, self.purse.leaving.get(group.id, ()), scale_up)
        if isinstance(paid, Packing):
            return paid
        self.purse.over_budget.setdefault(group.id, paid)
        self.purse.unpaid[group.id].add(name)
        return None

    def promised(
        self, group: Group, policy: PlacementPolicy, name: str, *, scale_up: bool
    ) -> tuple[Finding, Packing] | None:
        """
        How a cluster would be taken for the pods that a group has there, beside those that its snapshot shows, and why; None if
        it would not.
        """
        if not self.purse.within_quota(group, name):
            return None
        scales = scale_up and can_scale(self._books, policy, name)
        missing = self._books[name].not_seen(group.id, self._pass.gang_on(group.id, name))
        packing = self._books.fit(missing, name, scale_up=scales)
        if not isinstance(packing, Packing):
            return None
        paid = self.purse.affordable(
            group, policy, name, packing, self.purse.leaving.get(group.id, ()), scales, missing
        )
        return None if isinstance(paid, Finding) else self._promised(group, policy, name, paid, scales, missing)

    def reserve(
        self, group: Group, policy: PlacementPolicy, name: str, finding: Finding, packing: Packing, gang: Gang
    ) -> None:
        """Take the room by which a group was promised a cluster for some pods."""
        sure, lucky = finding.code is Reason.FITS, self._pass.accepts_tight(policy, name)
        self._books.reserve(group.id, name, packing, gang, sure=sure, lucky=lucky)

    def has_room(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """
        Whether a cluster has room for all that a group asks for there, beside what the snapshot shows of it, and the policy's budget
        pays for the machines.
        """
        before = self._books[name].copy()
        self._books.release(group.id, name)
        missing = self._books[name].not_seen(group.id, self._pass.gang_on(group.id, name))
        fits = any(
            isinstance(packing, Packing)
            and isinstance(self.purse.affordable(group, policy, name, packing, (), scale_up, missing), Packing)
            for scale_up in ((False, True) if can_scale(self._books, policy, name) else (False,))
            for packing in (self._books.fit(missing, name, scale_up=scale_up),)
        )
        self._books.replace(name, before)
        return fits

    def more(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """
        Reserve room for all that a group asks for now on a cluster where it is, with why it was taken; None if there is not
        enough, and it keeps what it has.
        """
        if not self.purse.within_quota(group, name):
            return None
        before = self._books[name].copy()
        self._books.release(group.id, name)
        gang = self._pass.gang_on(group.id, name)
        missing = self._books[name].not_seen(group.id, gang)
        lucky = self._pass.accepts_tight(policy, name)
        for scale_up in (False, True) if can_scale(self._books, policy, name) else (False,):
            packing = self._books.fit(missing, name, scale_up=scale_up)
            if not isinstance(packing, Packing):
                continue
            paid = self.purse.affordable(group, policy, name, packing, (), scale_up, missing)
            promise = (
                None if isinstance(paid, Finding) else self._promised(group, policy, name, paid, scale_up, missing)
            )
            if promise is not None:
                finding, taken = promise
                sure = finding.code is Reason.FITS
                self._books.reserve(group.id, name, taken, missing, sure=sure, lucky=lucky)
                return finding
        if policy.spec.placement.admission == "Immediate":
            self._books.admit(group.id, name, missing)
            return Finding(code=Reason.PODS_MAY_WAIT)
        self._books.replace(name, before)
        return None

    def _promised(
        self,
        group: Group,
        policy: PlacementPolicy,
        name: str,
        packing: Packing,
        scale_up: bool,
        gang: Gang | None = None,
    ) -> tuple[Finding, Packing] | None:
        """
        The reason for taking a cluster by a packing, and what is to be reserved; None if that takes more luck than the policy
        accepts, or would cost others their certainty: luck is accepted for oneself, and pods that wait for machines may take the
        room of others too. Where machines may be added, those that are left out by bad luck get them.
        """
        finding = self._books.fitting(name, packing)
        gang = self._pass.gang_on(group.id, name) if gang is None else gang
        accepted = self._pass.accepts_tight(policy, name)
        there, careless = finding.code is Reason.FITS, self._pass.is_careless(policy, name)
        if self._books.proves(gang, name, lucky=not there, opened=packing.opened) or (not there and careless):
            return finding, packing
        doubtful = self.tries.tight[group.id]
        tried = self.tries.refused[group.id]
        if not accepted and name not in tried and len(tried) >= _MOST_TRIED:
            doubtful[name] = Finding(code=Reason.ROOM)
            return None
        if not self._pass.effort.allows(group, name, 1):
            doubtful[name] = beyond(group)
            return None
        if there and not accepted and not scale_up:
            return self._tried(group, name, gang, finding, packing)
        tight = self._try(group, name, gang) if there else None
        harm = (
            None
            if careless or (there and tight is None)
            else self._try(group, name, gang, lucky=True, opened=packing.opened)
        )
        if tight is None and harm is None:
            return finding, packing
        if tight is not None and harm is None:
            if accepted:
                return left_out(tight), packing
            more = self._books[name].with_machines_for(tight.left, packing) if scale_up else None
            if more is not None and self._try(group, name, gang, opened=more.opened) is None:
                return self._books.fitting(name, more), more
        refused = harm or tight
        assert refused is not None
        self._doubt(group, name, refused)
        return None

    def _doubt(self, group: Group, name: str, tight: Tight) -> None:
        """Remember why a cluster with room for a group was not taken."""
        self.tries.tight[group.id][name] = found = left_out(tight)
        if found.code is Reason.TIGHT_FIT:
            self.tries.refused[group.id].add(name)
        else:
            self.tries.refused[group.id].discard(name)

    def _offers(
        self, group: Group, policy: PlacementPolicy, line: Line, scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        """The clusters that a group fits, each with how, best first. They are looked at as they are asked for."""
        found = self._fitting(group, policy, line, scale_up)
        if scale_up and policy.spec.placement.type in BY_COST:
            yield from sorted(found, key=lambda offer: _cost(self._books.fitting(*offer)))
        else:
            yield from found

    def _tried(
        self, group: Group, name: str, gang: Gang, finding: Finding, packing: Packing
    ) -> tuple[Finding, Packing] | None:
        """The same for pods on machines that are there, where nothing less than every order will do."""
        tight = self._books.doubts.refused(gang, name) or self._try(group, name, gang)
        if tight is None:
            return finding, packing
        self._books.doubts.refuse(gang, name, tight)
        self._doubt(group, name, tight)
        return None

    def _fitting(
        self, group: Group, policy: PlacementPolicy, line: Line, scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        """
        Of clusters that a policy likes equally first those that surely take a group, or soon tell; then those where it has to be tried in very many
        orders, which takes long and mostly fails.
        """
        if scale_up:
            yield from self._growing(group, line.only(self._scaling[line.numbers]))
            return
        for tier in self._tiers(group, line):
            offered: set[str] = set()
            prospects = self._prospects(group, policy, tier)
            for offer in self._soon_told(group, policy, prospects):
                offered.add(offer[0])
                yield offer
            yield from self._doubtful(group, tier, prospects.open, offered)

    def _tiers(self, group: Group, line: Line) -> Iterator[Line]:
        """Clusters that a policy likes equally, best first; once a group is not tried any more, all that are left."""
        while len(line.numbers):
            tier, rest = (line, line.none()) if self._is_tried_enough(group) else line.by_liking()
            yield tier
            line = rest

    def _is_tried_enough(self, group: Group) -> bool:
        return len(self.tries.refused[group.id]) >= _MOST_TRIED

    def _is_done_with(self, group: Group, seen: AbstractSet[str]) -> bool:
        """Whether none of all clusters will be asked about but those that were: a group is tried no more, or again where it was refused before."""
        return self._is_tried_enough(group) and self.tries.refused[group.id] <= seen

    def _growing(self, group: Group, line: Line) -> Iterator[tuple[str, Packing]]:
        """Clusters that have room for a group with machines that are added."""
        for name in self._in_order(self._pass.rosters.typical(group.id), line):
            gang = self._pass.gang_on(group.id, name)
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fit(gang, name, scale_up=True))

    def _prospects(self, group: Group, policy: PlacementPolicy, line: Line) -> Prospects:
        """Those of some clusters that are not ruled out for a group now, with the order in which they are asked for a proof."""
        same, fortunate = self._pass.rosters.anywhere(group.id), self._lucky(policy)
        open_ = None if same is not None else self._may_have_room(group.id, line.numbers)
        gang = self._pass.rosters.typical(group.id)
        return self._books.prospects(gang, line.numbers, line.liked, line.against, fortunate, open_=open_)

    def _soon_told(self, group: Group, policy: PlacementPolicy, prospects: Prospects) -> Iterator[tuple[str, Packing]]:
        """
        Of some clusters those that take a group without a long trial: where every order is proved to work, or the policy takes luck; or where so few
        pods are to come that all orders are soon tried. Most trials find an order that leaves a pod out, so of clusters where the group breaks as
        much those come first that need none. A proof is looked for everywhere, since what has none now has none later in this pass, and
        is never asked again; last where it is unlikely.
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
                self.tries.pass_over(group.id, number)
        yield from self._soon_tried(group, soon)
        self.tries.pass_all_over(group.id, prospects.hopeless)

    def _soon_tried(self, group: Group, numbers: Iterable[int]) -> Iterator[tuple[str, Packing]]:
        """Of some clusters, by number, those that a group fits, until it was tried on enough."""
        for number in numbers:
            name = self._books.names[number]
            gang = self._pass.gang_on(group.id, name)
            if not self._is_soon_tried(group, gang, number):
                self.tries.pass_over(group.id, number)
                continue
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fits_now(gang, name))

    def _offer(self, group: Group, name: str, found: Packing | Shortfall) -> Iterator[tuple[str, Packing]]:
        """A cluster with how a group fits there, if that was found. What the search took counts."""
        self._pass.effort.count(group, name, found.steps)
        if isinstance(found, Packing):
            yield name, found

    def _is_soon_tried(self, group: Group, gang: Gang, number: int) -> bool:
        """Whether a group may still be tried, and on a cluster that soon tells. What is known of proofs from before has no say in it."""
        if self._is_tried_enough(group) or self._books.is_busy(number):
            return False
        return not self._books.is_roomless(gang, self._books.names[number])

    def _doubtful(
        self, group: Group, line: Line, open_: Mask, offered: Collection[str]
    ) -> Iterator[tuple[str, Packing]]:
        """Those of some clusters that are open and have room for a group now, but those that were offered, until it was tried on enough."""
        refused, same, seen = self.tries.refused[group.id], self._pass.rosters.anywhere(group.id), set(offered)
        if self._is_done_with(group, seen):
            return
        for name in self._in_order(self._pass.rosters.typical(group.id), line.only(open_)):
            if self._is_done_with(group, seen):
                return
            if name in seen or (self._is_tried_enough(group) and name not in refused):
                continue
            seen.add(name)
            gang = same or self._pass.gang_on(group.id, name)
            if self._books.is_roomless(gang, name):
                continue
            if not self._may_ask(group, name, gang):
                return
            yield from self._offer(group, name, self._books.fits_now(gang, name))

    def _lucky(self, policy: PlacementPolicy) -> Mask:
        """By number, the clusters on which a policy takes a fit that needs luck."""
        if policy.name not in self._luck:
            lucky = [self._pass.accepts_tight(policy, name) for name in self._books.names]
            self._luck[policy.name] = np.array(lucky, dtype=np.bool_)
        return self._luck[policy.name]

    def _may_ask(self, group: Group, name: str, gang: Gang) -> bool:
        """Whether room for a gang may be sought on a cluster, and a proof; where not, nothing more is asked for it."""
        if self._pass.effort.allows(group, name, self._books[name].steps_for(gang)):
            return True
        self.tries.tight[group.id].setdefault(name, beyond(group))
        return False

    def _try(
        self, group: Group, name: str, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()
    ) -> Tight | None:
        """Try a gang in every order. What that took counts."""
        found = self._books.tight(gang, name, lucky=lucky, opened=opened)
        self._pass.effort.count(group, name, self._books[name].steps_of_trial(gang, lucky=lucky, opened=opened))
        return found

    @cached_property
    def _scaling(self) -> Mask:
        """By number, which clusters may be given machines."""
        return np.array([bool(self._books[name].nodes.types) for name in self._books.names], dtype=np.bool_)

    def _may_have_room(self, group_id: str, numbers: Indexes) -> Mask:
        """Which of some clusters are not ruled out now for a group that is not the same on all of them."""
        names = [self._books.names[number] for number in numbers.tolist()]
        open_: set[int] = set()
        for gang, where in self._pass.gangs_on(group_id, names):
            asked = self._books.numbers(where)
            open_.update(asked[self._books.may_have_room(gang, asked)].tolist())
        return np.array([number in open_ for number in numbers.tolist()], dtype=np.bool_)

    def ranked(self, group: Group, policy: PlacementPolicy, names: Iterable[str]) -> list[str]:
        """
        The policy's order, then those that are awake, then those that could run all that a group may have later, then where little is promised
        already, then where it breaks the fewest large blocks of devices, then the name.
        """
        gang = self._pass.rosters.typical(group.id)
        return list(self._in_order(gang, self._lined_up(group, policy, tuple(names))))

    def _in_order(self, gang: Gang, line: Line) -> Iterator[str]:
        names = self._books.names
        return (names[number] for number in self._books.best_first(gang, line.numbers, line.liked, line.against))

    def _lined_up(self, group: Group, policy: PlacementPolicy, names: tuple[str, ...]) -> Line:
        """Of some clusters those that have a ledger."""
        line, outlook = self._liked(policy, names), self._pass.outlook
        later = outlook.later(group)
        if later is None:
            return line
        return Line(
            line.numbers, line.liked, line.against * 2 + outlook.strands(group, later, self._books, line.numbers)
        )

    def _liked(self, policy: PlacementPolicy, names: tuple[str, ...]) -> Line:
        """The same for any group that a policy governs."""
        key = policy.name, names
        if key not in self._lines:
            numbers = self._books.numbers(names)
            found = [self._books.names[number] for number in numbers.tolist()]
            liked = np.array([self._pass.preference(policy, name) for name in found], dtype=np.int64)
            asleep = np.array([not self._pass.snapshot.is_awake(name) for name in found], dtype=np.int64)
            self._lines[key] = Line(numbers, liked, asleep)
        return self._lines[key]


def _cost(finding: Finding) -> tuple[bool, float]:
    """What the machines that must be added cost in an hour; one without a price comes after all that have one."""
    prices = [nodes.price_per_hour for nodes in finding.new_nodes]
    known = sum(nodes.count * (nodes.price_per_hour or 0.0) for nodes in finding.new_nodes)
    return None in prices, known
