"""
Many files parsed, or many texts written, by several processes.

Parsing is most of what a cold pass does before it plans, and no file's parsing needs another's. So where many are new they are dealt
out to processes that are forked from this one, which has their bytes; back come pickles, which the parse cache keeps as they
are. A file of which nothing comes back is simply not among them, and its reader parses it as ever: so whatever ends a
worker costs time, and changes no answer. Texts that files have in common are one text in memory only where one process parsed them: that
is the price.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from gitplacer.runners import Told
from gitplacer.runners.processes import in_processes, usable_cores
from gitplacer.settings import UsageError
from gitplacer.source.files import Makers, Parser, read_file

FEWEST = 2 << 20
"""Bytes of new files from which on several processes are worth their start: as much as one process parses in about a second."""
MOST = 4
"""Processes at most: one process unpickles what they have read, at about a tenth of what reading it takes."""
_DEAL = 1 << 17
"""Bytes of files that a worker gets at a time."""
FEWEST_TEXTS = 2000
"""Texts from which on several processes are worth their start: as many as one writes in a third of a second."""
_HAND = 100
"""Texts that a worker makes at a time."""


def _nothing_yet(pickles: Mapping[str, bytes]) -> None:
    """For who waits for all of them."""


def parsed_together(
    blobs: Mapping[str, bytes],
    max_bytes: int,
    parse: Parser = read_file,
    processes: int | None = None,
    *,
    take: Callable[[Mapping[str, bytes]], None] = _nothing_yet,
) -> dict[str, bytes]:
    """
    Pickles of what was read of files, by blob id: of all or of some, and of none where it is not worth it. `take` is given each of them, some at a
    time, while others are being read.
    """
    processes = min(usable_cores(), MOST) if processes is None else processes
    if processes < 2 or sum(map(len, blobs.values())) < FEWEST:
        return {}

    def pickled(oids: list[str]) -> dict[str, bytes]:
        found = {}
        for oid in oids:
            try:
                found[oid] = pickle.dumps(parse(blobs[oid], max_bytes), protocol=5)
            except Exception:  # the reader tries again where it can tell of it
                continue
        return found

    try:
        answers = in_processes(
            pickled,
            _dealt(blobs),
            processes,
            _nobody_told,
            lambda some: take({k: v for one in some for k, v in one.items()}),
        )
    except (BrokenProcessPool, UsageError, OSError):  # workers have ended, or none could be started
        return {}
    return {oid: value for answer in answers for oid, value in answer.items()}


def written_together(number: int, makers: Makers, processes: int | None = None) -> dict[str, bytes]:
    """So many texts made by several processes, by digest: those that were made, and none where it is not worth it."""
    processes = min(usable_cores(), MOST) if processes is None else processes
    if processes < 2 or number < FEWEST_TEXTS:
        return {}
    ready = makers()

    def written(digests: Sequence[str]) -> dict[str, bytes | None]:
        return {digest: ready[digest]() for digest in digests}

    digests = sorted(ready)
    hands = [digests[start : start + _HAND] for start in range(0, len(digests), _HAND)]
    try:
        answers = in_processes(written, hands, processes, _nobody_told)
    except (BrokenProcessPool, UsageError, OSError):
        return {}
    return {digest: text for answer in answers for digest, text in answer.items() if text is not None}


def _dealt(blobs: Mapping[str, bytes]) -> list[list[str]]:
    """The files in hands of about the same size."""
    hands: list[list[str]] = [[]]
    held = 0
    for oid, data in blobs.items():
        if held + len(data) > _DEAL and hands[-1]:
            hands.append([])
            held = 0
        hands[-1].append(oid)
        held += len(data)
    return hands


@contextmanager
def _nobody_told() -> Iterator[Told]:
    yield lambda done: None
