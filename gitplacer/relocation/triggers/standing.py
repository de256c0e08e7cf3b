"""A group on a cluster, as triggers look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.kinds.record import RecordCluster
from gitplacer.model.decision import Finding
from gitplacer.snapshot import Snapshot


class Standing(Struct, frozen=True, kw_only=True):
    """
    `cluster` is None where the fleet has none of that name; `unmet` tells why the policy does not allow it; `silent_since` since when
    it has been silent, if that is too long. `entry` is what the record says of the group there, under the id `recorded`; None if it
    came there in this pass. `nodes_come` tells whether machines are on their way there, and `fits_now` whether so many pods of each
    role would find a node at once.
    """

    snapshot: Snapshot
    group: Group
    policy: PlacementPolicy
    name: str
    cluster: Cluster | None
    entry: RecordCluster | None
    recorded: str
    unmet: Finding | None
    silent_since: datetime | None
    nodes_come: Callable[[], bool]
    fits_now: Callable[[Counter[str]], bool]
