"""The benchmark runs, in its short form. What it measures is for people to read, not for a test to judge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_benchmark_prints_a_row_for_each_kind_of_pass() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "run.py")]
    size = ["--gangs", "20", "--clusters", "2", "--nodes", "20", "--runs", "1"]
    done = subprocess.run([*command, *size], check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == [
        "work",
        "cold: read, parse, plan, render, commit, push",
        "nothing changed, new process",
        "one manifest changed, new process",
        "plan as JSON, every cluster's verdict on every group",
    ]


@pytest.mark.slow
def test_the_sizing_benchmark_prints_a_row_for_each_sort_of_work() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "sizing.py"), "--manifests", "20", "--runs", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["work", "size and check", "size", "check", "size, with a line of why for every number"]


@pytest.mark.slow
def test_the_benchmark_of_hostile_files_says_what_is_refused() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "hostile.py"), "--files", "20", "--runs", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines() if line.startswith("| ")]
    assert {row[1]: row[5] for row in rows[1:]} == {
        "a bomb of aliases": "TooManyAliases",
        "50 KB of nested brackets": "TooDeep",
        "depth through aliases": "TooDeep",
        "4 MiB of `[1,1,1`": "TooLarge",
        "the largest file that is accepted": "no",
        "a repo of 20 files": "no",
    }


@pytest.mark.slow
def test_the_benchmark_of_feasibility_prints_a_row_for_each_question() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "feasibility.py")]
    size = ["--clusters", "3", "--nodes", "30", "--runs", "1"]
    done = subprocess.run([*command, *size], check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == [
        "work",
        "ledgers and survey, from parsed snapshots",
        "feasibility of a gang, shapes never seen",
        "the same, with a node selector",
        "the same, a gang too large for every cluster",
        "feasibility of a gang, shapes known",
        "one reservation",
        "feasibility, ranking, packing and reservation of a gang",
    ]


@pytest.mark.slow
@pytest.mark.server
def test_the_benchmark_of_snapshots_prints_a_row_for_each_cluster() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "snapshot.py"), "--nodes", "20", "--pods", "100"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["work", "read and decode the pages", "snapshot, nodes alike", "snapshot, no node like another"]


@pytest.mark.slow
def test_the_benchmark_of_the_controller_prints_a_row() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "watch.py")]
    size = ["--gangs", "20", "--clusters", "2", "--nodes", "20", "--pushes", "2"]
    done = subprocess.run([*command, *size], check=True, capture_output=True, text=True)
    rows = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["work", "hint to commit"]


@pytest.mark.slow
@pytest.mark.server
def test_a_short_soak_finds_rest_and_nothing_that_stays_open() -> None:
    """What grows slowly shows in the long form alone: there is no judging a slope by so few pushes."""
    command = [sys.executable, "-m", "benchmarks.soak", "--pushes", "6", "--samples", "2", "--apps", "3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "3 tips verified" in done.stdout, done.stdout + done.stderr
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| ")
    ]
    what = {name: {row[column] for row in rows[1:]} for column, name in enumerate(rows[0])}
    assert what["pushes"] == {"3", "6"}
    assert what["children"] == what["temporary"] == {"0"} and len(what["threads"]) == 1
