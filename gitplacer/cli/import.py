"""`gitplacer import`: a fleet repo from the files of another scheduler, and a report of what became of each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import folders, nova_options
from gitplacer.cli.files import new_folder, write_folder
from gitplacer.cli.options import choice
from gitplacer.cli.teaching import Taught, TaughtGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from gitplacer.importers.report import Imported
    from gitplacer.importers.variables import Variables


def _reads_manifests(function: Callable[..., int]) -> Callable[..., int]:
    """The options of an import that reads manifests: where to, and variables."""
    options = (
        click.option(
            "-o",
            "--output",
            "target",
            metavar="OUT",
            shell_complete=folders,
            required=True,
            help="The new repo: a directory that is empty or not there.",
        ),
        click.option(
            "--set",
            "given",
            metavar="NAME=VALUE",
            multiple=True,
            help="Fill ${NAME} in the files, as envsubst does. Given again with the same NAME, a file that has it is imported once for each "
            "value.",
        ),
        click.option("--keep", metavar="NAME", multiple=True, help="Leave ${NAME} as it is: it is none of envsubst's."),
    )
    for option in reversed(options):
        function = option(function)
    return function


_namespace = click.option(
    "--namespace",
    metavar="NAME",
    default="",
    help="The namespace of objects that say none, as kubectl -n; absent means default.",
)
_exported = click.option(
    "--now", metavar="TIME", help="When the clusters were exported, such as 2026-01-02T03:04:05Z; absent means now."
)


class _Systems(TaughtGroup):
    """The systems that people come from; who misspells one is told which is near."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in self.commands and not name.startswith("-"):
            from gitplacer.problems import nearest

            raise click.UsageError(f'nothing is imported from "{name}"; {nearest(name, self.commands)}', ctx)
        return super().resolve_command(ctx, args)


