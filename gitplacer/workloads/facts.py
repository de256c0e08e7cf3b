"""
What placement wants to know of one object, as plain values.

An object becomes pods (its gang), needs other objects, is pointed at by others, selects pods by label, and may be such
that a second copy of it would do harm. Facts are read from the manifest alone: they do not depend on
the file's path, on a policy or on a cluster, so they can be kept as long as the blob is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from msgspec import Struct, structs

from gitplacer.documents import Cursor, Path
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import LabelPairs, of_another, untold_in
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import NO_NAMES, ClaimSpec, Gang, Named, PodSet, PodShape
from gitplacer.workloads.limitranges import LimitItem
from gitplacer.workloads.priorityclasses import PriorityClass
from gitplacer.workloads.quotas import Quota, Usage
from gitplacer.workloads.requests import PodAsk
from gitplacer.workloads.surroundings import Surroundings

LabelSelector = tuple[Requirement, ...]
"""All requirements must hold. An empty one selects everything and is therefore never recorded."""


@dataclass(frozen=True, order=True)
class Reference:
    """
    One object that another names. `api_group` is '' for core kinds. `namespace` '' means that of the object that
    refers; it is written only where the manifest names a namespace but not its own, and then counts
    only if the two turn out to be the same. `path` is where it is said, and no part of what is said.
    """

    api_group: str
    kind: str
    name: str
    optional: bool = False
    path: Path = field(default=(), compare=False)
    namespace: str = ""
    cluster_scoped: bool = False


class PodLabels(Struct, frozen=True):
    """Labels the pods of one role will carry, sorted: the template's and those a controller adds and we can know."""

    role: str
    labels: tuple[tuple[str, str], ...]


Reserve = Literal["Desired", "Minimum", "Maximum"]
"""How many of the pods that an autoscaling app may have are to find room."""


@dataclass(frozen=True)
class Role:
    """
    What one role of an object becomes: pods of one shape, `count` of them as it is written, from `minimum` to `maximum`
    (None: unbounded) as its bounds say, and `surge` more while an update runs.

    Something in the cluster may take it down to the minimum (`shrinks`) or up to the maximum (`grows`) by itself.
    `waits`: while an update runs, none of its pods goes before one that comes is available.
    `slice_size` pods each belong together on one topology domain (the hosts of a TPU slice). `per_node`: there is
    one on each node that admits it, so that `count` is not known before the cluster is. `named` is what its pods name that
    their cluster has to know.

    `usage` is what each pod takes of quotas; None where nobody asks.

    `queued` is how many pods Kueue counts where these are fewer than `count`, and `queued_requests` what it counts of each, None
    where that is what a node must have room for.

    `ask`, `counted` and `bounded` say where the requests, the count and its bounds come from; they are said once and not
    remembered.
    """

    name: str
    shape: PodShape
    count: int
    minimum: int
    maximum: int | None
    surge: int = 0
    slice_size: int = 1
    shrinks: bool = False
    grows: bool = False
    per_node: bool = False
    waits: bool = False
    named: Named = NO_NAMES
    queued: int | None = None
    queued_requests: Resources | None = None
    usage: Usage | None = None
    ask: PodAsk | None = field(default=None, compare=False)
    counted: str = field(default="", compare=False)
    bounded: str = field(default="", compare=False)

    def reserved(self, reserve: Reserve, *, with_peak: bool) -> int:
        """How many pods are to find room. An unbounded maximum is taken for the count; `unbounded` tells."""
        number = self.count
        if reserve == "Minimum" and self.shrinks:
            number = self.minimum
        elif reserve == "Maximum" and self.grows and self.maximum is not None:
            number = self.maximum
        return number + (self.surge if with_peak else 0)

    def reserved_of_queue(self, reserve: Reserve) -> int:
        """
        How many pods Kueue surely counts before it lets them in: not those that an autoscaler may add, nor those of an update,
        and not what the bounds make of the written number.
        """
        number = self.count if self.queued is None else min(self.count, self.queued)
        return min(number, self.reserved(reserve, with_peak=False))

    def idles(self, reserve: Reserve) -> bool:
        """
        Whether there may be none of its pods for now and some later: no room is sought for them, and somebody, or something in the cluster, may
        start some, or there is one on each node that admits it, and that may be none.
        """
        return self.maximum != 0 and (self.per_node or not self.reserved(reserve, with_peak=False))

    @property
    def unbounded(self) -> bool:
        return self.grows and self.maximum is None


