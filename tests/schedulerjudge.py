"""
What kube-scheduler would do with a gang: a slow, plain reading of its documented filters and scores.

Given a case (`nodes`, `existingPods`, `namespaces`, `pods`: core/v1 objects as JSON), it answers two questions:
would the filters accept this placement, pod after pod in this order (`replay`), and where would the scheduler
itself put the pods, taking them in this order (`run`)? It is a judge of the fit code, so it shares nothing
with it: no import from gitplacer, no classes of pods, no columns, no cleverness; every pod is held against
every node with everything placed so far, as the scheduler does it.

The rules are those of kube-scheduler 1.34 with its default plug-ins. Sources: the Kubernetes documentation
("Assigning Pods to Nodes", "Taints and Tolerations", "Pod Topology Spread Constraints", "Init Containers",
"Sidecar Containers", "Pod Overhead", "Resource Bin Packing", "Scheduler Configuration") and the API reference.
Pods arrive as a user or operator writes them, so what the API server would add is added first: requests from
limits, host ports of pods on the host's network, `matchLabelKeys` merged into the selectors.

Not here, because no case asks for it: volumes, preemption, scheduling gates, resource claims, image locality.
"""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any

Json = Mapping[str, Any]
Order = Sequence[str]

# the weights that NodeResourcesFit scores by: the default, and bin packing without and with a thought for GPUs
SCORINGS: Mapping[str, Mapping[str, int]] = {
    "LeastAllocated": {"cpu": 1, "memory": 1},
    "MostAllocated": {"cpu": 1, "memory": 1},
    "MostAllocatedWithGpus": {"cpu": 1, "memory": 1, "nvidia.com/gpu": 5},
}
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Refusal:
    """A pod that the filters of a node turn away, and the first plug-in that does."""

    pod: str
    node: str | None
    reason: str


@dataclass(frozen=True)
class Outcome:
    """A run of the scheduler: where each pod went, in the order of binding, and which found no node."""

    placed: dict[str, str]
    unplaced: tuple[str, ...]


# Quantities and requests

_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}


@cache
def _quantity(text: str) -> Fraction:
    digits = text.rstrip("numkKMGTPEi")
    suffix = text[len(digits) :]
    if suffix in _SUFFIXES:
        return Fraction(digits) * _SUFFIXES[suffix]
    return Fraction(text)


def quantity(value: object) -> Fraction:
    """A Kubernetes quantity, exactly."""
    return _quantity(str(value))


def _units(name: str, amount: Fraction) -> int:
    """The scheduler counts cpu in thousandths and all else in ones, rounding up."""
    return math.ceil(amount * 1000) if name == "cpu" else math.ceil(amount)


def _amounts(resources: Json | None) -> dict[str, Fraction]:
    return {name: quantity(value) for name, value in (resources or {}).items()}


def _add(total: dict[str, Fraction], more: Mapping[str, Fraction]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _raise_to(total: dict[str, Fraction], other: Mapping[str, Fraction]) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, amount), amount)


def _is_sidecar(container: Json) -> bool:
    return container.get("restartPolicy") == "Always"


def _container_request(container: Json) -> dict[str, Fraction]:
    """A limit without a request becomes the request."""
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _status_of(pod: Json, name: str) -> Json | None:
    status = pod.get("status") or {}
    listed: list[Json] = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((container for container in listed if container.get("name") == name), None)


def _resize_is_infeasible(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == "PodResizePending" and c.get("reason") == "Infeasible" for c in conditions)


def _held_by_container(pod: Json, container: Json) -> dict[str, Fraction]:
    """What a container on a node holds: the most of what it asks, what is set and what was allotted (in-place resize)."""
    status = _status_of(pod, container["name"])
    if status is None or status.get("resources") is None:
        return _container_request(container)
    held = {} if _resize_is_infeasible(pod) else _container_request(container)
    _raise_to(held, _amounts(status["resources"].get("requests")))
    _raise_to(held, _amounts(status.get("allocatedResources")))
    return held


