"""What one pod asks of a node: containers, init containers, sidecars, limits, pod level, overhead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.model.labels import Requirement, Toleration
from gitplacer.model.workload import NodeTerm, PodShape
from gitplacer.problems import Problem, Severity

MI = 2**20
GI = 2**30


def read(value: Any) -> tuple[workloads.ObjectFacts, list[Problem]]:
    data = json.dumps(value).encode()
    [document] = parse(data).documents
    return workloads.read(Document("x.yaml", document, 0, lambda: data))


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def shape(value: dict[str, Any]) -> PodShape:
    facts, problems = read(value)
    assert [p for p in problems if p.code != "FractionalBytes"] == []
    [pods] = facts.gang
    return pods.shape


def asks(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    resources = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {k: v for k, v in resources.items() if v is not None}, **more}


def sidecar(cpu: str) -> dict[str, Any]:
    return asks({"cpu": cpu}, restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        # containers add up
        (
            {"containers": [asks({"cpu": "1"}), asks({"cpu": "500m", "memory": "1Gi"})]},
            {"cpu": 1000 + 500, "memory": GI},
        ),
        # a limit stands in for a missing request, but not for one of zero
        ({"containers": [asks({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"})]}, {"cpu": 1000, "memory": GI}),
        ({"containers": [asks({"cpu": 0}, {"cpu": "2"})]}, {}),
        ({"containers": [asks(limits={"nvidia.com/gpu": 2})]}, {"nvidia.com/gpu": 2}),
        # plain init containers run one by one: the largest counts if it is more than all containers together
        (
            {"containers": [asks({"cpu": "1"})], "initContainers": [asks({"cpu": "3"}), asks({"cpu": "2"})]},
            {"cpu": 3000},
        ),
        ({"containers": [asks({"cpu": "4"})], "initContainers": [asks({"cpu": "3"})]}, {"cpu": 4000}),
        # each resource by itself
        (
            {
                "containers": [asks({"cpu": "1", "memory": "8Gi"})],
                "initContainers": [asks({"cpu": "2", "memory": "1Gi"})],
            },
            {"cpu": 2000, "memory": 8 * GI},
        ),
        # a sidecar stays: with the containers it adds up, and an init container after it starts beside it
        ({"containers": [asks({"cpu": "1"})], "initContainers": [sidecar("500m")]}, {"cpu": 1000 + 500}),
        (
            {"containers": [asks({"cpu": "1"})], "initContainers": [sidecar("500m"), asks({"cpu": "3"})]},
            {"cpu": 500 + 3000},
        ),
        ({"containers": [asks({"cpu": "1"})], "initContainers": [asks({"cpu": "3"}), sidecar("500m")]}, {"cpu": 3000}),
        (
            {"containers": [asks({"cpu": "1"})], "initContainers": [sidecar("1"), asks({"cpu": "1"}), sidecar("2")]},
            {"cpu": 1000 + 1000 + 2000},
        ),
        # pod level replaces the sum; a pod-level limit only where nobody asks
        (
            {"containers": [asks({"cpu": "1", "memory": "1Gi"})], "resources": {"requests": {"cpu": "3"}}},
            {"cpu": 3000, "memory": GI},
        ),
        (
            {"containers": [asks({"cpu": "1"})], "resources": {"limits": {"cpu": "3", "memory": "2Gi"}}},
            {"cpu": 1000, "memory": 2 * GI},
        ),
        (
            {
                "containers": [asks({"cpu": "1", "hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})],
                "resources": {"limits": {"hugepages-2Mi": "10Mi"}},
            },
            {"cpu": 1000, "hugepages-2Mi": 10 * MI},
        ),
        # overhead comes on top of everything
        (
            {
                "containers": [asks({"cpu": "1"})],
                "resources": {"requests": {"cpu": "2"}},
                "runtimeClassName": "kata",
                "overhead": {"cpu": "250m", "memory": "160Mi"},
            },
            {"cpu": 2000 + 250, "memory": 160 * MI},
        ),
        # summed exactly, rounded up once
        ({"containers": [asks({"cpu": "0.5m"}), asks({"cpu": "0.5m"})]}, {"cpu": 1}),
        ({"containers": [asks({"cpu": "0.5m"}), asks({"cpu": "1"})]}, {"cpu": 1001}),
        ({"containers": [asks({"cpu": 0.5, "memory": "1e9"})]}, {"cpu": 500, "memory": 10**9}),
        ({"containers": [{"name": "c"}]}, {}),
    ],
)
def test_a_pod_asks_for_what_its_containers_ask_for_together(spec: dict[str, Any], requests: dict[str, int]) -> None:
    assert dict(shape(pod(**spec)).requests) == requests


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "cpu: the request 2 is more than the limit 1"),
        ({"limits": {"nvidia.com/gpu": "0.5"}}, "nvidia.com/gpu is 0.5, but devices are counted whole"),
        ({"limits": {"nvidia.com/gpu": "500m"}}, "nvidia.com/gpu is 500m, but devices are counted whole"),
        (
            {"requests": {"nvidia.com/gpu": "1"}},
            "nvidia.com/gpu: the request is 1 and there is no limit; nodes do not overcommit it",
        ),
        (
            {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}},
            "nvidia.com/gpu: the request is 1 and the limit is 2; nodes do not overcommit it",
        ),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, "hugepages-2Mi without cpu or memory"),
        (
            {"requests": {"hugepages-2Mi": "4Mi", "ephemeral-storage": "1Gi"}, "limits": {"hugepages-2Mi": "4Mi"}},
            "hugepages-2Mi without cpu or memory",
        ),
        (
            {"limits": {"hugepages-2Mi": "3Mi", "memory": "1Gi"}},
            "hugepages-2Mi is 3Mi, which is no whole number of pages",
        ),
        (
            {"limits": {"hugepages-2Mi": "2.5M", "cpu": "1"}},
            "hugepages-2Mi is 2.5M, which is no whole number of pages",
        ),
        (
            {"limits": {"hugepages-large": "1Gi", "cpu": "1"}},
            "hugepages-large is 1Gi, which is no whole number of pages",
        ),
    ],
)
def test_resources_that_the_api_server_would_refuse_are_a_problem(resources: dict[str, Any], said: str) -> None:
    _, problems = read(pod(containers=[{"name": "c", "resources": resources}]))
    assert [(p.code, p.message, bool(p.hint)) for p in problems] == [("InvalidResources", said, True)]


@pytest.mark.parametrize(
    "resources",
    [
        {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"cpu": "0"}},
        {"limits": {"hugepages-1Gi": "3Gi", "hugepages-2Mi": "0", "memory": "1Gi"}},
        {"limits": {"hugepages-64Ki": "65536", "cpu": "1"}},
    ],
)
def test_huge_pages_come_whole_and_beside_cpu_or_memory(resources: dict[str, Any]) -> None:
    assert read(pod(containers=[{"name": "c", "resources": resources}]))[1] == []


@pytest.mark.parametrize(
    ("container", "whole", "refused"),
    [
        ({}, {"limits": {"hugepages-2Mi": "4Mi"}}, True),
        (
            {"requests": {"cpu": "1"}},
            {"limits": {"hugepages-2Mi": "4Mi"}},
            False,
        ),  # what containers ask for is the pod's request too
        ({}, {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}, False),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, {"limits": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}}, True),
    ],
)
def test_huge_pages_of_a_pod_as_a_whole_come_beside_cpu_or_memory_too(
    container: dict[str, Any], whole: dict[str, Any], refused: bool
) -> None:
    _, problems = read(pod(containers=[{"name": "c", "resources": container}], resources=whole))
    said = ["hugepages-2Mi without cpu or memory"] if refused else []
    assert [problem.message for problem in problems if problem.code == "InvalidResources"] == said


def test_an_overhead_is_that_of_a_runtime_class() -> None:
    """The API server refuses every pod that says one and names no class."""
    _, problems = read(pod(containers=[{"name": "c"}], overhead={"cpu": "250m"}))
    assert [(p.code, p.message) for p in problems] == [
        ("InvalidResources", "there is an overhead, and no RuntimeClass that it is of")
    ]
    for fine in ({"overhead": {}}, {"overhead": {"cpu": "250m"}, "runtimeClassName": "kata"}):
        assert read(pod(containers=[{"name": "c"}], **fine))[1] == []


def test_pod_level_resources_keep_the_same_rules() -> None:
    both = {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}
    _, problems = read(pod(containers=[{"name": "c"}], resources=both))
    assert [problem.code for problem in problems] == ["InvalidResources"]


def test_a_negative_or_unreadable_quantity_is_a_problem_and_others_go_on() -> None:
    _, problems = read(pod(containers=[asks({"cpu": "-1", "memory": "lots"}, {"nvidia.com/gpu": "0.5"})]))
    assert len(problems) == 3


quantities = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage"]), st.integers(0, 8000).map(lambda n: f"{n}m"), max_size=3
)
containers = st.lists(quantities.map(asks), min_size=1, max_size=4)
policies = st.sampled_from([{}, {"restartPolicy": "Always"}])
inits = st.lists(st.builds(lambda amounts, policy: {**asks(amounts), **policy}, quantities, policies), max_size=4)


@given(containers=containers, inits=inits)
def test_a_pod_asks_for_at_least_what_each_of_its_containers_asks_for(
    containers: list[dict[str, Any]], inits: list[dict[str, Any]]
) -> None:
    whole = shape(pod(containers=containers, initContainers=inits)).requests
    for one in (*containers, *inits):
        for name, amount in shape(pod(containers=[one])).requests.items():
            assert whole.get(name, 0) >= amount


@given(containers=containers, inits=inits)
def test_dropping_a_container_never_asks_for_more(
    containers: list[dict[str, Any]], inits: list[dict[str, Any]]
) -> None:
    whole = shape(pod(containers=containers, initContainers=inits)).requests
    fewer = shape(pod(containers=containers[:1], initContainers=inits[1:])).requests
    assert all(whole.get(name, 0) >= amount for name, amount in fewer.items())


def test_where_a_pod_may_run_is_read_from_its_spec() -> None:
    term = {
        "matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["a", "b"]},
            {"key": "gen", "operator": "Gt", "values": ["2"]},
        ],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
    }
    found = shape(
        pod(
            containers=[{"name": "c"}],
            nodeName="n7",
            nodeSelector={"pool": "gpu", "disk": "ssd"},
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}, term]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}],
                }
            },
            tolerations=[{"key": "gpu", "value": "yes"}, {"operator": "Exists", "effect": "NoExecute"}],
        )
    )
    assert found == PodShape(
        scored_cpu=100,
        scored_memory=200 << 20,
        node_name="n7",
        node_selector=(("disk", "ssd"), ("pool", "gpu")),
        affinity=(
            NodeTerm(),
            NodeTerm(
                (Requirement("zone", "In", ("a", "b")), Requirement("gen", "Gt", ("2",))),
                (Requirement("metadata.name", "NotIn", ("n1",)),),
            ),
        ),
        tolerations=(Toleration("gpu", "Equal", "yes", ""), Toleration("", "Exists", "", "NoExecute")),
        preferred_nodes=(
            (
                1,
                NodeTerm(
                    (Requirement("zone", "In", ("a", "b")), Requirement("gen", "Gt", ("2",))),
                    (Requirement("metadata.name", "NotIn", ("n1",)),),
                ),
            ),
        ),
    )


def affinity(*, fields: bool = False, **item: Any) -> dict[str, Any]:
    term = {"matchFields" if fields else "matchExpressions": [item]}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    }


def preferred(**item: Any) -> dict[str, Any]:
    term = {"weight": 1, "preference": {"matchExpressions": [item]}}
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}


def apart(**fields: Any) -> dict[str, Any]:
    """Anti-affinity with some fields otherwise; None leaves one out."""
    whole = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}, **fields}
    term = {key: value for key, value in whole.items() if value is not None}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(**fields: Any) -> dict[str, Any]:
    """A spread constraint with some fields otherwise; None leaves one out."""
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **fields}
    return {"topologySpreadConstraints": [{key: value for key, value in whole.items() if value is not None}]}


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (affinity(key="a", operator="Near", values=["x"]), "InvalidValue"),
        (affinity(key="a", values=["x"]), "InvalidValue"),
        (affinity(key="a", operator="In"), "InvalidValue"),
        (affinity(key="a", operator="Exists", values=["x"]), "InvalidValue"),
        (affinity(key="a", operator="Gt", values=["x"]), "InvalidValue"),
        (affinity(key="a", operator="Lt", values=["1", "2"]), "InvalidValue"),
        (affinity(key="a", operator="NotIn", values=["b", "no value"]), "InvalidLabel"),
        (affinity(key="a", operator="Gt", values=["-1"]), "InvalidLabel"),  # a number, and no value of a label
        (affinity(key="A/b", operator="Exists"), "InvalidLabel"),
        (preferred(key="a", operator="In", values=["no value"]), "InvalidLabel"),  # taken, and then it stays pending
        (affinity(operator="Exists"), "MissingField"),
        (affinity(fields=True, key="metadata.uid", operator="In", values=["x"]), "InvalidValue"),
        (affinity(fields=True, key="metadata.name", operator="Exists"), "InvalidValue"),
        ({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}}, "MissingField"),
        ({"tolerations": [{"key": "a", "operator": "Like"}]}, "InvalidValue"),
        ({"tolerations": [{"value": "a"}]}, "InvalidValue"),
        ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "InvalidValue"),
        ({"tolerations": [{"key": "a", "effect": "NoRunning"}]}, "InvalidValue"),
        ({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}, "MissingField"),
        (spread(whenUnsatisfiable=None), "MissingField"),
        (spread(whenUnsatisfiable="Never"), "InvalidValue"),
        (spread(maxSkew=None), "MissingField"),
        (spread(maxSkew=0), "InvalidValue"),
        (spread(minDomains=0), "InvalidValue"),
        (spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"), "InvalidValue"),
        (spread(nodeAffinityPolicy="Honour"), "InvalidValue"),
        (spread(nodeTaintsPolicy="honor"), "InvalidValue"),
        ({"topologySpreadConstraints": spread()["topologySpreadConstraints"] * 2}, "InvalidValue"),
        (spread(matchLabelKeys=["rev"]), "InvalidValue"),
        (spread(labelSelector={"matchLabels": {"a": "no value"}}), "InvalidLabel"),
        (
            apart(labelSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": ["{b}"]}]}),
            "InvalidLabel",
        ),
        (apart(labelSelector={"matchLabels": {"a b": "c"}}), "InvalidLabel"),
        (apart(namespaceSelector={"matchLabels": {"a": "{b}"}}), "InvalidLabel"),
        (apart(topologyKey="a b"), "InvalidLabel"),
        (apart(mismatchLabelKeys=["a b"]), "InvalidLabel"),
        (apart(labelSelector=None, mismatchLabelKeys=["rev"]), "InvalidValue"),
        (apart(matchLabelKeys=["rev"], mismatchLabelKeys=["app", "rev"]), "InvalidValue"),
        ({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}, "MissingField"),
        ({"containers": []}, "MissingField"),
    ],
)
def test_a_constraint_no_scheduler_would_accept_is_a_problem(spec: dict[str, Any], code: str) -> None:
    _, problems = read(pod(**{"containers": [{"name": "c"}], **spec}))
    assert [problem.code for problem in problems] == [code]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"schedulingGates": [{"name": "wait"}]}, "schedulingGates"),
        ({"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}, "a ResourceClaim that several pods share"),
        ({"schedulerName": "volcano"}, "what scheduler volcano does otherwise than kube-scheduler"),
        ({"volumes": [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}}]}, "(awsElasticBlockStore)"),
        ({"volumes": [{"name": v, "rbd": {"image": v}} for v in "vw"]}, "a disk that a pod names itself (rbd)"),
    ],
)
def test_what_the_fit_does_not_look_at_is_named_once(spec: dict[str, Any], named: str) -> None:
    two = [{"name": "a"}, {"name": "b"}]
    _, problems = read(pod(**{"containers": two, **spec}))
    assert [(p.code, p.severity, named in p.message) for p in problems] == [("NotCounted", Severity.WARNING, True)]


@pytest.mark.parametrize(
    "key",
    [
        "gpu-fraction",
        "gpu-memory",
        "kueue.x-k8s.io/podset-required-topology",
        "kueue.x-k8s.io/podset-slice-required-topology",
    ],
)
def test_what_only_an_annotation_asks_for_is_not_counted(key: str) -> None:
    value = pod(containers=[{"name": "c"}])
    value["metadata"]["annotations"] = {key: "0.5"}
    (problem,) = read(value)[1]
    assert (problem.code, problem.severity, f"annotation {key}" in problem.message) == (
        "NotCounted",
        Severity.WARNING,
        True,
    )


@pytest.mark.parametrize(
    ("metadata", "containers", "told"),
    [
        ({"annotations": {"gke-gcsfuse/volumes": "true"}}, ["c"], ["gke-gcsfuse-sidecar"]),
        ({"annotations": {"gke-gcsfuse/volumes": "false"}}, ["c"], []),
        ({"annotations": {"gke-gcsfuse/volumes": "true"}}, ["gke-gcsfuse-sidecar"], ["gke-gcsfuse-sidecar"]),
        ({"annotations": {"vault.hashicorp.com/agent-inject": "true"}}, ["c"], ["vault-agent"]),
        ({"labels": {"sidecar.istio.io/inject": "true"}}, ["c"], ["istio-proxy"]),
        (
            {"annotations": {"linkerd.io/inject": "enabled", "dapr.io/enabled": "true"}},
            ["c"],
            ["linkerd-proxy", "daprd"],
        ),
        ({"annotations": None, "labels": None}, ["c"], []),
    ],
)
def test_what_a_webhook_adds_to_pods_that_ask_for_it_is_not_counted(
    metadata: dict[str, Any], containers: list[str], told: list[str]
) -> None:
    value = pod(containers=[{"name": name} for name in containers])
    value["metadata"] |= metadata
    found = [problem for problem in read(value)[1] if problem.code == "NotCounted"]
    assert [problem.severity for problem in found] == [Severity.WARNING] * len(told)
    assert all(any(name in problem.message for problem in found) for name in told)


def test_a_sidecar_that_says_what_it_asks_for_is_counted_like_any_other() -> None:
    asking = {"name": "istio-proxy", "image": "auto", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    value = pod(containers=[{"name": "c"}, asking])
    value["metadata"]["annotations"] = {"sidecar.istio.io/inject": "true"}
    assert read(value)[1] == []


def test_who_names_the_scheduler_that_is_there_anyway_is_judged_by_it() -> None:
    assert read(pod(containers=[{"name": "c"}], schedulerName="default-scheduler"))[1] == []


@pytest.mark.parametrize(
    "spec",
    [
        {
            "affinity": {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            }
        },
        {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        spread(),
        spread(minDomains=2, nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor"),
        {
            "topologySpreadConstraints": [
                *spread()["topologySpreadConstraints"],
                *spread(topologyKey="host")["topologySpreadConstraints"],
            ]
        },
        {
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
            }
        },
        apart(matchLabelKeys=["rev"], mismatchLabelKeys=["app"]),
        spread(labelSelector={"matchLabels": {"a": ""}}, matchLabelKeys=["example.com/rev"]),
        affinity(fields=True, key="metadata.name", operator="In", values=["a.name.that.is.no.label." + "x" * 63]),
        {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
        {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
        {"hostNetwork": True},
    ],
)
def test_what_does_not_narrow_where_a_pod_may_run_needs_no_word(spec: dict[str, Any]) -> None:
    _, problems = read(pod(**{"containers": [{"name": "c"}], **spec}))
    assert problems == []


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        (
            "env",
            [{"name": "A", "value": "x"}, {"name": "PORT", "value": 8000}],
            "env[1].value is a number, not text",
        ),
        ("env", [{"name": "DEBUG", "value": True}], "env[0].value is true or false, not text"),
        ("args", ["--port", 8000], "args[1] is a number, not text"),
        ("args", "python serve.py", "args is text, not a list"),
        ("command", ["sleep", 10.5], "command[1] is a number, not text"),
    ],
)
def test_words_of_a_container_are_texts(field: str, value: Any, said: str) -> None:
    """The API server refuses the object, or KubeRay's schema does."""
    for key in ("containers", "initContainers"):
        spec = {"containers": [{"name": "c"}], key: [{"name": "c", field: value}]}
        (problem,) = read(pod(**spec))[1]
        assert (problem.code, problem.message) == ("WrongType", f"spec.{key}[0].{said}")


