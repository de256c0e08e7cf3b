"""`gitplacer adopt`: folders that somebody keeps by hand become a fleet repo, and everything stays where it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitplacer.cli.bootstrap import ENGINES, checked_namespace
from gitplacer.cli.completing import folders, revisions
from gitplacer.cli.options import OneOf, credentials
from gitplacer.cli.teaching import Taught
from gitplacer.plaintext import few, pasted

if TYPE_CHECKING:
    from gitplacer.adoption.adopt import Adoption
    from gitplacer.git.address import Address
    from gitplacer.settings import Settings
    from gitplacer.tree import Tree


@click.command("adopt", cls=Taught)
@click.argument("source", metavar="DEPLOYMENT", shell_complete=folders)
@click.option(
    "-o", "--output", "folder", metavar="DIR", required=True, shell_complete=folders,
    help="The fleet repo to make: a new or empty directory.",
)  # fmt: skip
@click.option(
    "--deployment-out",
    "deployment",
    metavar="REPO",
    shell_complete=folders,
    help="The deployment repo to make: a new or empty directory; DIR-deployment.git if not given.",
)
@click.option(
    "--clusters",
    metavar="PATTERN",
    help='Which folder is which cluster\'s, such as "clusters/{cluster}/**"; {namespace} may stand for a folder too. Guessed if not given.',
)
@click.option(
    "--namespace", metavar="NAME", default="", help="The namespace of objects that have one and do not say it."
)
@click.option("--engine", type=OneOf(list(ENGINES)), help="What syncs the clusters, if the repo does not tell.")
@click.option("--path", metavar="DIR", shell_complete=folders, help="The directory of the repo that holds the folders.")
@click.option("--rev", metavar="REV", shell_complete=revisions, help="The branch, tag or commit of the repo to read.")
@click.option("--now", metavar="TIME", help="When it is adopted, such as 2026-01-02T03:04:05Z.")
@credentials()
def command(
    source: str,
    folder: str,
    deployment: str | None,
    clusters: str | None,
    namespace: str,
    engine: str | None,
    path: str | None,
    rev: str | None,
    now: str | None,
    credentials: str | None,
) -> None:
    """
    Turn folders that are kept by hand into a fleet repo.

    DEPLOYMENT is a Git repo, or a directory in one, with a folder for each cluster, which Argo CD or Flux syncs. What is the same on
    several clusters becomes one file in DIR, what differs an OverridePolicy, and policies keep everything where it is. Beside it a
    deployment repo is made with the same objects and records that say where they are: `gitplacer plan DIR --deployment REPO` says
    that all is kept.

    DEPLOYMENT is read as it was committed, and nothing is written to it. What cannot be adopted is left where it is and told, and then
    the command ends with 1, as it does where the old sync changes what it applies. README.md in DIR says how the clusters change over without losing anything.
    """
    from gitplacer import __version__
    from gitplacer.adoption.adopt import Asked, adopt
    from gitplacer.adoption.remarks import CannotAdopt
    from gitplacer.adoption.telling import readme, told
    from gitplacer.cli.files import new_folder, write_folder
    from gitplacer.cli.progress import progress
    from gitplacer.packaged import ADOPTED, packaged
    from gitplacer.parsecache import ParseCache
    from gitplacer.settings import UsageError, settings

    top, repo = new_folder(folder), new_folder(deployment or f"{folder.rstrip('/')}-deployment.git")
    if top.resolve() == repo.resolve():
        raise UsageError("DIR and --deployment-out are the same directory", "name two")
    checked_namespace(namespace)
    chosen = settings(source, path=path, rev=rev, now=now, credentials=credentials)
    for made in (top, repo):
        _refuse_inside(chosen.source, made)
    with progress() as say, _opened(chosen) as (tree, what):
        asked = Asked(clusters=clusters, namespace=namespace, engine=engine, now=chosen.now, version=__version__)
        say("comparing copies")
        try:
            found = adopt(tree, asked, ParseCache(chosen.cache_dir))
        except CannotAdopt as error:
            raise UsageError(str(error), error.hint) from None
        say("writing")
        files = found.fleet.tree.read_all(found.fleet.tree)
        text = readme(
            found, packaged(ADOPTED), top.absolute().name, os.path.relpath(repo.absolute(), top.absolute().parent)
        )
        write_folder(top, {**files, "README.md": text})
        _publish(repo, found, chosen, what)
    for line in told(found, folder, str(repo)):
        click.echo(line)
    click.echo(
        f"\nNext: gitplacer plan {pasted(folder)} --deployment {pasted(repo)}, and read {top / 'README.md'}", err=True
    )
    if found.left or found.altered:
        raise SystemExit(1)


def _refuse_inside(address: Address, made: Path) -> None:
    """Nothing is written to the old repo, nor beside its files."""
    from gitplacer.settings import UsageError

    for place in (address.work_tree, address.git_dir, address.path):
        if place is not None and made.resolve().is_relative_to(place.resolve()):
            raise UsageError(
                f"{made} is inside of what is adopted, and nothing is written there", "name a directory beside it"
            )


@contextlib.contextmanager
def _opened(chosen: Settings) -> Iterator[tuple[Tree, str]]:
    """What was committed, or a directory that is in no repository as it lies, and in a few words what it is."""
    from gitplacer.git.reading import Repository
    from gitplacer.git.worktree import read_work_tree

    address = chosen.source
    if address.is_local and address.git_dir is None and address.path is not None:
        yield read_work_tree(address.path / chosen.folder if chosen.folder else address.path), "a directory"
        return
    with Repository.open(address, chosen.cache_dir, fetch=[chosen.rev] if chosen.rev else []) as repository:
        commit = repository.commit(chosen.rev)
        yield repository.tree(commit.id, chosen.folder), f"commit {commit.id}"


def _publish(repo: Path, found: Adoption, chosen: Settings, what: str) -> None:
    """The deployment tree as the first commit of a bare repository. It is nobody's pass: no trailers say that it was computed."""
    from gitplacer.git.address import Address
    from gitplacer.git.newcommits import NewCommit
    from gitplacer.git.program import NO_REPOSITORY, Git
    from gitplacer.git.publishing import Deployment
    from gitplacer.tree import Changes

    place = str(repo.absolute())
    Git(NO_REPOSITORY).run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--", place)
    message = (
        f"Adopt what is on {few(found.folders.clusters)}\n\n"
        f"It was in {found.folders.pattern} of {what}. Nothing was placed: it ran there already.\n"
    )
    commit = NewCommit(
        changes=Changes(found.deployment.read_all(found.deployment)),
        message=message,
        author=chosen.author,
        when=chosen.now,
    )
    with Deployment.open(Address.parse(place, base_dir=Path("/")), "main", chosen.cache_dir) as deployment:
        deployment.publish([commit])