def _takes_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _effective(pod: Json, of_container: Callable[[Json], dict[str, Fraction]]) -> dict[str, Fraction]:
    """The effective request of a pod ("Init Containers", "Sidecar Containers", "Pod Overhead", pod-level resources)."""
    spec = pod["spec"]
    total: dict[str, Fraction] = {}
    for container in spec.get("containers") or ():
        _add(total, of_container(container))
    sidecars: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or ():
        request = of_container(container)
        if _is_sidecar(container):
            _add(total, request)
            _add(sidecars, request)
            _raise_to(peak, sidecars)
        else:
            meanwhile = dict(sidecars)
            _add(meanwhile, request)
            _raise_to(peak, meanwhile)
    _raise_to(total, peak)

    own = spec.get("resources") or {}
    asked = {name: amount for name, amount in _amounts(own.get("requests")).items() if _takes_pod_level(name)}
    for name, amount in _amounts(own.get("limits")).items():
        if _takes_pod_level(name) and name not in asked and name not in total:
            asked[name] = amount
    total.update(asked)
    _add(total, _amounts(spec.get("overhead")))
    return total


def _in_units(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    return {name: _units(name, amount) for name, amount in amounts.items()}


def request(pod: Json) -> dict[str, int]:
    """What a new pod asks of a node: cpu in thousandths, all else in ones."""
    return _in_units(_effective(pod, _container_request))


def held(pod: Json) -> dict[str, int]:
    """What a pod on a node holds there."""
    return _in_units(_effective(pod, lambda container: _held_by_container(pod, container)))


def _for_scoring(pod: Json, of_container: Callable[[Json], dict[str, Fraction]]) -> dict[str, int]:
    """LeastAllocated and MostAllocated take 100m and 200Mi for containers that ask for none."""
    stand_in = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024**2)}
    return _in_units(_effective(pod, lambda container: {**stand_in, **of_container(container)}))


# Selectors


def _is_whole(text: str) -> bool:
    return re.fullmatch("[+-]?[0-9]+", text) is not None


def _expression_holds(expression: Json, labels: Json) -> bool:
    key, operator = expression["key"], expression["operator"]
    values: Sequence[str] = expression.get("values") or []
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    if operator in ("Gt", "Lt"):
        if key not in labels or len(values) != 1 or not (_is_whole(labels[key]) and _is_whole(values[0])):
            return False
        found, bound = int(labels[key]), int(values[0])
        return found > bound if operator == "Gt" else found < bound
    return False


def selects(selector: Json | None, labels: Json) -> bool:
    """A LabelSelector: nothing where it is absent, everything where it is empty."""
    if selector is None:
        return False
    equal = all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return equal and all(_expression_holds(e, labels) for e in selector.get("matchExpressions") or ())


def is_empty(selector: Json | None) -> bool:
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def _with_label_keys(selector: Json | None, labels: Json, same: Iterable[str], other: Iterable[str]) -> Json | None:
    """`matchLabelKeys` and `mismatchLabelKeys`, merged into the selector as the API server does."""
    if selector is None:
        return None
    more = [{"key": k, "operator": "In", "values": [labels[k]]} for k in same if k in labels]
    more += [{"key": k, "operator": "NotIn", "values": [labels[k]]} for k in other if k in labels]
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more]}


@dataclass(frozen=True)
class Term:
    """A pod affinity term: pods in these namespaces with these labels, within one value of the topology key."""

    topology_key: str
    selector: Json | None
    namespaces: frozenset[str]
    namespace_selector: Json | None
    weight: int = 1


