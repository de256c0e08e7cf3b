"""
Questions in processes of this machine.

Workers are forked from a process that has read the fleet already, so they share it and nothing is sent to them but questions. Where
nothing can be forked, or one process is all there is, the questions are answered one after another. A worker that is killed, as the
system does where memory is short, takes the others with it: what is not answered then is asked of new ones.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from gitplacer.runners import TRIES, Telling, chunked
from gitplacer.settings import UsageError

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_asked: Callable[[Any], Any] | None = None
"""The function in question, for workers that are forked while it is set."""


def usable_cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_after_another(
    ask: Callable[[Question], Answer], questions: Sequence[Question], telling: Telling
) -> list[Answer]:
    """The answers, in the order of the questions, worked out in this process."""
    found = []
    with telling() as told:
        for question in questions:
            found.append(ask(question))
            told(len(found))
    return found


def _nobody(answers: Sequence[Any]) -> None:
    """Waits for all of them."""


def in_processes(
    ask: Callable[[Question], Answer],
    questions: Sequence[Question],
    processes: int,
    telling: Telling,
    hear: Callable[[Sequence[Answer]], None] = _nobody,
) -> list[Answer]:
    """
    The answers, in the order of the questions. `hear` is given some at a time as they come, in any order, while others are being worked out. What
    `ask` raises is raised here; UsageError where workers are killed again and again.
    """
    global _asked
    chunks = chunked(questions, processes)
    processes = min(processes, len(chunks))
    if processes <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        answers = one_after_another(ask, questions, telling)
        hear(answers)
        return answers
    found: dict[int, list[Answer]] = {}
    _asked = ask
    gc.freeze()  # what is there already is shared: nobody has to look at it, which would copy it
    try:
        for _ in range(TRIES):
            left = {n: chunk for n, chunk in enumerate(chunks) if n not in found}
            _ask_new_workers(left, processes, found, telling, hear)
            if len(found) == len(chunks):
                return [answer for number in range(len(chunks)) for answer in found[number]]
    finally:
        _asked = None
        gc.unfreeze()
    unanswered = len(questions) - sum(map(len, found.values()))
    raise UsageError(
        f"processes were killed {TRIES} times; {unanswered} of {len(questions)} questions are not answered",
        "where memory is short, the system kills the largest: take fewer --processes, or --runner ray on larger machines",
    )


def _ask_new_workers(
    chunks: Mapping[int, Sequence[Any]],
    processes: int,
    found: dict[int, list[Any]],
    telling: Telling,
    hear: Callable[[Sequence[Any]], None],
) -> None:
    """Add the answers to chunks by number, as they come; those are missing that were left when a worker was killed."""
    with warnings.catch_warnings():
        # Threads of the libraries for arithmetic are at rest while we fork; nothing here holds a lock of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork")) as pool:
            waiting: dict[Future[list[Any]], int] = {}
            try:
                for number, chunk in chunks.items():
                    waiting[pool.submit(_answered, chunk)] = number
                _collect(waiting, found, telling, hear)
            except BrokenProcessPool:
                return
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _collect(
    waiting: Mapping[Future[list[Any]], int],
    found: dict[int, list[Any]],
    telling: Telling,
    hear: Callable[[Sequence[Any]], None],
) -> None:
    """Put answers where they belong, as they come. Raises BrokenProcessPool in the end, where some do not."""
    broken: BrokenProcessPool | None = None
    with telling() as told:
        for future in as_completed(waiting):
            try:
                answers = found[waiting[future]] = future.result()
            except BrokenProcessPool as error:
                broken = error
            else:
                hear(answers)
                told(sum(map(len, found.values())))
    if broken is not None:
        raise broken


def _answered(chunk: Sequence[Any]) -> list[Any]:
    """In a worker."""
    assert _asked is not None
    answers = [_asked(question) for question in chunk]
    gc.collect()  # plans refer to themselves in circles, and a worker makes many
    return answers
