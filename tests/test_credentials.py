"""The credentials file: what lets us in where, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import http.server
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.git import credentialhelper, program
from gitplacer.git.address import Address, parts_of
from gitplacer.git.credentials import Credentials, NoCredential
from gitplacer.git.login import HttpsLogin, Right, SshLogin
from gitplacer.git.program import NO_REPOSITORY, GitError
from gitplacer.git.secretfiles import ExposedSecret, UnusableSecret
from gitplacer.problems import Rejected
from tests.commands import run, run_apart
from tests.gitservers import SSHD, git, https_server, ssh_server
from tests.test_reconcile import made

HEAD = "apiVersion: gitplacer.dev/v1alpha1\nkind: Credentials\ncredentials:\n"


def secret(folder: Path, name: str, text: str, mode: int = 0o600) -> Path:
    (folder / name).write_text(text)
    (folder / name).chmod(mode)
    return folder / name


def written(folder: Path, *entries: str) -> Path:
    """A credentials file of entries, each on a line."""
    (folder / "credentials.yaml").write_text(HEAD + "".join(f"- {{{entry}}}\n" for entry in entries))
    (folder / "credentials.yaml").chmod(0o600)
    return folder / "credentials.yaml"


def tokens(folder: Path, *urls: str) -> Credentials:
    """A file in which each entry's token names its number and access."""
    entries = []
    for number, line in enumerate(urls):
        url, _, access = line.partition(" ")
        secret(folder, f"t{number}", f"token-{number}-{access or 'read'}")
        entries.append(f"url: '{url}', access: [{access or 'read'}], tokenFile: t{number}")
    return Credentials.read(written(folder, *entries))


def password(credentials: Credentials, url: str, right: Right = Right.READ) -> str:
    address = Address.parse(url, base_dir=Path("/"), logins=credentials)
    login = credentials.login(address, right)
    assert isinstance(login, HttpsLogin)
    return login.password


# which entry counts


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("https://github.com/acme/fleet", 1),
        ("https://GitHub.com:443/acme/fleet.git", 1),
        ("https://me@github.com/acme/fleet", 1),
        ("https://github.com/acme/fleet/more", 1),
        ("https://github.com/acme/deployment.git", 2),
        ("https://github.com/acme/deployment.git/", 2),
        ("https://github.com/acme/deploymen%74.git", 2),
        ("https://github.com/acme/deployment.git2", 1),
        ("https://github.com/acme2/fleet", 0),
        ("https://github.com/ACME/fleet", 0),
        ("https://github.com/", 0),
        ("https://github.com:8443/acme/fleet", None),
        ("https://github.com.evil.example/acme/fleet", None),
        ("https://evil.example/github.com/acme/fleet", None),
        ("https://github.com/acme/../mallory/fleet", None),
        ("https://github.com/acme/%2e%2e/mallory/fleet", None),
        ("https://github.com/acme%2F..%2Fmallory/fleet", None),
        ("https://github.com/acme//deployment.git", None),
        ("https://github.com/acme/deployment.git%0Apath=x", None),
        ("http://localhost/acme/fleet", None),
    ],
)
def test_the_longest_beginning_counts_and_whole_parts_only(url: str, number: int | None, tmp_path: Path) -> None:
    known = tokens(tmp_path, "https://github.com", "https://github.com/acme/", "https://github.com/acme/deployment.git")
    assert password(known, url) == ("" if number is None else f"token-{number}-read")


def test_reading_writing_and_the_api_have_credentials_of_their_own(tmp_path: Path) -> None:
    known = tokens(
        tmp_path,
        "https://h.example/a read",
        "https://h.example/a write",
        "https://h.example/a/api api",
        "https://h.example/a/deep read, write",
    )
    assert password(known, "https://h.example/a/x") == "token-0-read"
    assert password(known, "https://h.example/a/x", Right.WRITE) == "token-1-write"
    assert password(known, "https://h.example/a/deep/x", Right.WRITE) == "token-3-read, write"
    assert known.api_token("https://h.example/a/x") is None
    assert known.api_token("https://h.example/a/api/x") == "token-2-api"
    with pytest.raises(NoCredential) as error:
        password(known, "https://h.example/b/x", Right.WRITE)
    assert str(error.value) == f"{tmp_path}/credentials.yaml has nothing for pushing to https://h.example/b/x"
    assert error.value.hint == "add an entry whose url it begins with, and whose access has write"


