"""
What each kind of object becomes and needs: one module per kind, and one table.

`read` takes any document. A kind in `KINDS` is sized: its pods are what placement looks for room for. So is one that is
declared, by a user or in a file that comes with gitplacer (see `shipped`). Any other kind contributes what it points at (see
`pointers` and `companions`), or nothing. To add a kind, declare it (docs/kinds/WorkloadKind.md); where a declaration has no words for what a
controller does, write a module with a `KIND` row and put it in the table.

**What is known of an object.** `facts`: the values. `why`: where its numbers come from. `bounds`: how much one object may be. `fields`, `gathered`: what kinds read in the
same way. `scaling`: its replica counts, and edits of them. `edits`: what an edit of it does to what runs.

**Kinds of Kubernetes.** `pod`, `replicaset`, `deployment`, `statefulset`, `daemonset`, `job`, `cronjob`, with `jobspec`.

**Kinds of Ray.** `raycluster`, `rayjob`, `rayservice`, `raycronjob`. What they are made of: `rayspec`, a Ray cluster spec; `rayjobspec`; `rayfields`, since when there are
fields; `raydeletion`, what is deleted of a job that is done; `raystart`, how a worker joins; `demands`, what a KubeRay must have; `madeservices`, the Services that it
makes. One app over several clusters: `joining`, `headaddress`, `remoteworkers`.

**Declared kinds.** `declaration`: what a WorkloadKind says. `declared`: objects sized by it. `shipped`: the declarations that come with gitplacer.

**Pods.** `podtemplate`: a template, read. `requests`: what a pod asks of a node. `podlevel`: resources of a pod as a whole. `constraints`: where it may run. `claims`,
`devices`: volumes and devices that it claims. `images`, `networks`, `webhooks`, `podgroups`, `provisioning`: what else it names.

**What a cluster does to them.** `surroundings`: what it adds to pods. `limitranges`, `quotas`, `priorityclasses`: what its API server refuses. `brought`: what objects take of
quotas besides pods.

**Kinds without pods.** `pointers`: Kubernetes' own. `companions`: those of other projects, among them `vaults`, `traefik`, `annotated`. `pointing`: how an object
says whom it is for. `calls`, `addresses`: the Services that pods call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitplacer.documents import Cursor, Document, Edit
from gitplacer.model.counts import Count
from gitplacer.problems import Problem
from gitplacer.workloads import (
    brought,
    calls,
    companions,
    cronjob,
    daemonset,
    demands,
    deployment,
    job,
    pod,
    pointers,
    raycluster,
    raycronjob,
    rayjob,
    rayservice,
    replicaset,
    scaling,
    shipped,
    statefulset,
)
from gitplacer.workloads.bounds import bounded_object
from gitplacer.workloads.facts import (
    Demand,
    Kind,
    LabelSelector,
    ObjectFacts,
    PodLabels,
    Reference,
    Role,
    Scale,
    distinct,
)
from gitplacer.workloads.limitranges import breaches
from gitplacer.workloads.podtemplate import named
from gitplacer.workloads.quotas import usage
from gitplacer.workloads.requests import PodAsk
from gitplacer.workloads.surroundings import USUAL, Surroundings

__all__ = [
    "KINDS",
    "NONE_DECLARED",
    "QUEUE",
    "Declared",
    "Demand",
    "Kind",
    "LabelSelector",
    "ObjectFacts",
    "PodLabels",
    "Reference",
    "Scale",
    "counted",
    "is_read_by_code",
    "kind_of",
    "read",
    "scales",
]

KINDS: Mapping[tuple[str, str], Kind] = {
    (row.api_group, row.kind): row
    for row in (
        pod.KIND,
        deployment.KIND,
        statefulset.KIND,
        replicaset.KIND,
        daemonset.KIND,
        job.KIND,
        cronjob.KIND,
        raycluster.KIND,
        rayjob.KIND,
        raycronjob.KIND,
        rayservice.KIND,
    )
}
"""(API group, kind) to what we know of a sized kind."""


Declared = Mapping[tuple[str, str], Kind]
"""(API group, kind) to what users have declared of a kind."""

NONE_DECLARED: Declared = {}

QUEUE = "kueue.x-k8s.io/queue-name"
"""The label of an object that waits in a LocalQueue of Kueue."""


def kind_of(key: tuple[str, str], declared: Declared = NONE_DECLARED) -> Kind | None:
    """What we know of a sized kind: by code, by a user's declaration, by one that comes with gitplacer."""
    return KINDS.get(key) or declared.get(key) or shipped.kind(key)


