"""
What is wrong with the manager to whose Kueue a policy leaves its groups: it is not there, or could be a worker of its own, or sleeps.

What the policy governs is held until then: there is nowhere to put it.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Document
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.policy import PlacementPolicy
from gitplacer.problems import Problem, nearest


def unfit_dispatcher(policy: PlacementPolicy, document: Document, clusters: Mapping[str, Cluster]) -> Problem | None:
    """The error about the `placement.dispatch` of a policy, if there is one."""
    settings = policy.spec.placement.multi_kueue
    if settings is None:
        return None
    manager = clusters.get(settings.manager)
    if manager is None:
        message, hint = f"there is no Cluster {settings.manager}", nearest(settings.manager, clusters)
    elif manager.spec.role == "Workload" and policy.spec.clusters.unmet(manager.labels()) is None:
        message = f"policy {policy.name} selects {manager.name} itself, and a manager cannot be a worker of its own"
        hint = "let spec.clusters leave it out, or give it role: Management"
    elif manager.spec.standby is not None:
        message, hint = f"{manager.name} goes to sleep, and Kueue there with it", "name a cluster without standby"
    else:
        return None
    path = ("spec", "placement", "dispatch", "multiKueue", "manager")
    return document.problem("DispatchManager", message, hint, path=path)
