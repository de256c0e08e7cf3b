"""
A Ray cluster spec: one head, and for every worker group clamp(replicas, minReplicas, maxReplicas) × numOfHosts workers.

KubeRay makes all of them in one pass, and workers hold their resources while their init container waits for the head,
so the gang is all of them at once. RayCluster is such a spec; RayJob and RayService contain one.
Source of the rules: KubeRay's ray-operator (controllers/ray/utils/util.go, common/pod.go) and the CRD defaults.

An object written as `ray.io/v1alpha1` keeps only the fields that version knows: what it lacks is dropped by
the API server, so it does not count here either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.documents import Cursor, Path
from gitplacer.model.podrules import EACH_HOST, EACH_REPLICA, each_replica, untold
from gitplacer.model.resources import NOTHING, Resources
from gitplacer.model.workload import Named, PodVolumeClaim
from gitplacer.problems import Severity
from gitplacer.workloads import madeservices, podtemplate
from gitplacer.workloads.addresses import own_service
from gitplacer.workloads.devices import TPU
from gitplacer.workloads.facts import ObjectFacts, PodLabels, Reference, Role, Scale, at, distinct, existing
from gitplacer.workloads.fields import INT32_MAX, count, required
from gitplacer.workloads.podtemplate import Injected, PodTemplate
from gitplacer.workloads.raystart import METRICS_PORT
from gitplacer.workloads.requests import Part, amounts, container_part
from gitplacer.workloads.scaling import whole
from gitplacer.workloads.surroundings import Surroundings

API_GROUP = "ray.io"
VERSIONS = ("v1", "v1alpha1")
INT32_MIN = -(2**31)
OPERATOR = "ray.io/kuberay-operator"
MANAGED_SINCE: Mapping[str, tuple[int, ...]] = {"RayCluster": (1, 3), "RayJob": (1, 3), "RayService": (1, 6)}
"""The KubeRay version since which a kind has `managedBy`."""
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"

AUTOSCALER = Part(
    "autoscaler",
    amounts(cpu="500m", memory="512Mi"),
    origin="KubeRay adds it for enableInTreeAutoscaling",
    limits=amounts(cpu="500m", memory="512Mi"),
)
WAIT_GCS_READY = Part(
    "wait-gcs-ready",
    amounts(cpu="200m", memory="256Mi"),
    "init",
    origin="KubeRay adds it to every worker",
    limits=amounts(cpu="200m", memory="256Mi"),
)
HISTORY_COLLECTOR = Part(
    "ray-history-collector",
    amounts(cpu="50m", memory="64Mi"),
    origin="KubeRay adds it for historyServerOptions",
    limits=amounts(cpu="200m", memory="256Mi"),
)
WAIT_FOR_TLS = Part(
    "wait-for-tls-ip-san",
    amounts(cpu="50m", memory="64Mi"),
    "init",
    origin="KubeRay adds it for tlsOptions",
    limits=amounts(cpu="50m", memory="64Mi"),
)
ADDED_PORTS = (("metrics", METRICS_PORT),)
"""What KubeRay adds to the Ray container of every pod. On the host's network it is a port of the node, so that no two share one."""
BY_OPERATOR = "the operator's configuration adds it"
_BOUNDS = ("minReplicas", "maxReplicas")
_NO_LABELS: Mapping[str, str] = {}


def cluster_templates(value: Mapping[str, Any], spec: Path) -> tuple[Path, ...]:
    """The pod templates of the Ray cluster spec at a path."""
    groups = at(value, (*spec, "workerGroupSpecs"))
    number = len(groups) if isinstance(groups, list) else 0
    workers = [(*spec, "workerGroupSpecs", i, "template") for i in range(number)]
    return existing(value, (*spec, "headGroupSpec", "template"), *workers)


def cluster_scales(value: Mapping[str, Any], spec: Path) -> tuple[Scale, ...]:
    """The worker groups of the Ray cluster spec at a path, each with its count and bounds in replicas (slices)."""
    groups = at(value, (*spec, "workerGroupSpecs"))
    autoscaling = at(value, (*spec, "enableInTreeAutoscaling")) is True
    found = []
    for index, group in enumerate(groups if isinstance(groups, list) else []):
        if not isinstance(group, Mapping) or not isinstance(group.get("groupName"), str):
            continue
        low, high = whole(group.get("minReplicas")) or 0, whole(group.get("maxReplicas"))
        number = max(whole(group.get("replicas")) or 0, low)
        path: Path = (*spec, "workerGroupSpecs", index)
        found.append(
            Scale(
                f"worker/{group['groupName']}",
                (*path, "replicas"),
                number if high is None else min(number, high),
                low,
                None if high == INT32_MAX else high,
                (*path, "minReplicas"),
                (*path, "maxReplicas"),
                scales_itself=autoscaling,
            )
        )
    return tuple(found)


