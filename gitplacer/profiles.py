"""
What a cluster can do besides offering room: its profile, from what people wrote in the Cluster and what its snapshot found.

Field by field what is written wins, because a person may know of an upgrade that the snapshot has not seen; of feature
gates each one is a field, and objects that are present add up. From a profile come the two answers that others ask for:
what pods meet there (`surroundings`), and what of an object it cannot serve (`unmet`). What nobody looked at is not
held against a cluster: unknown is neither yes nor no.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from operator import itemgetter
from typing import NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.documents import Document, parse
from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.kinds.fields import Model
from gitplacer.kinds.fleet import Cluster, ClusterSpec
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.profile import Equipment, KubeRay, LimitRange, StorageClass
from gitplacer.kinds.profile import PriorityClass as DeclaredPriorityClass
from gitplacer.kinds.profile import RuntimeClass as DeclaredRuntimeClass
from gitplacer.kinds.quotas import ResourceQuota
from gitplacer.model import quantity
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import LabelPairs
from gitplacer.model.resources import NOTHING
from gitplacer.model.workload import ClaimSpec, Identity, Named, NodeTerm
from gitplacer.problems import Location, Problem, Rejected
from gitplacer.workloads import priorityclasses
from gitplacer.workloads.demands import CERT_MANAGER, GATEWAY_API
from gitplacer.workloads.edits import Operator
from gitplacer.workloads.facts import Demand
from gitplacer.workloads.limitranges import LimitItem, container_defaults, filled_in
from gitplacer.workloads.priorityclasses import PriorityClass
from gitplacer.workloads.quotas import Quota, resource_of
from gitplacer.workloads.surroundings import USUAL, RuntimeClass, Surroundings

NEWEST_KUBERAY = (1, 7)
"""The newest minor version whose feature gates we know. A later one may have a gate on that was off so far."""
_INDEXING = Demand("labels that count replicas", since=(1, 5), gate="RayMultiHostIndexing", on_since=(1, 6))
"""KubeRay gives workers labels by which their replicas, and hosts of these, are told apart."""

Reach = tuple[tuple[NodeTerm, ...], ...]
"""Nodes: of each of these, one of the terms must hold."""
_Field = TypeVar("_Field")


class Coming(NamedTuple):
    """
    What the source brings to a cluster, which may not be there yet: PriorityClasses, and by namespace items of LimitRanges with their names
    and ResourceQuotas.
    """

    priorities: tuple[PriorityClass, ...] = ()
    limits: Mapping[str, tuple[tuple[str, LimitItem], ...]] = {}
    quotas: Mapping[str, tuple[Quota, ...]] = {}


NOTHING_COMES = Coming()


class ClusterProfile(Struct, frozen=True, dict=True):
    """
    What is known of one cluster. None, and an empty KubeRay field, is what nobody looked at.

    `serves` has API groups without versions. `runtime_classes`, `limit_ranges` and `present` are as they were declared,
    the last as identities; `coming` is what the source brings; `volumes` has by `<namespace>/<claim>` from which nodes the volume is reached.
    """

    kuberay: KubeRay = field(default_factory=KubeRay)
    limit_ranges: tuple[LimitRange, ...] = ()
    runtime_classes: tuple[DeclaredRuntimeClass, ...] | None = None
    priority_classes: tuple[PriorityClass, ...] | None = None
    coming: Coming = NOTHING_COMES
    gang_scheduler: str | None = None
    slice_topology: str = ""
    extended_resource_toleration: bool = False
    gateway_api: bool | None = None
    cert_manager: bool | None = None
    sealing_key: str | None = None
    present: frozenset[Identity] = frozenset()
    serves: frozenset[str] | None = None
    resource_quotas: tuple[ResourceQuota, ...] = ()
    storage_classes: tuple[StorageClass, ...] = ()
    volumes: Mapping[str, Reach] = field(default_factory=dict)

    @staticmethod
    def of(cluster: Cluster, snapshot: CapacitySnapshot | None, coming: Coming = NOTHING_COMES) -> ClusterProfile:
        """The profile of a cluster; `snapshot` is None where there is none that can be used."""
        written = cluster.spec.profile
        found: Equipment = snapshot if snapshot is not None else Equipment()
        serves = None if snapshot is None or snapshot.serves is None else _groups(snapshot.serves)
        return ClusterProfile(
            kuberay=_merged(written.kuberay, found.kuberay),
            limit_ranges=_first(written.limit_ranges, found.limit_ranges) or (),
            runtime_classes=_first(written.runtime_classes, found.runtime_classes),
            priority_classes=_priorities(_first(written.priority_classes, found.priority_classes)),
            coming=coming,
            gang_scheduler=_first(written.gang_scheduler, found.gang_scheduler),
            slice_topology=_first(written.slice_topology, found.slice_topology) or "",
            extended_resource_toleration=_first(
                written.extended_resource_toleration, found.extended_resource_toleration
            )
            or False,
            gateway_api=_first(written.gateway_api, None if serves is None else GATEWAY_API in serves),
            cert_manager=_first(written.cert_manager, None if serves is None else CERT_MANAGER in serves),
            sealing_key=written.sealing_key,
            present=frozenset(
                Identity(item.api_group, item.kind, item.namespace, item.name)
                for item in (*(written.present or ()), *(found.present or ()))
            )
            | _local_queues(snapshot),
            serves=serves,
            resource_quotas=() if snapshot is None else snapshot.resource_quotas or (),
            storage_classes=_first(written.storage_classes, found.storage_classes) or (),
            volumes={} if snapshot is None else {volume.claim: volume.reach() for volume in snapshot.volumes},
        )

    @cached_property
    def version(self) -> tuple[int, ...]:
        """KubeRay's version without what follows a dash or plus, (1, 7, 0); empty if it is not known."""
        text = (self.kuberay.version or "").removeprefix("v").partition("-")[0].partition("+")[0]
        return tuple(int(part) for part in text.split(".")) if text else ()

    @property
    def operator(self) -> Operator:
        """How its KubeRay was started, as far as upgrades go by it."""
        gates = self.kuberay.feature_gates or {}
        return Operator(self.kuberay.zero_downtime is not False, gates.get("RayServiceIncrementalUpgrade"))

    def has(self, identity: Identity) -> bool:
        """Whether somebody said that an object is there without being in the source, as one of what is `present` or as a class."""
        return identity in self.present or identity in self._classes

    @cached_property
    def _classes(self) -> frozenset[Identity]:
        """The classes that a snapshot or somebody tells of by themselves, and not among what is `present`."""
        named = (
            ("storage.k8s.io", "StorageClass", (each.name for each in self.storage_classes)),
            (priorityclasses.API_GROUP, priorityclasses.KIND, (each.name for each in self.priority_classes or ())),
        )
        return frozenset(Identity(group, kind, "", name) for group, kind, names in named for name in names)

    def watches(self, namespace: str) -> bool:
        """Whether its KubeRay looks at a namespace. An operator that was told none looks at all."""
        return not self.kuberay.watch_namespaces or namespace in self.kuberay.watch_namespaces

    # what pods meet there

    def surroundings(self, namespace: str) -> Surroundings:
        """What pods of a namespace meet on the cluster. Claims are not among it: they stand in the source."""
        return self._by_namespace.get(namespace, self._anywhere)

    @cached_property
    def changes_sizes(self) -> bool:
        """Whether pods meet anything there that they would not meet on a cluster of which nothing is known."""
        return any(around != USUAL for around in (self._anywhere, *self._by_namespace.values()))

    @property
    def meetings(self) -> tuple[tuple[str, Surroundings], ...]:
        """What pods meet, by namespace, and at last in all others: two clusters of which this is equal add the same to each."""
        return (*sorted(self._by_namespace.items(), key=itemgetter(0)), ("", self._anywhere))

    @cached_property
    def _anywhere(self) -> Surroundings:
        """What pods meet in a namespace without LimitRanges."""
        return self._surroundings(())

    @cached_property
    def _by_namespace(self) -> Mapping[str, Surroundings]:
        return {namespace: self._surroundings(items) for namespace, items in self._limits.items()}

    @cached_property
    def quotas(self) -> Mapping[str, tuple[Quota, ...]]:
        """
        ResourceQuotas by namespace. Of one that the source has too what the source says counts, with what is used of it; None of one that
        is not there yet.
        """
        found: dict[str, dict[str, Quota]] = defaultdict(dict)
        for item in self.resource_quotas:
            found[item.namespace][item.name] = _quota(item)
        for namespace, quotas in self.coming.quotas.items():
            for quota in quotas:
                there = found[namespace].get(quota.name)
                found[namespace][quota.name] = replace(quota, used=None if there is None else there.used)
        return {namespace: tuple(quotas.values()) for namespace, quotas in found.items()}

    @property
    def usual_class(self) -> str | None:
        """The StorageClass of claims that name none, '' if they get none; None where nobody knows."""
        if not self.storage_classes:
            return None
        return next((each.name for each in self.storage_classes if each.default), "")

    def priority_class(self, named: Named) -> str:
        """The name of the PriorityClass that pods get; '' where they get none, or nobody knows."""
        usual = self._priorities.get("") if not named.priority_class else None
        return named.priority_class if usual is None else usual.name

    @cached_property
    def _limits(self) -> Mapping[str, list[LimitItem]]:
        """The items of LimitRanges by namespace. One that the source has too is as the source has it, as soon as that is there."""
        found: dict[str, list[LimitItem]] = defaultdict(list)
        for namespace, items in self.coming.limits.items():
            found[namespace] += (item for _, item in items)
        for written in self.limit_ranges:
            if all(name != written.name for name, _ in self.coming.limits.get(written.namespace, ())):
                found[written.namespace].append(_kept(written))
        return found

    @cached_property
    def refuses_pods(self) -> bool:
        """Whether there are pods that a LimitRange there keeps out."""
        return any(item.refuses for items in self._limits.values() for item in items)

    def _surroundings(self, items: Sequence[LimitItem]) -> Surroundings:
        kuberay, kept = self.kuberay, tuple(dict.fromkeys(items))
        return Surroundings(
            kuberay=self.version if self._before(NEWEST_KUBERAY) else (),
            waits_for_gcs=kuberay.init_container_injection is not False,
            head_sidecars=tuple((sidecar.name, sidecar.requests) for sidecar in kuberay.head_sidecars or ()),
            worker_sidecars=tuple((sidecar.name, sidecar.requests) for sidecar in kuberay.worker_sidecars or ()),
            zero_downtime=kuberay.zero_downtime is not False,
            container_defaults=container_defaults(kept),
            runtime_classes=self._runtime_classes,
            counts_replicas=not self._before(_INDEXING.since) and not self._gated_off(_INDEXING),
            limits=kept if any(item.refuses for item in kept) else (),
            tolerates_extended=self.extended_resource_toleration,
        )

    @cached_property
    def _runtime_classes(self) -> tuple[RuntimeClass, ...]:
        return tuple(
            RuntimeClass(
                item.name,
                item.overhead,
                tuple(sorted(item.node_selector.items())),
                tuple(toleration.toleration() for toleration in item.tolerations),
            )
            for item in self.runtime_classes or ()
        )

    # where volumes are

    @cached_property
    def binds_volumes(self) -> bool:
        """Whether any volume is known to be out of reach from some nodes there."""
        return any(self.volumes.values()) or any(each.reach() for each in self.storage_classes)

    def reach_of(self, claim: str, spec: ClaimSpec | None) -> Reach:
        """The nodes from which the volume of a claim, `<namespace>/<claim>`, is or will be reached; () where nobody says."""
        if claim in self.volumes:
            return self.volumes[claim]
        return () if spec is None else self._reach_of_class(spec.storage_class)

    def _reach_of_class(self, name: str | None) -> Reach:
        found = (each for each in self.storage_classes if (each.default if name is None else each.name == name))
        return next((each.reach() for each in found), ())

    # what it cannot serve

    @cached_property
    def is_blank(self) -> bool:
        """Whether nothing is known that could be held against anybody."""
        kuberay = self.kuberay
        operator = (
            kuberay.version, kuberay.feature_gates, kuberay.watch_namespaces, kuberay.deletes_finished_jobs
        )  # fmt: skip
        served = (
            self.serves,
            self.gateway_api,
            self.cert_manager,
            self.runtime_classes,
            self.priority_classes,
            self.gang_scheduler,
            self.sealing_key,
        )
        return not any(operator) and not self.coming.priorities and all(item is None for item in served)

    def unmet(self, demand: Demand) -> str | None:
        """Why the cluster cannot serve what an object asks of it, in words, or None."""
        return (
            self._too_old(demand)
            or self._gated_off(demand)
            or self._not_served(demand)
            or self._without_runtime_class(demand)
            or self._refused_for_priority(demand)
            or self._refused_by_scheduler(demand)
            or self._cannot_unseal(demand)
            or self._deletes(demand)
        )

    def _too_old(self, demand: Demand) -> str | None:
        if not self._before(demand.since):
            return None
        since = ".".join(str(part) for part in demand.since)
        return f"needs KubeRay {since}, which has {demand.feature}; {self.kuberay.version} runs there"

    def _before(self, version: tuple[int, ...]) -> bool:
        """Whether its KubeRay is known to be older. A version without a patch stands for its latest."""
        return bool(self.version) and self.version < version[: len(self.version)]

    def _gated_off(self, demand: Demand) -> str | None:
        if not demand.gate:
            return None
        gates = self.kuberay.feature_gates or {}
        enabled = gates[demand.gate] if demand.gate in gates else self._by_default(demand, gates)
        return None if enabled is not False else f"feature gate {demand.gate} is off, and {demand.feature} needs it"

    def _by_default(self, demand: Demand, gates: Mapping[str, bool]) -> bool | None:
        """
        What a gate is where nobody set it; None where that is not known. `AllAlpha` stands for all that are off by
        default, `AllBeta` for those that are on (k8s.io/component-base/featuregate).
        """
        if not self.version:
            return None
        if demand.on_since and not self._before(demand.on_since):
            return gates.get("AllBeta", True)
        return gates.get("AllAlpha", False if self.version[:2] <= NEWEST_KUBERAY else None)

    def _not_served(self, demand: Demand) -> str | None:
        if not demand.api:
            return None
        served = {GATEWAY_API: self.gateway_api, CERT_MANAGER: self.cert_manager}.get(demand.api)
        if served is None and self.serves is not None:
            served = demand.api in self.serves
        return None if served is not False else f"{demand.api} is not served, and {demand.feature} needs it"

    def _without_runtime_class(self, demand: Demand) -> str | None:
        name = demand.runtime_class
        if not name or self.runtime_classes is None:
            return None
        found = next((item for item in self._runtime_classes if item.name == name), None)
        if found is not None:
            return found.contradicts(dict(demand.node_selector), dict(_amounts(demand.overhead)))
        if self.has(Identity("node.k8s.io", "RuntimeClass", "", name)):
            return None
        return f"there is no RuntimeClass {name}"

    def _refused_for_priority(self, demand: Demand) -> str | None:
        name = demand.priority_class
        if not (name or demand.priority or demand.preemption):
            return None
        found = self._priorities.get(name)
        if found is not None:
            return found.contradicts(int(demand.priority) if demand.priority else None, demand.preemption)
        if self.priority_classes is None or self.has(
            Identity(priorityclasses.API_GROUP, priorityclasses.KIND, "", name)
        ):
            return None
        return f"there is no PriorityClass {name}"

    @cached_property
    def _priorities(self) -> Mapping[str, PriorityClass]:
        """What is known of PriorityClasses by name, '' for what pods get that name none."""
        there = {each.name: each for each in (*self.coming.priorities, *(self.priority_classes or ()))}
        if self.priority_classes is None:
            return {**there, **priorityclasses.BUILT_IN}
        return {**there, **priorityclasses.BUILT_IN, "": priorityclasses.default(there.values())}

    def _refused_by_scheduler(self, demand: Demand) -> str | None:
        if self.gang_scheduler not in demand.schedulers:
            return None
        return f"KubeRay with gang scheduler {self.gang_scheduler} refuses {demand.feature}"

    def _deletes(self, demand: Demand) -> str | None:
        if not demand.stays or not self.kuberay.deletes_finished_jobs:
            return None
        return "its KubeRay deletes RayJobs that are done, and Git would run them again"

    def _cannot_unseal(self, demand: Demand) -> str | None:
        if not demand.sealing_key or self.sealing_key in (None, demand.sealing_key):
            return None
        return f"it opens secrets sealed for {self.sealing_key}, and one is sealed for {demand.sealing_key}"


