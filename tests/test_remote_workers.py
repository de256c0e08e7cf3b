"""What workers on other clusters are made of, and what keeps an app from spanning clusters (the check `spanning`)."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import yaml

from gitplacer import workloads
from gitplacer.documents import Document, parse
from gitplacer.model.resources import Resources
from gitplacer.workloads.headaddress import HeadAddress, Missing, head_address
from gitplacer.workloads.joining import going, is_ray_app, missing
from gitplacer.workloads.raystart import ray_start
from gitplacer.workloads.remoteworkers import deployment, mirrored_service, workers_name
from tests.jsonvalues import merged
from tests.stories import Story, cluster, outcome, policy, snapshot

HEAD = HeadAddress("app-head-svc", "ml", (("gcs-server", 6379), ("serve", 8000)), "6379")
AT = "app-head-svc.ml.svc.cluster.local:6379"


def group(text: str) -> dict[str, Any]:
    return yaml.safe_load("{" + text + "}") if text else {}


def container(**fields: Any) -> dict[str, Any]:
    return {"template": {"spec": {"containers": [{"name": "worker", "image": "ray", **fields}]}}}


COMMON = "--block --dashboard-agent-listen-port=52365 --metrics-export-port=8080"


@pytest.mark.parametrize(("resources", "more", "line"), [
    ({}, "", f"--address={AT} --block --dashboard-agent-listen-port=52365 --metrics-export-port=8080"),
    ({"limits": {"cpu": "6", "memory": "24Gi"}}, "", f"--address={AT} {COMMON.replace('--metrics', '--memory=25769803776 --metrics')} --num-cpus=6"),
    ({"requests": {"cpu": "1500m", "memory": "1Gi"}}, "", f"--address={AT} {COMMON} --num-cpus=2"),  # rounded up; memory by limits only
    ({"limits": {"nvidia.com/gpu": 2}}, "", f"--address={AT} {COMMON} --num-gpus=2"),
    ({"limits": {"nvidia.com/mig-1g.5gb": 1}}, "", f"--address={AT} {COMMON} --num-gpus=1"),
    ({"limits": {"google.com/tpu": "4"}}, "", f"--address={AT} {COMMON} --resources='{{\"TPU\":4}}'"),
    ({"limits": {"cpu": "6"}}, 'rayStartParams: {num-cpus: "1", port: "7"}', f"--address={AT} {COMMON} --num-cpus=1 --port=7"),
    ({}, 'rayStartParams: {address: "elsewhere:1", block: "false"}', f"--address={AT} {COMMON}"),
    ({}, 'rayStartParams: {include-dashboard: "false", no-monitor: "true", ray-debugger-external: "false"}',
     f"--address={AT} --block --dashboard-agent-listen-port=52365 --include-dashboard=false --metrics-export-port=8080 --no-monitor"),
    ({"limits": {"cpu": "6"}}, 'resources: {CPU: "2", GPU: "1", disk: "0.5"}, labels: {zone: a, tier: b}',
     f"--address={AT} --block --dashboard-agent-listen-port=52365 --labels=tier=b,zone=a --metrics-export-port=8080 --num-cpus=2 --num-gpus=1 --resources='{{\"disk\":0.5}}'"),
])  # fmt: skip
def test_a_remote_worker_offers_ray_what_one_of_kuberays_would(resources: dict[str, Any], more: str, line: str) -> None:
    assert ray_start({**container(resources=resources), **group(more)}, AT) == f"ray start {line}"


APP = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: app, namespace: ml}
spec:
  headServiceAnnotations: {service.cilium.io/global: "true"}
  headGroupSpec:
    serviceType: NodePort
    rayStartParams: {}
    template: {metadata: {labels: {app: x}}, spec: {containers: [{name: head, image: ray}]}}
  workerGroupSpecs:
  - groupName: far
    replicas: 3
    rayStartParams: {}
    template:
      metadata: {labels: {team: a, ray.io/cluster: mine}, annotations: {note: n}}
      spec:
        restartPolicy: Never
        serviceAccountName: worker
        tolerations: [{key: gpu, operator: Exists}]
        initContainers: [{name: model, image: m}]
        containers:
        - name: worker
          image: ray
          imagePullPolicy: Always
          env: [{name: RAY_PORT, value: "1"}]
          resources: {limits: {cpu: "6", memory: 24Gi}}
        - {name: logs, image: l}
"""


def app(change: str = "") -> dict[str, Any]:
    return merged(yaml.safe_load(APP), yaml.safe_load(change) or {})


def rendered(change: str = "", pod_labels: dict[str, str] | None = None) -> dict[str, Any]:
    return deployment(app(change), 0, 2, HEAD, pod_labels or {})


