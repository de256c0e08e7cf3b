"""Charts that clusters get through their engine: KubeRay by Helm."""

from __future__ import annotations

from typing import Annotated

from gitplacer.kinds.fields import DnsLabel, Matching, Model
from gitplacer.kinds.selectors import ClusterSelector

_CHART_NAME = r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"
_VERSION = r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$"


class Chart(Model):
    """A Helm chart that clusters get: the engine installs it, and gitplacer never looks into it."""

    name: Annotated[
        str,
        Matching(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "must be a DNS label of at most 53 characters, Helm's limit", 53),
    ]
    """The name of the release. Two entries of one name are two versions of it, for different clusters."""
    repo: Annotated[
        str,
        Matching(
            r"^(https|oci)://[^\s@\x00-\x1f]+$",
            "must be the address of a Helm repo (https://) or of a registry's folder (oci://), without credentials",
        ),
    ]
    """The Helm repo: https, or oci for the folder of a registry that holds the chart."""
    chart: Annotated[str, Matching(_CHART_NAME, "must be the name of a chart in the repo", 250)]
    """The chart in that repo."""
    version: Annotated[
        str,
        Matching(_VERSION, "must be one whole version such as 1.5.0: a range would change clusters without a commit"),
    ]
    """Its version: one, no range."""
    namespace: DnsLabel
    """The namespace it is installed into; it is made."""
    values: dict[str, object] = {}
    """Values for the chart. No secrets: they would stand in Git."""
    clusters: ClusterSelector = ClusterSelector()
    """Which clusters get it. Absent means every cluster for workloads."""