def _amounts(texts: LabelPairs) -> Iterator[tuple[str, int]]:
    """The amounts of quantities; one that is none is reported where pods are sized."""
    for name, text in texts:
        with suppress(quantity.InvalidQuantity):
            yield name, quantity.amount(name, text)


def _kept(item: LimitRange) -> LimitItem:
    """A LimitRange as the API server keeps it, which a person may have written down without what it fills in."""
    return filled_in(
        LimitItem(
            of=item.type,
            default=item.default if item.type == "Container" else NOTHING,
            default_request=item.default_request if item.type == "Container" else NOTHING,
            least=item.min,
            most=item.max,
            ratio={name: quantity.parse(text) for name, text in item.max_limit_request_ratio.items()},
        )
    )


def _priorities(declared: tuple[DeclaredPriorityClass, ...] | None) -> tuple[PriorityClass, ...] | None:
    if declared is None:
        return None
    return tuple(PriorityClass(item.name, item.value, item.preemption_policy, item.global_default) for item in declared)


def _quota(item: ResourceQuota) -> Quota:
    hard, used = (
        {name: quantity.amount(resource_of(name), text) for name, text in each.items()}
        for each in (item.hard, item.used)
    )
    scopes = tuple(Requirement(scope.scope_name, scope.operator, scope.values) for scope in item.scopes)
    return Quota(name=item.name, hard=hard, used=used, scopes=scopes)


