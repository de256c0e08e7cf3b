"""`gitplacer tell`: after the merge, what became of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gitplacer.cli.completing import files
from gitplacer.cli.hosting import comment_id, host
from gitplacer.cli.options import fleet
from gitplacer.cli.teaching import Taught


@click.command("tell", cls=Taught)
@host("The repository of the fleet, with the pull request.")
@click.option(
    "--pull",
    "number",
    metavar="N",
    type=click.IntRange(1),
    help="The pull or merge request, if it is not to be looked up.",
)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    shell_complete=files,
    type=click.Path(path_type=Path),
    help="The plan as JSON, if the comment does not remember it.",
)
@comment_id
@fleet()
def command(
    host_name: str | None, repo: str | None, number: int | None, plan_file: Path | None, comment_id: str, **where: Any
) -> None:
    """
    After a merge and a pass, tell what became of the plan.

    Compares what the pull request's plan said with what the pass for the merged commit did. The comment that showed the plan says
    so on top, and the commit gets the status gitplacer/placement: success, as planned; failure, something differs or was not updated; pending, something
    waits, or no pass has been published yet. The commit is --rev, or the tip of the default branch of SOURCE. Run it after
    `gitplacer reconcile`, as often as you like. The token comes from GITPLACER_HOST_TOKEN, else GITHUB_TOKEN or GITLAB_TOKEN.
    """
    from gitplacer.cli.hosting import reached
    from gitplacer.cli.progress import note, progress
    from gitplacer.hosts.finding import merged_with
    from gitplacer.passes.telling import landed, read_plan, tell
    from gitplacer.plaintext import printable
    from gitplacer.review.outcomes import promise_of
    from gitplacer.settings import settings

    promise = promise_of(read_plan(plan_file)) if plan_file is not None else None
    chosen = settings(**where)
    with reached(host_name, repo, credentials=chosen.credentials) as there, progress() as say:
        found = landed(chosen, say)
        say("asking the host")
        pull = there.pull(number) if number is not None else merged_with(there, found.source)
        told = tell(there, found, pull, promise=promise, comment_id=comment_id, link_host=there.name)
    if pull is None:
        note(f"no pull request brought {found.source[:12]}, so only its status is set")
    click.echo(
        f"{told.status.state.capitalize():<9}  {told.status.context} of {told.commit}: {told.status.description}"
    )
    for each in told.outcome.groups:
        planned = printable(", ".join(each.planned.to) or each.planned.action.lower())
        click.echo(f"  {printable(each.group)}: {each.fate}, planned {planned}, now {', '.join(each.now) or 'nowhere'}")
    if told.comment:
        click.echo(f"Commented  #{pull.number if pull else ''}  {told.comment}")
