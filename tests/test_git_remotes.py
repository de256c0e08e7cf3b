"""Remotes over smart HTTP (TLS) and ssh: what is read, what lands, and what every failure is called."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gitplacer.git.address import Address
from gitplacer.git.mirror import Unreachable
from gitplacer.git.newcommits import NewCommit, Person
from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.publishing import Deployment
from gitplacer.git.pushing import LostRace, PushRefused
from gitplacer.git.reading import NoSuchRevision, Repository
from gitplacer.tree import Changes
from tests.gitservers import SSHD, closed_port, git, https_server, ssh_server

pytestmark = pytest.mark.server

WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)


def change(message: str, **files: str) -> NewCommit:
    written = {f"{name}.yaml": text.encode() for name, text in files.items()}
    return NewCommit(changes=Changes(written), message=message, author=Person("bot", "bot@example.com"), when=WHEN)


@dataclass(frozen=True)
class Remote:
    """A bare repository with one commit, and how to reach it from elsewhere."""

    bare: Path
    address: Address
    cache: Path

    def deployment(self, branch: str = "main") -> Deployment:
        return Deployment.open(self.address, branch, self.cache)

    def log(self) -> list[str]:
        return git("log", "--format=%s", "main", cwd=self.bare).splitlines()


@pytest.fixture(params=["https", "ssh"])
def remote(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    bare = tmp_path / "served" / "fleet.git"
    work = tmp_path / "work"
    git("init", "-q", "-b", "main", str(work), cwd=tmp_path)
    (work / "foreign.yaml").write_text("kept: true\n")
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "first", cwd=work)
    git("clone", "-q", "--bare", str(work), str(bare), cwd=tmp_path)
    git("config", "http.receivepack", "true", cwd=bare)
    if request.param == "ssh" and not SSHD:
        pytest.skip("sshd is not installed (Debian: openssh-server)")
    server = https_server(tmp_path / "served", tmp_path) if request.param == "https" else ssh_server(tmp_path)
    with server as (url, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        url += "/fleet.git" if request.param == "https" else str(bare)
        yield Remote(bare, Address.parse(url, base_dir=tmp_path), tmp_path / "cache")


def test_a_remote_is_read_and_followed(remote: Remote) -> None:
    git("tag", "v1", "main", cwd=remote.bare)
    git("branch", "side/one", "main", cwd=remote.bare)
    with Repository.open(remote.address, remote.cache) as repository:
        tip = repository.default_branch_tip()
        assert repository.tree(tip).read("foreign.yaml") == b"kept: true\n"
        with pytest.raises(NoSuchRevision):
            repository.resolve("side/one")  # was not asked for
    with remote.deployment() as deployment:
        second = deployment.publish([change("second", a="1")])
    for rev, expected in ((None, second), ("main", second), ("v1", tip), ("side/one", tip), (tip, tip), (tip[:9], tip)):
        with Repository.open(remote.address, remote.cache, fetch=rev) as repository:
            assert repository.resolve(rev) == expected
            assert repository.default_branch_tip() == second
            assert [commit.subject for commit in repository.first_parent_log(second, 9)] == ["second", "first"]


def test_a_tag_of_what_is_no_commit_is_no_revision(remote: Remote) -> None:
    """And neither a sign that the mirror is damaged, nor a reason to look for another ref of that name."""
    git("tag", "files", "main^{tree}", cwd=remote.bare)
    git("tag", "-a", "-m", "for all", "v1", "main", cwd=remote.bare)
    with Repository.open(remote.address, remote.cache, fetch=["files", "v1"]) as repository:
        assert repository.resolve("v1") == repository.default_branch_tip()
        for rev in ("files", "files~1", "v1~1"):
            with pytest.raises(NoSuchRevision):
                repository.resolve(rev)


def test_a_name_of_nothing_brings_no_branches_but_may_be_meant_as_one(remote: Remote) -> None:
    """Of thousands of branches git needs a minute to bring. What they are called is known without that."""
    git("branch", "topic", "main", cwd=remote.bare)
    with Repository.open(remote.address, remote.cache, fetch="topik") as repository:
        assert list(repository.refs) == ["HEAD"]
        with pytest.raises(NoSuchRevision) as refused:
            repository.resolve("topik")
    assert refused.value.hint == 'did you mean "topic"?'


def test_a_branch_that_is_gone_is_not_remembered(remote: Remote) -> None:
    git("branch", "topic", "main", cwd=remote.bare)
    with Repository.open(remote.address, remote.cache, fetch="topic") as repository:
        assert repository.resolve("topic")
    git("branch", "-D", "topic", cwd=remote.bare)
    git("branch", "topic/two", "main", cwd=remote.bare)
    with Repository.open(remote.address, remote.cache, fetch=["topic", "topic/two"]) as repository:
        with pytest.raises(NoSuchRevision):
            repository.resolve("topic")
        assert repository.resolve("topic/two")


@pytest.mark.parametrize("damage", ["objects", "HEAD", "a blob"])
def test_a_damaged_mirror_is_made_anew(remote: Remote, damage: str) -> None:
    with Repository.open(remote.address, remote.cache) as repository:
        tip = repository.default_branch_tip()
    (mirror,) = remote.cache.glob("repos/*.git")
    if damage == "HEAD":
        (mirror / "HEAD").write_text("rubbish")
    elif damage == "objects":
        shutil.rmtree(mirror / "objects")
        (mirror / "objects").mkdir()
    else:
        blob = git("rev-parse", "main:foreign.yaml", cwd=remote.bare)
        (pack,) = mirror.glob("objects/pack/*.pack")
        packed = pack.read_bytes()
        for file in mirror.glob("objects/pack/*"):
            file.unlink()
        git("unpack-objects", "-q", cwd=mirror, input=packed)
        loose = mirror / "objects" / blob[:2] / blob[2:]
        assert loose.exists()
        loose.unlink()
    with Repository.open(remote.address, remote.cache) as repository:
        assert repository.tree(repository.resolve(tip)).read("foreign.yaml") == b"kept: true\n"


def test_what_is_published_lands_with_the_inputs_it_came_from(remote: Remote) -> None:
    with remote.deployment() as deployment:
        tip = deployment.publish([change("one", a="1"), change("two", a="2")], inputs=change("inputs", capacity="c"))
    assert remote.log() == ["two", "one", "first"]
    assert git("rev-parse", "main", cwd=remote.bare) == tip
    assert git("ls-tree", "--name-only", INPUTS, cwd=remote.bare) == "capacity.yaml"
    with remote.deployment() as again:
        assert again.tip == tip
        assert again.tree.read_all(["a.yaml", "foreign.yaml"]) == {"a.yaml": b"2", "foreign.yaml": b"kept: true\n"}
        again.publish([change("three", a="3")], inputs=change("inputs again", capacity="c"))
    assert git("log", "--format=%s", INPUTS, cwd=remote.bare) == "inputs"  # the same inputs: no commit
    with remote.deployment() as again:
        again.publish([change("four", a="4")], inputs=change("other inputs", other="d"))
    assert git("log", "--format=%s", INPUTS, cwd=remote.bare) == "other inputs\ninputs"
    assert git("ls-tree", "--name-only", INPUTS, cwd=remote.bare) == "other.yaml"


def test_the_first_commit_makes_the_branch(remote: Remote) -> None:
    git("update-ref", "-d", "refs/heads/main", cwd=remote.bare)
    with remote.deployment() as deployment:
        assert deployment.tip is None
        deployment.publish([change("first ever", a="1")], inputs=change("inputs", capacity="c"))
    assert remote.log() == ["first ever"]


def test_of_two_writers_one_lands_and_the_other_recomputes(remote: Remote) -> None:
    with remote.deployment() as first, remote.deployment() as second:
        assert first.tip == second.tip
        first.publish([change("from first", a="1")], inputs=change("inputs", capacity="c"))
        with pytest.raises(LostRace):
            second.publish([change("from second", b="1")], inputs=change("inputs", capacity="d"))
    with remote.deployment() as again:
        again.publish([change("from second", b="1")], inputs=change("inputs", capacity="d"))
    assert remote.log() == ["from second", "from first", "first"]
    with remote.deployment() as after:
        assert list(after.tree) == ["a.yaml", "b.yaml", "foreign.yaml"]


def test_many_writers_at_once_lose_nothing(remote: Remote) -> None:
    start = threading.Barrier(3)
    errors: list[Exception] = []

    def write(writer: str) -> None:
        start.wait()
        try:
            for number in range(2):
                landed = False
                while not landed:
                    with remote.deployment() as deployment:
                        name = f"{writer}{number}"
                        try:
                            deployment.publish([change(name, **{name: "x"})], inputs=change(name, **{name: "y"}))
                            landed = True
                        except LostRace:
                            pass
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(remote.log()) == ["a0", "a1", "b0", "b1", "c0", "c1", "first"]
    assert len(git("log", "--format=%s", INPUTS, cwd=remote.bare).splitlines()) == 6


def test_a_hook_that_declines_is_no_lost_race(remote: Remote) -> None:
    hook = remote.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nprintf 'ask \\033[31mthe owners\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    with remote.deployment() as deployment, pytest.raises(PushRefused) as refused:
        deployment.publish([change("one", a="1")], inputs=change("inputs", capacity="c"))
    assert "pre-receive hook declined; ask the owners" in refused.value.message
    assert remote.log() == ["first"]
    assert git("branch", "--list", INPUTS, cwd=remote.bare) == ""


def test_what_cannot_be_stored_is_not_put_down_to_a_hook(remote: Remote) -> None:
    """A size stands for all that keeps a server from storing it: git says the same where it may not write, or the disk is full."""
    git("config", "receive.maxInputSize", "1", cwd=remote.bare)
    with remote.deployment() as deployment, pytest.raises(PushRefused) as refused:
        deployment.publish([change("one", a="1")], inputs=change("inputs", capacity="c"))
    assert "what was pushed could not be stored there: " in refused.value.message
    assert "pack exceeds maximum allowed size" in refused.value.message and "unpacker" not in refused.value.message
    assert "room" in refused.value.hint and "hooks" not in refused.value.hint
    assert remote.log() == ["first"]


def test_a_remote_that_takes_no_pushes_refuses(remote: Remote) -> None:
    if remote.address.protocol != "https":
        pytest.skip("a web server decides this; ssh leaves it to file permissions")
    git("config", "http.receivepack", "false", cwd=remote.bare)
    with remote.deployment() as deployment, pytest.raises(PushRefused, match="403"):
        deployment.publish([change("one", a="1")])


def test_a_server_without_atomic_pushes_is_told_apart(remote: Remote) -> None:
    git("config", "receive.advertiseAtomic", "false", cwd=remote.bare)
    with remote.deployment() as deployment, pytest.raises(PushRefused, match="cannot push two branches atomically"):
        deployment.publish([change("one", a="1")], inputs=change("inputs", capacity="c"))
    assert remote.log() == ["first"]
    with remote.deployment() as deployment:
        deployment.publish([change("one", a="1")])  # one branch needs no atomicity
    assert remote.log() == ["one", "first"]


@pytest.mark.parametrize("url", ["https://localhost:{port}/fleet.git", "ssh://git@127.0.0.1:{port}/fleet.git"])
def test_a_dead_port_is_unreachable(tmp_path: Path, url: str) -> None:
    address = Address.parse(url.format(port=closed_port()), base_dir=tmp_path)
    with pytest.raises(Unreachable, match="cannot reach"):
        Repository.open(address, tmp_path / "cache")
    with pytest.raises(Unreachable, match="cannot reach"):
        Deployment.open(address, "main", tmp_path / "cache")


@pytest.mark.parametrize(
    ("is_there", "hint"),
    [
        (
            False,
            "there is no key file {folder}/nokey: check GIT_SSH_COMMAND, and what is mounted",
        ),
        (True, "its server knows no key of ours: check ssh-agent, or GIT_SSH_COMMAND"),
    ],
    ids=["a key that is not there", "a key that nobody knows"],
)
def test_what_ssh_only_warns_of_is_not_why(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool, hint: str
) -> None:
    if remote.address.protocol != "ssh":
        pytest.skip("ssh warns")
    command = os.environ["GIT_SSH_COMMAND"].replace(f"-i {tmp_path}/user", f"-i {tmp_path}/nokey")
    known = f"-o UserKnownHostsFile={tmp_path}/none -o StrictHostKeyChecking=accept-new"  # which ssh warns of each time
    monkeypatch.setenv("GIT_SSH_COMMAND", re.sub(r"-o UserKnownHostsFile=\S+", known, command))
    if is_there:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "nokey")], check=True)
    with pytest.raises(Unreachable) as refused:
        Repository.open(remote.address, tmp_path / "cache")
    assert refused.value.kind == "AccessDenied"
    assert "Permission denied (" in refused.value.message
    assert refused.value.hint == hint.format(folder=tmp_path)


def test_a_certificate_nobody_vouches_for_is_unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_SSL_CAINFO", raising=False)
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")  # is not passed on
    with https_server(tmp_path, tmp_path) as (url, _):
        address = Address.parse(f"{url}/fleet.git", base_dir=tmp_path)
        with pytest.raises(Unreachable, match="certificate"):
            Repository.open(address, tmp_path / "cache")


def test_what_the_server_does_not_have_is_unreachable_and_names_no_token(remote: Remote, tmp_path: Path) -> None:
    if remote.address.protocol != "https":
        pytest.skip("tokens stand in https addresses")
    url = remote.address.url.replace("https://", "https://s3cret@").replace("fleet", "nothing")
    with pytest.raises(Unreachable) as error:
        Repository.open(replace(remote.address, url=url), tmp_path / "cache")
    assert "s3cret" not in f"{error.value} {error.value!r} {error.value.hint}"
    assert "not found" in error.value.message
