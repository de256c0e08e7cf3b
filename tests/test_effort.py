"""What is asked for one tenant in a pass has a bound, in steps, and nobody else has to wait for it."""

from __future__ import annotations

import pytest

from gitplacer.explain.decisions import verdict_text
from gitplacer.placement import effort
from tests.stories import outcome, policy, rayservice
from tests.test_tenants import two

HERD = [f"m{number}" for number in range(6)]


def test_who_asks_too_much_waits_and_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    story = two()
    story.source |= {path: text for name in HERD for path, text in rayservice("red", name, gpus=0, cpu="1").items()}
    story.source |= rayservice("blue", "z", gpus=0, cpu="1")
    monkeypatch.setattr(effort, "MORE", 0)
    monkeypatch.setattr(effort, "MOST", 60)
    done = story.run()
    decided = outcome(done)
    waiting = [group for group in decided if decided[group] == "Wait  SearchBound"]
    assert waiting and {group.partition("/")[0] for group in waiting} == {"red"}
    assert len(waiting) < len(HERD)
    assert decided["blue/z"].startswith("Place")
    told = next(d for d in done.view.plan.decisions if d.group == waiting[0])
    said = "the search for a placement ran out of steps: those that tenant red has in one pass"
    assert said in {verdict_text(candidate, told, done.view) for candidate in told.candidates}
    for _ in HERD:
        story.run()  # what was placed is placed: the others have their turn
    assert not [group for group, what in outcome(story.run()).items() if what.startswith("Wait")]


@pytest.mark.parametrize("accept", ["Fits", "TightFit"])
def test_luck_does_not_lift_the_bound(monkeypatch: pytest.MonkeyPatch, accept: str) -> None:
    story = two()
    story.source |= policy("anywhere", f"select: {{}}\nplacement: {{accept: {accept}}}")
    story.source |= {path: text for name in HERD for path, text in rayservice("red", name, gpus=0, cpu="1").items()}
    monkeypatch.setattr(effort, "MORE", 0)
    monkeypatch.setattr(effort, "MOST", 0)
    decided = outcome(story.run())
    assert {what for group, what in decided.items() if group.partition("/")[2] in HERD} == {"Wait  SearchBound"}


def test_a_fleet_without_tenants_has_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    story = two()
    for name in ("red", "blue"):
        del story.source[f"tenants/{name}.yaml"]
    story.source |= {path: text for name in HERD for path, text in rayservice("red", name, gpus=0, cpu="1").items()}
    monkeypatch.setattr(effort, "MORE", 0)
    monkeypatch.setattr(effort, "MOST", 0)
    assert "SearchBound" not in " ".join(outcome(story.run()).values())


def test_the_same_question_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST", 100)
    (group,) = [group for group in two().plan().snapshot.groups.values() if group.id == "red/api"]
    spent = effort.Effort(0)
    assert [spent.allows(group, "a", 60), spent.allows(group, "a", 60), spent.allows(group, "b", 60)] == [
        True,
        True,
        False,
    ]
    assert spent.allows(group, "b", 40)


def test_what_a_question_took_counts_once_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST", 100)
    (group,) = [group for group in two().plan().snapshot.groups.values() if group.id == "red/api"]
    spent = effort.Effort(0)
    assert spent.allows(group, "a", 1)
    spent.count(group, "a", 90)
    spent.count(group, "a", 90)  # in another round
    assert spent.allows(group, "b", 9)
    spent.count(group, "b", 500)
    assert not spent.allows(group, "c", 1)
