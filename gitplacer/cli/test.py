"""`gitplacer test`: the Scenarios kept beside the policies, run and reported; and the policies that govern nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from gitplacer.model.trial import Trial
    from gitplacer.parsecache import ParseCache
    from gitplacer.passes.looking import Looked
    from gitplacer.passes.opening import Progress
    from gitplacer.problems import Problem
    from gitplacer.scenarios import Script
    from gitplacer.source.files import Memo
    from gitplacer.tree import Tree


@click.command("test", cls=Taught)
@choice(["text", "json", "junit"], "For people, for programs, or as JUnit XML for CI.")
@click.option("-k", "words", metavar="WORDS", default="", help="Run those whose name or title has all of these words.")
@click.option("-x", "--exitfirst", "first", is_flag=True, help="Stop after the first that does not pass.")
@click.option(
    "-j",
    "jobs",
    metavar="N",
    type=click.IntRange(1, 256),
    default=1,
    help="Run them in N processes.",
    show_default=True,
)
@click.option("--strict", is_flag=True, help="Exit with 1 for policies that govern nothing, too.")
@fleet()
def command(output: str, words: str, first: bool, jobs: int, strict: bool, **where: Any) -> int:
    """
    Run the Scenarios in the source, and find policies that govern nothing.

    A Scenario without files of its own is about the source around it. It begins with nothing placed, or with what
    --deployment holds. --now is for those that do not say when they begin. Exits with 1 unless all pass.
    """
    from gitplacer.cli.progress import note, note_work_tree, progress, style
    from gitplacer.formats import TEST_FORMATS
    from gitplacer.formats.options import Options
    from gitplacer.formats.trials import conclusion, trial_line
    from gitplacer.model.trial import Report
    from gitplacer.passes.looking import looked_at
    from gitplacer.settings import settings

    chosen = settings(**where)
    note_work_tree(chosen)
    options = Options(style=style())
    trials: list[Trial] = []
    with progress() as say, looked_at(chosen, work_tree=True, progress=say) as looked:
        source = _source(looked)
        found, unreadable = _scripts(looked, source, words)
        known, idle = _standing(looked, source)
        scripts = [replace(script, known=frozenset(known)) for script in found]
        deployment = looked.inputs.deployment if chosen.deployment is not None else None
        now = looked.inputs.now if where["now"] is not None else None
        for trial in _tried(scripts, _Fleet(source, tuple(known), deployment, now), looked.memo, jobs, say):
            trials.append(trial)
            if output == "text":
                click.echo(trial_line(trial, options), nl=False)
            if first and trial.verdict != "passed":
                break
    report = Report(tuple(trials), tuple(unreadable), tuple(idle))
    if output == "junit":
        report = report.below(chosen.folder)  # who reads it looks for files from the root of the repository
    click.echo(conclusion(report, options) if output == "text" else TEST_FORMATS[output](report, options), nl=False)
    more = set(known) - set(unreadable)
    if more:
        count = f"{len(more)} error{'s' if len(more) != 1 else ''}"
        note(f"the source itself has {count}, which tests of it pass over; `gitplacer validate` shows them")
    if len(trials) < len(scripts):
        note(f"stopped; {len(scripts) - len(trials)} not run")
    return 0 if report.is_good and not (strict and idle) else 1


def _source(looked: Looked) -> Tree:
    """The source with its snapshots in it."""
    from gitplacer.tree import Changes

    tree, capacity, folder = looked.source.tree, looked.source.capacity, looked.source.spec.capacity.path
    texts = [path for path, entry in capacity.entries.items() if entry.is_text]
    written = {f"{folder}/{path}": data for path, data in capacity.read_all(texts).items()}
    stale = frozenset(path for path in tree if path.startswith(f"{folder}/") and path not in written)
    return tree.apply(Changes(written, stale))


def _standing(looked: Looked, source: Tree) -> tuple[list[Problem], list[Problem]]:
    """The errors that the source has, and what is idle among its policies."""
    from gitplacer.hydrate import hydrate
    from gitplacer.policies.idle import idle_policies
    from gitplacer.problems import Rejected, Severity
    from gitplacer.scenarios.scene import newest_snapshot
    from gitplacer.tree import Tree

    try:
        now = newest_snapshot(looked.source.capacity) or looked.inputs.now
        inputs = replace(looked.inputs, source=source, deployment=Tree(), deployment_commit=None, now=now)
        done = hydrate(replace(inputs, foreign={}, reverted={}, merged={}), memo=looked.memo, with_candidates=False)
    except Rejected:
        return [], []  # each scenario of this source will say so
    errors = [problem for problem in done.problems if problem.severity is Severity.ERROR]
    return errors, idle_policies(done.snapshot.source, looked.memo)


def _scripts(looked: Looked, source: Tree, words: str) -> tuple[list[Script], list[Problem]]:
    """The scenarios that are to be run, and what is wrong with those that cannot be read. Raises UsageError for none."""
    from gitplacer.problems import nearest
    from gitplacer.scenarios import scripts_in
    from gitplacer.settings import UsageError

    scripts, unreadable = scripts_in(source, looked.memo)
    if not scripts and not unreadable:
        hint = "write one beside your policies: docs/policy-tests.md shows how, `gitplacer schema Scenario` prints its fields"
        raise UsageError("there is no Scenario in this source", hint)
    wanted = words.casefold().split()
    chosen = [s for s in scripts if all(w in f"{s.scenario.name} {s.spec.title}".casefold() for w in wanted)]
    if not chosen and scripts:
        raise UsageError(
            f'no Scenario has "{words}" in its name or title', nearest(words, [s.scenario.name for s in scripts])
        )
    return chosen, unreadable if not wanted else []


class _Fleet(Struct, frozen=True):
    """What scenarios of a source are about, as another process can be given it. `now` is for those that say no time."""

    source: Tree
    known: tuple[Problem, ...]
    deployment: Tree | None
    now: datetime | None

    def tried(self, script: Script, memo: Memo) -> Trial:
        """The outcome of one of its scenarios."""
        from gitplacer import __version__
        from gitplacer.scenarios.trials import tried

        dated = script.dated(self.now) if self.now is not None else script
        return tried(dated, __version__, memo, self.deployment)

    def in_memory(self) -> _Fleet:
        """The same without the repositories that its files come from."""
        return replace(
            self,
            source=_in_memory(self.source),
            deployment=_in_memory(self.deployment) if self.deployment is not None else None,
        )


def _in_memory(tree: Tree) -> Tree:
    from gitplacer.tree import MemoryBlobs, Tree

    oids = sorted({entry.oid for entry in tree.entries.values() if entry.is_blob})
    return Tree(dict(tree.entries), MemoryBlobs(tree.blobs.read(oids)))


def _tried(scripts: Sequence[Script], fleet: _Fleet, memo: ParseCache, jobs: int, say: Progress) -> Iterator[Trial]:
    """The outcome of each, in order: those first that could not be compiled, before any pass is made."""
    from gitplacer.scenarios import LibraryMissing
    from gitplacer.scenarios.trials import mistaken
    from gitplacer.settings import UsageError

    try:
        broken = {script.scenario.name: trial for script in scripts if (trial := mistaken(script)) is not None}
    except LibraryMissing as error:
        raise UsageError(str(error), error.hint) from None
    yield from broken.values()
    sound = [script for script in scripts if script.scenario.name not in broken]
    if jobs > 1 and len(sound) > 1:
        say(f"running {len(sound)} scenarios in {min(jobs, len(sound))} processes")
        yield from _tried_apart([script.scenario.name for script in sound], fleet, memo, jobs)
        return
    for script in sound:
        say(f"running {script.scenario.name}")
        yield fleet.tried(script, memo)


def _tried_apart(names: Sequence[str], fleet: _Fleet, memo: ParseCache, jobs: int) -> Iterator[Trial]:
    """The same in other processes. Each reads the scenarios again, because what was parsed here cannot be sent."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    memo.save()  # what is parsed already is not parsed in each of them
    given = (fleet.in_memory(), memo.cache_dir)
    workers = min(jobs, len(names))
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_begin, initargs=given) as pool:
        try:
            yield from pool.map(_one, names)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


_HERE: dict[str, Any] = {}
"""In a process that runs scenarios: what it was given."""


def _begin(fleet: _Fleet, cache_dir: Path) -> None:
    from gitplacer.parsecache import ParseCache
    from gitplacer.scenarios import scripts_in

    memo = ParseCache(cache_dir)
    scripts, _ = scripts_in(fleet.source, memo, fleet.known)
    _HERE.update(fleet=fleet, memo=memo, scripts={script.scenario.name: script for script in scripts})


def _one(name: str) -> Trial:
    found: Trial = _HERE["fleet"].tried(_HERE["scripts"][name], _HERE["memo"])
    return found
