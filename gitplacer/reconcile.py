"""
One pass in the real world: open the repos, hydrate, publish.

The function in the middle is pure; this is the shell around it. A push that lost a race is not repeated: everything is
read again and computed again on the new tip, because what was right on the old one may be wrong on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from gitplacer import __version__
from gitplacer.byhand import ByHand, by_hand
from gitplacer.git.address import Address
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment, LostRace, NewCommit, proposal_branch
from gitplacer.git.reading import Commit, NoSuchFolder, Repository
from gitplacer.git.worktree import read_work_tree
from gitplacer.hydrate import Hydration, Inputs, SourceCommit, hydrate
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.parsecache import ParseCache
from gitplacer.problems import Rejected
from gitplacer.review import Base
from gitplacer.settings import Settings, UsageError
from gitplacer.source.files import Memo
from gitplacer.source.reading import fleet_spec, readable_fleet
from gitplacer.tree import SUBMODULE, Changes, Tree, tree_id

ATTEMPTS = 5
"""How often a lost race is run again before we give up and leave it to the next pass."""


class Progress(Protocol):
    """Told what is going on; prints, or does not."""

    def __call__(self, message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """
    The source as it was asked for. `commit` is None for a work tree as it lies. `spec` says where the rest is; `trusted` is the same
    where it counts instead of what the source's own Fleet says.
    """

    tree: Tree
    commit: SourceCommit | None
    spec: FleetSpec
    capacity: Tree
    trusted: FleetSpec | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What a pass came to: `tip` is the new commit, None where nothing changed. `proposed` are the branches of moves that wait for
    consent, and `refused` says why the server did not take them, if it did not.
    """

    hydration: Hydration
    tip: str | None
    attempts: int
    proposed: tuple[str, ...] = ()
    refused: str = ""


@contextlib.contextmanager
def opened_source(settings: Settings, memo: Memo, *, work_tree: bool) -> Iterator[Opened]:
    """
    The source and its capacity, readable while the context lasts. `work_tree`: read a local work tree as it lies
    unless a revision was named.
    """
    address, base = settings.source, settings.trust_base
    with contextlib.ExitStack() as stack:
        lies = work_tree and is_work_tree(settings)
        if lies:
            assert address.path is not None
            folder = settings.folder[len(address.folder) :].lstrip("/")
            tree = read_work_tree(address.path / folder if folder else address.path)
            spec = fleet_spec(tree, memo)
            commit, at_tip = None, tree
            if base is not None:
                repository = stack.enter_context(Repository.open(address, settings.cache_dir))
                at_tip = repository.tree(repository.resolve(base), settings.folder)
                spec = _trusted_spec(at_tip, base, memo)
        else:
            wanted = [rev for rev in (settings.rev, base) if rev is not None]
            repository = stack.enter_context(Repository.open(address, settings.cache_dir, fetch=wanted))
            found = repository.commit(settings.rev)
            tree = repository.tree(found.id, settings.folder)
            tip = repository.default_branch_tip() if base is None else repository.resolve(base)
            at_tip = tree if tip == found.id else repository.tree(tip, settings.folder)
            # What decides where to connect and what capacity there is comes from the default branch or the base that was
            # named, never from the revision that may be under review.
            spec = fleet_spec(at_tip, memo) if base is None else _trusted_spec(at_tip, base, memo)
            commit = source_commit(found, None if address.is_local else address.redacted)
        capacity = _capacity(settings, spec, at_tip, not lies or base is not None, stack)
        yield Opened(tree, commit, spec, capacity, spec if base is not None else None)


def _trusted_spec(tree: Tree, base: str, memo: Memo) -> FleetSpec:
    found = readable_fleet(tree, memo)
    if found is None:
        raise UsageError(f"--trust-base {base} has no Fleet that can be read", "name the branch that is merged into")
    return found


def is_work_tree(settings: Settings) -> bool:
    """Whether the source is a local directory with files in it, and no revision of it was asked for."""
    return settings.rev is None and settings.source.is_local and not _is_bare(settings.source)


def _is_bare(address: Address) -> bool:
    return address.git_dir is not None and address.work_tree is None


def source_commit(commit: Commit, repo_url: str | None) -> SourceCommit:
    """What a pass knows of the commit that it is computed from. `repo_url` is where others find it."""
    return SourceCommit(
        id=commit.id,
        author=f"{commit.author_name} <{commit.author_email}>",
        date=commit.date,
        subject=commit.subject,
        body=commit.body,
        repo_url=repo_url,
    )


