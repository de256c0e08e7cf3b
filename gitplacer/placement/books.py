"""
The ledgers of all clusters, and the questions that are asked of them together.

What is free on each cluster in all is kept beside them, as one table, so that most clusters can be ruled out or
ranked without a look at their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Shortfall, pack_what_fits
from gitplacer.placement.stage import Tight

CROWDED = 0.4
"""The share of what is free from which on it counts as much that it is promised."""

MANY = 20
"""Pods to come; below, every order is soon tried."""


class Books:
    """One ledger for each cluster that has a snapshot."""

    def __init__(self, ledgers: Mapping[str, Ledger], columns: Columns) -> None:
        self._ledgers = dict(sorted(ledgers.items()))
        self._columns = columns
        self._index = {name: index for index, name in enumerate(self._ledgers)}
        self._totals = np.zeros((len(self._ledgers), len(columns)), dtype=np.int64)
        self._seen = np.array([ledger.seen_totals() for ledger in self._ledgers.values()]).reshape(self._totals.shape)
        for name in self._ledgers:
            self._total(name)
        self._fits: dict[tuple[Gang, str, bool, int], Packing | Shortfall] = {}

    def copy(self) -> Books:
        """Books that can be written to without touching these."""
        return Books({name: ledger.copy() for name, ledger in self._ledgers.items()}, self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._ledgers

    def __getitem__(self, name: str) -> Ledger:
        return self._ledgers[name]

    def fit(self, gang: Gang, name: str, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits a cluster as its ledger stands. The same question is answered once."""
        ledger = self._ledgers[name]
        key = (gang, name, scale_up, ledger.version)
        if key not in self._fits:
            self._fits[key] = ledger.fit(gang, scale_up=scale_up)
        return self._fits[key]

    def fitting(self, name: str, packing: Packing) -> Finding:
        """A packing as the reason for taking a cluster."""
        if not packing.opened and not packing.on_promised:
            return Finding(code=Reason.FITS)
        return Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=packing.new_nodes(self._ledgers[name].nodes))

    def tight(self, gang: Gang, name: str) -> Tight | None:
        """An order in which a gang that fits a cluster, or one that was promised room there, is not placed whole."""
        return self._ledgers[name].tight(gang)

    def proves(self, gang: Gang, name: str) -> bool:
        """Whether it is known without a trial that there is no such order."""
        return self._ledgers[name].proves(gang)

    def reserve(self, group_id: str, name: str, packing: Packing, gang: Gang, *, sure: bool) -> None:
        """Take the room of a packing that `fit` found for a gang; `sure`: in every order."""
        self._ledgers[name].reserve(group_id, packing, gang, sure=sure)
        self._total(name)

    def replace(self, name: str, ledger: Ledger) -> None:
        """Take another ledger for a cluster."""
        self._ledgers[name] = ledger
        self._total(name)

    def admit(self, group_id: str, name: str, gang: Gang) -> None:
        """Place a group whatever the room: it takes what there is."""
        if name in self._ledgers:
            self.reserve(group_id, name, pack_what_fits(self._ledgers[name].room(), gang), gang, sure=False)

    def release(self, group_id: str, name: str) -> None:
        """Give back what a group was promised on a cluster."""
        if name in self._ledgers:
            self._ledgers[name].release(group_id)
            self._total(name)

    def has_total_room(self, gang: Gang, name: str) -> bool:
        """
        The cheap test: whether a cluster has as much of everything, in all, as a gang asks. In floats, because a count
        may be anything; so it errs, if at all, towards a closer look.
        """
        need = np.zeros(len(self._columns))
        for pods in gang:
            need += self._columns.asked(pods.shape) * float(pods.count)
        return bool((self._totals[self._index[name]] >= need * (1 - 1e-9)).all())

    def crowded(self, gang: Gang) -> dict[str, bool]:
        """
        For each cluster with a ledger, whether much of what a gang asks for there is promised already, to many pods that are still
        to come. They come in any order, so that what is left may lie where the gang cannot use it, and to find out takes long.
        """
        asked = np.zeros(len(self._columns), dtype=np.bool_)
        for pods in gang:
            asked |= self._columns.asked(pods.shape) > 0
        much = self._totals[:, asked] < self._seen[:, asked] * (1 - CROWDED)
        crowded = much.any(axis=1)
        return {
            name: bool(crowded[index]) and self._ledgers[name].pods_coming > MANY for name, index in self._index.items()
        }

    def devices_left(self, gang: Gang, names: Iterable[str]) -> dict[str, int]:
        """For each cluster with a ledger, how many of the devices that a gang asks for are free on it."""
        asked = np.zeros(len(self._columns), dtype=np.bool_)
        for pods in gang:
            asked |= self._columns.asked(pods.shape) > 0
        left = self._totals[:, asked & self._columns.devices].sum(axis=1)
        return {name: int(left[self._index[name]]) for name in names if name in self._index}

    def _total(self, name: str) -> None:
        self._totals[self._index[name]] = self._ledgers[name].totals()
