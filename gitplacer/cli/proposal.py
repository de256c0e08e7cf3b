"""`gitplacer reconcile --pull-request`: a pass that somebody else lets land."""

from __future__ import annotations

import contextlib

import click

from gitplacer.cli.hosting import reached
from gitplacer.cli.progress import note, note_attempts, progress, show_problems
from gitplacer.formats.proposal import moved_text
from gitplacer.hosts.host import Host
from gitplacer.passes.proposing import ProposedPass, Standing, propose
from gitplacer.plaintext import printable
from gitplacer.settings import Settings

OUTDATED = 2


def proposal(chosen: Settings, host_name: str | None, repo: str | None, *, check: bool) -> int:
    """Propose, or check what is proposed, and say what came of it."""
    there: contextlib.AbstractContextManager[Host | None] = contextlib.nullcontext()
    if host_name is not None or repo is not None:
        there = reached(host_name, repo, in_job=False, credentials=chosen.credentials)
    with there as host, progress() as say:
        done = propose(chosen, progress=say, host=host, check=check)
    show_problems(done.hydration.problems)
    note_attempts(done.attempts)
    _tell(done)
    if host is None and done.standing in (Standing.MADE, Standing.STANDS) and not check:
        note(f"Next: open a pull request from {done.branch} to {done.base}; --host and --repo let gitplacer do that")
    return OUTDATED if done.standing is Standing.OUTDATED else 0


def _tell(done: ProposedPass) -> None:
    place = f"{done.deployment}, branch {printable(done.branch)}"
    why = f": {moved_text(done.moved)}" if done.moved is not None else ""
    match done.standing:
        case Standing.NOTHING:
            click.echo(f"Unchanged  nothing to propose for branch {printable(done.base)} of {done.deployment}")
        case Standing.STANDS:
            click.echo(f"Unchanged  {done.tip} at {place} is what a pass would do")
        case Standing.OUTDATED:
            click.echo(f"Outdated   {done.tip} at {place}{why}")
            note("Next: gitplacer reconcile --pull-request renews it")
        case Standing.WITHDRAWN:
            click.echo(f"Withdrawn  {done.tip} from {place}{why}")
        case Standing.MADE:
            click.echo(f"Proposed   {done.tip} to {place}{why}")
            for step in done.hydration.steps:
                click.echo(f"  {printable(step.subject)}")
    if done.pull is not None:
        state = "Closed" if done.standing is Standing.WITHDRAWN else "Declined" if done.is_declined else "Requested"
        click.echo(f"{state:<9}  #{done.pull.number}  {done.pull.url}")
    if done.is_declined and done.pull is not None:
        note(f"somebody has closed #{done.pull.number}; it is left closed until something else is to be done")