def is_v1(root: Cursor) -> bool:
    return root.text("apiVersion") == f"{API_GROUP}/v1"


def is_ours(root: Cursor, spec: Cursor, around: Surroundings) -> bool:
    """
    Whether KubeRay acts on the object at all: `managedBy` may hand it to somebody else. An operator that does not know the
    field acts on it whatever it says, because its CRD drops it.
    """
    since = MANAGED_SINCE.get(root.text("kind"), ())
    return not is_v1(root) or not around.knows(since) or spec.text("managedBy") in ("", OPERATOR)


class RayPods(Struct, frozen=True):
    """
    What a RayJob or RayService adds to a Ray cluster spec. `cluster_name` is '' where KubeRay makes the name up;
    `beside_head` are further containers of the head pod; `serves`: pods carry the label of a RayService's Service;
    `starts_whole`: nothing starts before all desired workers are there, so that fewer are of no use; `surge_percent`: how
    much of a second Ray cluster an update brings, None for none.
    """

    cluster_name: str = ""
    beside_head: tuple[Part, ...] = ()
    serves: bool = False
    starts_whole: bool = False
    surge_percent: int | None = None


def cluster_facts(root: Cursor, spec: Cursor, around: Surroundings, added: RayPods) -> ObjectFacts:
    """The facts of one Ray cluster spec."""
    v1 = is_v1(root)
    everywhere, first_init = _injected_everywhere(spec) if v1 else ((), ())
    autoscaling = spec.boolean("enableInTreeAutoscaling")
    made_up = untold(root.text("kind"), root.mapping("metadata").text("name"))
    cluster_name = added.cluster_name or made_up
    roles: list[Role] = []
    pods: list[PodLabels] = []
    templates: list[PodTemplate] = []

    def add(
        group: Cursor, role: str, injected: Injected, labels: dict[str, str], more: Mapping[str, str] = _NO_LABELS
    ) -> PodTemplate:
        template = podtemplate.read(group, "template", around, injected)
        templates.append(template)
        own = {**template.labels, **(group.labels("labels") if v1 else {})}
        pods.append(PodLabels(role, _ray_labels(own, labels, cluster_name, more, serves=added.serves)))
        return template

    head = required(spec, "headGroupSpec")
    if head is not None:
        sidecars = _operator_sidecars(around.head_sidecars)
        injected = Injected(
            (*_autoscaler(spec), *added.beside_head, *everywhere, *sidecars), first_init, ports=ADDED_PORTS
        )
        template = add(head, "head", injected, {"node-type": "head", "group": "headgroup"})
        named = _with_storage(spec, template.named) if v1 else template.named
        roles.append(_head_role(template, named, 0 if added.surge_percent is None else 1))
    last_init = (WAIT_GCS_READY,) if around.waits_for_gcs else ()
    sidecars = _operator_sidecars(around.worker_sidecars)
    injected = Injected((*everywhere, *sidecars), first_init, last_init, ADDED_PORTS)
    names: set[str] = set()
    for group in spec.items("workerGroupSpecs"):
        name = _group_name(group, names)
        size = _size(group, v1)
        counted_by = _replica_labels(made_up, name, size.hosts) if around.counts_replicas else _NO_LABELS
        template = add(group, f"worker/{name}", injected, {"node-type": "worker", "group": name}, counted_by)
        if size.hosts > 1 and size.count and not template.shape.requests.get(TPU) and not around.judged:
            _report_untold_slices(group, size.hosts)
        roles.append(_worker_role(name, template, size, added, autoscaling=autoscaling))
    facts = ObjectFacts(
        roles=tuple(roles),
        sized=True,
        pods=tuple(pods),
        needs=distinct(_needs(root, spec, templates)),
        singleton="fixed GCS storage namespace" if _has_fixed_storage(root, spec) else "",
        claims=tuple(sorted({name for template in templates for name in template.claims})),
    )
    if head is not None:
        facts = madeservices.told(facts, [madeservices.of_cluster(spec, added.cluster_name, dict(pods[0].labels))])
    if not is_ours(root, spec, around):
        return facts.stopped(f"managedBy {spec.text('managedBy')}: KubeRay leaves it alone")
    return facts.stopped("suspended") if spec.boolean("suspend") else facts


def _head_role(template: PodTemplate, named: Named, surge: int) -> Role:
    return Role(
        "head", template.shape, 1, 1, 1, surge, named=named, ask=template.ask,
        counted="every Ray cluster has one head", queued_requests=template.queued_requests,
    )  # fmt: skip


