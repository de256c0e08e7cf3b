"""
How git is let in by one server: what a run of git is given for that, and nothing beside.

A login is for one address. With it, git gets nothing else that could let it in: no agent's other keys, no ~/.netrc, no program that
it could ask. So what a repository or a redirect makes git do, it cannot spend a credential that was meant for something else.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec import Struct

from gitplacer.git import credentialhelper

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
"""BatchMode: a question nobody can answer (a passphrase, an unknown host key) is a failure, not a hang."""


class Right(enum.StrEnum):
    """What a credential may be used for."""

    READ = "read"
    WRITE = "write"
    API = "api"


class Login(Protocol):
    """What lets git in."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that git gets; an empty value takes one away."""
        ...

    def handed(self) -> contextlib.AbstractContextManager[tuple[list[str], tuple[int, ...]]]:
        """Settings for git, and the descriptors that it inherits, while it runs."""
        ...


# Whoever is let in by a login is let in by nothing else: curl looks for .netrc in HOME.
_ALONE = {"HOME": os.devnull, "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GIT_SSH_COMMAND": "", "SSH_AUTH_SOCK": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpsLogin:
    """
    A user name and a password for one address, `ca` being a file with the authorities that its server is trusted by. Without a password
    nobody is let in but where everybody is.
    """

    protocol: str = ""
    host: str = ""
    path: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    ca: Path | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        return {**_ALONE, **({"GIT_SSL_CAINFO": str(self.ca)} if self.ca is not None else {})}

    @contextlib.contextmanager
    def handed(self) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        if not self.password:
            yield [], ()
            return
        names = ("protocol", "host", "path", "username", "password")
        with _nameless() as file:
            file.write(json.dumps({name: getattr(self, name) for name in names}).encode())
            file.flush()
            program = [sys.executable, "-I", "-S", str(Path(credentialhelper.__file__)), str(file.fileno())]
            yield (
                ["credential.useHttpPath=true", f"credential.helper=!{shlex.join(program)}"],
                (file.fileno(),),
            )


def _nameless() -> BinaryIO:
    """A file in memory, or, where the system has none, on disk without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("gitplacer"), "w+b")
    return tempfile.TemporaryFile()


class SshLogin(Struct, frozen=True, kw_only=True):
    """A private key, and a file with the keys of the servers that may be talked to."""

    key: Path
    known_hosts: Path

    @property
    def environment(self) -> Mapping[str, str]:
        options = (
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=yes",
            f'UserKnownHostsFile="{self.known_hosts}"',
            "GlobalKnownHostsFile=none",
        )
        words = ["-F", "none", "-i", str(self.key), *(word for option in options for word in ("-o", option))]
        # The agent is left: it holds the passphrase of the key, and no other key is tried.
        alone = {name: value for name, value in _ALONE.items() if name != "SSH_AUTH_SOCK"}
        return {**alone, "GIT_SSH_COMMAND": f"{SSH} {shlex.join(words)}"}

    @contextlib.contextmanager
    def handed(self) -> Iterator[tuple[list[str], tuple[int, ...]]]:
        yield [], ()


class Logins(Protocol):
    """Whoever knows what lets git in where."""

    def login(self, address: Place, right: Right) -> Login:
        """What lets git in at an address. Raises GitError where nothing does."""
        ...


class Place(Protocol):
    """An address as logins see it."""

    @property
    def url(self) -> str: ...

    @property
    def protocol(self) -> str: ...

    @property
    def redacted(self) -> str: ...