def _terms(pod: Json, kind: str, is_new: bool) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The required and the preferred terms of `podAffinity` or `podAntiAffinity`."""
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}

    def read(term: Json, weight: int) -> Term:
        selector = term.get("labelSelector")
        if is_new:
            labels = pod["metadata"].get("labels") or {}
            same, other = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
            selector = _with_label_keys(selector, labels, same, other)
        namespaces = frozenset(term.get("namespaces") or ())
        if not namespaces and term.get("namespaceSelector") is None:
            namespaces = frozenset({pod["metadata"].get("namespace") or "default"})
        return Term(term["topologyKey"], selector, namespaces, term.get("namespaceSelector"), weight)

    required = tuple(read(t, 1) for t in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return required, tuple(read(t["podAffinityTerm"], t["weight"]) for t in preferred)


# Pods and nodes


@dataclass(frozen=True)
class Spread:
    """A topology spread constraint, its defaults filled in."""

    key: str
    max_skew: int
    selector: Json | None
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def _spread(pod: Json, when: str) -> tuple[Spread, ...]:
    labels = pod["metadata"].get("labels") or {}
    return tuple(
        Spread(
            key=constraint["topologyKey"],
            max_skew=constraint["maxSkew"],
            selector=_with_label_keys(
                constraint.get("labelSelector"), labels, constraint.get("matchLabelKeys") or (), ()
            ),
            min_domains=constraint.get("minDomains") or 1,
            honors_affinity=(constraint.get("nodeAffinityPolicy") or "Honor") == "Honor",
            honors_taints=(constraint.get("nodeTaintsPolicy") or "Ignore") == "Honor",
        )
        for constraint in pod["spec"].get("topologySpreadConstraints") or ()
        if (constraint.get("whenUnsatisfiable") or "DoNotSchedule") == when
    )


def host_ports(pod: Json) -> tuple[tuple[str, str, int], ...]:
    """The host ports of containers and sidecars as (address, protocol, port)."""
    spec = pod["spec"]
    sidecars = [c for c in spec.get("initContainers") or () if _is_sidecar(c)]
    found = []
    for container in [*(spec.get("containers") or ()), *sidecars]:
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port["containerPort"] if spec.get("hostNetwork") else 0)
            if number > 0:
                found.append((port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", number))
    return tuple(found)


def ports_clash(one: Iterable[tuple[str, str, int]], other: Iterable[tuple[str, str, int]]) -> bool:
    """Two ports clash on the same address, or where one of them listens on all."""
    theirs = tuple(other)
    return any(
        a[1:] == b[1:] and (a[0] == b[0] or "0.0.0.0" in (a[0], b[0]))  # a wildcard meets every address
        for a in one
        for b in theirs
    )


@dataclass(frozen=True, eq=False)
class Pod:
    """A pod as the scheduler sees it, read once."""

    name: str
    namespace: str
    labels: Json
    spec: Json
    is_ending: bool
    asks: dict[str, int]
    scored: dict[str, int]
    ports: tuple[tuple[str, str, int], ...]
    tolerations: Sequence[Json]
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    likes: tuple[Term, ...]
    dislikes: tuple[Term, ...]
    spread: tuple[Spread, ...]
    spread_anyway: tuple[Spread, ...]


def _read_pod(pod: Json, *, is_new: bool) -> Pod:
    spec = pod["spec"]
    affinity, likes = _terms(pod, "podAffinity", is_new)
    anti_affinity, dislikes = _terms(pod, "podAntiAffinity", is_new)

    def of_container(container: Json) -> dict[str, Fraction]:
        return _container_request(container) if is_new else _held_by_container(pod, container)

    return Pod(
        name=pod["metadata"]["name"],
        namespace=pod["metadata"].get("namespace") or "default",
        labels=pod["metadata"].get("labels") or {},
        spec=spec,
        is_ending=pod["metadata"].get("deletionTimestamp") is not None,
        asks=_in_units(_effective(pod, of_container)),
        scored=_for_scoring(pod, of_container),
        ports=host_ports(pod),
        tolerations=spec.get("tolerations") or (),
        affinity=affinity,
        anti_affinity=anti_affinity,
        likes=likes,
        dislikes=dislikes,
        spread=_spread(pod, "DoNotSchedule"),
        spread_anyway=_spread(pod, "ScheduleAnyway"),
    )


@dataclass(eq=False)
class Node:
    """A node and the pods on it."""

    name: str
    labels: Json
    taints: Sequence[Json]
    is_cordoned: bool
    allocatable: dict[str, int]
    pods: list[Pod] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    scored: Counter[str] = field(default_factory=Counter)

    def add(self, pod: Pod) -> None:
        self.pods.append(pod)
        self.used.update(pod.asks)
        self.scored.update(pod.scored)

    def remove(self, pod: Pod) -> None:
        self.pods.remove(pod)
        self.used.subtract(pod.asks)
        self.scored.subtract(pod.scored)


def _read_node(node: Json) -> Node:
    spec, status = node.get("spec") or {}, node.get("status") or {}
    allocatable = status.get("allocatable")
    if allocatable is None:  # the API server fills it in
        allocatable = status.get("capacity")
    return Node(
        name=node["metadata"]["name"],
        labels=node["metadata"].get("labels") or {},
        taints=spec.get("taints") or (),
        is_cordoned=bool(spec.get("unschedulable")),
        allocatable=_in_units(_amounts(allocatable)),
    )


# Filters: None where the node will do, else why not


def tolerates(toleration: Json, taint: Json) -> bool:
    """Without a key (then `Exists`) or effect, a toleration stands for all of them."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    return operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")


