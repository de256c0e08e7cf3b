"""
Nothing that somebody writes may cost more than its share: how deep, how many, how large, and who pays for it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer import rules, workloads
from gitplacer.documents import Document, Edit, EditError, applied, parse, splice
from gitplacer.documents.compose import MAX_DEPTH
from gitplacer.kinds.capacity import Node
from gitplacer.model.labels import is_label_key, is_label_value
from gitplacer.model.resources import Resources
from gitplacer.model.workload import PodSet, PodShape
from gitplacer.placement.autoscalers.patterns import MOST_KINDS, OutOfSteps, Steps, maximal
from gitplacer.placement.pack import Packing
from gitplacer.problems import Problem, Severity
from gitplacer.source.shares import Share, over_share, share_problems
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot
from tests.test_fit import ledger


def depth(value: Any) -> int:
    """Collections inside each other, counted without recursion."""
    deepest, level = 0, [value]
    while level := [item for item in level if isinstance(item, dict | list)]:
        deepest += 1
        level = [below for item in level for below in (item.values() if isinstance(item, dict) else item)]
    return deepest


WRAPPINGS = {"[": ("]", 1), "{k: ": ("}", 1), "{<<: {z: ": ("}}", 2)}
"""What opens a collection, with what closes it and how deep it goes as it is written."""


@st.composite
def anchored(draw: st.DrawFn) -> tuple[str, int]:
    """A file in which values nest what others before them anchored, and how deep it is with all its aliases written out."""
    lines: list[str] = []
    known: list[tuple[bool, int]] = []
    for number in range(draw(st.integers(1, 6))):
        inner, below = "x", 0
        if number and draw(st.booleans()):
            to = draw(st.integers(0, number - 1))
            mapping, deep = known[to]
            ways = [(f"*a{to} ", deep)]
            if mapping:
                ways += [(f"{{<<: *a{to} , b: 1}}", 1 + deep), (f"{{<<: [*a{to} , {{z: [1]}}]}}", 2 + max(deep, 2))]
            inner, below = draw(st.sampled_from(ways))
        start = draw(st.sampled_from(sorted(WRAPPINGS)))
        end, each = WRAPPINGS[start]
        levels = draw(st.integers(1, 40))
        lines.append(f"k{number}: &a{number} {start * levels}{inner}{end * levels}\n")
        known.append((start.startswith("{"), below + levels * each))
    return "".join(lines), 1 + max(deep for _, deep in known)


@given(anchored())
def test_nothing_that_is_read_is_deeper_than_the_bound(case: tuple[str, int]) -> None:
    text, deep = case
    parsed = parse(text.encode())
    assert [fault.code for fault in parsed.faults] == (["TooDeep"] if deep > MAX_DEPTH else [])
    assert all(depth(document.value) <= min(deep, MAX_DEPTH) for document in parsed.documents)


# What one object may be


def pod(spec: str, container: str = "") -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: big, namespace: ns}\nspec:\n"
        f"  containers:\n  - {{name: main, image: x{container}}}\n{spec}"
    )


def affinity(kind: str, terms: str) -> str:
    return pod(f"  affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}\n")


def listed(number: int, item: str) -> str:
    return ", ".join(item.replace("#", str(n)) for n in range(number))


def nodes(number: int, values: int = 1) -> str:
    said = f"{{key: k#, operator: In, values: [{listed(values, 'v#')}]}}"
    return affinity("nodeAffinity", f"{{nodeSelectorTerms: [{{matchExpressions: [{listed(number, said)}]}}]}}")


def beside(number: int) -> str:
    return affinity(
        "podAntiAffinity", f"[{listed(number, '{topologyKey: zone, labelSelector: {matchLabels: {a#: b}}}')}]"
    )


def spread(number: int) -> str:
    return pod(
        f"  topologySpreadConstraints: [{listed(number, '{topologyKey: k#, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}')}]\n"
    )


def containers(number: int) -> str:
    return pod(f"  initContainers: [{listed(number - 1, '{name: c#, image: x}')}]\n")


def amounts(number: int) -> str:
    of = listed(number, "example.com/r#: 1")
    return pod("", f", resources: {{requests: {{{of}}}, limits: {{{of}}}}}")


def roles(number: int) -> str:
    group = "{groupName: g#, replicas: 1, maxReplicas: 1, template: {spec: {containers: [{name: w, image: x}]}}}"
    return (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: big, namespace: ns}\nspec:\n"
        "  headGroupSpec: {template: {spec: {containers: [{name: h, image: x}]}}}\n"
        f"  workerGroupSpecs: [{listed(number - 1, group)}]\n"
    )


LIMITS = [
    (lambda n: pod(f"  tolerations: [{listed(n, '{key: k#, operator: Exists}')}]\n"), 100),
    (lambda n: pod(f"  nodeSelector: {{{listed(n, 'k#: v')}}}\n"), 100),
    (lambda n: pod(f"  volumes: [{listed(n, '{name: v#, emptyDir: {}}')}]\n"), 250),
    (lambda n: pod("", f", ports: [{listed(n, '{containerPort: 1, hostPort: 1#}')}]"), 500),
    (nodes, 100),
    (lambda n: nodes(1, n), 2000),
    (beside, 100),
    (spread, 100),
    (containers, 100),
    (amounts, 100),
    (roles, 100),
]


@pytest.mark.parametrize(("written", "most"), LIMITS)
def test_an_object_may_be_so_much_and_no_more(written: Any, most: int) -> None:
    def found(number: int) -> list[tuple[str, int]]:
        data = written(number).encode()
        [item] = parse(data).documents
        _, problems = workloads.read(Document("big.yaml", item, 0, lambda: data))
        return [(p.code, p.location.line) for p in problems if p.severity.name == "ERROR"]

    assert found(most) == []
    [(code, line)] = found(most + 1)
    assert code == "TooManyParts" and line > 3


def small_fleet() -> Story:
    return Story.of(cluster("a"), ANYWHERE, rayservice("other", "svc"), capacity=snapshot("a", "n1 64 256Gi 8"))


@pytest.mark.parametrize("written", [written for written, _ in LIMITS])
def test_only_the_object_that_is_too_much_is_held(written: Any) -> None:
    story = small_fleet()
    story.source["workloads/ns/big.yaml"] = written(3000)
    done = story.run()
    assert {str(p.location).partition(":")[0] for p in done.problems if p.code == "TooManyParts"} == {
        "workloads/ns/big.yaml"
    }
    assert {d.group: d.action.value for d in done.view.plan.decisions} == {"other/svc": "Place", "ns/big": "Hold"}


# What one owner may have


def used(*files: tuple[str, str, tuple[int, int, int]], most: tuple[int, int, int]) -> dict[str, list[str]]:
    return over_share([(path, owner, Share(*share)) for path, owner, share in files], Share(*most))


def test_files_count_up_to_the_bound_of_their_owner() -> None:
    a, b, c, d = (("a", "red", (1, 2, 30)), ("b", "red", (1, 0, 10)), ("c", "blue", (1, 1, 1)), ("d", "red", (1, 1, 1)))
    assert used(a, b, c, d, most=(3, 3, 41)) == {}
    assert used(a, b, c, d, most=(2, 3, 41)) == {"red": ["d"]}
    assert used(a, b, c, d, most=(3, 2, 41)) == {"red": ["d"]}
    assert used(a, b, c, d, most=(3, 3, 39)) == {"red": ["b", "d"]}  # what is small is not let in behind what is not
    assert used(a, b, c, d, most=(1, 1, 1)) == {"red": ["a", "b", "d"]}


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["a"], "this file is not used"),
        (["a", "b"], "this and 1 file after it are not used"),
        (["a"] * 5001, "this and 5,000 files after it are not used"),
    ],
)
def test_files_that_are_not_used_are_counted_in_words(paths: list[str], said: str) -> None:
    [problem] = share_problems({"": paths})
    assert problem.message.endswith(f"among the workloads; {said}")


def test_who_fills_their_paths_stops_nobody_else() -> None:
    paths = {name: f'paths: ["workloads/{name}/**"]\nnamespaces: [{name}]\n' for name in ("red", "blue")}
    kinds = [
        policy(name, spec)[f"policies/{name}.yaml"].replace("PlacementPolicy", "Tenant") for name, spec in paths.items()
    ]
    story = small_fleet()
    del story.source["workloads/other/svc.yaml"]
    story.source |= {f"tenants/{n}.yaml": kind for n, kind in enumerate(kinds)}
    story.source |= {**rayservice("blue", "shop"), **rayservice("red", "api"), **rayservice("red", "web")}
    story.run()
    story.source |= {f"workloads/red/in/{n}.yaml": "# nothing\n" for n in range(20_000)}
    done = story.run()
    found = {d.group: f"{d.action} {d.finding.code}" for d in done.view.plan.decisions}
    assert found == {"blue/shop": "Keep Kept", "red/api": "Keep Kept", "red/web": "Hold UnreadableSource"}
    [problem] = done.problems
    assert (problem.code, problem.message.partition(" has ")[0]) == ("TooManyFiles", "tenant red")


# What an object says of itself


@pytest.mark.parametrize(
    ("file", "code", "line", "said"),
    [
        ("apiVersion: a/b/v1\nkind: A\nmetadata: {name: a}\n", "InvalidObject", 1, "apiVersion a/b/v1"),
        ("apiVersion: Ray.io/v1\nkind: A\nmetadata: {name: a}\n", "InvalidObject", 1, "apiVersion Ray.io/v1"),
        ("apiVersion: /v1\nkind: A\nmetadata: {name: a}\n", "InvalidObject", 1, "apiVersion /v1"),
        ('apiVersion: "v1\\n"\nkind: A\nmetadata: {name: a}\n', "InvalidObject", 1, "apiVersion"),
        ("apiVersion: v1\nkind: A b\nmetadata: {name: a}\n", "InvalidObject", 2, "kind A b"),
        (f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {'a' * 254}\n", "InvalidObject", 4, "metadata.name must be a name"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a..b\n", "InvalidObject", 4, "metadata.name must be a name"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a.-b\n", "InvalidObject", 4, "metadata.name must be a name"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: App\n", "InvalidObject", 4, "metadata.name must be a name"),
        ("apiVersion: v1\nkind: Service\nmetadata:\n  name: a.b\n", "InvalidObject", 4, "metadata.name must be a name"),
        ("apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: Train\n", "InvalidObject", 4, "must be a name"),
        (f"apiVersion: v1\nkind: Service\nmetadata:\n  name: {'a' * 64}\n", "InvalidObject", 4, "must be a name"),
        (f"apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: {'a' * 53}\n", "InvalidObject", 4, "must be a name"),
        ("apiVersion: v1\nkind: PodList\nitems: []\n", "InvalidObject", 2, "a PodList is not read as a list"),
        ("apiVersion: ray.io/v1\nkind: RayJobList\nmetadata: {}\nitems: []\n", "InvalidObject", 2, "is not read as a list"),
        ("apiVersion: ray.io/v1\nkind: RayClustr\nmetadata: {name: a}\n", "UnknownKind", 2, '"RayClustr" of ray.io'),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    a b: c\n", "InvalidLabel", 6, '"a b"'),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    a: c d\n", "InvalidLabel", 6, '"c d"'),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    A/b: c\n", "InvalidLabel", 6, '"A/b"'),
        (f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {{a: {'x' * 64}}}\n", "InvalidLabel", 5, "xxx"),
        ("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    a/b/c: d\n", "InvalidLabel", 6, "a/b/c"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "LFSPointer", 1, "Git LFS"),
    ],
)  # fmt: skip
def test_what_no_api_server_takes_is_refused_where_it_stands(file: str, code: str, line: int, said: str) -> None:
    story = small_fleet()
    story.source["workloads/ns/a.yaml"] = file
    done = story.run()
    [problem] = [p for p in done.problems if p.severity is Severity.ERROR and p.code == code]
    assert said in problem.message and problem.hint
    assert (problem.location.file, problem.location.line) == ("workloads/ns/a.yaml", line)
    assert done.view.plan.decisions[-1].action.value == "Place"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"v.yaml": "image: {tag: x}\n"}, [("workloads/ns/v.yaml", "InvalidObject")]),
        ({"v.yaml": "kind: Pod\n"}, [("workloads/ns/v.yaml", "InvalidObject")] * 2),
        (
            {"c/Chart.yaml": "name: c\n", "c/templates/a.yaml": "a: {{ b }}\n", "c/templates/b.yaml": "- a\n"},
            [("workloads/ns/c", "NotRendered")],
        ),
        (
            {"k/kustomization.yaml": "resources: [x.yaml]\n", "k/x.yaml": "a:\n\tb\n", "y.yaml": "- a\n"},
            [("workloads/ns/k", "NotRendered"), ("workloads/ns/y.yaml", "NotAMapping")],
        ),
        (
            {
                "b.jsonnet": "{}",
                "a.jsonnet": "{}",
                "c.libsonnet": "{}",
                "d/x.yaml.j2": "{{ x }}",
                ".e.tpl": "",
                "k/Chart.yaml": "",
                "k/f.tpl": "",
            },
            [
                ("workloads/ns/a.jsonnet", "NotRendered"),
                ("workloads/ns/d/x.yaml.j2", "NotRendered"),
                ("workloads/ns/k", "NotRendered"),
            ],
        ),
    ],
)
def test_what_is_no_manifest_is_one_problem(files: dict[str, str], told: list[tuple[str, str]]) -> None:
    story = small_fleet()
    story.source |= {f"workloads/ns/{path}": text for path, text in files.items()}
    assert [(p.location.file, p.code) for p in story.run().problems] == told


def test_sources_of_another_tool_beside_what_it_made_hold_nothing() -> None:
    story = small_fleet()
    story.source |= {"workloads/ns/one.jsonnet": "{}", "workloads/ns/two.jsonnet": "{}", "notes.cue": "x: 1"}
    done = story.run()
    [problem] = done.problems
    assert problem.severity is Severity.WARNING
    assert problem.message == "this file is for Jsonnet, which gitplacer does not run; so is one more here"
    assert {decision.action.value for decision in done.view.plan.decisions} == {"Place"}


@pytest.mark.parametrize(
    ("api_version", "kind", "taken"),
    [
        ("route.openshift.io/v1", "Route", True),
        ("monitoring.googleapis.com/v1", "PodMonitoring", True),
        ("networking.gke.io/v1", "GCPBackendPolicy", True),
        ("networking.gke.io/v1", "GCPTrafficDistributionPolicy", True),
        ("autoscaling.gke.io/v1beta1", "AutoscalingMetric", True),
        ("apps.nvidia.com/v1alpha1", "NIMCache", True),
        ("traefik.containo.us/v1alpha1", "IngressRoute", True),
        ("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", True),
        ("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", True),
        ("generators.external-secrets.io/v1alpha1", "ECRAuthorizationToken", True),
        ("operator.victoriametrics.com/v1beta1", "VMRule", True),
        ("grafana.integreatly.org/v1beta1", "GrafanaDashboard", True),
        ("traefik.io/v1alpha1", "IngressRouteTCP", True),
        ("configuration.konghq.com/v1", "KongPlugin", True),
        ("image.openshift.io/v1", "ImageStream", True),
        ("serving.kserve.io/v1alpha1", "ServingRuntime", True),
        ("serving.kserve.io/v1alpha1", "ClusterServingRuntime", False),
        ("configuration.konghq.com/v1", "KongClusterPlugin", False),
        ("generators.external-secrets.io/v1alpha1", "ClusterGenerator", False),
        ("operator.victoriametrics.com/v1beta1", "VMAgent", False),
        ("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", False),
        ("cloud.google.com/v1", "ComputeClass", False),
        ("monitoring.googleapis.com/v1", "ClusterPodMonitoring", False),
        ("karpenter.sh/v1", "NodePool", False),
        ("a.dev/v1", "Route", False),
    ],
)
def test_kinds_that_are_often_beside_workloads_are_known_by_name(api_version: str, kind: str, taken: bool) -> None:
    story = small_fleet()
    story.source["workloads/ns/a.yaml"] = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"
    assert ("NotAllowed" not in {p.code for p in story.run().problems}) is taken


def test_an_inference_service_takes_its_serving_runtime_along() -> None:
    story = small_fleet()
    story.capacity = {
        name: f"{text}serves: [serving.kserve.io/v1beta1, serving.kserve.io/v1alpha1]\n"
        for name, text in story.capacity.items()
    }
    story.source["workloads/ns/a.yaml"] = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: llama}\nspec: {predictor: {model: "
        "{modelFormat: {name: vLLM}, runtime: vllm, resources: {requests: {cpu: 1, memory: 1Gi}}}}}\n"
        "---\napiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: vllm}\n"
        "spec: {containers: [{name: kserve-container, image: vllm/vllm-openai}]}\n"
    )
    done = story.run()
    [written] = [done.tree.read(path) for path in done.tree if path.endswith("workloads/ns/llama/a.yaml")]
    assert b"kind: InferenceService" in written and b"kind: ServingRuntime" in written
    assert not [p for p in done.problems if p.severity is Severity.ERROR]


TEMPLATES = {
    "Deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n"
    "    metadata:\n      METADATA\n    spec: {containers: [{name: a}]}\n",
    "RayCluster": "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n  headGroupSpec:\n    template:\n"
    "      metadata:\n        METADATA\n      spec: {containers: [{name: ray, image: 'rayproject/ray:2.52.0'}]}\n",
}


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ("labels: {a b: c}", '"a b" is no key of a label'),
        ("labels: {a: c d}", '"c d" is no value of a label'),
        ('labels: {a: "c\\n"}', "is no value of a label"),
        (f"labels: {{a: {'x' * 64}}}", "is no value of a label"),
        ("annotations: {a/b/c: d}", '"a/b/c" is no key of an annotation'),
        ("labels: {a: b, example.com/c: D.e_f-g}, annotations: {Example.com/Note: any thing}".replace(", ann", "\n      ann"), ""),
    ],
)  # fmt: skip
def test_a_template_of_pods_that_no_api_server_takes_is_refused(kind: str, metadata: str, said: str) -> None:
    story = small_fleet()
    indent = TEMPLATES[kind].partition("METADATA")[0].rpartition("\n")[2]
    story.source["workloads/ns/a.yaml"] = TEMPLATES[kind].replace(
        "METADATA", metadata.replace("\n      ", f"\n{indent}")
    )
    done = story.run()
    found = [p for p in done.problems if p.severity is Severity.ERROR]
    assert [p.code for p in found] == ["InvalidLabel"] * bool(said)
    assert all(said in p.message and p.hint and p.location.file == "workloads/ns/a.yaml" for p in found)
    assert ("ns/a" in {d.group for d in done.view.plan.decisions if d.action.value == "Hold"}) == bool(said)


@pytest.mark.parametrize(
    ("value", "hint"), [("8000", "put it in quotes"), ("", 'write "" for an empty one, or remove it')]
)
def test_an_annotation_that_is_no_text_is_told_how_to_mend_it(value: str, hint: str) -> None:
    story = small_fleet()
    story.source["workloads/ns/a.yaml"] = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations: {{a/b: {value}}}\n"
    )
    assert [p.hint for p in story.run().problems if p.code == "WrongType"] == [hint]


def test_a_misspelt_kind_of_ray_is_told_the_nearest() -> None:
    story = small_fleet()
    story.source["workloads/ns/a.yaml"] = "apiVersion: ray.io/v1\nkind: RayClustr\nmetadata: {name: a}\n"
    [problem] = [p for p in story.run().problems if p.code == "UnknownKind"]
    assert problem.hint.startswith('did you mean "RayCluster"?')


@pytest.mark.parametrize(
    ("kind", "begins", "recipe"),
    [
        ("networking.gke.io/v1, kind: GCPBackendRule", 'did you mean "GCPBackendPolicy"? If not, put its', True),
        ("networking.gke.io/v1, kind: NodeTopology", "put its CustomResourceDefinition under the platform paths", True),
        ("apps/v1, kind: Deploymnet", 'did you mean "Deployment"?', False),
        ("a.dev/v1, kind: ThingList", "write its items one by one", False),
    ],
)
def test_a_kind_that_is_like_a_known_one_may_be_another(kind: str, begins: str, recipe: bool) -> None:
    """Of a group of others few kinds are known, and the hint to a misspelt one hid what to do about any other."""
    story = small_fleet()
    story.source["workloads/ns/a.yaml"] = f"{{apiVersion: {kind}, metadata: {{name: a}}}}\n"
    [hint] = [p.hint for p in story.run().problems if p.code in ("NotAllowed", "InvalidObject")]
    assert (hint.startswith(begins), "kinds: [" in hint) == (True, recipe)


@pytest.mark.parametrize(
    ("written", "meant"),
    [("kind: RayClstr", "kind: RayService"), ("kind: ConfigMap", "kind: RayService"), ("name: Svc", "name: svc")],
)
def test_what_runs_is_not_removed_because_its_kind_or_name_is_misspelt(written: str, meant: str) -> None:
    """`ray.io/v1` `RayClstr` was an object of its own that makes no pods, and the Ray app itself was gone from the source."""
    story = small_fleet()
    story.run()
    path = "workloads/other/svc.yaml"
    assert meant in story.source[path]
    story.source[path] = story.source[path].replace(meant, written, 1)
    done = story.run()
    [decision] = done.view.plan.decisions
    assert (decision.group, decision.action.value, decision.after) == ("other/svc", "Hold", ("a",))
    assert decision.finding.code.value == "UnreadableSource" and decision.finding.subject == path
    assert [p.location.file for p in done.problems if p.severity is Severity.ERROR] == [path]


def test_what_runs_is_not_removed_for_a_name_under_which_it_cannot_run() -> None:
    """Kubernetes takes `svc.v2`; KubeRay makes the names of Services of it, which have no dots. Which of two it was before nobody knows."""
    story = small_fleet()
    path = "workloads/other/svc.yaml"
    story.source[path] += "---\n" + "".join(rayservice("other", "second").values())
    story.run()
    written = story.source[path].replace("{name: second,", "{name: third,")
    story.source[path] = written.replace("{name: svc,", "{name: svc.v2,")
    held, gone = "Hold a UnreadableSource", "Remove  SourceRemoved"
    assert outcome(story.run()) == {
        "other/second": held, "other/svc": held, "other/svc.v2": "Hold  HasProblems", "other/third": "Place a Fits",
    }  # fmt: skip
    story.source[path] = written.replace("{name: svc,", "{name: svc-v2,")
    assert outcome(story.run()) == {
        "other/second": gone, "other/svc": gone, "other/svc-v2": "Place a Fits", "other/third": "Keep a Kept",
    }  # fmt: skip


def test_an_annotation_may_have_a_key_in_any_case() -> None:
    story = small_fleet()
    path = "workloads/other/svc.yaml"
    story.source[path] = story.source[path].replace("labels: {}", "annotations: {Example.COM/Note: any thing}")
    assert not [p for p in story.run().problems if p.code == "InvalidLabel"]


@given(st.text(st.sampled_from("aA1-_./ é"), max_size=70))
def test_a_label_is_held_against_the_rules_of_kubernetes(text: str) -> None:
    """After apimachinery's validation: the name is taken apart by hand, where ours asks a pattern."""

    def named(name: str, characters: str) -> bool:
        ends = all(end.isascii() and end.isalnum() for end in (name[:1], name[-1:]))
        return (
            0 < len(name) <= 63 and ends and all(one.isascii() and (one.isalnum() or one in characters) for one in name)
        )

    assert is_label_value(text) == (not text or named(text, "-_."))
    prefix, slash, name = text.rpartition("/")
    domain = all(named(part, "-") and part == part.lower() for part in prefix.split("."))
    assert is_label_key(text) == (named(name, "-_.") and (not slash or domain))


