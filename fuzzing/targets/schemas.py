"""Our own kinds: what the parser takes, the kind's schema takes as well; what it refuses, it refuses at a place in the file."""

from __future__ import annotations

from functools import cache
from unittest import mock

import jsonschema_rs

from fuzzing.target import FILE, Target, expect, expect_well_said
from gitplacer.documents import Document, parse
from gitplacer.kinds import TABLE
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, parse_own
from gitplacer.kinds.schema import kind_schema


@cache
def _schema(kind: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(kind_schema(kind))


def check(data: bytes) -> None:
    for index, item in enumerate(parse(data).documents):
        document = Document(FILE, item, index, lambda: data)
        if not is_own(document):
            continue
        found = parse_own(document)
        if isinstance(found, Model):
            kind = str(item.value["kind"])
            expect(type(found) is TABLE[kind], "it is of another kind than it says")
            expect(_schema(kind).is_valid(item.value), "the parser takes what the schema refuses")
        else:
            expect(bool(found), "it is refused without a word")
            expect_well_said(data, found)


TARGET = Target(
    check=check,
    bug="nulls are not looked for",
    planted=lambda: mock.patch("gitplacer.kinds.parse._mentions_null", lambda value: False),
    structured=True,
)
