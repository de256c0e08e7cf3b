"""`gitplacer status`: the fleet at a glance."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.options import choice, fleet


@click.command("status")
@choice(["text", "json"], "For people or for programs.")
@fleet()
def command(output: str, **where: Any) -> None:
    """
    Show the fleet at a glance: clusters, what is on them, what waits.

    SOURCE is a directory or an address; a local work tree is read as it lies. What is placed where is what the
    deployment repo says, so give --deployment.
    """
    import json

    from gitplacer.cli.looking import look
    from gitplacer.formats.status import status_json, status_text

    view = look(where).view
    if output == "json":
        click.echo(json.dumps(status_json(view), indent=2, ensure_ascii=False))
    else:
        click.echo(status_text(view), nl=False)
