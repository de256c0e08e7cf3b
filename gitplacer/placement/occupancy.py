"""
Which groups are on each cluster so far in a round, and what they leave free.

The ledgers are opened only when somebody asks. Into each goes what the snapshot shows, then every group that is placed there, then the
room that is kept for groups that wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from gitplacer.grouping import Group
from gitplacer.model.bystander import Bystander, Holding, Seated
from gitplacer.model.decision import Claim, Finding, QueueAsks, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.books import Books
from gitplacer.placement.growths import Growths
from gitplacer.placement.kueuedemand import KueueDemand
from gitplacer.placement.ledger import Ledger, has_finished
from gitplacer.placement.namespacedemand import NamespaceDemand, Of
from gitplacer.placement.onepass import Pass, may_scale_up
from gitplacer.placement.overlaps import Overlap
from gitplacer.placement.pack import Packing
from gitplacer.placement.presence import Presence
from gitplacer.placement.reservations import NOBODY, Reservations
from gitplacer.placement.seating import HeldRoom, is_soon_filled, reserved, seats_in
from gitplacer.placement.sidebyside import Fit, Judged, reserve_beside
from gitplacer.placement.weakly import weakly
from gitplacer.relocation.evidence import speaks_of
from gitplacer.source.manifests import PLATFORM, WORKLOADS

Placements = Mapping[str, tuple[str, ...]]
"""Id of a group or record to the clusters that have its files."""

_Order = Callable[[str, str], tuple[Any, ...]]
"""What groups are sorted by on a cluster."""

_HAS_ROOM = (Reason.TIGHT_FIT, Reason.QUOTA_EXCEEDED, Reason.QUEUE_QUOTA)
"""Why an edit is short though there is room for it."""

Claims = Mapping[str, Claim]
"""Id of a group that waits to the room that is kept for it."""


class Occupancy:
    """
    `gone` are records that are removed in this round; `here` which groups are on each cluster now; `outgrown`, as
    (group, cluster), the groups that no longer find room for all their pods where they are, known once the ledgers are
    open.
    """

    def __init__(self, shared: Pass, placements: Placements, claims: Claims) -> None:
        self._pass = shared
        self._snapshot = shared.snapshot
        self.placements = placements
        self.gone: set[str] = set()
        self.here = Presence(placements)
        self.outgrown: set[tuple[str, str]] = set()
        self._beside: dict[str, dict[str, Judged]] = {}
        self.judged: dict[tuple[str, str], Judged] = {}
        self._plain: dict[str, tuple[frozenset[str], Ledger]] = {}
        left = {group_id: claim for group_id, claim in claims.items() if claim.displaced}
        self.reservations = Reservations(left, weakly(self.ledger), weakly(self.take), weakly(self.ending))

    @property
    def is_open(self) -> bool:
        """Whether the ledgers are open; asking does not open them."""
        return "books" in self.__dict__

    @cached_property
    def namespace_demand(self) -> NamespaceDemand:
        """What groups take of the quotas of namespaces."""
        return NamespaceDemand(self._pass)

    @cached_property
    def kueue_demand(self) -> KueueDemand:
        """What groups ask of Kueue's queues."""
        return KueueDemand(self._pass)

    @cached_property
    def _namespace_growths(self) -> Growths[Of, str]:
        return Growths(self._pass, self.namespace_demand, weakly(self._has_finished_there))

    @cached_property
    def _kueue_growths(self) -> Growths[str, QueueAsks]:
        return Growths(self._pass, self.kueue_demand, weakly(self._has_finished_there))

    def not_let_in(self, group_id: str, cluster: str) -> Finding | None:
        """
        Why Kueue's queues or the quotas of namespaces on a cluster do not let in what the edit of a group takes there; None if they do.
        """
        queue, words = (
            self._kueue_growths.refusal(group_id, cluster),
            self._namespace_growths.refusal(group_id, cluster),
        )
        if queue is not None:
            return Finding(code=Reason.QUEUE_QUOTA, queue=queue)
        return None if words is None else Finding(code=Reason.QUOTA_EXCEEDED, subject=words)

    def added_not_let_in(self, group_id: str, cluster: str) -> Finding | None:
        """`not_let_in` for objects that are added to a group of which nothing else is edited there."""
        adds = any(growths.adds(group_id, cluster) for growths in (self._kueue_growths, self._namespace_growths))
        return self.not_let_in(group_id, cluster) if adds else None

    def _has_finished_there(self, group_id: str, cluster: str) -> bool:
        return self.has_finished(self._pass.books[cluster], group_id, cluster)

    def is_held_back(self, group_id: str, cluster: str) -> bool:
        """
        Whether the edit of a group finds too little on a cluster and was not let go on so far. Known once the ledgers
        are open.
        """
        judged = self.judged.get((group_id, cluster))
        if judged is None or judged.fit is not Fit.SHORT or (group_id, cluster) in self._pass.proceeding:
            return False
        overlap = self._pass.overlap(group_id, cluster)
        return overlap is not None and bool(overlap.updates) and (overlap.waits or judged.alone)

    def open(self) -> None:
        """
        Open the ledgers, with all groups as they are placed. This has to come before other counts are tried: a ledger is opened with the counts as they
        are then, and a cluster that did not hold them would be closed to all.
        """
        _ = self.books

    @cached_property
    def books(self) -> Books:
        """The ledgers with the room of everything that is placed taken."""
        books = self._pass.books.copy()
        by_cluster: dict[str, list[str]] = defaultdict(list)
        for group_id, clusters in self.placements.items():
            for cluster in clusters:
                if group_id not in self.gone and cluster in books:
                    by_cluster[cluster].append(group_id)
        by_cluster |= {name: [] for name in self._snapshot.bystanders if name in books and name not in by_cluster}
        for cluster, group_ids in by_cluster.items():
            ledger, left_over = self.replayed(self._pass.books[cluster], cluster, group_ids)
            self.outgrown |= {(group_id, cluster) for group_id in left_over}
            self.judged |= {
                (group_id, cluster): judged
                for group_id, judged in self._beside[cluster].items()
                if group_id in group_ids
            }
            books.replace(cluster, ledger)
        for cluster in self.reservations.claimed():
            self.reservations.drop_those_that_fail(cluster)
            books.replace(cluster, self.reservations.for_others(cluster))
        if self._pass.doubts is not None:
            books.doubts = self._pass.doubts.copy()
        return books

    def replayed(
        self, empty: Ledger, cluster: str, group_ids: Iterable[str], *, but: Collection[str] = ()
    ) -> tuple[Ledger, list[str]]:
        """
        A copy of a ledger with the room taken of groups, and of the bystanders that are not in `but`; and the groups
        that find no room for all their pods.
        """
        group_ids = {*group_ids, *(self._pass.bystanders(cluster).keys() - but)}
        # As they came is how they were promised their room. Where packing them one after another fails that way, the
        # largest go first; where it still fails, the cluster is overfull, and takes nothing new.
        for order in (self._arrival, self._size):
            asked = self._in_order(empty, cluster, group_ids, order)
            ledger, left_over = self._filled(empty, cluster, asked)
            if not left_over:
                break
        self._beside[cluster] = self._reserved_beside(ledger, cluster, group_ids)
        gangs = [group_id for group_id in left_over if self._is_gang(group_id, cluster)]
        if not all(self._waits_on_its_node(group_id, cluster) for group_id in gangs):
            ledger.close()
        return ledger, gangs

    def _in_order(self, empty: Ledger, cluster: str, group_ids: Iterable[str], order: _Order) -> list[HeldRoom]:
        return [self._asked(empty, group_id, cluster) for group_id in sorted(group_ids, key=partial(order, cluster))]

    def _filled(self, empty: Ledger, cluster: str, asked: Sequence[HeldRoom]) -> tuple[Ledger, tuple[str, ...]]:
        """
        A copy of a ledger with the room of groups taken, one after another, and the groups that find no room for all
        their pods.
        """
        moves = tuple((each.group, each.holds) for each in asked)  # and not where they sat, which only saves work
        seats = self._pass.seats

        def take(ledger: Ledger, begun: int) -> list[str]:
            return reserved(asked[begun:], seats, cluster, ledger)

        return empty.replay(moves, take, in_parts=is_soon_filled(empty, asked))

    def _reserved_beside(self, ledger: Ledger, cluster: str, group_ids: Iterable[str]) -> dict[str, Judged]:
        """
        Take the room of the pods that updates bring beside those of placed groups, in the order in which the groups
        came.
        """
        found, ends = {}, dict[str, Gang]()
        for group_id in sorted(group_ids, key=partial(self._arrival, cluster)):
            overlap = self._pass.overlap(group_id, cluster)
            if overlap is None or cluster not in self._pass.recorded.get(group_id, ()) or self._left(group_id, cluster):
                continue
            alone = partial(self._alone, cluster, group_id, group_ids, ends)
            not_let_in = partial(self.not_let_in, group_id, cluster)
            judged, end = reserve_beside(self._pass, ledger, group_id, cluster, overlap, alone, not_let_in)
            if end:
                ends[group_id] = end
            if judged is not None:
                found[group_id] = judged
                # What takes luck has room, and whoever comes is judged by every order in which it may take another. So has what only a quota
                # keeps out for now.
                short = judged.fit is Fit.SHORT and judged.finding.code not in _HAS_ROOM
                if short and self._pods_wait(group_id, cluster, overlap):
                    ledger.close()
        return found

    def _left(self, group_id: str, cluster: str) -> bool:
        """
        Whether a group has left a cluster for a group that claims its room: then it holds what is seen of it there, and
        no update of it begins or ends.
        """
        return group_id not in self.here.on(cluster) and cluster in self.reservations.closed_to(group_id)

    def _pods_wait(self, group_id: str, cluster: str, overlap: Overlap) -> bool:
        """Whether pods without room will be in the cluster, and take what gets free."""
        if not self._is_gang(group_id, cluster):
            return False
        return not overlap.updates or (group_id, cluster) in self._pass.proceeding

    def _alone(self, cluster: str, group_id: str, group_ids: Iterable[str], ends: Mapping[str, Gang]) -> Ledger:
        """
        The ledger of a cluster with all groups on it but one. A group in `ends` holds the pods given there, with which
        its update ends and which are more than it begins with.
        """
        shown = {group.name for group in self._snapshot.capacity[cluster].groups}
        ledger = self._pass.settled(cluster, shown - {group_id} - ends.keys()).copy()
        for other in sorted(set(group_ids) - {group_id}, key=partial(self._arrival, cluster)):
            asked = self._asked(ledger, other, cluster)
            end = ends.get(other)
            (asked if end is None else HeldRoom(other, asked.holds._replace(gang=end))).reserved(ledger)
        return ledger

    def ledger(self, cluster: str, *, without: frozenset[str] = NOBODY, settled: bool = False) -> Ledger:
        """
        The ledger of a cluster with the room of all groups on it taken, `without` some. With `settled` it is as if
        those that had to leave were seen no more; otherwise each of them is on it until a snapshot tells of the time
        after.
        """
        here = set(self.here.on(cluster) - without)
        if settled:
            return self.replayed(self._pass.settled(cluster, here, but=without), cluster, here, but=without)[0]
        for claimant in self.reservations.on(cluster):
            claim = self.reservations.claim_of(claimant)
            if claim is not None and not self._pass.is_clear(claimant, claim):
                here |= self._pass.groups.keys() & set(claim.displaced)
        return self.replayed(self._pass.books[cluster], cluster, here, but=without)[0]

    def take(self, ledger: Ledger, group_id: str, cluster: str) -> Packing | None:
        """Reserve a waiting group's room in a ledger of a cluster, if there is enough."""
        group = self._pass.groups[group_id]
        scales = group.policy is not None and may_scale_up(group.policy) and bool(ledger.nodes.types)
        gang = self._pass.gang_on(group_id, cluster)
        packing = ledger.fit(gang, scale_up=scales)
        if not isinstance(packing, Packing):
            return None
        lucky = group.policy is not None and self._pass.accepts_tight(group.policy, cluster)
        careless = group.policy is not None and self._pass.is_careless(group.policy, cluster)
        sure = packing.is_there and ledger.is_certain(gang)
        refused = packing.is_there and not sure and not lucky
        if refused or not (sure or careless or ledger.is_certain(gang, lucky=True, opened=packing.opened)):
            return None  # nobody is sent away, and no room is kept, for what would then be refused
        ledger.reserve(group_id, packing, gang, sure=sure, lucky=lucky)
        return packing

    def ending(self, cluster: str, since: datetime) -> frozenset[str]:
        """The groups that were on a cluster before a time, and end by themselves and then give their room back."""
        there = ((g, self._pass.groups.get(g), self._pass.entry(g, cluster)) for g in self.here.on(cluster))
        ours = (g for g, group, entry in there if entry and entry.since < since and self._releases(group))
        beside = (g for g, one in self._pass.bystanders(cluster).items() if one.ends and one.since < since)
        return frozenset((*ours, *beside))

    def _waits_on_its_node(self, group_id: str, cluster: str) -> bool:
        """
        Whether a group that found no room has only pods that are each for one node, so that it takes nothing on others.
        """
        return all(pods.shape.node_name for pods in self._gang_on(group_id, cluster))

    def _arrival(self, cluster: str, group_id: str) -> tuple[datetime, int, str]:
        """When a group came to a cluster, as the record that this pass writes will say."""
        bystander = self._bystander(group_id, cluster)
        if bystander is not None:
            return bystander.since, -bystander.priority, group_id
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        entry = self._pass.entry(group_id, cluster)
        begun_anew = group is not None and record is not None and not self._snapshot.tells_of(record, group)
        since = self._snapshot.now if entry is None or begun_anew else entry.since
        return since, -(group.priority if group else 0), group_id

    def _size(self, cluster: str, group_id: str) -> tuple[float, str]:
        """The largest share of what the cluster offers that one pod of a group asks for; largest first."""
        room = self._pass.books[cluster].empty_room()
        shares = [room.takes(pods.shape).share for pods in self._gang_on(group_id, cluster)]
        return -max(shares, default=0.0), group_id

    def _gang_on(self, group_id: str, cluster: str) -> Gang:
        bystander = self._bystander(group_id, cluster)
        return self._pass.gang_on(group_id, cluster) if bystander is None else bystander.holds.gang

    def _bystander(self, group_id: str, cluster: str) -> Bystander | None:
        return self._pass.bystanders(cluster).get(group_id)

    def _is_gang(self, group_id: str, cluster: str) -> bool:
        """Whether a group was promised room for all its pods."""
        bystander = self._bystander(group_id, cluster)
        if bystander is not None:
            return bystander.is_gang
        group = self._pass.groups.get(group_id)
        if group is None or group.policy is None:
            return True
        return group.unit != PLATFORM and group.policy.spec.placement.admission == "Gang"

    def _asked(self, empty: Ledger, group_id: str, cluster: str) -> HeldRoom:
        """The room that a placed group has on a cluster, as its ledger is asked for it."""
        bystander = self._bystander(group_id, cluster)
        if bystander is not None:
            return HeldRoom(group_id, bystander.holds, bystander.seat)
        group = self._pass.groups.get(group_id)
        by = self._pass.taken_by(group_id, cluster)
        held = Holding(
            gang=(self._pass.gang_on if self._left(group_id, cluster) else self._pass.held_on)(group_id, cluster),
            finished=self.has_finished(empty, group_id, cluster),
            scale_up=group is None or group.policy is None or may_scale_up(group.policy),
            sure=self._is_gang(group_id, cluster) and by not in (Reason.TIGHT_FIT, Reason.ROOM, Reason.ADOPTED),
            lucky=group is not None and group.policy is not None and self._pass.accepts_tight(group.policy, cluster),
            by_machines=by == Reason.FITS_BY_SCALE_UP,
        )
        return HeldRoom(group_id, held, self._pass.seat_of(group_id, cluster, held))

    def as_bystander(self, group_id: str, cluster: str) -> Bystander:
        """A placed group on a cluster as a bystander."""
        since, rank, _ = self._arrival(cluster, group_id)
        holds = self._asked(self._pass.books[cluster], group_id, cluster).holds
        group, record = self._pass.groups.get(group_id), self._pass.record(group_id)
        policy, tenant = (group.policy, group.tenant) if group is not None else (None, None)
        everywhere = policy is not None and policy.spec.placement.copies == "All"
        is_local = not everywhere and record is not None and not record.moves
        return Bystander(
            holds, since, -rank, self._is_gang(group_id, cluster), tenant.name if tenant is not None else "", self._releases(group), is_local
        )  # fmt: skip

    def seats(self, cluster: str) -> dict[str, Seated]:
        """Where the groups on a cluster sit, if each finds room when they are seated one after another as they came."""
        empty, group_ids = self._pass.books[cluster], {*self.here.on(cluster), *self._pass.bystanders(cluster)}
        asked = self._in_order(empty, cluster, group_ids, self._arrival)
        ledger, left_over = self._filled(empty, cluster, asked)
        return {} if left_over else seats_in(ledger, asked, empty.digest())

    def has_finished(self, ledger: Ledger, group_id: str, cluster: str) -> bool:
        """Whether a placed group has come to its end, and holds nothing any more."""
        entry, record = self._pass.entry(group_id, cluster), self._pass.record(group_id)
        if not self._releases(self._pass.groups.get(group_id)):
            return False
        if record is not None and record.finished is not None:
            return True
        return (
            entry is not None
            and has_finished(ledger.running(group_id))
            and speaks_of(self._snapshot.capacity[cluster], entry, WORKLOADS)
        )

    @staticmethod
    def _releases(group: Group | None) -> bool:
        """Whether a finished group holds nothing: all its members run to completion and give back what they had."""
        sized = group.sized if group else ()
        return bool(sized) and all(m.facts.releases_when_finished for m in sized)

    def unreserved(self, name: str) -> Ledger:
        """The ledger of a cluster as if no room on it were kept for any group."""
        here = frozenset(self.here.on(name))
        if name not in self._plain or self._plain[name][0] != here:
            self._plain[name] = here, self.ledger(name)
        return self._plain[name][1]