def _worker_role(name: str, template: PodTemplate, size: _Size, added: RayPods, *, autoscaling: bool) -> Role:
    return Role(
        f"worker/{name}", template.shape, size.count, size.minimum, size.maximum,
        size.surge(added.surge_percent), size.hosts,
        shrinks=autoscaling and not added.starts_whole, grows=autoscaling,
        named=template.named, ask=template.ask, counted=size.counted, bounded=size.bounded,
        queued=size.queued, queued_requests=template.queued_requests,
    )  # fmt: skip


def _report_untold_slices(group: Cursor, hosts: int) -> None:
    """Warn that replicas of several hosts are placed without knowing which nodes make up a slice."""
    group.report(
        "NotCounted",
        f"nobody says on which nodes the {hosts} hosts of a replica belong together; the fit may be too optimistic",
        "say so in the Cluster: spec.profile.sliceTopology, a label of its nodes",
        key="numOfHosts",
        severity=Severity.WARNING,
    )


def _with_storage(spec: Cursor, named: Named) -> Named:
    """The head's volumes with that of its GCS, if a claim is named for it."""
    claim = spec.mapping("gcsFaultToleranceOptions").mapping("storage").text("claimName")
    return replace(named, claims=(*named.claims, PodVolumeClaim(claim))) if claim else named


def _operator_sidecars(sidecars: tuple[tuple[str, Resources], ...]) -> tuple[Part, ...]:
    return tuple(Part(name, requests, origin=BY_OPERATOR, limits=None) for name, requests in sidecars)


# -- pods ---------------------------------------------------------------------------------------------------------


def _group_name(group: Cursor, taken: set[str]) -> str:
    name = group.text("groupName")
    if not name:
        group.report("MissingField", "groupName is missing", "add groupName: its pods are told apart by it")
    elif name in taken:
        group.report(
            "DuplicateGroupName",
            f'a second worker group is named "{name}"',
            "give each group its own name: KubeRay finds a group's pods by it",
            key="groupName",
        )
    taken.add(name)
    return name


