"""
Whether a cluster that may sleep is awake: how its state goes on, and what is counted on while it is not.

Three states. Active: it is there, and its snapshot tells what it has. Standby: it sleeps. Waking: it was called and has not shown
itself. A cluster that is idle for `idleAfter` goes to sleep from Active and from Waking; whoever needs one that sleeps wakes it;
what it shows later than that, and nothing else, makes it Active. So a state never depends on luck or on how often a pass is made:
only on who is there, on snapshots, and on the times that stand in the state itself.

While a cluster sleeps or wakes its snapshot is of a cluster that is not there. What counts instead is what its owner wrote that it
has when it is awake, and no silence is held against it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from datetime import datetime, timedelta

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.clusterstate import ClusterState
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.selectors import ClusterMetadata
from gitplacer.kinds.standby import Standby

WAKE_GRACE = timedelta(minutes=5)
"""How much later than the wake a snapshot must be, where nobody reports that the manifests were applied: the cluster may have been
on its way down when it was called."""


def begun(cluster: Cluster, seen: CapacitySnapshot | None, now: datetime, clone_of: str | None = None) -> ClusterState:
    """
    The first state of a cluster. One with nodes is there. One that nobody has seen is called, because being in the fleet is what
    it was written for; if nobody needs it, it goes to sleep like any other.
    """
    return ClusterState(
        api_version="gitplacer.dev/v1alpha1",
        kind="ClusterState",
        metadata=ClusterMetadata(name=cluster.name),
        state="Active" if seen is not None and ready_nodes(seen) else "Waking",
        since=now,
        idle_since=now,
        clone_of=clone_of,
    )


def settled(
    standby: Standby,
    state: ClusterState,
    seen: CapacitySnapshot | None,
    manager: CapacitySnapshot | None,
    now: datetime,
) -> ClusterState:
    """
    The state as this pass finds it: a cluster that was called and is there is Active. One that did not come in time, and that
    somebody waits for, is given up; of one that is only suspended the API server is there, so its own snapshot says what it has.
    `manager` is the snapshot of the cluster that its manifests are rendered into.
    """
    if state.state != "Waking":
        return state
    nodes = ready_nodes(seen) if seen is not None and _tells_of_the_wake(state, seen, manager) else 0
    late = now - state.since >= timedelta(seconds=standby.wake_timeout)
    if nodes >= max(1, sum(node.count for node in standby.nodes)) or (nodes and late):
        return state.model_copy(update={"state": "Active", "since": now})
    if not late or state.idle_since is not None:
        return state
    if standby.mode == "Suspend":
        return state.model_copy(update={"state": "Active", "since": now})
    retry = now + timedelta(seconds=standby.wake_timeout)
    return state.model_copy(update={"state": "Standby", "since": now, "retry_at": retry})


def _tells_of_the_wake(state: ClusterState, seen: CapacitySnapshot, manager: CapacitySnapshot | None) -> bool:
    """Whether a snapshot is of the time after the call, and not of a cluster that was still going down."""
    applied = manager.applied if manager is not None else None
    if applied is not None and state.manifests is not None and applied.platform >= state.manifests.epoch:
        return seen.observed_at > state.since
    return seen.observed_at > state.since + WAKE_GRACE


def advanced(standby: Standby, state: ClusterState, *, busy: bool, now: datetime) -> ClusterState:
    """The state after a pass: `busy` says whether anything that consumes is there, or has its room kept there."""
    if state.state == "Standby":
        if not busy or is_given_up(state, now):
            return state
        return state.model_copy(update={"state": "Waking", "since": now, "idle_since": None, "retry_at": None})
    if busy:
        if state.idle_since is None:
            return state
        since = now if state.state == "Waking" else state.since  # who waits for it waits from now on
        return state.model_copy(update={"idle_since": None, "since": since})
    idle_since = state.idle_since or now
    if now - idle_since >= timedelta(seconds=standby.idle_after):
        return put_to_sleep(state, now)
    return state if state.idle_since == idle_since else state.model_copy(update={"idle_since": idle_since})


def put_to_sleep(state: ClusterState, now: datetime) -> ClusterState:
    """The state of a cluster that is put to sleep; one that sleeps goes on sleeping."""
    if state.state == "Standby":
        return state
    return state.model_copy(update={"state": "Standby", "since": now, "idle_since": None})


def is_given_up(state: ClusterState, now: datetime) -> bool:
    """Whether a cluster did not come when it was called, so recently that it is not called again."""
    return state.state == "Standby" and state.retry_at is not None and now < state.retry_at


def is_there(standby: Standby, state: ClusterState) -> bool:
    """Whether there is a cluster that files can be written for: what is only suspended takes them, and runs them when it wakes."""
    return standby.mode == "Suspend" or state.state == "Active"


def ignores(standby: Standby, namespace: str) -> bool:
    """Whether the groups of a namespace keep no cluster awake."""
    return any(fnmatch.fnmatchcase(namespace, pattern) for pattern in standby.ignore_namespaces)


def as_awake(cluster: Cluster, seen: CapacitySnapshot | None, now: datetime) -> CapacitySnapshot | None:
    """
    What is counted on of a cluster that sleeps or wakes: its nodes when it is awake, nothing on them, never stale. What else its
    last snapshot found holds on. None where nobody says what it would have.
    """
    standby = cluster.spec.standby
    assert standby is not None
    if seen is None and not standby.nodes:
        return None
    if seen is None:
        return CapacitySnapshot(
            api_version="gitplacer.dev/v1alpha1",
            kind="CapacitySnapshot",
            metadata=ClusterMetadata(name=cluster.name),
            observed_at=now,
            nodes=standby.nodes,
        )
    update: Mapping[str, object] = {
        "observed_at": now,
        "applied": None,
        "groups": (),
        "nodes": standby.nodes or seen.nodes,
    }
    return CapacitySnapshot.model_construct(**{**dict(seen), **update})  # its nodes are declared, so no doubt is left


def ready_nodes(seen: CapacitySnapshot) -> int:
    """How many nodes of a snapshot are ready."""
    return sum(node.count for node in seen.nodes if node.ready)
