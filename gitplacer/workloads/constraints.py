"""
Where a pod may run, as its spec says: which nodes, beside which pods, on which ports.

The same reading serves manifests, where what is wrong becomes a problem with its place, and pods of a live cluster. Values
are as a person writes them, so the API server's defaults that matter to a scheduler are filled in here (a host-network port
is a host port). What the API server refuses is reported, and taken for the stricter of what it may mean.
Source: kubernetes 1.34 pkg/apis/core/v1/defaults.go, pkg/apis/core/validation (validateTopologySpreadConstraints,
validatePodAffinityTerm, ValidateNodeSelectorRequirement), apimachinery labels.NewRequirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from gitplacer.documents import Cursor
from gitplacer.model.labels import KEY_HINT, VALUE_HINT, Requirement, Toleration, is_label_key, is_label_value
from gitplacer.model.podrules import NOTHING_SELECTED, HostPort, PodTerm, Selector, SpreadConstraint
from gitplacer.model.workload import NodeTerm

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
POLICIES = ("Honor", "Ignore")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")

NamedPorts = tuple[tuple[str, int], ...]
"""Ports of a container by name."""


def constraints(spec: Cursor, added_ports: NamedPorts = ()) -> dict[str, Any]:
    """
    The fields of a PodShape that a pod spec tells directly; those that it does not have are left out. `added_ports` are those,
    by name, that a controller gives the first container where it has none of the name.
    """
    found: dict[str, Any] = {}
    if spec.has("affinity"):
        affinity = spec.mapping("affinity")
        nodes = affinity.mapping("nodeAffinity")
        found["affinity"] = _required_nodes(nodes)
        found["preferred_nodes"] = tuple(_preferred_nodes(nodes))
        found["pod_affinity"] = _required_pods(affinity.mapping("podAffinity"))
        found["pod_anti_affinity"] = _required_pods(affinity.mapping("podAntiAffinity"))
        found["preferred_pods"] = tuple(_preferred_pods(affinity))
    if spec.has("topologySpreadConstraints"):
        found["spread"] = tuple(_spread(spec))
    if ports := tuple(_ports(spec, added_ports)):
        found["ports"] = ports
    return found


def tolerations(spec: Cursor) -> Iterator[Toleration]:
    """The tolerations of a pod. How long they last does not matter to a scheduler."""
    for item in spec.items("tolerations"):
        key, value, effect = item.text("key"), item.text("value"), item.text("effect")
        operator = item.text("operator") or "Equal"
        if operator not in ("Equal", "Exists"):
            item.report("InvalidValue", f'unknown operator "{operator}"', "Equal or Exists", key="operator")
        elif not key and operator != "Exists":
            item.report(
                "InvalidValue", "a toleration without key needs operator Exists", "add key, or operator: Exists"
            )
        elif value and operator == "Exists":
            item.report("InvalidValue", "operator Exists takes no value", "remove value, or use Equal", key="value")
        if effect and effect not in EFFECTS:
            item.report("InvalidValue", f'unknown effect "{effect}"', f"one of {', '.join(EFFECTS)}", key="effect")
        yield Toleration(key, operator, value, effect)


# -- which nodes --------------------------------------------------------------------------------------------------


def _required_nodes(node_affinity: Cursor) -> tuple[NodeTerm, ...] | None:
    if not node_affinity.has(REQUIRED):
        return None
    required = node_affinity.mapping(REQUIRED)
    terms = required.items("nodeSelectorTerms")
    if not terms:
        required.report("MissingField", "nodeSelectorTerms is missing or empty", "give at least one term")
    return tuple(map(node_term, terms))


def _preferred_nodes(node_affinity: Cursor) -> Iterator[tuple[int, NodeTerm]]:
    for item in node_affinity.items(PREFERRED):
        weight = item.integer("weight") or 0
        if weight:
            yield weight, node_term(item.mapping("preference"))


def node_term(item: Cursor) -> NodeTerm:
    """One term of node affinity."""
    return NodeTerm(
        tuple(map(_label_requirement, item.items("matchExpressions"))) if item.has("matchExpressions") else (),
        tuple(map(_field_requirement, item.items("matchFields"))) if item.has("matchFields") else (),
    )


def requirement(item: Cursor, operators: tuple[str, ...] = OPERATORS) -> Requirement:
    """One entry of matchExpressions. Operator and number of values are checked as the API server does."""
    key, operator, values = item.text("key"), item.text("operator"), item.texts("values")
    if not key:
        item.report("MissingField", "key is missing", "add key: the label to look at")
    if operator not in operators:
        said = f'unknown operator "{operator}"' if operator else "operator is missing"
        item.report("InvalidValue", said, f"one of {', '.join(operators)}", key="operator" if operator else None)
    elif operator in ("In", "NotIn") and not values:
        item.report("InvalidValue", f"{operator} needs values", "add values: […]")
    elif operator in ("Exists", "DoesNotExist") and values:
        item.report("InvalidValue", f"{operator} takes no values", "remove values", key="values")
    elif operator in ("Gt", "Lt") and not (len(values) == 1 and _is_integer(values[0])):
        item.report("InvalidValue", f"{operator} needs exactly one integer, in quotes", 'values: ["4"]')
    return Requirement(key, operator if operator in operators else "Exists", values)


def _label_requirement(item: Cursor, operators: tuple[str, ...] = OPERATORS) -> Requirement:
    """
    The same about labels as they can be. For any other kube-scheduler takes the whole rule for a broken one, and the pod never has a
    node, also where the rule would hold or is only preferred.
    """
    found = requirement(item, operators)
    if found.key:
        _check_key(item, found.key, "key")
    if found.operator not in ("Exists", "DoesNotExist"):
        _check_values(item, found.values, "values")
    return found


def _check_key(at: Cursor, text: str, key: str) -> None:
    if not is_label_key(text):
        at.report("InvalidLabel", f'"{text[:100]}" is no key of a label', KEY_HINT, key=key)


def _check_values(at: Cursor, values: Iterable[str], key: str) -> None:
    for value in values:
        if not is_label_value(value):
            at.report("InvalidLabel", f'"{value[:100]}" is no value of a label', VALUE_HINT, key=key)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").removeprefix("+").isdigit()


def _field_requirement(item: Cursor) -> Requirement:
    found = requirement(item, ("In", "NotIn"))
    if found.key and found.key != "metadata.name":
        item.report("InvalidValue", f'unknown field "{found.key}"', "matchFields knows metadata.name", key="key")
    elif len(found.values) > 1:
        item.report("InvalidValue", "matchFields takes one value", "use several terms instead", key="values")
    return found


# -- beside which pods --------------------------------------------------------------------------------------------


def selector_of(owner: Cursor, key: str) -> Selector:
    """The label selector under a key; one that is not there selects nothing."""
    if not owner.has(key):
        return NOTHING_SELECTED
    value = owner.mapping(key)
    labels = value.labels("matchLabels")
    for name, text in labels.items():
        _check_key(value.mapping("matchLabels"), name, name)
        _check_values(value.mapping("matchLabels"), (text,), name)
    return Selector(
        (
            *(Requirement(name, "In", (text,)) for name, text in sorted(labels.items())),
            *(_label_requirement(item, _SELECTOR_OPERATORS) for item in value.items("matchExpressions")),
        )
    )


def _spread(spec: Cursor) -> Iterator[SpreadConstraint]:
    seen: set[tuple[str, str]] = set()
    for item in spec.items("topologySpreadConstraints"):
        _check_spread(item)
        kind = item.text("topologyKey"), item.text("whenUnsatisfiable")
        if kind in seen:
            item.report("InvalidValue", f"a second constraint over {kind[0]} with {kind[1]}", "let them be one")
        seen.add(kind)
        yield SpreadConstraint(
            topology_key=_topology_key(item),
            max_skew=item.integer("maxSkew") or 1,
            selector=selector_of(item, "labelSelector"),
            hard=item.text("whenUnsatisfiable") != "ScheduleAnyway",
            min_domains=item.integer("minDomains") or 1,
            honours_affinity=item.text("nodeAffinityPolicy") != "Ignore",
            honours_taints=item.text("nodeTaintsPolicy") == "Honor",
            match_keys=item.texts("matchLabelKeys"),
        )


def _check_spread(item: Cursor) -> None:
    action, skew, least = item.text("whenUnsatisfiable"), item.integer("maxSkew"), item.integer("minDomains")
    if not item.has("whenUnsatisfiable"):
        item.report("MissingField", "whenUnsatisfiable is missing", "DoNotSchedule or ScheduleAnyway")
    elif action not in ACTIONS:
        hint = " or ".join(ACTIONS)
        item.report("InvalidValue", f'unknown whenUnsatisfiable "{action}"', hint, key="whenUnsatisfiable")
    if not item.has("maxSkew"):
        item.report("MissingField", "maxSkew is missing", "1 or more: by how many pods domains may differ")
    elif skew is not None and skew < 1:
        item.report("InvalidValue", f"maxSkew is {skew}", "1 or more", key="maxSkew")
    if least is not None and (least < 1 or action == "ScheduleAnyway"):
        said = f"minDomains is {least}" if least < 1 else "minDomains with ScheduleAnyway"
        item.report("InvalidValue", said, "1 or more, and only with DoNotSchedule", key="minDomains")
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if item.text(key) not in ("", *POLICIES):
            item.report("InvalidValue", f'unknown {key} "{item.text(key)}"', " or ".join(POLICIES), key=key)
    _check_label_keys(item, "matchLabelKeys")


def _check_label_keys(item: Cursor, *keys: str) -> None:
    """Keys whose values are the pod's own: they narrow a labelSelector, and none is in two lists."""
    seen: set[str] = set()
    for key in keys:
        labels = item.texts(key)
        if labels and not item.has("labelSelector"):
            item.report(
                "InvalidValue", f"{key} without a labelSelector", "add labelSelector: {} or what it narrows", key=key
            )
        for label in labels:
            _check_key(item, label, key)
        if twice := seen.intersection(labels):
            item.report("InvalidValue", f"{min(twice)} is in both {' and '.join(keys)}", "leave it in one", key=key)
        seen.update(labels)


