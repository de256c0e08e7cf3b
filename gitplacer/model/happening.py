"""What has happened to a group in one commit of the deployment repo."""

from __future__ import annotations

import enum

from msgspec import Struct


class Happening(enum.StrEnum):
    """What a commit did to a group."""

    PLACED = "Placed"
    EXTENDED = "Extended"
    RELOCATED = "Relocated"
    LESSENED = "Lessened"  # it left some clusters and stays on others
    UPDATED = "Updated"
    WAITS = "Waits"  # it is nowhere yet, or was sent back
    GOVERNED = "Governed"  # another policy governs it
    FINISHED = "Finished"  # its jobs have ended
    RENAMED = "Renamed"  # the same objects are a group of another id
    REMOVED = "Removed"
    MERGED = "Merged"  # somebody merged a proposal to move it
    REVERTED = "Reverted"  # somebody took a commit of ours back
    BY_HAND = "ByHand"  # somebody changed its files


class Event(Struct, frozen=True, kw_only=True):
    """
    One commit, and what it did to a group. `said` is why in the words of the commit, `code` as the record has it. `by` are the policy,
    the approvals and the person that it is owed to, each as a pair. `source` is the commit of the source it was computed from, with
    its author and subject where that is to be had. `also` is the other id of a group that was renamed, or the commit that was
    reverted.
    """

    at: str
    commit: str
    group: str
    what: Happening
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    phase: str = ""
    code: str = ""
    said: str = ""
    by: tuple[tuple[str, str], ...] = ()
    source: str = ""
    source_author: str = ""
    source_subject: str = ""
    also: str = ""