class _Size(Struct, frozen=True):
    """
    How many pods a worker group has, in hosts; `counted` and `bounded` say why. `queued` is how many Kueue counts if these are
    fewer: it takes `replicas` as they are written.
    """

    count: int = 0
    minimum: int = 0
    maximum: int | None = 0
    hosts: int = 1
    counted: str = ""
    bounded: str = ""
    queued: int | None = None

    def surge(self, percent: int | None) -> int:
        """The workers of the second Ray cluster at the peak of an update: a share of the slices, and at least the minimum."""
        if percent is None or not self.count:
            return 0
        return max(self.minimum // self.hosts, -(-(self.count // self.hosts) * percent // 100)) * self.hosts


def _size(group: Cursor, v1: bool) -> _Size:
    """How many pods KubeRay makes for a group: outside [min, max] `replicas` is moved to the nearer end."""
    replicas = count(group, "replicas", 0, least=INT32_MIN)
    low = count(group, "minReplicas", 0)
    high = count(group, "maxReplicas", INT32_MAX)
    hosts = count(group, "numOfHosts", 1, least=INT32_MIN) if v1 else 1
    if low > high:
        group.report(
            "InvalidReplicas",
            f"minReplicas {low} is more than maxReplicas {high}",
            "KubeRay makes no pods for such a cluster; raise maxReplicas or lower minReplicas",
            key="minReplicas",
        )
        return _Size()
    if v1 and group.boolean("suspend"):
        return _Size(counted="the group is suspended")
    wanted = min(max(replicas, low), high)
    if wanted * hosts > INT32_MAX:
        group.report(
            "InvalidReplicas", f"the group has {wanted * hosts} pods", "lower replicas or numOfHosts", key="replicas"
        )
        return _Size()
    written = group.integer("replicas")
    counted = "no replicas written" if written is None else f"replicas {written}"
    if (written or 0) < low or (written or 0) < 0:
        counted += f", raised to minReplicas {low}"
    elif replicas > high:
        counted += f", lowered to maxReplicas {high}"
    bounded = ", ".join(f"{key} {group.value[key]}" if group.has(key) else f"no {key}" for key in _BOUNDS)
    per_replica = f", each of {hosts} hosts" if hosts != 1 else ""
    bound = None if high == INT32_MAX and hosts else min(high * hosts, INT32_MAX)
    queued = max(replicas, 0) * hosts if replicas < wanted else None
    return _Size(
        wanted * hosts, low * hosts, bound, max(hosts, 1), counted + per_replica, bounded + per_replica, queued
    )


def _autoscaler(spec: Cursor) -> tuple[Part, ...]:
    """The sidecar that KubeRay adds to an autoscaling head; `autoscalerOptions.resources` replaces all it asks for."""
    if not spec.boolean("enableInTreeAutoscaling"):
        return ()
    return (_configured(AUTOSCALER, spec.mapping("autoscalerOptions")),)


def _configured(part: Part, options: Cursor) -> Part:
    """A container that KubeRay adds, with the resources that its options give it, if they do."""
    if not options.has("resources"):
        return part
    return container_part(options, part.role, NOTHING, name=part.name, origin=part.origin)


def _injected_everywhere(spec: Cursor) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """What head and workers both get: containers, and init containers that come first."""
    containers: tuple[Part, ...] = ()
    if spec.has("historyServerOptions"):
        options = spec.mapping("historyServerOptions")
        if options.has("collectorOptions"):
            containers = (_configured(HISTORY_COLLECTOR, options.mapping("collectorOptions")),)
    tls = spec.has("tlsOptions") and spec.mapping("tlsOptions").boolean("enabled")
    return containers, (WAIT_FOR_TLS,) if tls else ()


def _ray_labels(
    own: Mapping[str, str], fixed: Mapping[str, str], cluster_name: str, more: Mapping[str, str], *, serves: bool
) -> tuple[tuple[str, str], ...]:
    """
    KubeRay's labels give way to the user's, except node type, group, cluster and those of a replica (`more`).

    Where KubeRay makes up the cluster's name, pods have these labels all the same, with a value that stands for it. Those of a second
    cluster, which comes beside it when a RayService is updated, have another (`podrules.of_another`).
    """
    labels = {"ray.io/is-ray-node": "yes", "ray.io/identifier": f"{cluster_name}-{fixed['node-type']}"}
    if serves:
        labels["ray.io/serve"] = "true"
    labels |= {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}
    labels |= own
    labels |= {f"ray.io/{key}": value for key, value in fixed.items()}
    labels["ray.io/cluster"] = cluster_name
    labels |= more
    return tuple(sorted(labels.items()))


def _replica_labels(owner: str, group: str, hosts: int) -> dict[str, str]:
    """
    What tells the replicas of a worker group apart, and the hosts of each where there are several. KubeRay counts both from 0,
    and makes up a name for each replica of several hosts, which no other has in any namespace.
    """
    labels = {"ray.io/worker-group-replica-index": EACH_REPLICA}
    if hosts > 1:
        labels["ray.io/worker-group-replica-name"] = each_replica(f"{owner} {group}")
        labels["ray.io/replica-host-index"] = EACH_HOST
    return labels


# -- what it needs ------------------------------------------------------------------------------------------------


def _needs(root: Cursor, spec: Cursor, templates: list[PodTemplate]) -> Iterator[Reference]:
    for template in templates:
        yield from template.needs
    yield from _redis_by_environment(root, spec)
    if spec.has("autoscalerOptions"):
        yield from podtemplate.env_needs(spec.mapping("autoscalerOptions"))
    if not is_v1(root):
        return
    if spec.has("gcsFaultToleranceOptions"):
        options = spec.mapping("gcsFaultToleranceOptions")
        for key in ("redisUsername", "redisPassword"):
            if options.has(key):
                yield from podtemplate.value_needs(options.mapping(key))
        yield from own_service(root, options, "redisAddress")
        if options.has("storage"):
            yield from podtemplate.named(options.mapping("storage"), "PersistentVolumeClaim", "claimName")
    if spec.has("authOptions"):
        yield from podtemplate.named(spec.mapping("authOptions"), "Secret", "secretName")
    if spec.has("historyServerOptions"):
        yield from podtemplate.env_needs(spec.mapping("historyServerOptions").mapping("collectorOptions"))
    if spec.has("headGroupSpec") and (head := spec.mapping("headGroupSpec")).has("ingressOptions"):
        for tls in head.mapping("ingressOptions").items("tls"):
            yield from podtemplate.named(tls, "Secret", "secretName")


def _redis_by_environment(root: Cursor, spec: Cursor) -> Iterator[Reference]:
    """The Redis of GCS fault tolerance as it was configured before it had options: an env variable of the head."""
    template = spec.mapping("headGroupSpec").mapping("template")
    for container in template.mapping("spec").items("containers"):
        for variable in container.items("env"):
            if variable.text("name") == "RAY_REDIS_ADDRESS":
                yield from own_service(root, variable, "value")


def _has_fixed_storage(root: Cursor, spec: Cursor) -> bool:
    """Whether two Ray clusters made from this would share their GCS state: the last one to start would win."""
    if root.mapping("metadata").mapping("annotations").has(STORAGE_NAMESPACE):
        return True
    return is_v1(root) and bool(spec.mapping("gcsFaultToleranceOptions").text("externalStorageNamespace"))
