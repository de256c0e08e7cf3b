"""
Every verdict of every generated plan re-checks true, by a verifier that knows nothing of how it was found.

The verifier comes first, because a verifier that cannot fail proves nothing: each of its rules is shown an answer that breaks
it. Then a witness stands beside the planner and has each answer verified at the moment it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration, hydrate
from gitplacer.model.decision import Finding, NewNodes, Reason, Seat, Tally
from gitplacer.model.labels import Toleration
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape
from gitplacer.placement.books import Books
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns
from gitplacer.placement.onepass import Pass
from gitplacer.placement.pack import Packing, Shortfall, pack
from gitplacer.placement.proof import has_room
from gitplacer.placement.rounds import Round
from gitplacer.placement.stage import Missing
from gitplacer.tree import Tree
from tests.fleets import Edit, histories, new_world
from tests.stories import Story, cluster, outcome, policy, snapshot
from tests.test_rendered_directories import contents, inputs
from tests.verifier import Site

THOROUGH = settings().max_examples > 100
GPU = "nvidia.com/gpu"


# the witness


class Witness:
    """Has each answer of the planner verified against the snapshot and the promises of that moment."""

    def __init__(self) -> None:
        self.lies: list[str] = []
        self.answers: dict[str, int] = {}
        self._pass: Pass | None = None
        self._told: set[tuple[object, ...]] = set()
        self._fits: set[tuple[str, Finding]] = set()
        self._besides: list[tuple[Packing, Gang, int]] = []
        """Packings with machines for pods that may be left out, each with these pods, and how many uses it has before those of theirs."""

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Stand beside every planner that runs meanwhile."""
        with pytest.MonkeyPatch.context() as patch:
            began, fit, fits_now = Pass.__init__, Books.fit, Books.fits_now
            exceeds, decide = Pass.exceeds, Round.decide
            add, tell = Ledger.with_machines_for, Books.fitting

            def beginning(shared: Pass, *args: Any) -> None:
                self._pass = shared
                began(shared, *args)

            def fitting(books: Books, gang: Gang, name: str, *, scale_up: bool) -> Packing | Shortfall:
                found = fit(books, gang, name, scale_up=scale_up)
                self._hear(books, gang, name, found, scale_up)
                return found

            def fitting_now(books: Books, gang: Gang, name: str) -> Packing | Shortfall | Missing:
                found = fits_now(books, gang, name)
                if not isinstance(found, Missing):
                    self._hear(books, gang, name, found, False)
                return found

            def adding(ledger: Ledger, gang: Gang, packing: Packing) -> Packing | None:
                more = add(ledger, gang, packing)
                if more is not None:
                    self._besides.append((more, gang, len(packing.uses)))
                return more

            def telling(books: Books, name: str, packing: Packing) -> Finding:
                finding = tell(books, name, packing)
                for more, gang, before in self._besides:
                    if more is packing:
                        self._hear_of_machines(books[name], gang, name, packing, before, finding)
                return finding

            def exceeding(shared: Pass, gang: Gang, ledger: Ledger, name: str, scale_up: bool) -> bool:
                never = exceeds(shared, gang, ledger, name, scale_up)
                if never == self._site(name, ledger).holds_when_empty(gang, scale_up=scale_up):
                    self._lie(f"{name}: {gang} {'never fits' if never else 'fits when it is empty'}, it says")
                return never

            def deciding(round_: Round) -> Any:
                decided = decide(round_)
                if "_books" in round_.__dict__:
                    for name in self._snapshots:
                        for lie in self._site(name, round_._books[name]).check_promises():
                            self._lie(f"{name}, after a round: {lie}")
                return decided

            patch.setattr(Pass, "__init__", beginning)
            patch.setattr(Books, "fit", fitting)
            patch.setattr(Books, "fits_now", fitting_now)
            patch.setattr(Ledger, "with_machines_for", adding)
            patch.setattr(Books, "fitting", telling)
            patch.setattr(Pass, "exceeds", exceeding)
            patch.setattr(Round, "decide", deciding)
            yield

    def confirm(self, done: Hydration) -> None:
        """What the plan tells of room is what was verified, and nothing that was verified was a lie."""
        for decision in done.view.plan.decisions:
            for candidate in decision.candidates:
                finding = candidate.finding
                if finding.wanted or finding.nodes:
                    assert (candidate.cluster, *_numbers(finding)) in self._told, candidate
            for name, finding in decision.reasons.items():
                if finding.code in (Reason.FITS, Reason.FITS_BY_SCALE_UP):
                    assert (name, finding) in self._fits, finding
        assert not self.lies, self.lies

    @property
    def _snapshots(self) -> Mapping[str, Any]:
        assert self._pass is not None
        return self._pass.snapshot.capacity

    def _hear(self, books: Books, gang: Gang, name: str, found: Packing | Shortfall, scale_up: bool) -> None:
        ledger = books[name]
        site = self._site(name, ledger)
        if isinstance(found, Packing):
            finding = books.fitting(name, found)
            told = site.check_fit(gang, ledger.seated(found.uses, found.opened), finding)
            if ledger.closed and gang:
                told.append("pods without room wait for what gets free here")
            self._fits.add((name, finding))
        else:
            finding = Finding(
                code=Reason.INSUFFICIENT_CAPACITY, role=found.role, placed=found.placed, wanted=found.wanted,
                short=found.short, nodes=found.nodes, tally=found.tally,
            )  # fmt: skip
            scale_up = scale_up and not ledger.closed
            # Where room is kept for somebody, only the times at which he may come tell how much of what nobody has is not free.
            seats = ledger.seated(found.uses, found.opened)
            told = [] if ledger._later else site.check_shortage(gang, seats, finding, scale_up=scale_up)
            self._told.add((name, *_numbers(finding)))
        self.answers[type(found).__name__] = self.answers.get(type(found).__name__, 0) + 1
        for lie in told:
            self._lie(f"{name}: {finding}: {lie}")

    def _hear_of_machines(
        self, ledger: Ledger, gang: Gang, name: str, packing: Packing, before: int, finding: Finding
    ) -> None:
        """Pods that bad luck may leave out have places on machines that are added, beside all that was found for them before."""
        uses = packing.uses[before:]
        told = self._site(name, ledger).check_fit(gang, ledger.seated(uses, packing.opened), finding)
        if any(use.machine < len(ledger.nodes.machines) for use in uses):
            told.append("pods that may be left out have places on machines that are there")
        self._fits.add((name, finding))
        for lie in told:
            self._lie(f"{name}: {finding}: {lie}")

    def _site(self, name: str, ledger: Ledger) -> Site:
        shared = self._pass
        assert shared is not None
        return Site(
            shared.clusters[name], self._snapshots[name], gang_of=lambda g: shared.rosters.on(g, name),
            held=ledger.seats(), closed=ledger.closed,
        )  # fmt: skip

    def _lie(self, told: str) -> None:
        self.lies.append(told)


