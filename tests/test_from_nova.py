"""What Nova's users have becomes a fleet that places each group where Nova would, and every field is used or reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.importers import reader
from gitplacer.importers.foreign import read_foreign
from gitplacer.importers.nova import NovaOptions, UnknownOption, imported
from gitplacer.importers.nova.governing import Made
from gitplacer.importers.nova.overriding import field_path
from gitplacer.importers.overlaps import may_share
from gitplacer.importers.report import Imported, Notes, Outcome
from gitplacer.importers.variables import Variables
from gitplacer.importers.variables import filled as fill
from gitplacer.kinds.selectors import ObjectSelector
from gitplacer.problems import Rejected, Severity
from tests.commands import run, write
from tests.foreignlaws import (
    NAMES,
    VALUES,
    asked_at_most,
    broken,
    makes_no_difference,
    mappings,
    survived,
    told,
    told_when_added,
    value,
)
from tests.novafleets import SCENARIOS, WAITS, Told, clusters, contents, everything, move_in, policies, story
from tests.stories import outcome

Capture = pytest.CaptureFixture[str]

STATUS = """\
status:
  autoscaled: %s
  conditions: [{type: Ready, status: "%s"}, {type: Standby, status: "%s"}]
  lastUpdateTime: "2026-01-02T03:00:00Z"
  capacityResources: {n1: {cpu: "4", memory: 16Gi, nvidia.com/gpu: "1"}}
  availableResources: {n1: {cpu: 3500m, memory: 8Gi}}
  nodeTaints: {n1: [{key: gpu, effect: NoSchedule}]}
  nodeGroupsConfigs: {gpus: {desiredCapacity: 1, minSize: 0, maxSize: 4, instanceType: g4dn.xlarge, accelType: t4, accelCount: 1}}
