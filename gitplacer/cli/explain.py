"""`gitplacer explain GROUP`: one group, with every cluster's verdict, and what would place it where it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.completing import groups
from gitplacer.cli.options import choice, fleet
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitplacer.accounts import Accounts
    from gitplacer.explain import PlanView
    from gitplacer.placement.closeup import Closeup


@click.command("explain", cls=Taught)
@click.argument("group", shell_complete=groups)
@choice(["text", "json"], "For people, or for programs.")
@click.option("--nodes", is_flag=True, help="Show for each cluster that has too little room which nodes lack what.")
@click.option(
    "--trials", metavar="N", type=click.IntRange(0, 100_000), default=None,
    help="How many plans may be made to find what would place a group that waits; 0 makes none. Default: 4 to 400, by the size of the fleet.",
)  # fmt: skip
@fleet()
def command(group: str, output: str, nodes: bool, trials: int | None, **where: Any) -> None:
    """
    Tell why GROUP is where it is, or why it waits and what would place it.

    GROUP is <namespace>/<name>. SOURCE is a directory or an address; a local work tree is read as it lies.
    """
    from gitplacer.accounts import Accounts
    from gitplacer.cli.looking import looking
    from gitplacer.explain import NoSuchGroup
    from gitplacer.formats.explanation import explanation_json
    from gitplacer.formats.group import explain_group
    from gitplacer.model.verdicts import Verdicts
    from gitplacer.remedies import remedy
    from gitplacer.settings import UsageError

    try:
        with looking(where, Verdicts(groups=frozenset({group})), about=group) as (looked, hydration, say):
            view, accounts = hydration.view, Accounts(hydration.view, looked.ledgers)
            view.decision(group)
            found = None
            if trials != 0:
                say("looking for what would place it")
                found = remedy(
                    looked.inputs, hydration, group, looked.memo, trials, every_kind=True, accounts=accounts, ledgers=looked.ledgers,
                )  # fmt: skip
            closeups = _closeups(view, group, accounts) if nodes or output == "json" else {}
    except NoSuchGroup as error:
        raise UsageError(str(error), error.hint) from None
    if output == "json":
        click.echo(explanation_json(view, group, closeups=closeups, remedy=found), nl=False)
    else:
        click.echo(explain_group(view, group, closeups=closeups, remedy=found), nl=False)


def _closeups(view: PlanView, group_id: str, accounts: Accounts) -> Mapping[str, Closeup]:
    """Of clusters that were refused for want of room."""
    from gitplacer.model.decision import Verdict
    from gitplacer.placement.closeup import closeup
    from gitplacer.placement.onepass import may_scale_up

    decision = view.decision(group_id)
    group = view.group(decision)
    if group is None or group.policy is None:
        return {}
    scale_up = may_scale_up(group.policy)
    found = {}
    for candidate in decision.candidates:
        name = candidate.cluster
        if candidate.verdict is Verdict.REJECTED and candidate.finding.wanted and name in accounts.after:
            gang = accounts.after[name].nodes.on_each(view.snapshot.variants.gang(group, view.clusters[name]))
            close = closeup(accounts.after, gang, name, scale_up=scale_up)
            if close is not None:
                found[name] = close
    return found
