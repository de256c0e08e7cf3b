"""
Many questions about one fleet, asked at the same time: in processes of this machine, or on a Ray cluster. And one question at a time to a
process that may die of it (`isolated`).

A runner is given a function of one question, the questions, and whom to tell how many are answered. Answers come in the order of the
questions and are the same whoever runs them, also where a process is killed on the way: what it had not answered is asked again.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

Question = TypeVar("Question")

Told = Callable[[int], None]
"""Told how many questions are answered."""

Telling = Callable[[], AbstractContextManager[Told]]
"""Opens what is told. It is opened late, because who tells may have threads, and processes are forked before there are any."""

TRIES = 4
"""How often a question is asked of a process that is killed over it, before that is an error."""
_PER_WORKER = 8
"""Chunks for each worker: so many that none is left with much at the end, when the others have nothing to do."""
_MOST = 64
"""Questions in a chunk: so few that little is lost with a worker, and that progress is seen."""


def chunked(questions: Sequence[Question], workers: int) -> list[Sequence[Question]]:
    """The questions in their order, in chunks of what a worker is given at a time."""
    size = min(_MOST, max(1, len(questions) // (workers * _PER_WORKER)))
    return [questions[i : i + size] for i in range(0, len(questions), size)]
