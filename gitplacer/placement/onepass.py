"""
What all rounds of one pass share: groups and their records, what each group is on each cluster, which clusters take it, and each
cluster's ledger with nothing promised.

A pass plans in rounds, on its own outcome. What does not depend on where things are going is worked out here, once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import MappingProxyType

from gitplacer.dispatching import started
from gitplacer.grouping import Group, holder
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.kinds.tenant import Tenant
from gitplacer.model.bystander import Bystander, Holding, Seated
from gitplacer.model.counts import AS_WRITTEN, Counts
from gitplacer.model.decision import Action, Claim, ClusterRole, Decision, Finding, Move, Reason
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, Identity, Roster, total_requests
from gitplacer.placement.books import Books
from gitplacer.placement.doubts import Doubts
from gitplacer.placement.effort import Effort
from gitplacer.placement.eligibility import not_the_tenants
from gitplacer.placement.entrance import Entrance
from gitplacer.placement.holds import Refused, held, kept, refused
from gitplacer.placement.kueue import LocalQueueRef, no_queue
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import LedgerCache, Opening
from gitplacer.placement.nodes import Columns
from gitplacer.placement.nomination import Nominations
from gitplacer.placement.outlook import Outlook
from gitplacer.placement.overlaps import Overlap, Overlaps
from gitplacer.placement.pack import Packing, pack
from gitplacer.placement.proof import has_room
from gitplacer.placement.rosters import Rosters
from gitplacer.placement.scoring import Scoring
from gitplacer.placement.seating import Seats
from gitplacer.placement.ties import held_with, homes, ties, torn_singletons
from gitplacer.placement.topology import Rule
from gitplacer.placement.updating import Edits, no_edits
from gitplacer.placement.weakly import weakly
from gitplacer.policies import DIVIDING
from gitplacer.policies.allowing import preference
from gitplacer.relocation.evidence import speaks_of
from gitplacer.relocation.guards import Tally, frozen_until
from gitplacer.relocation.memory import left_over
from gitplacer.relocation.moves import moves_of
from gitplacer.relocation.removals import held_removals
from gitplacer.relocation.silence import silent_clusters
from gitplacer.scheduler.objects import Namespaces
from gitplacer.snapshot import Snapshot
from gitplacer.source.manifests import WORKLOADS

NOBODY_RESTS: Mapping[str, Decision] = MappingProxyType({})
_NOBODY: Mapping[str, Bystander] = MappingProxyType({})


class Pass:
    """What all rounds share. Groups go by their ids, clusters by their names."""

    def __init__(
        self,
        snapshot: Snapshot,
        also_held: Mapping[str, Finding],
        edits: Edits = no_edits,
        agreed: frozenset[str] = frozenset(),
        opened: Books | None = None,
        ledgers: LedgerCache | None = None,
        resting: Mapping[str, Decision] = NOBODY_RESTS,
    ) -> None:
        """
        `agreed` are groups that move as if somebody had consented to what is proposed for them. `opened` are ledgers
        opened before for the same snapshots and for at least the same groups, and `ledgers` keeps those of earlier
        passes. `resting` are groups whose decision is known already: they stay as they are.
        """
        self.snapshot = snapshot
        self.agreed = agreed
        self.resting = resting
        self._opened_before = opened
        self._ledgers = ledgers or LedgerCache()
        self.clusters = snapshot.source.own.clusters
        self.silent = silent_clusters(snapshot)

        self.groups = snapshot.groups
        self.records = {group_id: snapshot.predecessor(group) for group_id, group in self.groups.items()}
        adopted = {record.id for record in self.records.values() if record is not None}
        self.orphans = {record_id: r for record_id, r in snapshot.records.items() if record_id not in adopted}
        self.recorded: dict[str, tuple[str, ...]] = {
            **{g: self._where(record) for g, record in (*self.records.items(), *self.orphans.items())},
            **{g: snapshot.deployed_clusters(g) for g in snapshot.broken_records if g in self.groups},
        }
        """Where each group was before this pass: the names of clusters, sorted."""
        self.moves: dict[str, Move] = moves_of({**self.records, **self.orphans})
        self.ties = ties(snapshot)
        self.held, self.kept = self._held_and_kept(also_held)
        """The groups of the source, and the orphans, that stay exactly as they are, each with why."""

        self.counts: dict[tuple[str, str], Counts] = self._recorded_counts()
        """What counts the objects of a group have on a cluster, as far as this pass has come (`count`), where not as they are written."""
        self.roles: dict[tuple[str, str], ClusterRole] = self._recorded_roles()
        """What a cluster has of a group that spans several, as far as this pass has come (`assume`)."""
        self.recounted: list[tuple[str, str]] = []
        """(group, cluster) whose counts were changed in this pass, in order."""
        self._counts_before = dict(self.counts)
        self.overlaps = Overlaps(snapshot, edits, self.held)
        known = {**self.orphans, **{group_id: r for group_id, r in self.records.items() if r is not None}}
        self.rosters = Rosters(snapshot, known, self.held, self.counts, self.roles, self.overlaps)
        self.gangs = self.rosters.written
        self.outlook = Outlook(snapshot, self.rosters)

        gone = self.orphans.keys() - self.kept.keys()  # their records go in this pass, and what they remember
        staying = (record for record in snapshot.records.values() if record.id not in gone)
        leftovers = frozenset(name for record in staying for name in left_over(record, snapshot))
        self.tally = Tally(snapshot, gone)
        self.nominations = Nominations(snapshot, self.records, weakly(self._cannot_run))
        """Of groups that are left to Kueue, on which clusters it may start them."""
        self.entrance = Entrance(snapshot, self.rosters, self.nominations, self.silent, leftovers)
        self.effort = Effort(len(self.clusters))

        # What rounds tell later rounds, and `plan` in the end; who writes it is in brackets.
        self.sought: set[str] = set()
        """The groups for which another cluster was looked for (`Choice`)."""
        self.asked_about: set[str] = set()
        """The groups of which every cluster's verdict is kept (`Evaluation`)."""
        self.taken: dict[tuple[str, str], Reason] = {}
        """Why a group was put on a cluster in a round of this pass (`plan`, `reopened`)."""
        self.doubts: Doubts | None = None
        """What the last round found against gangs on clusters where it took nothing away (`plan`)."""
        self.reshaped: dict[str, tuple[Action, Finding]] = {}
        """What happens in this pass to groups that span clusters, also where their clusters stay the same (`Round`)."""
        self.proceeding: dict[tuple[str, str], Reason] = {}
        """Groups whose edit goes on in this pass on a cluster where it does not fit, and why they do not move (`Unfit`)."""
        self.proposing: dict[str, tuple[str, ...]] = {}
        """Where such a group would move with consent (`Unfit`)."""
        self.backing_off: dict[str, datetime] = {}
        """Groups whose relocation is taken back in this pass, and until when they then stay (`Crossing`)."""

        # What was worked out before, by what it depends on.
        self._thaws: dict[Reason, datetime | None] = {}
        self._preference: dict[tuple[str, str], int] = {}
        self._rules: dict[tuple[str, str | None, str], tuple[Rule, ...]] = {}
        self._domains: dict[str, Mapping[str, str]] = {}
        self._exceeds: dict[tuple[Gang, str, bool], bool] = {}
        self._settled: dict[tuple[str, frozenset[str]], Ledger] = {}
        self._requests: dict[tuple[str, str], Resources] = {}

    def _held_and_kept(self, also_held: Mapping[str, Finding]) -> tuple[dict[str, Finding], dict[str, Finding]]:
        """Each with why, by id. What exchanges members with one of them is held with it."""
        not_let_in: Refused = refused(self.snapshot) if self.orphans else frozenset()
        orphans = {r.id: f for r in self.orphans.values() if (f := kept(self.snapshot, r, not_let_in))}
        groups = {g: f for g, group in self.groups.items() if (f := held(self.snapshot, group, self.records[g]))}
        for more in (also_held, torn_singletons(self.snapshot)):
            groups |= {g: f for g, f in more.items() if g not in groups}
        self._hold_together(groups, orphans)
        orphans |= held_removals(self.snapshot, (r for r in self.orphans.values() if r.id not in orphans))
        self._hold_together(groups, orphans)
        return groups, orphans

    def _hold_together(self, groups: dict[str, Finding], orphans: dict[str, Finding]) -> None:
        """Hold what exchanges members with what is held."""
        for other, finding in held_with(self.ties, [*orphans, *groups]).items():
            if other in self.groups:
                groups[other] = finding
            elif other in self.orphans:
                orphans[other] = finding

    @property
    def seats(self) -> Seats:
        """What remembers where groups sit."""
        return self._ledgers.seats

    def seat_of(self, group_id: str, cluster: str, holds: Holding) -> Seated | None:
        """Where a group sat on a cluster when it held the same there, if that is known."""
        sat = self._ledgers.sat.get(cluster, {}).get(group_id)
        return sat.seat if sat is not None and sat.holds == holds else None

    @cached_property
    def homes(self) -> Mapping[Identity, str]:
        """In which group each object of the source is."""
        return homes(self.groups.values())

    def bystanders(self, name: str) -> Mapping[str, Bystander]:
        """The bystanders of a cluster, by id: groups of which only their place is known, and what they hold there."""
        return self.snapshot.bystanders.get(name, _NOBODY)

    @cached_property
    def _owners_beside(self) -> dict[str, str]:
        """The Tenant of each bystander, by id."""
        return {group_id: one.tenant for there in self.snapshot.bystanders.values() for group_id, one in there.items()}

    @cached_property
    def _tenants(self) -> dict[str, Tenant]:
        return {tenant.name: tenant for tenant in self.snapshot.source.tenancy.tenants}

    def _where(self, record: PlacementRecord | None) -> tuple[str, ...]:
        """The clusters that have a group or keep room for it, sorted; without those whose wake-up was given up."""
        entries = record.clusters if record is not None else ()
        return tuple(sorted(entry.name for entry in entries if not self.snapshot.has_given_up(entry)))

    @cached_property
    def least_preemptible(self) -> float:
        """The lowest priority of a group that others may send away; nobody's is lower where there is none."""
        found = (g.priority for g in self.groups.values() if g.policy is not None and g.policy.spec.preemptible)
        return min(found, default=math.inf)

    @property
    def opened(self) -> Books | None:
        """The books, if they were opened; asking does not open them."""
        return self.books if "books" in self.__dict__ else None

    @cached_property
    def books(self) -> Books:
        """The ledgers with nothing reserved but what the snapshots show. A pass that places nothing never asks."""
        if self._opened_before is not None:
            return self._opened_before
        s = self.snapshot
        columns = Columns.of(s.capacity.values(), self.clusters.values(), self.rosters.all())
        opened = {n: self._ledgers.opened(self._opening(n, capacity, columns)) for n, capacity in s.capacity.items()}
        return Books(opened, columns)

    def _opening(self, name: str, capacity: CapacitySnapshot, columns: Columns) -> Opening:
        """What a ledger is opened from with nothing reserved but what a snapshot shows."""
        return Opening(
            cluster=self.clusters[name],
            snapshot=capacity,
            columns=columns,
            gangs={group.name: self.rosters.seen_on(group.name, name) for group in capacity.groups},
            slice_topology=self.snapshot.profiles[name].slice_topology,
            now=self.snapshot.now,
            namespaces=self._described,
        )

    @cached_property
    def _described(self) -> Namespaces:
        """The labels of namespaces that the source describes: with them they are made, or changed, wherever a group comes to one."""
        described = self.snapshot.source.namespaces.items()
        return {name: item.labels for name, item in described if item.labels and not item.held}

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """The claims that stand in the records of groups, where their cluster may still take the group."""
        found = {}
        for group_id, record in self.records.items():
            if record is None or record.claim is None or record.clusters or group_id in self.held:
                continue
            group, cluster = self.groups[group_id], self.clusters.get(record.claim.cluster)
            if group.policy is None or cluster is None or cluster.name not in self.books:
                continue
            if cluster.spec.state == "Active" and self.entrance.may_not_stay(group, group.policy, cluster) is None:
                found[group_id] = Claim(cluster=cluster.name, displaced=record.claim.displaced)
        return found

    def is_clear(self, group_id: str, claim: Claim) -> bool:
        """Whether the snapshot of the claimed cluster was taken after the displaced groups were removed."""
        record = self.records.get(group_id)
        if record is None or record.claim is None or record.claim.cluster != claim.cluster:
            return False
        known = set(claim.displaced) <= set(record.claim.displaced)
        return known and speaks_of(self.snapshot.capacity[claim.cluster], record.claim, WORKLOADS)

    def settled(self, name: str, ids: Iterable[str], *, but: Collection[str] = ()) -> Ledger:
        """
        The ledger of a cluster as its snapshot would be if it showed, of the groups that we placed, only `ids` and the
        bystanders that are not in `but`; nothing is reserved in it.
        """
        capacity = self.snapshot.capacity[name]
        # Who is left to Kueue comes and goes as that likes, and so does nothing that is waited for.
        ids = {*ids, *(self.bystanders(name).keys() - but), *self._left_to_kueue}
        shown = frozenset(ids) & {group.name for group in capacity.groups}
        if len(shown) == len(capacity.groups):
            return self.books[name]
        if (name, shown) not in self._settled:
            groups = tuple(group for group in capacity.groups if group.name in shown)
            base = self.books[name]
            less = capacity.model_copy(update={"groups": groups})
            self._settled[name, shown] = self._opening(name, less, base.columns).open(base.nodes)
        return self._settled[name, shown]

    @cached_property
    def _left_to_kueue(self) -> frozenset[str]:
        """The groups that Kueue may have started on any cluster, whatever is deployed there."""
        return frozenset(
            id_ for id_, record in self.records.items() if record is not None and record.dispatch is not None
        )

    @cached_property
    def offered(self) -> dict[str, float]:
        """What all clusters that run workloads offer, with the machines that can be added."""
        total: dict[str, float] = defaultdict(float)
        for offered in self._offered_by_each().values():
            for resource, amount in offered.items():
                total[resource] += amount
        return dict(total)

    def _recorded_counts(self) -> dict[tuple[str, str], Counts]:
        """The counts of the records, for groups whose policy still gives their objects any."""
        found = {}
        for group_id, record in self.records.items():
            policy = self.groups[group_id].policy
            gives = policy is not None and gives_counts(policy)
            for entry in record.clusters if record is not None else ():
                if entry.counts and (gives or entry.role != "Copy"):
                    found[group_id, entry.name] = entry.known_counts()
        return found

    def count(self, group_id: str, name: str, counts: Counts) -> None:
        """Give the objects of a group other counts on a cluster, from now on: what it asks for there is that many pods."""
        self.counts[group_id, name] = counts
        self.rosters.recounted(group_id)
        self._requests.pop((group_id, name), None)
        self.recounted.append((group_id, name))

    def _recorded_roles(self) -> dict[tuple[str, str], ClusterRole]:
        """By the records: a group that spans clusters goes on to until it is moved, whatever its policy says now."""
        return {
            (group_id, entry.name): entry.role
            for group_id, record in self.records.items()
            for entry in (record.clusters if record is not None else ())
            if entry.role != "Copy"
        }

    def assume(self, group_id: str, name: str, role: ClusterRole, counts: Counts) -> None:
        """Take a cluster for one of those that a group spans, from now on; a Copy with no counts is the group as it is written."""
        self.count(group_id, name, counts)
        if role == "Copy":
            self.roles.pop((group_id, name), None)
        else:
            self.roles[group_id, name] = role

    def roles_of(self, group_id: str, names: Iterable[str]) -> dict[str, ClusterRole]:
        """What some clusters have of a group, where it spans several."""
        return {name: role for name in names if (role := self.roles.get((group_id, name)))}

    def is_recounted(self, group_id: str, names: Iterable[str]) -> bool:
        """Whether the objects of a group have other counts on some clusters than before this pass."""
        keys = [(group_id, name) for name in names]
        return any(self.counts.get(key, AS_WRITTEN) != self._counts_before.get(key, AS_WRITTEN) for key in keys)

    def counts_of(self, group_id: str, names: Iterable[str]) -> dict[str, Counts]:
        """The counts of a group on some clusters, where they are not as written."""
        return {name: found for name in names if (found := self.counts.get((group_id, name)))}

    def requests(self, group_id: str, name: str) -> Resources:
        """What all pods of a group on a cluster ask for together."""
        if (group_id, name) not in self._requests:
            bystander = self.bystanders(name).get(group_id)
            gang = self.gang_on(group_id, name) if bystander is None else bystander.holds.gang
            self._requests[group_id, name] = total_requests(gang)
        return self._requests[group_id, name]

    def deployed_requests(self, group_id: str, name: str) -> Resources:
        """What the pods of a group ask for together as it is deployed on a cluster; nothing where it is not."""
        record = self.record(group_id)
        return Resources() if record is None else total_requests(self.rosters.deployed(record, group_id, name))

    def gang_on(self, group_id: str, name: str) -> Gang:
        """The pods of a group on a cluster, those that run on every node counted."""
        return self._on_nodes(self.rosters.on(group_id, name), name)

    def overlap(self, group_id: str, name: str) -> Overlap | None:
        """The old and new pods of a group on a cluster. What comes to span clusters in this pass gets no more pods there by its edit."""
        found = self.overlaps.on(group_id, name)
        if found is not None and found.updates and (group_id, name) in self.roles:
            entry = self.entry(group_id, name)
            return found if entry is not None and entry.role != "Copy" else None
        return found

    def held_on(self, group_id: str, name: str) -> Gang:
        """What a placed group holds on a cluster: its pods there or, while an update of it is judged or runs, the old ones."""
        overlap = self.overlap(group_id, name)
        if overlap is None:
            return self.gang_on(group_id, name)
        return self._on_nodes(self.rosters.known(group_id, overlap.base), name)

    def beside(self, group_id: str, name: str) -> Gang:
        """The new pods of an update on a cluster, which run beside the old ones until it is done."""
        overlap = self.overlap(group_id, name)
        return () if overlap is None else self.rosters.known(group_id, overlap.beside)

    def last(self, group_id: str, name: str) -> Gang | None:
        """
        The old pods that still run when the last of the new ones comes, where these are larger and replace them one by
        one; None otherwise.
        """
        overlap = self.overlap(group_id, name)
        return None if overlap is None or overlap.last is None else self.rosters.known(group_id, overlap.last)

    def _on_nodes(self, gang: Gang, name: str) -> Gang:
        if Roster.of(gang).per_node and name in self.books:
            gang = self.books[name].nodes.on_each(gang)
        return self.rosters.one(gang)

    def gangs_on(self, group_id: str, names: Sequence[str]) -> Iterable[tuple[Gang, list[str]]]:
        """The different gangs that a group is on some clusters, each with the clusters where it is that one."""
        found: dict[int, tuple[Gang, list[str]]] = {}
        for name in names:
            gang = self.gang_on(group_id, name)
            found.setdefault(id(gang), (gang, []))[1].append(name)
        return found.values()

    def _cannot_run(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """Why Kueue could not start a group on a cluster, as far as that is known: it needs the queue there too, and nodes of the size."""
        cluster, capacity = self.clusters[name], self.snapshot.capacity.get(name)
        barred = not_the_tenants(group, cluster) or self.entrance.cannot(group, cluster)
        if barred is None and capacity is not None:
            left = self.nominations.settings(group)
            names = {m.identity.namespace for m in started(group)} if left is not None else set()
            barred = no_queue(
                [LocalQueueRef(f"{each}/{left.queue}") for each in sorted(names) if left is not None], capacity
            )
        if barred is None and name in self.books:
            ledger, scales = self.books[name], may_scale_up(policy) and bool(self.books[name].nodes.types)
            exceeds = self.exceeds(self.gang_on(group.id, name), ledger, name, scales)
            barred = Finding(code=Reason.EXCEEDS_CLUSTER) if exceeds else None
        return barred

    def thaws(self, reason: Reason) -> datetime | None:
        """Until when the fleet is frozen for moves for a reason; None if it is not."""
        if reason not in self._thaws:
            self._thaws[reason] = frozen_until(self.snapshot, reason)
        return self._thaws[reason]

    def is_gone(self, name: str) -> bool:
        """Whether somebody has said that a cluster is lost, so that nothing it had is waited for."""
        cluster = self.clusters.get(name)
        return cluster is None or cluster.spec.state == "Lost"

    @cached_property
    def stirring(self) -> frozenset[tuple[str, str]]:
        """(group, cluster) of what the snapshots show ended or with pods that wait: all else needs no closer look."""
        return frozenset(
            (group.name, name)
            for name, capacity in self.snapshot.capacity.items()
            for group in capacity.groups
            if group.phase in ("Succeeded", "Failed") or any(pod.node is None for pod in group.pods)
        )

    def preference(self, policy: PlacementPolicy, cluster: str) -> int:
        """How early a policy takes a cluster: smaller first."""
        key = (policy.name, cluster)
        if key not in self._preference:
            liked = preference(policy, self.clusters[cluster]) or 0
            self._preference[key] = liked - self.scoring.total(policy.spec.placement, cluster)
        return self._preference[key]

    @cached_property
    def scoring(self) -> Scoring:
        """What clusters score under policies that weigh scores."""
        scores = {name: item.scores for name, item in self.snapshot.source.own.scores.items()}
        return Scoring(scores, self.snapshot.now, weakly(self._offered_by_each))

    def _offered_by_each(self) -> dict[str, dict[str, float]]:
        """What each cluster that runs workloads offers, with the machines that can be added."""
        return {
            name: self.books[name].nodes.offered()
            for name, cluster in self.clusters.items()
            if name in self.books and cluster.spec.role == "Workload" and cluster.spec.state != "Lost"
        }

    def spread_rules(self, group: Group, policy: PlacementPolicy) -> tuple[Rule, ...]:
        """
        How the copies of a group have to be spread. Domains count that have a cluster which is Active, not lost, and allowed: what
        passes by itself, such as a snapshot that is too old or a lack of room, does not take a domain away.
        """
        spreads = policy.spec.placement.topology_spread
        if not spreads:
            return ()
        key = (policy.name, group.wished_cluster, group.tenant.name if group.tenant is not None else "")
        if key not in self._rules:
            open_ = [
                name
                for name in self.entrance.selected(group, policy)
                if self.clusters[name].spec.state == "Active"
                and name not in self.silent
                and self.entrance.may_not_stay(group, policy, self.clusters[name]) is None
            ]
            rules = []
            for spread in spreads:
                domains = self._domains_of(spread.topology_key)
                rules.append(Rule(spread, domains, frozenset(domains[name] for name in open_ if name in domains)))
            self._rules[key] = tuple(rules)
        return self._rules[key]

    def _domains_of(self, topology_key: str) -> Mapping[str, str]:
        """By name, the value that clusters have of a label."""
        if topology_key not in self._domains:
            labels = ((name, cluster.labels().get(topology_key)) for name, cluster in self.clusters.items())
            self._domains[topology_key] = {name: value for name, value in labels if value is not None}
        return self._domains[topology_key]

    def exceeds(self, gang: Gang, ledger: Ledger, cluster: str, scale_up: bool) -> bool:
        """Whether it is proved that a gang would not fit a cluster that runs nothing."""
        key = (gang, cluster, scale_up)
        if key not in self._exceeds:
            room = ledger.empty_room()
            packed = isinstance(pack(room, gang, scale_up=scale_up), Packing)
            self._exceeds[key] = not packed and has_room(room, gang, scale_up=scale_up) is False
        return self._exceeds[key]

    def accepts_tight(self, policy: PlacementPolicy, cluster: str) -> bool:
        """Whether a policy takes a tight fit there, if it costs no other group its certainty."""
        return policy.spec.placement.accept == "TightFit" or self.is_careless(policy, cluster)

    def is_careless(self, policy: PlacementPolicy, cluster: str) -> bool:
        """
        Whether a fit need not hold in every order there: pods may wait in the cluster, or its scheduler starts gangs
        whole or not at all.
        """
        scheduler = self.snapshot.profiles[cluster].gang_scheduler
        return policy.spec.placement.admission == "Immediate" or scheduler not in (None, "none")

    def tenant(self, group_id: str) -> Tenant | None:
        """The Tenant of a group, also of one that only its record tells of, or that is a bystander."""
        group, record = self.groups.get(group_id), self.record(group_id)
        if group is not None:
            return group.tenant
        if record is not None:
            return self.snapshot.tenant(record)
        return self._tenants.get(self._owners_beside.get(group_id, ""))

    def holder(self, group_id: str) -> str:
        """
        The holder in whose share a group's room is counted. Of a group that only a record is left of, that is its
        namespace.
        """
        group = self.groups.get(group_id)
        return group.holder if group is not None else holder(group_id, self._owners_beside.get(group_id, ""))

    def record(self, group_id: str) -> PlacementRecord | None:
        return self.records.get(group_id) or self.orphans.get(group_id)

    def waiting_since(self, group_id: str) -> datetime:
        """Since when a group of the source waits, by its record; now, if it begins to wait in this pass."""
        record = self.records[group_id]
        return record.waiting_since if record and record.waiting_since else self.snapshot.now

    def taken_by(self, group_id: str, cluster: str) -> str:
        """The code of the finding by which a cluster was taken for a group; `Fits` where nothing else is remembered."""
        entry = self.entry(group_id, cluster)
        return self.taken.get((group_id, cluster)) or (entry.reason if entry and entry.reason else Reason.FITS)

    def entry(self, group_id: str, cluster: str) -> RecordCluster | None:
        record = self.record(group_id)
        return next((c for c in record.clusters if c.name == cluster), None) if record else None


def gives_counts(policy: PlacementPolicy) -> bool:
    """Whether a policy may give objects other counts than they are written with."""
    return policy.spec.placement.type in DIVIDING


def may_scale_up(policy: PlacementPolicy) -> bool:
    """Whether a policy lets its groups count on machines that can be added."""
    return policy.spec.placement.scale_up == "IfNeeded"
