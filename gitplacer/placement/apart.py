"""
Apps that call a Service which is on other clusters than they: what a reviewer has to be told.

Nothing is joined or moved for it, for whoever calls may have found another way, and only a person knows. Where the clusters belong to one mesh, the Service
may be reached from the other side, and nothing is said; nor of a Service that is nowhere yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.model.decision import Decision, Reason
from gitplacer.placement.onepass import Pass
from gitplacer.placement.stranded import leaves
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import Reference


class Apart(Struct, frozen=True, kw_only=True):
    """
    An object of a group that calls a Service of a `namespace` on `clusters` that have none such: it comes with the groups `beside`, which are
    `there`.
    """

    group: str
    member: SourceObject
    namespace: str
    called: Reference
    clusters: tuple[str, ...]
    beside: tuple[str, ...]
    there: tuple[str, ...]


def apart(shared: Pass, decisions: Iterable[Decision]) -> Iterator[Apart]:
    """All of groups that run somewhere after some decisions."""
    decided = {decision.group: decision for decision in decisions}
    callers = [
        (decision, member)
        for decision in decided.values()
        for member in _members(shared.groups.get(decision.group), decision)
        if member.facts.calls
    ]
    homes = _homes(shared.groups.values()) if callers else {}
    places = {service: _places(shared, decided, beside) for service, beside in homes.items()}
    for decision, member in callers:
        for (namespace, name), called in _distinct(member).items():
            beside, there = homes.get((namespace, name), {}), places.get((namespace, name), ())
            if there and decision.group not in beside:
                lacking = tuple(
                    cluster
                    for cluster in decision.after
                    if cluster in shared.clusters and cluster not in there
                    if not leaves(decision, cluster) and not _meshed(shared, cluster, there)
                )
                if lacking:
                    yield Apart(
                        group=decision.group, member=member, namespace=namespace, called=called, clusters=lacking,
                        beside=tuple(beside), there=there,
                    )  # fmt: skip


def _members(group: Group | None, decision: Decision) -> Iterable[SourceObject]:
    """The objects of a group that runs where it is; not of one that Kueue sends on, or that is done."""
    if group is None or group.unit != WORKLOADS or not decision.after or decision.dispatch is not None:
        return ()
    return () if decision.finished or decision.finding.code is Reason.FINISHED else group.members


def _distinct(member: SourceObject) -> Mapping[tuple[str, str], Reference]:
    """What it calls, by namespace and name; `llm` and `llm.ns` are one where `ns` is its own."""
    found: dict[tuple[str, str], Reference] = {}
    for called in member.facts.calls:
        found.setdefault((called.namespace or member.identity.namespace, called.name), called)
    return found


def _homes(groups: Iterable[Group]) -> Mapping[tuple[str, str], Mapping[str, None]]:
    """The groups with which each Service comes, by namespace and name: those of the source, and those that a controller makes."""
    found: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for group in groups:
        for item in (*group.members, *group.shared):
            names = [each.name for each in item.facts.provides if each.kind == "Service" and not each.api_group]
            if item.identity.kind == "Service" and not item.identity.api_group:
                names.append(item.identity.name)
            for name in names:
                found[item.identity.namespace, name][group.id] = None
    return found


def _places(shared: Pass, decided: Mapping[str, Decision], groups: Iterable[str]) -> tuple[str, ...]:
    """The clusters where some groups are, sorted."""
    each = (decided[group].after if group in decided else shared.recorded.get(group, ()) for group in groups)
    return tuple(sorted({cluster for clusters in each for cluster in clusters}))


def _meshed(shared: Pass, name: str, there: Iterable[str]) -> bool:
    mesh = shared.clusters[name].spec.mesh
    return mesh is not None and any(o in shared.clusters and shared.clusters[o].spec.mesh == mesh for o in there)
