"""
What is not needed any more is let go of at once: nothing collects garbage during a pass, so a circle of objects would stay for ever.
"""

from __future__ import annotations

import gc

import pytest

from gitplacer.placement.autoscalers.patterns import Steps
from gitplacer.placement.plan import plan
from gitplacer.placement.weakly import weakly
from gitplacer.snapshot import Snapshot
from tests.test_example import snapshot

OURS = ("gitplacer.placement.", "gitplacer.scheduler.")
SMALL = {Steps}
"""What hangs on a function that calls itself by its name, and on nothing else."""


def left_behind(read: Snapshot) -> set[str]:
    """The types of the planner's objects that only the collector lets go of after a plan."""
    gc.collect()
    gc.disable()
    try:
        plan(read)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        kinds = {type(thing) for thing in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds - SMALL if kind.__module__.startswith(OURS)}


def test_a_plan_leaves_nothing_behind() -> None:
    assert left_behind(snapshot()) == set()


class Whole:
    def __init__(self) -> None:
        self.part = weakly(self.answer)

    def answer(self, *, more: int) -> int:
        return 41 + more


def test_a_weak_method_is_called_as_long_as_its_object_is_there() -> None:
    whole = Whole()
    part = whole.part
    assert part(more=1) == 42
    del whole
    with pytest.raises(AssertionError, match="its object is gone"):
        part(more=1)
