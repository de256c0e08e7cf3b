"""
References to what nobody brings: the object is not in the source, or the platform brings it to other clusters, and no cluster is known to have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gitplacer.documents import LISTED
from gitplacer.grouping import Group
from gitplacer.grouping.leftover import has_made_up_name, named_after
from gitplacer.known import Known, Told, tell
from gitplacer.model.workload import Identity
from gitplacer.plaintext import few
from gitplacer.problems import Severity
from gitplacer.profiles import ClusterProfile
from gitplacer.source.manifests import WORKLOADS, SourceObject
from gitplacer.workloads.facts import Reference

_BROUGHT = frozenset(
    {
        ("", "ConfigMap", "kube-root-ca.crt"),
        ("", "ServiceAccount", "default"),
        ("scheduling.k8s.io", "PriorityClass", "system-cluster-critical"),
        ("scheduling.k8s.io", "PriorityClass", "system-node-critical"),
    }
)
"""What every cluster, or every namespace of it, has."""
_OF_OPENSHIFT = frozenset({("", "ConfigMap", "openshift-service-ca.crt")})
"""What OpenShift has in every namespace besides: the authority that signs what it makes for `serving-cert-secret-name`."""
_ABSENT = ", which "


def without_clusters(message: str) -> str:
    """What is told of a missing reference, but for the clusters that lack it."""
    return message.partition(_ABSENT)[0]


def check(known: Known, group: Group) -> Iterator[Told]:
    """A reference that leads nowhere on some cluster that the group may go to."""
    if group.unit != WORKLOADS:
        return
    for member in (*group.members, *group.shared):
        missing = _unmet(known, group, member)
        yield from islice(missing, LISTED)
        if more := sum(1 for _ in missing):
            number, lead = ("1 more reference", "leads") if more == 1 else (f"{more:,} more references", "lead")
            message = f"{number} of {member.identity} {lead} nowhere, not listed"
            yield (
                member,
                member.document.problem("TooManyFaults", message, "mend these first", severity=Severity.WARNING),
            )


def _unmet(known: Known, group: Group, member: SourceObject) -> Iterator[Told]:
    for reference in member.facts.needs:
        if reference.optional or reference.namespace not in ("", member.identity.namespace):
            continue
        if not _is_brought(known, member, reference) and not _is_refused(known, member, reference):
            yield from _missing(known, group, member, reference)


def _is_brought(known: Known, member: SourceObject, reference: Reference) -> bool:
    if (reference.api_group, reference.kind, reference.name) in _BROUGHT:
        return True
    target = _target(member, reference)
    if target in known.provided:
        return target not in known.by_platform
    return reference.kind == "Service" and _is_made_by_kuberay(known, member, reference.name)


def _is_refused(known: Known, member: SourceObject, reference: Reference) -> bool:
    """Whether it is a ServiceAccount that the member may not use: that is told of it already, and what to do is something else."""
    return (
        reference.kind == "ServiceAccount"
        and any(problem.code == "ForeignServiceAccount" for problem in member.problems)
        and _target(member, reference) not in known.provided
        and not known.source.tenancy.allows_account(member.path, reference.name)
    )


def _is_made_by_kuberay(known: Known, member: SourceObject, service: str) -> bool:
    """Whether KubeRay makes a Service of this name for a Ray object beside."""
    names = {service.removesuffix(suffix) for suffix in ("-head-svc", "-serve-svc") if service.endswith(suffix)}
    beside = (item for name in names for item in known.namesakes.get((member.identity.namespace, name), ()))
    return any(item.identity.api_group == "ray.io" for item in beside)


def _target(member: SourceObject, reference: Reference) -> Identity:
    namespace = "" if reference.cluster_scoped else member.identity.namespace
    return Identity(reference.api_group, reference.kind, namespace, reference.name)


def _missing(known: Known, group: Group, member: SourceObject, reference: Reference) -> Iterator[Told]:
    target, eligible = _target(member, reference), known.eligible(group)
    brought = known.by_platform.get(target)
    there = brought.clusters if brought is not None else frozenset()
    without = [name for name in eligible if name not in there and not _is_there(known.profiles[name], member, target)]
    if not without and (eligible or brought is not None):
        return
    where = f", and {few(without)} {'is' if len(without) == 1 else 'are'} not known to have it" if without else ""
    what = "is not in the source" if brought is None else f"policy {brought.policy} brings to {_told(there)}"
    add = "add it" if brought is None else "let that policy bring it there too (clusters, copies)"
    hint = f"{add}, or say that the clusters have it: present in the snapshot or in the profile of the Cluster"
    if (owner := _of_another(known, member, reference)) is not None:
        hint = f"KubeRay makes up the name of the Ray cluster of {owner}: name a RayCluster, or let the job have one of its own (rayClusterSpec)"
    yield tell(
        member,
        "MissingReference",
        f"{member.identity} needs {reference.kind} {reference.name}{_ABSENT}{what}{where}",
        hint,
        path=reference.path,
    )


def _of_another(known: Known, member: SourceObject, reference: Reference) -> Identity | None:
    """The RayService or RayJob whose Ray cluster a RayJob seems to mean."""
    if (reference.api_group, reference.kind) != ("ray.io", "RayCluster"):
        return None
    namespace = member.identity.namespace
    beside = (item for name in named_after(reference.name) for item in known.namesakes.get((namespace, name), ()))
    return next((item.identity for item in beside if has_made_up_name(item)), None)


def _is_there(profile: ClusterProfile, member: SourceObject, target: Identity) -> bool:
    """A claim that a snapshot shows bound has its volume."""
    bound = (
        target.kind == "PersistentVolume" and f"{member.identity.namespace}/{member.identity.name}" in profile.volumes
    )
    return bound or profile.has(target) or (_is_openshift(profile) and _named(target) in _OF_OPENSHIFT)


def _is_openshift(profile: ClusterProfile) -> bool:
    return any(group.endswith(".openshift.io") for group in profile.serves or ())


def _named(target: Identity) -> tuple[str, str, str]:
    return target.api_group, target.kind, target.name


def _told(clusters: frozenset[str]) -> str:
    return f"{few(sorted(clusters))} alone" if clusters else "no cluster that is known"
