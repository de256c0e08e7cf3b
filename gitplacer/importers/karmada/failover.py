"""
Karmada's `failover`: after how long something that is not healthy moves, and what becomes of the copy that it leaves.

Without it nothing moves because its pods do not come up, and neither does it here. What moves when a cluster is drained or lost is a
matter of the fleet in both systems.
"""

from __future__ import annotations

from typing import Any

from gitplacer.importers.reader import Reader
from gitplacer.importers.report import Notes, Outcome
from gitplacer.kinds.fields import duration_text
from gitplacer.problems import nearest

_PURGES = ("Directly", "Gracefully", "Never", "Immediately", "Graciously")
"""With the spellings of older versions."""


def read_failover(spec: Reader, gangs: bool, others: bool, notes: Notes) -> dict[str, Any]:
    """
    The `relocation` of a policy that places gangs: what is said, and that pending pods alone move nothing if nothing is said. `gangs` and
    `others` say whether some of what it takes asks for room, and whether some is placed whatever the room.
    """
    found: dict[str, Any] = {"when": {"PendingPods": "Never"}}
    if not spec.has("failover"):
        return found
    failover = spec.mapping("failover")
    if failover.has("application"):
        application = failover.mapping("application")
        if others:
            what = "what is placed whatever the room does not move because its pods do not come up, and nothing was made of it"
            todo = "take `admission: Immediate` out of its policy, and write `relocation.pendingFor`"
            notes.about(Outcome.NO_EQUAL, application, None, what, todo)
        _state(application, notes)
        found = _application(application, notes if gangs or not others else Notes())
    if failover.has("cluster"):
        _cluster(failover.mapping("cluster"), notes)
    return found


def _application(reader: Reader, notes: Notes) -> dict[str, Any]:
    seconds = reader.mapping("decisionConditions").integer("tolerationSeconds")
    seconds = 300 if seconds is None else seconds
    purge, grace = _purge(reader), reader.integer("gracePeriodSeconds")
    if not 0 <= seconds <= 10**8:
        reader.report("InvalidValue", f"{seconds} is no number of seconds", "300 is Karmada's default")
    what = f"pods that have not come up for {seconds} seconds let their group move: `pendingFor`. Karmada also moves what came up and is not healthy"
    notes.about(Outcome.CHANGED, reader, None, what)
    found: dict[str, Any] = {"pendingFor": duration_text(max(seconds, 0))}
    if purge in ("Directly", "Immediately"):
        return {**found, "strategy": "RemoveFirst"}
    if purge == "Never":
        what = "the copy that is left is always removed here"
        notes.about(
            Outcome.NO_EQUAL, reader, "purgeMode", what, "`surge: {approval: Required}` lets somebody agree to it first"
        )
        return {**found, "strategy": "Surge", "surge": {"approval": "Required"}}
    surge = {"surge": {"timeout": duration_text(grace)}} if grace else {}
    if grace:
        what = f"a new copy that is not ready after {grace} seconds is taken back here; Karmada removes the old one"
        notes.about(Outcome.CHANGED, reader, "gracePeriodSeconds", what)
    return {**found, "strategy": "Surge", **surge}


def _cluster(reader: Reader, notes: Notes) -> None:
    purge, seconds = _purge(reader), reader.integer("tolerationSeconds")
    _state(reader, notes)
    what = "what is on a lost cluster always moves: `state: Lost`, or the fleet's `lostAfter`"
    todo = f"write `lostAfter: {seconds}s` into fleet.yaml, if silence means lost" if seconds is not None else ""
    notes.about(Outcome.CHANGED, reader, None, what, todo)
    if purge:
        what = f"purgeMode {purge}: what is on a lost cluster is removed from its directory with the move"
        notes.about(Outcome.CHANGED, reader, "purgeMode", what)


def _purge(reader: Reader) -> str:
    found = reader.text("purgeMode")
    if found and found not in _PURGES:
        reader.report("InvalidValue", f'unknown purgeMode "{found}"', nearest(found, _PURGES), key="purgeMode")
    return found


def _state(reader: Reader, notes: Notes) -> None:
    if reader.has("statePreservation"):
        reader.value("statePreservation")
        what = "nothing of what ran is written into the manifest of the new copy"
        notes.about(
            Outcome.NO_EQUAL,
            reader,
            "statePreservation",
            what,
            "let the app find its state in a store that all clusters reach",
        )
