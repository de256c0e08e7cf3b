"""
Why a pod waits, as codes.

kube-scheduler says it in a sentence for people, with counts that change from minute to minute and names of whatever stands in the
way. A snapshot keeps codes alone, sorted, so that nothing private gets into it and it is the same as long as the reasons are.
Source: kubernetes 1.34 pkg/scheduler/framework/types.go (FitError.Error) and the plugins' ErrReason constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST_CODES = 4
"""Codes of one pod, the first by name."""

_COUNTED = re.compile(r"(?:^|, )[0-9]+ (?:node\(s\) )?(?=[A-Za-z])")
_INSUFFICIENT = re.compile(r"Insufficient ([A-Za-z0-9]([-A-Za-z0-9_./]{0,314}[A-Za-z0-9])?)")
_CODES = (
    ("untolerated taint", "UntoleratedTaint"),
    ("node affinity/selector", "NodeAffinity"),
    ("volume node affinity conflict", "VolumeNodeAffinity"),
    ("node affinity", "NodeAffinity"),
    ("node selector", "NodeAffinity"),
    ("anti-affinity", "PodAntiAffinity"),
    ("pod affinity", "PodAffinity"),
    ("topology spread", "TopologySpread"),
    ("were unschedulable", "NodeUnschedulable"),
    ("free ports", "HostPorts"),
    ("exceed max volume count", "VolumeLimit"),
    ("no available volume zone", "VolumeZone"),
    ("PersistentVolume", "Volume"),
    ("persistentvolume", "Volume"),
    ("did not have enough free storage", "Volume"),
    ("requested node name", "NodeName"),
    ("node(s) didn't match the requested", "NodeName"),
    ("cannot allocate all claims", "ResourceClaims"),
    ("resourceclaim", "ResourceClaims"),
)


def reason_of(reason: str, message: str) -> str:
    """The codes in what the condition PodScheduled says, joined by commas; '' where it says nothing."""
    if reason == "SchedulingGated":
        return reason
    text = message.split("preemption:")[0].split("Preemption:")[0]
    found = {code for part in _parts(text) if (code := _code(part))}
    if not found:
        return reason if re.fullmatch(r"[A-Za-z][A-Za-z0-9]{0,62}", reason) else ""
    chosen = sorted(found, key=lambda code: (not code.startswith("Insufficient"), code))
    return ", ".join(chosen[:MOST_CODES])


def _parts(text: str) -> Iterator[str]:
    """The reasons, each without how many nodes gave it. One that is said of the pod as a whole is one of them."""
    _, _, said = text.partition("nodes are available: ")
    yield from _COUNTED.split(said or text)


def _code(part: str) -> str:
    if match := _INSUFFICIENT.search(part):
        return f"Insufficient {match[1]}"
    if part.startswith("Too many pods"):
        return "Insufficient pods"
    return next((code for words, code in _CODES if words in part), "")
