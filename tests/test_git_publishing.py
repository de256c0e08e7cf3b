"""Publishing to a local deployment repository, and the cache of values by blob id."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.git import publishing, pushing
from gitplacer.git.address import Address
from gitplacer.git.cache import BlobCache, UntrustedFolder, default_cache_dir, private_folder
from gitplacer.git.newcommits import NewCommit, Person
from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.program import Git, GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.pushing import LostRace, PushRefused
from gitplacer.git.reading import NoSuchRevision
from gitplacer.plaintext import printable
from gitplacer.tree import SUBMODULE, SYMLINK, Changes
from tests.gitservers import git

BOT = Person("gitplacer", "gitplacer@example.com")
WHEN = datetime.datetime(2026, 1, 2, 4, 4, 5, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))


def step(message: str, written: dict[str, bytes] | None = None, removed: tuple[str, ...] = ()) -> NewCommit:
    return NewCommit(changes=Changes(written or {}, frozenset(removed)), message=message, author=BOT, when=WHEN)


@pytest.fixture(params=[1, 1_000], ids=["by a pattern", "by name"])
def told(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How git is told which proposals to push; whatever comes of it is the same."""
    monkeypatch.setattr(pushing, "_MANY", request.param)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    git("init", "-q", "--bare", "-b", "main", "fleet.git", cwd=tmp_path)
    return tmp_path / "fleet.git"


def opened(path: Path, branch: str = "main") -> Deployment:
    return Deployment.open(Address.parse(str(path), base_dir=Path("/")), branch, path.parent / "cache")


def published(path: Path, *steps: NewCommit, inputs: NewCommit | None = None) -> str:
    with opened(path) as deployment:
        return deployment.publish(steps, inputs=inputs)


def test_the_first_commit_lands_in_an_empty_repository(bare: Path) -> None:
    with opened(bare) as deployment:
        assert deployment.tip is None
        assert len(deployment.tree) == 0
        tip = deployment.publish([step("first", {"a/b.yaml": b"x\r\n"})])
    with opened(bare) as deployment:
        assert deployment.tip == tip
        assert deployment.tree.read("a/b.yaml") == b"x\r\n"
        made = deployment.repository.commit(tip)
    assert (made.parents, made.author_name, made.author_email) == ((), BOT.name, BOT.email)
    assert made.date == "2026-01-02T03:04:05+00:00"
    assert git("fsck", "--strict", cwd=bare) == ""


def test_steps_are_chained_and_a_move_is_a_pure_rename(bare: Path) -> None:
    first = published(bare, step("place", {"clusters/a/x.yaml": b"kind: RayJob\n", "clusters/b/y.yaml": b"y\n"}))
    tip = published(
        bare,
        step("move x", {"clusters/b/x.yaml": b"kind: RayJob\n"}, ("clusters/a/x.yaml",)),
        step("the rest\n\nGitplacer-Step: 2/2\n\n", {"clusters/b/y.yaml": b"y2\n"}),
    )
    assert git("log", "--format=%s", "main", cwd=bare).splitlines() == ["the rest", "move x", "place"]
    changed = git("diff", "-M", "--name-status", first, f"{tip}~1", cwd=bare)
    assert changed == "R100\tclusters/a/x.yaml\tclusters/b/x.yaml"
    assert git("log", "-1", "--format=%(trailers:key=Gitplacer-Step,valueonly)", cwd=bare).strip() == "2/2"
    assert git("log", "--follow", "--format=%s", "main", "--", "clusters/b/x.yaml", cwd=bare) == "move x\nplace"


def test_the_same_steps_make_the_same_commits(tmp_path: Path) -> None:
    tips = []
    for name in ("one", "two"):
        git("init", "-q", "--bare", f"{name}/fleet.git", cwd=tmp_path)
        files = {f"{letter}.yaml": letter.encode() for letter in ("abc" if name == "one" else "cba")}
        tips.append(published(tmp_path / name / "fleet.git", step("first", files), step("second", removed=("b.yaml",))))
    assert tips[0] == tips[1]


