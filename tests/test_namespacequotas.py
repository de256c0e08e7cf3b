"""
ResourceQuotas in a plan: what a namespace may take on a cluster is promised once, beside what its snapshot says is used.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitplacer.explain import finding_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Reason
from tests.stories import (
    ANYWHERE,
    Story,
    cluster,
    decisions,
    deployment,
    outcome,
    policy,
    rayjob,
    rayservice,
    snapshot,
)

ROOMY = "n1 64 256Gi 8"


def app(
    name: str,
    replicas: int = 2,
    resources: str = "requests: {cpu: 1, memory: 1Gi}",
    *,
    namespace: str = "web",
    spec: str = "",
) -> dict[str, str]:
    return deployment(namespace, name, resources, replicas=replicas, spec=spec)


def quota(hard: str, used: str = "{}", more: str = "") -> str:
    return f"resourceQuotas: [{{namespace: web, name: rq, hard: {hard}, used: {used}{more}}}]\n"


def refusals(done: Hydration, group: str) -> list[str]:
    """What is said of clusters whose quotas refuse a group."""
    found = (c.finding for c in decisions(done)[group].candidates if c.finding.code is Reason.QUOTA_EXCEEDED)
    return [finding_text(finding) for finding in found]


IN_SCOPE = ", scopes: [{scopeName: %s}]"
OF_CLASS = ", scopes: [{scopeName: PriorityClass, operator: In, values: [high]}]"
HIGH = "priorityClasses: [{name: high, value: 5}]\n"
HIGH_BY_DEFAULT = "priorityClasses: [{name: high, value: 5, globalDefault: true}]\n"


@pytest.mark.parametrize(("more", "files", "said"), [
    ("", app("x"), ""),
    (quota("{requests.cpu: 4}", "{requests.cpu: 2}"), app("x"), ""),
    (quota("{requests.cpu: 4}", "{requests.cpu: 2500m}"), app("x"), "the pods take 2 of requests.cpu, and 1500m is left"),
    (quota("{cpu: 1}"), app("x"), "the pods take 2 of cpu, and 1 is left"),
    (quota("{pods: 3}", "{pods: 2}"), app("x"), "the pods take 2 of pods, and 1 is left"),
    (quota("{count/pods: 1}"), app("x"), "the pods take 2 of count/pods, and 1 is left"),
    (quota("{memory: 1Gi}", "{memory: 2Gi}"), app("x"), "the pods take 2Gi of memory, and 0 is left"),
    (quota("{limits.memory: 4Gi}"), app("x", resources="limits: {memory: 3Gi}"), "the pods take 6Gi of limits.memory, and 4Gi is left"),
    (quota("{limits.memory: 4Gi}"), app("x"), None),
    (quota("{limits.memory: 4Gi}") + "limitRanges: [{namespace: web, default: {memory: 1Gi}}]\n", app("x"), ""),
    (quota("{requests.nvidia.com/gpu: 1}"), app("x", resources="limits: {nvidia.com/gpu: 1}"), "the pods take 2 of requests.nvidia.com/gpu, and 1 is left"),
    (quota("{requests.nvidia.com/gpu: 0}"), app("x"), ""),
    (quota("{pods: 0}").replace("web", "other"), app("x"), ""),
    (quota("{pods: 0}", more=IN_SCOPE % "Terminating"), app("x"), ""),
    (quota("{pods: 0}", more=IN_SCOPE % "NotTerminating"), app("x"), "the pods take 2 of pods, and 0 is left"),
    (quota("{pods: 0}", more=IN_SCOPE % "BestEffort"), app("x"), ""),
    (quota("{pods: 0}", more=IN_SCOPE % "BestEffort"), app("x", resources=""), "the pods take 2 of pods, and 0 is left"),
    (quota("{pods: 0}", more=OF_CLASS), app("x"), ""),
    (quota("{pods: 0}", more=OF_CLASS) + HIGH, app("x", spec="priorityClassName: high"), "the pods take 2 of pods, and 0 is left"),
    (quota("{pods: 0}", more=OF_CLASS) + HIGH_BY_DEFAULT, app("x"), "the pods take 2 of pods, and 0 is left"),
])  # fmt: skip
def test_a_namespace_takes_no_more_than_its_quota_has_left(more: str, files: dict[str, str], said: str | None) -> None:
    capacity = snapshot("a", ROOMY, more=more) | snapshot("b", ROOMY)
    first_a = policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}")
    done = Story.of(cluster("a"), cluster("b"), first_a, files, capacity=capacity).run()
    wants = "ResourceQuota rq of namespace web wants limits.memory of each container of pod"
    of = "ResourceQuota rq of namespace web: "
    assert refusals(done, "web/x") == ([wants] if said is None else [of + said] if said else [])
    assert decisions(done)["web/x"].after == (("a",) if said == "" else ("b",))


def test_all_that_a_ray_app_becomes_counts() -> None:
    """The head, two workers and the submitter; each worker has an init container that asks for less than its worker."""
    for hard, fits in (
        ("{pods: 4}", True),
        ("{pods: 3}", False),
        ("{requests.cpu: 6500m}", True),
        ("{requests.cpu: 6400m}", False),
    ):
        capacity = snapshot("a", ROOMY, more=quota(hard))
        done = Story.of(cluster("a"), ANYWHERE, rayjob("web", "train"), capacity=capacity).run()
        assert bool(decisions(done)["web/train"].after) is fits, hard


def test_what_is_promised_to_one_is_not_promised_to_another() -> None:
    capacity = snapshot("a", ROOMY, more=quota("{pods: 3}"))
    story = Story.of(cluster("a"), ANYWHERE, app("x"), app("xx"), app("z", namespace="other"), capacity=capacity)
    done = story.run()
    assert outcome(done) == {"other/z": "Place a Fits", "web/x": "Place a Fits", "web/xx": "Wait  NoClusterFits"}
    of = "ResourceQuota rq of namespace web: the pods take 2 of pods, and 3 is left"
    assert refusals(done, "web/xx") == [f"{of}, 2 of it promised to others"]
    story.source |= cluster("b")
    story.capacity |= snapshot("b", ROOMY)
    assert outcome(story.run())["web/xx"] == "Place b Fits"


RUNS = "{name: web/x, phase: Running, ready: true, pods: [{role: pod, node: n1}, {role: pod%s}]}"


@pytest.mark.parametrize(("second", "used", "expected"), [
    (", node: n1", 2, "Place a Fits"),
    ("", 2, "Place a Fits"),  # it waits for a node, and was counted when it was made
    (", node: n1", 3, "Wait  NoClusterFits"),
])  # fmt: skip
def test_pods_that_are_seen_are_among_what_is_used(second: str, used: int, expected: str) -> None:
    story = Story.of(cluster("a"), ANYWHERE, app("x"), capacity=snapshot("a", ROOMY, more=quota("{pods: 4}")))
    assert outcome(story.run()) == {"web/x": "Place a Fits"}
    story.source |= app("xx")
    more = quota("{pods: 4}", f"{{pods: {used}}}") + f"groups: [{RUNS % second}]\n"
    story.capacity = snapshot("a", ROOMY, more=more)
    assert outcome(story.run())["web/xx"] == expected


def test_who_leaves_gives_back_what_was_promised_and_who_runs_stays() -> None:
    story = Story.of(
        cluster("a"), ANYWHERE, app("x"), app("xx"), capacity=snapshot("a", ROOMY, more=quota("{pods: 3}"))
    )
    assert outcome(story.run())["web/xx"] == "Wait  NoClusterFits"
    story.capacity = snapshot("a", ROOMY, more=quota("{pods: 1}"))
    assert outcome(story.run())["web/x"] == "Keep a Kept"
    story.capacity = snapshot("a", ROOMY, more=quota("{pods: 3}"))
    del story.source["workloads/web/x.yaml"]
    assert outcome(story.run())["web/xx"] == "Place a Fits"


TEAM = policy("team", "select: {paths: ['workloads/**']}\ngroupBy: {label: team}\nclusters: {names: [a]}")
PLATFORM = policy("platform", "select: {paths: ['platform/**']}\nprecedence: 1\nplacement: {copies: All}")


def written(hard: str, path: str = "platform/web/rq.yaml", team: str = "x") -> dict[str, str]:
    head = f"apiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: rq, namespace: web, labels: {{team: {team}}}}}\n"
    return {path: f"{head}spec: {{hard: {hard}}}\n"}


def of_team(files: dict[str, str], team: str) -> dict[str, str]:
    return {
        path: text.replace("metadata: {name", f"metadata: {{labels: {{team: {team}}}, name", 1)
        for path, text in files.items()
    }


@pytest.mark.parametrize(("more", "files", "expected"), [
    ("", written("{pods: 1}"), "Wait  NoClusterFits"),
    ("", written("{pods: 2}"), "Place a Fits"),
    ("", written("{configmaps: 1}"), "Place a Fits"),
    ("", written("{pods: 1}", "workloads/web/rq.yaml"), "Wait  NoClusterFits"),  # it comes with the group
    ("", written("{pods: 1}", "workloads/web/rq.yaml", "xx"), "Place a Fits"),  # it comes with nobody
    # of one that is there already the source knows what it will be
    (quota("{pods: 1}"), written("{pods: 2}"), "Place a Fits"),
    (quota("{pods: 4}", "{pods: 1}"), written("{pods: 2}"), "Wait  NoClusterFits"),
])  # fmt: skip
def test_a_quota_of_the_source_counts_where_it_may_come(more: str, files: dict[str, str], expected: str) -> None:
    capacity = snapshot("a", ROOMY, more=more)
    done = Story.of(cluster("a"), TEAM, PLATFORM, of_team(app("x"), "x"), files, capacity=capacity).run()
    assert outcome(done)["web/x"] == expected


OF_QUOTAS = """\
apiVersion: gitplacer.dev/v1alpha1
kind: OverridePolicy
metadata: {{name: {name}}}
spec:
  select: {{kinds: [ResourceQuota]}}
  clusters: {{names: [{cluster}]}}
  overrides: [{{op: replace, path: /spec/hard/pods, value: "{pods}"}}]