def _capacity(settings: Settings, spec: FleetSpec, beside: Tree, trusted: bool, stack: contextlib.ExitStack) -> Tree:
    """
    The snapshots: where flags or environment say, else in the Fleet's capacity repo or branch, else `beside` the
    source. What is not trusted to say where to connect does not.
    """
    wanted = spec.capacity
    address, branch = settings.capacity, None if settings.capacity else wanted.branch
    if address is None and wanted.url is not None and trusted:
        address = settings.address(wanted.url)
    if address is None:
        if branch is None:
            return beside.under(wanted.path)
        address = settings.source
    if address.is_local and not _is_bare(address) and branch is None:
        assert address.path is not None
        tree = read_work_tree(address.path)
    else:
        repository = stack.enter_context(Repository.open(address, settings.cache_dir, fetch=branch))
        tree = repository.tree(repository.resolve(branch), address.folder)
    below = tree.under(wanted.path)
    return below if len(below) else tree


def deployment_address(settings: Settings, spec: FleetSpec, *, trusted: bool) -> Address | None:
    """
    Where the deployment repo is: what flags or environment say, else, for a source that is trusted to say where to
    connect, what the Fleet says.
    """
    if settings.deployment is not None:
        return settings.deployment
    if trusted and spec.deployment.url is not None:
        return settings.address(spec.deployment.url)
    return None


@dataclass(frozen=True, slots=True)
class Looked:
    """
    The source as it was asked for, and all that a pass on it depends on. `memo` knows what was parsed; `deployment` is None where
    no deployment repo was named.
    """

    source: Opened
    inputs: Inputs
    memo: ParseCache
    deployment: Deployment | None = None


@contextlib.contextmanager
def looked_at(settings: Settings, *, work_tree: bool, progress: Progress) -> Iterator[Looked]:
    """For those who only look, readable while the context lasts; what is parsed meanwhile is kept."""
    memo = ParseCache(settings.cache_dir)
    progress("reading the source")
    with opened_source(settings, memo, work_tree=work_tree) as source, contextlib.ExitStack() as stack:
        address = deployment_address(settings, source.spec, trusted=settings.trust_base is not None)
        deployment = None
        if address is not None:
            progress(f"reading the deployment repo {address.redacted}")
            branch = source.spec.deployment.branch
            deployment = stack.enter_context(Deployment.open(address, branch, settings.cache_dir))
        progress("planning")
        yield Looked(source, inputs_of(settings, source, deployment), memo, deployment)
        memo.save()


def hydrate_once(
    settings: Settings, *, work_tree: bool, progress: Progress, with_candidates: bool = True
) -> tuple[Hydration, FleetSpec]:
    """Plan without publishing, for commands that only look."""
    with looked_at(settings, work_tree=work_tree, progress=progress) as looked:
        return hydrate(looked.inputs, memo=looked.memo, with_candidates=with_candidates), looked.source.spec


