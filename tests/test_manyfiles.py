"""Many files parsed by several processes: the same as in one, and whoever dies of a file leaves it to its reader."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitplacer.documents import Fault
from gitplacer.parsecache import ParseCache
from gitplacer.runners import manyfiles
from gitplacer.runners.manyfiles import parsed_together, written_together
from gitplacer.runners.processes import in_processes
from gitplacer.source.files import GIVEN_UP, MAX_FILE, Maker, ParsedFile, ReadFile, attempted, read_file
from gitplacer.tree import blob_id
from tests import commands
from tests.stories import ANYWHERE, Story, cluster, rayjob

FILES = [b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n" % number for number in range(60)]
BLOBS = {blob_id(data): data for data in [*FILES, b"a: [", b"", b"\xff"]}


@pytest.fixture(autouse=True)
def small_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manyfiles, "FEWEST", 1)
    monkeypatch.setattr(manyfiles, "_DEAL", 100)


def alone() -> dict[str, ReadFile]:
    return {oid: read_file(data, MAX_FILE) for oid, data in BLOBS.items()}


def in_another_process(data: bytes, max_bytes: int) -> ReadFile:
    """The same as `read_file`, and a fault that names the process."""
    return ReadFile(ParsedFile((), (Fault(1, 1, "Pid", str(os.getpid())),)))


def test_files_are_the_same_whoever_parses_them() -> None:
    found = {oid: pickle.loads(value) for oid, value in parsed_together(BLOBS, MAX_FILE, processes=2).items()}
    assert found == alone()


def test_they_are_parsed_elsewhere() -> None:
    told = parsed_together(BLOBS, MAX_FILE, in_another_process, processes=2)
    pids = {pickle.loads(value).parsed.faults[0].message for value in told.values()}
    assert len(told) == len(BLOBS) and pids and str(os.getpid()) not in pids


@pytest.mark.parametrize("processes", [0, 1])
def test_where_one_process_is_all_files_are_left_to_it(processes: int) -> None:
    assert parsed_together(BLOBS, MAX_FILE, in_another_process, processes) == {}


def test_json_goes_the_same_way() -> None:
    files = {**BLOBS, "json": b'{"kind": "ConfigMap"}'}
    assert parsed_together(files, MAX_FILE, in_another_process, processes=2).keys() == files.keys()


def test_what_has_been_read_is_given_as_it_comes() -> None:
    given: list[Mapping[str, bytes]] = []
    found = parsed_together(BLOBS, MAX_FILE, processes=2, take=given.append)
    assert len(given) > 1 and sum(map(len, given)) == len(found)
    assert {oid: value for some in given for oid, value in some.items()} == found


def test_few_bytes_are_not_worth_more_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manyfiles, "FEWEST", sum(map(len, BLOBS.values())) + 1)
    assert parsed_together(BLOBS, MAX_FILE, in_another_process, processes=2) == {}


def test_a_file_that_raises_is_left_to_its_reader_and_the_others_are_not() -> None:
    def raises(data: bytes, max_bytes: int) -> ReadFile:
        if data == FILES[7]:
            raise RecursionError
        return read_file(data, max_bytes)

    found = parsed_together(BLOBS, MAX_FILE, raises, processes=2)
    assert BLOBS.keys() - found.keys() == {blob_id(FILES[7])}


def test_a_worker_that_dies_costs_time_and_no_answer(tmp_path: Path) -> None:
    us = os.getpid()

    def dies(data: bytes, max_bytes: int) -> ReadFile:
        if data == FILES[7] and os.getpid() != us:
            os._exit(1)
        return read_file(data, max_bytes)

    memo = ParseCache(tmp_path, parse_many=partial(parsed_together, parse=dies, processes=2))
    assert memo.parse_all(BLOBS, MAX_FILE) == alone()


@pytest.mark.parametrize("command", ["plan", "validate", "reconcile"])
def test_whoever_reads_a_fleet_that_is_new_has_several_processes(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Story.of(ANYWHERE, cluster("a"), rayjob("jobs", "train")).source
    commands.write(tmp_path / "fleet", files)
    commands.git(tmp_path, "init", "-q", "--bare", "deployment.git")
    commands.git(tmp_path / "fleet", "init", "-q")
    commands.git(tmp_path / "fleet", "add", ".")
    commands.git(tmp_path / "fleet", "commit", "-qm", "first")
    monkeypatch.setenv("GITPLACER_DEPLOYMENT", str(tmp_path / "deployment.git"))
    monkeypatch.setattr(manyfiles, "usable_cores", lambda: 2)
    read = list[str]()

    def spied(*args: Any, **options: Any) -> Any:
        read.extend(oid for deal in args[1] for oid in deal)
        return in_processes(*args, **options)

    monkeypatch.setattr(manyfiles, "in_processes", spied)
    assert commands.run(capfd, command, tmp_path / "fleet", "--now", commands.NOW).code == 0
    assert {blob_id(text.encode()) for text in files.values()} <= {*read}


def test_what_other_processes_have_read_is_kept_as_it_came(tmp_path: Path) -> None:
    memo = ParseCache(tmp_path, parse_many=partial(parsed_together, processes=2))
    memo.remember(memo.parse_all(BLOBS, MAX_FILE))
    memo.save()
    assert ParseCache(tmp_path).recall(BLOBS) == alone()


@pytest.mark.parametrize("raised", [RecursionError, MemoryError])
def test_a_file_that_is_given_up_is_a_fault_of_its_own(raised: type[BaseException]) -> None:
    def gives_up(data: bytes, max_bytes: int) -> ReadFile:
        raise raised

    assert attempted(gives_up, b"", MAX_FILE) is GIVEN_UP[raised]


def test_what_is_the_same_in_copies_of_an_app_is_one_object_however_often_it_is_unpickled() -> None:
    replicas = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: {}}}\nspec: {{replicas: {}, template: {{spec: {{containers: [{{}}]}}}}}}\n"
    read = [read_file(replicas.format(name, n).encode(), MAX_FILE) for name, n in (("a", 1), ("b", 1), ("c", 2))]
    one, copy, other = [pickle.loads(pickle.dumps(file)) for file in read]
    assert [one, copy, other] == read
    assert one.facts is copy.facts and one.facts != other.facts


# texts


def numbered(number: int) -> bytes | None:
    return None if number == 7 else b"%d %d" % (number, os.getpid())


def makers() -> dict[str, Maker]:
    return {f"{number:03}": partial(numbered, number) for number in range(60)}


def test_texts_are_made_elsewhere_and_those_that_cannot_be_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manyfiles, "FEWEST_TEXTS", 60)
    monkeypatch.setattr(manyfiles, "_HAND", 4)
    made = written_together(60, makers, processes=2)
    assert {digest: int(text.split()[0]) for digest, text in made.items()} == {
        f"{number:03}": number for number in range(60) if number != 7
    }
    assert str(os.getpid()).encode() not in {text.split()[1] for text in made.values()}


@pytest.mark.parametrize(("number", "processes"), [(59, 2), (60, 1)])
def test_nobody_gets_ready_where_several_processes_are_not_worth_it(
    number: int, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manyfiles, "FEWEST_TEXTS", 60)

    def not_asked() -> dict[str, Maker]:
        raise AssertionError

    assert written_together(number, not_asked, processes) == {}


def test_texts_that_other_processes_have_made_are_remembered(tmp_path: Path) -> None:
    memo = ParseCache(tmp_path, write_many=lambda number, ready: {"a" * 64: b"%d" % number})
    memo.make_texts(3, makers)
    assert memo.recall_text("a" * 64) == b"3"