"""


@pytest.mark.parametrize(("hard", "overridden", "of_it", "expected"), [
    ("{pods: 1}", {}, "", "Place b Fits"),  # b has the quota of its override, and may take it
    ("{pods: 1}", {"a": 2}, "", "Place a Fits"),
    ("{pods: 2}", {"a": 1}, "", "Place b Fits"),
    ("{pods: 1}", {"c": 2}, "", "Place b Fits"),
    ("{pods: 2}", {}, '[{op: replace, path: /spec/hard/pods, value: "1"}]', "Place b Fits"),
    ("{pods: 2}", {}, '[{op: replace, path: /spec/replicas, value: 2}]', "Place a Fits"),  # of an object that it has no part in
])  # fmt: skip
def test_a_quota_of_the_source_counts_as_overrides_make_it(
    hard: str, overridden: dict[str, object], of_it: str, expected: str
) -> None:
    rules = {
        f"overrides/{name}.yaml": OF_QUOTAS.format(name=name, cluster=name, pods=pods)
        for name, pods in ({"b": 5} | overridden).items()
    }
    first_a = policy(
        "team", "select: {paths: ['workloads/**']}\nplacement: {type: Ordered, order: [{names: [a]}, {names: [b]}]}"
    )
    own = {"overrides": of_it} if of_it else {}
    done = Story.of(
        cluster("a", **own), cluster("b"), first_a, PLATFORM, app("x"), written(hard), rules,
        capacity=snapshot("a", ROOMY) | snapshot("b", ROOMY),
    ).run()  # fmt: skip
    assert outcome(done)["web/x"] == expected


def test_of_a_quota_that_only_comes_all_that_runs_counts() -> None:
    """Two pods run, which its status will say as soon as it has one."""
    story = Story.of(cluster("a"), TEAM, PLATFORM, of_team(app("x"), "x"), capacity=snapshot("a", ROOMY))
    story.run()
    story.capacity = snapshot("a", ROOMY, more=f"groups: [{RUNS % ', node: n1'}]\n")
    story.source |= of_team(app("xx"), "xx") | written("{pods: 3}")
    done = story.run()
    assert outcome(done)["web/xx"] == "Wait  NoClusterFits"
    assert refusals(done, "web/xx")[0].endswith("and 3 is left, 2 of it promised to others")
    assert outcome(done)["web/x"].startswith("Keep a")
    story.source |= written("{pods: 4}")
    assert outcome(story.run())["web/xx"] == "Place a Fits"


# edits of what runs

HOLD = policy("hold", "select: {}\nupdate: {ifNotFit: Hold}")
ONE_AT_A_TIME = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"
AT_ONCE = "strategy: {type: Recreate}"
FULL = "requests: {cpu: 1}, limits: {cpu: 1}"


def shown(*names: str, pods: str = "{role: pod, node: n1, requests: {cpu: '1'}}", count: int = 2) -> str:
    """Of groups so many equal pods, which run."""
    each = ", ".join([pods] * count)
    groups = ", ".join(f"{{name: web/{name}, phase: Running, ready: true, pods: [{each}]}}" for name in names)
    return f"groups: [{groups}]\n"


def runs(before: dict[str, str], more: str, *, rule: dict[str, str] = HOLD) -> Story:
    """A story in which something runs on its only cluster, as its snapshot shows."""
    story = Story.of(cluster("a"), rule, before, capacity=snapshot("a", ROOMY))
    assert all(said == "Place a Fits" for said in outcome(story.run()).values())
    story.capacity = snapshot("a", ROOMY, at=story.now, more=more)
    return story


def why(done: Hydration, group: str) -> str:
    """What the quota rq has against an edit; '' if nothing."""
    _, _, said = finding_text(decisions(done)[group].finding).partition("ResourceQuota rq of namespace web")
    return said.removeprefix(": ").partition(";")[0].strip()


@pytest.mark.parametrize(("kind", "more", "was", "now", "bounds", "said"), [
    # what more replicas take is asked for once: those that run are used already
    ("Deployment", "", (2, FULL), (3, FULL), ("{pods: 3}", "{pods: 2}"), ""),
    ("Deployment", "", (2, FULL), (5, FULL), ("{pods: 3}", "{pods: 2}"), "the pods take 3 more of pods, and 1 is left"),
    ("Deployment", "", (2, FULL), (1, FULL), ("{pods: 1}", "{pods: 2}"), ""),
    # of which one was never made: it is asked for beside those that are added
    ("Deployment", "", (3, FULL), (4, FULL), ("{pods: 3}", "{pods: 2}"), "the pods take 2 more of pods, and 1 is left"),
    ("Deployment", "", (3, FULL), (3, FULL), ("{pods: 2}", "{pods: 2}"), ""),
    # a rolling update that may take no pod away needs one more
    ("Deployment", "", (2, FULL), (2, "requests: {cpu: 500m}, limits: {cpu: 1}"), ("{pods: 2}", "{pods: 2}"), "the pods take 1 more of pods, and 0 is left"),
    ("Deployment", "", (2, FULL), (2, "requests: {cpu: 500m}, limits: {cpu: 1}"), ("{pods: 3}", "{pods: 2}"), ""),
    # but not where it is to have fewer: some go before the first comes
    ("Deployment", "", (4, FULL), (2, "requests: {cpu: 500m}, limits: {cpu: 1}"), ("{pods: 4}", "{pods: 4}"), ""),
    ("Deployment", "", (4, FULL), (2, "requests: {cpu: 1500m}, limits: {cpu: 2}"), ("{requests.cpu: 4}", "{requests.cpu: 4}"), ""),
    ("Deployment", "", (4, FULL), (2, "requests: {cpu: 2500m}, limits: {cpu: 3}"), ("{requests.cpu: 4}", "{requests.cpu: 4}"),
     "the pods take 2 more of requests.cpu, and 0 is left"),
    ("Deployment", ONE_AT_A_TIME, (2, FULL), (2, "requests: {cpu: 500m}, limits: {cpu: 1}"), ("{pods: 1}", "{pods: 2}"), ""),
    # at its last step there are all new ones and an old one
    ("Deployment", "", (2, FULL), (2, "requests: {cpu: 2}, limits: {cpu: 2}"), ("{requests.cpu: 4500m}", "{requests.cpu: 2}"),
     "the pods take 3 more of requests.cpu, and 2500m is left"),
    ("Deployment", "", (2, FULL), (2, "requests: {cpu: 2}, limits: {cpu: 2}"), ("{requests.cpu: 5}", "{requests.cpu: 2}"), ""),
    ("Deployment", "", (2, FULL), (2, "requests: {cpu: 1}, limits: {cpu: 2}"), ("{limits.cpu: 4}", "{limits.cpu: 2}"),
     "the pods take 3 more of limits.cpu, and 2 is left"),
    ("Deployment", ONE_AT_A_TIME, (2, FULL), (2, "requests: {cpu: 2}, limits: {cpu: 2}"), ("{requests.cpu: 4500m}", "{requests.cpu: 2}"), ""),
    # larger pods come in the place of those that run
    ("Deployment", AT_ONCE, (2, FULL), (2, "requests: {cpu: 2}, limits: {cpu: 2}"), ("{requests.cpu: 4}", "{requests.cpu: 2}"), ""),
    ("Deployment", AT_ONCE, (2, FULL), (2, "requests: {cpu: 2}, limits: {cpu: 2}"), ("{requests.cpu: 3}", "{requests.cpu: 2}"),
     "the pods take 2 more of requests.cpu, and 1 is left"),
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 1}, limits: {cpu: 3}"), ("{limits.cpu: 6}", "{limits.cpu: 2}"), ""),
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 1}, limits: {cpu: 3}"), ("{limits.cpu: 5}", "{limits.cpu: 2}"),
     "the pods take 4 more of limits.cpu, and 3 is left"),
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 500m}, limits: {cpu: 500m}"), ("{limits.cpu: 1}", "{limits.cpu: 2}"), ""),
    ("StatefulSet", "", (2, FULL), (4, "requests: {cpu: 500m}, limits: {cpu: 500m}"), ("{limits.cpu: 1}", "{limits.cpu: 2}"), ""),
    # what a quota wants of each container is wanted of new pods alone
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 1}"), ("{limits.cpu: 9}", "{limits.cpu: 2}"), "wants limits.cpu of each container of pod"),
    ("StatefulSet", "", (2, "requests: {cpu: 1}"), (1, "requests: {cpu: 1}"), ("{limits.cpu: 0}", "{}"), ""),
    # over its quota already, which is nothing to what does not grow
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1}"), ("{pods: 1, cpu: 1}", "{pods: 2, cpu: 2}"), ""),
    ("StatefulSet", "", (2, FULL), (2, "requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1}"), ("{pods: 1, memory: 1}", "{pods: 2}"),
     "the pods take 2Gi more of memory, and 1 is left"),
])  # fmt: skip
def test_an_edit_takes_no_more_than_its_quota_has_left(
    kind: str, more: str, was: tuple[int, str], now: tuple[int, str], bounds: tuple[str, str], said: str
) -> None:
    before, after = (
        deployment("web", "x", resources, replicas=replicas, kind=kind, more=more) for replicas, resources in (was, now)
    )
    story = runs(before, quota(*bounds) + shown("x", count=was[0] // 2 * 2))
    story.source |= after
    done = story.run()
    assert why(done, "web/x") == said
    done = story.run()
    assert outcome(done) == {"web/x": "Hold a UpdateHeld" if said else "Keep a Kept"}


RAY = "{role: head, node: n1, requests: {cpu: '2', memory: 2Gi}}, {role: worker/gpu, node: n1, requests: {cpu: '2', memory: 4Gi, nvidia.com/gpu: '1'}}"


@pytest.mark.parametrize(("strategy", "old", "new", "hard", "said"), [
    # a full second Ray cluster beside the first
    ("", "name: worker, image: ray,", "name: worker, image: ray:2,", "{pods: 4}", ""),
    ("", "name: worker, image: ray,", "name: worker, image: ray:2,", "{pods: 3}", "the pods take 2 more of pods, and 1 is left"),
    # which KubeRay makes for nothing of these
    ("", "replicas: 1", "replicas: 2", "{pods: 2}", ""),
    ("upgradeStrategy: {type: None}", "name: worker, image: ray,", "name: worker, image: ray:2,", "{pods: 2}", ""),
])  # fmt: skip
def test_an_upgrade_of_a_service_takes_its_quota_twice(strategy: str, old: str, new: str, hard: str, said: str) -> None:
    app = {path: text.replace("spec:\n", f"spec:\n  {strategy}\n", 1) for path, text in rayservice("web", "x").items()}
    story = runs(app, quota(hard, "{pods: 2}") + shown("x", pods=RAY, count=1))
    story.source |= {path: text.replace(old, new, 1) for path, text in app.items()}
    assert why(story.run(), "web/x") == said


@pytest.mark.parametrize(("strategy", "edit", "hard", "said"), [
    # what is made anew gives back first what it had
    ("Recreate", ("cpu: 2, memory: 4Gi", "cpu: 3, memory: 4Gi"), "{requests.cpu: 5}", ""),
    ("Recreate", ("cpu: 2, memory: 4Gi", "cpu: 3, memory: 4Gi"), "{requests.cpu: 4}", "the pods take 1 more of requests.cpu, and 0 is left"),
    ("None", ("cpu: 2, memory: 4Gi", "cpu: 3, memory: 4Gi"), "{requests.cpu: 4}", ""),  # KubeRay leaves its pods alone
    ("None", ("replicas: 1", "replicas: 2"), "{requests.cpu: 5}", "the pods take 2 more of requests.cpu, and 1 is left"),
    ("Recreate", ("replicas: 1", "replicas: 0"), "{requests.cpu: 1}", ""),
])  # fmt: skip
def test_a_ray_cluster_that_is_made_anew_gives_back_first_what_it_had(
    strategy: str, edit: tuple[str, str], hard: str, said: str
) -> None:
    app = a_ray_cluster(strategy)
    story = runs(app, quota(hard, "{requests.cpu: 4}") + shown("x", pods=RAY, count=1))
    story.source |= {path: text.replace(*edit) for path, text in app.items()}
    assert why(story.run(), "web/x") == said


def test_a_new_worker_group_takes_its_own_pods_alone() -> None:
    app = a_ray_cluster("None")
    added = """\
  - groupName: more
    replicas: 3
    rayStartParams: {}
    template: {spec: {containers: [{name: worker, image: ray, resources: {requests: {cpu: 2, memory: 4Gi}}}]}}
