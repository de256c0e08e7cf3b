"""
What the command line and the environment say, made into addresses and times.

Where to connect is decided here and nowhere else: flags, then the environment, then, for passes that publish, the
Fleet on the source's default branch. Nothing in a revision under review decides it.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from gitplacer.git.address import Address
from gitplacer.git.cache import default_cache_dir
from gitplacer.git.credentials import Credentials
from gitplacer.git.newcommits import Person
from gitplacer.git.signing import SigningKey

DEPLOYMENT_VARIABLE = "GITPLACER_DEPLOYMENT"
CAPACITY_VARIABLE = "GITPLACER_CAPACITY"

CREDENTIALS_VARIABLE = "GITPLACER_CREDENTIALS"

AUTHOR = Person("gitplacer", "gitplacer@users.noreply.gitplacer.dev")
"""Who makes the commits of a pass, where nobody says otherwise."""


class UsageError(Exception):
    """A flag or variable that cannot be used; `hint` says what can."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __reduce__(self) -> tuple[type[UsageError], tuple[str, str]]:
        return UsageError, (str(self), self.hint)  # so that it is the same when it comes from another process


class Settings(Struct, frozen=True):
    """
    One invocation. `deployment` and `capacity` are None where nothing was said; `rev` None means the work tree where
    there is one and the command reads work trees, and the default branch otherwise. `trust_base` is the revision that says
    what `rev` may not, None where that is the default branch's to say. Commits of a pass are made by `author`, and signed if there is
    a `signing_key`. `credentials` let us in, None where it is left to git to find a way.
    """

    source: Address
    folder: str
    rev: str | None
    deployment: Address | None
    capacity: Address | None
    now: datetime
    cache_dir: Path
    trust_base: str | None = None
    author: Person = AUTHOR
    signing_key: SigningKey | None = None
    credentials: Credentials | None = None

    def address(self, url: str) -> Address:
        """The address that a Fleet names. Raises GitError."""
        return Address.parse(url, base_dir=Path("/"), logins=self.credentials)


def _here() -> Path:
    """The current directory. Raises UsageError where somebody has removed it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current directory is not there any more", hint="cd to one that is") from None


def settings(
    source: str, *, path: str | None = None, rev: str | None = None, deployment: str | None = None,
    capacity: str | None = None, now: str | None = None, trust_base: str | None = None,
    author: str | None = None, sign_key: str | None = None, credentials: str | None = None,
) -> Settings:  # fmt: skip
    """Settings from flags and environment. A signing key is tried. Raises UsageError or GitError."""
    here = _here()
    deployment = deployment or os.environ.get(DEPLOYMENT_VARIABLE)
    capacity = capacity or os.environ.get(CAPACITY_VARIABLE)
    logins = credentials_in(credentials)
    address = Address.parse(source, base_dir=here, logins=logins)
    return Settings(
        source=address,
        folder="/".join(part for part in (address.folder, folder_below("--path", path)) if part),
        rev=rev,
        deployment=Address.parse(deployment, base_dir=here, logins=logins) if deployment else None,
        capacity=Address.parse(capacity, base_dir=here, logins=logins) if capacity else None,
        now=_now(now),
        cache_dir=default_cache_dir(),
        trust_base=trust_base,
        author=_author(author) if author else AUTHOR,
        signing_key=_tried(SigningKey.parse(sign_key, base_dir=here)) if sign_key else None,
        credentials=logins,
    )


def _tried(key: SigningKey) -> SigningKey:
    """A key that signs; one that does not would only be noticed at the first commit, which may be days away."""
    key.sign(b"a trial")
    return key


def credentials_in(file: str | None = None) -> Credentials | None:
    """The credentials file that a flag or the environment names. Raises GitError, UsageError or Rejected."""
    file = file or os.environ.get(CREDENTIALS_VARIABLE)
    return Credentials.read(_here() / file) if file else None


def _author(text: str) -> Person:
    try:
        return Person.parse(text)
    except ValueError as error:
        raise UsageError(f"the author {error}", "give a name and a mail address") from None


def folder_below(option: str, path: str | None) -> str:
    """The directory of a repo that an option gives; '' for its top. Raises UsageError where it is none."""
    parts = [part for part in (path or "").split("/") if part not in ("", ".")]
    if ".." in parts or (path or "").startswith("/"):
        raise UsageError(f"{option} {path} leaves the repository", "give a directory below it")
    return "/".join(parts)


_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def _now(text: str | None) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) if text is None else moment("--now", text)


def moment(option: str, text: str) -> datetime:
    """The time that an option gives. Raises UsageError, also for one that git gives no commit, or beyond which no time is left."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
        known = found.astimezone(UTC).replace(microsecond=0) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        known = None
    if known is None:
        raise UsageError(f"{option} {text} is not a time", "write it like 2026-01-02T03:04:05Z")
    if not _EARLIEST <= known < _LATEST:
        raise UsageError(f"{option} {text} is a time that no commit has", "give one between the years 1970 and 9000")
    return known
