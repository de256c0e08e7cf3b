"""Texts that are looked up or made before anybody asks for them: the same, and all of them, and none that nobody asks for."""

from __future__ import annotations

from gitplacer.hydrate import Hydration, hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.render import FileNames
from gitplacer.source.files import InMemory, Makers, NoMemo
from gitplacer.source.manifests import WORKLOADS
from tests.stories import ANYWHERE, Story, cluster, rayjob, rayservice, snapshot


class Scribe(InMemory):
    """Makes all texts that are foreseen, and tells these from those that were asked for, and from those that came of that."""

    def __init__(self) -> None:
        super().__init__()
        self.foreseen: set[str] = set()
        self.asked: set[str] = set()
        self.late: set[str] = set()

    def make_texts(self, number: int, makers: Makers) -> None:
        ready = makers()
        assert len(ready) == number
        for digest, make in ready.items():
            self.foreseen.add(digest)
            if (text := make()) is not None:
                super().remember_text(digest, text)

    def recall_text(self, digest: str) -> bytes | None:
        self.asked.add(digest)
        return super().recall_text(digest)

    def remember_text(self, digest: str, text: bytes) -> None:
        self.late.add(digest)
        super().remember_text(digest, text)


def fleet() -> Story:
    """Two clusters, one of which changes what it gets in a way of its own; namespaces come of the paths."""
    overrides = "[{path: /metadata/labels, value: {here: 'yes'}}]"
    room = {**snapshot("a", "n1 64 256Gi 3"), **snapshot("b", "n1 64 256Gi 8")}
    apps = (rayservice("red", "api"), rayservice("red", "shop"), rayjob("blue", "train"), rayjob("blue", "tune"))
    return Story.of(cluster("a"), cluster("b", overrides=overrides), ANYWHERE, *apps, capacity=room)


def hydrated(story: Story) -> tuple[Hydration, Scribe]:
    scribe = Scribe()
    found = hydrate(story.inputs(), memo=scribe)
    alone = hydrate(story.inputs(), memo=NoMemo())
    assert found.tree == alone.tree and found.problems == alone.problems and found.steps == alone.steps
    return found, scribe


def test_what_is_placed_is_foreseen_and_nothing_else() -> None:
    found, scribe = hydrated(fleet())
    assert {decision.after[0] for decision in found.view.plan.decisions} == {"a", "b"}
    assert scribe.foreseen == scribe.asked and not scribe.late


def test_what_is_there_and_what_is_edited_is_foreseen() -> None:
    story = fleet()
    story.run()
    story.source |= rayservice("red", "api", cpu="3")
    _, scribe = hydrated(story)
    assert scribe.foreseen == scribe.asked and scribe.foreseen and not scribe.late


def test_what_cannot_be_made_is_told_when_it_is_asked_for() -> None:
    story = fleet()
    story.source["workloads/red/api.yaml"] += "metadata2: &x {a: 1}\n"
    story.source["workloads/red/api.yaml"] = story.source["workloads/red/api.yaml"].replace(
        "metadata: {name: api, labels: {}}", "<<: &m {metadata: {name: api}}"
    )
    found, scribe = hydrated(story)
    assert "CannotEdit" in {problem.code for problem in found.problems}
    assert scribe.foreseen >= scribe.asked


def test_what_is_only_foreseen_takes_no_name() -> None:
    names = FileNames(FleetSpec())
    trial = names.copy()
    assert trial.free(WORKLOADS, "a/b/c.yaml", "one.yaml") == "a/b/c.yaml"
    assert trial.free(WORKLOADS, "a/b/c.yaml", "other.yaml") != "a/b/c.yaml"
    assert names.free(WORKLOADS, "a/b/c.yaml", "other.yaml") == "a/b/c.yaml"
