"""
The two repos with their whole past: the source with every commit that a pass was computed from, and the deployment branch.

Where to connect is what the command line and the environment say. What to read of it, branch and root, is what the Fleet on the
source's default branch says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from gitplacer.git.address import Address
from gitplacer.git.mirror import refs_of
from gitplacer.git.ourbranches import INPUTS
from gitplacer.git.program import Git, GitError
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.passes.opening import Progress, opened_deployment
from gitplacer.plaintext import pasted
from gitplacer.problems import nearest
from gitplacer.settings import Settings, UsageError
from gitplacer.source.files import Memo
from gitplacer.source.fleetspec import fleet_spec


class Place(Struct, frozen=True):
    """Where a repository can be read again without asking anybody: by another process, or once more."""

    address: Address
    git_dir: Path

    @contextlib.contextmanager
    def opened(self) -> Iterator[Repository]:
        with Repository(self.address, Git(self.git_dir), {}) as repository:
            yield repository


class Past(Struct, frozen=True):
    """
    The deployment branch and the source, by their places. `tip` is None where nothing was deployed yet; `inputs` is the tip of the
    branch that keeps capacity trees.
    """

    source: Place
    folder: str
    deployment: Place
    branch: str
    root: str
    tip: str | None
    inputs: str | None
    spec: FleetSpec


def _nobody_said(spec: FleetSpec) -> UsageError:
    """What to do where no deployment repo is named. What the Fleet names is told, and not asked: a source may be anybody's."""
    hint = "give --deployment, or set GITPLACER_DEPLOYMENT"
    if spec.deployment.url:
        hint = f"the Fleet names {spec.deployment.url}: give --deployment {pasted(spec.deployment.url)}, or set GITPLACER_DEPLOYMENT"
    return UsageError("nobody said where the deployment repo is", hint)


def read_past(settings: Settings, memo: Memo, progress: Progress) -> Past:
    """Fetch what is remote, and say where all of it is. Raises UsageError or GitError."""
    progress("reading the source")
    # A pass may have been computed from any branch or tag.
    everything = settings.deployment is not None
    with Repository.open(settings.source, settings.cache_dir, everything=everything) as source:
        tip = source.default_branch_tip()
        spec = fleet_spec(source.tree(tip, settings.folder), memo)
        if settings.deployment is None:
            raise _nobody_said(spec)
        source_place = Place(settings.source, source.git.git_dir)
    progress(f"reading the deployment repo {settings.deployment.redacted}")
    with opened_deployment(settings.deployment, spec, settings) as deployment:
        place = Place(settings.deployment, deployment.repository.git.git_dir)
        return Past(
            source_place, settings.folder, place, spec.deployment.written, spec.deployment.root, deployment.tip,
            deployment.inputs_tip, spec,
        )  # fmt: skip


def need_whole(repository: Repository, what: str) -> None:
    """Raises GitError for a shallow clone: what lacks a part of the past would be told wrong, and nobody would see that."""
    if repository.is_shallow:
        where = repository.address.redacted
        raise GitError(f"{what} needs the whole history, and {where} is a shallow clone", hint=unshallow(where))


def unshallow(where: str) -> str:
    """What brings the past of a shallow clone."""
    return f"git -C {pasted(where)} fetch --unshallow origin"


def chosen_commit(past: Past, repository: Repository, rev: str | None) -> Commit:
    """A commit of the deployment repo; the tip of the branch without a name. Raises GitError, with near names in its hint."""
    if rev is None:
        if past.tip is None:
            hint = "nothing was deployed yet; `gitplacer reconcile` makes the first commit"
            raise NoSuchRevision(f"{past.deployment.address.redacted} has no branch {past.branch}", hint=hint)
        return repository.commit(past.tip)
    try:
        return repository.commit(past.tip if rev == past.branch and past.tip else rev)
    except NoSuchRevision as error:
        near = nearest(rev, _names(past))
        raise NoSuchRevision(
            str(error), hint="; ".join(part for part in dict.fromkeys((near, error.hint)) if part)
        ) from None


def _names(past: Past) -> list[str]:
    """The branches and tags of the deployment repo that somebody may have meant."""
    try:
        offered = refs_of(past.deployment.address)
    except GitError:
        return []
    names = [name.removeprefix("refs/heads/").removeprefix("refs/tags/") for name in offered]
    return [name for name in names if name not in ("HEAD", INPUTS)]
