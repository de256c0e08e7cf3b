"""
Stories of objects that change sides: between groups, between files, between us and somebody else.

What may have started is never started again elsewhere, whatever its group is called now; and what one side cannot do,
the other does not do alone.
"""

from __future__ import annotations

import json

import pytest

from gitplacer.problems import Severity
from gitplacer.tree import Changes
from tests.judges import judge, judge_change, objects_on
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot
from tests.test_tenants import tenant

BY_LABEL = policy("anywhere", "select: {}\ngroupBy: {label: app}")
BOTH = (cluster("a"), cluster("b"))
ROOMY = {**snapshot("a", "n1 16 64Gi 4"), **snapshot("b", "n1 16 64Gi 4")}
FULL_WITH_ONE = {**snapshot("a", "n1 16 64Gi 1"), **snapshot("b", "n1 16 64Gi 1")}


def job(name: str, app: str = "") -> dict[str, str]:
    """A RayJob with one worker, and a label to be grouped by."""
    label = f"  labels: {{app: {app}}}\n" if app else ""
    return {
        path: text.replace("  name:", f"{label}  name:", 1) for path, text in rayjob("jobs", name, workers=1).items()
    }


def running(story: Story, *places: tuple[str, str]) -> None:
    """Both clusters report later that these groups run."""
    for name, group in places:
        more = f"applied: EVERYTHING\ngroups:\n- {{name: {group}, phase: Running}}\n"
        story.capacity |= snapshot(name, "n1 16 64Gi 4", at=story.now, more=more)


def place_of(story: Story, file: str) -> list[str]:
    return [path.split("/")[1] for path in story.files() if path.endswith(file)]


def test_a_running_job_is_not_moved_because_its_group_got_another_name() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), capacity=ROOMY)
    assert outcome(story.run()) == {"jobs/red": "Place a Fits"}
    running(story, ("a", "jobs/red"))
    story.source |= job("train", "blue") | cluster("a", state="Draining")
    assert outcome(story.run()) == {"jobs/blue": "Hold a MayHaveStarted"}


def test_what_a_cluster_said_of_a_group_under_another_name_proves_nothing() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), capacity=ROOMY)
    story.run()
    running(story, ("a", "jobs/red"))
    story.source |= job("train", "blue")
    assert outcome(story.run()) == {"jobs/blue": "Update a Updated"}
    more = "applied: {workloads: 1, platform: 1}\ngroups:\n- {name: jobs/red, phase: Running}\n"
    story.capacity |= snapshot("a", "n1 16 64Gi 4", more=more)
    story.source |= cluster("a", state="Draining")
    assert outcome(story.run()) == {"jobs/blue": "Hold a MayHaveStarted"}


def test_a_job_that_joined_later_needs_later_evidence() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), capacity=ROOMY)
    story.run()
    story.source |= job("tune", "red")
    story.run()
    early = "applied: {workloads: 1, platform: 1}\ngroups:\n- {name: jobs/red, phase: Pending}\n"
    story.capacity |= snapshot("a", "n1 16 64Gi 4", at=story.now, more=early)
    story.source |= cluster("a", state="Draining")
    assert outcome(story.plan()) == {"jobs/red": "Hold a MayHaveStarted"}
    for wanted in ("Hold a MayHaveStarted", "Relocate  ClusterDraining"):
        story.capacity |= snapshot(
            "a", "n1 16 64Gi 4", at=story.now, more=early.replace("workloads: 1", "workloads: 2")
        )
        assert outcome(story.run()) == {"jobs/red": wanted}


def test_a_group_that_is_split_stays_where_it_is() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "train"), job("tune", "train"), capacity=ROOMY)
    assert outcome(story.run()) == {"jobs/train": "Place a Fits"}
    running(story, ("a", "jobs/train"))
    story.source |= ANYWHERE | cluster("a", state="Cordoned")
    assert outcome(story.run()) == {"jobs/train": "Update a Updated", "jobs/tune": "Update a Updated"}
    assert story.files() == ["clusters/a/workloads/jobs/train/train.yaml", "clusters/a/workloads/jobs/tune/tune.yaml"]
    assert story.run().steps == ()


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(job("tune", "red"), id="a job is labelled into another group"),
        pytest.param(job("tune", "green") | job("train", "green"), id="two groups are joined under a new name"),
    ],
)
def test_jobs_that_run_apart_are_not_joined_and_are_held_by_name(edit: dict[str, str]) -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), job("tune", "blue"), capacity=FULL_WITH_ONE)
    story.run()
    files = story.files()
    running(story, (place_of(story, "train.yaml")[0], "jobs/red"), (place_of(story, "tune.yaml")[0], "jobs/blue"))
    story.source |= edit
    done = story.run()
    assert story.files() == files
    assert {d.action for d in done.view.plan.decisions} == {"Hold"}
    assert sorted(d.finding.code for d in done.view.plan.decisions) == ["HeldTogether", "MayHaveStarted"]
    assert any("RayJob jobs/" in name for d in done.view.plan.decisions for name in d.blocked_by)


