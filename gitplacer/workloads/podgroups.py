"""
The group that a pod says it is of, so that a gang scheduler, or Kueue, starts it with the others or not at all.

KubeRay makes such groups itself, and puts what names them on the pods; who writes it into a template wrote the PodGroup too.
Without it the pods stay pending: "PodGroup not found". So it goes along with them, and is missed where it is not. Kueue makes a Workload of the
pods that name one, and Koordinator needs no object of those that an annotation gathers: these are not missed.

Whatever objects name one group have to be on one cluster, because the pods wait there for each other.
Sources: scheduler-plugins pkg/coscheduling (label, and that of its older API group), which Koordinator follows; Volcano's KubeGroupNameAnnotationKey
and VolcanoGroupNameAnnotationKey in staging/src/volcano.sh/apis; Kueue's pkg/controller/jobs/pod (GroupNameLabel); Koordinator's
apis/extension (AnnotationGangName); of Kubernetes itself schedulingGroup (1.36) and workloadRef (1.35) of a pod's spec.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import Reference

KIND = "PodGroup"
_KUBERNETES = "scheduling.k8s.io"
_NAMED_BY = (
    ("labels", "scheduling.x-k8s.io/pod-group", "scheduling.x-k8s.io"),
    ("labels", "pod-group.scheduling.sigs.k8s.io", "scheduling.sigs.k8s.io"),
    ("annotations", "scheduling.k8s.io/group-name", "scheduling.volcano.sh"),
    ("annotations", "scheduling.volcano.sh/group-name", "scheduling.volcano.sh"),
)
"""Where a pod names its group, by which key, and of which API group that is."""


_GATHERED_BY = (
    ("labels", "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io", "Workload"),
    ("annotations", "gang.scheduling.koordinator.sh/name", "scheduling.sigs.k8s.io", KIND),
)
"""The same where the group need not be an object of the source, and what it is in the cluster, or may be."""
GANGS = frozenset(
    {(each[2], KIND) for each in _NAMED_BY}
    | {each[2:] for each in _GATHERED_BY}
    | {(_KUBERNETES, KIND), (_KUBERNETES, "Workload")}
)
"""API group and kind of what pods are of that start together."""


def joined(metadata: Cursor) -> Iterator[Reference]:
    """The groups of a pod with such metadata; mostly none."""
    for where, key, api_group in _NAMED_BY:
        if name := _written(metadata, where, key):
            yield Reference(api_group, KIND, name, path=(*metadata.path, where, key))
    for where, key, api_group, kind in _GATHERED_BY:
        if name := _written(metadata, where, key):
            yield Reference(api_group, kind, name, optional=True, path=(*metadata.path, where, key))


def scheduled(spec: Cursor) -> Iterator[Reference]:
    """The group that the spec of a pod names for Kubernetes' own scheduler."""
    for field, key, kind in (("schedulingGroup", "podGroupName", KIND), ("workloadRef", "name", "Workload")):
        if spec.has(field) and (name := spec.mapping(field).text(key)):
            yield Reference(_KUBERNETES, kind, name, path=(*spec.path, field, key))


def _written(metadata: Cursor, where: str, key: str) -> str:
    written = metadata.value.get(where)
    name = written.get(key) if isinstance(written, dict) else None
    return name if isinstance(name, str) else ""
