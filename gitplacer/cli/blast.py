"""`gitplacer blast --base REV`: which groups an edit of policies or clusters touches."""

from __future__ import annotations

import re
from typing import Any

import click

from gitplacer.cli.completing import revisions
from gitplacer.cli.options import FAILED_ON, choice, fleet
from gitplacer.cli.teaching import Taught


def _limit(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, bool] | None:
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(%?)", value)
    if found is None or (found[2] and int(found[1]) > 100):
        raise click.BadParameter(f'"{value}" is neither a number of groups nor a share such as 10%', ctx, param)
    return int(found[1]), bool(found[2])


@click.command("blast", cls=Taught)
@click.option(
    "--base",
    metavar="REV",
    shell_complete=revisions,
    required=True,
    help="The revision of SOURCE without the edit, such as main.",
)
@click.option(
    "--limit", metavar="N|P%", callback=_limit, help="Exit with 3 if more groups are touched, or a larger share."
)
@choice(["text", "json"], "For a terminal, or for programs.")
@fleet()
def command(base: str, limit: tuple[int, bool] | None, output: str, **where: Any) -> int:
    """
    Tell which groups an edit of policies, clusters or the Fleet touches.

    Compares SOURCE, as it lies or at --rev, with --base: groups that another policy governs, that may be on other clusters, for which
    other rules hold, or that the next pass would treat otherwise. Changes of workloads do not count: they are what
    `gitplacer plan` shows. Exits with 0 unless --limit is exceeded; 1 is an error.
    """
    from msgspec.structs import replace

    from gitplacer.cli.looking import FIRST_PASS, note_unplaced
    from gitplacer.cli.progress import note, note_work_tree, progress, style
    from gitplacer.formats.blast import blast_json, blast_text
    from gitplacer.formats.options import Options
    from gitplacer.passes.looking import looked_at
    from gitplacer.passes.opening import opened_source
    from gitplacer.settings import settings
    from gitplacer.whatif.blasting import blast, policy_edit
    from gitplacer.whatif.ground import Ground

    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say, looked_at(chosen, work_tree=True, progress=say) as looked:
        note_unplaced(chosen, looked, FIRST_PASS)
        say(f"reading {base}")
        with opened_source(replace(chosen, rev=base), looked.memo, work_tree=False) as before:
            ground = Ground.of(replace(looked.inputs, source=before.tree, commit=before.commit), looked.memo)
            say("planning with the edit")
            found = blast(ground, policy_edit(before.tree, looked.inputs.source, ground.snapshot))
            told = {
                "base": {"commit": before.commit.id if before.commit else None},
                "source": {"commit": looked.inputs.commit.id if looked.inputs.commit else None},
                "deployment": {"commit": looked.inputs.deployment_commit},
                "now": f"{looked.inputs.now:%Y-%m-%dT%H:%M:%SZ}",
                "version": looked.inputs.version,
            }
    click.echo(blast_json(found, told) if output == "json" else blast_text(found, Options(style=style())), nl=False)
    if limit is not None and _exceeds(len(found.touched), found.total, limit):
        number, share = limit
        note(f"failed on: {len(found.touched)} of {found.total} groups are touched, more than {number}{'%' * share}")
        return FAILED_ON
    return 0


def _exceeds(touched: int, total: int, limit: tuple[int, bool]) -> bool:
    number, share = limit
    return touched * 100 > number * total if share else touched > number
