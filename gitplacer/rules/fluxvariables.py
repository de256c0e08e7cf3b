"""
Texts in which Flux would replace variables.

A Kustomization with `postBuild.substitute` or `substituteFrom` puts its values in place of `${NAME}`, and nothing in place
of a name it has no value for; `${NAME:-default}`, `${#NAME}` and the other forms of bash count too, and what begins
with `${` and is none of them stops the whole Kustomization. Shell commands, Ray entrypoints and Grafana
dashboards are full of it. `$${` is written for `${`; `$NAME` and `$(NAME)` are left alone, and so are comments and
objects that opt out.
Source: kustomize_varsub.go and envsubst (its scanner) of github.com/fluxcd/pkg.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitplacer.documents import Document, Path, Value

SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
"""The annotation or label that opts out, by the value `disabled`."""

_DOLLARS = re.compile(r"\$[${]")
"""`$$` stands for one dollar, whatever comes after it."""


def variables(document: Document) -> tuple[Path, ...]:
    """Where in an object a key or a text has a variable that Flux would replace, in the document's order."""
    return () if _opts_out(document.value) else tuple(_found(document.value, ()))


def _opts_out(value: Value) -> bool:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return False
    said = (metadata.get("annotations"), metadata.get("labels"))
    return any(isinstance(one, dict) and one.get(SUBSTITUTE) == "disabled" for one in said)


def _found(value: Value, path: Path) -> Iterator[Path]:
    if isinstance(value, str):
        if "${" in value and "${" in _DOLLARS.findall(value):
            yield path
    elif isinstance(value, dict):
        for key, below in value.items():
            if "${" in key and "${" in _DOLLARS.findall(key):
                yield (*path, key)
            elif isinstance(below, (str, dict, list)):
                yield from _found(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            if isinstance(below, (str, dict, list)):
                yield from _found(below, (*path, index))
