"""
What was found out against gangs on clusters: for which a long search found no room, of which it is not proved that every order places
them, and which were left out by one.

All that holds for as long as pods are only added on a cluster: neither room comes of more of them, nor a proof. So
whoever is like a gang that was refused is refused without being asked about, until something is taken away there. Whoever only asks for as
much is not refused; it is asked about last.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from types import MappingProxyType

import numpy as np

from gitplacer.model.workload import Gang, PodShape, Roster, Sorts
from gitplacer.placement.marks import Bits, Marks
from gitplacer.placement.nodes import Counts, Floats, Indexes, Mask
from gitplacer.placement.stage import Tight
from gitplacer.placement.survey import Doubted

_NONE: Counts = np.zeros(0, dtype=np.int64)
_NOTHING: Floats = np.zeros(0)
_NEVER = 2**62
"""More pods than there are."""


def _asked_most(shape: PodShape, count: int) -> tuple[str, float]:
    """The resource for which pods mostly look for a node, a device or else the processor, and how much of it so many ask for."""
    resource = next((name for name in shape.requests if "/" in name), "cpu")
    return resource, float(shape.requests.get(resource, 0)) * count


class Doubts:
    """By cluster, and by the sorts of pods of a gang. `numbers` are those that clusters have where many are asked about together."""

    def __init__(self, numbers: Mapping[str, int] = MappingProxyType({})) -> None:
        self._numbers = numbers
        self._alone: dict[PodShape, Counts] = {}
        """By shape and number of a cluster, from how many pods on they have no proof there, even if no others come with them."""
        self._often: Counter[PodShape] = Counter()
        """How often that was found out."""
        self._in_vain: dict[str, Floats] = {}
        """By resource and number of a cluster, the least of which that is known: what those pods ask for together."""
        self._roomless: dict[str, set[Sorts]] = defaultdict(set)
        self._unproved = Marks[Sorts](len(numbers))
        self._refused: dict[str, dict[Sorts, Tight]] = defaultdict(dict)

    def copy(self, but: Collection[str] = ()) -> Doubts:
        """Others that can be written to without touching these, without those about some clusters."""
        twin = Doubts(self._numbers)
        twin._alone = {shape: least.copy() for shape, least in self._alone.items()}
        twin._often = Counter(self._often)
        twin._in_vain = {resource: least.copy() for resource, least in self._in_vain.items()}
        twin._unproved = self._unproved.copy()
        for name in but:
            twin._hope(name)
        twin._roomless.update({name: set(known) for name, known in self._roomless.items() if name not in but})
        twin._refused.update({name: dict(known) for name, known in self._refused.items() if name not in but})
        return twin

    def lasting(self, but: Collection[str] = ()) -> Doubts:
        """
        What the next round may know of it: all but who was left out by an order. Where more pods are to come fewer orders are tried, so that one
        need not be found again; and the next pass, which knows nothing of this one, has to come to the same.
        """
        twin = self.copy(but)
        twin._refused.clear()
        return twin

    def forget(self, name: str) -> None:
        """Something is taken away on a cluster."""
        self._roomless.pop(name, None)
        self._refused.pop(name, None)
        self._hope(name)

    def _hope(self, name: str) -> None:
        if name in self._numbers:
            for least in self._alone.values():
                least[self._numbers[name]] = _NEVER
            for amounts in self._in_vain.values():
                amounts[self._numbers[name]] = np.inf
            self._unproved.clear([self._numbers[name]])

    def is_roomless(self, gang: Gang, name: str) -> bool:
        """Whether it is known that a gang finds no room on the machines of a cluster."""
        known = self._roomless.get(name)
        return known is not None and Roster.of(gang).sorts in known

    def add_roomless(self, gang: Gang, name: str) -> None:
        """A gang was searched room for on the machines of a cluster, and none was found."""
        self._roomless[name].add(Roster.of(gang).sorts)

    def is_unproved(self, gang: Gang, name: str) -> bool:
        """Whether it is known of a gang that there is no proof for it on a cluster."""
        number = self._numbers.get(name)
        return number is not None and self._unproved.has(Roster.of(gang).sorts, number)

    def add_unproved(self, gang: Gang, name: str) -> None:
        """There is no proof for a gang on a cluster."""
        self._unproved.add(Roster.of(gang).sorts, self._numbers[name])

    def add_alone(self, shape: PodShape, count: int, name: str) -> None:
        """There is no proof for so many pods of a shape on a cluster, even if no others come with them; nor for any gang that has more."""
        number, least = self._numbers[name], self._alone.get(shape)
        if least is None:
            least = self._alone[shape] = np.full(len(self._numbers), _NEVER, dtype=np.int64)
        least[number] = min(count, least[number])
        self._often[shape] += 1
        resource, amount = _asked_most(shape, count)
        if resource not in self._in_vain:
            self._in_vain[resource] = np.full(len(self._numbers), np.inf)
        if amount:
            self._in_vain[resource][number] = min(amount, self._in_vain[resource][number])

    def how_much_more(self, counts: Mapping[PodShape, int], asked: Indexes) -> Floats:
        """
        For some clusters, by number, by how much some pods of a gang ask for more than the least that others had no proof for there, as a ratio; 0
        where none do. These are other pods, so nothing is known for sure.
        """
        found: Floats = np.zeros(len(asked))
        for shape, count in counts.items():
            resource, amount = _asked_most(shape, count)
            if amount and resource in self._in_vain:
                np.maximum(found, amount / self._in_vain[resource][asked], out=found)
        found[found < 1] = 0
        return found

    def against(self, shape: PodShape, count: int) -> Doubted:
        """What is known against so many pods of a shape: what `hopeless` and `how_much_more` go by."""
        resource, amount = _asked_most(shape, count)
        in_vain = self._in_vain.get(resource, _NOTHING) if amount else _NOTHING
        return Doubted(self._alone.get(shape, _NONE), in_vain, amount)

    def doubtful(self, shape: PodShape) -> int:
        """How often pods of a shape had no proof: those are likely to have none elsewhere."""
        return self._often[shape]

    def is_hopeless(self, gang: Gang, name: str) -> bool:
        """Whether that is known of some pods of a gang on a cluster."""
        number = self._numbers.get(name)
        if number is None or not self._alone:
            return False
        for shape, count in Roster.of(gang).counts.items():
            least = self._alone.get(shape)
            if least is not None and least[number] <= count:
                return True
        return False

    def unproved(self, gang: Gang) -> Bits:
        """On which clusters, by number, it is known of a gang that there is no proof for it; empty where nothing is."""
        return self._unproved.of(Roster.of(gang).sorts)

    def hopeless(self, gang: Gang, asked: Indexes) -> Mask:
        """On which of some clusters, by number, that is known, of a gang as it is or of some of its pods even by themselves."""
        roster = Roster.of(gang)
        found = self._unproved.among(roster.sorts, asked)
        for shape, count in roster.counts.items():
            if shape in self._alone:
                found |= self._alone[shape][asked] <= count
        return found

    def refuse(self, gang: Gang, name: str, why: Tight) -> None:
        """Some order does not place a gang whole on a cluster that it fits."""
        self._refused[name][Roster.of(gang).sorts] = why

    def refused(self, gang: Gang, name: str) -> Tight | None:
        """Why a gang of the same pods was refused on a cluster, if it was."""
        known = self._refused.get(name)
        return known.get(Roster.of(gang).sorts) if known else None
