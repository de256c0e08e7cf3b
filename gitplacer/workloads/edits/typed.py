"""
A manifest as the API server would store it, for comparing two of them.

KubeRay and the API server compare typed objects and not text: null is the same as absent, so is an empty list, an empty
string and a zero where the Go type leaves them out, and "1000m" is "1". What the type tells apart stays apart: `emptyDir:
{}` is a volume, and `enableInTreeAutoscaling: false` is a field that was set. We have no schema here, so the rules go
by the names of fields, which mean one thing throughout the Kubernetes API.

Sources: the JSON tags in k8s.io/api (core/v1, batch/v1) and KubeRay's apis/ray/v1; k8s.io/apimachinery's Quantity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct, field

from gitplacer.documents import Path
from gitplacer.model import quantity
from gitplacer.workloads.edits.effect import Change, changed

_TEXT_MAPS = frozenset({
    "annotations", "labels", "matchLabels", "nodeSelector", "rayStartParams", "headServiceAnnotations",
    "clusterSelector", "volumeAttributes", "parameters",
})  # fmt: skip
"""Fields that are maps of strings: their keys are the user's own, and an empty string in them is a value."""

_QUANTITY_MAPS = frozenset({"limits", "requests", "overhead"})
_QUANTITIES = frozenset({"sizeLimit", "divisor", "size"})

_VALUE_STRUCTS = frozenset({"metadata", "resources", "scaleStrategy", "spec", "template"})
"""Structs that are always there in the Go type: an empty one says nothing."""
_POINTED_RESOURCES = frozenset({"autoscalerOptions", "collectorOptions"})
"""Where `resources` may be left out, and `{}` means none at all."""

_CONTAINERS = frozenset({"containers", "ephemeralContainers", "initContainers"})

_EMPTY_TEXT_COUNTS = frozenset({"storageClassName"})
_ZERO_IS_ABSENT = frozenset({
    "hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly", "shutdownAfterJobFinishes", "hostPort",
    "entrypointNumCpus", "entrypointNumGpus", "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
})  # fmt: skip

_ABSENT: Any = object()