def test_foreign_files_survive_untouched(bare: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git("clone", "-q", str(bare), str(work), cwd=tmp_path)
    for name in ("README.md", "clusters/a/theirs.yaml", 'odd "name"\n.yaml'):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(name)
    (work / "run.sh").write_text("x")
    (work / "run.sh").chmod(0o755)
    (work / "link").symlink_to("README.md")
    git("init", "-q", "sub", cwd=work)
    git("commit", "-q", "--allow-empty", "-m", "s", cwd=work / "sub")
    git("-c", "advice.addEmbeddedRepo=false", "add", ".", cwd=work)
    git("commit", "-q", "-m", "theirs", cwd=work)
    git("push", "-q", "origin", "HEAD:main", "HEAD:other", cwd=work)
    before = git("ls-tree", "-r", "main", cwd=bare)
    published(bare, step("ours", {"clusters/a/ours.yaml": b"x"}))
    published(bare, step("gone again", removed=("clusters/a/ours.yaml", "never/was.yaml")))
    assert git("ls-tree", "-r", "main", cwd=bare) == before
    assert git("rev-parse", "other", cwd=bare) == git("rev-parse", "main~2", cwd=bare)
    with opened(bare) as deployment:
        assert {e.mode for e in deployment.tree.entries.values() if not e.is_text} == {SYMLINK, SUBMODULE}


def test_odd_paths_and_bytes_arrive_as_they_are(bare: Path) -> None:
    files = {'q"uote.yaml': b"", "new\nline": b"\0\n", "ünï cödé": b"data 5\n", "back\\slash": b"\xff", " a": b"x"}
    published(bare, step("Grüße\0", files))
    with opened(bare) as deployment:
        assert deployment.tree.read_all(files) == files


@pytest.mark.parametrize(
    ("there", "written"), [("clusters", "clusters/a.yaml"), ("clusters/a.yaml", "clusters")], ids=["file", "folder"]
)
def test_a_foreign_file_in_the_way_is_never_displaced(bare: Path, there: str, written: str) -> None:
    tip = published(bare, step("theirs", {there: b"x", "other.yaml": b"x"}))
    for removed in (), ("other.yaml",):
        with pytest.raises(GitError, match=f"{there} in the way") as refused:
            published(bare, step("ours", {written: b"y"}, removed))
        assert refused.value.kind == "PathClash"
        assert git("rev-parse", "main", cwd=bare) == tip
    published(bare, step("ours", {written: b"y"}, (there, "other.yaml")))  # when it is removed by name, it is planned
    assert git("ls-tree", "-r", "--name-only", "main", cwd=bare) == written


def test_who_only_moves_files_lists_no_tree_to_know_what_was_made(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(bare, step("there", {"clusters/a/x.yaml": b"x", "clusters/a/y.yaml": b"y"}))

    def listed(*args: object) -> None:
        raise AssertionError("a tree is listed")

    monkeypatch.setattr(Deployment, "_check_tree", listed)
    moves = step("moves", {"clusters/b/x.yaml": b"x"}, ("clusters/a/x.yaml",))
    published(bare, moves, step("and back", {"clusters/a/x.yaml": b"x2"}, ("clusters/b/x.yaml", "clusters/a/y.yaml")))
    assert git("ls-tree", "-r", "--name-only", "main", cwd=bare) == "clusters/a/x.yaml"


def test_removing_a_path_that_is_a_folder_removes_nothing(bare: Path) -> None:
    published(bare, step("first", {"a/b.yaml": b"x", "c.yaml": b"y"}))
    published(bare, step("second", {"c.yaml": b"z"}, ("a",)))
    with opened(bare) as deployment:
        assert list(deployment.tree) == ["a/b.yaml", "c.yaml"]


@pytest.mark.parametrize("path", ["../x", ".git/config", "a//b", "a/./b"])
def test_a_path_that_git_refuses_is_not_written(bare: Path, path: str) -> None:
    with pytest.raises(GitError):
        published(bare, step("first", {path: b"x"}))
    assert git("branch", "--list", cwd=bare) == ""


@pytest.mark.parametrize("path", ["a/../../x", "a/.git/config", "a/GIT~1./x", "a//b", "a/./b", "..", "a/.."])
def test_nor_is_it_on_top_of_others_nor_proposed(bare: Path, path: str) -> None:
    tip = published(bare, step("first", {"a/b.yaml": b"x"}))
    bad = step("second", {path: b"x", "c.yaml": b"y"})
    with opened(bare) as deployment, pytest.raises(GitError) as refused:
        deployment.publish([bad])
    assert (refused.value.kind, repr(path) in refused.value.message) == ("MalformedTree", True)
    with opened(bare) as deployment, pytest.raises(GitError):
        deployment.publish([], proposals={"gitplacer/move/a": bad})
    assert git("for-each-ref", "--format=%(objectname) %(refname)", cwd=bare) == f"{tip} refs/heads/main"


def test_names_and_messages_cannot_forge_a_commit(bare: Path) -> None:
    author = Person("A <b>\nfrom main", "x> 1 +0000\n")
    commit = NewCommit(changes=Changes({"a": b""}), message="m\nfrom x\nD a", author=author, when=WHEN)
    published(bare, commit)
    with opened(bare) as deployment:
        found = deployment.repository.commit(deployment.tip)
        assert (found.author_name, found.author_email) == ("A b from main", "x 1 +0000")
        assert list(deployment.tree) == ["a"]
        assert found.parents == ()


def test_a_push_lands_only_on_the_tip_it_was_computed_from(bare: Path) -> None:
    published(bare, step("first", {"a": b"1"}))
    with opened(bare) as slow:
        git("update-ref", "-d", "refs/heads/main", cwd=bare)  # even back in time
        with pytest.raises(LostRace):
            slow.publish([step("slow", {"a": b"2"})])
    assert git("branch", "--list", cwd=bare) == ""
    with opened(bare) as slow:
        won = published(bare, step("fast", {"a": b"1"}))
        with pytest.raises(LostRace):
            slow.publish([step("slow", {"b": b"2"})])
    assert git("rev-parse", "main", cwd=bare) == won
    assert git("reflog", "main", cwd=bare) == ""


def test_inputs_name_what_is_kept_already_by_its_id(bare: Path) -> None:
    first = step("one", {"a": b"1", "b": b"1", "d/link": b"a", "gone": b"1"})
    published(bare, step("a pass", {"x": b"1"}), inputs=replace(first, modes={"d/link": SYMLINK}))
    with opened(bare) as deployment:
        there = deployment.inputs.entries
        assert there["d/link"].mode == SYMLINK
        same = {path: there[path].oid for path in ("a", "d/link")}
        second = replace(step("two", {"b": b"2"}), same={**same, "a copy": same["a"]}, modes={"d/link": SYMLINK})
        deployment.publish([step("another pass", {"x": b"2"})], inputs=second)
    with opened(bare) as deployment:
        kept = deployment.inputs
        assert kept.read_all(kept) == {"a": b"1", "a copy": b"1", "b": b"2", "d/link": b"a"}
        assert kept.entries["d/link"].mode == SYMLINK


def test_many_files_make_the_same_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        step("one", {"a": b"1", "b/c": b"2\r\n", "gone": b"", 'd "\\': b"1"}),
        step("two", {"a": b"\0\nblob", "b/new": b"2\r\n"}, removed=("gone",)),
    ]
    tips = set()
    for many in (1, 100):
        monkeypatch.setattr(publishing, "_MANY", many)
        git("init", "-q", "--bare", "-b", "main", f"fleet-{many}.git", cwd=tmp_path)
        bare = tmp_path / f"fleet-{many}.git"
        first = published(bare, *steps, inputs=step("inputs", {"capacity": b"9"}))
        tips |= {(first, published(bare, step("more", {"x": b"1", "y": b"new"}), inputs=step("i", {"capacity": b"8"})))}
        git("fsck", "--strict", cwd=bare)
    assert len(tips) == 1


def test_the_branch_and_its_inputs_land_together_or_not_at_all(bare: Path) -> None:
    with opened(bare) as deployment:
        stream = f"commit refs/heads/{INPUTS}\ncommitter A <a> 1 +0000\ndata 0\n"
        git("fast-import", "--quiet", cwd=bare, input=stream.encode())
        theirs = git("rev-parse", INPUTS, cwd=bare)
        with pytest.raises(LostRace):
            deployment.publish([step("ours", {"a": b"1"})], inputs=step("inputs", {"c": b"1"}))
    assert git("for-each-ref", "--format=%(refname) %(objectname)", cwd=bare) == f"refs/heads/{INPUTS} {theirs}"
    published(bare, step("ours", {"a": b"1"}), inputs=step("inputs", {"c": b"1"}))
    assert git("rev-parse", f"{INPUTS}~1", cwd=bare) == theirs


@pytest.mark.usefixtures("told")
def test_what_a_pass_was_computed_from_is_taken_before_the_pass(bare: Path, tmp_path: Path) -> None:
    """If the server goes down between the two, a capacity that nobody needs is there, and no commit that nobody can prove."""
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncat >> {tmp_path}/taken\n")
    hook.chmod(0o755)
    for name in (b"1", b"2"):
        with opened(bare) as deployment:
            proposals = {f"gitplacer/proposed/{each}": step("proposed", {each: name}) for each in "ab"}
            pass_ = [step("a pass", {"x": name})]
            deployment.publish(pass_, inputs=step("inputs", {"capacity": name}), proposals=proposals)
    taken = [line.split()[2].removeprefix("refs/heads/") for line in (tmp_path / "taken").read_text().splitlines()]
    assert taken == [
        *("gitplacer-inputs", "main", "gitplacer/proposed/a", "gitplacer/proposed/b"),
        *("gitplacer-inputs", "gitplacer/proposed/a", "gitplacer/proposed/b", "main"),
    ]


def test_a_push_whose_answer_was_lost_has_landed(bare: Path) -> None:
    hook = bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    tip = published(bare, step("first", {"a": b"1"}))
    assert git("rev-parse", "main", cwd=bare) == tip


def test_a_branch_that_somebody_works_on_is_refused_with_a_way_out(tmp_path: Path) -> None:
    work = tmp_path / "work"
    git("init", "-q", "-b", "main", str(work), cwd=tmp_path)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=work)
    with pytest.raises(PushRefused, match="checked out in its work tree") as refused:
        published(work, step("ours", {"a": b"1"}))
    assert "bare" in refused.value.hint
    with opened(work, "deployed") as deployment:
        deployment.publish([step("ours", {"a": b"1"})])
    assert git("ls-tree", "--name-only", "deployed", cwd=work) == "a"
    assert not (work / "a").exists()


