"""
What scales others, and is to scale a Ray object: there is nothing that it could scale.

HorizontalPodAutoscaler and KEDA's ScaledObject set the number at the `scale` subresource of their target, and none of Ray's kinds has one: the first
says FailedGetScale for ever, of the second KEDA's webhook refuses the object. The number of workers is Ray's own autoscaler's to change.
Source: the CRDs of KubeRay 1.7, whose only subresource is `status`.
"""

from __future__ import annotations

from gitplacer.rules.anything import Anything, ObjectRule
from gitplacer.rules.manifest import RAY_KINDS

_SCALERS = {("autoscaling", "HorizontalPodAutoscaler"), ("keda.sh", "ScaledObject")}


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


RULES: tuple[ObjectRule, ...] = (target,)
