"""
The commit of another repo that a commit of the fleet repo is because of.

CI that builds an image and bumps its tag in the fleet repo says so by trailers that Argo CD's hydrator knows,
`Argocd-reference-commit-sha` and five more; promoters show what they find in `hydrator.metadata`. Each is checked as the hydrator
checks it: one that is not what it should be stays what it was, a line of the message. They are read by promoters and by browsers, so
an address may be no more than an address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlsplit

from gitplacer.redactor import without_credentials

PREFIX = "argocd-reference-commit-"

_TRAILER = re.compile(r"([A-Za-z0-9-]+)\s*:\s*(.*)")
_LONGEST = 4096


def referred(body: str) -> tuple[str, Mapping[str, str]]:
    """
    A message's body without the trailers that are understood, and the commit they tell of, by the names in `hydrator.metadata`;
    nothing where there is none. Of a trailer that is there twice the last one counts.
    """
    head, _, last = body.rstrip().rpartition("\n\n")
    found: dict[str, str] = {}
    kept = []
    for line in last.split("\n"):
        trailer = _TRAILER.fullmatch(line.strip())
        name = trailer[1].lower() if trailer else ""
        value = _value(name.removeprefix(PREFIX), trailer[2].strip()) if trailer and name.startswith(PREFIX) else None
        if value is None:
            kept.append(line)
        else:
            found[_NAMES[name.removeprefix(PREFIX)][0]] = value
    if not found:
        return body, {}
    return "\n\n".join(part for part in (head, "\n".join(kept)) if part.strip()), dict(sorted(found.items()))


def _value(field: str, text: str) -> str | None:
    if field not in _NAMES or not text or len(text) > _LONGEST:
        return None
    try:
        return without_credentials(_NAMES[field][1](text))
    except ValueError:
        return None


def _author(text: str) -> str:
    name, mail = parseaddr(text)
    if not name or re.fullmatch(r"[^@\s]+@[^@\s]+", mail) is None:
        raise ValueError(text)
    return text


def _body(text: str) -> str:
    found: Any = json.loads(text)
    if not isinstance(found, str):
        raise ValueError(text)
    return found


def _date(text: str) -> str:
    datetime.fromisoformat(text.replace("Z", "+00:00"))
    return text


def _sha(text: str) -> str:
    if re.fullmatch(r"[0-9a-fA-F]{5,40}", text) is None:
        raise ValueError(text)
    return text


def _url(text: str) -> str:
    found = urlsplit(text)
    has_secret = found.password or without_credentials(text) != text
    if found.scheme not in ("http", "https", "ssh") or not found.hostname or has_secret or re.search(r"\s", text):
        raise ValueError(text)
    return text


_NAMES: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "author": ("author", _author),
    "body": ("body", _body),
    "date": ("date", _date),
    "repourl": ("repoURL", _url),
    "sha": ("sha", _sha),
    "subject": ("subject", str),
}
