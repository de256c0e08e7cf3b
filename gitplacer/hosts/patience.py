"""
When to ask a host again, and how long to wait before.

Both client libraries send their requests through urllib3, so one rule serves both. A host that says "too often" says how long to
wait, and is obeyed, up to a bound: nobody wants a CI job that sleeps for an hour. A request that the host may have carried out
before it failed is repeated only if repeating it changes nothing; making a comment is not of that sort, so whoever makes one
looks first whether it is there. What is not asked again comes back as the host's own answer.
"""

from __future__ import annotations

from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any, Self

from urllib3 import BaseHTTPResponse, Retry
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import MaxRetryError, ResponseError

from gitplacer.deadlines import Deadline
from gitplacer.retryafter import asked_to_wait

Wait = Callable[[float], None]
"""Sleeps for some seconds, or does not."""

TRIES = 4
"""How often a request is sent at most."""
LONGEST_WAIT = 300.0
"""Seconds. A host that wants a longer pause gets none; the command fails and says so."""
LONGEST_ANSWER = 120.0
"""Seconds that a request and its answer may take together. One that took more is not asked again: the next would take as long."""
_UNSAID = 60.0
"""Seconds where a host limits without saying for how long."""
_UNWELL = frozenset({500, 502, 503, 504})
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "PATCH", "DELETE"})


class Patience(Retry):
    """A rule for urllib3. `wait` is what sleeps; `deadline` is what the connections keep."""

    def __init__(self, wait: Wait, deadline: Deadline, **how: Any) -> None:
        self.wait, self.deadline = wait, deadline
        self.pause = 0.0
        defaults: dict[str, Any] = {
            "total": TRIES - 1,
            "redirect": 0,
            "allowed_methods": None,
            "raise_on_status": False,
            "raise_on_redirect": False,
            "backoff_factor": 1,
        }
        super().__init__(**{**defaults, **how})

    def new(self, **how: Any) -> Self:
        return super().new(wait=self.wait, deadline=self.deadline, **how)

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """Whether to look closer at an answer; `increment` sees the rest of it."""
        is_limit = status_code in (403, 429)
        return bool(self.total) and (is_limit or (status_code in _UNWELL and method.upper() in _REPEATABLE))

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: Any = None,
    ) -> Self:
        assert _pool is not None
        if error is not None and ((method or "").upper() not in _REPEATABLE or self.deadline.was_missed):
            raise MaxRetryError(_pool, url or "", error)  # it may have got there
        pause = self._pause(response) if response is not None else 0.0
        if response is not None and (pause is None or pause > LONGEST_WAIT):
            raise MaxRetryError(_pool, url or "", ResponseError(f"status {response.status}"))
        told = super().increment(method, url, response, error, _pool, _stacktrace)
        told.pause = max(pause or 0.0, told.get_backoff_time())
        return told

    def _pause(self, response: BaseHTTPResponse) -> float | None:
        """Seconds that an answer asks us to wait; None if asking again will not help."""
        if response.status not in (403, 429):
            return asked_to_wait(response) or 0.0
        after = asked_to_wait(response)
        if after is not None:
            return after
        if response.headers.get("X-RateLimit-Remaining") == "0" or response.headers.get("RateLimit-Remaining") == "0":
            return _until_reset(response)
        return _UNSAID if response.status == 429 else None

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        if self.pause > 0:
            self.wait(self.pause)


def _until_reset(response: BaseHTTPResponse) -> float:
    """Until the limit is lifted, by the host's own clock."""
    reset = response.headers.get("X-RateLimit-Reset") or response.headers.get("RateLimit-Reset") or ""
    try:
        now = parsedate_to_datetime(response.headers.get("Date", "")).timestamp()
        return max(0.0, float(reset) - now) + 1
    except ValueError:
        return _UNSAID
