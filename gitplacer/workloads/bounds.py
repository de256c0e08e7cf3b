"""
How much one object may be, so that no one's object takes the time of everybody else's.

What a fit costs grows with the different pods of a group, with what each asks of its node, and with the product of both.
The bounds are far beyond what anybody runs; what is beyond them is an error of that object alone, told where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.model.workload import PodShape
from gitplacer.workloads.facts import ObjectFacts

MAX_ROLES = 100
"""Kinds of pods of one object: worker groups and a head, for example. Large Ray clusters have ten."""
MAX_CONTAINERS = 100
"""Containers and init containers of one pod. A whole node runs 110 pods."""
MAX_VOLUMES = 250
"""Volumes of one pod. A node attaches some dozens."""
MAX_CONSTRAINTS = 100
"""Of each sort that a pod has for its node: conditions on nodes, on other pods, spread constraints, tolerations, labels."""
MAX_VALUES = 2000
"""Values in all of a pod's affinity: a list of hosts by name may be long."""
MAX_PORTS = 500
"""Ports of one pod that are taken on its node."""
MAX_RESOURCES = 100
"""Resources with different names that one pod asks for. A node offers a dozen."""


def bounded_pod(spec: Cursor, containers: int, shape: PodShape) -> PodShape:
    """
    The shape of a pod. Each sort of thing that it has more of than a pod may is reported as TooManyParts; then nothing but its size
    is kept, because held groups are looked at too.
    """
    over = [row for row in _counts(spec, containers, shape) if row[2] > row[3]]
    for key, what, count, most in over:
        message = f"a pod has {count:,} {what}; one may have {most}"
        spec.report("TooManyParts", message, "make several objects of it, or leave out what no node needs", key=key)
    return PodShape(shape.requests, scored_cpu=shape.scored_cpu, scored_memory=shape.scored_memory) if over else shape


def _counts(spec: Cursor, containers: int, shape: PodShape) -> Iterator[tuple[str, str, int, int]]:
    """Where it is written, what it is, how many there are, and how many there may be."""
    yield "containers", "containers", containers, MAX_CONTAINERS
    yield "containers", "resources", len(shape.requests), MAX_RESOURCES
    yield "containers", "ports of its node", len(shape.ports), MAX_PORTS
    yield "volumes", "volumes", len(spec.items("volumes")) if spec.has("volumes") else 0, MAX_VOLUMES
    yield "nodeSelector", "labels in nodeSelector", len(shape.node_selector), MAX_CONSTRAINTS
    yield "tolerations", "tolerations", len(shape.tolerations), MAX_CONSTRAINTS
    yield "topologySpreadConstraints", "spread constraints", len(shape.spread), MAX_CONSTRAINTS
    nodes = [
        (*term.labels, *term.fields) for term in (*(shape.affinity or ()), *(term for _, term in shape.preferred_nodes))
    ]
    pods = [
        (*(term.selector.requirements or ()), *(term.namespace_selector.requirements or ()))
        for term in (*shape.pod_affinity, *shape.pod_anti_affinity, *(term for _, term in shape.preferred_pods))
    ]
    yield "affinity", "conditions on nodes", sum(max(1, len(term)) for term in nodes), MAX_CONSTRAINTS
    yield "affinity", "conditions on other pods", sum(max(1, len(term)) for term in pods), MAX_CONSTRAINTS
    values = sum(len(requirement.values) for term in (*nodes, *pods) for requirement in term)
    yield "affinity", "values in its affinity", values, MAX_VALUES


def bounded_object(root: Cursor, facts: ObjectFacts) -> ObjectFacts:
    """The facts of an object. More roles than one may have are reported as TooManyParts, and the others left out."""
    if len(facts.roles) <= MAX_ROLES:
        return facts
    message = f"an object has {len(facts.roles):,} kinds of pods; one may have {MAX_ROLES}"
    root.report("TooManyParts", message, "let those that are alike be one, or make several objects of it", key="spec")
    return facts.but(roles=facts.roles[:MAX_ROLES])
