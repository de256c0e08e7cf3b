"""
Saved plans as files: written by `plan --out`, read by `reconcile --plan`.

A file may come from anywhere, so no more of it is read than a plan can be long. It is written under another name first: who
sees it sees all of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.progress import note
from gitplacer.formats.savedplan import MAX_SAVED, BadPlan, SavedPlan, load, refusal, saved_text
from gitplacer.settings import UsageError
from gitplacer.source.files import READ_ENDINGS

if TYPE_CHECKING:
    from gitplacer.passes.aswasplanned import PlanDiffers


def refuse_place(path: str, source: str, folder: str | None = None) -> None:
    """
    Raises UsageError for a place that cannot be written, or where a plan would do harm: below the fleet's folder of the source it
    would be read as a part of it.
    """
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"--out {path} is a directory", "name a file, such as ../plan.json")
    if not place.parent.is_dir():
        raise UsageError(f"--out {path}: there is no directory {place.parent}", "make it first, or name another")
    if path.endswith(READ_ENDINGS) and place.resolve().is_relative_to((Path(source) / (folder or ".")).resolve()):
        hint = "write it beside the source, or give it another ending, such as plan.saved"
        raise UsageError(f"--out {path} lies in the source, where it would be read as one of its files", hint)


def save_plan(path: str, document: Mapping[str, Any], *, changes: bool) -> None:
    """Write a plan's document to a file, and say how it is carried out."""
    place = Path(path)
    text = saved_text(document, changes=changes)
    if place.exists() and not place.is_file():  # a pipe or /dev/stdout
        place.write_text(text, "utf-8")
    else:
        draft = place.with_name(f".{place.name}.{os.getpid()}")
        draft.write_text(text, "utf-8")
        draft.replace(place)
    note(
        f"saved as {path}; `gitplacer reconcile --plan {path}` carries it out, unless something comes out otherwise by then"
    )


def read_plan(path: str) -> SavedPlan:
    """The plan in a file. Raises UsageError, OSError."""
    with Path(path).open("rb") as file:
        data = file.read(MAX_SAVED + 1)
    try:
        return load(data, path)
    except BadPlan as error:
        raise UsageError(str(error), error.hint) from None


def show_refusal(path: str, planned: SavedPlan, differs: PlanDiffers) -> int:
    """Both plans side by side on stdout; the exit code."""
    total = len(planned.groups.keys() | {each.name for each in differs.found})
    click.echo(refusal(differs.found, differs.causes, differs.inputs), nl=False)
    count = len(differs.found)
    note(f"error: {count} of {total} decisions would not be as in {path}; nothing was published")
    note(f"  hint: look at the plan as it is now, and save it: gitplacer plan --out {path}")
    return 1