def is_read_by_code(key: tuple[str, str]) -> bool:
    """Whether a kind cannot be declared, because what its objects are is known here."""
    return key in KINDS or key in pointers.READERS


def scales(value: Mapping[str, Any], declared: Declared = NONE_DECLARED) -> tuple[Scale, ...]:
    """The counts of an object that may be others on each cluster."""
    key = (str(value.get("apiVersion")).rpartition("/")[0], str(value.get("kind")))
    kind = kind_of(key, declared)
    if kind is None:
        return pointers.autoscaler_scales(value) if key in pointers.READERS else ()
    return kind.scales(value)


def counted(value: Mapping[str, Any], counts: Mapping[str, Count], declared: Declared = NONE_DECLARED) -> list[Edit]:
    """The edits that give an object other counts, by role; what is not among them stays as it is written."""
    return list(scaling.edits(value, scales(value, declared), counts)) if counts else []


def read(
    document: Document, around: Surroundings = USUAL, declared: Declared = NONE_DECLARED
) -> tuple[ObjectFacts, list[Problem]]:
    """
    The facts of one object as it is with what a cluster adds, and every problem that was met. With an error among the
    problems the facts are incomplete and must not be acted on.
    """
    root = document.cursor()
    api_group, _, version = root.text("apiVersion").rpartition("/")
    key = (api_group, root.text("kind"))
    if (kind := kind_of(key, declared)) is None:
        reader = pointers.READERS.get(key) or companions.READERS.get(key)
        facts = reader(root) if reader else ObjectFacts()
        return (_with_brought(facts, brought.of(root.value, *key, facts)) if reader else facts), root.problems.told()
    if kind.versions and version not in kind.versions:
        known = ", ".join(f"{api_group}/{v}" if api_group else v for v in kind.versions)
        root.report(
            "UnsupportedVersion",
            f'{kind.kind} of version "{version}" cannot be read',
            f"known here: {known}",
            key="apiVersion",
        )
        return ObjectFacts(sized=True), root.problems.told()
    facts = bounded_object(root, kind.read(root, around))
    templates = kind.pod_templates(root.value)
    if called := calls.of_pod_templates(root.value, templates):
        facts = facts.but(calls=called)
    asked = demands.of(root) or demands.of_pod_templates(root, templates)
    if asked:
        facts = facts.but(demands=asked)
    if around.bounded:
        facts = facts.but(roles=tuple(_with_usage(role, around) for role in facts.roles))
    if around.limits and (refused := next(_refused(facts, around), "")):
        facts = facts.but(refused=refused)
    facts = _with_brought(facts, brought.of(root.value, *key, facts) if key in KINDS else brought.of_declared())
    if queue := tuple(_queue(root)):
        facts = facts.but(needs=distinct([*facts.needs, *queue]))
    return facts, root.problems.told()


def _with_brought(facts: ObjectFacts, found: brought.Brought) -> ObjectFacts:
    return facts.but(**found._asdict()) if any(found) else facts


def _with_usage(role: Role, around: Surroundings) -> Role:
    return replace(role, usage=usage(role.ask or PodAsk(()), role.shape.requests, around.limits))


def _refused(facts: ObjectFacts, around: Surroundings) -> Iterator[str]:
    """The pods of an object that LimitRanges refuse, each with why."""
    for role in facts.roles:
        if role.ask is not None and (role.count or role.per_node):
            for item in around.limits:
                yield from (f"{role.name}: {said}" for said in breaches(item, role.ask, around.limits))


def _queue(root: Cursor) -> Iterator[Reference]:
    """The LocalQueue of Kueue that an object waits in."""
    labels = root.mapping("metadata").mapping("labels")
    if labels.has(QUEUE):
        yield from named(labels, "LocalQueue", QUEUE, api_group="kueue.x-k8s.io")
