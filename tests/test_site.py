"""The documentation as a site: every link and heading is there, and it can be read and searched in a browser."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort
from playwright.sync_api import Playwright, expect

from docs import site
from tests.browsers import needs_chromium, opened

ROOT = Path(__file__).parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.server]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    site.build(out)
    return out


@pytest.fixture
def address(made: Path) -> Iterator[str]:
    handler = functools.partial(_Silent, directory=str(made))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_every_page_of_the_docs_is_on_the_site(made: Path) -> None:
    pages = [path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    there = [made / (page.with_name("index.html") if page.stem == "README" else page) for page in pages]
    assert len(there) > 200
    assert [path for path in there if not path.is_file()] == []


def test_a_link_to_nothing_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    laid_out, tour = site.laid_out, Path("docs/tour.md")
    wrong = b"\n[x](verify.md#no-such-heading), [y](no-such-page.md)\n"
    monkeypatch.setattr(site, "laid_out", lambda page: laid_out(page) + (wrong if page == tour else b""))
    with caplog.at_level(logging.WARNING), pytest.raises(Abort):
        site.build(tmp_path)
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "'#no-such-heading'" in line]
    assert [line for line in said if "no-such-page.md" in line]


@needs_chromium
def test_it_is_read_and_searched_in_a_browser(playwright: Playwright, address: str, tmp_path: Path) -> None:
    wrong: list[str] = []
    browser = opened(playwright, tmp_path)
    browser.set_default_timeout(20_000)
    # The one thing that it fetches draws the diagram on the first page; without it that stays as it is written.
    browser.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page = browser.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(address)
    page.get_by_role("link", name="Start here").first.click()
    page.get_by_role("link", name="The tour").first.click()
    page.get_by_role("link", name="Fill and spill").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Fill and spill")
    expect(page.get_by_text("What Argo CD or Flux then does")).to_have_count(4)
    page.get_by_placeholder("Search").click()
    page.keyboard.type("cooldown")
    page.locator(".md-search-result__link").first.click()
    expect(page.locator("article")).to_contain_text("cooldown", ignore_case=True)
    browser.close()
    assert [error for error in wrong if "mermaid" not in error] == []
