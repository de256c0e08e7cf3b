"""
Clusters that may sleep, as a pass finds them: the state of each, what keeps it from changing, and what counts as its capacity.

How a state goes on is for `standby`. Here it is told from what the deployment repo remembers and what clusters report. One whose file cannot
be read, whose manifests have problems, or in whose files somebody else wrote, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gitplacer import standby
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.clusterstate import CLUSTER_STATES, ClusterState
from gitplacer.problems import Location, Problem
from gitplacer.source.manifests import PLATFORM
from gitplacer.source.reading import Source
from gitplacer.source.standby import STANDBY_FOLDER
from gitplacer.tree import Tree


def states_now(
    source: Source,
    reported: Mapping[str, CapacitySnapshot],
    left: Mapping[str, ClusterState],
    broken: frozenset[str],
    models: Mapping[str, str],
    now: datetime,
) -> dict[str, ClusterState]:
    """The state of each cluster that may sleep, as this pass finds it. Of one whose file is broken nobody knows it."""
    found = {}
    for name, cluster in source.own.clusters.items():
        sleeps = cluster.spec.standby
        if sleeps is None or name in broken:
            continue
        state = left.get(name) or standby.begun(cluster, reported.get(name), now, models.get(name))
        manager = sleeps.manifests.render_into if sleeps.manifests is not None else ""
        found[name] = standby.settled(sleeps, state, reported.get(name), reported.get(manager), now)
    return found


def held_states(
    source: Source,
    left: Mapping[str, ClusterState],
    broken: frozenset[str],
    deployment: Tree,
    foreign_paths: frozenset[str],
    problems: list[Problem],
) -> dict[str, str]:
    """Clusters whose state stays as it is, each with why. What somebody else changed is named."""
    root = source.own.fleet.spec.deployment.root
    found = dict.fromkeys(sorted(source.sleeping.faulty), "its standby manifests have problems")
    found |= {name: f"{CLUSTER_STATES}/{name}.yaml cannot be read" for name in sorted(broken)}
    for name, cluster in source.own.clusters.items():
        if cluster.spec.standby is None or name in found:
            continue
        rendered = left[name].manifests if name in left else None
        ours = (
            {f"{root}/{rendered.into}/{PLATFORM}/{file}" for file in rendered.files} if rendered is not None else set()
        )
        changed = sorted(foreign_paths & {f"{CLUSTER_STATES}/{name}.yaml", *ours})
        changed += [path for path in _in_the_way(name, source, deployment) if path not in ours]
        for path in changed:
            message = f"somebody else wrote this file; cluster {name} stays as it is"
            problems.append(Problem(Location(path), "StandbyChanged", message, "undo that, or remove the file"))
            found[name] = f"somebody else changed {path}"
    return found


def _in_the_way(name: str, source: Source, deployment: Tree) -> list[str]:
    """Files of others where the manifests of a cluster would be written."""
    manifests = source.sleeping.manifests.get(name)
    if manifests is None:
        return []
    folder = f"{source.own.fleet.spec.deployment.root}/{manifests.into}/{PLATFORM}/{STANDBY_FOLDER}/{name}/"
    wanted = {folder + item.name for item in (*manifests.active, *manifests.standby)}
    return sorted(path for path in wanted if path in deployment)


def as_counted(
    source: Source,
    reported: Mapping[str, CapacitySnapshot],
    broken: frozenset[str],
    states: Mapping[str, ClusterState],
    now: datetime,
) -> tuple[dict[str, CapacitySnapshot], frozenset[str]]:
    """What counts as the capacity of each cluster, and the clusters of which nothing counts."""
    counted, unusable = dict(reported), set(broken)
    for name, state in states.items():
        if state.state != "Active":
            awake = standby.as_awake(source.own.clusters[name], reported.get(name), now)
            counted.pop(name, None)
            if awake is not None:
                counted[name] = awake
                unusable.discard(name)
    return dict(sorted(counted.items())), frozenset(unusable)
