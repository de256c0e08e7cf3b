"""
Who sent a webhook: the vectors that providers and standards publish, a signer written apart (by `cryptography`, not by `hmac`), and
whatever a forger could do with a delivery that was caught.
"""

from __future__ import annotations

import base64
import random

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.hmac import HMAC
from hypothesis import given
from hypothesis import strategies as st

from gitplacer.listeners.seen import Seen
from gitplacer.listeners.signatures import PROVIDERS, TOLERANCE, Forged, verify

NOW = 1_614_265_330.0
SECRET = "correct horse battery staple"
EVERYBODY = "It's a Secret to Everybody"
STANDARD = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_BODY = b'{"test": 2432232314}'


def mac(key: bytes, data: bytes, algorithm: hashes.HashAlgorithm | None = None) -> bytes:
    made = HMAC(key, algorithm or hashes.SHA256())
    made.update(data)
    return made.finalize()


def signed(provider: str, body: bytes, secret: str = SECRET, name: str = "d-1") -> dict[str, str]:
    """The headers of a delivery as its provider makes them."""
    digest = mac(secret.encode(), body).hex()
    match provider:
        case "github":
            return {"x-hub-signature-256": f"sha256={digest}", "x-github-delivery": name}
        case "gitea" | "forgejo":
            return {f"x-{provider}-signature": digest, f"x-{provider}-delivery": name}
        case "bitbucket":
            return {"x-hub-signature": f"sha256={digest}", "x-request-id": name}
        case "gitlab":
            text = base64.b64encode(mac(secret.encode(), f"{name}.{int(NOW)}.".encode() + body)).decode()
            return {"webhook-id": name, "webhook-timestamp": str(int(NOW)), "webhook-signature": f"v1,{text}"}
        case "gitlab token":
            return {"x-gitlab-token": secret, "idempotency-key": name}
    return {"x-signature": f"sha256={digest}"}


WAYS = [*PROVIDERS, "gitlab token"]
ways = pytest.mark.parametrize("way", WAYS)


def provider_of(way: str) -> str:
    return way.split(" ")[0]


