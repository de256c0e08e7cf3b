"""Who answers many questions changes no answer: nor in which chunks, nor when a process is killed on the way."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.runners import TRIES, Told, chunked
from gitplacer.runners.onray import answers
from gitplacer.runners.processes import in_processes, one_after_another
from gitplacer.settings import UsageError
from gitplacer.source.files import InMemory
from gitplacer.whatif.asking import Asking
from gitplacer.whatif.ground import Ground
from tests.test_simulate import ROOT, three


@contextlib.contextmanager
def silence() -> Iterator[Told]:
    yield lambda done: None


@given(questions=st.integers(0, 5000), workers=st.integers(1, 600))
def test_chunks_hold_every_question_once_in_order_and_every_worker_gets_one(questions: int, workers: int) -> None:
    chunks = chunked(range(questions), workers)
    assert [number for chunk in chunks for number in chunk] == list(range(questions))
    assert all(chunks) and len(chunks) >= min(questions, workers)


def test_what_a_killed_process_left_is_asked_again(tmp_path: Path) -> None:
    mine = os.getpid()

    def ask(number: int) -> int:
        mark = tmp_path / str(number)
        if number in (3, 30) and not mark.exists():
            mark.touch()
            assert os.getpid() != mine
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    told: list[int] = []

    @contextlib.contextmanager
    def telling() -> Iterator[Told]:
        yield told.append

    assert in_processes(ask, range(40), 2, telling) == one_after_another(lambda n: n * n, range(40), silence)
    assert sorted(mark.name for mark in tmp_path.iterdir()) == ["3", "30"]
    assert told == sorted(set(told)) and told[-1] == 40


def test_processes_that_are_always_killed_are_an_error(tmp_path: Path) -> None:
    def ask(number: int) -> int:
        if number == 7:
            (tmp_path / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(UsageError, match=f"processes were killed {TRIES} times; [0-9]+ of 20 questions are not") as e:
        in_processes(ask, range(20), 2, silence)
    assert "--processes" in e.value.hint
    assert len(list(tmp_path.iterdir())) == TRIES


def test_what_is_sent_elsewhere_answers_what_stays_here() -> None:
    import pickle

    asking = Asking(Ground.of(three().inputs(), InMemory()))
    sent = pickle.loads(pickle.dumps(asking.to_send()))
    assert [sent((name,)) for name in "abc"] == [asking((name,)) for name in "abc"]


class OnNoRay:
    """What Ray's module is to who asks, of a cluster that answers each task with an error; it remembers what was left undone."""

    class exceptions:
        RayError = type("RayError", (Exception,), {})
        WorkerCrashedError = type("WorkerCrashedError", (RayError,), {})
        OutOfMemoryError = type("OutOfMemoryError", (RayError,), {})

        class RayTaskError(RayError):
            def __init__(self, cause: Exception) -> None:
                super().__init__("a traceback of many lines")
                self.cause = cause

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.left: list[int] = []
        self.asked = 0

    def put(self, value: object) -> OnNoRay:
        return self

    def binary(self) -> bytes:
        return b"1"

    def remote(self, *args: object) -> object:
        if len(args) == 1:
            return self
        self.asked += 1
        return self.asked

    def options(self, **how: object) -> OnNoRay:
        return self

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def wait(self, refs: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        return refs[:1], refs[1:]

    def get(self, ref: int) -> object:
        raise self.error

    def cancel(self, ref: int, *, force: bool) -> None:
        self.left.append(ref)


@pytest.mark.parametrize(
    ("error", "raised", "said", "hint"),
    [
        (OnNoRay.exceptions.WorkerCrashedError(), UsageError, f"Ray workers were killed {TRIES} times", "memory"),
        (OnNoRay.exceptions.OutOfMemoryError(), UsageError, f"Ray workers were killed {TRIES} times", "memory"),
        (OnNoRay.exceptions.RayError("lost\nmore"), UsageError, "the Ray cluster failed: lost$", "ask again"),
        (
            OnNoRay.exceptions.RayTaskError(ModuleNotFoundError("No module named 'gitplacer'")),
            UsageError,
            "a Ray worker cannot run gitplacer .*: No module named 'gitplacer'",
            "install gitplacer of this version",
        ),
        (OnNoRay.exceptions.RayTaskError(ValueError("seven")), ValueError, "^seven$", ""),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$", ""),
    ],
)
def test_what_ray_says_instead_of_an_answer_is_said_plainly_and_the_rest_is_cancelled(
    error: Exception, raised: type[BaseException], said: str, hint: str
) -> None:
    ray = OnNoRay(error)
    with pytest.raises(raised, match=said) as found:
        answers(ray, abs, range(10), silence)
    assert hint in getattr(found.value, "hint", "")
    assert ray.left == list(range(2, 11))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'gitplacer[ray]'")
def test_a_ray_cluster_says_what_one_process_says_though_a_worker_is_killed(tmp_path: Path) -> None:
    for folder in ("home", "found"):  # where Ray leaves a token, which no other Ray is to find
        (tmp_path / folder).mkdir()
    with tempfile.TemporaryDirectory(prefix="r") as short:  # for its sockets, whose paths may have 107 bytes
        own = {"HOME": str(tmp_path / "home"), "RAY_TMPDIR": short, "RAY_USAGE_STATS_ENABLED": "0"}
        done = subprocess.run(
            [sys.executable, "-m", "tests.rayrun", str(tmp_path / "found")], cwd=ROOT, capture_output=True, text=True,
            timeout=300, check=False, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **own},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {
        "same": True,
        "answers": 25,
        "told": [True, 25],
        "killed": True,
        "several": True,
        "once": True,
        "raised": ["clusters/a.yaml:3:4"],
        "interrupted": True,
    }
