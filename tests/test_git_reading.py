"""Reading repositories, work trees and addresses, with real git and hostile repositories."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitplacer.controller.faults import found
from gitplacer.controller.turns import Fault
from gitplacer.git import objects as objects_module
from gitplacer.git import reading
from gitplacer.git.address import Address
from gitplacer.git.listings import Listings
from gitplacer.git.mirror import refs_of
from gitplacer.git.objects import BlobTooLarge, MissingObject
from gitplacer.git.program import Git, GitError, one_line
from gitplacer.git.reading import FORGED, Commit, NoSuchRevision, Repository, refuse_forged
from gitplacer.git.worktree import lies_as_committed, read_work_tree
from gitplacer.plaintext import printable
from gitplacer.redactor import redact
from gitplacer.tree import EXECUTABLE, FILE, SPECIAL, SUBMODULE, SYMLINK, Entry, blob_id
from tests.gitservers import git

ODD_NAMES = [
    "a b.yaml", 'quote".yaml', "new\nline.yaml", "tab\tin.yaml", "ünï/cödé.yaml", "back\\slash.yaml", " lead.yaml"
]  # fmt: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work tree with one commit: an executable, a symlink, a submodule and odd names."""
    folder = tmp_path / "work"
    git("init", "-q", "-b", "main", str(folder), cwd=tmp_path)
    for name in ("plain.yaml", "nested/deep/x.yaml", *ODD_NAMES):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"name: {name}\r\n".encode())
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("plain.yaml")
    git("init", "-q", "sub", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "sub", cwd=folder / "sub")
    git("-c", "advice.addEmbeddedRepo=false", "add", ".", cwd=folder)
    git("commit", "-q", "-m", "first", cwd=folder)
    return folder


def commit(folder: Path, message: str, *args: str) -> str:
    git("commit", "-q", "--allow-empty", "-F", "-", *args, cwd=folder, input=message.encode())
    return git("rev-parse", "HEAD", cwd=folder)


def opened(path: Path, cache: Path) -> Repository:
    return Repository.open(Address.parse(str(path), base_dir=Path("/")), cache)


@pytest.fixture
def repository(work: Path, tmp_path: Path) -> Iterator[Repository]:
    with opened(work, tmp_path / "cache") as repository:
        yield repository


def test_a_tree_has_every_path_with_its_mode_and_bytes(work: Path, tmp_path: Path) -> None:
    with opened(work, tmp_path / "cache") as repository:
        tree = repository.tree(repository.resolve())
        modes = {path: entry.mode for path, entry in tree.entries.items() if entry.mode != FILE}
        assert modes == {"run.sh": EXECUTABLE, "link": SYMLINK, "sub": SUBMODULE}
        assert list(tree) == sorted([*ODD_NAMES, "plain.yaml", "nested/deep/x.yaml", "run.sh", "link", "sub"])
        for name in ODD_NAMES:
            assert tree.read(name) == f"name: {name}\r\n".encode()
            assert tree.entries[name] == Entry(FILE, blob_id(tree.read(name)), len(tree.read(name)))


def test_a_bare_repository_reads_as_its_clone_does(work: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(work), str(bare), cwd=tmp_path)
    with opened(work, tmp_path) as one, opened(bare, tmp_path) as other:
        assert one.tree(one.resolve()) == other.tree(other.resolve("main"))


def test_a_folder_of_a_repository_is_an_address(work: Path, tmp_path: Path) -> None:
    address = Address.parse("nested/deep", base_dir=work)
    assert (address.folder, address.work_tree) == ("nested/deep", work)
    assert address.normalised == Address.parse(str(work), base_dir=work).normalised
    with Repository.open(address, tmp_path) as repository:
        tip = repository.resolve()
        assert list(repository.tree(tip, address.folder)) == ["x.yaml"]
        assert repository.tree_id(tip, address.folder) == git("rev-parse", "HEAD:nested/deep", cwd=work)
        for missing in ("absent", "plain.yaml", "nested/deep/../deep", "new\nline"):
            with pytest.raises(GitError, match="there is no folder"):
                repository.tree(tip, missing)


