"""What a placed group holds on a cluster."""

from __future__ import annotations

from typing import NamedTuple

from gitplacer.model.workload import Gang


class Holding(NamedTuple):
    """
    What a placed group asks of a cluster's ledger, as for `Ledger.reserve_placed`. Its gang are its pods there, with the labels that anybody looks
    at.
    """

    gang: Gang
    finished: bool
    scale_up: bool
    sure: bool
    lucky: bool
    by_machines: bool