def _numbers(finding: Finding) -> tuple[object, ...]:
    return finding.role, finding.placed, finding.wanted, finding.short, finding.nodes, finding.tally


# the verifier can fail

NODES = ["n1 8 32Gi 4", "n2 8 32Gi", "n3 8 32Gi 4| , taints: [{key: gpu, effect: NoSchedule}]"]
TYPES = "{type: Luna, nodeTypes: [{name: big, max: 2, pricePerHour: 1.5, allocatable: {cpu: '8', memory: 64Gi, nvidia.com/gpu: '4'}}]}"
HEAD = PodShape(Resources({"cpu": 2000}))
WORKER = PodShape(Resources({"cpu": 1000, GPU: 2}))
TOLERANT = PodShape(Resources({"cpu": 1000, GPU: 2}), tolerations=(Toleration("gpu", "Exists"),))
PICKY = PodShape(Resources({"cpu": 1000}), node_selector=(("disk", "ssd"),))
FITS = Finding(code=Reason.FITS)
BIG = NewNodes("big", 1, 1.5)


def gang(workers: int, shape: PodShape = WORKER) -> Gang:
    return PodSet("head", 1, HEAD), PodSet("worker/w", workers, shape)


def site(held: Mapping[str, list[Seat]] | None = None) -> Site:
    story = Story.of(cluster("a", autoscaler=TYPES), capacity=snapshot("a", *NODES))
    seen = story.plan().view.snapshot
    return Site(seen.source.own.clusters["a"], seen.capacity["a"], held=held)


