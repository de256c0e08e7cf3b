"""
Saved plans as files: written by `plan --out`, read by `reconcile --plan`.

A file may come from anywhere, so no more of it is read than a plan can be long.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.files import write_text
from gitplacer.cli.progress import note
from gitplacer.formats.savedplan import MAX_SAVED, BadPlan, SavedPlan, load, refusal, saved_text
from gitplacer.hosts.pagefiles import read_plain
from gitplacer.plaintext import pasted
from gitplacer.settings import UsageError
from gitplacer.source.files import READ_ENDINGS

if TYPE_CHECKING:
    from gitplacer.passes.aswasplanned import PlanDiffers


def refuse_place(path: str, source: str | None, folder: str | None = None) -> None:
    """
    Raises UsageError for a place that cannot be written, or where a plan would do harm: below the fleet's folder of a source that is
    read as it lies it would be read as a part of it. `source` is None where a commit is read.
    """
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"--out {path} is a directory", "name a file, such as ../plan.json")
    if not place.parent.is_dir():
        raise UsageError(f"--out {path}: there is no directory {place.parent}", "make it first, or name another")
    if source is None or not path.lower().endswith(READ_ENDINGS):
        return
    if place.resolve().is_relative_to((Path(source) / (folder or ".")).resolve()):
        hint = "write it beside the source, or give it another ending, such as plan.saved"
        raise UsageError(f"--out {path} lies in the source, where it would be read as one of its files", hint)


def save_plan(path: str, document: Mapping[str, Any], *, changes: bool) -> None:
    """Write a plan's document to a file, and say how it is carried out."""
    write_text(Path(path), saved_text(document, changes=changes))
    note(
        f"saved as {path}; `gitplacer reconcile --plan {pasted(path)}` carries it out, unless something comes out otherwise by then"
    )


def read_plan(path: str) -> SavedPlan:
    """The plan in a file. Raises UsageError."""
    try:
        return load(read_plain(Path(path), MAX_SAVED), path)
    except BadPlan as error:
        raise UsageError(str(error), error.hint) from None


def show_refusal(path: str, planned: SavedPlan, differs: PlanDiffers) -> int:
    """Both plans side by side on stdout; the exit code."""
    total = len(planned.groups.keys() | {each.name for each in differs.found})
    click.echo(refusal(differs.found, differs.causes, differs.inputs), nl=False)
    count = len(differs.found)
    note(f"error: {count} of {total} decisions would not be as in {path}; nothing was published")
    note(f"  hint: look at the plan as it is now, and save it: gitplacer plan --out {pasted(path)}")
    return 1
