"""
The credentials file: what lets us in where, for reading, for writing, and for a host's API.

The file holds no secret, only the places of secrets, which are read each time they are used; so a Secret that is renewed is used at
once. A credential is bound to the beginning of an address: protocol, host and the first parts of the path. The longest one counts,
and what is for reading is never used to write, nor the other way round. Once there is such a file, nothing else lets us in: no agent's
other keys, no ~/.netrc.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from msgspec import Struct
from pydantic import Field, model_validator

from gitplacer.documents import Document
from gitplacer.git.address import Parts, is_loopback, parts_of
from gitplacer.git.apptokens import App, token_of
from gitplacer.git.login import HttpsLogin, Login, Place, Right, SshLogin
from gitplacer.git.program import GitError
from gitplacer.git.secretfiles import UnusableSecret, private_file, read_private, read_secret
from gitplacer.kinds.fields import Integer, Matching, Model, OwnKind
from gitplacer.kinds.parse import parsed_as
from gitplacer.plaintext import pasted, printable
from gitplacer.problems import Problem, Rejected
from gitplacer.source.files import documents_in

VARIABLE = "GITPLACER_CREDENTIALS"
_TOKEN_USER = "x-access-token"
"""The user name that GitHub wants beside a token; GitLab, Gitea and Forgejo take any."""

FilePlace = Annotated[
    str,
    Matching(r"^[^\x00-\x1f\x7f\"%$]+$", 'must be the path of a file, without ", % and $'),
]
Prefix = Annotated[
    str,
    Matching(
        r"^(https://|http://|ssh://|[A-Za-z0-9][A-Za-z0-9._-]*@)[^\s\x00-\x1f]+$",
        "must be the beginning of an address, such as https://github.com/my-org/ or ssh://git@github.com/my-org/",
    ),
]


class GitHubApp(Model):
    """A GitHub App that is installed where the repositories are. Its tokens last an hour, and are renewed before that."""

    app_id: Annotated[Integer, Field(ge=1)]
    """The number of the app, on its settings page."""
    installation_id: Annotated[Integer, Field(ge=1)]
    """The number of its installation: the last part of the address of the installation's page."""
    private_key_file: FilePlace
    """The private key that GitHub made for the app (PEM)."""
    api_url: (
        Annotated[str, Matching(r"^https?://[^\s?#@]+$", "must be an address such as https://git.example.com/api/v3")]
        | None
    ) = None
    """The address of the API. Absent: https://api.github.com, or /api/v3 of the server."""


_WAYS = ("token_file", "password_file", "ssh_key_file", "github_app")


