"""
What is said on stderr beside the problems: notes, and on a terminal a spinner with what goes on.

A log that nobody watches is better without a spinner. Colour is for terminals, and NO_COLOR turns it off.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitplacer.git.address import Address
from gitplacer.git.worktree import left_out
from gitplacer.passes.opening import Progress, folder_read, is_work_tree
from gitplacer.plaintext import printable
from gitplacer.problems import Problem
from gitplacer.settings import Settings

if TYPE_CHECKING:
    from gitplacer.formats.options import Style


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Tell it what is being done; it is gone when the context ends, so that nothing is mixed with other output."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("") as status:
        yield lambda message: status.update(f"{escape(printable(message))} …")


def note(message: str) -> None:
    """One line on stderr."""
    click.echo(printable(message, 2000), err=True)


def note_attempts(attempts: int) -> None:
    """Say so when a pass was overtaken and run again."""
    if attempts > 1:
        note(f"somebody else pushed first, so it was computed anew ({attempts} attempts)")


def show_problems(problems: Iterable[Problem]) -> None:
    """Problems on stderr, with their places and remedies."""
    told = tuple(problems)
    if told:
        from gitplacer.explain import lines_of_problems  # which takes a while, and is for nothing where there are none

        for line in lines_of_problems(told):
            click.echo(line, err=True)


def note_work_tree(settings: Settings) -> None:
    """Say so when what is read is not a commit."""
    if is_work_tree(settings):
        note(f"reading the work tree {settings.source.redacted} as it lies; --rev reads a commit")
        gone = left_out(folder_read(settings))
        if gone:
            files = "1 file" if gone == 1 else f"{gone:,} files"
            note(f"git sparse-checkout leaves out {files} of it, as if deleted; --rev HEAD reads all of them")
        above = _fleet_above(settings.source)
        if above is not None:
            note(f"there is a {_FLEET} in {above}: give that folder, if it is the fleet that is meant")


_FLEET = "fleet.yaml"


def _fleet_above(source: Address) -> Path | None:
    """The folder with a fleet that a local source is only a part of; None where it has one of its own, or there is none up to the top of its repo."""
    if source.path is None or source.work_tree is None or (source.path / _FLEET).exists():
        return None
    above = source.path.parents[: len(source.path.relative_to(source.work_tree).parts)]
    return next((folder for folder in above if (folder / _FLEET).is_file()), None)


def style() -> Style:
    """Colours where stdout is a terminal and nobody is against them."""
    from gitplacer.formats.options import plain  # which takes a while

    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain
    return lambda text, colour: click.style(text, fg=colour) if colour else text
