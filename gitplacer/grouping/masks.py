"""
Groups of objects that have pods, as bits of whole numbers: what many objects select among thousands is found without looking at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import or_

from gitplacer.links import Links, bits_of, mask_of

_BLOCK = 64


class Joined:
    """
    The groups of the objects that have pods, when all were joined. In a mask of groups each has the bit of its leader, which is the first of its objects:
    the bits of one group lie side by side.
    """

    def __init__(self, links: Links, leader: Callable[[int], int]) -> None:
        links.order(lambda index: (leader(index), index))
        self._sized_in = links.sized_in
        self._leaders = {space: list(map(leader, indexes)) for space, indexes in links.sized_in.items()}
        self._bit = {index: bit for indexes in links.sized_in.values() for bit, index in enumerate(indexes)}
        self._leader = leader
        self._firsts = {
            space: mask_of([bit for bit, index in enumerate(indexes) if self._leaders[space][bit] == index])
            for space, indexes in links.sized_in.items()
        }
        self._beside = {space: _beside(leaders) for space, leaders in self._leaders.items()}

    def mask(self, index: int) -> int:
        """The group of an object."""
        return 1 << self._bit[self._leader(index)]

    def number(self, namespace: str) -> int:
        """How many groups a namespace has."""
        return self._firsts[namespace].bit_count()

    def everybody(self, namespace: str) -> int:
        """All groups of a namespace; none where it has none."""
        return self._firsts.get(namespace, 0)

    def groups_of(self, namespace: str, selected: int) -> int:
        """The groups of some objects."""
        for distance, same in self._beside[namespace]:
            selected |= selected >> distance & same
        return selected & self._firsts[namespace]

    def leaders(self, namespace: str, groups: int) -> Iterator[int]:
        """The leaders of some groups, in order."""
        return (self._sized_in[namespace][bit] for bit in bits_of(groups))

    def first(self, namespace: str, groups: int) -> int:
        """The first of them."""
        return next(self.leaders(namespace, groups))


class Behind:
    """The groups behind some objects, each a mask of its own. Of blocks of objects it is told once which are behind all of them."""

    def __init__(self, groups: Sequence[int]) -> None:
        self._blocks = [groups[at : at + _BLOCK] for at in range(0, len(groups), _BLOCK)]
        self._together = [((1 << len(block)) - 1, reduce(or_, block)) for block in self._blocks]

    def of(self, selected: int) -> int:
        """Those behind the objects of a mask."""
        size = _BLOCK // 8
        data = selected.to_bytes(len(self._blocks) * size, "little")
        found = 0
        for number, (every, groups) in enumerate(self._together):
            some = int.from_bytes(data[number * size : (number + 1) * size], "little")
            found |= groups if some == every else reduce(or_, (self._blocks[number][bit] for bit in bits_of(some)), 0)
        return found


def _beside(leaders: Sequence[int]) -> list[tuple[int, int]]:
    """Distances of a power of two, and which objects are of the same group as the one so far behind them."""
    found, distance = [], 1
    while same := mask_of([bit for bit in range(len(leaders) - distance) if leaders[bit] == leaders[bit + distance]]):
        found.append((distance, same))
        distance *= 2
    return found


def is_several(groups: int) -> bool:
    """Whether a mask has more than one group."""
    return groups & (groups - 1) != 0
