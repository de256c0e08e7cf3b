"""Which policy governs what, which clusters it lets a group on, and what belongs together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.kinds.fleet import Cluster
from gitplacer.kinds.selectors import ClusterSelector
from gitplacer.policies.selecting import Selecting
from gitplacer.problems import Severity
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

ROOM = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
BOTH = (cluster("a", provider="aws", region="r1", zone="z1", kubernetesVersion='"1.31"'), cluster("b"))
NAMESPACE = {
    "platform/ns/prod.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {tier: gold}}\n",
    **policy("platform", 'select: {paths: ["platform/**"]}\nprecedence: 1\nplacement: {copies: All}'),
}


@pytest.mark.parametrize(
    ("select", "governs"),
    [
        ("{}", True),
        ("{namespaces: [prod]}", True),
        ("{namespaces: [pr*, other]}", True),
        ("{namespaces: [dev]}", False),
        ("{namespaceSelector: {matchLabels: {tier: gold}}}", True),
        ("{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}", True),
        ("{namespaceSelector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}", False),
        ("{labelSelector: {matchLabels: {app: shop}}}", True),
        ("{labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [shop]}]}}", False),
        ("{kinds: [RayService]}", True),
        ("{kinds: [Ray*]}", True),
        ("{kinds: [RayJob, RayCluster]}", False),
        ("{names: [api]}", True),
        ("{names: [web, ap*]}", True),
        ("{names: [web]}", False),
        ('{paths: ["workloads/**"]}', True),
        ('{paths: ["workloads/*"]}', False),
        ('{paths: ["**/api.yaml"]}', True),
        ("{namespaces: [prod], kinds: [RayJob]}", False),
    ],
)
def test_a_policy_governs_what_meets_all_its_conditions(select: str, governs: bool) -> None:
    service = rayservice("prod", "api", labels="{app: shop}")
    story = Story.of(*BOTH, NAMESPACE, policy("p", f"select: {select}"), service, capacity=ROOM)
    assert outcome(story.run())["prod/api"] == ("Place a Fits" if governs else "Hold  NoPolicy")


@pytest.mark.parametrize(
    ("clusters", "eligible"),
    [
        ("{}", "a b"),
        ("{names: [b]}", "b"),
        ("{matchLabels: {gitplacer.dev/provider: aws}}", "a"),
        ("{matchLabels: {topology.kubernetes.io/region: r1, topology.kubernetes.io/zone: z1}}", "a"),
        ("{matchLabels: {kubernetes.io/metadata.name: b}}", "b"),
        ('{matchLabels: {gitplacer.dev/kubernetes-version: "1.31"}}', "a"),
        ("{matchExpressions: [{key: gitplacer.dev/provider, operator: DoesNotExist}]}", "b"),
        ("{names: [a], matchExpressions: [{key: gitplacer.dev/provider, operator: DoesNotExist}]}", ""),
    ],
)
def test_clusters_are_chosen_by_own_and_derived_labels_and_by_name(clusters: str, eligible: str) -> None:
    chosen = policy("p", f"select: {{}}\nclusters: {clusters}\nplacement: {{copies: All}}")
    story = Story.of(*BOTH, chosen, rayservice("x", "api"), capacity=ROOM)
    assert " ".join(decisions(story.run())["x/api"].after) == eligible


_KEYS = st.sampled_from(["tier", "team", "topology.kubernetes.io/region", "gitplacer.dev/provider"])
_VALUES = st.sampled_from(["", "red", "blue", "aws"])
_CLUSTERS = st.fixed_dictionaries({"labels": st.dictionaries(_KEYS, _VALUES)}, optional={"region": _VALUES})
_CONDITIONS = st.one_of(
    st.fixed_dictionaries(
        {
            "key": _KEYS,
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(_VALUES, min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries({"key": _KEYS, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
_SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "names": st.lists(st.sampled_from(["a0", "a1", "a2", "nobody"])),
        "matchLabels": st.dictionaries(_KEYS, _VALUES),
        "matchExpressions": st.lists(_CONDITIONS),
    },
)


@given(st.lists(_CLUSTERS, max_size=5), st.lists(_SELECTORS, min_size=1, max_size=4))
def test_who_is_selected_is_told_at_once_as_it_is_of_each_cluster(
    drawn: list[dict[str, Any]], selectors: list[dict[str, Any]]
) -> None:
    clusters = [
        Cluster.model_validate({
            "apiVersion": "gitplacer.dev/v1alpha1", "kind": "Cluster",
            "metadata": {"name": f"a{number}", "labels": each["labels"]},
            "spec": {"region": each["region"]} if each.get("region") else {},
        })
        for number, each in enumerate(drawn)
    ]  # fmt: skip
    selecting = Selecting(clusters)
    for text in selectors:
        selector = ClusterSelector.model_validate(text)
        assert selecting.selected(selector) == {one.name for one in clusters if selector.unmet(one.labels()) is None}


@pytest.mark.parametrize(
    ("toleration", "placed"),
    [
        ("[]", "Wait  NoEligibleCluster"),
        ("[{key: reserved, operator: Exists}]", "Place a Fits"),
        ("[{key: reserved, value: x}]", "Place a Fits"),
        ("[{key: reserved, value: other}]", "Wait  NoEligibleCluster"),
        ("[{operator: Exists}]", "Place a Fits"),
        ("[{operator: Exists, effect: NoExecute}]", "Wait  NoEligibleCluster"),
    ],
)
def test_a_clusters_taint_must_be_tolerated(toleration: str, placed: str) -> None:
    tainted = cluster("a", taints="[{key: reserved, value: x}]")
    chosen = policy("p", f"select: {{}}\ntolerations: {toleration}")
    assert outcome(Story.of(tainted, chosen, rayservice("x", "api"), capacity=ROOM).run()) == {"x/api": placed}


def test_the_highest_precedence_governs_and_equal_is_an_error() -> None:
    low, high = policy("low", "select: {}"), policy("high", "select: {}\nprecedence: 5\nclusters: {names: [b]}")
    story = Story.of(*BOTH, low, high, rayservice("x", "api"), capacity=ROOM)
    assert decisions(story.run())["x/api"].policy == "high"
    story.source |= policy("low", "select: {}\nprecedence: 5")
    done = story.run()
    assert outcome(done) == {"x/api": "Hold b HasProblems"}
    assert [p.message for p in done.problems] == [
        "policies high and low both govern RayService x/api with precedence 5"
    ]


def test_an_annotation_that_asks_for_no_cluster_of_the_fleet_is_told_with_the_near_one() -> None:
    story = Story.of(*BOTH, cluster("london"), policy("p", "select: {}"), rayservice("x", "api"), capacity=ROOM)
    path = "workloads/x/api.yaml"
    story.source[path] = story.source[path].replace("labels: {}", "annotations: {gitplacer.dev/cluster: lodnon}")
    (problem,) = story.plan().problems
    assert (problem.code, problem.severity, problem.location.file) == ("WishedClusterMissing", Severity.WARNING, path)
    assert ("lodnon" in problem.message, problem.hint) == (True, 'did you mean "london"?')
    assert outcome(story.run()) == {"x/api": "Wait  NoEligibleCluster"}
    story.source |= cluster("lodnon")
    assert not story.plan().problems


def test_an_annotation_chooses_among_the_policies_that_match_and_among_the_clusters_they_allow() -> None:
    low, high = policy("low", "select: {}"), policy("high", "select: {}\nprecedence: 5\nclusters: {names: [b]}")
    story = Story.of(*BOTH, low, high, rayservice("x", "api"), capacity=ROOM)
    path = "workloads/x/api.yaml"
    plain = story.source[path]
    story.source[path] = plain.replace("labels: {}", "annotations: {gitplacer.dev/policy: low}")
    assert decisions(story.run())["x/api"].policy == "low"
    story.source[path] = plain.replace("labels: {}", "annotations: {gitplacer.dev/policy: other}")
    assert [p.code for p in story.plan().problems] == ["NoSuchPolicy"]
    wish = "annotations: {gitplacer.dev/policy: low, gitplacer.dev/cluster: b}"
    story.source[path] = plain.replace("labels: {}", wish)
    assert outcome(story.run()) == {"x/api": "Relocate b NotEligible"}
    story.source[path] = plain.replace("labels: {}", wish.replace("cluster: b", "cluster: a"))
    story.source |= policy("low", "select: {}\nclusters: {names: [b]}")
    assert outcome(story.run()) == {"x/api": "Hold b NowhereToGo"}


def test_an_annotation_keeps_a_group_where_it_is() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("x", "api"), capacity=ROOM)
    path = "workloads/x/api.yaml"
    story.source[path] = story.source[path].replace("labels: {}", "annotations: {gitplacer.dev/relocation: Never}")
    story.run()
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {"x/api": "Hold a NeverRelocated"}


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        (None, {"x/one", "x/two", "y/one"}),
        ("{label: team}", {"x/red", "x/two", "y/red"}),
        ("{directory: true}", {"x/x", "y/y"}),
        ("{namespace: true}", {"x/x", "y/y"}),
    ],
)
def test_what_group_by_joins(by: str | None, groups: set[str]) -> None:
    chosen = policy("p", "select: {}" + (f"\ngroupBy: {by}" if by else ""))
    files = (
        rayservice("x", "one", labels="{team: red}"),
        rayservice("x", "two"),
        rayservice("y", "one", labels="{team: red}"),
    )
    assert set(outcome(Story.of(*BOTH, chosen, *files, capacity=ROOM).run())) == groups


def service(name: str, selector: str) -> dict[str, str]:
    text = f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {selector}, ports: [{{port: 80}}]}}\n"
    return {f"workloads/x/{name}.yaml": text}


def deployment(name: str, volume: str = "") -> dict[str, str]:
    pod = f"containers: [{{name: m, image: i, resources: {{requests: {{cpu: 100m}}}}}}]{volume}"
    text = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{selector: {{matchLabels: {{app: {name}}}}}, "
        f"template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{pod}}}}}}}\n"
    )
    return {f"workloads/x/{name}.yaml": text}


def test_what_points_at_an_app_travels_with_it() -> None:
    ingress = {
        "workloads/x/web.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n"
        "spec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}}]}\n"
    }
    scaler = {
        "workloads/x/scale.yaml": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: s}\n"
        "spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: app}, maxReplicas: 3}\n"
    }
    budget = {
        "workloads/x/pdb.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
        "spec: {maxUnavailable: 1, selector: {matchLabels: {app: app}}}\n"
    }
    story = Story.of(
        *BOTH, ANYWHERE, deployment("app"), service("front", "{app: app}"), ingress, scaler, budget, capacity=ROOM
    )
    done = story.run()
    assert done.problems == ()
    assert [m.identity.kind for m in done.snapshot.groups["x/app"].members] == [
        "Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Ingress",
    ]  # fmt: skip


def test_a_route_of_traefik_may_lead_to_an_app_over_others_of_its_sort() -> None:
    """Neither the route nor what spreads its requests was placed; and how Traefik speaks with the app comes with its certificates."""
    traefik = (
        "apiVersion: traefik.io/v1alpha1\nkind: IngressRoute\nmetadata: {name: a}\n"
        "spec: {routes: [{kind: Rule, match: Host(`a`), services: [{name: b, kind: TraefikService}]}]}\n---\n"
        "apiVersion: traefik.io/v1alpha1\nkind: TraefikService\nmetadata: {name: b}\n"
        "spec: {mirroring: {name: c, kind: TraefikService}}\n---\n"
        "apiVersion: traefik.io/v1alpha1\nkind: TraefikService\nmetadata: {name: c}\n"
        "spec: {weighted: {services: [{name: front, port: 80, serversTransport: t}]}}\n---\n"
        "apiVersion: traefik.io/v1alpha1\nkind: ServersTransport\nmetadata: {name: t}\nspec: {rootCAs: [{configMap: ca}]}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ca}\n"
    )
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), service("front", "{app: app}"), capacity=ROOM)
    story.source["workloads/x/a.yaml"] = traefik
    done = story.run()
    assert done.problems == ()
    assert [m.identity.kind for m in done.snapshot.groups["x/app"].members] == [
        "IngressRoute", "TraefikService", "TraefikService", "ServersTransport", "ConfigMap", "Deployment", "Service",
    ]  # fmt: skip


def pod_of(name: str, metadata: str, spec: str = "") -> dict[str, str]:
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, {metadata}}}\n"
        f"spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]{spec}}}\n"
    )
    return {f"workloads/x/{name}.yaml": text}


POD_GROUP = {"workloads/x/gang.yaml": "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\n"}


@pytest.mark.parametrize(
    ("metadata", "spec", "more", "groups"),
    [
        ("labels: {kueue.x-k8s.io/pod-group-name: g}", "", {}, {"x/p0"}),
        ("labels: {scheduling.x-k8s.io/pod-group: g}", "", POD_GROUP, {"x/p0"}),
        ("labels: {scheduling.x-k8s.io/pod-group: g}", "", {}, {"x/p0"}),  # somebody else makes it
        ("annotations: {scheduling.k8s.io/group-name: g}", "", {}, {"x/p0"}),
        ("labels: {}", ", schedulingGroup: {podGroupName: g}", {}, {"x/p0"}),
        ("labels: {kueue.x-k8s.io/pod-group-name: g%d}", "", {}, {"x/p0", "x/p1", "x/p2"}),
        ("labels: {pod-group-name: g}", "", {}, {"x/p0", "x/p1", "x/p2"}),
    ],
)
def test_a_gang_of_several_objects_is_placed_whole(
    metadata: str, spec: str, more: dict[str, str], groups: set[str]
) -> None:
    """Each was a group of its own: two came to one cluster and one to the other, and all waited there for those that were not."""
    pods = [pod_of(f"p{i}", metadata % i if "%" in metadata else metadata, spec) for i in range(3)]
    done = Story.of(*BOTH, ANYWHERE, *pods, more, capacity=ROOM).run()
    assert set(done.snapshot.groups) == groups
    assert not [p for p in done.problems if p.severity is Severity.ERROR]


RAY_CLUSTER = {
    "workloads/x/rc.yaml": "apiVersion: ray.io/v1\nkind: RayCluster\n"
    "metadata: {name: rc, annotations: {ray.io/enable-serve-service: 'true'}}\n"
    "spec: {headGroupSpec: {headService: {metadata: {labels: {scrape: heads, ray.io/node-type: none}}}, "
    "template: {metadata: {labels: {app.kubernetes.io/name: mine}}, "
    "spec: {containers: [{name: head, image: ray, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}}\n"
}


@pytest.mark.parametrize(
    ("selector", "spaces", "homes"),
    [
        ("{matchLabels: {team: shop}}", "", {"x/app"}),
        ("{matchLabels: {team: shop}}", "{matchNames: [x]}", {"x/app"}),
        ("{matchLabels: {team: shop}}", "{matchNames: [x, other]}", set()),
        ("{matchLabels: {team: shop}}", "{any: true}", set()),
        ("{matchLabels: {app: app}}", "", set()),  # which a pod has, and no Service
        ("{matchLabels: {ray.io/node-type: head}}", "", {"x/job", "x/llm", "x/rc"}),
        ("{matchLabels: {ray.io/node-type: worker}}", "", set()),
        ("{matchLabels: {ray.io/cluster: rc}}", "", {"x/rc"}),
        ("{matchLabels: {ray.io/cluster: llm}}", "", set()),  # a name that KubeRay makes up
        ("{matchLabels: {app.kubernetes.io/name: kuberay}}", "", {"x/job", "x/llm"}),
        ("{matchLabels: {app.kubernetes.io/name: mine, scrape: heads}}", "", {"x/rc"}),
        ("{matchLabels: {ray.io/originated-from-cr-name: llm, ray.io/originated-from-crd: RayService}}", "", {"x/llm"}),
        ("{matchLabels: {ray.io/identifier: llm-head}}", "", {"x/llm"}),
        ("{matchLabels: {ray.io/serve: llm-serve}}", "", {"x/llm"}),
        ("{matchLabels: {ray.io/serve: rc-serve}}", "", {"x/rc"}),
        ("{matchLabels: {ray.io/serve: llm-serve, ray.io/node-type: head}}", "", set()),  # which are two Services
        ("{matchExpressions: [{key: ray.io/serve, operator: Exists}, {key: team, operator: DoesNotExist}]}", "", {"x/llm", "x/rc"}),
        ("{matchExpressions: [{key: team, operator: In, values: [shop]}, {key: app, operator: Exists}]}", "", set()),
        ("{}", "", set()),  # of the whole namespace
    ],
)  # fmt: skip
def test_who_picks_services_travels_with_the_apps_behind_them(selector: str, spaces: str, homes: set[str]) -> None:
    """Those of a ServiceMonitor are of the source, or KubeRay makes them. It was not placed at all."""
    front = {path: text.replace("name: front", "name: front, labels: {team: shop}") for path, text in service("front", "{app: app}").items()}  # fmt: skip
    ray = {**rayservice("x", "llm"), **rayjob("x", "job"), **RAY_CLUSTER}
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), front, ray, capacity=ROOM)
    story.source["workloads/x/monitor.yaml"] = (
        "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: m}\n"
        f"spec: {{selector: {selector}, endpoints: [{{port: metrics}}]{f', namespaceSelector: {spaces}' if spaces else ''}}}\n"
    )
    done = story.run()
    own = {g.id for g in done.snapshot.groups.values() if any(m.identity.name == "m" for m in (*g.members, *g.shared))}
    assert own == homes
    assert ("NotInAGroup" in {p.code for p in done.problems}) is not bool(homes)


@pytest.mark.parametrize(("name", "homes"), [("default", {"x/one", "x/two"}), ("other", set())])
def test_the_account_by_which_pods_run_that_name_none_goes_with_them(name: str, homes: set[str]) -> None:
    """Its pull secrets stayed behind with it, and no image could be pulled."""
    story = Story.of(*BOTH, ANYWHERE, deployment("one"), deployment("two"), rayservice("y", "api"), capacity=ROOM)
    story.source["workloads/x/account.yaml"] = (
        f"apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}}}\nimagePullSecrets: [{{name: pull}}]\n"
        "---\napiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: pull}\n"
    )
    done = story.run()
    for kind in ("ServiceAccount", "ExternalSecret"):
        has = {
            g.id for g in done.snapshot.groups.values() if any(m.identity.kind == kind for m in (*g.members, *g.shared))
        }
        assert has == homes
    assert ("NotInAGroup" in {p.code for p in done.problems}) is not bool(homes)


POOL = "inference.networking.k8s.io"


def pool(fields: str, group: str = f"{POOL}/v1") -> dict[str, str]:
    text = f"apiVersion: {group}\nkind: InferencePool\nmetadata: {{name: pool}}\nspec: {{{fields}}}\n"
    return {"workloads/x/pool.yaml": text}


@pytest.mark.parametrize(
    ("made", "groups"),
    [
        (pool("selector: {matchLabels: {app: llm}}, endpointPickerRef: {name: asked, port: {number: 9002}}"), {"x/llm"}),
        (pool("selector: {app: llm}, extensionRef: {name: asked}", "inference.networking.x-k8s.io/v1alpha2"), {"x/llm"}),
        (pool("selector: {matchLabels: {app: llm}}"), {"x/llm", "x/picker"}),
        (pool("selector: {matchLabels: {app: llm}}, endpointPickerRef: {name: other}"), {"x/llm", "x/picker"}),
        (pool("selector: {matchLabels: {app: none}}, endpointPickerRef: {name: asked}"), {"x/llm", "x/picker"}),
    ],
)  # fmt: skip
def test_a_pool_is_on_one_cluster_with_who_picks_among_its_pods(made: dict[str, str], groups: set[str]) -> None:
    """A Gateway asks the Service that the pool names before each request. It could be on another cluster, and no request went through."""
    apps = deployment("llm"), deployment("picker"), service("asked", "{app: picker}")
    done = Story.of(*BOTH, ANYWHERE, *apps, made, capacity=ROOM).run()
    assert set(done.snapshot.groups) == groups
    assert not [p for p in done.problems if p.severity is Severity.ERROR]


def test_all_that_a_pool_selects_is_joined_with_who_picks_among_it() -> None:
    """Such as those that prefill and those that decode, which were refused as two groups with one pool."""
    apps = deployment("decode"), deployment("picker"), deployment("prefill"), service("asked", "{app: picker}")
    chosen = "selector: {matchExpressions: [{key: app, operator: In, values: [decode, prefill]}]}, "
    story = Story.of(*BOTH, ANYWHERE, *apps, pool(chosen + "endpointPickerRef: {name: asked}"), capacity=ROOM)
    assert outcome(story.run()) == {"x/decode": "Place a Fits"}
    story.source |= pool(chosen[:-2])
    assert {p.code for p in story.plan().problems} == {"InTwoGroups"}


@pytest.mark.parametrize("kind", ["GCPBackendPolicy", "HealthCheckPolicy"])
def test_how_a_gateway_treats_a_pool_goes_where_the_pool_goes(kind: str) -> None:
    """The API group of the target was not read, so that it was in no group and came to no cluster."""
    story = Story.of(*BOTH, ANYWHERE, deployment("llm"), pool("selector: {matchLabels: {app: llm}}"), capacity=ROOM)
    story.source["workloads/x/policy.yaml"] = (
        f"apiVersion: networking.gke.io/v1\nkind: {kind}\nmetadata: {{name: p}}\n"
        f"spec: {{targetRef: {{group: {POOL}, kind: InferencePool, name: pool}}}}\n"
    )
    done = story.run()
    assert [m.identity.kind for m in done.snapshot.groups["x/llm"].members] == ["Deployment", kind, "InferencePool"]
    assert "NotInAGroup" not in {p.code for p in done.problems}


def test_a_service_of_two_groups_is_a_problem_that_names_both() -> None:
    two = deployment("one"), deployment("two")
    story = Story.of(*BOTH, ANYWHERE, *two, service("both", "{tier: web}"), capacity=ROOM)
    for name in ("one", "two"):
        path = f"workloads/x/{name}.yaml"
        story.source[path] = story.source[path].replace(
            f"{{labels: {{app: {name}}}}}", f"{{labels: {{app: {name}, tier: web}}}}"
        )
    done = story.run()
    assert outcome(done) == {"x/one": "Hold  HasProblems", "x/two": "Hold  HasProblems"}
    assert {p.message for p in done.problems} == {
        "Service x/both belongs with Deployment x/one and with Deployment x/two, which are two groups"
    }
    story.source |= policy("anywhere", "select: {}\ngroupBy: {namespace: true}")
    assert outcome(story.run()) == {"x/x": "Place a Fits"}


def test_two_groups_of_one_id_are_held_and_both_are_named() -> None:
    story = Story.of(*BOTH, ANYWHERE, deployment("same"), capacity=ROOM)
    story.source["workloads/x/job.yaml"] = rayjob("x", "same")["workloads/x/same.yaml"]
    done = story.run()
    assert outcome(done) == {"x/same": "Hold  HasProblems"}
    (problem,) = (p for p in done.problems if p.code == "GroupIdTaken")
    assert "RayJob x/same" in problem.message
    assert "Deployment x/same" in problem.message


def test_of_many_services_of_many_groups_each_is_told_once_and_each_group_of_some() -> None:
    apps = [deployment(f"app{n}") for n in range(15)]
    services = [service(f"s{n}", "{tier: web}") for n in range(30)]
    story = Story.of(*BOTH, ANYWHERE, *apps, *services, capacity=ROOM)
    for path, text in story.source.items():
        story.source[path] = text.replace("{labels: {app: ", "{labels: {tier: web, app: ")
    done = story.run()
    assert set(outcome(done).values()) == {"Hold  HasProblems"}
    assert sorted(p.message.split()[1] for p in done.problems) == sorted(f"x/s{n}" for n in range(30))
    told = sorted(len(group.problems) for group in done.snapshot.groups.values())
    assert told == [10] * 14 + [30]


def labelled(label: str, name: str) -> dict[str, str]:
    text = deployment(name)[f"workloads/x/{name}.yaml"]
    return {f"workloads/x/{name}.yaml": text.replace("metadata: {", f"metadata: {{labels: {{part: {label}}}, ", 1)}


BY_PART = policy("anywhere", "select: {}\ngroupBy: {label: part}")
OF_PLATFORM = {
    "platform/API/x.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: x}\n",
    **policy("platform", 'select: {paths: ["platform/**"]}\nprecedence: 1\nplacement: {copies: All}'),
}


@pytest.mark.parametrize(
    ("source", "held", "told"),
    [
        (labelled("API", "one") | labelled("api", "two"), {"x/API", "x/api"}, 1),
        (labelled("API", "one") | labelled("api", "two") | labelled("Api", "three"), {"x/API", "x/Api", "x/api"}, 2),
        (labelled("API", "one") | labelled("web", "two"), set(), 0),
        (labelled("api", "one") | OF_PLATFORM, {"x/api"}, 1),  # a workload that comes later does not stop the platform
    ],
)
def test_groups_whose_folders_would_differ_only_in_case_are_held(
    source: dict[str, str], held: set[str], told: int
) -> None:
    story = Story.of(*BOTH, BY_PART, source, capacity=ROOM)
    done = story.run()
    assert {group for group, what in outcome(done).items() if what == "Hold  HasProblems"} == held
    assert not {group for group in held for path in done.tree if f"/workloads/{group}/" in path}
    messages = [problem.message for problem in done.problems if problem.code == "GroupIdTaken"]
    assert ["differ only in upper and lower case" in message for message in messages] == [True] * told


def test_an_object_that_nothing_needs_is_reported_and_not_placed() -> None:
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), capacity=ROOM)
    story.source["workloads/x/lonely.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lonely}\n"
    done = story.run()
    assert [(p.code, p.severity) for p in done.problems] == [("NotInAGroup", "warning")]
    assert story.files("clusters/a/workloads") == ["clusters/a/workloads/x/app/app.yaml"]


@pytest.mark.parametrize(
    ("app", "services"),
    [(rayservice("x", "llm"), "llm-head-svc or llm-serve-svc"), (rayjob("x", "llm"), "llm-head-svc")],
)
@pytest.mark.parametrize(
    ("selected", "said"),
    [
        ("llm", "no pod has ray.io/cluster=llm: give"),
        ("llm-7xk2w", "no pod has ray.io/cluster=llm-7xk2w for longer than that one is there: give"),
        ("llm-raycluster-7xk2w", "no pod has ray.io/cluster=llm-raycluster-7xk2w for longer than that one is there: give"),
        ("llm-small", ""),
    ],
)  # fmt: skip
def test_who_selects_a_ray_cluster_whose_name_is_made_up_is_told_so(
    app: dict[str, str], services: str, selected: str, said: str
) -> None:
    story = Story.of(*BOTH, ANYWHERE, app, capacity=ROOM)
    story.source["workloads/x/front.yaml"] = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: front}\n"
        f"spec: {{selector: {{ray.io/cluster: {selected}, ray.io/node-type: head}}, ports: [{{port: 8000}}]}}\n"
    )
    [problem] = (p for p in story.run().problems if p.code == "NotInAGroup")
    assert said in problem.hint
    assert problem.hint.endswith(f"or use Service {services}") is bool(said)


def test_what_was_placed_with_a_group_that_it_is_no_part_of_any_more_is_told_to_be_removed() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("x", "llm"), capacity=ROOM)
    front, text = "workloads/x/front.yaml", SERVICE.replace("{run: chat}", "{ray.io/node-type: head}")
    story.source[front] = text
    assert "NotInAGroup" not in {problem.code for problem in story.run().problems}
    assert any(path.endswith("/front.yaml") for path in story.deployment)
    story.source[front] = text.replace("selector: {ray.io/node-type: head}, ", "")
    [problem] = (p for p in story.run().problems if p.code == "NotInAGroup")
    assert problem.message == "Service x/front belongs to no group any more, and is removed where it is deployed"
    assert not any(path.endswith("/front.yaml") for path in story.deployment)
    [problem] = (p for p in story.run().problems if p.code == "NotInAGroup")
    assert problem.message == "Service x/front belongs to no group and is not placed"


CLASS = policy("anywhere", "select: {}\ngroupBy: {label: app}")
LONELY = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: lonely, labels: {app: chat}}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {selector: {run: chat}, ports: [{port: 80}]}\n"
ROUTE = (
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: way}\n"
    "spec: {defaultBackend: {service: {name: front, port: {number: 80}}}, tls: [{secretName: paper}]}\n"
)
MONITOR = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: look}\nspec: {selector: {matchLabels: {run: chat}}}\n"
PAPER = "apiVersion: v1\nkind: Secret\nmetadata: {name: paper}\n"


@pytest.mark.parametrize(
    ("rules", "beside", "broken", "left"),
    [
        (ANYWHERE, [LONELY], "image: x\nvolumes: [lonely", []),
        (ANYWHERE, [LONELY], "image: x\nvolumes: [lonely-too", ["lonely"]),
        (ANYWHERE, [LONELY], "app: [chat", ["lonely"]),
        (CLASS, [LONELY], "app: [chat", []),
        (CLASS, [LONELY], "app: [chats", ["lonely"]),
        (ANYWHERE, [SERVICE], "run: [chat", []),
        (ANYWHERE, [SERVICE], "run: [batch", ["front"]),
        (ANYWHERE, [MONITOR], "run: [chat", []),
        (ANYWHERE, [MONITOR], "run: [batch", ["look"]),
        (ANYWHERE, [ROUTE, PAPER], "name: [front", []),
        (ANYWHERE, [ROUTE, PAPER], "name: [back", ["paper", "way"]),
        (policy("anywhere", "select: {}\ngroupBy: {namespace: true}"), [LONELY], "kind: [", []),
        (policy("anywhere", "select: {}\ngroupBy: {namespace: true}"), [LONELY], "", ["lonely"]),
        (policy("anywhere", "select: {}\ngroupBy: {directory: 1}"), [LONELY], "", []),
    ],
)
def test_an_object_that_an_unread_file_may_refer_to_is_not_called_lonely(
    rules: dict[str, str], beside: list[str], broken: str, left: list[str]
) -> None:
    story = Story.of(*BOTH, rules, capacity=ROOM)
    story.source |= {f"workloads/x/beside{number}.yaml": text for number, text in enumerate(beside)}
    if broken:
        story.source["workloads/x/broken.yaml"] = broken
    found = [p for p in story.run().problems if p.code == "NotInAGroup"]
    assert sorted(p.message.split()[1] for p in found) == [f"x/{name}" for name in left]


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("apiVersion: ray.oi/v1\nkind: RayCluster", 'did you mean "ray.io"?'),
        ("apiVersion: app/v1\nkind: Deployment", 'did you mean "apps"?'),
        ("apiVersion: v1\nkind: RayJob", "a RayJob is of ray.io: its apiVersion begins with ray.io/"),
        ("apiVersion: v1\nkind: Deployment", "a Deployment is of apps: its apiVersion begins with apps/"),
        ("apiVersion: v1\nkind: Confgmap", 'did you mean "ConfigMap"?'),
        ("apiVersion: mesh.example/v1\nkind: Gateway", "put its CustomResourceDefinition under the platform paths"),
        ("apiVersion: v1\nkind: Ingress", "put its CustomResourceDefinition under the platform paths"),
    ],
)
def test_a_group_that_is_misspelt_or_missing_is_told_where_the_kind_is_known(kind: str, hint: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), capacity=ROOM)
    story.source["workloads/x/no.yaml"] = f"{kind}\nmetadata: {{name: thing}}\n"
    (problem,) = story.run().problems
    assert problem.code == "NotAllowed" and (problem.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("apiVersion: v1\nkind: Namespace", "does not belong"),
        ("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole", "is cluster-scoped"),
        ("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding", "grants rights"),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Application", "steers the GitOps engine"),
        ("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization", "steers the GitOps engine"),
        ("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition", "is cluster-scoped"),
    ],
)
def test_workload_paths_hold_nothing_that_changes_the_cluster(kind: str, why: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), capacity=ROOM)
    story.source["workloads/x/no.yaml"] = f"{kind}\nmetadata: {{name: thing}}\n"
    done = story.run()
    assert [p.code for p in done.problems] == ["NotAllowed"]
    assert why in done.problems[0].message
    assert outcome(done) == {"x/app": "Place a Fits"}


def test_our_own_kinds_do_not_count_among_workloads() -> None:
    story = Story.of(*BOTH, ANYWHERE, deployment("app"), capacity=ROOM)
    story.source["workloads/x/fleet.yaml"] = story.source["fleet.yaml"]
    story.source["workloads/x/policy.yaml"] = policy("mine", "select: {}\nprecedence: 99")["policies/mine.yaml"]
    done = story.run()
    assert {p.code for p in done.problems} == {"OwnKindInWorkloads"}
    assert outcome(done) == {"x/app": "Place a Fits"}


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("kind: PlacementPolicy", "kind: PlacmentPolicy"),
        ("kind: PlacementPolicy", "kind: placementpolicy"),
        ("gitplacer.dev/v1alpha1", "gitplacer.dve/v1alpha1"),
    ],
)
def test_a_misspelt_policy_hands_nothing_to_the_next_in_line(written: str, instead: str) -> None:
    story = Story.of(
        cluster("a"), cluster("b"), ANYWHERE,
        policy("training", "select: {namespaces: [jobs]}\nprecedence: 9\nclusters: {names: [b]}"),
        rayservice("jobs", "train"), capacity={**snapshot("a", "n1 16 64Gi 2"), **snapshot("b", "n1 16 64Gi 2")},
    )  # fmt: skip
    assert outcome(story.run()) == {"jobs/train": "Place b Fits"}
    story.source |= policy("anywhere", "select: {}\nclusters: {names: [a]}")
    story.source["policies/training.yaml"] = story.source["policies/training.yaml"].replace(written, instead)
    assert outcome(story.run()) == {"jobs/train": "Hold b BrokenPolicy"}
