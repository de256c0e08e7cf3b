"""`gitplacer suspend GROUPS`: suspend apps, as a commit on the source."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.intending import written
from gitplacer.cli.options import fleet
from gitplacer.cli.switching import selecting
from gitplacer.cli.teaching import Taught


@click.command("suspend", cls=Taught)
@selecting
@written
@fleet()
def command(**asked: Any) -> None:
    """
    Suspend the apps of GROUPS: their pods go, their place stays.

    GROUPS are ids or patterns with commas between, such as research/*; every condition given must hold. Sets the field by
    which each kind is suspended (`spec.suspend` of Ray's kinds, Jobs and CronJobs) in SOURCE, as a commit on the branch that is
    checked out, and says what cannot be suspended. A job that runs starts from the beginning when it is resumed.
    """
    from gitplacer.cli.switching import switch

    switch(suspend=True, **asked)
