"""
A whole cluster, as `kubectl get … -A -o json` prints it, and what it makes of manifests.

What is asked of it, in this order: what pods become there (`around`, `priority`), whether they are let in, whether their volumes
can be had, and whether they all find a node. The first refusal is the answer. A kind of which the dump has no object was perhaps
not asked for; it keeps nothing off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Document
from gitplacer.model.labels import NAME_KEY, Requirement
from gitplacer.model.podrules import Selector
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import ClaimSpec, Identity, PodSet, PodShape
from gitplacer.plaintext import few
from gitplacer.scheduler.admission import AdmissionRules, read_rules
from gitplacer.scheduler.answer import Answer, Fit, Why, judge
from gitplacer.scheduler.arriving import with_arriving
from gitplacer.scheduler.defaultspread import Services, spread_by_default
from gitplacer.scheduler.gangs import expanded
from gitplacer.scheduler.manifests import Members, members, together
from gitplacer.scheduler.objects import NamespacesByName, Pod
from gitplacer.scheduler.reading import ClusterObjects, cursor_of, objects_in, read_list, read_namespaces
from gitplacer.scheduler.storage import ClaimKey, Storage, read_storage
from gitplacer.scheduler.volumes import Objection, settled
from gitplacer.workloads import brought
from gitplacer.workloads.devices import PREFIX as DEVICE_CLASS
from gitplacer.workloads.facts import ObjectFacts, Role
from gitplacer.workloads.surroundings import Surroundings

WANTED = "nodes,pods,namespaces,pvc,pv,storageclass,csinodes,csidrivers,csistoragecapacities,volumeattachments,limitranges,resourcequotas,runtimeclasses,priorityclasses,services"
"""What `kubectl get` is to be asked for."""


class Dump(Struct, frozen=True):
    """
    What a cluster has. `present` are its objects by API group, kind, namespace and name, its pods left out. `claiming` is how many pods that run there have
    claimed devices.
    """

    cluster: ClusterObjects
    storage: Storage
    rules: AdmissionRules
    services: Services
    present: frozenset[Identity] = frozenset()
    claiming: int = 0

    def around(self, namespace: str) -> Surroundings:
        """What the cluster adds to the pods of a namespace."""
        return self.rules.around(namespace or "default")


class Judged(Struct, frozen=True):
    """An answer about some manifests, with their pods; what was not looked at, and what is to be noted."""

    answer: Answer
    members: Members
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Manifest(Struct, frozen=True):
    """An object with what it becomes."""

    document: Document
    facts: ObjectFacts

    @property
    def key(self) -> tuple[str, str]:
        """Its API group and kind."""
        return str(self.document.value.get("apiVersion")).rpartition("/")[0], str(self.document.value.get("kind"))

    @property
    def namespace(self) -> str:
        return self.document.cursor().mapping("metadata").text("namespace") or "default"

    @property
    def name(self) -> str:
        return self.document.cursor().mapping("metadata").text("name")


def read_dump(value: Any) -> Dump:
    """A List of objects, or what else `objects_in` takes; kinds that nobody asks for are passed over."""
    items = objects_in(value)
    present = frozenset(map(_identity, (item for item in items if item.get("kind") != "Pod")))
    claiming = sum(_has_claimed(item) for item in items if item.get("kind") == "Pod")
    return Dump(
        with_arriving(read_list(value)), read_storage(items), read_rules(items), _services(items), present, claiming
    )


def _has_claimed(value: Mapping[str, Any]) -> bool:
    """Whether a pod holds devices by a resource claim."""
    spec = value.get("spec")
    if not (isinstance(spec, dict) and spec.get("nodeName") and spec.get("resourceClaims")):
        return False
    return cursor_of(value).mapping("status").text("phase") not in ("Succeeded", "Failed")


def _identity(value: Mapping[str, Any]) -> Identity:
    metadata, group = cursor_of(value).mapping("metadata"), str(value.get("apiVersion")).rpartition("/")[0]
    return Identity(group, str(value.get("kind")), metadata.text("namespace"), metadata.text("name"))


def _services(items: Sequence[Mapping[str, Any]]) -> Services:
    found: dict[str, list[Selector]] = defaultdict(list)
    for root in (cursor_of(item) for item in items if item.get("kind") == "Service"):
        if labels := root.mapping("spec").labels("selector"):
            requirements = (Requirement(key, "In", (text,)) for key, text in sorted(labels.items()))
            found[root.mapping("metadata").text("namespace") or "default"].append(Selector(tuple(requirements)))
    return {namespace: tuple(selectors) for namespace, selectors in found.items()}


def gang_of(rules: AdmissionRules, sized: Sequence[Manifest], slice_topology: str = "") -> Members:
    """The pods of some manifests, with the priority that they get there."""

    def priority(role: Role) -> int:
        return rules.priority(role)[1]

    return together(
        [members(each.document, each.facts, slice_topology=slice_topology, priority=priority) for each in sized]
    )


def judge_manifests(
    dump: Dump, sized: Sequence[Manifest], beside: Sequence[Manifest] = (), slice_topology: str = ""
) -> Judged:
    """
    Whether all pods of manifests find a place. `beside` are the objects given with them that are no pods: their claims, Services,
    Namespaces, LimitRanges, PriorityClasses and ResourceQuotas count as if they were there.
    """
    there = _with_namespaces(dump.cluster, beside)
    rules = dump.rules.beside(read_rules(each.document.value for each in beside))
    gang = gang_of(rules, sized, slice_topology)
    new = [each for each in (*sized, *beside) if Identity(*each.key, each.namespace, each.name) not in dump.present]
    refusal = _not_let_in(rules, sized, new, dump.storage.usual_class)
    volumes = settled(there, gang.pods, dump.storage.with_claims(_claims(beside)))
    refusal = (
        refusal or _claim_not_let_in(rules, gang.pods, dump.storage, _claims(new)) or next(iter(volumes.refusals), None)
    )
    unsure = _not_counted(rules, new, dump.storage.usual_class)
    unseen = _unseen(dump, gang.pods)
    left_out, notes = (*gang.left_out, *volumes.unknown, *unsure, *unseen), (*gang.notes, *volumes.notes)
    if refusal is not None:
        return Judged(Answer(Fit.NO, {}, Why(refusal.code, refusal.message)), gang, left_out, notes)
    services = _together(dump.services, _services([each.document.value for each in beside]))
    besides = spread_by_default(volumes.gang, gang.selectors, services, there.nodes)
    answer = judge(volumes.cluster, volumes.gang, besides)
    if answer.fit is not Fit.NO and volumes.doubts:  # then nobody knows whether all can be placed
        doubt = volumes.doubts[0]
        answer = replace(answer, fit=Fit.TIGHT, why=Why(doubt.code, doubt.message))
    return Judged(answer, gang, left_out, notes)


def shape_with_volumes(dump: Dump, each: Manifest, role: Role, beside: Sequence[Manifest] = ()) -> PodShape:
    """The shape of the first pod of a role, kept to the nodes from which its volumes are reached, where these are there."""
    if not role.named.claims:
        return role.shape
    pods = PodSet(role.name, 1, role.shape, namespace=each.namespace, claims=role.named.claims)
    pod = next(expanded(pods, lambda number: each.name, ""))
    (found,) = settled(dump.cluster, (pod,), dump.storage.with_claims(_claims(beside))).gang
    return replace(role.shape, volume_nodes=found.volume_nodes)


def _with_namespaces(cluster: ClusterObjects, beside: Sequence[Manifest]) -> ClusterObjects:
    """A cluster with the namespaces that are given: of one that is there already the labels are added to those that it has, as an apply does."""
    given = read_namespaces([each.document.value for each in beside if each.key == ("", "Namespace")])
    if not given:
        return cluster
    labelled = {name: {**cluster.namespaces[name], **labels} for name, labels in given.items()}
    return replace(cluster, namespaces=NamespacesByName({**cluster.namespaces, **labelled}))


def _unseen(dump: Dump, gang: Sequence[Pod]) -> Iterator[str]:
    """
    What a dump does not tell: which devices there are to claim and which are claimed already, and what rules about other pods ask of namespaces of which it lists none. That each
    of these has its name for a label is known.
    """
    classes = {name for pod in gang for name in pod.requests if name.startswith(DEVICE_CLASS)}
    if nowhere := sorted(classes - {name for node in dump.cluster.nodes for name in node.allocatable}):
        names = few([name.removeprefix(DEVICE_CLASS) for name in nowhere])
        yield (
            f"which devices of class {names} DRA drivers offer (ResourceSlices): those count that a node has as {DEVICE_CLASS}<class> "
            "in its allocatable, and none has"
        )
    if dump.claiming and any(name.startswith(DEVICE_CLASS) for pod in gang for name in pod.requests):
        pods = "1 pod that runs has" if dump.claiming == 1 else f"{dump.claiming} pods that run have"
        yield f"which devices {pods} by resource claims"
    repelling = (term for pod in dump.cluster.pods if not pod.finished for term in pod.pod_anti_affinity)
    terms = (*repelling, *(term for pod in gang for term in (*pod.pod_affinity, *pod.pod_anti_affinity)))
    keys = {key for term in terms for key in term.namespace_selector.keys} - {NAME_KEY}
    if keys and not dump.cluster.namespaces:
        yield f"which namespaces have the labels by which rules about other pods choose them ({few(sorted(keys))}), as no namespace is listed"


def _not_let_in(
    rules: AdmissionRules, sized: Sequence[Manifest], new: Sequence[Manifest], usual_class: str | None
) -> Objection | None:
    """The first reason why the API server refuses a pod, or an object. Quotas come last: they are of all there is of a namespace. `new` are the objects that are not there yet."""
    roles: dict[str, list[Role]] = defaultdict(list)
    for each in sized:
        roles[each.namespace].extend(role for role in each.facts.roles if role.count and not role.per_node)
    refused = (found for namespace, those in sorted(roles.items()) for found in rules.refusals(namespace, those))
    besides: dict[str, Resources] = defaultdict(lambda: NOTHING)
    for each in new:
        besides[each.namespace] += brought.all_of(*each.key, each.facts, usual_class)
    over = (
        found
        for namespace in sorted({*roles, *besides})
        for found in rules.over_quota(namespace, roles.get(namespace, []), besides[namespace])
    )
    return next(refused, None) or next(over, None)


def _claim_not_let_in(
    rules: AdmissionRules, gang: Sequence[Pod], storage: Storage, given: Mapping[ClaimKey, ClaimSpec]
) -> Objection | None:
    """The first reason why the API server refuses a claim that pods of a gang have: one that is given, or made for them."""
    new: dict[str, dict[str, ClaimSpec]] = defaultdict(dict)
    for pod in gang:
        for claim in pod.claims:
            spec = claim.spec or given.get((pod.namespace, claim.name))
            if spec is not None and (pod.namespace, claim.name) not in storage.claims:
                new[pod.namespace][claim.name] = spec
    refused = (found for namespace, claims in new.items() for found in rules.refused_claims(namespace, claims))
    return next(refused, None)


def _not_counted(rules: AdmissionRules, some: Sequence[Manifest], usual_class: str | None) -> Iterator[str]:
    """What quotas bound of which nobody knows how much objects bring."""
    for each in some:
        unsure = brought.unsure_in(each.facts, usual_class)
        for quota in rules.quotas.get(each.namespace, ()) if unsure else ():
            names = [name for name in sorted(quota.hard) if not quota.scopes and brought.is_unsure(name, unsure)]
            if names:
                yield f"how much {each.key[1]} {each.name} brings of {few(names)}, which ResourceQuota {quota.name} bounds"


def _claims(beside: Sequence[Manifest]) -> dict[ClaimKey, ClaimSpec]:
    return {(each.namespace, each.name): each.facts.volume for each in beside if each.facts.volume is not None}


def _together(there: Services, given: Services) -> Services:
    return {name: (*there.get(name, ()), *given.get(name, ())) for name in there.keys() | given.keys()}
