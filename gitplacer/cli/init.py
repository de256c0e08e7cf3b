"""
`gitplacer init`: a small fleet repo that validates and plans from its first minute.

What it consists of is in `gitplacer/data/starter`; the schema is made here. Nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from gitplacer.cli.bootstrap import ENGINES

_PLACES = {
    "workflow.yaml": ".github/workflows/gitplacer.yaml",
    "editor.json": ".vscode/settings.json",
}
"""Starter files that are not to be found by tools in our own repository, and where they go."""


@click.command("init")
@click.argument("folder", metavar="DIR")
@click.option(
    "--engine", type=click.Choice(list(ENGINES)), default="argocd", show_default=True, help="What syncs the clusters."
)
def command(folder: str, engine: str) -> None:
    """
    Start a new fleet repo in DIR.

    DIR is made, or is empty but for a .git. One cluster, one policy and one small Ray cluster show how things are
    written; README.md says what to do next.
    """
    from gitplacer.settings import UsageError

    top = Path(folder)
    if top.exists() and not top.is_dir():
        raise UsageError(f"{folder} is a file", "name a new directory")
    if top.is_dir() and any(entry.name != ".git" for entry in top.iterdir()):
        raise UsageError(f"{folder} is not empty", "name a new directory")
    for path, data in sorted(_files(engine)):
        place = top / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        click.echo(place)
    click.echo(f"\nNext: gitplacer plan {folder}, and read {top / 'README.md'}", err=True)


def _files(engine: str) -> Iterator[tuple[str, bytes]]:
    from gitplacer import __version__
    from gitplacer.kinds.schema import combined_schema
    from gitplacer.packaged import STARTER, packaged

    starter = packaged(STARTER)
    marks = {
        b"@ENGINE_STEP@": starter[f"README.{engine}.md"],
        b"@ENGINE_NAME@": ENGINES[engine].encode(),
        b"@ENGINE@": engine.encode(),
        b"@VERSION@": __version__.encode(),
    }
    files = {}
    for path, data in starter.items():
        for mark, value in marks.items():
            data = data.replace(mark, value)
        if not path.startswith("README.") or path == "README.md":
            files[_PLACES.get(path, path)] = data
    yield from files.items()
    schema = json.dumps(combined_schema(), indent=2, ensure_ascii=False) + "\n"
    yield ".gitplacer/gitplacer.schema.json", schema.encode()
