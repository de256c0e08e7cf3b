"""
A bound method that does not keep its object: what one object gives another to call, without a reference cycle.

The planner's objects call back: `Reservations` asks the `Occupancy` that has it. With a plain bound method the two would refer to each other, and only
the garbage collector frees such a cycle, which does not run during a pass. All that was found out while deciding, on every cluster, hangs on
such objects; with a weak reference it is freed as soon as the last user is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakMethod

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def weakly(method: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The bound method, to be called as long as its object is there."""
    kept = WeakMethod(method)

    def call(*args: Given.args, **more: Given.kwargs) -> Answer:
        there = kept()
        assert there is not None, "its object is gone"
        return there(*args, **more)

    return call
