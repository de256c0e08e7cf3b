"""Paths that deceive, that not every machine can hold, or that git would not hold: each is refused alone, and all others are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.git.address import Address
from gitplacer.git.program import GitError
from gitplacer.git.reading import FORGED, Repository
from gitplacer.hydrate import Hydration
from gitplacer.plaintext import UNSEEN
from gitplacer.problems import Problem, Rejected
from tests.gitservers import git
from tests.stories import ANYWHERE, Story, cluster, outcome, policy, rayservice, snapshot

ROOM = snapshot("a", "n1 32 128Gi 4")
SOURCE = {**cluster("a"), **ANYWHERE, **rayservice("ns", "svc")}
(MANIFEST,) = rayservice("ns", "odd").values()


def with_file(path: str, text: str = MANIFEST) -> Hydration:
    """A pass on a fleet that has one more file."""
    return Story.of(SOURCE, {path: text}, capacity=ROOM).run()


def refused_alone(path: str) -> Problem:
    """The one problem of a pass on a fleet with that path; its object is not placed, and the group beside it is."""
    done = with_file(path)
    assert outcome(done) == {"ns/svc": "Place a Fits"}
    (problem,) = done.problems
    assert (problem.code, problem.location.file, problem.location.line) == ("OddPath", path, 1) and problem.hint
    return problem


DEEP = "workloads/ns/" + "d/" * 63
LONG = "workloads/ns/" + ("x" * 200 + "/") * 20

ODD = {
    "workloads/ns/new\nline.yaml": "cannot be seen: U+000A",
    "workloads/ns/es\x1b[2Jc.yaml": "cannot be seen: U+001B",
    "workloads/ns/nul\x00.yaml": "cannot be seen: U+0000",
    "workloads/ns/del\x7f.yaml": "cannot be seen: U+007F",
    "workloads/ns/c1\x9b.yaml": "cannot be seen: U+009B",
    "workloads/ns/\u202elmay.yaml": "cannot be seen: U+202E",
    "workloads/ns/zero\u200bwidth.yaml": "cannot be seen: U+200B",
    "workloads/ns/tag\U000e0041.yaml": "cannot be seen: U+E0041",
    "workloads/ns/back\\slash.yaml": "a backslash",
    "workloads/ns\\..\\..\\x/y.yaml": "a backslash",
    "workloads/ns/\\xff.yaml": "bytes that are not UTF-8",
    "workloads/ns/dot./x.yaml": '"dot."',
    "workloads/ns/space /x.yaml": '"space "',
    "workloads/ns/both. ./x.yaml": '"both. ."',
    f"workloads/ns/{'x' * 251}.yaml": "256 bytes",
    f"workloads/ns/{'ä' * 126}.yaml": "257 bytes",
    f"{LONG}{'y' * 80}.yaml": "more than 4,096",
    f"{DEEP}x.yaml": "65 folders",
    "workloads/ns/GIT~2/x.yaml": ".git to some file systems",
    "workloads/ns/.g\u200cit/x.yaml": ".git to some file systems",
    "workloads/ns/.g\u200cit/config": ".git to some file systems",
    "workloads/ns/odd.YAML": "ends in .YAML, and only endings in lower case are read",
    "workloads/ns/odd.Yml": "ends in .Yml",
    "workloads/ns/odd.Json": "ends in .Json",
    "workloads/ns/\u200d.GIT\ufeff/hooks/post-checkout": ".git to some file systems",
}


@pytest.mark.parametrize(("path", "said"), list(ODD.items()), ids=lambda text: ascii(text)[-40:])
def test_an_odd_path_is_refused_alone(path: str, said: str) -> None:
    assert said in refused_alone(path).message


@pytest.mark.parametrize(
    "path",
    [
        "workloads/ns/a b.yaml", "workloads/ns/ünï/cödé.yaml", "workloads/ns/$(x)'\".yaml", "workloads/ns/a..b/x..y.yaml", "workloads/ns/git~x.yaml",
        f"workloads/ns/{'x' * 250}.yaml", f"{DEEP.removesuffix('d/')}x.yaml", f"{LONG}{'y' * 58}.yaml", "workloads/ns/名前.yaml", "workloads/ns/git~12.yaml",
    ],
    ids=lambda path: ascii(path)[-40:],
)  # fmt: skip
def test_a_path_that_people_write_is_read(path: str) -> None:
    done = with_file(path)
    assert outcome(done) == {"ns/odd": "Place a Fits", "ns/svc": "Place a Fits"} and done.problems == ()


WORD = st.text("ab", min_size=1, max_size=3)
HARMFUL = st.one_of(
    st.builds("{}{}{}".format, WORD, st.characters().filter(lambda c: UNSEEN.match(c) and not "\ud800" <= c <= "\udfff"), WORD),
    st.builds("{}\\{}".format, WORD, WORD),
    st.builds("{}{}".format, WORD, st.text(". ", min_size=1, max_size=3)),
    st.builds("{}{}".format, WORD, st.integers(255, 300).map("x".__mul__)),
    st.builds("git~{}".format, st.integers(2, 9)),
)  # fmt: skip


@given(HARMFUL, st.sampled_from(["workloads/ns/{}/x.yaml", "workloads/ns/a/{}/b.yaml", "workloads/{}/b.json"]))
def test_no_spelling_of_an_odd_path_is_read(part: str, where: str) -> None:
    refused_alone(where.format(part))


@pytest.mark.parametrize("path", ["workloads/ns/svc./svc.yaml", "workloads/ns/svc.YAML"])
def test_a_group_whose_file_got_an_odd_name_stays_where_it_is(path: str) -> None:
    story = Story.of(SOURCE, capacity=ROOM)
    story.run()
    story.source[path] = story.source.pop("workloads/ns/svc.yaml")
    assert outcome(story.run()) == {"ns/svc": "Hold a UnreadableSource"}


@pytest.mark.parametrize(("old", "odd"), [("policies/", "policies\u200b/"), (".yaml", ".YAML")])
def test_a_policy_under_an_odd_path_holds_what_it_might_govern(old: str, odd: str) -> None:
    ((path, text),) = policy("torn", "{select: {}, precedence: 7}").items()
    done = with_file(path.replace(old, odd), text)
    assert [p.code for p in done.problems] == ["OddPath"] and outcome(done)["ns/svc"].startswith("Hold")


def test_other_files_under_odd_paths_are_nobodys() -> None:
    for elsewhere in ("docs/x\u200b.yaml", "workloads/ns/notes\u200b.txt", "docs/x.YAML", "workloads/.ci/x.YAML"):
        assert with_file(elsewhere, "a: b\n").problems == ()


def test_a_cluster_under_an_odd_path_stops_the_run_like_any_that_cannot_be_read() -> None:
    ((_, text),) = cluster("b").items()
    with pytest.raises(Rejected) as rejected:
        with_file("clusters/b\u202e.yaml", text)
    assert "OddPath" in {problem.code for problem in rejected.value.problems}


def test_a_policy_that_is_gone_is_not_looked_for_in_data_that_are_not_read() -> None:
    story = Story.of(SOURCE, {"assets/DATA.JSON": "{}"}, capacity=ROOM)
    story.run()
    for path in ANYWHERE:
        del story.source[path]
    story.source |= policy("other", "select: {}")
    assert outcome(story.run()) == {"ns/svc": "Keep a Kept"}


def test_a_snapshot_whose_ending_is_in_capitals_is_told() -> None:
    (text,) = ROOM.values()
    story = Story.of(SOURCE, capacity={"a.YAML": text})
    (problem,) = story.run().problems
    assert (problem.code, problem.location.file) == ("OddPath", "capacity/a.YAML")


# what git itself would not hold


def forged(tmp_path: Path, name: bytes) -> Repository:
    """A repository with a tree that no git would make."""
    git("init", "-q", "--bare", ".", cwd=tmp_path)
    blob = git("hash-object", "-w", "--stdin", cwd=tmp_path, input=b"x")
    inner = git("mktree", cwd=tmp_path, input=f"100644 blob {blob}\tx.yaml\n".encode())
    raw = b"40000 %s\0%s" % (name, bytes.fromhex(inner))
    tree = git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", cwd=tmp_path, input=raw)
    git("update-ref", "HEAD", git("commit-tree", "-m", "forged", tree, cwd=tmp_path), cwd=tmp_path)
    return Repository.open(Address.parse(str(tmp_path), base_dir=Path("/")), tmp_path / "cache")


@pytest.mark.parametrize(
    "name",
    [
        b"..", b".", b".git", b".GIT", b"git~1", b".git ", b".git.", b".git. .", b".GiT...", b".git::$INDEX_ALLOCATION", b".git:x",
        b".git \\x", b"a\\.git", b"a\\..git~1\\GIT~1 ",
    ],
)  # fmt: skip
def test_a_tree_that_no_git_would_make_is_refused_whole(tmp_path: Path, name: bytes) -> None:
    with forged(tmp_path, name) as repository, pytest.raises(GitError) as refused:
        repository.tree(repository.resolve())
    assert refused.value.kind == "MalformedTree" and refused.value.hint


@pytest.mark.parametrize("name", [b".gitignore", b".github", b"x.git", b"git~10", b"...", b".git~1", b"a..b", b"legit"])
def test_a_tree_with_names_near_to_those_is_read(tmp_path: Path, name: bytes) -> None:
    with forged(tmp_path, name) as repository:
        assert list(repository.tree(repository.resolve())) == [f"{name.decode()}/x.yaml"]


@given(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "a/", "a\\", "/"]),
        st.sampled_from([".git", ".GIT", "git~1", "Git~1"]),
        st.text(". "),
        st.sampled_from(["", "/x", "\\x", ":x", "::$DATA/y"]),
    )
)
def test_no_spelling_of_the_folder_of_git_is_missed(path: str) -> None:
    assert FORGED.search(f"/{path}/".encode())


# two names that some file systems cannot tell apart


def twins(*paths: str) -> tuple[dict[str, str], dict[str, str]]:
    """The twins among files, each with what is said of it, and what became of all groups. Each file holds an object of its own."""
    manifests = {path: MANIFEST.replace("name: odd", f"name: odd{n}") for n, path in enumerate(paths)}
    done = Story.of(SOURCE, manifests, capacity=ROOM).run()
    assert {problem.code for problem in done.problems} <= {"CaseTwin"} and all(p.hint for p in done.problems)
    return {p.location.file: p.message for p in done.problems}, outcome(done)


@pytest.mark.parametrize(
    ("paths", "refused"),
    [
        (["workloads/ns/a.yaml", "workloads/ns/A.yaml"], {"workloads/ns/a.yaml": "differs from workloads/ns/A.yaml only in upper and lower case"}),
        (["workloads/ns/ß.yaml", "workloads/ns/ss.yaml"], {"workloads/ns/ß.yaml": "differs from workloads/ns/ss.yaml"}),
        (["workloads/ns/\u00e9.yaml", "workloads/ns/e\u0301.yaml"], {"workloads/ns/\u00e9.yaml": "only in how Unicode composes its letters"}),
        (["workloads/ns/X/a.yaml", "workloads/ns/x/b.yaml"], {"workloads/ns/X/a.yaml": "in a folder that differs from workloads/ns/x/"}),
        (["workloads/ns/Xy/a.yaml", "workloads/ns/xY/b.yaml"], {"workloads/ns/xY/b.yaml": "differs from workloads/ns/Xy/ only in upper and lower case"}),
        (["workloads/ns/X/a.yaml", "workloads/ns/x/a.yaml"], {"workloads/ns/X/a.yaml": "in a folder that differs from"}),
        (["workloads/NS/a.yaml", "workloads/ns/b.yaml"], {"workloads/NS/a.yaml": "differs from workloads/ns/"}),
        (["workloads/ns/\u00e9/a.yaml", "workloads/ns/e\u0301/b.yaml"], {"workloads/ns/e\u0301/b.yaml": "only in how Unicode composes its letters"}),
        (["workloads/ns/a/b.yaml", "workloads/ns/b/a.yaml"], {}),
    ],
    ids=lambda what: ascii(what)[:60],
)  # fmt: skip
def test_of_two_names_that_are_one_elsewhere_one_is_refused(paths: list[str], refused: dict[str, str]) -> None:
    told, groups = twins(*paths)
    assert told.keys() == refused.keys() and all(refused[path] in told[path] for path in refused)
    assert groups == {f"ns/odd{n}": "Place a Fits" for n, path in enumerate(paths) if path not in refused} | {
        "ns/svc": "Place a Fits"
    }


def test_names_of_no_unit_may_differ_in_case_of_a_folder() -> None:
    assert with_file("Docs/a.yaml", "a: b\n").problems == ()
    done = Story.of(SOURCE, {"Docs/a.yaml": "a: b\n", "docs/b.yaml": "a: b\n"}, capacity=ROOM).run()
    assert done.problems == ()


@given(st.lists(st.text("aAbBéE/", min_size=1, max_size=6), max_size=6))
def test_no_two_files_that_are_read_are_one_elsewhere(names: list[str]) -> None:
    paths = sorted(
        {
            f"workloads/ns/{'/'.join(part for part in name.split('/') if part)}/x.yaml"
            for name in names
            if name.strip("/")
        }
    )
    told, groups = twins(*paths)
    read = [path for path in paths if path not in told]
    folders = {path[: path.rindex("/")] for path in read}
    folders |= {"/".join(folder.split("/")[:n]) for folder in folders for n in range(1, folder.count("/") + 1)}
    assert len({folder.casefold() for folder in folders}) == len(folders)
    assert len(groups) == 1 + len(read)
