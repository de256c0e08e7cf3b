"""
One tenant against all others: each row is an attack that a tenant can write, and nothing outside its tenancy may change by it.

`red` may write below `workloads/red/`, in its own namespaces, under any policy. What `blue` and the platform have, what is decided of
them, what is told of their files and the bytes that are deployed for them must be the same as without the attack, pass after pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from gitplacer.hydrate import Hydration
from gitplacer.kinds.fleet import RemovalGuard
from tests.stories import ANYWHERE, Story, cluster, ending, outcome, policy, rayservice, snapshot
from tests.test_tenants import BLUE, CONFIG, RED, tenant

Files = Mapping[str, str]
"""Files by name."""

PLATFORM = policy("platform", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}\nprecedence: 9')
AGENT = {"platform/agent/x.yaml": CONFIG.format(name="agent", namespace="red")}


def fleet(red: str = "", *files: Mapping[str, str], guards: str = "{}") -> Story:
    """Two tenants on two clusters, each with a service that runs, and an agent that the platform has in red's namespace."""
    nodes = ("n1 64 256Gi 8|, labels: {zone: z}", "n2 64 256Gi 8|, labels: {zone: z}")
    story = Story.of(
        cluster("a"), cluster("b"), ANYWHERE, PLATFORM, AGENT, tenant("red", RED + red), tenant("blue", BLUE),
        rayservice("red", "api"), rayservice("blue", "shop"), *files,
        capacity={**snapshot("a", *nodes), **snapshot("b", *nodes)},
    )  # fmt: skip
    story.source["fleet.yaml"] = story.source["fleet.yaml"].replace("spec: {}", f"spec: {{guards: {guards}}}")
    story.run()
    return story


def deployment(name: str, affinity: str = "{}", namespace: str = "red", replicas: int = 1) -> str:
    """A Deployment that asks for next to nothing."""
    return f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: tiny}}}}
  template:
    metadata: {{labels: {{app: tiny}}}}
    spec:
      affinity: {affinity}
      containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1m, memory: 1Mi}}}}}}]
"""


def avoiding(whom: str, replicas: int = 1) -> str:
    """A Deployment whose pods want none of those around them that a term of pod anti-affinity tells."""
    term = f"{{topologyKey: zone, labelSelector: {{matchExpressions: [{{key: app, operator: NotIn, values: [tiny]}}]}}, {whom}}}"
    terms = f"{{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    return deployment("tiny", terms, replicas=replicas)


ATTACKS: Mapping[str, tuple[Files, str]] = {
    "pods that keep all others out of their zone": ({"tiny.yaml": avoiding("namespaceSelector: {}")}, "PrivilegedPod"),
    "pods that keep blue's out of their zone": ({"tiny.yaml": avoiding("namespaces: [blue]")}, "PrivilegedPod"),
    "an object of the platform once more": ({"x.yaml": CONFIG.format(name="agent", namespace="red")}, "DuplicateObject"),
    "an object of the platform once more, beside a group of its id": (
        {
            "x.yaml": CONFIG.format(name="agent", namespace="red"),
            "y.yaml": deployment("agent").replace("containers: [{", "containers: [{envFrom: [{configMapRef: {name: agent}}], "),
        },
        "DuplicateObject GroupIdTaken",
    ),
    "a name that makes the file of its record too long": ({"x.yaml": deployment("x" * 253)}, "InvalidGroupName"),
    "words that would explain blue's stray file": ({"x.yaml": "a: [ stray, b"}, "InvalidYAML"),
    "a wish for every cluster in turn": (
        {f"{n}.yaml": deployment(f"d{n}").replace("metadata: {name", "metadata: {annotations: {gitplacer.dev/cluster: b}, name", 1) for n in range(12)},
        "",
    ),
}  # fmt: skip
"""What red writes below its folder, and the codes that it is told; none where it may."""


def of_others(done: Hydration) -> dict[str, object]:
    """All that is decided, told and deployed of what is not red's."""
    found: dict[str, object] = {f"decision {g}": o for g, o in outcome(done).items() if g not in _reds(done)}
    for problem in done.problems:
        if not problem.location.file.startswith("workloads/red/"):
            found[f"problem {problem.location}"] = (problem.code, problem.message)
    for path in done.tree:
        # Sentinels of workloads count everybody's changes on a cluster, metadata names the commit, and removals are counted by owner.
        if path in ("hydrator.metadata", "guards/removals.yaml") or path.endswith("/gitplacer.yaml"):
            continue
        if any(part in path for part in ("workloads/red/", "moving/red/")) or _is_reds_record(path):
            continue
        found[path] = done.tree.read(path)
    return found


