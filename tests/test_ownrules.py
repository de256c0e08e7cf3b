"""
Pods with rules about none but pods like themselves: a proof that they find room holds before an adversary who may do anything that the filters allow.

He takes the pods in any order and puts each on any node that passes every filter of the scheduler. Whom the proof lets in, and whoever was let in
before, he cannot leave without a node; he goes through every state there is.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.kinds.capacity import CapacitySnapshot
from gitplacer.model.labels import Requirement
from gitplacer.model.podrules import EACH_REPLICA, HostPort, PodTerm, Selector, SpreadConstraint
from gitplacer.model.resources import Resources
from gitplacer.model.workload import Gang, PodSet, PodShape, Roster
from gitplacer.placement.asseen import as_seen
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.nodes import Columns, Nodes
from gitplacer.placement.pack import Packing
from gitplacer.placement.stage import Stage
from gitplacer.scheduler.board import Board, Bound
from gitplacer.scheduler.gangs import expanded
from gitplacer.scheduler.objects import HOSTNAME, Pod
from gitplacer.scheduler.site import Site
from tests.stories import ANYWHERE as EVERYWHERE
from tests.stories import Story, outcome
from tests.stories import cluster as cluster_of
from tests.stories import snapshot as snapshot_of
from tests.test_survey import cluster, snapshot

ZONE = "topology.kubernetes.io/zone"


def about(app: str) -> Selector:
    return Selector((Requirement("app", "In", (app,)),))


def keep_apart(app: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {"pod_anti_affinity": (PodTerm(key, about(app), own_namespace=True),)}


def keep_together(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"pod_affinity": (PodTerm(key, about(app), own_namespace=True),)}


def spread(app: str, skew: int = 1, **more: Any) -> dict[str, Any]:
    return {"spread": (SpreadConstraint(ZONE, skew, about(app), **more),)}


def pods(app: str, count: int, cpu: int = 1, role: str = "worker/w", **rules: Any) -> PodSet:
    shape = PodShape(Resources({"cpu": cpu}), **rules)
    return PodSet(role, count, shape, namespace="web", labels=(("app", app),))


def nodes(*zones: tuple[str, int], **more: Any) -> list[dict[str, Any]]:
    """A node for each zone and cpu."""
    return [
        {"name": f"n{i}", "labels": {ZONE: zone} if zone else {}, "allocatable": {"cpu": f"{cpu}m"}, **more}
        for i, (zone, cpu) in enumerate(zones)
    ]


def opened(seen: CapacitySnapshot, gangs: list[Gang]) -> Ledger:
    return Ledger(cluster("c"), seen, Columns.of([seen], [], gangs))


def stranded(seen: CapacitySnapshot, gangs: dict[str, Gang]) -> set[str]:
    """The groups of which the adversary can leave a pod without a node."""
    every: list[Pod] = []
    owner: list[str] = []
    for name, gang in gangs.items():
        for i, each in enumerate(gang):
            every += expanded(each, lambda k, n=name, i=i: f"{n}-{i}-{k}", "")  # type: ignore[misc]
            owner += [name] * each.count
    columns = Columns.of([seen], [], gangs.values())
    site = Site(as_seen(Nodes(cluster("c"), seen, columns, None), seen, lambda _: ()))
    board = Board(site, every)
    groups = [
        {name for name, k in zip(owner, board.class_of, strict=True) if k == each} for each in range(len(board.classes))
    ]
    found: set[str] = set()
    met: set[tuple[bytes, tuple[int, ...]]] = set()

    def go(state: Bound, left: tuple[int, ...]) -> None:
        key = state.load.tobytes(), left
        if key in met:
            return
        met.add(key)
        for k, count in enumerate(left):
            if not count:
                continue
            able = state.allows(k).nonzero()[0].tolist()
            if not able:
                found.update(groups[k])
            for node in able:
                before = int(state.load[node])
                state.bind(k, node)
                go(state, (*left[:k], count - 1, *left[k + 1 :]))
                state.unbind(k, node, before)

    go(board.bound(), tuple(board.counts))
    return found


RULES = (
    "none",
    "none",
    "apart",
    "port",
    "together",
    "spread",
    "spread 2",
    "spread apart",
    "about others",
    "zone apart",
)


@st.composite
def gangs(draw: st.DrawFn, name: str) -> Gang:
    sets = []
    for i in range(draw(st.integers(1, 2))):
        app = draw(st.sampled_from((f"{name}{i}", f"{name}{i}", f"{name}{i}", name, "shared")))
        rule = draw(st.sampled_from(RULES))
        rules: dict[str, Any] = {
            "apart": keep_apart(app), "port": {"ports": (HostPort(draw(st.sampled_from((80, 81)))),)}, "together": keep_together(app),
            "spread": spread(app), "spread 2": spread(app, 2), "spread apart": {**spread(app), **keep_apart(app)},
            "about others": keep_apart(draw(st.sampled_from(("a0", "b0", "shared", "old")))), "zone apart": keep_apart(app, ZONE),
        }.get(rule, {})  # fmt: skip
        tied = {"node_selector": (("size", "big"),)} if draw(st.integers(0, 4)) == 0 else {}
        each = pods(app, draw(st.integers(1, 3)), draw(st.integers(1, 3)), f"worker/{i}", **rules, **tied)
        bare = rule == "none" and draw(st.booleans())  # nobody looks at them
        sets.append(replace(each, namespace="", labels=()) if bare else each)
    return tuple(sets)


@st.composite
def clusters(draw: st.DrawFn) -> CapacitySnapshot:
    found = nodes(
        *draw(st.lists(st.tuples(st.sampled_from(("a", "a", "b", "c", "")), st.integers(1, 9)), min_size=1, max_size=4))
    )
    for node in found:
        if draw(st.booleans()):
            node["labels"] = {**node["labels"], "size": "big"}
        if draw(st.integers(0, 5)) == 0:
            labels = {"app": draw(st.sampled_from(("a0", "shared", "old")))}
            term = {
                "topologyKey": HOSTNAME,
                "labelSelector": {"matchLabels": {"app": draw(st.sampled_from(("b0", "old")))}},
            }
            node["pods"] = [
                {"namespace": "web", "labels": labels, **({"antiAffinity": [term]} if draw(st.booleans()) else {})}
            ]
    return snapshot("c", found)


@settings(max_examples=400)
@given(seen=clusters(), first=gangs("a"), second=gangs("b"), third=gangs("c"))
def test_an_adversary_cannot_leave_out_whom_the_proof_lets_in(
    seen: CapacitySnapshot, first: Gang, second: Gang, third: Gang
) -> None:
    named = {"a": first, "b": second, "c": third}
    assume(sum(each.count for gang in named.values() for each in gang) <= 8)
    ledger, sure = opened(seen, list(named.values())), dict[str, Gang]()
    for name, gang in named.items():
        if ledger.proves(gang):
            ledger.reserve(name, Packing(()), gang, sure=True)
            sure[name] = gang
    event(f"proved: {len(sure)}, with rules: {sum(Roster.of(gang).may_mind for gang in sure.values())}")
    assert not stranded(seen, sure)


FOUR = nodes(("a", 3), ("a", 3), ("b", 3), ("b", 3))
BESIDE = [*FOUR[:3], {**FOUR[3], "pods": [{"namespace": "web", "labels": {"app": "x"}}]}]
KEPT_OFF = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "x"}}}]
REPELLED = [*FOUR[:3], {**FOUR[3], "pods": [{"namespace": "web", "labels": {"app": "z"}, "antiAffinity": KEPT_OFF}]}]
ANYWHERE = Selector(())


@pytest.mark.parametrize(
    ("there", "count", "rules", "proved"),
    [
        pytest.param(FOUR, 4, keep_apart("x"), True, id="one on each node"),
        pytest.param(FOUR, 5, keep_apart("x"), False, id="more than there are nodes"),
        pytest.param(FOUR, 4, {"ports": (HostPort(80),)}, True, id="a port of each node"),
        pytest.param(FOUR, 12, spread("x"), True, id="as many in each zone"),
        pytest.param(FOUR, 12, spread("x", 3), False, id="more in one zone than it has room for"),
        pytest.param(FOUR, 9, spread("x", 3), True, id="more in one zone"),
        pytest.param([*FOUR, *nodes(("c", 1))], 5, spread("x"), False, id="a zone that soon is full"),
        pytest.param([*FOUR, *nodes(("c", 1))], 3, spread("x"), True, id="one in each zone"),
        pytest.param([*FOUR, *nodes(("", 9))], 12, spread("x"), True, id="a node that is in no zone"),
        pytest.param(FOUR, 4, spread("x", min_domains=3), False, id="fewer zones than it wants"),
        pytest.param(FOUR, 4, {**spread("x"), **keep_apart("x")}, True, id="in each zone, each on a node of its own"),
        pytest.param(FOUR, 6, keep_together("x"), True, id="all in one zone"),
        pytest.param(FOUR, 7, keep_together("x"), False, id="too many for a zone"),
        pytest.param([*FOUR, *nodes(("c", 5))], 6, keep_together("x"), False, id="a zone that is too small may take the first"),
        pytest.param(nodes(("", 9)), 2, keep_together("x"), False, id="no zone"),
        pytest.param(FOUR, 2, keep_apart("y"), False, id="a rule about others"),
        pytest.param(FOUR, 2, keep_together("y"), False, id="near others"),
        pytest.param(FOUR, 2, keep_apart("x", ZONE), False, id="one in each zone at most"),
        pytest.param(FOUR, 2, keep_together("x", HOSTNAME), False, id="all on one node"),
        pytest.param(FOUR, 2, {**spread("x"), **keep_together("x")}, False, id="two rules about zones"),
        pytest.param(FOUR, 2, {"pod_anti_affinity": (PodTerm(HOSTNAME, about("x"), (), ANYWHERE),)}, False, id="in namespaces that are chosen"),
        pytest.param(BESIDE, 2, keep_apart("x"), False, id="some run already"),
        pytest.param(BESIDE, 2, spread("x"), False, id="some of those that are spread run already"),
        pytest.param(REPELLED, 2, spread("x"), False, id="what runs keeps them off"),
        pytest.param(REPELLED, 2, keep_apart("x"), False, id="what runs keeps them off, and they each other"),
    ],
)  # fmt: skip
def test_which_rules_there_is_a_proof_for(
    there: list[dict[str, Any]], count: int, rules: dict[str, Any], proved: bool
) -> None:
    seen, gang = (
        snapshot("c", [{**node, "name": f"n{i}"} for i, node in enumerate(there)]),
        (pods("x", count, **rules),),
    )
    assert opened(seen, [gang]).proves(gang) is proved
    if proved:
        assert not stranded(seen, {"x": gang})


def test_labels_that_each_pod_has_for_itself_are_not_counted_on() -> None:
    gang = (replace(pods("x", 2, **keep_apart("x")), labels=(("app", "x"), ("index", EACH_REPLICA))),)
    assert not opened(snapshot("c", FOUR), [gang]).proves(gang)


def test_a_rule_about_others_of_the_gang_is_one_about_others() -> None:
    """The head does not mind whom it is near, but each worker keeps off its node too."""
    gang = (pods("x", 1, role="head"), pods("x", 2, **keep_apart("x")))
    assert not opened(snapshot("c", FOUR), [gang]).proves(gang)


def test_gangs_of_one_shape_are_not_taken_for_pods_that_keep_apart() -> None:
    """What `matchLabelKeys` stands for tells two gangs apart whose pods say the same: those of both may share a node."""
    term = PodTerm(HOSTNAME, Selector((Requirement("app", "Exists", ()),)), own_namespace=True, match_keys=("app",))
    one, other = ((pods(app, 2, pod_anti_affinity=(term,)),) for app in "xy")
    ledger = opened(snapshot("c", FOUR), [one, other])
    assert ledger.proves(one)
    ledger.reserve("one", Packing(()), one, sure=True)
    assert not ledger.proves(other)


def test_nodes_of_one_hostname_are_one_to_pods_that_keep_apart() -> None:
    there = [{**node, "labels": {**node["labels"], HOSTNAME: "same"}} for node in FOUR]
    gang = (pods("x", 2, **keep_apart("x")),)
    assert not opened(snapshot("c", there), [gang]).proves(gang)


def test_who_comes_later_leaves_each_zone_the_room_that_was_promised_there() -> None:
    """There are six places in each zone; three of four pods that are spread may be in one only where all six are free for two."""
    spread_out, many, few = (pods("x", 4, **spread("x")),), (pods("y", 9),), (pods("y", 4),)
    ledger = opened(snapshot("c", FOUR), [spread_out, many, few])
    ledger.reserve("x", Packing(()), spread_out, sure=True)
    assert not ledger.proves(many)
    assert ledger.proves(few)
    bare = tuple(replace(each, namespace="", labels=()) for each in few)
    assert ledger.proves(bare)


def test_whose_rules_meet_there_is_no_proof_for_until_one_is_gone() -> None:
    ledger = opened(snapshot("c", FOUR), [])
    one, about_one = (
        (pods("x", 1, **keep_apart("x")),),
        (pods("y", 1, role="worker/y"), pods("y", 1, **keep_apart("x"))),
    )
    third = (pods("z", 1, **keep_apart("z")),)
    ledger.reserve("one", Packing(()), one, sure=True)
    assert ledger.proves(third)
    ledger.reserve("about one", Packing(()), about_one, sure=True)
    assert not ledger.proves(third)
    ledger.release("about one")
    assert ledger.proves(third)
    twin = ledger.copy()
    twin.reserve("alike", Packing(()), (pods("w", 2, **keep_apart("x")),), sure=True)
    assert not twin.proves(third)
    assert ledger.proves(third)


def test_large_gangs_whose_pods_keep_apart_are_placed() -> None:
    """They are too many to be tried in every order beside each other."""
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: 700\n  selector: {matchLabels: {app: x}}\n"
        "  template:\n    metadata: {labels: {app: x}}\n    spec:\n      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution:\n"
        "        [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: x}}}]}}\n"
        "      containers: [{name: c, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]\n"
    )
    story = Story.of(
        cluster_of("a"),
        EVERYWHERE,
        {"workloads/x/x.yaml": text},
        capacity=snapshot_of("a", *(f"n{i} 4 32Gi" for i in range(701))),
    )
    assert outcome(story.run()) == {"x/x": "Place a Fits"}


def test_who_is_there_is_laid_out_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many gangs ask a full cluster in vain; only what is reserved or released makes it another cluster."""
    laid_out = 0

    def counting(stage: Stage, *asked: Any) -> Site:
        nonlocal laid_out
        laid_out += 1
        return beside(stage, *asked)

    beside = Stage.beside
    monkeypatch.setattr(Stage, "beside", counting)
    first, *others = [(pods(f"app-{i}", 2, **keep_apart(f"app-{i}")),) for i in range(6)]
    ledger = opened(snapshot("c", nodes(("a", 2), ("b", 1))), [first, *others])
    packing = ledger.fit(first, scale_up=False)
    assert isinstance(packing, Packing)
    ledger.reserve("first", packing, first)
    for other in others:
        assert not isinstance(ledger.fit(other, scale_up=False), Packing)
    assert laid_out == 2, "as it was opened, and with who was promised room"
    ledger.release("first")
    assert isinstance(ledger.fit(others[0], scale_up=False), Packing)
