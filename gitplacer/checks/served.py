"""Features that no cluster can serve to which a group may go, as far as anybody looked."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import WORKLOADS


def check(known: Known, group: Group) -> Iterator[Told]:
    """A demand that every eligible cluster is known not to meet: the group would wait for ever."""
    eligible = known.eligible(group) if group.unit == WORKLOADS else ()
    for member in group.members if eligible else ():
        for demand in member.facts.demands:
            words = [known.profiles[name].unmet(demand) for name in eligible]
            if all(words):
                yield tell(
                    member,
                    "ServedNowhere",
                    f"no cluster that the policy allows can serve {demand.feature}; {eligible[0]}: {words[0]}",
                    "change the manifest, or the clusters",
                    path=demand.path,
                )
