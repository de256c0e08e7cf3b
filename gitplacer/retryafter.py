"""
How long an answer asks its reader to stay away: `Retry-After`, in seconds or as a time, as urllib3 reads it.

What cannot be read was not said: no server is worth a crash.
"""

from __future__ import annotations

from typing import Any


def asked_to_wait(response: Any) -> float | None:
    """Seconds from now on, for an answer of urllib3; None where it asks for nothing that can be read."""
    import urllib3  # late: it comes with extras

    try:
        found = urllib3.Retry().get_retry_after(response)
        return None if found is None else float(found)
    except (urllib3.exceptions.InvalidHeader, OverflowError):
        return None
