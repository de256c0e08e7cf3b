"""A disk of ours that is full, or that nobody may write to, is told as that, with the folder and a remedy: not as a server that is away."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitplacer.git import storing
from gitplacer.git.mirror import Mirror, refs_of
from gitplacer.git.program import CommandFailed, Git, GitError
from gitplacer.git.scratch import scratch_folder
from gitplacer.git.storing import NotStored, stored_in
from tests.gitservers import Served, git


@pytest.mark.parametrize(
    ("said", "is_ours"),
    [
        ("fatal: write error: No space left on device", True),
        ("fatal: sha1 file '/c/objects/pack/tmp_idx_x' write error. Out of diskspace\nfatal: fetch-pack: invalid index-pack output", True),
        ("error: unable to write file objects/12/34: Disk quota exceeded", True),
        ("remote: fatal: write error: No space left on device\nfatal: early EOF", False),
        ("bash: cannot create temp file for here-document: No space left on device\nfatal: Could not read from remote", False),
        ("fatal: unable to access 'https://h/x/': Could not resolve host: h", False),
    ],
)  # fmt: skip
def test_what_git_says_of_a_full_disk_is_believed_where_it_speaks_for_itself(
    said: str, is_ours: bool, tmp_path: Path
) -> None:
    with pytest.raises(GitError) as caught, stored_in(tmp_path, "SOME_FOLDER"):
        raise CommandFailed("fetch", b"", said.encode())
    assert isinstance(caught.value, NotStored if is_ours else CommandFailed)
    if is_ours:
        assert str(caught.value) == f"cannot write to {tmp_path}: No space left on device"
        assert caught.value.hint == "make room there, or set SOME_FOLDER to a directory of your own that has some"


def test_where_git_gives_no_reason_the_folder_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(dir: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system", f"{dir}/tmp1")

    monkeypatch.setattr(storing.tempfile, "TemporaryFile", closed)
    with pytest.raises(NotStored) as caught, stored_in(tmp_path, "SOME_FOLDER"):
        raise CommandFailed("init", b"", b"fatal: could not set 'core.filemode' to 'true'")
    assert str(caught.value) == f"cannot write to {tmp_path}: Read-only file system"
    assert caught.value.hint == "set SOME_FOLDER to a directory of your own"


def test_a_mirror_of_which_a_file_is_somebody_elses_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after one run by root."""
    served = Served(tmp_path)
    served.fetch()
    lock = served.mirror.path.with_suffix(".lock")

    def refused(self: Path, mode: str = "r") -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(NotStored, match=f"^cannot write to {lock}: Permission denied$"):
        served.fetch()


def test_where_no_folder_for_temporary_files_can_be_written_to_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.gettempdir", none)
    with (
        pytest.raises(NotStored, match=r"^no directory for temporary files") as caught,
        scratch_folder(),
    ):
        pass
    assert caught.value.hint == "set TMPDIR to one that can"


def test_the_command_that_failed_is_named_and_not_a_setting_before_it(tmp_path: Path) -> None:
    git("init", "-q", "--bare", "x.git", cwd=tmp_path)
    with pytest.raises(CommandFailed, match=r"^git rev-parse failed: "):
        Git(tmp_path / "x.git").run(
            "-c", "core.bigFileThreshold=1", "-c", "core.packedGitLimit=1", "rev-parse", "--verify", "x"
        )


@pytest.mark.parametrize(("number", "hint"), [(9, "for want of memory"), (25, "ulimit -f says")])
def test_a_git_that_a_signal_has_ended_is_told_as_that(
    number: int, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text(f"#!/bin/sh\nkill -{number} $$\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(CommandFailed, match=f"^git fast-import failed: git died of signal {number}$") as caught:
        Git(tmp_path).run("fast-import")
    assert hint in caught.value.hint


ON_A_SMALL_DISK = """
mount -t tmpfs -o mode=700,size={size}k tmpfs {disk} && exec {python} -c '
import sys
from pathlib import Path
from tests.test_storing import {does}
from gitplacer.git.program import GitError
try:
    {does}(Path(sys.argv[1]), Path(sys.argv[2]))
except GitError as error:
    print(error.kind, error, error.hint, sep="|")
' {disk} {served}
"""


def fetched(disk: Path, served: Path) -> None:
    from gitplacer.git.address import Address

    address = Address.parse(str(served), base_dir=served.parent)
    Mirror(address, disk).fetch(refs_of(address))


def used_as_scratch(disk: Path, served: Path) -> None:
    import tempfile

    tempfile.tempdir = str(disk)
    with scratch_folder() as folder:
        Git(Path("/dev/null")).run("init", "--quiet", "--bare", "--template=", "--", str(folder))
        Git(folder).run("hash-object", "-w", "--stdin", input=NOISE)


def why_no_small_disk() -> str:
    if not shutil.which("unshare"):
        return "needs Linux with unshare"
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True)
    return tried.stderr.strip() and f"may not mount: {tried.stderr.strip()}"


@pytest.mark.parametrize("size", [4, 8, 16, 40, 64])
@pytest.mark.parametrize(
    ("does", "folder", "variable"), [("fetched", "/repos", "GITPLACER_CACHE"), ("used_as_scratch", "", "TMPDIR")]
)
def test_a_disk_that_is_full_in_the_midst_is_told(
    does: str, folder: str, variable: str, size: int, tmp_path: Path
) -> None:
    if why := why_no_small_disk():
        pytest.skip(why)
    served = Served(tmp_path)
    tree = git("mktree", cwd=served.bare, input=f"100644 blob {served.blob(NOISE)}\tnoise\n".encode())
    git("update-ref", "refs/heads/main", git("commit-tree", tree, "-m", "x", cwd=served.bare), cwd=served.bare)
    disk = tmp_path / "disk"
    disk.mkdir()
    script = ON_A_SMALL_DISK.format(size=size, disk=disk, does=does, served=served.bare, python=sys.executable)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, check=True)
    room = f"make room there, or set {variable} to a directory of your own that has some"
    assert done.stdout == f"NotStored|cannot write to {disk}{folder}: No space left on device|{room}\n"


NOISE = b"".join(number.to_bytes(4, "big") for number in range(0, 1 << 32, 65_537))
"""A quarter of a MiB that does not become much less."""