class Credential(Model):
    """What lets us in where an address begins so. Exactly one of `tokenFile`, `passwordFile`, `sshKeyFile` and `githubApp`."""

    url: Prefix
    """Where: protocol, host, and the first parts of the path, whole. Of several, the longest counts."""
    access: Annotated[tuple[Literal["read", "write", "api"], ...], Field(min_length=1)] = ("read",)
    """For what: `read` for fetching, `write` for pushing, `api` for pull requests, comments and statuses."""
    token_file: FilePlace | None = None
    """A file with a token."""
    username: Annotated[str, Matching(r"^[^\s:\x00-\x1f]+$", "must be a user name")] | None = None
    """The user name beside the token or the password. Absent beside a token: `x-access-token`, which GitHub wants."""
    username_file: FilePlace | None = None
    """A file with the user name, instead."""
    password_file: FilePlace | None = None
    """A file with a password."""
    ca_file: FilePlace | None = None
    """A file with the certificates of authorities that vouch for the server. Absent: those that the system knows."""
    ssh_key_file: FilePlace | None = None
    """A file with a private key, such as a deploy key."""
    known_hosts_file: FilePlace | None = None
    """A file with the server's public keys, as `ssh-keyscan` prints them. No other key is taken for the server's."""
    github_app: GitHubApp | None = None
    """A GitHub App."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        ways = [way for way in _WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            raise ValueError("needs exactly one of tokenFile, passwordFile, sshKeyFile and githubApp")
        parts = _prefix(self.url)
        if parts is None:
            raise ValueError("has a url that could mean several places: leave out empty parts, . and ..")
        if (parts.protocol == "ssh") is (self.ssh_key_file is None):
            raise ValueError("needs sshKeyFile for an ssh address, and one of the others for https")
        if parts.protocol == "http" and not is_loopback(urlsplit(self.url).hostname or ""):
            raise ValueError("would send a secret unencrypted: use https://")
        if parts.protocol != "ssh" and parts.user:
            raise ValueError("has a user name in its url: give it as username")
        if (self.ssh_key_file is None) is not (self.known_hosts_file is None):
            raise ValueError("needs knownHostsFile with sshKeyFile, and only there")
        if self.ssh_key_file is not None and ("api" in self.access or self.ca_file is not None):
            raise ValueError("has what is for https only: access api, or caFile")
        named = (self.username is not None) + (self.username_file is not None)
        if (
            named > 1
            or (self.password_file is not None and not named)
            or (named and (self.ssh_key_file or self.github_app))
        ):
            raise ValueError(
                "needs username or usernameFile with passwordFile, may have one with tokenFile, and nowhere else"
            )
        if self.password_file is not None and "api" in self.access:
            raise ValueError("has access api, for which a host wants a token")
        return self


class CredentialsFile(OwnKind):
    """The file that --credentials names."""

    kind: Literal["Credentials"]
    credentials: tuple[Credential, ...]
    """What lets us in, in any order."""


class NoCredential(GitError):
    """Nothing in the credentials file lets us in."""

    kind = "NoCredential"


class Credentials(Struct, frozen=True):
    """The entries of a credentials file; `name` is how it was called, and its paths are relative to `folder`."""

    name: str
    folder: Path
    entries: Sequence[Credential]

    @staticmethod
    def read(path: Path) -> Credentials:
        """Raises GitError for a file that cannot be read or trusted, and Rejected with everything that is wrong in it."""
        name = printable(str(path), 200)
        try:
            data = path.read_bytes()
            found = path.stat()
        except OSError as error:
            raise GitError(f"cannot read {name}: {error.strerror}", "UnusableSecret", "check the path") from None
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise GitError(f"other users can write {name}", "ExposedSecret", f"chmod go-w {pasted(path)}")
        documents, problems = documents_in(str(path), data)
        entries: list[Credential] = []
        for number, document in enumerate(documents):
            parsed = parsed_as(document, CredentialsFile)
            if isinstance(parsed, CredentialsFile) and number == 0:
                entries += parsed.credentials
                problems += _clashes(document, parsed.credentials)
            elif isinstance(parsed, list):
                problems += parsed
            else:
                problems.append(document.problem("InvalidValue", "there is a second document", "leave one"))
        if not documents and not problems:
            raise GitError(f"{name} is empty", "UnusableSecret", "docs/credentials.md shows what stands in it")
        if problems:
            raise Rejected(problems)
        return Credentials(name, path.absolute().parent, tuple(entries))

    def login(self, address: Place, right: Right) -> Login:
        """What lets git in at an address; for reading over https, nobody in particular. Raises NoCredential, GitError."""
        parts = parts_of(address.url)
        entry = self._entry(parts, right) if parts is not None else None
        if entry is None:
            if right is Right.READ and address.protocol != "ssh":
                return HttpsLogin()
            raise self._none(address.redacted, right)
        if entry.ssh_key_file is not None:
            assert entry.known_hosts_file is not None
            return SshLogin(
                key=private_file(self._place(entry.ssh_key_file), "ssh key"),
                known_hosts=self._place(entry.known_hosts_file),
            )
        assert parts is not None
        username, password = self._words(entry, right)
        return HttpsLogin(
            protocol=parts.protocol,
            host=urlsplit(address.url).netloc.rpartition("@")[2],
            path="/".join(parts.path),
            username=username,
            password=password,
            ca=self._place(entry.ca_file) if entry.ca_file is not None else None,
        )

    def api_token(self, url: str) -> str | None:
        """The token for a host's API about the repository at an address; None where there is none."""
        parts = parts_of(url)
        entry = self._entry(parts, Right.API) if parts is not None else None
        return self._words(entry, Right.API)[1] if entry is not None else None

    def _entry(self, parts: Parts | None, right: Right) -> Credential | None:
        fitting = [
            (len(prefix.path), entry)
            for entry in self.entries
            if right in entry.access and (prefix := _prefix(entry.url)) is not None and _begins(parts, prefix)
        ]
        return max(fitting, key=lambda found: found[0])[1] if fitting else None

    def _words(self, entry: Credential, right: Right) -> tuple[str, str]:
        """The user name and the password, or what stands for one."""
        if entry.github_app is not None:
            app = entry.github_app
            parts = _prefix(entry.url)
            assert parts is not None
            own = "https://api.github.com" if parts.host == "github.com" else f"{parts.protocol}://{parts.host}/api/v3"
            return _TOKEN_USER, token_of(
                App(
                    app_id=app.app_id,
                    installation_id=app.installation_id,
                    private_key=self._place(app.private_key_file),
                    api_url=app.api_url or own,
                    ca=self._place(entry.ca_file) if entry.ca_file is not None else None,
                ),
                right,
            )
        name = entry.username or _TOKEN_USER
        if entry.username_file is not None:
            name = _name_in(self._place(entry.username_file))
        if entry.token_file is not None:
            return name, read_secret(self._place(entry.token_file), "token")
        assert entry.password_file is not None
        return name, read_secret(self._place(entry.password_file), "password")

    def _place(self, path: str) -> Path:
        return self.folder / path

    def _none(self, where: str, right: Right) -> NoCredential:
        doing = "pushing to" if right is Right.WRITE else "reading"
        return NoCredential(
            f"{self.name} has nothing for {doing} {where}",
            hint=f"add an entry whose url it begins with, and whose access has {right}",
        )


def _prefix(url: str) -> Parts | None:
    """The beginning of addresses; a host alone is one, too."""
    return parts_of(url) or parts_of(f"{url}/")


def _clashes(document: Document, entries: Sequence[Credential]) -> list[Problem]:
    """Entries of which nobody could say which one counts."""
    known: dict[tuple[Parts | None, str], int] = {}
    problems = []
    for number, entry in enumerate(entries):
        for right in entry.access:
            first = known.setdefault((_prefix(entry.url), right), number)
            if first != number:
                said = f"entries {first + 1} and {number + 1} are for the same address and both have access {right}"
                problems.append(
                    document.problem("InvalidValue", said, "leave one", path=("credentials", number, "url"))
                )
    return problems


def _name_in(path: Path) -> str:
    name = read_private(path, "user name").strip()
    if not name or not name.isprintable() or ":" in name:
        raise UnusableSecret(f"user name {printable(str(path), 200)} is not one line without a colon")
    return name


def _begins(parts: Parts | None, prefix: Parts) -> bool:
    return (
        parts is not None
        and (parts.protocol, parts.host) == (prefix.protocol, prefix.host)
        and (not prefix.user or prefix.user == parts.user)
        and parts.path[: len(prefix.path)] == prefix.path
    )
