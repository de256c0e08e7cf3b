"""
Volumes that wait to be claimed, in pools: those of which the claims of one sort take one each.

On a node, kube-scheduler gives a claim the smallest volume that suits it. Pools are counted like any resource of a node: a claim
takes one of its own pool and of each that has all of its volumes. That is what happens if, wherever two pools meet, one is part of
the other and the claims of the larger one find their own volumes first, because these are smaller. Where it is not so, a claim may
take what only another one could have used, and there is no promise. tests/test_scheduler_volumes.py plays it through.
Source: kubernetes 1.34 component-helpers/storage/volume (FindMatchingVolume).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from gitplacer.scheduler.storage import Reach, Volume


class Pool(Struct, frozen=True):
    """Volumes of which claims of one sort take one each, and the nodes on which more can be made (None: on none)."""

    names: frozenset[str]
    storage_class: str
    made_on: Reach | None

    @property
    def is_endless(self) -> bool:
        """Whether a volume is made wherever none waits."""
        return self.made_on == ()


def includes(wide: Pool, narrow: Pool) -> bool:
    """Whether a claim that takes from one pool takes from the other too, whichever volume it takes."""
    return wide.storage_class == narrow.storage_class and narrow.names <= wide.names


def titles(pools: Mapping[Pool, int]) -> dict[Pool, str]:
    """A name for each pool: its class, and a number where a class has several."""
    found: dict[Pool, str] = {}
    for pool in sorted(pools, key=lambda pool: (pool.storage_class, sorted(pool.names))):
        number = sum(other.storage_class == pool.storage_class for other in found) + 1
        found[pool] = f"volumes of class {pool.storage_class or 'none'}" + (f" ({number})" if number > 1 else "")
    return found


def joined(pools: Mapping[Pool, int]) -> Iterator[tuple[Pool, int]]:
    """Pools that meet, directly or through others, as one, with the number of claims that want a volume of it."""
    left = dict(pools)
    while left:
        pool, demand = left.popitem()
        while meeting := [other for other in left if other.names & pool.names]:
            pool = Pool(pool.names.union(*(other.names for other in meeting)), pool.storage_class, pool.made_on)
            demand += sum(left.pop(other) for other in meeting)
        yield pool, demand


def contested(
    pools: Mapping[Pool, int], volumes: Mapping[str, Volume], reached: Mapping[str, frozenset[str]]
) -> Iterator[Pool]:
    """
    The pools from which other claims may take more than is counted. `pools` has how many claims each has; `reached` the
    names of volumes by the node that reaches them.
    """
    for pool in pools:
        if pool.is_endless:
            continue
        rivals = [other for other in pools if other.names & pool.names and not includes(pool, other)]
        demand = sum(count for other, count in pools.items() if other.names & pool.names)
        if any(_first(pool, rival, here, volumes, demand) for rival in rivals for here in reached.values()):
            yield pool


def _first(pool: Pool, rival: Pool, here: frozenset[str], volumes: Mapping[str, Volume], demand: int) -> bool:
    """Whether a rival's claims may take from a pool, on a node that reaches some volumes, while they have others there."""
    mine, common, others = pool.names & here, pool.names & rival.names & here, (rival.names - pool.names) & here
    if not common or len(mine) >= demand:
        return False
    if not includes(rival, pool):
        return True
    return bool(others) and max(volumes[name].size for name in others) >= min(volumes[name].size for name in common)
