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


class Bystander(NamedTuple):
    """
    A group that stays on a cluster and of which nothing else is known there: what it `holds`, `since` when, and with which priority it came;
    `is_gang`: whether it was promised room for all its pods. `tenant` is whose it is, '' for nobody's; `ends`: whether it gives its room back when it
    has run to its end; `is_local`: whether it stays whatever becomes of other clusters, since its policy does not want it on all of them, and no
    relocation of it is remembered.
    """

    holds: Holding
    since: datetime
    priority: int
    is_gang: bool
    tenant: str
    ends: bool
    is_local: bool
