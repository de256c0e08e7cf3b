"""
The command line. This module alone is loaded for `--help`; a command's module is imported when the command runs.

Data goes to stdout, everything else to stderr. Whatever goes wrong ends here, as a message without a traceback and exit
code 1; the codes 2 and 3 belong to `plan --exit-code` and `--fail-on`.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

import click

from gitplacer import __version__
from gitplacer.cli.streams import Redacted, redacted
from gitplacer.cli.teaching import HELP_OPTIONS

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "Build an example fleet here, place it, and show what happens.",
        "init": "Start a new fleet repo in DIR.",
        "import": "Make a fleet repo of another scheduler's files.",
        "adopt": "Turn folders that are kept by hand into a fleet repo.",
        "validate": "Print every problem in the source.",
        "plan": "Show what would change, and why.",
        "explain": "Tell why a group is where it is, or why it waits.",
        "room": "Show what room is left in a fleet, and what is missing.",
        "test": "Run the Scenarios kept beside the policies.",
        "size": "Print what pods manifests become, and what each asks for.",
        "fit": "Tell whether manifests would fit a cluster now.",
        "snapshot": "Write what a live cluster has, as a CapacitySnapshot.",
        "bootstrap": "Print what Argo CD or Flux needs to sync the fleet.",
        "reconcile": "Plan, render, commit and push, once or for ever.",
        "move": "Approve that a group moves to a cluster.",
        "return": "Approve that a group goes back to where it was.",
        "suspend": "Suspend apps: their pods go, their place stays.",
        "resume": "Resume apps that are suspended.",
        "comment": "Put a plan on a pull request as a comment.",
        "tell": "After a merge, tell what became of the plan.",
        "simulate": "Tell what would happen if something were otherwise.",
        "drain": "Empty a cluster, and tell what follows pass by pass.",
        "blast": "Tell which groups an edit of policies or clusters touches.",
        "status": "Show the fleet at a glance.",
        "report": "Write the fleet as one HTML page.",
        "history": "Tell where a group has been, when and why.",
        "verify": "Compute deployment commits again, and prove them.",
        "schema": "Print the JSON Schema of a kind, for editors.",
        "help": "Tell what a command does, with examples.",
        "completion": "Print what a shell needs to complete commands.",
    }
)
"""Each command with its line in `--help`; its module is `gitplacer.cli.<name>`, and the function there `command`."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(f"gitplacer.cli.{cmd_name}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            from gitplacer.problems import nearest

            raise click.UsageError(f'there is no command "{name}"; {nearest(name, COMMANDS)}', ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from gitplacer.cli.lessons import PURPOSES

        told = {name for names in PURPOSES.values() for name in names}
        others = tuple(name for name in COMMANDS if name not in told)
        widest = max(map(len, COMMANDS))
        for title, names in (*PURPOSES.items(), ("Others", others)):
            if names:
                with formatter.section(title):
                    formatter.write_dl([(name.ljust(widest), COMMANDS[name]) for name in names])
        formatter.write_paragraph()
        formatter.write_text("gitplacer help COMMAND teaches by example. gitplacer demo shows all of it in a minute.")


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": HELP_OPTIONS})
@click.version_option(__version__, prog_name="gitplacer", message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context) -> None:
    """Placement of Ray on many Kubernetes clusters, as a rendering step in Git."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


_COMPLETING = "_GITPLACER_COMPLETE"
"""What a shell sets when it asks what a word may become."""

_kept: list[object] = []


def keep(made: object) -> None:
    """Hold on to what a command made, which is large, until the program has ended: taking it apart before takes as long as making some of it."""
    _kept.append(made)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises, whatever the command does."""
    try:
        return _ran(argv)
    finally:
        _kept.clear()
        gc.enable()


def _ran(argv: Sequence[str] | None = None) -> int:
    gc.disable()  # a pass makes millions of values and lets go of them only at its end: collecting costs a third of it
    with redacted():
        return _run(argv)


_UNREAD = 128 + signal.SIGPIPE
"""How git ends, and most programs, where nobody reads what they print any more. It is no error, and nobody is told of one."""


def _run(argv: Sequence[str] | None) -> int:
    outputs = [each for each in (sys.stdout, sys.stderr) if isinstance(each, Redacted)]
    try:
        if _COMPLETING in os.environ:
            from gitplacer.cli.completing import register

            register()
        code = root.main(args=None if argv is None else list(argv), prog_name="gitplacer", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SystemExit as error:
        if any(each.is_unread for each in outputs):  # which click makes of it
            return _UNREAD
        return error.code if isinstance(error.code, int) else 1
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and any(each.is_unread for each in outputs):
            return _UNREAD
        if _COMPLETING in os.environ:
            return 1  # somebody is typing, and an error in the middle of a line helps nobody
        from gitplacer.cli.failures import report

        report(error)
        return 1
    finally:
        abandon_output()


def program() -> NoReturn:
    """The `gitplacer` program: run one command and end."""
    _open_what_is_closed()
    _take_along_what_was_started()
    code = _ran()  # with nothing collected at the end either: looking at millions of values takes seconds
    sys.stderr.flush()
    os._exit(code)  # and taking them apart one by one would take as long


def _take_along_what_was_started() -> None:
    """
    Whoever ends this process by a signal wants nothing to be published any more: a git that it has started ends with it, as after Ctrl-C. One
    that was forked from it just ends.
    """
    whole = os.getpid()

    def ended(number: int, frame: object) -> None:
        if os.getpid() == whole:
            sys.exit(128 + number)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is signal.SIG_DFL:
            signal.signal(each, ended)


def _open_what_is_closed() -> None:
    """A standard file that is closed is as `/dev/null`; else the next file that somebody opens would be taken for it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)
            if opened > 2:
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def abandon_output() -> None:
    """What could not be written by now never will be; Python would complain once more when it closes stdout."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
