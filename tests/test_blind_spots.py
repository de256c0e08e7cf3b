"""Links and submodules in the place of folders of ours: what was there yesterday is not gone, nobody looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gitplacer.git.worktree import read_work_tree
from gitplacer.hydrate import hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.problems import Rejected, Severity
from gitplacer.source.blindspots import blind_spots
from gitplacer.tree import SPECIAL, SUBMODULE, SYMLINK, Entry, MemoryBlobs, Tree, blob_id
from tests.stories import ANYWHERE, FLEET, Story, cluster, outcome, policy, rayservice, snapshot

TWO = {**snapshot("a", "n1 16 64Gi 2"), **snapshot("b", "n1 16 64Gi 2")}


def with_links(tree: Tree, links: dict[str, str], modes: dict[str, str] | None = None) -> Tree:
    """A tree in which folders are links to what is given for them, or have some other mode; what was below them is gone."""
    taken = (*links, *(modes or {}))
    left = {path: entry for path, entry in tree.entries.items() if not path.startswith(tuple(f"{p}/" for p in taken))}
    left |= {path: Entry(SYMLINK, blob_id(to.encode()), len(to)) for path, to in links.items()}
    left |= {path: Entry(mode, "1" * 40) for path, mode in (modes or {}).items()}
    blobs = MemoryBlobs({entry.oid: tree.read(path) for path, entry in tree.entries.items()})
    blobs |= {blob_id(to.encode()): to.encode() for to in links.values()}
    return Tree(dict(sorted(left.items())), blobs)


@pytest.mark.parametrize(
    ("links", "modes", "place"),
    [
        ({"clusters": "../shared/clusters"}, {}, "clusters"),
        ({}, {"clusters": SUBMODULE}, "clusters"),
        ({"clusters/eu": "/srv/clusters/eu"}, {}, "clusters/eu"),
        ({"clusters/eu": ".hidden/eu"}, {}, "clusters/eu"),
        ({"where": "../shared.yaml"}, {}, "where"),
    ],
)
def test_a_cluster_behind_a_link_is_not_gone(links: dict[str, str], modes: dict[str, str], place: str) -> None:
    """All that is on it would move elsewhere, or be held as lost."""
    [text], b = cluster("a").values(), cluster("b")
    away = {"clusters/eu/a.yaml": text}
    story = Story.of(away, b, ANYWHERE, capacity=TWO)
    story.source |= rayservice("prod", "api")
    assert outcome(story.run()) == {"prod/api": "Place a Fits"}
    inputs = story.inputs()
    hidden = with_links(inputs.source, links, modes)
    if "clusters/eu/a.yaml" in hidden:
        hidden = Tree({p: e for p, e in hidden.entries.items() if p != "clusters/eu/a.yaml"}, hidden.blobs)
    with pytest.raises(Rejected) as stopped:
        hydrate(replace(inputs, source=hidden), memo=story.memory)
    told = {(p.location.file, p.code, p.severity) for p in stopped.value.problems if p.location.file == place}
    assert told == {(place, "NotAFile", Severity.WARNING), (place, "ClusterMissing", Severity.ERROR)}


def test_a_group_whose_policy_may_be_behind_a_link_stays() -> None:
    """Another policy would have it, and move it."""
    story = Story.of(cluster("a"), cluster("b"), capacity=TWO)
    story.source |= policy("own", "select: {kinds: [RayService]}\nprecedence: 9\nclusters: {names: [b]}")
    story.source["general/policy.yaml"] = next(iter(policy("wide", "select: {}\nclusters: {names: [a]}").values()))
    story.source |= rayservice("prod", "api")
    assert outcome(story.run()) == {"prod/api": "Place b Fits"}
    inputs = story.inputs()
    done = hydrate(replace(inputs, source=with_links(inputs.source, {"policies": "../policies"})), memo=story.memory)
    assert outcome(done) == {"prod/api": "Hold b BrokenPolicy"}


def test_what_is_behind_a_link_that_the_fleet_excludes_is_not_the_fleets() -> None:
    story = Story.of(cluster("a"), cluster("b"), ANYWHERE, rayservice("prod", "api"), capacity=TWO)
    story.source["fleet.yaml"] = FLEET.replace("spec: {}", "spec: {source: {exclude: ['vendor/**', tools]}}")
    inputs = story.inputs()
    apart = with_links(inputs.source, {"tools": "../tools"}, {"vendor": SUBMODULE})
    assert not hydrate(replace(inputs, source=apart), memo=story.memory).problems


@pytest.mark.parametrize(
    ("path", "target", "is_blind"),
    [
        ("docs", "../docs", True),
        ("docs", "more/docs", True),
        ("docs", "policies", False),
        ("docs", ".", False),
        ("docs", "./policies/", False),
        ("a/docs", "../policies/p.yaml", False),
        ("a/docs", "..", False),
        ("a/docs", "../..", True),
        ("docs", ".github", True),
        ("NOTES.md", "../../NOTES.md", False),
        ("LICENSE", "../LICENSE.txt", False),
        ("notes.yaml", "../NOTES.md", True),
        (".docs", "../docs", False),
        ("workloads/x", "../../x", False),
        ("platform/x", "../../x", False),
        ("capacity", "../capacity", False),
        ("x", "y" * 5000, True),
    ],
)
def test_a_link_to_what_is_read_or_to_what_nobody_would_read_hides_nothing(
    path: str, target: str, is_blind: bool
) -> None:
    tree = Tree.of({"policies/p.yaml": b"a: b\n", ".github/x.yaml": b"a: b\n"})
    spec = FleetSpec.model_validate({"platform": {"paths": ["platform/**"]}})
    assert blind_spots(with_links(tree, {path: target}), spec) == ([path] if is_blind else [])


def test_a_pipe_is_no_folder() -> None:
    tree = with_links(Tree.of({}), {}, {"pipe": SPECIAL, "pipe.yaml": SPECIAL, "sub": SUBMODULE})
    assert blind_spots(tree, FleetSpec()) == ["pipe.yaml", "sub"]


def test_a_link_in_a_work_tree_is_read_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "a.yaml").write_text("kind: Cluster\n")
    (tmp_path / "fleet" / "clusters").symlink_to("../clusters")
    (tmp_path / "fleet" / "same").symlink_to("clusters")
    tree = read_work_tree(tmp_path / "fleet")
    assert (list(tree), blind_spots(tree, FleetSpec())) == (["clusters", "same"], ["clusters"])