def test_a_group_that_gains_what_a_held_one_loses_is_held_with_it() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), job("tune", "red"), capacity=ROOMY)
    story.run()
    files = story.files()
    story.source |= job("tune", "blue")
    story.source["workloads/jobs/train.yaml"] = story.source["workloads/jobs/train.yaml"].replace(": 1", ": many")
    done = story.run()
    assert outcome(done) == {"jobs/blue": "Hold a HeldTogether", "jobs/red": "Hold a HasProblems"}
    assert story.files() == files


def test_a_file_that_is_renamed_and_broken_in_one_commit_removes_nothing() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=ROOMY)
    story.run()
    files = story.files()
    story.source["workloads/prod/more/service.yaml"] = "a: [\n" + story.source.pop("workloads/prod/api.yaml")
    assert outcome(story.run()) == {"prod/api": "Hold a UnreadableSource"}
    assert story.files() == files
    story.source["workloads/prod/more/service.yaml"] = "a: [\n"
    assert outcome(story.run()) == {"prod/api": "Remove  SourceRemoved"}


def test_a_directory_that_becomes_input_of_kustomize_removes_nothing() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=ROOMY)
    story.run()
    story.source["workloads/prod/base/api.yaml"] = story.source.pop("workloads/prod/api.yaml")
    story.source["workloads/prod/base/kustomization.yaml"] = "resources: [api.yaml]\n"
    assert outcome(story.run()) == {"prod/api": "Hold a UnreadableSource"}


def test_a_path_where_somebody_else_has_a_file_is_not_written() -> None:
    story = Story.of(cluster("a"), ANYWHERE, capacity=ROOMY)
    story.run()
    path = "clusters/a/workloads/prod/api/api.yaml"
    theirs = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: default}\n"
    story.deployment = story.deployment.apply(Changes({path: theirs}))
    story.source |= rayservice("prod", "api")
    assert outcome(story.run()) == {"prod/api": "Hold  ForeignChange"}
    assert story.deployment.read(path) == theirs


def test_a_group_that_cannot_leave_a_cluster_that_is_gone_gets_no_files_there_and_loses_none() -> None:
    story = Story.of(*BOTH, BY_LABEL, job("train", "red"), capacity=ROOMY)
    story.run()
    files = story.files()
    del story.source["clusters/a.yaml"]
    story.source |= job("train", "blue")
    done = story.run()
    assert outcome(done)["jobs/blue"].startswith("Hold a")
    assert story.files() == files


# shared files


def one_of(name: str, *maps: str, target: str = "") -> dict[str, str]:
    """A Job that reads ConfigMaps."""
    volumes = ", ".join(f"{{name: v{index}, configMap: {{name: {item}}}}}" for index, item in enumerate(maps))
    pod = f"{{restartPolicy: Never, containers: [{{name: m, image: i, resources: {{requests: {{cpu: 1}}}}}}], volumes: [{volumes}]}}"
    wish = f", annotations: {{gitplacer.dev/cluster: {target}}}" if target else ""
    text = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}{wish}}}\nspec: {{template: {{spec: {pod}}}}}\n"
    return {f"workloads/jobs/{name}.yaml": text}


def maps(*names: str) -> dict[str, str]:
    texts = [f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{}}\n" for name in names]
    return {"workloads/jobs/maps.yaml": "---\n".join(texts)}


def test_each_cluster_gets_of_a_shared_file_what_its_groups_need() -> None:
    story = Story.of(
        *BOTH, ANYWHERE, maps("c1", "c2"), one_of("one", "c1", target="a"), one_of("two", "c1", "c2", target="b"),
        one_of("three", "c2", target="b"), capacity=ROOMY,
    )  # fmt: skip
    story.run()
    shared = [path for path in story.files() if "_shared" in path]
    assert [path.split("/")[1] for path in shared] == ["a", "b", "b"]
    assert shared[0].replace("/a/", "/b/") in shared
    tree = story.deployment.read_all(story.deployment)
    assert judge(tree) == []
    assert story.run().steps == ()
    del story.source["workloads/jobs/three.yaml"]
    story.run()
    assert [path for path in story.files() if "_shared" in path] == shared, "a name that was written stays"
    after = story.deployment.read_all(story.deployment)
    assert (judge(after), judge_change(tree, after)) == ([], [])