def _is_reds_record(path: str) -> bool:
    return path.startswith("placements/red/") and path != "placements/red/agent.yaml"


def _reds(done: Hydration) -> set[str]:
    return {g for g in outcome(done) if g.startswith("red") and g != "red/agent"}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("is_first", [True, False], ids=["before blue comes", "when blue is there"])
def test_an_attack_changes_nothing_outside_its_tenancy(attack: str, is_first: bool) -> None:
    files, codes = ATTACKS[attack]
    calm, story = fleet(), fleet()
    calm.capacity = dict(story.capacity)

    def attacks() -> None:
        story.source |= {f"workloads/red/{name}": text for name, text in files.items()}

    def blue_comes() -> None:
        for one in (calm, story):
            one.source |= rayservice("blue", "new", workers=8) | {
                "workloads/blue/stray.yaml": CONFIG.format(name="stray", namespace="blue"),
                "platform/agent/x.yaml": AGENT["platform/agent/x.yaml"] + "# edited\n",
            }

    told = set()
    for step in (attacks, blue_comes) if is_first else (blue_comes, attacks):
        step()
        done = story.run()
        told |= {p.code for p in done.problems if p.location.file.startswith("workloads/red/")}
        assert of_others(done) == of_others(calm.run())
    assert told == set(codes.split())
    for path in story.deployment:
        assert max(len(part.encode()) for part in path.split("/")) <= 255  # or nobody can check out anything


def test_the_comparison_sees_what_happens_to_others() -> None:
    story = fleet()
    before = of_others(story.plan())
    assert {"decision blue/shop", "decision red/agent", "placements/blue/shop.yaml"} <= before.keys()
    story.source |= rayservice("blue", "shop", labels="{a: b}")
    assert of_others(story.run()) != before


def test_pods_may_keep_others_of_their_own_namespace_away() -> None:
    story = fleet()
    story.source["workloads/red/tiny.yaml"] = avoiding("namespaces: []")
    done = story.plan()
    assert (outcome(done)["red/tiny"].split()[0], done.problems) == ("Place", ())


def test_a_name_may_be_as_long_as_its_files_can_bear() -> None:
    story = fleet()
    story.source["workloads/red/x.yaml"] = deployment("x" * 250)
    assert outcome(story.run())["red/" + "x" * 250].startswith("Place")
    assert max(len(part) for path in story.deployment for part in path.split("/")) == 255


def test_a_platform_object_that_a_workload_has_already_waits_for_it() -> None:
    story = fleet()
    story.source["workloads/red/app.yaml"] = deployment("app").replace(
        "containers: [{", "containers: [{envFrom: [{configMapRef: {name: mine}}], "
    )
    story.source["workloads/red/mine.yaml"] = CONFIG.format(name="mine", namespace="red")
    assert outcome(story.run())["red/app"].startswith("Place")
    story.source["platform/later/x.yaml"] = CONFIG.format(name="mine", namespace="red")
    done = story.run()
    assert outcome(done)["red/later"].startswith("Hold")
    assert {p.location.file for p in done.problems} == {"platform/later/x.yaml", "workloads/red/mine.yaml"}
    del story.source["workloads/red/mine.yaml"]
    assert outcome(story.run())["red/later"] == "Place a,b Platform"