def test_over_ssh_both_spellings_of_an_address_are_one_and_nobody_gets_in_without_an_entry(tmp_path: Path) -> None:
    key, hosts = secret(tmp_path, "key", "a key"), secret(tmp_path, "known hosts", "a host", 0o644)
    file = written(
        tmp_path, "url: 'git@h.example:acme', sshKeyFile: key, knownHostsFile: known hosts, access: [read, write]"
    )
    known = Credentials.read(file)
    for url in ("git@h.example:acme/fleet.git", "ssh://git@h.example/acme/fleet.git", "ssh://git@H.example:22/acme/x"):
        login = known.login(Address.parse(url, base_dir=Path("/")), Right.WRITE)
        assert login == SshLogin(key=key, known_hosts=hosts)
    for url in ("me@h.example:acme/fleet", "git@h.example:other/fleet", "ssh://git@h.example:2222/acme/fleet"):
        with pytest.raises(NoCredential):
            known.login(Address.parse(url, base_dir=Path("/")), Right.READ)


SEGMENT = st.sampled_from(["a", "b", "ab", "A", ".", "..", "", "%2e%2e", "a%2fb", "a%20b", "%61"])


@given(prefix=st.lists(SEGMENT, max_size=3), path=st.lists(SEGMENT, max_size=4))
def test_no_spelling_of_a_path_leads_out_of_what_a_credential_is_bound_to(prefix: list[str], path: list[str]) -> None:
    """Whatever of `.`, `..` and escapes a server resolves, it ends up below the prefix."""
    bound, asked = (parts_of(f"https://h.example/{'/'.join(parts)}") for parts in (prefix, path))
    if bound is None or asked is None or asked.path[: len(bound.path)] != bound.path:
        return
    plain = "/".join(path).replace("%2e", ".").replace("%61", "a").replace("%20", " ").replace("%2f", "/").strip("/")
    resolved = [part for part in os.path.normpath(f"/{plain}").split("/") if part]
    assert tuple(resolved[: len(bound.path)]) == bound.path


# the file