def _first(written: _Field | None, found: _Field | None) -> _Field | None:
    return found if written is None else written


def _merged(written: KubeRay | None, found: KubeRay | None) -> KubeRay:
    if written is None or found is None:
        return written or found or KubeRay()
    fields = {name: _first(getattr(written, name), getattr(found, name)) for name in KubeRay.model_fields}
    if written.feature_gates is not None and found.feature_gates is not None:
        fields["feature_gates"] = {**found.feature_gates, **written.feature_gates}
    return found.model_copy(update=fields)


def _local_queues(snapshot: CapacitySnapshot | None) -> frozenset[Identity]:
    """The LocalQueues of Kueue that a snapshot tells of."""
    queues = snapshot.queues or () if snapshot is not None else ()
    names = (local.name.partition("/") for queue in queues for local in queue.local_queues)
    return frozenset(Identity("kueue.x-k8s.io", "LocalQueue", namespace, name) for namespace, _, name in names)


def _groups(serves: Iterable[str]) -> frozenset[str]:
    """The API groups of entries that may name a version (`ray.io/v1`) or a whole group (`ray.io`)."""
    return frozenset(entry.partition("/")[0] for entry in serves)


def read_profile(files: Mapping[str, bytes]) -> ClusterProfile:
    """
    The profile that a Cluster, a CapacitySnapshot or both say in some files.

    Raises Rejected with every problem found, also where there is something else in them.
    """
    problems: list[Problem] = []
    found: dict[type[Model], Model] = {}
    for path, data in files.items():
        parsed = parse(data)
        problems += [Problem(Location(path, f.line, f.column), f.code, f.message, f.hint) for f in parsed.faults]
        for index, item in enumerate(parsed.documents):
            document = Document(path, item, index, partial(bytes, data))
            own = parse_own(document) if is_own(document) else []
            if isinstance(own, Cluster | CapacitySnapshot):
                found[type(own)] = own
            else:
                hint = "give the Cluster, its CapacitySnapshot, or both"
                problems += (
                    own if isinstance(own, list) and own else [document.problem("MisplacedKind", "is neither", hint)]
                )
    if problems:
        raise Rejected(problems)
    snapshot, cluster = found.get(CapacitySnapshot), found.get(Cluster)
    nameless = Cluster.model_construct(spec=ClusterSpec())
    return ClusterProfile.of(
        cluster if isinstance(cluster, Cluster) else nameless,
        snapshot if isinstance(snapshot, CapacitySnapshot) else None,
    )
