"""
Clusters that live beside the planner: they apply commits late, schedule pods one by one, and report late.

Each cluster follows its directory of the deployment repo as Argo CD or Flux would: an older commit for a while, then a newer one,
the groups of a commit in any order, removals last. An operator makes pods of the manifests it finds, a scheduler (the filters and
scores of `schedulerjudge`) binds them, in any order and with whatever luck it is told to have; jobs end; an autoscaler adds
machines for pods that found none. From time to time the cluster is observed, and later, maybe much later, somebody commits what
was seen.

It is a judge, so it shares nothing with the product: no import from gitplacer, manifests read as plain YAML, arithmetic of its
own. What it knows of gitplacer is where files lie and what a snapshot looks like. Time is a count of events; chance comes from
the generator that the caller gives.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from random import Random
from typing import Any

import yaml

from tests import schedulerjudge as judge

Json = dict[str, Any]
GPU = "nvidia.com/gpu"
HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
SENTINEL = "gitplacer.yaml"
SUBMITTER = {"cpu": "500m", "memory": "200Mi"}
ORDERS = ("created", "reversed", "largest", "smallest", "in turn", "shuffled")
TIES = ("first", "last", "drawn", "harm")


# machines


@dataclass(frozen=True)
class Machine:
    """A node: cores, GiB, GPUs, pods; what others run on it does not change."""

    name: str
    cpu: int
    memory: int
    gpus: int = 0
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    cordoned: bool = False
    foreign: tuple[Json, ...] = ()

    def allocatable(self) -> dict[str, str]:
        devices = {GPU: str(self.gpus)} if self.gpus else {}
        return {"cpu": str(self.cpu), "memory": f"{self.memory}Gi", "pods": str(self.pods), **devices}

    def node(self) -> Json:
        """As the API server has it."""
        return {
            "metadata": {"name": self.name, "labels": {HOSTNAME: self.name, **self.labels}},
            "spec": {"taints": list(self.taints), "unschedulable": self.cordoned},
            "status": {"allocatable": self.allocatable()},
        }

    def existing(self) -> list[Json]:
        return [{**pod, "spec": {**pod["spec"], "nodeName": self.name}} for pod in self.foreign]

    def reported(self) -> Json:
        """As a snapshot has it."""
        used: Counter[str] = Counter(pods=len(self.foreign))
        for pod in self.foreign:
            used.update(judge.request(pod))
        return {
            "name": self.name,
            "labels": dict(self.labels),
            "taints": list(self.taints),
            "unschedulable": self.cordoned,
            "allocatable": self.allocatable(),
            "used": written(used),
            "pods": [_listed(pod) for pod in self.foreign if _constrains(pod)],
        }


def written(amounts: Mapping[str, int]) -> dict[str, str]:
    """Thousandths of a core, and ones of all else, as quantities."""
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


def _anti_affinity(pod: Json) -> list[Json]:
    rules = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    return list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())


def _constrains(pod: Json) -> bool:
    """Others have to mind it, or ask for it: it has a rule, a port or labels."""
    return bool(judge.host_ports(pod) or _anti_affinity(pod) or pod["metadata"].get("labels"))


def _listed(pod: Json) -> Json:
    return {
        "namespace": pod["metadata"]["namespace"],
        "labels": pod["metadata"].get("labels") or {},
        "antiAffinity": _anti_affinity(pod),
        "hostPorts": [{"port": port, "protocol": protocol} for _, protocol, port in judge.host_ports(pod)],
    }


# what the operators make of manifests


@dataclass(frozen=True)
class Planned:
    """A pod that an operator makes: `last` of all those of its group."""

    name: str
    group: str
    role: str
    pod: Json
    last: bool = False


@lru_cache(maxsize=4096)
def pods_of(group: str, text: bytes) -> tuple[Planned, ...]:
    """The pods of the objects in a file, in the order in which they are created."""
    documents = yaml.load_all(text, Loader=yaml.CSafeLoader)
    return tuple(planned for document in documents for planned in _pods_of_object(group, document))


def _pods_of_object(group: str, value: Json) -> Iterator[Planned]:
    spec, name = value["spec"], value["metadata"]["name"]
    if value["kind"] == "Deployment":
        for number in range(spec["replicas"]):
            yield _planned(group, name, "pod", number, spec["template"])
        return
    ray = spec.get("rayClusterSpec") or spec.get("rayClusterConfig") or spec
    yield _planned(group, name, "head", 0, ray["headGroupSpec"]["template"])
    for workers in ray["workerGroupSpecs"]:
        for number in range(workers["replicas"]):
            yield _planned(group, name, f"worker/{workers['groupName']}", number, workers["template"])
    if value["kind"] == "RayJob":
        submitter = {"spec": {"containers": [{"name": "submitter", "resources": {"requests": SUBMITTER}}]}}
        yield _planned(group, name, "submitter", 0, submitter, last=True)


def _planned(group: str, object_: str, role: str, number: int, template: Json, *, last: bool = False) -> Planned:
    name = f"{object_}-{role.replace('/', '-')}-{number}"
    labels = (template.get("metadata") or {}).get("labels") or {}
    metadata = {"name": f"{group}/{name}", "namespace": group.partition("/")[0], "labels": labels}
    return Planned(f"{group}/{name}", group, role, {"metadata": metadata, "spec": template["spec"]}, last)


def groups_in(tree: Mapping[str, bytes], cluster: str) -> dict[str, bytes]:
    """Group to manifest, of a cluster's directory. Each group here has one file."""
    prefix, found = f"clusters/{cluster}/workloads/", {}
    for path, data in tree.items():
        if path.startswith(prefix) and path != prefix + SENTINEL:
            namespace, group, _ = path.removeprefix(prefix).split("/")
            found[f"{namespace}/{group}"] = data
    return found


