"""
What a cluster has besides nodes, as the fields of a snapshot: what its namespaces and runtime classes add to pods, where volumes
are, which APIs it serves, what is there that no source has.

Objects come page by page as an API server lists them, without a kind of their own; what is read here is put together by whoever
reads the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from gitplacer.kinds.capacity import BoundVolume
from gitplacer.kinds.profile import ZONE, LimitRange, PresentObject, PriorityClass, RuntimeClass, StorageClass
from gitplacer.kinds.quotas import QuotaScope, ResourceQuota
from gitplacer.kinds.selectors import LabelSelector, TolerationField
from gitplacer.model import quantity
from gitplacer.model.resources import NOTHING
from gitplacer.model.workload import Identity
from gitplacer.observing.listing import written_selector
from gitplacer.scheduler.admission import read_rules
from gitplacer.scheduler.reading import cursor_of
from gitplacer.scheduler.storage import CLASS, VOLUME, Reach, read_storage
from gitplacer.source.apigroups import BUILT_IN_GROUPS
from gitplacer.workloads import priorityclasses, quotas
from gitplacer.workloads.requests import Amounts

_WRITABLE = ("In", "NotIn", "Exists", "DoesNotExist")
_OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def limit_ranges(values: Iterable[Mapping[str, Any]]) -> tuple[LimitRange, ...]:
    """What LimitRanges give to containers that ask for nothing, and want of all, or of pods. Others are about no pods."""
    found = []
    for namespace, limits in read_rules({**value, "kind": "LimitRange"} for value in values).limits.items():
        for name, item in limits:
            if item.refuses or (item.of == "Container" and item.default_request):
                found.append(
                    LimitRange(
                        namespace=namespace,
                        name=name,
                        type="Pod" if item.of == "Pod" else "Container",
                        default=_rendered(item.default),  # type: ignore[arg-type]
                        default_request=_rendered(item.default_request),  # type: ignore[arg-type]
                        min=_rendered(item.least),  # type: ignore[arg-type]
                        max=_rendered(item.most),  # type: ignore[arg-type]
                        max_limit_request_ratio={name: _ratio(ratio) for name, ratio in sorted(item.ratio.items())},
                    )
                )
    return tuple(sorted(found, key=repr))


def _ratio(ratio: int | Fraction) -> str:
    """A number of times, which quantities tell to a billionth."""
    return f"{float(ratio):.9f}".rstrip("0").rstrip(".")


def _rendered(amounts: Amounts) -> dict[str, str]:
    return {name: quantity.render(name, ceil(amount)) for name, amount in sorted(amounts.items())}


def resource_quotas(values: Iterable[Mapping[str, Any]]) -> tuple[ResourceQuota, ...]:
    """What ResourceQuotas bound, and what is used of it. One that bounds nothing is left out."""
    found = []
    for root in map(cursor_of, values):
        quota = quotas.read(root)
        hard = dict(sorted(quota.hard.items()))
        if hard:
            found.append(
                ResourceQuota(
                    namespace=root.mapping("metadata").text("namespace"),
                    name=quota.name,
                    hard=_of_quota(hard),
                    used=_of_quota({name: amount for name, amount in (quota.used or NOTHING).items() if name in hard}),
                    scopes=tuple(
                        QuotaScope(scope_name=each.key, operator=each.operator, values=each.values)  # type: ignore[arg-type]
                        for each in quota.scopes
                    ),
                )
            )
    return tuple(sorted(found, key=lambda each: (each.namespace, each.name)))


def _of_quota(amounts: Amounts) -> dict[str, str]:
    return {name: quantity.render(quotas.resource_of(name), ceil(amount)) for name, amount in amounts.items()}


def runtime_classes(values: Iterable[Mapping[str, Any]]) -> tuple[RuntimeClass, ...]:
    """All RuntimeClasses."""
    found = read_rules({**value, "kind": "RuntimeClass"} for value in values).runtime_classes or ()
    return tuple(
        RuntimeClass(
            name=item.name,
            overhead=item.overhead.rendered(),  # type: ignore[arg-type]
            node_selector=dict(item.node_selector),
            tolerations=tuple(
                TolerationField(key=t.key, operator=t.operator, value=t.value, effect=t.effect)  # type: ignore[arg-type]
                for t in item.tolerations
                if t.operator in ("Equal", "Exists")
            ),
        )
        for item in sorted(found, key=lambda item: item.name)
    )


def priority_classes(values: Iterable[Mapping[str, Any]]) -> tuple[PriorityClass, ...]:
    """All PriorityClasses, but for those that every cluster has."""
    found = (priorityclasses.read(cursor_of(value)) for value in values)
    return tuple(
        PriorityClass(
            name=item.name,
            value=item.value,
            preemption_policy="Never" if item.preemption == "Never" else "PreemptLowerPriority",
            global_default=item.is_default,
        )
        for item in sorted(found, key=lambda item: item.name)
        if item.name not in priorityclasses.BUILT_IN
    )


def storage_classes(values: Iterable[Mapping[str, Any]]) -> tuple[StorageClass, ...]:
    """All StorageClasses, with the one default that counts."""
    found = read_storage({**value, "kind": CLASS} for value in values).classes
    return tuple(
        StorageClass(name=item.name, default=item.default, node_affinity=_terms(item.topologies))
        for item in sorted(found.values(), key=lambda item: item.name)
    )


def bound_volumes(values: Iterable[Mapping[str, Any]]) -> Iterator[BoundVolume]:
    """The claims of PersistentVolumes that are not reached from every node."""
    for value in values:
        if cursor_of(value).mapping("status").text("phase") != "Bound":
            continue
        for volume in read_storage([{**value, "kind": VOLUME}]).volumes.values():
            labels = cursor_of(value).mapping("metadata").labels("labels")
            zones = sorted({zone for zone in (labels.get(ZONE) or labels.get(_OLD_ZONE, "")).split("__") if zone})
            terms = _terms(volume.affinity)
            if volume.claim is not None and (zones or terms):
                yield BoundVolume(claim="/".join(volume.claim), zones=tuple(zones), node_affinity=terms)


def _terms(reach: Reach) -> tuple[LabelSelector, ...]:
    """The alternatives of one condition on nodes. What a selector cannot say is left out, which lets in more nodes."""
    written = (
        written_selector(r for r in term.labels if r.operator in _WRITABLE) for terms in reach[:1] for term in terms
    )
    return tuple(selector for selector in written if selector is not None)


def served(groups: Mapping[str, Any]) -> tuple[str, ...]:
    """The API groups and versions of an APIGroupList that Kubernetes does not bring."""
    found = set()
    for group in cursor_of(groups).items("groups"):
        if group.text("name") not in BUILT_IN_GROUPS:
            found |= {item.text("groupVersion") for item in group.items("versions")}
    return tuple(sorted(found - {""}))


def versions(groups: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The versions of an API group that are served, the preferred one first."""
    for group in cursor_of(groups).items("groups"):
        if group.text("name") == name:
            preferred = group.mapping("preferredVersion").text("version")
            listed = [item.text("version") for item in group.items("versions")]
            return tuple(sorted(listed, key=lambda version: (version != preferred, version)))
    return ()


def present(values: Iterable[Mapping[str, Any]], group: str, kind: str) -> Iterator[Identity]:
    """The identities of objects of one kind."""
    for value in values:
        metadata = cursor_of(value).mapping("metadata")
        yield Identity(group, kind, metadata.text("namespace"), metadata.text("name"))


_MADE_UP = re.compile("(.+-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|local-pv-[0-9a-f]{1,8}")
"""The names of PersistentVolumes that a provisioner makes for a claim, `pvc-<its UID>`, or for each disk of a node."""


def chosen_volumes(values: Iterable[Mapping[str, Any]]) -> Iterator[Identity]:
    """The PersistentVolumes that somebody made and named, which claims may name."""
    return (found for found in present(values, "", "PersistentVolume") if not _MADE_UP.fullmatch(found.name))


def present_objects(found: Iterable[Identity], deployed: Iterable[Identity]) -> tuple[PresentObject, ...]:
    """Objects that are there without gitplacer having put them there."""
    return tuple(
        PresentObject(api_group=group, kind=kind, namespace=namespace, name=name)
        for group, kind, namespace, name in sorted(set(found) - set(deployed))
    )
