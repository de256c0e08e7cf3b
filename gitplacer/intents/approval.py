"""Approvals as files: what `gitplacer move` and `return` write, and whether one stands already."""

from __future__ import annotations

import re
from collections.abc import Container
from datetime import datetime

from gitplacer.explain import rfc3339
from gitplacer.kinds.approval import ApprovedAction
from gitplacer.kinds.fields import API_VERSION
from gitplacer.snapshot import Snapshot
from gitplacer.source.consent import Consent, consent_to
from gitplacer.yamltext import to_yaml

FOLDER = "approvals"


def standing_approval(snapshot: Snapshot, group: str, action: ApprovedAction, to: str | None) -> Consent | None:
    """The Approval in a source that says this of a group already and has not been carried out; None without one."""
    record = snapshot.records.get(group)
    used = record.approvals or () if record is not None else ()
    found = consent_to(snapshot.source.own.approvals, group, action, snapshot.now, carried_out=used)
    return found if found is not None and found.approval.spec.to == to else None


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
