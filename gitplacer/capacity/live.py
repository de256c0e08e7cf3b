"""
One look at a live cluster.

What is evidence later is read in the order that makes it true. First the sentinels: what is seen after them is at least as new as the
epochs that they tell. Then the objects that own pods, then the pods, so that a pod is followed to an owner that was there
already. The time of the snapshot is the time before anything was read, the records of the deployment repo included: whoever takes
an object for gone because the snapshot lacks it goes by records that are no older than that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from gitplacer.capacity.access import Access, Again
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.observing.nodes import read_seen
from gitplacer.observing.observation import Seen, observation
from gitplacer.observing.placed import Placed
from gitplacer.observing.pods import Recall, read_pod


def observe(
    access: Access,
    *,
    cluster: str,
    system_namespace: str,
    now: datetime,
    say: Callable[[str], None],
    placed: Placed | None = None,
) -> CapacitySnapshot:
    """
    The snapshot of a cluster, called `cluster` in the fleet. `now` is taken before `placed` is read, which says what of it is
    gitplacer's; None where nobody knows. `say` is told what could not be looked at. Raises ClusterError.
    """
    seen = Seen()
    recall = Recall()
    for page in access.pages("/api/v1/nodes"):
        if isinstance(page, Again):
            seen.nodes.clear()
            continue
        seen.nodes += map(read_seen, page)
    for page in access.pages("/api/v1/pods"):
        if isinstance(page, Again):
            seen.pods.clear()
            continue
        seen.pods += [pod for value in page if (pod := read_pod(value, recall)) is not None]
    return observation(seen, placed or Placed(), cluster=cluster, now=now)
