"""`gitplacer move GROUP --to CLUSTER`: consent to a move, as a commit on the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import clusters, groups
from gitplacer.cli.intending import expiring, written
from gitplacer.cli.options import fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from datetime import timedelta


@click.command("move", cls=Taught)
@click.argument("group", shell_complete=groups)
@click.option(
    "--to", "to", metavar="CLUSTER", shell_complete=clusters, required=True, help="The cluster it is to go to."
)
@expiring
@written
@fleet()
def command(
    group: str, to: str, lasting: timedelta, reason: str, branch: str | None, as_patch: bool, **where: Any
) -> None:
    """
    Approve that GROUP moves to a cluster.

    Plans first with the move, and refuses one that is not possible. Then it writes an Approval to SOURCE, as a commit on the
    branch that is checked out; push it, and the next pass moves the group. The work tree may have other changes.
    """
    from gitplacer.cli.moving import approve

    approve(group, "Move", to, lasting=lasting, reason=reason, branch=branch, as_patch=as_patch, where=where)
