"""The credentials file: what lets us in where, and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitplacer.git import credentialhelper, program
from gitplacer.git.address import Address, parts_of
from gitplacer.git.credentials import Credential, Credentials, GitHubApp, NoCredential
from gitplacer.git.login import HttpsLogin, Right, SshLogin
from gitplacer.git.program import GitError
from gitplacer.git.secretfiles import ExposedSecret, UnusableSecret
from gitplacer.problems import Rejected
from tests.commands import Ran, run
from tests.fleetrepos import Fleet, made
from tests.gitservers import SSHD, https_server, ssh_server

HEAD = "apiVersion: gitplacer.dev/v1alpha1\nkind: Credentials\ncredentials:\n"


def secret(folder: Path, name: str, text: str, mode: int = 0o600) -> Path:
    (folder / name).write_text(text)
    (folder / name).chmod(mode)
    return folder / name


def written(folder: Path, *entries: str) -> Path:
    """A credentials file of entries, each on a line."""
    head = HEAD if entries else HEAD.replace("credentials:", "credentials: []")
    (folder / "credentials.yaml").write_text(head + "".join(f"- {{{entry}}}\n" for entry in entries))
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


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.sampled_from(["", "two\n", "a\x00", "\u202e", "\x7f"]),
    text=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=8, max_size=40).map("hunter2{}".format),
    mode=st.integers(0, 0o777),
)
def test_no_secret_is_taken_from_a_file_of_others_or_with_more_than_it_nor_told(
    tmp_path: Path, before: str, text: str, mode: int
) -> None:
    mode |= 0o400
    secret(tmp_path, "t", before + text, mode)
    known = Credentials.read(written(tmp_path, "url: 'https://h.example/', tokenFile: t"))
    if not mode & 0o077 and not before:
        assert password(known, "https://h.example/x") == text
    else:
        with pytest.raises(ExposedSecret if mode & 0o077 else UnusableSecret) as refused:
            password(known, "https://h.example/x")
        assert refused.value.hint and "hunter2" not in refused.value.message + refused.value.hint
    (tmp_path / "t").unlink()


FIELDS = {
    "url",
    "access",
    "tokenFile",
    "passwordFile",
    "username",
    "usernameFile",
    "sshKeyFile",
    "knownHostsFile",
    "githubApp",
}


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from(["token", "password", "sshKey", "privateKey"])
    | st.text("tokenPasswrdFil", min_size=1).filter(lambda key: key not in FIELDS),
    entry=st.sampled_from(
        ["url: 'https://h.example/', tokenFile: t", "url: 'ssh://h.example/', sshKeyFile: k, knownHostsFile: h"]
    ),
)
def test_a_secret_where_its_file_should_be_named_is_an_unknown_field_and_not_shown(
    tmp_path: Path, key: str, entry: str
) -> None:
    with pytest.raises(Rejected) as refused:
        Credentials.read(written(tmp_path, f"{entry}, '{key}': hunter2"))
    (problem,) = refused.value.problems
    assert (problem.code, problem.location.line) == ("UnknownField", 4) and problem.hint
    assert "hunter2" not in problem.message + problem.hint


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


# with servers


READER, WRITER = "read-token-that-is-secret", "write-token+that/is=secret"


@dataclass
class Doorkeeper:
    """
    Lets in whoever has the token for what they want to do: one to read, another to write. `asked` is what was asked with which password.
    Whom it turns away it tells what they said, as no server should.
    """

    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, path: str, authorization: str) -> tuple[int, dict[str, str], bytes] | None:
        said = (
            base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[2] if authorization else ""
        )
        writes = "git-receive-pack" in path
        self.asked.append(("write" if writes else "read", said))
        if said == (WRITER if writes else READER):
            return None
        words = f"you said {authorization}, that is {said}\n".encode()
        if not said:
            return 401, {"WWW-Authenticate": 'Basic realm="here"'}, b""
        return 403, {"Content-Type": "text/plain"}, words


@dataclass
class Guarded:
    """A fleet whose deployment repo is behind a door, and a credentials file for it."""

    fleet: Fleet
    url: str
    folder: Path
    door: Doorkeeper
    capfd: pytest.CaptureFixture[str]

    def reconcile(self, *entries: str, minute: int = 5) -> Ran:
        file = written(self.folder, *entries)
        arguments = ["--credentials", file, "--now", f"2026-01-02T03:{minute:02}:00Z", "--deployment", self.url]
        ran = run(self.capfd, "reconcile", *arguments, self.fleet.source)
        self.hold_no_secret(ran)
        return ran

    def hold_no_secret(self, ran: Ran) -> None:
        spelt = [word for secret in (READER, WRITER) for word in (secret, _basic(secret))]
        said = ran.out + ran.err
        kept = b"".join(map(_bytes, (*Path(os.environ["GITPLACER_CACHE"]).rglob("*"), *self.fleet.bare.rglob("*"))))
        for word in spelt:
            assert word not in said
            assert word.encode() not in kept


def _bytes(path: Path) -> bytes:
    """What is in a file; a database's side files go when it is closed, which may be now."""
    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
        return path.read_bytes()
    return b""


