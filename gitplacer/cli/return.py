"""`gitplacer return GROUP`: consent to go back to where it was, as a commit on the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import groups
from gitplacer.cli.intending import expiring, written
from gitplacer.cli.options import fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from datetime import timedelta


@click.command("return", cls=Taught)
@click.argument("group", shell_complete=groups)
@expiring
@written
@fleet()
def command(group: str, lasting: timedelta, reason: str, branch: str | None, as_patch: bool, **where: Any) -> None:
    """
    Approve that GROUP goes back to where it was before its last relocation.

    Its record in the deployment repo knows where that was. Otherwise like `gitplacer move`.
    """
    from gitplacer.cli.moving import approve

    approve(group, "Return", None, lasting=lasting, reason=reason, branch=branch, as_patch=as_patch, where=where)
