"""Memory that is free goes back, and where it cannot nothing happens."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pytest

from gitplacer.freememory import give_back


def resident() -> int:
    """Pages of this process that lie in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="not glibc"
)
def test_what_is_free_between_what_stays_is_given_back() -> None:
    many = [bytes([number % 256]) * 20_000 for number in range(5_000)]
    stays = many[:: len(many) // 10]
    del many
    before = resident()
    give_back()
    assert resident() < before and all(len(one) == 20_000 for one in stays)


def test_a_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    give_back()
