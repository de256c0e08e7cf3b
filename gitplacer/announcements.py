"""
Which clusters each group is on, told to other tools: a PlacementDecision for each group, in the directory of one cluster.

PlacementDecision is a kind of SIG Multicluster (multicluster.x-k8s.io): a scheduler writes which clusters it has chosen, others read it. It
says nothing that the group's record does not say, so it changes when that does, in the same commit. Up to a hundred clusters are in one object;
of more there are several, with one key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitplacer.kinds.fleet import Cluster, FleetSpec
from gitplacer.kinds.record import PlacementRecord, RecordCluster
from gitplacer.plaintext import LONGEST_LABEL, digest, dns_label
from gitplacer.problems import Location, Problem, Severity, nearest
from gitplacer.yamltext import to_yaml

FOLDER = "decisions"
"""Below the platform unit of the cluster that is told."""
MARK = b"# Made by gitplacer, as spec.decisions of the Fleet asks.\n"
"""The first line of each file of ours: one that begins otherwise is somebody else's."""
SLICE = 100
"""Clusters in one object, as the kind allows."""
_API = "multicluster.x-k8s.io/v1alpha1"
_GROUP = "multicluster.x-k8s.io"
_PROFILE = "gitplacer.dev/cluster-profile"
"""The annotation of a Cluster whose ClusterProfile has another name."""


def announcements(spec: FleetSpec, clusters: Mapping[str, Cluster], record: PlacementRecord) -> Mapping[str, bytes]:
    """What is told of a group, by path below the platform unit. Platform objects are no placement that others would act on."""
    settings = spec.decisions
    if settings is None or record.is_platform or record.metadata.namespace.startswith("_"):
        return {}
    there = [entry.name for entry in record.clusters if _is_there(entry)]
    if record.dispatch is not None:  # a dispatcher starts it on one of these, and on the manager never
        there = [*record.dispatch.nominated] if record.dispatch.manager in there else []
    name = dns_label(record.metadata.name, record.id)
    files = {}
    for index, names in enumerate(_slices(there)):
        sliced = f"{name}-{index}" if index else name
        value = {
            "apiVersion": _API,
            "kind": "PlacementDecision",
            "metadata": {
                "name": f"{record.metadata.namespace}.{sliced}",
                "namespace": spec.system_namespace,
                "labels": {
                    f"{_GROUP}/decision-index": str(index),
                    f"{_GROUP}/decision-key": _label(f"{record.metadata.namespace}.{name}"),
                    f"{_GROUP}/placement-key": _label(f"{record.metadata.namespace}.{name}"),
                },
                "annotations": {"gitplacer.dev/group": record.id, "gitplacer.dev/policy": record.policy},
            },
            "schedulerName": "gitplacer",
            "decisions": [
                {
                    "clusterProfileRef": {
                        "apiVersion": _API,
                        "kind": "ClusterProfile",
                        "namespace": settings.profiles,
                        "name": _profile(clusters, each),
                    },
                    "reason": record.reason,
                }
                for each in names
            ],
        }
        files[f"{FOLDER}/{record.metadata.namespace}/{sliced}.yaml"] = MARK + to_yaml(value)
    return files


def decisions_problems(spec: FleetSpec, clusters: Mapping[str, Cluster], place: Location) -> Iterator[Problem]:
    """What keeps decisions from being told where the Fleet says."""
    settings = spec.decisions
    if settings is None:
        return
    target = clusters.get(settings.into)
    if target is None:
        message = f"spec.decisions.into: there is no Cluster {settings.into}, so no decision is told"
        yield Problem(place, "DecisionsTarget", message, nearest(settings.into, clusters))
    elif target.spec.standby is not None:
        message = f"spec.decisions.into: {settings.into} goes to sleep, and nobody could read there what is decided"
        yield Problem(place, "DecisionsTarget", message, "name a cluster without standby", severity=Severity.WARNING)


def _is_there(entry: RecordCluster) -> bool:
    """Whether the cluster has the group's files: a Waking one gets them later, a Removing one has none any more."""
    return entry.state in ("Placed", "Adding")


def _slices(names: list[str]) -> Iterable[list[str]]:
    return [names[at : at + SLICE] for at in range(0, len(names), SLICE)] or [[]]


def _profile(clusters: Mapping[str, Cluster], name: str) -> str:
    cluster = clusters.get(name)
    return cluster.metadata.annotations.get(_PROFILE, name) if cluster is not None else name


def _label(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[:50]}-{digest(text)}"
