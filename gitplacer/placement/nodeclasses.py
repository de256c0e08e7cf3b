"""
The distinct nodes of a fleet, and which of them admit a pod: apart from how much is free on them.

Most nodes of a cluster are like others, and most clusters have nodes like those of other clusters. So what kube-scheduler's filters say of a pod is
asked once for each sort of node that the pod can tell apart, and holds for all nodes of that sort.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gitplacer.model.workload import PodShape
from gitplacer.placement.nodes import Mask
from gitplacer.scheduler.filters import asks_for_a_name, label_keys, obstacle
from gitplacer.scheduler.objects import Node as NodeShape

Classes = np.ndarray[Any, np.dtype[np.int32]]
"""For each node shape the number of its class."""


class NodeClasses:
    """
    The distinct node shapes of a fleet, and which of them admit a pod.

    A pod looks at taints, cordon, readiness and the labels that it names. Shapes that agree in these are one class to
    it, so a filter is asked once for each class, though every cluster has zones and labels of its own.
    """

    def __init__(self, shapes: Sequence[NodeShape]) -> None:
        self._shapes = shapes
        self._by_label: dict[str, Classes] = {}
        self._by_keys: dict[tuple[str, ...], tuple[Classes, list[int]]] = {}
        self._judged: dict[PodShape, Mask] = {}
        self._same: dict[bytes, Mask] = {}
        self._unnamed: dict[PodShape, Mask | None] = {}
        self._by_taints = _numbered((shape.taints, shape.unschedulable, shape.ready) for shape in shapes)

    def admits(self, pod: PodShape) -> Mask:
        """For each shape, whether a pod may be on such a node, apart from room. Equal answers, of which there are few, are one object."""
        if pod not in self._judged:
            found = self._judge(pod)
            self._judged[pod] = self._same.setdefault(found.tobytes(), found)
        return self._judged[pod]

    def admits_unnamed(self, pod: PodShape) -> Mask | None:
        """The same of a pod that does not ask for a node by name; None of others, to which nodes of one shape are not alike."""
        if pod not in self._unnamed:
            self._unnamed[pod] = None if asks_for_a_name(pod) else self.admits(pod)
        return self._unnamed[pod]

    def _judge(self, pod: PodShape) -> Mask:
        class_of, examples = self._classes(label_keys(pod))
        judged = np.array([obstacle(pod, self._shapes[example]) is None for example in examples], dtype=np.bool_)
        return judged[class_of]

    def _classes(self, keys: tuple[str, ...]) -> tuple[Classes, list[int]]:
        """For each shape its class by some labels, and for each class a shape that is in it."""
        if keys not in self._by_keys:
            class_of = self._by_taints
            for key in keys:
                values = self._values(key)
                # Numbers are made dense again after each label, so that their products never grow large.
                wide = class_of.astype(np.int64) * (int(values.max(initial=0)) + 1) + values
                class_of = np.unique(wide, return_inverse=True)[1].astype(np.int32)
            self._by_keys[keys] = class_of, np.unique(class_of, return_index=True)[1].tolist()
        return self._by_keys[keys]

    def _values(self, key: str) -> Classes:
        """For each shape a number for its value of a label; to have none is a value too."""
        if key not in self._by_label:
            values = (next((value for name, value in shape.labels if name == key), None) for shape in self._shapes)
            self._by_label[key] = _numbered(values)
        return self._by_label[key]


def _numbered(values: Iterable[object]) -> Classes:
    """Equal values as equal numbers."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int32)
