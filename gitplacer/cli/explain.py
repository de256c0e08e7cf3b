"""`gitplacer explain GROUP`: one group, with every cluster's verdict."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.options import fleet


@click.command("explain")
@click.argument("group")
@fleet()
def command(group: str, **where: Any) -> None:
    """
    Tell why GROUP is where it is, or why it waits.

    GROUP is <namespace>/<name>. SOURCE is a directory or an address; a local work tree is read as it lies.
    """
    from gitplacer.cli.looking import look
    from gitplacer.explain import NoSuchGroup
    from gitplacer.formats.group import explain_group
    from gitplacer.settings import UsageError

    view = look(where).view
    try:
        click.echo(explain_group(view, group), nl=False)
    except NoSuchGroup as error:
        raise UsageError(str(error), error.hint) from None
