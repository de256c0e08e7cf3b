"""
A plan beside all who stay says what the plan of the whole says, where apps are written or edited, or clusters are given another state.

The law is held over random fleets at rest: same decisions, commits, proposals, problems, numbers, and the same comment on a pull request. Stories have who is
read for it and who is not, what counts of those who are not, and what is planned whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from msgspec import structs

from benchmarks.counting import counted
from gitplacer.grouping import Group
from gitplacer.hydrate import Hydration, hydrate
from gitplacer.inpart import beside as beside_module
from gitplacer.inpart import planned_beside
from gitplacer.inpart.standing import Standing
from gitplacer.model.decision import Action, Finding, Reason
from gitplacer.model.signers import Flaw, Uncounted
from gitplacer.model.verdicts import NONE, OF_WAITING
from gitplacer.model.workload import Gang
from gitplacer.placement.ledger import Ledger
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.rounds import Round
from gitplacer.remedies import few
from gitplacer.source.edited import Change
from gitplacer.telemetry.figures import figures, headroom
from gitplacer.tree import differing_paths
from tests.stories import FLEET, Story, cluster, policy, rayjob, rayservice, snapshot
from tests.test_inpart import CONFIG, EDITS, PLATFORM, AtRest, comment, running, settled, tenant
from tests.test_inpart import at_rest as found_at_rest
from tests.test_order import aged, job, reported
from tests.test_relocation import approval

STATES = ["Active", "Cordoned", "Draining", "Lost"]


def both(rest: AtRest, edits: Mapping[str, str], *, read: bool = False) -> tuple[Hydration | None, Hydration]:
    """The plan of edits beside all who stay, and that of the whole; `read`: by a person, who is told more."""
    inputs = replace(rest.story, source={**rest.story.source, **edits}).inputs()
    memo, asked = rest.story.memory, OF_WAITING if read else NONE
    whole = hydrate(inputs, memo=memo, with_candidates=asked)
    if rest.footing is None:
        return None, whole
    change = Change.between(rest.before.source, inputs.source)
    beside = planned_beside(
        inputs, change, rest.base, rest.footing, memo=memo, ledgers=LedgerCache(), with_candidates=asked
    )
    return beside, whole


def holds(rest: AtRest, beside: Hydration, whole: Hydration, *, read: bool = False) -> bool:
    """
    The law. Whether also why groups wait is told in the same words: who waits for room and is not asked again tells why he did before. Who stands by may be known
    to have outgrown his cluster, which a pass that nobody reads does not ask.
    """
    kept, outgrown = Finding(code=Reason.KEPT), Finding(code=Reason.OUTGROWN)
    told = beside.view.plan.decisions
    if not read:
        told = tuple(structs.replace(d, finding=kept) if d.finding == outgrown else d for d in told)
    differ = {ours.group for ours, theirs in zip(told, whole.view.plan.decisions, strict=True) if ours != theirs}
    if differ:
        assert not read
        waits_on(rest, beside, whole, differ)
        return False
    assert beside.steps == whole.steps
    assert beside.proposals == whole.proposals
    assert beside.problems == whole.problems == beside.view.snapshot.problems
    assert not differing_paths(beside.tree, whole.tree) and not differing_paths(beside.view.tree, whole.tree)
    assert beside.view.changed_files == whole.view.changed_files
    assert figures(beside) == figures(whole)
    assert headroom(beside) == headroom(whole)
    for redact in (False, True) if read else ():
        assert comment(beside.view, rest.base, redact=redact) == comment(whole.view, rest.base, redact=redact)
    return True


def waits_on(rest: AtRest, beside: Hydration, whole: Hydration, differ: set[str]) -> None:
    """Of some groups which wait why they do is told otherwise, and nothing else; and the pass behind either tells the same."""
    ours, theirs = ({d.group: d for d in made.view.plan.decisions} for made in (beside, whole))
    for group in differ:
        assert theirs[group].action is Action.WAIT and theirs[group].claim is None
        assert (
            structs.replace(ours[group], finding=theirs[group].finding, candidates=theirs[group].candidates)
            == theirs[group]
        )
    assert not differing_paths(beside.tree, whole.tree)
    assert [step.changes for step in beside.steps if step.relocation] == [
        step.changes for step in whole.steps if step.relocation
    ]
    assert beside.proposals == whole.proposals
    assert beside.problems == whole.problems
    source = whole.snapshot.source.tree
    behind, behind_whole = (
        hydrate(
            structs.replace(rest.before, source=source, deployment=made.tree),
            memo=rest.story.memory,
            with_candidates=NONE,
        )
        for made in (beside, whole)
    )
    assert behind.view.plan.decisions == behind_whole.view.plan.decisions
    assert not differing_paths(behind.tree, behind_whole.tree)


def told(rest: AtRest, edits: Mapping[str, str]) -> Hydration:
    """What is planned beside all who stay, which is as the whole would be."""
    beside, whole = both(rest, edits)
    assert beside is not None
    assert holds(rest, beside, whole)
    return beside


# the law

RULES = [
    "select: {}",
    "select: {}\nplacement: {admission: Immediate}",
    "select: {}\nplacement: {copies: 2}",
    "select: {}\nplacement: {copies: All}",
    "select: {}\nplacement: {accept: TightFit}",
    "select: {}\nrelocation: {when: {ClusterLost: Never}}",
    "select: {}\nrelocation: {when: {ClusterLost: Manual, ClusterDraining: Manual}}",
    "select: {}\nrelocation: {runningJobs: Restart}",
    "select: {}\nrelocation: {strategy: Surge}",
    "select: {}\nrelocation: {runningJobs: Restart, strategy: RemoveFirst}",
]
GUARDS = ["{}", "{}", "{evacuations: {max: 1, per: 1h, exceed: Throttle}}", "{evacuations: {max: 2, exceed: Hold}}"]


def drawn(lot: Random) -> Story:
    """A fleet with several apps on each cluster, some of which wait."""
    story = Story.of(policy("p0", lot.choice(RULES)), PLATFORM if lot.random() < 0.3 else {})
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("{}", f"{{guards: {lot.choice(GUARDS)}}}")
    for number in range(lot.randint(0, 2)):
        rules = lot.choice(RULES).replace("{}", f"{{namespaces: [ns-{number}]}}", 1)
        story.source |= policy(f"p{number + 1}", f"{rules}\nprecedence: {number + 7}")
    for number in range(lot.randint(2, 6)):
        name = f"c{number}"
        story.source |= cluster(name, **({"state": lot.choice(STATES)} if lot.random() < 0.3 else {}))
        nodes = [f"n{i} {lot.choice([8, 16, 40])} 64Gi {lot.choice([1, 2, 4])}" for i in range(lot.randint(1, 3))]
        story.capacity |= snapshot(name, *nodes)
    if lot.random() < 0.6:
        story.source |= tenant("ns-0", f'quota: {{nvidia.com/gpu: "{lot.randint(2, 9)}"}}')
        story.source |= tenant("ns-1", f'quota: {{nvidia.com/gpu: "{lot.randint(2, 9)}", cpu: "40"}}')
        story.source |= tenant("ns-2", f'clusterQuota: {{nvidia.com/gpu: "{lot.randint(1, 6)}"}}')
    for number in range(lot.randint(3, 12)):
        make, cpu = lot.choice([rayjob, rayservice]), lot.choice(["1", "3", "7"])
        story.source |= make(f"ns-{lot.randrange(3)}", f"app-{number}", cpu=cpu, workers=lot.randint(0, 4))
    return story


def at_rest(seed: int, lot: Random) -> AtRest | None:
    """A fleet that has come to rest; of every second its clusters tell what they run, in every third somebody may have waited long."""
    rest = settled(drawn(lot))
    if rest is not None and seed % 2:
        rest = settled(running(rest, lot))
    if rest is not None and seed % 3 == 2:
        rest.story.now += timedelta(hours=2)
        rest.story.look_again()
        rest = settled(rest.story)
    return rest


def restated(rest: AtRest, lot: Random) -> dict[str, str]:
    """One or two of its clusters in other states: mostly such as have something, and lose it."""
    there = sorted({name for decision in rest.base.decisions for name in decision.after})
    names = there if there and lot.random() < 0.8 else sorted(rest.base.states)
    edits = {}
    for name in lot.sample(names, min(len(names), lot.choice([1, 1, 2]))):
        state = lot.choice([state for state in ["Lost", "Lost", *STATES] if state != rest.base.states[name]])
        edits |= cluster(name, state=state)
    return edits


def written(rest: AtRest, lot: Random) -> dict[str, str]:
    """An app that is new, or edited, in a namespace where mostly there are others; sometimes with what it refers to, or what selects it."""
    space, name = f"ns-{lot.randrange(4)}", lot.choice(["new", "app-0", "app-1", "app-2"])
    path, text = lot.choice([path for path in rest.story.source.items() if path[0].startswith("workloads/")])
    match lot.choice(["new", "new", "new", "edited", "edited", "needs", "selects", "needed", "looks", "agent"]):
        case "edited":
            return {path: lot.choice(EDITS)(text, lot)}
        case "needs":
            edits = rayservice(space, name, workers=lot.randint(0, 2))
            return {path: text.replace("image: ray", NEEDS) for path, text in edits.items()}
        case "needed":
            return {f"workloads/{space}/settings.yaml": CONFIG.replace("web", space)}
        case "selects":
            return {f"workloads/{space}/selects.yaml": SERVICE.format(space)}
        case "looks":
            edits = rayservice(space, name, workers=lot.randint(0, 2))
            return {path: re.sub(r"containers:", f"{LOOKS}, containers:", text) for path, text in edits.items()}
        case "agent":
            return {f"workloads/{space}/agent.yaml": AGENT.format(space)}
    make, cpu = lot.choice([rayjob, rayservice]), lot.choice(["1", "3", "7"])
    return make(space, name, cpu=cpu, workers=lot.randint(0, 4))


NEEDS = "image: ray, envFrom: [{configMapRef: {name: settings}}]"
LOOKS = (
    "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
    "[{topologyKey: kubernetes.io/hostname, labelSelector: {}}]}}"
)
SERVICE = (
    "apiVersion: v1\nkind: Service\nmetadata: {{name: selects, namespace: {}}}\n"
    "spec: {{selector: {{ray.io/is-ray-node: 'yes'}}, ports: [{{port: 80}}]}}\n"
)
AGENT = (
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: agent, namespace: {}}}\nspec:\n"
    "  selector: {{matchLabels: {{app: agent}}}}\n  template:\n    metadata: {{labels: {{app: agent}}}}\n"
    "    spec: {{containers: [{{name: main, image: agent, resources: {{requests: {{cpu: 100m, memory: 1Gi}}}}}}]}}\n"
)


@pytest.mark.parametrize("seeds", [range(18), pytest.param(range(18, 36), marks=pytest.mark.slow)])
def test_a_plan_beside_all_who_stay_tells_what_the_whole_does(seeds: range) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        lot = Random(seed)
        rest = at_rest(seed, lot)
        for number in range(4 if rest is not None else 0):
            assert rest is not None
            edits, read = restated(rest, lot) if number < 2 else {}, bool(number % 2)
            if not edits or lot.random() < 0.2:
                edits |= written(rest, lot)
            beside, whole = both(rest, edits, read=read)
            if beside is None:
                counts["whole"] += 1
                continue
            counts["in other words"] += not holds(rest, beside, whole, read=read)
            counts["beside"] += 1
            counts["read"] += read
            counts["new"] += bool(edits.keys() - rest.story.source.keys())
            counts["something happens"] += bool(whole.steps)
            counts["beside others"] += any(beside.snapshot.bystanders.values())
            counts["where somebody has waited long"] += seed % 3 == 2
            counts.update(f"{d.action}" for d in whole.view.plan.decisions)
            counts["several leave"] += sum(d.action is Action.RELOCATE for d in whole.view.plan.decisions) > 1
    assert counts["beside"] >= 50, counts
    assert counts["beside others"] >= 25, counts
    assert counts["whole"] <= counts["beside"] / 5, counts
    assert counts["new"] >= 20 and counts["read"] >= 20, counts
    assert counts["where somebody has waited long"] >= 12, counts
    assert counts["something happens"] >= 22 and counts["several leave"] >= 1, counts
    assert min(counts[action] for action in ("Relocate", "Place", "Wait", "Hold")) >= 6, counts
    assert counts["Update"] >= 1, counts


# who is read, and who is not


def groups(beside: Hydration) -> tuple[set[str], set[str]]:
    """Those that were read, and those that stood by."""
    there = beside.snapshot.bystanders.values()
    return set(beside.snapshot.groups), {group for some in there for group in some}


def three(*more: Mapping[str, str], **states: str) -> Story:
    """Three clusters with two GPUs each and an app on each of the first two, which likes it best; clusters have `states`."""
    story = Story.of(
        policy("any", "select: {}"),
        policy("p-a", "select: {names: [on-a]}\nprecedence: 5\nplacement: {type: Ordered, order: [{names: [a]}, {}]}"),
        policy("p-b", "select: {names: [on-b]}\nprecedence: 5\nplacement: {type: Ordered, order: [{names: [b]}, {}]}"),
        rayservice("ml", "on-a", workers=2), rayservice("web", "on-b", workers=2),
    )  # fmt: skip
    for name in "abc":
        story.source |= cluster(name, **({"state": states[name]} if name in states else {}))
        story.capacity |= snapshot(name, "n1 16 64Gi 2")
    for some in more:
        story.source |= some
    return story


def where(beside: Hydration) -> dict[str, tuple[str, ...]]:
    return {decision.group: decision.after for decision in beside.view.plan.decisions}


def test_who_leaves_and_who_waits_is_read_and_everybody_else_stands_by() -> None:
    rest = found_at_rest(three(rayservice("zoo", "huge", workers=9)))
    beside = told(rest, cluster("a", state="Lost"))
    assert groups(beside) == ({"ml/on-a", "zoo/huge"}, {"web/on-b"})
    assert where(beside) == {"ml/on-a": ("c",), "web/on-b": ("b",), "zoo/huge": ()}


def test_where_an_app_is_new_those_of_its_namespace_are_read_and_who_waits() -> None:
    story = three(rayservice("zoo", "huge", workers=9), rayservice("web", "small", workers=0, gpus=0))
    new = rayservice("web", "new", workers=2)
    beside = told(found_at_rest(story), new)
    assert groups(beside) == ({"web/on-b", "web/small", "web/new", "zoo/huge"}, {"ml/on-a"})
    assert where(beside)["web/new"] == ("c",)
    assert [step.subject for step in beside.steps] == ["Place web/new, let wait zoo/huge"]


def asked(rest: AtRest, edits: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, *, read: bool = False) -> set[str]:
    """The groups that look for room in a plan beside all who stay."""
    sought: set[str] = set()
    seek = Round._seek

    def seen(self: Round, group: Group, *more: Any) -> Any:
        sought.add(group.id)
        return seek(self, group, *more)

    with monkeypatch.context() as patched:
        patched.setattr(Round, "_seek", seen)
        inputs = replace(rest.story, source={**rest.story.source, **edits}).inputs()
        change = Change.between(rest.before.source, inputs.source)
        assert rest.footing is not None
        beside = planned_beside(
            inputs, change, rest.base, rest.footing, memo=rest.story.memory, ledgers=LedgerCache(),
            with_candidates=OF_WAITING if read else NONE,
        )  # fmt: skip
    assert beside is not None
    return sought


SMALL = rayservice("own", "small", workers=0, gpus=0)


@pytest.mark.parametrize(
    ("edits", "read", "again"),
    [
        (cluster("a", state="Lost"), False, False),
        (cluster("a", state="Draining") | cluster("b", state="Cordoned"), False, False),
        # he may be told another reason
        (cluster("a", state="Lost"), True, True),
        # somebody may find room
        (cluster("c", state="Active"), False, True),
        (cluster("a", state="Lost") | cluster("c", state="Active"), False, True),
        (rayservice("ml", "on-a", workers=1), False, True),
        # where the new one goes may depend on what others were refused before it
        (SMALL, False, True),
        (cluster("a", state="Lost") | SMALL, False, True),
    ],
)
def test_who_waits_for_room_is_asked_again_where_that_may_matter(
    edits: Mapping[str, str], read: bool, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = found_at_rest(three(rayservice("zoo", "huge", workers=9), c="Cordoned"))
    assert ("zoo/huge" in asked(rest, edits, monkeypatch, read=read)) is again


@pytest.mark.parametrize(
    ("workers", "lost", "again"),
    [
        (1, "c", {"jobs/big"}),  # three of the four are left once the jobs have ended, which is what it needs
        (2, "c", {"jobs/big", "zoo/huge"}),
        (1, "a", {"jobs/big", "zoo/huge"}),
    ],
    ids=["is kept still", "is taken by who leaves", "is lost"],
)
def test_where_room_is_kept_for_somebody_he_is_asked_whether_it_is_still_and_if_not_all_who_wait(
    workers: int, lost: str, again: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    story = aged()
    story.source |= cluster("c", state="Active") | rayservice("zoo", "huge", workers=9)
    story.source |= policy(
        "first", "select: {names: [moves]}\nprecedence: 5\nplacement: {type: Ordered, order: [{names: [c]}, {}]}"
    )
    story.source |= rayservice("web", "moves", workers=workers)
    story.capacity |= snapshot("c", f"n1 64 256Gi {workers}", at=story.now)
    rest = found_at_rest(story)
    edits = cluster(lost, state="Lost")
    claims = {d.group: d.claim.cluster for d in rest.base.decisions if d.claim is not None}
    assert (claims, where(rest.made)["web/moves"]) == ({"jobs/big": "a"}, ("c",))
    sought = asked(rest, edits, monkeypatch)
    assert sought & {"jobs/big", "zoo/huge"} == again
    beside, whole = both(rest, edits)
    assert beside is not None
    assert holds(rest, beside, whole)


def test_where_somebody_waits_for_a_quota_all_are_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What his tenant has may become less, and where he goes then may depend on others."""
    more = tenant("zoo", 'quota: {nvidia.com/gpu: "1"}') | rayservice("zoo", "more", workers=2)
    others = {
        name: text for owner in ("ml", "web", "own") for name, text in tenant(owner, "priority: {max: 9}").items()
    }
    story = three(more, others, rayservice("own", "huge", workers=9), c="Cordoned")
    story.capacity |= snapshot("b", "n1 64 256Gi 8")
    assert asked(found_at_rest(story), LOST, monkeypatch) == {"zoo/more", "own/huge"}


