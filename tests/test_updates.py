"""What an update would do where the app runs: told before it lands, and stopped where it would do harm."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer.hydrate import Hydration
from gitplacer.problems import Severity
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayjob, rayservice, snapshot

ROOM = snapshot("a", "n1 64 256Gi 8")
SERVICE = "workloads/x/app.yaml"
JOB = "workloads/x/train.yaml"


def codes(done: Hydration, *without: str) -> list[tuple[str, Severity]]:
    return [(p.code, p.severity) for p in done.problems if p.code not in without]


def placed(files: dict[str, str], **spec: str) -> Story:
    """A story in which everything runs on cluster a."""
    story = Story.of(cluster("a", **spec), ANYWHERE, files, capacity=ROOM)
    story.run()
    return story


def test_an_upgrade_of_a_ray_service_is_announced_once_at_the_line_that_causes_it() -> None:
    story = placed(rayservice("x", "app"))
    story.source[SERVICE] = story.source[SERVICE].replace("name: worker, image: ray,", "name: worker, image: ray:2,")
    done = story.run()
    assert outcome(done) == {"x/app": "Update a UpgradeFits"}
    [problem] = done.problems
    assert (problem.code, problem.severity) == ("UpgradeMakesNewCluster", Severity.WARNING)
    assert problem.location.line == next(
        number for number, line in enumerate(story.source[SERVICE].splitlines(), 1) if "ray:2" in line
    )
    assert problem.message.endswith("(deployed on a)")
    assert codes(story.run()) == []


def test_a_comment_or_another_spelling_is_no_edit() -> None:
    story = placed(rayservice("x", "app", cpu="2"))
    story.source[SERVICE] = "# more words\n" + story.source[SERVICE].replace('cpu: "2"', "cpu: 2000m")
    done = story.run()
    assert (outcome(done), codes(done)) == ({"x/app": "Update a Updated"}, [])


def test_the_rule_is_that_of_the_operator_where_the_app_runs() -> None:
    """Up to 1.5.1 tolerations were part of what makes a new Ray cluster; later they are ignored."""
    for version, code in (("1.5.1", "UpgradeMakesNewCluster"), ("1.7.0", "EditIgnored")):
        story = placed(rayservice("x", "app"), profile=f"{{kuberay: {{version: {version}}}}}")
        story.source[SERVICE] = story.source[SERVICE].replace(
            "{containers: [{name: worker", "{tolerations: [{key: gpu, operator: Exists}], containers: [{name: worker"
        )
        assert codes(story.run()) == [(code, Severity.WARNING)]


NAMED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code-%s}\n"


def names(code: str, app: dict[str, str]) -> dict[str, str]:
    """An app whose head names a ConfigMap that is written beside it."""
    [(path, text)] = app.items()
    text = text.replace("{name: head,", f"{{name: head, envFrom: [{{configMapRef: {{name: code-{code}}}}}],", 1)
    assert f"code-{code}" in text
    return {path: f"{text}---\n{NAMED % code}"}


@pytest.mark.parametrize(
    ("app", "until"),
    [
        (rayjob("x", "train"), "let the job be as it is until it is done, and give the RayJob a new name for the next"),
        (
            rayservice("x", "app"),
            "keep the old one in the group, by its policy's groupBy, until a Ray cluster of the new spec has taken over",
        ),
    ],
)
def test_what_a_running_ray_cluster_still_names_is_not_taken_away_unsaid(app: dict[str, str], until: str) -> None:
    story = placed(names("old", app))
    story.source |= names("new", app)
    told = [problem for problem in story.run().problems if problem.code == "StillNeeded"]
    kind, name = ("RayJob", "train") if "kind: RayJob" in str(app) else ("RayService", "app")
    assert [(problem.message, problem.hint, problem.severity) for problem in told] == [
        (
            f"ConfigMap x/code-old goes, and the Ray cluster of {kind} x/{name} on a still names it: a pod that it makes anew does not start",
            until,
            Severity.WARNING,
        )
    ]
    assert "code-new" in story.source[told[0].location.file].splitlines()[told[0].location.line - 1]
    assert "StillNeeded" not in [problem.code for problem in story.run().problems]


KEPT = policy("anywhere", "select: {}\ngroupBy: {label: app}")
OLD = (NAMED % "old").replace("{name: code-old}", "{name: code-old, labels: {app: train}}")
OTHER = "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: code-old}}]}]}\n"


@pytest.mark.parametrize(
    ("beside", "told"),
    [
        ({}, True),
        ({"workloads/x/old.yaml": NAMED % "old"}, True),  # nothing refers to it, so it is placed nowhere
        ({"workloads/x/old.yaml": OLD, **KEPT}, False),
        ({"workloads/x/old.yaml": NAMED % "old", "workloads/x/other.yaml": OTHER}, False),  # another group has it there
    ],
)
def test_what_stays_on_the_cluster_is_not_taken_away(beside: dict[str, str], told: bool) -> None:
    job = rayjob("x", "train")
    job = {JOB: job[JOB].replace("  name: train\n", "  name: train\n  labels: {app: train}\n", 1)}
    others = {path: text for path, text in beside.items() if "other" in path}
    story = placed({**names("old", job), **others, **{path: text for path, text in KEPT.items() if path in beside}})
    story.source |= {**names("new", job), **beside}
    assert ("StillNeeded" in [problem.code for problem in story.run().problems]) is told


def test_a_job_that_is_done_needs_nothing_any_more() -> None:
    done = placed(names("old", rayjob("x", "train")))
    done.capacity = snapshot("a", "n1 64 256Gi 8", at=done.now, more="groups: [{name: x/train, phase: Succeeded}]\n")
    done.source |= names("new", rayjob("x", "train"))
    assert "StillNeeded" not in [problem.code for problem in done.run().problems]


def test_an_edit_that_the_api_server_would_refuse_leaves_the_files_alone() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: %s}}\n"
        "  template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: i}]}}\n"
    )
    story = placed({SERVICE: text % ("one", "one")})
    before = story.deployment
    story.source[SERVICE] = text % ("two", "two")
    done = story.run()
    assert outcome(done) == {"x/web": "Hold a HasProblems"}
    assert codes(done) == [("ImmutableField", Severity.ERROR)]
    assert story.deployment == before


WORD = st.text("abc", min_size=1, max_size=3)
POD_TEMPLATE = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
}
FIXED: dict[str, tuple[str, str, dict[str, Any], st.SearchStrategy[dict[str, Any]]]] = {
    "selector": (
        "apps/v1", "Deployment", {},
        WORD.map(lambda app: {"selector": {"matchLabels": {"app": app}}, "template": {**POD_TEMPLATE, "metadata": {"labels": {"app": app}}}}),
    ),
    "template of a Job": (
        "batch/v1", "Job", {},
        WORD.map(lambda image: {"template": {**POD_TEMPLATE, "spec": {"containers": [{"name": "c", "image": image}], "restartPolicy": "Never"}}}),
    ),
    "name of a service": (
        "apps/v1", "StatefulSet", {"selector": {"matchLabels": {"app": "x"}}, "template": POD_TEMPLATE},
        WORD.map(lambda name: {"serviceName": name}),
    ),
    "class of a claim": (
        "v1", "PersistentVolumeClaim", {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        WORD.map(lambda name: {"storageClassName": name}),
    ),
}  # fmt: skip
"""Of a field that the API server lets nobody change: the kind, what stands beside it, and values."""


@settings(max_examples=20)
@given(st.sampled_from(sorted(FIXED)).flatmap(lambda name: st.tuples(st.just(name), *[FIXED[name][3]] * 2)))
def test_whatever_a_fixed_field_is_changed_to_the_files_are_left_alone(case: tuple[str, Any, Any]) -> None:
    name, before, after = case
    api_version, kind, beside, _ = FIXED[name]

    def text(spec: dict[str, Any]) -> str:
        metadata = {"name": "web", "labels": {"app": "group"}}
        return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {**beside, **spec}})

    grouped = policy("anywhere", "select: {}\ngroupBy: {label: app}")
    beside_it = {**rayservice("x", "app", labels="{app: group}"), **rayservice("y", "other")}
    story = placed({**grouped, **beside_it, "workloads/x/web.json": text(before)})
    files = {path: story.deployment.read(path) for path in story.deployment if "/x/" in path}
    story.source["workloads/x/web.json"] = text(after)
    story.source |= rayservice("y", "other", workers=2)
    done = story.run()
    assert outcome(done)["y/other"] == "Update a Updated"
    if before != after:
        assert outcome(done)["x/group"] == "Hold a HasProblems"
        assert [(p.location.file, p.code) for p in done.problems if p.severity is Severity.ERROR] == [
            ("workloads/x/web.json", "ImmutableField")
        ]
    assert {path: story.deployment.read(path) for path in story.deployment if "/x/" in path} == files


def test_removing_a_worker_group_is_stopped_unless_somebody_means_it() -> None:
    group = "  - {groupName: %s, replicas: 1, minReplicas: 1, maxReplicas: 1, template: {spec: {containers: [{name: w, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}\n"
    text = (
        "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata:\n  name: app\n%sspec:\n"
        "  headGroupSpec: {template: {spec: {containers: [{name: h, image: i, resources: {requests: {cpu: 1, memory: 1Gi}}}]}}}\n"
        "  workerGroupSpecs:\n"
    )
    story = placed({SERVICE: text % "" + group % "a" + group % "b"})
    story.source[SERVICE] = text % "" + group % "a"
    done = story.run()
    assert outcome(done) == {"x/app": "Hold a HasProblems"}
    assert ("WorkerGroupRemoved", Severity.ERROR) in codes(done)
    meant = text % "  annotations: {allow.gitplacer.dev/WorkerGroupRemoved: we delete its pods by hand}\n"
    story.source[SERVICE] = meant + group % "a"
    done = story.run()
    assert outcome(done) == {"x/app": "Update a Updated"}
    assert "WorkerGroupRemoved" not in [code for code, _ in codes(done)]


def test_a_job_that_is_done_needs_a_new_name_to_run_again() -> None:
    story = placed(rayjob("x", "train"))
    edited = story.source[JOB].replace("python train.py", "python train.py --again")
    running = "groups: [{name: x/train, phase: %s}]\n"
    story.source[JOB] = edited
    story.capacity.update(snapshot("a", "n1 64 256Gi 8", more=running % "Running", at=story.now))
    assert ("EditIgnored", Severity.WARNING) in codes(story.plan())
    assert outcome(story.plan()) == {"x/train": "Update a Updated"}
    story.capacity.update(snapshot("a", "n1 64 256Gi 8", more=running % "Succeeded", at=story.now))
    done = story.run()
    assert ("EditOfFinishedJob", Severity.ERROR) in codes(done)
    assert outcome(done) == {"x/train": "Hold a HasProblems"}


JOBSET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - {name: w, replicas: 1, template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}
"""


