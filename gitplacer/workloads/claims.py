"""Volume claims whose data lives in one place."""

from __future__ import annotations

from gitplacer.documents import Cursor

_SINGLE_NODE = ("ReadWriteOnce", "ReadWriteOncePod")


def single_node_claim(spec: Cursor) -> str:
    """
    Why a claim's pods must not be started elsewhere, or ''. A claim without `accessModes`, which the API server
    refuses unless something fills them in, is taken for ReadWriteOnce: what may hold data is not moved on a guess.
    """
    modes = spec.texts("accessModes") or ("ReadWriteOnce",)
    return next((f"{mode} volume claim" for mode in _SINGLE_NODE if mode in modes), "")
