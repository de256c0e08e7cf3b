"""
A Ray cluster spec as KubeRay compares it.

KubeRay decides by a hash of the spec, out of which it leaves what the autoscaler and Kueue write (`replicas` and its
bounds, tolerations, …). The hash is over the typed object after defaulting, so what counts is what the CRD of that
version keeps: a field that it does not know was never there.

Sources: ray-operator's GenerateHashWithoutReplicasAndWorkersToDelete (controllers/ray/utils) and the types in
apis/ray/v1 and apis/ray/v1alpha1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.workloads.edits.effect import Change, changed
from gitplacer.workloads.edits.typed import RAY, Reading, differences, mapping, settled
from gitplacer.workloads.fields import INT32_MAX
from gitplacer.workloads.rayfields import AUTOSCALER, CLUSTER, GROUP, HEAD, Fields
from gitplacer.workloads.rayspec import OPERATOR

Version = tuple[int, ...]

LATEST: Version = (1, 7, 0)
"""The version that is assumed where none is known, and the last whose fields are all known here."""

V1 = "ray.io/v1"

_GROUP_DEFAULTS = {"replicas": 0, "minReplicas": 0, "maxReplicas": INT32_MAX, "numOfHosts": 1, "priority": 0}
"""What the API server writes into a worker group."""

_MUTED = frozenset({"suspend", "upgradeStrategy"})
_MUTED_IN_GROUP = frozenset({"replicas", "minReplicas", "maxReplicas", "scaleStrategy"})
_MUTED_IN_POD = frozenset({"tolerations", "schedulingGates"})
_PODS_MUTED_SINCE: Version = (1, 5, 2)


def is_v1(root: Mapping[str, Any]) -> bool:
    """Whether the object is of `ray.io/v1`; as v1alpha1 it keeps only the fields that version knows."""
    return root.get("apiVersion") == V1


def is_ours(root: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether KubeRay acts on the object: `managedBy` may hand it to Kueue."""
    manager = spec.get("managedBy")
    return not is_v1(root) or manager in (None, "", OPERATOR)


def is_acted_on(root: Mapping[str, Any]) -> bool:
    """Whether KubeRay keeps pods for the object: it is neither suspended nor another controller's."""
    spec = mapping(root, "spec")
    return spec.get("suspend") is not True and is_ours(root, spec)


def read(spec: Any, *, v1: bool, kuberay: Version, reading: Reading = RAY) -> dict[str, Any]:
    """The Ray cluster spec as KubeRay sees it. `workerGroupSpecs` is always a list of mappings."""
    form = _known(settled(spec, reading), CLUSTER, v1, kuberay)
    head = form.get("headGroupSpec")
    form["headGroupSpec"] = _known(head if isinstance(head, dict) else {}, HEAD, v1, kuberay)
    listed = form.get("workerGroupSpecs")
    groups = [item if isinstance(item, dict) else {} for item in (listed if isinstance(listed, list) else [])]
    form["workerGroupSpecs"] = [_GROUP_DEFAULTS | _known(group, GROUP, v1, kuberay) for group in groups]
    if isinstance(options := form.get("autoscalerOptions"), dict):
        form["autoscalerOptions"] = _known(options, AUTOSCALER, v1, kuberay)
    if isinstance(policy := form.get("networkPolicy"), dict):
        policy.setdefault("mode", "DenyAll")
    return form


def hashed(form: Mapping[str, Any], kuberay: Version) -> dict[str, Any]:
    """The part of a spec, read as RAY_HASH, that goes into KubeRay's hash."""
    pods_too = kuberay >= _PODS_MUTED_SINCE
    found = without(form, _MUTED)
    found["headGroupSpec"] = _unmuted(form["headGroupSpec"], frozenset(), pods_too)
    found["workerGroupSpecs"] = [_unmuted(group, _MUTED_IN_GROUP, pods_too) for group in form["workerGroupSpecs"]]
    return found


