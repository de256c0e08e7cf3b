"""
A bystander: a group that stays on its cluster while others there are planned, as the room that it holds, without its manifests.

A cluster may have a thousand groups. Where nothing can happen to most of them, their manifests need not be read to plan the others: they matter by
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
    On which machines the pods of a group were put that no snapshot shows yet. Groups are put on a cluster one after another: `opened` is the digest of the
    cluster before the first of them, and `number` this group's place in the row. Each of `uses` is a set of pods, a machine, and how many pods.
    """

    opened: bytes
    number: int
    uses: tuple[tuple[int, int, int], ...]


class Bystander(NamedTuple):
    """
    All that is known of a group that stays on a cluster: the room that it `holds`, `since` when, and its priority. `is_gang`: whether it was promised
    room for all its pods. `tenant` is the Tenant that owns it, '' if none does. `ends`: whether it gives its room back when it has run to its end.
    `is_local`: whether it stays whatever becomes of other clusters, since its policy does not want it on all of them, and no relocation of it is
    remembered. `seat`: where its pods sit, if that is known, so that no place has to be looked for.
    """

    holds: Holding
    since: datetime
    priority: int
    is_gang: bool
    tenant: str
    ends: bool
    is_local: bool
    seat: Seated | None = None