def test_any_kind_that_runs_to_its_end_needs_a_new_name_to_run_again() -> None:
    story = Story.of(cluster("a"), ANYWHERE, {JOB: JOBSET}, capacity=ROOM)
    story.run()
    story.source[JOB] = JOBSET.replace("image: i", "image: i2")
    phase = "groups: [{name: x/train, phase: %s}]\n"
    for said, code in (("Running", []), ("Succeeded", [("EditOfFinishedJob", Severity.ERROR)])):
        story.capacity.update(snapshot("a", "n1 64 256Gi 8", more=phase % said, at=story.now))
        assert codes(story.plan()) == code


def test_a_group_that_moves_is_not_updated_where_it_was() -> None:
    story = Story.of(
        cluster("a"),
        cluster("b"),
        ANYWHERE,
        rayservice("x", "app"),
        capacity={**ROOM, **snapshot("b", "n1 64 256Gi 8")},
    )
    story.run()
    story.source.update(cluster("a", state="Draining"))
    story.source[SERVICE] = story.source[SERVICE].replace("image: ray", "image: ray:2")
    done = story.run()
    assert outcome(done) == {"x/app": "Relocate b ClusterDraining"}
    assert codes(done) == []


def test_a_deployed_file_that_cannot_be_read_is_told_nothing_of() -> None:
    story = placed(rayservice("x", "app"))
    [path] = [path for path in story.files() if path.endswith("app.yaml")]
    story.deployment = type(story.deployment).of(
        {p: b"\xff: [" if p == path else story.deployment.read(p) for p in story.deployment}
    )
    done = story.run()
    assert (outcome(done), codes(done)) == ({"x/app": "Update a Updated"}, [])