def test_files_of_one_group_do_not_differ_by_case_alone() -> None:
    files = {
        f"workloads/jobs/{folder}.yaml": text
        for folder, (_, text) in zip(("x/Job", "y/job"), [*one_of("one").items(), *one_of("two").items()], strict=True)
    }
    story = Story.of(*BOTH, policy("p", "select: {}\ngroupBy: {namespace: true}"), files, capacity=ROOMY)
    story.run()
    names = story.files()
    assert len(names) == len({name.casefold() for name in names}) == 2


# names and texts that an engine would take amiss

QUOTA = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota, namespace: team}\n"


@pytest.mark.parametrize(
    "path",
    [
        "namespaces/team.yaml",
        "gitplacer.yaml",
        "x/cloudbuild.yaml",
        "x/kustomization.json",
        "x/Chart.yml",
        "standby/a.yaml",
    ],
)
def test_a_name_that_means_something_else_to_an_engine_or_to_us_gets_a_longer_one(path: str) -> None:
    text = '{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "quota", "namespace": "team"}}'
    team = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
    everywhere = policy("p", "select: {}\nplacement: {copies: All}")
    files = {f"platform/{path}": text if path.endswith("json") else f"{team}---\n{QUOTA}"}
    story = Story.of(*BOTH, everywhere, files, capacity=ROOMY)
    done = story.run()
    assert done.problems == ()
    tree = story.deployment.read_all(story.deployment)
    assert judge(tree) == []
    assert ("", "ResourceQuota", "team", "quota") in objects_on(tree)["a"]
    assert story.run().steps == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "data: {}  # +argocd:skip-file-rendering\n",
            "Argo CD passes over a file that says +argocd:skip-file-rendering",
        ),
        ("items: []\n", "Argo CD takes a ConfigMap with items for a list of objects"),
        ("x: [1, [2, null]]\n", "Flux fails for an empty item in a list"),
        ("x: [a, yes]\n", "Flux reads yes as text, and Argo CD as true"),
        ("x: &a !!bool Off\n", "Flux reads Off as text, and Argo CD as false"),
        ("x: {d: 2026-01-02}\n", "Flux takes this for a time, and writes it in another way"),
        ("x: 2026-01-02T03:04:05.10+00:00\n", "Flux takes this for a time, and writes it in another way"),
        ("x: {2026-01-02T03:04:05Z: d}\n", "Flux fails for a key that is a time"),
        ('data: {"a\\x7F": b}\n', "Flux cannot write the control character U+007F"),
        ('data: {a: "\\N"}\n', "Flux cannot write the control character U+0085"),
        ('data: {a: "\\uFFFF"}\n', "Flux cannot write the control character U+FFFF"),
    ],
)
def test_what_the_engines_would_not_read_alike_holds_its_group(text: str, message: str) -> None:
    config = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c1}}\n{text}"
    story = Story.of(
        *BOTH, ANYWHERE, one_of("one", "c1"), {"workloads/jobs/c.yaml": config}, one_of("two"), capacity=ROOMY
    )
    done = story.run()
    assert [(p.code, p.message) for p in done.problems] == [("EnginesDisagree", message)]
    assert outcome(done) == {"jobs/one": "Hold  HasProblems", "jobs/two": "Place a Fits"}


@pytest.mark.parametrize(
    "more",
    [
        "x: [true, False, 'yes', \"2026-01-02\", !!str 2026-01-02]\n",
        "x: [2026-01-02T03:04:05Z, 2026-01-02T03:04:05.1+02:00, 2026-13-40T, 2026-01, 2026-01-02-a]\n",
        "data: {a: \"\\e\\0\\U0001f600\", b: '\\ud83d\\ude00', c: '\\x7f'}\n",
    ],
)
def test_what_they_read_alike_is_placed(more: str) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c1, annotations: {day: 2026-01-02}}\n"
    files = {"workloads/jobs/c.yaml": config + more}
    done = Story.of(*BOTH, ANYWHERE, one_of("one", "c1"), files, capacity=ROOMY).run()
    assert [problem for problem in done.problems if problem.code == "EnginesDisagree"] == []
    assert outcome(done)["jobs/one"] == "Place a Fits"


def test_an_escape_that_only_json_has_is_refused_where_it_becomes_yaml() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c1"}, "data": {"a": "\U0001f600"}}
    story = Story.of(*BOTH, ANYWHERE, one_of("one", "c1"), capacity=ROOMY)
    story.source["workloads/jobs/c.json"] = json.dumps(config)
    (problem,) = story.plan().problems
    assert (problem.code, str(problem.location)) == ("EnginesDisagree", "workloads/jobs/c.json:1:85")
    assert problem.message == "Argo CD and Flux fail for an escape of half a character"
    story.source["workloads/jobs/c.json"] = json.dumps(config, ensure_ascii=False)
    assert story.plan().problems == ()


