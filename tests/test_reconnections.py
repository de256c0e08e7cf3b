"""A change that lets passes connect elsewhere is a line of the plan, though the plan itself does nothing with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitplacer.comparison import Baseline
from gitplacer.review import Base, Check, Review, Worry
from tests.commands import run
from tests.fleetrepos import START
from tests.gitservers import git
from tests.stories import ANYWHERE, Story, cluster, rayservice, snapshot


def fleet_saying(**parts: str) -> str:
    said = ", ".join(f"{part}: {{{fields}}}" for part, fields in parts.items())
    return f"apiVersion: gitplacer.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: fleet}}\nspec: {{{said}}}\n"


OLD = fleet_saying(deployment="url: https://git.example.com/old", capacity="path: capacity")


def review(new: str, *, redact: bool = False) -> Review:
    story = Story.of(cluster("a"), ANYWHERE, rayservice("ns", "svc"), capacity=snapshot("a", "n1 16 64Gi 2"))
    story.source["fleet.yaml"] = OLD
    story.run()
    base = story.plan().view
    story.source["fleet.yaml"] = new
    return Review(story.plan().view, Base(name="main", commit="b" * 40, plan=Baseline.of(base)), redact=redact)


@pytest.mark.parametrize(
    ("new", "fields"),
    [
        (OLD, {}),
        (
            fleet_saying(deployment="url: https://evil.example.com/x"),
            {"spec.deployment.url": ("https://git.example.com/old", "https://evil.example.com/x")},
        ),
        (fleet_saying(), {"spec.deployment.url": ("https://git.example.com/old", "")}),
        (
            fleet_saying(deployment="url: https://git.example.com/old, branch: other", capacity="url: git@evil:x, branch: c"),
            {
                "spec.deployment.branch": ("main", "other"),
                "spec.capacity.url": ("", "git@evil:x"),
                "spec.capacity.branch": ("", "c"),
            },
        ),
    ],
)  # fmt: skip
def test_each_field_that_leads_elsewhere_is_told_and_asks_for_a_look(
    new: str, fields: dict[str, tuple[str, str]]
) -> None:
    found = review(new)
    assert {each.field: (each.before, each.after) for each in found.reconnections} == fields
    assert [c.names for c in found.concerns if c.worry is Worry.CONNECTS_ELSEWHERE] == (
        [tuple(fields)] if fields else []
    )
    assert found.check is (Check.LOOK if fields else Check.PASS)
    told = {o.names[0]: o.names[1:] for o in found.outlooks if o.prospect == "ConnectsElsewhere"}
    assert told == fields


def test_a_stranger_learns_that_it_leads_elsewhere_and_not_where_it_led() -> None:
    found = review(fleet_saying(deployment="url: https://evil.example.com/x"), redact=True)
    assert [c.worry for c in found.concerns] == [Worry.CONNECTS_ELSEWHERE]
    assert not [o for o in found.outlooks if o.prospect == "ConnectsElsewhere"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("text", ["spec.deployment.url changes from nothing to https://evil.example.com/x: passes connect there once"]),
        ("markdown", ["- spec.deployment.url changes from nothing to https:", "Needs a look: spec.deployment.url names another"]),
        ("json", ['"concern": "ConnectsElsewhere"', '"verdict": "Needs a look: spec.deployment.url names another place"']),
    ],
)  # fmt: skip
def test_a_plan_against_a_base_says_where_passes_will_connect(
    form: str, said: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git("init", "-q", "-b", "main", ".", cwd=source)
    for path, text in START.items():
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(text)
    git("add", "--all", cwd=source)
    git("commit", "-q", "-m", "start", cwd=source)
    git("switch", "-q", "-c", "topic", cwd=source)
    (source / "fleet.yaml").write_text(fleet_saying(deployment="url: https://evil.example.com/x"))
    git("commit", "-q", "-a", "-m", "elsewhere", cwd=source)
    at = ("--now", "2026-01-02T03:05:00Z")
    done = run(capfd, "plan", str(source), "--rev", "topic", "--base", "main", "--format", form, *at)
    assert [text for text in said if text not in done.out] == [], done.err