def test_nothing_that_happens_elsewhere_changes_a_byte_of_what_is_deployed() -> None:
    """A changed byte in a RayService costs a second Ray cluster, so time, capacity and neighbours leave no trace in it."""
    override = {
        "policies/o.yaml": "apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {name: o}\nspec:\n"
        "  select: {kinds: [RayService]}\n"
        "  overrides: [{path: /spec/rayClusterConfig/workerGroupSpecs/0/maxReplicas, value: 3}]\n"
    }
    luna = "{type: Luna, podLabels: {elotl-luna: 'true'}}"
    story = placed({**rayservice("x", "app"), **override}, autoscaler=luna)
    [path] = [path for path in story.files() if path.endswith("app.yaml")]
    before = story.deployment.read(path)
    assert b"elotl-luna" in before
    assert b"maxReplicas: 3" in before
    story.source |= rayservice("x", "other") | rayjob("z", "train")
    story.capacity.update(snapshot("a", "n1 64 256Gi 8", "n2 64 256Gi 8", at=story.now, more="serves: [ray.io/v1]\n"))
    story.run()
    story.source.pop("workloads/z/train.yaml")
    story.run()
    assert story.deployment.read(path) == before


SCALED = """\
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, maxReplicaCount: 4}
"""
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
"""


@pytest.mark.parametrize(
    ("serves", "spec", "after"),
    [
        ("serves: [ray.io]\n", {}, "Hold a HasProblems"),
        ("serves: [keda.sh/v1]\n", {}, "Hold a HasProblems"),  # another version of it
        ("serves: [keda.sh/v1alpha1]\n", {}, "Update a Updated"),
        ("serves: [keda.sh]\n", {}, "Update a Updated"),
        ("", {}, "Update a Updated"),  # nobody looked
        ("serves: [ray.io]\n", {"maxAge": "1m"}, "Update a Updated"),  # what it tells is too old
    ],
)
@pytest.mark.parametrize("beside", [False, True])
def test_what_a_cluster_does_not_serve_is_not_added_to_what_runs_there(
    serves: str, spec: dict[str, str], after: str, beside: bool
) -> None:
    """One object that is refused keeps a whole unit from being applied. It is added to the file, or in a file of its own."""
    story = placed({"workloads/x/web.yaml": WEB}, **spec)
    story.capacity |= snapshot("a", "n1 64 256Gi 8", more=serves)
    story.now += timedelta(minutes=5)
    story.source["workloads/x/scaled.yaml" if beside else "workloads/x/web.yaml"] = ("" if beside else WEB) + SCALED
    done = story.run()
    assert outcome(done) == {"x/web": after}
    if after.startswith("Hold"):
        [problem] = done.problems
        assert problem.code == "KindNotServed"
        assert problem.message == (
            "ScaledObject x/web is of keda.sh/v1alpha1, which a does not serve, and its group runs there"
        )


def test_what_runs_goes_on_to_be_edited_though_its_cluster_does_not_serve_it_any_more() -> None:
    story = placed({"workloads/x/web.yaml": WEB + SCALED})
    story.capacity |= snapshot("a", "n1 64 256Gi 8", more="serves: [ray.io]\n")
    story.source["workloads/x/web.yaml"] = (WEB + SCALED).replace("image: i", "image: j")
    assert outcome(story.run()) == {"x/web": "Update a Updated"}
