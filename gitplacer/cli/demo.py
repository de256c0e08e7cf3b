"""`gitplacer demo`: the whole story in one command, with real repos that stay there to be played with."""

from __future__ import annotations

import click

from gitplacer.cli.completing import folders
from gitplacer.cli.teaching import Taught


@click.command("demo", cls=Taught)
@click.option(
    "--dir",
    "folder",
    metavar="DIR",
    shell_complete=folders,
    default="gitplacer-demo",
    show_default=True,
    help="A new directory.",
)
def command(folder: str) -> None:
    """
    Build an example fleet here, place it, and show what happens.

    Makes two Git repositories in a new directory: a fleet with clusters, policies and Ray manifests, and what gitplacer
    makes of it. Nothing but that directory is touched, and nothing is fetched.
    """
    from gitplacer.cli.story import tell

    tell(folder)