def test_a_linked_work_tree_is_the_same_repository(work: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"), cwd=work)
    address = Address.parse(str(tmp_path / "linked"), base_dir=work)
    assert address.normalised == Address.parse(str(work), base_dir=work).normalised
    side = commit(tmp_path / "linked", "side")
    with Repository.open(address, tmp_path) as repository:
        assert repository.resolve() == side
        assert repository.resolve("main") != side


def test_revisions_name_commits(work: Path, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD", cwd=work)
    git("tag", "-a", "v1.0", "-m", "annotated", cwd=work)
    git("branch", "topic/one", cwd=work)
    git("update-ref", "refs/remotes/origin/theirs", first, cwd=work)
    second = commit(work, "second")
    git("tag", "main", first, cwd=work)  # a tag cannot pass for a branch
    with opened(work, tmp_path) as repository:
        expected = {
            None: second, "HEAD": second, "main": second, "HEAD~1": first, "main~1": first, "v1.0": first,
            "v1.0~0": first, "topic/one": first, "refs/heads/topic/one": first, "theirs": first, "origin/theirs": first,
            first: first, first[:10]: first, "refs/tags/main": first,
        }  # fmt: skip
        assert {rev: repository.resolve(rev) for rev in expected} == expected
        assert repository.default_branch_tip() == second


@pytest.mark.parametrize(
    "rev",
    ["", "-n1", "--all", "a..b", "HEAD@{1}", "@{u}", "main^", "HEAD^{tree}", "main:plain.yaml", ":/first", "a b",
     "a\nb", "absent", "deadbeef", "HEAD~99", "x.lock", "main~1~1", "*", "refs/../x", "/main", "main/", "ma\0in", "~1"],
)  # fmt: skip
def test_what_is_no_revision_is_refused_by_name(work: Path, tmp_path: Path, rev: str) -> None:
    with opened(work, tmp_path) as repository, pytest.raises(NoSuchRevision) as refused:
        repository.resolve(rev)
    assert refused.value.hint or "branch" in refused.value.message
    assert "\n" not in refused.value.message


ODD_REVISIONS = st.one_of(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["main", "HEAD", "refs/heads/main", "", "x"]),
        st.sampled_from(
            ["..", "...", "^", "^{", "@{", ":", "~1~", "*", "?", "[", "\\", " ", "\n", "\0", "//", ".lock/", "/."]
        ),
        st.text("main-HEAD1}~/", max_size=6),
    ),
    st.text("n-=1adl", max_size=8).map("-{}".format),
    st.from_regex(r"[0-9a-f]{7,40}", fullmatch=True),
    st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), max_size=6).map("nobody{}".format),
)
"""Expressions, options, ids that there are not, and other names of nothing."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rev=ODD_REVISIONS)
def test_no_spelling_of_an_expression_or_an_option_is_a_revision(repository: Repository, rev: str) -> None:
    with pytest.raises(NoSuchRevision) as refused:
        repository.resolve(rev)
    assert printable(refused.value.message, 1000) == refused.value.message


def test_a_repository_without_commits_says_so(tmp_path: Path) -> None:
    git("init", "-q", "--bare", "empty.git", cwd=tmp_path)
    with opened(tmp_path / "empty.git", tmp_path) as repository:
        with pytest.raises(NoSuchRevision, match="no commit on its default branch"):
            repository.default_branch_tip()
        with pytest.raises(NoSuchRevision, match="no revision main"):
            repository.resolve("main")


def test_a_shallow_clone_says_that_it_is_one(work: Path, tmp_path: Path) -> None:
    commit(work, "second")
    git("clone", "-q", "--depth=1", f"file://{work}", "shallow", cwd=tmp_path)
    with opened(tmp_path / "shallow", tmp_path) as repository:
        assert len(list(repository.first_parent_log("HEAD", 9))) == 1
        with pytest.raises(NoSuchRevision) as refused:
            repository.resolve("HEAD~1")
    assert "shallow" in refused.value.hint


def test_what_a_partial_clone_lacks_is_not_fetched_behind_our_back(work: Path, tmp_path: Path) -> None:
    git("config", "uploadpack.allowFilter", "true", cwd=work)
    git("clone", "-q", "--bare", "--filter=blob:none", f"file://{work}", "partial", cwd=tmp_path)
    with opened(tmp_path / "partial", tmp_path) as repository:
        with pytest.raises(MissingObject, match=r"lacks the object|could not fetch") as refused:
            repository.tree(repository.resolve())
        assert "partial clone" in refused.value.hint


@pytest.mark.parametrize("named", [None, "HEAD", "main", "refs/heads/main", "the id"])
def test_a_branch_whose_commit_is_lost_is_not_called_empty(work: Path, tmp_path: Path, named: str | None) -> None:
    """As after a crash, or where the repository is gone from which a clone borrows: there are commits, and they cannot be read."""
    lost = commit(work, "second")
    (work / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    with opened(work, tmp_path) as repository:
        with pytest.raises(MissingObject, match=f"lacks the commit {lost}, which .* names") as refused:
            repository.resolve(lost if named == "the id" else named)
        assert "git fsck" in refused.value.hint
        with pytest.raises(NoSuchRevision):
            repository.resolve("another")


@pytest.mark.parametrize("named", [None, "HEAD", "main", "refs/heads/main"])
@pytest.mark.parametrize("text", ["", "no commit\n"])
def test_a_ref_that_a_crash_has_emptied_is_not_taken_for_none(
    work: Path, tmp_path: Path, named: str | None, text: str
) -> None:
    """Git passes by it with a warning; a deployment branch in this state is not one where nothing is placed yet."""
    (work / ".git" / "refs" / "heads" / "main").write_text(text)
    with opened(work, tmp_path) as repository, pytest.raises(GitError, match="refs/heads/main is damaged") as refused:
        repository.resolve(named)
    assert refused.value.kind == "DamagedRepository"
    with opened(work, tmp_path) as repository, pytest.raises(NoSuchRevision):
        repository.resolve("another")
    address = Address.parse(str(work), base_dir=tmp_path)
    with pytest.raises(GitError, match="refs/heads/main is damaged"):
        refs_of(address, "refs/heads/main", "refs/heads/another")
    assert refs_of(address, "refs/heads/another") == {}


@pytest.mark.parametrize("damage", ["its commit is lost", "it is emptied"])
def test_a_damaged_branch_is_not_read_from_where_another_ref_has_it(work: Path, tmp_path: Path, damage: str) -> None:
    """In a clone, `origin/main` is an older state of `main`, and what it says has been overtaken."""
    first = git("rev-parse", "HEAD", cwd=work)
    git("update-ref", "refs/remotes/origin/main", first, cwd=work)
    lost = commit(work, "second")
    git("checkout", "-q", "--detach", first, cwd=work)
    if damage == "its commit is lost":
        (work / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    else:
        (work / ".git" / "refs" / "heads" / "main").write_text("")
    with opened(work, tmp_path) as repository, pytest.raises(GitError, match="refs/heads/main") as refused:
        repository.resolve("main")
    assert refused.value.kind == "DamagedRepository"


def test_a_name_reaches_back_in_the_history_of_one_ref_alone(work: Path, tmp_path: Path) -> None:
    second = commit(work, "second")
    git("update-ref", "refs/remotes/origin/main", second, cwd=work)
    git("update-ref", "refs/heads/main", f"{second}~1", cwd=work)
    with opened(work, tmp_path) as repository, pytest.raises(NoSuchRevision):
        repository.resolve("main~1")


def test_a_history_is_what_its_commits_say(work: Path, tmp_path: Path) -> None:
    """Neither a graft nor a note of git's own in the repository (a commit-graph) takes a commit out of it."""
    first = git("rev-parse", "HEAD", cwd=work)
    second = commit(work, "second")
    third = commit(work, "third")
    git("commit-graph", "write", "--reachable", cwd=work)
    graph = work / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o644)
    noted = graph.read_bytes()
    begins = int.from_bytes(noted[(at := noted.index(b"CDAT")) + 4 : at + 12])
    row = begins + 36 * sorted((first, second, third)).index(third)
    graph.write_bytes(noted[: row + 20] + (0x70000000).to_bytes(4) + noted[row + 24 :])
    assert git("rev-list", "main", cwd=work).split() == [third], "the commit-graph hides the others"
    with opened(work, tmp_path) as repository:
        assert [each.id for each in repository.first_parent_log("main", 9)] == [third, second, first]
        assert repository.is_behind(first, third)
    graph.unlink()
    (work / ".git" / "info").mkdir(exist_ok=True)
    (work / ".git" / "info" / "grafts").write_text(f"{third}\n")
    assert git("rev-list", "main", cwd=work).split() == [third], "the graft hides the others"
    with opened(work, tmp_path) as repository:
        assert [each.id for each in repository.log("main", 9)] == [third, second, first]
        assert repository.is_behind(first, third)


