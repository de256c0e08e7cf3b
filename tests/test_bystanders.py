"""
Who stands by while others on his cluster are planned: he is not read, and counts as if he were.

That a plan beside bystanders says what the whole says is the law of `test_inpart`, which plans each of its edits that way. Here is who stands by and who
does not, what is done where something becomes of one, and that a thousand of them cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from benchmarks.counting import counted
from gitplacer.inpart import InPart, planned_in_part
from gitplacer.inpart import planning as planning_module
from gitplacer.inpart.part import Part, _by_themselves
from gitplacer.inpart.standing import Standing
from gitplacer.model.bystander import Bystander, Holding
from gitplacer.model.decision import Action, Reason
from gitplacer.model.resources import Resources
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.bystanders import bystanders
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.source.edited import Change
from gitplacer.tree import Changes
from tests.stories import START, Story, cluster, policy, rayjob, rayservice, snapshot
from tests.test_inpart import CONFIG, PLATFORM, SHOP, AtRest, at_rest, carried_out, fleet, holds, tenant, together
from tests.test_relocation import applied_by

OTHER = "workloads/web/other.yaml"


def edit(rest: AtRest, old: str = "image: ray", new: str = "image: ray:2") -> dict[str, str]:
    assert old in rest.story.source[SHOP]
    return {SHOP: rest.story.source[SHOP].replace(old, new)}


def told(rest: AtRest, edits: dict[str, str]) -> InPart:
    """What a part tells of edits, as the whole does."""
    part, whole = rest.edited(edits)
    assert part is not None and holds(rest, part, whole)
    return part


def beside(part: InPart) -> dict[str, list[str]]:
    return {name: sorted(there) for name, there in part.part.bystanders.items() if there}


# who stands by


def nothing(story: Story) -> None: ...


def a_quota_on_each_cluster(story: Story) -> None:
    story.source |= tenant("web", 'clusterQuota: {nvidia.com/gpu: "9"}')


def a_quota_of_the_fleet(story: Story) -> None:
    story.source |= tenant("web", 'quota: {nvidia.com/gpu: "9"}')


def an_object_of_both(story: Story) -> None:
    for path in (SHOP, OTHER):
        named = "image: ray, envFrom: [{configMapRef: {name: settings}}]"
        story.source[path] = story.source[path].replace("image: ray", named)
    story.source["workloads/web/settings.yaml"] = CONFIG


def a_copy_elsewhere(story: Story) -> None:
    story.source |= policy("copied", "select: {names: [other]}\nprecedence: 9\nplacement: {copies: 2}")


def a_pod_on_every_node(story: Story) -> None:
    del story.source[OTHER]
    story.source |= policy("agents", "select: {names: [other]}\nprecedence: 9\nclusters: {names: [a]}")
    story.source[OTHER] = (
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: other, namespace: web}\nspec:\n"
        "  selector: {matchLabels: {app: other}}\n  template:\n    metadata: {labels: {app: other}}\n"
        "    spec: {containers: [{name: main, image: agent, resources: {requests: {cpu: 100m, memory: 1Gi}}}]}\n"
    )


WHO: dict[str, tuple[Callable[[Story], None], bool]] = {
    "an app": (nothing, True),
    "of a tenant with a quota": (a_quota_of_the_fleet, True),
    "of a tenant with a quota on each cluster": (a_quota_on_each_cluster, False),
    "that shares an object with the edited one": (an_object_of_both, False),
    "that stands in its file": (together(SHOP, OTHER), False),
    "with a copy on another cluster": (a_copy_elsewhere, True),
    "with a pod on every node": (a_pod_on_every_node, False),
}


@pytest.mark.parametrize(("shaped", "stands_by"), WHO.values(), ids=WHO)
def test_who_stands_by(shaped: Callable[[Story], None], stands_by: bool) -> None:
    story = fleet(nodes="n1 32 128Gi 8")
    shaped(story)
    rest = at_rest(story)
    assert {d.group for d in rest.base.decisions if "a" in d.after} == {"web/shop", "web/other"}
    assert beside(told(rest, edit(rest))) == ({"a": ["web/other"]} if stands_by else {})


def test_who_is_updated_does_not_until_that_is_done() -> None:
    """Old pods and new ones run side by side, for all that anybody knows. Who has no pods beside stands by again."""
    rest = at_rest(fleet(nodes="n1 64 256Gi 16"))
    then = carried_out(rest, {OTHER: rest.story.source[OTHER].replace("image: ray", "image: ray:2")}, in_words=True)
    assert then is not None
    assert [update.how for entry in then.made.snapshot.records["web/other"].clusters for update in entry.updates or ()]
    assert beside(told(then, edit(then))) == {}
    more = carried_out(then, edit(then, "maxReplicas: 10", "maxReplicas: 11"), in_words=True)
    assert more is not None and more.footing is not None
    assert {name: sorted(there) for name, there in more.footing.standing.on("ab").items()} == {
        "a": ["web/shop"],
        "b": ["jobs/train"],
    }


def test_who_is_held_does_not() -> None:
    """What he holds is what is deployed, and whatever holds him may go."""
    story = fleet(nodes="n1 32 128Gi 8")
    at_rest(story)
    story.source[OTHER] = story.source[OTHER].replace("spec:\n", "spec:\n  suspend: maybe\n", 1)
    rest = at_rest(story)
    assert {d.group: d.action for d in rest.base.decisions}["web/other"] is Action.HOLD
    assert beside(told(rest, edit(rest))) == {}


@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
def test_a_job_that_has_ended_does_not(phase: str) -> None:
    story = fleet(policy("job", "select: {names: [job]}\nprecedence: 9\nclusters: {names: [a]}"), nodes="n1 32 128Gi 8")
    story.source |= rayjob("web", "job", workers=0)
    at_rest(story)
    shown = f"{{name: web/job, phase: {phase}, ready: true, pods: []}}"
    more = f"applied: {{workloads: {applied_by(story, 'a')}}}\ngroups: [{shown}]\n"
    story.capacity |= snapshot("a", "n1 32 128Gi 8", at=story.now, more=more)
    rest = at_rest(story)
    there = ["web/job", "web/other"] if phase == "Running" else ["web/other"]
    assert beside(told(rest, edit(rest))) == {"a": there}


def test_what_is_seen_of_who_stands_by_is_his() -> None:
    """His pods hold what his manifests say, and what of them is not seen holds more."""
    story = fleet(rules="select: {}\nupdate: {ifNotFit: Proceed}", nodes="n1 8 64Gi 2")
    at_rest(story)
    shown = "{name: web/other, phase: Running, ready: true, pods: [{role: head, node: n1}]}"
    more = f"applied: {{workloads: {applied_by(story, 'a')}}}\ngroups: [{shown}]\n"
    for cpu in (8, 16):
        story.capacity |= snapshot("a", f"n1 {cpu} 64Gi 2", at=story.now, more=more)
        rest = at_rest(story)
        part = told(rest, edit(rest))
        assert beside(part) == {"a": ["web/other"]}
        (decision,) = (d for d in part.hydration.view.plan.decisions if d.group == "web/shop")
        assert decision.finding.update is not None


def test_who_has_an_object_in_common_with_others_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be held together, and whoever has a record of what another is made of may be there no more."""
    rest = at_rest(fleet(PLATFORM))
    both = frozenset({"web/other", "jobs/train"})
    monkeypatch.setattr("gitplacer.placement.onepass.ties", lambda snapshot: dict.fromkeys(both, both))
    view = rest.made.view
    found = bystanders(view.snapshot, view.plan.decisions, view.edits, but=())
    assert {name: list(there) for name, there in found.items()} == {"a": ["web/shop"]}


