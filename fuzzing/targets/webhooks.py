"""
Deliveries of webhooks: nobody without the secret is believed, whoever has it is, and a payload says no more than a branch of a repo.

An input is the provider's name, a line for each header, an empty line, and the body.
"""

from __future__ import annotations

import hashlib
import hmac
from unittest import mock

from fuzzing.target import Target, expect
from gitplacer.listeners import signatures
from gitplacer.listeners.payloads import Branch, Interest, Unreadable, Watched, concerned, said

_SECRET = "known-to-nobody-who-writes-inputs"
_NOW = 1_767_322_945.0
_LONGEST = 1100
_INTEREST = Interest(
    (Watched("acme/fleet", frozenset({None, "v1", "capacity/{cluster}"})), Watched("", frozenset({"main"})))
)


def check(data: bytes) -> None:
    head, _, body = data.partition(b"\n\n")
    provider, *lines = head.decode("latin-1").split("\n")
    headers = {name.lower(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
    if provider in signatures.PROVIDERS:
        expect(not _is_believed(provider, headers, body), "a delivery is believed that nobody signed")
        signed = _signed(provider, body)
        expect(_is_believed(provider, signed, body), "a delivery that was signed is not believed")
        if provider != "gitlab":  # its token says nothing of the body
            expect(not _is_believed(provider, signed, body + b" "), "a signature is believed of another body")
    try:
        found = said(body)
    except Unreadable:
        return
    branch = concerned(found, _INTEREST)
    for one in (*found.moved, *([branch] if branch else [])):
        expect(isinstance(one, Branch) and len(one.ref) + len(one.commit) <= 2 * _LONGEST, "a branch has no end")
    expect(len(found.moved) <= 101, "branches have no end")


def _is_believed(provider: str, headers: signatures.Headers, body: bytes) -> bool:
    try:
        signatures.verify(provider, headers, body, [_SECRET], _NOW)
    except signatures.Forged:
        return False
    return True


def _signed(provider: str, body: bytes) -> signatures.Headers:
    if provider == "gitlab":
        return {"x-gitlab-token": _SECRET}
    digest = hmac.new(_SECRET.encode(), body, hashlib.sha256).hexdigest()
    bare = provider in ("gitea", "forgejo")
    name = {"github": "x-hub-signature-256", "bitbucket": "x-hub-signature"}.get(provider, "x-signature")
    return {f"x-{provider}-signature" if bare else name: digest if bare else f"sha256={digest}"}


TARGET = Target(
    check=check,
    bug="a delivery is believed if all signatures are right, of which there may be none",
    planted=lambda: mock.patch.object(signatures, "any", all, create=True),
    longest=2000,
)
