"""
Fuzz a target: python -m fuzzing documents --seconds 60

Needs atheris: pip install -e '.[fuzz]'. Prints executions and edges; ends with 1 if something was found, which is then in fuzzing/found/TARGET/.
In the end what it learned is made long, and tried again: an input that takes long is a find as well.
With --planted a bug is put in first, and 1 means that it was not found.
"""

from __future__ import annotations

import random

import click

from fuzzing import running, targets
from fuzzing.distilling import distilled
from fuzzing.swelling import LONG, breaking_long
from fuzzing.target import Slow, Target

_MOST_SAID = 4000
_FOR_LONG = 0.25
"""Of the time of a run, how much more is given to inputs that are made long."""


@click.command(help=__doc__)
@click.argument("name", metavar="TARGET", type=click.Choice(targets.NAMES))
@click.option("--seconds", type=click.IntRange(min=1), default=60, show_default=True, help="How long to look.")
@click.option("--planted", is_flag=True, help="Plant the target's bug, and find it.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Where chance begins; 0 is another one each time.")
@click.option("--grow", is_flag=True, help="Add to the committed corpus what shows new code.")
def main(name: str, seconds: int, planted: bool, seed: int, grow: bool) -> None:
    target = targets.target(name)
    try:
        outcome = running.run(name, seconds, planted=planted, seed=seed)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    took = f" in {outcome.looked} s, and {outcome.started:.0f} s to start and end" if outcome.looked else ""
    click.echo(
        f"{name}: {outcome.executions:,} executions{took}, {outcome.edges:,} edges, {len(outcome.fresh)} new inputs"
    )
    if planted and not _breaks(target, outcome.breaking or b""):
        click.echo(f"planted: {target.bug}: {'not found' if outcome.breaking is None else repr(outcome.breaking)}")
        raise SystemExit(outcome.breaking is None)
    if outcome.breaking is not None:
        click.echo(outcome.said[-_MOST_SAID:])
        click.echo(f"kept as {running.keep('found', name, outcome.breaking)}")
        raise SystemExit(1)
    known = list({**running.corpus(name), **running.found(name)}.values())
    chance = random.Random(seed or None)
    tried, long, said = breaking_long(
        target.hold, [*known, *outcome.fresh], seconds * _FOR_LONG, chance, structured=target.structured
    )
    click.echo(f"{name}: {tried:,} inputs of up to {LONG:,} bytes")
    if long is not None:
        click.echo(f"{said}; kept as {running.keep('found', name, long)}")
        raise SystemExit(1)
    if grow:
        with target.planted():  # what shows the planted bug is left for a run to find
            blind = [data for data in outcome.fresh if not _breaks(target, data)]
        more = distilled(target.check, running.corpus(name).values(), blind)
        for data in more:
            running.keep("corpus", name, data)
        click.echo(f"the corpus has {len(more)} inputs more")


def _breaks(target: Target, data: bytes) -> bool:
    """Whether an input breaks the target as it is now."""
    try:
        target.hold(data)
    except (Exception, Slow):
        return True
    return False


if __name__ == "__main__":
    main()
