"""
One look at a live cluster.

What is evidence later is read in the order that makes it true. First the sentinels: what is seen after them is at least as new as the
epochs that they tell. Then the objects that own pods, then the pods, so that a pod is followed to an owner that was there
already. The time of the snapshot is the time before anything was read, the records of the deployment repo included: whoever takes
an object for gone because the snapshot lacks it goes by records that are no older than that.

What may not be read, or is not there, is left out and told; only without nodes, pods and namespaces there is no snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from pydantic import ValidationError

from gitplacer.capacity import resources
from gitplacer.capacity.access import Access, Again, ClusterError
from gitplacer.capacity.looking import Look
from gitplacer.capacity.resources import Resource
from gitplacer.kinds.capacity import Applied, BoundVolume, CapacitySnapshot
from gitplacer.model.podrules import PodTerm
from gitplacer.model.workload import Identity
from gitplacer.observing import equipment, kuberay, machines
from gitplacer.observing.nodes import read_seen
from gitplacer.observing.observation import Seen, observation
from gitplacer.observing.owners import DEEPEST
from gitplacer.observing.placed import Placed
from gitplacer.observing.pods import RAY_CLUSTER, Recall, owner_of, read_pod
from gitplacer.observing.queues import queues
from gitplacer.observing.states import State, state_of
from gitplacer.plaintext import printable
from gitplacer.scheduler.admission import tolerates_extended
from gitplacer.scheduler.reading import cursor_of
from gitplacer.source.manifests import PLATFORM, WORKLOADS


def observe(
    access: Access,
    *,
    cluster: str,
    system_namespace: str,
    now: datetime,
    say: Callable[[str], None],
    placed: Placed | None = None,
    asked: tuple[PodTerm, ...] = (),
) -> CapacitySnapshot:
    """
    The snapshot of a cluster, called `cluster` in the fleet. `now` is taken before `placed` is read, which says what of it is
    gitplacer's; None where nobody knows, which is enough for a cluster where gitplacer has put nothing yet. `say` is told what could
    not be looked at; `asked` are rules by which further pods of others are listed. Raises ClusterError.
    """
    try:
        return _observed(Look(access, say), access, cluster, system_namespace, now, placed, asked)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, (error.title, *first["loc"])))
        raise ClusterError(
            f"{access.host} tells what no snapshot has words for: {where}: {printable(first['msg'])}",
            "no API server of Kubernetes does: is something in between?",
        ) from None


def _observed(
    look: Look,
    access: Access,
    cluster: str,
    system_namespace: str,
    now: datetime,
    placed: Placed | None,
    asked: tuple[PodTerm, ...],
) -> CapacitySnapshot:
    seen = Seen(asked=asked)
    seen.applied = _applied(look, cluster, system_namespace, placed)
    groups = _groups_served(access)
    known = placed or Placed()
    operators: list[kuberay.Operator] = []
    _read_owners(look, groups, known, seen, operators)
    _read_nodes_and_pods(look, seen)
    apps = {(pod.namespace, name) for pod in seen.pods if (name := pod.label(RAY_CLUSTER))} if placed is None else set()
    if apps:
        look.tell(
            f"{'a Ray cluster there counts' if len(apps) == 1 else f'{len(apps)} Ray clusters there count'} as somebody else's; "
            "if gitplacer has put any there, give --deployment"
        )
    _read_equipment(look, groups, known, seen, operators)
    _read_machines(look, groups, seen)
    _read_queues(look, groups, seen)
    _read_quotas(look, seen)
    return observation(seen, known, cluster=cluster, now=now)


def new_cluster(
    access: Access, *, cluster: str, system_namespace: str, now: datetime, say: Callable[[str], None]
) -> tuple[CapacitySnapshot, str]:
    """The snapshot of a cluster that is new to a fleet, and the version that its API server tells. Raises ClusterError."""
    found = observe(access, cluster=cluster, system_namespace=system_namespace, now=now, say=say)
    version = access.get("/version")
    return found, str(version.get("gitVersion") or "") if isinstance(version, dict) else ""


def _groups_served(access: Access) -> Mapping[str, Any]:
    """The APIGroupList. Where there is none nothing would be served, and all that is placed would look gone."""
    found = access.get("/apis")
    if not isinstance(found, dict) or not isinstance(found.get("groups"), list):
        raise ClusterError("/apis does not list the API groups", "is this the address of a Kubernetes API server?")
    return found


# -- what of it is ours -------------------------------------------------------------------------------------------


def _applied(look: Look, cluster: str, namespace: str, placed: Placed | None) -> Applied | None:
    """
    The epochs that the sentinels tell. A sentinel of another cluster, or one where nobody said what is placed, ends it: the snapshot
    would say of groups that are there that they are gone.
    """
    epochs: dict[str, int] = {}
    for unit in (PLATFORM, WORKLOADS):
        resource = resources.sentinel(unit, namespace)
        found = look.one(resource if placed is not None else replace(resource, lost=""))
        if found is None:
            continue
        data = cursor_of(found).mapping("data")
        if (named := data.text("cluster")) not in ("", cluster):
            raise ClusterError(
                f"this is cluster {named} and not {cluster}, its ConfigMap {namespace}/{resource.name} says",
                f"give --cluster {named}, or the context of {cluster}",
            )
        epochs[unit] = int(text) if (text := data.text("epoch")).isdecimal() and len(text) < 19 else 0
        known = placed.epochs.get(unit, 0) if placed is not None and placed.epochs is not None else epochs[unit]
        if epochs[unit] > known:
            raise ClusterError(
                f"cluster {cluster} has applied epoch {epochs[unit]} of its {unit}, and the deployment repo is at {known}",
                "its records are older than the cluster, or another fleet's: look at --deployment and --branch",
            )
    if epochs and placed is None:
        raise ClusterError(
            f"gitplacer has put groups on cluster {cluster}, and nobody said which pods are theirs",
            "give --deployment, the repo whose records tell",
        )
    if not epochs and placed is not None and placed.kinds_here:
        look.tell(
            f"there is no ConfigMap {namespace}/gitplacer-workloads, so nothing shows what the cluster has synced"
        )
    return Applied(**epochs) if epochs else None


def _read_owners(
    look: Look, groups: Mapping[str, Any], placed: Placed, seen: Seen, operators: list[kuberay.Operator]
) -> None:
    """The objects that records name, as far as they say how they are; and the owners of everything between them and pods."""
    kinds = set(placed.kinds())
    known = {(item.group, item.kind): item for item in resources.TABLE if not item.name}
    for group, kind in sorted(kinds - known.keys()):
        found = _discovered(look, groups, group, kind)
        if found is not None:
            known[group, kind] = found
    wanted = {key: known[key] for key in kinds if key in known and key != ("", "Pod")}
    rays = {key for key in kinds if key[0] == "ray.io"}
    if rays:
        wanted |= {("ray.io", item.kind): item for item in resources.RAY}
        wanted["batch", "Job"] = resources.JOBS
    if kinds - rays:
        wanted |= {(item.group, item.kind): item for item in resources.BETWEEN}
    wanted["apps", "Deployment"] = resources.DEPLOYMENTS  # where KubeRay's operator is told
    for key, resource in sorted(wanted.items()):
        if (served := _served(look, resource, groups)) is not None:
            whole = key in kinds or key == ("apps", "Deployment") or key in rays
            if key in placed.kinds_here:  # without these, what is there would look gone
                served = replace(served, lost="")
            _read_kind(look, served, placed, seen, operators, whole=whole)
    if kinds - rays:
        _read_higher_owners(look, groups, placed, seen, {*wanted})


def _served(look: Look, resource: Resource, groups: Mapping[str, Any]) -> Resource | None:
    """The resource in the first version of its group that has it, the preferred one before others; None where none does."""
    if not resource.group:
        return resource
    found = equipment.versions(groups, resource.group)
    if len(found) > 1:  # kinds of one group need not be in the same versions, and one that is not seen would look gone
        found = tuple(version for version in found if _may_have(look, resource, version))
    return replace(resource, version=found[0]) if found else None


def _may_have(look: Look, resource: Resource, version: str) -> bool:
    """Whether a version of its group has a resource, as far as anybody may know."""
    try:
        return resource.kind in look.kinds(resource.group, version)
    except ClusterError as error:
        if error.status not in (403, 404):
            raise
        return error.status == 403


def _discovered(look: Look, groups: Mapping[str, Any], group: str, kind: str) -> Resource | None:
    """A resource that is not in the table, by asking what the group has; None where it has no such kind."""
    for version in equipment.versions(groups, group):
        if name := look.kinds(group, version).get(kind):
            return Resource(
                group=group, version=version, name_in_url=name, kind=kind, lost=f"groups with {kind}s are not known"
            )
    return None


def _read_kind(
    look: Look, resource: Resource, placed: Placed, seen: Seen, operators: list[kuberay.Operator], *, whole: bool
) -> None:
    """Each object's owner and, of those that records name, the state."""
    owners: dict[Identity, Identity | None] = {}
    states: dict[Identity, State] = {}
    joined: dict[Identity, str] = {}
    found: list[kuberay.Operator] = []
    for page in look.pages(resource, names_only=not whole):
        if page is None:
            return
        if isinstance(page, Again):
            owners, states, joined, found = {}, {}, {}, []
            continue
        for value in page:
            metadata = cursor_of(value).mapping("metadata")
            identity = Identity(resource.group, resource.kind, metadata.text("namespace"), metadata.text("name"))
            owners[identity] = owner_of(metadata, identity.namespace)
            group = placed.groups.get(identity) or placed.of_remote_workers(identity, value)
            if group is not None:
                joined[identity] = group
                version = f"{resource.group}/{resource.version}"
                states[identity] = state_of({**value, "apiVersion": version, "kind": resource.kind})
            if resource.kind == "Deployment":
                operator = look.told("KubeRay operators", kuberay.operator_of, value)
                found += [operator] if operator is not None else []
    seen.owners.update(owners)
    seen.states.update(states)
    seen.joined.update(joined)
    operators += found


