"""A real browser: Debian's package `chromium`, driven by Playwright, which downloads none here."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Playwright

CHROMIUM = shutil.which("chromium")
_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here: apt-get install chromium")


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """One for all tests: a process can have no second beside it."""
    from playwright.sync_api import sync_playwright  # late: few tests need it

    with sync_playwright() as found:
        yield found


def opened(playwright: Playwright, profile: Path) -> BrowserContext:
    """A browser with a new profile in a directory; whoever opens it closes it."""
    return playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, args=_ARGUMENTS)
