"""
Every problem code: what it means, why the input is refused, and what to do.

Codes are names that users may search for, allow-list and link to, so one that was released keeps its meaning. They stand
in one table for each sort of input. The reference pages in `docs/problems/` are made from them, and a test holds them
against the code. Beside them stand the ways in which git fails: these are of no place in a file, and end a command.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gitplacer.problemcodes import (
    announcements,
    charts,
    crds,
    dispatching,
    edits,
    files,
    gitops,
    groups,
    objects,
    ray,
    rayjobs,
    repos,
    scenarios,
    standby,
    strangers,
)
from gitplacer.problemcodes.code import Code, Failure
from gitplacer.problemcodes.git import FAILURES

__all__ = ["CODES", "FAILURES", "Code", "Failure"]

_TABLES = (
    announcements.CODES,
    charts.CODES,
    crds.CODES,
    dispatching.CODES,
    edits.CODES,
    files.CODES,
    objects.CODES,
    ray.CODES,
    rayjobs.CODES,
    gitops.CODES,
    groups.CODES,
    repos.CODES,
    scenarios.CODES,
    standby.CODES,
    strangers.CODES,
)

CODES: Mapping[str, Code] = MappingProxyType(dict(sorted(item for table in _TABLES for item in table.items())))
"""Code to its meaning, sorted."""
