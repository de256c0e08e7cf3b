"""
From a pod to the object that gitplacer placed, and the part that the pod has in it.

A pod is followed from owner to owner, by identity, until one is met that a record names: the Job of a submitter to its RayJob, a
Ray cluster to the RayService that made it, a ReplicaSet to its Deployment. An owner that is gone already leaves pods behind that are
still going; they are followed by the names that controllers give (`<rayjob>-<5 letters>`, `<deployment>-<hash of the
template>`), so that a group does not count as gone while its pods hold room.
Source of the names: KubeRay's ray-operator/controllers/ray/utils/util.go (GenerateRayClusterName) and facts of
apps/v1's deployment controller (a ReplicaSet is `<deployment>-<pod-template-hash>`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitplacer.model.workload import Identity
from gitplacer.observing.placed import GROUP, Placed
from gitplacer.observing.pods import NODE_TYPE, RAY_CLUSTER, PodSeen

DEEPEST = 10
"""Owners that are followed: InferenceService, Service, Configuration, Revision, Deployment, ReplicaSet, Pod are seven."""

RAY = "ray.io"
_RAY_KINDS = ("RayCluster", "RayService", "RayJob", "RayCronJob")
_HASH = "pod-template-hash"
_GENERATED = re.compile(r"(?P<owner>.+?)(?:-raycluster)?-[a-z0-9]{5}")
_TICK = re.compile(r"(?P<owner>.+)-[0-9]{6,}")

Owners = Mapping[Identity, Identity | None]
"""The controller of each object that is not a pod; None for one that has none."""


class Following:
    """The group and the role of pods. `owners` may be those of some kinds only."""

    def __init__(self, placed: Placed, owners: Owners) -> None:
        self._placed, self._owners = placed, owners
        self._known: dict[Identity, Identity | None] = {}

    def placed_object(self, pod: PodSeen, pods: Mapping[Identity, PodSeen] | None = None) -> Identity | None:
        """The object of a record that a pod is of, or None for a pod of somebody else."""
        if pod.identity in self._placed.groups:
            return pod.identity
        if pod.owner is None:
            return None
        found = self._up(pod.owner, pods or {}, DEEPEST)
        return found if found is not None else self._by_name(pod)

    def _up(self, identity: Identity, pods: Mapping[Identity, PodSeen], left: int) -> Identity | None:
        if identity in self._known:
            return self._known[identity]
        found: Identity | None = None
        if identity in self._placed.groups:
            found = identity
        elif left:
            other = pods.get(identity)
            owner = other.owner if other is not None else self._owners.get(identity)
            found = None if owner is None else self._up(owner, pods, left - 1)
        self._known[identity] = found
        return found

    def _by_name(self, pod: PodSeen) -> Identity | None:
        """Where an owner between is not there any more, or was not there yet."""
        owner = pod.owner
        if owner is None or owner in self._owners:
            return None
        if owner.kind == "ReplicaSet" and (hash_ := pod.label(_HASH)):
            return self._of_kinds(
                ("apps", "argoproj.io"), ("Deployment", "Rollout"), owner, owner.name.removesuffix(f"-{hash_}")
            )
        if owner.kind == "Job" and owner.api_group == "batch":
            return self._of_kinds((RAY,), ("RayJob",), owner, owner.name)
        name = pod.label(RAY_CLUSTER) if owner.api_group == RAY else ""
        return self._ray_object(owner, name) if name else None

    def _ray_object(self, owner: Identity, cluster: str) -> Identity | None:
        generated = _GENERATED.fullmatch(cluster)
        if generated is None:
            return None
        found = self._of_kinds((RAY,), _RAY_KINDS, owner, generated["owner"])
        tick = _TICK.fullmatch(generated["owner"])
        return found or (self._of_kinds((RAY,), ("RayCronJob",), owner, tick["owner"]) if tick else None)

    def _of_kinds(self, groups: tuple[str, ...], kinds: tuple[str, ...], at: Identity, name: str) -> Identity | None:
        candidates = (Identity(group, kind, at.namespace, name) for group in groups for kind in kinds)
        return next((each for each in candidates if each in self._placed.groups), None)


def role_of(pod: PodSeen, placed: Identity) -> str:
    """The part of a pod in the object that it is of, as `size` calls it."""
    match pod.label(NODE_TYPE):
        case "head":
            return "head"
        case "worker":
            return f"worker/{pod.label(GROUP)}"
    if placed.api_group == RAY and placed.kind in ("RayJob", "RayCronJob"):
        return "submitter"
    return "pod"
