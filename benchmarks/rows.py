"""
The rows of the benchmark: each is one sort of work, done on a fleet that was placed, and beside it the floor of the same run.

A row leaves a fleet that is placed and at rest, as it found it. Adding one is a function and an entry in `ROWS`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks import floors, generate
from benchmarks.fleets import Size
from benchmarks.passes import LATER, LATER_STILL, PLACED, Fleet, Spent, run

PUSHES = 5
"""To `--watch`, in each run; their median counts."""
CHANGED_FILES = 10


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a row, and the seconds of its floor. `more` are numbers that tell what was done, such as commits."""

    spent: Spent
    floor: float
    more: tuple[tuple[str, float], ...] = ()


Row = Callable[[Fleet, Size], Sample]


def cold(fleet: Fleet, size: Size) -> Sample:
    """From nothing. What it leaves is the placed fleet that the other rows begin with."""
    least = floors.reading(fleet) + floors.parsing(fleet) + floors.arithmetic(size.nodes)
    fleet.forget()
    spent = fleet.reconcile(PLACED)
    return Sample(spent, least + floors.writing(fleet))


def planning(fleet: Fleet, size: Size) -> Sample:
    """By the clock of the processor, so that other work does not count."""
    empty = fleet.folder / "empty.git"
    if not empty.exists():
        generate.git(fleet.folder, "init", "--quiet", "--bare", "--initial-branch=main", str(empty))
    command = [sys.executable, "-m", "benchmarks.planning", str(fleet.source), str(empty), PLACED]
    told = json.loads(run(command, fleet.environment))
    more = (("gangs a second", told["gangs"] / told["cpu"]), ("shapes", told["shapes"]), ("placed", told["placed"]))
    return Sample(Spent(told["seconds"], told["cpu"], told["mib"]), floors.arithmetic(size.nodes, told["shapes"]), more)


def same(fleet: Fleet, size: Size) -> Sample:
    """The second pass in which nothing changes: the first one finds that out, and the others may know it."""
    first = fleet.reconcile()
    return Sample(fleet.reconcile(LATER_STILL), floors.listing(fleet), (("seconds the first time", first.seconds),))


