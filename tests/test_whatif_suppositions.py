"""A supposition changes the inputs as a commit would: a line here, a file there, and every other byte as it was."""

from __future__ import annotations

import difflib
from datetime import timedelta

import pytest

from gitplacer.hydrate import Inputs, hydrate
from gitplacer.model.decision import Action
from gitplacer.tree import Changes
from gitplacer.whatif import (
    TABLE,
    AddCluster,
    AddFiles,
    CordonCluster,
    DrainCluster,
    LoseCluster,
    RaiseReplicas,
    RemoveFiles,
    SetPrice,
    Supposition,
    Together,
    Unsupposable,
)
from tests.stories import ANYWHERE, Story, cluster, decisions, outcome, rayjob, rayservice, snapshot

_CLOUD = """
    type: Luna
    nodeTypes:
    - {name: gpu.large, allocatable: {cpu: "8", memory: 32Gi, nvidia.com/gpu: "1"}, max: 4, pricePerHour: 0.75}   # dear"""
TWO = {**snapshot("a", "n1 16 64Gi 4"), **snapshot("b", "n1 16 64Gi 4")}


def fleet(**spec: str) -> Story:
    story = Story.of(
        cluster("a", labels="{tier: x}"), cluster("b", autoscaler=_CLOUD), ANYWHERE,
        rayservice("web", "shop"), rayjob("jobs", "train"), capacity=TWO,
    )  # fmt: skip
    story.run()
    return story


def changed(story: Story, supposition: Supposition) -> list[str]:
    """The lines of the source that a supposition takes away and brings."""
    inputs = story.inputs()
    after = supposition.applied(inputs, hydrate(inputs).snapshot)
    lines = []
    for path in sorted({*inputs.source, *after.source}):
        old, new = (t.read(path).decode().splitlines() if path in t else [] for t in (inputs.source, after.source))
        found = difflib.unified_diff(old, new, lineterm="", n=0)
        lines += [f"{path}: {line}" for line in found if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return lines


def supposed(story: Story, supposition: Supposition) -> Inputs:
    inputs = story.inputs()
    return supposition.applied(inputs, hydrate(inputs).snapshot)


@pytest.mark.parametrize(
    ("supposition", "lines"),
    [
        (LoseCluster("a"), ["clusters/a.yaml: -  {}", "clusters/a.yaml: +  state: Lost"]),
        (DrainCluster("b"), ["clusters/b.yaml: +  state: Draining"]),
        (CordonCluster("b"), ["clusters/b.yaml: +  state: Cordoned"]),
        (
            SetPrice("b", "gpu.large", 0.5),
            [
                "clusters/b.yaml: -" + _CLOUD.splitlines()[-1],
                "clusters/b.yaml: +" + _CLOUD.splitlines()[-1].replace("0.75", "0.5"),
            ],
        ),
        (
            RaiseReplicas(group="web/shop", worker="gpu", to=3),
            ["workloads/web/shop.yaml: -      replicas: 1", "workloads/web/shop.yaml: +      replicas: 3"],
        ),
        (
            RaiseReplicas(group="jobs/train", times=1.5),
            [
                "workloads/jobs/train.yaml: -      replicas: 2",
                "workloads/jobs/train.yaml: -      maxReplicas: 2",
                "workloads/jobs/train.yaml: +      replicas: 3",
                "workloads/jobs/train.yaml: +      maxReplicas: 3",
            ],
        ),
        (AddFiles({"notes.txt": b"hello\n"}), ["notes.txt: +hello"]),
        (
            Together((RaiseReplicas(group="web/shop", to=2), LoseCluster("b"))),
            [
                "clusters/b.yaml: +  state: Lost",
                "workloads/web/shop.yaml: -      replicas: 1",
                "workloads/web/shop.yaml: +      replicas: 2",
            ],
        ),
        (Together((DrainCluster("b"), LoseCluster("b"))), ["clusters/b.yaml: +  state: Lost"]),
    ],
    ids=lambda item: getattr(item, "title", ""),
)
def test_a_supposition_changes_what_a_commit_would_and_no_more(supposition: Supposition, lines: list[str]) -> None:
    found = changed(fleet(), supposition)
    assert sorted(found) == sorted(lines)


def test_a_state_that_a_cluster_has_already_changes_nothing() -> None:
    story = fleet()
    story.source |= cluster("a", state="Lost")
    inputs = story.inputs()
    assert LoseCluster("a").applied(inputs, hydrate(inputs).snapshot) is inputs


def test_what_was_on_a_lost_cluster_goes_where_there_is_room() -> None:
    story = fleet()
    assert decisions(story.plan())["web/shop"].after == ("a",)
    done = hydrate(supposed(story, LoseCluster("a")))
    assert decisions(done)["web/shop"].action is Action.RELOCATE
    assert decisions(done)["web/shop"].after == ("b",)


def test_a_cluster_that_is_added_takes_what_waited() -> None:
    story = fleet()
    story.source |= rayjob("jobs", "huge", workers=12)
    assert decisions(story.plan())["jobs/huge"].action is Action.WAIT
    [made], [seen] = (
        [text.encode() for text in files.values()] for files in (cluster("c"), snapshot("c", "n1 64 256Gi 12"))
    )
    done = hydrate(supposed(story, AddCluster("c", made, seen)))
    assert decisions(done)["jobs/huge"].after == ("c",)


def test_later_suppositions_may_speak_of_what_earlier_ones_brought() -> None:
    story = fleet()
    [made], [seen] = (
        [text.encode() for text in files.values()] for files in (cluster("c"), snapshot("c", "n1 64 256Gi 12"))
    )
    inputs = supposed(story, Together((AddCluster("c", made, seen), CordonCluster("c"))))
    assert b"state: Cordoned" in inputs.source.read("clusters/c.yaml")


def test_files_may_be_supposed_away() -> None:
    story = fleet()
    done = hydrate(supposed(story, RemoveFiles(("workloads/web/shop.yaml",))))
    assert outcome(done)["web/shop"] == "Remove  SourceRemoved"


def test_a_price_of_a_type_that_only_the_snapshot_knows_is_written_into_the_cluster() -> None:
    story = fleet()
    story.source |= cluster("b", autoscaler="{type: Luna}")
    story.capacity |= snapshot("b", "n1 16 64Gi 4", more="""\
        nodeGroups: [{name: pool, nodeType: a2.big, max: 3, allocatable: {cpu: "8", memory: 8Gi}}]
        """)  # fmt: skip
    after = supposed(story, SetPrice("b", "pool", 2.5)).source.read("clusters/b.yaml").decode()
    assert "{type: Luna, nodeTypes: [{name: pool, pricePerHour: 2.5}]}" in after


def test_a_clone_that_is_lost_gets_a_file_like_its_models() -> None:
    story = fleet()
    since = f"{story.now - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    state = (
        "apiVersion: gitplacer.dev/v1alpha1\nkind: ClusterState\nmetadata: {name: b-2}\nstate: Active\n"
        f'since: "{since}"\ncloneOf: b\n'
    )
    story.deployment = story.deployment.apply(Changes({"fleet/b-2.yaml": state.encode()}))
    inputs = story.inputs()
    after = LoseCluster("b-2").applied(inputs, hydrate(inputs).snapshot)
    text = after.source.read("clusters/b-2.yaml").decode()
    assert "name: b-2" in text
    assert "state: Lost" in text
    assert "pricePerHour: 0.75" in text
    assert hydrate(after).snapshot.source.own.clusters["b-2"].spec.state == "Lost"
    assert hydrate(after).snapshot.source.own.clusters["b"].spec.state == "Active"