def test_the_hooks_of_the_repository_decide_and_nothing_stays(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "hooks").mkdir(exist_ok=True)
    for name, body in {"pre-push": "touch witness", "pre-receive": "echo 'go away' >&2; exit 1"}.items():
        (bare / "hooks" / name).write_text(f"#!/bin/sh\n{body}\n")
        (bare / "hooks" / name).chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    with pytest.raises(PushRefused, match="pre-receive hook declined; go away"):
        published(bare, step("ours", {"a": b"1"}))
    assert not (bare / "witness").exists()
    assert not list(bare.glob("objects/pack/*.pack"))


SAID = st.lists(
    st.sampled_from(["fetch first", "stale info", "cannot lock ref", "non-fast-forward", "does not support --atomic"])
    | st.sampled_from(
        ["branch is currently checked out", "!\trefs/heads/main", "403", "\x1b[2J", "::error::x", "\r", "\t"]
    )
    | st.text(st.characters(codec="utf-8"), max_size=20),
    max_size=4,
).map(" ".join)
"""What a hook may print: what git says of races, of other ends, and anything at all."""


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=SAID, name=st.sampled_from(["pre-receive", "update"]), both=st.booleans())
@example(said="a soft\u00adhyphen", name="update", both=False)
def test_whatever_a_hook_says_when_it_declines_it_is_no_race(bare: Path, said: str, name: str, both: bool) -> None:
    shutil.rmtree(bare / "hooks", ignore_errors=True)
    (bare / "hooks").mkdir()
    (bare / "said").write_text(said)
    (bare / "hooks" / name).write_text("#!/bin/sh\ncat said >&2\nexit 1\n")
    (bare / "hooks" / name).chmod(0o755)
    with pytest.raises(PushRefused) as refused:
        published(bare, step("ours", {"a": b"1"}), inputs=step("inputs", {"c": b"1"}) if both else None)
    assert "hook declined" in refused.value.message and "let this user push there" in refused.value.hint
    assert printable(refused.value.message, 10_000) == refused.value.message
    assert git("branch", "--list", cwd=bare) == ""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_the_repository_of_another_user_is_read_and_not_pushed_to(bare: Path) -> None:
    os.chown(bare, 12345, 12345)
    with opened(bare) as deployment, pytest.raises(PushRefused, match="dubious ownership"):
        deployment.publish([step("ours", {"a": b"1"})])


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "a b", "x.lock", "a/.b", INPUTS])
def test_an_odd_branch_is_refused(bare: Path, branch: str) -> None:
    with pytest.raises(GitError) as refused:
        opened(bare, branch)
    assert isinstance(refused.value, NoSuchRevision) or INPUTS in refused.value.message


