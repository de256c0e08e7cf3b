"""
Edits that read only the parts of a document that they change.

An edit is proved by reading what it made. Most edits are of one line below `metadata`, and most of a manifest is `spec`. So a
document is cut where the entries of its root begin, and an edit is made in its section alone: read with marks, edited, read
back, or several at once (`splicing.at_once`). `splicing.splice` reads the whole instead; it is the law that this is held to, and the way wherever anything here is not sure.

Why that is the same. The root is a mapping in block style whose keys stand at column 0, and a section is the text from one key to
the next. At such a key whoever reads YAML is where they are at the start of a text: nothing is open but the root mapping, for a
key at column 0 ends every block, plain text and comment above it, and what stands in quotes or brackets has ended, or the
section could not be read by itself. A section refers to no other: in a document with an anchor, an alias or a merge key at
its root nothing is cut (`compose.Composed.keys`). So a document reads as its sections do, one after another; and when a section
changes and still starts with its own key at column 0, is read to its end as this one entry, and ends with its line, then the
document reads as before with this one value changed.

How new text is written, by contrast, may depend on the whole: how far its mappings are indented, which line ends it has. The
latter is told to each section; where the former matters (`edit.Elsewhere`) the whole is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from gitplacer.documents import edit as whole
from gitplacer.documents.edit import Elsewhere, Sheet
from gitplacer.documents.parse import BOM, ParsedDocument
from gitplacer.documents.patch import Edit, EditError
from gitplacer.documents.splicing import at_once, most_read, readings, splice

_MARKER = re.compile(r"^(?:---|\.\.\.)", re.MULTILINE)


def splice_sections(text: bytes, edits: Sequence[Edit], parsed: ParsedDocument) -> bytes:
    """What `splice` makes of the text of one document, and what it raises; `parsed` is what the text was read as."""
    if parsed.sections and all(edit.path for edit in edits):
        try:
            return _spliced(text.decode(), edits, parsed).encode()
        except (Elsewhere, EditError):  # what is refused is refused in the words of the whole
            pass
    return splice(text, edits)


def _spliced(text: str, edits: Sequence[Edit], parsed: ParsedDocument) -> str:
    """The text with the edits made. Raises Elsewhere where the whole has to be read, and EditError."""
    keys = [str(edit.path[0]) for edit in edits]
    sections = _Sections(text, parsed)
    done = {
        key for key in dict.fromkeys(keys) if sections.edit_at_once(key, [e for e in edits if str(e.path[0]) == key])
    }
    characters = 0
    for number, (key, edit) in enumerate(zip(keys, edits, strict=True), 1):
        if key in done:
            continue
        characters += sections.length
        if characters > most_read(sections.length):
            raise Elsewhere()
        sections.edit(key, edit, last=key not in keys[number:])
    return sections.text


class _Sections:
    """A document in sections, with the sheets of those that are being edited."""

    def __init__(self, text: str, parsed: ParsedDocument) -> None:
        self._head = BOM if text.startswith(BOM) else ""
        text = text[len(self._head) :]
        starts = parsed.sections
        self._head += text[: starts[0]]
        pieces = [text[at:end] for at, end in zip(starts, (*starts[1:], len(text)), strict=True)]
        self._pieces = dict(zip(parsed.value, pieces, strict=True))
        self._value = parsed.value
        self._sheets: dict[str, Sheet] = {}
        self._last = next(reversed(self._pieces))

    @property
    def text(self) -> str:
        return self._head + "".join(self._pieces.values())

    @property
    def length(self) -> int:
        """Characters of the whole, without a byte order mark."""
        return len(self.text.removeprefix(BOM))

    def edit(self, key: str, edit: Edit, *, last: bool) -> None:
        """Make an edit in the section of a key; `last`: no other follows there."""
        if edit.op == "remove" and len(edit.path) == 1:
            raise Elsewhere()
        sheet = self._sheet(key)
        self._keep(key, whole.edited(sheet, edit, self._reading(key, sheet, marks=not last)))

    def edit_at_once(self, key: str, edits: Sequence[Edit]) -> bool:
        """Make edits in the section of a key with fewer readings than one for each; False, and none is made, where that cannot be."""
        if len(edits) < 2 or "\r\n" in self.text:
            return False
        sheet = self._sheet(key)
        after = at_once(
            sheet,
            edits,
            lambda text, marks: self._reading(key, sheet, marks=marks)(text),
            readings(self.length),
        )
        if after is not None:
            self._keep(key, after)
        return after is not None

    def _sheet(self, key: str) -> Sheet:
        if key not in self._pieces:
            raise Elsewhere()
        sheet = self._sheets[key] = self._sheets.get(key) or self._first(key)
        return replace(sheet, line_break=whole.line_break(self.text), section=True)

    def _keep(self, key: str, sheet: Sheet) -> None:
        self._sheets[key] = sheet
        self._pieces[key] = sheet.text

    def _reading(self, key: str, before: Sheet, *, marks: bool) -> Callable[[str], Sheet | None]:
        """How a section is read back, of which other sections decide how it reads where it does not stand by itself."""
        pairs = before.root.pairs
        assert pairs is not None
        head = before.text[: pairs[key].key.end]

        def read_back(after: str) -> Sheet | None:
            ended = key == self._last or after.endswith("\n")
            if not after.startswith(head) or not ended or _MARKER.search(after):
                raise Elsewhere()
            sheet = whole.read(after, marks=marks)
            return sheet and replace(sheet, section=True)

        return read_back

    def _first(self, key: str) -> Sheet:
        """The section of a key as it was, if it reads as the whole said."""
        sheet = whole.read(self._pieces[key])
        if sheet is None or sheet.value != {key: self._value[key]}:
            raise Elsewhere()
        return sheet
