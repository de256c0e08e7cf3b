"""
Fuzz a target: python -m fuzzing documents --seconds 60

Needs atheris: pip install -e '.[fuzz]'. Prints executions and edges; ends with 1 if something was found, which is then in fuzzing/found/TARGET/.
With --planted a bug is put in first, and 1 means that it was not found.
"""

from __future__ import annotations

import click

from fuzzing import running, targets
from fuzzing.distilling import distilled
from fuzzing.target import Target

_MOST_SAID = 4000


@click.command(help=__doc__)
@click.argument("name", metavar="TARGET", type=click.Choice(targets.NAMES))
@click.option("--seconds", type=click.IntRange(min=1), default=60, show_default=True, help="How long to look.")
@click.option("--planted", is_flag=True, help="Plant the target's bug, and find it.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Where chance begins; 0 is another one each time.")
@click.option("--grow", is_flag=True, help="Add to the committed corpus what shows new code.")
def main(name: str, seconds: int, planted: bool, seed: int, grow: bool) -> None:
    target = targets.target(name)
    outcome = running.run(name, seconds, planted=planted, seed=seed)
    click.echo(f"{name}: {outcome.executions:,} executions, {outcome.edges:,} edges, {len(outcome.fresh)} new inputs")
    if planted and not _breaks(target, outcome.breaking):
        click.echo(f"planted: {target.bug}: {'not found' if outcome.breaking is None else repr(outcome.breaking)}")
        raise SystemExit(outcome.breaking is None)
    if outcome.breaking is not None:
        click.echo(outcome.said[-_MOST_SAID:])
        click.echo(f"kept as {running.keep('found', name, outcome.breaking)}")
        raise SystemExit(1)
    if grow:
        more = distilled(target.check, running.corpus(name).values(), outcome.fresh)
        for data in more:
            running.keep("corpus", name, data)
        click.echo(f"the corpus has {len(more)} inputs more")


def _breaks(target: Target, data: bytes | None) -> bool:
    """Whether an input breaks the target as it is."""
    try:
        target.check(data or b"")
    except Exception:
        return True
    return False


if __name__ == "__main__":
    main()
