"""`gitplacer status`: the fleet at a glance, and what became of the promises that were made in it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from gitplacer.cli.options import choice, fleet, period
from gitplacer.cli.teaching import Taught


@click.command("status", cls=Taught)
@choice(["text", "json"], "For people or for programs.")
@click.option("--promises", is_flag=True, help="Show how many groups that were told they fit were ready in time.")
@click.option(
    "--within",
    metavar="DURATION",
    callback=period(),
    help="The time in which they were to be ready, such as 15m. Default: 15m.",
)
@click.option("--since", metavar="TIME", help="Only what was promised from this time on.")
@fleet()
def command(output: str, promises: bool, within: timedelta | None, since: str | None, **where: Any) -> None:
    """
    Show the fleet at a glance: clusters, what is on them, what waits.

    SOURCE is a directory or an address; a local work tree is read as it lies. What is placed where is what the
    deployment repo says, so give --deployment. With --promises the past is looked at: what was said of groups when they
    were placed, and what the snapshots since then show of them.
    """
    import json

    from gitplacer.cli.looking import looking
    from gitplacer.formats.status import status_json, status_text
    from gitplacer.model.verdicts import OUTGROWN
    from gitplacer.settings import UsageError

    if promises:
        _promises(output, within or timedelta(minutes=15), since, where)
        return
    if within is not None or since is not None:
        raise UsageError("--within and --since are about promises", "add --promises")
    with looking(where, OUTGROWN) as (looked, hydration, _):
        view, ledgers = hydration.view, looked.ledgers
        if output == "json":
            told = json.dumps(status_json(view, ledgers), indent=2, ensure_ascii=False) + "\n"
        else:
            told = status_text(view, ledgers)
    click.echo(told, nl=False)


def _promises(output: str, within: timedelta, since: str | None, where: dict[str, Any]) -> None:
    from gitplacer.audit.promises import promises_of
    from gitplacer.cli.progress import progress, style
    from gitplacer.formats.options import Options
    from gitplacer.formats.promises import PROMISE_FORMATS
    from gitplacer.settings import moment, settings

    begin = moment("--since", since) if since is not None else None
    chosen = settings(**where)
    with progress() as say:
        found = promises_of(chosen, within, begin, say)
    click.echo(PROMISE_FORMATS[output](found, within, Options(style=style())), nl=False)
