"""
Dividing a group over clusters: what is due to each, and how far room lets it go there.

What is due follows from the manifests and the policy alone: every replica count of a group, of each Deployment and of each
worker group, is divided by weight over the clusters that the policy allows (`policies.divide`). A cluster to which nothing is due
gets nothing; any other gets the whole group with its own counts, a Ray cluster with a head of its own. What has no count that
could be divided goes whole to each: Services and ConfigMaps, and a RayService, whose Serve config says how many replicas it has and
whose running Ray cluster KubeRay does not resize.

A share comes to a cluster whole or waits. Where the group runs already it grows by as many replicas as find room. And no cluster
gives one up before another has taken it: what is divided anew is never less for it than it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gitplacer import workloads
from gitplacer.grouping import Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.counts import Count, Counts, Part
from gitplacer.model.decision import Action, Decision, Finding, Reason
from gitplacer.model.workload import Identity
from gitplacer.placement.choice import Choice
from gitplacer.placement.departures import Departures
from gitplacer.placement.occupancy import Occupancy, Placements
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


class Division:
    """Divided groups in one round. `nowhere` tells why a group found no cluster at all."""

    def __init__(
        self,
        shared: Pass,
        placements: Placements,
        occupancy: Occupancy,
        choice: Choice,
        departures: Departures,
        nowhere: Callable[[Group, PlacementPolicy], Finding],
    ) -> None:
        self._pass = shared
        self._placements = placements
        self._occupancy = occupancy
        self._choice = choice
        self._departures = departures
        self._nowhere = nowhere

    def is_settled(self, group: Group, policy: PlacementPolicy) -> bool:
        """Whether every cluster has what is due to it, and nobody else anything."""
        before = self._placements.get(group.id, ())
        due = self._due(group, policy)
        if due.leaving or not before or set(before) != due.shares.keys():
            return False
        return all(
            self._pass.counts.get((group.id, name), Counts()) == self._counts(due, name, due.shares) for name in before
        )

    def decide(self, group: Group, policy: PlacementPolicy) -> Decision:
        """Bring a group as near to what is due as room allows."""
        before = self._placements.get(group.id, ())
        due = self._due(group, policy)
        now = {name: self._has(group, name, due.stock) for name in before}
        new, reasons = self._spread(group, policy, due, now)
        self._give_up(due, new)
        after = tuple(sorted(name for name, has in new.items() if name in due.shares or any(has.values())))
        for name in after:
            self._pass.count(group.id, name, self._counts(due, name, new))
        for name in set(before) - set(after):
            self._occupancy.books.release(group.id, name)
        reasons = {name: found for name, found in reasons.items() if name in after}
        missing = _missing(due, new)
        finding = self._finding(group, policy, due, missing, after, reasons)
        if left := sorted((set(before) - set(after)) & due.leaving.keys()):
            finding = due.leaving[left[0]] if finding.code is not Reason.SHARES_WAIT else finding
        waits = not after or bool(missing)
        record = self._pass.records[group.id]
        since = record.waiting_since if record and record.waiting_since else self._pass.snapshot.now
        stuck = finding.code is Reason.NOWHERE_TO_GO
        held = stuck or finding in due.stuck.values()
        return Decision(
            group=group.id, policy=policy.name, action=_action(before, after, held), before=before, after=after,
            finding=finding, reasons=reasons, candidates=self._choice.candidates(group, policy, after, reasons, waits=waits or stuck),
            waiting_since=since if waits else None, updated_in_place=held,
        )  # fmt: skip

    # what is due

    def _due(self, group: Group, policy: PlacementPolicy) -> Due:
        before = self._placements.get(group.id, ())
        stock = stock_of(group, self._pass.snapshot.source.declarations.kinds)
        leaving = self._must_leave(group, policy)
        stuck = {n: f for n, why in leaving.items() if (f := self._departures.stop(group, policy, n, why)) is not None}
        sharing = [name for name in self._sharing(group, policy, before) if name not in leaving]
        weights = {name: weight(policy.spec.placement, name) for name in sharing}
        now = {name: self._has(group, name, stock) for name in before}
        totals = stock.totals if any(stock.totals.values()) else {}
        parts = {
            part: self._divided(part, total - sum(now[name][part] for name in stuck), weights, now)
            for part, total in totals.items()
        }
        names = {name for shares in parts.values() for name, share in shares.items() if share}
        for most in stock.growing.values():
            held = dict.fromkeys(now, 1)
            names |= {n for n, share in divided(_many(most), weights, held=held).items() if share or most is None}
        if not names and not any(stock.totals.values()):
            first = sorted(sharing, key=lambda n: (self._pass.preference(policy, n), n not in before, n))
            names = set(first[:1] if stock.totals else first)
        shares: dict[str, dict[Part, int]] = {n: {part: parts[part][n] for part in parts} for n in sorted(names)}
        if not totals:
            shares = {name: dict.fromkeys((*stock.totals, COPY), 0) | {COPY: 1} for name in shares}
            # Where nobody may have a copy, those that are there stay: what has nowhere to go is not taken away.
            totals = {**stock.totals, COPY: len(shares) + len(stuck) or len(before)}
        return Due(stock, totals, shares, weights, leaving, stuck)

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

    # what there is

    def _has(self, group: Group, name: str, stock: Stock) -> dict[Part, int]:
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

    def _counts(self, due: Due, name: str, everywhere: Mapping[str, Replicas]) -> Counts:
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

    # going there

    def _spread(
        self, group: Group, policy: PlacementPolicy, due: Due, now: Mapping[str, Replicas]
    ) -> tuple[dict[str, dict[Part, int]], dict[str, Finding]]:
        """What every cluster has when each has taken of its share what it can, and why those take it that get more."""
        new = {name: dict(has) for name, has in now.items()}
        reasons: dict[str, Finding] = {}
        for name in sorted(due.shares, key=lambda n: (self._pass.preference(policy, n), n)):
            has, wish = now.get(name), due.shares[name]
            if has is not None and all(has[part] >= number for part, number in wish.items()):
                continue
            if self._is_closed(group, policy, name):
                if has is None:  # what would be due to it is what there is to say of it
                    self._pass.count(group.id, name, self._counts(due, name, {**due.shares, name: wish}))
                continue
            # Those who have to leave go bit by bit, if they must; else a share comes whole.
            start = dict.fromkeys(wish, 0) if has is None else dict(has)
            least = _steps(start, wish) if has is None and not due.leaving else 1
            taken = self._most(group, policy, due, name, start, wish, least, is_there=has is not None)
            if taken is not None:
                new[name], reasons[name] = taken
        return new, reasons

    def _is_closed(self, group: Group, policy: PlacementPolicy, name: str) -> bool:
        """Whether a cluster takes nothing more of a group, whatever its room."""
        if name in self._occupancy.reservations.closed_to(group.id):
            return True
        return self._pass.may_not_enter(group, policy, self._pass.clusters[name]) is not None

    def _most(
        self,
        group: Group,
        policy: PlacementPolicy,
        due: Due,
        name: str,
        start: Replicas,
        wish: Replicas,
        least: int,
        *,
        is_there: bool,
    ) -> tuple[dict[Part, int], Finding] | None:
        """As many replicas of what is due to a cluster as it takes, room reserved; None if not even the least."""
        before = self._pass.counts.get((group.id, name))

        def counted(steps: int) -> dict[Part, int]:
            some = _on_the_way(start, wish, steps)
            self._pass.count(group.id, name, self._counts(due, name, {**due.shares, name: some}))
            return some

        def taken(steps: int) -> tuple[dict[Part, int], Finding] | None:
            some = counted(steps)
            found = self._choice.more(group, policy, name) if is_there else self._come(group, policy, name)
            return None if found is None else (some, found)

        def fits(steps: int) -> bool:
            counted(steps)
            return self._choice.has_room(group, policy, name)

        whole = _steps(start, wish)
        done = taken(whole)
        if done is None and least < whole:
            low, high = least - 1, whole - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if fits(middle) else (low, middle - 1)
            done = taken(low) if low >= least else None
        if done is None:
            if is_there:
                self._pass.count(group.id, name, before or Counts())
            else:
                counted(whole)  # what is missing for its whole share is what there is to say of it
        return done

    def _come(self, group: Group, policy: PlacementPolicy, name: str) -> Finding | None:
        """Take a cluster for a share, if it has room for all of it."""
        others = self._pass.clusters.keys() - {name}
        return self._choice.choose(group, policy, exclude=others, wanted=1).get(name)

    @staticmethod
    def _give_up(due: Due, new: dict[str, dict[Part, int]]) -> None:
        """Let clusters that have more than is due to them give up what others have taken, those first that have to be left."""
        for part, total in due.totals.items():
            over = sum(has.get(part, 0) for has in new.values()) - total
            excess = {
                name: has[part] - due.shares.get(name, {}).get(part, 0)
                for name, has in new.items()
                if name not in due.stuck and part in has
            }
            for name in sorted(excess, key=lambda n: (n not in due.leaving, -excess[n], n)):
                less = max(0, min(excess[name], over))
                new[name][part] -= less
                over -= less

    def _finding(
        self,
        group: Group,
        policy: PlacementPolicy,
        due: Due,
        missing: Mapping[str, int],
        after: Sequence[str],
        reasons: Mapping[str, Finding],
    ) -> Finding:
        if not after:
            return self._nowhere(group, policy)
        changed = after != self._pass.recorded.get(group.id, ()) or self._pass.is_recounted(group.id, after)
        if due.leaving.keys() & set(after) and not changed:
            first = min(due.leaving.keys() & set(after))
            return due.stuck.get(first) or Finding(code=Reason.NOWHERE_TO_GO, subject=due.leaving[first].code)
        if missing:
            wanted = sum(sum(wish.values()) for wish in due.shares.values())
            told = ", ".join(f"{number} on {name}" for name, number in sorted(missing.items()))
            placed = wanted - sum(missing.values())
            return Finding(code=Reason.SHARES_WAIT, subject=told, placed=placed, wanted=wanted)
        return reasons[min(reasons)] if reasons else Finding(code=Reason.KEPT)


def _missing(due: Due, new: Mapping[str, Replicas]) -> dict[str, int]:
    """How many replicas that are due to a cluster it does not have."""
    found = {name: _steps(new.get(name, {}), wish) for name, wish in due.shares.items()}
    return {name: number for name, number in found.items() if number}


def divides(group: Group) -> bool:
    """Whether a group's policy divides it."""
    return group.policy is not None and group.policy.spec.placement.type == "Divide"


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


def _action(before: Iterable[str], after: Sequence[str], held: bool) -> Action:
    """A share that goes to another cluster is no relocation: the group is there and here, before and after."""
    if not after:
        return Action.WAIT
    if set(after) - set(before):
        return Action.PLACE
    if set(before) - set(after):
        return Action.REMOVE
    return Action.HOLD if held else Action.KEEP


def _many(most: int | None) -> int:
    return 1 if most is None else most


def _steps(start: Replicas, wish: Replicas) -> int:
    """How many replicas a cluster is to get."""
    return sum(max(0, number - start.get(part, 0)) for part, number in wish.items())


def _on_the_way(start: Replicas, wish: Replicas, steps: int) -> dict[Part, int]:
    """What a cluster has when it got so many of them, one part after the other."""
    found = {part: start.get(part, 0) for part in wish}
    for part, number in sorted(wish.items()):
        more = min(steps, max(0, number - found[part]))
        found[part] += more
        steps -= more
    return found
