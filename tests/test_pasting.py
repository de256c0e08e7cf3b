"""
Whoever follows a page by copy and paste sees what the page shows.

What `console` blocks print is held against a real session by `tests/test_docs.py`. Here: that no block escapes that, that a page says where its
session begins and what the files are called that it shows, and why the blocks that nobody runs here, in `sh`, cannot be.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from docs import sessions
from tests.commands import run
from tests.test_docs import PAGES, ROOT, WITH_SESSIONS, fenced, read

EXAMPLE = "fleet-repo-example/README.md"

NOT_RUN: Mapping[str, str] = {
    "reaches a cluster, or what runs in it": r"\b(kubectl|helm|argocd|flux) |--in-cluster|--context |--hub ",
    "needs a container engine and a registry": r"^docker ",
    "reaches a server": r"https?://|ssh-keyscan|gh attestation",
    "goes on until somebody ends it": r"--watch|\| man -l",
    "has a gap that the reader fills": r"…|<[a-z ]+>|\"\$[A-Z_]+\"|OLD-COMMIT",
    "installs something": r"pip install",
    "changes the machine": r"^systemctl ",
    "tests or measures this project, for long": r"\bpython -m (tests|benchmarks)|\.venv/bin/pytest",
    "is tried by tests/test_pasting.py": r"^grep -rhA2 .* shards ",
}
"""Why a block of `sh` is not run, and how one is known to be of that sort."""


def visible(text: str) -> str:
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


BLOCKS = tuple((page, block) for page in PAGES for kind in ("sh", "bash") for block in fenced(page, kind))


def test_a_block_that_is_not_run_has_a_reason() -> None:
    unexplained = [
        f"{page}: {block}" for page, block in BLOCKS if not any(re.search(how, block, re.M) for how in NOT_RUN.values())
    ]
    assert unexplained == [], "make `console` blocks of them"


@pytest.mark.parametrize("why", NOT_RUN)
def test_every_reason_is_needed(why: str) -> None:
    others = [how for other, how in NOT_RUN.items() if other != why]
    assert any(not any(re.search(how, block, re.M) for how in others) for _, block in BLOCKS)


def test_no_session_hides_where_nobody_runs_it() -> None:
    """Pages of scenarios are told by their own tests, in real repositories."""
    pages = [page for page in PAGES if not page.startswith("docs/scenarios/")]
    assert [page for page in pages if re.search(r"^ +```console", read(page), re.M)] == [], "in a list it is not run"
    typed = [
        page for page in pages for kind in ("text", "yaml") for block in fenced(page, kind)
        if re.search(r"^ *\$ ", block, re.M)
    ]  # fmt: skip
    assert typed == [], "make it `console`"
    assert {page for page in PAGES if "```console" in read(page)} == {*WITH_SESSIONS, EXAMPLE}


def test_a_page_says_where_its_session_begins() -> None:
    for page in WITH_SESSIONS:
        text = read(page)
        told = visible(text[: text.index("```console")])
        if (example := re.search(r"<!-- session: (docs/examples/\S+) -->", text)) is not None:
            assert f"`cp -r {example[1]} fleet`" in told, page
        if "<!-- session: demo -->" in text:
            assert re.search(r"gitplacer[ -]demo", told), page


def test_a_file_that_a_page_shows_has_its_name_above_it() -> None:
    for page in WITH_SESSIONS:
        text = read(page)
        for found in re.finditer(r"<!-- file: (\S+) -->", text):
            assert f"`{found[1]}`" in text[: found.start()].rstrip().split("\n\n")[-1], f"{page}: {found[1]}"


def test_the_commands_of_the_example_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "fleet-repo-example", tmp_path / "fleet")
    monkeypatch.chdir(tmp_path / "fleet")
    (block,) = fenced(EXAMPLE, "console")
    for line in block.splitlines():
        ran = run(capfd, *line.removeprefix("$ gitplacer ").split(" #")[0].split())
        assert ran.code == 0, (line, ran.err)


@pytest.mark.parametrize("metadata", ["metadata: {{name: {}}}", "metadata:\n  name: {}"], ids=["flow", "block"])
def test_the_command_that_finds_a_cluster_in_two_fleets(metadata: str, tmp_path: Path) -> None:
    (block,) = [block for block in fenced("docs/sharding.md", "sh") if " shards " in block and "grep" in block]
    page = "".join(
        f"<!-- file: shards/{fleet}/clusters/{name}.yaml -->\n```yaml\n"
        f"apiVersion: gitplacer.dev/v1alpha1\nkind: Cluster\n{metadata.format(name)}\n```\n"
        for fleet, name in (("research", "a"), ("research", "b"), ("serving", "b"), ("serving", "c"))
    )
    (tmp_path / "session").mkdir()
    told = sessions.refreshed(f"{page}```console\n$ {block}```\n", tmp_path / "session", tmp_path)
    assert told.endswith("uniq -d\nname: b\n```\n")
