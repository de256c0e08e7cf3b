"""The life of copies that are spread over regions: files in, commits out."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.explain.remedies import with_line
from gitplacer.formats.group import explain_group
from gitplacer.hydrate import Hydration
from gitplacer.remedies import remedy
from tests.stories import Story, cluster, outcome, policy, rayjob, rayservice, snapshot

REGION = "topology.kubernetes.io/region"
ROOM = "n1 8 32Gi 1"


def spread(copies: int, *rules: str, more: str = "") -> dict[str, str]:
    """A policy with copies that are spread over regions."""
    inside = ", ".join(f"{{topologyKey: {REGION}, {rule}}}" for rule in rules)
    return policy("spread", f"select: {{}}\nplacement: {{copies: {copies}, topologySpread: [{inside}]}}\n{more}")


def fleet(**regions: str) -> dict[str, str]:
    """Clusters by name, with their regions; `-` for none."""
    found: dict[str, str] = {}
    for name, region in regions.items():
        found |= cluster(name, **({} if region == "-" else {"region": region}))
    return found


def rooms(names: str) -> dict[str, str]:
    """Snapshots of clusters, each with room for one copy."""
    found: dict[str, str] = {}
    for name in names:
        found |= snapshot(name, ROOM)
    return found


def said(done: Hydration) -> str:
    return explain_group(done.view, "shop/app")


def verdicts(done: Hydration) -> dict[str, str]:
    decision = next(d for d in done.view.plan.decisions if d.group == "shop/app")
    return {c.cluster: f"{c.verdict} {c.finding.code}" for c in decision.candidates}


def where(done: Hydration) -> tuple[str, ...]:
    return next(d.after for d in done.view.plan.decisions if d.group == "shop/app")


APP = rayservice("shop", "app")


def test_two_copies_go_to_two_regions_though_the_best_two_clusters_are_in_one() -> None:
    story = Story.of(spread(2, "minDomains: 2"), fleet(a="us", b="us", c="eu"), APP, capacity=rooms("abc"))
    done = story.run()
    assert where(done) == ("a", "c")
    assert verdicts(done) == {"a": "Chosen Fits", "b": "Rejected CopiesSpread", "c": "Chosen Fits"}
    assert f"was passed over to spread the copies; copies by {REGION}: eu 1, us 1" in said(done)
    assert where(story.run()) == ("a", "c")


def test_it_waits_whole_until_there_are_enough_regions_with_room_and_says_which() -> None:
    story = Story.of(spread(2, "minDomains: 2"), fleet(a="us", b="us", c="eu", d="-"), APP, capacity=rooms("abd"))
    story.capacity |= snapshot("c", "n1 1 1Gi")
    done = story.run()
    assert outcome(done)["shop/app"].split()[0] == "Wait"
    assert verdicts(done)["a"] == verdicts(done)["b"] == "Rejected CopiesSpread"
    assert verdicts(done)["d"] == "Rejected NoDomain"
    assert f"its copies need 2 domains of {REGION}, and 1 can take one; clusters with room: eu 0, us 2" in said(done)
    story.capacity |= rooms("c")
    assert where(story.run()) == ("a", "c")


def test_a_lost_region_is_mended_by_adding_and_nothing_that_runs_moves() -> None:
    story = Story.of(
        spread(3, "maxSkew: 1, minDomains: 2"), fleet(a="us", b="us", c="eu", d="eu"), APP, capacity=rooms("abcd")
    )
    assert where(story.run()) == ("a", "b", "c")
    story.source |= cluster("c", region="eu", state="Lost") | cluster("d", region="eu", state="Cordoned")
    done = story.run()
    assert where(done) == ("a", "b", "c")  # what is lost is given up when another takes its place
    assert verdicts(done)["d"] == "Rejected ClusterCordoned"
    story.source |= cluster("d", region="eu")
    done = story.run()
    assert where(done) == ("a", "b", "d")
    assert where(story.run()) == ("a", "b", "d")


def test_a_copy_that_is_missing_does_not_use_up_what_is_meant_for_another_region() -> None:
    story = Story.of(spread(2, "minDomains: 2"), fleet(a="us", b="us", c="eu"), APP, capacity=rooms("abc"))
    story.run()
    story.source |= cluster("c", region="eu", state="Lost")
    done = story.run()
    assert outcome(done)["shop/app"] == "Hold a,c NowhereToGo"
    assert verdicts(done)["b"] == "Rejected CopiesSpread"


def test_fewer_copies_keep_their_spread() -> None:
    story = Story.of(spread(3, "minDomains: 2"), fleet(a="us", b="us", c="eu"), APP, capacity=rooms("abc"))
    assert where(story.run()) == ("a", "b", "c")
    story.source |= spread(2, "minDomains: 2")
    assert where(story.run()) == ("a", "c")


def test_all_copies_may_be_wanted_in_one_region() -> None:
    story = Story.of(spread(2, "maxDomains: 1"), fleet(a="us", b="eu", c="eu"), APP, capacity=rooms("abc"))
    assert where(story.run()) == ("b", "c")


def test_a_region_that_counts_and_has_no_room_holds_the_others_back() -> None:
    story = Story.of(spread(3, "maxSkew: 1"), fleet(a="us", b="us", c="us", d="eu"), APP, capacity=rooms("abc"))
    done = story.run()
    assert where(done) == ("a",)
    assert verdicts(done)["b"] == "Rejected CopiesSpread"
    assert verdicts(done)["d"] == "Rejected NoSnapshot"
    done = story.run()
    assert outcome(done)["shop/app"] == "Keep a SpreadWaits"
    assert f"without breaking the spread; copies by {REGION}: eu 0, us 1" in said(done)


def test_copies_that_are_admitted_whatever_the_room_are_spread_too() -> None:
    story = Story.of(
        policy(
            "spread",
            f"select: {{}}\nplacement: {{copies: 2, admission: Immediate, topologySpread: [{{topologyKey: {REGION}, minDomains: 2}}]}}",
        ),
        fleet(a="us", b="us", c="eu"), APP, capacity=rooms("ab") | snapshot("c", "n1 1 1Gi"),
    )  # fmt: skip
    assert where(story.run()) == ("a", "c")


def test_a_divided_app_is_shared_by_clusters_of_different_regions() -> None:
    story = Story.of(
        policy(
            "spread",
            f"select: {{}}\nplacement: {{type: Divide, copies: 2, topologySpread: [{{topologyKey: {REGION}, minDomains: 2}}]}}",
        ),
        fleet(a="us", b="us", c="eu"), APP, capacity=rooms("abc"),
    )  # fmt: skip
    assert where(story.run()) == ("a", "c")
    story.source |= cluster("c", region="eu", state="Draining")
    assert "a" in where(story.run())


@pytest.mark.parametrize("spreads", [True, False])
def test_a_whole_app_that_is_shared_is_not_taken_away_where_it_has_nowhere_to_go(spreads: bool) -> None:
    more = f", copies: 2, topologySpread: [{{topologyKey: {REGION}, minDomains: 2}}]" if spreads else ""
    story = Story.of(
        policy("spread", f"select: {{}}\nplacement: {{type: Divide{more}}}"),
        fleet(a="us", c="eu"), APP, capacity=rooms("ac"),
    )  # fmt: skip
    story.run()
    story.source |= cluster("a", region="us", state="Draining") | cluster("c", region="eu", state="Draining")
    if spreads:
        story.source |= cluster("b", region="us")
        story.capacity |= rooms("b")
    for _ in range(2):
        assert outcome(story.run())["shop/app"] == "Hold a,c NowhereToGo"


def test_the_page_is_about_its_example() -> None:
    page = (Path(__file__).parent.parent / "docs/spread.md").read_text("utf-8")
    example = Path(__file__).parent.parent / "docs/examples/spread"
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    files = [yaml.safe_load(path.read_text("utf-8")) for path in sorted(example.rglob("*.yaml"))]
    assert len(blocks) == 3
    assert all(block in files for block in blocks)


def test_nobody_is_sent_away_for_copies_that_cannot_be_spread_anyway() -> None:
    low = policy(
        "low", "select: {kinds: [RayJob]}\nprecedence: 1\npreemptible: true\nrelocation: {runningJobs: Restart}"
    )
    story = Story.of(
        spread(2, "minDomains: 2", more="priority: 10\npreempts: LowerPriority"), low,
        fleet(a="us", b="us"), rayjob("shop", "job", workers=1), capacity=rooms("ab"),
    )  # fmt: skip
    story.run()
    story.source |= APP
    done = story.run()
    assert outcome(done)["shop/job"].split()[0] == "Keep"
    assert outcome(done)["shop/app"].split()[0] == "Wait"


def test_what_a_quota_or_a_budget_leaves_out_is_left_out_whole() -> None:
    tenant = {
        "tenants/t.yaml": (
            "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: t}\n"
            'spec: {paths: ["workloads/**"], namespaces: [shop], quota: {nvidia.com/gpu: "%s"}}\n'
        )
    }
    names = "abcdefghijklmopqrstuvwx"  # y and n are no names in YAML
    regions = {name: "us" if name < "n" else "eu" for name in names}
    for gpus, outcome_ in (("0", ()), ("1", ()), ("2", ("a", "o"))):
        given = {path: text % gpus for path, text in tenant.items()}
        story = Story.of(spread(2, "minDomains: 2"), fleet(**regions), APP, given, capacity=rooms(names))
        done = story.run()
        assert where(done) == outcome_
        assert outcome_ or outcome(done)["shop/app"] == "Wait  TenantQuota"


def test_fewer_regions_are_offered_where_that_would_place_it() -> None:
    story = Story.of(spread(3, "minDomains: 3"), fleet(a="us", b="us", c="eu", d="ap"), APP, capacity=rooms("abc"))
    found = remedy(story.inputs(), story.plan(), "shop/app", most_trials=60)
    assert found is not None
    told = [with_line(one) for way in found.ways for one in way.amendments]
    assert told[0] == f"minDomains of {REGION} of policy spread from 3 to 2 (policies/spread.yaml:6)"


def test_an_approval_does_not_break_the_spread() -> None:
    story = Story.of(spread(2, "minDomains: 2"), fleet(a="us", b="us", c="eu"), APP, capacity=rooms("abc"))
    story.run()
    story.source["approvals/a.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: a}\n"
        'spec: {groups: [shop/app], action: Move, to: b, expires: "2026-01-03T00:00:00Z"}\n'
    )
    after = where(story.run())
    assert "c" in after
    assert len({"a", "b"} & set(after)) == 1


@settings(max_examples=12, deadline=None)
@given(
    regions=st.lists(st.sampled_from(["us", "eu", "ap"]), min_size=2, max_size=5),
    roomy=st.lists(st.booleans(), min_size=5, max_size=5),
    copies=st.integers(2, 3),
    least=st.integers(1, 3),
)
def test_as_many_copies_are_placed_as_any_set_of_clusters_allows(
    regions: list[str], roomy: list[bool], copies: int, least: int
) -> None:
    names = "abcde"[: len(regions)]
    by_name = dict(zip(names, regions, strict=True))
    least = min(least, copies)
    with_room = [name for name, room in zip(names, roomy, strict=False) if room]
    story = Story.of(
        spread(copies, f"maxSkew: 1, minDomains: {least}"), fleet(**by_name), APP, capacity=rooms("".join(with_room))
    )

    def keeps(some: tuple[str, ...]) -> bool:
        counts = {region: sum(by_name[name] == region for name in some) for region in set(regions)}
        return max(counts.values()) - min(counts.values()) <= 1 and sum(n > 0 for n in counts.values()) >= least

    possible = [
        some for size in range(copies, 0, -1) for some in itertools.combinations(with_room, size) if keeps(some)
    ]
    assert where(story.run()) == (possible[0] if possible else ())
    before = story.deployment
    assert not story.run().steps
    assert story.deployment == before


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        (
            "topologyKey: topology.kubernetes.io/regon, minDomains: 2",
            'TopologyKeyMissing policies/p.yaml:7:57: policy p spreads copies over topology.kubernetes.io/regon, and no Workload '
            'cluster has that label (did you mean "topology.kubernetes.io/region"?)',
        ),
        (
            f"topologyKey: {REGION}, minDomains: 2",
            f"DomainsMissing policies/p.yaml:7:100: policy p wants copies in 2 domains of {REGION}, and among the clusters that it "
            "allows there is 1: us",
        ),
        (f"topologyKey: {REGION}, maxSkew: 1", ""),
    ],
)  # fmt: skip
def test_a_spread_that_the_clusters_do_not_allow_is_told(rule: str, problem: str) -> None:
    spec = f"select: {{}}\nclusters: {{names: [a]}}\nplacement: {{copies: 2, topologySpread: [{{{rule}}}]}}"
    story = Story.of(policy("p", spec), fleet(a="us", b="eu"), APP, capacity=rooms("ab"))
    told = [f"{p.code} {p.location}: {p.message} ({p.hint})" for p in story.run().problems]
    assert [line for line in told if line.startswith(problem)][: bool(problem)] == [
        line for line in told if "Topology" in line or "Domains" in line
    ], told


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("topologySpread: [{topologyKey: a, maxSkew: 1}]", "topologySpread needs copies: a number of 2 or more"),
        ("copies: All, topologySpread: [{topologyKey: a, maxSkew: 1}]", "needs copies: a number of 2 or more"),
        ("copies: 2, topologySpread: [{topologyKey: a}]", "give at least one of maxSkew, minDomains, maxDomains"),
        ("copies: 2, topologySpread: [{topologyKey: a, minDomains: 3}]", "minDomains 3 of a is more than there are copies (2)"),
        ("copies: 3, topologySpread: [{topologyKey: a, minDomains: 3, maxDomains: 2}]", "minDomains 3 is more than maxDomains 2"),
        ("copies: 2, topologySpread: [{topologyKey: a, maxSkew: 1}, {topologyKey: a, maxDomains: 1}]", "a is there twice"),
        ("copies: 2, topologySpread: [{topologyKey: a, maxSkew: 0}]", "maxSkew must be at least 1"),
        ("copies: 2, topologySpread: [{topologyKey: a, minDomain: 2}]", 'unknown field "minDomain"'),
    ],
)  # fmt: skip
def test_a_spread_that_means_nothing_is_refused(placement: str, message: str) -> None:
    story = Story.of(policy("p", f"select: {{}}\nplacement: {{{placement}}}"), fleet(a="us"), capacity=rooms("a"))
    assert any(message in problem.message for problem in story.run().problems)
