"""Who is named as co-author of a commit in the deployment repo, and who is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.commits import co_authors, whole_message
from gitplacer.git.objects import Object
from gitplacer.git.reading import parse_commit
from tests.fleetrepos import Fleet, made
from tests.gitservers import git
from tests.stories import cluster, policy, rayservice, snapshot


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return made(tmp_path)


def named(fleet: Fleet, rev: str = "main") -> list[str]:
    return fleet.git("log", "-1", "--format=%(trailers:key=Co-authored-by,valueonly,only)", rev).splitlines()


def committed(fleet: Fleet, files: dict[str, str], author: str, message: str = "edit") -> None:
    """A commit of somebody to the source."""
    fleet.commit(files, message)
    git("commit", "-q", "--amend", "--no-edit", f"--author={author}", cwd=fleet.source)


GRACE, LIN = "Grace Höpper <grace@example.com>", "Lin <lin@example.com>"


def test_the_first_pass_on_a_commit_names_its_author_and_whom_it_names(fleet: Fleet) -> None:
    fleet.reconcile(5)
    assert named(fleet) == ["Ada <ada@example.com>"]
    committed(
        fleet,
        cluster("a", state="Draining") | rayservice("prod", "new"),
        GRACE,
        f"Drain a\n\nco-authored-by: {LIN}\nCo-authored-by: GRACE <Grace@example.com>\nCo-authored-by: nobody",
    )
    fleet.reconcile(6)
    assert fleet.git("log", "--format=%s", "-2", "main").splitlines() == [
        "Place prod/new",
        "Relocate prod/api from a to b",
    ]
    assert named(fleet) == named(fleet, "main~1") == [GRACE, LIN]


def test_what_only_the_capacity_or_a_better_place_brings_about_is_nobodys(fleet: Fleet) -> None:
    ordered = "select: {}\nplacement: {type: Ordered, order: [{names: [b]}, {names: [a]}]}\nrelocation: {when: {PreferredAvailable: Automatic}, cooldown: 1s}"
    fleet.reconcile(5)
    assert "clusters/a/workloads/prod/api/api.yaml" in fleet.files()
    committed(fleet, policy("anywhere", ordered) | rayservice("prod", "new"), GRACE)
    fleet.reconcile(30)
    assert fleet.git("log", "--format=%s", "-2", "main").splitlines() == [
        "Place prod/new",
        "Relocate prod/api from a to b",
    ]
    assert named(fleet) == [GRACE]
    assert named(fleet, "main~1") == []


def test_a_later_pass_on_the_same_commit_names_nobody(fleet: Fleet) -> None:
    """A group waits, and is placed when a snapshot that is not in the source tells of more room."""
    fleet.reconcile(5)
    committed(fleet, rayservice("prod", "big", workers=6), GRACE)
    fleet.reconcile(6)
    assert (fleet.git("log", "-1", "--format=%s", "main"), named(fleet)) == ("Let wait prod/big", [GRACE])
    files = {f"capacity/{path}": text for name in ("a", "b") for path, text in snapshot(name, "n1 32 128Gi 9").items()}
    elsewhere = fleet.source.parent / "snapshots"
    for path, text in files.items():
        (elsewhere / path).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / path).write_text(text)
    fleet.how = {"capacity": str(elsewhere)}
    fleet.reconcile(7)
    assert (fleet.git("log", "-1", "--format=%s", "main"), named(fleet)) == ("Place prod/big", [])


def test_a_proposal_names_nobody_and_stands(fleet: Fleet) -> None:
    fleet.commit(policy("anywhere", "select: {}\nrelocation: {when: {ClusterDraining: Manual}}"))
    fleet.reconcile(5)
    committed(fleet, cluster("a", state="Draining") | rayservice("prod", "new"), GRACE)
    fleet.reconcile(6)
    assert named(fleet) == [GRACE]
    proposal = fleet.git("rev-parse", "gitplacer/proposed/prod/api")
    assert named(fleet, proposal) == []
    fleet.reconcile(7)
    assert fleet.git("rev-parse", "gitplacer/proposed/prod/api") == proposal


@pytest.mark.parametrize(
    ("author", "lines"),
    [
        ("Ada <ada@example.com>", ["Co-authored-by: Ada <ada@example.com>"]),
        ("gitplacer[bot] <1+g[bot]@users.noreply.github.com>", ["Co-authored-by: gitplacer[bot] <1+g[bot]@users.noreply.github.com>"]),
        ("Ada <ada@example.com> Gitplacer-To: b <x@y>", []),
        ("Ada\nGitplacer-To: b <ada@example.com>", []),
        ("Ada\u2028 <ada@example.com>", []),
        ("Ada\u202e <ada@example.com>", []),
        ("Ada\x1b[1m <ada@example.com>", []),
        ("Ada <ada>", []),
        (" <ada@example.com>", []),
        ("", []),
        ("A" * 200 + " <ada@example.com>", []),
        ("A" + " " * 10_000_000 + "A", []),  # nobody waits for it
    ],
)  # fmt: skip
def test_only_a_name_and_an_address_is_somebody(author: str, lines: list[str]) -> None:
    assert co_authors(author, "") == lines


def test_a_crowd_is_cut() -> None:
    body = "\n".join(f"Co-authored-by: P{number} <p{number}@example.com>" for number in range(50))
    assert len(co_authors("Ada <ada@example.com>", body)) == 10


@given(author=st.text(max_size=40), body=st.text(max_size=80), tail=st.text(max_size=20))
def test_no_author_writes_another_trailer(author: str, body: str, tail: str) -> None:
    lines = co_authors(f"{author} <a@b>{tail}", f"x\n\nCo-authored-by: {body}")
    message = whole_message("Place a", "why", ["Gitplacer-Step: 1/1", *lines])
    commit = parse_commit(Object("0" * 40, "commit", b"tree 0\n\n" + message.encode("utf-8", "surrogatepass")))
    assert [key for key, _ in commit.trailers] == ["Gitplacer-Step"] + ["Co-authored-by"] * len(lines)
