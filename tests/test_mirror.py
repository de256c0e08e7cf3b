"""A mirror over a year: it grows by what is new, heals what was left broken, and is made again when it has become too large."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitplacer.git import mirror as mirror_module
from gitplacer.git import program
from gitplacer.git.address import Address
from gitplacer.git.mirror import Unreachable, refs_of
from gitplacer.git.reading import Repository
from tests.gitservers import Served, git


class Committed(Served):
    """One with commits. A path is fetched from as an address is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.commit("first")

    def commit(self, text: str, branch: str = "main") -> str:
        tree = git("mktree", cwd=self.bare, input=f"100644 blob {self.blob(text.encode())}\tfile.yaml\n".encode())
        refs = refs_of(self.address)
        parents = ["-p", refs[f"refs/heads/{branch}"]] if f"refs/heads/{branch}" in refs else []
        made = git("commit-tree", tree, *parents, "-m", text[:20], cwd=self.bare)
        git("update-ref", f"refs/heads/{branch}", made, cwd=self.bare)
        return made

    def read(self) -> bytes:
        wanted = {"refs/heads/main": refs_of(self.address)["refs/heads/main"]}
        with Repository.mirrored(self.address, self.mirror, wanted) as repository:
            return repository.tree(repository.resolve("main")).read("file.yaml")


@pytest.fixture
def served(tmp_path: Path) -> Committed:
    return Committed(tmp_path)


def test_what_is_there_is_not_fetched_again(served: Committed) -> None:
    served.fetch()
    before = {path for path in served.mirror.path.rglob("*") if path.is_file()}
    inodes = {path: path.stat().st_ino for path in before}
    served.commit("second")
    assert served.read() == b"second"
    assert all(path.stat().st_ino == inodes[path] for path in before if "objects" in path.parts)


def test_only_what_has_changed_is_asked_for(served: Committed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git holds each ref that it is told against each that there is."""
    for number in range(3):
        served.commit(f"topic {number}", f"topic-{number}")
    told: list[bytes] = []
    run = program.Git.run

    def noting(self: program.Git, *args: str, **how: Any) -> bytes:
        if "fetch" in args:
            told.append(how["input"])
        return run(self, *args, **how)

    monkeypatch.setattr(program.Git, "run", noting)
    before = served.mirror.fetch(refs_of(served.address))
    made = served.commit("more", "topic-1")
    assert served.mirror.fetch(refs_of(served.address)) == {**before, "refs/heads/topic-1": made}
    assert [specs.count(b"\n") for specs in told] == [4, 1]
    assert told[1].startswith(b"+refs/heads/topic-1:")


def test_a_shallow_clone_that_is_served_is_named(served: Committed, tmp_path: Path) -> None:
    """Git fetches nothing of it and ends well."""
    served.commit("second")
    git("clone", "-q", "--bare", "--depth=1", served.bare.as_uri(), "shallow.git", cwd=tmp_path)
    address = Address.parse(str(tmp_path / "shallow.git"), base_dir=tmp_path)
    mirror = mirror_module.Mirror(address, tmp_path / "cache")
    for _ in range(2):
        with pytest.raises(Unreachable, match="it is a shallow clone") as refused:
            mirror.fetch(refs_of(address))
        assert "--unshallow" in refused.value.hint


def lock(path: str) -> Callable[[Committed], None]:
    return lambda served: (served.mirror.path / path).write_text("")


def ref_lock(served: Committed) -> None:
    for ref in list((served.mirror.path / "refs/mirror").iterdir()):
        ref.with_name(f"{ref.name}.lock").write_text("")


def truncated(served: Committed) -> None:
    git("repack", "-adq", cwd=served.mirror.path)
    (pack,) = served.mirror.path.glob("objects/pack/*.pack")
    pack.chmod(0o644)
    pack.write_bytes(pack.read_bytes()[:40])


def no_refs(served: Committed) -> None:
    for ref in (served.mirror.path / "refs/mirror").iterdir():
        ref.unlink()


def bad_ref(served: Committed) -> None:
    for ref in (served.mirror.path / "refs/mirror").iterdir():
        ref.write_text("rubbish\n")


@pytest.mark.parametrize(
    "damage",
    [lock("packed-refs.lock"), lock("shallow.lock"), lock("config.lock"), ref_lock, truncated, no_refs, bad_ref],
    ids=["packed-refs", "shallow", "config", "a ref's lock", "a truncated pack", "no refs", "bad refs"],
)
@pytest.mark.parametrize("moved", [True, False])
def test_a_mirror_heals_whatever_was_left_in_it(
    served: Committed, damage: Callable[[Committed], None], moved: bool
) -> None:
    served.fetch()
    damage(served)
    if moved:
        served.commit("second")
    assert served.read() == (b"second" if moved else b"first")
    served.commit("third")
    assert served.read() == b"third"


def test_a_server_that_is_away_costs_no_mirror(served: Committed) -> None:
    served.fetch()
    away = served.bare.with_suffix(".away")
    served.bare.rename(away)
    with pytest.raises(Unreachable):
        served.mirror.fetch({"refs/heads/main": "1" * 40})
    away.rename(served.bare)
    inode = served.mirror.path.stat().st_ino
    assert served.read() == b"first" and served.mirror.path.stat().st_ino == inode


def test_what_killed_fetches_have_left_does_not_pile_up(served: Committed) -> None:
    served.fetch()
    for number in range(3):
        (served.mirror.path / "objects/pack" / f"tmp_pack_{number}").write_bytes(b"x" * 1000)
    served.commit("second")
    served.fetch()
    assert not list(served.mirror.path.glob("objects/pack/tmp_*"))


def test_branches_that_are_gone_do_not_make_a_mirror_grow_for_ever(
    served: Committed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirror_module, "_SPARE", 60_000)
    served.fetch()
    most, total = 0, 0
    for number in range(20):
        text = "".join(f"{number} {line} {line * 7919 % 10007:x}\n" for line in range(2500))
        total += len(zlib.compress(text.encode()))
        served.commit(text, branch=f"proposed/{number}")
        served.fetch()
        most = max(most, served.size())
        git("update-ref", "-d", f"refs/heads/proposed/{number}", cwd=served.bare)
    assert most < 150_000 < total
    assert served.read() == b"first"


def test_many_fetches_leave_few_packs(served: Committed, monkeypatch: pytest.MonkeyPatch) -> None:
    run = mirror_module.Git.run

    def soon(self: mirror_module.Git, *args: str, **how: object) -> bytes:
        """Gather after 5 packs, not after 200."""
        sooner = ("gc.autoPackLimit=5" if arg.startswith("gc.autoPackLimit=") else arg for arg in args)
        return run(self, *sooner, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(mirror_module.Git, "run", soon)
    for number in range(15):
        served.commit(f"text {number}")
        served.fetch()
        assert len(list(served.mirror.path.glob("objects/pack/*.pack"))) <= 7


def test_a_server_that_never_answers_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "cat > /dev/null #")  # listens, says nothing, and ends with git
    monkeypatch.setattr(program, "patience", lambda talk: 0.05)
    with pytest.raises(Unreachable, match=r"cannot reach .*: git ls-remote has not ended within 0.05 seconds"):
        refs_of(Address.parse("git@127.0.0.1:fleet.git", base_dir=tmp_path))