"""
    for hard, said in (("{pods: 5}", ""), ("{pods: 4}", "the pods take 3 more of pods, and 2 is left")):
        story = runs(app, quota(hard, "{pods: 2}") + shown("x", pods=RAY, count=1))
        story.source |= {path: text + added for path, text in app.items()}
        assert why(story.run(), "web/x") == said


def a_ray_cluster(strategy: str) -> dict[str, str]:
    """A head and a worker with two cpu each."""
    text = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: x}}
spec:
  upgradeStrategy: {{type: {strategy}}}
  headGroupSpec:
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: head, image: ray, resources: {{requests: {{cpu: 2, memory: 2Gi}}}}}}]}}}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 1
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: worker, image: ray, resources: {{requests: {{cpu: 2, memory: 4Gi}}, limits: {{nvidia.com/gpu: 1}}}}}}]}}}}
"""
    return {"workloads/web/x.yaml": text}


@pytest.mark.parametrize(("hard", "decided"), [
    ("{pods: 4}", "Update a Updated"),
    ("{pods: 3}", "Update a Outgrown"),  # as where it finds no room: what is added takes what gets free
])  # fmt: skip
def test_what_is_added_to_a_group_is_asked_for_beside_what_runs(hard: str, decided: str) -> None:
    story = runs(of_team(app("x"), "x"), quota(hard, "{pods: 2}") + shown("x"), rule=TEAM)
    story.source |= of_team(app("xx"), "x") | of_team(app("new", replicas=1), "new")
    done = story.run()
    assert outcome(done) == {"web/x": decided, "web/new": "Wait  NoClusterFits"}
    assert why(done, "web/x") == ("the pods take 2 more of pods, and 1 is left" if "Outgrown" in decided else "")
    assert outcome(story.run())["web/x"] == "Keep a Kept"


