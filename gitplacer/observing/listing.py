"""
Pods of others that a snapshot lists one by one, because a new pod may have to mind them.

Those with required anti-affinity and with host ports are always told: what they keep away is for them to say. The rest matters only
where somebody asks for it by labels, so it is told where a rule of a placed group's pods on the cluster does, or where whoever
takes the snapshot says so. All others are in `used`, as numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from gitplacer.kinds.listedpods import AntiAffinityTerm, ListedPod, TakenPort
from gitplacer.kinds.selectors import LabelRequirement, LabelSelector
from gitplacer.model.labels import NAME_KEY, Requirement
from gitplacer.model.podrules import HostPort, LabelPairs, PodTerm, Selector
from gitplacer.observing.pods import PodSeen

_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")

Namespaces = Mapping[str, Mapping[str, str]]
"""The labels of each namespace."""


def listed_pods(
    others: Iterable[PodSeen], asked: Collection[PodTerm], namespaces: Namespaces
) -> dict[str, tuple[ListedPod, ...]]:
    """The pods to list, by node, also of that where room is made for one. `asked` are rules of pods of groups."""
    looked_for = _Asked(asked, namespaces)
    found: dict[str, list[ListedPod]] = defaultdict(list)
    for pod in others:
        node = pod.node or pod.nominated
        if node and (pod.rules.repels or pod.rules.ports or looked_for(pod.namespace, pod.labels)):
            found[node].append(_written(pod))
    return {node: tuple(sorted(pods, key=_order)) for node, pods in sorted(found.items())}


class _Asked:
    """Whether any of some rules is about pods of a namespace with certain labels. Most pods have labels that others have too."""

    def __init__(self, terms: Collection[PodTerm], namespaces: Namespaces) -> None:
        self._terms = tuple(sorted(set(terms), key=repr))
        self._namespaces = namespaces
        self._known: dict[tuple[str, LabelPairs], bool] = {}

    def __call__(self, namespace: str, labels: LabelPairs) -> bool:
        if not self._terms:
            return False
        key = (namespace, labels)
        if key not in self._known:
            pairs = dict(labels)
            self._known[key] = any(
                term.selector.matches(pairs) and self._is_about(term, namespace) for term in self._terms
            )
        return self._known[key]

    def _is_about(self, term: PodTerm, namespace: str) -> bool:
        labels = {NAME_KEY: namespace, **self._namespaces.get(namespace, {})}
        return namespace in term.namespaces or term.namespace_selector.matches(labels)


def _order(pod: ListedPod) -> str:
    return pod.model_dump_json(exclude_defaults=True)


def _written(pod: PodSeen) -> ListedPod:
    return ListedPod(
        namespace=pod.namespace,
        labels=dict(pod.labels),
        anti_affinity=tuple(_term(term, pod.namespace) for term in pod.rules.repels),
        host_ports=tuple(sorted((_port(port) for port in pod.rules.ports), key=repr)),
        terminating=pod.terminating,
    )


def _term(term: PodTerm, namespace: str) -> AntiAffinityTerm:
    """A term as it stands in the pod: one about its own namespace alone names none."""
    own = term.namespaces == (namespace,) and term.namespace_selector.requirements is None
    return AntiAffinityTerm(
        topology_key=term.topology_key,
        label_selector=_selector(term.selector),
        namespaces=() if own else term.namespaces,
        namespace_selector=_selector(term.namespace_selector),
    )


def _selector(selector: Selector) -> LabelSelector | None:
    return None if selector.requirements is None else written_selector(selector.requirements)


def written_selector(requirements: Iterable[Requirement]) -> LabelSelector | None:
    """
    Conditions on labels as our kinds write them. API servers take values that no label can have: one of several says nothing, and where
    there is no other, nothing is selected (None).
    """
    found = []
    for item in requirements:
        values = tuple(value for value in item.values if _VALUE.fullmatch(value))
        if item.values and not values:
            if item.operator == "In":
                return None
            continue
        found.append(LabelRequirement.model_validate({"key": item.key, "operator": item.operator, "values": values}))
    return LabelSelector(match_expressions=tuple(found))


def _port(port: HostPort) -> TakenPort:
    return TakenPort(port=port.port, protocol=port.protocol, ip=port.ip)  # type: ignore[arg-type]


def selector_term(text: str) -> PodTerm:
    """Pods of any namespace by labels, written as for kubectl: `app=cache,tier!=test,gpu,!old`. Raises ValueError."""
    requirements = tuple(_requirement(part.strip()) for part in text.split(","))
    return PodTerm("", Selector(requirements), namespace_selector=Selector(()))


def _requirement(part: str) -> Requirement:
    match = re.fullmatch(r"(?P<not>!)?(?P<key>[^!=\s]+)(\s*(?P<operator>!=|==?)\s*(?P<value>[^!=\s]*))?", part)
    if match is None or (match["not"] and match["operator"]):
        raise ValueError(f'"{part}" is not a condition such as app=cache, app!=cache, app or !app')
    operator = {"!=": "NotIn", "": "DoesNotExist" if match["not"] else "Exists"}.get(match["operator"] or "", "In")
    values = (match["value"],) if match["operator"] else ()
    written = LabelRequirement.model_validate({"key": match["key"], "operator": operator, "values": values})
    return Requirement(written.key, written.operator, written.values)
