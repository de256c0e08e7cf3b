"""
The few inputs that show as much more of the code as many: from the smallest on, each that runs a step from one line to another which none
before it ran. So a corpus stays small enough to be committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import gitplacer

_OURS = str(Path(gitplacer.__file__).parent)
_Step = tuple[str, int, int]


def distilled(check: Callable[[bytes], None], known: Iterable[bytes], inputs: Iterable[bytes]) -> list[bytes]:
    """Those of the inputs that together run every step which all of them run and no known one does. None must break the target."""
    seen = {step for data in known for step in _steps(check, data)}
    kept = []
    for data in sorted(set(inputs), key=lambda one: (len(one), one)):
        steps = _steps(check, data)
        if not steps <= seen:
            seen |= steps
            kept.append(data)
    return kept


def _steps(check: Callable[[bytes], None], data: bytes) -> set[_Step]:
    found: set[_Step] = set()
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, value: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_OURS):
            return None
        before = last.get(id(frame), 0) if event == "line" else 0
        last[id(frame)] = frame.f_lineno
        found.add((frame.f_code.co_filename, before, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        check(data)
    finally:
        sys.settrace(None)
    return found