def _basic(secret: str) -> str:
    return base64.b64encode(f"x-access-token:{secret}".encode()).decode()


@pytest.fixture
def guarded(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Guarded]:
    fleet = made(tmp_path)
    door = Doorkeeper()
    (tmp_path / "server").mkdir()
    secret(tmp_path, "reader", READER)
    secret(tmp_path, "writer", f"{WRITER}\n")
    # None of these may be used: they would end up at a server that they are not for.
    (tmp_path / "home").mkdir()
    secret(tmp_path / "home", ".netrc", "default login me password from-netrc\n")
    (tmp_path / "ask").write_text("#!/bin/sh\necho from-askpass\n")
    (tmp_path / "ask").chmod(0o700)
    ambient = {"HOME": str(tmp_path / "home"), "GIT_ASKPASS": str(tmp_path / "ask")}
    with https_server(fleet.bare.parent, tmp_path / "server", door) as (url, environment):
        for name, value in {**environment, **ambient}.items():
            monkeypatch.setenv(name, value)
        yield Guarded(fleet, f"{url}/deployment.git", tmp_path, door, capfd)


def entry(guarded: Guarded, access: str, file: str) -> str:
    return f"url: '{guarded.url}', access: [{access}], tokenFile: {file}, caFile: server/ca.pem"


