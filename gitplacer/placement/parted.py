"""
Claims that apps share which are on different clusters: what a reviewer has to be told.

A claim of several apps is written to each cluster where one of them is, and each cluster makes a volume of its own: what one app writes there, as a
RayJob does that trains a model, the other never sees. Nothing is joined for it, since a claim may be a mere cache. Nothing is said of a claim that names the volume
it wants, or how that is labelled: somebody made that, and may have made all of them of one file system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.model.decision import Decision
from gitplacer.placement.onepass import Pass
from gitplacer.placement.stranded import leaves
from gitplacer.source.manifests import WORKLOADS, SourceObject

_Clusters = tuple[str, ...]


class Parted(Struct, frozen=True):
    """A claim, and two of the groups that share it, each with the clusters where it is; no cluster has both."""

    claim: SourceObject
    one: tuple[str, _Clusters]
    other: tuple[str, _Clusters]


def parted(shared: Pass, decisions: Iterable[Decision]) -> Iterator[Parted]:
    """All of them after some decisions."""
    decided = {decision.group: decision for decision in decisions}
    for claim, groups in _shared_claims(shared.groups.values()):
        homes: dict[_Clusters, str] = {}  # many groups share few places
        for group in groups:
            if places := _places(shared, decided.get(group), group):
                homes.setdefault(places, group)
        for one, other in combinations(sorted(homes), 2):
            if not set(one) & set(other):
                yield Parted(claim, *sorted(((homes[one], one), (homes[other], other))))
                break


def _shared_claims(groups: Iterable[Group]) -> Iterator[tuple[SourceObject, list[str]]]:
    found: dict[int, tuple[SourceObject, list[str]]] = {}
    for group in groups:
        for item in (*group.members, *group.shared) if group.unit == WORKLOADS else ():
            if item.facts.volume is not None and not (item.facts.volume.volume or item.facts.volume.selector):
                found.setdefault(id(item), (item, []))[1].append(group.id)
    return ((item, sharers) for item, sharers in found.values() if len(sharers) > 1)


def _places(shared: Pass, decision: Decision | None, group: str) -> _Clusters:
    """Where a group is, or was when it was done: its data is still there. Where Kueue sends one on nobody knows."""
    if decision is None:
        return tuple(sorted(shared.recorded.get(group, ())))
    if decision.dispatch is not None:
        return ()
    return tuple(sorted(name for name in decision.after if not leaves(decision, name)))