def test_of_two_edits_the_first_gets_what_is_left_and_what_waits_comes_after() -> None:
    before = deployment("web", "x", FULL, replicas=2) | deployment("web", "xx", FULL, replicas=2)
    story = runs(before, quota("{pods: 6}", "{pods: 4}") + shown("x", "xx"))
    story.source |= deployment("web", "x", FULL, replicas=4) | deployment("web", "xx", FULL, replicas=4)
    story.source |= deployment("web", "new", FULL)
    done = story.run()
    assert outcome(done) == {
        "web/new": "Wait  NoClusterFits",
        "web/x": "Update a Updated",
        "web/xx": "Hold a UpdateHeld",
    }
    assert why(done, "web/xx") == "the pods take 2 more of pods, and 2 is left, 2 of it promised to others"
    # as long as nothing more is seen, what the first was promised is not promised again
    assert outcome(story.run()) == {
        "web/new": "Wait  NoClusterFits",
        "web/x": "Keep a Kept",
        "web/xx": "Hold a UpdateHeld",
    }


@pytest.mark.parametrize(("rule", "outcomes"), [
    (HOLD, {"web/new": "Place a Fits", "web/x": "Hold a UpdateHeld"}),  # what is held back keeps nothing from others
    (policy("go", "select: {}\nupdate: {ifNotFit: Proceed}"), {"web/new": "Wait  NoClusterFits", "web/x": "Update a Outgrown"}),
])  # fmt: skip
def test_what_goes_on_beyond_its_quota_takes_what_gets_free(rule: dict[str, str], outcomes: dict[str, str]) -> None:
    story = runs(deployment("web", "x", FULL, replicas=2), quota("{pods: 3}", "{pods: 2}") + shown("x"), rule=rule)
    story.source |= deployment("web", "x", FULL, replicas=4) | deployment("web", "new", FULL)
    story.source |= deployment("other", "beside", FULL)
    assert outcome(story.run()) == {"other/beside": "Place a Fits", **outcomes}


