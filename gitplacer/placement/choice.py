"""
Which clusters a group goes to.

Of the clusters that offer room (`offers`), the first are taken. A cluster is taken if every order works, or if the
policy accepts a tight fit, and if budgets pay for machines that have to be added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.verdicts import Verdicts
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.effort import effort_spent
from gitplacer.placement.evaluation import Evaluation, can_scale, falls_short, left_out
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.offers import Offers, Ranking
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing
from gitplacer.placement.quotas import Quotas
from gitplacer.placement.spreading import Spreading
from gitplacer.placement.stage import Tight
from gitplacer.placement.topology import Rule
from gitplacer.placement.tries import Tries
from gitplacer.policies import DIVIDING

_MOST_UNPAID = 10
"""Clusters that one group may lose, when its copies are spread, to what its other copies use up of a budget or a quota."""


class Choice:
    """
    `tries` says what came of looking for room, `offers` which clusters have some, `quotas` what a group may still have,
    `spreading` what became of copies that are spread, and `evaluation` the verdict on each cluster.
    """

    def __init__(self, shared: Pass, occupancy: Occupancy, kept: Verdicts) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self.tries = Tries()
        self.quotas = Quotas(shared, occupancy)
        self.spreading = Spreading(shared)
        self.evaluation = Evaluation(shared, occupancy, kept, self.tries, self.quotas, self.spreading)
        self.offers = Offers(shared, occupancy, self.tries)

    @property
    def books(self) -> Books:
        """The ledgers as far as the round has come."""
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
        ranking = self.offers.ranking(group, policy, entering).without(self.books.numbers(exclude))
        ways = [way for way in (False, True) if not way or may_scale_up(policy)]
        ways = [way for way in ways if only is None or way is (only == "ScaleUp")]
        rules = () if policy.spec.placement.type in DIVIDING else self._pass.spread_rules(group, policy)
        if rules:
            return self._choose_spread(group, policy, rules, ranking, ways, wanted, beside)
        for scale_up in ways:
            for name, packing in self.offers.of(group, policy, ranking.without(self.books.numbers(chosen)), scale_up):
                taken = self._take(group, policy, name, packing, scale_up)
                if taken is not None:
                    chosen[name] = taken
                    if len(chosen) == wanted:
                        return chosen
        if policy.spec.placement.admission == "Immediate":
            for name in self.offers.in_order(group, ranking):
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
        ranking: Ranking,
        ways: Sequence[bool],
        wanted: int,
        beside: Collection[str],
    ) -> dict[str, Finding]:
        """
        `choose` for copies that are spread. They are chosen together: each cluster is asked for an offer first, and one
        that then cannot keep it, because other copies have used up a budget or a quota, or for want of a proof, is left
        out of the next choice.
        """
        offers: dict[str, tuple[Packing | None, bool]] = {}
        for scale_up in ways:
            known = ranking.without(self.books.numbers(offers))
            offers |= {name: (packing, scale_up) for name, packing in self.offers.of(group, policy, known, scale_up)}
        if policy.spec.placement.admission == "Immediate":
            others = ranking.without(self.books.numbers(offers))
            offers |= dict.fromkeys(self.offers.in_order(group, others), (None, False))
        offers = {name: offer for name, offer in offers.items() if self.quotas.within_quota(group, name)}
        leaving, unpaid = self.quotas.leaving.get(group.id, ()), 0
        stay = [name for name in self._occupancy.placements.get(group.id, ()) if name not in leaving]
        chosen: dict[str, Finding] = {}
        while True:
            best = self.spreading.pick(group, rules, list(offers), kept={*stay, *beside}, wanted=wanted)
            for name in [name for name in chosen if name not in best]:
                del chosen[name]
                self.books.release(group.id, name)
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
        Reserve what a cluster offers and return why it was taken; None if quotas, budgets or promises to others forbid
        it. Without a packing the group is admitted whatever the room.
        """
        if not self.quotas.within_quota(group, name):
            return None
        gang = self._pass.gang_on(group.id, name)
        if packing is None:
            found = self.books.fit(gang, name, scale_up=can_scale(self.books, policy, name))
            if isinstance(found, Packing) and self._paid(group, policy, name, found, True) is None:
                return None
            short = Finding(code=Reason.PODS_MAY_WAIT) if isinstance(found, Packing) else falls_short(found)
            self.books.admit(group.id, name, gang)
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
        """
        The packing that budgets pay for, starting from what a cluster offers; None, which is noted, if they pay for
        none.
        """
        paid = self.quotas.affordable(group, policy, name, packing, self.quotas.leaving.get(group.id, ()), scale_up)
        if isinstance(paid, Packing):
            return paid
        self.quotas.over_budget.setdefault(group.id, paid)
        self.quotas.unpaid[group.id].add(name)
        return None

    def promised(
        self, group: Group, policy: PlacementPolicy, name: str, *, scale_up: bool
    ) -> tuple[Finding, Packing] | None:
        """
        How and why a cluster would be taken for the pods that a group has there and its snapshot does not show; None if
        it would not.
        """
        if not self.quotas.within_quota(group, name):
            return None
        scales = scale_up and can_scale(self.books, policy, name)
        missing = self.books[name].shown.not_seen(group.id, self._pass.gang_on(group.id, name))
        packing = self.books.fit(missing, name, scale_up=scales)
        if not isinstance(packing, Packing):
            return None
        paid = self.quotas.affordable(
            group, policy, name, packing, self.quotas.leaving.get(group.id, ()), scales, missing
        )
        return None if isinstance(paid, Finding) else self._promised(group, policy, name, paid, scales, missing)

    def reserve(
        self, group: Group, policy: PlacementPolicy, name: str, finding: Finding, packing: Packing, gang: Gang
    ) -> None:
        """Take the room by which a group was promised a cluster for some pods."""
        sure, lucky = finding.code is Reason.FITS, self._pass.accepts_tight(policy, name)
        self.books.reserve(group.id, name, packing, gang, sure=sure, lucky=lucky)

    def has_room(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """
        Whether a cluster has room, and budgets pay, for all that a group asks for there beside what the snapshot shows
        of it.
        """
        before = self.books[name].copy()
        self.books.release(group.id, name)
        missing = self.books[name].shown.not_seen(group.id, self._pass.gang_on(group.id, name))
        fits = any(True for _ in self._affordable(group, policy, name, missing))
        self.books.replace(name, before)
        return fits

    def more(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """
        Reserve room for all that a group asks for now on a cluster where it is, with why it was taken; None if there is not
        enough, and it keeps what it has.
        """
        if not self.quotas.within_quota(group, name):
            return None
        before = self.books[name].copy()
        self.books.release(group.id, name)
        missing = self.books[name].shown.not_seen(group.id, self._pass.gang_on(group.id, name))
        for scale_up, paid in self._affordable(group, policy, name, missing):
            promise = self._promised(group, policy, name, paid, scale_up, missing)
            if promise is not None:
                self.reserve(group, policy, name, *promise, missing)
                return promise[0]
        if policy.spec.placement.admission == "Immediate":
            self.books.admit(group.id, name, missing)
            return Finding(code=Reason.PODS_MAY_WAIT)
        self.books.replace(name, before)
        return None

    def _affordable(
        self, group: Group, policy: PlacementPolicy, name: str, missing: Gang
    ) -> Iterator[tuple[bool, Packing]]:
        """
        Packings that budgets pay for, each with whether it adds machines: on room that is free, then with machines that
        are added.
        """
        for scale_up in (False, True) if can_scale(self.books, policy, name) else (False,):
            packing = self.books.fit(missing, name, scale_up=scale_up)
            if isinstance(packing, Packing):
                paid = self.quotas.affordable(group, policy, name, packing, (), scale_up, missing)
                if isinstance(paid, Packing):
                    yield scale_up, paid

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
        finding = self.books.fitting(name, packing)
        gang = self._pass.gang_on(group.id, name) if gang is None else gang
        accepted = self._pass.accepts_tight(policy, name)
        there, careless = finding.code is Reason.FITS, self._pass.is_careless(policy, name)
        if self.books.proves(gang, name, lucky=not there, opened=packing.opened) or (not there and careless):
            return finding, packing
        doubtful = self.tries.tight[group.id]
        refused_before = name in self.tries.refused[group.id]
        if not accepted and not refused_before and self.tries.is_tried_enough(group.id):
            doubtful[name] = Finding(code=Reason.ROOM)
            return None
        if not self._pass.effort.allows(group, name, 1):
            doubtful[name] = effort_spent(group)
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
            more = self.books[name].with_machines_for(tight.left, packing) if scale_up else None
            if more is not None and self._try(group, name, gang, opened=more.opened) is None:
                return self.books.fitting(name, more), more
        refused = harm or tight
        assert refused is not None
        self._doubt(group, name, refused)
        return None

    def _doubt(self, group: Group, name: str, tight: Tight) -> None:
        """Note why a cluster with room for a group was not taken."""
        self.tries.tight[group.id][name] = found = left_out(tight)
        if found.code is Reason.TIGHT_FIT:
            self.tries.refused[group.id].add(name)
        else:
            self.tries.refused[group.id].discard(name)

    def _tried(
        self, group: Group, name: str, gang: Gang, finding: Finding, packing: Packing
    ) -> tuple[Finding, Packing] | None:
        """The same for pods on machines that are there, where nothing less than every order will do."""
        tight = self.books.doubts.refused(gang, name) or self._try(group, name, gang)
        if tight is None:
            return finding, packing
        self.books.doubts.refuse(gang, name, tight)
        self._doubt(group, name, tight)
        return None

    def _try(
        self, group: Group, name: str, gang: Gang, *, lucky: bool = False, opened: Sequence[str] = ()
    ) -> Tight | None:
        """Try a gang in every order. The steps of the trial are counted."""
        found = self.books.tight(gang, name, lucky=lucky, opened=opened)
        self._pass.effort.count(group, name, self.books[name].steps_of_trial(gang, lucky=lucky, opened=opened))
        return found
