"""
How large the page of a large fleet is, and how soon a browser has drawn it.

    python -m benchmarks.report                   # 10,000 groups on 200 clusters with 20,000 nodes
    python -m benchmarks.report --planned --groups 500 --clusters 10 --nodes 500

What the page tells is made by hand, as in the tests, because planning so large a fleet takes minutes; with `--planned` a fleet is
generated, placed by one pass, and reported. Then Chromium opens each view a few times: from the first byte to the first
picture, by the browser's own clock. Needs `.[test]` and the program chromium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks import generate
from benchmarks.passes import run, timed
from gitplacer.packaged import REPORT, packaged
from gitplacer.report import document, page
from tests import fleetfacts

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
VIEWS = ("", "clusters", "groups", "waiting", "timeline", "clusters/cluster-0000")


def drawn(file: Path, runs: int) -> dict[str, float]:
    """Milliseconds until each view is drawn, the median of some runs, each in a page of its own."""
    found: dict[str, float] = {}
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch_persistent_context(
            folder, executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        for view in VIEWS:
            times = []
            for _ in range(runs):
                tab = browser.new_page()
                tab.goto(f"{file.as_uri()}#/{view}")
                tab.wait_for_function("() => performance.getEntriesByName('drawn').length")
                times.append(tab.evaluate("performance.getEntriesByName('drawn')[0].startTime"))
                tab.close()
            found[view or "overview"] = statistics.median(times)
        browser.close()
    return found


def written(folder: Path, chosen: argparse.Namespace) -> Path:
    """The page, and on stdout how long it took."""
    file = folder / "fleet.html"
    print(f"{chosen.groups:,} groups, {chosen.clusters:,} clusters, {chosen.nodes:,} nodes")
    if not chosen.planned:
        facts = fleetfacts.fleet(clusters=chosen.clusters, groups=chosen.groups, nodes=chosen.nodes // chosen.clusters)
        seconds = timed(lambda: file.write_text(page(document(facts), packaged(REPORT))))
        print(f"packed and written in {seconds:.1f} s")
        return file
    source, deployment = generate.make(folder, gangs=chosen.groups, clusters=chosen.clusters, nodes=chosen.nodes)
    environment = {**os.environ, "GITPLACER_CACHE": str(folder / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    command = [sys.executable, "-m", "gitplacer"]
    where = ["--now", generate.NOW, "--deployment", str(deployment), str(source)]
    run([*command, "reconcile", *where], environment)
    seconds = timed(lambda: run([*command, "report", "-o", str(file), *where], environment))
    print(f"planned and written in {seconds:.1f} s")
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the page of a large fleet.")
    parser.add_argument("--groups", type=int, default=10_000)
    parser.add_argument("--clusters", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--planned", action="store_true", help="generate a fleet and plan it")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name), chosen)
        print(f"{file.stat().st_size / 1e6:.2f} MB\n\n| view | drawn after |\n|---|---|")
        for view, milliseconds in drawn(file, chosen.runs).items():
            print(f"| {view} | {milliseconds:.0f} ms |")


if __name__ == "__main__":
    main()
