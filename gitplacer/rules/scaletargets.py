"""
What goes by the `scale` subresource of others, and is to do so by that of a Ray object: there is none.

HorizontalPodAutoscaler and KEDA's ScaledObject set the number at the `scale` subresource of their target, and none of Ray's kinds has one: the first
says FailedGetScale for ever, of the second KEDA's webhook refuses the object. The number of workers is Ray's own autoscaler's to change. A
PodDisruptionBudget that says what may be missing, or a part of the whole, is counted against the number that stands there; without one it lets no pod go.
Sources: the CRDs of KubeRay 1.7, whose only subresource is `status`; getExpectedPodCount and getScaleController in pkg/controller/disruption of
Kubernetes 1.34; ray-project/kuberay#2662.
"""

from __future__ import annotations

from typing import Any

from gitplacer.rules.anything import Anything, ObjectRule
from gitplacer.rules.manifest import RAY_KINDS

_SCALERS = {("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")}
_OF_RAY = "ray.io/"
"""Begins the labels that KubeRay puts on pods."""
_KEEPS_ALL = {"maxUnavailable": (0, "0", "0%"), "minAvailable": ("100%",)}
"""Budgets that are meant to let no pod go."""


def target(found: Anything) -> None:
    """Who scales says of whom by `spec.scaleTargetRef`."""
    if (found.group, found.kind) not in _SCALERS:
        return
    at = found.root.mapping("spec").mapping("scaleTargetRef")
    if at.text("kind") in RAY_KINDS and at.text("apiVersion").partition("/")[0] == "ray.io":
        found.tell(
            "NothingToScale",
            f"a {at.text('kind')} has no scale subresource, so a {found.kind} cannot scale it",
            "remove this object: with enableInTreeAutoscaling: true Ray scales the workers itself, and Serve its replicas by autoscaling_config",
            (*at.path, "kind"),
        )


def budget(found: Anything) -> None:
    """A disruption budget for pods that are chosen by a label of KubeRay's, and for which somebody would have to say how many there should be."""
    if (found.group, found.kind) != ("policy", "PodDisruptionBudget"):
        return
    spec = found.root.mapping("spec")
    selector = spec.mapping("selector")
    keys = {*selector.mapping("matchLabels").value}
    keys |= {
        item.text("key") for item in selector.items("matchExpressions") if item.text("operator") in ("In", "Exists")
    }
    if not any(key.startswith(_OF_RAY) for key in keys):
        return
    for field, meant in _KEEPS_ALL.items():
        said: Any = spec.value.get(field)
        if said is None or said in meant or (field == "minAvailable" and not str(said).endswith("%")):
            continue
        found.tell(
            "BudgetNotCounted",
            f"{field} is {str(said)[:63]}, and nobody knows how many pods of a Ray object there should be: none may be evicted",
            "write minAvailable with a number: it is held against the pods that there are",
            (*spec.path, field),
        )


RULES: tuple[ObjectRule, ...] = (target, budget)