def scaled(*new: NewNodes) -> Finding:
    return Finding(code=Reason.FITS_BY_SCALE_UP, new_nodes=new)


@pytest.mark.parametrize(
    ("workers", "seats", "finding", "lie"),
    [
        (2, [Seat(HEAD, 1, "n2"), Seat(WORKER, 2, "n1")], FITS, None),
        (2, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "n1")], FITS, "not every pod has its seat"),
        (2, [Seat(HEAD, 1, "n2"), Seat(WORKER, 3, "n1")], FITS, "only"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "n2")], FITS, "only"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "n3")], FITS, "gpu:NoSchedule"),
        (1, [Seat(HEAD, 1, "n9"), Seat(WORKER, 1, "n1")], FITS, "no such node"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "0", "big")], scaled(BIG), None),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "0", "big")], FITS, "it is called Fits"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "n1")], scaled(), "it is called FitsByScaleUp"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "0", "big")], scaled(NewNodes("big", 2, 1.5)), "must be added"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "0", "big")], scaled(NewNodes("big", 1, 1.0)), "must be added"),
        (3, [Seat(HEAD, 1, "n2"), *(Seat(WORKER, 1, str(i), "big") for i in range(3))],
         scaled(NewNodes("big", 3, 1.5)), "more big than there may be"),
        (1, [Seat(HEAD, 1, "n2"), Seat(WORKER, 1, "0", "huge")], scaled(NewNodes("huge", 1)), "no such node"),
    ],
)  # fmt: skip
def test_a_fit_that_is_none_is_found_out(workers: int, seats: list[Seat], finding: Finding, lie: str | None) -> None:
    told = site().check_fit(gang(workers), seats, finding)
    assert (lie is None and told == []) or any(lie and lie in one for one in told), told


def test_what_others_were_promised_is_not_there_any_more() -> None:
    held = {"x/other": [Seat(WORKER, 1, "n1")]}
    seats = [Seat(HEAD, 1, "n2"), Seat(WORKER, 2, "n1")]
    assert site().check_fit(gang(2), seats, FITS) == []
    assert any("only" in lie for lie in site(held).check_fit(gang(2), seats, FITS))
    twice = {"x/one": [Seat(WORKER, 2, "n1")], "x/two": [Seat(WORKER, 1, "n1")]}
    assert any("only" in lie for lie in site(twice).check_promises())
    machines = {"x/one": [Seat(WORKER, 1, str(i), "big") for i in range(3)]}
    assert any("more big" in lie for lie in site(machines).check_promises())


def short(placed: int, wanted: int, gpus: int, *tally: Tally, nodes: int = 3) -> Finding:
    return Finding(
        code=Reason.INSUFFICIENT_CAPACITY, role="worker/w", placed=placed, wanted=wanted, nodes=nodes,
        short=Resources({GPU: gpus} if gpus else {}), tally=tally,
    )  # fmt: skip


NO_GPU = Tally(Reason.INSUFFICIENT_CAPACITY, GPU, 2)
TAINTED = Tally(Reason.UNTOLERATED_TAINT, "gpu:NoSchedule", 1)
TWO = [Seat(HEAD, 1, "n2"), Seat(WORKER, 2, "n1")]