def test_a_branch_in_the_way_of_a_branch_is_no_race(bare: Path) -> None:
    published(bare, step("first", {"a": b"1"}))
    with (
        opened(bare, "main/sub") as deployment,
        pytest.raises(PushRefused, match="main is in the way of main/sub") as refused,
    ):
        deployment.publish([step("ours", {"a": b"1"})])
    assert "rename or delete the branch main" in refused.value.hint


def test_nothing_is_left_behind(bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    published(bare, step("first", {"a": b"1"}))
    assert list(scratch.iterdir()) == []


# ── the cache ──


def test_values_are_found_again_by_namespace_and_id(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache")
    many = {f"{number:040x}": b"%d" % number for number in range(1200)}
    cache.put_many("documents/1", many)
    cache.put_many("documents/2", {"0" * 40: b"other"})
    cache.put_many("documents/1", {"0" * 40: b"again"})
    again = BlobCache(tmp_path / "cache")
    assert again.get_many("documents/1", [*many, "f" * 40]) == {**many, "0" * 40: b"again"}
    assert again.get_many("documents/2", many) == {"0" * 40: b"other"}
    assert again.get_many("documents/3", many) == {}


def test_two_processes_share_one_cache(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from gitplacer.git.cache import BlobCache\n"
        "cache = BlobCache(Path(sys.argv[1]))\n"
        "for number in range(40): cache.put_many('n', {f'{sys.argv[2]}{number}': b'v', f'both{number}': b'w'})\n"
    )
    BlobCache(tmp_path / "cache").close()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "cache"), name], env=environment)
        for name in "ab"
    ]
    assert [process.wait() for process in running] == [0, 0]
    wanted = [f"{name}{number}" for name in ("a", "b", "both") for number in range(40)]
    assert len(BlobCache(tmp_path / "cache").get_many("n", wanted)) == 120


