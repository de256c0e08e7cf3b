"""
A fleet as fleets are, of any size, made from a seed.

Clusters differ in size, the first of them by far, and in what they have: general nodes, nodes with four and eight GPUs, and TPU hosts, in three
zones, tainted as clouds taint them, some of it in use. Tenants write RayJobs and RayServices into namespaces of their own: with GPUs, with CPUs only,
with a group for loading data beside the one that trains, with groups of which each replica is several hosts. Teams copy from each other, so
there are far fewer blueprints than gangs: about ten gangs come to one shape of pod, and half of the gangs are some other one but for the name.
A tenth of the gangs are services that like the first cluster best; they are what moves when it is lost.

The same arguments give the same bytes. Each part has a stream of chance of its own, so that more gangs do not change the clusters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.generate import snapshot_file

HUB = "cluster-0000"
_GPU, _TPU = "nvidia.com/gpu", "google.com/tpu"
_SLICE = {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice", "cloud.google.com/gke-tpu-topology": "2x4"}
_REGIONS = 7
_HEADER = "apiVersion: gitplacer.dev/v1alpha1\n"


@dataclass(frozen=True, slots=True)
class Size:
    """How many gangs, clusters and nodes a fleet has."""

    gangs: int
    clusters: int
    nodes: int

    def __str__(self) -> str:
        return f"{self.gangs:,} gangs, {self.clusters:,} clusters, {self.nodes:,} nodes"


_MOST_BLUEPRINTS = 400
_MOST_NODES = 10_000
"""Twice as many as Kubernetes says that it is meant for."""
SIZES = {
    "small": Size(100, 10, 1000),
    "medium": Size(1000, 100, 10_000),
    "large": Size(10_000, 1000, 100_000),
    "huge": Size(100_000, 10_000, 1_000_000),
}


def files(size: Size, *, seed: int = 1, blueprints: int | None = None) -> dict[str, str]:
    """
    The files of a source repo. `blueprints` says how many different gangs there are, as far as shapes go; absent means in proportion, up to
    about a thousand shapes: whoever has more apps than that has copies.
    """
    tenants = max(2, min(40, size.gangs // 50))
    return {
        "fleet.yaml": f"{_HEADER}kind: Fleet\nmetadata: {{name: fleet}}\nspec: {{}}\n",
        **_policies(),
        **{f"tenants/{_tenant(number)}.yaml": _tenant_file(_tenant(number)) for number in range(tenants)},
        **dict(_clusters(size, seed)),
        **dict(_workloads(size.gangs, tenants, blueprints or max(10, min(_MOST_BLUEPRINTS, size.gangs // 30)), seed)),
    }


def _tenant(number: int) -> str:
    return f"team-{number:02}"


def _tenant_file(name: str) -> str:
    return (
        f"{_HEADER}kind: Tenant\nmetadata: {{name: {name}}}\n"
        f'spec:\n  paths: ["workloads/{name}/**"]\n  namespaces: ["{name}-*"]\n  quota: {{{_GPU}: "100000"}}\n'
    )


def _policies() -> dict[str, str]:
    production = "  clusters: {matchLabels: {class: production}}\n"
    hub = f"  placement: {{type: Ordered, order: [{{names: [{HUB}]}}, {{matchLabels: {{class: production}}}}]}}\n"
    wanted = (
        ("hub", 'namespaces: ["*-hub"]', 20, production + hub),
        ("training", "labelSelector: {matchLabels: {workload: training}}", 15, ""),
        ("services", "kinds: [RayService]", 10, production),
        ("jobs", "kinds: [RayJob]", 0, ""),
    )
    return {
        f"policies/{name}.yaml": (
            f"{_HEADER}kind: PlacementPolicy\nmetadata: {{name: {name}}}\n"
            f"spec:\n  select: {{{select}}}\n  precedence: {rank}\n  priority: {rank}\n{more}"
        )
        for name, select, rank, more in wanted
    }


# clusters


@dataclass(frozen=True, slots=True)
class Machine:
    """A type of node: `device` is the resource of its accelerators, of which it has so many."""

    name: str
    cpu: str
    memory: str
    device: str = ""
    devices: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str], ...] = ()


_GENERAL = Machine("m6i.8xlarge", "31850m", "120Gi")
_COMPUTE = Machine("c6i.16xlarge", "63770m", "117Gi")
_SMALL_GPU = Machine("g5.12xlarge", "47810m", "178Gi", _GPU, 4, (("accelerator", "a10g"),), ((_GPU, "present"),))
_LARGE_GPU = Machine(
    "p5.48xlarge", "191450m", "1990Gi", _GPU, 8, (("accelerator", "h100"),), ((_GPU, "present"), ("dedicated", "training"))
)  # fmt: skip
_TPU_HOST = Machine("ct5lp-hightpu-4t", "111600m", "184Gi", _TPU, 4, tuple(_SLICE.items()), ((_TPU, "present"),))
_MIXES = {
    "aws": ((_GENERAL, 50), (_COMPUTE, 15), (_SMALL_GPU, 22), (_LARGE_GPU, 13)),
    "gce": ((_GENERAL, 50), (_COMPUTE, 10), (_SMALL_GPU, 18), (_LARGE_GPU, 10), (_TPU_HOST, 12)),
    "azure": ((_GENERAL, 70), (_COMPUTE, 15), (_SMALL_GPU, 15)),
}


def sizes_of_clusters(size: Size, chance: random.Random) -> list[int]:
    """
    Nodes of each cluster: a tenth for the first where there are at least ten, and no more than a Kubernetes cluster has, the rest unequal, at
    least one each.
    """
    first = min(_MOST_NODES, size.nodes // 10) if size.clusters >= 10 else size.nodes // size.clusters
    if size.clusters == 1:
        return [size.nodes]
    weights = [chance.lognormvariate(0, 0.8) for _ in range(size.clusters - 1)]
    spare = size.nodes - first - len(weights)
    found = [first, *(1 + int(spare * weight / sum(weights)) for weight in weights)]
    found[-1] += size.nodes - sum(found)
    return found


def _clusters(size: Size, seed: int) -> Iterator[tuple[str, str]]:
    for number, nodes in enumerate(sizes_of_clusters(size, random.Random(f"{seed} sizes"))):
        name, provider = f"cluster-{number:04}", ("aws", "gce", "azure")[number % 3]
        group = "research" if number % 10 in (3, 6, 9) else "production"
        region = f"region-{number % _REGIONS}"
        yield (
            f"clusters/{name}.yaml",
            (
                f"{_HEADER}kind: Cluster\nmetadata:\n  name: {name}\n  labels: {{class: {group}}}\n"
                f"spec:\n  provider: {provider}\n  region: {region}\n"
            ),
        )
        yield f"capacity/{name}.json", _snapshot(name, provider, region, nodes, random.Random(f"{seed} {name}"))


def _snapshot(name: str, provider: str, region: str, nodes: int, chance: random.Random) -> str:
    machines, weights = zip(*_MIXES[provider], strict=True)
    drawn = chance.choices(machines, weights, k=nodes)
    return snapshot_file(
        name,
        [
            _node(f"{name}-{number:05}", machine, f"{region}-{'abc'[number % 3]}", chance)
            for number, machine in enumerate(drawn)
        ],
    )


def _node(name: str, machine: Machine, zone: str, chance: random.Random) -> dict[str, object]:
    allocatable = {"cpu": machine.cpu, "memory": machine.memory, "ephemeral-storage": "90Gi", "pods": "110"}
    used = {"cpu": f"{chance.randrange(1, 30) * 500}m", "memory": f"{chance.randrange(1, 40)}Gi", "pods": "9"}
    if machine.devices:
        allocatable[machine.device] = str(machine.devices)
        if chance.random() < 0.4:
            used[machine.device] = str(chance.randint(1, machine.devices))
    return {
        "name": name,
        "labels": {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": name,
            "node.kubernetes.io/instance-type": machine.name,
            "topology.kubernetes.io/zone": zone,
            **dict(machine.labels),
        },
        "taints": [{"key": key, "value": value, "effect": "NoSchedule"} for key, value in machine.taints],
        "allocatable": allocatable,
        "used": used,
    }


# workloads


@dataclass(frozen=True, slots=True)
class PodForm:
    """What a pod asks for: thousandths of a core, MiB, accelerators, and which nodes it wants."""

    cpu: int
    memory: int
    machine: Machine = _GENERAL
    devices: int = 0
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Equal workers: so many replicas of so many hosts each."""

    name: str
    form: PodForm
    replicas: int
    hosts: int = 1


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What teams copy. `sort` is the kind of work, in one word."""

    sort: str
    kind: str
    head: PodForm
    groups: tuple[Group, ...]


_SORTS = {"gpu": 30, "training": 13, "cpu": 25, "service": 18, "cpu-service": 10, "tpu": 4}


def _pod(chance: random.Random, machine: Machine, devices: int, cores: tuple[int, int]) -> PodForm:
    """A pod of odd size; a memory of odd size makes shapes differ that would not otherwise."""
    cpu = chance.randrange(cores[0] * 4, cores[1] * 4) * 250
    return PodForm(cpu, cpu * chance.choice((2, 3, 4)) // 1000 * 1024 + chance.randrange(64) * 8, machine, devices)


def blueprint(sort: str, chance: random.Random) -> Blueprint:
    """One blueprint of a sort of work."""
    head = _pod(chance, _GENERAL, 0, (1, 8))
    kind = "RayService" if sort in ("service", "cpu-service", "hub") else "RayJob"
    cpu = Group("cpu", _pod(chance, _GENERAL, 0, (1, 12)), chance.randint(1, 8))
    groups: tuple[Group, ...]
    if sort in ("cpu", "cpu-service"):
        more = Group("wide", _pod(chance, _COMPUTE, 0, (8, 30)), chance.randint(1, 4))
        groups = (cpu, more) if chance.random() < 0.5 else (cpu,)
    elif sort == "hub":
        groups = (Group("cpu", _pod(chance, _GENERAL, 0, (1, 3)), chance.randint(1, 2)),)
    elif sort == "tpu":
        groups = (Group("tpu", PodForm(24_000, 98_304, _TPU_HOST, 4), chance.randint(1, 2), hosts=2),)
    elif sort == "training":
        workers = Group("h100", _pod(chance, _LARGE_GPU, 8, (40, 120)), chance.choice((1, 1, 2, 2, 3, 4, 16)))
        groups = (workers, replace(cpu, name="data"))
    else:
        gpus = chance.choice((1, 1, 1, 2, 4))
        workers = Group("gpu", _pod(chance, _SMALL_GPU, gpus, (2, 9)), chance.randint(1, 4))
        groups = (workers, cpu) if chance.random() < 0.4 else (workers,)
    if sort != "hub" and chance.random() < 0.04:
        zone = f"region-{chance.randrange(_REGIONS)}-{chance.choice('abc')}"
        groups = tuple(replace(group, form=replace(group.form, zone=zone)) for group in groups)
    return Blueprint(sort, kind, head, groups)


def _workloads(gangs: int, tenants: int, blueprints: int, seed: int) -> Iterator[tuple[str, str]]:
    chance = random.Random(f"{seed} blueprints")
    sorts = [*_SORTS, *chance.choices(list(_SORTS), list(_SORTS.values()), k=max(0, blueprints - len(_SORTS)))]
    plans: dict[str, list[Blueprint]] = {"hub": [blueprint("hub", chance) for _ in range(max(1, blueprints // 10))]}
    for sort in sorts:
        plans.setdefault(sort, []).append(blueprint(sort, chance))
    chance = random.Random(f"{seed} gangs")
    for number in range(gangs):
        [sort] = chance.choices(list(_SORTS), list(_SORTS.values())) if number % 10 else ["hub"]
        copied = chance.choice(plans[sort])
        if chance.random() < 0.5:  # the other half is copied as it is
            copied = replace(copied, groups=tuple(_scaled(group, chance) for group in copied.groups))
        tenant = _tenant(number % tenants)
        namespace = f"{tenant}-{'hub' if copied.sort == 'hub' else ('dev', 'prod', 'batch')[number // tenants % 3]}"
        name = f"app-{number:06}"
        yield f"workloads/{tenant}/{namespace}/{name}.yaml", manifest(copied, namespace, name)


def _scaled(group: Group, chance: random.Random) -> Group:
    return replace(group, replicas=max(1, group.replicas + chance.choice((-1, 1, 2))))


def manifest(plan: Blueprint, namespace: str, name: str) -> str:
    """A RayJob or RayService as people write them, comments and all."""
    key, first = "rayClusterConfig", ""
    if plan.kind == "RayJob":
        key, first = "rayClusterSpec", "  entrypoint: python /home/ray/main.py\n  shutdownAfterJobFinishes: true\n"
    groups = "".join(
        f"    - groupName: {group.name}   # {group.form.machine.name}\n"
        f"      replicas: {group.replicas}\n      minReplicas: {group.replicas}\n      maxReplicas: {group.replicas}\n"
        + (f"      numOfHosts: {group.hosts}\n" if group.hosts > 1 else "")
        + f"      rayStartParams: {{}}\n      template:\n{_template(group.form, 'ray-worker')}"
        for group in plan.groups
    )
    return (
        f"# {name}: owned by {namespace}\napiVersion: ray.io/v1\nkind: {plan.kind}\nmetadata:\n  name: {name}\n"
        f"  namespace: {namespace}\n  labels:\n    app.kubernetes.io/instance: {name}\n    workload: {plan.sort}\n"
        f'spec:\n{first}  {key}:\n    rayVersion: "2.52.0"\n    headGroupSpec:\n      rayStartParams:\n        dashboard-host: 0.0.0.0\n'
        f"      template:\n{_template(plan.head, 'ray-head')}    workerGroupSpecs:\n{groups}"
    )


def _template(form: PodForm, container: str) -> str:
    wanted = {**dict(form.machine.labels)} if form.devices else {}
    if form.zone:
        wanted["topology.kubernetes.io/zone"] = form.zone
    select = "".join(f"            {key}: {value}\n" for key, value in wanted.items())
    tolerate = "".join(
        f"          - {{key: {key}, operator: Exists, effect: NoSchedule}}\n"
        for key, _ in (form.machine.taints if form.devices else ())
    )
    asked = f'cpu: "{form.cpu}m", memory: {form.memory}Mi'
    if form.devices:
        asked += f', {form.machine.device}: "{form.devices}"'
    return (
        "        spec:\n"
        + (f"          nodeSelector:\n{select}" if select else "")
        + (f"          tolerations:\n{tolerate}" if tolerate else "")
        + f"          containers:\n          - name: {container}\n            image: rayproject/ray:2.52.0-py311\n"
        + '            env:\n            - {name: OMP_NUM_THREADS, value: "1"}\n'
        + f"            resources:\n              limits: {{{asked}}}\n              requests: {{{asked}}}\n"
    )
