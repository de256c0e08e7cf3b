"""
The kind Removals: how many groups were removed lately, in the deployment repo.

The record of a group goes with it, so something else has to remember that it went: the guard on removals counts over passes. Written
in the commit that removes groups, by which what is too old is forgotten; nothing in it changes by itself.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gitplacer.kinds.fields import Instant, Integer, Model, OwnKind
from gitplacer.kinds.selectors import Metadata

GUARDS = "guards"
"""The directory in the deployment repo of what guards remember."""
REMOVALS = "removals"
"""The name of the one object of the kind, and of its file."""


class Removal(Model):
    """Groups that were removed in one pass."""

    at: Instant
    """The pass."""
    groups: Annotated[Integer, Field(ge=1)]
    """How many, without those to whose removal somebody had consented."""
    tenant: str | None = None
    """Whose they were, where there are Tenants: each is counted by itself."""


class Removals(OwnKind):
    """How many groups were removed lately. Written by gitplacer; not synced to clusters."""

    kind: Literal["Removals"]
    metadata: Metadata
    removed: tuple[Removal, ...] = ()
    """The removals, the oldest first."""

    @property
    def name(self) -> str:
        return self.metadata.name
