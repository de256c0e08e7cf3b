"""
Questions in processes of this machine.

Workers are forked from a process that has read the fleet already, so they share it and nothing is sent to them but questions. Where
nothing can be forked, or one process is all there is, the questions are answered one after another.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from gitplacer.runners import Telling

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_CHUNK = 4
"""Questions that a worker is given at a time: few, so that no worker is left with many at the end."""
_asked: Callable[[Any], Any] | None = None
"""The function in question, for workers that are forked while it is set."""


def usable_cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(
    ask: Callable[[Question], Answer], questions: Sequence[Question], processes: int, telling: Telling
) -> list[Answer]:
    """The answers, in the order of the questions. What `ask` raises is raised here."""
    global _asked
    chunks = [questions[i : i + _CHUNK] for i in range(0, len(questions), _CHUNK)]
    processes = min(processes, len(chunks))
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        return _one_after_another(ask, questions, telling)
    found: list[list[Answer]] = [[] for _ in chunks]
    _asked = ask
    gc.freeze()  # what is there already is shared: nobody has to look at it, which would copy it
    try:
        with warnings.catch_warnings():
            # Threads of the libraries for arithmetic are at rest while we fork; nothing here holds a lock of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
                waiting = {pool.submit(_answered, chunk): number for number, chunk in enumerate(chunks)}
                try:
                    _collect(waiting, found, telling)
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
    finally:
        _asked = None
        gc.unfreeze()
    return [answer for chunk in found for answer in chunk]


def _collect(waiting: Mapping[Future[list[Answer]], int], found: list[list[Answer]], telling: Telling) -> None:
    """Put answers where they belong, as they come."""
    done = 0
    with telling() as told:
        for future in as_completed(waiting):
            found[waiting[future]] = future.result()
            done += len(found[waiting[future]])
            told(done)


def _one_after_another(
    ask: Callable[[Question], Answer], questions: Sequence[Question], telling: Telling
) -> list[Answer]:
    found = []
    with telling() as told:
        for question in questions:
            found.append(ask(question))
            told(len(found))
    return found


def _answered(chunk: Sequence[Any]) -> list[Any]:
    """In a worker."""
    assert _asked is not None
    answers = [_asked(question) for question in chunk]
    gc.collect()  # plans refer to themselves in circles, and a worker makes many
    return answers
