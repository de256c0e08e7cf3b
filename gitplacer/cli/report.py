"""`gitplacer report`: the fleet as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gitplacer.cli.completing import files
from gitplacer.cli.options import fleet
from gitplacer.cli.teaching import Taught


@click.command("report", cls=Taught)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    shell_complete=files,
    required=True,
    help="Where to write it; - is stdout.",
)
@click.option(
    "--redact", is_flag=True, help="Leave out nodes, amounts, prices and sentences: for a page that all may see."
)
@fleet()
def command(target: str, redact: bool, **where: Any) -> None:
    """
    Write the fleet as one HTML page that loads nothing from elsewhere.

    SOURCE is a directory or an address; a local work tree is read as it lies. What is placed where, and what was
    relocated when, is what the deployment repo says, so give --deployment. An existing FILE is replaced, whole or not at all.
    """
    from gitplacer.cli.files import writable, write_whole
    from gitplacer.cli.looking import note_nothing_placed
    from gitplacer.cli.progress import note, note_work_tree, progress
    from gitplacer.passes.drawing import drawn
    from gitplacer.settings import settings

    file = None if target == "-" else writable(Path(target), "fleet.html")
    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say:
        found = drawn(chosen, work_tree=True, redact=redact, progress=say)
    note_nothing_placed(chosen, found.spec, found.view.deployment_commit, lost=found.has_lost_its_branch)
    if file is None:
        click.echo(found.html, nl=False)
        return
    data = found.html.encode()
    write_whole(file, data)
    size = f" ({len(data) / 1e6:.1f} MB)" if len(data) >= 1e6 else ""
    note(f"wrote {target}{size}; open {file.resolve().as_uri()}")
