"""Stories of whole passes: files in, plan and commits out."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitplacer import sharing
from gitplacer.hydrate import hydrate
from gitplacer.parsecache import ParseCache
from gitplacer.problems import Rejected
from gitplacer.source.files import InMemory
from gitplacer.source.reading import read_source
from gitplacer.tree import SYMLINK, Changes, Entry, Tree, folded
from tests.stories import ANYWHERE, FLEET, Story, cluster, decisions, outcome, policy, rayjob, rayservice, snapshot

TWO = {**snapshot("a", "n1 16 64Gi 2"), **snapshot("b", "n1 16 64Gi 2")}
ONE = snapshot("a", "n1 16 64Gi 2")
BOTH = (cluster("a"), cluster("b"))


def test_a_service_is_placed_byte_for_byte_with_its_namespace_and_a_record() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"prod/api": "Place a Fits"}
    assert story.files() == ["clusters/a/workloads/prod/api/api.yaml"]
    written = story.deployment.read("clusters/a/workloads/prod/api/api.yaml").decode()
    source = story.source["workloads/prod/api.yaml"]
    assert written.replace(", namespace: prod", "") == source
    assert "clusters/a/platform/namespaces/prod.yaml" in story.deployment
    assert "clusters/b/platform/namespaces/prod.yaml" not in story.deployment
    assert "placements/prod/api.yaml" in story.deployment
    assert [step.message.splitlines()[0] for step in done.steps] == ["Place prod/api"]


@pytest.mark.parametrize("written", ["null", "", '""', "''"])
def test_a_namespace_that_is_empty_is_none_and_the_path_gives_one(written: str) -> None:
    files = rayservice("prod", "api")
    source = files["workloads/prod/api.yaml"]
    assert "{name: api" in source
    files["workloads/prod/api.yaml"] = source.replace("{name: api", f"{{namespace: {written}, name: api", 1)
    story = Story.of(*BOTH, ANYWHERE, files, capacity=TWO)
    assert not story.run().problems
    written_there = story.deployment.read("clusters/a/workloads/prod/api/api.yaml").decode()
    assert yaml.safe_load(written_there)["metadata"]["namespace"] == "prod"


def test_what_a_pass_came_to_is_freed_when_it_is_let_go_of() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    gc.disable()
    try:
        done = story.run()
        gc.collect()  # what is garbage now, while somebody still holds the outcome
        snapshot = weakref.ref(done.snapshot)
        del done
        assert snapshot() is None
    finally:
        gc.enable()


def test_a_pass_of_files_that_are_remembered_asks_for_the_value_of_none_of_them(tmp_path: Path) -> None:
    """They are most of what a fleet has, and facts, names and labels are what is needed of them."""
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), rayjob("jobs", "train", workers=1), capacity=TWO)
    learning = ParseCache(tmp_path)
    story.deployment = hydrate(story.inputs(), memo=learning).tree
    learning.save()
    done = hydrate(story.inputs(), memo=ParseCache(tmp_path), with_candidates=False)
    assert outcome(done) == {"jobs/train": "Keep a Kept", "prod/api": "Keep a Kept"}
    assert not any("value" in vars(item.document.parsed) for item in done.snapshot.source.objects)


def test_planning_again_changes_nothing() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), rayjob("jobs", "train", workers=9), capacity=TWO)
    story.run()
    again = story.run()
    assert again.steps == ()
    assert outcome(again) == {"jobs/train": "Wait  NoClusterFits", "prod/api": "Keep a Kept"}


def test_a_drain_renames_services_and_holds_jobs_by_name() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), rayjob("jobs", "train", workers=1), capacity=TWO)
    assert outcome(story.run()) == {"jobs/train": "Place a Fits", "prod/api": "Place a Fits"}
    before = story.deployment
    story.source |= cluster("a", state="Draining")
    done = story.run()
    assert outcome(done) == {"jobs/train": "Hold a MayHaveStarted", "prod/api": "Relocate b ClusterDraining"}
    assert decisions(done)["jobs/train"].blocked_by == ("RayJob jobs/train",)
    old, new = "clusters/a/workloads/prod/api/api.yaml", "clusters/b/workloads/prod/api/api.yaml"
    assert before.entries[old].oid == story.deployment.entries[new].oid
    move = done.steps[0]
    assert move.changes.removed == {old}
    assert move.message.splitlines()[0] == "Relocate prod/api from a to b"
    assert "Gitplacer-Reason: ClusterDraining" in move.message
    assert story.run().steps == ()


def test_a_job_that_a_later_snapshot_shows_pending_may_move() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayjob("jobs", "train", workers=1), capacity=TWO)
    story.run()
    seen = "applied: EVERYTHING\ngroups:\n- {name: jobs/train, phase: PHASE}\n"
    story.source |= cluster("a", state="Draining")
    story.capacity |= snapshot("a", "n1 16 64Gi 2", at=story.now, more=seen.replace("PHASE", "Running"))
    assert outcome(story.plan()) == {"jobs/train": "Hold a MayHaveStarted"}
    story.capacity |= snapshot("a", "n1 16 64Gi 2", at=story.now, more=seen.replace("PHASE", "Pending"))
    assert outcome(story.run()) == {"jobs/train": "Hold a MayHaveStarted"}
    assert story.run().steps == ()  # the same snapshot again is no second one
    story.capacity |= snapshot("a", "n1 16 64Gi 2", at=story.now, more=seen.replace("PHASE", "Pending"))
    assert outcome(story.run()) == {"jobs/train": "Relocate  ClusterDraining"}  # and comes to b when it is gone


def test_a_job_that_started_after_all_needs_two_new_proofs() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayjob("jobs", "train", workers=1), capacity=TWO)
    story.run()
    story.source |= cluster("a", state="Draining")
    record = "placements/jobs/train.yaml"
    for phase, remembered in (("Pending", True), ("Running", False), ("Pending", True)):
        seen = f"applied: EVERYTHING\ngroups:\n- {{name: jobs/train, phase: {phase}}}\n"
        story.capacity |= snapshot("a", "n1 16 64Gi 2", at=story.now, more=seen)
        assert outcome(story.run()) == {"jobs/train": "Hold a MayHaveStarted"}
        assert (b"unstartedAt" in story.deployment.read(record)) is remembered
    story.source |= cluster("a", state="Active")  # it may stay after all
    story.run()
    assert b"unstartedAt" not in story.deployment.read(record)


def test_with_nowhere_to_go_a_group_stays_and_says_so() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    story.source |= cluster("a", state="Draining")
    done = story.run()
    assert outcome(done) == {"prod/api": "Hold a NowhereToGo"}
    assert done.steps == ()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (cluster("a", state="Lost", labels="{class: prod}"), "ClusterLost"),
        (cluster("a", state="Draining", labels="{class: prod}"), "ClusterDraining"),
        (cluster("a", labels="{class: dev}"), "NotEligible"),
        (cluster("a", taints="[{key: reserved}]"), "NotEligible"),
        (cluster("a", role="Management"), "NotEligible"),
        (policy("p", "select: {}\nclusters: {names: [b]}"), "NotEligible"),
    ],
)
def test_a_group_moves_when_its_cluster_stops_being_allowed(change: dict[str, str], reason: str) -> None:
    prod = policy("p", "select: {}\nclusters: {matchLabels: {class: prod}}")
    clusters = (cluster("a", labels="{class: prod}"), cluster("b", labels="{class: prod}"))
    story = Story.of(*clusters, prod, rayservice("prod", "api"), capacity=TWO)
    story.run()
    story.source |= change
    assert outcome(story.run()) == {"prod/api": f"Relocate b {reason}"}


def test_a_cluster_that_is_gone_loses_its_groups_and_keeps_its_sentinel() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    del story.source["clusters/a.yaml"]
    assert outcome(story.run()) == {"prod/api": "Relocate b ClusterLost"}
    assert "clusters/a/workloads/gitplacer.yaml" in story.deployment
    assert story.run().steps == ()


def test_a_gang_is_refused_whole_when_one_worker_is_short() -> None:
    story = Story.of(cluster("a"), ANYWHERE, rayjob("jobs", "train", workers=3), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"jobs/train": "Wait  NoClusterFits"}
    (candidate,) = decisions(done)["jobs/train"].candidates
    finding = candidate.finding
    assert (finding.code, finding.role, finding.placed, finding.wanted) == ("ExceedsCluster", "worker/gpu", 2, 3)
    assert finding.short.rendered() == {"nvidia.com/gpu": "1"}
    assert sum(t.nodes for t in finding.tally) == finding.nodes == 1


def test_room_that_was_promised_is_not_sold_twice_between_snapshots() -> None:
    one = snapshot("a", "n1 16 64Gi 2")
    story = Story.of(cluster("a"), ANYWHERE, rayjob("jobs", "first", workers=2), capacity=one)
    story.run()
    story.source |= rayjob("jobs", "second", workers=2)
    assert outcome(story.run())["jobs/second"] == "Wait  NoClusterFits"
    del story.source["workloads/jobs/first.yaml"]
    done = story.run()
    assert outcome(done) == {"jobs/first": "Remove  SourceRemoved", "jobs/second": "Place a Fits"}


def test_a_manifest_that_is_removed_is_removed_everywhere_with_its_record() -> None:
    story = Story.of(
        *BOTH, policy("all", "select: {}\nplacement: {copies: All}"), rayservice("prod", "api"), capacity=TWO
    )
    assert outcome(story.run()) == {"prod/api": "Place a,b Fits"}
    del story.source["workloads/prod/api.yaml"]
    assert outcome(story.run()) == {"prod/api": "Remove  SourceRemoved"}
    assert story.files() == []
    assert story.files("placements") == []
    assert story.run().steps == ()


def test_a_group_is_never_removed_because_its_file_cannot_be_read() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    files = story.files()
    story.source["workloads/prod/api.yaml"] = "a: [\n"
    done = story.run()
    assert outcome(done) == {"prod/api": "Hold a UnreadableSource"}
    assert story.files() == files
    assert [p.code for p in done.problems] == ["InvalidYAML"]


@pytest.mark.parametrize(("items", "then"), [("", "Hold a UnreadableSource"), (" []", "Remove  SourceRemoved")])
def test_a_list_that_has_lost_its_items_is_no_empty_one(items: str, then: str) -> None:
    ((path, text),) = rayservice("prod", "api").items()
    item = "- " + text.replace("\n", "\n  ")
    story = Story.of(
        cluster("a"),
        ANYWHERE,
        {path: f"apiVersion: v1\nkind: List\nitems:\n{item}\n"},
        capacity=snapshot("a", "n1 64 256Gi 8"),
    )
    assert outcome(story.run()) == {"prod/api": "Place a Fits"}
    story.source[path] = f"apiVersion: v1\nkind: List\nitems:{items}\n"
    assert outcome(story.run()) == {"prod/api": then}


def test_what_several_groups_need_is_shared_and_goes_with_the_last() -> None:
    config = {"workloads/jobs/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata: {}\n"}

    def job(name: str) -> dict[str, str]:
        pod = "template: {spec: {restartPolicy: Never, containers: [{name: m, image: i, resources: {requests: {cpu: 1}}}], volumes: [{name: c, configMap: {name: code}}]}}"
        return {
            f"workloads/jobs/{name}.yaml": f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{{pod}}}\n"
        }

    story = Story.of(cluster("a"), ANYWHERE, job("one"), job("two"), config, capacity=TWO)
    story.run()
    shared = "clusters/a/workloads/jobs/_shared/config.yaml"
    assert shared in story.deployment
    del story.source["workloads/jobs/one.yaml"]
    story.run()
    assert shared in story.deployment
    assert "clusters/a/workloads/jobs/one/one.yaml" not in story.deployment
    del story.source["workloads/jobs/two.yaml"]
    story.run()
    assert story.files() == []


def _labelled(name: str, labels: str, needs: str) -> dict[str, str]:
    container = f"{{name: m, image: i, resources: {{requests: {{cpu: 1}}}}, envFrom: [{{configMapRef: {{name: {needs}, optional: true}}}}]}}"
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{{labels}}}}}\nspec: {{containers: [{container}]}}\n"
    return {f"workloads/jobs/{name}.yaml": text}


def _rule(name: str) -> dict[str, str]:
    selector = "podSelector: {matchLabels: {tier: a}}"
    text = f"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: {name}}}\nspec: {{{selector}}}\n"
    return {f"workloads/jobs/{name}.yaml": text}


def test_groups_that_share_too_much_are_held_and_keep_what_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "TOGETHER", 8)
    monkeypatch.setattr(sharing, "EACH", 1)
    config = {"workloads/jobs/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: code}\ndata: {}\n"}
    apps = [_labelled(name, "tier: a", "none") for name in ("one", "two", "three")]
    others = [_labelled(name, "tier: b", "code") for name in ("others", "rest")]
    story = Story.of(cluster("a"), ANYWHERE, config, *apps, *others, _rule("rule-1"), _rule("rule-2"), capacity=ONE)
    assert set(outcome(story.run()).values()) == {"Place a Fits"}
    assert story.deployment.read("placements/jobs/two.yaml").count(b"/_shared/") == 2
    assert story.deployment.read("placements/jobs/rest.yaml").count(b"/_shared/") == 1
    files = story.files()
    story.source |= {**_rule("rule-0"), **_rule("rule-3")}
    story.source["workloads/jobs/others.yaml"] += "# edited\n"
    done = story.run()
    assert [f"{p.location}: {p.code}: {p.message}" for p in done.problems] == [
        "workloads/jobs/rule-2.yaml:3:18: SharedTooWidely: NetworkPolicy jobs/rule-2 is shared by 3 groups, as is 1 other object: all that the "
        "groups of namespace jobs share would be listed 14 times, and 8 times is the most"
    ]
    assert outcome(done) == {
        "jobs/one": "Hold a HasProblems", "jobs/two": "Hold a HasProblems", "jobs/three": "Hold a HasProblems",
        "jobs/others": "Update a Updated", "jobs/rest": "Keep a Kept",
    }  # fmt: skip
    assert story.files() == files
    del story.source["workloads/jobs/rule-0.yaml"], story.source["workloads/jobs/rule-3.yaml"]
    assert set(outcome(story.run()).values()) == {"Keep a Kept"}
    assert story.files() == files


def test_ordered_takes_the_first_with_room_and_immediate_does_not_ask() -> None:
    ordered = policy("p", "select: {}\nplacement: {type: Ordered, order: [{names: [b]}, {names: [a]}]}")
    story = Story.of(
        *BOTH,
        ordered,
        rayservice("x", "one", workers=2),
        rayservice("x", "two", workers=2),
        rayservice("x", "z", workers=2),
        capacity=TWO,
    )
    assert outcome(story.run()) == {"x/one": "Place b Fits", "x/two": "Place a Fits", "x/z": "Wait  NoClusterFits"}
    story.source |= policy("p", "select: {}\nclusters: {names: [b]}\nplacement: {admission: Immediate}")
    assert outcome(story.run())["x/z"] == "Place b PodsMayWait"


def test_an_autoscaled_cluster_is_second_to_room_now() -> None:
    autoscaler = '{type: Luna, podLabels: {elotl-luna: "true"}, nodeTypes: [{name: g4dn.2xlarge, allocatable: {cpu: 8, memory: 30Gi, nvidia.com/gpu: 1}, max: 4, pricePerHour: 0.75}]}'
    story = Story.of(
        cluster("z"),
        cluster("b", autoscaler=autoscaler),
        ANYWHERE,
        rayservice("x", "one", workers=2),
        rayservice("x", "two", workers=2),
        capacity={**snapshot("z", "n1 16 64Gi 2"), **snapshot("b")},
    )
    done = story.run()
    assert outcome(done) == {"x/one": "Place z Fits", "x/two": "Place b FitsByScaleUp"}
    assert decisions(done)["x/two"].cost_per_hour == pytest.approx(1.5)
    labelled = story.deployment.read("clusters/b/workloads/x/two/two.yaml").decode()
    assert labelled.count("elotl-luna") == 2
    assert "elotl-luna" not in story.deployment.read("clusters/z/workloads/x/one/one.yaml").decode()


def test_a_broken_policy_holds_what_it_governs_and_nothing_else() -> None:
    mine = policy("mine", "select: {namespaces: [mine]}")
    story = Story.of(
        *BOTH, mine, policy("theirs", "select: {namespaces: [theirs]}"), rayservice("mine", "x"), capacity=TWO
    )
    story.run()
    story.source["policies/mine.yaml"] += "  clsters: {}\n"
    story.source |= rayservice("theirs", "other") | rayservice("mine", "z")
    done = story.run()
    assert outcome(done) == {
        "mine/x": "Hold a BrokenPolicy",
        "mine/z": "Hold  BrokenPolicy",
        "theirs/other": "Place a Fits",
    }
    assert [(str(p.location), p.message, p.hint) for p in done.problems] == [
        ("policies/mine.yaml:6:3", 'unknown field "clsters"', 'did you mean "clusters"?')
    ]


def test_a_broken_cluster_stops_the_run_and_all_problems_are_told() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.source["clusters/a.yaml"] += "  rolle: Workload\n"
    story.source["workloads/prod/api.yaml"] = "{{ template }}\n"
    with pytest.raises(Rejected) as rejected:
        story.run()
    assert {p.location.file for p in rejected.value.problems} == {"clusters/a.yaml", "workloads/prod/api.yaml"}


def test_a_foreign_change_holds_its_group_by_name() -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    path = "clusters/a/workloads/prod/api/api.yaml"
    story.foreign = {path: story.deployment.entries[path].oid}
    story.source |= rayservice("prod", "api", workers=2) | rayservice("prod", "other")
    done = story.run()
    assert outcome(done) == {"prod/api": "Hold a ForeignChange", "prod/other": "Place a Fits"}
    assert f"Gitplacer-Foreign: {story.foreign[path]} {path}" in done.steps[0].message


@settings(max_examples=12)
@given(
    data=st.none() | st.binary(max_size=40) | st.sampled_from([b"", b"kind: [", b"kind: Placement\n"]),
    record=st.booleans(),
)
def test_whatever_somebody_writes_over_a_file_of_ours_stays_and_holds_its_group_alone(
    data: bytes | None, record: bool
) -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    path = "placements/prod/api.yaml" if record else "clusters/a/workloads/prod/api/api.yaml"
    files = {each: story.deployment.read(each) for each in story.deployment if each != path or data is None}
    if data is None:
        del files[path]
    else:
        files[path] = data
    story.deployment = Tree.of(files)
    story.foreign = {path: "0" * 40}
    story.source |= rayservice("prod", "api", workers=2) | rayservice("team", "other")
    done = story.run()
    decided = outcome(done)
    assert decided["team/other"].startswith("Place")
    assert decided["prod/api"].startswith("Hold")
    assert (story.deployment.read(path) if path in story.deployment else None) == data


@pytest.mark.parametrize(
    ("written", "forged"),
    [
        ("file: prod/api/api.yaml", "file: ../../../../x.yaml"),
        ("file: prod/api/api.yaml", "file: prod/../../../b/workloads/team/other/other.yaml"),
        ("file: prod/api/api.yaml", "file: prod/.git/hooks/update.yaml"),
        ("file: prod/api/api.yaml", "file: prod/GIT~1/config.yaml"),
        ("file: prod/api/api.yaml", "file: prod//api.yaml"),
        ("file: prod/api/api.yaml", "file: /etc/api.yaml"),
        ("file: prod/api/api.yaml", 'file: "prod\\\\..\\\\api.yaml"'),
        ("name: a, role", "name: ../../etc, role"),
        ("name: a, role", 'name: "", role'),
        ("name: a, role", "name: .git, role"),
        ("name: a, role", 'name: "a\\e[2J", role'),
        ("name: a, role", f"name: {'a' * 2000}, role"),
    ],
)
def test_a_record_names_no_place_but_those_of_a_group(written: str, forged: str) -> None:
    """Somebody wrote it and said that it was a pass of ours, so that nothing tells of a foreign change."""
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    path = "placements/prod/api.yaml"
    before = story.deployment.read(path).decode()
    assert before.count(written) == 1
    files = {each: story.deployment.read(each) for each in story.deployment}
    story.deployment = Tree.of({**files, path: before.replace(written, forged).encode()})
    story.source |= rayservice("prod", "api", workers=2) | rayservice("team", "other")
    done = story.run()
    assert outcome(done) == {"prod/api": "Hold a BrokenRecord", "team/other": "Place b Fits"}
    assert [problem.location.file for problem in done.problems] == [path]
    kept = {each for each in files if "/prod/api/" in each}
    assert kept == {each for each in story.deployment if "/prod/api/" in each}


@pytest.mark.parametrize("other", ["\u00c9.yaml", "e\u0301.yaml", "E\u0301.yaml"])
def test_no_two_files_of_a_group_are_one_on_some_file_system(other: str) -> None:
    """Their folders in the source are others, so neither is a twin there; the group has one folder for both."""
    story = Story.of(*BOTH, policy("anywhere", "select: {}\ngroupBy: {label: app}"), capacity=TWO)
    (one,) = rayservice("prod", "one", labels="{app: shop}").values()
    (two,) = rayservice("prod", "two", labels="{app: shop}").values()
    story.source |= {"workloads/prod/a/\u00e9.yaml": one, f"workloads/prod/b/{other}": two}
    assert outcome(story.run()) == {"prod/shop": "Place a Fits"}
    plain, told_apart = sorted(story.files("clusters"), key=len)
    assert plain == "clusters/a/workloads/prod/shop/\u00e9.yaml"
    assert told_apart.startswith(f"clusters/a/workloads/prod/shop/{other.removesuffix('yaml')}")
    assert folded(plain.removesuffix(".yaml")) == folded(told_apart.rsplit(".", 2)[0])
    assert story.run().steps == ()


def test_a_renamed_group_keeps_its_place() -> None:
    story = Story.of(
        *BOTH,
        ANYWHERE,
        rayservice("prod", "api", labels="{app: shop}"),
        capacity={**TWO, **snapshot("a", "n1 16 64Gi 9")},
    )
    assert outcome(story.run()) == {"prod/api": "Place b Fits"}
    story.source |= policy("anywhere", "select: {}\ngroupBy: {label: app}")
    assert outcome(story.run()) == {"prod/shop": "Update b Updated"}
    assert story.files() == ["clusters/b/workloads/prod/shop/api.yaml"]
    assert story.files("placements") == ["placements/prod/shop.yaml"]
    assert story.run().steps == ()


def override(name: str, body: str) -> dict[str, str]:
    """An OverridePolicy file."""
    text = f"apiVersion: gitplacer.dev/v1alpha1\nkind: OverridePolicy\nmetadata: {{name: {name}}}\nspec:\n{body}"
    return {f"policies/{name}.yaml": text}


MORE_WORKERS = override(
    "more",
    "  select: {kinds: [RayService]}\n  clusters: {names: [a]}\n  overrides:\n"
    "  - {path: /spec/rayClusterConfig/workerGroupSpecs/0/replicas, value: 3}\n",
)


@pytest.mark.parametrize(
    ("text", "code"), [("hello\n", "NotAMapping"), ("a: [\n", "InvalidYAML"), ("- a\n", "NotAMapping")]
)
def test_what_cannot_be_read_beside_policies_is_told_also_where_it_does_not_say_that_it_is_ours(
    text: str, code: str
) -> None:
    story = Story.of(*BOTH, ANYWHERE, policy("mine", "select: {names: [api]}"), rayservice("prod", "api"), capacity=TWO)
    story.source |= {
        "mkdocs.yml": text,
        "docs/broken.yaml": text,
        "policies/mine.yaml": text,
        "policies/x/chart.yaml": text,
    }
    assert {(p.location.file, p.code) for p in story.run().problems} == {("policies/mine.yaml", code)}


@pytest.mark.parametrize("folder", ["workloads", "capacity", "platform", "given"])
def test_a_link_where_the_fleet_says_that_a_folder_is_is_told(folder: str) -> None:
    """What it leads to is not read, and lies under no path that the Fleet names."""
    story = Story.of(*BOTH, ANYWHERE, capacity=TWO)
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", "spec: {source: {include: ['workloads/**', 'given/to/**']}}")
    tree = Tree.of({path: text.encode() for path, text in story.source.items()})
    link = Tree({**tree.entries, folder: Entry(SYMLINK, "1" * 40)}, tree.blobs)
    told = [(p.location.file, p.code) for p in read_source(link, InMemory()).problems]
    assert told == [(folder, "NotAFile")]


@pytest.mark.parametrize(("path", "named"), [("capacty", "capacty/"), ("given/room", "given/room/")])
def test_a_snapshot_outside_of_the_capacity_directory_names_it(path: str, named: str) -> None:
    story = Story.of(*BOTH, ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", f"spec: {{capacity: {{path: {path}}}}}")
    story.source |= {f"capacity/{name}": text for name, text in TWO.items()}
    told = {p.message: p.hint for p in story.run().problems}
    assert told == {
        f"a CapacitySnapshot belongs in the capacity directory, {named}": "move it there, or correct spec.capacity.path of the Fleet"
    }


def test_what_must_fit_on_a_cluster_is_the_gang_after_its_overrides() -> None:
    story = Story.of(*BOTH, ANYWHERE, MORE_WORKERS, rayservice("prod", "api"), capacity=TWO)
    done = story.run()
    assert outcome(done) == {"prod/api": "Place b Fits"}
    (on_a,) = (c for c in decisions(done)["prod/api"].candidates if c.cluster == "a")
    assert (on_a.finding.code, on_a.finding.placed, on_a.finding.wanted) == ("ExceedsCluster", 2, 3)


def test_an_override_edits_its_field_and_no_other_byte() -> None:
    story = Story.of(*BOTH, ANYWHERE, MORE_WORKERS, rayservice("prod", "api"), capacity=snapshot("a", "n1 16 64Gi 4"))
    assert outcome(story.run()) == {"prod/api": "Place a Fits"}
    written = story.deployment.read("clusters/a/workloads/prod/api/api.yaml").decode()
    source = story.source["workloads/prod/api.yaml"]
    assert written.replace(", namespace: prod", "") == source.replace("replicas: 1", "replicas: 3", 1)


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ("{path: /spec/rayClusterConfig/workerGroupSpecs/7/replicas, value: 1}", "CannotEdit"),
        ("{path: /spec/rayClusterConfig/workerGroupSpecs/0/minReplicas, value: 99}", "InvalidReplicas"),
    ],
)
def test_an_override_that_cannot_be_made_or_makes_nonsense_holds_its_group(edit: str, code: str) -> None:
    bad = override("bad", f"  select: {{kinds: [RayService]}}\n  overrides:\n  - {edit}\n")
    story = Story.of(cluster("a"), ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.run()
    files = story.files()
    story.source |= bad
    done = story.run()
    assert outcome(done) == {"prod/api": "Hold a HasProblems"}
    assert code in {p.code for p in done.problems}
    assert story.files() == files


def test_a_new_cluster_gets_its_platform_though_another_is_gone() -> None:
    operator = {
        "platform/op/op.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: op, namespace: op}\n"
        "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: "
        "[{name: op, image: op, resources: {requests: {cpu: 100m, memory: 100Mi}}}]}}}\n"
    }
    everywhere = policy("p", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}')
    story = Story.of(cluster("a"), cluster("gone"), everywhere, operator)
    assert outcome(story.run()) == {"op/op": "Place a,gone Platform"}
    del story.source["clusters/gone.yaml"]
    assert outcome(story.run()) == {"op/op": "Keep a,gone RemovalNeedsApproval"}
    story.source |= cluster("new")
    assert outcome(story.run()) == {"op/op": "Place a,gone,new Platform"}
    assert "clusters/new/platform/op/op.yaml" in story.deployment
    assert "clusters/gone/platform/op/op.yaml" in story.deployment
    assert story.run().steps == ()


def test_a_copy_for_each_cluster_follows_labels() -> None:
    labelled = policy("p", "select: {}\nclusters: {matchLabels: {type: rayservice}}\nplacement: {copies: All}")
    story = Story.of(
        cluster("a", labels="{type: rayservice}"), cluster("b"), labelled, rayservice("x", "llm"), capacity=TWO
    )
    assert outcome(story.run()) == {"x/llm": "Place a Fits"}
    story.source |= cluster("b", labels="{type: rayservice}")
    assert outcome(story.run()) == {"x/llm": "Place a,b Fits"}
    one, other = (f"clusters/{name}/workloads/x/llm/llm.yaml" for name in "ab")
    assert story.deployment.entries[one].oid == story.deployment.entries[other].oid
    story.source |= cluster("a")
    assert outcome(story.run()) == {"x/llm": "Hold a,b NotReadyElsewhere"}
    ready = "applied: EVERYTHING\ngroups:\n- {name: x/llm, phase: Running, ready: true}\n"
    story.capacity |= snapshot("b", "n1 16 64Gi 2", at=story.now, more=ready)
    assert outcome(story.run()) == {"x/llm": "Keep a,b Moving"}
    story.look_again()
    assert outcome(story.run()) == {"x/llm": "Relocate b NotEligible"}
    story.source |= cluster("b", labels="{type: rayservice}", state="Draining")
    assert outcome(story.run()) == {"x/llm": "Hold b NowhereToGo"}


def test_a_platform_file_that_the_source_dropped_stays_until_somebody_removes_it_by_hand() -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: op}\ndata: {}\n"
    files = {f"platform/op/{name}.yaml": config.replace("NAME", name) for name in ("one", "two")}
    everywhere = policy("p", 'select: {paths: ["platform/**"]}\nplacement: {copies: All}')
    story = Story.of(cluster("a"), everywhere, files)
    story.run()
    del story.source["platform/op/two.yaml"]
    done = story.run()
    path = "clusters/a/platform/op/two.yaml"
    assert path in story.deployment
    assert [p.code for p in done.problems] == ["RemovalNeedsApproval"]
    story.foreign = {path: story.deployment.entries[path].oid}
    story.deployment = story.deployment.apply(Changes(removed=frozenset({path})))
    assert outcome(story.run()) == {"op/op": "Keep a Kept"}
    story.foreign = {}
    assert story.run().problems == ()
    assert "two.yaml" not in story.deployment.read("placements/op/op.yaml").decode()
