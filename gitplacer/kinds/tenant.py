"""
The kind Tenant: what those may do who write some of the workload paths.

A fleet without Tenants has one, who may write all workload paths and use every namespace that is not reserved. As soon as
there is one, every workload file belongs to exactly one Tenant or to nobody, and what belongs to nobody is not placed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gitplacer.kinds.fields import Bounds, Budget, Glob, Integer, Matching, Model, OwnKind, PathGlob
from gitplacer.kinds.selectors import ClusterSelector, Metadata

NamespaceGlob = Annotated[
    str,
    Matching(
        r"^[a-z0-9*?\[\]!-]+$",
        "must be the name of a namespace, or a pattern such as research-*",
        100,
    ),
]


class TenantPriority(Model):
    """How far to the front a tenant's groups may get."""

    max: Integer | None = None
    """Its groups count with at most this priority, whatever their policy says. Absent means that the policy decides."""
    classes: tuple[Glob, ...] | None = None
    """PriorityClasses that its pods may name; globs allowed. Absent means any but `system-*`, which none may name."""


class TenantSpec(Model):
    """What a tenant may write, and what that may do."""

    paths: Annotated[tuple[PathGlob, ...], Field(min_length=1)]
    """Its workload files; `**` crosses folders. Files outside the Fleet's workload paths stay what they are."""
    namespaces: Annotated[tuple[NamespaceGlob, ...], Field(min_length=1)]
    """The namespaces of its objects; globs allowed, but they never reach `kube-*`, nor those of Argo CD, Flux and gitplacer: such a
    one is named as it is."""
    clusters: ClusterSelector = ClusterSelector()
    """Where its groups may be. Absent means wherever their policies let them."""
    kinds: tuple[Glob, ...] | None = None
    """Kinds of its objects; globs allowed. Absent means every kind that is known to have a namespace; one that is not is named in full. None
    is ever cluster-scoped, RBAC, or steers the GitOps engine."""
    secrets: Literal["Sealed", "Plain"] = "Sealed"
    """Whether its Secrets may be in plain text, or have to be sealed, external or encrypted by SOPS."""
    pods: Literal["Baseline", "Privileged"] = "Baseline"
    """What its pods may be: the level `baseline` of the Pod Security Standards, or anything."""
    service_accounts: tuple[Glob, ...] = ()
    """ServiceAccounts that its pods may use besides `default` and those that the source has in their namespace; globs allowed."""
    policies: tuple[Glob, ...] | None = None
    """Names of the PlacementPolicies that may govern its objects; globs allowed. Absent means all."""
    priority: TenantPriority = TenantPriority()
    """How far to the front it may get."""
    quota: Bounds = {}
    """Of each resource, what all its groups on all clusters may ask for together."""
    cluster_quota: Bounds = {}
    """Of each resource, what its groups on any one cluster may ask for together."""
    budget_per_hour: Budget | None = None
    """What the machines that autoscalers add for its groups may cost in an hour. Absent means that the policies decide."""


class Tenant(OwnKind):
    """Who may write some of the workload paths, and what may come of it."""

    kind: Literal["Tenant"]
    metadata: Metadata
    spec: TenantSpec

    @property
    def name(self) -> str:
        return self.metadata.name
