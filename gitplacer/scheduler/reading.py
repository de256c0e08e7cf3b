"""
core/v1 objects, as JSON values, into what the scheduler sees of them.

Values may be undefaulted, as a manifest is before the API server has filled it in; the defaults that matter to a scheduler are
filled in here (a limit stands in for a request, a host-network port for a host port, matchLabelKeys for requirements).
Nothing raises: a value of a wrong type is as good as absent, except that a pod whose size cannot be read says so in its
`flaw`, because taking it for small would sell its room twice.
Sources: kubernetes 1.34 pkg/apis/core/v1/defaults.go, component-helpers/resource/helpers.go (PodRequests, that of 1.37 for
pods that are resized),
pkg/registry/core/pod/strategy.go (applyMatchLabelKeysAndMismatchLabelKeys).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor, Document
from gitplacer.documents.parse import ParsedDocument
from gitplacer.model.labels import NAME_KEY, Taint
from gitplacer.model.podrules import LabelPairs
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import PodShape, PodVolumeClaim
from gitplacer.scheduler.objects import NamespacesByName, Node, Pod
from gitplacer.workloads.claims import pod_claims
from gitplacer.workloads.constraints import constraints, tolerations
from gitplacer.workloads.requests import Amounts, Part, PodAsk, container_part, is_pod_level, written

_READINESS_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_LIMIT = 2**62


class ClusterObjects(Struct, frozen=True):
    """What a cluster has: its nodes, the pods that it knows of, the labels of its namespaces."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...]
    namespaces: Mapping[str, Mapping[str, str]]


def cursor_of(value: Any) -> Cursor:
    """A typed getter at a JSON value that has no text."""
    mapping = value if isinstance(value, dict) else {}
    return Document("", ParsedDocument(mapping, 0, 0), 0, bytes).cursor()


def mappings(value: Any) -> list[dict[str, Any]]:
    """The mappings in a list; none if it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def objects_in(value: Any) -> list[dict[str, Any]]:
    """
    The objects of a List, as `kubectl get -o json` prints it; of a NodeList, PodList and the like, as the API server answers, whose items do not say
    what they are; of several of these in a list; and an object by itself.
    """
    found: list[dict[str, Any]] = []
    for one in mappings(value if isinstance(value, list) else [value]):
        kind, items = str(one.get("kind") or "List"), one.get("items")
        if not kind.endswith("List") or not isinstance(items, list):
            found.append(one)
            continue
        said = {"apiVersion": one.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
        found += ({**said, **item} for item in mappings(items))
    return found


def read_cluster(nodes: Any, pods: Any, namespaces: Any) -> ClusterObjects:
    """Lists of core/v1 objects. Of nodes with one name the first counts, and it takes nothing new."""
    found: dict[str, Node] = {}
    for value in mappings(nodes):
        node = read_node(value)
        if node.name in found:
            found[node.name] = replace(found[node.name], flaw="there are two nodes of this name")
        else:
            found[node.name] = node
    return ClusterObjects(
        tuple(found.values()),
        tuple(read_existing(value) for value in mappings(pods)),
        read_namespaces(namespaces),
    )


def read_list(value: Any) -> ClusterObjects:
    """What `kubectl get nodes,pods,namespaces -A -o json` prints: a List of objects of these kinds, or what `objects_in` takes; others are passed over."""
    items = objects_in(value)
    kinds = {kind: [item for item in items if item.get("kind") == kind] for kind in ("Node", "Pod", "Namespace")}
    found = read_cluster(kinds["Node"], kinds["Pod"], kinds["Namespace"])
    return replace(found, namespaces=NamespacesByName(found.namespaces))


def read_namespaces(value: Any) -> dict[str, dict[str, str]]:
    """The labels of namespaces by name. Each has its name as a label, as the API server sees to."""
    found = {}
    for item in mappings(value):
        metadata = cursor_of(item).mapping("metadata")
        name = metadata.text("name")
        found[name] = {NAME_KEY: name, **metadata.labels("labels")}
    return found


def read_node(value: Mapping[str, Any]) -> Node:
    """A v1.Node. Without allocatable its capacity counts, as the API server fills it in."""
    root = cursor_of(value)
    metadata, spec, status = root.mapping("metadata"), root.mapping("spec"), root.mapping("status")
    before = len(root.problems)
    offered = status.quantities("allocatable" if status.has("allocatable") else "capacity")
    flaw = root.problems[before].message if len(root.problems) > before else ""
    taints = tuple(
        Taint(item.text("key"), item.text("value"), item.text("effect"))
        for item in spec.items("taints")
        if item.text("effect") in ("NoSchedule", "PreferNoSchedule", "NoExecute")
    )
    ready = [item.text("status") for item in status.items("conditions") if item.text("type") == "Ready"]
    said = any(taint.key in _READINESS_TAINTS and taint.effect != "PreferNoSchedule" for taint in taints)
    return Node(
        name=metadata.text("name"),
        labels=pairs(metadata.labels("labels")),
        taints=taints,
        unschedulable=spec.boolean("unschedulable"),
        allocatable=Resources({name: min(amount, _LIMIT) for name, amount in offered.items()}),
        doubtful=bool(ready) and ready[-1] != "True" and not said,
        flaw=flaw,
    )


def read_existing(value: Mapping[str, Any]) -> Pod:
    """A v1.Pod that a cluster has, with what it holds of its node now: resizing, it holds the larger of both sizes."""
    root = cursor_of(value)
    status = root.mapping("status")
    ask, flaw = _ask(root.mapping("spec"), status)
    return replace(
        _read(root, ask),
        finished=status.text("phase") in ("Succeeded", "Failed"),
        terminating=root.mapping("metadata").has("deletionTimestamp"),
        nominated=status.text("nominatedNodeName"),
        flaw=flaw,
    )


def read_pod(value: Mapping[str, Any]) -> Pod:
    """A v1.Pod that is to be scheduled."""
    root = cursor_of(value)
    ask, flaw = _ask(root.mapping("spec"), None)
    before = len(root.problems)
    pod = _read(root, ask)
    if not flaw and len(root.problems) > before:
        flaw = root.problems[before].message
    return replace(pod, flaw=flaw)


def _read(root: Cursor, ask: PodAsk) -> Pod:
    metadata, spec = root.mapping("metadata"), root.mapping("spec")
    shape = PodShape(
        **ask.sizes(),
        node_name=spec.text("nodeName"),
        node_selector=pairs(spec.labels("nodeSelector")),
        tolerations=tuple(tolerations(spec)),
        **constraints(spec),
    )
    labels, name = pairs(metadata.labels("labels")), metadata.text("name")
    claims = tuple(numbered(claim, name) for claim in pod_claims(spec))
    priority = spec.integer("priority") or 0
    return Pod.of(shape, name, metadata.text("namespace") or "default", labels, claims=claims, priority=priority)


def numbered(claim: PodVolumeClaim, pod: str, number: int = 0) -> PodVolumeClaim:
    """A claim by the name that it has for a pod: that of a set has the pod's number, that of a pod its name."""
    match claim.of:
        case "set":
            return replace(claim, name=f"{claim.name}-{claim.first + number}")
        case "pod":
            return replace(claim, name=f"{pod}-{claim.name}")
    return claim


