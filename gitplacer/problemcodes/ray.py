"""Problems of Ray objects: what KubeRay would refuse after the sync was reported successful, or do in silence."""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.problemcodes.code import Code
from gitplacer.problems import Severity

CODES: Mapping[str, Code] = {
    "NameTooLong": Code(
        "A name is too long for what KubeRay makes of it",
        "KubeRay adds suffixes to the name for the objects it creates, and refuses a RayCluster beyond 53 characters, a "
        "RayJob or RayService beyond 47 and a RayCronJob beyond 36. The sync succeeds and nothing starts.",
        "Choose a shorter name.",
    ),
    "NoHosts": Code(
        "A worker group has no hosts",
        "`numOfHosts` multiplies the group's pods; with 0 or less KubeRay accepts the object and makes no workers.",
        "Leave `numOfHosts` out, or give the number of hosts of one slice. For no workers, say `replicas: 0`.",
        severity=Severity.WARNING,
        allowable=True,
    ),
}