def environment(container: dict[str, Any]) -> dict[str, Any]:
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in container["env"]}


def test_no_operator_takes_remote_workers_for_its_own() -> None:
    made = rendered(pod_labels={"elotl-luna": "true"})
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert "ray.io/cluster" not in labels
    assert labels == {
        "team": "a", "elotl-luna": "true", "ray.io/group": "far", "ray.io/is-ray-node": "yes", "ray.io/node-type": "worker",
        "gitplacer.dev/remote-workers": "app-far-remote",
    }  # fmt: skip
    assert made["spec"]["selector"]["matchLabels"].items() <= labels.items()
    worker = made["spec"]["template"]["spec"]["containers"][0]
    assert "RAY_CLOUD_INSTANCE_ID" not in environment(worker)


def test_the_pod_is_that_of_the_template_with_what_kuberay_adds() -> None:
    made = rendered()
    pod = made["spec"]["template"]["spec"]
    assert (made["metadata"]["namespace"], made["spec"]["replicas"]) == ("ml", 2)
    assert made["spec"]["template"]["metadata"]["annotations"] == {"note": "n"}
    assert "restartPolicy" not in pod  # a Deployment's pods always restart
    assert (pod["serviceAccountName"], pod["tolerations"]) == ("worker", [{"key": "gpu", "operator": "Exists"}])
    worker, logs = pod["containers"]
    assert logs == {"name": "logs", "image": "l"}
    assert worker["command"] == ["/bin/bash", "-c", "--"]
    assert worker["args"][0].startswith(f"ulimit -n 65536; ray start --address={AT} --block")
    assert environment(worker) == {
        "RAY_PORT": "1", "FQ_RAY_IP": HEAD.host, "RAY_IP": "app-head-svc", "RAY_CLUSTER_NAME": "app",
        "RAY_CLUSTER_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}}, "RAY_NODE_TYPE_NAME": "far",
        "KUBERAY_GEN_RAY_START_CMD": worker["args"][0].removeprefix("ulimit -n 65536; "), "RAY_ADDRESS": AT,
        "RAY_USAGE_STATS_KUBERAY_IN_USE": "1", "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE": "1",
    }  # fmt: skip
    assert pod["volumes"] == [{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "24Gi"}}]
    assert worker["volumeMounts"] == [{"name": "shared-mem", "mountPath": "/dev/shm"}]
    model, waiting = pod["initContainers"]
    assert environment(model)["FQ_RAY_IP"] == HEAD.host
    assert waiting["name"] == "wait-gcs-ready"
    assert (waiting["image"], waiting["imagePullPolicy"]) == ("ray", "Always")
    assert f"ray health-check --address {AT}" in waiting["args"][0]


def test_a_remote_worker_asks_for_what_one_at_home_asks_for() -> None:
    """The judge is the reader of Deployments: it sums up the rendered pod, as Kubernetes will."""
    value = app()
    document = Document("a.yaml", parse(yaml.safe_dump(rendered()).encode()).documents[0], 0, lambda: b"")
    home = Document("a.yaml", parse(yaml.safe_dump(value).encode()).documents[0], 0, lambda: b"")
    (there,), (_, here) = (workloads.read(item)[0].gang for item in (document, home))
    assert there.shape.requests == here.shape.requests == Resources({"cpu": 6000, "memory": 24 * 2**30})
    assert there.shape.tolerations == here.shape.tolerations
    assert workloads.read(document)[0].roles[0].surge == 0


@pytest.mark.parametrize(("change", "command"), [
    ("spec: {workerGroupSpecs: [{template: {spec: {containers: [{command: [python], args: [a.py]}]}}}]}", "python a.py && ulimit"),
    ("spec: {workerGroupSpecs: [{template: {metadata: {annotations: {ray.io/overwrite-container-cmd: 'true'}}, spec: {containers: [{args: [x]}]}}}]}", "x"),
    ("spec: {workerGroupSpecs: [{template: {spec: {containers: [{args: ['exec ray start --address=$RAY_ADDRESS']}]}}}]}", "exec ray start"),
])  # fmt: skip
def test_a_command_of_its_own_comes_before_ray_or_in_its_place(change: str, command: str) -> None:
    assert rendered(change)["spec"]["template"]["spec"]["containers"][0]["args"][0].startswith(command)


def test_a_token_comes_from_the_secret_that_the_manifest_names() -> None:
    made = rendered("spec: {authOptions: {mode: token, secretName: ray-token}}")
    pod = made["spec"]["template"]["spec"]
    for item in (pod["containers"][0], pod["initContainers"][-1]):
        assert environment(item)["RAY_AUTH_TOKEN"] == {"secretKeyRef": {"name": "ray-token", "key": "auth_token"}}


