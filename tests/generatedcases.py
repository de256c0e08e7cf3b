"""
Gangs and clusters made up from a seed, most of them where the answer tips.

A case has the form that `gitplacer fit --cases` reads: `id`, `nodes`, `existingPods`, `namespaces`, `pods`, as core/v1
JSON as a user, an operator or kubectl would write it (defaults missing, quantities in all their spellings).
A `Sketch` is a cluster and a gang whose last group has no size yet; `at_boundary` asks a judge for the largest
size that fits and yields that gang and the one with one pod more. `to_the_last_byte` goes the other way: it deals
pods to nodes first and cuts the nodes to measure, so that they fill up exactly, and one byte more is too much.

The same seed makes the same bytes; a trait is one idea (a port, a taint, a spread), a case has one to three.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Judge = Callable[[Json], bool | None]

HOSTNAME, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
MI, GI = 1024**2, 1024**3
OWN = {"ray.io/cluster": "rc"}


@dataclass
class Group:
    """Pods of one kind: what they share, and how many."""

    name: str
    spec: Json
    labels: dict[str, str]
    count: int = 1


@dataclass
class Sketch:
    """A cluster, what runs on it, and a gang; the last group's size is open."""

    seed: int
    lot: random.Random
    traits: tuple[str, ...] = ()
    nodes: list[Json] = field(default_factory=list)
    existing: list[Json] = field(default_factory=list)
    namespaces: list[Json] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """A case and whether it is feasible; None where the judge could not tell."""

    case: Json
    feasible: bool | None
    boundary: str
    traits: tuple[str, ...]