def _read_higher_owners(
    look: Look, groups: Mapping[str, Any], placed: Placed, seen: Seen, read: set[tuple[str, str]]
) -> None:
    """Owners of owners of kinds that nobody foresaw, such as the Revisions of Knative, up to the objects of records."""
    for _ in range(DEEPEST):
        above = {(owner.api_group, owner.kind) for owner in seen.owners.values() if owner is not None}
        missing = sorted(key for key in above - read - {("", "Pod"), ("", "Node")} if key[0])
        if not missing:
            return
        for group, kind in missing:
            read.add((group, kind))
            resource = _discovered(look, groups, group, kind)
            if resource is not None:
                _read_kind(look, resource, placed, seen, [], whole=False)


# -- nodes and pods -----------------------------------------------------------------------------------------------


def _read_nodes_and_pods(look: Look, seen: Seen) -> None:
    for page in _needed(look.pages(resources.NODES)):
        if isinstance(page, Again):
            seen.nodes.clear()
            continue
        seen.nodes += map(read_seen, page)
        seen.tolerates_extended |= tolerates_extended(page)
    for page in _needed(look.pages(resources.NAMESPACES)):
        if isinstance(page, Again):
            seen.namespaces.clear()
            continue
        for value in page:
            metadata = cursor_of(value).mapping("metadata")
            seen.namespaces[metadata.text("name")] = metadata.labels("labels")
    recall = Recall()
    for page in _needed(look.pages(resources.PODS)):
        if isinstance(page, Again):
            seen.pods.clear()
            continue
        seen.pods += [pod for value in page if (pod := read_pod(value, recall)) is not None]