@pytest.mark.parametrize(
    ("provider", "headers", "body", "secret"),
    [
        # GitHub, "Validating webhook deliveries": testing the webhook payload validation
        ("github", {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}, b"Hello, World!", EVERYBODY),
        # Atlassian, "Manage webhooks": validating webhook deliveries
        ("bitbucket", {"x-hub-signature": "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"}, b"Hello World!", EVERYBODY),
        # Standard Webhooks 1.0, the vector of its reference libraries
        ("gitlab", STANDARD, STANDARD_BODY, STANDARD_SECRET),
        # RFC 4231, test case 2, spelt as each of these spells it
        ("gitea", {"x-gitea-signature": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}, b"what do ya want for nothing?", "Jefe"),
        ("forgejo", {"x-forgejo-signature": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}, b"what do ya want for nothing?", "Jefe"),
        ("flux", {"x-signature": "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}, b"what do ya want for nothing?", "Jefe"),
        ("generic", {"x-signature": "sha512=164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"}, b"what do ya want for nothing?", "Jefe"),
    ],
)  # fmt: skip
def test_published_vectors_are_believed(provider: str, headers: dict[str, str], body: bytes, secret: str) -> None:
    assert verify(provider, headers, body, [secret], NOW).marks
    with pytest.raises(Forged):
        verify(provider, headers, body + b" ", [secret], NOW)


@ways
@given(
    body=st.binary(max_size=300),
    secret=st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=8, max_size=60),
)
def test_what_the_provider_signs_is_believed_and_nothing_else(way: str, body: bytes, secret: str) -> None:
    headers, provider = signed(way, body, secret), provider_of(way)
    assert verify(provider, headers, body, ["another " + secret, secret], NOW)
    with pytest.raises(Forged):
        verify(provider, headers, body, ["another " + secret], NOW)
    with pytest.raises(Forged):
        verify(provider, {}, body, [secret], NOW)
    with pytest.raises(Forged):
        verify(provider, headers, body, [], NOW)


@ways
def test_one_changed_character_is_a_forgery(way: str) -> None:
    body, provider, chance = b'{"ref":"refs/heads/main"}', provider_of(way), random.Random(7)
    headers = signed(way, body)
    name = next(name for name in headers if "signature" in name or "token" in name)
    value = headers[name]
    for _ in range(40):
        at = chance.randrange(len(value))
        other = chance.choice([c for c in "0123456789abcdefXYZ=,é" if c != value[at]])
        with pytest.raises(Forged):
            verify(provider, {**headers, name: value[:at] + other + value[at + 1 :]}, body, [SECRET], NOW)
    for wrong in ("", "sha256=", "sha256=" + "0" * 64, "sha1=" + "0" * 40, value + value, "v1," * 9, "\ud800"):
        with pytest.raises(Forged):
            verify(provider, {**headers, name: wrong}, body, [SECRET], NOW)


def test_a_signature_of_another_kind_is_not_taken() -> None:
    body = b"{}"
    sha1 = mac(SECRET.encode(), body, hashes.SHA1()).hex()
    for provider, headers in [
        ("github", {"x-hub-signature": f"sha1={sha1}"}),
        ("github", {"x-hub-signature-256": f"sha1={sha1}"}),
        ("bitbucket", {"x-hub-signature": f"sha1={sha1}"}),
        ("gitea", {"x-gitea-signature": "sha256=" + mac(SECRET.encode(), body).hex()}),
        ("gitea", {"x-hub-signature-256": "sha256=" + mac(SECRET.encode(), body).hex()}),
    ]:
        with pytest.raises(Forged):
            verify(provider, headers, body, [SECRET], NOW)


@pytest.mark.parametrize("late", [-TOLERANCE - 1, TOLERANCE + 1])
def test_what_was_signed_at_another_time_is_not_taken(late: float) -> None:
    assert verify("gitlab", STANDARD, STANDARD_BODY, [STANDARD_SECRET], NOW + TOLERANCE)
    with pytest.raises(Forged):
        verify("gitlab", STANDARD, STANDARD_BODY, [STANDARD_SECRET], NOW + late)


def test_a_token_does_not_help_where_a_signature_is_wrong() -> None:
    headers = {**signed("gitlab", b"{}"), "x-gitlab-token": SECRET}
    with pytest.raises(Forged):
        verify("gitlab", headers, b'{"other": 1}', [SECRET], NOW)


@ways
def test_a_delivery_that_was_caught_is_not_new_whatever_id_it_is_given(way: str) -> None:
    provider, seen, body = provider_of(way), Seen(), b'{"ref":"refs/heads/main","after":"1"}'
    headers = signed(way, body)
    assert seen.is_new(provider, verify(provider, headers, body, [SECRET], NOW).marks)
    assert not seen.is_new(provider, verify(provider, headers, body, [SECRET], NOW).marks)
    for name in headers.keys() & {
        "x-github-delivery",
        "x-gitea-delivery",
        "x-forgejo-delivery",
        "x-request-id",
        "idempotency-key",
    }:
        caught = {**headers, name: "another"}
        assert not seen.is_new(provider, verify(provider, caught, body, [SECRET], NOW).marks)
    other = body.replace(b"1", b"2")
    assert seen.is_new(provider, verify(provider, signed(way, other, name="d-2"), other, [SECRET], NOW).marks)


@given(st.lists(st.integers(0, 30), max_size=200))
def test_so_many_marks_are_remembered_and_the_latest(names: list[int]) -> None:
    seen, model = Seen(most=8), list[int]()
    for name in names:
        assert seen.is_new("github", [f"id:{name}"]) == (name not in model[-8:])
        model = [each for each in model if each != name] + [name]
