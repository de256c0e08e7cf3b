"""
What is due to each cluster of a group that is divided.

What is due follows from the manifests and the policy alone: every replica count of a group, of each Deployment and of each
worker group, is divided by weight over the clusters that the policy allows (`policies.divide`). A cluster to which nothing is due
gets nothing; any other gets the whole group with its own counts, a Ray cluster with a head of its own. What has no count that
could be divided goes whole to each: Services and ConfigMaps, and a RayService, whose Serve config says how many replicas it has and
whose running Ray cluster KubeRay does not resize.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gitplacer import workloads
from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.counts import Count, Counts, Part
from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.placement.choice import Choice
from gitplacer.placement.departures import Departures
from gitplacer.placement.occupancy import Placements
from gitplacer.placement.onepass import Pass
from gitplacer.policies.divide import divided, weight
from gitplacer.relocation.triggers import DECLARED
from gitplacer.source.manifests import SourceObject
from gitplacer.workloads import Scale

COPY = Part(Identity("", "", "", ""), "copy")
"""What is counted of a group that has no replicas to divide: itself, once for each cluster."""

Replicas = Mapping[Part, int]

_WHOLE = frozenset({("ray.io", "RayService")})
"""Kinds that have counts and are not divided."""


@dataclass(frozen=True)
class Stock:
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


@dataclass(frozen=True)
class Due:
    """What is due to each cluster that is to have something. `leaving` have to be left, and why; of these `stuck` may not be."""

    stock: Stock
    totals: Replicas
    shares: Mapping[str, Replicas]
    weights: Mapping[str, int]
    leaving: Mapping[str, Finding]
    stuck: Mapping[str, Finding]


class Dues:
    """What is due to clusters, group by group, as far as the clusters are there and take it."""

    def __init__(self, shared: Pass, placements: Placements, choice: Choice, departures: Departures) -> None:
        self._pass = shared
        self._placements = placements
        self._choice = choice
        self._departures = departures

    def of(self, group: Group, policy: PlacementPolicy) -> Due:
        """What is due of a group to each cluster now."""
        before = self._placements.get(group.id, ())
        stock = stock_of(group, self._pass.snapshot.source.declarations.kinds)
        leaving = self._must_leave(group, policy)
        stuck = {n: f for n, why in leaving.items() if (f := self._departures.stop(group, policy, n, why)) is not None}
        sharing = [name for name in self._sharing(group, policy, before) if name not in leaving]
        weights = {name: weight(policy.spec.placement, name) for name in sharing}
        now = {name: self.has(group, name, stock) for name in before}
        totals = stock.totals if any(stock.totals.values()) else {}
        parts = {
            part: self._divided(part, total - sum(now[name][part] for name in stuck), weights, now)
            for part, total in totals.items()
        }
        names = {name for shares in parts.values() for name, share in shares.items() if share}
        for most in stock.growing.values():
            held = dict.fromkeys(now, 1)
            names |= {
                n
                for n, share in divided(1 if most is None else most, weights, held=held).items()
                if share or most is None
            }
        if not names and not any(stock.totals.values()):
            first = sorted(sharing, key=lambda n: (self._pass.preference(policy, n), n not in before, n))
            names = set(first[:1] if stock.totals else first)
        shares: dict[str, dict[Part, int]] = {n: {part: parts[part][n] for part in parts} for n in sorted(names)}
        if not totals:
            shares = {name: dict.fromkeys((*stock.totals, COPY), 0) | {COPY: 1} for name in shares}
            # Where nobody may have a copy, those that are there stay: what has nowhere to go is not taken away.
            totals = {**stock.totals, COPY: len(shares) + len(stuck) or len(before)}
        return Due(stock, totals, shares, weights, leaving, stuck)

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
        weights = {n: max(due.weights.get(n, 0), 0) for n in sorted(there | due.shares.keys())}
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

    def _divided(
        self, part: Part, total: int, weights: Mapping[str, int], now: Mapping[str, Replicas]
    ) -> Mapping[str, int]:
        """One count over all clusters. One that is cordoned keeps what it has and gets no more."""
        held = {name: has[part] for name, has in now.items()}
        full = {n: held.get(n, 0) for n in weights if self._pass.clusters[n].spec.state == "Cordoned"}
        return divided(max(total, 0), weights, held=held, most=full)

    def _sharing(self, group: Group, policy: PlacementPolicy, before: Sequence[str]) -> list[str]:
        """The clusters over which a group is divided: all that are allowed and take it, or as many as the policy says."""
        names = [
            name
            for name, cluster in self._pass.clusters.items()
            if name not in self._pass.silent
            and self._pass.may_not_stay(group, policy, cluster) is None
            and (cluster.spec.state == "Active" or (cluster.spec.state == "Cordoned" and name in before))
        ]
        names.sort(key=lambda name: (self._pass.preference(policy, name), name not in before, name))
        wanted = policy.spec.placement.shared_by
        if wanted is None or not policy.spec.placement.topology_spread:
            return names[:wanted]
        # What runs stays, and the others are spread beside it.
        kept = [name for name in names if name in before][:wanted]
        fresh = [name for name in names if name not in kept]
        return [*kept, *self._choice.spreading.first(group, policy, fresh, kept=kept, wanted=wanted - len(kept))]

    def _must_leave(self, group: Group, policy: PlacementPolicy) -> dict[str, Finding]:
        """
        The clusters that have to be left whatever the division, and why. One that only gets no share any more is not among them,
        and pods that wait for a node move nothing: the share of each cluster is what its weight says.
        """
        triggers = self._departures.triggers(group, policy)
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
