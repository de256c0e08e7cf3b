"""
The one redactor: what must not be read by others, taken out of a text that they may read.

Two things are taken out. Secrets that somebody told us (`hide`): tokens and keys that were read from files or the environment, whoever
repeats them, such as a server in its answer, and however it spells them. And what betrays itself: credentials in URLs and in
Authorization headers, private keys, tokens of a known shape. Whatever leaves a process passes here: the streams of every command, lines
of logs, notices, Events, comments, pages; and a problem or an error never holds what betrays itself from the beginning. Without what was
told, it is a pure function.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import urllib.parse
from collections.abc import Iterator, Mapping

SHORTEST_SECRET = 8
_CUT = "…"
KEPT = 4
"""Secrets of one origin that are remembered: a process that runs for a year sees many tokens, most of which have ended."""
VARIABLES = ("GITPLACER_HOST_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN")
"""Variables of the environment in which CI hands over tokens."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*$")
_LONGEST_SCHEME = 31
_WORD_ENDS = re.compile(r"[\s'\"]|$")
_PLAIN_USER = re.compile(r"[\w.+-]+")
_QUERY = re.compile(r"(?i)([?&][\w.-]{0,40}(?:token|secret|passw|key|sig|credential)[\w.-]{0,40}=)[^&\s'\"#\\]+")

_KEY = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)(?:[A-Za-z0-9+/=\s]|\\[nr])+(?:-----END[A-Z0-9 ]{0,40}-----)?"
)
_AUTHORIZATION = re.compile(
    r"(?<![\w./-])((?:[Bb]asic\s{1,9}(?![\w+/]{12,}[.~-]\w)|[Bb]earer\s{1,9}))(?=[^\s\d]{0,200}\d)[\w+/.~=-]{12,}"
)
"""
Neither is the end of a name: in a table, the path or cluster beside `raycluster-basic` is no password. Nor is one with dots or dashes after the word
alone, for Basic is followed by Base64.
"""
_TOKEN = re.compile(r"(?<!\w)(gh[opsur]_|github_pat_|glpat-)[\w-]{20,}")
_JWT = re.compile(r"(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*")
_SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...] = (
    (("PRIVATE KEY",), _KEY, r"\1***"),
    (("asic ", "earer "), _AUTHORIZATION, r"\1***"),
    (("gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"), _TOKEN, r"\1***"),
    (("eyJ",), _JWT, "***"),
)
"""
What betrays itself beside URLs: parts one of which it has, which are looked for first because that is fast, how it looks, and what is left.
Tokens of GitHub (https://docs.github.com/en/authentication) and GitLab, service account tokens of Kubernetes, which are JWTs (RFC 7519),
HTTP's Basic and Bearer (RFC 7617, 6750), and PEM.
"""


class _Hidden:
    """The secrets that were told, by their origin. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: dict[str, dict[str, tuple[str, ...]]] = {}
        self.spelt: tuple[str, ...] = ()
        """Every spelling of every secret, the longest first: a shorter one may be a part of it."""

    def add(self, secret: str, origin: str) -> None:
        with self._lock:
            of_origin = self._told.setdefault(origin, {})
            is_new = secret not in of_origin
            of_origin[secret] = of_origin.pop(secret, ()) or _spellings(secret)
            if not is_new:
                return
            for old in list(of_origin)[:-KEPT]:
                del of_origin[old]
            spelt = {each for told in self._told.values() for found in told.values() for each in found}
            self.spelt = tuple(sorted(spelt, key=lambda each: (-len(each), each)))


_HIDDEN = _Hidden()


def hide(secret: str, origin: str) -> None:
    """
    Let a secret appear in no message from now on, whoever repeats it, and as URLs, JSON and Base64 spell it; of one with several lines, such as
    a key, each. `origin` says where it comes from, such as a file: of one origin the last KEPT secrets are hidden. A line of fewer than
    SHORTEST_SECRET characters is not hidden: messages could not be read without them.
    """
    if any(len(line) >= SHORTEST_SECRET for line in secret.split("\n")):
        _HIDDEN.add(secret, origin)


def hide_environment(environ: Mapping[str, str]) -> None:
    """Hide the tokens that CI hands over, and the passwords of proxies."""
    for name in VARIABLES:
        hide(environ.get(name, "").strip(), name)
    for name in _PROXIES:
        for spelt in (name, name.upper()):
            userinfo = environ.get(spelt, "").rpartition("://")[2].rpartition("@")[0]
            hide(urllib.parse.unquote(userinfo.partition(":")[2]), spelt)


def _spellings(secret: str) -> tuple[str, ...]:
    """How a secret may be spelt, line by line; the frame of a PEM file is no secret."""
    lines = [line.strip() for line in secret.split("\n")]
    told = [line for line in lines if len(line) >= SHORTEST_SECRET and not line.startswith("-----")]
    return tuple(dict.fromkeys(spelt for line in told for spelt in _line_spelt(line)))


def _line_spelt(line: str) -> Iterator[str]:
    yield line
    yield json.dumps(line)[1:-1]
    yield repr(line)[1:-1]
    for quoted in (
        urllib.parse.quote(line, safe=""),
        urllib.parse.quote(line, safe="/"),
        urllib.parse.quote_plus(line),
    ):
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    data = line.encode("utf-8", "surrogateescape")
    for before in range(3):  # as it stands in the Base64 of something longer, such as `user:password`
        encoded = base64.b64encode(bytes(before) + data)
        inner = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6].decode()
        yield inner
        yield inner.replace("+", "-").replace("/", "_")


def redact(text: str) -> str:
    """The text with what was hidden, and with what betrays itself, replaced by `***`."""
    text = _without_urls(
        text
    )  # first: what was hidden may be a part of a URL, and what has a known shape a part of what was hidden
    for secret in _HIDDEN.spelt:
        text = text.replace(secret, "***")
        if _CUT in text and secret[:SHORTEST_SECRET] in text:
            text = _without_beginnings(text, secret)
    return _without_shapes(text)


def shortened(text: str, longest: int) -> str:
    """
    The text, or so many characters of it with an ellipsis as the last. What betrays itself is replaced before: half of it might not. Half of
    what was told is known by the ellipsis after it.
    """
    return text if len(text) <= longest else without_credentials(text)[: longest - 1] + _CUT


def _without_beginnings(text: str, secret: str) -> str:
    """The text without the beginnings of a secret that were cut off after SHORTEST_SECRET characters or more."""
    parts = text.split(_CUT)
    for number, part in enumerate(parts[:-1]):
        at = part.rfind(secret[:SHORTEST_SECRET], -len(secret))
        if at >= 0 and secret.startswith(part[at:]):
            parts[number] = f"{part[:at]}***"
    return _CUT.join(parts)


def without_credentials(text: str) -> str:
    """
    The text with what betrays itself replaced by `***`: user names and passwords of URLs, and what looks like a secret in their queries;
    what follows Basic and Bearer; private keys, and tokens of a known shape. An ssh user name alone is no secret.
    """
    return _without_shapes(_without_urls(text))


def _without_urls(text: str) -> str:
    return _QUERY.sub(r"\1***", "".join(_without_userinfo(text))) if "://" in text else text


def _without_shapes(text: str) -> str:
    for parts, shape, left in _SHAPES:
        if any(part in text for part in parts):
            text = shape.sub(left, text)
    return text


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
