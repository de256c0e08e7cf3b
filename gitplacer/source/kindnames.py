"""
Whether a kind is known by its name, and which one was perhaps meant.

`Raycluster` and a `RayCluster` of `v1` are kinds like any other to whoever reads YAML, and nothing that they would run is ever counted.
"""

from __future__ import annotations

from gitplacer.plaintext import one
from gitplacer.problems import meant, nearest
from gitplacer.rules.manifest import RAY_KINDS
from gitplacer.source.apigroups import groups_of, is_cluster_scoped, is_known_namespaced, like
from gitplacer.workloads import networks

RAY_GROUP = "ray.io"
_KUSTOMIZE = "kustomize.config.k8s.io"
"""Of what is no object of any cluster, and lies beside those that it is about."""
_NO_PODS = frozenset({(networks.API_GROUP, networks.KIND)})
"""Kinds that may do harm in workload paths, so that they are not among those that may stand there, and of which it is known that they become no pods."""
AS_A_LIST = "write its items one by one, or as a List: apiVersion: v1 and kind: List, and both in each item"
"""What to do about a list of one kind, such as a ConfigMapList."""


def is_known(group: str, kind: str) -> bool:
    """Whether a kind is Ray's, Kubernetes' own, or one of those that are often beside them."""
    if group == RAY_GROUP:
        return kind in RAY_KINDS
    podless = group == _KUSTOMIZE or (group, kind) in _NO_PODS
    return podless or is_known_namespaced(group, kind) or is_cluster_scoped(group, kind)


def likely(group: str, kind: str) -> str:
    """What to do about a kind that is not known; '' where it does not seem to be misspelt."""
    if kind.endswith("List"):
        return AS_A_LIST
    if group == RAY_GROUP:
        return nearest(kind, RAY_KINDS)
    return meant(kind, like(group)) or _another_group(group, kind)


def _another_group(group: str, kind: str) -> str:
    known = [RAY_GROUP] if kind in RAY_KINDS else groups_of(kind)
    if not group and len(known) == 1:
        return f"{one(kind)} is of {known[0]}: its apiVersion begins with {known[0]}/"
    return meant(group, known)
