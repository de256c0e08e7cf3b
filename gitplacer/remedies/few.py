"""
What would place the few groups that a reviewer asks about first, at a price that a plan in a pull request can bear.

Each trial is a plan of the whole fleet. So it is a few trials for a few groups, fewer the larger the fleet is, and none for one whose
plan takes seconds: `gitplacer explain` looks further, for one group, when somebody asks. The bounds are in plans and not in seconds,
so the same inputs have the same answer on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from gitplacer.accounts import Accounts
from gitplacer.hydrate import Hydration, Inputs
from gitplacer.model.remedy import Remedy
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.remedies.case import waits
from gitplacer.remedies.search import remedy
from gitplacer.source.files import Memo

MOST_GROUPS = 3
"""Groups for which somebody looks."""
_WORK = 6_000
_MOST = 10


def few_trials(hydration: Hydration) -> int:
    """How many plans may be made for each of a few groups where nobody says otherwise; none in a large fleet."""
    return min(_MOST, _WORK // hydration.view.size)


def few_remedies(
    inputs: Inputs,
    hydration: Hydration,
    groups: Sequence[str],
    memo: Memo | None = None,
    most_trials: int | None = None,
    *,
    accounts: Accounts | None = None,
    ledgers: LedgerCache | None = None,
    known: dict[str, Remedy | None] | None = None,
) -> dict[str, Remedy]:
    """
    For the first few of these groups that wait for room, what was found to place each: at most `most_trials` plans for one.
    What was found for a group is kept in `known`, for whoever asks again.
    """
    most = few_trials(hydration) if most_trials is None else most_trials
    if most < 1:
        return {}
    waiting = (name for name in groups if waits(hydration.view.decision(name)))
    ledgers, known = ledgers or LedgerCache(), {} if known is None else known
    asked = list(islice(waiting, MOST_GROUPS))
    for name in asked:
        if name not in known:
            known[name] = remedy(inputs, hydration, name, memo, most, accounts=accounts, ledgers=ledgers)
    return {name: found for name in asked if (found := known[name]) is not None}