@contextlib.contextmanager
def base_of(settings: Settings, looked: Looked, rev: str) -> Iterator[Base]:
    """
    What the source is held against: the plan of another revision of it, from the same capacity, deployment repo and time. One that
    has no readable fleet has no plan. Raises NoSuchRevision. The plan's files are readable while the context lasts.
    """
    with Repository.open(settings.source, settings.cache_dir, fetch=rev) as repository:
        found = repository.commit(rev)
        view = None
        try:
            inputs = replace(looked.inputs, source=repository.tree(found.id, settings.folder))
            view = hydrate(inputs, memo=looked.memo, with_candidates=False).view
        except (Rejected, NoSuchFolder):
            pass  # the change is what makes a fleet of it, and all of it is its work
        head = looked.inputs.commit.id if looked.inputs.commit is not None else repository.default_branch_tip()
        yield Base(name=rev, commit=found.id, view=view, lacks=repository.count_lacking(found.id, head))


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a change of the source would do: a pass before it, the change, and a pass with it. None where nothing is to change."""

    source: Tree
    before: Hydration
    changes: Changes
    after: Hydration | None


def rehearse(
    settings: Settings, change: Callable[[Hydration], Changes], *, work_tree: bool, progress: Progress
) -> Rehearsal:
    """Plan, let somebody change the source by what that shows, and plan again. Nothing is published or written."""
    with looked_at(settings, work_tree=work_tree, progress=progress) as looked:
        inputs, tree = looked.inputs, looked.source.tree
        before = hydrate(inputs, memo=looked.memo)
        changes = change(before)
        after = hydrate(replace(inputs, source=tree.apply(changes)), memo=looked.memo) if changes else None
        touched = tree.read_all(path for path in changes.written if path in tree)
        return Rehearsal(Tree.of(touched), before, changes, after)


def inputs_of(settings: Settings, source: Opened, deployment: Deployment | None) -> Inputs:
    """All that a pass depends on."""
    others = by_hand(deployment, source.spec.deployment.root) if deployment else ByHand()
    return Inputs(
        source=source.tree,
        commit=source.commit,
        capacity=source.capacity,
        capacity_id=tree_id(source.capacity) if len(source.capacity) else None,
        deployment=deployment.tree if deployment else Tree(),
        deployment_commit=deployment.tip if deployment else None,
        foreign=others.foreign,
        reverted=others.reverted,
        merged=others.merged,
        now=settings.now,
        version=__version__,
        trusted=source.trusted,
    )


class Consent(Protocol):
    """Asked before anything is published, on every attempt; raises where it is against it."""

    def __call__(self, hydration: Hydration, inputs: Inputs, deployment: Deployment) -> None: ...


def reconcile(settings: Settings, *, progress: Progress, consent: Consent | None = None) -> Outcome:
    """
    One pass: plan, render, commit, push. Raises Rejected, GitError or UsageError, and what `consent` raises; then nothing has
    landed.
    """
    memo = ParseCache(settings.cache_dir)
    for attempt in range(1, ATTEMPTS + 1):
        progress("reading the source")
        with opened_source(settings, memo, work_tree=False) as source:
            address = written_to(settings, source.spec)
            progress(f"reading the deployment repo {address.redacted}")
            with opened_deployment(settings, address, source.spec) as deployment:
                progress("planning")
                inputs = inputs_of(settings, source, deployment)
                hydration = hydrate(inputs, memo=memo, with_candidates=False)
                memo.save()
                if consent is not None:
                    consent(hydration, inputs, deployment)
                proposals = proposals_of(hydration, settings)
                if not hydration.steps and (deployment.tip is None or deployment.is_proposed(proposals)):
                    return Outcome(hydration, None, attempt, tuple(proposals))
                progress(f"publishing {len(hydration.steps)} commit(s)")
                try:
                    tip = _publish(deployment, hydration, source, settings, proposals)
                    return Outcome(
                        hydration, tip if hydration.steps else None, attempt, tuple(proposals), deployment.refused
                    )
                except LostRace:
                    progress("somebody else pushed first; computing again on what they pushed")
    raise GitError(
        f"lost the race for the deployment branch {ATTEMPTS} times", "LostRace", "run it again; nothing was changed"
    )


def written_to(settings: Settings, spec: FleetSpec) -> Address:
    """The deployment repo of a pass that publishes. Raises UsageError where there is none, or where it is the source."""
    address = deployment_address(settings, spec, trusted=True)
    if address is None:
        raise UsageError("nobody said where the deployment repo is", "give --deployment, or set spec.deployment.url")
    _refuse_loop(settings, spec, address)
    return address


def opened_deployment(settings: Settings, address: Address, spec: FleetSpec) -> Deployment:
    """The deployment branch of a pass that publishes."""
    return Deployment.open(address, spec.deployment.branch, settings.cache_dir, signing_key=settings.signing_key)


def proposals_of(hydration: Hydration, settings: Settings) -> dict[str, NewCommit]:
    """What is proposed, by branch."""
    return {
        proposal_branch(step.relocation.group): NewCommit(
            changes=step.changes, message=step.message, author=settings.author, when=settings.now
        )
        for step in hydration.proposals
        if step.relocation is not None
    }


def _publish(
    deployment: Deployment,
    hydration: Hydration,
    source: Opened,
    settings: Settings,
    proposals: Mapping[str, NewCommit],
) -> str:
    commits = commits_of(hydration, settings)
    return deployment.publish(commits, inputs=capacity_commit(source, settings), proposals=proposals)


def commits_of(hydration: Hydration, settings: Settings) -> list[NewCommit]:
    """What is done, as commits to be made."""
    return [
        NewCommit(changes=step.changes, message=step.message, author=settings.author, when=settings.now)
        for step in hydration.steps
    ]


def capacity_commit(source: Opened, settings: Settings) -> NewCommit | None:
    """The capacity that was used, to be kept beside what was made of it; None if there is none."""
    if not len(source.capacity):
        return None
    # As it is, modes and symlinks included: its id stands in the trailers. A submodule is nothing that could be kept.
    kept = {path: entry for path, entry in source.capacity.entries.items() if entry.mode != SUBMODULE}
    modes = {path: entry.mode for path, entry in kept.items()}
    message = f"Capacity used by {source.commit.id[:12] if source.commit else 'a pass'}\n"
    changes = Changes(source.capacity.read_all(kept))
    return NewCommit(changes=changes, message=message, author=settings.author, when=settings.now, modes=modes)


def _refuse_loop(settings: Settings, spec: FleetSpec, deployment: Address) -> None:
    """A deployment branch that is the source itself would feed on its own output."""
    if settings.source.normalised == deployment.normalised and settings.folder == deployment.folder:
        root = spec.deployment.root
        raise UsageError(
            f"the source and the deployment repo are both {deployment.redacted}",
            f"write to another repo; its directories will be {root}/<cluster>",
        )
