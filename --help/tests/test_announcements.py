"""What other tools are told: which clusters each group is on, as objects that Kubernetes would take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.announcements import SLICE, announcements
from gitplacer.kinds.fleet import Cluster, Fleet
from gitplacer.kinds.record import PlacementRecord
from gitplacer.tree import Changes
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

API = "gitplacer.dev/v1alpha1"
FLEET = f"apiVersion: {API}\nkind: Fleet\nmetadata: {{name: fleet}}\nspec: {{decisions: {{into: hub}}}}\n"
HUB = cluster("hub", role="Management")
FOLDER = "clusters/hub/platform/decisions/"
NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"


def fleet(**decisions: str) -> Fleet:
    spec = {"decisions": {"into": "hub", **decisions}}
    return Fleet.model_validate({"apiVersion": API, "kind": "Fleet", "metadata": {"name": "fleet"}, "spec": spec})


def record(name: str, namespace: str, clusters: list[dict[str, str]]) -> PlacementRecord:
    entries = [{"since": "2026-01-02T03:04:05Z", "epoch": 1, **entry} for entry in clusters]
    return PlacementRecord.model_validate(
        {
            "apiVersion": API, "kind": "Placement", "metadata": {"name": name, "namespace": namespace}, "policy": "p",
            "clusters": entries, "reason": "Fits",
        }
    )  # fmt: skip


def read(story: Story) -> dict[str, list[str]]:
    """The clusters that are told of each group, by file."""
    files = story.deployment.read_all(path for path in story.deployment if path.startswith(FOLDER))
    told = {path.removeprefix(FOLDER): yaml.safe_load(data) for path, data in files.items()}
    return {path: [d["clusterProfileRef"]["name"] for d in value["decisions"]] for path, value in told.items()}


def two_clusters() -> Story:
    story = Story.of(
        HUB, cluster("a"), cluster("b"), ANYWHERE, rayservice("x", "app"),
        capacity=snapshot("a", "n1 8 32Gi 1") | snapshot("b", "n1 8 32Gi 1"),
    )  # fmt: skip
    story.source["fleet.yaml"] = FLEET
    return story


def test_each_group_is_told_and_its_move_is_one_commit() -> None:
    story = two_clusters()
    story.run()
    assert read(story) == {"x/app.yaml": ["a"]}
    story.source |= cluster("a", state="Draining")
    done = story.run()
    assert outcome(done)["x/app"].startswith("Relocate b")
    assert read(story) == {"x/app.yaml": ["b"]}
    (move,) = [step for step in done.steps if "Relocate" in step.message]
    assert f"{FOLDER}x/app.yaml" in move.changes.written
    assert not story.plan().steps


def test_a_group_that_waits_is_on_no_cluster_and_one_that_goes_is_told_no_more() -> None:
    story = two_clusters()
    story.source |= rayservice("x", "second") | rayservice("x", "third")
    story.run()
    assert sorted(read(story).items()) == [("x/app.yaml", ["a"]), ("x/second.yaml", ["b"]), ("x/third.yaml", [])]
    story.source = {path: text for path, text in story.source.items() if "third" not in path and "second" not in path}
    story.run()
    assert read(story) == {"x/app.yaml": ["a"]}


def test_who_is_not_asked_any_more_says_nothing_and_a_misspelt_name_takes_nothing_back() -> None:
    story = two_clusters()
    story.run()
    story.source["fleet.yaml"] = FLEET.replace("into: hub", "into: hbu")
    done = story.run()
    assert [(p.code, p.hint) for p in done.problems] == [("DecisionsTarget", 'did you mean "hub"?')]
    assert read(story) == {"x/app.yaml": ["a"]}
    story.source["fleet.yaml"] = FLEET.replace("spec: {decisions: {into: hub}}", "spec: {}")
    story.run()
    assert read(story) == {}


def test_what_somebody_else_wrote_stays() -> None:
    story = two_clusters()
    story.run()
    theirs = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: x}\n"
    story.deployment = story.deployment.apply(Changes({f"{FOLDER}x/app.yaml": theirs.encode()}, frozenset()))
    assert [p.code for p in story.run().problems] == ["DecisionNotOurs"]
    assert story.deployment.read(f"{FOLDER}x/app.yaml").decode() == theirs


def test_platform_objects_are_not_told_of() -> None:
    story = two_clusters()
    story.source |= policy("everywhere", 'select: {paths: ["platform/**"]}\nprecedence: 1\nplacement: {copies: All}')
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: tools}\n"
    story.source["platform/tools/c.yaml"] = text
    assert outcome(story.run())["tools/tools"].startswith("Place a,b")
    assert read(story) == {"x/app.yaml": ["a"]}


@pytest.mark.parametrize(
    ("state", "told"), [("Placed", True), ("Adding", True), ("Waking", False), ("Removing", False)]
)
def test_a_cluster_is_told_while_it_has_the_files(state: str, told: bool) -> None:
    (data,) = announcements(fleet().spec, {}, record("app", "x", [{"name": "a", "state": state}])).values()
    assert bool(yaml.safe_load(data)["decisions"]) is told


def test_a_cluster_may_have_another_name_as_a_profile() -> None:
    known = Cluster.model_validate(
        {
            "apiVersion": API, "kind": "Cluster", "spec": {},
            "metadata": {"name": "a", "annotations": {"gitplacer.dev/cluster-profile": "prod-a"}},
        }
    )  # fmt: skip
    spec = fleet(profiles="fleet-system").spec
    (data,) = announcements(spec, {"a": known}, record("app", "x", [{"name": "a"}, {"name": "gone"}])).values()
    references = [decision["clusterProfileRef"] for decision in yaml.safe_load(data)["decisions"]]
    assert [(r["namespace"], r["name"]) for r in references] == [("fleet-system", "prod-a"), ("fleet-system", "gone")]


@given(
    name=st.from_regex(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,90}", fullmatch=True),
    namespace=st.from_regex(r"[a-z0-9][-a-z0-9]{0,40}[a-z0-9]", fullmatch=True),
    count=st.sampled_from((0, 1, SLICE, SLICE + 1, 2 * SLICE + 1)),
)
def test_objects_are_such_as_kubernetes_takes_and_all_clusters_are_in_them(
    name: str, namespace: str, count: int
) -> None:
    names = [f"c{number:03}" for number in range(count)]
    files = announcements(fleet().spec, {}, record(name, namespace, [{"name": each} for each in names]))
    objects = [yaml.safe_load(data) for data in files.values()]
    assert all(
        re.fullmatch(NAME, value["metadata"]["name"]) and len(value["metadata"]["name"]) <= 253 for value in objects
    )
    labels = [label for value in objects for label in value["metadata"]["labels"].values()]
    assert all(
        re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", label) and len(label) <= 63 for label in labels
    )
    assert len({value["metadata"]["labels"]["multicluster.x-k8s.io/decision-key"] for value in objects}) == 1
    assert [int(value["metadata"]["labels"]["multicluster.x-k8s.io/decision-index"]) for value in objects] == [
        *range(len(files))
    ]
    told = [decision["clusterProfileRef"]["name"] for value in objects for decision in value["decisions"]]
    assert told == names
    assert all(len(value["decisions"]) <= SLICE for value in objects)


@given(
    names=st.lists(
        st.from_regex(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,70}", fullmatch=True), unique=True, min_size=2, max_size=6
    )
)
def test_two_groups_have_no_file_in_common(names: list[str]) -> None:
    files = [path.casefold() for name in names for path in announcements(fleet().spec, {}, record(name, "x", []))]
    assert len(set(files)) == len(names)


def test_the_page_shows_what_is_written() -> None:
    page = (Path(__file__).parent.parent / "docs/decisions.md").read_text("utf-8")
    shown, written = (block.partition("```")[0] for block in page.split("```yaml\n")[1:3])
    spec = Fleet.model_validate(yaml.safe_load(shown)).spec
    placed = record("train", "rayjob1", [{"name": "static-cluster"}]).model_copy(update={"policy": "training"})
    assert announcements(spec, {}, placed) == {"decisions/rayjob1/train.yaml": written.encode()}
