"""
Plans of bases, remembered until something they were computed from is another.

Whoever asks for the plan of a branch asks for that of its base as well, and so does everybody else with a branch, at each push. A base
is nearly always what was published last: nothing is to be done there, so its plan stands for as long as its inputs are the same, as that
of a pass that had nothing to do (see `quiet`). What is kept of it is what a change is held against. The cache may be deleted at any time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from gitplacer.comparison import Baseline
from gitplacer.hydrate import Inputs, SourceCommit, hydrate
from gitplacer.model.horizon import Horizon
from gitplacer.model.verdicts import OUTGROWN
from gitplacer.passes import quiet
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.source.files import Memo
from gitplacer.tree import Tree


@dataclass(frozen=True, slots=True)
class Kept:
    """The plan of a base at rest, without its tree, which is that of the deployment. It stands from `since` on, until `until` (None for ever)."""

    since: datetime
    until: datetime | None
    plan: Baseline

    def holds(self, now: datetime) -> bool:
        """Whether the same would be planned at a time."""
        return self.since <= now and (self.until is None or now < self.until)


def baseline(inputs: Inputs, tree: str, source: Callable[[], Tree], memo: Memo, ledgers: LedgerCache) -> Baseline:
    """
    The plan of another tree of the source, which `source` reads and `tree` is the id of, from the same capacity, deployment repo and time
    as `inputs`. Raises as `source` and `hydrate` do.
    """
    key = key_of(inputs, tree)
    known = recalled(memo, key, inputs.now) if key is not None else None
    if known is not None:
        return replace(known.plan, tree=inputs.deployment)
    horizon = Horizon(inputs.now)
    asked = replace(inputs, source=source(), uncounted=None, now=horizon.now)
    made = hydrate(asked, memo=memo, ledgers=ledgers, with_candidates=OUTGROWN)
    found = Baseline.of(made.view)
    if key is not None and not made.steps:
        kept = Kept(horizon.instant, horizon.until, replace(found, tree=Tree()))
        text = pickle.dumps(kept, protocol=5)  # which loses the horizon if the instant itself is in it
        if not horizon.lost:
            memo.remember_text(key, text)
    return found


def key_of(inputs: Inputs, tree: str) -> str | None:
    """
    The digest of all that the plan of a base depends on but its time; None where that is not told by ids. Its commit is not among it: what
    that says of itself is written with what is done, and at rest nothing is.
    """
    nobodys = SourceCommit(id="", author="", date="", subject="")
    trusted = inputs.trusted.model_dump_json() if inputs.trusted is not None else ""
    return quiet.key_of(replace(inputs, commit=nobodys, trusted=None, uncounted=None), repr(("base", tree, trusted)))


def recalled(memo: Memo, key: str, now: datetime) -> Kept | None:
    """What would be planned at this time, if that is known."""
    kept = memo.recall_text(key)
    found = pickle.loads(kept) if kept is not None else None
    return found if isinstance(found, Kept) and found.holds(now) else None