def cpu(lot: random.Random, milli: int) -> str:
    """One of the spellings of this many thousandths."""
    spellings = [f"{milli}m", f"{milli / 1000:g}"]
    return lot.choice(spellings if milli % 1000 else [*spellings, str(milli // 1000)])


def memory(lot: random.Random, size: int) -> str | int:
    """One of the spellings of this many bytes."""
    spellings: list[str | int] = [str(size), size]
    spellings += [f"{size // unit}{name}" for name, unit in (("Ki", 1024), ("Mi", MI), ("Gi", GI)) if size % unit == 0]
    spellings += [f"{size // unit}{name}" for name, unit in (("k", 10**3), ("M", 10**6)) if size % unit == 0]
    return lot.choice(spellings)


def _pod(name: str, spec: Json, labels: dict[str, str], namespace: str = "ray") -> Json:
    return {"metadata": {"name": name, "namespace": namespace, "labels": dict(labels)}, "spec": spec}


def _running(sketch: Sketch, node: Json, milli: int, size: int, **labels: str) -> Json:
    name = f"app{len(sketch.existing)}-{node['metadata']['name']}"
    asked: Json = {"cpu": cpu(sketch.lot, milli), "memory": memory(sketch.lot, size)}
    spec = {
        "nodeName": node["metadata"]["name"],
        "containers": [{"name": "c", "image": "x", "resources": {"requests": asked}}],
    }
    pod = {**_pod(name, spec, {"app": "web", **labels}, "web"), "status": {"phase": "Running"}}
    sketch.existing.append(pod)
    return pod


def _plain(lot: random.Random, milli: int, size: int, **more: int) -> Json:
    asked: Json = {"cpu": cpu(lot, milli), "memory": memory(lot, size), **{k: str(v) for k, v in more.items()}}
    resources = {"requests": asked}
    if lot.random() < 0.5:
        resources["limits"] = dict(asked)
    return {"containers": [{"name": "ray", "image": "rayproject/ray", "resources": resources}]}


def _label(node: Json, key: str, value: str | None) -> None:
    if value is not None:
        node["metadata"]["labels"][key] = value


# The ground that all cases share


def _ground(seed: int, large: bool, attempt: int) -> Sketch:
    lot = random.Random(f"{seed}-{large}-{attempt}")
    sketch = Sketch(seed, lot)
    sketch.namespaces = [
        {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name, "tenant": tenant}}}
        for name, tenant in (("ray", "a"), ("web", "b"))
    ]
    shapes = [(2000, 4 * GI), (3900, 7 * GI), (7500, 14 * GI + 300 * MI), (5200, 30 * GI)]
    shapes = lot.sample(shapes, lot.choice([1, 2, 2]))
    for i in range(lot.randint(6, 14) if large else lot.randint(1, 5)):
        milli, size = lot.choice(shapes)
        name = f"n{i}"
        room: Json = {"cpu": cpu(lot, milli), "memory": memory(lot, size), "pods": "110", "ephemeral-storage": "40Gi"}
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux", "pool": lot.choice(["a", "b"])}
        node = {
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        sketch.nodes.append(node)
        if lot.random() < 0.9:
            labels[ZONE] = lot.choice(["za", "zb", "zc"])
        if lot.random() < 0.8:
            labels[RACK] = lot.choice(["r0", "r1"])
        for _ in range(lot.choice([0, 0, 1, 2])):
            _running(sketch, node, lot.choice([100, 250, 500]), lot.choice([128 * MI, 700 * MI, 10**9]))
    sizes = [(500, GI), (1000, GI), (1000, 2 * GI), (1500, 3 * GI), (1900, 2 * GI + MI), (2500, 10**9)]
    for name in ["head", "w", "v"][: lot.choice([1, 2, 2, 3, 3])]:
        milli, size = lot.choice(sizes)
        labels = {**OWN, "ray.io/group": name, "ray.io/node-type": "head" if name == "head" else "worker"}
        sketch.groups.append(Group(name, _plain(lot, milli, size), labels, 1 if name == "head" else lot.randint(1, 3)))
    return sketch


# The traits: each changes the sketch


def _gpus(sketch: Sketch) -> None:
    lot = sketch.lot
    for node in sketch.nodes:
        if lot.random() < 0.7:
            node["status"]["allocatable"]["nvidia.com/gpu"] = lot.choice(["1", "2", "4"])
            if lot.random() < 0.5:
                taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
                node["spec"].setdefault("taints", []).append(taint)
    for group in sketch.groups[-2:]:
        if lot.random() < 0.8:
            gpus = {"nvidia.com/gpu": lot.choice(["1", "1", "2"])}
            resources = group.spec["containers"][0]["resources"]
            if lot.random() < 0.5:
                resources.setdefault("limits", {}).update(gpus)
            else:
                resources["requests"].update(gpus)
        toleration = lot.choice([{"key": "nvidia.com/gpu", "operator": "Exists"}, {"operator": "Exists"}, None])
        if toleration:
            group.spec.setdefault("tolerations", []).append(toleration)


def _pod_slots(sketch: Sketch) -> None:
    for node in sketch.nodes:
        if sketch.lot.random() < 0.8:
            node["status"]["allocatable"]["pods"] = str(sketch.lot.randint(1, 4))


def _init_containers(sketch: Sketch) -> None:
    lot = sketch.lot
    for group in sketch.groups:
        for i in range(lot.choice([0, 1, 2, 3])):
            asked = {"cpu": cpu(lot, lot.choice([200, 900, 1700])), "memory": memory(lot, lot.choice([MI, GI, 3 * GI]))}
            container: Json = {"name": f"i{i}", "image": "x", "resources": {"requests": asked}}
            if lot.random() < 0.5:
                container["restartPolicy"] = "Always"
            group.spec.setdefault("initContainers", []).append(container)


def _requests(sketch: Sketch) -> None:
    """Overhead, pod-level resources, limits alone, nothing at all, storage, a second container."""
    lot = sketch.lot
    for group in sketch.groups:
        container = group.spec["containers"][0]
        kind = lot.choice(["overhead", "pod", "limits", "none", "storage", "second"])
        if kind == "overhead":
            group.spec["overhead"] = {"cpu": "250m", "memory": "160Mi"}
        elif kind == "pod":
            level = lot.choice(["requests", "limits"])
            group.spec["resources"] = {level: {"cpu": cpu(lot, lot.choice([1300, 2000])), "memory": "1Gi"}}
            if lot.random() < 0.4:
                container["resources"] = {}
        elif kind == "limits":
            container["resources"] = {"limits": container["resources"]["requests"]}
        elif kind == "none":
            container["resources"] = lot.choice([{}, {"requests": {"cpu": "0"}}])
        elif kind == "storage":
            container["resources"]["requests"]["ephemeral-storage"] = lot.choice(["15Gi", "20Gi", "20000000001"])
        else:
            second = {"cpu": cpu(lot, lot.choice([1, 333])), "memory": memory(lot, lot.choice([1, 10**8]))}
            group.spec["containers"].append({"name": "side", "image": "x", "resources": {"requests": second}})


def _selectors(sketch: Sketch) -> None:
    lot = sketch.lot
    for node in sketch.nodes:
        _label(node, "gen", lot.choice(["3", "5", "5", "12", "x", None]))
        _label(node, "disk", lot.choice(["ssd", "hdd", None]))
    some = lot.choice(sketch.nodes)["metadata"]["name"]
    expressions: list[Json] = [
        {"key": "gen", "operator": "Gt", "values": ["4"]},
        {"key": "gen", "operator": "Lt", "values": ["10"]},
        {"key": "disk", "operator": "NotIn", "values": ["hdd"]},
        {"key": "disk", "operator": "Exists"},
        {"key": "disk", "operator": "DoesNotExist"},
        {"key": "pool", "operator": "In", "values": ["a", "c"]},
    ]
    fields = {"key": "metadata.name", "operator": lot.choice(["In", "NotIn"]), "values": [some]}
    for group in sketch.groups:
        terms = [
            {"matchExpressions": lot.sample(expressions, lot.choice([1, 1, 2]))} for _ in range(lot.choice([1, 2]))
        ]
        kind = lot.choice(["selector", "terms", "fields", "empty", "free"])
        if kind == "selector":
            group.spec["nodeSelector"] = lot.choice([{"pool": "a"}, {"disk": "ssd"}, {"pool": "b", "disk": "ssd"}])
        elif kind == "fields":
            terms.append({"matchFields": [fields]})
        elif kind == "empty":
            terms.insert(0, {})
        if kind in ("terms", "fields", "empty"):
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            group.spec.setdefault("affinity", {})["nodeAffinity"] = required


def _taints(sketch: Sketch) -> None:
    lot = sketch.lot
    for node in sketch.nodes:
        for _ in range(lot.choice([0, 0, 1, 2])):
            effect = lot.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
            taint = {"key": lot.choice(["dedicated", "spot"]), "value": lot.choice(["x", "y"]), "effect": effect}
            node["spec"].setdefault("taints", []).append(taint)
        if lot.random() < 0.2:
            node["spec"]["unschedulable"] = True
            if lot.random() < 0.7:
                taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
                node["spec"].setdefault("taints", []).append(taint)
    tolerations: list[Json] = [
        {"key": "dedicated", "operator": "Exists"},
        {"key": "dedicated", "value": "x"},
        {"key": "spot", "operator": "Equal", "value": "y", "effect": "NoSchedule"},
        {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
        {"operator": "Exists", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
    ]
    for group in sketch.groups:
        group.spec.setdefault("tolerations", []).extend(lot.sample(tolerations, lot.choice([0, 1, 2])))


def _ports(sketch: Sketch) -> None:
    lot = sketch.lot
    for group in sketch.groups:
        port: Json = {"containerPort": 6379}
        kind = lot.choice(["host", "network", "sidecar", "none"])
        if kind == "network":
            group.spec["hostNetwork"] = True
        if kind in ("host", "sidecar"):
            port["hostPort"] = lot.choice([6379, 8265])
            port |= lot.choice([{}, {}, {"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, {"protocol": "UDP"}])
        if kind == "sidecar":
            container = {"name": "proxy", "image": "x", "restartPolicy": "Always", "ports": [port]}
            group.spec.setdefault("initContainers", []).append(container)
        elif kind != "none":
            group.spec["containers"][0]["ports"] = [port]
    for node in sketch.nodes:
        if lot.random() < 0.3:
            pod = _running(sketch, node, 50, MI)
            port = {"containerPort": 1, "hostPort": lot.choice([6379, 8265]), "protocol": lot.choice(["TCP", "UDP"])}
            pod["spec"]["containers"][0]["ports"] = [port | lot.choice([{}, {"hostIP": "10.0.0.1"}])]


def _term(sketch: Sketch, group: Group, key: str) -> Json:
    """A term that means the own group, the gang, the head, or the pods of others."""
    lot = sketch.lot
    other = lot.choice(sketch.groups)
    kind = lot.choice(["group", "group", "gang", "role", "other", "keys"])
    if kind == "gang":
        selector: Json = {"matchLabels": OWN}
    elif kind == "role":
        selector = {"matchLabels": {"ray.io/group": other.name}}
    elif kind == "other":
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "cache"]}]}
    elif kind == "keys":
        return {"topologyKey": key, "labelSelector": {"matchLabels": OWN}, "matchLabelKeys": ["ray.io/group"]}
    else:
        selector = {"matchLabels": {**OWN, "ray.io/group": group.name}}
    term: Json = {"topologyKey": key, "labelSelector": selector}
    if kind == "other":
        reach: list[Json] = [
            {"namespaces": ["web"]},
            {"namespaceSelector": {}},
            {"namespaceSelector": {"matchLabels": {"tenant": "b"}}},
            {},
        ]
        term |= lot.choice(reach)
    return term


def _neighbours_of_others(sketch: Sketch) -> None:
    for node in sketch.nodes:
        if sketch.lot.random() < 0.4:
            pod = _running(sketch, node, 50, MI, app=sketch.lot.choice(["db", "cache", "web"]))
            pod["metadata"]["namespace"] = sketch.lot.choice(["web", "ray"])


def _anti_affinity(sketch: Sketch) -> None:
    lot = sketch.lot
    _neighbours_of_others(sketch)
    for group in sketch.groups[-2:]:
        terms = [
            _term(sketch, group, lot.choice([HOSTNAME, HOSTNAME, RACK, ZONE])) for _ in range(lot.choice([1, 1, 2]))
        ]
        affinity = group.spec.setdefault("affinity", {})
        affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _existing_anti_affinity(sketch: Sketch) -> None:
    lot = sketch.lot
    for node in sketch.nodes:
        if lot.random() < 0.3:
            pod = _running(sketch, node, 50, MI)
            name = lot.choice(sketch.groups).name
            term: Json = {
                "topologyKey": lot.choice([HOSTNAME, RACK]),
                "labelSelector": {"matchLabels": {"ray.io/group": name}},
            }
            term |= lot.choice([{"namespaces": ["ray"]}, {"namespaceSelector": {"matchLabels": {"tenant": "a"}}}, {}])
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            pod["spec"]["affinity"] = {"podAntiAffinity": required}


def _affinity(sketch: Sketch) -> None:
    lot = sketch.lot
    _neighbours_of_others(sketch)
    for group in lot.sample(sketch.groups, lot.choice([1, 1, len(sketch.groups)])):
        terms = [
            _term(sketch, group, lot.choice([RACK, ZONE, RACK, HOSTNAME])) for _ in range(lot.choice([1, 1, 1, 2]))
        ]
        affinity = group.spec.setdefault("affinity", {})
        affinity["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": terms}


def _spread(sketch: Sketch) -> None:
    lot = sketch.lot
    for group in sketch.groups[-2:]:
        group.labels["rev"] = "2"
        constraints = []
        for key in lot.sample([ZONE, RACK, HOSTNAME], lot.choice([1, 1, 1, 2])):
            selector = lot.choice([{"matchLabels": OWN}, {"matchLabels": {**OWN, "ray.io/group": group.name}}])
            constraint: Json = {
                "topologyKey": key,
                "maxSkew": lot.choice([1, 1, 2]),
                "whenUnsatisfiable": lot.choice(["DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": selector,
            }
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and lot.random() < 0.3:
                constraint["minDomains"] = lot.choice([1, 2, 3])
            if lot.random() < 0.3:
                constraint["nodeAffinityPolicy"] = lot.choice(["Honor", "Ignore"])
            if lot.random() < 0.3:
                constraint["nodeTaintsPolicy"] = lot.choice(["Honor", "Ignore"])
            if lot.random() < 0.3:
                constraint["matchLabelKeys"] = ["rev"]
            constraints.append(constraint)
        group.spec["topologySpreadConstraints"] = constraints
        for node in sketch.nodes:
            if lot.random() < 0.25:
                old = _running(sketch, node, 50, MI, **{**group.labels, "rev": lot.choice(["1", "2"])})
                old["metadata"]["namespace"] = lot.choice(["ray", "ray", "web"])
                if lot.random() < 0.3:
                    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"


def _states(sketch: Sketch) -> None:
    """Pods that hold nothing, hold more than they ask, or hold what no node has."""
    lot = sketch.lot
    for node in sketch.nodes:
        kind = lot.choice(["done", "failed", "leaving", "resized", "refused", "over", "elsewhere", "waiting", "plain"])
        pod = _running(sketch, node, 700, GI)
        if kind in ("done", "failed"):
            pod["status"] = {"phase": "Succeeded" if kind == "done" else "Failed"}
        elif kind == "leaving":
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        elif kind in ("resized", "refused"):
            status: Json = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "512Mi"}}}
            status["allocatedResources"] = {"cpu": "900m", "memory": "1Gi"}
            pod["status"]["containerStatuses"] = [status]
            if kind == "refused":
                condition = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
                pod["status"]["conditions"] = [condition]
                pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "60"
        elif kind == "over":
            pod["spec"]["containers"][0]["resources"]["requests"]["memory"] = "64Gi"
        elif kind == "elsewhere":
            pod["spec"]["nodeName"] = "gone"
        elif kind == "waiting":
            del pod["spec"]["nodeName"]
            pod["status"]["phase"] = "Pending"
        # what the machine has, more than what pods may have of it
        node["status"]["capacity"] = {**node["status"]["allocatable"], "cpu": "64", "memory": "256Gi"}


def _preferences(sketch: Sketch) -> None:
    """What moves the scheduler's choice and forbids nothing."""
    lot = sketch.lot
    for group in sketch.groups:
        term = {"labelSelector": {"matchLabels": OWN}, "topologyKey": lot.choice([HOSTNAME, ZONE])}
        weighted = [{"weight": lot.choice([1, 100]), "podAffinityTerm": term}]
        kind = lot.choice(["podAffinity", "podAntiAffinity"])
        affinity = group.spec.setdefault("affinity", {})
        affinity.setdefault(kind, {})["preferredDuringSchedulingIgnoredDuringExecution"] = weighted
        preference = {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}
        preferred = [{"weight": 50, "preference": preference}]
        affinity.setdefault("nodeAffinity", {})["preferredDuringSchedulingIgnoredDuringExecution"] = preferred


TRAITS: dict[str, Callable[[Sketch], None]] = {
    "gpus": _gpus,
    "pod_slots": _pod_slots,
    "init_containers": _init_containers,
    "requests": _requests,
    "selectors": _selectors,
    "taints": _taints,
    "ports": _ports,
    "anti_affinity": _anti_affinity,
    "existing_anti_affinity": _existing_anti_affinity,
    "affinity": _affinity,
    "spread": _spread,
    "states": _states,
    "preferences": _preferences,
}


def sketch(seed: int, *, large: bool = False, attempt: int = 0) -> Sketch:
    """A cluster and a gang; every trait comes round as seeds count up, some in company, one in ten cases plain."""
    made = _ground(seed, large, attempt)
    names = list(TRAITS)
    main = [] if seed % 10 == 9 else [names[(seed // 10 * 9 + seed % 10) % len(names)]]
    company = [name for name in names if name not in main and made.lot.random() < 0.08]
    made.traits = tuple(main + company)
    # what adds to an affinity comes after what sets it
    for name in sorted(made.traits, key=names.index):
        TRAITS[name](made)
    return made


def case(made: Sketch, size: int, boundary: str) -> Json:
    """The gang with this many pods in its last group, in the order in which its operator makes them."""
    counts = [*(group.count for group in made.groups[:-1]), size]
    pods = [
        _pod(f"rc-{group.name}-{i:02}", group.spec, group.labels)
        for group, count in zip(made.groups, counts, strict=True)
        for i in range(count)
    ]
    return {
        "id": f"{made.seed:05}-{'+'.join(made.traits) or 'plain'}-{boundary}",
        "nodes": made.nodes,
        "existingPods": made.existing,
        "namespaces": made.namespaces,
        "pods": pods,
    }


def at_boundary(made: Sketch, feasible: Judge, most: int = 8) -> Iterator[Judged]:
    """The largest size of the last group that fits, and one more; or the gang that never fits, or the most tried."""
    answers: list[bool | None] = []
    for size in range(1, most + 1):
        answers.append(feasible(case(made, size, "")))
        if answers[-1] is not True:
            break
    last = len(answers)
    if answers[-1] is True:
        yield Judged(case(made, last, "loose"), True, "loose", made.traits)
        return
    if last > 1:
        yield Judged(case(made, last - 1, "last_replica"), True, "last_replica", made.traits)
    boundary = "last_replica+1" if last > 1 else "never_fits"
    yield Judged(case(made, last, boundary), answers[-1], boundary, made.traits)


def to_the_last_byte(seed: int, *, large: bool = False) -> Iterator[Judged]:
    """
    Nodes cut to measure: pods are dealt to them, and they hold that and not a byte or thousandth more.

    The second case asks one unit more than all nodes have, so no judge is needed for either.
    """
    lot = random.Random(f"measured-{seed}-{large}")
    made = Sketch(seed, lot, ("measured",))
    nodes = lot.randint(4, 9) if large else lot.randint(2, 4)
    groups = [(name, lot.randint(300, 2500), lot.randint(10**8, 5 * 10**9)) for name in ("head", "w", "v")]
    groups = groups[: lot.choice([2, 3])]
    sizes = [1] + [lot.randint(1, 2 * nodes if large else nodes + 1) for _ in groups[1:]]
    milli, size, slots = [0] * nodes, [0] * nodes, [0] * nodes
    for (_, asked_milli, asked_size), count in zip(groups, sizes, strict=True):
        for _ in range(count):
            i = lot.randrange(nodes)
            milli[i] += asked_milli
            size[i] += asked_size
            slots[i] += 1
    spare = lot.choice(["cpu", "memory"])  # the other is exact
    for i in range(nodes):
        room: Json = {
            "cpu": cpu(lot, milli[i] + (10_000 if spare == "cpu" else 0)),
            "memory": memory(lot, size[i] + (10**10 if spare == "memory" else 0)),
            "pods": str(slots[i] + lot.choice([0, 5])),
        }
        labels = {HOSTNAME: f"n{i}"}
        made.nodes.append(
            {"metadata": {"name": f"n{i}", "labels": labels}, "spec": {}, "status": {"allocatable": room}}
        )
    for boundary, more in (("last_unit", 0), ("last_unit+1", 1)):
        made.groups = []
        for i, (name, asked_milli, asked_size) in enumerate(groups):
            extra = more if i == len(groups) - 1 else 0
            spec = _plain(
                lot, asked_milli + (0 if spare == "cpu" else extra), asked_size + (extra if spare == "cpu" else 0)
            )
            made.groups.append(Group(name, spec, {**OWN, "ray.io/group": name}, sizes[i]))
        yield Judged(case(made, sizes[-1], boundary), not more, boundary, made.traits)


def generate(seeds: range, feasible: Judge, *, large: bool = False) -> Iterator[Judged]:
    """Judged cases of these seeds: one seed in eight cut to measure, the others searched for their boundary."""
    for seed in seeds:
        if seed % 8 == 7:
            yield from to_the_last_byte(seed, large=large)
        else:
            # a gang that never fits teaches little: three draws for one that does
            for attempt in range(3):
                found = list(at_boundary(sketch(seed, large=large, attempt=attempt), feasible, most=30 if large else 8))
                if found[-1].boundary != "never_fits":
                    break
            yield from found
