"""
The nodes of the whole fleet as one table: which clusters may have room for a gang, without a closer look at any.

The places of a cluster for pods of one shape are the sum over its nodes of how many of them each takes, if there are no
other pods. A gang with more pods of a shape than places does not fit, however it is packed, so most clusters of a busy
fleet are ruled out by one comparison. A cluster that is not ruled out has to be looked at: pods of different shapes
compete for the same nodes, which nothing here knows of.

Places are kept for each shape and counted anew only where a ledger has changed since: a few clusters one by one, many
by one pass over the whole table. A reservation costs the rows of its own cluster.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gitplacer.model.workload import Gang, PodShape
from gitplacer.placement.filters import NodeShape, asks_for_a_name, label_keys, obstacle
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Amounts, Columns, Mask

Counts = np.ndarray[Any, np.dtype[np.int64]]
Classes = np.ndarray[Any, np.dtype[np.int32]]

_MOST = 2**31 - 1
"""As many pods as a node is counted for. Sums over all nodes stay far below 2⁶³ whatever the quantities say."""
_FEW = 8
"""Where less than one cluster in so many is out of date, they are counted one by one."""


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
        self._by_taints = _numbered((shape.taints, shape.unschedulable, shape.ready) for shape in shapes)

    def admits(self, pod: PodShape) -> Mask:
        """For each shape, whether a pod may be on such a node, apart from room."""
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


@dataclass(slots=True)
class _Places:
    """The places for one shape on each cluster, and the version of the cluster's rows at which they were counted."""

    counts: Counts
    versions: Counts


class Survey:
    """
    One row of free amounts for each node of the fleet, those of a cluster together, in columns by resource.

    Whoever writes to a ledger tells `update`.
    """

    def __init__(self, ledgers: Mapping[str, Ledger], columns: Columns) -> None:
        self._columns = columns
        self._index = {name: index for index, name in enumerate(ledgers)}
        sizes = np.array([len(ledger.nodes.machines) for ledger in ledgers.values()], dtype=np.int64)
        self._ends: Counts = np.cumsum(sizes)
        self._starts: Counts = self._ends - sizes
        self._inhabited = np.flatnonzero(sizes)
        numbers: dict[NodeShape, int] = {}
        self._class_of: Classes = np.zeros(int(sizes.sum()), dtype=np.int32)
        self._free: Amounts = np.zeros((len(columns), int(sizes.sum())), dtype=np.int64)
        for index, ledger in enumerate(ledgers.values()):
            nodes, rows = ledger.nodes, self._rows(index)
            here = np.array([numbers.setdefault(shape, len(numbers)) for shape in nodes.shapes], dtype=np.int32)
            self._class_of[rows] = here[nodes.shape_of] if len(nodes.shape_of) else 0
            self._free[:, rows] = ledger.free_on_nodes().T
        self._classes = NodeClasses(list(numbers))
        self._totals = self._summed(np.clip(self._free, 0, None).astype(np.float64)).T
        self._versions: Counts = np.zeros(len(ledgers), dtype=np.int64)
        self._admits: dict[PodShape, Mask] = {}
        self._places: dict[PodShape, _Places] = {}

    def copy(self) -> Survey:
        """A survey that can be updated without touching this one."""
        twin = copy.copy(self)
        twin._free = self._free.copy()
        twin._totals = self._totals.copy()
        twin._versions = self._versions.copy()
        twin._places = {shape: _Places(p.counts.copy(), p.versions.copy()) for shape, p in self._places.items()}
        return twin

    def update(self, name: str, ledger: Ledger) -> None:
        """Take over what is free on a cluster now."""
        index = self._index[name]
        free = ledger.free_on_nodes()
        self._free[:, self._rows(index)] = free.T
        self._totals[index] = np.clip(free, 0, None).sum(axis=0, dtype=np.float64)
        self._versions[index] += 1

    def not_ruled_out(self, gang: Gang, names: Iterable[str]) -> list[str]:
        """
        Of some clusters those that may have room for a gang, in the given order: as much of everything, in all, as it
        asks, and as many places for each shape as it has pods.
        """
        listed = list(names)
        asked = np.array([self._index[name] for name in listed], dtype=np.intp)
        counts: Counter[PodShape] = Counter()
        for pods in gang:
            counts[pods.shape] += pods.count
        # In floats, because counts and sums may be anything; so it errs, if at all, towards a closer look.
        need = np.zeros(len(self._columns))
        for shape, count in counts.items():
            need += self._columns.asked(shape) * float(count)
        open_: Mask = np.all(self._totals[asked] >= need * (1 - 1e-9), axis=1)
        for shape, count in counts.items():
            # Pods that ask for a node by name are of as many shapes as there are nodes; each is looked at where it goes.
            if count and not asks_for_a_name(shape):
                left = np.flatnonzero(open_)
                open_[left] = self.places(shape, asked[left]) >= min(count, _MOST)
        return [listed[index] for index in np.flatnonzero(open_)]

    def devices_left(self, gang: Gang, names: Iterable[str]) -> dict[str, int]:
        """For each cluster of the survey, how many of the devices that a gang asks for are free on it."""
        asked = np.zeros(len(self._columns), dtype=np.bool_)
        for pods in gang:
            asked |= self._columns.asked(pods.shape) > 0
        left = self._totals[:, asked & self._columns.devices].sum(axis=1).tolist()
        return {name: int(left[self._index[name]]) for name in names if name in self._index}

    def places(self, shape: PodShape, asked: np.ndarray[Any, np.dtype[np.intp]]) -> Counts:
        """How many pods of a shape some clusters take, if there are no others; clusters are numbered as they came."""
        known = self._places.get(shape)
        if known is None:
            never = np.full(len(self._versions), -1, dtype=np.int64)
            known = self._places[shape] = _Places(np.zeros(len(self._versions), dtype=np.int64), never)
        old = asked[known.versions[asked] != self._versions[asked]]
        if len(old) * _FEW < len(self._versions):
            for index in old.tolist():
                known.counts[index] = self._count(shape, self._rows(index)).sum()
            known.versions[old] = self._versions[old]
        else:
            known.counts[:] = self._summed(self._count(shape, slice(0, len(self._class_of))))
            known.versions[:] = self._versions
        counts: Counts = known.counts[asked]
        return counts

    def _rows(self, index: int) -> slice:
        return slice(int(self._starts[index]), int(self._ends[index]))

    def _count(self, shape: PodShape, rows: slice) -> Counts:
        """How many pods of a shape each node takes: 0 where a filter forbids it or it is overcommitted."""
        if shape not in self._admits:
            self._admits[shape] = self._classes.admits(shape)
        request = self._columns.asked(shape)
        columns = np.flatnonzero(request).tolist()
        fits: Counts = self._free[columns[0], rows] // int(request[columns[0]])
        for column in columns[1:]:
            free, each = self._free[column, rows], int(request[column])
            np.minimum(fits, free if each == 1 else free // each, out=fits)
        np.clip(fits, 0, _MOST, out=fits)
        fits *= self._admits[shape].take(self._class_of[rows])
        return fits

    def _summed(self, by_node: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The sums over the nodes of each cluster."""
        summed = np.zeros((*by_node.shape[:-1], len(self._starts)), dtype=by_node.dtype)
        if len(self._inhabited):
            summed[..., self._inhabited] = np.add.reduceat(by_node, self._starts[self._inhabited], axis=-1)
        return summed
