"""Our own kinds: what the parser takes, the kind's schema takes as well; what it refuses, it refuses at a place in the file."""

from __future__ import annotations

from functools import cache
from unittest import mock

import jsonschema_rs

from fuzzing.own import own_documents
from fuzzing.target import Target, expect
from gitplacer.kinds import TABLE
from gitplacer.kinds.schema import kind_schema


@cache
def _schema(kind: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(kind_schema(kind))


def check(data: bytes) -> None:
    for document, found in own_documents(data):
        kind = str(document.value["kind"])
        expect(type(found) is TABLE[kind], "it is of another kind than it says")
        expect(_schema(kind).is_valid(document.value), "the parser takes what the schema refuses")


TARGET = Target(
    check=check,
    bug="nulls are not looked for",
    planted=lambda: mock.patch("gitplacer.kinds.parse._nulls", lambda value, path: ()),
    structured=True,
)
