"""
What a pass depends on, as one value: `hydrate` is a function of it.

It is apart from `hydrate` for those who only have to know whether the inputs are the same as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from gitplacer.kinds.fleet import FleetSpec
from gitplacer.model.byhand import MergedMove, RevertedMove
from gitplacer.model.signers import Uncounted
from gitplacer.tree import Tree


class SourceCommit(Struct, frozen=True, kw_only=True):
    """The commit that is planned. `repo_url` is None where the source has no address that others could use."""

    id: str
    author: str
    date: str
    subject: str
    body: str = ""
    repo_url: str | None = None


class Inputs(Struct, frozen=True, kw_only=True):
    """
    All that a pass depends on. `commit` is None for a work tree as it lies, which can be planned but not published;
    the ids name the capacity tree and the deployment commit, None where there is none. `foreign` are paths of the
    deployment repo that somebody else changed, with the blob id that we had written ('' for none); `reverted` and `merged`
    are, by group, what somebody did with relocations of ours. `trusted` counts instead of what the source's Fleet says, where the
    source is not trusted with that; such a pass is not published. `uncounted` is told as a problem, and decides nothing.
    """

    source: Tree
    commit: SourceCommit | None
    capacity: Tree
    capacity_id: str | None = None
    deployment: Tree
    deployment_commit: str | None = None
    foreign: Mapping[str, str] = field(default_factory=dict)
    reverted: Mapping[str, RevertedMove] = field(default_factory=dict)
    merged: Mapping[str, MergedMove] = field(default_factory=dict)
    now: datetime
    version: str
    trusted: FleetSpec | None = None
    uncounted: Uncounted | None = None

    def in_memory(self) -> Inputs:
        """The same with their files read: what may be sent to other processes, or shared with them."""
        source, capacity, deployment = (tree.in_memory() for tree in (self.source, self.capacity, self.deployment))
        return replace(self, source=source, capacity=capacity, deployment=deployment)
