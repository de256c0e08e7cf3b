"""
A Ray app over several clusters of a mesh: what each of them has of it, in pods and in files.

One cluster is the home: it has the group as it is written, with as many workers as fit there. The others have the workers
that do not, as Deployments that join the head (`workloads.remoteworkers`), and what these need: the ConfigMaps, Secrets and
ServiceAccounts of the group, its namespace, and the Service that leads to the head. Everything else, also other workloads of
the group, stays at home.

How many workers are where is said by counts: at home those that are left, on a remote cluster those that it has. The bounds of
an autoscaling group stay as they are written, because its autoscaler may have gone up to them, and a lower one would take
pods away that run; it scales what is at home, and sees workers elsewhere as room that is there. Nothing else is edited at
home, and KubeRay's hash leaves these numbers out, so nothing restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gitplacer import workloads
from gitplacer.documents import EditError, applied
from gitplacer.grouping import Group
from gitplacer.kinds.fleet import Cluster
from gitplacer.model.counts import AS_WRITTEN, Count, Counts, Part
from gitplacer.model.workload import Gang
from gitplacer.profiles import ClusterProfile
from gitplacer.source.manifests import SourceObject
from gitplacer.source.reading import Source
from gitplacer.variants import Variants, as_document
from gitplacer.workloads import vaults
from gitplacer.workloads.edits import effects
from gitplacer.workloads.facts import Scale, at
from gitplacer.workloads.headaddress import SPEC, HeadAddress, Missing, head_address
from gitplacer.workloads.joining import going, is_ray_app, missing
from gitplacer.workloads.remoteworkers import deployment, mirrored_service

Shares = Mapping[str, int]
"""Worker role to a number of workers."""

_GOES_ALONG = frozenset({
    ("", "ConfigMap"), ("", "Namespace"), ("", "Secret"), ("", "ServiceAccount"), ("bitnami.com", "SealedSecret"),
    ("external-secrets.io", "ExternalSecret"), ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"), ("resource.k8s.io", "ResourceClaimTemplate"),
    ("secrets-store.csi.x-k8s.io", "SecretProviderClass"), *vaults.READERS,
})  # fmt: skip
"""What workers may need where they run, and does no harm on several clusters."""


class Spans:
    """The groups of a source as they are when they span clusters. Answers about pods are remembered."""

    def __init__(self, source: Source, variants: Variants, profiles: Mapping[str, ClusterProfile]) -> None:
        self._source = source
        self._variants = variants
        self._profiles = profiles
        self._gangs: dict[tuple[str, str, str, Counts], Gang] = {}

    # what could span

    def app(self, group: Group) -> SourceObject | None:
        """The Ray object whose workers may be elsewhere; None for a group that has none, or several."""
        apps = self.apps(group)
        return apps[0] if len(apps) == 1 else None

    def apps(self, group: Group) -> list[SourceObject]:
        """The Ray objects of a group."""
        return [member for member in group.members if is_ray_app(member.document.value)]

    def lacks(self, group: Group, home: Cluster | None = None) -> tuple[Missing, ...]:
        """What a group lacks to have workers elsewhere, if its head is on a cluster; None for wherever that is best."""
        app = self.app(group)
        if app is None:
            return (Missing("WorkersStayHome", "it is not one Ray app", "group each Ray app by itself"),)
        value = app.document.value if home is None else self._value(app, home)
        by_operator = (
            any(profile.kuberay.head_cluster_ip_service for profile in self._profiles.values())
            if home is None
            else bool(self._profiles[home.name].kuberay.head_cluster_ip_service)
        )
        pods, services = self._labels(group), self._services(group)
        return missing(value, app.identity.namespace, pods, services, cluster_ip=by_operator)

    def is_late(self, group: Group, home: Cluster) -> bool:
        """Whether the head can be found from elsewhere only when the app runs already."""
        head = self._head(group, home)
        return head is not None and head.late

    def workers(self, group: Group, home: Cluster) -> dict[str, int]:
        """The workers that may be elsewhere of a group with its head on a cluster, by role."""
        return {scale.role: scale.replicas for scale in self._scales(group, home)}

    # counts

    def counts_at_home(self, group: Group, home: Cluster, here: Shares) -> Counts:
        """The counts with which the home has `here` of its workers, and others are elsewhere."""
        app = self.app(group)
        found = {}
        for scale in self._scales(group, home) if app is not None else ():
            away = scale.replicas - here.get(scale.role, scale.replicas)
            if away and app is not None:
                found[Part(app.identity, scale.role)] = Count(scale.replicas - away)
        return Counts.of(found)

    def counts_elsewhere(self, group: Group, share: Shares) -> Counts:
        """The counts with which another cluster has a share of the workers."""
        app = self.app(group)
        parts = ((Part(app.identity, role), Count(n)) for role, n in share.items() if n) if app is not None else ()
        return Counts.of(dict(parts))

    def share(self, group: Group, counts: Counts) -> dict[str, int]:
        """The workers that counts name, by role."""
        app = self.app(group)
        known = counts.of_object(app.identity) if app is not None else {}
        return {role: count.replicas for role, count in known.items() if count.replicas is not None}

    # pods

    def gang(self, group: Group, home: Cluster, remote: Cluster, counts: Counts) -> Gang:
        """The pods of a group on a remote cluster, in the roles that they would have at home."""
        key = (group.id, home.name, remote.name, counts)
        if key not in self._gangs:
            self._gangs[key] = self._gang(group, home, remote, counts)
        return self._gangs[key]

    def _gang(self, group: Group, home: Cluster, remote: Cluster, counts: Counts) -> Gang:
        app = self.app(group)
        if app is None:
            return ()
        pods: list[Any] = []
        for role, made in self._deployments(group, home, remote, counts):
            document = as_document(app, made)
            around = self._variants.around(app, remote)
            facts = workloads.read(document, around)[0].remembered()
            pods += [replace(pod, role=role) for pod in group.gang_of([facts])]
        return tuple(pods)

    # files

    def stays_home(self, group: Group, member: SourceObject, home: Cluster) -> bool:
        """Whether an object of a group is only where the head is."""
        head = self._head(group, home)
        leads = head is not None and head.own and _is_service(member) and member.identity.name == head.service
        return not leads and (member.identity.api_group, member.identity.kind) not in _GOES_ALONG

    def objects(self, group: Group, home: Cluster, remote: Cluster, counts: Counts) -> list[dict[str, Any]]:
        """What is made for a remote cluster: the Service that leads to the head, unless the group brings one, and workers."""
        head = self._head(group, home)
        if head is None:
            return []
        service = [] if head.own else [mirrored_service(head)]
        return [*service, *(made for _, made in self._deployments(group, home, remote, counts))]

    def restarts_nothing(self, group: Group, home: Cluster, deployed: Mapping[str, Any], counts: Counts) -> bool:
        """
        Whether giving the Ray object these counts at home does nothing there that what is written would not do by itself.
        `deployed` is what runs.
        """
        app = self.app(group)
        if app is None:
            return False
        version = self._profiles[home.name].version or None
        plain = {effect.code for effect in effects(deployed, self._value(app, home), version)}
        return {effect.code for effect in effects(deployed, self._value(app, home, counts), version)} <= plain

    # parts

    def _head(self, group: Group, home: Cluster) -> HeadAddress | None:
        app = self.app(group)
        if app is None:
            return None
        found = head_address(
            self._value(app, home),
            app.identity.namespace,
            self._labels(group),
            self._services(group),
            cluster_ip=bool(self._profiles[home.name].kuberay.head_cluster_ip_service),
        )
        return found if isinstance(found, HeadAddress) else None

    def _deployments(
        self, group: Group, home: Cluster, remote: Cluster, counts: Counts
    ) -> Iterable[tuple[str, dict[str, Any]]]:
        app, head = self.app(group), self._head(group, home)
        if app is None or head is None:
            return
        value, share = self._value(app, remote), self.share(group, counts)
        autoscaler = remote.spec.autoscaler
        labels = autoscaler.pod_labels if autoscaler is not None else {}
        groups = at(value, (*SPEC[str(value["kind"])], "workerGroupSpecs"))
        for index, each in enumerate(groups if isinstance(groups, list) else ()):
            role = f"worker/{at(each, ('groupName',))}"
            if share.get(role):
                yield role, deployment(value, index, share[role], head, labels)

    def _scales(self, group: Group, home: Cluster) -> tuple[Scale, ...]:
        app = self.app(group)
        if app is None:
            return ()
        value = self._value(app, home)
        free = {
            f"worker/{at(value, (*SPEC[str(value['kind'])], 'workerGroupSpecs', i, 'groupName'))}" for i in going(value)
        }
        return tuple(scale for scale in workloads.scales(value) if scale.role in free and scale.replicas)

    def _value(self, member: SourceObject, cluster: Cluster, counts: Counts = AS_WRITTEN) -> dict[str, Any]:
        """An object as it is on a cluster. An edit that cannot be made is told where it is made."""
        value: Any = {**member.document.value}
        value["metadata"] = {**value["metadata"], "namespace": member.identity.namespace}
        try:
            for edit in self._variants.edits(member, cluster, counts):
                value = applied(value, edit)
        except EditError:
            return member.document.value
        return value if isinstance(value, dict) else member.document.value

    @staticmethod
    def _labels(group: Group) -> dict[str, dict[str, str]]:
        return {pods.role: dict(pods.labels) for member in group.members for pods in member.facts.pods}

    @staticmethod
    def _services(group: Group) -> list[Mapping[str, Any]]:
        return [member.document.value for member in group.members if _is_service(member)]


def _is_service(member: SourceObject) -> bool:
    return (member.identity.api_group, member.identity.kind) == ("", "Service")
