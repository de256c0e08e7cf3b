"""Features that no cluster can serve to which a group may go, as far as anybody looked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import Demand


def check(known: Known, group: Group) -> Iterator[Told]:
    """A demand that every eligible cluster is known not to meet: the group would wait for ever."""
    eligible = known.eligible(group) if group.unit == WORKLOADS else ()
    for member in group.members if eligible else ():
        for demand in member.facts.demands:
            words = _unmet(known, member, eligible, demand)
            if words:
                yield tell(
                    member,
                    "ServedNowhere",
                    f"no cluster that the policy allows can serve {demand.feature}; {eligible[0]}: {words}",
                    "change the manifest, or the clusters",
                    path=demand.path,
                )


def _unmet(known: Known, member: SourceObject, eligible: Sequence[str], demand: Demand) -> str:
    """
    Why the first cluster cannot serve a demand, if none can; '' if one can, which mostly is the first, or if an override
    takes the demand away on one.
    """
    first = ""
    for name in eligible:
        words = known.profiles[name].unmet(demand)
        if words is None or demand not in known.facts(member, name).demands:
            return ""
        first = first or words
    return first
