"""
A pass that is proposed instead of pushed: one long-lived pull request on the deployment repo.

The commits are those that a pass would push, on a branch of ours; merging it is the push. It is computed anew with every run. While it is
still what a pass would do, it stays as it is, with the reviews that it has: that a clock went on, or that a snapshot says the same
as the one before it, is no reason to replace it. When it is not, the branch is replaced, never anybody else's commits, and the pull
request is edited in place. When there is nothing to do any more, both go away.

A check on its last commit says whether it stands. It is green after each run that has looked, and red when one found that the source, the
deployment branch or what the capacity leads to has moved, and did not, or could not, renew it.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gitplacer.branch.lastpass import last_pass
from gitplacer.commits import PREFIX
from gitplacer.formats.proposal import (
    Moved,
    failed_text,
    outdated_text,
    proposal_body,
    proposal_title,
    standing_text,
    trailers_in,
)
from gitplacer.git.ourbranches import undated
from gitplacer.git.program import GitError
from gitplacer.git.publishing import Deployment
from gitplacer.git.pushing import LostRace
from gitplacer.git.reading import Commit
from gitplacer.hosts.host import LONGEST_DESCRIPTION, Host, Pull, State, Status
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.model.verdicts import OF_WAITING
from gitplacer.parsecache import ParseCache
from gitplacer.passes.opening import Opened, Progress, at_work
from gitplacer.passes.reconcile import ATTEMPTS, capacity_commit, commits_of, proposals_of
from gitplacer.passes.redated import Redated, same_but_dates
from gitplacer.plaintext import printable
from gitplacer.problems import Rejected
from gitplacer.redactor import redact
from gitplacer.runners.manyfiles import parsed_together, written_together
from gitplacer.settings import Settings, UsageError

CONTEXT = "gitplacer/up-to-date"
"""The check on the proposed commits."""


class Standing(enum.StrEnum):
    """What became of the branch with the proposed pass."""

    MADE = "Made"
    STANDS = "Stands"
    WITHDRAWN = "Withdrawn"
    NOTHING = "Nothing"
    OUTDATED = "Outdated"  # only where nothing may be changed


class ProposedPass(Struct, frozen=True, kw_only=True):
    """
    What a run came to: `tip` is the last commit proposed, and `moved` says why it is another than before, or should be. `pull` is
    the pull request, as it is now; `is_declined` if somebody has closed it although it stands.
    """

    hydration: Hydration
    deployment: str
    branch: str
    base: str
    standing: Standing
    tip: str | None = None
    moved: Moved | None = None
    pull: Pull | None = None
    is_declined: bool = False
    attempts: int = 1


class _Look(Struct, frozen=True):
    """A pass that was computed, and what it was computed from."""

    source: Opened
    deployment: Deployment
    inputs: Inputs
    hydration: Hydration


def propose(settings: Settings, *, progress: Progress, host: Host | None = None, check: bool = False) -> ProposedPass:
    """
    Propose what a pass would do. With `check`, nothing is proposed or withdrawn; it is only told whether what is proposed stands.
    Raises Rejected, GitError or UsageError.
    """
    for attempt in range(1, ATTEMPTS + 1):
        with _looked(settings, progress, host) as look:
            try:
                return _checked(look, host, attempt) if check else _proposed(look, settings, host, attempt, progress)
            except LostRace:
                progress("somebody else pushed first; computing again on what they pushed")
    raise GitError(
        f"lost the race for the proposed branch {ATTEMPTS} times", "LostRace", "run it again; nothing was changed"
    )


@contextlib.contextmanager
def _looked(settings: Settings, progress: Progress, host: Host | None) -> Iterator[_Look]:
    memo = ParseCache(settings.cache_dir, parse_many=parsed_together, write_many=written_together)
    with at_work(settings, memo, progress) as work:
        deployment = work.deployment
        if work.source.spec.deployment.proposed:
            raise UsageError(
                f"the Fleet says deployment.proposed, so a promoter merges {deployment.branch}",
                "leave out --pull-request, or take `proposed` out of the Fleet",
            )
        if deployment.tip is None:
            raise UsageError(
                f"{deployment.address.redacted} has no branch {deployment.branch}, and a pull request needs one to go to",
                "push a first commit there, such as a README",
            )
        try:
            hydration = hydrate(work.inputs, memo=memo, with_candidates=OF_WAITING)
        except Rejected as error:
            _tell(host, deployment.proposed_pass, State.FAILURE, failed_text(len(error.problems)))
            raise
        memo.save()
        yield _Look(work.source, deployment, work.inputs, hydration)


def _checked(look: _Look, host: Host | None, attempt: int) -> ProposedPass:
    """Say whether what is proposed stands."""
    deployment = look.deployment
    if deployment.proposed_pass is None:
        return _outcome(look, Standing.NOTHING, attempt)
    moved = _moved(look)
    if moved is None:
        _tell(host, deployment.proposed_pass, State.SUCCESS, _standing(look))
        return _outcome(look, Standing.STANDS, attempt, tip=deployment.proposed_pass)
    _tell(host, deployment.proposed_pass, State.FAILURE, outdated_text(moved))
    return _outcome(look, Standing.OUTDATED, attempt, tip=deployment.proposed_pass, moved=moved)


def _proposed(look: _Look, settings: Settings, host: Host | None, attempt: int, progress: Progress) -> ProposedPass:
    deployment, hydration = look.deployment, look.hydration
    before = deployment.proposed_pass
    moved = _moved(look) if before is not None else None
    if not _has_work(look):
        _keep_group_proposals(look, settings)
        if before is None:
            return _outcome(look, Standing.NOTHING, attempt)
        progress("withdrawing what is proposed")
        pull = _close(host, deployment)
        deployment.withdraw_pass(squashed=_squashed(deployment))
        return _outcome(look, Standing.WITHDRAWN, attempt, tip=before, moved=Moved.DONE, pull=pull)
    if before is not None and moved is None:
        tip, standing = before, Standing.STANDS
    else:
        progress(f"proposing {len(hydration.steps)} commit(s)")
        inputs = capacity_commit(look.source, deployment, settings)
        commits = commits_of(hydration, settings)
        tip = deployment.propose_pass(commits, inputs=inputs, squashed=_squashed(deployment))
        standing = Standing.MADE
    if host is None:
        return _outcome(look, standing, attempt, tip=tip, moved=moved)
    progress("asking the host")
    pull, is_declined = _requested(look, host, tip, is_new=standing is Standing.MADE)
    _tell(host, tip, State.SUCCESS, _standing(look))
    return _outcome(look, standing, attempt, tip=tip, moved=moved, pull=pull, is_declined=is_declined)


def _squashed(deployment: Deployment) -> str | None:
    """The tip of the last pass, if it has landed in a shape in which only its branch tells."""
    last = last_pass(deployment)
    return last.squashed if last is not None else None


def _outcome(
    look: _Look,
    standing: Standing,
    attempts: int,
    *,
    tip: str | None = None,
    moved: Moved | None = None,
    pull: Pull | None = None,
    is_declined: bool = False,
) -> ProposedPass:
    deployment = look.deployment
    return ProposedPass(
        hydration=look.hydration,
        deployment=deployment.address.redacted,
        branch=deployment.next_branch,
        base=deployment.branch,
        standing=standing,
        tip=tip,
        moved=moved,
        pull=pull,
        is_declined=is_declined,
        attempts=attempts,
    )


def _keep_group_proposals(look: _Look, settings: Settings) -> None:
    """Moves that wait for consent have branches of their own, on the tip; while a pass is proposed, they wait for it."""
    proposals = proposals_of(look.hydration, settings)
    if not look.deployment.is_proposed(proposals):
        look.deployment.publish([], proposals=proposals)


# does it stand?


def _has_work(look: _Look) -> bool:
    """
    Whether there is anything to propose. What a merge has made later than it was proposed is set right in the records with the
    next change; alone it is not worth a pull request.
    """
    return bool(look.hydration.steps) and not same_but_dates(look.deployment.tree, look.hydration.tree)


def _moved(look: _Look) -> Moved | None:
    """Why what is proposed is not what a pass would do now; None if it is."""
    if not _has_work(look):
        return Moved.DONE
    chain = look.deployment.pass_proposed()
    if not chain:
        return Moved.DEPLOYMENT
    last, inputs = chain[-1], look.inputs
    if last.trailer(f"{PREFIX}Source") != (inputs.commit.id if inputs.commit else None):
        return Moved.SOURCE
    if last.trailer(f"{PREFIX}Version") != inputs.version:
        return Moved.VERSION
    if not all(look.deployment.lets_stand(commit.is_signed) for commit in chain):
        return Moved.SIGNATURE
    if _is_the_same(look, chain):
        return None
    return Moved.TIME if last.trailer(f"{PREFIX}Capacity") == inputs.capacity_id else Moved.CAPACITY


def _is_the_same(look: _Look, chain: Sequence[Commit]) -> bool:
    """Whether the commits are those of the pass but for when they were made, and what they say of the capacity."""
    steps = look.hydration.steps
    if len(steps) != len(chain):
        return False
    deployment = look.deployment
    both = Redated(deployment.repository, chain[0].parents[0], deployment.tree)
    return all(
        undated(step.message) == undated(f"{commit.subject}\n\n{commit.body}") and both.follows(step.changes, commit.id)
        for step, commit in zip(steps, chain, strict=True)
    )


# the host


def _standing(look: _Look) -> str:
    return standing_text(look.inputs.commit.id if look.inputs.commit else "")


def _tell(host: Host | None, commit: str | None, state: State, description: str) -> None:
    """Set the check, if it does not say so already."""
    if host is None or commit is None:
        return
    status = Status(context=CONTEXT, state=state, description=printable(redact(description), LONGEST_DESCRIPTION))
    if host.status(commit, CONTEXT) != status:
        host.set_status(commit, status)


def _requested(look: _Look, host: Host, tip: str, *, is_new: bool) -> tuple[Pull, bool]:
    """The pull request of the branch, open and up to date; or, if somebody has closed it as it stands, as they left it."""
    deployment = look.deployment
    messages = [step.message for step in look.hydration.steps]
    title = redact(proposal_title(messages))
    # What the commits themselves say, which may have been made by an earlier run.
    trailers = trailers_in(messages[-1] if is_new else deployment.pass_proposed()[-1].body)
    body = redact(proposal_body(look.hydration.view, trailers, host.longest_body))
    newest: Pull | None = None
    for pull in host.pulls_from(deployment.next_branch, deployment.branch):
        newest = newest or pull
        if pull.is_open:
            # An earlier run may have pushed and then failed to say so.
            is_told = not is_new and trailers in pull.body.replace("\r\n", "\n")
            return (pull if is_told else host.edit_pull(pull.number, title, body)), False
    if newest is not None and not is_new and not newest.is_merged and newest.head_sha == tip:
        return newest, True
    return host.open_pull(deployment.next_branch, deployment.branch, title, body), False


def _close(host: Host | None, deployment: Deployment) -> Pull | None:
    """Close the pull request, if there is an open one."""
    if host is None:
        return None
    for pull in host.pulls_from(deployment.next_branch, deployment.branch):
        if pull.is_open:
            host.close_pull(pull.number)
            return pull
    return None
