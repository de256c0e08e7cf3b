"""
Random lives of small fleets, and the laws that no life may break.

Two to four clusters (`world`) live on a clock: pods start slowly and stop slowly, jobs run and end, machines come, other people's
pods come and go. Clusters are cut off and come back, or are lost; commits are applied late, in part, or left out; what was observed
is told late, not at all, or after something newer. Above them people push, edit, drain, label, consent and take back, and passes run
at any time: some land, some lose the race or crash, so that nothing of them is there, some look at what was so a while ago.

The laws are counted where they had something to say, and kept here as plain questions to the clusters and to the files, so that they
can be asked of a life that was bent on purpose:

1. a RayJob never has pods on two clusters at a time;
2. a group that moves by Surge has a ready copy from its first on, unless a cluster with one was lost or it was removed;
3. no more moves begin in a time than the guards allow, consent left aside;
4. where something is placed there is room for all that is promised, beside what the snapshot shows;
5. when nothing changes any more everything comes to rest: no commits, nothing halfway;
6. after every commit the files are where the records say, and there are no others;
7. a job whose end was seen does not run again;
8. in a day in which nobody writes anything a group moves to each cluster at most once.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

import yaml
from msgspec import structs

from gitplacer.hydrate import Hydration, Inputs, SourceCommit, Step, hydrate
from gitplacer.model.horizon import Horizon
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.problems import Severity
from gitplacer.source.files import Memo, ReadFile
from gitplacer.tree import Tree
from gitplacer.treeids import tree_id
from tests import exactfit, provenance
from tests import schedulerjudge as judge
from tests.seeds import Lived
from tests.stories import FLEET, START, cluster, policy
from tests.test_world import Wish
from tests.world import (
    SENTINEL,
    Cluster,
    Json,
    Live,
    Luck,
    Machine,
    NodeType,
    Planned,
    Seen,
    groups_in,
    pods_of,
)

DAY = timedelta(days=1)
EVACUATIONS = ("ClusterDraining", "ClusterLost")
CONSENTED = ("Move", "Return")  # an Exceed that names no plan is none
_EXCUSES = ("ClusterLost", "NeverSeenReady")
"""Why the last ready copy may go: its cluster is held for lost, or nobody had told that it was ready."""
PLACED = ("Fits", "FitsByScaleUp", "TightFit")
"""Reasons of commits that bring a missing copy where another was taken back."""
SEVERAL = "n3"
"""The namespace of what may have several copies, which a job may not."""


# clusters on a clock


class Site(Cluster):
    """A cluster on a clock: what takes time takes time, and what was seen is remembered with its machines."""

    def __init__(
        self, name: str, machines: Iterable[Machine], type_: NodeType | None, lot: Random, *, tells: bool
    ) -> None:
        super().__init__(name, machines, type_, tells=tells)
        self.lot = lot
        self.clock = START
        self.is_cut = False
        """It runs on, applies nothing and tells nothing."""
        self.is_dead = False
        self.sick: set[str] = set()
        """Groups that never become ready here."""
        self.serving: set[str] = set()
        """Groups that have become ready here and have been here since."""
        self.started: Counter[str] = Counter()
        """How many pods of each group have got a node here, ever."""
        self.told: list[Seen] = []
        self.machines_then: dict[int, list[Machine]] = {}
        self._ending: dict[str, tuple[Live, datetime]] = {}
        self._bound_at: dict[str, datetime] = {}
        self._pending_since: dict[str, datetime] = {}
        self._warm: dict[str, timedelta] = {}
        self._ends_at: dict[str, datetime] = {}

    def know(self, planned: Planned) -> None:
        self._known.setdefault(planned.name, planned)

    # time

    def advance(self, now: datetime) -> None:
        """Time has gone on: pods have stopped, jobs have ended, and the scheduler has had a look."""
        self.clock = now
        if self.is_dead:
            return
        self._ending = {name: item for name, item in self._ending.items() if item[1] > now}
        if self.pending() and self.lot.random() < 0.8:
            self.settle(self.lot, lambda: Luck.drawn(self.lot))
        for group in self.jobs():
            ends = self._ends_at.setdefault(group, now + timedelta(minutes=self.lot.choice((5, 30, 120, 2000))))
            if ends <= now:
                self.end(group)
                self._ends_at.pop(group)
        if not self.tells:
            self.catch_up(self.lot)  # what tells no epochs is never later than the grace it is given
        self.note()

    def note(self) -> None:
        """Since when each pod waits or runs, and which groups serve."""
        for name, live in self.pods.items():
            if live.node is None:
                self._pending_since.setdefault(name, self.clock)
            elif name not in self._bound_at:
                self._bound_at[name] = self.clock
                self.started[live.planned.group] += 1
        for times in (self._pending_since, self._bound_at):
            for name in [name for name in times if name not in self.pods]:
                del times[name]
        self._pending_since = {name: at for name, at in self._pending_since.items() if name not in self._bound_at}
        self.serving = {group for group in self.serving if group in self.objects and group not in self.finished}
        self.serving |= {group for group in self.objects if self.is_ready(group)}

    def is_ready(self, group: str) -> bool:
        """Whether a group has all its pods, and they have had the time that they take."""
        text = self.objects.get(group)
        if text is None or group in self.finished or group in self.sick or self.is_dead:
            return False
        pods = [planned.name for planned in pods_of(group, text)]
        warm = self._warm.setdefault(group, timedelta(minutes=self.lot.choice((0, 0, 1, 3, 12))))
        return all(name in self._bound_at and self.clock - self._bound_at[name] >= warm for name in pods)

    def bound(self) -> dict[str, str]:
        ending = {name: live.node for name, (live, _) in self._ending.items() if live.node}
        return {**super().bound(), **ending}

    def running(self) -> set[str]:
        """The groups that have pods on nodes, also such as are about to stop."""
        return {self._known[name].group for name in self.bound()} if not self.is_dead else set()

    def _operate(self, group: str) -> None:
        """What is to go takes its time, and holds its node until then."""
        before = {n: live for n, live in self.pods.items() if live.planned.group == group and live.node}
        super()._operate(group)
        for name in sorted(before.keys() - self.pods.keys()):
            late = f"{name}~{self.event}"
            self._known[late] = before[name].planned
            self._ending[late] = before[name], self.clock + timedelta(minutes=self.lot.choice((0, 0.5, 0.5, 3, 20)))

    def die(self) -> None:
        """Everything there is gone."""
        self.is_dead = True
        self.objects, self.pods, self._ending, self.finished, self.epoch = {}, {}, {}, set(), 0
        self.seen, self.told = [], []
        self.note()
        self.serving = set()

    def rebuild(self) -> None:
        """It is there again, and empty."""
        self.is_dead = self.is_cut = False
        self.target = len(self.commits) - 1  # what it reads first is what is there now

    # other people's pods

    def disturb(self) -> None:
        """Pods of others come where there is room, or go."""
        number = self.lot.randrange(len(self.machines))
        machine = self.machines[number]
        if machine.foreign and self.lot.random() < 0.6:
            self.machines[number] = replace(machine, foreign=machine.foreign[:-1])
            return
        asks = {"cpu": self.lot.choice(("500m", "1", "3")), "memory": "1Gi"}
        name = f"x/{machine.name}-{self.event}"
        pod = {"metadata": {"name": name, "namespace": "x", "labels": {}},
               "spec": {"containers": [{"name": "c", "resources": {"requests": asks}}]}}  # fmt: skip
        site = judge.Cluster(self.case([Planned(name, "x/x", "pod", pod)]))
        self.event += 1
        if site.refusal(site.pods[name], machine.name) is None:
            self.machines[number] = replace(machine, foreign=(*machine.foreign, pod))

    # reporting

    def observe(self, at: datetime, lot: Random) -> None:
        self.event += 1
        there = sorted({*self.objects, *(live.planned.group for live, _ in self._ending.values())})
        value = {
            "apiVersion": "gitplacer.dev/v1alpha1", "kind": "CapacitySnapshot", "metadata": {"name": self.name},
            "observedAt": written(at),
            **({"applied": {"platform": 0, "workloads": self.epoch}} if self.tells else {}),
            "nodes": [machine.reported() for machine in self.machines], "groups": [self._shown(group) for group in there],
        }  # fmt: skip
        self.machines_then[self.event] = list(self.machines)
        text = json.dumps(value)
        self.seen.append(Seen(self.event, text, self.bound(), frozenset(self.finished), len(self.machines)))

    def _shown(self, group: str) -> Json:
        pods: list[Json] = []
        for name, live in self.pods.items():
            if live.planned.group == group:
                waits = {"reason": "Unschedulable", "pendingSince": written(self._pending_since.get(name, self.clock))}
                pods.append({"role": live.planned.role, **({"node": live.node} if live.node else waits)})
        pods += [
            {"role": live.planned.role, "node": live.node}
            for live, _ in self._ending.values()
            if live.planned.group == group
        ]
        if group not in self.objects:
            phase = "Unknown"
        elif group in self.finished:
            phase = "Failed" if len(group) % 2 else "Succeeded"
        else:
            phase = "Running" if all("node" in pod for pod in pods) and pods else "Pending"
        return {"name": group, "phase": phase, "ready": self.is_ready(group), "pods": pods}

    def tell(self, lot: Random | None = None) -> Seen:
        """What is committed of what was seen: never something older than before, unless `tell_older` is asked."""
        said = super().tell(lot)
        self.told = [*self.told[-3:], said]
        return said

    def tell_older(self, lot: Random) -> Seen:
        """Somebody who took his time commits something older over it."""
        return lot.choice(self.told)

    def case_then(self, seen: Seen, pods: Iterable[Planned]) -> Json:
        """These pods to come, beside what a snapshot shows but for what is about to stop of groups that are wanted."""
        wanted = {planned.group for planned in self.asked()}
        bound = {n: node for n, node in seen.bound.items() if "~" not in n or self._known[n].group not in wanted}
        now, self.machines = self.machines, self.machines_then[seen.event]
        try:
            return self.case(pods, bound, self.room_to_grow())
        finally:
            self.machines = now


def speaks(seen: Seen | None, entry: Json) -> bool:
    """Whether a snapshot was taken after what a record's entry says was applied, as far as it can be known."""
    if seen is None:
        return False
    said, since = json.loads(seen.text), time_of(entry["since"])
    if "applied" in said:
        return bool(said["applied"]["workloads"] >= entry["epoch"] and time_of(said["observedAt"]) > since)
    return time_of(said["observedAt"]) > since + timedelta(minutes=5)


