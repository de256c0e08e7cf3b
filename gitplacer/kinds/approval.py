"""
The kind Approval: somebody's consent to what gitplacer would not do by itself, as a commit.

It names groups, what may happen to them, and until when: consent that never ends would be a setting, and settings belong
in policies. For each group it counts once. Consent that reaches further than one may see, to whatever a pattern matches or to more than
guards allow, is to one plan: it names that by a digest, and counts for no other.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gitplacer import pathglob
from gitplacer.kinds.fields import DnsLabel, Instant, Matching, Model, OwnKind
from gitplacer.kinds.selectors import Metadata

ApprovedAction = Literal["Move", "Return", "Remove", "Exceed"]

GroupGlob = Annotated[
    str,
    Matching(
        r"^[^\s/\x00-\x1f\\{}]+/[^\s/\x00-\x1f\\{}]+$",
        "must be the id of a group, such as research/train, or a pattern such as research/*",
        400,
    ),
]


LONGEST = timedelta(days=30)
"""Consent that would last longer than this from now on does not count yet."""

PlanDigest = Annotated[
    str,
    Matching(
        r"^sha256:[0-9a-f]{64}$",
        "must be the digest that gitplacer tells for the plan: sha256: and 64 hexadecimal digits",
    ),
]
_WILDCARDS = re.compile(r"[*?\[]")


class ApprovalSpec(Model):
    """What is consented to, for which groups, and until when."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"action": {"const": "Move"}}, "required": ["action"]},
            "else": {"properties": {"to": False}},
        }
    )

    groups: Annotated[tuple[GroupGlob, ...], Field(min_length=1)]
    """The groups, by id. The wildcards *, ? and [...] stay within the namespace or the name: `research/*`, `*/*`."""
    action: ApprovedAction
    """Move: they may be relocated. Return: they go back to where they were before their last relocation. Remove: they may be
    removed, whatever guards removals. Exceed: what happens to them does not count against the guards."""
    to: DnsLabel | None = None
    """Move only: the cluster they are to go to. Without it, consent is to what gitplacer proposes."""
    expires: Instant
    """When the consent ends, whether it was used or not. More than 30 days from now it does not count yet."""
    plan: PlanDigest | None = None
    """The plan that is consented to, by the digest that gitplacer tells for it. The Approval counts only while the groups that it names
    would be treated, without it, as in that plan. Needed with action Exceed and where a group is a pattern."""
    reason: Annotated[str, Field(max_length=500)] = ""
    """Why, for whoever reads the history."""

    @model_validator(mode="after")
    def _only_a_move_has_a_destination(self) -> Self:
        if self.to is not None and self.action != "Move":
            raise ValueError(f"to is for action Move; {self.action} has no destination")
        return self


class Approval(OwnKind):
    """Consent, as a commit, to what needs it. It counts once for each group, and until it expires."""

    kind: Literal["Approval"]
    metadata: Metadata
    spec: ApprovalSpec

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def identity(self) -> str:
        """
        The name and a digest of what is consented to. Records remember it, so that it counts once: another wording of the
        reason is the same consent, another date or group a new one.
        """
        said = self.spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"reason"})
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return f"{self.name}.{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def needs_plan(self) -> bool:
        """Whether it counts for one plan only."""
        return self.spec.action == "Exceed" or any(map(_WILDCARDS.search, self.spec.groups))

    def names(self, group_id: str) -> bool:
        """Whether it is about a group."""
        return pathglob.matches_any(self.spec.groups, group_id)
