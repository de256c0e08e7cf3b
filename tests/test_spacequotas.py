"""
ResourceQuotas in a plan: what a namespace may take on a cluster is promised once, beside what its snapshot says is used.
"""

from __future__ import annotations

import pytest

from gitplacer.explain import finding_text
from gitplacer.hydrate import Hydration
from gitplacer.model.decision import Reason
from tests.stories import ANYWHERE, Story, cluster, decisions, deployment, outcome, policy, rayjob, snapshot

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
