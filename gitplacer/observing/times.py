"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def instant(text: str) -> datetime | None:
    """A time to the second, or None for what is none."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.astimezone(UTC).replace(microsecond=0) if found.tzinfo is not None else None
