"""`gitplacer size`: what pods manifests become, and what each pod asks for. Needs no fleet and no cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitplacer.cli.completing import files
from gitplacer.cli.options import choice
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitplacer.workloads.surroundings import Surroundings


@click.command("size", cls=Taught)
@choice(["text", "json"], "For people or for programs.")
@click.option(
    "--cluster",
    "clusters",
    multiple=True,
    metavar="FILE",
    shell_complete=files,
    help="Size for this cluster: its Cluster, its CapacitySnapshot, or both.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=files)
def command(output: str, clusters: tuple[str, ...], files: tuple[str, ...]) -> int:
    """
    Print what pods the manifests in FILE become, what each of them asks for, and why.

    FILE is a file of YAML or JSON, a directory of such files, or `-` for stdin. Counted are all pods that run at once,
    with the containers that KubeRay adds; a RayService's second Ray cluster is counted apart. WorkloadKinds in FILE say
    how objects of further kinds are sized; objects of other kinds are passed over, and where nobody knows whether a kind
    makes pods, that is told. What cannot be read or sized is told on stderr, the rest is printed, and the exit code is 1.
    """
    from gitplacer.cli.failures import report
    from gitplacer.cli.progress import note, show_problems, style
    from gitplacer.formats import SIZE_FORMATS
    from gitplacer.formats.options import Options
    from gitplacer.problems import Severity
    from gitplacer.sizing import sizes

    given, unread = contents(files)
    for failure in unread:
        report(failure)
    found = sizes(given, _around(clusters)) if clusters else sizes(given)
    show_problems(found.problems)
    click.echo(SIZE_FORMATS[output](found.objects, Options(style=style())), nl=False)
    failed = bool(unread) or any(problem.severity is Severity.ERROR for problem in found.problems)
    if not found.objects and not failed:
        note("nothing there makes pods")
    return 1 if failed else 0


def _around(names: tuple[str, ...]) -> Callable[[str], Surroundings]:
    """What the cluster of the given files adds to pods. Raises Rejected for a file that is neither of the two."""
    from gitplacer.cli.files import read_file
    from gitplacer.profiles import read_profile

    return read_profile({name: read_file(name) for name in names}).surroundings


def contents(names: tuple[str, ...]) -> tuple[dict[str, bytes], list[OSError]]:
    """The bytes of each file by its path as it was given, those of a directory sorted; and why others cannot be read."""
    from gitplacer.cli.files import read_file

    found: dict[str, bytes] = {}
    failures: list[OSError] = []
    for name in dict.fromkeys(names):
        for path in _files(name, failures):
            try:
                found["<stdin>" if path == "-" else path] = read_file(path)
            except OSError as error:
                failures.append(error)
    return found, failures


def _files(name: str, failures: list[OSError]) -> list[str]:
    """The file itself, or those of a directory that may hold objects, whatever directory in it cannot be looked into."""
    import os
    from pathlib import Path

    from gitplacer.source.files import READ_ENDINGS

    if not name or not Path(name).is_dir():
        return [name]
    below = (Path(place, file) for place, _, files in os.walk(name, onerror=failures.append) for file in files)
    return [file.as_posix() for file in sorted(below) if file.suffix.lower() in READ_ENDINGS and file.is_file()]
