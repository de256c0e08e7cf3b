"""Which Fleet counts where there are several, and that nobody who writes workloads can take its place."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gitplacer.problems import Rejected
from gitplacer.source.files import NoMemo
from gitplacer.source.fleetspec import readable_fleet
from gitplacer.source.reading import read_source
from gitplacer.tree import Tree
from tests.stories import FLEET


def fleet(name: str, spec: str = "{}") -> str:
    return FLEET.replace("name: fleet", f"name: {name}").replace("spec: {}", f"spec: {spec}")


OURS = fleet("ours", "{source: {include: ['workloads/**']}}")
CLAIMS_ALL = fleet("theirs", "{source: {include: ['fleet/**', '*.yaml', 'settings/**']}}")


def counts(files: Mapping[str, str]) -> tuple[str, list[str]]:
    """The name of the Fleet that counts, or why there is none; and the codes of all problems. Both ways of looking have to agree."""
    tree = Tree.of({path: text.encode() for path, text in files.items()})
    spec = readable_fleet(tree, NoMemo())
    try:
        source = read_source(tree, NoMemo())
    except Rejected as rejected:
        return "none", sorted({problem.code for problem in rejected.problems})
    assert spec == source.own.fleet.spec
    return source.own.fleet.metadata.name, sorted({problem.code for problem in source.problems})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"fleet.yaml": OURS}, ("ours", [])),
        ({"fleet.yaml": OURS, "workloads/fleet.yaml": CLAIMS_ALL}, ("ours", ["OwnKindInWorkloads"])),
        ({"main.yaml": OURS, "workloads/fleet.yaml": CLAIMS_ALL}, ("ours", ["OwnKindInWorkloads"])),
        ({"fleet.yaml": OURS, "more.yaml": fleet("more")}, ("none", ["NotOneFleet"])),
        ({"fleet/main/fleet.yaml": OURS}, ("ours", ["FleetNotOnTop"])),
        (
            {"fleet/main/fleet.yaml": OURS, "workloads/f.yaml": fleet("theirs")},
            ("ours", ["FleetNotOnTop", "OwnKindInWorkloads"]),
        ),
        (
            {"settings/all.yaml": OURS, "workloads/a/fleet.yaml": fleet("theirs")},
            ("ours", ["FleetNotOnTop", "OwnKindInWorkloads"]),
        ),
        (
            {"fleet/main/fleet.yaml": OURS, "workloads/f.yaml": fleet("theirs", "{sauce: 1}")},
            ("ours", ["FleetNotOnTop", "OwnKindInWorkloads"]),
        ),
        ({"fleet/main/fleet.yaml": OURS, "workloads/f.yaml": CLAIMS_ALL}, ("none", ["NotOneFleet"])),
        ({"fleet/main/fleet.yaml": OURS, "policies/f.yaml": fleet("more")}, ("none", ["NotOneFleet"])),
    ],
)  # fmt: skip
def test_a_fleet_among_the_workloads_of_another_never_counts(
    files: Mapping[str, str], expected: tuple[str, list[str]]
) -> None:
    assert counts(files) == expected


@pytest.mark.parametrize("other", ["ours", "more"])
def test_of_two_fleets_one_is_to_go_and_not_to_be_renamed(other: str) -> None:
    """As in a directory that holds two clones, of which both fleets may have the name that `init` gave them."""
    tree = Tree.of({"a/fleet.yaml": fleet("ours").encode(), "b/fleet.yaml": fleet(other).encode()})
    with pytest.raises(Rejected) as rejected:
        read_source(tree, NoMemo())
    [problem] = [problem for problem in rejected.value.errors if problem.code in ("DuplicateName", "NotOneFleet")]
    assert problem.hint == "keep one here; where each is a fleet of its own, give the directory of one of them"


@pytest.mark.parametrize("broken", [f"{OURS}]", f"# {'x' * 5_000_000}\n{OURS}"], ids=["torn", "too large"])
def test_a_fleet_at_the_top_that_cannot_be_read_gives_its_place_to_nobody(broken: str) -> None:
    name, codes = counts({"fleet.yaml": broken, "workloads/fleet.yaml": CLAIMS_ALL})
    assert name == "none" and codes
    assert (
        readable_fleet(Tree.of({"fleet.yaml": broken.encode(), "workloads/fleet.yaml": CLAIMS_ALL.encode()}), NoMemo())
        is None
    )


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", ["LFSPointer", "NotOneFleet"]),
        ("\0GITCRYPT\0\1", ["InvalidCharacter", "NotOneFleet"]),
        ("fleet: ENC[AES256_GCM,data:eA==,type:str]\nsops: {version: 3.9.0}\n", ["NotOneFleet"]),
        ("", ["NotOneFleet"]),
    ],
    ids=["pointer of LFS", "git-crypt", "sops", "empty"],
)
@pytest.mark.parametrize("file", ["fleet.yaml", "fleet.yml"])
def test_a_file_of_the_fleet_that_holds_none_is_not_to_be_made_anew(file: str, text: str, codes: list[str]) -> None:
    tree = Tree.of({file: text.encode(), "torn.yaml": b"[", "workloads/a.yaml": b"# nothing\n"})
    with pytest.raises(Rejected) as rejected:
        read_source(tree, NoMemo())
    assert [(problem.code, problem.location.file) for problem in rejected.value.problems] == [(c, file) for c in codes]
    hint = rejected.value.problems[-1].hint
    assert "kind: Fleet" in hint and "init" not in hint


def test_what_lies_beside_a_fleet_that_is_there_may_be_as_it_likes() -> None:
    """Such as the `fleet.yaml` of Rancher's Fleet, with whatever its own programs make of it."""
    assert counts({"main.yaml": OURS, "fleet.yaml": "[", "torn.yaml": "["}) == ("ours", [])


def test_two_that_call_each_other_a_workload_are_both_named() -> None:
    files = {"fleet/main/fleet.yaml": OURS, "workloads/f.yaml": CLAIMS_ALL}
    with pytest.raises(Rejected) as rejected:
        read_source(Tree.of({path: text.encode() for path, text in files.items()}), NoMemo())
    (problem,) = rejected.value.problems
    assert str(problem.location.file) == "workloads/f.yaml"
    assert problem.message == (
        "workloads/f.yaml and fleet/main/fleet.yaml hold a Fleet, and each is in the workload paths of the other"
    )
