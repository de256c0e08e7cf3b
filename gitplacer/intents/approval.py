"""Approvals as files: what `gitplacer move` and `return` write."""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import datetime

from gitplacer.explain import rfc3339
from gitplacer.kinds.approval import ApprovedAction
from gitplacer.kinds.fields import API_VERSION
from gitplacer.yamltext import to_yaml

FOLDER = "approvals"


def approval_file(
    group: str,
    action: ApprovedAction,
    *,
    to: str | None,
    now: datetime,
    expires: datetime,
    reason: str,
    taken: Container[str],
) -> tuple[str, bytes]:
    """An Approval for one group: a path that is not taken, and the file. Its name says what and when."""
    what = f"{action.lower()}-{group.replace('/', '-')}" + (f"-to-{to}" if to else "")
    plain = re.sub(r"[^a-z0-9-]+", "-", what.lower()).strip("-")[:180].strip("-")
    stem = f"{plain}-{now:%Y%m%d-%H%M%S}"
    name, count = stem, 1
    while (path := f"{FOLDER}/{name}.yaml") in taken:
        count += 1
        name = f"{stem}-{count}"
    spec = {"groups": [group], "action": action, **({"to": to} if to else {}), "expires": rfc3339(expires)}
    spec |= {"reason": reason} if reason else {}
    return path, to_yaml({"apiVersion": API_VERSION, "kind": "Approval", "metadata": {"name": name}, "spec": spec})