@dataclass(frozen=True, order=True)
class Demand:
    """
    Something that an object asks of a cluster besides room, in words people know it by (`feature`).

    `since` is the KubeRay version that has it and `gate` its feature gate, on by default from `on_since` (empty: never);
    `api` an API group that must be served; `runtime_class` a RuntimeClass that must be there, and admit pods with this `node_selector` and
    `overhead`, both as they are written; `priority_class` a PriorityClass that must be there, '' for that of pods that name none, and give pods
    what they say themselves of their `priority` and their `preemption` policy, '' where they say nothing; `sealing_key` the key that must open it; `stays`: the object must not be deleted when it is done; `schedulers` the gang schedulers with which KubeRay refuses it.
    """

    feature: str
    since: tuple[int, ...] = ()
    gate: str = ""
    on_since: tuple[int, ...] = ()
    api: str = ""
    runtime_class: str = ""
    node_selector: LabelPairs = ()
    overhead: LabelPairs = ()
    priority_class: str = ""
    priority: str = ""
    preemption: str = ""
    sealing_key: str = ""
    stays: bool = False
    schedulers: tuple[str, ...] = ()
    path: Path = field(default=(), compare=False)


class ObjectFacts(Struct, frozen=True):
    """
    `roles` has every role, in the order in which their pods are created, also one at zero; `gang` the pods that run at
    once. `pods` are the labels that pods of each role will carry. `claims` names the ResourceClaimTemplates by which
    pods claim devices, and `devices` what one of them comes to, if this object is one; `volume` is what it claims if it is a
    PersistentVolumeClaim, and `limits` what it gives to pods and wants of them if it is a LimitRange, and
    `quota` what it bounds if it is a ResourceQuota, and `priority_class` what it is if it is a PriorityClass.

    `needs` is what it cannot run without, `provides` what something in the cluster makes of it (a Certificate its Secret),
    `points_at` what it serves (a route its Service, an autoscaler its target),
    `selects` the pods and `picks` the Services that it picks by label, `looks_at` the namespaces in which, where it says so: only in its own it picks
    those of an app. `services` are the labels of each Service that it is, or that its controller makes of it.
    `singleton` says why two copies, or a restart elsewhere, would do harm;
    '' means that it may be moved freely. `finishes`: it runs to completion. `releases_when_finished`: whatever the
    outcome, it then gives all its resources back. `demands` is what a cluster must be able to do. `accounts` are the
    ServiceAccounts that it uses, whatever its kind, but for the one that every namespace has. `refused` says which of its pods
    the API server does not take where it is, and why; '' where nothing is known against them. `brings` is what its controller makes of it
    besides pods and their claims, by the names of quotas, `again` what of that is there twice while an update runs, and `unsure` of what nobody
    knows how much it makes. `calls` are the Services that its pods are told to call, which bind it to nothing.
    """

    roles: tuple[Role, ...] = ()
    sized: bool = False
    pods: tuple[PodLabels, ...] = ()
    needs: tuple[Reference, ...] = ()
    provides: tuple[Reference, ...] = ()
    points_at: tuple[Reference, ...] = ()
    selects: tuple[LabelSelector, ...] = ()
    picks: tuple[LabelSelector, ...] = ()
    services: tuple[LabelPairs, ...] = ()
    watches: bool = False
    looks_at: tuple[str, ...] = ()
    singleton: str = ""
    finishes: bool = False
    releases_when_finished: bool = False
    demands: tuple[Demand, ...] = ()
    claims: tuple[str, ...] = ()
    devices: Resources = NOTHING
    volume: ClaimSpec | None = None
    limits: tuple[LimitItem, ...] = ()
    quota: Quota | None = None
    priority_class: PriorityClass | None = None
    accounts: tuple[Reference, ...] = ()
    refused: str = ""
    brings: Resources = NOTHING
    again: Resources = NOTHING
    unsure: tuple[str, ...] = ()
    calls: tuple[Reference, ...] = ()

    @property
    def gang(self) -> Gang:
        """The pods that run at once, as the manifest is written."""
        return self.gang_for("Desired", with_peak=False)

    def gang_for(self, reserve: Reserve, *, with_peak: bool) -> Gang:
        """
        The pods that are to find room, roles without any left out; `with_peak`: also those of an update. They have the labels
        that are known of them, and no namespace yet.
        """
        labels = {pods.role: pods.labels for pods in self.pods}
        return tuple(
            PodSet(
                role.name, n, role.shape, role.slice_size, role.per_node,
                labels=of_another(labels.get(role.name, ())) if second else labels.get(role.name, ()),
                claims=role.named.claims,
            )
            for role, n, second in self._sets(reserve, with_peak)
        )  # fmt: skip

    def queued_for(self, reserve: Reserve, *, with_peak: bool) -> tuple[tuple[int, Resources], ...]:
        """Of each set of pods that `gang_for` gives, how many Kueue surely counts, and what of each."""
        return tuple(
            (
                0 if second else role.reserved_of_queue(reserve),
                role.shape.requests if role.queued_requests is None else role.queued_requests,
            )
            for role, _, second in self._sets(reserve, with_peak)
        )

    def roles_for(self, reserve: Reserve, *, with_peak: bool) -> tuple[Role, ...]:
        """The role of each set of pods that `gang_for` gives."""
        return tuple(role for role, _, _ in self._sets(reserve, with_peak))

    def _sets(self, reserve: Reserve, with_peak: bool) -> Iterator[tuple[Role, int, bool]]:
        """The roles that are to find room with the number of their pods, and whether they are those of a second object that an update makes."""
        twice = {pods.role for pods in self.pods if untold_in(pods.labels)} if with_peak else ()
        for role in self.roles:
            number = role.reserved(reserve, with_peak=with_peak)
            surge = role.surge if role.name in twice else 0
            if number > surge:
                yield role, number - surge, False
            if surge:
                yield role, surge, True

    def refusal(self, namespace: str) -> str:
        """Why the API server does not take some of its pods in a namespace, in words; '' if nothing is known against them."""
        return f"a LimitRange of namespace {namespace} refuses {self.refused}" if self.refused else ""

    def remembered(self) -> ObjectFacts:
        """These facts without what is said once only."""
        return self.but(roles=tuple(replace(role, ask=None, counted="", bounded="") for role in self.roles))

    def but(self, **fields: Any) -> ObjectFacts:
        """These facts with other values in some fields."""
        return structs.replace(self, **fields)

    def stopped(self, why: str) -> ObjectFacts:
        """These facts of an object that has no pods for now."""
        idle = (replace(r, count=0, minimum=0, maximum=0, surge=0, counted=why) for r in self.roles)
        return self.but(roles=tuple(idle))


