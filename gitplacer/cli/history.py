"""`gitplacer history GROUP`: where a group has been, when and why, from git."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.completing import groups
from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught


@click.command("history", cls=Taught)
@click.argument("group", shell_complete=groups)
@choice(["text", "json"], "For people or for programs.")
@fleet(leave_out=("capacity", "rev", "now"))
def command(group: str, output: str, **where: Any) -> None:
    """
    Tell where GROUP has been, when and why, the oldest first.

    GROUP is <namespace>/<name>, also of one that is gone. All of it is read from the commits of the deployment repo; SOURCE
    says which branch and root of it, and whose commit each pass was computed from.
    """
    from gitplacer.audit.moves import history_of
    from gitplacer.cli.progress import progress, style
    from gitplacer.formats.options import Options
    from gitplacer.formats.past import PAST_FORMATS
    from gitplacer.settings import settings

    with progress() as say:
        events = history_of(settings(**where), group, say)
    click.echo(PAST_FORMATS[output](group, events, Options(style=style())), nl=False)
