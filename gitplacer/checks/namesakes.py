"""Objects of different kinds whose controllers make objects of one name, or one that the source has."""

from __future__ import annotations

from collections.abc import Iterator

from gitplacer.grouping import Group
from gitplacer.known import Known, Told, tell
from gitplacer.source.manifests import SourceObject

_WITH_HEAD_SERVICE = ("RayCluster", "RayJob", "RayService")


def check(known: Known, group: Group) -> Iterator[Told]:
    """
    Two Ray objects that want one head Service, or a RayJob that makes a Job for its submitter and a Job of that name. Or a Service
    that KubeRay makes itself: a RayCluster whose head Service is there already, and not KubeRay's, gets no pods.
    """
    for member in group.sized:
        for made in member.facts.provides if _is_ray(member) else ():
            service = known.services.get((member.identity.namespace, made.name))
            if service is not None:
                yield tell(
                    member,
                    "NamesakesCollide",
                    f"KubeRay makes the Service {made.name} of {member.identity}, and {service.document.locate()} is one of that name",
                    "remove that one, or give it another name",
                )
        for other in known.namesakes.get((member.identity.namespace, member.identity.name), ()):
            both = _both_make(member, other)
            if both:
                yield tell(
                    member,
                    "NamesakesCollide",
                    f"{member.identity} and {other.identity} ({other.document.locate()}) both make {both}",
                    "give one of them another name",
                )


def _both_make(one: SourceObject, other: SourceObject) -> str:
    """What both would make in one namespace, or ''."""
    if one.identity == other.identity:
        return ""
    kinds = {_kind(one), _kind(other)}
    if all(_is_ray(item, *_WITH_HEAD_SERVICE) for item in (one, other)):
        return f"the Service {one.identity.name}-head-svc"
    if kinds == {("ray.io", "RayJob"), ("batch", "Job")} and (_has_submitter(one) or _has_submitter(other)):
        return f"the Job {one.identity.name}"
    return ""


def _has_submitter(item: SourceObject) -> bool:
    """Whether a RayJob is submitted by a Job. In other modes by a sidecar, by KubeRay itself, or by somebody."""
    return any(role.name == "submitter" for role in item.facts.roles)


def _kind(item: SourceObject) -> tuple[str, str]:
    return item.identity.api_group, item.identity.kind


def _is_ray(item: SourceObject, *kinds: str) -> bool:
    """Whether it is of one of Ray's kinds, or of these of them."""
    return item.identity.api_group == "ray.io" and (not kinds or item.identity.kind in kinds)
