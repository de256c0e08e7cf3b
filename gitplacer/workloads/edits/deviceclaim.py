"""
ResourceClaims and ResourceClaimTemplates as the API server compares them.

What is asked for never changes, but how it is written did: up to v1beta1 a request has its fields itself, since then under
`exactly`. Whoever moves a manifest to v1, or writes a default down, changes nothing.

Source: the conversion of v1beta1 in k8s.io/kubernetes/pkg/apis/resource, and SetDefaults_ExactDeviceRequest and
SetDefaults_DeviceSubRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STAYS = frozenset({"exactly", "firstAvailable", "name"})
"""The fields of a request in v1. Any other is one of v1beta1, and stands under `exactly` now."""

_ASKS = {"allocationMode": "ExactCount"}


def alike(claim: Mapping[str, Any]) -> dict[str, Any]:
    """The claim or template in the form of v1, with its defaults. Whatever has another form stays as it is."""
    spec = claim.get("spec")
    if not isinstance(spec, dict):
        return dict(claim)
    if claim.get("kind") == "ResourceClaimTemplate":
        inner = spec.get("spec")
        return {**claim, "spec": {**spec, "spec": _spec(inner)}} if isinstance(inner, dict) else dict(claim)
    return {**claim, "spec": _spec(spec)}


def _spec(spec: dict[str, Any]) -> dict[str, Any]:
    devices = spec.get("devices")
    requests = devices.get("requests") if isinstance(devices, dict) else None
    if not isinstance(devices, dict) or not isinstance(requests, list):
        return spec
    return {**spec, "devices": {**devices, "requests": [_request(item) for item in requests]}}


def _request(request: Any) -> Any:
    if not isinstance(request, dict):
        return request
    found = {key: item for key, item in request.items() if key in _STAYS}
    moved = {key: item for key, item in request.items() if key not in _STAYS}
    exactly = found.get("exactly", {})
    if isinstance(exactly, dict) and (moved or exactly):
        found["exactly"] = _with_defaults(moved | exactly)
    elif moved:
        found |= moved
    listed = found.get("firstAvailable")
    if isinstance(listed, list):
        found["firstAvailable"] = [_with_defaults(item) if isinstance(item, dict) else item for item in listed]
    return found


def _with_defaults(asked: dict[str, Any]) -> dict[str, Any]:
    found = _ASKS | asked
    return {"count": 1} | found if found["allocationMode"] == "ExactCount" else found