@pytest.mark.server
def test_one_token_reads_another_writes_and_nothing_else_is_tried(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = entry(guarded, "read", "reader"), entry(guarded, "write", "writer")
    monkeypatch.delenv("GIT_SSL_CAINFO")  # the server is trusted by what the entry says
    done = guarded.reconcile(*both)
    assert (done.code, done.out.split()[0]) == (0, "Published"), done.err
    assert set(guarded.door.asked) == {("read", ""), ("read", READER), ("write", ""), ("write", WRITER)}
    assert guarded.reconcile(*both, minute=6).out.startswith("Unchanged")


@pytest.mark.server
def test_who_may_not_is_told_so_without_what_was_said(guarded: Guarded) -> None:
    reader = entry(guarded, "read", "reader")
    for entries, message, hint in (
        ([], "could not read Username", "the credentials file lets nobody in there"),
        ([entry(guarded, "read", "writer")], "error: 403", "the credentials file lets nobody in there"),
        ([entry(guarded, "write", "writer")], "could not read Username", "the credentials file lets nobody in there"),
        ([reader], "has nothing for pushing to", "access has write"),
        ([reader, entry(guarded, "write", "reader")], "no permission to push", "let this user push there"),
        ([reader, entry(guarded, "write", "missing")], "cannot read token", "check the path"),
    ):
        done = guarded.reconcile(*entries)
        assert done.code == 1
        assert message in done.err.splitlines()[0], done.err
        assert hint in done.err.splitlines()[1], done.err
        assert "Traceback" not in done.err
    assert guarded.fleet.git("for-each-ref") == ""
    assert {said for _, said in guarded.door.asked} == {"", READER, WRITER}


@pytest.mark.server
def test_a_redirect_gets_no_credential(guarded: Guarded, tmp_path: Path) -> None:
    other = Doorkeeper()
    (tmp_path / "elsewhere").mkdir()
    with https_server(guarded.fleet.bare.parent, tmp_path / "elsewhere", other) as (url, _):
        there = f"{url}/deployment.git"

        def sends_on(path: str, authorization: str) -> tuple[int, dict[str, str], bytes]:
            guarded.door(path, authorization)
            return 302, {"Location": f"{url}{path}"}, b""

        (tmp_path / "third").mkdir()
        with https_server(guarded.fleet.bare.parent, tmp_path / "third", sends_on) as (first, _):
            guarded.url = f"{first}/deployment.git"
            shutil.copy(tmp_path / "third" / "ca.pem", tmp_path / "server" / "ca.pem")
            ca = (tmp_path / "third" / "ca.pem").read_text() + (tmp_path / "elsewhere" / "ca.pem").read_text()
            (tmp_path / "server" / "ca.pem").write_text(ca)
            done = guarded.reconcile(entry(guarded, "read", "reader"), f"url: '{there}', tokenFile: reader")
    assert done.code == 1
    assert "error: 302" in done.err
    assert "give the address that it redirects to" in done.err
    assert other.asked == []


@pytest.mark.server
def test_hosts_that_are_not_there_are_not_told_secrets_either(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITPLACER_DEBUG", "1")
    for host in ("localhost:1", "nowhere.invalid"):
        guarded.url = f"https://{host}/acme/deployment.git"
        done = guarded.reconcile(entry(guarded, "read", "reader"))
        assert done.code == 1
        assert f"cannot reach {guarded.url}" in done.err.splitlines()[0]


@pytest.mark.server
@pytest.mark.skipif(SSHD is None, reason="sshd is not installed (Debian: openssh-server)")
def test_a_deploy_key_opens_its_repository_and_only_a_known_server_is_talked_to(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    fleet = made(tmp_path)
    served, mine = tmp_path / "server", tmp_path / "my keys"
    served.mkdir()
    mine.mkdir()
    with ssh_server(served) as (url, _):
        where = f"{url}{fleet.bare}"
        key = f"url: '{where}', access: [read, write], sshKeyFile: my keys/user"
        for name in ("user", "known_hosts"):
            shutil.copy(served / name, mine)

        def reconciled(*entries: str) -> Ran:
            file = written(tmp_path, *entries)
            return run(capfd, "reconcile", "--credentials", file, "--deployment", where, fleet.source)

        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
        known = (served / "known_hosts").read_text()
        (tmp_path / "wrong").write_text(f"{known.split()[0]} {(tmp_path / 'other.pub').read_text()}")
        for entries, message in (
            ([], "has nothing for reading ssh://"),
            ([f"{key}, knownHostsFile: wrong"], "Host key verification failed"),
            ([f"{key}, knownHostsFile: none"], "Host key verification failed"),
            ([f"{key.replace('my keys/user', 'other')}, knownHostsFile: my keys/known_hosts"], "Permission denied"),
        ):
            done = reconciled(*entries)
            assert done.code == 1
            assert message in done.err, done.err
        done = reconciled(f"{key}, knownHostsFile: my keys/known_hosts")
        assert (done.code, done.out.split()[0]) == (0, "Published"), done.err


def test_the_page_tells_of_every_field() -> None:
    page = (Path(__file__).parent.parent / "docs" / "credentials.md").read_text("utf-8")
    for model in (Credential, GitHubApp):
        for name, field_ in model.model_fields.items():
            assert f"`{field_.alias}`" in page, name
