"""
Inputs made long, to find what takes the square of a length.

A run tries inputs of at most some kilobytes, and the square of that is not noticed. So what it learned is made long afterwards: one piece of an input
is repeated until there are LONG bytes. A target has no more time for that than for any other input.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fuzzing.mutating import documents_of, places
from fuzzing.target import Slow

LONG = 65_536
"""Bytes. The square of as many steps takes seconds; a reader that is as quick as promised takes some hundredths of one."""
_PIECES = (1, 1, 1, 2, 3, 8, 24, 80)


def breaking_long(
    hold: Callable[[bytes], None], inputs: Sequence[bytes], seconds: float, chance: random.Random, *, structured: bool
) -> tuple[int, bytes | None, str]:
    """
    How many inputs were made long and tried within `seconds`, the first that `hold` did not bear, and what it said of it. It raises Slow for what
    takes too long.
    """
    ends, tried = time.monotonic() + seconds, 0
    for data in _longer(inputs, chance, structured=structured):
        if time.monotonic() >= ends:
            break
        tried += 1
        try:
            hold(data)
        except (Exception, Slow) as error:
            return tried, data, f"{type(error).__name__}: {error}"
    return tried, None, ""


def _longer(inputs: Sequence[bytes], chance: random.Random, *, structured: bool) -> Iterator[bytes]:
    """One after another, without end."""
    while any(inputs):
        data = chance.choice(inputs)
        documents = documents_of(data) if structured and chance.random() < 0.5 else []
        longer = _swollen(documents, chance) if documents else _stretched(data, chance)
        if longer and len(longer) <= LONG:
            yield longer


def _stretched(data: bytes, chance: random.Random) -> bytes:
    """The input with some bytes of it, or a line, repeated where they stand."""
    if not data:
        return b""
    begin = chance.randrange(len(data))
    end = begin + chance.choice(_PIECES)
    if chance.random() < 0.2:
        begin = data.rfind(b"\n", 0, begin) + 1
        end = data.find(b"\n", begin) + 1 or len(data)
    piece = data[begin:end]
    return data[:begin] + piece * ((LONG - len(data)) // len(piece)) + data[end:] if piece else b""


def _swollen(documents: list[Any], chance: random.Random) -> bytes:
    """The documents with one value repeated: a text or a list in itself, a mapping under more keys, anything else as a list of it."""
    found = [place for document in documents for place in places(document)]
    if not found:
        return b""
    container, key = chance.choice(found)
    value = container[key]
    room = LONG - sum(len(json.dumps(one)) + 5 for one in documents)
    size = len(json.dumps(value)) + 2
    if isinstance(value, str | list):
        container[key] = value * (room // size)
    elif isinstance(value, dict) and value:
        name, one = chance.choice(list(value.items()))
        value.update({f"{name}{number}": one for number in range(room // (len(json.dumps({name: one})) + 6))})
    else:
        container[key] = [value] * (room // size)
    return "\n---\n".join(json.dumps(one) for one in documents).encode()