# quotas, turns and room that is kept


def busy(red: str = "", clusters: str = "abc") -> Story:
    """Clusters with four GPUs each, of which jobs of blue that end have three."""
    story = Story.of(
        *(cluster(name) for name in clusters), ANYWHERE, tenant("red", RED + red), tenant("blue", BLUE),
        *(ending("blue", f"runs-{name}", 3) for name in clusters),
        capacity={path: text for name in clusters for path, text in snapshot(name, "n1 64 256Gi 4").items()},
    )  # fmt: skip
    story.run()
    return story


def test_room_that_is_kept_for_a_tenant_counts_to_its_quota() -> None:
    story = busy('quota: {nvidia.com/gpu: "4"}')
    for number in range(3):
        story.source |= ending("red", f"big-{number}", 4)
    story.run()
    story.now += timedelta(hours=3)
    story.look_again()
    story.source |= rayservice("blue", "new", workers=1)
    done = outcome(story.run())
    assert [done[f"red/big-{n}"] for n in range(3)] == ["Wait  RoomReserved", "Wait  TenantQuota", "Wait  TenantQuota"]
    assert done["blue/new"].startswith("Place")


def test_room_that_was_kept_for_a_tenant_is_free_again_when_its_quota_is_cut() -> None:
    story = busy('quota: {nvidia.com/gpu: "4"}', clusters="a")
    story.source |= ending("red", "big", 4)
    story.run()
    story.now += timedelta(hours=3)
    story.look_again()
    story.source |= rayservice("blue", "new", workers=1)
    done = outcome(story.run())
    assert (done["red/big"], done["blue/new"]) == ("Wait  RoomReserved", "Wait  NoClusterFits")
    story.source |= tenant("red", RED + 'quota: {nvidia.com/gpu: "2"}')
    done = outcome(story.run())
    assert (done["red/big"], done["blue/new"]) == ("Wait  TenantQuota", "Place a Fits")


def test_what_others_leave_for_a_tenant_counts_to_its_quota() -> None:
    story = Story.of(
        cluster("a"), cluster("b"), policy("low", "select: {}\npreemptible: true"),
        policy("high", "select: {namespaces: [red]}\nprecedence: 5\npriority: 9\npreempts: LowerPriority"),
        tenant("red", RED + 'quota: {nvidia.com/gpu: "4"}'), tenant("blue", BLUE),
        rayservice("blue", "one", workers=4), rayservice("blue", "two", workers=4),
        capacity={**snapshot("a", "n1 64 256Gi 4"), **snapshot("b", "n1 64 256Gi 4")},
    )  # fmt: skip
    story.run()
    story.source |= rayservice("red", "one", workers=4) | rayservice("red", "two", workers=4)
    done = outcome(story.run())
    assert sorted(said.split()[0] for group, said in done.items() if group.startswith("blue/")) == ["Keep", "Preempt"]


def test_a_hundred_that_have_waited_for_long_are_not_all_before_the_first_of_another() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, tenant("red", RED), tenant("blue", BLUE), rayservice("blue", "first", workers=8),
        capacity=snapshot("a", "n1 64 256Gi 8"),
    )  # fmt: skip
    story.run()
    for number in range(100):
        story.source |= rayservice("red", f"r{number}", cpu="10m", workers=1)
    story.run()
    story.now += timedelta(hours=2)
    story.source |= rayservice("blue", "late", cpu="10m", workers=4)
    story.run()
    story.now += timedelta(hours=2)
    story.source.pop("workloads/blue/first.yaml")
    story.run()  # removed, and then its room is free
    story.look_again()
    done = outcome(story.run())
    assert done["blue/late"] == "Place a Fits" or outcome(story.plan())["blue/late"] == "Keep a Kept"


# guards


