"""
`gitplacer init`: a small fleet repo that validates and plans from its first minute.

What it consists of is in `gitplacer/data/starter`; the schema is made here. Nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import click

from gitplacer.cli.bootstrap import ENGINES
from gitplacer.cli.options import OneOf

_PLACES = {
    "CODEOWNERS": ".github/CODEOWNERS",
    "workflow.yaml": ".github/workflows/gitplacer.yaml",
    "editor.json": ".vscode/settings.json",
}
"""Starter files that are not to be found by tools in our own repository, and where they go."""

_EXAMPLES = ("clusters/my-cluster.yaml", "capacity/my-cluster.yaml")
"""What stands for a cluster where nobody names one."""
_CLUSTERS_STEP = (
    "Describe your own clusters: a file in `clusters/` and one in `capacity/` for each. Delete `my-cluster`.",
    "Take the snapshots in `capacity/` anew whenever you plan: `gitplacer snapshot` writes one.",
)
"""What README.md says of clusters: where one is an example, and where all are there."""
_LABELS = {"class": "general"}
"""Labels by which the starter's policy chooses clusters."""


@click.command("init")
@click.argument("folder", metavar="DIR")
@click.option(
    "--engine", type=OneOf(list(ENGINES)), default="argocd", show_default=True, help="What syncs the clusters."
)
@click.option(
    "--context",
    "contexts",
    metavar="NAME",
    multiple=True,
    help="Begin with the cluster of this context of the kubeconfig, as it is now. May be given several times.",
)
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig of --context, if not that which kubectl uses.")
def command(folder: str, engine: str, contexts: tuple[str, ...], kubeconfig: str | None) -> None:
    """
    Start a new fleet repo in DIR.

    DIR is made, or is empty but for a .git. One cluster, one policy and one small Ray cluster show how things are
    written; README.md says what to do next. With --context the clusters are yours: a Cluster and a capacity snapshot of each are
    written in place of the example, if all of them can be read.
    """
    from gitplacer.cli.files import new_folder, write_files
    from gitplacer.settings import UsageError

    top = new_folder(folder)
    if kubeconfig and not contexts:
        raise UsageError("--kubeconfig is for --context", "name the contexts of your clusters: --context NAME")
    files = dict(_files(engine, _CLUSTERS_STEP[bool(contexts)]))
    if contexts:
        files = {path: data for path, data in files.items() if path not in _EXAMPLES}
        files |= _live(dict.fromkeys(contexts), kubeconfig)
    for place in write_files(top, files):
        click.echo(place)
    click.echo(f"\nNext: gitplacer plan {folder}, and read {top / 'README.md'}", err=True)


def _files(engine: str, clusters_step: str) -> Iterator[tuple[str, bytes]]:
    from gitplacer import __version__
    from gitplacer.kinds.schema import combined_schema
    from gitplacer.packaged import STARTER, packaged

    starter = packaged(STARTER)
    marks = {
        b"@CLUSTERS_STEP@": clusters_step.encode(),
        b"@ENGINE_STEP@": starter[f"README.{engine}.md"],
        b"@ENGINE_NAME@": ENGINES[engine].encode(),
        b"@ENGINE@": engine.encode(),
        b"@VERSION@": __version__.encode(),
    }
    files = {}
    for path, data in starter.items():
        for mark, value in marks.items():
            data = data.replace(mark, value)
        if not path.startswith("README.") or path == "README.md":
            files[_PLACES.get(path, path)] = data
    yield from files.items()
    schema = json.dumps(combined_schema(), indent=2, ensure_ascii=False) + "\n"
    yield ".gitplacer/gitplacer.schema.json", schema.encode()


def _live(contexts: Iterable[str], given: str | None) -> dict[str, bytes]:
    """A Cluster and a snapshot of each context's cluster. Raises ClusterError; then nothing is written."""
    import os

    from gitplacer.capacity import kubeconfig as files
    from gitplacer.capacity.live import new_cluster
    from gitplacer.cli.progress import note
    from gitplacer.observing.newcluster import cluster_file, name_for
    from gitplacer.observing.writing import snapshot_file
    from gitplacer.settings import UsageError, settings

    config = files.kubeconfig(given, os.environ)
    named: dict[str, str] = {}
    for context in [config.context(context) for context in contexts]:
        name = files.cluster_name(name_for(context))
        if name in named:
            raise UsageError(f"two contexts would both be cluster {name}", "rename one: kubectl config rename-context")
        named[name] = context
    found: dict[str, bytes] = {}
    for name, context in named.items():
        snapshot, version = new_cluster(
            files.access_to(config, context),
            cluster=name,
            system_namespace="gitplacer",
            now=settings(".").now,
            say=note,
        )
        found[f"clusters/{name}.yaml"] = cluster_file(snapshot, version, _LABELS)
        found[f"capacity/{name}.yaml"] = snapshot_file(snapshot)
    return found
