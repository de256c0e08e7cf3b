"""
Whether a webhook comes from whoever has the secret. Pure: headers, bytes and secrets in, an answer out.

Each provider signs in its own way; sources are its documentation:

- GitHub: `X-Hub-Signature-256: sha256=<hex>`, the HMAC-SHA256 of the body. SHA-1 signatures are not looked at.
- Gitea and Forgejo: `X-Gitea-Signature` or `X-Forgejo-Signature`, the same as bare hex.
- Bitbucket, Cloud and Data Center: `X-Hub-Signature: sha256=<hex>`.
- GitLab: `webhook-signature: v1,<base64>` of `<webhook-id>.<webhook-timestamp>.<body>` where the webhook has a signing token (a Standard Webhooks key), and
  `X-Gitlab-Token`, the secret itself, where it has none.
- Flux's provider generic-hmac, and whoever else signs so: `X-Signature: sha256=<hex>`, or `sha512=<hex>`.

All comparisons take the same time whatever differs. Every secret is tried, so that one can be replaced while both are in use.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

TOLERANCE = 300.0
"""Seconds that the time in a signed header may differ from ours, as Standard Webhooks has it."""
_LONGEST_ID = 200


class Forged(Exception):
    """The signature is missing or wrong. The message is for us, and does not go back to the sender."""


class Verified(Struct, frozen=True):
    """
    What tells a delivery from others: `marks` are the id that the sender gave it, if it is one that is signed or cannot be had without the secret, and
    what its signature or its bytes come to. A delivery of which one mark was seen before is the same.
    """

    marks: tuple[str, ...]


Headers = Mapping[str, str]
"""By names in small letters; each value as the bytes that came, decoded as Latin-1."""


def verify(provider: str, headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> Verified:
    """
    The delivery, if one of the secrets made it. `now` is in seconds since 1970. Raises Forged, and KeyError for an unknown provider.
    """
    return PROVIDERS[provider](headers, body, secrets, now)


def _hmac(header: str, delivery: str, *, digests: Sequence[str] = (), bare: bool = False) -> _Verifier:
    """By a header with the HMAC of the body in hex: `bare`, of SHA-256, or after the name of one of `digests`."""

    def verified(headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> Verified:
        given = headers.get(header)
        if given is None:
            raise Forged(f"no {header}")
        digest = "sha256" if bare else next((name for name in digests if given.startswith(f"{name}=")), None)
        if digest is None:
            raise Forged(f"{header} is of no kind that is taken")
        hexadecimal = given if bare else given.removeprefix(f"{digest}=")
        if not re.fullmatch(r"[0-9a-f]{64}(?:[0-9a-f]{64})?", hexadecimal):
            raise Forged(f"{header} is no digest")
        # All are compared, so that the time tells nothing of which one it was.
        matches = [hmac.compare_digest(hmac.digest(each.encode(), body, digest).hex(), hexadecimal) for each in secrets]
        if not any(matches):
            raise Forged(f"{header} is wrong")
        return Verified((*_id(headers.get(delivery)), f"signature:{hexadecimal}"))

    return verified


def _gitlab(headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> Verified:
    if "webhook-signature" in headers:
        return _standard(headers, body, secrets, now)
    given = headers.get("x-gitlab-token")
    if given is None:
        raise Forged("neither webhook-signature nor x-gitlab-token")
    # Digests are compared, because the secret's length must not be told by the time either.
    found = hashlib.sha256(given.encode("latin-1", "replace")).digest()
    matches = [hmac.compare_digest(hashlib.sha256(each.encode()).digest(), found) for each in secrets]
    if not any(matches):
        raise Forged("x-gitlab-token is wrong")
    key = headers.get("idempotency-key")  # X-Gitlab-Event-UUID is not unique: webhooks that cause webhooks share it
    return Verified((*_id(key), f"body:{hashlib.sha256(body).hexdigest()}"))


def _standard(headers: Headers, body: bytes, secrets: Sequence[str], now: float) -> Verified:
    """Standard Webhooks 1.0: what is signed has an id and a time, and several signatures may be given."""
    name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not 0 < len(name) <= _LONGEST_ID or not re.fullmatch(r"[0-9]{1,12}", at):
        raise Forged("webhook-id or webhook-timestamp is missing")
    if abs(now - int(at)) > TOLERANCE:
        raise Forged("webhook-timestamp is too far from now")
    signed = f"{name}.{at}.".encode() + body
    given = [each[3:].encode() for each in headers["webhook-signature"].split(" ")[:8] if each.startswith("v1,")]
    wanted = [base64.b64encode(hmac.digest(key, signed, "sha256")) for each in secrets for key in _keys(each)]
    matches = [hmac.compare_digest(one, other) for one in given for other in wanted]
    if not any(matches):
        raise Forged("webhook-signature is wrong")
    return Verified((f"id:{name}",))


def _keys(secret: str) -> list[bytes]:
    """What a secret may be a spelling of: itself, and the bytes that base64 after `whsec_` stands for."""
    keys = [secret.encode()]
    if secret.startswith("whsec_"):
        with contextlib.suppress(ValueError):
            keys.append(base64.b64decode(secret.removeprefix("whsec_"), validate=True))
    return [key for key in keys if key]


def _id(text: str | None) -> list[str]:
    return [f"id:{text}"] if text and len(text) <= _LONGEST_ID else []


_Verifier = Callable[[Headers, bytes, Sequence[str], float], Verified]

PROVIDERS: Mapping[str, _Verifier] = {
    "github": _hmac("x-hub-signature-256", "x-github-delivery", digests=("sha256",)),
    "gitlab": _gitlab,
    "gitea": _hmac("x-gitea-signature", "x-gitea-delivery", bare=True),
    "forgejo": _hmac("x-forgejo-signature", "x-forgejo-delivery", bare=True),
    "bitbucket": _hmac("x-hub-signature", "x-request-id", digests=("sha256",)),
    "flux": _hmac("x-signature", "", digests=("sha256", "sha512")),
    "generic": _hmac("x-signature", "", digests=("sha256", "sha512")),
}
"""By the name that an address ends with, `/hooks/<name>`."""
