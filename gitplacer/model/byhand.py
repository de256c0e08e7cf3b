"""
What people did in the deployment repo with relocations of ours, and had a right to do: took one back, or let one in that
was proposed. Both were verified file by file before they got here.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class RevertedMove(Struct, frozen=True, kw_only=True):
    """
    A group is where it was before a relocation, because somebody reverted that. `commit` brought it to the branch, at `at`;
    `left` are the clusters that the group was taken back from. `epochs` are, by cluster and unit, those that were reached before
    the sentinels were turned back with the rest. `approvals` are those that were carried out since, by identity, which the record
    knows nothing of any more.
    """

    commit: str
    at: datetime
    left: tuple[str, ...] = ()
    epochs: tuple[tuple[str, str, int], ...] = ()
    approvals: tuple[str, ...] = ()


class MergedMove(Struct, frozen=True, kw_only=True):
    """
    A group has moved because somebody merged the proposal to move it, which was made at `proposed_at`. `commit` brought it to the
    branch, at `at`.
    """

    commit: str
    at: datetime
    proposed_at: datetime
