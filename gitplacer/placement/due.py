"""
What is due to each cluster of a group that is divided.

By weights it follows from the manifests and the policy alone: every replica count of a group, of each Deployment and of each
worker group, is divided by weight over the clusters that the policy allows (`policies.divide`). A cluster to which nothing is due
gets nothing; any other gets the whole group with its own counts, a Ray cluster with a head of its own. What has no count that
could be divided goes whole to each: Services and ConfigMaps, and a RayService, whose Serve config says how many replicas it has and
whose running Ray cluster KubeRay does not resize.

By room it also follows from what each cluster has and could take more. How many replicas that is, is tried: as large a part of all that are
to come, of each count alike, as finds room there beside what everybody else has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from gitplacer import workloads
from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.counts import AS_WRITTEN, Count, Counts, Part
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.placement.choice import Choice
from gitplacer.placement.departures import Departures
from gitplacer.placement.occupancy import Occupancy, Placements
from gitplacer.placement.onepass import Pass
from gitplacer.policies.divide import BY_ROOM, divided, weight
from gitplacer.relocation.triggers import DECLARED
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads import Scale

COPY = Part(Identity("", "", "", ""), "copy")
"""What is counted of a group that has no replicas to divide: itself, once for each cluster."""

Replicas = Mapping[Part, int]

_WHOLE = frozenset({("ray.io", "RayService")})
"""Kinds that have counts and are not divided."""


class Stock(Struct, frozen=True, dict=True):
    """What there is of a group to divide: the counts of its objects, and of the autoscalers of some of them the bounds."""

    scales: Mapping[Part, Scale]
    scaled: Mapping[Part, Part]
    """The bounds of an autoscaler to the count that it moves."""

    @cached_property
    def totals(self) -> dict[Part, int]:
        """Replicas of every part that has any, to be divided. What an autoscaler owns and nobody has written is left to it."""
        moved = set(self.scaled.values())
        return {
            part: scale.replicas
            for part, scale in self.scales.items()
            if scale.path and (scale.written or part not in moved)
        }

    @cached_property
    def growing(self) -> dict[Part, int | None]:
        """Where there are no replicas yet, but may be: how many at most, None for any number."""
        return {
            part: scale.maximum
            for part, scale in self.scales.items()
            if scale.scales_itself and not self.totals.get(self.scaled.get(part, part), 0)
        }


class Due(Struct, frozen=True):
    """
    What is due to each cluster that is to have something. `leaving` have to be left, and why; of these `stuck` may not be. Without
    `weights` it was divided by room.
    """

    stock: Stock
    totals: Replicas
    shares: Mapping[str, Replicas]
    weights: Mapping[str, int] | None
    leaving: Mapping[str, Finding]
    stuck: Mapping[str, Finding]


class Dues:
    """What is due to clusters, group by group, as far as the clusters are there and take it."""

    def __init__(
        self, shared: Pass, placements: Placements, occupancy: Occupancy, choice: Choice, departures: Departures
    ) -> None:
        self._pass = shared
        self._placements = placements
        self._occupancy = occupancy
        self._choice = choice
        self._departures = departures

    def of(self, group: Group, policy: PlacementPolicy) -> Due:
        """What is due of a group to each cluster now."""
        before = self._placements.get(group.id, ())
        stock = stock_of(group, self._pass.snapshot.source.declarations.kinds)
        leaving = self._must_leave(group, policy)
        stuck = {
            n: f for n, why in leaving.items() if (f := self._departures.stops.stop(group, policy, n, why)) is not None
        }
        now = {name: self.has(group, name, stock) for name in before}
        allowed = [name for name in self._allowed(group, policy, before) if name not in leaving]
        if policy.spec.placement.divides_by_room and any(stock.totals.values()):
            shares = self._by_room(group, policy, stock, allowed, now, stuck)
            return Due(stock, stock.totals, shares, None, leaving, stuck)
        sharing = self._sharing(group, policy, allowed, before)
        weights = {name: weight(policy.spec.placement, name) for name in sharing}
        totals = stock.totals if any(stock.totals.values()) else {}
        parts = {
            part: self._divided(part, total - sum(now[name][part] for name in stuck), weights, now)
            for part, total in totals.items()
        }
        names = {name for shares in parts.values() for name, share in shares.items() if share}
        for most in stock.growing.values():
            many = 1 if most is None else most
            grown = divided(many, weights, held=dict.fromkeys(now, 1))
            names |= {name for name, share in grown.items() if share or most is None}
        if not names and not any(stock.totals.values()):
            first = sorted(sharing, key=lambda n: (self._pass.preference(policy, n), n not in before, n))
            names = set(first[:1] if stock.totals else first)
        found = {n: {part: parts[part][n] for part in parts} for n in sorted(names)}
        if not totals:
            found = {name: dict.fromkeys((*stock.totals, COPY), 0) | {COPY: 1} for name in found}
            # Where nobody may have a copy, those that are there stay: what has nowhere to go is not taken away.
            totals = {**stock.totals, COPY: len(found) + len(stuck) or len(before)}
        return Due(stock, totals, found, weights, leaving, stuck)

    def has(self, group: Group, name: str, stock: Stock) -> dict[Part, int]:
        """
        The replicas that a group has on a cluster where it is. Where it was not divided before they are as written; where it
        was, what it has no count of is new.
        """
        known = self._pass.counts.get((group.id, name), Counts())
        has = {}
        for part, written in stock.totals.items():
            replicas = known.get(part).replicas
            has[part] = replicas if replicas is not None else 0 if known else written
        return has if any(stock.totals.values()) else {**has, COPY: 1}

    def counts(self, due: Due, name: str, everywhere: Mapping[str, Replicas]) -> Counts:
        """The counts of a group on a cluster, with the bounds between which they may be moved: what all have of these adds up too."""
        found: dict[Part, Count] = {}
        there = {n for n in everywhere if n in due.shares or any(everywhere[n].values())}
        sharing = sorted(there | due.shares.keys())
        if due.weights is None:  # bounds are as what each has, so that they rest when that does
            weights = {n: sum(everywhere.get(n, {}).values()) for n in sharing}
        else:
            weights = {n: due.weights.get(n, 0) for n in sharing}
        for part, scale in due.stock.scales.items():
            target = due.stock.scaled.get(part, part)
            has = {n: everywhere.get(n, {}).get(target, 0) for n in weights}
            count = Count(max(has[name], scale.least)) if target == part and part in due.stock.totals else Count()
            if scale.scales_itself:
                low = dict.fromkeys(weights, scale.least) if target != part else {}
                least = divided(scale.minimum, weights, least=low) if low else divided(scale.minimum, weights, most=has)
                floor = {n: max(least[n], has[n]) for n in weights}
                high = None if scale.maximum is None else divided(scale.maximum, weights, least=floor)[name]
                count = count._replace(minimum=least[name], maximum=high)
            found[part] = count
        return Counts.of(found)

    def is_closed(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """Whether a cluster takes nothing more of a group, whatever its room."""
        if name in self._occupancy.reservations.closed_to(group.id):
            return True
        return self._pass.entrance.may_not_enter(group, policy, self._pass.clusters[name]) is not None

    def _divided(
        self, part: Part, total: int, weights: Mapping[str, int], now: Mapping[str, Replicas]
    ) -> Mapping[str, int]:
        """One count over all clusters. One that is cordoned keeps what it has and gets no more."""
        held = {name: has[part] for name, has in now.items()}
        full = {n: held.get(n, 0) for n in weights if self._pass.clusters[n].spec.state == "Cordoned"}
        return divided(max(total, 0), weights, held=held, most=full)

    def _allowed(self, group: Group, policy: PlacementPolicy, before: Sequence[str]) -> list[str]:
        """The clusters that may have a share: all that are allowed and take it, and those that are cordoned for what they have."""
        return [
            name
            for name, cluster in self._pass.clusters.items()
            if name not in self._pass.silent
            and self._pass.entrance.may_not_stay(group, policy, cluster) is None
            and (cluster.spec.state == "Active" or (cluster.spec.state == "Cordoned" and name in before))
        ]

    def _sharing(
        self, group: Group, policy: PlacementPolicy, allowed: Sequence[str], before: Sequence[str]
    ) -> Sequence[str]:
        """The clusters over which a group is divided by weight: all that are allowed, or as many as the policy says."""
        names = sorted(allowed, key=lambda name: (self._pass.preference(policy, name), name not in before, name))
        kept = [name for name in names if name in before] if policy.spec.placement.topology_spread else []
        return self._as_many(group, policy, kept, names)

    def _as_many(
        self, group: Group, policy: PlacementPolicy, kept: Sequence[str], ranked: Sequence[str]
    ) -> Sequence[str]:
        """As many clusters as share a group, best first: those that are kept, and others, spread beside them where the policy says so."""
        wanted = policy.spec.placement.shared_by
        kept = kept[:wanted]
        fresh = [name for name in ranked if name not in kept]
        if wanted is None or not policy.spec.placement.topology_spread:
            return [*kept, *fresh][:wanted]
        return [*kept, *self._choice.spreading.first(group, policy, fresh, kept=kept, wanted=wanted - len(kept))]

    def _by_room(
        self,
        group: Group,
        policy: PlacementPolicy,
        stock: Stock,
        allowed: Sequence[str],
        now: Mapping[str, Replicas],
        stuck: Collection[str],
    ) -> dict[str, dict[Part, int]]:
        """What is due where room decides. Nothing is tried as long as everything is somewhere."""
        totals = {part: max(0, total - sum(now[n][part] for n in stuck)) for part, total in stock.totals.items()}
        staying = sorted((n for n in allowed if n in now), key=lambda n: (-sum(now[n].values()), n))
        staying = staying[: policy.spec.placement.shared_by]
        coming = {part: total - sum(now[n][part] for n in staying) for part, total in totals.items()}
        tried = allowed if any(more > 0 for more in coming.values()) else staying
        if tried is allowed:
            self._occupancy.open()
        rooms = {
            n: self._room(group, policy, stock, n, now.get(n, {}), coming) if tried is allowed else 0 for n in tried
        }
        ranked = sorted((n for n in rooms if n not in staying), key=lambda n: (-rooms[n], n))
        sharing = self._as_many(group, policy, staying, ranked)
        share = BY_ROOM[policy.spec.placement.divide_by]
        parts = {
            part: share(total, {n: rooms[n] for n in sharing}, {n: now.get(n, {}).get(part, 0) for n in sharing})
            for part, total in totals.items()
        }
        return {n: found for n in sorted(sharing) if any((found := {part: parts[part][n] for part in parts}).values())}

    def _room(
        self, group: Group, policy: PlacementPolicy, stock: Stock, name: str, has: Replicas, coming: Replicas
    ) -> int:
        """
        How many of the replicas that are to come a cluster has room for, counted in those of the part of which most come: of the others it
        has room for as large a part.
        """
        before = self._pass.counts.get((group.id, name), AS_WRITTEN)
        whole = max(coming.values())

        def suppose(steps: int) -> None:
            some = {part: has.get(part, 0) + -(-max(0, more) * steps // whole) for part, more in coming.items()}
            rest = {part: max(0, more) + has.get(part, 0) - some[part] for part, more in coming.items()}
            trial = Due(stock, coming, {name: some}, None, {}, {})
            self._pass.count(group.id, name, self.counts(trial, name, {name: some, "": rest}))

        def fits(steps: int) -> bool:
            suppose(steps)
            return self._choice.has_room(group, policy, name)

        low, high = 0, 0 if self.is_closed(group, policy, name) else whole
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        if has:
            self._pass.count(group.id, name, before)
        elif not low:
            suppose(1)  # what is missing for one replica is what there is to say of it
        return low

    def _must_leave(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """
        The clusters that have to be left whatever the division, and why. One that only gets no share any more is not among them,
        and pods that wait for a node move nothing: the share of each cluster is what its weight says.
        """
        triggers = self._departures.causes.triggers(group, policy)
        return {
            name: found
            for name, found in triggers.items()
            if found.code in DECLARED and not found.subject.startswith(f"{name}: {Reason.NO_SHARE}")
        }


def stock_of(group: Group, declared: workloads.Declared) -> Stock:
    """What there is of a group to divide."""
    scales = {
        Part(member.identity, scale.role): scale
        for member in group.members
        if (member.identity.api_group, member.identity.kind) not in _WHOLE
        for scale in workloads.scales(member.document.value, declared)
    }
    scaled = {}
    for member in group.members:
        part = Part(member.identity, "pod")
        if part in scales and not scales[part].path:
            target = next((p for p in scales if scales[p].path and p.object in _targets(member)), None)
            if target is not None:
                scaled[part] = target
    return Stock({part: scale for part, scale in scales.items() if scale.path or part in scaled}, scaled)


def _targets(member: SourceObject) -> set[Identity]:
    namespace = member.identity.namespace
    return {Identity(ref.api_group, ref.kind, namespace, ref.name) for ref in member.facts.points_at}
