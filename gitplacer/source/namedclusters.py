"""
Names of clusters that there are not, in policies, overrides and Tenants.

Nothing goes wrong by such a name as far as anybody can tell from the outside: the cluster that was meant is passed over. Where clusters are
made when they are named, any name is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitplacer.documents import Document, Path
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import OverridePolicy, PlacementPolicy
from gitplacer.kinds.selectors import ClusterSelector
from gitplacer.kinds.tenant import Tenant
from gitplacer.problems import Problem, Severity, meant
from gitplacer.source.allowances import not_allowed

_MEND = "correct the name, add the cluster, or take the name out"


def names_of_no_cluster(
    items: Iterable[tuple[PlacementPolicy | OverridePolicy | Tenant, Document]], clusters: Mapping[str, Cluster]
) -> Iterator[Problem]:
    """A warning for each such name that its author does not allow. `clusters` are all of the source, by name."""
    for item, document in items:
        found = [
            problem
            for who, chosen, path in _selectors(item)
            for problem in unknown_names(who, chosen, document, clusters, path)
        ]
        yield from not_allowed(found, item.metadata.annotations)


def unknown_names(
    whose: str, chosen: ClusterSelector, document: Document, clusters: Mapping[str, Cluster], path: Path
) -> Iterator[Problem]:
    """The same for one selection of clusters, told as somebody's."""
    for index, name in enumerate(chosen.names or ()):
        cluster = clusters.get(name)
        if cluster is not None and _works(cluster):
            continue
        # Mostly nobody asks, and there may be thousands of selections.
        working = [other for other, each in clusters.items() if _works(each)]
        if cluster is not None:
            message, hint = f"{whose} names {name}, which is for management and takes nothing", "take the name out"
        elif working:
            message = f"{whose} names {name}, and there is no such Workload cluster"
            hint = meant(name, working) or _MEND
        else:
            message = f"{whose} names {name}, and there is no Workload cluster in the source"
            hint = "add the Cluster: `gitplacer schema Cluster` prints its fields"
        yield document.problem(
            "SelectsNoCluster", message, hint, path=(*path, "names", index), severity=Severity.WARNING
        )


def _works(cluster: Cluster) -> bool:
    return cluster.spec.role == "Workload"


def _selectors(item: PlacementPolicy | OverridePolicy | Tenant) -> Iterator[tuple[str, ClusterSelector, Path]]:
    """The selections of clusters that something has, with what they are called and where they stand."""
    who = {"PlacementPolicy": "policy", "OverridePolicy": "override", "Tenant": "tenant"}[item.kind]
    yield f"{who} {item.name}", item.spec.clusters, ("spec", "clusters")
    if isinstance(item, PlacementPolicy):
        for index, term in enumerate(item.spec.placement.order):
            whose = f"term {index + 1} of the order of policy {item.name}"
            yield whose, term, ("spec", "placement", "order", index)