def test_the_oldest_values_go_first(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache", max_bytes=400_000)
    for number in range(20):
        cache.put_many("n", {str(number): os.urandom(50_000)})
    left = sorted(map(int, cache.get_many("n", map(str, range(20)))))
    assert left
    assert left == list(range(left[0], 20))
    assert sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*.sqlite")) < 800_000


@pytest.mark.parametrize("rubbish", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_is_empty_and_made_anew(tmp_path: Path, rubbish: bytes) -> None:
    cache = BlobCache(tmp_path / "cache")
    cache.put_many("n", {"a": b"1"})
    cache.close()
    (file,) = (tmp_path / "cache").rglob("*.sqlite")
    file.write_bytes(rubbish)
    cache = BlobCache(tmp_path / "cache")
    assert cache.get_many("n", ["a"]) == {}
    cache.put_many("n", {"a": b"2"})
    cache.close()
    assert BlobCache(tmp_path / "cache").get_many("n", ["a"]) == {"a": b"2"}


def test_a_value_whose_bytes_have_changed_is_not_returned(tmp_path: Path) -> None:
    cache = BlobCache(tmp_path / "cache")
    cache.put_many("n", {"a": b"aaaa", "b": b"bbbb"})
    (file,) = (tmp_path / "cache").rglob("*.sqlite")
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("UPDATE blobs SET value = (SELECT value FROM blobs WHERE oid = 'a') WHERE oid = 'b'")
    assert cache.get_many("n", ["a", "b"]) == {"a": b"aaaa"}


def test_a_locked_or_read_only_cache_just_looks_empty(tmp_path: Path) -> None:
    BlobCache(tmp_path / "cache").put_many("n", {"a": b"1"})
    (file,) = (tmp_path / "cache").rglob("*.sqlite")
    cache = BlobCache(tmp_path / "cache")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cache.put_many("n", {"b": b"2"})  # not kept
    assert cache.get_many("n", ["a", "b"]) == {}  # nor asked again in this run
    other.close()
    assert BlobCache(tmp_path / "cache").get_many("n", ["a", "b"]) == {"a": b"1"}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720])
