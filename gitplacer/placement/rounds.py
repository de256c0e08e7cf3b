"""
One round of planning: from where everything is to where everything goes.

What is placed is kept; what has to leave looks for another cluster; what waits is tried in the order of `order`, may make
others leave as `preemption` says, and has room kept for it as `reservations` says. The ledgers are opened only when
something is to be placed or verdicts are asked for.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial

from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.machines import LimitKind
from gitplacer.model.decision import Action, Candidate, Claim, Decision, Finding, Reason, Verdict
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.budget import Budgets
from gitplacer.placement.evidence import may_have_started, seen_unstarted, speaks_of
from gitplacer.placement.ledger import Ledger, has_finished
from gitplacer.placement.onepass import Pass
from gitplacer.placement.order import Shares, Waiting, holder, turns
from gitplacer.placement.pack import Packing, Shortfall
from gitplacer.placement.preemption import SITES, Displaceable, Site, least_harm
from gitplacer.placement.reservations import AGED, AGED_SITES, NOBODY, Reservations
from gitplacer.placement.stage import NOT_TRIED, Tight
from gitplacer.policies import BY_COST
from gitplacer.source.manifests import PLATFORM, WORKLOADS

Placements = Mapping[str, tuple[str, ...]]
"""Id of a group or record to the clusters that have its files."""

Claims = Mapping[str, Claim]
"""Id of a group that waits to the room that is kept for it."""


class Round:
    """One round: from where everything is to where everything goes."""

    def __init__(self, shared: Pass, placements: Placements, claims: Claims, with_candidates: bool) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot
        self._placements = placements
        self._with_candidates = with_candidates
        self._gone: set[str] = set()
        self._tight: dict[str, dict[str, Finding]] = defaultdict(dict)
        """By group the clusters on which it would find room, but not in every order, so that it was not placed there."""
        self._over_budget: dict[str, Finding] = {}
        self._leaving: dict[str, tuple[str, ...]] = {}
        """The clusters that a group gives up for where it goes."""
        self._decided: set[str] = set()
        self._shares: Shares | None = None
        self._here: dict[str, set[str]] = defaultdict(set)
        """Who is on each cluster as far as the round has come."""
        for group_id, clusters in placements.items():
            for cluster in clusters:
                self._here[cluster].add(group_id)
        self._holding: dict[tuple[str, str], Resources] = {}
        self._plain: dict[str, tuple[frozenset[str], Ledger]] = {}
        self._displaced: dict[str, dict[str, str]] = defaultdict(dict)
        """Groups that make room in this round: where, and for whom."""
        left = {group_id: claim for group_id, claim in claims.items() if claim.displaced}
        self._reservations = Reservations(left, self._ledger, self._take, self._ending)
        self._aged = {group_id: claim.cluster for group_id, claim in claims.items() if not claim.displaced}
        """Where room was kept for groups that have waited long."""
        self._outgrown: set[tuple[str, str]] = set()
        """Groups that no longer find room for all their pods where they are; known once the ledgers are open."""

    def decide(self) -> list[Decision]:
        """A decision for every group and every record without a group, in no particular order."""
        done = [self._settle(self._orphan(record)) for record in self._pass.orphans.values()]
        self._gone = {d.group for d in done if d.action is Action.REMOVE}
        staying, leaving, waiting = [], [], []
        for group in self._pass.groups.values():
            stop = self._pass.held.get(group.id)
            if stop is not None or group.policy is None:
                done.append(self._settle(self._held(group, stop or Finding(code=Reason.NO_POLICY))))
                continue
            if group.unit == PLATFORM:
                done.append(self._settle(self._spread(group, group.policy)))
                continue
            triggers = self._triggers(group, group.policy)
            if triggers:
                leaving.append(group)
            elif self._is_complete(group, group.policy):
                staying.append(group)
            else:
                waiting.append(group)
        for group in sorted(leaving, key=self._turn):
            done.append(self._settle(self._leave(group)))
        for group in self._in_turn(waiting):
            done.append(
                self._settle(self._preempted(group) if group.id in self._displaced else self._add_copies(group))
            )
        done += [self._preempted(group) if group.id in self._displaced else self._keep(group) for group in staying]
        return done

    def _settle(self, decision: Decision) -> Decision:
        """Note where a group is now, and whose share that is."""
        self._decided.add(decision.group)
        for cluster in set(decision.before) - set(decision.after):
            self._here[cluster].discard(decision.group)
        come = set(decision.after) - set(decision.before)
        for cluster in come:
            self._here[cluster].add(decision.group)
        if self._shares is not None:
            self._count(self._shares, decision.group, come)
        return decision

    def _in_turn(self, groups: Iterable[Group]) -> Iterator[Group]:
        """Groups that look for room, as their turn comes."""
        by_id = {group.id: group for group in groups}
        for one in turns(map(self._waiting, by_id.values()), self._snapshot.now, self._held_by_each):
            yield by_id[one.group]

    def _waiting(self, group: Group) -> Waiting:
        rank, since, _ = self._turn(group)
        return Waiting(group=group.id, priority=-rank, since=since)

    def _held_by_each(self) -> Shares:
        """What every holder has of the fleet as far as the round has come, claims included."""
        if self._shares is None:
            self._shares = Shares(self._pass.offered)
            for name, groups in self._here.items():
                for group_id in groups:
                    self._count(self._shares, group_id, [name])
            for group_id, claim in self._reservations.claims():
                self._count(self._shares, group_id, [claim.cluster])
        return self._shares

    def _count(self, shares: Shares, group_id: str, clusters: Iterable[str]) -> None:
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        if group.unit == PLATFORM if group is not None else record is not None and record.is_platform:
            return
        for name in clusters:
            if name in self._pass.books and not self._has_finished(self._pass.books[name], group_id, name):
                shares.take(holder(group_id), self._pass.requests(group_id, name))

    def _turn(self, group: Group) -> tuple[int, datetime, str]:
        """Priority first, then the longest waiting, then the name."""
        assert group.policy is not None
        record = self._pass.records[group.id]
        since = record.waiting_since if record and record.waiting_since else self._snapshot.now
        return -group.policy.spec.priority, since, group.id

    # what is placed

    @cached_property
    def _books(self) -> Books:
        """The ledgers with the room of everything that is placed taken."""
        books = self._pass.books.copy()
        by_cluster: dict[str, list[str]] = defaultdict(list)
        for group_id, clusters in self._placements.items():
            for cluster in clusters:
                if group_id not in self._gone and cluster in books:
                    by_cluster[cluster].append(group_id)
        for cluster, group_ids in by_cluster.items():
            ledger, left_over = self._replayed(self._pass.books[cluster], cluster, group_ids)
            self._outgrown |= {(group_id, cluster) for group_id in left_over}
            books.replace(cluster, ledger)
        for cluster in self._reservations.claimed():
            self._reservations.drop_those_that_fail(cluster)
            books.replace(cluster, self._reservations.for_others(cluster))
        return books

    def _replayed(self, empty: Ledger, cluster: str, group_ids: Iterable[str]) -> tuple[Ledger, list[str]]:
        """A copy of a ledger with the room of groups taken, and the gangs that find none for all their pods."""
        # As they came is how they were promised their room. Where packing them one after another fails that way, the
        # largest go first; where it still fails, the cluster is overfull, and takes nothing new.
        for order in (self._arrival, self._size):
            ledger = empty.copy()
            left_over = [
                g for g in sorted(group_ids, key=partial(order, cluster)) if not self._reserved(ledger, g, cluster)
            ]
            if not left_over:
                break
        gangs = [group_id for group_id in left_over if self._is_gang(group_id)]
        if not all(self._waits_on_its_node(group_id, cluster) for group_id in gangs):
            ledger.close()
        return ledger, gangs

    def _ledger(self, cluster: str, *, without: frozenset[str] = NOBODY, settled: bool = False) -> Ledger:
        """
        A cluster with the room of everybody taken who is on it but `without`; `settled`: and of nobody who has left. Who
        had to leave is on it until a snapshot tells of the time after.
        """
        here = self._here[cluster] - without
        if settled:
            return self._replayed(self._pass.settled(cluster, here), cluster, here)[0]
        for claimant in self._reservations.on(cluster):
            claim = self._reservations.claim_of(claimant)
            if claim is not None and not self._pass.is_clear(claimant, claim):
                here |= self._pass.groups.keys() & set(claim.displaced)
        return self._replayed(self._pass.books[cluster], cluster, here)[0]

    def _take(self, ledger: Ledger, group_id: str, cluster: str) -> Packing | None:
        """Reserve a waiting group's room in a ledger of a cluster, if there is enough."""
        group = self._pass.groups[group_id]
        scales = group.policy is not None and self._may_scale_up(group.policy) and bool(ledger.nodes.types)
        gang = self._pass.gang_on(group_id, cluster)
        packing = ledger.fit(gang, scale_up=scales)
        if not isinstance(packing, Packing):
            return None
        lucky = group.policy is not None and self._accepts_tight(group.policy, cluster)
        sure = packing.is_there and ledger.is_certain(gang)
        if packing.is_there and not sure and not lucky:
            return None  # nobody is sent away, and no room is kept, for what would then be refused
        ledger.reserve(group_id, packing, gang, sure=sure)
        return packing

    def _ending(self, cluster: str, since: datetime) -> frozenset[str]:
        """The groups that were on a cluster before a time, and end by themselves and then give their room back."""
        there = ((g, self._pass.groups.get(g), self._pass.entry(g, cluster)) for g in self._here[cluster])
        return frozenset(g for g, group, entry in there if entry and entry.since < since and self._releases(group))

    def _waits_on_its_node(self, group_id: str, cluster: str) -> bool:
        """Whether a group that found no room has but pods that are each for one node, and take nothing on another."""
        return all(pods.shape.node_name for pods in self._pass.gang_on(group_id, cluster))

    def _arrival(self, cluster: str, group_id: str) -> tuple[datetime, int, str]:
        """When a group came to a cluster, as the record that this pass writes will say."""
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        entry = self._pass.entry(group_id, cluster)
        begun_anew = group is not None and record is not None and not self._snapshot.tells_of(record, group)
        since = self._snapshot.now if entry is None or begun_anew else entry.since
        return since, -(group.policy.spec.priority if group and group.policy else 0), group_id

    def _size(self, cluster: str, group_id: str) -> tuple[float, str]:
        """The largest share of what the cluster offers that one pod of a group asks for; largest first."""
        room = self._pass.books[cluster].empty_room()
        shares = [room.takes(pods.shape).share for pods in self._pass.gang_on(group_id, cluster)]
        return -max(shares, default=0.0), group_id

    def _is_gang(self, group_id: str) -> bool:
        """Whether a group was promised room for all its pods."""
        group = self._pass.groups.get(group_id)
        if group is None or group.policy is None:
            return True
        return group.unit != PLATFORM and group.policy.spec.placement.admission == "Gang"

    def _reserved(self, ledger: Ledger, group_id: str, cluster: str) -> bool:
        """Take a placed group's room; whether there was room for all of it."""
        group = self._pass.groups.get(group_id)
        scale_up = group is None or group.policy is None or self._may_scale_up(group.policy)
        finished = self._has_finished(ledger, group_id, cluster)
        record = self._pass.record(group_id)
        sure = self._is_gang(group_id) and (record is None or record.reason not in (Reason.TIGHT_FIT, Reason.ROOM))
        gang = self._pass.gang_on(group_id, cluster)
        return ledger.reserve_placed(group_id, gang, finished=finished, scale_up=scale_up, sure=sure)

    def _has_finished(self, ledger: Ledger, group_id: str, cluster: str) -> bool:
        """Whether a placed group has come to its end, and holds nothing any more."""
        entry = self._pass.entry(group_id, cluster)
        return (
            entry is not None
            and self._releases(self._pass.groups.get(group_id))
            and has_finished(ledger.running(group_id))
            and speaks_of(self._snapshot.capacity[cluster], entry, WORKLOADS)
        )

    @staticmethod
    def _releases(group: Group | None) -> bool:
        """Whether a finished group holds nothing: all its members run to completion and give back what they had."""
        sized = group.sized if group else ()
        return bool(sized) and all(m.facts.releases_when_finished for m in sized)

    @staticmethod
    def _may_scale_up(policy: PlacementPolicy) -> bool:
        return policy.spec.placement.scale_up == "IfNeeded"

    def _scales(self, policy: PlacementPolicy, name: str) -> bool:
        """Whether a policy may count on nodes that a cluster can add."""
        return self._may_scale_up(policy) and bool(self._books[name].nodes.types)

    def _triggers(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """For each cluster that a group is on and has to leave, why."""
        found = {}
        for name in self._placements.get(group.id, ()):
            cluster = self._pass.clusters.get(name)
            if cluster is None:
                found[name] = Finding(code=Reason.CLUSTER_LOST, subject=name)
            elif (unmet := self._pass.may_not_stay(group, policy, cluster)) is not None:
                found[name] = replace(
                    unmet, code=Reason.NOT_ELIGIBLE, subject=f"{name}: {unmet.code} {unmet.subject}".strip()
                )
            elif cluster.spec.state == "Lost":
                found[name] = Finding(code=Reason.CLUSTER_LOST, subject=name)
            elif cluster.spec.state == "Draining":
                found[name] = Finding(code=Reason.CLUSTER_DRAINING, subject=name)
        return found

    def _wanted(self, group: Group, policy: PlacementPolicy) -> int:
        """How many copies there should be; for All, as many as clusters that take new groups or have it."""
        copies = policy.spec.placement.copies
        if copies != "All":
            return copies
        here = set(self._placements.get(group.id, ()))
        clusters = self._pass.clusters.values()
        return sum(
            self._pass.may_not_stay(group, policy, c) is None and (c.name in here or c.spec.state == "Active")
            for c in clusters
        )

    def _is_complete(self, group: Group, policy: PlacementPolicy) -> bool:
        here = self._placements.get(group.id, ())
        return bool(here) and len(here) == self._wanted(group, policy)

    # decisions about one group

    def _orphan(self, record: PlacementRecord) -> Decision:
        """A record whose group is no longer in the source: remove it, unless it may only be unreadable."""
        before = self._placements.get(record.id, ())
        stop = self._pass.kept.get(record.id)
        finding = stop or Finding(code=Reason.SOURCE_REMOVED)
        return Decision(
            group=record.id, policy=record.policy, action=Action.HOLD if stop else Action.REMOVE, before=before,
            after=before if stop else (), finding=finding,
            blocked_by=() if finding.code is Reason.REMOVAL_NEEDS_APPROVAL else _words(finding.subject),
        )  # fmt: skip

    def _held(self, group: Group, finding: Finding) -> Decision:
        record = self._pass.records[group.id]
        before = self._placements.get(group.id, ())
        blocked = tuple(f"{p.code} {p.location}" for p in group.problems)
        policy = group.policy.name if group.policy else record.policy if record else ""
        return Decision(
            group=group.id, policy=policy, action=Action.HOLD, before=before, after=before, finding=finding,
            candidates=self._kept_candidates(group, before), blocked_by=blocked or _words(finding.subject),
            waiting_since=record.waiting_since if record else None,
        )  # fmt: skip

    def _keep(self, group: Group) -> Decision:
        assert group.policy is not None
        here = self._placements[group.id]
        candidates = self._kept_candidates(group, here)
        outgrown = self._with_candidates and self._has_outgrown(group.id, here)
        return Decision(
            group=group.id, policy=group.policy.name, action=Action.KEEP, before=here, after=here,
            finding=Finding(code=Reason.OUTGROWN if outgrown else Reason.KEPT), candidates=candidates,
        )  # fmt: skip

    def _has_outgrown(self, group_id: str, here: Sequence[str]) -> bool:
        """Whether a group finds no room for all its pods where it is."""
        assert self._books is not None  # opening the ledgers is what finds out
        return any((group_id, cluster) in self._outgrown for cluster in here)

    def _spread(self, group: Group, policy: PlacementPolicy) -> Decision:
        """
        A platform group goes to every cluster its policy names, whatever the room, and stays where it is: removing it
        needs an Approval, which holds up nothing else.
        """
        here = self._placements.get(group.id, ())
        copies = policy.spec.placement.copies
        entering = [
            name
            for name, cluster in self._pass.clusters.items()
            if name not in here and self._pass.may_not_enter(group, policy, cluster) is None
        ]
        wanted = len(entering) if copies == "All" else max(0, copies - len(here))
        chosen = sorted(entering, key=lambda name: (self._pass.preference(policy, name), name))[:wanted]
        for name in chosen:
            self._books.admit(group.id, name, group.gang)
        after = tuple(sorted({*here, *chosen}))
        unwanted = [
            name
            for name in here
            if name not in self._pass.clusters or self._pass.may_not_stay(group, policy, self._pass.clusters[name])
        ]
        if chosen:
            finding = Finding(code=Reason.PLATFORM)
        elif unwanted:
            finding = Finding(code=Reason.REMOVAL_NEEDS_APPROVAL, subject=", ".join(unwanted))
        else:
            finding = Finding(code=Reason.KEPT if after else Reason.NO_ELIGIBLE_CLUSTER)
        reasons = {name: Finding(code=Reason.PLATFORM) for name in chosen}
        record = self._pass.records[group.id]
        since = record.waiting_since if record and record.waiting_since else self._snapshot.now
        return Decision(
            group=group.id, policy=policy.name, action=action_of(here, after) if after else Action.WAIT, before=here,
            after=after, finding=finding, reasons=reasons, candidates=self._candidates(group, policy, after, reasons),
            blocked_by=tuple(unwanted), waiting_since=None if after else since,
        )  # fmt: skip

    def _leave(self, group: Group) -> Decision:
        """A group that is somewhere it should not be: move it, or say why it stays."""
        policy = group.policy
        assert policy is not None
        before = self._placements[group.id]
        triggers = self._triggers(group, policy)
        stuck = {name: f for name in triggers if (f := self._stuck(group, policy, name, triggers[name])) is not None}
        free = [name for name in triggers if name not in stuck]
        kept = [name for name in before if name not in triggers]
        self._leaving[group.id] = tuple(free)
        copies = policy.spec.placement.copies
        wanted = len(self._pass.clusters) if copies == "All" else max(1, copies) - len(stuck)
        exclude = {*before, *self._reservations.closed_to(group.id)}
        chosen = self._choose(group, policy, exclude=exclude, wanted=wanted - len(kept))
        needed = 1 if copies == "All" else max(1, copies) - len(stuck)
        droppable = min(len(free), max(0, len(kept) + len(chosen) + len(free) - needed))
        if copies == "All":
            droppable = len(free) if kept or chosen else 0
        dropped = free[:droppable]
        after = tuple(sorted({*before, *chosen} - set(dropped)))
        for name in dropped:
            self._books.release(group.id, name)
        if dropped:
            finding = triggers[dropped[0]]
        elif chosen:
            finding = chosen[min(chosen)]
        else:
            finding = next(iter(stuck.values()), None) or triggers[free[0]]
        action = action_of(before, after)
        blocked: tuple[str, ...] = ()
        if action is Action.KEEP:
            action = Action.HOLD
            if free:
                finding = Finding(code=Reason.NOWHERE_TO_GO, subject=triggers[free[0]].code)
            blocked = (
                tuple(str(m.identity) for m in group.singletons) if finding.code is Reason.MAY_HAVE_STARTED else ()
            )
        return Decision(
            group=group.id, policy=policy.name, action=action, before=before, after=after, finding=finding,
            reasons=chosen, candidates=self._candidates(group, policy, after, chosen), blocked_by=blocked,
            updated_in_place=action is Action.HOLD, unstarted=self._unstarted(group, stuck),
        )  # fmt: skip

    def _stuck(self, group: Group, policy: PlacementPolicy, cluster: str, trigger: Finding) -> Finding | None:
        """Why a group must stay on a cluster that it should leave, or None."""
        when = policy.spec.relocation.when
        by_trigger = {
            Reason.NOT_ELIGIBLE: when.not_eligible,
            Reason.CLUSTER_DRAINING: when.cluster_draining,
            Reason.CLUSTER_LOST: when.cluster_lost,
        }
        if group.never_relocates or by_trigger[trigger.code] == "Never":
            return Finding(code=Reason.NEVER_RELOCATED, subject=trigger.code)
        if self._may_have_started(group, cluster):
            return Finding(code=Reason.MAY_HAVE_STARTED, subject=trigger.code)
        return None

    def _singletons_on(self, group: Group, cluster: str) -> list[tuple[str, RecordCluster]]:
        """What must not start twice of a group, as it was put on a cluster: with the record that says so."""
        return [
            (record.id, entry)
            for member in group.singletons
            for record, _ in self._snapshot.standing.get(member.identity, ())
            for entry in record.clusters
            if entry.name == cluster
        ]

    def _may_have_started(self, group: Group, cluster: str) -> bool:
        """Whether something of a group may have started on a cluster that must not start twice."""
        there = self._singletons_on(group, cluster)
        return any(may_have_started(self._snapshot, entry, record, group.unit) for record, entry in there)

    def _unstarted(self, group: Group, clusters: Iterable[str]) -> dict[str, datetime]:
        """The clusters on which nothing of a group has started, by the snapshots there are, with their times."""
        found = {}
        for name in clusters:
            there = self._singletons_on(group, name)
            seen = [seen_unstarted(self._snapshot, entry, record, group.unit) for record, entry in there]
            times = [at for at in seen if at is not None]
            if times and len(times) == len(seen):
                found[name] = min(times)
        return found

    def _add_copies(self, group: Group) -> Decision:
        """A group with too few copies, or too many: place what fits, and let the rest wait."""
        policy = group.policy
        assert policy is not None
        before = self._placements.get(group.id, ())
        wanted = self._wanted(group, policy)
        chosen: dict[str, Finding] = {}
        claim: Claim | None = None
        after = before
        if len(before) > wanted:
            after = self._best(group, policy, before, wanted)
            for name in set(before) - set(after):
                self._books.release(group.id, name)
        else:
            chosen, claim = self._seek(group, policy, before, wanted - len(before))
            after = tuple(sorted({*before, *chosen}))
        candidates = self._candidates(group, policy, after, chosen)
        record = self._pass.records[group.id]
        since = record.waiting_since if record and record.waiting_since else self._snapshot.now
        complete = bool(after) and len(after) >= wanted
        return Decision(
            group=group.id, policy=policy.name, action=action_of(before, after) if after else Action.WAIT, before=before,
            after=after, finding=self._finding(group, policy, before, after, chosen, complete), reasons=chosen,
            candidates=candidates, waiting_since=None if complete else since, claim=claim,
            blocked_by=claim.displaced if claim else (),
        )  # fmt: skip

    def _finding(
        self,
        group: Group,
        policy: PlacementPolicy,
        before: Sequence[str],
        after: Sequence[str],
        chosen: Mapping[str, Finding],
        complete: bool,
    ) -> Finding:
        if chosen:
            return chosen[min(chosen)]
        if set(after) < set(before):
            return Finding(code=Reason.COPY_NOT_WANTED, subject=", ".join(sorted(set(before) - set(after))))
        if after:
            return Finding(code=Reason.KEPT if complete else Reason.COPIES_WAIT)
        claim, kept_on = self._reservations.claim_of(group.id), self._reservations.aged_on(group.id)
        if claim is not None:
            return Finding(code=Reason.WAITS_FOR_PREEMPTED, subject=", ".join(claim.displaced))
        if kept_on:
            return Finding(code=Reason.ROOM_RESERVED, subject=kept_on)
        if self._tight[group.id]:
            return next(iter(self._tight[group.id].values()))
        if group.id in self._over_budget:
            return self._over_budget[group.id]
        clusters = self._pass.clusters.values()
        if any(self._pass.may_not_enter(group, policy, cluster) is None for cluster in clusters):
            return Finding(code=Reason.NO_CLUSTER_FITS)
        return Finding(code=Reason.NO_ELIGIBLE_CLUSTER)

    def _best(self, group: Group, policy: PlacementPolicy, here: Sequence[str], wanted: int) -> tuple[str, ...]:
        """The clusters that keep their copy when there are too many: the policy's favourites, then the oldest."""

        def rank(name: str) -> tuple[int, datetime, str]:
            entry = self._pass.entry(group.id, name)
            return self._pass.preference(policy, name), entry.since if entry else self._snapshot.now, name

        return tuple(sorted(sorted(here, key=rank)[:wanted]))

    # waiting with something in view

    def _seek(
        self, group: Group, policy: PlacementPolicy, before: Sequence[str], wanted: int
    ) -> tuple[dict[str, Finding], Claim | None]:
        """Clusters for the copies that are missing. If there is none even for the first, room that others make for it."""
        assert self._books is not None  # opening the ledgers is what finds out which claims still stand
        closed = {*before, *self._reservations.closed_to(group.id)}
        claim = self._reservations.claim_of(group.id)
        clear = claim is not None and self._pass.is_clear(group.id, claim)
        if claim is not None and clear:
            self._books.replace(claim.cluster, self._reservations.for_others(claim.cluster, but=group.id))
        unseen = {claim.cluster} if claim is not None and not clear else set()
        chosen = self._choose(group, policy, exclude=closed | unseen, wanted=wanted)
        if claim is not None:
            if chosen:
                self._reservations.drop(group.id)
            if claim.cluster not in chosen:
                self._books.replace(claim.cluster, self._reservations.for_others(claim.cluster))
        if chosen or before:
            return chosen, None
        return chosen, claim or self._preempt(group, policy, closed) or self._keep_room(group, policy, closed)

    def _entering(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> list[str]:
        clusters = self._pass.clusters.items()
        return [n for n, c in clusters if n not in closed and self._pass.may_not_enter(group, policy, c) is None]

    def _preempt(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> Claim | None:
        """Make groups of lower priority leave the cluster where that does least harm, if any are enough."""
        if policy.spec.preempts == "Never" or policy.spec.placement.admission == "Immediate":
            return None
        below = [p for p in self._snapshot.source.own.policies if p.spec.priority < policy.spec.priority]
        if not any(other.spec.preemptible for other in below):
            return None

        def enough(name: str, free: Resources | None, leaving: frozenset[str]) -> bool:
            if free is not None and not self._covers(free, leaving, group.id, name):
                return False
            ledger = self._reservations.without(leaving, name, but=group.id)
            gang = self._pass.gang_on(group.id, name)
            return isinstance(ledger.fit(gang, scale_up=self._scales(policy, name)), Packing)

        ranked = self._ranked(self._pass.gangs[group.id], policy, self._entering(group, policy, closed))
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
            if (candidates := self._displaceable(name, policy.spec.priority))
        )
        found = least_harm(itertools.islice(sites, SITES))
        if found is None:
            return None
        cluster, leaving = found
        for group_id in leaving:
            self._displaced[group_id][cluster] = group.id
            self._here[cluster].discard(group_id)
        claim = Claim(cluster=cluster, displaced=leaving)
        self._reservations.claim(group.id, claim)
        self._books.replace(cluster, self._reservations.for_others(cluster))
        return claim

    def _free_in_all(self, policy: PlacementPolicy, group_id: str, name: str) -> Resources | None:
        """
        What a group will find free on a cluster in sum if nobody is sent away: whoever leaves adds what he holds and no more,
        so most sets are ruled out by a sum. None where sums do not tell, because there is too little room even for those
        who stay, because room is kept by what others leave, or because machines can be added.
        """
        ledger = self._reservations.without(NOBODY, name, but=group_id)
        here = self._here[name]
        _, left_over = self._replayed(self._pass.settled(name, here), name, here)
        if left_over or ledger.is_overcommitted or self._reservations.on(name) or self._scales(policy, name):
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
            self._holding[group_id, name] = self._pass.books[name].held_by(group_id, gang)
        return self._holding[group_id, name]

    def _somebody_is_leaving(self, name: str) -> bool:
        """Whether a cluster still shows a group that is not to be there any more."""
        return any(group.name not in self._here[name] for group in self._snapshot.capacity[name].groups)

    def _displaceable(self, name: str, priority: int) -> tuple[Displaceable, ...]:
        """The groups on a cluster that one of a priority may send away."""
        found = []
        for group_id in sorted(self._here[name] - self._decided):
            group, entry = self._pass.groups.get(group_id), self._pass.entry(group_id, name)
            if group is None or entry is None or group_id in self._pass.held or not self._may_send_away(group, name):
                continue
            assert group.policy is not None
            if group.policy.spec.priority >= priority or self._has_finished(self._pass.books[name], group_id, name):
                continue
            holds = self._held_by(group_id, name)
            found.append(
                Displaceable(
                    group=group_id,
                    priority=group.policy.spec.priority,
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
        if group.unit == PLATFORM or group.never_relocates or group.id in self._pass.ties:
            return False
        if record is None or record.id != group.id:
            return False
        return not self._may_have_started(group, name)

    def _preempted(self, group: Group) -> Decision:
        """A group that makes room for others: its copy there goes, and it waits."""
        assert group.policy is not None
        before = self._placements[group.id]
        gone = self._displaced[group.id]
        after = tuple(name for name in before if name not in gone)
        record = self._pass.records[group.id]
        return Decision(
            group=group.id, policy=group.policy.name, action=Action.PREEMPT, before=before, after=after,
            finding=Finding(code=Reason.PREEMPTED_BY, subject=", ".join(sorted(set(gone.values())))),
            candidates=self._candidates(group, group.policy, after, {}),
            waiting_since=(record.waiting_since if record else None) or self._snapshot.now,
        )  # fmt: skip

    def _keep_room(self, group: Group, policy: PlacementPolicy, closed: set[str]) -> Claim | None:
        """Keep room for a group that has waited long: where it was kept before, or on the first cluster that will have it."""
        if not self._waiting(group).is_aged(self._snapshot.now) or self._reservations.count_aged() >= AGED:
            return None
        before = self._aged.get(group.id, "")
        names = self._entering(group, policy, closed | {before})
        holding = (
            name for name in self._ranked(self._pass.gangs[group.id], policy, names) if self._holds(group, policy, name)
        )
        kept_there = [before] if before in self._books and before not in closed else []
        for name in itertools.chain(kept_there, itertools.islice(holding, AGED_SITES)):
            record = self._pass.records[group.id]
            known = record.claim if record is not None and name == before else None
            since = known.since if known is not None and known.cluster == name else self._snapshot.now
            if self._reservations.keep(group.id, name, since):
                self._books.replace(name, self._reservations.for_others(name))
                return Claim(cluster=name, displaced=())
        return None

    def _holds(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """Whether a cluster would hold a group if it ran nothing."""
        gang = self._pass.gang_on(group.id, name)
        return not self._pass.exceeds(gang, self._books[name], name, self._scales(policy, name))

    # choosing clusters

    def _choose(self, group: Group, policy: PlacementPolicy, *, exclude: set[str], wanted: int) -> dict[str, Finding]:
        """Up to `wanted` clusters for new copies, room reserved, each with why it was taken."""
        chosen: dict[str, Finding] = {}
        if wanted <= 0:
            return chosen
        entering = [name for name in self._pass.may_enter(group, policy) if name not in exclude]
        ranked = self._ranked(self._pass.gangs[group.id], policy, entering)
        for scale_up in (False, True) if self._may_scale_up(policy) else (False,):
            for name, packing in self._offers(group, policy, [n for n in ranked if n not in chosen], scale_up):
                if len(chosen) == wanted:
                    return chosen
                paid = self._affordable(group, policy, name, packing, self._leaving.get(group.id, ()), scale_up)
                if isinstance(paid, Finding):
                    self._over_budget.setdefault(group.id, paid)
                    continue
                promise = self._promised(group, policy, name, paid, scale_up)
                if promise is not None:
                    chosen[name], taken = promise
                    gang, sure = self._pass.gang_on(group.id, name), chosen[name].code is Reason.FITS
                    self._books.reserve(group.id, name, taken, gang, sure=sure)
        if policy.spec.placement.admission == "Immediate":
            for name in ranked:
                if len(chosen) < wanted and name not in chosen:
                    gang = self._pass.gang_on(group.id, name)
                    short = _short(self._books.fit(gang, name, scale_up=self._scales(policy, name)))
                    self._books.admit(group.id, name, gang)
                    chosen[name] = replace(short, code=Reason.PODS_MAY_WAIT)
        return chosen

    def _promised(
        self, group: Group, policy: PlacementPolicy, name: str, packing: Packing, scale_up: bool
    ) -> tuple[Finding, Packing] | None:
        """
        The reason for taking a cluster by a packing, and what is to be reserved; None if that takes more luck than the policy
        accepts. Where machines may be added, those that are left out by bad luck get them.
        """
        finding = self._books.fitting(name, packing)
        gang, accepted = self._pass.gang_on(group.id, name), self._accepts_tight(policy, name)
        if finding.code is not Reason.FITS or self._books.proves(gang, name):
            return finding, packing
        doubtful = self._tight[group.id]
        if not accepted and name not in doubtful and len(doubtful) >= _MOST_TRIED:
            doubtful[name] = Finding(code=Reason.ROOM)
            return None
        tight = self._books.tight(gang, name)
        if tight is None:
            return finding, packing
        if accepted:
            return _tight_finding(tight), packing
        more = self._books[name].with_machines_for(tight.left, packing) if scale_up else None
        if more is not None:
            return self._books.fitting(name, more), more
        doubtful[name] = _tight_finding(tight)
        return None

    def _accepts_tight(self, policy: PlacementPolicy, name: str) -> bool:
        placement = policy.spec.placement
        return placement.accept == "TightFit" or placement.admission == "Immediate" or self._pass.schedules_gangs(name)

    def _offers(
        self, group: Group, policy: PlacementPolicy, names: Sequence[str], scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        """The clusters that a group fits, each with how, best first. They are looked at as they are asked for."""
        found = self._fitting(group, policy, names, scale_up)
        if scale_up and policy.spec.placement.type in BY_COST:
            yield from sorted(found, key=lambda offer: _cost(self._books.fitting(*offer)))
        else:
            yield from found

    def _fitting(
        self, group: Group, policy: PlacementPolicy, names: Sequence[str], scale_up: bool
    ) -> Iterator[tuple[str, Packing]]:
        scaling = (name for name in names if self._scales(policy, name))
        for name in scaling if scale_up else self._not_ruled_out(group.id, names):
            packing = self._books.fit(self._pass.gang_on(group.id, name), name, scale_up=scale_up)
            if isinstance(packing, Packing):
                yield name, packing

    def _not_ruled_out(self, group_id: str, names: Sequence[str]) -> list[str]:
        """Of some clusters those that may have room for a group now, in their order."""
        alike = self._pass.gangs_on(group_id, names)
        left = {name for gang, where in alike for name in self._books.not_ruled_out(gang, where)}
        return [name for name in names if name in left]

    @cached_property
    def _budgets(self) -> Budgets:
        return Budgets(self._books, self._governing)

    def _governing(self, group_id: str) -> str:
        """The policy of a group, or that of the record where the group is gone."""
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        if group is not None and group.policy is not None:
            return group.policy.name
        return record.policy if record is not None else ""

    def _affordable(
        self, group: Group, policy: PlacementPolicy, name: str, packing: Packing, left: Sequence[str], scale_up: bool
    ) -> Packing | Finding:
        """A packing on a cluster that the policy's budget allows, or why not. `left` are clusters that the group gives up."""
        without = partial(self._books[name].fit_without, self._pass.gang_on(group.id, name), scale_up=scale_up)
        return self._budgets.affordable(policy, name, packing, {group.id: left}, without)

    def _ranked(self, gang: Gang, policy: PlacementPolicy, names: Iterable[str]) -> list[str]:
        """
        The policy's order, then where little is promised already, then where a gang breaks the fewest large blocks of devices, then
        the name.
        """
        tight, crowded = self._books.tightness(gang, names), self._books.crowded(gang)
        return sorted(tight, key=lambda name: (self._pass.preference(policy, name), name in crowded, tight[name], name))

    # verdicts

    def _kept_candidates(self, group: Group, here: Sequence[str]) -> tuple[Candidate, ...]:
        if group.policy is None:
            return ()
        return self._candidates(group, group.policy, here, {})

    def _candidates(
        self, group: Group, policy: PlacementPolicy, after: Sequence[str], chosen: Mapping[str, Finding]
    ) -> tuple[Candidate, ...]:
        """Every cluster's verdict, sorted by name; empty if nobody asked for them."""
        if not self._with_candidates:
            return ()
        found = []
        for name, cluster in sorted(self._pass.clusters.items()):
            if name in after:
                found.append(Candidate(name, Verdict.CHOSEN, chosen.get(name, Finding(code=Reason.KEPT))))
                continue
            finding = (
                self._pass.may_not_enter(group, policy, cluster)
                or self._spoken_for(group, name)
                or self._room_for_others(group, policy, name)
            )
            takes = _fits(finding) or (finding.code is Reason.TIGHT_FIT and self._accepts_tight(policy, name))
            fits = takes and name not in self._tight[group.id]
            found.append(Candidate(name, Verdict.FEASIBLE if fits else Verdict.REJECTED, finding))
        return tuple(found)

    def _fits_now(self, gang: Gang, name: str) -> Finding:
        """What there is to say of a cluster that has room for a gang now."""
        if len(self._pass.groups) * len(self._pass.clusters) > _TRIED:
            return Finding(code=Reason.ROOM)
        tight = self._books.tight(gang, name)
        return Finding(code=Reason.FITS) if tight is None else _tight_finding(tight)

    def _spoken_for(self, group: Group, name: str) -> Finding | None:
        """Why a group may not look for room on a cluster: it left it for another, or waits for those who leave."""
        preemptor = self._reservations.closed_to(group.id).get(name)
        if preemptor is not None:
            return Finding(code=Reason.PREEMPTED_BY, subject=preemptor)
        claim = self._reservations.claim_of(group.id)
        if claim is not None and claim.cluster == name:
            return Finding(code=Reason.WAITS_FOR_PREEMPTED, subject=", ".join(claim.displaced))
        return None

    def _room_for_others(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        """The verdict on a cluster's room; what is kept for somebody else is told as that, and never as a shortage."""
        finding = self._room_for(group, policy, name)
        kept_for = self._reservations.on(name)
        if not kept_for or _fits(finding) or group.unit == PLATFORM:
            return finding
        ledger = self._books[name]
        self._books.replace(name, self._unreserved(name))
        whole = self._room_for(group, policy, name)
        self._books.replace(name, ledger)
        others = ", ".join(other for other in kept_for if other != group.id)
        return Finding(code=Reason.RESERVED_FOR, subject=others) if others and _fits(whole) else whole

    def _unreserved(self, name: str) -> Ledger:
        """A cluster as if no room on it were kept for anybody."""
        here = frozenset(self._here[name])
        if name not in self._plain or self._plain[name][0] != here:
            self._plain[name] = here, self._ledger(name)
        return self._plain[name][1]

    def _room_for(self, group: Group, policy: PlacementPolicy, name: str) -> Finding:
        if group.unit == PLATFORM:
            return Finding(code=Reason.PLATFORM)
        gang = self._pass.gang_on(group.id, name)
        if name in self._tight[group.id]:
            return self._tight[group.id][name]
        ledger, scales, here = self._books[name], self._scales(policy, name), self._placements.get(group.id, ())
        now = self._books.fit(gang, name, scale_up=False)
        later = self._books.fit(gang, name, scale_up=True) if scales and isinstance(now, Shortfall) else now
        if isinstance(later, Packing):
            paid = self._affordable(group, policy, name, later, here, isinstance(now, Shortfall))
            if isinstance(paid, Finding):
                return paid
            finding = self._books.fitting(name, paid)
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


_MOST_TRIED = 3
"""Clusters on which one group is tried in every order, where that has no proof; on others that are as likely it is not placed."""
_TRIED = 2000
"""Where groups times clusters are more, a cluster that was not taken is not tried in every order just to tell."""
_TAKES = frozenset({Reason.FITS, Reason.ROOM, Reason.FITS_BY_SCALE_UP, Reason.PODS_MAY_WAIT, Reason.PLATFORM})
"""Findings about a cluster that would take a group."""


def _tight_finding(tight: Tight) -> Finding:
    if tight is NOT_TRIED:
        return Finding(code=Reason.ROOM)
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


def _words(subject: str) -> tuple[str, ...]:
    return tuple(part for part in subject.split(", ") if part)


def action_of(before: Sequence[str], after: Sequence[str]) -> Action:
    added, dropped = set(after) - set(before), set(before) - set(after)
    if added and dropped:
        return Action.RELOCATE
    if added:
        return Action.PLACE
    return Action.REMOVE if dropped else Action.KEEP