@pytest.mark.parametrize(
    ("seats", "finding", "lie"),
    [
        (TWO, short(2, 4, 4, NO_GPU, TAINTED), None),
        (TWO, short(3, 4, 4, NO_GPU, TAINTED), "2 are seated, and it says 3"),
        (TWO, short(2, 4, 6, NO_GPU, TAINTED), "short of"),
        (TWO, short(2, 5, 6, NO_GPU, TAINTED), "no 5 worker/w are wanted"),
        (TWO, short(4, 4, 0, NO_GPU, TAINTED), "is no shortage"),
        (TWO, short(2, 4, 4, NO_GPU), "do not add up"),
        (TWO, short(2, 4, 4, NO_GPU, TAINTED, Tally(Reason.NODE_NOT_READY, "not ready", 1)), "do not add up"),
        (TWO, short(2, 4, 4, Tally(Reason.INSUFFICIENT_CAPACITY, GPU, 3)), "not so many nodes"),
        (TWO, short(2, 4, 4, Tally(Reason.INSUFFICIENT_CAPACITY, "cpu", 2), TAINTED), "not so many nodes"),
        (TWO, short(2, 4, 4, NO_GPU, Tally(Reason.UNTOLERATED_TAINT, "gpu=x:NoSchedule", 1)), "not so many nodes"),
        ([*TWO[:1], Seat(WORKER, 1, "n1")], short(1, 4, 4, NO_GPU, TAINTED), "takes one more: ['n1']"),
    ],
)
def test_a_shortage_that_is_none_is_found_out(seats: list[Seat], finding: Finding, lie: str | None) -> None:
    told = site().check_shortage(gang(4), seats, finding, scale_up=False)
    assert (lie is None and told == []) or any(lie and lie in one for one in told), told


def test_a_machine_that_could_still_be_added_is_found_out() -> None:
    finding = short(2, 4, 4, NO_GPU, TAINTED)
    assert "one more big would take one" in site().check_shortage(gang(4), TWO, finding, scale_up=True)
    seats = [*TWO, Seat(WORKER, 2, "0", "big"), Seat(WORKER, 1, "1", "big")]
    finding = short(5, 7, 4, NO_GPU, TAINTED)
    assert "an added big takes one more" in site().check_shortage(gang(7), seats, finding, scale_up=True)


@pytest.mark.parametrize(
    ("wanted", "scale_up", "fits"),
    [(gang(2), False, True), (gang(3), False, False), (gang(4, TOLERANT), False, True), (gang(6), True, True),
     (gang(7), True, False), (gang(1, PICKY), True, False)],
)  # fmt: skip
def test_what_a_cluster_holds_when_it_is_empty_is_known_exactly(wanted: Gang, scale_up: bool, fits: bool) -> None:
    assert site({"x/other": [Seat(WORKER, 2, "n1")]}).holds_when_empty(wanted, scale_up=scale_up) is fits


# every answer of every plan


