"""Addresses in manifests that name a Service of the same namespace by DNS."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitplacer.documents import Cursor
from gitplacer.workloads.facts import Reference

_HOST = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/]*@)?([a-z0-9]([a-z0-9.-]*[a-z0-9])?)(?::[0-9]+)?(?:/.*)?", re.ASCII
)
_NAME = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


def own_service(root: Cursor, cursor: Cursor, key: str) -> Iterator[Reference]:
    """
    The Service that the address under a key names, if it lies in the namespace of the object: `redis:6379`,
    `redis.ns:6379`, `redis://redis-0.redis.ns.svc.cluster.local`. Any other host is none of ours.
    """
    match = _HOST.fullmatch(cursor.text(key).strip())
    labels = match[1].split(".") if match else []
    own = root.mapping("metadata").text("namespace")
    if len(labels) == 1:
        name, namespace = labels[0], ""
    elif "svc" in labels[2:]:
        end = labels.index("svc", 2)
        name, namespace = labels[end - 2], labels[end - 1]
    elif len(labels) == 2 and labels[1] == own:
        name, namespace = labels[0], own
    else:
        return
    if _NAME.fullmatch(name) and (not own or namespace in ("", own)):
        elsewhere = "" if namespace == own else namespace
        yield Reference("", "Service", name, namespace=elsewhere, path=(*cursor.path, key))
