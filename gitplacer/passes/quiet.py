"""
Passes that had nothing to do, remembered until something they were computed from is another.

Most passes change nothing, and find out by planning and rendering the whole fleet. But a pass is a function of its inputs: of the same
commits, the same capacity and the same version comes the same, unless `now` makes a difference. A `Horizon` tells until when it makes
none. So what such a pass said is kept in the cache, by the digest of all else that it depends on, and the next pass, usually of another
process, says it again for as long as the horizon reaches.

Only passes without a commit are kept, and none that proposes a move, reads a work tree as it lies, or lets something depend on the
instant itself. The cache may be deleted at any time; `reconcile --full` computes it all the same.
"""

from __future__ import annotations

import hashlib
import pickle
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from gitplacer.packaged import code_digest
from gitplacer.problems import Problem

if TYPE_CHECKING:
    from gitplacer.hydrate import Hydration, Inputs
    from gitplacer.model.horizon import Horizon
    from gitplacer.source.files import Memo

_TREES = {"source", "capacity", "deployment"}


class Quiet(Struct, frozen=True):
    """
    What a pass came to that had nothing to do: what is wrong, and which groups it leaves held and waiting, in words. Any pass says the same
    from `since` on, until `until` (None for ever).
    """

    since: datetime
    until: datetime | None
    problems: tuple[Problem, ...]
    standing: str

    def holds(self, now: datetime) -> bool:
        """Whether a pass would say this at a time."""
        return self.since <= now and (self.until is None or now < self.until)


def earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    """The earlier end, of which None is none."""
    return min((end for end in (one, other) if end is not None), default=None)


def quiet(hydration: Hydration, horizon: Horizon) -> Quiet | None:
    """What is to be remembered of a pass that was computed at `horizon.now`; None where nothing is."""
    from gitplacer.explain import standing  # which takes a while to import

    left = standing(hydration.view.plan)
    if hydration.steps or hydration.proposals or horizon.lost:
        return None
    return Quiet(horizon.instant, horizon.until, hydration.problems, left)


def key_of(inputs: Inputs, folder: str) -> str | None:
    """
    The digest of all that a pass depends on but its time; None where that is not told by ids. `folder` is where in its commit the source
    is. The trees of source and deployment are those of their commits.
    """
    if inputs.commit is None or inputs.deployment_commit is None or inputs.trusted is not None:
        return None
    return digest_of(folder, told_of(inputs))


def digest_of(*told: object) -> str:
    """The key of something that follows from this and from our code."""
    return hashlib.sha256(repr((code_digest(), *told)).encode()).hexdigest()


def told_of(inputs: Inputs) -> list[tuple[str, object]]:
    """All that a pass depends on but its time, as far as it is told by ids."""
    return [(name, getattr(inputs, name)) for name in inputs.__struct_fields__ if name not in {*_TREES, "now"}]


def recall(memo: Memo, key: str, now: datetime) -> Quiet | None:
    """What a pass at this time would say, if that is known."""
    kept = memo.recall_text(key)
    found = pickle.loads(kept) if kept is not None else None
    return found if isinstance(found, Quiet) and found.holds(now) else None


def remember(memo: Memo, key: str, found: Quiet) -> None:
    """Keep it for later passes of the same inputs."""
    memo.remember_text(key, pickle.dumps(found, protocol=5))