def node(name: str) -> st.SearchStrategy[dict[str, Any]]:
    labels = st.fixed_dictionaries(
        {}, optional={"disk": st.sampled_from(("ssd", "hdd")), "gen": st.sampled_from(("3", "7", "x")),
                      "node.kubernetes.io/instance-type": st.sampled_from(("big", "other")),
                      "kubernetes.io/hostname": st.sampled_from((name, name, f"{name}.local"))},
    )  # fmt: skip
    taint = st.sampled_from(
        ({"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "value": "a", "effect": "NoExecute"},
         {"key": "soft", "effect": "PreferNoSchedule"})
    )  # fmt: skip
    return st.fixed_dictionaries(
        {
            "name": st.just(name),
            "count": st.sampled_from((1, 1, 1, 1, 2)),
            "labels": labels,
            "taints": st.lists(taint, max_size=1),
            "unschedulable": st.sampled_from((False,) * 5 + (True,)),
            "ready": st.sampled_from((True,) * 5 + (False,)),
            "allocatable": st.builds(
                lambda cpu, gpu, pods: {"cpu": str(cpu), "memory": "32Gi", **gpu, **pods},
                st.integers(0, 8),
                st.sampled_from(({}, {GPU: "0"}, {GPU: "2"}, {GPU: "4"})),
                st.sampled_from(({}, {}, {"pods": "2"}, {"pods": "0"})),
            ),
            "used": st.builds(lambda cpu: {"cpu": f"{cpu}m", "pods": "1"}, st.integers(0, 5000)),
        }
    )


NODE_TYPES = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(("big", "small")),
            "max": st.integers(0, 3),
            "allocatable": st.sampled_from(({"cpu": "8", "memory": "64Gi", GPU: "2"}, {"cpu": "2", "memory": "4Gi"})),
        },
        optional={
            "pricePerHour": st.sampled_from((1, 2.5)),
            "labels": st.just({"disk": "ssd"}),
            "taints": st.just([{"key": "gpu", "effect": "NoSchedule"}]),
            "spot": st.booleans(),
        },
    ),
    max_size=2,
    unique_by=lambda one: one["name"],
)
EXPRESSIONS = st.sampled_from(
    (
        {"key": "disk", "operator": "In", "values": ["ssd"]},
        {"key": "disk", "operator": "NotIn", "values": ["ssd"]},
        {"key": "gen", "operator": "Gt", "values": ["5"]},
        {"key": "gen", "operator": "Lt", "values": ["5"]},
        {"key": "disk", "operator": "Exists"},
        {"key": "disk", "operator": "DoesNotExist"},
        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n0", "n1.local"]},
    )
)
TEMPLATES = st.builds(
    lambda cpu, gpu, selector, terms, tolerations: {
        "spec": {
            "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m", "memory": "1Gi"}, **gpu}}
            ],
            "tolerations": tolerations,
            **({"nodeSelector": selector} if selector else {}),
            **(
                {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": terms}]}}}} if terms else {}
            ),
        }
    },
    st.sampled_from((500, 1000, 3000)),
    st.sampled_from(({}, {}, {"limits": {GPU: "1"}}, {"limits": {GPU: "2"}})),
    st.sampled_from(({}, {}, {}, {"disk": "ssd"}, {"kubernetes.io/hostname": "n0"})),
    st.one_of(st.just([]), st.just([]), st.lists(EXPRESSIONS, min_size=1, max_size=2)),
    st.sampled_from(([], [{"key": "gpu", "operator": "Exists"}], [{"operator": "Exists"}])),
)  # fmt: skip


def ray_cluster(head: dict[str, Any], workers: list[tuple[int, dict[str, Any]]]) -> dict[str, Any]:
    groups = [
        {
            "groupName": f"w{i}",
            "replicas": n,
            "minReplicas": n,
            "maxReplicas": n,
            "rayStartParams": {},
            "template": worker,
        }
        for i, (n, worker) in enumerate(workers)
    ]
    spec = {"headGroupSpec": {"rayStartParams": {}, "template": head}, "workerGroupSpecs": groups}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": spec}


def apps(kind: str, replicas: int, template: dict[str, Any]) -> dict[str, Any]:
    count = {"replicas": replicas} if kind == "Deployment" else {}
    labelled = {"metadata": {"labels": {"app": "x"}}, **template}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": labelled, **count}
    return {"apiVersion": "apps/v1", "kind": kind, "spec": spec}


WORKLOADS = st.one_of(
    st.builds(ray_cluster, TEMPLATES, st.lists(st.tuples(st.integers(1, 4), TEMPLATES), min_size=1, max_size=2)),
    st.builds(apps, st.sampled_from(("Deployment", "Deployment", "DaemonSet")), st.integers(1, 5), TEMPLATES),
)
POLICIES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(("Capacity", "Cheapest")),
        "copies": st.sampled_from((1, 1, 2, "All")),
        "admission": st.sampled_from(("Gang", "Gang", "Gang", "Immediate")),
        "scaleUp": st.sampled_from(("IfNeeded", "Never")),
    }
)