def without(value: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The mapping less some keys."""
    return {key: item for key, item in value.items() if key not in keys}


def only(value: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The mapping less all but some keys."""
    return {key: item for key, item in value.items() if key in keys}


def autoscales(form: Mapping[str, Any]) -> bool:
    """Whether the Ray autoscaler sets the numbers of workers."""
    return form.get("enableInTreeAutoscaling") is True


def strategy(owner: Mapping[str, Any]) -> str:
    """`upgradeStrategy.type` of a RayCluster's or RayService's spec, '' when there is none."""
    written = mapping(owner, "upgradeStrategy").get("type")
    return written if isinstance(written, str) else ""


def group_name(group: Mapping[str, Any]) -> str:
    """The name of a worker group, '' for none."""
    name = group.get("groupName")
    return name if isinstance(name, str) else ""


def desired(group: Mapping[str, Any]) -> int:
    """clamp(replicas, minReplicas, maxReplicas), in replicas; 0 for a group that is suspended."""
    if group.get("suspend") is True:
        return 0
    low, high = number(group, "minReplicas"), number(group, "maxReplicas")
    return max(min(max(number(group, "replicas"), low), high), 0)


def hosts(group: Mapping[str, Any]) -> int:
    """How many pods a replica is."""
    return max(number(group, "numOfHosts"), 0)


def number(group: Mapping[str, Any], key: str) -> int:
    """A number of a worker group; its default where what is written is no number."""
    written = group.get(key)
    return written if isinstance(written, int) and not isinstance(written, bool) else _GROUP_DEFAULTS[key]


def pods(form: Mapping[str, Any]) -> int:
    """How many pods KubeRay makes for the spec: the head and all workers."""
    return 1 + sum(desired(group) * hosts(group) for group in form["workerGroupSpecs"])


def changes(before: Mapping[str, Any], after: Mapping[str, Any], at: Path) -> tuple[Change, ...]:
    """
    Where two specs differ, with worker groups matched by name: one that was taken out is one change, however many
    places the others moved up.
    """
    groups = frozenset({"workerGroupSpecs"})
    found = list(differences(without(before, groups), without(after, groups), at))
    path = (*at, "workerGroupSpecs")
    old, new = _by_key(before), _by_key(after)
    found.extend(Change(path, f'worker group "{name}" (removed)') for name, nth in old if (name, nth) not in new)
    if [key for key in old if key in new] != [key for key in new if key in old]:
        found.append(Change(path, "the order of the worker groups"))
    last = max((index for key, (index, _) in new.items() if key in old), default=-1)
    for key, (index, group) in new.items():
        if key in old:
            found.extend(differences(old[key][1], group, (*path, index)))
        else:
            where = "added" if index > last else "added before others"
            found.append(Change((*path, index), f'worker group "{key[0]}" ({where})'))
    return tuple(found)


def in_both(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[tuple[int, dict[str, Any]], tuple[int, dict[str, Any]]]]:
    """The worker groups that are in both specs, by name: place and group before, place and group after."""
    old = _by_key(before)
    for key, place in _by_key(after).items():
        if key in old:
            yield old[key], place


def fixed(
    before: Mapping[str, Any], after: Mapping[str, Any], paths: Iterable[tuple[Path, Version]], kuberay: Version
) -> Iterator[Change]:
    """
    Fields that the CRD lets nobody change (`self == oldSelf`), since some version of KubeRay. Such a rule is only
    looked at where the field is set before and after: it may be added, and taken away.
    """
    if not (is_v1(before) and is_v1(after)):
        return
    for path, since in paths:
        old, new = _text_at(before, path), _text_at(after, path)
        if kuberay >= since and old and new and old != new:
            yield changed(path)


def rules(cluster: Path) -> tuple[tuple[Path, Version], ...]:
    """The fields of a Ray cluster spec at a path that `fixed` is about."""
    return ((*cluster, "managedBy"), (1, 3)), ((*cluster, "gcsFaultToleranceOptions", "backend"), (1, 7))


def _known(form: Mapping[str, Any], fields: Fields, v1: bool, kuberay: Version) -> dict[str, Any]:
    """The fields that the CRD has. Of a KubeRay that is newer than this table, what is unknown may well be there."""
    newer = kuberay[:2] > LATEST[:2]
    found = {}
    for key, item in form.items():
        row = fields.get(key)
        if (newer and v1) if row is None else (kuberay >= row[0] and (v1 or row[1])):
            found[key] = item
    return found


def _unmuted(group: Mapping[str, Any], muted: frozenset[str], pods_too: bool) -> dict[str, Any]:
    found = without(group, muted)
    template = found.pop("template", None)
    if pods_too and isinstance(template, dict) and isinstance(spec := template.get("spec"), dict):
        kept = without(spec, _MUTED_IN_POD)
        template = without(template, {"spec"}) | ({"spec": kept} if kept else {})
    return found | {"template": template} if template else found


def _by_key(form: Mapping[str, Any]) -> dict[tuple[str, int], tuple[int, dict[str, Any]]]:
    """The worker groups and their places, by what tells them apart: the name, and which of that name it is."""
    seen: Counter[str] = Counter()
    found = {}
    for index, group in enumerate(form["workerGroupSpecs"]):
        name = group_name(group)
        found[name, seen[name]] = (index, group)
        seen[name] += 1
    return found


def _text_at(value: Mapping[str, Any], path: Path) -> str:
    found = mapping(value, *(str(step) for step in path[:-1])).get(str(path[-1]))
    return found if isinstance(found, str) else ""
