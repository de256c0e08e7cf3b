"""
What ends a command, as a message on stderr.

Each kind of failure is said in its own way: a Rejected input with every problem in it, everything else in one line and
a hint. What git cannot do has a code with a page. What nobody foresaw is called a bug, and its traceback is shown only to who asks for it.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

import click

from gitplacer.plaintext import printable
from gitplacer.problems import Rejected, Severity

DEBUG_VARIABLE = "GITPLACER_DEBUG"
_LONGEST = 2000


def report(error: BaseException) -> None:
    """Say on stderr why the command ended, which takes secrets out. Never raises, not even when stderr is closed."""
    try:
        for line in lines(error):
            click.echo(line, err=True)
        if os.environ.get(DEBUG_VARIABLE):
            sys.stderr.write("".join(traceback.format_exception(error)))
    except OSError:
        pass


def lines(error: BaseException) -> list[str]:
    """Why something ended, and what to do."""
    from gitplacer.capacity.access import ClusterError
    from gitplacer.git.program import GitError
    from gitplacer.settings import UsageError

    match error:
        case Rejected():
            from gitplacer.explain import told

            # What stops the run stands last, where a terminal ends: there may be a hundred warnings before it.
            ordered = sorted(error.problems, key=lambda problem: problem.severity is Severity.ERROR)
            return [line for _, lines in told(ordered) for line in lines]
        case GitError():
            return _message(str(error), error.hint, error.kind)
        case UsageError() | ClusterError():
            return _message(str(error), error.hint)
        case click.Abort() | KeyboardInterrupt():
            return ["interrupted"]
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "gitplacer"
            return _message(error.format_message().rstrip("."), f"`{command} --help` shows what can be given")
        case click.ClickException():
            return _message(error.format_message())
        case MemoryError():
            return _message("there is not enough memory for this", "give it more memory, or less to read at a time")
        case OSError():
            where = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return _message(f"{where}{error.strerror or error}", _remedy(error))
    return _message(
        f"internal error: {type(error).__name__}: {error}",
        f"this is a bug in gitplacer, please report it; {DEBUG_VARIABLE}=1 shows the traceback",
    )


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def _remedy(error: OSError) -> str:
    if error.errno in _FULL and error.filename:
        return "make room there, or write elsewhere"
    if error.errno == errno.EFBIG:
        return "split it"
    if error.errno in (errno.EACCES, errno.EPERM) and error.filename:
        return "check its permissions, and those of its folder"
    if error.errno == errno.EROFS:
        return "write elsewhere"
    if not isinstance(error, FileNotFoundError) or not isinstance(error.filename, str) or not error.filename:
        return ""
    from gitplacer.git.nearpath import near_path

    return near_path(Path(error.filename))


def _message(text: str, hint: str = "", code: str = "") -> list[str]:
    said = [f"error{f'[{code}]' if code else ''}: {printable(' '.join(text.split()), _LONGEST)}"]
    return [*said, f"  hint: {printable(hint, _LONGEST)}"] if hint else said