@pytest.mark.parametrize(("error", "code"), [(MemoryError, "TooLarge"), (RecursionError, "TooDeep")])
def test_what_slips_through_all_bounds_costs_its_own_file(
    error: type[BaseException], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = rules.check

    def failing(document: Document) -> list[Problem]:
        if document.value["metadata"]["name"] == "bad":
            raise error
        return check(document)

    monkeypatch.setattr(rules, "check", failing)
    story = small_fleet()
    story.source |= rayservice("ns", "bad")
    assert {d.group: d.action.value for d in story.run().view.plan.decisions} == {"other/svc": "Place"}
    [problem] = [p for p in story.plan().problems if p.code == code]
    assert str(problem.location) == "workloads/ns/bad.yaml:1:1"
    monkeypatch.undo()
    assert {d.group: d.action.value for d in story.run().view.plan.decisions} == {
        "other/svc": "Keep",
        "ns/bad": "Place",
    }


# A search, and an edit


def test_more_kinds_of_pods_than_a_search_can_weigh_are_not_searched() -> None:
    for kinds in (MOST_KINDS, MOST_KINDS + 1, 1500):
        asks = [(n + 1,) for n in range(kinds)]
        with pytest.raises(OutOfSteps):
            maximal((10**6,), asks, [True] * kinds, (1,) * kinds, Steps(1000))


def test_a_gang_of_many_shapes_is_placed_beside_an_autoscaler() -> None:
    gang = tuple(PodSet(f"g{n}", 1, PodShape(Resources({"cpu": 1000 + n}))) for n in range(1500))
    machine = {"name": "t", "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}, "max": 100}
    there = [Node.model_validate({"name": "n", "allocatable": {"cpu": "1", "pods": "1"}})]
    found = ledger(there, gang, {"type": "Karpenter", "nodeTypes": [machine]}).fit(gang, scale_up=True)
    assert isinstance(found, Packing)
    assert sum(use.number for use in found.uses) == 1500


@pytest.mark.parametrize(("steps", "message"), [(65, "65 steps"), (3000, "3,000 steps")])
def test_an_edit_goes_no_deeper_than_a_file(steps: int, message: str) -> None:
    with pytest.raises(EditError, match=message):
        splice(b"a: 1\n", [Edit(("b",) * steps, "add", 1)])
    assert splice(b"a: 1\n", [Edit(("b",) * 64, "add", 1)])


def test_a_long_document_takes_only_so_many_edits() -> None:
    text = ("a: 1\n# " + "x" * (1 << 20) + "\n").encode()
    edits = [Edit(("a",), "replace", n) for n in range(2, 7)]
    assert splice(text, edits[:3]).startswith(b"a: 4")
    with pytest.raises(EditError, match="too long for 5 edits"):
        splice(text, edits)


def test_an_index_of_thousands_of_digits_is_no_entry_of_a_list() -> None:
    with pytest.raises(EditError, match="has no entry"):
        applied({"a": [1]}, Edit(("a", "9" * 5000), "replace", 2))
