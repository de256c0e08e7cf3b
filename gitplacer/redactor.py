"""
The one redactor: what must not be read by others, taken out of a text that they may read.

Two things are taken out. Secrets that somebody told us (`hide`): tokens and keys that were read from files or the environment, whoever
repeats them, such as a server in its answer. And credentials in URLs, which betray themselves. Whatever leaves a process passes here:
the streams of every command, lines of logs, notices, Events; and a problem or an error never holds a credential in a URL from the
beginning. Without what was told, it is a pure function.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator

SHORTEST_SECRET = 8
_MOST_HIDDEN = 1000
"""Spellings of secrets that are remembered: a process that runs for a year sees many tokens, most of which have ended."""
_HIDDEN: dict[str, None] = {}

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*$")
_LONGEST_SCHEME = 31
_WORD_ENDS = re.compile(r"[\s'\"]|$")
_PLAIN_USER = re.compile(r"[\w.+-]+")
_QUERY = re.compile(r"(?i)([?&][\w.-]{0,40}(?:token|secret|passw|key|sig|credential)[\w.-]{0,40}=)[^&\s'\"#]+")


def hide(secret: str) -> None:
    """
    Let a secret appear in no message from now on, whoever repeats it, and as URLs and JSON spell it. One of fewer than SHORTEST_SECRET
    characters is not hidden: messages could not be read without them.
    """
    if len(secret) < SHORTEST_SECRET:
        return
    for spelt in (secret, urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1]):
        _HIDDEN.pop(spelt, None)
        _HIDDEN[spelt] = None
    for spelt in list(_HIDDEN)[:-_MOST_HIDDEN]:
        del _HIDDEN[spelt]


def redact(text: str) -> str:
    """The text with what was hidden, and with credentials of URLs, replaced by `***`."""
    text = without_credentials(text)  # first: what was hidden may be a part of a URL
    for secret in sorted(_HIDDEN, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def without_credentials(text: str) -> str:
    """
    The text with user names and passwords of URLs, and what looks like a secret in their queries, replaced by `***`; an ssh user name alone
    is no secret.
    """
    if "://" not in text:
        return text

    return _QUERY.sub(r"\1***", "".join(_without_userinfo(text)))


def _without_userinfo(text: str) -> Iterator[str]:
    """The text in parts. Each character is looked at a few times, however the text was made."""
    shown = 0
    at = text.find("://")
    while at >= 0:
        found = _WORD_ENDS.search(text, at)
        end = found.start() if found is not None else len(text)
        begin, last = at + len("://"), text.rfind("@", at, end)  # the last: a password may hold `@` and `/`
        scheme = _SCHEME.search(text[max(0, at - _LONGEST_SCHEME) : at])
        if (
            scheme is not None
            and last >= 0
            and (scheme[0].lower() != "ssh" or not _PLAIN_USER.fullmatch(text, begin, last))
        ):
            yield f"{text[shown:begin]}***"
            shown = last
        at = text.find("://", end)
    yield text[shown:]
