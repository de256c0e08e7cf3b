"""
The page of `gitplacer report` in a real browser: what it draws, what it refuses, and who can use it.

Needs Debian's package `chromium`; none is ever downloaded. No page here may send a request, break its own policy or write an
error to the console, whatever else a test is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import BrowserContext, Page, Playwright, Request

from gitplacer.model.resources import NOTHING, Resources
from gitplacer.packaged import REPORT, packaged
from gitplacer.report import FleetFacts, History, document, gathered, page, redacted
from tests import fleetfacts, planviews
from tests.browsers import needs_chromium, opened

VIEWS = ("", "clusters", "groups", "waiting", "timeline", "problems", "inputs")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 800}

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="session")
def chromium(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One browser for all tests, with axe-core at hand in every page."""
    browser = opened(playwright, tmp_path_factory.mktemp("chromium"))
    browser.set_default_timeout(10_000)
    browser.add_init_script((files("axe_playwright_python") / "axe.min.js").read_text())
    yield browser
    browser.close()


@pytest.fixture
def tab(chromium: BrowserContext) -> Iterator[Page]:
    """A page of its own; at the end nothing may have gone wrong in it."""
    new = chromium.new_page()
    said: list[str] = []
    asked: list[Request] = []
    new.on("console", lambda message: said.append(message.text))
    new.on("pageerror", lambda error: said.append(str(error)))
    new.on("request", lambda request: asked.append(request))
    yield new
    assert said == []
    assert [r.url for r in asked if not r.url.startswith(("file:", "data:"))] == []
    assert len([r for r in asked if r.url.startswith("file:")]) == len([r for r in asked if r.is_navigation_request()])
    new.close()


