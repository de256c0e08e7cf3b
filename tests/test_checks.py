"""Checks on groups: what they need and nobody brings, names that collide, secrets that nobody can open, allowances."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import pytest

from gitplacer.problems import Severity
from gitplacer.source.files import NoMemo
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree
from tests.stories import ANYWHERE, Story, cluster, deployment, outcome, policy, rayjob, rayservice, snapshot

ROOM = {**snapshot("a", "n1 64 256Gi 8"), **snapshot("b", "n1 64 256Gi 8")}
BOTH = (cluster("a"), cluster("b"))


def pod(name: str, body: str, annotations: str = "{}", namespace: str = "x") -> dict[str, str]:
    text = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, annotations: {annotations}}}\nspec:\n"
        f"  containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}{body}}}]\n"
    )
    return {f"workloads/{namespace}/{name}.yaml": text}


def told(story: Story, *codes: str) -> list[tuple[str, Severity, str]]:
    return [(p.code, p.severity, p.message) for p in story.run().problems if not codes or p.code in codes]


SECRET = ", envFrom: [{secretRef: {name: token}}]"
NEEDS_TOKEN = "Pod x/p needs Secret token, which is not in the source"


# references


def test_a_reference_that_nobody_brings_is_named_with_the_clusters_that_lack_it() -> None:
    story = Story.of(*BOTH, ANYWHERE, pod("p", SECRET), capacity=ROOM)
    assert told(story) == [
        ("MissingReference", Severity.WARNING, f"{NEEDS_TOKEN}, and a and b are not known to have it")
    ]


ACCOUNT = pod("p", "").popitem()[1].replace("spec:\n", "spec:\n  serviceAccountName: runer\n")
RUNNER = {"workloads/x/sa.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner}\n"}
THEIRS = 'spec: {paths: ["workloads/**"], namespaces: [x], serviceAccounts: [%s]}\n'
TENANT = "apiVersion: gitplacer.dev/v1alpha1\nkind: Tenant\nmetadata: {name: x}\n"
ADD = "add it in this namespace, or let its Tenant name it in serviceAccounts"
ELSEWHERE = "add it, or say that the clusters have it: present in the snapshot or in the profile of the Cluster"


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, [("ForeignServiceAccount", ADD)]),
        (RUNNER, [("ForeignServiceAccount", f'did you mean "runner"? Otherwise {ADD}')]),
        ({"tenants/x.yaml": TENANT + THEIRS % "runer"}, [("MissingReference", ELSEWHERE)]),
    ],
)
def test_a_service_account_that_nobody_brings_is_told_once(
    beside: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    """That it may not be used comes first; where it may, that no cluster has it is told."""
    story = Story.of(*BOTH, ANYWHERE, {"workloads/x/p.yaml": ACCOUNT}, beside, capacity=ROOM)
    problems = story.run().problems
    assert [(p.code, p.hint) for p in problems if p.location.file == "workloads/x/p.yaml"] == expected


PRESENT = "present: [{kind: Secret, namespace: x, name: token}]"


@pytest.mark.parametrize(
    ("files", "capacity", "left"),
    [
        # the snapshot of one cluster says so, or the profile of the other, or both
        ({}, snapshot("a", "n1 64 256Gi", more=f"{PRESENT}\n"), ["b"]),
        (cluster("b", profile=f"{{{PRESENT}}}"), {}, ["a"]),
        (cluster("b", profile=f"{{{PRESENT}}}"), snapshot("a", "n1 64 256Gi", more=f"{PRESENT}\n"), []),
        # of another namespace
        ({}, snapshot("a", "n1 64 256Gi", more="present: [{kind: Secret, namespace: z, name: token}]\n"), ["a", "b"]),
        # only the clusters that the policy allows matter
        (policy("anywhere", "select: {}\nclusters: {names: [b]}"), {}, ["b"]),
    ],
)
def test_a_cluster_that_is_known_to_have_it_is_not_named(
    files: dict[str, str], capacity: dict[str, str], left: list[str]
) -> None:
    story = Story.of(*BOTH, ANYWHERE, pod("p", SECRET), files, capacity={**ROOM, **capacity})
    messages = [message for _, _, message in told(story)]
    verb = "is" if len(left) == 1 else "are"
    assert messages == ([f"{NEEDS_TOKEN}, and {' and '.join(left)} {verb} not known to have it"] if left else [])


@pytest.mark.parametrize(("namespace", "missed"), [("", True), ("x", True), ("vault", False)])
def test_the_secret_of_a_volume_is_missed_in_the_namespace_of_the_pod_alone(namespace: str, missed: bool) -> None:
    elsewhere = f", secretNamespace: {namespace}" if namespace else ""
    text = pod("p", "")["workloads/x/p.yaml"]
    text += f"  volumes: [{{name: v, csi: {{driver: file.csi.azure.com, volumeAttributes: {{secretName: token, shareName: s{elsewhere}}}}}}}]\n"
    story = Story.of(*BOTH, ANYWHERE, {"workloads/x/p.yaml": text}, capacity=ROOM)
    messages = [message for _, _, message in told(story, "MissingReference")]
    assert messages == ([f"{NEEDS_TOKEN}, and a and b are not known to have it"] if missed else [])


@pytest.mark.parametrize(
    ("serves", "without"),
    [("", "a and b are"), ("serves: [ray.io/v1]", "a and b are"), ("serves: [route.openshift.io/v1]", "b is")],
)
def test_what_openshift_has_in_every_namespace_is_missed_elsewhere_alone(serves: str, without: str) -> None:
    text = pod("p", ", envFrom: [{configMapRef: {name: openshift-service-ca.crt}}]")
    story = Story.of(*BOTH, ANYWHERE, text, capacity={**ROOM, "a.yaml": f"{ROOM['a.yaml']}{serves}\n"})
    [(_, _, message)] = told(story, "MissingReference")
    assert message.endswith(f"which is not in the source, and {without} not known to have it")


OPTIONAL = ", envFrom: [{secretRef: {name: token, optional: true}}]"
ROOT_CA = ", envFrom: [{configMapRef: {name: kube-root-ca.crt}}]"


@pytest.mark.parametrize(
    "beside",
    [
        "apiVersion: v1\nkind: Secret\nmetadata: {name: token}\n",
        "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: token}\nspec: {encryptedData: {a: b}}\n",
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: token}\nspec: {}\n",
        "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaUser\nmetadata: {name: token}\nspec: {}\n",
        "apiVersion: k8s.bitwarden.com/v1\nkind: BitwardenSecret\nmetadata: {name: o}\nspec: {secretName: token}\n",
        "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: o}\nspec: {target: {name: token}}\n",
        "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: o}\nspec: {secretName: token}\n",
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, annotations: {service.beta.openshift.io/serving-cert-secret-name: token}}\n",
    ],
)
def test_what_makes_a_secret_brings_it_and_travels_with_who_needs_it(beside: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, pod("p", SECRET), {"workloads/x/beside.yaml": beside}, capacity=ROOM)
    assert told(story, "MissingReference", "NotInAGroup") == []
    assert sorted(path.rpartition("/")[2] for path in story.files()) == ["beside.yaml", "p.yaml"]


ISSUED = """\
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: c}
spec: {secretName: token, issuerRef: {name: own}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: own}
spec: {ca: {secretName: root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: root}
spec: {isCA: true, secretName: root, issuerRef: {name: self}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self}
spec: {selfSigned: {}}
"""
STORED = """\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: token}
spec: {secretStoreRef: {name: vault}}
---
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata: {name: vault}
spec: {provider: {vault: {auth: {kubernetes: {serviceAccountRef: {name: reader}}}}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader}
"""


@pytest.mark.parametrize("beside", [ISSUED, STORED])
def test_what_makes_a_secret_travels_with_all_that_it_takes(beside: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, pod("p", SECRET), {"workloads/x/beside.yaml": beside}, capacity=ROOM)
    assert told(story) == []
    written = story.deployment.read("clusters/a/workloads/x/p/beside.yaml").decode()
    assert written.count("kind: ") == beside.count("kind: ")


@pytest.mark.parametrize("body", [OPTIONAL, ROOT_CA, ""])
def test_what_is_optional_or_everywhere_is_not_missed(body: str) -> None:
    assert told(Story.of(*BOTH, ANYWHERE, pod("p", body), capacity=ROOM)) == []


def test_a_class_of_priority_or_storage_is_looked_for_without_a_namespace() -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: fast, accessModes: [ReadWriteMany]}\n"
    text = pod("p", "")["workloads/x/p.yaml"] + (
        "  priorityClassName: urgent\n  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n"
    )
    files = {"workloads/x/p.yaml": text, "workloads/x/claim.yaml": claim}
    story = Story.of(*BOTH, ANYWHERE, files, capacity=ROOM)
    assert [message.partition(",")[0] for _, _, message in told(story, "MissingReference")] == [
        "PersistentVolumeClaim x/data needs StorageClass fast",
        "Pod x/p needs PriorityClass urgent",
    ]
    classes = {
        "platform/classes/both.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: urgent}\nvalue: 1\n"
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: p\n"
    }
    assert told(Story.of(*BOTH, ANYWHERE, EVERYWHERE, files, classes, capacity=ROOM), "MissingReference") == []


MODELS = {
    "workloads/x/models.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models}\n"
    'spec: {accessModes: [ReadWriteMany], storageClassName: "", volumeName: models, resources: {requests: {storage: 1Ti}}}\n',
    "workloads/x/p.yaml": pod("p", "")["workloads/x/p.yaml"]
    + "  volumes: [{name: m, persistentVolumeClaim: {claimName: models}}]\n",
}
VOLUME = {
    "platform/models.yaml": "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: models}\n"
    "spec: {capacity: {storage: 1Ti}, accessModes: [ReadWriteMany], nfs: {server: s, path: /}}\n"
}
LACKED = "PersistentVolumeClaim x/models needs PersistentVolume models, which"


@pytest.mark.parametrize(
    ("files", "more", "said"),
    [
        ({}, "", f"{LACKED} is not in the source, and a and b are not known to have it"),
        ({}, "present: [{kind: PersistentVolume, name: models}]", f"{LACKED} is not in the source, and b is not known to have it"),
        # the claim is bound there already
        ({}, "volumes: [{claim: x/models, zones: [z]}]", f"{LACKED} is not in the source, and b is not known to have it"),
        (
            {**VOLUME, **policy("platform", 'select: {paths: ["platform/**"]}\nprecedence: 9\nclusters: {names: [a]}\n')},
            "",
            f"{LACKED} policy platform brings to a alone, and b is not known to have it",
        ),
    ],
)  # fmt: skip
def test_a_volume_that_a_claim_names_is_looked_for_on_each_cluster(files: dict[str, str], more: str, said: str) -> None:
    capacity = {**ROOM, **snapshot("a", "n1 64 256Gi 8", more=f"{more}\n")}
    story = Story.of(*BOTH, ANYWHERE, MODELS, files, capacity=capacity)
    assert [message for _, _, message in told(story, "MissingReference")] == [said]


EVERYWHERE = policy("platform", 'select: {paths: ["platform/**"]}\nprecedence: 9\nplacement: {copies: All}')
BRINGS = {"platform/config/token.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: x}\n"}
MAKES = {
    "platform/config/token.yaml": "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: token, namespace: x}\n"
    "spec: {encryptedData: {a: b}}\n"
}
PLATFORM = 'select: {paths: ["platform/**"]}\nprecedence: 9\n'


@pytest.mark.parametrize("brings", [BRINGS, MAKES])
@pytest.mark.parametrize(
    ("rule", "app", "said"),
    [
        ("placement: {copies: All}", "", []),
        ("clusters: {names: [a]}", "", ["which policy ops brings to a alone, and b is not known to have it"]),
        ("clusters: {names: [a]}", "clusters: {names: [a]}", []),  # the app does not go to b
        ("clusters: {names: [a, b]}\nplacement: {copies: 2}", "", []),
        ("placement: {type: Ordered, order: [{names: [b]}], copies: All}", "",
            ["which policy ops brings to b alone, and a is not known to have it"]),
        # one copy, which is nowhere yet
        ("", "", ["which policy ops brings to no cluster that is known, and a and b are not known to have it"]),
    ],
)  # fmt: skip
def test_what_the_platform_brings_is_missed_where_its_policy_does_not_bring_it(
    brings: dict[str, str], rule: str, app: str, said: list[str]
) -> None:
    policies = {**policy("ops", f"{PLATFORM}{rule}"), **policy("anywhere", f"select: {{}}\n{app}")}
    story = Story.of(*BOTH, policies, pod("p", SECRET), brings, capacity=ROOM)
    messages = [
        message.removeprefix("Pod x/p needs Secret token, ") for _, _, message in told(story, "MissingReference")
    ]
    assert messages == said


def test_the_one_copy_of_the_platform_is_known_where_it_is() -> None:
    story = Story.of(*BOTH, ANYWHERE, policy("ops", PLATFORM), pod("p", SECRET), BRINGS, capacity=ROOM)
    story.run()
    [(_, _, message)] = told(story, "MissingReference")
    assert message.endswith("which policy ops brings to a alone, and b is not known to have it")
    there = policy("anywhere", "select: {}\nclusters: {names: [a]}")
    assert told(Story({**story.source, **there}, ROOM, story.deployment), "MissingReference") == []


CLASSES = "storageClasses: [{name: fast}]\npriorityClasses: [{name: urgent, value: 1}]\n"


@pytest.mark.parametrize(
    ("b", "more", "missed"),
    [
        (cluster("b"), CLASSES, 0),  # snapshots of both tell of the classes
        (cluster("b", profile=f"{{{', '.join(CLASSES.splitlines())}}}"), "", 0),  # somebody wrote those of b down
        (cluster("b"), "", 2),
    ],
)
def test_a_class_that_a_snapshot_or_a_profile_tells_of_is_not_missed(b: dict[str, str], more: str, missed: int) -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: fast, accessModes: [ReadWriteMany]}\n"
    text = pod("p", "")["workloads/x/p.yaml"] + (
        "  priorityClassName: urgent\n  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]\n"
    )
    room = {**snapshot("a", "n1 64 256Gi", more=CLASSES), **snapshot("b", "n1 64 256Gi", more=more)}
    files = {"workloads/x/p.yaml": text, "workloads/x/claim.yaml": claim}
    messages = [
        message for _, _, message in told(Story.of(cluster("a"), b, ANYWHERE, files, capacity=room), "MissingReference")
    ]
    assert [message.partition(", and ")[2] for message in messages] == ["b is not known to have it"] * missed


def test_a_service_that_kuberay_makes_is_not_missed() -> None:
    redis = rayservice("x", "app")["workloads/x/app.yaml"]
    job = rayjob("x", "train")["workloads/x/train.yaml"].replace(
        "  entrypoint: python train.py\n",
        "  entrypoint: python train.py\n  shutdownAfterJobFinishes: true\n",
    )
    pointing = job.replace(
        "    headGroupSpec:\n",
        "    gcsFaultToleranceOptions: {redisAddress: 'app-head-svc:6379'}\n    headGroupSpec:\n",
    )
    files = {"workloads/x/app.yaml": redis, "workloads/x/train.yaml": pointing}
    assert told(Story.of(*BOTH, ANYWHERE, files, capacity=ROOM), "MissingReference") == []
    del files["workloads/x/app.yaml"]
    [(_, _, message)] = told(Story.of(*BOTH, ANYWHERE, files, capacity=ROOM), "MissingReference")
    assert message.startswith("RayJob x/train needs Service app-head-svc")


INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: %s}
spec:
  tls: [{hosts: [a.example.com], secretName: web-tls}]
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: x}, ports: [{port: 80}]}
"""


def test_a_certificate_that_the_ingress_asks_for_is_not_missed() -> None:
    labelled = {
        "workloads/x/p.yaml": pod("p", "")["workloads/x/p.yaml"].replace("{name: p,", "{name: p, labels: {app: x},")
    }
    for written, missed in (("{}", 1), ("{cert-manager.io/cluster-issuer: letsencrypt}", 0)):
        story = Story.of(*BOTH, ANYWHERE, labelled, {"workloads/x/i.yaml": INGRESS % written}, capacity=ROOM)
        assert len(told(story, "MissingReference")) == missed
        assert any(path.endswith("i.yaml") for path in story.files())


QUEUE = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: lq}\nspec: {clusterQueue: all}\n"


