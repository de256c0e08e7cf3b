"""
What a Ray object lacks for some of its workers to run on another cluster.

Its head must be found from there (see `headaddress`). Beyond that, a worker can join only with what a manifest can bring to
where it runs: not with certificates or a token that KubeRay makes at home, not past a network policy that KubeRay writes
around the pods at home, not with a volume of another cluster. Hosts of one slice are numbered by KubeRay and stay together,
so a group of several hosts for each replica stays at home; another group of the same app may still go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitplacer.documents import Path
from gitplacer.model.labels import Labels
from gitplacer.workloads.facts import at
from gitplacer.workloads.headaddress import SPEC, HeadAddress, Missing, head_address

API_VERSION = "ray.io/v1"


def is_ray_app(value: Mapping[str, Any]) -> bool:
    """Whether an object makes one Ray cluster, now."""
    kind = str(value.get("kind"))
    if kind not in SPEC or value.get("apiVersion") != API_VERSION or at(value, ("spec", "clusterSelector")):
        return False
    return isinstance(at(value, SPEC[kind]), Mapping)


def missing(
    value: Mapping[str, Any],
    namespace: str,
    pods: Mapping[str, Labels],
    services: Iterable[Mapping[str, Any]],
    *,
    cluster_ip: bool = False,
) -> tuple[Missing, ...]:
    """All that a Ray object lacks to be spanned, the address of its head first; () if it can be."""
    found = head_address(value, namespace, pods, services, cluster_ip=cluster_ip)
    head = () if isinstance(found, HeadAddress) else (found,)
    return (*head, *_bound(value))


def going(value: Mapping[str, Any]) -> tuple[int, ...]:
    """The worker groups that may have workers elsewhere, by their place in the list."""
    path = (*SPEC[str(value["kind"])], "workerGroupSpecs")
    groups = at(value, path)
    return tuple(
        i
        for i, group in enumerate(groups if isinstance(groups, list) else ())
        if isinstance(group, Mapping)
        and group.get("numOfHosts", 1) in (None, 1)
        and not group.get("suspend")
        and not any(_bound_group(group, (*path, i)))
    )


def _bound(value: Mapping[str, Any]) -> Iterator[Missing]:
    path = SPEC[str(value["kind"])]
    spec = at(value, path)
    if at(spec, ("tlsOptions", "enabled")) is True:
        yield _stays("its workers need certificates that cert-manager makes at home", (*path, "tlsOptions"))
    if isinstance(spec.get("networkPolicy"), Mapping):
        yield _stays("KubeRay closes its network for all but the pods at home", (*path, "networkPolicy"))
    auth = spec.get("authOptions")
    if at(auth, ("mode",)) == "token" and (not at(auth, ("secretName",)) or at(auth, ("enableK8sTokenAuth",))):
        yield Missing(
            "WorkersStayHome",
            "its workers need a token that KubeRay, or Kubernetes, makes at home",
            "put the token into a Secret of the source and name it in authOptions.secretName",
            (*path, "authOptions"),
        )
    groups = spec.get("workerGroupSpecs")
    if not going(value):
        reasons = [
            m for i, group in enumerate(groups or ()) for m in _bound_group(group, (*path, "workerGroupSpecs", i))
        ]
        yield from reasons or [_stays("it has no worker group whose workers could run elsewhere", path)]


def _bound_group(group: Any, path: Path) -> Iterator[Missing]:
    """Why the workers of one group cannot run elsewhere."""
    pod = at(group, ("template", "spec"))
    if isinstance(group, Mapping) and group.get("numOfHosts", 1) not in (None, 1):
        yield _stays("the hosts of a replica belong together, and KubeRay numbers them", (*path, "numOfHosts"))
    volumes = at(pod, ("volumes",))
    for i, volume in enumerate(volumes if isinstance(volumes, list) else ()):
        if at(volume, ("persistentVolumeClaim",)) is not None:
            where = (*path, "template", "spec", "volumes", i)
            yield _stays("its workers have a volume, and a volume is in one cluster", where)
    if at(pod, ("activeDeadlineSeconds",)) is not None:
        where = (*path, "template", "spec", "activeDeadlineSeconds")
        yield _stays("its workers have a deadline, which pods of a Deployment cannot have", where)


def _stays(why: str, path: Path) -> Missing:
    return Missing("WorkersStayHome", why, "it goes to one cluster, or waits until one has room for all of it", path)
