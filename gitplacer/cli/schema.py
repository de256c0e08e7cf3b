"""`gitplacer schema`: what editors check our kinds with, and programs our plan."""

from __future__ import annotations

import click

from gitplacer.cli.completing import schemas
from gitplacer.cli.teaching import Taught


@click.command("schema", cls=Taught)
@click.argument("kind", required=False, shell_complete=schemas)
def command(kind: str | None) -> None:
    """
    Print the JSON Schema (draft 2020-12) of KIND.

    Without KIND: one schema for every file of a fleet repo, which chooses by `kind` and lets foreign kinds pass. `Plan`,
    `Explanation` and `Room` are what `plan`, `explain` and `room` print with `--format json`.
    """
    import json

    from gitplacer.formats.documents import DOCUMENTS
    from gitplacer.kinds import TABLE
    from gitplacer.kinds.schema import combined_schema, kind_schema
    from gitplacer.problems import nearest
    from gitplacer.settings import UsageError

    if kind is None:
        schema = combined_schema()
    elif kind in DOCUMENTS:
        schema = DOCUMENTS[kind]()
    elif kind in TABLE:
        schema = kind_schema(kind)
    else:
        raise UsageError(f'there is no kind "{kind}"', nearest(kind, [*TABLE, *DOCUMENTS]))
    click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
