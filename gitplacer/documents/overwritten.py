"""
Keys that are set twice in one mapping, as Kubernetes has them: the last one counts.

We refuse such a file, because whoever reads it may look at the wrong one. But `kubectl apply` takes it, so what people bring along
has some; there the earlier entry is blanked, and every other byte stays where it is.
"""

from __future__ import annotations

import re

from gitplacer.documents.compose import overwritten
from gitplacer.documents.parse import BOM, Fault
from gitplacer.documents.syntax import position

_ANY = re.compile(r"[^\r\n]")
_BLANKS = re.compile(r" +(?=\r?$)")


def last_ones(data: bytes) -> tuple[bytes, tuple[Fault, ...]]:
    """The file without each entry whose key is set again after it, and what was blanked. What is not UTF-8 is handed on as it is."""
    try:
        whole = data.decode()
    except UnicodeDecodeError:
        return data, ()
    text = whole.removeprefix(BOM)
    found = overwritten(text)
    blank, told = text, []
    for one in found:
        blank = blank[: one.start] + _ANY.sub(" ", blank[one.start : one.end]) + blank[one.end :]
        again = position(text, one.again)[0]
        message = f'the key "{one.key[:100]}" is set again on line {again}, and the last one counts'
        told.append(Fault(*position(text, one.start), "DuplicateKey", message))
    lines = [
        new if new == old else _BLANKS.sub("", new)
        for new, old in zip(blank.split("\n"), text.split("\n"), strict=True)
    ]
    return (whole[: len(whole) - len(text)] + "\n".join(lines)).encode(), tuple(told)
