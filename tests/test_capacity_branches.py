"""Reading branches of snapshots: who may speak for which cluster, and what the history of a branch says of its tip."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gitplacer.capacity import reading as capacity_reading
from gitplacer.capacity.reading import Branch, branches_at, opened_branches, read_branches
from gitplacer.git import believing, program, reading
from gitplacer.git.address import Address
from gitplacer.git.mirror import Unreachable
from gitplacer.git.reading import Repository
from gitplacer.git.signing import SigningKey
from gitplacer.kinds.fleet import CapacitySettings
from gitplacer.passes.opening import capacity_branches
from gitplacer.source.files import InMemory
from gitplacer.tree import Tree
from tests.capacitybranches import nodes, sent, ssh_key
from tests.gitservers import git, https_server
from tests.stories import START

NOW = START + timedelta(hours=2)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git("init", "-q", "--bare", "-b", "main", "fleet.git", cwd=tmp_path)
    return tmp_path / "fleet.git"


@contextmanager
def read(repo: Path, now: Any = NOW, **settings: Any) -> Iterator[Tree]:
    given = CapacitySettings.model_validate(settings, by_alias=True)
    address = Address.parse(str(repo), base_dir=Path("/"))
    pattern = capacity_branches(given.branch)
    if pattern is not None:
        repository, branches = opened_branches(address, branches_at(address, pattern), repo.parent / "cache")
    else:
        repository = Repository.open(address, repo.parent / "cache")
        branches = [Branch(given.branch or "HEAD", repository.resolve(given.branch))]
    with repository:
        yield read_branches(repository, branches, given, InMemory(), now)


def texts(tree: Tree) -> dict[str, str]:
    return {path: data.decode() for path, data in tree.read_all(tree).items()}


@pytest.mark.parametrize("folder", ["", "capacity/"])
def test_each_cluster_is_read_from_its_own_branch(repo: Path, folder: str) -> None:
    for name in ("gke", "eks"):
        files = {folder + path: text for path, text in nodes(name, 3, 0).items()}
        sent(repo, f"capacity/{name}", files, minutes=0)
    sent(repo, "other/aks", nodes("aks", 3, 0), minutes=0)
    with read(repo, branch="capacity/{cluster}") as tree:
        assert texts(tree) == nodes("gke", 3, 0) | nodes("eks", 3, 0)


def test_a_branch_of_one_cluster_speaks_of_no_other(repo: Path) -> None:
    gke, eks = nodes("gke", 3, 0), nodes("eks", 99, 0)
    sent(
        repo, "capacity/gke", {**gke, **eks, "README.md": "x", "earlier/eks.yaml": "x", "deep/gke.yaml": "x"}, minutes=0
    )
    sent(repo, "capacity/eks", nodes("aks", 3, 0), minutes=0)
    with read(repo, branch="capacity/{cluster}") as tree:
        found = texts(tree)
    said = found.pop("doubted/eks.txt")
    assert found == gke
    assert said.splitlines()[0] == "SnapshotName: branch capacity/eks holds aks.yaml, and no snapshot of eks"


def test_a_clone_reads_the_branches_that_it_tracks_and_its_own_first(repo: Path, tmp_path: Path) -> None:
    sent(repo, "capacity/gke", nodes("gke", 3, 0), minutes=0)
    sent(repo, "capacity/eks", nodes("eks", 3, 0), minutes=0)
    git("clone", "-q", "--no-checkout", "fleet.git", "clone", cwd=tmp_path)
    sent(tmp_path / "clone", "capacity/eks", nodes("eks", 5, 1), minutes=1)
    with read(tmp_path / "clone", branch="capacity/{cluster}") as tree:
        assert texts(tree) == nodes("gke", 3, 0) | nodes("eks", 5, 1)


SHARED, OWN = {"branch": "capacity"}, {"branch": "capacity/{cluster}"}


def named(where: dict[str, str], cluster: str) -> str:
    return where["branch"].replace("{cluster}", cluster)


@pytest.mark.parametrize("where", [SHARED, OWN])
def test_what_a_cluster_jumped_to_is_held_against_what_was_believed(repo: Path, where: dict[str, str]) -> None:
    sent(repo, named(where, "gke"), nodes("gke", 20, 0), minutes=0)
    sent(repo, named(where, "gke"), nodes("gke", 21, 5), minutes=5)
    sent(repo, named(where, "eks"), nodes("eks", 7, 6), minutes=6)
    sent(repo, named(where, "gke"), nodes("gke", 99, 7), minutes=7)
    with read(repo, **where) as tree:
        before = {f"earlier/{path}": text for path, text in nodes("gke", 21, 5).items()}
        assert texts(tree) == nodes("gke", 99, 7) | nodes("eks", 7, 6) | before
    sent(repo, named(where, "gke"), nodes("gke", 98, 17), minutes=17)
    with read(repo, **where) as tree:
        assert texts(tree) == nodes("gke", 98, 17) | nodes("eks", 7, 6)


def test_a_jump_after_a_long_silence_is_held_against_what_was_before_it(repo: Path) -> None:
    sent(repo, "capacity/gke", nodes("gke", 2, -9000), minutes=-9000)
    sent(repo, "capacity/gke", nodes("gke", 99, 0), minutes=0)
    with read(repo, **OWN) as tree:
        assert sorted(tree) == ["earlier/gke.yaml", "gke.yaml"]


def test_what_is_from_the_future_or_broken_has_what_was_before_it_at_its_side(repo: Path) -> None:
    sent(repo, "capacity/gke", nodes("gke", 20, 0), minutes=0)
    sent(repo, "capacity/gke", nodes("gke", 20, 5), minutes=5)
    before = {f"earlier/{path}": text for path, text in nodes("gke", 20, 5).items()}
    for bad in (
        nodes("gke", 20, 999),
        {"gke.yaml": "kind: Nonsense\n"},
        nodes("eks", 1, 6) | {"gke.yaml": nodes("eks", 1, 6)["eks.yaml"]},
    ):
        tip = sent(repo, "capacity/gke", bad, minutes=6)
        with read(repo, **OWN) as tree:
            assert texts(tree) == {"gke.yaml": bad["gke.yaml"]} | before
        git("update-ref", "refs/heads/capacity/gke", f"{tip}~1", cwd=repo)


@pytest.mark.parametrize(
    "date", ["253402300800 +0000", "18446744073709551615 +0000", "9223372036854775807 +0000", "-99999999999 +0000", ""]
)
def test_a_commit_of_no_time_that_could_be_costs_nobody_his_snapshot(repo: Path, date: str) -> None:
    sent(repo, "capacity/eks", nodes("eks", 3, 0), minutes=0)
    tip = sent(repo, "capacity/gke", nodes("gke", 3, 0), minutes=0)
    written = re.sub(r"(?m)^(committer .*>) .*", rf"\1 {date}", git("cat-file", "commit", tip, cwd=repo))
    odd = git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", cwd=repo, input=f"{written}\n".encode())
    git("update-ref", "refs/heads/capacity/gke", odd, cwd=repo)
    with read(repo, **OWN) as tree:
        assert texts(tree) == nodes("eks", 3, 0) | nodes("gke", 3, 0)


def test_a_tree_that_git_refuses_costs_only_the_cluster_whose_branch_has_it(repo: Path) -> None:
    sent(repo, "capacity/eks", nodes("eks", 3, 0), minutes=0)
    tip = sent(repo, "capacity/gke", nodes("gke", 3, 0), minutes=0)
    blob = bytes.fromhex(git("rev-parse", f"{tip}:gke.yaml", cwd=repo))
    forged = b"100644 .git\0" + blob + b"100644 gke.yaml\0" + blob
    bad = git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", cwd=repo, input=forged)
    git("update-ref", "refs/heads/capacity/gke", git("commit-tree", bad, "-m", "x", cwd=repo), cwd=repo)
    with read(repo, **OWN) as tree:
        assert nodes("eks", 3, 0).items() <= texts(tree).items()
        assert "gke.yaml" not in texts(tree)
        assert "SnapshotName: branch capacity/gke, commit: " in doubts(tree)["gke"]
        assert "has a path that git itself refuses: '.git'" in doubts(tree)["gke"]


def test_too_many_files_cost_only_the_cluster_whose_branch_has_them(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent(repo, "capacity/eks", nodes("eks", 3, 0), minutes=0)
    sent(repo, "capacity/gke", nodes("gke", 3, 0) | {f"{n}.txt": "" for n in range(9)}, minutes=0)
    monkeypatch.setattr(reading, "MAX_FILES", 9)
    with read(repo, **OWN) as tree:
        assert nodes("eks", 3, 0).items() <= texts(tree).items()
        assert "gke.yaml" not in texts(tree)
        assert "has more than 9 files" in doubts(tree)["gke"]


def test_only_so_much_of_what_a_branch_has_had_is_read(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    for count, minute in ((20, 0), (21, 1), (22, 2), (99, 3)):
        sent(repo, "capacity/gke", nodes("gke", count, minute), minutes=minute)
        sizes.append(len(nodes("gke", count, minute)["gke.yaml"]))
    for most, earlier in ((sum(sizes), 22), (sum(sizes[-2:]), 22), (sum(sizes[-2:]) - 1, None), (1, None)):
        monkeypatch.setattr(capacity_reading, "_READ_OF_ONE", most)
        with read(repo, **OWN) as tree:
            before = {f"earlier/{path}": text for path, text in nodes("gke", 22, 2).items()} if earlier else {}
            assert texts(tree) == nodes("gke", 99, 3) | before


@pytest.mark.parametrize("text", ["", "no commit", "0" * 40], ids=["empty", "text", "zeros"])
def test_a_branch_whose_ref_is_damaged_costs_only_its_cluster_and_is_told(repo: Path, text: str) -> None:
    """Git passes by it with a warning: it looked as if the cluster had never reported."""
    for name in ("gke", "eks"):
        sent(repo, f"capacity/{name}", nodes(name, 3, 0), minutes=0)
    (repo / "refs/heads/capacity/eks").write_text(text)
    with read(repo, branch="capacity/{cluster}") as tree:
        found = texts(tree)
    said = found.pop("doubted/eks.txt").splitlines()
    assert found == nodes("gke", 3, 0)
    ref = "refs/heads/capacity/eks"
    assert said[0] == f"SnapshotName: branch capacity/eks: {repo}: its ref {ref} is damaged, and names no commit"
    assert "git update-ref" in said[1]


def test_what_else_a_branch_has_had_is_not_looked_at(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = {f"other{n}.yaml": "x" for n in range(300)}
    sent(repo, "capacity/gke", nodes("gke", 20, 0), minutes=0)
    sent(repo, "capacity/gke", others, minutes=1)
    sent(repo, "capacity/gke", nodes("gke", 99, 2), minutes=2, removed=tuple(others))
    monkeypatch.setattr(program, "MAX_OUTPUT", 10_000)
    with read(repo, **OWN) as tree:
        assert sorted(tree) == ["earlier/gke.yaml", "gke.yaml"]


def test_a_branch_without_the_folder_of_the_source_costs_only_its_cluster(tmp_path: Path) -> None:
    git("init", "-q", "-b", "main", "clone", cwd=tmp_path)
    sent(
        tmp_path / "clone",
        "capacity/eks",
        {f"fleet/{path}": text for path, text in nodes("eks", 3, 0).items()},
        minutes=0,
    )
    sent(tmp_path / "clone", "capacity/gke", nodes("gke", 3, 0), minutes=0)
    (tmp_path / "clone" / "fleet").mkdir()
    with read(tmp_path / "clone" / "fleet", **OWN) as tree:
        assert sorted(tree) == ["doubted/gke.txt", "eks.yaml"]
        assert "there is no folder fleet in " in doubts(tree)["gke"]


def missing(place: Path) -> None:
    place.unlink()


def damaged(place: Path) -> None:
    place.chmod(0o644)
    place.write_bytes(b"of another kind")


@pytest.mark.parametrize("lost", ["gke", "gke^{tree}", "gke:gke.yaml", "gke~1", "gke~1:gke.yaml"])
@pytest.mark.parametrize("how", [damaged, missing])
def test_an_object_that_is_not_to_be_had_costs_only_the_cluster_whose_branch_has_it(
    repo: Path, lost: str, how: Callable[[Path], None]
) -> None:
    for minute in (0, 5):
        for name in ("aks", "eks", "gke"):
            sent(repo, f"capacity/{name}", nodes(name, 3, minute), minutes=minute)
    oid = git("rev-parse", f"capacity/{lost}", cwd=repo)
    how(repo / "objects" / oid[:2] / oid[2:])
    with read(repo, **OWN) as tree:
        assert {**nodes("aks", 3, 5), **nodes("eks", 3, 5)}.items() <= texts(tree).items()
        assert "gke.yaml" not in texts(tree)
        assert doubts(tree)["gke"].startswith("SnapshotName: branch capacity/gke, commit")


@pytest.mark.server
@pytest.mark.parametrize("lost", ["gke", "gke^{tree}", "gke:gke.yaml", "gke~1", "gke~1:gke.yaml", ""])
def test_a_branch_that_a_server_does_not_bring_costs_only_its_cluster(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    names = ("aks", "eks", "gke", "oke", "zke")
    for minute in (0, 5):
        for name in names:
            sent(repo, f"capacity/{name}", nodes(name, 3, minute), minutes=minute)
    if lost:
        oid = git("rev-parse", f"capacity/{lost}", cwd=repo)
        missing(repo / "objects" / oid[:2] / oid[2:])
    else:  # one that only who fetches refuses
        tree = git("rev-parse", "capacity/gke^{tree}", cwd=repo)
        forged = f"tree {tree}\n\nof nobody\n".encode()
        bad = git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", cwd=repo, input=forged)
        git("update-ref", "refs/heads/capacity/gke", bad, cwd=repo)
    with https_server(tmp_path, tmp_path) as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        address = Address.parse(f"{url}/fleet.git", base_dir=tmp_path)
        repository, branches = opened_branches(address, branches_at(address, OWN["branch"]), tmp_path / "cache")
        with repository:
            settings = CapacitySettings.model_validate(OWN, by_alias=True)
            tree = read_branches(repository, branches, settings, InMemory(), NOW)
            assert sorted(tree) == ["aks.yaml", "doubted/gke.txt", "eks.yaml", "oke.yaml", "zke.yaml"]
        with pytest.raises(Unreachable):
            gone = Address.parse(f"{url}/gone.git", base_dir=tmp_path)
            opened_branches(gone, branches, tmp_path / "cache")  # which is no branch's fault


@pytest.mark.parametrize(
    ("branch", "name"),
    [
        ("capacity/gke", "a\nrun this #.yaml"),  # would be the line that says what to do
        ("capacity/\udcff", "gke.yaml"),  # as a name comes that is not UTF-8
    ],
)
def test_names_that_are_no_text_are_told_in_one_line(repo: Path, branch: str, name: str) -> None:
    sent(repo, "capacity/eks", nodes("eks", 3, 0), minutes=0)
    blob = git("rev-parse", "capacity/eks:eks.yaml", cwd=repo)
    tree_id = git("mktree", "-z", cwd=repo, input=f"100644 blob {blob}\t{name}\0".encode())
    git("update-ref", f"refs/heads/{branch}", git("commit-tree", tree_id, "-m", "x", cwd=repo), cwd=repo)
    with read(repo, **OWN) as tree:
        assert nodes("eks", 3, 0).items() <= texts(tree).items()
        (said,) = (text for path, text in texts(tree).items() if path.startswith("doubted/"))
        assert said.count("\n") == 2
        assert said.splitlines()[1].startswith("it is read from ")


def test_files_that_somebody_sends_as_ours_are_not_taken_for_ours(repo: Path) -> None:
    forged = {"capacity/earlier/gke.yaml": "x", "capacity/doubted/eks.txt": "SnapshotJump: x", "capacity/gke.yaml": "y"}
    sent(repo, "capacity", forged, minutes=0)
    with read(repo, **SHARED) as tree:
        assert texts(tree) == {"gke.yaml": "y"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[SigningKey, str]]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: ssh_key(folder, name) for name in ("gke", "eks", "mallory")}


def doubts(tree: Tree) -> dict[str, str]:
    """What is said under `doubted/`, without the commit."""
    found = {
        path.removeprefix("doubted/").removesuffix(".txt"): text
        for path, text in texts(tree).items()
        if "doubted/" in path
    }
    return {name: re.sub(r" [0-9a-f]{12}\b", "", text.splitlines()[0]) for name, text in found.items()}


@pytest.mark.parametrize("where", [SHARED, OWN])
def test_only_who_may_speak_for_a_cluster_is_believed(
    repo: Path, where: dict[str, str], keys: dict[str, tuple[SigningKey, str]]
) -> None:
    writers = {name: [keys[name][1]] for name in ("gke", "eks")}
    of_gke, of_eks, of_mallory = (keys[name][0] for name in ("gke", "eks", "mallory"))
    sent(repo, named(where, "gke"), nodes("gke", 3, 0), minutes=0, key=of_gke)
    sent(repo, named(where, "eks"), nodes("eks", 4, 1), minutes=1, key=of_eks)
    with read(repo, **where, writers=writers) as tree:
        assert texts(tree) == nodes("gke", 3, 0) | nodes("eks", 4, 1)
    about = f"of branch {named(where, 'gke')} is signed by"
    for key, how in (
        (None, "nobody, so not for"),
        (of_eks, "no key that may speak for"),
        (of_mallory, "no key that may speak for"),
    ):
        tip = sent(repo, named(where, "gke"), nodes("gke", 5, 2), minutes=2, key=key)
        with read(repo, **where, writers=writers) as tree:
            assert doubts(tree) == {"gke": f"SnapshotNotSigned: commit {about} {how} gke"}
            assert texts(tree).items() >= (nodes("gke", 3, 0) | nodes("eks", 4, 1)).items()
        git("update-ref", f"refs/heads/{named(where, 'gke')}", f"{tip}~1", cwd=repo)


def test_what_a_stranger_removes_is_still_there(repo: Path, keys: dict[str, tuple[SigningKey, str]]) -> None:
    writers = {"*": [keys["gke"][1]]}
    sent(repo, "capacity", nodes("gke", 3, 0) | nodes("eks", 3, 0), minutes=0, key=keys["gke"][0])
    tip = sent(repo, "capacity", {}, removed=("gke.yaml",), minutes=1, key=keys["mallory"][0])
    with read(repo, **SHARED, writers=writers) as tree:
        assert list(doubts(tree)) == ["gke"]
        assert texts(tree).items() >= nodes("gke", 3, 0).items()
    git("update-ref", "refs/heads/capacity", f"{tip}~1", cwd=repo)
    sent(repo, "capacity", {}, removed=("gke.yaml",), minutes=1, key=keys["gke"][0])
    with read(repo, **SHARED, writers=writers) as tree:
        assert texts(tree) == nodes("eks", 3, 0)


def test_where_some_writers_are_listed_nobody_speaks_for_the_others(
    repo: Path, keys: dict[str, tuple[SigningKey, str]]
) -> None:
    sent(repo, "capacity", nodes("gke", 3, 0) | nodes("eks", 3, 0), minutes=0, key=keys["gke"][0])
    with read(repo, **SHARED, writers={"gke": [keys["gke"][1]]}) as tree:
        found = texts(tree)
    assert sorted(found) == ["doubted/eks.txt", "gke.yaml"]
    assert found["doubted/eks.txt"].splitlines()[1] == "the Fleet lists no key for eks under spec.capacity.writers"


def test_a_stranger_cannot_make_a_jump_believed(repo: Path, keys: dict[str, tuple[SigningKey, str]]) -> None:
    """What is not signed is no history either."""
    ours, theirs = keys["gke"][0], keys["mallory"][0]
    sent(repo, "capacity/gke", nodes("gke", 20, 0), minutes=0, key=ours)
    sent(repo, "capacity/gke", nodes("gke", 99, 1), minutes=1, key=theirs)
    sent(repo, "capacity/gke", nodes("gke", 99, 20), minutes=20, key=ours)
    with read(repo, **OWN, writers={"gke": [keys["gke"][1]]}) as tree:
        assert sorted(tree) == ["earlier/gke.yaml", "gke.yaml"]


def test_what_is_known_of_a_commit_is_not_asked_again(
    repo: Path, keys: dict[str, tuple[SigningKey, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute in range(3):
        sent(repo, "capacity", nodes("gke", 3, minute), minutes=minute, key=keys["gke"][0])
    settings = CapacitySettings.model_validate({**SHARED, "writers": {"gke": [keys["gke"][1]]}}, by_alias=True)
    memo, found = InMemory(), []
    for _ in range(2):
        with Repository.open(Address.parse(str(repo), base_dir=Path("/")), repo.parent / "cache") as repository:
            branch = Branch("capacity", repository.resolve("capacity"))
            found.append(texts(read_branches(repository, [branch], settings, memo, NOW)))
        monkeypatch.setattr(believing, "verified", None)
        monkeypatch.setattr("gitplacer.reported.single_snapshot", None)
    assert found == [nodes("gke", 3, 2)] * 2
