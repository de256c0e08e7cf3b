"""
What a cluster adds to pods beyond what their manifests say.

KubeRay's operator can be told to leave its init container out or to add sidecars; a LimitRange fills in requests, and bounds them;
a RuntimeClass costs overhead and chooses nodes; an admission plug-in lets pods onto the nodes of their devices; a claim's
devices are counted in a template of its own. Sizing is a function of a manifest and of these. Where nobody has said anything, they are
what KubeRay and Kubernetes do out of the box.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.model.labels import Toleration
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.workloads.limitranges import LimitItem, container_defaults


class RuntimeClass(Struct, frozen=True):
    """A class of container runtimes: what each of its pods costs besides its containers, and where they may run."""

    name: str
    overhead: Resources = NOTHING
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()

    def contradicts(self, node_selector: Mapping[str, str], overhead: Mapping[str, int | Fraction]) -> str | None:
        """
        Why the API server refuses pods of the class that say of themselves which labels their nodes have, or what their overhead is; None
        if it does not. Source: plugin/pkg/admission/runtimeclass of Kubernetes 1.34.
        """
        for key, value in self.node_selector:
            own = node_selector.get(key, value)
            if own != value:
                return f"RuntimeClass {self.name} selects nodes of {key}={value}, and the pod selects {key}={own}"
        if overhead and Resources({name: ceil(amount) for name, amount in overhead.items()}) != self.overhead:
            return f"the pod's overhead is not that of RuntimeClass {self.name}"
        return None


class Surroundings(Struct, frozen=True):
    """
    What pods of one namespace meet on a cluster.

    `kuberay` is the version of an operator that lacks fields of later ones, () for one that has them all or is not known.
    `waits_for_gcs`: KubeRay gives workers its init container. `head_sidecars` and `worker_sidecars` are containers that
    the operator's configuration adds, by name. `zero_downtime`: a RayService that says nothing is upgraded by a second
    Ray cluster. `container_defaults` are the requests that LimitRanges give to containers without one, and
    `limits` what each of their items gives to pods and wants of them, () where none refuses any, and `bounded` says whether it is
    asked what pods take of ResourceQuotas. `claims` has the
    devices of each ResourceClaimTemplate of the namespace, as extended resources; None where nobody has looked.
    `counts_replicas`: KubeRay labels workers by the replica that they are of (`RayMultiHostIndexing`).
    `judged`: every pod is played through kube-scheduler, so what waits for a gate or belongs on one slice is told there.
    `tolerates_extended`: pods get a toleration of the taint that is called like an extended resource they ask for.
    """

    kuberay: tuple[int, ...] = ()
    waits_for_gcs: bool = True
    head_sidecars: tuple[tuple[str, Resources], ...] = ()
    worker_sidecars: tuple[tuple[str, Resources], ...] = ()
    zero_downtime: bool = True
    container_defaults: Resources = NOTHING
    runtime_classes: tuple[RuntimeClass, ...] = ()
    tolerates_extended: bool = False
    claims: tuple[tuple[str, Resources], ...] | None = None
    counts_replicas: bool = True
    limits: tuple[LimitItem, ...] = ()
    bounded: bool = False
    judged: bool = False

    def with_claims(self, claims: tuple[tuple[str, Resources], ...] | None) -> Surroundings:
        """The same with these templates of claims."""
        return self if claims == self.claims else replace(self, claims=claims)

    def with_limits(self, items: Sequence[LimitItem]) -> Surroundings:
        """The same with more items of LimitRanges, filled in."""
        if not items:
            return self
        more = container_defaults(items)
        defaults = {
            name: max(more.get(name, 0), self.container_defaults.get(name, 0))
            for name in {**more, **self.container_defaults}
        }
        return replace(self, container_defaults=Resources(defaults), limits=(*self.limits, *items))

    @property
    def device_claims(self) -> Mapping[str, Resources]:
        return dict(self.claims or ())

    def knows(self, since: tuple[int, ...]) -> bool:
        """Whether the operator has what KubeRay has since a version; one that is not known has everything."""
        return not self.kuberay or self.kuberay >= since[: len(self.kuberay)]

    def runtime_class(self, name: str) -> RuntimeClass | None:
        return next((found for found in self.runtime_classes if found.name == name), None) if name else None


USUAL = Surroundings()
"""What is assumed where nothing is known of a cluster."""


def of_extended_resources(asked: Collection[str]) -> Iterator[Toleration]:
    """
    The tolerations that the admission plug-in adds to a pod of which a container asks for these resources, be it none of one.
    Source: plugin/pkg/admission/extendedresourcetoleration and IsExtendedResourceName of Kubernetes 1.34.
    """
    for name in sorted(asked):
        if "/" in name and "kubernetes.io/" not in name and not name.startswith("requests."):
            yield Toleration(name, "Exists", "", "NoSchedule")