def test_the_queue_that_a_job_waits_in_travels_with_it_or_is_missed() -> None:
    job = {
        "workloads/x/train.yaml": rayjob("x", "train")["workloads/x/train.yaml"].replace(
            "  name: train\n", "  name: train\n  labels: {kueue.x-k8s.io/queue-name: lq}\n"
        )
    }
    [(_, _, message)] = told(Story.of(*BOTH, ANYWHERE, job, capacity=ROOM), "MissingReference")
    assert message.startswith("RayJob x/train needs LocalQueue lq, which is not in the source")
    beside = {"workloads/x/queue.yaml": QUEUE}
    assert told(Story.of(*BOTH, ANYWHERE, job, beside, capacity=ROOM), "MissingReference", "NotInAGroup") == []


@pytest.mark.parametrize(("name", "made_up"), [("web", True), ("web-7xk2w", True), ("other", False)])
def test_a_job_cannot_name_a_ray_cluster_whose_name_is_made_up(name: str, made_up: bool) -> None:
    job = "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: ask}\n"
    job += f"spec: {{entrypoint: x, submissionMode: HTTPMode, clusterSelector: {{ray.io/cluster: {name}}}}}\n"
    story = Story.of(*BOTH, ANYWHERE, rayservice("x", "web"), {"workloads/x/ask.yaml": job}, capacity=ROOM)
    [problem] = (each for each in story.run().problems if each.code == "MissingReference")
    assert problem.message.startswith(f"RayJob x/ask needs RayCluster {name}, which is not in the source")
    assert ("the Ray cluster of RayService x/web: name a RayCluster" in problem.hint) is made_up


