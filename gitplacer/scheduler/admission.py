"""
What the API server does to pods before a scheduler sees them, and which of them it refuses.

Plug-ins fill in what a pod leaves open (LimitRange defaults, the overhead of a RuntimeClass; sizing applies both), give it a
priority, and refuse what breaks a LimitRange, names a class that is not there, or goes beyond a ResourceQuota. A controller whose
pods are refused tries again for ever, so for a gang a refusal is a no.

Nothing is held against a pod of which a cluster's objects say nothing: a kind of which there is not one was not asked for.
Sources: kubernetes 1.34 plugin/pkg/admission/{limitranger,priority,resourcequota,runtimeclass}, pkg/quota/v1/evaluator/core/pods.go,
kubernetes.io/docs/concepts/policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model.decision import Reason
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import ClaimSpec
from gitplacer.scheduler.reading import cursor_of
from gitplacer.scheduler.volumes import Objection
from gitplacer.workloads import limitranges, priorityclasses
from gitplacer.workloads.constraints import tolerations
from gitplacer.workloads.facts import Role
from gitplacer.workloads.limitranges import LimitItem, breaches, claim_breaches, container_defaults
from gitplacer.workloads.priorityclasses import BUILT_IN, PriorityClass
from gitplacer.workloads.quotas import Quota, exceeds, usage, wants
from gitplacer.workloads.quotas import read as read_quota
from gitplacer.workloads.requests import PodAsk
from gitplacer.workloads.surroundings import RuntimeClass, Surroundings

_PLUGIN_IS_ON = {"gce://": "-gke.", "aws://": "-eks-"}
"""
How the provider id of a node of GKE or EKS begins, and what is in the version of its kubelet. Both run the admission plug-in
ExtendedResourceToleration; clusters with their builds elsewhere, such as those of EKS Anywhere, are somebody else's.
"""
_Item = TypeVar("_Item")
KINDS = ("LimitRange", "RuntimeClass", "PriorityClass", "ResourceQuota")


class AdmissionRules(Struct, frozen=True):
    """
    What pods meet at the door. `limits` are by namespace items of LimitRanges, each with the name of its own; `runtime_classes` and
    `priorities` are None where none is known.
    """

    limits: Mapping[str, tuple[tuple[str, LimitItem], ...]]
    runtime_classes: tuple[RuntimeClass, ...] | None
    priorities: Mapping[str, PriorityClass] | None
    default_priority: PriorityClass
    quotas: Mapping[str, tuple[Quota, ...]]
    tolerates_extended: bool = False

    def beside(self, given: AdmissionRules) -> AdmissionRules:
        """
        These with those of objects that come beside the pods. Of one that is there already what comes counts; of a kind of which
        nobody asked what is there nothing is known still.
        """
        priorities = None if self.priorities is None else {**(given.priorities or {}), **self.priorities}
        return replace(
            self,
            limits=_by_name(self.limits, given.limits, lambda item: item[0]),
            priorities=priorities,
            default_priority=priorityclasses.default((priorities or {}).values()),
            quotas=_by_name(
                self.quotas,
                {space: self._used(space, some) for space, some in given.quotas.items()},
                lambda quota: quota.name,
            ),
        )

    def _used(self, namespace: str, quotas: Iterable[Quota]) -> tuple[Quota, ...]:
        """Quotas that come, with what is used of those that are there."""
        used = {quota.name: quota.used for quota in self.quotas.get(namespace, ())}
        return tuple(replace(quota, used=used.get(quota.name, NOTHING)) for quota in quotas)

    def around(self, namespace: str) -> Surroundings:
        """What pods of a namespace meet that changes what they ask for."""
        return Surroundings(
            container_defaults=container_defaults(self._of_containers(namespace)),
            runtime_classes=self.runtime_classes or (),
            tolerates_extended=self.tolerates_extended,
            judged=True,
        )

    def _of_containers(self, namespace: str) -> Iterator[LimitItem]:
        return (item for _, item in self.limits.get(namespace, ()) if item.of == "Container")

    def priority(self, role: Role) -> tuple[str, int]:
        """The class and the number of a role's priority; 0 where the class is not known."""
        found = self._priority_class(role)
        if found is None or (self.priorities is None and role.named.priority is not None):
            return role.named.priority_class, role.named.priority or 0
        return found.name, found.value

    def _priority_class(self, role: Role) -> PriorityClass | None:
        """The class of a role; None if it is not there."""
        name = role.named.priority_class
        return {**(self.priorities or {}), **BUILT_IN}.get(name) if name else self.default_priority

    def refusals(self, namespace: str, roles: Sequence[Role]) -> Iterator[Objection]:
        """Why pods of a namespace are not let in, apart from quotas."""
        for role in roles:
            yield from self._missing(role)
            if role.ask is not None and role.count:
                every = [item for _, item in self.limits.get(namespace, ())]
                for name, item in self.limits.get(namespace, ()):
                    for said in breaches(item, role.ask, every):
                        message = f"LimitRange {name} of namespace {namespace} refuses {role.name}: {said}"
                        yield Objection(Reason.LIMIT_RANGE, message)

    def refused_claims(self, namespace: str, claims: Mapping[str, ClaimSpec]) -> Iterator[Objection]:
        """Why volume claims of a namespace, by name, are not let in. A pod that has one of them waits for it."""
        for name, item in self.limits.get(namespace, ()):
            for claim, spec in claims.items():
                for said in claim_breaches(item, spec.size):
                    message = f"LimitRange {name} of namespace {namespace} refuses claim {claim}: {said}"
                    yield Objection(Reason.LIMIT_RANGE, message)

    def _missing(self, role: Role) -> Iterator[Objection]:
        runtime, priority = role.named.runtime_class, role.named.priority_class
        if runtime and self.runtime_classes is not None and all(c.name != runtime for c in self.runtime_classes):
            yield Objection(Reason.MISSING_RUNTIME_CLASS, f"{role.name}: there is no RuntimeClass {runtime}")
        for found in self.runtime_classes or ():
            overhead = NOTHING if role.ask is None else role.ask.overhead
            # sizing has filled in what the class says where the pod says nothing, and kept the pod's word where both do
            if found.name == runtime and (said := found.contradicts(dict(role.shape.node_selector), overhead)):
                yield Objection(Reason.RUNTIME_CLASS_CONFLICT, f"{role.name}: {said}")
        if self.priorities is None:
            return
        if (of := self._priority_class(role)) is None:
            yield Objection(Reason.MISSING_PRIORITY_CLASS, f"{role.name}: there is no PriorityClass {priority}")
        elif said := of.contradicts(role.named.priority, role.named.preemption):
            yield Objection(Reason.PRIORITY_CLASS_CONFLICT, f"{role.name}: {said}")

    def over_quota(self, namespace: str, roles: Sequence[Role], besides: Resources = NOTHING) -> Iterator[Objection]:
        """What quotas of a namespace have too little left of for all these pods together, and for what comes `besides` them."""
        limits = tuple(self._of_containers(namespace))
        there = [(role, usage(role.ask or PodAsk(()), role.shape.requests, limits)) for role in roles if role.count]
        for quota in self.quotas.get(namespace, ()):
            wanted: dict[str, int] = defaultdict(int)
            for role, used in there:
                if not quota.counts(role.named, role.shape, used, self.priority(role)[0]):
                    continue
                for name in quota.unsaid(used):
                    yield Objection(Reason.QUOTA_EXCEEDED, wants(quota, namespace, name, role.name))
                for name, amount in used.amounts.items():
                    wanted[name] += amount * role.count
            for name, amount in besides.items() if not quota.scopes else ():
                wanted[name] += amount
            for name in sorted(quota.hard):
                if 0 < wanted.get(name, 0) > quota.left(name):
                    yield Objection(Reason.QUOTA_EXCEEDED, exceeds(quota, namespace, name, wanted[name]))