@st.composite
def fleets(draw: st.DrawFn) -> Story:
    """Some clusters with their nodes and node types, a policy, and workloads that want something of their nodes."""
    story = Story.of(policy("p", "select: {}\nplacement: " + json.dumps(draw(POLICIES))))
    for name in "abc"[: draw(st.integers(1, 3))]:
        types = draw(NODE_TYPES)
        story.source |= cluster(
            name, **({"autoscaler": json.dumps({"type": "Luna", "nodeTypes": types})} if types else {})
        )
        nodes = [draw(node(f"n{i}")) for i in range(draw(st.integers(0, 4)))]
        story.capacity |= _seen(story, name, nodes, [])
    for i, workload in enumerate(draw(st.lists(WORKLOADS, min_size=1, max_size=4))):
        story.source[f"workloads/x/w{i}.yaml"] = json.dumps({**workload, "metadata": {"name": f"w{i}"}})
    return story


def _seen(story: Story, name: str, nodes: list[dict[str, Any]], groups: list[dict[str, Any]]) -> dict[str, str]:
    body = {
        "apiVersion": "gitplacer.dev/v1alpha1", "kind": "CapacitySnapshot", "metadata": {"name": name},
        "observedAt": f"{story.now:%Y-%m-%dT%H:%M:%SZ}", "nodes": nodes, "groups": groups,
    }  # fmt: skip
    return {f"{name}.yaml": json.dumps(body)}


def report(story: Story, done: Hydration, draw: Any) -> None:
    """A while later each cluster tells of the pods of what was placed there, as far as they run."""
    story.now += timedelta(hours=1)
    for name in {d for decision in done.view.plan.decisions for d in decision.after}:
        nodes = json.loads(story.capacity[f"{name}.yaml"])["nodes"]
        names = [n["name"] for n in nodes if n["count"] == 1]
        groups = []
        for decision in done.view.plan.decisions:
            if name in decision.after and draw(st.booleans()):
                pods = [
                    {"role": pods.role, **({"node": draw(st.sampled_from(names))} if names else {}),
                     **({"requests": pods.shape.requests.rendered()} if draw(st.booleans()) else {})}
                    for pods in done.view.gang(decision)
                    for _ in range(draw(st.integers(0, min(3, pods.count))))
                ]  # fmt: skip
                groups.append({"name": decision.group, "phase": "Running", "pods": pods})
        story.capacity |= _seen(story, name, nodes, groups)


def more_work(draw: Any) -> Iterable[tuple[str, str]]:
    for i, workload in enumerate(draw(st.lists(WORKLOADS, max_size=2))):
        yield f"workloads/x/v{i}.yaml", json.dumps({**workload, "metadata": {"name": f"v{i}"}})


@settings(max_examples=1500 if THOROUGH else 60)
@given(story=fleets(), data=st.data())
def test_every_verdict_on_nodes_of_any_sort_re_checks_true(story: Story, data: st.DataObject) -> None:
    witness = Witness()
    with witness.beside():
        done = story.run()
        witness.confirm(done)
        report(story, done, data.draw)
        story.source |= dict(more_work(data.draw))
        witness.confirm(story.run())


@settings(
    max_examples=300 if THOROUGH else 15, phases=[phase for phase in Phase if THOROUGH or phase is not Phase.shrink]
)
@given(history=histories())
def test_every_verdict_of_a_random_history_re_checks_true(history: list[list[Edit]]) -> None:
    world, witness = new_world(), Witness()
    with witness.beside():
        for edits in history:
            for edit in edits:
                world.apply(edit)
            tree, foreign = Tree.of(world.deployment), dict.fromkeys(world.foreign, "")
            done = hydrate(inputs(world.source(), world.capacity(), tree, world.now, foreign=foreign))
            witness.confirm(done)
            world.publish(contents(done.tree))


# what it found


