"""
Questions, on a terminal only.

A program that waits for an answer in a pipe waits for ever. So somebody is asked where stdin, stdout and stderr are all theirs, and
everything that is asked has a default and an option that answers it beforehand. What is asked goes to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from gitplacer.cli.options import OneOf

Answer = TypeVar("Answer")


def may_ask() -> bool:
    """Whether there is somebody to ask."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def pick(question: str, known: Sequence[str]) -> str:
    """One of some words; the first is the default. Asks again where the answer is none of them. Raises click.Abort."""
    found: str = click.prompt(question, default=known[0], type=OneOf(list(known)), err=True)
    return found


def name_some(question: str, default: str, read: Callable[[list[str]], Answer]) -> Answer:
    """Names between commas or spaces, as `read` takes them; what that refuses is told, and asked again. Raises click.Abort."""

    def converted(text: str) -> Answer:
        from gitplacer.capacity.access import ClusterError
        from gitplacer.settings import UsageError

        try:
            return read(text.replace(",", " ").split())
        except (ClusterError, UsageError) as error:
            raise click.UsageError(f"{error}; {error.hint}") from None

    found: Answer = click.prompt(question, default=default, value_proc=converted, err=True)
    return found