def test_a_history_with_a_hole_is_damaged(work: Path, tmp_path: Path) -> None:
    first = git("rev-parse", "HEAD", cwd=work)
    commit(work, "second")
    (work / ".git" / "objects" / first[:2] / first[2:]).unlink()
    with opened(work, tmp_path) as repository, pytest.raises(MissingObject, match="rev-list"):
        list(repository.log("HEAD", 9))


@pytest.mark.parametrize("lost", ["the commit", "its parent", "its tree"])
def test_a_command_that_meets_a_hole_says_what_to_do(work: Path, tmp_path: Path, lost: str) -> None:
    parent = git("rev-parse", "HEAD", cwd=work)
    (work / "plain.yaml").write_text("b: 2\n")
    git("add", ".", cwd=work)
    tip = commit(work, "second")
    oid = {"the commit": tip, "its parent": parent, "its tree": git("rev-parse", f"{tip}^{{tree}}", cwd=work)}[lost]
    (work / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with opened(work, tmp_path) as repository, pytest.raises(GitError) as refused:
        repository.git.run("log", "--first-parent", "--raw", "--end-of-options", tip, "--", "plain.yaml")
    assert "git fsck" in refused.value.hint


def test_a_folder_without_git_and_sha256_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(GitError) as refused:
        opened(tmp_path / "plain", tmp_path)
    assert refused.value.kind == "NotARepository"
    git("init", "-q", "--object-format=sha256", "other", cwd=tmp_path)
    commit(tmp_path / "other", "first")
    with opened(tmp_path / "other", tmp_path) as repository, pytest.raises(GitError) as refused:
        repository.resolve()
    assert refused.value.kind == "UnsupportedObjectFormat"


def test_a_work_tree_whose_repository_is_gone_says_where_it_was(work: Path, tmp_path: Path) -> None:
    """Also inside of another repository, which it does not belong to."""
    git("init", "-q", "-b", "main", cwd=tmp_path)
    git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), cwd=work)
    work.rename(tmp_path / "moved")
    with pytest.raises(GitError, match=rf"there is none at {work}/\.git/worktrees/linked") as refused:
        opened(tmp_path / "linked", tmp_path)
    assert (refused.value.kind, "worktree repair" in refused.value.hint) == ("NotARepository", True)
    assert "plain.yaml" in read_work_tree(tmp_path / "linked")


def test_a_commit_is_read_with_its_trailers(work: Path, tmp_path: Path) -> None:
    message = (
        "Move a\ngroup\n\nBecause: not a trailer here.\n\n"
        "Gitplacer-Step: 2/4\nCo-authored-by: B <b@x>\n  and more\nGitplacer-step: 3/4\n"
    )
    oid = commit(work, message, "--author=Grace H <g@example.com>")
    with opened(work, tmp_path) as repository:
        found = repository.commit("HEAD")
        assert found == Commit(
            id=oid,
            tree=git("rev-parse", "HEAD^{tree}", cwd=work),
            parents=(git("rev-parse", "HEAD~1", cwd=work),),
            author_name="Grace H",
            author_email="g@example.com",
            committer_name="Ada",
            date="2026-01-02T03:04:05+01:00",
            subject="Move a group",
            body=message.partition("\n\n")[2].rstrip("\n"),
            trailers=(("Gitplacer-Step", "2/4"), ("Co-authored-by", "B <b@x> and more"), ("Gitplacer-step", "3/4")),
        )
        assert found.trailer("gitplacer-step") == "3/4"
        assert found.trailer("Gitplacer-Group") is None