WATCHER = """\
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: all-heads}
spec: {selector: {matchLabels: {ray.io/node-type: head}}, podMetricsEndpoints: [{port: metrics}]}
"""


def test_a_monitor_of_several_apps_is_shared_by_them_and_holds_none() -> None:
    apps = rayservice("x", "one") | rayservice("x", "two")
    serving = {name: text + "serves: [ray.io, monitoring.coreos.com]\n" for name, text in ROOM.items()}
    story = Story.of(*BOTH, ANYWHERE, apps, {"workloads/x/monitor.yaml": WATCHER}, capacity=serving)
    done = story.run()
    assert sorted(outcome(done)) == ["x/one", "x/two"]
    assert [p.code for p in done.problems] == []
    assert [path for path in story.files() if path.endswith("monitor.yaml")] == [
        "clusters/a/workloads/x/_shared/monitor.yaml"
    ]


def test_a_disruption_budget_for_all_heads_guards_them_wherever_they_are() -> None:
    """It need not be on one cluster, as a Service has to that sends to both."""
    apps = rayservice("x", "one") | rayservice("x", "two")
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: heads}\n"
    budget += "spec: {minAvailable: 1, selector: {matchLabels: {ray.io/node-type: head}}}\n"
    apart = [
        policy(name, f"select: {{names: [{name}]}}\nclusters: {{names: [{where}]}}\nprecedence: 1")
        for name, where in (("one", "a"), ("two", "b"))
    ]
    story = Story.of(*BOTH, *apart, apps, {"workloads/x/budget.yaml": budget}, capacity=ROOM)
    done = story.run()
    assert done.problems == ()
    assert [path for path in story.files() if path.endswith("budget.yaml")] == [
        "clusters/a/workloads/x/_shared/budget.yaml",
        "clusters/b/workloads/x/_shared/budget.yaml",
    ]


