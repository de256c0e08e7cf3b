"""
Whether a capacity snapshot is believed: whether a cluster can have become what it says.

A writer that lists half the nodes, reads a unit wrongly or has a clock of its own would make a fleet move for nothing. So a
snapshot from the future is not believed, nor one that has applied what was never written, nor one on which the cluster grew or shrank
beyond what clusters do. Then the last one
that was believed counts on, as stale: nothing new is placed by it, nothing is taken for evidence, and no silence is seen in it.

A cluster may really have tripled. What says so again, later and in agreement, is believed: a mistake of a moment does not last.

The shell knows the history of a capacity branch and hands over the two snapshots that matter: beside the newest, under `earlier/`,
the last one that was believed before it, where the newest is in doubt. What it does not believe for who signed it, it leaves out
and names under `doubted/`. All of it is part of the capacity tree, so whoever computes a pass again comes to the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fleet import Cluster, Jumps
from gitplacer.kinds.nodecolumns import NodeColumns
from gitplacer.plaintext import printable

SKEW = timedelta(minutes=5)
"""How far the clock of whoever writes a snapshot may be ahead of ours."""

EARLIER = "earlier"
"""The directory, in a capacity tree, of the snapshots that were believed before the newest, one for each cluster in doubt."""

DOUBTED = "doubted"
"""The directory, in a capacity tree, that says of what clusters something newer is there that is not believed, and why."""

_LONGEST = 1000
"""Characters of a line under `doubted/`."""

NODES = "nodes"
"""What a jump is of, where it is of no resource."""


class Doubted(CapacitySnapshot):
    """An earlier snapshot, which counts on because a later one is not believed: as stale, however young, and never as silence."""


def doubted(snapshot: CapacitySnapshot) -> Doubted:
    """The same snapshot, as one to be taken with care."""
    return Doubted.model_construct(snapshot.model_fields_set, **dict(snapshot))


def is_from_the_future(observed_at: datetime, now: datetime) -> bool:
    """Whether a snapshot says that it was taken at a time that has not come, beyond what clocks differ by."""
    return observed_at > now + SKEW


def hangs_on_epochs(codes: Collection[str], paths: Iterable[str]) -> bool:
    """
    Whether what a cluster says could be believed as soon as there is one epoch more: by the codes of what is wrong, and the paths of the
    capacity tree, which says what else was not believed.
    """
    return "EpochNeverWritten" in codes or any(path.startswith((f"{EARLIER}/", f"{DOUBTED}/")) for path in paths)


def never_written(snapshot: CapacitySnapshot, epochs: Mapping[tuple[str, str], int]) -> tuple[str, int, int] | None:
    """
    The sync unit of which a snapshot has applied more than was ever written, what it says, and the greatest epoch there was; None if
    there is none. Of a unit that is not in the deployment repo nothing is known.
    """
    for unit, said in snapshot.applied or ():
        written = epochs.get((snapshot.name, unit))
        if written is not None and said > written:
            return unit, said, written
    return None


class Gist(Struct, frozen=True):
    """
    What of a snapshot says whether a later one can be true: when it was taken, and of each entry of its nodes, by name, how
    many there are and what each offers.
    """

    observed_at: datetime
    nodes: Mapping[str, tuple[int, Mapping[str, int]]]

    @staticmethod
    def of(snapshot: CapacitySnapshot) -> Gist:
        columns = NodeColumns.of(snapshot.nodes)
        told = zip(columns.names, columns.alike, strict=True)
        return Gist(snapshot.observed_at, {name: (alike.count, dict(alike.allocatable)) for name, alike in told})

    def as_text(self) -> bytes:
        return json.dumps([self.observed_at.isoformat(), self.nodes], separators=(",", ":")).encode()

    @staticmethod
    def from_text(text: bytes) -> Gist:
        """What `as_text` wrote."""
        observed_at, nodes = json.loads(text)
        return Gist(datetime.fromisoformat(observed_at), {name: (count, has) for name, (count, has) in nodes.items()})

    def totals(self) -> tuple[Counter[str], Counter[str]]:
        """What all nodes offer, and how many nodes offer any of it, by resource; all nodes count as `nodes`."""
        offered: Counter[str] = Counter()
        having: Counter[str] = Counter()
        for count, allocatable in self.nodes.values():
            offered[NODES] += count
            having[NODES] += count
            for name, amount in allocatable.items():
                offered[name] += amount * count
                having[name] += count
        return offered, having


class Jump(Struct, frozen=True):
    """What changed beyond belief: `nodes` or a resource, how much there was and is, and the one node it is of, if it is of one."""

    what: str
    before: int
    after: int
    node: str = ""


def jump(before: Gist, after: Gist, limits: Jumps, cluster: Cluster | None = None) -> Jump | None:
    """
    What changed beyond belief from one snapshot to another; None where a cluster can have changed like that. A machine does not
    grow, so a node that was there before is held against itself. The number of nodes, and what all of them offer, are not judged
    where an autoscaler or a standby makes them come and go, nor while only a few nodes are concerned.
    """
    for name in sorted(before.nodes.keys() & after.nodes.keys()):
        had, has = before.nodes[name][1], after.nodes[name][1]
        for resource in sorted(had.keys() & has.keys()):
            if _beyond(had[resource], has[resource], limits.factor):
                return Jump(resource, had[resource], has[resource], name)
    if cluster is not None and (cluster.spec.autoscaler is not None or cluster.spec.standby is not None):
        return None
    (had_all, had_by), (has_all, has_by) = before.totals(), after.totals()
    for resource in sorted(had_all.keys() | has_all.keys(), key=lambda name: (name != NODES, name)):
        # Nodes join and leave by the handful, and devices appear when their plugin has come up.
        if abs(had_by[resource] - has_by[resource]) <= limits.nodes:
            continue
        if _beyond(had_all[resource], has_all[resource], limits.factor):
            return Jump(resource, had_all[resource], has_all[resource])
    return None


def _beyond(before: int, after: int, factor: int) -> bool:
    less, more = sorted((before, after))
    return more > less * factor


def last_believed(history: Sequence[Gist | None], limits: Jumps, now: datetime) -> int | None:
    """
    Which of the snapshots that a cluster sent, oldest first, is the last to be believed; None if none is. The first counts as
    true. One that cannot be read is None, and never believed. One on which the cluster has jumped is believed when a later one,
    `believedAfter` later or more, agrees with it, and none between says otherwise.
    """
    believed, level = None, None
    for index, found in enumerate(history):
        if found is None or is_from_the_future(found.observed_at, now):
            continue
        last = history[believed] if believed is not None else None
        if last is None or jump(last, found, limits) is None:
            believed, level = index, None
            continue
        first = history[level] if level is not None else None
        if first is None or jump(first, found, limits) is not None:
            level, first = index, found
        if found.observed_at - first.observed_at >= timedelta(seconds=limits.believed_after):
            believed, level = index, None
    return believed


def doubt(code: str, message: str, hint: str) -> bytes:
    """
    A file under `doubted/`: a line with the code and the message of a problem, and one with what to do. Names in it may be anything that git
    takes, and stay what they are: part of a line.
    """
    said, todo = (printable(text, _LONGEST) for text in (f"{code}: {message}", hint))
    return f"{said}\n{todo}\n".encode("utf-8", "backslashreplace")


def doubt_of(text: bytes) -> tuple[str, str, str]:
    """The code, the message and the hint in a file under `doubted/`."""
    said, _, hint = text.decode("utf-8", "replace").strip().partition("\n")
    code, _, message = said.partition(": ")
    return code, message, hint.partition("\n")[0]