def _untolerated(pod: Pod, taints: Iterable[Json], effects: tuple[str, ...]) -> Json | None:
    for taint in taints:
        if taint.get("effect") in effects and not any(tolerates(t, taint) for t in pod.tolerations):
            return taint
    return None


def _node_term_holds(term: Json, node: Node) -> bool:
    """One term of a node affinity; a term without conditions selects nothing."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_expression_holds(e, node.labels) for e in expressions) and all(
        _expression_holds(f, {"metadata.name": node.name}) for f in fields
    )


def _node_is_selected(pod: Pod, node: Node) -> bool:
    selector = pod.spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_node_term_holds(t, node) for t in required.get("nodeSelectorTerms") or ())


def _cordon(pod: Pod, node: Node) -> str | None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node.is_cordoned and not any(tolerates(t, taint) for t in pod.tolerations):
        return "NodeUnschedulable: node(s) were unschedulable"
    return None


def _name(pod: Pod, node: Node) -> str | None:
    wanted = pod.spec.get("nodeName")
    return "NodeName: node(s) didn't match the requested node name" if wanted and wanted != node.name else None


def _taints(pod: Pod, node: Node) -> str | None:
    taint = _untolerated(pod, node.taints, ("NoSchedule", "NoExecute"))
    if taint is None:
        return None
    return f"TaintToleration: node(s) had untolerated taint {{{taint['key']}: {taint.get('value') or ''}}}"


def _selection(pod: Pod, node: Node) -> str | None:
    return None if _node_is_selected(pod, node) else "NodeAffinity: node(s) didn't match Pod's node affinity/selector"


def _ports(pod: Pod, node: Node) -> str | None:
    if pod.ports and any(ports_clash(pod.ports, other.ports) for other in node.pods):
        return "NodePorts: node(s) didn't have free ports for the requested pod ports"
    return None


def _extended_last(asked: tuple[str, int]) -> tuple[int, str]:
    own = ("cpu", "memory", "ephemeral-storage")
    return (own.index(asked[0]) if asked[0] in own else len(own), asked[0])


def _resources(pod: Pod, node: Node) -> str | None:
    """Pods are counted first; a resource the pod asks none of is not looked at, be it overcommitted."""
    short = []
    if len(node.pods) + 1 > node.allocatable.get("pods", 0):
        short.append("Too many pods")
    for name, amount in sorted(pod.asks.items(), key=_extended_last):
        if amount > 0 and amount > node.allocatable.get(name, 0) - node.used[name]:
            short.append(f"Insufficient {name}")
    return f"NodeResourcesFit: {'; '.join(short)}" if short else None


def counts_for(spread: Spread, pod: Pod, node: Node) -> bool:
    if spread.honors_affinity and not _node_is_selected(pod, node):
        return False
    return not (spread.honors_taints and _untolerated(pod, node.taints, ("NoSchedule", "NoExecute")))


def _matching_pods(spread: Spread, pod: Pod, node: Node) -> int:
    """Pods of the same namespace that are not on their way out; the empty selector counts none."""
    if is_empty(spread.selector):
        return 0
    return sum(
        1 for p in node.pods if p.namespace == pod.namespace and not p.is_ending and selects(spread.selector, p.labels)
    )


def domains(pod: Pod, nodes: Iterable[Node]) -> list[dict[str, int]]:
    """For each constraint, the matching pods in each domain of the nodes that have all the keys."""
    counts: list[dict[str, int]] = [{} for _ in pod.spread]
    for node in nodes:
        if not all(spread.key in node.labels for spread in pod.spread):
            continue
        for spread, found in zip(pod.spread, counts, strict=True):
            if counts_for(spread, pod, node):
                value = node.labels[spread.key]
                found[value] = found.get(value, 0) + _matching_pods(spread, pod, node)
    return counts


def _spreading(pod: Pod, node: Node, found: Sequence[Mapping[str, int]]) -> str | None:
    problem = "PodTopologySpread: node(s) didn't match pod topology spread constraints"
    for spread, counts in zip(pod.spread, found, strict=True):
        if spread.key not in node.labels:
            return f"{problem} (missing required label)"
        least = min(counts.values(), default=math.inf) if len(counts) >= spread.min_domains else 0
        itself = 1 if selects(spread.selector, pod.labels) else 0
        if counts.get(node.labels[spread.key], 0) + itself - least > spread.max_skew:
            return problem
    return None


@dataclass
class Neighbours:
    """What the pods on all nodes mean to a new pod: (topology key, value) pairs and how many pods stand behind each."""

    wanted: Counter[tuple[str, str]]
    unwanted: Counter[tuple[str, str]]
    refusing: Counter[tuple[str, str]]


def _neighbouring(pod: Pod, node: Node, neighbours: Neighbours, concerns: Callable[[Term, Pod], bool]) -> str | None:
    """Required pod affinity and anti-affinity, both ways."""
    if pod.affinity:
        if any(term.topology_key not in node.labels for term in pod.affinity):
            return "InterPodAffinity: node(s) didn't match pod affinity rules"
        met = all(neighbours.wanted[t.topology_key, node.labels[t.topology_key]] > 0 for t in pod.affinity)
        # the first of a series that wants its own kind goes anywhere, as long as there is none of it at all
        is_first = not neighbours.wanted and all(concerns(term, pod) for term in pod.affinity)
        if not met and not is_first:
            return "InterPodAffinity: node(s) didn't match pod affinity rules"
    for term in pod.anti_affinity:
        if term.topology_key in node.labels and neighbours.unwanted[term.topology_key, node.labels[term.topology_key]]:
            return "InterPodAffinity: node(s) didn't match pod anti-affinity rules"
    if neighbours.refusing and any(neighbours.refusing[pair] for pair in node.labels.items()):
        return "InterPodAffinity: node(s) didn't satisfy existing pods anti-affinity rules"
    return None


# The cluster


class Cluster:
    """The nodes of a case, and what the scheduler knows while it places pods on them."""

    def __init__(self, case: Json) -> None:
        self.namespaces: dict[str, Json] = {
            n["metadata"]["name"]: n["metadata"].get("labels") or {} for n in case.get("namespaces") or ()
        }
        self.nodes = {node["metadata"]["name"]: _read_node(node) for node in case["nodes"]}
        for existing in case.get("existingPods") or ():
            on = existing["spec"].get("nodeName")
            if on in self.nodes and (existing.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                self.nodes[on].add(_read_pod(existing, is_new=False))
        self.pods = {pod["metadata"]["name"]: _read_pod(pod, is_new=True) for pod in case["pods"]}
        self._known: dict[tuple[Pod, str], str | None] = {}

    def anew(self) -> Cluster:
        """The same with nothing placed since; what was read of the case is read once."""
        found = copy.copy(self)  # pods never change, nor what is known of them and a node that stays as it is
        found.nodes = {
            name: replace(node, pods=[*node.pods], used=Counter(node.used), scored=Counter(node.scored))
            for name, node in self.nodes.items()
        }
        return found

    def concerns(self, term: Term, pod: Pod) -> bool:
        """Does a term of a new pod mean this pod? Namespaces that nobody listed are in no selection but the empty one."""
        chosen = term.namespace_selector
        in_reach = (
            pod.namespace in term.namespaces
            or is_empty(chosen)
            or (pod.namespace in self.namespaces and selects(chosen, self.namespaces[pod.namespace]))
        )
        return in_reach and selects(term.selector, pod.labels)

    def _concerns_new(self, term: Term, pod: Pod) -> bool:
        """Does a term of a pod on a node mean the new pod? A namespace that nobody listed has no labels."""
        labels = self.namespaces.get(pod.namespace, {})
        in_reach = pod.namespace in term.namespaces or selects(term.namespace_selector, labels)
        return in_reach and selects(term.selector, pod.labels)

    def _everyone(self) -> Iterator[tuple[Node, Pod]]:
        return ((node, pod) for node in self.nodes.values() for pod in node.pods)

    def neighbours(self, pod: Pod) -> Neighbours:
        """Count once what the filters of all nodes need."""
        found = Neighbours(Counter(), Counter(), Counter())
        for node, other in self._everyone():
            if pod.affinity and all(self.concerns(term, other) for term in pod.affinity):
                for term in pod.affinity:
                    if term.topology_key in node.labels:
                        found.wanted[term.topology_key, node.labels[term.topology_key]] += 1
            for term in pod.anti_affinity:
                if term.topology_key in node.labels and self.concerns(term, other):
                    found.unwanted[term.topology_key, node.labels[term.topology_key]] += 1
            for term in other.anti_affinity:
                if term.topology_key in node.labels and self._concerns_new(term, pod):
                    found.refusing[term.topology_key, node.labels[term.topology_key]] += 1
        return found

    def _fixed(self, pod: Pod, node: Node) -> str | None:
        """The filters that no other pod can change, remembered."""
        key = (pod, node.name)
        if key not in self._known:
            tests = (_cordon, _name, _taints, _selection)
            self._known[key] = next((why for test in tests if (why := test(pod, node))), None)
        return self._known[key]

    def refusals(self, pod: Pod) -> Iterator[tuple[Node, str | None]]:
        """Each node with the first filter that refuses the pod there, in the scheduler's order of filters."""
        counts = domains(pod, self.nodes.values()) if pod.spread else ()
        neighbours = self.neighbours(pod)
        for node in self.nodes.values():
            yield (
                node,
                self._fixed(pod, node)
                or _ports(pod, node)
                or _resources(pod, node)
                or (_spreading(pod, node, counts) if pod.spread else None)
                or _neighbouring(pod, node, neighbours, self.concerns),
            )

    def refusal(self, pod: Pod, name: str) -> str | None:
        """Why this one node refuses the pod."""
        return next(why for node, why in self.refusals(pod) if node.name == name)

    # Scores: 0 to 100 for each node that passed the filters

    def scores(self, pod: Pod, nodes: Sequence[Node], scoring: str) -> list[int]:
        """The weighted sum of the default plug-ins ("Scheduler Configuration"); images are never on a node here."""
        plugins = (
            (3, _reversed([_preferred_against(pod, node) for node in nodes])),
            (2, _normalized([_preferred(pod, node) for node in nodes])),
            (2, self._spread_scores(pod, nodes)),
            (2, self._neighbour_scores(pod, nodes)),
            (1, [_allocation(pod, node, scoring) for node in nodes]),
            (1, [_balance(pod, node) for node in nodes]),
        )
        return [sum(weight * scores[i] for weight, scores in plugins) for i in range(len(nodes))]

    def _neighbour_scores(self, pod: Pod, nodes: Sequence[Node]) -> list[int]:
        """Preferred pod affinity both ways; the required affinity of a pod on a node weighs 1."""
        worth: Counter[tuple[str, str]] = Counter()
        for node, other in self._everyone():
            mine = [(t, t.weight, self.concerns(t, other)) for t in pod.likes]
            mine += [(t, -t.weight, self.concerns(t, other)) for t in pod.dislikes]
            theirs = [(t, t.weight, self._concerns_new(t, pod)) for t in (*other.affinity, *other.likes)]
            theirs += [(t, -t.weight, self._concerns_new(t, pod)) for t in other.dislikes]
            for term, weight, holds in mine + theirs:
                if holds and term.topology_key in node.labels:
                    worth[term.topology_key, node.labels[term.topology_key]] += weight
        if not worth:
            return [0] * len(nodes)
        raw = [sum(worth[pair] for pair in node.labels.items()) for node in nodes]
        low, high = min(raw), max(raw)
        return [int(100 * ((value - low) / (high - low))) if high > low else 0 for value in raw]

    def _spread_scores(self, pod: Pod, nodes: Sequence[Node]) -> list[int]:
        """`ScheduleAnyway`: the fewer matching pods in a node's domains, the better."""
        constraints = pod.spread_anyway
        if not constraints:
            return [0] * len(nodes)

        def has_all(node: Node) -> bool:
            return all(c.key in node.labels for c in constraints)

        able = [node for node in nodes if has_all(node)]
        raw: dict[str, float] = {node.name: 0.0 for node in able}
        for c in constraints:
            if c.key == HOSTNAME:
                counts = {node.labels[c.key]: _matching_pods(c, pod, node) for node in able}
                size = len(able)
            else:
                counts = dict.fromkeys((node.labels[c.key] for node in able), 0)
                size = len(counts)
                for node in self.nodes.values():
                    if has_all(node) and node.labels[c.key] in counts and counts_for(c, pod, node):
                        counts[node.labels[c.key]] += _matching_pods(c, pod, node)
            for node in able:
                raw[node.name] += counts[node.labels[c.key]] * math.log(size + 2) + c.max_skew - 1
        rounded = {name: math.floor(value + 0.5) for name, value in raw.items()}
        low, high = min(rounded.values(), default=0), max(rounded.values(), default=0)
        return [
            0 if node.name not in rounded else 100 if high == 0 else 100 * (high + low - rounded[node.name]) // high
            for node in nodes
        ]