@pytest.mark.parametrize(
    ("spaces", "goes"),
    [
        ("{}", True),
        ("{matchNames: [x]}", True),  # its own, which only the path says
        ("{matchNames: [x, z]}", False),
        ("{matchNames: [z]}", False),
        ("{any: true}", False),
    ],
)
@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
def test_a_monitor_goes_with_the_apps_of_its_namespace_if_it_looks_at_no_other(
    kind: str, spaces: str, goes: bool
) -> None:
    monitor = WATCHER.replace("spec: {", f"spec: {{namespaceSelector: {spaces}, ").replace("PodMonitor", kind)
    serving = {name: text + "serves: [ray.io, monitoring.coreos.com]\n" for name, text in ROOM.items()}
    files = {**rayservice("x", "one"), "workloads/x/monitor.yaml": monitor}
    story = Story.of(*BOTH, ANYWHERE, files, capacity=serving)
    assert [p.code for p in story.run().problems] == ([] if goes else ["NotInAGroup"])
    assert any(path.endswith("monitor.yaml") for path in story.files()) == goes


_TEMPLATE = "template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"
RAY_CLUSTER = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: app}}
spec: {{headGroupSpec: {{GIVEN{_TEMPLATE}}}}}
"""
RAY_JOB = f"""\
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: app}}
spec: {{entrypoint: run, rayClusterSpec: {{headGroupSpec: {{GIVEN{_TEMPLATE}}}}}}}
"""
RAY_SERVICE = f"""\
apiVersion: ray.io/v1
kind: RayService
metadata: {{name: app}}
spec: {{GIVENrayClusterConfig: {{headGroupSpec: {{{_TEMPLATE}}}}}}}
"""
SERVES = "metadata: {name: app, annotations: {ray.io/enable-serve-service: 'true'}}"
LONG = "a-cluster-of-a-team-whose-name-is-rather-long-too"


@pytest.mark.parametrize(
    ("ray", "given", "service_name"),
    [
        (RAY_CLUSTER, "", "app-head-svc"),
        (RAY_CLUSTER, "headService: {metadata: {name: mine}}, ", "mine"),
        (RAY_CLUSTER.replace("metadata: {name: app}", SERVES), "", "app-serve-svc"),
        (RAY_CLUSTER.replace("name: app}", f"name: {LONG}}}"), "", f"{LONG}-head-svc"[-50:]),
        (RAY_JOB, "", "app-head-svc"),
        (RAY_JOB, "headService: {metadata: {name: mine}}, ", "mine"),
        (RAY_SERVICE, "", "app-head-svc"),
        (RAY_SERVICE, "", "app-serve-svc"),
        (RAY_SERVICE, "serveService: {metadata: {name: mine}}, ", "mine"),
        (RAY_SERVICE.replace("name: app}", f"name: {LONG[:45]}}}"), "", f"{LONG[:45]}-serve-svc"[-50:]),
    ],
)
def test_what_leads_to_a_service_that_kuberay_makes_goes_with_the_app(ray: str, given: str, service_name: str) -> None:
    backend = f"{{service: {{name: {service_name}, port: {{number: 8000}}}}}}"
    paths = f"{{path: /, pathType: Prefix, backend: {backend}}}"
    route = f"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: way}}\nspec: {{rules: [{{http: {{paths: [{paths}]}}}}]}}\n"
    files = {"workloads/x/ray.yaml": ray.replace("GIVEN", given), "workloads/x/way.yaml": route}
    story = Story.of(*BOTH, ANYWHERE, files, capacity=ROOM)
    assert told(story, "NotInAGroup") == []
    story.run()
    [group] = {path.split("/")[4] for path in story.files() if path.endswith("/ray.yaml")}
    assert f"clusters/a/workloads/x/{group}/way.yaml" in story.files()


OBSERVER = """\
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: observer}
spec: {selector: {matchLabels: LABELS}, endpoints: [{port: metrics}]}
"""
OBSERVED = {name: text + "serves: [ray.io, monitoring.coreos.com]\n" for name, text in ROOM.items()}
_CALLED = "headService: {metadata: {labels: {team: red, ray.io/node-type: mine}}}, "


@pytest.mark.parametrize(
    ("ray", "given", "labels", "goes"),
    [
        ("RayCluster", "", "{ray.io/node-type: head}", True),
        ("RayCluster", "", "{ray.io/cluster: app, app.kubernetes.io/created-by: kuberay-operator}", True),
        ("RayCluster", "", "{ray.io/node-type: worker}", False),  # workers have none
        ("RayCluster", "", "{ray.io/group: headgroup}", False),  # of the pod alone
        ("RayCluster", _CALLED, "{team: red}", True),
        ("RayCluster", _CALLED, "{ray.io/node-type: mine}", False),  # KubeRay's own wins
        ("RayCluster", "", "{ray.io/serve: app-serve}", False),
        ("RayCluster, served", "", "{ray.io/serve: app-serve}", True),
        ("RayJob", "", "{ray.io/node-type: head}", True),
        ("RayJob", "", "{ray.io/cluster: app}", False),  # its name is made up
        ("RayService", "", "{ray.io/originated-from-cr-name: app, ray.io/node-type: head}", True),
        ("RayService", "", "{ray.io/serve: app-serve, ray.io/originated-from-crd: RayService}", True),
        ("RayService", "", "{ray.io/serve: app-serve, ray.io/node-type: head}", False),  # of two Services
        ("RayService", "serveService: {metadata: {labels: {team: red}}}, ", "{team: red}", True),
    ],
)
def test_a_monitor_goes_with_the_app_whose_service_it_picks(ray: str, given: str, labels: str, goes: bool) -> None:
    text = {
        "RayCluster": RAY_CLUSTER,
        "RayCluster, served": RAY_CLUSTER.replace("metadata: {name: app}", SERVES),
        "RayJob": RAY_JOB,
        "RayService": RAY_SERVICE,
    }[ray]
    files = {"workloads/x/ray.yaml": text.replace("GIVEN", given)}
    files["workloads/x/observer.yaml"] = OBSERVER.replace("LABELS", labels)
    story = Story.of(*BOTH, ANYWHERE, files, capacity=OBSERVED)
    assert [code for code, _, _ in told(story, "NotInAGroup")] == ([] if goes else ["NotInAGroup"])
    story.run()
    assert ("clusters/a/workloads/x/app/observer.yaml" in story.files()) == goes


def test_a_monitor_goes_with_what_is_behind_the_services_that_it_picks() -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME, labels: {team: TEAM}}\nspec: {selector: {app: NAME}, ports: [{port: 80}]}\n"
    web = text.replace("NAME", "web").replace("TEAM", "red")
    other = text.replace("NAME", "other").replace("TEAM", "blue")
    files = {
        **deployment("x", "web", "requests: {cpu: 1}"), **deployment("x", "other", "requests: {cpu: 1}"),
        "workloads/x/web-service.yaml": web, "workloads/x/other-service.yaml": other,
        "workloads/x/observer.yaml": OBSERVER.replace("LABELS", "{team: red}"),
    }  # fmt: skip
    story = Story.of(*BOTH, ANYWHERE, files, capacity=OBSERVED)
    assert [p.code for p in story.run().problems] == []
    assert "clusters/a/workloads/x/web/observer.yaml" in story.files()
    story.source["workloads/x/observer.yaml"] = OBSERVER.replace(
        "{matchLabels: LABELS}", "{matchExpressions: [{key: team, operator: Exists}]}"
    )
    assert [p.code for p in story.run().problems] == []
    assert "clusters/a/workloads/x/_shared/observer.yaml" in story.files()  # of both


GATEWAYS = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec: {gatewayClassName: envoy, listeners: [{name: http, protocol: HTTP, port: 80}]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: keys}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: gw}]}
"""
ROUTE = """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: NAME-serve-svc, port: 8000}]}]}
"""


