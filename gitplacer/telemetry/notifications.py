"""
Notices posted to an address of yours, as CloudEvents in JSON, signed.

The body is a CloudEvent in structured mode (CloudEvents 1.0), and `X-Signature: sha256=<hex>` is its HMAC, as Flux's generic-hmac provider
signs. Whoever receives it should check that, and drop an id that came before: a notice whose answer was lost is sent again.
Only https is spoken, but to this machine; no redirect is followed, and the answer's body is not read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gitplacer import __version__
from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Turn
from gitplacer.controller.wakes import Clock
from gitplacer.deadlines import Deadline, timed
from gitplacer.explain import rfc3339
from gitplacer.git.address import is_loopback
from gitplacer.git.secretfiles import read_secret
from gitplacer.redactor import redact
from gitplacer.retryafter import asked_to_wait
from gitplacer.settings import UsageError
from gitplacer.telemetry.courier import Courier, Undelivered
from gitplacer.telemetry.metrics import NEEDS
from gitplacer.telemetry.notices import Notice, Sort, Told, notices

TYPE = "dev.gitplacer."
CONTENT_TYPE = "application/cloudevents+json"
_CONNECT, _ANSWER = 5.0, 10.0
_LONGEST = 30.0
"""Seconds that a notice may take, however often something of the answer comes."""
_AGAIN = frozenset({408, 425, 429})


def address(file: Path) -> str:
    """The address that a file holds: many services put their secret into it. Raises UsageError or GitError."""
    url = read_secret(file, "--notify-url-file")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # which may quote a password
        raise UsageError(f"{file} does not hold an address that can be posted to", "write https://host/path") from None
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise UsageError(
            f"{file} does not hold an address that is encrypted", "write https://…; http:// is for this machine only"
        )
    if not parts.hostname or parts.username is not None or re.search(r"[\x00-\x20\x7f]", url):
        raise UsageError(f"{file} does not hold an address that can be posted to", "write https://host/path")
    return url


def cloud_event(notice: Notice, turn: Turn, number: int, source: str) -> dict[str, Any]:
    """A notice as a CloudEvent. `source` is the fleet's source repo; `number` tells notices of one turn apart."""
    data = {
        "sort": str(notice.sort),
        "reason": notice.reason,
        "message": redact(notice.text),
        "hint": redact(notice.hint),
        "turn": turn.number,
        "outcome": str(turn.outcome),
        "revision": turn.source,
        "deployment": turn.tip,
        **(
            {"group": notice.group, "from": list(notice.gone), "to": list(notice.come)}
            if notice.sort is Sort.MOVED
            else {}
        ),
        **({"phase": notice.phase} if notice.phase else {}),
    }
    return {
        "specversion": "1.0",
        "id": f"{turn.started:%Y%m%dT%H%M%S.%fZ}-{turn.number}-{number}",
        "source": source,
        "type": f"{TYPE}{notice.sort.lower()}",
        "time": rfc3339(turn.started),
        "subject": notice.group or notice.reason,
        "datacontenttype": "application/json",
        "data": data,
    }  # fmt: skip


def signature(secret: str, body: bytes) -> str:
    """What `X-Signature` says of a body."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


class Notifications(Silent):
    """Posts what is worth a notice. `secret` gives the one to sign with. Raises UsageError where the library is missing."""

    def __init__(
        self,
        url: str,
        secret: Callable[[], str],
        *,
        source: str,
        clock: Clock,
        complain: Callable[[str], None],
        dropped: Callable[[], None],
    ) -> None:
        try:
            import urllib3
        except ModuleNotFoundError:
            raise UsageError("notifications need the package urllib3", f"install it: {NEEDS}") from None
        self._errors = urllib3.exceptions.HTTPError
        self._deadline = Deadline(_LONGEST)
        pool = urllib3.PoolManager(
            num_pools=1, maxsize=1, retries=False, timeout=urllib3.Timeout(connect=_CONNECT, read=_ANSWER)
        )
        self._pool: Any = timed(pool, self._deadline)
        self._url, self._secret, self._source = url, secret, source
        self._told = Told()
        self._courier: Courier[bytes] = Courier("notify", self._send, clock, complain=complain, dropped=dropped)
        self._courier.start()

    def ended(self, turn: Turn) -> None:
        found, self._told = notices(turn, self._told)
        for number, notice in enumerate(found):
            event = cloud_event(notice, turn, number, self._source)
            self._courier.post(json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode())

    def stopped(self) -> None:
        self._courier.stop()

    def _send(self, body: bytes) -> None:
        headers = {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": f"gitplacer/{__version__}",
            "X-Signature": signature(self._secret(), body),
        }
        self._deadline.was_missed = False
        try:
            answer = self._pool.request(
                "POST", self._url, body=body, headers=headers, redirect=False, preload_content=False
            )
        except self._errors as error:
            why = str(self._deadline) if self._deadline.was_missed else f"it cannot be reached ({type(error).__name__})"
            raise Undelivered(why, again=True) from None
        answer.close()
        if 200 <= answer.status < 300:
            return
        again = answer.status >= 500 or answer.status in _AGAIN
        raise Undelivered(f"it answers {answer.status}", again=again, after=asked_to_wait(answer) or 0.0)