def test_an_object_that_kustomize_drops_and_a_kind_it_takes_for_a_list_are_refused() -> None:
    local = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c1, annotations: {config.kubernetes.io/local-config: 'true'}}\n"
    names = "apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: c2}\n"
    knows = tenant("jobs", 'paths: ["workloads/**"]\nnamespaces: [jobs]\nkinds: [ConfigMap, AllowList]')
    story = Story.of(*BOTH, ANYWHERE, knows, {"workloads/jobs/c.yaml": f"{local}---\n{names}"}, capacity=ROOMY)
    found = [str(p.location) for p in story.run().problems if p.code == "EnginesDisagree"]
    assert found == ["workloads/jobs/c.yaml:3:36", "workloads/jobs/c.yaml:6:7"]


BATCH_JOB = (
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {containers: [{name: c}]}}}\n"
)
CRON_JOB = (
    BATCH_JOB.replace("kind: Job", "kind: CronJob").replace("spec: {template", "spec: {jobTemplate: {spec: {template")
    + "  "
)


@pytest.mark.parametrize("what", ["RayJob", "Job", "CronJob"])
def test_a_job_is_not_copied(what: str) -> None:
    files = {
        "RayJob": job("train"),
        "Job": {"workloads/jobs/train.yaml": BATCH_JOB},
        "CronJob": {"workloads/jobs/train.yaml": CRON_JOB.rstrip() + "}}\n"},
    }[what]
    story = Story.of(*BOTH, policy("p", "select: {}\nplacement: {copies: All}"), files, capacity=ROOMY)
    done = story.run()
    assert [p.code for p in done.problems if p.severity is Severity.ERROR] == ["CopiesOfAJob"]
    assert decisions(done)["jobs/train"].after == ()


def test_what_a_held_group_has_to_itself_is_not_shared_beside_it() -> None:
    story = Story.of(*BOTH, ANYWHERE, maps("c1"), one_of("one", "c1", target="a"), capacity=ROOMY)
    story.run()
    story.source["workloads/jobs/one.yaml"] = story.source["workloads/jobs/one.yaml"].replace("cpu: 1", "cpu: lots")
    story.source |= one_of("two", "c1", target="a")
    assert outcome(story.run()) == {"jobs/one": "Hold a HasProblems", "jobs/two": "Hold  HeldTogether"}
    story.source |= one_of("one", "c1", target="a")
    assert outcome(story.run()) == {"jobs/one": "Update a Updated", "jobs/two": "Place a Fits"}
    assert judge(story.deployment.read_all(story.deployment)) == []


# platform objects

EVERYWHERE = policy("p", "select: {}\nplacement: {copies: All}")


def setting(*names: str) -> str:
    return "---\n".join(
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {n}, namespace: default}}\n" for n in names
    )


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"platform/k/a.yaml": setting("one")}, id="its file goes on without it"),
        pytest.param({"platform/k/b.yaml": setting("one")}, id="its file is renamed and goes on without it"),
        pytest.param({"platform/k/b.yaml": setting("three")}, id="its file is gone"),
        pytest.param({"platform/k/a.yaml": setting("three")}, id="its file holds something else"),
    ],
)
def test_a_platform_object_that_is_gone_from_the_source_stays_on_the_clusters(after: dict[str, str]) -> None:
    story = Story.of(*BOTH, EVERYWHERE, {"platform/k/a.yaml": setting("one", "two")}, capacity=ROOMY)
    story.run()
    del story.source["platform/k/a.yaml"]
    story.source |= after
    for _ in range(2):
        before = story.deployment.read_all(story.deployment)
        done = story.run()
        tree = story.deployment.read_all(story.deployment)
        assert (judge(tree), judge_change(before, tree)) == ([], [])
        for name in ("a", "b"):
            assert ("", "ConfigMap", "default", "two") in objects_on(tree)[name]
        assert any(
            p.message == "ConfigMap two is no longer in platform/k/a.yaml, and stays on the clusters"
            for p in done.problems
        )
    assert done.steps == ()
    story.source |= {"platform/k/a.yaml": setting("one", "two")}
    story.source.pop("platform/k/b.yaml", None)
    story.run()
    tree = story.deployment.read_all(story.deployment)
    assert judge(tree) == []
    assert tree["clusters/a/platform/k/a.yaml"].decode() == setting("one", "two")


@pytest.mark.parametrize("name", ["x" * 251 + ".yml", "é" * 120 + ".yaml"])
def test_a_file_gets_a_name_that_every_file_system_takes(name: str) -> None:
    (text,) = rayservice("prod", "api").values()
    story = Story.of(cluster("a"), ANYWHERE, {f"workloads/prod/{name}": text}, capacity=ROOMY)
    story.run()
    assert judge(story.deployment.read_all(story.deployment)) == []
    assert len(story.files()) == 1
