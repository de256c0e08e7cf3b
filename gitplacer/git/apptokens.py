"""
Tokens of a GitHub App: made from its private key when they are needed, and again before they end.

A token is good for an hour at most, and for no more than it is asked for: one to read cannot write. It is kept in memory and nowhere
else. PyGithub signs the request with the key and sends it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from gitplacer.deadlines import Deadline, in_pygithub
from gitplacer.git.login import Right
from gitplacer.git.program import GitError, one_line
from gitplacer.git.secretfiles import read_private
from gitplacer.redactor import hide

SPARE = 600.0
"""Seconds that a token must still be good for when it is handed out: a fetch or a push may take long."""
_TIMEOUT = 30
_LONGEST_ANSWER = 120.0
"""Seconds that a request and its answer may take together."""
_PERMISSIONS: Mapping[Right, Mapping[str, str]] = MappingProxyType(
    {Right.READ: {"contents": "read"}, Right.WRITE: {"contents": "write"}, Right.API: {}}
)
_HINTS: Mapping[int, str] = MappingProxyType(
    {
        401: "check appId, privateKeyFile, and the clock of this machine",
        403: "check that the app is not suspended",
        404: "check installationId and apiUrl: the app has no such installation there",
        422: "let the app read and write contents, and accept that on the page of the installation",
    }
)


class App(Struct, frozen=True, kw_only=True):
    """An app, one of its installations, and where its API is. `ca` are authorities that its server is trusted by."""

    app_id: int
    installation_id: int
    private_key: Path
    api_url: str
    ca: Path | None = None


class _Token(Struct, frozen=True):
    text: str
    ends: float


class AppTokens:
    """The tokens that were made and are still good. `clock` tells the time, in seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[App, Right], _Token] = {}

    def __call__(self, app: App, right: Right) -> str:
        """A token of an app that is good for some time yet. Raises GitError."""
        with self._lock:
            known = self._known.get((app, right))
            if known is None or known.ends - self._clock() < SPARE:
                known = self._known[app, right] = _made(app, right)
            return known.text


token_of = AppTokens()
"""The tokens of this process."""


def _made(app: App, right: Right) -> _Token:
    key = read_private(app.private_key, "private key")
    hide(key, str(app.private_key))
    deadline = Deadline(_LONGEST_ANSWER)
    with _asking(app, deadline):
        import github

        with in_pygithub(deadline):
            asking = github.GithubIntegration(
                auth=github.Auth.AppAuth(app.app_id, key), base_url=app.api_url.rstrip("/"), timeout=_TIMEOUT, retry=0,
                verify=str(app.ca) if app.ca is not None else True, user_agent="gitplacer",
                seconds_between_requests=None, seconds_between_writes=None,
            )  # fmt: skip
        try:
            found = asking.get_access_token(app.installation_id, permissions=dict(_PERMISSIONS[right]))
            token = _Token(found.token, found.expires_at.timestamp())
        finally:
            asking.close()
    hide(token.text, f"GitHub App {app.app_id} {app.installation_id} {right}")
    return token


@contextlib.contextmanager
def _asking(app: App, deadline: Deadline) -> Iterator[None]:
    """Raises GitError for whatever goes wrong meanwhile. What is said comes from outside."""
    what = f"cannot get a token of GitHub App {app.app_id} from {app.api_url}"
    try:
        import github
        import jwt
        import requests
    except ModuleNotFoundError as error:
        hint = "pip install 'gitplacer[hosts]'"
        raise GitError(f"{what}: the Python library {error.name} is missing", "NoToken", hint) from None
    try:
        yield
    except github.GithubException as error:
        said = error.data.get("message") if isinstance(error.data, dict) else error.message
        told = f"{what}: {one_line(str(said or 'no reason given'), 200)} ({error.status})"
        kind = "NoToken" if error.status in _HINTS else "Unreachable"
        raise GitError(told, kind, _HINTS.get(error.status, "try again later")) from None
    except (
        requests.RequestException,
        github.BadAttributeException,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
    ) as error:
        hint = "check apiUrl, the network and the proxy"
        why = str(deadline) if deadline.was_missed else type(error).__name__
        raise GitError(f"{what}: no usable answer: {why}", "Unreachable", hint) from None
    except (jwt.PyJWTError, ValueError):
        hint = "privateKeyFile is the PEM file that GitHub made for the app"
        told = f"{what}: {app.private_key} does not hold a private key that can sign"
        raise GitError(told, "NoToken", hint) from None
