"""
Where passes will connect to once a change is merged, and do not yet.

The Fleet says where snapshots are read and what is written. A plan is made with what the base says, as long as nobody merges the change,
so a new address shows in nothing that the plan does; and it is what a change would bring that wants snapshots from somewhere else, or
the deployment somewhere else. So each field that differs is told by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gitplacer.kinds.fleet import FleetSpec

_FIELDS = (
    ("deployment", "url"),
    ("deployment", "branch"),
    ("deployment", "root"),
    ("capacity", "url"),
    ("capacity", "branch"),
    ("capacity", "path"),
)


class Reconnection(Struct, frozen=True):
    """A field of the Fleet that says where to connect, what it says before a change and after it; '' for nothing."""

    field: str
    before: str
    after: str


def reconnections(before: FleetSpec, after: FleetSpec) -> Iterator[Reconnection]:
    """What a change of the Fleet lets passes connect to."""
    for part, name in _FIELDS:
        values = [getattr(getattr(spec, part), name) or "" for spec in (before, after)]
        if values[0] != values[1]:
            yield Reconnection(f"spec.{part}.{name}", *values)
