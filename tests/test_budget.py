"""A policy's budget in an hour: what counts, who waits, and that what was let in stays within it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.explain import sentence
from gitplacer.explain.decisions import verdict_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Spending
from gitplacer.placement.budget import Budgets
from gitplacer.placement.onepass import Pass
from gitplacer.placement.pack import Packing
from tests.stories import Story, cluster, decisions, ending, outcome, policy, rayservice, snapshot

LABEL = "node.kubernetes.io/instance-type"


def budget(amount: float | str, more: str = "") -> dict[str, str]:
    return policy("p", f"select: {{}}\nbudgetPerHour: {amount}{more}")


def scaling(name: str, *types: str, **spec: str) -> dict[str, str]:
    """A cluster that can add machines of 8 cores: `type gpus price`."""
    listed = ", ".join(
        f"{{name: {kind}, max: 9, allocatable: {{cpu: '8', memory: 64Gi, nvidia.com/gpu: '{gpus}'}}"
        + ("}" if price == "-" else f", pricePerHour: {price}}}")
        for kind, gpus, price in map(str.split, types)
    )
    return cluster(name, autoscaler=f"{{type: ClusterAutoscaler, nodeTypes: [{listed}]}}", **spec)


def machine(name: str, sort: str, used: str = "", gpus: int = 1) -> str:
    return f"{name} 8 64Gi {gpus}|, used: {{{used}}}, labels: {{{LABEL}: {sort}}}"


def spending(done: Hydration, group: str) -> Spending:
    found = decisions(done)[group].finding.spending
    assert found is not None
    return found


def test_groups_are_placed_as_long_as_their_machines_are_within_the_budget() -> None:
    apps = [rayservice("x", name) for name in ("a", "b", "c")]
    story = Story.of(scaling("c", "gpu 1 2.5"), budget(5), *apps, capacity=snapshot("c"))
    done = story.run()
    assert outcome(done) == {
        "x/a": "Place c FitsByScaleUp", "x/b": "Place c FitsByScaleUp", "x/c": "Wait  BudgetExceeded",
    }  # fmt: skip
    assert spending(done, "x/c") == Spending(budget=5, spent=5, more=2.5)
    assert decisions(done)["x/c"].finding.subject == "c"
    assert sentence(decisions(done)["x/c"], done.view) == (
        "is not placed: needs machines for 2.50 an hour more; 5.00 of its policy's budget of 5.00 an hour are in use"
    )
    again = story.run()
    assert outcome(again) == {"x/a": "Keep c Kept", "x/b": "Keep c Kept", "x/c": "Wait  BudgetExceeded"}


def test_machines_that_came_cost_as_much_as_when_they_were_counted_on() -> None:
    story = Story.of(scaling("c", "gpu 1 2.5"), budget(5), rayservice("x", "a"), capacity=snapshot("c"))
    story.run()
    running = """\
