"""
Pods held against the ResourceQuotas of their namespace, as the API server does when a pod is made.

A quota counts the pods in its scopes: their number, what they ask for, and their limits. It refuses a pod that takes more than is left,
and one with a container that does not say how much of cpu or memory it takes, where that is bounded. Whoever makes the pod tries again
for ever. One without scopes counts objects too, and the storage of claims (see `brought`).
Sources: plugin/pkg/admission/resourcequota and pkg/quota/v1/evaluator/core/pods.go of Kubernetes 1.34.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor
from gitplacer.model import quantity
from gitplacer.model.labels import Requirement
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Named, PodShape
from gitplacer.workloads.limitranges import LimitItem
from gitplacer.workloads.requests import Amounts, Part, PodAsk

_MUST_SAY = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")
"""Of these, a quota wants every container to say how much."""
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Usage(Struct, frozen=True):
    """
    What one pod takes of quotas, by the names that quotas have for it, each in the grain of its resource; `unsaid` are those that quotas want of each
    container and of which one says nothing. `of_pods` False: it is what comes besides pods.
    """

    amounts: Resources
    unsaid: tuple[str, ...] = ()
    best_effort: bool = False
    of_pods: bool = True

    def asking(self, requests: Resources) -> Usage:
        """That of a pod which asks for something else, and is this one in everything besides."""
        asked = {name for name in self.amounts if f"requests.{name.removeprefix('requests.')}" in self.amounts}
        rest = {name: amount for name, amount in self.amounts.items() if name not in asked}
        return replace(self, amounts=Resources({**rest, **_requested(requests)}))


class Quota(Struct, frozen=True, kw_only=True):
    """
    A ResourceQuota: the most of each thing that it bounds (`hard`), what is `used` of that, and which pods it counts. None used is what
    nobody has counted yet, which may be anything.
    """

    name: str
    hard: Amounts
    used: Amounts | None = NOTHING
    scopes: tuple[Requirement, ...] = ()

    def left(self, name: str) -> int:
        """How much there is left of something that it bounds."""
        return int(self.hard[name] - (self.used or NOTHING).get(name, 0))

    def counts(self, named: Named, shape: PodShape, usage: Usage, priority_class: str) -> bool:
        """Whether it counts pods, or what comes besides them."""
        if not usage.of_pods:
            return not self.scopes
        return all(_in_scope(scope, named, shape, usage, priority_class) for scope in self.scopes)

    def unsaid(self, usage: Usage) -> tuple[str, ...]:
        """What it wants of each container of a pod that it counts, and some do not say."""
        return tuple(name for name in usage.unsaid if name in self.hard)


def read(root: Cursor, *, written: bool = False) -> Quota:
    """A ResourceQuota, with what its status says, or as it is `written`. One that was not counted yet has nothing used."""
    spec, status = root.mapping("spec"), root.mapping("status")
    scopes = [Requirement(name, "Exists") for name in spec.texts("scopes")]
    for item in spec.mapping("scopeSelector").items("matchExpressions"):
        operator = item.text("operator") or "Exists"
        scopes.append(
            # the API server takes no other operator
            Requirement(item.text("scopeName"), operator if operator in _OPERATORS else "Exists", item.texts("values"))
        )
    return Quota(
        name=root.mapping("metadata").text("name"),
        hard=_bounds(status if status.has("hard") and not written else spec, "hard"),
        used=NOTHING if written else _bounds(status, "used"),
        scopes=tuple(scopes),
    )


def _bounds(owner: Cursor, key: str) -> dict[str, int]:
    """Amounts of a quota."""
    found: dict[str, int] = {}
    block = owner.mapping(key)
    for name in block.value:
        amount = block.quantity(resource_of(name), name)
        if amount is not None:
            found[name] = amount
    return found


def wants(quota: Quota, namespace: str, name: str, role: str) -> str:
    """In words, that a quota wants something of each container of the pods of a role."""
    return f"ResourceQuota {quota.name} of namespace {namespace} wants {name} of each container of {role}"


def exceeds(quota: Quota, namespace: str, name: str, wanted: int, promised: int = 0, *, more: bool = False) -> str:
    """
    In words, that pods want more of something than a quota has left, beside what was `promised` to others; `more`: than it has counted of
    them.
    """
    asked, there, others = (
        quantity.render(resource_of(name), max(0, amount)) for amount in (wanted, quota.left(name), promised)
    )
    beside = f", {others} of it promised to others" if promised else ""
    of = f"ResourceQuota {quota.name} of namespace {namespace}"
    who = "pods" if is_of_pods(name) else "objects"
    return f"{of}: the {who} take {asked}{' more' if more else ''} of {name}, and {there} is left{beside}"


def resource_of(name: str) -> str:
    """The resource that something is of which a quota bounds: `limits.cpu` counts in the grain of cpu."""
    return "storage" if name.endswith("/requests.storage") else name.removeprefix("requests.").removeprefix("limits.")


def is_of_pods(name: str) -> bool:
    """Whether something that a quota bounds is what pods take."""
    if name in ("pods", "count/pods"):
        return True
    resource = resource_of(name)
    if resource == name:
        return name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")
    return resource != "storage"


def usage(ask: PodAsk, requests: Resources, given: Sequence[LimitItem]) -> Usage:
    """What a pod takes; `requests` is its effective request, and `given` are the items of LimitRanges of its namespace."""
    given = [item for item in given if item.of == "Container"]
    amounts = {"pods": 1, "count/pods": 1, **_requested(requests)}
    amounts |= {f"limits.{name}": amount for name, amount in _limits_of(ask, given).items()}
    return Usage(Resources(amounts), tuple(_unsaid(ask, given)), _is_best_effort(ask))


def _requested(requests: Resources) -> dict[str, int]:
    """What a pod asks for, by the names that quotas have for it."""
    plain = {name: amount for name, amount in requests.items() if "/" not in name}
    return {**plain, **{f"requests.{name}": amount for name, amount in requests.items()}}


def _limits(part: Part, given: Sequence[LimitItem]) -> Amounts | None:
    """The limits of a container with those that are filled in; None where a controller adds it and nobody says which it has."""
    if part.limits is None:
        return None
    filled: dict[str, int | Fraction] = {}
    for item in given:
        for name, value in item.default.items():
            filled[name] = max(filled.get(name, 0), value)
    return {**filled, **part.limits}


def _limits_of(ask: PodAsk, given: Sequence[LimitItem]) -> Resources:
    """The limits of a pod, added up as its requests are."""
    parts = tuple(replace(part, amounts=_limits(part, given) or {}) for part in ask.parts)
    return replace(ask, parts=parts, pod_level=ask.pod_level_limits, pod_level_limits=NOTHING).effective()


def _unsaid(ask: PodAsk, given: Sequence[LimitItem]) -> Iterator[str]:
    for name in _MUST_SAY:
        kind, _, resource = name.rpartition(".")
        if resource in (ask.pod_level_limits if kind == "limits" else ask.pod_level):
            continue
        said = [_limits(part, given) if kind == "limits" else part.amounts for part in ask.parts]
        if any(each is not None and resource not in each for each in said):
            yield name


def _is_best_effort(ask: PodAsk) -> bool:
    """Whether no container asks for cpu or memory, nor has a limit of them."""
    said = [
        *(part.amounts for part in ask.parts),
        *(part.limits or NOTHING for part in ask.parts),
        ask.pod_level,
        ask.pod_level_limits,
    ]
    return not any(amounts.get(name) for amounts in said for name in ("cpu", "memory"))


def _in_scope(scope: Requirement, named: Named, shape: PodShape, used: Usage, priority_class: str) -> bool:
    match scope.key:
        case "Terminating":
            return named.ends
        case "NotTerminating":
            return not named.ends
        case "BestEffort":
            return used.best_effort
        case "NotBestEffort":
            return not used.best_effort
        case "PriorityClass":
            return scope.matches({"PriorityClass": priority_class} if priority_class else {})
        case "CrossNamespacePodAffinity":
            preferred = (term for _, term in shape.preferred_pods)
            return any(
                term.namespaces or term.namespace_selector.requirements is not None
                for term in (*shape.pod_affinity, *shape.pod_anti_affinity, *preferred)
            )
    return False
