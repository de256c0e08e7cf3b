"""
The PodGroup that a pod says it is of, so that a gang scheduler starts it with the others or not at all.

KubeRay and Kueue make such groups themselves, and put what names them on the pods; who writes it into a template wrote the PodGroup too.
Without it the pods stay pending: "PodGroup not found". So it goes along with them, and is missed where it is not.
Sources: scheduler-plugins pkg/coscheduling (label, and that of its older API group), which Koordinator follows; Volcano's KubeGroupNameAnnotationKey
and VolcanoGroupNameAnnotationKey in staging/src/volcano.sh/apis.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import Reference

KIND = "PodGroup"
_NAMED_BY = (
    ("labels", "scheduling.x-k8s.io/pod-group", "scheduling.x-k8s.io"),
    ("labels", "pod-group.scheduling.sigs.k8s.io", "scheduling.sigs.k8s.io"),
    ("annotations", "scheduling.k8s.io/group-name", "scheduling.volcano.sh"),
    ("annotations", "scheduling.volcano.sh/group-name", "scheduling.volcano.sh"),
)
"""Where a pod names its group, by which key, and of which API group that is."""


def joined(metadata: Cursor) -> Iterator[Reference]:
    """The PodGroups of a pod with such metadata; mostly none."""
    for where, key, api_group in _NAMED_BY:
        written = metadata.value.get(where)
        name = written.get(key) if isinstance(written, dict) else None
        if isinstance(name, str) and name:
            yield Reference(api_group, KIND, name, path=(*metadata.path, where, key))