groups:
- {name: x/a, phase: Running, pods: [{role: head, node: g1}, {role: worker/gpu, node: g1}]}
"""
    story.capacity = snapshot("c", machine("g1", "gpu"), at=story.now, more=running)
    story.source |= rayservice("x", "b") | rayservice("x", "c")
    done = story.run()
    assert outcome(done) == {"x/a": "Keep c Kept", "x/b": "Place c FitsByScaleUp", "x/c": "Wait  BudgetExceeded"}


@pytest.mark.parametrize(
    ("amount", "nodes", "types", "result"),
    [
        (0, ["n1 8 64Gi 1"], ["gpu 1 2"], "Place c Fits"),  # a node that no autoscaler can add costs nothing
        (0, [], ["gpu 1 2"], "Wait  BudgetExceeded"),
        (2, [], ["gpu 1 2"], "Place c FitsByScaleUp"),  # exactly
        (1.99, [], ["gpu 1 2"], "Wait  BudgetExceeded"),
        (0, [], ["gpu 1 0"], "Place c FitsByScaleUp"),
        (99, [], ["gpu 1 -"], "Wait  BudgetExceeded"),  # a price that nobody knows
        # a machine that an autoscaler added counts once a pod of the policy is meant to be on it
        (2, [machine("g1", "gpu")], ["gpu 1 2"], "Place c Fits"),
        (1, [machine("g1", "gpu")], ["gpu 1 2"], "Wait  BudgetExceeded"),
        # beside it a static one: that one is taken, though the other would be the tighter fit
        (1, [machine("g1", "gpu"), "n1 16 128Gi 2"], ["gpu 1 2"], "Place c Fits"),
        # a machine on which only others run costs the policy nothing
        (2, [machine("g1", "gpu", used="cpu: 8")], ["gpu 1 2"], "Place c FitsByScaleUp"),
    ],
)
def test_what_counts(amount: float, nodes: list[str], types: list[str], result: str) -> None:
    story = Story.of(scaling("c", *types), budget(amount), rayservice("x", "a"), capacity=snapshot("c", *nodes))
    assert outcome(story.run()) == {"x/a": result}


def test_what_is_dearer_than_the_budget_here_may_be_within_it_elsewhere() -> None:
    files = (scaling("a", "gpu 1 3"), scaling("b", "gpu 1 2"))
    story = Story.of(*files, budget(2.5), rayservice("x", "a"), capacity={**snapshot("a"), **snapshot("b")})
    assert outcome(story.run()) == {"x/a": "Place b FitsByScaleUp"}


def test_one_budget_is_for_all_clusters() -> None:
    files = (scaling("a", "gpu 1 2", labels="{tier: a}"), scaling("b", "gpu 1 2"))
    rule = budget(3, "\nplacement: {copies: 2}")
    story = Story.of(*files, rule, rayservice("x", "a"), capacity={**snapshot("a"), **snapshot("b")})
    done = story.run()
    assert decisions(done)["x/a"].after == ("a",)
    assert decisions(done)["x/a"].waiting_since is not None
    cheapest = budget(3, "\nplacement: {copies: 2, type: Cheapest}")
    story = Story.of(*files, cheapest, rayservice("x", "a"), capacity={**snapshot("a"), **snapshot("b")})
    assert decisions(story.run())["x/a"].after == ("a",)


def test_another_policy_has_its_own_budget() -> None:
    rules = {
        **policy("p", "select: {namespaces: [x]}\nbudgetPerHour: 1"),
        **policy("q", "select: {namespaces: [z]}\nbudgetPerHour: 2"),
    }
    apps = (rayservice("x", "a"), rayservice("z", "a"))
    story = Story.of(scaling("c", "gpu 1 2"), rules, *apps, capacity=snapshot("c"))
    assert outcome(story.run()) == {"x/a": "Wait  BudgetExceeded", "z/a": "Place c FitsByScaleUp"}


def test_a_machine_that_two_policies_share_counts_whole_for_each() -> None:
    rules = {
        **policy("p", "select: {namespaces: [x]}\nbudgetPerHour: 2"),
        **policy("q", "select: {namespaces: [z]}\nbudgetPerHour: 1.5"),
    }
    apps = (rayservice("x", "a"), rayservice("z", "small", gpus=0, workers=1))
    story = Story.of(scaling("c", "gpu 1 2"), rules, *apps, capacity=snapshot("c"))
    done = story.run()
    assert outcome(done) == {"x/a": "Place c FitsByScaleUp", "z/small": "Wait  BudgetExceeded"}
    assert spending(done, "z/small") == Spending(budget=1.5, spent=0, more=2)


def test_the_machines_that_a_node_group_always_has_cost_nothing() -> None:
    group = 'nodeGroups: [{name: gpu, min: 1, max: 3, pricePerHour: 2, allocatable: {cpu: "8", memory: 64Gi, nvidia.com/gpu: 1}}]\n'
    files = (cluster("c", autoscaler="{type: ClusterAutoscaler}"), budget(2))
    apps = [rayservice("x", name) for name in ("a", "b", "c")]
    story = Story.of(*files, *apps, capacity=snapshot("c", more=group))
    assert outcome(story.plan()) == {
        "x/a": "Place c FitsByScaleUp", "x/b": "Place c FitsByScaleUp", "x/c": "Wait  BudgetExceeded",
    }  # fmt: skip
    story.source |= budget(0)
    assert outcome(story.plan()) == {
        "x/a": "Place c FitsByScaleUp", "x/b": "Wait  BudgetExceeded", "x/c": "Wait  BudgetExceeded",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("amount", "gpus", "more", "workers", "result"),
    [
        # what the payer has already stays in: half of it and a static node do, and g2 would be paid for
        (2, 2, ["n1 64 128Gi 1"], 2, "Place c Fits"),
        (2, 2, [], 2, "Wait  BudgetExceeded"),
        # without g2 it takes a new machine, and that one is beyond the budget with the one there is
        (3, 1, [], 1, "Wait  BudgetExceeded"),
        (4, 1, [], 1, "Place c Fits"),
    ],
)
def test_what_is_tried_without_dear_machines_is_paid_for_with_those_that_the_payer_has(
    amount: int, gpus: int, more: list[str], workers: int, result: str
) -> None:
    """x/a runs on g1, whole or by half, and g2 is there for nobody."""
    types = ("gpu 1 2", "big 2 2")
    g1 = machine("g1", "gpu" if gpus == 1 else "big", gpus=gpus)
    story = Story.of(scaling("c", *types), budget(9), capacity=snapshot("c", g1))
    story.source |= rayservice("x", "a", cpu="4" if gpus == 1 else "2")
    story.run()
    running = "groups:\n- {name: x/a, phase: Running, pods: [{role: head, node: g1}, {role: worker/gpu, node: g1}]}\n"
    story.capacity = snapshot("c", g1, machine("g2", "gpu"), *more, at=story.now, more=running)
    story.source |= budget(amount) | rayservice("x", "b", workers=workers)
    assert outcome(story.run()) == {"x/a": "Keep c Kept", "x/b": result}


def test_a_group_that_has_to_leave_takes_its_money_along() -> None:
    files = (scaling("a", "gpu 1 2"), scaling("b", "gpu 1 2.5"))
    capacity = {**snapshot("a"), **snapshot("b")}
    for amount, result in ((2.5, "Relocate b ClusterDraining"), (2, "Hold a NowhereToGo")):
        story = Story.of(*files, budget(amount), rayservice("x", "a"), capacity=capacity)
        story.run()
        story.source |= scaling("a", "gpu 1 2", state="Draining")
        assert outcome(story.run()) == {"x/a": result}


def test_what_runs_stays_when_the_budget_is_cut() -> None:
    story = Story.of(scaling("c", "gpu 1 2"), budget(2), rayservice("x", "a"), capacity=snapshot("c"))
    story.run()
    story.source |= budget(1)
    assert outcome(story.run()) == {"x/a": "Keep c Kept"}


def test_a_cluster_beyond_the_budget_is_told_with_the_place_of_the_policy() -> None:
    done = Story.of(scaling("c", "gpu 1 2"), budget(1), rayservice("x", "a"), capacity=snapshot("c")).run()
    (candidate,) = decisions(done)["x/a"].candidates
    assert (candidate.verdict, candidate.finding.code) == ("Rejected", "BudgetExceeded")


PRICES = st.sampled_from((0.1, 0.2, 0.3, 0.7, 1.1, 2.5))


@given(
    amount=st.sampled_from((0.3, 1.0, 2.2, 5.0)),
    prices=st.tuples(PRICES, PRICES),
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_what_was_placed_never_costs_more_than_the_budget(
    amount: float, prices: tuple[float, float], sizes: list[int]
) -> None:
    files = [scaling(name, f"one 1 {price}", f"two 2 {price * 1.5}") for name, price in zip("ab", prices, strict=True)]
    apps = [rayservice("x", f"app{i}", workers=size) for i, size in enumerate(sizes)]
    story = Story.of(*files, budget(amount), *apps, capacity={**snapshot("a"), **snapshot("b")})
    done = story.run()
    spent = sum(decision.cost_per_hour or 0 for decision in done.view.plan.decisions)
    assert round(spent, 6) <= amount
    assert [d.after for d in story.run().view.plan.decisions] == [d.after for d in done.view.plan.decisions]


def paying(amount: str) -> dict[str, str]:
    """A Tenant with a budget."""
    spec = f'paths: ["workloads/red/**"]\nnamespaces: [red]\nbudgetPerHour: "{amount}"'
    return {"tenants/red.yaml": policy("red", spec)["policies/red.yaml"].replace("PlacementPolicy", "Tenant")}


def deployment(namespace: str, name: str, cpu: str = "2") -> dict[str, str]:
    """One pod."""
    pod = f"{{containers: [{{name: main, image: x, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}"
    return {
        f"workloads/{namespace}/{name}.yaml": (
            f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n"
            f"  selector: {{matchLabels: {{a: b}}}}\n  template: {{metadata: {{labels: {{a: b}}}}, spec: {pod}}}\n"
        )
    }


def test_a_tenant_pays_for_its_groups_whatever_policy_governs_them() -> None:
    dear = policy("q", "select: {names: [c]}\nprecedence: 9")
    apps = [rayservice("red", name) for name in ("a", "b", "c")]
    story = Story.of(
        scaling("c", "gpu 1 2.5"), policy("p", "select: {}"), dear, paying("5"), *apps, capacity=snapshot("c")
    )
    done = story.run()
    assert outcome(done) == {
        "red/a": "Place c FitsByScaleUp", "red/b": "Place c FitsByScaleUp", "red/c": "Wait  BudgetExceeded",
    }  # fmt: skip
    assert spending(done, "red/c") == Spending(budget=5, spent=5, more=2.5, tenant="red")
    (candidate,) = decisions(done)["red/c"].candidates
    assert verdict_text(candidate, decisions(done)["red/c"], done.view) == (
        "needs machines for 2.50 an hour more; 5.00 of tenant red's budget of 5.00 an hour are in use (tenants/red.yaml:1)"
    )
    assert story.run().steps == ()


@pytest.mark.parametrize(
    "spec", ["placement: {admission: Immediate}", "placement: {type: Divide, admission: Immediate}"]
)
def test_a_tenants_budget_bounds_what_is_placed_whatever_the_room(spec: str) -> None:
    """Its pods may wait, and machines that come for all of them would have to be paid for."""
    app = deployment if "Divide" in spec else partial(rayservice, gpus=1)
    p = policy("p", f"select: {{}}\n{spec}")
    for amount, reason in (("1", "Wait  BudgetExceeded"), ("9", "Place c FitsByScaleUp")):
        story = Story.of(scaling("c", "gpu 1 2.5"), p, paying(amount), app("red", "a"), capacity=snapshot("c"))
        assert outcome(story.run())["red/a"] == reason
    # No machine would do for it, so none comes, and nothing is paid.
    story = Story.of(scaling("c", "gpu 1 2.5"), p, paying("1"), app("red", "a", cpu="99"), capacity=snapshot("c"))
    assert outcome(story.run())["red/a"].startswith("Place c ")


@pytest.mark.parametrize(("of_policy", "of_tenant", "payer"), [("2", "9", ""), ("9", "2", "red")])
def test_both_the_policy_and_the_tenant_have_to_pay(of_policy: str, of_tenant: str, payer: str) -> None:
    red = f'paths: ["workloads/**"]\nnamespaces: [red]\nbudgetPerHour: "{of_tenant}"'
    tenant = policy("red", red)["policies/red.yaml"].replace("PlacementPolicy", "Tenant")
    files = (scaling("c", "gpu 1 2.5"), budget(of_policy), {"tenants/red.yaml": tenant}, rayservice("red", "a"))
    done = Story.of(*files, capacity=snapshot("c")).run()
    assert outcome(done) == {"red/a": "Wait  BudgetExceeded"}
    assert spending(done, "red/a").tenant == payer


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("cd"), st.booleans()), max_size=12))
def test_what_is_spent_is_added_up_as_if_all_clusters_were_looked_at_each_time(
    moves: list[tuple[int, str, bool]],
) -> None:
    apps = [rayservice("x" if number % 2 else "y", f"a-{number}") for number in range(6)]
    clusters = {**scaling("c", "gpu 1 2.5", "big 2 4"), **scaling("d", "gpu 1 0.1")}
    story = Story.of(clusters, budget(5), *apps, capacity={**snapshot("c", machine("n1", "gpu")), **snapshot("d")})
    shared = Pass(story.plan().snapshot, {})
    books, ids = shared.books.copy(), sorted(shared.groups)
    kept = Budgets(books, lambda group_id: group_id[0])
    for number, name, comes in moves:
        group_id = ids[number]
        packing = books.fit(shared.gang_on(group_id, name), name, scale_up=True)
        if comes and group_id not in books[name].promised_to and isinstance(packing, Packing):
            books.reserve(group_id, name, packing)
        elif not comes:
            books.release(group_id, name)
        for payer in "xy":
            assert kept.spent(payer) == Budgets(books, lambda group_id: group_id[0]).spent(payer)


# waiting for long, and what others leave


TWO = {**policy("p", "select: {namespaces: [x]}\nbudgetPerHour: 3"), **policy("q", "select: {namespaces: [z]}")}
"""A budget for namespace x, and none for z."""


def few(name: str, most: int = 4, price: str = "1.25") -> dict[str, str]:
    """A cluster that can add a few machines with a GPU."""
    return {path: text.replace("max: 9", f"max: {most}") for path, text in scaling(name, f"gpu 1 {price}").items()}


def an_hour_later(story: Story, *, waits: dict[str, str], comes: dict[str, str]) -> Hydration:
    """What is decided when those who wait have done so for an hour, and others come."""
    story.run()
    story.source |= waits
    story.run()
    story.now += timedelta(hours=1)
    story.look_again()
    story.source |= comes
    return story.run()


def test_no_room_is_kept_for_who_waits_for_a_budget_alone() -> None:
    story = Story.of(few("c"), TWO, capacity=snapshot("c"))
    done = an_hour_later(story, waits=rayservice("x", "big", workers=3), comes=rayservice("z", "late", workers=1))
    assert outcome(done) == {"x/big": "Wait  BudgetExceeded", "z/late": "Place c FitsByScaleUp"}
    assert spending(done, "x/big").spent == 0
    story.source |= rayservice("z", "later", workers=2)
    assert outcome(story.run())["z/later"] == "Place c FitsByScaleUp"


def test_no_room_is_kept_where_others_end_and_the_budget_is_too_small_even_then() -> None:
    story = Story.of(few("c"), TWO, ending("z", "runs", 2), capacity=snapshot("c"))
    done = an_hour_later(story, waits=rayservice("x", "big", workers=3), comes=rayservice("z", "late", workers=2))
    assert outcome(done) == {"x/big": "Wait  NoClusterFits", "z/late": "Place c FitsByScaleUp", "z/runs": "Keep c Kept"}


@pytest.mark.parametrize(
    ("runs", "big", "late"),
    [
        (ending("x", "runs", 1), "Wait  RoomReserved", "Wait  NoClusterFits"),  # it gives back what it costs
        (rayservice("x", "runs", workers=1), "Wait  NoClusterFits", "Place c FitsByScaleUp"),
    ],
)
def test_room_is_kept_for_who_can_pay_once_those_have_ended_who_end(runs: dict[str, str], big: str, late: str) -> None:
    """The whole budget would pay for all of cluster c, where others run a job; a group of the same policy is on d."""
    dear = few("c", price="0.75"), few("d", most=1, price="0.75")
    story = Story.of(*dear, TWO, runs, capacity={**snapshot("c"), **snapshot("d")})
    story.source |= policy(
        "p", "select: {namespaces: [x]}\nbudgetPerHour: 3\nplacement: {type: Ordered, order: [{names: [d]}, {}]}"
    )
    story.source |= policy("q", "select: {namespaces: [z]}\nplacement: {type: Ordered, order: [{names: [c]}]}")
    story.run()
    story.source |= ending("z", "busy", 3)
    done = an_hour_later(story, waits=rayservice("x", "big", workers=4), comes=rayservice("z", "late", workers=1))
    assert outcome(done) == {"x/big": big, "x/runs": "Keep d Kept", "z/busy": "Keep c Kept", "z/late": late}


def test_room_that_was_kept_is_free_again_when_the_budget_is_cut() -> None:
    story = Story.of(few("c", price="0.75"), TWO, ending("z", "runs", 3), capacity=snapshot("c"))
    kept = an_hour_later(story, waits=rayservice("x", "big", workers=4), comes=rayservice("z", "late", workers=1))
    assert outcome(kept) == {"x/big": "Wait  RoomReserved", "z/late": "Wait  NoClusterFits", "z/runs": "Keep c Kept"}
    story.source |= policy("p", "select: {namespaces: [x]}\nbudgetPerHour: 2")
    assert outcome(story.run())["z/late"] == "Place c FitsByScaleUp"


def test_nobody_is_sent_away_for_who_waits_for_a_budget_alone() -> None:
    rules = {
        **policy("p", "select: {namespaces: [x]}\nbudgetPerHour: 3\npriority: 9\npreempts: LowerPriority"),
        **policy("q", "select: {namespaces: [z]}\npreemptible: true"),
    }
    story = Story.of(few("c"), rules, rayservice("z", "runs", workers=3), capacity=snapshot("c"))
    story.run()
    story.source |= rayservice("x", "big", workers=3)
    assert outcome(story.run()) == {"x/big": "Wait  NoClusterFits", "z/runs": "Keep c Kept"}
    story.source |= rayservice("x", "big", workers=2)
    assert outcome(story.run()) == {"x/big": "Wait  WaitsForPreempted", "z/runs": "Preempt  PreemptedBy"}
