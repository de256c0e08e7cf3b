"""What looks like a secret, by the name that a value stands under or by the value itself."""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?i)pass(word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|last-applied-configuration"
)
_HARMLESS_NAME = re.compile(r"(?i)(name|names|ref|path|file|dir|mount|volume|type|kind|seconds)$")
_TEXT = re.compile(r"(?i)(password|passwd|secret|token|api[-_]?key)['\"]?\s*[=:]\s*\S|://[^/\s:@]*:[^/\s@]+@")

_OF_LANGUAGE_MODELS = re.compile(r"(?i)tokeni[sz]\w*|tokens")
_WRITTEN_ELSEWHERE = re.compile(r"\$[({]\w|\{\{|<[\w/|]")
_OF_THE_SHELL = re.compile(r"[=:]\s*[\"']?\$[A-Za-z_]\w*")
"""What a shell puts in, as in `--token=$TOKEN`."""
_PLAIN_FLAG = re.compile(
    r"(?i)(true|false|yes|no|on|off|none|null|empty|dummy|unused|\$[a-z_]\w*|[-+]?[\d.]+[a-z%]{0,2})?"
)
"""A switch, a number, a variable of a shell, and what is written where a client wants a key and its server asks for none."""
_ELSEWHERE = re.compile(r"(/[a-z0-9._-]+)+/?|[a-z][a-z0-9+.-]*://[^\s@]*")
_IN_AWS = re.compile(r"arn:aws[\w-]*:\S+")
"""Where a secret is: a file, an address, a resource of a cloud. A path in capitals may as well be a key in base64."""


def looks_secret(key: str, value: str) -> bool:
    """Whether a value is better not shown. Rather one too many: what is hidden for nothing costs a reader little."""
    named = _NAME.search(key) is not None and _HARMLESS_NAME.search(key) is None
    return bool(value) and (named or _TEXT.search(value) is not None)


def surely_secret(key: str, value: str) -> bool:
    """
    The same for a reproach: not the tokens that language models count, no number or switch, not what is put in from elsewhere,
    as `$(PASSWORD)` is, and not where the secret is found, as the path of a file.
    """
    if _PLAIN_FLAG.fullmatch(value) or _WRITTEN_ELSEWHERE.search(value) or _IN_AWS.fullmatch(value):
        return False
    name = "" if _ELSEWHERE.fullmatch(value) else _OF_LANGUAGE_MODELS.sub("", key)
    return looks_secret(name, _OF_THE_SHELL.sub(" ", _OF_LANGUAGE_MODELS.sub("", value)))