def epoch_in(tree: Mapping[str, bytes], cluster: str) -> int:
    data = tree.get(f"clusters/{cluster}/workloads/{SENTINEL}")
    return _epoch(data) if data else 0


@lru_cache(maxsize=4096)
def _epoch(sentinel: bytes) -> int:
    return int(yaml.load(sentinel, Loader=yaml.CSafeLoader)["data"]["epoch"])


# clusters


@dataclass
class Live:
    """A pod in a cluster."""

    planned: Planned
    node: str | None = None


@dataclass(frozen=True)
class Seen:
    """A cluster as it was at an event: as a snapshot file, and which pods were bound where."""

    event: int
    text: str
    bound: Mapping[str, str]
    finished: frozenset[str]
    machines: int


@dataclass(frozen=True)
class NodeType:
    """Machines that an autoscaler can add."""

    name: str
    model: Machine
    most: int
    price: float


@dataclass(frozen=True)
class Luck:
    """How the scheduler goes about it: who comes first, which scores count, and who wins a tie."""

    order: str
    scoring: str
    ties: str

    @staticmethod
    def drawn(lot: Random) -> Luck:
        return Luck(lot.choice(ORDERS), lot.choice(tuple(judge.SCORINGS)), lot.choice(TIES))


class Cluster:
    """One cluster: `commits` are the deployment trees that it may read, the oldest first; `event` is the time."""

    def __init__(
        self, name: str, machines: Iterable[Machine], type_: NodeType | None = None, *, tells: bool = True
    ) -> None:
        """`tells`: its snapshots say which epoch it has applied."""
        self.name = name
        self.machines = list(machines)
        self.type = type_
        self.tells = tells
        self.commits: list[Mapping[str, bytes]] = [{}]
        self._known: dict[str, Planned] = {}
        self.target = 0
        self.epoch = 0
        self.objects: dict[str, bytes] = {}
        self.finished: set[str] = set()
        self.pods: dict[str, Live] = {}
        self.event = 0
        self.left = 0
        """The last event at which a pod was gone."""
        self.seen: list[Seen] = []

    # following the deployment repo

    def publish(self, tree: Mapping[str, bytes]) -> None:
        """A commit more."""
        self.commits.append({path: data for path, data in tree.items() if path.startswith(f"clusters/{self.name}/")})
        for planned in self.asked():
            self._known.setdefault(planned.name, planned)

    def asked(self) -> list[Planned]:
        """The pods that the tip of the deployment repo asks for."""
        return [p for group, text in groups_in(self.commits[-1], self.name).items() for p in pods_of(group, text)]

    @property
    def wanted(self) -> dict[str, bytes]:
        return groups_in(self.commits[self.target], self.name)

    @property
    def is_synced(self) -> bool:
        return self.target == len(self.commits) - 1 and self.objects == self.wanted

    def read(self, lot: Random) -> None:
        """Look at the deployment repo: at its tip, or at a commit between; never at one older than before."""
        self.target = lot.choice((lot.randint(self.target, len(self.commits) - 1), len(self.commits) - 1))

    def sync(self, lot: Random, share: float = 1.0) -> None:
        """Apply some of what the commit has, in any order; remove only when all of that is there."""
        self.event += 1
        wanted = self.wanted
        changed = [group for group, text in wanted.items() if self.objects.get(group) != text]
        lot.shuffle(changed)
        for group in changed[: _part(len(changed), share, lot)]:
            self.objects[group] = wanted[group]
            self._operate(group)
        if lot.random() < share:  # the sentinel is one object among many
            self.epoch = epoch_in(self.commits[self.target], self.name)
        if all(self.objects.get(group) == text for group, text in wanted.items()):
            gone = [group for group in self.objects if group not in wanted]
            lot.shuffle(gone)
            for group in gone[: _part(len(gone), share, lot)]:
                del self.objects[group]
                self.finished.discard(group)
                self._operate(group)

    def catch_up(self, lot: Random) -> None:
        self.target = len(self.commits) - 1
        while not self.is_synced or self.epoch != epoch_in(self.commits[self.target], self.name):
            self.sync(lot)

    def _operate(self, group: str) -> None:
        """Make the pods that a group should have now, and remove others."""
        self.event += 1
        text = self.objects.get(group)
        wanted = {p.name: p for p in pods_of(group, text)} if text is not None and group not in self.finished else {}
        for name in [name for name, live in self.pods.items() if live.planned.group == group and name not in wanted]:
            del self.pods[name]
            self.left = self.event
        others_run = all(
            name in self.pods and self.pods[name].node is not None for name, p in wanted.items() if not p.last
        )
        for name, planned in wanted.items():
            if name not in self.pods and (others_run or not planned.last):
                self.pods[name] = Live(planned)

    def end(self, group: str) -> None:
        """A job has done its work, and shuts its Ray cluster down."""
        self.finished.add(group)
        self._operate(group)

    def jobs(self) -> list[str]:
        """Jobs that run with all their pods, and have not ended."""
        running = [g for g, text in self.objects.items() if b"kind: RayJob" in text and g not in self.finished]
        return sorted(
            g for g in running if any(p.planned.group == g and p.planned.last and p.node for p in self.pods.values())
        )

    # scheduling

    def pending(self) -> list[Planned]:
        return [live.planned for live in self.pods.values() if live.node is None]

    def bound(self) -> dict[str, str]:
        """The pods that hold room on a node now."""
        return {name: live.node for name, live in self.pods.items() if live.node}

    def case(self, pods: Iterable[Planned], bound: Mapping[str, str] | None = None, more: int = 0) -> Json:
        """
        As the scheduler sees it: these pods to come, beside those that are bound (by name; now, if not given), with `more` machines
        of the autoscaler. Of a pod that nobody asks for any more only the size is known.
        """
        there = self.bound() if bound is None else bound
        machines = [*self.machines, *(self._new(len(self.machines) + i) for i in range(more))]
        existing = [pod for machine in machines for pod in machine.existing()]
        kept = self.objects.keys() if bound is None else {p.group for p in self.asked()}
        for name, node in there.items():
            planned = self._known[name]
            existing.append(_bound(planned.pod if planned.group in kept else _size_of(planned), node))
        return {
            "nodes": [machine.node() for machine in machines],
            "existingPods": existing,
            "namespaces": [
                {"metadata": {"name": name, "labels": {}}} for name in ("plain", "lucky", "prod", "lab", "x")
            ],
            "pods": [planned.pod for planned in pods],
        }

    def schedule(self, lot: Random, luck: Luck, most: int | None = None) -> int:
        """Take so many pending pods, in an order, each to one of the best nodes. How many were bound."""
        self.event += 1
        queue = self.pending()
        if not queue:
            return 0
        site = judge.Cluster(self.case(queue))
        bound = 0
        for planned in ordered(queue, luck.order, lot)[:most]:
            pod = site.pods[planned.name]
            able = [node for node, why in site.refusals(pod) if why is None]
            if not able:
                continue
            node = self._chosen(site, pod, able, luck, lot)
            node.add(pod)
            del site.pods[planned.name]
            self.pods[planned.name].node = node.name
            bound += 1
        for group in {planned.group for planned in queue}:
            self._operate(group)  # a submitter comes when the others run
        return bound

    @staticmethod
    def _chosen(site: judge.Cluster, pod: judge.Pod, able: Sequence[judge.Node], luck: Luck, lot: Random) -> judge.Node:
        scores = site.scores(pod, able, luck.scoring)
        best = [node for node, score in zip(able, scores, strict=True) if score == max(scores)]
        if luck.ties == "harm":
            others = [other for other in site.pods.values() if other is not pod]

            def harm(node: judge.Node) -> int:
                """How many of the others could have gone there, and cannot any more."""
                before = sum(site.refusal(other, node.name) is None for other in others)
                node.add(pod)
                after = sum(site.refusal(other, node.name) is None for other in others)
                node.remove(pod)
                return before - after

            return max(best, key=harm) if len(best) > 1 else best[0]
        return {"first": best[0], "last": best[-1], "drawn": lot.choice(best)}[luck.ties]

    def settle(self, lot: Random, luck: Callable[[], Luck]) -> None:
        """Until the scheduler has nothing it can place and the autoscaler nothing it can add."""
        while self.schedule(lot, luck()) or self.scale_up():
            pass

    def scale_up(self) -> bool:
        """One machine for the first pod that finds no node and would find one there."""
        if self.type is None or self.room_to_grow() == 0:
            return False
        new, site = self._new(len(self.machines)), judge.Cluster(self.case(self.pending()))
        empty = judge.Cluster({"nodes": [new.node()], "pods": []})
        for pod in site.pods.values():
            if all(why for _, why in site.refusals(pod)) and empty.refusal(pod, new.name) is None:
                self.machines.append(new)
                return True
        return False

    def room_to_grow(self) -> int:
        """How many machines the autoscaler may still add."""
        if self.type is None:
            return 0
        return self.type.most - sum(m.labels.get(INSTANCE_TYPE) == self.type.name for m in self.machines)

    def _new(self, number: int) -> Machine:
        assert self.type is not None
        model = self.type.model
        return Machine(f"{self.name}-new-{number}", model.cpu, model.memory, model.gpus, model.pods, model.labels, model.taints)  # fmt: skip

    # reporting

    def observe(self, at: datetime, lot: Random) -> None:
        """Note what is there now; somebody may commit it later."""
        self.event += 1
        groups = []
        for group in sorted(self.objects):
            pods = [live for live in self.pods.values() if live.planned.group == group]
            phase = "Running" if pods and all(live.node for live in pods) else "Pending"
            if group in self.finished:
                phase = lot.choice(("Succeeded", "Failed"))
            groups.append({"name": group, "phase": phase, "pods": [_told(live, lot) for live in pods]})
        value = {
            "apiVersion": "gitplacer.dev/v1alpha1", "kind": "CapacitySnapshot", "metadata": {"name": self.name},
            "observedAt": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            **({"applied": {"platform": 0, "workloads": self.epoch}} if self.tells else {}),
            "nodes": [machine.reported() for machine in self.machines], "groups": groups,
        }  # fmt: skip
        bound = {name: live.node for name, live in self.pods.items() if live.node}
        self.seen.append(Seen(self.event, json.dumps(value), bound, frozenset(self.finished), len(self.machines)))

    def tell(self, lot: Random | None = None) -> Seen:
        """What is committed of what was seen: the latest, or something older; never older than before."""
        chosen = len(self.seen) - 1 if lot is None else lot.randrange(len(self.seen))
        del self.seen[:chosen]
        return self.seen[0]


