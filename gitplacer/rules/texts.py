"""
What a ConfigMap or a Secret holds: texts under keys. The API server refuses `port: 8000` and `debug: true` among them, and whoever
reads them finds the old ones, or none.

Null is left alone: the API server takes it for an empty text. Source: kubernetes 1.34 staging/src/k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from gitplacer.documents import Cursor

FIELDS: Mapping[str, tuple[str, ...]] = {"ConfigMap": ("data", "binaryData"), "Secret": ("data", "stringData")}
"""Kinds of Kubernetes' core that hold texts, and where."""


def texts(root: Cursor) -> None:
    """Tell what is no text where only texts may be, in an object of `FIELDS`."""
    for field in FIELDS[root.text("kind")]:
        root.check_texts(
            field, hint="write it as a block of text: | after the key, and below it, indented, what is there now"
        )