def test_a_cache_that_others_can_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    BlobCache(tmp_path / "cache").put_many("n", {"a": b"1"})
    for folder in (tmp_path / "cache", tmp_path / "cache" / "values"):
        folder.chmod(mode)
        cache = BlobCache(tmp_path / "cache")
        assert cache.get_many("n", ["a"]) == {}
        cache.put_many("n", {"a": b"2"})
        folder.chmod(0o700)
    assert BlobCache(tmp_path / "cache").get_many("n", ["a"]) == {"a": b"1"}


def test_the_cache_directory_is_private_and_an_impossible_one_is_told(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "new" / "cache", "repos")
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]
    (tmp_path / "file").write_text("")
    with pytest.raises(UntrustedFolder, match="cannot use"):
        private_folder(tmp_path / "file" / "cache", "repos")
    assert BlobCache(tmp_path / "file" / "cache").get_many("n", ["a"]) == {}


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for name in ("GITPLACER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert default_cache_dir() == Path("/home/ada/.cache/gitplacer")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/ada")
    assert default_cache_dir() == Path("/var/cache/ada/gitplacer")
    monkeypatch.setenv("GITPLACER_CACHE", "/cache")
    assert default_cache_dir() == Path("/cache")


def proposed_by_number(number: int) -> dict[str, NewCommit]:
    return {f"gitplacer/proposed/a/{each}": step(f"move {each}", {f"moved/{each}": b"x"}) for each in range(number)}