def _needed(pages: Iterable[list[dict[str, Any]] | Again | None]) -> Iterator[list[dict[str, Any]] | Again]:
    """Pages of what nobody may leave out."""
    for page in pages:
        assert page is not None
        yield page


# -- what it is equipped with -------------------------------------------------------------------------------------


def _read_equipment(
    look: Look, groups: Mapping[str, Any], placed: Placed, seen: Seen, operators: list[kuberay.Operator]
) -> None:
    fields: dict[str, Any] = {"serves": equipment.served(groups)}
    settings, scheduler = kuberay.agreed([_configured(look, operator) for operator in operators])
    fields |= {"kuberay": settings, "gang_scheduler": scheduler}
    fields["extended_resource_toleration"] = True if seen.tolerates_extended else None
    readers: tuple[tuple[str, Resource, Callable[[list[dict[str, Any]]], Any]], ...] = (
        ("limit_ranges", resources.LIMIT_RANGES, equipment.limit_ranges),
        ("runtime_classes", resources.RUNTIME_CLASSES, equipment.runtime_classes),
        ("storage_classes", resources.STORAGE_CLASSES, equipment.storage_classes),
    )
    for name, resource, read in readers:
        values = look.all(resource)
        fields[name] = None if values is None else look.told(resource.name_in_url, read, values)
    values = look.all(resources.PRIORITY_CLASSES)
    if values is not None:
        fields["priority_classes"] = look.told("priorityclasses", equipment.priority_classes, values)
    present = [*equipment.present(values or [], "scheduling.k8s.io", "PriorityClass")]
    volumes: list[BoundVolume] = []
    chosen: list[Identity] = []
    for page in look.pages(resources.VOLUMES):
        if page is None or isinstance(page, Again):
            volumes.clear()
            chosen.clear()
            continue
        volumes += look.told("volumes", lambda page: [*equipment.bound_volumes(page)], page) or ()
        chosen += look.told("volumes", lambda page: [*equipment.chosen_volumes(page)], page) or ()
    if present or chosen:
        fields["present"] = equipment.present_objects([*present, *chosen], placed.members)
    seen.volumes = tuple({volume.claim: volume for volume in volumes}.values())
    seen.equipment = {name: value for name, value in fields.items() if value is not None}


