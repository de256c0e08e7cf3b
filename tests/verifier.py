"""
A second opinion on every verdict: is what the planner says of a cluster true, on the snapshot's facts alone?

It knows nothing of how the planner finds its answers. It is given a cluster and its snapshot, who was promised room there
(seats, as data) and an answer with its proof: the seats of a gang that fits, or the seats that were taken when no node took
one more pod. It puts every pod on its node again, one by one, and asks each node itself why it takes no more. What does not
add up is a lie, told in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from ortools.sat.python import cp_model

from gitplacer.kinds.capacity import CapacitySnapshot, RunningPod
from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.machines import NodeType
from gitplacer.model.decision import Finding, Reason, Seat
from gitplacer.model.labels import Requirement, Taint, Toleration
from gitplacer.model.workload import Gang, PodShape

HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
PODS_OF_A_KUBELET = 110

Why = tuple[Reason, str]
"""Why a node does not take a pod: the reason, and the taint, selector or resource."""


# what a node is, and what it takes


@dataclass
class Machine:
    """One node and what is free on it; `name` is '' for one that is not there yet, which has none."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    free: dict[str, int]
    offers: dict[str, int] = field(default_factory=dict)
    unschedulable: bool = False
    ready: bool = True

    def refusals(self, pod: PodShape) -> set[Why]:
        """Every reason, apart from room, for which a pod may not be here."""
        found: set[Why] = set()
        if not self.ready:
            found.add((Reason.NODE_NOT_READY, "not ready"))
        if pod.node_name and pod.node_name != self.name:
            found.add((Reason.NODE_NAME_MISMATCH, f"nodeName={pod.node_name}"))
        for key, value in pod.node_selector:
            if self.labels.get(key) != value:
                found.add((Reason.NODE_SELECTOR_MISMATCH, f"{key}={value}"))
        if pod.affinity is not None and not any(
            (term.labels or term.fields)
            and all(holds(r, self.labels) for r in term.labels)
            and all(holds(r, {"metadata.name": self.name}) for r in term.fields)
            for term in pod.affinity
        ):
            found.add((Reason.NODE_AFFINITY_MISMATCH, " or ".join(map(str, pod.affinity))))
        cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
        if self.unschedulable and not any(tolerated(cordon, t) for t in pod.tolerations):
            found.add((Reason.NODE_UNSCHEDULABLE, "cordoned"))
        for taint in self.taints:
            if taint.effect != "PreferNoSchedule" and not any(tolerated(taint, t) for t in pod.tolerations):
                found.add((Reason.UNTOLERATED_TAINT, str(taint)))
        return found

    def places(self, pod: PodShape) -> dict[str, int]:
        """For each resource that a pod asks for, for how many such pods there is enough of it."""
        return {name: max(0, self.free.get(name, 0) // each) for name, each in asked(pod).items()}

    def take(self, pod: PodShape, count: int) -> None:
        for name, each in asked(pod).items():
            self.free[name] = self.free.get(name, 0) - each * count


def asked(pod: PodShape) -> dict[str, int]:
    """What a pod takes from a node, its own place among the node's pods included."""
    amounts = {name: value for name, value in pod.requests.items() if value > 0}
    amounts["pods"] = amounts.get("pods", 0) + 1
    return amounts


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.key), requirement.values
    if requirement.operator in ("In", "NotIn"):
        return (value in values) == (requirement.operator == "In")
    if requirement.operator in ("Exists", "DoesNotExist"):
        return (value is not None) == (requirement.operator == "Exists")
    numbers = [value or "", *values]
    if len(numbers) != 2 or not all(re.fullmatch(r"[+-]?[0-9]{1,18}", number) for number in numbers):
        return False
    left, right = map(int, numbers)
    return left > right if requirement.operator == "Gt" else left < right


def tolerated(taint: Taint, toleration: Toleration) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.operator == "Exists":
        return toleration.key in ("", taint.key)
    return (toleration.key, toleration.value) == (taint.key, taint.value)


# a cluster as its snapshot tells it


class Site:
    """One cluster: its nodes, those that an autoscaler was counted on to add, and what is free on each."""

    def __init__(
        self,
        cluster: Cluster,
        snapshot: CapacitySnapshot,
        *,
        gang_of: Callable[[str], Gang] = lambda group_id: (),
        held: Mapping[str, Sequence[Seat]] | None = None,
        closed: bool = False,
    ) -> None:
        self._cluster = cluster
        self.types: dict[str, NodeType] = (
            {t.name: t for t in cluster.spec.autoscaler.node_types} if cluster.spec.autoscaler else {}
        )
        self.nodes = {machine.name: machine for machine in _machines(snapshot)}
        self.added: dict[str, tuple[str, Machine]] = {}
        self.lies: list[str] = []
        for group in snapshot.groups:
            for pod in group.pods:
                if pod.node in self.nodes:
                    self._runs(pod, gang_of(group.name))
        for group_id, seats in (held or {}).items():
            self._sit(seats, f"{group_id}: ")
        self._promised = frozenset(self.added)
        if closed:
            for machine in self.nodes.values():
                machine.free = {name: min(0, amount) for name, amount in machine.free.items()}

    def _runs(self, pod: RunningPod, gang: Gang) -> None:
        """A pod whose request is not told is the largest that its role may be; of a role that nobody knows it is too large."""
        machine = self.nodes[pod.node or ""]
        if pod.requests:
            machine.take(PodShape(pod.requests), 1)
            return
        shapes = [pods.shape for pods in gang if pods.role == pod.role]
        if shapes:
            machine.take(max(shapes, key=_size), 1)
        else:
            machine.free = {name: min(0, amount) for name, amount in machine.free.items()}

    def _sit(self, seats: Iterable[Seat], whose: str = "") -> None:
        """Put pods where they are said to sit, and note where they may not or have no room."""
        for seat in seats:
            where = f"{whose}{seat.count} × {seat.pod} on {seat.type} {seat.node}"
            machine = self._machine(seat)
            if machine is None:
                self.lies.append(f"{where}: there is no such node")
                continue
            if machine.refusals(seat.pod):
                self.lies.append(f"{where}: {machine.refusals(seat.pod)}")
            if min(machine.places(seat.pod).values()) < seat.count:
                self.lies.append(f"{where}: only {machine.places(seat.pod)}")
            machine.take(seat.pod, seat.count)

    def _machine(self, seat: Seat) -> Machine | None:
        if not seat.type:
            return self.nodes.get(seat.node)
        if seat.node not in self.added and seat.type in self.types:
            self.added[seat.node] = (seat.type, self.new(self.types[seat.type]))
        kind, machine = self.added.get(seat.node, ("", None))
        return machine if kind == seat.type else None

    def new(self, kind: NodeType) -> Machine:
        """A node that an autoscaler would add."""
        place = {
            "topology.kubernetes.io/region": self._cluster.spec.region,
            "topology.kubernetes.io/zone": self._cluster.spec.zone,
        }
        labels = {key: value for key, value in place.items() if value is not None}
        offers = {"pods": PODS_OF_A_KUBELET, **kind.allocatable}
        taints = tuple(field.taint() for field in kind.taints)
        return Machine("", {**labels, **kind.labels, INSTANCE_TYPE: kind.name}, taints, dict(offers), dict(offers))

    def left(self, kind: str) -> int:
        """How many more nodes of a type may come."""
        return self._spare(kind) - sum(name == kind for name, _ in self.added.values())

    # answers

    def check_fit(self, gang: Gang, seats: Sequence[Seat], finding: Finding) -> list[str]:
        """What is not true of `Fits` or `FitsByScaleUp`, given who sits where."""
        self._sit(seats)
        wanted: Counter[PodShape] = Counter()
        for pods in gang:
            wanted[pods.shape] += pods.count
        seated: Counter[PodShape] = Counter()
        for seat in seats:
            seated[seat.pod] += seat.count
        if +seated != +wanted:
            self.lies.append(f"not every pod has its seat: {seated} of {wanted}")
        by_scale_up = any(seat.type for seat in seats)
        if finding.code is not (Reason.FITS_BY_SCALE_UP if by_scale_up else Reason.FITS):
            self.lies.append(f"it is called {finding.code}, and pods wait for machines: {by_scale_up}")
        opened = Counter(kind for number, (kind, _) in self.added.items() if number not in self._promised)
        told = {new.type: (new.count, new.price_per_hour, new.spot) for new in finding.new_nodes}
        if told != {k: (n, self.types[k].price_per_hour, self.types[k].spot) for k, n in opened.items()}:
            self.lies.append(f"{opened} must be added, and it says {finding.new_nodes}")
        self.lies += [f"more {kind} than there may be" for kind in opened if self.left(kind) < 0]
        return self.lies

    def check_shortage(self, gang: Gang, seats: Sequence[Seat], finding: Finding, *, scale_up: bool) -> list[str]:
        """What is not true of a finding that says how close a gang came, given who sat where when no node took one more."""
        self._sit(seats)
        if finding.nodes != len(self.nodes) or sum(t.nodes for t in finding.tally) != finding.nodes:
            self.lies.append(f"{finding.tally} do not add up to the {len(self.nodes)} nodes")
        if not 0 <= finding.placed < finding.wanted:
            self.lies.append(f"{finding.placed} of {finding.wanted} is no shortage")
        counts: Counter[tuple[str, PodShape]] = Counter()
        for pods in gang:
            counts[pods.role, pods.shape] += pods.count
        shapes = [s for (role, s), n in counts.items() if (role, n) == (finding.role, finding.wanted)]
        told = [self._untrue(shape, counts, seats, finding, scale_up) for shape in shapes]
        if not told:
            self.lies.append(f"no {finding.wanted} {finding.role} are wanted")
        return self.lies + min(told, key=len, default=[])

    def _untrue(
        self,
        shape: PodShape,
        counts: Mapping[tuple[str, PodShape], int],
        seats: Sequence[Seat],
        finding: Finding,
        scale_up: bool,
    ) -> list[str]:
        """What is not true if the pods that did not fit are of a shape."""
        lies = []
        seated = sum(seat.count for seat in seats if seat.pod == shape)
        others = [n for (role, other), n in counts.items() if other == shape and role != finding.role]
        if seated - finding.placed not in {
            sum(some) for k in range(len(others) + 1) for some in combinations(others, k)
        }:
            lies.append(f"{seated} are seated, and it says {finding.placed}")
        causes = [self._causes(machine, shape) for machine in self.nodes.values()]
        if not all(causes):
            lies.append(f"a node takes one more: {[n for n, c in zip(self.nodes, causes, strict=True) if not c]}")
        for size in range(1, len(finding.tally) + 1):
            for some in combinations(finding.tally, size):
                reasons = {(t.reason, t.subject) for t in some}
                if sum(t.nodes for t in some) > sum(bool(reasons & cause) for cause in causes):
                    lies.append(f"not so many nodes refuse it for {reasons}")
        if scale_up:
            lies += [
                f"an added {kind} takes one more" for kind, machine in self.added.values() if not self._causes(machine, shape)
            ]  # fmt: skip
            lies += [
                f"one more {kind} would take one"
                for kind in self.types
                if self.left(kind) > 0 and not self._causes(self.new(self.types[kind]), shape)
            ]
        if dict(finding.short) != self._short(shape, finding.wanted - finding.placed, scale_up):
            lies.append(f"it is short of {self._short(shape, finding.wanted - finding.placed, scale_up)}")
        return lies

    @staticmethod
    def _causes(machine: Machine, pod: PodShape) -> set[Why]:
        """Why a node takes no more pods of a shape: what refuses them, else all that it has too little of."""
        lacking = {(Reason.INSUFFICIENT_CAPACITY, name) for name, fits in machine.places(pod).items() if not fits}
        return machine.refusals(pod) or lacking

    def _short(self, pod: PodShape, missing: int, scale_up: bool) -> dict[str, int]:
        """
        Of each resource what the missing pods want beyond what lies about on nodes that admit them, those that were opened for this
        gang among them.
        """
        machines = list(self.nodes.values())
        if scale_up:
            machines += [machine for _, machine in self.added.values()]
        places: Counter[str] = Counter()
        for machine in machines:
            if not machine.refusals(pod):
                places.update(machine.places(pod))
        return {
            name: (missing - places[name]) * each
            for name, each in asked(pod).items()
            if name != "pods" and places[name] < missing
        }

    def check_promises(self) -> list[str]:
        """What is not true of all that was promised here, taken together."""
        self.lies += [
            f"more {kind} than there may be" for kind in self.types if self.left(kind) < min(0, self._spare(kind))
        ]
        return self.lies

    def holds_when_empty(self, gang: Gang, *, scale_up: bool) -> bool:
        """Whether a gang finds room on this cluster if nothing runs there; exact."""
        model = cp_model.CpModel()
        counts: Counter[PodShape] = Counter()
        for pods in gang:
            counts[pods.shape] += pods.count
        machines = list(self.nodes.values())
        if scale_up:
            for kind in self.types.values():
                machines += [self.new(kind)] * min(max(0, self._spare(kind.name)), sum(counts.values()))
        taken: dict[PodShape, list[cp_model.IntVar]] = {shape: [] for shape in counts}
        for machine in machines:
            here = {}
            for shape, count in counts.items():
                room = min((machine.offers.get(name, 0) // each for name, each in asked(shape).items()), default=0)
                most = 0 if machine.refusals(shape) else max(0, min(count, room))
                here[shape] = model.new_int_var(0, most, "")
                taken[shape].append(here[shape])
            for name in {name for shape in counts for name in asked(shape)}:
                used = sum(var * asked(shape).get(name, 0) for shape, var in here.items())
                model.add(used <= max(0, machine.offers.get(name, 0)))
        for shape, count in counts.items():
            model.add(sum(taken[shape]) == count)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        status = solver.solve(model)
        assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.INFEASIBLE)
        return status != cp_model.INFEASIBLE

    def _spare(self, kind: str) -> int:
        """How many nodes of a type might come if none were promised; one that has other labels is of another type."""
        labels = {INSTANCE_TYPE: kind}.items()
        own = self.types[kind].labels.items()
        there = [node.labels for node in self.nodes.values() if labels <= node.labels.items()]
        return self.types[kind].max - sum(all(found.get(key, value) == value for key, value in own) for found in there)


def _machines(snapshot: CapacitySnapshot) -> Iterable[Machine]:
    for node in snapshot.nodes:
        offers = {"pods": PODS_OF_A_KUBELET, **node.allocatable}
        taints = tuple(field.taint() for field in node.taints)
        for number in range(node.count):
            name = node.name if node.count == 1 else f"{node.name}[{number}]"
            # Of nodes that are folded into one, each has a host name of its own, which is not told.
            labels = {**node.labels, HOSTNAME: name if node.count > 1 else node.labels.get(HOSTNAME, name)}
            free = {r: offers.get(r, 0) - node.used.get(r, 0) for r in (*offers, *node.used)}
            yield Machine(name, labels, taints, free, dict(offers), node.unschedulable, node.ready)


def _size(shape: PodShape) -> tuple[int, int, int]:
    """Devices, then cores, then memory."""
    devices = sum(amount for name, amount in shape.requests.items() if "/" in name)
    return devices, shape.requests.get("cpu", 0), shape.requests.get("memory", 0)
