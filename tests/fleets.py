"""
Small random fleets, and random histories of what people and clusters do to them.

A history is a list of edits, each a name and a few numbers. A `World` applies them: every edit means something in
every state (numbers are taken modulo what there is), so that a failing history shrinks to the few edits that matter.
The world also plays the clusters: its snapshots tell, truthfully and only when asked to look, which epochs and groups
they see. What it knows of gitplacer is the format of its inputs, of records and of sentinels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.judges import UNITS, epoch

API = "gitplacer.dev/v1alpha1"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMESPACES = ("alpha", "beta")
CLUSTERS = ("a", "b", "c")
FOLDERS = ("", "one/", "two/")
NAMES = ("job.yaml", "app.yaml", "app.json", "job.yml", "App.yaml", "code.yaml", "data.yaml")
KINDS = ("RayJob", "RayService", "RayJob", "Deployment", "ConfigMap", "Job", "ConfigMap", "Service")
SIZED = ("RayJob", "RayService", "Deployment", "Job")
LABELS = ("red", "rayjob-one", "app")
FORMATS = ("block", "flow", "list", "commented")
PHASES = ("Pending", "Running", "Succeeded", "Failed")

Key = tuple[str, str, str]
"""Kind, namespace, name."""


@dataclass(frozen=True)
class Edit:
    """One thing that happens. What the numbers mean is up to it."""

    name: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Manifest:
    """One object of the source: where it stands and how large it is. cpu in milli-cores."""

    kind: str
    namespace: str
    name: str
    file: str
    cpu: int = 1000
    gpu: int = 0
    pods: int = 1
    label: str = ""
    needs: str = ""
    says_namespace: bool = True
    pinned: bool = False

    @property
    def key(self) -> Key:
        return self.kind, self.namespace, self.name

    def requests(self) -> tuple[int, int]:
        """(milli-cores, GPUs) of all its pods; a RayJob's submitter asks for 500m."""
        if self.kind not in SIZED:
            return 0, 0
        if self.kind in ("RayJob", "RayService"):
            submitter = 500 if self.kind == "RayJob" else 0
            return 500 + submitter + self.cpu * self.pods, self.gpu * self.pods
        return self.cpu * self.pods, self.gpu * self.pods

    def value(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": self.name}
        if self.says_namespace:
            metadata["namespace"] = self.namespace
        if self.label:
            metadata["labels"] = {"app": self.label}
        if self.pinned:
            metadata["annotations"] = {"gitplacer.dev/relocation": "Never"}
        return {"apiVersion": _API_VERSIONS[self.kind], "kind": self.kind, "metadata": metadata, **self._body()}

    def _body(self) -> dict[str, Any]:
        match self.kind:
            case "ConfigMap":
                return {"data": {"cpu": str(self.cpu)}}
            case "Service":
                return {"spec": {"selector": {"app": self.label or "red"}, "ports": [{"port": 80}]}}
            case "Deployment":
                labels = {"app": self.label or self.name}
                return {
                    "spec": {
                        "replicas": self.pods,
                        "selector": {"matchLabels": labels},
                        "template": self._template(labels),
                    }
                }
            case "Job":
                template = self._template({"job": self.name})
                template["spec"]["restartPolicy"] = "Never"
                return {"spec": {"parallelism": self.pods, "completions": self.pods, "template": template}}
        head = {"rayStartParams": {}, "template": {"spec": {"containers": [_container(500, 0)]}}}
        workers = {
            "groupName": "w", "replicas": self.pods, "minReplicas": 0, "maxReplicas": 9, "rayStartParams": {},
            "template": self._template({"app": self.label or self.name}),
        }  # fmt: skip
        cluster = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [workers]}
        if self.kind == "RayJob":
            return {"spec": {"entrypoint": "python x.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": cluster}}
        return {"spec": {"serveConfigV2": "applications: []\n", "rayClusterConfig": cluster}}

    def _template(self, labels: Mapping[str, str]) -> dict[str, Any]:
        spec: dict[str, Any] = {"containers": [_container(self.cpu, self.gpu)]}
        if self.needs:
            spec["volumes"] = [{"name": "code", "configMap": {"name": self.needs}}]
        return {"metadata": {"labels": dict(labels)}, "spec": spec}


