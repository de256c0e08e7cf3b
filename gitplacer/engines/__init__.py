"""
What points at the directories we write: one module per engine.

An engine is told once where each cluster's two sync units are, and to apply `platform` before `workloads`. These files
are made for an administrator to read, keep and apply; gitplacer applies nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gitplacer.engines import argocd, flux
from gitplacer.engines.wanted import CannotBootstrap, Wanted
from gitplacer.kinds.fleet import Cluster, FleetSpec

__all__ = ["TABLE", "Bootstrap", "CannotBootstrap", "Wanted"]

Bootstrap = Callable[[FleetSpec, Sequence[Cluster], str, Wanted], Mapping[str, bytes]]
"""
The files that an engine needs to sync these clusters from the deployment repo at an address, by name, in the order in which they are
applied. Raises CannotBootstrap.

Management clusters are left out. The address is what the engine can reach, not what we push to.
"""

TABLE: Mapping[str, Bootstrap] = MappingProxyType({"argocd": argocd.bootstrap, "flux": flux.bootstrap})
"""The values of `Fleet.spec.engine`."""
