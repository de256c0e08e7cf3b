"""
The kind ClusterState: whether a cluster that may sleep is awake, in the deployment repo.

It is what a later pass needs to remember, and what whoever owns clusters may act on. Written when the state changes, or when a
cluster becomes idle or busy; nothing in it changes by itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gitplacer.kinds.fields import DnsLabel, Instant, Integer, Model, OwnKind
from gitplacer.kinds.selectors import ClusterMetadata

CLUSTER_STATES = "fleet"
"""The directory of the states in the deployment repo."""


class RenderedManifests(Model):
    """The manifests of a cluster that stand in the directory of another."""

    into: DnsLabel
    """The cluster that has them."""
    epoch: Annotated[Integer, Field(ge=0)]
    """The epoch of its platform unit that first had them as they are."""
    files: tuple[str, ...] = ()
    """The files, below `platform/`."""


class ClusterState(OwnKind):
    """Whether a cluster is awake, and since when. Written by gitplacer; not synced to clusters."""

    kind: Literal["ClusterState"]
    metadata: ClusterMetadata
    state: Literal["Active", "Waking", "Standby"]
    """What it should be. Waking is told from Active by its snapshot."""
    since: Instant
    """The pass that decided so."""
    idle_since: Instant | None = None
    """Since when it holds nothing that consumes; absent while it does, and while it sleeps."""
    retry_at: Instant | None = None
    """It did not come when it was woken. It is not woken again before."""
    clone_of: DnsLabel | None = None
    """The Cluster that it was made after; absent for one that stands in the source."""
    manifests: RenderedManifests | None = None
    """What is rendered for it."""

    @property
    def name(self) -> str:
        return self.metadata.name