_API_VERSIONS = {
    "RayJob": "ray.io/v1", "RayService": "ray.io/v1", "Deployment": "apps/v1", "Job": "batch/v1",
    "ConfigMap": "v1", "Service": "v1",
}  # fmt: skip


def _container(cpu: int, gpu: int) -> dict[str, Any]:
    resources: dict[str, Any] = {"requests": {"cpu": f"{cpu}m", "memory": "64Mi"}}
    if gpu:
        resources["limits"] = {"nvidia.com/gpu": str(gpu)}
    return {"name": "main", "image": "example.com/ray:2.52.0", "resources": resources}


@dataclass(frozen=True)
class Cluster:
    """A Cluster and its nodes as the world knows them: (cpu in cores, GPUs, cores used by others) each."""

    name: str
    tier: str = "east"
    state: str = "Active"
    machines: tuple[tuple[int, int, int], ...] = ((8, 2, 0), (4, 0, 1))
    autoscaled: int = 0
    ages: bool = False
    labelled: bool = False

    def value(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"state": self.state, "provider": "aws"}
        if self.ages:
            spec["maxAge"] = "1h"
        if self.autoscaled or self.labelled:
            spec["autoscaler"] = {"type": "Luna"}
        if self.autoscaled:
            allocatable = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
            spec["autoscaler"]["nodeTypes"] = [{"name": "big", "allocatable": allocatable, "max": self.autoscaled}]
        if self.labelled:
            spec["autoscaler"]["podLabels"] = {"scale": "yes"}
        metadata = {"name": self.name, "labels": {"tier": self.tier}}
        return {"apiVersion": API, "kind": "Cluster", "metadata": metadata, "spec": spec}

    def capacity(self) -> tuple[int, int]:
        """(milli-cores, GPUs) that our pods can have at most, machines that can be added included."""
        cpu = sum(1000 * (cores - used) for cores, _, used in self.machines) + 8000 * self.autoscaled
        return cpu, sum(gpus for _, gpus, _ in self.machines) + self.autoscaled


@dataclass(frozen=True)
class Policy:
    """A PlacementPolicy, for one namespace or for all."""

    name: str
    namespace: str = ""
    type: str = "Capacity"
    copies: int | str = 1
    group_by: str = ""
    tier: str = ""
    admission: str = "Gang"
    priority: int = 0
    preempts: bool = False
    preemptible: bool = False

    def value(self) -> dict[str, Any]:
        placement: dict[str, Any] = {"type": self.type, "copies": self.copies, "admission": self.admission}
        if self.type == "Ordered":
            placement["order"] = [{"names": ["b"]}, {}]
        select: dict[str, Any] = {"paths": ["workloads/**"]}
        if self.namespace:
            select["namespaces"] = [self.namespace]
        spec: dict[str, Any] = {"select": select, "placement": placement, "priority": self.priority}
        if self.preempts:
            spec["preempts"] = "LowerPriority"
        if self.preemptible:
            spec["preemptible"] = True
        if self.namespace:
            spec["precedence"] = 1
        if self.group_by == "label":
            spec["groupBy"] = {"label": "app"}
        elif self.group_by:
            spec["groupBy"] = {self.group_by: True}
        if self.tier:
            spec["clusters"] = {"matchLabels": {"tier": self.tier}}
        return {"apiVersion": API, "kind": "PlacementPolicy", "metadata": {"name": self.name}, "spec": spec}


PLATFORM = """\
# KubeRay, on every cluster.
apiVersion: v1
kind: Namespace
metadata: {name: kuberay, labels: {team: ray}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kuberay}
rules: []
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: kuberay, namespace: kuberay}
"""


