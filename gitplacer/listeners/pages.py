"""
The report of the fleet, for a browser: the page of `gitplacer report`, of the last pass.

It shows the whole fleet, so it listens on this machine alone unless somebody says by which name it may be reached from elsewhere. A request for
another name is refused, also on this machine: otherwise any web page could read it by a name that it lets point here (DNS rebinding).

A page is drawn when somebody asks for it, once for each pass, in the thread of whoever asks. If a pass cannot be drawn, the page before is shown.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Collection
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Turn
from gitplacer.git.program import GitError
from gitplacer.listeners.serving import Bounds, Place
from gitplacer.passes.drawing import drawn
from gitplacer.problems import Rejected
from gitplacer.settings import Settings, UsageError

BOUNDS = Bounds(connections=32, seconds=120.0)
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?", re.IGNORECASE)
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"<>]*)">')
_NEVER = "default-src 'none'; frame-ancestors 'none'"


class Page(Struct, frozen=True):
    """A page, the policy that it carries in its head, and the tag by which a browser knows that it has it."""

    html: bytes
    policy: str
    tag: str


def page_of(html: str) -> Page:
    """A page as it is served: nothing else may frame it."""
    found = _POLICY.search(html)
    policy = found[1].replace("&#x27;", "'") if found else "default-src 'none'"
    data = html.encode()
    return Page(data, f"{policy}; frame-ancestors 'none'", f'"{hashlib.sha256(data).hexdigest()[:32]}"')


class Pages(Silent):
    """The page of the last pass. From any thread."""

    def __init__(self, settings: Settings, *, redact: bool, complain: Callable[[str], None]) -> None:
        self._settings, self._redact, self._complain = settings, redact, complain
        self._lock = threading.Lock()
        self._turn: Turn | None = None
        self._drawn_of: int = 0
        self._page: Page | None = None

    def ended(self, turn: Turn) -> None:
        if turn.hydration is not None or turn.rewrote:
            self._turn = replace(turn, hydration=None)

    def page(self) -> Page | None:
        """None before the first pass, and where none could be drawn yet."""
        turn = self._turn
        if turn is None:
            return None
        with self._lock:
            if turn.number > self._drawn_of:
                self._drawn_of = turn.number
                chosen = replace(self._settings, rev=turn.source, now=turn.started)
                try:
                    found = drawn(chosen, work_tree=False, redact=self._redact, progress=lambda message: None)
                    self._page = page_of(found.html)
                except (GitError, Rejected, UsageError, OSError) as error:
                    self._complain(f"the report of turn {turn.number} cannot be drawn: {error}")
            return self._page


def hosts(where: Place, given: Collection[str]) -> frozenset[str]:
    """The names by which the report may be reached. Raises UsageError where it would be open to others and nobody said by which name."""
    for name in given:
        if not _HOST.fullmatch(name):
            raise UsageError(
                f"--report-host {name} is no name of a host", "write it as it stands in the browser, without a port"
            )
    if not where.is_loopback and not given:
        shown = where.host or "every address of this machine"
        raise UsageError(
            f"--report-listen: {shown} can be reached by others, and the report shows the whole fleet to whoever asks",
            "listen on 127.0.0.1; or, behind something that checks who asks, name the host that they use: --report-host NAME",
        )
    return frozenset({*_HERE, *(name.lower() for name in given)})


def application(pages: Pages, names: frozenset[str]) -> Any:
    """The ASGI application that shows the report at `/`."""
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route, Router

    def shown(request: Request) -> Any:
        if _name(request.headers.getlist("host")) not in names:
            return PlainTextResponse("not the name of this report\n", 421, headers={"Content-Security-Policy": _NEVER})
        page = pages.page()
        if page is None:
            text = "No pass has ended yet. The controller's log says why, if it takes long.\n"
            return PlainTextResponse(text, 503, headers={"Retry-After": "5", "Content-Security-Policy": _NEVER})
        headers = {
            "ETag": page.tag,
            "Cache-Control": "no-cache",
            "Content-Security-Policy": page.policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        tags = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
        if page.tag in tags:
            return Response(status_code=304, headers=headers)
        return Response(page.html, media_type="text/html; charset=utf-8", headers=headers)

    return Router([Route("/", shown, methods=["GET"])], redirect_slashes=False)


def _name(given: list[str]) -> str:
    """The host's name in a Host header, without its port; '' where there is not exactly one header."""
    if len(given) != 1:
        return ""
    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::[0-9]{1,5})?", given[0].lower())
    return (found[1] or found[2]) if found else ""
