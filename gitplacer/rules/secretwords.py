"""What looks like a secret, by the name that a value stands under or by the value itself."""

from __future__ import annotations

import re

_NAME = re.compile(
    r"(?i)pass(word|wd|phrase)|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|last-applied-configuration"
)
_HARMLESS_NAME = re.compile(r"(?i)(name|names|ref|path|file|dir|mount|volume|type|kind|seconds)$")
_TEXT = re.compile(r"(?i)(password|passwd|secret|token|api[-_]?key)['\"]?\s*[=:]\s*\S|://[^/\s:@]*:[^/\s@]+@")

_OF_LANGUAGE_MODELS = re.compile(r"(?i)tokeni[sz]\w*|tokens")
_WRITTEN_ELSEWHERE = re.compile(r"\$[({]\w|\{\{|<\w")
_PLAIN_FLAG = re.compile(r"(?i)(true|false|yes|no|on|off|none|null|[-+]?[\d.]+[a-z%]{0,2})?")


def looks_secret(key: str, value: str) -> bool:
    """Whether a value is better not shown. Rather one too many: what is hidden for nothing costs a reader little."""
    named = _NAME.search(key) is not None and _HARMLESS_NAME.search(key) is None
    return bool(value) and (named or _TEXT.search(value) is not None)


def surely_secret(key: str, value: str) -> bool:
    """
    The same for a reproach: not the tokens that language models count, no number or switch, and not what is put in from elsewhere,
    as `$(PASSWORD)` is.
    """
    if _PLAIN_FLAG.fullmatch(value) or _WRITTEN_ELSEWHERE.search(value):
        return False
    return looks_secret(_OF_LANGUAGE_MODELS.sub("", key), _OF_LANGUAGE_MODELS.sub("", value))
