"""
core/v1 objects, as JSON values, into what the scheduler sees of them.

Values may be undefaulted, as a manifest is before the API server has filled it in; the defaults that matter to a scheduler are
filled in here (a limit stands in for a request, a host-network port for a host port, matchLabelKeys for requirements).
Nothing raises: a value of a wrong type is as good as absent, except that a pod whose size cannot be read says so in its
`flaw`, because taking it for small would sell its room twice.
Sources: kubernetes 1.34 pkg/apis/core/v1/defaults.go, component-helpers/resource/helpers.go (PodRequests),
pkg/registry/core/pod/strategy.go (applyMatchLabelKeysAndMismatchLabelKeys).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitplacer.documents import Cursor, Document
from gitplacer.documents.parse import ParsedDocument
from gitplacer.model.labels import Requirement, Taint, Toleration
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NodeTerm
from gitplacer.scheduler.objects import (
    NOTHING_SELECTED,
    HostPort,
    LabelPairs,
    Node,
    Pod,
    PodTerm,
    Selector,
    SpreadConstraint,
)
from gitplacer.workloads.podtemplate import REQUIRED, requirement
from gitplacer.workloads.requests import Amounts, Part, PodAsk, container_part, with_defaults, written

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
STAND_INS = Resources({"cpu": 100, "memory": 200 << 20})
"""What scores count for a container that asks for none (pkg/scheduler/util, DefaultMilliCPURequest and its sibling)."""

_READINESS_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_LIMIT = 2**62
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


@dataclass(frozen=True, slots=True)
class ClusterObjects:
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
    """What `kubectl get nodes,pods,namespaces -A -o json` prints: a List of objects of these kinds; others are passed over."""
    items = mappings(value.get("items")) if isinstance(value, dict) else []
    kinds = {kind: [item for item in items if item.get("kind") == kind] for kind in ("Node", "Pod", "Namespace")}
    return read_cluster(kinds["Node"], kinds["Pod"], kinds["Namespace"])


def read_namespaces(value: Any) -> dict[str, dict[str, str]]:
    """The labels of namespaces by name. Each has its name as a label, as the API server sees to."""
    found = {}
    for item in mappings(value):
        metadata = cursor_of(item).mapping("metadata")
        name = metadata.text("name")
        found[name] = {"kubernetes.io/metadata.name": name, **metadata.labels("labels")}
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
    spec, status = root.mapping("spec"), root.mapping("status")
    ask, flaw = _ask(spec, status)
    metadata, labels, namespace = _identity(root)
    affinity = spec.mapping("affinity")
    scored = _scored(ask)
    return Pod(
        name=metadata.text("name"),
        namespace=namespace,
        labels=labels,
        requests=ask.effective(),
        scored_cpu=scored.get("cpu", 0),
        scored_memory=scored.get("memory", 0),
        node_name=spec.text("nodeName"),
        ports=tuple(_ports(spec)),
        pod_affinity=_required_pods(affinity.mapping("podAffinity"), namespace, labels),
        pod_anti_affinity=_required_pods(affinity.mapping("podAntiAffinity"), namespace, labels),
        preferred_pods=tuple(_preferred_pods(affinity, namespace, labels)),
        finished=status.text("phase") in ("Succeeded", "Failed"),
        terminating=metadata.has("deletionTimestamp"),
        flaw=flaw,
    )


def read_pod(value: Mapping[str, Any], *, ask: PodAsk | None = None) -> Pod:
    """
    A v1.Pod, or a template of pods, that is to be scheduled. `ask`: what it asks for, where that is known better than from
    its containers.
    """
    root = cursor_of(value)
    spec = root.mapping("spec")
    known, flaw = (ask, "") if ask is not None else _ask(spec, None)
    metadata, labels, namespace = _identity(root)
    affinity = spec.mapping("affinity")
    scored = _scored(known)
    before = len(root.problems)
    pod = Pod(
        name=metadata.text("name"),
        namespace=namespace,
        labels=labels,
        requests=known.effective(),
        scored_cpu=scored.get("cpu", 0),
        scored_memory=scored.get("memory", 0),
        node_name=spec.text("nodeName"),
        node_selector=pairs(spec.labels("nodeSelector")),
        affinity=_required_nodes(affinity.mapping("nodeAffinity")),
        preferred_nodes=tuple(_preferred_nodes(affinity.mapping("nodeAffinity"))),
        tolerations=tuple(_tolerations(spec)),
        ports=tuple(_ports(spec)),
        spread=tuple(_spread(spec, labels)),
        pod_affinity=_required_pods(affinity.mapping("podAffinity"), namespace, labels),
        pod_anti_affinity=_required_pods(affinity.mapping("podAntiAffinity"), namespace, labels),
        preferred_pods=tuple(_preferred_pods(affinity, namespace, labels)),
    )
    if not flaw and len(root.problems) > before:
        flaw = root.problems[before].message
    return replace(pod, flaw=flaw)


def _identity(root: Cursor) -> tuple[Cursor, LabelPairs, str]:
    metadata = root.mapping("metadata")
    return metadata, pairs(metadata.labels("labels")), metadata.text("namespace") or "default"


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
    resources = spec.mapping("resources")
    ask = PodAsk(
        tuple(parts if status is None else _resized(parts, status)),
        pod_level=_pod_level(written(resources, "requests")),
        pod_level_limits=_pod_level(written(resources, "limits")),
        overhead=written(spec, "overhead"),
    )
    wrong = [p.message for p in spec.problems[before:] if p.code in ("InvalidQuantity", "WrongType")]
    return ask, wrong[0] if wrong else ""


def _pod_level(amounts: Amounts) -> Amounts:
    """Those amounts that a pod may ask for as a whole: cpu, memory, huge pages."""
    if not amounts:
        return amounts
    return {k: v for k, v in amounts.items() if k in ("cpu", "memory") or k.startswith("hugepages-")}


def _scored(ask: PodAsk) -> Resources:
    """
    The request that scores count: with stand-ins for containers that ask for no cpu or memory. Where the pod as a whole
    asks, that counts.
    """
    if not any(name not in part.amounts for part in ask.parts for name in STAND_INS):
        return ask.effective()
    missing = Resources({name: value for name, value in STAND_INS.items() if name not in ask.pod_level})
    filled = replace(ask, parts=tuple(with_defaults(part, missing) for part in ask.parts))
    return filled.effective()


def _resized(parts: list[Part], status: Cursor) -> Iterator[Part]:
    """
    Parts with what their containers were given beside what they ask for, whichever is larger (in-place resize). What is
    asked for does not count while the kubelet says that it cannot be.
    """
    given = {}
    for key in ("initContainerStatuses", "containerStatuses"):
        for item in status.items(key):
            if item.has("resources"):
                given[item.text("name")] = item
    pending = [item for item in status.items("conditions") if item.text("type") == "PodResizePending"]
    infeasible = bool(pending) and pending[0].text("reason") == "Infeasible"
    for part in parts:
        container = given.get(part.name)
        if container is None or part.role == "init":
            yield part
            continue
        actual = written(container.mapping("resources"), "requests")
        allocated = written(container, "allocatedResources")
        sizes = [actual, allocated] if infeasible else [part.amounts, actual, allocated]
        names = {name for size in sizes for name in size}
        yield replace(part, amounts={name: max(size.get(name, 0) for size in sizes) for name in sorted(names)})


def _ports(spec: Cursor) -> Iterator[HostPort]:
    """
    The ports that the pod takes on its node: those of containers that keep running. On the host's network every port is one
    (the API server fills them in).
    """
    shared = spec.boolean("hostNetwork")
    sidecars = [init for init in spec.items("initContainers") if init.text("restartPolicy") == "Always"]
    for container in (*sidecars, *spec.items("containers")):
        for item in container.items("ports") if container.has("ports") else ():
            port = item.integer("hostPort") or (item.integer("containerPort") if shared else 0) or 0
            if port > 0:
                yield HostPort(port, item.text("protocol") or "TCP", item.text("hostIP") or "0.0.0.0")


# -- where it may run ---------------------------------------------------------------------------------------------


def _tolerations(spec: Cursor) -> Iterator[Toleration]:
    for item in spec.items("tolerations"):
        operator = item.text("operator") or "Equal"
        if operator in ("Equal", "Exists"):
            yield Toleration(item.text("key"), operator, item.text("value"), item.text("effect"))


def _required_nodes(node_affinity: Cursor) -> tuple[NodeTerm, ...] | None:
    if not node_affinity.has(REQUIRED):
        return None
    return tuple(_node_term(item) for item in node_affinity.mapping(REQUIRED).items("nodeSelectorTerms"))


def _node_term(item: Cursor) -> NodeTerm:
    return NodeTerm(
        tuple(requirement(each) for each in item.items("matchExpressions")) if item.has("matchExpressions") else (),
        tuple(requirement(each, ("In", "NotIn")) for each in item.items("matchFields"))
        if item.has("matchFields")
        else (),
    )


def _preferred_nodes(node_affinity: Cursor) -> Iterator[tuple[int, NodeTerm]]:
    for item in node_affinity.items(PREFERRED):
        weight = item.integer("weight") or 0
        if weight:
            yield weight, _node_term(item.mapping("preference"))


# -- beside which pods --------------------------------------------------------------------------------------------


def _selector(owner: Cursor, key: str) -> Selector:
    if not owner.has(key):
        return NOTHING_SELECTED
    value = owner.mapping(key)
    return Selector(
        (
            *(Requirement(name, "In", (text,)) for name, text in sorted(value.labels("matchLabels").items())),
            *(requirement(item, _SELECTOR_OPERATORS) for item in value.items("matchExpressions")),
        )
    )


def _like(item: Cursor, key: str, operator: str, labels: LabelPairs) -> Iterator[Requirement]:
    """The requirements that matchLabelKeys (In) and mismatchLabelKeys (NotIn) stand for: of labels that the pod has."""
    if item.has(key):
        own = dict(labels)
        yield from (Requirement(name, operator, (own[name],)) for name in item.texts(key) if name in own)


def _spread(spec: Cursor, labels: LabelPairs) -> Iterator[SpreadConstraint]:
    for item in spec.items("topologySpreadConstraints"):
        yield SpreadConstraint(
            topology_key=item.text("topologyKey"),
            max_skew=item.integer("maxSkew") or 1,
            selector=_selector(item, "labelSelector").narrowed(_like(item, "matchLabelKeys", "In", labels)),
            hard=item.text("whenUnsatisfiable") != "ScheduleAnyway",
            min_domains=item.integer("minDomains") or 1,
            honours_affinity=item.text("nodeAffinityPolicy") != "Ignore",
            honours_taints=item.text("nodeTaintsPolicy") == "Honor",
        )


def _required_pods(affinity: Cursor, namespace: str, labels: LabelPairs) -> tuple[PodTerm, ...]:
    if not affinity.has(REQUIRED):
        return ()
    return tuple(_pod_term(item, namespace, labels) for item in affinity.items(REQUIRED))


def _preferred_pods(affinity: Cursor, namespace: str, labels: LabelPairs) -> Iterator[tuple[int, PodTerm]]:
    for key, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        for item in affinity.mapping(key).items(PREFERRED):
            weight = item.integer("weight") or 0
            if weight:
                yield sign * weight, _pod_term(item.mapping("podAffinityTerm"), namespace, labels)


def _pod_term(item: Cursor, namespace: str, labels: LabelPairs) -> PodTerm:
    """
    A term without namespaces and without namespaceSelector looks at the pod's own namespace. A null labelSelector matches
    nothing, whatever matchLabelKeys say: the API server merges them only into a selector that is there.
    """
    selector = _selector(item, "labelSelector")
    if selector.requirements is not None:
        selector = selector.narrowed(
            (*_like(item, "matchLabelKeys", "In", labels), *_like(item, "mismatchLabelKeys", "NotIn", labels))
        )
    names = item.texts("namespaces")
    if not names and not item.has("namespaceSelector"):
        names = (namespace,)
    return PodTerm(item.text("topologyKey"), selector, tuple(sorted(set(names))), _selector(item, "namespaceSelector"))
