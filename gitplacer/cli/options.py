"""
Arguments that commands about a fleet share, declared once.

Their names are those of the parameters of `settings.settings`, so a command takes them as `**where` and hands them on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitplacer.cli.completing import files, folders, revisions, words

FAILED_ON = 3
"""The exit code of a command that was asked to fail on what it found."""

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # older ones take no parameter

_LONGEST = timedelta(days=3660)
"""The longest time that can be given: what is longer is a slip, and more than clocks and calendars bear."""

Command = TypeVar("Command", bound=Callable[..., Any])

_SOURCE = click.argument("source", default=".", metavar="[SOURCE]", shell_complete=folders)
_OPTIONS = {
    "deployment": click.option(
        "--deployment",
        metavar="REPO",
        shell_complete=folders,
        help="The deployment repo: a path or an address. Also GITPLACER_DEPLOYMENT.",
    ),
    "capacity": click.option(
        "--capacity",
        metavar="PATH|URL",
        shell_complete=folders,
        help="Where capacity snapshots are, if not in the source. Also GITPLACER_CAPACITY.",
    ),
    "credentials": click.option(
        "--credentials",
        metavar="FILE",
        shell_complete=files,
        help="What lets us in where: a credentials file. Also GITPLACER_CREDENTIALS.",
    ),
    "path": click.option(
        "--path", metavar="DIR", shell_complete=folders, help="The directory of the source repo that holds the fleet."
    ),
    "rev": click.option(
        "--rev", metavar="REV", shell_complete=revisions, help="The branch, tag or commit of the source to read."
    ),
    "now": click.option("--now", metavar="TIME", help="Decide as of this time, such as 2026-01-02T03:04:05Z."),
}


def fleet(*, deployment: bool = True, leave_out: Collection[str] = ()) -> Callable[[Command], Command]:
    """SOURCE and the options that say where the rest is."""
    names = [name for name in _OPTIONS if name not in leave_out and (deployment or name != "deployment")]
    return lambda command: functools.reduce(lambda f, name: _OPTIONS[name](f), reversed(names), _SOURCE(command))


def credentials() -> Callable[[Command], Command]:
    """`--credentials`, for a command that takes no SOURCE."""
    return lambda command: _OPTIONS["credentials"](command)


def signed() -> Callable[[Command], Command]:
    """In whose name commits are made, and what signs them."""

    def with_options(command: Command) -> Command:
        name = click.option(
            "--author",
            metavar="NAME <MAIL>",
            envvar="GITPLACER_AUTHOR",
            help="Who makes the commits. Also GITPLACER_AUTHOR.",
        )
        key = click.option(
            "--sign-key",
            metavar="FILE|gpg:ID",
            shell_complete=files,
            envvar="GITPLACER_SIGNING_KEY",
            help="Sign the commits: the file of an ssh key, or gpg: and a fingerprint. Also GITPLACER_SIGNING_KEY.",
        )
        return name(key(command))

    return with_options


def period(*, least: timedelta = timedelta(seconds=1)) -> Callable[..., Any]:
    """The callback of an option that takes a time to wait: its parameter is a timedelta, None where nothing was said."""

    def found(ctx: click.Context, param: click.Parameter, value: str | None) -> timedelta | None:
        from gitplacer.kinds.fields import duration_seconds
        from gitplacer.settings import UsageError

        if value is None:
            return None
        try:
            told = timedelta(seconds=duration_seconds(value))
        except (ValueError, OverflowError):
            told = timedelta(seconds=-1)
        if not least <= told <= _LONGEST:
            raise UsageError(f"{param.opts[0]} {value} is not a time to wait", 'write it like "30s", "15m" or "1h30m"')
        return told

    return found


def failing_on(concerns: Sequence[str], what: str) -> Callable[[Command], Command]:
    """`--fail-on`, with which a command exits with 3: some of `concerns`, between commas. They stand in its help in place of `{}`."""

    def found(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str]:
        given = [word.strip() for word in value.split(",") if word.strip()] if value else []
        unknown = [word for word in given if word not in concerns]
        if unknown:
            said = f'"{unknown[0]}" is none of {", ".join(concerns)}{_near(unknown[0], concerns)}'
            raise click.BadParameter(said, ctx, param)
        return given

    return click.option(
        "--fail-on",
        metavar="WORDS",
        callback=found,
        shell_complete=words(concerns),
        help=what.format(",".join(concerns)),
    )


class OneOf(_Choice):
    """One of some words; whoever misspells one is told which is near."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            said = error.message.rstrip(".") + _near(str(value), self.choices)
            raise click.BadParameter(said, ctx, param) from None


def _near(word: str, known: Collection[str]) -> str:
    """The end of a message about a word that is not known: what was likely meant, or nothing where nothing is near."""
    from gitplacer.problems import meant

    hint = meant(word, known)
    return f"; {hint}" if hint else ""


def choice(names: Any, what: str) -> Callable[[Command], Command]:
    """`--format`, of which the first is the default. Its parameter is `output`."""
    known = list(names)
    return click.option("--format", "output", type=OneOf(known), default=known[0], help=what, show_default=True)
