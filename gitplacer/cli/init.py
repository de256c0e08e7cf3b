"""
`gitplacer init`: a small fleet repo that validates and plans from its first minute.

What it consists of is in `gitplacer/data/starter`, and the schema in `schemas/`. Nothing is fetched. On a terminal it asks what nobody
said; in a pipe it takes the defaults. Everything is known before the first byte is written, and then all of it is there or nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import click
from msgspec import Struct

from gitplacer.cli.bootstrap import ENGINES
from gitplacer.cli.completing import contexts as known_contexts
from gitplacer.cli.completing import files, folders
from gitplacer.cli.options import OneOf
from gitplacer.cli.teaching import Taught
from gitplacer.plaintext import pasted, printable

HOSTS = ("github", "gitlab", "none")
"""Where CI may run."""
EDITORS = ("vscode", "modeline", "none")
"""How editors may be told of the schema."""

_SCHEMA = ".gitplacer/gitplacer.schema.json"
_MODELINE = "# yaml-language-server: $schema="
_OWN = ("fleet.yaml", "clusters/", "policies/", "capacity/")
"""Where the starter has objects of our own kinds."""

_PLACES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "github": {"CODEOWNERS": ".github/CODEOWNERS", "workflow.yaml": ".github/workflows/gitplacer.yaml"},
        "gitlab": {"CODEOWNERS": ".gitlab/CODEOWNERS", "gitlab-ci.yaml": ".gitlab-ci.yml"},
        "none": {"CODEOWNERS": "CODEOWNERS"},
        "vscode": {"editor.json": ".vscode/settings.json"},
        "modeline": {},
    }
)
"""Starter files that are not to be found by tools in our own repository, and where they go, if that is wanted."""

_OWNED = MappingProxyType(
    {"github": (b"/.github/",), "gitlab": (b"/.gitlab/", b"/.gitlab-ci.yml"), "none": (b"/CODEOWNERS",)}
)
"""What runs in CI, and who owns what."""

_EXAMPLE = "my-cluster"
"""What stands for a cluster where nobody names one."""
_LONGEST = 5000
"""Characters of a path: more than a system takes."""
_LABELS = {"class": "general"}
"""Labels by which the starter's policy chooses clusters."""


class Wish(Struct, frozen=True, kw_only=True):
    """What the fleet is to be."""

    engine: str = "argocd"
    clusters: tuple[str, ...] = ()
    """Clusters that are described by an example, to be corrected."""
    contexts: tuple[str, ...] = ()
    """Clusters that are read."""
    ci: str = "github"
    editor: str = "vscode"


