"""`gitplacer drain CLUSTER`: empty a cluster, as a commit on the source, with the story of what follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gitplacer.cli.completing import clusters, files
from gitplacer.cli.intending import written
from gitplacer.cli.options import fleet
from gitplacer.cli.teaching import Taught


@click.command("drain", cls=Taught)
@click.argument("cluster", shell_complete=clusters)
@click.option(
    "--body",
    metavar="FILE",
    shell_complete=files,
    help="Write the story as Markdown too, for the body of a pull request.",
)
@written
@fleet()
def command(cluster: str, body: str | None, reason: str, branch: str | None, as_patch: bool, **where: Any) -> None:
    """
    Drain CLUSTER: write `state: Draining` into it, and tell what follows.

    Tells the moves pass by pass, as guards, strategies and evidence make them, who cannot leave and why, and the way back. Then it
    writes the one line to SOURCE, as a commit on the branch that is checked out, or with --diff as a patch. Nothing moves before it
    is merged and `gitplacer reconcile` runs.
    """
    from gitplacer.cli.files import write_text
    from gitplacer.cli.intending import Intent
    from gitplacer.cli.progress import progress
    from gitplacer.formats.drain import drain_lines, drain_markdown, verdict
    from gitplacer.passes.looking import Rehearsal
    from gitplacer.plaintext import printable
    from gitplacer.settings import UsageError
    from gitplacer.tree import Changes, Tree, differing_paths
    from gitplacer.whatif import DrainCluster, Unsupposable
    from gitplacer.whatif.draining import drain
    from gitplacer.whatif.ground import Ground

    intent = Intent(where, branch=branch, as_patch=as_patch)
    try:
        with progress() as say, intent.looking(say) as looked:
            ground = Ground.of(looked.inputs, looked.memo)
            after = DrainCluster(cluster).applied(looked.inputs, ground.snapshot).source
            paths = differing_paths(looked.inputs.source, after)
            if not paths:
                hint = "its Cluster says so; gitplacer plan shows what the next pass does"
                raise UsageError(f"cluster {printable(cluster)} is draining already", hint)
            say("making the passes that would follow")
            found = drain(ground, cluster)
            changes = Changes(after.read_all(paths))
            touched = looked.inputs.source.read_all(path for path in paths if path in looked.inputs.source)
    except Unsupposable as error:
        raise UsageError(str(error), error.hint) from None
    if body is not None:
        write_text(Path(body), drain_markdown(found))
    intent.write(
        Rehearsal(Tree.of(touched), ground.due, changes, None),
        f"Drain {printable(cluster)}",
        "\n\n".join(part for part in (reason, verdict(found)) if part),
        told=drain_lines(found),
    )
