"""The cluster is no longer one that the policy allows: its labels, its taints, the policy or a wish were edited."""

from __future__ import annotations

from msgspec.structs import replace

from gitplacer.model.decision import Finding, Reason
from gitplacer.relocation.triggers.standing import Standing


def trigger(standing: Standing) -> Finding | None:
    """The subject is `<cluster>: <code> <subject of that>`."""
    unmet = standing.unmet
    if unmet is None:
        return None
    return replace(unmet, code=Reason.NOT_ELIGIBLE, subject=f"{standing.name}: {unmet.code} {unmet.subject}".strip())
