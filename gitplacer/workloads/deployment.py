"""
Deployment: `replicas` pods of one template, one if it does not say.

A rolling update runs `maxSurge` pods more for a while: a number, or a share of the replicas rounded up. They are not
part of the gang, but a policy may reserve room for them. `maxUnavailable` says how many of the replicas may be missing meanwhile: a
number, or a share rounded down. At 0 no pod goes before one that comes is available.
"""

from __future__ import annotations

from dataclasses import replace

from gitplacer.documents import Cursor
from gitplacer.model.podrules import untold
from gitplacer.workloads import podtemplate, scaling
from gitplacer.workloads.facts import Kind, ObjectFacts
from gitplacer.workloads.fields import count, replicas_said, required, share, share_of
from gitplacer.workloads.surroundings import Surroundings


def read(root: Cursor, around: Surroundings) -> ObjectFacts:
    spec = required(root, "spec")
    if spec is None:
        return ObjectFacts(sized=True)
    number = count(spec, "replicas", 1)
    # that of the pods before an update is another in truth, and the same here, as with the Ray clusters of a RayService
    added = {"pod-template-hash": untold("Deployment", root.mapping("metadata").text("name"))}
    facts = podtemplate.facts(podtemplate.read(spec, "template", around), number, replicas_said(spec), added)
    surge = _surge(spec, number)
    waits = surge > 0 and _may_be_missing(spec, number) == 0
    return facts.but(roles=tuple(replace(role, surge=surge, waits=waits) for role in facts.roles))


def _surge(spec: Cursor, number: int) -> int:
    """Source: Kubernetes' Deployment, whose default is 25 %."""
    strategy = spec.mapping("strategy")
    if strategy.text("type", "RollingUpdate") != "RollingUpdate" or not number:
        return 0
    return share(strategy.mapping("rollingUpdate"), "maxSurge", "25%", number)


def _may_be_missing(spec: Cursor, number: int) -> int | None:
    """None where what is written is neither a number nor a share."""
    update = spec.mapping("strategy").mapping("rollingUpdate")
    return share_of(update.value["maxUnavailable"] if update.has("maxUnavailable") else "25%", number, up=False)


KIND = Kind("apps", "Deployment", ("v1",), read, podtemplate.in_spec, scaling.replicas)