@pytest.mark.parametrize("more", ["", "\nclusters: {names: [b]}"], ids=["all are there", "one waits"])
def test_where_copies_may_be_sought_all_are_asked_again(more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two = policy("two", f"select: {{names: [two]}}\nprecedence: 6\nplacement: {{copies: 2}}{more}")
    rest = found_at_rest(three(two, rayservice("web", "two", workers=0, gpus=0), rayservice("zoo", "huge", workers=9)))
    assert "zoo/huge" in asked(rest, LOST, monkeypatch)


def test_why_somebody_waits_is_told_anew_by_the_next_pass() -> None:
    """Of no cluster that is in service he was told that it does not fit. Now there is none."""
    rest = found_at_rest(three(rayservice("zoo", "huge", workers=9), c="Cordoned"))
    beside, whole = both(rest, cluster("a", state="Lost") | cluster("b", state="Lost"))
    assert beside is not None
    reasons = [{d.group: d.finding.code for d in made.view.plan.decisions}["zoo/huge"] for made in (beside, whole)]
    assert reasons == [Reason.NO_CLUSTER_FITS, Reason.NO_ELIGIBLE_CLUSTER]
    assert not holds(rest, beside, whole), "which tells that the pass behind it says the same"


@pytest.mark.parametrize("edits", [cluster("a", state="Lost"), SMALL, rayservice("web", "small", workers=0, gpus=0)])
def test_who_stays_sits_where_he_sat(edits: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is packed where he was when the fleet came to rest, whether he is read or stands by, also on a cluster that is lost."""
    rest = found_at_rest(three())
    packed: set[tuple[int, int]] = set()
    fit = Ledger._fit

    def noted(self: Ledger, gang: Gang, scale_up: bool) -> Any:
        packed.add((id(self.nodes), sum(pods.count for pods in gang)))
        return fit(self, gang, scale_up)

    monkeypatch.setattr(Ledger, "_fit", noted)
    beside = planned(rest, edits)
    assert beside is not None
    (new,) = (d.group for d in beside.view.plan.decisions if d.before != d.after)
    ((_, number),) = packed  # on one cluster alone
    assert number == sum(pods.count for pods in beside.snapshot.groups[new].gang)


def test_where_somebody_sat_is_nothing_to_the_next_plan() -> None:
    """Which of its process shares the ledgers: as much is free on the node, but it takes him no more."""
    story = three(c="Cordoned")
    rest, ledgers = found_at_rest(story), LedgerCache()
    inputs = replace(story, source={**story.source, **LOST}).inputs()
    change = Change.between(rest.before.source, inputs.source)
    assert rest.footing is not None
    assert planned_beside(inputs, change, rest.base, rest.footing, memo=story.memory, ledgers=ledgers)
    story.capacity |= snapshot("b", "n1 16 64Gi 2|, taints: [{key: spared, effect: NoSchedule}]")
    story.source |= rayservice("zoo", "new", workers=2)
    assert hydrate(story.inputs(), memo=story.memory, ledgers=ledgers).view.plan.outgrown == {"web/on-b"}


def test_who_found_no_room_as_he_came_has_no_seat() -> None:
    """The largest go first where room is tight. If the last had a seat for the pods that found room as they came, the new one would find some."""
    story = Story.of(policy("any", "select: {}"), cluster("a"))
    story.capacity |= snapshot("a", "n1 5 64Gi 1", "n2 5 64Gi 0", "n3 64 256Gi 4")
    story.source |= rayservice("ml", "first", cpu="2", workers=0, gpus=0) | rayservice(
        "ml", "next", cpu="4", workers=0, gpus=0
    )
    ((path, last),) = rayservice("web", "last", cpu="2").items()
    story.source[path] = last.replace('cpu: "2"', 'cpu: "1"', 1)
    story.run()
    story.capacity |= snapshot("a", "n1 5 64Gi 1", "n2 5 64Gi 0")
    rest = found_at_rest(story)
    assert not rest.made.view.plan.outgrown
    assert where(told(rest, rayservice("own", "new", cpu="2", workers=0, gpus=0)))["own/new"] == ()


def test_as_many_remedies_are_tried_as_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial is a plan of the whole."""
    monkeypatch.setattr(few, "_WORK", 12)
    beside, whole = both(found_at_rest(three()), rayservice("zoo", "huge", workers=9), read=True)
    assert beside is not None and len(beside.snapshot.groups) < len(whole.snapshot.groups)
    assert few.few_trials(beside) == few.few_trials(whole) == 1


def test_what_is_wrong_with_a_new_app_is_told() -> None:
    rest = found_at_rest(three())
    (path, text), *_ = rayservice("zoo", "new").items()
    beside = told(rest, {path: text.replace("image: ray", "image: ray, envFrom: [{configMapRef: {name: none}}]")})
    assert {p.code for p in beside.problems if p.location.file == path} == {"MissingReference"}


def test_text_that_is_edited_is_written() -> None:
    path = "workloads/ml/on-a.yaml"
    beside = told(found_at_rest(three()), {path: f"{three().source[path]}# more\n"})
    assert [step.subject for step in beside.steps] == ["Update ml/on-a"]


def test_an_edit_goes_beyond_a_quota_of_which_others_have_something_who_stand_by() -> None:
    both = tenant("all", 'quota: {nvidia.com/gpu: "4"}')["tenants/all.yaml"]
    both = both.replace("workloads/all", "workloads").replace("namespaces: [all]", 'namespaces: ["*"]')
    story = three({"tenants/all.yaml": both})
    story.capacity |= snapshot("a", "n1 64 256Gi 8")
    edits = rayservice("ml", "on-a", workers=3) | rayservice("ml", "new", workers=0, gpus=0)
    beside = told(found_at_rest(story), edits)
    assert groups(beside)[1] == {"web/on-b"}
    assert {d.group: d.finding.code for d in beside.view.plan.decisions}["ml/on-a"] is Reason.TENANT_QUOTA


def test_where_who_stands_by_finds_no_room_any_more_a_reader_is_told_by_the_whole() -> None:
    """Who came first may have what his manifest asks for now. A pass that nobody reads says nothing of others."""
    story = Story.of(policy("any", "select: {}"), cluster("a"), capacity=snapshot("a", "n1 16 64Gi 2"))
    for space in ("ml", "web"):
        story.source |= rayservice(space, "app", workers=1)
        story.run()
    rest, edits = found_at_rest(story), rayservice("ml", "app", workers=2)
    beside, whole = both(rest, edits, read=True)
    assert beside is None
    assert {d.group: d.finding.code for d in whole.view.plan.decisions}["web/app"] is Reason.OUTGROWN
    assert groups(told(rest, edits)) == ({"ml/app"}, {"web/app"})


def test_a_move_that_waits_for_consent_is_proposed_beside_all_who_stay() -> None:
    manual = policy("p-a", "select: {names: [on-a]}\nprecedence: 5\nrelocation: {when: {ClusterDraining: Manual}}")
    beside = told(found_at_rest(three(manual)), cluster("a", state="Draining"))
    assert groups(beside) == ({"ml/on-a"}, {"web/on-b"})
    assert [step.relocation.after for step in beside.proposals if step.relocation is not None] == [("c",)]


def test_a_quota_counts_who_stands_by() -> None:
    """Two apps wait for a cluster that opens. One is of a tenant who has as much as he may have already."""
    story = three(
        tenant("web", 'quota: {nvidia.com/gpu: "2"}'), tenant("ml", "priority: {max: 100}"),
        rayservice("ml", "more", workers=1, cpu="14"), rayservice("web", "more", workers=1, cpu="14"), b="Active", c="Cordoned",
    )  # fmt: skip
    story.capacity |= snapshot("c", "n1 64 256Gi 8")
    beside = told(found_at_rest(story), cluster("c", state="Active"))
    assert groups(beside)[1] == {"ml/on-a", "web/on-b"}
    assert (where(beside)["ml/more"], where(beside)["web/more"]) == (("c",), ())


def test_whose_turn_it_is_follows_from_what_they_have_who_stand_by() -> None:
    """Two apps wait for a cluster that has room for one. The first by name is of a tenant who has an app already."""
    owners = (
        tenant("ml", "priority: {max: 100}")
        | tenant("web", "priority: {max: 100}")
        | tenant("zoo", "priority: {max: 9}")
    )
    story = three(
        owners,
        rayservice("ml", "next", workers=2, cpu="7"),
        rayservice("zoo", "next", workers=2, cpu="7"),
        c="Cordoned",
    )
    story.capacity |= snapshot("c", "n1 24 64Gi 2")
    beside = told(found_at_rest(story), cluster("c", state="Active"))
    assert groups(beside)[1] == {"ml/on-a", "web/on-b"}
    assert (where(beside)["ml/next"], where(beside)["zoo/next"]) == ((), ("c",))


def test_room_of_a_job_that_stands_by_is_kept_for_who_has_waited_long() -> None:
    """What is free on a is the big one's, once the jobs have ended, so that nobody else takes it."""
    story = aged()
    (path, text), *_ = ((path, text) for path, text in story.capacity.items() if path == "a.yaml")
    pods = ", pods: [{role: head, node: n1}, {role: worker/gpu, node: n1}]}"
    story.capacity[path] = text.replace("phase: Running}", f"phase: Running{pods}")
    order = "select: {names: [small]}\nprecedence: 5\nplacement: {type: Ordered, order: [{names: [a]}, {}]}"
    story.source |= cluster("c", state="Cordoned") | rayservice("web", "small", workers=2) | policy("order", order)
    story.capacity |= snapshot("c", "n1 64 256Gi 2", at=story.now)
    beside = told(found_at_rest(story), cluster("c", state="Active"))
    assert groups(beside)[1] == {"jobs/job-0", "jobs/job-1"}
    assert where(beside)["web/small"] == ("c",)


def test_a_job_that_came_later_is_not_waited_for() -> None:
    """The big one waits for the old one. Who came since took what neither needs, and of that nothing is left."""
    room = "n1 64 256Gi 6"
    story = Story.of(cluster("a"), cluster("c"), policy("any", "select: {}"), capacity=snapshot("a", room))
    for apps in (rayservice("web", "stays", workers=1) | job("old", 2), job("big", 4)):
        story.source |= apps
        story.run()
    story.now += timedelta(hours=1)
    for apps in ({}, job("young", 1), job("late", 1)):
        story.source |= apps
        reported(story, {"jobs/old": "Running"}, room)
        story.run()
    beside = told(found_at_rest(story), cluster("c", state="Cordoned"))
    assert groups(beside)[1] == {"web/stays", "jobs/old", "jobs/young"}
    assert where(beside)["jobs/late"] == ()


def test_who_is_to_be_everywhere_does_not_stand_by() -> None:
    story = three(policy("all", "select: {names: [agent]}\nprecedence: 7\nplacement: {copies: All}"), c="Cordoned")
    story.source |= rayservice("zoo", "agent", workers=0, gpus=0)
    beside = told(found_at_rest(story), cluster("c", state="Active"))
    assert groups(beside) == ({"zoo/agent"}, {"ml/on-a", "web/on-b"})
    assert where(beside)["zoo/agent"] == ("a", "b", "c")


def test_who_has_left_a_cluster_does_not_stand_by_while_that_is_remembered() -> None:
    """What a cluster had when it was lost may run there still, so it takes nothing new when it is back."""
    story = three(c="Cordoned")
    story.capacity |= snapshot("b", "n1 32 64Gi 4")
    assert where(told(found_at_rest(story), LOST))["ml/on-a"] == ("b",)
    story.source |= LOST | rayservice("zoo", "waits", workers=2)
    beside = told(found_at_rest(story), cluster("a") | cluster("c"))
    assert groups(beside) == ({"ml/on-a", "zoo/waits"}, {"web/on-b"})
    assert where(beside)["zoo/waits"] == ("c",)


# what is planned whole

LOST = cluster("a", state="Lost")
A = "clusters/a.yaml"
TELLS = FLEET.replace("{}", "{decisions: {into: c}}")
MIXED = {
    "clusters/c.yaml": cluster("c")["clusters/c.yaml"]
    + "---\n"
    + policy("q", "select: {names: [q]}")["policies/q.yaml"]
}
CAPI = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: a, namespace: ml}\nspec: {state: ok}\n"
FOREIGN = {"platform/capi.yaml": CAPI}
LOOKING = re.sub("containers:", f"{LOOKS}, containers:", rayservice("zoo", "new")["workloads/zoo/new.yaml"])
NAMELESS = {"clusters/d.yaml": "kind: Cluster\nspec: {state: Lost}\n"}
NAMELESS_TOO = {"clusters/d.yaml": "kind: Cluster\nmetadata: {name: [d]}\nspec: {state: Lost}\n"}
MADE_TO = {
    "policies/o.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n  select: {names: [new]}\n"
    "  overrides: [{path: /spec/rayClusterConfig/headGroupSpec/template/spec/affinity, op: add, value: "
    f"{LOOKS.removeprefix('affinity: ')}}}]\n"
}
STACKS = {
    **policy("stacks", "select: {namespaces: [zoo]}\nprecedence: 9\ngroupBy: {label: stack}"),
    **rayservice("zoo", "one", workers=0, labels="{stack: one}"),
    **rayservice("zoo", "two", workers=0, labels="{stack: two}"),
}
PREEMPTS = policy("urgent", "select: {names: [urgent]}\nprecedence: 9\npreempts: LowerPriority\npriority: 5")
WHOLE: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "where somebody may send others away": (PREEMPTS, LOST),
    "where somebody has consented to something": (approval("ml/on-a", "Move"), LOST),
    "beside another field": ({}, cluster("a", state="Lost", region="r")),
    "beside another label": ({}, cluster("a", state="Lost", labels="{tier: gold}")),
    "where nothing is said of a state": ({}, {A: f"# a\n{cluster('a')[A]}"}),
    "where other tools are told who is where": ({"fleet.yaml": TELLS}, LOST),
    "where a file of others holds more than a cluster": (MIXED, LOST),
    "where a cluster of another kind is edited": (FOREIGN, {"platform/capi.yaml": CAPI.replace("ok", "bad")}),
    "beside an app whose pods look at others": ({}, LOST | {"workloads/zoo/new.yaml": LOOKING}),
    "beside an app whose pods are made to look at others": (MADE_TO, LOST | rayservice("zoo", "new")),
    "beside a policy": ({}, LOST | policy("more", "select: {names: [more]}\nprecedence: 9")),
    "beside what the platform has": (PLATFORM, {"platform/classes.yaml": PLATFORM["platform/classes.yaml"] + "# more\n"}),
    "beside an object of no namespace": ({}, {"workloads/ml/class.yaml": PLATFORM["platform/classes.yaml"]}),
    "where a cluster has no name": (NAMELESS, {"clusters/d.yaml": NAMELESS["clusters/d.yaml"].replace("Lost", "Active")}),
    "where a cluster's name is none": (NAMELESS_TOO, {"clusters/d.yaml": NAMELESS_TOO["clusters/d.yaml"].replace("Lost", "Active")}),
    "beside a file that is passed over": ({}, LOST | {"workloads/zoo/new.YAML": "{}"}),
    "beside what keeps a folder from being read": ({}, LOST | {"workloads/web/Kustomization": "{}"}),
    "beside the same, which is read": ({}, LOST | {"workloads/web/kustomization.yaml": "{}"}),
    "beside a file for another tool": ({}, LOST | {"workloads/web/app.jsonnet": "{}"}),
    "of two groups that become one": (STACKS, rayservice("zoo", "two", workers=0, labels="{stack: one}")),
    "of a cluster that is there twice": ({}, {A: f"{LOST[A]}---\n{LOST[A]}"}),
    "where something else stands in the file": ({A: cluster("a")[A] + "---\n" + policy("q", "select: {names: [q]}")["policies/q.yaml"]},
        {A: LOST[A] + "---\n" + policy("q", "select: {names: [q]}")["policies/q.yaml"]}),
}  # fmt: skip


