"""
The ledgers of all clusters, and the questions that are asked of them together.

What is free on each cluster in all is kept beside them, as one table, so that most clusters can be ruled out or
ranked without a look at their nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Shortfall, pack_what_fits


class Books:
    """One ledger for each cluster that has a snapshot."""

    def __init__(self, ledgers: Mapping[str, Ledger], columns: Columns) -> None:
        self._ledgers = dict(sorted(ledgers.items()))
        self._columns = columns
        self._index = {name: index for index, name in enumerate(self._ledgers)}
        self._totals = np.zeros((len(self._ledgers), len(columns)), dtype=np.int64)
        for name in self._ledgers:
            self._total(name)
        self._fits: WeakKeyDictionary[Ledger, dict[tuple[Gang, bool, int], Packing | Shortfall]] = WeakKeyDictionary()

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
        known, key = self._fits.setdefault(ledger, {}), (gang, scale_up, ledger.version)
        if key not in known:
            known[key] = ledger.fit(gang, scale_up=scale_up)
        return known[key]

    def fitting(self, name: str, packing: Packing) -> Finding:
        """A packing as the reason for taking a cluster."""
        if not packing.opened and not packing.on_promised:
            return Finding(code=Reason.FITS)
        return Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=packing.new_nodes(self._ledgers[name].nodes))

    def reserve(self, group_id: str, name: str, packing: Packing) -> None:
        """Take the room of a packing that `fit` found."""
        self._ledgers[name].reserve(group_id, packing)
        self._total(name)

    def replace(self, name: str, ledger: Ledger) -> None:
        """Take another ledger for a cluster."""
        self._ledgers[name] = ledger
        self._total(name)

    def admit(self, group_id: str, name: str, gang: Gang) -> None:
        """Place a group whatever the room: it takes what there is."""
        if name in self._ledgers:
            self.reserve(group_id, name, pack_what_fits(self._ledgers[name].room(), gang))

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

    def devices_left(self, gang: Gang, names: Iterable[str]) -> dict[str, int]:
        """For each cluster with a ledger, how many of the devices that a gang asks for are free on it."""
        asked = np.zeros(len(self._columns), dtype=np.bool_)
        for pods in gang:
            asked |= self._columns.asked(pods.shape) > 0
        left = self._totals[:, asked & self._columns.devices].sum(axis=1)
        return {name: int(left[self._index[name]]) for name in names if name in self._index}

    def _total(self, name: str) -> None:
        self._totals[self._index[name]] = self._ledgers[name].totals()