@pytest.mark.parametrize(
    ("message", "trailers"),
    [
        ("Key: value\n", ()),  # a subject is no trailer
        ("s\n\nKey: value\n", (("Key", "value"),)),
        ("s\n\nKey: value\n\nlast words\n", ()),
        ("s\n\ntext\nKey: value\n", ()),
        ("s\n\n  Key: value\n", ()),
        ("s\n\nA:\nB: x: y\n", (("A", ""), ("B", "x: y"))),
    ],
)
def test_trailers_are_the_last_paragraph_when_it_is_nothing_else(
    work: Path, tmp_path: Path, message: str, trailers: tuple[tuple[str, str], ...]
) -> None:
    commit(work, message, "--cleanup=verbatim")
    with opened(work, tmp_path) as repository:
        assert repository.commit().trailers == trailers


def test_odd_commits_are_read_anyway(work: Path, tmp_path: Path) -> None:
    tree = git("rev-parse", "HEAD^{tree}", cwd=work)
    for raw, name, date in [
        ("author A <a> 9999999999999999 +0000\ncommitter A <a> 99999999999 +9999", "A", "1970-01-01T00:00:00+00:00"),
        ("author\ncommitter", "", "1970-01-01T00:00:00+00:00"),
        ("author B <b> 1 +0000\ncommitter B <b> 1 -0130\nencoding nonsense", "B", "1969-12-31T22:30:01-01:30"),
        ("author B-9 <b> 1 +0000\ncommitter B <b> 1 -0130\nencoding punycode", "B-9", "1969-12-31T22:30:01-01:30"),
    ]:
        data = f"tree {tree}\n{raw}\n\n".encode() + b"\xff\n"
        oid = git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", cwd=work, input=data)
        with opened(work, tmp_path) as repository:
            found = repository.commit(oid)
            assert (found.author_name, found.date, found.subject) == (name, date, "\ufffd")


def test_history_follows_first_parents(work: Path, tmp_path: Path) -> None:
    git("checkout", "-q", "-b", "side", cwd=work)
    commit(work, "aside")
    git("checkout", "-q", "main", cwd=work)
    for number in range(3):
        commit(work, f"step {number}")
    git("merge", "-q", "--no-ff", "-m", "merge", "side", cwd=work)
    with opened(work, tmp_path) as repository:
        log = list(repository.first_parent_log("main", 100))
        assert [c.subject for c in log] == ["merge", "step 2", "step 1", "step 0", "first"]
        assert [c.subject for c in repository.first_parent_log(log[1].id, 2)] == ["step 2", "step 1"]


def test_many_and_large_blobs_never_block(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"many/{number}.yaml": (b"%d\n" % number) * (1 if number % 50 else 60_000) for number in range(600)}
    stream = b"".join(b"blob\nmark :%d\ndata %d\n%s\n" % (n, len(d), d) for n, d in enumerate(files.values(), 1))
    stream += b"commit refs/heads/many\ncommitter A <a> 1 +0000\ndata 0\n"
    stream += b"".join(b"M 644 :%d %s\n" % (n, path.encode()) for n, path in enumerate(files, 1))
    git("fast-import", "--quiet", cwd=work, input=stream)
    with opened(work, tmp_path) as repository:
        tree = repository.tree(repository.resolve("many"))
        assert tree.read_all(files) == files
        monkeypatch.setattr(objects_module, "MAX_BLOB", 100_000)
        with pytest.raises(BlobTooLarge) as refused:
            tree.read("many/50.yaml")
        assert isinstance(refused.value, KeyError)
        assert str(refused.value).startswith("the file with id")
        assert tree.read("many/1.yaml") == b"1\n"  # and goes on
    with opened(work, tmp_path) as repository:
        with pytest.raises(BlobTooLarge):  # also when no listing told of the size
            repository.objects.read([tree.entries["many/50.yaml"].oid])
        with pytest.raises(MissingObject):
            repository.objects.read([tree.entries["many/1.yaml"].oid, "1" * 40, tree.entries["many/2.yaml"].oid])
        assert repository.objects.read([tree.entries["many/3.yaml"].oid]) == {tree.entries["many/3.yaml"].oid: b"3\n"}


@pytest.mark.parametrize("path", ["..", ".git", ".GIT", "git~1", "."])
def test_a_forged_tree_is_refused(work: Path, tmp_path: Path, path: str) -> None:
    blob = git("rev-parse", "HEAD:plain.yaml", cwd=work)
    inner = git("mktree", cwd=work, input=f"100644 blob {blob}\tx\n".encode())
    raw = b"40000 %s\0%s" % (path.encode(), bytes.fromhex(inner))
    tree = git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", cwd=work, input=raw)
    oid = git("commit-tree", "-m", "forged", tree, cwd=work)
    with opened(work, tmp_path) as repository, pytest.raises(GitError) as refused:
        repository.tree(oid)
    assert refused.value.kind == "MalformedTree"


def test_paths_that_are_not_utf8_are_shown_escaped(work: Path, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(work) + b"/\xff.yaml")).write_text("x")
    git("add", ".", cwd=work)
    oid = commit(work, "odd")
    with opened(work, tmp_path) as repository:
        assert repository.tree(oid).read("\\xff.yaml") == b"x"
    assert read_work_tree(work).read("\\xff.yaml") == b"x"