@pytest.mark.parametrize(
    ("reds", "gone", "blues", "blue_gone", "stay"),
    [
        pytest.param(20, 19, 3, 1, {"red"}, id="one of few of blue's goes, nearly all of red's stay"),
        pytest.param(20, 20, 8, 3, {"red"}, id="so do three of eight"),
        pytest.param(20, 5, 3, 1, set(), id="a quarter of red's goes, and one of blue's"),
        pytest.param(20, 20, 4, 4, {"red"}, id="few are an ordinary day's work"),
        pytest.param(8, 8, 8, 8, {"red", "blue"}, id="a source that lost everything is held whole"),
    ],
)
def test_who_removes_much_holds_nothing_of_others(
    reds: int, gone: int, blues: int, blue_gone: int, stay: set[str]
) -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, tenant("red", RED), tenant("blue", BLUE), capacity=snapshot("a", "n1 64 256Gi")
    )
    files = {
        name: [f"workloads/{name}/d{n}.yaml" for n in range(count)] for name, count in (("red", reds), ("blue", blues))
    }
    for name, paths in files.items():
        story.source |= {path: deployment(f"d{n}", namespace=name) for n, path in enumerate(paths)}
    story.run()
    for path in (*files["red"][:gone], *files["blue"][:blue_gone]):
        del story.source[path]
    for _ in range(2):  # what went in one pass counts in the next
        done = story.run()
        held = {d.group.partition("/")[0] for d in done.view.plan.decisions if d.finding.code == "TooManyRemovals"}
        assert held == stay
    assert len(outcome(done)) == reds + blues - (0 if "red" in stay else gone) - (0 if "blue" in stay else blue_gone)


@pytest.mark.parametrize("most", ["4", '"25%"', "0"])
@pytest.mark.parametrize("groups", [1, 4, 10, 100])
def test_what_an_owner_may_always_lose_is_no_more_than_one_alone_may(most: str, groups: int) -> None:
    guard = RemovalGuard.model_validate({"max": most.strip('"') if "%" in most else int(most)})
    assert guard.own(groups, 1) <= guard.most(groups)
    assert guard.own(groups, 7) <= guard.own(groups, 1)


def test_the_removals_of_each_tenant_are_remembered_by_themselves() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, tenant("red", RED), tenant("blue", BLUE), capacity=snapshot("a", "n1 64 256Gi")
    )
    for name in ("red", "blue"):
        story.source |= {f"workloads/{name}/d{n}.yaml": deployment(f"d{n}", namespace=name) for n in range(8)}
    story.run()
    for number in range(4):
        del story.source[f"workloads/red/d{number}.yaml"]
    story.run()
    for name in ("red", "blue"):
        del story.source[f"workloads/{name}/d7.yaml"]
    done = outcome(story.run())
    assert (done["red/d7"], done["blue/d7"]) == ("Hold a TooManyRemovals", "Remove  SourceRemoved")
    assert "tenant: blue" in story.deployment.read("guards/removals.yaml").decode()


def test_moves_that_a_tenant_asks_for_use_up_nobody_elses() -> None:
    story = fleet("", guards="{relocations: {max: 2, per: 1h}}")

    def wish(name: str, count: int, where: str) -> None:
        for number in range(count):
            text = deployment(f"d{number}", namespace=name)
            wished = f"metadata: {{annotations: {{gitplacer.dev/cluster: {where}}}, name"
            story.source[f"workloads/{name}/d{number}.yaml"] = text.replace("metadata: {name", wished, 1)

    wish("red", 5, "a")
    wish("blue", 3, "a")
    story.run()
    story.now += timedelta(hours=2)
    story.look_again()
    wish("red", 5, "b")
    first = [said for group, said in outcome(story.run()).items() if group.startswith("red/d")]
    assert sum(said.startswith("Relocate") for said in first) == 2
    wish("blue", 3, "b")
    second = [said for group, said in outcome(story.run()).items() if group.startswith("blue/d")]
    assert sum(said.startswith("Relocate") for said in second) == 1  # its fair share of two
    assert not any(d.startswith("Relocate") for d in outcome(story.run()).values())
