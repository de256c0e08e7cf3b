"""
What the shell is told when somebody presses Tab: for each sort of value a function that names what begins like the word.

click drives it. Whatever goes wrong, nothing is offered and nothing is said: an error in the middle of a line that somebody is typing
helps nobody.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

VARIABLE = "_GITPLACER_COMPLETE"
"""What the shell sets when it asks, as click names it after the program."""

SHELLS = ("bash", "zsh", "fish")

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _offered(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(word) for word in words if word.startswith(incomplete) and word.isprintable() and " " not in word
    ]


def _completer(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Names that do not depend on what is typed so far."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with contextlib.suppress(Exception):
            return _offered(names(ctx), incomplete)
        return []

    return complete


def _of_type(what: str) -> Completer:
    """What the shell itself completes."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=what)]

    return complete


files = _of_type("file")
folders = _of_type("dir")


def _fleet(ctx: click.Context) -> Path:
    """Where the fleet is, as far as it is said by now: a local directory, or the current one."""
    said = Path(ctx.params.get("source") or ".")
    top = said if said.is_dir() else Path()
    return top / (ctx.params.get("path") or "")


def _clusters(ctx: click.Context) -> Iterable[str]:
    from gitplacer.cli.names import own_names

    return own_names(_fleet(ctx), "Cluster")


def _policies(ctx: click.Context) -> Iterable[str]:
    from gitplacer.cli.names import own_names

    return own_names(_fleet(ctx), "PlacementPolicy")


def _groups(ctx: click.Context) -> Iterable[str]:
    from gitplacer.cli.names import group_ids

    return group_ids(_fleet(ctx), ctx.params.get("deployment") or os.environ.get("GITPLACER_DEPLOYMENT", ""))


def _namespaces(ctx: click.Context) -> Iterable[str]:
    return sorted({group.partition("/")[0] for group in _groups(ctx)})


def _revisions(ctx: click.Context) -> Iterable[str]:
    from gitplacer.cli.names import revisions

    return revisions(_fleet(ctx))


def _contexts(ctx: click.Context) -> Iterable[str]:
    from gitplacer.cli.names import contexts

    return contexts(ctx.params.get("kubeconfig") or "")


def _schemas(ctx: click.Context) -> Iterable[str]:
    from gitplacer.packaged import SCHEMAS, packaged_names

    return sorted({name.removesuffix(".json") for name in packaged_names(SCHEMAS)} - {"gitplacer"})


def _nova_options(ctx: click.Context) -> Iterable[str]:
    from gitplacer.importers.nova.options import DEFAULTS

    return DEFAULTS


def _commands(ctx: click.Context) -> Iterator[str]:
    from gitplacer.cli.help import TOPICS

    root = ctx.find_root()
    assert isinstance(root.command, click.Group)
    yield from root.command.list_commands(root)
    yield from TOPICS


clusters = _completer(_clusters)
policies = _completer(_policies)
groups = _completer(_groups)
namespaces = _completer(_namespaces)
revisions = _completer(_revisions)
contexts = _completer(_contexts)
schemas = _completer(_schemas)
nova_options = _completer(_nova_options)
commands = _completer(_commands)


def _several(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Names between commas, each once."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        before, comma, _ = incomplete.rpartition(",")
        given = before.split(",")
        with contextlib.suppress(Exception):
            return _offered((f"{before}{comma}{name}" for name in names(ctx) if name not in given), incomplete)
        return []

    return complete


several_groups = _several(_groups)


def words(known: Iterable[str]) -> Completer:
    """Some of these words, between commas."""
    every = tuple(known)
    return _several(lambda ctx: every)


def register() -> None:
    """Have bash's way of splitting `--to=st` into three words understood, which click takes for an option with the value `=`."""
    from click.shell_completion import BashComplete, add_completion_class

    class Rejoining(BashComplete):
        def get_completion_args(self) -> tuple[list[str], str]:
            args, incomplete = super().get_completion_args()
            return (args[:-1] if args[-1:] == ["="] else args), incomplete

    add_completion_class(Rejoining)
