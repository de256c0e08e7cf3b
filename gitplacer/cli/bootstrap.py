"""`gitplacer bootstrap`: what Argo CD or Flux needs, made from the fleet, to be pasted into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from gitplacer.cli.completing import clusters, folders
from gitplacer.cli.options import OneOf, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from gitplacer.git.address import Address
    from gitplacer.kinds.fleet import Cluster
    from gitplacer.settings import Settings
    from gitplacer.source.ownkinds import OwnKinds

ENGINES = {"argocd": "Argo CD", "flux": "Flux"}
"""Here so that `--help` loads nothing; a test holds it against `engines.TABLE`."""

_ONLY = {
    "cluster_label": "argocd",
    "git_secret": "flux",
    "decryption_secret": "flux",
    "kubeconfig_secret": "flux",
    "timeout": "flux",
}
"""Options that one engine has alone."""


@click.command("bootstrap", cls=Taught)
@click.argument("engine", type=OneOf(list(ENGINES)))
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    shell_complete=folders,
    help="Write files into this directory instead of printing them.",
)
@click.option(
    "--per",
    type=OneOf(["cluster", "workload"]),
    default="cluster",
    show_default=True,
    help="What one sync covers: all workloads of a cluster, or one group on one cluster (Argo CD).",
)
@click.option(
    "--cluster",
    "only",
    metavar="NAME",
    shell_complete=clusters,
    multiple=True,
    help="Flux: only this cluster; may be given more than once.",
)
@click.option(
    "--namespace", metavar="NAME", default="", help="Where the engine is: argocd or flux-system if not given."
)
@click.option(
    "--cluster-label",
    metavar="LABEL",
    help="Argo CD: sync each cluster whose Secret has this label, with the cluster's name as its value, instead of a list.",
)
@click.option("--git-secret", metavar="NAME", help="Flux: the Secret with the credentials of the deployment repo.")
@click.option("--decryption-secret", metavar="NAME", help="Flux: the Secret with the keys that open SOPS files.")
@click.option(
    "--kubeconfig-secret",
    metavar="NAME",
    help="Flux on a hub: the Secret with a cluster's kubeconfig; {cluster} stands for its name.",
)
@click.option("--timeout", metavar="TIME", help="Flux: how long a Ray app may take to start; 15m if not given.")
@fleet(leave_out=("now",))
def command(engine: str, folder: str | None, only: tuple[str, ...], per: str, namespace: str, **options: Any) -> None:
    """
    Print what ENGINE needs to sync the fleet: argocd or flux.

    It is made from the Fleet and the Clusters in SOURCE, and from the address of the deployment repo: `spec.deployment.url`
    or --deployment. Nothing is applied and no cluster is reached: read it, and pipe it to
    `kubectl apply --server-side --field-manager gitplacer -f -`.

    For Argo CD, a Cluster that has another name there says so by the annotation `gitplacer.dev/argocd-cluster`: the name, or the
    https address of its API.

    For Flux, each cluster's own Flux reads its own file: print one with --cluster, or write all with -o. One Flux on a hub
    for all clusters takes --kubeconfig-secret.
    """
    from gitplacer.cli.progress import note, note_work_tree
    from gitplacer.dispatching import managers
    from gitplacer.engines import TABLE, CannotBootstrap, Wanted
    from gitplacer.settings import UsageError, settings

    own_options = {name: options.pop(name) for name in _ONLY}
    for name, value in own_options.items():
        if value is not None and _ONLY[name] != engine:
            raise UsageError(f"--{name.replace('_', '-')} is for {ENGINES[_ONLY[name]]}", "leave it out")
    if per not in ("cluster", "workload"):
        raise AssertionError(per)
    if only and engine == "argocd":
        raise UsageError(
            "--cluster is for Flux: an ApplicationSet lists all clusters, and applied with fewer it takes away the Applications of "
            "the others",
            "leave it out",
        )
    wanted = Wanted(
        per="workload" if per == "workload" else "cluster",
        namespace=checked_namespace(namespace),
        **{name: value for name, value in own_options.items() if value is not None},
    )
    chosen = settings(**options)
    note_work_tree(chosen)
    own, address = _read(chosen)
    spec, wanted = own.fleet.spec, replace(wanted, managers=managers(own.policies))
    clusters = _clusters(own, only)
    if spec.engine != engine:
        note(f"the Fleet says engine: {spec.engine}; charts and what `plan` warns of go by that, not by this command")
    try:
        files = TABLE[engine](spec, clusters, address.url, wanted)
    except CannotBootstrap as error:
        raise UsageError(str(error), error.hint) from None
    if folder is not None:
        _write_all(Path(folder), files)
        return
    if engine == "flux" and wanted.kubeconfig_secret is None and len(files) > 1:
        names = ", ".join(name.removesuffix(".yaml") for name in list(files)[:5]) + (", …" if len(files) > 5 else "")
        raise UsageError(
            f"each cluster's own Flux gets a file of its own, and there are {len(files)}: {names}",
            "name one with --cluster, or write all with -o DIR; a hub that reaches them takes --kubeconfig-secret",
        )
    click.echo(b"---\n".join(files.values()), nl=False)


def checked_namespace(name: str) -> str:
    """What --namespace gives; '' where it gives nothing. Raises UsageError where it is no name of one."""
    from gitplacer.model.labels import is_dns_label
    from gitplacer.settings import UsageError

    if name and not is_dns_label(name):
        raise UsageError(f"--namespace {name} is no name of a namespace", "use lower case letters, digits and -")
    return name


def _read(chosen: Settings) -> tuple[OwnKinds, Address]:
    """The fleet, and the address at which an engine finds the deployment repo."""
    from gitplacer.cli.progress import progress
    from gitplacer.explain import problem_lines
    from gitplacer.parsecache import ParseCache
    from gitplacer.passes.opening import deployment_address, opened_source
    from gitplacer.problems import Severity
    from gitplacer.settings import UsageError
    from gitplacer.source.reading import read_source

    memo = ParseCache(chosen.cache_dir)
    with progress() as say, opened_source(chosen, memo, work_tree=True) as opened:
        say("reading the source")
        source = read_source(opened.tree, memo)
        address = deployment_address(chosen, opened.spec, trusted=True)
    for problem in source.problems:
        if problem.severity is Severity.ERROR and problem.location in source.own.places.values():
            for line in problem_lines(problem):
                click.echo(line, err=True)
    if address is None:
        raise UsageError(
            "nobody said where the deployment repo is",
            "set spec.deployment.url in the Fleet, or give --deployment with an address",
        )
    if address.is_local:
        raise UsageError(
            f"{address.redacted} is a path on this machine, and {ENGINES[source.own.fleet.spec.engine]} runs elsewhere",
            "give the address of the deployment repo: https://host/path or git@host:path",
        )
    return source.own, address


def _clusters(own: OwnKinds, only: Sequence[str]) -> list[Cluster]:
    from gitplacer.dispatching import managers
    from gitplacer.kinds.fleet import synced
    from gitplacer.problems import nearest
    from gitplacer.settings import UsageError

    names = synced(own.fleet.spec, own.clusters.values(), managers(own.policies))
    for name in only:
        if name in own.clusters and name not in names:
            raise UsageError(f"{name} is a Management cluster: nothing is rendered for it", "leave it out")
        if name not in names:
            raise UsageError(f'there is no cluster "{name}"', nearest(name, names))
    return [cluster for name, cluster in own.clusters.items() if not only or name in only]


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    from gitplacer.cli.files import write_whole
    from gitplacer.cli.progress import note
    from gitplacer.settings import UsageError

    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "name a directory")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        click.echo(folder / name)
        write_whole(folder / name, data)
    strangers = sorted(path.name for path in folder.glob("*.yaml") if path.name not in files)
    if strangers:
        note(f"{folder} also has {', '.join(strangers)}, which are not of this run: remove what is out of date")
