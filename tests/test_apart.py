"""Apps that call a Service which is on other clusters than they."""

from __future__ import annotations

from typing import Any

import pytest

from gitplacer.workloads import calls
from tests.stories import Story, cluster, outcome, policy, rayjob, rayservice, snapshot

CODE = "ServiceElsewhere"
ROOM = ("n1 64 256Gi 8",)
TWO = {**snapshot("east", *ROOM), **snapshot("west", *ROOM)}
MODEL = policy("models", "select: {kinds: [RayService]}\nclusters: {names: [east]}\nplacement: {type: Capacity}\n")
CALLERS = "select: {{kinds: [Deployment, Job]}}\nclusters: {{names: [{}]}}\nplacement: {{type: Capacity}}\n"


def frontend(where: str = "", value: str = "http://llm-serve-svc:8000", annotations: str = "{}") -> dict[str, str]:
    text = f"""\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat, annotations: {annotations}}}
spec:
  selector: {{matchLabels: {{app: chat}}}}
  template:
    metadata: {{labels: {{app: chat}}}}
    spec:
      containers:
      - name: chat
        image: chat
        env: [{{name: MODEL, value: '{value}'}}]
        resources: {{requests: {{cpu: "1", memory: 1Gi}}}}
"""
    return {f"workloads/{where or 'ml'}/chat.yaml": text}


def told(story: Story) -> list[str]:
    return [problem.message for problem in story.run().problems if problem.code == CODE]


def story(*more: dict[str, str], callers: str = "west", mesh: str | None = None) -> Story:
    clusters = (cluster("east", mesh=mesh), cluster("west", mesh=mesh)) if mesh else (cluster("east"), cluster("west"))
    fronts = policy("fronts", CALLERS.format(callers))
    return Story.of(*clusters, MODEL, fronts, rayservice("ml", "llm"), *more, capacity=TWO)


def test_a_frontend_on_another_cluster_than_its_model_is_told() -> None:
    found = story(frontend())
    assert told(found) == [
        "Deployment ml/chat on west calls Service llm-serve-svc, which comes with ml/llm and is on east"
    ]
    assert outcome(found.run()) == {"ml/chat": "Keep west Kept", "ml/llm": "Keep east Kept"}  # it moves nothing


@pytest.mark.parametrize(
    ("callers", "value"),
    [
        ("east", "http://llm-serve-svc:8000"),  # beside it
        ("west", "http://somebody-serve-svc:8000"),  # nobody brings that one
        ("west", "http://llm-serve-svc.ml.svc.clusterset.local:8000"),  # of all clusters
        ("west", "llm"),  # a word, and no address
    ],
)
def test_nothing_is_told_of_who_finds_it_or_calls_nobody_here(callers: str, value: str) -> None:
    assert told(story(frontend(value=value), callers=callers)) == []


def test_nothing_is_told_in_a_mesh_or_where_the_object_allows_it() -> None:
    assert told(story(frontend(), mesh="us")) == []
    assert told(story(frontend(annotations=f"{{allow.gitplacer.dev/{CODE}: by a gateway}}"))) == []


def test_a_caller_of_another_namespace_is_told_once() -> None:
    value = "http://llm-serve-svc.ml:8000 http://llm-serve-svc.ml.svc.cluster.local:8000"
    assert told(story(frontend("web", value=value))) == [
        "Deployment web/chat on west calls Service llm-serve-svc of namespace ml, which comes with ml/llm and is on east"
    ]


def test_a_service_of_the_source_counts_as_one_that_kuberay_makes() -> None:
    own = "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {selector: {ray.io/node-type: head}, ports: [{port: 80}]}\n"
    for value in ("https://front/x", "ray start --address=front:80 --block"):
        found = told(story(frontend(value=value), {"workloads/ml/front.yaml": own}))
        assert found == ["Deployment ml/chat on west calls Service front, which comes with ml/llm and is on east"]


