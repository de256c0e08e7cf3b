"""
Which host, which repository, and with what right: from flags and the environment, and from nowhere else.

A token is read from the environment or by way of a credentials file: what stands on a command line can be read by everybody on the
machine. It goes to one address, which is encrypted or on this machine, and into no message.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

from msgspec import Struct

from gitplacer.git.address import is_loopback
from gitplacer.git.credentials import Credentials
from gitplacer.plaintext import printable
from gitplacer.problems import nearest
from gitplacer.redactor import hide
from gitplacer.settings import UsageError

TOKEN_VARIABLE = "GITPLACER_HOST_TOKEN"
URL_VARIABLE = "GITPLACER_HOST_URL"


class _Names(Struct, frozen=True):
    """How a host and its CI name things: environment variables for the API's address and tokens, and how repositories are spelt."""

    api: str
    url: str
    tokens: tuple[str, ...]
    repo: str
    spelt: str


_HOSTS: Mapping[str, _Names] = MappingProxyType(
    {
        "github": _Names(
            "https://api.github.com", "GITHUB_API_URL", ("GITHUB_TOKEN",), r"[\w.-]+/[\w.-]+", "OWNER/NAME"
        ),
        "gitlab": _Names(
            "https://gitlab.com/api/v4",
            "CI_API_V4_URL",
            ("GITLAB_TOKEN",),
            r"[\w.-]+(?:/[\w.-]+)+",
            "GROUP/NAME, as in its address",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A repository on a host, the address of the host's API, and the token for it, which is never shown."""

    host: str
    repo: str
    url: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        hide(self.token, TOKEN_VARIABLE)


def access(
    host: str, repo: str, environment: Mapping[str, str] = os.environ, credentials: Credentials | None = None
) -> Access:
    """
    What `credentials` have for the API about the repository counts before the environment. Raises UsageError for what cannot be used,
    and where there is no token, and GitError where a credential cannot be used.
    """
    names = _HOSTS.get(host)
    if names is None:
        raise UsageError(f'there is no host "{printable(host)}"', nearest(host, _HOSTS))
    if not re.fullmatch(names.repo, repo, re.ASCII) or any(part.strip(".") == "" for part in repo.split("/")):
        raise UsageError(f'"{printable(repo)}" is no repository of {host}', f"write it as {names.spelt}")
    url = environment.get(URL_VARIABLE) or environment.get(names.url) or names.api
    url = _checked(url)
    token = credentials.api_token(f"{_web(url)}/{repo}") if credentials is not None else None
    token = token or _token(names, environment)
    return Access(host=host, repo=repo, url=url, token=token)


def _web(api: str) -> str:
    """The address below which a host's repositories are, given that of its API."""
    if api == _HOSTS["github"].api:
        return "https://github.com"
    return re.sub(r"/api/v\d+$", "", api)


def _token(names: _Names, environment: Mapping[str, str]) -> str:
    for name in (TOKEN_VARIABLE, *names.tokens):
        token = environment.get(name, "").strip()
        if token:
            if not re.fullmatch(r"[\x21-\x7e]+", token):
                raise UsageError(f"{name} holds characters that no token has", "set it to the token and nothing else")
            return token
    known = " or ".join((TOKEN_VARIABLE, *names.tokens))
    if environment.get("CI_JOB_TOKEN") and "GITLAB_TOKEN" in names.tokens:
        hint = (
            "GitLab's CI_JOB_TOKEN may not write comments or statuses; "
            f"make a project access token with the scope api and put it into {known}"
        )
    else:
        hint = f"set {known}"
    raise UsageError("there is no token for the host", hint)


def _checked(url: str) -> str:
    """An address that a token may go to."""
    hint = f"set {URL_VARIABLE} like https://git.example.com/api/v4"
    try:
        parts = urlsplit(url)
        where = printable(f"{parts.scheme}://{parts.hostname or ''}{parts.path}")
        _ = parts.port
    except ValueError:  # which may quote a password
        raise UsageError("the host or the port in the address of the API is none", hint) from None
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{where} is no address of an API", hint)
    if parts.username or parts.password:
        raise UsageError(
            f"{where} carries a user name or password", f"leave it out; the token goes to {TOKEN_VARIABLE}"
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(f"{where} is not encrypted; http:// is allowed to this machine only", "use https://")
    return url.rstrip("/")
