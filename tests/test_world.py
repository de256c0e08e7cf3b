"""
When gitplacer says that a gang fits, it fits: passes and clusters that live side by side, late and out of order.

Each seed is a story. One to three small clusters (`world`), gangs whose last pod just fits or just does not, passes whenever
somebody pushes, and in between clusters that apply commits late, schedule pods in any order and report what was so a while ago.
No foreign pod arrives. These laws hold:

- a group that was placed because it fits has all its pods running as soon as the clusters have done what they can;
- where it was placed because machines can be added, or by luck, its pods run or wait, and both are counted;
- when something is placed, the snapshot's pods and all pods that were promised and are not seen have room together (an exact
  solver looks for it);
- passes one after another on the same snapshots place what one pass would that sees all groups at once, unless machines have
  to come, which other orders of packing may use otherwise;
- planning again from what was just published changes nothing.

What the first law does not cover is counted and printed, never skipped in silence: where pods have left a cluster since the
snapshot that a promise was made on, the cluster is another than the one that was judged.

A short form runs with the suite. For more:

    python -m tests.test_world --seeds 0:2000
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
import yaml

from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Action, Reason
from gitplacer.model.verdicts import NONE
from gitplacer.problems import Severity
from tests import exactfit
from tests.seeds import Lived, live_all
from tests.stories import PRIVILEGED, Story, cluster, outcome, policy
from tests.test_rendered_directories import contents
from tests.world import (
    GPU,
    HOSTNAME,
    INSTANCE_TYPE,
    Cluster,
    Json,
    Luck,
    Machine,
    NodeType,
    Seen,
)

SHORT, CHUNK = 24, 6  # seeds in the suite, seeds in a test
ZONE = "topology.kubernetes.io/zone"
TAINT = {"key": GPU, "effect": "NoSchedule"}

POLICIES = {
    **policy("plain", "select: {namespaces: [plain]}"),
    **policy("lucky", "select: {namespaces: [lucky]}\nplacement: {accept: TightFit}"),
    **policy("prod", "select: {namespaces: [prod]}\npriority: 10\npreempts: LowerPriority"),
    **policy("lab", "select: {namespaces: [lab]}\npreemptible: true\nplacement: {scaleUp: Never}"),
}
THRIFTY = policy("plain", "select: {namespaces: [plain]}\nbudgetPerHour: 3")
NAMESPACES = ("plain", "plain", "plain", "lucky", "prod", "lab")


# what is asked for


@dataclass(frozen=True)
class Wish:
    """A workload: a head of some cores, and workers. For a Deployment the workers are its pods."""

    namespace: str
    name: str
    kind: str
    head: int
    cpu: int
    gpus: int
    count: int
    memory: int = 2
    pool: str = ""
    tolerates: bool = True
    rule: str = ""

    @property
    def group(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def file(self) -> str:
        return f"workloads/{self.namespace}/{self.name}.yaml"

    def text(self) -> str:
        text: str = yaml.dump(self.value(), Dumper=yaml.CSafeDumper, sort_keys=False)
        return text

    def value(self) -> Json:
        metadata = {"name": self.name}
        if self.kind == "Deployment":
            template = self._template(self.cpu, self.gpus, worker=True)
            selector = {"matchLabels": {"app": self.name}}
            spec = {"replicas": self.count, "selector": selector, "template": template}
            return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
        head = {"rayStartParams": {}, "template": self._template(self.head, 0, worker=False)}
        workers = {
            "groupName": "w", "replicas": self.count, "minReplicas": 0, "maxReplicas": 9, "rayStartParams": {},
            "template": self._template(self.cpu, self.gpus, worker=True),
        }  # fmt: skip
        ray = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [workers]}
        spec = {"entrypoint": "python x.py", "shutdownAfterJobFinishes": True, "rayClusterSpec": ray}
        spec = {"RayJob": spec, "RayService": {"rayClusterConfig": ray}}.get(self.kind, ray)
        return {"apiVersion": "ray.io/v1", "kind": self.kind, "metadata": metadata, "spec": spec}

    def _template(self, cpu: int, gpus: int, *, worker: bool) -> Json:
        asks = {"cpu": str(cpu), "memory": f"{self.memory}Gi"}
        container: Json = {"name": "main", "image": "example.com/ray:2.52.0", "resources": {"requests": asks}}
        if gpus:
            container["resources"]["limits"] = {GPU: str(gpus)}
        spec: Json = {"containers": [container]}
        if worker and self.pool:
            spec["nodeSelector"] = {"pool": self.pool}
        if self.tolerates or gpus:
            spec["tolerations"] = [{"key": GPU, "operator": "Exists"}]
        if worker:
            _with_rule(self.rule, spec, self.name)
        return {"metadata": {"labels": {"app": self.name, "part": "worker" if worker else "head"}}, "spec": spec}


def _with_rule(rule: str, spec: Json, name: str) -> None:
    own = {"matchLabels": {"app": name, "part": "worker"}}
    if rule == "port":
        spec["containers"][0]["ports"] = [{"containerPort": 9000, "hostPort": 9000}]
    elif rule in ("apart", "alone"):
        apart = {
            "topologyKey": HOSTNAME,
            "labelSelector": own if rule == "apart" else {"matchLabels": {"part": "worker"}},
        }
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    elif rule == "spread":
        spec["topologySpreadConstraints"] = [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
        ]


def draw_wish(lot: Random, number: int, machines: Sequence[Machine], ruled: bool) -> Wish:
    """Something that just fits machines like these, or just does not."""
    kind = lot.choice(("RayCluster", "RayCluster", "RayJob", "RayJob", "Deployment"))
    model = lot.choice([m for m in machines if m.gpus] or machines)
    gpus = lot.choice((0, 1, 1, model.gpus)) if model.gpus else 0
    each = lot.choice((1, 2, 2, 3, 4, 6))
    cpu = max(1, model.cpu // each - lot.choice((0, 0, 1)))
    head = lot.choice((1, 1, 2, max(1, model.cpu - cpu), model.cpu // 2))
    return Wish(
        namespace=lot.choice(NAMESPACES),
        name=f"g{number:03}",
        kind=kind,
        head=head,
        cpu=cpu,
        gpus=min(gpus, model.gpus),
        count=lot.randint(1, lot.randint(1, 4)),
        memory=lot.choice((2, 2, 2, 8, model.memory // 2)),
        pool=lot.choice(("", "", "", "gpu", "cpu")) if not gpus else lot.choice(("", "gpu")),
        tolerates=lot.random() < 0.7,
        rule=lot.choice(("", "port", "apart", "alone", "spread")) if ruled else "",
    )


def draw_cluster(lot: Random, name: str, ruled: bool) -> Cluster:
    gpu_cpu = lot.choice((4, 8, 8, 12))
    tainted = lot.random() < 0.4
    machines = []
    for number in range(lot.randint(2, 8)):
        zone = {ZONE: f"z{number % 2}"}
        foreign = _foreign(lot, f"{name}-{number}", ruled)
        if lot.random() < 0.55:
            machine = Machine(
                f"{name}-gpu-{number}", gpu_cpu, 32, lot.choice((1, 1, 2, 4)),
                labels={"pool": "gpu", INSTANCE_TYPE: "gpu-large", **zone}, taints=(TAINT,) if tainted else (), foreign=foreign,
            )  # fmt: skip
        else:
            machine = Machine(
                f"{name}-cpu-{number}", lot.choice((4, 8, 16)), 32, pods=lot.choice((110, 110, 3)),
                labels={"pool": "cpu", **zone}, cordoned=lot.random() < 0.05, foreign=foreign,
            )  # fmt: skip
        machines.append(machine)
    type_ = None
    if lot.random() < 0.35:
        labels = {"pool": "gpu", INSTANCE_TYPE: "more", ZONE: "z0"}
        type_ = NodeType("more", Machine("more", gpu_cpu, 32, 1, labels=labels), lot.randint(1, 3), 1.0)
    return Cluster(name, machines, type_, tells=lot.random() < 0.7)


def _foreign(lot: Random, name: str, ruled: bool) -> tuple[Json, ...]:
    if lot.random() < 0.6:
        return ()
    container: Json = {"name": "c", "resources": {"requests": {"cpu": lot.choice(("500m", "1")), "memory": "1Gi"}}}
    if ruled and lot.random() < 0.5:
        container["ports"] = [{"containerPort": 9000, "hostPort": 9000}]
    return ({"metadata": {"name": f"x/{name}", "namespace": "x", "labels": {}}, "spec": {"containers": [container]}},)


def cluster_file(site: Cluster) -> dict[str, str]:
    if site.type is None:
        return cluster(site.name)
    model = site.type.model
    type_: dict[str, Any] = {
        "name": site.type.name, "allocatable": model.allocatable(), "labels": dict(model.labels),
        "taints": list(model.taints), "max": site.type.most, "pricePerHour": site.type.price,
    }  # fmt: skip
    return cluster(site.name, autoscaler=str({"type": "ClusterAutoscaler", "nodeTypes": [type_]}))


# a story


@dataclass(frozen=True)
class Promise:
    """Why a group was put on a cluster, the event of the snapshot that this was judged on, and how many pods were promised."""

    reason: str
    event: int
    pods: int


@dataclass
class Life(Lived):
    """Clusters under gitplacer, for one seed."""

    def __post_init__(self) -> None:
        self.lot = lot = Random(self.seed)
        self.ruled = lot.random() < 0.3
        self.calm = lot.random() < 0.6
        """Whether jobs end and groups are removed only while nothing is on its way."""
        self.sites = {name: draw_cluster(lot, name, self.ruled) for name in "abc"[: lot.choice((1, 1, 2, 3))]}
        self.wishes: dict[str, Wish] = {}
        self.number = 0
        self.promises: dict[tuple[str, str], Promise] = {}
        self.snapshots: dict[str, Seen] = {}
        self.story = Story.of(
            *map(cluster_file, self.sites.values()), POLICIES, PRIVILEGED, THRIFTY if lot.random() < 0.2 else {}
        )
        for name in self.sites:
            self._observe(name)
            self._tell(name)

    def live(self) -> Life:
        """Some waves of work; after each everything comes to rest."""
        for _ in range(self.lot.choice((2, 3))):
            for _ in range(self.lot.randint(6, 16)):
                self._step()
                if self.wrong:
                    return self
            self._rest()
            if self.wrong:
                return self
            self._clear()
            if self.lot.random() < 0.8:
                for name in self.sites:
                    if self.calm:
                        self.sites[name].catch_up(self.lot)
                    self._observe(name)
                    self._tell(name)
        return self

    def _step(self) -> None:
        """Somebody pushes, or a cluster does a little of what it has to do."""
        name = self.lot.choice(tuple(self.sites))
        site, lot = self.sites[name], self.lot
        self.story.now += timedelta(seconds=1)
        acts: dict[str, tuple[int, Callable[[], object]]] = {
            "push": (3, self._push),
            "burst": (1, self._burst),
            "pass": (1, self._pass),
            "sync": (3, lambda: self._sync(site)),
            "schedule": (3, lambda: site.schedule(lot, Luck.drawn(lot), lot.choice((1, 2, 4, None)))),
            "scale up": (1, site.scale_up),
            "observe": (2, lambda: self._observe(name)),
            "tell": (1, lambda: self._tell(name, lot)),
            "leave": (0 if self.calm else 1, lambda: lot.choice((self._end, self._remove, self._resize))()),
        }
        act = lot.choices(list(acts), [weight for weight, _ in acts.values()])[0]
        acts[act][1]()

    def _sync(self, site: Cluster) -> None:
        site.read(self.lot)
        site.sync(self.lot, self.lot.choice((0.3, 0.7, 1.0)))

    # what people do

    def _push(self) -> None:
        self._add(self._draw())
        if self.lot.random() < 0.8:
            self._pass()

    def _draw(self) -> Wish:
        self.number += 1
        machines = [machine for site in self.sites.values() for machine in site.machines]
        return draw_wish(self.lot, self.number, machines, self.ruled)

    def _add(self, wish: Wish) -> None:
        self._tell_of(f"push {wish}")
        self.wishes[wish.group] = wish
        self.story.source[wish.file] = wish.text()

    def _burst(self) -> None:
        """Several pushes, each with a pass of its own, on the same snapshots; and what one pass of them all would do."""
        self._pass()
        wishes = [replace(self._draw(), namespace="plain") for _ in range(self.lot.randint(2, 4))]
        together = replace(self.story, source=dict(self.story.source))
        for wish in wishes:
            together.source[wish.file] = wish.text()
            self._add(wish)
            self._pass()
        at_once, one_by_one = (
            outcome(made) for made in (together.run(with_candidates=NONE), self.story.plan(with_candidates=NONE))
        )
        if any(promise.reason == Reason.FITS_BY_SCALE_UP for promise in self.promises.values()):
            return
        self.counts["bursts"] += 1
        for wish in wishes:
            placed = (one_by_one[wish.group].split(" ")[1], at_once[wish.group].split(" ")[1])
            if placed[0] != placed[1]:
                self._is_wrong(
                    f"{wish.group}: one by one it goes to {placed[0] or 'nowhere'}, at once to {placed[1] or 'nowhere'}"
                )

    def _end(self) -> None:
        site = self.lot.choice(tuple(self.sites.values()))
        jobs = site.jobs()
        if jobs:
            group = self.lot.choice(jobs)
            self._tell_of(f"{group} ends on {site.name}")
            site.end(group)

    def _remove(self) -> None:
        if self.wishes:
            self._withdraw(self.lot.choice(sorted(self.wishes)))
            self._pass()

    def _withdraw(self, group: str) -> None:
        self._tell_of(f"remove {group}")
        del self.story.source[self.wishes.pop(group).file]

    def _clear(self) -> None:
        """Most of what runs ends or is removed, and so is what waits."""
        placed = {group for _, group in self.promises}
        for group in sorted(self.wishes):
            if group not in placed or self.lot.random() < 0.4:
                self._withdraw(group)
        for site in self.sites.values():
            for group in site.jobs():
                if self.lot.random() < 0.7:
                    self._tell_of(f"{group} ends on {site.name}")
                    site.end(group)
        self._resize()
        self._pass()

    def _resize(self) -> None:
        able = [w for w in self.wishes.values() if w.kind == "RayCluster"]
        if able:
            wish = self.lot.choice(able)
            wish = replace(wish, count=max(1, wish.count + self.lot.choice((-1, 1, 2))))
            self._add(wish)
            self._pass()

    # what gitplacer does

    def _pass(self) -> Hydration:
        for site in self.sites.values():
            if not site.tells:
                site.catch_up(self.lot)  # what tells no epochs must not be later than the grace of five minutes
        before = contents(self.story.deployment)
        # As a controller makes it; with the verdict of every cluster, as a plan has it, only now and then, since that takes most of the time.
        done = self.story.run(with_candidates=self.story.passes % 8 == 0 or NONE)
        errors = [p for p in done.problems if p.severity is Severity.ERROR]
        assert not errors, errors
        self._publish(before, done)
        new = self._note(done)
        for name in new:
            self._all_have_room(name)
        again = self.story.plan()
        if again.steps:
            self._is_wrong(f"planned again: {[s.message for s in again.steps]}")
        return done

    def _publish(self, before: dict[str, bytes], done: Hydration) -> None:
        tree = before
        for step in done.steps:
            tree = {p: d for p, d in tree.items() if p not in step.changes.removed} | dict(step.changes.written)
            for site in self.sites.values():
                site.publish(tree)

    def _note(self, done: Hydration) -> set[str]:
        """Remember what was promised, and return where something was placed."""
        new = set()
        for decision in done.view.plan.decisions:
            if decision.action is not Action.KEEP:
                self._tell_of(
                    f"  {decision.group}: {decision.action} {','.join(decision.after)} {decision.finding.code}"
                )
            self.counts[f"{decision.action} {decision.finding.code}"] += decision.action is not Action.KEEP
            for name in set(decision.before) - set(decision.after):
                self.promises.pop((name, decision.group), None)
            for name in set(decision.after) - set(decision.before):
                reason = decision.reasons[name].code
                pods = sum(p.group == decision.group for p in self.sites[name].asked())
                self.promises[name, decision.group] = Promise(reason, self.snapshots[name].event, pods)
                new.add(name)
                if reason != Reason.FITS:
                    self._costs_those_their_certainty_who_need_none(name)
            if decision.action is Action.UPDATE:
                for name in decision.after:
                    self._resized(name, decision.group)
        return new

    def _costs_those_their_certainty_who_need_none(self, name: str) -> None:
        """A group that counts on luck or on machines may cost others theirs, if their policy accepts luck as well."""
        for key, promise in self.promises.items():
            if (
                key[0] == name
                and key[1].startswith("lucky/")
                and promise.reason == Reason.FITS
                and self._is_coming(*key)
            ):
                self.promises[key] = replace(promise, reason="beside luck")

    def _resized(self, name: str, group: str) -> None:
        """What was promised does not hold for more pods than those, nor beside them."""
        pods = sum(p.group == group for p in self.sites[name].asked())
        if pods > self.promises[name, group].pods:
            for key in [key for key in self.promises if key[0] == name]:
                if key[1] == group or self._is_coming(*key):
                    self.promises[key] = replace(self.promises[key], reason="beside more")
        self.promises[name, group] = replace(self.promises[name, group], pods=pods)

    def _is_coming(self, name: str, group: str) -> bool:
        site = self.sites[name]
        return any(p.group == group and not (p.name in site.pods and site.pods[p.name].node) for p in site.asked())

    # laws

    def _all_have_room(self, name: str) -> None:
        """Beside the pods that the snapshot shows, all that are promised and not shown find room, together."""
        site, seen = self.sites[name], self.snapshots[name]
        missing = [p for p in site.asked() if p.name not in seen.bound and p.group not in seen.finished]
        self.counts["rooms"] += 1
        if exactfit.solve(site.case(missing, seen.bound, site.room_to_grow())).feasible is False:
            self._is_wrong(f"no room on {name} for {[p.name for p in missing]} beside {dict(seen.bound)}")

    def _rest(self) -> None:
        """Everything comes to rest; then who was promised to fit runs."""
        self._tell_of("rest")
        for site in self.sites.values():
            site.catch_up(self.lot)
            site.settle(self.lot, lambda: Luck.drawn(self.lot))
            waiting = Counter(p.group for p in site.pending())
            for (name, group), promise in self.promises.items():
                if name != site.name:
                    continue
                disturbed = site.left > promise.event
                how = "since then pods have left" if disturbed else "nothing has left"
                fate = "waits" if waiting[group] else "runs"
                self.counts[f"{promise.reason}, {how}: {fate}"] += 1
                if waiting[group] and promise.reason == Reason.FITS and not disturbed:
                    self._is_wrong(f"{group} was said to fit {name}, and {waiting[group]} of its pods find no node")
            for key in [key for key in self.promises if key[0] == site.name and not waiting[key[1]]]:
                self.promises[key] = replace(self.promises[key], reason="runs")

    # the story as it is told

    def _observe(self, name: str) -> None:
        self.sites[name].observe(self.story.now, self.lot)

    def _tell(self, name: str, lot: Random | None = None) -> None:
        self.snapshots[name] = self.sites[name].tell(lot)
        self.story.capacity[f"{name}.yaml"] = self.snapshots[name].text
        self._tell_of(f"{name} tells of {dict(self.snapshots[name].bound)}")

    def _tell_of(self, line: str) -> None:
        self.told.append(line)

    def _is_wrong(self, what: str) -> None:
        self.wrong.append(f"seed {self.seed}: {what}")
        self._tell_of(f"WRONG: {what}")


@pytest.mark.parametrize("start", range(0, SHORT, CHUNK))
def test_what_is_said_to_fit_fits(start: int) -> None:
    for seed in range(start, start + CHUNK):
        life = Life(seed).live()
        assert not life.wrong, "\n".join([*life.told, *life.wrong])


# stories that random ones seldom tell


def job(name: str) -> Wish:
    """Two workers, each on a node of its own."""
    return Wish("plain", name, "RayJob", head=1, cpu=4, gpus=1, count=2)


def two_nodes(*, tells: bool) -> Cluster:
    return Cluster("a", [Machine(f"a-{n}", 8, 32, 1) for n in range(2)], tells=tells)


def told_of(site: Cluster, *wishes: Wish) -> Life:
    """A life on one cluster that runs the first job, and waits with the others."""
    life = Life(0)
    life.sites, life.wishes, life.promises, life.snapshots = {"a": site}, {}, {}, {}
    life.story = Story.of(cluster("a"), POLICIES, PRIVILEGED)
    look(life)
    for wish in wishes:
        life._add(wish)
        life._pass()
    life._rest()
    look(life)
    return life


def look(life: Life) -> None:
    life._observe("a")
    life._tell("a")


@pytest.mark.parametrize("tells", [True, False])
def test_a_job_that_has_ended_holds_nothing_once_a_snapshot_says_so(tells: bool) -> None:
    site = two_nodes(tells=tells)
    life = told_of(site, job("one"), job("two"))
    assert outcome(life._pass()) == {"plain/one": "Keep a Kept", "plain/two": "Wait  NoClusterFits"}
    life.story.now += timedelta(minutes=6)
    site.end("plain/one")
    assert outcome(life._pass())["plain/two"] == "Wait  NoClusterFits"  # nobody has said so
    look(life)
    assert outcome(life._pass()) == {"plain/one": "Keep a Kept", "plain/two": "Place a Fits"}
    life._rest()
    assert not life.wrong
    assert site.jobs() == ["plain/two"]


@pytest.mark.parametrize("seen", [True, False])
def test_a_group_that_is_held_keeps_its_room(seen: bool) -> None:
    """Whether or not a snapshot has shown it."""
    life = told_of(two_nodes(tells=True), *([job("one")] if seen else []))
    if not seen:
        life._add(job("one"))
        life._pass()
    life.story.source["workloads/plain/one.yaml"] = "kind: ["
    life.story.source |= {job("two").file: job("two").text()}
    done = outcome(life.story.run())
    assert done["plain/one"].startswith("Hold a ")
    assert done["plain/two"] == "Wait  NoClusterFits"


@pytest.mark.parametrize(("count", "result"), [(2, "Update a Updated"), (3, "Update a Outgrown")])
def test_a_group_that_grows_is_judged(count: int, result: str) -> None:
    wish = replace(job("one"), kind="RayCluster", count=1)
    life = told_of(two_nodes(tells=True), wish)
    life._add(replace(wish, count=count))
    assert outcome(life._pass()) == {"plain/one": result}
    # what is free belongs to the pods that wait, and as much as they may take
    life._add(Wish("plain", "two", "Deployment", head=0, cpu=1, gpus=0, count=1, tolerates=True))
    assert outcome(life._pass())["plain/two"] == ("Place a Fits" if count == 2 else "Wait  NoClusterFits")
    life._rest()
    assert not life.wrong


def test_a_promise_that_is_broken_is_found_out() -> None:
    """The judge can fail: it is told of a promise that nobody could keep."""
    life = told_of(two_nodes(tells=True), job("one"))
    extra = {"clusters/a/workloads/plain/two/two.yaml": job("two").text().encode()}
    life.sites["a"].publish({**life.sites["a"].commits[-1], **extra})
    life.promises["a", "plain/two"] = Promise(Reason.FITS, life.snapshots["a"].event, 4)
    life._all_have_room("a")
    life._rest()
    assert ["no room on a" in life.wrong[0], "plain/two was said to fit a" in life.wrong[1]] == [True, True]


def main(args: Sequence[str] | None = None) -> int:
    """Live any range of seeds from the command line; exit 1 where a law was broken."""
    return live_all("Passes and clusters side by side.", "stories", lambda seed: Life(seed).live(), args)


if __name__ == "__main__":
    sys.exit(main())
