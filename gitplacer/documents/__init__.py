"""
YAML ⇄ documents with positions, typed getters and splicing edits. Nothing else imports a YAML library.

`parse` turns a file's bytes into plain values, as Kubernetes would read them; a Document knows where it
stands; a Cursor reads it without raising; `splice` edits it without touching any other byte.
"""

from gitplacer.documents.cursor import Cursor, dotted
from gitplacer.documents.document import Document
from gitplacer.documents.findings import LISTED, Findings
from gitplacer.documents.overwritten import last_ones
from gitplacer.documents.parse import MAX_BYTES, Fault, ParsedDocument, ParsedFile, Path, Value, parse
from gitplacer.documents.patch import Edit, EditError, applied, pointer, value_at
from gitplacer.documents.scalars import is_time, is_word
from gitplacer.documents.splicing import splice
from gitplacer.documents.write import dump

__all__ = [
    "LISTED",
    "MAX_BYTES",
    "Cursor",
    "Document",
    "Edit",
    "EditError",
    "Fault",
    "Findings",
    "ParsedDocument",
    "ParsedFile",
    "Path",
    "Value",
    "applied",
    "dotted",
    "dump",
    "is_time",
    "is_word",
    "last_ones",
    "parse",
    "pointer",
    "splice",
    "value_at",
]
