"""`gitplacer help`: the help of a command, what the environment may say, and man pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitplacer.cli.completing import commands
from gitplacer.cli.teaching import Taught

if TYPE_CHECKING:
    from collections.abc import Sequence

TOPICS = ("environment",)
"""What help is about beside commands."""


@click.command("help", cls=Taught)
@click.option(
    "--man", "as_man", is_flag=True, help="As a man page, for `man -l -`; without COMMAND of gitplacer itself."
)
@click.argument("words", nargs=-1, metavar="[COMMAND]", shell_complete=commands)
@click.pass_context
def command(ctx: click.Context, as_man: bool, words: tuple[str, ...]) -> None:
    """
    Tell what COMMAND does, with examples.

    It prints what `gitplacer COMMAND --help` prints. Without COMMAND it lists all of them. `environment` in place of a command tells
    which variables count.
    """
    top = ctx.find_root()
    if list(words) == ["environment"] and not as_man:
        _environment(top)
        return
    found = _context(top, words)
    if as_man:
        from gitplacer.cli.manpage import man_page

        click.echo(man_page(found), nl=False)
    else:
        click.echo(found.get_help())


def _context(top: click.Context, words: Sequence[str]) -> click.Context:
    """The context of a command below the program. Raises UsageError where there is none of the name."""
    from gitplacer.problems import nearest
    from gitplacer.settings import UsageError

    at = top
    for word in words:
        if not isinstance(at.command, click.Group):
            raise UsageError(f"{at.command_path} has no commands of its own", f"gitplacer help {' '.join(words[:-1])}")
        known = at.command.list_commands(at)
        found = at.command.get_command(at, word)
        if found is None:
            raise UsageError(f'there is no command "{word}"', nearest(word, [*known, *(TOPICS if at is top else ())]))
        at = click.Context(found, info_name=word, parent=at)
    return at


def _environment(top: click.Context) -> None:
    from gitplacer.cli.lessons import VARIABLES

    formatter = top.make_formatter()
    with formatter.section("What the environment may say"):
        formatter.write_dl([(", ".join(names), said) for names, said in VARIABLES.items()])
    click.echo(formatter.getvalue(), nl=False)
