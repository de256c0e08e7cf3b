"""
Who stands by while others on his cluster are planned: a group that stays there, as what it holds, without its manifests.

A cluster may have a thousand groups. Where nothing can happen to most of them, whoever plans the others need not read these: they matter by
the room that they hold, and by when they came.
"""

from __future__ import annotations

from datetime import datetime
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


class Seated(NamedTuple):
    """
    Where those pods of a group sit that no snapshot shows, on a cluster that was `opened` like that and in which groups were seated one after another, as the how
    manyth. `uses` are its set of pods, the machine and how many.
    """

    opened: bytes
    number: int
    uses: tuple[tuple[int, int, int], ...]


class Bystander(NamedTuple):
    """
    A group that stays on a cluster and of which nothing else is known there: what it `holds`, `since` when, and with which priority it came;
    `is_gang`: whether it was promised room for all its pods. `tenant` is whose it is, '' for nobody's; `ends`: whether it gives its room back when it
    has run to its end; `is_local`: whether it stays whatever becomes of other clusters, since its policy does not want it on all of them, and no
    relocation of it is remembered. Its `seat` saves work.
    """

    holds: Holding
    since: datetime
    priority: int
    is_gang: bool
    tenant: str
    ends: bool
    is_local: bool
    seat: Seated | None = None