@pytest.mark.parametrize(
    ("entry", "column", "message"),
    [
        ("url: 'https://h/'", 3, "needs exactly one of tokenFile, passwordFile, sshKeyFile and githubApp"),
        ("url: 'https://h/', tokenFile: t, passwordFile: p", 3, "needs exactly one of"),
        ("url: 'http://h.example/', tokenFile: t", 3, "would send a secret unencrypted: use https://"),
        ("url: 'https://me:word@h.example/', tokenFile: t", 3, "has a url that could mean several places"),
        ("url: 'https://me@h.example/', tokenFile: t", 3, "has a user name in its url"),
        ("url: 'https://h.example/a/../b', tokenFile: t", 3, "has a url that could mean several places"),
        ("url: 'ftp://h.example/', tokenFile: t", 4, "must be the beginning of an address"),
        ("url: 'ssh://git@h.example/', tokenFile: t", 3, "needs sshKeyFile for an ssh address"),
        ("url: 'https://h.example/', sshKeyFile: k, knownHostsFile: h", 3, "needs sshKeyFile for an ssh address"),
        ("url: 'ssh://git@h.example/', sshKeyFile: k", 3, "needs knownHostsFile with sshKeyFile, and only there"),
        ("url: 'ssh://h.example/', sshKeyFile: k, knownHostsFile: h, access: [api]", 3, "for https only"),
        ("url: 'https://h.example/', passwordFile: p", 3, "needs username or usernameFile with passwordFile"),
        ("url: 'https://h.example/', passwordFile: p, username: u, usernameFile: f", 3, "needs username or"),
        ("url: 'https://h.example/', passwordFile: p, username: u, access: [api]", 3, "for which a host wants a token"),
        ("url: 'https://h.example/', tokenFile: t, access: []", 4, "access"),
        ("url: 'https://h.example/', tokenFile: t, access: [all]", 4, "access"),
        ("url: 'https://h.example/', token: abc", 4, 'unknown field "token"'),
        ("url: 'https://h.example/', tokenFile: \"a\\\"b\"", 4, "must be the path of a file"),
        ("url: 'https://h.example/', githubApp: {appId: 1, installationId: 2}", 4, "privateKeyFile"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_entry_is_said_with_its_place(
    entry: str, column: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(Rejected) as error:
        Credentials.read(written(tmp_path, entry))
    (problem, *_) = error.value.problems
    assert problem.location.file == f"{tmp_path}/credentials.yaml"
    assert problem.location.line == 4
    assert message in problem.message


def test_two_entries_for_one_thing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected) as error:
        tokens(tmp_path, "https://h.example/a read, write", "https://H.example:443/a/ write")
    assert [problem.message for problem in error.value.problems] == [
        "entries 1 and 2 are for the same address and both have access write"
    ]


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="No such file"):
        Credentials.read(tmp_path / "none.yaml")
    (tmp_path / "empty.yaml").touch()
    with pytest.raises(GitError, match="is empty"):
        Credentials.read(tmp_path / "empty.yaml")
    file = written(tmp_path)
    none = HEAD.replace("credentials:", "credentials: []")
    file.write_text(f"{none}---\n{none}")
    with pytest.raises(Rejected) as error:
        Credentials.read(file)
    assert "second document" in error.value.problems[0].message
    file.write_text(none.replace("Credentials", "Fleet"))
    with pytest.raises(Rejected):
        Credentials.read(file)
    file.chmod(0o620)
    with pytest.raises(GitError, match="other users can write") as exposed:
        Credentials.read(file)
    assert exposed.value.hint == f"chmod go-w {file}"


@pytest.mark.parametrize(
    ("text", "mode", "error"),
    [
        ("long-enough\n", 0o600, None),
        ("long-enough", 0o400, None),
        ("long-enough", 0o640, ExposedSecret),
        ("long-enough", 0o604, ExposedSecret),
        ("short", 0o600, UnusableSecret),
        ("", 0o600, UnusableSecret),
        ("two long\nlines of it", 0o600, UnusableSecret),
        ("x" * 70_000, 0o600, UnusableSecret),
        ("\udcff" * 9, 0o600, UnusableSecret),
        (None, 0o600, UnusableSecret),
    ],
)  # fmt: skip
def test_a_secret_is_one_line_that_nobody_else_can_read(
    text: str | None, mode: int, error: type[GitError] | None, tmp_path: Path
) -> None:
    known = Credentials.read(written(tmp_path, "url: 'https://h.example/', tokenFile: t"))
    if text is not None:
        (tmp_path / "t").write_bytes(text.encode("utf-8", "surrogateescape"))
        (tmp_path / "t").chmod(mode)
    if error is None:
        assert password(known, "https://h.example/x") == "long-enough"
        assert program.redact("it said long-enough, no?") == "it said ***, no?"
        assert "long-enough" not in repr(
            known.login(Address.parse("https://h.example/x", base_dir=tmp_path), Right.READ)
        )
        return
    with pytest.raises(error) as raised:
        password(known, "https://h.example/x")
    assert str(tmp_path / "t") in str(raised.value)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_mounted_secret_of_somebody_else_may_be_read_by_our_group(tmp_path: Path) -> None:
    known = Credentials.read(written(tmp_path, "url: 'https://h.example/', tokenFile: t"))
    os.chown(secret(tmp_path, "t", "long-enough", 0o440), 12345, os.getgid())
    assert password(known, "https://h.example/x") == "long-enough"
    (tmp_path / "t").chmod(0o444)
    with pytest.raises(ExposedSecret) as error:
        password(known, "https://h.example/x")
    assert "o=" in error.value.hint


def test_the_entries_can_be_handed_to_another_process(tmp_path: Path) -> None:
    address = Address.parse("https://h.example/x", base_dir=tmp_path, logins=tokens(tmp_path, "https://h.example/"))
    assert pickle.loads(pickle.dumps(address)).logins == address.logins


# what git is told


KNOWN = {"protocol": "https", "host": "h.example", "path": "acme/fleet.git", "username": "u", "password": "p w"}


@pytest.mark.parametrize(
    ("asked", "is_answered"),
    [
        ("protocol=https\nhost=h.example\npath=acme/fleet.git\n", True),
        ("capability[]=authtype\nprotocol=https\nhost=h.example\npath=acme/fleet.git\nwwwauth[]=Basic\n\n", True),
        ("protocol=http\nhost=h.example\npath=acme/fleet.git\n", False),
        ("protocol=https\nhost=evil.example\npath=acme/fleet.git\n", False),
        ("protocol=https\nhost=h.example:8443\npath=acme/fleet.git\n", False),
        ("protocol=https\nhost=h.example\npath=acme/other.git\n", False),
        ("protocol=https\nhost=h.example\n", False),
        ("", False),
    ],
)
def test_git_gets_an_answer_for_the_very_address_only(asked: str, is_answered: bool) -> None:
    assert credentialhelper.answer(KNOWN, asked) == ("username=u\npassword=p w\n" if is_answered else "")


def test_a_secret_stands_in_no_argument_and_no_variable() -> None:
    login = HttpsLogin(**KNOWN)
    with login.handed() as (settings, descriptors):
        assert "p w" not in repr((settings, login.environment))
        (helper,) = (s.partition("=!")[2] for s in settings if s.startswith("credential.helper"))
        for _ in range(2):  # git may ask again
            done = subprocess.run(
                f"{helper} get", shell=True, input=b"protocol=https\nhost=h.example\npath=acme/fleet.git\n",
                pass_fds=descriptors, capture_output=True, check=True,
            )  # fmt: skip
            assert done.stdout == b"username=u\npassword=p w\n"
        for operation in ("store", "erase"):
            done = subprocess.run(
                f"{helper} {operation}", shell=True, input=b"", pass_fds=descriptors, capture_output=True, check=True
            )
            assert done.stdout == b""