NO_SURGE = "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}"
MAY_MISS_ONE = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}"


@pytest.mark.parametrize(("kind", "more", "limits", "left"), [
    ("Deployment", "strategy: {type: Recreate}", "", [4, 4, 4]),  # six of ten in the end
    ("Deployment", NO_SURGE, "", [4, 4, 4]),
    ("StatefulSet", "serviceName: x", "", [4, 4, 4]),
    ("StatefulSet", "serviceName: x", "limits.cpu: 20, ", [4, 4, 4]),
    ("Deployment", MAY_MISS_ONE, "", [4, 3, 3]),  # its surge may wait, and takes what there is
    ("Deployment", "", "", [2, 2, 2]),  # two new ones, and an old one that waits for the last of them
])  # fmt: skip
def test_what_larger_pods_take_of_a_quota_at_the_end_is_kept_from_the_merge_on(
    kind: str, more: str, limits: str, left: list[int]
) -> None:
    """In the pass of the edit it was; in those that followed, until a snapshot showed the new ones, it was given to others."""
    asks = "limits: {{cpu: {0}, memory: 1Gi}}, requests: {{cpu: {0}, memory: 1Gi}}"

    def web(cpu: int) -> dict[str, str]:
        return deployment("web", "x", asks.format(cpu), replicas=2, kind=kind, more=more)

    def space(used: int) -> str:
        pods = ", ".join(2 * ['{role: pod, node: n1, requests: {cpu: "2", memory: 1Gi}}'])
        bounds = quota(f"{{{limits}requests.cpu: 10}}", f"{{requests.cpu: {used}}}")
        return bounds + (f"groups: [{{name: web/x, phase: Running, ready: true, pods: [{pods}]}}]\n" if used else "")

    def fits(cpu: int) -> bool:
        beside = {"workloads/web/new.yaml": deployment("web", "new", asks.format(cpu))["workloads/web/new.yaml"]}
        twin = replace(story, source={**story.source, **beside})
        return outcome(twin.plan())["web/new"] == "Place a Fits"

    story = Story.of(cluster("a"), ANYWHERE, web(2), capacity=snapshot("a", ROOMY, more=space(0)))
    story.run()
    story.capacity = snapshot("a", ROOMY, at=story.now, more=space(4))
    found = []
    story.source |= web(3)
    for _ in range(2):
        found.append(sum(map(fits, range(1, 11))))
        story.run()
    story.look_again()  # which shows the old ones still
    found.append(sum(map(fits, range(1, 11))))
    assert found == left


def test_an_edit_beyond_its_quota_moves_to_where_the_quota_lets_it_in() -> None:
    story = runs(deployment("web", "x", FULL, replicas=2), quota("{pods: 3}", "{pods: 2}") + shown("x"), rule=ANYWHERE)
    story.source |= cluster("b") | cluster("c") | deployment("web", "x", FULL, replicas=4)
    story.capacity |= snapshot("b", ROOMY, more=quota("{pods: 3}")) | snapshot("c", ROOMY, more=quota("{pods: 4}"))
    assert outcome(story.run()) == {"web/x": "Relocate c Outgrown"}


