"""
A command as a man page, in the man macros of roff.

The same words as `--help`, from the same place. A page has no date, so the same code makes the same bytes; docs/generate.py
writes them to `man/`, and the wheel puts them where `man` looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from gitplacer import __version__
from gitplacer.cli.teaching import examples, exits, introduced, option_groups, stage, variables


def page_name(ctx: click.Context) -> str:
    """The name under which `man` finds the page: `gitplacer-plan`."""
    return ctx.command_path.replace(" ", "-")


def man_page(ctx: click.Context) -> str:
    """The page of the program or of one of its commands."""
    return "\n".join(_lines(ctx)) + "\n"


def _lines(ctx: click.Context) -> Iterator[str]:
    command, name = ctx.command, page_name(ctx)
    title, *paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    yield f'.TH {name.upper()} 1 "" "gitplacer {__version__}" "gitplacer"'
    yield ".SH NAME"
    yield f"{name} \\- {_text(title.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {ctx.command_path}"
    yield _text(" ".join(command.collect_usage_pieces(ctx)))
    if paragraphs:
        yield ".SH DESCRIPTION"
        for number, paragraph in enumerate(paragraphs):
            if number:
                yield ".PP"
            yield _text(paragraph)
    for about, options in option_groups(command, ctx):
        yield f".SH {about.upper()}"
        for option in options:
            yield from _option(option, ctx)
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for below in command.list_commands(ctx):
            found = command.get_command(ctx, below)
            assert found is not None
            yield ".TP"
            yield f".BR {name}-{below} (1)"
            yield _text(found.get_short_help_str(200))
    if ctx.parent is None:
        yield from _environment()
        return
    yield ".SH EXIT STATUS"
    for code, said in exits(ctx.info_name or ""):
        yield ".TP"
        yield f".B {code}"
        yield _text(said)
    if told := variables(command):
        yield ".SH ENVIRONMENT"
        yield _text(f"{', '.join(told)}: see gitplacer(1).")
    shown = examples(ctx.info_name or "")
    if shown:
        yield ".SH EXAMPLES"
    for number, (said, line) in enumerate((*shown, *stage(ctx.info_name or "")) if shown else ()):
        if number:
            yield ".PP"
        yield _text(introduced(said))
        yield ".PP"
        yield ".RS 4"
        yield ".EX"
        yield _text(line)
        yield ".EE"
        yield ".RE"
    yield ".SH SEE ALSO"
    yield ".BR gitplacer (1)"


def _option(option: click.Option, ctx: click.Context) -> Iterator[str]:
    record = option.get_help_record(ctx)
    if record is not None:
        yield ".TP"
        yield f".B {_text(record[0])}"
        yield _text(record[1])


def _environment() -> Iterator[str]:
    from gitplacer.cli.lessons import VARIABLES

    yield ".SH ENVIRONMENT"
    for names, said in VARIABLES.items():
        yield ".TP"
        yield f".B {_text(', '.join(names))}"
        yield _text(said)


def _text(text: str) -> str:
    """Text as roff takes it: a backslash and a dash are themselves, and a line that begins with a dot or a quote is no request."""
    escaped = re.sub(
        r"[\\-]", lambda found: {"\\": "\\e", "-": "\\-"}[found[0]], " ".join(text.replace("`", "").split())
    )
    escaped = "".join(one if ord(one) < 128 else f"\\[u{ord(one):04X}]" for one in escaped)
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