def test_the_mirrored_service_has_no_pods_and_shares_none() -> None:
    service = mirrored_service(HEAD)
    assert service["metadata"]["annotations"] == {
        "service.cilium.io/global": "true",
        "service.cilium.io/shared": "false",
    }
    assert not service["spec"]["selector"].items() <= rendered()["spec"]["template"]["metadata"]["labels"].items()
    assert [(p["name"], p["port"]) for p in service["spec"]["ports"]] == [("gcs-server", 6379), ("serve", 8000)]


@pytest.mark.parametrize(
    ("owner", "name", "called"),
    [
        ("app", "far", "app-far-remote"),
        ("app", "GPU_big", "app-gpu-big-remote-"),
        ("a" * 50, "far", "a" * 43 + "-"),
    ],
)
def test_a_deployment_has_a_name_that_pods_can_have(owner: str, name: str, called: str) -> None:
    found = workers_name(owner, name)
    assert found.startswith(called)
    assert len(found) <= 52
    assert workers_name(owner, name + "x") != found


GLOBAL = 'service.cilium.io/global: "true"'
OWN = f"{{metadata: {{name: gcs, annotations: {{{GLOBAL}}}}}, spec: {{selector: {{app: x, ray.io/node-type: head}}, ports: [{{port: 6379}}]}}}}"
PODS = {"head": {"app": "x", "ray.io/node-type": "head"}, "worker/far": {"app": "x", "ray.io/node-type": "worker"}}
SERVICE = "{kind: RayService, spec: {rayClusterConfig: {headGroupSpec: %s}}}"
JOB = "{kind: RayJob, spec: {rayClusterSpec: {headGroupSpec: %s}}}"


@pytest.mark.parametrize(("change", "service", "found"), [
    ("", None, "app-head-svc"),
    ("spec: {headGroupSpec: {headService: {metadata: {name: mine}}}}", None, "mine"),
    ("metadata: {name: " + "x" * 60 + "}", None, "x" * 41 + "-head-svc"),
    ("metadata: {name: 9lives}", None, "rlives-head-svc"),
    ("spec: {headGroupSpec: {serviceType: null}}", None, "HeadHeadless"),
    ("spec: {headGroupSpec: {serviceType: LoadBalancer}}", None, "app-head-svc"),
    ("spec: {headGroupSpec: {serviceType: null, headService: {spec: {clusterIP: None}}}}", None, "HeadHeadless"),
    ("spec: {headServiceAnnotations: null}", None, "HeadNotGlobal"),
    ('spec: {headServiceAnnotations: {service.cilium.io/shared: "false"}}', None, "HeadNotGlobal"),
    (f"spec: {{headServiceAnnotations: null, headGroupSpec: {{headService: {{metadata: {{annotations: {{{GLOBAL}}}}}}}}}}}", None, "app-head-svc"),
    (SERVICE % "{serviceType: NodePort}", None, "HeadNotGlobal"),
    (SERVICE % f"{{headService: {{metadata: {{annotations: {{{GLOBAL}}}}}}}}}", None, "app-head-svc, late"),
    (SERVICE % "{}", OWN, "gcs"),
    (JOB % "{serviceType: NodePort}", None, "HeadNameUnknown"),
    (JOB % f"{{headService: {{metadata: {{name: mine, annotations: {{{GLOBAL}}}}}}}}}", None, "mine"),
    (JOB % "{}", OWN, "gcs"),
    (JOB % "{}", OWN.replace("ray.io/node-type: head", "app: x"), "HeadNameUnknown"),  # it selects the workers too
    (JOB % "{}", OWN.replace("6379", "8265"), "HeadNameUnknown"),
    (JOB % "{}", OWN.replace("selector", "clusterIP: None, selector"), "HeadNameUnknown"),
    (JOB % "{}", OWN.replace('"true"', '"false"'), "HeadNameUnknown"),
])  # fmt: skip
def test_the_head_is_found_by_a_service_that_has_a_name_a_mark_and_an_address(
    change: str, service: str | None, found: str
) -> None:
    value = app(change)
    services = [yaml.safe_load(service)] if service else []
    answer = head_address(value, "ml", PODS, services)
    if isinstance(answer, Missing):
        assert answer.code == found
        assert answer.hint
    else:
        assert answer.service + (", late" if answer.late else "") == found
        assert answer.gcs == "6379"


def test_an_operator_that_was_told_so_gives_heads_an_address() -> None:
    value = app("spec: {headGroupSpec: {serviceType: null}}")
    assert isinstance(head_address(value, "ml", PODS, (), cluster_ip=True), HeadAddress)


