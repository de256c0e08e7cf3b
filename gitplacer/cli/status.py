"""`gitplacer status`: the fleet at a glance, and what became of the promises that were made in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.options import choice, fleet

if TYPE_CHECKING:
    from datetime import timedelta


_LONGEST = 366 * 24 * 3600


@click.command("status")
@choice(["text", "json"], "For people or for programs.")
@click.option("--promises", is_flag=True, help="Show how many groups that were told they fit were ready in time.")
@click.option(
    "--within", metavar="DURATION", help="The time in which they were to be ready, such as 15m. Default: 15m."
)
@click.option("--since", metavar="TIME", help="Only what was promised from this time on.")
@fleet()
def command(output: str, promises: bool, within: str | None, since: str | None, **where: Any) -> None:
    """
    Show the fleet at a glance: clusters, what is on them, what waits.

    SOURCE is a directory or an address; a local work tree is read as it lies. What is placed where is what the
    deployment repo says, so give --deployment. With --promises the past is looked at: what was said of groups when they
    were placed, and what the snapshots since then show of them.
    """
    import json

    from gitplacer.cli.looking import look
    from gitplacer.formats.status import status_json, status_text
    from gitplacer.settings import UsageError

    if promises:
        _promises(output, within or "15m", since, where)
        return
    if within is not None or since is not None:
        raise UsageError("--within and --since are about promises", "add --promises")
    view = look(where).view
    if output == "json":
        click.echo(json.dumps(status_json(view), indent=2, ensure_ascii=False))
    else:
        click.echo(status_text(view), nl=False)


def _promises(output: str, within: str, since: str | None, where: dict[str, Any]) -> None:
    from gitplacer.audit.promises import promises_of
    from gitplacer.cli.progress import progress, style
    from gitplacer.formats.options import Options
    from gitplacer.formats.promises import PROMISE_FORMATS
    from gitplacer.settings import moment, settings

    span = _duration(within)
    begin = moment("--since", since) if since is not None else None
    chosen = settings(**where)
    with progress() as say:
        found = promises_of(chosen, span, begin, say)
    click.echo(PROMISE_FORMATS[output](found, span, Options(style=style())), nl=False)


def _duration(text: str) -> timedelta:
    from datetime import timedelta

    from gitplacer.kinds.fields import duration_seconds
    from gitplacer.settings import UsageError

    try:
        seconds = duration_seconds(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"--within {text} is no time to wait", "write it like 30s, 15m or 1h30m")
    return timedelta(seconds=seconds)