def _configured(look: Look, operator: kuberay.Operator) -> kuberay.Operator:
    """An operator with what its configuration file says."""
    if operator.config is None:
        return operator
    namespace, name, key = operator.config
    found = look.one(resources.operator_config(namespace, name))
    text = cursor_of(found).mapping("data").text(key) if found is not None else ""
    return kuberay.with_config(operator, text) if text else operator


def _read_machines(look: Look, groups: Mapping[str, Any], seen: Seen) -> None:
    overheads = machines.overheads(
        (pod.node, pod.owner is not None and pod.owner.kind == "DaemonSet", pod.requests) for pod in seen.pods
    )
    status = look.one(resources.AUTOSCALER_STATUS)
    if status is not None:
        statuses = machines.group_statuses(cursor_of(status).mapping("data").text("status"))
        groups_of = look.told(
            "node groups", lambda found: tuple(machines.node_groups(found, seen.nodes, overheads)), statuses
        )
        seen.node_groups += groups_of or ()
    pools = _served(look, resources.NODE_POOLS, groups)
    if pools is not None:
        limits = dict(filter(None, map(machines.pool_limits, look.all(pools) or [])))
        types = look.told(
            "node pools", lambda found: tuple(machines.karpenter_types(found, seen.nodes, overheads)), limits
        )
        seen.node_groups += types or ()
    seen.node_groups = tuple({group.name: group for group in seen.node_groups}.values())


# -- what its queues have left ------------------------------------------------------------------------------------


def _read_queues(look: Look, groups: Mapping[str, Any], seen: Seen) -> None:
    """What Kueue's queues have left. It is read last, when what the pods above are admitted with is reserved."""
    served = [
        _served(look, item, groups) for item in (resources.CLUSTER_QUEUES, resources.LOCAL_QUEUES, resources.COHORTS)
    ]
    found = [look.all(item) for item in served if item is not None]
    if not found or found[0] is None or found[1] is None:
        return
    cluster_queues, local_queues, cohorts = found[0], found[1], found[2]

    def read(given: list[dict[str, Any]]) -> dict[str, Any]:
        return queues(given, local_queues, cohorts, seen.namespaces)

    seen.equipment |= look.told("Kueue's queues", read, cluster_queues) or {}


def _read_quotas(look: Look, seen: Seen) -> None:
    """What namespaces may take. It is read after the pods, so that each of those that were seen is counted as used."""
    values = look.all(resources.RESOURCE_QUOTAS)
    found = None if values is None else look.told("resourcequotas", equipment.resource_quotas, values)
    if found is not None:
        seen.equipment["resource_quotas"] = found
