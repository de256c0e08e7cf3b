"""
What a plan promised, and what became of it.

A reviewer merges what a plan showed. Until a pass carries it out, capacity and the deployment repo may have moved, and then the pass
decides anew. So a plan is remembered in a few bytes: each group that it would change, and where that would be. Afterwards
they are held against the records in the deployment repo, group by group. A group that was to be updated where it is has the same record
if that was held, so what tells is whether any of its files was written.

A remembered plan travels through places that others can write to. It decides nothing, so all that is asked of it is that reading
it does no harm.
"""

from __future__ import annotations

import base64
import binascii
import enum
import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from msgspec import Struct, field

from gitplacer.kinds.record import PlacementRecord
from gitplacer.model.decision import Action

_VERSION = 1
_LARGEST = 4_000_000
"""Bytes of a remembered plan, unpacked."""
_INPUTS = ("source", "capacity", "deployment", "version")


class Promised(Struct, frozen=True):
    """What a plan says of a group: its action, where its files will be, and whether that would happen without the change as well."""

    action: str
    to: tuple[str, ...]
    anyway: bool = False


class Promise(Struct, frozen=True):
    """A plan as it is remembered: the ids of what it was computed from ('' for none), and every group that it changes."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, Promised] = field(default_factory=dict)


class Fate(enum.StrEnum):
    """What became of what was planned for a group."""

    AS_PLANNED = "AsPlanned"
    FOUND_ROOM = "FoundRoom"  # it was to wait, and need not any more
    WAITS = "Waits"
    NOT_UPDATED = "NotUpdated"  # it is where it was to be, and has none of what it was to get
    DIFFERS = "Differs"


class GroupOutcome(Struct, frozen=True, kw_only=True):
    """One group: what was planned, and where it is now, with the code of the reason in its record."""

    group: str
    planned: Promised
    now: tuple[str, ...]
    reason: str
    fate: Fate


class Outcome(Struct, frozen=True, kw_only=True):
    """
    What became of a plan. `moved` are the inputs that were others when it was carried out; `commits` are those that did it, oldest
    first, empty where no pass has. `promise` is None where no plan is remembered.
    """

    promise: Promise | None
    groups: tuple[GroupOutcome, ...]
    moved: tuple[str, ...]
    commits: tuple[str, ...]

    @property
    def fate(self) -> Fate | None:
        """The worst of all groups; None where no pass has carried out what was to be done."""
        if not self.commits and (self.promise is None or self.promise.groups):
            return None
        fates = {each.fate for each in self.groups}
        worst = (Fate.DIFFERS, Fate.NOT_UPDATED, Fate.WAITS)
        return next((fate for fate in worst if fate in fates), Fate.AS_PLANNED)


def promise_of(document: Mapping[str, Any]) -> Promise:
    """What a plan's JSON promises. Raises ValueError for what is none."""
    groups = document.get("groups")
    if document.get("kind") != "Plan" or not isinstance(groups, list):
        raise ValueError("no plan")
    found = {}
    for entry in groups:
        if not isinstance(entry, dict) or not isinstance(entry.get("group"), str):
            raise ValueError("a group without a name")
        action, to = entry.get("action"), entry.get("to")
        if not isinstance(action, str) or not _is_names(to):
            raise ValueError(f"no action or no clusters for {entry['group']}")
        if action != Action.KEEP:
            found[entry["group"]] = Promised(action, tuple(to), str(entry.get("because")).casefold() == "anyway")
    given = document.get("inputs")
    given = given if isinstance(given, dict) else {}
    ids = {"source": _id(given, "source", "commit"), "capacity": _id(given, "capacity", "tree")}
    ids |= {"deployment": _id(given, "deployment", "commit"), "version": str(given.get("version") or "")}
    return Promise(ids, dict(sorted(found.items())))


def _id(given: Mapping[str, Any], name: str, key: str) -> str:
    entry = given.get(name)
    found = entry.get(key) if isinstance(entry, dict) else None
    return found if isinstance(found, str) else ""


def _is_names(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def packed(promise: Promise) -> str:
    """A promise in few characters, none of which means anything to Markdown or HTML."""
    value = {
        "v": _VERSION,
        "inputs": dict(promise.inputs),
        "groups": {name: [each.action, list(each.to), each.anyway] for name, each in promise.groups.items()},
    }
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().replace("-", ".")


def unpacked(text: str) -> Promise | None:
    """The promise again; None for anything else."""
    try:
        data = base64.b64decode(text.replace(".", "-"), altchars=b"-_", validate=True)
        reader = zlib.decompressobj()
        raw = reader.decompress(data, _LARGEST)
        if reader.unconsumed_tail or not reader.eof:
            return None
        value = json.loads(raw)
        groups = {}
        for name, (action, to, anyway) in value["groups"].items():
            if not isinstance(action, str) or not _is_names(to) or not isinstance(anyway, bool):
                return None
            groups[name] = Promised(action, tuple(to), anyway)
        inputs = {name: value["inputs"][name] for name in _INPUTS}
        if value["v"] != _VERSION or not all(isinstance(each, str) for each in inputs.values()):
            return None
        return Promise(inputs, groups)
    except (binascii.Error, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def became(
    promise: Promise | None,
    records: Mapping[str, PlacementRecord],
    inputs: Mapping[str, str],
    commits: Sequence[str],
    written: Collection[str] | None = None,
) -> Outcome:
    """
    What became of a promise by the records that a pass left, what the pass was computed from, and the groups of which files were `written`,
    None if nobody knows. What would have happened anyway is no part of it.
    """
    promised = promise.groups.items() if promise is not None and commits else ()
    groups = tuple(
        _outcome(name, each, records.get(name), is_written=written is None or name in written)
        for name, each in promised
        if not each.anyway
    )
    before = promise.inputs if promise is not None else {}
    moved = tuple(
        name for name in ("capacity", "deployment", "version") if before.get(name, "") != inputs.get(name, "")
    )
    return Outcome(promise=promise, groups=groups, moved=moved if commits else (), commits=tuple(commits))


def _outcome(name: str, planned: Promised, record: PlacementRecord | None, *, is_written: bool) -> GroupOutcome:
    now = clusters_with_files(record)
    if planned.action == Action.HOLD and set(now) == set(planned.to):
        fate = Fate.AS_PLANNED  # a group that is held keeps its record, also of having waited
    elif record is not None and record.waiting_since is not None and all(e.state == "Waking" for e in record.clusters):
        fate = Fate.WAITS
    elif planned.action == Action.WAIT and now:
        fate = Fate.FOUND_ROOM
    elif set(now) == set(planned.to) and (record is not None or planned.action == Action.REMOVE):
        held = planned.action == Action.UPDATE and not is_written
        fate = Fate.NOT_UPDATED if held else Fate.AS_PLANNED
    else:
        fate = Fate.DIFFERS
    return GroupOutcome(
        group=name, planned=planned, now=now, reason=record.reason if record is not None else "", fate=fate
    )


def clusters_with_files(record: PlacementRecord | None) -> tuple[str, ...]:
    """The clusters that have a group's files, or will when they are awake."""
    entries: Iterable[Any] = record.clusters if record is not None else ()
    leaving = any(entry.state == "Removing" for entry in entries)
    gone = ("Removing", "Adding") if leaving else ("Removing",)
    return tuple(sorted(entry.name for entry in entries if entry.state not in gone))