@click.group("import", cls=_Systems, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """
    Make a fleet repo of the files of another scheduler.

    Each system that people come from is a command of its own: `gitplacer import nova --help`. Whatever is not understood is reported
    with its file and line, and nothing is dropped in silence.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@command.command("nova", cls=Taught)
@click.argument("folder", metavar="DIR", shell_complete=folders)
@_reads_manifests
@click.option(
    "--namespace",
    "namespaces",
    metavar="NAME",
    multiple=True,
    help="The namespace of objects that say none, as kubectl -n; absent means default. Given again, they are imported once for each.",
)
@click.option(
    "--option",
    "options",
    metavar="NAME[=VALUE]",
    multiple=True,
    shell_complete=nova_options,
    help="An option that Nova runs with, such as multi-cluster-capacity or NOVA_IDLE_ENTER_STANDBY_SECS=1800.",
)
@choice(["text", "json"], "For people or for programs.")
def nova(
    folder: str,
    target: str,
    given: tuple[str, ...],
    keep: tuple[str, ...],
    options: tuple[str, ...],
    namespaces: tuple[str, ...],
    output: str,
) -> int:
    """
    Make a fleet repo of Nova's policies, Cluster resources and manifests in DIR.

    DIR is read with all its folders. OUT gets fleet.yaml, clusters/, capacity/, policies/, overrides/, workloads/, platform/ and
    IMPORT.md, which says what became of each thing. The exit code is 1 if something could not be read; the rest is written all the same.
    """
    from gitplacer.importers.nova import NovaOptions, UnknownOption, imported
    from gitplacer.settings import UsageError

    try:
        chosen = NovaOptions.of(options)
    except UnknownOption as error:
        raise UsageError(str(error), error.hint) from None
    variables = _variables(given, keep)
    for namespace in namespaces:
        _check_namespace(namespace)
    out = new_folder(target)
    found = imported(_files(folder, "Nova"), variables, chosen, tuple(dict.fromkeys(namespaces)))
    if found.files:
        write_folder(out, found.files)
    return _tell(found, out, output)


@command.command("karmada", cls=Taught)
@click.argument("folder", metavar="DIR", shell_complete=folders)
@_reads_manifests
@_namespace
@_exported
@choice(["text", "json"], "For people or for programs.")
def karmada(folder: str, **options: Any) -> int:
    """
    Make a fleet repo of Karmada's policies, overrides, Clusters and manifests in DIR.

    DIR is read with all its folders: manifests as they are applied to Karmada, and what it keeps there, such as the output of `kubectl get
    clusters,pp,cpp,op,cop -A -o yaml`. OUT gets fleet.yaml, clusters/, capacity/, policies/, overrides/, tenants/, workloads/, platform/ and
    IMPORT.md, which says what became of each thing. The exit code is 1 if something could not be read; the rest is written all the same.
    """
    from gitplacer.importers.karmada import imported

    return _hub("Karmada", imported, folder, **options)


@command.command("ocm", cls=Taught)
@click.argument("folder", metavar="DIR", shell_complete=folders)
@_reads_manifests
@_namespace
@_exported
@choice(["text", "json"], "For people or for programs.")
def ocm(folder: str, **options: Any) -> int:
    """
    Make a fleet repo of Open Cluster Management's Placements, clusters, scores and works in DIR.

    DIR is read with all its folders, such as the output of `kubectl get managedclusters,placements,manifestworkreplicasets -A -o yaml`;
    docs/from-ocm.md names all kinds. The manifests inside works become files. OUT gets fleet.yaml, clusters/, capacity/, scores/, policies/,
    workloads/, platform/ and IMPORT.md, which says what became of each thing. The exit code is 1 if something could not be read; the rest is
    written all the same.
    """
    from gitplacer.importers.ocm import imported

    return _hub("OCM", imported, folder, **options)


def _hub(
    system: str,
    imported: Callable[[Mapping[str, bytes], Variables, datetime, str], Imported],
    folder: str,
    *,
    target: str,
    given: tuple[str, ...],
    keep: tuple[str, ...],
    namespace: str,
    now: str | None,
    output: str,
) -> int:
    """An import from a system whose clusters were exported at some time."""
    from gitplacer.settings import settings

    exported_at = settings(".", now=now).now
    variables = _variables(given, keep)
    if namespace:
        _check_namespace(namespace)
    out = new_folder(target)
    found = imported(_files(folder, system), variables, exported_at, namespace)
    if found.files:
        write_folder(out, found.files)
    return _tell(found, out, output)


def _variables(given: tuple[str, ...], keep: tuple[str, ...]) -> Variables:
    """The values of --set. Their text is in no message: it may be a secret."""
    from gitplacer.importers.variables import NAME, Variables
    from gitplacer.settings import UsageError

    values: dict[str, list[str]] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not NAME.fullmatch(name):
            raise UsageError("--set takes the name of a variable and its value", "write it like --set NS=rayjob1")
        if "\n" in value or "\r" in value:
            raise UsageError(
                f"the value of --set {name} has several lines", "lines must stay where they are in the files"
            )
        if value not in values.setdefault(name, []):
            values[name].append(value)
    both = sorted({*values} & {*keep})
    if both:
        raise UsageError(f"{both[0]} is given to --set and to --keep", "say one of them")
    return Variables(values, frozenset(keep))


def _check_namespace(namespace: str) -> None:
    from gitplacer.model.labels import is_dns_label
    from gitplacer.settings import UsageError

    if not is_dns_label(namespace):
        raise UsageError(f"--namespace {namespace} is no namespace", "write lower-case letters, digits and dashes")


def _files(folder: str, system: str) -> dict[str, bytes]:
    """Every file below a folder that may hold objects, by path. Links are not followed."""
    import os
    from pathlib import Path

    from gitplacer.cli.files import read_file
    from gitplacer.cli.progress import note
    from gitplacer.settings import UsageError
    from gitplacer.source.files import is_read

    def not_opened(error: OSError) -> None:
        raise error

    top = Path(folder)
    if not top.is_dir():
        raise UsageError(f"there is no directory {folder}", f"name the directory with {system}'s files")
    found: dict[str, bytes] = {}
    others = 0
    for place, below, names in os.walk(top, onerror=not_opened):
        below.sort()
        for name in sorted(names):
            file = Path(place, name)
            path = file.relative_to(top).as_posix()
            if is_read(path) and file.is_file() and not file.is_symlink():
                found[path] = read_file(str(file))
            else:
                others += 1
    if not found:
        raise UsageError(f"{folder} has no file of YAML or JSON", f"name the directory with {system}'s files")
    if others:
        note(f"{others} file{'s' if others > 1 else ''} of other kinds, hidden or links, were not looked at")
    return found


def _tell(found: Imported, out: Path, output: str) -> int:
    from gitplacer.cli.progress import note, show_problems
    from gitplacer.formats.planjson import to_json
    from gitplacer.importers.report import plain, text
    from gitplacer.plaintext import counted, pasted

    if output == "json":
        click.echo(to_json(plain(found), indent=2), nl=False)
    else:
        click.echo("\n".join(text(found)))
    show_problems(found.problems)
    click.echo(err=True)
    note(f"{counted(len(found.files), 'file')} written to {out}; {out}/IMPORT.md says what became of everything")
    note(f"Next: gitplacer validate {pasted(out)}, then gitplacer plan {pasted(out)}")
    return 1 if found.problems else 0
