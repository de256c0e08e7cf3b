"""What a user wants of an engine, and what an engine cannot do."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Wanted(Struct, frozen=True, kw_only=True):
    """
    How an engine is to sync the fleet. What is None is not wanted; a name that the engine has a custom for is '' until somebody says
    otherwise. `per` is what one sync covers: all workloads of a cluster, or one group on one cluster.
    """

    per: Literal["cluster", "workload"] = "cluster"
    managers: frozenset[str] = frozenset()
    """Clusters that are synced because policies leave their groups to Kueue there."""
    namespace: str = ""
    """Where the engine's own objects are: argocd, flux-system."""
    cluster_label: str | None = None
    """Argo CD: the label of cluster Secrets whose value is the cluster's name in the fleet; None lists clusters by name."""
    git_secret: str | None = None
    """Flux: the Secret with the credentials of the deployment repo."""
    decryption_secret: str | None = None
    """Flux: the Secret with the keys that open SOPS files."""
    kubeconfig_secret: str | None = None
    """Flux on a hub: the name of the Secret with a cluster's kubeconfig, in which `{cluster}` stands for the cluster."""
    timeout: str = "15m"
    """Flux: how long a Ray app may take to start."""


class CannotBootstrap(Exception):
    """What is wanted, an engine cannot do, or not safely; `hint` says what can be done instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