FOUND_OUT = {
    "of a cluster that is there twice",
    "of two groups that become one",
    "beside an app whose pods are made to look at others",
}


@pytest.mark.parametrize("case", WHOLE)
def test_what_may_concern_others_is_planned_whole(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of most it is known before anything is planned."""
    shaped, edits = WHOLE[case]
    rest = found_at_rest(three(shaped))
    assert rest.footing is not None
    if case not in FOUND_OUT:
        monkeypatch.setattr(beside_module, "hydrate", None)
    assert planned(rest, edits) is None


@pytest.mark.parametrize("text", [LOST[A].replace("Lost", "Gone"), LOST[A].replace("Lost", "["), ""])
def test_a_cluster_that_cannot_be_read_is_told_of_by_the_whole(text: str) -> None:
    assert planned(found_at_rest(three()), {A: text}) is None


def test_where_a_file_of_somebody_who_stays_would_be_another_the_whole_tells() -> None:
    """Whatever else is known: what tells other tools where he is would be taken back."""
    rest = found_at_rest(three({"fleet.yaml": TELLS}))
    assert rest.footing is not None
    rest.footing = structs.replace(rest.footing, by_room=True)
    assert planned(rest, LOST) is None


def test_of_what_only_a_record_is_left_the_whole_tells() -> None:
    story = three()
    found_at_rest(story)
    story.source["workloads/web/on-b.yaml"] = "kind: ["
    assert planned(found_at_rest(story), LOST) is None


def test_where_an_app_is_gone_the_whole_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its file, and of one of several in a file. How many may go depends on how many there are."""
    path, two = "workloads/ml/on-a.yaml", three()
    two.source[path] += "---\n" + rayservice("ml", "more", workers=0)["workloads/ml/more.yaml"]
    rest = found_at_rest(two)
    monkeypatch.setattr(beside_module, "hydrate", None)
    assert planned(rest, {path: three().source[path]}) is None
    assert planned(rest, {path: two.source[path].replace("name: more", "name: other")}) is None
    assert planned(rest, {}, gone=path) is None


def test_of_a_commit_that_does_not_count_the_whole_tells() -> None:
    uncounted = Uncounted(commit="a" * 40, author="somebody", flaw=next(iter(Flaw)))
    assert planned(found_at_rest(three()), LOST, uncounted=uncounted) is None


def planned(
    rest: AtRest, edits: Mapping[str, str], *, uncounted: Uncounted | None = None, gone: str = ""
) -> Hydration | None:
    source = {path: text for path, text in {**rest.story.source, **edits}.items() if path != gone}
    inputs = replace(rest.story, source=source).inputs()
    change = Change.between(rest.before.source, inputs.source)
    assert rest.footing is not None
    asked = structs.replace(inputs, uncounted=uncounted)
    return planned_beside(asked, change, rest.base, rest.footing, memo=rest.story.memory, ledgers=LedgerCache())


# what they cost


def lines_of_a_loss(number: int, *, standing: bool) -> int:
    """Begun while a cluster is lost with one app, and so many are on another, who may be `standing` by."""
    story = three()
    story.capacity |= snapshot("b", f"n1 {16 + 10 * number} 4Ti 2")
    for at in range(number):
        story.source |= rayservice("web", f"app-{at:03}", gpus=0)
    story.source |= policy("app", "select: {namespaces: [web]}\nprecedence: 3\nclusters: {names: [b]}")
    rest = found_at_rest(story)
    assert rest.footing is not None
    rest.footing = rest.footing if standing else structs.replace(rest.footing, standing=Standing({}))
    found: list[Hydration] = []

    def once() -> None:
        beside = planned(rest, LOST)
        assert beside is not None
        found.append(beside)

    lines = sum(counted(once).values())
    assert {len(groups(beside)[1]) for beside in found} == {number + 1 if standing else 0}
    return lines


def test_who_stands_by_costs_a_fraction_of_what_he_would_if_he_were_read() -> None:
    by, read = (
        lines_of_a_loss(30, standing=standing) - lines_of_a_loss(10, standing=standing) for standing in (True, False)
    )
    assert 0 < by < read / 3, (by, read)
