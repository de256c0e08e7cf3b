"""
Webhooks: a push that wakes the controller.

A request is looked at from the outside in, and ends at the first thing that is wrong: its method, its address, whether there is a secret for it, its type, how long it
is, who sent it. Until that is known nothing of it is read as anything. What is sent is a hint; the answer is 202 whether it was followed or
not, because that is nobody else's business. A forged or oversized one wakes nobody.

Nothing of a request is logged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from gitplacer.controller.observing import Silent
from gitplacer.controller.turns import Turn
from gitplacer.git.address import Address
from gitplacer.git.program import GitError
from gitplacer.git.secretfiles import read_secret
from gitplacer.kinds.fleet import FleetSpec
from gitplacer.listeners.payloads import Interest, Unreadable, Watched, concerned, repo_path, said
from gitplacer.listeners.seen import Seen
from gitplacer.listeners.serving import Bounds
from gitplacer.listeners.signatures import PROVIDERS, Forged, verify
from gitplacer.passes.opening import capacity_address, deployment_address
from gitplacer.problems import nearest
from gitplacer.settings import Settings, UsageError

BOUNDS = Bounds(connections=32, seconds=10.0)
MOST_BYTES = 1 << 20
"""Of a body. A push of two thousand commits is about as long; what a host leaves out of it does not matter here."""
SHORTEST = 16
"""Characters of a secret: a shorter one can be guessed from one delivery that somebody has seen."""


class SecretFile:
    """
    A secret in a file, read again when the file is another: a mounted Secret is replaced in place. A file that cannot be used any more leaves the secret
    that it had, and is complained of once. Raises UsageError or GitError at first.
    """

    def __init__(self, option: str, path: Path, complain: Callable[[str], None]) -> None:
        self._option, self._path, self._complain = option, path, complain
        self._lock = threading.Lock()
        self._mark = self._state()
        self._secret = self._read()
        self._complained = ""

    def __call__(self) -> str:
        with self._lock:
            mark = self._state()
            if mark != self._mark:
                try:
                    self._secret = self._read()
                    self._mark, self._complained = mark, ""
                except (GitError, UsageError) as error:
                    if str(error) != self._complained:
                        self._complained = str(error)
                        self._complain(f"{error}; the secret that was there before stays in use")
            return self._secret

    def _read(self) -> str:
        secret = read_secret(self._path, self._option)
        if len(secret) < SHORTEST:
            raise UsageError(
                f"the secret in {self._path} has {len(secret)} characters",
                f"make one of {SHORTEST} or more: openssl rand -hex 32",
            )
        return secret

    def _state(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode


Secrets = Mapping[str, tuple[Callable[[], str], ...]]


def secrets(given: tuple[str, ...], complain: Callable[[str], None]) -> Secrets:
    """PROVIDER=FILE, as often as is given. Raises UsageError or GitError."""
    found: dict[str, tuple[Callable[[], str], ...]] = {}
    for each in given:
        provider, is_pair, file = each.partition("=")
        if not is_pair or not file:
            raise UsageError(
                f"--hooks-secret-file {each} names no file", "write PROVIDER=FILE, such as github=/etc/gitplacer/hook"
            )
        if provider not in PROVIDERS:
            raise UsageError(f'--hooks-secret-file: there is no provider "{provider}"', nearest(provider, PROVIDERS))
        found[provider] = (*found.get(provider, ()), SecretFile("--hooks-secret-file", Path(file), complain))
    return found


class Interests(Silent):
    """What passes read, as of the last one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.now = Interest()

    def ended(self, turn: Turn) -> None:
        if turn.hydration is not None:
            spec = turn.hydration.snapshot.source.own.fleet.spec
            known = frozenset(commit for commit in (turn.source, turn.tip) if commit)
            self.now = Interest(watched(self._settings, spec), known)


def watched(settings: Settings, spec: FleetSpec) -> tuple[Watched, ...]:
    """The repos that a pass reads, and their revisions."""
    found: dict[str, set[str | None]] = {}

    def add(address: Address | None, rev: str | None) -> None:
        if address is not None:
            path = "" if address.is_local else repo_path(address.url)
            found.setdefault(path, set()).add(rev)

    add(settings.source, settings.rev)
    add(settings.source, settings.trust_base)
    add(*capacity_address(settings, spec, trusted=True))
    for branch in {spec.deployment.branch, spec.deployment.written}:
        add(deployment_address(settings, spec, trusted=True), branch)
    return tuple(Watched(path, frozenset(revs)) for path, revs in found.items())


class Told(Struct, frozen=True):
    """Who is told: `hint` of a reason to look, and the ref; `counted` of a webhook that was answered: its provider, what became of it, seconds."""

    hint: Callable[[str, str | None], None]
    counted: Callable[[str, str, float], None]
    complain: Callable[[str], None]


class _Refused(Exception):
    """The answer to a request that is not taken: status and a word."""

    def __init__(self, status: int, word: str) -> None:
        super().__init__(word)
        self.status, self.word = status, word


def application(known: Secrets, interests: Interests, told: Told, *, wall: Callable[[], float] = time.time) -> Any:
    """The ASGI application that takes webhooks at `/hooks/<provider>`."""
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route, Router

    seen = Seen()

    async def body_of(request: Request) -> bytes:
        length = request.headers.get("content-length")
        if length is not None and (not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES):
            raise _Refused(413, "too long")
        whole = bytearray()
        async for piece in request.stream():
            whole += piece
            if len(whole) > MOST_BYTES:
                raise _Refused(413, "too long")
        return bytes(whole)

    def followed(provider: str, headers: Mapping[str, str], body: bytes) -> str:
        """What becomes of a delivery. Raises Forged and _Refused."""
        verified = verify(provider, headers, body, [secret() for secret in known[provider]], wall())
        if not seen.is_new(provider, verified.marks):
            return "seen"
        try:
            branch = concerned(said(body), interests.now)
        except Unreadable:
            raise _Refused(400, "no JSON object") from None
        if branch is None:
            return "ignored"
        told.hint(f"webhook from {provider}", branch.ref or None)
        return "followed"

    async def hook(request: Request) -> Any:
        began, provider, result = time.monotonic(), request.path_params["provider"], "refused"
        if provider not in known:
            return PlainTextResponse("not found\n", 404)
        try:
            if request.method != "POST":
                return PlainTextResponse("only POST\n", 405, headers={"Allow": "POST"})
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                raise _Refused(415, "only application/json")
            if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
                raise _Refused(415, "not compressed")
            body = await body_of(request)
            headers = {name.lower(): value for name, value in request.headers.items()}
            result = await run_in_threadpool(followed, provider, headers, body)
            return PlainTextResponse("accepted\n", 202)
        except Forged:
            return PlainTextResponse("not signed by anybody known here\n", 401)
        except _Refused as refused:
            # The rest of the body is not read, so nothing else can follow on this connection.
            return PlainTextResponse(f"{refused.word}\n", refused.status, headers={"Connection": "close"})
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        except Exception as error:
            told.complain(f"a webhook could not be looked at: {type(error).__name__}")
            return PlainTextResponse("internal error\n", 500)
        finally:
            told.counted(provider, result, time.monotonic() - began)

    every = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
    return Router([Route("/hooks/{provider}", hook, methods=every)], redirect_slashes=False)
