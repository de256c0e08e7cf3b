"""
One HTML file that loads nothing and lets nothing be loaded.

A policy in its head forbids everything but the one script and the one style sheet that stand in it, by their hashes; markup made
from text is forbidden too. The data is a block that no browser runs. So whatever a name says, it stays a name.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from gitplacer.plaintext import UNSEEN, printable

SCRIPTS = ("data.js", "elements.js", "lists.js", "maps.js", "views.js", "main.js")
"""The parts of the script, in this order; together they are one."""
_PLACEHOLDER = re.compile(r"@([A-Z]+)@")
_ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%234c6fff' d='M2 2h5v5H2zM9 9h5v5H9z'/%3E%3Cpath fill='%2394a3b8' d='M9 2h5v5H9zM2 9h5v5H2z'/%3E%3C/svg%3E"


def page(document: Mapping[str, Any], parts: Mapping[str, bytes]) -> str:
    """The page about a document; `parts` are its files: `page.html`, `page.css` and those of SCRIPTS."""
    script = '"use strict";\n(() => {\n' + "".join(parts[name].decode() for name in SCRIPTS) + "})();\n"
    style = parts["page.css"].decode()
    policy = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    filled = {
        "POLICY": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "TITLE": html.escape(f"{printable(str(document['fleet']))} · gitplacer"),
        "ICON": _ICON,
        "STYLE": style,
        "SCRIPT": script,
        "DATA": embedded(document),
    }
    pieces = _PLACEHOLDER.split(parts["page.html"].decode())
    return "".join(filled[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def embedded(document: Mapping[str, Any]) -> str:
    """JSON that may stand in a script element: nothing in it ends one, begins a comment, or cannot be seen."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