def test_whose_record_alone_knows_the_epoch_does_not() -> None:
    """Somebody has turned a sentinel back: the unit is written anew from what records say, so these are wanted."""
    rest = at_rest(fleet())
    snapshot, path = rest.made.view.snapshot, "clusters/a/workloads/gitplacer.yaml"
    turned_back = rest.made.tree.read(path).replace(b'epoch: "1"', b'epoch: "0"')
    for text, there in ((rest.made.tree.read(path), {"a", "b"}), (turned_back, {"b"})):
        tree = rest.made.tree.apply(Changes({path: text}, frozenset()))
        view = rest.made.view
        found = bystanders(replace(snapshot, deployment=tree), view.plan.decisions, view.edits, but=())
        assert found.keys() == there


def test_a_pass_counts_with_what_bystanders_ask_for_and_show() -> None:
    """A resource that only one of them asks for is counted, and what a snapshot shows of him is nobody's who has left."""
    story = fleet()
    at_rest(story)
    shown = "{name: web/other, phase: Running, ready: true, pods: [{role: head, node: n1}]}"
    more = f"applied: {{workloads: {applied_by(story, 'a')}}}\ngroups: [{shown}]\n"
    story.capacity |= snapshot("a", "n1 16 64Gi 4", at=story.now, more=more)
    seen = at_rest(story).made.view.snapshot
    gang = (PodSet("head", 1, PodShape(Resources({"example.com/fpga": 1}))),)
    one = Bystander(Holding(gang, False, True, True, False, False), START, 0, True, "", False, True)
    groups = {group_id: group for group_id, group in seen.groups.items() if group_id != "web/other"}
    shared = Pass(replace(seen, groups=groups, bystanders={"a": {"web/other": one}}), {})
    assert "example.com/fpga" in shared.books["a"].columns.names
    assert shared.settled("a", ()) is shared.books["a"]