PARTS = st.sampled_from([*(bytes([c]) for c in b"./\\gGiItT~1 :a\t\xff"), b".git", b"git~1", b".GIT"])
PATHS = st.lists(PARTS, min_size=1, max_size=8).map(b"".join)


@given(st.lists(PATHS, max_size=4))
def test_a_listing_is_refused_for_each_path_that_git_would_take_for_its_own(paths: list[bytes]) -> None:
    listing = b"".join(b"100644 blob %s       1\t%s\0" % (b"a" * 40, path) for path in paths)
    found = [path for path in paths if FORGED.search(b"/" + path + b"/")]
    with pytest.raises(GitError) if found else contextlib.nullcontext():
        refuse_forged(listing, "here")


def test_paths_are_no_git_directory_for_looking_like_one_in_a_listing(work: Path, tmp_path: Path) -> None:
    for name in (b"x\t.git", b".git\xff"):
        Path(os.fsdecode(os.fsencode(work) + b"/" + name)).write_text("x")
    git("add", ".", cwd=work)
    oid = commit(work, "odd")
    with opened(work, tmp_path) as repository:
        assert {"x\t.git", ".git\\xff"} <= set(repository.tree(oid))


def hostile(work: Path, witness: Path) -> None:
    """Fill a repository with everything in it that could start a program; each would leave the witness."""
    script = work.parent / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{witness}'\ncat\n")
    script.chmod(0o755)
    hooks = work / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "fsmonitor-watchman", "post-index-change", "pre-push", "reference-transaction"):
        shutil.copy(script, hooks / hook)
    (work / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (work / ".git" / "info").mkdir(exist_ok=True)
    (work / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil text eol=crlf\n")
    for key in (
        "core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv",
        "diff.evil.command", "diff.external", "core.sshCommand", "core.pager", "core.editor", "gpg.program",
        "trailer.evil.cmd", "core.alternateRefsCommand", "credential.helper", "core.askPass",
        "remote.origin.uploadpack",
    ):  # fmt: skip
        git("config", key, str(script), cwd=work)
    for key, value in {
        "log.showSignature": "true", "core.hooksPath": str(hooks), "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{script}", "protocol.ext.allow": "always", "protocol.allow": "always",
        "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1", "core.worktree": "/",
        "core.untrackedCache": "true", "filter.evil.required": "true",
    }.items():  # fmt: skip
        git("config", key, value, cwd=work)


def test_nothing_in_a_hostile_repository_is_run(work: Path, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    tip = git("rev-parse", "HEAD", cwd=work)
    hostile(work, witness)
    witness.unlink(missing_ok=True)  # what setting it up has run
    with opened(work, tmp_path) as repository:
        tree = repository.tree(repository.resolve("main"))
        assert tree.read("plain.yaml") == b"name: plain.yaml\r\n"
        assert [c.id for c in repository.first_parent_log("HEAD", 5)] == [tip]
        with pytest.raises(MissingObject):
            repository.objects.read(["1" * 40])  # a partial clone would fetch it
        with pytest.raises(GitError):
            repository.tree("2" * 40)
    assert read_work_tree(work).read("plain.yaml") == b"name: plain.yaml\r\n"
    lies_as_committed(work)
    git("config", "--remove-section", "filter.evil", cwd=work)
    lies_as_committed(work)  # which asks git, where there are no filters
    assert not witness.exists()


def test_the_witness_would_notice(work: Path, tmp_path: Path) -> None:
    """The same repository, read with git as it is: the test above would fail if we did that."""
    witness = tmp_path / "witness"
    hostile(work, witness)
    witness.unlink(missing_ok=True)
    subprocess.run(["git", "-c", "core.worktree=", "status"], cwd=work, capture_output=True, check=False)
    assert witness.exists()


def test_the_environment_has_no_say(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    git("init", "-q", str(other), cwd=tmp_path)
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch '{tmp_path}/witness'\n")
    evil.chmod(0o755)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("rubbish [")
    for name, value in {
        "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/nowhere",
        "HOME": str(tmp_path / "home"), "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_NAMESPACE": "x",
        "GIT_CONFIG_GLOBAL": "/nowhere", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(evil), "GIT_CONFIG_PARAMETERS": "'core.bare'='true'", "GIT_TRACE": "2",
        "GIT_EXTERNAL_DIFF": str(evil), "GIT_PAGER": str(evil), "LC_ALL": "de_DE.UTF-8",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with opened(work, tmp_path) as repository:
        assert repository.tree(repository.resolve("main")).read("plain.yaml") == b"name: plain.yaml\r\n"
    assert "plain.yaml" in read_work_tree(work)
    assert not (tmp_path / "witness").exists()


def test_a_missing_git_is_one_clear_line(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with opened(work, tmp_path) as repository, pytest.raises(GitError) as refused:
        repository.resolve()
    assert (refused.value.kind, str(refused.value)) == ("GitMissing", "cannot run git: No such file or directory")
    with pytest.raises(GitError, match="cannot run git"):
        Git(work / ".git").run("version")


@pytest.mark.parametrize(
    ("number", "kind", "hint"),
    [
        (errno.ENOENT, "GitMissing", "install git"),
        (errno.EACCES, "GitMissing", "install git"),
        (errno.EMFILE, "GitFailed", "ulimit -n"),
        (errno.EAGAIN, "GitFailed", "ulimit -u"),
        (errno.ENOMEM, "GitFailed", "more memory"),
    ],
)
def test_a_git_that_cannot_be_started_for_now_is_not_called_missing(
    number: int, kind: str, hint: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", start)
    for begin in (Git(work / ".git").run, Git(work / ".git").start):
        with pytest.raises(GitError, match=f"^cannot run git: {os.strerror(number)}$") as refused:
            begin("version")
        assert (refused.value.kind, hint in refused.value.hint) == (kind, True)
        assert found(refused.value).fault is (Fault.MISCONFIGURED if kind == "GitMissing" else Fault.UNEXPECTED)


@pytest.mark.parametrize("damage", ["version", "config", "gone"])
def test_a_repository_that_git_cannot_open_says_why(work: Path, tmp_path: Path, damage: str) -> None:
    with opened(work, tmp_path) as repository:
        if damage == "version":
            git("config", "core.repositoryFormatVersion", "99", cwd=work)
        elif damage == "config":
            (work / ".git" / "config").write_text("rubbish [")
        else:
            (work / ".git" / "HEAD").unlink()
        for _ in range(2):
            with pytest.raises(GitError, match=r"Expected git repo version|bad config|not a git repository"):
                repository.resolve("main")


def test_what_a_newer_git_made_is_told_with_its_name(work: Path, tmp_path: Path) -> None:
    git("config", "core.repositoryFormatVersion", "1", cwd=work)
    config = work / ".git" / "config"
    config.write_text(config.read_text() + "[extensions]\n\tlater = true\n\tmuchLater = true\n")
    with (
        opened(work, tmp_path) as repository,
        pytest.raises(GitError, match=r"extensions found: later, muchlater$") as refused,
    ):
        repository.resolve("main")
    assert "a newer git" in refused.value.hint


@pytest.mark.parametrize(("file", "said"), [("packed-refs", "unexpected line in"), ("HEAD", "not a git repository")])
def test_a_repository_whose_own_files_are_damaged_has_a_hint(work: Path, tmp_path: Path, file: str, said: str) -> None:
    git("pack-refs", "--all", cwd=work)
    with (work / ".git" / file).open("a" if file == "packed-refs" else "w") as written:
        written.write("garbage\n")
    bare = (work / ".git").rename(tmp_path / "damaged.git")
    with pytest.raises(GitError, match=said) as refused:
        refs_of(Address.parse(str(bare), base_dir=tmp_path), "refs/heads/main")
    assert "it is damaged" in refused.value.hint


# ── work trees ──


def test_a_work_tree_is_read_as_it_lies(work: Path, tmp_path: Path) -> None:
    (work / ".gitignore").write_text("*.tmp\nbuilt/\n")
    (work / "plain.yaml").write_bytes(b"edited: true\n")
    (work / "new.yaml").write_bytes(b"untracked\n")
    (work / "scratch.tmp").write_bytes(b"ignored\n")
    (work / "built").mkdir()
    (work / "built" / "x.yaml").write_bytes(b"ignored\n")
    (work / "run.sh").unlink()
    (work / "nested").rename(tmp_path / "elsewhere")
    (work / "nested").symlink_to(tmp_path / "elsewhere")  # what was tracked lies behind a link now
    git("init", "-q", "vendored", cwd=work)
    commit(work / "vendored", "nested repository")
    tree = read_work_tree(work)
    assert set(tree) == {
        *ODD_NAMES, ".gitignore", "plain.yaml", "new.yaml", "link", "nested", "sub", "vendored"
    }  # fmt: skip
    assert tree.read_all(["plain.yaml", "new.yaml"]) == {"plain.yaml": b"edited: true\n", "new.yaml": b"untracked\n"}
    assert {path: entry.mode for path, entry in tree.entries.items() if not entry.is_text} == {
        "link": SYMLINK, "nested": SYMLINK, "sub": SUBMODULE, "vendored": SUBMODULE
    }  # fmt: skip
    assert list(read_work_tree(work / "ünï")) == ["cödé.yaml"]
    assert list(read_work_tree(work / "built")) == ["x.yaml"]  # named, so meant


def test_a_file_where_a_folder_was_and_a_folder_where_a_file_was_lie_as_they_do(work: Path) -> None:
    """Git lists what it tracked there besides, and neither is a submodule or something that cannot be read."""
    shutil.rmtree(work / "nested")
    (work / "nested").write_bytes(b"now a file\n")
    (work / "plain.yaml").unlink()
    (work / "plain.yaml" / "deep").mkdir(parents=True)
    (work / "plain.yaml" / "deep" / "x.yaml").write_bytes(b"now below\n")
    tree = read_work_tree(work)
    there = {path for path in tree if path.startswith(("nested", "plain.yaml"))}
    assert there == {"nested", "plain.yaml/deep/x.yaml"}
    assert tree.read_all(there) == {"nested": b"now a file\n", "plain.yaml/deep/x.yaml": b"now below\n"}
    assert tree.entries["sub"].mode == SUBMODULE


def test_an_unchanged_work_tree_is_its_commit(work: Path, tmp_path: Path) -> None:
    with opened(work, tmp_path) as repository:
        committed = repository.tree(repository.resolve())
    lying = read_work_tree(work)
    entries = {path: entry for path, entry in lying.entries.items() if entry.mode != SUBMODULE}
    assert entries == {path: entry for path, entry in committed.entries.items() if entry.mode != SUBMODULE}


def test_what_is_no_file_is_named_and_never_opened(work: Path, tmp_path: Path) -> None:
    (work / "plain.yaml").unlink()
    os.mkfifo(work / "plain.yaml")  # who opened it would wait for somebody who writes
    assert not lies_as_committed(work)
    tree = read_work_tree(work)
    assert (tree.entries["plain.yaml"].mode, tree.entries["plain.yaml"].is_text) == (SPECIAL, False)
    with pytest.raises(GitError, match="is no file"):
        tree.read("plain.yaml")
    tree = read_work_tree(work / "nested")
    path = next(path for path, entry in tree.entries.items() if entry.is_text)
    (work / "nested" / path).unlink()
    os.mkfifo(work / "nested" / path)
    with pytest.raises(GitError, match="changed while it was read"):
        tree.read(path)


def test_a_folder_outside_git_is_walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plain"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "x.yaml").write_bytes(b"x")
    (folder / "up").symlink_to("..")
    git("init", "-q", "a/repo", cwd=folder)
    with socket.socket(socket.AF_UNIX) as sock:
        monkeypatch.chdir(folder)  # the path of a socket must be short
        sock.bind("socket")
        tree = read_work_tree(folder)
    assert {path: entry.mode for path, entry in tree.entries.items()} == {
        "a/x.yaml": FILE, "up": SYMLINK, "a/repo": SUBMODULE, "socket": SPECIAL
    }  # fmt: skip


@pytest.mark.parametrize("is_repository", [True, False])
def test_a_folder_of_git_among_the_files_is_nobodys_commit(tmp_path: Path, is_repository: bool) -> None:
    if is_repository:
        git("init", "-q", cwd=tmp_path)
    (tmp_path / "a" / "git~1").mkdir(parents=True)
    (tmp_path / "a" / "git~1" / "x.yaml").write_bytes(b"x")
    with pytest.raises(GitError, match="git itself refuses: 'a/git~1") as refused:
        read_work_tree(tmp_path)
    assert "rename it" in refused.value.hint and "commit" not in refused.value.hint


@pytest.mark.parametrize("is_repository", [True, False])
def test_a_folder_that_cannot_be_looked_into_is_not_passed_over(tmp_path: Path, is_repository: bool) -> None:
    """Its files would be taken for files that are gone. Too long a path stands for a missing permission, which root does not miss."""
    if is_repository:
        git("init", "-q", cwd=tmp_path)
    (tmp_path / "x.yaml").write_bytes(b"x")
    assert list(read_work_tree(tmp_path)) == ["x.yaml"]
    above = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=above)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    with pytest.raises(GitError, match=r"^cannot read .*/dddd") as refused:
        read_work_tree(tmp_path)
    assert refused.value.kind == "Unreadable" and "permissions" in refused.value.hint
    if is_repository:
        (tmp_path / ".gitignore").write_bytes(b"ddd*\n")
        assert list(read_work_tree(tmp_path)) == [".gitignore", "x.yaml"]


def test_a_file_that_changes_while_it_is_read_is_no_mixture(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"one")
    tree = read_work_tree(tmp_path)
    (tmp_path / "x.yaml").write_bytes(b"two")
    with pytest.raises(GitError, match="changed while it was read"):
        tree.read("x.yaml")


def test_a_large_file_is_listed_and_not_read(tmp_path: Path) -> None:
    with (tmp_path / "model.bin").open("wb") as file:
        file.truncate(objects_module.MAX_BLOB + 1)
    tree = read_work_tree(tmp_path)
    assert tree.entries["model.bin"].size == objects_module.MAX_BLOB + 1
    with pytest.raises(BlobTooLarge):
        tree.read("model.bin")


# ── addresses and messages ──


@pytest.mark.parametrize(
    "text",
    ["ext::sh -c id", "fd::3", "file:///tmp", "git://host/x", "ftp://host/x", "-x", "--upload-pack=id",
     "ssh://-oProxyCommand=id/x", "ssh://git@-x/y", "https://ada:s3cret@host/x", "https://ada:s3/cret@host/x",
     "ssh://ada:s3cret@host/x", "ada:s3cret@host:x", "http://example.com/x", "http://127.0.0.1.example.com/x",
     "http://localhost@example.com/x", "https://host/x?token=s3cret", "https://s3cret@host/x", "http://s3cret@localhost/x", "a\nb",
     "https://host/\x1b[31m", "", "https://", "https://host", "https://ho st/x"],
)  # fmt: skip
def test_an_address_that_is_no_plain_repository_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(GitError) as refused:
        Address.parse(text, base_dir=tmp_path)
    assert refused.value.kind == "BadAddress"
    assert refused.value.hint
    assert "s3cret" not in f"{refused.value.message} {refused.value.hint}"
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    ("text", "protocol", "normalised"),
    [
        ("https://github.com/org/fleet", "https", "github.com/org/fleet"),
        ("https://GitHub.com:443/org//fleet.git/", "https", "github.com/org/fleet"),
        ("ssh://git@github.com/org/fleet.git", "ssh", "github.com/org/fleet"),
        ("git@github.com:org/fleet.git", "ssh", "github.com/org/fleet"),
        ("github.com:org/fleet", "ssh", "github.com/org/fleet"),
        ("ssh://git@host:2222/org/fleet", "ssh", "host:2222/org/fleet"),
        ("http://localhost:8080/fleet", "http", "localhost:8080/fleet"),
        ("http://127.3.2.1/fleet", "http", "127.3.2.1/fleet"),
        ("http://[::1]:8080/fleet", "http", "[::1]:8080/fleet"),
    ],
)
def test_spellings_of_one_repository_are_equal(tmp_path: Path, text: str, protocol: str, normalised: str) -> None:
    address = Address.parse(text, base_dir=tmp_path)
    assert (address.protocol, address.normalised, address.url) == (protocol, normalised, text)


def test_a_local_name_with_a_colon_is_a_path(tmp_path: Path) -> None:
    git("init", "-q", "odd:name", cwd=tmp_path)
    assert Address.parse("odd:name", base_dir=tmp_path).is_local
    with pytest.raises(GitError, match="there is no directory"):
        Address.parse("./absent:name", base_dir=tmp_path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fatal: 'https://ada:pw@host/x' failed", "fatal: 'https://***@host/x' failed"),
        ("https://token@host/x and https://a:p@ss/w@host/y", "https://***@host/x and https://***@host/y"),
        ("ssh://git@host/x, git@host:x", "ssh://git@host/x, git@host:x"),
        ("ssh://git:pw@host/x", "ssh://***@host/x"),
        ("nothing here", "nothing here"),
    ],
)
def test_messages_carry_no_credentials(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_messages_are_one_line_without_control_characters() -> None:
    assert one_line("a\x1b[31mb\r\nc\u202ed\x07 ") == "ab c d"
    assert one_line("x" * 600) == "x" * 499 + "…"


def test_a_tree_that_is_compared_with_the_one_before_is_as_if_it_were_listed(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitplacer.git.listings.LARGE", 1)
    monkeypatch.setattr(reading, "_LISTINGS", Listings())
    whole: list[str] = []
    listing = Repository._listed_whole
    monkeypatch.setattr(Repository, "_listed_whole", lambda self, tree: (whole.append(tree), listing(self, tree))[1])
    lot = Random(7)
    with opened(work, tmp_path / "cache") as repository:
        for number in range(25):
            folder = lot.choice(("", "a/", "a/b/", "c/"))
            path = work / f"{folder}{lot.choice('xyz')}"
            there = path.is_symlink() or path.is_file()
            if there and lot.random() < 0.3:
                path.unlink()
            elif there or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                if lot.random() < 0.2:
                    path.symlink_to("elsewhere")
                else:
                    path.write_text(f"{lot.choice((1, 2, number))}\n" * lot.randrange(3))
                    path.chmod(lot.choice((0o644, 0o644, 0o755)))
            git("add", "--all", cwd=work)
            git("commit", "-q", "--allow-empty", "-m", str(number), cwd=work)
            oid = repository.tree_id(git("rev-parse", "HEAD", cwd=work))
            compared = repository._listed(oid).entries
            assert list(compared.items()) == list(listing(repository, oid).items()), number
        assert len(whole) == 1, "only the first was listed"
        monkeypatch.setattr(reading, "_FEW", 0)
        (work / "last").write_text("last")
        git("add", "--all", cwd=work)
        git("commit", "-q", "-m", "last", cwd=work)
        assert "last" in repository.tree(git("rev-parse", "HEAD", cwd=work))
        assert len(whole) == 2, "too much was changed to be compared"


def test_a_tree_of_another_branch_is_not_compared(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitplacer.git.listings.LARGE", 1)
    monkeypatch.setattr(reading, "_LISTINGS", Listings())
    compared: list[str] = []
    changes = Repository.changes
    monkeypatch.setattr(Repository, "changes", lambda self, *trees: (compared.extend(trees), changes(self, *trees))[1])
    first = git("rev-parse", "HEAD^{tree}", cwd=work)
    git("read-tree", "--empty", cwd=work)
    (work / "quite").write_text("else")
    git("add", "quite", cwd=work)
    second = git("write-tree", cwd=work)
    git("read-tree", first, cwd=work)
    git("update-index", "--add", "--cacheinfo", f"100644,{blob_id(b'else')},more", cwd=work)
    third = git("write-tree", cwd=work)
    with opened(work, tmp_path / "cache") as repository:
        for tree, name in ((first, "plain.yaml"), (second, "quite"), (third, "more")):
            assert name in repository._listed(tree).entries
            assert len(repository._listed(tree)) == len(repository._listed_whole(tree))
    assert compared == [first, third]


@pytest.mark.parametrize("left", [0.01, 0.3, 0.6], ids=lambda part: f"{part:.0%} of it")
def test_an_index_that_was_cut_off_is_told_as_that(work: Path, tmp_path: Path, left: float) -> None:
    """Git lists empty names by it, which nobody has in a work tree, or says that an entry has a format that it does not know."""
    for number in range(20):
        (work / f"file-{number:02}.yaml").write_text("a: 1\n")
    git("add", ".", cwd=work)
    whole = read_work_tree(work)
    index = work / ".git" / "index"
    os.truncate(index, int(index.stat().st_size * left))
    with pytest.raises(GitError) as refused:
        read_work_tree(work)
    assert refused.value.kind == "DamagedRepository"
    assert refused.value.message == f"the index of the work tree {work} is damaged: {index}"
    (command,) = re.findall(r"make it anew: (rm .* reset);", refused.value.hint)
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)
    assert read_work_tree(work).entries == whole.entries


def test_a_path_that_git_refuses_is_none_of_a_damaged_index(work: Path) -> None:
    (work / "GIT~1").write_text("")
    with pytest.raises(GitError) as refused:
        read_work_tree(work)
    assert refused.value.kind == "MalformedTree"
