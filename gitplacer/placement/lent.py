"""
A method that a whole lends to one of its parts.

A part that keeps a bound method of its whole keeps the whole, which keeps the part. Nobody lets go of such a circle but the collector of
garbage, and that one does not run during a pass. All that was found out while deciding, on every cluster, hangs on such wholes;
so what they lend does not keep them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import WeakMethod

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def lent(method: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The bound method, to be called as long as its object is there."""
    kept = WeakMethod(method)

    def call(*args: Given.args, **more: Given.kwargs) -> Answer:
        there = kept()
        assert there is not None, "a part is not used without its whole"
        return there(*args, **more)

    return call