"""

NO_VALUES = Variables()
EVERY_VALUE = {
    "NS": ["rayjob1"],
    "APP_NAME": ["milvus"],
    "APP_NS": ["milvus"],
    "NIM_NS": ["nim"],
    "SORTED_CLUSTER_LIST": ["static-cluster, dynamic-cluster"],
    "NUM_REPLICAS": ["1"],
    "MIN_REPLICAS": ["0"],
    "MAX_REPLICAS": ["2"],
}
POLICY = "apiVersion: policy.elotl.co/v1alpha1\nkind: SchedulePolicy\nmetadata: {name: p}\nspec:\n"
SELECT = (
    "  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}\n"
    "  resourceSelectors: {labelSelectors: [{matchLabels: {app: x}}]}\n"
)
CLUSTER = "apiVersion: cluster.elotl.co/v1alpha1\nkind: Cluster\nmetadata: {name: c, labels: {kubernetes.io/metadata.name: c%s}}\n"


def of(*texts: str, options: tuple[str, ...] = (), variables: Variables = NO_VALUES) -> Imported:
    files = {f"f{index}.yaml": text.encode() for index, text in enumerate(texts)}
    return imported(files, variables, NovaOptions.of(options))


# scenarios


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_group_goes_where_nova_sends_it(name: str) -> None:
    scenario = SCENARIOS[name]
    found = scenario.imported()
    assert (found.problems, found.of(Outcome.NOT_UNDERSTOOD)) == ((), [])
    done = story(found).plan()
    assert clusters(done) == scenario.expected
    assert [p for p in done.problems if p.severity is Severity.ERROR] == []


def test_a_pinned_job_is_sent_whatever_the_room_and_a_job_by_capacity_is_not() -> None:
    pinned = outcome(story(SCENARIOS["b.2 fill, no spill"].imported()).plan())
    assert pinned["rayjob3/rayjob"] == "Place static-cluster PodsMayWait"
    files = [*policies("rayjobcapacitypolicy"), "manifests/ray-job.train.yaml", "clusters/training.yaml"]
    scenario = Told(files, {}, {"NS": [f"rayjob{number}" for number in range(1, 4)]})
    told = story(scenario.imported())
    told.source["clusters/dynamic-cluster.yaml"] = told.source["clusters/dynamic-cluster.yaml"].partition(
        "  autoscaler:"
    )[0]
    assert clusters(told.plan())["rayjob3/rayjob"] == WAITS


def test_what_says_no_namespace_is_applied_to_each_that_is_given() -> None:
    scenario = SCENARIOS["b.1 fill and spill"]
    files = {path: data.replace(b"  namespace: ${NS}\n", b"") for path, data in contents(scenario.files).items()}
    found = imported(files, Variables(scenario.values), NovaOptions.of([]), ("rayjob1", "rayjob2", "rayjob3"))
    assert clusters(story(found).plan()) == scenario.expected
    assert {what for _, what in told(found, Outcome.CONVERTED) if "says no namespace" in what} == {
        f"{thing} says no namespace, so it goes to rayjob1, rayjob2 and rayjob3, as --namespace says"
        for thing in ("RayJob rayjob-train", "ConfigMap ray-job-code-train")
    }
    manifests = [data for path, data in found.files.items() if path.startswith("workloads/")]
    assert (len(manifests), len({*manifests})) == (3, 1)


def test_an_app_over_two_clusters_has_its_head_at_home() -> None:
    done = story(SCENARIOS["b.8 one app over two clusters"].imported()).plan()
    [decision] = done.view.plan.decisions
    assert decision.files_after == ("cloud", "on-prem")
    names = [path for path in done.tree if "/large/" in path and path.startswith("clusters/")]
    assert {path.split("/")[1]: path.rpartition("/")[2] for path in names} == {
        "on-prem": "ray-cluster.spanning.yaml",
        "cloud": "remote-workers.yaml",
    }
    remote = done.tree.read(next(path for path in names if "/cloud/" in path)).decode()
    assert "replicas: 2" in remote


def test_an_app_that_grows_is_extended_without_a_move_where_nova_was_told_so() -> None:
    scenario = SCENARIOS["b.8 one app over two clusters"]
    options = ("multi-cluster-capacity", "skip-capacity-relocate")
    small = Told(scenario.files, {}, {**scenario.values, "NUM_REPLICAS": ["1"]}, options)
    told = story(small.imported())
    assert outcome(told.run()) == {"large/rayservice": "Place on-prem Fits"}
    before = {path for path in told.deployment if path.startswith("clusters/on-prem/")}
    move_in(told, Told(scenario.files, {}, scenario.values, options).imported())
    done = told.run()
    assert outcome(done)["large/rayservice"].startswith("Extend cloud,on-prem ")
    assert before <= set(told.deployment)


def test_swapping_the_policy_moves_the_app_as_in_novas_lift_and_shift() -> None:
    files = SCENARIOS["b.10 on-prem first"].files
    values = {"NS": ["summaries"]}
    told = story(Told(files, {}, values).imported())
    assert clusters(told.run()) == {"summaries/rayservice": "on-prem"}
    swapped = [*policies("rayservicensclusterpolicy"), *[file for file in files if not file.startswith("policies/")]]
    move_in(told, Told(swapped, {}, values).imported())
    assert outcome(told.run()) == {"summaries/rayservice": "Relocate cloud NotEligible"}


def test_the_copy_on_the_upgraded_cluster_has_the_same_bytes() -> None:
    told = story(SCENARIOS["b.6 spread over old and new"].imported())
    told.run()
    copies = {path: told.deployment.read(path) for path in told.files() if path.endswith("ray-service.llm.yaml")}
    assert sorted(path.split("/")[1] for path in copies) == ["workload-cluster-1", "workload-cluster-1-upd"]
    assert len(set(copies.values())) == 1


# the whole corpus


def corpus() -> dict[str, bytes]:
    return contents([*everything("policies"), *everything("manifests"), "clusters/training.yaml"])


def test_all_policies_import_without_an_unexplained_line() -> None:
    files = corpus()
    assert len(everything("policies")) == 34
    found = imported(files, Variables(EVERY_VALUE), NovaOptions())
    assert (found.problems, found.of(Outcome.NOT_UNDERSTOOD)) == ((), [])
    named = {line.location.file for line in found.lines}
    assert named == set(files), "each file has a line"
    done = story(found).plan()
    assert [p for p in done.problems if p.severity is Severity.ERROR] == []
    assert len([path for path in found.files if path.startswith("policies/")]) == 34
    assert {g: c for g, c in clusters(done).items() if g.startswith("_cluster/")} == dict.fromkeys(
        ("_cluster/crdpolicy", "_cluster/kr-policy", "_cluster/nspolicy"), "dynamic-cluster,static-cluster"
    ), "operators, definitions and namespaces are on every cluster"


def test_names_that_several_files_share_are_all_kept_and_said() -> None:
    found = imported(corpus(), Variables(EVERY_VALUE), NovaOptions())
    reused = [line for line in found.of(Outcome.CHOSEN) if "is the name of" in line.what]
    by_name: dict[str, int] = {}
    for line in reused:
        by_name[line.what.split()[0]] = by_name.get(line.what.split()[0], 0) + 1
    assert by_name == {
        "rayservice-spread-upgrade-policy-rayjob1": 3,
        "rayservice-policy-rayjob1": 2,
        "ns-policy": 2,
        "crd-policy": 2,
        "app-policy": 2,
    }
    ranks = [
        value(found, f"policies/{name}.yaml")["spec"].get("precedence", 0)
        for name in ("rayservicecapacitypolicy", "rayservicespreadallpolicy", "rayservicespreadpolicy")
    ]
    assert ranks == sorted(set(ranks)), "of equals the last is the strongest, as where one is applied after the other"


def test_the_same_files_make_the_same_bytes_in_any_order() -> None:
    files = corpus()
    turned = dict(reversed(files.items()))
    once, again = (imported(each, Variables(EVERY_VALUE), NovaOptions()) for each in (files, turned))
    assert (once.files, once.lines) == (again.files, again.lines)


# fields of a policy, one row each

ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "one namespace": ("", {"select": {"namespaces": ["a"], "labelSelector": {"matchLabels": {"app": "x"}}}}),
    "group by label": ("  groupBy: {labelKey: app}\n", {"groupBy": {"label": "app"}}),
    "no group by": ("  groupBy: {}\n", {"groupBy": None}),
    "labels of clusters": (
        "  clusterSelector: {matchLabels: {cluster.class: prod}, matchExpressions: [{key: tier, operator: NotIn, values: [x]}]}\n",
        {
            "clusters": {
                "matchLabels": {"cluster.class": "prod"},
                "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x"]}],
            },
            "placement": None,
        },
    ),
    "a region": (
        "  clusterSelector: {matchLabels: {nova.elotl.co/cluster.region: us-west-2}}\n",
        {"clusters": {"matchLabels": {"topology.kubernetes.io/region": "us-west-2"}}},
    ),
    "one cluster by name": (
        "  clusterSelector: {matchLabels: {kubernetes.io/metadata.name: one}}\n",
        {"clusters": {"names": ["one"]}, "placement": {"admission": "Immediate"}},
    ),
    "some clusters by name": (
        "  clusterSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [one, two]}]}\n",
        {"clusters": {"names": ["one", "two"]}, "placement": None},
    ),
    "order by name": (
        "  orderedClusterSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [b, a]}]}\n",
        {
            "clusters": {"names": ["b", "a"]},
            "placement": {"type": "Ordered", "order": [{"names": ["b"]}, {"names": ["a"]}]},
        },
    ),
    "order by any label": (
        "  orderedClusterSelector: {matchExpressions: [{key: tier, operator: In, values: [gold, tin]}]}\n",
        {
            "clusters": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "tin"]}]},
            "placement": {
                "type": "Ordered",
                "order": [{"matchLabels": {"tier": "gold"}}, {"matchLabels": {"tier": "tin"}}],
            },
        },
    ),
    "order by two labels": (
        "  OrderedClusterSelector: {matchExpressions: [{key: t, operator: In, values: [a, b]}, {key: u, operator: In, values: [c]}]}\n",
        {
            "placement": {
                "type": "Ordered",
                "order": [{"matchLabels": {"t": "a", "u": "c"}}, {"matchLabels": {"t": "b", "u": "c"}}],
            }
        },
    ),
    "a copy everywhere": (
        "  spreadConstraints: {spreadMode: Duplicate, topologyKey: kubernetes.io/metadata.name}\n",
        {"placement": {"copies": "All", "admission": "Immediate"}},
    ),
    "divided, list of percentages": (
        "  spreadConstraints:\n    spreadMode: Divide\n    topologyKey: kubernetes.io/metadata.name\n"
        "    percentageSplit: [{topologyValue: c1, percentage: 70}, {topologyValue: c2, percentage: 30}]\n",
        {"placement": {"type": "Divide", "weights": {"c1": 70, "c2": 30}, "admission": "Immediate"}},
    ),
    "divided, map of percentages": (
        "  spreadConstraints: {spreadMode: Divide, topologyKey: kubernetes.io/metadata.name, percentageSplit: {c1: 20, c2: 80}}\n",
        {"placement": {"type": "Divide", "weights": {"c1": 20, "c2": 80}, "admission": "Immediate"}},
    ),
    "divided equally": (
        "  spreadConstraints: {topologyKey: kubernetes.io/metadata.name}\n",
        {"placement": {"type": "Divide", "admission": "Immediate"}},
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_field_becomes_what_means_the_same(row: str) -> None:
    text, wanted = ROWS[row]
    found = of(POLICY + SELECT + text)
    assert found.problems == () and found.of(Outcome.NOT_UNDERSTOOD) == []
    spec = value(found, "policies/p.yaml")["spec"]
    assert {key: spec.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("selector", "select"),
    [
        ("{}", {}),
        ("{matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}", {}),
        ("{matchExpressions: []}", {}),
        (
            "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b]}]}",
            {"namespaces": ["a", "b"]},
        ),
        ("{matchLabels: {team: x}}", {"namespaceSelector": {"matchLabels": {"team": "x"}}}),
        (
            "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a]}]}",
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["a"]}]
                }
            },
        ),
    ],
)
def test_namespace_selectors(selector: str, select: dict[str, Any]) -> None:
    text = f"  namespaceSelector: {selector}\n  resourceSelectors: {{labelSelectors: [{{matchExpressions: []}}]}}\n"
    assert value(of(POLICY + text), "policies/p.yaml")["spec"]["select"] == select


@pytest.mark.parametrize(
    ("alternatives", "selectors"),
    [
        ("[{matchLabels: {app: redis}}, {matchLabels: {app: guestbook}}]", ["app In guestbook redis"]),
        ("[{matchLabels: {app: a, t: x}}, {matchLabels: {app: b, t: x}}]", ["t=x app In a b"]),
        ("[{matchLabels: {app: a}}, {matchExpressions: []}]", [""]),
        ("[{matchLabels: {app: a}}, {matchLabels: {app: a}}]", ["app=a"]),
        ("[{matchLabels: {app: a}}, {matchLabels: {t: x}}]", ["app=a", "t=x"]),
    ],
)
def test_alternatives_are_as_few_policies_as_they_can_be(alternatives: str, selectors: list[str]) -> None:
    found = of(f"{POLICY}  namespaceSelector: {{}}\n  resourceSelectors: {{labelSelectors: {alternatives}}}\n")
    made = [value(found, path)["spec"]["select"] for path in sorted(found.files) if path.startswith("policies/")]
    assert sorted(_shown(select.get("labelSelector", {})) for select in made) == sorted(selectors)
    precedences = [
        value(found, path)["spec"].get("precedence", 0) for path in found.files if path.startswith("policies/")
    ]
    assert len(set(precedences)) == len(precedences), "an object that matches two has one policy"


def _shown(selector: dict[str, Any]) -> str:
    labels = [f"{key}={one}" for key, one in selector.get("matchLabels", {}).items()]
    return " ".join(
        [
            *labels,
            *(
                f"{e['key']} {e['operator']} {' '.join(sorted(e['values']))}"
                for e in selector.get("matchExpressions", ())
            ),
        ]
    )


@pytest.mark.parametrize(
    ("options", "spec"),
    [
        ((), {}),
        (("multi-cluster-capacity",), {"placement": {"span": "IfNeeded"}}),
        (("--skip-capacity-relocate=true",), {"relocation": {"when": {"PendingPods": "Never"}}}),
        (("rescheduling-enabled=false",), {"relocation": {"when": {"PendingPods": "Never"}}}),
    ],
)
def test_options_of_the_control_plane(options: tuple[str, ...], spec: dict[str, Any]) -> None:
    made = value(of(POLICY + SELECT, options=options), "policies/p.yaml")["spec"]
    assert {key: made[key] for key in made if key not in ("select", "groupBy")} == spec
    pinned = of(
        f"{POLICY}{SELECT}  clusterSelector: {{matchLabels: {{kubernetes.io/metadata.name: one}}}}\n", options=options
    )
    made = value(pinned, "policies/p.yaml")["spec"]
    assert made["placement"] == {"admission": "Immediate"} and "relocation" not in made


def test_an_unknown_option_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownOption) as caught:
        NovaOptions.of(["multi-cluster-capcity"])
    assert caught.value.hint == 'did you mean "multi-cluster-capacity"?'
    with pytest.raises(UnknownOption, match="neither true nor false"):
        NovaOptions.of(["multi-cluster-capacity=perhaps"])


def test_what_is_wrong_with_a_policy_is_told_all_at_once_and_the_others_are_written() -> None:
    wrong = (
        "  namespaceSelector: {matchExpressions: [{key: a, operator: Within, values: [x]}]}\n"
        "  resourceSelectors: {labelSelectors: []}\n"
        "  spreadConstraints:\n    spreadMode: Divid\n    percentageSplit: [{topologyValue: a, percentage: 170}, {percentage: 1}]\n"
    )
    found = of(f"{POLICY}{wrong}---\n{POLICY.replace('{name: p}', '{name: q}')}{SELECT}")
    whole = "; so nothing is made of this SchedulePolicy p"
    assert all(problem.message.endswith(whole) for problem in found.problems)
    said = [(p.location.line, p.location.column, p.message.removesuffix(whole), p.hint) for p in found.problems]
    assert said == [
        (5, 61, 'unknown operator "Within"', "known here: DoesNotExist, Exists, In, NotIn"),
        (6, 3, '"labelSelectors" has no entry', "write '- {matchExpressions: []}' for every object"),
        (8, 17, 'unknown spreadMode "Divid"', 'did you mean "Divide"?'),
        (9, 54, "170 is no percentage", "write a whole number from 0 to 100"),
        (9, 60, '"topologyValue" is missing', "name the cluster that the percentage is for"),
    ]
    assert "policies/q.yaml" in found.files and "policies/p.yaml" not in found.files


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            "spec.template.spec.containers[0].env[1].value",
            ("spec", "template", "spec", "containers", 0, "env", 1, "value"),
        ),
        ("metadata.labels['topology.istio.io/network']", ("metadata", "labels", "topology.istio.io/network")),
        ('metadata.annotations["a.b/c"].x', ("metadata", "annotations", "a.b/c", "x")),
        ("spec", ("spec",)),
        ("", None),
        (".spec", None),
        ("[0]", None),
        ("spec..x", None),
        ("spec.a[b]", None),
        ("spec.a[0]b", None),
    ],
)
def test_paths_of_fields(text: str, path: tuple[str | int, ...] | None) -> None:
    assert field_path(text) == path


OVERRIDES = """\
  groupBy: {labelKey: app}
  spreadConstraints:
    spreadMode: Duplicate
    topologyKey: kubernetes.io/metadata.name
    overrides:
    - topologyValue: c1
      resources:
      - kind: Deployment
        apiVersion: apps/v1
        name: web
        namespace: a
        override:
        - {fieldPath: "metadata.labels['topology.istio.io/network']", value: {staticValue: net-1}}
        - {fieldPath: "spec.template.spec.containers[0].env[0].value", value: {staticValue: "5"}}
        - {fieldPath: "spec.tolerations[0]", value: {staticValue: {key: x}}}