def deployment(name: str, **spec: Any) -> dict[str, str]:
    pod = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}], **spec}
    return {
        f"workloads/x/{name}.yaml": json.dumps({**apps("Deployment", 1, {"spec": pod}), "metadata": {"name": name}})
    }


@pytest.mark.parametrize(("wanted", "told"), [("n1.local", "Place a Fits"), ("n1", "Wait  NoClusterFits")])
def test_a_node_is_found_by_the_host_name_on_its_label(wanted: str, told: str) -> None:
    """It is the node's name on most clusters and not on all."""
    seen = snapshot("a", "n1 8 32Gi| , labels: {kubernetes.io/hostname: n1.local}", "n2 8 32Gi")
    picky = deployment("app", nodeSelector={"kubernetes.io/hostname": wanted})
    story = Story.of(cluster("a"), policy("p", "select: {}"), picky, capacity=seen)
    assert outcome(story.run()) == {"x/app": told}


def test_what_a_group_leaves_on_an_overfull_cluster_is_for_the_pods_that_wait_there() -> None:
    everywhere = policy("p", "select: {}\nclusters: {names: [a]}")
    tiny = policy("q", "select: {labelSelector: {matchLabels: {go: away}}}\nprecedence: 1\nclusters: {names: [b]}")
    story = Story.of(
        cluster("a"), cluster("b"), everywhere, deployment("zoo"), deployment("ant"),
        capacity={**snapshot("a", "n1 4 32Gi"), **snapshot("b", "n1 8 32Gi")},
    )  # fmt: skip
    assert outcome(story.run()) == {"x/zoo": "Place a Fits", "x/ant": "Place a Fits"}
    # zoo grows beyond the cluster, ant leaves, and three would like what ant had
    grown = json.loads(story.source["workloads/x/zoo.yaml"])
    grown["spec"]["replicas"] = 3
    leaving = json.loads(story.source["workloads/x/ant.yaml"])
    leaving["metadata"]["labels"] = {"go": "away"}
    story.source |= {"workloads/x/zoo.yaml": json.dumps(grown), "workloads/x/ant.yaml": json.dumps(leaving)}
    story.source |= tiny | deployment("three")
    told = outcome(story.run())
    assert told["x/ant"] == "Relocate b NotEligible"
    assert told["x/three"] == "Wait  NoClusterFits"


def test_pods_that_no_new_machine_takes_have_those_that_are_there() -> None:
    ssd = {"kubernetes.io/hostname": "n1"}
    head, worker = ({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]}} for _ in "ab")
    worker["spec"]["nodeSelector"] = ssd
    text = json.dumps({**ray_cluster(head, [(2, worker)]), "metadata": {"name": "app"}})
    story = Story.of(
        cluster("a", autoscaler=TYPES), policy("p", "select: {}"), {"workloads/x/app.yaml": text},
        capacity=snapshot("a", "n1 1 32Gi"),
    )  # fmt: skip
    assert outcome(story.run()) == {"x/app": "Place a FitsByScaleUp"}


def test_waiting_is_called_vain_only_where_that_is_proved() -> None:
    """Heuristics miss this packing: 3 cores on the first node, the others filled to the last."""
    sets = [(1, {"cpu": 3000}), (1, {"cpu": 1000, GPU: 2}), (3, {"cpu": 1000, GPU: 1})]
    wanted = tuple(PodSet(f"worker/w{i}", n, PodShape(Resources(asks))) for i, (n, asks) in enumerate(sets))
    seen = Story.of(
        cluster("a"), capacity=snapshot("a", "n1 3 32Gi 4", "n2 5 32Gi 2| , used: {pods: '108'}", "n3 2 32Gi 2")
    )
    snap = seen.plan().view.snapshot
    columns = Columns.of(snap.capacity.values(), (), [wanted])
    room = Ledger(snap.source.own.clusters["a"], snap.capacity["a"], columns).room()
    assert isinstance(pack(room, wanted), Shortfall)
    assert has_room(room, wanted, scale_up=False) is True
