"""
Results: what was measured at which size and where, as a file, as tables, and beside an older file.

A file holds every sample, not the medians alone, so that somebody else can judge the spread.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import platform
import statistics
import subprocess
import timeit
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fleets import Size
from benchmarks.rows import ROWS, Sample
from gitplacer import __version__

FORMAT = 1


class NoResult(Exception):
    """A file that holds no results of ours, or none that can be compared; says why."""


@dataclass
class Measured:
    """The samples of one row: seconds by the clock, of a processor and of the floor, MiB, and what else was told."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    mib: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)
    more: dict[str, list[float]] = field(default_factory=dict)

    def add(self, sample: Sample) -> None:
        self.seconds.append(sample.spent.seconds)
        self.cpu.append(sample.spent.cpu)
        self.mib.append(sample.spent.mib)
        self.floor.append(sample.floor)
        for name, number in sample.more:
            self.more.setdefault(name, []).append(number)


@dataclass
class Point:
    """All rows at one size."""

    size: Size
    rows: dict[str, Measured] = field(default_factory=dict)

    @classmethod
    def of(cls, size: Size, samples: Iterable[tuple[str, Sample]]) -> Point:
        point = cls(size)
        for row, sample in samples:
            point.rows.setdefault(row, Measured()).add(sample)
        return point


_ADDING = "for number in numbers: total += number"


def machine() -> dict[str, Any]:
    """Where it was measured, and how fast Python was there: a rented machine is another from hour to hour, under the same name."""
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "python": platform.python_version(),
        "git": subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout.split()[2],
        "numpy": np.__version__,
        "numba": metadata.version("numba") if importlib.util.find_spec("numba") else None,
        "seconds for a million additions": round(
            statistics.median(timeit.repeat(_ADDING, "total, numbers = 0, range(1_000_000)", number=1)), 4
        ),
    }


def told(where: Mapping[str, Any]) -> str:
    """Where something was measured, in a line. Older files do not say all of it."""
    names = "cores", "processor", "python", "git", "numpy", "numba", "seconds for a million additions"
    cores, processor, python, git, numpy, numba, adding = (where.get(name, "(not known)") for name in names)
    fast = f"numba {numba}" if numba else "no numba (pip install 'gitplacer[fast]': large fleets are planned sooner)"
    return (
        f"on {cores} cores of {processor}, Python {python}, git {git}, numpy {numpy}, {fast}; "
        f"a million additions in {adding} seconds"
    )


def measured_on(file: Path) -> str:
    """Where the results of a file were measured, as `told`. Raises NoResult."""
    return told(_body(file).get("machine", {}))


def written(points: Sequence[Point], seed: int) -> str:
    """A results file."""
    body = {
        "format": FORMAT,
        "version": __version__,
        "when": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "machine": machine(),
        "seed": seed,
        "points": [asdict(point) for point in points],
    }
    return json.dumps(body, indent=1) + "\n"


def read(file: Path) -> list[Point]:
    """The points of a results file. Raises NoResult."""
    try:
        return [
            Point(Size(**point["size"]), {row: Measured(**found) for row, found in point["rows"].items()})
            for point in _body(file)["points"]
        ]
    except (KeyError, TypeError) as error:
        raise _nothing_in(file) from error


def _body(file: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(file.read_text("utf-8"))
        if body["format"] != FORMAT:
            raise NoResult(
                f"{file} has format {body['format']}, and this is {FORMAT}: run the benchmark of that version"
            )
        return body
    except OSError as error:
        raise NoResult(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise _nothing_in(file) from error


def _nothing_in(file: Path) -> NoResult:
    return NoResult(f"{file} holds no results: write one with python -m benchmarks --json FILE")


def table(point: Point) -> list[str]:
    """Rows of Markdown: medians, in brackets the least and the most, and how many times the floor it is."""
    lines = [
        "| work | seconds | of a processor | floor | ratio | MiB | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row, found in point.rows.items():
        seconds, floor = statistics.median(found.seconds), statistics.median(found.floor)
        more = ", ".join(f"{_said(statistics.median(numbers))} {name}" for name, numbers in found.more.items())
        lines.append(
            f"| {ROWS[row][0]} | {_spread(found.seconds)} | {statistics.median(found.cpu):.2f} | {floor:.3g} "
            f"| {seconds / floor:.1f} | {max(found.mib):,.0f} | {more} |"
        )
    return lines


def _said(number: float) -> str:
    """A number as it is read: what counts things has no fraction, and of more than a hundred none matters."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:,.2f}"


def _spread(numbers: Sequence[float]) -> str:
    middle = f"{statistics.median(numbers):.2f}"
    return middle if len(numbers) == 1 else f"{middle} ({min(numbers):.2f}–{max(numbers):.2f})"


def compared(old: Sequence[Point], new: Sequence[Point]) -> list[str]:
    """Rows of Markdown: what both have. Raises NoResult if that is nothing."""
    before = {point.size: point for point in old}
    lines = []
    for point in new:
        known = before[point.size].rows if point.size in before else {}
        for row, found in point.rows.items():
            if row in known:
                was, now = statistics.median(known[row].seconds), statistics.median(found.seconds)
                memory = f"{max(known[row].mib):,.0f} | {max(found.mib):,.0f}"
                lines.append(
                    f"| {point.size.gangs:,} | {ROWS[row][0]} | {was:.2f} | {now:.2f} | {now / was:.2f} | {memory} |"
                )
    if not lines:
        told = "; ".join(str(size) for size in before) or "nothing"
        raise NoResult(f"no row was measured at the same size then and now; the file has {told}")
    head = ["| gangs | work | seconds then | now | ratio | MiB then | now |", "|---|---|---|---|---|---|---|"]
    return head + lines


def growth(points: Sequence[Point]) -> list[str]:
    """Rows of Markdown: from each size to the next, how much time and memory grew for each time that the gangs did; 1.00 is linear."""
    ordered = sorted(points, key=lambda point: point.size.gangs)
    lines = ["| work | gangs | time, × linear | memory, × linear |", "|---|---|---|---|"]
    for small, large in itertools.pairwise(ordered):
        times = large.size.gangs / small.size.gangs
        for row in small.rows:
            if row in large.rows:
                one, other = small.rows[row], large.rows[row]
                slower = statistics.median(other.seconds) / statistics.median(one.seconds) / times
                wider = max(other.mib) / max(one.mib) / times
                lines.append(
                    f"| {ROWS[row][0]} | {small.size.gangs:,} → {large.size.gangs:,} | {slower:.2f} | {wider:.2f} |"
                )
    return lines
