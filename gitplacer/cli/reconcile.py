"""`gitplacer reconcile`: one pass that lands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.hosting import host
from gitplacer.cli.options import fleet, signed

if TYPE_CHECKING:
    from gitplacer.settings import Settings
    from gitplacer.tree import Tree


@click.command("reconcile")
@click.option(
    "--plan", "plan_file", metavar="FILE", help="Publish only if nothing comes out otherwise than in this saved plan."
)
@click.option(
    "--pull-request", is_flag=True, help="Propose it as a pull request on the deployment repo, instead of pushing."
)
@click.option("--check", is_flag=True, help="With --pull-request: only tell whether what is proposed is up to date.")
@host("With --pull-request: the deployment repo. Without it, only a branch is pushed.", in_job=False)
@signed()
@fleet()
def command(
    plan_file: str | None, pull_request: bool, check: bool, host_name: str | None, repo: str | None, **where: Any
) -> int:
    """
    Plan, render, commit and push, once.

    SOURCE is a repository or an address; only its commits are read. The push lands only on what it was computed from:
    if somebody else was first, everything is read and computed again.

    With --plan, what `gitplacer plan --out FILE` saved is held against what comes out now. If a group would be treated
    otherwise, both are shown, with the input that has moved, and nothing is published.

    With --pull-request the commits go to the branch gitplacer/next/BRANCH of the deployment repo, and one pull request from
    there is opened, kept up to date, and closed when there is nothing to do. The check gitplacer/up-to-date on its head tells whether
    it stands; --check sets only that, and exits with 2 if it does not.
    """
    from gitplacer.aswasplanned import AsWasPlanned, PlanDiffers
    from gitplacer.cli.planfile import read_plan, show_refusal
    from gitplacer.cli.progress import note, progress
    from gitplacer.explain import problem_lines
    from gitplacer.model.decision import Action
    from gitplacer.plaintext import printable
    from gitplacer.reconcile import deployment_address, reconcile
    from gitplacer.settings import UsageError, settings

    if not pull_request and (check or host_name or repo):
        raise UsageError("--check, --host and --repo are for --pull-request", "give that as well, or leave them out")
    if pull_request and plan_file is not None:
        raise UsageError("--plan is for a pass that is pushed", "a pull request is agreed to by merging it")
    chosen = settings(**where)
    planned = read_plan(plan_file) if plan_file is not None else None
    _note_uncommitted(chosen)
    if pull_request:
        from gitplacer.cli.proposal import proposal

        return proposal(chosen, host_name, repo, check=check)
    try:
        with progress() as say:
            consent = AsWasPlanned(planned, chosen, say) if planned is not None else None
            outcome = reconcile(chosen, progress=say, consent=consent)
    except PlanDiffers as differs:
        assert plan_file is not None and planned is not None
        return show_refusal(plan_file, planned, differs)
    if outcome.attempts > 1:
        note(f"somebody else pushed first, so it was computed anew ({outcome.attempts} attempts)")
    hydration = outcome.hydration
    for problem in hydration.problems:
        for line in problem_lines(problem):
            click.echo(line, err=True)
    spec = hydration.snapshot.source.own.fleet.spec
    address = deployment_address(chosen, spec, trusted=True)
    place = f"{address.redacted if address else ''}, branch {spec.deployment.branch}"
    if outcome.tip is None:
        click.echo(f"Unchanged  {hydration.view.deployment_commit} at {place}")
    else:
        click.echo(f"Published  {outcome.tip} to {place}")
        for step in hydration.steps:
            click.echo(f"  {printable(step.message.partition(chr(10))[0])}")
    for branch, step in zip(outcome.proposed, hydration.proposals, strict=True):
        click.echo(f"Proposed   {printable(branch)}: {printable(step.message.partition(chr(10))[0])}")
    if outcome.refused:
        note(f"{place}: the server did not take the branches with proposals: {outcome.refused}")
    counts = hydration.view.plan.counts()
    standing = [f"{counts[a]} {word}" for a, word in ((Action.HOLD, "held"), (Action.WAIT, "waiting")) if counts[a]]
    if standing:
        note(f"{' and '.join(standing)}: `gitplacer plan` names them, `gitplacer explain GROUP` says why")
    return 0


def _note_uncommitted(chosen: Settings) -> None:
    """Whoever has just edited a file may wonder why nothing happened."""
    from gitplacer.cli.progress import note
    from gitplacer.git.reading import Repository
    from gitplacer.git.worktree import read_work_tree
    from gitplacer.reconcile import is_work_tree

    address = chosen.source
    if not is_work_tree(chosen) or address.work_tree is None:
        return
    with Repository.open(address, chosen.cache_dir) as repository:
        committed = repository.tree(repository.resolve(), chosen.folder)
    if _files(read_work_tree(address.work_tree / chosen.folder)) != _files(committed):
        note(f"{address.redacted} has changes that are not committed; only commits are read")


def _files(tree: Tree) -> dict[str, tuple[str, str]]:
    """What two trees are compared by. The commit of a submodule is not to be had from a work tree."""
    return {path: (entry.mode, entry.oid) for path, entry in tree.entries.items() if entry.mode != "160000"}