@pytest.mark.parametrize(("apps", "where"), [(("one",), "one"), (("one", "two"), "_shared")])
def test_a_policy_of_a_gateway_goes_where_the_gateway_goes(apps: tuple[str, ...], where: str) -> None:
    files = {path: text for name in apps for path, text in rayservice("x", name).items()}
    routes = "".join(ROUTE.replace("NAME", name) for name in apps)
    beside = {"workloads/x/gateways.yaml": GATEWAYS, "workloads/x/routes.yaml": routes}
    serving = {
        name: text + "serves: [ray.io, gateway.networking.k8s.io, gateway.envoyproxy.io]\n"
        for name, text in ROOM.items()
    }
    story = Story.of(*BOTH, ANYWHERE, files, beside, capacity=serving)
    assert [p.code for p in story.run().problems] == []
    written = [story.deployment.read(path).decode() for path in story.files(f"clusters/a/workloads/x/{where}/")]
    assert all(any(f"kind: {kind}\n" in text for text in written) for kind in ("Gateway", "SecurityPolicy"))


KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./clusters, prune: true%s}
"""
FLUX = {"fleet.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {engine: flux}\n"}


@pytest.mark.parametrize(
    ("fleet", "kustomization", "warned"),
    [
        ({}, "", False),  # Argo CD
        (FLUX, None, True),  # nobody knows what the Kustomization says
        (FLUX, "", False),
        (FLUX, ", postBuild: {substitute: {OUT: x}}", True),
    ],
)
def test_a_variable_is_told_of_where_flux_would_replace_it(
    fleet: dict[str, str], kustomization: str | None, warned: bool
) -> None:
    files = pod("p", ", command: [sh, -c, 'echo ${HOME}']") | fleet
    if kustomization is not None:
        files["bootstrap/flux/a.yaml"] = KUSTOMIZATION % kustomization
    story = Story.of(*BOTH, ANYWHERE, files, capacity=ROOM)
    assert bool(told(story, "FluxVariable")) is warned


# namesakes


@pytest.mark.parametrize(
    ("other", "made"),
    [
        (rayservice("x", "app"), "both make the Service app-head-svc"),
        (
            {
                "workloads/x/j.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app}\n"
                "spec: {template: {spec: {containers: [{name: c}]}}}\n"
            },
            "both make the Job app",
        ),
        (rayservice("x", "other"), ""),
        (rayservice("z", "app"), ""),
        (pod("app", ""), ""),
    ],
)
def test_two_objects_whose_controllers_make_one_are_told_of_each_other(other: dict[str, str], made: str) -> None:
    job = {"workloads/x/job.yaml": rayjob("x", "app")["workloads/x/app.yaml"]}
    found = told(Story.of(*BOTH, ANYWHERE, job, other, capacity=ROOM), "NamesakesCollide")
    assert len(found) == (2 if made else 0)
    assert all(message.endswith(made) for _, _, message in found)


def service(name: str, namespace: str = "x") -> str:
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{ports: [{{port: 80}}]}}\n"


@pytest.mark.parametrize(
    ("ray", "given", "made"),
    [
        (rayservice("x", "app"), service("app-head-svc"), "the Service app-head-svc"),
        (rayservice("x", "app"), service("app-serve-svc"), "the Service app-serve-svc"),
        (rayjob("x", "app"), service("app-head-svc"), "the Service app-head-svc"),
        (rayjob("x", "app"), service("app-serve-svc"), ""),
        (rayservice("x", "app"), service("app-head-svc", "y"), ""),
        (rayservice("x", "app"), service("app"), ""),
        (pod("app", ""), service("app-head-svc"), ""),
    ],
)
def test_a_service_that_kuberay_makes_itself_is_told_where_somebody_writes_one(
    ray: dict[str, str], given: str, made: str
) -> None:
    found = told(Story.of(*BOTH, ANYWHERE, ray, {"workloads/x/s.yaml": given}, capacity=ROOM), "NamesakesCollide")
    assert [message.partition(" of Ray")[0] for _, _, message in found] == ([f"KubeRay makes {made}"] if made else [])
    assert all(message.endswith("and workloads/x/s.yaml:1:1 is one of that name") for _, _, message in found)


@pytest.mark.parametrize(
    ("kind", "cluster_spec", "given"),
    [
        ("RayCluster", "headGroupSpec: {OWNtemplate: TEMPLATE}", "headService: {metadata: {name: mine}}, "),
        (
            "RayService",
            "OWNrayClusterConfig: {headGroupSpec: {template: TEMPLATE}}",
            "serveService: {metadata: {name: mine}}, ",
        ),
    ],
)
def test_a_service_with_a_name_of_its_own_leaves_the_usual_name_free(kind: str, cluster_spec: str, given: str) -> None:
    spec = cluster_spec.replace("TEMPLATE", "{spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}")
    text = f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: app}}\nspec: {{{spec}}}\n"
    usual = "app-head-svc" if kind == "RayCluster" else "app-serve-svc"
    for own, count in (("", 1), (given, 0)):
        files = {"workloads/x/ray.yaml": text.replace("OWN", own), "workloads/x/s.yaml": service(usual)}
        assert len(told(Story.of(*BOTH, ANYWHERE, files, capacity=ROOM), "NamesakesCollide")) == count


def test_a_service_that_kuberay_makes_by_the_name_it_is_given_is_told_where_somebody_writes_one() -> None:
    ray = RAY_CLUSTER.replace("GIVEN", "headService: {metadata: {name: mine}}, ")
    files = {"workloads/x/ray.yaml": ray, "workloads/x/s.yaml": service("mine")}
    [(_, _, message)] = told(Story.of(*BOTH, ANYWHERE, files, capacity=ROOM), "NamesakesCollide")
    assert message.startswith("KubeRay makes the Service mine of RayCluster x/app")


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode", "InteractiveMode"])
def test_a_rayjob_that_is_submitted_without_a_job_collides_with_none(mode: str) -> None:
    text = rayjob("x", "app")["workloads/x/app.yaml"].replace("spec:\n", f"spec:\n  submissionMode: {mode}\n", 1)
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: app}\nspec: {template: {spec: {containers: [{name: c}]}}}\n"
    )
    files = {"workloads/x/job.yaml": text, "workloads/x/j.yaml": job}
    assert told(Story.of(*BOTH, ANYWHERE, files, capacity=ROOM), "NamesakesCollide") == []
    both = told(Story.of(*BOTH, ANYWHERE, files, rayservice("x", "app"), capacity=ROOM), "NamesakesCollide")
    assert len(both) == 2  # the head Service is made in any mode


# sealed secrets


def sealed(annotations: str = "{}") -> dict[str, str]:
    text = (
        "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\n"
        f"metadata: {{name: token, annotations: {annotations}}}\nspec: {{encryptedData: {{a: b}}}}\n"
    )
    return {"workloads/x/sealed.yaml": text}


KEYS = (cluster("a", profile="{sealingKey: team-a}"), cluster("b", profile="{sealingKey: team-b}"))


def test_a_sealed_secret_goes_only_where_its_key_is() -> None:
    story = Story.of(*KEYS, ANYWHERE, pod("p", SECRET), sealed("{gitplacer.dev/sealing-key: team-b}"), capacity=ROOM)
    done = story.run()
    assert outcome(done) == {"x/p": "Place b Fits"}
    [decision] = done.view.plan.decisions
    [rejected] = [c for c in decision.candidates if c.cluster == "a"]
    assert rejected.finding.code == "FeatureNotServed"
    assert rejected.finding.subject == "it opens secrets sealed for team-a, and one is sealed for team-b"


def test_where_keys_differ_a_sealed_secret_has_to_say_its_own() -> None:
    [(code, severity, _)] = told(Story.of(*KEYS, ANYWHERE, pod("p", SECRET), sealed(), capacity=ROOM))
    assert (code, severity) == ("UnknownSealingKey", Severity.WARNING)
    same = (cluster("a", profile="{sealingKey: team-a}"), cluster("b", profile="{sealingKey: team-a}"))
    assert told(Story.of(*same, ANYWHERE, pod("p", SECRET), sealed(), capacity=ROOM)) == []


SOPS = "sops: {mac: 'ENC[x]', lastmodified: '2026-01-02T03:04:05Z'}\n"


def test_a_file_that_sops_signed_is_never_edited() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: token%s}\ndata: {a: 'ENC[y]'}\n" + SOPS
    files = {**pod("p", SECRET), "workloads/x/s.yaml": secret % ""}
    story = Story.of(*BOTH, ANYWHERE, files, capacity=ROOM)
    assert outcome(story.run()) == {"x/p": "Hold  HasProblems"}
    story = Story.of(*BOTH, ANYWHERE, {**files, "workloads/x/s.yaml": secret % ", namespace: x"}, capacity=ROOM)
    assert outcome(story.run()) == {"x/p": "Place a Fits"}
    assert story.deployment.read("clusters/a/workloads/x/p/s.yaml").decode() == secret % ", namespace: x"
    override = {
        "policies/o.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\n"
        "spec: {select: {kinds: [Secret]}, overrides: [{path: /metadata/labels, op: add, value: {a: b}}]}\n"
    }
    story.source.update(override)
    done = story.run()
    assert outcome(done) == {"x/p": "Hold a HasProblems"}
    assert [p.code for p in done.problems] == ["SopsFileEdited"]


# what is served


def test_a_feature_that_no_allowed_cluster_serves_is_said_before_anybody_waits() -> None:
    job = {
        "workloads/x/train.yaml": rayjob("x", "train")["workloads/x/train.yaml"].replace(
            "  entrypoint:", "  submissionMode: SidecarMode\n  entrypoint:"
        )
    }
    old = (cluster("a", profile="{kuberay: {version: 1.4.2}}"), cluster("b", profile="{kuberay: {version: 1.4.0}}"))
    [(_, severity, message)] = told(Story.of(*old, ANYWHERE, job, capacity=ROOM), "ServedNowhere")
    assert severity is Severity.WARNING
    assert message == (
        "no cluster that the policy allows can serve SidecarMode; "
        "a: needs KubeRay 1.5, which has SidecarMode; 1.4.2 runs there"
    )
    # one that is new enough, or one of which nothing is known, is enough
    for second in (cluster("b", profile="{kuberay: {version: 1.5.0}}"), cluster("b")):
        assert told(Story.of(old[0], second, ANYWHERE, job, capacity=ROOM), "ServedNowhere") == []


# what policies reserve

ELASTIC = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: app}
spec:
  rayClusterConfig:
    enableInTreeAutoscaling: true
    headGroupSpec: {template: {spec: {containers: [{name: h, resources: {requests: {cpu: 500m, memory: 512Mi}}}]}}}
    workerGroupSpecs:
    - groupName: w
      replicas: 3
      minReplicas: 1
      maxReplicas: 6
      template: {spec: {containers: [{name: w, resources: {requests: {cpu: 2, memory: 1Gi}}}]}}
"""


