"""
What an autoscaler says of itself in the cluster: node groups of Cluster Autoscaler, instance types of Karpenter.

Cluster Autoscaler keeps a ConfigMap with the bounds of each node group; what a machine of it is shows a node that it has. Karpenter
has NodePools, and no list of machines; what is known of an instance type shows a node of it, and how many a pool may have, its
limits. What no node shows has no `allocatable`, and people write it in the Cluster. Luna tells nothing in the cluster.
Source: kubernetes/autoscaler clusterstate/api/types.go (the YAML since 1.30, the text before) and the names that EKS, eksctl, GKE
and AKS give to groups and nodes; karpenter.sh/v1.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from gitplacer.documents import Cursor, parse
from gitplacer.kinds.machines import Exhaustion, NodeGroup
from gitplacer.kinds.selectors import TaintField
from gitplacer.machines.types import CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, NODES
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.observing.nodes import NodeSeen
from gitplacer.observing.times import instant
from gitplacer.scheduler.objects import HOSTNAME
from gitplacer.scheduler.reading import cursor_of

_POOL_LABELS = ("eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name")
# None begins with a run of blanks, of which a text may have a million: each of them would be tried as the first.
_NAME = re.compile(r"[ \t]+Name:\s+(?P<name>\S+)")
_HEALTH = re.compile(
    r"cloudProviderTarget=(?P<target>[0-9]{1,9}) \(minSize=(?P<min>[0-9]{1,9}), maxSize=(?P<max>[0-9]{1,9})\)"
)
_SAYS_HEALTH = re.compile(r"(?<=\s)Health:\s+(?P<word>[A-Za-z]+)")
_SCALE_UP = re.compile(r"(?<=\s)ScaleUp:\s+(?P<word>[A-Za-z]+)")
_SINCE = re.compile(r"(?<=\s)LastTransitionTime:\s+(?P<day>\S{1,40}) (?P<time>[0-9:]+)")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,62}")
_TYPE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_ILL = "Unhealthy"
"""What Cluster Autoscaler calls a group with too many nodes that are not ready, and a cluster: it adds nothing to either."""
_MADE_UP = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]+"
_MOST = 100_000


class GroupStatus(Struct, frozen=True):
    """What Cluster Autoscaler says of a node group. `backoff` is a code, '' while it may grow."""

    name: str
    least: int
    most: int
    target: int
    backoff: str = ""
    since: str = ""


def group_statuses(text: str) -> tuple[GroupStatus, ...]:
    """What `status` of the ConfigMap says: YAML, or the text of releases before 1.30. What is neither says nothing."""
    if "NodeGroups:" in text and "nodeGroups:" not in text:
        return tuple(_from_text(text))
    documents = parse(text.encode()).documents
    return tuple(_from_yaml(cursor_of(documents[0].value))) if len(documents) == 1 else ()


def _from_yaml(root: Cursor) -> Iterator[GroupStatus]:
    ill = root.mapping("clusterWide").mapping("health").text("status") == _ILL
    for item in root.items("nodeGroups"):
        health, scale_up = item.mapping("health"), item.mapping("scaleUp")
        code = scale_up.mapping("backoffInfo").text("errorCode")
        is_ill = ill or _ILL in (health.text("status"), scale_up.text("status"))
        backs_off = scale_up.text("status") == "Backoff"
        yield GroupStatus(
            name=item.text("name"),
            least=health.integer("minSize") or 0,
            most=health.integer("maxSize") or 0,
            target=health.integer("cloudProviderTarget") or 0,
            backoff=(code if _CODE.fullmatch(code) else "Backoff") if backs_off else _ILL if is_ill else "",
            since=scale_up.text("lastTransitionTime") if backs_off else "",
        )


def _from_text(text: str) -> Iterator[GroupStatus]:
    whole, _, groups = text.partition("NodeGroups:")
    ill = _SAYS_HEALTH.search(whole)
    for part in re.split(r"\n(?=[ \t]+Name:\s)", groups):
        name, health = _NAME.match(part), _HEALTH.search(part)
        if name is None or health is None:
            continue
        scale_up = _SCALE_UP.search(part)
        backs_off = scale_up is not None and scale_up["word"] == "Backoff"
        is_ill = any(said is not None and said["word"] == _ILL for said in (ill, _SAYS_HEALTH.search(part)))
        changed = _SINCE.search(part, scale_up.end()) if scale_up is not None else None
        yield GroupStatus(
            name=name["name"],
            least=int(health["min"]),
            most=int(health["max"]),
            target=int(health["target"]),
            backoff="Backoff" if backs_off else _ILL if is_ill else "",
            since=f"{changed['day']}T{changed['time']}Z" if backs_off and changed else "",
        )


def node_groups(
    statuses: Iterable[GroupStatus], nodes: Sequence[NodeSeen], overheads: Mapping[str, Resources]
) -> Iterator[NodeGroup]:
    """
    Node groups with what a machine of each is, where one is there to show it. `overheads` are what DaemonSets take of each node. A
    group is called by the last part of its name, as the console of its provider shows it.
    """
    for status in sorted(statuses, key=lambda status: status.name):
        name = status.name.rpartition("/")[2]
        fresh = [node for node in nodes if _is_in(node, name)]
        yield NodeGroup(
            name=name[:253],
            min=min(status.least, status.most, _MOST),
            max=min(status.most, _MOST),
            count=min(status.target, _MOST),
            exhausted=_exhaustion(status),
            **_machine(fresh, overheads),
        )


def _exhaustion(status: GroupStatus) -> Exhaustion | None:
    return Exhaustion(code=status.backoff, since=instant(status.since)) if status.backoff else None


def _is_in(node: NodeSeen, group: str) -> bool:
    """
    Whether a node is of a group, by how the clouds name them: GKE's nodes `gke-c-pool-1a2b-x9yz` of the group `gke-c-pool-1a2b-grp`,
    AKS' `aks-pool-123-vmss000000` of `aks-pool-123-vmss`, EKS' by a label whose value is in the group's name. What stands behind it there
    is what the cloud, eksctl or Terraform makes up, and no more of a name: `eks-gpu-large-1a2b` is no group of `gpu`.
    """
    if node.name.startswith(group.removesuffix("-grp")) and group.startswith(("gke-", "aks-")):
        return True
    labels = dict(node.labels)
    return any(_is_group_of(pool, group) for pool in (labels.get(key, "") for key in _POOL_LABELS) if pool)


def _is_group_of(pool: str, group: str) -> bool:
    name = re.escape(pool)
    eks, eksctl = rf"eks-{name}-({_MADE_UP})", rf"eksctl-.+-nodegroup-{name}-NodeGroup-[0-9A-Za-z]+"
    return re.fullmatch(rf"{eks}|{eksctl}|{name}(-[0-9]{{14,}})?", group) is not None


def _machine(nodes: Sequence[NodeSeen], overheads: Mapping[str, Resources]) -> dict[str, Any]:
    """What nodes of one sort have in common: of each resource the least that is offered, and the most that DaemonSets take."""
    if not nodes:
        return {}
    labels = dict(sorted(set.intersection(*(set(node.labels) for node in nodes))))
    names = set.intersection(*(set(node.allocatable) for node in nodes))
    overhead = NOTHING
    for node in nodes:
        overhead = overhead.largest(overheads.get(node.name, NOTHING))
    kind = labels.get(INSTANCE_TYPE, "")
    taints = set.intersection(*(set(node.taints) for node in nodes))
    return {
        "node_type": kind if _TYPE.fullmatch(kind) else None,
        "allocatable": Resources({n: min(node.allocatable[n] for node in nodes) for n in names}).rendered(),
        "overhead": overhead.rendered(),
        "labels": {key: text for key, text in labels.items() if not _is_of_a_place(key)},
        "taints": tuple(
            TaintField(key=t.key, value=t.value, effect=t.effect)  # type: ignore[arg-type]
            for t in sorted(taints, key=str)
            if not t.key.startswith("node.kubernetes.io/")
        ),
    }


def _is_of_a_place(key: str) -> bool:
    """Whether another node of the same group may have another value: which zone the next machine comes to is not known."""
    return key == HOSTNAME or (key.startswith(("topology.", "failure-domain.")) and not key.endswith("/region"))


# -- Karpenter ----------------------------------------------------------------------------------------------------


def pool_limits(value: Mapping[str, Any]) -> tuple[str, Resources] | None:
    """The name of a NodePool and its limits; None for one that is going."""
    root = cursor_of(value)
    if root.mapping("metadata").has("deletionTimestamp"):
        return None
    return root.mapping("metadata").text("name"), root.mapping("spec").quantities("limits")


def karpenter_types(
    pools: Mapping[str, Resources], nodes: Sequence[NodeSeen], overheads: Mapping[str, Resources]
) -> Iterator[NodeGroup]:
    """
    An entry for each instance type and way of paying that a node of a pool shows. Of several pools that have it the widest bounds
    it; where none has limits, nothing does. All nodes of a pool count against its limits, those of other types too.
    """
    alike: dict[tuple[str, bool], list[NodeSeen]] = defaultdict(list)
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for node in nodes:
        labels = dict(node.labels)
        kind, pool = labels.get(INSTANCE_TYPE, ""), labels.get(NODE_POOL, "")
        if pool and pool in pools:
            counted[pool].update({**_counts(node), NODES: 1})
            if _TYPE.fullmatch(kind):
                alike[kind, labels.get(CAPACITY_TYPE) == "spot"].append(node)
    for (kind, spot), found in sorted(alike.items()):
        fields = _machine(found, overheads)
        fields["labels"] = {key: text for key, text in fields["labels"].items() if key != NODE_POOL}
        bounds = [
            _more(pools[name], counted[name], _counts(found[0]))
            for name in sorted({dict(node.labels)[NODE_POOL] for node in found})
        ]
        more = [bound for bound in bounds if bound is not None]
        most = min(len(found) + max(more), _MOST) if len(more) == len(bounds) else None
        yield NodeGroup(name=f"{kind}-spot" if spot else kind, spot=spot, max=most, count=len(found), **fields)


def _counts(node: NodeSeen) -> Resources:
    """What Karpenter counts of a node against the limits of its pool: what it has, which is more than it offers."""
    return node.capacity or node.allocatable


def _more(limits: Resources, counted: Mapping[str, int], one: Resources) -> int | None:
    """How many more nodes of a sort the limits of a pool allow beside those that it has; None if any number."""
    left = {name: max(0, limits[name] - counted.get(name, 0)) for name in limits}
    bounds = [
        amount // (1 if name == NODES else one.get(name, 0))
        for name, amount in left.items()
        if name == NODES or one.get(name)
    ]
    return min(bounds) if bounds else None


def overheads(pods: Iterable[tuple[str, bool, Resources]]) -> dict[str, Resources]:
    """What DaemonSets take of each node, of pods as (node, whether a DaemonSet owns it, what it asks for)."""
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for node, of_daemon_set, requests in pods:
        if node and of_daemon_set:
            totals[node].update({**requests, "pods": 1})
    return {node: Resources(total) for node, total in totals.items()}