def _part(whole: int, share: float, lot: Random) -> int:
    return whole if share >= 1 else sum(lot.random() < share for _ in range(whole))


def _bound(pod: Json, node: str) -> Json:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


def _size_of(planned: Planned) -> Json:
    requests = written(judge.request(planned.pod))
    spec = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    return {"metadata": {**planned.pod["metadata"], "labels": {}}, "spec": spec}


def _told(live: Live, lot: Random) -> Json:
    asks = {} if lot.random() < 0.3 else {"requests": written(judge.request(live.planned.pod))}
    where = {"node": live.node} if live.node else {"reason": "Unschedulable"}
    return {"role": live.planned.role, **where, **asks}


def ordered(queue: Sequence[Planned], order: str, lot: Random) -> list[Planned]:
    """The order in which pending pods are taken."""
    if order == "reversed":
        return list(reversed(queue))
    if order in ("largest", "smallest"):
        size = {p.name: tuple(judge.request(p.pod).get(r, 0) for r in (GPU, "cpu", "memory")) for p in queue}
        return sorted(queue, key=lambda p: size[p.name], reverse=order == "largest")
    if order == "in turn":
        turn = Counter[tuple[str, str]]()
        ranked = []
        for number, planned in enumerate(queue):
            ranked.append((turn[planned.group, planned.role], number, planned))
            turn[planned.group, planned.role] += 1
        return [planned for _, _, planned in sorted(ranked, key=lambda item: item[:2])]
    return lot.sample(queue, len(queue)) if order == "shuffled" else list(queue)