def pairs(labels: Mapping[str, str]) -> LabelPairs:
    """Labels as a sorted tuple."""
    return tuple(sorted(labels.items()))


# -- what it asks for ---------------------------------------------------------------------------------------------


def _ask(spec: Cursor, status: Cursor | None) -> tuple[PodAsk, str]:
    """What a pod asks for, and what keeps us from knowing ('' if nothing does)."""
    before = len(spec.problems)
    parts = [
        container_part(init, "sidecar" if init.text("restartPolicy") == "Always" else "init", NOTHING)
        for init in spec.items("initContainers")
    ]
    parts += [container_part(container, "container", NOTHING) for container in spec.items("containers")]
    resources, overhead = spec.mapping("resources"), written(spec, "overhead")
    whole = _pod_level(written(resources, "requests"))
    ask = PodAsk(
        tuple(parts if status is None else _resized(parts, status)),
        pod_level=whole if status is None or not whole else _resized_whole(whole, status, overhead),
        pod_level_limits=_pod_level(written(resources, "limits")),
        overhead=overhead,
    )
    wrong = [p.message for p in spec.problems[before:] if p.code in ("InvalidQuantity", "WrongType")]
    return ask, wrong[0] if wrong else ""


def _pod_level(amounts: Amounts) -> Amounts:
    """Those amounts that a pod may ask for as a whole: cpu, memory, huge pages."""
    if not amounts:
        return amounts
    return {k: v for k, v in amounts.items() if is_pod_level(k)}


def _resized(parts: list[Part], status: Cursor) -> Iterator[Part]:
    """
    Parts with what their containers were given beside what they ask for, whichever is larger (in-place resize). What is
    asked for does not count while the kubelet says that it cannot be, once it says what the container has instead.
    """
    given = {}
    for key in ("initContainerStatuses", "containerStatuses"):
        for item in status.items(key):
            if item.has("resources") or item.has("allocatedResources"):
                given[item.text("name")] = item
    infeasible = _resize_infeasible(status)
    for part in parts:
        container = given.get(part.name)
        if container is None or part.role == "init":
            yield part
            continue
        actual = written(container.mapping("resources"), "requests")
        allocated = written(container, "allocatedResources")
        instead = infeasible and container.has("resources")
        yield replace(part, amounts=_largest([actual, allocated] if instead else [part.amounts, actual, allocated]))


def _resized_whole(asked: Amounts, status: Cursor, overhead: Amounts) -> Amounts:
    """
    The same for what a pod asks for as a whole, which can be resized from Kubernetes 1.36 on. Its status counts the overhead in.
    """
    given = _largest([written(status.mapping("resources"), "requests"), written(status, "allocatedResources")])
    has = {name: given[name] - overhead.get(name, 0) for name in asked if name in given}
    return {**asked, **has} if _resize_infeasible(status) else _largest([asked, has])


def _resize_infeasible(status: Cursor) -> bool:
    pending = [item for item in status.items("conditions") if item.text("type") == "PodResizePending"]
    return bool(pending) and pending[0].text("reason") == "Infeasible"


def _largest(sizes: Sequence[Amounts]) -> Amounts:
    names = {name for size in sizes for name in size}
    return {name: max(size.get(name, 0) for size in sizes) for name in sorted(names)}
