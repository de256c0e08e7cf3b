"""`gitplacer plan`: what a pass would change and why, without changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitplacer.cli.options import choice, fleet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gitplacer.hydrate import Hydration

WOULD_CHANGE = 2
FAILED_ON = 3

CONCERNS = ("waiting", "relocated", "removed", "stale", "problems")
"""The words of --fail-on; what they mean is in `_concerns`."""


def _words(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
    words = [word.strip() for word in value.split(",") if word.strip()] if value else []
    unknown = [word for word in words if word not in CONCERNS]
    if unknown:
        raise click.BadParameter(f'"{unknown[0]}" is none of {", ".join(CONCERNS)}', ctx, param)
    return words


@click.command("plan")
@choice(["text", "markdown", "json"], "For a terminal, for a pull request, or for programs.")
@click.option(
    "--all", "everything", is_flag=True, help="Show also what stays, all clusters, and every file that changes."
)
@click.option("--exit-code", is_flag=True, help="Exit with 2 if something would change.")
@click.option(
    "--fail-on", metavar="WORDS", callback=_words, help=f"Exit with 3 if the plan has any of: {','.join(CONCERNS)}."
)
@click.option("--out", metavar="FILE", help="Save the plan as JSON, for `gitplacer reconcile --plan FILE`.")
@click.option(
    "--trust-base",
    metavar="REV",
    help="Take the Fleet and the capacity from this revision: where repos are, what may move.",
)
@fleet()
def command(output: str, everything: bool, exit_code: bool, fail_on: list[str], out: str | None, **where: Any) -> int:
    """
    Show what would change and why, without changing it.

    SOURCE is a directory or an address. A local work tree is read as it lies. Without --deployment, nothing is placed
    yet. Exits with 0 unless --exit-code or --fail-on ask for something else; 1 is an error.
    """
    from gitplacer.cli.looking import look
    from gitplacer.cli.progress import note, style
    from gitplacer.formats import FORMATS
    from gitplacer.formats.options import Options
    from gitplacer.formats.planjson import json_lines, plan_document

    if out is not None:
        from gitplacer.cli.planfile import refuse_place, save_plan

        refuse_place(out, where["source"])
    hydration = look(where)
    if output == "json" and everything:
        for line in json_lines(hydration.view):
            click.echo(line, nl=False)
    else:
        click.echo(FORMATS[output](hydration.view, Options(verbose=everything, style=style())), nl=False)
    if out is not None:
        save_plan(out, plan_document(hydration.view), changes=bool(hydration.steps))
    concerns = _concerns()
    found = [word for word in fail_on if concerns[word](hydration)]
    if found:
        note(f"failed on: {', '.join(found)}")
        return FAILED_ON
    return WOULD_CHANGE if exit_code and hydration.steps else 0


def _concerns() -> Mapping[str, Callable[[Hydration], bool]]:
    from gitplacer.model.decision import Action
    from gitplacer.problems import Severity
    from gitplacer.relocation.evidence import is_stale

    def is_in_plan(*actions: Action) -> Callable[[Hydration], bool]:
        return lambda hydration: any(d.action in actions for d in hydration.view.plan.decisions)

    def has_stale(hydration: Hydration) -> bool:
        snapshot = hydration.view.snapshot
        clusters = snapshot.source.own.clusters
        return any(is_stale(clusters[name], item, snapshot.now) for name, item in snapshot.capacity.items())

    return {
        # also a group of which some copies are placed and others wait
        "waiting": lambda hydration: any(
            d.waiting_since is not None or d.action is Action.WAIT for d in hydration.view.plan.decisions
        ),
        "relocated": is_in_plan(Action.RELOCATE),
        "removed": is_in_plan(Action.REMOVE),
        "stale": has_stale,
        "problems": lambda hydration: any(p.severity is Severity.ERROR for p in hydration.problems),
    }
