"""What a drain comes to, pass by pass, as data."""

from __future__ import annotations

import enum

from msgspec import Struct


class Return(enum.StrEnum):
    """What happens to a group that has left, when the cluster takes groups again."""

    BY_ITSELF = "ByItself"  # its policy likes the cluster better, and moves it
    PROPOSED = "Proposed"  # its policy likes the cluster better, and somebody has to consent
    BY_HAND = "ByHand"  # nothing, until somebody sends it back


class DrainStep(Struct, frozen=True, kw_only=True):
    """What one pass does with a group: where it is with its files before and after it, and why, as a sentence."""

    group: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    what: str


class DrainPass(Struct, frozen=True, kw_only=True):
    """
    One pass: what it is made on (`needs`: what snapshots have to show first, or what has to pass), what it does, and how many
    groups are on the cluster after it, by the files that are there.
    """

    needs: tuple[str, ...]
    steps: tuple[DrainStep, ...]
    left: int


class Stuck(Struct, frozen=True, kw_only=True):
    """A group that stays, with the code and the words of the reason, and the nearest clusters that do not take it."""

    group: str
    code: str
    why: str
    refused: tuple[tuple[str, str, str], ...] = ()


class Drain(Struct, frozen=True, kw_only=True):
    """
    What draining a cluster comes to. `passes` are those that do something; `stuck` who is there at the end; `waits` who has left
    and waits for room; `platform` are groups of platform objects, which stay; `back` tells of each group that has left what
    becomes of it when the cluster takes groups again; `is_cut` says that there would be more passes. `nominated` are groups that Kueue may
    have started there, which no pass takes away.
    """

    cluster: str
    passes: tuple[DrainPass, ...]
    stuck: tuple[Stuck, ...]
    platform: tuple[str, ...]
    back: tuple[tuple[str, Return], ...]
    is_cut: bool = False
    nominated: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing of workloads is there at the end."""
        return not self.stuck and not self.is_cut and not self.nominated
