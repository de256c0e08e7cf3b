"""
What a commit says it was made from, read back from its trailers.

`commits.PassTrailers` writes them, this reads them, and both are held together by one rule: what was read, written again, is
what stands there, line by line. So a trailer that is repeated, out of order, half written or smuggled in is no claim that is
believed in part; it is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from gitplacer.commits import (
    CO_AUTHOR,
    FOREIGN,
    MERGED,
    PREFIX,
    PROPOSED,
    REVERTED,
    PassTrailers,
    foreign_path,
)
from gitplacer.model.byhand import MergedMove, RevertedMove

MOST_STEPS = 100_000
"""Commits of one pass; whoever says that there were more is not believed."""

_ID = re.compile(r"[0-9a-f]{40}")
_STEP = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}")
_NOW = "%Y-%m-%dT%H:%M:%SZ"
_OWN = tuple(f"{PREFIX}{key}" for key in ("Group", "From", "To", "Reason", "Phase"))

Trailers = Sequence[tuple[str, str]]


class ProvenanceClaim(Struct, frozen=True, kw_only=True):
    """
    What a commit says of the pass that made it, before anybody has proved it: its inputs, which of its steps it is, and the group it proposes to move, if
    it is a proposal.
    """

    inputs: PassTrailers
    step: int
    steps: int
    proposed: str | None = None


class Malformed(Struct, frozen=True):
    """A trailer that no pass would have written, or one that is not there (`value` is None)."""

    key: str
    value: str | None


def value_of(trailers: Trailers, key: str) -> str | None:
    """The value of a trailer; the last one if it is repeated."""
    values = [value for name, value in trailers if name.lower() == key.lower()]
    return values[-1] if values else None


def is_ours(trailers: Trailers) -> bool:
    """Whether a pass says that it made the commit, as a proposal or as one of its own."""
    return value_of(trailers, f"{PREFIX}Version") is not None


def read_claim(trailers: Trailers) -> ProvenanceClaim | Malformed:
    """What the trailers of a commit say, or the first of them that says nothing a pass would say."""
    said = {
        key: value_of(trailers, f"{PREFIX}{key}") for key in ("Source", "Capacity", "Base", "Step", "Now", "Version")
    }
    for key in ("Source", "Step", "Now", "Version"):
        if said[key] is None:
            return Malformed(f"{PREFIX}{key}", None)
    for key in ("Source", "Capacity", "Base"):
        if said[key] is not None and not _ID.fullmatch(said[key] or ""):
            return Malformed(f"{PREFIX}{key}", said[key])
    step = _STEP.fullmatch(said["Step"] or "")
    if step is None or not int(step[1]) <= int(step[2]) <= MOST_STEPS:
        return Malformed(f"{PREFIX}Step", said["Step"])
    now = _now(said["Now"] or "")
    if now is None:
        return Malformed(f"{PREFIX}Now", said["Now"])
    if not _VERSION.fullmatch(said["Version"] or ""):
        return Malformed(f"{PREFIX}Version", said["Version"])
    inputs = _with_heard(
        trailers, source=said["Source"] or "", capacity=said["Capacity"] or "", base=said["Base"] or "", now=now,
        version=said["Version"] or "",
    )  # fmt: skip
    if isinstance(inputs, Malformed):
        return inputs
    claim = ProvenanceClaim(inputs=inputs, step=int(step[1]), steps=int(step[2]), proposed=value_of(trailers, PROPOSED))
    return _unwritten(trailers, claim) or claim


def _with_heard(
    trailers: Trailers, *, source: str, capacity: str, base: str, now: datetime, version: str
) -> PassTrailers | Malformed:
    foreign: dict[str, str] = {}
    reverted: dict[str, RevertedMove] = {}
    merged: dict[str, MergedMove] = {}
    for key, value in trailers:
        if key == FOREIGN:
            path, oid = foreign_in(value)
            if not path or (oid and not _ID.fullmatch(oid)):
                return Malformed(key, value)
            foreign[path] = oid
        group, told = heard_in(key, value)
        if told is not None and not _ID.fullmatch(told.commit):
            return Malformed(key, value)
        if isinstance(told, MergedMove):
            merged[group] = told
        elif told is not None:
            reverted[group] = told
    return PassTrailers(
        source=source, capacity=capacity, base=base, now=now, version=version, foreign=foreign, reverted=reverted,
        merged=merged,
    )  # fmt: skip


def _unwritten(trailers: Trailers, claim: ProvenanceClaim) -> Malformed | None:
    """The first trailer that would not have been written for a claim, or not there. What tells of a group follows."""
    wanted = claim.inputs.lines(claim.step, claim.steps)
    for number, (key, value) in enumerate(trailers):
        if number < len(wanted):
            if f"{key}: {value}" != wanted[number]:
                return Malformed(key, value)
        elif key not in (*_OWN, PROPOSED, CO_AUTHOR):
            return Malformed(key, value)
    if len(trailers) < len(wanted):
        return Malformed(wanted[len(trailers)].partition(":")[0], None)
    return None


def _now(text: str) -> datetime | None:
    try:
        found = datetime.strptime(text, _NOW).replace(tzinfo=UTC)
    except ValueError:
        return None
    return found if f"{found:%Y-%m-%dT%H:%M:%SZ}" == text else None


def foreign_in(value: str) -> tuple[str, str]:
    """The path of a trailer about a foreign change, with the blob id that we had written ('' for none)."""
    oid, _, path = value.partition(" ")
    return foreign_path(path), "" if oid == "none" else oid


def heard_in(key: str, value: str) -> tuple[str, RevertedMove | MergedMove | None]:
    """What a trailer of a pass says that it was told, with the group; None for one about something else."""
    group, _, rest = value.partition(" ")
    said = dict(word.partition("=")[::2] for word in rest.split(" "))
    commit, at = said.get("commit", ""), instant(said.get("at", ""))
    if key == MERGED:
        return group, MergedMove(commit=commit, at=at, proposed_at=instant(said.get("proposed", "")))
    if key != REVERTED:
        return group, None
    left = tuple(name for name in said.get("left", "").split(",") if name)
    epochs = []
    for word in said.get("epochs", "").split(","):
        where, _, epoch = word.partition(":")
        cluster, _, unit = where.partition("/")
        if epoch.isdecimal() and len(epoch) < 20:
            epochs.append((cluster, unit, int(epoch)))
    approvals = tuple(item for item in said.get("approvals", "").split(",") if item)
    return group, RevertedMove(commit=commit, at=at, left=left, epochs=tuple(epochs), approvals=approvals)


def instant(text: str) -> datetime:
    """A time as git or a trailer writes it; long ago for what is none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return datetime.fromtimestamp(0, UTC)