"""


def test_overrides_become_json_pointers_of_one_object_on_one_cluster() -> None:
    found = of(POLICY + SELECT + OVERRIDES)
    assert value(found, "overrides/p-web-c1.yaml")["spec"] == {
        "select": {"kinds": ["Deployment"], "names": ["web"], "namespaces": ["a"]},
        "clusters": {"names": ["c1"]},
        "overrides": [
            {"path": "/metadata/labels/topology.istio.io~1network", "op": "add", "value": "net-1"},
            {"path": "/spec/template/spec/containers/0/env/0/value", "op": "add", "value": "5"},
            {"path": "/spec/tolerations/0", "op": "replace", "value": {"key": "x"}},
        ],
    }


# nothing is dropped in silence

FULL = yaml.safe_load(POLICY + SELECT + OVERRIDES)
FULL["spec"]["clusterSelector"] = {"matchLabels": {"tier": "gold"}}
FULL["spec"]["orderedClusterSelector"] = {
    "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "tin"]}]
}
FULL["spec"]["spreadConstraints"]["percentageSplit"] = [{"topologyValue": "c1", "percentage": 100}]
FULL["metadata"] |= {"labels": {"team": "x"}, "annotations": {"why": "so"}}


FULL_CLUSTER = yaml.safe_load(f"""\
apiVersion: cluster.elotl.co/v1alpha1
kind: Cluster
metadata: {{name: c}}
spec: {{name: c, provider: aws}}
{STATUS % ("false", "True", "False")}""")
BY_NAME = ("capacityResources", "availableResources", "nodeTaints", "nodeGroupsConfigs")
"""Mappings whose keys are names of nodes and node groups."""


TWICE = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: r, namespace: a, labels: {app: x}}
spec:
  headGroupSpec:
    rayStartParams:
      num-cpus: "1"
    rayStartParams: {}
    template: {spec: {containers: [{name: h, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}
"""

