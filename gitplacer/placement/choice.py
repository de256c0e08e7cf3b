"""
Which clusters a group goes to, and what is to be said of each cluster that it might go to.

A policy's favourites come first. Of clusters it likes equally those come last where much is promised already, then counts which
large blocks of devices stay whole. A cluster is taken if every order works, or if the policy accepts luck, and if the policy's
budget pays for machines that have to be added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.machines import LimitKind
from gitplacer.model.decision import Candidate, Finding, Reason, Verdict
from gitplacer.model.verdicts import Verdicts
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.effort import beyond
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Mask
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.purse import Purse
from gitplacer.placement.spreading import Spreading
from gitplacer.placement.stage import COARSE, NOT_TRIED, Tight
from gitplacer.placement.survey import Counts, Indexes
from gitplacer.placement.topology import Rule
from gitplacer.policies import BY_COST, DIVIDING
from gitplacer.relocation.memory import left_before
from gitplacer.source.manifests import PLATFORM

_MOST_TRIED = 3
"""Clusters on which one group is tried in every order, where that has no proof; on others that are as likely it is not placed."""
_MOST_UNPAID = 10
"""Clusters that one group may lose, when its copies are spread, to what its other copies use up of a budget or a quota."""
_TRIED = 2000
"""Where groups times clusters are more, a cluster that was not taken is not tried in every order just to tell."""
_TAKES = frozenset({
    Reason.FITS, Reason.FITS_BY_SCALE_UP, Reason.KUEUE_ADMITS, Reason.NOMINATED, Reason.PLATFORM, Reason.PODS_MAY_WAIT, Reason.ROOM,
})  # fmt: skip
"""Findings about a cluster that would take a group."""


@dataclass(frozen=True, slots=True)
class Line:
    """
    Some clusters, each by its index in the names of the books, with what is known of their order before anybody looks at them: how
    early a policy takes each, and whether it would have to be called.
    """

    numbers: Indexes
    liked: Counts
    asleep: Counts

    def only(self, which: Mask) -> Line:
        """Those for which it says so, cluster by cluster."""
        return Line(self.numbers[which], self.liked[which], self.asleep[which])

    def without(self, numbers: Indexes) -> Line:
        """The others."""
        return self.only(~np.isin(self.numbers, numbers)) if len(numbers) else self


@dataclass(frozen=True, slots=True)
class _Said:
    """
    What was found out about gangs on a cluster while its ledger stands as it does: by gang, admission, whether machines may come, and whether
    it was passed over.
    """

    ledger: Ledger
    version: int
    findings: dict[tuple[Gang, str, bool, bool], Finding] = field(default_factory=dict)

    def is_of(self, ledger: Ledger) -> bool:
        """Whether that is how a ledger stands."""
        return self.ledger is ledger and self.version == ledger.version


class Choice:
    """
    `tight` has by group the clusters on which it would find room, but not in every order, so that it was not placed there; `purse` tells
    what a group may have.
    """

    def __init__(self, shared: Pass, occupancy: Occupancy, kept: Verdicts) -> None:
        self._pass = shared
        self._occupancy = occupancy
        self._kept = kept
        self.tight: dict[str, dict[str, Finding]] = defaultdict(dict)
        self._refused: dict[str, set[str]] = defaultdict(set)
        """By group, the clusters among these on which it was tried in every order."""
        self._passed_over: dict[str, set[str]] = defaultdict(set)
        """By group, those that were not even looked at, because it had been tried on enough and has no proof there."""
        self.purse = Purse(shared, occupancy)
        self._lines: dict[tuple[str, tuple[str, ...]], Line] = {}
        self._luck: dict[str, Mask] = {}
        self._said: dict[str, _Said] = {}
        self.spreading = Spreading(shared)
        """Of groups whose copies are spread, what that came to."""

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
        entering = self._pass.may_enter(group, policy)
        if exclude:
            entering = tuple(name for name in entering if name not in exclude)
        if self._pass.nominations.settings(group) is not None:
            return {name: self._managed(group) for name in entering[:1]}
        line = self._lined_up(policy, entering)
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
            for name in self._in_order(self._pass.gangs[group.id], line):
                if len(chosen) < wanted and name not in chosen:
                    taken = self._take(group, policy, name, None, False)
                    if taken is not None:
                        chosen[name] = taken
        return chosen

    def _managed(self, group: Group) -> Finding:
        """Why a cluster has a group that is left to Kueue there."""
        return Finding(code=Reason.KUEUE_ADMITS, subject=", ".join(self._pass.nominations.nominated(group)))

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
            offers |= dict.fromkeys(self._in_order(self._pass.gangs[group.id], others), (None, False))
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
                    unpaid += name not in self.tight[group.id]
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
            short = _short(self._books.fit(gang, name, scale_up=self.scales(policy, name)))
            self._books.admit(group.id, name, gang)
            return self._scored(policy, name, replace(short, code=Reason.PODS_MAY_WAIT))
        paid = self.purse.affordable(group, policy, name, packing, self.purse.leaving.get(group.id, ()), scale_up)
        if isinstance(paid, Finding):
            self.purse.over_budget.setdefault(group.id, paid)
            return None
        promise = self._promised(group, policy, name, paid, scale_up)
        if promise is None:
            return None
        self.reserve(group, policy, name, *promise, gang)
        return self._scored(policy, name, promise[0])

    def promised(
        self, group: Group, policy: PlacementPolicy, name: str, *, scale_up: bool
    ) -> tuple[Finding, Packing] | None:
        """
        How a cluster would be taken for the pods that a group has there, beside those that its snapshot shows, and why; None if
        it would not.
        """
        if not self.purse.within_quota(group, name):
            return None
        scales = scale_up and self.scales(policy, name)
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
            for scale_up in ((False, True) if self.scales(policy, name) else (False,))
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
        for scale_up in (False, True) if self.scales(policy, name) else (False,):
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
        doubtful = self.tight[group.id]
        tried = self._refused[group.id]
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
                return _tight_finding(tight), packing
            more = self._books[name].with_machines_for(tight.left, packing) if scale_up else None
            if more is not None and self._try(group, name, gang, opened=more.opened) is None:
                return self._books.fitting(name, more), more
        refused = harm or tight
        assert refused is not None
        self._doubt(group, name, refused)
        return None

    def _doubt(self, group: Group, name: str, tight: Tight) -> None:
        """Remember why a cluster with room for a group was not taken."""
        self.tight[group.id][name] = found = _tight_finding(tight)
        if found.code is Reason.TIGHT_FIT:
            self._refused[group.id].add(name)
        else:
            self._refused[group.id].discard(name)

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
        open_ = line.only(self._scaling[line.numbers] if scale_up else self._may_have_room(group.id, line.numbers))
        refused, looked, same = self._refused[group.id], list[str](), self._pass.gang_anywhere(group.id)
        for name in self._in_order(self._pass.gangs[group.id], open_):
            if not scale_up and len(refused) >= _MOST_TRIED and name not in refused:
                yield from self._proved(group, policy, open_.without(self._books.numbers(looked)))
                return
            looked.append(name)
            gang = same or self._pass.gang_on(group.id, name)
            if not scale_up and self._books.is_roomless(gang, name):
                continue
            if not self._may_ask(group, name, gang):
                return
            packing = self._books.fit(gang, name, scale_up=True) if scale_up else self._books.fits_now(gang, name)
            self._pass.effort.count(group, name, packing.steps)
            if isinstance(packing, Packing):
                yield name, packing

    def _proved(self, group: Group, policy: PlacementPolicy, line: Line) -> Iterator[tuple[str, Packing]]:
        """
        Of clusters on which a group is not tried any more those that take it without: where every order is proved to work, or the
        policy takes luck. A proof is likeliest where most room is left for each pod that is to come; it is looked for everywhere,
        since what has none now has none later in this pass, and is never asked again.
        """
        passed_over, same = self._passed_over[group.id], self._pass.gang_anywhere(group.id)
        order = self._books.roomiest_first(self._pass.gangs[group.id], line.numbers, (line.liked, line.asleep))
        for name in self._worth_asking(same, policy, order, passed_over):
            gang = same or self._pass.gang_on(group.id, name)
            if not self._pass.accepts_tight(policy, name):
                if self._books.is_unproved(gang, name):
                    passed_over.add(name)
                    continue
                if not self._may_ask(group, name, gang):
                    return
                if not self._books.proves(gang, name):
                    passed_over.add(name)
                    continue
            packing = self._books.fits_now(gang, name)
            self._pass.effort.count(group, name, packing.steps)
            if isinstance(packing, Packing):
                yield name, packing

    def _worth_asking(
        self, gang: Gang | None, policy: PlacementPolicy, order: Indexes, passed_over: set[str]
    ) -> Iterator[str]:
        """
        Of clusters in an order those that may prove room for a gang, or need not. Others on the way are passed over without a look
        at any: a fleet has many more of them than of these.
        """
        hopeless = self._books.hopeless(gang, order) if gang is not None else np.zeros(len(order), dtype=np.bool_)
        if hopeless.any():
            hopeless &= ~self._lucky(policy)[order]
        names, looked = self._books.names, 0
        for index in np.flatnonzero(~hopeless).tolist():
            passed_over.update(names[number] for number in order[looked:index].tolist())
            looked = index + 1
            yield names[order[index]]
        passed_over.update(names[number] for number in order[looked:].tolist())

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
        self.tight[group.id].setdefault(name, beyond(group))
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
        """Which of some clusters are not ruled out for a group now."""
        gang = self._pass.gang_anywhere(group_id)
        if gang is not None:
            return self._books.may_have_room(gang, numbers)
        names = [self._books.names[number] for number in numbers.tolist()]
        open_: set[int] = set()
        for gang, where in self._pass.gangs_on(group_id, names):
            asked = self._books.numbers(where)
            open_.update(asked[self._books.may_have_room(gang, asked)].tolist())
        return np.array([number in open_ for number in numbers.tolist()], dtype=np.bool_)

    def ranked(self, gang: Gang, policy: PlacementPolicy, names: Iterable[str]) -> list[str]:
        """
        The policy's order, then those that are awake, then where little is promised already, then where a gang breaks the fewest
        large blocks of devices, then the name.
        """
        return list(self._in_order(gang, self._lined_up(policy, tuple(names))))

    def _in_order(self, gang: Gang, line: Line) -> Iterator[str]:
        return self._books.best_first(gang, line.numbers, (line.liked, line.asleep))

    def _lined_up(self, policy: PlacementPolicy, names: tuple[str, ...]) -> Line:
        """Of some clusters those that have a ledger."""
        key = policy.name, names
        if key not in self._lines:
            numbers = self._books.numbers(names)
            found = [self._books.names[number] for number in numbers.tolist()]
            liked = np.array([self._pass.preference(policy, name) for name in found], dtype=np.int64)
            asleep = np.array([not self._pass.snapshot.is_awake(name) for name in found], dtype=np.int64)
            self._lines[key] = Line(numbers, liked, asleep)
        return self._lines[key]

    def _fits_now(self, gang: Gang, name: str) -> Finding:
        """What there is to say of a cluster that has room for a gang now."""
        if len(self._pass.groups) * len(self._pass.clusters) > _TRIED:
            return Finding(code=Reason.ROOM)
        tight = self._books.tight(gang, name)
        return Finding(code=Reason.FITS) if tight is None else _tight_finding(tight)

    def _room_for(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        if group.unit == PLATFORM:
            return Finding(code=Reason.PLATFORM)
        gang = self._pass.gang_on(group.id, name)
        over = self.purse.exceeded(group, name, self._occupancy.placements.get(group.id, ()))
        if over is not None:
            return over
        if name in self.tight[group.id]:
            return self.tight[group.id][name]
        if self.purse.payers(group, policy):
            return self._room_of(group, policy, name, gang)
        # Nothing below is about this group but its gang and its policy, and most gangs have others that are their like.
        ledger, said = self._books[name], self._said.get(name)
        if said is None or not said.is_of(ledger):
            said = self._said[name] = _Said(ledger, ledger.version)
        passed_over = name in self._passed_over[group.id]
        key = gang, policy.spec.placement.admission, self.scales(policy, name), passed_over
        if key not in said.findings:
            said.findings[key] = self._room_of(group, policy, name, gang)
        return said.findings[key]

    def _room_of(self, group: Group, policy: PlacementPolicy, name: str, gang: Gang) -> Finding:
        """What there is to say of a cluster's room for a gang as its ledger stands, and of who pays for machines."""
        ledger, scales, here = (
            self._books[name],
            self.scales(policy, name),
            self._occupancy.placements.get(group.id, ()),
        )
        now = self._books.fit(gang, name, scale_up=False)
        later = self._books.fit(gang, name, scale_up=True) if scales and isinstance(now, Shortfall) else now
        if isinstance(later, Packing):
            paid = self.purse.affordable(group, policy, name, later, here, isinstance(now, Shortfall))
            if isinstance(paid, Finding):
                return paid
            finding = self._books.fitting(name, paid)
            if finding.code is Reason.FITS and name in self._passed_over[group.id]:
                return Finding(code=Reason.ROOM)
            return self._fits_now(gang, name) if finding.code is Reason.FITS else finding
        if policy.spec.placement.admission == "Immediate":
            return replace(_short(later), code=Reason.PODS_MAY_WAIT)
        short = _short(later)
        if len(short.tally) == 1 and short.tally[0].reason is not Reason.INSUFFICIENT_CAPACITY and not scales:
            return replace(short, code=short.tally[0].reason, subject=short.tally[0].subject)
        if any(limit.kind == LimitKind.EXHAUSTED for limit in short.limits) and ledger.fits_unless_exhausted(gang):
            return replace(short, code=Reason.NODE_GROUP_EXHAUSTED)
        if short.code is not Reason.INSUFFICIENT_CAPACITY:
            return short
        exceeds = self._pass.exceeds(gang, ledger, name, scales)
        return replace(short, code=Reason.EXCEEDS_CLUSTER) if exceeds else short

    def _room_for_others(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The verdict on a cluster's room; what is kept for somebody else is told as that, and never as a shortage."""
        finding = self._room_for(group, policy, name)
        kept_for = self._occupancy.reservations.on(name)
        if not kept_for or _fits(finding) or group.unit == PLATFORM:
            return finding
        ledger = self._books[name]
        self._books.replace(name, self._occupancy.unreserved(name))
        whole = self._room_for(group, policy, name)
        self._books.replace(name, ledger)
        others = ", ".join(other for other in kept_for if other != group.id)
        return Finding(code=Reason.RESERVED_FOR, subject=others) if others and _fits(whole) else whole

    def _left_lately(self, group: Group, name: str) -> Finding | None:
        """Why a group does not go to a cluster by itself for a while."""
        record = self._pass.records.get(group.id)
        left = record is not None and record.moves and name in left_before(record, self._pass.snapshot)
        return Finding(code=Reason.LEFT_BEFORE) if left else None

    def _spoken_for(self, group: Group, name: str) -> Finding | None:
        """Why a group may not look for room on a cluster: it left it for another, or waits for those who leave."""
        preemptor = self._occupancy.reservations.closed_to(group.id).get(name)
        if preemptor is not None:
            return Finding(code=Reason.PREEMPTED_BY, subject=preemptor)
        claim = self._occupancy.reservations.claim_of(group.id)
        if claim is not None and claim.cluster == name:
            return Finding(code=Reason.WAITS_FOR_PREEMPTED, subject=", ".join(claim.displaced))
        return None

    def verdict(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """What there is to say of a cluster that a group is not on."""
        left = self._pass.nominations.settings(group)
        if left is not None and name != left.manager:
            return self._pass.nominations.verdict(group, policy, name)
        if left is not None:
            return self._pass.may_not_enter(group, policy, self._pass.clusters[name]) or self._managed(group)
        return (
            self._pass.may_not_enter(group, policy, self._pass.clusters[name])
            or self._left_lately(group, name)
            or self._spoken_for(group, name)
            or self._room_unless_spread(group, policy, name)
        )

    def _may_enter(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        return self._pass.may_not_enter(group, policy, self._pass.clusters[name]) is None

    def _room_unless_spread(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The verdict on a cluster's room, or that it was passed over, with room, so that copies are spread."""
        found, passed_over = self._room_for_others(group, policy, name), self.spreading.passed_over(group, name)
        return passed_over if passed_over is not None and _fits(found) else found

    def candidates(
        self, group: Group, policy: PlacementPolicy, after: Sequence[str], chosen: Mapping[str, Finding], *, waits: bool
    ) -> tuple[Candidate, ...]:
        """Every cluster's verdict on a group, which waits for room or not, sorted by name; empty if nobody asked for them."""
        if not self._kept.are_kept(group.id, waits=waits):
            return ()
        found = []
        for name in sorted(self._pass.clusters):
            if name in after:
                kept = chosen.get(name, Finding(code=Reason.KEPT))
                found.append(Candidate(name, Verdict.CHOSEN, self._scored(policy, name, kept)))
                continue
            finding = self.verdict(group, policy, name)
            if policy.spec.placement.divides_by_room and not waits and after and self._may_enter(group, policy, name):
                finding = Finding(code=Reason.NO_SHARE, subject=", ".join(after))
            takes = _fits(finding) or (finding.code is Reason.TIGHT_FIT and self._pass.accepts_tight(policy, name))
            fits = takes and name not in self.tight[group.id] and name not in self._passed_over[group.id]
            finding = self._scored(policy, name, finding)
            found.append(Candidate(name, Verdict.FEASIBLE if fits else Verdict.REJECTED, finding))
        return tuple(found)

    def _scored(self, policy: PlacementPolicy, name: str, finding: Finding) -> Finding:
        """A finding about a cluster with what it scored, where that makes the order."""
        score = self._pass.scoring.of(policy, name)
        return finding if score is None else replace(finding, score=score)

    def kept_candidates(self, group: Group, here: Sequence[str]) -> tuple[Candidate, ...]:
        """Those of a group that stays where it is."""
        if group.policy is None:
            return ()
        return self.candidates(group, group.policy, here, {}, waits=False)

    def scales(self, policy: PlacementPolicy, name: str) -> bool:
        """Whether a policy may count on nodes that a cluster can add."""
        return may_scale_up(policy) and bool(self._books[name].nodes.types)


def _tight_finding(tight: Tight) -> Finding:
    if tight is NOT_TRIED:
        return Finding(code=Reason.ROOM)
    if tight is COARSE:
        return Finding(code=Reason.TIGHT_FIT, subject="coarse")
    return Finding(code=Reason.TIGHT_FIT, subject=f"{tight.order}; {tight.scoring}", role=tight.pod)


def _fits(finding: Finding) -> bool:
    """Whether a verdict is that the cluster can take the group."""
    return finding.code in _TAKES


def _cost(finding: Finding) -> tuple[bool, float]:
    """What the machines that must be added cost in an hour; one without a price comes after all that have one."""
    prices = [nodes.price_per_hour for nodes in finding.new_nodes]
    known = sum(nodes.count * (nodes.price_per_hour or 0.0) for nodes in finding.new_nodes)
    return None in prices, known


def _short(shortfall: Shortfall | Packing) -> Finding:
    assert isinstance(shortfall, Shortfall)
    return Finding(
        code=shortfall.code,
        role=shortfall.role,
        placed=shortfall.placed,
        wanted=shortfall.wanted,
        short=shortfall.short,
        nodes=shortfall.nodes,
        tally=shortfall.tally,
        limits=shortfall.limits,
    )
