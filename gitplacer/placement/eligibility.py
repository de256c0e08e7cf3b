"""
Which clusters a group may be on, before any node is looked at.

Two questions differ: may it *stay* where it is (role, selectors, order, taints, the annotation's wish) and may it
*enter* (all of that, and the cluster takes new groups, serves its API groups, has a fresh snapshot, and can do what its
objects ask for)?
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from gitplacer.belief import Doubted
from gitplacer.grouping import Group
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.model.decision import Finding, Reason
from gitplacer.placement.kueue import LocalQueueRef, waits_in
from gitplacer.policies.allowing import closed, not_liked, not_selected
from gitplacer.profiles import ClusterProfile
from gitplacer.relocation.evidence import is_stale
from gitplacer.relocation.silence import fell_silent
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.source.manifests import PLATFORM, SourceObject
from gitplacer.workloads.facts import Demand, ObjectFacts


def may_not_stay(group: Group, policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why a group under a policy is not allowed on a cluster, or None."""
    return (
        not_selected(policy, cluster)
        or not_the_tenants(group, cluster)
        or not_liked(policy, cluster)
        or other_wished(group, cluster)
    )


def not_the_policys(policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why nothing new comes to a cluster under a policy, whatever it is, or None."""
    return not_selected(policy, cluster) or not_liked(policy, cluster) or without_domain(policy, cluster)


def not_the_tenants(group: Group, cluster: Cluster) -> Finding | None:
    """Why the tenant of a group may not use a cluster, or None."""
    forbidden = group.tenant.spec.clusters.unmet(cluster.labels()) if group.tenant is not None else None
    if group.tenant is None or forbidden is None:
        return None
    return Finding(code=Reason.NOT_THE_TENANTS, subject=f"{group.tenant.name}: {forbidden}")


def other_wished(group: Group, cluster: Cluster) -> Finding | None:
    """Why a group that is to be on another cluster may not be on this one, or None."""
    wished = group.wished_cluster
    return None if wished in (None, cluster.name) else Finding(code=Reason.OTHER_CLUSTER_WISHED, subject=wished or "")


def may_not_enter(
    group: Group,
    cluster: Cluster,
    capacity: Mapping[str, CapacitySnapshot],
    broken: frozenset[str],
    silent: Mapping[str, datetime],
    now: datetime,
) -> Finding | None:
    """
    Why a cluster that a group would be allowed on takes nothing new of it, or None. `silent` are those that count as lost because nobody
    hears of them, with the time since when.
    """
    declared = closed(cluster)
    if declared is not None:
        return declared
    if group.unit == PLATFORM:
        return None  # what makes a cluster usable cannot wait for it to be usable
    if cluster.name in silent:
        return fell_silent(silent[cluster.name])
    if cluster.name in broken:
        return Finding(code=Reason.BROKEN_SNAPSHOT)
    snapshot = capacity.get(cluster.name)
    if snapshot is None:
        return Finding(code=Reason.NO_SNAPSHOT)
    if isinstance(snapshot, Doubted):
        return Finding(code=Reason.DOUBTED_SNAPSHOT, subject=f"{snapshot.observed_at:%Y-%m-%dT%H:%M:%SZ}")
    if is_stale(cluster, snapshot, now):
        return Finding(code=Reason.STALE_SNAPSHOT, subject=f"{snapshot.observed_at:%Y-%m-%dT%H:%M:%SZ}")
    policy = group.policy.spec.placement if group.policy is not None else None
    if snapshot.coarse and not snapshot.nodes and (policy is None or policy.admission == "Gang"):
        return Finding(code=Reason.NODES_NOT_KNOWN)
    return api_not_served(group, snapshot)


def api_not_served(group: Group, snapshot: CapacitySnapshot) -> Finding | None:
    """An API of a group's objects that a cluster does not serve, by its snapshot, or None."""
    missing = next((api for api in custom_apis(group) if not serves(snapshot, api)), None)
    return None if missing is None else Finding(code=Reason.API_NOT_SERVED, subject=missing)


def without_domain(policy: PlacementPolicy, cluster: Cluster) -> Finding | None:
    """Why a cluster gets no copy under a policy that spreads them, or None: it is in no domain. It is no reason to leave."""
    spreads = policy.spec.placement.topology_spread
    labels = cluster.labels() if spreads else {}
    missing = next((spread.topology_key for spread in spreads if spread.topology_key not in labels), None)
    return None if missing is None else Finding(code=Reason.NO_DOMAIN, subject=missing)


class ClusterNeeds(NamedTuple):
    """
    What the objects of a group ask of a cluster besides room, the namespaces that its KubeRay has to watch, and the queues of Kueue that
    they wait in; `refused`: why its API server does not take their pods, in words, '' if it does.
    """

    demands: tuple[Demand, ...]
    namespaces: tuple[str, ...]
    queues: tuple[LocalQueueRef, ...] = ()
    refused: str = ""


def asked_by(group: Group, facts: Iterable[ObjectFacts]) -> ClusterNeeds:
    """What a group asks for; `facts` are those of its members on the cluster in question, in order."""
    of_each = [(m.identity.namespace, known) for m, known in zip(group.members, facts, strict=True)]
    demands = {demand for _, known in of_each for demand in known.demands}
    queues = {waits for namespace, known in of_each if (waits := waits_in(group, namespace, known)) is not None}
    watched = {m.identity.namespace for m in group.members if m.identity.api_group == "ray.io"}
    against = next((known.refusal(name) for name, known in of_each if known.refused), "")
    return ClusterNeeds(tuple(sorted(demands)), tuple(sorted(watched)), tuple(sorted(queues)), against)


def not_served(asked: ClusterNeeds, profile: ClusterProfile) -> Finding | None:
    """Why a cluster cannot do what a group asks for, or None. It is no reason to leave: what runs there, runs."""
    unwatched = next((name for name in asked.namespaces if not profile.watches(name)), None)
    if unwatched is not None:
        return Finding(code=Reason.FEATURE_NOT_SERVED, subject=f"KubeRay does not watch namespace {unwatched} there")
    words = next((words for demand in asked.demands if (words := profile.unmet(demand)) is not None), None)
    return None if words is None else Finding(code=Reason.FEATURE_NOT_SERVED, subject=words)


def refused(unit: str, asked: ClusterNeeds) -> Finding | None:
    """Why an API server does not take the pods of a group of a unit, or None. Platform objects are not asked about."""
    return Finding(code=Reason.LIMIT_RANGE, subject=asked.refused) if asked.refused and unit != PLATFORM else None


def custom_apis(group: Group) -> tuple[str, ...]:
    """The apiVersions of a group's objects that Kubernetes does not bring, sorted."""
    return tuple(sorted({m.api_version for m in (*group.members, *group.shared) if is_custom(m)}))


def is_custom(member: SourceObject) -> bool:
    """Whether an object is of an API that Kubernetes does not bring."""
    return member.identity.api_group not in BUILT_IN_GROUPS


def serves(snapshot: CapacitySnapshot, api_version: str) -> bool:
    """Whether a cluster serves an API. `serves` may name a version (ray.io/v1) or a whole group (ray.io); absent means that nobody looked."""
    if snapshot.serves is None:
        return True
    return api_version in snapshot.serves or api_version.rpartition("/")[0] in snapshot.serves
