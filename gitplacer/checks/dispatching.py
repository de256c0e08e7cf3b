"""What a policy leaves to Kueue and Kueue cannot start elsewhere, or what says of itself that it is not to be left to it."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer import workloads
from gitplacer.dispatching import contradictions, started
from gitplacer.grouping import CLUSTER_ANNOTATION, Group
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.known import Known, Told, tell
from gitplacer.plaintext import few
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import at

_V1 = "ray.io/v1"
_CLAIM = ("", "PersistentVolumeClaim")


def check(known: Known, group: Group) -> Iterator[Told]:
    """Everything that keeps a group under `dispatch` from being started by MultiKueue on any cluster that its policy nominates."""
    policy = group.policy
    settings = policy.spec.placement.multi_kueue if policy is not None and group.unit == WORKLOADS else None
    if policy is None or settings is None:
        return
    problem = known.source.own.unmanaged.get(policy.name)
    if problem is not None:
        yield group.members[0], problem
    yield from _kinds(group, policy)
    for member in started(group):
        yield from _contradictions(member, policy, settings.queue)
        wished = member.annotations.get(CLUSTER_ANNOTATION)
        if wished not in (None, settings.manager):
            path = ("metadata", "annotations", CLUSTER_ANNOTATION)
            message = f"it asks for cluster {wished}, and policy {policy.name} leaves to Kueue where it starts"
            yield tell(member, "DispatchContradicted", message, _OTHER, path, key=True)
    yield from _tenants(known, group, policy)


_OTHER = "remove it, or let another policy govern it"


def _kinds(group: Group, policy: PlacementPolicy) -> Iterator[Told]:
    """Objects that MultiKueue does not start elsewhere, does not bring, or starts each where it likes."""
    left = f"policy {policy.name} leaves to Kueue where its groups start"
    apps = started(group)
    for member in (*group.members, *group.shared):
        if member.facts.sized and member not in apps:
            message = f"{left}, and MultiKueue cannot start {member.identity} elsewhere"
            hint = "only a RayJob, RayCluster or RayService can be left to it: let another policy govern it"
            yield tell(member, "DispatchKind", message, hint)
        elif member.identity[:2] == _CLAIM:
            message = f"{left}, and the volume of {member.identity} would be another one on each cluster"
            hint = "keep its data elsewhere, such as in an object store, or let another policy govern it"
            yield tell(member, "DispatchKind", message, hint)
    for member in apps:
        if member.api_version != _V1:
            message = f"{left}, and {member.identity} of {member.api_version} has no managedBy"
            yield tell(member, "DispatchKind", message, f"write apiVersion: {_V1}", ("apiVersion",))
        if at(member.document.value, ("spec", "clusterSelector")) is not None:
            message = f"{left}, and Kueue takes no RayJob that runs on a Ray cluster which is there, such as {member.identity}"
            hint = "give it a rayClusterSpec, or let another policy govern it"
            yield tell(member, "DispatchKind", message, hint, ("spec", "clusterSelector"), key=True)
    if len(apps) > 1:
        names = few([str(member.identity) for member in apps])
        message = f"{left}, and MultiKueue would start each of {names} where it likes"
        hint = "let groupBy tell them apart; what names another by its name or Service has to go where that is, and cannot be left to Kueue"
        yield tell(apps[1], "DispatchKind", message, hint)


def _contradictions(member: SourceObject, policy: PlacementPolicy, queue: str) -> Iterator[Told]:
    for path, said in contradictions(member.document.value, queue):
        wanted = queue if path[-1] == workloads.QUEUE else "managedBy for MultiKueue"
        message = f"{path[-1]} is {said}, and policy {policy.name} gives it {wanted}"
        yield tell(member, "DispatchContradicted", message, _OTHER, path, key=True)
    suspend = ("spec", "rayClusterConfig", "suspend") if member.identity.kind == "RayService" else ("spec", "suspend")
    if at(member.document.value, suspend) is True:
        message = f"it is suspended, and policy {policy.name} leaves it to Kueue when it runs"
        hint = "remove suspend; stop the queue, or set spec.active: false in its Workload, to have it wait"
        yield tell(member, "DispatchContradicted", message, hint, suspend, key=True)


def _tenants(known: Known, group: Group, policy: PlacementPolicy) -> Iterator[Told]:
    """A tenant that may not use a cluster which the policy nominates: Kueue would not know."""
    if group.tenant is None:
        return
    clusters = [known.source.own.clusters[name] for name in known.nominated(policy)]
    barred = [item.name for item in clusters if group.tenant.spec.clusters.unmet(item.labels()) is not None]
    if barred:
        message = f"policy {policy.name} leaves it to Kueue among others on {few(barred)}, which tenant {group.tenant.name} may not use"
        hint = "let the policy allow only clusters that all its tenants may use, or give the tenant a policy of its own"
        yield tell((started(group) or group.members)[0], "DispatchTenant", message, hint)
