"""`gitplacer resume GROUPS`: resume apps, as a commit on the source."""

from __future__ import annotations

from typing import Any

import click

from gitplacer.cli.intending import written
from gitplacer.cli.options import fleet
from gitplacer.cli.switching import selecting
from gitplacer.cli.teaching import Taught


@click.command("resume", cls=Taught)
@selecting
@written
@fleet()
def command(**asked: Any) -> None:
    """
    Resume the apps of GROUPS that are suspended.

    GROUPS are ids or patterns with commas between, such as research/*; every condition given must hold. Otherwise like
    `gitplacer suspend`. The room that an app gave up may be taken; `gitplacer plan` shows what becomes of it.
    """
    from gitplacer.cli.switching import switch

    switch(suspend=False, **asked)