def test_a_second_ray_cluster_has_its_quota_until_it_is_seen_to_be_done() -> None:
    app = rayservice("web", "x")
    of_two = quota("{pods: 5}", "{pods: 2}") + shown("x", pods=RAY, count=1)
    story = runs(app, of_two)
    story.source |= {
        path: text.replace("name: worker, image: ray,", "name: worker, image: ray:2,") for path, text in app.items()
    }
    assert outcome(story.run()) == {"web/x": "Update a UpgradeFits"}
    story.source |= deployment("web", "new", FULL, replicas=2)
    assert outcome(story.run())["web/new"] == "Wait  NoClusterFits"
    story.capacity = snapshot("a", ROOMY, at=story.now, more=quota("{pods: 5}", "{pods: 4}") + shown("x", pods=RAY))
    assert outcome(story.run())["web/new"] == "Wait  NoClusterFits"
    for _ in range(2):
        story.capacity = snapshot("a", ROOMY, at=story.now, more=of_two + "applied: {workloads: 2}\n")
        done = story.run()
    assert outcome(done)["web/new"] == "Place a Fits"


def test_an_edit_counts_in_full_where_nobody_has_counted_a_quota_yet() -> None:
    """Its pods that run are not among what is used, so that all of them take from it."""
    for hard, decided in (("{pods: 4}", "Update a Updated"), ("{pods: 3}", "Update a Outgrown")):
        story = Story.of(cluster("a"), TEAM, PLATFORM, of_team(app("x"), "x"), capacity=snapshot("a", ROOMY))
        story.run()
        story.capacity = snapshot("a", ROOMY, at=story.now, more=shown("x"))
        story.source |= of_team(app("x", replicas=4), "x") | written(hard)
        assert outcome(story.run())["web/x"] == decided


# what comes besides pods


def thing(kind: str, name: str, spec: str = "", api: str = "v1", more: str = "") -> dict[str, str]:
    """An object of team t beside others."""
    text = f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}, labels: {{team: t}}{more}}}\n"
    return {f"workloads/web/{kind.lower()}-{name}.yaml": text + (f"spec: {spec}\n" if spec else "")}


def claim(name: str, size: str = "10Gi", of: str = "") -> dict[str, str]:
    return thing(
        "PersistentVolumeClaim",
        name,
        f"{{accessModes: [ReadWriteMany], resources: {{requests: {{storage: {size}}}}}{of}}}",
    )


