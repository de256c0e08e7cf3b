"""
What comes with an object besides pods, by the names that ResourceQuotas have for it: itself, what its controller makes of it, and storage.

A ResourceQuota bounds the number of objects of any kind, `count/<resource>.<group>`; some of the core have an older name besides, and Services
and claims more is counted of. What a controller makes is counted where its rule is plain. What it makes in some versions only, or as often
as it likes, is `unsure`: nobody guesses, and it is told where a quota bounds it.
Sources: kubernetes 1.34 pkg/quota/v1/evaluator/core (services.go, persistent_volume_claims.go) and pkg/quota/v1/generic; KubeRay's
raycluster_controller.go, rayjob_controller.go and rayservice_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import ClaimSpec
from gitplacer.workloads.facts import ObjectFacts, Role, at
from gitplacer.workloads.madeservices import SERVES

ANYTHING = "*"
"""Nobody knows what else a controller makes."""
OF_CLASS = ".storageclass.storage.k8s.io/"
_OLDER_NAMES = frozenset(
    {"configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"}
)
_BY_NUMBER = ("services.loadbalancers", "services.nodeports")


class Brought(NamedTuple):
    """
    What comes of an object besides itself, its pods and their claims; what of that comes a second time while an update runs; and of what nobody
    knows how much comes, by the names of quotas, or ANYTHING.
    """

    brings: Resources = NOTHING
    again: Resources = NOTHING
    unsure: tuple[str, ...] = ()


@lru_cache(maxsize=4096)
def one(api_group: str, kind: str) -> Resources:
    """
    One object of a kind. How its resource is called is what every generator of such names makes of the kind. A pod is counted with what it asks for,
    wherever it comes from.
    """
    if (api_group, kind) == ("", "Pod"):
        return NOTHING
    plural = _plural(kind.lower())
    names = {f"count/{plural}.{api_group}" if api_group else f"count/{plural}": 1}
    return Resources({**names, plural: 1} if not api_group and plural in _OLDER_NAMES else names)


def _plural(kind: str) -> str:
    if kind.endswith("endpoints"):
        return kind
    if kind.endswith(("s", "x", "ch", "sh")):
        return f"{kind}es"
    return f"{kind[:-1]}ies" if kind.endswith("y") and kind[-2:-1] not in "aeiou" else f"{kind}s"


def of(value: Mapping[str, Any], api_group: str, kind: str, facts: ObjectFacts) -> Brought:
    """What comes of an object of a kind that is read here."""
    made = sum((one(each.api_group, each.kind) for each in facts.provides), NOTHING)
    match api_group, kind:
        case "", "Service":
            return Brought(_of_service(value.get("spec")))
        case "ray.io", "RayCluster":
            return _ray_cluster(at(value, ("spec",)), facts, serves=_serves(value))
        case "ray.io", "RayService":
            found = _ray_cluster(at(value, ("spec", "rayClusterConfig")), facts)
            if not found.brings:
                return Brought()
            cluster = found.brings + one("ray.io", "RayCluster")
            gateway = unsure_of(("gateway.networking.k8s.io", "Gateway"), ("gateway.networking.k8s.io", "HTTPRoute"))
            return Brought(cluster + _SERVICE * 2, cluster, (*found.unsure, *gateway))
        case "ray.io", "RayJob":
            found = _ray_cluster(at(value, ("spec", "rayClusterSpec")), facts)
            submits = any(role.name == "submitter" and role.count for role in facts.roles)
            job = one("batch", "Job") if submits else NOTHING
            if not found.brings:
                return Brought(job)
            # of its own it makes a Service too, since some version
            services = unsure_of(("", "Service"))
            return Brought(found.brings + one("ray.io", "RayCluster") + job, NOTHING, (*found.unsure, *services))
        case "ray.io", "RayCronJob":
            return Brought(unsure=(ANYTHING,))
        case "batch", "CronJob":
            return Brought(unsure=unsure_of(("batch", "Job")))
        case "apps", "Deployment":
            return Brought(unsure=unsure_of(("apps", "ReplicaSet")))
        case "apps", "StatefulSet" | "DaemonSet":
            return Brought(unsure=unsure_of(("apps", "ControllerRevision")))
    return Brought(made)


def all_of(api_group: str, kind: str, facts: ObjectFacts, usual_class: str | None) -> Resources:
    """All that comes with an object as it is written: itself, what its controller makes of it, and the claims of its pods."""
    found = itself(api_group, kind, facts, usual_class)
    for role in facts.roles:
        found += of_pods(role, usual_class) * role.count
    return found


def itself(api_group: str, kind: str, facts: ObjectFacts, usual_class: str | None) -> Resources:
    """An object with what its controller makes of it. `usual_class` is the class of claims that name none, None where nobody knows."""
    found = one(api_group, kind) + facts.brings
    return found if facts.volume is None else found + _of_claim(facts.volume, usual_class)


def of_pods(role: Role, usual_class: str | None) -> Resources:
    """The claims that are made for each pod of a role."""
    specs = (claim.spec for claim in role.named.claims if claim.of != "namespace" and claim.spec is not None)
    return sum((_CLAIM + _of_claim(spec, usual_class) for spec in specs), NOTHING)


def of_declared() -> Brought:
    """What comes of an object of a kind of which only its pods were declared."""
    return Brought(unsure=(ANYTHING,))


def _serves(value: Mapping[str, Any]) -> bool:
    return bool(at(value, ("metadata", "annotations", SERVES)) == "true")


def _ray_cluster(spec: Any, facts: ObjectFacts, *, serves: bool = False) -> Brought:
    """What KubeRay makes of a Ray cluster that runs, besides pods: the Service of its head, and what its options ask for."""
    if not isinstance(spec, Mapping) or not any(role.name == "head" and role.count for role in facts.roles):
        return Brought()
    brings, unsure = _SERVICE * (2 if serves else 1), list[str]()
    match at(spec, ("headGroupSpec", "serviceType")):
        case "LoadBalancer":
            brings += {"services.loadbalancers": 1}
            unsure.append("services.nodeports")
        case "NodePort":
            unsure.append("services.nodeports")
    if any(role.slice_size > 1 for role in facts.roles):
        unsure += unsure_of(("", "Service"))
    if spec.get("enableInTreeAutoscaling") is True:
        brings += one(_RBAC, "Role") + one(_RBAC, "RoleBinding")
        if not at(spec, ("headGroupSpec", "template", "spec", "serviceAccountName")):
            brings += one("", "ServiceAccount")
    for field, kinds in _OPTIONS.items():
        if spec.get(field) not in (None, False):
            unsure += unsure_of(*kinds)
    return Brought(brings, NOTHING, tuple(unsure))


def _of_service(spec: Any) -> Resources:
    """What a Service takes besides being one: a load balancer, and ports of nodes."""
    if not isinstance(spec, Mapping):
        return NOTHING
    written = spec.get("ports")
    ports = [port for port in written if isinstance(port, Mapping)] if isinstance(written, list) else []
    if spec.get("type") == "NodePort":
        return Resources({"services.nodeports": len(ports)})
    if spec.get("type") != "LoadBalancer":
        return NOTHING
    every = spec.get("allocateLoadBalancerNodePorts") is not False
    taken = len(ports) if every else sum(1 for port in ports if port.get("nodePort"))
    return Resources({"services.loadbalancers": 1, "services.nodeports": taken})


def _of_claim(spec: ClaimSpec, usual: str | None) -> Resources:
    """What a PersistentVolumeClaim takes besides being one."""
    found = {"requests.storage": spec.size}
    if name := spec.storage_class if spec.storage_class is not None else usual:
        found |= {f"{name}{OF_CLASS}requests.storage": spec.size, f"{name}{OF_CLASS}persistentvolumeclaims": 1}
    return Resources(found)


def is_of_objects(name: str) -> bool:
    """Whether something that a quota bounds is no part of what pods take."""
    return (
        (name.startswith("count/") and name != "count/pods")
        or name in _OLDER_NAMES
        or name in _BY_NUMBER
        or name == "requests.storage"
        or OF_CLASS in name
    )


def unsure_in(facts: ObjectFacts, usual_class: str | None) -> tuple[str, ...]:
    """
    Of what nobody knows how much comes with an object where claims that name no class get a certain one. Then OF_CLASS is among it where that is not known.
    """
    specs = [claim.spec for role in facts.roles for claim in role.named.claims if claim.of != "namespace"]
    unnamed = any(spec is not None and spec.storage_class is None for spec in (*specs, facts.volume))
    return (*facts.unsure, OF_CLASS) if unnamed and usual_class is None else facts.unsure


def is_unsure(name: str, unsure: tuple[str, ...]) -> bool:
    """Whether nobody knows how much comes of something that a quota bounds, where it is unsure how many of some things do."""
    known = is_of_objects(name)
    return known and any(each in (ANYTHING, name) or (each == OF_CLASS and OF_CLASS in name) for each in unsure)


def unsure_of(*kinds: tuple[str, str]) -> tuple[str, ...]:
    """The names of what quotas bound of objects of some kinds, each its group and kind."""
    return tuple(name for group, kind in kinds for name in _names(group, kind))


def _names(api_group: str, kind: str) -> Iterator[str]:
    yield from one(api_group, kind)
    if (api_group, kind) == ("", "Service"):
        yield from _BY_NUMBER
    if (api_group, kind) == ("", "PersistentVolumeClaim"):
        yield "requests.storage"


_SERVICE, _CLAIM = one("", "Service"), one("", "PersistentVolumeClaim")
_RBAC = "rbac.authorization.k8s.io"
_OPTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "authOptions": (("", "Secret"),),
    "enableIngress": (("networking.k8s.io", "Ingress"), ("route.openshift.io", "Route")),
    "gcsFaultToleranceOptions": (("", "PersistentVolumeClaim"), ("batch", "Job")),
    "networkPolicy": (("networking.k8s.io", "NetworkPolicy"),),
    "tlsOptions": (("cert-manager.io", "Certificate"), ("cert-manager.io", "Issuer"), ("", "Secret")),
}
"""Of what KubeRay makes some for an option of a Ray cluster, as many as its version does."""
