"""One question answered by another process: the same as here, whatever becomes of that process, and git answers each process its own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from gitplacer.git.objects import Objects
from gitplacer.git.program import Git
from gitplacer.parsecache import ParseCache
from gitplacer.runners.meanwhile import Meanwhile
from gitplacer.source.files import MAX_FILE, read_file

LARGE = b"x" * (1 << 20)  # more than a pipe holds


def pid() -> bytes:
    return b"%d" % os.getpid()


def test_it_is_answered_elsewhere() -> None:
    assert int(Meanwhile(pid, cores=2).answer()) != os.getpid()


def test_with_one_core_it_is_answered_here() -> None:
    alone = Meanwhile(pid, cores=1)
    assert not alone.is_begun and int(alone.answer()) == os.getpid()


def test_an_answer_may_be_long() -> None:
    assert Meanwhile(lambda: LARGE, cores=2).answer() == LARGE


def test_a_process_that_is_killed_leaves_the_question_to_this_one() -> None:
    here = os.getpid()

    def dies() -> bytes:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"answered"

    assert Meanwhile(dies, cores=2).answer() == b"answered"


def test_what_is_raised_is_raised_here() -> None:
    def fails() -> bytes:
        raise LookupError(f"in {'another' if os.getpid() != here else 'this'} process")

    here = os.getpid()
    with pytest.raises(LookupError, match="in this process"):
        Meanwhile(fails, cores=2).answer()


def test_a_ctrl_c_is_for_this_process_alone(capfd: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> bytes:
        os.kill(os.getpid(), signal.SIGINT)
        return pid()

    assert int(Meanwhile(interrupted, cores=2).answer()) != os.getpid()
    assert capfd.readouterr().err == ""


def test_nobody_waits_for_an_answer_that_is_not_wanted() -> None:
    aside = Meanwhile(lambda: signal.pause() or b"", cores=2)
    process = aside._process
    assert process is not None and process.is_alive()
    aside.close()
    assert process.exitcode == -signal.SIGKILL


def test_a_forked_process_has_a_git_of_its_own(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    hashed = subprocess.run(
        ["git", "-C", str(tmp_path), "hash-object", "-w", "--stdin"], input=b"one", check=True, capture_output=True
    )
    objects, oid = Objects(Git(tmp_path)), hashed.stdout.decode().strip()
    assert objects.read([oid]) == {oid: b"one"}
    gits = {objects._running().pid}

    def read() -> bytes:
        found = b"".join(objects.read([oid, oid]).values())
        return b"%s %d" % (found, objects._running().pid)

    found, other = Meanwhile(read, cores=2).answer().split()
    assert found == b"one" and int(other) not in gits
    assert objects.read([oid]) == {oid: b"one"} and {objects._running().pid} == gits
    objects.close()


def test_a_forked_process_reads_the_cache_by_itself(tmp_path: Path) -> None:
    memo, kept, new = ParseCache(tmp_path), read_file(b"a: 1\n", MAX_FILE), read_file(b"a: 2\n", MAX_FILE)
    memo.remember({"1" * 40: kept})
    memo.save()
    memo.remember({"2" * 40: new})

    def recall() -> bytes:
        mine = memo.forked()
        assert mine._blobs is not memo._blobs
        return b"%d" % sum(
            mine.recall(["1" * 40, "2" * 40, "3" * 40]) == {"1" * 40: kept, "2" * 40: new} for _ in range(2)
        )

    assert Meanwhile(recall, cores=2).answer() == b"2"
    assert ParseCache(tmp_path).recall(["2" * 40]) == {}, "what is not saved is the other's to save"