def ray(kind: str, cluster: str = "", more: str = "", annotations: str = "") -> dict[str, str]:
    """An object of Ray with a head and a worker; `cluster` are more fields of its Ray cluster, and `more` of its own."""
    pod = "template: {spec: {containers: [{name: c, image: ray, resources: {requests: {cpu: 1}}}]}}"
    of = f"{{headGroupSpec: {{rayStartParams: {{}}, {pod}}}, workerGroupSpecs: [{{groupName: w, replicas: 1, rayStartParams: {{}}, {pod}}}]{cluster}}}"
    inside = {"RayCluster": "", "RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}[kind]
    named = f", annotations: {{{annotations}}}" if annotations else ""
    return thing(kind, "x", f"{{{inside}: {of}{more}}}" if inside else of, "ray.io/v1", named)


def set_of(replicas: int, volumes: str, size: str = "10Gi") -> dict[str, str]:
    """A StatefulSet whose pods have a claim each, made by the set or for the pod."""
    template = f"{{accessModes: [ReadWriteMany], resources: {{requests: {{storage: {size}}}}}}}"
    made = {
        "set": ("", f", volumeClaimTemplates: [{{metadata: {{name: d}}, spec: {template}}}]"),
        "pod": (f", volumes: [{{name: d, ephemeral: {{volumeClaimTemplate: {{spec: {template}}}}}}}]", ""),
    }
    pod, own = made[volumes]
    spec = (
        f"{{replicas: {replicas}, selector: {{matchLabels: {{app: x}}}}, template: {{metadata: {{labels: {{app: x}}}}, "
        f"spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]{pod}}}}}{own}}}"
    )
    return thing("StatefulSet", "x", spec, "apps/v1")


def service(type_: str) -> dict[str, str]:
    return thing("Service", "a", f"{{type: {type_}, selector: {{app: x}}, ports: [{{port: 1}}]}}")


TEAM_APP = of_team(app("x"), "t")
IN_GOLD = ", storageClassName: gold"
BOTH_PORTS = "{type: LoadBalancer, selector: {app: x}, ports: [{port: 1}, {port: 2, nodePort: 30000}]%s}"
GOLD = "gold.storageclass.storage.k8s.io/"
GOLDEN = "storageClasses: [{name: gold, default: true}, {name: tin}]\n"
JOB = ", entrypoint: run"


@pytest.mark.parametrize(("files", "name", "takes", "more"), [
    # what a group is
    (thing("ConfigMap", "a") | thing("ConfigMap", "b"), "configmaps", 2, ""),
    (thing("ConfigMap", "a"), "count/configmaps", 1, ""),
    (thing("ConfigMap", "a"), "secrets", 0, ""),
    (thing("NetworkPolicy", "a", "{podSelector: {matchLabels: {a: b}}}", "networking.k8s.io/v1"), "count/networkpolicies.networking.k8s.io", 1, ""),
    ({}, "count/deployments.apps", 1, ""),
    (thing("Service", "a", "{selector: {app: x}, ports: [{port: 1}]}"), "services", 1, ""),
    (thing("Service", "a", "{type: NodePort, selector: {app: x}, ports: [{port: 1}, {port: 2}]}"), "services.nodeports", 2, ""),
    (thing("Service", "a", BOTH_PORTS % ""), "services.loadbalancers", 1, ""),
    (thing("Service", "a", BOTH_PORTS % ""), "services.nodeports", 2, ""),
    (thing("Service", "a", BOTH_PORTS % ", allocateLoadBalancerNodePorts: false"), "services.nodeports", 1, ""),
    # claims, and those that are made
    (claim("a") | claim("b", "5Gi"), "requests.storage", 15 * 2**30, ""),
    (claim("a") | claim("b"), "persistentvolumeclaims", 2, ""),
    (claim("a", of=", storageClassName: gold"), GOLD + "requests.storage", 10 * 2**30, ""),
    (claim("a", of=", storageClassName: tin"), GOLD + "requests.storage", 0, GOLDEN),
    (claim("a"), GOLD + "persistentvolumeclaims", 1, GOLDEN),
    (claim("a", of=', storageClassName: ""'), GOLD + "persistentvolumeclaims", 0, GOLDEN),
    (set_of(3, "set"), "requests.storage", 30 * 2**30, ""),
    (set_of(3, "set"), GOLD + "persistentvolumeclaims", 3, GOLDEN),
    (set_of(2, "pod"), "count/persistentvolumeclaims", 2, ""),
    # what KubeRay makes
    (ray("RayCluster"), "count/rayclusters.ray.io", 1, ""),
    (ray("RayCluster"), "services", 1, ""),
    (ray("RayCluster", annotations="ray.io/enable-serve-service: 'true'"), "services", 2, ""),
    (ray("RayCluster", ", suspend: true"), "services", 0, ""),
    (ray("RayCluster", ", enableInTreeAutoscaling: true"), "count/rolebindings.rbac.authorization.k8s.io", 1, ""),
    (ray("RayCluster", ", enableInTreeAutoscaling: true"), "count/serviceaccounts", 1, ""),
    (ray("RayJob", more=JOB), "count/rayjobs.ray.io", 1, ""),
    (ray("RayJob", more=JOB), "count/rayclusters.ray.io", 1, ""),
    (ray("RayJob", more=JOB), "count/jobs.batch", 1, ""),
    (ray("RayJob", more=JOB + ", submissionMode: HTTPMode"), "count/jobs.batch", 0, ""),
    (ray("RayService"), "count/rayclusters.ray.io", 1, ""),
    (ray("RayService"), "services", 3, ""),
])  # fmt: skip
def test_a_namespace_takes_no_more_objects_and_storage_than_its_quota_has_left(
    files: dict[str, str], name: str, takes: int, more: str
) -> None:
    team = (
        of_team(app("x", resources="requests: {cpu: 1}"), "t")
        if not any("ray" in path or "set" in path for path in files)
        else {}
    )
    for left, fits in ((takes, True), *(((takes - 1, False),) if takes else ())):
        capacity = snapshot("a", ROOMY, more=quota(f"{{{name}: {left}}}") + more)
        done = Story.of(cluster("a"), TEAM, team, files, capacity=capacity).run()
        assert outcome(done)["web/t"] == ("Place a Fits" if fits else "Wait  NoClusterFits")
        if not fits:
            assert "of namespace web: the objects take " in refusals(done, "web/t")[0]
            assert f" of {name}, and " in refusals(done, "web/t")[0]


def test_a_quota_with_scopes_counts_no_objects() -> None:
    capacity = snapshot("a", ROOMY, more=quota("{configmaps: 0}", more=IN_SCOPE % "NotTerminating"))
    files = of_team(app("x"), "t") | thing("ConfigMap", "a")
    assert outcome(Story.of(cluster("a"), TEAM, files, capacity=capacity).run())["web/t"] == "Place a Fits"


def test_objects_are_promised_once_until_their_cluster_has_them() -> None:
    one = of_team(app("x"), "t") | claim("a")
    story = Story.of(cluster("a"), TEAM, one, capacity=snapshot("a", ROOMY, more=quota("{persistentvolumeclaims: 1}")))
    assert outcome(story.run()) == {"web/t": "Place a Fits"}
    two = {path.replace("claim-a", "claim-b"): text.replace("name: a", "name: b") for path, text in claim("a").items()}
    story.source |= of_team(app("xx"), "u") | {path: text.replace("team: t", "team: u") for path, text in two.items()}
    assert outcome(story.run())["web/u"] == "Wait  NoClusterFits"
    for used, said in ((1, "Place a Fits"), (2, "Wait  NoClusterFits")):
        there = (
            quota("{persistentvolumeclaims: 2}", f"{{persistentvolumeclaims: {used}}}") + "applied: {workloads: 1}\n"
        )
        story.capacity = snapshot("a", ROOMY, at=story.now, more=there)
        assert outcome(story.plan())["web/u"] == said


@pytest.mark.parametrize(("before", "after", "hard", "decided"), [
    # an object more
    (of_team(app("x"), "t"), thing("ConfigMap", "a"), "{configmaps: 2}", "Update a Updated"),
    (of_team(app("x"), "t"), thing("ConfigMap", "a"), "{configmaps: 1}", "Update a Outgrown"),
    (of_team(app("x"), "t"), thing("ConfigMap", "a"), "{secrets: 0}", "Update a Updated"),
    # a claim more for each pod more
    (set_of(1, "set"), set_of(2, "set"), "{requests.storage: 1}", "Update a Outgrown"),
    (set_of(2, "set"), set_of(1, "set"), "{requests.storage: 1}", "Update a Updated"),
    (set_of(1, "set"), set_of(2, "set"), "{requests.storage: 11Gi}", "Update a Updated"),
    (set_of(2, "set"), set_of(1, "set") | claim("a"), "{requests.storage: 1}", "Update a Outgrown"),  # its claims are kept
    # a claim that is to be larger, and no other edit beside it
    (TEAM_APP | claim("a"), claim("a", "15Gi"), "{requests.storage: 4Gi}", "Update a Outgrown"),
    (TEAM_APP | claim("a"), claim("a", "15Gi"), "{requests.storage: 6Gi}", "Update a Updated"),
    (TEAM_APP | claim("a"), claim("a") | of_team(app("x", replicas=3), "t"), "{requests.storage: 1}", "Update a Updated"),
    (TEAM_APP | claim("a"), claim("a", "15Gi") | of_team(app("x", replicas=3), "t"), "{requests.storage: 4Gi}", "Update a Outgrown"),
    (TEAM_APP | claim("a"), claim("a", "15Gi"), "{persistentvolumeclaims: 1}", "Update a Updated"),
    (TEAM_APP | claim("a", of=IN_GOLD), claim("a", "15Gi", IN_GOLD), f"{{{GOLD}requests.storage: 4Gi}}", "Update a Outgrown"),
    (TEAM_APP | claim("a", of=IN_GOLD), claim("a", "15Gi", IN_GOLD), f"{{{GOLD}requests.storage: 6Gi}}", "Update a Updated"),
    (TEAM_APP | claim("a", of=IN_GOLD), claim("a", "15Gi", IN_GOLD), "{tin.storageclass.storage.k8s.io/requests.storage: 1}", "Update a Updated"),
    # and one of each pod, of which as many come anew
    (set_of(2, "pod"), set_of(2, "pod", "15Gi"), "{requests.storage: 9Gi}", "Update a Outgrown"),
    (set_of(2, "pod"), set_of(2, "pod", "15Gi"), "{requests.storage: 11Gi}", "Update a Updated"),
    # another object that takes more
    (TEAM_APP | service("ClusterIP"), service("LoadBalancer"), "{services.loadbalancers: 1}", "Update a Outgrown"),
    (TEAM_APP | service("ClusterIP"), service("LoadBalancer"), "{services.loadbalancers: 2}", "Update a Updated"),
    (TEAM_APP | service("LoadBalancer"), service("ClusterIP"), "{services.loadbalancers: 0}", "Update a Updated"),
    # a second Ray cluster with the Service of its head
    (ray("RayService"), ray("RayService", ", rayVersion: 2.9.0"), "{count/rayclusters.ray.io: 2, services: 2}", "Update a UpgradeFits"),
    (ray("RayService"), ray("RayService", ", rayVersion: 2.9.0"), "{count/rayclusters.ray.io: 1}", "Update a UpgradeDoesNotFit"),
    (ray("RayService"), ray("RayService", ", rayVersion: 2.9.0"), "{services: 1}", "Update a UpgradeDoesNotFit"),
])  # fmt: skip
def test_an_edit_takes_no_more_objects_than_its_quota_has_left(
    before: dict[str, str], after: dict[str, str], hard: str, decided: str
) -> None:
    """One of each is used."""
    name = hard.strip("{}").split(":")[0]
    used = f"{{{name}: 1}}" if name != "secrets" else "{}"
    pods = "{role: head, node: n1}, {role: worker/w, node: n1}" if any("ray" in path for path in before) else "{role: pod, node: n1}, {role: pod, node: n1}"  # fmt: skip
    seen = f"groups: [{{name: web/t, phase: Running, ready: true, pods: [{pods}]}}]\n"
    story = runs(before, quota(hard, used) + seen, rule=TEAM)
    story.source |= after
    assert outcome(story.run())["web/t"] == decided


@pytest.mark.parametrize(("update", "used", "decided", "said"), [
    ("{}", "9Gi", "Update a Outgrown", "there is no room for that: {}; nothing moves for that, so it will not be complete until there is"),
    ("{ifNotFit: Proceed}", "9Gi", "Update a Outgrown", "there is no room for that: {}; its policy lets the edit go on here, and it will not be complete until there is"),
    ("{ifNotFit: Hold}", "9Gi", "Hold a UpdateHeld", "there is no room for that: {}; its policy holds the edit back until there is"),
    ("{ifNotFit: Hold}", "7Gi", "Update a Updated", ""),
])  # fmt: skip
def test_a_claim_that_may_not_be_larger_yet_moves_no_app(update: str, used: str, decided: str, said: str) -> None:
    """Elsewhere it would be made anew, without what is in it."""
    rule = policy("team", f"select: {{}}\ngroupBy: {{label: team}}\nupdate: {update}")
    story = runs(TEAM_APP | claim("a", "1Gi"), quota("{requests.storage: 10Gi}", f"{{requests.storage: {used}}}") + shown("t"), rule=rule)  # fmt: skip
    story.source |= cluster("b") | claim("a", "3Gi")
    story.capacity |= snapshot("b", ROOMY)
    done = story.run()
    assert outcome(done) == {"web/t": decided}
    written = story.deployment.read("clusters/a/workloads/web/t/persistentvolumeclaim-a.yaml")
    assert (b"storage: 3Gi" in written) is not decided.startswith("Hold")
    if said:
        at = "this edit makes its objects take more on a (workloads/web/persistentvolumeclaim-a.yaml:4)"
        quota_said = "ResourceQuota rq of namespace web: the objects take 2Gi more of requests.storage, and 1Gi is left"
        assert finding_text(decisions(done)["web/t"].finding) == f"{at}; {said.format(quota_said)}"


CODE = "QuotaNotCounted"


@pytest.mark.parametrize(("files", "hard", "more", "told"), [
    (ray("RayJob", more=JOB), "{services: 9, pods: 99, configmaps: 9}", "", "services, and nobody knows how much of that RayJob web/x brings"),
    (ray("RayJob", more=JOB), "{configmaps: 9}", "", ""),
    (ray("RayCluster"), "{services: 9}", "", ""),
    (ray("RayCluster", ", rayVersion: 2.52.0, authOptions: {mode: token}"), "{secrets: 9}", "", "secrets, and nobody knows how much of that RayCluster web/x brings"),
    (ray("RayCluster", ", rayVersion: 2.52.0, authOptions: {mode: token}", annotations=f"allow.gitplacer.dev/{CODE}: one"), "{secrets: 9}", "", ""),
    (set_of(1, "set"), f"{{{GOLD}requests.storage: 99Gi, requests.storage: 99Gi}}", "", f"{GOLD}requests.storage, and nobody knows how much of that StatefulSet web/x brings"),
    (set_of(1, "set"), f"{{{GOLD}requests.storage: 99Gi}}", GOLDEN, ""),
])  # fmt: skip
def test_what_nobody_can_count_is_told_where_a_quota_bounds_it(
    files: dict[str, str], hard: str, more: str, told: str
) -> None:
    story = Story.of(cluster("a"), TEAM, files, capacity=snapshot("a", ROOMY, more=quota(hard) + more))
    done = story.run()
    assert outcome(done)["web/t"] == "Place a Fits"
    found = [problem for problem in done.problems if problem.code == CODE]
    start = "ResourceQuota rq of namespace web on a bounds "
    assert [problem.message for problem in found] == ([start + told] if told else [])
    assert all(problem.severity == "warning" and problem.location.line == 3 for problem in found)
    assert not [problem for problem in story.run().problems if problem.code == CODE]  # it is there
