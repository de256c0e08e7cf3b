"""`gitplacer completion`: what a shell needs to complete our command lines."""

from __future__ import annotations

import click

from gitplacer.cli.completing import SHELLS, VARIABLE
from gitplacer.cli.options import OneOf
from gitplacer.cli.teaching import Taught


@click.command("completion", cls=Taught)
@click.argument("shell", type=OneOf(list(SHELLS)))
def command(shell: str) -> None:
    """
    Print the completion script of SHELL: bash, zsh or fish.

    It completes commands, options, their values and paths; in a fleet repo also groups, clusters, policies and revisions.

    To have it in every new bash, add the line `eval "$(gitplacer completion bash)"` to ~/.bashrc. In zsh, add `eval "$(gitplacer completion zsh)"`
    to ~/.zshrc, after compinit. For fish, write what it prints to ~/.config/fish/completions/gitplacer.fish.
    """
    from click.shell_completion import get_completion_class

    from gitplacer.cli import root

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(root, {}, "gitplacer", VARIABLE).source())
