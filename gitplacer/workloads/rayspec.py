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

from gitplacer.documents import Cursor, Path
from gitplacer.model.workload import PodSet
from gitplacer.workloads import podtemplate
from gitplacer.workloads.addresses import own_service
from gitplacer.workloads.facts import ObjectFacts, PodLabels, Reference, at, distinct, existing
from gitplacer.workloads.fields import INT32_MAX, count, required
from gitplacer.workloads.podtemplate import Injected, PodTemplate
from gitplacer.workloads.requests import Amounts, amounts, container_requests

API_GROUP = "ray.io"
VERSIONS = ("v1", "v1alpha1")
INT32_MIN = -(2**31)
OPERATOR = "ray.io/kuberay-operator"
STORAGE_NAMESPACE = "ray.io/external-storage-namespace"

AUTOSCALER = amounts(cpu="500m", memory="512Mi")
WAIT_GCS_READY = amounts(cpu="200m", memory="256Mi")
HISTORY_COLLECTOR = amounts(cpu="50m", memory="64Mi")
WAIT_FOR_TLS = amounts(cpu="50m", memory="64Mi")


def cluster_templates(value: Mapping[str, Any], spec: Path) -> tuple[Path, ...]:
    """The pod templates of the Ray cluster spec at a path."""
    groups = at(value, (*spec, "workerGroupSpecs"))
    number = len(groups) if isinstance(groups, list) else 0
    workers = [(*spec, "workerGroupSpecs", i, "template") for i in range(number)]
    return existing(value, (*spec, "headGroupSpec", "template"), *workers)


def is_v1(root: Cursor) -> bool:
    return root.text("apiVersion") == f"{API_GROUP}/v1"


def is_ours(root: Cursor, spec: Cursor) -> bool:
    """Whether KubeRay acts on the object at all: `managedBy` may hand it to somebody else."""
    return not is_v1(root) or spec.text("managedBy") in ("", OPERATOR)


def cluster_facts(
    root: Cursor, spec: Cursor, *, cluster_name: str = "", beside_head: tuple[Amounts, ...] = (), serves: bool = False
) -> ObjectFacts:
    """
    The facts of one Ray cluster spec. `cluster_name` is '' where KubeRay makes the name up; `beside_head` are
    further containers of the head pod; `serves`: its pods carry the label of a RayService's Service.
    """
    v1 = is_v1(root)
    sidecars, first_init = _injected_everywhere(spec) if v1 else ((), ())
    templates: list[tuple[str, int, PodTemplate]] = []
    pods: list[PodLabels] = []

    def add(group: Cursor, role: str, number: int, injected: Injected, labels: dict[str, str]) -> None:
        template = podtemplate.read(group, "template", injected)
        templates.append((role, number, template))
        own = {**template.labels, **(group.labels("labels") if v1 else {})}
        pods.append(PodLabels(role, _ray_labels(own, cluster_name, labels, serves)))

    head = required(spec, "headGroupSpec")
    if head is not None:
        containers = (*_autoscaler(spec), *beside_head, *sidecars)
        add(head, "head", 1, Injected(containers, first_init), {"node-type": "head", "group": "headgroup"})
    names: set[str] = set()
    for group in spec.items("workerGroupSpecs"):
        name = _group_name(group, names)
        injected = Injected(sidecars, first_init, (WAIT_GCS_READY,))
        add(group, f"worker/{name}", _workers(group, v1), injected, {"node-type": "worker", "group": name})
    runs = is_ours(root, spec) and not spec.boolean("suspend")
    return ObjectFacts(
        gang=tuple(PodSet(role, number, t.shape) for role, number, t in templates if number) if runs else (),
        sized=True,
        pods=tuple(pods),
        needs=distinct(_needs(root, spec, [template for _, _, template in templates])),
        singleton="fixed GCS storage namespace" if _has_fixed_storage(root, spec) else "",
    )


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


def _workers(group: Cursor, v1: bool) -> int:
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
        return 0
    if v1 and group.boolean("suspend"):
        return 0
    workers = min(max(replicas, low), high) * hosts
    if workers > INT32_MAX:
        group.report("InvalidReplicas", f"the group has {workers} pods", "lower replicas or numOfHosts", key="replicas")
        return 0
    return workers


def _autoscaler(spec: Cursor) -> tuple[Amounts, ...]:
    """The sidecar that KubeRay adds to an autoscaling head; `autoscalerOptions.resources` replaces all it asks for."""
    if not spec.boolean("enableInTreeAutoscaling"):
        return ()
    options = spec.mapping("autoscalerOptions")
    return (container_requests(options) if options.has("resources") else AUTOSCALER,)


def _injected_everywhere(spec: Cursor) -> tuple[tuple[Amounts, ...], tuple[Amounts, ...]]:
    """What head and workers both get: containers, and init containers that come first."""
    containers: tuple[Amounts, ...] = ()
    if spec.has("historyServerOptions"):
        options = spec.mapping("historyServerOptions")
        if options.has("collectorOptions"):
            collector = options.mapping("collectorOptions")
            containers = (container_requests(collector) if collector.has("resources") else HISTORY_COLLECTOR,)
    tls = spec.has("tlsOptions") and spec.mapping("tlsOptions").boolean("enabled")
    return containers, (WAIT_FOR_TLS,) if tls else ()


def _ray_labels(
    own: Mapping[str, str], cluster_name: str, fixed: Mapping[str, str], serves: bool
) -> tuple[tuple[str, str], ...]:
    """KubeRay's labels give way to the user's, except node type, group and cluster."""
    labels = {"ray.io/is-ray-node": "yes"}
    if cluster_name:
        labels["ray.io/identifier"] = f"{cluster_name}-{fixed['node-type']}"
    if serves:
        labels["ray.io/serve"] = "true"
    labels |= {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/created-by": "kuberay-operator"}
    labels |= own
    labels |= {f"ray.io/{key}": value for key, value in fixed.items()}
    if cluster_name:
        labels["ray.io/cluster"] = cluster_name
    else:
        labels.pop("ray.io/cluster", None)
    return tuple(sorted(labels.items()))


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
