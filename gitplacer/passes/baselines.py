"""
Plans of bases, remembered until something they were computed from is another.

Whoever asks for the plan of a branch asks for that of its base as well, and so does everybody else with a branch, at each push. A base
is nearly always what was published last: nothing is to be done there, so its plan stands for as long as its inputs are the same, as that
of a pass that had nothing to do (see `quiet`). What is kept of it is what a change is held against. The cache may be deleted at any time.

One that is not remembered is planned by another process, while this one plans the change.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from gitplacer.comparison import Baseline
from gitplacer.hydrate import Hydration, Inputs, hydrate
from gitplacer.inpart import Footing, InPart, footing_of, planned_beside, planned_in_part
from gitplacer.model.decision import Action, Decision, Finding, Reason
from gitplacer.model.horizon import Horizon
from gitplacer.model.verdicts import OUTGROWN, Verdicts
from gitplacer.passes.basekeys import base_at, base_key, keep_base
from gitplacer.passes.seats import ledgers_beside
from gitplacer.passes.sparsely import pickled
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.runners.meanwhile import Meanwhile
from gitplacer.source.edited import Change
from gitplacer.source.files import Memo
from gitplacer.tree import Changes, Tree, changes_between

FEWEST = 500
"""Files of a source from which on its plan takes longer than a process takes to start, and to tell of it."""
MOST = 50_000
"""Files up to which two plans at a time find the memory that they need on most machines: each takes 75 MiB for a thousand."""


class Kept(Struct, frozen=True):
    """
    The plan of a base at rest, without its tree, which is that of the deployment, and what a part of the fleet needs to be planned by itself.
    It stands from `since` on, until `until` (None for ever). `knows_outgrown`: whether it was found out which groups find no room where they are; else
    it says of all that they are kept.
    """

    since: datetime
    until: datetime | None
    plan: Baseline
    footing: Footing | None
    knows_outgrown: bool

    def holds(self, now: datetime) -> bool:
        """Whether the same would be planned at a time."""
        return self.since <= now and (self.until is None or now < self.until)


class BasePlan:
    """
    The plan of another tree of the source, which `source` reads and `tree` is the id of, from the same capacity, deployment repo and time
    as `inputs`. One that is not known is planned by another process from the beginning on, if the fleet is large; close it when nobody wants to know
    any more.
    """

    def __init__(
        self,
        inputs: Inputs,
        tree: str,
        source: Callable[[], Tree],
        memo: Memo,
        ledgers: LedgerCache,
        *,
        place: str = "",
    ) -> None:
        """`place` is where a pass keeps what it finds at rest, as for `remember_base`."""
        self._inputs, self._memo = inputs, memo
        self._key = base_key(inputs, tree)
        kept = recalled(memo, self._key, inputs.now, place) if self._key is not None else None
        if kept is not None and not kept.knows_outgrown:
            kept = None  # of some of these a plan tells
        self._known = replace(kept.plan, tree=inputs.deployment) if kept is not None else None
        self._footing = kept.footing if kept is not None else None
        self._source = source
        self._ledgers = ledgers
        self._made = partial(_made, inputs, source, memo, ledgers)
        self._meanwhile: Meanwhile | None = None
        if self._known is None and FEWEST <= len(inputs.source) <= MOST:
            told = Meanwhile(lambda: pickle.dumps(_apart(inputs, source, memo.forked(), place), protocol=5))
            self._meanwhile = told if told.is_begun else None  # else the ledgers are shared

    @property
    def is_known(self) -> bool:
        """Whether nobody has to wait for it."""
        return self._known is not None or self._meanwhile is None

    def plan(self) -> Baseline:
        """The plan. Raises as `source` and `hydrate` do."""
        if self._known is None:
            made = self._made() if self._meanwhile is None else pickle.loads(self._meanwhile.answer())
            if self._key is not None and made.kept is not None:
                self._memo.remember_text(self._key, made.kept)
            self._known = replace(made.plan, tree=self._inputs.deployment.apply(made.changes))
        return self._known

    def changed_in_part(self) -> InPart | None:
        """The plan of the inputs themselves, made of the part of the fleet in which they differ from a base that is known; None where that does not tell."""
        if self._known is None or self._footing is None:
            return None
        change = Change.between(self._source(), self._inputs.source)
        return planned_in_part(self._inputs, change, self._known, self._footing, memo=self._memo, ledgers=self._ledgers)

    def changed_beside(self, asked: Verdicts) -> Hydration | None:
        """The plan of the inputs themselves, made of those whom it concerns in which they differ from such a base, beside all who stay; None as above."""
        if self._known is None or self._footing is None:
            return None
        change, ledgers = Change.between(self._source(), self._inputs.source), self._ledgers
        return planned_beside(
            self._inputs, change, self._known, self._footing, memo=self._memo, ledgers=ledgers, with_candidates=asked
        )

    def close(self) -> None:
        """Plan no further."""
        if self._meanwhile is not None:
            self._meanwhile.close()


class _Made(Struct, frozen=True):
    """A plan that was made now, without its tree; what is other in that than in the deployment repo; and what is to be remembered, if anything is."""

    plan: Baseline
    changes: Changes
    kept: bytes | None


def _apart(inputs: Inputs, source: Callable[[], Tree], memo: Memo, place: str) -> _Made:
    """The same in a process of its own, which shares no ledgers."""
    return _made(inputs, source, memo, ledgers_beside(memo, place))


def _made(inputs: Inputs, source: Callable[[], Tree], memo: Memo, ledgers: LedgerCache) -> _Made:
    horizon = Horizon(inputs.now)
    asked = replace(inputs, source=source(), uncounted=None, now=horizon.now)
    made = hydrate(asked, memo=memo, ledgers=ledgers, with_candidates=OUTGROWN)
    found = Baseline.of(made.view)
    changes = changes_between(inputs.deployment, found.tree)
    bare = replace(found, tree=Tree())
    # An instant that is itself in what was pickled has lost the horizon by then.
    text = _kept(asked, made, bare, horizon, ledgers, knows_outgrown=True) if not made.steps else b""
    return _Made(bare, changes, text if text and not horizon.lost else None)


def _kept(
    inputs: Inputs,
    made: Hydration,
    bare: Baseline,
    horizon: Horizon,
    ledgers: LedgerCache | None,
    *,
    knows_outgrown: bool,
) -> bytes:
    """What is to be remembered of a plan in which nothing happens."""
    footing = footing_of(inputs, made.view, ledgers)  # which asks for the time too
    return _written(Kept(horizon.instant, horizon.until, bare, footing, knows_outgrown))


def remember_base(
    memo: Memo,
    inputs: Inputs,
    tree: str,
    made: Hydration,
    horizon: Horizon,
    place: str,
    ledgers: LedgerCache | None = None,
) -> None:
    """
    Keep, at a place of a fleet's own, what a pass came to that had nothing to do, for whoever holds a change of its source against it, whose id is
    `tree`. A pass that places nobody does not ask which groups find no room where they are. `ledgers` are those that it was made with.
    """
    key, outgrown = base_key(inputs, tree), made.view.plan.outgrown
    if key is None or inputs.uncounted is not None or made.steps:
        return
    kept, told = Finding(code=Reason.KEPT), Finding(code=Reason.OUTGROWN)
    decisions = tuple(
        replace(d, finding=told) if d.group in (outgrown or ()) and d.action is Action.KEEP and d.finding == kept else d
        for d in made.view.plan.decisions
    )
    bare = replace(Baseline.of(made.view), decisions=decisions, tree=Tree())
    text = _kept(inputs, made, bare, horizon, ledgers, knows_outgrown=outgrown is not None)
    if not horizon.lost:
        keep_base(memo, place, key, text)


def keep(memo: Memo, inputs: Inputs, tree: str, place: str, kept: Kept) -> None:
    """Keep what is known of the plan of a base at rest at a fleet's own place."""
    if (key := base_key(inputs, tree)) is not None:
        text = _written(kept)
        keep_base(memo, place, key, text)
        _lately[:] = [(text, kept)]


def recalled(memo: Memo, key: str, now: datetime, place: str = "") -> Kept | None:
    """What would be planned at this time, if that is known: by a plan that was asked for, or by the last pass that kept it at a place."""
    text = memo.recall_text(key)
    if text is None and place:
        text = base_at(memo, place, key)
    found = _read(text) if text is not None else None
    return found if isinstance(found, Kept) and found.holds(now) else None


_lately: list[tuple[bytes, object]] = []
"""What was read or kept last, and as which bytes: who makes one pass after another has it at hand."""


def _written(kept: Kept) -> bytes:
    return pickled(kept, (Decision, Finding))


def _read(text: bytes) -> object:
    known = next(iter(_lately), None)
    if known is None or known[0] != text:
        known = text, pickle.loads(text)
        _lately[:] = [known]
    return known[1]
