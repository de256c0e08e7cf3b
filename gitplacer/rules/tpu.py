"""
TPU slices: the hosts of a replica are the hosts of a slice, all of it and nothing else.

A slice is as large as the topology that the node selector asks for, in chips: 2x2x2 has 8; where an annotation of the pods asks for a part of
one that is there, as large as that part. Each host of a replica asks
for the chips of one machine, so chips of a host × hosts of a replica = chips of the slice. With fewer the workers wait
for each other while the slice is held; with more they are spread over two slices that cannot talk.
GKE lets a pod take a part of a machine that is a slice by itself, so this is a hazard and no rule.
"""

from __future__ import annotations

import math
import re

from gitplacer.documents import Cursor
from gitplacer.rules.containers import pod_spec
from gitplacer.rules.manifest import RayManifest, Rule, tell
from gitplacer.workloads.devices import TPU

TOPOLOGY = "cloud.google.com/gke-tpu-topology"
PART = "cloud.google.com/gke-tpu-slice-topology"
"""The annotation of pods by which GKE gives them a part of the slice that the node selector names."""

_FORM = re.compile(r"[0-9]{1,4}(x[0-9]{1,4}){1,2}")


def topology(manifest: RayManifest) -> None:
    """
    The hosts of one replica have the chips of one slice.
    Source: the TPU samples in ray-operator/config/samples (2x2x2 with 4 chips on 2 hosts, 16x16 with 4 on 64).
    """
    for group in manifest.groups:
        spec = pod_spec(group)
        selector = spec.value.get("nodeSelector")
        if not isinstance(selector, dict) or TOPOLOGY not in selector:
            continue
        annotations = group.mapping("template").mapping("metadata").value.get("annotations")
        part = annotations.get(PART) if isinstance(annotations, dict) else None
        shape = str(part or selector[TOPOLOGY])
        chips = _chips(shape)
        each = sum(_asked(container) for container in spec.items("containers"))
        hosts = group.integer("numOfHosts", 1) if manifest.v1 else 1
        if not chips or not each or hosts is None or hosts <= 0 or each * hosts == chips:
            continue  # of no hosts at all the worker groups tell
        where = "one host" if hosts == 1 else f"each of {hosts} hosts"
        message = f"{each} {TPU} on {where} are {each * hosts} chips; the topology {shape} has {chips}"
        hint = f"numOfHosts: {chips // each}" if chips % each == 0 else f"ask for the {TPU} of one host of the slice"
        tell(group, "TPUTopologyMismatch", message, hint, key="numOfHosts" if group.has("numOfHosts") else None)


def _chips(shape: str) -> int:
    """The chips of a topology such as 2x2x2; 0 for what is none."""
    return math.prod(int(side) for side in shape.split("x")) if _FORM.fullmatch(shape) else 0


def _asked(container: Cursor) -> int:
    resources = container.mapping("resources")
    return resources.mapping("limits").quantity(TPU, TPU) or resources.mapping("requests").quantity(TPU, TPU) or 0


RULES: tuple[Rule, ...] = (topology,)