@dataclass
class World:
    """The source repo, the clusters behind it, and the deployment tree as it was last published."""

    manifests: dict[Key, Manifest] = field(default_factory=dict)
    formats: dict[str, str] = field(default_factory=dict)
    torn: set[str] = field(default_factory=set)
    torn_policies: set[str] = field(default_factory=set)
    clusters: dict[str, Cluster] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    described: set[str] = field(default_factory=set)
    phases: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    foreign: dict[str, bytes] = field(default_factory=dict)
    deployment: dict[str, bytes] = field(default_factory=dict)
    now: datetime = START

    # what gitplacer is given

    def source(self) -> dict[str, bytes]:
        files: dict[str, Any] = {
            "fleet.yaml": {"apiVersion": API, "kind": "Fleet", "metadata": {"name": "f"}, "spec": {}}
        }
        files |= {f"clusters/{name}.yaml": cluster.value() for name, cluster in self.clusters.items()}
        files |= {f"policies/{name}.yaml": policy.value() for name, policy in self.policies.items()}
        select = {"paths": ["platform/**"]}
        spec = {"select": select, "precedence": 9, "priority": 9, "placement": {"copies": "All"}}
        files["policies/platform.yaml"] = {
            "apiVersion": API, "kind": "PlacementPolicy", "metadata": {"name": "platform"}, "spec": spec,
        }  # fmt: skip
        source = {path: _dumped(value) for path, value in files.items()}
        source["platform/kuberay/operator.yaml"] = PLATFORM.encode()
        for name in sorted(self.described):
            text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{team: {name}}}}}\n"
            source[f"platform/spaces/{name}.yaml"] = text.encode()
        by_file: dict[str, list[Manifest]] = {}
        for key in sorted(self.manifests):
            by_file.setdefault(self.manifests[key].file, []).append(self.manifests[key])
        for path, manifests in by_file.items():
            source[path] = _file(path, self.formats.get(path, "block"), [item.value() for item in manifests])
        for path in self.torn & source.keys():
            source[path] = b"a: [\n" + source[path]
        for name in self.torn_policies & self.policies.keys():
            source[f"policies/{name}.yaml"] += b"  clsters: {}\n"
        return source

    def capacity(self) -> dict[str, bytes]:
        return {f"{name}.yaml": _dumped(value) for name, value in self.seen.items() if name in self.clusters}

    # what happens

    def apply(self, edit: Edit) -> None:
        getattr(self, "_" + edit.name)(*edit.numbers)

    def _add(self, kind: int, where: int, file: int, size: int) -> None:
        what = _pick(KINDS, kind)
        name = _pick(("one", "two", "app") if what in SIZED else ("code", "data", "code"), where // 2)
        item = Manifest(
            kind=what,
            namespace=_pick(NAMESPACES, where),
            name=name if name == "app" or what not in SIZED else f"{what.lower()}-{name}",
            file="",
            cpu=(500, 1000, 3000)[size % 3],
            gpu=(0, 0, 1)[size // 3 % 3],
            pods=(1, 2, 1, 5)[size // 9 % 4],
            label=_pick(("", *LABELS), size // 36),
            needs=_pick(("", "code", "data"), size // 2),
            says_namespace=bool(size % 2),
        )
        path = f"{_pick(FOLDERS, file)}{_pick(NAMES, file // 3)}" if what in SIZED else _pick(NAMES[-2:], file)
        self.manifests[item.key] = replace(item, file=f"workloads/{item.namespace}/{path}")

    def _remove(self, which: int) -> None:
        if self.manifests:
            del self.manifests[_pick(sorted(self.manifests), which)]

    def _resize(self, which: int, size: int) -> None:
        if self.manifests:
            key = _pick(sorted(self.manifests), which)
            pods, pinned = (1, 2, 3, 0)[size % 4], size // 4 % 3 == 2
            self.manifests[key] = replace(self.manifests[key], pods=pods, cpu=(500, 1000)[size % 2], pinned=pinned)

    def _move_file(self, which: int, file: int) -> None:
        if self.manifests:
            key = _pick(sorted(self.manifests), which)
            path = f"workloads/{key[1]}/{_pick(FOLDERS, file)}{_pick(NAMES, file // 3)}"
            self.manifests[key] = replace(self.manifests[key], file=path)

    def _relabel_object(self, which: int, label: int) -> None:
        if self.manifests:
            key = _pick(sorted(self.manifests), which)
            self.manifests[key] = replace(self.manifests[key], label=_pick(("", *LABELS), label))

    def _reformat(self, which: int, how: int) -> None:
        paths = sorted({item.file for item in self.manifests.values()})
        if paths:
            self.formats[_pick(paths, which)] = _pick(FORMATS, how)

    def _tear(self, which: int) -> None:
        paths = sorted({item.file for item in self.manifests.values()})
        if paths:
            self.torn ^= {_pick(paths, which)}

    def _mend(self) -> None:
        self.torn.clear()
        self.torn_policies.clear()

    def _tear_policy(self, which: int) -> None:
        self.torn_policies ^= {_pick(sorted(self.policies), which)}

    def _state(self, which: int, state: int) -> None:
        self._change_cluster(
            which, state=_pick(("Active", "Draining", "Draining", "Cordoned", "Lost", "Active"), state)
        )

    def _relabel(self, which: int, tier: int) -> None:
        self._change_cluster(which, tier=_pick(("east", "west"), tier))

    def _rescale(self, which: int, size: int) -> None:
        self._change_cluster(which, autoscaled=(0, 2)[size % 2], labelled=size // 2 % 2 == 1, ages=size // 4 % 2 == 1)

    def _machines(self, which: int, size: int) -> None:
        shapes = (((8, 2, 0), (4, 0, 1)), ((16, 4, 0),), ((2, 0, 1),), (), ((8, 1, 7), (8, 1, 0), (8, 1, 0)))
        self._change_cluster(which, machines=_pick(shapes, size))

    def _drop_cluster(self, which: int) -> None:
        if len(self.clusters) > 1:
            del self.clusters[_pick(sorted(self.clusters), which)]

    def _add_cluster(self, which: int) -> None:
        name = _pick(CLUSTERS, which)
        self.clusters.setdefault(name, Cluster(name))

    def _look(self, which: int, progress: int) -> None:
        """A cluster, or all, report what they have, and what runs there goes on."""
        for name in [_pick([*sorted(self.clusters), ""], which)] if which % 2 else sorted(self.clusters):
            if name:
                self._report(name, progress)

    def _report(self, name: str, progress: int) -> None:
        groups: list[dict[str, Any]] = []
        for group_id in sorted(self._groups_on(name)):
            phase = self.phases.get((name, group_id), 0)
            self.phases[name, group_id] = min(phase + progress % 3, 3) if phase < 2 else phase
            groups.append({"name": group_id, "phase": PHASES[self.phases[name, group_id]]})
        self.phases = {k: v for k, v in self.phases.items() if k[0] != name or k[1] in {g["name"] for g in groups}}
        applied = {
            unit: epoch(self.deployment.get(f"clusters/{name}/{unit}/gitplacer.yaml", b"")) or 0 for unit in UNITS
        }
        self._observe(name, {"applied": applied, "groups": groups})

    def _trouble(self, which: int, progress: int, how: int) -> None:
        """A placed group gets on, its cluster reports it, and then something happens to that cluster or to its object."""
        placed = [
            (c["name"], g) for g, r in sorted(self.records().items()) for c in r.get("clusters", ()) if "_" not in g
        ]
        placed = [(name, group) for name, group in placed if name in self.clusters]
        if placed:
            name, group = _pick(placed, which)
            self.phases[name, group] = max(self.phases.get((name, group), 0), _pick((1, 0, 1, 3), progress))
            self._report(name, 0)
            number = sorted(self.clusters).index(name)
            match how % 6:
                case 0 | 1 | 2:
                    self._change_cluster(number, state=_pick(("Draining", "Lost", "Cordoned"), how))
                case 3:
                    self._drop_cluster(number)
                case 4:
                    self._relabel(number, how // 6 + 1)
                case _:
                    own = [k for k in sorted(self.manifests) if k[1] == group.split("/")[0] and k[0] in SIZED]
                    for key in own[: 1 + how // 6 % 2]:
                        self.manifests[key] = replace(self.manifests[key], label=_pick(LABELS, how))

    def _forget(self, which: int) -> None:
        """A cluster's snapshot is lost."""
        self.seen.pop(_pick(sorted(self.clusters), which), None)

    def _policy(self, which: int, settings: int, more: int) -> None:
        name = _pick(sorted(self.policies), which)
        self.policies[name] = replace(
            self.policies[name],
            type=_pick(("Capacity", "Ordered", "Cheapest"), settings),
            copies=_pick((1, 1, 2, "All"), settings // 2),
            group_by=_pick(("", "label", "directory", "namespace"), settings // 8),
            tier=_pick(("", "east", "west"), more),
            admission=_pick(("Gang", "Gang", "Immediate"), more // 3),
            priority=more // 9 % 2,
        )

    def _rank(self, which: int, how: int) -> None:
        """One policy's groups become more important than the other's, and these may have to make room."""
        for number, name in enumerate(sorted(self.policies)):
            first = number == which % len(self.policies)
            self.policies[name] = replace(
                self.policies[name],
                priority=(1 if first else 0) if how % 3 else 0,
                preempts=how % 3 == 2,
                preemptible=not first or how // 3 % 2 == 1,
                copies=1 if how % 2 else self.policies[name].copies,
            )

    def _describe(self, which: int) -> None:
        self.described ^= {_pick(NAMESPACES, which)}

    def _plant(self, where: int) -> None:
        """Somebody else puts a file into the deployment repo."""
        unit = _pick(
            sorted({p.rpartition("/")[0] for p in self.deployment if p.endswith("/gitplacer.yaml")}) or [""], where
        )
        path, text = _pick(
            (
                ("docs/notes.md", "ours\n"),
                ("placements.md", "about placements\n"),
                (f"{unit}/README.md", "about this cluster\n"),
                (f"{unit}/theirs/more.yaml", _config_map("theirs", unit)),
                (f"{unit}/alpha/app/notes.txt", "beside\n"),
            ),
            where // 3,
        )
        if not path.startswith("/"):
            self.foreign[path] = text.encode()
            self.deployment[path] = text.encode()

    def _wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes % 90)

    # how it goes on

    def publish(self, tree: Mapping[str, bytes]) -> None:
        self.deployment = dict(tree)
        self.now += timedelta(minutes=1)

    def in_phase(self, *phases: str) -> Iterator[tuple[str, str]]:
        """(cluster, group) of what the latest snapshots show in one of these phases."""
        for name, snapshot in self.seen.items():
            for group in snapshot.get("groups", ()):
                if group["phase"] in phases:
                    yield name, group["name"]

    def records(self) -> dict[str, dict[str, Any]]:
        """The records in the deployment tree, by group."""
        return records_in(self.deployment)

    def _groups_on(self, cluster: str) -> set[str]:
        return {
            g for g, record in self.records().items() if any(c["name"] == cluster for c in record.get("clusters", ()))
        }

    def _change_cluster(self, which: int, **changes: Any) -> None:
        name = _pick(sorted(self.clusters), which)
        self.clusters[name] = replace(self.clusters[name], **changes)
        if "machines" in changes and name in self.seen:
            self._observe(name, {k: self.seen[name][k] for k in ("applied", "groups") if k in self.seen[name]})

    def _observe(self, name: str, more: Mapping[str, Any]) -> None:
        nodes = []
        for number, (cores, gpus, used) in enumerate(self.clusters[name].machines):
            allocatable = {"cpu": str(cores), "memory": "64Gi", "nvidia.com/gpu": str(gpus)}
            nodes.append({"name": f"n{number}", "allocatable": allocatable, "used": {"cpu": str(used)}})
        self.seen[name] = {
            "apiVersion": API, "kind": "CapacitySnapshot", "metadata": {"name": name},
            "observedAt": f"{self.now:%Y-%m-%dT%H:%M:%SZ}", "nodes": nodes, **more,
        }  # fmt: skip


def records_in(tree: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Group to record, of a deployment tree."""
    return {
        path.removeprefix("placements/").removesuffix(".yaml"): yaml.load(data, yaml.CSafeLoader)
        for path, data in tree.items()
        if path.startswith("placements/")
    }


def new_world() -> World:
    """Three clusters that have reported what they have, two policies, and nothing to place."""
    world = World(
        clusters={name: Cluster(name) for name in CLUSTERS},
        policies={"alpha": Policy("alpha", namespace="alpha"), "rest": Policy("rest")},
    )
    world.apply(Edit("look", (0, 0)))
    return world


def edits() -> st.SearchStrategy[Edit]:
    """One edit, some likelier than others."""
    index = st.integers(0, 5)
    weighted = (
        (4, "resize", (index, st.integers(0, 11))),
        (2, "remove", (index,)),
        (2, "move_file", (index, st.integers(0, 20))),
        (4, "relabel_object", (index, index)),
        (2, "reformat", (index, index)),
        (1, "tear", (index,)),
        (1, "mend", ()),
        (1, "tear_policy", (index,)),
        (8, "state", (index, index)),
        (2, "relabel", (index, index)),
        (2, "rescale", (index, st.integers(0, 7))),
        (2, "machines", (index, index)),
        (1, "drop_cluster", (index,)),
        (1, "add_cluster", (index,)),
        (9, "look", (index, index)),
        (8, "trouble", (index, index, st.integers(0, 17))),
        (1, "forget", (index,)),
        (3, "policy", (index, st.integers(0, 31), st.integers(0, 17))),
        (4, "rank", (index, st.integers(0, 11))),
        (1, "describe", (index,)),
        (1, "plant", (st.integers(0, 29),)),
        (1, "wait", (st.integers(0, 200),)),
    )
    table = {name: numbers for _, name, numbers in weighted}
    names = st.sampled_from([name for weight, name, _ in weighted for _ in range(weight)])
    others = names.flatmap(lambda name: st.tuples(*table[name]).map(lambda numbers: Edit(name, numbers)))
    return st.one_of(additions(), others, others)


def additions() -> st.SearchStrategy[Edit]:
    """A manifest more."""
    numbers = st.tuples(st.integers(0, 7), st.integers(0, 5), st.integers(0, 20), st.integers(0, 107))
    return numbers.map(lambda drawn: Edit("add", drawn))


def histories() -> st.SearchStrategy[list[list[Edit]]]:
    """What happens before each pass: first some manifests, then a few passes of a few edits each."""
    first = st.lists(additions(), min_size=3, max_size=8)
    settings = st.lists(edits(), max_size=3)
    later = st.lists(st.lists(edits(), min_size=1, max_size=3), min_size=3, max_size=6)
    return st.tuples(first, settings, later).map(lambda drawn: [drawn[0] + drawn[1], *drawn[2]])


def _config_map(name: str, unit: str) -> str:
    """Somebody else's object; its name tells the unit, because it must not be on one cluster twice."""
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-{unit.rpartition('/')[2]}, namespace: default}}\n"
    )


def _pick(choices: Any, number: int) -> Any:
    return choices[number % len(choices)]


def _dumped(value: Any) -> bytes:
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False)
    return text.encode()


def _file(path: str, how: str, values: list[dict[str, Any]]) -> bytes:
    """Some objects as one file, in one of the ways people write them."""
    if path.endswith(".json"):
        whole = values[0] if len(values) == 1 else {"apiVersion": "v1", "kind": "List", "items": values}
        return json.dumps(whole, indent=2).encode()
    if how == "list":
        return _dumped({"apiVersion": "v1", "kind": "List", "items": values})
    if how == "flow":
        return b"".join(b"--- " + yaml.safe_dump(v, default_flow_style=True, width=10_000).encode() for v in values)
    if how == "commented":
        parts = [b"# object %d\n" % n + _dumped(v) + b"# end\n" for n, v in enumerate(values)]
        return b"# Copyright\n---\n" + b"---\n".join(parts) + b"---\n"
    return b"---\n".join(_dumped(v) for v in values)
