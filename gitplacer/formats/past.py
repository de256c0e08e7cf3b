"""`gitplacer history GROUP`: a line for each commit that did something to the group, the oldest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitplacer.explain import LONGEST_SENTENCE
from gitplacer.formats.options import Options
from gitplacer.formats.planjson import FORMAT_VERSION, to_json
from gitplacer.kinds.fields import API_VERSION
from gitplacer.model.happening import Event, Happening
from gitplacer.plaintext import aligned, few, printable

_SHORT = 8


def as_text(group: str, events: Sequence[Event], options: Options) -> str:
    """A table, and below it where the group is."""
    head = ("Time", "Commit", "What", "From", "To", "By", "Source", "Why")
    last = events[-1] if events else None
    lines = [*aligned([head, *(_row(event) for event in events)], ""), "", *_ending(group, last)]
    return "\n".join(lines) + "\n"


def _row(event: Event) -> tuple[str, ...]:
    what = f"{event.what} ({event.phase})" if event.phase else str(event.what)
    places = [printable(few(names, most=5)) if names else "–" for names in (event.before, event.after)]
    by = few([f"{kind} {printable(name, 80)}" if kind != "person" else printable(name, 80) for kind, name in event.by])
    source = f"{event.source[:_SHORT]} {printable(event.source_subject, 40)}".strip() or "–"
    return event.at, event.commit[:_SHORT], what, *places, by or "–", source, _why(event)


def _why(event: Event) -> str:
    said = printable(event.said or event.code, LONGEST_SENTENCE)
    if event.what is Happening.RENAMED:
        return f"{event.group} {'was' if event.after else 'goes on as'} {printable(event.also)}"
    if event.what is Happening.REVERTED:
        return f"{said} (takes back {event.also[:_SHORT]})"
    return said


def _ending(group: str, last: Event | None) -> Iterator[str]:
    name = printable(group)
    if last is None:
        yield f"nothing has happened to {name} yet"
    elif last.what is Happening.RENAMED and not last.after:
        yield f"{name} is called {printable(last.also)} now: `gitplacer history {printable(last.also)}`"
    elif last.what is Happening.REMOVED:
        yield f"{name} is gone since {last.at}"
    elif last.after:
        yield f"{name} is on {printable(few(last.after, most=10))}; `gitplacer explain {name}` says why"
    else:
        yield f"{name} is nowhere; `gitplacer explain {name}` says why"


def as_json(group: str, events: Sequence[Event], options: Options) -> str:
    """All of it."""
    document = {
        "apiVersion": API_VERSION,
        "kind": "History",
        "formatVersion": FORMAT_VERSION,
        "group": group,
        "events": [_value(event) for event in events],
    }
    return to_json(document, indent=2)


def _value(event: Event) -> dict[str, Any]:
    source = {"commit": event.source, "author": event.source_author or None, "subject": event.source_subject or None}
    return {
        "time": event.at,
        "commit": event.commit,
        "group": event.group,
        "what": str(event.what),
        "phase": event.phase or None,
        "from": list(event.before),
        "to": list(event.after),
        "reason": {"code": event.code or None, "message": event.said or None},
        "by": [{"kind": kind, "name": name} for kind, name in event.by],
        "source": source if event.source else None,
        "renamed": event.also if event.what is Happening.RENAMED else None,
        "reverts": event.also if event.what is Happening.REVERTED else None,
    }


PAST_FORMATS: Mapping[str, Callable[[str, Sequence[Event], Options], str]] = {"text": as_text, "json": as_json}
"""Of what has happened to a group."""
