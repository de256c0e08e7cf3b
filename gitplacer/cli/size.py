"""`gitplacer size`: what pods manifests become, and what each pod asks for. Needs no fleet and no cluster."""

from __future__ import annotations

import click

from gitplacer.cli.options import choice


@click.command("size")
@choice(["text", "json"], "For people or for programs.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(output: str, files: tuple[str, ...]) -> int:
    """
    Print what pods the manifests in FILE become, what each of them asks for, and why.

    FILE is a file of YAML or JSON, a directory of such files, or `-` for stdin. Counted are all pods that run at once,
    with the containers that KubeRay adds; a RayService's second Ray cluster is counted apart. Objects of kinds that make no
    pods are passed over. Exits with 1 if an object cannot be sized.
    """
    from gitplacer.cli.progress import note, style
    from gitplacer.explain import problem_lines
    from gitplacer.formats import SIZE_FORMATS
    from gitplacer.formats.options import Options
    from gitplacer.problems import Severity
    from gitplacer.sizing import sizes

    found = sizes(_contents(files))
    for problem in found.problems:
        for line in problem_lines(problem):
            click.echo(line, err=True)
    click.echo(SIZE_FORMATS[output](found.objects, Options(style=style())), nl=False)
    failed = any(problem.severity is Severity.ERROR for problem in found.problems)
    if not found.objects and not failed:
        note("nothing there makes pods")
    return 1 if failed else 0


def _contents(names: tuple[str, ...]) -> dict[str, bytes]:
    """The bytes of each file by its path as it was given, those of a directory sorted."""
    import sys
    from pathlib import Path

    from gitplacer.source.files import READ_ENDINGS

    found = {}
    for name in names:
        path = Path(name)
        if name == "-":
            found["<stdin>"] = sys.stdin.buffer.read()
        elif path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix in READ_ENDINGS and file.is_file())
            found.update({file.as_posix(): file.read_bytes() for file in inside})
        else:
            found[name] = path.read_bytes()
    return found
