"""`gitplacer status --promises`: how many of the groups that were told they fit were ready in time, and why the others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE, rfc3339
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import FORMAT_VERSION, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.decision import Reason
from gitplacer.model.promises import Kept, Promise, Why
from gitplacer.plaintext import aligned, printable

CODES = (Reason.FITS, Reason.TIGHT_FIT, Reason.FITS_BY_SCALE_UP)
_SAID: Mapping[Why, str] = {
    Why.PENDING_PODS: "pods waited for a node",
    Why.NOT_APPLIED: "the cluster had not applied the commit",
    Why.NOT_SHOWN: "the cluster had applied the commit and showed nothing of the group",
    Why.FAILED: "it failed",
    Why.UNREADY: "all pods had nodes, and it was not ready",
    Why.NOT_YET: "the time is not over",
    Why.LEFT: "it left before anybody could see",
    Why.SUSPENDED: "it was suspended",
    Why.NOT_OBSERVED: "no snapshot was taken when it was due",
}
_COLUMNS = ("Promised", "In time", "Late", "Not ready", "Not known")
_SHORT = 8


def as_text(promises: Sequence[Promise], within: timedelta, options: Options) -> str:
    """By what was said, by policy, and each that was not kept. The last line says what is not known."""
    if not promises:
        return "nothing was promised yet: no group was placed because it fits\n"
    span = duration(within)
    by_code = [_counts(str(code), [p for p in promises if p.code == code]) for code in CODES]
    policies = sorted({p.policy for p in promises})
    by_policy = [_counts(printable(name), [p for p in promises if p.policy == name]) for name in policies]
    lines = [f"Ready within {span} after their placement", ""]
    lines += aligned([("Was told", *_COLUMNS), *(row for row in by_code if row[1] != "0")], "")
    lines += ["", *aligned([("Policy", *_COLUMNS), *by_policy], "")]
    for kept, title in ((Kept.NOT_READY, "Not ready"), (Kept.LATE, "Late"), (Kept.NOT_KNOWN, "Not known")):
        some = [p for p in promises if p.kept is kept]
        if some:
            lines += ["", title, *aligned([_row(p) for p in some])]
    return "\n".join([*lines, "", _ending(promises, span)]) + "\n"


def _counts(name: str, promises: Sequence[Promise]) -> tuple[str, ...]:
    kept = Counter(p.kept for p in promises)
    known = [kept[which] for which in (Kept.READY, Kept.LATE, Kept.NOT_READY, Kept.NOT_KNOWN)]
    return name, str(len(promises)), *(str(count) for count in known)


def _row(promise: Promise) -> tuple[str, ...]:
    why = _SAID[promise.why] if promise.why is not None else ""
    why += f": {promise.detail}" if promise.detail else ""
    if promise.ready_at is not None:
        why += f"; seen ready after {duration(promise.ready_at - promise.at)}"
    where = (printable(promise.group), printable(promise.cluster), rfc3339(promise.at), promise.commit[:_SHORT])
    return *where, promise.code, printable(why, LONGEST_SENTENCE)


def _ending(promises: Sequence[Promise], span: str) -> str:
    kept = Counter(p.kept for p in promises)
    known = len(promises) - kept[Kept.NOT_KNOWN]
    if not known:
        return f"of {len(promises)} promises it is not known whether they were kept within {span}"
    unknown = f"; of {kept[Kept.NOT_KNOWN]} more it is not known" if kept[Kept.NOT_KNOWN] else ""
    return f"{kept[Kept.READY]} of {known} promises were kept within {span}{unknown}"


def duration(span: timedelta) -> str:
    """`1h30m`, as it is written in policies."""
    seconds = int(span.total_seconds())
    parts = ((seconds // 3600, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"


def as_json(promises: Sequence[Promise], within: timedelta, options: Options) -> str:
    """All of it."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "Promises",
        "formatVersion": FORMAT_VERSION,
        "within": duration(within),
        "byCode": dict(_tallies((str(code), [p for p in promises if p.code == code]) for code in CODES)),
        "byPolicy": dict(
            _tallies((name, [p for p in promises if p.policy == name]) for name in sorted({p.policy for p in promises}))
        ),
        "promises": [_value(promise) for promise in promises],
    }
    return to_json(document, indent=2)


def _tallies(some: Iterable[tuple[str, Sequence[Promise]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, promises in some:
        kept = Counter(p.kept for p in promises)
        why = Counter(f"{p.kept}/{p.why}" for p in promises if p.why is not None)
        counts: dict[str, Any] = {"Promised": len(promises), **{str(which): kept[which] for which in Kept}}
        yield name, {**counts, "why": dict(sorted(why.items()))}


def _value(promise: Promise) -> dict[str, Any]:
    return {
        "group": promise.group,
        "cluster": promise.cluster,
        "policy": promise.policy,
        "code": promise.code,
        "at": rfc3339(promise.at),
        "commit": promise.commit,
        "kept": str(promise.kept),
        "readyAt": rfc3339(promise.ready_at) if promise.ready_at is not None else None,
        "why": None if promise.why is None else {"code": str(promise.why), "detail": promise.detail or None},
    }


PROMISE_FORMATS: Mapping[str, Callable[[Sequence[Promise], timedelta, Options], str]] = {
    "text": as_text,
    "json": as_json,
}
"""Of promises, and of the time within which they were to be kept."""