def heads(bare: Path) -> list[str]:
    return git("for-each-ref", "--format=%(refname:short)", "refs/heads/", cwd=bare).split()


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_more_proposals_than_one_command_may_name_go_out_in_several(
    number: int, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that moves with the pass in the first push is as many as fit; the rest follows, and so does what is withdrawn."""
    monkeypatch.setattr(publishing, "_AT_ONCE", 2)
    with opened(bare) as deployment:
        tip = deployment.publish([step("first", {"a": b"a"})], proposals=proposed_by_number(number))
        assert deployment.refused == ""
    assert heads(bare) == [*sorted(proposed_by_number(number)), "main"]
    assert {git("rev-parse", f"{name}~1", cwd=bare) for name in proposed_by_number(number)} == {tip}
    with opened(bare) as deployment:
        assert deployment.is_proposed(proposed_by_number(number))
        deployment.publish([], proposals={})
    assert heads(bare) == ["main"]


def test_a_command_line_has_room_for_as_many_proposals_as_go_out_at_once() -> None:
    """Of the longest names that a branch can have here. The system has 2 MiB for arguments and the environment together."""
    longest = len("refs/heads/gitplacer/proposed/") + 253
    assert publishing._AT_ONCE * (len("--force-with-lease=::") + 2 * (longest + 40 + 9)) < 1 << 20


def test_many_proposals_are_told_by_one_pattern_and_a_lease_for_each(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git holds each ref that it is told by name against each that the server has."""
    asked: list[tuple[str, ...]] = []
    run = Git.run

    def noting(self: Git, *args: str, **how: Any) -> bytes:
        asked.extend([args] if args[0] == "push" else [])
        return run(self, *args, **how)

    monkeypatch.setattr(Git, "run", noting)
    with opened(bare) as deployment:
        deployment.publish([step("first", {"a": b"a"})], proposals=proposed_by_number(60))
    ((*options, _, first, pattern),) = asked
    assert first.endswith(":refs/heads/main") and pattern.endswith("/*:refs/heads/gitplacer/proposed/*")
    assert sum(option.startswith("--force-with-lease=refs/heads/gitplacer/proposed/a/") for option in options) == 60
    assert len(heads(bare)) == 61


@pytest.mark.usefixtures("told")
def test_a_proposal_that_somebody_changed_meanwhile_is_theirs_and_the_others_go_out(bare: Path) -> None:
    with opened(bare) as deployment:
        deployment.publish([step("first", {"a": b"a"})], proposals=proposed_by_number(5))
    with opened(bare) as deployment:
        main = git("rev-parse", "main", cwd=bare)
        git("update-ref", "refs/heads/gitplacer/proposed/a/1", main, cwd=bare)
        git("update-ref", "refs/heads/gitplacer/proposed/a/6", main, cwd=bare)
        git("update-ref", "-d", "refs/heads/gitplacer/proposed/a/2", cwd=bare)
        git("update-ref", "refs/heads/gitplacer/proposed/theirs", main, cwd=bare)
        wanted = proposed_by_number(8)
        del wanted["gitplacer/proposed/a/3"]
        tip = deployment.publish([step("second", {"a": b"b"})], proposals=wanted)
        assert deployment.refused == "stale info"
    assert git("rev-parse", "main", cwd=bare) == tip
    stands = {
        name: git("rev-parse", f"{name}~1", cwd=bare) for name in heads(bare) if name.rpartition("/")[2] in "0457"
    }
    assert stands == {f"gitplacer/proposed/a/{each}": tip for each in (0, 4, 5, 7)}
    left = [name for name in heads(bare) if name not in stands]
    assert left == [*(f"gitplacer/proposed/{name}" for name in ("a/1", "a/6", "theirs")), "main"]
    assert {git("rev-parse", name, cwd=bare) for name in left[:-1]} == {main}


@pytest.mark.parametrize("hidden", ["refs/heads", "refs/heads/main", f"refs/heads/{INPUTS}"])
@pytest.mark.parametrize("setting", ["receive.hideRefs", "transfer.hideRefs"])
def test_a_branch_that_a_server_hides_is_no_lost_race(setting: str, hidden: str, bare: Path) -> None:
    """To who pushes it looks as if it were not there, which a lease takes for a race, each time anew."""
    tip = published(bare, step("first", {"a": b"1"}), inputs=step("inputs", {"capacity": b"1"}))
    git("config", setting, hidden, cwd=bare)
    with opened(bare) as deployment, pytest.raises(PushRefused) as refused:
        deployment.publish([step("second", {"a": b"2"})], inputs=step("inputs", {"capacity": b"2"}))
    name = "refs/heads/main" if hidden == "refs/heads" else hidden
    assert refused.value.message == f"{bare} hides {name} from whoever pushes"
    assert f"take {name} out of receive.hideRefs and transfer.hideRefs there" in refused.value.hint
    assert git("rev-parse", "main", cwd=bare) == tip
    git("config", "--unset", setting, cwd=bare)
    published(bare, step("second", {"a": b"2"}), inputs=step("inputs", {"capacity": b"2"}))


@pytest.mark.usefixtures("told")
def test_proposals_that_a_server_hides_are_told(bare: Path) -> None:
    git("config", "receive.hideRefs", "refs/heads/gitplacer", cwd=bare)
    with opened(bare) as deployment:
        tip = deployment.publish([step("first", {"a": b"a"})], proposals=proposed_by_number(3))
        assert deployment.refused == "deny updating a hidden ref"
    assert (git("rev-parse", "main", cwd=bare), heads(bare)) == (tip, ["main"])


@pytest.mark.usefixtures("told")
def test_a_proposal_that_is_in_the_way_of_others_is_told(bare: Path) -> None:
    with opened(bare) as deployment:
        deployment.publish([step("first", {"a": b"a"})])
    with opened(bare) as deployment:
        both = {name: step("proposed", {"x": b"1"}) for name in ("gitplacer/proposed/a", "gitplacer/proposed/a/0")}
        deployment.publish([], proposals={**proposed_by_number(3), **both})
        assert "'refs/heads/gitplacer/proposed/a'" in deployment.refused
    below = [f"gitplacer/proposed/a/{number}" for number in range(3)]
    assert heads(bare) in (["gitplacer/proposed/a", "main"], [*below, "main"])  # as the server's git chooses


@pytest.mark.usefixtures("told")
def test_where_some_proposals_are_refused_the_others_stand_and_it_is_told_in_one_line(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "_AT_ONCE", 2)
    hook = bare / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    refusing = 'case "$1" in */1|*/4) seq -f "no: a rule of %05g" 400 >&2; exit 1;; esac'
    hook.write_text(f"#!/bin/sh\n{refusing}\n")
    hook.chmod(0o755)
    with opened(bare) as deployment:
        tip = deployment.publish([step("first", {"a": b"a"})], proposals=proposed_by_number(7))
        assert deployment.refused.startswith("hook declined; no: a rule of 00001; no: a rule of 00002; ")
        assert len(deployment.refused) <= 500
    assert git("rev-parse", "main", cwd=bare) == tip
    assert heads(bare) == [*(f"gitplacer/proposed/a/{each}" for each in (0, 2, 3, 5, 6)), "main"]