GIVEN_THROUGH = ("matchLabels", "labels", "annotations", "staticValue", *BY_NAME)
PLACES = [(full, place) for full in (FULL, FULL_CLUSTER) for place in mappings(full, GIVEN_THROUGH)]


@given(where=st.sampled_from(PLACES), name=NAMES, added=VALUES)
def test_whatever_field_is_added_is_reported_at_its_place(
    where: tuple[Any, tuple[Any, ...]], name: str, added: Any
) -> None:
    told_when_added(of, *where, name, added)


def test_each_field_that_is_written_makes_a_difference() -> None:
    assert makes_no_difference(of, FULL) == set()


@given(document=broken((FULL, FULL_CLUSTER, yaml.safe_load(TWICE))))
def test_no_document_is_too_broken_to_be_told(document: Any) -> None:
    survived(of, document)


def test_a_reader_that_forgets_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader.Reader, "unread", lambda self: iter(()))
    with pytest.raises(AssertionError):
        test_whatever_field_is_added_is_reported_at_its_place.hypothesis.inner_test((FULL, ("spec",)), "zab", 1)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{POLICY}{SELECT}  fancy: 1\n", "f0.yaml:7:3"),
        (f"{POLICY}{SELECT}  groupBy: {{labelKey: app, size: 3}}\n", "f0.yaml:7:28"),
        (f"{POLICY}{SELECT}  clusterSelector:\n    matchFields: []\n", "f0.yaml:8:5"),
        (CLUSTER % "" + "spec: {name: c, colour: red}\n", "f0.yaml:4:17"),
        (CLUSTER % "" + "spec: {name: c}\nstatus:\n  conditions:\n  - {type: Ready, status: 'True', mood: good}\n", "f0.yaml:7:35"),
        (CLUSTER % "" + "spec: {name: c}\nstatus:\n  capacityResources: {n1: {cpu: '1'}}\n  nodeTaints: {n1: [{key: k, odd: 1}]}\n", "f0.yaml:7:30"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_known_is_told_with_its_place(text: str, place: str) -> None:
    assert [line.place for line in of(text).of(Outcome.NOT_UNDERSTOOD)] == [place]


# variables


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("a: ${X}", {"X": ["1"]}, ["a: 1"]),
        ("a: $X", {"X": ["1"]}, ["a: 1"]),
        ("a: ${X}-${Y}", {"X": ["1"], "Y": ["2"]}, ["a: 1-2"]),
        ("a: ${X}", {"X": ["1", "2"]}, ["a: 1", "a: 2"]),
        ("a: ${X}${Y}", {"X": ["1", "2"], "Y": ["3", "4"]}, ["a: 13", "a: 14", "a: 23", "a: 24"]),
        ("a: ${X:-d}", {}, ["a: d"]),
        ("a: ${X-d}", {"X": ["1"]}, ["a: 1"]),
        ("a: ${X:-d}", {"X": [""]}, ["a: d"]),
        ("a: ${X-d}", {"X": [""]}, ["a: "]),
        ("# ${X}\na: 1", {}, ["# ${X}\na: 1"]),
        ("a: $(X) $1 $$ ${}", {}, ["a: $(X) $1 $$ ${}"]),
        ("a: ${KEPT} ${X}", {"X": ["1"]}, ["a: ${KEPT} 1"]),
    ],
)
def test_variables_are_filled_as_envsubst_does(text: str, values: dict[str, list[str]], filled: list[str]) -> None:
    made, problems = fill("f.yaml", text.encode(), Variables(values, frozenset({"KEPT"})))
    assert ([each.decode() for each in made], problems) == (filled, [])


def test_every_variable_without_a_value_is_told_at_once() -> None:
    files = {"a.yaml": b"a: 1\nb: ${ONE} $TWO\nc: ${ONE}\n", "b/c.yaml": b"x: [${THREE}]\n"}
    with pytest.raises(Rejected) as caught:
        imported(files, NO_VALUES, NovaOptions())
    assert [(str(p.location), p.message) for p in caught.value.problems] == [
        ("a.yaml:2:4", "variable ONE has no value, here and in 1 more place"),
        ("a.yaml:2:11", "variable TWO has no value"),
        ("b/c.yaml:1:5", "variable THREE has no value"),
    ]
    assert caught.value.problems[0].hint == "give it one: --set ONE=VALUE; if it is no variable, say --keep ONE"


