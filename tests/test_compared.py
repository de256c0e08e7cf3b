"""The table that compares: nothing is claimed of gitplacer without a page or a test that shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/compared.md").read_text("utf-8").split("\n## ", 1)[1].splitlines()
    if line.startswith("|") and not line.startswith(("| | gitplacer", "|---"))
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_what_is_said_of_gitplacer_is_shown_somewhere(row: list[str]) -> None:
    feature, ours, *others = row
    assert len(others) == 6, feature
    assert all(others), "a cell is empty"
    links = [ROOT / "docs" / link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", ours)]
    assert ours.startswith("no") or (links and ours.startswith(("yes", "partly")))
    assert all(link.is_file() for link in links)


def test_the_list_is_whole_and_says_where_others_are_better() -> None:
    assert len(ROWS) > 40
    assert sum(ours.startswith("no") for _, ours, *_ in ROWS) >= 2
    assert len({feature for feature, *_ in ROWS}) == len(ROWS)