class Switch(Struct, frozen=True):
    """
    The field by which objects of a kind are suspended: its value then, and when they run (None: the field is removed). An object that has
    the field `unless`, if one is named, cannot be suspended.
    """

    path: Path
    on: str | bool
    off: str | bool | None
    unless: Path = ()


SUSPEND = Switch(("spec", "suspend"), on=True, off=False)
"""How Kubernetes and KubeRay suspend."""


class Scale(Struct, frozen=True):
    """
    A count of an object that may be another on each cluster. `replicas` is what its controller takes it for, at `path`, from
    `minimum` to `maximum` (None: unbounded) where there are bounds, at `minimum_path` and `maximum_path` (() where there are
    none). An object that has bounds only, like an autoscaler, has no `path`.

    `scales_itself`: something in the cluster moves the count between the bounds. `written`: the manifest says the count, and it
    is no default. An object cannot be given less than `least`.
    """

    role: str
    path: Path = ()
    replicas: int = 0
    minimum: int = 0
    maximum: int | None = None
    minimum_path: Path = ()
    maximum_path: Path = ()
    scales_itself: bool = False
    written: bool = True
    least: int = 0


def not_scaled(value: Mapping[str, Any]) -> tuple[Scale, ...]:
    """The scales of a kind whose objects are always as they are written."""
    return ()


class Kind(Struct, frozen=True):
    """
    One row of the table of sized kinds.

    `versions` are those we can read (none: any); `read` takes the object's root and what a cluster adds; `pod_templates` gives the paths of the pod templates written in an object
    (what holds `metadata` and `spec` of the pods; for a Pod the object itself, `()`); `scales` tells which counts of an
    object may be others on each cluster; `switch` is how its objects
    are suspended, None where they cannot be.
    """

    api_group: str
    kind: str
    versions: tuple[str, ...]
    read: Callable[[Cursor, Surroundings], ObjectFacts]
    pod_templates: Callable[[Mapping[str, Any]], tuple[Path, ...]]
    scales: Callable[[Mapping[str, Any]], tuple[Scale, ...]] = not_scaled
    switch: Switch | None = None


def reserved(facts: Iterable[ObjectFacts], reserve: Reserve = "Desired", *, with_peak: bool = False) -> Gang:
    """The pods of several objects that are to find room."""
    return tuple(pods for found in facts for pods in found.gang_for(reserve, with_peak=with_peak))


def distinct(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Sorted, each object once: required if any mention is, at the first place that says so."""
    found: dict[tuple[str, str, str, str], Reference] = {}
    for reference in references:
        key = (reference.api_group, reference.kind, reference.name, reference.namespace)
        known = found.get(key)
        if known is None or (known.optional and not reference.optional):
            found[key] = reference
    return tuple(sorted(found.values()))


def existing(value: Any, *paths: Path) -> tuple[Path, ...]:
    """Those of the paths at which `value` has a mapping."""
    return tuple(path for path in paths if isinstance(at(value, path), Mapping))


def at(value: Any, path: Path) -> Any:
    """The value at a path, or None."""
    for step in path:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, Mapping) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return value