def shows_ready(seen: Seen | None, group: str, record: Json, cluster: str) -> bool:
    """Whether a snapshot is evidence that a group is ready where its record put it."""
    entry = next(entry for entry in record["clusters"] if entry["name"] == cluster)
    said = json.loads(seen.text)["groups"] if seen is not None else ()
    return speaks(seen, entry) and any(shown["name"] == group and shown["ready"] for shown in said)


def time_of(text: str) -> datetime:
    return datetime.strptime(text + "+0000", "%Y-%m-%dT%H:%M:%SZ%z")


def written(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


# files


@lru_cache(maxsize=4096)
def read_yaml(data: bytes) -> Any:
    return yaml.load(data, Loader=yaml.CSafeLoader)


def records_in(tree: Mapping[str, bytes]) -> dict[str, Json]:
    """Group to record."""
    return {
        path.removeprefix("placements/").removesuffix(".yaml"): read_yaml(data)
        for path, data in tree.items()
        if path.startswith("placements/")
    }


def without_files(record: Json) -> set[str]:
    """The clusters that a record names and that do not have the files, because the group is between two."""
    move = record.get("move") or {}
    return {*move["from"], *move.get("to", ())} if move.get("strategy") == "RemoveFirst" else set()


def misplaced(tree: Mapping[str, bytes]) -> list[str]:
    """Paths where files and records disagree: what should be there and is not, and what nobody knows of."""
    wanted = set()
    for record in records_in(tree).values():
        empty = without_files(record)
        files = [member["file"] for member in record.get("members") or ()]
        names = [entry["name"] for entry in record.get("clusters") or () if entry["name"] not in empty]
        wanted |= {f"clusters/{name}/workloads/{file}" for name in names for file in files}
        wanted |= {f"moving/{file}" for file in files if empty}
    there = {path for path in tree if "/workloads/" in path and not path.endswith(SENTINEL)}
    there |= {path for path in tree if path.startswith("moving/")}
    return sorted(wanted ^ there)


class Memory(Memo):
    """A memo for one life."""

    def __init__(self) -> None:
        self.files: dict[str, ReadFile] = {}
        self.texts: dict[str, bytes] = {}

    def recall(self, oids: Iterable[str]) -> Mapping[str, ReadFile]:
        return {oid: self.files[oid] for oid in oids if oid in self.files}

    def remember(self, files: Mapping[str, ReadFile]) -> None:
        self.files.update(files)

    def recall_text(self, digest: str) -> bytes | None:
        return self.texts.get(digest)

    def recall_texts(self, digests: Iterable[str]) -> Mapping[str, bytes]:
        return {digest: self.texts[digest] for digest in digests if digest in self.texts}

    def remember_text(self, digest: str, text: bytes) -> None:
        self.texts[digest] = text


# what is asked for


@dataclass(frozen=True)
class Order(Wish):
    """A workload that may wish for a cluster, and has a note that changes nothing."""

    wished: str = ""
    note: int = 0

    def value(self) -> Json:
        value = super().value()
        notes = {"gitplacer.dev/cluster": self.wished} if self.wished else {}
        notes |= {"example.com/note": str(self.note)} if self.note else {}
        if notes:
            value["metadata"] = {**value["metadata"], "annotations": notes}
        return value


@dataclass(frozen=True)
class Rules:
    """The policy of a namespace."""

    namespace: str
    strategy: str
    copies: str
    settings: Mapping[str, Any]
    when: Mapping[str, str]
    order: tuple[str, ...] = ()
    tier: str = ""
    priority: int = 0

    def file(self) -> dict[str, str]:
        placement: Json = {"copies": "All" if self.copies == "All" else int(self.copies)}
        if self.order:
            placement |= {"type": "Ordered", "order": [{"names": [name]} for name in self.order]}
        spec: Json = {
            "select": {"namespaces": [self.namespace]},
            "placement": placement,
            "priority": self.priority,
            "relocation": {"strategy": self.strategy, "when": dict(self.when), **self.settings},
        }
        if self.tier:
            spec["clusters"] = {"matchLabels": {"tier": self.tier}}
        return policy(self.namespace, yaml.safe_dump(spec))


def draw_rules(lot: Random, namespace: str, clusters: Iterable[str]) -> Rules:
    strategy = lot.choice(("Recreate", "Surge", "Surge", "RemoveFirst"))
    settings: Json = {
        "runningJobs": lot.choice(("Never", "Restart", "Restart")),
        "finishedJobs": lot.choice(("Keep", "Remove")),
        "cooldown": lot.choice(("0s", "10m", "30m", "30m", "2h")),
    }
    if strategy == "Surge":
        settings["surge"] = {
            "timeout": lot.choice(("10m", "30m", "30m")),
            "soak": lot.choice(("0s", "0s", "5m")),
            "approval": lot.choice(("None", "None", "None", "Required")),
        }
    modes = (*("Automatic",) * 8, "Manual", "Never")
    when = {name: lot.choice(modes) for name in ("NotEligible", "ClusterDraining", "ClusterLost", "PendingPods")}
    if when["PendingPods"] != "Never":
        settings["pendingFor"] = lot.choice(("5m", "15m", "15m"))
    order: tuple[str, ...] = ()
    if lot.random() < 0.4:
        order = tuple(lot.sample(sorted(clusters), len(list(clusters))))
        when["PreferredAvailable"] = lot.choice(("Automatic", "Automatic", "Manual", "Never"))
    copies = lot.choice(("1", "All", "2")) if namespace == SEVERAL else "1"
    return Rules(
        namespace, strategy, copies, settings, when, order, lot.choice(("", "", "", "red")), lot.choice((0, 0, 5))
    )


@dataclass(frozen=True)
class Guard:
    max: int
    per: int
    exceed: str

    def spec(self) -> Json:
        return {"max": self.max, "per": f"{self.per}m", "exceed": self.exceed}


@dataclass(frozen=True)
class Begun:
    """A relocation that began, as its commit tells."""

    at: datetime
    group: str
    evacuates: bool
    consented: bool
    to: tuple[str, ...]
    is_taken_back: bool = False


def draw_site(lot: Random, name: str) -> Site:
    machines = [
        Machine(f"{name}-{number}", 8, 32, lot.choice((0, 2, 2)), labels={"pool": "cpu"})
        for number in range(lot.randint(2, 5))
    ]
    type_ = None
    if lot.random() < 0.25:
        model = Machine("more", 8, 32, 2, labels={"pool": "cpu", "node.kubernetes.io/instance-type": "more"})
        type_ = NodeType("more", model, lot.randint(1, 3), 1.0)
    return Site(name, machines, type_, Random(lot.random()), tells=lot.random() < 0.8)


@dataclass
class History(Lived):
    """A fleet and its life, for one seed."""

    def __post_init__(self) -> None:
        self.lot = lot = Random(self.seed)
        self.now = START
        self.sites = {name: draw_site(lot, name) for name in "abcd"[: lot.choice((2, 3, 3, 4, 4))]}
        self.rules = {name: draw_rules(lot, name, self.sites) for name in ("n0", "n1", "n2", "n3")}
        self.guards = {
            False: Guard(lot.choice((1, 2, 10)), lot.choice((30, 60)), lot.choice(("Throttle", "Hold", "Allow"))),
            True: Guard(
                lot.choice((1, 2, 10)), lot.choice((30, 60)), lot.choice(("Throttle", "Throttle", "Hold", "Allow"))
            ),
        }
        self.lost_after = lot.choice((None, None, "1h", "3h"))
        self.wishes: dict[str, Order] = {}
        self.jobs: set[str] = set()
        self.number = 0
        self.specs: dict[str, dict[str, str]] = {
            name: {"maxAge": "1h"} if lot.random() < 0.4 else {} for name in self.sites
        }
        self.tiers = {name: lot.choice(("red", "red", "blue")) for name in self.sites}
        self.source: dict[str, str] = {"fleet.yaml": self._fleet()}
        self.capacity: dict[str, str] = {}
        self.snapshots: dict[str, Seen] = {}
        self.earlier: list[tuple[dict[str, str], dict[str, Seen]]] = []
        self.deployment = Tree()
        self.tree: dict[str, bytes] = {}
        self.passes = 0
        self.memory = Memory()
        self.ledgers = LedgerCache()
        self.begun: list[Begun] = []
        self.removed_for: dict[tuple[str, str], str] = {}
        self.serve: dict[str, set[str]] = defaultdict(set)
        self.known_ended: dict[str, int] = {}
        self.evictions: set[str] = set()
        for rules in self.rules.values():
            self.source |= rules.file()
        for name in self.sites:
            self._write_cluster(name)
            self.sites[name].observe(self.now, lot)
            self._tell(name)

    def _fleet(self) -> str:
        spec: Json = {"guards": {"relocations": self.guards[False].spec(), "evacuations": self.guards[True].spec()}}
        if self.lost_after:
            spec["lostAfter"] = self.lost_after
        return FLEET.replace("spec: {}", f"spec: {json.dumps(spec)}")

    def _write_cluster(self, name: str, **spec: str) -> None:
        self.specs[name] |= spec
        site, more = self.sites[name], dict[str, str]()
        if site.type is not None:
            model = site.type.model
            type_ = {"name": site.type.name, "allocatable": model.allocatable(), "labels": dict(model.labels),
                     "max": site.type.most, "pricePerHour": site.type.price}  # fmt: skip
            more["autoscaler"] = json.dumps({"type": "ClusterAutoscaler", "nodeTypes": [type_]})
        self.source |= cluster(name, labels=f"{{tier: {self.tiers[name]}}}", **self.specs[name], **more)

    @property
    def living(self) -> list[Site]:
        return [site for site in self.sites.values() if not site.is_dead]

    @property
    def heard(self) -> list[Site]:
        return [site for site in self.living if not site.is_cut]

    # a life

    def live(self, events: int = 70) -> History:
        for _ in range(self.lot.randint(3, 6)):
            self._push()
        self._pass()
        for _ in range(self.lot.randint(events // 2, events)):
            self.step()
            if self.wrong:
                return self
        if self.lot.random() < 0.15:
            self.idle_day()
        if not self.wrong:
            self.rest()
        return self

    def step(self) -> None:
        """Time goes on, clusters do some of what they have to do, and something happens."""
        lot = self.lot
        self._wait(timedelta(minutes=lot.choice((0.1, 0.5, 1, 1, 3, 5, 10, 30))))
        self._work()
        acts: dict[str, tuple[float, Callable[[], object]]] = {
            "push": (2, self._push), "edit": (2, self._edit), "remove": (1, self._remove), "wish": (1, self._wish),
            "break": (0.7, self._break), "mend": (1, self._mend),
            "drain": (3, self._drain), "undrain": (3, self._undrain), "label": (2, self._label), "rule": (1, self._rule),
            "cut": (1, self._cut), "join": (1.5, self._join), "die": (0.4, self._die), "declare": (1, self._declare),
            "rebuild": (0.7, self._rebuild), "forget": (0.2, self._forget),
            "approve": (2.5, self._approve), "withdraw": (0.5, self._withdraw),
            "reorder": (1, self._reorder), "nothing": (4, lambda: None),
        }  # fmt: skip
        act = lot.choices(list(acts), [weight for weight, _ in acts.values()])[0]
        acts[act][1]()
        self._watch()
        if lot.random() < 0.6:
            self._any_pass()

    def _wait(self, time: timedelta) -> None:
        self.now += time
        for site in self.sites.values():
            site.advance(self.now)
        self._watch()

    def _work(self) -> None:
        """What clusters do by themselves."""
        lot = self.lot
        for site in self.living:
            if not site.is_cut and lot.random() < 0.5:
                site.read(lot)
                site.sync(lot, lot.choice((0.3, 0.7, 1.0, 1.0)))
            if lot.random() < 0.5:
                site.settle(lot, lambda: Luck.drawn(lot))
            if lot.random() < 0.3:
                site.disturb()
            site.note()
            if lot.random() < 0.6:
                site.observe(self.now, lot)
            if not site.is_cut and site.seen and lot.random() < 0.6:
                self._tell(site.name, lot if lot.random() < 0.4 else None)
        self._watch()

    # what people do

    def _push(self) -> None:
        self.number += 1
        lot = self.lot
        kind = lot.choice(("RayService", "RayService", "RayCluster", "RayJob", "RayJob", "Deployment"))
        order = Order(
            namespace=lot.choice([n for n in self.rules if n != SEVERAL or kind != "RayJob"]), name=f"g{self.number:03}", kind=kind, head=1,
            cpu=lot.choice((1, 1, 2, 3)), gpus=lot.choice((0, 0, 0, 1)), count=lot.choice((1, 1, 2, 3)),
        )  # fmt: skip
        self._write(order)
        if kind == "RayJob":
            self.jobs.add(order.group)
        for site in self.sites.values():
            if lot.random() < 0.07:
                site.sick.add(order.group)

    def _write(self, order: Order) -> None:
        self._tell_of(f"write {order}")
        self.wishes[order.group] = order
        self.source[order.file] = order.text()

    def _one(self, *kinds: str) -> Order | None:
        able = sorted(group for group, order in self.wishes.items() if not kinds or order.kind in kinds)
        return self.wishes[self.lot.choice(able)] if able else None

    def _edit(self) -> None:
        order = self._one("RayService", "RayCluster", "Deployment")
        if order is not None:
            more = self.lot.choice((-1, 0, 1))
            self._write(replace(order, count=max(1, order.count + more), note=order.note + 1))

    def _wish(self) -> None:
        order = self._one()
        if order is not None:
            self._write(replace(order, wished=self.lot.choice(("", *self.sites))))

    def _remove(self) -> None:
        order = self._one()
        if order is not None:
            self._tell_of(f"remove {order.group}")
            del self.source[self.wishes.pop(order.group).file]

    def _break(self) -> None:
        order = self._one()
        if order is not None:
            self._tell_of(f"break {order.group}")
            self.source[order.file] = "kind: ["

    def _mend(self) -> None:
        for order in self.wishes.values():
            self.source[order.file] = order.text()

    def _state(self, name: str, state: str) -> None:
        self._tell_of(f"{name} is {state}")
        self._write_cluster(name, state=state)

    def _known(self) -> list[str]:
        """Clusters that the source has and that nobody holds for lost."""
        return [n for n in self.sites if f"clusters/{n}.yaml" in self.source and self.specs[n].get("state") != "Lost"]

    def _drain(self) -> None:
        if self._known():
            self._state(self.lot.choice(self._known()), self.lot.choice(("Draining", "Draining", "Cordoned")))

    def _undrain(self) -> None:
        away = [name for name in self._known() if self.specs[name].get("state", "Active") != "Active"]
        if away:
            self._state(self.lot.choice(away), "Active")

    def _label(self) -> None:
        if self._known():
            name = self.lot.choice(self._known())
            self.tiers[name] = self.lot.choice(("red", "blue"))
            self._tell_of(f"{name} is of tier {self.tiers[name]}")
            self._write_cluster(name)

    def _rule(self) -> None:
        name = self.lot.choice(tuple(self.rules))
        self.rules[name] = replace(self.rules[name], tier=self.lot.choice(("", "", "red", "blue")))
        self._tell_of(f"policy {self.rules[name]}")
        self.source |= self.rules[name].file()

    def _approve(self) -> None:
        order = self._one()
        if order is not None:
            action = self.lot.choice(("Move", "Move", "Move", "Return", "Remove", "Remove", "Exceed"))
            there = [n for n in self.sites if f"clusters/{n}.yaml" in self.source]
            to = self.lot.choice(("", *there)) if action == "Move" else ""
            self._consent([order.group], action, to, self.now + timedelta(hours=self.lot.choice((1, 6, 48))))

    def _consent(self, groups: Sequence[str], action: str, to: str, until: datetime) -> None:
        self.number += 1
        spec: Json = {"groups": list(groups), "action": action, "expires": written(until)}
        spec |= {"to": to} if to else {}
        self._tell_of(f"consent to {action} {', '.join(groups)} {to}")
        self.source[f"approvals/y{self.number}.yaml"] = json.dumps(
            {
                "apiVersion": "gitplacer.dev/v1alpha1",
                "kind": "Approval",
                "metadata": {"name": f"y{self.number}"},
                "spec": spec,
            }
        )

    def _withdraw(self) -> None:
        paths = [path for path in self.source if path.startswith("approvals/")]
        if paths:
            del self.source[self.lot.choice(paths)]

    # what happens to clusters

    def _cut(self) -> None:
        if len(self.heard) > 1:
            site = self.lot.choice(self.heard)
            self._tell_of(f"{site.name} is cut off")
            site.is_cut = True

    def _join(self) -> None:
        cut = [site for site in self.living if site.is_cut]
        if cut:
            self._rejoin(self.lot.choice(cut))

    def _rejoin(self, site: Site) -> None:
        self._tell_of(f"{site.name} is back")
        site.is_cut = False
        if not site.tells:
            site.seen.clear()
            site.catch_up(self.lot)
            site.observe(self.now, self.lot)

    def _die(self) -> None:
        if len(self.living) > 1:
            site = self.lot.choice(self.living)
            self._tell_of(f"{site.name} is lost")
            self.evictions |= site.serving
            site.die()

    def _declare(self) -> None:
        dead = [name for name in self._known() if self.sites[name].is_dead]
        if dead:
            self._state(self.lot.choice(dead), "Lost")
            self._any_pass()

    def _given_up(self) -> list[str]:
        return [n for n in self.sites if self.specs[n].get("state") == "Lost" and f"clusters/{n}.yaml" in self.source]

    def _rebuild(self) -> None:
        """A cluster that was declared lost is there again; only once that has been taken note of."""
        given_up = self._given_up()
        if given_up and self._pass():
            site = self.sites[self.lot.choice(given_up)]
            site.rebuild()
            self._state(site.name, "Active")
            if not site.tells:
                site.catch_up(self.lot)
            site.observe(self.now, self.lot)

    def _forget(self) -> None:
        """A cluster that was declared lost is no cluster any more."""
        given_up = self._given_up()
        if given_up and len(self._known()) > 1:
            name = self.lot.choice(given_up)
            self._tell_of(f"{name} is given up")
            del self.source[f"clusters/{name}.yaml"]

    def _reorder(self) -> None:
        able = [site for site in self.heard if site.told]
        if able:
            site = self.lot.choice(able)
            self._commit(site.name, site.tell_older(self.lot))

    def _told_at(self, name: str) -> datetime:
        return time_of(json.loads(self.snapshots[name].text)["observedAt"])

    def _tell(self, name: str, lot: Random | None = None) -> None:
        self._commit(name, self.sites[name].tell(lot))

    def _commit(self, name: str, seen: Seen) -> None:
        self.earlier = [*self.earlier[-2:], (dict(self.capacity), dict(self.snapshots))]
        self.snapshots[name] = seen
        self.capacity[f"{name}.yaml"] = seen.text
        said = json.loads(seen.text)
        groups = " ".join(f"{g['name']}:{g['phase']}{'+' if g['ready'] else ''}" for g in said["groups"])
        self._tell_of(
            f"  {name} tells ({said['observedAt'][8:19]}, {said.get('applied', {}).get('workloads')}): {groups}"
        )

    # what gitplacer does

    def _any_pass(self) -> None:
        """A pass that lands; or one of which nothing does, or that looked at what was so a while ago."""
        chance = self.lot.random()
        if chance < 0.12:
            self._tell_of("a pass that comes to nothing")
            self._hydrate(self.capacity, self.now)
        elif chance < 0.24 and self.earlier:
            capacity, snapshots = self.lot.choice(self.earlier)
            self._pass(capacity, snapshots, self.now - timedelta(seconds=self.lot.choice((0, 20, 120))))
        else:
            self._pass()

    def _inputs(self, capacity: Mapping[str, str], now: datetime) -> Inputs:
        capacity_tree = Tree.of({path: text.encode() for path, text in capacity.items()})
        return Inputs(
            source=Tree.of({path: text.encode() for path, text in self.source.items()}),
            commit=SourceCommit(id=f"{self.passes:040x}", author="A <a@b>", date="2026-01-02T03:04:05+00:00", subject="s"),
            capacity=capacity_tree,
            capacity_id=tree_id(capacity_tree),
            deployment=self.deployment,
            deployment_commit=f"{self.passes:040x}",
            now=now,
            version="test",
        )  # fmt: skip

    def _hydrate(self, capacity: Mapping[str, str], now: datetime) -> Hydration:
        self.ledgers.forget_unused()
        return hydrate(self._inputs(capacity, now), memo=self.memory, ledgers=self.ledgers, with_candidates=False)

    def _pass(
        self,
        capacity: dict[str, str] | None = None,
        snapshots: dict[str, Seen] | None = None,
        now: datetime | None = None,
    ) -> Hydration:
        capacity, snapshots, now = capacity or self.capacity, snapshots or self.snapshots, now or self.now
        self._note_ends(snapshots)
        done = self._hydrate(capacity, now)
        provenance.again(self._inputs(capacity, now), done, self.memory)
        self.passes += 1
        self._tell_of(f"pass {written(now)}" + ("" if now == self.now else " late"))
        for problem in done.problems:
            self.counts[f"problem {problem.code}"] += problem.severity is Severity.ERROR
        before = records_in(self.tree)
        for step in done.steps:
            self.land(step)
        self.deployment = done.tree
        self._note_removals(done, snapshots, before)
        self._guards_are_kept(now)
        for name in self._new_copies(before):
            if name in snapshots:
                self._all_have_room(name, snapshots[name])
        took_back = any("Gitplacer-Phase: Abort" in step.message for step in done.steps)
        self.counts["taken back"] += took_back
        if done.steps and not took_back and self.lot.random() < 0.3:  # edits of what came back are for the next pass
            again = self._hydrate(capacity, now)
            self.counts["planned again"] += 1
            if again.steps:
                self._is_wrong(5, f"planned again: {[step.message for step in again.steps]}")
        self._watch()
        return done

    def land(self, step: Step) -> None:
        """A commit is there for all to read."""
        changes = step.changes
        self.tree = {p: d for p, d in self.tree.items() if p not in changes.removed} | dict(changes.written)
        lines = step.message.splitlines()
        self._tell_of(f"  commit: {lines[0]} {[line for line in lines if 'Reason' in line]}")
        for site in self.sites.values():
            site.publish(self.tree)
        self._note_move(step.message)
        self.counts["law 6"] += 1
        for path in misplaced(self.tree):
            self._is_wrong(6, f"{path} is wrong after {lines[0]}")

    def _note_move(self, message: str) -> None:
        said = dict(line.removeprefix("Gitplacer-").split(": ", 1) for line in message.splitlines() if ": " in line and line.startswith("Gitplacer-"))  # fmt: skip
        if said.get("Phase") == "Abort":
            last = max(i for i, begun in enumerate(self.begun) if begun.group == said["Group"])
            self.begun[last] = replace(self.begun[last], is_taken_back=True)
        if "Group" not in said or said.get("Phase", "Add") not in ("Add", "Leave") or said["Reason"] in PLACED:
            return
        self.counts[f"move {said['Reason']} {said.get('Phase', 'Recreate')}"] += 1
        at = time_of(said["Now"])
        group, to = said["Group"], tuple(name for name in said["To"].split(", ") if name)
        consented = said["Reason"] == "MoveApproved" or self._is_consented(group)
        self.begun.append(Begun(at, group, said["Reason"] in EVACUATIONS, consented, to))

    def _is_consented(self, group: str) -> bool:
        for path, text in self.source.items():
            if path.startswith("approvals/"):
                spec = json.loads(text)["spec"]
                if spec["action"] in CONSENTED and group in spec["groups"]:
                    return True
        return False

    def _note_removals(self, done: Hydration, snapshots: Mapping[str, Seen], before: Mapping[str, Json]) -> None:
        for decision in done.view.plan.decisions:
            if str(decision.action) not in ("Keep", "Hold"):
                self._tell_of(
                    f"    {decision.group}: {decision.action} {','.join(decision.before)} -> {','.join(decision.after)} {decision.finding.code} {decision.phase or ''}"
                )
            for name in set(decision.files_before) - set(decision.files_after):
                group = decision.group
                unseen = str(decision.phase) == "Abort" and not shows_ready(
                    snapshots.get(name), group, before[group], name
                )
                excuse = "NeverSeenReady" if unseen else str(decision.finding.code)
                if name in snapshots and self._is_silent(snapshots[name]):
                    excuse = "ClusterLost"  # nobody has heard of it for so long that it counts as lost
                self.removed_for[decision.group, name] = f"{decision.action} {excuse}"

    def _is_silent(self, seen: Seen) -> bool:
        hours = int(self.lost_after[:-1]) if self.lost_after else 10**6
        return self.now - time_of(json.loads(seen.text)["observedAt"]) > timedelta(hours=hours)

    def _note_ends(self, snapshots: Mapping[str, Seen]) -> None:
        """Jobs whose end this pass reads of, on the cluster that has them and since they are there."""
        for group, record in records_in(self.tree).items():
            if group not in self.jobs or record.get("move") or group not in self.wishes:
                continue
            for entry in record.get("clusters") or ():
                seen, site = snapshots.get(entry["name"]), self.sites[entry["name"]]
                if seen is not None and speaks(seen, entry) and group in seen.finished and group in site.finished:
                    self.known_ended.setdefault(group, self._starts(group))

    def _starts(self, group: str) -> int:
        return sum(site.started[group] for site in self.sites.values())

    # laws

    def _watch(self) -> None:
        """What must hold at every moment."""
        for site in self.living:
            site.note()
        running = {name: site.running() for name, site in self.sites.items()}
        for group in sorted(self.jobs):
            places = [name for name in self.sites if group in running[name]]
            self.counts["law 1"] += bool(places)
            if len(places) > 1:
                self._is_wrong(1, f"{group} has pods on {' and '.join(places)}")
        for group, starts in self.known_ended.items():
            self.counts["law 7"] += 1
            if self._starts(group) > starts:
                self._is_wrong(7, f"{group} runs again after its end was seen")
        self._somebody_serves()

    def _somebody_serves(self) -> None:
        for group, order in self.wishes.items():
            if order.kind == "RayJob" or self.rules[order.namespace].strategy != "Surge":
                continue
            serving = {name for name, site in self.sites.items() if group in site.serving}
            lost, come = self.serve[group] - serving, serving - self.serve[group]
            self.serve[group] = serving
            if come:
                self.evictions.discard(group)
            self.counts["law 2"] += bool(serving)
            if not lost or serving:
                continue
            reasons = [self.removed_for.get((group, name), "") for name in sorted(lost)]
            if group not in self.evictions and not any(reason.endswith(_EXCUSES) for reason in reasons):
                self._is_wrong(2, f"{group} has no ready copy any more: {sorted(lost)} {reasons}")

    def _guards_are_kept(self, now: datetime) -> None:
        alive = records_in(self.tree)
        for evacuates, guard in self.guards.items():
            if guard.exceed == "Allow":
                continue
            mine = [b for b in self.begun if b.evacuates is evacuates and b.group in alive]
            newest = [b for b in mine if b.at == now and not b.consented]
            if newest:
                self.counts["law 3"] += 1
                window = [b for b in mine if now - b.at < timedelta(minutes=guard.per)]
                consented = [b for b in window if b.consented]
                if len(window) - len(consented) > guard.max:
                    self._is_wrong(3, f"{len(window)} moves in {guard.per} minutes, {guard.max} allowed: {newest}")

    def _new_copies(self, before: Mapping[str, Json]) -> set[str]:
        def there(records: Mapping[str, Json]) -> set[tuple[str, str]]:
            return {(g, entry["name"]) for g, record in records.items() for entry in record.get("clusters") or ()}

        return {name for _, name in there(records_in(self.tree)) - there(before)}

    def _all_have_room(self, name: str, seen: Seen) -> None:
        """Beside the pods that the snapshot shows, all that are promised and not shown find room, together."""
        site = self.sites[name]
        missing = [p for p in self._promised(name) if p.name not in seen.bound and p.group not in seen.finished]
        self.counts["law 4"] += 1
        if exactfit.solve(site.case_then(seen, missing)).feasible is False:
            self._is_wrong(4, f"no room on {name} for {[p.name for p in missing]} beside {dict(seen.bound)}")

    def _promised(self, name: str) -> Iterator[Planned]:
        """The pods that a cluster is to have, those that are still on their way included."""
        records = records_in(self.tree)
        files = groups_in(self.tree, name)
        for group, record in records.items():
            if record.get("finished"):
                continue
            if group in files:
                yield from pods_of(group, files[group])
            elif name in (record.get("move") or {}).get("to", ()):
                for planned in self._arriving(group, record):
                    self.sites[name].know(planned)
                    yield planned

    def _arriving(self, group: str, record: Json) -> Iterator[Planned]:
        """
        The pods that come to a cluster when a group between two arrives there: what the source says then, and room is found for
        that. The files between are as it left; they count only while the source cannot be read, which holds it there.
        """
        order = self.wishes.get(group)
        if order is not None and self.source.get(order.file) == order.text():
            yield from pods_of(group, order.text().encode())
            return
        for member in record["members"]:
            yield from pods_of(group, self.tree[f"moving/{member['file']}"])

    # days without events

    def idle_day(self) -> None:
        """Nobody writes anything; pods of others come and go, and clusters tell late and wrong."""
        self._tell_of("a day of noise")
        self._quiet()
        self._passes_to_settle(3)
        first = len(self.begun)
        end = self.now + DAY
        while self.now < end and not self.wrong:
            self._wait(timedelta(minutes=self.lot.choice((5, 20, 40))))
            self._work()
            if self.lot.random() < 0.2:
                self._reorder()
            for site in self.heard:
                if self.now - self._told_at(site.name) > timedelta(minutes=50):  # longer silence is no noise
                    site.observe(self.now, self.lot)
                    self._tell(site.name)
            self._forget_silence()
            self._any_pass()
        self._one_visit_each(first)

    def _forget_silence(self) -> None:
        """
        No late pass looks at a cluster that was silent for long: that one may count as lost, and evacuations go wherever there is
        room, as often as they have to.
        """

        def is_fresh(snapshots: Mapping[str, Seen]) -> bool:
            told = (time_of(json.loads(snapshots[site.name].text)["observedAt"]) for site in self.heard)
            return all(self.now - at <= timedelta(minutes=50) for at in told)

        self.earlier = [then for then in self.earlier if is_fresh(then[1])]

    def _one_visit_each(self, first: int) -> None:
        """Of the relocations since one, no two that were carried through brought a group to the same cluster."""
        self.counts["law 8"] += 1
        went = Counter((b.group, name) for b in self.begun[first:] for name in b.to if not b.is_taken_back)
        for (group, name), times in sorted(went.items()):
            if times > 1:
                self._is_wrong(8, f"{group} went to {name} {times} times in a day of noise")

    def _quiet(self) -> None:
        """Whoever was cut off is back, the dead are known, files are mended, copies recover, and consent is at an end."""
        self._mend()
        for path in [path for path in self.source if path.startswith("approvals/")]:
            del self.source[path]
        for site in self.sites.values():
            site.sick.clear()
            if site.is_cut and not site.is_dead:
                self._rejoin(site)
            if site.is_dead and f"clusters/{site.name}.yaml" in self.source:
                self._state(site.name, "Lost")

    def _passes_to_settle(self, count: int) -> None:
        for _ in range(count):
            self._look(timedelta(minutes=20))

    def _look(self, time: timedelta) -> bool:
        """Everybody catches up, tells, and a pass; whether that committed anything."""
        self._wait(time / 2)
        for site in self.heard:
            site.catch_up(self.lot)
            site.settle(self.lot, lambda: Luck.drawn(self.lot))
            site.note()
        self._wait(time / 2)
        for site in self.heard:
            site.observe(self.now, self.lot)
            self._tell(site.name)
        return bool(self._pass().steps)

    def rest(self) -> None:
        """Nothing changes any more, and time goes on."""
        self._tell_of("rest")
        self._quiet()
        there = sorted(records_in(self.tree))
        if there:
            self._consent(there, "Remove", "", self.now + 29 * DAY)
        for hours in (*[0.4] * 8, *[3] * 3, *[25] * 3):
            self._look(timedelta(hours=hours))
            if self.wrong:
                return
        self.counts["law 5"] += 1
        calm = 0
        for _ in range(8):
            calm = 0 if self._look(timedelta(hours=25)) else calm + 1
            if calm == 2 or self.wrong:
                break
        if calm < 2 and not self.wrong:
            self._is_wrong(5, "it does not come to rest")
        for group, record in records_in(self.tree).items():
            if record.get("move"):
                self._is_wrong(5, f"{group} is still moving: {record['move']}")
        if any(path.startswith("moving/") for path in self.tree):
            self._is_wrong(5, "something is between two clusters for ever")

    # the story as it is told

    def _tell_of(self, line: str) -> None:
        self.told.append(line)

    def _is_wrong(self, law: int, what: str) -> None:
        self.wrong.append(f"seed {self.seed}: law {law}: {what}")
        self._tell_of(f"WRONG: law {law}: {what}")


class LookedAt(History):
    """A life at which somebody looks now and then. The dice that say when are not those of the life, which goes on as if nobody did."""

    def __post_init__(self) -> None:
        self.dice = Random(self.seed)
        super().__post_init__()

    def _hydrate(self, capacity: Mapping[str, str], now: datetime) -> Hydration:
        plain = super()._hydrate(capacity, now)
        self._witness(capacity, now, plain)
        return plain

    def _witness(self, capacity: Mapping[str, str], now: datetime, plain: Hydration) -> None:
        """What is looked at after a pass."""
        raise NotImplementedError

    def _noted(self, capacity: Mapping[str, str], now: datetime) -> tuple[Inputs, Horizon, Hydration]:
        """A pass computed again, with how long what comes of it stands."""
        inputs, horizon = self._inputs(capacity, now), Horizon(now)
        return (
            inputs,
            horizon,
            hydrate(structs.replace(inputs, now=horizon.now), memo=self.memory, with_candidates=False),
        )
