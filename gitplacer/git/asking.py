"""
What servers are asked, told to whoever counts it.

A request is one run of git that talks to a repository: it lists branches, fetches, or pushes. What it is about is one of three repos
(`about`), whatever their addresses are, so that no address gets into a metric. Nobody needs to listen; and who listens cannot
answer.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct


class Sort(enum.StrEnum):
    """What is asked of a server."""

    LIST = "ls-remote"
    FETCH = "fetch"
    PUSH = "push"


class Request(Struct, frozen=True):
    """A request that has ended: which repo it was about, how long it took in seconds, and whether it failed."""

    repo: str
    sort: Sort
    seconds: float
    failed: bool


_REPO: ContextVar[str] = ContextVar("repo", default="source")
_LISTENER: ContextVar[Callable[[Request], None] | None] = ContextVar("listener", default=None)


@contextmanager
def about(repo: str) -> Iterator[None]:
    """What is asked meanwhile is about this repo; without it, about the source. The `fleet` is in the source."""
    token = _REPO.set("source" if repo == "fleet" else repo)
    try:
        yield
    finally:
        _REPO.reset(token)


@contextmanager
def heard_by(listener: Callable[[Request], None]) -> Iterator[None]:
    """Tell a listener of each request that ends meanwhile, in the thread that makes it."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def request(sort: Sort) -> Iterator[None]:
    """One request, from its beginning to its end."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    began, failed = time.monotonic(), True
    try:
        yield
        failed = False
    finally:
        listener(Request(_REPO.get(), sort, time.monotonic() - began, failed))
