"""
What keeps an autoscaler from adding what a gang lacks: limits that are reached, and node groups that are exhausted.

Only limits on machines that would take the pod are told, because only these are worth raising.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gitplacer.machines import LimitKind
from gitplacer.model.decision import ScaleUpLimit
from gitplacer.model.workload import PodShape
from gitplacer.placement.nodes import Amounts, Nodes


def in_the_way(nodes: Nodes, pod: PodShape, row: Amounts, left: Mapping[str, int]) -> tuple[ScaleUpLimit, ...]:
    """The limits that stop machines which would take a pod, with what is left of each; sorted."""
    asked = np.flatnonzero(row)
    found: set[ScaleUpLimit] = set()
    for key, type_ in nodes.types.items():
        if (nodes.type_row[key][asked] < row[asked]).any() or not nodes.type_admits(pod, key):
            continue
        for name, amount in type_.draws:
            limit = nodes.catalogue.limits[name]
            if left[name] < amount and limit.kind is not LimitKind.MAX:
                found.add(
                    ScaleUpLimit(limit.kind.value, limit.subject, limit.resource, limit.most, limit.code, limit.until)
                )
    return tuple(sorted(found))
