"""`gitplacer reconcile`: one pass that lands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli import abandon_output, keep
from gitplacer.cli.completing import files, revisions
from gitplacer.cli.hosting import host
from gitplacer.cli.listening import Listening, listening
from gitplacer.cli.options import fleet, period, signed
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from gitplacer.controller.doubts import Undoubted
    from gitplacer.formats.savedplan import SavedPlan
    from gitplacer.hydrate import Hydration
    from gitplacer.passes.opening import Work
    from gitplacer.passes.reconcile import Outcome, Rewritten, Spared
    from gitplacer.settings import Settings
    from gitplacer.tree import Tree

_MOST_PROPOSED = 25
"""Moves that wait for consent, named by each pass."""


@click.command("reconcile", cls=Taught)
@click.option(
    "--plan",
    "plan_file",
    metavar="FILE",
    shell_complete=files,
    help="Publish only if nothing comes out otherwise than in this saved plan.",
)
@click.option(
    "--pull-request", is_flag=True, help="Propose it as a pull request on the deployment repo, instead of pushing."
)
@click.option("--check", is_flag=True, help="With --pull-request: only tell whether what is proposed is up to date.")
@click.option(
    "--give-up",
    "given_up",
    metavar="COMMIT",
    shell_complete=revisions,
    multiple=True,
    help="Publish though this commit of the source or of the deployment branch is gone.",
)
@click.option("--full", is_flag=True, help="Compute it whole, whatever is known of it from passes before.")
@click.option("--watch", is_flag=True, help="Go on for ever: a pass whenever something has moved.")
@click.option(
    "--interval",
    metavar="TIME",
    callback=period(),
    help="With --watch: how often to look whether something has moved.  [default: 1m]",
)
@click.option(
    "--full-every",
    metavar="TIME",
    callback=period(),
    help="With --watch: the longest time without a whole pass.  [default: 5m]",
)
@click.option(
    "--batch",
    metavar="TIME",
    callback=period(least=timedelta(0)),
    help="With --watch: what is hinted within this time is one pass.  [default: 2s]",
)
@click.option(
    "--leader-elect",
    metavar="NAME",
    help="With --watch: of several replicas one works: [NAMESPACE/]NAME of a Lease of the cluster, or file:PATH.",
)
@listening
@host("With --pull-request: the deployment repo. Without it, only a branch is pushed.", in_job=False)
@signed()
@fleet()
def command(
    plan_file: str | None, pull_request: bool, check: bool, given_up: tuple[str, ...], full: bool, watch: bool, interval: timedelta | None,
    full_every: timedelta | None, batch: timedelta | None, leader_elect: str | None, listening: Listening,
    host_name: str | None, repo: str | None, **where: Any,
) -> int:  # fmt: skip
    """
    Plan, render, commit and push, once or for ever.

    SOURCE is a repository or an address; only its commits are read. The push lands only on what it was computed from:
    if somebody else was first, everything is read and computed again.

    With --plan, what `gitplacer plan --out FILE` saved is held against what comes out now. If a group would be treated
    otherwise, both are shown, with the input that has moved, and nothing is published.

    If the source or the deployment branch has lost commits since the last pass, or the deployment branch is gone, nothing is published, however
    often it is run. The message names the commit that is missing; --give-up with that commit says that it was meant.

    With --pull-request the commits go to the branch gitplacer/next/BRANCH of the deployment repo, and one pull request from
    there is opened, kept up to date, and closed when there is nothing to do. The check gitplacer/up-to-date on its head tells whether
    it stands; --check sets only that, and exits with 2 if it does not.

    A pass that changed nothing is remembered in the cache, with the time until which nothing would change. Until then another one on the
    same commits and the same capacity is not computed, and prints the same. A commit that only changes how manifests are written, such as
    their comments, or what ConfigMaps hold, is published without planning the fleet. --full computes it.

    With --watch it looks every minute whether a branch has moved, and makes a pass when one has, and every five minutes in any case. It
    says on stderr what each pass came to, and ends on SIGTERM or SIGINT with code 0, never in the middle of a push. Webhooks wake it
    sooner; metrics, a report, notices and Events tell of it; each of these is off unless it is asked for.
    """
    from gitplacer.cli.progress import note, progress
    from gitplacer.controller.doubts import Doubt, Undoubted
    from gitplacer.passes.reconcile import reconcile, reconcile_unless_quiet
    from gitplacer.settings import settings

    times = {"--interval": interval, "--full-every": full_every, "--batch": batch, "--leader-elect": leader_elect}
    _refuse_what_does_not_go_together(
        pull_request=pull_request,
        of_pull_request=bool(check or host_name or repo),
        has_plan=plan_file is not None,
        given_up=given_up,
        full=full,
        watch=watch,
        of_watch=next((name for name, value in times.items() if value is not None), listening.first_given()),
        at_a_time=where["now"] is not None,
    )
    chosen = settings(**where)
    planned = None
    if plan_file is not None:
        from gitplacer.cli.planfile import read_plan

        planned = read_plan(plan_file)
    _note_uncommitted(chosen)
    if watch:
        from gitplacer.cli.watching import watch as watching

        return watching(
            chosen, listening, interval=interval, full_every=full_every, batch=batch, leader_elect=leader_elect
        )
    if pull_request:
        from gitplacer.cli.proposal import proposal

        return proposal(chosen, host_name, repo, check=check)

    def tell(doubt: Doubt) -> None:
        note(f"{doubt.kind}: {doubt}")

    undoubted = Undoubted(chosen, given_up, tell, at_a_time=where["now"] is not None)
    if plan_file is not None and planned is not None:
        return _as_planned(plan_file, planned, chosen, undoubted)
    with progress() as say:
        outcome: Outcome | Spared | Rewritten
        if full:
            outcome = reconcile(chosen, progress=say, before_push=undoubted)
        else:
            outcome = reconcile_unless_quiet(
                chosen, progress=say, before_push=undoubted, before_quick_push=undoubted.of_unplanned
            )
    return _ended(outcome, undoubted)


def _refuse_what_does_not_go_together(
    *,
    pull_request: bool,
    of_pull_request: bool,
    has_plan: bool,
    given_up: tuple[str, ...],
    full: bool,
    watch: bool,
    of_watch: str | None,
    at_a_time: bool,
) -> None:
    """Raises UsageError. `of_watch` names an option that is for --watch alone, if one was given."""
    from gitplacer.settings import UsageError

    if not pull_request and of_pull_request:
        raise UsageError("--check, --host and --repo are for --pull-request", "give that as well, or leave them out")
    if pull_request and has_plan:
        raise UsageError("--plan is for a pass that is pushed", "a pull request is agreed to by merging it")
    if given_up and (watch or pull_request):
        other = "--watch" if watch else "--pull-request"
        raise UsageError(f"--give-up does not go with {other}", "it is for one pass that is pushed; run that once")
    if full and (watch or pull_request):
        raise UsageError("--full is for one pass that is pushed", "the others are always computed; leave it out")
    for commit in given_up:
        if not re.fullmatch(r"[0-9a-f]{12,40}", commit):
            raise UsageError(f"--give-up {commit} is no commit", "give the one that the message names")
    if not watch and of_watch is not None:
        raise UsageError(f"{of_watch} is for --watch", "give that as well, or leave it out")
    if watch and (pull_request or has_plan or at_a_time):
        other = "--pull-request" if pull_request else "--plan" if has_plan else "--now"
        raise UsageError(f"--watch does not go with {other}", "it pushes pass after pass, each at the time of its own")


def _as_planned(plan_file: str, planned: SavedPlan, chosen: Settings, undoubted: Undoubted) -> int:
    """Only what a plan says that was saved."""
    from gitplacer.cli.planfile import show_refusal
    from gitplacer.cli.progress import progress
    from gitplacer.passes.aswasplanned import AsWasPlanned, PlanDiffers
    from gitplacer.passes.reconcile import reconcile

    try:
        with progress() as say:
            as_planned = AsWasPlanned(planned, chosen, say)

            def before_push(hydration: Hydration, work: Work) -> None:
                as_planned(hydration, work)
                undoubted(hydration, work)

            outcome = reconcile(chosen, progress=say, before_push=before_push)
    except PlanDiffers as differs:
        return show_refusal(plan_file, planned, differs)
    return _ended(outcome, undoubted)


def _ended(outcome: Outcome | Spared | Rewritten, undoubted: Undoubted) -> int:
    from gitplacer.passes.reconcile import Outcome, Spared

    if isinstance(outcome, Spared):
        _tell_of_unplanned(outcome, f"Unchanged  {outcome.tip} at")
        return 0
    keep(outcome)
    if outcome.tip:
        undoubted.landed(outcome.tip)
    try:
        if isinstance(outcome, Outcome):
            _tell(outcome)
        else:
            _tell_of_unplanned(outcome, f"Published  {outcome.tip} to", outcome.subject)
    except OSError as error:
        if not outcome.tip:
            raise
        _could_not_tell(outcome.tip, error)
    return 0


def _could_not_tell(tip: str, error: OSError) -> None:
    """What has landed has landed, whether or not somebody could be told: the pass has not failed."""
    from gitplacer.cli.progress import note

    abandon_output()
    with suppress(OSError):
        note(f"{tip} is published, but that could not be written: {error.strerror or error}")


def _tell_of_unplanned(ended: Spared | Rewritten, what: str, *subjects: str) -> None:
    """As of a pass that was computed."""
    from gitplacer.cli.progress import note_attempts, show_problems

    note_attempts(ended.attempts)
    show_problems(ended.quiet.problems)
    place = f"{ended.deployment}, branch {ended.branch}"
    _tell_of_commits(f"{what} {place}", subjects)
    _tell_what_is_left(place, ended.unnoted, ended.quiet.standing)


def _tell_of_commits(line: str, subjects: Iterable[str]) -> None:
    from gitplacer.plaintext import printable

    click.echo(line)
    for subject in subjects:
        click.echo(f"  {printable(subject)}")


def _tell_what_is_left(place: str, unnoted: str, standing: str) -> None:
    from gitplacer.cli.progress import note

    if unnoted:
        note(f"{place}: promoters find no note on the tip, which the next pass tries again: {unnoted}")
    if standing:
        note(f"{standing}: `gitplacer explain GROUP` says why, `gitplacer plan` names all")


def _tell(outcome: Outcome) -> None:
    """What a pass came to: commits on stdout, the rest on stderr."""
    from gitplacer.cli.progress import note, note_attempts, show_problems
    from gitplacer.explain import standing as standing_of
    from gitplacer.git.ourbranches import PROPOSALS
    from gitplacer.plaintext import printable

    hydration = outcome.hydration
    note_attempts(outcome.attempts)
    show_problems(hydration.problems)
    place = f"{outcome.deployment}, branch {outcome.branch}"
    if outcome.tip is None:
        click.echo(f"Unchanged  {hydration.view.deployment_commit} at {place}")
    else:
        _tell_of_commits(f"Published  {outcome.tip} to {place}", (step.subject for step in hydration.steps))
    for branch, step in islice(zip(outcome.proposed, hydration.proposals, strict=True), _MOST_PROPOSED):
        click.echo(f"Proposed   {printable(branch)}: {printable(step.subject)}")
    if len(outcome.proposed) > _MOST_PROPOSED:
        click.echo(
            f"Proposed   {len(outcome.proposed) - _MOST_PROPOSED:,} more: the deployment repo has a branch below {PROPOSALS} for each"
        )
    if outcome.refused:
        note(f"{place}: the server did not take the branches with proposals: {outcome.refused}")
    _tell_what_is_left(place, outcome.unnoted, standing_of(hydration.view.plan))


def _note_uncommitted(chosen: Settings) -> None:
    """Whoever has just edited a file may wonder why nothing happened."""
    from gitplacer.cli.progress import note
    from gitplacer.git.reading import Repository
    from gitplacer.git.worktree import lies_as_committed, read_work_tree
    from gitplacer.passes.opening import is_work_tree

    address = chosen.source
    if not is_work_tree(chosen) or address.work_tree is None:
        return
    if lies_as_committed(address.work_tree / chosen.folder):
        return
    with Repository.open(address, chosen.cache_dir) as repository:
        committed = repository.tree(repository.resolve(), chosen.folder)
    if _files(read_work_tree(address.work_tree / chosen.folder, chosen.cache_dir)) != _files(committed):
        note(f"{address.redacted} has changes that are not committed; only commits are read")


def _files(tree: Tree) -> dict[str, tuple[str, str]]:
    """What two trees are compared by. The commit of a submodule is not to be had from a work tree."""
    return {path: (entry.mode, entry.oid) for path, entry in tree.entries.items() if entry.mode != "160000"}