@pytest.mark.parametrize(
    ("placement", "update", "cpu"),
    [
        # head 500m + its autoscaler 500m, and workers of 2
        ("{}", "{}", 1 + 3 * 2),
        ("{reserve: Minimum}", "{}", 1 + 1 * 2),
        ("{reserve: Maximum}", "{}", 1 + 6 * 2),
        # an update brings a second Ray cluster, with the workers that are written
        ("{}", "{reservePeak: true}", 2 * (1 + 3 * 2)),
        ("{reserve: Maximum}", "{reservePeak: true}", (1 + 6 * 2) + (1 + 3 * 2)),
    ],
)
def test_a_policy_says_how_much_room_an_autoscaling_app_is_promised(placement: str, update: str, cpu: int) -> None:
    rule = policy("p", f"select: {{}}\nplacement: {placement}\nupdate: {update}")
    for size, expected in ((cpu, "Place a Fits"), (cpu - 1, "Wait  NoClusterFits")):
        story = Story.of(
            cluster("a"), rule, {"workloads/x/app.yaml": ELASTIC}, capacity=snapshot("a", f"n1 {size} 64Gi")
        )
        assert outcome(story.run()) == {"x/app": expected}


def test_a_job_is_promised_all_that_it_starts_with() -> None:
    """A RayJob starts when all its desired workers are ready, so room for fewer would be room for nothing."""
    job = rayjob("x", "train", cpu="2", workers=3)["workloads/x/train.yaml"]
    job = job.replace("minReplicas: 3", "minReplicas: 0").replace(
        "  rayClusterSpec:\n", "  rayClusterSpec:\n    enableInTreeAutoscaling: true\n"
    )
    rule = policy("p", "select: {}\nplacement: {reserve: Minimum}")
    # head 2 + autoscaler 0.5, three workers of 2, submitter 0.5
    for cpu, expected in (("9", "Place a Fits"), ("8", "Wait  NoClusterFits")):
        story = Story.of(
            cluster("a"), rule, {"workloads/x/train.yaml": job}, capacity=snapshot("a", f"n1 {cpu} 64Gi 8")
        )
        assert outcome(story.run()) == {"x/train": expected}