def pod(**container: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": "ml"}, "spec": {"containers": [{"name": "c", **container}]}}


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (pod(env=[{"name": "A", "value": "ray://llm-head-svc:10001"}]), ["llm-head-svc"]),
        (pod(env=[{"name": "A", "value": "llm-head-svc:6379"}]), ["llm-head-svc"]),
        (pod(env=[{"name": "A", "value": "redis://u:p@redis.ml:6379/0"}]), ["redis"]),
        (pod(env=[{"name": "A", "value": "redis-0.redis.far.svc.cluster.local."}]), ["far/redis"]),
        (pod(env=[{"name": "A", "valueFrom": {"fieldRef": {}}}, 3, {"value": 4}]), []),
        (pod(env=3, args="http://x", command=[1]), []),
        (pod(command=["ray", "job", "submit", "--address=http://a-head-svc:8265"], args=["x"]), ["a-head-svc"]),
        (pod(args=["curl http://a.b/; curl 'http://c:80/d-svc'"]), ["b/a", "c"]),
        (pod(args=["-c", "ray start --num-cpus=$N --address=ray-head:6380 --block"]), ["ray-head"]),
        (pod(env=[{"name": "A", "value": "redis:6379"}], args=["--nodes=a:80,b.other:80"]), ["a", "other/b", "redis"]),
        (pod(args=["at 12:30:59", "busybox:1", "nvcr.io/nim/x:10", "a:b:80", "key:80abc", "k:80.5"]), []),
        (pod(args=["/opt/my-svc/run", "--name", "x.my-svc-y", "gs://bucket.of.things/a"]), []),
        (pod(args=["http://10.0.0.1:80", "http://$(HOST):80", "http://www.example.com"]), []),
        (pod(args=[f"http://h{i}" for i in range(999)]), None),
    ],
)
def test_what_pods_call_is_read_of_their_variables_and_words(value: dict[str, Any], found: list[str] | None) -> None:
    read = calls.of_pod_templates(value, ((),))
    if found is None:
        assert len(read) == 100
    else:
        assert [f"{each.namespace}/{each.name}".lstrip("/") for each in read] == found


def test_what_ray_is_to_run_in_its_pods_calls_too() -> None:
    job = {
        "entrypoint": "python ask.py --model http://llm-serve-svc.ml:8000",
        "runtimeEnvYAML": 'env_vars:\n  STORE: "http://minio.store.svc.cluster.local:9000"\n',
        "rayClusterSpec": {},
    }
    serve = "applications:\n- runtime_env: {env_vars: {DB: 'redis:6379'}}\n  args: {embedder: http://embed-serve-svc:8000}\n"

    def read(kind: str, spec: dict[str, Any], api: str = "ray.io/v1") -> list[str]:
        value = {"apiVersion": api, "kind": kind, "metadata": {"namespace": "ml"}, "spec": spec}
        return [f"{each.namespace}/{each.name}".lstrip("/") for each in calls.of_pod_templates(value, ())]

    assert read("RayJob", job) == read("RayCronJob", {"jobTemplate": job}) == ["llm-serve-svc", "store/minio"]
    assert read("RayService", {"serveConfigV2": serve}) == ["embed-serve-svc", "redis"]
    assert read("RayJob", {"entrypoint": 3, "runtimeEnvYAML": [], "serveConfigV2": None}) == []
    assert read("Workflow", {"entrypoint": "redis:6379"}, "argoproj.io/v1alpha1") == []  # the name of a template


def test_a_job_on_another_cluster_than_the_model_it_asks_is_told() -> None:
    ((path, text),) = rayjob("ml", "ask").items()
    asking = {path: text.replace("  entrypoint: ", "  entrypoint: MODEL=http://llm-serve-svc:8000 ", 1)}
    assert asking[path] != text
    found = told(story(asking, policy("jobs", "select: {kinds: [RayJob]}\nclusters: {names: [west]}\n")))
    assert found == ["RayJob ml/ask on west calls Service llm-serve-svc, which comes with ml/llm and is on east"]