def _with_a_cluster_that_drains() -> FleetFacts:
    facts = fleetfacts.fleet(clusters=2, groups=0)
    offered = Resources({"nvidia.com/gpu": 8})
    free = (Resources({"nvidia.com/gpu": 3}), Resources({"nvidia.com/gpu": 5}))
    stays, leaves = (
        replace(c, offered=offered, foreign=NOTHING, free=f) for c, f in zip(facts.clusters, free, strict=True)
    )
    return replace(facts, clusters=(replace(stays, state="Active"), replace(leaves, state="Draining")))


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a fleet's page, made once."""
    folder = tmp_path_factory.mktemp("pages")
    fleets: dict[str, Callable[[], FleetFacts]] = {
        "small": lambda: gathered(
            planviews.view(), History(events=fleetfacts.fleet(clusters=3, groups=8).history.events)
        ),
        "large": lambda: fleetfacts.fleet(clusters=20, groups=3000, nodes=100),
        "hostile": fleetfacts.hostile,
        "redacted": lambda: redacted(fleetfacts.fleet(clusters=3, groups=8)),
        "draining": _with_a_cluster_that_drains,
        "one placed": lambda: fleetfacts.fleet(clusters=1, groups=2),
        "nothing": lambda: FleetFacts(fleet="new", now=fleetfacts.NOW, version="test"),
    }

    def write(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(page(document(fleets[name]()), packaged(REPORT)))
        return path

    return write


def go(tab: Page, path: Path, view: str = "", scheme: Any = "light", size: Any = DESK) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.set_viewport_size(size)
    tab.goto(f"{path.as_uri()}#/{view}")
    tab.locator("h2").wait_for()


def turn(tab: Page, view: str) -> None:
    """Another view of the same page, by its address."""
    tab.evaluate("view => { location.hash = '#/' + view }", view)
    tab.wait_for_function("view => location.hash === '#/' + view && document.activeElement.id === 'heading'", arg=view)


DETAILS = ("clusters/on-prem", "clusters/cloud", "groups/jobs/bigger", "groups/jobs/running", "groups/no/such")


def broken(tab: Page, **options: object) -> list[str]:
    """What axe finds in the view that is shown."""
    run = "async (options) => (await axe.run(document, {resultTypes: ['violations'], ...options})).violations"
    found = tab.evaluate(run, options)
    return [f"{tab.url}: {each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in found]


def test_axe_finds_nothing_in_any_view(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("small"))
    found = broken(tab)
    for view in (*VIEWS[1:], *DETAILS):
        turn(tab, view)
        found += broken(tab)
    assert found == []


def test_axe_finds_nothing_on_a_phone_in_the_dark(tab: Page, written: Callable[[str], Path]) -> None:
    """Only what colours and width can change is asked again."""
    go(tab, written("small"), scheme="dark", size=PHONE)
    rules = [
        "color-contrast",
        "target-size",
        "scrollable-region-focusable",
        "aria-required-children",
        "link-in-text-block",
    ]
    found = broken(tab, runOnly=rules)
    for view in (*VIEWS[1:], *DETAILS):
        turn(tab, view)
        found += broken(tab, runOnly=rules)
    assert found == []


def test_axe_finds_nothing_in_a_list_of_which_few_rows_are_there(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups")
    assert broken(tab, runOnly={"type": "tag", "values": ["cat.tables", "cat.aria"]}) == []


def test_nothing_of_a_view_is_wider_than_a_phone(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), size=PHONE)
    for view in (*VIEWS[1:], "clusters/cluster-0001", "groups/team-0001/app-00001"):
        turn(tab, view)
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"], view


def test_hostile_names_are_text_everywhere(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("hostile"), size=PHONE)
    names = tab.evaluate("JSON.parse(document.getElementById('data').textContent).texts")
    seen = ""
    for number in range(len(fleetfacts.HOSTILE)):
        for what in ("clusters", "groups"):
            turn(tab, f"{what}/{tab.evaluate('encodeURIComponent', _shown(fleetfacts.HOSTILE[number]))}")
            assert tab.locator("h2").inner_text().strip() == _shown(fleetfacts.HOSTILE[number]).strip()
            assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    for view in VIEWS[1:]:
        turn(tab, view)
        seen += tab.locator("main").inner_text()
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"], view
    for name in fleetfacts.HOSTILE[:3]:
        assert name in seen
    assert tab.locator("img, main script, iframe").count() == 0
    assert "owned" not in tab.title().replace("document.title='owned'", "")
    assert not any(len(text) > 1000 or "\u202e" in text for text in names if not text.startswith("x" * 300))


def _shown(name: str) -> str:
    from gitplacer.plaintext import printable

    return printable(name)


def test_the_policy_keeps_out_what_is_not_in_the_page(chromium: BrowserContext, written: Callable[[str], Path]) -> None:
    tab = chromium.new_page()  # one that may complain
    asked: list[str] = []
    tab.on("requestfinished", lambda request: asked.append(request.url))
    go(tab, written("small"))
    tab.evaluate("""() => {
        window.broken = [];
        document.addEventListener('securitypolicyviolation', (event) => window.broken.push(event.effectiveDirective));
        try { document.body.innerHTML = '<p>owned'; } catch { window.broken.push('markup from text'); }
        document.body.setAttribute('style', 'color: red');
        const image = new Image();
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(image);
        fetch('http://127.0.0.1:9/x').catch(() => {});
    }""")
    for kept_out in ("markup from text", "style-src-attr", "img-src", "connect-src"):
        tab.wait_for_function("what => window.broken.includes(what)", arg=kept_out)
    assert [url for url in asked if url.startswith("http")] == []
    tab.close()


def names_shown(tab: Page) -> list[str]:
    return [text.strip() for text in tab.locator("table.list tbody th").all_inner_texts()]


def test_the_search_narrows_the_list_and_says_so(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups")
    assert tab.locator(".count").inner_text() == "3,000 groups"
    tab.get_by_label("Search").fill("app-0123 cluster-0010")
    assert names_shown(tab) == ["team-0230/app-01230"]
    assert tab.locator(".count").inner_text() == "1 of 3,000 groups"
    tab.wait_for_function("() => document.getElementById('said').textContent === '1 of 3,000 groups'")
    assert "q=app-0123" in tab.url
    tab.get_by_label("Search").fill("no such thing")
    assert tab.get_by_text("Nothing matches.").is_visible()


def test_filters_hold_together_and_stand_in_the_address(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups?action=Wait&policy=training&q=team-0007")
    assert tab.get_by_label("Action").input_value() == "Wait"
    assert names_shown(tab) == ["team-0007/app-00007", "team-0007/app-02107"][: len(names_shown(tab))] != []
    tab.get_by_label("Policy").select_option("services")
    assert tab.get_by_text("Nothing matches.").is_visible()
    tab.get_by_label("Policy").select_option("")
    tab.get_by_label("Action").select_option("")
    tab.get_by_label("Waiting only").check()
    assert "waiting=1" in tab.url
    assert all("team-0007/" in name for name in names_shown(tab))
    kept = names_shown(tab)
    tab.reload()
    assert names_shown(tab) == kept


def test_a_list_of_thousands_has_few_rows_and_every_group(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups")
    assert tab.locator("table.list").get_attribute("aria-rowcount") == "3001"
    assert 10 < len(names_shown(tab)) < 80
    tab.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    tab.get_by_text("team-0499/app-02999").wait_for()
    assert tab.locator("table.list tbody tr:not(.gap)").last.get_attribute("aria-rowindex") == "3001"
    assert len(names_shown(tab)) < 80


def test_a_list_is_sorted_by_its_heads(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups")
    head = tab.get_by_role("columnheader", name="Group")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert names_shown(tab)[0] == "team-0000/app-00000"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert names_shown(tab)[0] == "team-0499/app-02999"
    assert "sort=name&down=1" in tab.url


def test_a_link_leads_to_a_group_and_back(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups/team-0001/app-00001")
    assert tab.locator("h2").inner_text() == "team-0001/app-00001"
    assert "fleet" not in tab.title().split(" · ")[0]
    row = tab.get_by_role("table", name="Where its pods sit").get_by_role("row").nth(1)
    assert "cluster-0001" in row.inner_text()
    row.get_by_role("link").nth(1).click()
    tab.locator("h2", has_text=re.compile("^cluster-0001$")).wait_for()  # it is drawn in a task of its own
    assert tab.evaluate("document.activeElement.id") == "heading"
    tab.go_back()
    tab.locator("h2", has_text=re.compile("^team-0001/app-00001$")).wait_for()


def test_an_address_may_say_anything(tab: Page, written: Callable[[str], Path]) -> None:
    odd = "q=%25&sort=constructor&by=constructor&show=__proto__&span=toString&state=__proto__&action=constructor&x=%E0%A4%A"
    for view in (*VIEWS, "clusters/on-prem", "groups/jobs/huge", "constructor", "__proto__"):
        go(tab, written("small"), f"{view}?{odd}")


def test_what_is_not_there_is_said(tab: Page, written: Callable[[str], Path]) -> None:
    for view, text in (
        ("groups/no/such", "No group of this name"),
        ("clusters/nowhere", "No cluster of this name"),
        ("nonsense", "No view of this name"),
        ("groups/%E0%A4%A", "No group of this name"),
    ):
        go(tab, written("small"), view)
        assert tab.locator("h2").inner_text() == text


def test_the_keyboard_is_enough(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("small"))
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    tab.get_by_role("link", name="Groups").first.focus()
    tab.keyboard.press("Enter")
    tab.locator("h2", has_text="Groups").wait_for()
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.id") == "f-q"
    tab.keyboard.type("bigger")
    assert names_shown(tab) == ["jobs/bigger"]
    for _ in range(12):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.textContent") == "jobs/bigger":
            break
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.keyboard.press("Enter")
    tab.locator("h2", has_text="jobs/bigger").wait_for()


def test_dark_follows_the_system_until_somebody_chooses(tab: Page, written: Callable[[str], Path]) -> None:
    def page_colour() -> str:
        return str(tab.evaluate("getComputedStyle(document.body).backgroundColor"))

    go(tab, written("small"), scheme="light")
    light = page_colour()
    tab.emulate_media(color_scheme="dark")
    dark = page_colour()
    assert light != dark
    button = tab.get_by_role("button", name="Theme")
    button.click()
    assert page_colour() == light
    button.click()
    tab.emulate_media(color_scheme="light")
    assert page_colour() == dark
    tab.reload()
    assert page_colour() == dark
    button.click()
    assert page_colour() == light


def test_what_waits_is_shown_with_what_it_waits_for(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("small"), "waiting")
    row = tab.locator("table.list tbody tr", has_text="jobs/huge")
    assert "Waiting" in row.inner_text()
    assert "no cluster that may take it has room for it" in row.inner_text()


def test_relocations_are_drawn_and_listed(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "timeline")
    assert tab.locator(".timeline svg").get_attribute("aria-label").startswith("500 relocations between 20 clusters")
    assert tab.locator(".timeline .move").count() == 500
    tab.get_by_label("Time", exact=True).select_option("The last day")
    assert tab.locator(".timeline .move").count() == 24
    assert tab.locator(".count").inner_text() == "24 of 500 commits"


def test_nodes_are_drawn_as_one_comes_to_them(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "clusters/cluster-0003")
    assert tab.locator("li.node").count() < 100
    more = tab.get_by_role("button", name="Show more nodes")
    more.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_function("() => document.querySelectorAll('li.node').length === 100")
    tab.get_by_label("Search nodes").fill("node-0042")
    assert tab.locator("li.node").count() == 1


def test_a_page_for_strangers_has_no_nodes(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("redacted"), "clusters/cluster-0001")
    assert tab.locator("li.node, .meter").count() == 0
    turn(tab, "groups/team-0001/app-00001")
    assert "Kept" in tab.locator("main").inner_text()


def test_a_fleet_with_nothing_in_it_has_a_page(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("nothing"))
    for view in VIEWS[1:]:
        turn(tab, view)
    assert tab.get_by_text("a work tree as it lay").is_visible()


def test_a_group_that_is_placed_alone_is_told_as_one(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("one placed"))
    assert tab.locator("ul.tiles li").first.inner_text().split() == ["1", "group", "has", "a", "place", "of", "2"]


def test_room_that_nobody_can_have_is_not_told_as_free(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("draining"))
    tile = tab.locator("ul.tiles li", has_text="gpu free")
    assert tile.inner_text().split() == [
        "3",
        "gpu",
        "free",
        "of",
        "8,",
        "without",
        "1",
        "cluster",
        "that",
        "takes",
        "nothing",
        "new",
    ]
    assert tab.get_by_text("3 of 8 free").first.is_visible()


def test_a_printed_list_is_whole(tab: Page, written: Callable[[str], Path]) -> None:
    go(tab, written("large"), "groups?q=app-01")
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert len(names_shown(tab)) == 1000
    tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(names_shown(tab)) < 80
