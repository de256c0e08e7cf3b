"""`gitplacer reconcile --pull-request`: a pass that somebody else lets land."""

from __future__ import annotations

import contextlib

import click

from gitplacer.cli.hosting import reached
from gitplacer.cli.progress import note, progress
from gitplacer.explain import problem_lines
from gitplacer.formats.proposal import moved_text
from gitplacer.hosts.host import Host
from gitplacer.plaintext import printable
from gitplacer.proposing import Fate, ProposedPass, propose
from gitplacer.settings import Settings

OUTDATED = 2


def proposal(chosen: Settings, host_name: str | None, repo: str | None, *, check: bool) -> int:
    """Propose, or check what is proposed, and say what came of it."""
    there: contextlib.AbstractContextManager[Host | None] = contextlib.nullcontext()
    if host_name is not None or repo is not None:
        there = reached(host_name, repo, in_job=False, credentials=chosen.credentials)
    with there as host, progress() as say:
        done = propose(chosen, progress=say, host=host, check=check)
    for problem in done.hydration.problems:
        for line in problem_lines(problem):
            click.echo(line, err=True)
    if done.attempts > 1:
        note(f"somebody else pushed first, so it was computed anew ({done.attempts} attempts)")
    _tell(done)
    if host is None and done.fate in (Fate.MADE, Fate.STANDS) and not check:
        note(f"Next: open a pull request from {done.branch} to {done.base}; --host and --repo let gitplacer do that")
    return OUTDATED if done.fate is Fate.OUTDATED else 0


def _tell(done: ProposedPass) -> None:
    place = f"{done.deployment}, branch {printable(done.branch)}"
    why = f": {moved_text(done.moved)}" if done.moved is not None else ""
    match done.fate:
        case Fate.NOTHING:
            click.echo(f"Unchanged  nothing to propose for branch {printable(done.base)} of {done.deployment}")
        case Fate.STANDS:
            click.echo(f"Unchanged  {done.tip} at {place} is what a pass would do")
        case Fate.OUTDATED:
            click.echo(f"Outdated   {done.tip} at {place}{why}")
            note("Next: gitplacer reconcile --pull-request renews it")
        case Fate.WITHDRAWN:
            click.echo(f"Withdrawn  {done.tip} from {place}{why}")
        case Fate.MADE:
            click.echo(f"Proposed   {done.tip} to {place}{why}")
            for step in done.hydration.steps:
                click.echo(f"  {printable(step.message.partition(chr(10))[0])}")
    if done.pull is not None:
        state = "Closed" if done.fate is Fate.WITHDRAWN else "Declined" if done.is_declined else "Requested"
        click.echo(f"{state:<9}  #{done.pull.number}  {done.pull.url}")
    if done.is_declined and done.pull is not None:
        note(f"somebody has closed #{done.pull.number}; it is left closed until something else is to be done")