class Reading(Struct, frozen=True):
    """
    How values are read. `defaults` are what the API server writes into a field that is missing. With `by_format` a
    quantity in bytes and one in Mi differ, as they do in a hash: Go writes a quantity back in the family that it was
    read in, binary, decimal or with an exponent. `empty` are structs that say nothing when they are empty. `pods`: also
    what is written into a pod spec depends on what else is in it.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    by_format: bool = False
    empty: frozenset[str] = _VALUE_STRUCTS
    pods: bool = False


RAY = Reading({"protocol": "TCP"})
"""For objects of KubeRay: a CRD knows few defaults."""

RAY_HASH = Reading(RAY.defaults, by_format=True)
"""For what KubeRay writes as JSON and reads into a hash."""

BUILT_IN = Reading(
    {
        "apiVersion": "v1",
        "completionMode": "NonIndexed",
        "defaultMode": 0o644,
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "failureThreshold": 3,
        "periodSeconds": 10,
        "podManagementPolicy": "OrderedReady",
        "protocol": "TCP",
        "scheme": "HTTP",
        "schedulerName": "default-scheduler",
        "successThreshold": 1,
        "suspend": False,
        "terminationGracePeriodSeconds": 30,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "timeoutSeconds": 1,
        "volumeMode": "Filesystem",
    },
    empty=_VALUE_STRUCTS | {"securityContext"},
    pods=True,
)
"""For kinds of Kubernetes itself, whose defaults are written into every object."""


def settled(value: Any, reading: Reading) -> dict[str, Any]:
    """The mapping as it would be stored; {} for what is no mapping."""
    return _mapping(value, "", reading) if isinstance(value, Mapping) else {}


def mapping(value: Any, *path: str) -> Mapping[str, Any]:
    """The mapping at a path of keys; an empty one when there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def differences(before: Any, after: Any, at: Path = ()) -> Iterator[Change]:
    """
    Where two settled values differ, as deep as it can be said, in the order of keys. A list that grew or shrank is one
    difference: which of its items is which cannot be told.
    """
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key not in after:
                yield changed((*at, key), removed=True)
            elif key not in before:
                yield changed((*at, key))
            else:
                yield from differences(before[key], after[key], (*at, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from differences(old, new, (*at, index))
    else:
        yield changed(at)


def _mapping(value: Mapping[str, Any], parent: str, reading: Reading) -> dict[str, Any]:
    found = {}
    for key, item in value.items():
        kept = _entry(key, item, parent, reading)
        if kept is not _ABSENT:
            found[key] = kept
    if reading.pods and parent in _CONTAINERS:
        return _container(found)
    if reading.pods and "containers" in found and found.get("restartPolicy") == "Always":
        del found["restartPolicy"]
    return found


def _container(found: dict[str, Any]) -> dict[str, Any]:
    """
    A container less what the API server writes into it: a pull policy by the tag of its image, and requests as large as
    the limits. Source: SetDefaults_Container and SetDefaults_Pod in k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
    """
    if found.get("imagePullPolicy") == _pull_policy(found.get("image")):
        found = {key: item for key, item in found.items() if key != "imagePullPolicy"}
    resources = found.get("resources")
    if isinstance(resources, dict) and isinstance(requests := resources.get("requests"), dict):
        limits = resources.get("limits")
        own = {key: item for key, item in requests.items() if not isinstance(limits, dict) or limits.get(key) != item}
        rest = {key: item for key, item in resources.items() if key != "requests"}
        resources = rest | {"requests": own} if own else rest
        found = {key: item for key, item in found.items() if key != "resources"}
        found |= {"resources": resources} if resources else {}
    return found


def _pull_policy(image: Any) -> str:
    """Always for the tag latest, which is that of an image with neither tag nor digest."""
    name, _, digest = (image if isinstance(image, str) else "").partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def _entry(key: str, item: Any, parent: str, reading: Reading) -> Any:
    if item is None:
        return _ABSENT
    if isinstance(item, Mapping):
        return _struct_or_map(key, item, parent, reading)
    if isinstance(item, list):
        items = [_mapping(i, key, reading) if isinstance(i, Mapping) else i for i in item]
        return items or _ABSENT
    if key in _QUANTITIES:
        return _amount(item, reading)
    if (item == "" and key not in _EMPTY_TEXT_COUNTS) or (not item and key in _ZERO_IS_ABSENT):
        return _ABSENT
    return _ABSENT if key in reading.defaults and reading.defaults[key] == item else item


def _struct_or_map(key: str, item: Mapping[str, Any], parent: str, reading: Reading) -> Any:
    found: dict[str, Any]
    if key in _TEXT_MAPS:
        found = {name: text for name, text in item.items() if text is not None}
        # KubeRay writes rayStartParams into the hash even when there are none, and then as null.
        return found if found or key == "rayStartParams" else _ABSENT
    if key in _QUANTITY_MAPS:
        found = {name: _amount(amount, reading) for name, amount in item.items() if amount is not None}
        return found or _ABSENT
    found = _mapping(item, key, reading)
    says_nothing = key in reading.empty and not (key == "resources" and parent in _POINTED_RESOURCES)
    return found if found or not says_nothing else _ABSENT


def _amount(value: Any, reading: Reading) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return value
    text = str(value)
    try:
        number = quantity.parse(text)
    except quantity.InvalidQuantity:
        return value
    return (number, _family(text, number)) if reading.by_format else number


def _family(text: str, number: Fraction) -> str:
    """The family Go writes a quantity back in. A binary one below 1024 has no suffix and becomes decimal."""
    if text[-1] == "i":
        return "binary" if abs(number) >= 1024 else "decimal"
    return "exponent" if "e" in text.lower() and text[-1].isdigit() else "decimal"
