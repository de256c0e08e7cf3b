"""
What a ResourceQuota bounds of which nobody knows how much a group brings that comes to a cluster: what a reviewer has to be told.

It holds nothing: a quota of Services keeps no job off whose operator may make one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from gitplacer.model.decision import Decision
from gitplacer.placement.onepass import Pass
from gitplacer.source.manifests import PLATFORM, SourceObject
from gitplacer.workloads import brought


class Uncounted(Struct, frozen=True, kw_only=True):
    """What a `quota` of a namespace on a `cluster` bounds, by the names that it has for it, and an object of a group brings we do not know how much of."""

    group: str
    member: SourceObject
    cluster: str
    quota: str
    names: tuple[str, ...]


def uncounted(shared: Pass, decisions: Iterable[Decision]) -> Iterator[Uncounted]:
    """All of groups that come to clusters by some decisions."""
    for decision in decisions:
        group = shared.groups.get(decision.group)
        for name in decision.after if group is not None and group.unit != PLATFORM else ():
            quotas = shared.snapshot.profiles[name].quotas if name in shared.clusters else {}
            if name in decision.before or not quotas:
                continue
            usual = shared.snapshot.profiles[name].usual_class
            for member in group.members if group is not None else ():
                of_space = quotas.get(member.identity.namespace, ())
                if not of_space:
                    continue
                unsure = brought.unsure_in(shared.snapshot.variants.facts_there(member, shared.clusters[name]), usual)
                for quota in of_space:
                    names = tuple(each for each in quota.hard if not quota.scopes and brought.is_unsure(each, unsure))
                    if names:
                        yield Uncounted(
                            group=decision.group, member=member, cluster=name, quota=quota.name, names=names
                        )