def test_values_that_would_make_very_many_files_are_refused() -> None:
    with pytest.raises(Rejected, match=r"10,000 choices of values; at most 1,000"):
        imported(
            {"a.yaml": b"a: ${X}${Y}"}, Variables({name: [str(n) for n in range(100)] for name in "XY"}), NovaOptions()
        )


# clusters


NODE = {
    "name": "n1",
    "taints": [{"key": "gpu", "effect": "NoSchedule"}],
    "allocatable": {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"},
}
STANDBY = ("NOVA_IDLE_ENTER_STANDBY_ENABLE", "NOVA_IDLE_ENTER_STANDBY_SECS=1800", "NOVA_NAMESPACES_EXCLUDE_ACTIVE=a,b")


@pytest.mark.parametrize(
    ("spec", "status", "options", "wanted"),
    [
        ("{name: c, provider: aws, region: us-west-2, zone: us-west-2a}", "", (), {"provider": "aws", "region": "us-west-2", "zone": "us-west-2a"}),
        ("{name: c, kubernetesversion: v1.31.2-eks-a}", "", (), {"kubernetesVersion": "1.31.2"}),
        ("{name: c}", STATUS % ("false", "True", "False"), (), {}),
        ("{name: c}", STATUS % ("false", "False", "False"), (), {"state": "Cordoned"}),
        (
            "{name: c}",
            STATUS % ("true", "True", "False"),
            (),
            {
                "autoscaler": {
                    "type": "Luna",
                    "podLabels": {"elotl-luna": "true"},
                    "nodeTypes": [{"name": "gpus", "instanceType": "g4dn.xlarge", "max": 4}],
                }
            },
        ),
        (
            "{name: c}",
            STATUS % ("true", "True", "False"),
            ("luna-management-enabled=false",),
            {"autoscaler": {"type": "ClusterAutoscaler", "nodeTypes": [{"name": "gpus", "instanceType": "g4dn.xlarge", "max": 4}]}},
        ),
        ("{name: c}", STATUS % ("false", "False", "True"), (), {"standby": {"mode": "Suspend", "idleAfter": "1h", "nodes": [NODE]}}),
        (
            "{name: c}",
            STATUS % ("false", "True", "False"),
            STANDBY,
            {"standby": {"mode": "Suspend", "idleAfter": "30m", "ignoreNamespaces": ["a", "b"], "nodes": [NODE]}},
        ),
        (
            "{name: c}",
            STATUS % ("false", "True", "False"),
            (*STANDBY[:1], "NOVA_DELETE_CLUSTER_IN_STANDBY=true"),
            {"standby": {"mode": "Delete", "idleAfter": "1h", "nodes": [NODE]}},
        ),
        ("{name: c}", "", (*STANDBY[:1], "NOVA_DELETE_CLUSTER_IN_STANDBY"), {"standby": {"mode": "Suspend", "idleAfter": "1h"}}),
        ("{name: c}", "", ("multi-cluster-capacity",), {"mesh": "nova"}),
    ],
)  # fmt: skip
def test_each_field_of_a_cluster(spec: str, status: str, options: tuple[str, ...], wanted: dict[str, Any]) -> None:
    found = of(f"{CLUSTER % ''}spec: {spec}\n{status}", options=options)
    assert (found.problems, found.of(Outcome.NOT_UNDERSTOOD)) == ((), [])
    assert value(found, "clusters/c.yaml")["spec"] == wanted


def test_the_status_is_a_first_snapshot_and_one_that_lies_beside_it_wins() -> None:
    cluster = f"{CLUSTER % ''}spec: {{name: c}}\n{STATUS % ('false', 'True', 'False')}"
    assert value(of(cluster), "capacity/c.yaml")["nodes"] == [
        {**NODE, "used": {"cpu": "500m", "memory": "8Gi", "nvidia.com/gpu": "1"}}
    ]
    snapshot = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: CapacitySnapshot\nmetadata: {name: c}\n"
        'observedAt: "2026-01-02T03:04:00Z"\nnodes: []\n'
    )
    assert of(cluster, snapshot).files["capacity/c.yaml"] == snapshot.encode()


def test_a_label_that_is_no_field_stays_in_clusters_and_in_policies() -> None:
    labels = "{kubernetes.io/metadata.name: c, nova.elotl.co/cluster.version: v1.31-eks, nova.elotl.co/cluster.region: r, tier: x}"
    cluster = f"apiVersion: cluster.elotl.co/v1alpha1\nkind: Cluster\nmetadata: {{name: c, labels: {labels}}}\nspec: {{name: c}}\n"
    selector = "  clusterSelector: {matchLabels: {nova.elotl.co/cluster.version: v1.31-eks, nova.elotl.co/cluster.region: r}}\n"
    found = of(cluster, POLICY + SELECT + selector)
    made = value(found, "clusters/c.yaml")
    assert made["metadata"]["labels"] == {"nova.elotl.co/cluster.version": "v1.31-eks", "tier": "x"}
    assert made["spec"] == {"region": "r", "kubernetesVersion": "1.31"}
    assert value(found, "policies/p.yaml")["spec"]["clusters"]["matchLabels"] == {
        "nova.elotl.co/cluster.version": "v1.31-eks",
        "topology.kubernetes.io/region": "r",
    }


# annotations, and where manifests go


def workload(name: str, metadata: str = "", kind: str = "apps/v1 Deployment") -> str:
    version, kind = kind.split()
    pods = "selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
    spec = f"spec: {{{pods}}}\n" if kind == "Deployment" else ""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}{metadata}}}  # as it is\n{spec}"


@pytest.mark.parametrize(
    ("annotations", "spec"),
    [
        ("nova.elotl.co/cluster: one", {"clusters": {"names": ["one"]}, "placement": {"admission": "Immediate"}}),
        ('nova.elotl.co/spread-onto: "one,two::Duplicate"', {"clusters": {"names": ["one", "two"]}, "placement": {"copies": "All", "admission": "Immediate"}}),
        ('nova.elotl.co/spread-onto: "one, two"', {"clusters": {"names": ["one", "two"]}, "placement": {"copies": "All", "admission": "Immediate"}}),
        ('nova.elotl.co/spread-onto: "one,two::Divide"', {"clusters": {"names": ["one", "two"]}, "placement": {"type": "Divide", "admission": "Immediate"}}),
    ],
)  # fmt: skip
def test_an_annotation_is_a_policy_for_its_object_alone(annotations: str, spec: dict[str, Any]) -> None:
    everything = (
        f"{POLICY}  namespaceSelector: {{}}\n  resourceSelectors: {{labelSelectors: [{{matchExpressions: []}}]}}\n"
    )
    manifest = workload("web", f", namespace: a, annotations: {{{annotations}}}")
    found = of(everything, manifest, workload("other", ", namespace: a"))
    made = value(found, "policies/a-deployment-web.yaml")["spec"]
    assert made == {
        "select": {"namespaces": ["a"], "kinds": ["Deployment"], "names": ["web"]},
        "precedence": 10,
        **spec,
    }
    assert found.files["workloads/a/f1.yaml"] == manifest.encode()


