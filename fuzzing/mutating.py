"""
Changes to documents that leave them documents: a value for another, a key more or less, a value from somewhere else.

Bytes that are changed at random are seldom YAML, and seldomer an object. So half of the inputs of a target that is `structured` are made in this way.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gitplacer.documents import parse

_ODD: tuple[Any, ...] = (
    *(None, True, False, "", "x", "*", "a" * 64, "é\u202e", "{{ x }}", [], {}, [None], {"": ""}),
    *(0, 1, -1, 2, 100_001, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 0.5, -0.5, 1.0, 1e300),
    *("-1", "1Gi", "500m", "1e3", "0", "9223372036854775807", "1h", "2026-01-02T03:04:05Z", "../x", "a/b", "All"),
)
_Container = dict[str, Any] | list[Any]


def mutator(
    words: Sequence[str], seeds: Sequence[bytes], bytewise: Callable[[bytes, int], bytes]
) -> Callable[[bytes, int, int], bytes]:
    """
    What libFuzzer is to call: bytes, the most bytes, and a seed, into other bytes. `words` may become keys; one of `seeds` stands in for bytes that
    are no documents, or after so many changes mean little.
    """

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            return bytewise(data, most)
        documents = [] if chance.random() < 0.3 else documents_of(data)
        documents = documents or documents_of(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 4)) if documents else 0):
            _change(documents, chance, words)
        written = "\n---\n".join(json.dumps(one) for one in documents).encode()
        return written if len(written) <= most else bytewise(data, most)

    return mutated


def documents_of(data: bytes) -> list[Any]:
    """The values of the documents in some bytes, of which nothing is shared; none where it is not plain."""
    if b"&" in data:
        return []  # what aliases share would be written as often as it is named
    found: list[Any] = json.loads(json.dumps([item.value for item in parse(data).documents]))
    return found


def _change(documents: list[Any], chance: random.Random, words: Sequence[str]) -> None:
    found = [place for document in documents for place in places(document)]
    if not found:
        return
    container, key = chance.choice(found)
    way = chance.random()
    if way < 0.5:
        container[key] = copy.deepcopy(chance.choice(_ODD))
    elif way < 0.7:
        other, name = chance.choice(found)
        container[key] = copy.deepcopy(other[name])
    elif way < 0.85:
        del container[key]
    elif isinstance(container[key], dict):
        container[key][chance.choice(words)] = copy.deepcopy(chance.choice(_ODD))
    else:
        container[key] = {chance.choice(words): container[key]}


def places(value: _Container) -> Iterator[tuple[Any, Any]]:
    """Every value with what holds it, and where in that."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(item, dict | list):
            yield from places(item)
