"""What the namespaces of a cluster may take: the ResourceQuotas of a CapacitySnapshot."""

from __future__ import annotations

from typing import Literal

from gitplacer.kinds.fields import DnsLabel, DnsSubdomain, Model, Quantities

Scope = Literal[
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
]  # fmt: skip


class QuotaScope(Model):
    """Which pods a ResourceQuota counts: those of which this holds."""

    scope_name: Scope
    """The scope, as Kubernetes names it."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = "Exists"
    """How the pod's PriorityClass is compared; of other scopes it says nothing."""
    values: tuple[str, ...] = ()
    """The names that In and NotIn compare with."""


class ResourceQuota(Model):
    """What pods and objects of a namespace may take together."""

    namespace: DnsLabel
    """Its namespace."""
    name: DnsSubdomain
    """Its name; one of this name in the source takes its place."""
    hard: Quantities
    """The most of each thing, such as `pods`, `requests.cpu`, `limits.memory`, `requests.storage` or `count/rayclusters.ray.io`."""
    used: Quantities = {}
    """How much of that is taken."""
    scopes: tuple[QuotaScope, ...] = ()
    """All of these hold for the pods that it counts; none at all means every pod, and objects too."""
