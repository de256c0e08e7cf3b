"""
Where a repository is: a local path, or a URL that is safe to give to git.

Git understands addresses that run programs (`ext::`), open file descriptors, or look like options. Only four kinds
are let through here: a local directory, `https://`, ssh in both spellings, and `http://` to this very machine.
Passwords never stand in an address, because addresses end up in logs, process lists and committed files. Nor do user names in one of
https: many hosts take a token there.
"""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from gitplacer.git.login import Logins, Right
from gitplacer.git.nearpath import near_path
from gitplacer.git.program import Git, GitError
from gitplacer.redactor import redact

_HOST = r"(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])"
_USER = r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._+-]*)@)?"
_URL = re.compile(rf"(?P<scheme>https|ssh|http)://{_USER}{_HOST}(?::(?P<port>[0-9]{{1,5}}))?(?P<path>/[^?#]*)")
_SCP = re.compile(rf"{_USER}{_HOST}:(?P<path>[^:/-][^:]*|/[^:]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NOT_IN_PART = re.compile(r"[/\\\x00-\x1f\x7f]")
_PORTS = {"https": "443", "ssh": "22", "http": "80"}

ACCEPTED = "give a local directory, https://host/path, ssh://user@host/path or user@host:path"


@dataclass(frozen=True, slots=True)
class Address:
    """
    A repository that git can be pointed at.

    `url` is what git is given: for a local repository the absolute path of its git directory. `protocol` is `file`,
    `https`, `ssh` or `http`. For a local path `work_tree` is the root of the work tree (None: bare, or in no
    repository), `git_dir` is None when the directory is in no repository, and `folder` is where in the repository the
    path points ('' is the root). `logins` know what lets git in; without them, it is what git finds by itself.
    """

    url: str
    protocol: str
    git_dir: Path | None = None
    work_tree: Path | None = None
    folder: str = ""
    path: Path | None = None
    logins: Logins | None = field(default=None, repr=False, compare=False)

    @staticmethod
    def parse(text: str, *, base_dir: Path, logins: Logins | None = None) -> Address:
        """
        The address that `text` spells; local paths are relative to `base_dir`.
        Raises GitError (BadAddress, NoSuchDirectory) for what is refused.
        """
        if not text or _CONTROL.search(text):
            raise _refused("a repository address cannot be empty or contain control characters")
        if text.startswith("-"):
            raise _refused(f"{text!r} looks like an option, not like a repository")
        if re.match(r"[A-Za-z0-9+.-]+::", text):
            raise _refused(f"{text.split('::')[0]}:: addresses run programs and are not allowed")
        if "://" in text and not text.startswith(("/", ".")):
            return _of_url(text, logins)
        if re.match(r"[^/@]+:[^/]*@", text):
            raise _refused("an ssh address cannot carry a password", "use a key, and user@host:path")
        scp = _SCP.fullmatch(text)
        if scp and not (base_dir / text).exists():
            return Address(text, "ssh", logins=logins)
        return _of_path(base_dir / text, text)

    @property
    def is_local(self) -> bool:
        return self.protocol == "file"

    def git(self, git_dir: Path, right: Right = Right.READ) -> Git:
        """How to run git on one repository while it talks to this one. Raises GitError where nothing would let it in."""
        login = self.logins.login(self, right) if self.logins is not None and not self.is_local else None
        return Git(git_dir, protocol=self.protocol, login=login)

    @property
    def redacted(self) -> str:
        """The spelling for messages."""
        return redact(str(self.path) if self.path else self.url)

    @property
    def normalised(self) -> str:
        """
        One spelling for one repository: `https://host/a/b.git`, `ssh://git@host/a/b` and `git@host:a/b` are equal, and
        so are two paths into one clone. For comparing only: it is no address.
        """
        if self.git_dir:
            return str(_shared(self.git_dir))
        if self.path:
            return str(self.path.resolve())
        found = _URL.fullmatch(self.url)
        if found:
            host, port, path = found["host"], found["port"], urllib.parse.unquote(found["path"])
            host = host if port in (None, _PORTS[found["scheme"]]) else f"{host}:{port}"
        else:
            scp = _SCP.fullmatch(self.url)
            assert scp
            host, path = scp["host"], scp["path"]
        path = re.sub(r"/+", "/", path).strip("/").removeprefix("~/").removesuffix(".git")
        return f"{host.lower()}/{path}"


def _of_url(text: str, logins: Logins | None) -> Address:
    scheme = text.split("://")[0].lower()
    if scheme not in _PORTS:
        raise _refused(f"{scheme}:// addresses are not allowed")
    text = scheme + text[len(scheme) :]
    if ":" in text.split("/")[2].rpartition("@")[0]:
        raise _refused(
            f"{redact(re.split('[?#]', text)[0])} carries a password",
            "leave it out: git asks the program named by GIT_ASKPASS, or reads ~/.netrc; for ssh use a key",
        )
    if scheme != "ssh" and "@" in text.split("/")[2]:
        raise _refused(
            f"{redact(re.split('[?#]', text)[0])} carries a user name, which could be a token",
            "leave it out: a credentials file takes a username, ~/.netrc a login, and the program named by GIT_ASKPASS is asked for it",
        )
    if "?" in text or "#" in text:
        raise _refused(
            f"an address of a repository ends with its path, without ? or #: {redact(re.split('[?#]', text)[0])}"
        )
    found = _URL.fullmatch(text)
    if not found:
        raise _refused(f"{redact(text)} is no address of a repository")
    if scheme == "http" and not is_loopback(found["host"]):
        raise _refused(f"{redact(text)} is not encrypted; http:// is allowed to this machine only", "use https://")
    return Address(text, scheme, logins=logins)


class Parts(Struct, frozen=True):
    """A URL taken apart. `user` is '' where none is said; `host` has its port unless that is the usual one."""

    protocol: str
    user: str
    host: str
    path: tuple[str, ...]


def parts_of(url: str) -> Parts | None:
    """
    What a URL is made of; None where server and path cannot be told for certain, such as with `..` in it: client and server would have
    to agree on what that means.
    """
    found = _URL.fullmatch(url) if "://" in url else _SCP.fullmatch(url)
    if found is None:
        return None
    scheme = found.groupdict().get("scheme", "ssh")
    port = found.groupdict().get("port")
    host = found["host"].lower() + (f":{port}" if port not in (None, _PORTS[scheme]) else "")
    path = tuple(urllib.parse.unquote(part) for part in found["path"].strip("/").split("/") if found["path"].strip("/"))
    if any(part in ("", ".", "..") or _NOT_IN_PART.search(part) for part in path):
        return None
    return Parts(scheme, found["user"] or "", host, path)


def _of_path(path: Path, text: str) -> Address:
    if path.exists() and not path.is_dir():
        raise GitError(f"{text} is no directory", "NoSuchDirectory", f"give the one that it is in: {path.parent}")
    if not path.is_dir():
        raise GitError(f"there is no directory {text}", "NoSuchDirectory", near_path(path) or ACCEPTED)
    path = path.resolve()
    if _is_git_dir(path):
        return Address(str(path), "file", git_dir=path, path=path)
    for root in (path, *path.parents):
        git_dir = _git_dir_of(root)
        if git_dir:
            folder = path.relative_to(root).as_posix()
            return Address(str(_shared(git_dir)), "file", git_dir, root, "" if folder == "." else folder, path)
        if (root / ".git").is_file():  # of a repository that is not here: git looks no further either
            break
    return Address(str(path), "file", path=path)


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and (
        ((path / "objects").is_dir() and (path / "refs").is_dir()) or (path / "commondir").is_file()
    )


def _git_dir_of(root: Path) -> Path | None:
    """The git directory of a work tree; a linked work tree and a submodule name theirs in a file."""
    dot_git = root / ".git"
    try:
        if dot_git.is_file():
            dot_git = root / dot_git.read_text("utf-8").removeprefix("gitdir:").strip()
        return dot_git.resolve() if _is_git_dir(dot_git) else None
    except (OSError, ValueError):
        return None


def led_nowhere(path: Path) -> Path | None:
    """Where the file `.git` of a work tree that a path is in leads to, if there is no repository there."""
    named = next((root / ".git" for root in (path, *path.parents) if (root / ".git").exists()), None)
    if named is None or not named.is_file() or _git_dir_of(named.parent) is not None:
        return None
    try:
        return (named.parent / named.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
    except (OSError, ValueError):
        return named


def _shared(git_dir: Path) -> Path:
    """Where the refs and objects are: several linked work trees have one such place."""
    try:
        return (git_dir / (git_dir / "commondir").read_text("utf-8").strip()).resolve()
    except (OSError, ValueError):
        return git_dir.resolve()


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _refused(message: str, hint: str = ACCEPTED) -> GitError:
    return GitError(message, "BadAddress", hint)
