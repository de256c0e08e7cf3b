"""`gitplacer verify`: deployment commits computed again from their trailers."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.completing import revisions
from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught


@click.command("verify", cls=Taught)
@choice(["text", "json"], "For people or for programs.")
@click.option(
    "--commit",
    metavar="REV",
    shell_complete=revisions,
    help="The deployment commit to verify; the tip of the branch without it.",
)
@click.option("--all", "everything", is_flag=True, help="Verify every commit of the deployment branch.")
@click.option("--since", metavar="REV", shell_complete=revisions, help="Verify every commit after this one.")
@click.option("--strict", is_flag=True, help="Fail also where somebody else made a commit.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes to use; as many as pay without it.")
@click.option("--verbose", is_flag=True, help="Show also the commits that are proved.")
@fleet(leave_out=("capacity", "rev"))
def command(
    output: str, commit: str | None, everything: bool, since: str | None, strict: bool, jobs: int | None, verbose: bool,
    **where: Any,
) -> int:  # fmt: skip
    """
    Compute deployment commits again from what they say they were made from, and prove them byte for byte.

    SOURCE is a repository or an address; only commits are read. Exits with 1 unless every commit is Verified; one that no
    pass says it made is Foreign, and fails only with --strict.
    """
    from gitplacer.audit.verifying import verify_history, verify_one
    from gitplacer.cli.progress import note, progress, style
    from gitplacer.formats.options import Options
    from gitplacer.formats.verification import VERIFICATION_FORMATS
    from gitplacer.model.audit import Answer
    from gitplacer.settings import UsageError, settings

    if commit is not None and (everything or since is not None):
        raise UsageError("--commit is one commit, --all and --since are many", "give one of them")
    if everything and since is not None:
        raise UsageError("--all begins with the first commit, --since later", "give one of them")
    chosen = settings(**where)
    with progress() as say:
        if everything or since is not None:
            checked = verify_history(chosen, since, jobs, say)
        else:
            checked = verify_one(chosen, commit, say)
    click.echo(VERIFICATION_FORMATS[output](checked, Options(verbose=verbose, style=style())), nl=False)
    foreign = sum(c.answer is Answer.FOREIGN for c in checked)
    if strict and foreign:
        note(f"failed on {foreign} foreign {'commit' if foreign == 1 else 'commits'}, because of --strict")
    fine = {Answer.VERIFIED} if strict else {Answer.VERIFIED, Answer.FOREIGN}
    return 0 if all(c.answer in fine for c in checked) else 1