def test_what_nova_wrote_is_left_out_and_what_it_only_shows_is_not_imported() -> None:
    spread = (
        POLICY + SELECT + "  spreadConstraints: {spreadMode: Duplicate, topologyKey: kubernetes.io/metadata.name}\n"
    )
    result = workload(
        "web",
        ', namespace: a, labels: {app: x, nova.elotl.co/target-cluster: one}, annotations: {nova.elotl.co/spread-onto: "one::Duplicate"}',
    )
    shown = workload("child", ', namespace: a, labels: {app: x, nova.elotl.co/backpropagated: "true"}')
    group = "apiVersion: policy.elotl.co/v1alpha1\nkind: ScheduleGroup\nmetadata: {name: p-1}\n"
    found = of(spread, result, shown, group)
    assert sorted(found.files) == ["IMPORT.md", "fleet.yaml", "policies/p.yaml", "workloads/a/f1.yaml"]
    left_out = [place for place, _ in told(found, Outcome.LEFT_OUT)]
    assert [place.partition(":")[0] for place in left_out] == ["f1.yaml", "f1.yaml", "f2.yaml", "f3.yaml"]


SHELVES = {
    "an app": (workload("web", ", namespace: a, labels: {app: x}"), "workloads/a/f1.yaml"),
    "what says no namespace": (workload("web", ", labels: {app: x}"), "unplaced/f1.yaml"),
    "what says an empty one": (workload("web", ", namespace: '', labels: {app: x}"), "unplaced/f1.yaml"),
    "what an app may need": (workload("cm", ", namespace: a", "v1 ConfigMap"), "workloads/a/f1.yaml"),
    "an app that no policy selects": (workload("web", ", namespace: a, labels: {app: y}"), "unplaced/f1.yaml"),
    "a namespace": (workload("a", ", labels: {team: t}", "v1 Namespace"), "platform/namespaces/f1.yaml"),
    "rights that no policy selects": (workload("r", ", namespace: a", "rbac.authorization.k8s.io/v1 Role"), "unplaced/f1.yaml"),
    "rights that one selects": (workload("r", ", namespace: a, labels: {app: x}", "rbac.authorization.k8s.io/v1 Role"), "platform/p/f1.yaml"),
    "what has no namespace": (workload("r", ", labels: {app: x}", "scheduling.k8s.io/v1 PriorityClass"), "platform/p/f1.yaml"),
}  # fmt: skip


@pytest.mark.parametrize("thing", SHELVES)
def test_each_manifest_has_its_shelf_and_its_bytes(thing: str) -> None:
    text, path = SHELVES[thing]
    found = of(POLICY + SELECT, text, workload("app", ", namespace: a, labels: {app: x}"))
    assert found.files.get(path) == text.encode(), sorted(found.files)


def test_what_an_app_may_need_is_no_use_where_there_is_no_app() -> None:
    found = of(POLICY + SELECT, SHELVES["what an app may need"][0])
    assert "unplaced/f1.yaml" in found.files


MOUNTS = "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {pod: %s}}, spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: %s}}]}]}}}\n"


def test_what_only_an_app_has_that_runs_nowhere_stays_with_it() -> None:
    placed, idle = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: a, labels: {{app: {app}}}}}\n{MOUNTS % (name, name)}"
        for name, app in (("runs", "x"), ("idle", "no"))
    )
    others = {
        f"{kind}-{name}": text
        for name in ("runs", "idle", "nobody")
        for kind, text in {
            "cm": workload(name, ", namespace: a", "v1 ConfigMap"),
            "svc": f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}-s, namespace: a}}\nspec: {{selector: {{pod: {name}}}}}\n",
            "hpa": f"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}, namespace: a}}\n"
            f"spec: {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}, maxReplicas: 2}}\n",
        }.items()
    }
    texts = {"p": POLICY + SELECT, "runs": placed, "idle": idle.replace("app: no", "app: other"), **others}
    found = imported({f"{name}.yaml": text.encode() for name, text in texts.items()}, NO_VALUES, NovaOptions())
    idles = {f"unplaced/{name}.yaml" for name in ("idle", "cm-idle", "svc-idle", "hpa-idle")}
    assert {path for path in found.files if path.startswith("unplaced/")} == idles


def test_what_a_policy_takes_and_makes_no_pods_is_sent_by_the_policy() -> None:
    config = workload("cm", ", namespace: a, labels: {app: x}", "v1 ConfigMap")
    found = of(POLICY + SELECT, config, CLUSTER % "" + "spec: {name: c}\n")
    assert found.files["platform/p/f1.yaml"] == config.encode()
    done = story(found).plan()
    assert (clusters(done), [p.message for p in done.problems]) == ({"a/p": "c"}, [])


def test_what_has_no_namespace_is_selected_whatever_the_namespace_selector_says() -> None:
    found = of(POLICY + SELECT, SHELVES["what has no namespace"][0])
    spec = value(found, "policies/p-platform.yaml")["spec"]
    assert spec == {"select": {"paths": ["platform/p/**"]}, "precedence": 1000}


def test_a_file_whose_objects_part_is_split_and_each_keeps_its_text() -> None:
    parts = [
        *(SHELVES[name][0] for name in ("an app", "a namespace")),
        workload("other", ", namespace: a, labels: {app: y}"),
    ]
    found = of(POLICY + SELECT, "---\n".join(parts))
    places = ("workloads/a", "platform/namespaces", "unplaced")
    assert [found.files[f"{place}/f1.yaml"].decode() for place in places] == parts


def test_of_one_object_in_two_files_the_last_counts() -> None:
    text = workload("web", ", namespace: a, labels: {app: x}")
    found = of(POLICY + SELECT, text, text)
    assert sorted(path for path in found.files if "f" in path.rpartition("/")[2][:1] and "/" in path) == [
        "unplaced/f1.yaml",
        "workloads/a/f2.yaml",
    ]
    assert "and the last that is applied counts" in told(found, Outcome.CHOSEN)[-1][1]


# the command


NOVA = {
    "nova/p.yaml": POLICY.replace("name: p", "name: p-${NS}") + SELECT,
    "nova/web.yaml": workload("web", ", namespace: a, labels: {app: x}"),
}


