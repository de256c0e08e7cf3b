"""
The ledgers of all clusters, and the questions that are asked of them together.

Beside them stands a survey of all their nodes, so that most clusters can be ruled out or ranked without a look at one
of them. A ledger is copied when it is first written to: what a pass places costs the clusters it touches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from gitplacer.model.decision import Finding, Reason
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.pack import Packing, Shortfall, pack_what_fits
from gitplacer.placement.stage import Tight
from gitplacer.placement.survey import Survey

MANY = 20
"""Pods to come; below, every order is soon tried."""


class Books:
    """One ledger for each cluster that has a snapshot."""

    def __init__(self, ledgers: Mapping[str, Ledger], columns: Columns) -> None:
        self._ledgers = dict(sorted(ledgers.items()))
        self._columns = columns
        self._survey = Survey(self._ledgers, columns)
        self._shared: set[str] = set()
        self._busy: set[str] = set()
        self._fits: WeakKeyDictionary[Ledger, dict[tuple[Gang, bool, int], Packing | Shortfall]] = WeakKeyDictionary()

    def copy(self) -> Books:
        """Books that can be written to without touching these."""
        twin = copy.copy(self)
        twin._ledgers = dict(self._ledgers)
        twin._survey = self._survey.copy()
        twin._fits = WeakKeyDictionary()
        twin._busy = set(self._busy)
        self._shared, twin._shared = set(self._ledgers), set(self._ledgers)
        return twin

    def __contains__(self, name: object) -> bool:
        return name in self._ledgers

    def __getitem__(self, name: str) -> Ledger:
        """A cluster's ledger, to be asked; to write, use these books."""
        return self._ledgers[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters that have a ledger, sorted."""
        return tuple(self._ledgers)

    def fit(self, gang: Gang, name: str, *, scale_up: bool) -> Packing | Shortfall:
        """Whether a gang fits a cluster as its ledger stands. The same question is answered once."""
        ledger = self._ledgers[name]
        known, key = self._fits.setdefault(ledger, {}), (gang, scale_up, ledger.version)
        if key not in known:
            known[key] = ledger.fit(gang, scale_up=scale_up)
        return known[key]

    def fitting(self, name: str, packing: Packing) -> Finding:
        """A packing as the reason for taking a cluster."""
        if packing.is_there:
            return Finding(code=Reason.FITS)
        return Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=packing.new_nodes(self._ledgers[name].nodes))

    def tight(self, gang: Gang, name: str, *, lucky: bool = False, opened: Sequence[str] = ()) -> Tight | None:
        """
        An order in which a gang that fits a cluster, or one that was promised room there, is not placed whole; for a `lucky` gang
        only others count, and of these who are not.
        """
        return self._ledgers[name].tight(gang, lucky=lucky, opened=opened)

    def proves(self, gang: Gang, name: str, *, lucky: bool = False, opened: Sequence[str] = ()) -> bool:
        """Whether it is known without a trial that there is no such order."""
        return self._ledgers[name].proves(gang, lucky=lucky, opened=opened)

    def reserve(
        self, group_id: str, name: str, packing: Packing, gang: Gang = (), *, sure: bool = False, lucky: bool = False
    ) -> None:
        """Take the room of a packing that `fit` found for a gang; `sure`: in every order; `lucky`: less would have done."""
        self._writable(name).reserve(group_id, packing, gang, sure=sure, lucky=lucky)
        self._written(name)

    def replace(self, name: str, ledger: Ledger) -> None:
        """Take another ledger for a cluster, of the same nodes, which nobody else writes to."""
        self._ledgers[name] = ledger
        self._shared.discard(name)
        self._written(name)

    def admit(self, group_id: str, name: str, gang: Gang) -> None:
        """Place a group whatever the room: it takes what there is."""
        if name in self._ledgers:
            self.reserve(group_id, name, pack_what_fits(self._ledgers[name].room(), gang), gang, sure=False)

    def release(self, group_id: str, name: str) -> None:
        """Give back what a group was promised on a cluster."""
        if name in self._ledgers:
            self._writable(name).release(group_id)
            self._written(name)

    def not_ruled_out(self, gang: Gang, names: Iterable[str]) -> list[str]:
        """Of some clusters those that may have room for a gang now; the others surely have none."""
        return self._survey.not_ruled_out(gang, (name for name in names if name in self._ledgers))

    def crowded(self, gang: Gang) -> set[str]:
        """
        The clusters where much of what a gang asks for is promised already, to many pods that are still to come. They come in any
        order, so that what is left may lie where the gang cannot use it, and to find out takes long.
        """
        if not self._busy:
            return set()
        asked = np.any([self._columns.asked(pods.shape) for pods in gang], axis=0) if gang else False
        return {name for name in self._busy if (self._ledgers[name].crowded & asked).any()}

    def tightness(self, gang: Gang, names: Iterable[str]) -> dict[str, tuple[int, int]]:
        """For each cluster with a ledger how few large blocks of devices a gang breaks there; less is better."""
        return self._survey.tightness(gang, names)

    def _written(self, name: str) -> None:
        ledger = self._ledgers[name]
        self._survey.update(name, ledger)
        (self._busy.add if ledger.pods_coming > MANY else self._busy.discard)(name)

    def _writable(self, name: str) -> Ledger:
        if name in self._shared:
            self._ledgers[name] = self._ledgers[name].copy()
            self._shared.discard(name)
        return self._ledgers[name]
