"""Tokens of a GitHub App, against the stand-in of GitHub, which checks what they are asked with."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from msgspec.structs import replace

from gitplacer.git import apptokens
from gitplacer.git.apptokens import App, AppTokens
from gitplacer.git.credentials import Credentials
from gitplacer.git.login import Right
from gitplacer.git.program import GitError
from gitplacer.hosts.access import access
from gitplacer.redactor import redact
from gitplacer.settings import UsageError
from tests.hoststandin import StandIn, Trouble, api_of, serving

APP, INSTALLATION = 1234, 5678
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    """A private key as GitHub makes one, and its public half."""
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@pytest.fixture
def host(keys: tuple[str, str]) -> Iterator[StandIn]:
    with serving("github", StandIn(app=APP, app_key=keys[1], installation=INSTALLATION)) as state:
        yield state


@pytest.fixture
def app(host: StandIn, keys: tuple[str, str], tmp_path: Path) -> App:
    (tmp_path / "app.pem").write_text(keys[0])
    (tmp_path / "app.pem").chmod(0o600)
    return App(
        app_id=APP, installation_id=INSTALLATION, private_key=tmp_path / "app.pem", api_url=api_of("github", host)
    )


def test_a_token_is_made_once_for_each_right_and_again_before_it_ends(host: StandIn, app: App) -> None:
    now = time.time()
    host.now = lambda: now
    tokens = AppTokens(clock=lambda: now)
    first = tokens(app, Right.READ)
    assert host.made_tokens == {first: {"contents": "read"}}
    assert tokens(app, Right.WRITE) != first
    assert tokens(app, Right.API) not in (first, tokens(app, Right.WRITE))
    assert [granted.get("contents") for granted in host.made_tokens.values()] == ["read", "write", "write"]
    now += 3600 - apptokens.SPARE - 1
    assert tokens(app, Right.READ) == first
    now += 2
    again = tokens(app, Right.READ)
    assert again != first
    assert len(host.made_tokens) == 4
    assert tokens(app, Right.READ) == again
    assert redact(f"with {first} and {again}") == "with *** and ***"


def test_what_the_host_says_against_it_is_told_with_what_to_do(
    host: StandIn, app: App, keys: tuple[str, str], tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_text(
        rsa.generate_private_key(65537, 2048)
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
    )
    other.chmod(0o600)
    (tmp_path / "junk.pem").write_text("no key at all")
    (tmp_path / "junk.pem").chmod(0o600)
    for wrong, status, hint in (
        (replace(app, app_id=1), "401", "check appId"),
        (replace(app, private_key=other), "401", "privateKeyFile"),
        (replace(app, installation_id=9), "404", "check installationId"),
        (replace(app, private_key=tmp_path / "junk.pem"), "does not hold a private key", "PEM file"),
        (replace(app, private_key=tmp_path / "none.pem"), "cannot read private key", "check the path"),
        (replace(app, api_url="http://127.0.0.1:1"), "no usable answer", "check apiUrl"),
    ):
        with pytest.raises(GitError) as error:
            AppTokens()(wrong, Right.READ)
        assert status in str(error.value)
        assert hint in error.value.hint
        assert (error.value.kind == "Unreachable") is (
            wrong.api_url != app.api_url
        )  # which may be otherwise in a moment
        assert not any(line in str(error.value) for line in keys[0].splitlines())
    host.permissions["contents"] = "read"
    with pytest.raises(GitError, match=r"not granted to this installation\. \(422\)") as error:
        AppTokens()(app, Right.WRITE)
    assert "read and write contents" in error.value.hint
    for trouble in (Trouble(0), Trouble(503), Trouble(201, body={"token": 5}), Trouble(201, body={})):
        host.troubles.append(trouble)
        with pytest.raises(GitError, match="cannot get a token of GitHub App 1234"):
            AppTokens()(app, Right.READ)


def test_a_key_that_others_can_read_is_not_used(app: App) -> None:
    app.private_key.chmod(0o644)
    with pytest.raises(GitError) as error:
        AppTokens()(app, Right.READ)
    assert error.value.kind == "ExposedSecret"


def credentials(app: App, host: StandIn, rights: str) -> Credentials:
    file = app.private_key.with_name("credentials.yaml")
    file.write_text(
        "apiVersion: gitplacer.dev/v1alpha1\nkind: Credentials\ncredentials:\n"
        f"- url: {host.url}/acme\n  access: [{rights}]\n"
        f"  githubApp: {{appId: {APP}, installationId: {INSTALLATION}, privateKeyFile: app.pem}}\n"
    )
    file.chmod(0o600)
    return Credentials.read(file)


def test_the_same_app_speaks_to_git_and_to_the_api(host: StandIn, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from gitplacer.git.address import Address

    monkeypatch.setattr("gitplacer.git.credentials.token_of", AppTokens())
    known = credentials(app, host, "read, write, api")
    address = Address.parse(f"{host.url}/acme/fleet.git", base_dir=Path("/"))
    with known.login(address, Right.WRITE).handed() as (settings, descriptors):
        assert descriptors
        assert not any("ghs_" in setting for setting in settings)
    environment = {"GITPLACER_HOST_URL": api_of("github", host), "GITHUB_TOKEN": "token-of-the-environment"}
    for repo, token in (("acme/fleet", r"ghs_installation.*"), ("other/fleet", "token-of-the-environment")):
        assert re.fullmatch(token, access("github", repo, environment, known).token)
    with pytest.raises(UsageError, match="there is no token"):
        access("github", "other/fleet", {"GITPLACER_HOST_URL": api_of("github", host)}, known)
    assert [granted["contents"] for granted in host.made_tokens.values()] == ["write", "write"]
