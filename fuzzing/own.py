"""The documents of our own kinds in an input, for the targets that are about them."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzing.target import FILE, expect, expect_well_said
from gitplacer.documents import Document, parse
from gitplacer.kinds.fields import Model
from gitplacer.kinds.parse import is_own, parse_own


def own_documents(data: bytes) -> Iterator[tuple[Document, Model]]:
    """Those that the parser takes, each as it takes it. Raises Broken where what it refuses is not well said."""
    for index, item in enumerate(parse(data).documents):
        document = Document(FILE, item, index, lambda: data)
        if not is_own(document):
            continue
        found = parse_own(document)
        if isinstance(found, Model):
            yield document, found
        else:
            expect(bool(found), "it is refused without a word")
            expect_well_said(data, found)