def _topology_key(item: Cursor) -> str:
    key = item.text("topologyKey")
    if not key:
        hint = "add topologyKey: the label of nodes whose values are the domains"
        item.report("MissingField", "topologyKey is missing", hint)
    else:
        _check_key(item, key, "topologyKey")
    return key


def _required_pods(affinity: Cursor) -> tuple[PodTerm, ...]:
    return tuple(map(pod_term, affinity.items(REQUIRED))) if affinity.has(REQUIRED) else ()


def _preferred_pods(affinity: Cursor) -> Iterator[tuple[int, PodTerm]]:
    for key, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        for item in affinity.mapping(key).items(PREFERRED):
            weight = item.integer("weight") or 0
            if weight:
                yield sign * weight, pod_term(item.mapping("podAffinityTerm"))


def pod_term(item: Cursor) -> PodTerm:
    """A term without namespaces and without namespaceSelector looks at the pod's own namespace."""
    names = item.texts("namespaces")
    _check_label_keys(item, "matchLabelKeys", "mismatchLabelKeys")
    return PodTerm(
        topology_key=_topology_key(item),
        selector=selector_of(item, "labelSelector"),
        namespaces=tuple(sorted(set(names))),
        namespace_selector=selector_of(item, "namespaceSelector"),
        own_namespace=not names and not item.has("namespaceSelector"),
        match_keys=item.texts("matchLabelKeys"),
        mismatch_keys=item.texts("mismatchLabelKeys"),
    )


# -- on which ports -----------------------------------------------------------------------------------------------


def _ports(spec: Cursor, added: NamedPorts) -> Iterator[HostPort]:
    """
    The ports that the pod takes on its node: those of containers that keep running. On the host's network every port is one
    (the API server fills them in), also one that nobody wrote and a controller adds.
    """
    shared = spec.boolean("hostNetwork")
    sidecars = (
        [init for init in spec.items("initContainers") if init.text("restartPolicy") == "Always"]
        if spec.has("initContainers")
        else []
    )
    for container in (*sidecars, *spec.items("containers")):
        for item in container.items("ports") if container.has("ports") else ():
            if not shared and not item.has("hostPort"):
                continue
            port = item.integer("hostPort") or (item.integer("containerPort") if shared else 0) or 0
            if port > 0:
                yield HostPort(port, item.text("protocol") or "TCP", item.text("hostIP") or "0.0.0.0")
    if shared and added and (containers := spec.items("containers")):
        first = containers[0]
        named = {item.text("name") for item in first.items("ports")} if first.has("ports") else set()
        yield from (HostPort(port) for name, port in added if name not in named)