@click.command("init", cls=Taught)
@click.argument("folder", metavar="DIR", shell_complete=folders)
@click.option("--engine", type=OneOf(list(ENGINES)), help="What syncs the clusters.  [default: argocd]")
@click.option(
    "--cluster", "clusters", metavar="NAME", multiple=True,
    help="Begin with a cluster of this name, whose nodes are made up. May be given several times.  [default: my-cluster]",
)  # fmt: skip
@click.option(
    "--context", "contexts", metavar="NAME", multiple=True, shell_complete=known_contexts,
    help="Begin with the cluster of this context of the kubeconfig, as it is now. May be given several times.",
)  # fmt: skip
@click.option(
    "--kubeconfig",
    metavar="FILE",
    shell_complete=files,
    help="The kubeconfig of --context, if not that which kubectl uses.",
)
@click.option("--ci", type=OneOf(list(HOSTS)), help="Whose CI shows plans in pull requests.  [default: github]")
@click.option(
    "--editor", type=OneOf(list(EDITORS)),
    help="How editors find the schema: in VS Code's settings, or by a line in each file.  [default: vscode]",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Ask nothing, and take the defaults.")
def command(
    folder: str, engine: str | None, clusters: tuple[str, ...], contexts: tuple[str, ...], kubeconfig: str | None,
    ci: str | None, editor: str | None, yes: bool,
) -> None:  # fmt: skip
    """
    Start a new fleet repo in DIR.

    DIR is made, or is empty but for a .git. One cluster, one policy and one small Ray cluster show how things are
    written; README.md says what to do next. With --context the clusters are yours: a Cluster and a capacity snapshot of each are
    written in place of the example, if all of them can be read.

    On a terminal it asks what no option says; in a pipe, or with --yes, it asks nothing. Nothing is written before the last answer,
    and then everything or nothing.
    """
    from gitplacer.cli.asking import may_ask
    from gitplacer.cli.files import new_folder, write_folder
    from gitplacer.settings import UsageError

    top = new_folder(folder)
    if kubeconfig and not contexts:
        raise UsageError("--kubeconfig is for --context", "name the contexts of your clusters: --context NAME")
    asks = not yes and may_ask()
    if not clusters and not contexts and asks:
        contexts, clusters = _asked_clusters()
    wish = Wish(
        engine=engine or (_asked("What syncs your clusters", ENGINES) if asks else "argocd"),
        clusters=_named(clusters),
        contexts=tuple(dict.fromkeys(contexts)),
        ci=ci or (_asked("Whose CI shows plans in pull requests", HOSTS) if asks else "github"),
        editor=editor or (_asked("How do editors find the schema", EDITORS) if asks else "vscode"),
    )
    found = dict(_files(wish))
    if wish.contexts:
        live = _live(wish.contexts, kubeconfig)
        if twice := sorted(live.keys() & found.keys()):
            raise UsageError(f"{twice[0]} is asked for by --cluster and by --context", "leave out one of them")
        found |= live
    for path in write_folder(top, found):
        click.echo(printable(str(top / path), _LONGEST))
    told = printable(f"Next: gitplacer plan {pasted(folder)}, and read {top / 'README.md'}", 2 * _LONGEST)
    click.echo(f"\n{told}", err=True)


def _asked(question: str, known: Iterable[str]) -> str:
    from gitplacer.cli.asking import pick

    return pick(question, tuple(known))


def _asked_clusters() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Contexts to be read and names of clusters, of which one is empty."""
    import importlib.util

    from gitplacer.cli.asking import name_some
    from gitplacer.cli.names import contexts

    known = contexts("") if importlib.util.find_spec("kubernetes") is not None else []

    def some_contexts(said: list[str]) -> tuple[str, ...]:
        from gitplacer.plaintext import few
        from gitplacer.problems import nearest
        from gitplacer.settings import UsageError

        if said in (["all"], ["none"]):
            return tuple(known) if said == ["all"] else ()
        for name in said:
            if name not in known:
                raise UsageError(f'there is no context "{name}"', nearest(name, known) or f"known: {few(known)}")
        return tuple(said)

    if known:
        click.echo(f"Contexts of your kubeconfig: {', '.join(map(printable, known))}", err=True)
        chosen = name_some("Read the clusters of which of them (names, all or none)", "none", some_contexts)
        if chosen:
            return chosen, ()
    return (), name_some("What are your clusters called (names between commas)", _EXAMPLE, _named)


def _named(names: Iterable[str]) -> tuple[str, ...]:
    """The names of clusters, each once, if they can be called that. Raises ClusterError."""
    if not names:
        return ()
    from gitplacer.capacity.kubeconfig import cluster_name

    return tuple(dict.fromkeys(cluster_name(name) for name in names))


def _files(wish: Wish) -> Iterator[tuple[str, bytes]]:
    from gitplacer import __version__
    from gitplacer.packaged import SCHEMAS, STARTER, packaged

    starter = packaged(STARTER)
    marks = {
        b"@CLUSTERS_STEP@": _clusters_step(wish).encode(),
        b"@ENGINE_STEP@": starter[f"README.{wish.engine}.md"],
        b"@CI_STEP@": starter[f"README.ci-{wish.ci}.md"],
        b"@ENGINE_NAME@": ENGINES[wish.engine].encode(),
        b"@ENGINE@": wish.engine.encode(),
        b"@CI_OWNED@": b"".join(b"%-13s @my-org/platform\n" % place for place in _OWNED[wish.ci]),
        b"@OWNERS@": _PLACES[wish.ci]["CODEOWNERS"].encode(),
        b"@VERSION@": __version__.encode(),
    }
    kept = {**_PLACES[wish.ci], **_PLACES[wish.editor]}
    elsewhere = {name for places in _PLACES.values() for name in places}
    for path, data in starter.items():
        if path.startswith("README.") and path != "README.md":
            continue
        for mark, value in marks.items():
            data = data.replace(mark, value)
        if path in elsewhere:
            if path in kept:
                yield kept[path], data
            continue
        for name in _clusters(wish) if _EXAMPLE in path else (_EXAMPLE,):
            place = path.replace(_EXAMPLE, name)
            yield place, _modeline(wish, place) + data.replace(_EXAMPLE.encode(), name.encode())
    yield _SCHEMA, packaged(SCHEMAS)["gitplacer.json"]


def _clusters(wish: Wish) -> tuple[str, ...]:
    """The clusters that are described by the example."""
    return wish.clusters or (() if wish.contexts else (_EXAMPLE,))


def _clusters_step(wish: Wish) -> str:
    """What README.md says of clusters: where one is an example, where some are, and where all are as they are."""
    if not _clusters(wish):
        return "Take the snapshots in `capacity/` anew whenever you plan: `gitplacer snapshot` writes one."
    if wish.clusters not in ((), (_EXAMPLE,)):
        return (
            f"Correct what `clusters/` and `capacity/` say of {', '.join(wish.clusters)}: labels and nodes are made up."
        )
    return "Describe your own clusters: a file in `clusters/` and one in `capacity/` for each. Delete `my-cluster`."


def _modeline(wish: Wish, path: str) -> bytes:
    """The line by which editors find the schema from a file, if that is wanted."""
    if wish.editor != "modeline" or not path.startswith(_OWN):
        return b""
    return f"{_MODELINE}{'../' * path.count('/')}{_SCHEMA}\n".encode()


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
