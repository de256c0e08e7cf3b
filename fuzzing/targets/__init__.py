"""
The targets, by name. Each is in a module of its own, which is imported only when it is asked for: what it imports must be
instrumented first.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzing.target import Target

NAMES = ("documents", "quantities", "schemas", "selectors", "sizing", "snapshots", "trailers", "webhooks")


def target(name: str) -> Target:
    """One of NAMES."""
    found: Target = importlib.import_module(f"fuzzing.targets.{name}").TARGET
    return found