@pytest.mark.parametrize(("change", "codes"), [
    ("", []),
    ("spec: {tlsOptions: {enabled: true}}", ["WorkersStayHome"]),
    ("spec: {tlsOptions: {enabled: false}}", []),
    ("spec: {networkPolicy: {mode: DenyAll}}", ["WorkersStayHome"]),
    ("spec: {authOptions: {mode: token}}", ["WorkersStayHome"]),
    ("spec: {authOptions: {mode: token, secretName: s}}", []),
    ("spec: {workerGroupSpecs: []}", []),
    ("spec: {workerGroupSpecs: [{numOfHosts: 2}]}", ["WorkersStayHome"]),
    ("spec: {workerGroupSpecs: [{template: {spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]}}}]}", ["WorkersStayHome"]),
    ("spec: {workerGroupSpecs: [{template: {spec: {activeDeadlineSeconds: 60}}}]}", ["WorkersStayHome"]),
    ("spec: {headServiceAnnotations: null, tlsOptions: {enabled: true}}", ["HeadNotGlobal", "WorkersStayHome"]),
])  # fmt: skip
def test_what_only_the_home_has_keeps_workers_there(change: str, codes: list[str]) -> None:
    assert [item.code for item in missing(app(change), "ml", PODS, ())] == codes


def test_a_group_of_slices_stays_while_another_goes() -> None:
    value = app()
    value["spec"]["workerGroupSpecs"].insert(
        0, {**value["spec"]["workerGroupSpecs"][0], "groupName": "tpu", "numOfHosts": 4}
    )
    assert going(value) == (1,)
    assert missing(value, "ml", PODS, ()) == ()


@pytest.mark.parametrize(
    ("change", "is_app"),
    [
        ("", True),
        ("apiVersion: ray.io/v1alpha1", False),
        ("kind: Deployment", False),
        ("{kind: RayJob, spec: {rayClusterSpec: {}, clusterSelector: {ray.io/cluster: x}}}", False),
    ],
)
def test_an_app_makes_one_ray_cluster(change: str, is_app: bool) -> None:
    assert is_ray_app(app(change)) is is_app


SPAN = policy("p", "select: {}\nplacement: {span: IfNeeded}")


def warned(files: dict[str, str], *clusters: dict[str, str]) -> list[tuple[str, str]]:
    story = Story.of(*(clusters or (cluster("a", mesh="m"), cluster("b", mesh="m"))), SPAN, files)
    return [(p.code, str(p.location)) for p in story.plan().problems if p.severity != "info"]


def test_what_is_missing_is_told_at_its_place_when_it_is_written() -> None:
    text = yaml.safe_dump(app("{metadata: {namespace: null}, spec: {headServiceAnnotations: null}}"), sort_keys=False)
    line = text.splitlines().index("  headGroupSpec:") + 1
    assert ("HeadNotGlobal", f"workloads/ml/app.yaml:{line + 1}:5") in warned({"workloads/ml/app.yaml": text})


def test_what_is_missing_may_be_allowed_with_a_reason() -> None:
    change = "{metadata: {namespace: null, annotations: {allow.gitplacer.dev/HeadNotGlobal: it is small}}, spec: {headServiceAnnotations: null}}"
    files = {"workloads/ml/app.yaml": yaml.safe_dump(app(change))}
    assert "HeadNotGlobal" not in dict(warned(files))


def test_a_service_that_can_only_be_extended_is_told_so() -> None:
    body = textwrap.dedent(f"""\
        apiVersion: ray.io/v1
        kind: RayService
        metadata: {{name: app}}
        spec:
          rayClusterConfig:
            headGroupSpec:
              headService: {{metadata: {{annotations: {{{GLOBAL}}}}}}}
              template: {{spec: {{containers: [{{name: h, image: ray}}]}}}}
            workerGroupSpecs: [{{groupName: w, replicas: 1, template: {{spec: {{containers: [{{name: w, image: ray}}]}}}}}}]
        """)
    assert "HeadComesLate" in dict(warned({"workloads/ml/app.yaml": body}))


@pytest.mark.parametrize("meshes", [(None, None), ("m", None), ("m", "o")])
def test_a_policy_that_spans_clusters_without_a_mesh_holds_what_it_governs(meshes: tuple[str | None, ...]) -> None:
    clusters = [cluster(name, **({"mesh": mesh} if mesh else {})) for name, mesh in zip("ab", meshes, strict=True)]
    story = Story.of(
        *clusters,
        SPAN,
        {"workloads/ml/app.yaml": yaml.safe_dump(app("metadata: {namespace: null}"))},
        capacity=snapshot("a", "n1 64 640Gi"),
    )
    done = story.run()
    assert outcome(done) == {"ml/app": "Hold  HasProblems"}
    assert ("SpanWithoutMesh", "policies/p.yaml:1:1") in [(p.code, str(p.location)) for p in done.problems]