def test_a_maximum_that_nobody_wrote_cannot_be_promised() -> None:
    rule = policy("p", "select: {}\nplacement: {reserve: Maximum}")
    text = ELASTIC.replace("      maxReplicas: 6\n", "")
    story = Story.of(cluster("a"), rule, {"workloads/x/app.yaml": text}, capacity=snapshot("a", "n1 64 64Gi"))
    done = story.run()
    assert outcome(done) == {"x/app": "Hold  HasProblems"}
    assert [p.code for p in done.problems if p.severity is Severity.ERROR] == ["UnboundedMaximum"]


# volumes

SHARED = ", volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"


@pytest.mark.parametrize(("mode", "replicas", "volumes", "said"), [
    ("ReadWriteOncePod", 2, SHARED, "PersistentVolumeClaim data is ReadWriteOncePod, and 2 pods of the group have it"),
    ("ReadWriteOncePod", 1, SHARED, None),
    ("ReadWriteOncePod", 2, SHARED.replace("data", "other"), None),
    ("ReadWriteOncePod", 2, "", None),
    ("ReadWriteOnce", 2, SHARED, None),
    ("ReadWriteOncePod", 2, ", volumes: [{name: data, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOncePod]}}}}]", None),
])  # fmt: skip
def test_a_volume_for_one_pod_is_not_for_two(mode: str, replicas: int, volumes: str, said: str | None) -> None:
    """kube-scheduler finds no node for the second of them, so the gang never runs as a whole."""
    files = {
        "workloads/x/data.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
        f"spec: {{accessModes: [{mode}], resources: {{requests: {{storage: 1Gi}}}}}}\n",
        "workloads/x/app.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n"
        f"spec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: app}}}}\n  template:\n"
        "    metadata: {labels: {app: app}}\n"
        f"    spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]{volumes}}}\n",
    }
    done = Story.of(*BOTH, ANYWHERE, files, capacity=ROOM).run()
    assert [p.message for p in done.problems if p.code == "ClaimForOnePod"] == ([] if said is None else [said])
    assert outcome(done)["x/app"] == ("Place a Fits" if said is None else "Hold  HasProblems")


BESIDE_EACH_OTHER = """
  affinity:
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
      - {labelSelector: {matchLabels: {ray.io/cluster: app}}, topologyKey: KEY}"""
HOSTED = BESIDE_EACH_OTHER.replace("KEY", "kubernetes.io/hostname")


@pytest.mark.parametrize(("mode", "head", "workers", "number", "users"), [
    ("ReadWriteOnce", "", "", 2, 3),
    ("ReadWriteOnce", "", "", 0, None),
    ("ReadWriteMany", "", "", 2, None),
    ("ReadWriteOnce, ReadWriteMany", "", "", 2, None),
    ("ReadWriteOnce", "", HOSTED, 2, None),  # on the node of the head
    ("ReadWriteOnce", HOSTED, HOSTED, 2, None),
    ("ReadWriteOnce", HOSTED, "", 2, 2),
    ("ReadWriteOnce", "", BESIDE_EACH_OTHER.replace("KEY", "topology.kubernetes.io/zone"), 2, 3),
    ("ReadWriteOnce", "\n  nodeName: n1", "\n  nodeSelector: {kubernetes.io/hostname: n1}", 2, None),
])  # fmt: skip
def test_pods_that_share_a_volume_for_one_node_are_told_that_some_may_never_start(
    mode: str, head: str, workers: str, number: int, users: int | None
) -> None:
    def template(more: str) -> str:
        spec = f"  containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]{more}\n"
        spec += "  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]\n"
        return "template:\n  spec:\n" + textwrap.indent(spec, "  ")

    text = "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: app}\nspec:\n  headGroupSpec:\n"
    text += textwrap.indent(template(head), "    ")
    text += f"  workerGroupSpecs:\n  - groupName: w\n    replicas: {number}\n" + textwrap.indent(
        template(workers), "    "
    )
    text += (
        f"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\nspec: {{accessModes: [{mode}]}}\n"
    )
    for rule in (ANYWHERE, policy("p", "select: {}\nplacement: {admission: Immediate}")):
        found = told(Story.of(*BOTH, rule, {"workloads/x/app.yaml": text}, capacity=ROOM), "ClaimForOneNode")
        said = [message.partition(" of the group")[0] for _, _, message in found]
        assert said == ([f"PersistentVolumeClaim data is ReadWriteOnce, and {users} pods"] if users else [])
        assert all(severity is Severity.WARNING for _, severity, _ in found)


