"""
Divide: the replicas of a group over all eligible clusters, by weight.

Each cluster gets the whole part of its exact share, and what is left over goes, one replica each, to those whose share lost most
by rounding (largest remainders). So every replica is somewhere, nobody is a whole replica away from what is due to him, and a heavier
cluster never gets less than a lighter one: of five replicas at 70 and 30 four and one, where rounding down alone would lose one.
Where two lost alike the heavier is first, then whoever has that replica already, then the name.

Without weights all clusters are alike. With weights, a cluster that they do not name has none, as one with 0.
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