def test_bystanders_hold_their_room_in_the_order_in_which_they_came() -> None:
    """Also where nobody else is on a cluster. Of two that came together the one of higher priority is first; who is no gang is none that has no room."""
    seen = at_rest(fleet()).made.view.snapshot
    gang = (PodSet("head", 1, PodShape(Resources({"cpu": 10_000}))),)

    def outgrown(*, priority: int, is_gang: bool = True) -> set[tuple[str, str]]:
        held = Holding(gang, False, False, True, False, False)
        there = {
            "x/a": Bystander(held, START, 0, is_gang, "", False, True),
            "x/b": Bystander(held, START, priority, is_gang, "", False, True),
        }
        shared = Pass(replace(seen, groups={}, records={}, bystanders={"a": there}), {})
        occupancy = Occupancy(shared, {}, {})
        assert occupancy.books["a"].promised_to == {"x/a", "x/b"}
        first = "x/b" if priority else "x/a"
        assert min(there, key=partial(occupancy._arrival, "a")) == first
        assert occupancy.books["a"].closed is is_gang, "pods wait there, and take what gets free"
        return occupancy.outgrown

    assert outgrown(priority=0) == {("x/b", "a")}
    assert outgrown(priority=1, is_gang=False) == set()


# where something becomes of one


def test_whoever_finds_no_room_any_more_is_planned_as_well_where_he_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who came first may have the room that his manifest asks for now. A pass that publishes it says nothing of others."""
    story = Story.of(
        policy("ml", "select: {}"), cluster("a"), rayservice("ml", "first"), rayservice("ml", "second"),
        capacity=snapshot("a", "n1 16 64Gi 2"),
    )  # fmt: skip
    rest, cuts = at_rest(story), list[bool]()
    cut = planning_module.part_of

    def noted(*given: Any, beside: bool, **more: Any) -> Part | None:
        cuts.append(beside)
        return cut(*given, beside=beside, **more)

    monkeypatch.setattr(planning_module, "part_of", noted)
    first = "workloads/ml/first.yaml"
    larger = {first: story.source[first].replace("replicas: 1", "replicas: 2")}
    part = told(rest, larger)
    assert {d.group for d in part.hydration.view.plan.decisions if d.finding.code is Reason.OUTGROWN} == {"ml/second"}
    assert cuts == [True, False]
    cuts.clear()
    then = carried_out(rest, larger, in_words=True)
    assert then is not None and then.footing is not None
    assert cuts == [True]
    assert [d.group for d in then.base.decisions if d.finding.code is Reason.OUTGROWN] == ["ml/second"]
    assert then.footing.standing.on("a")["a"].keys() == {"ml/first"}


def test_whoever_finds_no_room_on_one_of_his_clusters_stands_by_on_none() -> None:
    story = Story.of(
        policy("web", "select: {}\nclusters: {names: [a]}\nupdate: {ifNotFit: Proceed}"),
        policy("zoo", "select: {names: [zoo]}\nprecedence: 9\nplacement: {copies: 2}"),
        cluster("a"), cluster("b"), rayservice("web", "shop"), rayservice("web", "zoo"),
        capacity=snapshot("a", "n1 16 64Gi 2") | snapshot("b", "n1 16 64Gi 2"),
    )  # fmt: skip
    rest = at_rest(story)
    assert rest.footing is not None and rest.footing.standing.packed.keys() == {"a", "b"}
    then = carried_out(rest, edit(rest, "replicas: 1", "replicas: 2"), in_words=True)
    assert then is not None and then.footing is not None
    assert {d.group: d.finding.code for d in then.base.decisions}["web/zoo"] is Reason.OUTGROWN
    assert then.footing.standing.packed.keys() == {"a"}


# what they cost


def a_fleet_of(number: int) -> AtRest:
    story = Story.of(
        policy("web", "select: {}"), cluster("a"), rayservice("web", "shop", gpus=0),
        capacity=snapshot("a", f"n1 {10 * number} 4Ti 0"),
    )  # fmt: skip
    for at in range(number):
        story.source |= rayservice("web", f"app-{at:03}", gpus=0)
    return at_rest(story)


def lines_of_an_edit(number: int, *, standing: bool) -> int:
    """Begun while it is planned beside so many others, who may be `standing` by."""
    rest = a_fleet_of(number)
    inputs = replace(rest.story, source={**rest.story.source, **edit(rest)}).inputs()
    assert rest.footing is not None
    footing = rest.footing if standing else structs.replace(rest.footing, standing=Standing({}))
    change, memo = Change.between(rest.before.source, inputs.source), rest.story.memory
    found: list[int] = []

    def once() -> None:
        part = planned_in_part(inputs, change, rest.base, footing, memo=memo, ledgers=LedgerCache())
        assert part is not None
        found.append(sum(map(len, part.part.bystanders.values())))

    lines = sum(counted(once).values())
    assert set(found) == {number if standing else 0}
    return lines


def test_who_stands_by_costs_a_fraction_of_what_he_would_if_he_were_read() -> None:
    """It was a fifth of 2,980 lines when this was written, most of which take his room."""
    beside, read = (
        lines_of_an_edit(30, standing=standing) - lines_of_an_edit(10, standing=standing) for standing in (True, False)
    )
    assert 0 < beside < read / 4


def test_who_shares_a_file_with_one_who_does_is_read_as_well() -> None:
    footing = at_rest(fleet()).footing
    assert footing is not None
    shared = structs.replace(footing, files={"edited": ("1",), "b": ("1", "2"), "c": ("2", "3"), "d": ("4",)})
    assert _by_themselves({"b", "c", "d"}, {"edited", "b", "c", "d"}, shared) == {"d"}


def test_those_who_stand_by_are_kept_by_cluster() -> None:
    one = Bystander(Holding((), False, True, True, False, False), START, 3, True, "", False, True)
    standing = Standing.of({"a": {"ns/x": one}, "b": {"ns/y": one}, "c": {}})
    assert standing.packed.keys() == {"a", "b"}
    assert standing.on(["b", "c", "d"]) == {"b": {"ns/y": one}}
    other = standing.changed({"a": {}, "b": {"ns/z": one}}, ["a", "b"])
    assert other == Standing.of({"b": {"ns/z": one}}) != standing
    assert hash(other) == hash(Standing.of({"b": {"ns/z": one}}))