def test_pods_that_may_wait_may_share_a_volume_for_one() -> None:
    rule = policy("p", "select: {}\nplacement: {admission: Immediate}")
    files = {
        "workloads/x/data.yaml": "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
        "spec: {accessModes: [ReadWriteOncePod]}\n",
        "workloads/x/app.yaml": ELASTIC.replace(
            "{spec: {", "{spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], "
        ),
    }
    done = Story.of(cluster("a"), rule, files, capacity=snapshot("a", "n1 64 64Gi")).run()
    assert outcome(done)["x/app"].startswith("Place a")


def test_head_and_workers_do_not_share_a_volume_for_one_pod() -> None:
    """Whichever pods they are, unless an override leaves one of them."""
    claim = (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOncePod]}\n"
    )
    shared = ELASTIC.replace("{spec: {", "{spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], ")
    files = {"workloads/x/data.yaml": claim, "workloads/x/app.yaml": shared}
    for overrides, expected in (
        ("[]", "Hold  HasProblems"),
        ("[{path: /spec/rayClusterConfig/workerGroupSpecs/0/template/spec/volumes, op: remove}]", "Place a Fits"),
    ):
        story = Story.of(cluster("a", overrides=overrides), ANYWHERE, files, capacity=snapshot("a", "n1 64 64Gi"))
        assert outcome(story.run())["x/app"] == expected


# allowances


def test_an_object_allows_a_hazard_with_a_reason_and_for_itself_alone() -> None:
    reason = '{allow.gitplacer.dev/MissingReference: "the vault operator brings it"}'
    story = Story.of(*BOTH, ANYWHERE, pod("p", SECRET, reason), pod("q", SECRET), capacity=ROOM)
    assert [message.partition(",")[0] for _, _, message in told(story)] == ["Pod x/q needs Secret token"]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ('allow.gitplacer.dev/MisingReference: "it is there"', 'there is no problem "MisingReference"'),
        ('allow.gitplacer.dev/WrongType: "it is right"', "WrongType cannot be allowed"),
        ('allow.gitplacer.dev/MissingReference: " "', "MissingReference is allowed without a reason"),
    ],
)
def test_an_allowance_of_nothing_is_an_error(annotation: str, message: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, pod("p", "", f"{{{annotation}}}"), capacity=ROOM)
    assert told(story) == [("InvalidAllowance", Severity.ERROR, message)]


# definitions

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: token, labels: {app: x}}\nspec: {size: %s}\n"
BY_LABEL = policy("anywhere", "select: {}\ngroupBy: {label: app}")


def widget_story(size: str, crd: str = CRD) -> Story:
    files = {
        "workloads/x/p.yaml": pod("p", "")["workloads/x/p.yaml"].replace("{name: p,", "{name: p, labels: {app: x},"),
        "workloads/x/w.yaml": WIDGET % size,
        "platform/widgets/crd.yaml": crd,
    }
    serving = snapshot("a", "n1 64 256Gi", more="serves: [example.com]\n")
    return Story.of(cluster("a"), BY_LABEL, files, capacity=serving)


def test_a_custom_resource_that_its_definition_refuses_holds_its_group_alone() -> None:
    assert told(widget_story("2")) == []
    story = widget_story("two")
    done = story.run()
    assert outcome(done)["x/x"] == "Hold  HasProblems"
    assert [(p.code, str(p.location), p.severity) for p in done.problems] == [
        ("SchemaViolation", "workloads/x/w.yaml:4:14", Severity.ERROR)
    ]
    assert "_cluster/widgets" in outcome(done)


def test_what_a_definition_has_against_an_object_is_remembered_by_both() -> None:
    class Memory(NoMemo):
        def __init__(self) -> None:
            self.texts: dict[str, bytes] = {}
            self.asked = 0

        def recall_texts(self, digests: Iterable[str]) -> dict[str, bytes]:
            return {digest: self.texts[digest] for digest in digests if digest in self.texts}

        def remember_text(self, digest: str, text: bytes) -> None:
            self.asked += 1
            self.texts[digest] = text

    def problems(size: str, memo: Memory, crd: str = CRD) -> list[str]:
        source = {path: text.encode() for path, text in widget_story(size, crd).source.items()}
        return [f"{p.location} {p.message}" for p in read_source(Tree.of(source), memo).problems]

    memo = Memory()
    first = problems("two", memo)
    assert len(first) == 1
    assert (problems("two", memo), memo.asked) == (first, 1)
    # another object, another definition
    assert (problems("2", memo), memo.asked) == ([], 2)
    assert (problems("two", memo, CRD.replace("type: integer", "type: string")), memo.asked) == ([], 3)


def test_a_definition_that_is_wrong_is_told_of_and_nothing_is_held_against_it() -> None:
    story = widget_story("two", CRD.replace("    storage: true\n", "    storage: false\n"))
    done = story.run()
    assert [p.code for p in done.problems] == ["InvalidCRD"]
    assert outcome(done)["x/x"] == "Place a Fits"


RAYCLUSTERS = CRD.replace("example.com", "ray.io").replace("Widget", "RayCluster").replace("widgets", "rayclusters")
OF_RAY = "{type: object, properties: {podFQDN: {type: object, properties: {mode: {type: string}}}, headGroupSpec: {type: object, %s}}}"
OPEN = "x-kubernetes-preserve-unknown-fields: true"
NEWER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: r, label: {app: x}}
spec:
  podFQDN: {mode: DNSOnly}
  podFQDM: 1
  headGroupSpec: {template: {spec: {containers: [{name: h, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}
"""


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ("", ["podFQDN UnknownRayField", "podFQDM UnknownRayField"]),  # no CRD in the source
        (OF_RAY % OPEN, ["podFQDM PrunedField"]),
        # the CRD keeps everything, so it says nothing of what is misspelt
        (f"{{type: object, {OPEN}}}", ["podFQDN UnknownRayField", "podFQDM UnknownRayField"]),
    ],
)
def test_the_fields_of_a_ray_kind_are_those_of_its_definition_where_that_is_there(spec: str, fields: list[str]) -> None:
    crd = RAYCLUSTERS.replace("{type: object, properties: {size: {type: integer}}}", spec)
    files = {"workloads/x/r.yaml": NEWER, **({"platform/ray/crd.yaml": crd} if spec else {})}
    found = [p for p in Story.of(cluster("a"), ANYWHERE, files, capacity=ROOM).run().problems if "Field" in p.code]
    words = [
        word for p in found for word in p.message.split() if word.rpartition(".")[2] in ("podFQDN", "podFQDM", "label")
    ]
    said = [f"{word.rpartition('.')[2]} {p.code}" for word, p in zip(words, found, strict=True)]
    assert said == ["label UnknownRayField", *fields]
