"""
`gitplacer validate`: every problem in the source and its capacity snapshots, wherever objects go. Needs no deployment repo.

What an object becomes on a cluster is told by a plan, for the clusters that it goes to: on others nobody may mind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitplacer.problems import Problem
    from gitplacer.settings import Settings

_FROM_THE_ROOT = ("github", "gitlab", "sarif")
"""Formats whose readers look for files from the root of the repository."""


@click.command("validate", cls=Taught)
@choice(
    ["text", "json", "github", "gitlab", "sarif"],
    "For people, for programs, as annotations in GitHub's checks, as GitLab's code quality report, or for code scanning.",
)
@fleet(deployment=False)
def command(output: str, **where: Any) -> int:
    """
    Print every problem in the source, each with its place and what to do.

    SOURCE is a directory or an address. A local work tree is read as it lies. More than a hundred problems are told by code and folder,
    with examples and counts; --format json has every one. Exits with 1 if there is an error;
    warnings do not count.

    What depends on where objects go is no part of it: an override that cannot be made on a cluster, or one that makes what the API server
    refuses there, and an edit that cannot be made of what is deployed. `gitplacer plan` and the pass tell these, and hold the group.
    """
    from gitplacer.cli.progress import note, note_work_tree, progress, style
    from gitplacer.formats import PROBLEM_FORMATS
    from gitplacer.formats.options import Options
    from gitplacer.problems import Severity
    from gitplacer.settings import settings

    chosen = settings(**where)
    note_work_tree(chosen)
    with progress() as say:
        say("reading the source")
        problems = _problems(chosen)
    if output in _FROM_THE_ROOT:
        problems = [problem.below(chosen.folder) for problem in problems]
    click.echo(PROBLEM_FORMATS[output](problems, Options(style=style())), nl=False)
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    note(_count(errors, len(problems) - errors))
    return 1 if errors else 0


def _problems(chosen: Settings) -> Sequence[Problem]:
    from gitplacer.parsecache import ParseCache
    from gitplacer.passes.opening import opened_source
    from gitplacer.problems import Rejected
    from gitplacer.runners.manyfiles import parsed_together
    from gitplacer.snapshot import read_snapshot
    from gitplacer.tree import Tree

    memo = ParseCache(chosen.cache_dir, parse_many=parsed_together)
    try:
        with opened_source(chosen, memo, work_tree=True) as source:
            snapshot = read_snapshot(
                source=source.tree,
                capacity=source.capacity,
                deployment=Tree(),
                foreign_paths=frozenset(),
                now=chosen.now,
                memo=memo,
            )
        memo.save()
        return snapshot.problems
    except Rejected as rejected:
        return rejected.problems


def _count(errors: int, warnings: int) -> str:
    if not errors and not warnings:
        return "no problems"
    return f"{errors} error{'s' if errors != 1 else ''}, {warnings} warning{'s' if warnings != 1 else ''}"