def test_the_command_writes_a_fleet_that_validates(capfd: Capture, tmp_path: Path) -> None:
    write(
        tmp_path, {**NOVA, "nova/apply.sh": "kubectl apply", "nova/deep/er/c.yaml": CLUSTER % "" + "spec: {name: c}\n"}
    )
    out = tmp_path / "out"
    ran = run(capfd, "import", "nova", tmp_path / "nova", "-o", out, "--set", "NS=a")
    assert ran.code == 0
    assert "1 file of other kinds, hidden or links, were not looked at" in ran.err
    assert ran.err.endswith(f"Next: gitplacer validate {out}, then gitplacer plan {out}\n")
    assert run(capfd, "validate", out).code == 0
    assert "## Converted" in (out / "IMPORT.md").read_text()
    again = run(capfd, "import", "nova", tmp_path / "nova", "-o", out, "--set", "NS=a")
    assert (again.code, again.err) == (1, f"error: {out} is not empty\n  hint: name a new directory\n")


def test_nothing_is_written_while_a_variable_has_no_value(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path, NOVA)
    ran = run(capfd, "import", "nova", tmp_path / "nova", "-o", tmp_path / "out")
    assert (ran.code, ran.out) == (1, "")
    assert "p.yaml:3:20: variable NS has no value\n  hint: give it one: --set NS=VALUE" in ran.err
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_read_is_told_and_the_rest_is_written(capfd: Capture, tmp_path: Path) -> None:
    write(tmp_path, {**NOVA, "nova/torn.yaml": "a: [\n"})
    ran = run(capfd, "import", "nova", tmp_path / "nova", "-o", tmp_path / "out", "--set", "NS=a", "--format", "json")
    assert ran.code == 1
    told = json.loads(ran.out)
    assert [problem["file"] for problem in told["problems"]] == ["torn.yaml"]
    assert {line["outcome"] for line in told["lines"]} <= {each.value for each in Outcome}
    assert (tmp_path / "out/policies/p-a.yaml").is_file()
    assert "## NotRead (1)" in (tmp_path / "out/IMPORT.md").read_text()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("nowhere", "-o", "out"), "there is no directory"),
        (("nova", "-o", "nova"), "is not empty"),
        (("nova", "-o", "out", "--set", "NS"), "--set takes the name of a variable and its value"),
        (("nova", "-o", "out", "--set", "NS=a", "--keep", "NS"), "NS is given to --set and to --keep"),
        (("nova", "-o", "out", "--set", "NS=a\nb"), "has several lines"),
        (("nova", "-o", "out", "--option", "luna-managment-enabled"), 'did you mean "luna-management-enabled"?'),
        (("nova", "-o", "out", "--namespace", "../up"), "is no namespace"),
        (("nova",), "Missing option '-o'"),
    ],
)
def test_what_is_given_wrong_is_told(
    capfd: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], said: str
) -> None:
    write(tmp_path, NOVA)
    monkeypatch.chdir(tmp_path)
    ran = run(capfd, "import", "nova", *args)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nova"]


def test_import_alone_is_a_wish_for_help_and_a_slip_is_told_what_is_near(capfd: Capture) -> None:
    assert run(capfd, "import") == run(capfd, "import", "--help")
    assert 'nothing is imported from "noav"; did you mean "nova"?' in run(capfd, "import", "noav").err


# hostile input


def test_no_name_leads_out_of_the_new_repo() -> None:
    evil = "../../../etc/passwd"
    texts = [
        POLICY.replace("name: p", f"name: '{evil}'") + SELECT,
        (CLUSTER % "").replace("name: c,", f"name: '{evil}',") + "spec: {name: x}\n",
        workload("web", f", namespace: '{evil}', labels: {{app: x}}"),
        workload(f"'{evil}'", ", namespace: a, labels: {app: x}"),
        workload("web", f", namespace: a, annotations: {{nova.elotl.co/cluster: '{evil}'}}"),
    ]
    files = {f"..{index}/..\\a b\x1b[31m{index}.yaml": text.encode() for index, text in enumerate(texts)}
    found = imported(files, NO_VALUES, NovaOptions())
    for path in found.files:
        assert not path.startswith("/") and ".." not in path.split("/") and "\x1b" not in path and " " not in path
    assert b"\x1b" not in found.files["IMPORT.md"]
    assert [p.message.partition(";")[0] for p in found.problems] == ["metadata.namespace must be a DNS label"]


def test_secrets_that_fill_variables_are_in_no_line_of_the_report() -> None:
    text = POLICY + SELECT + "  fancy: ${KEY}\n"
    found = of(text, variables=Variables({"KEY": ["s3cr3t-v4lue"]}))
    assert b"s3cr3t-v4lue" not in found.files["IMPORT.md"]


def test_a_bomb_of_aliases_is_a_problem_of_its_file_alone() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)
    )
    found = of(bomb, POLICY + SELECT)
    assert {p.location.file for p in found.problems} == {"f0.yaml"}
    assert "policies/p.yaml" in found.files


def test_more_policies_than_are_compared_each_have_a_precedence_of_their_own() -> None:
    texts = [POLICY.replace("name: p", f"name: p{n}") + SELECT for n in range(250)]
    found = of(*texts)
    made = [value(found, path)["spec"].get("precedence", 0) for path in found.files if path.startswith("policies/")]
    assert (len(made), len(set(made))) == (250, 250)


def test_policies_share_objects_unless_it_is_proved_that_they_do_not() -> None:
    rows = [
        ({"namespaces": ["a"]}, {"namespaces": ["b"]}, False),
        ({"namespaces": ["a*"]}, {"namespaces": ["b"]}, True),
        ({"labelSelector": {"matchLabels": {"k": "1"}}}, {"labelSelector": {"matchLabels": {"k": "2"}}}, False),
        ({"labelSelector": {"matchLabels": {"k": "1"}}}, {"labelSelector": {"matchLabels": {"l": "2"}}}, True),
        ({}, {"namespaces": ["b"]}, True),
    ]
    for one, other, shared in rows:
        first, second = (ObjectSelector.model_validate(each, by_alias=True) for each in (one, other))
        assert may_share(first, second) == may_share(second, first) == shared