@pytest.mark.parametrize(
    ("image", "is_one"),
    [
        ("ray", True),
        ("rayproject/ray:2.52.0-py311-cu128", True),
        ("registry.example:5000/team-a/my__ray.x:latest", True),
        ("localhost/a", True),
        ("[2001:db8::1]:443/a", True),
        ("Registry.example/a", True),
        (f"quay.io/modh/ray:2.47.1@sha256:{'0a' * 32}", True),
        (f"ray@sha256:{'0a' * 32}", True),
        ("us-docker.pkg.dev/p/r/vllm:v0.7.1", True),
        ("$IMAGE", False),
        ("${IMAGE_URI}", False),
        ("<your-docker-image-url>:<your-docker-image-tag>", False),
        ("Ray:2.52.0", False),
        ("team/Ray", False),
        ("ray:", False),
        ("ray:2.52.0:latest", False),
        ("https://registry.example/a", False),
        ("a b", False),
        ("ray@sha256:12", False),
        (f"ray:{'t' * 129}", False),
        ("a/" * 300 + "a", False),
    ],
)
def test_an_image_has_a_name_that_a_kubelet_can_read(image: str, is_one: bool) -> None:
    problems = read(pod(containers=[{"name": "c", "image": image}]))[1]
    assert [(p.code, p.severity) for p in problems] == ([] if is_one else [("InvalidImage", Severity.WARNING)])


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_what_a_template_is_marked_with_is_text(field: str) -> None:
    template = {"metadata": {field: {"example.com/volumes": True}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"template": template, "replicas": 1}
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    (problem,) = read(value)[1]
    assert problem.message.startswith(f"spec.template.metadata.{field}.example.com/volumes is true")
    template["metadata"][field] = {"example.com/volumes": "true"}
    assert read(value)[1] == []


def test_annotations_of_a_pod_itself_are_told_with_the_rest_of_its_metadata() -> None:
    value = pod(containers=[{"name": "c"}])
    value["metadata"]["annotations"] = {"example.com/volumes": True}
    assert read(value)[1] == []


@pytest.mark.parametrize(
    "fields",
    [
        {"env": [{"name": "A"}, {"name": "B", "value": None}, {"name": "C", "value": ""}]},
        {"command": None, "args": []},
        {"command": ["a"], "args": ["1", ""]},
    ],
)
def test_words_that_are_missing_or_empty_are_no_problem(fields: dict[str, Any]) -> None:
    assert read(pod(containers=[{"name": "c", **fields}]))[1] == []


@pytest.mark.parametrize(
    ("resources", "warned"),
    [
        ({"requests": {"memory": "4096m"}}, True),
        ({"limits": {"ephemeral-storage": "1500m"}}, True),
        ({"requests": {"memory": "4000m"}}, False),  # four bytes, exactly
        ({"requests": {"memory": "0.5Gi"}}, False),
        ({"requests": {"cpu": "0.5m"}}, False),
    ],
)
def test_a_part_of_a_byte_is_a_slip_of_the_unit(resources: dict[str, Any], warned: bool) -> None:
    _, problems = read(pod(containers=[{"name": "c", "resources": resources}]))
    assert [(p.code, p.severity) for p in problems] == ([("FractionalBytes", Severity.WARNING)] if warned else [])
