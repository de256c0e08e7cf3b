"""
The planner's ledgers opened once more, for whoever tells what a plan leaves or tries what else would fit.

`ledgers` are those that the plan was made with, and save opening them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitplacer.model.decision import Decision
from gitplacer.placement.books import Books
from gitplacer.placement.ledgercache import LedgerCache
from gitplacer.placement.occupancy import Occupancy
from gitplacer.placement.onepass import Pass
from gitplacer.placement.updating import Edits
from gitplacer.snapshot import Snapshot


def books_empty(snapshot: Snapshot, edits: Edits) -> Books:
    """The ledgers with nothing taken but what the snapshots show. Whoever plans on these again does not write to them."""
    return Pass(snapshot, {}, edits).books


def books_before(
    snapshot: Snapshot, decisions: Sequence[Decision], edits: Edits, ledgers: LedgerCache | None = None
) -> Books:
    """The ledgers with the room of everything taken that is placed before the pass which decided that."""
    shared = Pass(snapshot, {}, edits, ledgers=ledgers)
    return Occupancy(shared, {d.group: d.before for d in decisions}, {}).books


def books_after(
    snapshot: Snapshot, decisions: Sequence[Decision], edits: Edits, ledgers: LedgerCache | None = None
) -> Books:
    """The ledgers with the room of everything taken that is placed after it, and of what is kept for groups that wait."""
    shared = Pass(snapshot, {}, edits, ledgers=ledgers)
    for decision in decisions:
        for name in decision.after:
            if decision.counts_on(name) or decision.roles:
                shared.assume(decision.group, name, decision.role_on(name), decision.counts_on(name))
        shared.taken.update({(decision.group, name): found.code for name, found in decision.reasons.items()})
    claims = {d.group: d.claim for d in decisions if d.claim is not None}
    return Occupancy(shared, {d.group: d.after for d in decisions}, claims).books