def test_what_kubectl_exports_is_read_item_by_item() -> None:
    one = yaml.safe_load(POLICY + SELECT)
    server = {"creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": [{"a": 1}], "uid": "1-2"}
    one["metadata"] |= server
    other = {**one, "metadata": {"name": "q", **server}, "spec": {**one["spec"], "fancy": 1}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, other]}, indent=1)
    found = of(text)
    assert {what for _, what in told(found, Outcome.LEFT_OUT)} == {
        "an API server wrote creationTimestamp, managedFields, uid"
    }
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "fancy" in each)
    assert told(found, Outcome.NOT_UNDERSTOOD) == [(f"f0.yaml:{line}:5", "spec.fancy is not known here")]
    assert {"policies/p.yaml", "policies/q.yaml"} <= set(found.files)


def test_what_lies_under_the_platform_and_says_no_namespace_has_it_written() -> None:
    spread = (
        POLICY + SELECT.replace("{matchLabels: {kubernetes.io/metadata.name: a}}", "{}")
        + "  spreadConstraints: {spreadMode: Duplicate, topologyKey: kubernetes.io/metadata.name}\n"
    )  # fmt: skip
    account = workload("robot", ", labels: {app: x}", "v1 ServiceAccount")
    files = {
        "p.yaml": spread.encode(),
        "sa.yaml": account.encode(),
        "c.yaml": (CLUSTER % "" + "spec: {name: c}\n").encode(),
    }
    found = imported(files, NO_VALUES, NovaOptions(), ("a", "b"))
    of_a, of_b = (account.replace("{app: x}", f"{{app: x}}, namespace: {space}") for space in "ab")
    assert found.files["platform/p/sa.yaml"].decode() == f"{of_a}---\n{of_b}"
    assert sum("is written into its metadata" in line.what for line in found.of(Outcome.CHANGED)) == 2
    done = story(found).plan()
    assert ([p.message for p in done.problems], clusters(done)) == ([], {"_cluster/p": "c"})


def test_what_is_pinned_and_makes_no_pods_is_sent_all_the_same() -> None:
    pinned = workload("cm", ", namespace: a, annotations: {nova.elotl.co/cluster: c}", "v1 ConfigMap")
    found = of(pinned, CLUSTER % "" + "spec: {name: c}\n")
    assert found.files["platform/a-configmap-cm/f0.yaml"] == pinned.encode()
    assert clusters(story(found).plan()) == {"a/a-configmap-cm": "c"}


def test_labels_of_namespaces_count_where_the_namespaces_are_here() -> None:
    selects = "  namespaceSelector: {matchLabels: {team: t}}\n  resourceSelectors: {labelSelectors: [{matchExpressions: []}]}\n"
    app = workload("web", ", namespace: a")
    assert "unplaced/f1.yaml" in of(POLICY + selects, app).files
    assert "workloads/a/f1.yaml" in of(POLICY + selects, app, SHELVES["a namespace"][0]).files


def test_lines_about_whole_documents_stand_where_these_begin() -> None:
    files = {path: data for path, data in corpus().items() if b"${" not in data}
    text = "# why\n\n---\n# this\n\nkind: x\n"
    for document in read_foreign({**files, "x.yaml": text.encode()}, NO_VALUES, Notes()).documents:
        notes = Notes()
        notes.add(Outcome.CONVERTED, document, (), "")
        assert notes.lines()[0].location == document.locate()


@pytest.mark.parametrize(
    ("regions", "weights"), [(("us", "eu"), {"c0": 70, "c1": 30}), (("us", "us", "eu"), None), (("us",), None)]
)
def test_percentages_of_regions_are_weights_where_each_has_one_cluster(
    regions: tuple[str, ...], weights: dict[str, int] | None
) -> None:
    texts = [
        f"apiVersion: cluster.elotl.co/v1alpha1\nkind: Cluster\nmetadata: {{name: c{n}}}\nspec: {{region: {region}}}\n"
        for n, region in enumerate(regions)
    ]
    split = "percentageSplit: {us: 70, eu: 30}"
    spread = f"  spreadConstraints: {{spreadMode: Divide, topologyKey: nova.elotl.co/cluster.region, {split}}}\n"
    found = of(*texts, POLICY + SELECT + spread)
    assert value(found, "policies/p.yaml")["spec"]["placement"].get("weights") == weights
    said = " ".join(what for _, what in told(found, Outcome.NO_EQUAL))
    assert "each of them gets its part" in said, "clusters are not counted as one by region"
    assert ("weights are by name of cluster" in said) == (weights is None)


def test_a_key_that_is_set_twice_counts_as_kubectl_has_it_and_the_app_is_placed() -> None:
    untainted = "".join(line for line in STATUS.splitlines(keepends=True) if "nodeTaints" not in line)
    found = of(POLICY + SELECT, TWICE, CLUSTER % "" + "spec: {name: c}\n" + untainted % ("false", "True", "False"))
    assert found.problems == ()
    assert (
        "f1.yaml:6:5",
        'the key "rayStartParams" is set again on line 8, and the last one counts, as for kubectl; this one was taken out',
    ) in told(found, Outcome.CHANGED)
    assert value(found, "workloads/a/f1.yaml")["spec"]["headGroupSpec"]["rayStartParams"] == {}
    assert clusters(story(found).plan()) == {"a/r": "c"}


def test_of_a_file_in_which_one_object_cannot_be_read_only_the_others_are_written() -> None:
    good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: a, labels: {app: x}}\n"
    found = of(POLICY + SELECT, f"{good}---\n{TWICE}  ? [broken]\n  : x\n")
    assert [p.location.line for p in found.problems] == [14]
    [path] = [path for path in found.files if path.endswith("f1.yaml")]
    assert found.files[path].decode() == good


def test_a_manifest_asks_few_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = (
        f"{POLICY}  namespaceSelector: {{}}\n  resourceSelectors: {{labelSelectors: [{{matchLabels: {{app: x%d}}}}]}}\n"
    )
    pairs = [
        (everywhere.replace("name: p", f"name: p{n}") % n, workload(f"w{n}", f", namespace: a, labels: {{app: x{n}}}"))
        for n in range(60)
    ]
    asked_at_most(monkeypatch, of, Made, "takes", pairs)


def test_policies_of_one_name_are_named_once_each_and_the_same_ones_are_one() -> None:
    one, other = POLICY + SELECT, POLICY + SELECT.replace("app: x", "app: z")
    found = of(one, other, one)
    assert [path for path in found.files if path.startswith("policies/")] == ["policies/f0.yaml", "policies/f1.yaml"]
    assert [what for _, what in told(found, Outcome.LEFT_OUT)] == [
        "SchedulePolicy p is at f0.yaml:1:1 too, word for word"
    ]
    assert [what.partition(". ")[0] for _, what in told(found, Outcome.CHOSEN) if "the name of" in what] == [
        "p is the name of 2 policies, at f0.yaml:1:1 and f1.yaml:1:1"
    ] * 2
