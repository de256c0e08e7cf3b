"""
How a command's `--help` is laid out: options by what they are about, exit codes, variables, and at its end examples.

What is said is in `gitplacer.cli.lessons`. Nothing heavy is loaded: help is there in a blink.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gitplacer.cli.lessons import Example, Exit

_OTHERS = "Options"


HELP_OPTIONS = ["-h", "--help"]


class _Teaching(click.Command):
    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        # Not what the context says: click keeps the option that it makes of them, for contexts that say otherwise as well.
        return HELP_OPTIONS

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, options in option_groups(self, ctx):
            rows = [row for option in options if (row := option.get_help_record(ctx)) is not None]
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        name = ctx.info_name or ""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), said) for code, said in exits(name)])
        if told := variables(self):
            with formatter.section("Environment"):
                what = "What they say" if len(told) > 1 else "What it says"
                formatter.write_text(f"{', '.join(told)}. {what}: gitplacer help environment")
        if found := examples(name):
            with formatter.section("Examples"):
                write_examples(formatter, (*found, *stage(name)))


class Taught(_Teaching):
    """A command whose help teaches."""


class TaughtGroup(_Teaching, click.Group):
    """A command with commands of its own, whose help teaches."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


def write_examples(formatter: click.HelpFormatter, found: tuple[Example, ...]) -> None:
    """What each is for, and below it the command, on one line: it is there to be copied."""
    indent = " " * formatter.current_indent
    for number, (told, line) in enumerate(found):
        if number:
            formatter.write_paragraph()
        formatter.write_text(introduced(told))
        formatter.write(f"{indent}  {line}\n")


def option_groups(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, list[click.Option]]]:
    """The options by what they are about, those of no group first. Of few options there is one group."""
    from gitplacer.cli.lessons import ABOUT, GROUPED_FROM

    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option)]
    grouped: dict[str, list[click.Option]] = {}
    if len(options) >= GROUPED_FROM:
        for title, names in ABOUT.items():
            found = [option for option in options if option.name in names]
            if len(found) > 1:
                grouped[title] = found
    told = {id(option) for found in grouped.values() for option in found}
    yield _OTHERS, [option for option in options if id(option) not in told]
    yield from grouped.items()


def exits(name: str) -> tuple[Exit, ...]:
    """The exit codes of a command."""
    from gitplacer.cli.lessons import EXITS, USUAL

    return EXITS.get(name, USUAL)


def examples(name: str) -> tuple[Example, ...]:
    """The examples of a command, each as it is typed."""
    from gitplacer.cli.lessons import EXAMPLES

    return tuple((told, f"gitplacer {line}") for told, line in EXAMPLES.get(name, ()))


def introduced(what: str) -> str:
    """What an example is for, before the example."""
    return what if what.endswith("?") else f"{what}:"


def stage(name: str) -> tuple[Example, ...]:
    """Where the examples of a command can be tried, as one more; nothing where the example fleet is no help."""
    from gitplacer.cli.lessons import STAGE, STAGE_DEPLOYMENT, WITHOUT_STAGE

    if name in WITHOUT_STAGE:
        return ()
    return (("To try them", f"gitplacer demo && cd {STAGE} && export GITPLACER_DEPLOYMENT={STAGE_DEPLOYMENT}"),)


def variables(command: click.Command) -> tuple[str, ...]:
    """The variables that count for a command, in the order of its parameters."""
    from gitplacer.cli.lessons import ENVIRONMENT

    found: dict[str, None] = {}
    for param in command.params:
        own = (param.envvar,) if isinstance(param.envvar, str) else tuple(param.envvar or ())
        found |= dict.fromkeys((*own, *ENVIRONMENT.get(param.name or "", ())))
    return tuple(found)
