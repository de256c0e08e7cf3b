"""
Plain values into YAML: whole documents that we generate, and the pieces that an edit inserts.

Texts are quoted by the rules of whoever reads them: ruamel.yaml knows YAML 1.2, where `yes` and `0777` are
harmless, Kubernetes does not. So every text that would be read as something else is put in double quotes before
ruamel sees it.
"""

from __future__ import annotations

import io
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from gitplacer.documents.scalars import NotJSON, is_time, resolve

if TYPE_CHECKING:
    from ruamel.yaml import YAML

_UNUSUAL = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]")
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]{0,99}")
_SIMPLE = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./-]*")


def dump(value: Any) -> bytes:
    """A document of its own in block style, lists indented like kubectl's. Ends with a line break."""
    return ("\n".join(block(value)) + "\n").encode()


def block(value: Any, indent: int = 2, offset: int = 0) -> list[str]:
    """
    A mapping or list that is not empty, as lines in block style from column 0. `indent`: of a mapping in a mapping;
    `offset`: of a list's dash, from the key it belongs to.
    """
    entry = _bare_entry(value)
    if entry is not None:
        return [entry]
    lines = _written(_styled(value, block=True), indent, offset, flow=False).split("\n")
    margin = len(lines[0]) - len(lines[0].lstrip(" "))  # ruamel indents a list at the root
    return [line[margin:] for line in lines]


def _bare_entry(value: Any) -> str | None:
    """A mapping of one name to another as ruamel would write it. Most edits are one, and ruamel takes a millisecond for it."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    entry = [*value, *value.values()]
    bare = all(isinstance(text, str) and _BARE.fullmatch(text) and _is_text(text) for text in entry)
    return ": ".join(entry) if bare else None


def flow(value: Any) -> str:
    """Any value on one line, to stand inside brackets or after a colon."""
    if isinstance(value, str) and _SIMPLE.fullmatch(value) and _is_text(value):
        return value
    return _written({"k": _styled(value, block=False)}, 2, 0, flow=True)[len("{k: ") : -len("}")]


def as_json(value: Any, indent: int | None = None) -> str:
    """JSON that is YAML too: what YAML does not print is escaped, what it cannot read as an escape is not."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", text)


def _is_text(text: str) -> bool:
    """Whether Kubernetes and Kustomize read this text, written plainly, as text, and nobody takes it for what a merge left behind."""
    try:
        is_text = isinstance(resolve(text), str) and not is_time(text)
        return is_text and text not in ("<<", "=") and not text.startswith("<<<<<<<")
    except NotJSON:
        return False


def _styled(value: Any, *, block: bool) -> Any:
    from ruamel.yaml import scalarstring  # loads slowly, and only edits need it

    if isinstance(value, dict):
        return {_styled(key, block=False): _styled(item, block=block) for key, item in value.items()}
    if isinstance(value, list):
        return [_styled(item, block=block) for item in value]
    if not isinstance(value, str):
        return value
    if block and "\n" in value and _fits_literal(value):
        return scalarstring.LiteralScalarString(value)
    return value if _is_text(value) and not _UNUSUAL.search(value) else scalarstring.DoubleQuotedScalarString(value)


def _fits_literal(text: str) -> bool:
    """Whether a text keeps its meaning as a `|` block without an indentation indicator."""
    lines = text.split("\n")
    return (
        bool(lines[0])
        and not any(_UNUSUAL.search(line) or line != line.rstrip() for line in lines)
        and not lines[0].startswith(" ")
        and bool(text.strip())
    )


def _written(value: Any, indent: int, offset: int, *, flow: bool) -> str:
    stream = io.StringIO()
    _writer(indent, offset, flow).dump(value, stream)
    return stream.getvalue().removesuffix("\n")


def _writer(indent: int, offset: int, flow: bool) -> YAML:
    from ruamel.yaml import YAML

    yaml = YAML(pure=True, plug_ins=[])
    yaml.Representer = _representer()
    yaml.default_flow_style = flow
    yaml.width = 1 << 30
    yaml.indent(mapping=indent, sequence=offset + 2, offset=offset)
    return yaml


@cache
def _representer() -> type[Any]:
    """ruamel's representer, but it writes null by its name, and never an anchor."""
    from ruamel.yaml.representer import RoundTripRepresenter

    class Representer(RoundTripRepresenter):
        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_none(self, data: None) -> Any:
            return self.represent_scalar("tag:yaml.org,2002:null", "null")

    Representer.add_representer(type(None), Representer.represent_none)
    return Representer
