"""Values come back as they were, whether they say little or much, and those that say little are short."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from gitplacer.model.decision import Action, Claim, Decision, Finding, Reason, Tally
from gitplacer.passes.sparsely import pickled

KINDS = (Decision, Finding)
KEPT = Decision(
    group="web/shop", policy="web", action=Action.KEEP, before=("a",), after=("a",), finding=Finding(code=Reason.KEPT)
)


@pytest.mark.parametrize(
    "decision",
    [
        KEPT,
        replace(KEPT, reasons={"a": Finding(code=Reason.FITS, subject="x")}),
        replace(KEPT, finding=Finding(code=Reason.INSUFFICIENT_CAPACITY, tally=(Tally(Reason.NODE_NOT_READY, "", 3),))),
        replace(KEPT, action=Action.WAIT, after=(), claim=Claim(cluster="b", displaced=())),
        replace(KEPT, consent="yes", waiting_since=datetime(2026, 1, 2, tzinfo=UTC), ended={"a": datetime(2026, 1, 3, tzinfo=UTC)}),
    ],
)  # fmt: skip
def test_a_decision_comes_back_as_it_was(decision: Decision) -> None:
    assert pickle.loads(pickled((decision, decision), KINDS)) == (decision, decision)


def test_many_that_say_little_are_short() -> None:
    many = [replace(KEPT, group=f"web/app-{number}") for number in range(100)]
    assert 1.5 * len(pickled(many, KINDS)) < len(pickle.dumps(many, protocol=5))