def _by_name(
    there: Mapping[str, tuple[_Item, ...]], given: Mapping[str, tuple[_Item, ...]], name: Callable[[_Item], str]
) -> dict[str, tuple[_Item, ...]]:
    """By namespace what is given, and what is there besides by other names."""
    found = dict(there)
    for namespace, items in given.items():
        names = {name(item) for item in items}
        found[namespace] = (*(item for item in there.get(namespace, ()) if name(item) not in names), *items)
    return found


# -- how they are read --------------------------------------------------------------------------------------------


def tolerates_extended(nodes: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one of these nodes shows that its API server gives pods tolerations for the extended resources they ask for."""
    for root in map(cursor_of, nodes):
        provider = root.mapping("spec").text("providerID")
        built = root.mapping("status").mapping("nodeInfo").text("kubeletVersion")
        if any(provider.startswith(whose) and by in built for whose, by in _PLUGIN_IS_ON.items()):
            return True
    return False


def read_rules(objects: Iterable[Mapping[str, Any]]) -> AdmissionRules:
    """
    What a cluster's LimitRanges, RuntimeClasses, PriorityClasses and ResourceQuotas say, and its nodes of the plug-ins of its API server.
    """
    by_kind: dict[str, list[Cursor]] = {kind: [] for kind in KINDS}
    nodes: list[Mapping[str, Any]] = []
    for value in objects:
        kind = value.get("kind")
        if kind == "Node":
            nodes.append(value)
        elif isinstance(kind, str) and kind in by_kind:
            by_kind[kind].append(cursor_of(value))
    limits: dict[str, list[tuple[str, LimitItem]]] = defaultdict(list)
    for root in by_kind["LimitRange"]:
        limits[_namespace(root)].extend((_named(root), item) for item in limitranges.read(root))
    quotas: dict[str, list[Quota]] = defaultdict(list)
    for root in by_kind["ResourceQuota"]:
        quotas[_namespace(root)].append(read_quota(root))
    priorities = {_named(root): priorityclasses.read(root) for root in by_kind["PriorityClass"]}
    return AdmissionRules(
        limits={namespace: tuple(found) for namespace, found in limits.items()},
        runtime_classes=tuple(map(_runtime_class, by_kind["RuntimeClass"])) or None,
        priorities=priorities or None,
        default_priority=priorityclasses.default(priorities.values()),
        quotas={namespace: tuple(found) for namespace, found in quotas.items()},
        tolerates_extended=tolerates_extended(nodes),
    )


def _named(root: Cursor) -> str:
    return root.mapping("metadata").text("name")


def _namespace(root: Cursor) -> str:
    return root.mapping("metadata").text("namespace") or "default"


def _runtime_class(root: Cursor) -> RuntimeClass:
    scheduling = root.mapping("scheduling")
    return RuntimeClass(
        _named(root),
        root.mapping("overhead").quantities("podFixed"),
        tuple(sorted(scheduling.labels("nodeSelector").items())),
        tuple(tolerations(scheduling)),
    )
