"""
Pods held against their PriorityClass, as the API server does when a pod is made.

It gives a pod the priority of its class, or of the default one, and refuses a pod that says another priority or preemption policy
itself, as a manifest does that was copied from a pod which runs elsewhere.
Source: plugin/pkg/admission/priority of Kubernetes 1.34.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from gitplacer.documents import Cursor

API_GROUP, KIND = "scheduling.k8s.io", "PriorityClass"
PREEMPTS = "PreemptLowerPriority"


class PriorityClass(Struct, frozen=True):
    """The priority that pods of a class get, and their preemption policy. Without a name it is what pods get of which no class is the default."""

    name: str = ""
    value: int = 0
    preemption: str = PREEMPTS
    is_default: bool = False

    def contradicts(self, priority: int | None, preemption: str) -> str | None:
        """
        Why the API server refuses pods of the class that say of themselves what their priority and their preemption policy is; None
        if it does not. None and '' are what a pod does not say.
        """
        gives = f"PriorityClass {self.name} gives" if self.name else "a pod without a PriorityClass gets"
        if priority is not None and priority != self.value:
            return f"{gives} priority {self.value}, and the pod says {priority}"
        if preemption and preemption != self.preemption:
            return f"{gives} preemptionPolicy {self.preemption}, and the pod says {preemption}"
        return None


BUILT_IN: Mapping[str, PriorityClass] = MappingProxyType({
    "system-cluster-critical": PriorityClass("system-cluster-critical", 2_000_000_000),
    "system-node-critical": PriorityClass("system-node-critical", 2_000_001_000),
})  # fmt: skip
"""The API server makes these two."""


def read(root: Cursor) -> PriorityClass:
    """A PriorityClass, as the API server fills it in."""
    return PriorityClass(
        root.mapping("metadata").text("name"),
        root.integer("value") or 0,
        root.text("preemptionPolicy") or PREEMPTS,
        root.boolean("globalDefault"),
    )


def default(classes: Iterable[PriorityClass]) -> PriorityClass:
    """The class of pods that name none. Of several defaults the API server takes the one of the least priority."""
    return min((each for each in classes if each.is_default), key=lambda each: (each.value, each.name), default=NONE)


NONE = PriorityClass()
