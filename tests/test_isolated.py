"""Parsing in a process of its own: nothing else is different, and what a file does to its parser costs this file alone."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gitplacer.git.worktree import read_work_tree
from gitplacer.hydrate import hydrate
from gitplacer.parsecache import ParseCache
from gitplacer.runners.isolated import IsolatedParser
from gitplacer.source.files import MAX_FILE, NOT_READABLE, NoMemo, ReadFile, read_file
from tests.crashingworker import ABORT, HOARD, ONCE, RAISE, SPIN, WAIT
from tests.fleetrepos import made
from tests.stories import Story, rayservice, snapshot
from tests.test_documents import PIECES
from tests.watchedcontrollers import Watched, outcomes

ROOT = Path(__file__).parent.parent
GOOD = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


@pytest.fixture
def parser() -> Iterator[IsolatedParser]:
    with IsolatedParser("tests.crashingworker") as found:
        yield found


@pytest.fixture(scope="module")
def shipped() -> Iterator[IsolatedParser]:
    with IsolatedParser() as found:
        yield found


def codes(file: ReadFile) -> list[str]:
    return [fault.code for fault in file.parsed.faults]


@given(st.binary(max_size=60) | st.lists(PIECES, max_size=25).map(lambda pieces: "".join(pieces).encode()))
def test_a_file_is_the_same_wherever_it_is_parsed(shipped: IsolatedParser, data: bytes) -> None:
    assert shipped.parse(data, MAX_FILE) == read_file(data, MAX_FILE)


def test_a_pass_is_the_same_wherever_files_are_parsed(shipped: IsolatedParser, tmp_path: Path) -> None:
    tree = read_work_tree(ROOT / "fleet-repo-example").in_memory()
    inputs = replace(Story().inputs(), source=tree, capacity=tree.under("capacity"))
    memo = ParseCache(tmp_path, shipped.parse)
    alone, isolated = hydrate(inputs, memo=NoMemo()), hydrate(inputs, memo=memo)
    assert isolated.view.plan == alone.view.plan
    assert isolated.problems == alone.problems
    assert {path: isolated.tree.read(path) for path in isolated.tree} == {
        path: alone.tree.read(path) for path in alone.tree
    }


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (ABORT, "parsing it ended with SIGABRT"),
        (HOARD, "parsing it took more than 1,024 MiB of memory"),
        (SPIN, "parsing it took more than 120 s of a processor"),
        (RAISE, "parsing it raised KeyError"),
    ],
)
def test_a_file_that_harms_its_parser_is_unreadable_alone(parser: IsolatedParser, does: bytes, said: str) -> None:
    assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)
    harmful = parser.parse(does + b"\n" + GOOD, MAX_FILE)
    assert [(f.line, f.column, f.code, f.message) for f in harmful.parsed.faults] == [(1, 1, NOT_READABLE, said)]
    assert harmful.parsed.faults[0].hint
    assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)


def test_the_worker_is_bounded(parser: IsolatedParser) -> None:
    parser.parse(GOOD, MAX_FILE)
    limits = Path(f"/proc/{parser.pid}/limits").read_text()
    assert re.search(r"Max address space +1073741824 +1073741824 ", limits)
    [seconds] = re.findall(r"Max cpu time +(\d+) ", limits)
    assert 120 < int(seconds) < 180
    assert re.search(r"Max core file size +0 +0 ", limits)
    assert Path(f"/proc/{parser.pid}/oom_score_adj").read_text() == "1000\n"


def test_one_worker_reads_all_that_harms_it_not_and_is_started_when_there_is_something_to_read() -> None:
    with IsolatedParser() as parser:
        assert parser.pid is None
        parser.parse(GOOD, MAX_FILE)
        first = parser.pid
        parser.parse(GOOD + b"data: {}\n", MAX_FILE)
        assert first is not None and parser.pid == first
    assert parser.pid is None


def test_a_worker_that_somebody_else_ends_is_no_fault_of_the_file(parser: IsolatedParser, tmp_path: Path) -> None:
    data = ONCE + bytes(tmp_path / "died") + b"\n" + GOOD
    assert parser.parse(data, MAX_FILE) == read_file(data, MAX_FILE)
    assert (tmp_path / "died").exists()


def test_a_worker_that_is_killed_while_it_rests_is_started_again(parser: IsolatedParser) -> None:
    parser.parse(GOOD, MAX_FILE)
    first = parser.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)
    assert parser.pid != first


def test_who_is_interrupted_leaves_no_worker_and_no_answer_behind(parser: IsolatedParser, tmp_path: Path) -> None:
    class Told(BaseException):
        pass

    def raises(number: int, frame: object) -> None:
        raise Told

    def interrupt() -> None:
        pids.append(int(pipe.read_text()))
        os.kill(os.getpid(), signal.SIGUSR1)

    pipe, pids = tmp_path / "waits", list[int]()
    os.mkfifo(pipe)
    before = signal.signal(signal.SIGUSR1, raises)
    try:
        other = threading.Thread(target=interrupt)
        other.start()
        with pytest.raises(Told):
            parser.parse(WAIT + bytes(pipe) + b"\n", MAX_FILE)
        other.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert parser.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
    assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    code = (
        "import os, signal\nfrom gitplacer.runners.isolated import IsolatedParser\n"
        "parser = IsolatedParser()\nparser.parse(b'', 9)\nprint(parser.pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        worker = os.pidfd_open(int(process.stdout.readline()))
    try:
        ended, _, _ = select.select([worker], [], [], 60)
        assert ended == [worker]
    finally:
        os.close(worker)


def test_a_worker_that_does_not_come_up_is_nobodys_fault() -> None:
    with pytest.raises(ChildProcessError, match="ended with exit code 1 before its first file"):
        IsolatedParser("gitplacer.there_is_no_such_module").parse(GOOD, MAX_FILE)


def test_a_worker_that_was_started_before_parses_the_first_file() -> None:
    with IsolatedParser() as parser:
        parser.start()
        started = parser.pid
        parser.start()  # which it is
        assert started is not None
        assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)
        assert parser.pid == started


def test_where_a_worker_that_was_started_before_does_not_come_up_the_first_file_tells() -> None:
    with IsolatedParser("gitplacer.there_is_no_such_module") as parser:
        parser.start()
        for _ in range(2):
            with pytest.raises(ChildProcessError, match="ended with exit code 1 before its first file"):
                parser.parse(GOOD, MAX_FILE)
        assert parser.pid is None


def test_a_worker_is_told_no_secret_and_looks_for_no_module_where_we_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITPLACER_SECRET", "planted")
    (tmp_path / "yaml.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    with IsolatedParser() as parser:
        assert parser.parse(GOOD, MAX_FILE) == read_file(GOOD, MAX_FILE)
        environment = Path(f"/proc/{parser.pid}/environ").read_bytes()
    assert b"planted" not in environment
    assert environment.startswith(b"PYTHONPATH=")


def test_what_only_this_process_could_not_read_is_kept_from_the_next(parser: IsolatedParser, tmp_path: Path) -> None:
    memo = ParseCache(tmp_path, parser.parse)
    memo.remember({"a" * 40: memo.parse(ABORT, MAX_FILE), "b" * 40: memo.parse(GOOD, MAX_FILE)})
    assert codes(memo.recall(["a" * 40])["a" * 40]) == [NOT_READABLE]
    memo.save()
    assert list(ParseCache(tmp_path).recall(["a" * 40, "b" * 40])) == ["b" * 40]


@pytest.mark.unproved("a pass with an unreadable file is proved only where the file is as unreadable")
def test_the_controller_goes_on_with_all_others_and_asks_once(tmp_path: Path, parser: IsolatedParser) -> None:
    fleet = made(tmp_path)
    watched = Watched(fleet)
    asked: list[bytes] = []

    def counted(data: bytes, max_bytes: int) -> ReadFile:
        asked.append(data)
        return parser.parse(data, max_bytes)

    watched.new(parser=counted)
    [(path, text)] = rayservice("prod", "api").items()
    [(room, nodes)] = snapshot("b", "n1 32 128Gi 4").items()
    harmful, forged = f"{ABORT.decode()}\n{text}", f"{HOARD.decode()}\n{nodes}"
    watched.at(100, lambda: fleet.commit({path: harmful, f"capacity/{room}": forged, **rayservice("prod", "new")}))
    watched.at(200, lambda: fleet.commit(rayservice("prod", "newer")))
    watched.at(300, lambda: fleet.commit({path: text, f"capacity/{room}": nodes}))
    turns = [turn for turn in watched.until(400) if not turn.is_look]
    assert outcomes(turns)[0] == "Published"
    after = [turn.hydration for turn in turns if turn.hydration is not None]
    shown = [
        (
            {d.group: d.action.name for d in done.view.plan.decisions},
            sorted(p.location.file for p in done.problems if p.code == NOT_READABLE),
        )
        for done in after
    ]
    unread = [f"capacity/{room}", path]
    assert shown == [
        ({"prod/api": "PLACE"}, []),
        ({"prod/api": "KEEP"}, []),
        ({"prod/api": "HOLD", "prod/new": "PLACE"}, unread),
        ({"prod/api": "HOLD", "prod/new": "KEEP"}, unread),
        ({"prod/api": "HOLD", "prod/new": "KEEP", "prod/newer": "PLACE"}, unread),
        ({"prod/api": "HOLD", "prod/new": "KEEP", "prod/newer": "KEEP"}, unread),
        ({"prod/api": "KEEP", "prod/new": "KEEP", "prod/newer": "KEEP"}, []),
    ]
    assert asked.count(harmful.encode()) == asked.count(forged.encode()) == 1
    assert "api" in "".join(fleet.files())
