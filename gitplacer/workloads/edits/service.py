"""
Service: its address is given once.

Source: k8s.io/kubernetes/pkg/apis/core/validation, ValidateServiceUpdate: a Service that had an address and still needs one
keeps it. One that becomes an ExternalName, or was one, is free to change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitplacer.workloads.edits.clusterspec import Version
from gitplacer.workloads.edits.effect import Effect, changed, refused
from gitplacer.workloads.edits.typed import mapping

_HEADLESS = "None"


def effects(before: Mapping[str, Any], after: Mapping[str, Any], kuberay: Version) -> Iterator[Effect]:
    """The effect of an edit. Where no address was written, the cluster has given one, which is not "None"."""
    old, new = mapping(before, "spec"), mapping(after, "spec")
    if "ExternalName" in (old.get("type"), new.get("type")):
        return
    had, has = old.get("clusterIP"), new.get("clusterIP")
    if isinstance(has, str) and has and has != had and (had or has == _HEADLESS):
        yield from refused(after, [changed(("spec", "clusterIP"))])