@pytest.mark.parametrize(
    ("supposition", "message", "hint"),
    [
        (LoseCluster("aa"), 'there is no cluster "aa"', 'did you mean "a"?'),
        (RaiseReplicas(group="web/shoop", to=1), 'there is no group "web/shoop"', 'did you mean "web/shop"?'),
        (
            RaiseReplicas(group="web/shop", worker="gpus", to=1),
            'web/shop has no worker group "gpus"',
            'did you mean "gpu"?',
        ),
        (
            SetPrice("b", "gpu.larg", 1),
            'cluster b has no node type "gpu.larg"',
            'did you mean "gpu.large"?',
        ),
        (SetPrice("a", "x", 1), "cluster a has no autoscaler, so none of its nodes has a price", ""),
        (RemoveFiles(("fleet.yml",)), "there is no file fleet.yml", 'did you mean "fleet.yaml"?'),
        (
            AddCluster("a", b"", b""),
            'there is a cluster "a" already',
            "give the new one another name",
        ),
    ],
)
def test_what_cannot_be_supposed_is_refused_with_what_is_near(
    supposition: Supposition, message: str, hint: str
) -> None:
    with pytest.raises(Unsupposable) as refused:
        supposed(fleet(), supposition)
    assert (str(refused.value), refused.value.hint) == (message, hint)


def test_every_supposition_has_a_word_and_a_title() -> None:
    assert sorted(TABLE) == ["add", "addCluster", "cordon", "drain", "lose", "price", "remove", "replicas"]
    assert LoseCluster("a\x1b[2J").title == "losing cluster a\\x1b[2J"
