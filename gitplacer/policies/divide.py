"""
Divide: the replicas of a group over all eligible clusters, by weight.

Each cluster gets the whole part of its exact share, and what is left over goes, one replica each, to those whose share lost most
by rounding (largest remainders). So every replica is somewhere, no cluster is a whole replica away from what is due to it, and a heavier
cluster never gets less than a lighter one: of five replicas at 70 and 30 four and one, where rounding down alone would lose one.
Where two lost alike the heavier is first, then whoever has that replica already, then the name.

Without weights all clusters are alike. With weights, a cluster that they do not name has none, as one with 0.

By room only what comes is divided, and only what is too much is taken away: whoever has a replica keeps it. So what was divided so stays
as it is while room comes and goes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementSettings

NOTHING: Mapping[str, int] = MappingProxyType({})


def preference(settings: PlacementSettings, cluster: Cluster) -> int | None:
    """The heaviest clusters first; those without weight never."""
    return -weight(settings, cluster.name) or None


def weight(settings: PlacementSettings, cluster: str) -> int:
    """What a cluster's share is in proportion to; 0 if it gets nothing."""
    return settings.weights.get(cluster, 0) if settings.weights else 1


def divided(
    total: int,
    weights: Mapping[str, int],
    *,
    held: Mapping[str, int] = NOTHING,
    least: Mapping[str, int] = NOTHING,
    most: Mapping[str, int] = NOTHING,
) -> dict[str, int]:
    """
    A whole number divided by weights. `held` is what each has now, and decides between equals. Nobody gets less than `least` nor
    more than `most`, of which only one may be given; the others share what that leaves. The shares add up to the total, or to the
    sum of the bounds where these leave no other way.
    """
    bounds, found = least or most, dict[str, int]()
    left, rest = {name: w for name, w in weights.items() if w > 0 or least.get(name, 0) > 0}, total
    while left:
        shares = _shares(max(rest, 0), left, held)
        beyond = {
            name: bounds[name]
            for name, share in shares.items()
            if name in bounds and (share < bounds[name] if least else share > bounds[name])
        }
        if not beyond:
            return {**dict.fromkeys(weights, 0), **found, **shares}
        found |= beyond
        rest -= sum(beyond.values())
        left = {name: w for name, w in left.items() if name not in beyond}
    return {**dict.fromkeys(weights, 0), **found}


def by_room(total: int, room: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """
    What each has of a total when what comes is divided in proportion to the room for more, and what goes in proportion to what each has.
    What nobody has room for is shared in that proportion too, or alike.
    """
    has = {name: held.get(name, 0) for name in room}
    more = total - sum(has.values())
    if more <= 0:
        return divided(total, has, held=has)
    weights = room if any(room.values()) else dict.fromkeys(room, 1)
    bounds = room if more <= sum(room.values()) else NOTHING
    return {name: has[name] + share for name, share in divided(more, weights, held=has, most=bounds).items()}


def fewest(total: int, room: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """
    What each has of a total when what comes goes to as few as can be: first to those that have some, then to those with most room. What
    nobody has room for is with the first. What is too much goes from those that have least.
    """
    has = {name: held.get(name, 0) for name in room}
    more = total - sum(has.values())
    order = sorted(room, key=lambda name: (not has[name], -room[name], name))
    for name in order:
        step = max(0, min(more, room[name]))
        has[name] += step
        more -= step
    if more > 0 and order:
        has[order[0]] += more
    for name in sorted(room, key=lambda name: (has[name], name)):
        step = max(0, min(-more, has[name]))
        has[name] -= step
        more += step
    return has


BY_ROOM = MappingProxyType({"Room": by_room, "FewestClusters": fewest})
"""How a total is divided, by what a policy's `divideBy` says."""


def _shares(total: int, weights: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    whole = sum(weights.values())
    if not whole:
        return dict.fromkeys(weights, 0)
    shares = {name: total * w // whole for name, w in weights.items()}

    def rank(name: str) -> tuple[int, int, bool, str]:
        lost = total * weights[name] % whole
        return -lost, -weights[name], held.get(name, 0) <= shares[name], name

    for name in sorted(weights, key=rank)[: total - sum(shares.values())]:
        shares[name] += 1
    return shares