def one(fleet: Fleet, size: Size) -> Sample:
    """Another image of a RayJob, and before it a comment, on a fleet of which the pass before has found that it is at rest."""
    fleet.reconcile()
    placed, jobs = fleet.placed(), fleet.jobs()
    comment = _published(fleet, lambda: fleet.edit([placed[fleet.edits % len(placed)]]))
    sample = _published(fleet, lambda: fleet.edit_image(jobs[fleet.edits * len(jobs) // 7 % len(jobs)]))
    return Sample(sample.spent, sample.floor, (("seconds for a comment", comment.spent.seconds),))


def watch(fleet: Fleet, size: Size) -> Sample:
    """
    Another image of a RayJob, and by turns a comment, on a fleet that is at rest at the time of today, which is the controller's.
    """
    with _today(fleet):
        spent, told = _watched(fleet, "--pushes", str(PUSHES))
    more = (
        ("slowest", told["slowest"]),
        ("seconds until the controller is idle", told["ended"]),
        ("seconds for a comment", told["comment"]),
    )
    return Sample(spent, told["floor"], more)


def lost(fleet: Fleet, size: Size) -> Sample:
    """
    The cluster that has the most, of a fleet of which a pass has found that it is at rest; each of its services that can move is a commit that renames. Beside it what
    it takes to plan the whole fleet for that.
    """
    fleet.reconcile()
    with fleet.undone(), fleet.aside():
        whole = _published(fleet, fleet.lose, "--full")
    with fleet.undone(), fleet.aside():
        before = fleet.commits()
        sample = _published(fleet, fleet.lose)
        more = ("commits", fleet.commits() - before), ("seconds of a whole pass", whole.spent.seconds)
        return Sample(sample.spent, sample.floor, more)


def lost_watched(fleet: Fleet, size: Size) -> Sample:
    """The same in `--watch`."""
    with _today(fleet):
        before, tip = fleet.commits(), generate.git(fleet.deployment, "rev-parse", "main").strip()
        spent, told = _watched(fleet, "--lose")
        more = ("commits", fleet.commits() - before), ("seconds until the controller is idle", told["ended"])
        return Sample(spent, floors.listing(fleet) + floors.writing(fleet, since=tip), more)


def new(fleet: Fleet, size: Size) -> Sample:
    """An app more, which is like another but for its name, in a fleet of which a pass has found that it is at rest."""
    like = fleet.jobs()[0]
    file = like.with_name("app-new.yaml")
    fleet.reconcile()
    with fleet.undone(), fleet.aside():
        text = like.read_text().replace(like.stem, file.stem)
        sample = _published(fleet, lambda: fleet.add(file, text))
        file.unlink()
        return sample


def pull_request(fleet: Fleet, size: Size) -> Sample:
    """One worker more in each group of ten files, against the commit before."""
    fleet.reconcile()  # what was undone in the source before
    with fleet.undone():
        base = generate.git(fleet.source, "rev-parse", "main").strip()
        manifests = fleet.manifests()
        fleet.edit(manifests[:: max(1, len(manifests) // CHANGED_FILES)][:CHANGED_FILES], _one_more)
        # A plan of the base that is remembered stands from its time on: so the first is before any other, and the next finds its base's.
        now = datetime.fromisoformat(LATER) - timedelta(seconds=fleet.edits)
        asked = ("plan", "--format", "markdown", "--base", base, "--now", f"{now:%Y-%m-%dT%H:%M:%SZ}")
        first, again = fleet.command(*asked), fleet.command(*asked)
        return Sample(again, floors.listing(fleet), (("seconds where the base is not remembered", first.seconds),))


def every_verdict(fleet: Fleet, size: Size) -> Sample:
    return Sample(fleet.command("plan", "--format", "json", "--now", LATER), floors.listing(fleet))


@contextmanager
def _today(fleet: Fleet) -> Iterator[None]:
    """The fleet for a while as it is today: what has come with the time since it was made is published by a pass, and one more finds nothing to do."""
    with fleet.undone(), fleet.aside():
        for _ in range(2):
            fleet.command("reconcile")
        yield


def _watched(fleet: Fleet, *options: str) -> tuple[Spent, dict[str, float]]:
    """What a push takes in `--watch`, with all that is told of it."""
    command = [sys.executable, "-m", "benchmarks.watch", "--on", str(fleet.folder), *options, "--json"]
    told: dict[str, float] = json.loads(run(command, fleet.environment))
    return Spent(told["seconds"], told["cpu"], told["mib"]), told


def _published(fleet: Fleet, change: Callable[[], None], *options: str) -> Sample:
    """A change, and the pass that carries it out."""
    tip = generate.git(fleet.deployment, "rev-parse", "main").strip()
    change()
    spent = fleet.reconcile(LATER, *options)
    return Sample(spent, floors.listing(fleet) + floors.writing(fleet, since=tip))


def _one_more(text: str) -> str:
    return re.sub(r"([rR]eplicas): (\d+)", lambda found: f"{found[1]}: {int(found[2]) + 1}", text)


ROWS: dict[str, tuple[str, Row]] = {
    "cold": ("cold: read, parse, plan, render, commit, push", cold),
    "planning": ("planning alone, from parsed inputs", planning),
    "same": ("nothing changed, new process", same),
    "one": ("one manifest changed, new process", one),
    "watch": ("one manifest changed, in --watch", watch),
    "new": ("one app more, new process", new),
    "lost": ("one cluster lost: a commit for each relocation, one push", lost),
    "lost-watched": ("one cluster lost, in --watch", lost_watched),
    "pull-request": (f"pull-request plan of a change to {CHANGED_FILES} files", pull_request),
    "verdicts": ("plan as JSON, every cluster's verdict on every group", every_verdict),
}
"""By the word that `--rows` takes: what is done, in words, and how."""


def measured(fleet: Fleet, size: Size, rows: list[str], runs: int) -> Iterator[tuple[str, Sample]]:
    """Samples of some rows, run after run, so that a slow minute of the machine does not fall on one row alone."""
    if "cold" not in rows:
        fleet.reconcile(PLACED)
    for _ in range(runs):
        for row in rows:
            yield row, ROWS[row][1](fleet, size)