def _normalized(raw: Sequence[int]) -> list[int]:
    top = max(raw, default=0)
    return [100 * value // top if top else value for value in raw]


def _reversed(raw: Sequence[int]) -> list[int]:
    top = max(raw, default=0)
    return [100 - 100 * value // top if top else 100 for value in raw]


def _preferred_against(pod: Pod, node: Node) -> int:
    """`PreferNoSchedule` taints that the pod does not tolerate."""
    return sum(1 for taint in node.taints if _untolerated(pod, [taint], ("PreferNoSchedule",)))


def _preferred(pod: Pod, node: Node) -> int:
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(t["weight"] for t in terms if _node_term_holds(t["preference"], node))


def _allocation(pod: Pod, node: Node, scoring: str) -> int:
    """
    Mean share of the resources that stays free (LeastAllocated) or is taken (MostAllocated), in whole percents.

    An extended resource has no say for a pod that asks for none of it.
    """
    total = weights = 0
    for name, weight in SCORINGS[scoring].items():
        room = node.allocatable.get(name, 0)
        if room == 0 or (name not in ("cpu", "memory") and not pod.scored.get(name)):
            continue
        weights += weight
        taken = node.scored[name] + pod.scored.get(name, 0)
        if scoring == "LeastAllocated":
            total += weight * ((room - taken) * 100 // room) if taken <= room else 0
        else:
            total += weight * (min(taken, room) * 100 // room)
    return total // weights if weights else 0


def _balance(pod: Pod, node: Node) -> int:
    """BalancedAllocation: the closer the shares of cpu and memory, the better; no say for pods that ask for neither."""
    if not any(pod.asks.get(name) for name in ("cpu", "memory")):
        return 0
    shares = [
        min(1.0, (node.used[name] + pod.asks.get(name, 0)) / node.allocatable[name])
        for name in ("cpu", "memory")
        if node.allocatable.get(name)
    ]
    return int((1 - (abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0)) * 100)


# The judge's questions


def replay(case: Json, placement: Mapping[str, str], order: Order | None = None) -> Refusal | None:
    """
    The first pod that a filter refuses when the pods go to their nodes one by one, or None.

    The order is that of the placement where none is given. A pod of the gang that is not placed, a node that
    does not exist and a pod that is not of the gang are refusals too.
    """
    cluster = Cluster(case)
    names = list(placement) if order is None else list(order)
    for name in cluster.pods:
        if names.count(name) != 1:
            return Refusal(name, placement.get(name), f"placed {names.count(name)} times")
    for name in names:
        if name not in cluster.pods:
            return Refusal(name, placement.get(name), "no such pod")
        node = placement.get(name)
        if node is None or node not in cluster.nodes:
            return Refusal(name, node, "no such node")
        why = cluster.refusal(cluster.pods[name], node)
        if why is not None:
            return Refusal(name, node, why)
        cluster.nodes[node].add(cluster.pods[name])
    return None


def run(case: Json, order: Order | None = None, scoring: str = "LeastAllocated", seed: int = 0) -> Outcome:
    """
    Where the scheduler puts the pods when it takes them in this order; the best node wins, equals by lot.

    Pods that find no node are tried again after the others, until a round places none: their number can only
    shrink with each round, as where a pod waits for the one it wants to be near.
    """
    return run_on(Cluster(case), order, scoring, seed)


def run_on(cluster: Cluster, order: Order | None, scoring: str, seed: int) -> Outcome:
    """The same on a cluster that was read; the pods are on it afterwards."""
    lot = random.Random(seed)
    waiting = list(cluster.pods) if order is None else list(order)
    placed: dict[str, str] = {}
    while waiting:
        left = []
        for name in waiting:
            pod = cluster.pods[name]
            nodes = [node for node, why in cluster.refusals(pod) if why is None]
            if not nodes:
                left.append(name)
                continue
            if len(nodes) == 1:
                node = nodes[0]
            else:
                scores = cluster.scores(pod, nodes, scoring)
                best = max(scores)
                node = lot.choice([n for n, score in zip(nodes, scores, strict=True) if score == best])
            node.add(pod)
            placed[name] = node.name
        if len(left) == len(waiting):
            break
        waiting = left
    return Outcome(placed, tuple(name for name in cluster.pods if name not in placed))


def classes(case: Json) -> tuple[tuple[str, ...], ...]:
    """The names of pods that differ in nothing but the name, in order of first appearance."""
    found: dict[str, list[str]] = {}
    for pod in case["pods"]:
        metadata = {key: value for key, value in pod["metadata"].items() if key not in ("name", "uid")}
        found.setdefault(json.dumps([metadata, pod["spec"]], sort_keys=True), []).append(pod["metadata"]["name"])
    return tuple(map(tuple, found.values()))


def largest_share(case: Json) -> dict[str, Fraction]:
    """For each pod, the largest share it asks of what is free of a resource on all nodes together."""
    cluster = Cluster(case)
    free: Counter[str] = Counter()
    for node in cluster.nodes.values():
        for name, amount in node.allocatable.items():
            free[name] += max(0, amount - node.used[name])
    return {
        pod.name: max((Fraction(amount, max(1, free[r])) for r, amount in pod.asks.items()), default=Fraction(0))
        for pod in cluster.pods.values()
    }


def orders(case: Json, shuffles: int = 2, seed: int = 0) -> dict[str, tuple[str, ...]]:
    """Orders in which the pods of a gang may reach the scheduler, by name."""
    kinds = classes(case)
    given = tuple(pod["metadata"]["name"] for pod in case["pods"])
    share = largest_share(case)
    lot = random.Random(seed)
    turns = sorted((i, k, name) for k, kind in enumerate(kinds) for i, name in enumerate(kind))
    found = {
        "given": given,
        "reversed_groups": tuple(name for kind in reversed(kinds) for name in kind),
        "decreasing_size": tuple(sorted(given, key=lambda name: -share[name])),
        "increasing_size": tuple(sorted(given, key=lambda name: share[name])),
        "interleaved": tuple(name for _, _, name in turns),
    }
    for i in range(shuffles):
        found[f"shuffled-{i}"] = tuple(lot.sample(given, len(given)))
    return found


def first_failure(
    case: Json, *, shuffles: int = 2, seeds: int = 1, scorings: Iterable[str] = tuple(SCORINGS)
) -> tuple[str, str, int, tuple[str, ...]] | None:
    """
    The first run (order, scoring, seed, pods left out) of all those tried that leaves a pod out, or None. On a cluster that
    packs, shuffled orders begin with the gang's first pod: KubeRay makes the head first, and the answer promises no more
    (docs/fit.md).
    """
    start, tried = Cluster(case), orders(case, shuffles)
    for scoring in scorings:
        for name, order in tried.items():
            if name.startswith("shuffled") and scoring != "LeastAllocated":
                order = (first := case["pods"][0]["metadata"]["name"], *(pod for pod in order if pod != first))
            for seed in range(seeds):
                left_out = run_on(start.anew(), order, scoring, seed).unplaced
                if left_out:
                    return name, scoring, seed, left_out
    return None
