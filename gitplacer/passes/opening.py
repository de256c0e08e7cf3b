"""
What a pass is computed from, opened: the source as it was asked for, the capacity, and the deployment repo.

Who says where these are depends on whom we trust. Flags and environment come first; after them the Fleet of the default branch, or
of the base that was named, and never that of a revision that may be under review.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from gitplacer import __version__
from gitplacer.branch.byhand import ByHand, by_hand
from gitplacer.branch.lastpass import last_trailers
from gitplacer.capacity.reading import PLACEHOLDER, Branch, branches_at, mark_of, opened_branches, read_branches
from gitplacer.commits import PREFIX
from gitplacer.git.address import Address
from gitplacer.git.asking import about
from gitplacer.git.publishing import Deployment
from gitplacer.git.reading import Commit, NoSuchRevision, Repository
from gitplacer.git.worktree import read_work_tree
from gitplacer.inputs import Inputs, SourceCommit
from gitplacer.kinds.clusterstate import CLUSTER_STATES
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.kinds.record import BETWEEN, RECORDS
from gitplacer.kinds.removals import GUARDS
from gitplacer.model.signers import Uncounted
from gitplacer.passes.counting import Counting, nothing_counts
from gitplacer.settings import Settings, UsageError
from gitplacer.source.files import Memo
from gitplacer.source.fleetspec import fleet_spec, readable_fleet
from gitplacer.trailers import value_of
from gitplacer.tree import Tree
from gitplacer.treeids import tree_id

CAPACITY_USED = "Capacity used by "
"""What the subject of a commit of capacity begins with; the commit of the source follows, cut to twelve characters."""
_ID = re.compile(r"[0-9a-f]{40}")
_USED = re.compile(rf"{CAPACITY_USED}([0-9a-f]{{12}})$")


class Progress(Protocol):
    """Told what is going on; prints, or does not."""

    def __call__(self, message: str) -> None: ...


class Opened(Struct, frozen=True):
    """
    The source as it was asked for. `commit` is None for a work tree as it lies. `spec` says where the rest is; `trusted` is the same
    where it counts instead of what the source's own Fleet says. `tips` are the commits that were read of `source`, of its default
    branch (`fleet`), and of `capacity`, for whoever asks later whether one has moved; `repository` is where the source's history is.
    """

    tree: Tree
    commit: SourceCommit | None
    spec: FleetSpec
    capacity: Tree
    trusted: FleetSpec | None = None
    tips: Mapping[str, str] = field(default_factory=dict)
    repository: Repository | None = None
    uncounted: Uncounted | None = None


@contextlib.contextmanager
def opened_source(
    settings: Settings, memo: Memo, *, work_tree: bool, counting: Counting | None = None
) -> Iterator[Opened]:
    """
    The source and its capacity, readable while the context lasts. `work_tree`: read a local work tree as it lies
    unless a revision was named; who looks at one of both sees it also where it does not count. Without `counting` nobody asks whether
    it does. Raises NoSignedCommit where nothing counts that could be read instead.
    """
    with contextlib.ExitStack() as stack:
        lies = work_tree and is_work_tree(settings)
        if lies:
            read = _read_as_it_lies(settings, memo, stack, counting)
        else:
            read = _read_of_commits(settings, memo, stack, counting, only_looks=work_tree)
        is_given = settings.trust_base is not None
        with about("capacity"):
            capacity = _capacity(settings, read.spec, read.at_tip, not lies or is_given, memo, stack, read.tips)
        yield Opened(
            read.tree, read.commit, read.spec, capacity, read.spec if is_given else None, read.tips, read.repository,
            read.uncounted,
        )  # fmt: skip


class _Read(Struct, frozen=True):
    """The source, and the tree that says where to connect and what capacity there is: `at_tip`, whose Fleet is `spec`."""

    tree: Tree
    at_tip: Tree
    spec: FleetSpec
    commit: SourceCommit | None
    tips: dict[str, str]
    repository: Repository | None
    uncounted: Uncounted | None


def _read_as_it_lies(settings: Settings, memo: Memo, stack: contextlib.ExitStack, counting: Counting | None) -> _Read:
    """A local work tree. Where a base was named its Fleet is that which is trusted."""
    tree, base = read_work_tree(folder_read(settings), settings.cache_dir), settings.trust_base
    spec, at_tip, repository = fleet_spec(tree, memo), tree, None
    if base is not None:
        repository = stack.enter_context(Repository.open(settings.source, settings.cache_dir))
        at_tip = repository.tree(repository.resolve(base), settings.folder)
        spec = _trusted_spec(at_tip, base, memo)
    uncounted = _below_work_tree(settings, spec, counting) if counting is not None else None
    return _Read(tree, at_tip, spec, None, {}, repository, uncounted)


def _read_of_commits(
    settings: Settings,
    memo: Memo,
    stack: contextlib.ExitStack,
    counting: Counting | None,
    *,
    only_looks: bool,
) -> _Read:
    """
    A revision, or the tip of the default branch. What decides where to connect and what capacity there is comes from that branch or the base
    that was named, never from the revision that may be under review. Who `only_looks` sees a revision that was named also where it does not count.
    """
    address, base = settings.source, settings.trust_base
    wanted = [rev for rev in (settings.rev, base) if rev is not None]
    repository = stack.enter_context(Repository.open(address, settings.cache_dir, fetch=wanted))
    found = repository.commit(settings.rev)
    tip = counts = repository.default_branch_tip() if base is None else repository.resolve(base)
    tips = {"source": found.id, "fleet": tip}
    at_tip = repository.tree(tip, settings.folder)
    spec = _spec(at_tip, base, memo)
    uncounted: Uncounted | None = None
    if counting is not None:
        judged = counting.judged(repository, tip, spec)
        if judged.counts not in ("", tip):
            counts = judged.counts
            at_tip = repository.tree(counts, settings.folder)
            spec = _spec(at_tip, base, memo)
        if found.id != tip:
            judged = counting.judged(repository, found.id, spec, base=counts)
        uncounted = judged.uncounted
        if judged.counts and not (only_looks and settings.rev is not None):
            found = repository.commit(judged.counts)
        elif not judged.counts and not only_looks:
            raise nothing_counts(judged)
    tree = at_tip if found.id == counts else repository.tree(found.id, settings.folder)
    commit = source_commit(found, None if address.is_local else address.redacted)
    return _Read(tree, at_tip, spec, commit, tips, repository, uncounted)


def _spec(tree: Tree, base: str | None, memo: Memo) -> FleetSpec:
    return fleet_spec(tree, memo) if base is None else _trusted_spec(tree, base, memo)


def _below_work_tree(settings: Settings, spec: FleetSpec, counting: Counting) -> Uncounted | None:
    """The first commit of those that a work tree is on which does not count. What is not committed yet nobody has signed."""
    if settings.source.git_dir is None:
        return None
    with Repository.open(settings.source, settings.cache_dir) as repository:
        try:
            head = repository.default_branch_tip()
        except NoSuchRevision:
            return None
        base = repository.resolve(settings.trust_base) if settings.trust_base is not None else None
        return counting.judged(repository, head, spec, base).uncounted


def _trusted_spec(tree: Tree, base: str, memo: Memo) -> FleetSpec:
    found = readable_fleet(tree, memo)
    if found is None:
        raise UsageError(f"--trust-base {base} has no Fleet that can be read", "name the branch that is merged into")
    return found


def is_work_tree(settings: Settings) -> bool:
    """Whether the source is a local directory with files in it, and no revision of it was asked for."""
    return settings.rev is None and settings.source.is_local and not _is_bare(settings.source)


def folder_read(settings: Settings) -> Path:
    """The folder of a local source that is read as it lies."""
    assert settings.source.path is not None
    folder = settings.folder[len(settings.source.folder) :].lstrip("/")
    return settings.source.path / folder if folder else settings.source.path


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


def capacity_address(settings: Settings, spec: FleetSpec, *, trusted: bool) -> tuple[Address | None, str | None]:
    """
    Where the snapshots are, and their branch (None: the default one): what flags or environment say, else the
    Fleet's capacity repo or branch, else no address, and they are beside the source. What is not trusted to say where to connect
    does not. A flag says where and not how, so the branch of a repo is the Fleet's to say; a folder has none.
    """
    wanted = spec.capacity
    if settings.capacity is not None:
        return settings.capacity, wanted.branch if _is_repository(settings.capacity) else None
    if wanted.url is not None and trusted:
        return settings.address(wanted.url), wanted.branch
    return settings.source if wanted.branch is not None else None, wanted.branch


def _is_repository(address: Address) -> bool:
    """Whether an address is that of a whole repo, not of a folder with files."""
    return not address.is_local or (address.git_dir is not None and not address.folder)


def capacity_branches(branch: str | None) -> str | None:
    """The branches of snapshots, where each cluster has its own; None where there is one for all."""
    return branch if branch is not None and branch.endswith(PLACEHOLDER) else None


def capacity_folder(address: Address, branch: str | None) -> Path | None:
    """The local directory with snapshots that are read as they lie; None where commits are read."""
    return address.path if address.is_local and not _is_bare(address) and branch is None else None


def _capacity(
    settings: Settings,
    spec: FleetSpec,
    beside: Tree,
    trusted: bool,
    memo: Memo,
    stack: contextlib.ExitStack,
    tips: dict[str, str],
) -> Tree:
    """
    The snapshots, as far as they are believed: files are vouched for by whoever names their folder, what is in a branch is held against
    its history. Where they are read of commits or a directory of their own, `tips` is told.
    """
    address, branch = capacity_address(settings, spec, trusted=trusted)
    if address is None:
        return beside.under(spec.capacity.path)
    pattern = capacity_branches(branch)
    if pattern is not None:
        repository, branches = opened_branches(address, branches_at(address, pattern), settings.cache_dir)
        stack.enter_context(repository)
        tips["capacity"] = mark_of(branches)
        return read_branches(repository, branches, spec.capacity, memo, settings.now)
    folder = capacity_folder(address, branch)
    if folder is not None:
        tree = read_work_tree(folder, settings.cache_dir)
        tips["capacity"] = tree_id(tree)
        below = tree.under(spec.capacity.path)
        return below if len(below) else tree
    repository = stack.enter_context(Repository.open(address, settings.cache_dir, fetch=branch))
    tips["capacity"] = tip = repository.resolve(branch)
    return read_branches(repository, [Branch(branch or "HEAD", tip)], spec.capacity, memo, settings.now)


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


def opened_deployment(address: Address, spec: FleetSpec, settings: Settings) -> Deployment:
    """The branch that passes land on. One of proposed commits begins where the branch stands that they are proposed for."""
    where = spec.deployment
    with about("deployment"):
        return Deployment.open(
            address, where.written, settings.cache_dir, begun_from=where.branch, signing_key=settings.signing_key
        )


def written_to(settings: Settings, spec: FleetSpec) -> Address:
    """The deployment repo of a pass that publishes. Raises UsageError where there is none, or where it is the source."""
    address = deployment_address(settings, spec, trusted=True)
    if address is None:
        raise UsageError("nobody said where the deployment repo is", "give --deployment, or set spec.deployment.url")
    _refuse_loop(settings, spec, address)
    return address


def _refuse_loop(settings: Settings, spec: FleetSpec, deployment: Address) -> None:
    """A deployment branch that is the source itself would feed on its own output."""
    if settings.source.normalised == deployment.normalised and settings.folder == deployment.folder:
        root = spec.deployment.root
        raise UsageError(
            f"the source and the deployment repo are both {deployment.redacted}",
            f"write to another repo; its directories will be {root}/<cluster>",
        )


def _refuse_feeding(settings: Settings, source: Opened, deployment: Deployment, memo: Memo) -> None:
    """
    The same where source and deployment have one branch, and one of them lies in the other, whatever their addresses are: a clone has
    another than what it was cloned from. Two branches are one if the source was read at the tip that would be pushed onto, or if one of these
    commits is behind the other and the branch still holds a Fleet: names alone do not tell, for the source has none where its default branch
    is read.
    """
    if not _is_one_branch(settings, source, deployment, memo):
        return
    written = (source.spec.deployment.root, RECORDS, BETWEEN, CLUSTER_STATES, GUARDS)
    within = [folder for folder in written if _overlap(folder, settings.folder)]
    if within:
        raise UsageError(
            f"branch {deployment.branch} of {deployment.address.redacted} is the source, and {within[0]}/, which is written there, "
            f"overlaps with {settings.folder or 'its top'}, which is read",
            "write to another repo, or to a branch of its own: spec.deployment.branch of the Fleet",
        )


def _is_one_branch(settings: Settings, source: Opened, deployment: Deployment, memo: Memo) -> bool:
    read, tip = source.tips.get("source"), deployment.tip
    if read is None or tip is None or read == tip:
        return read is not None and read == tip
    repositories = [found for found in (source.repository, deployment.repository) if found is not None]
    # Two repositories of their own have no commit in common, and that is known at once.
    if not any(
        repository.is_behind(one, other) for repository in repositories for one, other in ((read, tip), (tip, read))
    ):
        return False
    return readable_fleet(deployment.tree.under(settings.folder), memo) is not None


def _overlap(one: str, other: str) -> bool:
    """Whether one folder is the other or in it."""
    return f"{one}/".startswith(f"{other}/" if other else "") or f"{other}/".startswith(f"{one}/")


class Deployments:
    """
    The deployment repo of a pass, opened where a Fleet says that it is: once, or once more if the Fleet that counts says otherwise than
    the one that was read first. It is closed with `stack`.
    """

    def __init__(
        self,
        settings: Settings,
        address_of: Callable[[FleetSpec], Address | None],
        stack: contextlib.ExitStack,
        progress: Progress,
    ) -> None:
        self._settings, self._address_of, self._stack, self._progress = settings, address_of, stack, progress
        self._opened: dict[tuple[str, str, str], Deployment] = {}

    def of(self, spec: FleetSpec) -> Deployment | None:
        """The one that a Fleet names; None if nobody does. Raises GitError or UsageError."""
        address = self._address_of(spec)
        if address is None:
            return None
        key = (address.normalised, spec.deployment.written, spec.deployment.branch)
        if key not in self._opened:
            self._progress(f"reading the deployment repo {address.redacted}")
            self._opened[key] = self._stack.enter_context(opened_deployment(address, spec, self._settings))
        return self._opened[key]

    def last_source(self, spec: FleetSpec) -> str:
        """The commit of the source that the last pass was made from; '' where there was none."""
        deployment = self.of(spec)
        said = value_of(last_trailers(deployment), f"{PREFIX}Source") if deployment is not None else None
        return said if said is not None and _ID.fullmatch(said) else ""


class Work(Struct, frozen=True):
    """What a pass that publishes is computed from, and where it publishes."""

    source: Opened
    deployment: Deployment
    inputs: Inputs


@contextlib.contextmanager
def at_work(settings: Settings, memo: Memo, progress: Progress) -> Iterator[Work]:
    """Open all that a pass which publishes needs, for as long as the context lasts. Raises Rejected, GitError or UsageError."""
    progress("reading the source")
    with contextlib.ExitStack() as stack:
        deployments = Deployments(settings, lambda spec: written_to(settings, spec), stack, progress)
        counting = Counting(memo, settings.folder, deployments.last_source)
        source = stack.enter_context(opened_source(settings, memo, work_tree=False, counting=counting))
        deployment = deployments.of(source.spec)
        assert deployment is not None
        _refuse_feeding(settings, source, deployment, memo)
        progress("planning")
        yield Work(source, deployment, inputs_of(settings, source, deployment))


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
        uncounted=source.uncounted,
    )


def was_used_by(deployment: Deployment, source: Repository) -> bool:
    """Whether the capacity that is kept beside the deployment branch was used by a pass on a source."""
    if deployment.inputs_tip is None or deployment.proposed_pass is not None:
        return False
    used = _USED.match(deployment.repository.commit(deployment.inputs_tip).subject)
    with contextlib.suppress(NoSuchRevision):
        return used is not None and bool(source.resolve(used[1]))
    return False
