"""Tenants: whose a workload file is, what may come of it, and that nobody else is touched by what may not."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import globoverlap, pathglob
from gitplacer.explain.decisions import verdict_text
from gitplacer.hydrate import Hydration
from gitplacer.kinds.selectors import Metadata
from gitplacer.kinds.tenant import Tenant, TenantSpec
from gitplacer.model.decision import Reason
from gitplacer.problems import Severity
from gitplacer.relocation.guards import Tally
from gitplacer.source import tenancy
from gitplacer.source.tenancy import Tenancy, _overlapping
from tests import test_spanning as spanning
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

ROOM = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
BOTH = (cluster("a", labels="{class: good}"), cluster("b", labels="{class: cheap}"))
RED = 'paths: ["workloads/red/**"]\nnamespaces: [red, "red-*"]\n'
BLUE = 'paths: ["workloads/blue/**"]\nnamespaces: [blue]\n'


def tenant(name: str, spec: str) -> dict[str, str]:
    """A Tenant file; the spec is YAML text."""
    kind = policy(name, spec)[f"policies/{name}.yaml"].replace("PlacementPolicy", "Tenant")
    return {f"tenants/{name}.yaml": kind}


def two(**more: str) -> Story:
    """Two tenants, each with a service that runs; keywords are more lines of their specs."""
    story = Story.of(
        *BOTH, ANYWHERE, tenant("red", RED + more.get("red", "")), tenant("blue", BLUE + more.get("blue", "")),
        rayservice("red", "api"), rayservice("blue", "shop"), capacity=ROOM,
    )  # fmt: skip
    story.run()
    return story


def told(done: Hydration) -> dict[str, str]:
    """Problem codes by `file:line`."""
    return {f"{p.location.file}:{p.location.line}": p.code for p in done.problems}


def manifest(text: str, path: str) -> dict[str, str]:
    return {path: text}


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{a: b}}\n"


# whose a file is


def test_without_tenants_everything_but_the_reserved_namespaces_may_be_used() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("red", "api"), rayservice("kube-system", "evil"), capacity=ROOM)
    done = story.run()
    assert outcome(done) == {"red/api": "Place a Fits"}
    assert told(done) == {"workloads/kube-system/evil.yaml:4": "NotAllowed"}


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "argocd", "flux-system", "gitplacer"])
@pytest.mark.parametrize("said", ["*", "?*", "[a-z]*"])
def test_no_pattern_reaches_a_reserved_namespace_and_its_name_does(namespace: str, said: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice(namespace, "api"), capacity=ROOM)
    story.source |= tenant("all", f'paths: ["workloads/**"]\nnamespaces: ["{said}"]')
    assert list(told(story.plan()).values()) == ["NotTheTenants"]
    story.source |= tenant("all", f'paths: ["workloads/**"]\nnamespaces: ["{said}", {namespace}]')
    assert outcome(story.plan()) == {f"{namespace}/api": "Place a Fits"}


def test_where_there_are_tenants_a_file_of_nobody_is_not_placed() -> None:
    story = two()
    story.source |= rayservice("green", "new")
    done = story.plan()
    assert outcome(done) == {"blue/shop": "Keep a Kept", "red/api": "Keep a Kept"}
    assert told(done) == {"workloads/green/new.yaml:2": "NoTenant"}


@pytest.mark.parametrize("broken", ["paths: 7\nnamespaces: [red]", "paths: [", "namespaces: [red]", "paths: []"])
def test_a_tenant_that_cannot_be_read_holds_what_it_had(broken: str) -> None:
    story = two()
    story.source |= tenant("red", broken)
    story.source["workloads/red/api.yaml"] += "# more\n"
    done = story.plan()
    assert outcome(done) == {"blue/shop": "Keep a Kept", "red/api": "Hold a UnreadableSource"}
    assert "NoTenant" in told(done).values()


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("paths: [", "paths: 7 #["),
        ("kind: Tenant", "kind: Tennant"),
        ("kind: Tenant", "kind: tenant"),
        ("kind: Tenant", "kind: Tenants"),
        ("gitplacer.dev/v1alpha1", "gitplacer.dev/v1"),
        ("gitplacer.dev/v1alpha1", "gitplacer.dve/v1alpha1"),
        ("gitplacer.dev/v1alpha1", "Gitplacer.dev/v1alpha1"),
        ("metadata:", "metadata: {"),
    ],
)
def test_the_only_tenant_that_cannot_be_read_frees_nobody(written: str, instead: str) -> None:
    broken = tenant("red", RED)["tenants/red.yaml"].replace(written, instead, 1)
    story = Story.of(*BOTH, ANYWHERE, {"tenants/red.yaml": broken}, rayservice("red", "api"), capacity=ROOM)
    assert outcome(story.plan()) == {}


def test_a_tenant_among_workloads_counts_nothing() -> None:
    story = two()
    mine = tenant("mine", 'paths: ["**"]\nnamespaces: ["*"]')["tenants/mine.yaml"]
    story.source["workloads/red/tenant.yaml"] = mine
    done = story.plan()
    assert told(done) == {"workloads/red/tenant.yaml:2": "OwnKindInWorkloads"}
    assert outcome(done) == {"blue/shop": "Keep a Kept", "red/api": "Keep a Kept"}


@pytest.mark.parametrize(
    "claims",
    [
        'paths: ["workloads/r*/**"]\nnamespaces: [other]',
        'paths: ["workloads/RED/**"]\nnamespaces: [other]',
        'paths: ["workloads/*ed/**"]\nnamespaces: [other]',
        'paths: ["workloads/other/**"]\nnamespaces: ["red-team"]',
        'paths: ["workloads/other/**"]\nnamespaces: ["*"]',
    ],
)
def test_tenants_that_overlap_are_both_stopped_and_nobody_else(claims: str) -> None:
    story = two()
    story.source |= tenant("zebra", claims.replace('"*"', '"r*"'))
    done = story.plan()
    assert outcome(done) == {"blue/shop": "Keep a Kept", "red/api": "Hold a UnreadableSource"}
    assert told(done)["tenants/zebra.yaml:5"] == "TenantsOverlap"


# what it may do


def test_kinds_that_a_tenant_may_not_write_are_named() -> None:
    story = two(red="kinds: [Ray*]")
    story.source |= manifest(CONFIG.format(name="c", namespace="red"), "workloads/red/c.yaml")
    done = story.plan()
    assert told(done) == {"workloads/red/c.yaml:2": "NotTheTenants"}
    (problem,) = done.problems
    assert problem.message == "tenant red may not write a ConfigMap"
    assert problem.hint == "it may write Ray*"


def test_clusters_that_a_tenant_may_not_use_take_nothing_of_it() -> None:
    story = two(red="clusters: {matchLabels: {class: cheap}}")
    assert outcome(story.run()) == {"blue/shop": "Keep a Kept", "red/api": "Keep b Kept"}
    story.source |= tenant("blue", BLUE + "clusters: {names: [b]}")
    assert outcome(story.run())["blue/shop"] == "Relocate b NotEligible"


def test_a_tenant_is_governed_by_its_policies_only() -> None:
    story = two(red="policies: [anywhere]")
    story.source |= policy(
        "urgent",
        "select: {labelSelector: {matchLabels: {urgent: yes}}}\nprecedence: 9\npriority: 99".replace("yes", '"yes"'),
    )
    for name in ("red", "blue"):
        story.source |= rayservice(name, "more", labels='{urgent: "yes"}')
    governed = {d.group: d.policy for d in story.plan().view.plan.decisions}
    assert (governed["red/more"], governed["blue/more"]) == ("anywhere", "urgent")


def test_a_policy_that_the_tenant_has_not_is_named_where_none_governs() -> None:
    story = two(red="policies: [anywere]")
    (problem,) = story.plan().problems
    assert (problem.code, problem.location.file) == ("NoPolicy", "workloads/red/api.yaml")
    assert (
        problem.message
        == "no policy governs RayService red/api: anywhere would, but the policies of its tenant are others"
    )
    assert "spec.policies of the Tenant" in problem.hint
    assert outcome(story.plan())["red/api"] == "Hold  NoPolicy"


@pytest.mark.parametrize(
    ("quota", "hint"),
    [
        ("quota: {cpus: 4}", 'did you mean "cpu"?'),
        ("clusterQuota: {mem: 4Gi, cpu: 1k}", 'did you mean "memory"?'),
        ("quota: {pods: 4}", "one of cpu"),
        ("quota: {requests.cpu: 4}", "one of cpu"),
        ("quota: {nvidia.com/gpu: 64, cpu: 1k, memory: 1Ti, hugepages-2Mi: 1Gi, ephemeral-storage: 1Ti}", ""),
    ],
)
def test_a_quota_that_limits_nothing_is_told(quota: str, hint: str) -> None:
    problems = two(red=quota).plan().problems
    assert [(p.code, p.severity, p.location.file) for p in problems] == (
        [("QuotaOfNothing", Severity.WARNING, "tenants/red.yaml")] if hint else []
    )
    assert all(hint in problem.hint for problem in problems)


def test_a_tenants_clusters_are_named_as_people_write_it() -> None:
    story = two(red="clusters: {names: [nowhere]}")
    story.source |= rayservice("red", "more")
    done = story.plan()
    waiting = decisions(done)["red/more"]
    assert {verdict_text(c, waiting, done.view) for c in waiting.candidates} == {
        "its tenant may not use it: red: name=nowhere (tenants/red.yaml:1)"
    }


def test_a_priority_counts_as_far_as_the_tenant_may_have_it() -> None:
    story = Story.of(cluster("a"), policy("p", "select: {}\npriority: 50"), policy("q", 'select: {namespaces: [blue]}\nprecedence: 5\npriority: 20'),
                     rayservice("red", "api"), rayservice("blue", "shop"), capacity=snapshot("a", "n1 8 64Gi 1"))  # fmt: skip
    story.source |= tenant("red", RED) | tenant("blue", BLUE)
    assert outcome(story.plan())["red/api"] == "Place a Fits"
    story.source |= tenant("red", RED + "priority: {max: 10}")
    assert outcome(story.plan()) == {"blue/shop": "Place a Fits", "red/api": "Wait  NoClusterFits"}


@pytest.mark.parametrize(
    ("classes", "named", "is_refused"),
    [
        ("", "system-node-critical", True),
        ("", "anything", False),
        ("priority: {classes: [red-*]}", "red-high", False),
        ("priority: {classes: [red-*]}", "blue-high", True),
        ("priority: {classes: []}", "red-high", True),
        ("priority: {classes: ['*']}", "system-cluster-critical", True),
    ],
)
def test_pods_may_name_the_priority_classes_of_their_tenant(classes: str, named: str, is_refused: bool) -> None:
    story = two(red=classes)
    (text,) = rayservice("red", "more").values()
    story.source["workloads/red/more.yaml"] = text.replace("{spec: {", f"{{spec: {{priorityClassName: {named}, ", 1)
    done = story.plan()
    assert ("NotTheTenants" in told(done).values()) is is_refused
    assert outcome(done)["red/more"].startswith("Hold" if is_refused else "Place")


# how much


def test_what_would_go_beyond_a_quota_waits_and_says_so() -> None:
    story = two(red='quota: {nvidia.com/gpu: "3"}')
    story.source |= (
        rayservice("red", "b", workers=2) | rayservice("red", "c", workers=1) | rayservice("blue", "d", workers=5)
    )
    done = story.run()
    assert outcome(done) == {
        "blue/d": "Place a Fits", "blue/shop": "Keep a Kept", "red/api": "Keep a Kept", "red/b": "Place b Fits",
        "red/c": "Wait  TenantQuota",
    }  # fmt: skip
    waiting = next(d for d in done.view.plan.decisions if d.group == "red/c")
    said = "asks for 1 nvidia.com/gpu, and 3 of 3 of tenant red are taken"
    assert waiting.finding.subject == said
    assert {verdict_text(c, waiting, done.view) for c in waiting.candidates} == {f"{said} (tenants/red.yaml:1)"}
    assert story.run().steps == ()


def test_a_quota_of_each_cluster_sends_what_is_more_to_others() -> None:
    story = two(red='clusterQuota: {nvidia.com/gpu: "2"}')
    story.source |= rayservice("red", "b", workers=2) | rayservice("red", "c", workers=2)
    done = story.run()
    assert outcome(done) == {
        "blue/shop": "Keep a Kept", "red/api": "Keep a Kept", "red/b": "Place b Fits", "red/c": "Wait  TenantQuota",
    }  # fmt: skip
    waiting = decisions(done)["red/c"]
    assert {verdict_text(c, waiting, done.view) for c in waiting.candidates} == {
        "asks for 2 nvidia.com/gpu on a, and 1 of 2 of tenant red are taken (tenants/red.yaml:1)",
        "asks for 2 nvidia.com/gpu on b, and 2 of 2 of tenant red are taken (tenants/red.yaml:1)",
    }


@pytest.mark.parametrize(
    ("quota", "gpus", "said"),
    [
        ('{memory: "12Gi"}', 1, ""),
        ('{memory: "11Gi"}', 1, "asks for 6Gi memory, and 6Gi of 11Gi of tenant red are taken"),
        ('{nvidia.com/gpu: "1"}', 0, ""),  # it asks for none of them
        ('{example.com/other: "0"}', 1, ""),
        ('{cpu: "8", nvidia.com/gpu: "1"}', 1, "asks for 1 nvidia.com/gpu, and 1 of 1 of tenant red are taken"),
        ('{cpu: "7500m", nvidia.com/gpu: "1"}', 1, "asks for 4 cpu, and 4 of 7500m of tenant red are taken"),
    ],
)
def test_a_quota_is_of_each_resource_that_somebody_asks_for(quota: str, gpus: int, said: str) -> None:
    story = two(red=f"quota: {quota}")
    story.source |= rayservice("red", "more", gpus=gpus)
    found = decisions(story.plan())["red/more"].finding
    assert found.subject == said if said else found.code is Reason.FITS


def test_the_first_that_asks_for_too_much_reads_that_nothing_is_taken() -> None:
    story = Story.of(*BOTH, ANYWHERE, tenant("red", RED + 'quota: {nvidia.com/gpu: "2"}'), capacity=ROOM)
    story.source |= rayservice("red", "api", workers=3)
    said = "asks for 3 nvidia.com/gpu, and 0 of 2 of tenant red are taken"
    assert decisions(story.plan())["red/api"].finding.subject == said


def test_a_job_that_has_ended_takes_nothing_of_a_quota() -> None:
    story = two(red='quota: {nvidia.com/gpu: "2"}')
    (text,) = rayjob("red", "train", workers=1).values()
    story.source["workloads/red/train.yaml"] = text.replace("spec:\n", "spec:\n  shutdownAfterJobFinishes: true\n", 1)
    story.run()
    story.source |= rayservice("red", "next")
    assert outcome(story.run())["red/next"] == "Wait  TenantQuota"
    ended = "applied: EVERYTHING\ngroups:\n- {name: red/train, phase: Succeeded}\n"
    story.now += timedelta(minutes=10)
    for name in "ab":
        story.capacity |= snapshot(name, "n1 64 256Gi 8", at=story.now, more=ended)
    assert outcome(story.run())["red/next"].startswith("Place")


def there_more(**fields: str) -> Story:
    """A service on a, and one on b that has three workers there by an override."""
    story = two(**fields)
    story.source |= policy("there", "select: {names: [more]}\nprecedence: 9\nclusters: {names: [b]}")
    story.source["policies/three.yaml"] = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: three}\n"
        "spec: {select: {names: [more]}, clusters: {names: [b]}, overrides: "
        "[{path: /spec/rayClusterConfig/workerGroupSpecs/0/replicas, value: 3}]}\n"
    )
    story.source |= rayservice("red", "more")
    assert outcome(story.run())["red/more"] == "Place b Fits"
    return story


def test_what_an_override_adds_on_a_cluster_counts() -> None:
    story = there_more(red='quota: {nvidia.com/gpu: "4"}')
    story.source |= rayservice("red", "next")
    said = "asks for 1 nvidia.com/gpu, and 4 of 4 of tenant red are taken"
    assert decisions(story.plan())["red/next"].finding.subject == said


@pytest.mark.parametrize(("cpu", "expected"), [("16", "Update b UpgradeFits"), ("15", "Hold b TenantQuota")])
def test_an_edit_counts_with_what_an_override_makes_of_it_there(cpu: str, expected: str) -> None:
    story = there_more(red=f'quota: {{cpu: "{cpu}"}}')
    story.source |= rayservice("red", "more", cpu="3")  # 4 that api has, and 12 for 8
    assert outcome(story.run())["red/more"] == expected


@pytest.mark.parametrize(
    ("gpus", "is_alone", "expected"),
    [("2", True, "Place a,b Fits"), ("1", True, "Keep a CopiesWait"), ("1", False, "Keep a CopiesWait")],
)
def test_a_copy_where_no_snapshot_is_counts_and_nobody_elses_does(gpus: str, is_alone: bool, expected: str) -> None:
    story = two(red=f'quota: {{nvidia.com/gpu: "{gpus}"}}')
    if is_alone:
        story.source |= policy("there", "select: {names: [shop]}\nprecedence: 9\nclusters: {names: [c]}") | cluster("c")
        story.capacity |= snapshot("c", "n1 64 256Gi 8")
        assert outcome(story.run())["blue/shop"] == "Relocate c NotEligible"
        del story.capacity["c.yaml"]
    del story.capacity["a.yaml"]
    story.source |= policy("anywhere", "select: {}\nclusters: {names: [a, b]}\nplacement: {copies: 2}")
    assert outcome(story.run())["red/api"] == expected


def test_a_move_takes_nothing_more_of_a_quota_and_a_copy_does() -> None:
    story = two(red='quota: {nvidia.com/gpu: "1"}')
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run())["red/api"] == "Relocate b ClusterDraining"
    story = two(red='quota: {nvidia.com/gpu: "1"}')
    story.source |= policy("anywhere", "select: {}\nplacement: {copies: All}")
    assert outcome(story.run()) == {"blue/shop": "Place a,b Fits", "red/api": "Keep a CopiesWait"}


def test_what_is_divided_counts_with_all_its_shares() -> None:
    story = two(red='quota: {cpu: "8"}')
    story.source |= policy("div", "select: {names: [web]}\nprecedence: 9\nplacement: {type: Divide}")
    story.source["workloads/red/web.yaml"] = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 6\n"
        "  selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: {containers: "
        '[{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}\n'
    )
    done = story.run()
    (web,) = [d for d in done.view.plan.decisions if d.group == "red/web"]
    shares = [count.replicas or 0 for counts in web.counts.values() for _, count in counts]
    assert shares == [3]  # red/api has 4 of 8
    assert story.run().steps == ()


@pytest.mark.parametrize(("cpu", "expected"), [("21", "Place a,b Spans"), ("19", "Wait  TenantQuota")])
def test_what_spans_clusters_counts_with_all_its_workers(cpu: str, expected: str) -> None:
    wide = "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}], span: IfNeeded}"
    story = Story.of(
        cluster("a", mesh="us"), cluster("b", mesh="us"), policy("wide", wide), spanning.app(),
        tenant("ml", f'paths: ["workloads/ml/**"]\nnamespaces: [ml]\nquota: {{cpu: "{cpu}"}}'),
        capacity={**snapshot("a", *spanning.EIGHTS), **snapshot("b", *spanning.EIGHTS)},
    )  # fmt: skip
    assert outcome(story.run()) == {"ml/llm": expected}
    assert story.run().steps == ()


def test_an_edit_beyond_the_quota_is_not_written() -> None:
    story = two(red='quota: {nvidia.com/gpu: "2"}')
    before = story.deployment
    story.source |= rayservice("red", "api", workers=3) | rayservice("blue", "shop", workers=3)
    assert outcome(story.run()) == {"blue/shop": "Update a Updated", "red/api": "Hold a TenantQuota"}
    path = "clusters/a/workloads/red/api/api.yaml"
    assert story.deployment.read(path) == before.read(path)
    story.source |= rayservice("red", "api", workers=2)
    assert outcome(story.run())["red/api"] == "Update a Updated"


def test_what_an_edit_gives_back_counts_from_the_next_pass_on() -> None:
    story = two(red='quota: {nvidia.com/gpu: "4"}')
    story.source |= rayservice("red", "api", gpus=3) | rayservice("red", "b")
    story.run()
    story.source |= rayservice("red", "api") | rayservice("red", "b", workers=3)
    assert outcome(story.run())["red/b"] == "Hold a TenantQuota"
    assert outcome(story.run())["red/b"] == "Update a Updated"


def test_edits_share_what_a_quota_has_left_on_their_cluster() -> None:
    story = two(red='clusterQuota: {nvidia.com/gpu: "4"}')
    story.source |= policy("anywhere", "select: {}\nclusters: {names: [a]}") | rayservice("red", "b")
    story.run()
    story.source |= rayservice("red", "api", workers=2) | rayservice("red", "b", workers=3)
    done = story.run()
    assert outcome(done)["red/api"] == "Update a Updated"
    said = "asks for 3 nvidia.com/gpu on a, and 2 of 4 of tenant red are taken"
    assert (outcome(done)["red/b"], decisions(done)["red/b"].finding.subject) == ("Hold a TenantQuota", said)


def test_of_edits_that_do_not_all_fit_a_quota_the_first_by_priority_is_written() -> None:
    story = two(red='quota: {nvidia.com/gpu: "4"}')
    story.source |= policy("first", "select: {names: [b]}\nprecedence: 9\npriority: 9") | rayservice("red", "b")
    story.run()
    story.source |= rayservice("red", "api", workers=3) | rayservice("red", "b", workers=3)
    done = story.run()
    assert outcome(done)["red/b"] == "Update a Updated"
    said = "asks for 3 nvidia.com/gpu, and 3 of 4 of tenant red are taken"
    assert decisions(done)["red/api"].finding.subject == said


def test_an_edit_counts_on_each_cluster_where_its_group_is() -> None:
    story = two(red='quota: {nvidia.com/gpu: "3"}')
    story.source |= policy("anywhere", "select: {namespaces: [red]}\nplacement: {copies: 2}")
    story.run()
    story.source |= rayservice("red", "api", workers=2)
    assert outcome(story.run())["red/api"] == "Hold a,b TenantQuota"


@pytest.mark.parametrize(
    ("quota", "edit", "expected"),
    [
        ('{nvidia.com/gpu: "0"}', rayservice("red", "api", cpu="3"), "Update a UpgradeFits"),  # no more of those
        ('{nvidia.com/gpu: "1"}', rayservice("red", "b", gpus=1), "Hold a TenantQuota"),  # the first that it asks for
        ('{nvidia.com/gpu: "2"}', rayservice("red", "b", gpus=1), "Update a UpgradeFits"),
    ],
)
def test_an_edit_is_held_by_what_it_asks_for_more(quota: str, edit: Mapping[str, str], expected: str) -> None:
    story = two()
    story.source |= rayservice("red", "b", gpus=0)
    story.run()
    story.source |= tenant("red", f"{RED}quota: {quota}") | edit
    (group,) = (path.removeprefix("workloads/").removesuffix(".yaml") for path in edit)
    assert outcome(story.run())[group] == expected


def test_a_quota_that_shrinks_takes_nothing_away() -> None:
    story = two(red='quota: {nvidia.com/gpu: "2"}')
    story.source |= tenant("red", RED + 'quota: {nvidia.com/gpu: "0"}')
    story.source |= rayservice("red", "api", labels="{new: label}")
    assert outcome(story.run())["red/api"] == "Update a Updated"


def test_each_move_of_a_tenant_takes_one_of_its_fair_part() -> None:
    story = two()
    story.source |= rayservice("red", "b") | rayservice("red", "c")
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("{}", "{guards: {relocations: {max: 4}}}")
    tally = Tally(story.plan().view.snapshot)
    for other in range(4):
        tally.begin(f"others/{other}", Reason.NOT_ELIGIBLE)
    may = []
    for group in ("red/api", "red/b", "red/c"):
        may.append(tally.reached(group, Reason.NOT_ELIGIBLE) is None)
        tally.begin(group, Reason.NOT_ELIGIBLE)
    assert may == [True, True, False]


# nobody else is touched


SQUATS: Mapping[str, Mapping[str, str]] = {
    "the same object": rayservice("blue", "shop"),
    "an object that its group needs": manifest(CONFIG.format(name="shop-config", namespace="blue"), "x"),
    "a Service that selects its pods": manifest(
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: blue}\nspec: {selector: {app: shop}, ports: [{port: 1}]}\n", "x"
    ),
    "a Tenant of its name": tenant("blue", 'paths: ["**"]\nnamespaces: ["*"]'),
    "a policy": policy("urgent", "select: {}\nprecedence: 99"),
    "a Fleet": {"fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: x}\nspec: {source: {include: []}}\n"},
    "a cluster": cluster("a", state="Lost"),
    "an approval": {"x": "apiVersion: gitplacer.dev/v1alpha1\nkind: Approval\nmetadata: {name: x}\nspec: {groups: [blue/shop], action: Move, to: b, expires: '2026-01-03T00:00:00Z'}\n"},
    "what cannot be parsed and names it": {"x": "apiVersion: v1\nkind: [\nmetadata: {name: shop, namespace: blue}\n"},
    "what looks like the Fleet and cannot be parsed": {"x": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nspec: [\n"},
}  # fmt: skip
"""What one tenant may try against another, by what it is."""


@pytest.mark.parametrize("squat", SQUATS)
@pytest.mark.parametrize("path", ["workloads/red/{}.yaml", "workloads/red/blue/{}.yaml", "workloads/nobodys/{}.yaml"])
def test_what_a_tenant_writes_changes_nothing_of_another(squat: str, path: str) -> None:
    story = two()
    story.source |= rayservice("blue", "shop", labels="{app: shop}")
    story.run()
    (text,) = SQUATS[squat].values()
    text = text.replace("metadata: {name: shop, ", "metadata: {name: shop, namespace: blue, ")
    story.source[path.format("squat")] = text
    done = story.plan()
    assert {d.group: str(d.action) for d in done.view.plan.decisions} == {"blue/shop": "Keep", "red/api": "Keep"}
    assert {p.location.file for p in done.problems} == {path.format("squat")}
    story.source.pop("workloads/blue/shop.yaml")  # nor does it keep what its tenant removes
    assert outcome(story.plan())["blue/shop"].startswith("Remove")


@pytest.mark.parametrize("is_first", [True, False])
def test_the_id_of_platform_objects_cannot_be_taken_by_a_workload(is_first: bool) -> None:
    story = two()
    operator = {"platform/agent/x.yaml": CONFIG.format(name="agent", namespace="red")}
    story.source |= operator | policy(
        "platform", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}\nprecedence: 9'
    )
    if not is_first:
        story.run()
    story.source |= rayservice("red", "agent")
    done = story.plan()
    assert outcome(done)["red/agent"].partition(" ")[0] == ("Place" if is_first else "Keep")
    assert set(told(done)) == {"workloads/red/agent.yaml:4"}


def test_a_workload_that_runs_under_the_id_of_platform_objects_is_held_with_them() -> None:
    story = two()
    story.source |= {"platform/api/x.yaml": CONFIG.format(name="agent", namespace="red")}
    story.source |= policy("platform", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}\nprecedence: 9')
    assert outcome(story.plan()) == {"blue/shop": "Keep a Kept", "red/api": "Hold a HasProblems"}


@pytest.mark.parametrize("path", ["workloads/Blue/shop.yaml", "Workloads/blue/shop.yaml", "WORKLOADS/BLUE/SHOP.YAML"])
def test_a_path_that_differs_only_in_case_hides_no_file_of_another(path: str) -> None:
    story = two()
    story.source[path] = "kind: nothing\n"
    assert outcome(story.plan()) == {"blue/shop": "Keep a Kept", "red/api": "Keep a Kept"}


def test_turns_are_taken_by_tenants_and_not_by_namespaces() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, tenant("red", RED), tenant("blue", BLUE), capacity=snapshot("a", "n1 64 256Gi 4")
    )
    for space in ("red", "red-1", "red-2", "red-3"):
        for name in ("x", "y"):
            (text,) = rayjob(space, name, workers=1).values()
            story.source[f"workloads/red/{space}-{name}.yaml"] = text.replace(
                f"name: {name}\n", f"name: {name}\n  namespace: {space}\n", 1
            )
    story.source |= rayjob("blue", "p", workers=1) | rayjob("blue", "q", workers=1)
    placed = {group for group, said in outcome(story.plan()).items() if said.startswith("Place")}
    assert sum(group.startswith("blue/") for group in placed) == 2


# patterns

TOKENS = ("a", "b", "/", "*", "?", "**", "**/", "[ab]", "[!a]", "{n}", "A")
PATHS = ["".join(letters) for length in range(6) for letters in itertools.product("ab/", repeat=length)]
patterns = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=4).map("".join)


@given(patterns, patterns)
def test_two_patterns_overlap_if_and_only_if_some_path_matches_both(one: str, other: str) -> None:
    both = any(pathglob.matches(one.casefold(), path) and pathglob.matches(other.casefold(), path) for path in PATHS)
    assert globoverlap.overlap(one, other) is both or _is_longer(one, other)


def _is_longer(one: str, other: str) -> bool:
    """Whether the shortest path that both match may have more letters than those that were tried."""
    return len(one) + len(other) > 6 and globoverlap.overlap(one, other)


@pytest.mark.parametrize("pattern", ["[]", "[!]", "[[a]", "[a&&b]", "{name}/{name}", "[\\d]", "a]b[", "{}", "[z-a]"])
def test_no_pattern_is_too_strange(pattern: str) -> None:
    assert not pathglob.matches(pattern, "x")
    assert globoverlap.overlap(pattern, "**")


# many tenants

SOME = st.lists(patterns, min_size=1, max_size=2)


def as_tenants(some: list[tuple[list[str], list[str]]]) -> tuple[Tenant, ...]:
    """Tenants called 0, 1, 2 …, each with its patterns of paths and of namespaces."""
    return tuple(
        Tenant.model_construct(
            metadata=Metadata(name=str(number)), spec=TenantSpec.model_construct(paths=paths, namespaces=namespaces)
        )
        for number, (paths, namespaces) in enumerate(some)
    )


@given(st.lists(st.tuples(SOME, SOME), max_size=6))
def test_tenants_dispute_what_any_two_of_them_dispute(some: list[tuple[list[str], list[str]]]) -> None:
    def share(one: list[str], other: list[str]) -> bool:
        return any(globoverlap.overlap(a, b) for a, b in itertools.product(one, other))

    pairs = itertools.combinations(enumerate(some), 2)
    disputed = [(str(m), str(n)) for (m, one), (n, two) in pairs if share(one[0], two[0]) or share(one[1], two[1])]
    assert list(_overlapping(as_tenants(some))) == disputed


@given(st.lists(st.tuples(SOME, SOME), max_size=8))
def test_of_very_many_that_dispute_some_are_told_of_each(some: list[tuple[list[str], list[str]]]) -> None:
    tenants = as_tenants(some)
    all_of_them = _overlapping(tenants)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tenancy, "_TOLD", 1)
        told = _overlapping(tenants)
    assert {*told} <= {*all_of_them}
    assert {name for pair in told for name in pair} == {name for pair in all_of_them for name in pair}
    assert len(told) <= len(tenants)


@given(st.lists(patterns, max_size=12), st.integers(0, 4))
def test_patterns_that_overlap_are_among_those_that_may(some: list[str], each: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(globoverlap, "_EACH", each)
        likely = set(globoverlap.likely_overlaps(some))
    for (place, one), (after, other) in itertools.combinations(enumerate(some), 2):
        assert (place, after) in likely or not globoverlap.overlap(one, other)


def test_a_pattern_that_a_thousand_tenants_have_is_not_told_of_each_two_of_them() -> None:
    tenants = as_tenants([([f"workloads/t{n:04}/**"], ["*" if n % 2 else f"t{n:04}-*"]) for n in range(1000)])
    told = _overlapping(tenants)
    assert {name for pair in told for name in pair} == {str(n) for n in range(1000)}
    assert len(told) <= 10 * len(tenants)


@given(st.lists(SOME, max_size=6), st.sampled_from(PATHS))
def test_a_file_is_the_first_tenants_that_has_it_in_its_paths(some: list[list[str]], path: str) -> None:
    tenants = as_tenants([(paths, []) for paths in some])
    first = next((t for t in tenants if pathglob.matches_any(t.spec.paths, path)), None)
    assert Tenancy(tenants).owner(path) is first


def test_a_thousand_tenants_are_not_held_against_each_other_two_by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(globoverlap, "overlap", lambda one, other: asked.append((one, other)))
    tenants = as_tenants([([f"workloads/t{n:04}/**"], [f"t{n:04}-*"]) for n in range(1000)])
    assert not list(_overlapping(tenants)) and not asked
    monkeypatch.setattr(pathglob, "matches", lambda pattern, path: not asked.append((pattern, path)))
    assert Tenancy(tenants).owner("workloads/t0500/a.yaml") is tenants[500]
    assert len(asked) == 1


def test_tenants_whose_patterns_differ_in_a_folder_or_an_end_are_told_apart_without_following_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followed = list[tuple[str, str]]()
    monkeypatch.setattr(globoverlap, "_share_a_path", lambda one, other: bool(followed.append((one, other))))
    tenants = as_tenants([([f"*/workloads-?/t{n:02}/**"], [f"*-t{n:02}", f"[a-c]x-*-t{n:02}"]) for n in range(50)])
    assert not list(_overlapping(tenants))
    assert all("[" in one + other for one, other in followed), "what has brackets is not looked into"


@given(st.lists(st.sampled_from((*TOKENS, "[/a]", "[", "{")), max_size=6).map("".join), patterns)
def test_what_is_told_apart_by_a_name_shares_no_path(one: str, other: str) -> None:
    assert globoverlap.overlap(one, other) is globoverlap._share_a_path(one.casefold(), other.casefold())
